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
from sim import SPIN, planted, run_on  # noqa: E402
from tap import PERF, SANITIZED, Tap  # noqa: E402

CALLS = os.environ.get("SIM_CALLS", os.path.join(HERE, "../../build/tests/sim/sim_calls"))
REFUSED = os.environ.get("SIM_REFUSED", os.path.join(HERE, "../../build/tests/sim/sim_refused"))
PERF612 = os.environ.get("CYCLADE_PERF612")
t = Tap()
tmp = tempfile.TemporaryDirectory()


def sim(machine, scenario, *cmd, env=None):
    more = dict(env or {}, LC_ALL="C")
    return run_on(machine, scenario, *cmd, settings=more.pop("SIM_OPTIONS", ""), **more)


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


def whole_machine(name):
    """May whole CPUs be counted here? An ordinary user may not, as a rule."""
    if subprocess.run([PERF, "stat", "-a", "-e", "cpu-clock", "true"], capture_output=True).returncode == 0:
        return True
    t.skip(name, "whole CPUs may not be counted here")
    return False


def near(a, b, within):
    return a is not None and abs(a - b) <= within


def check_tree(perf, machine, program, metric, within, pmu="cpu", scenario=None, options="", system=False):
    what = ["-a", "sleep", "0.15"] if system else [SPIN, "60"]
    log = os.path.join(tmp.name, "times")
    if os.path.exists(log):
        os.remove(log)
    got = metrics(sim(machine, scenario or program, perf, "stat", "-M", metric, *what,
                      env={"SIM_OPTIONS": options, "SIM_TRUTH": log}).stderr)
    if system:  # perf enables one event after the other: on a busy machine the last one misses some of the time
        with open(log, encoding="utf-8") as f:
            times = [int(x.split()[6]) for x in f]
        within += 1 - min(times) / max(times)
    want = planted(machine, program, pmu)
    wrong = ["%s: %s, planted %.3f" % (n, got[n], v) for n, v in want.items() if n in got and not near(got[n], v, within)]
    shown = [n for n in want if n in got]
    t.ok(not wrong and len(shown) >= 4, "%s %s %s%s: perf shows what was planted (%d nodes)" %
         (machine, program, metric, " " + options if options else "", len(shown)), "\n".join(wrong) + "\n%s" % got)


def test_planted():
    check_tree(PERF, "ivb", "even", "TopdownL1", 0.002)
    check_tree(PERF, "ivb", "icache_misses", "TopdownL1", 0.002)
    check_tree(PERF, "ivb", "branch_mispredicts", "TopdownL1", 0.002)
    check_tree(PERF, "spr", "dram_bound", "TopdownL1", 0.008)
    check_tree(PERF, "spr", "microcode", "TopdownL2", 0.012)
    if PERF612 and os.path.exists(PERF612):
        check_tree(PERF612, "ivb", "even", "TopdownL2", 0.002)
        check_tree(PERF612, "spr", "l2_bound", "TopdownL2", 0.012)
        check_tree(PERF612, "skl", "store_bound", "TopdownL2", 0.002)
        check_tree(PERF612, "icl", "mite", "TopdownL1,TopdownL2", 0.012)
        check_tree(PERF612, "adl", "machine_clears", "TopdownL2", 0.012, pmu="cpu_core")
        check_tree(PERF612, "zen4", "backend_bound_cpu", "PipelineL1,PipelineL2", 0.002)
    else:
        t.skip("a newer perf shows what was planted", "CYCLADE_PERF612 is not set")


def scenario(name, text):
    path = os.path.join(tmp.name, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def test_machines():
    """Machines that perf has no formulas for: the formulas of this test."""
    def shares(machine, program, events, formulas, pmu="cpu"):
        r = sim(machine, program, PERF, "stat", "-x,", "-e", ",".join("r" + c for c in events.values()), SPIN, "60")
        got = counts(r.stderr)
        n = {k: got.get("r" + c, (None, 0))[0] for k, c in events.items()}
        want = planted(machine, program, pmu)
        if t.ok(None not in n.values(), "%s %s: raw events count" % (machine, program), r.stderr):
            wrong = [(node, f(n), want[node]) for node, f in formulas.items() if not near(f(n), want[node], 0.002)]
            t.ok(not wrong, "%s %s: formulas give what was planted" % (machine, program), str(wrong))
    zen4 = {"cycles": "76", "empty": "1000001a0", "latency": "1060001a0", "back": "100001ea0", "sent": "7aa", "ops": "c1"}
    zen4["latency"] = "%x" % (0x1000001A0 | 6 << 24)
    for program in ("even", "frontend_bound_latency"):
        shares("zen4", program, zen4, {
            "frontend_bound": lambda n: n["empty"] / n["cycles"] / 6,
            "frontend_bound_latency": lambda n: n["latency"] / n["cycles"],
            "backend_bound": lambda n: n["back"] / n["cycles"] / 6,
            "bad_speculation": lambda n: (n["sent"] - n["ops"]) / n["cycles"] / 6,
            "retiring": lambda n: n["ops"] / n["cycles"] / 6})
    shares("n2", "branch_miss", {"cycles": "11", "front": "3e", "back": "3d", "stall": "3f", "ops": "3a", "spec": "3b",
                                 "miss": "10"}, {
        "frontend_bound": lambda n: n["front"] / n["cycles"] / 5 - n["miss"] / n["cycles"],
        "backend_bound": lambda n: n["back"] / n["cycles"] / 5 - 3 * n["miss"] / n["cycles"],
        "retiring": lambda n: n["ops"] / n["spec"] * (1 - n["stall"] / n["cycles"] / 5)}, "armv8_pmuv3_0")
    shares("zen2", "even", {"cycles": "76", "ops": "c1"}, {"retiring": lambda n: n["ops"] / n["cycles"] / 6})
    shares("n1", "even", {"cycles": "11", "front": "23"}, {"stall_frontend": lambda n: n["front"] / n["cycles"]},
           "armv8_pmuv3_0")


def test_threads():
    """Before Ice Lake slots belong to the core: with one thread idle, and with both busy, perf finds what was planted."""
    if not PERF612:
        t.skip("threads of a core", "CYCLADE_PERF612 is not set")
        return
    idle = scenario("idle", "phase even -\ncpu 1 idle\n")
    check_tree(PERF612, "ivb", "even", "TopdownL1", 0.012, scenario=idle, options="smt=1", system=True)
    both = scenario("both", "phase even - share=0.5\n")
    check_tree(PERF612, "skl", "even", "TopdownL1", 0.012, scenario=both, options="smt=1", system=True)


def test_hybrid():
    path = scenario("hybrid", "phase even 20 on=cpu_core\nphase even 10 on=cpu_atom\nrepeat\n")
    r = sim("adl", path, PERF, "stat", "-x,", "-e", "cpu_core/event=0x3c/,cpu_atom/event=0x3c/", SPIN, "240")
    got = [(float(f[0]), float(f[4])) for f in (x.split(",") for x in r.stderr.splitlines()) if f[0][:1].isdigit()]
    t.ok(len(got) == 2 and near(got[0][1], 66.7, 6) and near(got[1][1], 33.3, 6),
         "a task's events count on the kind of core that it runs on", r.stderr)
    if not whole_machine("each PMU has its own CPUs"):
        return
    r = sim("adl", "even", PERF, "stat", "-x,", "-a", "-A", "-e", "cpu_core/event=0x3c/,cpu_atom/event=0x3c/", "sleep", "0.05")
    where = re.findall(r"CPU(\d+),\d+,,(cpu_\w+)", r.stderr)
    t.ok(sorted(where) == [("0", "cpu_core"), ("1", "cpu_atom")], "each PMU has its own CPUs", r.stderr)


def test_uncore():
    if not whole_machine("an uncore PMU counts once, with its scale"):
        return
    r = sim("spr", "even", PERF, "stat", "-x,", "-a", "-e", "uncore_imc_0/cas_count_read/,msr/tsc/", "sleep", "0.1")
    got = counts(r.stderr)
    read, tsc = (got.get(n, (0, 0))[0] for n in ("uncore_imc_0/cas_count_read/", "msr/tsc/"))
    t.ok(read and tsc and near(read * 2 ** 20 / 64 / (tsc / 2 / 2.4), 0.08, 0.01),
         "an uncore PMU counts once, with its scale", r.stderr)


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
    r = sim("spr", "even", PERF, "stat", "-x,", "-e", "{slots,topdown-retiring}:u", SPIN, "20")
    got = counts(r.stderr)
    t.ok(got and all(c for c, _ in got.values()), "slots in user mode alone are counted", r.stderr)
    refused("spr", "{r400:u,r8000:u}", "unless the setting says otherwise", {"SIM_OPTIONS": "metrics_filter=1"})


def test_calls():
    slow = scenario("slow", "phase even -\nrate MEM_LOAD_RETIRED.L2_HIT 0.1\nlatency MEM_LOAD_RETIRED.L2_HIT 36.5\n")
    for machine, program, options, n in (("ivb", "even", "smt=1", 18), ("spr", "even", "", 8), ("gnr", slow, "", 2)):
        r = sim(machine, program, CALLS, machine, env={"SIM_OPTIONS": options})
        lines = r.stdout.splitlines()
        t.ok(r.returncode == 0 and len(lines) >= n, "%s: calls went through" % machine, r.stderr)
        for line in lines:
            good, _, name = line.partition("ok ")
            t.ok(not good, "%s: %s" % (machine, name))


def test_rules():
    """What Linux and the drivers refuse (README.md), by the errno that they have for it."""
    for machine, more, n in (("ivb", [], 17), ("skl", [], 18), ("icl", [], 28), ("spr", [], 32), ("gnr", [], 32),
                             ("zen2", [], 10), ("zen4", [], 10), ("n2", [], 10), ("spr", ["old"], 3)):
        r = sim(machine, "even", REFUSED, machine, *more, env={"SIM_OPTIONS": "linux=6.11" if more else ""})
        lines = r.stdout.splitlines()
        t.ok(r.returncode == 0 and len(lines) == n, "%s: rules were asked for" % machine, "%s\n%s" % (len(lines), r.stderr))
        for line in lines:
            good, _, name = line.partition("ok ")
            t.ok(not good, "%s: %s" % (machine, name))


def test_generic():
    """What the kernel's own names stand for is in the table."""
    names = ["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses"]
    for machine in ("ivb", "skl", "icl", "spr", "gnr", "zen2", "zen4", "n1", "n2"):
        truth = os.path.join(tmp.name, "truth-" + machine)
        sim(machine, "even", PERF, "stat", "-x,", "-e", ",".join(names), SPIN, "10", env={"SIM_TRUTH": truth})
        lines = [x.split() for x in open(truth, encoding="utf-8")] if os.path.exists(truth) else []
        t.ok(len(lines) >= 6 and all(float(x[9]) > 0 for x in lines), "%s: generic events count" % machine, str(lines))


def test_clocks():
    """A clock without counters in its group counts, too: a program of the kernel's own, beside those of the PMU."""
    for machine in ("spr", "zen4"):
        c = counts(sim(machine, "even", PERF, "stat", "-x,", "-e", "task-clock,cycles,cpu-clock", SPIN, "50").stderr)
        clocks = [c.get(x, (None, 0)) for x in ("task-clock", "cpu-clock")]
        t.ok(all(v is not None and v > 0 and on == 100 for v, on in clocks) and near(clocks[0][0] / clocks[1][0], 1, 0.1),
             "%s: clocks beside a counter" % machine, str(c))


def test_samples():
    """Samples of a simulated event stand for what it counted, and are where the program was."""
    data = os.path.join(tmp.name, "perf.data")
    r = sim("ivb", "even", PERF, "record", "-q", "-o", data, "-c", "600000", "-e", "cycles", "-b", SPIN, "200")
    s = subprocess.run([PERF, "script", "-i", data, "-F", "ip,sym,period,brstack"], capture_output=True, text=True).stdout
    lines = s.splitlines()
    total = sum(int(x.split()[0]) for x in lines if x.split()[0].isdigit())
    t.ok(near(total, 3 * 200e6, 0.1 * 600e6), "cycles sampled are cycles counted", "%s %s\n%s" % (total, r.stderr, s[:200]))
    t.ok(sum("main" in x for x in lines) > 0.7 * len(lines), "they are in the program's loop", s[:400])
    t.ok(lines and all(x.count("/") > 60 for x in lines), "each has its branches", s[:400])


def test_phases():
    path = scenario("phases", "phase icache_misses 100\nphase l1_bound 100\nrepeat\n")
    r = sim("ivb", path, PERF, "stat", "-x,", "-I", "20", "-e", "{r19c,r2c2,cycles}", SPIN, "380")
    seen = {}
    for line in r.stderr.splitlines():
        f = line.split(",")
        if len(f) > 4 and f[1][:1].isdigit():
            seen.setdefault(float(f[0]), {})[f[3]] = float(f[1])
    share = [v["r19c"] / v["cycles"] / 4 for v in seen.values() if v.get("cycles", 0) > 1e6]
    want = [planted("ivb", p)["frontend_bound"] for p in ("icache_misses", "l1_bound")]
    both = [sum(near(s, w, 0.01) for s in share) for w in want]
    t.ok(min(both) >= 2, "intervals show the phases", "%s of %s, want %s" % (both, share, want))


if SANITIZED:
    t.skip("all of it", "under a sanitizer a share of the simulated machines has to do: tree, drill, run, record")
elif not PERF:
    t.skip("all of it", "no perf")
elif subprocess.run([PERF, "stat", "-e", "task-clock", "true"], capture_output=True).returncode:
    t.skip("all of it", "perf may not count here")
else:
    test_planted()
    test_machines()
    test_threads()
    test_hybrid()
    test_uncore()
    test_calls()
    test_rules()
    test_clocks()
    test_generic()
    test_samples()
    test_turns()
    test_refused()
    test_phases()
t.done()
