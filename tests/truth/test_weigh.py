#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade blocks where weights are not simply periods, against what really ran: stacks of an event of instructions, which
is met the more often the longer a stretch is; and stacks among whose branches stand returns of system calls, which
the event does not count."""
import collections
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import Oracle, Spread, cyclade, own  # noqa: E402
import nest  # noqa: E402
from tap import Tap, run  # noqa: E402


def add_blocks(s, r, j):
    images = {os.path.basename(p): p for p in r.truth.images}
    for f in nest.functions(j):
        image = images.get(f["dso"])
        for b in f["blocks"]:
            want = r.truth.insns.get((image, int(b["address"], 16)), 0)
            if own(image) and want:
                s.add(b["hits"], b["runs"], want, b["runs_error"])


def compare(t, r, name, most, also=()):
    """Of the program's own functions: counts with many hits, all error bars, and instructions in all. Which stacks are met
    decides the bars of many blocks at once: those of `also`, recordings with other periods, are judged with them."""
    j = cyclade("blocks", "-j", "-i", r.path)
    if not t.ok(not isinstance(j, str), name + ": blocks", j):
        return None
    s = Spread()
    add_blocks(s, r, j)
    for more in also:
        add_blocks(s, more, cyclade("blocks", "-j", "-i", more.path))
    s.show(name)
    t.ok(s.rows and s.worst(5000) < most, "%s: counts with many hits within %g %%" % (name, 100 * most), s.worst(5000))
    t.ok(s.covers(.85), "%s: %.1f %% of counts lie within their error bars" % (name, 100 * s.covered()))
    want = r.truth.total["insns"]
    t.ok(abs(j["insns"] / want - 1) < .03, "%s: instructions in all" % name, (j["insns"], want))
    return j


def agree(t, r, name):
    """Calls are edges between blocks: both commands count the same ones."""
    b, c = cyclade("blocks", "-j", "-i", r.path), cyclade("calls", "-j", "-i", r.path)
    into = collections.Counter()
    for f in nest.functions(b):
        for e in f["edges"]:
            if e["from"] is None and e["to"] == 0 and not e["fallthrough"]:
                into[e["other_function"], f["function"]] += e["runs"]
    calls = [(e["caller"], e["callee"], e["calls"]) for e in c["edges"]
             if not e["tail"] and not e["plt"] and None not in (e["caller"], e["callee"])]
    both = [(x, y, n, into[x, y]) for x, y, n in calls if into[x, y] > 1000]
    bad = [x for x in both if abs(x[2] / x[3] - 1) > 1e-6]
    t.ok(both and not bad, "%s: %d calls, as often by blocks as by calls" % (name, len(both)), bad[:5])


def account(t, o):
    """An account has what branch records tell of its functions: as blocks and calls have it, and near the truth."""
    r = o.run("nested", depth=32, period=400, event="cycles")
    d = cyclade("report", "--account", "-j", "-i", r.path, "--model", "skx")
    rows = {x["function"]: x for x in d["rows"]} if not isinstance(d, str) else {}
    insns = {f["function"]: (f["insns"], f["insns_error"]) for f in cyclade("blocks", "-j", "-i", r.path)["functions"]}
    c = cyclade("calls", "-j", "-i", r.path)
    calls = {f["function"]: f for f in c["functions"]}
    names = ("of_three", "triangle", "while_loop", "main")
    bad = [n for n in names if not rows.get(n) or (rows[n]["insns"], rows[n]["insns_error"]) != insns[n] or rows[n]["called"] != calls[n]["called"] or
           (rows[n]["callers"], rows[n]["callees"]) != (calls[n]["callers"], calls[n]["callees"])]
    t.ok(not bad, "account: instructions, callers and callees of functions", (bad, d if isinstance(d, str) else rows))
    said = run("report", "--account", "-i", r.path, "--model", "skx", "--no-cache").stdout
    t.ok(" insns " in said and " callers " in said and " callees " in said, "and as columns", said[:600])
    by_line = cyclade("report", "--account", "-j", "-i", r.path, "--model", "skx", "-s", "srcline")
    t.ok(not isinstance(by_line, str) and all(x["insns"] is None is x["callers"] for x in by_line["rows"]), "rows that are no functions have none")


def main():
    t = Tap()
    with Oracle(t) as o:
        account(t, o)
        for event in ("taken", "insns", "cycles"):
            for skid in (0, 40):
                agree(t, o.run("nested", depth=32, period=62 if event == "taken" else 400, event=event, skid=skid),
                      "%s, %d cycles late" % (event, skid))
        for program in ("nested", "pack", "oddeven"):
            r, *also = (o.run(program, event="insns", period=400, depth=32, seed=seed) for seed in range(1, 6 if program == "pack" else 2))
            j = compare(t, r, program + ", by instructions", .06, also)
            t.ok(j and j["scaled"] and j["by"] == "instructions" and j["stacks"]["weighed"], program + ": executions by instructions")
        j = compare(t, o.run("system", 20000, period=40, depth=32), "system calls", .04)
        t.ok(j and j["system"] > 1000, "what ran up to a system call is counted", j and j["system"])
        ask = [f for f in nest.functions(j) if f["function"] == "ask"] if j else []
        t.ok(ask and all(abs(b["in"] - b["out"]) < .1 * b["runs"] for b in ask[0]["blocks"] if b["hits"] > 1000), "in is out around it",
             ask and ask[0]["blocks"])
    t.done()


main()
