#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --account on simulated machines: what is asked for, that perf opens it, that counts and the shares of time that samples
tell are those that were planted, with turns and with periods that vary."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from account_made import account_of  # noqa: E402
from kernel_names import few_names  # noqa: E402
from sim import SPIN, SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, KERNEL, PERF, SANITIZED, Tap, run  # noqa: E402

t = Tap()

# ---- without a simulated machine
probe = run("stat", "-e", "cycles", "--", "true")
if probe.returncode == 125:
    p = run("record", "--account", "-o", "/nonexistent/x", "--", "sh", "-c", "echo ran >/tmp/never")
    t.ok(p.returncode == 125 and len(p.stderr.splitlines()) == 5 and "no cycle counter" in p.stderr and not p.stdout,
         "no PMU: five lines, 125, not started", p.stderr)
else:
    t.skip("no PMU", "there is one here")
p = run("record", "--account", "--dry-run", "--model", "spr", "--", "true")
t.ok(p.returncode == 0 and "CPU_CLK_UNHALTED.THREAD" in p.stdout and p.stdout.startswith("spr "), "--dry-run of another CPU's model needs no PMU", p.stderr)
t.equal(run("record", "--account", "--dry-run", "--cpu", "spr", "--", "true").stdout, p.stdout, "--cpu MODEL is --model MODEL")
for args, what in [(["--account=Lod_Latency"], "Load_Latency"), (["--account", "-e", "cycles"], "its own"), (["--account", "-c", "1000"], "its own"),
                   (["--account", "-F", "1000"], "its own"), (["--account", "-g=lbr"], "exclude"), (["--account", "--jitter=90"], "--jitter"),
                   (["--jitter"], "--jitter"), (["--jitter=x", "-c", "1000"], "--jitter")]:
    p = run("record", "--model", "spr", "--dry-run", *args, "--", "true")
    t.ok(p.returncode == 125 and 1 <= len(p.stderr.splitlines()) <= 3 and what.replace("its own", "of its own") in p.stderr,
         "wrong: record %s" % " ".join(args), p.stderr)
whole = run("record", "--account", "--dry-run", "--model", "spr", "--", "true").stdout
part = run("record", "--account=Load_Latency", "--dry-run", "--model", "spr", "--", "true").stdout
names = [set(re.findall(r"^   (\S+) +[\d,]+  ", x, re.M)) for x in (whole, part)]
t.ok(names[1] < names[0] and {"CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC", "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM"} <= names[1] and
     not any("PORT" in n or "ITLB" in n for n in names[1]), "--account=NODE: that node's events, the clocks, no others", sorted(names[1]))

# what everything is divided by has a counter to itself, where no fixed one counts it either
for model, event in (("zen1", "ls_not_halted_cyc"), ("zen4", "ls_not_halted_cyc"), ("zen5", "ls_not_halted_cyc"), ("ivb", "CPU_CLK_UNHALTED.THREAD")):
    said = run("record", "--account", "--dry-run", "--model", model, "--", "true").stdout
    always = said.split(" always\n")[1].split(" group ")[0] if " always\n" in said else ""
    t.ok(re.search(r"%s +2,000,003 +500 in 1e9" % re.escape(event), always), "%s: cycles are pinned" % model, said[:400])

if SANITIZED or not PERF:
    t.skip("recordings", "under a sanitizer a share of the simulated machines has to do: tree, drill, run, record" if SANITIZED else "no perf here")
    t.done()
tmp = tempfile.mkdtemp(prefix="cyclade-account-")


def accounts_of(p):
    """The accounts of a report, by kind of cores."""
    doc = json.loads(p.stdout) if p.returncode == 0 else {"accounts": []}
    return {a["pmu"]: account_of(doc, k) for k, a in enumerate(doc["accounts"])}


class Truth(collections.Counter):
    """Counts of each event, had it always been on a counter; what samples stand for, to the last of each counter."""

    def __init__(self):
        super().__init__()
        self.until, self.dropped, self.counters = collections.Counter(), collections.Counter(), collections.Counter()

    def sums_up(self, code, periods, period, least=0.9):
        """What was counted until the last samples is in them, to a period of each counter, but for what the kernel drops
        when a period is changed: less than one, in at least a hundred."""
        return (abs(periods + self.dropped[code] - self.until[code]) <= self.counters[code] * period and
                least * self[code] <= self.until[code] <= 1.0001 * self[code] and
                self.dropped[code] <= 0.01 * self[code] + self.counters[code] * period)


def sim(machine, program, *args, ms=1500, options="", command=None):
    """A recording of sim_spin: the process, and what was true of each event (summed over contexts)."""
    truth = os.path.join(tmp, "truth")
    if os.path.exists(truth):
        os.unlink(truth)
    p = run_on(machine, program, CYCLADE, "record", *SYSROOT, "-o", tmp + "/data", *args, *(command or ["--", SPIN, str(ms)]),
               settings=options, timeout=600, SIM_TRUTH=truth)
    true = Truth()
    if os.path.exists(truth):
        for line in open(truth):
            w = line.split()
            code = int(w[2], 16), int(w[3], 16)
            true[code] += float(w[9])
            true.until[code] += float(w[10])
            true.dropped[code] += float(w[11])
            true.counters[code] += 1
    return p, true


def perf(command, *args):
    few = few_names(tmp) if command != "evlist" else ()  # which reads no names
    return subprocess.run([PERF, command, *few, *args], text=True, capture_output=True, errors="replace", timeout=600,
                          stdin=subprocess.DEVNULL).stdout


class Samples:
    """What perf says of each event: samples, sum of periods, different periods, branch stacks, and the last times of each
    (tid, cpu); of whole CPUs, (cpu, cpu)."""

    def __init__(self, data, whole=False):
        self.n, self.sum, self.periods = collections.Counter(), collections.Counter(), collections.defaultdict(set)
        self.by_cpu = collections.defaultdict(set)
        self.times, self.stacks = collections.defaultdict(dict), collections.Counter()
        enabled = cpu = period = stack = None
        for line in perf("script", "-i", data, "-D").splitlines():
            m = re.match(r"(?:(\d+) )?\d+ 0x\w+ \[0x\w+\]: PERF_RECORD_SAMPLE\(IP, 0x\w+\): \d+/(\d+): 0x\w+ period: (\d+)", line)
            if m:
                cpu, tid, period, stack = int(m[1] or 0), int(m[2]), int(m[3]), False
            elif "... branch stack: nr:" in line:
                stack = not line.endswith("nr:0")
            elif "... time enabled" in line:
                enabled = int(line.split()[-1], 16)
            elif "... time running" in line:
                running = int(line.split()[-1], 16)
            elif period is not None and (m := re.match(r"\s*\S+ +\d+ +(?:\[\d+\] +)?[\d.]+: +\d+ +(\S+):(?:\s|$)", line)):
                self.n[m[1]] += 1
                self.sum[m[1]] += period
                self.periods[m[1]].add(period)
                self.by_cpu[m[1], cpu].add(period)
                self.stacks[m[1]] += stack
                if enabled is not None:
                    self.times[m[1]][cpu if whole else tid, cpu] = enabled, running
                period = None

    def share(self, name):
        """Of each thread: it was wanted wherever it ran, and has a counter on each CPU."""
        enabled, running = collections.Counter(), collections.Counter()
        for (tid, cpu), (e, r) in self.times[name].items():
            enabled[tid] = max(enabled[tid], e)
            running[tid] += r
        return sum(running.values()) / sum(enabled.values())


p, true = sim("spr", "dram_bound", "--account", ms=20)
if p.returncode or not true:
    t.no_simulation("recordings", p.stderr)
    shutil.rmtree(tmp)
    t.done()
if "does not tell" in p.stderr:
    t.skip("recordings", "this kernel does not tell times of inherited counters (Linux 6.12)")
    shutil.rmtree(tmp)
    t.done()

for machine, program in [("spr", "dram_bound"), ("ivb", "even"), ("skl", "l3_bound")]:
    tell = "%s %s: " % (machine, program)
    dry, _ = sim(machine, program, "--account", "--dry-run")
    planned, share = {}, None
    for line in dry.stdout.splitlines():
        if re.match(r" always|^ group", line):
            share = 1 if "always" in line else int(re.search(r"(\d+) % of", line)[1]) / 100
        elif m := re.match(r"   (\S+) +([\d,]+)  ", line):
            planned[m[1]] = int(m[2].replace(",", "")), share
    t.ok(len(planned) > 40 and sum(s == 1 for _, s in planned.values()) == 3, tell + "a plan, three with counters of their own", dry.stdout + dry.stderr)
    p, true = sim(machine, program, "--account")
    code = {m[1]: (int(m[2], 16), int(m[3] or "0", 16)) for m in
            re.finditer(r"^(\S+): type: \d+[^,]*, size: \d+, config: (\w+)(?:.*?config1(?: \})?: (\w+))?", perf("evlist", "-i", tmp + "/data", "-v"), re.M)}
    t.equal(set(code), set(planned), tell + "perf lists the events of the plan, by our names")
    s = Samples(tmp + "/data")
    t.ok(p.returncode == 0 and re.search(r"([\d,]+) samples", p.stderr)[1].replace(",", "") == str(sum(s.n.values())), tell + "perf has as many samples",
         (p.stderr, sum(s.n.values())))
    t.ok(perf("report", "-i", tmp + "/data", "--stdio").count("# Samples:") > 3, tell + "perf report opens it")
    bad = {e: (round(s.share(e), 3), planned[e][1]) for e in s.n if s.n[e] >= 20 and abs(s.share(e) - planned[e][1]) > 0.03}
    t.ok(not bad, tell + "samples tell the shares of time that were planned", bad)
    # as counted, each sample; with each counter's own share, to the end of the last turns, what there was
    cycles = "CPU_CLK_UNHALTED.THREAD"
    bad = {e: (s.sum[e], true.until[code[e]], true.dropped[code[e]], true[code[e]]) for e in s.n
           if not true.sums_up(code[e], s.sum[e], max(s.periods[e]), 0.9 * (planned[e][1] == 1))}
    t.ok(not bad and len(s.n) > 30, tell + "the periods in the samples of each event sum up to what it counted", bad)
    bad = {e: (s.sum[e] / s.share(e), true[code[e]], s.n[e]) for e in s.n
           if s.n[e] >= 30 and abs(s.sum[e] / s.share(e) / true[code[e]] - 1) > 0.05 + 2 / s.n[e]}
    t.ok(not bad and sum(n >= 30 for n in s.n.values()) >= 8, tell + "occurrences are those that were planted", bad or s.n)
    # perf, and cyclade, make of counters that are read the sums of what they gained: where none was lost, all there was
    theirs = re.search(r"event '%s'\n# Event count \(approx\.\): (\d+)" % re.escape(cycles), perf("report", "-i", tmp + "/data", "--stdio"))
    t.ok(theirs and abs(int(theirs[1]) - true.until[code[cycles]]) < true.counters[code[cycles]] * max(s.periods[cycles]),
         tell + "so are the values that samples read", (theirs and theirs[1], true.until[code[cycles]]))
    # and so the account: occurrences times penalties, those of the reference clock by the two clocks' ratio
    r = run("report", "--account", "-j", tmp + "/data")
    doc = account_of(json.loads(r.stdout)) if r.returncode == 0 else {"nodes": {}, "clock_ratio": 0}
    ratio = true[code[cycles]] / true[code["CPU_CLK_UNHALTED.REF_TSC"]]
    t.ok(abs(doc["clock_ratio"] / ratio - 1) < 0.02, tell + "report --account: the clocks' ratio", (doc["clock_ratio"], ratio, r.stderr))
    ran = sum(float(w[7]) for w in (x.split() for x in open(tmp + "/truth")) if (int(w[2], 16), int(w[3], 16)) == code[cycles])
    ghz = true[code[cycles]] / ran
    t.ok(doc.get("ghz") and abs(doc["ghz"] / ghz - 1) < (0.03 if KERNEL else 0.2), tell + "report --account: the core's frequency", (doc.get("ghz"), ghz))
    bad, n = {}, 0
    for node in doc["nodes"].values():
        x = node
        if node["event"] not in code or code[node["event"]] not in true or x["samples"] < 30:
            continue
        want = true[code[node["event"]]] * (node["penalty"] or 1) * (ratio if node["reference"] else ghz if node["ns"] else 1)
        n += 1
        if abs(x["value"] - want) > 2 * x["value_error"] + 0.04 * want:
            bad[node["node"]] = (x["value"], x["value_error"], want)
    t.ok(n >= 10 and not bad, tell + "report --account: %d nodes as they were planted" % n, bad)
    nominal = planned[cycles][0]
    t.ok(len(s.periods[cycles]) > 5 and all(0.9 * nominal <= x <= 1.1 * nominal for x in s.periods[cycles]), tell + "periods vary by 10 %",
         sorted(s.periods[cycles]))
    stacks = re.findall(r"^(\S+): type.*BRANCH_STACK", perf("evlist", "-i", tmp + "/data", "-v"), re.M)
    t.ok(len(stacks) == 1 and "LBR_INSERTS" in stacks[0], tell + "branch records with the event that counts them, and with no other", stacks)

# this simulated machine has no branches to count by: the event with the stacks has no sample, and nobody left it out
p = run("calls", tmp + "/data") if sim("spr", "even", "--account", ms=200)[0].returncode == 0 else None
t.ok(p and p.returncode == 0 and "has no sample" in p.stdout and "by options" not in p.stdout and "event counts the branches" not in p.stdout,
     "calls, of a branch event without samples: says that, and blames no option", p and p.stdout)
for machine, cycles in [("n1", "CPU_CYCLES"), ("n2", "CPU_CYCLES"), ("zen4", "ls_not_halted_cyc")]:
    p, true = sim(machine, "even", "--account", ms=300)
    r = run("report", "--account", "-j", tmp + "/data")
    node = json.loads(r.stdout)["nodes"][0] if r.returncode == 0 else {}
    s = Samples(tmp + "/data")  # whose share is that of all CPUs together
    t.ok(node.get("event") == cycles and abs(node["value"] * s.share(cycles) / s.sum[cycles] - 1) < 0.1,
         "%s: its cycles, and an account of them" % machine, (node, s.sum[cycles], s.share(cycles), r.stderr, p.stderr))
    # 300 ms at 3 cycles a ns, but what comes after the last turn: 10 groups of 4 ms at most, and a sample of each CPU
    most = 1.05 + 2 / s.n[cycles] + node["value_error"] / 0.9e9  # groups that took turns: as sure as its error says
    t.ok(0.8 - 2 / s.n[cycles] < node["value"] / 0.9e9 < most, "%s: all of them" % machine, (node, s.n[cycles]))
# ---- two kinds of cores: a tree for each, of what ran there. Counters of tasks are wanted on both, and each counts on its own.
p, true = sim("adl", "even", "--account", command=["--", SPIN, "1200", "150", "90"])
if p.returncode == 2 or "Resource" in p.stderr or (os.cpu_count() or 1) < 2 or len(os.sched_getaffinity(0)) < 2:
    t.skip("a hybrid", "two CPUs are needed")
else:
    text = run("report", "--account", tmp + "/data")
    kinds = re.findall(r"^ [\d.]+ \w cycles, .*\((cpu_\w+)\)$", text.stdout, re.M)
    t.ok(text.returncode == 0 and kinds == ["cpu_core", "cpu_atom"] and "nan" not in text.stdout and "not in a tree" not in text.stdout and
         text.stdout.count(" lost ") == 1, "a hybrid has a tree for each kind of cores, and every event is of one", text.stdout + text.stderr)
    r = run("report", "--account", "-j", tmp + "/data")
    docs = accounts_of(r)
    want = {"cpu_core": {"Cycles": 0x3c, "Reference_Cycles": 0x300, "Instructions": 0xc0, "Branches": 0xc4, "Locked_Loads": 0x21d0},
            "cpu_atom": {"Cycles": 0x3c, "Reference_Cycles": 0x300, "Instructions": 0xc0, "Branches": 0xc4, "Locked_Loads": 0x21d0}}
    by_pmu = collections.Counter()
    for line in open(tmp + "/truth"):
        w = line.split()
        by_pmu[w[0], int(w[2], 16)] += float(w[9])
    bad = {}
    for pmu, nodes in want.items():
        have = docs.get(pmu, {"nodes": {}})["nodes"]
        for name, config in nodes.items():
            true_count = by_pmu[pmu, config]
            x = have.get(name)
            # of a kind of cores that had the program for a few turns of the groups: as sure as its error says
            if not true_count or not x or abs(x["value"] - true_count) > 0.04 * true_count + max(3 * x["samples"] ** -0.5 * true_count, 2 * x["value_error"]):
                bad[pmu, name] = x, true_count
    t.ok(set(docs) == set(want) and not bad, "each tree's occurrences are those that were planted on its cores", bad)
    rows = {pmu: {r.get("function") for r in d["rows"]} for pmu, d in docs.items()}
    t.ok(docs and all("main" in x for x in rows.values()), "rows of both", rows)
    lines = [x.split(",") for x in run("report", "--account", "--format", "csv", "--table", "nodes", tmp + "/data").stdout.splitlines()]
    t.ok(lines[0][:2] == ["pmu", "node"] and {x[0] for x in lines[1:]} == set(want) and len({tuple(x[:2]) for x in lines}) == len(lines), "csv: the tree of each, by pmu")
    lines = [x.split(",") for x in run("report", "--account", "--format", "csv", tmp + "/data").stdout.splitlines()]
    t.ok(lines[0][0] == "pmu" and {x[0] for x in lines[1:]} == set(want) and len({len(x) for x in lines}) == 1 and
         len(set(lines[0])) == len(lines[0]) and {"Port_Saturation", "Retired_Width"} < set(lines[0]), "csv: rows of both, with the nodes of both trees", lines[0])
    for model, pmu in [("adl-glc", "cpu_core"), ("adl-grt", "cpu_atom")]:
        one = run("report", "--account", "-j", "--model", model, tmp + "/data")
        got = accounts_of(one)
        t.ok(list(got) == [pmu] and got[pmu]["nodes"]["Cycles"] == docs[pmu]["nodes"]["Cycles"], "--model %s: the tree of %s alone" % (model, pmu),
             one.stderr)
    with open(tmp + "/mine", "w") as f:  # a node of one tree alone, and one of the other
        f.write("Local_DRAM 1 ns\nCalls 5\n")
    r = run("report", "--account", "-j", "--penalties", tmp + "/mine", tmp + "/data")
    got = {pmu: {name: n["penalty"] for name, n in d["nodes"].items()} for pmu, d in accounts_of(r).items()}
    t.ok(set(got) == set(want) and got["cpu_core"]["Local_DRAM"] == 1 and all(d["Calls"] == 5 for d in got.values()),
         "--penalties: each line for the trees that have it", r.stderr)
    p = run("annotate", "--account", "main", "-i", tmp + "/data")
    t.ok(p.returncode == 0 and "of cpu_core" in p.stdout, "annotate: of the cores with the most cycles, and says so", p.stdout[-600:] + p.stderr)
    p = run("report", "--account", "--comm", "nobody", tmp + "/data")
    t.ok(p.returncode == 0 and "nothing to account for" in p.stdout and "nan" not in p.stdout, "no samples: no shares of nothing", p.stdout)

p, true = sim("spr", "even", "--account=Taken_Branches", ms=500)
s = Samples(tmp + "/data")
t.ok(p.returncode == 0 and s.n["BR_INST_RETIRED.NEAR_TAKEN"] > 20 and
     {e for e in s.stacks if s.stacks[e]} == {"BR_INST_RETIRED.NEAR_TAKEN"} and s.stacks["BR_INST_RETIRED.NEAR_TAKEN"] == s.n["BR_INST_RETIRED.NEAR_TAKEN"],
     "without such an event, taken branches have them: each sample", s.stacks)
p, true = sim("spr", "dram_bound", "--account=Load_Latency", "--jitter=0", "-g", ms=500)
s = Samples(tmp + "/data")
t.ok(p.returncode == 0 and s.n and all(len(x) == 1 for x in s.periods.values()), "--jitter=0: each event has the one period", s.periods)
t.ok("callchain" in perf("evlist", "-i", tmp + "/data", "-v").lower(), "-g: with call chains", p.stderr)
p, true = sim("spr", "even", "--account", "-a", command=["--", SPIN, "300"])
if p.returncode == 0:
    s = Samples(tmp + "/data", whole=True)
    t.ok(s.n["CPU_CLK_UNHALTED.THREAD"] > 100 and abs(s.share("CPU_CLK_UNHALTED.THREAD") - 1) < 0.01, "-a: of whole CPUs", (p.stderr, s.n))
    few = [e for e in s.n if s.n[e] < 100]
    first = {e: [v for (name, _), v in s.by_cpu.items() if name == e] for e in few}
    t.ok(few and all(len(v) == 1 for x in first.values() for v in x), "before its hundredth sample a counter keeps its period", first)
    many = [x for x in first.values() if len(x) > 1]
    t.ok(not many or any(len(set().union(*x)) > 1 for x in many), "each CPU's counter has a period of its own", many)
else:
    t.skip("-a", "not permitted here")

# ---- counters that others have
p, true = sim("spr", "even", "--account", ms=300, options="held_fixed=2")
t.ok(p.returncode == 0 and "lost their place" not in p.stderr, "a counter that somebody else has from the start: the plan does without", p.stderr)
p, true = sim("spr", "even", "--account", ms=300, options="held_fixed=2 held_from=100")
t.ok(p.returncode == 0 and "lost their place" in p.stderr, "a counter of its own that somebody else takes: it is said", p.stderr)
p, true = sim("spr", "even", "--account", ms=300, options="precise=0")
t.ok(p.returncode == 0 and "less precise" in p.stderr and Samples(tmp + "/data").n["MEM_LOAD_RETIRED.L1_MISS"] > 0,
     "where nothing is precise: recorded all the same, and said", p.stderr)
read = set(re.findall(r"sample_type: (\S+?),", perf("evlist", "-i", tmp + "/data", "-v")))
t.ok(read and all("READ" in x for x in read), "and the times are not lost with the precision", read)

# ---- fixed periods that vary, of one event: the sum is the count
p, true = sim("ivb", "even", "-e", "r003c", "-c", "100003", "--jitter=20", ms=600)
s = Samples(tmp + "/data")
t.ok(len(s.periods["r003c"]) >= 4 and true.sums_up((0x3c, 0), s.sum["r003c"], max(s.periods["r003c"])),
     "--jitter: the periods in the samples sum up to the count", (s.sum, true, true.until, true.dropped, s.periods))
shutil.rmtree(tmp)
t.done()
