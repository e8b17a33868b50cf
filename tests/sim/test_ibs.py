#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade record --ibs` and `--mem` on simulated machines: what is asked of the kernel, what comes out of SQL, periods that are drawn
evenly from the multiples of 16 around the one that was asked for."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import machines_made  # noqa: E402
from sim import SPIN, SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, PERF, SIMULATED, WHOLE_CPUS, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
DATA = os.path.join(tmp.name, "sim.data")


def record(machine, *options, ms=100, settings=""):
    return run_on(machine, "even", CYCLADE, "record", *SYSROOT, "-o", DATA, *options, "--", SPIN, str(ms), settings=settings)


def dry(machine, *options):
    r = run_on(machine, "even", CYCLADE, "record", *SYSROOT, "--dry-run", *options, "--", "true")
    return r.stdout + r.stderr


def sql(query):
    r = subprocess.run([CYCLADE, "sql", DATA, "-j", query], capture_output=True, text=True, check=False)
    return json.loads(r.stdout)["rows"] if not r.returncode else r.stderr


def one(query):
    rows = sql(query)
    return list(rows[0].values()) if isinstance(rows, list) and rows else rows


def test_samples():
    for machine, caps in ("zen4", 0xbff), ("zen2", 0x3ff):
        r = record(machine, "--ibs=both", "-c", "100000", ms=200)
        t.ok(r.returncode == 0, "%s: --ibs=both records" % machine, r.stderr)
        x = one("SELECT count(*) > 200, count(refused), min(caps) = %d AND max(caps) = %d, sum(op_dispatched = 0), sum(load) > 20, "
                "sum(o.ip != op_rip), sum(s.addr IS NOT data_linear AND data_linear IS NOT NULL), "
                "sum(miss_latency IS NOT NULL AND s.weight != miss_latency), sum(s.function IS NOT o.function) "
                "FROM ibs_op o JOIN samples s USING (run, sample)" % (caps, caps))
        t.equal(x, [1, 0, 1, 0, 1, 0, 0, 0, 0], "%s: each op is whole, and what samples say" % machine)
        x = one("SELECT count(*) > 50, count(refused), min(fetch_random), sum(fetch_latency > 0) > 50 FROM ibs_fetch")
        t.equal(x, [1, 0, True, 1], "%s: each fetch is whole" % machine)
        x = one("SELECT (SELECT count(*) FROM ibs_op) + (SELECT count(*) FROM ibs_fetch) = (SELECT count(*) FROM samples WHERE event NOT LIKE 'dummy%')")
        t.equal(x, [1], "%s: no sample is left out" % machine)
        levels = {(x["source"], x["data_level"]) for x in sql("SELECT DISTINCT source, data_level FROM ibs_op JOIN samples USING (run, sample) "
                                                              "WHERE load AND data_level IS NOT NULL")}
        wrong = {x for x in levels if x[0] in ("L1", "L2") and x[1] != x[0] or x[0] == "DRAM" and x[1] != "RAM"}
        t.ok(len(levels) > 3 and not wrong, "%s: sources as in the kernel's data_src" % machine, sorted(map(str, levels)))
    if PERF:
        p = subprocess.run([PERF, "report", "-D", "-i", DATA], capture_output=True, text=True, errors="replace", check=False)
        t.equal([len(re.findall("^ibs_op_ctl:", p.stdout, re.M))], one("SELECT count(*) FROM ibs_op"), "perf decodes as many ops")


def chi_square(values, low, high, bins=10):
    """Of an even distribution over low..high."""
    seen = [0] * bins
    for v in values:
        seen[min(bins - 1, (v - low) * bins // (high - low + 16))] += 1
    want = len(values) / bins
    return sum((n - want) ** 2 / want for n in seen)


def test_periods():
    """A counter has a new period every 100 samples: what periods there are is drawn some 100 times."""
    for ms in 800, 3000, 10000:  # on a busy machine samples are lost, and draws with them
        r = record("zen4", "--ibs", "-c", "160000", "--jitter=50", "-m", "4", ms=ms)
        rows = sql("SELECT DISTINCT period FROM ibs_op")
        periods = [x["period"] for x in rows] if isinstance(rows, list) else []
        if len(periods) > 30:
            break
    t.ok(r.returncode == 0 and len(periods) > 30, "periods change while it records", (r.stderr, rows))
    t.ok(all(p % 16 == 0 and 80000 <= p <= 240000 for p in periods), "they are multiples of 16 around the one asked for", periods)
    t.ok(periods and chi_square(periods, 80000, 240000) < 33.7, "and evenly spread (chi-square, 9 degrees, 1 in 10,000)",
         (chi_square(periods, 80000, 240000), periods) if periods else "")
    said = subprocess.run([CYCLADE, "info", DATA], capture_output=True, text=True, check=False).stdout
    low, high = one("SELECT min(period), max(period) FROM ibs_op")
    t.ok("one sample every 160,000; periods from {:,} to {:,}".format(low, high) in re.sub(r"\s+", " ", said), "info states the range", said)
    record("zen4", "--ibs", "--jitter=0", ms=50)
    t.equal(one("SELECT min(period), max(period) FROM ibs_op"), [1000000, 1000000], "--jitter 0: one period")


def test_alias():
    """A loop that a fixed period keeps step with, of which 40 % are loads that miss: what comes of it with one period, and by default."""
    for ops in 1600, 160:
        n, miss = seen(ops, "--jitter=0")
        t.ok(n > 1000 and abs(miss / n - 0.4) > 0.3, "a loop of %d ops: one period is wrong by more than 30 %%" % ops, (n, miss))
        n, miss = seen(ops)
        t.ok(n > 1000 and abs(miss / n - 0.4) < 1.96 * (0.4 * 0.6 / n) ** 0.5, "a loop of %d ops: drawn periods are right within the error bar" % ops, (n, miss))
    # 53 is the least factor that periods may have: where one has it, its hundred samples or so are of one op
    for ms in 300, 1000, 3000:  # on a busy machine the rings are emptied late
        n, miss = seen(53 * 16, first=ms)
        periods = one("SELECT count(DISTINCT period) FROM ibs_op")[0]
        if periods > n / 800:
            break
    t.ok(n > 1000 and periods > n / 800 and abs(miss / n - 0.4) < 0.6 * 8 / periods, "a loop of 848 ops: few samples have one period", (n, miss, periods))


def seen(ops, *options, first=200):
    """Samples, and those of loads that miss."""
    for ms in first, 800, 3000:
        record("zen4", "--ibs", "-c", "160000", *options, ms=ms, settings="loop=%d" % ops)
        x = one("SELECT count(*), sum(dc_miss) FROM ibs_op")
        if len(x) == 2 and x[0] > 1000:
            break
    return x if len(x) == 2 else (0, 0)


def test_asked():
    said = dry("zen4", "--ibs")
    t.ok(re.search(r"^ibs_op/cnt_ctl=1,swfilt=1,period=1000000/$", said, re.M) and "exclude_guest" not in said.split("dummy")[0] and
         re.search("sample .*addr.*raw.*data_src.*phys_addr.*weight_struct", said), "dispatched ops, with address, latency, source and registers", said)
    t.ok("ibs_fetch/swfilt=1,rand_en=1" in dry("zen4", "--ibs=fetch"), "fetches")
    said = dry("zen4", "--ibs=op,cycles")
    t.ok("cnt_ctl" not in said and "no fair draw" in said, "cycles on request, with a warning", said)
    said = dry("zen4", "--ibs=l3missonly")
    t.ok("l3missonly=1" in said and "cannot be extrapolated" in said, "misses of L3 alone, with a warning", said)
    t.ok("swfilt" not in dry("zen2", "--ibs"), "a kernel that cannot filter is not asked to")
    for words, why in (("l3missonly", "has no l3missonly"), ("ldlat=128", "has no ldlat"), ("loads", "is not understood"), ("op,fetch", "is not understood"),
                       ("ldlat=0", "is not understood")):
        said = dry("zen2", "--ibs=" + words)
        t.ok(why in said, "--ibs=%s: %s" % (words, why), said)
    for period, want in ("1001", "1008"), ("1", "144"), ("160", "160"):
        t.ok(re.search(r"^  period +%s$" % want, dry("zen4", "--ibs", "-c", period), re.M), "-c %s becomes %s" % (period, want), dry("zen4", "--ibs", "-c", period))
    r = record("zen4", "-e", "ibs_op/cnt_ctl=1,period=100001/", ms=50)
    t.equal(one("SELECT min(period), max(period), count(*) > 5, count(refused) FROM ibs_op"), [100000, 100000, 1, 0], "-e ibs_op//: rounded, and with registers")
    t.ok(r.returncode == 0, "it is recorded", r.stderr)
    r = record("zen4", "--ibs", "--user", ms=50)
    t.ok(r.returncode == 0 and one("SELECT count(*) > 0 FROM ibs_op") == [1], "user space alone, where the kernel can", r.stderr)
    r = record("zen2", "--ibs", "--user", ms=20, settings="linux=6.12")
    t.ok(r.returncode == 125 and "Linux 6.14" in r.stderr and "-a" in r.stderr, "user space alone, where the kernel cannot", r.stderr)
    r = record("spr", "--ibs")
    t.ok(r.returncode == 125 and "there is no IBS here" in r.stderr and "doctor" in r.stderr, "a machine without: what to do", r.stderr)


def test_whole_cpus():
    """Before Linux 6.2 IBS is of CPUs: the file has the samples of what was asked for, and of what it began."""
    script = "import subprocess, sys; [subprocess.run([sys.argv[1], '30']) for _ in range(5)]"
    with subprocess.Popen([SPIN, "100000"]) as other:
        r = run_on("zen2", "even", CYCLADE, "record", *SYSROOT, "-o", DATA, "--ibs", "--", sys.executable, "-c", script, SPIN, settings="linux=6.1")
        x = sql("SELECT comm, pid, count(*) AS n FROM ibs_op GROUP BY 1, 2")
        spun = [row for row in x if row["comm"] == "sim_spin"] if isinstance(x, list) else []
        t.ok(r.returncode == 0 and len(spun) == 5 and sum(row["n"] for row in spun) > 50, "Linux 6.1: a program and its children", (r.stderr, x))
        t.ok(other.pid not in [row["pid"] for row in spun] and re.search(r"[0-9,]+ samples of other programs were left out", r.stderr),
             "and nobody else's samples, which are counted", (r.stderr, x))
        r = run_on("zen2", "even", CYCLADE, "record", *SYSROOT, "-o", DATA, "--ibs", "-p", str(other.pid), "--for", "300ms", settings="linux=6.1")
        x = sql("SELECT DISTINCT pid, comm, function FROM ibs_op WHERE mode = 'user'")
        t.ok(r.returncode == 0 and {"pid": other.pid, "comm": "sim_spin", "function": "main"} in x and {row["pid"] for row in x} == {other.pid}, "-p", (r.stderr, x))
        other.kill()
    t.ok("led by" not in dry("zen2", "--ibs"), "newer ones have it of tasks")


def test_keep():
    """What goes into the file is what the predicate means in SQL; the rest is counted."""
    for predicate, where in (("load AND dc_miss", "load AND dc_miss"), ("F206", "(load OR store) AND dc_miss"), ("weight > 100", "miss_latency > 100"),
                             ("source = 'DRAM' OR branch AND taken", "source = 'DRAM' OR (branch AND taken)"), ("cpu >= 0", "cpu >= 0"),
                             ("event LIKE 'ibs_op%' AND op_rip = ip", "op_rip = ip"), ("period % 16 = 0 AND pid = tid", "1")):
        r = record("zen4", "--ibs", "-c", "100000", "--keep", predicate, ms=60)
        kept = re.search(r"([0-9,]+) samples? in ", r.stderr)
        x = one("SELECT count(*), sum(%s) FROM ibs_op" % where)
        t.ok(r.returncode == 0 and kept and x == [int(kept.group(1).replace(",", ""))] * 2 and x[0] > 2, "--keep '%s'" % predicate, (r.stderr, x))
        t.ok(("were not kept" in r.stderr) == (where not in ("1", "cpu >= 0", "op_rip = ip")), "--keep '%s': the rest is counted" % predicate, r.stderr)
    r = record("zen4", "--ibs=both", "-c", "100000", "--keep", "fetch_latency > 5 OR store", ms=100)
    t.equal(one("SELECT (SELECT min(store) FROM ibs_op), (SELECT min(fetch_latency) > 5 FROM ibs_fetch)"), [True, 1], "of ops and fetches")
    r = record("spr", "--mem", "--keep", "data_level = 'L3' AND data_op = 'load'", ms=200)
    t.equal(sql("SELECT DISTINCT data_level, data_op FROM samples"), [{"data_level": "L3", "data_op": "load"}], "of PEBS")
    for predicate, why in (("nonsense", "no such column: nonsense"), ("load) ; (", "syntax error"), ("F218", "no event of IBS"), ("", "--keep"), ("function = 'x'", "no such column")):
        r = record("zen4", "--ibs", "--keep", predicate, ms=10)
        t.ok(r.returncode == 125 and why in r.stderr, "--keep '%s': %s" % (predicate, why), r.stderr)


SAMPLE, PARTS = 9, ("IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC IDENTIFIER "
                    "TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT").split()
BIT = {name: 1 << i for i, name in enumerate(PARTS)}
ORDER = ("IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD RAW WEIGHT DATA_SRC PHYS_ADDR DATA_PAGE_SIZE".split())


def without(data, parts):
    """The recording without these parts of its samples, which here have none but those of ORDER, all of the same type."""
    b = bytearray(data)
    attrs, n_attrs, start, size = struct.unpack_from("<QQQQ", b, 24)
    each, = struct.unpack_from("<Q", b, 16)
    kind, = struct.unpack_from("<Q", b, attrs + 24)
    weight = BIT["WEIGHT_STRUCT"]
    kind = kind & ~weight | (BIT["WEIGHT"] if kind & weight else 0)
    for i in range(n_attrs // each):
        there, = struct.unpack_from("<Q", b, attrs + i * each + 24)
        struct.pack_into("<Q", b, attrs + i * each + 24, there & ~sum(BIT["WEIGHT_STRUCT" if p == "WEIGHT" else p] for p in parts))
    records, at = bytearray(), start
    while at < start + size:
        t, misc, n = struct.unpack_from("<IHH", b, at)
        record, p = bytearray(b[at:at + 8]), at + 8
        for name in [x for x in ORDER if kind & BIT[x]] if t == SAMPLE else []:
            length = 4 + struct.unpack_from("<I", b, p)[0] if name == "RAW" else 8
            record += b"" if name in parts else b[p:p + length]
            p += length
        record += b[p:at + n]
        struct.pack_into("<H", record, 6, len(record))
        records += record
        at += n
    table = b[start + size:start + size + 16 * sum(x.bit_count() for x in b[72:104])]
    struct.pack_into("<QQ", b, 40, len(b), len(records))
    return bytes(b + records + table)


def infos():
    doc = json.loads(subprocess.run([CYCLADE, "info", "-j", DATA], capture_output=True, text=True, check=False).stdout)
    events = [e for e in doc["events"] if e["samples"]]
    sample = next((x for x in doc["records"] if x["record"] == "SAMPLE"), {"bytes": 0, "count": 0})
    return {x for e in events for x in e["sample_type"]}, sample["bytes"], sample["count"], doc["left_out"]


def mem(path):
    doc = json.loads(subprocess.run([CYCLADE, "mem", "-j", path], capture_output=True, text=True, check=False).stdout)
    return {k: v for k, v in doc.items() if k not in ("recording", "notes", "file")}


def packets(path):
    """The registers of each sample of IBS, by event, read from the file's bytes."""
    with open(path, "rb") as f:
        b = f.read()
    attrs, n_attrs, at, size = struct.unpack_from("<QQQQ", b, 24)
    each, = struct.unpack_from("<Q", b, 16)
    kind, = struct.unpack_from("<Q", b, attrs + 24)
    kind |= BIT["WEIGHT"] if kind & BIT["WEIGHT_STRUCT"] else 0
    ids = {}
    for i in range(n_attrs // each):
        place, length = struct.unpack_from("<QQ", b, attrs + (i + 1) * each - 16)
        ids.update({struct.unpack_from("<Q", b, place + k)[0]: i for k in range(0, length, 8)})
    out, end = [], at + size
    while at < end:
        t, _, n = struct.unpack_from("<IHH", b, at)
        p, event = at + 8, 0
        for name in [x for x in ORDER if kind & BIT[x]] if t == SAMPLE else []:
            length = 4 + struct.unpack_from("<I", b, p)[0] if name == "RAW" else 8
            if name == "IDENTIFIER":
                event = ids[struct.unpack_from("<Q", b, p)[0]]
            if name == "RAW":
                out.append((event, struct.unpack_from("<%dQ" % ((length - 8) // 8), b, p + 8)))
            p += length
        at += n
    return out


def test_private():
    """Addresses that are left out of samples are in no packet of IBS either; the rest of it is."""
    for words, gone in ((None, ()), ("-addr,-phys_addr", (5, 6)), ("-phys", (6,)), ("-addr", (5,))):
        r = record("zen4", "--ibs=both", "-c", "100000", *(["--fields=" + words] if words else []))
        seen = packets(DATA)
        ops, fetches = [x for e, x in seen if e == 0], [x for e, x in seen if e == 1]
        some = {i: any(x[i] for x in ops) for i in range(7)}
        t.ok(r.returncode == 0 and len(ops) > 50 and len(fetches) > 20 and some == {i: i not in gone for i in range(7)} and
             all(x[1] for x in fetches) and any(x[2] for x in fetches) == (6 not in gone), "packets with --fields=%s: registers of data's addresses are %s" % (words, "0" if gone else "there"),
             (r.stderr, some, len(ops), len(fetches)))
        x = one("SELECT count(data_linear) > 0, count(data_physical) > 0, count(op_rip) > 50, count(refused), sum(linear_valid) > 0 FROM ibs_op")
        t.equal(x, [int(5 not in gone), int(6 not in gone), 1, 0, 1], "--fields=%s: such an address is null" % words)
    left = infos()[3]
    t.ok(left and set(left[0]["fields"]) == {"addr"} and left[0]["bytes"] == 0, "info states what was left out", left)
    r = record("zen4", "--ibs", "-c", "100000", "--fields=-addr,-phys_addr", "--keep", "data_linear > 0 AND data_physical > 0")
    seen = packets(DATA)
    t.ok(r.returncode == 0 and seen and not any(x[5] or x[6] for _, x in seen) and all(x[4] >> 17 & 3 == 3 for _, x in seen), "--keep reads what --fields then clears", r.stderr)


def test_fields():
    """Parts of samples that are not stored: nothing else is missing."""
    r = record("zen4", "--ibs", "-c", "100000")
    kinds, size, n, left = infos()
    each = size // n
    base = {"ip", "tid", "time", "identifier"}
    t.ok(r.returncode == 0 and n > 100 and size == each * n and not left and kinds > base | {"raw", "addr", "weight_struct", "data_src", "phys_addr"},
         "all samples have the same size", (kinds, size, n, left))
    with open(DATA, "rb") as f:
        data = f.read()
    for parts in ("RAW",), ("WEIGHT", "DATA_SRC", "PHYS_ADDR", "DATA_PAGE_SIZE"):
        with open(DATA + ".less", "wb") as f:
            f.write(without(data, parts))
        full, less = mem(DATA), mem(DATA + ".less")
        t.ok(full.get("sources") and (full == less) == ("RAW" not in parts), "mem of IBS needs the registers alone: without %s" % ", ".join(parts),
             [k for k in full if full[k] != less.get(k)])
    os.remove(DATA + ".less")
    for options, has, less, query in (
            (["--fields", "raw,addr"], {"period", "raw", "addr"}, 32, "sum(op_rip != s.ip) + sum(s.addr != data_linear) + count(refused) = 0"),
            (["--fields=-raw,-phys", "--jitter=0"], None, None, "min(s.period) = 100000 AND count(weight) = count(*) AND count(refused) = count(*)"),
            (["--fields=-weight,-period", "--jitter=0"], None, None, "min(s.period) = 100000 AND sum(s.addr != data_linear) + count(refused) = 0")):
        r = record("zen4", "--ibs", "-c", "100000", *options)
        k, s, m, left = infos()
        t.ok(r.returncode == 0 and m > 100 and s % m == 0 and (not less or s // m == each - less and k == base | has) and left == [
            {"samples": None, "fields": left[0]["fields"], "bytes": 0}] and not k & set(left[0]["fields"]) and k | set(left[0]["fields"]) == kinds - (
                {"identifier"} if "--jitter=0" in options else set()), "%s: %s" % (" ".join(options), "smaller by what is left out"), (k, s, m, each, left))
        t.equal(one("SELECT count(*), sum(s.period) / count(*) BETWEEN 90000 AND 110000, %s FROM ibs_op JOIN samples s USING (run, sample)" % query), [m, 1, 1],
                "%s: what is there is what was sampled" % " ".join(options))
    # what --keep reads is recorded and cut out: CPUs behind records of mappings, too
    r = record("zen4", "--ibs", "-c", "100000", "--keep", "weight > 100 AND cpu >= 0 AND data_src", "--fields", "raw,addr,phys_addr", ms=200)
    k, s, m, left = infos()
    said = subprocess.run([CYCLADE, "info", DATA], capture_output=True, text=True, check=False).stdout
    t.ok(k == base | {"period", "raw", "addr", "phys_addr"} and s == (each - 24) * m and left[0]["samples"] > 10 and left[0]["bytes"] == 24 * m and
         {"cpu", "weight_struct", "data_src", "data_page_size"} == set(left[0]["fields"]) and re.search("left out +[0-9,]+ samples for which --keep", said) and
         "were not stored (--fields)" in r.stderr, "--keep with --fields: what only it reads is not stored", (r.stderr, k, s, m, each, left, said))
    t.equal(one("SELECT count(*), min(miss_latency) > 100, sum(op_rip != s.ip), sum(s.addr != data_linear), sum(s.phys_addr != data_physical), count(refused), "
                "sum(s.comm = 'sim_spin'), count(s.function) > 0, count(DISTINCT s.period) > 1 FROM ibs_op JOIN samples s USING (run, sample)"),
            [m, 1, 0, 0, 0, 0, m, 1, 1], "and the rest is whole")
    if PERF:
        p = subprocess.run([PERF, "script", "-i", DATA, "-F", "comm,time,ip,addr,phys_addr", "--show-mmap-events"], capture_output=True, text=True, check=False)
        ours = sql("SELECT ip, addr, phys_addr FROM samples ORDER BY time, sample")
        theirs = re.findall(r"^ *sim_spin +[0-9.]+: +([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+)", p.stdout, re.M)
        t.equal(sorted(tuple(int(x, 16) for x in row) for row in theirs), sorted(tuple(int(x[c], 0) for c in ("addr", "ip", "phys_addr")) for x in ours), "perf reads the same of it")
        reported = subprocess.run([PERF, "report", "-i", DATA, "--stdio"], capture_output=True, text=True, check=False)
        t.ok(reported.returncode == 0 and "sim_spin" in reported.stdout and "rror" not in reported.stderr, "perf report takes it", reported.stderr)
        times = [float(x) for x in re.findall(r"([0-9]+\.[0-9]+): PERF_RECORD_MMAP2", p.stdout)]
        first, last = (x / 1e9 for x in one("SELECT min(time), max(time) FROM samples"))
        t.ok(times and any(first - 5 < x < last for x in times) and not any(x > last for x in times), "and the times of mappings", (times, first, last))
    r = record("spr", "--mem", "--fields", "weight,addr", "--keep", "data_level = 'L3'", ms=200)
    t.equal(one("SELECT count(*) > 10, count(data_src), count(weight) = count(*), count(addr) = count(*), count(phys_addr) FROM samples"), [1, 0, 1, 1, 0], "of PEBS")
    for words, why in (("help", "have no part 'help'"), ("", "have no part ''"), ("raw,", "have no part ''"), ("raw,-addr", "exclude each other"), ("-ip", "cannot be left out"),
                       ("-time", "cannot be left out"), ("-period", "different numbers of events"), ("branches", "no sample would have branches"), ("x" * 5000, "have no part 'xxx"),
                       ("addr\n\x1b[1m", "have no part"), ("--addr", "have no part '--addr'"), ("regs", "no sample would have regs")):
        r = record("zen4", "--ibs", "--fields=" + words, ms=10)
        t.ok(r.returncode == 125 and why in r.stderr and ("raw, " in r.stderr or "record" in r.stderr or "-c 1" in r.stderr) and "\x1b" not in r.stderr,
             "--fields '%.20s': %s" % (words.encode("unicode_escape").decode(), why), r.stderr)


def test_derived():
    """-e NAME is the event's part of IBS; other events beside it are whole."""
    own = os.path.join(tmp.name, "own.events")
    with open(own, "w", encoding="ascii") as f:
        f.write("event SLOW ibs_op\nwhere load AND miss_latency > 100\nevent LONG_FETCH ibs_fetch\nwhere fetch_latency > 5\n")
    r = record("zen4", "-e", "IBS_OP_DATA_CACHE_MISS", "-c", "100000", ms=60)
    x = one("SELECT count(*) > 2, sum((load OR store) AND dc_miss) = count(*) FROM ibs_op")
    t.ok(r.returncode == 0 and x == [1, 1] and "were not kept" in r.stderr, "record -e IBS_OP_DATA_CACHE_MISS", (x, r.stderr))
    r = record("zen4", "-e", "SLOW,LONG_FETCH", "--ibs-events", own, "-c", "100000", ms=100)
    x = one("SELECT (SELECT min(miss_latency) > 100 FROM ibs_op), (SELECT min(fetch_latency) > 5 FROM ibs_fetch)")
    t.ok(r.returncode == 0 and x == [1, 1], "of one's own, both kinds", (x, r.stderr))
    r = record("zen4", "-e", "cycles,SLOW", "--ibs-events", own, "-c", "100000", "--keep", "cpu >= 0", ms=100)
    x = one("SELECT (SELECT min(miss_latency) > 100 FROM ibs_op), (SELECT count(*) > 10 FROM samples WHERE event LIKE 'cycles%')")
    t.ok(r.returncode == 0 and x == [1, 1] and "no ratio" in r.stderr, "beside a counter, with a warning", (x, r.stderr))
    for options, why in ((["-e", "SLOW", "--ibs-events", own, "--ibs"], "brings its own --ibs"), (["-e", "F00D"], "no event of IBS: reserved"),
                         (["-e", "F209"], "is not on this CPU (AMD 19h 10h"), (["--ibs", "--keep", "IBS_OP_RESYNC"], "does not report resync"),
                         (["-e", "SLOW"], "no event of this name"), (["-e", "SLOW", "--ibs-events", "/nonexistent"], "/nonexistent")):
        r = record("zen4", *options, ms=10)
        t.ok(r.returncode == 125 and why in r.stderr, "refused: %s" % why, r.stderr)


def test_mem():
    t.ok("ibs_op/cnt_ctl=1" in dry("zen4", "--mem") and "ibs_op" in dry("zen2", "--mem=stores"), "AMD: IBS")
    said = dry("spr", "--mem")
    t.ok("led by cpu/mem-loads-aux" in said and "cpu/mem-stores/" in said and said.count("addr|") >= 3, "Sapphire Rapids: loads behind their auxiliary event, stores", said)
    said = dry("adl", "--mem")
    t.ok(all(x in said for x in ("cpu_core/mem-loads-aux", "cpu_core/mem-stores", "cpu_atom/mem-loads,ldlat=30", "cpu_atom/mem-stores")), "both kinds of core", said)
    said = dry("ivb", "--mem=latency,ldlat=50")
    t.ok("cpu/mem-loads,ldlat=50/P" in said and "aux" not in said and "stores" not in said, "loads alone", said)
    old = {"nehalem": ("GenuineIntel-6-1A", 26), "westmere": ("GenuineIntel-6-2F", 47), "tremont": ("GenuineIntel-6-96", 150)}
    for name, (cpuid, model) in old.items():  # a machine's tree, and the events of another CPU
        with open(os.path.join(HERE, "machines", "ivb.tab"), encoding="utf-8") as f:
            text = f.read()
        old[name] = made(name, re.sub("model=58 ", "model=%d " % model, re.sub("GenuineIntel-6-3A", cpuid, text, flags=re.I)))
    stlb = ["MEM_UOPS_RETIRED.STLB_MISS_LOADS", "MEM_UOPS_RETIRED.STLB_MISS_STORES"]
    both = ["cpu_%s/%s/" % x for x in (("core", "MEM_INST_RETIRED.STLB_MISS_LOADS"), ("core", "MEM_INST_RETIRED.STLB_MISS_STORES"), ("atom", stlb[0]), ("atom", stlb[1]))]
    perfmon = {("adl", "hitm"): {"0x20d1", "0x4d2"}, ("nehalem", "hitm"): {"0x20f"}, ("westmere", "hitm"): {"0x20f", "0x40f"}, ("ivb", "tlb"): {"0x11d0", "0x12d0"},
               ("nehalem", "tlb"): {"0x80cb", "0x10c"}, ("tremont", "hitm"): {"0x20d1"}, ("tremont", "tlb"): {"0x11d0", "0x12d0"}}
    for machine, what, events in (
            ("skl", "hitm", ["MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM"]), ("spr", "hitm", ["MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD", "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM"]),
            ("adl", "hitm", ["cpu_core/MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD/", "cpu_atom/MEM_LOAD_UOPS_RETIRED.HITM/"]), ("adl", "tlb", both), ("mtl", "tlb", both),
            ("adl", "latency", ["cpu_core/mem-loads-aux", "cpu_core/mem-loads,ldlat=30/", "cpu_atom/mem-loads,ldlat=30/"]),
            ("adl", "stores", ["cpu_core/mem-stores/", "cpu_atom/mem-stores/"]), ("mtl", "hitm", ["cpu_core/MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD/"]),
            ("icl", "tlb", ["MEM_INST_RETIRED.STLB_MISS_LOADS", "MEM_INST_RETIRED.STLB_MISS_STORES"]), ("ivb", "tlb", stlb),
            ("nehalem", "hitm", ["MEM_UNCORE_RETIRED.OTHER_CORE_L2_HITM"]), ("nehalem", "tlb", ["MEM_LOAD_RETIRED.DTLB_MISS", "MEM_STORE_RETIRED.DTLB_MISS"]),
            ("westmere", "hitm", ["MEM_UNCORE_RETIRED.LOCAL_HITM", "MEM_UNCORE_RETIRED.REMOTE_HITM"]),
            ("tremont", "hitm", ["MEM_LOAD_UOPS_RETIRED.HITM"]), ("tremont", "tlb", ["MEM_UOPS_RETIRED.DTLB_MISS_LOADS", "MEM_UOPS_RETIRED.DTLB_MISS_STORES"])):
        said = dry(old.get(machine, machine), "--mem=" + what)
        sampled = [x for x in re.findall(r"(?m)^(cpu\S*/\S+/)\S*$", said)]
        t.ok(len(sampled) == len(events) and all(e in x for e, x in zip(sorted(events), sorted(sampled))) and "addr" in said, "%s: --mem=%s: %s" % (machine, what, ", ".join(events)),
             (sampled, said))
        codes = perfmon.get((machine, what))
        t.ok(not codes or codes == set(re.findall(r"config (0x\w+)", said)), "%s: --mem=%s: the codes of the vendor's list" % (machine, what), said)
        t.equal("not on the cores of cpu_atom" in said, (machine, what) == ("mtl", "hitm"), "%s: --mem=%s: a kind of core without is named" % (machine, what))
    for machine in "spr", "ivb", "zen4":
        r = record(machine, "--mem", ms=100)
        x = one("SELECT count(*) > 10, count(addr) > 10, count(data_src) > 10, count(weight) > 10 FROM samples")
        t.ok(r.returncode == 0 and x == [1, 1, 1, 1], "%s: --mem records" % machine, (x, r.stderr))
        p = subprocess.run([CYCLADE, "report", "-i", DATA, "-j", "-s", "function", "--fields", "event,function,latency,timed"], capture_output=True, text=True, check=False)
        got = {(x["event"], x["function"]): (x["timed"], x["latency"]) for x in json.loads(p.stdout or '{"rows": []}')["rows"] if x["timed"]}
        want = {(x["event"], x["function"]): (x["n"], x["mean"]) for x in sql(
            "SELECT event, function, count(*) AS n, avg(weight) AS mean FROM samples WHERE weight > 0 AND function IS NOT NULL GROUP BY 1, 2")}
        t.ok(got and got.keys() <= want.keys() and (machine == "zen4" or all(got[k][0] == want[k][0] and abs(got[k][1] - want[k][1]) < 1e-6 for k in want)),
             "%s: report has the latencies of each event and function" % machine, (p.stderr, got, want))
    r = record("n1", "--mem")
    t.ok(r.returncode == 125 and "no PMU here samples memory accesses" in r.stderr, "a machine without", r.stderr)


def made(name, text):
    path = os.path.join(tmp.name, name + ".tab")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def test_slow_loads():
    """Zen 5 lets through loads that missed L3 and took longer: the driver drops others, and refuses what its register cannot say."""
    zen5 = made("zen5", machines_made.zen5())
    said = dry(zen5, "--mem=latency,ldlat=300")
    t.ok(re.search(r"^ibs_op/cnt_ctl=1,ldlat=256,swfilt=1,period=1000000/$", said, re.M) and "multiples of 128, here 256" in said and
         "more than 256 cycles" in said and "extrapolated" in said, "Zen 5: ldlat as the hardware takes it", said)
    t.ok("ldlat" not in dry(zen5, "--mem"), "none unless asked for", "")
    for cycles in "127", "2049":
        r = record(zen5, "--ibs=op,ldlat=" + cycles)
        t.ok(r.returncode == 125 and "128 to 2048" in r.stderr, "ldlat=%s is refused" % cycles, r.stderr)
    r = record(zen5, "--mem=latency,ldlat=256", "-c", "100000", ms=100)
    x = one("SELECT count(*) > 20, min(caps), min(load), min(dc_miss), min(miss_latency) > 256, count(refused), min(s.weight) > 256 FROM ibs_op JOIN samples s USING (run, sample)")
    t.ok(r.returncode == 0 and x == [1, 0x81bff, True, True, 1, 0, 1], "slow loads alone are recorded", (x, r.stderr))
    said = subprocess.run([CYCLADE, "mem", DATA], capture_output=True, text=True, check=False).stdout
    t.ok(re.search(r"only slow loads .*256", said), "and mem says so", said)
    x = [record(zen5, "--mem", "-c", "100000", ms=50).returncode, *one("SELECT min(miss_latency) < 256 OR sum(store) > 0 FROM ibs_op")]
    t.equal(x, [0, 1], "without it others, too")
    r = record("zen4", "--mem=latency,ldlat=256")
    t.ok(r.returncode == 125 and "has no ldlat" in r.stderr and "Zen 5" in r.stderr, "Zen 4 has none", r.stderr)


def main():
    if not SIMULATED:
        t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
        t.done()
    if record("zen4", "-e", "cycles").returncode:
        t.skip("all of it", "no sampling here")
        t.done()
    test_samples()
    test_periods()
    test_alias()
    test_asked()
    if WHOLE_CPUS:
        test_whole_cpus()
    else:
        t.skip("IBS of whole CPUs", "whole CPUs may not be counted here")
    test_keep()
    test_fields()
    test_private()
    test_derived()
    test_mem()
    test_slow_loads()
    t.done()


main()
