#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a stripped program: found by its unwind table, so that what they took is told of each, and not of
every address; against the same recording with the symbols at hand (nm), and against perf script's addresses."""
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import PERF, Tap, run  # noqa: E402

PROGRAM = r"""
static volatile unsigned long sink;
#define WORK(name, n) __attribute__((noinline)) static void name(void) { \
	for (unsigned long i = 0; i < (n); i++) sink = sink * 3 + i; }
WORK(much, 30000000)
WORK(some, 15000000)
WORK(little, 5000000)
int main(void) { for (int i = 0; i < 3; i++) { much(); some(); little(); } return 0; }
"""

t = Tap()
if not shutil.which("gcc") or not shutil.which("strip"):
    t.skip("stripped programs", "no gcc or strip")
    t.done()
tmp = tempfile.mkdtemp(prefix="cyclade-test-")
os.mkdir(tmp + "/whole")
with open(tmp + "/a.c", "w") as f:
    f.write(PROGRAM)
whole, prog, data = tmp + "/whole/prog", tmp + "/prog", tmp + "/data"
subprocess.run(["gcc", "-O1", "-no-pie", "-Wl,--build-id", "-o", whole, tmp + "/a.c"], check=True)
shutil.copy(whole, prog)
subprocess.run(["strip", "-s", prog], check=True)
at = {}
for line in subprocess.run(["nm", "-S", whole], capture_output=True, text=True, check=True).stdout.splitlines():
    m = re.match(r"(\w+) (\w+) [tT] (\w+)$", line)
    if m:
        at[int(m[1], 16)] = (m[3], int(m[2], 16))


def rows(*args):
    r = run("report", "-i", data, "-s", "dso,sym", "--format", "csv", "--min", "0", *args)
    return {x["function"]: int(x["samples"]) for x in csv.DictReader(io.StringIO(r.stdout)) if x["dso"] == "prog"}


p = run("record", "-e", "cpu-clock:u", "-F", "5000", "-o", data, "--", prog)
if p.returncode:
    t.skip("stripped programs", "nothing can be recorded here: " + p.stderr)
    t.done()
bare, named = rows(), rows("--symbols", tmp + "/whole")
places = {s: int(s.split("+0x")[1], 16) for s in bare if s.startswith("prog+0x")}
t.ok(len(places) == len(bare) >= 3, "each row is a function, called after its place", bare)
t.equal({at.get(places[s], (s,))[0]: n for s, n in bare.items() if s in places}, named, "each has the samples that it has by its name")
t.ok({"much", "some", "little"} <= set(named), "names are there where the symbols are", named)
if PERF:
    out = subprocess.run([PERF, "script", "-i", data, "-F", "ip"], capture_output=True, text=True).stdout.split()
    by = collections.Counter()
    for ip in (int(x, 16) for x in out):
        by.update(s for s, a in places.items() if a <= ip < a + at[a][1])
    t.equal(dict(by), bare, "and those that perf has between its first and its last byte")
else:
    t.skip("perf's addresses", "perf is not installed")
doc = json.loads(run("report", "-i", data, "--format", "json").stdout)["events"][0] if bare else {}
total = sum(bare.values())
t.equal(doc.get("no_name_samples"), total, "json: how many samples are of functions without a name")
t.ok(doc.get("no_symbol_samples", -1) <= doc["samples"] - total, "json: those are not without a symbol", doc)
r = run("report", "-i", data)
t.ok("without a name" in r.stdout and "0.0 % without a symbol" in r.stdout, "on screen it is told of them", r.stdout)
r = run("report", "-i", data, "--symbols", tmp + "/whole")
t.ok("without a name" not in r.stdout, "and not where all have names", r.stdout)
for args, said in (([], True), (["--symbols", tmp + "/whole"], False)):
    r = run("run", "--data", tmp + "/run.data", "-e", "cpu-clock:u", *args, "--", prog)
    t.ok(not r.returncode and ("functions of stripped files" in " ".join(r.stderr.split())) == said and ("--symbols DIR" in r.stderr) == said,
         "run %s what would name its functions" % ("says" if said else "with names says nothing of"), r.stderr)
hot = max(places, key=lambda s: bare[s]) if places else "?"
r = run("annotate", "-i", data, hot)
t.ok(r.returncode == 0 and ("imul" in r.stdout or "lea" in r.stdout), "annotate: its instructions", r.stdout + r.stderr)
r = run("report", "-i", data, "--format", "folded")
t.ok(hot in r.stdout, "folded: the name tells the file", r.stdout)
shutil.rmtree(tmp)
t.done()
