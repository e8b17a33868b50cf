#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Code made while a program runs, and memory used again for other code: the name is that of the sample's time.

tests/progs/jit.c runs first_code, then second_code at the same address for three times as long, then
second_code, moved elsewhere, for as long as the first. perf inject --jit, which makes a file of each code, is
the referee."""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, PROGS, Tap, run  # noqa: E402

JIT = os.path.join(PROGS, "prog_jit")
MS = "150"


def ours(path, *options):
    """{name: samples}, {name: dso} of the code that was made, and what else was said"""
    r = run("report", "-i", path, "-s", "dso,sym", "--min", "0", "--format", "csv", *options)
    n, dso = {}, {}
    for row in csv.DictReader(io.StringIO(r.stdout)):
        if row["dso"].endswith((".dump", ".map")):
            n[row["function"]] = n.get(row["function"], 0) + int(row["samples"])
            dso[row["function"]] = row["dso"]
    return n, dso, r


def perfs(path):
    made = path + ".jit"
    p = subprocess.run([PERF, "inject", "--jit", "-i", path, "-o", made], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL)
    if p.returncode:
        return None
    p = subprocess.run([PERF, "report", "-i", made, "--stdio", "-F", "sample,dso,sym", "--percent-limit", "0"],
                       capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    return {m[2]: int(m[1]) for m in re.finditer(r"^\s*(\d+)\s+jitted-\S+\s+\[\.\] (\S+)", p.stdout, re.M)}


def record(t, who, path):
    p = subprocess.run([who, "record", "-q", "-k", "mono", "-e", "cpu-clock:u", "-F", "4000", "-o", path, "--", JIT, MS],
                       capture_output=True, text=True, timeout=600)
    if p.returncode:
        t.skip("recorded by " + os.path.basename(who), "cannot record: %s" % (p.stderr.strip().splitlines() or ["?"])[0])
    return p.returncode == 0


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        os.chdir(d)
        for who in [CYCLADE] + ([PERF] if PERF else []):
            name = os.path.basename(who)
            if not record(t, who, name + ".data"):
                continue
            n, dso, r = ours(name + ".data")
            if not t.equal(set(n), {"first_code", "second_code"}, name + ": both codes have their names"):
                print("# " + r.stderr)
                continue
            t.ok(3 < n["second_code"] / n["first_code"] < 5, name + ": second_code has four times what first_code has", n)
            t.ok(all(x.startswith("jit-") for x in dso.values()), name + ": they are told to be of the dump", dso)
            t.ok("by the samples' times" in run("report", "-i", name + ".data", "-v").stdout +
                 run("report", "-i", name + ".data", "-v").stderr, name + ": where names come from is said")
            t.equal(ours(name + ".data", "--no-cache")[0], n, name + ": without the cache, the same")
            r = run("annotate", "-i", name + ".data", "second_code", "--format", "csv")
            if "no disassembler" in r.stdout + r.stderr or "disassembly (" in run("--version").stdout:
                t.skip(name + ": instructions", "no disassembler in this build")
            else:
                at = {row["instruction"].split()[0]: int(row["samples"]) for row in csv.DictReader(io.StringIO(r.stdout))
                      if row.get("instruction")}
                t.ok(sum(at.values()) == n["second_code"] and set(at) & {"jnz", "jne", "b.ne"} and set(at) & {"dec", "subs"},
                     name + ": its instructions are those of the dump, with all its samples", "%s\n%s" % (at, r.stdout + r.stderr))
            if PERF:
                want = perfs(name + ".data")
                if want is None:
                    t.skip(name + ": perf agrees", "perf inject --jit does not work here")
                else:
                    t.equal(n, want, name + ": perf inject --jit agrees")
        # without a common clock, the code that lay there last gives the name: all of it is the moved one, or nameless
        p = subprocess.run([CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", "plain.data", "--", JIT, MS],
                           capture_output=True, text=True, timeout=600)
        if not p.returncode:
            n, dso, r = ours("plain.data", "-v")
            t.ok("first_code" not in n, "without -k mono, nothing is made up of times that cannot be compared", n)
            said = run("report", "-i", "plain.data", "-v")
            t.ok("-k mono" in said.stdout + said.stderr, "without -k mono, it is said what helps", said.stdout)
    t.done()


if __name__ == "__main__":
    main()
