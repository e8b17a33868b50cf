#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Types and fields beside what the compiler itself knows of each access, which no debug information has passed on: see mem_exprs.cc. Accesses are
those that the emulator follows. bench/mem_types.py does the same with large programs."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]
import mem_truth  # noqa: E402
from tap import NO_PLUGINS, ROOT, Tap, emulator  # noqa: E402

BUILT = os.environ.get("TRUTH_BUILT", os.path.join(ROOT, "build", "tests", "truth"))
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


def accesses(program):
    """Of the program's own code, which is position independent: (address in the file, store), how often"""
    subprocess.run(["qemu-x86_64", "-plugin", BUILT + "/accesses.so,out=trace,period=7,seed=3", program], check=True, timeout=200, capture_output=True)
    own, out = [], collections.Counter()
    with open("trace", encoding="utf-8") as f:
        for row in f:
            w = row.split()
            if w[0] == "map" and w[4] == os.path.realpath(program):
                own.append([int(x, 16) for x in w[1:4]])
            elif w[0] == "access":
                ip = int(w[2], 16)
                for start, end, offset in own:
                    if start <= ip < end:
                        out[ip - start + offset, int(w[5] == "store")] += 1
    return out


def check(what, program):
    seen = accesses(program)
    places = sorted(seen)
    text = subprocess.run([os.path.join(BUILT, "dump_types"), program], input="".join("%x %d\n" % p for p in places), check=True,
                          capture_output=True, text=True, timeout=200).stdout
    answers = {p: line.split("\t") for p, line in zip(places, text.splitlines())}
    truth = mem_truth.truth_of(program)
    layouts = mem_truth.layouts(program, {a[5] for a in answers.values() if a[1] == "known"})
    verdicts, wrong = collections.Counter(), collections.Counter()
    for (ip, store), n in seen.items():
        a = answers[ip, store]
        if a[1] == "known" and a[4] == "0":
            v = mem_truth.judged(a, truth.get(ip, []), store, layouts)
            verdicts[v] += n
            if v in ("wrong", "kind"):
                wrong[hex(ip), a[5], a[6], str(truth[ip])] += n
    checked = sum(verdicts[v] for v in mem_truth.CHECKED)
    right = sum(verdicts[v] for v in mem_truth.RIGHT)
    print("# %s: %s; wrong: %s" % (what, verdicts.most_common(), wrong.most_common(4)))
    t.ok(checked > 5000 and verdicts["right"] > checked / 5, what + ": the compiler knows most", verdicts)
    t.ok(right >= 0.99 * checked, what + ": and says the same of 99 %", (verdicts, wrong.most_common(8)))
    # the truth can tell: of other types at the same places hardly anything is right
    others = sorted(a for a in answers.values() if a[1] == "known" and a[4] == "0")
    mixed = collections.Counter()
    for i, ((ip, store), n) in enumerate(sorted(seen.items())):
        mixed[mem_truth.judged(others[i * 7919 % len(others)], truth.get(ip, []), store, layouts)] += n
    t.ok(sum(mixed[v] for v in mem_truth.RIGHT) < 0.6 * sum(mixed[v] for v in mem_truth.CHECKED), what + ": not of others", mixed)


options = mem_truth.built(tmp.name)
for what, compiler, source in (("C", "gcc", "types.c"), ("C++", "g++", "types_cxx.cc")):
    if not shutil.which("gdb"):
        t.skip(what, "no gdb")
        continue
    if not emulator("x86_64"):
        t.skip(what, NO_PLUGINS)
        continue
    if options is None or not os.path.exists(os.path.join(BUILT, "accesses.so")):
        t.skip(what, "no compiler, or no headers of its plugins")
        continue
    program = os.path.join(tmp.name, "types_" + what.replace("+", "x"))
    subprocess.run([compiler, "-O2", "-g", *options, "-o", program, os.path.join(HERE, "progs", source)], check=True, timeout=200)
    check(what, program)
t.done()
