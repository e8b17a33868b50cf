#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Call chains that end before the outermost function: made recordings whose chains the kernel or --max-stack cut off."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
PID, BASE = 4242, 0x555555554000
KERNEL = 2 ** 64 - 128
SOURCE = "volatile int sink;\n" + "".join(
    "__attribute__((noinline)) int %s(void) { for (int i = 0; i < 9; i++) sink += i; return sink; }\n" % n
    for n in ("main", "even", "odd"))


def run(*words):
    return subprocess.run([CYCLADE, *words], capture_output=True, text=True, check=False)


def build():
    with open("prog.c", "w", encoding="utf-8") as f:
        f.write(SOURCE)
    p = subprocess.run(["cc", "-O1", "-o", "prog", "prog.c"], capture_output=True, text=True, check=False)
    if p.returncode:
        return None
    nm = subprocess.run(["nm", "prog"], capture_output=True, text=True, check=True).stdout
    return {w[2]: BASE + int(w[0], 16) + 6 for w in (x.split() for x in nm.splitlines()) if len(w) == 3}


def recording(path, at, depths, bound=0, kernel=0):
    """One sample of each depth of even and odd; one with `main` outermost if it is not below the bound. `kernel`: frames of it before."""
    w = gen.Writer("<")
    bits = sum(gen.BIT[n] for n in "IP TID TIME PERIOD CALLCHAIN".split())
    attr = dict(type=1, sample=bits, sample_id_all=1, mmap=1, mmap2=1, comm=1, task=1, ms=bound)
    who = w.pack("II", PID, PID) + w.u64(10 ** 9)
    data = w.record(gen.COMM, w.pack("II", PID, PID) + gen.text8("prog") + who, 0x2000)
    data += w.record(gen.MMAP2, w.pack("IIQQQIIQQII", PID, PID, BASE + 0x1000, 0x1000, 0x1000, 0, 0, 0, 0, 5, 2) +
                     gen.text8(os.path.abspath("prog")) + who, 2)
    for depth in depths:
        user = [at[("even", "odd")[i % 2]] for i in range(depth - kernel)]
        if depth < (bound or 127):
            user[-1] = at["main"]
        chain = ([KERNEL] + [0xffffffff81000010] * kernel if kernel else []) + [gen.USER, *user]
        data += w.record(gen.SAMPLE, w.u64(chain[1]) + who + w.u64(1000, len(chain), *chain), 1 if kernel else 2)
    f = gen.File(w, [("cpu-clock", attr, [])])
    f.data = data
    with open(path, "wb") as out:
        out.write(f.build())


def facts(path, *more):
    """Lines about cut chains, and the cell of main's total error."""
    out = run("report", "--no-pager", "--no-cache", "-q", "--children", *more, path).stdout
    main = re.search(r"^ *[\d.]+ % (\S+) .* main$", out, re.M)
    return [x.split(None, 2)[2] for x in out.splitlines() if x.startswith(" chains cut")], main and main[1], out


def check(at):
    half = [40] * 10 + [127] * 30
    recording("cut", at, half)
    said, bar, out = facts("cut")
    t.ok(len(said) == 1 and said[0].startswith("75.0 % by the kernel at 127 frames"), "the share of cut chains", out)
    t.ok(bar and bar.endswith("+"), "an outer function's total is at least so large", out)
    t.ok(re.search(r"^ *97\.5 % \S+\+ .* even$|^ *100\.0 % \S+ .* even$", out, re.M), "where it can grow", out)
    said, bar, out = facts("cut", "--max-stack", "20")
    t.ok(len(said) == 1 and said[0].startswith("100.0 % by --max-stack"), "the command's own bound cuts all", out)
    found = json.loads(run("report", "-q", "--children", "--format", "json", "cut").stdout)
    event, main = found["events"][0], [r for r in found["rows"] if r["function"] == "main"][0]
    t.equal((event["cut_samples"], event["cut_period"], main["total"]), (30, 30000, 0.25), "json has the numbers")
    recording("whole", at, [40] * 10 + [126] * 30)
    said, bar, out = facts("whole")
    t.ok(not said and bar and not bar.endswith("+"), "chains below the bound are whole", out)
    # half in the kernel: the bound is of both together; and the event's own bound
    recording("both", at, [64] * 10 + [127] * 10, kernel=20)
    said, bar, out = facts("both")
    t.ok(len(said) == 1 and said[0].startswith("50.0 % by the kernel at 127"), "frames of the kernel count", out)
    recording("own", at, [12] * 10 + [16] * 10, bound=16)
    said, bar, out = facts("own")
    t.ok(len(said) == 1 and said[0].startswith("50.0 % by the kernel at 16 frames"), "an event's own bound (max-stack=16)", out)
    recording("deep", at, [40] * 10 + [300] * 30, bound=512)
    said, bar, out = facts("deep", "--max-stack", "512")
    t.ok(not said, "a larger bound that no chain met", out)
    said, bar, out = facts("deep", "--max-stack", "127")
    t.ok(len(said) == 1 and said[0].startswith("75.0 % by --max-stack"), "one that the report cuts", out)
    said, bar, out = facts("deep")
    t.ok(not said and bar and not bar.endswith("+"), "by default it uses all frames", out)
    longest = 65000 // 8  # about as many as a record holds
    recording("longest", at, [longest], bound=longest + 1)
    said, bar, out = facts("longest")
    t.ok(not said and bar and not bar.endswith("+"), "of the longest record, too", out[:2000])
    words = run("report", "-q", "--format", "folded", "longest").stdout.split(" ")[0].split(";")
    t.ok(words.count("even") + words.count("odd") == longest - 1 and "main" in words, "folded has each of them", len(words))


found = build()
if found:
    check(found)
else:
    t.skip("chains", "no C compiler")
t.done()
