#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mem and annotate of what `perf record -W` writes on Intel's CPUs: latencies without a data source. Their fields against perf script's, their
figures against sorted lists; and beside an event that tells of memory."""
import collections
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import mem_made  # noqa: E402
import recordings  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-bare-")
os.chdir(tmp.name)
rnd = random.Random(7)


def drawn(n, retire):
    return [mem_made.Sample(0, 0, 0, retire(), mem_made.TEXT + 16 * rnd.randrange(20), 0, 20 + rnd.randrange(3), rnd.randrange(4)) for _ in range(n)]


def asked(command, path, *words):
    p = run(command, "-i", path, "-j", *words)
    return json.loads(p.stdout) if not p.returncode else p.stderr


bare = drawn(3000, lambda: min(int(2 * rnd.paretovariate(0.8)), 65535))
mem_made.write("bare.data", None, bare=bare)
LOADS = mem_made.drawn(rnd, 500)
mem_made.write("both.data", LOADS, bare=bare)
mem_made.write("none.data", None, bare=drawn(100, lambda: 0))

# ---- which part of the weight it is, by perf
for name in ("CYCLADE_PERF612", "CYCLADE_PERF7"):
    if not os.environ.get(name):
        t.skip("the field: " + name, name + " is not set")
        continue
    p = subprocess.run([os.environ[name], "script", "-i", "bare.data", "-F", "retire_lat"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    t.equal([int(x) for x in p.stdout.split()], [s.retire for s in bare], "the field: %s has the same retire latencies" % name)

# ---- alone
doc = asked("mem", "bare.data")
t.ok(isinstance(doc, dict), "an event with bare latencies is enough", doc)
rows = {r["latency"]: r for r in doc["latencies"]}
t.equal(list(rows), ["retire"], "there is one kind of latency")
values = sorted(s.retire for s in bare)
r = rows["retire"]
t.equal((r["timed"], r["most"]), (len(bare), values[-1]), "samples, and the most")
t.ok(abs(r["mean"] - statistics.mean(values)) < 1e-6 * r["mean"] and abs(r["p50"] - statistics.median(values)) <= 1e-3 * r["p50"], "mean and median", r)
by_ip = collections.defaultdict(list)
for s in bare:
    by_ip[s.ip].append(s.retire)
rows = {int(r["address"], 16): r for r in doc["instruction_latencies"]}
t.equal({a - min(rows): (r["timed"], r["most"]) for a, r in rows.items()}, {a - min(by_ip): (len(v), max(v)) for a, v in by_ip.items()}, "by instruction")
t.equal([doc[k] for k in ("sources", "types")], [[], []], "no sources, no types: nothing tells of them")
for k in ("threads", "cpus"):
    t.ok(sum(r["samples"] for r in doc[k]) == len(bare) and all(r["p50"] is not None for r in doc[k]), "by " + k, doc[k][:1])
p = run("mem", "-i", "bare.data")
t.ok("3,000 samples with nothing but latencies. Shown: retire latency in cycles, from the retirement" in p.stdout and "3,000 of 3,000 samples have no word" in p.stdout, "the screen says so", p.stdout)

# ---- beside an event that tells of memory
doc = asked("mem", "both.data")
t.equal(sum(r["samples"] for r in doc["cpus"]), 500, "beside others it is left out")
doc = asked("mem", "both.data", "-e", "cycles*")
t.equal(sum(r["samples"] for r in doc["cpus"]), len(bare), "and taken by its name")

# ---- annotate: by instruction of a program
def quantile(v, q):
    at = q * (len(v) - 1)
    low = int(at)
    return v[low] + (at - low) * (v[min(low + 1, len(v) - 1)] - v[low])


program = os.path.abspath(recordings.RECURSE)


def tool(*words):
    return subprocess.run([*words, program], capture_output=True, text=True).stdout


text = re.search(r"LOAD +(0x\w+) (0x\w+) \S+ \S+ \S+ R E", tool("readelf", "-lW"))
sizes = [f for f in (x.split() for x in tool("nm", "-S").splitlines()) if len(f) == 4 and f[2] in "tT" and not f[3].startswith("_")]
starts = sorted(int(x, 16) for x in re.findall(r"(?m)^ +([0-9a-f]+):\t", tool("objdump", "-d", "--no-show-raw-insn")))
if not text or not sizes or not starts:
    t.skip("annotate", "no program with symbols")
else:
    offset, start = int(text[1], 16), int(text[2], 16)
    at, size, _, name = max(sizes, key=lambda f: int(f[1], 16))
    own = [a for a in starts if int(at, 16) <= a < int(at, 16) + int(size, 16)]
    timed, silent = own[:len(own) // 2], own[len(own) // 2:]
    placed = collections.defaultdict(list)
    coded = []
    for i in range(2000):
        a = rnd.choice(timed)
        placed[a].append(int(2 * rnd.paretovariate(0.8)) % 5000 if i % 5 else 0)
        coded.append(mem_made.Sample(0, 0, 0, placed[a][-1], mem_made.TEXT + a - start))
    loads = [mem_made.Sample(mem_made.data_src(op=2, lvl=10), 77, 0, 0, mem_made.TEXT + a - start) for a in silent for _ in range(3)]
    mem_made.write("code.data", None, program=program, text_offset=offset, bare=coded)
    mem_made.write("beside.data", loads, program=program, text_offset=offset, bare=coded)
    mem_made.write("zeros.data", None, program=program, text_offset=offset, bare=[mem_made.Sample(0, ip=s.ip) for s in coded])
    for path, words in (("code.data", ()), ("beside.data", ("-e", "cycles*"))):
        doc = asked("annotate", path, *words, name)
        t.ok(isinstance(doc, dict), "annotate: %s is read" % path, doc)
        rows = {int(r["address"], 16): r for r in doc["instructions"] if r["latency"] is not None} if isinstance(doc, dict) else {}
        t.equal({a: (r["timed"], r["latency_most"]) for a, r in rows.items()}, {a: (len(v), max(v)) for a, v in placed.items()},
                "annotate: %s has the retire latencies of all instructions, zeros too" % path)
        wrong = [(hex(a), r) for a, r in rows.items() if not (math.isclose(r["latency"], statistics.mean(placed[a])) and
                                                              math.isclose(r["latency_p90"], quantile(sorted(placed[a]), 0.9)))]
        t.ok(rows and not wrong, "annotate: %s has their means and p90" % path, wrong[:5])
        p = run("annotate", "-i", path, *words, name)
        t.ok("cycles +-" in p.stdout and "cycles: retire latency, from the retirement of" in p.stdout, "annotate: people see which latency", p.stdout[-2000:])
    doc = asked("annotate", "beside.data", "-e", "cpu/mem-loads*", name)
    rows = {int(r["address"], 16): r["latency"] for r in doc["instructions"] if r["latency"] is not None} if isinstance(doc, dict) else doc
    t.equal(rows, {a: 77 for a in silent}, "annotate: the loads' event has its own latencies")
    p = run("annotate", "-i", "zeros.data", name)
    t.ok(not p.returncode and "retire" not in p.stdout and "p90" not in p.stdout, "annotate: zeros alone are no latency", p.stdout[-2000:])

# ---- perf's sort keys of latencies: refused with a query that has perf's rows
def perf_rows(perf, path, key):
    """Rows of perf report, of all events: samples, and the value of the key."""
    p = subprocess.run([perf, "report", "-i", path, "-s", key, "-n", "--stdio", "-t", ";", "--percent-limit", "0"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    rows = [x.split(";") for x in p.stdout.splitlines() if x and not x.startswith("#")]
    return sorted((int(r[1]), int(r[2])) for r in rows if len(r) == 3)


HAS_SQL = "no SQL" not in run("--version").stdout
perf = os.environ.get("CYCLADE_PERF612")
KEYS = [local + key for key in ("weight", "ins_lat", "retire_lat", "p_stage_cyc") for local in ("", "local_")]
for key in KEYS:
    p = run("report", "-i", "both.data", "-s", "comm," + key)
    query = re.search(r"cyclade sql '(.*)'", p.stderr)
    t.ok(p.returncode == 2 and "'%s' is no key to sort by: --fields +latencies, mem and annotate" % key in p.stderr and query, "report -s %s: refused with a query" % key, p.stderr)
    if not perf or not HAS_SQL:
        t.skip("report -s %s: perf's rows" % key, "no SQL" if perf else "CYCLADE_PERF612: not here")
        continue
    for path in ("both.data", "bare.data"):
        rows = json.loads(run("sql", "-j", path, query[1]).stdout or '{"rows": []}')["rows"] if query else []
        want = perf_rows(perf, path, key)
        t.ok(want, "%s: perf has rows of %s" % (path, key), "")
        t.equal(sorted((r["samples"], r[key]) for r in rows), want, "%s: perf's rows of %s" % (path, key))
if HAS_SQL:
    rows = json.loads(run("sql", "-j", "both.data", "SELECT event, count(*) AS n, count(retire_latency) AS told, sum(retire_latency) AS retire, sum(weight3) AS third, "
                          "sum(instruction_latency) AS instruction, sum(weight2) AS second FROM samples GROUP BY 1").stdout)["rows"]
    t.ok(len(rows) == 2 and all((r["told"], r["retire"], r["instruction"]) == (r["n"], r["third"], r["second"]) for r in rows) and
         sum(r["retire"] for r in rows) == sum(s.retire for s in [*LOADS, *bare]) and any(r["instruction"] for r in rows), "latencies have names in SQL", rows)
    mem_made.write("amd.data", LOADS, cpuid=mem_made.AMD)
    rows = json.loads(run("sql", "-j", "amd.data", "SELECT count(retire_latency) AS a, count(instruction_latency) AS b, count(weight3) AS c FROM samples").stdout)["rows"]
    t.equal(rows, [{"a": 0, "b": 0, "c": len(LOADS)}], "which are of Intel's CPUs alone")

# ---- zeros
doc = asked("mem", "none.data")
t.equal((doc["latencies"], sum(r["samples"] for r in doc["cpus"])), ([], 100), "nothing but zeros is no latency")
p = run("mem", "-i", "none.data")
t.ok("100 samples of an event with latencies, none with a latency" in p.stdout, "and the screen says so", p.stdout)
t.done()
