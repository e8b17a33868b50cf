#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The columns of Gooda's published report (Xeon X5650) in our page: a recording of its events and of its hottest functions,
with its samples, has each of its columns at process, module, function and instruction, opened from the same ones."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from account_made import Made  # noqa: E402
from gooda import COMPUTED, SAMPLE, Table  # noqa: E402
from page import Page  # noqa: E402
from tap import NO_SHARED, Tap, run  # noqa: E402

FUNCTIONS, THIN = 8, 40  # of so many of its samples one is made
CODE = 0xffa4ffff        # event, unit mask, edge, any, inversion and comparison; not who is counted
REFERENCE = ("reference", 0x300, 2000000)  # memory's penalties are in these cycles; Gooda takes them for the others
t = Tap()
if not os.path.isdir(SAMPLE):
    t.skip("Gooda's sample", NO_SHARED)
    t.done()
    sys.exit()
theirs = {name: Table(os.path.join(SAMPLE, file)) for name, file in
          (("account_processes", "process.csv"), ("account", "function_hotspots.csv"), ("function", "asm/0_asm.csv"))}
theirs["account_modules"] = theirs["account_processes"]
table = theirs["account"]
events = [i for i, n in enumerate(table.names) if n not in COMPUTED and n != "itlb_misses:0x10"]  # none of this CPU
rows = [(title[3], row) for title, row in zip(table.title, table.rows) if title[3] and "sample" not in title[3]][:FUNCTIONS]
made = {}
with tempfile.TemporaryDirectory() as tmp:
    m = Made(tmp, tree=[(table.names[i], table.configs[i] & CODE, table.periods[i]) for i in events] + [REFERENCE], cpuid="GenuineIntel,6,44,2",
             desc="Intel(R) Xeon(R) CPU X5650 @ 2.67GHz", names=["%d %s" % (k, n) for k, (n, _) in enumerate(rows)])
    for k, (name, row) in enumerate(rows):
        for i in events:
            made[k, i] = -(-row[i] // THIN)
            m.put(k, table.names[i], made[k, i])
        m.put(k, REFERENCE[0], made[k, events[0]])  # at the same clock
    m.write(os.path.join(tmp, "gooda.data"))
    r = run("report", "--html", os.path.join(tmp, "page.html"), os.path.join(tmp, "gooda.data"))
    t.ok(r.returncode == 0, "the page is written", r.stderr)
    p = Page(os.path.join(tmp, "page.html"))

documents = {d["view"]: p.result(d) for d in p.data["documents"]}
nodes = {n["node"]: n for n in documents["account"]["nodes"]}
node_of = {n["recorded"]: n["node"] for n in nodes.values() if n["recorded"]}
node_of.update(COMPUTED)
t.equal([n for n in table.names if n not in node_of and n != "itlb_misses:0x10"], [], "each of its %d columns is a node" % len(table.names))
unknown = {n: nodes[node_of[n]]["value_why"] for n in table.names if n in node_of and nodes[node_of[n]]["value"] is None}
t.equal(unknown, {}, "and each has a value")
for view, gooda in sorted(theirs.items()):
    shown = [documents[view]] if view in documents else [p.result(f["document"]) for f in p.data["functions"]]
    have = [set(x["rows" if view != "function" else "instructions"][0]) for x in shown]
    # a table of many columns leaves out those in which no row has a value
    lacking = [n for n in gooda.names if n in node_of and any(node_of[n] not in v for v in have)]
    empty = {n for i, n in enumerate(table.names) if not sum(row[i] for _, row in rows)}
    t.equal([n for n in lacking if n not in empty and n not in COMPUTED], [], "%s: its columns are in %d tables" % (view, len(have)))


def above(node):
    while node:
        yield node
        node = nodes[node]["parent"]


apart = [(n, table.above(i)) for i, n in enumerate(table.names) if n in node_of and table.above(i) in COMPUTED and
         COMPUTED[table.above(i)] not in above(node_of[n])]
t.equal(apart, [], "columns open from the same columns")
wrong = []
ours = {r["function"]: r for r in documents["account"]["rows"]}
for k, (name, _) in enumerate(rows):
    for i in events:
        n = nodes[node_of[table.names[i]]]
        want = made[k, i] * table.periods[i] * (n["penalty"] or 1)
        if ours["%d %s" % (k, name)][n["node"]] != want:
            wrong.append((name, table.names[i], ours["%d %s" % (k, name)][n["node"]], want))
t.equal(wrong[:5], [], "with its samples, %d cells" % len(made))
t.done()
