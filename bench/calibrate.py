#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade calibrate beside a second, differently written chase and branch loop: calibrate.py [BUILD [MEASURE...]].

For each size and for mispredicts: both figures, in ns, and their ratio; then how often a second run of calibrate lies within the
bars of both. On a machine at rest ratios are within 10 % of 1. The other program prints the least of seven runs, calibrate the middle."""
import json
import math
import os
import subprocess
import sys

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"


def cyclade(*words):
    return json.loads(subprocess.run([os.path.join(BUILD, "src/cli/cyclade"), "calibrate", "-j", *words], check=True,
                                     capture_output=True, text=True).stdout)


names = tuple(sys.argv[2:]) or ("l1", "l2", "l3", "memory", "mispredict", "mispredict_indirect", "mispredict_return")
runs = [{c["measure"]: c for c in d["costs"]} | {"ghz": d["ghz"]} for d in (cyclade(*names) for _ in range(4))]
first = runs[0]
sizes = {k: first[k]["bytes"] for k in names if first[k]["bytes"] and first[k]["value"] is not None}
out = subprocess.run([os.path.join(BUILD, "bench/bench_calibrate"), *map(str, sizes.values())], check=True, capture_output=True, text=True).stdout
other = {int(w[1]): float(w[2]) for w in map(str.split, out.splitlines()) if w[0] == "latency"}
other.update((w[0], float(w[1])) for w in map(str.split, out.splitlines()) if w[0].startswith("mispredict"))
print("%-12s %10s %8s %10s %7s" % ("", "calibrate", "+-", "other", "ratio"))
for k in names:
    if first[k]["value"] is None:
        print("%-12s %s" % (k, first[k]["value_why"]))
        continue
    if sizes.get(k, k) not in other:
        continue  # no second loop on this architecture
    ns = 1 if first[k]["unit"] == "ns" else 1 / first["ghz"]
    theirs = other[sizes.get(k, k)]
    print("%-12s %10.2f %8.2f %10.2f %7.2f" % (k, first[k]["value"] * ns, first[k]["value_error"] * ns, theirs, first[k]["value"] * ns / theirs))
held = of = 0
for k in names:
    for i, a in enumerate(runs):
        for b in runs[i + 1:]:
            if a[k]["value"] is not None and b[k]["value"] is not None:
                held += abs(a[k]["value"] - b[k]["value"]) <= math.hypot(a[k]["value_error"], b[k]["value_error"])
                of += 1
print("%d of %d pairs of runs agree within their bars" % (held, of))
