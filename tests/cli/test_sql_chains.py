#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Call chains in sql against those of report -g, for every way in which chains come about: the kernel's walk, registers and stack
(-g=dwarf, by cyclade and by perf), LBR call stacks; with inlined calls; and lines of inlined calls against addr2line."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import NO_SHARED, PERF, SHARED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-chains-")
os.chdir(tmp)
PROGRAM = r"""
volatile unsigned long sink;
static inline __attribute__((always_inline)) void innie(long n) { for (long i = 0; i < n; i++) sink += i * 3; }
static inline __attribute__((always_inline)) void middle(long n) { innie(n); sink++; }
__attribute__((noinline)) void outie(long n) { middle(n); sink ^= 1; }
__attribute__((noinline)) void other(long n) { for (long i = 0; i < n; i++) sink ^= i; }
int main(void)
{
	for (int i = 0; i < 20; i++) {
		outie(2000000);
		other(2000000);
		sink ^= 1;
	}
	return 0;
}
"""


def ask(query, path):
    p = run("sql", "--format", "json", "-i", path, query)
    return json.loads(p.stdout)["rows"] if p.returncode == 0 else None


def whole(chain):
    """From the program's own functions on: what is outside is the C library's, where only one of the two joins callers in no mapping."""
    at = chain.split(";")
    own = [i for i, x in enumerate(at) if x in ("main", "outie", "other")]
    return ";".join(at[own[0]:]) if own else None


def compare(name, path, least):
    p = run("report", "-g", "--max-stack", "65536", "--format", "folded", "-i", path)
    theirs = collections.Counter()
    for line in p.stdout.splitlines():
        chain, n = line.rsplit(" ", 1)
        theirs[whole(chain)] += int(n)
    rows = ask("SELECT chain, sum(period) AS p FROM samples GROUP BY chain", path)
    ours = collections.Counter()
    for r in rows or []:
        ours[whole(r["chain"] or "")] += r["p"] or 0
    for x in (ours, theirs):
        x.pop(None, None)
    t.ok(len(theirs) >= least, name + ": report -g has chains", p.stdout[:300] + p.stderr[:300])
    t.equal(dict(ours), dict(theirs), name + ": samples.chain is what report -g has")
    frames = collections.defaultdict(list)
    for r in ask("SELECT sample, function FROM frames ORDER BY sample, depth DESC", path) or []:
        frames[r["sample"]].append(r["function"])
    for r in ask("SELECT sample, chain FROM samples WHERE chain IS NOT NULL", path) or []:
        want = [None if re.search(r"(^|\+)0x[0-9a-f]+$", f) else f for f in r["chain"].split(";")]
        if frames.pop(r["sample"], None) != want:
            return t.ok(False, name + ": rows of frames", r)
    t.equal(dict(frames), {}, name + ": rows of frames")
    sums = [collections.Counter(), collections.Counter()]
    for x, query in zip(sums, ("SELECT chain, count(*) AS n FROM samples WHERE chain IS NOT NULL GROUP BY chain",
                               "SELECT chain, sum(samples) AS n FROM chains GROUP BY chain")):
        for r in ask(query, path) or []:
            x[r["chain"]] += r["n"]
    t.equal(*[dict(x) for x in sums], name + ": chains and their samples")
    return None


def lines(name, path):
    """addr2line on the address of each frame of user space: functions and lines, innermost first."""
    rows = ask("SELECT DISTINCT address, depth > 0 AS caller, function, inlined, line, sample, depth FROM frames WHERE dso = 'prog' ORDER BY sample, depth", path)
    at, bad, seen = collections.OrderedDict(), [], set()
    for r in rows or []:
        at.setdefault((r["sample"], r["address"]), []).append(r)
    for (_, address), frames in at.items():
        if address in seen:
            continue
        seen.add(address)
        where = int(address, 16) - (1 if frames[-1]["caller"] and not frames[0]["depth"] == 0 else 0)
        text = subprocess.run(["addr2line", "-ife", "prog", hex(where)], capture_output=True, text=True).stdout.split("\n")
        want = [(f, int(l.split(":")[1].split()[0]) if l.split(":")[1][0] != "?" else None) for f, l in zip(text[::2], text[1::2])]
        got = [(f["function"], f["line"]) for f in frames]
        if got != want and "??" not in text[0]:
            bad.append((address, got, want))
    t.ok(len(seen) > 3 and not bad, "%s: functions and lines of %d addresses as addr2line has them" % (name, len(seen)), bad[:3])


with open("prog.c", "w") as f:
    f.write(PROGRAM)
if run("sql", "-i", "/nonexistent", "SELECT 1").stderr.find("built without") >= 0:
    t.skip("chains in sql", "built without SQL")
elif subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", "prog", "prog.c"]).returncode:
    t.skip("chains in sql", "no compiler")
else:
    for name, words in (("frame pointers", ["-g=fp"]), ("registers and stack", ["-g=dwarf"])):
        p = run("record", "-q", *words, "-o", "x.data", "--", "./prog")
        if p.returncode:
            t.skip(name, "cannot record here")
            continue
        compare(name, "x.data", 2)
        lines(name, "x.data")
    if PERF and shutil.which(PERF) and not subprocess.run([PERF, "record", "-q", "--call-graph", "dwarf", "-e", "cpu-clock", "-o", "p.data", "./prog"],
                                                          capture_output=True).returncode:
        compare("perf record --call-graph dwarf", "p.data", 2)
    else:
        t.skip("perf record --call-graph dwarf", "perf cannot record here")
    # LBR call stacks, of programs that are not here: addresses
    for name in ("perfparser-vector_static_gcc-perf.lbr.data", "Recursion-Engine-perf.data.old"):
        path = os.path.join(SHARED, "corpus", "recordings", name)
        if not os.path.exists(path):
            t.skip(name, NO_SHARED)
            continue
        theirs = collections.Counter()
        for line in run("report", "-g", "--max-stack", "65536", "--format", "folded", "-i", path).stdout.splitlines():
            chain, n = line.rsplit(" ", 1)
            theirs[len(chain.split(";"))] += int(n)
        rows = ask("SELECT frames, sum(period) AS p FROM samples GROUP BY frames", path)
        t.ok(max(r["frames"] or 0 for r in rows) > 4 and sum(r["p"] for r in rows) == sum(theirs.values()), name + ": LBR call stacks have frames", rows[:5])
        # where the chain has a mark of user space; else the kernel's frames are all
        deep = ask("SELECT s.sample, s.branches AS b, count(*) AS n FROM samples AS s JOIN frames AS f ON f.sample = s.sample "
                   "WHERE f.mode = 'user' AND NOT f.inlined AND s.branches > 0 GROUP BY s.sample HAVING n != b + 1", path)
        t.equal(deep, [], name + ": an entry of the branch stack is a frame")
os.chdir("/")
shutil.rmtree(tmp)
t.done()
