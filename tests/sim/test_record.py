#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade record` on simulated machines: of a hybrid, where only one kind of core samples, programs that began on the
other kind have their mappings and names all the same."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on  # noqa: E402
from tables import by_event  # noqa: E402
from tap import CYCLADE, PERF, SIMULATED, WHOLE_CPUS, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
# a program begins on one CPU, has all its mappings, and goes on on another
MOVES = """
import os, subprocess, sys, time
begins, goes_on = int(sys.argv[1]), int(sys.argv[2])
os.sched_setaffinity(0, {begins})
p = subprocess.Popen(sys.argv[3:])
while "libc.so" not in open("/proc/%d/maps" % p.pid).read():
    time.sleep(0.002)
time.sleep(0.05)
os.sched_setaffinity(p.pid, {goes_on})
sys.exit(p.wait())
"""


def sim(machine, *words):
    return run_on(machine, "even", *words)


def record(machine, *options, what=(SPIN, "100")):
    return sim(machine, CYCLADE, "record", *SYSROOT, "-o", DATA, *options, "--", *what)


def report(*options):
    """{event: table}"""
    p = subprocess.run([CYCLADE, "report", "-j", "-i", DATA, *options], text=True, capture_output=True)
    return {x["event"]: x for x in by_event(json.loads(p.stdout))} if not p.returncode else p.stderr


def test_hybrid():
    if not {0, 1} <= os.sched_getaffinity(0):
        return t.skip("programs that began on the other kind of core", "it takes CPUs 0 and 1")
    for event, begins, goes_on in [("cpu_core/cycles/", 1, 0), ("cpu_atom/cycles/", 0, 1)]:
        r = record("adl", "-e", event, what=[sys.executable, "-c", MOVES, str(begins), str(goes_on), SPIN, "400"])
        x = report("-s", "comm,dso,sym").get(event)
        t.ok(r.returncode == 0 and x and x["samples"] > 100, "%s: samples" % event, r.stderr)
        top = max(x["rows"], key=lambda row: row["period"])
        t.equal((top["comm"], top["dso"], top["function"]), ("sim_spin", "sim_spin", "main"), "%s: and what they fell into" % event)
        t.ok(x["no_mapping_samples"] < x["samples"] / 50, "%s: next to none is in no mapping" % event, x["no_mapping_samples"])
        people = subprocess.run([CYCLADE, "report", "-i", DATA], text=True, capture_output=True).stdout
        t.ok("dummy" not in people, "%s: people are not shown what only tells" % event, people)
        if PERF:
            p = subprocess.run([PERF, "report", "--stdio", "-i", DATA], text=True, capture_output=True, errors="replace")
            t.ok(re.search(r"[6-9]\d\.\d+%  sim_spin +sim_spin +\[\.\] main", p.stdout), "%s: perf says the same" % event, p.stdout + p.stderr)
            p = subprocess.run([PERF, "evlist", "-v", "-i", DATA], text=True, capture_output=True)
            told = [line.split(":")[0] for line in p.stdout.splitlines() if " mmap: 1" in line]
            t.equal(told, ["dummy"], "%s: one event tells of mappings" % event)
        else:
            t.skip("%s: perf" % event, "no perf here")
    for events in ["cycles", "cpu_core/cycles/,cpu_atom/instructions/", "cpu_core/cycles/,page-faults"]:
        record("adl", "-e", events)
        names = [e["event"] for e in json.loads(subprocess.run([CYCLADE, "info", "-j", DATA], text=True,
                                                               capture_output=True).stdout)["events"]]
        t.equal("dummy:u" in names, "page-faults" in names, "%s: an event more where it takes one" % events)
    if WHOLE_CPUS:
        record("adl", "-e", "cpu_core/cycles/", "-C", "0")
        names = subprocess.run([CYCLADE, "info", "-j", DATA], text=True, capture_output=True).stdout
        t.ok("dummy:u" in names and "cpu_core/cycles/" in names, "-C with CPUs of its own kind: an event more, on all CPUs", names)
    else:
        t.skip("-C with CPUs of its own kind: an event more, on all CPUs", "whole CPUs may not be counted here")
    r = sim("adl", CYCLADE, "record", *SYSROOT, "-e", "cpu_core/cycles/", "--dry-run", "--", "true")
    said = r.stdout + r.stderr
    t.ok("dummy:u" in said and "-e dummy" not in said, "--dry-run: it is told; perf adds its own", said)
    for options in [["-g"], ["-b"], ["-d"], ["-c", "100003", "--jitter"], ["-z"], ["--no-inherit"], ["-k", "mono"], ["-a"]]:
        if options == ["-a"] and not WHOLE_CPUS:
            t.skip("-a: beside it", "whole CPUs may not be counted here")
            continue
        moves = [] if options == ["--no-inherit"] else [sys.executable, "-c", MOVES, "0", "0"]
        r = record("adl", "-e", "cpu_core/cycles/", *options, what=[*moves, SPIN, "100"])
        t.ok(r.returncode == 0 and "main" in json.dumps(report("-s", "sym")), "%s: beside it" % " ".join(options), r.stderr)


def asked(text, period):
    """What perf evlist -v tells of the event, by what matters here."""
    m = re.search(r"^\S*l3_miss.*", text, re.M | re.I)
    found = dict(re.findall(r"(config|sample_freq }|precise_ip|exclude_kernel|exclude_user): (\w+)", m.group(0))) if m else {}
    return {k: v for k, v in found.items() if period or k != "sample_freq }"}


def test_names():
    """A model's names with terms: perf knows them by lists of its own."""
    for event, period in [("cpu/mem_load_retired.l3_miss,period=1000/", True), ("cpu/mem_load_retired.l3_miss,period=1000/pp", True),
                          ("cpu/period=1000,mem_load_retired.l3_miss/k", False), ("mem_load_retired.l3_miss:pp", False),
                          ("cpu/mem_load_retired.l3_miss,cmask=1,inv/u", False), ("mem_load_retired.l3_miss/name=l3_miss/pp", False)]:
        r = record("spr", "-q", "-e", event)
        mine = asked(subprocess.run([PERF, "evlist", "-v", "-i", DATA], text=True, capture_output=True).stdout, period)
        sim("spr", PERF, "record", "-q", "-o", DATA, "-e", event, "--", SPIN, "20")
        theirs = asked(subprocess.run([PERF, "evlist", "-v", "-i", DATA], text=True, capture_output=True).stdout, period)
        if theirs:
            t.equal(mine, theirs, "%s: what perf asks for" % event)
        else:
            t.skip("%s: what perf asks for" % event, "this perf does not know it")
        t.ok(mine and not r.returncode, "%s is recorded" % event, r.stderr)
    r = record("spr", "-q", "-e", "mem_load_retired.l3_miss/period=1000/")
    mine = asked(subprocess.run([PERF, "evlist", "-v", "-i", DATA], text=True, capture_output=True).stdout, True)
    t.equal((mine.get("config"), mine.get("sample_freq }")), ("0x20d1", "1000"), "terms behind a name are not lost")


def main():
    global DATA
    if not SIMULATED:
        t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
        t.done()
    DATA = os.path.join(tmp.name, "sim.data")
    if record("spr", "-e", "cycles").returncode:
        t.skip("all of it", "no sampling here")
        t.done()
    test_hybrid()
    if PERF:
        test_names()
    else:
        t.skip("names with terms", "no perf here")
    t.done()


main()
