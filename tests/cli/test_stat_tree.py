#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade stat's tree on simulated machines: the shares are those that were planted, and perf's. Time is on paper
(tests/sim/paper.h) but for a drill-down, intervals, two phases, and where perf or a signal comes in."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from sim import SPIN, command as words, environment, planted, run_on  # noqa: E402
from tap import CYCLADE, PERF, SIMULATED, Tap, child_of, taken, wait_for  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
if not SIMULATED or not os.path.exists(SPIN):
    t.skip("the tree", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
tmp = tempfile.mkdtemp(prefix="cyclade-tree-")
os.chdir(tmp)


def command(machine, scenario, *cmd):
    return words(machine, scenario, *cmd), environment(machine, LC_ALL="C.UTF-8")


def sim(machine, scenario, *cmd):
    return run_on(machine, scenario, *cmd, LC_ALL="C.UTF-8")


def stat(machine, scenario, *args, ms="300", paper=True):
    return run_on(machine, scenario, CYCLADE, "stat", "--sysroot", "@SYSROOT@", *args, "--", SPIN, ms, paper=paper, LC_ALL="C.UTF-8")


def nodes(machine, scenario, *args, ms="300", paper=True):
    """{last part of the path: node} of the first tree, the document, the process."""
    p = stat(machine, scenario, "-j", "-o", "-", *args, ms=ms, paper=paper)
    try:
        doc = json.loads(p.stdout)
    except ValueError:
        return {}, {}, p
    found = [x for x in trees(doc) if any(n["value"] is not None for n in x["nodes"])]
    return {n["node"].split(".")[-1]: n for n in found[0]["nodes"]} if found else {}, doc, p


probe = stat("ivb", "even", "-l", "1", ms="20")
if probe.returncode:
    t.no_simulation("the tree", probe.stderr)
    t.done()

# ---- what was planted comes out
for machine, program, pmu in [("ivb", "even", "cpu"), ("ivb", "dram_bound", "cpu"), ("skl", "branch_mispredicts", "cpu"),
                              ("icl", "icache_misses", "cpu"), ("spr", "dram_bound", "cpu"), ("adl", "even", "cpu_core"),
                              ("gnr", "divider", "cpu"), ("zen4", "even", "cpu")]:
    want = planted(machine, program, pmu)
    got, doc, p = nodes(machine, program)
    level1 = [n for n in got.values() if n["level"] == 1]
    total = sum(n["value"] or 0 for n in level1)
    t.ok(len(level1) >= 4 and abs(total - 1) < 0.01, "%s %s: level 1 adds up" % (machine, program), "%s\n%s" % (total, p.stderr))
    worst = [(name, want[name], n["value"], n["value_error"]) for name, n in got.items() if name in want and n["value"] is not None and
             n["unit"].lower().startswith("slots") and abs(n["value"] - want[name]) > max(0.015, 2 * (n["value_error"] or 0))]
    known = [name for name, n in got.items() if name in want and n["value"] is not None]
    t.ok(not worst and len(known) >= 4, "%s %s: the shares are the planted ones" % (machine, program), (worst, known))
got, doc, p = nodes("ivb", "dram_bound", ms="500", paper=False)
path = [n["node"] for n in got.values() if n["path"]]
t.equal(path[:3], ["backend_bound", "backend_bound.memory_bound", "backend_bound.memory_bound.l3_miss_bound"], "the path leads to what was planted")
t.ok(abs(got["l3_miss_bound"]["value"] - 0.39) < 0.03, "and its share is right", got["l3_miss_bound"])
closed = [n for n in got.values() if n["value"] is None]
t.ok(closed and all(n["value_why"] for n in closed), "what was not opened: null, and why", closed[:2])
t.ok(all(n["counted"] is None or 0 <= n["counted"] <= 1 for n in got.values()), "the share of time is one")

# ---- perf says the same on the same machine
if PERF:
    p = sim("ivb", "branch_mispredicts", PERF, "stat", "-M", "TopdownL1", SPIN, "300")
    theirs = {n: float(v) / 100 for v, n in re.findall(r"#\s+(-?[\d.]+) %?\s+(?:tma_)?(\w+)", p.stderr)}
    if theirs and max(theirs.values()) < 0.02:
        theirs = {n: v * 100 for n, v in theirs.items()}
    got, doc, p2 = nodes("ivb", "branch_mispredicts", "-l", "1")
    both = sorted(set(theirs) & set(got))
    t.ok(len(both) == 4 and all(abs(theirs[n] - got[n]["value"]) < 0.01 for n in both), "ivb: perf -M TopdownL1 agrees",
         "%s\n%s\n%s" % (theirs, {n: got[n]["value"] for n in got}, p.stderr[-600:]))
    p = sim("ivb", "dram_bound", PERF, "stat", "-x,", "-e", "cycles,instructions", SPIN, "200")
    theirs = {line.split(",")[2]: float(line.split(",")[0]) for line in p.stderr.splitlines() if line.count(",") > 3}
    p = sim("ivb", "dram_bound", CYCLADE, "stat", "--sysroot", "@SYSROOT@", "-j", "-o", "-", "-e", "cycles,instructions", "--", SPIN, "200")
    ours = {r["event"]: r["value"] for r in json.loads(p.stdout)["counts"]}
    t.ok(set(ours) == set(theirs) == {"cycles", "instructions"} and
         abs(ours["instructions"] / ours["cycles"] - theirs["instructions"] / theirs["cycles"]) < 0.005, "-e: perf counts alike", (ours, theirs))
else:
    t.skip("perf agrees", "no perf here")

# ---- ways to count it
for args, deep in [(["--drilldown=rerun"], True), (["--no-mux"], True), (["-l", "2"], False), (["-l", "1"], False), (["-r", "2", "-l", "2"], False)]:
    got, doc, p = nodes("ivb", "dram_bound", *args, ms="100")
    name = " ".join(args)
    ok = got and abs(got["backend_bound"]["value"] - 0.58) < 0.02 and (args == ["-l", "1"] or abs(got["memory_bound"]["value"] - 0.52) < 0.03)
    t.ok(ok and (not deep or abs((got["l3_miss_bound"]["value"] or 0) - 0.39) < 0.04), "%s: the same tree" % name,
         "%s\n%s" % ({n: got[n]["value"] for n in got if got[n]["value"]}, p.stderr))
    levels = {n["level"] for n in got.values()}
    t.ok(deep or max(levels) == int(args[-1]), "%s: as deep as asked" % name, levels)
    if "-r" in args:
        each = {}
        for x in doc["repeats"]:
            each.setdefault(x["node"].split(".")[-1], []).append(x["value"])
        t.ok(set(each) == set(got) and len(doc["times"]) == 2 and
             all(len(v) == 2 and (None in v or abs(sum(v) / 2 - got[n]["value"]) < 1e-9) for n, v in each.items()),
             "-r: the table repeats has each run", doc["repeats"][:3])
    if args == ["--no-mux"]:
        # runs are not equally long: what one has more, the others were not there for
        t.ok(all(n["counted"] > 0.9 for n in got.values() if n["value"] is not None), "--no-mux: nothing shares its counters",
             sorted((n["counted"], n["node"]) for n in got.values() if n["value"] is not None)[:3])
got, doc, p = nodes("ivb", "dram_bound", "--node", "l3_miss_bound", "-M", "IPC")
t.ok(set(got) == {"backend_bound", "memory_bound", "l3_miss_bound"} and abs(got["l3_miss_bound"]["value"] - 0.39) < 0.03, "--node: it and what it hangs under", list(got))
m = {x["metric"]: x["value"] for x in trees(doc)[0]["metrics"]}
t.ok("IPC" in m and 0.1 < m["IPC"] < 4, "-M: a metric", m)
# the program changes its ways: the stage is opened when it does, and what was seen counts for that time only
open("phases", "w").write("phase branch_mispredicts 300\nphase dram_bound -\n")
got, doc, p = nodes("ivb", os.path.join(tmp, "phases"), ms="900", paper=False)
want = {n: (planted("ivb", "branch_mispredicts")[n] * 300 + planted("ivb", "dram_bound")[n] * 600) / 900 for n in ["backend_bound", "bad_speculation", "retiring"]}
t.ok(all(abs(got[n]["value"] - want[n]) < max(0.04, got[n]["value_error"] or 0) for n in want), "a program of two phases: the whole is their mean",
     (want, {n: got[n]["value"] for n in want}))
t.ok(got["memory_bound"]["value"] is not None and got["branch_mispredicts"]["value"] is not None, "both phases were looked into", list(got))

p = stat("ivb", "dram_bound", "-I", "100", "-j", "-o", "-", "-l", "1", ms="350", paper=False)
lines = [json.loads(line) for line in p.stdout.splitlines()]
t.ok(len(lines) >= 4 and lines[-1].get("end") and all(x["schema"] == "cyclade.tree/2" for x in lines), "-I -j: JSON lines", p.stdout[:300] + p.stderr)
values = [(trees(x)[0]["slots"] or 0, n["value"], n["value_error"] or 0) for x in lines[:-1] for n in trees(x)[0]["nodes"] if n["node"] == "backend_bound"]
# if the machine is busy, the program runs for a few ms of an interval: some groups then have no turn in it. 20 ms are
# enough for all of them: 4 slots a cycle at 3 GHz
t.ok(sum(v is not None for _, v, _ in values) >= 3 and all(v is not None for slots, v, _ in values if slots > 2.4e8) and
     all(abs(v - 0.58) < max(0.03, error) for _, v, error in values if v is not None), "-I: each interval's share", values)
p = sim("spr", "even", CYCLADE, "stat", "--sysroot", "@SYSROOT@", "-a", "--per", "core", "-j", "-l", "1", "--for", "200ms")
if p.returncode == 0:
    doc = json.loads(p.stdout)
    shares = [n["value"] for x in trees(doc) for n in x["nodes"] if n["node"] == "backend_bound"]
    t.ok(len(shares) >= 1 and all(abs(v - 0.4) < 0.02 for v in shares), "-a --per core: a tree for each", shares)
else:
    t.skip("-a --per core", p.stderr.strip().splitlines()[0])

# ---- for people
p = stat("ivb", "dram_bound")
rows = [line for line in p.stderr.splitlines() if re.search(r"[├└]", line)]
width = max(sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) for line in rows) if rows else 999
t.ok(rows and width <= 76, "76 columns", "%d\n%s" % (width, p.stderr))
top = [float(m.group(1)) for m in (re.match(r" [├└] \S+\s+([\d.]+) %", line) for line in rows) if m]
t.ok(len(top) == 4 and abs(sum(top) - 100) < 0.25, "level 1 closes on the screen", top)
t.ok(re.search(r"backend_bound .*<==", p.stderr) and "next:" in p.stderr and "took turns" in p.stderr, "path, next commands, what to believe", p.stderr)
os.makedirs("my models/intel/ivb")
with open("my models/intel/ivb/tree", "w", encoding="utf-8") as f:
    f.write("base ivb\n")
p = stat("ivb", "dram_bound", "--models", "my models", "--node", "l3_miss_bound")
hints = re.findall(r"cyclade ((?:explain|record) .*)", p.stderr)
t.ok(len(hints) > 1 and all("--models 'my models' " in x for x in hints), "next lines keep the directory of models", p.stderr)
args, env = command("ivb", "dram_bound", CYCLADE, "stat", "--sysroot", "@SYSROOT@", "-l", "2", "--why", "--", SPIN, "100")
p = subprocess.run(args, env=dict(env, LC_ALL="C"), text=True, capture_output=True, timeout=600)
t.ok(p.stderr.isascii() and "|- " not in p.stderr.replace("|-", "|-", 1) and "`-" in p.stderr and "##" in p.stderr, "ASCII where the locale is not UTF-8", p.stderr)
t.ok(re.search(r"backend_bound = .*\[.*\].*\n\s+by models/", p.stderr), "--why: formula, values, where it is written", p.stderr)
args, env = command("ivb", "dram_bound", CYCLADE, "stat", "--sysroot", "@SYSROOT@", "--color", "always", "-l", "1", "--", SPIN, "50")
p = subprocess.run(args, env=env, text=True, capture_output=True, timeout=600)
t.ok("\x1b[" in p.stderr, "--color always", p.stderr)
p = stat("ivb", "even", "-x", ",", "-o", "-", "-l", "2", ms="50")
t.ok(p.stdout.startswith("where,node,parent,level,value,value_error,value_why,unit,while_open,") and p.stdout.count("\n") == 13, "csv: twelve nodes", p.stdout)
p = stat("ivb", "even", "--format", "markdown", "-o", "-", "-l", "1", ms="50")
t.ok("| backend\\_bound | 40.0 %" in p.stdout, "markdown", p.stdout)
p = stat("ivb", "even", "--dry-run", "-l", "1", ms="50")
text = p.stdout + p.stderr
t.ok(p.returncode == 0 and "group 1" in text and "like: perf stat -e '{cpu/event=" in text and " wall" not in text, "--dry-run", text)
args, env = command("ivb", "even", CYCLADE, "stat", "--sysroot", "@SYSROOT@", "--", SPIN, "60000")
p = subprocess.Popen(["setsid", *args], env=env, stderr=subprocess.PIPE, text=True)
pid = []


def goes_on():
    pid[:] = subprocess.run(["pgrep", "-s", str(p.pid), "-x", "cyclade"], capture_output=True, text=True).stdout.split()
    return pid


if wait_for(goes_on) and child_of(int(pid[0]), os.path.basename(SPIN)):
    time.sleep(0.5)
    os.kill(int(pid[0]), signal.SIGUSR1)
    taken(int(pid[0]), signal.SIGUSR1)
    os.kill(int(pid[0]), signal.SIGINT)
err = p.communicate(timeout=600)[1]
t.ok(pid and err.count("backend_bound ") >= 2 and "interrupted" in err, "SIGUSR1 prints the tree so far, an interrupt ends it", err)

# ---- asked for wrongly
for args, hint in [(["--node", "l3_miss_bnd"], "l3_miss_bound"), (["-M", "nonsense_xyz"], ""), (["--model", "no-such"], ""),
                   (["--no-mux", "-I", "100"], ""), (["--drilldown=rerun", "-r", "2"], ""), (["--drilldown=often"], "")]:
    p = stat("ivb", "even", *args, ms="20")
    t.ok(p.returncode == 125 and 1 <= len(p.stderr.splitlines()) <= 3 and hint in p.stderr, "wrong: stat %s" % " ".join(args), "%d\n%s" % (p.returncode, p.stderr))
for args in [["--no-mux", "-a"], ["--drilldown=rerun", "-a"]]:
    p = sim("ivb", "even", CYCLADE, "stat", "--sysroot", "@SYSROOT@", *args)
    t.ok(p.returncode == 2 and len(p.stderr.splitlines()) <= 3, "wrong: stat %s" % " ".join(args), "%d\n%s" % (p.returncode, p.stderr))
p = sim("ivb", "even", CYCLADE, "stat", "--sysroot", "@SYSROOT@", "-l", "1", "--", "sh", "-c", "exit 7")
t.equal(p.returncode, 7, "the program's exit code")
os.chdir("/")
shutil.rmtree(tmp)
t.done()
