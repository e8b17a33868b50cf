#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""NUMA nodes and locked lines in `mem`: planted objects of a machine with two nodes, of one with one, and without physical
addresses; the nodes' memory in recordings against perf's reading of them."""
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import heap_made  # noqa: E402
import mem_made  # noqa: E402
import tables  # noqa: E402
from heap_made import memory, topology  # noqa: E402
from tap import PERF, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-numa-")
os.chdir(tmp.name)
MB = 1 << 20
ARRAYS = ["local", "bound", "table", "parted", "spread", "quiet"]
with open("arrays.c", "w", encoding="ascii") as f:
    f.write("".join("char %s_[1 << 20] __attribute__((aligned(4096)));\n" % a for a in ARRAYS) + "long locks[16] __attribute__((aligned(64)));\n"
            "int main(void) { return 0; }\n")
subprocess.run(["cc", "-g", "-no-pie", "arrays.c", "-o", "arrays"], check=True)
at = {}
for line in subprocess.run(["nm", "arrays"], capture_output=True, text=True, check=True).stdout.splitlines():
    word = line.split()
    at[word[-1].rstrip("_")] = int(word[0], 16) if len(word) == 3 else 0

# ---- the machine: CPUs 0-3 and 8 GB each, blocks of 128 MB; the second node's begin behind a hole --------
BLOCK = 128 * MB
BLOCKS = {0: range(0, 64), 1: range(80, 144)}
CPUS = {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]}

# ---- samples --------------------------------------------------------------------------------------------
LOAD, STORE, LOCKED, UNLOCKED = 2, 4, 2 << 24, 1 << 24
LOCAL, REMOTE, L1 = LOAD | (2 | 0x80) << 5 | 13 << 33, LOAD | (2 | 0x100) << 5 | 13 << 33 | 1 << 37, LOAD | (2 | 8) << 5 | 1 << 33
NEAR, FAR, HIT = 100, 300, 5
rnd = random.Random(18)


class Made:
    def __init__(self):
        self.samples, self.cpus, self.physical, self.ways, self.objects = [], [], [], collections.defaultdict(list), collections.Counter()

    def add(self, name, offset, user, home, kind=None):
        """A sample of a CPU of node `user`, of memory of node `home`. kind None: its data came from there."""
        latency = {None: (NEAR if user == home else FAR) + rnd.randrange(-20, 21), LOAD: HIT}.get(kind, 0)
        src = (LOCAL if user == home else REMOTE) if kind is None else L1 if kind == LOAD else STORE
        self.samples.append((1000 + len(self.samples), at[name] + offset, 500 + user, src | UNLOCKED, latency))
        self.cpus.append(rnd.choice(CPUS[user]))
        self.physical.append(BLOCKS[home][0] * BLOCK + rnd.randrange(BLOCK * 64))
        if kind is None:
            self.ways[user, home].append(latency)
            self.objects[name, user != home] += 1

    def lock(self, line, user, latency):
        self.samples.append((1000 + len(self.samples), at["locks"] + 64 * line + 8 * rnd.randrange(8), 500 + user, L1 | LOCKED, latency))
        self.cpus.append(CPUS[user][0])
        self.physical.append(4096)

    def write(self, path, nodes=(0, 1), physical=True, header=True):
        features = {14: topology({n: CPUS[n] for n in nodes}), 22: memory({n: BLOCKS[n] for n in nodes}, BLOCK)} if header else {}
        if len(nodes) == 1:
            features = {14: topology({0: CPUS[0] + CPUS[1]}), 22: memory({0: range(0, 144)}, BLOCK)}
        heap_made.write(path, "arrays", self.samples, b"", 500, cpus=self.cpus, physical=self.physical if physical else None, features=features)


def planted(wrong=True):
    m = Made()
    for i in range(3000):
        both, page = i & 1, i % 200 * 4096 + i * 8 % 4096
        m.add("local", page, both if not wrong else both, both)
        m.add("bound", page, 0, int(wrong))
        m.add("table", page, both, 0 if wrong else both)
        m.add("parted", page, i % 200 & 1, 1 - (i % 200 & 1) if wrong else i % 200 & 1)
        m.add("spread", page, rnd.randrange(2) if wrong else both, 0 if wrong else both)
        m.add("quiet", page, 0, 1, LOAD)  # remote, but in the cache
        if i % 4 == 0:
            for a in ("parted", "spread", "bound"):
                m.add(a, page, i % 200 & 1 if a == "parted" else rnd.randrange(2) if a == "spread" else 0, 0, STORE)
    for i in range(900):
        m.lock(0 if i % 3 else 1, i & 1, 200 + i % 11 if i % 3 else 50)
    return m


def doc(path):
    p = run("mem", path, "-j")
    return json.loads(p.stdout) if p.returncode == 0 else {"error": p.stderr}


def near(a, b, within=1e-9):
    return a is not None and abs(a - b) <= within * max(1, abs(b))


def matrix(name, path, made):
    rows = {(r["cpu_node"], r["memory_node"]): r for r in doc(path).get("nodes", [])}
    every = sum(len(v) for v in made.ways.values())
    t.equal({k: r["reached"] for k, r in rows.items() if r["reached"]}, {k: len(v) for k, v in made.ways.items()}, name + ": the matrix")
    t.ok(all(near(rows[k]["mean"], sum(v) / len(v)) and near(rows[k]["share"], len(v) / every) and rows[k]["share_error"] < 0.02 for k, v in made.ways.items()),
         name + ": shares and mean latencies", rows)


bad, good = planted(), planted(wrong=False)
bad.write("bad.data")
good.write("good.data")
matrix("physical addresses", "bad.data", bad)
matrix("all local", "good.data", good)
d = doc("bad.data")
total = sum(s[4] for s in bad.samples)
rows = {re.sub("_$", "", r["object"]): r for r in d["object_nodes"]}
ADVICE = dict(local=None, bound="bind", table="replicate", parted="first touch", spread="interleave", quiet=None)
t.equal({a: rows[a]["advice"] for a in ARRAYS}, ADVICE, "advice by object")
t.equal({a: (rows[a]["users"], rows[a]["home"]) for a in ARRAYS if a != "quiet"},
        dict(local=(None, None), bound=(0, 1), table=(None, 0), parted=(None, None), spread=(None, 0)), "who uses it, and where it lies")
for a in ARRAYS:
    n, r = bad.objects[a, True], rows[a]
    if a == "quiet":
        t.ok(r["cycles_share"] == 0 and r["reached"] == 0 and r["remote_share"] is None and r["remote_share_why"], "what comes from a cache costs nothing", r)
        continue
    t.ok(near(r["remote_share"], n / (n + bad.objects[a, False])), a + ": remote share", r)
    t.ok(abs(r["cycles_share"] - n * (FAR - NEAR) / total) <= max(r["cycles_share_error"], 1e-12) and r["cycles_share_error"] < 0.02,
         a + ": what remote memory costs", (r, n * (FAR - NEAR) / total))
t.equal((rows["parted"]["apart"], rows["parted"]["pages"], rows["spread"]["apart"] < 50), (200, 200, True), "pages of one node's users")
t.equal([r["advice"] for r in doc("good.data")["object_nodes"] if r["advice"]], [], "all local: no advice")
p, q = run("mem", "bad.data"), run("mem", "good.data")
t.ok("NUMA nodes" in p.stdout and "objects in NUMA nodes" in p.stdout and "first touch" in p.stdout and "numactl" in p.stdout, "people see it", p.stdout)
t.ok("objects in NUMA nodes" not in q.stdout and "numactl" not in q.stdout, "and nothing of it if all is local", q.stdout)

# ---- what is not told -------------------------------------------------------------------------------------
bad.write("sources.data", physical=False)
matrix("sources alone", "sources.data", bad)
t.equal({re.sub("_$", "", r["object"]): r["advice"] for r in doc("sources.data")["object_nodes"] if r["advice"]},
        {a: v for a, v in ADVICE.items() if v}, "sources alone: the same advice")
bad.write("one.data", nodes=(0,))
d = doc("one.data")
t.equal((d["nodes"], d["object_nodes"]), ([], []), "a machine with one node has no matrix")
bad.write("without.data", header=False)
p = run("mem", "without.data")
t.ok("samples are remote, and the recording does not say which CPUs are of which node" in p.stdout, "no topology: said", p.stdout)
wrong = planted()
wrong.physical = [4096] * len(wrong.samples)  # all addresses in node 0
wrong.write("wrong.data")
remote0 = sum(1 for s, c in zip(wrong.samples, wrong.cpus) if s[3] >> 33 & 15 == 13 and (s[3] >> 37 & 1) != (c > 3))
p = run("mem", "wrong.data")
t.ok("{:,} samples whose address is of another node".format(remote0) in p.stdout, "addresses and sources that contradict each other: counted", p.stdout)
few = Made()
for i in range(6):
    few.add("bound", 4096 * i, 0, 1)
few.write("few.data")
t.equal([(r["advice"], r["users"]) for r in doc("few.data")["object_nodes"]], [(None, None)], "six samples: no advice")

# ---- locked lines -----------------------------------------------------------------------------------------
rows = {r["offset"]: r for r in doc("bad.data")["locked_lines"]}
t.equal({k: (r["samples"], r["threads"], r["object"]) for k, r in rows.items()}, {0: (600, 2, "locks"), 64: (300, 2, "locks")}, "locked operations by line")
t.ok(near(rows[0]["cycles_share"], sum(s[4] for s in bad.samples if s[3] & LOCKED and s[4] > 50) / total) and near(rows[64]["mean"], 50), "and their latency", rows)
t.equal([r for r in doc("few.data")["locked_lines"]], [], "none if nothing locks")

# ---- the map ----------------------------------------------------------------------------------------------
d = json.loads(run("mem", "bad.data", "--map", "-j").stdout)
first, last = 1000, 999 + len(bad.samples)
t.equal({re.sub("_$", "", r["object"]): (r["samples"], r["threads"]) for r in d["regions"]},
        {a: (sum(at[a] <= s[1] < at[a] + MB for s in bad.samples), len({s[2] for s in bad.samples if at[a] <= s[1] < at[a] + MB})) for a in ARRAYS} |
        {"locks": (900, 2)}, "--map: a region for each array")
want = collections.Counter()
region = {r["region"]: (int(r["address"], 16), r["size"]) for r in d["regions"]}
for s in bad.samples:
    n, (start, size) = next((n, x) for n, x in region.items() if x[0] <= s[1] < x[0] + x[1])
    step = -(-size // 4096 // 16) * 4096
    want[n, hex(start + (s[1] - start) // step * step), s[2], int((s[0] - first) * 48 / (last - first + 1))] += 1
got = {(r["region"], r["address"], r["tid"], round((r["from_ns"] - first) * 48 / (last - first + 1))): r["samples"] for r in d["map"]}
t.equal(got, dict(want), "--map: samples by address, thread and time")
p = run("mem", "bad.data", "--map", "--limit", "2")
t.ok("where, and when" in p.stdout and p.stdout.count("|") == 2 * len({(r["region"], r["address"], r["tid"]) for r in d["map"] if r["region"] < 3}) and
     "@" in p.stdout, "--map: pictures of the hottest", p.stdout)
t.ok("where, and when" not in run("mem", "bad.data").stdout, "none unless asked for", "")
many = Made()
for i in range(700):
    many.samples.append((1000 + i, 0x7f0000000000 + i % 300 * (1 << 24) if i < 600 else 0xffff888000000000 + i * 64, 500 + i % 7, LOCAL, 100))
    many.cpus.append(0)
    many.physical.append(4096)
many.write("many.data")
d = json.loads(run("mem", "many.data", "--map", "-j").stdout)
t.equal((len(d["regions"]), d["regions"][0]["pid"], d["regions"][0]["samples"], max(r["region"] for r in d["map"])), (301, None, 100, 256),
        "--map: regions without an object, and the kernel's")
t.ok(sum(r["samples"] for r in d["map"] if r["region"] == 1) == 100 and len({r["tid"] for r in d["map"] if r["region"] == 1}) == 5, "--map: four threads, and the others", d["map"][:3])
tables.walk(t, "mem", "bad.data", "--map")

# ---- everything at once: IBS of two nodes, with a log of allocations --------------------------------------
FUNCTIONS = ["serial", "parallel", "rest", "make_small", "make_huge"]
with open("together.c", "w", encoding="ascii") as f:
    f.write("".join("char %s[1 << 20] __attribute__((aligned(4096)));\n" % a for a in ("bound", "local")) + "long locks[16] __attribute__((aligned(64)));\n" +
            "".join("__attribute__((noinline)) long %s(long *p) { return p[0] * 3 + p[1]; }\n" % x for x in FUNCTIONS) + "int main(void) { return 0; }\n")
subprocess.run(["cc", "-g", "-O1", "-no-pie", "together.c", "-o", "together"], check=True)
put = {w[2]: int(w[0], 16) for w in map(str.split, subprocess.run(["nm", "together"], capture_output=True, text=True, check=True).stdout.splitlines()) if len(w) == 3}
text_at, text_start, text_size = heap_made.text_of("together")
put.update(make_small_object=0x10000000, make_huge_object=0x20000000)
log = b"".join(struct.pack("<6Q", heap_made.CHAIN << 56 | 2 << 32 | i, put[x] + 1, put["main"] + 1, heap_made.ALLOC << 56 | put[x + "_object"], 900, i << 40 | 1 << 20)
               for i, x in enumerate(("make_small", "make_huge")))


def together(path, wrong):
    """Registers of Zen 5, whose samples have the page's size; wrong: with all that `mem` has something to say of."""
    ops, cpus, sums = [], [], collections.Counter()

    def op(function, address, user, home, open_, latency, more=0, source=3, refill=0):
        ops.append([3 << 17, put[function] - (text_start & -4096) + mem_made.TEXT, 0, source | (user != home) << 4,
                    1 | 1 << 7 | 3 << 17 | 1 << 20 | 4 << 22 | open_ << 26 | (latency + refill) << 32 | refill << 48 | more, address,
                    BLOCKS[home][0] * BLOCK + 4096, 0])
        cpus.append(rnd.choice(CPUS[user]))
        sums.update({"cycles": latency + refill, (user, home): source == 3, "refills": refill})

    for i in range(1500):
        line = i % 1000 * 1024
        op("rest", put["bound"] + line, 0, int(wrong), 6, 300 if wrong else 100)
        op("rest", put["local"] + line, 1, 1, 6, 100)
        op("serial", put["local"] + line, 1, 1, 1 + (i % 10 == 0) if wrong else 5, 100)
        op("parallel", put["local"] + line, 1, 1, 4 + i % 5, 100)
        walk = wrong and i % 2
        op("rest", put["make_small_object"] + line, 0, 0, 6, 100, 0xc if walk else 0, refill=50 if walk else 0)
        op("rest", put["make_huge_object"] + line, 0, 0, 6, 100, 1 << 4)
        if i % 3 == 0:
            op("rest", put["locks"] + 64 * (i & 1), i // 2 & 1, i // 2 & 1, 6, 150, (wrong and not i & 1) << 15, source=1)
    mem_made.write_ibs(path, ops, [], mapped=(os.path.abspath("together"), text_at & -4096, (text_size + 8191) & -4096), caps=0x80bff,
                       cpuid="AuthenticAMD,26,2,1", cpus=cpus,
                       features={14: topology(CPUS), 22: memory(BLOCKS, BLOCK), 194: heap_made.chunk(20, 1, log)})
    return sums


SAID = ("NUMA nodes", "numactl", "MADV_HUGEPAGE", "misses of serial hardly overlap", "page walks", "locked cache lines")
# hits of the cache have no latency, but walks: their cycles are of the whole, too
planted = [(0, 900), (0, 500), (100, 30), (100, 0), (40, 60)] * 100  # latency, walk
mem_made.write_ibs("hits.data", [[3 << 17, put["rest"] - (text_start & -4096) + mem_made.TEXT, 0, 3 if late else 0,
                                  1 | (1 << 7 | 1 << 20) * bool(late) | 3 << 17 | 4 << 22 | late << 32 | walk << 48 | 0xc * bool(walk),
                                  put["make_small_object"], BLOCKS[0][0] * BLOCK + 4096, 0] for late, walk in planted],
                   [], mapped=(os.path.abspath("together"), text_at & -4096, (text_size + 8191) & -4096), caps=0x80bff, cpuid="AuthenticAMD,26,2,1",
                   cpus=[0] * len(planted), features={194: heap_made.chunk(20, 1, log)})
rows = [r for r in doc("hits.data")["walks"] if r["walks"]]
want = sum(w for _, w in planted) / sum(map(max, planted))
t.ok(len(rows) == 1 and rows[0]["walks"] == 400 and abs(rows[0]["walk_cycles_share"] - want) < 1e-9 and want < 1 and
     0 < rows[0]["walk_cycles_share_error"] < 0.1, "walks of hits: a part of all cycles", (rows, want))
for wrong in (True, False):
    sums = together("together.data", wrong)
    name = "together: " if wrong else "together, mended: "
    d = doc("together.data")
    t.equal({(r["cpu_node"], r["memory_node"]): r["reached"] for r in d["nodes"] if r["reached"]}, {k: n for k, n in sums.items() if isinstance(k, tuple) and n},
            name + "the matrix")
    t.equal({r["object"].split(" ")[0]: r["advice"] for r in d["object_nodes"]}, dict(dict.fromkeys(("local", "make_small", "make_huge", "locks")), bound="bind" if wrong else None),
            name + "advice on nodes")
    walks = {r["object"].split(" ")[0]: r for r in d["walks"] if r["object"]}
    t.equal([(x, walks[x]["page_size"], walks[x]["walks"], walks[x]["advice"]) for x in ("make_small", "make_huge")],
            [("make_small", 4096, 750 if wrong else 0, "huge pages" if wrong else None), ("make_huge", 2 << 20, 0, None)], name + "walks, and huge pages")
    t.ok(abs(walks["make_small"]["walk_cycles_share"] - sums["refills"] / sums["cycles"]) <= 1e-9 and walks["make_small"]["walk_cycles_share_error"] < 0.01,
         name + "what walks cost", (walks, sums))
    t.equal({r["offset"]: (r["samples"], r["threads"], r["object"]) for r in d["locked_lines"]}, {0: (250, 1, "locks")} if wrong else {}, name + "locked lines")
    open_ = {r["function"]: r["open_misses"] for r in d["functions"]}
    t.ok(near(open_["serial"], 1.1 if wrong else 5) and near(open_["parallel"], 6), name + "misses that are open at a time", open_)
    p = run("mem", "together.data")
    t.equal([x for x in SAID if x in " ".join(p.stdout.split())], list(SAID) if wrong else ["NUMA nodes"], name + "what people see")

# ---- the header -------------------------------------------------------------------------------------------
def nodes_of_perf(path):
    out = subprocess.run([PERF, "report", "--header-only", "-I", "-i", path], capture_output=True, text=True, check=False).stdout
    return [x for x in out.splitlines() if "memory nodes" in x or re.match(r"# +\d+ \[ *\d+[A-Z]\]", x)]


if not PERF:
    t.skip("memory topology against perf", "no perf")
else:
    t.equal(nodes_of_perf("bad.data"), ["# memory nodes (nr 2, block size 0x8000000):", "#    0 [8G]: 0-63", "#    1 [8G]: 80-143"], "perf reads the same topology")
    run("record", "-e", "cpu-clock:u", "-o", "mine.data", "--", "true")
    subprocess.run([PERF, "record", "-q", "-e", "cpu-clock:u", "-o", "perf.data", "--", "true"], capture_output=True, check=False)
    t.equal(nodes_of_perf("mine.data"), nodes_of_perf("perf.data"), "what is recorded is what perf records")

# ---- hostile headers --------------------------------------------------------------------------------------
full = memory(BLOCKS, BLOCK)
for name, data in {"cut": full[:-4], "huge": struct.pack("<QQQQQQ", 1, 1, 1, 0, 1 << 63, 1 << 63), "no block": struct.pack("<QQQ", 1, 0, 1) + bytes(100),
                   "many": struct.pack("<QQQ", 1, 4096, 1 << 40), "empty": b""}.items():
    heap_made.write("junk.data", "arrays", bad.samples[:50], b"", 500, cpus=bad.cpus, physical=bad.physical,
                    features={14: topology(CPUS), 22: data})
    p = run("mem", "junk.data", "-j")
    t.ok(p.returncode == 0 and json.loads(p.stdout)["samples"] == 50, "a header's memory that is %s" % name, p.stderr)
tables.walk(t, "mem", "bad.data")
t.done()
