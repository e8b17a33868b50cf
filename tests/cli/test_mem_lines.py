#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much of its cache lines an object uses, in `mem`: planted accesses of IBS against a second count of bytes and Chao's estimate, and against all
accesses that the samples were drawn from."""
import collections
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import mem_made  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-lines-")
os.chdir(tmp.name)
rnd = random.Random(64)
LINES = 32
PLANTED = {"full_bytes": 64 * LINES, "first_word": 64 * LINES, "halves": 64 * LINES, "unequal": 64 * LINES, "crossing": 64 * LINES, "rarely": 64 * LINES,
           "scattered": 64 * LINES, "widthless": 64 * LINES, "fetched_ahead": 64 * LINES, "large_one": 4 << 20}
DRAWN = ["drawn_%d" % i for i in range(120)]
with open("objects.c", "w", encoding="ascii") as f:
    for variable, bytes_ in [*PLANTED.items(), *((d, 64 * LINES) for d in DRAWN)]:
        f.write("char %s[%d] __attribute__((aligned(4096)));\n" % (variable, bytes_))
    f.write("int main(void) { return 0; }\n")
subprocess.run(["cc", "-g", "-no-pie", "objects.c", "-o", "objects"], check=True)
at = {}
for line in subprocess.run(["nm", "objects"], capture_output=True, text=True, check=True).stdout.splitlines():
    word = line.split()
    if len(word) == 3:
        at[word[2]] = int(word[0], 16)


def op(variable, offset, width, kind=1, more=0):
    """Registers of an op: of a load, by default, of so many bytes."""
    code = width.bit_length()
    return [3 << 17, mem_made.TEXT, 0, 0, kind | 1 << 17 | code << 22 | more, at[variable] + offset, 4096, 0]


samples = collections.defaultdict(list)  # of objects: (offset, width)
ops = []


def plant(variable, accesses):
    for offset, width in accesses:
        samples[variable].append((offset, width))
        ops.append(op(variable, offset, width, rnd.choice([1, 2, 3])))


def words(n, offsets, lines=LINES, width=8):
    return [(64 * rnd.randrange(lines) + rnd.choice(offsets), width) for _ in range(n)]


plant("full_bytes", [(o, 8) for o in range(0, 64 * LINES, 8) for _ in range(3)])
plant("first_word", words(2000, [0]))
plant("halves", words(3000, [0, 8, 16, 24]))
plant("unequal", words(1500, [0] * 16 + [8] * 8 + [20] * 4 + [32] * 2 + [48], width=4))
plant("crossing", [(64 * rnd.randrange(LINES - 1) + 60, 8) for _ in range(1000)])
plant("rarely", words(20, [0, 16]))
plant("scattered", [(64 * i + 8 * rnd.randrange(8), 8) for i in range(LINES)] * 1)
plant("large_one", words(60000, [0, 8, 16, 24], lines=1024 * 64 // 8))
ops += [op("widthless", 64 * rnd.randrange(LINES), 0) for _ in range(200)]
plant("fetched_ahead", [(64 * i % (64 * LINES), 8) for i in range(300)])
ops += [op("fetched_ahead", 8 * i % (64 * LINES), 8, 1, 1 << 21) for i in range(500)]  # software prefetches use nothing
truth = {}
for variable in DRAWN:
    kinds = [(8 * k, 8) for k in rnd.sample(range(8), rnd.randrange(1, 9))]
    likely = [1 / rnd.randrange(1, 5) for _ in kinds]
    drawn = [(64 * rnd.randrange(LINES) + o, w) for o, w in rnd.choices(kinds, likely, k=rnd.choice([60, 150, 400, 1000, 3000]))]
    plant(variable, drawn)
    truth[variable] = len({b for o, w in kinds for b in range(o, o + w)}) / 64  # whatever lines were touched: all have the same
rnd.shuffle(ops)


def chao(n, once, twice, seen):
    """Unseen species and the upper end of their interval."""
    f0 = (n - 1) / n * once * (once - 1) / (2 * (twice + 1))
    if f0 <= 0:
        return 0, 1
    r = once / twice if twice else 0
    var = twice * (r ** 4 / 4 + r ** 3 + r ** 2 / 2) if twice else once * (once - 1) / 2 + once * (2 * once - 1) ** 2 / 4 - once ** 4 / 4 / (seen + f0)
    return f0, max(1, f0 * math.exp(1.959964 * math.sqrt(math.log(1 + max(var, 0) / f0 ** 2))))


def second(variable, size):
    byte = collections.Counter(at[variable] + b for o, w in samples[variable] for b in range(o, o + w))
    n = len(samples[variable])
    lines = len({b // size for b in byte})
    width = sum(w for _, w in samples[variable]) / n
    once, twice = (sum(1 for x in byte.values() if x == k) / width for k in (1, 2))
    f0, most = chao(n, once, twice, len(byte) / width)
    used = min(1, (len(byte) + f0 * width) / lines / size)
    high = min(1, (len(byte) + most * width) / lines / size)
    return lines, n, len(byte) / lines / size, used, max(high - used, used - len(byte) / lines / size)


def rows_of(path, *words_):
    p = run("mem", "-j", path, *words_)
    return {r["object"]: r for r in json.loads(p.stdout)["objects"]} if p.returncode == 0 else {"error": p.stderr}


def near(a, b):
    return a is not None and math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


mem_made.write_ibs("planted.data", ops, [], mapped=(os.path.abspath("objects"), 0x1000, 0x1000))
for size in (64, 16, 32, 128, 256):
    rows = rows_of("planted.data", *(() if size == 64 else ("--line-size", str(size))))
    t.ok(set(samples) <= set(rows), "%d: objects" % size, list(rows.items())[:3])
    wrong = []
    for variable in samples:
        r, (n_lines, n, seen, used, half) = rows[variable], second(variable, size)
        if variable == "large_one":
            continue
        if (r["lines"], r["line_samples"], r["line_size"]) != (n_lines, n, size) or not near(r["line_seen"], seen):
            wrong.append((variable, r, n_lines, n, seen))
        elif n < 30 or half > 0.25:
            if r["line_used"] is not None or r["line_used_why"] != ("too few samples" if n < 30 else "too few samples a line"):
                wrong.append((variable, r, half))
        elif not near(r["line_used"], used) or not near(r["line_used_error"], half):
            wrong.append((variable, r, used, half))
    t.ok(not wrong, "lines of %d bytes: what a second count of bytes has" % size, "\n".join(map(str, wrong[:4])))
rows = rows_of("planted.data")
t.equal([(rows["full_bytes"][k], rows["first_word"][k]) for k in ("line_used", "line_seen")], [(1, 0.125)] * 2, "all bytes of a line, and one word of it")
t.equal(rows["full_bytes"]["line_used_error"], 0, "of all bytes nothing can be unseen")
t.equal([rows[v]["line_used_why"] for v in ("rarely", "scattered", "widthless")],
        ["too few samples", "too few samples a line", "the samples do not tell how wide accesses are (IBS does)"], "why there is no figure")
t.equal((rows["rarely"]["line_seen"] > 0, rows["widthless"]["line_seen"], rows["widthless"]["lines"]), (True, None, None), "what was seen stands; without widths not even that")
t.equal(rows["fetched_ahead"]["line_seen"], 0.125, "prefetches use no bytes")

# ---- the truth, which samples see a part of
r = rows["large_one"]
t.ok(r["line_used"] is not None and abs(r["line_used"] - 0.5) <= r["line_used_error"] <= 0.1 and 256 <= r["lines"] <= 1024, "a large object: a part of its lines is enough", r)
known = [(v, rows[v]) for v in DRAWN if rows[v]["line_used"] is not None]
out = [(v, truth[v], r["line_used"], r["line_used_error"]) for v, r in known if abs(r["line_used"] - truth[v]) > r["line_used_error"] + 1e-9]
t.ok(len(known) > 60 and len(out) <= 0.05 * len(known), "the bar holds the truth in 95 %% of %d objects" % len(known), out)
t.ok(all(r["line_seen"] <= truth[v] + 1e-9 for v, r in known), "and what was seen is the least", "")

# ---- as people and SQL see it; other sources; options
p = run("mem", "planted.data", "--limit", "3")
t.ok("lines used" in p.stdout, "people see a column", p.stdout[:3000])
p = run("sql", "-j", "planted.data", "SELECT line_used, lines, line_size FROM mem_objects WHERE object = 'first_word'")
if "no SQL" not in p.stderr:
    t.equal(json.loads(p.stdout)["rows"], [{"line_used": rows["first_word"]["line_used"], "lines": LINES, "line_size": 64}], "and through SQL")
mem_made.write("pebs.data", [mem_made.Sample(mem_made.data_src(op=2, lvl=10), 40, addr=at["halves"] + 8 * i) for i in range(100)], program=os.path.abspath("objects"), size=0x1000)
r = rows_of("pebs.data")["halves"]
t.equal((r["line_used"], r["line_used_why"][:30]), (None, "the samples do not tell how wi"), "samples without a width have no figure")
t.ok("lines used" not in run("mem", "pebs.data").stdout, "and people no empty column", "")
for bad in ("0", "8", "48", "512"):
    p = run("mem", "planted.data", "--line-size", bad)
    t.ok(p.returncode == 2 and "power of two from 16 to 256" in p.stderr, "--line-size %s is refused" % bad, p.stderr)
t.done()
