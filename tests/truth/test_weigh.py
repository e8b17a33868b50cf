#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade blocks where weights are not simply periods, against what really ran: stacks of an event of instructions, which
is met the more often the longer a stretch is; and stacks among whose branches stand returns of system calls, which
the event does not count."""
import os
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import Oracle, Spread, cyclade, own  # noqa: E402
from tap import Tap  # noqa: E402


def compare(t, r, name, most):
    """Of the program's own functions: counts with many hits, all error bars, and instructions in all."""
    j = cyclade("blocks", "-j", "-i", r.path)
    if not t.ok(not isinstance(j, str), name + ": blocks", j):
        return None
    images = {os.path.basename(p): p for p in r.truth.images}
    s = Spread()
    for f in j["functions"]:
        image = images.get(f["dso"])
        for b in f["blocks"]:
            want = r.truth.insns.get((image, int(b["start"], 16)), 0)
            if own(image) and want:
                s.add(b["hits"], b["runs"], want, b["error"])
    s.show(name)
    t.ok(s.rows and s.worst(5000) < most, "%s: counts with many hits within %g %%" % (name, 100 * most), s.worst(5000))
    t.ok(s.covered() > .85, "%s: %.1f %% of counts lie within their error bars" % (name, 100 * s.covered()))
    want = r.truth.total["insns"]
    t.ok(abs(j["insns"]["value"] / want - 1) < .03, "%s: instructions in all" % name, (j["insns"], want))
    return j


def main():
    t = Tap()
    with Oracle(t) as o:
        for program in ("nested", "pack", "oddeven"):
            j = compare(t, o.run(program, event="insns", period=400, depth=32), program + ", by instructions", .06)
            t.ok(j and j["scaled"] and j["by"] == "instructions" and j["sums"]["weighed"], program + ": executions by instructions")
        j = compare(t, o.run("system", 20000, period=40, depth=32), "system calls", .04)
        t.ok(j and j["system"] > 1000, "what ran up to a system call is counted", j and j["system"])
        ask = [f for f in j["functions"] if f["function"] == "ask"] if j else []
        t.ok(ask and all(abs(b["in"] - b["out"]) < .1 * b["runs"] for b in ask[0]["blocks"] if b["hits"] > 1000), "in is out around it",
             ask and ask[0]["blocks"])
    t.done()


main()
