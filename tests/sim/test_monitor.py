#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade monitor on simulated machines: what is planted comes out, at its place; each planted value moves the metrics that
are made of it and no other; what cannot be counted has a reason. Raw register values as AMD publishes them are what the
kernel gets from us."""
import collections
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import monitored  # noqa: E402
from machines_made import rome, zen4  # noqa: E402
from monitored import column, near, rows  # noqa: E402
from sim import SYSROOT, planted, run_on  # noqa: E402
from tap import CYCLADE, Bars  # noqa: E402

t, put = monitored.begin("monitor")
text, RATES = rome()
ROME = put("rome.tab", text)
MS = "400"


def scenario(**rates):
    return put("scenario-" + "-".join(rates).replace(".", "_"), "phase even -\n" + "".join("rate %s %r\n" % r for r in rates.items()))


def monitor(*args, on=ROME, program="even", interval=MS, **more):
    return monitored.monitor(on, program, *args, interval=interval, **more)


doc, p = monitor()
monitored.none_here(t, doc, p, "monitor")

# ---- values as planted (per ns), at their places
CH = ["dram_channel_data_controller_%d" % c for c in range(8)]
LINK = ["remote_outbound_data_controller_%d" % c for c in range(4)]
WANT = {  # (place, key): its value, from the rates of the machine's table
    ("socket", "dram_bytes_rate"): 64e9 * sum(RATES[c] for c in CH),
    ("socket", "link_bytes_rate"): 32e9 * sum(RATES[c] for c in LINK),
    ("l3", "accesses_rate"): 1e9 * RATES["l3_lookup_state.all_l3_req_typs"],
    ("l3", "misses_rate"): 1e9 * RATES["l3_misses"],
    ("l3", "miss_ratio"): RATES["l3_misses"] / RATES["l3_lookup_state.all_l3_req_typs"],
    ("l3", "miss_latency"): 16 * RATES["xi_sys_fill_latency"] / RATES["xi_ccx_sdp_req1.all_l3_miss_req_typs"],
    ("cpu", "aperf_rate"): 3e9, ("cpu", "mperf_rate"): 2.25e9, ("cpu", "frequency"): 2.4e9 * 3 / 2.25,
    ("cpu", "instructions_rate"): 1e9 * RATES["ex_ret_instr"], ("cpu", "cycles_rate"): 1e9 * RATES["ls_not_halted_cyc"],
    ("cpu", "cpi"): RATES["ls_not_halted_cyc"] / RATES["ex_ret_instr"],
    ("cpu", "macro_ops_rate"): 1e9 * RATES["ex_ret_cops"], ("cpu", "flops_rate"): 1e9 * RATES["fp_ret_sse_avx_ops.all"],
    ("cpu", "l2_accesses_rate"): 1e9 * sum(RATES[e] for e in ("l2_request_g1.all_no_prefetch", "l2_pf_hit_l2", "l2_pf_miss_l2_hit_l3", "l2_pf_miss_l2_l3")),
    ("cpu", "l2_misses_rate"): 1e9 * sum(RATES[e] for e in ("l2_cache_req_stat.ic_dc_miss_in_l2", "l2_pf_miss_l2_hit_l3", "l2_pf_miss_l2_l3")),
    ("cpu", "l2_hits_rate"): 1e9 * sum(RATES[e] for e in ("l2_cache_req_stat.ic_dc_hit_in_l2", "l2_pf_hit_l2")),
}
for (place, key), want in WANT.items():
    got = column(doc, place, key)
    t.ok(len(got) == {"socket": 2, "l3": 4, "cpu": 4}[place] and all(near(v, want) for v in got), "%s.%s is what was planted" % (place, key), (got, want))
got = {(r["socket"], r["channel"]): r["bytes_rate"] for r in rows(doc, "channel")}
t.ok(len(got) == 16 and all(near(got[s, str(c)], 64e9 * RATES[CH[c]]) for s in (0, 1) for c in range(8)), "each channel of each socket", got)
t.equal([(r["l3"], r["socket"]) for r in rows(doc, "l3")], [(10, 0), (11, 0), (12, 1), (13, 1)], "L3 caches by the kernel's numbers, two a socket")
t.ok(near(rows(doc, "socket")[0]["dram_bytes"], rows(doc, "socket")[0]["dram_bytes_rate"] * doc["interval"], 0.02), "a total is what its rate adds up to", doc["socket"])

# ---- eight channels and four links on four counters: shares and errors
share = {r["event"]: (r["pmu"], r["share"]) for r in doc["counters"]}
df = [s for pmu, s in share.values() if pmu == "amd_df"]
t.ok(len(df) == 12 and all(0.1 < s < 0.6 for s in df) and 0.9 < sum(df) / 4 < 1.01, "twelve events take turns on four counters of the data fabric, evenly", df)
t.ok(all(s > 0.999 for pmu, s in share.values() if pmu in ("amd_l3", "msr")), "what fits its PMU counts all the time", share)
t.ok(all(r["bytes_rate_error"] <= 0.01 * r["bytes_rate"] for r in rows(doc, "channel")), "steady traffic: a small error", doc["channel"][:2])
bursts = put("bursts", "".join("phase even 7-31 scale=%s\n" % s for s in (0.2, 1.8)) + "repeat\n")
late, p = monitor("--metrics", "channel", program=bursts, interval="1000")
r = rows(late, "channel")
t.ok(r and all(x["bytes_rate_error"] > 0.01 * x["bytes_rate"] for x in r), "bursts: a large one", (r[:2], p.stderr))
# What counts all the time says what the others would have: all rates go up and down together.
off = []
for seed in range(1, 21):
    late, p = monitor("--metrics", "channel,l3.accesses", program=bursts, interval="1000", settings="seed=%d" % seed)
    load = rows(late, "l3")[0]["accesses_rate"] / RATES["l3_lookup_state.all_l3_req_typs"]
    off += [abs(r["bytes_rate"] - 64 * RATES[CH[int(r["channel"])]] * load) / r["bytes_rate_error"]
            for r in rows(late, "channel") if r["socket"] == 0 and r["channel"] in "07"]  # one of each group
inside = Bars(40, 40)
for x in off:
    inside.add(x <= 1)
t.ok(inside.of == 40 and inside.good() and max(off) < 3, "bursts: figures lie within their errors, %s" % inside, sorted(off)[-6:])
asked, p = monitor("--metrics", "channel,link_bytes", how=("-j", "--for", "2s"), SIM_DEBUG="1")
calls = re.search(r"^sim: (\d+) reads, (\d+) switches, (\d+) interrupts", p.stderr, re.M)
reads, switches, interrupts = map(int, calls.groups()) if calls else (0, 0, 0)
t.ok(reads > 200 and switches <= 2 * reads and interrupts - switches <= 10, "in five intervals a turn interrupts a CPU twice, its reading does not", (reads, switches, interrupts))
one, p = monitor("--metrics", "DF_CH0_RD_BW_GB")
told = [n for n in one["notes"] if "DF_CH0_RD_BW_GB" in n]
t.ok(len(told) == 1 and "channel.bytes" in told[0] and "read and written" in told[0], "and it is said that it has reads and writes together", one["notes"])
several = [json.loads(x) for x in monitor("--metrics", "DF_CH0_RD_BW_GB,channel", how=("-j", "--for", "1200ms"))[1].stdout.splitlines()]
t.ok(len(several) > 1 and [sum("is channel.bytes here" in n for n in d["notes"]) for d in several] == [1] + [0] * (len(several) - 1), "once", several)
t.ok([r["bytes_rate_error"] for r in rows(one, "channel")] == [0, 0] and len(one["counters"]) == 1, "a metric asked for by another tool's name alone takes no turns", one)

# ---- each planted value moves its own metrics, and no other
def figures(d):
    return {(place, i, k): v for place in ("socket", "l3", "cpu", "channel") for i, r in enumerate(rows(d, place))
            for k, v in r.items() if (k + "_error") in r and v is not None}


CASES = {"dram_channel_data_controller_5": {"dram_bytes_rate", "bytes_rate"}, "l3_misses": {"misses_rate", "miss_ratio"},
         "xi_sys_fill_latency": {"miss_latency"}, "fp_ret_sse_avx_ops.all": {"flops_rate"}, "l2_pf_hit_l2": {"l2_accesses_rate", "l2_hits_rate"},
         "remote_outbound_data_controller_2": {"link_bytes_rate"}, "ls_not_halted_cyc": {"cycles_rate", "cpi"}, "aperf": {"aperf_rate", "frequency"}}
base = figures(doc)
for event, keys in CASES.items():
    new = figures(monitor(program=scenario(**{event: RATES[event] * 1.5}))[0])
    moved = {k for (place, i, k), v in new.items() if not near(v, base[place, i, k], 0.01)}
    t.ok(set(new) == set(base) and moved == keys, "%s moves %s alone" % (event, ", ".join(sorted(keys))), moved)
    if "bytes_rate" in keys:
        t.equal({rows(doc, "channel")[i]["channel"] for (pl, i, k), v in new.items() if pl == "channel" and not near(v, base[pl, i, k], 0.01)}, {"5"}, "and of the channels its own")

# ---- the values of the registers, as AMD publishes them, are what the kernel is asked for
SEED = {0x43F960: "l2_request_g1.all_no_prefetch", 0x430964: "l2_cache_req_stat.ic_dc_miss_in_l2", 0x43F664: "l2_cache_req_stat.ic_dc_hit_in_l2",
        0x4300C1: "ex_ret_cops", 0x7004002C7: LINK[0], 0x800400207: LINK[1], 0x800400247: LINK[2], 0x800400287: LINK[3],
        0x403807: CH[0], 0x403847: CH[1], 0x403887: CH[2], 0x4038C7: CH[3], 0x100403807: CH[4], 0x100403847: CH[5], 0x100403887: CH[6],
        0x1004038C7: CH[7]}
config = {r["event"]: (r["pmu"], int(r["config"], 16)) for r in doc["counters"]}
for raw, event in SEED.items():
    pmu, value = config.get(event, ("", 0))
    got = value | (0x430000 if pmu == "cpu" else 0x400000)  # the kernel enables: user, kernel, on
    t.ok(got == raw, "%s is %#x" % (event, raw), hex(got))
def encoded(on, event):
    p = run_on(on, "even", CYCLADE, "stat", *SYSROOT, "--dry-run", "-a", "-e", event)
    found = re.search(r"config (0x[0-9a-f]+)", p.stdout + p.stderr)
    return int(found.group(1), 16) | 0x400000 if found else None


# Prefetches: the published values have 0x1f as the mask, Linux 6.12's tables (and so the model) 0xff.
for event, raw in (("l2_pf_hit_l2", 0x431F70), ("l2_pf_miss_l2_hit_l3", 0x431F71), ("l2_pf_miss_l2_l3", 0x431F72)):
    t.equal((encoded(ROME, "cpu/event=%#x,umask=0x1f/" % (raw & 0xff)) or 0) | 0x30000, raw, "%#x of its event and mask" % raw)
    t.equal(config[event][1], raw & 0xff | 0xff00, "%s has all bits of the mask" % event)


# The published values of the L3 are those of family 19h; a Rome is 17h, where they would count one core's threads only.
for umask, milan, right in ((0xFF, 0x0300C0000040FF04, 0xFF0F00000040FF04), (0x01, 0x0300C00000400104, 0xFF0F000000400104)):
    t.equal(encoded("zen4", "amd_l3/event=0x04,umask=%#x,threadmask=3,enallslices,enallcores/" % umask), milan, "%#x: by the formats of family 19h" % milan)
    got = encoded(ROME, "amd_l3/event=0x04,umask=%#x,slicemask=0xf,threadmask=0xff/" % umask)
    t.ok(got == right != milan, "a Rome has %#x" % right, got)
for event, low in (("l3_lookup_state.all_l3_req_typs", 0xFF04), ("l3_misses", 0x0104)):
    t.equal(config[event], ("amd_l3", low), "%s: masks are left to the kernel, which takes all" % event)

# ---- what is not there
p = run_on(ROME, "even", CYCLADE, "monitor", *SYSROOT, "--once", "-I", "50", "--metrics", "no_such")
t.ok(p.returncode == 2 and "no_such" in p.stderr, "an unknown metric is refused", p.stderr)
bare, p = monitor(on=put("bare.tab", "".join(x + "\n" for x in text.splitlines() if not re.match(r"(pmu|format|cap|sysevent|event) (amd_df|amd_l3|msr)", x))), interval="100")
why = {(r["place"], r["metric"]): r["why"] for r in bare.get("unavailable", [])}
t.ok(bare and "amd_df" in why.get(("socket", "dram_bytes"), "") and "amd_l3" in why.get(("l3", "misses"), ""), "a PMU that is missing is the reason", (why, p.stderr))
t.ok(near((column(bare, "cpu", "cpi") or [None])[0], WANT["cpu", "cpi"]), "and the others go on", bare.get("cpu"))
held, p = monitor("--metrics", "l3", settings=" ".join(["held=2"]), interval="100")
t.ok(held, "somebody else holds a counter: no failure", p.stderr)

# ---- a CPU goes offline: it has no values any more, its totals stay, the others go on
p = run_on(ROME, "even", CYCLADE, "monitor", *SYSROOT, "--for", "1200ms", "-I", "400", "-j", "--metrics", "cpi,instructions,l3.misses", settings="gone=600 gone_cpu=1")
docs = [json.loads(x) for x in p.stdout.splitlines()]
last = docs[-1] if len(docs) > 1 else {}
cpus = {r["cpu"]: r for r in rows(last, "cpu")}
l3 = {r["l3"]: r for r in rows(last, "l3")}
t.ok(cpus and cpus[1]["cpi"] is None and "offline" in cpus[1]["cpi_why"] and cpus[1]["instructions_rate"] is None and cpus[1]["instructions"] > 0 and
     l3[11]["misses_rate"] is None and "offline" in l3[11]["misses_rate_why"], "a CPU goes offline: no values, the reason, and its totals", (cpus, l3, p.stderr))
t.ok(cpus and near(cpus[0]["cpi"], WANT["cpu", "cpi"]) and near(l3[10]["misses_rate"], WANT["l3", "misses_rate"]) and last["losses"]["gone"] > 0,
     "the others go on, and the loss is told", (cpus, last.get("losses")))

# ---- a metric of one's own is a row
put("own/amd/zen2/monitor", "base zen2\nsocket dram_lines=Lines counter - dram_channel_data_controller_0 * 2 ; a test\n")
own, p = monitor("--models", put("own"), "--metrics", "Lines")
t.ok([near(v, 2e9 * RATES[CH[0]]) for v in column(own, "socket", "dram_lines_rate")] == [True, True], "a row of one's own", (own, p.stderr))
for row, word in (("socket x counter - a / b", "sum of counts"), ("socket x counter", "formula"), ("nowhere x gauge - ex_ret_instr", "no place"),
                  ("cpu X! gauge - ex_ret_instr", "a-z"), ("cpu x gauge - (ex_ret_instr", "monitor:2")):
    put("own/amd/zen2/monitor", "base zen2\n%s\n" % row)
    p = run_on(ROME, "even", CYCLADE, "monitor", *SYSROOT, "--once", "-I", "50", "--models", put("own"))
    t.ok(p.returncode == 2 and word in p.stderr, "refused: " + row, p.stderr)

# ---- memory controllers count apart, and by channel (Zen 4)
z4, z4_rates = zen4()
umc, p = monitor("--metrics", "channel,dram_read_bytes,dram_write_bytes", on=put("zen4.tab", z4))
got, first = column(umc, "channel", "read_bytes_rate"), z4_rates["umc_cas_cmd.rd"]
t.ok(len(got) == 2 and near(got[0], 64e9 * first) and near(got[1], 32e9), "bytes read, by memory controller", (got, first, p.stderr))
t.ok(near(sum(got), (column(umc, "socket", "dram_read_bytes_rate") or [0])[0]), "and of the socket their sum", umc.get("socket"))

# ---- the top-down tree, by the model's formulas
for machine in ("spr", "icl", "zen4", "n2"):
    tree, p = monitor("--metrics", "core,frontend_bound", on=machine, interval="200")
    want = planted(machine, "even")
    got = {k: column(tree, "core", k) for k in want if None not in column(tree, "core", k)}
    # fields of PERF_METRICS are eighths of a byte
    t.ok(len(got) >= (12 if machine in ("spr", "icl") else 4) and all(abs(v - want[k]) < 0.006 for k in got for v in got[k]),
         "%s: %d nodes by core" % (machine, len(got)), (got, want, p.stderr))
    got = column(tree, "socket", "frontend_bound")
    t.ok(got and all(abs(v - want["frontend_bound"]) < 0.006 for v in got), "%s: by socket" % machine, got)

# ---- a hybrid has a tree of each kind of cores, by events and formulas of its own
ATOM = {"ifetch_latency": "fetch_latency", "ifetch_bandwidth": "fetch_bandwidth"}
for machine, program in (("adl", "dram_bound"), ("mtl", "branch_mispredicts")):
    tree, p = monitor("--metrics", "kind,core,cpu.cpi", on=machine, program=program, interval="200")
    for place in ("kind", "core"):
        of = {r["kind"]: r for r in rows(tree, place)}
        t.equal(sorted(of), ["cpu_atom", "cpu_core"], "%s: both kinds, by %s" % (machine, place))
        for pmu, least in (("cpu_core", 10), ("cpu_atom", 9)):
            want = {ATOM.get(k, k): v for k, v in planted(machine, program, pmu).items()}
            got = {k: of.get(pmu, {}).get(k) for k in want}
            wrong = {k: (v, want[k]) for k, v in got.items() if v is not None and abs(v - want[k]) > 0.006 + (of[pmu].get(k + "_error") or 0)}
            t.ok(sum(v is not None for v in got.values()) >= least and not wrong, "%s by %s: the tree of %s" % (machine, place, pmu), (wrong, got, p.stderr))
    t.ok(tree["model"].count(",") == 1 and all(v for v in column(tree, "cpu", "cpi")), "%s: both models are named, and each CPU has its cycles" % machine, tree["model"])

# ---- which counters are free is tried out once, and then they are opened
_, p = monitor("--metrics", "cpu.cpi", on="spr", interval="50", SIM_DEBUG="1")
opened = collections.Counter(" ".join(x.split()[4:10]) for x in p.stderr.splitlines() if x.startswith("sim: open"))
most = max(opened.values(), default=0)
t.ok(8 <= most <= 9, "free counters are tried out once: eight general ones and one more", opened.most_common(3))
t.done()
