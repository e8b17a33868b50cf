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


def figures(text, form):
    """[(name, value, half of its last digit)]: what perf printed itself, by the rules of one form alone."""
    out = []

    def add(name, value):
        name = re.sub(r"^%\s*", "", name.strip())
        if name and re.fullmatch(r"-?[\d.]+", value):
            out.append((name, float(value), 0.51 * 10.0 ** -len(value.partition(".")[2])))
    lines = [x for x in text.splitlines() if x.strip() and not x.startswith("# started")]
    for i, line in enumerate(lines):
        if form == "json":
            row = json.loads(line) if line.startswith("{") and line.count("{") == 1 else {}
            if row.get("metric-unit", "(null)") != "(null)":
                add(row["metric-unit"], str(row["metric-value"]))
            for name in () if "metric-value" in row or "event" in row else row:
                add(name, str(row[name]))
        elif form == "csv":
            x = line.split(",")
            if len(x) > 4 and x[-1] and not re.match(r"[\d.]", x[-1]):
                add(x[-1], x[-2])
        elif form == "csv names" and i:
            for name, value in zip(lines[0].split(","), line.split(",")):
                add(name, value)
        elif form == "table":
            m = re.search(r"#\s+([\d.]+)\s*%?\s+(\S.*?)\s*(?:\( \+-.*)?(?:\([\d.]+%\))?$", line)
            if m:
                add(m.group(2), m.group(1))
        elif form == "table names" and re.fullmatch(r"[\s\d.%]+", line) and i:
            names = re.split(r"\s(?=%)|\s{2,}(?![a-z])", lines[i - 1].strip())
            for name, value in zip([x for x in map(str.strip, names) if x], line.split()):
                add(name, value.rstrip("%"))
    return out


def printed_back(doc, want):
    """Those that are not there, within their rounding; a figure twice in the text may be a mean."""
    have = {}
    for f in doc.get("printed", []):
        have.setdefault(f["figure"], []).append(f["value"])
    one = {}
    for name, value, half in want:
        one.setdefault(name, []).append((value, half))
    return [(n, v, have.get(n)) for n, v in one.items()
            if not any(min(x for x, _ in v) - v[0][1] <= y <= max(x for x, _ in v) + v[0][1] for y in have.get(n, []))]


ONLY = [(("--metric-only", "-x,"), "csv names"), (("--metric-only", "-j"), "json"), (("--metric-only",), "table names")]
for perf in (PERF,) if SANITIZED else (PERF, os.environ.get("CYCLADE_PERF612"), os.environ.get("CYCLADE_PERF7")):
    if not perf:
        t.skip("outputs of another perf", "CYCLADE_PERF612 and CYCLADE_PERF7 name some")
        continue
    for words, form in ONLY:
        run_on("spr", "even", perf, "stat", "-o", TEXT, "-M", "TopdownL1", *words, SPIN, "40", settings="seed=1", LC_ALL="C")
        with open(TEXT, encoding="utf-8") as f:
            text = f.read()
        want = figures(text, form)
        if not want:  # perf 6.1 with -j: nothing, or no names
            t.skip("%s stat %s" % (os.path.basename(perf), " ".join(words)), "this perf prints no figure with a name there")
            continue
        p = run("stat", "--import", TEXT, "--model", "spr", "-j")
        doc = json.loads(p.stdout) if p.stdout.startswith("{") else {"notes": [p.stderr]}
        bad = printed_back(doc, want)
        t.ok(len(want) >= 4 and not bad and all(abs(nodes(x).get(k, -1) - v) < 0.01 for x in trees(doc) for k, v in PLANTED.items()),
             "%s stat %s: its figures" % (os.path.basename(perf), " ".join(words)), "%s\n%s\n%s" % (bad, text[:700], p.stdout[:500]))
    for n, (words, form) in enumerate(FORMS + (WHOLE if WHOLE_CPUS and not SANITIZED else [])):
        if not LONG and n >= len(FORMS) and (n + len(perf)) % 3:
            continue
        run_on("ivb", "even", perf, "stat", "-o", TEXT, "-M", "TopdownL1", *words, SPIN, "100" if "-I" in words else "40", settings="seed=1", LC_ALL="C")
        with open(TEXT, encoding="utf-8") as f:
            text = f.read()
        doc = json.loads(run("stat", "--import", TEXT, "-j", "--smt", "off", "--model", "ivybridge").stdout or "{}")
        x = (trees(doc) or [{"nodes": []}])[0]
        bad = printed_back(doc, figures(text, form))
        t.ok(not bad and (figures(text, form) or "-I" in words), "%s stat %s: its figures" % (os.path.basename(perf), " ".join(words)),
             "%s\n%s\n%s" % (bad, text[:900], doc.get("printed")))
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
