#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`stat -e` of a program on a hybrid CPU: an event of one kind of core counts what happened there, and no more.

The truth is the simulated PMU's own (SIM_TRUTH): what each event would have counted if it had never waited."""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
TURNS = "took turns"


def scenario(name, *phases):
    path = os.path.join(tmp.name, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join("phase %s\n" % p for p in phases) + ("repeat\n" if len(phases) > 1 else ""))
    return path


def stat(program, events, *options, machine="adl", ms="150"):
    """({event: row}, {(pmu, config): true count}, notes, what it said)"""
    out, truth = os.path.join(tmp.name, "out.json"), os.path.join(tmp.name, "truth")
    for path in (out, truth):
        if os.path.exists(path):
            os.remove(path)
    p = run_on(machine, program, CYCLADE, "stat", *SYSROOT, "-j", "-o", out, "-e", events, *options, SPIN, ms, paper=True, SIM_TRUTH=truth)
    with open(out, encoding="utf-8") as f:
        docs = [json.loads(x) for x in f.read().splitlines()] if "-I" in options else [json.load(f)]
    docs = [d for d in docs if "counts" in d]  # the last of intervals tells how it ended
    true = {}
    with open(truth, encoding="utf-8") as f:
        for w in (x.split() for x in f):
            true[w[0], int(w[2], 16)] = max(true.get((w[0], int(w[2], 16)), 0), float(w[12]))
    return docs, true, " ".join(n for d in docs for n in d.get("notes", [])), p.stderr


def rows(doc):
    return {c["event"]: c for c in doc["counts"]}


def test_one_kind():
    (doc,), _, notes, said = stat("even", "cycles,instructions")
    r = rows(doc)
    for event in ("cycles", "instructions"):
        core, atom = r["cpu_core/%s/" % event], r["cpu_atom/%s/" % event]
        t.ok(core["value"] > 0 and core["counted"] == 1, "%s of the kind that it ran on" % event, core)
        t.equal((atom["value"], atom.get("note")), (0, "nothing ran on its kind of core"), "%s of the other: 0, and why" % event)
    t.ok(TURNS not in notes + said, "no group took turns", notes)
    (doc,), _, notes, _ = stat("even", "cpu_atom/cycles/")
    row = rows(doc)["cpu_atom/cycles/"]
    t.equal((row["value"], row.get("note")), (0, "nothing ran on its kind of core"), "asked alone: 0, and why")
    t.equal(len(doc["counts"]), 1, "what watches the other kind has no row")
    t.ok("extrapolated" not in notes, "and nothing is said to be extrapolated", notes)


def test_both_kinds():
    moves = scenario("moves", "even 20 on=cpu_core", "even 10 on=cpu_atom")
    docs, true, notes, said = stat(moves, "cycles,instructions")
    for pmu in ("cpu_core", "cpu_atom"):
        for event, config in (("cycles", 0x3C), ("instructions", 0xC0)):
            got = rows(docs[0])["%s/%s/" % (pmu, event)]
            want = true.get((pmu, config), 0)
            t.ok(want > 0 and abs(got["value"] - want) <= 0.002 * want and got["counted"] == 1,
                 "%s %s: what it counted there, not extrapolated" % (pmu, event), "%s, true %s" % (got, want))
    t.ok(TURNS not in notes + said, "moving is no taking turns", notes)
    docs, true, _, _ = stat(moves, "cycles", "-I", "50")
    for pmu in ("cpu_core", "cpu_atom"):
        got = sum(rows(d)["%s/cycles/" % pmu]["value"] or 0 for d in docs)
        want = true.get((pmu, 0x3C), 0)
        t.ok(len(docs) >= 2 and want > 0 and abs(got - want) <= 0.01 * want, "%s: so in intervals" % pmu, "%s, true %s" % (got, want))


def test_one_asked():
    """Events of one kind alone: how long the program was on the other is known all the same."""
    moves = scenario("moves3", "even 20 on=cpu_core", "even 10 on=cpu_atom")
    for pmu, events in (("cpu_core", ("cycles", "instructions")), ("cpu_atom", ("cycles",))):
        (doc,), true, notes, said = stat(moves, ",".join("%s/%s/" % (pmu, e) for e in events))
        t.equal(list(rows(doc)), ["%s/%s/" % (pmu, e) for e in events], "%s alone: rows of what was asked for" % pmu)
        for event in events:
            got = rows(doc)["%s/%s/" % (pmu, event)]
            want = true.get((pmu, {"cycles": 0x3C, "instructions": 0xC0}[event]), 0)
            t.ok(want > 0 and abs(got["value"] - want) <= 0.002 * want and got["counted"] == 1,
                 "%s %s alone: what it counted there, not extrapolated" % (pmu, event), "%s, true %s" % (got, want))
        t.ok(TURNS not in notes + said, "%s alone: no note of turns" % pmu, notes)
    events = ",".join("cpu_core/event=0xc4,cmask=%d/" % i for i in range(13))
    (doc,), true, notes, _ = stat(moves, events, ms="450")
    got, want = rows(doc)["cpu_core/event=0xc4,cmask=0/"], true.get(("cpu_core", 0xC4), 0)
    t.ok(want > 0 and got["counted"] < 0.95 and abs(got["value"] - want) <= 0.25 * want,
         "more events than counters: extrapolated to the time on that kind (was +50 %)", "%s, true %s" % (got, want))
    t.ok(TURNS in notes and "another kind" not in notes, "and the note names turns alone", notes)


def test_turns():
    """More events than counters on each kind: the sum over both kinds stays that of the run."""
    moves = scenario("moves2", "even 20 on=cpu_core", "even 10 on=cpu_atom")
    more = ",".join("cpu_core/event=0xc4,cmask=%d/,cpu_atom/event=0xc5,cmask=%d/" % (i, i) for i in range(1, 13))
    docs, true, notes, _ = stat(moves, "branches," + more, ms="450")
    for pmu, config in (("cpu_core", 0xC4), ("cpu_atom", 0xC4)):
        got = rows(docs[0])["%s/branches/" % pmu]["value"]
        want = true.get((pmu, config), 0)
        t.ok(want > 0 and abs(got - want) <= 0.25 * want, "%s branches: near the truth (was +50 and +200 %%)" % pmu, "%s, true %s" % (got, want))
    t.ok(TURNS in notes, "groups took turns", notes)


test_one_kind()
test_both_kinds()
test_one_asked()
test_turns()
t.done()
