#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --critical: paths and gains of recordings that were put together, against the same programs computed here; programs
recorded here, then changed, built again and timed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402
from waits_made import Made  # noqa: E402
from waits_run import compiled, ready  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-critical-")
os.chdir(tmp)
ODD = b"=x|\x1b[31m\n\",<b>`*\xff"
US = 1000


def doc_of(*args):
    p = run("report", "--critical", "-j", *args)
    try:
        return json.loads(p.stdout)
    except ValueError:
        t.ok(False, "json of " + " ".join(args), p.stdout[:300] + p.stderr)
        return {"functions": [], "threads": [], "steps": [], "length_seconds": 0}


def row(doc, function, reason=None):
    found = [r for r in doc["functions"] if r["function"] == function and reason in (None, r["reason"])]
    return found[0] if found else {"share": -1, "share_error": 0, "gain_half": -1, "gain_all": -1, "gain_tenth": -1, "gain_half_error": 0,
                                 "gain_all_error": 0, "gain_tenth_error": 0}


def whole(doc, name):
    """The path has no gaps, and all tables share it out."""
    steps = doc["steps"]
    gaps = [s for s, n in zip(steps, steps[1:]) if abs(s["from_seconds"] + s["seconds"] - n["from_seconds"]) > 1e-12]
    t.ok(steps and not gaps and steps[0]["from_seconds"] == 0, name + ": the steps follow each other", gaps)
    for x in ("functions", "threads", "steps"):
        t.ok(abs(sum(r["seconds"] for r in doc[x]) - doc["length_seconds"]) < 1e-12, "%s: %s add up to the path" % (name, x), doc[x])


def gains(doc, name, function, total, within=1e-9):
    """total(x): how long the program takes with a part x of the function gone."""
    r = row(doc, function)
    for key, x in (("gain_tenth", 0.1), ("gain_half", 0.5), ("gain_all", 1)):
        want = (total(0) - total(x)) / total(0)
        t.ok(r[key] is not None and abs(r[key] - want) <= (within if x < 1 else r[key + "_error"]) and r[key + "_error"] < 0.25,
             "%s: %s, %s" % (name, function, key), (want, r))


class Program:
    """Threads that compute on CPUs of their own, sampled each us, and wait for each other."""
    def __init__(self, functions, waits=b"futex_wait"):
        self.m = Made(functions + [b"schedule", waits])
        self.names = [x.decode("latin-1") for x in functions]
        self.lock = [len(functions), len(functions) + 1]
        self.todo = []

    def at(self, when, what, *args, **kw):
        self.todo.append((when, len(self.todo), what, args, kw))

    def run(self, tid, begin, length, function):
        for i in range(begin + US // 2, begin + length, US):
            self.at(i, self.m.sample, 0, i, tid, tid, at=self.names.index(function))
        return begin + length

    def off(self, tid, when, extra=()):
        self.at(when, self.m.off, when, tid, tid, chain=self.lock + list(extra))

    def wake(self, tid, when, by):
        self.at(when, self.m.wake, when, tid, by=by, cpu=by, chain=[self.lock[1]])

    def on(self, tid, when):
        self.at(when, self.m.on, when, tid, tid)

    def write(self, path):
        for when, _, what, args, kw in sorted(self.todo, key=lambda x: x[:2]):
            what(*args, **kw)
        return self.m.write(path)


# ---- a barrier with one straggler; main waits for it, too
PREPARE, QUICK, STRAGGLE, FINISH, ROUNDS = 30 * US, 20 * US, 60 * US, 10 * US, 3
p = Program([b"prepare", b"quick", b"straggle", b"finish"])
p.at(0, p.m.comm, 1, 7, b"boss")
now = p.run(7, 0, PREPARE, "prepare")
for tid in (8, 9, 10):
    p.at(now, p.m.fork, now, 7, tid)
    p.on(tid, now)
p.off(7, now + 1)
for _ in range(ROUNDS):
    for tid in (8, 9):
        p.off(tid, p.run(tid, now, QUICK, "quick"))
    now = p.run(10, now, STRAGGLE, "straggle")
    for tid in (8, 9):
        p.wake(tid, now, 10)
        p.on(tid, now)
for tid in (8, 9):
    p.at(now, p.m.exit, now + 1, tid)
p.wake(7, now, 10)
p.on(7, now)
p.at(now, p.m.exit, now + 1, 10)
now = p.run(7, now, FINISH, "finish")
p.at(now, p.m.exit, now, 7)
d = doc_of(p.write("barrier.data"))
whole(d, "barrier")
t.equal([r["function"] for r in d["functions"][:3]], ["straggle", "prepare", "finish"], "barrier: the straggler first")
t.equal([(r["tid"], r["function"], r["ended"]) for r in d["steps"]], [(7, "prepare", "begin"), (10, "straggle", "lock"), (7, "finish", None)],
        "barrier: the functions in their order")
t.ok(abs(row(d, "straggle")["share"] - ROUNDS * STRAGGLE / now) < 0.01, "barrier: the straggler's share", d["functions"])
t.equal((d["tid"], d["comm"], d["threads"][0]["tid"]), (7, "boss", 10), "barrier: whose end, and by whom")
for function, total in (("straggle", lambda x: PREPARE + ROUNDS * max(QUICK, (1 - x) * STRAGGLE) + FINISH),
                        ("prepare", lambda x: (1 - x) * PREPARE + ROUNDS * STRAGGLE + FINISH)):
    gains(d, "barrier", function, total, 0.01)
t.ok(abs(d["replay_seconds"] - now / 1e9) < 2e-9, "barrier: the replay takes as long", d["replay_seconds"])
d = doc_of("barrier.data", "--only-tid", "8")
t.ok(d["tid"] == 8 and max(d["steps"], key=lambda r: r["seconds"])["tid"] == 10, "barrier: the end of another thread was the straggler's, too", d["steps"])

# ---- the same without records of who woke main: its join ended with the straggler
q = Program([b"prepare", b"straggle", ODD])
q.names[2] = "odd"
q.at(0, q.m.comm, 1, 7, b"boss")
q.at(1, q.m.fork, 10 * US, 7, 8)
q.off(7, q.run(7, 0, 10 * US, "prepare"))
q.on(8, 10 * US)
end = q.run(8, 10 * US, 30 * US, "odd")
q.at(end, q.m.exit, end, 8)
q.on(7, end + US)
q.at(end + 5 * US, q.m.exit, q.run(7, end + US, 4 * US, "prepare"), 7)
d = doc_of(q.write("join.data"))
whole(d, "join")
t.equal([(r["tid"], r["ended"]) for r in d["steps"]], [(7, "begin"), (8, "lock"), (7, None)], "join: the thread that ended")
t.ok(abs(sum(r["seconds"] for r in d["functions"] if r["reason"] == "wake-up") - 1e-6) < 1e-12, "join: the rest is a wait for a CPU", d["functions"])
tables.walk(t, "report", "--critical", "-i", "join.data")

# ---- a lock that all want in turns; by a wait for a file's the next may be another one, as with a mutex
HOLD, APART = 50 * US, 10 * US


def in_turns(name, reason, functions):
    """functions: of the program and of the kernel, where it waits."""
    p = Program([b"hold", b"apart", functions[0]], functions[1])
    p.at(0, p.m.comm, 1, 7, b"a")
    p.at(0, p.m.comm, 1, 8, b"b")
    p.on(7, 1)
    p.on(8, 1)
    now = {7: p.run(7, 0, APART, "apart"), 8: p.run(8, 0, APART + US, "apart")}
    free, owner = 0, None
    for i in range(10):
        tid, other = (7, 8) if i % 2 == 0 else (8, 7)
        if free > now[tid]:
            p.off(tid, now[tid], [2])
            p.wake(tid, free, owner)
            p.on(tid, free)
        now[tid] = free = p.run(tid, max(free, now[tid]), HOLD, "hold")
        owner = tid
        now[tid] = p.run(tid, now[tid], APART, "apart")
    for tid in (7, 8):
        p.at(now[tid], p.m.exit, now[tid], tid)
    d = doc_of(p.write("turns.data"), "--only-tid", str(max(now, key=now.get)))
    whole(d, name)
    t.equal({r["ended"] for r in d["steps"]}, {reason, None}, name + ": what was waited for")
    t.equal(d["functions"][0]["function"], "hold", name + ": what its holders do comes first")
    t.ok(abs(d["functions"][0]["share"] - 10 * HOLD / max(now.values())) < 0.02, name + ": all of it is on the path", d["functions"])
    return d


def in_order(x):
    return 10 * HOLD * (1 - x) + (2 if x < 0.8 else 6) * APART


gains(in_turns("mutex", "lock", (b"pthread_mutex_lock", b"futex_wait")), "mutex", "hold", in_order, 0.03)
r = row(in_turns("flock", "file lock", (b"flock", b"flock_lock_inode_wait")), "hold")
for key, x in (("gain_tenth", 0.1), ("gain_half", 0.5), ("gain_all", 1)):
    want = 1 - in_order(x) / in_order(0)
    t.ok(abs(r[key] - want) <= r[key + "_error"] > 0.1, "flock: %s holds, and the other order" % key, (want, r))

# ---- more threads than CPUs: they share them
p = Program([b"work"])
p.m.fork(1, 7, 8)
for i in range(1, 40):
    a, b = (7, 8) if i % 2 else (8, 7)
    p.at(i * US, p.m.off, i * US, a, 0, preempted=True)
    p.at(i * US, p.m.on, i * US, b, 0)
d = doc_of(p.write("one.data"))
whole(d, "one CPU")
t.ok(sum(r["seconds"] for r in d["functions"] if r["reason"] == "preempted") > 0.4 * d["length_seconds"], "one CPU: half of it waiting", d["functions"])

# ---- without wake-ups: no gains of waits that others may have ended
m = Made([b"schedule", b"futex_wait", b"do_nanosleep"])
m.comm(1, 7, b"a")
m.off(2000, 7, chain=[0, 1])
m.on(9000, 7)
m.off(10000, 7, chain=[0, 2])
m.on(14000, 7)
m.exit(15000, 7)
d = doc_of(m.write("unended.data"))
r = {x["reason"]: x for x in d["functions"]}
t.ok(r["lock"]["gain_half"] is None and "not recorded" in r["lock"]["gain_half_why"] and round(d["unended_seconds"] * 1e9) == 7000 and
     r["sleep"]["gain_all"] > 0.2, "who ended a wait is not known: it has no gain, a sleep has", d["functions"])

# ---- losses, and nothing to read
m = Made([b"schedule", b"futex_wait"])
m.comm(1, 7, b"a")
m.off(2000, 7, chain=[0, 1])
m.lost(6000, 3)
m.on(9000, 7)
m.sample(0, 9500, 7)
d = doc_of(m.write("lost.data"))
whole(d, "lost records")
t.ok(d["unknown_seconds"] > 0 and "unknown" in run("report", "--critical", "lost.data").stdout, "lost records: time on the path that is unknown", d)
r = run("report", "--critical", "--cpu", "0", "lost.data")
t.ok(r.returncode == 2 and "--critical" in r.stderr, "--cpu is refused", r.stderr)

# ---- programs, and the same ones changed. They sleep where they would compute: another load on this machine changes little.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int fd[2];
static inline __attribute__((always_inline)) void spend(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };
#if defined(__x86_64__)
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(SYS_nanosleep), "D"(&t), "S"(0) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long nr __asm__("x8") = SYS_nanosleep, a __asm__("x0") = (long)&t, b __asm__("x1") = 0;
	__asm__ volatile("svc 0" : "+r"(a) : "r"(nr), "r"(b) : "memory");
#else
	nanosleep(&t, NULL);
#endif
}
#define FUNCTION(name, us) __attribute__((noinline)) static void name(void) { spend(us); __asm__ volatile(""); }
FUNCTION(prepare, PREPARE)
FUNCTION(finish, 5000)
FUNCTION(straggle, STRAGGLE)
FUNCTION(quick, 10000)
FUNCTION(hold, HOLD)
FUNCTION(apart, 1000)
FUNCTION(produce, PRODUCE)
FUNCTION(consume, 1000)
static void *party(void *p) { for (int i = 0; i < 4; i++) { if (p) straggle(); else quick(); pthread_barrier_wait(&barrier); } return p; }
static void *convoy(void *p) { for (int i = 0; i < 10; i++) { apart(); pthread_mutex_lock(&lock); hold(); pthread_mutex_unlock(&lock); } return p; }
static void *consumer(void *p) { char c; while (read(fd[0], &c, 1) == 1) consume(); return p; }
int main(int n, char **v)
{
	pthread_t t[3];
	char c = 0;
	prepare();
	if (n > 1 && !strcmp(v[1], "barrier")) {
		pthread_barrier_init(&barrier, NULL, 3);
		for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, party, i == 2 ? &c : NULL);
		for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	} else if (n > 1 && !strcmp(v[1], "convoy")) {
		for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, convoy, NULL);
		for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	} else {
		if (pipe(fd)) return 1;
		pthread_create(t, NULL, consumer, NULL);
		for (int i = 0; i < 40; i++) { produce(); if (write(fd[1], &c, 1) != 1) return 1; }
		close(fd[1]);
		pthread_join(*t, NULL);
	}
	finish();
	return 0;
}
"""
TIMES = {"PREPARE": 15000, "STRAGGLE": 30000, "HOLD": 5000, "PRODUCE": 4000}
PLANNED = {"barrier": 0.14, "convoy": 0.171, "pipe": 0.181}  # seconds


def macros(**less):
    return ["-D%s=%d" % x for x in {**TIMES, **less}.items()]


def timed(*words):
    """Seconds of the faster of two, and how far apart they are."""
    took = []
    for _ in range(2):
        begin = time.monotonic()
        subprocess.run(words, check=True)
        took.append(time.monotonic() - begin)
    return min(took), max(took) - min(took)


def predicted(how, function):
    """Once: the names, and what changing the program brings against what was predicted. None: the machine was too busy to compare."""
    p = run("record", "--wait", "-o", how + ".data", "--", "./prog", how)
    d = doc_of(how + ".data")
    whole(d, how)
    # a sleep that lasts longer, on a busy machine, may make another thread the last one
    if d["length_seconds"] > 1.15 * PLANNED[how]:
        return None
    if not t.ok(d["functions"] and d["functions"][0]["function"] == function, "%s: %s comes first" % (how, function), (p.stderr, d["functions"])):
        return None
    order = sorted((r for r in d["functions"] if r["function"] in ("prepare", function, "finish") and r["reason"] == "sleep"),
                   key=lambda r: r["from_seconds"])
    t.equal([r["function"] for r in order], ["prepare", function, "finish"], how + ": the functions in their order")
    base, noise = timed("./prog", how)
    bad = []
    for key, part in (("gain_half", "half"), ("gain_all", "none")):
        changed, more = timed("./" + part, how)
        r, far = row(d, function), noise + more + abs(d["length_seconds"] - base)
        real = (base - changed) / base
        if far > 0.1 * base:
            return None
        if abs(real - r[key]) > r[key + "_error"] + far / base:
            bad.append((part, real, r))
    return bad


def programs():
    for how, function in (("barrier", "straggle"), ("convoy", "hold"), ("pipe", "produce")):
        tries = []
        while len(tries) < 6 and [] not in tries:
            tries.append(predicted(how, function))
        # what was compared once only, of six, was compared on a busy machine
        bad = [x for x in tries if x is not None]
        if len(bad) < 2 and [] not in bad:
            t.skip(how + ": gains of the changed program", "the machine is too busy")
        else:
            t.ok([] in bad, how + ": changed, it gains what was predicted", bad)


NONE = {x: 0 for x in ("STRAGGLE", "HOLD", "PRODUCE")}
if ready(t, PROGRAM, *macros(), wakers=True) and all(compiled(PROGRAM, name, *macros(**less)) for name, less in
                                                     (("half", {x: TIMES[x] // 2 for x in NONE}), ("none", NONE))):
    programs()
os.chdir("/")
shutil.rmtree(tmp)
t.done()
