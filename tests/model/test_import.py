#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""models import: small files with known outcome, and vendors' files against the models compiled in, which another
program (tools/import_models.py) made, of the trees out of another source (the sheets)."""
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import NO_SHARED, SHARED, Tap, run  # noqa: E402
from trees import trees  # noqa: E402

EVAL = sys.argv[1]
PERFMON = os.path.join(SHARED, "reference", "perfmon")
PMU = os.path.join(SHARED, "reference", "pmu-events")
t = Tap()
tmp = tempfile.TemporaryDirectory()
NUMBER = iter(range(1000))


def new(name="d"):
    return os.path.join(tmp.name, name + str(next(NUMBER)))


def put(name, doc):
    path = os.path.join(tmp.name, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(doc if isinstance(doc, str) else json.dumps(doc))
    return path


def imported(model, *files):
    """(directory, the run)"""
    out = new()
    return out, run("models", "import", out, *files, "--model", model)


def text(top, name):
    found = glob.glob(os.path.join(top, "*", "*", name))
    if not found:
        return "(nothing)"
    with open(found[0], encoding="utf-8") as f:
        return "".join(x for x in f if not x.startswith("#From"))


def listed(what, model, *more):
    r = run("list", what, "--model", model, "-j", *more)
    return {x["event" if what == "events" else "name"]: x for x in json.loads(r.stdout)[what]} if r.returncode == 0 else {"": r.stderr}


# ---- small files ----

EVENTS = {"Header": {}, "Events": [
    {"EventName": "CLK.ANY", "EventCode": "0x3c", "UMask": "0x00", "Counter": "0,1,2,3", "CounterHTOff": "0,1,2,3,4,5,6,7",
     "SampleAfterValue": "2000003"},
    {"EventName": "UOPS.ANY", "EventCode": "0x0E", "UMask": "0x01", "UMaskExt": "0x00", "Counter": "0,1", "CounterHTOff": "0,1,4",
     "SampleAfterValue": "1000", "CounterMask": "2", "Invert": "1", "PEBS": "1", "Errata": "A1, B2"},
    {"EventName": "RET.L2", "EventCode": "0xc6", "UMask": "0x1", "Counter": "0,1,2,3", "MSRIndex": "0x3F7", "MSRValue": "0x13",
     "SampleAfterValue": "7", "TakenAlone": "1"},
    {"EventName": "OCR.X", "EventCode": "0xB7,0xBB", "UMask": "0x1", "Counter": "0,1,2,3", "MSRIndex": "0x1a6,0x1a7",
     "MSRValue": "0x10001", "SampleAfterValue": "7", "Deprecated": "1"},
    {"EventName": "INST.ANY", "EventCode": "0x00", "UMask": "0x01", "Counter": "Fixed counter 0", "SampleAfterValue": "9"},
    {"EventName": "SLOTS.ANY", "EventCode": "0x00", "UMask": "0x04", "Counter": "Fixed counter 3", "SampleAfterValue": "9"},
    {"EventName": "IMC.RD", "EventCode": "0x04", "UMask": "0x03", "Counter": "0,1,2,3", "Unit": "iMC"},
    {"EventName": "bad name", "EventCode": "0x04", "UMask": "0x03", "Counter": "0"}]}
METRICS = {"Header": {}, "Metrics": [
    {"MetricName": "Back", "LegacyName": "metric_TMA_Back(%)", "Level": 1, "Category": "TMA", "UnitOfMeasure": "percent",
     "Events": [{"Name": "UOPS.ANY:c1", "Alias": "a"}, {"Name": "CLK.ANY", "Alias": "b"}],
     "Constants": [{"Name": "HYPERTHREADING_ON", "Alias": "smt_on"}], "Formula": "100 * ( a / ( b / 2 if smt_on else b ) )",
     "Threshold": {"Formula": "a > 20"}, "CountDomain": "Slots", "MetricGroup": "A;B", "LocateWith": "RET.L2;NO.SUCH"},
    {"MetricName": "Mem", "ParentCategory": "Back", "Level": 2, "Category": "TMA", "UnitOfMeasure": "percent",
     "Events": [{"Name": "UOPS.ANY", "Alias": "a"}, {"Name": "SLOTS.ANY:perf_metrics", "Alias": "b"}], "Constants": [],
     "Formula": "100 * a / b + 1", "Threshold": {"Formula": "( a > 12.5 ) & ( b > 20 )", "ThresholdIssues": "$issueX, $issueY"},
     "CountDomain": "Clocks"},
    {"MetricName": "Odd", "Level": 1, "Category": "", "UnitOfMeasure": "ns",
     "Events": [{"Name": "NO.SUCH", "Alias": "a"}], "Constants": [{"Name": "20", "Alias": "b"}], "Formula": "a < = b"},
    {"MetricName": "Own", "Level": 1, "Category": "", "UnitOfMeasure": "", "Constants": [],
     "Events": [{"Name": "OCR.X:ocr_msr_val=0x20002", "Alias": "a"}, {"Name": "IMC.RD:opc=0x1c8", "Alias": "b"}], "Formula": "a / b"},
    {"MetricName": "Broken", "Level": 1, "Category": "", "Events": [], "Constants": [], "Formula": "( 1 + "}]}
d, p = imported("mine", put("a/events.json", EVENTS), put("a/metrics.json", METRICS))
t.equal(p.returncode, 0, "two files: imported" + p.stderr)
t.equal(text(d, "events").splitlines(), [
    "CLK.ANY event=0x3c 0-3:0-7,f1 2000003", "IMC.RD uncore_imc/event=0x04,umask=0x03/ - 0",
    "INST.ANY event=0xc0 0-3:0-7,f0 9", "OCR.X event=0xb7,umask=0x01,offcore_rsp=0x10001 0-3 7 deprecated",
    "RET.L2 event=0xc6,umask=0x01,frontend=0x13 0-3 7 alone", "SLOTS.ANY event=0x00,umask=0x04 f3 9 slots",
    "UOPS.ANY event=0x0e,umask=0x01,cmask=2,inv 0-1:0-1,4 1000 precise errata=A1,B2"], "events: encodings, counters, words")
rows = [x.split("\n") for x in text(d, "tree").strip().split("\n\n")]
t.equal(rows, [
    ["node   Back", "expr   ( UOPS.ANY:c1 / ( CLK.ANY / 2 if #smt_on else CLK.ANY ) )", "flag   > 0.2", "count  Slots", "unit   %",
     "scale  100", "groups A;B", "locate RET.L2"],
    ["node   Mem", "parent Back", "expr   ( 100 * UOPS.ANY / SLOTS.ANY + 1 ) / 100", "flag   > 0.125 & P", "count  Clocks",
     "unit   %", "scale  100", "issue  $issueX $issueY"]], "tree: places, formulas, thresholds")
rows = [x.split("\n") for x in text(d, "metrics").strip().split("\n\n")]
t.equal(rows, [["metric Odd", "area   Info", "expr   NO.SUCH <= 20", "unit   ns"], ["metric Own", "area   Info", "expr   OCR.X:ocr_msr_val=0x20002 / IMC.RD:opc=0x1c8"], ["metric Broken", "absent"],
               ["metric NO.SUCH", "absent"]], "metrics; what cannot be compiled, and what no file has, is absent")
t.ok("counters     4 8\n" in text(d, "model") and "fixed        4\n" in text(d, "model"), "facts, by the events", text(d, "model"))
made = {e["event"]: (e["pmu"], e["code"]) for e in json.loads(run("list", "events", "--models", d, "--model", "mine", "-j").stdout)["events"]}
t.equal([made.get("OCR.X:ocr_msr_val=0x20002"), made.get("IMC.RD:opc=0x1c8")],
        [(None, "event=0xb7,umask=0x01,offcore_rsp=0x20002"), ("uncore_imc", "event=0x04,umask=0x03,filter_opc=0x1c8")],
        "values of registers that formulas give their events")
p2 = run("models", "import", new(), put("a/events.json", EVENTS), put("a/metrics.json", METRICS), "--model", "mine", "-j")
doc = json.loads(p2.stdout)
t.equal([doc[k] for k in ("model", "events", "sources")] + [len(doc["files"])], ["mine", 7, 2, 4], "the same as json" + p2.stderr)
t.ok(doc["notes"] and all(x in " ".join(p.stdout.split()) for x in doc["notes"]), "with what was left out", doc["notes"])
t.ok("bad name" in p.stdout and "Broken" in p.stdout and "NO.SUCH" in p.stdout, "what was left out is told", p.stdout)
r = run("stat", "--import", put("counts", "1000,,UOPS.ANY,100,100.00,,\n4000,,SLOTS.ANY,100,100.00,,\n"), "--models", d, "--model", "mine",
        "--smt", "off", "-j")
t.ok(any(n["node"] == "back.mem" and abs(n["value"] - 0.26) < 1e-9 for n in trees(json.loads(r.stdout))[0]["nodes"]
         if n["value"] is not None), "stat --models uses it", r.stdout[:500] + r.stderr)
d, p = imported("perfs", put("b/metrics.json", [
    {"MetricName": "tma_fe", "MetricExpr": "cpu@E.A\\,cmask\\=1@ / tma_info_clks", "MetricGroup": "TopdownL1;tma_L1_group",
     "MetricThreshold": "tma_fe > 0.15", "ScaleUnit": "100%"},
    {"MetricName": "tma_lat", "MetricExpr": "min(tma_fe,   0.5)", "MetricGroup": "X;TopdownL2;tma_L2_group;tma_fe_group",
     "MetricThreshold": "tma_lat > 0.1 & tma_fe > 0.15", "ScaleUnit": "100%"},
    {"MetricName": "tma_info_clks", "MetricExpr": "E.C", "ScaleUnit": "6.1e-5MiB"}]),
    put("b/events.json", [{"EventName": n, "EventCode": c} for n, c in (("E.A", "0x1"), ("E.C", "0x76"))]))
t.ok("language perf\n\nnode   fe\nexpr   cpu@E.A\\,cmask\\=1@ / info_clks\nflag   > 0.15\n" in text(d, "tree") and
     "node   lat\nparent fe\nexpr   min(fe, 0.5)\nflag   > 0.1 & P\n" in text(d, "tree"), "perf's files: names without tma_, places by groups",
     text(d, "tree") + p.stderr)
t.ok("expr   E.C\nunit   MiB\nscale  0.000061\n" in text(d, "metrics"), "and their units", text(d, "metrics"))
t.equal(text(d, "events"), "E.A event=0x01 0-5 0\nE.C event=0x76 0-5 0\n", "events without counters are AMD's")
d2, p = imported("arms", put("c/arm64/x.json", [{"ArchStdEvent": "CPU_CYCLES"}, {"EventName": "OWN", "EventCode": "0x80"}]),
                 put("c/recommended.json", [{"EventName": "CPU_CYCLES", "EventCode": "0x11"}, {"EventName": "NOT", "EventCode": "0x12"}]))
t.equal(text(d2, "events"), "CPU_CYCLES event=0x11 0-5,f0 0\nOWN event=0x80 0-5 0\n", "Arm: only what the CPU's files name" + p.stderr)
for why, files in (("no JSON", [put("bad1", '[{"EventName": ')]), ("no events", [put("bad2", "{}")]), ("No such file", ["/no/such"])):
    d, p = imported("x", *files)
    t.ok(p.returncode == 2 and why in p.stderr and not os.path.exists(d), "%s: refused, and nothing is written" % why, p.stderr)
p = run("models", "import", new(), put("bad3", "[]"), "--model", "../up")
t.ok(p.returncode == 2 and "--model" in p.stderr, "an id that is a path: refused", p.stderr)
p = run("models", "import", new(), put("bad4", "[]"))
t.ok(p.returncode == 2 and "--model" in p.stderr, "no id: refused", p.stderr)

if not os.path.isdir(PERFMON):
    t.skip("vendors' files", NO_SHARED)
    t.done()

# ---- vendors' files ----

INTEL = {"skx": "SKX", "spr": "SPR", "gnr": "GNR", "icx": "ICX", "icl": "ICL", "hsw": "HSW", "bdx": "BDX"}
TREES = {"skx": "SKX/metrics/skylakex_metrics.json", "spr": "SPR/metrics/sapphirerapids_metrics.json",
         "gnr": "GNR/metrics/graniterapids_metrics.json", "icx": "ICX/metrics/icelakex_metrics.json",
         "icl": "ICL/metrics/icelake_metrics.json", "hsw": "HSW/metrics/haswell_metrics.json",
         "bdx": "BDX/metrics/broadwellx_metrics.json"}
KEYS = ("pmu", "code", "counters", "counters_alone", "fixed", "period", "errata")


def flags(e):
    return set((e["flags"] or "").split(",")) - {"deprecated", ""}


def count(name, salt):
    name = name.upper().replace(":OCR_MSR_VAL=0X", ".OCR_MSR_VAL_")  # what the other importer calls it
    h = int(hashlib.sha256((salt + name.upper()).encode()).hexdigest()[:8], 16)
    return float(10 ** 6 + h % (9 * 10 ** 8))


def values(model, events, salt, smt, *more):
    lines = ["#0 %d" % smt, "#1 1", "#3 16", "#4 8", "#6 2", "#7 %d" % (1 + smt), "#8 2500000000", "#11 0", "#12 1", "#9 2500000000"]
    for e in events:
        lines += ["%s %.17g" % (e, count(e, salt)), "%s:R %.17g" % (e, 1 + count(e, salt + "R") % 97)]
    r = subprocess.run([EVAL, model, *more], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    return {n: None if v == "-" else float(v) for n, v in (x.rsplit(" ", 1) for x in r.stdout.splitlines())}


def close(a, b):
    return (a is None) == (b is None) and (a is None or abs(a - b) <= 1e-7 * max(abs(a), abs(b), 1e-3))


for m, folder in sorted(INTEL.items()):
    files = glob.glob(os.path.join(PERFMON, folder, "events", "*_core.json")) + [os.path.join(PERFMON, TREES[m])]
    have = listed("events", m)
    for name in (m, "my" + m):
        d, p = imported(name, *files)
        got = listed("events", name, "--models", d)
        bad = [(e, [got[e][k] for k in KEYS], [have[e][k] for k in KEYS]) for e in set(got) & set(have)
               if [got[e][k] for k in KEYS] != [have[e][k] for k in KEYS] or
               (flags(got[e]) ^ flags(have[e])) - ({"smt_exclusive"} if name != m else set())]
        # (that importer makes events of their own of some options)
        missing = [e for e in set(got) ^ set(have) if ":" not in e and "OCR_MSR_VAL" not in e and not (have.get(e) or got.get(e))["pmu"]]
        t.ok(len(got) > 200 and not bad and not missing, "%s: %d events are as compiled in" % (name, len(set(got) & set(have))),
             "%s\n%s\n%s" % (p.stderr, bad[:5], missing[:10]))
    d, p = imported(m, *files)
    ours, theirs = listed("nodes", m), listed("nodes", m, "--models", d)
    both = set(ours) & set(theirs)
    misplaced = [n for n in both if theirs[n]["level"] != ours[n]["level"]]
    same, differ = 0, set()
    for salt, smt in (("one", 1), ("two", 0)):
        every = set(have) | set(listed("events", m, "--models", d))
        a, b = values(m, every, salt, smt), values(m, every, salt, smt, d)
        for n in both:
            if n in a and n in b and close(a[n], b[n]):
                same += 1
            else:
                differ.add(n)
    t.ok(len(both) >= 60 and len(both) >= 0.9 * len(ours) and not misplaced, "%s: %d nodes in their places" % (m, len(both)),
         "misplaced: %s; not in both: %s" % (misplaced, sorted(set(ours) ^ set(theirs))))
    if m in ("icx", "spr", "gnr"):
        t.ok("False_Sharing" in {n.rsplit(".", 1)[-1] for n in both} and not [n for n in differ if n.endswith("False_Sharing")],
             "%s: False_Sharing, with a value of its own for offcore_rsp" % m, sorted(differ))
    t.ok(same > 100 and len(differ) <= 0.15 * len(both), "%s: %d values of nodes are those compiled in (residue: %s)" % (
        m, same, ", ".join(sorted(differ)) or "none"), sorted(differ))

for z in "12345":
    m = "zen" + z
    d, p = imported(m, os.path.join(PMU, "x86", "amd" + m))
    have, got = listed("events", m), listed("events", m, "--models", d)
    bad = [(e, got[e]["code"], have[e]["code"]) for e in set(got) & set(have)
           if any(got[e][k] != have[e][k] for k in ("pmu", "code", "counters", "fixed"))]
    missing = [e for e in set(got) ^ set(have) if not re.search("[:/]", e)]
    t.ok(len(got) > 100 and not bad and not missing, "%s: %d events are as compiled in" % (m, len(set(got) & set(have))),
         "%s\n%s\n%s" % (p.stderr, bad[:5], missing[:10]))
    a, b = listed("metrics", m), listed("metrics", m, "--models", d)
    both = set(a) & set(b)
    # "instructions" is perf's own name for one of them
    bad = [(n, b[n]["formula"], a[n]["formula"]) for n in both if any(b[n][k] != a[n][k] for k in ("unit", "scale")) or
           b[n]["formula"] != a[n]["formula"].replace("/ ex_ret_instr", "/ instructions") != a[n]["formula"]
           and b[n]["formula"] != a[n]["formula"]]
    t.ok(len(both) > 8 and not bad, "%s: %d metrics have the formulas compiled in" % (m, len(both)), bad[:5])
d, p = imported("zen4", os.path.join(PMU, "x86", "amdzen4"))
nodes = listed("nodes", "zen4", "--models", d)
t.equal({n: nodes[n]["parent"] for n in nodes if nodes[n]["level"] == 1} | {"frontend_bound_latency": nodes.get(
    "frontend_bound_latency", {}).get("parent")}, dict.fromkeys(["frontend_bound", "bad_speculation", "backend_bound", "smt_contention",
                                                                 "retiring"]) | {"frontend_bound_latency": "frontend_bound"},
        "zen4: perf's pipeline metrics become a tree")
for m, folder in (("neoverse-n1", "arm/neoverse-n1"), ("neoverse-v1", "arm/neoverse-v1")):
    d, p = imported(m, os.path.join(PMU, "arm64", folder), os.path.join(PMU, "arm64", "recommended.json"),
                    os.path.join(PMU, "arm64", "common-and-microarch.json"))
    have, got = listed("events", m), listed("events", m, "--models", d)
    bad = [(e, got[e]["code"], have[e]["code"]) for e in set(got) & set(have) if got[e]["code"] != have[e]["code"]]
    missing = [e for e in set(got) ^ set(have) if not re.search("[:/]", e)]
    t.ok(len(got) > 50 and not bad and not missing, "%s: %d events are as compiled in" % (m, len(set(got) & set(have))),
         "%s\n%s\n%s" % (p.stderr, bad[:5], missing[:10]))
# ---- cores that Linux has no table of: their events are Arm's list, their codes those of the architecture

if os.path.isdir(PMU):
    codes = {}
    for name in ("recommended.json", "common-and-microarch.json"):
        with open(os.path.join(PMU, "arm64", name), encoding="utf-8") as f:
            codes.update({e["EventName"]: int(e["EventCode"], 0) for e in json.load(f)})
    for core, many in (("neoverse-n3", 197), ("neoverse-v3", 228)):  # of 201 and 229: without CHAIN and what only trace units see
        doc = json.loads(run("list", "events", "--model", core, "-j").stdout)
        have = {e["event"]: int(re.search(r"event=(0x[0-9a-f]+)", e["code"]).group(1), 16) for e in doc["events"]}
        bad = [(n, hex(c), hex(codes[n])) for n, c in have.items() if n in codes and codes[n] != c]
        t.ok(len(have) == many and not bad and sum(n in codes for n in have) > 130, "%s: %d events, by the architecture's codes" % (core, many), "%d %s" % (len(have), bad))
else:
    t.skip("Neoverse N3 and V3", "no pmu-events")
t.done()
