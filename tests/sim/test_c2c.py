#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade sharing` and `perf c2c report` of one file: what `perf c2c record` wrote on a simulated machine whose loads and stores are of
planted cache lines (access.h). Lines, sums, and accesses by byte, thread and instruction are the same, but for two things that perf does:
it adds each remote HITM with mem_remote to the loads of remote memory as well, so that one sample is two, and it shows a line twice
where both the kernel and the program accessed it."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, KERNEL, PERF, SANITIZED, SIMULATED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
DATA = os.path.join(tmp.name, "c2c.data")
TWO = os.path.join(tmp.name, "two")
SHARED_AT = 0x7f1000000000
THREADS = r"""  /* two threads that take turns of a millisecond, however busy the machine is */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static long turns, turn;
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static void *work(void *which)
{
	volatile unsigned long n = 0;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (turn < turns && turn % 2 != (which != NULL))
			pthread_cond_wait(&passed, &lock);
		pthread_mutex_unlock(&lock);
		if (turn >= turns)
			return NULL;
		for (double end = now() + 1; now() < end;)
			for (int i = 0; i < 20000; i++)
				n += (unsigned long)i;
		pthread_mutex_lock(&lock);
		turn++;
		pthread_cond_broadcast(&passed);
		pthread_mutex_unlock(&lock);
	}
}
int main(int argc, char **argv)
{
	pthread_t a, b;

	turns = 2 * (argc > 1 ? atol(argv[1]) : 100);
	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, &b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
"""


def record(machine, *words, ms=60):
    return run_on(machine, "even", *words, "--", TWO, str(ms), settings="sharing=1", timeout=120)


def c2c(perf, machine, *words):
    """`perf c2c record`. It takes its memory events from cpuid (x86__is_amd_cpu()), which nobody simulates: on AMD's CPUs it looks for ibs_op on
    each machine. There it gets the words of builtin-c2c.c and the events of arch/x86/util/mem-events.c for the machine's PMU."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        amd = "AuthenticAMD" in f.read()
    if not amd:
        return record(machine, perf, "c2c", "record", *words, "-o", DATA)
    loads = {"spr": "{cpu/mem-loads-aux/,cpu/mem-loads,ldlat=30/}:P", "ivb": "cpu/mem-loads,ldlat=30/P"}[machine]
    return record(machine, perf, "record", "-W", "-d", "--phys-data", "--sample-cpu", "-e", loads, "-e", "cpu/mem-stores/P", *words, "-o", DATA)


class Perfs:
    """What perf's three tables say. Accesses of a line that perf shows twice are added up."""
    def __init__(self, perf):
        p = subprocess.run([perf, "c2c", "report", "--stdio", "--no-source", "--coalesce", "tid,iaddr", "-i", DATA], capture_output=True, text=True,
                           errors="replace", timeout=300, stdin=subprocess.DEVNULL)
        self.said, self.total, self.lines, self.accesses = p.stdout + p.stderr, {}, collections.Counter(), collections.Counter()
        self.rows = 0
        line = None
        for row in p.stdout.splitlines():
            w = row.split()
            m = re.match(r"  ([A-Z].*?) +: +(\d+)$", row)
            if m:
                self.total.setdefault(m.group(1), int(m.group(2)))
            elif len(w) > 20 and re.match(r"0x[0-9a-f]{8,}$", w[1]) and w[4].endswith("%"):
                self.rows += 1
                for key, n in zip(("hitm", "local", "remote", "samples", "loads", "stores"), w[5:11]):
                    self.lines[int(w[1], 16), key] += int(n)
            elif len(w) == 7 and re.match(r"\d+$", w[0]) and w[6].startswith("0x"):
                line = int(w[6], 16)
            elif len(w) > 13 and w[0].endswith("%") and w[5].startswith("0x"):
                tid = int(w[8].split(":")[0])
                self.accesses[line, int(w[5], 16), tid, int(w[9], 16)] += int(w[13])


def ours():
    """The same, with each remote HITM twice, as perf has it."""
    r = run("sharing", "-j", DATA)
    if r.returncode:
        return {}, collections.Counter(), r.stderr
    j = json.loads(r.stdout)
    lines = collections.Counter()
    for x in j["lines"]:
        if x["hitm_local"] + x["hitm_remote"]:
            for key, n in (("hitm", x["hitm_local"] + x["hitm_remote"]), ("local", x["hitm_local"]), ("remote", x["hitm_remote"]),
                           ("samples", x["samples"] + x["hitm_remote"]), ("loads", x["loads"] + x["hitm_remote"]), ("stores", x["stores"])):
                lines[int(x["cache_line"], 16), key] += n
    return j, lines, ""


def accesses(lines):
    """By byte, thread and instruction, as SQL has the samples. perf leaves out instructions that were only seen to load what nobody had modified."""
    r = run("sql", DATA, "-j", "SELECT addr, tid, ip, count(*) AS n, sum(data_snoop = 'hitm' AND coalesce(data_remote, 0)) AS twice FROM samples "
            "WHERE addr >= %d AND addr < %d AND data_op IN ('load', 'store') GROUP BY 1, 2, 3 "
            "HAVING max(data_op = 'store' OR data_snoop = 'hitm')" % (SHARED_AT, SHARED_AT + 512))
    if r.returncode:
        return r.stderr
    rows = [(int(x["addr"], 16), x) for x in json.loads(r.stdout)["rows"]]
    return {(at // 64 * 64, at % 64, x["tid"], int(x["ip"], 16)): x["n"] + (x["twice"] or 0) for at, x in rows if at // 64 * 64 in lines}


def test_lines(perf, machine, name):
    r = c2c(perf, machine, "--all-user")
    if not t.ok(r.returncode == 0, "%s: perf c2c records" % name, r.stdout + r.stderr):
        return
    theirs = Perfs(perf)
    j, lines, why = ours()
    t.ok(len(theirs.lines) == 4 * 6 and min(theirs.lines[SHARED_AT + 64 * i, "samples"] for i in range(4)) > 10, "%s: perf finds the four lines with HITMs" % name,
         theirs.said)
    t.equal(lines, theirs.lines, "%s: the same lines and sums %s" % (name, why))
    verdict = {(int(x["cache_line"], 16) - SHARED_AT) // 64: x["verdict"] for x in j["lines"]}
    t.equal(verdict, {0: "true sharing", 1: "true sharing", 2: "false sharing", 3: "false sharing", 4: "read only", 5: "lock", 6: "true sharing"},
            "%s: and each is what was planted" % name)
    t.equal([j[k] for k in ("loads", "stores", "locked", "hitm_local", "hitm_remote")],
            [theirs.total.get(k) for k in ("Load Operations", "Store Operations", "Locked Load/Store Operations", "Load Local HITM", "Load Remote HITM")],
            "%s: the same totals" % name)
    at = {x for x, _ in theirs.lines}
    t.equal(accesses(at), dict(theirs.accesses), "%s: the same accesses by byte, thread and instruction" % name)


def test_kernel(perf):
    """Accesses that the kernel makes for a program are of the program's lines: perf has rows of their own for them."""
    r = c2c(perf, "spr")
    theirs = Perfs(perf)
    _, lines, why = ours()
    hitm = ("hitm", "local", "remote")
    t.ok(r.returncode == 0 and theirs.rows >= 4, "with the kernel's accesses: perf c2c records", r.stderr + theirs.said)
    t.equal({k: n for k, n in lines.items() if k[1] in hitm and n}, {k: n for k, n in theirs.lines.items() if k[1] in hitm and n},
            "with the kernel's accesses: as many HITMs of each line %s" % why)


def test_ours(perf):
    """What cyclade recorded, read by perf."""
    r = record("spr", CYCLADE, "record", *SYSROOT, "--mem", "--user", "-o", DATA)
    theirs = Perfs(perf)
    _, lines, why = ours()
    t.ok(r.returncode == 0 and lines, "record --mem records", r.stderr)
    t.equal(lines, theirs.lines, "record --mem: the same lines and sums %s" % why)


def main():
    if SANITIZED or not SIMULATED:
        t.skip("all of it", "perf does not run with a sanitizer's library before it")
        t.done()
    if not PERF:
        t.skip("all of it", "no perf")
        t.done()
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-x", "c", "-", "-o", TWO], input=THREADS, text=True, check=True)
    if record("spr", CYCLADE, "record", *SYSROOT, "-e", "cycles", "-o", DATA, ms=5).returncode:
        t.skip("all of it", "no sampling here")
        t.done()
    for perf, name in (PERF, "perf"), (os.environ.get("CYCLADE_PERF612"), "perf 6.12"), (os.environ.get("CYCLADE_PERF7"), "perf 7"):
        if perf:
            for machine in ("spr", "ivb") if perf == PERF else ("spr",):
                test_lines(perf, machine, "%s, %s" % (name, machine))
        else:
            t.skip(name, "no %s: CYCLADE_PERF612, CYCLADE_PERF7" % name)
    if KERNEL:
        test_kernel(PERF)
    else:
        t.skip("the kernel's accesses", "the kernel may not be sampled here")
    test_ours(PERF)
    t.done()


main()
