#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opening what matters, on simulated machines: one run finds each planted bottleneck, and counts at most half
of the groups that -l 3 does (or two, where half is less), with SMT and without.

Without CYCLADE_LONG programs run where a thread has few counters, and on one machine that has many; of the others
the plan is read (--dry-run). The first program of each machine runs by the kernel's clock, the others on paper."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on, stat_on  # noqa: E402
from tap import CYCLADE, SANITIZED, SIMULATED, Tap  # noqa: E402
from trees import trees  # noqa: E402

LONG = bool(os.environ.get("CYCLADE_LONG"))
MACHINES = sorted(x[:-4] for x in os.listdir(os.path.join(HERE, "machines")))
RUN = MACHINES if LONG else ["ivb"] if SANITIZED else ["ivb", "skl", "spr"]
# Branch_Resteers may hold its siblings' cycles (~overlap), so the path ends above it; fp_arith comes out larger
# than all uops here and there
END = {"dram_bound": "l3_miss_bound", "microcode": "microcode_sequencer", "branch_resteers": "fetch_latency",
       "fp_vector": "light_operations"}
t = Tap()


def stat(machine, settings, program, *options, ms, paper=True):
    return stat_on(machine, program, *options, SPIN, str(ms), settings=settings, paper=paper)


def groups(doc):
    """Of the core's counters: those that took turns, and the one that keeps its counters. One that is alone takes
    none, and is not told of."""
    said = [x for x in doc["notes"] if " groups of counters" in x]
    return int(said[0].split()[0]) + ("level 1 all of it" in said[0]) if said else 1


def programs(machine):
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        return next(x.split()[1:] for x in f if x.startswith("programs "))


def most(everything):
    """Level 1 and one step down may be two groups, however few all are."""
    return max(everything // 2, 2)


def found(program, doc):
    """Whether the path leads where it should; where the tree has no such node, where it leads at all."""
    nodes = [n for x in trees(doc) for n in x["nodes"]]
    path = [n["node"] for n in nodes if n["path"]]
    node = END.get(program, program)
    if node not in {y for n in nodes for y in n["node"].split(".")}:
        return True
    # on processors of two levels, retiring that is fast is no bottleneck, and has no path
    return (path and node in path[-1].split(".")) or node.startswith("retiring")


def runs(machine, settings):
    what = " ".join((machine, settings)).strip()
    all_of_it = stat(machine, settings, "even", "-l", "3", ms=150)
    everything, pinned = groups(all_of_it), "level 1 all of it" in str(all_of_it["notes"])
    lost, many, told = {}, {}, []
    tried = [p for p in programs(machine) if p != "even"]
    for program in tried:
        for _ in range(3):  # a busy machine may keep it from running for as long as decisions take
            doc = stat(machine, settings, program, "--drilldown", "-l", "3", ms=300, paper=program != tried[0])
            n = max(groups(doc), 1 + pinned)
            if found(program, doc) and n <= most(everything):
                break
        told.append("%s %d" % (program, n))
        if not found(program, doc):
            lost[program] = ([n["node"] for x in trees(doc) for n in x["nodes"] if n["path"]] or [doc["notes"]])[-1]
        if n > most(everything):
            many[program] = n
    print("# %s: groups, of %d: %s" % (what, everything, ", ".join(told)))
    t.equal(lost, {}, "%s: %d planted bottlenecks are found in one run" % (what, len(tried)))
    t.equal(many, {}, "%s: with %d of the %d groups of -l 3 at most" % (what, most(everything), everything))


def plans(machine, settings):
    """Of each kind of core: what the way down to the worst node takes, of what everything takes."""
    what = " ".join((machine, settings)).strip()
    p = run_on(machine, "even", CYCLADE, "stat", *SYSROOT, "--drilldown", "-l", "3", "--dry-run", SPIN, "1", settings=settings)
    both = [(int(n), int(all_)) for all_, n in re.findall(r"groups for all: (\d+)\ngroups down to one node: (\d+) at most",
                                                         p.stdout + p.stderr)]
    one = "groups for all: 1\n" in p.stdout + p.stderr  # and no plan of stages
    small = {"adl": (3, 4), "mtl": (2, 3)}.get(machine)  # small cores: one step down is three groups of four
    told = ", ".join("%d of %d" % x for x in both) or "1 of 1"
    t.ok((both or one) and all(n <= most(a) or (n, a) == small for n, a in both),
         "%s: groups that the way down to a node takes: %s" % (what, told), p.stdout + p.stderr)


if not SIMULATED:
    t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
if run_on("ivb", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
    t.skip("all of it", "no counting here")
    t.done()
for m in MACHINES:
    for smt in ("", "smt=1"):
        plans(m, smt)
        if m in RUN and (LONG or (m == "skl") == bool(smt)):
            runs(m, smt)
t.done()
