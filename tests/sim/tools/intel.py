# SPDX-License-Identifier: BSD-3-Clause
"""intel - programs for Intel's cores: counts per ns with which the formulas of the top-down sheet come to planted
values."""
import glob
import json
import os
import re
import zlib

from perfmon import Events
from sheet import Absent, Sheet
from solve import solve

GHZ = 3.0
L2 = {"Frontend_Bound": ("Fetch_Latency", "Fetch_Bandwidth"), "Bad_Speculation": ("Branch_Mispredicts", "Machine_Clears"),
      "Backend_Bound": ("Memory_Bound", "Core_Bound"), "Retiring": ("Light_Operations", "Heavy_Operations")}

# program: the node that it suffers from, deepest first where a CPU lacks some
PROGRAMS = [
    ("even", []),
    ("icache_misses", ["ICache_Misses"]), ("itlb_misses", ["ITLB_Misses"]), ("branch_resteers", ["Branch_Resteers"]),
    ("mite", ["MITE"]), ("branch_mispredicts", ["Branch_Mispredicts"]), ("machine_clears", ["Machine_Clears"]),
    ("l1_bound", ["L1_Bound"]), ("l2_bound", ["L2_Bound"]), ("l3_bound", ["L3_Bound"]),
    ("dram_bound", ["L3_Miss_Bound"]), ("store_bound", ["Store_Bound"]), ("divider", ["Divider"]),
    ("ports_utilization", ["Ports_Utilization"]), ("fp_vector", ["FP_Vector", "Light_Operations"]),
    ("microcode", ["Microcode_Sequencer", "Heavy_Operations"]),
]
EVEN = {"Fetch_Latency": 0.15, "Fetch_Bandwidth": 0.05, "Branch_Mispredicts": 0.08, "Machine_Clears": 0.02,
        "Memory_Bound": 0.28, "Core_Bound": 0.12, "Light_Operations": 0.27, "Heavy_Operations": 0.03}
QUIET = {"Fetch_Latency": 0.06, "Fetch_Bandwidth": 0.05, "Branch_Mispredicts": 0.04, "Machine_Clears": 0.01,
         "Memory_Bound": 0.10, "Core_Bound": 0.06, "Light_Operations": 0.24, "Heavy_Operations": 0.02}
# Nodes whose values overlap or follow from others: not planted, only kept sane.
UNTOLD = 12.0  # retire latency, core cycles, where the vendor has published none
LOOSE = ("Ports_Utilized", "Op_Utilization", "Port_", "Slow_Pause", "_Wait", "4K_Aliasing", "Lock_Latency")


# What formulas take where the counter of slots is somebody else's: the field that it is planted like, and the factor;
# 0: one by the width
WITHOUT_METRICS = [
    ("TOPDOWN.SLOTS_P", "TOPDOWN.SLOTS:perf_metrics", 1), ("IDQ_UOPS_NOT_DELIVERED.CORE", "PERF_METRICS.FRONTEND_BOUND", 1),
    ("IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE", "PERF_METRICS.FETCH_LATENCY", 0),
    ("TOPDOWN.BACKEND_BOUND_SLOTS", "PERF_METRICS.BACKEND_BOUND", 1), ("TOPDOWN.MEMORY_BOUND_SLOTS", "PERF_METRICS.MEMORY_BOUND", 1),
    ("TOPDOWN.BR_MISPREDICT_SLOTS", "PERF_METRICS.BRANCH_MISPREDICTS", 1), ("UOPS_RETIRED.HEAVY", "PERF_METRICS.HEAVY_OPERATIONS", 1),
]

CYCLES = re.compile(r"CYCLES|STALLS|STALL\b|_ACTIVE|PENDING|:c\d+$|_PORTS_UTIL|BOUND_ON|WALK_DURATION|DIV_ACTIVE")


class Core:
    """One kind of core: its sheet and its events."""

    csv, parts, even, quiet = "TMA_Metrics-full.csv", L2, EVEN, QUIET

    def __init__(self, reference, directory, events, column, width, constants):
        self.events = Events(os.path.join(reference, "perfmon", directory), events)
        fixed = {"#SMT_on": 0, "#EBS_Mode": 0, "#PERF_METRICS_MSR": 1, "#DS": 0, "#PMM_App_Direct": 0, "#Memory": 0,
                 "#HBM": 0, "Core_Frequency": GHZ, "DurationTimeInMilliSeconds": 1000, "NUM_CORES": 2,
                 "NUM_SOCKETS": 1, "NUM_THREADS": 1, "Dependent_Loads_Weight": 20, "Base_Frequency": 2.4,
                 "#HYBRID": 0, "#FP16": 0}
        fixed.update(constants)
        self.sheet = Sheet(os.path.join(reference, "perfmon", self.csv), column, fixed)
        self.width = width
        self.nodes = [n for n, _, _, _ in self.sheet.tree]
        self.level = {n: l for n, l, _, _ in self.sheet.tree}
        self.parent = {n: p for n, _, p, _ in self.sheet.tree}
        self.latency = self.latencies(os.path.join(reference, "perfmon", directory, "metrics"))
        self.asked = set()  # events whose latency formulas ask for
        self.rows = {}
        self.names = {}
        for usual in ("INST_RETIRED.ANY", "CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.CORE"):
            self.one_name(usual)
        self.uses = {}
        for name in list(self.sheet.text):
            self.uses[name] = self.trace(name)

    @staticmethod
    def latencies(directory):
        """Mean retire latencies, core cycles, where the vendor gives them."""
        out = {}
        for path in glob.glob(os.path.join(directory, "*retire_latency.json")):
            with open(path, encoding="utf-8") as f:
                out = {k: v["MEAN"] for k, v in json.load(f)["Data"].items()}
        return out

    def event(self, name):
        if name not in self.rows:
            self.rows[name] = self.events.find(name)
        return self.rows[name]

    def latency_of(self, *names):
        told = [self.latency[n] for n in names if n in self.latency]
        return told[0] if told else UNTOLD if self.asked & set(names) else 0

    def one_name(self, name):
        """One name for each encoding: the lists have some twice."""
        row = self.event(name)
        return self.names.setdefault((row.config, row.config1), name) if row else name

    def trace(self, name):
        """The events that a formula can ask for, whichever way its conditions go."""
        seen = set()
        for guess in (0.5, 2.0, 7.0):
            def rate(event):
                if event.endswith(":latency"):
                    self.asked.add(event[:-8])
                    return self.latency.get(event[:-8], UNTOLD)
                seen.add(event)
                return guess * (1 + zlib.crc32(event.encode()) % 97 / 97)
            try:
                self.sheet.evaluate(name, rate, {})
            except Absent:
                return set()
        return {self.one_name(e) for e in seen if self.event(e)}

    def values(self, names, counts):
        memo, out = {}, []

        def rate(event):
            if event.endswith(":latency"):
                return self.latency.get(event[:-8], UNTOLD)
            return counts.get(self.one_name(event), 0.0)
        for n in names:
            try:
                out.append(self.sheet.evaluate(n, rate, memo))
            except Absent:
                out.append(0.0)
        return out

    def start(self, plan):
        retiring = plan["Light_Operations"] + plan["Heavy_Operations"]
        slots = self.width * GHZ
        instructions = (plan["Light_Operations"] + 0.3 * plan["Heavy_Operations"]) * slots
        counts = {}
        for e in set().union(*self.uses.values()):
            counts[e] = 0.05 * GHZ * (0.7 + 0.6 * (zlib.crc32(e.encode()) % 101) / 101)
        pinned = {"CPU_CLK_UNHALTED.THREAD": GHZ, "CPU_CLK_UNHALTED.THREAD_ANY": GHZ, "CPU_CLK_UNHALTED.DISTRIBUTED": GHZ,
                  "CPU_CLK_UNHALTED.REF_TSC": 2.4, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE": 0.1,
                  "CPU_CLK_UNHALTED.REF_XCLK": 0.1, "CPU_CLK_UNHALTED.REF_DISTRIBUTED": 0.1,
                  "TOPDOWN.SLOTS": slots, "TOPDOWN.SLOTS:perf_metrics": slots, "INST_RETIRED.ANY": instructions,
                  "INST_RETIRED.ANY_P": instructions,
                  "PERF_METRICS.RETIRING": retiring * slots,
                  "PERF_METRICS.FRONTEND_BOUND": (plan["Fetch_Latency"] + plan["Fetch_Bandwidth"]) * slots,
                  "PERF_METRICS.BAD_SPECULATION": (plan["Branch_Mispredicts"] + plan["Machine_Clears"]) * slots,
                  "PERF_METRICS.BACKEND_BOUND": (plan["Memory_Bound"] + plan["Core_Bound"]) * slots,
                  "PERF_METRICS.HEAVY_OPERATIONS": plan["Heavy_Operations"] * slots,
                  "PERF_METRICS.BRANCH_MISPREDICTS": plan["Branch_Mispredicts"] * slots,
                  "PERF_METRICS.FETCH_LATENCY": plan["Fetch_Latency"] * slots,
                  "PERF_METRICS.MEMORY_BOUND": plan["Memory_Bound"] * slots,
                  "INT_MISC.UOP_DROPPING": 1e-9 * slots}
        free = {"UOPS_RETIRED.RETIRE_SLOTS": retiring * slots, "UOPS_RETIRED.SLOTS": retiring * slots,
                "BR_INST_RETIRED.ALL_BRANCHES": 0.18 * instructions, "BR_MISP_RETIRED.ALL_BRANCHES": 0.004 * instructions,
                "MACHINE_CLEARS.COUNT": 0.001 * instructions, "INT_MISC.CLEARS_COUNT": 0.0055 * instructions,
                "BACLEARS.ANY": 0.003 * instructions, "UOPS_ISSUED.ANY": (retiring + 0.03) * slots, "UOPS_EXECUTED.THREAD": retiring * slots * 1.1}
        free, pinned = ({self.one_name(k): v for k, v in d.items()} for d in (free, pinned))
        counts.update({k: v for k, v in list(free.items()) + list(pinned.items()) if k in counts})
        if "PERF_METRICS.RETIRING" in counts:  # where these do not tell of level 1, they follow from it
            pinned.update({self.one_name(k): free[self.one_name(k)] for k in ("UOPS_RETIRED.SLOTS", "UOPS_ISSUED.ANY")})
        return counts, set(pinned)

    @staticmethod
    def bounds(name, counts):
        """What programs stay within: cycles are no more than all cycles, mispredictions than some branches."""
        instructions = counts.get("INST_RETIRED.ANY", GHZ)
        if name.startswith("BR_MISP_RETIRED"):
            return 0.0004 * instructions, 0.08 * instructions
        if name.startswith("MACHINE_CLEARS") or name.startswith("BACLEARS"):
            return 1e-5 * instructions, 0.05 * GHZ
        if CYCLES.search(name):
            return 0, GHZ
        return 0, 6 * GHZ

    def targets(self, plan, leaf):
        """[(node, value, softness)]"""
        want, out = dict(plan), []
        for top, parts in self.parts.items():
            want[top] = sum(plan[p] for p in parts)
        chain = []
        while leaf and leaf in self.parent:
            chain.append(leaf)
            leaf = self.parent[leaf]
        for node in self.nodes:
            level = self.level[node]
            if level > 2:
                siblings = self.sheet.children[self.parent[node]]
                share = 1.0 if len(siblings) == 1 else 0.75 if node in chain else (0.12 if any(c in siblings for c in chain) else 0.5) / len(siblings)
                want[node] = want.get(self.parent[node], 0.02) * share
            if level > 5:
                continue
            loose = any(x in node for x in LOOSE)
            soft = 0.0 if level <= 2 or node == (chain[0] if chain else None) else 1e-1 if loose else 1e-4 * 4 ** (level - 3)
            out.append((node, want[node], soft))
        return out, want

    def program(self, name, leaves):
        leaf = self.leaf(name, leaves)
        plan = dict(self.even)
        if leaf:
            area = leaf
            while area not in self.quiet:
                area = self.parent[area]
            calm = 0.7 if area == "Light_Operations" else 1.0  # or retiring is not enough to be looked into
            plan = {k: v * calm for k, v in self.quiet.items()}
            plan[area] += 1 - sum(plan.values())
        counts, pinned = self.start(plan)
        targets, want = self.targets(plan, leaf)
        counts, miss = solve(self.values, self.uses, counts, pinned, targets, self.bounds)
        if miss > 1e-6:
            raise SystemExit("no counts for %s: %g" % (name, miss))
        self.mirror(counts)
        names = [n for n in self.nodes if self.level[n] <= 2] + ([leaf] if leaf and self.level[leaf] > 2 else [])
        return counts, dict(zip(names, self.values(names, counts)))

    def leaf(self, name, leaves):
        """The node that a program is to suffer from; None: nothing in particular."""
        return next((l for l in leaves if l in self.level), None)

    def mirror(self, counts):
        """Counts for both threads of the core while the other one is idle, and of the whole core."""
        clocks = counts.get("CPU_CLK_UNHALTED.THREAD", GHZ)
        same = {"INT_MISC.RECOVERY_CYCLES_ANY": counts.get("INT_MISC.RECOVERY_CYCLES"),
                "CPU_CLK_UNHALTED.THREAD_ANY": clocks, "CPU_CLK_UNHALTED.DISTRIBUTED": clocks}
        for n in range(1, 5):
            busy = next((counts[e] for e in ("UOPS_EXECUTED.CYCLES_GE_%d_UOP%s_EXEC" % (n, "S"[:n > 1]),
                                             "UOPS_EXECUTED.THREAD:c%d" % n) if e in counts), None)
            same["UOPS_EXECUTED.CORE:c%d" % n] = same["UOPS_EXECUTED.CORE_CYCLES_GE_%d" % n] = busy
            if n == 1 and busy is not None:
                same["UOPS_EXECUTED.CORE:i1:c1"] = same["UOPS_EXECUTED.CORE_CYCLES_NONE"] = max(clocks - busy, 0)
        counts.update({self.one_name(k): v for k, v in same.items() if v is not None})

    def everything(self):
        """Every event that the core's formulas name, with threads on or off, in system mode or by task."""
        names = set()
        for smt in (0, 1):
            for mode in (0, 1):
                self.sheet.constants["#SMT_on"], self.sheet.constants["#EBS_Mode"] = smt, mode
                for n in self.sheet.text:
                    names |= self.trace(n)
        self.sheet.constants["#SMT_on"] = self.sheet.constants["#EBS_Mode"] = 0
        return sorted(names)


class Atom(Core):
    """A small core: its own sheet, with other names at level 2 and no parts of retiring."""

    csv = "E-core_TMA_Metrics.csv"
    parts = {"Frontend_Bound": ("IFetch_Latency", "IFetch_Bandwidth"),
             "Bad_Speculation": ("Branch_Mispredicts", "Machine_Clears"),
             "Backend_Bound": ("Resource_Bound", "Core_Bound"), "Retiring": ("Retiring",)}
    even = {"IFetch_Latency": 0.12, "IFetch_Bandwidth": 0.08, "Branch_Mispredicts": 0.08, "Machine_Clears": 0.02,
            "Resource_Bound": 0.28, "Core_Bound": 0.12, "Retiring": 0.30}
    quiet = {"IFetch_Latency": 0.06, "IFetch_Bandwidth": 0.05, "Branch_Mispredicts": 0.04, "Machine_Clears": 0.01,
             "Resource_Bound": 0.10, "Core_Bound": 0.06, "Retiring": 0.26}
    like = {"icache_misses": "ICache_Misses", "itlb_misses": "ITLB_Misses", "branch_resteers": "Branch_Resteer",
            "mite": "Decode", "branch_mispredicts": "Branch_Mispredicts", "machine_clears": "Nuke",
            "l1_bound": "Mem_Scheduler", "l2_bound": "Mem_Scheduler", "l3_bound": "Reorder_Buffer",
            "dram_bound": "Reorder_Buffer", "store_bound": "Mem_Scheduler", "divider": "Non_Mem_Scheduler",
            "ports_utilization": "Allocation_Restriction", "fp_vector": "Retiring", "microcode": "Retiring"}

    def leaf(self, name, leaves):
        return self.like.get(name)

    def start(self, plan):
        counts, _ = super().start({"Light_Operations": plan["Retiring"], "Heavy_Operations": 0, "Fetch_Latency": 0,
                                   "Fetch_Bandwidth": 0, "Branch_Mispredicts": 0, "Machine_Clears": 0,
                                   "Memory_Bound": 0, "Core_Bound": 0})
        pinned = {"CPU_CLK_UNHALTED.CORE": GHZ, "CPU_CLK_UNHALTED.CORE_P": GHZ, "CPU_CLK_UNHALTED.REF_TSC": 2.4}
        pinned = {self.one_name(k): v for k, v in pinned.items()}
        counts.update({k: v for k, v in pinned.items() if k in counts})
        return counts, set(pinned) | {"INST_RETIRED.ANY"}
