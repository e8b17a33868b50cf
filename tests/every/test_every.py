#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command that reads recordings, over recordings of every kind: those made here, those recorded here and, where
it is at hand, the corpus of real and of damaged ones. Under the sanitizers (ci/check.sh, stages asan and plain) this is
what meets memory errors; in every build nothing may be ended by a signal, or end without a word.

CYCLADE_LONG=1 takes every command for each recording; else each recording gets a share of them, so that every command
meets every fourth recording under a sanitizer and every eighth elsewhere, and those on which the account, branches or
chains are all get all."""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import recordings  # noqa: E402
from tap import CYCLADE, SANITIZED, SHARED, Tap  # noqa: E402

t = Tap()
LONG = bool(os.environ.get("CYCLADE_LONG"))
SHARE = 1 if LONG else 4 if SANITIZED else 8
# F: the recording, S: a function with samples
COMMANDS = [x.split() for x in """
info F
info -j F
report F
report -j F
report --format csv -v F
report --format markdown --limit 5 F
report --format folded F
report -g F
report -g -j F
report --children --format csv F
report --callers --format folded F
report -b F
report -b -j F
report -s srcline,inline,sym,cpu,tid -j F
report -s event,cgroup,socket,dso --format csv F
report -s comm,pid --focus a --hide b F
report --account F
report --account -j -v F
report --account --format csv --expand all --errors F
report --account --format markdown --unit cycles F
annotate -i F S
annotate -j -i F S
annotate --format csv --bytes -i F S
annotate --format markdown --no-source -i F S
annotate --account -i F S
annotate --no-blocks --no-arrows -i F *
blocks F
blocks -j F
blocks --chains -j F
blocks --format csv -i F S
blocks --format dot -i F S
calls F
calls -j F
calls --format dot F
registers F
registers -j --all-registers F
export --pprof -o O F
export --firefox -o O F
export --bolt -o O F
export --propeller -o O F
export --autofdo --text -o O F
export --symbol-order -o O F
export --folded -o O F
stat --import F
stat -j --import F
""".strip().splitlines()]
BROKEN = re.compile(r"ERROR: \w+Sanitizer|runtime error:|Assertion .* failed|Sanitizer CHECK failed")


def over(r, words, where, n):
    """What is wrong with a command over a recording, or None."""
    out = os.path.join(where, "out%d" % n)
    argv = [CYCLADE] + [{"F": r.path, "S": r.function, "O": out}.get(w, w) for w in words]
    if words[0] not in ("info", "stat"):
        argv.insert(2, "--no-cache")
    try:
        p = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=600, cwd=where)
    except subprocess.TimeoutExpired:
        return "has no end"
    err = p.stderr.decode("utf-8", "replace")
    if p.returncode not in (0, 1, 2) or BROKEN.search(err):
        return "exit %d\n%s" % (p.returncode, err[-6000:])
    if p.returncode and not err.startswith("cyclade: "):
        return "exit %d without a message: %s" % (p.returncode, err[:500])
    empty_is_fine = "folded" in words  # no samples, no lines
    if not p.returncode and not p.stdout and not os.path.exists(out) and not empty_is_fine:
        return "exit 0 and nothing written: %s" % err[:500]
    if not p.returncode and "-j" in words:
        try:
            json.loads(p.stdout)
        except ValueError as e:
            return "no json: %s" % e
    if os.path.exists(out):
        os.remove(out)
    return None


def all_over(kind, found, where, share):
    """One line of TAP for each recording, its commands in the order of COMMANDS."""
    os.makedirs(where, exist_ok=True)
    jobs = [(r, i, k) for i, r in enumerate(found) for k in range(len(COMMANDS)) if (i + k) % share == 0]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = list(pool.map(lambda j: over(j[0], COMMANDS[j[2]], where, j[1] * len(COMMANDS) + j[2]), jobs))
    bad, n = {}, {}
    for (r, i, k), s in zip(jobs, said):
        n[i] = n.get(i, 0) + 1
        if s:
            bad.setdefault(i, []).append("%s: %s" % (" ".join(COMMANDS[k]), s))
    for i, r in enumerate(found):
        t.ok(i not in bad, "%s: %s, %d commands" % (kind, r.name, n.get(i, 0)), "\n".join(bad.get(i, [])))


def corpus(folder):
    where = os.path.join(SHARED, "corpus", folder)
    names = sorted(os.listdir(where)) if os.path.isdir(where) else []
    if not names:
        t.skip("corpus: " + folder, "the corpus of recordings is not beside this tree (CYCLADE_SHARED)")
    # what takes long under a sanitizer is for long runs
    return [recordings.Recording(n, os.path.join(where, n), "main") for n in names
            if LONG or os.path.getsize(os.path.join(where, n)) < 500000]


with tempfile.TemporaryDirectory() as tmp:
    os.environ["XDG_CACHE_HOME"] = tmp + "/cache"
    os.environ["COLUMNS"] = "100"
    scratch = os.path.join(tmp, "out")
    rich = [r for r in recordings.made(tmp + "/made")]
    all_over("made", [r for r in rich if not r.name.startswith(("account", "branches"))], scratch, SHARE)
    all_over("made", [r for r in rich if r.name.startswith(("account", "branches"))], scratch, 1)
    all_over("recorded", recordings.taken(tmp + "/taken"), scratch, min(SHARE, 2))
    for name, why in recordings.missing:
        t.skip("recorded: " + name, why)
    for folder in ("recordings", "malformed"):
        all_over(folder, corpus(folder), scratch, SHARE)
t.done()
