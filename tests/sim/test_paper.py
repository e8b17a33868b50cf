#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time on paper (paper.h): programs run for as long as they say, whoever waits finds the clock moved on, and neither costs the
processor's time."""
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, command, environment, run_on  # noqa: E402
from tap import CYCLADE, SANITIZED, SIMULATED, WHOLE_CPUS, Tap  # noqa: E402

GHZ = 3  # of ivb
t = Tap()
tmp = tempfile.TemporaryDirectory()


def stat(*words, **more):
    """What `stat -j -e cycles` says, and [(enabled, running, counted)]."""
    out, log = os.path.join(tmp.name, "out.json"), os.path.join(tmp.name, "truth")
    p = run_on("ivb", "even", CYCLADE, "stat", *SYSROOT, "-j", "-o", out, "-e", "cycles", *words, paper=True, SIM_TRUTH=log, **more)
    docs, rows = [], []
    if p.returncode in (0, 143) and os.path.exists(out):
        with open(out, encoding="utf-8") as f:
            text = f.read()
        docs = [json.loads(text)] if "-I" not in words else [json.loads(x) for x in text.splitlines()]
        with open(log, encoding="utf-8") as f:
            rows = [(int(w[6]), int(w[7]), int(w[8])) for w in map(str.split, f)]
    for path in (out, log):
        if os.path.exists(path):
            os.remove(path)
    return docs, rows, p.stdout + p.stderr


def cycles(doc):
    return sum(c["value"] or 0 for c in doc.get("counts", ()) if c["event"] == "cycles")


if not SIMULATED:
    t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
if run_on("ivb", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
    t.skip("all of it", "no counting here")
    t.done()

SECOND = 10 ** 9
before = resource.getrusage(resource.RUSAGE_CHILDREN)
docs, rows, said = stat("--", SPIN, "60000")
after = resource.getrusage(resource.RUSAGE_CHILDREN)
t.equal((rows, [cycles(x) for x in docs]), ([(60 * SECOND, 60 * SECOND, 60 * GHZ * SECOND)], [60 * GHZ * SECOND]), "a minute is a minute")
t.ok(docs and 60 <= docs[0]["seconds"] < 60.001, "by the tool's clock, too", said)
used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
t.ok(used < 30, "which takes the processor no minute: %.2f s" % used)

docs, rows, said = stat("-I", "1s", "--", SPIN, "10500")
got = [cycles(x) for x in docs if "counts" in x]
t.ok(len(got) >= 11 and all(abs(x - GHZ * SECOND) < 1e-5 * SECOND for x in got[:10]) and sum(got) == 10500 * GHZ * SECOND // 1000,
     "intervals are as long as was asked", (got, said[:2000]))
# ---- many intervals: what counts of events need does not grow. (A tree keeps its slices, up to 64 MB.)
INTERVALS, FIRST = 4000, 100


def own(shell):
    """kB of what the shell has begun that are its own: exact, which the sums in statm are not."""
    with open("/proc/%d/task/%d/children" % (shell, shell), encoding="ascii") as f:
        pid = f.read().split()[0]
    with open("/proc/%s/smaps_rollup" % pid, encoding="ascii") as f:
        return next(int(x.split()[1]) for x in f if x.startswith("Anonymous:"))


size, n = {}, 0
with subprocess.Popen(command("ivb", "even", CYCLADE, "stat", *SYSROOT, "-j", "-I", "10ms", "-e", "cycles,instructions", "--", SPIN, str(10 * INTERVALS)),
                      env=environment("ivb", SIM_PAPER=os.path.join(tmp.name, "clock")),
                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
    for line in p.stderr:
        n += 1
        if n in (FIRST, INTERVALS - 600):  # the pipe holds fewer than these
            size[n] = own(p.pid)
grown = size.get(INTERVALS - 600, 1e9) - size.get(FIRST, 0)
t.ok(p.returncode == 0 and n >= INTERVALS and (SANITIZED or grown <= 32), "stat -I: many intervals need no more memory than few", (n, size))  # a sanitizer keeps more

docs, rows, said = stat("--for", "300ms", "--", SPIN, "60000")
t.ok(docs and abs(cycles(docs[0]) - 0.3 * GHZ * SECOND) < 1e-4 * SECOND, "a program that is ended early", (rows, said))
docs, rows, said = stat("--", "sh", "-c", "%s 200; %s 300 & %s 100; wait" % (SPIN, SPIN, SPIN))
t.ok(docs and cycles(docs[0]) == 600 * GHZ * SECOND // 1000 and docs[0]["seconds"] < 0.6001,
     "programs one after the other, and beside each other", (rows, said))
docs, rows, said = stat("--", "true")
t.ok(docs and cycles(docs[0]) == 0 and docs[0]["seconds"] < 0.001, "a program that knows nothing of it takes no time", (rows, said))
if WHOLE_CPUS:
    docs, rows, said = stat("-a", "--for", "2s")
    t.ok(docs and len(rows) == 2 and all(abs(x[2] - 2 * GHZ * SECOND) < 1e-4 * SECOND for x in rows), "whole CPUs count all the time", (rows, said))
else:
    t.skip("whole CPUs", "they may not be counted here")
t.done()
