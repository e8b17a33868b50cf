#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of tracepoints, which perf opens only with the tracepoints' formats in the header."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import PERF, Tap, run  # noqa: E402

t = Tap()
EVENT = "syscalls:sys_enter_getppid:u"
WORK = [sys.executable, "-c", "import os\nfor i in range(50): os.getppid()"]

with tempfile.TemporaryDirectory() as d:
    ours, theirs = os.path.join(d, "ours.data"), os.path.join(d, "theirs.data")
    if not PERF:
        t.skip("tracepoints", "no perf here")
        t.done()
    if subprocess.run([PERF, "record", "-q", "-e", EVENT, "-o", theirs, *WORK], capture_output=True).returncode:
        t.skip("tracepoints", "perf cannot record them here")
        t.done()
    r = run("record", "-e", EVENT, "-o", ours, "--", *WORK)
    t.equal(r.returncode, 0, "record -e %s" % EVENT)

    def samples(path):
        """(event, fields) of each sample, as perf takes it apart."""
        p = subprocess.run([PERF, "script", "-F", "event,trace", "-i", path], capture_output=True, text=True)
        return [re.sub(r":u:", ":", x.strip()) for x in p.stdout.splitlines() if x.strip()], p.stderr
    got, said = samples(ours)
    want, _ = samples(theirs)
    t.equal(len(want), 50, "perf records each call")
    t.equal(got, want, "perf reads as many samples of ours, with the same fields")
    t.ok("incompatible" not in said, "and has nothing to say", said)

    r = run("record", "-e", "sched:sched_process_e*,cpu-clock", "-o", ours, "--", *WORK)
    p = subprocess.run([PERF, "evlist", "-i", ours], capture_output=True, text=True)
    names = [x for x in p.stdout.splitlines() if x and not x.startswith("#")]
    t.equal(names, ["sched:sched_process_exec", "sched:sched_process_exit", "cpu-clock"],
            "several systems and kinds in one recording")
    got, _ = samples(ours)
    t.ok(any("filename=" in x for x in got), "their fields are known, too", "\n".join(got[:5]))
t.done()
