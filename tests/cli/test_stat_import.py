#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat --import of what perf stat record wrote: recordings put together here, whose counts are known, in both byte
orders; and perf's own, against what perf stat report reads in them."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "perfdata"))
from tap import PERF, Tap, run  # noqa: E402
from trees import trees  # noqa: E402
import gen  # noqa: E402
import tables  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
COUNT = gen.BIT["IDENTIFIER"]
NONE = 0xffffffff


class Counts(gen.File):
    """A recording of counts: events [(name, type, config)], CPUs or threads."""

    def __init__(self, order, events, threads=None, interval=0, cpuid="GenuineIntel,6,58,9", scale=1, smt=True):
        self.names = [e[0] for e in events]
        rows = [(n, dict(type=k, config=c, sample=COUNT, read=3), [100 * (i + 1) + j for j in range(8)])
                for i, (n, k, c) in enumerate(events)]
        super().__init__(gen.Writer(order), rows)
        w = self.w
        self.features = {8: w.text("A CPU"), 9: w.text(cpuid), 7: w.pack("II", 4, 4), 3: w.text("host-a"),
                         13: w.pack("I", 1) + w.text("0-3") +
                         (w.pack("I", 2) + w.text("0-1") + w.text("2-3") if smt else
                          w.pack("I", 4) + w.text("0") + w.text("1") + w.text("2") + w.text("3")) +
                         b"".join(w.pack("II", i // 2 if smt else i, i // 2) for i in range(4)),
                         14: w.pack("I", 2) + w.pack("IQQ", 0, 1, 1) + w.text("0,2") + w.pack("IQQ", 1, 1, 1) + w.text("1,3"),
                         16: w.pack("I", 3) + w.pack("I", 4) + w.text("cpu_core") + w.pack("I", 10) + w.text("cpu_atom") +
                         w.pack("I", 11) + w.text("power")}
        who = threads or [(-1, "")]
        self.data += w.record(gen.THREAD_MAP, w.u64(len(who)) + b"".join(
            w.pack("q", pid) + comm.encode(errors="surrogateescape").ljust(16, b"\0") for pid, comm in who))
        self.data += w.record(gen.STAT_CONFIG, w.u64(3, 0, 1, 1, interval, 2, scale))

    def stat(self, name, cpu, value, enabled, running=None, thread=0):
        """Ids are by CPU, or by thread."""
        at = self.names.index(name)
        self.data += self.w.record(gen.STAT, self.w.u64(100 * (at + 1) + (thread if cpu == NONE else cpu)) + self.w.pack(
            "II", cpu, thread) + self.w.u64(value, enabled, enabled if running is None else running))

    def round(self, time, final=0):
        self.data += self.w.record(gen.STAT_ROUND, self.w.u64(final, time))

    def save(self):
        path = os.path.join(tmp.name, "f%d.data" % len(os.listdir(tmp.name)))
        with open(path, "wb") as f:
            f.write(self.build())
        return path


def imported(path, *options):
    """The JSON, a list of it with -I; or what it said."""
    p = run("stat", "--import", path, "-j", *options)
    try:
        docs = [json.loads(line) for line in p.stdout.splitlines()] if "-I" in options else json.loads(p.stdout)
    except ValueError:
        return p.stderr
    return docs


def values(doc):
    """{(place, event): (value, counted)}"""
    if "trees" in doc:
        return {(x["where"], c["event"]): (c["value"], c.get("counted")) for x in trees(doc) for c in x["counts"]}
    return {(c.get("where"), c["event"].replace(" [software]", "")): (c["value"], c.get("counted")) for c in doc["counts"]}


def shares(tree):
    return {n["node"]: n["value"] for n in tree["nodes"] if n["level"] == 1}


def near(a, b):
    return a is not None and abs(a - b) < 1e-9 * max(1, abs(b))


SOFT = [("cs", 1, 3), ("page-faults", 1, 2), ("task-clock", 1, 1)]
IVB = [("CPU_CLK_UNHALTED.THREAD", 4, 0x3c), ("IDQ_UOPS_NOT_DELIVERED.CORE", 4, 0x19c), ("UOPS_ISSUED.ANY", 4, 0x10e),
       ("UOPS_RETIRED.RETIRE_SLOTS", 4, 0x2c2), ("INT_MISC.RECOVERY_CYCLES", 4, 0x100030d)]


# ---- counts that are known ----

for order, word in (("<", "little"), (">", "big")):
    f = Counts(order, SOFT, interval=100)
    for r, (a, b) in enumerate(((10, 20), (15, 70), (115, 71))):
        for cpu in range(4):
            f.stat("cs", cpu, a + cpu, 100_000_000 * (r + 1))
            f.stat("page-faults", cpu, 1000 * b * (cpu + 1), 100_000_000 * (r + 1), 25_000_000 * (r + 1))
            f.stat("task-clock", cpu, 7, 0, 0)
        if r < 2:
            f.round(100_000_000 * (r + 1))
    f.round(0, 1)
    path = f.save()
    doc = imported(path)
    for verb in ("report", "annotate", "blocks", "calls"):
        p = run(verb, "-i", path, *(["main"] if verb == "annotate" else []))
        t.ok(p.returncode == 2 and "stat --import " + path in p.stderr, "%s: %s points to stat --import" % (word, verb), p.stdout + p.stderr)
    t.equal(values(doc), {(None, "cs"): (115 * 4 + 6, 1), (None, "page-faults"): (71 * 10 * 4000, 0.25),
                          (None, "task-clock"): (None, None)},
            "%s: the last reading of each counter is the total, extrapolated where it took turns" % word)
    t.ok("never enabled" in str(doc), "%s: what was never enabled is not counted, and not 0" % word, doc)
    got = imported(path, "--per", "cpu")
    t.equal(values(got)[("CPU2", "page-faults")], (71 * 3 * 4000, 0.25), "%s: --per cpu" % word)
    got = imported(path, "--per", "core")
    t.equal([values(got)[("S%d-D0-C%d" % (i, i), "cs")] for i in (0, 1)], [(231, 1), (235, 1)],
            "%s: --per core, by the header's topology" % word)
    t.equal(values(imported(path, "--per", "socket"))[("S1", "cs")], (235, 1), "%s: --per socket" % word)
    t.equal(values(imported(path, "--per", "node"))[("N1", "cs")], (234, 1), "%s: --per node" % word)
    docs = imported(path, "-I", "100")
    t.equal([values(d)[(None, "cs")][0] for d in docs if "counts" in d], [46, 20, 400],
            "%s: -I: what is new in each interval, the unfinished last one too" % word)
    t.equal([round(d["time"], 3) for d in docs if d.get("counts")][:2], [0.1, 0.2], "%s: -I: when they ended" % word)
    docs = imported(path, "-I", "200", "--per", "socket")
    t.equal([values(d)[("S0", "page-faults")][0] for d in docs if d.get("counts")], [70 * 3 * 4000, 3 * 4000],
            "%s: -I joins intervals to longer ones" % word)

f = Counts("<", SOFT, threads=[(12, "left"), (13, "right")])
for i in (0, 1):
    f.stat("cs", NONE, 5 + i, 1000, thread=i)
f.stat("page-faults", NONE, 9, 1000, 500, thread=1)
f.round(5_000_000, 1)
path = f.save()
t.equal(values(imported(path))[(None, "cs")], (11, 1), "threads: all of them")
got = values(imported(path, "--per", "thread"))
t.equal([got[(w, e)] for w in ("left-12", "right-13") for e in ("cs", "page-faults")],
        [(5, 1), (None, None), (6, 1), (18, 0.5)], "--per thread, by name and number")
EVIL = 'c"s,<|\n\x1b[1m'
f = Counts("<", [(EVIL, 1, 3), ("=b\udcff", 1, 2)], threads=[(12, 'l|\n\x1b"<,'), (13, "+b\udcffd")])
f.stat(EVIL, NONE, 2 ** 53 - 1, 1000)
f.stat("=b\udcff", NONE, 9, 1000, 500, thread=1)
f.round(5_000_000, 1)
evil = f.save()
tables.walk(t, "stat", "--import", evil, "--per", "thread")
got = imported(evil, "--per", "thread")
t.equal([(r["where"], r["event"], r["value"], r["value_why"]) for r in got["counts"]][0], ('l|\n\x1b"<,-12', EVIL, 2 ** 53 - 1, None), "names as they are, in json")
t.ok(",%d," % (2 ** 53 - 1) in run("stat", "--import", evil, "--per", "thread", "-x,").stdout, "csv: counts with all their digits")
p = run("stat", "--import", evil, "-x,")
t.ok("no tree" in p.stderr and "no tree" not in p.stdout, "csv: notes go to standard error", p.stderr)
t.ok(all(r["value"] is None and "no count of it" in r["value_why"] or r["value"] and r["value_why"] is None for r in got["counts"]) and
     got["losses"] == {"counts": 4, "refused": 0, "not_counted": 2, "multiplexed": 1}, "what was not counted is told of each, and in all", got)
with open(evil) as f:
    p = run("stat", "--import", "-", "-x,", stdin=f)
t.equal(p.stdout, run("stat", "--import", evil, "-x,").stdout, "--import - : a recording on standard input")
printed = "1.50,msec,task-clock,1500000,100.00,0.5,CPUs utilized\n20,,page-faults,1500000,100.00,,\n"
p = run("stat", "--import", "-", "-x,", stdin=subprocess.Popen(["printf", "%s", printed], stdout=subprocess.PIPE).stdout)
t.ok(p.returncode == 0 and "task-clock,1500000," in p.stdout and "page-faults,20," in p.stdout, "--import - : text from a pipe", p.stdout + p.stderr)
p = run("stat", "--import", path, "--per", "cpu")
t.ok(p.returncode == 2 and "not recorded by CPU" in p.stderr, "--per cpu of threads: refused", p.stderr)

f = Counts("<", SOFT)
f.stat("cs", 0, 50, 1000)
f.round(1)
f.stat("cs", 0, 40, 2000)
f.stat("page-faults", 0, 3, 10)
f.data += f.w.record(gen.STAT, f.w.u64(99, 0, 1, 1, 1))
f.round(2)
doc = imported(f.save())
t.ok(values(doc)[(None, "cs")][0] == 50 and "fell" in str(doc["notes"]) and "unknown events" in str(doc["notes"]),
     "a count that falls, and one of an unknown id: told", doc)
f = Counts("<", SOFT, scale=0)
f.stat("cs", 0, 50, 1000, 500)
f.round(1, 1)
doc = imported(f.save())
t.ok(values(doc)[(None, "cs")] == (50, 0.5) and "--no-scale" in str(doc["notes"]), "--no-scale: as it was counted", doc)
f = Counts("<", [("power/energy-pkg/", 11, 2)])
f.data += f.w.record(gen.EVENT_UPDATE, f.w.u64(0, 100) + gen.text8("Joules"))
f.data += f.w.record(gen.EVENT_UPDATE, f.w.u64(1, 100) + f.w.pack("d", 0.25))
f.stat("power/energy-pkg/", 0, 10, 1000)
f.round(1, 1)
got = imported(f.save())["counts"][0]
t.equal((got["value"], got["unit"]), (2.5, "Joules"), "an event's scale and unit")
f = Counts("<", [("uncore_imc/rd/", 20, 4), ("uncore_imc/rd/", 21, 4), ("uncore_imc/wr/", 20, 5)])
f.names = ["rd0", "rd1", "wr"]
f.stat("rd0", 0, 10, 1000)
f.stat("rd1", 0, 32, 1000)
f.stat("wr", 0, 5, 1000)
f.round(1, 1)
path = f.save()
t.equal(values(imported(path)), {(None, "uncore_imc/rd/"): (42, 1), (None, "uncore_imc/wr/"): (5, 1)}, "the boxes of a unit are added up")
t.equal([c["value"] for c in imported(path, "--no-merge")["counts"]], [10, 32, 5], "--no-merge: each by itself")
f = Counts("<", SOFT)
p = run("stat", "--import", f.save())
t.ok(p.returncode == 2 and "no counts" in p.stderr, "a recording without counts: refused", p.stderr)


# ---- the tree ----

def ivb(order, **kw):
    f = Counts(order, IVB, **kw)
    for cpu in range(4):
        c = 1000 * (cpu + 1)
        # frontend 0.2, bad speculation 0.1, retiring 0.3 + cpu / 20
        f.stat("CPU_CLK_UNHALTED.THREAD", cpu, c, 1000)
        f.stat("IDQ_UOPS_NOT_DELIVERED.CORE", cpu, round(0.8 * c), 1000)
        f.stat("UOPS_RETIRED.RETIRE_SLOTS", cpu, round((1.2 + cpu / 5) * c), 1000)
        f.stat("UOPS_ISSUED.ANY", cpu, round((1.6 + cpu / 5) * c) // 2, 1000, 500)
        f.stat("INT_MISC.RECOVERY_CYCLES", cpu, 0, 1000)
    f.round(1_000_000, 1)
    return f.save()


f = Counts("<", IVB, threads=[(12, 'l|\n\x1b[1m<,'), (13, "+b\udcffd")])
for i in range(2):
    for name, value in (("CPU_CLK_UNHALTED.THREAD", 1000), ("IDQ_UOPS_NOT_DELIVERED.CORE", 800), ("UOPS_RETIRED.RETIRE_SLOTS", 1200 + 400 * i),
                        ("UOPS_ISSUED.ANY", 1600), ("INT_MISC.RECOVERY_CYCLES", 0)):
        f.stat(name, NONE, value, 1000, thread=i)
f.round(1_000_000, 1)
evil = f.save()
tables.walk(t, "stat", "--import", evil, "--per", "thread", "--smt", "off", "-l", "2", "-M", "IPC")
got = trees(imported(evil, "--per", "thread", "--smt", "off"))
t.ok([x["where"] for x in got] == ['l|\n\x1b[1m<,-12', "+b\ufffdd-13"] and [round(shares(x)["retiring"], 3) for x in got] == [0.3, 0.4],
     "a tree for each thread, by its name as it is", got)

for order in "<>":
    path = ivb(order, smt=False)
    doc = imported(path)
    s = shares(trees(doc)[0])
    t.equal(trees(doc)[0]["model"], "ivb", "the model is the one of the header's CPU")
    t.ok(near(s["frontend_bound"], 0.2) and near(s["bad_speculation"], 0.1) and near(s["retiring"], 0.4) and
         near(s["backend_bound"], 0.3), "the tree of all CPUs", s)
    per = trees(imported(path, "--per", "cpu"))
    t.ok([x["where"] for x in per] == ["CPU0", "CPU1", "CPU2", "CPU3"] and
         all(near(shares(x)["retiring"], 0.3 + i / 20) for i, x in enumerate(per)), "--per cpu: a tree for each", per)
doc = imported(ivb("<", smt=False), "--model", "skl")
t.equal(trees(doc)[0]["model"], "skl", "--model goes before the header's CPU")
text = "\n".join("%d,,%s,1000,%s,," % (sum(c), n, p) for n, c, p in (
    ("CPU_CLK_UNHALTED.THREAD", [1000, 2000, 3000, 4000], 100), ("IDQ_UOPS_NOT_DELIVERED.CORE", [800, 1600, 2400, 3200], 100),
    ("UOPS_RETIRED.RETIRE_SLOTS", [1200, 2800, 4800, 7200], 100), ("INT_MISC.RECOVERY_CYCLES", [0], 100),
    ("UOPS_ISSUED.ANY", [1600, 3600, 6000, 8800], 50)))
csv = os.path.join(tmp.name, "counts.csv")
with open(csv, "w", encoding="utf-8") as out:
    out.write(text + "\n")
a, b = imported(csv, "--model", "ivb", "--smt", "off", "-a"), imported(ivb("<", smt=False))
t.ok(all(near(n["value"], m["value"]) if n["value"] is not None else m["value"] is None
         for n, m in zip(trees(a)[0]["nodes"], trees(b)[0]["nodes"])), "the same tree as of perf stat -x of such a run")
for times, believed in ((1, True), (100000, False)):
    with open(csv, "w", encoding="utf-8") as out:
        for n, c in (("CPU_CLK_UNHALTED.THREAD", 10000), ("IDQ_UOPS_NOT_DELIVERED.CORE", 0), ("UOPS_RETIRED.RETIRE_SLOTS", 16000),
                     ("UOPS_ISSUED.ANY", 20000), ("INT_MISC.RECOVERY_CYCLES", 0)):
            out.write("%d,,%s,1000,100,,\n" % (c * times, n))
    doc = imported(csv, "--model", "ivb", "--smt", "off", "-a")
    n = {x["node"]: x for x in trees(doc)[0]["nodes"]}
    if believed:
        t.equal(n["frontend_bound"]["value"], 0, "a count of 0 in few cycles may be true")
    else:
        t.ok(n["frontend_bound"]["value"] is None and "counted 0" in n["frontend_bound"]["value_why"] and n["backend_bound"]["value"] is None and
             near(n["retiring"]["value"], 0.4), "in 1e9 cycles it is a counter that did not work", n)
with open(csv, "w", encoding="utf-8") as out:
    out.write(text + "\n")
doc = imported(ivb("<"))
t.ok(not any("SMT" in n for n in doc["notes"]), "whether SMT was on is known by the header", doc["notes"])
p = run("stat", "--import", csv, "--model", "ivb", "--per", "cpu")
t.ok(p.returncode == 2 and "no count in it is of one cpu" in p.stderr and "-A" in p.stderr, "--per of text without places: refused", p.stderr)

f = Counts("<", [("INST_RETIRED.ANY", 4, 0xc0), ("INST_RETIRED.ANY", 10, 0xc0), ("CPU_CLK_UNHALTED.THREAD", 4, 0x3c),
                 ("CPU_CLK_UNHALTED.CORE", 10, 0x3c)], cpuid="GenuineIntel,6,151,2")
f.features[30] = f.w.pack("I", 2) + f.w.text("cpu_core") + f.w.text("0-1") + f.w.text("cpu_atom") + f.w.text("2-3")
f.names = ["i-core", "i-atom", "c-core", "c-atom"]
for name, cpu, v in (("i-core", 0, 1000), ("i-atom", 2, 300), ("c-core", 0, 500), ("c-atom", 2, 100)):
    f.stat(name, cpu, v, 1000)
f.round(1, 1)
path = f.save()
doc = imported(path)
got = {(x["where"], c["event"].upper()): c["value"] for x in trees(doc) for c in x["counts"]}
t.equal((got.get(("cpu_core", "INST_RETIRED.ANY")), got.get(("cpu_atom", "INST_RETIRED.ANY"))), (1000, 300),
        "a hybrid's kinds of cores have a tree each, by the PMU of the events")
t.equal([x["model"] for x in trees(imported(path, "--model", "adl-grt"))], ["adl-grt"], "or the one of --model alone")
p = run("stat", "--import", path, "--model", "skx")
t.ok(p.returncode == 2 and "no cores" in p.stderr, "a model of other cores: refused", p.stderr)

f = Counts("<", SOFT, cpuid="GenuineIntel,6,250,1")
f.stat("cs", 0, 50, 1000)
f.round(1, 1)
doc = imported(f.save())
t.ok(values(doc)[(None, "cs")] == (50, 1) and "no tree" in str(doc["notes"]), "a CPU that no model is for: the events, and why", doc)


# ---- perf's own ----

def report(perf, path, *options):
    """{(time, place, event): value} as perf stat report prints it; clocks in ms."""
    p = subprocess.run([perf, "stat", "report", "-i", path, *options], text=True, capture_output=True, timeout=600,
                       stdin=subprocess.DEVNULL, check=False)
    out = {}
    for line in (p.stdout + p.stderr).splitlines():
        m = re.match(r"^\s*([0-9.]+(?=\s+(?:CPU|S\d|[0-9])))?\s*(CPU\d+|S\d\S*\s+\d+)?\s+([0-9.]+) (?:msec )?\s*([a-z][-a-z]+(?::u)?)(?:\s|$)", line)
        if m:
            place = m.group(2).split()[0] if m.group(2) else None
            if m.group(4) == "seconds":
                continue
            out[(m.group(1), place, m.group(4))] = float(m.group(3))
    return out


def same(ours, perfs):
    """Each of perf's values is ours, as it rounds them."""
    def shown(event, v):
        return v / 1e6 if "-clock" in event else v
    return perfs and all(k in ours and abs(shown(k[-1], ours[k]) - v) < 0.0051 for k, v in perfs.items())


EVENTS = "task-clock,page-faults,cs,cpu-clock"
for perf in (PERF, os.environ.get("CYCLADE_PERF612")):
    if not perf:
        t.skip("recordings of perf stat", "no perf (CYCLADE_PERF612 names a second one)")
        continue
    path = os.path.join(tmp.name, "perf.data")

    def record(*words):
        return subprocess.run([perf, "stat", "record", "-o", path, "-e", EVENTS, *words], capture_output=True, timeout=600,
                              stdin=subprocess.DEVNULL, check=False).returncode == 0 and os.path.getsize(path) > 0
    if not record("--", "true"):
        t.skip("recordings of perf stat", "perf cannot count here")
        continue
    ours = {(None, k[0], k[1]): v[0] for k, v in values(imported(path)).items()}
    want = report(perf, path)
    t.ok(len(want) == 4 and same(ours, want), "a program's counts are those of perf stat report", "%r\n%r" % (ours, want))
    if not record("-a", "-A", "--", "sleep", "0.3"):
        t.skip("all CPUs of perf stat", "not permitted here")
        continue
    for per, option in (("cpu", "-A"), ("socket", "--per-socket"), ("core", "--per-core")):
        ours = {(None, k[0], k[1]): v[0] for k, v in values(imported(path, "--per", per)).items()}
        want = report(perf, path, option)
        t.ok(len(want) >= 4 and same(ours, want), "--per %s is perf stat report %s" % (per, option), "%r\n%r" % (ours, want))
    record("-a", "-I", "100", "--", "sleep", "0.45")
    docs = [d for d in imported(path, "-I", "100") if d.get("counts")]
    want = report(perf, path)
    if perf != PERF:  # its report does not take intervals apart
        last = {k[1:]: v for k, v in want.items()}
        total = {(None, k[1]): v[0] for k, v in values(imported(path)).items()}
        t.ok(len(last) == 4 and set(last) <= set(total), "-I: as many events", "%r\n%r" % (total, last))
        continue
    ours = {("%.9f" % d["time"], None, c["event"]): c["value"] for d in docs for c in d["counts"]}
    last = max(k[0] for k in want)  # is joined with what came after it
    want = {k: v for k, v in want.items() if k[0] != last}
    sums, so_far = {}, {}
    for k in sorted(ours):
        so_far[k[2]] = sums[k] = so_far.get(k[2], 0) + ours[k]
    # perf 6.12's intervals hold those before, too
    t.ok(len(want) >= 12 and (same(ours, want) or same(sums, want)), "-I: each interval is perf stat report's", "%r\n%r" % (ours, want))
    p = subprocess.run([perf, "stat", "record", "-o", "-", "-e", EVENTS, "true"], capture_output=True, timeout=600,
                       stdin=subprocess.DEVNULL, check=False)
    pipe = os.path.join(tmp.name, "pipe.data")
    with open(pipe, "wb") as out:
        out.write(p.stdout)
    got = values(imported(pipe))
    t.ok(len(got) == 4 and got[(None, "task-clock")][0] > 0, "a recording in pipe form", got)
t.done()
