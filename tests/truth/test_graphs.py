#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of what really ran: the control flow that is drawn is that of blocks -j, the calls those of calls -j."""
import os
import re
import sys
import xml.etree.ElementTree as ET

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import PROGRAMS, Oracle, cyclade  # noqa: E402
import nest  # noqa: E402
from tap import Tap, run  # noqa: E402

MAIN = {"oddeven": "main", "nested": "main", "recursion": "walk", "indirect": "by_switch", "shapes": "shape_area", "pack": "pack"}
GRAPHS = "no graphs" not in run("--version").stdout


def arrows(dot):
    """[(from, to, style)]"""
    return [(int(a), int(b), s) for a, b, s in re.findall(r"^\tn(\d+) -> n(\d+) \[.*?style=(\w+)", dot, re.M)]


def picture(t, words, name, boxes):
    if not GRAPHS:
        t.skip(name + ": as a picture", "no Graphviz")
        return
    r = run(*words, "--format", "svg", "--no-cache")
    root = ET.fromstring(r.stdout) if r.returncode == 0 else None
    n = sum(x.get("class", "").split(" ")[0] == "node" for x in root.iter()) if root is not None else r.stderr
    t.equal(n, boxes, name + ": as a picture")


def blocks(t, path, name, function):
    j = cyclade("blocks", "-j", "-i", path, function)
    dot = run("blocks", "-i", path, function, "--format", "dot", "--no-cache").stdout
    f = nest.functions(j)[0]
    ran = [b for b in f["blocks"] if b["hits"]]
    nodes = re.findall(r'^\tn\d+ \[label="(.*?)"', dot, re.M)
    t.equal(len(nodes), len(ran), name + ": a box for each block that ran")
    # in the order of the blocks, each with its instructions
    t.equal([int(re.search(r"(\d+) instructions?,", x).group(1)) for x in nodes], [b["insns"] for b in ran],
            name + ": their instructions")
    # a block that was entered by the last branch of a sample, and no other way, has an edge and no box: nobody saw it run
    inside = [e for e in f["edges"] if e["from"] is not None and e["to"] is not None and f["blocks"][e["from"]]["hits"] and f["blocks"][e["to"]]["hits"]]
    got = arrows(dot)
    t.ok(len(got) >= len(inside), name + ": an arrow for each edge", (len(got), len(inside)))
    number = {i: k for k, i in enumerate(i for i, b in enumerate(f["blocks"]) if b["hits"])}
    t.ok({(number[e["from"]], number[e["to"]]) for e in inside} <= {(a, b) for a, b, _ in got}, name + ": from where to where")
    # whatever else is drawn leads from a block to the next, behind a call
    rest = [(a, b) for a, b, _ in got if (a, b) not in {(number[e["from"]], number[e["to"]]) for e in inside}]
    t.ok(all(b == a + 1 for a, b in rest), name + ": and those that come back from calls", rest)
    picture(t, ["blocks", "-i", path, function], name, len(nodes))


def calls(t, path, name):
    j = cyclade("calls", "-j", "-i", path)
    dot = run("calls", "-i", path, "--format", "dot", "--no-cache").stdout
    nodes = re.findall(r'^\t(n\d+) \[label="([^\\"]+)', dot, re.M)
    label = dict((int(n[1:]), x) for n, x in nodes)
    have = {(e["caller"], e["callee"], e["tail"]) for e in j["edges"]}
    got = {(label[a], label[b], s == "dotted") for a, b, s in arrows(dot)}
    t.ok(got and got <= have, name + ": arrows are calls", sorted(got - have)[:5])
    heavy = {(e["caller"], e["callee"], e["tail"])
             for e in j["edges"] if e["calls"] > .1 * j["calls"]}
    t.ok(heavy <= got, name + ": all that matter", sorted(heavy - got)[:5])
    picture(t, ["calls", "-i", path], name, len(nodes))


def main():
    t = Tap()
    with Oracle(t) as o:
        for program in PROGRAMS:
            r = o.run(program, depth=32, period=60)
            blocks(t, r.path, "blocks of " + MAIN[program], MAIN[program])
            calls(t, r.path, "calls of " + program)
    t.done()


main()
