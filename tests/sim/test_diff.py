#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade diff and sum of what `run` counted and sampled on simulated machines: the tree's nodes are joined by their paths, the planted
node and function are named first."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, planted, run_on  # noqa: E402
from tap import CYCLADE, SIMULATED, Tap, run  # noqa: E402

# machine, program of the new side, the node that is larger there
CASES = [("spr", "dram_bound", "backend_bound.memory_bound"), ("ivb", "icache_misses", "frontend_bound.fetch_latency"),
         ("skl", "branch_mispredicts", "bad_speculation")]
PAIRS = 20 if os.environ.get("CYCLADE_LONG") else 3
t = Tap()


def recorded(where, machine, program, n):
    path = os.path.join(where, "%s-%s-%d" % (machine, program, n))
    p = run_on(machine, program, CYCLADE, "run", "-q", *SYSROOT, "--data", path, "--", SPIN, "200" if program == "even" else "500")  # several slices each, on a busy machine, too
    return path if p.returncode == 0 else None


def loaded(*words):
    return json.loads(run(*words, "-j").stdout)


def nodes(path):
    """{path of the node: its row}, as report has them."""
    rows = loaded("report", path)["tree"]
    at = {r["id"]: r for r in rows}

    def whole(r):
        above = at.get(r["parent"])
        return (whole(above) + "." if above and "." not in r["node"] else "") + r["node"].lower()
    return {whole(r): r for r in rows if not r["sum"]}


def check(where, k):
    machine, program, node = CASES[k % len(CASES)]
    base, new = recorded(where, machine, "even", k), recorded(where, machine, program, k)
    text = run("diff", base, new).stdout
    said = re.findall(r"^ what moved +(\S+?)(?:, .*)?: ", text, re.M)  # on a busy machine the kernel's functions move, too
    t.ok(len(said) == 2 and said[0].lower().startswith(node) and said[1] == "main", "%s: node and function are named first" % program, text)
    doc, name = loaded("diff", base, new), lambda r: r["node"].rsplit(".", 1)[-1].lower()
    saved = [nodes(x) for x in (base, new)]
    both = [r for r in doc["tree"] if all(saved[i].get(r["node"].lower(), {}).get("value") is not None for i in (0, 1))]
    t.ok(len(both) >= 4 and all(r["verdict"] != "not comparable" for r in both) and
         all(r["verdict"] == "not comparable" and r["change"] is None and r["why"] for r in doc["tree"] if r not in both),
         "%s: nodes that one side did not count are not compared, and not 0" % program, doc["tree"])
    want = [planted(machine, x) for x in ("even", program)]
    level1 = [r for r in both if "." not in r["node"] and name(r) in want[0]]
    t.ok(level1 and all((r["difference"] > 0) == (want[1][name(r)] * saved[1][r["node"].lower()]["slots"] >
                                                  want[0][name(r)] * saved[0][r["node"].lower()]["slots"]) for r in level1
                        if r["verdict"] == "moved"), "%s: nodes of level 1 moved as planted" % program, level1)
    total = {r["node"].lower(): r for r in loaded("sum", base, base)["tree"]}
    t.ok(total and all(abs(total[p]["share"] - r["value"]) < 1e-6 and total[p]["recordings"] == 2 for p, r in saved[0].items()
                       if p in total and "." not in p and r["value"] is not None), "%s: a sum of the same has the same shares" % program, total)


def counted(where, program, *words):
    path = os.path.join(where, "%s.json" % program)
    p = run_on("spr", program, CYCLADE, *words, *SYSROOT, "-r", "3", "-l", "2", "-j", "-o", path, "--", SPIN, "100")
    return path if p.returncode == 0 else p.stderr


def check_counted(where, *words):
    """What stat -r -j or run -r -j saved: the planted node, by runs that were counted."""
    base, new = (counted(where, program, *words) for program in ("even", "dram_bound"))
    text, doc = run("diff", base, new).stdout, loaded("diff", base, new)
    said = re.findall(r"^ what moved +(\S+):", text, re.M)
    t.ok(text.count("mean of 3 runs") == 2 and said and said[0].startswith("backend_bound.memory_bound"), "%s -r -j: the node is named first" % words[0], text)
    want = [planted("spr", x) for x in ("even", "dram_bound")]
    with open(base, encoding="utf-8") as a, open(new, encoding="utf-8") as b:
        slots = [json.load(f)["trees"][0]["slots"] for f in (a, b)]
    wrong = [r for r in doc["tree"] if r["node"] in want[0] and r["verdict"] != "not comparable" and
             (abs(r["base"] / slots[0] - want[0][r["node"]]) > 0.02 or abs(r["new"] / slots[1] - want[1][r["node"]]) > 0.02)]
    t.ok(len([r for r in doc["tree"] if r["node"] in want[0]]) >= 4 and not wrong, "%s -r -j: and the shares are those planted" % words[0], wrong or doc["tree"])


with tempfile.TemporaryDirectory() as where:
    if not SIMULATED:
        t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    elif run_on("ivb", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
        t.skip("all of it", "no counting here")
    else:
        for k in range(PAIRS):
            check(where, k)
        check_counted(where, "stat")
        check_counted(where, "run", "-q", "--data", os.path.join(where, "series"))
t.done()
