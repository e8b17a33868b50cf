#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mem and annotate of what `perf record -W` writes on Intel's CPUs: latencies without a data source. Their fields against perf script's, their
figures against sorted lists; and beside an event that tells of memory."""
import collections
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import mem_made  # noqa: E402
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
mem_made.write("both.data", mem_made.drawn(rnd, 500), bare=bare)
mem_made.write("none.data", None, bare=drawn(100, lambda: 0))

# ---- which part of the weight it is, by perf
for name in ("CYCLADE_PERF612", "CYCLADE_PERF7"):
    if not os.environ.get(name):
        t.skip("the field: " + name, "not here")
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
t.ok("3,000 samples with latencies" in p.stdout and "3,000 of 3,000 samples have no word" in p.stdout, "the screen says so", p.stdout)

# ---- beside an event that tells of memory
doc = asked("mem", "both.data")
t.equal(sum(r["samples"] for r in doc["cpus"]), 500, "beside others it is left out")
doc = asked("mem", "both.data", "-e", "cycles*")
t.equal(sum(r["samples"] for r in doc["cpus"]), len(bare), "and taken by its name")

# ---- zeros
doc = asked("mem", "none.data")
t.equal((doc["latencies"], sum(r["samples"] for r in doc["cpus"])), ([], 100), "nothing but zeros is no latency")
t.done()
