#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade stat` on simulated machines: the tree shows what was planted, and its path ends where the trouble is."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from tap import CYCLADE, SANITIZED, Tap  # noqa: E402

SPIN = os.environ.get("SIM_SPIN", os.path.join(HERE, "../../build/tests/sim/sim_spin"))
# machine, program, where the path has to lead (nodes below it may follow)
CASES = [("ivb", "icache_misses", "icache_misses"), ("ivb", "machine_clears", "machine_clears"),
         ("skl", "store_bound", "store_bound"), ("skl", "fp_vector", "fp_vector"), ("icl", "l2_bound", "l2_bound"),
         ("spr", "dram_bound", "l3_miss_bound"), ("spr", "microcode", "microcode_sequencer"),
         ("gnr", "divider", "divider"), ("adl", "branch_mispredicts", "branch_mispredicts"),
         ("zen4", "backend_bound_cpu", "backend_bound_cpu"), ("zen2", "backend_bound_memory", "backend_bound"),
         ("n2", "branch_miss", "bad_speculation")]
NODE = re.compile(r"[├└] (\w+…?)\s+(-?[\d.]+) %(?: \+-<?([\d.]+))?(.*)")
t = Tap()


def planted(machine, program):
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("plant %s " % program):
                return {k.lower(): float(v) for k, v in (x.split("=") for x in line.split()[3:])}
    return {}


def check(machine, program, where):
    with tempfile.NamedTemporaryFile() as truth:
        e = dict(os.environ, SIM_TRUTH=truth.name, LC_ALL="C.UTF-8")
        r = subprocess.run([os.path.join(HERE, "run.sh"), machine, program, "--", CYCLADE, "stat", "--sysroot",
                            "@SYSROOT@", "--", SPIN, "400"], env=e, text=True, capture_output=True, timeout=120,
                           stdin=subprocess.DEVNULL)
        unknown = [x.split()[1] for x in open(truth.name, encoding="utf-8") if " unknown:" in x]
    text = r.stdout + r.stderr
    nodes = {n: (float(v) / 100, float(err or 0) / 100, "<==" in rest) for n, v, err, rest in NODE.findall(text)}
    want = planted(machine, program)
    known = [n for n in want if n in nodes]
    wrong = [(n, nodes[n], want[n]) for n in known if abs(nodes[n][0] - want[n]) > max(2 * nodes[n][1], 0.006)]
    t.ok(r.returncode == 0 and len(known) >= 4 and not wrong, "%s %s: shares are those planted (%d nodes)" %
         (machine, program, len(known)), "%s\n%s" % (wrong, text))
    t.ok(nodes.get(where, (0, 0, False))[2], "%s %s: the path leads to %s" % (machine, program, where), text)
    t.ok(not unknown, "%s %s: every event counted is one the machine has" % (machine, program), str(unknown))


if SANITIZED:
    t.skip("all of it", "a sanitized library cannot be preloaded")
elif subprocess.run([os.path.join(HERE, "run.sh"), "ivb", "even", "--", CYCLADE, "stat", "-e", "task-clock", "true"],
                    capture_output=True).returncode:
    t.skip("all of it", "no counting here")
else:
    for case in CASES:
        check(*case)
t.done()
