#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Slots and the metrics of PERF_METRICS as a person asks for them by -e: a group in samples, a group in counts, alone.

On every simulated machine that has them: the tree of a function is what was planted, and perf's own grouping of the
same words is ours. What the kernel cannot do is refused with what to type."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, planted, run_on  # noqa: E402
from tables import by_event  # noqa: E402
from tap import CYCLADE, PERF, SANITIZED, WHOLE_CPUS, Tap  # noqa: E402

PERF612 = os.environ.get("CYCLADE_PERF612")
LEVEL1 = ("retiring", "bad_speculation", "frontend_bound", "backend_bound")
LEVEL2 = ("heavy_operations", "branch_mispredicts", "fetch_latency", "memory_bound", "light_operations",
          "machine_clears", "fetch_bandwidth", "core_bound")
t = Tap()
tmp = tempfile.TemporaryDirectory()
DATA = os.path.join(tmp.name, "sim.data")


def machines():
    """{machine: (PMU, its metrics)} of those with PERF_METRICS"""
    found = {}
    for name in sorted(os.listdir(os.path.join(HERE, "machines"))):
        with open(os.path.join(HERE, "machines", name), encoding="utf-8") as f:
            events = re.findall(r"^sysevent (cpu|cpu_core) (slots|topdown-\S+) event=0x00", f.read(), re.M)
        if any(e == "slots" for _, e in events):
            found[name[:-4]] = events[0][0], [e for _, e in events if e != "slots"]
    return found


def record(machine, events, *options, program="even", settings="", ms="200"):
    return run_on(machine, program, CYCLADE, "record", *SYSROOT, "-o", DATA, "-e", events, *options, "--", SPIN, ms,
                  settings=settings)


def rows(event):
    """{function: row} of the event"""
    p = subprocess.run([CYCLADE, "report", "-j", "-s", "sym", "-i", DATA], text=True, capture_output=True)
    tables = {x["event"]: x for x in by_event(json.loads(p.stdout))} if not p.returncode else {}
    return {r["function"]: r for r in tables.get(event, {"rows": []})["rows"]}


def names():
    return [e["event"] for e in json.loads(subprocess.run([CYCLADE, "info", "-j", DATA], text=True,
                                                         capture_output=True).stdout)["events"]]


def check_tree(machine, pmu, metrics, program, settings=""):
    r = record(machine, "{slots,cycles,%s}:S" % ",".join(metrics), program=program, settings=settings)
    cycles = "cycles" if pmu == "cpu" else pmu + "/cycles/"
    main = rows(cycles).get("main", {})
    want = planted(machine, program, pmu)
    levels = LEVEL1 + (LEVEL2 if len(metrics) == 8 else ())
    wrong = ["%s: %s, planted %.3f" % (n, main.get(n), want[n]) for n in levels
             if not abs(main.get(n, 9) - want[n]) <= 1.2 / 255]
    t.ok(r.returncode == 0 and main.get("samples", 0) > 400 and not wrong, "%s %s%s: main has the planted tree, %d nodes" %
         (machine, program, " " + settings if settings else "", len(levels)), "\n".join(wrong) + r.stderr)
    wide = [n for n in levels if not 0 < main.get(n + "_error", 0) < 0.1]
    t.ok(not wide, "%s %s: each node has its bar" % (machine, program), "%s %s" % (wide, main))


class OnCore:
    """A hybrid's CPU 0 is of the kind that has slots: what is begun here stays there."""

    def __init__(self, pmu):
        self.hybrid, self.was = pmu != "cpu", os.sched_getaffinity(0)

    def __enter__(self):
        if self.hybrid:
            os.sched_setaffinity(0, {0})

    def __exit__(self, *_):
        os.sched_setaffinity(0, self.was)


def test_trees():
    found = machines()
    t.ok({"icl", "spr", "gnr", "adl", "mtl"} <= set(found), "machines with PERF_METRICS", found)
    if SANITIZED:  # of each kind one
        found = {m: found[m] for m in ("spr", "adl")}
    for machine, (pmu, metrics) in found.items():
        if pmu != "cpu" and 0 not in os.sched_getaffinity(0):
            t.skip("%s: trees" % machine, "CPU 0 is not ours")
            continue
        for program in ("even",) if SANITIZED else ("even", "dram_bound"):
            with OnCore(pmu):
                check_tree(machine, pmu, metrics, program)
    if WHOLE_CPUS:
        r = record("spr", "{slots,cycles,topdown-retiring,topdown-be-bound}:S", "-a")
        # FILE:main, where other programs have one as well
        t.ok(r.returncode == 0 and any(f == "main" or f.endswith("sim_spin:main") for f in rows("cycles")), "of whole CPUs, too",
             "%s\n%s" % (rows("cycles"), r.stderr))
        r = record("adl", "cycles", "-a")
        t.ok(r.returncode == 0, "cycles of all CPUs of a hybrid", r.stderr)
    else:
        t.skip("of whole CPUs", "whole CPUs may not be counted here")


def test_order():
    """Slots lead, wherever they were typed; other events keep their places."""
    for typed, stored in (("{cycles,slots,topdown-retiring}:S", ["slots", "cycles", "topdown-retiring"]),
                          ("instructions,{cycles,topdown-be-bound,slots,topdown-retiring}:S,branches",
                           ["instructions", "slots", "cycles", "topdown-be-bound", "topdown-retiring", "branches"])):
        r = record("spr", typed, ms="20")
        t.equal((r.returncode, names()), (0, stored), "%s: the group begins with slots" % typed)
    r = record("spr", "slots", ms="50")
    t.ok(r.returncode == 0 and rows("slots").get("main"), "slots alone sample", r.stderr)


def test_old_kernel():
    r = record("spr", "{slots,cycles,topdown-retiring}:S", settings="linux=6.11", ms="50")
    t.ok(r.returncode == 0 and "only the first thread" in r.stderr and rows("cycles").get("main"),
         "before Linux 6.12: without threads and children, and a note", r.stderr)


def test_refused():
    for events, said in (("topdown-retiring", "topdown-retiring counts only in a group that slots lead"),
                         ("{cycles,topdown-retiring}:S", "counts only in a group that slots lead"),
                         ("slots,topdown-retiring", "topdown-retiring cannot sample"),
                         ("{slots,topdown-retiring}:S", "topdown-retiring cannot sample"),
                         ("{slots,cycles,topdown-retiring}", "{slots,cycles,topdown-retiring,...}:S"),
                         ("{%s}" % ",".join("r%x" % (0x1C2 + (i << 24)) for i in range(9)), "is left for it in the group of r1c2")):
        r = record("spr", events, ms="20")
        t.ok(r.returncode == 125 and said in r.stderr, "record -e %s: %s" % (events[:40], said), r.stderr)
    for events in ("topdown-retiring", "{cycles,topdown-retiring},slots"):
        r = run_on("spr", "even", CYCLADE, "stat", *SYSROOT, "-e", events, SPIN, "20")
        t.ok(r.returncode == 125 and "{slots,topdown-retiring}" in r.stderr, "stat -e %s: slots are named" % events, r.stderr)
    r = record("spr", "cpu/mem-loads,ldlat=30/P", "-d", ms="20")
    t.ok(r.returncode == 125 and "mem-loads-aux" in r.stderr, "load latency alone: its auxiliary event is named", r.stderr)
    r = record("spr", "{mem-loads-aux,mem-loads}", "-d", ms="20")
    t.equal(r.returncode, 0, "load latency behind it is recorded")


def counts(text):
    """{event: count or None} of stat -x, (perf's, and ours by --format csv)"""
    out = {}
    for line in text.splitlines():
        f = line.split(",")
        if len(f) > 3 and f[2]:
            out[f[2]] = float(f[0]) if f[0][:1].isdigit() else None
    return out


def test_counts():
    """Loose slots and metrics are a group: perf 6.12 counts the same words."""
    for events in ("slots,topdown-retiring", "topdown-retiring,slots", "cycles,topdown-be-bound,instructions,slots,topdown-retiring",
                   "{instructions,slots,topdown-retiring},cycles"):
        r = run_on("spr", "even", CYCLADE, "stat", *SYSROOT, "-j", "-e", events, SPIN, "50")
        got = {c["event"]: c["value"] for c in json.loads(r.stdout or r.stderr[r.stderr.index("{"):])["counts"]} \
            if "{" in r.stdout + r.stderr else {}
        names_of = [e for e in re.split(r"[{},]+", events) if e]
        share = (got.get("topdown-retiring") or 0) / (got.get("slots") or 1)
        t.ok(sorted(got) == sorted(names_of) and None not in got.values() and abs(share - 0.3) < 1 / 255,
             "stat -e %s: all count, retiring is 30 %% of slots" % events, r.stdout + r.stderr)
        if PERF612 and os.path.exists(PERF612):
            r = run_on("spr", "even", PERF612, "stat", "-x,", "-e", events, SPIN, "50", LC_ALL="C")
            theirs = counts(r.stderr)
            t.ok(sorted(theirs) == sorted(names_of) and None not in theirs.values(), "perf 6.12 counts %s, too" % events, r.stderr)
        else:
            t.skip("perf 6.12 counts %s, too" % events, "CYCLADE_PERF612 is not set")


def test_perf_reads():
    """perf takes our file for the group that it is."""
    if not PERF:
        return t.skip("perf reads the group", "no perf here")
    record("spr", "{cycles,slots,topdown-retiring}:S", ms="50")
    p = subprocess.run([PERF, "evlist", "-g", "-i", DATA], text=True, capture_output=True)
    t.equal(p.stdout.strip(), "{slots,cycles,topdown-retiring}", "perf reads the group")


def main():
    if record("spr", "cycles", ms="20").returncode:
        t.skip("all of it", "no sampling here")
    else:
        test_trees()
        test_order()
        test_old_kernel()
        test_refused()
        test_counts()
        test_perf_reads()
    t.done()


main()
