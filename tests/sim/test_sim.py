#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The simulated machine shows perf what was planted, takes turns as the kernel does, and refuses what a PMU refuses."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from tap import PERF, SANITIZED, Tap  # noqa: E402

SPIN = os.environ.get("SIM_SPIN", os.path.join(HERE, "../../build/tests/sim/sim_spin"))
PERF612 = os.environ.get("CYCLADE_PERF612")
t = Tap()
tmp = tempfile.TemporaryDirectory()
trees = {}


def tree(name):
    """A directory for the machine's tree, made by the first run that needs it."""
    if name not in trees:
        trees[name] = os.path.join(tmp.name, "tree%d" % len(trees))
        os.mkdir(trees[name])
    return trees[name]


def sim(machine, scenario, *cmd, env=None, **kw):
    options = (env or {}).get("SIM_OPTIONS", "")
    e = dict(os.environ, SIM_TREE=tree(machine + options), LC_ALL="C", **(env or {}))
    return subprocess.run([os.path.join(HERE, "run.sh"), machine, scenario, "--", *cmd], env=e, text=True,
                          capture_output=True, timeout=120, stdin=subprocess.DEVNULL, **kw)


def planted(machine, program, pmu="cpu"):
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("plant %s %s " % (program, pmu)):
                return {k: float(v) for k, v in (x.split("=") for x in line.split()[3:])}
    return {}


def metrics(text):
    """perf's `12.3 %  tma_node` and `12.3 % node`."""
    return {n: float(v) / 100 for v, n in re.findall(r"#\s+(-?\d+\.\d) %\s+(?:tma_)?(\w+)", text)}


def counts(text):
    """perf stat -x, : {event: (count, running %)}; None for what was not counted."""
    out = {}
    for line in text.splitlines():
        f = line.split(",")
        if len(f) > 4 and f[2]:
            out[f[2]] = (float(f[0]) if f[0][:1].isdigit() else None, float(f[4] or 0))
    return out


def near(a, b, within):
    return a is not None and abs(a - b) <= within


def check_tree(perf, machine, program, metric, within, nodes=None):
    got = metrics(sim(machine, program, perf, "stat", "-M", metric, SPIN, "60").stderr)
    want = planted(machine, program)
    wrong = ["%s: %s, planted %.3f" % (n, got.get(n.lower()), v) for n, v in want.items()
             if (n.lower() in got or n in (nodes or ())) and not near(got.get(n.lower()), v, within)]
    shown = [n for n in want if n.lower() in got]
    t.ok(not wrong and len(shown) >= 4, "%s %s %s: perf shows what was planted (%d nodes)" %
         (machine, program, metric, len(shown)), "\n".join(wrong) + "\n%s" % got)


def test_planted():
    check_tree(PERF, "ivb", "even", "TopdownL1", 0.002)
    check_tree(PERF, "ivb", "icache_misses", "TopdownL1", 0.002)
    check_tree(PERF, "ivb", "branch_mispredicts", "TopdownL1", 0.002)
    check_tree(PERF, "spr", "dram_bound", "TopdownL1", 0.008)
    check_tree(PERF, "spr", "microcode", "TopdownL2", 0.012)
    if PERF612 and os.path.exists(PERF612):
        check_tree(PERF612, "ivb", "even", "TopdownL2", 0.002)
        check_tree(PERF612, "spr", "l2_bound", "TopdownL2", 0.012)
    else:
        t.skip("a newer perf shows what was planted", "CYCLADE_PERF612 is not set")


def test_turns():
    """Twelve events, each for itself, on four counters: each is on a third of the time, and scales to the truth."""
    names = ["br_inst_retired.all_branches", "br_misp_retired.all_branches", "uops_issued.any", "idq.ms_uops",
             "uops_retired.retire_slots", "idq_uops_not_delivered.core", "resource_stalls.sb", "machine_clears.count",
             "int_misc.recovery_cycles", "rs_events.empty_cycles", "ild_stall.lcp", "baclears.any"]
    truth = os.path.join(tmp.name, "truth")
    r = sim("ivb", "even", PERF, "stat", "-x,", "-e", ",".join(names), SPIN, "240",
            env={"SIM_TRUTH": truth, "SIM_OPTIONS": "smt=1"})
    got = counts(r.stderr)
    t.ok(len(got) == 12 and all(near(p, 100 / 3, 3) for _, p in got.values()),
         "twelve events on four counters have a third of the time each", r.stderr)
    true = {}
    for line in open(truth, encoding="utf-8"):
        f = line.split()
        true[f[1].lower()] = (float(f[9]), float(f[8]), float(f[7]) / float(f[6]))
    wrong = [n for n in names if n not in true or not near(got.get(n, (0, 0))[0], true[n][0], true[n][0] * 0.01 + 3)]
    t.ok(not wrong, "without phases, what perf extrapolates is the truth", "%s\n%s\n%s" % (wrong, got, true))
    counted = [true[n][1] / true[n][0] for n in names if n in true]
    t.ok(all(near(c, 1 / 3, 0.03) for c in counted), "the counters themselves saw a third", str(counted))
    one = counts(sim("ivb", "even", PERF, "stat", "-x,", "-e", "{%s},{%s}" % (",".join(names[:4]), ",".join(names[4:8])),
                     SPIN, "120", env={"SIM_OPTIONS": "counters=4"}).stderr)
    t.ok(len(one) == 8 and all(near(p, 50, 4) for _, p in one.values()),
         "two full groups have half of the time each", str(one))
    fixed = counts(sim("ivb", "even", PERF, "stat", "-x,", "-e",
                       "{cycles,instructions,%s}" % ",".join(names[:4]), SPIN, "30",
                       env={"SIM_OPTIONS": "counters=4"}).stderr)
    t.ok(len(fixed) == 6 and all(p == 100 for _, p in fixed.values()),
         "fixed counters leave the general ones free", str(fixed))
    held = counts(sim("ivb", "even", PERF, "stat", "-x,", "-e", "%s,cycles" % ",".join(names[:4]), SPIN, "60",
                      env={"SIM_OPTIONS": "watchdog=1 counters=4"}).stderr)
    t.ok(len(held) == 5 and any(p < 95 for _, p in held.values()),
         "the watchdog takes a counter away", str(held))


def refused(machine, events, name, env=None):
    r = sim(machine, "even", PERF, "stat", "-x,", "-e", events, "true", env=env)
    got = counts(r.stderr)
    t.ok(r.returncode != 0 or any(c is None for c, _ in got.values()), name, r.stderr)


def test_refused():
    refused("ivb", "{%s}" % ",".join("r%x" % (0x1C2 + (i << 24)) for i in range(5)), "five events do not fit four counters",
            {"SIM_OPTIONS": "smt=1"})
    refused("ivb", "{r5014c,r1cd,r2cd}", "two events for one counter do not fit")
    refused("spr", "r8000", "a field of PERF_METRICS alone is refused")
    refused("spr", "{cycles,r8000}", "a field of PERF_METRICS needs slots as its leader")
    r = sim("spr", "even", PERF, "stat", "-x,", "-e", "{slots,topdown-retiring}:u", "-a", "true")
    t.ok(all(c for c, _ in counts(r.stderr).values()), "slots in user mode alone are counted", r.stderr)
    refused("spr", "{r400:u,r8000:u}", "unless the setting says otherwise", {"SIM_OPTIONS": "metrics_filter=1"})


def test_phases():
    path = os.path.join(tmp.name, "phases")
    with open(path, "w", encoding="utf-8") as f:
        f.write("phase icache_misses 100\nphase l1_bound 100\nrepeat\n")
    r = sim("ivb", path, PERF, "stat", "-x,", "-I", "20", "-e", "{r19c,r2c2,cycles}", SPIN, "380")
    seen = {}
    for line in r.stderr.splitlines():
        f = line.split(",")
        if len(f) > 4 and f[1][:1].isdigit():
            seen.setdefault(float(f[0]), {})[f[3]] = float(f[1])
    share = [v["r19c"] / v["cycles"] / 4 for v in seen.values() if v.get("cycles", 0) > 1e6]
    want = [planted("ivb", p)["Frontend_Bound"] for p in ("icache_misses", "l1_bound")]
    both = [sum(near(s, w, 0.01) for s in share) for w in want]
    t.ok(min(both) >= 2, "intervals show the phases", "%s of %s, want %s" % (both, share, want))


if not PERF:
    t.skip("all of it", "no perf")
elif subprocess.run([PERF, "stat", "-e", "task-clock", "true"], capture_output=True).returncode:
    t.skip("all of it", "perf may not count here")
elif SANITIZED:
    t.skip("all of it", "a sanitized library cannot be preloaded")
else:
    test_planted()
    test_turns()
    test_refused()
    test_phases()
t.done()
