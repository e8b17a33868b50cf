#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Retire latencies: planted ones come out of stat's own samples and reach the tree with their error; what cannot
be sampled is the model's table or not known, and each says which."""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, command, environment  # noqa: E402
from tap import CYCLADE, SANITIZED, WHOLE_CPUS, Tap  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()

# What the vendor measured for Granite Rapids is in TABLE. Two events of the front end cannot sample at once.
PLANTED = {"MEM_LOAD_RETIRED.L2_HIT": 36.5, "FRONTEND_RETIRED.L2_MISS": 260.25, "MEM_INST_RETIRED.LOCK_LOADS": 21,
           "FRONTEND_RETIRED.STLB_MISS": 411}
RATES = {"MEM_LOAD_RETIRED.L2_HIT": 0.04, "FRONTEND_RETIRED.L2_MISS": 0.004, "MEM_INST_RETIRED.LOCK_LOADS": 0.02,
         "FRONTEND_RETIRED.STLB_MISS": 0.002}
TABLE = {"MEM_LOAD_RETIRED.L2_HIT": 5.71, "FRONTEND_RETIRED.L2_MISS": 137.41, "MEM_INST_RETIRED.LOCK_LOADS": 63.76,
         "FRONTEND_RETIRED.STLB_MISS": 206.85}
NODES = "--node=code_l2_miss,code_stlb_miss,l2_hit_latency,lock_latency"


def write(name, text):
    path = os.path.join(tmp.name, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def planted(program="even", more=""):
    return write("scenario", "phase %s -\n" % program + more + "".join(
        "rate %s %g\nlatency %s %g\n" % (e, RATES[e], e, PLANTED[e]) for e in PLANTED))


def started(machine, scenario, *words):
    """What to start, and its environment."""
    return command(machine, scenario, *words), environment(machine)


def run(machine, scenario, *options, ms=100, settings="", before=(), program=True, more=()):
    """What stat printed: by -o, so that nobody else's text is in it."""
    out = os.path.join(tmp.name, "out")
    cmd, env = started(machine, scenario, *before, CYCLADE, "stat", *SYSROOT, "-o", out, *options,
                       *([SPIN, str(ms)] if program else more))
    p = subprocess.run(cmd, env=dict(env, SIM_OPTIONS=settings), text=True, capture_output=True, timeout=600,
                       stdin=subprocess.DEVNULL)
    try:
        with open(out, encoding="utf-8", newline="") as f:
            text = f.read()
        os.remove(out)
        return text
    except OSError:
        return p.stdout + p.stderr


def stat(machine, scenario, *options, **more):
    text = run(machine, scenario, "-j", *options, **more)
    try:
        docs = [json.loads(line) for line in text.splitlines()] if "-I" in options else [json.loads(text)]
    except ValueError:
        docs = [{"notes": [text]}]
    return docs if "-I" in options else docs[0]


def latencies(doc):
    return {x["event"]: x for x in doc.get("latencies", [])}


def nodes(doc):
    found = {}
    for tree in trees(doc):
        for n in tree["nodes"]:
            if n["value"] is not None or n["node"].split(".")[-1] not in found:
                found[n["node"].split(".")[-1]] = n
    return found


def counts(doc):
    return {c["event"]: c["value"] for tree in trees(doc) for c in tree["counts"]}


def near(x, planted_at):
    """Within twice the half width that holds 95 of 100, and not by a barn door."""
    return (x and x["source"] == "sampled" and abs(x["mean"] - planted_at) <= 2 * x["mean_error"] and
            x["mean_error"] < 0.3 * planted_at and x["min"] < planted_at < x["max"] and x["used"] == x["mean"])


def all_near(doc, what):
    got = latencies(doc)
    bad = {e: got.get(e) for e in PLANTED if not near(got.get(e), PLANTED[e])}
    t.ok(got and not bad, what, bad or doc.get("notes"))


# ---- sampled ------------------------------------------------------------------------------------

def sampled():
    doc = stat("gnr", planted(), NODES)
    all_near(doc, "four planted latencies come out of the samples")
    got, node, count = latencies(doc), nodes(doc), counts(doc)
    t.ok(not any(x["why"] for x in got.values()), "nothing is to be explained about them", got)
    miss = node.get("code_l2_miss", {"value": None})
    x = got.get("FRONTEND_RETIRED.L2_MISS", {"mean": 0, "error": 0})
    share = count.get("FRONTEND_RETIRED.L2_MISS", 0) / count.get("CPU_CLK_UNHALTED.THREAD", 1)
    t.ok(miss["value"] and abs(miss["value"] - share * x["mean"]) < 0.02 * share * x["mean"],
         "a node is its count times the sampled mean", (miss, x, share))
    t.ok(miss.get("value_error") and share * x["mean_error"] * 0.9 < miss["value_error"] < share * x["mean_error"] * 3,
         "and its error bar holds the latency's", (miss, share * x["mean_error"]))
    t.ok(node.get("l2_hit_latency", {}).get("value"), "min(latency, cost) has a value, too", node.get("l2_hit_latency"))


def ways():
    """Each way of counting samples, too."""
    scenario = planted()
    for options, more in ((("-l", "4"), {}), (("-r", "3", NODES), {}), (("--no-mux", NODES), {}),
                          (("-D", "50", NODES), {}), (("--user", NODES), {}), (("--no-inherit", NODES), {}),
                          (("-a", NODES), {}), (("-a", "--per", "cpu", NODES), {}),
                          (("-C", "0", NODES, "--for", "200ms"), {"program": False})):
        if options[0] in ("-a", "-C") and not WHOLE_CPUS:
            t.skip("stat " + " ".join(options), "whole CPUs may not be counted here")
            continue
        all_near(stat("gnr", scenario, *options, **more), "stat " + " ".join(options))
    hot = planted("l2_bound")
    for options in ((), ("--drilldown=rerun",)):
        got = latencies(stat("gnr", hot, *options, ms=600))
        x = got.get("MEM_LOAD_RETIRED.L2_HIT")
        t.ok(near(x, 36.5), "where l2_bound opens (%s) its latency is sampled" % (" ".join(options) or "live"), got)
        t.ok("FRONTEND_RETIRED.L2_MISS" not in got, "and what nothing asks for is not", got)


def attached():
    victim = subprocess.Popen([SPIN, "900"])  # of processor time: to its end, however long that takes here
    try:
        doc = stat("gnr", planted(), "-p", str(victim.pid), NODES, program=False)
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    all_near(doc, "an attached process is sampled")


def many_cpus():
    """Where inheriting would cost each fork too much: tasks are found while they run."""
    with open(os.path.join(HERE, "machines", "gnr.tab"), encoding="utf-8") as f:
        text = f.read().replace("core 0\ncore 1\n", "".join("core %d\n" % i for i in range(64)))
    big = write("big.tab", text)
    doc = stat(big, planted(), NODES, program=False, more=[SPIN, "200"])
    all_near(doc, "64 CPUs: one task")
    t.ok(any(" in 1 task;" in n for n in doc.get("notes", [])), "the report says so", doc.get("notes"))
    doc = stat(big, planted(), NODES, program=False, more=["sh", "-c", "%s 250 & %s 250; wait" % (SPIN, SPIN)])
    all_near(doc, "and tasks that it starts")
    t.ok(any(" in 3 tasks;" in n for n in doc.get("notes", [])), "all three", doc.get("notes"))
    doc = stat(big, planted(), NODES, "--no-inherit", program=False, more=[SPIN, "200"])
    all_near(doc, "--no-inherit: the program alone")


def intervals():
    slow = planted("l2_bound")
    docs = stat("gnr", slow, "-I", "150", NODES, ms=700)
    # on a busy machine it did not run in some of them, and shortly in others: what they tell is true all the same
    told = [x for d in docs if "time" in d for x in [latencies(d).get("MEM_LOAD_RETIRED.L2_HIT")] if x and x["source"] == "sampled"]
    wrong = [x for x in told if abs(x["mean"] - 36.5) > 2 * (x["mean_error"] or 36.5)]
    good = [x for x in told if near(x, 36.5)]
    t.ok(len(docs) > 3 and len(good) >= 3 and not wrong, "-I: intervals have means",
         "%d intervals, %d with a mean, %d near\nwrong: %s" % (len(docs), len(told), len(good), wrong))
    per = [x["samples"] for x in told]
    # of fewer than 30 samples, which a busy machine may leave to each interval, there is no mean: it is that of all so far
    t.ok(any(after < before for before, after in zip(per, per[1:])) or all(after - before < 30 for before, after in zip(per, per[1:])),
         "each of its own samples, not all so far", per)
    all_near(docs[-1], "and the end has those of all")


# ---- not sampled --------------------------------------------------------------------------------

def fallback(settings, options, what, reason):
    doc = stat("gnr", planted(), NODES, *options, settings=settings)
    got, node = latencies(doc), nodes(doc)
    bad = {e: got.get(e) for e in TABLE if not (e in got and got[e]["source"] == "static" and got[e]["mean"] is None and
                                               abs(got[e]["used"] - TABLE[e]) < 0.01 and reason in got[e]["why"])}
    t.ok(got and not bad, "%s: the model's table, and why" % what, bad or doc.get("notes"))
    miss = node.get("code_l2_miss", {})
    t.ok(miss.get("value") and miss["value_error"] is None and "not measured here" in miss.get("value_why", ""),
         "%s: the node has a value without an error bar" % what, miss)
    count = counts(doc)
    share = count.get("FRONTEND_RETIRED.L2_MISS", 0) / count.get("CPU_CLK_UNHALTED.THREAD", 1)
    t.ok(miss.get("value") and abs(miss["value"] - share * 137.41) < 0.02 * miss["value"], "%s: it is the table's" % what, miss)
    t.ok(any("from the model's table" in n for n in doc.get("notes", [])), "%s: people are told" % what, doc.get("notes"))


def refused():
    fallback("precise=0", (), "no PEBS", "virtual machine")
    fallback("retire_latency=0", (), "a kernel that leaves them 0", "before 6.3")
    fallback("", ("--latency=static",), "--latency=static", "--latency=static")
    for settings, options, reason in (("precise=0", ("--latency=sample",), "virtual machine"),
                                      ("", ("--latency=off",), "--latency=off")):
        doc = stat("gnr", planted(), NODES, *options, settings=settings)
        miss = nodes(doc).get("code_l2_miss", {})
        t.ok(miss.get("value", 0) is None and "FRONTEND_RETIRED.L2_MISS is not known" in miss["value_why"] and reason in miss["value_why"],
             "%s %s: not measured, because" % (settings, options[0]), miss or doc)
        t.ok(all(x["source"] == "unknown" and x["used"] is None for x in latencies(doc).values()), "and unknown", doc.get("latencies"))
    few = write("few", "phase even -\nrate FRONTEND_RETIRED.L2_MISS 0.00002\n")
    x = latencies(stat("gnr", few, NODES)).get("FRONTEND_RETIRED.L2_MISS", {})
    t.ok(x.get("source") == "static" and x["samples"] < 30 and "samples" in x["why"], "too few samples are none", x)
    doc = stat("spr", "even", "-l", "4")
    t.ok(trees(doc) and not doc["latencies"] and not any("latenc" in n for n in doc["notes"]),
         "where no formula asks nothing is said", doc.get("notes"))


def meteor_lake():
    """Its table is of other programs."""
    here = ("taskset", "-c", "0")  # the simulated large core
    doc = stat("mtl", planted(), NODES, before=here)
    all_near(doc, "Meteor Lake: sampled on the large core")
    t.ok(all(x["where"] == "cpu_core" for x in doc.get("latencies", [{"where": ""}])), "which they name", doc.get("latencies"))
    t.ok(nodes(doc).get("code_l2_miss", {}).get("value_error"), "its node has a value and a bar", nodes(doc).get("code_l2_miss"))
    miss = nodes(stat("mtl", planted(), NODES, settings="precise=0", before=here)).get("code_l2_miss", {})
    t.ok(miss.get("value", 0) > 0 and miss.get("value_error", 0) is None and "model's mean" in miss["value_why"],
         "without samples by the table, without a bar", miss)


# ---- beside the counting ------------------------------------------------------------------------

def unaffected():
    """What is counted is the same with samplers as without."""
    for who, deep, slack in (((), 3, 0.004), (("-a",), 2, 0.02)):  # a whole machine is not the program's alone
        if who and not WHOLE_CPUS:
            t.skip("samplers change no count -a", "whole CPUs may not be counted here")
            continue
        a, b = (nodes(stat("gnr", planted(), "-l", "4", o, *who)) for o in ("--latency=auto", "--latency=static"))
        off = {n: (a[n]["value"], b.get(n, {}).get("value")) for n in a if a[n]["level"] <= deep and a[n]["value"] is not None and
               not (b.get(n, {}).get("value") is not None and
                    abs(a[n]["value"] - b[n]["value"]) <= slack + (a[n]["value_error"] or 0) + (b[n]["value_error"] or 0))}
        t.ok(len(a) > 20 and not off, "samplers change no count %s" % " ".join(who), off)


def formats():
    rows = list(csv.DictReader(io.StringIO(run("gnr", planted(), NODES, "--format", "csv", "--table", "latencies"))))
    x = {r["event"]: r for r in rows}.get("MEM_LOAD_RETIRED.L2_HIT", {})
    t.ok(x.get("source") == "sampled" and int(x["samples"]) > 100 and
         int(x["min"]) < float(x["mean"]) < int(x["max"]) and float(x["mean_error"]) > 0 and x["mean"] == x["used"], "csv has a row for each", x)
    rows = list(csv.DictReader(io.StringIO(run("gnr", planted(), NODES, "--format", "csv", "--table", "latencies", settings="precise=0"))))
    x = {r["event"]: r for r in rows}.get("MEM_LOAD_RETIRED.L2_HIT", {})
    t.ok(x.get("source") == "static" and x["used"] == "5.71" and not x["min"] and "PEBS" in x["why"], "and why it is not sampled", x)
    for settings in ("", "precise=0", "retire_latency=0"):
        text = run("gnr", planted(), "-l", "4", "-v", settings=settings)
        table = text[max(text.find(" retire latency,"), 0):].split("\n\n")[0]
        wide = [line for line in table.splitlines() + text.splitlines() if len(line) > 80 and (line in table or "retire latenc" in line)]
        t.ok(" MEM_LOAD_RETIRED.L2_HIT " in text and not wide, "-v lists them in 80 columns %s" % settings, wide or text)
    rows = list(csv.reader(io.StringIO(run("gnr", planted(), NODES, "--format", "csv", "--table", "latencies", "-I", "60"))))
    t.ok(len(rows) > 2 and {len(r) for r in rows} == {len(rows[0])} and rows[0][0] == "time" and not rows[-1][0] and rows[1][0],
         "csv: rows of intervals, then those of all of them", rows)
    text = run("gnr", planted(), "-l", "4")
    t.ok("retire latencies:" in text and " MEM_LOAD_RETIRED.L2_HIT " not in text, "without -v it is a line", text)
    text = run("gnr", planted(), "--why", NODES)
    t.ok("samples    mean" in text, "--why lists them, too", text)
    text = run("gnr", planted(), "--format", "markdown", NODES)
    t.ok("| MEM\\_LOAD\\_RETIRED.L2\\_HIT |" in text or "| MEM_LOAD_RETIRED.L2_HIT |" in text, "markdown has a table", text)
    cmd, env = started("gnr", planted(), CYCLADE, "stat", *SYSROOT, "--dry-run", NODES, SPIN)
    p = subprocess.run(cmd, env=env, capture_output=True, text=True, timeout=600)
    t.ok("sampled for retire latencies" in p.stderr and "MEM_LOAD_RETIRED.L2_HIT\n      precise, each " in p.stderr,
         "--dry-run says what is sampled", p.stderr)


sampled()
if SANITIZED:
    fallback("precise=0", (), "no PEBS", "virtual machine")
    t.skip("the other ways of sampling", "under a sanitizer one that samples and one that cannot have to do")
    t.done()
for part in (ways, attached, many_cpus, intervals, refused, meteor_lake, unaffected, formats):
    part()
t.done()
