#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each command that results and refusals of recordings print as `next:` or as a hint, typed where it is printed: none fails.

What records is typed, too, if it samples by the clock; all else that records is asked what it would do (--dry-run): it
may lack a counter here, but no option may be wrong. Words in capitals stand for what a reader has. CYCLADE_LONG=1 takes
every command for each recording, else every other."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import recordings  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap  # noqa: E402

t = Tap()
COMMANDS = [shlex.split(x) for x in """
info F
report F
report -g F
report --callers F
report -b F
report --account F
report --wait F
report --critical F
report --fields +latencies F
report --cpu 0 F
report --cgroup x F
report -e nosuch F
annotate F
annotate -i F S
annotate --account -i F S
blocks F
blocks --chains F
blocks -i F S
calls F
calls -i F S
registers F
registers -i F S
mem F
sharing F
diff F F
sql -i F 'SELECT * FROM nowhere'
export --bolt -o O F
export --propeller -o O F
stat --import F
""".strip().splitlines()]
OTHERS = {  # refused, or without a recording
    "doctor": ["doctor"], "monitor, no such metric": ["monitor", "--once", "--metrics", "nosuch"], "top, no terminal": ["top"],
    "stat, no such event": ["stat", "-e", "nosuch", "--", "true"], "explain, no such name": ["explain", "nosuch"],
    "explain, no such model": ["explain", "--model", "nosuch", "Load_Latency"],
}
KINDS = ("whole", "side-0-le", "account", "branches", "waits", "memory", "spe", "accesses", "read_formats-0-le", "plain", "chains", "unwound",
         "registers", "several", "jit", "ibs", "stat_record", "heap")
HERE = re.compile(r"(?<![-\w./])cyclade ((?:report|annotate|blocks|calls|registers|mem|sharing|info|stat|explain|record|list|browse|monitor|doctor|run) ?.*)")
PLACEHOLDER = re.compile(r"\b(?:FILE|FUNCTION|PROGRAM|DIR|NAME|ID|NODE)\b")
WRONG = re.compile(r"unknown option|no option|takes no|needs an argument|wants|one at a time|did you mean|not a number|no such command")


def printed(out, err):
    """The commands in what was printed: a `next:` line's end before two blanks, a hint's where the sentence ends."""
    found = []
    for line in out.splitlines():
        m = re.match(r"(?: next: |       )cyclade (.*?)(?:  +\S.*)?$", line)
        if m:
            found.append(m[1])
    for line in re.sub(r", (?=cyclade )", "\n  ", err).splitlines():
        m = HERE.search(line)
        if m and not line.startswith("cyclade: "):
            found.append(re.split(r"[;)`]|, | (?:lists?|shows?|says|names|has them|has|writes|or)\b", m[1])[0].rstrip(" .,"))
    return found


def run(words, where, **more):
    return subprocess.run([CYCLADE, *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, cwd=where,
                          timeout=250, **more)


def typed(command, where, n):
    """What is wrong with a command as it is printed, or None."""
    if PLACEHOLDER.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError as e:
        return "cannot be typed: %s" % e
    if words[0] == "record":
        if "./prog" in words or not any(w.startswith("cpu-clock") for w in words):
            p = run(["record", "--dry-run", *words[1:]], where)
            return "%s" % p.stderr if p.returncode and WRONG.search(p.stderr) else None
        words[1:1] = ["-q", "-o", "again%d" % n]
    if words[0] == "browse" or "./prog" in words:
        return None  # a screen, a program of the reader's
    p = run(words, where)
    if words[0] == "doctor" and p.returncode == 1:
        return None  # it found something
    return "exit %d: %s" % (p.returncode, p.stderr) if p.returncode else None


def met(job):
    n, r, words = job
    where = os.path.join(tmp, "at%d" % n)
    os.mkdir(where)
    argv = [{"F": r.path, "S": r.function, "O": "out%d" % n}.get(w, w) for w in words]
    p = run(argv, where)
    bad = []
    said = printed(p.stdout, p.stderr)
    for k, command in enumerate(said):
        why = typed(command, where, 100 * n + k)
        if why:
            bad.append("%s\n  printed: cyclade %s\n  %s" % (" ".join(argv), command, why))
    return r.name, len(said), bad


def own_model(where):
    """A directory of models where that of Skylake-SP has another name."""
    run(["models", "export", where], tmp)
    os.rename(os.path.join(where, "intel", "skx"), os.path.join(where, "intel", "ours"))
    with open(os.path.join(where, "cpus.tab"), encoding="utf-8") as f:
        table = f.read()
    with open(os.path.join(where, "cpus.tab"), "w", encoding="utf-8") as f:
        f.write(re.sub(r"(?m)^(GenuineIntel 6 .*\s)skx$", r"\1ours", table))
    return where


def said_by(name, words, where):
    """What a command prints that reads no recording, or reads it with more options; each can be typed."""
    os.makedirs(where, exist_ok=True)
    p = run(words, where)
    said = printed(p.stdout, p.stderr)
    bad = ["cyclade %s\n  %s" % (c, why) for k, c in enumerate(said) for why in [typed(c, where, k)] if why]
    t.ok((said or name == "doctor") and not bad, "%s: what is printed can be typed" % name, "\n".join(bad) or p.stdout + p.stderr)


def after_run(name, program, where):
    """What `run` prints as next, typed beside its recording; what records or runs again is asked what it would do."""
    os.mkdir(where)
    p = run(["run", "--", *program], where)
    said, bad = printed(p.stderr, ""), []
    for command in said:
        words = shlex.split(command)
        if words[0] == "annotate":
            continue  # a few samples: of whatever file, twice there perhaps
        if words[0] in ("run", "stat") and words[words.index("--") + 1:] == program:
            continue  # the same program, with an option of the table (test_hints_said.py)
        if words[0] == "record":
            q = run(["record", "--dry-run", *words[1:]], where)
            why = q.stderr if words[words.index("--") + 1:] != program or q.returncode and WRONG.search(q.stderr) else None
        else:
            why = typed(command, where, 0)
        if why:
            bad.append("cyclade %s\n  %s" % (command, why))
    t.ok(said and not bad, "run %s: what is printed can be typed" % name, "\n".join(bad) or p.stderr)


with tempfile.TemporaryDirectory() as tmp:
    os.environ["XDG_CACHE_HOME"] = tmp + "/cache"
    os.environ["COLUMNS"] = "400"
    os.environ["NO_COLOR"] = "1"
    all_ = recordings.made(tmp + "/made") + recordings.more(tmp + "/more") + recordings.taken(tmp + "/taken")
    chosen = [r for r in all_ if r.name in KINDS or (r.name.startswith("sim_") and not SANITIZED)]
    step = 8 if SANITIZED else 1 if os.environ.get("CYCLADE_LONG") else 2
    jobs = [(i, r, c) for i, (r, c) in enumerate((r, c) for r in chosen for c in COMMANDS) if i % step == 0 and
            (r.name, c) != ("stat_record", ["annotate", "F"])]  # it is asked for a function before the file is read
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(met, jobs))
    count = 0
    for r in chosen:
        mine = [x for x in results if x[0] == r.name]
        n, bad = sum(x[1] for x in mine), [b for x in mine for b in x[2]]
        count += n
        t.ok(not bad, "%s: what is printed can be typed" % r.name, "\n".join(bad))
    account = next(r.path for r in all_ if r.name == "account")
    models = own_model(tmp + "/models")
    for more in ([], ["--expand", "all"]):
        said_by(" ".join(["report --account --models DIR", *more]), ["report", "--account", "--models", models, *more, account], tmp + "/own")
    said_by("browse, no terminal", ["browse", account], tmp + "/others")
    for name, words in OTHERS.items():
        said_by(name, words, tmp + "/others")
    after_run("that works", [recordings.RECURSE, "40", "60"], tmp + "/works")
    after_run("that waits", ["sh", "-c", "sleep 0.2; echo 'a b'"], tmp + "/waits")
    t.ok(count > 10 * len(chosen) / step, "commands are found", count)
t.done()
