#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade diff of two builds of a program that really ran, in the emulator: one function does more work in the second build, also where
unrelated code moved all addresses, and where the function has another name. diff names it first, by the right amount.
CYCLADE_LONG=1 takes 20 pairs."""
import json
import os
import random
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import LONG, Oracle, cyclade  # noqa: E402
from built import Built, functions, text  # noqa: E402
from tap import Tap, run  # noqa: E402

PAIRS = 20 if LONG else 4
KINDS = ("as it was", "moved", "renamed", "moved and renamed")
# Work that changes no result: what else the program does stays the same.
MORE = "for (volatile int w = 0; w < %d; w++) ;"
HOT = "f3"


def build(path, fs, called, *flags):
    """Some million instructions."""
    return Built(path, text(fs, called).replace("i < 1000", "i < 3").replace("return (int)x;", "sink = x; return 0;"), "-O2", *flags)


def pair(where, k, rng):
    """(base, new, the function's name in new)"""
    kind = KINDS[k % len(KINDS)]
    fs = functions(rng, 10)
    order = [f[0] for f in fs]
    least, most = rng.randrange(500, 1500), rng.randrange(4000, 8000)
    name = "other" if "renamed" in kind else HOT
    base = [(n, MORE % least + b if n == HOT else b) for n, b in fs]
    new = [(name, MORE % most + b) if n == HOT else (n, b) for n, b in fs]
    if "moved" in kind:
        rng.shuffle(new)
        new = functions(rng, 14)[10:] + new  # they have names of their own: f10 to f13, which nobody calls
        new = [(n if i >= 4 else "idle%d" % i, b) for i, (n, b) in enumerate(new)]
    flags = ("-g",) if rng.random() < 0.5 else ()
    return (build("%s/base%d/prog" % (where, k), base, order, *flags),
            build("%s/new%d/prog" % (where, k), new, [name if n == HOT else n for n in order], *flags), name)


def executed(r, program, name):
    """Instructions that really ran in a function."""
    start, size = program.at[name]
    return sum(n for (image, at), n in r.truth.insns.items() if image == os.path.realpath(program.path) and start <= at < start + size)


def check(t, o, k):
    rng = random.Random(k)
    base, new, name = pair(o.dir.name, k, rng)
    runs = [o.run_path(p.path, event="insns", period=200, seed=2 * k + i + 1) for i, p in enumerate((base, new))]
    truth = [executed(r, p, n) for r, p, n in zip(runs, (base, new), (HOT, name))]
    what = "pair %d, %s: " % (k, KINDS[k % len(KINDS)])
    if "moved" in what:
        still = [n for n in base.at if n[0] == "f" and n in new.at and base.at[n][0] == new.at[n][0]]
        t.ok(not still, what + "no function is where it was", still)
    doc = cyclade("diff", "-j", runs[0].path, runs[1].path)
    row = doc["rows"][0] if isinstance(doc, dict) and doc["rows"] else {}
    change = truth[1] / truth[0] - 1
    good = row.get("function") == name and row["verdict"] == "moved" and (name == HOT or row["match"] == "renamed")
    t.ok(good, what + "the function is named first", json.dumps(row) + json.dumps(doc["matches"] if isinstance(doc, dict) else doc))
    t.ok(good and abs(row["change"] - change) < max(2 * row["change_error"], 0.02), what + "by what it really did more (%+.0f %%)" % (100 * change), row)
    wrong = [r for r in doc["rows"][1:] if r["verdict"] in ("moved", "new", "gone") and r["dso"] == "prog"]
    t.ok(not wrong, what + "and no other of the program", wrong)
    if not k:
        said = run("diff", "--no-cache", *[r.path for r in runs]).stdout
        t.ok("what moved      %s: +" % name in said, what + "on the screen, too", said)
        doc = cyclade("diff", "-j", runs[0].path, runs[0].path)
        t.ok(doc["rows"] and all(r["verdict"] == "same" for r in doc["totals"] + doc["rows"]), "with itself there is no difference", doc["rows"])
    return good


def main():
    t = Tap()
    with Oracle(t) as o:
        first = sum(check(t, o, k) for k in range(PAIRS))
        t.equal(first, PAIRS, "first in %d of %d pairs" % (first, PAIRS))
    t.done()


main()
