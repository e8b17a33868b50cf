#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings that perf makes here and now, in each of its forms: cyclade info must count in them what
perf counts. Speaks TAP; skipped where there is no perf that may record."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_names import short_kallsyms  # noqa: E402
from tap import CYCLADE, PERF  # noqa: E402

WORK = ["--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; /bin/true; /bin/true"]
WAYS = [
    ("plain", ["-e", "cpu-clock", "-F", "999"], "file"),
    ("two events, chains", ["-e", "cpu-clock,page-faults", "-g"], "file"),
    ("packed", ["-z", "-e", "cpu-clock,page-faults", "-g"], "file"),
    ("stacks and registers", ["-e", "cpu-clock", "--call-graph", "dwarf,4096"], "file"),
    ("addresses, weights, raw", ["-e", "page-faults", "-c", "1", "-d", "-W", "-R", "--phys-data"], "file"),
    ("groups, switches, namespaces", ["-e", "cpu-clock,page-faults", "-c", "100000", "-a", "--switch-events",
                                      "--namespaces", "--all-cgroups"], "file"),
    ("a file for each thread", ["-a", "--threads", "-e", "cpu-clock,page-faults"], "directory"),
    ("packed, a file for each thread", ["-z", "-a", "--threads", "-e", "cpu-clock,page-faults"], "directory"),
    ("pipe", ["-e", "cpu-clock,page-faults", "-g"], "pipe"),
    ("packed pipe", ["-z", "-e", "cpu-clock", "-g"], "pipe"),
]
count = bad = 0


def say(good, name, why=""):
    global count, bad
    count += 1
    bad += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    for line in str(why).split("\n")[:6] if not good else []:
        print("# " + line[:300])


def by_perf(path):
    p = subprocess.run([PERF, "script", "--force", "-i", path, "-G", "-F", "event,period"], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, timeout=600, env=short_kallsyms(os.path.dirname(path)))
    out = {}
    for line in p.stdout.decode("utf-8", "replace").split("\n"):
        m = re.match(r"^\s*(\d+)\s+(\S.*?):\s*$", line)
        if m:
            row = out.setdefault(m.group(2), [0, 0])
            row[0] += 1
            row[1] += int(m.group(1))
    return out


def main():
    global count
    if not PERF:
        print("1..0 # SKIP no perf here")
        return 0
    with tempfile.TemporaryDirectory() as d:
        for i, (name, how, form) in enumerate(WAYS):
            path = os.path.join(d, "%d.data" % i)
            to = ["-o", "-" if form == "pipe" else path]
            with open(path if form == "pipe" else os.devnull, "wb") as out:
                p = subprocess.run([PERF, "record", "-q", *how, *to, *WORK], stdout=out, stderr=subprocess.PIPE,
                                   timeout=600, env=short_kallsyms(d))
            if p.returncode or not os.path.exists(path):
                count += 1
                print("ok %d - %s # SKIP perf cannot record so here" % (count, name))
                continue
            p = subprocess.run([CYCLADE, "info", "-j", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if p.returncode:
                say(False, name, p.stderr.decode())
                continue
            j = json.loads(p.stdout)
            ours = {e["event"]: [e["samples"], e["period"]] for e in j["events"] if e["samples"]}
            theirs = by_perf(path)
            say(ours == theirs and j["form"] == form and not j["notes"] and sum(v[0] for v in ours.values()) > 0,
                name + ": as perf counts", "perf %s\nhere %s, %s form, %s" % (theirs, ours, j["form"], j["notes"]))
    print("1..%d" % count)
    return bad > 0


sys.exit(main())
