#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sharing: lines that threads share, against what was planted and, if it is there, against perf c2c. Recordings are synthetic."""
import collections
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from sharing_made import PID, Access, Map, Program, write  # noqa: E402
from tap import PERF, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
rnd = random.Random(1)
A, B = PID + 1, PID + 2

PATTERNS = "true_one false_eight read_table padded lock_word pair mixed turns few moved guarded".split()
program = Program("prog", "#define LINE __attribute__((aligned(128)))\n" +
                  "".join("long %s[%d] LINE;\n" % (n, 16 if n in ("padded", "pair") else 8) for n in PATTERNS) +
                  "static long counter_a LINE, counter_b;\nstatic long initialized LINE = 1;\n"
                  "void worker(void) { true_one[0]++; counter_a++; counter_b++; initialized++; }\nint main(void) { worker(); return 0; }\n")
at = program.at
IP = at["worker"] + 8


def access(tid, name, offset=0, kind=None, hit=True, remote="remote", **more):
    kind = kind or rnd.choice(("load", "store"))
    far = hit and kind == "load" and rnd.random() < 0.5
    return Access(tid, at[name] + offset, kind, ip=IP, hitm=rnd.choice(("local", remote)) if far else None,
                  weight=rnd.randrange(150, 250) if far else rnd.randrange(3, 8), **more)


def planted(remote="remote", n=200):
    """Accesses of all patterns, in an order that looks random."""
    def of_both(f):
        return [f(rnd.choice((A, B))) for _ in range(n)]
    out = of_both(lambda i: access(i, "true_one", remote=remote))
    out += of_both(lambda i: access(i, "false_eight", 16 * rnd.randrange(4) + (8 if i == B else 0), remote=remote))
    out += of_both(lambda i: access(i, "read_table", 8 * rnd.randrange(8), "load", False))
    out += of_both(lambda i: access(i, "padded", 64 if i == B else 0, None, False))
    out += of_both(lambda i: access(i, "lock_word", locked=True, remote=remote))
    out += of_both(lambda i: access(i, "pair", 64 if i == B else 0, None, False))
    out += of_both(lambda i: access(i, "mixed", rnd.choice((0, 8 if i == A else 16)), remote=remote))
    # one thread writes its bytes, the other only reads those next to them
    out += of_both(lambda i: access(i, "guarded", 8 * (i == B), "load" if i == B else "store", remote=remote))
    out += of_both(lambda i: access(i, "counter_a", at["counter_b"] - at["counter_a"] if i == B else 0, remote=remote))
    rnd.shuffle(out)
    out += [access(i, "turns", 8 * rnd.randrange(8), None, False) for i in (A, B) for _ in range(30)]
    out += [access(i, "few", 8 * (i == B), "store") for i in (A, B)]
    return out + [Access(A, at["moved"], "load", "local", ip=IP)]


def shown(file, *options):
    r = run("sharing", *options, file, "-j")
    return json.loads(r.stdout) if t.ok(r.returncode == 0, "%s: it is read" % file, r.stderr) else {"lines": [], "accesses": []}


def by_object(j):
    return {x["object"]: x for x in j["lines"]}


# ---- planted patterns ----------------------------------------------------------------------------------------

made = planted()
write("planted.data", made, [program.map(PID)])
j = shown("planted.data")
lines = by_object(j)
want = {"true_one": "true sharing", "false_eight": "false sharing", "read_table": "read only", "lock_word": "lock", "mixed": "true and false",
        "guarded": "false sharing", "counter_b": "false sharing", "turns": "in turns", "few": None, "moved": None}
want["counter_a" if "counter_a" in lines else "counter_b"] = want.pop("counter_b")
t.equal({k: x["verdict"] for k, x in lines.items()}, want, "each pattern has its verdict; padded data is not in the table")
t.equal([lines[x]["verdict_why"] for x in ("few", "moved")], ["too few samples", "another core had modified it; no access of that was sampled"],
        "an unknown verdict has a reason")
t.equal((j["lines_one_thread"], j["samples_one_thread"]), (4, 400), "padded data and the pair of lines are lines of one thread")
t.equal({x["object"]: x["alignment"] for x in j["lines"] if x["alignment"]}, {k: 64 for k, v in want.items() if v and "false" in v},
        "alignment is advised where it helps")
t.equal({x["object_kind"] for x in j["lines"]}, {"variable"}, ".bss has variables")
counters = [x for x in j["lines"] if x["object"].startswith("counter")][0]
t.equal(counters["objects"], 2, "two variables on one line")

LINE = 64
sums = collections.defaultdict(collections.Counter)
for x in made:
    sums[x.addr // LINE].update(samples=1, loads=x.kind == "load", stores=x.kind == "store", locked=x.locked, hitm_local=x.hitm == "local",
                                hitm_remote=x.hitm == "remote")
KEYS = "samples loads stores locked hitm_local hitm_remote".split()
t.equal({int(x["cache_line"], 16) // LINE: [x[k] for k in KEYS] for x in j["lines"]},
        {int(x["cache_line"], 16) // LINE: [sums[int(x["cache_line"], 16) // LINE][k] for k in KEYS] for x in j["lines"]}, "counts of lines")
t.equal([j[k] for k in KEYS], [sum(s[k] for s in sums.values()) for k in KEYS], "counts of all")
cells = collections.Counter((x.addr // LINE, x.addr % LINE, x.tid, x.kind) for x in made)
got = {(int(x["cache_line"], 16) // LINE, x["offset"], x["tid"], kind): x[kind + "s"] for x in j["accesses"] for kind in ("load", "store") if x[kind + "s"]}
shared = {int(x["cache_line"], 16) // LINE for x in j["lines"]}
t.equal(got, {k: v for k, v in cells.items() if k[0] in shared}, "accesses by byte and thread")
t.equal({(x["function"], os.path.basename(x["dso"]), x["line"]) for x in j["accesses"]}, {("worker", "prog", 15)}, "their code")

objects = {x["object"]: x for x in j["objects"]}
t.equal((set(objects) - {"counter_a", "counter_b"}, objects["counter_a"]["samples"] + objects["counter_b"]["samples"]),
        (set(want) - {"counter_a", "counter_b"}, 200), "objects: two variables of one line apart")
t.equal([(objects["mixed"][k], lines["mixed"][k]) for k in KEYS], [(lines["mixed"][k],) * 2 for k in KEYS], "their counts")
t.equal((objects["mixed"]["lines"], objects["mixed"]["false_lines"], objects["true_one"]["false_lines"], objects["mixed"]["size"],
         int(objects["mixed"]["object_address"], 16)), (1, 1, 0, 64, at["mixed"]), "lines, size and address of objects")

# what is at stake, by another implementation
unshared = sorted(x.weight for x in made if x.kind == "load" and x.addr // LINE not in shared)
usual = unshared[len(unshared) // 2]
t.equal(j["usual_latency"], usual, "usual latency: the median of unshared loads")
true = [x for x in made if x.kind == "load" and at["true_one"] <= x.addr < at["true_one"] + LINE]
stake = sum(x.period * (x.weight - usual) for x in true)
# skewed: Student's, nearly, and wider by five relative errors; and what is not known of the median
far = math.ceil(1.959963984540054 / 2 * len(unshared) ** 0.5)
median = max(usual - unshared[len(unshared) // 2 - far], unshared[min(len(unshared) // 2 + far, len(unshared) - 1)] - usual)
relative = sum((x.period * x.weight) ** 2 for x in true) ** 0.5 / sum(x.period * x.weight for x in true)
error = math.hypot(1.959963984540054 * (1 + 1.21 / (len(true) - 1)) * (1 + 5 * relative) * sum((x.period * (x.weight - usual)) ** 2 for x in true) ** 0.5,
                   median * sum(x.period for x in true))
t.ok(abs(lines["true_one"]["stake"] - stake) < 1 and abs(lines["true_one"]["stake_error"] / error - 1) < 2e-3, "at stake, with its error",
     (lines["true_one"]["stake"], stake, lines["true_one"]["stake_error"], error))
t.equal((lines["read_table"]["stake"], lines["read_table"]["stake_why"]), (None, "no thread writes it"), "nothing at stake where nobody writes")
total = sum(x.weight for x in made if x.kind == "load")
t.ok(abs(lines["mixed"]["share"] - sum(x.weight for x in made if x.kind == "load" and x.addr // LINE == at["mixed"] // LINE) / total) < 1e-9,
     "share of all latency", lines["mixed"]["share"])
t.ok(all(j["lines"][i]["stake"] >= j["lines"][i + 1]["stake"] for i in range(6)), "most at stake first")

# lines fetched in pairs
wide = by_object(shown("planted.data", "--line-size", "128"))
t.equal((wide["pair"]["verdict"], wide["padded"]["verdict"], wide["pair"]["alignment"]), ("false sharing", "false sharing", 128),
        "--line-size 128: pairs of lines that threads write")
t.equal({k for k, v in by_object(shown("planted.data", "--only-tid", str(A))).items()}, {"true_one", "false_eight", "lock_word", "mixed", "counter_a", "moved"} &
        set(by_object(shown("planted.data", "--only-tid", str(A)))), "one thread selected: only lines with HITM are left")

# ---- perf c2c ------------------------------------------------------------------------------------------------


def c2c(file):
    """address: (HITM total, local, remote, records, loads, stores) of perf's table of lines"""
    p = subprocess.run([PERF, "c2c", "report", "--stdio", "-i", file], capture_output=True, text=True)
    found = {}
    for line in p.stdout.splitlines():
        w = line.split()
        if len(w) > 12 and re.match(r"0x[0-9a-f]{8,}$", w[1]) and w[4].endswith("%"):
            found[int(w[1], 16)] = tuple(int(x) for x in w[5:11])
    return found


def ours(j, change=lambda x: x):
    out = {}
    for x in j["lines"]:
        if x["hitm_local"] + x["hitm_remote"]:
            x = change(dict(x))
            out[int(x["cache_line"], 16)] = (x["hitm_local"] + x["hitm_remote"], x["hitm_local"], x["hitm_remote"], x["samples"], x["loads"], x["stores"])
    return out


def perf_remote(x):
    """perf counts a remote HITM with mem_remote as a load of remote RAM, too: one sample is two."""
    x["samples"] += x["hitm_remote"]
    x["loads"] += x["hitm_remote"]
    return x


def perf_both(x):
    """... and what is level L3 as well as remote cache, AMD's data source 2, as two HITMs."""
    n = x["hitm_remote"]
    x["hitm_local"] += n
    x["samples"] += n
    x["loads"] += n
    return x


for name, remote, fault in (("planted.data", "remote", lambda x: x), ("bit.data", "remote bit", perf_remote), ("both.data", "both", perf_both)):
    if name != "planted.data":
        write(name, planted(remote), [program.map(PID)])
    theirs = c2c(name) if PERF else {}
    if not theirs:
        t.skip("perf c2c: " + name, "no perf c2c that reads it")
        continue
    t.equal(ours(shown(name), fault), theirs, "perf c2c has the same lines and sums: %s" % name)

# ---- IBS: widths, and accesses that cross into the next line -------------------------------------------------

AT = 0x7f0000000000
near = [Access(i, AT + 4 * (i == B), rnd.choice(("load", "store")), width=4) for i in (A, B) * 40]     # halves of 8 bytes
near += [Access(i, AT + 256 + 4 * (i == B), rnd.choice(("load", "store")), width=8) for i in (A, B) * 40]  # which overlap
near += [Access(i, AT + 512 + (60 if i == A else 72), rnd.choice(("load", "store")), width=8) for i in (A, B) * 40]  # one ends in the other's line
near += [Access(A, AT + 4096 + 64 * i, "load", width=8, hitm="remote", weight=90) for i in range(40)]
rnd.shuffle(near)
j = shown(write("ibs.data", near, ibs=True))
x = {int(l["cache_line"], 16) - AT: l for l in j["lines"]}
t.equal({k: x[k]["verdict"] for k in (0, 256, 576)}, {0: "false sharing", 256: "true sharing", 576: "false sharing"},
        "IBS: overlapping accesses are true sharing, separate ones are not; an access may reach into the next line")
t.equal((512 in x, j["samples"], j["hitm_remote"], j["usual_latency"]), (False, len(near), 40, None), "IBS: each sample counts once")
t.equal(sorted({(a["offset"], a["width"]) for a in j["accesses"] if int(a["cache_line"], 16) == AT + 576}), [(0, 4), (8, 8)],
        "IBS: bytes in that line")

# ---- whose memory it is --------------------------------------------------------------------------------------

# two processes with the same addresses: one line each, unless the mapping is shared
C, D = 300, 400
both = [Access(p, 0x7f0000000000 + (8 if p == D else 0), rnd.choice(("load", "store")), pid=p, phys=0x5000 + (8 if p == D else 0)) for p in (C, D) * 60]
rnd.shuffle(both)
write("private.data", both, [Map(p, 0x7f0000000000, 4096, "/dev/shm/x", 3) for p in (C, D)])
t.equal(shown("private.data")["lines"], [], "private mappings of two processes share nothing")
write("shared.data", both, [Map(p, 0x7f0000000000, 4096, "/dev/shm/x", 3, shared=True) for p in (C, D)])
x = shown("shared.data")["lines"]
t.equal([(l["verdict"], l["identity"], l["identity_address"], l["object_kind"]) for l in x], [("false sharing", "file", "0x0", "shared memory")],
        "a shared mapping of a file: one line, by its place in the file")
moved = [Access(a.tid, a.addr + (0x10000000 if a.pid == D else 0), a.kind, pid=a.pid, phys=a.phys) for a in both]
write("phys.data", moved, [Map(p, 0x7f0000000000 + (0x10000000 if p == D else 0), 4096, "//anon", 3, shared=True) for p in (C, D)], phys=True)
x = shown("phys.data")["lines"]
t.equal([(l["verdict"], l["identity"], l["identity_address"]) for l in x], [("false sharing", "physical address", "0x5000")],
        "a shared mapping with physical addresses: one line, at different addresses")
kernel = [Access(a.tid, 0xffff888000000000 + a.addr % 64, a.kind, pid=a.pid) for a in both]
write("kernel.data", kernel)
t.equal([(l["identity"], l["process"], l["object_kind"]) for l in shown("kernel.data")["lines"]], [("kernel", None, "kernel")],
        "kernel addresses are one space")
places = [("heap", 0x555555600000, "[heap]"), ("stack", 0x7ffffffde000, "[stack]"), ("anonymous", 0x7f1000000000, "//anon"),
          ("shared memory", 0x7f2000000000, "/memfd:x (deleted)"), ("file", 0x7f3000000000, "/tmp/data"), ("unknown", 0x7f4000000000, None)]
write("places.data", [Access(i, p + 64, "store") for _, p, _ in places for i in (A, B) * 9], [program.map(PID)] +
      [Map(PID, p, 8192, n, 3, ino=i) for i, (_, p, n) in enumerate(places) if n])
t.equal({x["object_kind"]: x["object_offset"] for x in shown("places.data")["lines"]},
        {k: None if k == "unknown" else 64 for k, _, _ in places}, "kinds of memory, by mappings")

# ---- what cannot be said -------------------------------------------------------------------------------------

write("loads.data", [Access(i, at["true_one"] + 8 * (i == B), "load", "local") for i in (A, B) * 50], [program.map(PID)])
x = shown("loads.data")["lines"]
t.equal([(l["verdict"], l["verdict_why"]) for l in x], [(None, "the recording has no stores: which bytes are written is not known")],
        "no stores were recorded: no verdict")
t.equal(x[0]["stake_why"], "too few loads of lines that one thread used, to compare with", "nothing to compare latencies with")
write("noaddress.data", [Access(i, 0, "load") for i in (A, B) * 5])
j = shown("noaddress.data")
t.equal((j["lines"], j["unattributed"]["no_address"]), ([], 10), "loads without addresses are told")
write("none.data", [Access(A, 1)], types="IDENTIFIER IP TID TIME CPU PERIOD".split())
r = run("sharing", "none.data")
t.ok(r.returncode == 2 and "no loads and stores with addresses" in r.stderr, "a recording without addresses is refused", r.stderr)
for bad in ("63", "8", "512", "0"):
    r = run("sharing", "planted.data", "--line-size", bad)
    t.ok(r.returncode == 2 and "power of two" in r.stderr, "--line-size %s is refused" % bad, r.stderr)

# separation by chance: two threads that use all bytes alike, few samples; hardly any is called false sharing
wrong = collections.Counter()
many = [Access(rnd.choice((A, B)), 0x7f0000000000 + 64 * i + 8 * rnd.randrange(8), rnd.choice(("load", "store"))) for i in range(2000)
        for _ in range(rnd.randrange(2, 9))]
rnd.shuffle(many)
write("chance.data", many)
wrong.update(x["verdict"] for x in shown("chance.data")["lines"])
t.ok(wrong["false sharing"] + wrong["in turns"] < 0.05 * sum(wrong.values()), "false sharing by chance is in less than 5 % of lines", wrong)

# ---- formats, hostile names ----------------------------------------------------------------------------------

EVIL = 'e\x1b[31m\n|"\',<b>&=\udcff'
evil = Program("evil", "long nice_variable[8] __attribute__((aligned(64)));\nvoid worker_function(void) { nice_variable[0]++; }\n"
               "int main(void) { worker_function(); return 0; }\n")
with open("evil", "r+b") as f:  # the names in its table of symbols
    text = f.read().replace(b"nice_variable\0", b"v\x1b[1m\n|\"',<b>\0").replace(b"worker_function\0", b"w\x1b[1m\n|,\"<&=\xff\xc3x\0")
    f.seek(0)
    f.write(text)
hostile = [Access(i, evil.at["nice_variable"] + 8 * (i == B), rnd.choice(("load", "store")), "local", ip=evil.at["worker_function"] + 8) for i in (A, B) * 40]
hostile += [Access(i, 0x7f0000000040, "store", pid=PID) for i in (A, B) * 20]
write("hostile.data", hostile, [evil.map(PID), Map(PID, 0x7f0000000000, 4096, "/tmp/" + EVIL, 3)], comms={A: EVIL[:14], B: "b"})
tables.walk(t, "sharing", "hostile.data")
tables.walk(t, "sharing", "planted.data")
r = run("sharing", "hostile.data")
t.ok("\x1b" not in r.stdout and "|\"',<b>" in r.stdout, "hostile names on a terminal", r.stdout[:2000])
r = run("sharing", "planted.data", "--limit", "2")
t.ok("(8 more lines)" in r.stdout, "--limit", r.stdout[:1500])
r = run("sql", "planted.data", "SELECT verdict, count(*) FROM sharing GROUP BY verdict ORDER BY 1", "-j")
t.ok(r.returncode == 0 and '"false sharing"' in r.stdout, "SQL has its tables", r.stderr + r.stdout[:500])
r = run("sql", "planted.data", "SELECT object, lines FROM sharing_objects WHERE object = 'mixed'", "-j")
t.ok(r.returncode == 0 and '"mixed"' in r.stdout, "and its objects", r.stderr + r.stdout[:500])
t.done()
