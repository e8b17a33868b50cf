#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perf's top-down metrics and ours on the same simulated machine, node by node.

Rates are constant, so that it does not matter which group had the counters when; PERF_METRICS has no steps, so that
it does not matter how often it was read. What is left is rounding: counts are whole numbers, of a turn of 4 ms as of
the whole run. CYCLADE_LONG: every program of each machine."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, run_on  # noqa: E402
from tap import CYCLADE, PERF, SANITIZED, Tap  # noqa: E402
from trees import trees  # noqa: E402

PERF612 = os.environ.get("CYCLADE_PERF612")
LONG = bool(os.environ.get("CYCLADE_LONG"))
MS = "60"
EXACT = "exact_metrics=1"
WITHIN = 2e-4
# with the register's steps: a node is one field of it less another at most, in either tool
STEPS = 4 * 0.5 / 255
# machine, metrics as perf calls them, programs, how many nodes these are
CASES = [("ivb", ("TopdownL1", "TopdownL2"), ("even", "microcode"), 12),
         ("icl", ("TopdownL1", "TopdownL2"), ("even", "store_bound"), 12),
         ("spr", ("TopdownL1", "TopdownL2"), ("even", "dram_bound"), 12),
         ("zen4", ("PipelineL1", "PipelineL2"), ("even", "backend_bound_cpu"), 13)]
t = Tap()
tmp = tempfile.TemporaryDirectory()


def sim(machine, program, *cmd, options=EXACT):
    """A program of a machine, its rates a thousandfold, so that rare events are not counted in ones; and a share of
    the core's width, so that no node is a round number."""
    scenario = os.path.join(tmp.name, "scenario")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write("phase %s - scale=1000 share=0.6373\n" % program)
    return run_on(machine, scenario, *cmd, settings=options, LC_ALL="C")


def theirs(perf, machine, program, group, options):
    """{node: share} as perf tells it, of those it can tell: of -j, which has more digits."""
    text = sim(machine, program, perf, "stat", "-j", "-M", group, SPIN, MS, options=options).stderr
    return {n: float(v) / 100 for v, n in re.findall(r'"metric-value" : "?(-?[\d.]+)"?, "metric-unit" : "%  (?:tma_)?(\w+)"', text)}


def ours(machine, program, options):
    """({node: share}, {event: count}, what it said)"""
    out = os.path.join(tmp.name, "out.json")
    r = sim(machine, program, CYCLADE, "stat", "--sysroot", "@SYSROOT@", "-j", "-l", "2", "-o", out, SPIN, MS,
            options=options)
    try:
        with open(out, encoding="utf-8") as f:
            tree = trees(json.load(f))[0]
        os.remove(out)
    except (OSError, ValueError, LookupError):
        return {}, {}, r.stdout + r.stderr
    return ({n["node"].split(".")[-1]: n["value"] for n in tree["nodes"]},
            {c["event"]: c["value"] for c in tree["counts"]}, r.stderr)


def programs(machine):
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        return next(x.split()[1:] for x in f if x.startswith("programs "))


def unbracketed(nodes, count):
    """Linux 6.1's tma_memory_bound of Ivy Bridge. The two `a if c else b` in the middle of its divisor have no
    parentheses, so that all before the first `else` is its first arm, and at a low IPC this alone is divided by."""
    stalls = min(count["CPU_CLK_UNHALTED.THREAD"], count["CYCLE_ACTIVITY.STALLS_LDM_PENDING"]) + count["RESOURCE_STALLS.SB"]
    if count["INST_RETIRED.ANY"] / count["CPU_CLK_UNHALTED.THREAD"] > 1.8:
        over = (min(count["CPU_CLK_UNHALTED.THREAD"], count["CYCLE_ACTIVITY.CYCLES_NO_EXECUTE"]) +
                count["UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC"] - count["UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC"])
    elif nodes["fetch_latency"] > 0.1:
        over = count["UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC"] - count["RS_EVENTS.EMPTY_CYCLES"]
    else:
        over = count["RESOURCE_STALLS.SB"]
    return stalls / over * nodes["backend_bound"]


def faulty(perf):
    """Has this perf that formula?"""
    r = sim("ivb", "even", perf, "stat", "-v", "-M", "tma_memory_bound", SPIN, "1")
    return "UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC - RS_EVENTS.EMPTY_CYCLES if" in r.stderr


def side_by_side(title, perf, machine, program, groups, most, fault, within=WITHIN, options=EXACT):
    mine, count, said = ours(machine, program, options)
    there = {}
    for group in groups:
        there.update(theirs(perf, machine, program, group, options))
    if not there:
        t.skip("%s %s: nodes are those of %s" % (machine, program, title), "it has no %s for this CPU" % "/".join(groups))
        return
    if fault and machine == "ivb":
        wrong = unbracketed(mine, count) if count else 0
        shown = there.pop("memory_bound", None)
        t.ok(shown is not None and abs(shown - wrong) <= 0.02 * abs(wrong), "%s %s: %s says memory_bound %.1f %% for %.1f %%: "
             "what its formula without parentheses comes to" % (machine, program, title, 100 * (shown or 0),
                                                               100 * (mine.get("memory_bound") or 0)), wrong)
        there.pop("core_bound", None)  # the rest of backend_bound
    lines, worst = [], 0.0
    for n, v in sorted(there.items()):
        m = mine.get(n)
        off = abs(m - v) if m is not None else 1.0
        worst = max(worst, off)
        lines.append("%-33s %8.4f %%  there %8.4f %%%s" % (n, 100 * m if m is not None else -1, 100 * v,
                                                          "" if off <= within else "  <- differs"))
    want = most - (2 if fault and machine == "ivb" else 0)
    t.ok(len(there) == want and worst <= within, "%s %s: %d nodes are those of %s (off by %.4f %% at most)" %
         (machine, program, len(there), title, 100 * worst), "\n".join(lines + [said]))
    if os.environ.get("VERBOSE"):
        print("# " + "\n# ".join(lines))


if SANITIZED:
    t.skip("all of it", "under a sanitizer a share of the simulated machines has to do: tree, drill, run, record")
elif not PERF:
    t.skip("all of it", "no perf")
elif subprocess.run([PERF, "stat", "-e", "task-clock", "true"], capture_output=True).returncode:
    t.skip("all of it", "perf may not count here")
else:
    for title, perf in (("perf", PERF), ("the newer perf", PERF612)):
        if not perf or not os.path.exists(perf):
            t.skip("nodes are those of " + title, "CYCLADE_PERF612 is not set")
            continue
        fault = faulty(perf)
        for machine, groups, some, most in CASES:
            for program in programs(machine) if LONG else some:
                side_by_side(title, perf, machine, program, groups, most, fault)
            if machine in ("icl", "spr"):
                side_by_side(title + " in steps of 1/255", perf, machine, "even", groups, most, fault, WITHIN + STEPS, "")
t.done()
