#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --python and run --python: functions of scripts in call chains, for each CPython that is installed.

The truth is the script's own log: when which function ran, by the clock of the recording. Frames are read at most 5 ms after a
sample, or not at all: where a function goes on for longer than that, it has to be the right one, at the right depth."""
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, SANITIZED, Tap, run  # noqa: E402

LATE = 10_000_000  # ns: frames are not read later than 5 ms; the reader may lose its CPU while it reads

SCRIPT = '''
import json, os, sys, threading, time
def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
def spin(until):
    s = 0
    while now() < until:
        for i in range(20):
            s = (s * 31 + i) % 1000003
class Worker:
    def alpha(self, log, ns):
        begin = now(); spin(begin + ns); log.append(["Worker.alpha", begin, now()])
def beta(log, ns):
    begin = now(); spin(begin + ns); log.append(["beta", begin, now()])
def deep(n, f, log, ns):
    if n:
        deep(n - 1, f, log, ns)
    else:
        list(map(lambda x: f(log, x), [ns]))
def first_thread(log, ms):
    end = now() + ms * 1000000
    while now() < end:
        deep(3, Worker().alpha, log, 40000000)
        deep(9, beta, log, 30000000)
def second_thread(log, ms):
    end = now() + ms * 1000000
    while now() < end:
        deep(2, beta, log, 50000000)
def main(path, ms, how):
    if how == "fork" and os.fork():
        os.wait()
        return
    logs = {threading.get_native_id(): []}
    if how == "threads":
        def second():
            second_thread(logs.setdefault(threading.get_native_id(), []), ms)
        t = threading.Thread(target=second)
        t.start()
    first_thread(logs[threading.get_native_id()], ms)
    if how == "threads":
        t.join()
    with open(path, "w") as f:
        json.dump(logs, f)
main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
'''
DEPTH = {"Worker.alpha": 4, "beta": 10}


def interpreters(t):
    """{(3, 11): path} of those that are installed."""
    found = {}
    for path in [shutil.which(x) for x in ("/usr/bin/python3", "python3.11", "python3.12", "python3.13", "python3.14")] + \
            sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        p = path and subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2], sys.executable)"],
                                    capture_output=True, text=True)
        if p and not p.returncode:
            major, minor, real = p.stdout.split(None, 2)
            found.setdefault((int(major), int(minor)), real.strip())
    for minor in (11, 12, 13, 14):
        if (3, minor) not in found:
            t.skip("Python 3.%d" % minor, "not installed")
    return found


def record(*args, timeout=600):
    return subprocess.run([CYCLADE, "record", "--python", "-e", "cpu-clock", "-F", "1000", *args], capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)


def samples(path):
    r = run("sql", "-i", path, "--format", "csv", "select tid, time, chain from samples where chain is not null")
    return [(int(x["tid"]), int(x["time"]), x["chain"].split(";")) for x in csv.DictReader(io.StringIO(r.stdout))]


def compare(logs, taken, depth):
    """How many samples that lie well inside of a function's time have it, have another, or have no frames of Python."""
    right = wrong = without = 0
    for tid, time, chain in taken:
        for name, begin, end in logs.get(str(tid), []):
            if begin <= time < end - LATE:
                got = [f for f in chain if f in DEPTH]
                if not got:
                    without += 1
                elif got == [name] and (not depth or chain.count("deep") == DEPTH[name]):
                    right += 1
                else:
                    wrong += 1
    return right, wrong, without


def of_version(t, version, python):
    name = "Python %d.%d" % version
    p = record("-o", "one.data", "--", python, "script.py", "one.log", "600", "plain")
    if p.returncode:
        t.skip(name, "cannot record: %s" % (p.stderr.strip().splitlines() or ["?"])[-1])
        return False
    with open("one.log", encoding="ascii") as f:
        right, wrong, without = compare(json.load(f), samples("one.data"), True)
    if not right + wrong:
        t.skip(name + ": truth", "the machine is too busy: no frames were read in time")
        return False
    t.ok(right >= 0.99 * (right + wrong), name + ": the right function at the right depth", (right, wrong, without, p.stderr))
    t.ok("Python: frames in" in p.stderr, name + ": how many samples have frames, and how late they were read", p.stderr)
    r = run("report", "-i", "one.data", "--no-pager", "-s", "dso,function,srcline", "--format", "csv", "--min", "0")
    rows = [x for x in csv.DictReader(io.StringIO(r.stdout)) if x.get("dso") == "script.py"]
    lines = {int(x["srcline"].rpartition(":")[2]) for x in rows if x["function"] == "spin"}
    t.ok(lines and lines <= set(range(5, 10)), name + ": samples in the loop are in its lines", r.stdout[:2000])
    t.ok(all(os.path.basename(x["srcline"].rpartition(":")[0]) == "script.py" for x in rows), name + ": files of lines", rows[:5])
    folded = run("report", "-i", "one.data", "--format", "folded").stdout
    t.ok(re.search(r";<module>;main;first_thread;deep;.*deep;deep::?.*|;main;first_thread;deep", folded),
         name + ": Python's frames stand between native ones", folded[:2000])
    return True


def threads(t, name, python):
    p = record("-o", "two.data", "--", python, "script.py", "two.log", "600", "threads")
    with open("two.log", encoding="ascii") as f:
        logs = json.load(f)
    taken = samples("two.data")
    tids = {tid for tid, _, _ in taken}
    t.ok(not p.returncode and {int(x) for x in logs} <= tids, name + ": both threads are there", (logs.keys(), tids))
    main_tid = min(logs, key=int)
    other = [c for tid, _, c in taken if str(tid) != main_tid and "second_thread" in c]
    mixed = [c for tid, _, c in taken if "second_thread" in c and "first_thread" in c]
    t.ok(not mixed, name + ": no thread has the other's frames", mixed[:2])
    t.ok(not other or all("Thread.run" in c for c in other), name + ": the second's chain begins in its thread", other[:2])


def forked(t, name, python):
    p = record("-o", "fork.data", "--", python, "script.py", "fork.log", "300", "fork")
    with open("fork.log", encoding="ascii") as f:
        logs = json.load(f)
    right, wrong, _ = compare(logs, samples("fork.data"), True)
    t.ok(not p.returncode and right >= 0.99 * (right + wrong), name + ": a forked child", (right, wrong, p.stderr))


def attached(t, name, python):
    with subprocess.Popen([python, "script.py", "pid.log", "4000", "plain"]) as child:
        p = record("-o", "pid.data", "-p", str(child.pid), "--for", "1s")
        child.wait()
    with open("pid.log", encoding="ascii") as f:
        right, wrong, _ = compare(json.load(f), samples("pid.data"), True)
    t.ok(not p.returncode and right >= 0.99 * (right + wrong), name + ": attached to", (right, wrong, p.stderr))


def others(t, name, python):
    if PERF:
        p = subprocess.run([PERF, "report", "-i", "one.data", "--stdio", "--children", "-g", "none", "-F", "overhead,dso"],
                           capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        t.ok(not p.returncode and "script.py:beta" in p.stdout, "perf reads the file, and shows functions", p.stderr[-500:])
    p = subprocess.run([CYCLADE, "record", "-q", "-e", "cpu-clock", "-o", "off.data", "--", python, "-c", "sum(range(1000000))"],
                       capture_output=True, text=True)
    r = run("sql", "-i", "off.data", "--format", "csv", "select count(*) from mappings where path like '[python]%'")
    t.equal(r.stdout.split(), ["count(*)", "0"], "without --python there is nothing of it")
    r = run("run", "--python", "--no-tree", "--data", "run.data", "--", python, "script.py", "run.log", "300", "plain")
    if SANITIZED:
        t.skip("run --python shows functions", "a sanitizer's build may be too slow for frames in time")
    else:
        t.ok(not r.returncode and "script.py" in r.stdout + r.stderr, "run --python shows functions", r.stdout + r.stderr)
    t.ok("record --wait -- " not in r.stdout + r.stderr, "and the command for waits has --python", r.stdout + r.stderr)
    p = record("-o", "no.data", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
    t.ok(not p.returncode and "no process ran CPython" in p.stderr, "without Python, it is reported", p.stderr)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        os.chdir(d)
        with open("script.py", "w", encoding="ascii") as f:
            f.write(SCRIPT)
        found = interpreters(t)
        known = [(v, p) for v, p in sorted(found.items()) if (3, 11) <= v <= (3, 14)]
        worked = [(v, p) for v, p in known if of_version(t, v, p)]
        if worked:
            name, python = "Python %d.%d" % worked[-1][0], worked[-1][1]
            threads(t, name, python)
            forked(t, name, python)
            attached(t, name, python)
            others(t, name, python)
        old = next((p for v, p in found.items() if (3, 0) <= v < (3, 11)), None)
        if old:
            p = record("-o", "old.data", "--", old, "-c", "sum(range(3000000))")
            t.ok(not p.returncode and "layout of its frames is unknown" in p.stderr, "an older one is refused, with the reason", p.stderr)
        else:
            t.skip("an older Python", "none is installed")
    t.done()


if __name__ == "__main__":
    main()
