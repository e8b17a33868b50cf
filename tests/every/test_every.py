#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command that reads recordings, over recordings of every kind: those made here, those recorded here and, where
it is at hand, the corpus of real and of damaged ones. Under the sanitizers (ci/check.sh, stages asan and bare) this is
what meets memory errors; in every build nothing may be ended by a signal, or end without a word.

CYCLADE_LONG=1 takes every command for each recording. Else each command takes a share of the recordings of a kind (KINDS),
at least one, and all of the kinds that it is for (HOME)."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import recordings  # noqa: E402
from tap import CYCLADE, NO_SHARED, SANITIZED, SHARED, Tap  # noqa: E402

t = Tap()
LONG = bool(os.environ.get("CYCLADE_LONG"))
SHARE = 1 if LONG else 16 if SANITIZED else 32
LARGE = 500000  # bytes
# F: the recording, G: another one of its kind, S: a function with samples, O: a file to write
COMMANDS = [shlex.split(x) for x in """
info F
info -j F
info --format html F
report F
report -j F
report --format csv -v F
report --format markdown --limit 5 F
report --format folded F
report --format html F
report -g F
report -g -j F
report -g --format svg F
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
report --wait F
report --wait -j F
report --sched F
report --sched -j F
report --wall F
report --wall -g --format svg F
report --concurrency F
report --concurrency -j F
report --critical F
report --critical -j F
report --html O F
report --html O --functions 2 --no-source F
annotate -i F S
annotate -j -i F S
annotate --format csv --bytes -i F S
annotate --format markdown --no-source -i F S
annotate --format html -i F S
annotate --account -i F S
annotate --no-blocks --no-arrows -i F *
blocks F
blocks -j F
blocks --chains -j F
blocks --mix F
blocks --mix -j F
blocks --format csv -i F S
blocks --format dot -i F S
blocks --format html -i F
calls F
calls -j F
calls --format dot F
calls --format html F
registers F
registers -j --all-registers F
mem F
mem -j F
mem --map --linear F
mem --format svg F
mem --format html --line-size 128 F
sharing F
sharing -j F
sharing --format html F
sum F G
sum -j F G
diff F G
diff --with lines,blocks,memory -j F G
diff --normalize samples --fail-if 'cycles > +1%' F G
sql -i F 'SELECT * FROM samples'
sql -j -i F 'SELECT function, sum(period) FROM samples JOIN frames USING (run, sample) GROUP BY 1'
sql -i F 'SELECT (SELECT count(*) FROM branches), (SELECT count(*) FROM records), (SELECT count(*) FROM lines)'
sql --format csv -i F 'SELECT * FROM waits, threads LIMIT 9'
sql -j F G 'SELECT run, p50(share) FROM functions GROUP BY run'
sql -i F 'SELECT * FROM blocks' -o O
sql F 'SELECT * FROM stat'
sql F 'SELECT * FROM compare'
view F
export --pprof -o O F
export --firefox -o O F
export --perfetto -o O F
export --flame-svg -o O F
export --timeline-svg -o O F
export --bolt -o O F
export --propeller -o O F
export --autofdo --text -o O F
export --symbol-order -o O F
export --folded -o O F
export --folded F G
script F
script --show-task-events --show-mmap-events --show-switch-events --ns -o O F
script -j F
stat --import F
stat -j --import F
""".strip().splitlines()]
# Recordings whose name begins so are of this kind; those of no kind are of that of the place where they are from.
KINDS = {"account": ("account", "sim_account", "sim_run"), "branches": ("branches", "sim_branches"),
         "chains": ("chains", "unwound", "packed", "sim_chains"), "waits": ("waits",), "registers": ("registers",), "jit": ("jit",),
         "memory": ("memory", "accesses", "ibs", "addresses", "heap", "sim_weights"), "counts": ("stat_record", "saved_")}
# Words of the commands that a kind is for: they take all of it.
HOME = {"account": {"--account"}, "branches": {"blocks", "calls", "-b", "--bolt", "--propeller", "--autofdo"},
        "chains": {"-g", "--children", "--callers"}, "memory": {"mem", "sharing"}}
BROKEN = re.compile(r"ERROR: \w+Sanitizer|runtime error:|Assertion .* failed|Sanitizer CHECK failed")


def over(r, other, words, where, n):
    """What is wrong with a command over a recording, or None."""
    out = os.path.join(where, "out%d" % n)
    argv = [CYCLADE] + [{"F": r.path, "G": other.path, "S": r.function, "O": out}.get(w, w) for w in words]
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
    if not p.returncode and words[0] == "view":
        out = re.split(r":\s", err[9:])[0]  # it says where the page is, and how large
    empty_is_fine = {"folded", "--folded", "script"} & set(words)  # no samples, no lines
    if not p.returncode and not p.stdout and not os.path.exists(out) and not empty_is_fine:
        return "exit 0 and nothing written: %s" % err[:500]
    if not p.returncode and "-j" in words:
        try:
            for text in p.stdout.splitlines() if words[0] == "script" else [p.stdout]:
                json.loads(text)
        except ValueError as e:
            return "no json: %s" % e
    if os.path.exists(out):
        os.remove(out)
    return None


def of_kinds(place, found):
    """{kind: recordings}"""
    out = {}
    for r in found:
        out.setdefault(next((k for k, names in KINDS.items() if r.name.startswith(names)), place), []).append(r)
    return out


def all_over(kind, found, where):
    """One line of TAP for each recording, its commands in the order of COMMANDS."""
    os.makedirs(where, exist_ok=True)
    share = min(SHARE, len(found))
    jobs = [(r, i, k) for i, r in enumerate(found) for k in range(len(COMMANDS))
            if (i + k) % share == 0 or HOME.get(kind, set()) & set(COMMANDS[k])]
    met = {k for _, _, k in jobs}
    if len(met) < len(COMMANDS):
        t.ok(False, "%s: every command meets one" % kind, [COMMANDS[k] for k in range(len(COMMANDS)) if k not in met])
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = list(pool.map(lambda j: over(j[0], found[(j[1] + 1) % len(found)], COMMANDS[j[2]], where, j[1] * len(COMMANDS) + j[2]), jobs))
    bad, n = {}, {}
    for (r, i, k), s in zip(jobs, said):
        n[i] = n.get(i, 0) + 1
        if s:
            bad.setdefault(i, []).append("%s: %s" % (" ".join(COMMANDS[k]), s))
    for i, r in enumerate(found):
        t.ok(i not in bad, "%s: %s, %d commands" % (kind, r.name, n.get(i, 0)), "\n".join(bad.get(i, [])))


def corpus(folder):
    """{kind: recordings}: what is large is a kind of its own, of which each command takes its share."""
    where = os.path.join(SHARED, "corpus", folder)
    names = sorted(os.listdir(where)) if os.path.isdir(where) else []
    if not names:
        t.skip("corpus: " + folder, NO_SHARED)
    out = {}
    for n in names:
        r = recordings.Recording(n, os.path.join(where, n), "main")
        out.setdefault(folder + (", large" if os.path.getsize(r.path) >= LARGE else ""), []).append(r)
    return out


def saved(where):
    """Results as JSON, which some commands read, as `cyclade stat -j -o` writes them."""
    os.makedirs(where)
    out = []
    for name, words in (("saved_stat", "stat -j -e task-clock,page-faults -o F -- true"),
                        ("saved_compare", "compare -j -q -r 2 --warmup 0 --seed 1 -e page-faults -o F -- true -- true"),
                        ("saved_compare_functions", "compare -j -q -r 1 --warmup 0 --seed 1 -e cpu-clock:u --functions 3 -o F -- true -- true")):
        path = os.path.join(where, name)
        p = subprocess.run([CYCLADE] + [path if w == "F" else w for w in words.split()], capture_output=True, text=True,
                           errors="replace", stdin=subprocess.DEVNULL, timeout=600)
        if os.path.exists(path):
            out.append(recordings.Recording(name, path, "main"))
        else:
            t.ok(False, name, p.stderr)
    return out


with tempfile.TemporaryDirectory() as tmp:
    os.environ["XDG_CACHE_HOME"] = tmp + "/cache"
    os.environ["COLUMNS"] = "100"
    os.environ["XDG_RUNTIME_DIR"] = tmp  # pages of view
    os.mkdir(tmp + "/bin")
    os.symlink("/bin/true", tmp + "/bin/xdg-open")
    os.environ["PATH"] = tmp + "/bin:" + os.environ["PATH"]
    own = recordings.made(tmp + "/made") + recordings.more(tmp + "/more") + recordings.taken(tmp + "/taken") + saved(tmp + "/saved")
    for name, why in recordings.missing:
        t.skip("recorded: " + name, why)
    real = {*recordings.TAKEN, *recordings.SIMULATED}
    kinds = of_kinds("shapes of files", [r for r in own if r.name not in real])
    for kind, found in of_kinds("samples", [r for r in own if r.name in real]).items():
        kinds.setdefault(kind, []).extend(found)
    for folder in ("recordings", "malformed"):
        kinds.update(corpus(folder))
    for kind, found in kinds.items():
        all_over(kind, found, os.path.join(tmp, "out"))
t.done()
