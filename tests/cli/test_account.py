#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade report --account on recordings whose samples are known one by one; every figure is worked out here again."""
import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from account_made import SKX, Made, account_of, gen  # noqa: E402
from tables import walk  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
PERIOD = {n: p for n, _, p in SKX}
CYCLES, REF = "CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC"
DRAM, L3, WALKS = ("MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", "MEM_LOAD_L3_HIT_RETIRED.XSNP_NONE",
                   "DTLB_LOAD_MISSES.WALK_COMPLETED")
ISSUED, SLOTS, ISSUED1 = "UOPS_ISSUED.ANY", "UOPS_RETIRED.RETIRE_SLOTS", "UOPS_ISSUED.ANY:c1"
MISP, SB, EMPTY, PENDING = ("BR_MISP_RETIRED.ALL_BRANCHES", "RESOURCE_STALLS.SB", "RS_EVENTS.EMPTY_CYCLES",
                            "CYCLE_ACTIVITY.CYCLES_MEM_ANY")
COUNTS = {
    "hot": {CYCLES: 600, REF: 500, DRAM: 3000, L3: 50, WALKS: 20, PENDING: 400, ISSUED: 800, SLOTS: 700, ISSUED1: 300},
    "cold": {CYCLES: 300, REF: 250, DRAM: 2, EMPTY: 90, ISSUED: 500, SLOTS: 300, ISSUED1: 200, MISP: 400},
    "warm": {CYCLES: 100, REF: 50, SB: 30, ISSUED: 10, SLOTS: 15},
}
RARE = 2  # the first two events always have a counter, the others half of the time where times are told


def run(*argv, columns="80", ok=True):
    env = dict(os.environ, COLUMNS=columns)
    p = subprocess.run([CYCLADE, "report", "--account", *argv], capture_output=True, text=True, timeout=600, env=env)
    if ok and p.returncode:
        t.ok(False, "report --account " + " ".join(argv), p.stderr)
    return p


def loads(*argv):
    d = json.loads(run(*argv, "-j").stdout)
    return {**d, **account_of(d)}


def made(where, name, times=False, share=None, **more):
    m = Made(where, times=times, **more)
    for function, counts in COUNTS.items():
        for event, n in counts.items():
            m.put(function, event, n)
    path = os.path.join(where, name)
    m.write(path, **({"share": share} if share else {}))
    return path


def want(counts, weigh):
    """Cycles of the branches, out of counts of samples."""
    c = {e: n * PERIOD[e] * weigh(e) for e, n in counts.items()}
    whole = {}
    for f in COUNTS.values():
        for e, n in f.items():
            whole[e] = whole.get(e, 0) + n * PERIOD[e] * weigh(e)
    ratio, rate = whole[CYCLES] / whole[REF], whole[ISSUED] / whole[ISSUED1]
    g = lambda e: c.get(e, 0)  # noqa: E731
    out = {"Cycles": g(CYCLES), "Local_DRAM": g(DRAM) * 167 * ratio, "L3_Hit": g(L3) * 75, "DTLB": g(WALKS) * 3.5,
           "Wrong_Path": max(0, g(ISSUED) - g(SLOTS)) / rate, "Mispredicted": g(MISP) * 6,
           "Store_Resources": g(SB), "Instruction_Starvation": g(EMPTY)}
    out["Load_Latency"] = out["Local_DRAM"] + out["L3_Hit"] + out["DTLB"]
    out["Branch_Misprediction"] = out["Wrong_Path"] + out["Mispredicted"]
    square = lambda e, cost: counts.get(e, 0) * (PERIOD[e] * weigh(e) * cost) ** 2  # noqa: E731
    # the clocks' ratio is made of samples, too
    samples = {e: sum(f.get(e, 0) for f in COUNTS.values()) for e in (CYCLES, REF)}
    clocks = out["Local_DRAM"] ** 2 * (1 / samples[CYCLES] + 1 / samples[REF])
    half = 1.959963984540054 * math.sqrt(square(DRAM, 167 * ratio) + square(L3, 75) + square(WALKS, 3.5) + clocks)
    return out, half


def values(path, name, weigh):
    d = loads("-i", path)
    rows = {r["function"]: r["cells"] for r in d["rows"]}
    t.equal([r["function"] for r in d["rows"]], ["hot", "cold", "warm"], name + ": rows, most cycles first")
    bad = []
    for f, counts in COUNTS.items():
        cells, half = want(counts, weigh)
        for node, v in cells.items():
            got = rows[f][node]["value"]
            if got is None or abs(got - v) > 1e-5 * max(v, 1):
                bad.append((f, node, got, v))
        e = rows[f]["Load_Latency"]["error"]
        if half and abs(e - half) > 1e-5 * half:
            bad.append((f, "error", e, half))
    t.equal(bad, [], name + ": every branch of every function")
    total = {n: x["value"] for n, x in d["nodes"].items()}
    bad = [n for n in ("Cycles", "Load_Latency", "Mispredicted", "Store_Resources")
           if abs(total[n] - sum(c[n]["value"] for c in rows.values())) > 1e-5 * total[n]]
    t.equal(bad, [], name + ": what adds up does")
    return d, rows


def told(d, rows):
    nodes = d["nodes"]
    t.equal(d["schema"], "cyclade.account/3", "the schema says which it is")
    t.equal(nodes["Remote_DRAM"]["value"], None, "what was not recorded is null")
    t.ok("not recorded" in nodes["Remote_DRAM"]["value_why"] and
         nodes["Remote_DRAM"]["lacks"].endswith("REMOTE_DRAM"), "with a reason", nodes["Remote_DRAM"])
    missing = [m["event"] for m in d["not_recorded"]]
    t.ok(nodes["Remote_DRAM"]["lacks"] in missing and DRAM not in missing, "and in the list of events that were not recorded", missing)
    t.ok("lower bound" in rows["hot"]["Load_Latency"]["why"], "a sum that lacks a part is a lower bound")
    t.ok("cannot" in nodes["Lock_Acquisition"]["value_why"], "what this CPU cannot measure says so")
    t.equal(rows["cold"]["Local_DRAM"]["significant"], False, "two samples are not significant")
    t.equal(rows["hot"]["Local_DRAM"]["significant"], True, "3000 are")
    t.ok(rows["warm"]["Local_DRAM"]["value"] == 0 and rows["warm"]["Local_DRAM"]["error"] > 0,
         "none is 0, and may be a few", rows["warm"]["Local_DRAM"])
    t.equal(rows["hot"]["Load_Latency"].get("overlap"), True, "more than loads were pending is an overlap")
    t.ok(rows["warm"]["Wrong_Path"]["value"] == 0, "more retired than issued is cut at 0")


def halted(d, where):
    # a second, or nearly, of two CPUs; 800 samples of 2 M cycles of 2 GHz
    first, last = 1, 1000
    share = 1 - 800 * PERIOD[REF] / 2e9 / (2 * 0.9993)
    t.ok(d["halted"] is not None and abs(d["halted"] - share) < 0.002, "halted, of whole CPUs", "%s, want %s, %s %s" %
         (d["halted"], share, first, last))
    path = made(where, "task.data", cmdline=("perf", "record", "--", "x", "-a"))
    t.equal(loads("-i", path)["halted"], None, "not known of a program alone")
    t.ok(d["ghz"] and d["ghz_why"] is None, "the frequency is measured, by reference cycles", d["ghz"])
    m = Made(where, tree=[("ls_not_halted_cyc", 0x76, 2000003)], cpuid="AuthenticAMD,23,49,0", desc="EPYC @ 2.00GHz")
    m.put("hot", "ls_not_halted_cyc", 50)
    m.write(os.path.join(where, "zen.data"))
    z = json.loads(run("-i", os.path.join(where, "zen.data"), "-j").stdout)["accounts"][0]
    t.ok(z["ghz"] == 2 and "nominal, not measured" in (z["ghz_why"] or ""), "Zen 2 has no reference cycles: nominal, and marked",
         {k: z.get(k) for k in ("ghz", "ghz_why")})
    said = " ".join(run("-i", os.path.join(where, "zen.data")).stdout.split())
    t.ok("2.00 GHz (nominal, not measured)" in said, "on the screen, too", said)


def weighed(where):
    # the times an event had a counter: all the first two, half of the time the others
    share = lambda e, now: 1.0 if e < RARE else 0.5  # noqa: E731
    path = made(where, "times.data", times=True, share=share)
    rare = {n for n, _, _ in SKX[RARE:]}
    d, _ = values(path, "times told", lambda e: 2 if e in rare else 1)
    f = {e["event"]: e for e in d["events"]}
    t.ok(abs(f[DRAM]["factor"] - 2) < 1e-4 and f[CYCLES]["factor"] == 1, "the factors", (f[DRAM], f[CYCLES]))


def threads(where):
    """Two threads of a core collide; where cores run one, they do not."""
    tree = SKX + [("UOPS_RETIRED.RETIRE_SLOTS:c1", 0x10002c2, 2000003)]
    for siblings, one in ((None, True), (["0-1"], False), (["0,1"], False)):
        m = Made(where, tree, siblings=siblings)
        m.put("hot", CYCLES, 600)
        m.put("hot", REF, 600)
        m.put("hot", "UOPS_RETIRED.RETIRE_SLOTS:c1", 300)
        path = os.path.join(where, "threads.data")
        m.write(path)
        n = loads("-i", path)["nodes"]
        got = n["Retirement_Collisions"]["value"]
        if one:
            t.ok(got is None and all("one thread" in n[x]["value_why"] for x in ("Thread_Collisions", "Retirement_Collisions")),
                 "no SMT: no collisions of threads", (n["Thread_Collisions"], n["Retirement_Collisions"]))
        else:
            t.ok(got and abs(got - 150 * PERIOD[CYCLES]) < 1, "SMT, %s: collisions by chance" % siblings[0], n["Retirement_Collisions"])


def throttled(where):
    """What an event missed while it was throttled is made up for, and may be off by as much."""
    n, each = 3000, 5
    values = []
    for pauses in ({}, {DRAM: each}):
        m = Made(where, times=True)
        m.put("hot", CYCLES, 600)
        m.put("hot", REF, 600)
        m.put("hot", DRAM, n)
        path = os.path.join(where, "throttled.data")
        m.write(path, pauses=pauses)
        values.append(loads("-i", path)["nodes"]["Local_DRAM"])
    calm, stopped = values
    t.ok(abs(stopped["value"] / calm["value"] - 1 / (1 - 1 / each)) < .01, "throttled a fifth of its time: made up for", values)
    bar = math.hypot(1 / each * stopped["value"], calm["value_error"] * stopped["value"] / calm["value"])
    t.ok(abs(stopped["value_error"] / bar - 1) < .02 and stopped["value_error"] > 1.8 * calm["value_error"], "and the bar is as much wider", values)
    said = " ".join(run("-i", path).stdout.split())
    t.ok("LOCAL_DRAM stood still for 20" in said, "and the table says so", said)


def nested(path):
    """Functions stand under the sums of modules, which csv has as rows of their own."""
    lines = run("-i", path, "--unit", "cycles", "--min", "0", columns="200").stdout.splitlines()
    at = next(i for i, x in enumerate(lines) if x.rstrip().endswith("where"))
    column = lines[at].rindex("where")
    names = [x[column:].rstrip() for x in lines[at + 1:lines.index("", at)]]
    rows = loads("-i", path)["rows"]
    want = [rows[0]["dso"]] + ["  " + r["function"] for r in rows]
    t.equal(names, want, "module, functions")
    for keys, level in (("dso", 0),):
        flat = run("-i", path, "-s", keys, "--unit", "cycles", "--min", "0", columns="200").stdout.splitlines()
        first = keys.split(",")[-1]  # the last key is the first column
        i = next(i for i, x in enumerate(flat) if x.rstrip().endswith(" " + first))
        t.equal(lines[at + 1 + level][:column].split(), flat[i + 1][:flat[i].rindex(" " + first)].split(),
                "the sum of level %d is the row of -s %s" % (level, keys))


def shown(path):
    p = run("-i", path)
    lines = p.stdout.splitlines()
    t.ok(all(len(x) <= 200 for x in lines), "lines have an end")
    p = subprocess.run(["script", "-qec", "stty cols 80; %s report --account --no-pager -i %s" % (CYCLADE, path), "/dev/null"],
                       capture_output=True, text=True, timeout=600, env=dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb"))
    rows = [x.rstrip("\r\n") for x in p.stdout.splitlines()]
    table = [x for x in rows if x.startswith(("  60.0 %", "  30.0 %", "  10.0 %"))]
    t.equal(len(table), 3, "a row for each function")
    t.ok(all(len(x) <= 80 for x in rows if "note" not in x and not x.startswith(("       cyclade", " next:"))),
         "on a screen of 80 columns", "\n".join(x for x in rows if len(x) > 80))
    t.ok("^" in table[0] and "~" in table[1] and ">" in table[1], "overlap, doubt and lower bounds are marked", table)
    t.ok(re.search(r"^ - +not measured", p.stdout, re.M) and re.search(r"^ \^ +more than what holds it", p.stdout, re.M) and
         "contradicted" not in p.stdout, "and explained, those that stand there", p.stdout[-2000:])
    t.ok("next: cyclade annotate" in p.stdout and "--expand Load_Latency" in p.stdout, "next commands", p.stdout[-400:])
    p = run("-i", path, "--expand", "load_latency,BRANCH_MISPREDICTION", columns="200")
    head = [x for x in p.stdout.splitlines() if x.rstrip().endswith("where")]
    t.ok("DRAM" in head[0] and ".Local" in p.stdout and "Mispredicted" in head[0], "--expand", p.stdout[:900])
    nested(path)
    p = run("-i", path, "--unit", "samples")
    t.ok(any(x.startswith("  60.0 %") and "3070" in x for x in p.stdout.splitlines()), "--unit samples", p.stdout[:800])
    p = run("-i", path, "--unit", "cycles", "--errors")
    row = next(x for x in p.stdout.splitlines() if x.startswith("  60.0 %"))
    t.ok("+-" in row and "G" in row, "--unit cycles --errors", p.stdout[:800])
    p = run("-i", path, "--focus", "^cold$")
    t.ok("(left out by --focus or --hide)" in p.stdout, "what is left out is told")
    p = run("-i", path, "--limit", "1", "--min", "0")
    t.ok("(2 more)" in p.stdout, "--limit sums the rest")
    p = run("-i", path, "-v")
    t.ok(all(re.search(r"^ +[\d,]+ +- +- +- +(yes +)?yes +%s$" % re.escape(n), p.stdout, re.M) for n, _, _ in SKX), "-v lists the events",
         p.stdout[-3000:])


def formats(path, d):
    rows = list(csv.reader(io.StringIO(run("-i", path, "--format", "csv").stdout)))
    at = rows[0].index("Load_Latency")
    got = {r[rows[0].index("function")]: float(r[at]) for r in rows[1:]}
    tree = list(csv.DictReader(io.StringIO(run("-i", path, "--format", "csv", "--table", "nodes").stdout)))
    row = [r for r in tree if r["path"] == "Load_Latency"][0]
    t.ok(set(got) == set(COUNTS) and abs(sum(got.values()) / float(row["value"]) - 1) < 1e-6, "csv: rows, and all of it", (got, row))
    t.equal({len(r) for r in rows}, {5 + 2 * len(d["nodes"])}, "csv: all rows of one length")
    t.equal(len(tree), len(d["nodes"]), "csv: the tree has every node")
    row = [r for r in tree if r["path"] == "Load_Latency.Local_DRAM"][0]
    t.ok(row["penalty"] == "167" and row["reference"] == "1" and float(row["value"]) > 0, "csv: a node", row)
    row = [r for r in tree if r["path"] == "Load_Latency.Remote_DRAM"][0]
    t.ok(row["value"] == "" and row["value_why"], "csv: empty, and why", row)
    events = list(csv.DictReader(io.StringIO(run("-i", path, "-x", ";", "--table", "events").stdout), delimiter=";"))
    t.equal([e["event"] for e in events], [n for n, _, _ in SKX], "csv: the events")
    md = run("-i", path, "--format", "markdown").stdout
    t.ok("| 60.0 % |" in md and "Load\\_Latency" in md, "markdown", md[:400])
    p = run("-i", path, "-s", "cpu,tid").stdout
    t.ok(re.search(r" cycles .*  tid  cpu$", p, re.M) and len(re.findall(r"   20    0$", p, re.M)) == 1, "by CPU and thread", p[:900])
    p = run("-i", path, "--format", "csv", "--limit", "1", "--min", "0").stdout
    rows = list(csv.DictReader(io.StringIO(p)))
    t.ok([(r["function"], r["folded"], r["left_out"]) for r in rows] == [("hot", "", "0"), ("", "2", "0")], "csv: rows that --limit sums", p[:300])
    p = run("-i", path, "--format", "csv", "--focus", "^cold$").stdout
    rows = list(csv.DictReader(io.StringIO(p)))
    t.ok([(r["function"], r["folded"], r["left_out"]) for r in rows] == [("cold", "", "0"), ("", "2", "1")], "csv: rows that --focus leaves out", p[:300])


def penalties(where, path):
    own = os.path.join(where, "own")
    with open(own, "w", encoding="utf-8") as f:
        f.write("Local_DRAM 100\nMISTAKE_NOT 3\n")
    p = run("-i", path, "--penalties", own, ok=False)
    t.ok(p.returncode == 2 and "own" in p.stderr, "penalties of nothing are refused", p.stderr)
    with open(own, "w", encoding="utf-8") as f:
        f.write("Local_DRAM 100\nMEM_LOAD_L3_HIT_RETIRED.XSNP_NONE 50 ref\n")
    d = loads("-i", path, "--penalties", own)
    hot = d["rows"][0]["cells"]
    assert d["rows"][0]["function"] == "hot"
    ratio = 1000 / 800
    t.ok(abs(hot["Local_DRAM"]["value"] - 3000 * 10007 * 100) < 1 and
         abs(hot["L3_Hit"]["value"] / (50 * 100003 * 50 * ratio) - 1) < 1e-9, "--penalties go over the model's", hot["L3_Hit"])
    t.ok(any("penalties" in n for n in d["notes"]), "and the report says so", d["notes"])


def refusals(where, path):
    for argv, word in ((("-g",), "-g"), (("-e", "cycles"), "-e"), (("--expand", "nothing"), "no node"),
                       (("--format", "folded"), "folded"), (("-s", "event"), "event"),
                       (("--format", "csv", "--table", "x"), "no table"), (("--fields", "share"), "--fields")):
        p = run("-i", path, *argv, ok=False)
        t.ok(p.returncode == 2 and word in p.stderr, "refused: " + " ".join(argv), p.stderr)
    m = Made(where, tree=[SKX[3]])
    m.put("hot", "INST_RETIRED.ANY", 5)
    m.write(os.path.join(where, "no-cycles"))
    p = run("-i", os.path.join(where, "no-cycles"), ok=False)
    t.ok(p.returncode == 2 and "CPU_CLK_UNHALTED" in p.stderr and "record --account" in p.stderr, "no cycles, no account",
         p.stderr)
    m = Made(where, cpuid="AuthenticAMD,15,1,1")
    m.put("hot", CYCLES, 5)
    m.write(os.path.join(where, "other"))
    p = run("-i", os.path.join(where, "other"), ok=False)
    t.ok(p.returncode == 2 and "--model" in p.stderr, "a CPU without a model", p.stderr)
    t.equal(run("-i", os.path.join(where, "other"), "--model", "skx").returncode, 0, "... is read as --model says")


def annotated(where):
    """Columns of annotate: of each instruction its own, of all of them the function's."""
    m = Made(where)
    for event, n, insn in ((CYCLES, 100, 1), (CYCLES, 60, 5), (REF, 128, 1), (DRAM, 40, 0), (MISP, 30, 5), (EMPTY, 50, 3),
                           (ISSUED, 800, 1), (SLOTS, 600, 1), (ISSUED1, 400, 1), (SB, 2, 2)):
        m.put("hot", event, n, insn=insn)
    path = os.path.join(where, "annotate.data")
    m.write(path)

    def annotate(*argv, columns="120"):
        p = subprocess.run([CYCLADE, "annotate", "-i", path, *argv, "hot"], capture_output=True, text=True, timeout=600,
                           env=dict(os.environ, COLUMNS=columns))
        return p
    p = annotate("-j")
    d = json.loads(p.stdout)
    t.equal(d["event"], CYCLES, "annotate: an account's recording is shown by its cycles")
    insns = d["instructions"]
    t.equal([sum(i["samples"] for i in insns), insns[1]["samples"], insns[5]["samples"]], [160, 100, 60], "their samples")
    ratio, rate = 160 / 128, 2
    want = {0: ("Local_DRAM", 40 * 10007 * 167 * ratio), 5: ("Mispredicted", 30 * 200003 * 6),
            3: ("RS_Empty", 50 * 2000003), 1: ("Wrong_Path", 200 * 2000003 / rate)}
    for at, (node, v) in want.items():
        got = {c["node"]: c["value"] for c in d["costs"] if c["address"] == insns[at]["address"]}.get(node, 0)
        t.ok(abs(got - v) < 1e-6 * v, "instruction %d: %s" % (at, node), "%s, want %s" % (got, v))
        t.equal(insns[at][node], got, "the same in the row of the instruction")
    costs = {(c["address"], c["node"]) for c in d["costs"]}
    t.ok(insns[7]["address"] not in {a for a, _ in costs} and (insns[5]["address"], "Local_DRAM") not in costs,
         "and nothing where no sample fell")
    t.equal({c["node"] for c in d["account"] if c["shown"]}, {"Local_DRAM", "RS_Empty", "Mispredicted", "Wrong_Path"},
            "the leaves that matter")
    whole = {c["node"]: c for c in d["account"]}
    t.ok(abs(whole["Local_DRAM"]["value"] - want[0][1]) < 1 and whole["Local_DRAM"]["samples"] == 40 and
         whole["Remote_DRAM"]["value"] is None and whole["Remote_DRAM"]["value_why"], "of the function", whole["Remote_DRAM"])
    walk(t, "annotate", "-i", path, "hot")
    p = annotate("--account=RS_Empty,Store_Buffer_Full")
    head = [x for x in p.stdout.splitlines() if x.endswith("address")]
    t.ok("Empty" in head[0] and "Full" in head[0] and "DRAM" not in head[0], "--account=NODE chooses them", head)
    row = [x for x in p.stdout.splitlines() if x.split()[1:2] == ["401008"] or " 401008 " in x]
    t.ok(row and "31.2" in row[0], "a share of the function's cycles", row)
    row = [x for x in p.stdout.splitlines() if " 401007 " in x]
    t.ok(row and "~" in row[0], "two samples are marked", row)
    rows = list(csv.DictReader(io.StringIO(annotate("--account", "--format", "csv").stdout)))
    t.ok(abs(float(rows[0]["Local_DRAM"]) - want[0][1]) < 1 and "Remote_DRAM" not in rows[0], "annotate: csv", rows[0])
    t.ok("| 31.2 |" in annotate("--account", "--format", "markdown").stdout, "annotate: markdown")
    t.ok("Local" not in annotate("-e", CYCLES).stdout, "with -e, as it was asked")
    p = annotate("--account=Nothing")
    t.ok(p.returncode == 2 and "no node" in p.stderr, "an unknown node is refused", p.stderr)


def sockets(where):
    m = Made(where, cpus=4)
    for cpu, n in enumerate((10, 20, 30, 40)):
        m.put("hot", CYCLES, n, cpu=cpu)
    path = os.path.join(where, "sockets.data")
    m.write(path)
    rows = {r["socket"]: r["cells"]["Cycles"]["value"] for r in loads("-i", path, "-s", "socket")["rows"]}
    t.equal(rows, {5: 40 * PERIOD[CYCLES], 6: 60 * PERIOD[CYCLES]}, "by socket, of CPUs that the header places")


def same_names(where):
    """Two functions of one name: a row each, and annotate --account has the columns of the one that is asked for."""
    m = Made(where, names=("hot", "cold", "hot"))
    counts = {0: {CYCLES: 90, REF: 90, DRAM: 400}, 2: {CYCLES: 30, REF: 30, DRAM: 100}}
    for function, events in counts.items():
        for event, n in events.items():
            m.put(function, event, n)
    path = os.path.join(where, "names.data")
    m.write(path)
    for keys in ("sym", "dso,sym", "sym,tid"):
        rows = {r["function"]: r["cells"] for r in loads("-i", path, "-s", keys)["rows"]}
        t.equal({k: (v["Cycles"]["value"], v["Local_DRAM"]["value"]) for k, v in rows.items()},
                {"hot@0x%x" % (0x401000 + k * 0x40): (e[CYCLES] * PERIOD[CYCLES], e[DRAM] * PERIOD[DRAM] * 167) for k, e in counts.items()},
                "two functions of one name: -s " + keys)
    for k, e in counts.items():
        p = subprocess.run([CYCLADE, "annotate", "-i", path, "--account", "--format", "csv", "hot@0x%x" % (0x401000 + k * 0x40)],
                           capture_output=True, text=True, timeout=600)
        rows = list(csv.DictReader(io.StringIO(p.stdout)))
        t.equal(sum(int(r["samples"]) for r in rows), e[CYCLES], "annotate --account: samples of the one of that address")
        t.equal(round(sum(float(r["Local_DRAM"] or 0) for r in rows)), e[DRAM] * PERIOD[DRAM] * 167, "annotate --account: its costs")


def dead(where):
    """An event without a sample that any program has is suspected, in all formats, and annotate too; if it had time enough."""
    stalls = "UOPS_RETIRED.STALL_CYCLES"
    path = os.path.join(where, "dead.data")

    def look(cycles, *argv, stalled=0, tid=20, **more):
        m = Made(where, times="share" in more)
        m.put("hot", CYCLES, cycles)
        m.put("hot", REF, cycles)
        m.put("hot", "INST_RETIRED.ANY", cycles)
        m.put("hot", stalls, stalled, tid=tid)
        if "share" in more:
            m.put("hot", DRAM, 100)
        m.write(path, **more)
        d = loads("-i", path, *argv)
        flags = [e["suspect"] for e in d["events"] if e["event"] == stalls]
        return d["nodes"]["Stalled"], d["nodes"]["Unstalled"], flags == [True], [n for n in d["notes"] if "counter may not work" in n]

    s, u, suspect, notes = look(1000)
    t.ok(s["value"] is None is u["value"] and "counter may not work" in s["value_why"] and s["lacks"] == stalls == u["lacks"] and
         suspect and len(notes) == 1 and stalls in notes[0] and "INST_RETIRED" not in notes[0], "a dead event is suspected", (s, u, notes))
    for form in ("term", "markdown", "html"):
        said = run("-i", path, "--format", form).stdout.replace("\\", "")
        t.ok(re.search(r"Stalled\W.*\?.*dead counter", said) and stalls in said and " ".join(said.split()).count("counter may not work") >= 2,
             "a dead event, in " + form, said[-1500:])
    for command in (["report", "--account", "--format", "csv"], ["annotate", "--account", "hot"]):
        p = subprocess.run([CYCLADE, *command, "-i", path], capture_output=True, text=True, timeout=600)
        t.ok("counter may not work" in " ".join((p.stdout + p.stderr).split()), "a dead event: " + " ".join(command[:2]), p.stdout[-600:] + p.stderr)
    for name, argv, more in (("too few cycles", (1 / 2,), {}), ("it has samples of another thread", (1, "--only-tid", "20"), dict(stalled=3, tid=21)),
                             ("it shared its counter", (1,), dict(share=lambda e, now: 1.0 if e < RARE else 0.5))):
        s, u, suspect, notes = look(int(1000 * argv[0]), *argv[1:], **more)
        t.ok(s["value"] == 0 and u["value"] and not suspect and stalls not in str(notes), "no sample, but " + name + ": it is 0", (s, u, suspect, notes))


def hostile(where):
    """Names that a terminal, a spreadsheet or a page would obey, in all tables of all formats; and losses."""
    m = Made(where, names=("=cmd|\x1b[31m,\"a\"", "<b>\n|`x`", "\udcff\udcfe"))
    for i, n in enumerate((600, 300, 100)):
        m.put(i, CYCLES, n)
        m.put(i, REF, n)
        m.put(i, DRAM, 10 * n)
    path = os.path.join(where, "hostile.data")
    m.write(path)
    walk(t, "report", "--account", "-i", path)
    walk(t, "report", "--account", "-s", "dso,function,tid,address", "-i", path)
    names = [r["function"] for r in loads("-i", path)["rows"]]
    t.equal(names, ["=cmd|\x1b[31m,\"a\"", "<b>\n|`x`", "\ufffd\ufffd"], "hostile names are what they are in json")
    m.data.append(m.w.record(gen.LOST, m.w.u64(1000, 77) + m.w.pack("IIQIIQ", 20, 20, 1, 0, 0, 1000)))
    m.write(path)
    t.equal(json.loads(run("-i", path, "-j").stdout)["losses"]["lost"], 77, "losses, in json")
    p = run("-i", path, "--format", "csv")
    t.ok("77" in p.stderr and "lost" in p.stderr, "of csv on standard error", p.stderr)
    for form in ("term", "markdown", "html"):
        t.ok(re.search(r"lost\W.*77", run("-i", path, "--format", form).stdout, re.S), "losses in " + form)


def main():
    with tempfile.TemporaryDirectory() as where:
        path = made(where, "plain.data")
        d, rows = values(path, "no times told", lambda e: 1)
        t.ok(all(e["factor"] is None for e in d["events"]), "factors that are not told are null")
        t.ok(abs(d["clock_ratio"] - 1.25) < 1e-9, "the clocks' ratio", d["clock_ratio"])
        told(d, rows)
        halted(d, where)
        weighed(where)
        threads(where)
        throttled(where)
        shown(path)
        formats(path, d)
        penalties(where, path)
        refusals(where, path)
        annotated(where)
        sockets(where)
        same_names(where)
        dead(where)
        hostile(where)
    t.done()
    return 1 if t.bad else 0


if __name__ == "__main__":
    sys.exit(main())
