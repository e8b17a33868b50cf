# SPDX-License-Identifier: BSD-3-Clause
"""gooda - the tables of the published report of Gooda: JavaScript arrays with holes, seven rows of headings, then data.

    t = Table(os.path.join(SAMPLE, "process.csv"))      t.names, t.levels, t.configs, t.periods, t.rows, t.title
"""
import os
import re

from tap import SHARED

SAMPLE = os.path.join(SHARED, "reference", "gooda-sample")
FIRST = "unhalted_core_cycles"
# its branches, and our nodes for them
COMPUTED = {"load_latency": "Load_Latency", "dtlb_latency": "DTLB", "instruction_starvation": "Instruction_Starvation",
            "itlb_latency": "ITLB", "bandwidth_saturated": "Bandwidth_Saturated",
            "branch_misprediction": "Branch_Misprediction", "store_resources_saturated": "Store_Resources",
            "instruction_latency": "Instruction_Latency", "exception_handling": "Exceptions_Microcode",
            "Wrong_path_cycles": "Wrong_Path", "port_saturation": "Port_Saturation"}


def cells(body):
    """The elements of one array; None where there is a hole."""
    out, at = [], 0
    for m in re.finditer(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]*))\s*(,|$)', body):
        if m.start() != at or at >= len(body):
            break
        at = m.end()
        text = m.group(1) if m.group(1) is not None else m.group(2).strip()
        out.append(text or None)
    return out


def read(path):
    rows = []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            line = line.strip().rstrip(",")
            if len(line) > 1 and line[0] == "[" and line[-1] == "]":
                rows.append(cells(line[1:-1]))
    return rows


class Table:
    def __init__(self, path):
        rows = read(path)
        at = rows[0].index(FIRST)
        self.names = rows[0][at:]
        self.levels = [x.split(":")[0] for x in rows[1][at:]]  # "9_4_1" is a part of "9_4"
        self.configs = [int(x, 16) for x in rows[2][at:]]
        self.periods = [int(x) for x in rows[3][at:]]
        self.muxes = [float(x) for x in rows[4][at:]]
        self.penalties = [float(x) for x in rows[5][at:]]
        self.rows = [[int(x or 0) for x in r[at:]] for r in rows[7:]]
        self.title = [r[:at] for r in rows[7:]]

    def above(self, i):
        """The name of the column that the i-th is a part of."""
        up = self.levels[i].rpartition("_")[0]
        return self.names[self.levels.index(up)] if up in self.levels else None
