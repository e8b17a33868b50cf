#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --wait of very many switches: some have a call chain, the others that of a wait like them. Recordings that were put together,
where the truth is known; a program that counts its own waits, recorded here with chains of all, of some, of none."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import Tap, run  # noqa: E402
from waits_made import Made  # noqa: E402
from waits_run import compiled  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-many-")
os.chdir(tmp)


def doc_of(path):
    p = run("report", "--wait", "-j", path)
    if p.returncode:
        t.ok(False, "report --wait of " + path, p.stderr)
        return {"reasons": [], "thread_reasons": [], "threads": [], "functions": [], "waits": 1, "guessed": 0, "chainless": 0}
    return json.loads(p.stdout)


# ---- two kinds of waits, told apart by who ends them, and by length; one is like no other
def many(path, thin=True, every=10):
    """Of thread 7: n of each kind, times in ns."""
    m = Made([b"schedule", b"futex_wait", b"pipe_read", b"do_nanosleep", b"work"], thin=thin)
    true = {"lock": 0, "pipe": 0, "sleep": 0}
    now = 1000
    m.comm(now, 7, b"a")
    for i in range(600):
        kind, chain, by, long = [("lock", [0, 1, 4], 8, 3000), ("pipe", [0, 2, 4], 9, 3000), ("sleep", [0, 3, 4], 9, 90000)][i * 7 % 3]
        long += i * 37 % 800
        now += 1000
        m.off(now, 7, chain=chain if i % every == 0 else None)
        m.wake(now + long, 7, by=by, cpu=by - 7, chain=[4] if i % every == 0 else None)
        now += long + 100
        m.on(now, 7)
        true[kind] += long
    m.off(now + 1000, 7)
    m.on(now + 9001000, 7)
    m.write(path)
    return true


true = many("some.data")
d = doc_of("some.data")
found = {r["reason"]: r for r in d["reasons"]}
for kind, ns in true.items():
    r = found.get(kind, {"seconds": 0, "seconds_error": None, "waits": 0})
    t.ok(round(r["seconds"] * 1e9) == ns and r["waits"] == 200, "%s: by waker and length, all of them" % kind, (r, ns))
    t.ok(r["seconds_error"] and r["seconds_error"] > 0, "%s: has a bar" % kind, r)
t.equal((found["running"]["seconds_error"], found["wake-up"]["seconds_error"], found["wake-up"]["waits"]), (None, None, 600), "what does not rest on chains has none")
t.equal((d["waits"], d["guessed"], d["chainless"]), (601, 540, 1), "how many have a chain of their own is told")
t.equal((found["no stack"]["waits"], round(found["no stack"]["seconds"] * 1e9)), (1, 9000000), "a wait like no other has no reason")
t.equal({r["function"] for r in d["wakers"] if r["reason"] != "no stack"}, {"work"}, "wakers are where they were other times")
text = run("report", "--wait", "some.data").stdout
t.ok(re.search(r"call chains\s+10.0 % of 601 waits", text) and re.search(r"time\s+\+-", text), "people see it", text)
text = run("report", "--wait", many("all.data", thin=False, every=1) and "all.data").stdout
t.ok("call chains" not in text and "+-" not in text, "and nothing of it where all waits have a chain", text)
d = doc_of(many("not.data", thin=False) and "not.data")
t.ok(d["guessed"] == 0 and d["chainless"] == 541, "no chain is taken from others unless only some were recorded", (d["guessed"], d["chainless"]))
p = run("sql", "--format", "json", "-i", "some.data", "SELECT guessed, count(*) AS n FROM waits WHERE state = 'blocked' GROUP BY 1 ORDER BY 1")
if "built without" not in p.stderr:
    t.equal([tuple(r.values()) for r in json.loads(p.stdout)["rows"]], [(False, 61), (True, 540)], "sql: waits.guessed")
    p = run("sql", "--format", "json", "-i", "some.data", "SELECT reason FROM waits WHERE state = 'blocked' AND guessed ORDER BY started")
    want = [("lock", "pipe", "sleep")[i * 7 % 3] for i in range(600) if i % 10]
    right = sum(r["reason"] == kind for r, kind in zip(json.loads(p.stdout)["rows"], want))
    t.ok(right >= 0.99 * len(want), "waits that waker and length tell apart: each guessed reason is right (99 %)", (right, len(want)))
tables.walk(t, "report", "--wait", "-i", "some.data")

# ---- half of a cell's waits each way: the bar holds what is true
over = 0
for seed in range(20):
    m = Made([b"schedule", b"futex_wait", b"pipe_read"], thin=True)
    state, now, lock = seed * 7919 + 1, 1000, 0
    m.comm(now, 7, b"a")
    for i in range(400):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        kind, own = state >> 40 & 1, state >> 50 & 7
        m.off(now + 500, 7, chain=[0, 1 + kind] if not own else None)
        m.wake(now + 3000, 7, by=8, cpu=1)
        m.on(now + 3100, 7)
        lock += 2500 * (1 - kind)
        now += 3100
    r = next(r for r in doc_of(m.write("half.data"))["reasons"] if r["reason"] == "lock")
    over += abs(r["seconds"] * 1e9 - lock) > r["seconds_error"] * 1e9
t.ok(over <= 4, "a bar holds the truth 19 times in 20 (here: at least 16)", over)

# ---- a program that says what it waited for
PROGRAM = r"""
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
static int a[2], b[2], word;
static long n, locks, all;
static void turn(int mine, int next)
{
	while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != mine)
		if (!syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, next, 0, 0, 0)) __atomic_fetch_add(&locks, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&word, next, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}
static long switches(void) { struct rusage u; getrusage(RUSAGE_THREAD, &u); return u.ru_nvcsw; }
static void *echo(void *p)
{
	char c;
	for (long i = 0; i < n; i++) {
		if (read(a[0], &c, 1) != 1 || write(b[1], &c, 1) != 1) exit(1);
		turn(1, 0);
	}
	all = switches();
	return p;
}
int main(int argc, char **v)
{
	pthread_t t;
	char c = 0;
	long begin = switches();
	n = argc > 1 ? atol(v[1]) : 1000;
	if (pipe(a) || pipe(b) || pthread_create(&t, NULL, echo, NULL)) return 1;
	for (long i = 0; i < n; i++) {
		if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1) return 1;
		turn(0, 1);
	}
	begin = switches() - begin;
	pthread_join(t, NULL);
	printf("waits %ld locks %ld\n", all + begin, locks);
	return 0;
}
"""


def seconds(d, *reasons):
    return sum(r["seconds"] for r in d["reasons"] if r["reason"] in reasons)


def live():
    if not shutil.which("taskset") or not compiled(PROGRAM):
        return t.skip("a program", "no C compiler or no taskset")
    cpu = str(min(os.sched_getaffinity(0)))
    docs, said = {}, ""
    for how in ("all", "none", "auto"):
        p = run("record", "--wait", "--wait-chains=" + how, "-m", "4096", "-o", how + ".data", "--", "taskset", "-c", cpu, "./prog", "30000" if how == "auto" else "5000")
        if p.returncode or (how != "none" and "no call chains" in p.stderr) or "no tracepoints" in p.stderr:
            return t.skip("a program", "not recorded: " + p.stderr.strip()[-100:])
        said = p.stdout
        docs[how] = d = doc_of(how + ".data")
        t.ok(all(abs(r["seconds"] - sum(r[s + "_seconds"] for s in ("running", "runnable", "blocked", "unknown"))) < 1e-9 for r in d["threads"]),
             how + ": the sums close", d["threads"])
    d = docs["all"]
    t.ok(d["guessed"] == 0 and d["chainless"] <= 0.01 * d["waits"], "all: each wait has its chain", (d["waits"], d["guessed"], d["chainless"]))
    d = docs["none"]
    t.ok(d["guessed"] == 0 and d["chainless"] == d["waits"] and seconds(d, "no stack") > 0 and not d["chains"], "none: no wait has one", d["reasons"])
    d = docs["auto"]
    if d["guessed"] == 0:
        return t.skip("chains of some", "this machine had fewer than 5,000 switches a second")
    blocked = [r for r in d["reasons"] if r["state"] == "blocked"]
    right = sum(r["waits"] for r in blocked if r["reason"] in ("pipe", "lock"))
    t.ok(right >= 0.99 * sum(r["waits"] for r in blocked), "auto: 99 % of the waits have a reason that the program has", blocked)
    # the kernel's own count of what the threads waited for, and the program's of the locks: each that slept
    pool = [0, 0, 0]
    for again in range(3):  # chains are of pieces of the time, in which threads may have done more of this than of that: judged together
        if again:
            p = run("record", "--wait", "--wait-chains=auto", "-m", "4096", "-o", "auto.data", "--", "taskset", "-c", cpu, "./prog", "30000")
            d, said = doc_of("auto.data"), p.stdout
            blocked = [r for r in d["reasons"] if r["state"] == "blocked"]
        if d["losses"]["lost"]:
            return t.skip("counts", "records were lost")
        m = re.search(r"waits (\d+) locks (\d+)", said)
        waits, locks = int(m[1]), int(m[2])
        own = [sum(r["waits"] for r in blocked if r["reason"] == why) for why in ("pipe", "lock")]
        t.ok(abs(sum(own) - waits) <= 0.01 * waits + 5, "auto: all waits are there", (own, waits, locks))
        pool = [x + y for x, y in zip(pool, (own[1], locks, waits))]
    t.ok(abs(pool[0] - pool[1]) <= 0.04 * pool[2], "auto: each reason as often as the program says", (pool, d["guessed"]))
    return None


live()
p = run("record", "--wait", "--wait-chains=most", "--", "true")
t.ok(p.returncode == 125 and "wait-chains" in p.stderr, "--wait-chains: another word is refused", p.stderr)
p = run("record", "--wait", "--wait-chains=all", "--dry-run", "--", "true")
t.ok(p.stdout.count("context-switches\n") <= 1, "--wait-chains=all: one event for chains", p.stdout)
os.chdir("/")
shutil.rmtree(tmp)
t.done()
