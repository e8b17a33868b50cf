#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade diff and sum: recordings whose counts are drawn from known distributions, with planted changes and without."""
import json
import math
import os
import random
import re
import resource
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import account_made  # noqa: E402
import gen  # noqa: E402
import student  # noqa: E402
from diffs_made import MEANS, NAMES, PERIOD, draw  # noqa: E402
from tables import walk  # noqa: E402
from tap import Tap, run  # noqa: E402


class Program:
    """A program of these functions; record() writes a recording of so many samples in each. Other functions stand
    between them, so that addresses are others."""
    def __init__(self, where, names=NAMES, events=("cycles",)):
        os.makedirs(where, exist_ok=True)
        self.m = account_made.Made(where, [(e, 0x3c + i, PERIOD) for i, e in enumerate(events)], names=names)

    def record(self, path, counts, cpu=None):
        """counts: samples by function, or by (function, event)."""
        m, data = self.m, list(self.m.data)
        for key, n in counts.items():
            name, e = key if isinstance(key, tuple) else (key, m.tree[0][0])
            for time in (10, 1000 * account_made.MS) if n > 1 else (10,):  # half of them at the end
                s = gen.Sample(1, m.ids[m.at[e], 0])
                s.v.update(TID=(20, 20), TIME=time, CPU=0, PERIOD=PERIOD,
                           IP=account_made.BASE + 0x1000 + m.names.index(name) * account_made.SIZE)
                a = m.events[m.at[e]][1]
                body = b"".join(s.field(m.w, a, f) for f in gen.FIXED + gen.VARYING if a["sample"] & gen.BIT[f])
                data.append(m.w.record(gen.SAMPLE, body, 2) * (n // 2 if time == 10 and n > 1 else n - n // 2 if n > 1 else n))
        m.f.data = b"".join(data)
        if cpu:
            m.f.features[8] = m.w.text(cpu)
        with open(path, "wb") as f:
            f.write(m.f.build())
        return path


def diff(*words):
    p = run("diff", *words, "-j")
    return json.loads(p.stdout) if p.returncode in (0, 1) else p


def moved(doc):
    return [r for t in ("totals", "tree", "rows") for r in doc[t] if r["verdict"] in ("moved", "new", "gone")]


def test_nothing(t, d):
    """200 pairs without a change."""
    rng, p, wrong, failed = random.Random(1), Program(d), 0, 0
    for _ in range(200):
        a, b = (p.record("%s/%s.data" % (d, x), draw(rng, MEANS)) for x in "ab")
        r = run("diff", a, b, "-j", "--fail-if", "cycles > +0%", "--fail-if", "function:hot > +0%")
        failed += r.returncode == 1
        wrong += bool(moved(json.loads(r.stdout)))
    t.ok(wrong <= 2, "200 pairs without a change: at most 2 report one", wrong)
    t.ok(failed <= 2, "and at most 2 fail a limit", failed)
    wrong = 0
    for _ in range(40):  # repeats that differ by more than sampling does
        runs = []
        for i in range(6):
            k = rng.gauss(1, 0.03)
            runs.append(p.record("%s/r%d.data" % (d, i), draw(rng, {n: v * k for n, v in MEANS.items()})))
        wrong += bool(moved(diff(",".join(runs[:3]), ",".join(runs[3:]))))
    t.ok(wrong <= 1, "40 series of 3 against 3 with 3 % of noise: at most 1", wrong)


def test_planted(t, d):
    rng, first, moved_code = random.Random(2), 0, 0
    base = Program(d + "/p")
    for k in range(20):
        name = NAMES[k % 3]
        other = NAMES + ["new%d" % i for i in range(7)]
        rng.shuffle(other)
        new = Program(d + "/p%d/p" % k, other) if k else base
        b = new.record(d + "/b.data", draw(rng, MEANS, **{name: 1.8}))
        # the file of both is called prog; names decide
        doc = diff(base.record(d + "/a.data", draw(rng, MEANS)), b)
        first += doc["rows"][0]["function"] == name and doc["rows"][0]["verdict"] == "moved"
        moved_code += k > 0
    t.ok(first == 20 and moved_code == 19, "a planted change is first, although addresses moved", first)


def test_events(t, d):
    """Of several events each stands beside its rows, in the order of the recording."""
    p = Program(d, events=("cycles", "branches"))
    a = p.record(d + "/a.data", {("hot", "cycles"): 400, ("warm", "cycles"): 300, ("hot", "branches"): 900, ("cool", "branches"): 500})
    b = p.record(d + "/b.data", {("hot", "cycles"): 100, ("warm", "cycles"): 300, ("hot", "branches"): 100, ("cool", "branches"): 20})
    doc = diff(a, b)
    t.equal([(r["event"], r["function"], r["verdict"]) for r in doc["rows"]],
            [("cycles", "hot", "moved"), ("branches", "hot", "moved"), ("branches", "cool", "moved"), ("cycles", "warm", "same")],
            "several events: those of the first come first, what is the same last")
    people = run("diff", a, b).stdout
    t.ok(re.search(r"^ event +dso +function", people, re.M) and re.search(r"^ branches +\S+ +hot", people, re.M), "people see which", people)
    doc = json.loads(run("sum", a, b, "-j").stdout)
    t.equal([(r["event"], r["function"]) for r in doc["rows"]], [("cycles", "warm"), ("cycles", "hot"), ("branches", "hot"), ("branches", "cool")],
            "sum: event by event")
    one = run("sum", *(p.record("%s/%d.data" % (d, i), {("hot", "cycles"): 9}) for i in range(2))).stdout
    t.ok("event" not in one, "one event is not named in each row", one)


def test_small(t, d):
    rng, p, found = random.Random(3), Program(d), 0
    means = {"hot": 12000, "warm": 6000, "cool": 2000, "cold": 100}
    for _ in range(20):
        sides = []
        for k, side in ((1, "a"), (1.03, "b")):
            sides.append([p.record("%s/%s%d.data" % (d, side, i), draw(rng, {n: v * rng.gauss(1, 0.005) for n, v in means.items()},
                                                                      hot=k)) for i in range(10)])
        doc = diff(*map(",".join, sides))
        hot = [r for r in doc["rows"] if r["function"] == "hot"][0]
        found += hot["verdict"] == "moved" and abs(hot["change"] - 0.03) < 2 * hot["change_error"]
    t.ok(found >= 18, "+3 % with 10 repeats is found in 18 of 20", found)


def test_figures(t, d):
    """Errors from their formulas."""
    p = Program(d)
    a = p.record(d + "/a.data", {"hot": 400, "warm": 600, "cool": 7})
    b = p.record(d + "/b.data", {"hot": 500, "warm": 600, "cold": 40})
    doc = diff(a, b)
    hot = [r for r in doc["rows"] if r["function"] == "hot"][0]
    half = 1.25 * 1.959964 * math.sqrt(1 / 400 + 1 / 500)
    t.ok(hot["base"] == 400 * PERIOD and abs(hot["change"] - 0.25) < 1e-9 and abs(hot["change_error"] - half) < 1e-4 * half,
         "a change and its error from counts of samples", hot)
    # P(X >= 500) of Binomial(900, 1/2), both ends
    tail = sum(math.comb(900, k) for k in range(500, 901)) / 2 ** 900 * 2
    t.ok(abs(hot["chance"] - tail) < 1e-6 * tail, "its chance is the binomial distribution's", (hot["chance"], tail))
    verdict = {r["function"]: r["verdict"] for r in doc["rows"]}
    t.ok(verdict["cold"] == "new" and verdict["cool"] in ("noise", "gone") and verdict["warm"] == "same" and doc["same"] == 1,
         "new functions, and those that are the same", verdict)
    t.ok([r["verdict"] for r in diff(b, a)["rows"] if r["function"] == "cold"] == ["gone"], "functions that are gone")
    runs = [p.record("%s/t%d.data" % (d, i), {"hot": n}) for i, n in enumerate((1000, 1100, 1200, 1300, 1500, 1700))]
    hot = diff(",".join(runs[:3]), ",".join(runs[3:]))["rows"][0]
    va, vb = 10000, 40000  # of 1000, 1100, 1200 and of 1300, 1500, 1700
    se, df = math.sqrt(va / 3 + vb / 3), (va / 3 + vb / 3) ** 2 / ((va / 3) ** 2 / 2 + (vb / 3) ** 2 / 2)
    t.ok(abs(hot["difference"] / PERIOD - 400) < 1e-6 and abs(df - 2.941) < 0.01, "a difference of means")
    # Student's t, 400 / se = 3.098 with 2.94 degrees of freedom: two-sided 0.0547 (integrated here)
    c = math.gamma((df + 1) / 2) / math.sqrt(df * math.pi) / math.gamma(df / 2)
    x, step, inside = 0.0, 400 / se / 20000, 0.0
    for i in range(20000):
        x = (i + 0.5) * step
        inside += 2 * step * c * (1 + x * x / df) ** (-(df + 1) / 2)
    t.ok(abs(hot["chance"] - (1 - inside)) < 1e-5, "its chance is Student's", (hot["chance"], 1 - inside))


def family_of(row, limits):
    if row.get("name") in limits or "function:%s" % row.get("function") in limits:
        return "named by limits"
    return "totals" if "name" in row else "others"


SHARE = {"named by limits": 0.5, "totals": 0.25}


def read_again(rows, limits):
    """Verdicts by the chances of the rows alone: {family: ([rows], [changed], level)}."""
    out, left, names = {}, 0.005, ["named by limits", "totals", "others"]
    of = {n: [r for r in rows if r["chance"] is not None and family_of(r, limits) == n] for n in names}
    last = [n for n in names if of[n]][-1:]
    for n in names:
        level = left if [n] == last else SHARE.get(n, 1) * 0.005
        changed = student.holm([r["chance"] for r in of[n]], level)
        left -= 0 if all(changed) else level
        out[n] = of[n], changed, level
    return out


def check_rule(text, doc, code, limits):
    """Headline, marks, limits and exit code follow from the same verdicts; what is wrong."""
    wrong, rows = [], doc["totals"] + doc["rows"]
    changed, named = ("moved", "new", "gone"), {}
    for name, (of, found, level) in read_again(rows, limits).items():
        wrong += [(name, r) for r, f in zip(of, found) if f != (r["verdict"] in changed)]
        wrong += [r for r in of if (r["verdict"] == "noise") and (abs(r["change"]) > r["change_error"]) != ("together take" in (r["why"] or "") or "it takes" in (r["why"] or ""))]
        wrong += [f for f in doc["families"] if f["family"] == name and (f["figures"], f["changed"]) != (len(of), sum(found)) or
                  f["family"] == name and of and not math.isclose(f["level"], level, rel_tol=1e-9)]
    head = text.splitlines()[0]
    for r in rows:
        key = r.get("name") or "function:%s" % r["function"]
        named[key] = r
        if (r["verdict"] in changed and ("name" in r or key in limits)) != bool(re.search(r"(^ |, )%s [+-]" % re.escape(key), head)):
            wrong.append((head, key, r["verdict"]))
    if not any(r["verdict"] in changed for r in rows) != head.startswith(" no change beyond chance in "):
        wrong.append(head)
    for row in doc["limits"]:
        r = named[row["limit"].split(" >")[0]]
        if row["exceeded"] != (r["verdict"] in changed and r["change"] > limits[row["limit"].split(" >")[0]]):
            wrong.append((row, r))
        if r["why"] and not row["exceeded"] and row["result"] != r["why"]:
            wrong.append(row)
    return wrong + ([] if code == any(r["exceeded"] for r in doc["limits"]) else [code])


def test_rule(t, d):
    """Of several runs: Welch's t of the counts that were written, Holm in families, and one verdict for headline, mark and limit."""
    rng, p, wrong, off, seen = random.Random(7), Program(d), [], [], {}
    for k in range(24):
        factor, n = (1, 1.02, 1.08, 1.3)[k % 4], (3, 5)[k % 2]
        counts, sides = [], []
        for side, f in (("a", 1), ("b", factor)):
            for i in range(n):
                noise = rng.gauss(1, 0.04)
                counts.append(draw(rng, {x: v * noise * (f if x in ("hot", "warm") else 1) for x, v in MEANS.items()}))
            sides.append(",".join(p.record("%s/%s%d.data" % (d, side, i), c) for i, c in enumerate(counts[-n:])))
        limits = [{}, {"cycles": 0.02}, {"cycles": 0.05, "function:hot": 0}, {"function:f3": 0}][rng.randrange(4)]
        words = [w for x, v in limits.items() for w in ("--fail-if", "%s > +%d%%" % (x, 100 * v))]
        r = run("diff", "-j", *words, *sides)
        doc = json.loads(r.stdout)
        wrong += [(k, w) for w in check_rule(run("diff", *words, *sides).stdout, doc, r.returncode, limits)]
        for row in doc["rows"]:
            v = [c.get(row["function"], 0) for c in counts]
            m = [sum(x) / n for x in (v[:n], v[n:])]
            s = [max(sum((x - y) ** 2 for x in part) / (n - 1), y) for part, y in ((v[:n], m[0]), (v[n:], m[1]))]
            if row["chance"] is None or not all(m):
                continue
            stat, df = student.welch(*m, *s, n, n)
            near = 1e-5 if all(sum((x - y) ** 2 for x in part) / (n - 1) > 1.1 * y for part, y in ((v[:n], m[0]), (v[n:], m[1]))) else 0.15  # of samples
            want, half = student.chance(stat, df), student.quantile(math.floor(df)) * math.sqrt(s[0] / n)
            off += [] if math.isclose(want, row["chance"], rel_tol=near, abs_tol=1e-12) and (near > 0.1 or math.isclose(half * PERIOD, row["base_error"], rel_tol=near)) else [(row, want, half)]
        for row in doc["rows"] + doc["totals"]:
            seen[row["verdict"], row["why"] is not None] = 1
    t.ok(not off, "chances and errors are those of Welch's t", off[:3])
    t.ok(not wrong, "headline, marks, limits and exit code say the same", wrong[:3])
    t.ok({("noise", True), ("noise", False), ("moved", False)} <= set(seen), "of noise inside and outside its bar, and of changes", seen)


def test_one_against_several(t, d):
    """A single recording varies as the others do, in relation; the degrees of freedom are theirs. A side without samples has a sample's error."""
    p, one, three = Program(d), 1000, (1100, 1200, 1400)
    a = p.record(d + "/a.data", {"hot": one, "warm": 40})
    b = ",".join(p.record("%s/b%d.data" % (d, i), {"hot": n, "cold": 5}) for i, n in enumerate(three))
    mean = sum(three) / 3
    spread = sum((n - mean) ** 2 for n in three) / 2
    for words, sign in (((a, b), 1), ((b, a), -1)):
        row = [r for r in diff(*words)["rows"] if r["function"] == "hot"][0]
        own = spread * (one / mean) ** 2
        half = {"one": 4.302653 * math.sqrt(own), "three": 4.302653 * math.sqrt(spread / 3)}
        base, new = ("one", "three")[::sign]
        at = {"one": one, "three": mean}
        want = [student.chance((mean - one) / math.sqrt(own + spread / 3), 2), half[base] * PERIOD, half[new] * PERIOD, at[new] / at[base] - 1,
                at[new] / at[base] * math.hypot(half[base] / at[base], half[new] / at[new]), (at[new] - at[base]) * PERIOD]
        got = [row[k] for k in ("chance", "base_error", "new_error", "change", "change_error", "difference")]
        t.ok(all(math.isclose(x, y, rel_tol=1e-4) for x, y in zip(want, got)), "one against three, and three against one", (want, got))
    rows = {r["function"]: r for r in diff(a, p.record(d + "/c.data", {"hot": one, "cold": 40}))["rows"]}
    cold, warm = rows["cold"], rows["warm"]
    t.ok(math.isclose(cold["chance"], 2 * 0.5 ** cold["new_samples"], rel_tol=1e-6) and math.isclose(warm["chance"], cold["chance"], rel_tol=1e-6),
         "none of 40: a coin that falls on one side", (cold["chance"], warm["chance"]))
    t.ok(math.isclose(cold["base_error"], 1.959964 * cold["new"] / cold["new_samples"], rel_tol=1e-5) and 39 < cold["new_samples"] <= 40 and
         math.isclose(warm["new_error"], cold["base_error"], rel_tol=1e-9) and
         cold["change"] is None and warm["change"] == -1 and warm["change_error"] > 0 and
         (cold["verdict"], warm["verdict"], rows["hot"]["verdict"]) == ("new", "gone", "same"), "with the error of one sample", (cold, warm))


def test_units(t, d):
    p0 = p = Program(d, events=("cycles", "instructions", "only"))
    a = p.record(d + "/a.data", {("hot", "cycles"): 2000, ("hot", "instructions"): 2000, ("hot", "only"): 20})
    b = p.record(d + "/b.data", {("hot", "cycles"): 4000, ("hot", "instructions"): 4000})
    row = lambda doc: [r for r in doc["rows"] if r["event"] == "cycles"][0]  # noqa: E731
    t.ok(row(diff(a, b))["change"] == 1, "amounts of a run")
    t.ok("which are not compared: only" in " ".join(diff(a, b)["notes"]), "an event of one side is not compared")
    t.equal(row(diff(a, b, "--normalize", "instructions"))["verdict"], "same", "amounts per instruction")
    t.ok(not moved(diff(a, b, "--normalize", "samples")), "shares of samples")
    t.ok(abs(row(diff(a, b, "--normalize", "time"))["change"] - 1) < 1e-9, "amounts per second")
    p = run("diff", a, b, "--normalize", "nosuch")
    t.ok(p.returncode == 2 and "no event 'nosuch'" in p.stderr, "an event that there is not", p.stderr)
    c = p0.record(d + "/c.data", {("hot", "cycles"): 2000})
    t.ok([r["name"] for r in diff(a, c)["totals"]] == ["elapsed", "cycles"], "no IPC where a side has no instructions")
    ipc = [r for r in diff(a, b)["totals"] if r["name"] == "IPC"]
    t.ok(ipc and ipc[0]["base"] == 1 and ipc[0]["verdict"] == "same", "IPC", ipc)
    q = Program(d + "/q")
    x, y = q.record(d + "/x.data", {"hot": 10}), q.record(d + "/y.data", {"hot": 10}, cpu="another")
    t.ok("CPUs differ" in " ".join(diff(x, y)["notes"]), "another CPU is noted")


def test_limits(t, d):
    p = Program(d)
    a, b = p.record(d + "/a.data", MEANS), p.record(d + "/b.data", dict(MEANS, hot=1200))
    c = p.record(d + "/c.data", dict(MEANS, hot=830))
    for expr, x, y, code in (("function:hot > +10%", a, b, 1), ("function:hot > +60%", a, b, 0), ("function:hot>0%", a, c, 0),
                             ("function:hot < -10%", b, a, 1), ("function:hot > +10%", b, a, 0), ("cycles > +2%", a, b, 1),
                             ("cycles > +0%", a, c, 0), ("function:nosuch > +1%", a, b, 2), ("function:hot > +1%", a, a, 0), ("elapsed > 0%", a, b, 0)):
        r = run("diff", "--fail-if", expr, x, y)
        t.ok(r.returncode == code, "%s: exit %d" % (expr, code), r.stdout + r.stderr)
    # a change that one of many rows may have by chance, and one that was named may not
    x, y = p.record(d + "/x.data", dict(MEANS, hot=800)), p.record(d + "/y.data", dict({k: v + 1 for k, v in MEANS.items()}, hot=930))
    r = run("diff", "-j", "--fail-if", "function:hot > +5%", x, y)
    doc = json.loads(r.stdout)
    row = [w for w in doc["rows"] if w["function"] == "hot"][0]
    t.ok(row["verdict"] == "moved" and 0.0005 < row["chance"] < 0.005 and r.returncode == 1 and doc["limits"][0]["exceeded"],
         "a limit is about what it names, not about the number of rows", (row, doc["limits"]))
    row = [w for w in diff(x, y)["rows"] if w["function"] == "hot"][0]
    t.ok(row["verdict"] == "noise" and row["change"] > row["change_error"] and "figures together take" in row["why"],
         "without it the row is noise among many, and says why", row)
    t.ok(run("diff", *(w for n in NAMES[:9] for w in ("--fail-if", "function:%s > +5%%" % n)), x, y).returncode == 0, "nine limits are nine chances", row)
    for expr, at in (("cycles", 6), ("cycles > x%", 9), ("cycles > 5", 10), ("> 5%", 0), ("cycles > 5% x", 12), ("cycles >> 5%", 8), ("cycles > -5%", 9)):
        r = run("diff", "--fail-if", expr, a, b)
        lines = r.stderr.splitlines()
        t.ok(r.returncode == 2 and len(lines) == 3 and lines[2].index("^") - 2 == at and lines[1][2:] == expr,
             "%r is refused with a caret" % expr, r.stderr)
    for name, said in (("cycle", "no 'cycle'"), ("function:nosuch", "no 'function:nosuch'")):
        r = run("diff", "--fail-if", name + " > 5%", a, b)
        t.ok(r.returncode == 2 and said in r.stderr, "%s: neither side has it" % name, r.stderr)
    for words in ((), (a,), (a, a + ",,"), (a, d + "/nosuch")):
        t.ok(run("diff", *words).returncode == 2, "refused: %d operands" % len(words))


def test_self(t, d):
    p = Program(d)
    a = p.record(d + "/a.data", MEANS)
    doc = diff(a, a)
    t.ok(len(doc["rows"]) == doc["same"] == len(NAMES) and all(r["verdict"] == "same" for r in doc["totals"] + doc["rows"]),
         "a recording against itself: each row is the same", doc["rows"])
    t.equal(run("diff", a, a, "--format", "csv").stdout.count(",same,"), len(NAMES), "in csv, too")
    for words in ([], ["--format", "markdown"]):
        said = run("diff", a, a, *words).stdout
        t.ok("%d exactly the same" % len(NAMES) in said and "all figures are the same" in said, "people see how many", said)
    doc = diff(a, a, a)
    t.ok(len({r["side"] for r in doc["totals"]}) == 1 and len(doc["totals"]) == 4, "against two others", doc["totals"])


def test_formats(t, d):
    names = ["a\x1b[31m", "b|c", 'q"uote, comma', "<script>", "bad\udcff", "new\nline"]
    p = Program(d, names)
    a = p.record(d + "/a.data", {n: 100 + 10 * i for i, n in enumerate(names[1:])})
    b = p.record(d + "/b,c.data", {n: 300 + 10 * i for i, n in enumerate(names[:-1])})
    walk(t, "diff", a, b, "--fail-if", "cycles > +1%", code=(0, 1), also=["losses", "sides", "limits", "totals", "tree"])
    md = run("diff", a, b, "--format", "markdown").stdout
    t.ok(re.search(r"^\|.*\\\|", md, re.M) and "<script>" not in md, "markdown escapes names", md)
    text = run("diff", a, b).stdout
    t.ok("what moved" in text and "gone" in text and "next: " not in text, "a name that cannot be typed is in no command", text)
    p = Program(d + "/q")
    text = run("diff", p.record(a, MEANS), p.record(b, dict(MEANS, hot=1200))).stdout
    t.ok(text.startswith(" cycles +20.6 % (+-7.3)\n"), "what came out is said first", text)
    t.ok(re.search(r"^ prog +hot .* \+50\.0 % \+-.* moved$", text, re.M) and "hot: +40.00 M of +40.00 M cycles" in text and
         "next: cyclade annotate -i %s hot" % b in text and "19 exactly the same" in text, "the screen", text)


def seconds(*words):
    """Of CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_costs(t, d):
    """Time grows as the number of events does: four times as many took 15 times as long where each row looked for its event in all of them."""
    took = []
    for n in (500, 2000):
        events = ["raw_%d" % i for i in range(n)]
        a = Program("%s/%d" % (d, n), ["hot"], events).record("%s/%d.data" % (d, n), {("hot", e): 1 for e in events})
        took.append((n, min(seconds("diff", a, a) for _ in range(2)), min(seconds("report", a) for _ in range(2))))
    t.ok(took[1][1] < 9 * max(took[0][1], 0.02), "diff of many events takes time in proportion", took)


def add_up(*words):
    return json.loads(run("sum", "-j", *words).stdout)


def row_of(doc, function):
    return [r for r in doc["rows"] if r["function"] == function][0]


def close(value, wanted):
    return abs(value - wanted) <= 1e-6 * abs(wanted)


def test_sum(t, d):
    """Sums, means and shares with errors from their formulas; of one recording what report has."""
    p = Program(d, events=("cycles", "instructions"))
    counts = ((100, 300), (200, 700), (300, 500))
    files = [p.record("%s/r%d.data" % (d, i), {("hot", "cycles"): h, ("warm", "cycles"): w, ("hot", "instructions"): h})
             for i, (h, w) in enumerate(counts)]
    doc, n = add_up(*files), len(files)
    hot, t95 = row_of(doc, "hot"), 4.302653  # Student's, 2 degrees of freedom
    t.ok(hot["sum"] == 600 * PERIOD and hot["mean"] == 200 * PERIOD and hot["recordings"] == 3 and
         close(hot["mean_error"], t95 * 100 * PERIOD / math.sqrt(3)) and close(hot["sum_error"], 3 * hot["mean_error"]), "a sum and its error", hot)
    share = 600 / 2100
    off = sum((h - share * (h + w)) ** 2 for h, w in counts)
    t.ok(close(hot["share"], share) and close(hot["share_error"], t95 * math.sqrt(off * n / (n - 1)) / 2100), "a share and its error", hot)
    total = {r["name"]: r for r in doc["totals"]}
    t.ok(total["cycles"]["sum"] == 2100 * PERIOD and total["IPC"]["sum"] is None and total["IPC"]["sum_why"], "totals", total)
    alike = [p.record("%s/s%d.data" % (d, i), {("hot", "cycles"): 400, ("warm", "cycles"): 600}) for i in range(3)]
    hot = row_of(add_up(*alike), "hot")
    t.ok(close(hot["share_error"], 1.959964 * math.sqrt(0.4 * 0.6 / 3000)), "errors are never smaller than those of sampling", hot)
    one = json.loads(run("report", "-j", "-s", "event,dso,function", files[0]).stdout)
    theirs = {(r["event"], r["function"]): r for r in one["rows"]}
    t.ok(all(close(r["share"], theirs[r["event"], r["function"]]["share"]) and
             abs(r["share_error"] / theirs[r["event"], r["function"]]["share_error"] - 1) < 0.01 and
             r["sum"] == theirs[r["event"], r["function"]]["period"] for r in add_up(files[0])["rows"]), "one recording is what report shows", theirs)
    doc = add_up(files[0], alike[0], p.record(d + "/other.data", {"cold": 10}, cpu="another"))
    t.ok(row_of(doc, "hot")["recordings"] == 2 and row_of(doc, "cold")["recordings"] == 1 and
         any("only 1 of 3" in x for x in doc["notes"]) and any("CPUs differ" in x for x in doc["notes"]), "what only some have", doc["notes"])
    t.ok(run("sum").returncode == 2 and run("sum", d + "/nosuch").returncode == 2, "refused")
    names = ["a\x1b[31m", "b|c", 'q"uote, comma', "<script>", "bad\udcff", "new\nline"]
    q = Program(d + "/q", names)
    walk(t, "sum", q.record(d + "/a.data", {x: 100 for x in names}), q.record(d + "/b.data", {x: 90 for x in names[1:]}),
         also=["losses", "recordings", "totals", "tree"])


def test_sum_covers(t, d):
    """The error bars of sums hold the truth as often as they claim."""
    rng, p, inside, n = random.Random(5), Program(d), 0, 0
    means = {"hot": 800, "warm": 500, "cool": 200}
    for _ in range(60):
        runs = []
        for i in range(4):
            k = rng.gauss(1, 0.05)
            runs.append(p.record("%s/r%d.data" % (d, i), draw(rng, {x: v * k for x, v in means.items()})))
        for r in add_up(*runs)["rows"]:
            true = means[r["function"]]
            inside += abs(r["mean"] / PERIOD - true) <= r["mean_error"] / PERIOD
            inside += abs(r["share"] - true / 1500) <= r["share_error"]
            n += 2
    t.ok(inside >= 0.93 * n, "error bars hold the truth in 95 of 100", (inside, n))


t = Tap()
for test in (test_sum, test_sum_covers, test_costs, test_figures, test_rule, test_one_against_several, test_units, test_limits, test_self, test_formats, test_planted, test_events, test_small, test_nothing):
    with tempfile.TemporaryDirectory() as where:
        test(t, where)
t.done()
