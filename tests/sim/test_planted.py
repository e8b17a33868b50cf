#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade stat` on simulated machines: the tree shows what was planted, and its path ends where the trouble is. The
first runs by the kernel's clock, the others on paper."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, planted, run_on  # noqa: E402
from tap import CYCLADE, SANITIZED, SIMULATED, Tap  # noqa: E402

# machine, program, where the path has to lead (nodes below it may follow)
CASES = [("ivb", "icache_misses", "icache_misses"), ("ivb", "machine_clears", "machine_clears"),
         ("skl", "store_bound", "store_bound"), ("skl", "fp_vector", "fp_vector"), ("icl", "l2_bound", "l2_bound"),
         ("spr", "dram_bound", "l3_miss_bound"), ("spr", "microcode", "microcode_sequencer"),
         ("gnr", "divider", "divider"), ("adl", "branch_mispredicts", "branch_mispredicts"),
         ("zen4", "backend_bound_cpu", "backend_bound_cpu"), ("zen2", "backend_bound_memory", "backend_bound"),
         ("n2", "branch_miss", "bad_speculation")]
NODE = re.compile(r"[├└] (\w+…?)\s+(-?[\d.]+)(?:-([\d.]+))? %(?: \+-<?([\d.]+))?(.*)")  # or a range, of a part that was counted too seldom
t = Tap()


def check(machine, program, where):
    paper = (machine, program, where) != CASES[0]
    with tempfile.NamedTemporaryFile() as truth:
        # what switching groups costs bounds how often they take turns, and a sanitizer makes that slow
        r = run_on(machine, program, CYCLADE, "stat", *SYSROOT, "--", SPIN, "4000" if SANITIZED and paper else "400", paper=paper,
                   SIM_TRUTH=truth.name, LC_ALL="C.UTF-8")
        unknown = [x.split()[1] for x in open(truth.name, encoding="utf-8") if " unknown:" in x]
    text = r.stdout + r.stderr
    nodes = {n: ((float(v) + float(to or v)) / 200, float(err or 0) / 100 if not to else (float(to) - float(v)) / 200, "<==" in rest)
             for n, v, to, err, rest in NODE.findall(text)}
    want = planted(machine, program)
    known = [n for n in want if n in nodes]
    wrong = [(n, nodes[n], want[n]) for n in known if abs(nodes[n][0] - want[n]) > max(2 * nodes[n][1], 0.006)]
    t.ok(r.returncode == 0 and len(known) >= 4 and not wrong, "%s %s: shares are those planted (%d nodes)" %
         (machine, program, len(known)), "%s\n%s" % (wrong, text))
    t.ok(nodes.get(where, (0, 0, False))[2], "%s %s: the path leads to %s" % (machine, program, where), text)
    step = re.search(r"cyclade record -e (\S+) -- \.\.\.", text)
    if step:
        typed = run_on(machine, program, CYCLADE, "record", *SYSROOT, "-e", step.group(1), "--dry-run", "--", "true")
        t.ok(typed.returncode == 0, "%s %s: the event to sample next, %s, works when typed" % (machine, program, step.group(1)), typed.stderr)
    t.ok(not unknown, "%s %s: every event counted is one the machine has" % (machine, program), str(unknown))


if not SIMULATED:
    t.skip("all of it", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
elif run_on("ivb", "even", CYCLADE, "stat", "-e", "task-clock", "true").returncode:
    t.skip("all of it", "no counting here")
else:
    for case in CASES:
        check(*case)
t.done()
