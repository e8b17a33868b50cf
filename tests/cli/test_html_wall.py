#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --html: the time of threads on the CPU and off it, that the page filters, against what report --wall -g and --wait print:
by call chain and reason, by thread, by time; where there is too much of it for a page; where there is none."""
import collections
import json
import os
import random
import re
import resource
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from page import Page  # noqa: E402
from tap import SANITIZED, Tap, run  # noqa: E402
from waits_made import CLOCK, Made  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
EVIL = b"</script><b>|\x1b\n,\"\xff"
STATES = ("runnable", "blocked", "unknown")


def wall_of(path):
    p = run("report", "--html", "page.html", "--functions", "0", path)
    t.ok(p.returncode == 0 and re.fullmatch(r"cyclade: page\.html: .*\n", p.stderr), path + ": a page is written", p.stderr)
    page = Page("page.html")
    return page, page.data["wall"]


def report(*args):
    return json.loads(run("report", *args).stdout)


def mixed(path, seed, lost=False):
    """Threads that run, wait for one of several reasons, are preempted; samples of some."""
    r = random.Random(seed)
    m = Made([b"schedule", b"do_nanosleep", b"futex_wait", b"pipe_read", b"main_loop", EVIL, b"helper"])
    now = {tid: 1000 + tid for tid in range(7, 15)}
    for tid in now:
        m.comm(tid, tid, EVIL if tid == 9 else b"worker" if tid % 2 else b"boss")
    todo = []
    for tid in now:
        at = now[tid]
        for _ in range(60):
            ran, off = r.randrange(1000, 30000), r.randrange(1000, 200000)
            if tid != 10:
                todo += [(at + i * ran // 4, "sample", tid, r.choice([4, 5, 6])) for i in range(r.randrange(4))]
            todo += [(at + ran, "off", tid, [0, r.choice([1, 2, 3]), *r.choice([[4], [5, 4], [6, 5, 4], []])]), (at + ran + off, "on", tid, r.random() < 0.2)]
            at += ran + off
    for at, what, tid, x in sorted(todo, key=lambda x: x[:3]):
        if what == "sample":
            m.sample(CLOCK, at, tid, tid, at=x)
        elif what == "off":
            m.off(at, tid, tid, chain=x, preempted=at % 5 == 0)
        else:
            m.on(at, tid, tid)
    if lost:
        m.lost(at, 3, 8)
    m.write(path)


def paths_of(page, c):
    """By node: frames from the outermost on."""
    out = []
    for parent, frame in c["nodes"]:
        name, dso, kind = c["frames"][frame] if frame >= 0 else (None, None, None)
        out.append((out[parent] if parent >= 0 else ()) + ((page.text(kind), page.text(name), page.text(dso)),))
    return out


def tree_of(path):
    """The same of report --wall -g, and the seconds of each node itself."""
    kinds = {r["reason"]: r["state"] for r in report("--wait", "-j", path)["reasons"]}
    nodes = report("--wall", "-g", "-j", path)["tree"]
    paths, own = {0: (), 1: ()}, collections.Counter()
    for r in nodes[1:]:
        frame = ("thread", r["comm"] or "[no name]", None) if r["comm"] is not None else (kinds[r["reason"]], r["reason"], None) if r["reason"] else \
            (None, r["function"] or r["dso"] or "[unknown]", r["dso"])
        paths[r["id"]] = paths[r["parent"]] + (frame,)
        own[paths[r["id"]]] += r["seconds"]
        own[paths[r["parent"]]] -= r["seconds"]
    return own


def near(a, b, within):
    return set(a) <= set(b) and all(abs(a.get(k, 0) - v) <= within for k, v in b.items())


def whole(path):
    page, c = wall_of(path)
    paths = paths_of(page, c)
    have, by_thread, off = collections.Counter(), collections.Counter(), collections.Counter()
    for node, thread, cpu, bin_, samples, ns in c["cells"]:
        have[paths[node]] += ns / 1e9
        by_thread[c["threads"][thread][1]] += ns / 1e9
        if paths[node][-1][0] in STATES:
            off[paths[node][-1][1]] += ns
            if samples or cpu != -1:
                t.ok(False, path + ": time off the CPU has no samples and no CPU", (node, thread, cpu))
    cells = len(c["cells"])
    # running time is shared out: each cell is off by half a ns at most
    t.ok(near({k: v for k, v in have.items() if v}, {k: v for k, v in tree_of(path).items() if k}, 1e-9 * (1 + cells / 2)), path + ": each chain has the time that --wall -g has")
    wait = report("--wait", "-j", path)
    t.ok(near(by_thread, {r["tid"]: r["seconds"] for r in wait["threads"]}, 1e-9 * (1 + cells / 2)), path + ": each thread has its life", by_thread)
    t.equal(off, {r["reason"]: round(r["seconds"] * 1e9) for r in wait["reasons"] if r["state"] != "running"}, path + ": each reason has its time, to the ns")
    t.ok(all([x[0] == "thread" for x in p] == [True] + [False] * (len(p) - 1) and all(x[0] is None for x in p[1:-1]) for p in paths), path + ": thread, functions, reason")
    t.equal((sum(x[4] for x in c["cells"]), sum(x[5] for x in c["cells"]), c["folded"]), (c["samples"], c["period"], 0), path + ": the sums are those of the cells")
    keys = [tuple(x[:4]) for x in c["cells"]]
    t.ok(keys == sorted(set(keys)) and all(0 <= b < c["bins"] <= 500 for _, _, _, b in keys), path + ": cells are in order")
    return page, c, paths


for seed, lost in ((1, False), (2, False), (3, True)):
    name = "mixed%d.data" % seed
    mixed(name, seed, lost)
    page, c, paths = whole(name)
    # a part of the time: what is off the CPU then, as --wait counts it
    begin, width = c["from"], c["width"]
    for a, b in ((0, c["bins"] // 3), (c["bins"] // 3, c["bins"] * 3 // 4)):
        have = collections.Counter()
        for node, _, _, bin_, _, ns in c["cells"]:
            if a <= bin_ < b and paths[node][-1][0] in STATES:
                have[paths[node][-1][1]] += ns
        part = report("--wait", "-j", "--time", "%.9f,%.9f" % ((begin + a * width) / 1e9, (begin + b * width) / 1e9), name)
        want = {r["reason"]: round(r["seconds"] * 1e9) for r in part["reasons"] if r["state"] != "running"}
        t.ok(want and all(abs(have[k] - want.get(k, 0)) <= 2 for k in {*have, *want}), "%s: bins %d to %d" % (name, a, b), (have, want))
t.ok(any(EVIL.decode("utf-8", "replace") in s for s in page.data["strings"]) and b"</script><b>" not in page.json.encode(), "names from outside are data")

# ---- more than a page can have: fewer bins, rare chains as one
m = Made([b"schedule", b"do_nanosleep"])
for tid in range(600):
    m.off(1000 + tid, 100 + tid, chain=[0, 1])
for tid in range(600):
    m.on(10**8 + tid, 100 + tid)
m.write("long.data")
page, c, _ = whole("long.data")
t.ok(c["bins"] < 300 and len(c["cells"]) <= 160000, "very many cells: fewer bins", (c["bins"], len(c["cells"])))
m = Made([b"f%d" % i for i in range(120)] + [b"do_nanosleep"])
for tid in range(100):
    m.comm(tid, 100 + tid, b"t%d" % tid)
for i in range(120):
    for tid in range(100):
        at = 1000 + (i * 100 + tid) * 1000
        m.off(at, 100 + tid, tid % 8, chain=[120, i])
        m.on(at + 900 * (20 if tid == 5 else 1), 100 + tid, tid % 8)
m.write("rare.data")
page, c = wall_of("rare.data")
lives = sum(r["seconds"] for r in report("--wait", "-j", "rare.data")["threads"])
t.ok(c["folded"] > 0 and len(c["nodes"]) <= 40000 and len(c["cells"]) <= 160000 and abs(sum(x[5] for x in c["cells"]) / 1e9 - lives) < 1e-9 * len(c["cells"]),
     "very many chains: rare ones are one, all time is there", (c["folded"], len(c["nodes"]), len(c["cells"])))
rests = sum(x[5] for x in c["cells"] if c["nodes"][x[0]][1] < 0)
t.equal(rests, c["folded"], "their time is told")
t.equal(sorted({n[1] for n in c["nodes"]} - {-1}), list(range(len(c["frames"]))), "functions of folded chains are not in the page")

# ---- a page has 12 MB at most: large tables have their first rows, and notes
m = Made([b"schedule"])
for tid in range(40000):
    m.fork(1000 + tid, 7, 100 + tid)
    m.on(100000 + tid, 100 + tid, tid % 8)
    m.off(200000 + tid, 100 + tid, tid % 8)
    m.wake(300000 + tid, 100 + tid, 7)
    m.on(400000 + tid, 100 + tid, tid % 8)
m.write("large.data")
p = run("report", "--html", "large.html", "large.data")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
size, waits = os.path.getsize("large.html"), next(d for d in Page("large.html").data["documents"] if d["view"] == "wait")
text = Page("large.html").data["strings"]
cut = {m[1]: (int(m[2].replace(",", "")), int(m[3].replace(",", ""))) for n in waits["notes"]
       for m in [re.match(r"table (\w+): the first ([\d,]+) of ([\d,]+) rows", text[n])] if m}
want = report("--wait", "-j", "large.data")
t.ok(p.returncode == 0 and size <= 12e6, "a large page ends at 12 MB", (p.stderr, size))
if SANITIZED:
    t.skip("the memory that it takes", "sanitizers keep what is freed")
else:
    t.ok(peak < 50 * os.path.getsize("large.data"), "it takes memory by the recording, not by threads and bins", (peak, os.path.getsize("large.data")))
t.ok(cut, "... and says so", [text[n] for n in waits["notes"]])
for x in waits["tables"]:
    t.equal(cut.get(x["name"], (len(x["rows"]), len(x["rows"]))), (len(x["rows"]), len(want[x["name"]]) if isinstance(want.get(x["name"]), list) else 1), "rows of %s, and how many there are" % x["name"])

# ---- times over all of 64 bits
m = Made([b"work"])
m.on(1000, 7)
m.sample(CLOCK, 2000, 7)
m.off(2**63, 7, chain=[0])
m.sample(CLOCK, 2**64 - 1, 8)
m.write("wide.data")
line = wall_of("wide.data")[0].data["timeline"]
track = next(x for x in line["tracks"] if x[1] == 7)
spans = line["spans"][:track[8]] if line["tracks"][0][1] == 7 else line["spans"][line["tracks"][0][8]:]
t.ok(line["bins"] == 4000 and [len(spans), spans[0][:2]] == [2, [0, 2000]] and sum(n for _, n, _ in spans) == 4000, "times of all of 64 bits: spans reach their ends", (track, spans))

# ---- a part of the threads; none at all; a selection of CPUs
p = run("report", "--html", "page.html", "--functions", "0", "--only-tid", "8", "mixed1.data")
t.equal([x[1] for x in Page("page.html").data["wall"]["threads"]], [8], "a thread of the selection alone")
run("report", "--html", "page.html", "--functions", "0", "--cpu", "8", "mixed1.data")
t.equal(Page("page.html").data["wall"], None, "time off the CPU is on no CPU: there is none of it with --cpu")
m = Made([b"work"])
m.sample(CLOCK, 1000, 7)
m.write("none.data")
page, c = wall_of("none.data")
t.ok(c is None and re.search("context switches", " ".join(page.text(why) for view, why in page.data["absent"] if view == "wall")), "no switches: none, and why", page.data["absent"])
t.done()
