#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat -G on real cgroups: what runs in one is counted there and nowhere else, several are told apart, perf says the same."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, Tap, run  # noqa: E402

t = Tap()


def root():
    """Where the hierarchy is that counters follow."""
    found = ""
    for line in open("/proc/self/mounts", encoding="utf-8"):
        w = line.split()
        if w[2] == "cgroup" and "perf_event" in w[3].split(","):
            return w[1]
        if w[2] == "cgroup2" and not found:
            found = w[1]
    return found


NAME = ["cyclade-test-%d-%s" % (os.getpid(), x) for x in "ab"]
made, running = [], []
ASK = ["sh", "-c", "echo 2000 >%s.in; echo 500 >%s.in; read x <%s.out; read x <%s.out" % (*NAME, *NAME)]
tmp = tempfile.mkdtemp(prefix="cyclade-cgroup-")
os.chdir(tmp)
try:
    for name in NAME:
        os.mkdir(os.path.join(root(), name))
        made.append(name)
except OSError as e:
    for name in made:
        os.rmdir(os.path.join(root(), name))
    t.skip("cgroups", "none can be made here: %s" % e)
    t.done()


def start(name, code):
    p = subprocess.Popen([sys.executable, "-S", "-E", "-c", code], stdout=subprocess.PIPE)
    running.append(p)
    p.stdout.readline()
    with open(os.path.join(root(), name, "cgroup.procs"), "w", encoding="utf-8") as f:
        f.write(str(p.pid))


def counts(*args):
    """Its counts while the two touch their pages, once."""
    p = run("stat", "-j", "-o", "-", *args, "--", *ASK)
    try:
        return json.loads(p.stdout)["counts"], p
    except (ValueError, KeyError):
        return [], p


def unified():
    """Where version 2 is mounted."""
    return [w.split()[1] for w in open("/proc/self/mounts", encoding="utf-8") if w.split()[2] == "cgroup2"]


def recorded():
    """A program that works in a cgroup that was there, and in one that is made meanwhile: both have names, in ours and in perf's words."""
    new = NAME[0] + "/later"
    work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    script = "echo $$ >%s; %s; mkdir %s; echo $$ >%s; %s; echo $$ >%s" % (
        os.path.join(root(), NAME[1], "cgroup.procs"), work, os.path.join(root(), new), os.path.join(root(), new, "cgroup.procs"), work,
        os.path.join(root(), "cgroup.procs"))
    p = run("record", "--all-cgroups", "-e", "cpu-clock", "-o", "cg.data", "--", "sh", "-c", script)
    os.rmdir(os.path.join(root(), new))
    if "does not tell the cgroup" in p.stderr:
        t.skip("record --all-cgroups", p.stderr.strip())
        return
    rows = {r["cgroup"]: r["samples"] for r in json.loads(run("report", "-j", "-s", "cgroup", "-i", "cg.data").stdout)["rows"]}
    wanted = {"/" + NAME[1], "/" + new}
    t.ok(not p.returncode and wanted <= set(rows) and set(rows) <= wanted | {"/"}, "record --all-cgroups: samples by cgroup, with names", (rows, p.stderr))
    part = json.loads(run("report", "-j", "-s", "cgroup", "-i", "cg.data", "--cgroup", "/" + new).stdout)["rows"]
    t.ok([r["cgroup"] for r in part] == ["/" + new], "report --cgroup takes one", part)
    if PERF:
        q = subprocess.run([PERF, "report", "-i", "cg.data", "-s", "cgroup", "--stdio", "-F", "sample,cgroup"], capture_output=True, text=True)
        theirs = {w[1]: int(w[0]) for w in (x.split() for x in q.stdout.splitlines() if x and x[0] != "#") if len(w) == 2 and w[0].isdigit()}
        t.equal(theirs, rows, "perf report -s cgroup has the same")


def near(a, b, within):
    return a is not None and b is not None and abs(a - b) <= within * abs(b)


def checks():
    # so many pages when asked: the first 2000, the second 500
    touch = """
import mmap
print("up", flush=True)
while True:
    with open("%s.in") as f: n = int(f.read())
    for i in range(n // 10):
        m = mmap.mmap(-1, 4096 * 10)
        for k in range(10): m[k * 4096] = 1
        m.close()
    with open("%s.out", "w") as f: f.write("done\\n")
"""
    for name in NAME:
        os.mkfifo(name + ".in")
        os.mkfifo(name + ".out")
        start(name, touch % (name, name))
    one, p = counts("-a", "-G", NAME[0], "-e", "page-faults,cs")
    if not one or one[0]["value"] is None:
        t.skip("cgroups", "not to be counted here: %s" % p.stderr.strip())
        return
    t.ok(near(one[0]["value"], 2000, 0.25), "what happens in a cgroup is counted", one)
    t.ok(len(one) == 2 and one[0]["where"] is None, "one cgroup: no place", one)
    both, p = counts("-a", "-G", ",".join(NAME), "-e", "page-faults,task-clock")
    value = {(r.get("where"), r["event"]): r["value"] for r in both}
    t.ok(list(dict.fromkeys(r.get("where") for r in both)) == NAME, "several are told apart, in their order", both)
    t.ok(near(value.get((NAME[0], "page-faults")), 2000, 0.25) and near(value.get((NAME[1], "page-faults")), 500, 0.25),
         "each with its own counts", value)
    third, p = counts("-a", "-G", NAME[1], "-G", NAME[0], "--per", "cpu", "-e", "page-faults")
    sums = {n: sum(r["value"] or 0 for r in third if (r.get("where") or "").startswith(n)) for n in NAME}
    t.ok(near(sums[NAME[0]], 2000, 0.25) and near(sums[NAME[1]], 500, 0.25), "cgroups and CPUs at once: the CPUs add up", third)
    t.ok(third and third[0]["where"] == NAME[1] + " CPU0", "by the order of -G, then by CPU", third)
    per, p = counts("-a", "-G", NAME[1], "--per", "cgroup", "-e", "page-faults")
    t.ok([r.get("where") for r in per] == [NAME[1]], "--per cgroup names the one", per)
    p = run("stat", "-a", "-G", ",".join(NAME), "-I", "50", "-o", "-", "-e", "page-faults", "--", "sh", "-c", ASK[2] + "; sleep 0.2; " + ASK[2])
    # what did not run in an interval is not counted there: which ones is the scheduler's
    rows = re.findall(r"^ +\d+\.\d{3} +(\S+) +([\d,]+|<not counted>)  page-faults", p.stdout, re.M)
    sums = [sum(int(n.replace(",", "")) for name, n in rows if name == which and n[0].isdigit()) for which in NAME]
    t.ok(len(rows) >= 4 and [r[0] for r in rows] == NAME * (len(rows) // 2) and near(sums[0], 4000, 0.25) and near(sums[1], 1000, 0.25),
         "-I: the intervals add up", p.stdout)
    if PERF:
        q = subprocess.run([PERF, "stat", "-x,", "-a", "-e", "page-faults,task-clock", "--for-each-cgroup", ",".join(NAME), *ASK],
                           stderr=subprocess.PIPE, text=True)
        ours, p = counts("-a", "-G", ",".join(NAME), "-e", "page-faults,task-clock")
        theirs = {(f[-1] if f[-1] in NAME else next((x for x in f if x in NAME), None), f[2]): float(f[0])
                  for f in (x.split(",") for x in q.stderr.splitlines()) if len(f) > 4 and f[0][:1].isdigit()}
        value = {(r.get("where"), r["event"]): r["value"] for r in ours}
        faults = [(theirs.get((n, "page-faults")), value.get((n, "page-faults"))) for n in NAME]
        t.ok(len(theirs) == 4 and all(near(a, b, 0.2) for a, b in faults), "perf --for-each-cgroup says the same", (theirs, value))
    else:
        t.skip("perf --for-each-cgroup says the same", "no perf")
    for args, said in ((["-G", NAME[0]], "whole CPUs"), (["-a", "-G", NAME[0] + "-no"], "No such file"), (["-a", "-G", ","], "missing"),
                       (["-a", "--per", "cgroup"], "named")):
        p = run("stat", "-e", "cs", *args, "--", "true")
        t.ok(p.returncode == 125 and said in p.stderr and len(p.stderr.splitlines()) <= 3, "refused: %s" % " ".join(args[-2:]).replace(str(os.getpid()), "N"),
             p.stderr)
    alone, p = run("stat", "-j", "-o", "-", "-G", NAME[0], "--for", "50ms", "-e", "task-clock"), None
    t.ok(not alone.returncode and json.loads(alone.stdout).get("target") == "cgroup " + NAME[0], "-G without -a: as long as --for", alone.stdout[:300] + alone.stderr)
    recorded()
    p = run("monitor", "--once", "--interval", "50", "-G", NAME[0], "-j", "--metrics", "cgroup.cpu_time")
    t.ok(not p.returncode and NAME[0] in p.stdout or "not mounted" in p.stderr or root() not in unified(), "monitor -G: wherever version 2 is mounted", p.stdout[:300] + p.stderr)
    p = run("record", "-a", "-G", ",".join(NAME), "-o", os.devnull, "--", "true")
    t.ok(p.returncode == 125 and "one cgroup" in p.stderr, "a recording is of one", p.stderr)


try:
    checks()
finally:
    for p in running:
        p.kill()
        p.wait()
    for name in made:
        for _ in range(50):
            try:
                os.rmdir(os.path.join(root(), name))
                break
            except OSError:
                time.sleep(0.02)
    os.chdir("/")
    shutil.rmtree(tmp)
t.done()
