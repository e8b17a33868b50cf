#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each row of kernels.def against the emulator, which follows the kernel instruction by instruction: what twice as many iterations
count more must be what the row has, to the last digit. What the row does not name must be zero.

Mispredicts and page faults are not the emulator's to know."""
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
LAYOUTS = 8
OUT = os.path.join(scratch.name, "counts")


def table(words):
    """{name: (round, units, {key: (each, per unit)})}, and {name: why this machine cannot run it}"""
    rows, without = {}, {}
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        w = line.split()
        if w[0] == "-":
            without[w[1]] = " ".join(w[2:])
            continue
        rows[w[0]] = (int(w[1]), int(w[2]), {w[i]: (float(w[i + 1]), float(w[i + 2])) for i in range(3, len(w), 3)})
    return rows, without


def counted(qemu, program, asked):
    """What kernels count, all by one start of the emulator, {(name, n, units, layout): (of n iterations, of twice as many)}"""
    lines = "".join("run %s %d %d %d\n" % x for x in asked)
    subprocess.run([qemu, "-plugin", "%s/counts.so,out=%s" % (BUILT, OUT), program, "-"], input=lines, text=True, check=True, timeout=600)
    with open(OUT, encoding="ascii") as f:
        seen = [{k: int(v) for k, v in zip(w[::2], w[1::2])} for w in map(str.split, f)]
    t.equal(len(seen), 2 * len(asked), "%s: all of %d runs were followed" % (os.path.basename(program), len(asked)))
    return dict(zip(asked, zip(seen[::2], seen[1::2])))


def against(counts, few, many, n, u):
    """What is not as the row has it, by key; the row counts each and, for each of u units, per."""
    return {key: "%s: %g, the row has %g" % (key, (many[key] - few[key]) / n, each + per * u)
            for key, (each, per) in counts.items() if key in many and many[key] - few[key] != n * (each + per * u)}


def runs(name, row):
    """What is asked of a kernel: with the row's units and half of them, and in each layout, if its code has several."""
    step, units, counts = row
    n = max(step, 20 if units else 100)
    own = [(name, n, u, 0) for u in (sorted({units, max(units // 2, 1)}) if units else [0])]
    return own, [(name, n, 0, layout) for layout in range(LAYOUTS)] if counts["mispredicts"][0] else []


def examine(machine, name, row, seen):
    counts, (own, layouts) = row[2], runs(name, row)
    for run in own:
        _, n, u, _ = run
        wrong = against(counts, *seen[run], n, u)
        t.ok(not wrong, "%s: %s%s" % (machine, name, " (%d)" % u if u else ""), "\n".join(wrong.values()))
        if name == "nested":  # a row that is wrong by one, in what it counts or in what must be zero, is found
            found = {key: list(against(dict(counts, **{key: (each + 1, per)}), *seen[run], n, u)) for key, (each, per) in counts.items() if key in seen[run][1]}
            t.equal(found, {key: [key] for key in found}, "%s: %s: a wrong row fails" % (machine, name))
    if layouts:  # in each layout of its code the same, the code before the loop aside
        more = [{key: many[key] - few[key] for key in many} for few, many in (seen[x] for x in layouts)]
        t.equal([i for i, x in enumerate(more) if x != more[0]], [], "%s: %s: %d layouts count the same" % (machine, name, LAYOUTS))


for machine, qemu, program in (("x86-64", emulator("x86_64"), "kernel_run"), ("AArch64", emulator("aarch64"), "kernel_run_arm")):
    path = os.path.join(BUILT, program)
    if not qemu or not os.path.exists(path):
        t.skip(machine, NO_PLUGINS if not qemu else "no cross compiler")
        continue
    rows, without = table([path] if machine == "x86-64" else [qemu, path])
    t.ok(len(rows) > 55, "%s: %d kernels" % (machine, len(rows)))
    t.equal(list(without), ["split-lock"] if machine == "AArch64" else [], "%s: kernels that it cannot run" % machine)
    # no compiler makes one function of two kernels, or one that only jumps to the other
    code = {w[3]: (w[0], int(w[1], 16)) for w in map(str.split, subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout.splitlines())
            if len(w) == 4 and w[3].startswith("run_")}
    own, same = (code.get("run_" + name, ("", 0)) for name in ("indirect", "indirect_same"))
    t.ok(own[0] != same[0] and own[1] > 300 and same[1] > 300, "%s: indirect jumps to the same place have code of their own" % machine, (own, same))
    seen = counted(qemu, path, list(dict.fromkeys(x for name, row in rows.items() for part in runs(name, row) for x in part)))
    for name, row in rows.items():
        examine(machine, name, row, seen)
t.done()
