#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/unwind.py BUILD - what call chains of 36 frames cost: record -g (unwound while recording), -g=fp, perf record --call-graph dwarf
of 8 kB, by turns. Processor time a sample: of the program beside a run without a recorder (what the kernel takes), and of the recorder
less that of a run of a program that ends at once. The program has frame pointers, so that all chains are whole. The least of several turns.

   BENCH_QUICK=1   fewer turns, a shorter program
   BENCH_PERF=...  another perf
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
volatile long sink;
__attribute__((noinline)) void leaf(long n) { for (long i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) int deep(int depth, long n) { volatile char pad[40]; pad[0] = (char)depth; int r = depth ? deep(depth - 1, n) : (leaf(n), 0); return r + pad[0]; }
int main(int argc, char **argv)
{
	struct timespec t;
	sink += deep(31, argc > 1 ? atol(argv[1]) : 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	fprintf(stderr, "used %.3f us\n", (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3);
	return 0;
}
"""
QUICK = bool(os.environ.get("BENCH_QUICK"))
TURNS, WORK = (3, 1500000000) if QUICK else (9, 6000000000)
perf = os.environ.get("BENCH_PERF") or shutil.which("perf") or "perf"
cyclade = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build"), "src/cli/cyclade")


def took(words, work):
    """us of processor time of the program and of all else, and samples; None: it does not run."""
    with open("said.txt", "w+", encoding="utf-8") as said:
        p = subprocess.Popen([*words, "taskset", "-c", "1" if (os.cpu_count() or 1) > 1 else "0", "./deep", str(work)], stdout=said, stderr=said)
        _, _, use = os.wait4(p.pid, 0)
        p.returncode = 0
        said.seek(0)
        text = said.read()
    m = re.search(r"used ([\d.]+) us", text)
    if not m:
        return None
    n = re.search(r"([\d,]+) samples?(?: in|\))", text)
    program = float(m[1])
    return program, (use.ru_utime + use.ru_stime) * 1e6 - program, int(n[1].replace(",", "")) if n else 0


def main():
    kinds = {"none": []}
    for hz in ("1000", "4000"):
        common = ["-e", "cpu-clock:u", "-F", hz, "-o", "x.data"]
        kinds["cyclade -g=fp, %s Hz" % hz] = [cyclade, "record", "-g=fp", *common, "--"]
        kinds["cyclade -g, %s Hz" % hz] = [cyclade, "record", "-g", *common, "--"]
        kinds["perf dwarf, %s Hz" % hz] = [perf, "record", "--call-graph", "dwarf", *common, "--"]
    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        with open("deep.c", "w", encoding="ascii") as f:
            f.write(PROGRAM)
        subprocess.run(["gcc", "-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "deep.c", "-o", "deep"], check=True)
        least = {k: [9e18, 9e18, 0, 0] for k in kinds}
        for _ in range(TURNS):
            for name, words in kinds.items():
                idle, got = took(words, 0), took(words, WORK)
                if not got or not idle:
                    least.pop(name, None)
                    continue
                if name in least:
                    row = least[name]
                    row[0], row[1] = min(row[0], got[0]), min(row[1], got[1] - idle[1])
                    row[2], row[3] = got[2], os.path.getsize("x.data") if words else 0
        base = least.pop("none")[0]
        print("%-24s %8s %14s %14s %12s" % ("", "samples", "kernel us", "recorder us", "file"))
        for name, (program, recorder, n, size) in least.items():
            if n:
                print("%-24s %8d %14.2f %14.2f %9.1f kB" % (name, n, (program - base) / n, recorder / n, size / 1e3))


main()
