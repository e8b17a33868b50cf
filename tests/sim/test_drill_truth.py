#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The drill-down's figures of programs that change their ways, on simulated machines: error bars hold the truth of the
whole run. (test_drill_figures.py has many more programs, replayed.) The first runs by the kernel's clock, the others on paper."""
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
ICACHE = "frontend_bound.fetch_latency.icache_misses"
# machine: programs that take turns, and for how long; a node that is closed most of the time, and has to hold
CASES = [("ivb", "dram_bound 400 icache_misses 400 even 700", ICACHE),
         ("ivb", "store_bound 150 machine_clears 250 store_bound 200 mite 300 divider 600", None),
         ("skl", "l2_bound 400 fp_vector 300 l2_bound 100 even 700", None),
         ("spr", "dram_bound 400 icache_misses 400 even 700", ICACHE),
         ("spr", "microcode 300 l1_bound 350 even 250 l1_bound 600", None),
         ("zen4", "backend_bound_memory 400 frontend_bound_latency 500 retiring_microcode 600", None)]
LEAST = 0.9  # 0.95 is promised; the nodes of one run are no independent draws
# programs with phases at random, as test_drill_figures.py replays them: machine and its model; ms of runs, and of phases
RANDOM = {"ivb": "ivb", "skl": "skl", "spr": "spr", "zen4": "zen4", "n1": "neoverse-n1", "n2": "neoverse-n2"}
LENGTHS, PHASES = (50, 200, 1000, 4000), ((30, 400), (200, 2000))
LEAST_RANDOM, FEWEST = 0.93, 50  # bars of a level
ROUNDING = 0.0005  # on paper starting takes no time
BESIDE = 0.004  # starting and ending take some ms, too
t = Tap()


def true_shares(machine, words, model):
    """By node: what all events' counts come to, as they would be without a counter missing."""
    tree(machine)
    run_on(machine, "even", "true")  # makes the machine's files
    p = subprocess.run([REPLAY, os.path.join(HERE, "machines", machine + ".tab"), tree(machine), model, "truth", *words],
                       capture_output=True, text=True, check=True)
    return {x[1]: float(x[2]) for x in (y.split("\t") for y in p.stdout.splitlines())}


def at_random(machine, ms, kind):
    """Phases that fill a run, the same each time; of programs that the machine has."""
    rnd = random.Random("%s %d %d" % (machine, ms, kind))
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        names = sorted({x.split()[1] for x in f if x.startswith("plant ")})
    phases, left = [], ms
    while left > 0:
        phases.append((rnd.choice(names), min(rnd.randint(*PHASES[kind]), left)))
        left -= phases[-1][1]
    return " ".join("%s %d" % x for x in phases)


def held(machine, phases, program, paper, model=None, ms=MS, least=6, beside=BESIDE):
    """The bars that there are, those that miss, and nodes without one."""
    words = phases.split()
    with open(program, "w", encoding="utf-8") as f:
        f.writelines("phase %s %s\n" % x for x in zip(words[::2], words[1::2]))
    truth = true_shares(machine, words, model or machine)
    said = stat_on(machine, program, "--drilldown", "-l", str(DEEPEST), SPIN, str(ms), paper=paper)
    got = {n["node"]: n for x in trees(said) for n in x["nodes"] if n["value"] is not None}
    both = [(got[n]["value"], got[n]["value_error"], truth[n], n) for n in got if n in truth]
    t.ok(len(both) >= least, "%s %s: a tree" % (machine, phases), str(said)[:2000])
    bars = [x for x in both if x[1] is not None]
    missed = [x for x in bars if abs(x[0] - x[2]) > x[1] + beside]
    return bars, missed, [x for x in both if x[1] is None]


def random_phases_hold(tmp):
    """Each machine runs each length once, with phases of one kind or the other; pooled by level."""
    of, missed = defaultdict(int), defaultdict(list)
    for n, (machine, model) in enumerate(RANDOM.items()):
        for i, ms in enumerate(LENGTHS):
            program = os.path.join(tmp, "random%d-%d" % (n, i))
            bars, no, _ = held(machine, at_random(machine, ms, (i + n) % 2), program, True, model, ms, 3, ROUNDING)
            for x in bars:
                of[machine] += 1
                of[1 + x[3].count(".")] += 1
            for x in no:
                missed[machine].append((machine, ms) + x)
                missed[1 + x[3].count(".")].append((machine, ms) + x)
    print("# phases at random: %s" % ", ".join("%s %d of %d" % (k, n - len(missed[k]), n) for k, n in of.items()))
    for level in range(1, DEEPEST + 1):
        no, n = missed[level], of[level]
        t.ok(n >= FEWEST and len(no) <= (1 - LEAST_RANDOM) * n, "phases at random: bars at level %d hold the truth" % level, "%d of %d: %s" % (n - len(no), n, no))


def lists_what_was_counted(*words):
    """An event that was never on a counter has no count, least of all 0, however many CPUs it could have counted on."""
    said = stat_on("ivb", "dram_bound", *words, "--drilldown", "-l", str(DEEPEST), SPIN, "300", paper=True)
    counts = [c for x in trees(said) for c in x.get("counts", ())]
    t.ok(len(counts) > 5, "%s: counts" % " ".join(words), str(said)[:2000])
    t.equal([c for c in counts if not c["counted"]], [], "%s: of those that were on a counter" % " ".join(words))


def tells_what_it_had_while_open(program):
    """A node that mattered for a quarter of the run: its share of the run, and the one while it was counted."""
    words = ("--drilldown", "-l", "3", SPIN, "1600")
    with open(program, "w", encoding="utf-8") as f:
        f.write("phase dram_bound 1200\nphase icache_misses 400\n")
    said = stat_on("ivb", program, *words, paper=True)
    node = ([n for x in trees(said) for n in x["nodes"] if n["node"] == ICACHE] or [{}])[0]
    t.ok(node.get("value", 1) < 0.2 and node.get("while_open", 0) > 0.25, "while_open: what a node had while it was counted", str(node))
    # without a terminal a row is as wide as with one
    p = run_on("ivb", program, CYCLADE, "stat", *SYSROOT, "-v", *words, paper=True)
    lines = (p.stdout + p.stderr).splitlines()
    head = [i for i, x in enumerate(lines) if x.endswith(" counted open")]
    rows = [x for x in lines[head[0]:] if " %" in x and ("├" in x or "└" in x)] if head else []
    of_node = [x.split()[-1] for x in rows if "icache_misses" in x]
    t.ok(rows and max(map(len, rows)) <= 80, "a column more is 80 columns", "\n".join(x for x in rows if len(x) > 80) if rows else "\n".join(lines))
    t.ok(of_node and of_node[0][-1].isdigit() and 25 < float(of_node[0]) < 45, "column open: the same", "\n".join(rows))


if SANITIZED:
    t.skip("all of it", "under a sanitizer a share of the simulated machines has to do: tree, drill, run, record")
elif run_on("ivb", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
    t.skip("all of it", "no counting here")
else:
    of, missed = 0, []
    with tempfile.TemporaryDirectory(prefix="cyclade-drill-") as tmp:
        for i, (machine, phases, closed) in enumerate(CASES * (5 if LONG else 1)):
            bars, no, without = held(machine, phases, os.path.join(tmp, "program%d" % i), i > 0)
            print("# %s %s: %d of %d bars hold, %d without" % (machine, phases, len(bars) - len(no), len(bars), len(without)))
            of += len(bars)
            missed += [(machine,) + x for x in no]
            if closed in [x[3] for x in no]:  # one bar of twenty may miss: not twice in a row
                no = held(machine, phases, os.path.join(tmp, "again%d" % i), i > 0)[1]
            if closed:
                t.ok(closed not in [x[3] for x in no], "%s %s: %s is that of the whole run" % (machine, phases, closed), str(no))
        random_phases_hold(tmp)
        tells_what_it_had_while_open(os.path.join(tmp, "quarter"))
    lists_what_was_counted("-a")
    lists_what_was_counted("-C", "0,1")
    t.ok(of and len(missed) <= (1 - LEAST) * of, "bars hold the truth: %d of %d" % (of - len(missed), of), str(missed))
t.done()
