#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade diff and sum of results that stat -j and run -j saved: each run of -r is a recording, counts have the errors of their spread."""
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tables import walk  # noqa: E402
from tap import PROGS, Tap, run  # noqa: E402

T95 = {2: 4.302653, 4: 2.776445}  # Student's, by degrees of freedom
t = Tap()


def save(name, schema, **members):
    doc = {"schema": schema, "command": ["./prog", "-x"], "tool_status": 0, "workload_status": 0, "seconds": 1.5, "notes": [], **members}
    with open(name, "w", encoding="utf-8") as f:
        json.dump(doc, f)
    return name


def times(v):
    return [{"run": i + 1, "seconds": x, "user_seconds": x, "system_seconds": 0, "workload_status": 0} for i, x in enumerate(v)]


def counts(name, seconds, events, where=None, key="event", schema="cyclade.counts/2", **more):
    """events: {name: [value of each run]}"""
    repeats = [{"run": i + 1, "where": where, key: n, "value": v, "unit": "ns" if n == "task-clock" else ""}
               for n, values in events.items() for i, v in enumerate(values)]
    return save(name, schema, times=times(seconds), repeats=repeats, runs=len(seconds), **more)


def loaded(*words):
    p = run(*words, "-j")
    return json.loads(p.stdout) if p.returncode in (0, 1) else p.stderr


def totals(doc):
    return {r["name"]: r for r in doc["totals"]}


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)


def test_counts():
    a = counts("a.json", [1, 1.1, 1.2], {"cycles": [1000, 1010, 1020], "instructions": [5000, 5000, 5000], "task-clock": [1e9, 2e9, 3e9],
                                         "page-faults": [10, None, 12]})
    b = counts("b.json", [2, 2.1, 2.2], {"cycles": [1500, 1510, 1520], "instructions": [5000, 5000, 5000], "task-clock": [1e9, 2e9, 3e9],
                                         "page-faults": [10, 11, 12], "branches": [1, 2, 3]})
    doc = loaded("diff", a, b)
    rows = totals(doc)
    half = T95[4] * 10 / math.sqrt(3)  # Welch's of two spreads of 10: 4 degrees of freedom
    c = rows["cycles"]
    t.ok(c["verdict"] == "moved" and close(c["base"], 1010) and close(c["change"], 1510 / 1010 - 1) and close(c["base_error"], half) and
         close(c["change_error"], 1510 / 1010 * math.hypot(half / 1010, half / 1510)), "counts: means, the change, errors of the spread", c)
    t.ok(rows["elapsed"]["verdict"] == "moved" and close(rows["elapsed"]["new"], 2.1), "the times of the runs", rows["elapsed"])
    t.ok(rows["IPC"]["verdict"] == "moved" and close(rows["IPC"]["base"], (5000 / 1000 + 5000 / 1010 + 5000 / 1020) / 3), "IPC of each run", rows["IPC"])
    t.ok(rows["instructions"]["verdict"] == "same" and close(rows["task-clock"]["new"], 2) and rows["task-clock"]["unit"] == "s", "what is the same; seconds",
         rows)
    p = rows["page-faults"]
    t.ok(p["verdict"] == "not comparable" and p["base"] is None and p["new"] == 11 and p["change"] is None and p["why"],
         "an event that a run did not count is not 0 there", p)
    t.ok("branches" not in rows and any("only b.json has counts" in n and "branches" in n for n in doc["notes"]), "one that a side lacks", doc["notes"])
    t.ok(doc["sides"][0]["recordings"] == 3 and doc["sides"][0]["command"] == "./prog -x" and doc["rows"] == [], "three runs, no functions", doc["sides"])
    said = run("diff", a, b).stdout
    t.ok(said.count("mean of 3 runs") == 2 and "cycles +49.5 %" in said.splitlines()[0], "the screen", said)
    t.equal(run("diff", a, b, "--fail-if", "cycles > +2%").returncode, 1, "a limit")
    t.equal(run("diff", a, a, "--fail-if", "cycles > +2%").returncode, 0, "that is not exceeded")
    t.ok(all(r["verdict"] in ("same", "not comparable") for r in loaded("diff", a, a)["totals"]), "with itself there is no difference")
    rows = totals(loaded("sum", a, b))
    t.ok(rows["cycles"]["sum"] == 3030 + 4530 and rows["cycles"]["recordings"] == 6 and rows["branches"]["recordings"] == 3, "a sum of all runs", rows)
    one = counts("one.json", [1], {"cycles": [1000]})
    two = counts("two.json", [2], {"cycles": [1500]})
    row = totals(loaded("diff", one, two))["cycles"]
    t.ok(row["verdict"] == "not comparable" and close(row["change"], 0.5) and row["why"], "one run a side has no error: no verdict", row)
    single = [save(n, "cyclade.counts/2", counts=[{"where": None, "event": "cycles", "value": v, "unit": ""}], times=[], repeats=[])
              for n, v in (("s.json", 7), ("z.json", 0))]
    rows = totals(loaded("diff", *single))
    t.ok(rows["cycles"]["base"] == 7 and rows["elapsed"]["base"] == 1.5, "a result without -r is one run", rows)
    t.ok(rows["cycles"]["new"] == 0 and rows["cycles"]["verdict"] != "gone", "a count of 0 is a count", rows["cycles"])


def test_tree():
    nodes = {"backend_bound": [.4, .41, .42], "backend_bound.memory_bound": [.3, .31, .32], "retiring": [.6, .59, .58]}
    more = {"backend_bound": [.6, .61, .62], "backend_bound.memory_bound": [.5, .51, .52], "retiring": [.4, .39, .38]}
    trees = [{"where": None, "slots": 1000.0}]
    a, b = (counts(n, [1, 1, 1], v, key="node", schema="cyclade.tree/2", trees=trees) for n, v in (("ta.json", nodes), ("tb.json", more)))
    rows = {r["node"]: r for r in loaded("diff", a, b)["tree"]}
    m = rows["backend_bound.memory_bound"]
    t.ok(m["verdict"] == "moved" and close(m["base"], 310) and close(m["new"], 510) and close(m["base_error"], T95[4] * 10 / math.sqrt(3)),
         "nodes of trees: slots of the runs", rows)
    t.equal(run("diff", a, b, "--fail-if", "backend_bound.memory_bound > +5%").returncode, 1, "a limit of a node")
    t.ok("what moved      backend_bound" in run("diff", a, b).stdout, "what moved")


def test_refused():
    a = counts("a.json", [1, 1.1, 1.2], {"cycles": [1000, 1010, 1020]})
    for text, says in (('{"schema":"cyclade.compare/1"}', "no result that can be read here"), ("{", "no JSON"), ('{"schema":"cyclade.tree/1"}', "cyclade.tree/2"),
                       ('{"schema":"cyclade.counts/2"}{"schema":"cyclade.counts/2"}', "several results")):
        with open("bad.json", "w", encoding="ascii") as f:
            f.write(text)
        for words in (("diff", a, "bad.json"), ("sum", "bad.json")):
            p = run(*words)
            t.ok(p.returncode == 2 and says in p.stderr and not p.stdout, "%s: refused: %s" % (words[0], text[:40]), p.stderr)
    for value in ("x", [], {}, 1e308, -1, True):  # what nobody writes
        counts("odd.json", [1, 1], {"cycles": [value, 5]})
        p = run("diff", a, "odd.json")
        t.ok(p.returncode == 0, "a value %r is survived" % (value,), p.stderr)
    save("odd.json", "cyclade.counts/2", times=times([1]), repeats=[{"run": 7, "event": "x", "value": 1}, {"run": -1}, 3, {"run": 1, "event": None}])
    t.equal(run("diff", "odd.json", "odd.json").returncode, 0, "runs that there are not")


def test_hostile():
    name = 'a\x1b[31m|b"c, <d>\udcff\n'.encode("utf-8", "replace").decode()
    a = counts("h.json", [1, 2, 3], {name: [1, 2, 3]}, where=name)
    b = counts("i.json", [1, 2, 3], {name: [7, 8, 9]}, where=name)
    walk(t, "diff", a, b)
    walk(t, "sum", a, b)


def test_real():
    """What stat and run wrote."""
    if run("run", "-q", "-e", "cpu-clock:u", "-r", "2", "-j", "-o", "r.json", "--data", "r", "--", os.path.join(PROGS, "prog_recurse"), "10", "200").returncode:
        t.skip("results of stat and run", "no event can be opened here")
        return
    run("stat", "-r", "3", "-e", "task-clock,page-faults", "-j", "-o", "s.json", "--", "true")
    doc, s = loaded("diff", "s.json", "s.json"), json.load(open("s.json", encoding="utf-8"))
    mean = {c["event"]: c["value"] for c in s["counts"]}
    rows = totals(doc)
    t.ok(close(rows["page-faults"]["base"], mean["page-faults"]) and close(rows["task-clock"]["base"] * 1e9, mean["task-clock"]) and
         close(rows["elapsed"]["base"], s["seconds"]), "stat -r: the means are those of stat", rows)
    t.ok(loaded("diff", "r.json", "r.json")["sides"][1]["recordings"] == 2, "run -r: its runs")
    saved, recorded = ({(r["dso"], r["function"]): (r["sum"], r["recordings"]) for r in loaded("sum", x)["rows"]} for x in ("r.json", "r"))
    t.ok(saved == recorded and saved, "run -r: functions of each run are those of the recordings", (saved, recorded))
    run("run", "-q", "-e", "cpu-clock:u", "-j", "-o", "q.json", "--data", "q", "--", os.path.join(PROGS, "prog_recurse"), "10", "200")
    saved, recorded = loaded("sum", "q.json"), loaded("sum", "q")
    def told(d):
        return {(r["dso"], r["function"]): (r["sum"], r["samples"]) for r in d["rows"]}
    t.ok(told(saved) == told(recorded) and told(saved), "run: the functions are those of its recording", (told(saved), told(recorded)))


with tempfile.TemporaryDirectory(prefix="cyclade-saved-") as where:
    os.chdir(where)
    for test in (test_counts, test_tree, test_refused, test_hostile, test_real):
        test()
    os.chdir("/")
t.done()
