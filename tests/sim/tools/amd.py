# SPDX-License-Identifier: BSD-3-Clause
"""amd - programs for Zen 4 (formulas of Linux' pipeline.json) and Zen 2 (which has no events for slots: approximations
by cycles without ops and by stalls of dispatch)."""
import glob
import json
import os
import zlib

GHZ = 3.0
WIDTH = 6
EVEN = {"frontend_bound_latency": 0.15, "frontend_bound_bandwidth": 0.05, "bad_speculation_mispredicts": 0.08,
        "bad_speculation_pipeline_restarts": 0.02, "backend_bound_memory": 0.28, "backend_bound_cpu": 0.12,
        "smt_contention": 0.0, "retiring_fastpath": 0.27, "retiring_microcode": 0.03}
QUIET = {"frontend_bound_latency": 0.06, "frontend_bound_bandwidth": 0.05, "bad_speculation_mispredicts": 0.04,
         "bad_speculation_pipeline_restarts": 0.01, "backend_bound_memory": 0.10, "backend_bound_cpu": 0.06,
         "smt_contention": 0.0, "retiring_fastpath": 0.24, "retiring_microcode": 0.02}
PROGRAMS = ["even"] + list(EVEN)
L1 = {"frontend_bound": ("frontend_bound_latency", "frontend_bound_bandwidth"),
      "bad_speculation": ("bad_speculation_mispredicts", "bad_speculation_pipeline_restarts"),
      "backend_bound": ("backend_bound_memory", "backend_bound_cpu"), "smt_contention": ("smt_contention",),
      "retiring": ("retiring_fastpath", "retiring_microcode")}
UNITS = {None: "cpu", "L3PMC": "amd_l3", "DFPMC": "amd_df", "UMCPMC": "amd_umc_0"}


def code(event, umask, pmu="cpu"):
    high = (event >> 8 & 0xF) << 32 | ((event >> 12 & 3) << 59 if pmu == "amd_df" else 0)
    return event & 0xFF | high | (umask & 0xFF) << 8 | ((umask >> 8 & 0xF) << 24 if pmu == "amd_df" else 0)


def plan_of(program):
    if program == "even":
        return dict(EVEN)
    plan = dict(QUIET)
    plan[program] += 1 - sum(plan.values())
    return plan


def zen4(p):
    """Counts per ns of what the formulas ask for."""
    slots = WIDTH * GHZ
    fe = p["frontend_bound_latency"] + p["frontend_bound_bandwidth"]
    bad = p["bad_speculation_mispredicts"] + p["bad_speculation_pipeline_restarts"]
    be = p["backend_bound_memory"] + p["backend_bound_cpu"]
    ret = p["retiring_fastpath"] + p["retiring_microcode"]
    return {"de_no_dispatch_per_slot.no_ops_from_frontend": fe * slots,
            "de_no_dispatch_per_slot.no_ops_from_frontend:c6": p["frontend_bound_latency"] * GHZ,
            "de_no_dispatch_per_slot.backend_stalls": be * slots,
            "de_no_dispatch_per_slot.smt_contention": p["smt_contention"] * slots,
            "de_src_op_disp.all": (ret + bad) * slots, "ex_ret_ops": ret * slots,
            "ex_ret_ucode_ops": p["retiring_microcode"] * slots,
            "ex_ret_brn_misp": 0.02 * p["bad_speculation_mispredicts"] / bad,
            "resyncs_or_nc_redirects": 0.02 * p["bad_speculation_pipeline_restarts"] / bad,
            "ex_no_retire.not_complete": 0.4 * GHZ,
            "ex_no_retire.load_not_complete": 0.4 * GHZ * p["backend_bound_memory"] / be,
            "ls_not_halted_cyc": GHZ, "ex_ret_instr": ret * slots / 1.1}


def zen2(p):
    slots = WIDTH * GHZ
    bad = p["bad_speculation_mispredicts"] + p["bad_speculation_pipeline_restarts"]
    ret = p["retiring_fastpath"] + p["retiring_microcode"]
    memory, cpu = p["backend_bound_memory"] * GHZ, p["backend_bound_cpu"] * GHZ
    return {"ls_not_halted_cyc": GHZ, "ex_ret_instr": ret * slots / 1.1, "ex_ret_cops": ret * slots,
            "de_dis_uops_from_decoder:u3": (ret + bad) * slots,
            "de_dis_uops_from_decoder": (ret + bad) * slots, "de_dis_uops_from_decoder.opcache_dispatched": ret * slots,
            "de_dis_uops_from_decoder.decoder_dispatched": bad * slots,
            "de_dis_uop_queue_empty_di0": (p["frontend_bound_latency"] + p["frontend_bound_bandwidth"]) * GHZ,
            "ex_ret_brn_misp": 0.2 * p["bad_speculation_mispredicts"],
            "de_dis_dispatch_token_stalls1.load_queue_token_stall": memory * 0.6,
            "de_dis_dispatch_token_stalls1.store_queue_token_stall": memory * 0.4,
            "de_dis_dispatch_token_stalls0.retire_token_stall": cpu * 0.5,
            "de_dis_dispatch_token_stalls0.alu_token_stall": cpu * 0.5}


def rows(directory):
    for path in sorted(glob.glob(os.path.join(directory, "*.json"))):
        for e in json.load(open(path, encoding="utf-8")):
            if "EventName" in e and e.get("Unit") in UNITS:
                pmu = UNITS[e.get("Unit")]
                event, umask = int(e["EventCode"], 0), int(e.get("UMask", "0"), 0)
                extra = 0
                for key, shift in (("SliceId", 48), ("EnAllCores", 47), ("EnAllSlices", 46), ("ThreadMask", 56),
                                   ("RdWrMask", 8)):
                    extra |= int(e.get(key, "0"), 0) << shift
                yield pmu, e["EventName"], code(event, umask, pmu) | extra


def write(reference, machine, out):
    rates = {"zen4": zen4, "zen2": zen2}[machine["rates"]]
    slots = machine["rates"] == "zen4"  # before, there is no telling of level 2, or of the other thread
    programs = [p for p in PROGRAMS if slots or p != "smt_contention"]
    table = {p: rates(plan_of(p)) for p in programs}
    seen = set()
    print("programs " + " ".join(programs))
    print("# events of Linux 6.12, pmu-events/arch/x86/%s" % machine["events"])
    found = list(rows(os.path.join(reference, "pmu-events", "x86", machine["events"])))
    if machine["rates"] == "zen4":
        found.append(("cpu", "de_no_dispatch_per_slot.no_ops_from_frontend:c6", code(0x1A0, 1) | 6 << 24))
    if machine["rates"] == "zen2":
        found.append(("cpu", "de_dis_uops_from_decoder:u3", code(0xAA, 3)))
    found += [("cpu", "generic:" + name, config) for name, config in machine["generic"]]
    found.sort(key=lambda r: r[1] not in table["even"])
    missing = set(table["even"]) - {r[1] for r in found}
    if missing:
        raise SystemExit("no such events: %s" % missing)
    for pmu, name, config in found:
        if (pmu, config) in seen or pmu not in machine["pmus"]:
            continue
        seen.add((pmu, config))
        usual = (0.02 if pmu == "cpu" else 0.5) * (0.7 + 0.6 * (zlib.crc32(name.encode()) % 101) / 101)
        print("event %s %#x 0 0xffffffff 0 - 0 %s %s" % (pmu, config, name,
                                                         " ".join("%.7g" % table[p].get(name, usual) for p in programs)))
    for p in programs:
        plan = plan_of(p)
        nodes = {n: sum(plan[x] for x in parts) for n, parts in L1.items() if slots or n != "smt_contention"}
        if slots:
            nodes.update(plan)
        print("plant %s cpu %s" % (p, " ".join("%s=%.6f" % x for x in nodes.items())))
