#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arm SPE taken apart: random records of each part as perf 7's report -D and script show them, and what perf does not say."""
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import spe_made as spe  # noqa: E402
import gen  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
PERF7 = os.environ.get("CYCLADE_PERF7")
if PERF7 and not os.path.exists(PERF7):
    PERF7 = None
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
rnd = random.Random(11)
RECORDS = 1500 if os.environ.get("CYCLADE_LONG") else 250
CONTEXTS = (None, 20, 21, 30)
COMMS = ((20, 20, "one"), (20, 21, "two"), (30, 30, "three"))


def sql(path, query):
    p = subprocess.run([CYCLADE, "sql", "-i", path, query, "-j"], capture_output=True, text=True)
    assert not p.returncode, p.stderr
    return json.loads(p.stdout)


def perf(*words):
    return subprocess.run([PERF7, *words], capture_output=True, text=True).stdout


def number(v):
    return int(v, 16) if isinstance(v, str) and v.startswith("0x") else v


# ---- perf report -D ----

EVENTS = {"EXCEPTION-GEN": "exception", "RETIRED": "retired", "L1D-ACCESS": "l1d_access", "L1D-REFILL": "l1d_refill", "TLB-ACCESS": "tlb_access",
          "TLB-REFILL": "tlb_walk", "NOT-TAKEN": "not_taken", "MISPRED": "mispredicted", "LLC-ACCESS": "llc_access", "LLC-REFILL": "llc_miss",
          "REMOTE-ACCESS": "remote_access", "ALIGNMENT": "misaligned", "TXN": "transactional", "SVE-PARTIAL-PRED": "partial_predicate",
          "SVE-EMPTY-PRED": "empty_predicate", "L2D-ACCESS": "l2d_access", "L2D-MISS": "l2d_miss", "HITM": "data_modified", "LFB": "recently_fetched",
          "SNOOPED": "snooped", "STREAMING-SVE": "streaming", "SMCU": "smcu", "LATE-PREFETCH": "late_prefetch"}
# perf's words of operations: a field and its value
SUBCLASS = {"GP-REG": "general registers", "SIMD-FP": "SIMD and floating point", "UNSPEC-REG": "unspecified registers",
            "NV-SYSREG": "system register in memory", "MTE-TAG": "memory tags", "MEMCPY": "memory copy", "MEMSET": "memory set",
            "SVE-SME-REG": "SVE or SME", "SVE-OTHER": "SVE", "SME-OTHER": "SME", "OTHER": "other"}
FLAGS = {"AT": "atomic", "EXCL": "exclusive", "AR": "acquire_release", "PRED": "predicated", "SG": "scattered", "FP": "floating", "ASE": "advanced_simd",
         "COND": "conditional", "COND-SELECT": "conditional", "IND": "indirect", "COMM": "common"}
CALLS = {"CR-BL": 1, "CR-RET": 2, "CR-NON-BL-RET": 3}
COUNTERS = {"TOT": "total_latency", "ISSUE": "issue_latency", "XLAT": "translation_latency"}
FIELDS = set(list(EVENTS.values()) + list(FLAGS.values()) + list(COUNTERS.values())) | {"operation", "subclass", "vector_bits", "branch_gcs", "call_return",
                                                                                      "source_code", "timestamp", "context", "context_level"} | \
    {"pc", "pc_level", "pc_nonsecure", "target", "previous_target", "virtual_address", "physical_address", "physical_nonsecure", "physical_checked", "physical_tag"}


def code_address(value, el, ns):
    return value | (0xff << 56 if ns and el in (1, 2) else 0)


def operation(words, out):
    head = words[0]
    if head in ("LD", "ST", "B"):
        out["operation"] = {"LD": "load", "ST": "store", "B": "branch"}[head]
        words = words[1:]
        if head == "B":
            out["subclass"], out["call_return"] = "branch", 0
    else:
        out["operation"] = "other"
    it = iter(words)
    for word in it:
        if word in SUBCLASS:
            out["subclass"] = SUBCLASS[word]
        elif word in ("EVLEN", "ETS"):
            out["vector_bits"] = int(next(it))
        elif word == "GCS":
            out["branch_gcs" if head == "B" else "subclass"] = 1 if head == "B" else "guarded control stack"
        elif word in CALLS:
            out["call_return"] = CALLS[word]
        elif word != "INSN-OTHER":
            out[FLAGS[word]] = 1
            if word in ("AT", "EXCL", "AR"):
                out["subclass"] = "atomic, exclusive or ordered"


def dumped(path):
    """Records as perf prints their packets."""
    record, out = {}, []
    for line in perf("report", "-D", "-i", path).splitlines():
        m = re.match(r"\.  [0-9a-f]{8}:  (?:[0-9a-f]{2} )+ *(\S.*)$", line)
        if not m:
            continue
        words = m[1].split()
        what = words[0]
        if what in ("PC", "TGT", "PBT"):
            v, el, ns = int(words[1], 16), int(words[2][2:]), int(words[3][3:])
            record[{"PC": "pc", "TGT": "target", "PBT": "previous_target"}[what]] = code_address(v, el, ns)
            if what == "PC":
                record.update(pc_level=el, pc_nonsecure=ns)
        elif what == "VA":
            v = int(words[1], 16)
            record["virtual_address"] = v & (1 << 56) - 1 | (0xff << 56 if v >> 52 & 15 == 15 else 0)
        elif what == "PA":
            record.update(physical_address=int(words[1], 16), physical_nonsecure=int(words[2][3:]), physical_checked=int(words[3][3:]), physical_tag=int(words[4][4:], 16))
        elif what == "LAT":
            record[COUNTERS[words[2]]] = int(words[1])
        elif what == "CONTEXT":
            record.update(context=int(words[1], 16), context_level=int(words[2][2:]))
        elif what == "DATA-SOURCE":
            record["source_code"] = int(words[1])
        elif what == "EV":
            record.update({EVENTS[w]: 1 for w in words[1:] if not w.startswith("IMPDEF")})
            if "IMPDEF:" in m[1]:
                record["impdef"] = m[1].split("IMPDEF:")[1]
        elif what == "TS":
            record["timestamp"] = int(words[1])
        elif what not in ("PAD", "END"):
            operation(words, record)
        if what in ("TS", "END"):
            out.append(record)
            record = {}
    return out


def ours(path):
    rows = sql(path, "SELECT * FROM spe ORDER BY sample")["rows"]
    out = []
    for r in rows:
        v = {k: number(r[k]) for k in FIELDS if r[k] is not None and r[k] is not False}
        if v.get("subclass") == "atomic, exclusive or ordered" and not v.keys() & {"atomic", "exclusive", "acquire_release"}:
            del v["subclass"]  # perf has no word of it
        for k in ("pc_nonsecure", "physical_nonsecure", "physical_checked"):
            if r[k] is not None:
                v[k] = int(r[k])
        named = (1 << 12) - 1 | 0x3ff << 16 | ((1 << 12) if r["late_prefetch"] is not None else 0)
        rest = [str(b) for b in range(64) if r["events"] is not None and r["events"] & (1 << 64) - 1 & ~named & 1 << b]
        if rest:
            v["impdef"] = ",".join(rest)
        out.append({k: int(x) if x is True else x for k, x in v.items()})
    return out


def differences(got, want, name):
    bad = [(i, {k: (g.get(k), w.get(k)) for k in g.keys() | w.keys() if g.get(k) != w.get(k)}) for i, (g, w) in enumerate(zip(got, want)) if g != w]
    fields = sum(len(w) for w in want)
    return t.ok(len(got) == len(want) and not bad and want, "%s: %d fields of %d records" % (name, fields, len(want)),
                "%d and %d records\n%s" % (len(got), len(want), "\n".join(map(str, bad[:8]))))


# ---- perf script ----

def scripted(path, what):
    rows = []
    for line in perf("script", "--ns", "--itrace=" + what, "-i", path, "-F", "tid,cpu,time,event,ip,addr,data_src,weight,phys_addr").splitlines():
        m = re.match(r" *(-?\d+) \[(\S+)\] +(\d+)\.(\d{9}): +(\S+): +([0-9a-f]+) +([0-9a-f]+) \|(.*?)  +(\d+) +([0-9a-f]+) +([0-9a-f]+) *$", line)
        assert m, line
        rows.append(dict(tid=int(m[1]), cpu=int(m[2]), time=int(m[3]) * 10 ** 9 + int(m[4]), event=m[5].rstrip(":"), addr=int(m[6], 16), src=int(m[7], 16), words=m[8],
                         weight=int(m[9]), ip=int(m[10], 16), phys=int(m[11], 16)))
    return rows


def field(src, low, bits):
    return src >> low & (1 << bits) - 1


def of_src(src):
    """Fields of union perf_mem_data_src, by name."""
    return dict(op=field(src, 0, 5), lvl=field(src, 5, 14), snoop=field(src, 19, 5), tlb=field(src, 26, 7), num=field(src, 33, 4), remote=field(src, 37, 1),
                snoopx=field(src, 38, 2))


WALK, HIT, MISS, L1, L2 = 0x20, 2, 4, 8, 0x10  # mem_dtlb
CACHE = 0xb


def same_source(perfs, mine):
    """Whether both say the same of memory. What differs and why:
    - a hit of the TLB: perf calls it the walker's; SPE does not tell which level had it
    - another core's cache: perf takes L2 or L3, SPE does not tell which level had it
    - our lock and hops are not set by perf"""
    a, b = of_src(perfs), of_src(mine)
    if a["tlb"] == WALK | HIT:
        a["tlb"] = L1 | L2 | HIT
    if b["num"] == CACHE and a["snoopx"]:
        a["num"] = b["num"]
    return a == b


def lines_of(recs):
    return b"".join(r.bytes() + (spe.padding(rnd.randrange(9)) if rnd.random() < 0.2 else b"") for r in recs)


def compare_samples(name, path, recs, known):
    """All records as perf's instructions, those of memory as its memory."""
    mine = sql(path, "SELECT sample, time, cpu, tid, ip, addr, phys_addr, data_src, weight FROM samples ORDER BY sample")["rows"]
    every = scripted(path, "i1i")
    got = [(r["time"], r["cpu"], r["tid"], number(r["ip"]), r["weight"]) for r in mine]
    want = [(r["time"], r["cpu"], r["tid"], r["ip"], r["weight"]) for r in every]
    t.ok(got == want and len(got) == len(recs), "%s: times, threads, addresses and latencies of %d samples" % (name, len(got)),
         "%d of %d; %r" % (len(got), len(want), [(g, w) for g, w in zip(got, want) if g != w][:4]))
    memory = [r for r, rec in zip(mine, recs) if rec.op[0] == spe.LDST]
    # perf has samples of SIMD operations without an access among those of memory, and takes a source that is not told for number 0
    told = {r["time"]: r for r in mine}
    theirs = [r for r in scripted(path, "M") if told[r["time"]]["data_src"] and int(told[r["time"]]["data_src"], 16) & 6]
    bad = []
    for m, p in zip(memory, theirs):
        rec = recs[mine.index(m)]
        ok = (number(m["addr"]), number(m["phys_addr"]), m["time"]) == (p["addr"], p["phys"], p["time"])
        # of a source that is not told perf takes number 0; on AmpereOne it takes events for a store only if the number is reserved
        if known and rec.source is None and not rec.op[1] & 1 or name == "ampere1a" and rec.op[1] & 1 and rec.source in (1, 2, 4, 6):
            ok = ok and of_src(number(m["data_src"]))["op"] == of_src(p["src"])["op"]
        else:
            ok = ok and same_source(p["src"], number(m["data_src"]))
        if not ok:
            bad.append((m, p))
    t.ok(len(memory) == len(theirs) and memory and not bad, "%s: data sources of %d loads and stores" % (name, len(memory)),
         "%d and %d\n%s" % (len(memory), len(theirs), "\n".join("%r\n  %r" % x for x in bad[:4])))


SOURCES = {"hip12": list(range(20)), "ampere1a": list(range(10))}
# perf 7.2 lacks the numbers of these, whose core is another's
LATER = {"v3ae": spe.V3, "cobalt100": spe.N2}
UNKNOWN = {"n3", "a78", "ampere1", "hip09"}
for name, midr in spe.PARTS.items():
    path = name + ".data"
    recs = spe.drawn(rnd, RECORDS, SOURCES.get(name, range(16)), contexts=CONTEXTS[1:])
    filters = rnd.choice([0, 1 << 23 | 0xff])
    write = dict(comms=COMMS, filters=filters, conv=rnd.choice([(0, 1, 0, 0, 0, 0), (10, 40 << 10, 7777, 0, 0, 0), (3, 17, 5, 900, (1 << 40) - 1, 1)]))
    trace = [spe.Trace(0, lines_of(recs))]
    spe.write(path, trace, midr, **write)
    if not PERF7:
        t.skip(name, "no perf 7: CYCLADE_PERF7 is not set")
        continue
    differences(ours(path), dumped(path), name)
    if name in LATER:  # perf is given the same recording of the core that it knows
        spe.write("asked.data", trace, LATER[name], **write)
        theirs, mine = (sql(x, "SELECT data_src FROM samples ORDER BY sample")["rows"] for x in ("asked.data", path))
        t.equal(mine, theirs, "%s: sources are those of the same core of another name" % name)
        path = "asked.data"
    compare_samples(name, path, recs, name not in UNKNOWN)

# ---- what the kernel tells of a record -----------------------------------------------------------

def made(path, traces, *more, **write):
    spe.write(path, traces, *more, **write)
    return sql(path, "SELECT time, cpu, pid, tid, ip FROM samples ORDER BY sample")


def loads(n, **more):
    return [spe.Record(pc=0x401000 + 4 * i, op=spe.load(), events=spe.RETIRED, va=0x7f0000001000 + 64 * i, total=30 + i, source=0, time=1000 + 100 * i, **more) for i in range(n)]


# without context packets: who ran, by switches of all CPUs; 30 is switched in by its own record, CPU 2 has none
switches = ((900, 0, 1, 20, 20), (1150, 0, 1, 20, 21), (1450, 0, 1, 30, 30), (950, 1, 1, 30, 30))
got = made("switches.data", [spe.Trace(c, lines_of(loads(6))) for c in (0, 1, 2)], comms=COMMS, switches=switches)
want = [(20, 20)] * 2 + [(20, 21)] * 3 + [(30, 30)] + [(30, 30)] * 6 + [((1 << 32) - 1,) * 2] * 6
t.equal([(r["pid"] & (1 << 32) - 1, r["tid"] & (1 << 32) - 1) for r in got["rows"]], want, "threads by the switches of their CPU")
t.ok(any("threads of 6 records are not known" in n for n in got["notes"]), "records whose thread is not known are counted", got["notes"])
# of a thread: the trace says whose it is
got = made("thread.data", [spe.Trace(-1, lines_of(loads(4)), tid=21)], comms=COMMS, types=[n for n in spe.TYPE if n != "CPU"], start=False)
t.equal([(r["pid"], r["tid"]) for r in got["rows"]], [(20, 21)] * 4, "threads of traces of threads")

# without time stamps: the time of the piece of trace
first, second = (b"".join(r.bytes() for r in loads(3)) for _ in range(2))
untimed = [spe.Record(pc=0x401000, op=spe.load(), events=0, va=1) for _ in range(3)]
piece = b"".join(r.bytes() for r in untimed)
got = made("untimed.data", [spe.Trace(0, piece, time=5000), spe.Trace(0, piece, time=9000, offset=len(piece))])
t.equal([r["time"] for r in got["rows"]], [5000] * 3 + [9000] * 3, "times of records without a time stamp are those of their piece of trace")
t.ok(any("6 records have no usable time stamp" in n for n in got["notes"]), "which is said", got["notes"])

# ---- damage ------------------------------------------------------------------------------------

recs = spe.drawn(rnd, 400, contexts=(20,))
for r in recs:  # any byte may end a record: none within one is a packet's first, so that damage ends where the record ends
    r.pc = r.pc if r.el == 0 else 0xffff000008000000
data, hurt = b"", set()
for i, r in enumerate(recs):
    if i % 20 == 7:
        data += bytes([0xff, 0xfe, 0x2f, 0x80][:1 + rnd.randrange(4)])
        hurt.add(i)
    data += r.bytes()
got = made("damaged.data", [spe.Trace(0, data)], comms=COMMS)
left = [r.time for i, r in enumerate(recs) if i not in hurt]
t.equal([r["time"] for r in got["rows"]], left, "after damage the records from the next on are read: %d of %d" % (len(left), len(recs)))
t.ok(any("%d records are damaged" % len(hurt) in n for n in got["notes"]), "damaged records are counted", got["notes"])
cut = b"".join(r.bytes() for r in recs[:9])
got = made("cut.data", [spe.Trace(0, cut[:len(cut) - k]) for k in (1, 3)], comms=COMMS)
t.equal(len(got["rows"]), 16, "a record that is cut off is left out")
t.ok(any("2 records are damaged or cut off" in n for n in got["notes"]), "and counted", got["notes"])
rest = b"".join(r.bytes() for r in loads(3))
got = made("begun.data", [spe.Trace(0, rest[9:])])
t.ok(len(got["rows"]) == 2 and any("1 records have no address" in n for n in got["notes"]), "a record that begins before the trace is left out, and counted", got)
got = made("long.data", [spe.Trace(0, spe.address(0, spe.code(0x401000)) * 300 + b"\1" + rest)])
t.ok(len(got["rows"]) == 3 and any("1 records are damaged" in n for n in got["notes"]), "a record longer than a CPU writes is left out", got)
got = made("flags.data", [spe.Trace(0, rest, flags=f) for f in (1, 4, 8, 9, 2, 0)])
t.equal(got["losses"]["aux_lost"], 4, "pieces that the kernel calls truncated, partial or collided are lost")
claims = bytearray(open("flags.data", "rb").read())
at = claims.rfind(struct.pack("<IHH", gen.AUXTRACE, 0, 48))
claims[at + 8:at + 16] = struct.pack("<Q", 1 << 40)
open("claims.data", "wb").write(claims)
got = sql("claims.data", "SELECT count(*) AS n FROM samples")
t.ok(got["rows"][0]["n"] >= 15 and any("claimed" in n for n in got["notes"]), "a trace that claims more than is there is read as far as it goes", got)

# ---- where they come from -----------------------------------------------------------------------

recs = spe.drawn(rnd, 200, contexts=(20,))
spe.write("little.data", [spe.Trace(0, lines_of(recs))], comms=COMMS)


def but_place(path):
    return [{k: v for k, v in r.items() if k != "sample"} for r in sql(path, "SELECT * FROM spe ORDER BY sample")["rows"]]


for name, write in (("big endian", dict(order=">")), ("version 1, the header's CPUID", dict(version=1))):
    spe.write("other.data", [spe.Trace(0, lines_of(recs))], comms=COMMS, **write)
    t.equal(but_place("other.data"), but_place("little.data"), "the same from a recording of another form: " + name)
spe.write("several.data", [spe.Trace(c, spe.Record(pc=0x401000, op=spe.load(), events=0, source=9, time=5).bytes()) for c in range(3)],
          cpus={0: spe.N2, 1: spe.HIP12, 2: spe.AMPERE1A})
t.equal([r["source"] for r in sql("several.data", "SELECT source FROM spe ORDER BY cpu")["rows"]], ["L2 of another core", "DRAM of another node", "L2"],
        "CPUs of several kinds: the source by the MIDR of each")
spe.write("nosource.data", [spe.Trace(0, spe.Record(pc=0x401000, op=spe.load(), events=0, source=9, time=5).bytes())], midr=spe.A53)
t.equal(sql("nosource.data", "SELECT source, source_code FROM spe")["rows"], [{"source": None, "source_code": 9}], "a CPU whose numbers are not known: the number alone")
t.done()
