#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Means of several runs (stat -r): their error bars hold the truth, at every level, for 3, 5 and 10 runs, on simulated
machines with time on paper. Programs have phases at random, the same in each run.

As a tool: test_repeats.py PROGRAMS [MACHINE...]."""
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, run_on, stat_on, tree  # noqa: E402
from tap import CYCLADE, ROOT, SANITIZED, Tap  # noqa: E402
from trees import trees  # noqa: E402

REPLAY = os.environ.get("SIM_REPLAY", os.path.join(ROOT, "build", "tests", "sim", "replay"))
LONG = bool(os.environ.get("CYCLADE_LONG"))
MACHINES = ("zen2", "zen4", "skl", "spr")
RUNS = (3, 5, 10)
KINDS = {"default": (), "-l 2": ("-l", "2")}
LENGTHS, PHASES = (150, 400, 900), (5, 120)  # ms
ROUNDING = 0.0005
LEAST, FEWEST = 0.93, 50  # 0.95 is promised; nodes of a run are no independent draws
DEEP = 9 if LONG else 4  # this level and those below it are judged together: of one of them three runs have few bars


def at_random(rnd, machine, ms):
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        names = rnd.sample(sorted({x.split()[1] for x in f if x.startswith("plant ")}), 3)
    phases, left = [], ms
    while left > 0:
        phases.append((rnd.choice(names), min(rnd.randint(*PHASES), left)))
        left -= phases[-1][1]
    return phases


def true_shares(machine, phases):
    tree(machine)
    run_on(machine, "even", "true")  # makes the machine's files
    p = subprocess.run([REPLAY, os.path.join(HERE, "machines", machine + ".tab"), tree(machine), machine, "truth",
                        *(str(x) for phase in phases for x in phase)], capture_output=True, text=True, check=True)
    return {x[1]: float(x[2]) for x in (y.split("\t") for y in p.stdout.splitlines())}


def examine(machines, programs, tmp):
    """{key: [held, of]} and what missed."""
    held, missed, rnd = defaultdict(lambda: [0, 0]), [], random.Random(3)
    program = os.path.join(tmp, "program")
    for machine in machines:
        for i in range(programs):
            ms = LENGTHS[i % len(LENGTHS)]
            phases = at_random(rnd, machine, ms)
            truth = true_shares(machine, phases)
            with open(program, "w", encoding="utf-8") as f:
                f.writelines("phase %s %d\n" % x for x in phases)
            for runs in RUNS:
                for kind, words in KINDS.items():
                    said = stat_on(machine, program, "-r", str(runs), *words, SPIN, str(ms), paper=True)
                    for n in (n for x in trees(said) for n in x["nodes"]):
                        if n["value"] is None or n["value_error"] is None or n["node"] not in truth:
                            continue
                        off, half = abs(n["value"] - truth[n["node"]]), n["value_error"] + ROUNDING
                        for key in ("-r %d" % runs, kind, "level %d" % min(1 + n["node"].count("."), DEEP), "-r %d %s" % (runs, kind)):
                            held[key][1] += 1
                            held[key][0] += off <= half
                        if off > half:
                            missed.append((round(off / half, 1), machine, ms, runs, kind, n["node"], n["value"], n["value_error"], truth[n["node"]]))
    return held, missed


if __name__ == "__main__":
    t = None if len(sys.argv) > 1 else Tap()
    if t and SANITIZED:
        t.skip("all of it", "under a sanitizer test_drill_figures.py has to do")
    elif t and run_on("zen2", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
        t.skip("all of it", "no counting here")
    else:
        with tempfile.TemporaryDirectory(prefix="cyclade-repeats-") as scratch:
            bars, wrong = examine(sys.argv[2:] or MACHINES, int(sys.argv[1]) if not t else 12 if LONG else 3, scratch)
        for key, (inside, of) in sorted(bars.items()):
            print("# %s: %.1f %% of %d bars hold" % (key, 100 * inside / of, of))
            if t and of >= FEWEST:
                t.ok(inside >= LEAST * of, "%s: bars hold the truth" % key, "%d of %d: %s" % (inside, of, sorted(wrong, reverse=True)[:5]))
        for w in sorted(wrong, reverse=True)[:15] if not t else ():
            print(w)
    if t:
        t.done()
