#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/waits.py BUILD - what recording switches costs a program that switches 100,000 times a second: two threads that send a byte
to and fro over two pipes on one CPU, and compute in between. Beside record --wait with chains of some switches (auto), all and none:
perf record --off-cpu (where it is built and may run), perf sched record without and with call chains, perf record of time alone,
strace -c. Processor time of the program's loop, and of the recorder less that of a run of one round, so that other work on the machine
is not in it. The least of several turns.

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
static double used(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
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
	begin = used();
	for (long i = 0; i < n; i++) { if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1) return 1; compute(); }
	fprintf(stderr, "used %.3f us\n", (used() - begin) * 1e6);
	return pthread_join(t, NULL);
}
"""
QUICK = bool(os.environ.get("BENCH_QUICK"))
TURNS, ROUNDS = (2, 5000) if QUICK else (7, 40000)
perf = os.environ.get("BENCH_PERF") or shutil.which("perf") or "perf"
cyclade = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build"), "src/cli/cyclade")


def took(words, rounds, work):
    """us of processor time: of the program's loop, and of all else; None: it does not run."""
    with open("said.txt", "w+", encoding="utf-8") as said:
        p = subprocess.Popen([*words, "taskset", "-c", "0", "./ping", str(rounds), str(work)], stdout=said, stderr=said)
        _, _, use = os.wait4(p.pid, 0)
        p.returncode = 0
        said.seek(0)
        m = re.search(r"used ([\d.]+) us", said.read())
    return (float(m[1]), (use.ru_utime + use.ru_stime) * 1e6 - float(m[1])) if m else None


def main():
    with open("ping.c", "w", encoding="ascii") as out:
        out.write(PROGRAM)
    subprocess.run(["cc", "-O2", "-pthread", "-o", "ping", "ping.c"], check=True)
    work = 0  # so much that two switches take 20 us
    for step in (4096, 2048, 1024, 512, 256, 128, 64):
        while min(took([], 2000, work + step)[0] for _ in range(3)) < 2000 * 20:
            work += step
    ours = [cyclade, "record", "--wait", "-m", "2048", "-o", "w.data"]
    ways = {"nothing": []}
    for name, more in (("", []), (" -e dummy", ["-e", "dummy"]), (" -a", ["-a"]), (" -a -e dummy", ["-a", "-e", "dummy"]),
                       (" --wait-chains=none -e dummy", ["--wait-chains=none", "-e", "dummy"]), (" --wait-chains=all", ["--wait-chains=all"])):
        ways["cyclade record --wait" + name] = [*ours, *more, "--"]
    ways.update({"perf sched record": [perf, "sched", "record", "-o", "p.data"], "perf sched record -g": [perf, "sched", "record", "-g", "-o", "p.data"],
                 "perf record -F 4000": [perf, "record", "-e", "cpu-clock", "-F", "4000", "-o", "p.data"],
                 "perf record --off-cpu": [perf, "record", "--off-cpu", "-o", "p.data"], "strace -c": ["strace", "-f", "-c", "-o", "s.txt"]})
    least, recorder = {}, {}
    for _ in range(TURNS):
        for name, words in ways.items():
            rounds = ROUNDS // 10 if "strace" in name else ROUNDS
            x, one = took(words, rounds, work), took(words, 1, work)
            if x is not None and one is not None:
                least[name] = min(least.get(name, 1e9), x[0] / rounds)
                recorder[name] = min(recorder.get(name, 1e9), max(x[1] - one[1], 0) / rounds)
    base = least["nothing"]
    print("two switches take %.1f us: %d switches a second" % (base, 2e6 / base))
    print("%-50s %12s %8s %12s" % ("us a switch", "the program", "", "the recorder"))
    for name in ways:
        if name in least:
            print("%-50s %+12.2f %+7.1f%% %12.2f" % (name, (least[name] - base) / 2, 100 * (least[name] - base) / base, recorder[name] / 2))
        else:
            print("%-50s does not run here" % name)


with tempfile.TemporaryDirectory() as where:
    os.chdir(where)
    main()
    os.chdir("/")
