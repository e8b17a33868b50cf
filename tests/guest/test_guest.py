#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade on a real kernel with a real PMU driver: what scenes.sh measured in the guest, against what is known of the
program, and against perf there."""
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from guest import Guest, GuestFailed, missing  # noqa: E402
from tap import Tap  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
why = missing()
if why:
    print("1..0 # SKIP %s" % why)
    sys.exit(0)
try:
    g = Guest()
except GuestFailed as e:
    t.ok(False, "the guest boots, runs all scenes and powers off", e)
    t.done()
t.ok(True, "the guest boots, runs all scenes and powers off")

N = 3000000
TURNS = 8 * N  # instructions of loop N
REST = 200  # at most so many more: its beginning and end, and those of exec that follow in user space


def counts(scene, where=None):
    """{event: row} of a scene's file.json; where: of one place."""
    return {c["event"]: c for c in g.json(scene).get("counts", []) if where is None or c.get("where") == where}


def value(scene, event, where=None):
    return counts(scene, where).get(event, {}).get("value")


def perf(scene, event, field=0):
    """What perf stat -x, wrote of an event: as text."""
    for row in csv.reader(io.StringIO(g.read(scene + ".csv"))):
        if event in row:
            return row[field]
    return None


def near(name, got, want, more=REST, less=0):
    return t.ok(got is not None and want - less <= got <= want + more, name, "got %s, want %s to %s" % (got, want - less, want + more))


def shares(scene):
    """{function: (samples, period)} of a csv report."""
    rows = csv.DictReader(io.StringIO(g.out(scene + ".report")))
    out = {}
    for r in rows:
        # names that clash have addresses behind them
        name = "[unknown]" if re.match(r"0x|.*\+0x", r["function"]) else r["function"].split("@0x")[0]
        name = "_init" if name == ".plt" else name  # perf gives what has no symbol to the symbol before it
        old = out.get(name, (0, 0))
        out[name] = (old[0] + int(r["samples"]), old[1] + int(r["period"]))
    return out


def by_perf(scene):
    """{function: samples} of perf script's lines `comm tid time: event: ip sym`."""
    out = {}
    for line in g.out(scene + ".perf").splitlines():
        m = re.match(r"\s*\S.*? +\d+ +[\d.]+: +\S+: +[0-9a-f]+ (\S+)", line)
        if m:
            out[m.group(1)] = out.get(m.group(1), 0) + 1
    return out


def chains_by_perf(scene):
    """Frames of each sample of perf script -F ip,sym: a list of lists of functions."""
    return [[x.split()[1] for x in block.splitlines() if x.strip()]
            for block in re.split(r"\n\s*\n", g.out(scene + ".frames")) if block.strip()]


def notes(scene):
    return " ".join(g.json(scene).get("notes", []))


def nodes(scene, which=0):
    """{node: row} of the first tree in a file.json, or in a line of it."""
    try:
        doc = json.loads(g.read(scene + ".json").splitlines()[which]) if which else g.json(scene)
    except (ValueError, IndexError):
        return {}
    return {n["node"]: n for x in trees(doc)[:1] for n in x["nodes"]}


# ---- counting one program: exact

for event in ("cycles:u", "instructions:u"):
    one, two = value("exact", event), value("twice", event)
    near("%s of a loop" % event, one, TURNS)
    t.equal(two and one and two - one, 8 * (6000000 - N), "%s: twice the turns, exactly so many more" % event)
    t.equal(str(one), perf("perf_exact", event), "%s: perf counts the same to the last one" % event)
near("with its child", value("fork", "instructions:u"), 2 * TURNS)
near("without its child", value("fork_alone", "instructions:u"), TURNS)
m = {e: value("modifiers", e) or 0 for e in ("instructions:u", "instructions:k", "instructions")}
t.ok(m["instructions:k"] > 1000 and m["instructions:u"] + m["instructions:k"] == m["instructions"],
     "user and kernel add up to all", m)
lines = [json.loads(x) for x in g.read("interval.json").splitlines()]
near("intervals add up", sum(c["value"] for x in lines for c in x.get("counts", []) if c["event"] == "instructions:u"), TURNS, 20000)
t.ok(len(lines) > 3, "there are several intervals", lines)
near("the mean of four runs", value("repeat", "instructions:u"), 8 * 300000)
t.equal([value("uprobes", "uprobe:/bin/loop:" + x) for x in ("hot", "cold")] + [value("uprobes", "syscalls:sys_enter_exit")],
        [1, 1, 1], "uprobes and a tracepoint: each once")

# ---- more events than counters

rows = g.json("mux").get("counts", [])
t.equal(len(rows), 12, "twelve events on six counters")
for i, c in enumerate(rows):
    near("event %d of twelve, extrapolated" % (i + 1), c["value"], 96000098, 0.02 * 96e6, 0.02 * 96e6)
share = sum(c["counted"] for c in rows)
t.ok(5.5 < share <= 6.6, "six counters' time was shared among them (the seventh is for cycles)", share)
t.ok("12 groups took turns" in notes("mux"), "and that is noted", notes("mux"))
theirs = [float(x) for x in re.findall(r"^\d+,,r\d+:u,\d+,([\d.]+)", g.read("perf_mux.csv"), re.M)]
t.ok(len(theirs) == 12 and abs(sum(theirs) / 100 - share) < 0.5, "as perf shares them", (theirs, share))

# ---- events that this CPU lacks

t.equal(value("missing", "r10:u"), None, "an event that the CPU does not implement is not counted")
t.ok("does not implement" in counts("missing").get("r10:u", {}).get("value_why", ""), "with the reason", counts("missing"))
near("beside it others are counted", value("missing", "instructions:u"), TURNS)

# ---- the tree: STALL_* never count in QEMU

for scene in ("tree", "tree1", "tree_repeat"):
    got = nodes(scene)
    t.equal([got.get(n, {"value": 0})["value"] for n in ("frontend_bound", "backend_bound", "not_stalled")], [None] * 3,
            "%s: dead counters make no shares" % scene)
    t.ok("STALL_FRONTEND" in got.get("not_stalled", {}).get("value_why", ""), "%s: with the cause" % scene, got)
    t.ok(not any(n.get("path") for n in got.values()), "%s: no path leads there" % scene, got)
lines = [json.loads(x) for x in g.read("tree_interval.json").splitlines()]
values = [n["value"] for x in lines for y in trees(x) for n in y["nodes"]]
t.ok(values and not any(v is not None for v in values), "nor in any interval", values)
for scene in ("tree_term", "tree_csv", "tree_markdown"):
    text = g.out(scene) + g.err(scene)
    t.ok("100.0 % +-" not in text and re.search(r"STALL\\?_FRONTEND counted 0", text), "%s: the same in this format" % scene, text)
t.ok("longer run" not in g.err("tree_term"), "no advice that does not help", g.err("tree_term"))
metric = {m["metric"]: m for x in trees(g.json("metrics")) for m in x.get("metrics", [])}
t.equal(metric.get("ipc", {}).get("value"), 1, "a metric of live counters is told: one instruction a cycle")
t.equal(metric.get("l1d_cache_mpki", {"value": 0})["value"], None, "a metric of an event that this CPU lacks is not")

# ---- validate: a real driver's counters against exact counts

doc = json.loads(g.out("validate") or "{}")
event = {e["event"]: e for e in doc.get("events", [])}
cell = {(c["event"], c["kernel"]): c for c in doc.get("cells", [])}
t.equal({e: event.get(e, {}).get("verdict") for e in ("CPU_CYCLES", "INST_RETIRED", "cycles", "instructions", "page-faults")},
        dict.fromkeys(("CPU_CYCLES", "INST_RETIRED", "cycles", "instructions", "page-faults"), "exact"), "cycles and instructions are exact")
t.ok(abs(cell.get(("INST_RETIRED", "jump"), {"counted": 0})["counted"] - 16) < 0.01, "16 jumps are 16 instructions", cell.get(("INST_RETIRED", "jump")))
t.equal({e: event.get(e, {}).get("verdict") for e in ("STALL_FRONTEND", "STALL_BACKEND")}, {"STALL_FRONTEND": "dead", "STALL_BACKEND": "dead"},
        "stalls are dead")
REFILL = "L1D_CACHE_REFILL_RD"  # the CPU says of common events alone which it has
t.equal((event.get(REFILL, {}).get("verdict"), event.get(REFILL, {}).get("text")), ("not tested", "sysfs has no L2 of this CPU"),
        "lines of a cache whose size is not known are not tested")
lacks = [e for e in event if re.match(r"L[123LI]+D?_(CACHE|TLB)", e) and e != REFILL]
t.ok(len(lacks) > 5 and all(event[e]["verdict"] == "not tested" and "not supported" in event[e]["text"] for e in lacks), "cache events are not supported",
     {e: event[e]["text"] for e in lacks})
t.ok(doc.get("emulated") is True and g.rc("validate") == 1, "an emulator is seen; the tree needs what is dead: exit 1", (doc.get("emulated"), g.rc("validate")))
t.ok("dead" in g.out("validate_term") and "not supported" in g.out("validate_term"), "and so on the screen", g.out("validate_term"))
t.ok(re.search("here +dead: counts nothing", g.out("explain_dead")), "explain has the verdict", g.out("explain_dead"))
t.ok(re.search(r"validated 20\d\d", g.out("validate_doctor")), "so has doctor", g.out("validate_doctor"))

# ---- doctor

checks = {c["name"]: c for c in (json.loads(g.out("doctor") or "{}").get("checks", []))}
t.ok("Arm Neoverse N1" in checks["cpu"]["state"] and "model neoverse-n1" in checks["cpu"]["state"], "doctor knows the CPU", checks["cpu"])
held = len(re.findall(r"^ +[\d,]+ +r08:uD", g.err("doctor_perf"), re.M))
t.ok(held == 6 and checks["counters"]["state"].startswith("6 counters are free"),
     "as many free counters as pinned events that perf gets to count", (held, checks["counters"]))
t.ok("7 counters for cycles" in checks["pmu"]["state"], "and one for cycles alone", checks["pmu"])
t.equal(checks["precise"]["verdict"], "limit", "samples are not precise on Arm, whatever the kernel takes")

# ---- processes that run already

for scene in ("pid", "tid"):
    near("-%s" % scene[0], value(scene, "instructions:u"), TURNS)
    t.equal(str(value(scene, "instructions:u")), perf("perf_pid", "instructions:u"), "-%s: as perf -p" % scene[0])

# ---- whole CPUs, cgroups, namespaces

# what the rest of the guest runs meanwhile: some 190,000 with Debian 13, as perf there says, too
near("-a: the CPU where it ran", value("cpus", "instructions:u", "CPU1"), TURNS, 300000)
near("-a: the other one", value("cpus", "instructions:u", "CPU0"), 0, 300000)
near("perf -a -A says so, too", int(perf("perf_cpus", "instructions:u", 1) or -1), 0, 300000)
near("cgroup a", value("cgroup", "instructions:u", "a"), TURNS, 20000)
near("cgroup b", value("cgroup", "instructions:u", "b"), 8 * 300000, 20000)
near("perf counts cgroup a so", int(perf("perf_cgroup", "instructions:u") or -1), TURNS, 20000)
t.ok("cgroup.subtree_control" in g.err("cgroup_none") and g.rc("cgroup_none") == 125,
     "stat: a cgroup without the controller perf_event is told from an event that is not there", g.err("cgroup_none"))
t.ok("cgroup.subtree_control" in g.err("cgroup_none_rec"), "record: the same", g.err("cgroup_none_rec"))
near("in a PID namespace", value("pidns", "instructions:u"), TURNS, 20000)
t.equal(g.out("pidns_inside"), g.out("pidns_rec.report"), "a recording made there is read the same outside")

# ---- a quota: 96 ms of CPU, 20 ms in each 100 ms. This kernel's stacks do not tell it; a CPU that is idle beside a thread that can run does

for scene, reason in (("quota", "preempted"), ("quota_cpus", "throttled")):
    stat = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", g.read(scene + ".stat"))}
    doc = json.loads(g.out(scene + ".report") or "{}")
    sums = {r["reason"]: r for r in doc.get("reasons", [])}
    theirs, ours = stat.get("throttled_usec", 0) / 1e6, sums.get(reason, {"seconds": 0, "waits": 0})
    # for 80 ms each time, but the first: its period has begun before
    t.ok(stat.get("nr_throttled", 0) >= 4 and theirs > 0.23, "%s: the kernel throttled the cgroup" % scene, stat)
    t.ok(abs(ours["seconds"] - theirs) <= 0.01 * theirs + 2e-3, "%s: %s for as long as the kernel says" % (scene, reason), (theirs, sums))
    near("%s: that often" % scene, ours["waits"], stat.get("nr_throttled", 0), 2 if reason == "throttled" else 20)
    running = sums.get("running", {"seconds": 0})["seconds"]
    t.ok(abs(running - stat.get("usage_usec", 0) / 1e6) <= 0.01 * running + 5e-3 and 0.09 < running < 0.13, "%s: it ran as long as the cgroup's usage" % scene, (running, stat))

# ---- recordings: both tools read the same, and what the program is

for scene, program, allowed in [("fixed", 1, 2), ("freq", 1, None), ("chains", 1, 2), ("mono", 1, 2), ("data", 1, 2), ("regs", 1, 2), ("packed", 1, 2),
                                ("pid_rec", 1, 2), ("cpus_rec", 1, 20), ("cgroup_rec", 1, 2), ("pidns_rec", 1, 2), ("perf_rec", 1, 2), ("fork_rec", 2, 4),
                                ("dwarf", 1, None), ("run", 1, None), ("throttle", 1, None), ("plug_rec", 1, None), ("off_rec", 1, None), ("jitter", 1, None)]:
    ours, perfs = shares(scene), by_perf(scene)
    t.ok(ours and {k: v[0] for k, v in ours.items()} == perfs, "%s: perf finds the same samples of the same functions" % scene,
         "\n".join("%s: %s, perf %s" % (k, ours.get(k), perfs.get(k)) for k in sorted(set(ours) | set(perfs)) if ours.get(k, (0,))[0] != perfs.get(k)))
    hot, cold = (ours.get(k, (0, 0))[1] for k in ("hot", "cold"))
    if scene == "throttle":
        continue  # which function loses samples is chance
    t.ok(hot and abs(hot / (hot + cold) - 0.75) < 0.04, "%s: hot() three times as often as cold()" % scene, (hot, cold))
    if allowed:
        samples = sum(v[0] for v in ours.values())
        near("%s: samples times period" % scene, samples * 50000, program * TURNS, allowed * 50000, allowed * 50000)
frames = chains_by_perf("chains")
t.ok(len(frames) > 400 and all(x[-3:] == ["work", "start", "_start"] for x in frames), "perf unwinds what record -g wrote", frames[:2])
# where there are no tables perf 6.1 shows the link register beside the same address in the chain
t.equal(sorted(map(tuple, frames)), sorted(map(tuple, chains_by_perf("perf_rec"))), "as it does its own, frame by frame")
for scene in ("chains", "perf_rec"):
    folded = dict(x.rsplit(" ", 1) for x in g.out(scene + ".callers").splitlines())
    t.equal(sorted(folded), ["loop;_start;start;work;cold", "loop;_start;start;work;hot"], "%s: so do we: callers, and nothing above the first" % scene)
# a function without a frame record: its caller is in the link register, which is recorded with -g as perf does
LEAF = ["leaf", "alone", "start", "_start"]
for scene in ("leaf", "perf_leaf"):
    frames = chains_by_perf(scene)
    t.ok(len(frames) > 300 and sum(x == LEAF for x in frames) >= len(frames) - 3, "%s: perf finds the caller of a leaf" % scene,
         [x for x in frames if x != LEAF][:5])
    folded = dict(x.rsplit(" ", 1) for x in g.out(scene + ".callers").splitlines())
    t.equal(int(folded.get("loop;" + ";".join(reversed(LEAF)), 0)), 50000 * sum(x == LEAF for x in frames), "%s: so do we, as often" % scene)
periods = [int(x) for x in g.out("jitter.periods").split()]
# a new period begins anew, at a moment by chance: each change costs half a period, give or take its deviation
changes = sum(a != b for a, b in zip(periods, periods[1:])) + 1
# a ring of one page holds some 80 samples: what a busy machine came too late for is counted as lost
lost = json.loads(g.out("jitter.info") or "{}").get("losses", {})
lost = max(lost.get("lost", 0) + lost.get("lost_samples", 0), lost.get("read_lost", 0))
near("--jitter: periods add up", sum(periods), TURNS, 60000, 22000 * (1 + changes / 2 + 4 * (changes / 12) ** 0.5 + lost))
t.ok(len(periods) > 400, "... and most of them are there", (len(periods), lost))
t.ok(len(set(periods)) > 1 and all(18000 <= p <= 22000 for p in periods), "--jitter: periods vary, within 10 %", sorted(set(periods)))
stats = {k: int(v) for k, v in re.findall(r"(\w+) events: +(\d+)", g.out("throttle.stats"))}
info = json.loads(g.out("throttle.info") or "{}").get("losses", {})
t.ok(stats.get("THROTTLE", 0) > 0 and info.get("throttles") == stats["THROTTLE"] and info.get("unthrottles") == stats.get("UNTHROTTLE"),
     "throttling is counted as perf counts it", (stats, info))
t.ok("throttled %d times" % stats.get("THROTTLE", -1) in g.err("throttle"), "and record says so", g.err("throttle"))
times = [float(x) for x in re.findall(r"([\d.]+): cycles:u:", g.out("mono.perf"))]
t.ok(times and times == sorted(times) and 0.02 < times[-1] - times[0] < 0.03, "-k mono: perf has the times", times[:2] + times[-2:])

# ---- somebody else holds counters

near("one counter left: extrapolated", value("held", "r08:u"), 96000098, 0.03 * 96e6, 0.03 * 96e6)
t.ok("groups took turns" in notes("held"), "and noted", notes("held"))
t.equal(value("held_all", "r08:u"), None, "no counter left: not counted")
t.ok("never on a counter" in counts("held_all").get("r08:u", {}).get("value_why", ""), "with the reason", counts("held_all"))
t.ok("extrapolated" not in notes("held_all"), "nothing was extrapolated, then", notes("held_all"))
t.ok(all(n["value"] is None for n in nodes("held_all_tree").values()) and "counters are held by somebody else" in notes("held_all_tree"),
     "nor is a tree", (nodes("held_all_tree"), notes("held_all_tree")))
for scene, text in [("held_doctor", "1 counter is free"), ("held_all_doctor", "0 counters are free")]:
    state = {c["name"]: c["state"] for c in json.loads(g.out(scene) or "{}").get("checks", [])}.get("counters", "")
    t.ok(state.startswith(text) and "perf (" in state, "doctor: %s, and by whom" % text, state)

# ---- CPUs that come and go

near("-a while a CPU goes: the other one is counted", value("plug", "instructions:u", "CPU0"), 3 * TURNS, 2000000)
t.ok("a CPU went offline" in notes("plug"), "that one went offline is noted", notes("plug"))
t.equal(counts("plug", "CPU1").get("instructions:u", {}).get("note"), "until its CPU went offline", "and at its counts")
t.ok("a CPU went offline" in notes("plug_tree"), "at a tree, too", notes("plug_tree"))
rows = [c for x in g.read("plug_interval.json").splitlines() for c in json.loads(x).get("counts", []) if c["where"] == "CPU1"]
gone = [c["value"] is None for c in rows]
t.ok(rows and gone[-1] and not gone[0] and gone == sorted(gone), "intervals: once it is gone it has no values", rows)
t.ok("CPU 1 went offline" in g.err("plug_rec"), "record names it", g.err("plug_rec"))
t.equal(sorted({c["where"] for c in g.json("off").get("counts", [])}), ["CPU0"], "-a on the CPUs that are on")
near("these are counted", value("off", "instructions:u", "CPU0"), TURNS, 200000)
t.done()
