#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counters outside the cores, on a simulated machine of two sockets with two memory controllers each: boxes add up as
perf adds them, scales and units, places, groups, who may be counted, and metrics that need both kinds of counters.

The table has the truth: each box of a socket makes 2.4 clock ticks, 0.08 reads and 0.03 writes of 64 bytes a ns."""
import csv
import io
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, PERF, SIMULATED, Tap  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
if not SIMULATED:
    t.skip("uncore", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
tmp = tempfile.TemporaryDirectory()
MACHINE = os.path.join(tmp.name, "spr2.tab")
with open(os.path.join(HERE, "machines", "spr.tab"), encoding="utf-8") as f:
    text = f.read().replace("core 0\ncore 1\n", "core 0 0\ncore 1 0\ncore 2 1\ncore 3 1\n")
with open(MACHINE, "w", encoding="utf-8") as f:
    f.write(re.sub(r"(pmu uncore_imc_\d type=\d+ counters=4) cpus=0", r"\1 cpus=0,2", text))
READ, WRITE, TICKS = "uncore_imc/cas_count_read/", "uncore_imc/cas_count_write/", "uncore_imc/clockticks/"
MIB = 64 / 2 ** 20


def sim(*cmd):
    return run_on(MACHINE, "even", *cmd)


def stat(*args, run=("sleep", "0.1")):
    return sim(CYCLADE, "stat", *SYSROOT, *args, "--", *run)


def rows(*args):
    """The rows of -j, and the process."""
    p = stat("-j", "-o", "-", *args)
    try:
        return json.loads(p.stdout)["counts"], p
    except ValueError:
        return [], p


# Counters are switched on one after the other, and what lies outside the cores counts all the while: on a busy machine
# one of 100 ms may have 20 more than the next. Only those of a group begin at once.
APART = 0.25


def near(a, b, within):
    return a is not None and b is not None and abs(a - b) <= within * abs(b)


probe, p = rows("-a", "-e", READ)
if not probe:
    t.no_simulation("uncore", p.stderr)
    t.done()

# ---- boxes
got, p = rows("-a", "-e", "{%s,%s}" % (READ, TICKS))
value = {r["event"]: r["value"] for r in got}
t.ok(list(value) == [READ, TICKS], "one row for all boxes", p.stdout + p.stderr)
t.ok(got and got[0]["unit"] == "MiB" and near(value[READ] / MIB / value[TICKS], 0.08 / 2.4, 1e-6),
     "the unit and scale of sysfs; a group counts in all of its boxes at the same time", got)
each, p = rows("-a", "--no-merge", "-e", "{%s,%s}" % (READ, TICKS))
names = [r["event"] for r in each]
t.ok(names == ["uncore_imc_%d/%s/" % (b, e) for e in ("cas_count_read", "clockticks") for b in (0, 1)], "--no-merge: each box", names)
t.ok(all(near(r["value"] / MIB / c["value"], 0.08 / 2.4, 1e-6) for r, c in zip(each[:2], each[2:])), "each with its own counts", each)
both, p = rows("-a", "-e", "uncore_imc_0/clockticks/,uncore_imc_1/clockticks/,%s" % TICKS)
value = [r["value"] for r in both]
t.ok(len(value) == 3 and near(value[0] + value[1], value[2], APART), "named one by one they stay apart, and come to the same", both)
alias, p = rows("-a", "-e", "cas_count_read")
t.equal([r["event"] for r in alias], ["cas_count_read"], "a bare name of sysfs is all boxes, too")
named, p = rows("-a", "-e", "uncore_imc/cas_count_read,name=reads/")
t.equal([r["event"] for r in named], ["reads"], "with a name of its own")
p = stat("-a", "-e", READ)
t.ok(re.search(r"^ +\d+\.\d{3} MiB  uncore_imc/cas_count_read/$", p.stderr, re.M), "on the screen", p.stderr)
if PERF:
    # one after the other on a clock that both read: bytes per tick
    p = sim(PERF, "stat", "-x,", "-a", "-e", "%s,%s" % (READ, TICKS), "sleep", "0.1")
    theirs = {f[2]: (float(f[0]), f[1]) for f in (x.split(",") for x in p.stderr.splitlines()) if len(f) > 3 and f[0][:1].isdigit()}
    got, q = rows("-a", "-e", "%s,%s" % (READ, TICKS))
    ours = {r["event"]: (r["value"], r["unit"]) for r in got}
    t.ok(set(theirs) == set(ours) and theirs[READ][1] == ours[READ][1] == "MiB" and
         near(theirs[READ][0] / theirs[TICKS][0], ours[READ][0] / ours[TICKS][0], APART), "perf adds up the same boxes", (theirs, ours))
else:
    t.skip("perf adds up the same boxes", "no perf")

# ---- places
got, p = rows("-a", "--per", "socket", "-e", "%s,cycles" % TICKS)
ticks = [r["value"] for r in got if r["event"] == TICKS]
t.ok([r.get("cpus") for r in got] == [1, 2, 1, 2] and len(ticks) == 2 and near(ticks[0], ticks[1], APART),
     "each socket has its boxes, which one of its CPUs reads", got)
got, p = rows("-a", "--per", "cpu", "-e", TICKS)
t.ok([r["value"] is not None for r in got] == [True, False, True, False] and "other CPUs" in (got[1]["value_why"] or ""),
     "a CPU that reads none: not counted, and why", got)
p = stat("-a", "--per", "die", "-x", ",", "-o", "-", "-e", READ)
table = list(csv.DictReader(io.StringIO(p.stdout)))
t.ok(len(table) == 2 and all(r["unit"] == "MiB" for r in table), "csv: a row for each die", p.stdout)
got, p = rows("-C", "2", "-a", "-e", TICKS + ",cycles")
per_cycle = [got[0]["value"] / got[1]["value"]] if got else []
one, p = rows("-a", "-e", TICKS + ",cycles")
per_cycle += [one[0]["value"] / one[1]["value"]] if one else []
t.ok(len(per_cycle) == 2 and near(per_cycle[0], 2 * 2.4 / 3, APART) and near(per_cycle[1], 4 * 2.4 / (4 * 3), APART),
     "-C: the boxes of these CPUs alone", (got, one))

# ---- who
mark = os.path.join(tmp.name, "started")
for args in (["-e", READ], ["-C", "0", "-e", READ], ["-M", "DRAM_BW_Use"]):
    p = stat(*args, run=("touch", mark))
    t.ok(p.returncode == 125 and "whole CPUs" in p.stderr and "-a" in p.stderr and len(p.stderr.splitlines()) <= 3 and
         not os.path.exists(mark), "%s of a program: refused before it starts, and what to type" % " ".join(args), p.stderr)
got, p = rows("-e", "cycles,%s" % READ)
t.ok(p.returncode == 0 and got[0]["value"] and got[1]["value"] is None and "-a" in got[1]["value_why"], "beside what counts: told in its row", got)

# ---- metrics over both kinds of counters
p = stat("-a", "-M", "DRAM_BW_Use,IPC", "-j", "-o", "-")
doc = json.loads(p.stdout) if p.stdout else {"trees": []}
found = {m["metric"]: m["value"] for x in trees(doc) for m in x.get("metrics", [])}
t.ok(near(found.get("DRAM_BW_Use"), 4 * 0.11 * 64, APART) and near(found.get("IPC"), 1.674, 0.02),
     "GB/s of four controllers, and instructions per cycle beside them", (found, p.stdout[:400], p.stderr))
p = stat("-a", "--per", "socket", "-M", "DRAM_BW_Use", "-j", "-o", "-")
doc = json.loads(p.stdout) if p.stdout else {"trees": []}
found = [m["value"] for x in trees(doc) for m in x.get("metrics", [])]
t.ok(len(found) == 2 and all(near(v, 2 * 0.11 * 64, APART) for v in found), "of each socket", (found, p.stderr))
t.done()
