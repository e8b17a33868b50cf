#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --heap: what the library logs in programs of all kinds, read by a second reader; then mem and sharing, which name what
was planted: programs say themselves which of their objects they touch, and when."""
import ctypes
import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import heap_made  # noqa: E402
import memory_made  # noqa: E402
import recordings  # noqa: E402
import tables  # noqa: E402
import heap_programs  # noqa: E402
from heap_made import ALLOC, FORKED, FREE, LIBRARY, MAP, OWN, STACK, TABLES, UNMAP, read_logs  # noqa: E402
from heap_programs import PROGRAMS, TOUCH, judged, objects_of, said, sampled  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402

os.environ.pop("MALLOC_PERTURB_", None)  # with it malloc itself touches first what it gives
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
HEAD = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <malloc.h>
static void *keep(size_t n) { void *p = malloc(n); memset(p, 1, n); return p; }
"""


def build(name, text, *flags, cc="cc", head=HEAD):
    return heap_programs.build(name, text, *flags, cc=cc, head=head)


def logged(name, *words, rate=1, limit=0, env=(), where=None, **more):
    """Runs it under the library: its end, and its logs by pid and time."""
    d = where or os.path.abspath(name + ".logs")
    os.makedirs(d, exist_ok=True)
    e = dict(dict(os.environ, CYCLADE_HEAP="4:%d:%d:%s" % (rate, limit, d), LD_PRELOAD=LIBRARY), **dict(env))
    p = subprocess.run(["./" + name, *words], env=e, capture_output=True, text=True, timeout=120, check=False, **more)
    return p, read_logs(d)


def sizes(log, kind=ALLOC):
    return [r[3] for r in log.of(kind)]


# ---- calls ----
build("calls", """
static void *q;
int main(void)
{
	char *a = malloc(1001), *b = calloc(7, 146), *c, *d, *e, *f;
	for (int i = 0; i < 7 * 146; i++) if (b[i]) return 1;
	a = realloc(a, 50003);
	c = memalign(256, 1004); d = aligned_alloc(64, 1024); f = valloc(1005);
	if (posix_memalign((void **)&e, 128, 1006)) return 2;
	if (((uintptr_t)c & 255) | ((uintptr_t)d & 63) | ((uintptr_t)e & 127) | ((uintptr_t)f & 4095)) return 3;
	char *g = reallocarray(NULL, 19, 53);
	char *m = mmap(NULL, 1 << 16, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m = mremap(m, 1 << 16, 1 << 17, MREMAP_MAYMOVE);
	memset(m, 1, 1 << 17);
	munmap(m, 1 << 16);
	free(a); free(b); free(c); free(d); free(e); free(f); free(NULL);
	if (malloc(SIZE_MAX / 2) || calloc(SIZE_MAX / 2, 3)) return 4;
	g = realloc(g, 0);
	printf("%p\\n", (void *)strdup("twelve bytes"));
	return 0;
}""")
p, logs = logged("calls")
log = list(logs.values())[0]
t.equal((p.returncode, p.stderr, len(logs)), (0, "", 1), "a program of all calls runs as ever, and leaves one log")
t.equal([n for n in sizes(log) if 1000 < n < 60000 and n not in (1024, 4096)], [1001, 1022, 50003, 1004, 1005, 1006, 1007],
        "malloc, calloc, realloc, memalign, valloc, posix_memalign, reallocarray: with what was asked for")
t.ok(1024 in sizes(log) and 13 in sizes(log), "aligned_alloc, strdup")
t.equal((sizes(log, MAP)[-2:], sizes(log, UNMAP)[-2:]), ([1 << 16, 1 << 17], [1 << 16, 1 << 16]), "mmap, mremap, munmap")
t.ok(not [n for n in log.left().values() if 1000 < n < 60000 and n not in (1024, 4096)], "what was freed is freed")
t.ok(all(0 < len(c) <= 16 for c in log.chains.values()) and any(len(c) > 1 for c in log.chains.values()), "call chains")
times = [r[2] for r in log.records]
t.ok(times == sorted(times), "in the order of time")

# ---- C++ ----
build("new", """
#include <new>
#include <vector>
#include <map>
#include <string>
#include <cstdio>
struct alignas(256) wide { char c[700]; };
int main()
{
	int *a = new int[1001]; delete[] a;
	wide *w = new wide; if ((unsigned long)w & 255) return 1; delete w;
	char *n = new (std::nothrow) char[50021]; delete[] n;
	std::vector<long> v; for (int i = 0; i < 5000; i++) v.push_back(i);
	std::map<int, std::string> m; for (int i = 0; i < 100; i++) m[i] = std::string(100, 'x');
	try { (void)!::operator new(~0ul / 4); } catch (const std::bad_alloc &) { puts("caught"); }
	char *z = new char[60007];
	puts(z ? "end" : "");
}""", "-O0", cc="c++", head="")
p, logs = logged("new")
log = list(logs.values())[0]
t.equal((p.returncode, p.stdout), (0, "caught\nend\n"), "C++: new, delete, containers, bad_alloc")
t.ok(sizes(log).count(4004) == 1 and sizes(log).count(768) == 1 and sizes(log).count(50021) == 1 and sizes(log).count(65536) == 1,
     "each new is logged once, with its own size")
t.equal(60007 in log.left().values(), True, "what an exception passed goes on being logged")
t.ok(not {4004, 768, 50021} & set(log.left().values()), "delete frees")

# ---- processes ----
build("forks", """
int main(int n, char **v)
{
	keep(2001);
	if (n > 1) { keep(2004); return 0; }
	void *p = keep(2002);
	if (!fork()) { free(p); keep(2003); if (!fork()) { keep(2005); _exit(0); } wait(NULL); execl(v[0], v[0], "again", NULL); }
	wait(NULL);
	if (!vfork()) _exit(0);
	wait(NULL);
	keep(2006);
	for (int i = 0; i < 20; i++) if (!fork()) { keep(3000 + i); _exit(0); }
	while (wait(NULL) > 0) ;
	return 0;
}""")
p, logs = logged("forks")
by = {max([n for n in sizes(x) if 2000 < n < 4000] or [0]): x for x in logs.values()}
t.equal((p.returncode, sorted(by)), (0, [2003, 2004, 2005, 2006] + list(range(3000, 3020))), "each process, and each program that one executes, has a log")
t.ok(by[2003].flags & FORKED and by[2005].flags & FORKED and not by[2004].flags & FORKED and not by[2006].flags & FORKED,
     "a log says whether it begins with a fork")
t.ok(by[2003].pid == by[2004].pid and by[2005].parent == by[2003].pid and by[2003].parent == by[2006].pid, "and of whom")
freed = [r[1] for r in by[2003].of(FREE)]
t.ok(any(r[3] == 2002 and r[1] in freed for r in by[2006].of(ALLOC)), "a child frees what its parent allocated")

# releases of what others allocated are no allocations: each figure of mem is the sum that the second reader has
heap_made.write("forks.data", os.path.abspath("forks"), [], heap_made.feature("forks.logs", [(0, 0), (10**15, 10**15)]), 500)
doc = json.loads(run("mem", "forks.data", "-j").stdout)
want = [(r[0], r[3]) for x in logs.values() for r in x.records if r[0] in (ALLOC, MAP)]
# a mapping of which a part goes is two afterwards: allocations alone are counted
got = [s for s in doc["sites"] if s["kind"] == "heap"]
t.equal((sum(s["allocations"] for s in got), sum(s["bytes"] for s in got)), (len([k for k, _ in want if k == ALLOC]), sum(n for k, n in want if k == ALLOC)),
        "mem: allocations and bytes of all processes are those of the logs")
t.equal(doc["allocations"]["processes"], len(logs), "and so many processes")

# ---- threads ----
build("threads", """
static void *work(void *arg)
{
	void *p[64];
	for (int k = 0; k < 100; k++) {
		for (int i = 0; i < 64; i++) p[i] = malloc(5000 + (long)arg);
		for (int i = 0; i < 64; i++) free(p[i]);
	}
	return malloc(7000 + (long)arg);
}
int main(void)
{
	pthread_t t[8];
	for (int turn = 0; turn < 10; turn++) {
		for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, work, (void *)i);
		for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
	}
	return 0;
}""", "-pthread")
p, logs = logged("threads")
log = list(logs.values())[0]
got = sizes(log)
t.equal((p.returncode, [got.count(5000 + i) for i in range(8)]), (0, [10 * 100 * 64] * 8), "8 threads at a time, 80 in all: no call is lost")
t.equal(sorted(n for n in log.left().values() if 5000 <= n < 8000), sorted([7000 + i for i in range(8)] * 10), "what they left is left")
t.equal((len(log.of(STACK)), log.not_logged), (80, 0), "each thread's stack is known")

# ---- who called, in code without frame pointers, beside glibc's own backtrace() of the same place
CALLERS = """
#include <alloca.h>
#include <execinfo.h>
NOINLINE void *inner(long n)
{
	void *p = malloc(n), *b[16];
	int k = backtrace(b, 16);
	printf("%ld", n);
	for (int i = 1; i < k; i++) printf(" %p", b[i]);
	puts("");
	return p;
}
NOINLINE char *plain(long n) { char b[100]; memset(b, n, 100); char *p = inner(n); p[0] = b[3]; return p; }
NOINLINE char *moving(long n) { char *q = alloca(n % 999 * 16 + 5); memset(q, 1, n % 999); char *p = plain(n); p[1] = q[2]; return p; }
NOINLINE char *aligned_(long n) { char x[64] __attribute__((aligned(64))); memset(x, n, 64); char *p = moving(n + 1); p[2] = x[3]; return p; }
NOINLINE char *both(long n) { char x[128] __attribute__((aligned(128))), *q = alloca(n % 77 + 9); memset(x, n, 128); memset(q, 1, 9); char *p = plain(n + 2); p[2] = x[3] + q[1]; return p; }
NOINLINE char *deep(long n, int left) { char *p = left ? deep(n, left - 1) : plain(n); p[3]++; return p; }
static long counted;
static int compare(const void *a, const void *b) { if (!counted++) { char *p = plain(9300); p[4] = 1; } return *(const int *)a - *(const int *)b; }
NOINLINE void *thread(void *arg) { char *p = plain(9400); p[5] = 1; return p; }
NOINLINE static void bare_(void) { char *p = plain(9450); p[5] = 1; }
int main(void)
{
	int v[9] = { 3, 1, 2, 9, 8, 7, 6, 5, 4 };
	pthread_t t;
	void *first[4];
	backtrace(first, 4);
	for (int i = 0; i < 3; i++) {
		plain(9000 + i)[6]++; moving(9010 + i)[6]++; aligned_(9020 + 2 * i)[6]++; both(9040 + i)[6]++; deep(9100 + i, i)[6]++;
	}
	deep(9200, 30)[6]++;
	qsort(v, 9, sizeof(*v), compare);
	pthread_create(&t, NULL, thread, NULL); pthread_join(t, NULL);
	bare_();
	return 0;
}"""
build("callers", CALLERS, "-O2", "-fomit-frame-pointer", "-pthread", head="#define NOINLINE __attribute__((noinline, noclone))\n" + HEAD)
p, logs = logged("callers")
log = list(logs.values())[0]
t.equal((p.returncode, p.stderr), (0, ""), "a program without frame pointers runs")
want = {int(w[0]): [int(x, 16) for x in w[1:]] for w in (line.split() for line in p.stdout.splitlines())}
got = {n: list(log.chains[c]) for _, _, _, n, c in log.of(ALLOC) if n in want}
tables_here = os.uname().machine == "x86_64" and hasattr(ctypes.CDLL(None), "_dl_find_object")
t.equal(bool(log.flags & TABLES), tables_here, "the log says how chains were found")
if tables_here:
    # the first is in the same function, behind another call; 16 of more
    differ = {n: ([hex(x) for x in want[n]], [hex(x) for x in got.get(n, [])]) for n in want if got.get(n, [])[1:] != want[n][:15]}
    t.ok(len(want) == 19 and not differ, "call chains without frame pointers are those of backtrace()", (len(want), differ))
else:
    t.skip("call chains without frame pointers", "not x86-64, or a C library without _dl_find_object()")

# ---- libraries that come and go, constructors, destructors ----
build("plugin.so", "__attribute__((constructor)) static void in(void) { keep(2101); }\n__attribute__((destructor)) static void out(void) { keep(2102); }\n"
      "void *make(void) { return keep(2103); }", "-shared", "-fPIC")
build("comes", """
__attribute__((constructor(101))) static void first(void) { keep(2201); }
__attribute__((destructor(101))) static void last(void) { keep(2202); }
int main(void)
{
	for (int i = 0; i < 3; i++) {
		void *h = dlopen("./plugin.so", RTLD_NOW);
		((void *(*)(void))dlsym(h, "make"))();
		if (dlsym(h, "there is none")) return 1;
		dlclose(h);
	}
	return 0;
}""", "-ldl")
p, logs = logged("comes")
got = sizes(list(logs.values())[0])
t.equal((p.returncode, [got.count(n) for n in (2101, 2102, 2103, 2201, 2202)]), (0, [3, 3, 3, 1, 1]),
        "constructors, destructors, dlopen and dlclose")

# ---- a malloc of the program's own ----
build("own", """
static char pool[1 << 20]; static size_t used;
void *malloc(size_t n) { char *p = pool + used; used += (n + 31) & -16; *(size_t *)p = n; return p + 16; }
void free(void *p) { }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { return malloc(n); }
int main(void) { keep(100); mmap(NULL, 77 << 12, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); puts("ran"); return 0; }""")
p, logs = logged("own")
t.equal((p.stdout, [bool(x.flags & OWN) for x in logs.values()], sizes(list(logs.values())[0], MAP)[-1]), ("ran\n", [True], 77 << 12),
        "a program with a malloc of its own runs, its log says so, its mappings are logged")

# ---- death ----
build("dies", """
int main(int n, char **v)
{
	for (int i = 0; i < 1000; i++) keep(2301);
	puts("there"); fflush(stdout);
	if (v[1][0] == 'k') raise(SIGKILL);
	if (v[1][0] == 's') *(volatile int *)8 = 1;
	abort();
}""")
for word, sig in (("k", signal.SIGKILL), ("s", signal.SIGSEGV), ("a", signal.SIGABRT)):
    p, logs = logged("dies", word, where=os.path.abspath("dies." + word))
    t.equal((p.returncode, sizes(list(logs.values())[0]).count(2301)), (-sig, 1000), "%s: what was logged is kept" % sig.name)

# ---- signals ----
build("signals", """
static volatile int n;
static void on(int s) { void *p = mmap(NULL, 4096 * 3, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); munmap(p, 4096 * 3); n++; }
int main(void)
{
	struct sigaction a = { .sa_handler = on };
	sigaction(SIGPROF, &a, NULL);
	timer_t id; struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec i = { { 0, 50000 }, { 0, 50000 } };
	timer_create(CLOCK_MONOTONIC, &e, &id); timer_settime(id, 0, &i, NULL);
	for (int k = 0; n < 500; k++) free(malloc(2400 + k % 7));
	return 0;
}""", "-lrt", head="#include <time.h>\n" + HEAD)
p, logs = logged("signals")
log = list(logs.values())[0]
t.ok(p.returncode == 0 and len(log.of(MAP)) + log.not_logged >= 500 and sizes(log, MAP).count(4096 * 3) > 50,
     "signal handlers in the midst of it: logged or counted", (p.returncode, len(log.of(MAP)), log.not_logged))
t.ok(not [n for n in log.left().values() if 2400 <= n < 2407], "and nothing is mixed up")

# ---- no room ----
build("full", "int main(void) { for (int i = 0; i < 400000; i++) free(malloc(2500)); keep(2501); puts(\"ran\"); return 0; }")


def small():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


p, logs = logged("full", preexec_fn=small, where=os.path.abspath("full.limit"))
log = list(logs.values())[0]
t.ok(p.stdout == "ran\n" and p.returncode == 0 and 1000 < sizes(log).count(2500) < 100000 and log.not_logged > 100000,
     "a limit of file sizes: no signal; the log ends, and what is not in it is counted", (p, len(log.records), log.not_logged))
os.makedirs("disk", exist_ok=True)
if os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", "disk"], capture_output=True, check=False).returncode == 0:
    try:
        p, logs = logged("full", where=os.path.abspath("disk"))
        log = list(logs.values())[0]
        t.ok(p.stdout == "ran\n" and p.returncode == 0 and 1000 < sizes(log).count(2500) < 100000 and log.not_logged > 100000,
             "a full disk: the program goes on", (p, len(log.records), log.not_logged))
    finally:
        subprocess.run(["umount", "disk"], check=True)
else:
    t.skip("a full disk", "no tmpfs can be mounted here")
p, logs = logged("full", where=os.path.abspath("full.none"), env={"CYCLADE_HEAP": "4:1:0:/nonexistent/directory"})
t.equal((p.stdout, logs), ("ran\n", {}), "no directory: the program runs")
build("rates", """
int main(void) { static char *p[20000]; for (int k = 0; k < 3; k++) { for (int i = 0; i < 20000; i++) p[i] = malloc(i % 100 ? 48 : 4096);
	for (int i = 0; i < 20000; i++) free(p[i]); } return 0; }""")
p, logs = logged("rates", rate=16)
log = list(logs.values())[0]
t.ok(sizes(log).count(4096) == 600 and 0.7 < sizes(log).count(48) / (59400 / 16) < 1.4 and not [n for n in log.left().values() if n in (48, 4096)],
     "--heap=16: all objects of 4 KB, one in 16 of the others, each with its end", (sizes(log).count(4096), sizes(log).count(48)))
p, logs = logged("rates", limit=1 << 20, where=os.path.abspath("rates.limit"))
log = list(logs.values())[0]
t.ok(log.of(7) and sizes(log).count(4096) == 600 and sizes(log).count(48) < 50000, "beyond the limit fewer small objects, and the log says from when on",
     (log.of(7), sizes(log).count(48)))

# ---- one in 16: objects of 4 KB and more are all there, the others are or have a reason, and hardly one is taken for another ----
SIZES = """
NOINLINE char *large(long n) { return malloc(n); }
NOINLINE char *zeroed(long n) { return calloc(n / 8, 8); }
NOINLINE char *grown(char *p) { return realloc(p, 9000); }
NOINLINE char *shrunk(char *p) { return realloc(p, 40); }
NOINLINE char *small(long n) { return malloc(n); }
NOINLINE char *aligned(long n) { return aligned_alloc(4096, n); }
static char *kept[3000];
int main(void)
{
	begin();
	for (int turn = 0; turn < 8; turn++) {  /* the same memory by turns: what was large is small objects later */
		for (int i = 0; i < 300; i++) {
			kept[i] = turn % 2 ? small(16 + i * 13 % 4000) : large(4096 + i * 7);
			kept[300 + i] = small(4095 - i);
			if (i % 10 == 0) { kept[600 + i] = grown(small(100 + i)); kept[900 + i] = shrunk(large(5000)); kept[1200 + i] = zeroed(8192); kept[1500 + i] = aligned(8192); }
		}
		settle();
		for (int i = 0; i < 300; i++) {
			touch(kept[i] + 15, turn % 2 ? "small" : "large");
			touch(kept[300 + i] + 3000, "small");
			if (i % 10 == 0) { touch(kept[600 + i] + 8999, "grown"); touch(kept[900 + i] + 39, "shrunk"); touch(kept[1200 + i] + 8191, "zeroed"); touch(kept[1500 + i] + 5000, "aligned"); }
		}
		settle();
		for (int i = 0; i < 1800; i++) { free(kept[i]); kept[i] = 0; }
	}
	end(); return 0;
}"""
program = build("sizes", SIZES, "-no-pie", "-O2", head=TOUCH)
for how, options in (("--heap=16", dict(rate=16)), ("beyond the limit", dict(limit=1 << 14))):
    p, logs = logged("sizes", where=os.path.abspath("sizes." + how.split()[0].strip("-")), **options)
    pid, marks, truth = said(p.stdout)
    samples = sampled(truth, pid)
    heap_made.write("sizes.data", program, samples, heap_made.feature("sizes." + how.split()[0].strip("-"), [marks[:2], marks[2:]]), pid)
    right, wrong, unknown, want, found = judged("sizes.data", truth, samples)
    whole = ("large", "grown", "zeroed", "aligned")
    t.ok(not wrong and right + unknown == len(truth) and all(found[k][0] == want[k][0] for k in whole) and sum(want[k][0] for k in whole) > 1800,
         how + ": mem has all objects of 4 KB and more", (right, wrong, unknown, want, found))
    few = sum(found.get(k, [0])[0] for k in ("small", "shrunk"))
    t.ok(0 < few < 0.3 * sum(want[k][0] for k in ("small", "shrunk")), how + ": a part of the others", (few, want))
    t.ok("of objects below 4 KB one in" in " ".join(run("mem", "sizes.data").stdout.split()), how + ": and says so", "")

# ---- objects by what programs say that they touch ----
for name, (cc, text) in PROGRAMS.items():
    program = build(name, text, "-no-pie", "-O2", cc=cc, head=TOUCH)
    p, logs = logged(name)
    pid, marks, truth = said(p.stdout)
    samples = sampled(truth, pid)
    heap = heap_made.feature(name + ".logs", [marks[:2], marks[2:]])
    data = heap_made.write(name + ".data", program, samples, heap, pid)
    right, wrong, unknown, want, found = judged(data, truth, samples)
    t.ok(len(truth) > 4000 and right >= 0.99 * len(truth) and wrong == 0 and right + unknown == len(truth),
         "%s: 99 %% of %d samples have their object, no other has a wrong one" % (name, len(truth)), (right, wrong, unknown, want, found))
    t.ok(all(abs(found[k][1] - v[1]) <= 0.01 * v[1] for k, v in want.items() if k in found) and set(want) <= set(found), name + ": sums of latencies",
         (want, found))
    none = objects_of(heap_made.write("none.data", program, samples, b"", pid))
    t.ok(name == "static" or all(o["why"] for o in none), name + ": without the log they are unknown, with a reason", none[:3])
    shared = json.loads(run("sharing", heap_made.write("two.data", program, [(w, a, pid + i % 2, s, l) for i, (w, a, _, s, l) in enumerate(samples)], heap, pid),
                            "-j", "--table", "objects").stdout)["objects"]
    named = sum(o["samples"] for o in shared if o["object"] and any(k in o["object"] for k in want))
    t.ok(shared and named >= 0.99 * sum(o["samples"] for o in shared), name + ": sharing names them", shared[:3])

tables.walk(t, "mem", "containers.data")
term = run("mem", "list.data").stdout
t.ok("front list.c:" in term and "other list.c:" in term and " < main" in term, "people see who allocated it", term)

# ---- page walks ----
TLB_HIT, WALKS = (2 | 8 | 16) << 26, ((4 | 16) << 26, (4 | 32) << 26)  # mem_dtlb: a miss of the second level, as Intel's drivers write it; a walk, as for Arm
at = {w[2]: int(w[0], 16) for w in (x.split() for x in subprocess.run(["nm", "structs"], capture_output=True, text=True, check=True).stdout.splitlines())
      if len(w) == 3}


def word(kind, value, *more):
    return struct.pack("<%dQ" % (1 + len(more)), kind << 56 | value, *more)


places = [("make_points", 0x10000000, 4096, True), ("make_bytes", 0x20000000, 2 << 20, True), ("main", 0x30000000, 4096, False)]
records = b"".join(word(heap_made.CHAIN, 2 << 32 | i, at[f] + 1, at["main"] + 1) + word(ALLOC, start, 1000 + i, i << 40 | 1 << 20)
                   for i, (f, start, _, _) in enumerate(places))
samples, pages, planted = [], [], dict.fromkeys((p[0] for p in places), 0)
for i in range(6000):
    function, start, page, walks = places[i % 3]
    walk = walks and i // 3 % 2
    far = i // 6 % 4 == 0 or (walk and i // 6 % 4 == 1)  # walks come with a source that takes long, which is not their fault
    samples.append((2000 + i, start + i * 64, 500, (heap_made.RAM if far else heap_made.L1_HIT) | (WALKS[i // 24 % 2] if walk else TLB_HIT),
                    (300 if far else 10) + (40 if walk else 0) + i // 24 % 3))
    pages.append(page)
    planted[function] += 40 if walk else 0
total = sum(s[4] for s in samples)
heap_made.write("walks.data", "structs", samples, heap_made.chunk(500, 10, records, parent=1), 500, pages=pages)
rows = {r["object"].split()[0]: r for r in json.loads(run("mem", "walks.data", "-j", "--table", "walks").stdout)["walks"]}
t.equal(sorted(rows), ["main", "make_bytes", "make_points"], "page walks: a row for each object and page size")
for function, _, page, walks in places:
    r = rows[function]
    t.ok(abs(r["walk_cycles_share"] - planted[function] / total) <= max(r["walk_cycles_share_error"], 1e-9) and r["walk_cycles_share_error"] < 0.02 and
         r["walks"] == (1000 if walks else 0) and r["page_size"] == page, "%s: what its page walks cost" % function, (r, planted[function] / total))
t.equal([rows[f]["advice"] for f, _, _, _ in places], ["huge pages", None, None],
        "huge pages for the object of small pages that walks, not for that of huge ones or one without walks")
p = run("mem", "walks.data")
t.ok("page walks" in p.stdout and "MADV_HUGEPAGE" in p.stdout, "and people see it", p.stdout)
t.ok("page walks" not in run("mem", "static.data").stdout, "nothing of it if no sample walks")

# ---- page walks of IBS: each has the cycles of its refill, which are no walk's if the second TLB hit
variables, _, code = memory_made.symbols(recordings.DATA)
objects = {"make_table": (memory_made.HEAP, 0, 3), "main": (memory_made.HEAP + (2 << 20), 1, 5), "accounts": (variables["accounts"][0], 0, 0)}
records = b"".join(word(heap_made.CHAIN, 2 << 32 | i, variables[f][0] + 5, variables["main"][0] + 9) + word(ALLOC, objects[f][0], 1000 + i, i << 40 | 1 << 20)
                   for i, f in enumerate(("make_table", "main")))
refills, cycles, squares, ops = {f: [] for f in objects}, 0, 0, []
for i in range(1500):
    function = list(objects)[i % 3]
    start, page, every = objects[function]
    latency, walk, near = 50 + i * 7 % 300, every and i // 3 % every == 0, i // 3 % 4 == 1
    refill = 20 + i * 13 % 90 if walk else 7 if near else 0
    refills[function] += [refill] if walk else []
    took = max(latency, refill if walk else 0)
    cycles, squares = cycles + took, squares + took * took
    ops.append((2000 + i, memory_made.PID, 0, [3 << 17, code[0], 0, memory_made.DRAM, memory_made.LOAD | memory_made.LINEAR | memory_made.PHYSICAL | memory_made.DC_MISS | page << 4 |
                memory_made.L1_TLB * (walk or near) | memory_made.L2_TLB * bool(walk) | 4 << 22 | latency << 32 | refill << 48, start + i * 8 % 4096, 0, 0]))
memory_made.write("refills.data", recordings.DATA, ops, 0, heap_made.chunk(memory_made.PID, 10, records, parent=1))
rows = {r["object"].split()[0]: r for r in json.loads(run("mem", "refills.data", "-j", "--table", "walks").stdout)["walks"]}
t.equal({f: (r["walks"], r["page_size"], r["advice"]) for f, r in rows.items()},
        {f: (len(refills[f]), 4096 << 9 * page, "huge pages" if f == "make_table" else None) for f, (_, page, _) in objects.items()},
        "IBS: walks are misses of the second TLB, huge pages are for small pages")
wrong = {}
for f, r in rows.items():
    share, own = sum(refills[f]) / cycles, sum(x * x for x in refills[f])
    bar = 1.96 * ((1 - 2 * share) * own + share * share * squares) ** 0.5 / cycles if own else 0  # of a part of the sum of the same draws
    if not math.isclose(r["walk_cycles_share"], share, abs_tol=1e-12) or not math.isclose(r["walk_cycles_share_error"], bar, rel_tol=1e-3, abs_tol=1e-12):
        wrong[f] = (r["walk_cycles_share"], share, r["walk_cycles_share_error"], bar)
t.equal(wrong, {}, "IBS: what walks cost is the sum of their refills")
p = run("mem", "refills.data")
t.ok(" page walks\n" in p.stdout and "MADV_HUGEPAGE" in p.stdout, "IBS: people see page walks", p.stdout)

# ---- fields by address: instructions of code without debug information have no type, the object has ----
with open("bare.c", "w", encoding="ascii") as f:
    f.write("long bare_load(long *p) { return *p; }\nvoid bare_store(long *p) { *p = 1; }\n")
subprocess.run(["cc", "-O1", "-fcf-protection=none" if os.uname().machine == "x86_64" else "-O1", "-c", "bare.c", "-o", "bare.o"], check=True)
program = build("places", """
struct at { double x, y; };
struct point { struct at at; double z; int tag; } table[50];
struct node { struct node *next; long v[3]; };
long bare_load(long *p); void bare_store(long *p);
NOINLINE double get_y(struct point *p) { return p->at.y; }
NOINLINE void set_tag(struct point *p) { p->tag = 1; }
NOINLINE double get_double(double *p) { return *p; }
NOINLINE double get_x(struct at *p) { return p->x; }
NOINLINE struct node *get_next(struct node *n) { return n->next; }
NOINLINE char get_char(char *p) { return *p; }
""" + "".join("NOINLINE void *make_%s(int n) { return malloc(n); }\n" % s for s in "good bytes two aside odd none".split()) + """
int main(void)
{
	struct point *p = make_good(4); char *c = make_bytes(3); struct node *n = make_two(1);
	make_aside(2); make_odd(5); make_none(6);
	set_tag(p); bare_store((long *)p); set_tag(table);
	return get_y(p) + get_double(&p->z) + get_x(&p->at) + get_char(c) + bare_load((long *)c) + (get_next(n) != n);
}""", "bare.o", "-no-pie", head=TOUCH)
at = {w[2]: int(w[0], 16) for w in (x.split() for x in subprocess.run(["nm", "places"], capture_output=True, text=True, check=True).stdout.splitlines())
      if len(w) == 3}


def access_in(function):
    """The instruction of a function that accesses memory other than the stack."""
    rows = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, "places"], capture_output=True, text=True, check=True).stdout
    found = [x for x in rows.splitlines() if re.search(r"\(%r(?!sp|bp)\w+\)|\[x\d+", x) and "lea" not in x]
    return int(found[0].split(":")[0], 16)


ip = {f: access_in(f) for f in "get_y set_tag get_double get_x get_next get_char bare_load bare_store".split()}
sites = {"good": (0x10000000, 3200), "bytes": (0x10010000, 3200), "two": (0x10020000, 3200), "aside": (0x10030000, 3200), "odd": (0x10040000, 3208),
         "none": (0x10050000, 3200)}
records = b"".join(word(heap_made.CHAIN, 2 << 32 | i, at["make_" + s] + 1, at["main"] + 1) + word(ALLOC, start, 1000 + i, i << 40 | size)
                   for i, (s, (start, size)) in enumerate(sites.items()))
records += word(ALLOC, 0x10060020, 1100, 32)  # one more of the first site, by itself
begins = dict({s: start for s, (start, _) in sites.items()}, table=at["table"], alone=0x10060020)
TYPED = {"get_y": 8, "set_tag": 24}
what = []  # the instruction, where, offset, how often
for s in ("good", "two", "odd", "table"):
    what += [(f, s, off, 40) for f, off in TYPED.items()]
what += [(f, "aside", off + 8, 40) for f, off in TYPED.items()] + [("get_next", "two", 0, 40), ("get_char", "bytes", 5, 40)]
what += [("get_double", "good", 16, 9), ("get_x", "good", 0, 8), ("set_tag", "good", 0, 3), ("get_y", "table", 16, 6)]  # parts; wrong ones
BARE = [(0, 11, "at.x"), (8, 12, "at.y"), (16, 13, "z"), (24, 14, "tag")]
for s in begins:
    what += [("bare_load", s, off, n) for off, n, _ in BARE] + [("bare_store", s, 24, 5)]
samples, ips = [], []
for f, s, off, n in what:
    for i in range(n):
        ips.append(ip[f])
        samples.append((2000 + len(samples), begins[s] + off + (0 if s == "alone" else i * 7 % 49 * 32), 500, heap_made.L1_HIT ^ (6 if f in ("bare_store", "set_tag") else 0), 10 + i))
heap_made.write("places.data", program, samples, heap_made.chunk(500, 10, records, parent=1), 500, ips=ips)
doc = json.loads(run("mem", "places.data", "-j").stdout)
got = sorted((r["object"].split()[0], r["type"], r["field"], r["offset"], r["samples"], r["stores"], r["mean"]) for r in doc["fields_by_address"])


def mean(*counts):
    return sum(10 + i for n in counts for i in range(n)) / sum(counts)


want = sorted((o, "struct point", name, off, k * n + (k * 5 if off == 24 else 0), k * 5 if off == 24 else 0, mean(*[n] * k, *[5] * (k if off == 24 else 0)))
              for o, k in (("make_good", 2), ("table", 1)) for off, n, name in BARE)
t.equal([r[:6] for r in got], [r[:6] for r in want], "fields by address: as planted, of variables and of sites, arrays and objects by themselves")
t.ok(all(abs(x[6] - y[6]) < 0.01 for x, y in zip(got, want)), "their latencies", (got, want))
rows = {r["object"].split()[0]: r for r in doc["object_types"]}
FIGURES = ("type", "same", "part", "differs", "placed", "unplaced")
t.equal({k: tuple(r[f] for f in FIGURES) for k, r in rows.items() if r["type"]},
        {"make_good": ("struct point", 80, 17, 3, 110, 0), "table": ("struct point", 80, 0, 6, 55, 0)}, "what instructions say beside it is counted")
t.equal({k: (r["type_why"], r["placed"], r["unplaced"]) for k, r in rows.items() if not r["type"]},
        {"make_bytes": ("of single bytes", 0, 55), "make_two": ("instructions access it as several types", 0, 55),
         "make_aside": ("fields are not where an array of the type would have them", 0, 55),
         "make_odd": ("the type's size does not divide that of the allocations", 0, 55),
         "make_none": ("too few of its samples have a type", 0, 55)}, "bytes, two types, a stride aside, a size that does not fit: no field, and why")
fields = {(r["type"], r["field"]): r["samples"] for r in doc["fields"] if r["type"]}
t.equal((fields[("struct point", "at.y")], fields[("struct point", "tag")], sum(r["samples"] for r in doc["fields"])), (206, 203, len(samples)),
        "and the instructions' answers stay, wrong ones too")
term = run("mem", "places.data").stdout
t.ok("fields by address" in term and "9 of 186 samples have another field by their address" in " ".join(term.split()), "people see them, and what differs", term)
tables.walk(t, "mem", "places.data")
one = [(s, i) for s, i in zip(samples, ips) if begins["table"] <= s[1] < begins["table"] + 1600]
REPEAT = 800  # enough for several workers, which a recording with a log has not
heap_made.write("many.data", program, [s for s, _ in one * REPEAT], None, 500, ips=[i for _, i in one * REPEAT])
many = json.loads(run("mem", "many.data", "-j").stdout)
t.equal(([(r["field"], r["samples"]) for r in many["fields_by_address"]], [tuple(r[f] for f in FIGURES) for r in many["object_types"]]),
        ([(name, REPEAT * n) for name, n in (("tag", 19), ("z", 13), ("at.y", 12), ("at.x", 11))], [("struct point",) + tuple(REPEAT * n for n in (80, 0, 6, 55, 0))]),
        "and several workers come to the same")

# ---- addresses from registers: the same recording without addresses, of which rdi is the pointer ----
def computed(path):
    """Its document, and of its samples without an address what came of them."""
    p = run("mem", path, "-j")
    d = json.loads(p.stdout) if p.returncode == 0 else {"computed_addresses": [], "objects": p.stderr}
    return d, {r["result"]: r["samples"] for r in d["computed_addresses"]}


def shown(d, *tables_):
    """All but what the width of the operand adds."""
    return {k: sorted([{f: v for f, v in r.items() if not f.startswith("line")} for r in d[k]], key=str) for k in tables_}


SAME = ("sources", "objects", "object_sources", "fields", "fields_by_address", "object_types")
OPERANDS = {  # instruction: registers, what is added to the address that is meant; or why it gives none
    "movsbl -3(%rdi), %eax": ("rdi", 3), "mov 24(%r12,%r13,8), %r14": ("r12", -24 - 8 * 5, "r13", 5), "mov -8(,%rcx,4), %rsi": ("rcx", 8, 4),
    "mov %rsp, (%rsp)": ("rsp", 0), "addq $1, 16(%rbp)": ("rbp", -16), "mov (%ebx), %esi": ("ebx", 0), "mov table+8(%rip), %rsi": "table",
    "vmovups 32(%rdx,%rsi), %ymm1": ("rdx", -32 - 7, "rsi", 7), "mov %r15, (%r8,%r10,2)": ("r8", 2 * 9, "r10", -9 & (1 << 64) - 1),
    "mov (%rdi), %rdi": "overwrites", "mov 8(%rax,%rcx), %ecx": "overwrites", "mov (%rdx), %dl": "overwrites", "xadd %rsi, (%rsi)": "overwrites",
    "push %rax": "overwrites", "pop %rbx": "overwrites", "lodsq": "overwrites", "cmpxchg %rcx, (%rax)": "overwrites",
    "push (%rdi)": "several", "movsq": "several", "mov %fs:8(%rdi), %rax": "fs or gs", "lea 8(%rdi), %rax": "accesses no memory",
    "bts %rax, (%rdi)": "accesses no memory", "nopw (%rdi)": "accesses no memory", "vpgatherqq %ymm1, (%rdi,%ymm2), %ymm3": "accesses no memory"}
if os.uname().machine == "x86_64":
    disp = {}
    for line in subprocess.run(["objdump", "-d", "--no-show-raw-insn", "places"], capture_output=True, text=True, check=True).stdout.splitlines():
        m = re.match(r" +([0-9a-f]+):.*?(0x[0-9a-f]+)?\(%rdi\)", line)
        if m:
            disp[int(m[1], 16)] = int(m[2] or "0", 16)
    regs = [{"rdi": s[1] - disp[i]} for s, i in zip(samples, ips)]
    heap_made.write("regs.data", program, samples, heap_made.chunk(500, 10, records, parent=1), 500, ips=ips, regs=regs)
    made, why = computed("regs.data")
    t.equal(why, {"computed": len(samples)}, "registers: each address is computed")
    t.equal(shown(made, *SAME), shown(doc, *SAME), "and objects, types and fields are those of the recording with addresses")
    heap_made.write("untold.data", program, samples, heap_made.chunk(500, 10, records, parent=1), 500, ips=ips, regs=regs, told=False)
    made, why = computed("untold.data")
    t.equal((why, [(r["field"], r["samples"], r["loads"], r["stores"]) for r in made["fields_by_address"]]),
            ({"computed": len(samples)}, [(r["field"], r["samples"], r["loads"], r["stores"]) for r in doc["fields_by_address"]]),
            "a precise event without a data source: the same fields, loads and stores by their instruction")
    term = run("mem", "untold.data").stdout
    t.ok("samples without an address: computed from registers" in term, "people see how many", term)

    heap_made.write("beside.data", program, samples, heap_made.chunk(500, 10, records, parent=1), 500, ips=ips,
                    beside=[(ip["bare_store"], {"rdi": begins["good"] + 16})] * 30)
    made, why = computed("beside.data")
    t.equal((why, shown(made, *SAME)), ({}, shown(doc, *SAME)), "beside an event that tells of memory it is left out")
    made = json.loads(run("mem", "-e", "cycles:pp", "beside.data", "-j").stdout)
    t.equal(([r["object"].split()[0] for r in made["objects"]], [(r["result"], r["samples"]) for r in made["computed_addresses"]], made["samples"]),
            (["make_good"], [("computed", 30)], 30), "unless it is named")

    # every operand has an allocation of its own, where nothing but the right address leads
    with open("ops.s", "w", encoding="ascii") as f:
        f.write(".section .note.GNU-stack\n.globl table\n.bss\n.type table, @object\n.size table, 64\ntable: .zero 64\n.text\n.globl main\n.type main, @function\nmain: ret\n" +
                "".join(".globl op%d\n.type op%d, @function\nop%d: %s\n" % (i, i, i, x) for i, x in enumerate(OPERANDS)))
    subprocess.run(["cc", "-no-pie", "ops.s", "-o", "ops"], check=True)
    at = {w[2]: int(w[0], 16) for w in (x.split() for x in subprocess.run(["nm", "ops"], capture_output=True, text=True, check=True).stdout.splitlines()) if len(w) == 3}
    rows, log, given, want, reasons = [], b"", [], {}, {}
    for i, (name, how) in enumerate(OPERANDS.items()):
        n, start = 3 + i, 0x10000000 + i * 0x10000
        log += word(heap_made.CHAIN, 2 << 32 | i, at["op%d" % i] + 1, at["main"] + 1) + word(ALLOC, start, 1000 + i, i << 40 | 8)
        value = {r: start for r in heap_made.REGS} if isinstance(how, str) else {how[0].replace("ebx", "rbx"): start + how[1]}
        if not isinstance(how, str) and how[0] == "rcx":
            value = {"rcx": (start + how[1]) // how[2]}
        if not isinstance(how, str) and how[0] == "ebx":
            value = {"rbx": start | 0x7eadbeef << 32}
        if len(how) == 4 and not isinstance(how, str):
            value[how[2]] = how[3]
        given += [value] * n
        rows += [(2000 + len(rows) + k, 0, 500, heap_made.L1_HIT if k else 0, 10) for k in range(n)]
        if isinstance(how, str) and how != "table":
            reasons[how] = reasons.get(how, 0) + n
        else:
            want["table" if how == "table" else "op%d" % i] = n
    # a load's sample at an instruction that stores only
    stores = [i for i, x in enumerate(OPERANDS) if x in ("mov %rsp, (%rsp)", "mov %r15, (%r8,%r10,2)")]
    for i in stores:
        reasons["not the load or store"] = reasons.get("not the load or store", 0) + 2 + i
        want["op%d" % i] -= 2 + i
    reasons["computed"] = sum(want.values())
    where = [at["op%d" % i] for i in range(len(OPERANDS)) for _ in range(3 + i)]

    def ops(name, regs=given, **more):
        heap_made.write(name, os.path.abspath("ops"), rows, heap_made.chunk(500, 10, log, parent=1), 500, ips=where, regs=regs, **more)
        return computed(name)

    def short(why):
        return {next((k for k in reasons if k in text), text): n for text, n in why.items()}

    made, why = ops("ops.data")
    t.equal(short(why), reasons, "operands: which instructions give an address, and why others do not")
    t.equal({r["object"].split()[0]: r["samples"] for r in made["objects"] if r["object"] and r["samples"]}, want, "each at its own allocation")
    for name, key, more in (("abi 0", "the sample has no registers", dict(regs=[dict(r, abi=0) for r in given])),
                            ("abi 1", "the process has 32 bits", dict(regs=[dict(r, abi=1) for r in given])),
                            ("inexact", "the sample is not precise: it is not at its instruction", dict(regs=[dict(r, misc=2) for r in given])),
                            ("kernel", "not in user space: code of the kernel is not that of its file", dict(regs=[dict(r, misc=1 | 1 << 14) for r in given])),
                            ("precise 1", "the sample is not precise: it is not at its instruction", dict(precise_ip=1)),
                            ("AMD", "registers are of a later time (not Intel's PEBS)", dict(cpu="AuthenticAMD,25,17,1"))):
        made, why = ops("refused.data", **more)
        t.equal((why, [r["samples"] for r in made["objects"]]), ({key: len(rows)}, [len(rows)]), "no address: " + name)
    made, why = ops("mask.data", mask=1 << heap_made.REGS["rdi"])
    t.equal((why["computed"], {r["object"].split()[0] for r in made["objects"] if r["object"]}), (want["op0"] + want["table"], {"op0", "table"}),
            "no address: of registers that were not sampled")
    heap_made.write("refused.data", os.path.abspath("ops"), rows, None, 500, ips=where, regs=given, told=False, precise_ip=1)
    p = run("mem", "refused.data")
    t.ok(p.returncode == 2 and "tells of memory operations" in p.stderr, "an event that is not precise tells nothing", (p.returncode, p.stderr))
else:
    t.skip("addresses from registers", "of x86-64")

# ---- hostile logs ----
junk = {"cut": heap[:len(heap) // 2 + 3], "zeros": bytes(100000), "noise": bytes((i * 7919 >> 3) & 255 for i in range(50000)),
        "forks": b"".join(heap_made.chunk(pid, i, parent=pid, flags=3) for i in range(500))}
for name, data in junk.items():
    p = run("mem", heap_made.write("junk.data", program, samples[:100], data, pid), "-j")
    t.ok(p.returncode == 0 and sum(o["samples"] for o in json.loads(p.stdout)["objects"]) == 100, "a log of %s: read as far as it is one" % name, p.stderr)

# ---- record ----
p = subprocess.run([CYCLADE, "record", "--heap", "-e", "page-faults:u", "-o", "small.data", "--", "./full"], capture_output=True, text=True, preexec_fn=small,
                   check=False)
if p.returncode == 0:
    t.ok(re.search(r"--heap: \d\d\d,\d\d\d allocations or releases were not logged", p.stderr), "record: what is not logged is reported at the end", p.stderr)
build("faults", """
NOINLINE char *buffer(size_t n) { return malloc(n); }
int main(void) { for (int i = 0; i < 8; i++) memset(buffer(100000), 1, 100000); return 0; }""", head=TOUCH)
p = run("record", "--heap", "-e", "page-faults:u", "-c", "1", "-d", "-W", "-o", "faults.data", "--", "./faults")
if p.returncode == 0:
    rows = objects_of("faults.data")
    mine = [o for o in rows if o["function"] == "buffer"]
    t.ok(len(mine) == 1 and 100 < mine[0]["samples"] <= 200 and mine[0]["kind"] == "heap" and mine[0]["line"] == TOUCH.count("\n") + 2, "record --heap: faults of a buffer", rows)
    t.equal([n for n in os.listdir(".") if n.startswith("faults.data")], ["faults.data"], "the logs' directory is gone")
    p = run("info", "faults.data")
    t.ok("simpleperf" not in p.stdout and "passed over" not in p.stdout, "info takes the log for granted", p.stdout)
    # a child that neither allocates nor frees leaves no log: what it writes to is its parent's
    build("child", """
NOINLINE char *before(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
NOINLINE char *after(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
int main(int n, char **v)
{
	char *p = before(400000), *q;
	int go[2];
	if (pipe(go)) return 1;
	if (!fork()) { char c; if (read(go[0], &c, 1) != 1) _exit(1); for (int i = 0; i < 400000; i += 4096) p[i] = 2; if (n > 1) free(p); _exit(0); }
	free(p);
	q = after(400000);
	if (write(go[1], "x", 1) != 1) return 1;
	wait(NULL);
	return 0;
}""", head=TOUCH + "#include <sys/wait.h>\n")
    for words in ([], ["free"]):
        run("record", "-q", "--heap", "-e", "page-faults:u", "-c", "1", "-d", "-W", "-o", "child.data", "--", "./child", *words)
        got = {o["function"]: (o["threads"], o["samples"]) for o in objects_of("child.data") if o["function"] in ("before", "after")}
        t.ok(got["before"][0] == 2 and 180 <= got["before"][1] <= 200 and got["after"][0] == 1 and 90 <= got["after"][1] <= 100,
             "a child writes to what its parent had when it forked%s" % (", and frees it" if words else ", and calls nothing"), got)
else:
    t.skip("record --heap", p.stderr)

# ---- allocations without samples of memory: made here, each figure planted. Chains end before libc, whose debug information each of
# the many commands below would unpack, where it is installed.
build("sites", """
static void *kept[100];
__attribute__((noinline)) static void *leave(void) { return keep(1000); }
__attribute__((noinline)) static void pair(void) { void *p = keep(5000), *q = keep(3000); free(p); free(q); }
int main(void)
{
	for (int i = 0; i < 100; i++) kept[i] = leave();
	for (int i = 0; i < 50; i++) pair();
	for (int i = 0; i < 10; i++) free(kept[i]);
	return 0;
}
__attribute__((force_align_arg_pointer)) void _start(void) { exit(main()); }""", "-nostartfiles")
p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "sites.data", "--", "./sites")
if p.returncode == 0:
    p = run("mem", "sites.data", "-j")
    t.ok(p.returncode == 0, "mem without samples of memory operations", p.stderr)
    doc = json.loads(p.stdout)
    got = {name: [s for s in doc["sites"] if name in (s["object"] or "")] for name in ("leave", "pair")}
    t.equal([[s[k] for k in ("kind", "allocations", "bytes", "most_bytes", "left", "left_bytes")] for s in got["leave"]],
            [["heap", 100, 100000, 100000, 90, 90000]], "what is left")
    t.equal((sum(s["allocations"] for s in got["pair"]), sum(s["bytes"] for s in got["pair"]), sum(s["left"] for s in got["pair"]),
             max([s["most_bytes"] for s in got["pair"]])), (100, 50 * 8000, 0, 8000 if len(got["pair"]) == 1 else 5000), "what is freed")
    t.equal((doc["sources"], doc["objects"]), ([], []), "no samples, no sources")
    term = run("mem", "sites.data").stdout
    t.ok("no samples of memory operations" in term and "< leave < main" in term and "at once" in term, "people see allocations", term)
    tables.walk(t, "mem", "sites.data")
    p = run("record", "-e", "cpu-clock:u", "-o", "plain.data", "--", "./sites")
    p = run("mem", "plain.data")
    t.ok(p.returncode == 2 and "record --mem" in p.stderr, "without a log there is nothing to show", p.stderr)
else:
    t.skip("allocations without samples", p.stderr)

# ---- programs that the library cannot be in, and processes whose pids are others: said
KEEPS = "int main(void) { for (int i = 0; i < 50; i++) keep(100); usleep(1000); return 0; }"
build("dynamic", KEEPS)
try:
    fixed = build("fixed", KEEPS, "-static")
except subprocess.CalledProcessError:
    fixed = None
if fixed:
    p = run("record", "-q", "-e", "cpu-clock:u", "--heap", "-o", "fixed.data", "--", "sh", "-c", "/bin/true; ./dynamic; ./fixed; true")
    doc = json.loads(run("mem", "fixed.data", "-j").stdout) if p.returncode == 0 else {}
    t.equal((doc.get("allocations", {}).get("without_log"), doc.get("allocations", {}).get("pid_namespace")), (1, 0),
            "of four programs the static one left no log")
    said_ = " ".join(run("mem", "fixed.data").stdout.split())
    t.ok("1 process logged no allocations (fixed, pid" in said_, "it is named", said_)
else:
    t.skip("static programs", "cannot be built here")
inside = ["unshare", "--pid", "--fork"]
if shutil.which("unshare") and subprocess.run([*inside, "true"], capture_output=True).returncode == 0:
    p = run("record", "-q", "-e", "cpu-clock:u", "--heap", "-o", "inside.data", "--", *inside, "./dynamic")
    doc = json.loads(run("mem", "inside.data", "-j").stdout) if p.returncode == 0 else {}
    said_ = " ".join(run("mem", "inside.data").stdout.split())
    t.ok(doc.get("allocations", {}).get("pid_namespace") == 1 and "[no call chain]" in said_ and "PID namespace 1 log is of processes in one" in said_,
         "a PID namespace: its log is of nobody, which is said", said_)
else:
    t.skip("a PID namespace", "cannot be made here")

p = run("record", "--heap", "-p", str(os.getpid()), "-o", "no.data")
t.ok(p.returncode != 0 and "from its start" in p.stderr and not os.path.exists("no.data"), "a process that runs cannot be logged", p.stderr)
for bad in ("3", "0", "x", "99999999999999999999"):
    p = run("record", "--heap=" + bad, "-o", "no.data", "--", "true")
    t.ok(p.returncode == 125 and "--heap" in p.stderr, "--heap=%s is refused" % bad, (p.returncode, p.stderr))
p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "no.data", "--", "/nonexistent/program")
t.ok(p.returncode == 127 and not [n for n in os.listdir(".") if n.startswith("no.data")], "no program: nothing is left", p.stderr)

# ---- where the library is looked for: built with the program, beside a copy of it, installed
root = os.path.abspath(os.path.join(os.path.dirname(CYCLADE), "..", ".."))
if os.path.exists(os.path.join(root, "build.ninja")) and shutil.which("ninja"):
    p = subprocess.run(["ninja", "-C", root, "-t", "query", "src/cli/cyclade"], capture_output=True, text=True)
    t.ok("libcyclade-heap.so" in p.stdout, "whoever builds the program builds the library", p.stdout + p.stderr)
else:
    t.skip("whoever builds the program builds the library", "no build folder, or no ninja")
os.makedirs("copy/bin")
copy = shutil.copy(CYCLADE, "copy/bin/cyclade")
p = subprocess.run([copy, "record", "--heap", "-o", "no.data", "--", "true"], capture_output=True, text=True)
t.ok(p.returncode == 0 or (p.returncode == 125 and "which is not there\n  make install brings it" in p.stderr),
     "a copy of the program alone says where it looks", (p.returncode, p.stderr))

t.done()
