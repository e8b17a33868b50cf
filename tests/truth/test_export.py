#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade export --autofdo, --bolt, --propeller and --symbol-order against what really ran: counts of lines, entries,
targets of calls and inlined calls; create_llvm_prof on the same recording; llvm-profdata and clang as readers."""
import bisect
import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import CALLS, Oracle, Recording, Truth, QEMU, BUILT, Symbols, lose_entries, program, spans_of  # noqa: E402
from tap import Tap, run  # noqa: E402

CODE = """
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Base { virtual ~Base() {} virtual int f(int x) = 0; };
struct Few : Base { int f(int x) override { return x * 3 + 1; } };
struct Many : Base { int f(int x) override { int s = 0; for (int i = 0; i < (x & 7); i++) s += i ^ x; return s; } };
static inline int clamp(int v) { if (v < 0) return -v; return v > 1000 ? 1000 : v; }
static inline int mix(int v) { int r = clamp(v * 7 - 3); if (r & 1) r += clamp(v - 100); return r; }
__attribute__((noinline)) int work(std::vector<Base *> &v, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		s += v[i % 10 == 0]->f(i);
		if (i % 16 == 0) s ^= mix(s); else s += mix(i);
	}
	return s;
}
int main(int argc, char **argv)
{
	std::vector<Base *> v{ new Few, new Many };
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	std::printf("%d\\n", work(v, n));
}
"""
FLAGS = ["-O2", "-gdwarf-4", "-gline-tables-only", "-fdebug-info-for-profiling"]
WORK = "_Z4workRSt6vectorIP4BaseSaIS1_EEi"
BLOCKS = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int rare(int x) { return x * 31 ^ x >> 3; }
__attribute__((noinline)) int pick(int x)
{
	int s = 0;
	if (__builtin_expect(x % 8 == 0, 1)) { s += rare(x); s ^= 5; s *= 7; } else { s += x * 3; s ^= x >> 2; s += 11; }
	for (int i = 0; i < (x & 3); i++) s += i * x;
	if (x == 123456789) { printf("never %d\\n", x); abort(); }
	return s;
}
__attribute__((noinline)) int unused(int x) { return x > 100 ? rare(x) : x; }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, s = argc > 5 ? unused(argc) : 0;
	for (int i = 0; i < n; i++) s += pick(i);
	printf("%d\\n", s);
}
"""
t = Tap()


class Function:
    def __init__(self, name, total, head=None):
        self.name, self.total, self.head = name, total, head
        self.lines, self.targets, self.inlined = {}, {}, {}


def read_text(text):
    """{name: Function} of LLVM's text form; names that AutoFDO 0.19 writes out of freed memory are passed over."""
    top, path = {}, []
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(" "))
        m = re.match(r"(\S+):(\d+):(\d+)$", line)
        if m:
            path = [top.setdefault(m[1], Function(m[1], int(m[2]), int(m[3])))]
            continue
        m = re.match(r"\s+(\d+(?:\.\d+)?): (\d+)((?: \S+:\d+)*)$", line)
        if m:
            del path[depth:]
            path[-1].lines[m[1]] = int(m[2])
            path[-1].targets[m[1]] = {k: int(n) for k, n in (x.rsplit(":", 1) for x in m[3].split())}
            continue
        m = re.match(r"\s+(\d+(?:\.\d+)?): (.*):(\d+)$", line)
        if not m and depth:  # a name with a line's end in it: what follows is not of the one before
            del path[depth:]
        if not m or depth > len(path):
            continue
        del path[depth:]
        f = Function(m[2], int(m[3]))
        path[-1].inlined[m[1], m[2]] = f
        path.append(f)
    return top


def export(path, *words):
    r = run("export", path, "--no-cache", *words)
    if r.returncode:
        print("# " + r.stderr)
    return r.stdout


def autofdo(path, dso):
    return read_text(export(path, "-q", "--autofdo", "--text", "--dso", dso))


def theirs(path, prog, out):
    subprocess.run(["create_llvm_prof", "--binary=" + prog, "--profile=" + path, "--out=" + out, "--format=text"],
                   capture_output=True, timeout=600, check=False)
    with open(out, encoding="latin-1") as f:
        return read_text(f.read())


def against_autofdo(name, mine, ref):
    """Totals within 1 %, and the counts of all lines that it has."""
    bad = [(k, f.total, mine[k].total if k in mine else None) for k, f in ref.items()
           if f.total > 1000 and (k not in mine or abs(mine[k].total / f.total - 1) > .01)]
    t.ok(not bad and len(ref) > 2, "%s: totals of %d functions within 1 %% of AutoFDO's" % (name, len(ref)), bad)
    compared, wrong = 0, []

    def walk(a, b, where):
        nonlocal compared
        for k, n in a.lines.items():
            if n > 100:
                compared += 1
                if abs(b.lines.get(k, 0) / n - 1) > .01:
                    wrong.append("%s %s: %d is %s" % (where, k, b.lines.get(k, 0), n))
        # names of what is inlined it may have from freed memory
        for at in {at for at, _ in a.inlined}:
            x, y = ([f for (k, _), f in c.inlined.items() if k == at] for c in (a, b))
            if len(x) == 1 and len(y) == 1:
                walk(x[0], y[0], "%s > %s" % (where, at))
            elif sum(f.total for f in x) > 1000 and abs(sum(f.total for f in y) / sum(f.total for f in x) - 1) > .01:
                wrong.append("%s: what is inlined at %s" % (where, at))
    for k, f in ref.items():
        if k in mine:
            walk(f, mine[k], k)
    return compared, wrong


def known_programs(o):
    for name in ("nested", "indirect", "recursion", "pack"):
        r = o.run(name, depth=32, period=60, fixed=1)
        prog = program(name)
        mine = autofdo(r.path, os.path.basename(prog))
        # entries are branches to a function's start, as they really were, but for the scale of spans to executions
        runs, hits = sum(s.n for s in r.truth.spans), sum(h for h, _ in spans_of(r).values())
        into, syms = collections.Counter(), Symbols(prog)
        for e in r.truth.edges:
            f = syms.at(e.target[1]) if e.target[0] == prog and e.kind != "fall" else None
            if f and f[0] == e.target[1] and (e.kind in CALLS or e.source[0] != prog or not f[0] <= e.source[1] < f[1]):
                into[min(syms.funcs[f])] += e.n
        checked = [(k, mine[k].head if k in mine else 0, n * hits / runs) for k, n in into.items() if n * hits / runs > 2000]
        bad = [c for c in checked if abs(c[1] / c[2] - 1) > .05]
        t.ok(not bad and (checked or name == "nested"), "%s: entries of %d functions are the branches to them"
             % (name, len(checked)), bad)
        if not shutil.which("create_llvm_prof"):
            t.skip(name + ": as AutoFDO", "no create_llvm_prof (Debian: autofdo)")
            continue
        against_autofdo(name, mine, theirs(r.path, prog, r.path + ".prof"))


def compiled(o):
    """A program of clang: discriminators, inlined calls, virtual calls; and back into clang."""
    if not shutil.which("clang++"):
        return t.skip("clang reads the profile", "no clang++")
    source, prog = os.path.join(o.dir.name, "prog.cc"), os.path.join(o.dir.name, "prog")
    with open(source, "w", encoding="ascii") as f:
        f.write(CODE)
    r = subprocess.run(["clang++", *FLAGS, source, "-o", prog], capture_output=True, text=True, check=False)
    if r.returncode:
        return t.skip("clang reads the profile", "does not compile here: " + r.stderr.split("\n")[0])
    base = os.path.join(o.dir.name, "p")
    subprocess.run([QEMU, "-plugin", "%s/oracle.so,data=%s.data,truth=%s.truth,depth=32,period=60,fixed=1"
                    % (BUILT, base, base), prog, "60000"], check=True, capture_output=True, timeout=600)
    rec = Recording(base + ".data", Truth(base + ".truth"))
    mine = autofdo(rec.path, "prog")
    work = mine[WORK]
    calls = work.targets["4.1"]
    t.ok(set(calls) == {"_ZN3Few1fEi", "_ZN4Many1fEi"} and abs(calls["_ZN3Few1fEi"] / calls["_ZN4Many1fEi"] / 9 - 1) < .03,
         "targets of a virtual call, 9 : 1", calls)
    rare, often = work.inlined["5.1", "_ZL3mixi"], work.inlined["5.2", "_ZL3mixi"]
    t.ok(abs(often.lines["0"] / rare.lines["0"] / 15 - 1) < .05 and ("0", "_ZL5clampi") in often.inlined,
         "inlined calls within inlined calls, told apart by discriminators, 15 : 1", (rare.lines, often.lines))
    t.ok(abs(work.lines["5"] / (mine["_ZN3Few1fEi"].head + mine["_ZN4Many1fEi"].head) - 1) < .03,
         "lines and entries are of one scale")
    if shutil.which("create_llvm_prof"):
        compared, wrong = against_autofdo("clang", mine, theirs(rec.path, prog, base + ".ref"))
        # how many can be compared hangs on the names that it writes out of freed memory
        t.ok(compared >= 10 and not wrong, "clang: lines as AutoFDO has them, inlined ones too",
             "\n".join(["%d lines" % compared, *wrong]))
    else:
        t.skip("clang: as AutoFDO", "no create_llvm_prof (Debian: autofdo)")
    binary, text = base + ".prof", base + ".txt"
    run("export", rec.path, "-q", "--autofdo", "-o", binary)
    with open(text, "w", encoding="utf-8") as f:
        f.write(export(rec.path, "-q", "--autofdo", "--text"))
    readers(binary, text)
    optimised(source, binary, text)
    bolt(rec, prog)
    by_samples(rec, o)
    cut_short(rec, base)


def cut_short(rec, base):
    """A recording that does not go to its end: a comment in the file says so, and readers pass over it."""
    with open(rec.path, "rb") as f:
        whole = f.read()
    with open(base + ".cut", "wb") as f:
        f.write(whole[:len(whole) * 3 // 4 & ~7])
    for words in (["--symbol-order"], ["--autofdo", "--text"]):
        text = export(base + ".cut", "-q", "--dso", "prog", *words)
        t.ok(text.startswith("# the recording does not go to its end: ") and text.count("\n") > 2 and text.count("#") == 1,
             "%s of a recording that is cut short" % words[0], text[:400])
    with open(base + ".cut.txt", "w", encoding="utf-8") as f:
        f.write(text)
    if shutil.which("llvm-profdata"):
        r = subprocess.run(["llvm-profdata", "merge", "--sample", "--text", base + ".cut.txt"], capture_output=True, text=True, check=False)
        t.ok(r.returncode == 0 and WORK in r.stdout, "... which llvm-profdata reads", r.stderr)


def readers(binary, text):
    if not shutil.which("llvm-profdata"):
        return t.skip("llvm-profdata reads the profile", "no llvm-profdata")
    def profdata(*words):
        r = subprocess.run(["llvm-profdata", *words], capture_output=True, text=True, check=False)
        return r.stdout if not r.returncode else "failed: " + r.stderr
    a, b = profdata("merge", "--sample", "--text", binary), profdata("merge", "--sample", "--text", text)
    t.ok(a == b and WORK in a, "llvm-profdata: text and binary are the same profile", a[:600] + b[:600])
    shown = profdata("show", "--sample", binary)
    t.ok("Function: %s: " % WORK in shown and "inlined callee: _ZL3mixi" in shown, "llvm-profdata shows it", shown[:800])
    again = text + ".prof"
    profdata("merge", "--sample", "--extbinary", text, "-o", again)
    def summary(path):
        return profdata("show", "--sample", "--detailed-summary", path).partition("Detailed summary")[2]
    return t.ok(summary(binary) and summary(binary) == summary(again), "the summary is as llvm-profdata makes it",
                summary(binary) + summary(again))


def optimised(source, binary, text):
    made = []
    for profile in (binary, text):
        out = profile + ".ll"
        r = subprocess.run(["clang++", *FLAGS, "-fprofile-sample-use=" + profile, "-S", "-emit-llvm", source, "-o", out],
                           capture_output=True, text=True, check=False)
        if not t.ok(r.returncode == 0 and not r.stderr, "clang takes %s" % profile[-4:], r.stderr):
            return
        with open(out, encoding="utf-8") as f:
            made.append(f.read())
    t.ok(made[0] == made[1], "and makes the same of both")
    pairs = [(int(a), int(b)) for a, b in re.findall(r'branch_weights", i32 (\d+), i32 (\d+)', made[0])]
    t.ok(any(b and abs(a / b / 9 - 1) < .05 for a, b in pairs), "the virtual call became a branch of 9 : 1", pairs)
    t.ok(any(a and abs(b / a / 15 - 1) < .06 for a, b in pairs), "the rare side is known", pairs)


def bolt(rec, prog):
    """Every branch and span of the program as counted here from the same stacks."""
    place = rec.places()
    branches, missed = collections.Counter(), collections.Counter()
    for _, _, _, stack in rec.samples():
        for source, to, flags in stack:
            key = tuple("%x" % p[1] if p[0] == prog else "X:0" for p in (place(source), place(to)))
            branches[key] += 1
            missed[key] += flags & 1
    branches.pop(("X:0", "X:0"), None)
    spans = {("%x" % a[1], "%x" % b[1]): h for (a, b), (h, _) in spans_of(rec).items() if a[0] == prog}
    got_b, got_m, got_f, odd = collections.Counter(), collections.Counter(), {}, []
    for line in export(rec.path, "-q", "--bolt", "--dso", "prog").splitlines():
        w = line.split()
        if w[0] == "B" and len(w) == 5:
            got_b[w[1], w[2]] += int(w[3])
            got_m[w[1], w[2]] += int(w[4])
        elif w[0] == "F" and len(w) == 4:
            got_f[w[1], w[2]] = int(w[3])
        else:
            odd.append(line)
    # a stack that went to the kernel has fewer near branches, which stand for the same period
    bad = [(k, n, got_f.get(k)) for k, n in spans.items() if abs(got_f.get(k, 0) - n) > max(5, .002 * n)]
    t.ok(not odd and not bad and set(got_f) == set(spans) and len(spans) > 20, "bolt: %d spans as in the stacks" % len(spans),
         "%s %s %s" % (odd[:3], bad[:6], list(set(got_f) ^ set(spans))[:6]))
    # of n entries of a stack n - 1 end a span: branches are of the scale of spans
    bad = [(k, n, got_b[k]) for k, n in branches.items() if n > 100 and abs(got_b[k] / (n * 31 / 32) - 1) > .02]
    t.ok(not bad and len(branches) > 20, "bolt: %d branches as in the stacks" % len(branches), bad)
    bad = [(k, n, got_m[k]) for k, n in missed.items() if n > 100 and k != ("X:0", "X:0") and
           abs(got_m[k] / (n * 31 / 32) - 1) > .02]
    t.ok(not bad, "bolt: mispredicted ones", bad)


def by_samples(rec, o):
    """The same recording without its stacks: where samples fell stands in."""
    import struct
    data = bytearray(rec.bytes)
    attrs, = struct.unpack_from("<Q", data, 24)
    struct.pack_into("<Q", data, attrs + 24, rec.sample_type & ~0x800)
    path = os.path.join(o.dir.name, "ip.data")
    with open(path, "wb") as f:
        f.write(data)
    r = run("export", path, "--no-cache", "--autofdo", "--text", "--dso", "prog")
    mine = read_text(r.stdout)
    t.ok("no branch stacks" in r.stderr and mine[WORK].total > 100 and mine[WORK].head == 0, "samples stand in, and that is said",
         r.stderr)
    prog = os.path.join(o.dir.name, "prog")
    place, n = rec.places(), 0
    for ip, _, _, _ in rec.samples():
        n += place(ip)[0] == prog
    total = sum(f.total for f in mine.values())
    t.ok(abs(total / n - 1) < .02, "all samples are in the profile (%d of %d)" % (total, n))
    lines = export(path, "-q", "--bolt", "--dso", "prog").splitlines()
    got = sum(int(x.split()[2]) for x in lines if x.startswith("S "))
    t.ok(lines[0].startswith("E ") and got == n, "bolt: samples too", lines[:3])


def block_map(prog):
    """{function: (address, [(offset, size)])} as llvm-readobj reads it."""
    out, last = {}, None
    text = subprocess.run(["llvm-readobj", "--bb-addr-map", prog], capture_output=True, text=True, check=False).stdout
    for key, value in re.findall(r"^ +(At|Name|Offset|Size): (\S+)", text, re.M):
        if key == "At":
            last = (int(value, 16), [])
        elif key == "Name":
            out[value] = last
        elif key == "Offset":
            last[1].append([int(value, 16), 0])
        else:
            last[1][-1][1] = int(value, 16)
    return out


def laid_out(o):
    """Blocks and functions in order; and what clang makes of it."""
    if not shutil.which("clang") or not shutil.which("llvm-readobj"):
        return t.skip("layouts", "no clang or llvm-readobj")
    source, prog = os.path.join(o.dir.name, "blocks.c"), os.path.join(o.dir.name, "blocks")
    with open(source, "w", encoding="ascii") as f:
        f.write(BLOCKS)
    r = subprocess.run(["clang", "-O2", "-fbasic-block-sections=labels", source, "-o", prog], capture_output=True,
                       text=True, check=False)
    blocks = block_map(prog) if not r.returncode else {}
    if "pick" not in blocks:
        return t.skip("layouts", "clang does not tell its blocks here: " + r.stderr.split("\n")[0])
    base = prog + "-rec"
    subprocess.run([QEMU, "-plugin", "%s/oracle.so,data=%s.data,truth=%s.truth,depth=32,period=60"
                    % (BUILT, base, base), prog, "60000"], check=True, capture_output=True, timeout=600)
    rec = Recording(base + ".data", Truth(base + ".truth"))
    text = export(rec.path, "-q", "--propeller", "--dso", "blocks")
    listed = {m[1]: [int(x) for x in m[2].split()] for m in re.finditer(r"^!([^!\n]+)\n!!([\d ]+)$", text, re.M)}
    t.ok(len(listed) * 2 == text.count("\n") and set(listed) >= {"pick", "main", "rare"} and "unused" not in listed,
         "propeller: the functions that ran", text)
    runs = {name: [rec.truth.insns.get((prog, at + off), 0) for off, _ in b] for name, (at, b) in blocks.items()}
    bad = [(k, v, runs[k]) for k, v in listed.items() if v[0] or len(set(v)) != len(v) or
           any(not runs[k][i] for i in v) or any(n > 2000 and i not in v for i, n in enumerate(runs[k]))]
    t.ok(not bad, "propeller: the blocks that ran, those that never did left out, the entry first", bad)
    at, b = blocks["pick"]
    jumps = collections.Counter()
    for e in rec.truth.edges:
        x, y = ([i for i, (off, size) in enumerate(b) if p[0] == prog and off <= p[1] - at < off + size]
                for p in (e.source, e.target))
        if x and y and b[y[0]][0] == e.target[1] - at and x[0] != y[0]:
            jumps[x[0], y[0]] += e.n
    for i in range(len(b) - 1):  # runs on without a branch
        if b[i][0] + b[i][1] == b[i + 1][0] and not any(x == i for x, _ in jumps):
            jumps[i, i + 1] += runs["pick"][i]
    def falls(order):
        return sum(jumps[p] for p in zip(order, order[1:]))
    t.ok(falls(listed["pick"]) > 1.1 * falls(range(len(b))), "propeller: more falls through than before (%d, %d)"
         % (falls(listed["pick"]), falls(range(len(b)))), (listed["pick"], jumps))
    again(source, prog, text, o)
    order = export(rec.path, "-q", "--symbol-order", "--dso", "blocks").split()
    t.ok(set(order) >= {"main", "pick", "rare"} and "unused" not in order and
         order.index("pick") < order.index("rare"), "symbol order: what ran, callees behind callers", order)
    return None


def again(source, prog, text, o):
    cc = os.path.join(o.dir.name, "cc_profile.txt")
    with open(cc, "w", encoding="ascii") as f:
        f.write(text)
    r = subprocess.run(["clang", "-O2", "-fbasic-block-sections=list=" + cc, source, "-o", prog + "2"],
                       capture_output=True, text=True, check=False)
    if not t.ok(r.returncode == 0 and not r.stderr, "clang lays out by it", r.stderr):
        return
    said = [subprocess.run([p, "5000"], capture_output=True, text=True, check=False).stdout for p in (prog, prog + "2")]
    syms = subprocess.run(["readelf", "-sW", prog + "2"], capture_output=True, text=True, check=True).stdout
    t.ok(said[0] == said[1] and said[0] and "pick.cold" in syms, "the program does the same, its cold part elsewhere")


def contradicted(o):
    """Stretches that the code contradicts, since entries were lost: none is exported, as blocks counts none."""
    rec = o.run("nested", depth=32, period=62)
    prog = program("nested")
    lost = lose_entries(rec, rec.path + ".lost", 8)
    always = {e.source[1] for e in rec.truth.edges if e.source[0] == prog and e.kind not in ("cond", "fall")}
    # a stretch that was made by losing entries may lie across code that never ran
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", prog], capture_output=True, text=True, check=True).stdout
    leaves = {int(a, 16) for a in re.findall(r"^ *([0-9a-f]+):\t(?:notrack |bnd |repz )*(?:call|jmp|ret|hlt|ud2)", code, re.M)}
    t.ok(always <= leaves, "the code has the calls, jumps and returns that ran", sorted(always - leaves)[:5])
    always |= leaves
    some = {e.source[1] for e in rec.truth.edges if e.source[0] == prog}
    begin = sorted(always)
    def wrong(a, b):
        return b not in some or bisect.bisect_left(begin, a) < bisect.bisect_left(begin, b)
    seen = {(a[1], b[1]) for a, b in spans_of(lost) if a[0] == prog and b[0] == prog}
    bad = {s for s in seen if wrong(*s)}
    got = {(int(w[1], 16), int(w[2], 16)) for w in (x.split() for x in export(lost.path, "-q", "--bolt", "--dso", "truth_nested").splitlines())
           if w[0] == "F"}
    t.ok(bad and not any(wrong(*s) for s in got) and got == seen - bad,
         "bolt: %d stretches across calls, jumps and returns are left out, %d stay" % (len(bad), len(got)), sorted(got ^ (seen - bad))[:5])
    j = json.loads(run("blocks", "-j", "-i", lost.path, "--no-cache").stdout)
    t.ok(j["dropped"]["always_taken"], "as blocks does", j["dropped"])
    said = run("export", lost.path, "--no-cache", "--bolt", "--dso", "truth_nested").stderr
    t.ok("contradicts" in said, "and that is said", said)


with Oracle(t) as oracle:
    known_programs(oracle)
    contradicted(oracle)
    compiled(oracle)
    laid_out(oracle)
t.done()
