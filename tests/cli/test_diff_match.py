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
    verdict = {r["function"]: r["verdict"] for r in doc["rows"] if r["verdict"] != "same"}
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
    rows = [r for r in doc["rows"] if r["verdict"] != "same"]
    t.ok(len(rows) == 2 and all(r["match"] == "renamed" for r in rows) and len(doc["matches"]) == 2, "several sides", doc["rows"])


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
    t.ok([r["verdict"] == "same" for r in doc["rows"]].count(False) == 1 and doc["rows"][0]["match"] == "renamed", "a renamed function of a strange name", doc["rows"])
    walk(t, "diff", a, b, also=["losses", "sides", "matches"])


def test_files(t, d):
    """Programs and libraries whose file has another name in the second recording."""
    rng = random.Random(11)
    fs = functions(rng, 10)
    means = {"f%d" % i: 300 + 20 * i for i in range(10)}
    grown = dict(means, f3=900)
    base = Built(d + "/base/prog-1.0", text(fs), "-O2", "-g")
    a = base.record(d + "/a.data", means, rng)

    def compared(new, counts, *words, also=(), left=a):
        doc = loaded(left, new.record(d + "/b.data", counts, rng, also), *words)
        return doc, [m for m in doc["matches"] if m["match"] == "file renamed"], {r["function"]: r for r in doc["rows"] if r["verdict"] not in ("noise", "same")}

    mixed = fs[5:] + functions(rng, 13)[10:] + fs[:5]
    new = Built(d + "/new/prog-1.1", text(mixed, [f[0] for f in fs]), "-O2", "-g")
    doc, files, moved = compared(new, grown, "--with", "lines")
    t.ok(len(files) == 1 and files[0]["certain"] and files[0]["base_functions"] == ["prog-1.0"] and files[0]["new_functions"] == ["prog-1.1"] and
         files[0]["alike"] > 0.95, "a program of another name and build", doc["matches"])
    t.ok(list(moved) == ["f3"] and moved["f3"]["dso"] == "prog-1.1" and abs(moved["f3"]["change"] - 540 / 360) < 1e-6,
         "its functions are joined, the one that changed is the only one", moved)
    kinds = {r["verdict"] for r in doc["lines"]}
    t.ok(doc["lines"] and not kinds & {"new", "gone"} and {r["function"] for r in doc["lines"] if r["verdict"] == "moved"} == {"f3"},
         "its lines, too", [r for r in doc["lines"] if r["verdict"] not in ("noise", "same")][:5])
    text_ = run("diff", a, d + "/b.data").stdout
    t.ok("file renamed: prog-1.0 -> prog-1.1 " in text_ and " gone" not in text_, "the screen has the names", text_)
    walk(t, "diff", a, d + "/b.data", also=["losses", "sides", "matches"])

    other = Built(d + "/other/tool", text([("g3", b) if n == "f3" else (n, b) for n, b in mixed], [n.replace("f3", "g3") for n, _ in fs]), "-O2", "-g")
    doc, files, moved = compared(other, {n.replace("f3", "g3"): v for n, v in grown.items()})
    t.ok(len(files) == 1 and list(moved) == ["g3"] and moved["g3"]["match"] == "renamed", "and in it a function of another name", (files, moved))

    same = Built(d + "/same/moved", text(fs), "-O2", "-g")
    subprocess.run(["cp", base.path, same.path], check=True)
    doc, files, moved = compared(same, means)
    t.ok(files and files[0]["why"] == "the same build-id" and not moved, "a copy of another name", (files, moved))

    for p in (base, new):
        subprocess.run(["strip", "-o", p.path + "-s", p.path], check=True)
    bare = [Built.__new__(Built) for _ in "ab"]
    for x, p in zip(bare, (base, new)):
        x.__dict__.update(p.__dict__, path=p.path + "-s")
    doc, files, moved = compared(bare[1], grown, left=bare[0].record(d + "/s.data", means, rng))
    t.ok(len(files) == 1 and files[0]["certain"] and len(moved) == 1 and [abs(r["change"] - 1.5) < 1e-6 for r in moved.values()] == [True],
         "stripped: by the code alone", (files, list(moved)))

    strange = Built(d + "/strange/thing", text([("f%d" % i, body(rng)) for i in range(10)]), "-O2")
    doc, files, moved = compared(strange, means)
    # a short function or two may come out alike
    t.ok(not any(f["certain"] for f in files) and {r["verdict"] for r in doc["rows"]} == {"gone", "new"}, "another program is not taken for it, though names are the same", files)

    twin = Built(d + "/twin/prog-1.2", text(mixed, [f[0] for f in fs]), "-O2")
    doc, files, moved = compared(new, means, also=[(twin, means)])
    t.ok(len(files) == 1 and not files[0]["certain"] and "another file" in files[0]["why"] and "gone" in {r["verdict"] for r in doc["rows"]},
         "of two that are as like nothing is joined", files)
    lines = run("diff", a, d + "/b.data").stdout
    t.ok("file renamed?: prog-1.0 -> " in lines, "with a question mark on the screen", lines)

    lib = functions(rng, 24)[14:]
    libs = [Built(d + "/lib%d/libwork.so.%d" % (i, i), text(lib[::1 - 2 * i]), "-O2") for i in (0, 1)]
    both = base.record(d + "/c.data", means, rng, [(libs[0], dict.fromkeys(["f%d" % i for i in range(14, 24)], 200))])
    doc, files, moved = compared(base, means, left=both, also=[(libs[1], dict(dict.fromkeys(["f%d" % i for i in range(14, 24)], 200), f20=600))])
    t.ok([m["new_functions"] for m in files] == [["libwork.so.1"]] and list(moved) == ["f20"], "a library of another version's name", (files, list(moved)))


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
    rows = {r["function"]: r for r in doc["rows"] if r["verdict"] != "same"}
    row = rows.get(at(new, "f2"), {})
    t.ok(list(rows) == [at(new, "f2")] and row["base_functions"] == [at(base, "f2")] and row["change"] == 2 and doc["same"] == 7,
         "functions of stripped builds are matched by their code", (doc["same"], doc["rows"], at(base, "f2"), at(new, "f2")))
    t.ok(sum("no symbols: 100 %" in n for n in doc["notes"]) == 2, "that there are no names is said", doc["notes"])
    t.ok({r["verdict"] for r in loaded(a, a)["rows"]} == {"same"}, "and by their names in the same build")
    with open(new.path, "r+b") as f:  # no code: other bytes of the same length
        f.seek(new.offset)
        f.write(b"\x90" * new.size)
    doc = loaded(a, b)
    t.ok({r["verdict"] for r in doc["rows"]} == {"gone", "new"}, "without likeness nothing is joined", doc["rows"])


t = Tap()
for test in (test_first, test_doubts, test_gate, test_names, test_files, test_stripped):
    with tempfile.TemporaryDirectory() as where:
        test(t, where)
t.done()
