#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A second referee: create_llvm_prof of AutoFDO reads the same recordings.

It counts each byte of code from where a branch led to the first of the next branch, by function, and calls by where
they enter: totals that can be made of our blocks, too."""
import collections
import os
import re
import shutil
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import Oracle, Symbols, cyclade, program, spans_of  # noqa: E402
import nest  # noqa: E402
from tap import Tap  # noqa: E402

TOOL = shutil.which("create_llvm_prof")


def theirs(name, rec):
    """{function: (total, calls)}, or what it said instead"""
    out = rec.path + ".prof"
    p = subprocess.run([TOOL, "--binary=" + program(name), "--profile=" + rec.path, "--out=" + out, "--format=text"],
                       capture_output=True, text=True, errors="replace", timeout=600)
    if p.returncode or not os.path.exists(out):
        return p.stdout + p.stderr
    with open(out, encoding="utf-8", errors="replace") as f:
        rows = [re.match(r"([\w.]+):(\d+):(\d+)$", x) for x in f]
    return {m[1]: (int(m[2]), int(m[3])) for m in rows if m}


def by_spans(name, rec):
    """The same by spans counted here"""
    image, total = program(name), collections.Counter()
    s = Symbols(image)
    for (start, last), (hits, _) in spans_of(rec).items():
        if start[0] == image:
            for f in s.order:
                n = min(last[1] + 1, f[1]) - max(start[1], f[0])
                if n > 0:
                    total[min(s.funcs[f])] += n * hits
    return total


def by_blocks(name, rec, depth):
    """The same by cyclade's blocks: of a branch that was taken only the first byte counts, and the oldest branch of
    each stack has no span before it."""
    j = cyclade("blocks", "-j", "-i", rec.path)
    if isinstance(j, str):
        return j
    image, total = program(name), {}
    for f in nest.functions(j):
        if os.path.basename(f["dso"]) != os.path.basename(image):
            continue
        n = 0
        for b in f["blocks"]:
            n += b["hits"] * (int(b["end"], 16) - int(b["address"], 16))
        for e in f["edges"]:
            if not e["fallthrough"] and e["from"] is not None:
                b = f["blocks"][e["from"]]
                ran = [a for a in range(int(b["address"], 16), int(b["end"], 16)) if (image, a) in rec.truth.length]
                if ran:
                    n -= (rec.truth.length[image, ran[-1]] - 1) * (e["mispredicted"] + e["predicted"]) * \
                        (depth - 1) / depth
        total[f["function"]] = n
    return total


def main():
    t = Tap()
    if not TOOL:
        t.skip("all", "no create_llvm_prof (Debian: autofdo)")
        t.done()
    with Oracle(t) as o:
        for name in ("nested", "pack", "indirect", "recursion"):
            depth = 32
            r = o.run(name, depth=depth, period=60)
            want = theirs(name, r)
            if not t.ok(not isinstance(want, str) and len(want) > 2, name + ": AutoFDO reads the recording", want):
                continue
            spans = by_spans(name, r)
            bad = [(f, n, spans[f]) for f, (n, _) in want.items() if n != spans[f]]
            t.ok(not bad, "%s: totals of %d functions are AutoFDO's" % (name, len(want)), bad)
            mine = by_blocks(name, r, depth)
            if isinstance(mine, str) and "no command" in mine:
                continue
            if not t.ok(not isinstance(mine, str), name + ": blocks", mine):
                continue
            bad = [(f, n, mine.get(f)) for f, (n, _) in want.items()
                   if n > 10000 and abs(mine.get(f, 0) / n - 1) > .01]
            t.ok(not bad, name + ": totals by blocks within 1 % of AutoFDO's", bad)
    t.done()


main()
