#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade diff --with: source lines of programs compiled twice, whose lines have moved in the file; basic blocks and memory held against
what `blocks` and `mem` have of each recording."""
import json
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]
import mem_made  # noqa: E402
import test_blocks  # noqa: E402
from built import Built, functions, text  # noqa: E402
from tables import walk  # noqa: E402
from tap import Tap, run  # noqa: E402


def loaded(*words):
    p = run(*words, "-j")
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr


def test_lines(t, d):
    """The line that became slower is first, although all have moved and its function has another name."""
    rng = random.Random(1)
    fs = [(n, b.replace("; ", ";\n").replace("{ ", "{\n")) for n, b in functions(rng, 6)]
    more = [("extra", "x += 3;\nx ^= 5;\n")]
    base = Built(d + "/base/prog", text(fs), "-O2", "-g")
    fresh = [("other" if n == "f2" else n, b) for n, b in fs]
    new = Built(d + "/new/prog", text(more + fresh, [n for n, _ in fresh]), "-O2", "-g")
    code = [open(p.path.replace("prog", "prog.c")).read().splitlines() for p in (base, new)]
    start = [next(i + 1 for i, x in enumerate(lines) if " %s(uint64_t" % name in x) for lines, name in zip(code, ("f2", "other"))]
    at = [sorted(x for x in p.lines() if s <= x < s + 12) for p, s in zip((base, new), start)]
    shift = start[1] - start[0]
    t.ok(shift > 0 and [x + shift for x in at[0]] == at[1], "the lines of f2 have moved", (start, at))
    line = at[0][3]
    for k, (flags, planted) in enumerate((("", 300), ("", 100))):
        a = base.record(d + "/a.data", dict({x: 100 for x in at[0]}, f0=200), rng)
        b = new.record(d + "/b.data", dict({x: 100 for x in at[1]}, f0=200, **{}) | {line + shift: planted}, rng)
        doc = loaded("diff", "--with", "lines", a, b)
        rows = [r for r in doc["lines"] if r["verdict"] == "moved"]
        if planted == 100:
            t.ok(not rows, "lines without a change", rows)
            continue
        t.ok(len(rows) == 1 and rows[0]["function"] == "other" and rows[0]["srcline"].endswith("/new/prog.c:%d" % (line + shift)) and
             doc["lines"][0] == rows[0] and rows[0]["change"] == 2, "the line of the change is named, first and alone", doc["lines"][:3])
        plain = loaded("diff", a, b)
        t.ok(plain["lines"] == [] and plain["blocks"] == [] and plain["memory"] == [] and
             [r["function"] for r in plain["rows"]] == [r["function"] for r in doc["rows"]], "not asked for", plain["lines"])
        walk(t, "diff", "--with", "lines", a, b, also=["lines", "losses", "sides"])
    t.ok({r["verdict"] for r in loaded("diff", "--with", "lines,lines", a, a)["lines"]} == {"same"}, "lines of the same recording")
    p = run("diff", "--with", "lines,nosuch", a, b)
    t.ok(p.returncode == 2 and "nosuch: there are lines, blocks and memory" in p.stderr, "another table", p.stderr)


def test_of_blocks(t, d):
    program = d + "/prog"
    with open(program, "wb") as f:
        f.write(test_blocks.elf())
    path = [d + "/a.data", d + "/b.data"]
    for n, to in ((300, path[0]), (200, path[1])):
        test_blocks.recording(to, program, list(test_blocks.stacks_of(test_blocks.Program(n).branches)))
    doc = loaded("diff", "--with", "blocks", *path)
    whole = [{(r["function"], r["block"]): r["runs"] for r in loaded("blocks", p)["blocks"]} for p in path]
    rows = {(r["function"], int(r["block"].split()[0])): r for r in doc["blocks"]}
    t.ok(rows and all(rows[k][side] == runs for i, side in enumerate(("base", "new")) for k, runs in whole[i].items() if k in rows) and
         set(whole[0]) == set(whole[1]) and all(whole[0][k] == whole[1][k] for k in whole[0] if k not in rows), "executions of blocks", doc["blocks"][:3])
    t.ok({r["verdict"] for r in loaded("diff", "--with", "blocks", path[0], path[0])["blocks"]} == {"same"}, "blocks of the same recording")
    walk(t, "diff", "--with", "blocks", *path, also=["blocks", "losses", "sides"])
    a = mem_made.write(d + "/mem.data", mem_made.drawn(random.Random(1), 10)) or d + "/mem.data"
    p = run("diff", "--with", "blocks", a, a)
    t.ok(p.returncode == 2 and "branch" in p.stderr, "no branch stacks", p.stderr)


def test_memory(t, d):
    rng, path = random.Random(2), [d + "/a.data", d + "/b.data"]
    samples = mem_made.drawn(rng, 600)
    mem_made.write(path[0], samples)
    of = next(s.src for s in samples if s.src & 31 == 2)  # a load
    mem_made.write(path[1], samples + [mem_made.Sample(of, 5000)] * 200)
    doc = loaded("diff", "--with", "memory", *path)
    sources = [sum(r["samples"] for r in loaded("mem", p)["sources"]) for p in path]
    rows = [r for r in doc["memory"] if r["by"] == "sources" and r["figure"] == "samples"]
    t.ok(len([r for r in rows if r["verdict"] == "moved"]) == 1 and rows[0]["new"] - rows[0]["base"] == sources[1] - sources[0],
         "samples by source", (sources, doc["memory"][:3]))
    mean = [{" ".join(str(x) for x in (r["kind"], r["level"], r["where"]) if x) + {1: " hit", 0: " no hit"}.get(r["hit"], ""): r["mean"]
             for r in loaded("mem", p)["sources"]} for p in path]
    rows = [r for r in doc["memory"] if r["by"] == "sources" and r["figure"] == "latency"]
    t.ok(rows and all(r["base"] == mean[0][r["what"]] and r["new"] == mean[1][r["what"]] for r in rows if r["what"] in mean[0]) and
         any(r["what"] in mean[0] for r in rows), "latencies", (rows[:3], mean))
    t.ok({r["verdict"] for r in loaded("diff", "--with", "memory", path[0], path[0])["memory"]} == {"same"}, "memory of the same recording")
    walk(t, "diff", "--with", "memory", *path, also=["memory", "losses", "sides"])
    p = run("diff", "--with", "memory", *path).stdout
    t.ok(" memory\n by " in p, "the screen", p)


t = Tap()
for test in (test_lines, test_of_blocks, test_memory):
    with tempfile.TemporaryDirectory() as where:
        test(t, where)
t.done()
