#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the drill-down, on programs whose truth is known (replay.c): error bars hold the truth at every
level, the hottest leaf is found, bars on the way to it are not much wider than those of -l; in short runs, where
each level down takes a slice to open that nobody saw, than those of an oracle that opens what truly matters.

CYCLADE_LONG takes 10,000 programs, else 320 a machine. As a tool: test_drill_figures.py RUNS
[MACHINE]."""
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from tap import ROOT, SANITIZED, Tap  # noqa: E402

REPLAY = os.environ.get("SIM_REPLAY", os.path.join(ROOT, "build", "tests", "sim", "replay"))
MODELS = {"ivb": "ivb", "skl": "skl", "spr": "spr", "zen4": "zen4", "n1": "neoverse-n1", "n2": "neoverse-n2"}
LENGTHS = (50, 200, 1000, 4000)  # ms
LONG_ENOUGH = (1000, 4000)  # each level down takes some slices to open: in short runs that is time not seen
SHORT = (50, 200)
ORACLE = 1.1  # so many times the bars of one that knows what to open as soon as somebody can
PHASES = ((30, 400), (200, 2000))
ROUNDING = 0.0005  # of a figure that is shown to a tenth of a per cent
DEEPEST = 4  # of -l
LEAST_HELD, LEAST_FOUND = 0.93, 0.9  # 0.95 is promised: so many programs tell 0.93 from it
FEWEST = 100  # bars of a level that say something
SLACK = 0.02  # TREE_SLACK, and what parts and whole differ by that were counted in different turns of a short run
# machine, phases, a node that is closed for much of it, and how far its mean over many runs may be off
NAMED = [("spr", "dram_bound 400 icache_misses 400 even 700", "Code_L2_Miss", 0.01),
         ("spr", "dram_bound 400 icache_misses 400 even 700", "Code_L2_Hit", 0.01)]
trees = tempfile.TemporaryDirectory(prefix="cyclade-replay-")


def tree_of(machine):
    out = os.path.join(trees.name, machine)
    if not os.path.isdir(out):
        os.mkdir(out)
        subprocess.run([sys.executable, os.path.join(HERE, "tools", "tree.py"), table(machine), out], check=True)
    return out


def table(machine):
    return os.path.join(HERE, "machines", machine + ".tab")


def replay(machine, mode, level, runs, *words):
    p = subprocess.run([REPLAY, table(machine), tree_of(machine), MODELS[machine], mode, str(level), str(runs),
                        *(str(x) for x in words)], capture_output=True, text=True, check=False)
    if p.returncode:
        raise RuntimeError(p.stderr)
    return [x.split("\t") for x in p.stdout.splitlines()]


class Figures:
    """What became of some programs on one machine. Keys of bars are (mode, length, level): held, of."""

    def __init__(self):
        self.bars = defaultdict(lambda: [0, 0])
        self.without = defaultdict(int)  # by level: values without a bar
        self.leaf = defaultdict(lambda: [0, 0])  # by length: found, of
        self.end = {}  # by program: how deep its true path goes
        self.path = {}  # by program and node of its true path: half width of the drill-down
        self.pair = defaultdict(list)  # by length and level: half widths of both, -l as deep as the path goes
        self.best = defaultdict(list)  # by length: half widths of the drill-down and of the oracle
        self.worst = []
        self.excess = 0

    def node(self, x, mode, length, level, kind):
        at, value, error, truth = int(x[2]), float(x[5]), float(x[6]), float(x[8])
        program, key = (length, kind, x[1]), (length, kind, x[1], x[3])
        if value != value:  # "?" is no figure
            return
        if error != error:
            self.without[mode, at] += 1
            return
        held = abs(value - truth) <= error + ROUNDING
        self.bars[mode, length, at][1] += 1
        self.bars[mode, length, at][0] += held
        if mode == "drill":
            if x[4] == "1":
                self.path[key] = error
            if not held:
                self.worst.append((abs(value - truth) - error, length, x))
        elif mode == "oracle":
            if key in self.path:
                self.best[length].append((self.path[key], error))
        elif key in self.path and level == min(self.end.get(program, 0), DEEPEST):
            self.pair[length, at].append((self.path[key], error))

    def take(self, lines, mode, length, level=0, kind=0):
        for x in lines:
            if x[0] == "node":
                self.node(x, mode, length, level, kind)
            elif x[0] == "leaf" and mode == "drill":
                self.end[length, kind, x[1]] = int(x[3])
                self.leaf[length][1] += 1
                self.leaf[length][0] += int(x[4])
            elif x[0] == "sum" and mode == "drill":
                self.excess = max(self.excess, float(x[3]))

    def pooled(self, mode, level, lengths=LENGTHS):
        """Share of the bars at a level that hold the truth, and how many there are."""
        held = [self.bars[mode, n, level] for n in lengths]
        of = sum(x[1] for x in held)
        return (sum(x[0] for x in held) / of if of else 1, of)

    def found(self, lengths=LENGTHS):
        return sum(self.leaf[n][0] for n in lengths) / max(sum(self.leaf[n][1] for n in lengths), 1)

    def medians(self, lengths=LENGTHS, level=None):
        both = [p for (n, at), v in self.pair.items() if n in lengths and level in (None, at) for p in v]
        return (statistics.median(p[0] for p in both), statistics.median(p[1] for p in both)) if both else (0, 0)

    def floor(self, lengths=SHORT):
        both = [p for n in lengths for p in self.best[n]]
        return (statistics.median(p[0] for p in both), statistics.median(p[1] for p in both)) if both else (0, 0)

    def levels(self):
        return sorted({k[2] for k, v in self.bars.items() if k[0] == "drill" and v[1]})

    def tell(self, machine):
        for level in self.levels():
            held, of = self.pooled("drill", level)
            print("# %s level %d: %5.1f %% of %d bars hold (%s), %d without; -l %5.1f %%; on the path +-%.1f, -l %.1f" % (
                machine, level, 100 * held, of, ", ".join("%.1f %d ms" % (100 * self.pooled("drill", level, (n,))[0], n)
                                                         for n in LENGTHS),
                self.without["drill", level], 100 * self.pooled("all", level)[0], *(
                    100 * x for x in self.medians(LONG_ENOUGH, level))))
        print("# %s half width on the path, -l's: %s" % (machine, ", ".join(
            "%d ms +-%.2f %.2f" % (n, 100 * self.medians((n,))[0], 100 * self.medians((n,))[1]) for n in LENGTHS)))
        print("# %s half width on the path, an oracle's: %s" % (machine, ", ".join(
            "%d ms +-%.2f %.2f" % (n, 100 * self.floor((n,))[0], 100 * self.floor((n,))[1]) for n in SHORT)))
        print("# %s hottest leaf found: %.1f %% (%s); children over their parent by %.4f at most" % (
            machine, 100 * self.found(), ", ".join("%.1f %d ms" % (100 * self.found((n,)), n) for n in LENGTHS), self.excess))


def examine(machine, runs, seed=1):
    """`runs` programs, divided among the lengths and kinds of phases."""
    f = Figures()
    each = max(runs // (len(LENGTHS) * len(PHASES)), 1)
    for mode, levels, lengths in (("drill", (0,), LENGTHS), ("oracle", (0,), SHORT), ("all", range(1, DEEPEST + 1), LENGTHS)):
        sets = [(n, i) for n in lengths for i in range(len(PHASES))]
        words = [x for n, i in sets for x in (seed + i, n, *PHASES[i])]
        for level in levels:  # all sets by one start: it takes as long as many runs
            lines = replay(machine, mode, level, each, *words)
            begins = [k for k, x in enumerate(lines) if x[0] == "set"]
            if len(begins) != len(sets):
                raise RuntimeError("%s %s: %d of %d sets" % (machine, mode, len(begins), len(sets)))
            for (n, i), a, b in zip(sets, begins, [*begins[1:], len(lines)]):
                f.take(lines[a + 1:b], mode, n, level, i)
    return f


def check(t, machine, runs):
    f = examine(machine, runs)
    f.tell(machine)
    for level in f.levels():
        held, of = f.pooled("drill", level)
        t.ok(of < FEWEST or held >= LEAST_HELD, "%s: bars at level %d hold the truth" % (machine, level),
             "%.1f %% of %d: %s" % (100 * held, of, sorted(f.worst, reverse=True)[:5]))
    if not SANITIZED:  # which has few programs
        t.ok(f.found() >= LEAST_FOUND, "%s: the hottest leaf is found" % machine, "%.1f %%" % (100 * f.found()))
    for level in () if SANITIZED else (None, 2, 3):  # all of them; there are few paths that go deeper
        ours, theirs = f.medians(LONG_ENOUGH, level)
        t.ok(ours <= 2 * theirs + ROUNDING, "%s: bars on the way to it are at most twice as wide as those of -l%s" %
             (machine, " at level %d" % level if level else ""), "+-%.2f %%, -l +-%.2f %%" % (100 * ours, 100 * theirs))
    for n in () if SANITIZED else SHORT:
        (ours, best), theirs = f.floor((n,)), f.medians((n,))[1]
        t.ok(ours <= max(ORACLE * best, 2 * theirs) + ROUNDING, "%s: bars in runs of %d ms are as narrow as can be" %
             (machine, n), "+-%.2f %%, oracle +-%.2f %%, -l +-%.2f %%" % (100 * ours, 100 * best, 100 * theirs))
    t.ok(f.excess <= SLACK, "%s: parts are no more than their whole" % machine, "%.4f" % f.excess)


def mean_is_true(t, machine, phases, node, off):
    """One run may miss as its bar says; what many runs miss to one side is a mistake."""
    lines = [x for x in replay(machine, "phases", DEEPEST, 40, 1, *phases.split()) if x[0] == "node" and x[3] == node]
    mean, truth = (sum(float(x[i]) for x in lines) / max(len(lines), 1) for i in (5, 8))
    t.ok(lines and abs(mean - truth) <= off, "%s %s: the mean of %s is true" % (machine, phases, node),
         "%.4f, true %.4f" % (mean, truth))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for m in sys.argv[2:] or MODELS:
            e = examine(m, int(sys.argv[1]))
            e.tell(m)
            for w in sorted(e.worst, reverse=True)[:int(os.environ.get("WORST", "0"))]:
                print(w)
        sys.exit(0)
    tap = Tap()
    for m in MODELS:
        # instrumented, a program takes ten times as long: then it is the memory that is looked at
        check(tap, m, 8 if SANITIZED else 10000 // len(MODELS) if os.environ.get("CYCLADE_LONG") else 320)
    for row in () if SANITIZED else NAMED:
        mean_is_true(tap, *row)
    tap.done()
