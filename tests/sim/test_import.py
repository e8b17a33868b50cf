#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat --import of what perf stat record wrote on a simulated machine: the tree is the one of the counts that the same
run of perf printed, and the one that was planted."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, run_on  # noqa: E402
from tap import PERF, SANITIZED, WHOLE_CPUS, Tap, run  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
DATA, TEXT = os.path.join(tmp.name, "perf.data"), os.path.join(tmp.name, "counts")


def record(machine, program, *words, ms=60):
    for path in (DATA, TEXT):
        if os.path.exists(path):
            os.remove(path)
    p = run_on(machine, program, PERF, "stat", "record", "-o", DATA, *words, SPIN, str(ms), settings="seed=1", LC_ALL="C")
    with open(TEXT, "w", encoding="utf-8") as f:
        f.write(p.stderr)
    return p


def tree(path, *options):
    p = run("stat", "--import", path, "-j", "--smt", "off", *options)
    try:
        return trees(json.loads(p.stdout))
    except ValueError:
        return [{"nodes": [], "said": p.stderr}]


def nodes(x):
    return {n["node"]: n["value"] for n in x["nodes"] if n["value"] is not None}


def differ(a, b, slack):
    """Nodes of b that a has not, or not like that. a may have more: a recording says what machine it was."""
    return [(n, a.get(n), b[n]) for n in b if n not in a or abs(a[n] - b[n]) > slack]


PLANTED = {"frontend_bound": 0.2, "bad_speculation": 0.1, "retiring": 0.3, "backend_bound": 0.4}
if not PERF:
    t.skip("perf stat record on simulated machines", "no perf")
    t.done()
for machine, groups in (("ivb", "TopdownL1"), ("ivb", "TopdownL1,TopdownL2"), ("spr", "TopdownL1")):
    p = record(machine, "even", "-M", groups)
    a, b = nodes(tree(DATA, "--model", machine)[0]), nodes(tree(TEXT, "--model", machine)[0])
    t.ok(len(b) >= 4 and not differ(a, b, 1e-6), "%s -M %s: the tree of the recording is the one of the table" % (machine, groups),
         "%s\n%s\n%s" % (differ(a, b, 1e-6), p.stderr, tree(DATA, "--model", machine)[0].get("said")))
    t.ok(all(abs(a.get(n, -1) - v) < 0.01 for n, v in PLANTED.items()), "%s -M %s: what was planted" % (machine, groups), a)

# ---- what perf prints, in each of its forms: the tree that was planted, and sums made of the text here

def events(text, form):
    """{event: sum} of the text, read by the rules of one form alone."""
    out = {}
    for line in text.splitlines():
        name, value = None, None
        if form == "json" and line.startswith("{"):
            row = json.loads(line)
            name, value = row.get("event"), row.get("counter-value")
        elif form == "csv":
            m = re.match(r"(?:.*,)?(\d+),,([^,]+),(?:[\d.]+%,)?\d+,[\d.]+,", line)
            value, name = m.groups() if m else (None, None)
        elif form == "table":
            m = re.search(r"(?:^|\s)([\d,]+)\s{2,}([A-Za-z][\w./]*(?: \[\w+\])?)\s", line)
            value, name = m.groups() if m and "seconds" not in line else (None, None)
        if name and value and value[0].isdigit():
            out.setdefault(re.sub(r" \[cpu\]$", "", name), []).append(float(value.replace(",", "")))
    return out


FORMS = [(("-x,",), "csv"), (("-j",), "json"), ((), "table"), (("-r", "2"), "table"), (("-r", "2", "-x,"), "csv")]
WHOLE = [(("-a", *place, *every, *form), kind) for place in (("-A",), ("--per-socket",), ("--per-core",), ("--per-die",), ("--per-node",))
         for every in ((), ("-I", "60")) for form, kind in (((), "table"), (("-x,",), "csv"), (("-j",), "json"))]
LONG = os.environ.get("CYCLADE_LONG")
for perf in (PERF,) if SANITIZED else (PERF, os.environ.get("CYCLADE_PERF612"), os.environ.get("CYCLADE_PERF7")):
    if not perf:
        t.skip("outputs of another perf", "CYCLADE_PERF612 and CYCLADE_PERF7 name some")
        continue
    for n, (words, form) in enumerate(FORMS + (WHOLE if WHOLE_CPUS and not SANITIZED else [])):
        if not LONG and n >= len(FORMS) and (n + len(perf)) % 3:
            continue
        run_on("ivb", "even", perf, "stat", "-o", TEXT, "-M", "TopdownL1", *words, SPIN, "100" if "-I" in words else "40", settings="seed=1", LC_ALL="C")
        with open(TEXT, encoding="utf-8") as f:
            text = f.read()
        x = tree(TEXT, "--model", "ivybridge")[0]
        got = {c["event"]: c["value"] for c in x.get("counts", [])}
        want = events(text, form)
        t.ok(all(abs(nodes(x).get(k, -1) - v) < 0.01 for k, v in PLANTED.items()), "%s stat %s: what was planted" % (os.path.basename(perf), " ".join(words)),
             "%s\n%s\n%s" % (nodes(x), x.get("said"), text[:600]))
        t.ok(len(want) >= 4 and all(k in got and abs(got[k] - sum(v)) < 1 for k, v in want.items()),
             "%s stat %s: the sums" % (os.path.basename(perf), " ".join(words)), "%s\n%s" % (got, want))
if not WHOLE_CPUS:
    t.skip("perf stat record -a", "whole CPUs may not be counted here")
    t.done()
record("ivb", "even", "-a", "-I", "100", "-M", "TopdownL1", ms=250)
per = tree(DATA, "--model", "ivb", "--per", "cpu")
t.ok(len(per) == os.cpu_count() and all(abs(nodes(x).get(n, -1) - v) < 0.01 for x in per for n, v in PLANTED.items()),
     "--per cpu of all CPUs: what was planted, on each", [nodes(x) for x in per])
p = run("stat", "--import", DATA, "-j", "-I", "100", "--model", "ivb", "--smt", "off")
docs = [d for d in map(json.loads, p.stdout.splitlines()) if trees(d)]
t.ok(len(docs) >= 2 and all(abs(nodes(trees(d)[0]).get(n, -1) - v) < 0.02 for d in docs for n, v in PLANTED.items()),
     "-I: what was planted, in each interval", p.stdout[:300] + p.stderr)
t.done()
