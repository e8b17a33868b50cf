#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat --import of what people post, written by each tool's format (stat-display.c of Linux 3 to 7, toplev's tl_output.py,
PerfSpect's print.go): every figure that the tool printed comes back. What perf itself writes is in sim/test_import.py."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
NUMBER = iter(range(1, 1000))


def read(text, *options):
    with open("counts", "w", encoding="utf-8") as f:
        f.write(text)
    p = run("stat", "--import", "counts", "-j", *options)
    try:
        return [json.loads(line) for line in p.stdout.splitlines()] if "-I" in options else json.loads(p.stdout)
    except ValueError:
        return {"notes": [p.stdout + p.stderr], "code": p.returncode}


def counts(doc):
    """{event: value} of both kinds of documents."""
    rows = [c for x in trees(doc) for c in x["counts"]] + doc.get("events", []) + ([] if trees(doc) else doc.get("counts", []))
    return {c["event"]: c["value"] for c in rows}


def nodes(doc):
    return {n["node"]: n["value"] * 100 for x in trees(doc) for n in x["nodes"] if n["value"] is not None}


def printed(doc):
    return {(f["figure"], f["event"], f["where"]): f["value"] for f in doc.get("printed", [])}


def comes_back(name, text, *options, events=None, figures=None, tree=None, says=()):
    """events {name: count}; figures {name or (name, event, where): value}; tree {path: per cent}."""
    doc = read(text, *options)
    have = printed(doc)
    bad = [(k, v, counts(doc).get(k)) for k, v in (events or {}).items() if counts(doc).get(k) != v]
    for k, v in (figures or {}).items():
        found = [x for key, x in have.items() if key == k or key[0] == k]
        if not found or abs(found[0] - v) > 1e-9:
            bad.append((k, v, found))
    bad += [(k, v, nodes(doc).get(k)) for k, v in (tree or {}).items() if abs(nodes(doc).get(k, -1) - v) > 0.051]
    bad += [(word, doc.get("notes")) for word in says if word not in str(doc.get("notes"))]
    t.ok(not bad and "code" not in doc, "%d. %s" % (next(NUMBER), name), "%s\n%s" % (bad, json.dumps(doc)[:1500]))
    return doc


# ---- perf 3 and 4

comes_back("perf 3.2: (msec), [per cent], a metric of two lines", """
 Performance counter stats for './a.out':

       1049.229830 task-clock (msec)         #    0.998 CPUs utilized
                 5 context-switches          #    0.005 K/sec
     3,480,372,812 cycles                    #    3.317 GHz                     [83.33%]
     1,998,313,474 stalled-cycles-frontend   #   57.42% frontend cycles idle    [83.31%]
     4,004,013,441 instructions              #    1.15  insns per cycle
                                             #    0.50  stalled cycles per insn [83.35%]
       800,312,111 branches                  #  762.761 M/sec                   [83.34%]
           412,007 branch-misses             #    0.05% of all branches         [83.36%]

       1.051403116 seconds time elapsed
""", events={"task-clock": 1049229830, "context-switches": 5, "cycles": 3480372812, "stalled-cycles-frontend": 1998313474, "instructions": 4004013441,
             "branches": 800312111, "branch-misses": 412007},
    figures={"CPUs utilized": 0.998, "K/sec": 0.005, "GHz": 3.317, "frontend cycles idle": 57.42, "insns per cycle": 1.15,
             "stalled cycles per insn": 0.50, "M/sec": 762.761, "of all branches": 0.05}, says=("no tree",))
doc = read(open("counts", encoding="utf-8").read())
rates = {c["event"]: (c["counted"], c["derived"]) for c in doc["counts"]}
t.ok(abs(rates["cycles"][0] - 0.8333) < 1e-9 and abs(rates["instructions"][0] - 0.8335) < 1e-9, "shares in square brackets, that of two lines too", rates)
t.ok(abs(rates["instructions"][1] - 4004013441 / 3480372812) < 1e-9 and abs(rates["branch-misses"][1] - 100 * 412007 / 800312111) < 1e-9 and
     abs(rates["cycles"][1] - 3480372812 / 1049229830) < 1e-9 and abs(rates["task-clock"][1] - 1.04922983 / 1.051403116) < 1e-9,
     "IPC, rates and frequency without a model", rates)
comes_back("perf 4: cgroup's column, :u", " Performance counter stats for 'system wide':\n\n"
           "     1,234,567      cycles:u                  web\n       234,567      instructions:u            web             #    0.19  insn per cycle\n",
           events={"cycles:u": 1234567, "instructions:u": 234567}, figures={"insn per cycle": 0.19})
comes_back("perf 4 --topdown", """
 Performance counter stats for 'system wide':

                      retiring      bad speculation       frontend bound        backend bound
S0-C0           2                23.8%                11.6%                28.3%                36.3%
S0-C1           2                16.2%                15.7%                36.5%                31.6%

       0.000579956 seconds time elapsed
""", "--model", "skl", "--per", "core", figures={("retiring", None, "S0-C0"): 23.8, ("bad speculation", None, "S0-C0"): 11.6,
                                                 ("frontend bound", None, "S0-C1"): 36.5, ("backend bound", None, "S0-C1"): 31.6})
comes_back("topdown-total-slots, ... of Skylake's sysfs", "".join("%d,,%s,1,100.00,,\n" % x for x in (
    (4000, "topdown-total-slots"), (800, "topdown-fetch-bubbles"), (1600, "topdown-slots-issued"), (1200, "topdown-slots-retired"),
    (400, "topdown-recovery-bubbles"))), "--model", "skl", "--smt", "off",
    tree={"frontend_bound": 20, "retiring": 30, "bad_speculation": 20, "backend_bound": 30})

# ---- languages

for lang, comma, point in (("de_DE", ".", ","), ("fr_FR", "\u202f", ","), ("fr_FR, pasted", " ", ","), ("de_CH", "\u2019", "."), ("en_US", ",", ".")):
    text = """
 Performance counter stats for './a.out' (5 runs):

       1@049~23 msec task-clock                #    0~998 CPUs utilized            ( +-  0~16% )
  3@480@372@812      cycles                    #    3~317 GHz                      ( +-  0~20% )  (66~67%)
  4@004@013@441      instructions              #    1~15  insn per cycle           ( +-  0~10% )  (66~70%)

             1~0514 +- 0~0021 seconds time elapsed  ( +-  0~20% )
"""
    comes_back("a table as in %s" % lang, text.replace("@", comma).replace("~", point),
               events={"task-clock": 1049230000, "cycles": 3480372812, "instructions": 4004013441},
               figures={"CPUs utilized": 0.998, "GHz": 3.317, "insn per cycle": 1.15, ("+-", "cycles", None): 0.20, ("+-", "task-clock", None): 0.16})
doc = read(open("counts", encoding="utf-8").read())
row = {c["event"]: c for c in doc["counts"]}["cycles"]
t.ok(abs((row["value_error"] or 0) - 2.7764 * 0.002 * 3480372812) < 1e3 and row["runs"] == 5 and abs(row["counted"] - 0.6667) < 1e-9,
     "-r 5: one standard error becomes 95 % (Student's t for 4)", row)

# ---- perf 5 to 7

FIVE = "1000000,,slots,1000,100.00,,\n400000,,topdown-retiring,1000,100.00,,\n50000,,topdown-bad-spec,1000,100.00,,\n" \
       "150000,,topdown-fe-bound,1000,100.00,,\n400000,,topdown-be-bound,1000,100.00,,\n"
LEVEL1 = {"frontend_bound": 15, "bad_speculation": 5, "retiring": 40, "backend_bound": 40}
for model in ("icl", "icx", "tgl", "spr", "gnr", None):
    comes_back("slots,topdown-* alone, %s" % (model or "the model guessed"), FIVE, *(["--model", model] if model else []), tree=LEVEL1,
               says=("was not counted",) + (() if model else ("is a guess", "5 of 5 names")))
comes_back("the same as a table, cpu/slots/", "".join("%20s      cpu/%s/\n" % (x.split(",")[0], x.split(",")[2]) for x in FIVE.splitlines()),
           "--model", "spr", tree=LEVEL1)
comes_back("perf's own percentages where counts are missing", """
 Performance counter stats for './a.out':

     1,000,000      TOPDOWN.SLOTS                    #     68.7 %  tma_backend_bound
                                                  #     11.3 %  tma_retiring
                                                  #      5.0 %  tma_bad_speculation
                                                  #     15.0 %  tma_frontend_bound
""", "--model", "spr", tree={"backend_bound": 68.7, "retiring": 11.3, "bad_speculation": 5.0, "frontend_bound": 15.0},
    figures={"tma_backend_bound": 68.7, "tma_retiring": 11.3})
doc = comes_back("a known node under an unknown parent", "100,,CYCLES_X,9,100.00,33.4,%  tma_dram_bound\n", "--model", "spr",
                 figures={"tma_dram_bound": 33.4}, tree={"backend_bound.memory_bound.l3_miss_bound": 33.4}, events={"CYCLES_X": 100})
p = run("stat", "--import", "counts", "--model", "spr")
t.ok("l3_miss_bound" in p.stdout and "33.4 %" in p.stdout, "and people see it", p.stdout)
comes_back("a figure that its counts do not give", FIVE.replace("400000,,topdown-retiring,1000,100.00,,", "400000,,topdown-retiring,1000,100.00,84.4,Retiring"),
           "--model", "spr", tree=LEVEL1, figures={"Retiring": 84.4}, says=("Retiring 84.4 (tree: 40.0)",))
comes_back("OCR events with offcore_rsp, msr/tsc/",
           "12,,cpu/event=0x2a,umask=0x1,offcore_rsp=0x10003c0002,name='OCR'/,9,100.00,,\n34,,msr/tsc/,9,100.00,,\n"
           "56,,cpu/OCR.DEMAND_RFO.L3_HIT.SNOOP_HITM,offcore_rsp=0x103b800002/,9,100.00,,\n78,,cycles,9,100.00,,\n", "--model", "spr",
           events={"CPU_CLK_UNHALTED.THREAD": 78, "msr/tsc/": 34, "OCR.DEMAND_RFO.L3_HIT.SNOOP_HITM": 12,
                   "OCR.DEMAND_RFO.L3_MISS.OCR_MSR_VAL_103B800002": 56})
comes_back("--per-core -x, with metrics and -I", "".join(
    "     %s,S0-D0-C%d,2,%d,,cycles,9,100.00,3.000,GHz\n     %s,S0-D0-C%d,2,%d,,instructions,9,100.00,%.2f,insn per cycle\n     %s,S0-D0-C%d,2,,,,,,12.5,%%  tma_x\n" %
    (i, c, 100 * (c + 1), i, c, 150 * (c + 1), 1.5, i, c) for i in ("1.000100200", "2.000100200") for c in (0, 1)), "--per", "core",
    figures={("insn per cycle", "instructions", "S0-D0-C0"): 1.5, ("tma_x", "instructions", "S0-D0-C1"): 12.5, ("GHz", "cycles", "S0-D0-C1"): 3})
doc = read(open("counts", encoding="utf-8").read(), "--per", "socket")
t.equal({(c["where"], c["event"]): c["value"] for c in doc["counts"]}, {("S0", "cycles"): 600, ("S0", "instructions"): 900}, "--per socket sums its cores")
docs = read(open("counts", encoding="utf-8").read(), "--per", "core", "-I", "1000")
t.equal([(d["time"], [(c["where"], c["event"], c["value"]) for c in d["counts"]]) for d in docs if d.get("counts")],
        [(x, [(w, e, v * k) for w, k in (("S0-D0-C0", 1), ("S0-D0-C1", 2)) for e, v in (("cycles", 100), ("instructions", 150))])
         for x in (1.0001002, 2.0001002)], "-I and --per of text")
comes_back("a summary behind intervals is no interval", "     1.000100200,100,,cycles,9,100.00,,\n     2.000100200,50,,cycles,9,100.00,,\nsummary,150,,cycles,9,100.00,,\n",
           events={"cycles": 150})

# ---- toplev

HUMAN = """# 4.7-full-perf on Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz [skx/skylake_server]
C0    FE               Frontend_Bound                             % Slots                       25.31  [33.0%]
C0    BE               Backend_Bound                              % Slots                       45.02  [33.0%]<==
\tThis category represents fraction of slots where no uops are
\tbeing delivered
C0    BE/Mem           Backend_Bound.Memory_Bound                 % Slots                       30.10   +-     0.20 [33.0%]
C0-T0 Info.Thread      IPC                                          Metric                       1.12   [33.0%]
C0-T0 MUX                                                         %                             33.00
"""
comes_back("toplev for people", HUMAN, figures={"Frontend_Bound": 25.31, "Backend_Bound": 45.02, "Backend_Bound.Memory_Bound": 30.10, "IPC": 1.12},
           tree={"frontend_bound": 25.31, "backend_bound": 45.02, "backend_bound.memory_bound": 30.10})
t.equal(trees(read(HUMAN))[0]["model"], "skx", "toplev names the CPU")
comes_back("toplev of 2016: the value before the unit", """# 3.02 on Intel(R) Core(TM) i7-4790 CPU
FE      Frontend_Bound:                                  25.31 %
BE      Backend_Bound:                                   45.02 % above
RET     Retiring:                                        20.00 % below
""", "--model", "hsw", figures={"Frontend_Bound": 25.31, "Backend_Bound": 45.02, "Retiring": 20.0}, tree={"frontend_bound": 25.31, "retiring": 20})
CSV = """# 4.7-full-perf on Intel(R) Xeon(R) [skx/skylake_server]
Timestamp,CPUs,Area,Value,Unit,Description,Sample,Stddev,Multiplex,Bottleneck,Idle
1.0,S0-C0,Frontend_Bound,25.30,% Slots,"This category, which",FRONTEND_RETIRED.LATENCY_GE_4:pp,0.10,33.00,,
1.0,S0-C0,Info.Thread.IPC,1.12,Metric,,,0.00,33.00,,
2.0,S0-C0,Frontend_Bound,35.30,% Slots,,,0.10,33.00,<==,
SUMMARY,S0-C0,Frontend_Bound,29.00,% Slots,,,0.10,33.00,<==,
"""
comes_back("toplev -x, with intervals: its own summary", CSV, figures={"Frontend_Bound": 29.0, "Info.Thread.IPC": 1.12}, tree={"frontend_bound": 29})
docs = read(CSV, "-I", "1000")
t.equal([round(n["value"], 4) for d in docs for x in trees(d) for n in x["nodes"] if n["node"] == "frontend_bound" and n["value"]], [0.253, 0.353],
        "toplev -x: intervals")
comes_back("toplev -x without a line of names", "Frontend_Bound,25.30,% Slots,text,,0.10,,\nBackend_Bound,45.00,% Slots below,,,0.10,33.0,<==\n", "--model", "skx",
           figures={"Frontend_Bound": 25.3, "Backend_Bound": 45}, tree={"frontend_bound": 25.3, "backend_bound": 45})
comes_back("toplev --columns -x", '"# 4.7 on Intel(R) [skx/x]"\nArea,Node,C0,C1,Description,Sample,Stddev,Multiplex\nFE,Frontend_Bound,25.3,35.3,"a, b",,0.1,33.0\n',
           "--per", "core", figures={("Frontend_Bound", None, "C0"): 25.3, ("Frontend_Bound", None, "C1"): 35.3})
comes_back("toplev --valcsv: counts", "Timestamp,CPU,Group,Event,Value,Perf-event,Index,STDDEV,MULTI,Nodes\n"
           "1.0,0,0,CPU_CLK_UNHALTED.THREAD,1000,cpu/event=0x3c/,0,0,100,x\n1.0,1,0,CPU_CLK_UNHALTED.THREAD,500,cpu/event=0x3c/,0,0,100,x\n", "--model", "skx",
           events={"CPU_CLK_UNHALTED.THREAD": 1500})

# ---- PerfSpect

comes_back("PerfSpect's csv by socket", "TS,SKT,CPU,CID,CPU operating frequency (in GHz),CPI,TMA_Frontend_Bound(%),TMA_..Fetch_Latency(%),TMA_....ICache_Misses(%)\n"
           "1719260001,0,,,3.1,0.92,24.93,15.3,4.1\n1719260001,1,,,3.0,,26.93,16.3,5.1\n", "--model", "spr", "--per", "socket",
           figures={("CPI", None, "S0"): 0.92, ("CPU operating frequency (in GHz)", None, "S1"): 3.0, ("TMA_..Fetch_Latency(%)", None, "S1"): 16.3,
                    ("TMA_....ICache_Misses(%)", None, "S0"): 4.1})
comes_back("PerfSpect's summary, metric_ before the names", "metric,mean,min,max,stddev\nmetric_CPI,0.46,0.4,0.5,0.01\nmetric_TMA_Backend_Bound(%),40.0,39.0,41.0,0.5\n"
           "metric_TMA_..Memory_Bound(%),12.572,10,14,1\n", "--model", "emr",
           figures={"metric_CPI": 0.46, "metric_TMA_Backend_Bound(%)": 40.0}, tree={"backend_bound": 40, "backend_bound.memory_bound": 12.572})
comes_back("PerfSpect's JSON", '{"Metrics":[{"Name":"CPI","Value":0.5},{"Name":"TMA_Retiring(%)","Value":33.3},{"Name":"TMA_Other","Value":-1}],'
           '"Timestamp":1719260001,"FrameCount":1,"Socket":"","CPU":"","Cgroup":"","PID":"","Cmd":""}\n', "--model", "spr",
           figures={"CPI": 0.5, "TMA_Retiring(%)": 33.3}, tree={"retiring": 33.3})
amd = comes_back("PerfSpect on AMD", "TS,SKT,CPU,CID,IPC,Pipeline Utilization - Frontend Bound (%),Pipeline Utilization - Frontend Bound - Latency (%),"
                 "Pipeline Utilization - Backend Bound (%),Pipeline Utilization - Backend Bound - Memory (%),Pipeline Utilization - Backend Bound - CPU (%),"
                 "Pipeline Utilization - Bad Speculation - Mispredicts (%),Pipeline Utilization - SMT Contention (%),Pipeline Utilization - Retiring (%)\n"
                 "1,,,,2.5,10.5,4.5,40.25,30.5,9.75,2.5,3.5,35.5\n",
                 figures={"IPC": 2.5, "Pipeline Utilization - Backend Bound - Memory (%)": 30.5}, says=("is a guess",))
t.ok(trees(amd) and trees(amd)[0]["model"].startswith("zen") and abs(nodes(amd).get("backend_bound", 0) - 40.25) < 0.01 and
     sum(1 for v in nodes(amd).values() if abs(v - 30.5) < 0.01) == 1 and sum(1 for v in nodes(amd).values() if abs(v - 3.5) < 0.01) == 1,
     "AMD's names of nodes are the tree's", nodes(amd))

# ---- which model

t.ok("no tree" in str(read("5,,made-up,9,100.00,,\n")["notes"]) and counts(read("5,,made-up,9,100.00,,\n")) == {"made-up": 5},
     "an event that nobody knows: as it was counted")
for event, vendor in (("ls_not_halted_cyc", "zen"), ("STALL_SLOT_BACKEND", "neoverse"), ("INT_MISC.UOP_DROPPING", "")):
    doc = read("5,,%s,9,100.00,,\n7,,cycles,9,100.00,,\n" % event)
    t.ok(any("is a guess" in n and (vendor in n) for n in doc["notes"]), "%s: whose it is" % event, doc)
t.done()
