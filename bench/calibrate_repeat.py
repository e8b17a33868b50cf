#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does `cyclade calibrate` repeat within its own error bars? For a machine at rest; a verdict at the end, exit 1 if it is no.

    bench/calibrate_repeat.py CYCLADE [RUNS] [calibrate's options and measures]        # 10 runs; `--quick l1 l2` for less

A figure holds in a run if its error bar meets the median of the other runs, whose own error (1.25 times that of their mean) is
added. A measure repeats if it holds in 9 of 10 runs. The bars are 95 %: a measure that is right fails this in 1 of 11 benches (of 10
runs two or more outside), so that measures are judged together, too: as many may fail as chance lets fail, with 95 %."""
import json
import math
import os
import statistics
import subprocess
import sys

REST = 0.1  # CPUs that others used meanwhile: no rest


def state():
    """Of all CPUs since the machine began: (stolen, all) in ticks, seconds of others' work."""
    with open("/proc/stat", encoding="ascii") as f:
        words = [int(x) for x in f.readline().split()[1:]]
    own = os.times()
    used = (words[0] + words[1] + words[2] + sum(words[5:7])) / os.sysconf("SC_CLK_TCK")
    return words[7] if len(words) > 7 else 0, sum(words), used - own.user - own.system - own.children_user - own.children_system, own.elapsed


def one(command):
    before = state()
    r = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": "/dev/null/data"})
    if r.returncode:
        sys.exit(r.stderr.strip() or "calibrate failed")
    now = state()
    return json.loads(r.stdout), (now[2] - before[2]) / (now[3] - before[3]), (now[0] - before[0]) / max(1, now[1] - before[1])


def key(c):
    return c["measure"] + ("" if c.get("prefetchers") in (None, "on") else " (prefetchers off)")


def holds(i, values):
    """(held, spread): the i-th (value, half) against the others."""
    others = [v for k, (v, _) in enumerate(values) if k != i]
    error = 1.25 * 1.96 * statistics.stdev(others) / math.sqrt(len(others)) if len(others) > 1 else 0
    value, half = values[i]
    return abs(value - statistics.median(others)) <= half + error


def may_fail(measures, runs, least):
    """How many measures chance fails at most, with 95 %, if each bar misses in 5 %."""
    good = sum(math.comb(runs, k) * 0.95 ** k * 0.05 ** (runs - k) for k in range(least, runs + 1))
    p, total = 1 - good, 0.0
    for n in range(measures + 1):
        total += math.comb(measures, n) * p ** n * (1 - p) ** (measures - n)
        if total >= 0.95:
            return n
    return measures


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 10
    command = [sys.argv[1], "calibrate", "-j"] + sys.argv[3 if len(sys.argv) > 2 and sys.argv[2].isdigit() else 2:]
    figures, why, busy, steals = {}, {}, 0, []
    for i in range(runs):
        doc, others, steal = one(command)
        busy += others > REST
        steals.append(steal)
        for c in doc["costs"]:
            if c["value"] is None:
                why[key(c)] = c["value_why"]
            else:
                figures.setdefault(key(c), []).append((c["value"], c["value_error"], c.get("unit") or ""))
        print("run %d of %d: others used %.2f CPUs, %.1f %% stolen" % (i + 1, runs, others, 100 * steal), file=sys.stderr)
    least = math.ceil(runs * 0.9)
    failed = judged = 0
    print("%-22s %10s %10s %10s %7s" % ("measure", "median", "bar", "spread", "held"))
    for name, values in figures.items():
        if len(values) < 3:
            print("%-22s in %d of %d runs only: %s" % (name, len(values), runs, why.get(name, "")))
            continue
        plain = [(v, h) for v, h, _ in values]
        held = sum(holds(i, plain) for i in range(len(plain)))
        bad = held < math.ceil(len(plain) * 0.9)
        failed += bad
        judged += 1
        print("%-22s %10.4g %10.2g %10.2g %3d/%-3d%s" % (name, statistics.median(v for v, _ in plain), statistics.median(h for _, h in plain),
                                                       1.96 * statistics.stdev(v for v, _ in plain), held, len(plain), "  NOT" if bad else ""))
    for name, reason in why.items():
        if name not in figures:
            print("%-22s not measured: %s" % (name, reason))
    allowed = may_fail(judged, runs, least)
    print("%d of %d measures hold in 9 of 10 runs; chance alone fails up to %d" % (judged - failed, judged, allowed))
    if busy:
        print("NOT AT REST: others used over %.1f CPUs in %d of %d runs" % (REST, busy, runs))
    if max(steals) > 0.01:
        print("NOT AT REST: up to %.1f %% of the time was stolen" % (100 * max(steals)))
    good = judged > 0 and failed <= allowed
    print("verdict: calibrate %s within its own error bars%s" % ("repeats" if good else "does NOT repeat", "" if not busy else " (not at rest)"))
    return 0 if good else 1


sys.exit(main())
