#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""validate on a simulated PMU whose counts follow the kernels that run: with true counts each event passes, each planted fault has its
verdict and its cause; what was found out is kept, and the tree does not show nodes that rest on an event that failed."""
import json
import math
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, planted, run_on, stat_on  # noqa: E402
from tap import CYCLADE, Tap, uninterrupted  # noqa: E402
from trees import trees  # noqa: E402

uninterrupted()
t = Tap()
tmp = tempfile.TemporaryDirectory()
DATA = os.path.join(tmp.name, "data")
TAKEN = "cond_taken=1 jumps=1 jumps_indirect=1 calls=1 calls_indirect=1 returns=1"
TRUE = {
    "INST_RETIRED.ANY": "instructions=1",
    "BR_INST_RETIRED.ALL_BRANCHES": TAKEN + " cond_not_taken=1",
    "BR_INST_RETIRED.NEAR_TAKEN": TAKEN,
    "BR_INST_RETIRED.NEAR_CALL": "calls=1 calls_indirect=1",
    "BR_INST_RETIRED.NEAR_RETURN": "returns=1",
    "BR_MISP_RETIRED.ALL_BRANCHES": "mispredicts=1",
    "MEM_INST_RETIRED.ALL_LOADS": "loads=1",
    "MEM_INST_RETIRED.ALL_STORES": "stores=1",
    "MEM_INST_RETIRED.LOCK_LOADS": "locked=1",
    "CPU_CLK_UNHALTED.THREAD": "chain=1",
    "LD_BLOCKS.STORE_FORWARD": "blocked:1",
    "ARITH.DIVIDER_ACTIVE": "divide:20",
}
CALLED = {"MEM_INST_RETIRED.ALL_LOADS": "MEM_INST_RETIRED.ALL_LOADS_PS"}  # by the machine's table
FAULTS = [  # a run for each set of them: event, what it counts, verdict, cause, with
    [("INST_RETIRED.ANY", "instructions=1 factor=2", "over-counts", "factor", None),
     ("BR_INST_RETIRED.ALL_BRANCHES", TRUE["BR_INST_RETIRED.ALL_BRANCHES"] + " mispredicts=3", "over-counts", "speculation", "mispredicts"),
     ("MEM_INST_RETIRED.ALL_LOADS", "load_bytes=1", "over-counts", "unit", "load_bytes"),
     ("MEM_INST_RETIRED.ALL_STORES", "instructions=0", "dead", None, None),
     ("MEM_INST_RETIRED.LOCK_LOADS", "locked=1 divide:0.1", "leaks", None, None),
     ("BR_INST_RETIRED.NEAR_RETURN", "returns=1 factor=0.98", "under-counts", "factor", None),
     ("LD_BLOCKS.STORE_FORWARD", "instructions=0", "dead", None, None)],
    [("INST_RETIRED.ANY", "instructions=1 core=1", "over-counts", "whole core", None),
     ("BR_INST_RETIRED.NEAR_TAKEN", TAKEN + " busy=0.5", "under-counts", "busy core", None),
     ("BR_INST_RETIRED.NEAR_CALL", "calls=0 calls_indirect=1", "under-counts", "quantity", "calls"),
     ("MEM_INST_RETIRED.ALL_STORES", "stores=1 loads=1", "over-counts", "quantity", "loads"),
     ("CPU_CLK_UNHALTED.THREAD", "chain=1.02", "over-counts", "factor", None)],
]
EVERY = {k: x + " core=1" for k, x in TRUE.items()}


def validate(counts, *words, settings="smt=1", machine="skl", **env):
    path = os.path.join(tmp.name, "counts")
    with open(path, "w", encoding="ascii") as f:
        f.writelines("%s %s\n" % (CALLED.get(k, k), x) for k, x in counts.items())
    p = run_on(machine, "even", CYCLADE, "validate", *SYSROOT, "--quick", "-j", *words, settings=settings, SIM_KERNELS=path,
               **dict({"XDG_DATA_HOME": "/dev/null/data"}, **env))
    try:
        doc = json.loads(p.stdout)
    except ValueError:
        t.ok(False, "validate " + " ".join(words), p.stderr)
        t.done()
    return p, doc, {e["event"]: e for e in doc["events"]}


def wrong(event, verdict, cause, with_):
    return (event["verdict"], event["cause"], event["with"]) != (verdict, cause, with_)


two = len(os.sched_getaffinity(0)) > 1
p, doc, event = validate(TRUE, *TRUE)
t.equal({k: (e["verdict"], e["text"]) for k, e in event.items() if e["verdict"] not in ("exact", "within")}, {}, "true counts: each event passes")
t.equal([k for k in TRUE if k not in event], [], "all were tested")
t.ok(p.returncode == 0, "exit 0", p.stderr)
t.equal([k for k, e in event.items() if not (e["deviation"] is not None and e["deviation_error"] is not None and e["limit_why"]) and "LD_BLOCKS" not in k and
         "ARITH" not in k], [], "how far off each is, with its bar")
t.ok(all(e["limit"] < (0.06 if "LD_BLOCKS" in k else 0.02) for k, e in event.items() if e["verdict"] == "exact" and "MISP" not in k), "faults of 2 % would have been seen", event)
BESIDE = "not tested beside a busy thread: "
t.equal({k: e["text"] for k, e in event.items() if e["verdict"] in ("exact", "within") and BESIDE in (e["text"] or "") and not
         any(c["busy"] and c["event"] == k for c in doc["cells"])}, {}, "only what could be tested beside a busy thread lacks it")
t.ok(any(c["busy"] for c in doc["cells"]) or not two, "also while the other thread of the core was busy")
NODES = ("Bad_Speculation", "Retiring", "Frontend_Bound", "Backend_Bound")
seconds = []
for kernels in ([], ["[a-z]*"]):  # these are all, but kernels: no nodes
    p = run_on("skl", "even", CYCLADE, "validate", *SYSROOT, "--quick", *NODES, *kernels, XDG_DATA_HOME="/dev/null/data")
    seconds.append(int(re.search(r"about (\d+) s", p.stderr)[1]))
t.ok(seconds[0] > seconds[1], "the time that is announced includes nodes", seconds)
p, doc, few = validate(TRUE, *list(TRUE)[:4], settings="smt=1 counters=1")
t.equal({e["verdict"] for e in few.values()}, {"exact"}, "so with one general counter: nothing is multiplexed")
for faults in FAULTS:
    counts = dict(TRUE, **{f[0]: f[1] for f in faults})
    p, doc, event = validate(counts, *TRUE)
    # on a busy machine a count of a simulated counter may be cut short with its thread: once more, what was judged otherwise
    odd = [f[0] for f in faults if wrong(event[f[0]], *f[2:]) and BESIDE not in (event[f[0]]["text"] or "")]
    if odd:
        event = dict(event, **{k: e for k, e in validate(counts, *odd)[2].items() if k in odd})
    for name, _, verdict, cause, with_ in faults:
        if cause in ("whole core", "busy core") and not two:
            t.skip(name, "one CPU")
            continue
        if cause in ("whole core", "busy core") and BESIDE in (event[name]["text"] or ""):
            t.skip(name, event[name]["text"])
            continue
        e = event[name]
        t.ok((e["deviation"] is None) == (e["deviation_error"] is None) and all((e[k] is None) <= bool(e[k + "_why"]) for k in ("deviation", "limit", "weight")),
             name + ": figures have a bar or a reason", e)
        t.ok(not wrong(event[name], verdict, cause, with_), "%s: %s, %s" % (name, verdict, cause or "no cause"), event[name])
    t.equal([k for k, e in event.items() if e["verdict"] not in ("exact", "within") and k not in [f[0] for f in faults]], [], "no other is accused")
    t.equal(p.returncode, 1, "exit 1: the tree needs one of them")

# ---- the whole core instead of the thread: found for any event, if there is another thread
if two:
    p, doc, event = validate(EVERY, *TRUE)
    named = {k for k in TRUE if not wrong(event[k], "over-counts", "whole core", None)}
    # where others left the second thread no CPU, the event passes with these words
    starved = {k for k in TRUE if event[k]["verdict"] in ("exact", "within") and BESIDE in event[k]["text"]}
    left = {k: (event[k]["verdict"], event[k]["cause"]) for k in TRUE if "MISP" not in k and k not in named | starved}
    for _ in range(2):  # how much CPU others left the second thread changes meanwhile: once more, what was not named
        if left:
            _, _, more = validate({k: EVERY[k] for k in left}, *left)
            left = {k: (more[k]["verdict"], more[k]["cause"]) for k in left if wrong(more[k], "over-counts", "whole core", None)}
    t.equal(left, {}, "the whole core: named for each event that was tested so")
    if starved:
        t.skip("the whole core", "no CPU for the second thread: " + ", ".join(starved))
    busy = {c["event"] for c in doc["cells"] if c["busy"]}
    t.equal(busy, set(TRUE), "each event was tested beside a busy thread")
else:
    t.skip("the whole core", "one CPU")

# ---- lines, walks and forwards: figures, and bounds
# the machine's caches are of 16, 64 and 512 KB
IN, WALKS = "lines_read=1 lines_written=1 holds=", "pages=1 holds=1536"
MOVES = {"LD_BLOCKS.STORE_FORWARD": "blocked_forwards=1", "LD_BLOCKS_PARTIAL.ADDRESS_ALIAS": "aliases_4k=1",
         "DTLB_LOAD_MISSES.WALK_COMPLETED": WALKS,
         "L1D.REPLACEMENT": IN + "256", "L2_LINES_IN.ALL": IN + "1024"}
CACHES = "smt=1 l3=1"
FIGURES = ("LD_BLOCKS.STORE_FORWARD", "DTLB_LOAD_MISSES.WALK_COMPLETED", "L1D.REPLACEMENT", "L2_LINES_IN.ALL")
p, doc, event = validate(MOVES, *MOVES, settings=CACHES)
t.equal({k: (event[k]["verdict"], event[k]["text"]) for k in MOVES if event[k]["verdict"] != ("exact" if k in FIGURES else "within")}, {},
        "lines, walks, forwards: true counts pass, figures exactly")
t.ok(all(event[k]["limit"] < 0.35 for k in MOVES if k in FIGURES), "a third too few or too many would have been seen", event)
cells = {(c["event"], c["kernel"], c["where"]): c for c in doc["cells"]}
walk = cells["DTLB_LOAD_MISSES.WALK_COMPLETED", "walk-pages", "walks"]
t.ok(walk["expected"] == 1 and 0.7 <= walk["least"] < 0.95 and walk["most"] == 1.05, "cells: a walk for each load, and what passes", walk)
t.equal({k[1] for k, c in cells.items() if k[0] == "LD_BLOCKS.STORE_FORWARD" and c["expected"] > 0}, {"blocked"}, "cells: forwards fail in one kernel alone")
PLANTED_MOVES = [  # event, what it counts, verdict, cause
    [("DTLB_LOAD_MISSES.WALK_COMPLETED", WALKS + " factor=2", "over-counts", "factor"), ("L1D.REPLACEMENT", IN + "256 factor=0.5", "under-counts", "factor"),
     ("LD_BLOCKS.STORE_FORWARD", "blocked_forwards=0", "dead", None), ("LD_BLOCKS_PARTIAL.ADDRESS_ALIAS", "aliases_4k=2", "over-counts", None)],
    [("DTLB_LOAD_MISSES.WALK_COMPLETED", "loads=1", "leaks", "unit"),
     ("L2_LINES_IN.ALL", IN + "1024 factor=2", "over-counts", "factor"), ("LD_BLOCKS.STORE_FORWARD", "blocked_forwards=1 forward:0.5", "leaks", None)],
]
for faults in PLANTED_MOVES:
    p, doc, event = validate(dict(MOVES, **{f[0]: f[1] for f in faults}), *MOVES, settings=CACHES)
    for name, plan, verdict, cause in faults:
        t.equal((event[name]["verdict"], event[name]["cause"]), (verdict, cause), "%s that counts %s: %s" % (name, plan, verdict))
    t.equal([k for k in MOVES if event[k]["verdict"] not in ("exact", "within") and k not in [f[0] for f in faults]], [], "lines, walks, forwards: no other is accused")

# ---- NUMA: loads from memory of the own node and of another socket's, each event in both
NO_ADDRESS = ("add", "jump", "[b-z]*")  # addresses of samples take long, and have checks of their own
LOCAL, REMOTE = "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM"
for counts, want in (({LOCAL: "local=1", REMOTE: "remote=1"}, ("within", "within")), ({LOCAL: "local=1 remote=1", REMOTE: "remote=0"}, ("leaks", "dead")),
                     ({LOCAL: "local=1", REMOTE: "local=1"}, ("within", "under-counts"))):
    p, doc, event = validate(counts, LOCAL, REMOTE, *NO_ADDRESS, settings="nodes=2", machine="gnr")
    t.equal((event[LOCAL]["verdict"], event[REMOTE]["verdict"]), want, "two NUMA nodes: %s" % ", ".join(want))
    own = min(os.sched_getaffinity(0)) % 2
    cells = {(c["event"], c["memory_node"]): c for c in doc["cells"] if c["memory_node"] is not None}
    t.equal(sorted(cells), sorted((e, n) for e in (LOCAL, REMOTE) for n in (0, 1)), "cells: both events in memory of both nodes")
    zero = {k for k, c in cells.items() if c["expected"] == 0}
    t.equal(zero, {(LOCAL, 1 - own), (REMOTE, own)}, "nothing is expected of the other's")
p, doc, event = validate({LOCAL: "walk:1"}, LOCAL, REMOTE, *NO_ADDRESS, machine="gnr")
t.ok(event[REMOTE]["verdict"] == "not tested" and "one NUMA node" in event[REMOTE]["text"], "one node: remote memory is not tested, with the reason", event[REMOTE])

# ---- lines that another core of the L3 cache has: a kernel for each state of them
HITM = "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM"
CALLED[HITM] = HITM + "_PS"
for counts, want in (("snoop-modified:1", "within"), ("snoop-modified:0", "dead"), ("loads=1", "leaks")):
    p, doc, event = validate({HITM: counts}, HITM, *NO_ADDRESS, settings="l3=1")
    if not two:
        t.ok(event[HITM]["verdict"] == "not tested" and "L3 cache" in event[HITM]["text"], "one CPU: not tested, with the reason", event[HITM])
        break
    t.equal(event[HITM]["verdict"], want, "HITM that counts %s: %s" % (counts, want))
    cells = {c["kernel"]: c for c in doc["cells"] if c["other_cpu"] is not None}
    t.equal(sorted(cells), ["snoop-clean", "snoop-flushed", "snoop-modified", "snoop-shared"], "lines clean, dropped, modified, shared")
    t.equal({c["other_is"] for c in cells.values()}, {"same L3 cache"}, "where the other CPU is")
p, doc, event = validate({HITM: "snoop-modified:1"}, HITM, *NO_ADDRESS)
t.ok(event[HITM]["verdict"] == "not tested" and "L3 cache" in event[HITM]["text"], "which CPUs share an L3 cache is not known: the reason", event[HITM])

# ---- nodes: the program is what the scenario says, whatever kernel runs
for scenario, want in (("branch_mispredicts", "bound by it"), ("even", "not bound by it")):
    p = run_on("skl", scenario, CYCLADE, "validate", *SYSROOT, "--quick", "-j", "Bad_Speculation", "Memory_Bound", XDG_DATA_HOME="/dev/null/data")
    node = {n["node"]: n for n in json.loads(p.stdout)["nodes"]}
    share = planted("skl", scenario).get("bad_speculation")
    bad = node["bad_speculation"]
    t.ok(bad["kernel"] == "branch-random" and bad["verdict"] == want, "%s: bad_speculation is %s" % (scenario, want), bad)
    t.ok(share is not None and abs(bad["share"] - share) < 0.02, "with its share", (bad, share))
    t.ok(node["backend_bound.memory_bound"]["verdict"] == "not tested" and "L3" in node["backend_bound.memory_bound"]["text"],
         "a kernel that this machine has no place for: the reason", node["backend_bound.memory_bound"])

# ---- what is kept, and what becomes of it


def tree(data):
    doc = stat_on("skl", "even", "-l", "2", SPIN, "100", settings="smt=1", XDG_DATA_HOME=data)
    return doc, {n["node"].split(".")[0].lower(): n for x in trees(doc)[:1] for n in x["nodes"]}


doc, nodes = tree(DATA)
t.ok(any("not validated here" in x for x in doc["notes"]), "stat: not validated here", doc["notes"])
t.ok(nodes["retiring"]["value"] is not None, "the tree has values", nodes["retiring"])
p, doc, event = validate(dict(TRUE, **{"CPU_CLK_UNHALTED.THREAD": "chain=2"}), "CPU_CLK_UNHALTED.THREAD", "INST_RETIRED.ANY", XDG_DATA_HOME=DATA)
kept = [os.path.join(d, f) for d, _, files in os.walk(DATA) for f in files]
t.equal(len(kept), 1, "one file is kept")
p, doc, event = validate(TRUE, "BR_INST_RETIRED.NEAR_CALL", XDG_DATA_HOME=DATA)
with open(kept[0], encoding="utf-8") as f:
    text = f.read()
t.ok("CPU_CLK_UNHALTED.THREAD\tover-counts\t1\ttree\t2 times" in text and "NEAR_CALL\texact" in text, "verdicts of two runs", text)
doc, nodes = tree(DATA)
t.ok(any("events validated here 20" in x for x in doc["notes"]), "stat: validated, and when", doc["notes"])
bad = nodes["retiring"]
t.ok(bad["value"] is None and "CPU_CLK_UNHALTED.THREAD failed validation here: over-counts, 2 times" in bad["value_why"],
     "a node that rests on it has no share but the cause", bad)
p = run_on("skl", "even", CYCLADE, "explain", *SYSROOT, "CPU_CLK_UNHALTED.THREAD", XDG_DATA_HOME=DATA)
t.ok("over-counts: 2 times what it should" in p.stdout, "explain has the verdict", p.stdout + p.stderr)
for what, bytes_ in (("another machine's", text.replace("machine ", "machine X", 1)), ("cut", text[:-40]), ("no text", "\0\0")):
    with open(kept[0], "w", encoding="utf-8") as f:
        f.write(bytes_)
    p = run_on("skl", "even", CYCLADE, "stat", *SYSROOT, "-l", "1", SPIN, "20", XDG_DATA_HOME=DATA)
    t.ok(p.returncode == 0 and "%s:" % kept[0] in p.stderr and "not used" in p.stderr, "a file that is %s is refused with its line" % what, p.stderr)
    p, doc, event = validate(TRUE, "BR_INST_RETIRED.NEAR_CALL", XDG_DATA_HOME=DATA)
    t.ok("not kept" in p.stderr and event["BR_INST_RETIRED.NEAR_CALL"]["verdict"] == "exact", "and left as it is", p.stderr)
# ---- skid: planted distances come out, for each precise level, and addresses are those of the register
LOADS = "MEM_INST_RETIRED.ALL_LOADS"


def skid(plan, settings="smt=1"):
    p, doc, event = validate({LOADS: "loads=1 " + plan}, LOADS, "skid", "loop", settings=settings)
    rows = {x["precise"]: x for x in doc["skid"]}
    t.equal(sorted(rows), [0, 1, 2, 3], "skid: each level has a row")
    return rows


for plan, median in (("skid0=40 skid1=1 skid2=0 skid3=0", (40, 1, 0, 0)), ("skid0=10 skid1=0 skid2=0 skid3=1", (10, 0, 0, 1))):
    for level, x in skid(plan).items():
        want, inside = median[level], x["samples"] - x["outside"]
        name = "skid: planted %d with precise level %d" % (want, level)
        t.ok(x["samples"] > 0, name + ": samples", x)
        if inside < 200:
            t.skip(name, "too few samples on so slow a machine")
            continue
        t.ok(0.75 * want <= x["median"] <= 1.25 * want and x["p90"] <= x["most"] <= 1.5 * want + 0.5, name, x)
        at = {0: "at", 1: "next"}.get(want)
        t.ok(x["at"] + x["next"] < 0.5 if want > 2 else abs(x[at] - inside / x["samples"]) < 1e-6, name + ": its share at and behind the load", x)
        t.ok(x["address"] == (1 if level else None) and (level or x["address_why"]), name + ": addresses", x)
FIGURES = ("at", "next", "median", "p90", "most", "address")
for level, x in skid("skid0=2 skid1=2 skid2=2 skid3=2").items():  # 1, 2 or 3 instructions behind the load, a quarter, a half, a quarter
    name = "skid: precise level %d: " % level
    t.equal([k for k in FIGURES if (x[k] is None or x[k + "_error"] is None) == (not x[k + "_why"])], [], name + "each figure has a bar or a reason")
    n, inside = x["samples"], x["samples"] - x["outside"]
    if inside < 200:
        t.skip(name + "bars", "too few samples on so slow a machine")
        continue
    truth = 0.25 * inside / n
    # a bar is two standard deviations: five of them are chance in one of a million runs
    t.ok(abs(x["next"] - truth) <= 2.5 * x["next_error"], name + "the bar holds the planted share", (truth, x))
    t.ok(0.9 * 1.96 * math.sqrt(truth * (1 - truth) / n) <= x["next_error"] < 0.5, name + "it is that of as many draws, or wider", x)
    t.ok(abs(x["median"] - 2) <= x["median_error"] and abs(x["p90"] - 3) <= x["p90_error"], name + "the median and 90 % hold theirs", x)
    t.ok(x["at"] == 0 and 0 < x["at_error"] < 0.1, name + "a share of 0 has a bar", x)
refused = skid("skid0=40", settings="smt=1 precise=0")
t.ok(refused[0]["samples"] > 0 and all(refused[k]["text"] and refused[k]["at"] is None for k in (1, 2, 3)), "skid: levels that the PMU has not, with the reason", refused)
# ---- addresses: planted ones come out, each fault has its verdict; the share that is wrong has its bar
with open(os.path.join(HERE, "machines", "skl.tab"), encoding="ascii") as f:
    NAMED = set(re.findall(r" (MEM_[\w.]+)", f.read()))
SAMPLED = (LOADS, "MEM_INST_RETIRED.ANY", "MEM_LOAD_MISC_RETIRED.UC", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4", "MEM_LOAD_RETIRED.FB_HIT")
PLANTED = [  # for each of SAMPLED: what its samples have, the verdict, words
    [("", "right", "before the load"), ("behind=1", "registers behind", "overwrites"), ("off=8", "wrong address", "off by +8 bytes"),
     ("line=1", "wrong address", "only the line"), ("none=1", "no address", "no address")],
    [("later=1", "registers later", "later instruction"), ("skid0=1 skid1=1 skid2=1 skid3=1", "not at the load", "other instructions"),
     ("behind=1 off=-64", "wrong address", "off by -64 bytes"), ("off=8 faulty=0.05", "wrong address", "off by +8 bytes"),
     ("behind=1 faulty=0.3", "registers later", "later")],
]


def addresses(plans, settings="smt=1"):
    counts = {e if e in NAMED else e + "_PS": "loads=1 capture=1 " + plan for e, plan in zip(SAMPLED, plans)}
    p, doc, event = validate(counts, *SAMPLED[:len(plans)], "address", settings=settings)
    return {x["event"]: x for x in doc["addresses"]}, p


for planted_now in PLANTED:
    rows, p = addresses([x[0] for x in planted_now])
    for name, (plan, verdict, words) in zip(SAMPLED, planted_now):
        x = rows[name]
        told = "addresses, %s: " % (plan or "all right")
        faulty = float(plan.split("faulty=")[1]) if "faulty" in plan else 1 if plan else 0
        if x["samples"] < 200:
            t.skip(told, "too few samples on so slow a machine")
            continue
        t.ok(x["verdict"] == verdict and words in x["text"], told + verdict, x)
        if "faulty" in plan and "off" in plan:  # five standard deviations of its bar, which is two
            t.ok(abs(1 - x["address"] - faulty) <= 2.5 * x["address_error"] < 0.2, told + "the share that is wrong", x)
        elif "off" in plan or "line" in plan:
            t.ok(x["address"] == 0 and x["recomputed"] == 0 and x["address_error"] < 0.05, told + "none is right", x)
        elif verdict == "registers behind":
            t.ok((x["recomputed"], x["overwritten"], x["behind"], x["address"]) == (1, 0, 1, 1), told + "of one load only", x)
        elif not plan:
            t.ok((x["recomputed"], x["overwritten"], x["address"], x["behind"]) == (1, 1, 1, 0) and x["at"] > 0.9, told + "by both loads", x)
        t.ok(all((x[k] is None or x[k + "_error"] is None) == bool(x[k + "_why"]) for k in ("at", "next", "recomputed", "overwritten", "behind", "address")),
             told + "each share has a bar or a reason", x)
rows, p = addresses(["capture=1"], settings="smt=1 precise=0")
t.ok(rows[LOADS]["verdict"] == "not tested" and rows[LOADS]["precise"] == 0 and "not precise here" in rows[LOADS]["text"],
     "addresses: a PMU without precise events: not tested, with the reason", rows)
t.ok(p.returncode == 0, "which is no failure", p.stderr)
t.done()
