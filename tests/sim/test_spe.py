#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade record --mem` with Arm's SPE on a simulated Neoverse N2: what is asked of the kernel, what is in the file, and what perf 7 reads from it."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, SIMULATED, WHOLE_CPUS, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
DATA = os.path.join(tmp.name, "spe.data")
PERF7 = os.environ.get("CYCLADE_PERF7")
if not SIMULATED:
    t.skip("SPE", "a sanitizer's library wants to be preloaded first")
    t.done()
with open(os.path.join(HERE, "machines", "n2.tab"), encoding="utf-8") as f:
    text = f.read()
PMU = """pmu cs_etm type=111 core=1 precise=0 cpus=0-63 driver=arm
pmu arm_spe_0 type=110 core=1 precise=0 cpus=0-63 driver=spe
format arm_spe_0 ts_enable config:0
format arm_spe_0 pa_enable config:1
format arm_spe_0 jitter config:16
format arm_spe_0 branch_filter config:32
format arm_spe_0 load_filter config:33
format arm_spe_0 store_filter config:34
format arm_spe_0 event_filter config1:0-63
format arm_spe_0 min_latency config2:0-11
cap arm_spe_0 min_interval 1024
cap arm_spe_0 event_filter ff00fffe
event arm_spe_0 0 0 0 0 N 0 arm_spe_0 1
"""
MACHINE = os.path.join(tmp.name, "n2_spe.tab")
with open(MACHINE, "w", encoding="utf-8") as f:
    f.write(text.replace("programs ", PMU.rsplit("event ", 1)[0] + "programs ", 1) + PMU[PMU.index("event arm_spe_0 0 "):])


def record(*options, ms=200, words=None):
    return run_on(MACHINE, "even", CYCLADE, "record", *SYSROOT, "-o", DATA, *options, *(words or ["--", SPIN, str(ms)]))


def rows(query):
    r = subprocess.run([CYCLADE, "sql", DATA, "-j", query], capture_output=True, text=True, check=False)
    return json.loads(r.stdout)["rows"] if not r.returncode else r.stderr


r = record("--mem", "-c", "20000")
t.ok(r.returncode == 0 and "pieces of trace" not in r.stderr, "record --mem", r.stderr)
x = rows("SELECT operation, source, count(*) AS n, min(total_latency) AS low, max(total_latency) AS high, count(DISTINCT midr) AS midrs, min(period) AS period FROM spe GROUP BY 1, 2")
found = {(row["operation"], row["source"]): row for row in x} if isinstance(x, list) else {}
t.equal(set(found), {("load", s) for s in ("L1", "L2", "L2 of another core", "system cache", "DRAM")} | {("store", None)},
        "loads by source and stores; the filter leaves branches out")
t.equal({(row["low"], row["high"]) for k, row in found.items() if k[1]}, {(20 + 50 * i,) * 2 for i in range(5)}, "latencies as the device wrote them")
t.equal({row["period"] for row in found.values()}, {20000}, "-c is the interval")
said = re.search(r"([0-9,]+) samples", r.stdout + r.stderr)
t.ok(said and sum(row["n"] for row in found.values()) == int(said[1].replace(",", "")), "record says how many records there are", (r.stderr, x))
x = rows("SELECT count(*) AS n, sum(comm = 'sim_spin') AS mine, sum(function IS NOT NULL) AS named, max(time) - min(time) AS ns FROM samples WHERE mode = 'user'")
# the loader's own code may have no names, and has more of the time on a busy machine
t.ok(isinstance(x, list) and x[0]["n"] and x[0]["mine"] > 0.9 * x[0]["n"] and x[0]["named"] > 0.5 * x[0]["n"] and 1e7 < x[0]["ns"] < 1e10,
     "threads, code and times of the samples", x)
p = subprocess.run([CYCLADE, "mem", DATA], capture_output=True, text=True, check=False)
t.ok(p.returncode == 0 and "L2, other core" in p.stdout and "RAM" in p.stdout, "mem", p.stdout + p.stderr)
p = subprocess.run([CYCLADE, "info", DATA], capture_output=True, text=True, check=False)
t.ok("load_filter=1,store_filter=1" in p.stdout and "of Arm's SPE" in p.stdout, "info", p.stdout)
if PERF7 and os.path.exists(PERF7):
    p = subprocess.run([PERF7, "script", "--itrace=M", "-i", DATA, "-F", "data_src,weight"], capture_output=True, text=True, check=False)
    n = sum(row["n"] for row in found.values())
    t.equal((p.stdout.count("LVL RAM hit"), len(p.stdout.splitlines())), (found["load", "DRAM"]["n"], n), "perf script reads as many records, and the same sources")
else:
    t.skip("perf script", "no perf 7: CYCLADE_PERF7 is not set")
record("--mem=loads,ldlat=100", "-c", "20000")
t.equal(rows("SELECT DISTINCT operation FROM spe"), [{"operation": "load"}], "--mem=loads")
t.equal(rows("SELECT min(total_latency) AS low FROM spe"), [{"low": 120}], "ldlat: min_latency")
record("--mem=stores", "-c", "20000")
t.equal(rows("SELECT DISTINCT operation FROM spe"), [{"operation": "store"}], "--mem=stores")
record("-e", "arm_spe_0/ts_enable=1,branch_filter=1/", "-c", "20000")
t.equal(rows("SELECT DISTINCT operation FROM spe"), [{"operation": "branch"}], "-e arm_spe_0//: branches")
record("-e", "arm_spe_0/load_filter=1/", "-c", "20000")
p = subprocess.run([CYCLADE, "report", DATA], capture_output=True, text=True, check=False)
t.ok("no usable time stamp" in p.stdout, "without time stamps: said", p.stdout)
r = run_on(MACHINE, "even", CYCLADE, "record", *SYSROOT, "-o", DATA, "--mem", "-c", "20000", "--", sys.executable, "-c",
           "import subprocess, sys; [subprocess.run([sys.argv[1], '60']) for _ in range(3)]", SPIN)
x = rows("SELECT pid, count(*) AS n FROM samples WHERE comm = 'sim_spin' GROUP BY 1")
t.ok(r.returncode == 0 and isinstance(x, list) and len(x) == 3 and all(row["n"] > 10 for row in x), "a program and what it starts", (r.stderr, x))
r = record("--mem", "-c", "1024")
x = rows("SELECT aux_lost FROM losses")
n = re.search(r"([0-9,]+) pieces of trace are cut", r.stderr)
t.ok(n and isinstance(x, list) and x[0]["aux_lost"] == int(n[1].replace(",", "")) > 0, "colliding samples are counted, by record and in the file", (r.stderr, x))
if WHOLE_CPUS:
    r = record("--mem", "-c", "20000", "-a", words=["--", SPIN, "200"])
    t.ok(r.returncode == 0 and isinstance(rows("SELECT 1 FROM spe"), list) and len(rows("SELECT DISTINCT cpu FROM spe")) >= 1, "-a", r.stderr)
else:
    t.skip("-a", "whole CPUs may not be recorded")
for words, why in ((("--mem", "-z"), "cannot be packed"), (("-e", "arm_spe_0/ts_enable=1,freq=100/"), "has a period"), (("--mem", "--keep", "period > 1"), "--keep cannot"),
                   (("-e", "cs_etm/config=1/"), "writes a trace")):
    r = record(*words)
    t.ok(r.returncode == 125 and why in r.stderr, "%s: %s" % (" ".join(words), why), (r.returncode, r.stderr))
t.done()
