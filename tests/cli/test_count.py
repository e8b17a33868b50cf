#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ci/count.py, whose last line says whether all is well: on logs of Meson made here, of which the sums are known."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import NO_SHARED, ROOT, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-count-")


def log(stage, *tests):
    """(name, what it prints, result): a log of a stage"""
    path = os.path.join(tmp.name, stage + ".json")
    with open(path, "w", encoding="ascii") as f:
        for name, out, result in tests:
            f.write(json.dumps({"name": "cyclade:cli / " + name, "stdout": out, "stderr": "", "result": result}) + "\n")
    return path


def count(*args):
    return subprocess.run([sys.executable, os.path.join(ROOT, "ci", "count.py"), *args], capture_output=True, text=True)


def skipped(*reasons):
    return "".join("ok %d - check %d # SKIP %s\n" % (i, i, reason) for i, reason in enumerate(reasons, 1)) + "1..%d\n" % len(reasons)


PASSED = "ok 1 - one\nok 2 - two\n1..2\n"
first = log("first", ("a", PASSED, "OK"), ("b", skipped(NO_SHARED, "no perf", NO_SHARED), "OK"), ("c", skipped(NO_SHARED), "OK"),
            ("d", "1..0 # SKIP no perf\n", "SKIP"))
second = log("second", ("a", PASSED, "OK"), ("b", skipped(NO_SHARED), "OK"))
p = count(first, second)
lines = p.stdout.splitlines()
t.equal((p.returncode, lines[-1]), (0, "4 passed, 0 failed, 4 skipped"), "what lacks ../shared is one skip of each stage")
t.ok("skipped 2: no ../shared here, for 4 checks (cli / b: 1 check 1, ...)" in lines and "skipped 2: no perf (cli / b: 2 check 2, ...)" in lines,
     "... and how many checks want it is said", p.stdout)
t.equal(count("--why", first).stdout.split(), "skipped 3: 2 no perf; 1 no ../shared here, for 3 checks".split(), "a stage says so in one line")
t.equal(count("--why", log("whole", ("a", PASSED, "OK"))).stdout, "", "a stage that skipped nothing says nothing")

failed = log("failed", ("a", "ok 1 - one\n# got 1\nnot ok 2 - two\n1..2\n", "FAIL"), ("b", "ok 1 - one\n", "TIMEOUT"))
p = count(failed, first)
t.equal((p.returncode, p.stdout.splitlines()[-1]), (1, "4 passed, 2 failed, 3 skipped"), "a check that fails and a program that hangs")
t.ok("FAILED failed cli / a: 2 two\n  # got 1\n" in p.stdout and "FAILED failed cli / b: TIMEOUT\n" in p.stdout, "... are named", p.stdout)
t.equal(count("--again", failed).stdout.strip(), "", "nothing runs once more if something hung")
wavers = log("wavers", ("a", "ok 1 - one\nnot ok 2 - two\n1..2\n", "FAIL"))
t.equal(count("--again", wavers).stdout.strip(), "a", "a test of a live machine does")
log("wavers.again", ("a", PASSED, "OK"))
p = count(wavers)
t.equal((p.returncode, p.stdout.splitlines()), (0, ["unsteady wavers cli / a: 2 two", "2 passed, 0 failed, 0 skipped"]), "what passes then is unsteady")
t.equal((count("--broken", "gcc", first).returncode, count(log("none", ("a", skipped("no perf"), "OK"))).returncode), (1, 1),
        "a stage that is not built, or in which nothing ran, is a failure")
t.done()
