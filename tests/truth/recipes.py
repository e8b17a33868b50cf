# SPDX-License-Identifier: BSD-3-Clause
"""recipes - what the questions of questions.tsv are asked about: programs, recordings, counts.

Each function of TABLE makes its files in the directory that it gets and returns facts, {name: value}, which an answer names
as $name. Facts come from elsewhere than cyclade: perf on the same file, the compiler, what was planted. Missing(why): the
questions are skipped.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
from kernel_names import short_kallsyms  # noqa: E402
from tap import CYCLADE, NO_PLUGINS, NO_SHARED, PERF, SHARED  # noqa: E402

CC = os.environ.get("CC", "cc").split()[-1]


class Missing(Exception):
    pass


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Missing("no %s here" % p)


def done(argv, cwd, **kw):
    """Its standard output; a command that fails ends the recipe with what it printed."""
    p = subprocess.run(argv, cwd=cwd, text=True, errors="replace", capture_output=True, stdin=subprocess.DEVNULL,
                       timeout=600, **kw)
    if p.returncode:
        raise RuntimeError("%s: exit %d\n%s" % (" ".join(argv), p.returncode, p.stderr[-2000:]))
    return p.stdout


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def perf_record(d, out, *words, who=None, event="cpu-clock", env=None):
    done([who or PERF, "record", "-q", "-o", out, "-e", event, *words], d, env=env or (None if who == CYCLADE else short_kallsyms(d)))


def perf_rows(d, path, sort):
    """[(share in per cent, the rest of the row)] as perf report prints them"""
    out = done([PERF, "report", "-i", path, "--stdio", "-q", "--no-children", "-g", "none", "--percent-limit", "0", "-F",
                "overhead," + sort, "-t", "\t"], d, env=short_kallsyms(d))
    rows = [x.split("\t") for x in out.splitlines() if re.match(r"\s*[\d.]+%? *\t", x)]
    return [(float(r[0].strip().rstrip("%")), [c.strip() for c in r[1:]]) for r in rows]


BUSY = """
volatile unsigned long sink;
%s void work(unsigned long n) { while (n--) sink += n; }
void %s(unsigned long n) { work(n); }
"""


def twins(d):
    """Two static functions of one name, in two files; one takes eight times as long."""
    need("perf", CC)
    for name in ("more", "less"):
        text = BUSY % ("static __attribute__((noinline))", name)
        write(os.path.join(d, name + ".c"), text if name == "more" else text.replace("volatile", "extern volatile"))
    write(os.path.join(d, "main.c"),
          "void more(unsigned long); void less(unsigned long);\nint main(void) { more(240000000); less(30000000); return 0; }\n")
    done([CC, "-O1", "-g", "-fno-optimize-sibling-calls", "-o", "twins", "main.c", "more.c", "less.c"], d)
    perf_record(d, "perf.data", "--", "./twins")
    shares = [s for s, row in perf_rows(d, "perf.data", "sym,srcline") if row and "work" in row[0]]
    by_line = {}
    for s, row in perf_rows(d, "perf.data", "sym,srcfile"):
        if "work" in row[0]:
            by_line[row[-1]] = by_line.get(row[-1], 0) + s
    shares = sorted(by_line.values())
    if len(shares) != 2:
        raise Missing("perf does not tell the two functions apart here: %r" % by_line)
    return {"low": shares[0] / 100, "high": shares[1] / 100}


def elsewhere(d):
    """A program compiled by a relative path in another directory, and another file of that relative path below ours."""
    need("perf", CC)
    write(os.path.join(d, "project", "lib", "spin.c"),
          "volatile unsigned long sink;\n__attribute__((noinline)) void spin(void)\n{\n\tfor (unsigned long i = 0; i < 100000000; i++)\n"
          "\t\tsink += i; /* the true source */\n}\nint main(void) { spin(); return 0; }\n")
    os.makedirs(os.path.join(d, "project", "build"))
    done([CC, "-O1", "-g", "-o", "spin", "../lib/spin.c"], os.path.join(d, "project", "build"))
    write(os.path.join(d, "lib", "spin.c"), "not the source\n" * 8)
    os.makedirs(os.path.join(d, "here"))  # where the questions are asked: ../lib/spin.c is there, too
    perf_record(os.path.join(d, "here"), "perf.data", "--", "../project/build/spin")
    return {}


def moved(d):
    """The sources are no longer where they were compiled."""
    elsewhere(d)
    os.rename(os.path.join(d, "project", "lib"), os.path.join(d, "away"))
    return {"old": os.path.realpath(os.path.join(d, "project", "lib")), "new": os.path.realpath(os.path.join(d, "away"))}


DEEP = """
#include <string.h>
volatile unsigned long sink;
__attribute__((noinline)) unsigned long down(unsigned depth)
{
	volatile char room[64];
	memset((char *)room, (int)depth, sizeof(room));
	if (!depth) {
		for (unsigned long i = 0; i < 100000; i++)
			sink += i;
		return sink;
	}
	return down(depth - 1) + (unsigned char)room[3];
}
int main(void) { for (int i = 0; i < 1500; i++) sink += down(20); return 0; }
"""


def frames(d, path):
    """Frames of the median sample, as perf script prints the chains of a recording: some are of the program's start."""
    out = done([PERF, "script", "-i", path, "-F", "ip,sym"], d, env=short_kallsyms(d))
    samples = [x for x in out.split("\n\n") if x.strip()]
    return statistics.median(len(s.strip().splitlines()) for s in samples) if samples else 0


def deep(d):
    """Twenty calls deep without frame pointers: recorded with its stack by perf and by cyclade."""
    need("perf", CC)
    write(os.path.join(d, "deep.c"), DEEP)
    done([CC, "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "deep", "deep.c"], d)
    for who, out in ((PERF, "perf.data"), (CYCLADE, "own.data")):
        perf_record(d, out, "-F", "400", "--call-graph=dwarf", "--", "./deep", who=who)
    return {"frames": frames(d, "perf.data"), "ours_in_perf": frames(d, "own.data")}


def counts(d):
    """What perf stat prints, in each of its forms, of cycles and instructions of a simulated Ivy Bridge.

    cycles:k is 0 there: it must not take the place of cycles."""
    need("perf")
    import sim  # makes a directory of its own when it is loaded
    facts = {}
    for name, words in (("csv", ["-x,"]), ("semicolon", ["-x;"]), ("json", ["-j"]), ("table", [])):
        out = os.path.join(d, name + ".out")
        p = sim.run_on("ivb", "even", PERF, "stat", *words, "-o", out, "-e", "cycles,instructions,cycles:k", sim.SPIN, "30")
        if p.returncode:
            raise Missing("perf stat on the simulated machine: " + p.stderr.strip())
        with open(out, encoding="utf-8") as f:
            text = f.read()
        pattern = {"csv": r"^(\d+),,%s,", "semicolon": r"^(\d+);;%s;", "json": r'"counter-value" : "(\d+)\.0+".*"%s"',
                   "table": r"^\s+([\d,]+) +%s\s"}[name]
        cycles, insns = (int(re.search(pattern % e, text, re.M).group(1).replace(",", ""))
                         for e in ("cycles", "instructions"))
        facts.update({name + "_cycles": cycles, name + "_ipc": insns / cycles})
    return facts


def nested(d):
    """Loops of 7 by 5 by 40 trips in an emulator, and branch stacks of 32 of all that it did."""
    import truth
    if not truth.QEMU or not os.path.exists(os.path.join(truth.BUILT, "oracle.so")):
        raise Missing(NO_PLUGINS if not truth.QEMU else "no plugin is built for this machine")
    path = os.path.join(d, "perf.data")
    done([truth.QEMU, "-plugin", "%s/oracle.so,data=%s,truth=%s.truth,seed=1,depth=32,period=62" % (truth.BUILT, path, path),
          truth.program("nested"), "300"], d, env={})
    return {}


def account(d):
    """A cycle account of a Skylake server, put together sample by sample: hot waits for memory, cold does not."""
    from account_made import Made
    m = Made(d)
    for function, n in (("hot", 300), ("cold", 100)):
        m.put(function, "CPU_CLK_UNHALTED.THREAD", n)
        m.put(function, "CPU_CLK_UNHALTED.REF_TSC", n)
    m.put("hot", "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", 200)
    m.put("hot", "UOPS_RETIRED.STALL_CYCLES", 200)
    m.write(os.path.join(d, "perf.data"))
    return {"dram": 200 * 10007 * 167, "stalled": 200 * 2000003}  # samples x period x penalty


def drill(d):
    """The drill-down on programs that change their ways, replayed: shares of the bars that hold the planted truth."""
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
    import test_drill_figures as figures
    if not os.path.exists(figures.REPLAY):
        raise Missing("no " + figures.REPLAY)
    facts = {}
    for machine in ("ivb", "zen4"):
        f = figures.examine(machine, 80, seed=7)
        held, of = (sum(x) for x in zip(*(v for k, v in f.bars.items() if k[0] == "drill")))
        facts.update({machine + "_held": held / of, machine + "_found": f.found(), machine + "_excess": f.excess})
    return facts


def corpus(d):
    """Recordings of other machines."""
    path = os.path.join(SHARED, "corpus", "recordings")
    if not os.path.isdir(path):
        raise Missing(NO_SHARED)
    os.symlink(os.path.realpath(path), os.path.join(d, "recordings"))
    return {}


TABLE = {f.__name__: f for f in (twins, elsewhere, moved, deep, counts, nested, account, drill, corpus)}
