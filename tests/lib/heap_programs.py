# SPDX-License-Identifier: BSD-3-Clause
"""heap_programs - programs that say which of their objects they touch, and when.

    program = build(name, text, flags...)                 # here; TOUCH is the text before it
    TOUCH + PROGRAMS[name][1], by the compiler PROGRAMS[name][0]
    pid, marks, truth = said(output)                      # truth: [time, address, object]
    right, wrong, unknown, want, found = judged(data, truth)
"""
import json
import os
import subprocess

import heap_made
from tap import run

TOUCH = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define N 40000
static struct { uint64_t t; const void *p; const char *name; } said[N];
static int n_said;
static uint64_t ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC_RAW, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static uint64_t ticks(void) {
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t; __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t)); return t;
#else
	return 0;
#endif
}
static void touch(const void *p, const char *name) { if (n_said < N) { said[n_said].p = p; said[n_said].name = name; said[n_said++].t = ns(); } }
static uint64_t mark[4];
static void settle(void) { uint64_t t = ns(); while (ns() < t + 1500) ; }
static void begin(void) { mark[1] = ns(); mark[0] = ticks(); }
static void end(void)
{
	mark[3] = ns(); mark[2] = ticks();
	printf("%d %llu %llu %llu %llu\\n", getpid(), (long long)mark[0], (long long)mark[1], (long long)mark[2], (long long)mark[3]);
	for (int i = 0; i < n_said; i++) printf("%llu %llu %s\\n", (long long)said[i].t, (long long)(uintptr_t)said[i].p, said[i].name);
}
#define NOINLINE __attribute__((noinline))
"""
PROGRAMS = {
    "structs": ("cc", """
struct point { double x, y, z; int tag; };
NOINLINE struct point *make_points(int n) { return calloc(n, sizeof(struct point)); }
NOINLINE char *make_bytes(int n) { return malloc(n); }
int main(void)
{
	begin();
	for (int turn = 0; turn < 20; turn++) {  /* the same memory by turns */
		struct point *p = make_points(500); settle();
		for (int i = 0; i < 500; i++) { touch(&p[i].y, "make_points"); touch(&p[i].tag, "make_points"); }
		free(p); settle();
		char *b = make_bytes(500 * sizeof(struct point)); settle();
		for (int i = 0; i < 500; i++) touch(b + 17 * i, "make_bytes");
		free(b); settle();
	}
	end(); return 0;
}"""),
    "list": ("cc", """
struct node { struct node *next; long v[3]; };
NOINLINE struct node *front(struct node *n) { struct node *x = malloc(sizeof *x); x->next = n; return x; }
NOINLINE struct node *other(struct node *n) { struct node *x = malloc(sizeof *x); x->next = n; return x; }
int main(void)
{
	struct node *a = 0, *b = 0, *x;
	begin();
	for (int turn = 0; turn < 5; turn++) {
		for (int i = 0; i < 1000; i++) { a = front(a); b = other(b); if (i % 3 == 0) { x = a; a = a->next; free(x); b = other(b); } }
		settle();
		for (x = a; x; x = x->next) touch(&x->v[1], "front");
		for (x = b; x; x = x->next) touch(&x->next, "other");
		settle();
		for (; a; a = x) { x = a->next; free(a); }
	}
	end(); return 0;
}"""),
    "static": ("cc", """
static long table[5000]; long counters[64]; static char text[3000] = "x";
int main(void)
{
	begin();
	for (int i = 0; i < 5000; i++) { touch(&table[i], "table"); touch(&counters[i % 64], "counters"); touch(&text[i % 3000], "text"); }
	end(); return 0;
}"""),
    "containers": ("c++", """
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
NOINLINE void fill_vector(std::vector<long> &v) { for (int i = 0; i < 3000; i++) v.push_back(i); }
NOINLINE void fill_map(std::map<int, long> &m) { for (int i = 0; i < 2000; i++) m[i * 7 % 2003] = i; }
NOINLINE void fill_list(std::list<int> &l) { for (int i = 0; i < 2000; i++) l.push_back(i); }
NOINLINE void fill_hash(std::unordered_map<int, int> &h) { for (int i = 0; i < 2000; i++) h[i] = i; }
NOINLINE void fill_text(std::vector<std::vector<char>> &s) { for (int i = 0; i < 500; i++) s.push_back(std::vector<char>(100 + i, 'x')); }
int main()
{
	std::vector<long> v; std::map<int, long> m; std::list<int> l; std::unordered_map<int, int> h; std::vector<std::vector<char>> s;
	begin();
	fill_vector(v); fill_map(m); fill_list(l); fill_hash(h); fill_text(s); settle();
	for (auto &x : v) touch(&x, "fill_vector");
	for (auto &x : m) touch(&x.second, "fill_map");
	for (auto &x : l) touch(&x, "fill_list");
	for (auto &x : h) touch(&x.second, "fill_hash");
	for (auto &x : s) touch(&x[50], "fill_text");
	end(); return 0;
}"""),
}


def build(name, text, *flags, cc="cc", head=TOUCH):
    source = name + (".cc" if cc == "c++" else ".c")
    with open(source, "w", encoding="ascii") as f:
        f.write(head + text)
    subprocess.run([cc, "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin", "-w", source, "-o", name, *flags], check=True)
    return os.path.abspath(name)


def said(output):
    rows = output.splitlines()
    pid, *marks = map(int, rows[0].split())
    return pid, marks, [r.split() for r in rows[1:]]


def sampled(truth, pid):
    """A sample of each touch, a fifth of them slow."""
    return [(int(when), int(at), pid, heap_made.RAM if i % 5 == 0 else heap_made.L1_HIT, 300 if i % 5 == 0 else 5)
            for i, (when, at, _) in enumerate(truth)]


def objects_of(data, *words):
    return json.loads(run("mem", data, "-j", "--table", "objects", *words).stdout)["objects"]


def judged(data, truth, samples):
    """Samples whose object is the one that was touched, another one, unknown; and {object: [samples, cycles]}, as it was and as mem has it."""
    want, found, unknown = {}, {}, 0
    for (_, _, what), sample in zip(truth, samples):
        x = want.setdefault(what, [0, 0])
        x[0] += 1
        x[1] += sample[4]
    for o in objects_of(data):
        what = (o["function"] or o["object"] or "").split("(")[0]
        if o["why"]:
            unknown += o["samples"]
        else:
            x = found.setdefault(what, [0, 0])
            x[0] += o["samples"]
            x[1] += o["cycles"] or 0
    right = sum(min(found.get(k, [0])[0], v[0]) for k, v in want.items())
    return right, sum(v[0] for v in found.values()) - right, unknown, want, found
