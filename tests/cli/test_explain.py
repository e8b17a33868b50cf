#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""explain, models, and the lists of models, nodes, metrics and a model's events."""
import csv
import io
import json
import os
import re
import shlex
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import NO_SHARED, ROOT, SHARED, Tap, run  # noqa: E402

t = Tap()

# ---- lists ----
r = run("list", "models", "-j")
models = [m["id"] for m in json.loads(r.stdout)["models"]]
t.equal(models, sorted(models), "models are sorted")
t.ok({"snb", "ivb", "spr", "ptl-cgc", "adl-grt", "zen1", "zen5", "neoverse-v2", "sysfs"} <= set(models), "the models are there")
r = run("list", "models", "zen")
t.equal([line.split()[0] for line in r.stdout.splitlines() if line], ["id"] + ["zen%d" % i for i in range(1, 7)], "list models takes a pattern")
r = run("list", "nodes", "--model", "ivb", "-j")
nodes = json.loads(r.stdout)["nodes"]
t.equal([n["name"] for n in nodes if n["level"] == 1], ["Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring"], "level 1, in order")
where = {n["name"]: i for i, n in enumerate(nodes)}
t.ok(all(where[n["parent"]] < where[n["name"]] for n in nodes if n["parent"]), "parents stand before their children")
t.ok(all(n["says"] and n["try"] and n["file"] and n["line"] for n in nodes), "each node has words and a place")
r = run("list", "nodes", "--model", "ivb", "--format", "csv")
t.equal([x["name"] for x in csv.DictReader(io.StringIO(r.stdout))], [n["name"] for n in nodes], "csv holds the same")
r = run("list", "nodes", "--model", "ivb")
t.equal([x.split()[0] for x in r.stdout.splitlines()[1:] if x], ["name"] + [n["name"] for n in nodes], "and so does the terminal")
some, more = (len(json.loads(run("list", "metrics", "--model", "ivb", "-j", *v).stdout)["metrics"]) for v in ((), ("-v",)))
t.ok(40 < some < more, "list metrics leaves helpers to -v")
r = run("list", "events", "--model", "ivb", "IDQ.MS_UOPS", "-j")
e = [x for x in json.loads(r.stdout)["events"] if x["event"] == "IDQ.MS_UOPS"][0]
t.equal((e["code"], e["counters"], e["counters_alone"], e["period"]), ("event=0x79,umask=0x30", "0-3", "0-7", 2000003), "a model's event")
r = run("list", "nodes", "--model", "ivb", "no_such_node")
t.equal((r.returncode, r.stdout), (1, ""), "nothing matches: 1")
r = run("list", "nodes", "--model", "nosuch")
t.ok(r.returncode == 2 and "there is no model nosuch" in r.stderr and "list models" in r.stderr, "no such model", r.stderr)

# ---- explain ----
r = run("explain", "--model", "ivb", "fetch_latency")
t.equal(r.returncode, 0, "explain a node, case aside")
for word in ("Fetch_Latency  node of level 2 of ivb", "#Pipeline_Width * #Frontend_Latency_Cycles / SLOTS", "models/intel/",
             "> 0.1 & P", "parent    Frontend_Bound", "ICache_Misses, ITLB_Misses", "event=0x9c,umask=0x01,cmask=4",
             "RS_EVENTS.EMPTY_END", "try  "):
    t.ok(word in r.stdout, "it says %s" % word, r.stdout)
by_path = run("explain", "--model", "ivb", "frontend_bound.fetch_latency").stdout
t.equal(by_path, r.stdout, "a path is as good as a name")
r = run("explain", "--model", "spr", "Fetch_Latency")
t.ok("PERF_METRICS.FETCH_LATENCY" in r.stdout and "IDQ_BUBBLES" not in r.stdout.split("events")[1], "branches that no machine takes cost no events", r.stdout)
r = run("explain", "--model", "ivb", "Branch_Mispredicts")
t.ok("Mispredicts_Resteers" not in r.stdout, "related nodes are the model's own", r.stdout)
r = run("explain", "--model", "skl", "Branch_Mispredicts")
t.ok("related" in r.stdout and "Mispredicts_Resteers" in r.stdout, "related nodes are named", r.stdout)
r = run("explain", "--model", "gnr", "L2_Hit_Latency")
t.ok("MEM_LOAD_RETIRED.L2_HIT: sampled, else 5.71 cycles, measured by Intel on Granite Rapids" in " ".join(r.stdout.split()), "retire latencies, and the table's", r.stdout)
r = run("explain", "--model", "mtl-rwc", "L2_Hit_Latency")
t.ok("MEM_LOAD_RETIRED.L2_HIT: sampled, or not known" in r.stdout, "and where the table has a guess only", r.stdout)
for model, event, cycles, where in (("lnl-lnc", "MEM_LOAD_RETIRED.L3_HIT", "7.77", "Lunar Lake"), ("mtl-rwc", "MEM_LOAD_RETIRED.L3_HIT", "30.22", "Meteor Lake"),
                                    ("arl-lnc", "BR_MISP_RETIRED.RET_COST", "33.59", "Arrow Lake"), ("ptl-cgc", "BR_MISP_RETIRED.RET_COST", "33.59", "Arrow Lake")):
    said = " ".join(run("explain", "--model", model, event).stdout.split())
    t.ok("latency %s cycles to retire on average, measured by the authors of pmu-tools on %s" % (cycles, where) in said,
         "%s: where its latencies were measured" % model, said)
said = run("explain", "--model", "lnl-lnc", "FRONTEND_RETIRED.L1I_MISS").stdout
t.ok("latency " not in said, "a mean of 0 cycles was not measured", said)


# ---- what events count

def words(model, *events):
    doc = json.loads(run("explain", "-j", "--model", model, *events).stdout)
    return {n["name"]: (n["says"], n["by_vendor"], n["wrong"]) for n in doc["names"]}


w = words("ivb", "IDQ.MS_UOPS")["IDQ.MS_UOPS"]
t.ok(w[0].startswith("Increment each cycle") and w[1] and "is wrong" in w[2], "a text that is known to be wrong is marked", w)
w = words("skl", "IDQ.MS_UOPS")["IDQ.MS_UOPS"]
t.ok("delivered by the Microcode Sequencer" in w[0] and w[1] and w[2] is None, "another CPU's is not", w)
said = run("explain", "--model", "ivb", "IDQ.MS_UOPS").stdout
t.ok("  Intel " in said and "  but " in said, "people see both", said)
w = words("zen4", "ex_ret_ops", "de_no_dispatch_per_slot.backend_stalls", "ls_mab_alloc.all_allocations")
t.ok(w["ex_ret_ops"][0] and not w["ex_ret_ops"][1] and w["ls_mab_alloc.all_allocations"][0] is None, "AMD's in our words, or none", w)
t.ok("no description" in run("explain", "--model", "zen4", "ls_mab_alloc.all_allocations").stdout, "none is said")
for model in ("zen1", "zen2", "zen3", "zen4", "zen5", "zen6", "neoverse-n1", "neoverse-n2", "neoverse-v2", "ampereone", "arm-generic"):
    d = json.loads(run("list", "nodes", "--model", model, "-j").stdout)
    nodes = [n["name"] for n in d["nodes"]]
    asked = sorted({e["event"] for e in json.loads(run("explain", "-j", "--model", model, *nodes).stdout)["events"]})
    w = words(model, *[e for e in asked if not e.startswith("software")])
    t.ok(w and all(v[0] for v in w.values()), "%s: all %d events of the tree have a description" % (model, len(w)), [k for k, v in w.items() if not v[0]])
PERFMON = os.path.join(SHARED, "reference", "perfmon", "SPR", "events", "sapphirerapids_core.json")
if os.path.exists(PERFMON):
    with open(PERFMON, encoding="utf-8-sig") as f:
        want = {e["EventName"]: " ".join(e["PublicDescription"].split()) for e in json.load(f)["Events"]}
    known = [e["event"] for e in json.loads(run("list", "events", "--model", "spr", "-j").stdout)["events"] if e["event"] in want]
    got = words("spr", *known)
    wrong = [n for n in known if got[n][0] != want[n]]
    t.ok(len(known) > 300 and not wrong, "%d events of Sapphire Rapids: Intel's own texts" % len(known), wrong[:5])
else:
    t.skip("Intel's own texts", NO_SHARED)

# ---- which version
for words_of, text in ((["explain", "--model", "spr", "Retiring"], "Intel Sapphire Rapids, TMA 5.2"), (["list", "models", "spr"], "TMA 5.2"),
                       (["list", "nodes", "--model", "spr"], "Intel Sapphire Rapids, TMA 5.2")):
    said = run(*words_of).stdout
    t.ok(text in said or text == "TMA 5.2" and re.search(r" TMA .*\n spr .* 5\.2 ", said), "%s: the version of the TMA" % " ".join(words_of[:2]), said[:300])
t.ok("TMA" not in run("explain", "--model", "zen4", "Retiring").stdout, "AMD's tree has none")
said = " ".join(run("explain", "--model", "zen6", "Retiring").stdout.split())
t.ok("caution" in said and "never tried on a machine" in said, "what is not known of Zen 6 is said", said)
doc = json.loads(run("explain", "--model", "gnr", "Code_L2_Hit", "-j").stdout)
t.equal((doc["nodes"][0]["retire_latency"], {e["event"] for e in doc["events"] if e["by_latency"]}), (True, {"FRONTEND_RETIRED.L1I_MISS", "FRONTEND_RETIRED.L2_MISS"}),
        "as json, with those of the nodes it refers to")
nodes = json.loads(run("list", "nodes", "--model", "gnr", "-j").stdout)["nodes"]
asking = {n["name"] for n in nodes if n["retire_latency"]}
t.ok({n["name"] for n in nodes if "$PEBS" in n["formula"]} <= asking and "Frontend_Bound" not in asking, "list nodes marks them", asking)
r = run("explain", "--model", "ivb", "IDQ.MS_UOPS", "-j")
doc = json.loads(r.stdout)
t.equal((doc["schema"], doc["names"][0]["kind"], doc["events"][0]["code"]), ("cyclade.explain/2", "event", "event=0x79,umask=0x30"), "explain an event, as json")
r = run("explain", "--model", "ivb", "Fetch_Latncy")
t.ok(r.returncode == 2 and "did you mean Fetch_Latency?" in r.stderr, "a slip is answered with the nearest name", r.stderr)
r = run("explain")
t.equal(r.returncode, 2, "explain needs a name")
r = run("explain", "--model", "zen2", "Backend_Bound")
t.ok("an approximation" in r.stdout, "an approximation is called one", r.stdout)
r = run("explain", "Fetch_Latency")
t.ok(r.returncode in (0, 2) and (r.stdout or r.stderr), "without --model it is this machine's, or another's that is named")

# ---- the cycle accounting ----
r = run("explain", "--model", "skx", "load_latency", "Local_DRAM", "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM")
for word in ("Load_Latency  node of the cycle accounting of skx", "Local_DRAM + Remote_DRAM", "within    Load_Pending",
             "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM x 167 of the reference clock", "adds to   Load_Latency",
             "sample by 10,007, precise", "models/intel/skx/account:", "used by   "):
    t.ok(word in r.stdout, "a node of the accounting: %s" % word, r.stdout)
t.ok(re.search(r"used by .*Local_DRAM", r.stdout), "and its event says so", r.stdout)
r = run("explain", "--model", "zen4", "Bandwidth_Saturated", "-j")
doc = json.loads(r.stdout)
t.equal((doc["names"][0]["kind"], doc["account"][0]["cover"], doc["events"], bool(doc["account"][0]["note"])), ("account", "none", [], True), "what a CPU cannot measure says why")
r = run("list", "account", "--model", "ivt", "-j")
nodes = {n["name"]: n for n in json.loads(r.stdout)["account"]}
t.equal([nodes["Local_DRAM"][k] for k in ("parent", "event", "penalty", "adds", "period", "part", "reference")],
        ["Load_Latency", "MEM_LOAD_UOPS_LLC_MISS_RETIRED.LOCAL_DRAM", 225, True, 10007, "stalled", True], "list account, as json")
t.equal(nodes["Wrong_Path"]["formula"], "max(0, UOPS_ISSUED.ANY - UOPS_RETIRED.RETIRE_SLOTS) / Uop_Issue_Rate", "with formulas")
r = run("list", "account", "--model", "ivt", "DTLB")
t.ok("  DTLB_Walks" not in r.stdout.splitlines()[0] and "DTLB_STLB_Hit + DTLB_Walks + DTLB_Walk_Cycles" in r.stdout and "RS_Empty" not in r.stdout,
     "list account takes a pattern", r.stdout)
has = {m["id"]: m["account"] for m in json.loads(run("list", "models", "-j").stdout)["models"]}
t.ok(has["ivt"] and has["zen5"] and not has["sysfs"] and not has["knl"], "list models tells which have one", has)
r = run("list", "account", "--model", "sysfs")
t.ok(r.returncode == 2 and "has no account" in r.stderr, "a model without one", r.stderr)

# ---- tables ----
doc = json.loads(run("explain", "--model", "ivb", "-j", "Fetch_Latency", "IPC", "Load_Latency", "IDQ.MS_UOPS", "Mem").stdout)
t.equal([x["kind"] for x in doc["names"]], ["node", "metric", "account", "event", "group"], "explain: a row for each name")
t.equal([doc[k][0]["name"] for k in ("nodes", "metrics", "account", "groups")], ["Fetch_Latency", "IPC", "Load_Latency", "Mem"],
        "and in the table of its kind what a list has of it")
for what, row in (("nodes", doc["nodes"][0]), ("metrics", doc["metrics"][0]), ("account", doc["account"][0]), ("groups", doc["groups"][0])):
    listed = json.loads(run("list", what, "--model", "ivb", row["name"], "-j").stdout)[what]
    t.ok(row in listed, "list %s has the same row" % what, (row, listed[:3]))
event = doc["events"][-1]
listed = {e["event"]: e for e in json.loads(run("list", "events", "--model", "ivb", "-j").stdout)["events"]}
t.ok(all({k: v for k, v in e.items() if k not in ("of", "by_latency")} == listed[e["event"]] for e in doc["events"]), "so do its events", event)
t.equal({e["event"] for e in doc["events"] if e["of"] == "IPC"}, {"INST_RETIRED.ANY", "CPU_CLK_UNHALTED.THREAD"}, "the events of a metric")
p = run("explain", "--model", "ivb", "IPC", "Fetch_Latency", "--table", "events")
t.ok("RS_EVENTS" in run("explain", "--model", "ivb", "Fetch_Latency").stdout and "formula" not in p.stdout and " IPC\n" in p.stdout,
     "--table takes the place of the page", p.stdout)
tables.walk(t, "explain", "--model", "gnr", "Fetch_Latency", "IPC", "Load_Latency", "L2_Hit_Latency", "IDQ.MS_UOPS", "Mem")
for what in ("nodes", "metrics", "groups", "account", "events"):
    tables.walk(t, "list", what, "--model", "gnr", "L2", "--limit", "20")
tables.walk(t, "list", "models", "zen")
HOSTILE = b"a\x1b[31m|b,\"c\"<d>\xffe\x07 `f` *g*"
with tempfile.TemporaryDirectory() as d:
    os.makedirs(os.path.join(d, "intel", "skx"))
    with open(os.path.join(d, "intel", "skx", "account"), "wb") as f:
        f.write(b"base skx\n\nnode Local_DRAM\nsays " + HOSTILE + b"\ntry " + HOSTILE + b"\n")
    p = run("explain", "--models", d, "--model", "skx", "Local_DRAM", "-j")
    t.ok(p.returncode == 0 and '"c"<d>' in json.loads(p.stdout)["names"][0]["says"], "a model's own words, whatever they hold", p.stdout[:300] + p.stderr)
    tables.walk(t, "explain", "--models", d, "--model", "skx", "Local_DRAM", "Load_Latency")
    tables.walk(t, "list", "account", "--models", d, "--model", "skx", "DRAM")
with tempfile.TemporaryDirectory() as d:
    os.makedirs(os.path.join(d, "intel", "skx"))
    own = os.path.join(d, "intel", "skx", "account")
    with open(own, "w", encoding="ascii") as f:
        f.write("base skx\n\nnode Local_DRAM\npenalty 200\n")
    r = run("explain", "--models", d, "--model", "skx", "Local_DRAM")
    t.ok("LOCAL_DRAM x 200\n" in r.stdout, "--models changes a penalty", r.stdout)
    with open(own, "w", encoding="ascii") as f:
        f.write("base skx\n\nnode Local_DRAM\nevent MEM_LOAD_NOWHERE\n")
    r = run("models", "check", "--models", d, "skx")
    t.ok(r.returncode == 1 and own + ":4: " in r.stdout and "event    MEM_LOAD_NOWHERE\n         ^" in r.stdout,
         "models check tells what is wrong with an account, and where", r.stdout)
    r = run("list", "nodes", "--models", d, "--model", "skx")
    t.ok(r.returncode == 0, "the model is of use all the same", r.stderr)
    x = os.path.join(d, "x")
    run("models", "export", x)
    with open(os.path.join(ROOT, "models", "intel", "ivt", "account"), encoding="utf-8") as f, \
         open(os.path.join(x, "intel", "ivt", "account"), encoding="utf-8") as g:
        t.equal(g.read(), f.read(), "models export writes accounts")

# ---- models ----
with tempfile.TemporaryDirectory() as d:
    r = run("models", "export", d)
    t.ok(r.returncode == 0 and os.path.exists(os.path.join(d, "intel", "spr", "tree")), "models export writes the texts", r.stderr)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    different = [p for p in ("cpus.tab", "words", "intel/spr/tree", "amd/zen4/events", "intel/clx/events")
                 if open(os.path.join(d, p)).read() != open(os.path.join(root, "models", p)).read()]
    t.equal(different, [], "as they are in models/")
    r = run("models", "export", d)
    t.ok(r.returncode == 2 and "is there already" in r.stderr, "nothing is written over", r.stderr)
with tempfile.TemporaryDirectory() as d:
    os.makedirs(os.path.join(d, "intel", "ivb"))
    tree = os.path.join(d, "intel", "ivb", "tree")
    with open(tree, "w") as f:
        f.write("base ivb\nnode Fetch_Latency\nflag > 0.25 & P\n")
    r = run("explain", "--models", d, "--model", "ivb", "Fetch_Latency")
    t.ok("> 0.25 & P" in r.stdout, "--models goes over what is compiled in", r.stdout)
    r = run("models", "check", "--models", d, "ivb")
    t.equal((r.returncode, r.stdout), (0, "1 loaded, 0 refused, 0 doubts\n"), "models check: all is well")
    with open(tree, "a") as f:
        f.write("expr   IDQ_UOPS / SLOTZ\n")
    r = run("models", "check", "--models", d, "ivb")
    t.ok(r.returncode == 1 and "tree:4:" in r.stdout and "no event, metric or constant is named IDQ_UOPS" in r.stdout and "\n^" in r.stdout,
         "a name that is not there: file, line and a caret", r.stdout)
    with open(tree, "w") as f:
        f.write("base ivb\nnode New\nparent Fetch_Latency\nexpr 1\n")
    r = run("models", "check", "--models", d, "ivb")
    t.ok(r.returncode == 1 and "New says nowhere what it means" in r.stdout, "a node without words", r.stdout)
    doubts = json.loads(run("models", "check", "--models", d, "ivb", "-j").stdout)
    t.equal([doubts[k] for k in ("schema", "loaded", "refused", "doubts")], ["cyclade.models/1", 1, 0, len(r.stdout.splitlines()) - 1],
            "models check, as json")
    t.equal([(x["verdict"], x["text"]) for x in doubts["findings"]], [("doubt", x) for x in r.stdout.splitlines()[:-1]], "each finding is a row")
with tempfile.TemporaryDirectory() as d:
    top = os.path.join(d.encode(), HOSTILE.replace(b"/", b""))
    os.makedirs(os.path.join(top, b"intel", b"ivb"))
    with open(os.path.join(top, b"intel", b"ivb", b"tree"), "w") as f:
        f.write("base ivb\nnode Fetch_Latency\nexpr IDQ_UOPS / SLOTZ\n")
    p = run("models", "check", "--models", os.fsdecode(top), "ivb", "-j")
    t.ok(p.returncode == 1 and [x["verdict"] for x in json.loads(p.stdout)["findings"]] == ["refused"], "a model that cannot be used", p.stdout + p.stderr)
    tables.walk(t, "models", "check", "--models", os.fsdecode(top), "ivb", code=(1,))
    p = run("models", "export", os.path.join(d, "x"), "-j")
    doc = json.loads(p.stdout)
    t.equal(sorted(x["file"] for x in doc["files"]),
            sorted(os.path.relpath(os.path.join(at, f), os.path.join(d, "x")) for at, _, fs in os.walk(os.path.join(d, "x")) for f in fs),
            "models export, as json: the files that are there then")
    t.equal((doc["dir"], "model" in doc), (os.path.join(d, "x"), False), "and where")
t.equal(run("models").returncode, 2, "models needs to know what")
t.equal(run("models", "export").returncode, 2, "export needs a directory")

p = run("explain", "L3_Miss_Bound", "--model", "skl")
t.ok("share of  clocks: of all cycles those that were stalled so" in p.stdout, "a share in stall cycles is one of clocks", p.stdout + p.stderr)

# ---- metrics of monitor, against the models' own files

def monitor_rows(vendor, ident):
    """{(place, name): (help, names of other tools)}: bases first, later lines replace earlier ones."""
    out = {}
    with open(os.path.join(ROOT, "models", vendor, ident, "monitor"), encoding="utf-8") as f:
        for line in f:
            word = line.split()
            if not word or word[0].startswith("#"):
                continue
            if word[0] == "base":
                out.update(monitor_rows(vendor, word[1]))
                continue
            place, name = word[0].partition(":")[0], word[1].partition("=")[0]
            if word[2] == "absent":
                out.pop((place, name), None)
                continue
            says = line.partition(";")[2]
            others = word[1].partition("=")[2].split(",")
            if ":" in word[0] and (place, name) in out:  # each channel has a row
                out[place, name][1].extend(others)
            else:
                out[place, name] = says.strip(), others
    return out


for vendor, ident in (("amd", "zen2"), ("amd", "zen4"), ("intel", "spr")):
    rows = monitor_rows(vendor, ident)
    r = run("explain", "--model", ident, "-j", *("%s.%s" % x for x in rows))
    got = {x["name"]: x for x in json.loads(r.stdout)["names"]} if r.returncode == 0 else {}
    wrong = [(k, got.get("%s.%s" % k)) for k, (says, _) in rows.items()
             if got.get("%s.%s" % k, {}).get("kind") != "monitor" or got["%s.%s" % k]["says"] != says]
    t.ok(len(rows) > 10 and not wrong, "%s: %d metrics of monitor, by place and name" % (ident, len(rows)), (wrong[:3], r.stderr))
    others = [a for _, names in rows.values() for a in names if a]
    if others:
        r = run("explain", "--model", ident, "-j", *others)
        known = {("%s.%s" % k): v for k, v in rows.items()}
        bad = [(a, x["name"]) for a, x in zip(others, json.loads(r.stdout)["names"]) if x["kind"] == "monitor" and a not in known[x["name"]][1]] \
            if r.returncode == 0 else [r.stderr]
        t.equal(bad, [], "%s: and by %d names of other tools" % (ident, len(others)))
r = run("explain", "--model", "zen2", "cpi")
t.ok("ls_not_halted_cyc / ex_ret_instr" in r.stdout and "CPI" in r.stdout and "event=0x76" in r.stdout and "monitor --metrics cpu.cpi" in r.stdout,
     "a metric of monitor: formula, other names, events, what shows it", r.stdout + r.stderr)
with tempfile.TemporaryDirectory(prefix="my models") as own:
    os.makedirs(os.path.join(own, "amd", "zen2"))
    with open(os.path.join(own, "amd", "zen2", "monitor"), "w", encoding="utf-8") as f:
        f.write("base zen2\ncpu  lines gauge - ex_ret_instr ; a test\n")
    for words in (["cpu.lines"], ["l2_cache"]):
        r = run("explain", "--model", "zen2", "--models", own, *words)
        t.ok("--models '%s' " % own in r.stdout, "explain %s: the next line keeps the directory of models" % words[0], r.stdout + r.stderr)
    r = run("explain", "--model", "zen2", "--models", own, "nothing_of_it")
    hint = re.search(r"cyclade (list nodes --model zen2 --models '.*') shows", r.stderr)
    t.ok(hint and run(*shlex.split(hint[1])).returncode == 0, "so does the hint, which can be typed", r.stderr)
r = run("explain", "--model", "zen2", "l3")
t.ok(r.returncode == 2, "a place is no metric", r.stdout)
t.done()
