#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""-M GROUP and the view of bottlenecks, counted on simulated machines: they close at the whole, and the planted cause leads."""
import csv
import io
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on, stat_on  # noqa: E402
from tap import CYCLADE, SIMULATED, Tap, run  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
if not SIMULATED:
    t.skip("simulated machines", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
PREFIX = "Bottleneck_"


def members(model, group):
    rows = json.loads(run("list", "groups", group, "--model", model, "-j").stdout)["groups"]
    return next(x["members"] for x in rows if x["name"] == group)


for machine, program, cause in [("spr", "branch_mispredicts", "Mispredictions"), ("icl", "dram_bound", "Data_Cache_Memory_Latency")]:
    doc = stat_on(machine, program, "-M", "Bottlenecks", SPIN, "100", paper=True)
    tree = next(iter(trees(doc)))
    v = {x["metric"]: x for x in tree["metrics"]}
    t.equal(sorted(v), sorted(members(machine, "Bottlenecks")), "%s: all bottlenecks, and nothing else" % machine)
    t.ok(all(x["value"] is not None and (x["value_error"] is not None or x["value_why"]) for x in v.values()), "each has a value, and an error or why not", v)
    total = sum(x["value"] or 0 for x in v.values())
    t.ok(abs(total - 100) < 1e-6, "together they are 100 %", total)
    lost = {n: x["value"] or 0 for n, x in v.items() if n != PREFIX + "Useful_Work"}
    t.equal(max(lost, key=lost.get), PREFIX + cause, "%s: the planted one is the largest" % program)

said = run_on("spr", "branch_mispredicts", CYCLADE, "stat", *SYSROOT, "--bottlenecks", SPIN, "100", paper=True).stderr
rows = [(m.group(1), float(m.group(2)), "<==" in x) for x in said.splitlines() for m in [re.match(r" (\w+) +(-?[\d.]+) % \+-", x)] if m]
t.ok(len(rows) == 12 and [x[1] for x in rows] == sorted((x[1] for x in rows), reverse=True), "the screen: the largest first", said)
t.ok(re.search(r"^ bottlenecks, of slots +100\.0 %", said, re.M), "with the whole", said)
t.ok(dict((x[0], x[2]) for x in rows).get("Mispredictions") and not dict((x[0], x[2]) for x in rows).get("Useful_Work"), "marks what is over, not useful work", rows)
t.ok("next: cyclade explain Bottleneck_Mispredictions" in said, "and names the next command", said)

# ---- a group of metrics; a hybrid has them where its kinds of cores do; IPC and frequency in csv

doc = stat_on("adl", "even", "-M", "MemoryBW", SPIN, "60", paper=True)
got = {x["metric"] for tree in trees(doc) for x in tree["metrics"]}
t.ok(got == {n for n in members("adl-glc", "MemoryBW") if n in got} and len(got) >= 4, "-M MemoryBW of a hybrid", sorted(got))
doc = run_on("ivb", "even", CYCLADE, "stat", *SYSROOT, "-l", "2", "-x", ",", "--table", "trees", SPIN, "60", paper=True)
table = next(csv.DictReader(io.StringIO(doc.stderr)), {})
ipc, hz = float(table.get("ipc") or 0), float(table.get("frequency") or 0)
seen = re.search(r"([\d.]+) GHz.*IPC ([\d.]+)", run_on("ivb", "even", CYCLADE, "stat", *SYSROOT, "-l", "2", SPIN, "60", paper=True).stderr)
t.ok(seen and abs(ipc - float(seen.group(2))) < 0.02 and abs(hz / 1e9 - float(seen.group(1))) < 0.02,
     "csv has IPC and frequency, which are those of the screen", (seen and seen.groups(), ipc, hz))
said = run_on("ivb", "even", CYCLADE, "stat", *SYSROOT, "-e", "cycles,instructions,branches,branch-misses", "-x", ",", SPIN, "20", paper=True)
rows = {r["event"]: r for r in csv.DictReader(io.StringIO(said.stderr))}
n = {e: float(r["value"]) for e, r in rows.items()}
for event, unit, want in [("instructions", "per cycle", n["instructions"] / n["cycles"]),
                          ("branch-misses", "% of branches", 100 * n["branch-misses"] / n["branches"])]:
    got = rows[event]
    t.ok(got["derived_unit"] == unit and abs(float(got["derived"]) - want) <= 1e-6 * want, "-e, csv: %s in %s" % (event, unit), (got, want))
doc = run_on("spr", "even", CYCLADE, "stat", *SYSROOT, "-M", "L2MPKI", "-x", ",", "--table", "trees", SPIN, "20", paper=True)
table = next(csv.DictReader(io.StringIO(doc.stderr)), {})
t.ok(table.get("ipc") or table.get("ipc_why"), "and where they are not known, why", table)
doc = run_on("spr", "even", CYCLADE, "stat", *SYSROOT, "-M", "L2MPKI", "-x", ",", SPIN, "20", paper=True)
t.equal([r.get("metric") for r in csv.DictReader(io.StringIO(doc.stderr))], ["L2MPKI"], "of metrics alone csv has these")
t.done()
