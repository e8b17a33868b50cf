#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of `cyclade blocks --chains` on AArch64 against llvm-mca, which simulates the same loops with LLVM's own decoder and tables.

    bench/chains_arm.py CYCLADE LLVM-MCA        # of LLVM 17 or later; it prints its version

llvm-mca runs 1,000 iterations with a front end without limits. A loop agrees if it takes what its bounds say, within 10 %."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
import chains_arm_made as made  # noqa: E402


def simulated(mca, body, cpu):
    r = subprocess.run([mca, "-march=aarch64", "-mcpu=" + cpu, "-mattr=+crc", "-iterations=1000", "-dispatch=100"], input=body + "\nsubs x0, x0, #1\nb.ne 0\n",
                       capture_output=True, text=True, check=True)
    return int(re.search(r"Total Cycles:\s+(\d+)", r.stdout).group(1)) / 1000


def main():
    cyclade, mca = sys.argv[1:3]
    print(subprocess.run([mca, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0])
    good = n = 0
    with tempfile.TemporaryDirectory() as where:
        m = made.made(where)
        for cpu, name in ((made.N1, "n1"), (made.N2, "n2"), (made.V1, "v1"), (made.V2, "v2")):
            path = m.record(os.path.join(where, "data"), {x.name: max(x.chain[1], x.ports, 1) for x in made.LOOPS}, cpu=cpu, stacks=3)
            r = subprocess.run([cyclade, "blocks", "--chains", "-j", "--no-cache", "-i", path], capture_output=True, text=True, check=True)
            by = {b["function"][5:]: b for b in json.loads(r.stdout)["bounds"]}
            for x in made.LOOPS:
                b, took = by[x.name], simulated(mca, x.body, "neoverse-" + name)
                top = max(b["ports"] or 0, b["issue"] or 0)
                low, high = max(b["chain"], top), max(b["chain_high"] or 1e9, top)
                near = low / 1.1 <= took <= high * 1.1
                good, n = good + near, n + 1
                print("%-3s %-8s llvm-mca %6.2f  chain %s  ports %.2f (%s)%s" % (name, x.name, took, "%.4g-%.4g" % (b["chain"], b["chain_high"] or 0), b["ports"],
                                                                               b["fullest"], "" if near else "  NOT within 10 %"))
    print("%d of %d within 10 %% of their bound" % (good, n))


main()
