# SPDX-License-Identifier: BSD-3-Clause
"""perfmon - encodings of Intel events, from the vendor's event lists (github.com/intel/perfmon).

    book = Events(directory of one CPU, file's name)
    row = book.find("IDQ.MS_UOPS:c1:e1")        # None: no such event
    row.config, row.config1, row.gp, row.fixed, row.flags"""
import json
import os
import re
from collections import namedtuple

Row = namedtuple("Row", "name config config1 gp fixed flags")

FIELDS = ["RETIRING", "BAD_SPECULATION", "FRONTEND_BOUND", "BACKEND_BOUND", "HEAVY_OPERATIONS",
          "BRANCH_MISPREDICTS", "FETCH_LATENCY", "MEMORY_BOUND"]
# What the kernel puts on fixed counters, by the names of the lists.
FIXED = {"INST_RETIRED.ANY": (0xC0, 1), "CPU_CLK_UNHALTED.THREAD": (0x3C, 2), "CPU_CLK_UNHALTED.CORE": (0x3C, 2),
         "CPU_CLK_UNHALTED.THREAD_ANY": (0x3C | 1 << 21, 2), "INST_RETIRED.PREC_DIST": (0x100, 1)}
ONLY_FIXED = {"CPU_CLK_UNHALTED.REF_TSC": (0x300, 4), "TOPDOWN.SLOTS": (0x400, 8)}


def number(text):
    return int(text.split(",")[0], 0) if text and text != "null" else 0


def mask(text):
    return sum(1 << int(x) for x in re.findall(r"\d+", text or ""))


class Events:
    def __init__(self, directory, name):
        with open(os.path.join(directory, "events", name), encoding="utf-8") as f:
            data = json.load(f)
        self.version = data["Header"]["Info"].split(" - ")[-1]
        self.rows = {e["EventName"]: e for e in data["Events"]}

    def base(self, name):
        for n in (name, re.sub("_PS$", "", name)):
            if n in self.rows:
                return self.rows[n]
        return None

    def find(self, name):
        row = self.encode(name)
        if row and name.startswith("CPU_CLK"):
            row = row._replace(flags=row.flags.replace("-", "") + "C")
        return row

    def encode(self, name):
        base, *options = name.split(":")
        if base.startswith("PERF_METRICS.") and base[13:] in FIELDS:
            field = FIELDS.index(base[13:])
            return Row(name, 0x8000 + (field << 8), 0, 0, 0, "M%d" % field)
        e = self.base(base)
        if e is None:
            return None
        if base in ONLY_FIXED:
            config, fixed = ONLY_FIXED[base]
            return Row(name, config, 0, 0, fixed, "S" if base == "TOPDOWN.SLOTS" else "-")
        if base in FIXED and not options:
            config, fixed = FIXED[base]
            return Row(name, config, 0, 0xFFFFFFFF, fixed, "A" if config >> 21 & 1 else "-")
        bits = {"c": number(e.get("CounterMask")), "e": number(e.get("EdgeDetect")), "i": number(e.get("Invert")),
                "any": number(e.get("AnyThread")), "eq": number(e.get("EqFlag", "0")), "u": number(e["UMask"])}
        config1 = number(e.get("MSRValue")) if number(e.get("MSRIndex")) else 0
        for option in options:
            m = re.match(r"(eq|[ceiu])(0x[0-9a-fA-F]+|\d+)$", option)
            if m:
                bits[m.group(1)] = int(m.group(2), 0)
            m = re.match(r"ocr_msr_val=(0x[0-9a-fA-F]+)$", option)
            if m:
                config1 = int(m.group(1), 0)
        config = (number(e["EventCode"]) | (bits["u"] & 0xFF) << 8 | bits["e"] << 18 | bits["any"] << 21 |
                  bits["i"] << 23 | bits["c"] << 24 | bits["eq"] << 36)
        config |= number(e.get("UMaskExt", "0")) << 40
        flags = ""
        register = number(e.get("MSRIndex"))
        if register in (0x1A6, 0x1A7):
            flags += "O"
        elif register == 0x3F7:
            flags += "F"
        elif register == 0x3F6:
            flags += "L"
        if bits["any"] or re.search(r"\.CORE$|_ANY$", base) and base.split(".")[0] in ("UOPS_EXECUTED", "INT_MISC"):
            flags += "A"
        counters = e.get("CounterHTOff") or e["Counter"]
        gp = 0xFFFFFFFF if "ixed" in counters else mask(counters)
        return Row(name, config, config1, gp, 0, flags or "-")
