#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --wait: exact sums of recordings that were put together, with losses, contradictions and ends cut off; programs whose
waits are known, recorded here; perf sched timehist of the same file."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402
from waits_made import CLOCK, Made, gen  # noqa: E402
from waits_run import ready  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-wait-")
os.chdir(tmp)
ODD = b"=x|\x1b[31m\n\",<b>`*\xff"


def doc_of(*args):
    p = run("report", "--wait", "-j", *args)
    try:
        return json.loads(p.stdout)
    except ValueError:
        t.ok(False, "json of " + " ".join(args), p.stdout[:300] + p.stderr)
        return {"threads": [], "thread_reasons": [], "reasons": [], "functions": [], "wakers": [], "stacks": [], "histogram": []}


def parts(doc, tid):
    """What a thread did: reason -> ns."""
    return {r["reason"]: round(r["seconds"] * 1e9) for r in doc["thread_reasons"] if r["tid"] == tid}


def closes(doc, name, within=1e-9):
    """The states of each thread add up to its life."""
    bad = [r for r in doc["threads"] if abs(sum(r[s + "_seconds"] for s in ("running", "runnable", "blocked", "unknown")) - r["seconds"])
           > within]
    t.ok(doc["threads"] and not bad, name + ": the sums close", bad)


# ---- known one by one
def plain(order="<", wide=False, **kw):
    m = Made([b"schedule", b"do_nanosleep", b"futex_wait", b"handle_mm_fault", b"io_schedule", b"main_loop", b"asm_sysvec_timer", ODD],
             order, wide, **kw)
    m.comm(1000, 7, b"boss")
    m.fork(2000, 7, 8)
    m.on(2500, 8, cpu=1)                                # begin 500
    m.off(4000, 7, chain=[0, 1, 5])                     # ran 3000
    m.off(6000, 8, cpu=1, chain=[0, 2, 7])              # ran 3500
    m.wake(9000, 7, by=0, chain=[6])                    # slept 5000
    m.on(9300, 7)                                       # wake-up 300
    m.wake(10000, 8, by=7, chain=[7])                   # lock 4000
    m.on(10100, 8, cpu=2)                               # wake-up 100, moved
    m.off(11000, 8, cpu=2, chain=[0, 5], preempted=True)  # ran 900
    m.on(13000, 8, cpu=2)                               # preempted 2000
    m.off(13500, 8, cpu=2, chain=[0, 4, 3, 5])          # ran 500
    m.on(17500, 8, cpu=2)                               # page fault 4000
    m.exit(18000, 8)                                    # ran 500
    m.off(20000, 7, chain=[0, 4])                       # ran 10700; input until the end
    m.sample(0, 21000, 9, 3)                            # 9: ran all the time
    return m


WANT = {7: {"running": 13700, "sleep": 5000, "wake-up": 300, "I/O": 1000},
        8: {"begin": 500, "running": 5400, "lock": 4000, "wake-up": 100, "preempted": 2000, "page fault": 4000},
        9: {"running": 20000}}
for order, wide in (("<", False), (">", True)):
    name = "little-endian" if order == "<" else "big-endian, whole CPUs"
    d = doc_of(plain(order, wide).write("plain.data"))
    t.equal({x: parts(d, x) for x in WANT}, WANT, name + ": each thread's time")
    closes(d, name)
    t.equal({r["tid"]: (r["switches"], r["preempted"], r["moved"], r["reason"]) for r in d["threads"]},
            {7: (2, 0, 0, "sleep"), 8: (3, 1, 1, "lock"), 9: (0, 0, 0, None)}, name + ": switches")
    t.equal([(r["tid"], r["waker"], r["waker_tid"], r["reason"], round(r["seconds"] * 1e9), r["waits"]) for r in d["wakers"]],
            [(7, "[interrupt]", None, "sleep", 5000, 1), (8, "boss", 7, "lock", 4000, 1)], name + ": wakers")
    t.equal(d["wakers"][1]["function"], ODD.decode("utf-8", "replace"), name + ": where the waker was")
    t.ok(any(s["stack"] == "main_loop;do_nanosleep;schedule" and s["reason"] == "sleep" for s in d["stacks"]), name + ": a stack",
         d["stacks"])
    t.equal((d["wakings"], d["chains"], d["unwoken"], d["contradicted"]), (True, True, 2, 0), name + ": what is known")
tables.walk(t, "report", "--wait", "-i", "plain.data")
p = run("report", "--wait", "--format", "folded", "plain.data")
t.ok("main_loop;do_nanosleep;schedule;[sleep] 5000" in p.stdout.splitlines() and "[begin] 500" in p.stdout.splitlines() and
     all(re.fullmatch(r"[\x20-\x7e]+ \d+", x) for x in p.stdout.splitlines()), "folded chains", p.stdout)
d = doc_of("plain.data", "--only-tid", "8")
t.equal([r["tid"] for r in d["threads"]], [8], "one thread")
t.equal(round(sum(r["seconds"] for r in d["reasons"]) * 1e9), 16000, "its reasons add up to its life")
d = doc_of("plain.data", "--time", "0.000005,0.000012")
t.equal((parts(d, 7), parts(d, 8)), ({"sleep": 4000, "wake-up": 300, "running": 2700},
                                     {"running": 1900, "lock": 4000, "wake-up": 100, "preempted": 1000}), "a part of the time")
closes(d, "a part of the time")
d = doc_of(plain(cs=False).write("bare.data"))
t.equal(parts(d, 8), {"begin": 500, "running": 5400, "no stack": 8000, "wake-up": 100, "preempted": 2000}, "without chains: no reasons")

# ---- the same, told by sched_switch alone
m = Made([b"schedule", b"pipe_read"], wide=True)
m.traced(1000, 7, 1, 8, chain=[0, 1])
m.traced(3000, 8, 0, 7)
m.traced(3500, 7, 0x100, 8)
m.traced(4000, 8, 2, 7)
d = doc_of(m.write("traced.data"))
t.equal((parts(d, 7), parts(d, 8)), ({"pipe": 2000, "running": 500, "preempted": 500}, {"running": 2500, "preempted": 500}),
        "sched_switch alone")
for functions, reason in (([b"schedule", b"locks_lock_inode_wait", b"__do_sys_flock"], "file lock"), ([b"schedule", b"fcntl_setlk"], "file lock"),
                          ([b"wait_woken", b"inotify_read", b"vfs_read"], "file events"), ([b"schedule", b"futex_do_wait"], "lock")):
    named = Made(functions, wide=True)
    named.traced(1000, 7, 1, 8, chain=list(range(len(functions))))
    named.traced(3000, 8, 0, 7)
    named.traced(3500, 7, 0x100, 8)
    t.equal(parts(doc_of(named.write("named.data")), 7).get(reason), 2000, "%s: %s" % (functions[1].decode(), reason))

# of a program's threads alone (attr.inherit) it tells nothing of idle CPUs
of_cpus = json.loads(run("report", "--concurrency", "-j", "traced.data").stdout)
for _, attr, _ in m.events:
    attr["inherit"] = 1
m.write("threads.data")
of_threads = json.loads(run("report", "--concurrency", "-j", "threads.data").stdout)
t.ok(all(r["idle_share"] is not None for r in of_cpus["cpus"]) and all(r["idle_share"] is None and r["halted_share"] is None for r in of_threads["cpus"]),
     "sched_switch of a program alone: no idle time of CPUs", (of_cpus["cpus"][:2], of_threads["cpus"][:2]))

# ---- who wakes from within an interrupt is not the thread that it interrupted
m = Made([b"schedule", b"futex_wait", b"work"])
m.comm(1000, 7, b"a")
for i, flags in enumerate((0, 8, 16, 1)):  # IRQs off alone is no interrupt
    m.off(2000 + i * 100, 7, chain=[0, 1])
    m.wake(2050 + i * 100, 7, by=8, cpu=1, chain=[2], flags=flags)
    m.on(2060 + i * 100, 7)
d = doc_of(m.write("flags.data"))
t.equal(sorted((r["waker"] == "[interrupt]", r["function"], r["waits"]) for r in d["wakers"]), [(False, "work", 2), (True, None, 2)],
        "wakings from interrupts, by the tracepoint's flags")

# ---- the quota of a cgroup: the work that throttles (Linux 6.18) returns, and then the thread yields
m = Made([b"schedule", b"__cond_resched", b"task_work_run", b"task_numa_work", b"main"])
m.comm(1000, 7, b"a")
for at, chain in ((2000, [1, 2, 4]), (4000, [1, 3, 2, 4]), (6000, [0, 4])):
    m.off(at, 7, chain=chain, preempted=True)
    m.on(at + 1000, 7)
t.equal(parts(doc_of(m.write("quota.data")), 7), {"running": 3000, "throttled": 1000, "preempted": 2000}, "throttled by a quota, or preempted elsewhere")

# ---- older kernels: the stack does not tell, but the CPU became idle though the thread could run
for tasks in ("whole CPUs", "switches traced", "another PID namespace", "threads"):
    m = Made([b"schedule", b"main"], wide=tasks in ("whole CPUs", "another PID namespace"))
    m.comm(1000, 7, b"a")
    if tasks == "another PID namespace":
        m.sample(CLOCK, 1100, 0, user=True)
    for at, idle in ((2000, True), (4000, False), (6000, True)):
        if tasks == "switches traced":
            m.traced(at, 7, 0, 0 if idle else 5)
            m.traced(at + 1000, 5, 1, 7)
        else:
            m.off(at, 7, chain=[0, 1], preempted=not idle, idle=idle)
            m.on(at + 1000, 7)
    told = {"throttled": 2000, "preempted": 1000} if tasks in ("whole CPUs", "switches traced") else {"preempted": 3000}
    t.equal({k: v for k, v in parts(doc_of(m.write("idle.data")), 7).items() if k != "running"}, told, "a CPU that becomes idle while a thread could run: " + tasks)

# ---- threads of a cgroup
m = Made([b"schedule", b"futex_wait", b"work"], cgroups={7: "/a/one", 8: "/a/two", 9: "/b"})
for tid in (7, 8, 9):
    m.sample(0, 900 + tid, tid, tid)
    m.off(1000 * tid, tid, tid, chain=[0, 1])
    m.on(1000 * tid + 100 * tid, tid, tid)
m.switch(15000, 10, 10, 0)
m.sample(0, 16000, 7, 7, at=2)
m.write("cgroups.data")
for said, tids in (("/a/*", [7, 8]), ("/b", [9]), ("/a/two", [8]), ("*", [7, 8, 9, 10]), ("cgroup 100", [])):
    for how in ("--wait", "--wall -g", "--critical"):
        p = run("report", *how.split(), "-j", "--cgroup", said, "cgroups.data")
        if how == "--critical":
            t.ok(json.loads(p.stdout)["tid"] in tids if tids else p.returncode == 2, "cgroup %s: %s" % (said, how), p.stdout[:300] + p.stderr)
        elif how == "--wait":
            t.equal(sorted(r["tid"] for r in json.loads(p.stdout)["threads"]), tids, "cgroup %s: %s" % (said, how))
        elif tids:
            off = sum(r["off_seconds"] for r in json.loads(p.stdout)["tree"] if r["reason"] == "lock")
            t.equal(round(off * 1e9), sum(100 * x for x in tids if x < 10), "cgroup %s: %s" % (said, how))

# ---- losses
m = Made([b"schedule", b"do_nanosleep"])
m.comm(1000, 7, b"a")
m.off(2000, 7, chain=[0, 1])
m.lost(6000, 3)           # what CPU 0 had between 2000 and 6000 is not known
m.on(9000, 7)
m.off(10000, 7, chain=[0, 1])
m.sample(0, 12000, 9, 1)
m.off(13000, 7)           # twice: something is missing, and no loss explains it
m.on(14000, 7)
d = doc_of(m.write("lost.data"))
t.equal(parts(d, 7), {"running": 2000, "sleep": 3000, "no stack": 1000, "unknown": 7000}, "lost records, and a contradiction")
closes(d, "lost records")
t.equal((d["contradicted"], d["gaps"], d["losses"]["lost"]), (1, 1, 3), "both are told")
p = run("report", "--wait", "lost.data")
t.ok(re.search(r"lost records\s+1 gap", p.stdout) and "contradicted" in p.stdout, "people see both", p.stdout[-600:])
p = run("report", "--wait", "lost.data", "--format", "csv")
t.ok("lost" in p.stderr and "contradict" in p.stderr, "with csv on standard error", p.stderr)

m = Made([b"schedule", b"do_nanosleep"])
m.comm(1000, 7, b"a")
m.off(2000, 7, chain=[0, 1])
m.on(4000, 7)
m.sample(0, 9000, 8, 0)
m.sample(0, 9500, 8, 0)
d = doc_of(m.write("cut.data", cut=8))
t.equal(parts(d, 7), {"running": 1000, "sleep": 2000, "unknown": 5000}, "cut short: what comes last is unknown")
closes(d, "cut short")

m = Made([b"schedule", b"do_nanosleep"])
m.comm(1000, 7, b"a")
m.off(2000, 7, chain=[0, 1])
m.on(4000, 7)
m.off(2**64 - 1, 7)       # damaged; the CPU has records behind it
m.on(6000, 7)
m.sample(0, 9000, 7, 0)
d = doc_of(m.write("far.data"))
t.equal(parts(d, 7).get("sleep"), 2000, "a damaged time: waits before it are there")
closes(d, "a damaged time", 1e3)
p = run("report", "--html=far.html", "far.data")
t.ok(p.returncode == 0 and os.path.getsize("far.html"), "a damaged time: a page with bins of them", p.stderr)

# ---- several at a time
def two(path, wide=False):
    m = Made([b"long_one", ODD], wide=wide)
    m.comm(1000, 7, b"boss")
    m.on(1000, 7)
    m.fork(1000, 7, 8)
    m.sample(0, 1500, 7)
    m.on(2000, 8, cpu=1)
    for at in (3000, 5000):
        m.sample(0, at, 7)
        m.sample(0, at + 500, 8, 1, at=1)
    m.off(6000, 8, cpu=1)
    m.sample(0, 7000, 7)
    m.sample(0, 8000, 0, 1)  # the idle task
    m.off(9000, 7)
    return m.write(path)


two("two.data")
d = json.loads(run("report", "--wall", "-j", "two.data").stdout)
t.equal([(r["function"], r["samples"], r["wall_share"], round(r["share"], 9), r["alone_share"], round(r["threads"], 9)) for r in d["functions"]],
        [("long_one", 4, 0.75, round(2 / 3, 9), 0.5, round(4 / 3, 9)), (ODD.decode("utf-8", "replace"), 2, 0.25, round(1 / 3, 9), 0, 2)],
        "wall: a sample counts one part in as many threads as run")
t.equal((d["samples"], d["mean_running"]), (6, 1.5), "wall: samples without the idle task's; threads in the mean")
d = json.loads(run("report", "--concurrency", "-j", "two.data").stdout)
t.equal([(r["running"], r["share"], round(r["wanting_seconds"] * 1e9)) for r in d["levels"]], [(1, 0.5, 1000), (2, 0.5, 0)], "concurrency: levels")
t.equal([(r["cpu"], r["busy_share"], r["wanted_share"], r["switches"]) for r in d["cpus"]], [(0, 1, None, 1), (1, 0.5, None, 1)],
        "concurrency: CPUs; what else they did is not known")
d = json.loads(run("report", "--concurrency", "-j", two("wide.data", wide=True)).stdout)
t.equal([(r["cpu"], r["busy_share"], r["idle_share"], r["wanted_share"]) for r in d["cpus"]], [(0, 1, 0, 0), (1, 0.5, 0.5, 0.125), (2, 0, 1, 0.125)],
        "concurrency: of whole CPUs, idle ones that were wanted; the header names a third")
m = Made([b"work"], wide=True)
m.sample(0, 1000, 9, 0)
m.off(3000, 7, 1)
m.on(4000, 7, 2)
m.off(5000, 7, 2)
m.off(5000, 9, 0)
d = json.loads(run("report", "--concurrency", "-j", m.write("there.data")).stdout)
t.equal([(r["cpu"], r["busy_share"], r["switches"], r["arrivals"]) for r in d["cpus"]], [(0, 1, 0, 0), (1, 0.5, 0, 0), (2, 0.25, 1, 1)],
        "concurrency: threads that ran when the recording began had their CPUs")
d = json.loads(run("report", "--concurrency", "-j", "two.data").stdout)
t.equal([r["function"] for r in d["functions"]], ["long_one", ODD.decode("utf-8", "replace")], "concurrency: who ran alone comes first")
tables.walk(t, "report", "--wall", "-i", "two.data")
tables.walk(t, "report", "--concurrency", "-i", "two.data")
d = json.loads(run("report", "--wall", "-j", "two.data", "--only-tid", "8").stdout)
t.equal([(r["samples"], r["threads"]) for r in d["functions"]], [(2, 2)], "wall: the others of a selected thread count as running")

# ---- all time as one tree: on the CPU by samples, off it by reason
p = run("report", "--wall", "--format", "folded", "plain.data")
lives = {7: 20000, 8: 16000, 9: 20000}
lines = dict((x.rsplit(" ", 1)[0], int(x.rsplit(" ", 1)[1])) for x in p.stdout.splitlines())
t.equal(sum(lines.values()), sum(lives.values()), "wall, folded: all time is there, once")
t.equal({k: v for k, v in lines.items() if k.startswith("boss;main_loop;do_nano")},
        {"boss;main_loop;do_nanosleep;schedule;[sleep]": 5000, "boss;main_loop;do_nanosleep;schedule;[wake-up]": 300},
        "wall, folded: time off the CPU has its reason")
t.equal(sum(v for k, v in lines.items() if not k.endswith("]")), 13700 + 5400 + 20000, "wall, folded: the rest is on the CPU")
d = json.loads(run("report", "--wall", "-g", "-j", "two.data").stdout)
node = {r["id"]: r for r in d["tree"]}
t.equal([(r["function"], round(r["on_seconds"] * 1e9)) for r in d["tree"] if r["function"]], [("long_one", 8000), (ODD.decode("utf-8", "replace"), 4000)],
        "wall -g: running time is shared out among the samples of a thread")
t.ok(all(abs(r["seconds"] - r["on_seconds"] - r["off_seconds"]) < 1e-12 for r in node.values()) and node[1]["parent"] == 0, "wall -g: on and off are all", d["tree"])
below = collections.Counter()
for r in d["tree"]:
    below[r["parent"]] += r["seconds"]
t.ok(all(below[i] <= r["seconds"] + 1e-12 for i, r in node.items()), "wall -g: what is below is part of it", d["tree"])
t.ok("shown_tree" not in d and "[sleep]" in run("report", "--wall", "-g", "plain.data").stdout, "wall -g: people see the tree")
for name in ("plain.data", "two.data"):
    svg = run("report", "--wall", "--format", "svg", name).stdout
    root = xml.etree.ElementTree.fromstring(svg)
    titles = [x.text for x in root.iter("{http://www.w3.org/2000/svg}title")]
    wide = collections.Counter()
    for g in root.iter("{http://www.w3.org/2000/svg}g"):
        for r in g.iter("{http://www.w3.org/2000/svg}rect"):
            wide[g[0].text.split(":")[0], r.get("class")] += float(r.get("width"))
    t.ok(titles[0].startswith("all: 100.00 %") and abs(wide["all", "on"] + wide["all", "off"] - 1200) < 0.1, "wall, svg: " + name, titles[:5])
    fits = [(x.text, float(x.get("x"))) for x in root.iter("{http://www.w3.org/2000/svg}text")][1:]
    t.ok(fits and all(len(text) <= 1200 / 6 for text, _ in fits) and any(text == titles[0][:3] for text, _ in fits), "wall, svg: labels, " + name, fits)
    if name == "plain.data":
        t.ok(abs(wide["all", "on"] - 1200 * 39100 / 56000) < 0.1 and any(x.startswith("[sleep]: ") for x in titles), "wall, svg: widths are times", wide)
    else:
        t.ok(any("\\x1b" in x and "<b>" in x for x in titles), "wall, svg: odd names are text", titles)
tables.walk(t, "report", "--wall", "-g", "-i", "two.data")
p = run("report", "--wall", "-g", "--cpu", "0", "two.data")
t.ok(p.returncode == 2 and "whole threads" in p.stderr, "wall -g: --cpu is refused", p.stderr)

# ---- rows for SQL: the same, one by one
def ask(query, path):
    p = run("sql", "--format", "json", "-i", path, query)
    t.ok(p.returncode == 0, "sql: " + query[:40], p.stderr)
    return [tuple(r.values()) for r in json.loads(p.stdout)["rows"]] if p.returncode == 0 else []


if "SQLite" in run("sql", "-i", "plain.data", "SELECT 1").stderr:
    t.skip("sql", "built without SQLite")
else:
    for name in ("plain.data", "lost.data", "cut.data"):
        d = doc_of(name)
        t.equal({tuple(r[:2]): r[2] for r in ask("SELECT tid, reason, sum(ns) FROM waits GROUP BY 1, 2", name)},
                {(r["tid"], r["reason"]): round(r["seconds"] * 1e9) for r in d["thread_reasons"]}, "sql: waits of " + name)
        t.equal(ask("SELECT count(*) FROM waits a JOIN waits b ON a.tid = b.tid AND a.wait < b.wait AND a.ended > b.started", name), [(0,)],
                "sql: those of a thread do not overlap, " + name)
        t.equal(sorted(ask("SELECT tid, waker, waker_tid, reason, count(*), sum(ns) FROM wakes GROUP BY 1, 2, 3, 4", name)),
                sorted((r["tid"], r["waker"], r["waker_tid"], r["reason"], r["waits"], round(r["seconds"] * 1e9)) for r in d["wakers"]), "sql: wakes of " + name)
    t.equal(ask("SELECT time, tid, leaves, preempted, other_tid FROM switches WHERE tid = 8", "plain.data"),
            [(2500, 8, False, None, 0), (6000, 8, True, False, 0), (10100, 8, False, None, 0), (11000, 8, True, True, 5), (13000, 8, False, None, 0),
             (13500, 8, True, False, 0), (17500, 8, False, None, 0)], "sql: switches")
    t.equal(ask("SELECT w.delay_ns, w.function, a.stack FROM wakes w JOIN waits a USING (run, wait) WHERE w.tid = 7", "plain.data"),
            [(300, None, "main_loop;do_nanosleep;schedule")], "sql: a waking and its wait")

# ---- refusals
p = run("report", "--wait", "--cpu", "0", "plain.data")
t.ok(p.returncode == 2 and "--wait" in p.stderr, "--cpu is refused", p.stderr)
m = Made([])
m.sample(0, 1000, 7)
p = run("report", "--wait", m.write("none.data"))
t.ok(p.returncode == 2 and "context switches" in p.stderr and "record --wait" in p.stderr, "nothing to read: says what to record", p.stderr)

# ---- programs
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int fd[2];
__attribute__((noinline)) static void spin(double s)
{
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9 < s);
}
/* what this thread has run so far, with all that came before */
static void spin_and_tell(void)
{
	struct timespec a;
	spin(0.1);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	dprintf(1, "ran %d %.6f\n", (int)getpid(), (double)a.tv_sec + (double)a.tv_nsec * 1e-9);
}
__attribute__((noinline)) static void alone(long n) { for (volatile long i = 0; i < n; i++) ; }
__attribute__((noinline)) static void *together(void *p) { for (volatile long i = 0; i < 100000000; i++) ; return p; }
static void *consumer(void *p) { char c; while (read(fd[0], &c, 1) == 1) spin(1e-4); return p; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
static double waited;
static void *convoy(void *p)
{
	for (int i = 0; i < 5; i++) {
		double t = now();
		pthread_mutex_lock(&lock);
		waited += now() - t;
		usleep(10000);
		pthread_mutex_unlock(&lock);
	}
	return p;
}
static void *party(void *p) { if (p) usleep(200000); pthread_barrier_wait(&barrier); return p; }
int main(int n, char **v)
{
	pthread_t t[4];
	const char *how = v[n > 1];
	char c = 0;
	if (!strcmp(how, "sleep")) {
		usleep(200000); spin_and_tell(); usleep(100000);
	} else if (!strcmp(how, "pipe") || !strcmp(how, "socket")) {
		if (*how == 'p' ? pipe(fd) : socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) return 1;
		pthread_create(t, NULL, consumer, NULL);
		for (int i = 0; i < 20; i++) { usleep(10000); if (write(fd[1], &c, 1) != 1) return 1; }
		if (*how == 'p') close(fd[1]); else shutdown(fd[1], SHUT_WR);
		pthread_join(*t, NULL);
	} else if (!strcmp(how, "convoy")) {
		for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, convoy, NULL);
		for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
		FILE *f = fopen("convoy.truth", "w");
		if (!f || fprintf(f, "%.9f", waited) < 0 || fclose(f)) return 1;
	} else if (!strcmp(how, "barrier")) {
		pthread_barrier_init(&barrier, NULL, 4);
		for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, party, i == 3 ? &c : NULL);
		for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
	} else if (!strcmp(how, "busy")) {
		for (int i = 0; i < 3; i++) if (!fork()) { spin_and_tell(); _exit(0); }
		while (wait(NULL) > 0) ;
	} else if (!strcmp(how, "spin")) {
		spin(30);
	} else if (!strcmp(how, "both")) {
		alone(100000000);
		for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, together, NULL);
		for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
	} else if (!strcmp(how, "poll")) {
		poll(NULL, 0, 150);
	} else if (!strcmp(how, "io")) {
		int f = open(getenv("IO_FILE"), O_CREAT | O_RDWR | O_TRUNC, 0600);
		for (int i = 0; i < 20; i++) if (write(f, &c, 1) != 1 || fsync(f)) return 1;
	}
	return 0;
}
"""


def sum_of(doc, reason, tid=None):
    return sum(r["seconds"] for r in doc["thread_reasons"] if r["reason"] == reason and tid in (None, r["tid"]))


def computed(r, told):
    """0.1 s, and at most what the thread itself says (told: "ran PID SECONDS", with its start), by the kernel's clock, which counts part of
    each switch for the thread; and its end."""
    ran = dict(re.findall(r"^ran (\d+) ([\d.]+)$", told, re.M)).get(str(r["tid"]))
    return ran is not None and 0.099 - 1e-4 * r["switches"] <= r["running_seconds"] <= 1.01 * float(ran) + 0.02 + 3e-5 * r["switches"]


def record(how, *words):
    p = run("record", "--wait", *words, "-o", how + ".data", "--", "./prog", how)
    if not t.ok(p.returncode == 0, how + ": is recorded", p.stderr):
        return None
    d = doc_of(how + ".data")
    closes(d, how)
    lives = sum(r["seconds"] for r in d["threads"])
    t.ok(abs(sum(r["seconds"] for r in d["reasons"]) - lives) < 1e-6 and sum_of(d, "unknown") < lives / 100, how + ": all time has a reason",
         (lives, d["reasons"]))
    d["told"] = p.stdout
    return d


def lost_callers():
    """Of every third wait, or of none, the stack ends in user space where nothing is mapped."""
    for name, every in (("astray", 3), ("whole", 0)):
        m = Made([b"schedule", b"futex_wait", b"work"])
        for i in range(1, 91):
            m.off(i * 1000, 7, chain=[0, 1, *([2 ** 64 - 512, 0x90000000000] if every and i % every == 0 else [2])])
            m.on(i * 1000 + 600, 7)
        m.write(name)
        for words in (("--wait",), ("--wall", "-g")):
            text = run("report", *words, name).stdout
            share = re.search(r"callers lost +stacks of ([0-9.]+) %", text)
            # a third of the waits; --wall has the time between waits, too
            t.ok(share and abs(float(share[1]) - (33.3 if words[0] == "--wait" else 20)) < 1 if every else not share,
                 "%s: %s" % (words[0], "stacks that begin in no mapping" if every else "stacks that begin in code"), text[-800:])


lost_callers()


def gates():
    """glibc 2.41 makes its system calls in functions of its own: where a thread waits is who called them, or, where frame pointers lose
    that one, the kernel's function of the call."""
    names = ("__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel", "read", "serve", "direct")
    if not shutil.which("gcc") or subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id=0x" + bytes(range(20)).hex(), "-o", "gates.so", "-x", "c", "-"], text=True, capture_output=True,
                                                 input="".join("void %s(void) { }\n" % x for x in names)).returncode:
        t.skip("gates of glibc", "no compiler")
        return
    at = {name: int(value, 16) for value, name in re.findall(r"^([0-9a-f]+) [tT] (\w+)$", subprocess.run(["nm", "gates.so"], capture_output=True, text=True).stdout, re.M)}
    code, where, build_id = min(at.values()) & ~4095, 0x7f0000000000, bytes(range(20))
    arch, internal, outer, read, serve, direct = (where + at[name] + 1 for name in names)
    for what, kernel, user, want in (
            ("all frames", [0, 1, 2, 3], [arch, internal, outer, read, serve], "read"),
            ("the inner gate alone", [0, 1, 2, 3], [arch, internal, read, serve], "read"),
            ("by frame pointers", [0, 1, 2, 3], [arch, serve], "ksys_read"),
            ("nothing behind it", [0, 1, 2, 3], [arch], "ksys_read"),
            ("without the kernel", [], [arch, serve], "__syscall_cancel_arch"),
            ("without the kernel, all frames", [], [arch, internal, outer, read, serve], "read"),
            ("no gate", [0, 1, 2, 3], [direct, outer, serve], "direct"),
            ("in the kernel alone", [0, 1, 2, 3], [], "pipe_read")):
        chain = [*kernel, *[2 ** 64 - 512] * bool(user), *user]
        m = Made([b"schedule", b"pipe_read", b"ksys_read", b"x64_sys_call"])
        m.record(gen.MMAP2, m.w.pack("IIQQQ", 7, 7, where + code, 4096, code) + b"\x14\0\0\0" + build_id + m.w.pack("II", 5, 2) +
                 gen.text8(os.path.abspath("gates.so")), 500, 7, 0, misc=1 << 14 | 2)  # of another machine: it is the file by its build-id
        m.off(1000, 7, chain=chain)
        m.wake(4000, 7, by=8, cpu=1, chain=chain)
        m.on(5000, 7)
        m.off(6000, 7)
        m.write("gates")
        d = doc_of("gates")
        t.equal([r["function"] for r in d["functions"] if r["reason"] in ("pipe", "read/write", "other")], [want], "gates of glibc, %s: the place" % what)


gates()


def programs():
    d = record("sleep")
    if not d:
        return
    t.ok(sum_of(d, "sleep") >= 0.3 and sum_of(d, "sleep") < 0.3 + d["seconds"] / 10 + 0.1, "sleep: 0.3 s asleep", d["reasons"])
    t.ok(computed(d["threads"][0], d["told"]), "sleep: 0.1 s running", d["threads"])
    for how, reason in (("pipe", "pipe"), ("socket", "read/write" if not d["chains"] else "socket")):
        d = record(how)
        reader = min((r for r in d["threads"]), key=lambda r: r["seconds"])["tid"]
        t.ok(sum_of(d, reason, reader) >= 0.15, how + ": the consumer waits for it", d["thread_reasons"])
        others = [r for r in d["thread_reasons"] if r["tid"] == reader and r["state"] == "blocked" and r["reason"] != reason]
        t.ok(sum(r["seconds"] for r in others) < 0.01 * sum_of(d, reason, reader) + 0.01, how + ": and for nothing else", others)
        if d["wakings"]:
            w = [r for r in d["wakers"] if r["tid"] == reader and r["reason"] == reason]
            # by frame pointers, and without the kernel's frames, glibc 2.41's own function is all there is
            t.ok(w and w[0]["waker_tid"] != reader and ("write" in w[0]["function"] or w[0]["function"] == "__syscall_cancel_arch"),
                 how + ": woken by the producer's write", d["wakers"])
    d = json.loads(run("report", "--concurrency", "-j", "pipe.data").stdout)
    t.ok(d["cpus"] and all(r["busy_share"] is not None and r["idle_share"] is r["wanted_share"] is None and "-a" in r["idle_share_why"]
                           for r in d["cpus"]), "concurrency of some threads: what else CPUs did is not known", d["cpus"])
    d = record("convoy")
    with open("convoy.truth", encoding="ascii") as f:
        waited = float(f.read())  # by its own clock, until it ran again
    three = [r for r in d["thread_reasons"] if r["tid"] != r["pid"]]  # the first thread waits for their ends
    ready = sum(r["seconds"] for r in three if r["state"] != "blocked")
    locked = sum(r["seconds"] for r in three if r["reason"] == "lock")
    t.ok(waited - ready - 0.005 <= locked <= waited + 0.005 and sum_of(d, "sleep") >= 0.15, "convoy: locks", (waited, locked, ready, three))
    d = record("barrier")
    four = [r for r in d["threads"] if r["tid"] != r["pid"]]
    straggler = min(four, key=lambda r: sum_of(d, "lock", r["tid"]))
    t.ok(sum_of(d, "sleep", straggler["tid"]) >= 0.2 and all(sum_of(d, "lock", r["tid"]) >= 0.15 for r in four if r is not straggler),
         "barrier: all wait for the straggler", d["thread_reasons"])
    if d["wakings"]:
        w = collections.Counter(r["waker_tid"] for r in d["wakers"] if r["reason"] == "lock")
        t.ok(w[straggler["tid"]] >= 3, "barrier: the straggler wakes them", d["wakers"])
    d = record("poll")
    t.ok(sum_of(d, "poll") >= 0.149, "poll", d["reasons"])
    d = record("busy")
    one = [r for r in d["threads"] if r["pid"] != min(x["pid"] for x in d["threads"])]
    t.ok(len(one) == 3 and all(computed(r, d["told"]) for r in one) and sum_of(d, "child") > 0.05, "busy: three children",
         d["threads"])
    # nothing waits for a file system in memory
    disk = next((d for d in (tmp, "/var/tmp", os.path.dirname(CYCLADE))
                 if subprocess.run(["stat", "-f", "-c", "%T", d], capture_output=True, text=True).stdout.strip() != "tmpfs"), None)
    if not disk:
        t.skip("I/O", "all file systems here are in memory")
        return
    with tempfile.NamedTemporaryFile(dir=disk) as file:
        os.environ["IO_FILE"] = file.name
        d = record("io")
    blocked = d["blocked_seconds"] - sum_of(d, "throttled")  # on a busy machine: a CPU lost behind delayed work looks like that
    t.ok(sum_of(d, "I/O") >= 0.9 * blocked or blocked < 0.001, "I/O", d["reasons"])


def timehist():
    """perf's own sums of a recording of all that switches: run time, time off the CPU, delay of wake-ups. CPUs are kept busy: some
    kernels trace no switch from the idle task, and perf then counts its time as the next thread's."""
    if not shutil.which("perf"):
        return t.skip("perf sched timehist", "no perf")
    busy = [subprocess.Popen(["nice", "./prog", "spin"]) for _ in range(os.cpu_count() or 1)]
    made = subprocess.run(["perf", "sched", "record", "-o", "sched.data", "./prog", "convoy"], capture_output=True, text=True,
                          errors="replace", check=False)  # other threads' names may hold any bytes
    for x in busy:
        x.kill()
        x.wait()
    if made.returncode:
        return t.skip("perf sched timehist", "perf sched record: " + made.stderr.strip()[-80:])
    text = subprocess.run(["perf", "sched", "timehist", "-i", "sched.data"], capture_output=True, text=True, errors="replace", check=True).stdout
    perf = collections.defaultdict(list)
    for line in text.splitlines():
        m = re.match(r"\s*([\d.]+) \[\d+\]\s+prog\[(\d+)(?:/\d+)?\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", line)
        if m:
            perf[int(m[2])].append([float(m[1])] + [float(m[3 + i]) / 1e3 for i in range(3)])
    # a thread ends with its last record; perf goes on with it if it is preempted between that and its last switch
    text = subprocess.run(["perf", "script", "-i", "sched.data", "--show-task-events", "-F", "tid,time,event,trace"], capture_output=True,
                          text=True, errors="replace", check=True).stdout
    ends = {int(m[2]): float(m[1]) for m in re.finditer(r"([\d.]+): PERF_RECORD_EXIT\(\d+:(\d+)\)", text)}
    came = collections.defaultdict(list)  # when a thread's switch to a CPU was traced
    for m in re.finditer(r"([\d.]+): +sched:sched_switch: .* next_pid=(\d+) ", text):
        came[int(m[2])].append(float(m[1]))
    compared, apart = [], []
    bar = 1.5e-6  # a row: perf prints us
    for tid, rows in perf.items():
        rows = [r for r in rows if r[0] < ends.get(tid, float("inf"))]
        if len(rows) < 4 or any(x.pid == tid for x in busy):
            continue
        d = doc_of("sched.data", "--only-tid", str(tid), "--time", "%.6f,%.6f" % (rows[0][0], rows[-1][0]))
        wait, delay, run_ = (sum(r[1 + i] for r in rows[1:]) for i in range(3))
        ours = (d["blocked_seconds"] + d["runnable_seconds"], sum_of(d, "wake-up"), d["running_seconds"])
        left = rows[-1][0] - rows[0][0] - wait - run_
        traced = all(any(a[0] - bar <= at <= b[0] + bar for at in came[tid]) for a, b in zip(rows, rows[1:]))
        if not traced or not -1.5e-6 <= left <= 2e-6 * len(rows) or d["unknown_seconds"]:
            continue  # perf's own rows overlap (it cuts times to us), or a switch was not traced
        compared.append(tid)
        if any(abs(a - b) > bar * len(rows) for a, b in zip(ours, (wait, delay, run_))):
            apart.append((tid, ours, (wait, delay, run_), d["threads"]))
    if not compared:
        return t.skip("perf sched timehist", "the kernel traced not all switches of any thread")
    return t.ok(not apart, "perf sched timehist: waits, delays and times of %d threads" % len(compared), apart)


def latency_of(perf, path):
    """function -> latency and overhead, in per cent; of all rows with that name."""
    text = subprocess.run([perf, "report", "--latency", "--no-children", "--stdio", "-g", "none", "-i", path, "-F", "latency,overhead,sym", "-s", "sym"],
                          capture_output=True, text=True, errors="replace", check=True).stdout
    out = collections.defaultdict(lambda: [0, 0])
    for m in re.finditer(r"^ +([\d.]+)% +([\d.]+)% +\[.\] (\w+)", next((x for x in text.split("# Samples:") if "of event 'cpu-clock" in x), ""), re.M):
        out[m[3]][0] += float(m[1])
        out[m[3]][1] += float(m[2])
    return out


def between(perf, path):
    """How many per cent of the samples came between the two stamps of a switch, context-switches and PERF_RECORD_SWITCH, of another
    thread: for perf that thread still runs, for us it ran until the first of the two."""
    text = subprocess.run([perf, "script", "-i", path, "--ns", "--show-switch-events", "-F", "tid,time,event", "-G"], capture_output=True,
                          text=True, errors="replace", check=True).stdout
    leaving, samples, found = {}, 0, 0
    for m in re.finditer(r"^ *(\d+) +(\d+)\.(\d{9}): +(\S+)", text, re.M):
        tid, when = int(m[1]), int(m[2] + m[3])
        if m[4] == "PERF_RECORD_SWITCH":
            leaving.pop(tid, None)
        elif m[4].startswith("context-switches"):
            leaving[tid] = when
        elif m[4].startswith("cpu-clock"):
            samples += 1
            found += any(other != tid for other in leaving)
    return 100 * found / max(samples, 1)


def latency(perf):
    """The latency column of a perf that has one (6.15 and later), of ten recordings: its own, and ours."""
    if not perf or "--latency" not in subprocess.run([perf, "report", "-h"], capture_output=True, text=True, check=False).stderr:
        return t.skip("perf report --latency", "no perf that has it: CYCLADE_PERF7 is not set")
    theirs_ = [perf, "record", "-q", "--latency", "-e", "cpu-clock"]
    ours_ = [CYCLADE, "record", "--wait", "-e", "cpu-clock"]
    for name, words in (("theirs", theirs_), ("ours", ours_)):  # of -a recordings perf has none: it reads no switches of whole CPUs
        for how in ("both", "busy", "pipe", "convoy", "sleep"):
            subprocess.run([*words, "-o", "latency.data", "--", "./prog", how], capture_output=True, check=True)
            theirs = latency_of(perf, "latency.data")
            d = json.loads(run("report", "--wall", "-j", "-e", "cpu-clock*", "latency.data").stdout)
            ours = collections.defaultdict(lambda: [0, 0])
            for r in d["functions"]:
                plain = re.match(r"\w*", r["function"] or "")[0]
                ours[plain][0] += 100 * r["wall_share"]
                ours[plain][1] += 100 * r["share"]
            main = [f for f, x in theirs.items() if x[1] >= 1]
            most = 0.1 + between(perf, "latency.data")
            far = [(f, theirs[f], ours[f]) for f in main if max(abs(a - b) for a, b in zip(theirs[f], ours[f])) > most]
            t.ok(main and not far, "latency of perf: the same within 0.1 points, but for samples amid a switch, %s, %s" % (how, name),
                 (most, far))
    return None


def ordinary():
    """A user without rights: states and their sums are there, and what is missing is said."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        paranoid = int(f.read())
    if os.getuid() or not shutil.which("setpriv") or not 1 < paranoid < 3:
        return t.skip("an ordinary user", "not root, no setpriv, or perf_event_paranoid is %d and not 2" % paranoid)
    os.makedirs("home")
    shutil.copy(CYCLADE, "home/cyclade")
    shutil.copy("prog", "home/prog")
    os.chmod(".", 0o755)
    os.chown("home", 65534, 65534)
    p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "./cyclade", "record", "--wait", "-o", "n.data", "--",
                        "./prog", "sleep"], cwd="home", env={"PATH": os.environ["PATH"], "HOME": os.path.abspath("home")}, capture_output=True, text=True,
                       check=False)
    if p.returncode:
        return t.skip("an ordinary user", "may not run it here: " + p.stderr.strip()[-100:])
    t.ok("no call chains at switches" in p.stderr and "no tracepoints" in p.stderr, "an ordinary user: what is missing is said", p.stderr)
    d = doc_of("home/n.data")
    closes(d, "an ordinary user")
    blind = sum_of(d, "no stack") + sum_of(d, "sleep")  # it may have been seen asleep, ten times a second
    t.ok(not d["chains"] and not d["wakings"] and blind >= 0.3 and computed(d["threads"][0], p.stdout), "an ordinary user: times without reasons, but for what was seen",
         (d["chains"], d["wakings"], d["threads"], d["reasons"], p.stdout))
    text = run("report", "--wait", "home/n.data").stdout
    t.ok("not known: call chains" in text and "wake-ups" in text, "an ordinary user: the report says so, too", text[-600:])
    return None


# ---- deep chains: the outermost frame is there
m = Made([b"schedule", b"do_nanosleep", b"deeper", b"outermost"])
m.comm(1000, 7, b"deep")
m.on(1500, 7)
m.off(2000, 7, chain=[0, 1] + [2] * 2000 + [3])
m.on(9000, 7)
m.exit(9500, 7)
m.write("deep.data")
stacks = [r["stack"].split(";") for r in doc_of("deep.data")["stacks"]]
t.ok(len(stacks) == 1 and stacks[0][0] == "outermost" and len(stacks[0]) == 2003, "a chain of 2,003 frames is whole", [(s[0], len(s)) for s in stacks])
for how in ("--wait", "--wall"):
    lines = [x.rsplit(" ", 1)[0].split(";") for x in run("report", how, "--format", "folded", "deep.data").stdout.splitlines()]
    t.ok(any("outermost" in x[:2] and x.count("deeper") == 2000 for x in lines), how + ", folded: the same", [(x[:2], len(x)) for x in lines])

if ready(t, PROGRAM):
    programs()
    ordinary()
    timehist()
    latency(os.environ.get("CYCLADE_PERF7") or shutil.which("perf"))
os.chdir("/")
shutil.rmtree(tmp)
t.done()
