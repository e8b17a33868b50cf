#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Values exactly at a limit: report --min PCT keeps what has just that much, folds what has less. Limits
of diff, of what was not there."""
import csv
import io
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from account_made import Made  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
with tempfile.TemporaryDirectory() as tmp:
    shares = {"hot": 50, "cold": 25, "warm": 15, "tepid": 10}
    m = Made(tmp, tree=[("cycles", 0x3c, 1000)], names=shares)
    for name, n in shares.items():
        m.put(name, "cycles", n)
    path = os.path.join(tmp, "data")
    m.write(path)
    # a row that would be folded alone is shown: always two are below
    for least, want in (("25", {"hot", "cold"}), ("25.01", {"hot"}), ("50", {"hot"}), ("24.99", {"hot", "cold"})):
        r = run("report", "--no-cache", "-i", path, "-s", "sym", "--min", least, "--format", "csv")
        got = {row["function"] for row in csv.DictReader(io.StringIO(r.stdout))} & set(shares)
        t.equal(got, want, "--min %s of rows with 50, 25, 15 and 10 %%" % least)
    # what was not there before is more by any limit, less by none
    for name, counts in (("before", {"hot": 500, "cold": 250, "fresh": 0}), ("after", {"hot": 500, "cold": 250, "fresh": 400})):
        m = Made(tmp, tree=[("cycles", 0x3c, 1000)], names=counts)
        for function, n in counts.items():
            m.put(function, "cycles", n)
        m.write(os.path.join(tmp, name))
    ends = [run("diff", "before", "after", "--no-cache", "--fail-if", "function:fresh " + limit, cwd=tmp).returncode
            for limit in ("> +5%", "> +1000000%", "< -5%")]
    t.equal(ends, [1, 1, 0], "diff --fail-if of a function that only the new side has")
t.done()
