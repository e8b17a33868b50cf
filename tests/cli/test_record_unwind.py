#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record -g of real programs, where nothing is as in the build directory: built without frame pointers, stripped,
moved, gone before the report, in a mount namespace of their own, with threads, forks, exec and a library that is opened in the
middle; attached to, and among all others. Chains are compared with the program's own calls. (The chains themselves, sample by
sample: tests/symbol/test_unwind.py.)"""
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, SANITIZED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
volatile long sink;
NI void leaf(long n) { for (long i = 0; i < n; i++) sink += i * i; }
NI int deep(int depth, long n) { volatile char pad[40]; pad[0] = (char)depth; int r = depth ? deep(depth - 1, n) : (leaf(n), 0); return r + pad[0]; }
NI int first(long n) { return deep(20, n) + 1; }
NI int second(long n) { return first(n) + 1; }
static void *thread(void *n) { sink += second(*(long *)n); return NULL; }
static void pin(int cpu) { cpu_set_t to; CPU_ZERO(&to); CPU_SET(cpu, &to); (void)!sched_setaffinity(0, sizeof(to), &to); }
static int last_cpu(char *first, size_t size)
{
	cpu_set_t may;
	int n = 0, last = 0;
	if (sched_getaffinity(0, sizeof(may), &may)) CPU_ZERO(&may);
	for (int i = 0; i < CPU_SETSIZE; i++) if (CPU_ISSET(i, &may)) { if (!n++) snprintf(first, size, "%d", i); last = i; }
	return last;
}
int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 40000000;
	const char *how = argc > 1 ? argv[1] : "";
	if (!strcmp(how, "thread")) { pthread_t p; pthread_create(&p, NULL, thread, &n); pthread_join(p, NULL); return 0; }
	if (!strcmp(how, "fork")) { pid_t c = fork(); if (c) { waitpid(c, NULL, 0); return 0; } }
	if (!strcmp(how, "exec")) { execl(argv[0], argv[0], "plain", argv[2], (char *)0); return 1; }
	if (!strcmp(how, "deep")) { sink += deep(600, n); return 0; }
	if (!strcmp(how, "move")) {
		char first[16] = "0";
		pin(last_cpu(first, sizeof(first)));
		setenv("FIRST_CPU", first, 1);
		execl(argv[0], argv[0], "open", argv[2], (char *)0);
		return 1;
	}
	if (!strcmp(how, "open")) {
		if (getenv("FIRST_CPU")) pin(atoi(getenv("FIRST_CPU")));
		void *lib; int (*call)(int (*)(long), long);
		sink += second(n / 4);
		lib = dlopen("./lib.so", RTLD_NOW);
		if (!lib) return 1;
		*(void **)&call = dlsym(lib, "call");
		sink += call(second, n);
		return 0;
	}
	if (!strcmp(how, "always")) for (;;) sink += second(1000000);
	sink += second(n);
	if (!strcmp(how, "stay")) sleep(2); /* its files can be opened while it lives */
	return 0;
}
"""
LIB = "int call(int (*f)(long), long n) { return f(n) + 1; }"
N = "150000000" if not SANITIZED else "60000000"
FLAGS = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-fno-ipa-icf", "-Wl,--build-id"]


def record(name, *program, more=(), how="-g=unwind"):
    """The recording of a program, or of what `more` names: samples that were unwound, and the share that reached the thread's start."""
    argv = [CYCLADE, "record", how, "-e", "cpu-clock:u", "-F", "997", "-o", name, *more, *(["--", *program] if program else [])]
    p = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, timeout=300)
    m = re.search(r"call chains: ([\d.]+) % of ([\d,]+) reach the thread's start", p.stderr)
    return p, (int(m[2].replace(",", "")), float(m[1])) if m else (0, 0.0)


def whole(what, p, got):
    """All but those of the loader's first instructions and of a thread's last ones."""
    n, share = got
    t.ok(p.returncode == 0 and n > 20 and share * n / 100 >= n - max(3, n / 20), "%s: chains reach the thread's start (%.1f %% of %d)" % (what, share, n), p.stderr)


def stacks(name, *words):
    """{stack of functions from the outermost, without the thread's name: samples}"""
    out = {}
    for line in run("report", name, "--format", "folded", "--no-cache", *words).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        frames = tuple(stack.split(";")[1:])
        out[frames] = out.get(frames, 0) + int(n)
    return out


def expected(what, name, calls, most=0.1, words=()):
    """Samples in leaf() come through these functions, one by one."""
    found = {s: n for s, n in stacks(name, *words).items() if s and s[-1] == "leaf"}
    total = sum(found.values())
    right = sum(n for s, n in found.items() if s[-len(calls):] == tuple(calls))
    t.ok(total and right >= (1 - most) * total, "%s: the callers are the program's (%d of %d)" % (what, right, total), list(found.items())[:3])


if not shutil.which("gcc") or os.uname().machine not in ("x86_64", "aarch64"):
    t.skip("everything", "no gcc, or no unwinder for this machine")
    t.done()
with open("p.c", "w", encoding="ascii") as f:
    f.write(PROGRAM)
with open("lib.c", "w", encoding="ascii") as f:
    f.write(LIB)
subprocess.run(["gcc", *FLAGS, "p.c", "-o", "prog", "-ldl", "-pthread"], check=True)
subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", "lib.c", "-o", "lib.so"], check=True)
CALLS = ["second", "first", *["deep"] * 21, "leaf"]

p, got = record("plain.data", "./prog", "plain", N)
if p.returncode == 125 or not got[0]:
    t.skip("everything", "neither can record so here: %s" % p.stderr.strip()[:80])
    t.done()
whole("a program without frame pointers", p, got)
expected("a program without frame pointers", "plain.data", ["main", *CALLS])
if PERF:
    r = subprocess.run([PERF, "script", "-i", "plain.data", "-F", "ip,sym"], capture_output=True, text=True, errors="replace", check=False)
    blocks = [b for b in r.stdout.split("\n\n") if " leaf\n" in b + "\n"]
    t.ok(r.returncode == 0 and blocks and sum(b.count(" deep\n") == 21 and " main" in b for b in blocks) >= 0.9 * len(blocks),
         "perf reads the same callers", r.stdout[:600] + r.stderr[-200:])
else:
    t.skip("perf reads the same callers", "no perf")
for how, outer in (("thread", "thread"), ("fork", "main"), ("exec", "main")):
    p, got = record(how + ".data", "./prog", how, N)
    whole(how, p, got)
    expected(how, how + ".data", [outer, *CALLS])
# the second: the program begins on one CPU, maps the library on another, whose ring is read first
for how, what in (("open", "a library that is opened in the middle"), ("move", "a library that is opened on another CPU")):
    p, got = record(how + ".data", "./prog", how, N)
    whole(what, p, got)
    found = stacks(how + ".data")
    through = sum(n for s, n in found.items() if s[-1:] == ("leaf",) and "call" in s)
    total = sum(n for s, n in found.items() if s[-1:] == ("leaf",))
    t.ok(total and abs(through / total - 0.8) < 4 * (0.8 * 0.2 / max(1, got[0])) ** 0.5, "and its part of the calls goes through it (%d of %d)" % (through, total), p.stderr)

# ---- elsewhere, stripped, gone
os.mkdir("away")
shutil.copy("prog", "away/stripped")
subprocess.run(["strip", "away/stripped"], check=True)
p, got = record("stripped.data", os.path.abspath("away/stripped"), "plain", N)
whole("a stripped program elsewhere", p, got)
shutil.copy("prog", "away/gone")
p, got = record("gone.data", "away/gone", "plain", N)
os.unlink("away/gone")
whole("a program that is removed before the report", p, got)
depth = max((len(s) for s in stacks("gone.data")), default=0)
t.ok(depth > 22, "whose chains are in the recording all the same", depth)

# ---- attached to, also one whose file is removed; the whole machine
busy = subprocess.Popen(["./prog", "always"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
atexit.register(busy.kill)
shutil.copy("prog", "away/left")
left = subprocess.Popen(["away/left", "always"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
atexit.register(left.kill)
time.sleep(0.3)
os.unlink("away/left")
p, got = record("pid.data", more=["-p", str(busy.pid), "--for", "1s"])
whole("a program that runs already", p, got)
expected("a program that runs already", "pid.data", ["main", *CALLS])
p, got = record("left.data", more=["-p", str(left.pid), "--for", "1s"])
if os.geteuid() == 0:
    whole("one whose file is removed", p, got)
else:
    t.skip("one whose file is removed", "its file can be opened by root alone")
p, got = record("all.data", more=["-a", "--for", "1s"])
if p.returncode == 125:
    t.skip("the whole machine", "needs more rights")
else:
    expected("the whole machine", "all.data", ["main", *CALLS], words=("--comm", "prog"))
for x in (busy, left):
    x.kill()
    x.wait()

# ---- a file system that only the program sees
for d in ("inside", "lower"):
    os.mkdir(d)
shutil.copy("prog", "lower/own")
for name, mount in (("tmpfs", "mount -t tmpfs none inside && cp prog inside/own"),
                    ("an overlay", "mount -t tmpfs none inside && mkdir inside/u inside/w inside/m && mount -t overlay -o lowerdir=lower,upperdir=inside/u,workdir=inside/w none inside/m")):
    own = "inside/m/own" if "overlay" in name else "inside/own"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount + " && ./" + own + " plain 1"], capture_output=True, check=False).returncode:
        t.skip("a program on %s that it alone sees" % name, "no such mount here")
        continue
    p, got = record("inside.data", "unshare", "-m", "sh", "-c", "%s && exec ./%s stay %s" % (mount, own, N))
    whole("a program on %s that it alone sees" % name, p, got)

# ---- the option
r = run("record", "-g=unwnd", "--", "true")
t.ok(r.returncode == 125 and "fp|dwarf|unwind|lbr" in r.stderr and not r.stdout, "a word that is wrong: the right ones", r.stderr)
said = run("record", "-g=unwind", "--dry-run", "-e", "cpu-clock", "--", "true").stdout
t.ok("--call-graph dwarf,16384" in said and re.search(r"stack +16384 bytes", said), "--dry-run: the size of copies, and perf's words for it", said)
said = run("record", "-g=unwind", "--stack-size", "4096", "--dry-run", "-e", "cpu-clock", "--", "true").stdout
t.ok("--call-graph dwarf,4096" in said, "another size", said)
# ---- -g alone: copies as large as stacks need, of as many samples as rings have room for
deep = str(10 * int(N))
p, got = record("deep.data", "./prog", "deep", N, how="-g")
if os.geteuid() == 0:
    whole("-g: stacks of 40 kB", p, got)
p, got = record("deep.data", "./prog", "deep", deep, more=["-m", "128"], how="-g")
t.ok(p.returncode == 0 and 5 < got[1] < 100 and "stacks are deep: at most" in p.stderr, "-g: copies are larger after the first that were cut, and the rate is lower", p.stderr)
unwound = [len(s) for s in stacks("deep.data", "--max-stack", "2000")]
t.ok(unwound and max(unwound) > 600, "-g: their callers, all of them", unwound)
said = record("two.data", "./prog", "deep", N, more=["-m", "128", "-e", "page-faults/period=200000/u"], how="-g")[0]
t.ok(said.returncode == 0 and "stacks are deep: at most" in said.stderr, "... beside an event that has a period, whose rate is not", said.stderr)
p, got = record("deep.data", "./prog", "deep", N, more=["--stack-size", "16384"], how="-g")
t.ok(p.returncode == 0 and got[1] < 20, "-g --stack-size: of that size", p.stderr)
said = run("info", "deep.data").stdout
t.ok("made by unwinding while recording; %.1f %%" % got[1] in said, "info: how the chains were made", said)
row = json.loads(run("info", "-j", "deep.data").stdout)["chains"][0]
t.ok(row["samples"] == got[0] and row["cut"] > 0.8 * row["samples"] and row["whole"] + row["cut"] <= row["samples"], "info -j: how many were cut", row)
for words, copies in (["-c", "1"], False), (["-c", "10000000"], True), (["-F", "100"], True), (["-c", "1", "-g=unwind"], True), (["-c", "1", "--stack-size", "4096"], False):
    said = run("record", "-g", *words, "--dry-run", "-e", "cpu-clock", "--", "true")
    t.ok(said.returncode == 0 and ("stack_user" in said.stdout) == copies, "-g %s: %s copy" % (" ".join(words), "a" if copies else "no"), said.stdout + said.stderr)
said = run("record", "-g", "-F", "90000", "-m", "64", "--dry-run", "-e", "cpu-clock", "--", "true")
most = re.search(r"rings have room for ([\d,]+) a second", said.stderr)
t.ok(most and 500 < int(most[1].replace(",", "")) < 1000, "-F: as many as the rings hold in 20 ms, and that is said", said.stderr)
said = run("record", "-g", "-m", "64", "--dry-run", "-e", "cpu-clock", "--", "true")
t.ok("have room" not in said.stderr, "without -F, nothing was asked for", said.stderr)
p, got = record("short.data", "./prog", "plain", N, more=["--stack-size", "512"])
t.ok(p.returncode == 0 and got[1] < 20 and "--stack-size" in p.stderr, "copies that are too short: what to do", p.stderr)
t.done()
