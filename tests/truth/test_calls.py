#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade calls against what really ran: who called whom, how often, by returns and by calls."""
import collections
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import CALLS, PROGRAMS, Oracle, Spread, Symbols, cyclade, own  # noqa: E402
from tap import SANITIZED, Tap  # noqa: E402

ENOUGH = 1000
JUMPS = ("jump", "jump-indirect", "cond")
SYMBOLS = {}


def near(hits, off):
    """A figure of many hits is as good as chance allows: one of four thousand is off by 5 % now and then."""
    return abs(off) < max(.05, 4 / hits ** .5)


def function(place):
    """(dso, its function) at a place; None where it has none"""
    image, addr = place
    if image is None:
        return None
    if image not in SYMBOLS:
        SYMBOLS[image] = Symbols(image)
    s = SYMBOLS[image]
    if s.is_plt(addr):
        return os.path.basename(image), "plt"
    at = s.at(addr)
    return (os.path.basename(image), min(s.funcs[at])) if at else None


def true_calls(truth):
    """{(caller, callee): [executions, sites]} between functions of these tests' own files. Returns are to
    say the same as calls: which function was called, not which one it left for by a tail call."""
    out = collections.defaultdict(lambda: [0, set()])
    for (site, callee), n in truth.calls.items():
        if own(site[0]) and own(callee[0]) and function(site) and function(callee):
            c = out[function(site), function(callee)]
            c[0] += n
            c[1].add(site)
    return out


def true_tails(truth):
    """{(caller, callee): executions} of jumps from one function to the start of another"""
    out = collections.Counter()
    for e in truth.edges:
        if e.kind in JUMPS and own(e.source[0]) and own(e.target[0]):
            a, b = function(e.source), function(e.target)
            if a and b and a != b and "plt" not in (a[1], b[1]) and SYMBOLS[e.target[0]].at(e.target[1])[0] == e.target[1]:
                out[a, b] += e.n
    return out


def sized(key):
    """Whether both functions are in the tables that are read here: start-up code has no sizes."""
    return all(any(name in names for s in SYMBOLS.values() for names in s.funcs.values()) for _, name in key)


def one(t, o, program, depth, filter_, event, period, spreads, spread=50):
    r = o.run(program, depth=depth, filter=filter_, event=event, period=period, spread=spread)
    name = "%s, %s, %d deep, every %d" % (program, filter_, depth, period)
    j = cyclade("calls", "-j", "-i", r.path)
    if not t.ok(not isinstance(j, str), name + ": calls", j):
        return
    own_names = {os.path.basename(i) for i in r.truth.images if own(i)}
    funcs = [(os.path.basename(f["dso"] or ""), f["function"]) for f in j["functions"]]
    want, tails, got_tails = true_calls(r.truth), true_tails(r.truth), {}
    t.equal(j["by"], "returns" if filter_ == "return" else "calls", name + ": by what")
    s, strange, got = Spread(), [], {}
    for e in j["edges"]:
        key = tuple((os.path.basename(e[end + "_dso"] or ""), e[end]) for end in ("caller", "callee"))
        if not (key[0][0] in own_names and key[1][0] in own_names):
            continue
        if e["tail"]:
            got_tails[key] = e
            continue
        got[key] = e
        if key not in want and sized(key):
            strange.append((key, e["hits"]))
        if key not in want:
            continue
        for v in (s, spreads):
            v.add(e["hits"], e["calls"], want[key][0], e["calls_error"])
    t.ok(not strange, name + ": no call that was not made", strange[:5])
    missing = [(k, v[0]) for k, v in want.items() if k not in got and v[0] > 500]
    t.ok(not missing, name + ": none missing", missing[:5])
    t.ok(s.rows and all(near(h, x) for h, x, _ in s.rows if h > ENOUGH), name + ": %d callers and callees" % len(s.rows),
         s.rows)
    sites = [(k, e["sites"], len(want[k][1])) for k, e in got.items()
             if k in want and e["hits"] > 500 and e["sites"] != len(want[k][1])]
    t.ok(not sites, name + ": call sites", sites[:5])
    s.show(name)
    wrong = [(k, e["calls"], tails[k]) for k, e in got_tails.items()
             if e["hits"] > ENOUGH and not near(e["hits"], e["calls"] / tails[k] - 1)]
    wrong += [(k, n) for k, n in tails.items() if n > 5000 and k not in got_tails]
    t.ok(not wrong, name + ": %d tail calls" % len(got_tails), wrong[:5])
    totals(t, name, j, r.truth, funcs, own_names, want)
    flags(t, name, r.truth, got, j["by"])


def totals(t, name, j, truth, funcs, own_names, want):
    """How often each function was called by others of these files."""
    called = collections.Counter()
    for (_, callee), (n, _) in want.items():
        called[callee] += n
    bad = []
    for f, key in zip(j["functions"], funcs):
        v = f["called"]
        if key[0] in own_names and called[key] > 5000 and (v is None or abs(v / called[key] - 1) > .1):
            bad.append((key, v, called[key]))
    t.ok(not bad, name + ": how often functions were called", bad[:5])


def flags(t, name, truth, got, by):
    """Which calls are indirect, which go through trampolines: those whose sites say so."""
    if by == "returns":
        return
    kind, plt = {}, set()
    for e in truth.edges:
        if e.kind in CALLS:
            kind[e.source] = e.kind
            f = function(e.target)
            if f and f[1] == "plt":
                plt.add(e.source)
    bad = []
    true = collections.defaultdict(set)
    for site, entry in truth.calls:
        true[function(site), function(entry)].add(site)
    for key, e in got.items():
        sites = true[key]
        if e["hits"] < 100 or not sites:
            continue
        if e["plt"] != any(x in plt for x in sites):
            bad.append((key, "plt", e["plt"]))
        if (e["indirect"] == e["hits"]) != all(kind[x] == "call-indirect" for x in sites):
            bad.append((key, "indirect", e["indirect"], e["hits"]))
    t.ok(not bad, name + ": trampolines and indirect calls", bad[:5])


def main():
    t = Tap()
    with Oracle(t) as o:
        for depth in (16, 32):
            spreads = Spread()
            for program in PROGRAMS:
                one(t, o, program, depth, "return", "returns", 20, spreads)
                one(t, o, program, depth, "any", "taken", 60, spreads)
            spreads.show("calls, %d deep" % depth)
            if SANITIZED:
                continue  # two programs are too few for shares
            share = spreads.share(.01, ENOUGH)
            t.ok(share > .7, "%d deep: %.1f %% of counts with over %d hits are within 1 %%" % (
                depth, 100 * share, ENOUGH))
            t.ok(spreads.by_chance(3) > .95, "%d deep: %.1f %% within three times one by the root of hits" % (
                depth, 100 * spreads.by_chance(3)))
            t.ok(spreads.covers(.9), "%d deep: %.1f %% lie within their error bars" % (
                depth, 100 * spreads.covered()))
            # periods as long as stacks: nearly all is seen, and next to nothing left to chance
            spreads = Spread()
            for program in PROGRAMS:
                one(t, o, program, depth, "return", "returns", depth, spreads, 100 // depth + 1)
                one(t, o, program, depth, "any", "taken", depth, spreads, 100 // depth + 1)
            t.ok(spreads.share(.01, ENOUGH) > .95 and spreads.worst() < .02, "%d deep, nearly all seen: %d counts with over %d hits within 1 %% (%.2f %%)" % (
                depth, sum(h > ENOUGH for h, _, _ in spreads.rows), ENOUGH, 100 * spreads.worst()), spreads.rows)
            t.ok(spreads.covers(.95), "%d deep: %.1f %% lie within their error bars" % (depth, 100 * spreads.covered()))
    t.done()


main()
