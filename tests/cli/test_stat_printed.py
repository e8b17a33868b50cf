#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat --import of what perf stat prints: the sums of each form against sums made here, refusals with a cause, privilege
levels, kinds of cores, facts that counts show. The texts are those of perf 6.1, 6.12 and 7.2."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402
from tables import walk  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
STARTED = "# started on Sun Nov 22 10:10:40 2026\n\n"
THREAD, ANY, MISP = "CPU_CLK_UNHALTED.THREAD", "INST_RETIRED.ANY", "BR_MISP_RETIRED.ALL_BRANCHES"


def imported(text, *options, model="ivb"):
    with open("counts", "w", encoding="utf-8") as f:
        f.write(text)
    p = run("stat", "--import", "counts", "-j", *(["--model", model] if model else []), *options)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return {"trees": [], "said": p.stderr, "code": p.returncode, "notes": []}


def counts(doc, tree=0):
    return {c["event"]: c["value"] for c in trees(doc)[tree]["counts"]} if len(trees(doc)) > tree else doc


def nodes(doc, tree=0):
    """{path: value} of those that have one."""
    return {n["node"]: round(n["value"], 6) for n in trees(doc)[tree]["nodes"] if n["value"] is not None} if len(trees(doc)) > tree else doc


def shares(doc, tree=0):
    return {c["event"]: c.get("counted") for c in trees(doc)[tree]["counts"]} if len(trees(doc)) > tree else doc


def has(name, text, want, *options, seconds=None, model="ivb"):
    doc = imported(text, *options, model=model)
    got = counts(doc)
    t.ok(all(abs(got.get(k, -1) - v) <= 1e-9 * v for k, v in want.items()) and (seconds is None or doc["seconds"] == seconds),
         name, "%s\n%s" % (want, doc))


def refused(name, text, word, *options, model="ivb"):
    doc = imported(text, *options, model=model)
    t.ok(not trees(doc) and doc["code"] == 2 and word in doc["said"] and 2 <= len(doc["said"].splitlines()) <= 3, name, doc)


PLAIN = {THREAD: 748838250, ANY: 835703487, MISP: 416719}
CSV = """748838250,,cycles,249612750,100.00,,
835703487,,instructions,249612750,100.00,1.12,insn per cycle
416719,,branch-misses,249612750,100.00,0.28,of all branches
"""
JSON = "".join('{"counter-value" : "%d.000000", "unit" : "", "event" : "%s", "event-runtime" : 249397419, "pcnt-running" : 100.00, '
               '"metric-value" : "0.000000", "metric-unit" : "(null)"}\n' % (v, e)
               for v, e in ((748838250, "cycles"), (835703487, "instructions"), (416719, "branch-misses")))
TABLE = """
 Performance counter stats for 'sleep 7 cycles':

         748838250      cycles
         835703487      instructions                     #    1.12  insn per cycle
            416719      branch-misses                    #    0.28% of all branches

       0.519660124 seconds time elapsed

       0.239117000 seconds user
       0.011208000 seconds sys
"""
for name, text in (("-x, -o", CSV), ("-j -o", JSON), ("-o", TABLE)):
    has("perf stat %s FILE: behind its first line" % name, STARTED + text, PLAIN)
has("the time elapsed", TABLE, PLAIN, seconds=0.519660124)
for sep in ";|\t:":
    has("-x %r" % sep, STARTED + CSV.replace(",", sep), PLAIN)
    has("-x %r, told" % sep, CSV.replace(",", sep), PLAIN, "-x", sep)
has("-r: the noise is no share", "748594023,,cycles,0.06%,249531341,87.50,,\n", {THREAD: 748594023})
t.equal(shares(imported("748594023,,cycles,0.06%,249531341,87.50,,\n"))[THREAD], 0.875, "-r: the share stands behind the noise")
has("-r of a table", "         750,522,186      cycles            ( +-  0.16% )  (66.67%)\n\n"
    "            0.8263 +- 0.0203 seconds time elapsed  ( +-  2.45% )\n", {THREAD: 750522186}, seconds=0.8263)
has("-r of perf 7", "         750522186      cycles     ( +-  0.16% )\n\n"
    "       1.277462669 +- 0.051750039 seconds time elapsed  ( +-  4.05% )\n", {THREAD: 750522186}, seconds=1.277462669)
for name, number in (("en", "1,234,567"), ("de", "1.234.567"), ("fr", "1\u202f234\u202f567"), ("de_CH", "1\u2019234\u2019567")):
    has("thousands as in %s" % name, "   %s      cycles\n  %s instructions\n 0%s5 seconds time elapsed\n" %
        (number, number[2:], "," if name == "de" else "."), {THREAD: 1234567, ANY: 234567})
has("a comma for the decimal point", "  4.567   instructions\n  1.234,56 msec task-clock\n       0,961598526 seconds time elapsed\n",
    {ANY: 4567}, seconds=0.961598526)

# ---- places and intervals: all of them are added up

has("-a -A", "CPU0               2873556936      cycles\nCPU1               2884782594      cycles\n", {THREAD: 5758339530})
has("-a -A -x,", "CPU0,2468506905,,cycles,822835635,100.00,,\nCPU1,2465951457,,cycles,821983819,100.00,,\n", {THREAD: 4934458362})
has("-a -A -j", '{"cpu" : "0", "counter-value" : "5.000000", "event" : "cycles", "pcnt-running" : 100.00}\n'
    '{"cpu" : "1", "counter-value" : "7.000000", "event" : "cycles", "pcnt-running" : 100.00}\n', {THREAD: 12})
has("-a -A of perf 6.12: NAME [cpu]", "CPU0            168253173      IDQ_UOPS_NOT_DELIVERED.CORE [cpu] #     20.0 %  tma_frontend_bound\n"
    "CPU0                                                             #     40.0 %  tma_backend_bound\n"
    "CPU1            168175852      IDQ_UOPS_NOT_DELIVERED.CORE [cpu] #     20.0 %  tma_frontend_bound\n",
    {"IDQ_UOPS_NOT_DELIVERED.CORE": 336429025})
has("-a -A -x, of perf 6.12", "CPU0,29756036,,IDQ.MS_UOPS [cpu],69812355,100.00,30.0,%  tma_retiring\nCPU0,,,,,,40.0,%  tma_backend_bound\n"
    "CPU1,29755497,,IDQ.MS_UOPS [cpu],69811091,100.00,30.0,%  tma_retiring\n", {"IDQ.MS_UOPS": 59511533})
SOCKETS = """#           time socket cpus             counts unit events
     0.107113530 S0        2          655515978      cycles
     0.107113530 S1        2               1000      cycles
     0.107113530 S0        2          731592876      instructions                     #    1.12  insn per cycle
     0.218741984 S0        2          658812411      cycles
     0.218741984 S0        2          735203203      instructions                     #    1.12  insn per cycle
"""
has("a table with --per-socket -I", STARTED + SOCKETS, {THREAD: 655515978 + 1000 + 658812411, ANY: 731592876 + 735203203}, seconds=0.218741984)
has("--per-socket -I -x,", "     0.101134022,S0,2,706627770,,cycles,235542590,100.00,,\n     0.225419508,S0,2,652807188,,cycles,217602396,100.00,,\n",
    {THREAD: 706627770 + 652807188}, seconds=0.225419508)
has("--per-core -I -j: intervals and cores", "".join(
    '{"interval" : %s, "core" : "S0-D0-C%d", "aggregate-number" : 1, "counter-value" : "%d.000000", "unit" : "", "event" : "cycles", '
    '"event-runtime" : 1, "pcnt-running" : 100.00}\n' % (i, c, v) for i, c, v in (("0.105959127", 0, 1), ("0.105959127", 1, 10),
                                                                                  ("0.230127779", 0, 100), ("0.230127779", 1, 1000))),
    {THREAD: 1111}, seconds=0.230127779)
for place in ("S0-D0-C1           1", "N-1       2", "N1       2", "S0-D0           2", "S0-D0-CLS3       2", "D0      2"):
    has("a table by place: %s" % place.split()[0], "%s         1956311946      cycles\n" % place, {THREAD: 1956311946})
has("--per-thread", "        sim spin-1234      1,111      cycles\n        worker-77        2,222      cycles\n            idle-9     <not counted>      cycles\n",
    {THREAD: 3333})
has("an event in several groups counts once, where it was counted longest",
    "100,,cycles,1000,25.00,,\n104,,cycles,1000,50.00,,\n", {THREAD: 104})
has("boxes of a unit", "CPU0,7801965,,UNC_M_CAS_COUNT.RD [uncore_imc_0],1,100.00,,\nCPU0,7801932,,UNC_M_CAS_COUNT.RD [uncore_imc_1],1,100.00,,\n",
    {"UNC_M_CAS_COUNT.RD": 15603897}, model="spr")
has("boxes of a unit, as perf 7 has them", "CPU0               6111292      uncore_imc_0/UNC_M_CAS_COUNT.RD/\n"
    "CPU0               6111331      uncore_imc_1/UNC_M_CAS_COUNT.RD/\n", {"UNC_M_CAS_COUNT.RD": 12222623}, model="spr")
has("terms with commas, in csv", "77,,cpu/event=0x9c,umask=0x1/,999,100.00,,\n", {"IDQ_UOPS_NOT_DELIVERED.CORE": 77})
doc = imported(CSV + "<not counted>,,IDQ.MS_UOPS,0,0.00,,\n0.67,msec,task-clock,670365,100.00,182.412,CPUs utilized\n"
               "<not supported>,,LLC-loads,0,100.00,,\n")
t.ok(counts(doc).get(THREAD) == PLAIN[THREAD] and "IDQ.MS_UOPS" not in counts(doc), "what was not counted is left out", doc)
doc = imported("0.1,CPU0,<not counted>,msec,task-clock,0,0.00,,\n0.1,CPU0,5,,cycles,9,100.00,,\n")
t.equal(counts(doc), {THREAD: 5, THREAD + "_P": 5} if THREAD + "_P" in counts(doc) else {THREAD: 5}, "a time is no count")
doc = imported("0.100000000,5,,cycles,9,100.00,,\n0.100000000,7,,instructions,9,50.00,,\n"
               "0.200000000,5,,cycles,9,100.00,,\n0.200000000,<not counted>,,instructions,0,0.00,,\n")
t.ok(counts(doc).get(THREAD) == 10 and ANY not in counts(doc) and "left out" in str(doc["notes"]),
     "what was not counted in some intervals has no sum, and that is said", doc)
has("where nothing ran, nothing is missed", "0.100000000,5,,cycles,9,100.00,,\n0.200000000,<not counted>,,cycles,0,100.00,,\n", {THREAD: 5})

# ---- several runs, several cgroups, nothing

doc = imported(STARTED + CSV + STARTED + CSV)
t.ok(counts(doc).get(THREAD) == 2 * PLAIN[THREAD] and "2 runs" in str(doc["notes"]), "--append: runs of the same events are added up, and that is said", doc)
refused("--append: runs of different events", STARTED + CSV + STARTED + CSV.replace("cycles", "branches"), "one by one")
CGROUPS = "5,,cycles,web,9,100.00,,\n7,,cycles,db,9,100.00,,\n"
refused("several cgroups", CGROUPS, "-G web")
has("one of several cgroups", CGROUPS, {THREAD: 7}, "-G", "db")
has("a cgroup in a table", "     5      cycles                    web     #  1.0 GHz\n     7      cycles                    db     #  1.0 GHz\n", {THREAD: 5}, "-G", "web")
has("a cgroup in JSON", '{"counter-value" : "5", "event" : "cycles", "cgroup" : "web"}\n{"counter-value" : "7", "event" : "cycles", "cgroup" : "db"}\n',
    {THREAD: 7}, "-G", "db")
doc = imported(STARTED + "%  tma_backend_bound,%  tma_retiring,\n39.8,30.1,\n")
t.equal(nodes(doc), {"backend_bound": 0.398, "retiring": 0.301}, "--metric-only: the figures as they were printed")
refused("nothing at all", STARTED, "no counts")

# ---- privilege levels

K = "100,,cycles:k,9,100.00,,\n20000,,cycles,9,100.00,,\n10000,,instructions,9,100.00,,\n"
doc = imported(K, "-M", "IPC")
t.ok(counts(doc).get(THREAD) == 20000 and trees(doc)[0]["metrics"][0]["value"] == 0.5, "EVENT:k does not replace EVENT: the IPC is that of EVENT", doc)
doc = imported(K.replace("cycles:k", "branch-misses:k"))
t.ok("branch-misses:k" in str(doc["notes"]) and counts(doc).get(ANY) == 10000, "what is of another level is left out, and that is said", doc)
U = "400,,cycles:u,9,100.00,,\n300,,instructions:u,9,100.00,,\n100,,cycles:k,9,100.00,,\n50,,instructions:k,9,100.00,,\n"
refused("levels apart: which?", U, "--user")
has("--user", U, {THREAD: 400, ANY: 300}, "--user")
has("--kernel", U, {ANY: 50}, "--kernel")
doc = imported(U[:U.index("100,")])
t.ok(counts(doc).get(THREAD) == 400 and "user space" in str(doc["notes"]), "all of user space: said", doc)
has("all levels, and what is no level", "5,,cycles:ukpp,9,100.00,,\n6,,instructions:H,9,100.00,,\n", {THREAD: 5, ANY: 6})
refused("--user of counts that do not tell", CSV, "--user", "--user")

# ---- kinds of cores

HYBRID = """6779025252,,cpu_core/slots/,376612514,100.00,,
1696208148,,cpu_atom/topdown-retiring/,376935144,100.00,84.4,Retiring
2046999781,,cpu_core/topdown-retiring/,376612514,100.00,84.4,Retiring
691194731,,cpu_core/topdown-bad-spec/,376612514,100.00,15.6,Bad Speculation
1355805050,,cpu_core/topdown-fe-bound/,376612514,100.00,15.6,Frontend Bound
2711610100,,cpu_core/topdown-be-bound/,376612514,100.00,15.6,Backend Bound
1130868462,,cpu_atom/cycles/,376956154,100.00,,
1129876599,,cpu_core/cycles/,376625533,100.00,,
"""
doc = imported(HYBRID, model="alderlake")
t.equal([(x["where"], x["model"]) for x in trees(doc)], [("cpu_core", "adl-glc"), ("cpu_atom", "adl-grt")], "a tree of each kind of cores")
t.equal([counts(doc, i).get("CPU_CLK_UNHALTED.THREAD" if not i else "CPU_CLK_UNHALTED.CORE") for i in (0, 1)], [1129876599, 1130868462],
        "each kind has its own counts")
t.ok(abs((nodes(doc).get("retiring") or 0) - 0.3008) < 1e-3, "csv of a hybrid: cpu_core/topdown-retiring/ is known", doc)
doc = imported(HYBRID, model="adl-grt")
t.ok([x["model"] for x in trees(doc)] == ["adl-grt"] and "cpu_core" in str(doc["notes"]), "--model of one kind: its tree, and what is left out", doc)
refused("a model of neither kind", HYBRID, "alderlake", model="skl")
refused("the name of a hybrid, for plain counts", CSV, "adl-glc", model="alderlake")

# ---- facts that the counts show, or that have to be said

SMT = "1000,,CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE,9,100.00,,\n%d,,CPU_CLK_UNHALTED.REF_XCLK,9,100.00,,\n"
t.ok("SMT was on" in str(imported(SMT % 1500)["notes"]), "SMT was on: another thread was active")
t.ok("without SMT" in str(imported(SMT % 1001)["notes"]), "no other thread was active")
L1 = "".join("%d,,%s,9,100.00,,\n" % x for x in ((2000, "IDQ_UOPS_NOT_DELIVERED.CORE"), (4000, THREAD), (5000, "UOPS_ISSUED.ANY"),
                                                 (4000, "UOPS_RETIRED.RETIRE_SLOTS")))
for event, word in (("INT_MISC.RECOVERY_CYCLES_ANY", "SMT was on"), ("INT_MISC.RECOVERY_CYCLES", "SMT was off")):
    doc = imported(L1 + "10,,%s,9,100.00,,\n" % event)
    t.ok(word in str(doc["notes"]) and "as much" not in str(doc["notes"]), "%s: the events are those of its formulas" % word, doc["notes"])
t.ok("--smt on or off" in str(imported(L1)["notes"]) and "--smt" not in str(imported(L1, "--smt", "off")["notes"]), "not shown: asked for")
doc = imported(CSV, model="clx")
t.ok("--pmem on" in str(doc["notes"]), "persistent memory: assumed absent, and that is said", doc["notes"])
t.ok("--pmem" not in str(imported(CSV, "--pmem", "off", model="clx")["notes"]), "--pmem says it")
PMM = "".join("%d,,%s,9,100.00,,\n" % x for x in ((1000, THREAD), (10, "MEM_LOAD_RETIRED.LOCAL_PMM")))
on, off = (run("stat", "--import", "counts", "--model", "clx", "--why", "-j", "-l", "5", "--pmem", x).stdout if imported(PMM, model="clx") else ""
           for x in ("on", "off"))
t.ok("PMM_App_Direct [1]" in on and "PMM_App_Direct [0]" in off, "--pmem reaches the formulas", on + off)

# ---- two names of one counter

doc = imported("5,,CPU_CLK_UNHALTED.THREAD_P,9,100.00,,\n7,,INST_RETIRED.ANY_P,9,100.00,,\n", "-M", "IPC")
t.equal(trees(doc)[0]["metrics"][0]["value"], 1.4, "two names of one encoding: formulas that say the other have it")
doc = imported("5,,cpu/ls_not_halted_cyc/,9,100.00,,\n6,,ibs_op/cycles/,9,100.00,,\n7,,instructions,9,100.00,,\n", model="zen4")
t.equal((counts(doc).get("ls_not_halted_cyc"), counts(doc).get("ex_ret_instr")), (5, 7), "AMD: events of other units are not the core's")
doc = imported("1.5,msec,task-clock,9,100.00,,\n64,,page-faults,9,100.00,,\n")
t.ok([(c["event"], c["value"], c["unit"]) for c in doc.get("counts", [])] == [("task-clock", 1.5e6, "ns"), ("page-faults", 64, "")] and
     "no tree" in str(doc["notes"]), "software events alone are no tree: the events, and why", doc)
has("Arm's PMU", "5,,armv8_pmuv3_0/cpu_cycles/,9,100.00,,\n6,,armv8_pmuv3_0/stall_frontend/,9,100.00,,\n", {"CPU_CYCLES": 5, "STALL_FRONTEND": 6},
    model="neoverse-n1")

# ---- --why

p = run("stat", "--import", "counts", "--model", "neoverse-n1", "--why")
t.ok("frontend_bound" in p.stdout and "STALL_FRONTEND" in p.stdout and " = " in p.stdout, "--why: the formulas, with values", p.stdout + p.stderr)

# ---- names of models

for names, ident in (("ivybridge IvyBridge ivy-bridge IVB core-avx-i", "ivb"), ("sapphirerapids SPR Sapphire-Rapids", "spr"),
                     ("skylake-avx512 skylakex skylake_server SKX", "skx"), ("znver4 amdzen4 zen_4 genoa", "zen4"), ("neoverse_n1 neoversen1", "neoverse-n1"),
                     ("skylake kabylake", "skl"), ("icelakex icelake-server", "icx")):
    for name in names.split():
        p = run("list", "nodes", "--model", name)
        t.ok(p.stdout.startswith(" nodes of %s:" % ident), "list --model %s" % name, p.stdout[:80] + p.stderr)
p = run("explain", "--model", "znver4", "frontend_bound")
t.ok("of zen4" in p.stdout, "explain --model znver4", p.stdout + p.stderr)
p = run("models", "check", "skylake-avx512")
t.ok(p.returncode == 0 and "1 loaded" in p.stdout, "models check skylake-avx512", p.stdout + p.stderr)
p = run("list", "models", "sapphirerapids")
t.ok([x.split()[0] for x in p.stdout.splitlines() if x] == ["id", "spr"], "list models sapphirerapids", p.stdout + p.stderr)
p = run("stat", "--import", "counts", "--cpu", "neoverse_n1", "-j")
t.ok(p.returncode == 0 and trees(json.loads(p.stdout))[0]["model"] == "neoverse-n1", "--cpu NAME", p.stderr)
p = run("list", "nodes", "--model", "alderlake")
t.ok(p.returncode == 2 and "adl-glc (cpu_core) or adl-grt (cpu_atom)" in p.stderr, "a hybrid's name: which kind of cores", p.stderr)

# ---- every table in every format; a name that nothing may obey
with open("hostile", "wb") as f:
    f.write(b"5,,evil\x1b[31m|<b>`\xff\xfe,999,100.00,,\n" + CSV.encode())
walk(t, "stat", "--import", "hostile", "--model", "ivb", "--smt", "off", "-l", "2", "-M", "IPC", "--why")
doc = json.loads(run("stat", "--import", "hostile", "--model", "ivb", "-j").stdout)
t.ok(any("evil\x1b[31m|<b>`" in e["event"] for e in doc["events"]), "json has the name as it is", doc)
p = run("stat", "--import", "hostile", "--model", "ivb", "-M", "IPC", "-x", ",")
t.ok(p.stdout.startswith("where,metric,value,") and "evil" in p.stderr and "\x1b" not in p.stderr, "csv: metrics; notes on standard error", p.stdout + p.stderr)

# ---- metrics whose names differ at their ends

FILLS = ["l1_demand_data_cache_fills_from_%s_pti" % x for x in ("local_l2", "same_ccx", "near_cache", "near_memory", "far_cache", "far_memory")]
with open("counts", "w", encoding="utf-8") as f:
    f.write("1000000,,ex_ret_instr,1000000,100.00,,\n")
    for i, event in enumerate(("local_l2", "local_ccx", "near_cache", "dram_io_near", "far_cache", "dram_io_far")):
        f.write("%d,,ls_dmnd_fills_from_sys.%s,1000000,100.00,,\n" % (1000 * (i + 1), event))
for width in (60, 80, 120):
    p = run("stat", "--import", "counts", "--model", "zen5", "-M", "l1_dcache", env=dict(os.environ, COLUMNS=str(width), LC_ALL="C.UTF-8"))
    names = [x.split()[0] for x in p.stdout.splitlines() if x.endswith(".000 per 1k instr")]
    t.ok(len(set(names)) == 6 and (width < 80 or names == FILLS), "%d columns: six metrics have six names" % width, p.stdout + p.stderr)
t.done()
