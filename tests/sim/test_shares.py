#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is counted, nothing that is no share is told as one: counts that contradict each other, by import on many
models and on simulated machines whose events count at random; on the screen, in csv, json and markdown, of stat, of
means of runs, of run and of what report makes of its recording."""
import csv
import io
import json
import os
import random
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import run_on  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run  # noqa: E402
from trees import trees  # noqa: E402

SPIN = os.environ.get("SIM_SPIN", os.path.join(HERE, "../../build/tests/sim/sim_spin"))
MODELS = ["ivb", "skl", "spr", "gnr", "srf", "zen2", "zen5", "neoverse-n2", "neoverse-v3"]
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


def no_shares(text):
    """Percentages of a screen that are none; error bars may be as large as they are."""
    return [x for x in re.findall(r"(?<![+\d.-])(-?[\d.]+) %", re.sub(r"\+-<?[\d.]+( %)?", "", text)) if not 0 <= float(x) <= 100]


def bad_values(rows):
    """Of nodes, and of metrics in per cent: [(name, value)] of those that are no shares."""
    bad = []
    for name, unit, level, value in rows:
        most = 1 if level else 100 if unit == "%" else None
        if most and not -1e-12 <= value <= most * (1 + 1e-9):
            bad.append((name, value))
    return bad


def of_json(d):
    return [(x.get("node") or x["metric"], x["unit"], x.get("level", 0), x["value"])
            for v in trees(d) for k in ("nodes", "metrics") for x in v[k] if x["value"] is not None]


def of_csv(text):
    """Of the table of nodes, of metrics or of functions."""
    return [(x.get("node") or x.get("metric") or x["function"], x.get("unit"), "metric" not in x, float(x.get("value") or x.get("share")))
            for x in csv.DictReader(io.StringIO(text)) if x.get("value") or x.get("share")]


def told(text, how):
    """What is wrong in an output, and how many shares there were."""
    if not text:
        return "nothing", 0
    if how == "json":
        rows = of_json(json.loads(text))
        return bad_values(rows), len(rows)
    if how == "csv":
        rows = of_csv(text)
        return bad_values(rows), len(rows)
    return no_shares(text), text.count(" %")


def imported(model, rnd):
    events = [e["event"] for e in json.loads(run("list", "events", "--model", model, "-j").stdout)["events"] if e["used"]]
    with open("counts.csv", "w", encoding="utf-8") as f:
        for e in events:
            v = rnd.choice([0, 1, rnd.randrange(10 ** 9), 10 ** 9 + rnd.randrange(10 ** 6), 10 ** rnd.randrange(3, 13)])
            f.write("%d,,%s,1000,100.00,,\n" % (v, e))
    d = json.loads(run("list", "metrics", "--model", model, "-j").stdout)
    percents = [x["name"] for x in d["metrics"] if x["unit"] == "%"]
    bad, seen = [], 0
    for how, *table in (("term",), ("csv",), ("csv", "metrics"), ("json",), ("markdown",)):
        r = run("stat", "--import", "counts.csv", "--model", model, "--smt", "on", "-l", "9", *(["-M", ",".join(percents)] if percents else []),
                "--format", how, *(["--table", *table] if table else []), "-o", "-")
        wrong, n = told(r.stdout, how) if r.stdout else (r.stderr, 0)
        bad += [(how, wrong)] if wrong or r.returncode else []
        seen += n
    return bad, seen


def test_imports():
    for model in MODELS:
        rnd, bad, seen = random.Random(model), [], 0
        for _ in range(3):
            wrong, n = imported(model, rnd)
            bad += wrong
            seen += n
        t.ok(seen > 10 and not bad, "%s: counts that contradict each other, in four formats (%d shares)" % (model, seen), bad[:4])


def sim(machine, *command):
    return run_on(machine, "scenario", CYCLADE, *command, LC_ALL="C.UTF-8")


def events_of(machine):
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        return [w[8] for w in (line.split() for line in f) if w and w[0] == "event" and len(w) > 8 and re.fullmatch(r"[\w.]+", w[8])]


def test_machines():
    for machine in ("ivb", "spr", "adl", "zen4"):
        rnd = random.Random(machine + "2")
        with open("scenario", "w", encoding="utf-8") as f:
            f.write("phase even -\n")
            names = events_of(machine)
            for e in rnd.sample(names, min(60, len(names) // 3)):
                f.write("rate %s %.4g\n" % (e, rnd.choice([0, 0.01, 1, 10, 30]) * rnd.random()))
        bad, seen = [], 0
        for options, how in [(["-l", "4"], "term"), (["-r", "3", "-j", "-l", "4"], "json"), (["--format", "csv"], "csv")]:
            r = sim(machine, "stat", "--sysroot", "@SYSROOT@", "-o", "-", *options, "--", SPIN, "60")
            wrong, n = told(r.stdout, how)
            bad += [(options, wrong, r.stderr[:300])] if wrong or r.returncode else []
            seen += n
        for options, how in [([], "term"), (["-j"], "json"), (["--format", "csv"], "csv"), (["--format", "csv", "--table", "nodes"], "csv")]:
            r = sim(machine, "run", "--sysroot", "@SYSROOT@", "-o", "-", *options, "--", SPIN, "60")
            wrong, n = told(r.stdout, how)
            bad += [(["run"] + options, wrong, r.stderr[:300])] if wrong or r.returncode else []
            seen += n
        d = json.loads(run("report", "-j").stdout)["tree"]
        off = [x for x in d if x["value"] is not None and not 0 <= x["value"] <= 1]
        text = run("report").stdout
        t.ok(seen > 10 and not bad and not off and not no_shares(text), "%s: events that count at random (%d shares)" % (machine, seen),
             "%s %s %s" % (bad[:3], off[:3], no_shares(text)))
    with open("scenario", "w", encoding="utf-8") as f:
        f.write("phase even -\nrate BR_MISP_RETIRED.ALL_BRANCHES 30\nrate BR_INST_RETIRED.ALL_BRANCHES 1\n")
    r = sim("spr", "stat", "--sysroot", "@SYSROOT@", "-o", "-", "-e", "branches,branch-misses", "--", SPIN, "60")
    t.ok(not no_shares(r.stdout) and "? of branches: more than there are" in r.stdout, "stat -e: nor are more misses than branches a share",
         r.stdout + r.stderr)


test_imports()
if SANITIZED:
    t.skip("simulated machines", "under a sanitizer a share of the simulated machines has to do: tree, drill, run, record")
else:
    test_machines()
t.done()
