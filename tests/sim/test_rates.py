#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPC and frequency beside the tree, on simulated machines: the planted ones, those of perf and of the simulator's own
counts, within their error bars; left out, with a reason, where the run does not count what they take."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on, stat_on  # noqa: E402
from tap import CYCLADE, PERF, SANITIZED, SIMULATED, Bars, Tap  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
if not SIMULATED:
    t.skip("simulated machines", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
tmp = tempfile.TemporaryDirectory()
CYCLES, INSTRUCTIONS = "CPU_CLK_UNHALTED.THREAD", "INST_RETIRED.ANY"


def rates_of(machine, name, program):
    """Counts per ns of an event, as the machine's table has it."""
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        lines = [x.split() for x in f]
    programs = next(x[1:] for x in lines if x[:1] == ["programs"])
    row = next(x for x in lines if x[:1] == ["event"] and name in x)
    return float(row[row.index(name) + 1 + programs.index(program)])


def tree(machine, program, *options, ms=100, **more):
    doc = stat_on(machine, program, *options, SPIN, str(ms), paper=not (machine == "ivb" and program == "dram_bound"), **more)
    x = next(iter(trees(doc)), {})
    return {k: {"value": x.get(k), "error": x.get(k + "_error"), "why": x.get(k + "_why")} for k in ("ipc", "frequency")}, doc


def near(rate, want, slack):
    """A figure without a bar, of a machine so busy that groups had few turns, is right by itself."""
    value, error = rate.get("value"), rate.get("error")
    return value is not None and abs(value - want) <= (error or 0) + slack * want


def head(machine, program, *options, **more):
    """What stands below the program on the screen."""
    err = run_on(machine, program, CYCLADE, "stat", *SYSROOT, *options, SPIN, "100", paper=True, **more).stderr
    return err, next((x for x in err.splitlines() if "; model " in x), "")


def true_ipc(log):
    """Of the whole run, as the simulator has it."""
    true = {}
    with open(log, encoding="utf-8") as f:
        for w in map(str.split, f):
            true[w[1]] = max(float(w[12]), true.get(w[1], 0))
    os.remove(log)
    return true[INSTRUCTIONS] / true[CYCLES]


# ---- planted, and as perf counts it -------------------------------------------------------------

for machine, program in [("ivb", "dram_bound"), ("ivb", "fp_vector"), ("skl", "even"), ("skl", "microcode")]:
    clock, want = rates_of(machine, CYCLES, program), rates_of(machine, INSTRUCTIONS, program)
    got, doc = tree(machine, program, "-l", "3")
    t.ok(near(got["ipc"], want / clock, 0.005), "%s %s: IPC %.3f" % (machine, program, want / clock), doc)
    t.ok(near(got["frequency"], clock * 1e9, 0.01), "%s %s: %.2f GHz" % (machine, program, clock), doc)
    if not PERF:
        t.skip("perf's counts", "perf is not there")
        continue
    p = run_on(machine, program, PERF, "stat", "-x,", "-e", "cycles,instructions", SPIN, "60").stderr
    n = {x[2].split(":")[0]: (float(x[0]), float(x[3])) for x in (y.split(",") for y in p.splitlines()) if x[0].isdigit()}
    cycles, ns = n.get("cycles", (1, 1))
    t.ok(near(got["ipc"], n.get("instructions", (0, 0))[0] / cycles, 0.005), "and as perf counts it", (got, p))
    t.ok(near(got["frequency"], 1e9 * cycles / ns, 0.01), "the frequency, too", (got, p))

# ---- what goes up and down: the bar holds the truth of the same run -------------------------------

scenario, log, inside, wide = os.path.join(tmp.name, "phases"), os.path.join(tmp.name, "truth"), Bars(4 if SANITIZED else 40, 80), []
with open(scenario, "w", encoding="utf-8") as f:
    f.write("phase fp_vector 40-120\nphase dram_bound 30-160\nrepeat\n")
while inside.more():
    got, doc = tree("ivb", scenario, "-l", "3", ms=500, settings="seed=%d" % (inside.of + 1), SIM_TRUTH=log)
    want, ipc = true_ipc(log), got["ipc"]
    inside.add(near(ipc, want, 0))
    if ipc.get("error") is not None:
        wide.append((ipc["error"], ipc["value"], want))
t.ok(inside.good(), "two phases, instructions in turns: IPC lies within its bar %s" % inside, wide)
t.ok(wide and sorted(wide)[len(wide) // 2][0] < 0.8, "and the bar is +-%.2f in the median" % (sorted(wide)[len(wide) // 2][0] if wide else -1))

# opened and closed meanwhile: what was counted is not a sample of the run
with open(scenario, "w", encoding="utf-8") as f:
    f.write("phase fp_vector 100\nphase dram_bound 100\nrepeat\n")
got, doc = tree("ivb", scenario, ms=500)
t.ok(got["ipc"].get("value", 0) is None and "a part of the run" in got["ipc"]["why"] and near(got["frequency"], 3e9, 0.01),
     "instructions are counted by a stage that was closed for a while: no IPC, and why", doc)
with open(scenario, "w", encoding="utf-8") as f:
    f.write("phase microcode 5\nphase dram_bound -\n")
for options in [(), ("-r", "3")]:
    got, doc = tree("ivb", scenario, *options, ms=900, SIM_TRUTH=log)
    want, ipc = true_ipc(log), got["ipc"]
    t.ok(near(ipc, want, 0) or ipc.get("value", 0) is None and ipc["why"],
         "closed for a moment: the bar covers it, or it was too long: %s" % " ".join(options), (want, ipc, doc))
    print("# %s" % ipc)

# ---- left out where it would take another counter, or be another thing -----------------------------

got, doc = tree("spr", "even")
t.ok(got["ipc"].get("value", 0) is None and got["ipc"]["why"] == "instructions were not counted" and
     near(got["frequency"], 3e9, 0.01), "spr: the tree needs no instructions, so there is no IPC, and why", doc)
said, line = head("spr", "even")
t.ok("GHz" in line and "IPC" not in line, "and none on the screen", said)
said = run_on("spr", "even", CYCLADE, "stat", *SYSROOT, "--dry-run", SPIN, "1")
t.ok("CPU_CLK_UNHALTED.THREAD" in said.stdout + said.stderr and "INST_RETIRED.ANY" not in said.stdout + said.stderr,
     "no counter is opened for it", said)
got, doc = tree("spr", "even", "-M", "IPC")
want = rates_of("spr", INSTRUCTIONS, "even") / 3
t.ok(near(got["ipc"], want, 0.005) and got["ipc"]["error"] == 0, "spr, -M IPC: it is there, and exact (one group)", doc)
got, doc = tree("ivb", "even", "-l", "3", "--user")
t.ok(got["frequency"].get("value", 0) is None and got["frequency"]["why"] and got["ipc"]["value"],
     "user space alone: its cycles by all of the time would be no frequency", doc)
got, doc = tree("ivb", "even", "-l", "3", "-a")
t.ok(got["frequency"].get("value", 0) is None and got["ipc"]["value"], "whole CPUs without reference cycles: no frequency", doc)
got, doc = tree("spr", "even", "-a", "-l", "6", ms=150)
t.ok(near(got["frequency"], 3e9, 0.01), "whole CPUs with reference cycles: that by the time-stamp counter", doc)

# ---- the screen, and several runs -------------------------------------------------------------------

said, line = head("ivb", "even", "-l", "3")
t.ok(re.search(r", 3\.00 GHz( \+-[<\d.?]+)?, IPC 1\.1[12]( \+-[<\d.?]+)?; model ivb", line), "the line below the program", said)
t.ok(len(line) <= 80, "80 columns", said)
said, line = head("ivb", "even", "-a", "-l", "3", "--per", "cpu")
t.ok("IPC" not in line and re.search(r"^ CPU0   IPC 1\.1", said, re.M), "of several trees each has its own", said)
got, doc = tree("ivb", "even", "-l", "3", "-r", "2")
t.ok(near(got["ipc"], rates_of("ivb", INSTRUCTIONS, "even") / 3, 0.005), "-r: the mean of the runs", doc)
t.done()
