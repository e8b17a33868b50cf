#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--time, --cpu, --comm, --only-pid and --only-tid select what perf's --time, --cpu, --comm, --pid and --tid select: counts of
samples, by report and info, against lines of perf script on the same recordings."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-select-")
os.chdir(tmp)
SHARED = os.environ.get("CYCLADE_SHARED", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared"))
CORPUS = os.path.join(SHARED, "corpus", "recordings")
perf = shutil.which("perf")


def of_perf(data, fields, *args):
    p = subprocess.run([perf, "script", "-i", data, "-G", "-F", fields, *args], capture_output=True, text=True, errors="replace")
    return [line for line in p.stdout.splitlines() if line.strip()] if p.returncode == 0 else None


def of_info(data, *args):
    p = run("info", "-j", "-i", data, *args)
    return sum(e["samples"] for e in json.loads(p.stdout)["events"]) if p.returncode == 0 else p.stderr


def of_report(data, *args):
    p = run("report", "--format", "csv", "-s", "event", "-i", data, *args)
    if p.returncode:
        return p.stderr
    return sum(int(r["samples"]) for r in csv.DictReader(io.StringIO(p.stdout)))


def same(data, name, ours, theirs):
    lines = of_perf(data, "ip", *theirs)
    if lines is None:
        t.skip(name, "perf refuses it")
        return
    t.equal((of_info(data, *ours), of_report(data, *ours)), (len(lines), len(lines)), name + ": as many as perf script")


def check(data, name, cpus):
    lines = of_perf(data, "pid,tid,time")
    if not lines:
        t.skip(name, "perf reads no samples of it")
        return
    words = [line.split() for line in lines]
    times = [w[-1].rstrip(":") for w in words]
    ids = [w[0].split("/") for w in words]
    order = sorted(times, key=float)
    a, b = order[len(order) // 4], order[len(order) * 3 // 4]
    same(data, name + " --time %s,%s" % (a, b), ["--time", "%s,%s" % (a, b)], ["--time", "%s,%s" % (a, b)])
    same(data, name + " --time ,B", ["--time", "," + b], ["--time", "," + b])
    same(data, name + " --time A,", ["--time", a + ","], ["--time", a + ","])
    pid, tid = ids[len(ids) // 2]
    same(data, name + " --only-pid", ["--only-pid", pid], ["--pid", pid])
    same(data, name + " --only-tid", ["--only-tid", tid], ["--tid", tid])
    same(data, name + " --only-pid --time", ["--only-pid", pid, "--time", a + ","], ["--pid", pid, "--time", a + ","])
    comm = (of_perf(data, "comm") or ["?"])[len(lines) // 2].strip()
    same(data, name + " --comm", ["--comm", comm], ["--comms", comm])
    if cpus:
        for cpu in ("0", "1", "0-1"):
            same(data, name + " --cpu " + cpu, ["--cpu", cpu], ["--cpu", cpu])


made = "made.data"
work = "for i in 1 2 3; do seq 1 30000 | sort -R | md5sum > /dev/null; ls -l /usr/bin | wc -l > /dev/null; done"
if not perf:
    t.skip("selections", "no perf")
elif subprocess.run([perf, "record", "-q", "-o", made, "-e", "cpu-clock", "-F", "997", "-a", "--", "sh", "-c", work], capture_output=True).returncode:
    t.skip("a fresh recording", "perf cannot record here")
else:
    check(made, "fresh", True)
    whole = of_info(made)
    halves = [of_info(made, "--time", x) for x in ("0%,50%", "50%,100%")]
    t.equal(sum(halves), whole, "halves by per cent are the whole, once")
    t.ok(0 < of_info(made, "--time", "0ms,10ms") < whole, "a time with a unit counts from the first sample")
    parts = [of_info(made, "--cpu", c) for c in ("0", "1-1023")]
    t.equal(sum(parts), whole, "CPUs are the whole, once")
if perf and os.path.isdir(CORPUS):
    for name, cpus in (("nnue-pytorch-perf.data", False), ("autofdo-propeller_sample_1.perfdata1", False),
                       ("perf_data_converter-perf.data.busy.1-3.8", True), ("perf_data_converter-perf.data.lost_samples-4.4", False)):
        check(os.path.join(CORPUS, name), name, cpus)
    lbr = os.path.join(CORPUS, "autofdo-propeller_sample_1.perfdata1")
    for command in ("blocks", "calls", "registers", "annotate", "export"):
        p = run(command, *(["--folded", "-o", "-"] if command == "export" else []), "-i", lbr, "--cpu", "0")
        t.ok(p.returncode == 2 and ("--cpu" in p.stderr or command in ("registers", "annotate")), command + ": --cpu of a recording without CPUs is refused", p.stderr)
for args, word in ((["--time", "1"], "no comma"), (["--time", "x,"], "x"), (["--time", "2,1"], "ends before"), (["--time", "101%,"], "100"),
                   (["--cpu", "x"], "--cpu"), (["--cpu", "70000"], "65535")):
    if os.path.exists(made):
        p = run("info", "-i", made, *args)
        t.ok(p.returncode == 2 and word in p.stderr, " ".join(args) + " is refused", p.stderr)
os.chdir("/")
shutil.rmtree(tmp)
t.done()
