#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare with the tree: each run's nodes are the machine's, and a limit finds a node by the last part of its path."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from sim import SPIN, SYSROOT, planted, run_on  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()


def compare(*words):
    return run_on("ivb", "even", CYCLADE, "compare", *SYSROOT, "-r", "2", "--warmup", "0", "-j", *words, "--", SPIN, "20", "--", SPIN, "20", paper=True)


want = planted("ivb", "even")
p = compare("-l", "1", "--fail-if", "retiring > +50%")
doc = json.loads(p.stdout) if p.stdout else {"effects": [], "repeats": [], "limits": []}
nodes = {e["metric"]: e for e in doc["effects"] if e["unit"] == "share"}
t.ok(set(nodes) == {"frontend_bound", "bad_speculation", "retiring", "backend_bound"} and
     all(abs(e[side] - want[n]) < 0.02 for n, e in nodes.items() for side in ("base", "new")), "nodes are those planted", (p.stderr, nodes, want))
t.ok(len(doc["repeats"]) == 4 * 4 and all(abs(r["value"] - want[r["metric"]]) < 0.02 for r in doc["repeats"]), "in each run", doc["repeats"])
t.ok(p.returncode == 0 and [x["broken"] for x in doc["limits"]] == [False], "a limit of a node", doc["limits"])
p = compare("-l", "2", "--fail-if", "memory_bound > +50%")
t.ok(p.returncode == 0 and "backend_bound.memory_bound" in p.stdout, "a node by the last part of its path", p.stderr)
p = compare("-l", "1", "--fail-if", "memory_bound > +50%")
t.ok(p.returncode == 125 and "is not measured" in p.stderr, "one that is not counted is refused", p.stderr)
p = compare("-l", "1", "-e", "cycles")
t.ok(p.returncode == 125 and "-e counts events" in p.stderr, "-e and -l exclude each other", p.stderr)
t.done()
