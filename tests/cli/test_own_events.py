#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Derived events of IBS as events of a recording (-e IBS_OP_LOCKED), and the user's own from a text file. Recordings are synthetic."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import mem_made  # noqa: E402
import tables  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
if "no SQL" in run("--version").stdout:
    t.skip("derived events", "built without SQLite")
    t.done()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
rnd = random.Random(15)


def op():
    """Control, rip, data, data2, data3, addresses, branch target of Zen 4."""
    load, miss = rnd.random() < 0.6, rnd.random() < 0.5
    latency = rnd.randrange(20, 400) if load and miss else 0
    return [3 << 17, mem_made.TEXT + 16 * rnd.randrange(64), 0, 0, load | (not load) << 1 | miss << 7 | (rnd.random() < 0.1) << 15 | 1 << 17 | latency << 32,
            0x7f0000000000 + 8 * rnd.randrange(1000), 0, 0]


ops = [op() for _ in range(3000)]
fetches = [[7 << 48 | rnd.randrange(2, 300) << 32, mem_made.TEXT + 16 * rnd.randrange(64), 0, 0] for _ in range(500)]
mem_made.write_ibs("ibs.data", ops, fetches)
mem_made.write("intel.data", mem_made.drawn(rnd, 50))
OWN = """# mine, with blanks in many places

event SLOW_LOAD ibs_op
   where load AND miss_latency > 200
 value\tmiss_latency
says  loads of more than 200 cycles\r
event Slow_Fetch ibs_fetch
where fetch_latency > 100
"""


def save(name, text, mode="w"):
    with open(name, mode) as f:
        f.write(text)
    return name


own = ("--ibs-events", save("my.events", OWN))
slow = [r[4] >> 32 & 0xffff for r in ops if r[4] & 1 and (r[4] >> 32 & 0xffff) > 200]
locked = [r for r in ops if r[4] >> 15 & 1]


def answer(*words):
    r = run(*words, "-j")
    return json.loads(r.stdout) if t.ok(r.returncode == 0, " ".join(words), r.stderr) else {}


# ---- SQL, list, explain --------------------------------------------------------------------------------------

x = answer("sql", "ibs.data", *own, "SELECT count(*) AS n, sum(value) AS v FROM slow_load").get("rows")
t.equal(x, [{"n": len(slow), "v": sum(slow)}], "SQL: one's own event and what it counts")
x = answer("sql", "ibs.data", *own, "SELECT count(*) AS n, sum(value) AS v FROM SLOW_FETCH").get("rows")
n = sum((f[0] >> 32 & 0xffff) > 100 for f in fetches)
t.equal(x, [{"n": n, "v": n}], "SQL: without a value each row counts 1")
x = [e for e in answer("list", "ibs", *own).get("ibs", []) if e.get("from")]
t.equal([(e["name"], e["table"], e["value"], e["means"], e["from"], e["code"]) for e in x],
        [("SLOW_LOAD", "ibs_op", "miss_latency", "loads of more than 200 cycles", "my.events:3", None), ("Slow_Fetch", "ibs_fetch", "1", "", "my.events:7", None)],
        "list ibs has them, with file and line")
t.ok("fetch_latency > 100" in run("explain", "slow_fetch", *own).stdout, "explain", run("explain", "slow_fetch", *own))
t.ok("did you mean SLOW_LOAD" in run("sql", "ibs.data", *own, "SELECT * FROM SLOW_LODA").stderr, "a name nearby is offered")
tables.walk(t, "list", "ibs", *own)

# ---- -e ------------------------------------------------------------------------------------------------------

for name, want, options in (("SLOW_LOAD", len(slow), own), ("slow_fetch", n, own), ("IBS_OP_LOCKED", len(locked), ()), ("f20f", len(locked), ())):
    x = answer("report", "ibs.data", "-e", name, *options)
    t.equal(sum(r["samples"] for r in x.get("functions", x.get("rows", []))), want, "report -e %s: the samples that are the event" % name)
    t.ok(any("only samples of ibs_" in str(note) for note in x.get("notes", [])), "report -e %s: it says so" % name, x.get("notes"))
x = answer("mem", "ibs.data", "-e", "SLOW_LOAD", *own)
got = [r for r in x["latencies"] if r["latency"] == "access"] or x["latencies"]
t.equal((sum(r["samples"] for r in x["sources"]), got[0]["timed"]), (len(slow), len(slow)), "mem -e SLOW_LOAD")
t.ok(abs(got[0]["mean"] - sum(slow) / len(slow)) < 1e-6 * got[0]["mean"], "and their latencies", got[0])
# a northbridge event is of sources of 3 bits: where there are 5, a note says what it means
near = [[3 << 17, mem_made.TEXT, 0, 2, 1 | 1 << 7 | 1 << 17 | 1 << 20 | 50 << 32, 0x7f0000000000, 0, 0]] * 20
for name, caps, cpu, has in (("zen2", 0x3ff, "23,49,0", False), ("zen3", 0x3ff, "25,1,1", False), ("zen4", 0xbff, "25,17,1", True), ("zen5", 0x81bff, "26,2,0", True)):
    mem_made.write_ibs("near.data", near, [], caps=caps, cpuid="AuthenticAMD," + cpu)
    for command in "report", "mem":
        for event in ("F243", "IBS_OP_NB_LOCAL_LATENCY") if command == "mem" or name == "zen4" else ("F243",):
            notes = answer(command, "near.data", "-e", event).get("notes", [])
            t.equal(sum("3 bits, this CPU has 5" in str(x) for x in notes), int(has), "%s -e %s, %s: a note where sources have 5 bits" % (command, event, name))
mem_made.write_ibs("near.data", near, [])
t.ok("3 bits, this CPU has 5" in run("mem", "near.data", "-e", "F243").stdout, "people see it", run("mem", "near.data", "-e", "F243").stdout)
t.ok("3 bits" not in run("report", "near.data", "-e", "F206").stdout, "other events mean the same everywhere")
x = answer("diff", "ibs.data", "ibs.data", "-e", "SLOW_LOAD", *own)
t.ok(x and "nan" not in str(x).lower(), "diff -e: of both recordings", x)
x = answer("report", "ibs.data", "-s", "event", "-e", "SLOW_LOAD,slow_fetch", *own)
t.equal(sorted(r["samples"] for r in x.get("rows", [])), sorted((len(slow), n)), "report -e: one of ops and one of fetches")
t.equal(sum("only samples of ibs_" in str(note) for note in x.get("notes", [])), 2, "and a note on each")
x = answer("report", "ibs.data", "-s", "event", "-e", "ibs_fetch*", "-e", "IBS_OP_LOCKED")
t.equal(sorted(r["samples"] for r in x.get("rows", [])), sorted((len(fetches), len(locked))), "report -e: a recorded event beside a derived one")
r = run("export", "ibs.data", "--folded", "-e", "IBS_OP_LOCKED")
t.ok(r.returncode == 0 and "only samples of ibs_op that are IBS_OP_LOCKED" in r.stderr, "export says so beside its output", r.stderr)
r = run("report", "ibs.data", "-e", "IBS_OP_LOCKED,SLOW_LOAD", *own)
t.ok(r.returncode == 2 and "a sample of ibs_op may be both" in r.stderr, "two of one kind are refused", r.stderr)
r = run("report", "intel.data", "-e", "IBS_OP_LOCKED")
t.ok(r.returncode == 2 and "no samples of ibs_op" in r.stderr, "a recording without IBS", r.stderr)
for command in (["report"], ["mem"], ["annotate", "main"]):
    for slip, name, options in (("SLOW_LODA", "SLOW_LOAD", own), ("slow_loadd", "SLOW_LOAD", own), ("ibs_op_lockd", "IBS_OP_LOCKED", ())):
        r = run(*command, "-i", "ibs.data", "-e", slip, *options)
        t.ok(r.returncode == 2 and "'%s'" % slip in r.stderr and "did you mean %s?" % name in r.stderr, "%s -e %s: the name nearby is offered" % (command[0], slip), r.stderr)
r = run("report", "ibs.data", "-e", "nothing_like_it", *own)
t.ok(r.returncode == 2 and "did you mean" not in r.stderr and "nothing_like_it" in r.stderr, "report -e: no name is offered where none is near", r.stderr)
r = run("report", "ibs.data", "-e", "F214")
t.ok(r.returncode == 2 and "F214 is no event of IBS: reserved" in r.stderr, "reserved codes are refused", r.stderr)
r = run("sql", "intel.data", "SELECT count(*) FROM F206")
t.ok(r.returncode and "IBS_OP_DATA_CACHE_MISS: the recording has no samples of ibs_op" in r.stderr and not r.stdout, "SQL: no 0 of what was not recorded", r.stdout + r.stderr)
r = run("sql", "ibs.data", "SELECT sum(load_bank) FROM ibs_op")
t.ok(not r.returncode and "load_bank: null in each sample, IBS of this CPU (AMD" in r.stdout + r.stderr, "SQL: a column that the CPU does not have", r.stdout + r.stderr)
with open("banks.ibs", "w", encoding="ascii") as f:
    f.write("event BANKS ibs_op\nwhere load AND load_bank\n")
for command in (["sql", "ibs.data", "SELECT count(*) FROM BANKS"], ["report", "ibs.data", "-e", "BANKS"]):
    r = run(*command, "--ibs-events", "banks.ibs")
    t.ok("BANKS" in r.stdout + r.stderr and "load_bank" in r.stdout + r.stderr and "does not report it" in r.stdout + r.stderr,
         "%s: an event of one's own that reads what the CPU does not have" % command[0], r.stdout + r.stderr)
r = run("sql", "ibs.data", "intel.data", "SELECT (SELECT count(*) FROM F206) * 1.0 / count(*) FROM samples")
t.ok("no ratio" in r.stdout + r.stderr, "SQL: a warning where one query has them and samples of counters", r.stdout + r.stderr)
r = run("sql", "ibs.data", "SELECT (SELECT count(*) FROM F206) * 1.0 / count(*) FROM ibs_op")
t.ok(r.returncode == 0 and "no ratio" not in r.stdout + r.stderr, "none within IBS", r.stdout + r.stderr)

# ---- where the file is looked for ----------------------------------------------------------------------------

os.makedirs("home/cyclade")
save("home/cyclade/ibs-events", OWN)
env = dict(os.environ, XDG_CONFIG_HOME=os.path.abspath("home"))
r = run("report", "ibs.data", "-e", "SLOW_LOAD", env=env)
t.ok(r.returncode == 0 and "%d samples" % len(slow) in r.stdout, "beside the configuration file", r.stderr + r.stdout[:300])
save("home/cyclade/config", "ibs-events = %s\n" % os.path.abspath(save("other.events", OWN.replace("> 200", "> 300"))))
r = run("sql", "ibs.data", "-j", "SELECT count(*) AS n FROM SLOW_LOAD", env=env)
t.equal(json.loads(r.stdout)["rows"] if not r.returncode else r.stderr, [{"n": sum(v > 300 for v in slow)}], "as the configuration says")
r = run("report", "ibs.data", "-e", "SLOW_LOAD", "--ibs-events", "nowhere")
t.ok(r.returncode == 2 and "nowhere" in r.stderr, "a file that is named must be there", r.stderr)

# ---- errors --------------------------------------------------------------------------------------------------

A = "event A ibs_op\n"
for text, line, why in (
        ("event\n", 1, "'' is no name"), ("event 9A ibs_op\n", 1, "'9A' is no name"), ("event %s ibs_op\n" % ("A" * 65), 1, "is no name"),
        ("event A;B ibs_op\n", 1, "is no name"), ("event A\nwhere load\n", 1, "a table is missing"), ("event A samples\n", 1, "a table is missing"),
        ("event A ibs_op more\n", 1, "a table is missing"), ("event samples ibs_op\n", 1, "is a table of SQL"), ("event F206 ibs_op\n", 1, "is an event of AMD's"),
        ("event ibs_op_locked ibs_op\n", 1, "is an event of AMD's"), (A + "where load\n" + A.lower(), 3, "A is at bad.events:1 already"),
        ("# x\n\nwhere load\n", 3, "no line `event` before it"), (A + "where load\nwhere store\n", 3, "two lines `where`"), (A + "where\n", 2, "nothing follows"),
        (A + "value 1\n", 1, "has no line `where`"), (A + "event B ibs_op\n", 1, "has no line `where`"), (A + "wher load\n", 2, "'wher' is none of"),
        (A + "where load; DROP TABLE x\n", 2, "no ; and no comments"), (A + "where load -- x\n", 2, "no ; and no comments"),
        (A + "where load) OR (nonsense\n", 1, "no such column: nonsense"), (A + "where load, store\n", 1, "event A, where"), (A + "where load AND\n", 1, "event A, where"),
        (A + "where (SELECT 1 FROM samples)\n", 1, "no such table"), (A + "where load\nvalue miss_latenc\n", 1, "event A, value: no such column"),
        (A + "where fetch_latency > 1\n", 1, "no such column"), (A + "where load\0\n", 2, "a zero byte"), (A + "where \xff\xfe(\n", 1, "event A, where")):
    save("bad.events", text.encode("latin-1"), "wb")
    r = run("list", "ibs", "--ibs-events", "bad.events")
    t.ok(r.returncode == 2 and "cyclade: bad.events:%d: " % line in r.stderr and why in r.stderr, "refused with file and line: %s" % why, repr(text) + "\n" + r.stderr)
r = run("list", "ibs", "--ibs-events", save("empty.events", ""))
t.ok(r.returncode == 0, "an empty file is fine", r.stderr)
t.done()
