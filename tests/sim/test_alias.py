#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs with a period near the time that groups of counters take for their turns: error bars hold the truth at
every level, of the drill-down and of -l, on simulated machines with time on paper.

CYCLADE_LONG runs every period on every machine. As a tool: test_alias.py RUNS [MACHINE...]."""
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on, stat_on, tree  # noqa: E402
from tap import CYCLADE, ROOT, SANITIZED, Tap  # noqa: E402
from trees import trees  # noqa: E402

REPLAY = os.environ.get("SIM_REPLAY", os.path.join(ROOT, "build", "tests", "sim", "replay"))
LONG = bool(os.environ.get("CYCLADE_LONG"))
DEEPEST = 4
MS = 1500
PERIODS = (2, 4, 6, 8, 10, 12, 16, 20, 24, 26, 32, 40, 48, 50, 64, 77, 80, 100, 128, 160, 200, 250, 333, 500)
SOME = (8, 16, 32, 64, 77, 250)  # those that were worst as long as turns were equal, and others
# two programs that take turns: of unlike nodes
MACHINES = {"zen2": ("frontend_bound_latency", "retiring_fastpath"),
            "zen4": ("backend_bound_memory", "retiring_fastpath"),
            "skl": ("dram_bound", "fp_vector"),
            "spr": ("icache_misses", "l1_bound")}
KINDS = {"drill-down": ("--drilldown", "-l", str(DEEPEST)), "-l": ("-l", str(DEEPEST))}
ROUNDING = 0.0005
LEAST, FEWEST = 0.93, 50  # 0.95 is promised; nodes of a run are no independent draws
FAR, FAR_SHARE = 8, 0.002  # bars


def true_shares(machine, words):
    tree(machine)
    run_on(machine, "even", "true")  # makes the machine's files
    p = subprocess.run([REPLAY, os.path.join(HERE, "machines", machine + ".tab"), tree(machine), machine, "truth", *words],
                       capture_output=True, text=True, check=True)
    return {x[1]: float(x[2]) for x in (y.split("\t") for y in p.stdout.splitlines())}


def time_of(first, second, ms):
    """How long each of two phases lasts in a run."""
    period = first + second
    whole, rest = divmod(ms, period)
    return whole * first + min(rest, first), whole * second + max(rest - first, 0)


def bars(machine, program, first, second, kind, ms=MS):
    """[(level, value, half or None, truth, node)] of a run."""
    names = MACHINES[machine]
    with open(program, "w", encoding="utf-8") as f:
        f.write("phase %s %g\nphase %s %g\nrepeat\n" % (names[0], first, names[1], second))
    a, b = time_of(first, second, ms)
    truth = true_shares(machine, [names[0], "%g" % a, names[1], "%g" % b])
    said = stat_on(machine, program, *KINDS[kind], SPIN, str(ms), paper=True)
    got = [n for x in trees(said) for n in x["nodes"] if n["value"] is not None and n["node"] in truth]
    return [(1 + n["node"].count("."), n["value"], n["value_error"], truth[n["node"]], n["node"]) for n in got]


class Held:
    """Bars that hold, of how many, by whatever they are pooled by."""

    def __init__(self):
        self.of, self.no, self.without, self.worst = defaultdict(int), defaultdict(int), defaultdict(int), []

    def take(self, rows, *keys):
        for level, value, half, truth, node in rows:
            for key in (*keys, "level %d" % level):
                if half is None:
                    self.without[key] += 1
                    continue
                self.of[key] += 1
                self.no[key] += abs(value - truth) > half + ROUNDING
            if half is not None and abs(value - truth) > half + ROUNDING:
                self.worst.append((round(abs(value - truth) / (half + ROUNDING), 1), *keys, node, value, half, truth))

    def share(self, key):
        return 1 - self.no[key] / max(self.of[key], 1)

    def tell(self):
        for key in sorted(self.of, key=str):
            print("# %s: %.1f %% of %d bars hold, %d without" % (key, 100 * self.share(key), self.of[key], self.without[key]))


def examine(machines, periods, runs, tmp):
    held, rnd = Held(), random.Random(1)
    for machine in machines:
        for period in periods:
            for kind in KINDS:
                for _ in range(runs):
                    first = max(round(period * rnd.choice((0.25, 0.5, 0.5, 0.7)), 2), 0.5)
                    held.take(bars(machine, os.path.join(tmp, "program"), first, period - first, kind), machine, kind, "%d ms" % period)
    return held


def check(t, held):
    for level in range(1, DEEPEST + 1):
        key = "level %d" % level
        t.ok(held.of[key] >= FEWEST and held.share(key) >= LEAST, "bars at %s hold the truth" % key,
             "%.1f %% of %d: %s" % (100 * held.share(key), held.of[key], sorted(held.worst, reverse=True)[:5]))
    for machine in MACHINES:
        t.ok(held.share(machine) >= LEAST, "%s: bars hold the truth" % machine, "%.1f %% of %d" % (100 * held.share(machine), held.of[machine]))
    # each of these was wrong by ten bars and more as long as turns were equal
    far = [x for x in held.worst if x[0] > FAR]
    t.ok(len(far) <= FAR_SHARE * sum(held.of["level %d" % i] for i in range(1, DEEPEST + 1)), "none is far from it", str(far[:10]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="cyclade-alias-") as scratch:
        if len(sys.argv) > 1:
            h = examine(sys.argv[2:] or MACHINES, PERIODS, int(sys.argv[1]), scratch)
            h.tell()
            for w in sorted(h.worst, reverse=True)[:20]:
                print(w)
            sys.exit(0)
        tap = Tap()
        if SANITIZED:
            tap.skip("all of it", "under a sanitizer test_drill_figures.py has to do")
        elif run_on("zen2", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
            tap.skip("all of it", "no counting here")
        else:
            h = examine(MACHINES, PERIODS if LONG else SOME, 3 if LONG else 1, scratch)
            h.tell()
            check(tap, h)
    tap.done()
