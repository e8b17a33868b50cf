#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `cyclade compare` says on this machine of a program and itself, and of the same with PER % more work.

    bench/compare.py [BUILD [COMPARISONS [PAIRS [PER]]]]

Prints one row for each kind: how many comparisons had which verdict on the time, the median of the changes and of their errors, the
change that a comparison finds in 9 of 10 cases, and how long it took. Both kinds take turns, so that they meet the same machine."""
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "build"))
comparisons, pairs, per = (float(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((2, 10), (3, 20), (4, 3)))
TURNS = 250000000  # of a loop: some 0.1 s


def compared(more, seed):
    """(verdict, change, its error, change found in 9 of 10)"""
    words = [os.path.join(build, "src/cli/cyclade"), "compare", "-q", "-j", "-r", "%d" % pairs, "--seed", str(seed), "--", "./loop", str(TURNS), "--",
             "./loop", str(round(TURNS * more))]
    p = subprocess.run(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    e = next(e for e in json.loads(p.stdout)["effects"] if e["metric"] == "time")
    return e["verdict"], e["change"], e["change_error"], e["found"]


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    with open("loop.c", "w", encoding="ascii") as f:
        f.write("#include <stdlib.h>\nint main(int n, char **v) { for (volatile long i = n > 1 ? atol(v[1]) : 1; i; i--) ; return 0; }\n")
    subprocess.run(["cc", "-O2", "loop.c", "-o", "loop"], check=True)
    kinds, found, took = {"A and A": 1, "A and +%g %%" % per: 1 + per / 100}, collections.defaultdict(list), collections.Counter()
    for i in range(int(comparisons)):
        for name, more in kinds.items():
            began = time.monotonic()
            found[name].append(compared(more, i + 1))
            took[name] += time.monotonic() - began
    print("load %.1f on %d CPUs, %d comparisons of %d pairs\n" % (os.getloadavg()[0], os.cpu_count(), comparisons, pairs))
    print("| | verdicts | change, median | error, median | found in 9 of 10 | s each |\n|---|---|---|---|---|---|")
    for name, rows in found.items():
        verdicts = ", ".join("%s %d" % x for x in collections.Counter(r[0] for r in rows).most_common())
        change, error, least = (statistics.median(r[k] for r in rows if r[k] is not None) for k in (1, 2, 3))
        print("| %s | %s | %+.1f %% | %.1f %% | %.1f %% | %.0f |" % (name, verdicts, 100 * change, 100 * error, 100 * least, took[name] / len(rows)))
