#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade calibrate beside a second, differently written chase and branch loops: calibrate.py [-n RUNS] [-l LIMIT] [BUILD [MEASURE...]].

Runs of both take turns on one CPU (4, or -n). For each size and for mispredicts, in ns: the median of calibrate's values and of its
error bars, the median of the other program's, and of the ratios of runs that followed each other: the median, the least and the most.
Then how often two runs of calibrate differ by more than both bars. On a machine at rest the median ratios are within 10 % of 1; exit 1
if one is not. Ten runs take about a minute."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

NAMES = ("l1", "l2", "l3", "memory", "mispredict", "mispredict_indirect", "mispredict_return")

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("-n", type=int, default=4, help="runs of each (4)")
p.add_argument("-l", type=float, default=0.1, help="how far a median ratio may be from 1 (0.1)")
p.add_argument("build", nargs="?", default="build")
p.add_argument("measure", nargs="*", default=NAMES)
opts = p.parse_args()


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": "/dev/null/data"}).stdout


def one():
    """Both, in nanoseconds: {measure: (value, bar, other)}; and {measure: why not}."""
    doc = json.loads(output(os.path.join(opts.build, "src/cli/cyclade"), "calibrate", "-j", *opts.measure))
    os.sched_setaffinity(0, {doc["cpu"]})
    ours = {c["measure"]: c for c in doc["costs"]}
    sizes = {k: c["bytes"] for k, c in ours.items() if c["bytes"] and c["value"] is not None}
    other = {}
    for w in map(str.split, output(os.path.join(opts.build, "bench/bench_calibrate"), *map(str, sizes.values())).splitlines()):
        other[int(w[1]) if w[0] == "latency" else w[0]] = float(w[2 if w[0] == "latency" else 1])
    ns = {k: 1 if c["unit"] == "ns" else 1 / doc["ghz"] for k, c in ours.items()}
    return ({k: (c["value"] * ns[k], c["value_error"] * ns[k], other[sizes.get(k, k)]) for k, c in ours.items()
             if c["value"] is not None and sizes.get(k, k) in other},
            {k: c["value_why"] for k, c in ours.items() if c["value"] is None})


runs, why = [], {}
for i in range(opts.n):
    values, missing = one()
    runs.append(values)
    why.update(missing)
bad = []
print("%-22s %10s %8s %10s %7s %7s %7s" % ("ns, %d runs" % opts.n, "calibrate", "+-", "other", "ratio", "least", "most"))
for k in opts.measure:
    rows = [r[k] for r in runs if k in r]
    if not rows:
        print("%-22s %s" % (k, why.get(k, "no second loop on this architecture")))
        continue
    ratios = sorted(v / o for v, _, o in rows)
    middle = statistics.median(ratios)
    if abs(middle - 1) > opts.l:
        bad.append(k)
    print("%-22s %10.2f %8.2f %10.2f %7.2f %7.2f %7.2f" % (k, *(statistics.median(column) for column in zip(*rows)), middle, ratios[0], ratios[-1]))
held = of = 0
for k in opts.measure:
    rows = [r[k] for r in runs if k in r]
    for i, a in enumerate(rows):
        for b in rows[i + 1:]:
            held += abs(a[0] - b[0]) <= math.hypot(a[1], b[1])
            of += 1
print("%d of %d pairs of runs agree within their bars" % (held, of))
if bad:
    print("NOT within %g %% of the other loops: %s" % (100 * opts.l, ", ".join(bad)))
sys.exit(1 if bad else 0)
