#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The published report of Gooda (Xeon X5650), out of its raw samples, by our account of this CPU.

Gooda's tables have raw samples of each event and, beside them, columns that were computed of these: the
branches. From the samples, the events' periods and the share of time each had a counter, our tree is
evaluated for every row; then what Gooda makes of it (cycles in units of a cycles sample, each term cut to
a whole number) is made of our cells and held against its columns. Where they differ, the reason is a
fault that is known, and is tested as such: what Gooda shows must follow from our cells and that fault.

Tables: JavaScript arrays with holes; seven rows of headings, then data (tests/lib/gooda.py).
"""
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from gooda import COMPUTED, SAMPLE, Table  # noqa: E402
from tap import NO_SHARED, Tap  # noqa: E402

ROWS_OF = sys.argv[1]
TABLES = ["process.csv", "function_hotspots.csv"] + ["asm/%d_asm.csv" % i for i in range(5)]
ROUNDED = 0.00005  # the share of time is printed with four digits


class Ours:
    """Our cells of every row of a table."""

    def __init__(self, t, whole):
        self.t = t
        self.events = [i for i, n in enumerate(t.names) if n not in COMPUTED]
        self.weight = {i: round(t.periods[i] * t.muxes[i]) for i in self.events}
        assert all(abs(self.weight[i] - t.periods[i] * t.muxes[i]) < 1e-6 for i in self.events)
        text = ["event %s %x" % (t.names[i], t.configs[i]) for i in self.events]
        first = self.run(text + [self.weights("whole", whole)])
        self.nodes = [ln.split()[1:] for ln in first if ln.startswith("node")]
        self.name = {n[0]: k for k, n in enumerate(self.nodes)}
        self.event = {n[0]: self.events[int(n[3])] for n in self.nodes if n[3] != "-"}
        # what one event costs: the report's own, where it says another than our model
        given = {}
        for node, e in self.event.items():
            if self.nodes[self.name[node]][2] == "1":
                given[node] = t.penalties[e]
        text += ["penalty %s %g" % (n, p) for n, p in given.items() if p > 0]
        out = self.run(text + [self.weights("whole", whole)] + [self.weights("row", r) for r in t.rows])
        values = [[float(x) for x in ln.split()[1:]] for ln in out if ln.startswith("cells")]
        self.whole, self.rows = values[0], values[1:]
        self.cycle = self.weight[self.events[0]]
        self.penalty = given

    @staticmethod
    def run(lines):
        p = subprocess.run([ROWS_OF, "wsm-dp"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                           timeout=600)
        assert p.returncode == 0, p.stderr
        return p.stdout.splitlines()

    def weights(self, word, row):
        return word + " " + " ".join("%d:%d" % (row[i], self.weight[i]) for i in self.events)

    def terms(self, node):
        """The nodes that add up to it, down to those of an event or a formula."""
        below = [n[0] for n in self.nodes if n[1] == node and n[2] == "1"]
        return [x for n in below for x in (self.terms(n) or [n])]

    def cut(self, k, nodes):
        """What Gooda makes of our cells of a row: terms in samples of cycles, each cut; and how far the
        rounded shares of time may have moved that."""
        least = most = 0
        for n in nodes:
            v = self.rows[k][self.name[n]] / self.cycle
            by = ROUNDED * (1 / self.t.muxes[self.event[n]] + 1 / self.t.muxes[self.events[0]])
            least += math.floor(v * (1 - by))
            most += math.floor(v * (1 + by))
        return least, most


def branches(t, ours, name, counts):
    for theirs, mine in COMPUTED.items():
        if theirs in ("Wrong_path_cycles", "port_saturation"):
            continue
        column = ours.t.names.index(theirs)
        terms = ours.terms(mine)
        if theirs == "branch_misprediction":
            # fault: the wrong path is shown below the branch and not added to it
            assert "Wrong_Path" in terms
            terms = [x for x in terms if x != "Wrong_Path"]
        wrong = []
        for k, row in enumerate(ours.t.rows):
            least, most = ours.cut(k, terms)
            counts["exact"] += row[column] == least == most
            counts["rounded"] += least < most and least <= row[column] <= most
            if not least <= row[column] <= most:
                wrong.append((ours.t.title[k], row[column], least, most))
        counts["cells"] += len(ours.t.rows)
        t.equal(wrong[:3], [], "%s: %s, %d rows, %d terms" % (name, theirs, len(ours.t.rows), len(terms)))


def wrong_path(t, ours, name, counts, raw_rate):
    """Fault: uops a cycle out of raw samples, not weighed by the share of time each event had."""
    column, wrong, far = ours.t.names.index("Wrong_path_cycles"), [], []
    rate = ours.whole[ours.name["Uop_Issue_Rate"]]
    issued, slots = (ours.t.names.index(n) for n in ("uops_issued:any", "uops_retired:retire_slots"))
    for k, row in enumerate(ours.t.rows):
        uops = ours.rows[k][ours.name["Wrong_Path"]] * rate / ours.cycle
        if int(int(uops + 1e-9) / raw_rate) != row[column]:
            wrong.append((ours.t.title[k], row[column], uops / raw_rate))
        exact = max(0, row[issued] * ours.weight[issued] - row[slots] * ours.weight[slots]) / rate
        if abs(exact - ours.rows[k][ours.name["Wrong_Path"]]) > 1e-9 * exact:
            far.append(exact)
    counts["cells"] += len(ours.t.rows)
    counts["exact"] += len(ours.t.rows) - len(wrong)
    t.equal(wrong[:3], [], "%s: Wrong_path_cycles follows from our uops and its rate, %d rows" %
            (name, len(ours.t.rows)))
    t.equal(far, [], "%s: ours is by the rate of what was weighed" % name)


def ports(t, ours, name, counts):
    """Fault: the column is never filled, though ports are busy for more than 80 % of a row's cycles."""
    column, cols = ours.t.names.index("port_saturation"), [i for i, n in enumerate(ours.t.names)
                                                            if n.startswith("uops_executed:port")]
    filled = [row[column] for row in ours.t.rows if row[column]]
    wrong, busy = [], 0
    for k, row in enumerate(ours.t.rows):
        most = max(row[i] * ours.weight[i] for i in cols)
        want = most if most > 0.8 * row[0] * ours.cycle else 0
        busy += want > 0
        if abs(want - ours.rows[k][ours.name["Port_Saturation"]]) > 1e-9 * want:
            wrong.append((ours.t.title[k], want, ours.rows[k][ours.name["Port_Saturation"]]))
    counts["cells"] += len(ours.t.rows)
    counts["faulty"] += busy
    t.equal(filled, [], "%s: port_saturation is 0 in all rows, where %d should have cycles" % (name, busy))
    t.equal(wrong[:3], [], "%s: ours is that of the busiest port" % name)


def main():
    t = Tap()
    if not os.path.isdir(SAMPLE):
        t.skip("Gooda's sample", NO_SHARED)
        t.done()
        return 0
    whole = Table(os.path.join(SAMPLE, TABLES[0])).rows[-1]  # the report's last row is of all there is
    counts = {"cells": 0, "exact": 0, "rounded": 0, "faulty": 0}
    raw_rate = None
    for name in TABLES:
        ours = Ours(Table(os.path.join(SAMPLE, name)), whole)
        column = ours.t.names.index
        raw_rate = raw_rate or whole[column("uops_issued:any")] / whole[column("uops_issued:any:c=1")]
        if name == TABLES[0]:
            t.ok(len(ours.event) >= 43, "%d of the report's %d events are in our tree" %
                 (len(set(ours.event.values())), len(ours.events)), ours.event)
            t.equal(sorted(n for n, p in ours.penalty.items() if n in ours.terms("Load_Latency") and p <= 0), [],
                    "every source of loads has a penalty")
        # no event of this CPU: our tree has none such, and the report has no sample of it
        t.equal(sum(r[column("itlb_misses:0x10")] for r in ours.t.rows), 0, name + ": itlb_misses:0x10 is nothing")
        branches(t, ours, name, counts)
        wrong_path(t, ours, name, counts, raw_rate)
        ports(t, ours, name, counts)
    print("# %(cells)d cells of computed columns: %(exact)d exactly as Gooda has them, %(rounded)d within the "
          "rounding of what it prints; %(faulty)d cells of port_saturation it leaves at 0" % counts)
    t.ok(counts["cells"] > 70000 and counts["exact"] > 0.9 * counts["cells"] and counts["rounded"] < 20,
         "cells compared", counts)
    t.done()
    return 1 if t.bad else 0


if __name__ == "__main__":
    sys.exit(main())
