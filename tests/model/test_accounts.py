# SPDX-License-Identifier: BSD-3-Clause
"""The accounts of cycles compiled in, against second readings of what they were made of: Gooda's trees
(encodings, penalties, periods, what adds to what; nodes are found by encoding, not by name, and every
difference has to stand in a list below), the event files of perfmon and Linux (each event of each
account), and the formulas for Skylake-SP as they were written down."""
import csv
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import NO_SHARED, ROOT, SHARED, Tap, run  # noqa: E402

ACCOUNT_OF = sys.argv[1]
TREES = os.path.join(SHARED, "reference", "gooda-trees")
PERFMON = os.path.join(SHARED, "reference", "perfmon")
PMU = os.path.join(SHARED, "reference", "pmu-events")
t = Tap()

FIELDS = ("name parent part cover event code penalty reference adds whole unit expr within same period "
          "precise note").split()
OPTIONS = {"c": 2, "i": 3, "e": 4}


def account(model):
    """-> [node as a dict], None where the model has none"""
    r = subprocess.run([ACCOUNT_OF, model], capture_output=True, text=True, check=False)
    if r.returncode:
        return None
    nodes = [dict(zip(FIELDS, line.split("\t"))) for line in r.stdout.splitlines()]
    for n in nodes:
        n["penalty"] = float(n["penalty"])
        for k in ("period", "precise", "adds", "reference", "part", "cover", "whole"):
            n[k] = int(n[k])
        n["key"] = key_of(n["code"]) if n["code"] else None
    return nodes


def key_of(code):
    """terms -> (event, umask, cmask, inv, edge, any)"""
    terms = dict((x.partition("=")[0], x.partition("=")[2]) for x in code.split(","))
    num = lambda k: int(terms[k], 0) if terms.get(k) else int(k in terms)
    return tuple(num(k) for k in ("event", "umask", "cmask", "inv", "edge", "any"))


models = {m["id"]: m for m in json.loads(run("list", "models", "-j").stdout)["models"]}
accounts = {m: a for m, a in ((m, account(m)) for m in models) if a}
t.ok(len(accounts) >= 62, "62 models and more have an account", len(accounts))

BRANCHES = """Cycles Halted Stalled Unstalled Load_Latency Bandwidth_Saturated Instruction_Starvation
Instruction_Latency Store_Resources Thread_Collisions Branch_Misprediction Lock_Acquisition
Underutilisation Port_Saturation Call_Overhead Serialisation Exceptions_Microcode""".split()
bad = []
for m, nodes in accounts.items():
    top = [n for n in nodes if not n["parent"]]
    names = {n["name"] for n in top}
    bad += ["%s lacks %s" % (m, b) for b in BRANCHES if b not in names]
    bad += ["%s: %s is in two parts" % (m, n["name"]) for n in top
            if n["name"] in BRANCHES[4:12] and n["part"] != 2 or n["name"] in BRANCHES[12:] and n["part"] != 3]
    bad += ["%s: %s: no word on why" % (m, n["name"]) for n in nodes if n["cover"] >= 2 and not n["note"]]
t.ok(not bad, "every account has each branch, in its part, or says why not", "\n".join(bad))


def prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))


bad = ["%s: %s by %d" % (m, n["name"], n["period"]) for m, nodes in accounts.items() for n in nodes
       if n["event"] and not prime(n["period"])]
t.ok(not bad, "every event is sampled by a prime", "\n".join(bad))

# What leaves the caches of a socket takes as long at any frequency of the core.
MEMORY = ("Local_DRAM", "Remote_DRAM", "Remote_HitM", "Remote_Forward", "L3_Miss_Other", "Far_Memory", "Remote_Cache_Hit",
          "Other_CCX_Cache", "Beyond_L3")
checked = [(m, n) for m, nodes in accounts.items() for n in nodes if n["name"] in MEMORY and n["adds"] and n["penalty"] > 1]
bad = ["%s: %s costs %g core cycles" % (m, n["name"], n["penalty"]) for m, n in checked if not n["reference"]]
t.ok(not bad and len({m for m, _ in checked}) > 40, "memory costs cycles of the reference clock or nanoseconds, %d nodes" % len(checked), "\n".join(bad))

# ---- how well branches are covered ----
PARTIAL, SIX = 2, ("wsm-dp", "wsm-sp", "wsm-ex", "nhm-ep", "nhm-ex", "snb", "jkt", "ivb", "ivt", "hsw", "hsx", "bdw", "bdw-de", "bdx",
                   "skl", "cfl", "skx", "clx", "cpx")
bad = []
for m, nodes in accounts.items():
    for n in nodes:
        if n["event"].endswith(":c6") and (n["cover"] == PARTIAL) != (m not in SIX):
            bad.append("%s: %s: six reads at a time, cover %d" % (m, n["name"], n["cover"]))
        if n["event"].endswith(".XSNP_FWD") and (n["cover"] != PARTIAL or "changed or not" not in n["note"]):
            bad.append("%s: %s: what was forwarded need not have been changed" % (m, n["name"]))
t.ok(not bad, "bandwidth by six reads is exact up to Skylake, forwarded lines are no HitM", "\n".join(bad))
paper = {n["name"]: n["note"] for n in accounts["wsm-dp"] if "The paper" in n["note"]}
t.ok(set(paper) == {"L3_Miss_Other", "DTLB_STLB_Hit", "L3_Snoop", "Store_Overlaps"} and "250" in paper["L3_Miss_Other"] and
     "7" in paper["DTLB_STLB_Hit"] and "8" in paper["Store_Overlaps"], "Westmere says where its report file departs from the paper", paper)
said = run("explain", "--model", "wsm-dp", "DTLB_STLB_Hit").stdout
t.ok("The paper has 7 cycles" in said, "explain tells it", said)

if not os.path.isdir(TREES):
    t.skip("the rest", NO_SHARED)
    t.done()
    sys.exit()

# ---- nobody changed what the importer makes ----

with tempfile.TemporaryDirectory() as d:
    r = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "import_accounts.py"),
                        os.path.join(SHARED, "reference"), d], capture_output=True, text=True, check=False)
    t.equal(r.returncode, 0, "the importer runs")
    differ = []
    for path in glob.glob(os.path.join(ROOT, "models", "*", "*", "account")):
        made = os.path.join(d, os.path.relpath(path, os.path.join(ROOT, "models")))
        if not os.path.exists(made) or open(made, encoding="utf-8").read() != open(path, encoding="utf-8").read():
            differ.append(path)
    made = len(glob.glob(os.path.join(d, "*", "*", "account")))
    t.ok(not differ and made == len(accounts), "models/*/*/account is what it makes", "\n".join(differ))

# ---- Gooda's trees, row by row ----

PAIRS = [("wsm_ep", "wsm-dp"), ("snb", "snb"), ("snb_ep", "jkt"), ("ivb", "ivb"), ("ivb_ep", "ivt"),
         ("hsw", "hsw"), ("hsw_ep", "hsx")]
# Trees' names of what they take, and the name of perfmon's event where its encoding is another one.
OTHER_CODE = {
    "br_misp_retired:all_branches": ("BR_MISP_RETIRED.ALL_BRANCHES_PEBS", "BR_MISP_RETIRED.ALL_BRANCHES"),
    "br_inst_retired:all_branches": ("BR_INST_RETIRED.ALL_BRANCHES_PEBS",),
    # two sources in one unit mask
    "mem_load_uops_llc_miss_retired:local_dram": ("MEM_LOAD_UOPS_LLC_MISS_RETIRED.LOCAL_DRAM",),
    "l2_rqsts:code_rd_miss": ("L2_RQSTS.CODE_RD_MISS",), "l2_rqsts:code_rd_hit": ("L2_RQSTS.CODE_RD_HIT",),
    # perfmon's retires uops that are fused
    "uops_retired:any": ("UOPS_RETIRED.ANY", "UOPS_RETIRED.ALL"),
    # the tree's own spelling; a divider that is busy has no edge
    "arith:fpu_div": ("ARITH.FPU_DIV",),
    "rs_events:empty_cycles:c=1:i=1:e=1": ("RS_EVENTS.EMPTY_END",),
}
GONE = {
    # neither perfmon nor libpfm4 names the unit mask
    ("wsm_ep", "itlb_misses:0x10"),
    # no such events in perfmon
    *((x, "other_assists:itlb_miss_retired") for x in ("ivb", "ivb_ep", "hsw", "hsw_ep")),
    *((x, "offcore_requests_outstanding:demand_code_rd:c=1") for x in ("snb", "snb_ep")),
    # a copy of the server's tree: a client has one socket
    *(("hsw", "mem_load_uops_l3_miss_retired:" + x) for x in ("remote_dram", "remote_hitm", "remote_fwd")),
}
# Cycles which the tree shows as counts: shown as cycles. Counts that it shows as cycles: as counts.
AS_CYCLES = """uops_issued:stall_cycles resource_stalls:any dsb2mite_switches:penalty_cycles
offcore_requests_outstanding:demand_rfo:c=4 offcore_requests_outstanding:demand_rfo:c=1
offcore_requests_outstanding:demand_code_rd:c=1 offcore_requests_outstanding:demand_read_code:c=1
l1d_pend_miss:pending_cycles uops_issued:any:c=1 cpl_cycles:ring123 cpl_cycles:ring0""".split()
AS_COUNTS = """mem_uops_retired:stlb_miss_loads rs_events:empty_cycles:c=1:i=1:e=1
cpu_clk_unhalted:ref_p cpu_clk_unhalted:ref_xclk""".split()
# It counts what the nodes of local and remote memory count again.
NOT_ADDED = {("snb_ep", "mem_load_uops_retired:l3_miss")}
# Of the stated codes above some are the same after all; those that differ are counted, so that a
# change of either side shows.
differ = []


def find(row, nodes):
    key = tuple(int(row[k], 0) for k in ("event_code", "umask", "cmask", "inv", "edge", "any_thread"))
    same = [n for n in nodes if n["key"] == key]
    if same:
        return same
    want = OTHER_CODE.get(row["name"], ())
    same = [n for n in nodes if n["event"].split(":")[0] in want]
    if same:
        differ.append((row["model"], row["name"]))
    return same


def compare(tree, row, n):
    """-> what is wrong with node n for the row"""
    name, wrong = row["name"], []
    penalty = float(row["penalty_cycles"] or 0)
    if name in AS_CYCLES:
        penalty = 1.0
    if name in AS_COUNTS:
        penalty = 0.0
    adds = row["sums_into_branch"] == "1" or row["sums_into_sub_branch"] == "1"
    if (tree, name) in NOT_ADDED:
        adds = False
        penalty = 0.0 if n["penalty"] == 0 else penalty
    if n["penalty"] != penalty:
        wrong.append("penalty %g, tree %g" % (n["penalty"], penalty))
    if bool(n["adds"]) != adds:
        wrong.append("adds %d, tree %d" % (n["adds"], adds))
    period = int(row["script_period"] or 0)
    if period and n["period"] != {20003: 20011}.get(period, period):      # 83 * 241
        wrong.append("period %d, tree %d" % (n["period"], period))
    return wrong


def remarked(model, node):
    """Is it said in the files that the event cannot be sampled precisely?"""
    return node["name"] in imprecise.get(model, ())


imprecise = {}
for path in glob.glob(os.path.join(ROOT, "models", "*", "*", "account")):
    said = False
    for line in open(path, encoding="utf-8"):
        said = said or line.startswith("# it cannot be sampled precisely")
        m = re.match(r"node +(\S+)", line)
        if m:
            if said:
                imprecise.setdefault(path.split(os.sep)[-2], set()).add(m.group(1))
            said = False

for tree, model in PAIRS:
    nodes = accounts[model]
    wrong, seen, unused = [], 0, []
    with open(os.path.join(TREES, tree + ".csv"), encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row["kind"] != "event" or not row["event_code"]:
                continue
            found = find(row, nodes)
            if (tree, row["name"]) in GONE:
                if found:
                    wrong.append("%s is said to be gone" % row["name"])
                continue
            tries = [compare(tree, row, n) for n in found]
            if not tries:
                wrong.append("%s: no node has its encoding" % row["name"])
            elif all(tries):
                wrong.append("%s: %s: %s" % (row["name"], found[0]["name"], "; ".join(tries[0])))
            else:
                n = found[tries.index([])]
                want = int(row["script_precise"] or 0)
                if n["precise"] != want and not (n["precise"] == 0 and remarked(model, n)) and row["script_period"]:
                    wrong.append("%s: precise %d, tree %d" % (row["name"], n["precise"], want))
            seen += 1
    t.ok(not wrong and seen > 40, "%s: as the tree %s, %d rows" % (model, tree, seen), "\n".join(wrong))
t.equal(len(set(differ)), 12, "encodings in which perfmon differs from the trees, all stated")

# ---- events as perfmon has them ----

# Names of what counts on fixed counters, which perfmon files write in several ways.
FIXED = {"INST_RETIRED.ANY": (0xc0, 0), "CPU_CLK_UNHALTED.THREAD": (0x3c, 0), "CPU_CLK_UNHALTED.CORE": (0x3c, 0),
         "CPU_CLK_UNHALTED.REF_TSC": (0, 3), "CPU_CLK_UNHALTED.REF": (0, 3)}
FILES = {
    "snb": "SNB", "jkt": "JKT", "ivb": "IVB", "ivt": "IVT", "hsw": "HSW", "hsx": "HSX", "bdw": "BDW",
    "bdx": "BDX", "bdw-de": "BDW-DE", "skl": "SKL", "cfl": "SKL", "skx": "SKX", "clx": "CLX", "cpx": "CLX",
    "icl": "ICL", "rkl": "RKL", "tgl": "TGL", "icx": "ICX", "spr": "SPR", "sprhbm": "SPR", "emr": "EMR",
    "gnr": "GNR", "wsm-dp": "WSM-EP-DP", "wsm-sp": "WSM-EP-SP", "wsm-ex": "WSM-EX", "nhm-ep": "NHM-EP",
    "nhm-ex": "NHM-EX", "adl-glc": "ADL goldencove", "adl-grt": "ADL gracemont", "mtl-rwc": "MTL redwoodcove",
    "mtl-cmt": "MTL crestmont", "lnl-lnc": "LNL lioncove", "lnl-skt": "LNL skymont", "arl-lnc": "ARL lioncove",
    "arl-skt": "ARL skymont", "arl-cmt": "ARL crestmont", "ptl-cgc": "PTL cougarcove", "ptl-dkt": "PTL darkmont",
    "nvl-cyc": "NVL coyotecove", "nvl-arw": "NVL arcticwolf", "srf": "SRF", "grr": "GRR", "cwf": "CWF",
    "ehl": "EHL", "snr": "SNR", "glp": "GLP", "glm": "GLM"}


def num(s):
    s = (s or "0").split(",")[0].strip().lower()
    return int(s, 0) if s and s != "null" else 0


def perfmon_events(model):
    folder, _, part = FILES[model].partition(" ")
    out = {}
    for path in glob.glob(os.path.join(PERFMON, folder, "events", "*%s*_core.json" % part)):
        with open(path, encoding="utf-8-sig") as f:
            d = json.load(f)
        for e in d["Events"] if isinstance(d, dict) else d:
            out.setdefault(e["EventName"].strip(), []).append(
                (num(e["EventCode"]), num(e["UMask"]) | num(e.get("UMaskExt")) << 8, num(e.get("CounterMask")),
                 num(e.get("Invert")), num(e.get("EdgeDetect")), num(e.get("AnyThread"))))
    return out


def with_options(key, options):
    key = list(key)
    for o in options:
        if o[0] == "u":
            key[1] = int(o[1:], 0)
        else:
            key[OPTIONS[o[0]]] = int(o[1:])
    return tuple(key)


wrong, checked = [], 0
for model, nodes in accounts.items():
    if model not in FILES:
        if models[model]["vendor"] == "intel":
            wrong.append("%s: no file is known for it here" % model)
        continue
    have = perfmon_events(model)
    for n in nodes:
        if not n["event"]:
            continue
        name, *options = n["event"].split(":")
        checked += 1
        if name in FIXED:
            ok = n["key"][:2] == FIXED[name] and (name in have or name == "CPU_CLK_UNHALTED.REF")
        elif model == "wsm-dp" and name.startswith("MEM_UNCORE_RETIRED."):
            ok = n["key"][0] == 0x0f          # of the tree: compared above
        elif name == "TOPDOWN_RETIRING.ALL" and name + "_P" in have:
            ok = n["key"] in have[name + "_P"]         # on a fixed counter, too
        elif name == "INST_RETIRED.PREC_DIST" and n["key"][0] == 0:
            ok = name in have                 # on a fixed counter
        else:
            ok = n["key"] in [with_options(k, options) for k in have.get(name, [])]
        if not ok:
            wrong.append("%s: %s: %s is not %s" % (model, n["name"], n["event"], have.get(name)))
t.ok(not wrong and checked > 2000, "Intel: %d events are in perfmon, with these encodings" % checked, "\n".join(wrong))

# ---- events as Linux has them ----


def linux_events(folder):
    out = {}
    for path in glob.glob(os.path.join(PMU, folder, "**", "*.json"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for e in json.load(f):
                name = e.get("EventName") or e.get("ArchStdEvent")
                if name and "Unit" not in e:
                    old = out.get(name)
                    code = e.get("EventCode") or (old and old[0])
                    out[name] = (code, e.get("UMask"))
    return out


common = {}
for path in glob.glob(os.path.join(PMU, "arm64", "*.json")):
    with open(path, encoding="utf-8") as f:
        common.update((e["EventName"], e["EventCode"]) for e in json.load(f) if e.get("EventName") and e.get("EventCode"))
ARM = {"neoverse-n1": "neoverse-n1", "neoverse-v1": "neoverse-v1", "neoverse-n2": "neoverse-n2-v2",
       "neoverse-n2-r0p0": "neoverse-n2-v2", "neoverse-v2": "neoverse-n2-v2", "neoverse-n3": "neoverse-n3",
       "neoverse-v3": "neoverse-v3"}
wrong, checked = [], 0
for model, nodes in accounts.items():
    if models[model]["vendor"] == "amd":
        have = linux_events("x86/amd" + model)
    elif model in ARM and os.path.isdir(os.path.join(PMU, "arm64", "arm", ARM[model])):
        have = linux_events("arm64/arm/" + ARM[model])
    else:
        continue
    for n in nodes:
        if not n["event"]:
            continue
        name, *options = n["event"].split(":")
        checked += 1
        code, umask = have.get(name, (None, None))
        code = code or common.get(name)
        if name not in have or code is None or n["key"] != with_options((num(code), num(umask), 0, 0, 0, 0), options):
            wrong.append("%s: %s: %s is %s, not %s" % (model, n["name"], n["event"], n["key"], have.get(name)))
t.ok(not wrong and checked > 150, "AMD and Arm: %d events are in Linux' files, with these encodings" % checked,
     "\n".join(wrong))

# ---- the formulas for Skylake-SP ----

with open(os.path.join(SHARED, "reference", "gooda.md"), encoding="utf-8") as f:
    text = f.read()
line = re.search(r"^\* load latency = (.*)$", text, re.M).group(1)
fetch = re.search(r"L3 ifetch = (\d+)", text).group(1)
want = {}
for cost, names in re.findall(r"([\d.]+)·\(?([A-Z0-9_.+]+)", line):
    for name in names.split("+"):
        want[name] = float(cost)
NODE = {"L3_MISS.LOCAL_DRAM": "Local_DRAM", "REMOTE_DRAM": "Remote_DRAM", "REMOTE_HITM": "Remote_HitM",
        "REMOTE_FWD": "Remote_Forward", "XSNP_HITM": "L3_Snoop_HitM", "XSNP_HIT": "L3_Snoop_Hit",
        "XSNP_MISS": "L3_Snoop_Miss", "L3_HIT": "L3_Hit", "DTLB_WALK_COMPLETED": "DTLB_Walks"}
t.equal(set(want), set(NODE), "all terms of the formula are read")
for model in ("skx", "clx", "cpx"):
    nodes = {n["name"]: n for n in accounts[model]}
    wrong = ["%s: %s %g, not %g" % (model, n, nodes[n]["penalty"], want[k]) for k, n in NODE.items()
             if nodes[n]["penalty"] != want[k] or not nodes[n]["adds"]]
    # what the formula divides by REF_TSC is in cycles of the reference clock
    ref = {NODE[k] for k in NODE if line.index(k) < line.index("/REF_TSC")}
    wrong += ["%s: %s: whose cycles?" % (model, n) for n in NODE.values()
              if bool(nodes[n]["reference"]) != (n in ref)]
    if nodes["Code_Beyond_L2"]["penalty"] != float(fetch):
        wrong.append("code")
    if model not in ("skx", "clx"):
        wrong += ["%s: %s says not that it was carried over" % (model, n) for n in NODE.values()
                  if "Carried over" not in nodes[n]["note"]]
    t.ok(not wrong, "%s: load latency as the formula has it" % model, "\n".join(wrong))

# ---- Intel's TMA sheet: nanoseconds, of a CPU's own column or the next one to the right that has some ----

sheet = list(csv.reader(open(os.path.join(PERFMON, "TMA_Metrics-full.csv"), encoding="utf-8-sig")))
ROW = {"Local_DRAM": "Local_DRAM", "Remote_DRAM": "Remote_DRAM", "Remote_HitM": "Remote_HitM", "Remote_Forward": "Remote_Fwd",
       "L3_Hit": "XSNP_None", "L3_Snoop_Hit": "XSNP_Hit", "L3_Snoop_HitM": "XSNP_HitM", "L3_Snoop_Miss": "XSNP_Hit"}


def cell(row, column):
    line = next(r for r in sheet if r[0] == "Aux" and row in r[1:7])
    at = sheet[2].index(column)
    server = sheet[1][at] == "Server"
    return next(line[i].strip() for i in range(at, len(line)) if line[i].strip() and (server or sheet[1][i] != "Server"))


# the formulas that Intel publishes by CPU have the sheet's figures filled in
FORMULAS = {"icl": "ICL/metrics/icelake", "rkl": "RKL/metrics/rocketlake", "tgl": "TGL/metrics/tigerlake", "icx": "ICX/metrics/icelakex",
            "spr": "SPR/metrics/sapphirerapids", "emr": "EMR/metrics/emeraldrapids", "adl-glc": "ADL/metrics/alderlake_metrics_goldencove_core",
            "mtl-rwc": "MTL/metrics/meteorlake_metrics_redwoodcove_core", "lnl-lnc": "LNL/metrics/lunarlake_metrics_lioncove_core"}
METRIC = {"L3_Hit_Latency": "L3_Hit", "Data_Sharing": "L3_Snoop_Hit", "Local_MEM": "Local_DRAM", "Remote_MEM": "Remote_DRAM",
          "Remote_Cache": "Remote_HitM"}
for model, path in FORMULAS.items():
    path = os.path.join(PERFMON, path if path.endswith("core") else path + "_metrics") + ".json"
    nodes, wrong, checked = {n["name"]: n for n in accounts[model]}, [], 0
    for m in json.load(open(path, encoding="utf-8-sig"))["Metrics"]:
        node = METRIC.get(re.sub(r".*\.|\(%\)", "", m.get("LegacyName", "")))
        if not node or node not in nodes:
            continue
        numbers = re.findall(r"(?<![\w.:])(\d+\.?\d*) \* ", m["Formula"])
        checked += 1
        if nodes[node]["penalty"] != float(numbers[1]) or nodes[node]["reference"] != 2:
            wrong.append("%s: %s, not %s" % (node, nodes[node]["penalty"], numbers))
    t.ok(not wrong and checked >= 2, "%s: %d costs as perfmon's formulas have them" % (model, checked), "\n".join(wrong) or checked)
for model, column in (("icl", "ICL"), ("rkl", "RKL"), ("tgl", "TGL"), ("icx", "ICX"), ("spr", "SPR"), ("sprhbm", "SPR-HBM"), ("emr", "EMR"), ("gnr", "GNR"),
                      ("adl-glc", "ADL/RPL"), ("mtl-rwc", "MTL"), ("lnl-lnc", "LNL/ARL"), ("arl-lnc", "LNL/ARL"), ("ptl-cgc", "PTL")):
    nodes = {n["name"]: n for n in accounts[model]}
    server, wrong, checked = "Remote_DRAM" in nodes, [], 0
    for name, row in ROW.items():
        if name not in nodes or not nodes[name]["adds"]:
            continue
        if name == "Local_DRAM" and not server:   # of clients' memory it does not tell
            wrong += [] if nodes[name]["reference"] == 1 and "Carried over" in nodes[name]["note"] else [name]
            continue
        ns, times, what = cell("#Mem_%s_Cost" % row, column).split()
        checked += 1
        if (nodes[name]["penalty"], nodes[name]["reference"], what) != (float(ns), 2, "Core_Frequency") or "sheet" not in nodes[name]["note"]:
            wrong.append("%s: %s %s, not %s ns" % (name, nodes[name]["penalty"], nodes[name]["reference"], ns))
    clear = cell("#BAClear_Cost", column)
    if "Not_Predicted" in nodes and clear != "#NA" and nodes["Not_Predicted"]["penalty"] != float(clear):
        wrong.append("Not_Predicted")
    t.ok(not wrong and checked >= 3, "%s: %d costs as Intel's sheet has them" % (model, checked), "\n".join(wrong))
t.done()
