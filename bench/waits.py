#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/waits.py BUILD - what recording switches costs a program that switches 100,000 times a second: two threads that send a byte
to and fro over two pipes on one CPU, and compute in between. Beside record --wait: perf record --off-cpu (where it is built and
may run), perf sched record without and with call chains, strace -c. The least of several turns.

   BENCH_QUICK=1   fewer turns and switches
   BENCH_PERF=...  another perf
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int a[2], b[2];
static long n, work;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
static void compute(void) { for (volatile long i = 0; i < work; i++) ; }
static void *echo(void *p)
{
	char c;
	for (long i = 0; i < n; i++) { if (read(a[0], &c, 1) != 1) exit(1); compute(); if (write(b[1], &c, 1) != 1) exit(1); }
	return p;
}
int main(int argc, char **v)
{
	pthread_t t;
	char c = 0;
	double begin;
	n = argc > 1 ? atol(v[1]) : 1000;
	work = argc > 2 ? atol(v[2]) : 0;
	if (pipe(a) || pipe(b) || pthread_create(&t, NULL, echo, NULL)) return 1;
	begin = now();
	for (long i = 0; i < n; i++) { if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1) return 1; compute(); }
	fprintf(stderr, "took %.3f us\n", (now() - begin) / (double)n * 1e6);
	return pthread_join(t, NULL);
}
"""
TURNS, ROUNDS = (2, 5000) if os.environ.get("BENCH_QUICK") else (7, 30000)
perf = os.environ.get("BENCH_PERF") or shutil.which("perf") or "perf"
cyclade = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build"), "src/cli/cyclade")


def took(words, rounds, work):
    """us for two switches; None: it does not run."""
    p = subprocess.run(["taskset", "-c", "0", *words, "./ping", str(rounds), str(work)], capture_output=True, text=True, check=False)
    m = re.search(r"took ([\d.]+) us", p.stderr)
    return float(m[1]) if m else None


def main():
    with open("ping.c", "w", encoding="ascii") as out:
        out.write(PROGRAM)
    subprocess.run(["cc", "-O2", "-pthread", "-o", "ping", "ping.c"], check=True)
    work = 0  # so much that two switches take 20 us
    for step in (4096, 2048, 1024, 512, 256, 128, 64):
        while min(took([], 2000, work + step) for _ in range(3)) < 20:
            work += step
    ways = {"nothing": [], "cyclade record --wait": [cyclade, "record", "--wait", "-o", "w.data", "--"],
            "cyclade record --wait -a": [cyclade, "record", "-a", "--wait", "-o", "w.data", "--"],
            "perf sched record": [perf, "sched", "record", "-o", "p.data"],
            "perf sched record -g": [perf, "sched", "record", "-g", "-o", "p.data"],
            "perf record --off-cpu": [perf, "record", "--off-cpu", "-o", "p.data"], "strace -c": ["strace", "-f", "-c", "-o", "s.txt"]}
    least = {}
    for _ in range(TURNS):
        for name, words in ways.items():
            x = took(words, ROUNDS if "strace" not in name else ROUNDS // 10, work)
            if x is not None:
                least[name] = min(least.get(name, x), x)
    base = least["nothing"]
    print("two switches take %.1f us: %d switches a second" % (base, 2e6 / base))
    for name in ways:
        if name in least:
            print("%-26s %+6.2f us a switch, %+5.1f %%" % (name, (least[name] - base) / 2, 100 * (least[name] - base) / base))
        else:
            print("%-26s does not run here" % name)


with tempfile.TemporaryDirectory() as where:
    os.chdir(where)
    main()
    os.chdir("/")
