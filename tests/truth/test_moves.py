#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What rows of kernels.def say of memory, against models of store buffers, caches and TLBs in the emulator (moves.c): loads that cannot be forwarded
and 4K aliases, in buffers of any length; lines and pages that move as kernel_moved() has it, but for lines of the stack where the least
recently used one goes, and within its bounds where any goes or as little as possible does."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from tap import NO_PLUGINS, ROOT, Tap, emulator  # noqa: E402

BUILT = os.environ.get("TRUTH_BUILT", os.path.join(ROOT, "build", "tests", "truth"))
t = Tap()
scratch = tempfile.TemporaryDirectory()
OUT = os.path.join(scratch.name, "moves")
LINES, PAGES = (128, 131072), (16, 2048)  # of the models
# what a model counts, by what the row does: quantity, the models' key, their sizes
MODELS = [(("lines_read", "lines_written"), "in", LINES), (("lines_written",), "out", LINES), (("pages",), "walks", PAGES), (("pages",), "huge", (16,))]


def table(words):
    rows = {}
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        w = line.split()
        if w[0] != "-":
            rows[w[0]] = (int(w[1]), {w[i]: float(w[i + 1]) for i in range(3, len(w), 3)})
    return rows


def counted(qemu, program, asked):
    """What the models count, all by one start of the emulator, of lines NAME N SIZE: [(of n iterations, of twice as many)]"""
    lines = "".join("run %s %d 0 0 %d\n" % x for x in asked)
    subprocess.run([qemu, "-plugin", "%s/moves.so,out=%s" % (BUILT, OUT), program, "-"], input=lines, text=True, check=True, timeout=600)
    with open(OUT, encoding="ascii") as f:
        seen = [{k: int(v) for k, v in zip(w[::2], w[1::2])} for w in map(str.split, f)]
    t.equal(len(seen), 2 * len(asked), "%s: all of %d runs were followed" % (os.path.basename(program), len(asked)))
    return list(zip(seen[::2], seen[1::2]))


def moved(words, sizes):
    """{name: (iterations of a turn, {(quantity, holds): (how many, at least), or None})}, of kernels with their sizes"""
    asked = [(q, holds) for quantities, _, sizes in MODELS for holds in sizes for q in quantities]
    ask = "".join("moves %s %d %s\n" % (name, size, " ".join("%s %d" % pair for pair in asked)) for name, size in sizes.items())
    w = [x.split() for x in subprocess.run([*words, "-"], input=ask, capture_output=True, text=True, check=True).stdout.splitlines()]
    t.equal(len(w), len(sizes) * len(asked), "an answer for each quantity")
    return {name: (int(w[i][0]), {pair: None if x[1] == "unsure" else (float(x[1]), float(x[2])) for pair, x in zip(asked, w[i:])})
            for name, i in zip(sizes, range(0, len(w), len(asked)))}


def forwards(counts, row, few):
    """Store buffers that do not count as the row does; few: of the code before and behind the loop."""
    return ["%s: %g, the row has %g" % (k, x, row[k.split(".")[0]]) for k, x in counts.items()
            if k.split(".")[0] in row and abs(x - row[k.split(".")[0]]) > few]


def within(policy, n, low, x, live, few):
    # few: the stack's lines are not the same in two runs, nor what is in the cache at the end
    if policy == "lru":
        return abs(x - n) <= few
    # any that goes may be one that is needed at once
    return low - few <= x <= n * (1 + live) + few if policy == "any" else low - few <= x <= n


def lines_and_pages(name, moves, counts, few, off=0):
    """Models that do not count as kernel_moved() has it, and how many were certain; off: how wrong the row is."""
    wrong, certain = [], 0
    for quantities, key, sizes in MODELS:
        if key == "huge" and "huge" not in name or key == "walks" and "huge" in name:
            continue
        for holds in sizes:
            parts = [moves[q, holds] for q in quantities]
            if None in parts:
                continue
            n, low = sum(x for x, _ in parts) + off, sum(x for _, x in parts)
            certain += n > 0
            wrong += ["%s.%s.%d: %g, not %g to %g" % (key, p, holds, counts["%s.%s.%d" % (key, p, holds)], low, n) for p in ("lru", "any", "keep")
                      if not within(p, n, low, counts["%s.%s.%d" % (key, p, holds)], 8 / holds, few)]
    return wrong, certain


def touches(name, row):
    return row["lines_read"] + row["lines_written"] + row["lines_past"] > 0 or name == "flush"


def examine(machine, name, row, n, moves, few, many):
    counts = {key: (many[key] - few[key]) / n for key in many}
    wrong = forwards(counts, row, 4 / n)
    t.ok(not wrong, "%s: %s: forwards and aliases" % (machine, name), "\n".join(wrong))
    wrong, certain = lines_and_pages(name, moves, counts, 8 / n)
    if "nt" in name.split("-") and counts["past"] != row["lines_past"]:
        wrong.append("past: %g, the row has %g" % (counts["past"], row["lines_past"]))
    t.ok(not wrong and (certain or not touches(name, row) or name == "flush"), "%s: %s: lines and pages" % (machine, name), "\n".join(wrong))
    return counts, moves, 4 / n


def examine_all(machine, qemu, program, words, rows):
    sizes = {name: 1 << 21 if name.startswith("walk-pages") else 1 << 19 for name in rows}
    all_moves = moved(words, sizes)
    n = {name: max(all_moves[name][0], step) if touches(name, row) else max(step, 100) for name, (step, row) in rows.items()}
    seen = counted(qemu, program, [(name, n[name], sizes[name]) for name in rows])
    return {name: examine(machine, name, row, n[name], all_moves[name][1], *both) for (name, (_, row)), both in zip(rows.items(), seen)}


for machine, qemu, program in (("x86-64", emulator("x86_64"), "kernel_run"), ("AArch64", emulator("aarch64"), "kernel_run_arm")):
    path = os.path.join(BUILT, program)
    if not qemu or not os.path.exists(path):
        t.skip(machine, NO_PLUGINS if not qemu else "no cross compiler")
        continue
    words = [path] if machine == "x86-64" else [qemu, path]
    rows = table(words)
    t.ok(len(rows) > 55, "%s: %d kernels" % (machine, len(rows)))
    seen = examine_all(machine, qemu, path, words, rows)
    # a wrong row is found: one more or less of any, where there are some and where there are none
    for name in ("blocked", "alias-4k", "forward", "nested"):
        row = rows[name][1]
        for key in ("blocked_forwards", "aliases_4k"):
            for off in (1, -1):
                found = forwards(seen[name][0], dict(row, **{key: row[key] + off}), seen[name][2])
                t.ok(len(found) == 3 and all(x.startswith(key) for x in found), "%s: %s: %+d of %s fails" % (machine, name, off, key), found)
    for name in ("read", "store", "copy", "walk-pages", "walk-order"):
        for off in (0.5, -0.5, 0.01, -0.01):
            found = lines_and_pages(name, seen[name][1], seen[name][0], 0, off)[0]
            t.ok({x.split(".")[0] for x in found} == {"in", "out", "walks"}, "%s: %s: %+g lines and pages fail" % (machine, name, off), found)
t.done()
