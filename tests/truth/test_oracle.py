#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The oracle itself: are its counts the truth, are its recordings what a PMU would have made?

Counts are held against those that the programs' sources tell, against one another (instructions by
TB, by spans and by edges are three ways of counting), and recordings against perf's reading of them."""
import collections
import os
import re
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import AMOUNT, CALLS, LONG, PROGRAMS, Oracle, Spread, Symbols, cover, program, spans_of  # noqa: E402
from tap import PERF, Tap, run  # noqa: E402


def function(rec, name, prog):
    """Executions of the instructions of a function, in order"""
    image = program(prog)
    s = Symbols(image)
    start, end = next(k for k, v in s.funcs.items() if name in v)
    return [n for (i, a), n in sorted(rec.truth.insns.items(), key=lambda x: (x[0][0] or "", x[0][1]))
            if i == image and start <= a < end]


def known(t, o):
    """Counts that the source tells."""
    n = 37
    r = o.run("nested", n)
    t.equal(r.stdout.strip(), native("nested", n), "nested: the program prints what it prints without us")
    counts = collections.Counter(function(r, "of_three", "nested"))
    t.ok({n * 7 * 5 * 40, n * 7 * 5, n * 7, n} <= set(counts), "nested: 7 by 5 by 40 trips", sorted(counts))
    counts = collections.Counter(function(r, "triangle", "nested"))
    t.ok(n * 190 in counts and n in counts, "nested: a triangle of 190 trips", sorted(counts))
    # of 1 to 64 n, half can be halved once, a quarter twice, ...
    halved = sum(1 for x in range(1, 64 * n + 1) for k in range(1, 32) if x % (1 << k) == 0)
    t.ok(halved in function(r, "while_loop", "nested"), "nested: %d halvings" % halved)
    r = o.run("recursion", 3)
    called = collections.Counter()
    s = Symbols(program("recursion"))
    for (_, (image, entry)), hits in r.truth.calls.items():
        if image == program("recursion") and s.at(entry):
            called.update({name: hits for name in s.funcs[s.at(entry)]})
    got = {k: called[k] for k in ("down", "fibonacci", "even", "odd", "walk")}
    t.equal(got, {"down": 3 * 301, "fibonacci": 3 * 1219, "even": 31 + 31 + 31, "odd": 30 + 31 + 30,
                  "walk": 3 * 2047}, "recursion: calls of each function")
    r = o.run("oddeven", 11)
    counts = function(r, "alternate", "oddeven")
    t.equal(sorted(set(counts)), [11, 11 * 500, 11 * 1000], "oddeven: each side runs for every other element")


def native(name, n):
    return subprocess.run([program(name), str(n)], capture_output=True, text=True, check=True).stdout.strip()


def consistent(t, name, r):
    """Three ways of counting agree."""
    tr = r.truth
    t.equal(sum(tr.insns.values()), tr.total["insns"], name + ": instructions add up")
    t.equal(sum(e.n for e in tr.edges if e.kind != "fall"), tr.total["taken"], name + ": taken branches add up")
    t.equal(tr.total["odd"], 0, name + ": every step was understood")
    t.equal(tr.total["calls"], sum(e.n for e in tr.edges if e.kind in CALLS), name + ": calls add up")
    t.ok(abs(sum(tr.calls.values()) - tr.total["calls"]) <= 1, name + ": every call arrived")
    by = cover(tr, {(s.start, s.last): (s.n, float(s.n)) for s in tr.spans})
    # what ran before the first branch and after the last, and between a branch and a system call
    off = {at: (n, by[at][0]) for at, n in tr.insns.items() if abs(n - by[at][0]) > 150}
    t.ok(not off and sum(abs(n - by[at][0]) for at, n in tr.insns.items()) < 5000,
         name + ": instructions by spans are those by blocks", list(off.items())[:9])
    into = collections.Counter()
    out = collections.Counter()
    for e in tr.edges:
        into[e.target] += e.n
        out[e.source] += e.n
    wrong = [(a, n, out[a]) for a, n in tr.insns.items() if out[a] and abs(out[a] - n) > 1]
    t.ok(not wrong, name + ": a branch is left as often as it runs", wrong[:9])
    wrong = [(a, n, into[a]) for a, n in tr.insns.items() if into[a] > n]
    t.ok(not wrong, name + ": nothing is reached more often than it runs", wrong[:9])


def recorded(t, name, r, options):
    """Stacks hold what happened."""
    edges = {(e.source, e.target): e for e in r.truth.edges}
    place, samples, strange, deep, period = r.places(), 0, collections.Counter(), 0, 0
    for ip, _, p, stack in r.samples():
        samples += 1
        period += p
        deep = max(deep, len(stack))
        for source, target, flags in stack:
            e = edges.get((place(source), place(target)))
            if source >> 63:
                strange["kernel"] += 1
            elif not e or e.kind == "fall":
                strange["no such branch"] += 1
            elif options["filter"] == "return" and e.kind != "return":
                strange["not a return"] += 1
            elif bool(flags & 1) == bool(flags & 2) or (flags & 1 and not e.mispredicted):
                strange["mispredicted"] += 1
        if stack and ip != stack[0][0] and options.get("event") != "insns":
            strange["ip is elsewhere"] += 1
    kernel = strange.pop("kernel", 0)
    t.ok(not strange, name + ": stacks hold branches that were taken", strange)
    t.ok(kernel <= max(100, samples * deep * .02), name + ": few of them the kernel's", kernel)
    t.equal((samples, deep), (r.truth.total["samples"], options["depth"]), name + ": samples and depth")
    what = {"return": "returns", "any": "taken"}[options["filter"]]
    t.ok(abs(period - r.truth.total[what]) <= 2 * r.period, name + ": periods sum to what was counted",
         (period, r.truth.total))


def by_perf(t, name, r):
    if not PERF:
        return t.skip(name + ": as perf reads it", "no perf")
    p = subprocess.run([PERF, "script", "-i", r.path, "-F", "comm,pid,time,period,ip,brstack", "--full-source-path"],
                       capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600)
    lines = [x for x in p.stdout.splitlines() if x.strip()]
    want = list(r.samples())
    if not t.equal(len(lines), len(want), name + ": perf reads as many samples"):
        return None
    bad = []
    for line, (ip, _, period, stack) in zip(lines, want):
        m = re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/([MP-])/[^/]*/[^/]*/(\d+)", line)
        got = [(int(a, 16), int(b, 16), c, int(d)) for a, b, c, d in m]
        mine = [(a, b, "M" if f & 1 else "P", f >> 4 & 0xffff) for a, b, f in stack]
        w = line.split()
        if got != mine or int(w[3]) != period or int(w[4], 16) != ip:
            bad.append((line[:200], mine[:3]))
    return t.ok(not bad, name + ": perf reads the same stacks, periods and places", bad[:3])


def timed(t, o, name):
    """Each time that a span took, against the cycles of stacks that follow each other without a gap."""
    r = o.run(name, AMOUNT[name] // 8 + 1, depth=32, period=31, fixed=1, far=0, times=1)
    place, last, seen = r.places(), None, collections.defaultdict(collections.Counter)
    for _, _, _, stack in r.samples():
        sources, targets, flags = zip(*stack[:31])
        for start, end, f in zip((*targets[1:], last), sources, flags):
            if start is not None:
                seen[place(start), place(end)][f >> 4 & 0xffff] += 1
        last = targets[0]
    # the stacks lack what came before the first and after the last of them
    lack = sum(n - seen[at][c] for at, by in r.truth.times.items() for c, n in by.items())
    more = [(at, c, n) for at, by in seen.items() for c, n in by.items() if n > r.truth.times.get(at, {}).get(c, 0)]
    t.ok(not more and 0 <= lack < 64, "%s: each time of %d spans is that of the stacks" % (name, len(seen)), (lack, more[:5]))
    cycles = {(s.start, s.last): (s.n, s.cycles) for s in r.truth.spans}
    of_times = {at: (sum(by.values()), sum(c * n for c, n in by.items())) for at, by in r.truth.times.items()}
    t.equal({at: x for at, x in of_times.items() if cycles.get(at) != x}, {}, name + ": times add up to the cycles of spans")


def main():
    t = Tap()
    with Oracle(t) as o:
        known(t, o)
        for name in PROGRAMS:
            options = dict(depth=32, filter="any", period=100)
            r = o.run(name, AMOUNT[name] // 8 + 1, **options)
            consistent(t, name, r)
            recorded(t, name, r, options)
            options = dict(depth=16, filter="return", event="returns", period=20)
            recorded(t, name + ", returns", o.run(name, AMOUNT[name] // 8 + 1, **options), options)
        timed(t, o, "nested")
        r = o.run("pack", 1, depth=16, period=300)
        by_perf(t, "pack", r)
        again = o.run("pack", 1, depth=16, period=300)
        t.ok(list(r.samples()) == list(again.samples()), "the same seed, the same recording")
        other = o.run("pack", 1, depth=16, period=300, seed=99)
        t.ok(list(r.samples()) != list(other.samples()), "another seed, another one")
        p = run("info", "-i", r.path)
        t.ok(p.returncode == 0 and "br_inst_retired.near_taken" in p.stdout and "any" in p.stdout,
             "cyclade info opens it", p.stdout + p.stderr)
        statistics(t, o)
    t.done()


def statistics(t, o):
    """What stacks can tell at best: counts by spans, made here, against the truth."""
    for name in PROGRAMS if LONG else ("nested", "shapes"):
        r = o.run(name, depth=32, period=60)
        spans = spans_of(r)
        by, s = cover(r.truth, spans), Spread()
        for at, n in r.truth.insns.items():
            s.add(by[at][0], by[at][1], n)
        s.show(name)
        got, want = sum(w for _, w in by.values()), r.truth.total["insns"]
        t.ok(abs(got / want - 1) < .005, "%s: instructions by spans within 0.5 %%" % name, got / want)
        t.ok(s.share(.05, 10000) > .95, "%s: instructions with many hits within 5 %%" % name, s.worst(10000))


main()
