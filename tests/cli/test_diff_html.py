#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""diff --html: the differential flame graph has the verdicts of the diff, and colours nothing else. An argument is the number of pairs
without a change (20) that are looked at; a second one that of planted changes (4)."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from diffs_made import MEANS, Program, draw  # noqa: E402
from page import Page  # noqa: E402
from tap import Tap, run  # noqa: E402

ITEM = "function dso verdict reported base base_error new new_error difference difference_error change change_error why".split()
TOTAL = "base base_error new new_error difference difference_error verdict coloured coloured_error".split()


class Flames(Page):
    """The graphs of a page, with names for numbers."""
    def __init__(self, path):
        super().__init__(path)
        self.flames = [self.read(f) for f in self.data["flames"]]

    def text(self, i):
        return None if i is None else self.data["strings"][i]

    def read(self, f):
        items = [dict(zip(ITEM, r), function=self.text(r[0]), dso=self.text(r[1]), why=self.text(r[12])) for r in f["items"]]
        frames = [(self.text(a), self.text(b), items[i] if i >= 0 else None) for a, b, i in f["frames"]]
        return {**{k: f[k] for k in ("level", "compared", "changed", "folded", "base_runs", "new_runs")}, "event": self.text(f["event"]),
                "unit": self.text(f["unit"]), "items": items, "total": dict(zip(TOTAL, f["total"][0])),
                "nodes": [(p, frames[n] if n >= 0 else None, base, new, error) for p, n, base, new, error in f["nodes"]]}


def coloured(flame):
    return [n for n in flame["nodes"] if n[1] and n[1][2] and n[1][2]["reported"]]


def flames(d, a, b, *more):
    page = "%s/x.html" % d
    r = run("diff", "--html", page, ",".join(a), ",".join(b), *more)
    return Flames(page).flames if (r.returncode, r.stdout) == (0, "") and r.stderr.startswith("cyclade: %s: " % page) and r.stderr.count("\n") == 1 else r


def near(a, b, of):
    return abs(a - b) <= 1e-9 * abs(of) + 1e-9


def sums_differ(flame):
    """Functions whose nodes do not add up to their row."""
    out = []
    for item in flame["items"]:
        own = [n for n in flame["nodes"] if n[1] and n[1][2] is item]
        base, new = sum(n[2] for n in own), sum(n[3] for n in own)
        if not near(base, item["base"], item["base"]) or not near(new, item["new"], item["new"]):
            out.append((item["function"], base, item["base"], new, item["new"]))
    return out


def test_nothing(t, d, pairs):
    rng, p, found, runs = random.Random(44), Program(d), [], {}
    for k in range(pairs):
        n = 5 if k % 2 else 1
        a, b = ([p.record("%s/%s%d.data" % (d, x, i), draw(rng, MEANS)) for i in range(n)] for x in "ab")
        f = flames(d, a, b)[0]
        runs[f["base_runs"], f["new_runs"]] = runs.get((f["base_runs"], f["new_runs"]), 0) + 1
        found += [(k, n[1][0]) for n in coloured(f)]
    print("# %d pairs without a change: %d coloured frames" % (pairs, len(found)))
    t.ok(len(found) <= max(1, pairs // 200), "%d pairs without a change: at most one coloured frame" % pairs, found)
    t.ok(len(runs) == 2, "with one recording a side and with five", runs)


def test_planted(t, d, times):
    """A function of 20,000 samples a recording, five of them a side, becomes 5 % slower."""
    rng, p, hit, wrong, beyond = random.Random(45), Program(d), 0, [], []
    means = {k: v * 25 for k, v in MEANS.items()}
    for _ in range(times):
        a = [p.record("%s/a%d.data" % (d, i), draw(rng, means)) for i in range(5)]
        b = [p.record("%s/b%d.data" % (d, i), draw(rng, means, hot=1.05)) for i in range(5)]
        f = flames(d, a, b)[0]
        names = {n[1][0] for n in coloured(f)}
        total = f["total"]
        hit += "hot" in names
        wrong += names - {"hot"}
        if names and abs(total["coloured"] - total["difference"]) > total["coloured_error"] + total["difference_error"]:
            beyond.append(total)
        drawn = sum(n[3] - n[2] for n in coloured(f))
        if not near(drawn, total["coloured"], total["base"]):
            beyond.append((drawn, total["coloured"]))
    print("# planted changes of 5 %%: %d of %d are coloured; others: %s; sums beyond their error: %d" % (hit, times, wrong, len(beyond)))
    t.ok(hit >= 0.95 * times, "a planted change of 5 %% is coloured in %d of %d" % (hit, times))
    t.ok(len(wrong) <= times // 100, "and no other function", wrong)
    t.ok(len(beyond) <= times // 20, "the coloured differences add up to the diff's, within their errors", beyond)


def test_figures(t, d):
    rng, p = random.Random(46), Program(d)
    a = [p.record("%s/a%d.data" % (d, i), draw(rng, MEANS, f15=0)) for i in range(5)]
    b = [p.record("%s/b%d.data" % (d, i), draw(rng, MEANS, hot=1.5, warm=0, f15=90)) for i in range(5)]
    f = flames(d, a, b)[0]
    doc = json.loads(run("diff", "-j", ",".join(a), ",".join(b)).stdout)
    rows = {r["function"]: r for r in doc["rows"]}
    differ = [(i, rows.get(i["function"])) for i in f["items"]
              if any(i[k] != rows[i["function"]][k] for k in ("verdict", "base", "new", "difference", "change", "why"))]
    t.equal((len(f["items"]), differ), (len(rows), []), "the graph's rows are those of diff")
    t.equal({i["function"] for i in f["items"] if i["reported"]}, {r["function"] for r in doc["rows"] if r["verdict"] in ("moved", "new", "gone")},
            "those that changed by more than chance are marked")
    t.ok({"hot", "warm", "f15"} <= {n[1][0] for n in coloured(f)}, "moved, gone and new functions are coloured", coloured(f))
    t.equal(sums_differ(f), [], "nodes add up to the rows of their functions")
    t.ok(all(n[1][0] in ("main", "outer", "other") or n[2] or n[3] for n in f["nodes"]), "a node that only calls has nothing itself")
    paths = {tuple(x) for x in ([f["nodes"][f["nodes"][n[0]][0]][1][0], f["nodes"][n[0]][1][0], n[1][0]] for n in f["nodes"] if n[1][0] == "hot")}
    t.equal(paths, {("main", "outer", "hot"), ("main", "other", "hot")}, "a function has a node for each of its callers")
    t.ok(all(n[4] > 0 for n in f["nodes"] if n[2] or n[3]), "each difference has an error")
    both = flames(d, a, b, ",".join(a))
    t.equal([len(coloured(x)) > 0 for x in both], [True, False], "each new side has a graph; the base itself has no colours")
    f = flames(d, a, b, "--normalize", "samples")[0]
    t.ok(near(f["total"]["base"], 1, 1) and not sums_differ(f), "divided as the diff divides", f["total"])
    r = run("diff", "--html", "%s/x.html" % d, "--fail-if", "cycles > +0%", a[0], b[0])
    t.equal(r.returncode, run("diff", "--fail-if", "cycles > +0%", a[0], b[0]).returncode, "--fail-if has its exit code")
    r = run("diff", "--html", "%s/no/x.html" % d, a[0], b[0])
    t.equal((r.returncode, "no/x.html" in r.stderr), (2, True), "a page that cannot be written is an error")


def test_other_build(t, d):
    """Functions have moved in the file: names join, not addresses."""
    rng = random.Random(47)
    old, new = Program(d + "/old"), Program(d + "/new", more=["before%d" % i for i in range(3)])
    a, b = old.record(d + "/a.data", draw(rng, MEANS)), new.record(d + "/b.data", draw(rng, MEANS))
    f = flames(d, [a], [b])[0]
    t.equal(({n[1][0] for n in f["nodes"]} >= {"hot", "f15"}, len(f["nodes"]), coloured(f)), (True, 3 + 2 * len(MEANS), []), "one tree of two builds")
    t.equal(sums_differ(f), [], "and it adds up")


def main():
    t = Tap()
    pairs, times = [int(x) for x in sys.argv[1:3]] + [20, 4][len(sys.argv) - 1:]
    with tempfile.TemporaryDirectory() as d:
        test_figures(t, d)
        test_other_build(t, d)
        test_nothing(t, d, pairs)
        test_planted(t, d, times)
    sys.exit(t.done())


main()
