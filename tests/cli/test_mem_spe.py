#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of Arm SPE through mem, sharing, report, sql and the page: counts, sources, latencies and verdicts that were planted, on each part."""
import collections
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sharing_made  # noqa: E402
import spe_made as spe  # noqa: E402
from sharing_made import PID, Program  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
PERF7 = os.environ.get("CYCLADE_PERF7")
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
rnd = random.Random(5)
A, B = PID + 1, PID + 2
NAMES = "false_eight true_one lock_word read_table padded".split()
program = Program("prog", "#define LINE __attribute__((aligned(128)))\n" + "".join("long %s[16] LINE;\n" % n for n in NAMES) +
                  "void reader(void) { false_eight[0]++; true_one[0]++; }\nvoid writer(void) { lock_word[0]++; }\nint main(void) { reader(); writer(); return 0; }\n", ["-Wl,--build-id=sha1"])
at, size = program.at, program.size
COMMS = [(PID, PID, "prog"), (PID, A, "prog"), (PID, B, "prog")]
offset, vaddr, length = program.text
BUILD_ID = re.search(r"Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", program.path], capture_output=True, text=True, check=True).stdout)[1]
MAPS = [(PID, sharing_made.BASE + vaddr, (length + 4095) & -4096, program.path, offset, bytes.fromhex(BUILD_ID))]

# number: level, whose it is, as mem has them; of each encoding: facts of the CPUs' manuals and of perf's list
COMMON = {0: ("L1", None), 8: ("L2", None), 9: ("L2", "other core"), 10: ("any cache", "other core"), 11: ("L3", None), 12: ("any cache", "other core"),
          13: (None, "remote"), 14: ("RAM", None)}
AMPERE = {0: ("any cache", "other core"), 3: ("L3", None), 5: (None, "remote"), 7: ("RAM", None), 8: ("L1", None), 9: ("L2", None)}
HIP = {0: ("L2", "other core"), 1: ("L2", "other core"), 2: ("L3", None), 3: ("L3", None), 4: ("L3", "remote"), 5: ("L3", "remote"), 6: ("any cache", "remote, 2 hops"),
       7: ("any cache", "remote, 2 hops"), 8: ("RAM", None), 9: ("RAM", "remote"), 13: ("I/O", None), 16: ("L2", None), 17: ("L2", None), 18: ("L1", None)}
# of CPUs whose numbers are not known: events tell
EVENTS = {spe.L1D: ("L1", None), spe.L1D | spe.L1D_REFILL | spe.L2D: ("L2", None), spe.L1D_REFILL | spe.L2D_MISS | spe.LLC: ("L3", None),
          spe.L1D_REFILL | spe.LLC | spe.LLC_MISS: ("L3", None), spe.L1D_REFILL | spe.FETCHED: ("LFB", None), 0: (None, None)}
UNKNOWN = ("n3", "a78", "ampere1", "hip09")


def made(name, n=300):
    """Records: loads from each source, stores, branches and others; and what mem must say of them."""
    table = HIP if name == "hip12" else AMPERE if name == "ampere1a" else COMMON
    out, want, latency = [], collections.Counter(), []
    for i in range(n):
        what, total, issue = rnd.random(), rnd.randrange(20, 900), rnd.randrange(1, 15)
        r = spe.Record(pc=at[rnd.choice(["reader", "writer"])] + 4, events=spe.RETIRED, total=total, issue=issue, context=rnd.choice([A, B]), time=1000 + 10 * i)
        if what < 0.6:
            r.op, r.va = spe.load(rnd.choice([0, 4])), at["read_table"] + 8 * rnd.randrange(8)
            if name in UNKNOWN:
                events, place = rnd.choice(list(EVENTS.items()))
                r.events |= events
                r.source = rnd.choice([None, 9])
            else:
                r.source, place = rnd.choice(list(table.items()))
            want["load", *place] += 1
            latency.append(total - issue)
        elif what < 0.8:
            r.op, r.va = spe.store(), at["padded"]
            want["store", None, None] += 1
        else:
            r.op = rnd.choice([(spe.BRANCH, 1), (spe.OTHER, 0)])
            want["none"] += 1
        out.append(r)
    return out, want, latency


def doc(command, path, *words):
    p = run(command, *words, path, "-j")
    return json.loads(p.stdout) if t.ok(p.returncode == 0, "%s: %s" % (path, command), p.stderr) else None


for name, midr in spe.PARTS.items():
    recs, want, latency = made(name)
    path = name + ".data"
    spe.write(path, [spe.Trace(0, b"".join(r.bytes() for r in recs))], midr, comms=COMMS, maps=MAPS)
    j = doc("mem", path)
    got = collections.Counter()
    for r in j["sources"]:
        got[r["kind"], r["level"], r["where"] or None] += r["samples"]
    t.equal(dict(got), {k: v for k, v in want.items() if k != "none"}, "%s: loads and stores by source" % name)
    t.equal((j["samples"], j["no_access"]), (len(recs), want["none"]), "%s: operations without an access are counted apart" % name)
    every = {r["latency"]: r for r in j["latencies"]}
    t.equal([(round(every[k]["mean"], 6), every[k]["timed"]) for k in ("data", "total", "issue")],
            [(round(statistics.fmean(v), 6), len(v)) for v in (latency, [r.total for r in recs], [r.issue for r in recs])], "%s: latencies" % name)
    functions = collections.Counter("reader" if at["reader"] <= r.pc < at["reader"] + size["reader"] else "writer" for r in recs)
    rows = doc("report", path)["rows"]
    t.equal({r["function"]: r["samples"] for r in rows}, dict(functions), "%s: functions of report" % name)
    t.equal({r["period"] // r["samples"] for r in rows}, {1024}, "%s: a sample stands for the interval" % name)

# ---- sharing -------------------------------------------------------------------------------------------------

def access(tid, name, offset, kind, source=None, events=0, sub=0):
    return spe.Record(pc=at["writer"] + 4, op=spe.load(sub) if kind == "load" else spe.store(sub), events=spe.RETIRED | events, va=at[name] + offset,
                      total=rnd.randrange(150, 250) if source or events else rnd.randrange(4, 8), issue=1, source=source, context=tid)


def planted(modified):
    """modified: what tells that another core had the line: (source, events)"""
    out = []
    for _ in range(200):
        for name, offset, kind, sub in (("false_eight", None, rnd.choice(("load", "store")), 0), ("true_one", 0, rnd.choice(("load", "store")), 0),
                                        ("lock_word", 0, rnd.choice(("load", "store")), 2 | 4), ("read_table", 8 * rnd.randrange(8), "load", 0)):
            tid = rnd.choice((A, B))
            far = name != "read_table" and kind == "load" and rnd.random() < 0.5
            out.append(access(tid, name, 8 * (tid == B) if offset is None else offset, kind, *(modified if far else (None, 0)), sub))
        tid = rnd.choice((A, B))
        out.append(access(tid, "padded", 64 * (tid == B), rnd.choice(("load", "store"))))
    for i, r in enumerate(out):
        r.time = 1000 + 10 * i
    return out


for name, midr, modified in (("hip12", spe.HIP12, (1, 0)), ("n3", spe.N3, (None, spe.SNOOPED | spe.HITM | spe.L1D_REFILL)), ("n2", spe.N2, (9, 0))):
    path = "shared_%s.data" % name
    recs = planted(modified)
    spe.write(path, [spe.Trace(0, b"".join(r.bytes() for r in recs))], midr, comms=COMMS, maps=MAPS)
    j = doc("sharing", path)
    lines = {x["object"]: x for x in j["lines"]}
    t.equal({k: x["verdict"] for k, x in lines.items()}, {"false_eight": "false sharing", "true_one": "true sharing", "lock_word": "lock", "read_table": "read only"},
            "%s: verdicts" % name)
    far = [r for r in recs if r.op == (spe.LDST, 0) and r.total >= 150 and r.va & -64 == at["false_eight"]]
    key = "peer" if name == "n2" else "hitm_local"
    t.equal(lines["false_eight"][key], len(far), "%s: what other cores had (%s)" % (name, key))

# ---- the page, and what there is to say -----------------------------------------------------------------------

for name in spe.PARTS:
    p = run("report", "--html", name + ".html", name + ".data")
    text = open(name + ".html").read() if os.path.exists(name + ".html") else ""
    t.ok(p.returncode == 0 and "reader" in text, "%s: the page" % name, p.stderr)
slow = [spe.Record(pc=at["reader"] + 4, op=spe.load(), events=0, va=at["padded"], total=500, issue=2, source=14, time=1000 + i) for i in range(40)]
spe.write("slow.data", [spe.Trace(0, b"".join(r.bytes() for r in slow))], comms=COMMS, maps=MAPS, latency=100)
p = run("mem", "slow.data")
t.ok("operations of 100 cycles or more" in p.stdout, "min_latency is named as what biases the figures", p.stdout[-900:])
p = run("info", "slow.data")
t.ok("of Arm's SPE: each record is a sample" in p.stdout, "info says what became of the trace", p.stdout)
if PERF7 and os.path.exists(PERF7):
    p = subprocess.run([PERF7, "mem", "report", "--stdio", "-i", "n2.data"], capture_output=True, text=True)
    t.ok("RAM hit" in p.stdout, "perf mem report reads the same recording", p.stdout + p.stderr)
t.done()
