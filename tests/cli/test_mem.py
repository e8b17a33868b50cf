#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory operations: the figures of perf mem report by data source, snoop, TLB, lock and block, of real and synthetic recordings."""
import bisect
import collections
import csv
import glob
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
import mem_made  # noqa: E402
import recordings  # noqa: E402
import tables  # noqa: E402
from tap import NO_SHARED, PERF, SANITIZED, SHARED, Tap, perf_strays, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-mem-")
HAS_SQL = "no SQL" not in run("--version").stdout

# ---- perf's words, and ours --------------------------------------------------------------------
LEVEL = {"LFB/MAB": "LFB", "Local RAM": "RAM", "Remote RAM (1 hop)": "RAM", "Remote RAM (2 hops)": "RAM",
         "Remote Cache (1 hop)": "any cache", "Remote Cache (2 hops)": "any cache", "Uncached": "uncached", "L8": "uncached",
         "Any cache": "any cache", "L5": "L2 MHB", "L6": "MSC", "Memory-side Cache": "MSC"}
OF_NUMBER = {"L1", "L2", "L3", "L4", "L5", "L2 MHB", "L6", "Memory-side Cache", "L8", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM", "PMEM", "Uncached"}
HOPS = {"core, same node ": "other core", "node, same socket ": "other node", "socket, same board ": "other socket",
        "board ": "other board"}
FAR = {"Remote RAM (1 hop)": "remote", "Remote Cache (1 hop)": "remote", "Remote RAM (2 hops)": "remote, 2 hops",
       "Remote Cache (2 hops)": "remote, 2 hops"}


def source_of(text):
    """(level, where, hit): perf's "Remote L3 or Any cache hit"."""
    text = text.strip() + " " * (text.strip() == "Remote")
    m = re.fullmatch(r"(.*?)( hit| miss)?", text)
    text, hit = m.group(1), {" hit": 1, " miss": 0, None: None}[m.group(2)]
    where = ""
    if text.startswith("Remote ") and not re.match(r"Remote (RAM|Cache) \(", text):
        text, where = text[7:], "remote"
    for words, name in HOPS.items():
        if text.startswith(words):
            text, where = text[len(words):], name
    items = [i for i in text.split(" or ") if i and i != "N/A"]
    for i in items:
        where = FAR.get(i, where) if where in ("", "remote") else where  # the finer word
    if not items:
        return None, where, hit
    level = items[-1] if items[-1] in OF_NUMBER else items[0]
    return LEVEL.get(level, level), where, hit


def set_of(words):
    """perf's "None or Fwd", "L1 or L2 hit"."""
    def one(text):
        text = re.sub(r"Walker", "walk", re.sub(r"Fault", "fault handler", text.strip()))
        text = " or ".join(x for x in text.split(" or ") if x != "N/A")
        text = re.sub(r"^N/A (hit|miss)", r"\1", text)
        return (text if words == "tlb" else text.lower()) or None
    return one


PERFS = {"mem": source_of, "snoop": set_of("snoop"), "tlb": set_of("tlb"),
         "locked": {"Yes": 1, "No": 0, "N/A": None}.get}


def of_perf(path, key):
    p = subprocess.run([PERF, "report", "--mem-mode", "-i", path, "--stdio", "-s", key, "-F", "sample," + key],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL)
    out = collections.Counter()
    for line in p.stdout.splitlines():
        m = re.match(r" *(\d+)  (.*)", line)
        if m:
            out[PERFS[key](m.group(2).strip())] += int(m.group(1))
    return out


def of_sql(path, columns):
    p = run("sql", "-j", path, "SELECT %s, count(*) AS n FROM samples WHERE data_src IS NOT NULL GROUP BY %s" % (columns, columns))
    return collections.Counter({tuple(list(r.values())[:-1]): r["n"] for r in json.loads(p.stdout)["rows"]})


def short(counter):
    return collections.Counter({k[0] if isinstance(k, tuple) and len(k) == 1 else k: n for k, n in counter.items()})


def compare(name, path):
    for key, columns in (("mem", "data_level, data_remote, data_hit"), ("snoop", "data_snoop"), ("tlb", "data_tlb"),
                         ("locked", "data_locked")):
        theirs, mine = of_perf(path, key), short(of_sql(path, columns))
        if key == "mem":
            remote = collections.Counter()
            for (level, where, hit), n in theirs.items():
                remote[level, int(where not in ("", "other core")), hit] += n
            theirs = remote
        bad = [(k, theirs[k], mine[k]) for k in {*theirs, *mine} if theirs[k] != mine[k]]
        t.ok(theirs and not bad, "%s, %s: perf's %d figures" % (name, key, len(theirs)),
             "\n".join("%s: perf %d, cyclade %d" % b for b in bad[:10]))


def each(name, path):
    """Sample by sample: perf report adds up samples whose newer fields differ, perf script tells them apart."""
    p = subprocess.run([PERF, "script", "-i", path, "-F", "data_src"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    theirs = [line for line in p.stdout.splitlines() if "|LVL" in line]
    longest = max((len(line.rstrip()) for line in theirs), default=0) - 3
    columns = "data_level, data_where, data_remote, data_hit, data_snoop, data_tlb, data_blocked"
    mine = json.loads(run("sql", "-j", path, "SELECT %s FROM samples ORDER BY time" % columns).stdout)["rows"]
    # perf 6.12 leaves out Remote RAM and Remote Cache, which are of the older field, where there is a level by its number
    newer = any("Memory-side Cache" in line for line in theirs)
    bad, seen = [], collections.Counter()
    for line, row in zip(theirs, mine):
        # perf's buffer holds 100 characters: the last words may be cut
        m = re.search(r"\|LVL ([^|]*)\|(?:SNP ([^|]*)\|(?:TLB ([^|]*)\|)?)?", line)
        level, where, hit = source_of(m.group(1))
        want = dict(data_level=level, data_where=where or None, data_remote=int(where not in ("", "other core")), data_hit=hit)
        if m.group(2):
            want["data_snoop"] = set_of("snoop")(m.group(2))
        if m.group(3):
            want["data_tlb"] = set_of("tlb")(m.group(3))
        m = re.search(r"\|BLK ([^|]*)$", line.rstrip())
        if m and len(line.rstrip()) < longest:
            want["data_blocked"] = " or ".join({"Data": "data", "Addr": "address"}[x] for x in m.group(1).split() if x != "N/A") or None
        if newer and where in ("", "remote") and (row["data_where"] or "").startswith("remote"):
            del want["data_where"], want["data_remote"]
        seen.update(want.keys())
        if any(row[k] != v for k, v in want.items()):
            bad.append("%s %r" % (line, row))
    t.ok(len(theirs) == len(mine) > 1000 and not bad and len(seen) == 7 and
         all(n > len(mine) / (4 if k == "data_blocked" else 2) for k, n in seen.items()),
         "%s: perf's words of %d samples" % (name, len(mine)), (seen, "\n".join(bad[:10])))


rnd = random.Random(15)
count = 1000000 if os.environ.get("CYCLADE_LONG") else 30000
made, mixed = os.path.join(tmp.name, "made.data"), os.path.join(tmp.name, "mixed.data")
MADE = mem_made.drawn(rnd, count, as_kernels=True)
if os.environ.get("CYCLADE_LONG"):
    every = mem_made.combined(rnd)
    MADE[:len(every)] = every
mem_made.write(made, MADE)
mem_made.write(mixed, mem_made.drawn(rnd, count))
real = [p for p in glob.glob(os.path.join(SHARED, "corpus", "recordings", "*")) if p.endswith("weight_struct")]
if not PERF or not HAS_SQL:
    t.skip("perf's figures", "no perf" if not PERF else "built without SQLite")
else:
    compare("synthetic", made)
    each("synthetic, all fields", mixed)
    for p in real:
        compare(os.path.basename(p), p)
    if not real:
        t.skip("real PEBS samples", NO_SHARED)


# ---- latencies, made a second time ---------------------------------------------------------------
def quantile(v, q):
    at = q * (len(v) - 1)
    k = int(at)
    return v[k] + (at - k) * (v[min(k + 1, len(v) - 1)] - v[k])


def quantile_error(v, q):
    """The distance to the farther of the two ranks between which the quantile lies with 95 %: sums of the binomial."""
    n, below = len(v), [0.0]
    for k in range(n + 1):  # P(at most k below the quantile)
        below.append(below[-1] + math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) +
                                          k * math.log(q) + (n - k) * math.log(1 - q)))
    low = max((i for i in range(1, n + 1) if below[i] <= 0.025), default=0)
    high = min((i for i in range(1, n + 1) if 1 - below[i] <= 0.025), default=n + 1)
    return max(quantile(v, q) - v[low - 1], v[high - 1] - quantile(v, q)) if low and high <= n else None


def skewed_error(v):
    """Student's, nearly, and wider by five standard errors in means."""
    se = statistics.stdev(v) / len(v) ** 0.5
    return 1.96 * (1 + 1.21 / (len(v) - 1)) * se * (1 + 5 * se / statistics.mean(v))


def figures(v):
    v = sorted(v)
    out = {"timed": len(v), "most": v[-1], "mean": sum(v) / len(v), "p50": quantile(v, 0.5), "p90": quantile(v, 0.9), "p99": quantile(v, 0.99)}
    if len(v) >= 30:
        out["mean_error"] = skewed_error(v)
    return out


def differ(name, rows, key, values, errors=False):
    """rows: of a table; values: key -> latencies of its samples."""
    bad = []
    for r in rows:
        v = values.get(key(r))
        if not v:
            bad += [(key(r), "has none", r)] if r["timed"] else []
            continue
        for k, x in figures(v).items():
            near = 0.002 if "error" in k else 0.001 if r[k] and r[k] > 65536 else 1e-9
            if not math.isclose(r[k], x, rel_tol=near):
                bad.append((key(r), k, r[k], x))
        for q in (50, 90, 99) if errors else ():
            x, got = quantile_error(sorted(v), q / 100), r["p%d_error" % q]
            # sums of the binomial up to a mean of 200 beyond the quantile, from there on nearly normal: a rank more or less
            if (x is None) != (got is None) or (x and not math.isclose(got, x, rel_tol=0.001 if len(v) * (1 - q / 100) < 200 else 0.1, abs_tol=1)):
                bad.append((key(r), "p%d_error" % q, got, x))
    t.ok(rows and len(rows) >= len(values) and not bad, name, "%d rows, %d keys\n" % (len(rows), len(values)) + "\n".join(map(str, bad[:10])))


def by(samples, key, value=lambda s: s.weight or None):
    out = collections.defaultdict(list)
    for s in samples:
        if value(s) is not None:
            out[key(s)].append(value(s))
    return out


def doc_of(path, *words):
    p = run("mem", "-j", *words, path)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return {"error": p.stderr}


few = os.path.join(tmp.name, "few.data")
FEW = mem_made.drawn(rnd, 2500)
mem_made.write(few, FEW)
same = os.path.join(tmp.name, "same.data")
mem_made.write(same, [mem_made.Sample(mem_made.data_src(op=2, lvl=10), 40 + i) for i in range(50)], bare=[mem_made.Sample(0, 5000)] * 7, bare_name="cpu/mem-loads,ldlat=30/P")
rows = json.loads(run("report", "-j", "-i", same, "-s", "tid", "--fields", "samples,timed").stdout or '{"rows": []}')["rows"]
t.equal([(r["timed"], r["samples"]) for r in rows], [(50, 50), (7, 7)], "of two events with one name each has its own latencies")
for name, path, samples in (("few", few, FEW), ("many", made, MADE)):
    doc = doc_of(path)
    t.equal(doc.get("samples"), len(samples), name + ": all samples")
    differ(name + ": by CPU", doc["cpus"], lambda r: r["cpu"], by(samples, lambda s: s.cpu), name == "few")
    differ(name + ": by thread", doc["threads"], lambda r: r["tid"], by(samples, lambda s: s.tid), name == "few")
    for table, key in (("threads", "tid"), ("cpus", "cpu")):
        want = sorted((r["samples"], r[key]) for r in doc[table])
        alone = csv.DictReader(run("mem", "--format", "csv", "--table", table, path).stdout.splitlines())
        t.equal(sorted((int(r["samples"]), int(r[key])) for r in alone), want, name + ": the %s alone" % table)
        people = run("mem", "--table", table, path).stdout.splitlines()
        t.equal(sum(" % " in x for x in people), len(want), name + ": a line for each of them")
    differ(name + ": by instruction", doc["instructions"], lambda r: r["address"], by(samples, lambda s: hex(s.ip - mem_made.TEXT + 0x1000)), name == "few")
    differ(name + ": all latencies by instruction", [r for r in doc["instruction_latencies"] if r["latency"] == "retire"], lambda r: r["address"],
           by(samples, lambda s: hex(s.ip - mem_made.TEXT + 0x1000), lambda s: s.retire))
    all_of = {"data": by(samples, lambda s: "data")["data"], "instruction": by(samples, lambda s: "", lambda s: s.instruction or None)[""],
              "retire": [s.retire for s in samples]}
    differ(name + ": all latencies", doc["latencies"], lambda r: r["latency"], all_of, name == "few")
    want = {(k, 1 << x.bit_length() >> 1 if x else 0): 0 for k, v in all_of.items() for x in v}
    for k, v in all_of.items():
        for x in v:
            want[k, 1 << x.bit_length() >> 1 if x else 0] += 1
    got = {(r["latency"], r["low"]): r["samples"] for r in doc["histogram"] if r["samples"]}
    t.equal(got, want, name + ": histograms")
    if HAS_SQL:
        rows = json.loads(run("sql", "-j", path, "SELECT latency, low, samples FROM mem_histogram WHERE samples > 0").stdout)["rows"]
        t.equal({(r["latency"], r["low"]): r["samples"] for r in rows}, want, name + ": histograms through SQL")
        rows = json.loads(run("sql", "-j", path, "SELECT low, samples FROM mem_histogram WHERE latency = 'data' AND samples > 0 EXCEPT "
                              "SELECT CASE WHEN weight THEN 1 << CAST(log2(weight) AS INT) ELSE 0 END, count(*) FROM samples WHERE weight > 0 GROUP BY 1").stdout)["rows"]
        t.equal(rows, [], name + ": and from the samples")
        rows = json.loads(run("sql", "-j", path, "SELECT count(weight) AS timed, max(weight) AS most, avg(weight) AS mean, p50(weight) AS p50, p90(weight) AS p90, "
                              "p99(weight) AS p99 FROM samples WHERE weight > 0").stdout)["rows"]
        wrong = {k: (rows[0][k], x) for k, x in figures(all_of["data"]).items() if k in rows[0] and not math.isclose(rows[0][k], x, rel_tol=1e-9)}
        t.ok(len(rows[0]) == 6 and not wrong, name + ": quantiles through SQL", wrong)
    of_lock = collections.Counter((s.src >> 24 & 2) // 2 if s.src >> 24 & 3 != 1 else None for s in samples)
    t.equal({r["locked"]: r["samples"] for r in doc["locks"]}, {k if k is None else bool(k): n for k, n in of_lock.items()}, name + ": locks")
    blocks = collections.Counter({0: None, 1: "data", 2: "address", 3: "data or address"}[s.src >> 41 & 3] for s in samples)
    t.equal({r["blocked"]: r["samples"] for r in doc["blocks"]}, dict(blocks), name + ": blocks")
    if HAS_SQL:
        t.equal(short(of_sql(path, "data_blocked")), blocks, name + ": blocks through SQL")
        places = collections.Counter()
        for r in doc["sources"]:
            places[r["where"]] += r["samples"]
        t.equal(short(of_sql(path, "data_where")), places, name + ": the same places in SQL and in sources")
    t.equal((sum(r["loads"] for r in doc["functions"]), sum(r["stores"] for r in doc["functions"])),
            (sum(s.src >> 1 & 1 for s in samples), sum(s.src >> 2 & 1 for s in samples)), name + ": loads and stores")
if HAS_SQL:
    q = "SELECT cpu, p50(weight) AS p50, avg(weight) AS mean, max(weight) AS most FROM samples WHERE weight > 0 GROUP BY cpu ORDER BY cpu"
    raw = json.loads(run("sql", "-j", few, q).stdout)["rows"]
    tabled = json.loads(run("sql", "-j", few, "SELECT cpu, p50, mean, most FROM mem_cpus ORDER BY cpu").stdout)["rows"]
    t.ok(len(raw) == 4 and all(math.isclose(a[k], b[k], rel_tol=1e-9) for a, b in zip(raw, tabled) for k in a), "SQL over samples and over mem_cpus",
         "%r\n%r" % (raw, tabled))

# ---- functions and lines of a program: nm and addr2line -------------------------------------------
program = os.path.abspath(recordings.RECURSE)
segments = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True).stdout
m = re.search(r"LOAD +(0x\w+) (0x\w+) \S+ \S+ \S+ R E", segments)
addr, owned = {}, set()
for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True).stdout.splitlines():
    f = line.split()
    if len(f) == 4 and f[2] in "tT" and not f[3].startswith("_"):
        addr.update({a: f[3] for a in range(int(f[0], 16), int(f[0], 16) + int(f[1], 16), 3)})
        owned |= set(range(int(f[0], 16), int(f[0], 16) + int(f[1], 16)))
if not m or not addr:
    t.skip("lines of a program", "no program with symbols")
else:
    offset, start = int(m[1], 16), int(m[2], 16)
    chosen = [rnd.choice(sorted(addr)) for _ in range(1500)]
    coded = [mem_made.Sample(mem_made.data_src(op=2, lvl=10), 40 + rnd.randrange(9), ip=mem_made.TEXT + a - start) for a in chosen]
    path = os.path.join(tmp.name, "coded.data")
    mem_made.write(path, coded, program=program, text_offset=offset)
    doc = doc_of(path)
    t.equal({r["function"]: r["samples"] for r in doc["functions"]}, dict(collections.Counter(addr[a] for a in chosen)), "functions are nm's")
    p = subprocess.run(["addr2line", "-e", program], input="\n".join(map(hex, chosen)), capture_output=True, text=True)
    lines = [re.sub(r" \(.*", "", x).rsplit(":", 1) for x in p.stdout.splitlines()]
    want = collections.Counter((os.path.basename(f), int(n)) for f, n in lines if n.isdigit() and n != "0")
    got = collections.Counter({(os.path.basename(r["file"]), r["line"]): r["samples"] for r in doc["lines"]})
    t.ok(want == got and (got or not want), "lines are addr2line's: %d" % len(got), "%r\n%r" % (want - got, got - want))

    # report has the latencies of its rows
    weights = collections.defaultdict(lambda: collections.defaultdict(list))
    for a, s, at in zip(chosen, coded, lines):
        for key, value in (("function", addr[a]), ("dso", os.path.basename(program)), ("tid", s.tid), ("srcline", ":".join((os.path.basename(at[0]), at[-1])))):
            weights[key][value].append(s.weight)
    for key, planted in weights.items():
        p = run("report", "-j", "-i", path, "-s", key, "--fields", "latencies,samples," + key)
        rows = json.loads(p.stdout)["rows"] if p.returncode == 0 else []
        got = {os.path.basename(r[key]) if key == "srcline" else r[key]: r for r in rows if r[key] != "??:0"}
        planted = {k: v for k, v in planted.items() if key != "srcline" or k in got}
        bad = [(k, got.get(k), figures(v)) for k, v in planted.items() if k not in got or got[k]["timed"] != len(v) or got[k]["samples"] != len(v) or not all(
            math.isclose(got[k]["latency" + ("_" + x if x != "mean" else "")], figures(v)[x], rel_tol=1e-9) for x in ("mean", "p50", "p90", "p99"))]
        t.ok(len(got) == len(planted) > 0 and not bad, "report -s %s: latencies of %d rows" % (key, len(planted)), (p.stderr, bad[:3], sorted(got)[:5]))
    fields = {"timed": "timed", "mean": "latency", "mean_error": "latency_error", **{"p%d%s" % (q, e): "latency_p%d%s" % (q, e) for q in (50, 90, 99) for e in ("", "_error")}}
    rows = {r["function"]: {k: r[f] for k, f in fields.items()} for r in
            json.loads(run("report", "-j", "-i", path, "-s", "dso,function", "--fields", "latencies,function").stdout or '{"rows": []}')["rows"]}
    t.equal(rows, {r["function"]: {k: r[k] for k in fields} for r in doc["functions"]}, "and they are those of mem, errors included")
    if perf_strays():
        t.skip("and perf's weights", "perf leaves this chroot at the first file of another mount namespace")
    elif PERF:
        p = subprocess.run([PERF, "script", "-i", path, "-F", "ip,sym,weight"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        theirs = collections.defaultdict(list)
        for weight, name in re.findall(r"^ *([0-9]+) +[0-9a-f]+ (\S+)", p.stdout, re.M):
            theirs[name].append(int(weight))
        t.equal({f: (r["timed"], round(r["mean"], 6)) for f, r in rows.items()}, {f: (len(v), round(sum(v) / len(v), 6)) for f, v in theirs.items()}, "and perf's weights")
    p = run("report", "-j", "-i", few, "-s", "function", "--limit", "3", "--fields", "latency")
    whys = {r["latency_why"] for r in json.loads(p.stdout or '{"rows": []}')["rows"] if r["latency"] is None}
    t.ok("the row stands for several" in whys, "a row without has the reason", p.stdout + p.stderr)
    p = run("report", "-i", path, "-s", "function", "--fields", "+latencies,-latency_p99_error")
    t.ok(re.search(r"timed +cycles +\+- +p50 +\+- +p90 +\+- +p99$", p.stdout, re.M), "people see them", p.stdout + p.stderr)
    for options, why in ((["-s", "comm,dso"], "rows by comm, dso have no latencies: these are of functions, lines, files or threads"),
                         (["-s", "function_from"], "no branch stacks"), (["-s", "function", "-g"], "no call chains")):
        p = run("report", "-i", path, *options, "--fields", "+latency")
        t.ok(p.returncode == 2 and why in p.stderr, "report %s: no latency" % " ".join(options), p.stderr)
    bare = os.path.join(SHARED, "corpus", "recordings", "perf_data_converter-perf.data.busy.1-3.8")
    if os.path.exists(bare):
        p = run("report", "-i", bare, "--fields", "+latencies")
        t.ok(p.returncode == 2 and "no event of the recording has latencies" in p.stderr, "a recording without them", p.stderr)
    else:
        t.skip("a recording without them", NO_SHARED)
    p = run("report", "-j", "-i", path, "--fields", "+latencies")
    told = json.loads(p.stdout) if p.returncode == 0 else {"rows": [], "notes": []}
    got = {r["function"]: (r["samples"], r["timed"], round(r["latency"], 6), "comm" in r, os.path.basename(r["dso"])) for r in told["rows"]}
    t.equal(got, {k: (len(v), len(v), round(sum(v) / len(v), 6), False, os.path.basename(program)) for k, v in weights["function"].items()}, "without -s: rows of functions")
    p = run("report", "-i", few, "--limit", "3", "--fields", "+latency")
    blank = [x for x in p.stdout.splitlines() if re.search(r"% +\+-", x) and not re.search(r"\.\d+ +\+-\d", x)]
    facts = {k: int(n) for n, k in re.findall(r"^ no latency +(\d+) rows?: (.*)$", p.stdout, re.M)}
    t.ok(len(blank) == 4 and facts == {"no symbol, or functions of one name": 3, "the row stands for several": 1}, "blank cells have their reasons below", p.stdout)

    # annotate has the latencies of each instruction; an address within one is that instruction's
    starts = {int(x, 16) for x in re.findall(r"(?m)^ +([0-9a-f]+):\t", subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True).stdout)}
    name = max(set(addr.values()), key=lambda f: sum(addr[a] == f for a in chosen))
    planted = collections.defaultdict(list)
    for a, s in zip(chosen, coded):
        if addr[a] == name and a in starts:
            planted[hex(a)].append(s.weight)
    p = run("annotate", "-j", "-i", path, name)
    got = {r["address"]: r for r in json.loads(p.stdout)["instructions"] if r["latency"] is not None} if p.returncode == 0 else {}
    bad = [(a, got[a]["latency"], figures(v)) for a, v in planted.items() if len(v) > 5 and got[a]["timed"] == len(v) and
           not (math.isclose(got[a]["latency"], figures(v)["mean"]) and math.isclose(got[a]["latency_p90"], figures(v)["p90"]) and got[a]["latency_most"] == max(v))]
    t.ok(len(got) > 5 and not bad and sum(got[a]["timed"] >= len(v) for a, v in planted.items()) == len(planted), "annotate: latencies by instruction", (p.stderr, bad[:5]))
    p = run("annotate", "-i", path, name)
    t.ok("cycles +-" in p.stdout and "cycles: data latency, from a load to its data" in p.stdout, "and people see them", p.stdout)

# ---- IBS: registers, not data_src ----------------------------------------------------------------
word = rnd.getrandbits
OPS = [[3 << 17, 0x1000, word(41), rnd.choice([0, 1, 2, 3, 5, 6, 64]) | word(2) << 4, word(64) & ~(1 << 14), 0x7000, 0x1000, 0] for _ in range(2000)]
FETCHES = [[word(64) | 3 << 48, 0x1000, 0x1000, word(5)] for _ in range(500)]
ibs = os.path.join(tmp.name, "ibs.data")
mem_made.write_ibs(ibs, OPS, FETCHES)
doc = doc_of(ibs)
bit = lambda r, at, n=1: r >> at & (1 << n) - 1
access = [r for r in OPS if bit(r[4], 0) or bit(r[4], 1) or bit(r[4], 21)]
t.equal((doc.get("samples"), doc.get("no_access")), (2500, len(OPS) - len(access)), "IBS: ops that access memory")
differ("IBS: latencies", doc["latencies"], lambda r: r["latency"], {
    "data": [bit(r[4], 32, 16) for r in access if bit(r[4], 0) and bit(r[4], 7) and bit(r[4], 32, 16)],
    "tag_to_retire": [bit(r[2], 16, 16) for r in OPS if bit(r[2], 16, 16)], "complete_to_retire": [bit(r[2], 0, 16) for r in OPS],
    "tlb_refill": [bit(r[4], 48, 16) for r in access if bit(r[4], 17) and bit(r[4], 18) and bit(r[4], 48, 16)] + [r[3] for r in FETCHES if r[3]],
    "fetch": [bit(r[0], 32, 16) for r in FETCHES if bit(r[0], 32, 16) and bit(r[0], 50)],
    "fetch_aborted": [bit(r[0], 32, 16) for r in FETCHES if bit(r[0], 32, 16) and not bit(r[0], 50)]})
of = collections.Counter((r["kind"], r["level"], r["where"]) for r in doc["sources"] for _ in range(r["samples"]))
hits = sum(1 for r in access if not bit(r[4], 7) and bit(r[4], 0) and not bit(r[4], 1) and not bit(r[4], 21))
t.equal((of["load", "L1", None], of["load", "RAM", None] > 0, of["load", "RAM", "remote"] > 0), (hits, True, True), "IBS: sources are those of the registers")
aborted = sum(1 - bit(r[0], 50) for r in FETCHES)
t.equal((sum(r["samples"] for r in doc["sources"] if r["kind"] == "exec aborted"), sum(r["samples"] for r in doc["sources"] if r["kind"] == "exec"),
         sum(r["fetches_aborted"] for r in doc["instructions"]), sum(r["fetches"] for r in doc["instructions"])),
        (aborted, len(FETCHES) - aborted) * 2, "IBS: aborted fetches are apart")
t.equal([sum(r["samples"] for r in doc[k]) for k in ("types", "fields")] + [sum(r["share"] for r in doc["types"])], [len(access)] * 2 + [1],
        "IBS: fetches are of code: no rows of types and fields, no part of their shares")


# ---- fetches by where their bytes came from, and by translation: their registers, read a second time
def fetch_of(r):
    """(kind, source) of a fetch on Zen 4: misses of L2 and L3 are told of fetches that delivered."""
    done = bit(r[0], 50)
    levels = [("L1", 51)] + ([("L2", 58), ("L3", 61)] if done else [])
    level = next((k for k, at in levels if not bit(r[0], at)), levels[-1][0] + " miss")
    return "exec" if done else "exec aborted", level


def fetch_cycles(r):
    return {"fetch" if bit(r[0], 50) else "fetch_aborted": bit(r[0], 32, 16) or None, "tlb_refill": r[3] or None}


alone = os.path.join(tmp.name, "fetches.data")
mem_made.write_ibs(alone, [], FETCHES)
fetched = doc_of(alone)
of_source, of_function, of_tlb, bins = (collections.defaultdict(list) for _ in range(4))
for r in FETCHES:
    for k, x in fetch_cycles(r).items():
        if x is not None:
            of_source[(*fetch_of(r), k)].append(x)
            of_function[k].append(x)
            bins[(*fetch_of(r), k, 1 << x.bit_length() >> 1)].append(x)
    if bit(r[0], 50) and bit(r[0], 32, 16):
        of_tlb["L1 hit" if not bit(r[0], 55) else "L2 miss" if bit(r[0], 56) else "L2 hit"].append(bit(r[0], 32, 16))
t.equal(len({k[:2] for k in of_source}), 6, "IBS: fetches of all levels, and aborted ones")
differ("IBS: latencies of fetches by source", fetched["source_latencies"], lambda r: (r["kind"], r["source"], r["latency"]), of_source)
differ("IBS: latencies of fetches by function", fetched["function_latencies"], lambda r: r["latency"], of_function)
differ("IBS: latencies of fetches by translation", fetched["tlb"], lambda r: r["tlb"], of_tlb)
t.equal({(r["kind"], r["source"], r["latency"], r["low"]): r["samples"] for r in fetched["source_histogram"] if r["samples"]}, {k: len(v) for k, v in bins.items()},
        "IBS: histograms of fetches by source")
p = run("mem", ibs)
t.ok("multi-op" in p.stdout and "missed the data cache" in p.stdout and "no access" in p.stdout and "only L3" not in p.stdout, "IBS: what the figures lack", p.stdout)
mem_made.write_ibs(ibs, OPS[:50], [], l3_only=True)
t.ok("only L3 misses" in run("mem", ibs).stdout, "IBS: l3missonly is said", "")

for more, said in ({}, []), (dict(cycles=True), ["cycles mode"]), (dict(user=True), ["filtered"]), (dict(cycles=True, user=True), ["cycles mode", "filtered"]):
    mem_made.write_ibs(ibs, OPS[:50], [], **more)
    t.equal(re.findall(r"(?m)^ (cycles mode|filtered) +ibs_op// selects ops by cycles|^ (filtered) +the kernel dropped samples of ibs_op//", run("mem", ibs).stdout),
            [("cycles mode", "") if w == "cycles mode" else ("", "filtered") for w in said], "IBS: %s" % (", ".join(said) or "neither cycles mode nor a filter"))

# misses that were open: a function that waits for each of its misses, and one whose misses overlap
if m and addr:
    names = sorted(set(addr.values()))[:2]
    ops, opened = [], collections.defaultdict(list)
    for i in range(1200):
        name = names[i & 1]
        n = 1 + (rnd.random() < 0.1) if i & 1 else rnd.randrange(4, 9)
        miss, prefetch = i % 5 != 0, i % 7 == 0  # others hit the L2 cache, or are prefetches, which nobody waits for
        ip = mem_made.TEXT + rnd.choice([a for a, f in addr.items() if f == name]) - start
        data3 = 1 | 1 << 7 | 1 << 17 | miss << 20 | prefetch << 21 | n << 26 | 200 << 32
        ops.append([3 << 17, ip, 0, 3, data3, 0x7000, 0x1000, 0])
        if miss and not prefetch:
            opened[name].append(n)
    mem_made.write_ibs(ibs, ops, [], mapped=(program, offset))
    rows = {r["function"]: r for r in doc_of(ibs)["functions"]}
    t.ok(all(math.isclose(rows[f]["open_misses"], statistics.mean(v), rel_tol=1e-9) and
             math.isclose(rows[f]["open_misses_error"], skewed_error(v), rel_tol=0.01) for f, v in opened.items()),
         "IBS: misses that were open, by function", (rows, {f: statistics.mean(v) for f, v in opened.items()}))
    p = run("mem", ibs)
    t.ok("misses of %s hardly overlap (1.1 open)" % names[1] in p.stdout and "misses of %s " % names[0] not in p.stdout, "and what it means", p.stdout)
    mem_made.write_ibs(ibs, [x for i, x in enumerate(ops) if not i & 1], [], mapped=(program, offset))
    t.ok("hardly overlap" not in run("mem", ibs).stdout, "nothing of it where misses overlap", "")
    # a CPU that does not count them has 0 everywhere, though each miss is one
    mem_made.write_ibs(ibs, [[*x[:4], x[4] & ~(63 << 26), *x[5:]] for x in ops], [], mapped=(program, offset))
    p = run("mem", ibs)
    t.ok(all(r["open_misses"] is None for r in doc_of(ibs)["functions"]) and "hardly overlap" not in p.stdout and "open misses" not in p.stdout,
         "IBS: no open misses where the CPU does not count them", p.stdout)
    # where no branches were recorded, what dispatched ops tell of how often code ran: fetches say nothing of that
    first, second = (min(a for a, f in addr.items() if f == n) for n in names)
    at = lambda a: [3 << 17, mem_made.TEXT + a - start, 0, 0, 0, 0, 0, 0]
    mem_made.write_ibs(ibs, [at(first)] * 100 + [at(second)] * 25, [[1 << 50, mem_made.TEXT + second - start, 0, 0]] * 400, mapped=(program, offset))
    p = run("export", "--autofdo", "--text", "-i", ibs, "--no-cache")
    t.ok("ops of ibs_op// as they are dispatched" in p.stderr and "with 100 samples or more, each by chance alone +-20 % or less" in p.stderr,
         "IBS: export --autofdo says what it rests on, and the error", p.stderr)
    lines = {m[1]: int(m[2]) for m in re.finditer(r"(?m)^(\w+):(\d+):\d+", p.stdout)}
    t.ok(0 < lines[names[1]] < lines[names[0]], "and takes ops alone", p.stdout)

# ---- fetches: their addresses are of blocks of bytes ---------------------------------------------
if "no x86 disassembly" in run("--version").stdout or not (m and addr and starts):
    t.skip("fetches within an instruction", "no disassembler, or no program with symbols")
else:
    within = sorted(x for x in starts if min(addr) <= x <= max(addr))  # of objdump
    places = [mem_made.TEXT + a - start for a in range(min(addr), max(addr))]
    fetches = [[(3 | (i % 5 > 0) << 2) << 48 | (10 + i % 50) << 32, a, 0, 0] for i, a in enumerate(rnd.choices(places, k=1500))]
    mem_made.write_ibs(ibs, [], fetches, mapped=(program, offset))
    want, counted = collections.defaultdict(lambda: [0, 0, 0]), 0
    for r in fetches:
        at = r[1] - mem_made.TEXT + start
        first = within[bisect.bisect_right(within, at) - 1]
        if at in owned:  # not of the bytes between functions
            want[first][0] += bit(r[0], 50)
            want[first][1] += at != first
            want[first][2] += 1 - bit(r[0], 50)
    doc = doc_of(ibs)
    t.equal((doc.get("types"), doc.get("fields")), ([], []), "IBS: fetches alone have no types")
    got = {int(r["address"], 16): [r["fetches"], r["fetches_inside"], r["fetches_aborted"]] for r in doc["instructions"]}
    wrong = {hex(a): (got.get(a), v) for a, v in want.items() if got.get(a) != v}
    whole = [v for a, v in want.items() if got.get(a) == v]
    t.ok(len(whole) > 20 and not wrong, "IBS: fetches within an instruction are that instruction's, as objdump has them, and marked", wrong)
    p = run("mem", ibs)
    inside = sum(v[1] for v in whole)
    t.ok("%s of 1,500 samples lie within an instruction" % format(inside, ",") in p.stdout and "fetches delivered nothing" in p.stdout, "and it says so", p.stdout)

# ---- a million samples of IBS: quantiles and histograms by source and by function, from a sort of all latencies -------------------
LOAD, MISS = 1 | 1 << 17, 1 | 1 << 7 | 1 << 17  # OpData3
DRAWN = [  # source in SQL, level and place in mem, OpData2, OpData3, highest latency / 256; None: no latency
    ("L1", "L1", None, 0, LOAD, None), ("L2", "L2", None, 0, MISS, 0), ("L3", "L3", None, 1, MISS | 1 << 20, 1),
    ("other cache of the node", "any cache", "other core", 2, MISS | 1 << 20, 3), ("cache of another node", "any cache", "remote", 5, MISS | 1 << 20, 15),
    ("DRAM", "RAM", None, 3, MISS | 1 << 20, 7), ("DRAM of another node", "RAM", "remote", 3 | 16, MISS | 1 << 20, 127),
    ("memory behind a link", "CXL", None, 64, MISS | 1 << 20, 255), ("uncached", "uncached", None, 3, MISS | 1 << 14, None),
    (None, None, None, 3, MISS & ~1 | 2 | 1 << 20, None)]  # a store


def ranked(groups, low, high):
    """group -> its latencies, sorted: by one sort of numbers group << 16 | latency. Group 255 has none."""
    wide = bytearray(4 * len(low))
    wide[0::4], wide[1::4], wide[2::4] = low, high, groups
    order = sorted(memoryview(wide).cast("I"))
    at = [bisect.bisect_left(order, g << 16) for g in range(256)]
    return {g: (order[at[g]:at[g + 1]], g << 16) for g in range(255) if at[g] < at[g + 1]}


def ranks(v, base, zeros=True):
    """What SQL (zeros=False: mem, where 0 is no latency) makes of a sorted list."""
    v = v if zeros else v[bisect.bisect_left(v, base + 1):]
    return {"timed": len(v), "most": v[-1] - base, "mean": sum(v) / len(v) - base, **{"p%d" % (100 * q): quantile(v, q) - base for q in (0.5, 0.9, 0.99)}}


def unequal(got, want):
    return {k: (got.get(k), x) for k, x in want.items() if not isinstance(got.get(k), (int, float)) or not math.isclose(got[k], x, rel_tol=1e-9)}


if SANITIZED or not (m and addr):
    t.skip("a million samples of IBS", "takes too long with a sanitizer" if SANITIZED else "no program with symbols")
else:
    million = os.path.join(tmp.name, "million.data")
    picked = [rnd.randrange(len(DRAWN)) for _ in range(256)]
    spots = [rnd.choice(sorted(addr)) for _ in range(256)]
    kind, place, low, high = mem_made.write_ibs_drawn(
        million, rnd, 1000000, [(*DRAWN[i][3:5], DRAWN[i][5] or 0) for i in picked], [mem_made.TEXT + a - start for a in spots], (program, offset))
    names = sorted({addr[a] for a in spots})
    group = kind.translate(bytes(255 if DRAWN[i][5] is None else i for i in picked))
    by_source = ranked(group, low, high)
    silent = group.translate(bytes(255 * (g == 255) for g in range(256)))  # samples without a latency are of no function here
    by_function = ranked((int.from_bytes(place.translate(bytes(names.index(addr[a]) for a in spots)), "little") | int.from_bytes(silent, "little")).to_bytes(len(kind), "little"),
                         low, high)
    doc = doc_of(million)
    counts = collections.Counter(kind.translate(bytes(picked)))
    got = {(r["level"], r["where"]): r for r in doc["sources"]}
    wrong = {d[:3]: (got.get(d[1:3]), n) for d, n in ((DRAWN[i], n) for i, n in counts.items()) if got.get(d[1:3], {}).get("samples") != n}
    wrong.update({DRAWN[g][:3]: unequal(got.get(DRAWN[g][1:3], {}), ranks(v, b, False)) for g, (v, b) in by_source.items() if unequal(got.get(DRAWN[g][1:3], {}), ranks(v, b, False))})
    t.ok(doc["samples"] == len(kind) and len(by_source) == 7 and not wrong, "1 M samples: mem by source", wrong)
    got = {r["function"]: r for r in doc["functions"]}
    wrong = {names[g]: unequal(got.get(names[g], {}), ranks(v, b, False)) for g, (v, b) in by_function.items() if unequal(got.get(names[g], {}), ranks(v, b, False))}
    t.ok(len(by_function) == len(names) > 3 and not wrong, "1 M samples: mem by function, %d" % len(names), wrong)
    bins = {(g, 1 << k >> 1): bisect.bisect_left(v, b + (1 << k)) - bisect.bisect_left(v, b + (1 << k >> 1)) for g, (v, b) in by_source.items() for k in range(17)}
    bins = {k: n for k, n in bins.items() if n}
    total = collections.Counter()
    for (g, edge), n in bins.items():
        total[edge] += n if edge else 0
    t.equal({r["low"]: r["samples"] for r in doc["histogram"] if r["latency"] == "data" and r["samples"]}, {k: n for k, n in total.items() if n}, "1 M samples: the histogram")
    if HAS_SQL:
        words = "count(miss_latency) AS timed, max(miss_latency) AS most, avg(miss_latency) AS mean, p50(miss_latency) AS p50, quantile(miss_latency, 0.9) AS p90, quantile(miss_latency, 0.99) AS p99"
        p = run("sql", "-j", million, "SELECT 'source' AS of, source AS name, count(*) AS n, %s FROM ibs_op GROUP BY source UNION ALL "
                "SELECT 'function', function, count(*), %s FROM ibs_op GROUP BY function UNION ALL SELECT 'bin', source, "
                "CASE WHEN miss_latency THEN 1 << CAST(log2(miss_latency) AS INT) ELSE 0 END AS bin, count(*), 0, 0, 0, 0, 0 FROM ibs_op "
                "WHERE miss_latency IS NOT NULL GROUP BY source, bin" % (words, words))
        rows = json.loads(p.stdout)["rows"] if not p.returncode else []
        got = {(r["of"], r["name"]): r for r in rows if r["of"] != "bin"}
        want = {("source", DRAWN[g][0]): ranks(v, b) for g, (v, b) in by_source.items()}
        want.update({("function", names[g]): ranks(v, b) for g, (v, b) in by_function.items()})
        wrong = {k: unequal(got.get(k, {}), x) for k, x in want.items() if unequal(got.get(k, {}), x)}
        t.ok(rows and not wrong, "1 M samples: %d groups' quantiles through SQL" % len(want), (p.stderr, wrong))
        t.equal({k[1]: r["n"] for k, r in got.items() if k[0] == "source"}, {DRAWN[i][0]: n for i, n in counts.items()}, "1 M samples: SQL's sources")
        t.equal({(r["name"], r["n"]): r["timed"] for r in rows if r["of"] == "bin"}, {(DRAWN[g][0], edge): n for (g, edge), n in bins.items()},
                "1 M samples: histograms by source through SQL")
    os.unlink(million)

# ---- linear histograms, and as a picture ---------------------------------------------------------
linear = os.path.join(tmp.name, "linear.data")
values = [rnd.randrange(20, 500) for _ in range(3000)] + [rnd.randrange(500, 100000) for _ in range(20)]
mem_made.write(linear, [mem_made.Sample(mem_made.data_src(op=2, lvl=2 | 8), v) for v in values], mem_made.INTEL)


def bins_of(*options):
    p = run("mem", "-j", linear, *options)
    return [(r["low"], r["high"], r["samples"]) for r in json.loads(p.stdout)["linear"] if r["latency"] == "data"] if not p.returncode else p.stderr


for options, width in ((), 50), (("--linear",), 50), (("--linear=7",), 7), (("--linear=100000",), 100000):
    got = bins_of(*options)
    p99 = sorted(values)[-(len(values) // 100) - 1]
    edges = list(range(min(values) // width * width, p99 + 1, width))
    want = [(a, a + width, sum(a <= v < a + width for v in values)) for a in edges]
    tail = edges[-1] + width
    if tail <= max(values):
        want.append((tail, max(values) + 1, sum(v >= tail for v in values)))
    t.equal(got, want, "linear bins %s" % " ".join(options))
if HAS_SQL:
    p = run("sql", linear, "-j", "SELECT sum(samples) AS n, count(*) AS bins FROM mem_linear WHERE latency = 'data'")
    t.equal(json.loads(p.stdout)["rows"] if not p.returncode else p.stderr, [{"n": len(values), "bins": len(bins_of())}], "SQL has them")
p = run("mem", "--linear=100", linear)
t.ok(re.search(r"(?m)^ +100 +200 +[0-9,]+ +\d", p.stdout) and not re.search(r"(?m)^ +128 +256 ", p.stdout), "--linear: people see them in place of powers of two", p.stdout)
for options, n in ((), None), (("--linear=50",), len(bins_of("--linear=50"))):
    p = run("mem", linear, "--format", "svg", *options)
    tree = xml.etree.ElementTree.fromstring(p.stdout) if t.ok(p.returncode == 0, "svg", p.stderr) else []
    ns = "{http://www.w3.org/2000/svg}"
    titles = [x.text for x in tree.iter(ns + "title")] if tree else []
    bars = [re.match(r"(\d+) to below (\d+) cycles: ([0-9,]+) samples", x) for x in titles]
    t.ok(bars and all(bars) and sum(int(b[3].replace(",", "")) for b in bars) % len(values) == 0 and (not n or len(bars) >= n), "svg: all samples are in bars", titles[:5])
for bad in "x", "0", "4294967296", "-1":
    p = run("mem", linear, "--linear=" + bad)
    t.ok(p.returncode == 2 and "--linear" in p.stderr, "--linear=%s is refused" % bad, p.stderr)
tables.walk(t, "mem", linear, "--linear")

# ---- formats, and what is refused ----------------------------------------------------------------
tables.walk(t, "mem", few)
hostile = os.path.join(tmp.name, "hostile.data")
mem_made.write(hostile, FEW[:200], program="/tmp/a\x1b[31m\"|,<b>\n")
tables.walk(t, "mem", hostile)
p = run("mem", few)
t.ok("only slow loads" in p.stdout and "ldlat=30" in p.stdout and "#####" in p.stdout, "people see the threshold and a histogram", p.stdout)
p = run("mem", "-e", "nothing", few)
t.ok(p.returncode == 2 and "no event 'nothing'" in p.stderr, "an event that there is not", p.stderr)
both = os.path.join(tmp.name, "both.data")
mem_made.write_ibs(both, [(3 << 17 | 16, 0x401000 + i, 0, 0, i << 32 | 1, 0, 0, 0) for i in range(30)], [(3 << 48, 0x402000 + i, 0x1000, 0) for i in range(12)])
for events, n in (["ibs_op//"], 30), (["ibs_fetch//"], 12), (["ibs_op//,ibs_fetch//"], 42), (["ibs_op//", "ibs_f*"], 42), (["ibs_*"], 42), ([], 42):
    p = run("mem", "-j", both, *(x for e in events for x in ("-e", e)))
    t.equal(json.loads(p.stdout)["samples"] if not p.returncode else p.stderr, n, "-e %s" % " -e ".join(events))
p = run("mem", "-e", "ibs_op//,nothing", both)
t.ok(p.returncode == 2 and "no event 'nothing'" in p.stderr, "one of several events that there is not", p.stderr)
plain = os.path.join(tmp.name, "plain.data")
gen.write(plain, gen.File(gen.Writer("<"), [("cycles", dict(type=0, sample=gen.BASE, period=1000), [40])]).build())
p = run("mem", plain)
t.ok(p.returncode == 2 and "tells of memory" in p.stderr and "record --mem" in p.stderr, "a recording without memory operations", p.stderr)
# ---- what is missing, and what is added up -------------------------------------------------------
hybrid = os.path.join(tmp.name, "hybrid.data")
mem_made.write_hybrid(hybrid)
p = run("mem", "--no-pager", "-i", hybrid).stdout
t.ok("cpu_core/mem-loads,ldlat=30/P, cpu_atom/mem-loads,ldlat=30/P sample loads of 30 cycles or more" in p, "only slow loads: all events are named", p)
t.ok("P and E cores are added up" in p, "kinds of cores are added up, and how to see them apart", p)
for which, latency in ("cpu_core/*", 400), ("cpu_atom/*", 50):
    one = run("mem", "--no-pager", "-i", hybrid, "-e", which).stdout
    doc = doc_of(hybrid, "-e", which)
    t.ok("added up" not in one and doc["samples"] == 20 and all(x["latency_mean"] == latency for x in doc["sources"] if "latency_mean" in x), "-e %s: one kind" % which, one)
t.ok("no sample says where its data are" in p and "record --mem" in p, "PEBS without addresses says so, and how to record them", p)
mem_made.write_ibs(ibs, [r[:5] + [0, 0] + r[7:] for r in OPS], [])
p = run("mem", "--no-pager", "-i", ibs).stdout
t.ok("no sample says where its data are" in p and "--fields=-addr" in p, "IBS whose addresses were cleared, too", p)
t.done()
