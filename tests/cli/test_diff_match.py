#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade diff of programs compiled twice by gcc -O2, whose functions were renamed, inlined, split and moved in between: the function
with the planted change is named first, with what became of its name, and nothing is joined that is in doubt."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from built import PIECES, Built, body, functions, text  # noqa: E402
from tables import walk  # noqa: E402
from tap import Tap, run  # noqa: E402

KINDS = ("renamed", "inlined", "split", "replaced", "moved")
INLINE = "static inline __attribute__((always_inline))"


def filled(pieces, rng):
    return " ".join(p % dict(n=rng.randrange(40, 4000), k=rng.randrange(3, 99), s=rng.randrange(3, 29)) for p in pieces)


def changed(kind, fs, rng):
    """The functions of the new build, and what main calls; f3 is the one that `kind` is about."""
    at = dict(fs)
    halves = at["f3"].split(" /**/ ")
    new = {"renamed": [("other", at["f3"])], "inlined": [("f3", at["f3"], INLINE)], "moved": [("f3", at["f3"])],
           "split": [("f3_rest", halves[1]), ("f3", halves[0] + " x = f3_rest(x);")],  # the first one calls the second
           "replaced": [("part1", halves[0]), ("part2", halves[1])]}[kind]
    rest = [f for f in fs if f[0] != "f3"] + functions(rng, 13)[10:]
    rng.shuffle(rest)
    called = {"renamed": ["other"], "replaced": ["part1", "part2"]}.get(kind, ["f3"])
    return new + rest, called + [f[0] for f in rest]


def programs(where, kind, rng, *flags):
    fs = functions(rng, 10)
    pieces = rng.sample(PIECES, 8)
    fs[3] = "f3", filled(pieces[:4], rng) + " /**/ " + filled(pieces[4:], rng)
    base = Built(where + "/base/prog", text(fs), "-O2", *flags)
    new, called = changed(kind, fs, rng)
    return base, Built(where + "/new/prog", text(new, called), "-O2", *flags)


def loaded(*words):
    p = run("diff", "-j", *words)
    return json.loads(p.stdout) if p.returncode in (0, 1) else p.stderr


def drawn(rng, means, program):
    return {n: max(1, round(rng.gauss(v, v ** 0.5))) for n, v in means.items() if n in program.at}


def test_first(t, d):
    """20 pairs: f3 is 1.8 times as much, under whatever name."""
    first, told, wrong = 0, 0, []
    for k in range(20):
        rng, kind = random.Random(k), KINDS[k % 5]
        # without debug information nothing says for certain what was inlined into another function
        flags = ("-g",) if k < 10 or kind == "inlined" else ()
        base, new = programs("%s/%d" % (d, k), kind, rng, *flags)
        means = {n: 100 + 10 * i for i, n in enumerate("f0 f1 f2 f4 f5 f6 f7 f8 f9".split())}
        a = base.record(d + "/a.data", drawn(rng, dict(means, f3=500, main=20), base), rng)
        more = {"renamed": dict(other=900), "inlined": dict(main=920), "split": dict(f3=450, f3_rest=450),
                "replaced": dict(part1=500, part2=400), "moved": dict(f3=900)}[kind]
        b = new.record(d + "/b.data", drawn(rng, dict(dict(means, main=20), **more), new), rng)
        doc = loaded(a, b)
        row, old = doc["rows"][0], ["f3", "main"] if kind == "inlined" else ["f3"]
        good = row["verdict"] == "moved" and 0.5 < row["change"] < 1.2
        first += good
        told += kind == "moved" and row["match"] is None and row["function"] == "f3" or \
            row["match"] == {"replaced": "split"}.get(kind, kind) and sorted(row["base_functions"]) == old and sorted(row["new_functions"]) == sorted(more)
        joined = [m for m in doc["matches"] if m["certain"] and "f3" not in m["base_functions"]]
        if not good or joined:
            wrong.append((kind, flags, row, doc["matches"]))
    t.ok(first == 20 and not wrong, "the function of the change is first in 20 of 20", wrong)
    t.ok(told == 20, "and the row has all of its names", told)


def test_doubts(t, d):
    """What is too short, like another one, or unrelated is not joined."""
    rng = random.Random(7)
    fs = functions(rng, 6)
    short, same = ("tiny", "x = x * 5 + sink;"), body(rng)
    base = Built(d + "/base/prog", text(fs + [short, ("one", same), ("two", same), ("old", body(rng))]), "-O2")
    new = Built(d + "/new/prog", text(fs + [("small", short[1]), ("uno", same), ("due", same), ("fresh", body(rng, 2))]), "-O2")
    a = base.record(d + "/a.data", {n: 200 for n in base.at if n in "f0 f1 tiny one two old".split()}, rng)
    b = new.record(d + "/b.data", {n: 200 for n in new.at if n in "f0 f1 small uno due fresh".split()}, rng)
    doc = loaded(a, b)
    verdict = {r["function"]: r["verdict"] for r in doc["rows"]}
    t.ok(verdict == dict(tiny="gone", one="gone", two="gone", old="gone", small="new", uno="new", due="new", fresh="new"),
         "nothing in doubt is joined", verdict)
    why = {tuple(m["base_functions"]): m["why"] for m in doc["matches"]}
    t.ok(doc["matches"] and not any(m["certain"] for m in doc["matches"]) and "another function" in why.get(("one",), ""),
         "the doubt is told", doc["matches"])
    lines = run("diff", a, b).stdout
    t.ok("renamed?: one -> " in lines, "with a question mark on the screen", lines)
    os.rename(new.path, new.path + ".gone")
    doc = loaded(a, b)
    t.ok(not doc["matches"], "nothing is matched without the file", doc["matches"])


def test_gate(t, d):
    rng = random.Random(3)
    base, new = programs(d, "renamed", rng, "-g")
    means = {n: 400 for n in base.at if n[0] == "f" and n[1:].isdigit() and n != "f3"}
    a = base.record(d + "/a.data", dict(means, f3=1000), rng)
    b = new.record(d + "/b.data", dict(means, other=1400), rng)
    for name in ("f3", "other"):
        p = run("diff", "--fail-if", "function:%s > +10%%" % name, a, b)
        t.ok(p.returncode == 1, "--fail-if by the name %s" % name, p.stdout + p.stderr)
    p = run("diff", a, b).stdout
    t.ok("f3 -> other" in p and "what moved      f3 -> other: +40.00 M" in p and "annotate -i %s other" % b in p, "the screen", p)
    doc = loaded(a, b, b)
    t.ok(len(doc["rows"]) == 2 and all(r["match"] == "renamed" for r in doc["rows"]) and len(doc["matches"]) == 2, "several sides", doc["rows"])


def test_names(t, d):
    """Names from outside in all formats."""
    rng = random.Random(5)
    base, new = programs(d, "renamed", rng)
    hostile = 'a\x1b[31m|b"c, <d>\udcff\n'
    subprocess.run(["objcopy", "--redefine-sym", b"other=" + hostile.encode("utf-8", "surrogateescape"), new.path], check=True)
    new.at[hostile] = new.at.pop("other")
    a = base.record(d + "/a.data", {"f3": 100, "f1": 100}, rng)
    b = new.record(d + "/b.data", {hostile: 300, "f1": 100}, rng)
    doc = loaded(a, b)
    t.ok(len(doc["rows"]) == 1 and doc["rows"][0]["match"] == "renamed", "a renamed function of a strange name", doc["rows"])
    walk(t, "diff", a, b, also=["losses", "sides", "matches"])


def test_stripped(t, d):
    """Functions without symbols are named by their addresses, which are not the same function in another build."""
    rng = random.Random(9)
    fs = functions(rng, 8)
    base = Built(d + "/base/prog", text(fs), "-O2")
    new = Built(d + "/new/prog", text(fs[::-1]), "-O2")
    for p in (base, new):
        subprocess.run(["strip", p.path], check=True)
    means = {"f%d" % i: 100 + 50 * i for i in range(8)}
    a = base.record(d + "/a.data", means, rng)
    b = new.record(d + "/b.data", dict(means, f2=means["f2"] * 3), rng)
    doc, at = loaded(a, b), lambda p, n: "prog+0x%x" % p.at[n][0]
    rows = {r["function"]: r for r in doc["rows"]}
    row = rows.get(at(new, "f2"), {})
    t.ok(list(rows) == [at(new, "f2")] and row["base_functions"] == [at(base, "f2")] and row["change"] == 2 and doc["same"] == 7,
         "functions of stripped builds are matched by their code", (doc["same"], doc["rows"], at(base, "f2"), at(new, "f2")))
    t.ok(sum("no symbols: 100 %" in n for n in doc["notes"]) == 2, "that there are no names is said", doc["notes"])
    t.ok(loaded(a, a)["rows"] == [], "and by their names in the same build")
    with open(new.path, "r+b") as f:  # no code: other bytes of the same length
        f.seek(new.offset)
        f.write(b"\x90" * new.size)
    doc = loaded(a, b)
    t.ok({r["verdict"] for r in doc["rows"]} == {"gone", "new"}, "without likeness nothing is joined", doc["rows"])


t = Tap()
for test in (test_first, test_doubts, test_gate, test_names, test_stripped):
    with tempfile.TemporaryDirectory() as where:
        test(t, where)
t.done()
