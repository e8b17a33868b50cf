#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade run` on simulated machines: the tree that was planted and the hot function come out of one run, and the
counter of the samples is taken into account: it always counts, and no group starves beside it."""
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, command, environment, planted, tree  # noqa: E402
from tables import walk  # noqa: E402
from tap import CYCLADE, PERF, SANITIZED, SIMULATED, Tap, child_of, taken, wait_for  # noqa: E402
from trees import trees  # noqa: E402

# machine, settings, program, where the path has to lead
CASES = [("ivb", "", "icache_misses", "icache_misses"), ("ivb", "smt=1 watchdog=1", "dram_bound", "memory_bound"),
         ("skl", "watchdog=1", "store_bound", "store_bound"), ("icl", "", "l2_bound", "l2_bound"),
         ("spr", "", "dram_bound", "l3_miss_bound"), ("spr", "smt=1 watchdog=1", "microcode", "microcode_sequencer"),
         ("adl", "", "branch_mispredicts", "branch_mispredicts"), ("zen4", "smt=1", "backend_bound_cpu", "backend_bound_cpu"),
         ("n2", "", "branch_miss", "bad_speculation")]
SHORT = (SPIN, "100")  # where what is told matters, not how much there is of it
NODE = re.compile(r"[├└] (\w+…?)\s+(-?[\d.]+) %(?: \+-<?([\d.]+))?(.*)")
MS = 1000000
kept = {}  # by machine and program: what such a run said, and a copy of its recording
t = Tap()
tmp = tempfile.TemporaryDirectory()


def words(machine, program, *more):
    return command(machine, program, CYCLADE, *more)


def env(machine, settings="", **more):
    return environment(machine, settings, LC_ALL="C.UTF-8", HOME=tmp.name, **more)  # names come from no cache


SPUN = "1200" if SANITIZED else "300"  # the more slowly counters are read, the longer until a path is decided


def run(machine, program, *options, settings="", what=(SPIN, SPUN), **more):
    return subprocess.run(words(machine, program, "run", *SYSROOT, "--data", DATA, *options, "--", *what),
                          env=env(machine, settings, **more), text=True, capture_output=True, timeout=600,
                          stdin=subprocess.DEVNULL)


def nodes_of(text):
    return {n: (float(v) / 100, float(err or 0) / 100, "<==" in rest) for n, v, err, rest in NODE.findall(text)}


def truth(path):
    """[(name, cpu, enabled, running, PMU)] of what was open on the program."""
    rows = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            w = line.split()
            rows.append((w[1], int(w[5]), int(w[6]), int(w[7]), w[0]))
    os.remove(path)
    return rows


def check(machine, settings, program, where):
    name, log = "%s %s%s%s" % (machine, program, settings and ", ", settings), os.path.join(tmp.name, "truth")
    r = run(machine, program, settings=settings, SIM_TRUTH=log)
    if not settings and os.path.exists(DATA):
        kept[machine, program] = r, shutil.copy(DATA, os.path.join(tmp.name, "%s-%s.data" % (machine, program)))
    nodes, want = nodes_of(r.stderr), planted(machine, program)
    known = [n for n in want if n in nodes]
    wrong = [(n, nodes[n], want[n]) for n in known if abs(nodes[n][0] - want[n]) > max(2 * nodes[n][1], 0.006)]
    # with SMT the small program is half of what the core does, on machines whose counters are the core's
    if "smt" in settings and machine == "ivb":
        known, wrong = want, []
    t.ok(r.returncode == 0 and len(known) >= 4 and not wrong, "%s: shares are those planted (%d nodes)" % (name, len(known)),
         "%s\n%s" % (wrong, r.stderr))
    # on a busy machine a node may be counted too seldom for more than its bounds ("21-42 %"): then it is explained, not marked
    bounds = re.search(r"[├└] %s +[\d.]+-[\d.]+ %%" % where, r.stderr) and "cyclade explain %s " % where in r.stderr
    t.ok(nodes.get(where, (0, 0, False))[2] or bounds, "%s: the path leads to %s" % (name, where), r.stderr)
    # of a hybrid's kinds of cores the program may have been on one for its beginning only
    hot = re.findall(r"where +share\n (\S+) .* ([\d.]+) %", r.stderr)
    t.ok(any(name in ("main", "burn") and float(share) > 60 for name, share in hot), "%s: and the hot function is told" % name,
         r.stderr + subprocess.run([CYCLADE, "report", "-v", DATA], text=True, capture_output=True, check=False).stdout[-2000:])
    rows = truth(log)
    ran = {x[4] for x in rows if x[1] < 0 and x[3]}  # of a hybrid's cores those it ran on
    samples = [x for x in rows if x[1] >= 0 and x[2] > 0 and x[4] in ran]
    # (the large cores of this machine may be on a CPU of ours where the program never came)
    t.ok((samples or machine == "adl") and all(x[2] == x[3] for x in samples), "%s: what samples is never without its counter" % name, samples)
    # a group's turn comes every few ms; who counted for a tenth of the run had some
    starved = [x for x in rows if x[1] < 0 and x[4] in ran and x[2] > 100 * MS and x[3] < 0.01 * x[2]]
    t.ok(not starved and ran, "%s: and no group starves beside it" % name, starved)
    t.ok(not re.search(r"refused|could not be opened|lost their place", r.stderr), "%s: none is refused" % name, r.stderr)


if not SIMULATED:
    t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
DATA = os.path.join(tmp.name, "run.data")
if run("ivb", "even", what=["true"]).returncode:
    t.skip("all of it", "no counting here")
    t.done()
for case in CASES:
    check(*case)

# ---- the screen: verdict, place, next commands, trust
r = kept["spr", "dram_bound"][0]
at = [r.stderr.find(x) for x in (" sampled: cycles:P; the tree", " slots ", " where ", " next: cyclade annotate ", "took turns",
                                 " samples in ")]
t.ok(-1 not in at and at == sorted(at), "tree, places, next commands, what to believe: in this order", r.stderr)
step = re.findall(r"cyclade (explain \S+|stat -l \d)", r.stderr)
t.equal([x.split()[0] for x in step], ["explain", "stat"], "explain and stat -l are among the next commands")
for s in step:
    p = subprocess.run(words("spr", "dram_bound", *s.split(), *SYSROOT, *(["--", SPIN, "50"] if "stat" in s else [])),
                       env=env("spr"), text=True, capture_output=True, timeout=600, stdin=subprocess.DEVNULL)
    t.ok(p.returncode == 0, "'%s' works when typed" % s, p.stdout + p.stderr)
for machine in ("spr", "adl"):  # the tree keeps its columns, a command to type is never broken
    r = run(machine, "dram_bound", what=SHORT, COLUMNS="60")
    wide = [x for x in r.stderr.splitlines() if len(x) > 60 and not re.search("cyclade |^ slots |[├└] ", x)]
    t.ok(r.returncode == 0 and r.stderr and not wide, "%s: what is told keeps to 60 columns" % machine, "\n".join(wide) or r.stderr)
if PERF:
    path = kept["spr", "dram_bound"][1]  # of a hybrid a part may be in the other event's report
    p = subprocess.run([PERF, "evlist", "-v", "-i", path], text=True, capture_output=True)
    t.ok(p.returncode == 0 and "pinned: 1" in p.stdout, "perf reads the recording: what samples was pinned", p.stdout + p.stderr)
    p = subprocess.run([PERF, "report", "--stdio", "-i", path], text=True, capture_output=True, errors="replace")
    t.ok(re.search(r"9\d\.\d+%.*main|8\d\.\d+%.*main", p.stdout), "and agrees on the hot function", p.stdout[:2000])
else:
    t.skip("perf reads the recording", "no perf here")

run("adl", "even", what=SHORT)
if PERF:
    p = subprocess.run([PERF, "evlist", "-v", "-i", DATA], text=True, capture_output=True)
    t.equal((len(re.findall(r"^cpu_\w+/cycles/P: ", p.stdout, re.M)), len(re.findall(r"^dummy:u: .* mmap: 1", p.stdout, re.M))), (2, 1),
            "one event tells of mappings on each kind of core")


# ---- for programs: the tree that people are shown, and the functions, in one document
for machine, program in [("spr", "dram_bound"), ("adl", "even"), ("mtl", "even")]:
    r = run(machine, program, "-j", "-l", "2", what=(SPIN, "200"))
    d = json.loads(r.stderr)
    shown = subprocess.run([CYCLADE, "report", "-i", DATA, "--limit", "1"], text=True, capture_output=True,
                                            env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
    nodes = {n["node"].split(".")[-1]: n["value"] for v in trees(d) for n in v["nodes"] if n["value"] is not None}
    people = nodes_of(shown)
    t.ok(len(people) >= 4 and all(abs(nodes.get(n, -1) - v[0]) < 0.0006 for n, v in people.items()),
         "%s: json has the shares that report shows" % machine, "%s %s" % (nodes, people))
    t.ok(all(0 <= n["value"] <= 1 if n["value"] is not None else n["value_why"] for v in trees(d) for n in v["nodes"]),
         "%s: json: a fraction, or why there is none" % machine, trees(d))
    tables = [[x for x in d["functions"] if x["event"] == e["event"]] for e in d["events"] if e["samples"]]
    f = max(tables, key=lambda x: sum(y["samples"] for y in x))  # on which kind of core the program ran is the scheduler's
    t.ok(f[0]["function"] in ("main", "burn") and all(abs(sum(x["share"] for x in y) - 1) < 1e-9 for y in tables),
         "%s: json has the functions" % machine, [y[:3] for y in tables])
    r = run(machine, program, "--format", "csv", "--table", "nodes", "-l", "2")
    rows = list(csv.DictReader(io.StringIO(r.stderr)))
    want = planted(machine, program)
    got = {x["node"].split(".")[-1]: x for x in rows if x["value"]}
    wrong = [(n, got[n]["value"], v) for n, v in want.items() if n in got and abs(float(got[n]["value"]) - v) > max(2 * float(got[n]["value_error"] or 0), 0.006)]
    t.ok(len([n for n in want if n in got]) >= 4 and not wrong, "%s: csv has the shares planted" % machine, "%s\n%s" % (wrong, r.stderr[:2000]))
    r = run(machine, program, "--format", "csv", "-l", "2", what=SHORT)
    rows += csv.DictReader(io.StringIO(r.stderr))
    t.ok(any(x.get("function") in ("main", "burn") for x in rows) and all(None not in x and None not in x.values() for x in rows),
         "%s: csv: nodes or functions, all columns" % machine, r.stderr[:2000])
r = run("spr", "dram_bound", "--format", "markdown")
t.ok(re.search(r"^\| backend\\_bound \| 58\.\d %", r.stderr, re.M) and re.search(r"^\| .*\| main \| ", r.stderr, re.M), "markdown has both", r.stderr)
r = run("spr", "dram_bound", "--no-tree", "-j", what=SHORT)
t.equal(json.loads(r.stderr)["no_tree"], "--no-tree", "json says why there is no tree")


# ---- the recording has the tree, for later
def tree_lines(text):
    return [x for x in text.splitlines() if re.match(r" (slots|[│├└ ]+ ?\w+.* %|\d+ groups of|nothing ran|cpu_\w+$)", x)]


for machine, program in [("spr", "dram_bound"), ("adl", "branch_mispredicts"), ("ivb", "icache_misses")]:
    r, path = kept[machine, program]
    p = subprocess.run([CYCLADE, "report", "-i", path, "--limit", "2"], text=True, capture_output=True,
                       env=dict(os.environ, LC_ALL="C.UTF-8"))
    mine, later = tree_lines(r.stderr.split(" where ")[0]), tree_lines(p.stdout.split(" share ")[0])
    t.ok(len(mine) > 5 and [x for x in later if x in mine] == mine, "%s: report shows the tree as run did" % machine,
         "missing: %s\nof: %s\n%s" % ([x for x in mine if x not in later], later, r.stderr + p.stdout))
    d = json.loads(subprocess.run([CYCLADE, "report", "-i", path, "-j"], text=True, capture_output=True).stdout)
    flat = {x["node"]: (x["value"], x["value_error"] or 0, x["path"]) for x in d["tree"] if not x["sum"]}
    shown = nodes_of(r.stderr)
    t.ok(len(shown) > 4 and all(abs(flat[n.split("…")[0]][0] - v[0]) < 0.0006 and flat[n][2] == v[2] for n, v in shown.items()
                                if n in flat) and set(shown) <= set(flat) | {x for x in shown if x.startswith("other")},
         "%s: report -j has its shares and its path" % machine, "%s %s" % (flat, shown))
    at = {(x["where"], x["id"]): x for x in d["tree"]}
    walk(t, "report", path)
    above = [(x, at[x["where"], x["parent"]]) for x in d["tree"] if x["parent"]]
    t.ok(above and all(up["id"] == x["parent"] < x["id"] for x, up in above) and
         {(x["node"], up["node"]) for x, up in above} & {("memory_bound", "backend_bound"), ("branch_mispredicts", "bad_speculation"),
                                                         ("icache_misses", "fetch_latency")} and d["tree_cpu"] in r.stderr,
         "%s: report -j: rows name their parents, who stand before them" % machine, d)
    t.ok(all(x["value"] is not None or x["value_why"] for x in d["tree"]), "%s: report -j: a value, or why not" % machine, d)
    notes = [x for x in ("took turns", "nothing ran on") if x in r.stderr]
    t.ok(notes and all(x in p.stdout for x in notes), "%s: and what to believe of it" % machine, p.stdout)
p = subprocess.run([CYCLADE, "info", "-v", "-i", path], text=True, capture_output=True)
t.ok("not known" not in p.stdout, "info knows what it is", p.stdout)
run("spr", "even", "--no-tree", what=SHORT)
p = subprocess.run([CYCLADE, "report", "-i", DATA], text=True, capture_output=True)
t.ok("counted beside" not in p.stdout, "without a tree there is none", p.stdout)
d = json.loads(subprocess.run([CYCLADE, "report", "-i", DATA, "-j"], text=True, capture_output=True).stdout)
t.equal((d["tree"], d["no_tree"]), ([], "the recording has none"), "nor in json")

# ---- options
r = run("spr", "dram_bound", "--no-tree", what=SHORT, SIM_TRUTH=os.path.join(tmp.name, "truth"))
rows = truth(os.path.join(tmp.name, "truth"))
t.ok("├" not in r.stderr and "sampled: cycles:P\n" in r.stderr and not [x for x in rows if x[1] < 0 and x[2] > MS],
     "--no-tree: nothing is counted beside", r.stderr)
r = run("spr", "dram_bound", "-l", "1", what=SHORT)
t.ok(set(nodes_of(r.stderr)) == {"frontend_bound", "bad_speculation", "backend_bound", "retiring"}, "-l 1: level 1", r.stderr)
r = run("spr", "dram_bound", "--node", "branch_mispredicts", what=SHORT)
t.ok("branch_mispredicts" in nodes_of(r.stderr), "--node: the node that was named", r.stderr)
r = run("spr", "dram_bound", "--why", "-l", "1", what=SHORT)
t.ok(re.search(r"retiring = .*\n +by \S+:\d+", r.stderr), "--why: formulas with values", r.stderr)
mark = os.path.join(tmp.name, "ran")
r = run("spr", "dram_bound", "--node", "DRAM_Bnd", what=["touch", mark])
t.ok(r.returncode == 125 and "'DRAM_Bnd'" in r.stderr and "did you mean DRAM_Bound?" in r.stderr and not os.path.exists(mark),
     "an unknown node: 125, nothing is started, the node that is meant", r.stderr)
r = run("spr", "dram_bound", "-e", "cycles,instructions", what=SHORT)
t.ok(r.returncode == 0 and "no tree: what samples (-e)" in r.stderr and "├" not in r.stderr, "two events that sample: no tree, and why",
     r.stderr)
r = run("spr", "dram_bound", "-e", "branch-misses", what=SHORT)
t.ok(r.returncode == 0 and nodes_of(r.stderr).get("backend_bound"), "another event that samples: the tree all the same", r.stderr)
r = run("spr", "dram_bound", "--dry-run", what=["touch", mark])
t.ok(r.returncode == 0 and "perf record" in r.stderr and "perf stat" in r.stderr and "stage 0" in r.stderr and
     not os.path.exists(mark), "--dry-run: samples, plan and counters; nothing is started", r.stderr)
for code, what in [(7, "exit 7"), (137, "kill -9 $$")]:
    t.equal(run("spr", "even", what=["sh", "-c", what]).returncode, code, "the program's end is kept beside a tree: %s" % what)
t.equal(run("spr", "even", what=["no-such-program"]).returncode, 127, "and a program that is not there: 127")

# ---- a CPU that no model is for: cycles and instructions, and the reason
run("zen4", "even", what=["true"])
cpuinfo = os.path.join(tree("zen4"), "proc/cpuinfo")
with open(cpuinfo, encoding="utf-8") as f:
    old = f.read()
with open(cpuinfo, "w", encoding="utf-8") as f:
    f.write(re.sub(r"cpu family\t*: \d+", "cpu family\t: 99", old))
r = run("zen4", "even", what=(SPIN, "400"))
t.ok(r.returncode == 0 and "no tree: no model for CPU" in r.stderr and "├" not in r.stderr, "no model: no tree, and why", r.stderr)
ipc = re.search(r"([\d.]+) G cycles, ([\d.]+) (\w) instructions, IPC ([\d.]+)", r.stderr)
t.ok(ipc and abs(float(ipc.group(1)) - 1.2) < 0.15, "no model: cycles and instructions", r.stderr)
t.ok(ipc and abs(float(ipc.group(4)) - float(ipc.group(2)) / float(ipc.group(1))) < 0.02, "and their ratio", r.stderr)
t.ok(" samples in " in r.stderr and re.search(r"^ main ", r.stderr, re.M), "and the samples all the same", r.stderr)
r = run("zen4", "even", "-l", "1", what=["touch", mark])
t.ok(r.returncode == 125 and "no model" in r.stderr and not os.path.exists(mark), "a level asked for where no model is: 125", r.stderr)
with open(cpuinfo, "w", encoding="utf-8") as f:
    f.write(old)

# ---- several runs: each tree is in its recording, the means are told
series = os.path.join(tmp.name, "series")
r = run("spr", "dram_bound", "-j", "-r", "3", "-l", "2", "--data", series, what=[SPIN, "150"])
d = json.loads(r.stderr)
each, wrong = {}, []
for x in d["repeats"]:
    each.setdefault(x["node"].rsplit(".", 1)[-1], {})[x["run"]] = x["value"]
for k in (1, 2, 3):
    doc = json.loads(subprocess.run([CYCLADE, "report", "-i", "%s.%d" % (series, k), "-j"], text=True, capture_output=True).stdout)
    saved = {x["node"]: x["value"] for x in doc["tree"] if not x["sum"]}
    wrong += [(k, n, v, each.get(n)) for n, v in saved.items() if v is not None and abs(each.get(n, {}).get(k, -1) - v) > 1e-6]
t.ok(len(each) > 8 and len(d["times"]) == d["runs"] == 3 and not wrong, "-r 3: each recording has the tree of its run", wrong or r.stderr[:2000])
wrong, want = [], planted("spr", "dram_bound")
for n in trees(d)[0]["nodes"]:
    name = n["node"].rsplit(".", 1)[-1]
    v = [x for x in each.get(name, {}).values() if x is not None]
    mean = sum(v) / len(v) if v else None
    half = 4.30265 * (sum((x - mean) ** 2 for x in v) / 2 / 3) ** 0.5 if len(v) == 3 else 0
    if v and (abs(n["value"] - mean) > 1e-6 or (n["value_error"] or 0) < half - 1e-6 or
              (name in want and abs(mean - want[name]) > max(2 * (n["value_error"] or 0), 0.006))):
        wrong.append((n, v, want.get(name)))
t.ok(not wrong, "-r 3: nodes are means of the runs, their errors no less than the spread, the shares those planted", wrong[:3])
r = run("spr", "dram_bound", "-r", "2", "--data", series, what=[SPIN, "150"])
t.ok("mean of 2 runs" in r.stderr and nodes_of(r.stderr).get("memory_bound", (0, 0, False))[2] and "cyclade sum %s " % series in r.stderr,
     "-r 2: the screen has tree and functions of both", r.stderr)
t.ok(not os.path.exists(series + ".3"), "and what is left of the longer series has another name", os.listdir(tmp.name))
p = subprocess.run([CYCLADE, "sum", series, "-j"], text=True, capture_output=True)
t.equal([x["recordings"] for x in json.loads(p.stdout)["tree"] if x["node"].endswith("backend_bound")], [2], "sum has the tree of both")

# ---- signals: the state so far, and the end by interrupt
p = subprocess.Popen(words("spr", "dram_bound", "run", *SYSROOT, "--data", DATA, "--", SPIN, "60000"), env=env("spr"),
                     text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
found = []


def started():
    """It is what was started, or that one's child."""
    with open("/proc/%d/comm" % p.pid, encoding="ascii") as comm:
        found[:] = [p.pid] if comm.read() == "cyclade\n" else [
            int(x) for x in subprocess.run(["pgrep", "-P", str(p.pid), "-x", "cyclade"], text=True, capture_output=True).stdout.split()]
    return found


wait_for(started)
pid = found[0] if found else p.pid
child_of(pid, os.path.basename(SPIN))
time.sleep(1)
os.kill(pid, signal.SIGUSR1)
taken(pid, signal.SIGUSR1)
os.kill(pid, signal.SIGINT)
err = p.communicate(timeout=600)[1]
t.ok(len(re.findall(r"backend_bound .*<==", err)) == 2 and "samples in" in err.split("backend_bound")[0], "SIGUSR1: the tree so far", err)
t.ok("killed by signal 2" in err and re.search(r"^ main ", err, re.M), "an interrupt ends it, and all is told", err)
t.done()
