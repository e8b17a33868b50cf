#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Level 1 counts all of the time where it has counters of its own, whatever else takes turns; and if somebody holds
one of these, it says so and takes turns, too. One machine runs by the kernel's clock, the others on paper."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, planted, run_on  # noqa: E402
from tap import CYCLADE, SANITIZED, WHOLE_CPUS, Bars, Tap, run  # noqa: E402
from trees import trees  # noqa: E402

LEVEL_1 = ("frontend_bound", "bad_speculation", "backend_bound", "retiring")
t = Tap()
tmp = tempfile.TemporaryDirectory()


def stat(machine, scenario, *options, ms=150, sim="", target=None, paper=True):
    """The tree as JSON, exit code, and [(event, enabled, running, counted, true)]."""
    out, log = os.path.join(tmp.name, "out.json"), os.path.join(tmp.name, "truth")
    p = run_on(machine, scenario, CYCLADE, "stat", *SYSROOT, "-j", "-o", out, *options, *(target or [SPIN, str(ms)]),
               settings=sim, paper=paper, SIM_TRUTH=log)
    try:
        with open(out, encoding="utf-8") as f:
            doc = json.load(f)
        with open(log, encoding="utf-8") as f:
            truth = [(w[1], int(w[6]), int(w[7]), float(w[8]), float(w[12])) for w in map(str.split, f)]
        os.remove(out)
        os.remove(log)
    except (OSError, ValueError):
        return {"trees": [{"nodes": []}], "notes": [p.stdout + p.stderr]}, p.returncode, []
    return doc, p.returncode, truth


def nodes(doc):
    best = max(trees(doc), key=lambda x: sum(n["value"] is not None for n in x["nodes"]))
    return {n["node"].split(".")[-1]: n for n in best["nodes"]}


def wrong(machine, program, got, names):
    want = planted(machine, program)
    return {n: (got[n]["value"], want[n]) for n in names if n in want and
            (got.get(n, {}).get("value") is None or abs(got[n]["value"] - want[n]) > (got[n]["value_error"] or 0) + 0.003)}


def always(machine):
    for options in ((), ("-l", "3")):
        doc, _, truth = stat(machine, "dram_bound", *options, paper=machine != "gnr")
        got = nodes(doc)
        what = "%s %s" % (machine, " ".join(options) or "drilling down")
        share = {n: got[n]["counted"] for n in LEVEL_1 if n in got}
        rest = [n["counted"] for n in got.values() if n["level"] == 3 and n["counted"]]
        t.ok(len(share) == 4 and min(share.values()) > 0.999, "%s: level 1 was counted all of the time" % what, (share, doc["notes"]))
        t.ok(rest and min(rest) < 0.7, "%s: while the rest took turns" % what, rest)
        slots = max((x for x in truth if x[0].startswith("TOPDOWN.SLOTS")), key=lambda x: x[3], default=None)
        t.ok(slots and slots[1] == slots[2] and abs(slots[3] - slots[4]) < 2, "%s: slots never left their counter" % what, slots)
        t.equal(wrong(machine, "dram_bound", got, LEVEL_1 + ("memory_bound", "l3_miss_bound")), {}, "%s: what was planted" % what)
        t.ok("l3_miss_bound is DRAM_Bound in other tools" in doc["notes"], "%s: its name in other tools" % what, doc["notes"])


def held():
    doc, code, _ = stat("gnr", "dram_bound", sim="held_fixed=3 held_from=120")
    got, notes = nodes(doc), " ".join(doc["notes"])
    share = got.get("backend_bound", {}).get("counted") or 0
    t.ok(code == 0 and 0.1 < share < 0.95, "slots' counter is taken after 120 ms: level 1 is counted on and off", (share, notes))
    t.ok("level 1 took turns with the rest" in notes, "and that is said", notes)
    t.equal(wrong("gnr", "dram_bound", got, LEVEL_1), {}, "and is right")

    # a general counter from the start: the plan does without
    doc, _, _ = stat("gnr", "dram_bound", sim="held=0")
    got, notes = nodes(doc), " ".join(doc["notes"])
    t.ok(all(got.get(n, {}).get("counted", 0) > 0.999 for n in LEVEL_1), "with a general counter taken level 1 counts", notes)
    t.ok("1 of 8 general counters is held by somebody else" in notes and "never came to a turn" not in notes, "and it is said who is short", notes)
    t.equal(wrong("gnr", "dram_bound", got, LEVEL_1 + ("memory_bound", "l3_miss_bound")), {}, "and all else by groups that fit")

    doc, code, _ = stat("gnr", "dram_bound", sim="held_fixed=3")
    got, notes = nodes(doc), " ".join(doc["notes"])
    t.ok(code == 0 and all(got.get(n, {"counted": 0})["counted"] > 0.05 for n in LEVEL_1),
         "with slots' counter taken from the start level 1 is counted by other events", got)
    t.equal(wrong("gnr", "dram_bound", got, LEVEL_1), {}, "and is right")
    t.ok("1 of 4 fixed counters is held by somebody else" in notes, "and that is said", notes)


def imported():
    """Counts by events other than slots, imported again: by the same formulas."""
    kept = os.path.join(tmp.name, "kept.json")
    doc, _, _ = stat("spr", "dram_bound", sim="held_fixed=3")
    with open(kept, "w", encoding="utf-8") as f:
        json.dump(doc, f)
    p = run("stat", "--import", kept, "-j")
    was, now = nodes(doc), nodes(json.loads(p.stdout)) if p.returncode == 0 else {}
    t.equal({n: now.get(n, {}).get("value") for n in LEVEL_1}, {n: was.get(n, {}).get("value") for n in LEVEL_1},
            "spr: level 1 without slots' counter, imported again: the same")
    t.ok(all(was.get(n, {}).get("value") is not None for n in LEVEL_1), "... all of it", p.stderr)


def cpus():
    """Counting CPUs, each has a pinned group of its own."""
    if not WHOLE_CPUS:
        t.skip("spr -a", "whole CPUs may not be counted here")
        return
    doc, _, truth = stat("spr", "dram_bound", "-a", "--for", "300ms", target=[])
    got = nodes(doc)
    # groups of CPUs are enabled one after the other, which takes a busy machine some ms: each has been counted since its own
    slots = [x for x in truth if x[0].startswith("TOPDOWN.SLOTS")]
    t.ok(slots and all(x[1] == x[2] for x in slots) and all(got.get(n, {}).get("counted", 0) > 0.5 for n in LEVEL_1),
         "spr -a: level 1 was counted all of the time", (slots, doc["notes"], [got.get(n) for n in LEVEL_1]))
    t.equal(wrong("spr", "dram_bound", got, LEVEL_1), {}, "spr -a: what was planted")


def counters(machine):
    """General counters of the first kind of cores, with SMT on."""
    with open(os.path.join(HERE, "machines", machine + ".tab"), encoding="utf-8") as f:
        return int(re.search(r"^pmu .* counters=(\d+)", f.read(), re.M)[1])


def general():
    """Where level 1 is made of general counters it takes turns, and every node says what share of them it had."""
    for machine in ("ivb", "zen4", "n2"):
        program = {"n2": "even", "zen4": "even"}.get(machine, "dram_bound")
        doc, _, truth = stat(machine, program, "-l", "3", sim="smt=1" if machine == "ivb" else "")
        share = {n: x["counted"] for n, x in nodes(doc).items() if x["level"] == 1}
        counted = [e[2] / 150e6 for e in truth]
        t.ok(share and all(x is not None and x > 0 for x in share.values()), "%s: nodes say how long they were counted" % machine, share)
        low = min(share.values(), default=0)
        if low > 0.999:  # all of it fits
            continue
        said = re.search(r"took turns \((\d+) general counters( a thread, twice as many without SMT)?\): events .*, those of level 1 ([\d-]+) %", " ".join(doc["notes"]))
        t.ok(said and int(said[1]) == counters(machine) and bool(said[2]) == (machine == "ivb") and
             all(abs(int(x) - 100 * y) < 2 for x, y in zip(said[3].split("-") * 2, (low, max(share.values())))),
             "%s: why, by the counters that a thread has" % machine, (doc["notes"], share))
        t.ok(any(abs(low - x) < 0.06 for x in counted), "%s: and it is so" % machine, (share, counted))
    for machine, sim, left in (("ivb", "smt=1 held=0", 3), ("ivb", "held=0 held=1 held=4 held=6", 4), ("zen4", "held=1 held=3", 4)):
        doc, _, _ = stat(machine, "even", "-l", "2", sim=sim, ms=400)
        t.ok("(%d general counters" % left in " ".join(doc["notes"]), "%s %s: counters that others hold are not among them" % (machine, sim), doc["notes"])


# ---- ratios of what always counts and what takes turns ------------------------------------------

def true_counts(truth):
    true = {}
    for name, _, _, _, real in truth:
        true[name.split(":")[0]] = max(real, true.get(name.split(":")[0], 0))
    return true


def ratios():
    """A node of an event that takes turns over slots that do not: within its bar."""
    scenario, width = os.path.join(tmp.name, "phases"), []
    inside = Bars(100, 100) if os.environ.get("CYCLADE_LONG") else Bars(40, 80)
    with open(scenario, "w", encoding="utf-8") as f:
        f.write("phase microcode 40-120\nphase dram_bound 30-160\nrepeat\n")
    while inside.more():
        doc, _, truth = stat("spr", scenario, "-l", "3", ms=500, sim="seed=%d" % (inside.of + 1))
        true, n = true_counts(truth), nodes(doc).get("microcode_sequencer", {})
        known = n.get("value") is not None and n.get("value_error") is not None
        inside.add(known and abs(n["value"] - true["UOPS_RETIRED.MS"] / true["TOPDOWN.SLOTS"]) <= n["value_error"])
        width += [n["value_error"]] if known else []
    print("# half widths %s" % ", ".join("%.3f" % w for w in sorted(width)))
    t.ok(inside.good(), "spr, two phases: microcode_sequencer lies within its bar %s" % inside)
    t.ok(width and sorted(width)[len(width) // 2] < 0.15, "and the bar is no barn door")


if SANITIZED:
    t.skip("simulated machines", "under a sanitizer a share of the simulated machines has to do: tree, drill, run, record")
    t.done()
for m in ("gnr", "icl", "adl"):
    always(m)
held()
imported()
cpus()
general()
ratios()
t.done()
