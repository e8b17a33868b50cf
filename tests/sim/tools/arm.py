# SPDX-License-Identifier: BSD-3-Clause
"""arm - programs for Neoverse N1 (stalled cycles only) and N2 (slots of stalls: four shares)."""
import json
import os
import zlib

GHZ = 3.0
SLOTS = 5
PROGRAMS = {"even": (0.20, 0.10, 0.40, 0.30), "frontend_bound": (0.60, 0.05, 0.15, 0.20),
            "bad_speculation": (0.10, 0.50, 0.15, 0.25), "backend_bound": (0.10, 0.05, 0.65, 0.20),
            "retiring": (0.08, 0.04, 0.13, 0.75), "l1i_miss": (0.60, 0.05, 0.15, 0.20),
            "branch_miss": (0.10, 0.50, 0.15, 0.25), "l1d_miss": (0.10, 0.05, 0.65, 0.20),
            "l2_miss": (0.10, 0.05, 0.65, 0.20), "ll_miss": (0.10, 0.05, 0.65, 0.20),
            "dtlb_miss": (0.10, 0.05, 0.65, 0.20), "simd": (0.08, 0.04, 0.13, 0.75)}
# counts per thousand instructions, where a program is known for one thing
USUAL = {"L1I_CACHE_REFILL": 2, "BR_MIS_PRED_RETIRED": 2, "L1D_CACHE_REFILL": 10, "L2D_CACHE_REFILL": 3,
         "LL_CACHE_MISS_RD": 1, "DTLB_WALK": 0.5, "ASE_SPEC": 20}
KNOWN = {"l1i_miss": ("L1I_CACHE_REFILL", 60), "branch_miss": ("BR_MIS_PRED_RETIRED", 30),
         "l1d_miss": ("L1D_CACHE_REFILL", 80), "l2_miss": ("L2D_CACHE_REFILL", 40), "ll_miss": ("LL_CACHE_MISS_RD", 25),
         "dtlb_miss": ("DTLB_WALK", 15), "simd": ("ASE_SPEC", 600)}


def rates(program, slot_events):
    fe, bad, be, ret = PROGRAMS[program]
    slots = SLOTS * GHZ
    instructions = ret * slots / 1.05
    out = {"CPU_CYCLES": GHZ, "INST_RETIRED": instructions, "INST_SPEC": (ret + bad) * slots / 1.05,
           "STALL_FRONTEND": fe * GHZ, "STALL_BACKEND": be * GHZ, "BR_RETIRED": instructions * 0.15,
           "L1D_CACHE": instructions * 0.4, "L1I_CACHE": instructions * 0.3, "L2D_CACHE": instructions * 0.12,
           "LL_CACHE_RD": instructions * 0.06, "L1D_TLB": instructions * 0.4, "L1I_TLB": instructions * 0.3,
           "L2D_TLB": instructions * 0.02}
    for name, n in USUAL.items():
        out[name] = instructions * n / 1000
    if program in KNOWN:
        out[KNOWN[program][0]] = instructions * KNOWN[program][1] / 1000
    if slot_events:
        # the four formulas of N2 with a mispredict's slots: 1 in front, 3 behind, 4 of bad speculation
        misses = out["BR_MIS_PRED"] = 0.01 * GHZ
        share = misses / GHZ
        front, back = (fe + share) * slots, (be + share * 3) * slots
        unused = (front + back) / slots
        retired = ret / (1 - unused)
        out.update({"STALL_SLOT_FRONTEND": front, "STALL_SLOT_BACKEND": back, "STALL_SLOT": front + back,
                    "OP_SPEC": (1 - unused) * slots, "OP_RETIRED": retired * (1 - unused) * slots})
        nodes = {"frontend_bound": fe, "backend_bound": be, "retiring": ret,
                 "bad_speculation": (1 - retired) * (1 - unused) + share * 4}
    else:
        nodes = {"stall_frontend": fe, "stall_backend": be}
    return out, nodes


def write(reference, machine, out):
    base = os.path.join(reference, "pmu-events", "arm64")
    codes = {}
    for name in ("common-and-microarch.json", "recommended.json"):
        with open(os.path.join(base, name), encoding="utf-8") as f:
            codes.update({e["EventName"]: int(e["EventCode"], 0) for e in json.load(f) if "EventName" in e})
    names = set()
    folder = os.path.join(base, "arm", machine["events"])
    for path in sorted(os.listdir(folder)):
        with open(os.path.join(folder, path), encoding="utf-8") as f:
            names |= {e["ArchStdEvent"] for e in json.load(f) if e.get("ArchStdEvent") in codes}
    table = {p: rates(p, machine["slots"]) for p in PROGRAMS}
    missing = set(table["even"][0]) - names
    if missing:
        raise SystemExit("no such events: %s" % missing)
    print("programs " + " ".join(PROGRAMS))
    print("# events of Linux 6.12, pmu-events/arch/arm64/arm/%s" % machine["events"])
    for name in sorted(names):
        usual = 0.02 * (0.7 + 0.6 * (zlib.crc32(name.encode()) % 101) / 101)
        gp, fixed = (0xFFFFFFFF, 2) if name == "CPU_CYCLES" else (0xFFFFFFFF, 0)
        print("event %s %#x 0 %#x %d - 0 %s %s" % (machine["pmu"], codes[name], gp, fixed, name,
                                                  " ".join("%.7g" % table[p][0].get(name, usual) for p in PROGRAMS)))
        print("sysevent %s %s event=%#x" % (machine["pmu"], name.lower(), codes[name]))
    for p in PROGRAMS:
        print("plant %s %s %s" % (p, machine["pmu"], " ".join("%s=%.6f" % x for x in table[p][1].items())))
