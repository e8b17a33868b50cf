#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat's tree on simulated machines: what was planted comes out, and error bars hold what they promise while
counters are shared.

Error bars are those of runs on paper. CYCLADE_LONG: all machines, 100 runs for the error bars."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, stat_on  # noqa: E402
from tap import SANITIZED, SIMULATED, Bars, Tap  # noqa: E402
from trees import trees  # noqa: E402

LONG = bool(os.environ.get("CYCLADE_LONG"))
t = Tap()
tmp = tempfile.TemporaryDirectory()


def stat(machine, scenario, *options, ms=300, env=None, paper=True):
    """The tree of a run as JSON, or what it said."""
    more = dict(env or {})
    return stat_on(machine, scenario, *options, SPIN, str(ms), settings=more.pop("SIM_OPTIONS", ""), paper=paper, **more)


def nodes(doc):
    """{last part of a node's name, without _ and case: the node}, of the tree that ran"""
    best = max(trees(doc), key=lambda x: sum(n["value"] is not None for n in x["nodes"]))
    return {n["node"].split(".")[-1]: n for n in best["nodes"]}


def table(machine):
    """[programs], {program: {node: share}}"""
    programs, plants = [], {}
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        for line in f:
            w = line.split()
            if line.startswith("programs "):
                programs = w[1:]
            if line.startswith("plant ") and w[2] != "cpu_atom":
                plants[w[1]] = {k.lower(): float(v) for k, v in (x.split("=") for x in w[3:])}
    return programs, plants


# ---- what was planted ---------------------------------------------------------------------------

def planted(machine, sim="", more="", phase="", level=2):
    programs, plants = table(machine)
    off, seen, scenario = {}, 0, os.path.join(tmp.name, "one")
    for program in programs if LONG else programs[:6]:
        with open(scenario, "w", encoding="utf-8") as f:
            f.write("phase %s - scale=1000%s\n%s" % (program, phase, more))  # so that rare events are not counted in ones
        got = nodes(stat(machine, scenario, "-l", str(level), ms=60, env={"SIM_OPTIONS": sim}, paper=machine != "ivb" or bool(sim)))
        for name, share in plants.get(program, {}).items():
            n = got.get(name)
            if not n or n["level"] > level:
                continue
            seen += 1
            error = n["value_error"] if n["value_error"] is not None else 0
            if n["value"] is None or abs(n["value"] - share) > error + 0.002:
                off[program, name] = (n["value"], share, n["value_error"], n.get("value_why"))
    what = " ".join((machine, sim)).strip() + (", both threads busy" if phase else "")
    t.ok(seen >= 12, "%s: %d planted shares were looked for" % (what, seen))
    t.equal(off, {}, "%s: each comes out within its error" % what)


# ---- error bars ---------------------------------------------------------------------------------

# Ivy Bridge without SMT: slots are four a cycle. The share of each program's true counts.
TRUTH = {"frontend_bound": lambda c: c["IDQ_UOPS_NOT_DELIVERED.CORE"] / (4 * c["CPU_CLK_UNHALTED.THREAD"]),
         "fetch_latency": lambda c: c["IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE"] / c["CPU_CLK_UNHALTED.THREAD"]}


def truth(path):
    """True counts; and the rates that the same counters had while they counted."""
    true, scaled = {}, {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            w = line.split()
            running, counted, real = int(w[7]), float(w[8]), float(w[12])
            name = w[1].split(":")[0]
            true[name] = max(real, true.get(name, 0))
            if running and running >= scaled.get(name, (0, 0))[1]:
                scaled[name] = (counted / running, running)
    os.remove(path)
    return true, {k: v[0] for k, v in scaled.items()}


def bars():
    scenario, log = os.path.join(tmp.name, "phases"), os.path.join(tmp.name, "truth")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write("phase icache_misses 40-120\nphase dram_bound 30-160\nrepeat\n")
    inside, seed = {k: Bars(100 if LONG else 4 if SANITIZED else 40, 100) for k in TRUTH}, 0
    far, width = {k: [] for k in TRUTH}, {k: [] for k in TRUTH}
    while seed < 100 and any(b.more() for b in inside.values()):
        seed += 1
        got = nodes(stat("ivb", scenario, "-l", "3", ms=600, env={"SIM_OPTIONS": "seed=%d" % seed, "SIM_TRUTH": log}))
        true, scaled = truth(log)
        for name, share in TRUTH.items():
            n = got.get(name, {"value": None, "error": None})
            known = n["value"] is not None and n["value_error"] is not None
            inside[name].add(known and abs(n["value"] - share(true)) <= n["value_error"])
            if known:
                width[name].append(n["value_error"])
                far[name].append(abs(share(scaled) - share(true)))
    for name in TRUTH:
        w, o = sorted(width[name]), sorted(far[name])
        t.ok(inside[name].good(), "two phases, counters shared by 7 groups: %s lies within its bar %s" % (name, inside[name]), (w, o))
        t.ok(w and w[len(w) // 2] < 0.15, "%s: and the bar is no barn door: +-%.3f in the median" % (name, w[len(w) // 2] if w else -1))
        print("# %s: their mean rate is off by %.3f in the median, %.3f at most" %
              (name, o[len(o) // 2] if o else -1, o[-1] if o else -1))


if not SIMULATED:
    t.skip("simulated machines", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
for m in ["ivb", "skl", "icl", "spr", "zen4"] + (["gnr", "adl", "zen2"] if LONG else []):
    planted(m)
# a task on a core of two threads, of which the other is idle, and busy
for m in ["ivb", "skl"] if LONG else ["ivb"]:
    planted(m, "smt=1")
    planted(m, "smt=1", "rate CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE 0\n", " share=0.5", 1)
bars()
t.done()
