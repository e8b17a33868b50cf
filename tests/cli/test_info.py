#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade info: the tables of recordings whose header features and records are known, for programs and for people."""
import csv
import io
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
import tables  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-info-")
os.chdir(tmp.name)
NASTY = b"e\x1b[31m,\"q\"|<b>\nl\xff"


def rows(*words):
    p = run("info", *words, "--format", "csv")
    return list(csv.DictReader(io.StringIO(p.stdout, newline="")))


def text(w, s):
    """A string of a header feature, of bytes."""
    return w.pack("I", len(s) + 1) + s + b"\0"


# ---- each feature
w = gen.Writer("<")
f = gen.File(w, [("cycles", dict(sample=gen.BASE), [40])])
f.features, _ = gen.features(w)
gen.fill(f, 3)
gen.write("full.data", f.build())
j = json.loads(run("info", "-j", "full.data").stdout)
t.equal(j["recording"], dict(command=["perf", "record", "a b"], host="host-a", arch="x86_64", os_release="6.99.0-x", cpu="A CPU", recorder="6.99.g",
                             seconds=j["recording"]["seconds"], seconds_why=j["recording"]["seconds_why"]), "json: the recording")
t.equal(j["machine"], dict(cpuid="GenuineX,6,1,2", cpus_online=3, cpus_available=4, memory_kb=32000000, numa_nodes=1), "json: its machine")
t.equal((j["hybrid"], j["pmu_caps"]),
        ([dict(pmu="cpu_core", cpus="0-1"), dict(pmu="cpu_atom", cpus="2-3")],
         [dict(pmu="cpu", name="branches", value="32"), dict(pmu="cpu_core", name="max_precise", value="3"),
          dict(pmu="cpu_atom", name="branches", value="16")]), "json: kinds of core, what PMUs can")
t.equal(j["build_ids"], [dict(build_id=bytes(range(n)).hex(), path=p) for n, p in ((20, "/usr/bin/thing"), (16, "[kernel]"))],
        "json: build ids")
t.equal((j["schema"], j["form"], j["recorder"], j["selected"]), ("cyclade.info/2", "file", "6.99.g", False), "json: the head")
t.equal((j["first_ns"], j["last_ns"]), (1000001, 1000003), "json: times of the first and the last sample")
t.equal({r["record"]: int(r["count"]) for r in rows("full.data", "--table", "records")},
        {r["record"]: r["count"] for r in j["records"]}, "csv: records")
t.equal(rows("full.data")[0]["event"], "cycles", "csv: events, if no table is named")
for words, more in (([], False), (["-v"], True)):
    out = run("info", "full.data", *words).stdout
    t.ok(all(x in out for x in ("host-a, Linux 6.99.0-x, x86_64", "A CPU, GenuineX,6,1,2, 3 of 4 CPUs online, 32.77 GB of memory",
                                "cpu_core on CPUs 0-1; cpu_atom on CPUs 2-3", "perf record a b", "6.99.g", "none told")), "people: the head", out)
    t.equal([x in out for x in ("max_precise", "/usr/bin/thing", "config1 0x")], [more] * 3, "people: more with -v: %s" % more)
    t.equal("-v lists them" in out, not more, "people: what -v would show")

# ---- losses, names from outside, a file without features
f = gen.File(w, [("ev" + NASTY.decode("latin1").replace("\xff", ""), dict(sample=gen.BASE), [40])])
f.features = {3: text(w, NASTY), 8: text(w, NASTY), 11: w.pack("I", 2) + text(w, b"x") + text(w, NASTY),
              2: w.record(0, w.pack("i", -1) + bytes(24) + (b"/" + NASTY).ljust(24, b"\0"), 2)}
f.data += w.record(gen.LOST, w.u64(40, 11)) + w.record(gen.LOST_SAMPLES, w.u64(23))
gen.fill(f, 2)
gen.write("evil.data", f.build())
f = gen.File(w, [("cycles", dict(sample=gen.BASE), [40])])
gen.fill(f, 1)
gen.write("plain.data", f.build(event_desc=False))
for name in ("full.data", "evil.data", "plain.data"):
    tables.walk(t, "info", "-i", name)
p = run("info", "evil.data")
t.ok("events lost because the ring was full: 11" in p.stdout and "dropped: 23" in p.stdout, "people: losses", p.stdout)
for words in (["--format", "csv"], ["-j", "--table", "events"], ["--format", "markdown", "--table", "records"]):
    p = run("info", "evil.data", *words)
    t.ok(re.search("lost: 11 .*\n.*lost_samples: 23", p.stderr), " ".join(words) + ": losses on standard error", p.stderr)
p = run("info", "-j", "evil.data")
t.equal((json.loads(p.stdout)["losses"]["lost"], p.stderr), (11, ""), "json has them itself")
t.ok("no header features" in run("info", "plain.data").stdout and
     "no header features" in json.loads(run("info", "-j", "plain.data").stdout)["notes"][-1], "no features: a note")

# ---- a sample of an id that nobody has
kind = dict(sample=gen.BIT["IDENTIFIER"] | gen.BIT["IP"] | gen.BIT["TID"] | gen.BIT["TIME"], sample_id_all=1)
f = gen.File(w, [("cycles", dict(kind, config=0), [40]), ("instructions", dict(kind, config=1), [41])])
gen.fill(f, 2)
s = gen.Sample(9, 999)
s.v.update(TID=(20, 20), TIME=100, IP=0x400000)
f.data += s.record(w, kind)
gen.write("stray.data", f.build())
t.equal(json.loads(run("info", "-j", "stray.data").stdout)["losses"]["unattributed"], 1, "a sample of no event is counted")
for form in ("term", "markdown"):
    out = run("report", "--no-cache", "--format", form, "stray.data").stdout
    t.ok(re.search(r"unattributed\W+1 samples belong to no event", out), "report --format %s says so, too" % form, out)

# ---- what perf stat record writes
f = gen.File(w, [("cycles", dict(type=0, config=0, sample=gen.BIT["IDENTIFIER"], read=3), [100])])
f.features = {24: b""}
f.data += w.record(gen.STAT_CONFIG, w.u64(1, 0, 1))
gen.write("a stat.data", f.build())
t.ok("--import" not in run("info", "a stat.data").stdout, "counts without a reading: nothing reads them")
f.data += w.record(gen.THREAD_MAP, w.u64(1) + w.pack("q", -1) + b"".ljust(16, b"\0"))
f.data += w.record(gen.STAT, w.u64(100) + w.pack("II", 0, 0) + w.u64(5, 7, 7)) + w.record(gen.STAT_ROUND, w.u64(1, 10))
gen.write("a stat.data", f.build())
t.equal(run("stat", "--import", "a stat.data").returncode, 0, "counts with one: stat --import")
p = run("info", "a stat.data")
t.ok("STAT_CONFIG" in p.stdout and "cyclade stat --import 'a stat.data'" in p.stdout and "cyclade report" not in p.stdout,
     "counts: what reads them", p.stdout)
p = run("info", "full.data", "another.data")
t.ok(p.returncode == 2 and "'another.data': one recording at a time" in p.stderr and not p.stdout, "one recording at a time", p.stderr)
t.done()
