#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of `cyclade blocks --chains` against the loops themselves, run here and timed by the clock.

    bench/chains.py CYCLADE [MODEL] [PENALTIES]

Cycles come from a chain of additions that is timed beside each loop, the least of many repeats counts. Recordings are made with these
cycles as branch records; verdict and bounds are then cyclade's own."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
import chains_made  # noqa: E402

MAIN = r"""
#include <stdio.h>
#include <time.h>
%s
typedef void run(long);
static run *const loop[] = { %s };
static const char *const name[] = { %s };
static double timed(run *f, long n)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    f(n);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}
extern char cell[];
int main(void)
{
    char *at = cell; /* for the chase: lines in an order that nobody guesses */

    for (unsigned i = 0, next = 0; i < 256; i++) {
        next = (next * 5 + 3) %% 256;
        *(void **)at = cell + 64 * next;
        at = cell + 64 * next;
    }
    for (unsigned i = 0; i < sizeof(loop) / sizeof(*loop); i++) {
        double least = 1, add = 1;
        long n = 8000;
        for (int k = 0; k < 3000; k++) {
            double t = timed(loop[i], n), u = timed(loop_add, n);
            if (t < least) least = t;
            if (u < add) add = u;
        }
        printf("%%s %%.4f\n", name[i], least / add * 8);
    }
}
"""


def measure(where):
    names = [x.name for x in chains_made.LOOPS]
    main = MAIN % ("\n".join("void loop_%s(long);" % n for n in names), ", ".join("loop_" + n for n in names), ", ".join('"%s"' % n for n in names))
    m = chains_made.Made(where, main=main)
    out = {}
    for _ in range(3):  # others run here, too
        for line in subprocess.run([m.path], capture_output=True, text=True, check=True).stdout.splitlines():
            out[line.split()[0]] = min(float(line.split()[1]), out.get(line.split()[0], 1e9))
    return m, out


def main():
    cyclade, more = sys.argv[1], []
    if len(sys.argv) > 2:
        more = ["--model", sys.argv[2]]
    if len(sys.argv) > 3:
        more += ["--penalties", sys.argv[3]]
    with tempfile.TemporaryDirectory() as where:
        m, cycles = measure(where)
        path = m.record(os.path.join(where, "data"), cycles)
        r = subprocess.run([cyclade, "blocks", "--chains", "-j", "--no-cache", "-i", path, *more], capture_output=True, text=True, check=True)
    print("%-9s %8s %12s %7s %7s  %s" % ("loop", "measured", "chain", "ports", "issue", "verdict (Skylake's, by hand)"))
    good = 0
    for row in sorted(json.loads(r.stdout)["bounds"], key=lambda x: [y.name for y in chains_made.LOOPS].index(x["function"][5:])):
        x = chains_made.BY[row["function"][5:]]
        top = max(row["ports"] or 0, row["issue"] or 0)
        low, high = max(row["chain"], top), max(row["chain_high"] or 1e9, top)
        near = low / 1.1 <= cycles[x.name] <= high * 1.1
        good += near
        print("%-9s %8.2f %12s %7.2f %7.2f  %s%s%s" % (x.name, cycles[x.name], "%.4g-%.4g" % (row["chain"], row["chain_high"] or 0), row["ports"], row["issue"],
                                                   row["verdict"], "" if row["verdict"] == x.verdict else " (%s)" % x.verdict,
                                                   "" if near else "  NOT within 10 %"))
    print("%d of %d within 10 %% of their bound" % (good, len(cycles)))


main()
