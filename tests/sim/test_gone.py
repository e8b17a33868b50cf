#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counters that go away while they count: a CPU goes offline, a PMU is unloaded. What was counted until then is told, and that
it is not all; never 0."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, SIMULATED, Tap  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
if not SIMULATED:
    t.skip("counters that go away", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()


def stat(options, *args):
    return run_on("spr", "even", CYCLADE, "stat", *SYSROOT, *args, settings=options)


def doc_of(options, *args):
    p = stat(options, "-j", "-o", "-", *args)
    try:
        return json.loads(p.stdout), p
    except ValueError:
        return {"counts": [], "notes": [], "trees": []}, p


probe, p = doc_of("", "-a", "-e", "cycles", "--", "sleep", "0.02")
if not probe["counts"]:
    t.no_simulation("counters that go away", p.stderr)
    t.done()

# ---- CPU 1 goes offline after 400 ms of its time (late enough for a first reading, however busy the machine is); the others
# count on (3 cycles a ns)
p = stat("gone=400 gone_cpu=1", "-a", "--per", "cpu", "-I", "50", "-j", "-o", "-", "-e", "cycles", "--", "sleep", "0.7")
pieces = [json.loads(line) for line in p.stdout.splitlines() if '"counts"' in line]
value = {where: [r["value"] for x in pieces for r in x["counts"] if r["where"] == where] for where in ("CPU0", "CPU1")}
t.ok(len(pieces) >= 5 and all(v for v in value["CPU0"]), "the other CPU counts on", value)
told = [v is not None for v in value["CPU1"]]
t.ok(value["CPU1"][0] and told == sorted(told, reverse=True) and told.count(False) >= 2, "the one that went counted first, then it is not counted", value)
late = [r for x in pieces for r in x["counts"] if r["where"] == "CPU1" and r["value"] is None]
t.ok(late and all(r["value_why"] == "its CPU went offline" for r in late), "and why", late)
doc, p = doc_of("gone=60 gone_cpu=1", "-a", "-e", "cycles", "--", "sleep", "0.2")
t.ok(p.returncode == 0 and doc["notes"] == ["a CPU went offline meanwhile: it is counted until then"], "the whole says so", doc)
t.ok(doc["counts"][0]["value"] and doc["counts"][0]["value"] < 0.9 * 2 * 3e9 * doc["seconds"], "and is not made up from the other", doc)
doc, p = doc_of("gone=60 gone_cpu=1", "-a", "-l", "1", "--", "sleep", "0.2")
share = {n["node"]: n["value"] for x in trees(doc) for n in x["nodes"] if n["level"] == 1}
t.ok(len(share) == 4 and all(share.values()) and abs(sum(share.values()) - 1) < 0.02 and any("offline" in n for n in doc["notes"]),
     "the tree is that of what was counted, and says so", doc)

# ---- a program's counters go away
doc, p = doc_of("gone=30", "-e", "cycles", "--", SPIN, "90")
row = doc["counts"][0] if doc["counts"] else {}
t.ok(p.returncode == 0 and row.get("value", 0) is None and row["value_why"] == "its counter went away", "gone before the first reading: not counted, not 0", doc)
p = stat("gone=60", "-I", "20", "-e", "cycles", "--", SPIN, "150")
rows = re.findall(r"^ +\d+\.\d+ +(\S+|<not counted>) +cycles", p.stderr, re.M)
t.ok(rows and rows[0][0].isdigit() and rows[-1] == "<not counted>", "gone half way: counted until then", p.stderr)
t.done()
