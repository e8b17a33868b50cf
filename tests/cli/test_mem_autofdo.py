#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""export --autofdo of synthetic IBS ops, as dispatched and without branch records: counts of functions and lines as planted, by
llvm-symbolizer and by create_llvm_prof of AutoFDO; and the error that it states."""
import collections
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import mem_made  # noqa: E402
from tap import Tap, run  # noqa: E402

CODE = """
#include <stdio.h>
#include <stdlib.h>
static inline int clamp(int v) { if (v < 0) return -v; return v > 1000 ? 1000 : v; }
__attribute__((noinline)) int mix(int v)
{
	int r = clamp(v * 7 - 3);
	if (r & 1)
		r += clamp(v - 100);
	return r;
}
__attribute__((noinline)) int work(int *v, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += v[i] * 3;
	for (int i = 0; i < n; i++)
		s += i % 16 ? mix(i) : s >> 1;
	return s;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, *v = calloc(n, sizeof(*v));
	printf("%d\\n", work(v, n));
}
"""
NAMES = ("mix", "work", "main")
TOOLS = "clang", "llvm-symbolizer", "objdump", "readelf"
t = Tap()


def part(d):
    """A number at the start of LLVM's discriminator, and what is behind it: 1: 0; else 7 bits, or with 0x40 14."""
    if d & 1:
        return 0, d >> 1
    return (d >> 1 & 0x1f | d >> 2 & 0xfe0, d >> 14) if d & 0x40 else (d >> 1 & 0x1f, d >> 7)


def place(frame):
    base, rest = part(frame["Discriminator"])
    offset = frame["Line"] - frame["StartLine"] & 0xffff
    return "%d.%d" % (offset, base) if base else str(offset), part(rest)[0] or 1


def symbolized(prog, samples):
    """{functions from outside in, with the places of calls: [total, {place: count}]}"""
    r = subprocess.run(["llvm-symbolizer", "--obj=" + prog, "--output-style=JSON", "--inlines"] + [hex(a) for a in samples],
                       capture_output=True, text=True, check=True)
    out = collections.defaultdict(lambda: [0, {}])
    for line in r.stdout.splitlines():
        x = json.loads(line)
        for x in x if isinstance(x, list) else [x]:
            frames, n, path = x["Symbol"][::-1], samples[int(x["Address"], 16)], ()
            copies = place(frames[-1])[1]
            for f in frames:
                path += (f["FunctionName"],)
                out[path][0] += n * copies
                here = place(f)[0]
                if f is frames[-1]:
                    out[path][1][here] = max(out[path][1].get(here, 0), n * copies)
                path += (here,)
    return {k: v for k, v in out.items() if v[0]}


def read_text(text, names=True):
    out, path = {}, ()
    for line in re.split(r"\n(?=\S+:\d+:\d+\n| +[\d.]+: |\Z)", text)[:-1]:  # a name may hold anything: see nameless()
        depth = len(line) - len(line.lstrip(" "))
        m = re.match(r"(\S+):(\d+):\d+$", line) if not depth else re.match(r"(?s) +([\d.]+): (?:(.*):)?(\d+)$", line)
        if not depth:
            path = (m[1],)
            out[path] = [int(m[2]), {}]
        elif m[2] is None:
            out[path[:2 * depth - 1]][1].update({m[1]: int(m[3])} if int(m[3]) else {})
        else:
            path = path[:2 * depth - 1] + (m[1], m[2] if names else "?")
            out.setdefault(path, [0, {}])[0] += int(m[3])
    return {k: v for k, v in out.items() if v[0]}


def nameless(p):
    """AutoFDO 0.19 writes names of what is inlined out of freed memory."""
    return {tuple("?" if i and not i % 2 else x for i, x in enumerate(k)): v for k, v in p.items()}


def code_of(prog):
    """Addresses of the functions' instructions; where their segment starts, in memory and in the file."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", prog], capture_output=True, text=True, check=True).stdout
    insns = [int(a, 16) for f in NAMES for a in re.findall(r"(?m)^ +(\w+):\t(?!nop|cs nop|data16|xchg +%ax)", re.search(r"<%s>:\n((?:.+\n)*)" % f, text)[1])]
    m = re.search(r"LOAD +(0x\w+) (0x\w+) \S+ \S+ \S+ R E", subprocess.run(["readelf", "-lW", prog], capture_output=True, text=True, check=True).stdout)
    return insns, int(m[2], 16), int(m[1], 16)


def error_of(samples):
    """What half of the samples have at their address, or more; the error of that."""
    n = sorted(samples.values(), reverse=True)
    while 2 * sum(n[:-1]) >= sum(samples.values()):
        n.pop()
    return n[-1], round(196 / math.sqrt(n[-1]))


def check(prog, path, seed):
    rnd = random.Random(seed)
    insns, start, offset = code_of(prog)
    samples = {a: rnd.randrange(1, 60) * (1 + a % 2 * rnd.randrange(9)) for a in insns if rnd.random() < 0.9}
    at = lambda a, *regs: [*regs[:1], mem_made.TEXT + a - start, *regs[1:]]
    ops = [at(a, 3 << 17, 0, 0, 0, 0, 0, 0) for a, n in samples.items() for _ in range(n)]
    rnd.shuffle(ops)
    fetches = [at(a, 1 << 50 | 3 << 48, 0, 0) for a in insns for _ in range(70)]  # which say nothing of how often code ran
    mem_made.write_ibs(path, ops, fetches, mapped=(prog, offset))
    p = run("export", "--autofdo", "--text", "-i", path, "--no-cache")
    mine, want = read_text(p.stdout), symbolized(prog, samples)
    t.equal(mine, want, "%d ops: functions, lines and inlined calls are llvm-symbolizer's" % len(ops))
    t.equal(sum(v[0] for k, v in mine.items() if len(k) == 1) >= len(ops) > 3000 and {k[0] for k in mine} == set(NAMES), True, "all of them")
    said = re.search(r"with ([\d,]+) samples or more, each by chance alone \+-(\d+) % or less", p.stderr)
    t.equal(said and (int(said[1].replace(",", "")), int(said[2])), error_of(samples), "the error is stated")
    binary = path + ".prof"
    run("export", "--autofdo", "-o", binary, "-i", path, "--no-cache")
    if shutil.which("llvm-profdata"):
        r = subprocess.run(["llvm-profdata", "merge", "--sample", "--text", "-o", "-", binary], capture_output=True, text=True, check=False)
        t.equal(read_text(r.stdout), want, "LLVM reads the same from the binary form")
    else:
        t.skip("LLVM reads the binary form", "no llvm-profdata")
    if not shutil.which("create_llvm_prof"):
        t.skip("as AutoFDO", "no create_llvm_prof (Debian: autofdo)")
        return
    mem_made.write_ibs(path, ops, [], mapped=(prog, offset))  # it takes what samples there are
    r = subprocess.run(["create_llvm_prof", "--use_lbr=false", "--binary=" + prog, "--profile=" + path, "--out=" + binary, "--format=text"],
                       capture_output=True, text=True, errors="replace", timeout=600, check=False)
    if "support was not enabled" in r.stderr + r.stdout:
        t.skip("as AutoFDO", "this create_llvm_prof is built without LLVM")
        return
    with open(binary, encoding="latin-1") as f:
        t.equal(nameless(read_text(f.read())), nameless(want), "AutoFDO makes the same of the recording")


if not all(map(shutil.which, TOOLS)):
    t.skip("all", "one of %s is missing" % ", ".join(TOOLS))
    t.done()
with tempfile.TemporaryDirectory(prefix="cyclade-fdo-") as tmp:
    source, made = os.path.join(tmp, "prog.c"), os.path.join(tmp, "prog")
    with open(source, "w", encoding="ascii") as out:
        out.write(CODE)
    subprocess.run(["clang", "-O2", "-gdwarf-4", "-gline-tables-only", "-fdebug-info-for-profiling", "-o", made, source], check=True)
    for i in range(2):
        check(made, os.path.join(tmp, "ibs.data"), i)
t.done()
