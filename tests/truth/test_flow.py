#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Edges and spans as analyse/flow makes them: the same as counted here from the same stacks, and the truth's."""
import collections
import os
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import Oracle, Spread, own, segments, spans_of, standing_for, window  # noqa: E402
from tap import Tap  # noqa: E402

DUMP = os.environ.get("DUMP_FLOW")


def vaddr(images):
    """(image's name, offset in its file) -> (path, address), and what is in no file as it is"""
    paths, segs = {os.path.basename(p): p for p in images}, {p: segments(p) for p in images}

    def place(name, offset):
        path = paths.get(os.path.basename(name))
        for start, size, at in segs.get(path, ()):
            if start <= offset < start + size:
                return path, offset - start + at
        return None, offset
    return place


def theirs(rec):
    """({(from, to): [hits, weight, error, mispredicted]}, {(start, last): [hits, weight, error, timed, cycles]}, sums)"""
    p = subprocess.run([DUMP, rec.path], capture_output=True, text=True, errors="replace", timeout=600)
    place, edges, spans, sums = vaddr(rec.truth.images), {}, {}, p.stderr
    for line in p.stdout.splitlines():
        w = line.split("\t")
        if w[0] == "edge":
            edges[place(w[1], int(w[2], 16)), place(w[3], int(w[4], 16))] = [int(w[5]), float(w[6]), float(w[7]), int(w[8])]
        elif w[0] == "span":
            key = place(w[1], int(w[2], 16)), place(w[1], int(w[3], 16))
            spans[key] = [int(w[4]), float(w[5]), float(w[6]), int(w[7]), int(w[8])]
        elif w[0] == "sums":
            sums = dict(zip("samples stacks edges spans backwards crossing far switched".split(), map(int, w[1:])))
    return edges, spans, sums


def edges_of(rec, counted):
    place, out, seen = rec.places(), collections.defaultdict(lambda: [0, 0.0, 0]), collections.Counter()
    for periods, sources, targets, flags in rec.alike():
        each = standing_for(periods, sources, counted)
        for i, share in enumerate(window(len(sources), counted)[0]):
            seen.update(zip(sources[i], targets[i], [x * share for x in each], [f & 1 for f in flags[i]]))
    for (source, to, weight, wrong), n in seen.items():
        c = out[source, to]
        c[0] += n
        c[1] += n * weight
        c[2] += n * wrong
    return {(place(a), place(b)): c for (a, b), c in out.items()}


def differ(got, want):
    bad = []
    for key in set(got) | set(want):
        g, w = got.get(key, [0, 0.0, 0]), want.get(key, [0, 0.0, 0])
        if g[0] != w[0] or abs(g[1] - w[1]) > 1e-6 * max(w[1], 1) or (len(w) > 2 and g[3] != w[2]):
            bad.append((key, g, w))
    return bad


def one(t, o, program, what, **options):
    r = o.run(program, **options)
    name = "%s, %s" % (program, what)
    edges, spans, sums = theirs(r)
    if not t.ok(isinstance(sums, dict), name + ": flow", sums):
        return
    n = sum(len(s) for _, _, _, s in r.samples())
    t.equal((sums["samples"], sums["edges"]), (r.truth.total["samples"], n), name + ": all samples and branches")
    bad = differ(edges, edges_of(r, options.get("event") != "insns"))
    t.ok(not bad and edges, name + ": %d edges as counted here" % len(edges), bad[:5])
    true = {(e.source, e.target): e.n for e in r.truth.edges}
    s = Spread()
    for key, v in edges.items():
        if key in true and own(key[0][0]):
            s.add(v[0], v[1], true[key], v[2])
    s.show(name + ", edges")
    # other events' weights are executions times a factor, and more where instructions are many or slow
    counted = options.get("event") != "insns"
    t.ok(not s.worst(10000) > .05 or not counted, name + ": edges near the truth", s.worst(10000))
    if options.get("filter", "any") != "any":
        t.equal(spans, {}, name + ": no spans")
        return
    bad = differ({k: v[:2] for k, v in spans.items()}, spans_of(r, counted))
    t.ok(not bad and spans, name + ": %d spans as counted here" % len(spans), bad[:5])
    true, s, slow = {(x.start, x.last): x for x in r.truth.spans}, Spread(), []
    for key, v in spans.items():
        x = true.get(key)
        if not x:
            slow.append((key, "never ran"))
        elif own(key[0][0]):
            s.add(v[0], v[1], x.n, v[2])
            if v[3] > 2000 and abs(v[4] / v[3] / (x.cycles / x.n) - 1) > .1:
                slow.append((key, v[4] / v[3], x.cycles / x.n))
    t.ok(not slow, name + ": spans that ran, with their cycles", slow[:5])
    s.show(name + ", spans")
    t.ok(s.covers(.9) or not counted, "%s: %.1f %% of spans lie within their error bars" % (name, 100 * s.covered()))


def main():
    t = Tap()
    if not DUMP or not os.path.exists(DUMP):
        t.skip("all", "DUMP_FLOW is not set, or is not there")
        t.done()
    with Oracle(t) as o:
        one(t, o, "nested", "16 deep", depth=16, period=60)
        one(t, o, "shapes", "32 deep", depth=32, period=60)
        one(t, o, "pack", "32 deep, no cycles", depth=32, period=100, cycles=0)
        one(t, o, "recursion", "returns", depth=32, period=20, filter="return", event="returns")
        one(t, o, "indirect", "calls", depth=16, period=20, filter="call", event="calls")
        one(t, o, "oddeven", "by instructions", depth=32, period=1000, event="insns")
        one(t, o, "shapes", "by instructions, 16 deep", depth=16, period=1000, event="insns")
    t.done()


main()
