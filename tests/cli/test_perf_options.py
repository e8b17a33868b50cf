#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What perf's users type: taken in our words, or refused with the word that helps."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
os.chdir(tempfile.mkdtemp())


def same(perf, ours, *more):
    """Both words lead to the same, be it an error."""
    a, b = (run("stat", *words, *more) for words in (perf, ours))
    t.ok((a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr) and "no option" not in a.stderr, "%s is %s" % (" ".join(perf), " ".join(ours)),
         "%s\n%s" % (a, b))


DRY = ("--dry-run", "-e", "task-clock,page-faults")
for place in ("core", "cluster", "die", "socket", "node"):
    same(("--per-" + place,), ("--per", place), *DRY, "-a")
same(("-A",), ("--per", "cpu"), *DRY, "-a")
same(("--no-aggr", "-a"), ("--per", "cpu", "-a"), *DRY)
same(("--per-thread",), ("--per", "thread"), *DRY, "-p", str(os.getpid()))
same(("--all-user",), ("--user",), *DRY, "--", "true")
same(("--all-kernel",), ("--kernel",), *DRY, "--", "true")
same(("-aA",), ("-a", "--per", "cpu"), *DRY)
same(("-B", "--no-big-num", "--scale"), (), *DRY, "--", "true")
same(("-S",), ("--pre", "sync"), *DRY, "--", "true")
same(("--interval-print", "100"), ("-I", "100"), *DRY, "--", "true")
same(("--field-separator=;", "--json-output"), ("-x", ";", "-j"), *DRY, "--", "true")
same(("--timeout", "50"), ("--for", "50ms"), *DRY, "--", "true")
same(("--timeout=50x",), ("--for", "50xms"), *DRY, "--", "true")
same(("--for-each-cgroup", "nowhere,there"), ("-G", "nowhere,there"), *DRY, "-a")
with open("counts", "w", encoding="utf-8") as f:
    f.write("5,,cycles,9,100.00,,\n7,,instructions,9,100.00,,\n")
IMPORT = ("--import", "counts", "--model", "skl", "--smt", "off", "-j")
same(("--topdown",), ("-l", "1"), *IMPORT)
same(("--td-level", "2"), ("-l", "2"), *IMPORT)
same(("-M", "TopdownL1"), ("-l", "1"), *IMPORT)
same(("-M", "TopdownL1,TopdownL2"), ("-l", "2"), *IMPORT)
same(("-M", "TopdownL2", "-M", "IPC"), ("-l", "2", "-M", "IPC"), *IMPORT)
same(("--nodes", "fetch_latency", "--metric-group", "IPC"), ("--node", "fetch_latency", "-M", "IPC"), *IMPORT)
same(("--metrics", "IPC", "--no-desc"), ("-M", "IPC"), *IMPORT)
same(("-M", "tma_fetch_latency"), ("-M", "fetch_latency"), *IMPORT)
same(("-M", "tma_info_thread_ipc"), ("-M", "IPC"), *IMPORT)
same(("-M", "PipelineL2"), ("-l", "2"), *IMPORT)
same(("--bottlenecks",), ("-M", "Bottlenecks"), *IMPORT)
same(("-M", "tma_bottleneck_big_code"), ("-M", "Big_Code"), *IMPORT)
same(("-M", "tma_info_bottleneck_big_code"), ("-M", "Bottleneck_Big_Code"), *IMPORT)
same(("--record-tpebs",), ("--latency", "auto"), *IMPORT)
listed = {g["name"]: g["members"] for g in json.loads(run("list", "groups", "--model", "skl", "-j").stdout)["groups"]}
nodes = {n["name"]: n for n in json.loads(run("list", "nodes", "--model", "skl", "-j").stdout)["nodes"]}
listed["tma_fetch_latency_group"] = [n for n, x in nodes.items() if x["parent"] == "Fetch_Latency"]
t.ok(len(listed) > 50 and len(listed["Bottlenecks"]) == 12 and "MemoryBW" in listed, "list groups has the model's groups", sorted(listed))
for group, members in sorted(listed.items()):
    if group not in ("MemoryBW", "tma_fetch_latency_group", "Summary", "FetchBW", "Bottlenecks"):
        continue  # TopdownL2 is -l 2
    p = run("stat", *IMPORT, "-M", group)
    tree = trees(json.loads(p.stdout))[0]
    got = {x.get("metric") or x["node"].split(".")[-1] for x in tree["metrics"] + tree["nodes"]}
    want = {x if not nodes.get(x) else nodes[x]["path"].split(".")[-1] for x in members}
    above = {part for x in members if x in nodes for part in nodes[x]["path"].split(".")[:-1]}
    t.equal(sorted(got - above | want & above), sorted(want), "-M %s: its %d metrics and nodes" % (group, len(members)))
p = run("stat", *IMPORT, "-M", "MemoryBV")
t.ok(p.returncode == 125 or p.returncode == 2, "no such group", p)
t.ok("no node, metric or group 'MemoryBV'" in p.stderr and "did you mean MemoryBW?" in p.stderr, "with the nearest name", p.stderr)
p = run("stat", "--import", "counts", "--model", "ivb", "--smt", "off", "--bottlenecks")
t.ok(p.returncode == 2 and "from Skylake on" in p.stderr, "bottlenecks of a CPU that has none: which have", p.stderr)
p = run("explain", "--model", "skl", "MemoryBW", "-j")
t.equal(json.loads(p.stdout)["groups"][0]["members"], listed["MemoryBW"], "explain of a group: its members")
p = run("explain", "--model", "skl", "big_code", "Bottlenecks")
t.ok("Bottleneck_Big_Code  metric of skl" in p.stdout and "Together they are" in p.stdout, "of a bottleneck and of all", p.stdout)
p = run("stat", "-n", "--", "true")
t.ok(p.returncode == 0 and "duration_time" in p.stderr and "page-faults" not in p.stderr, "-n: times alone", p.stderr)
for words, want in ((("-d",), "-e L1-dcache-loads"), (("-ddd",), "-e L1-dcache-loads"), (("--metric-only",), "-M METRIC"), (("-D", "-1", "-e", "task-clock"), "--control NAME"),
                    (("--per-cache",), "--per core"), (("-i",), "--no-inherit"), (("-T",), "list events tx"), (("--smi-cost",), "msr/smi/"),
                    (("--iostat",), "list groups"), (("--cputype", "core"), "cpu_core/cycles/"), (("--interval-clear",), "watch"),
                    (("--metric-no-group",), "--no-mux"), (("--hybrid-merge",), "kind of core"), (("-b", "3"), "bpftool"), (("--summary",), "-I"),
                    (("--percore-show-thread",), "--per core"), (("--run-sample",), "cyclade run"), (("--single-thread",), "-t TID"), (("--core", "C0"), "-C CPUS"),
                    (("--list-nodes",), "list nodes"), (("--long-desc",), "explain NODE"), (("--xlsx", "x"), "-x,"), (("--control", "fd:3", "-e", "task-clock"), "descriptor 3"),
                    (("record",), "--import FILE"), (("report",), "--import FILE"), (("--only-bottleneck",), "-M Bottlenecks"),
                    (("--interval-count", "3"), "--for TIME"), (("--no-scale",), "counted")):
    p = run("stat", *words, "--", "true")
    t.ok(p.returncode == 125 and want in p.stderr and "did you mean" not in p.stderr and len(p.stderr.splitlines()) <= 3, "%s: %s" % (" ".join(words), want), p.stderr)
p = run("record", "-D", "-1", "--", "true")
t.ok(p.returncode == 125 and "--control NAME" in p.stderr, "record -D -1", p.stderr)
p = run("stat", "--topdown=2", "--", "true")
t.ok(p.returncode == 125 and "takes no argument" in p.stderr, "an argument where there is none", p.stderr)
p = run("stat", "--timeout")
t.ok(p.returncode == 125 and "needs an argument" in p.stderr, "no argument where there is one", p.stderr)
t.done()
