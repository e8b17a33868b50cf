#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How often the samples of a recording are walked over. test_walks.py WALKS: the program, which prints that."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import recordings  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
WALKS = os.path.abspath(sys.argv[1])
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


def walks(*words):
    p = subprocess.run([WALKS, *words], capture_output=True, text=True)
    m = re.search(r"^walks (\d+)$", p.stderr, re.M)
    return (p.returncode, int(m.group(1)) if m else None)


made = recordings.made("made")
for r in made:
    code, n = walks("report", "--html", "out.html", r.path)
    # one more for memory operations by time: which of several latencies is shown is known when all were counted
    most = 4 if r.name.startswith(("all_fields", "each_field")) else 3
    t.ok(n is not None and n <= most and (n or code), "report --html of %s: %s walks, at most %d" % (r.name, n, most))
t.equal(walks("report", next(r.path for r in made if r.name == "account")), (0, 1), "report: one walk")
t.done()
