#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real recordings with branch stacks, of programs that are not at hand: what can be said of them adds up.

Stacks and their neighbours are counted again from what perf script prints. Where the code is there, in and out of blocks
balance; where it is not, no figure is made up."""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
import json  # noqa: E402
from tap import NO_SHARED, PERF, SHARED, Tap, run  # noqa: E402
from truth import window  # noqa: E402

DIR = os.path.join(SHARED, "corpus", "recordings")
NAMES = ("autofdo-propeller_sample_1.perfdata1", "perf_data_converter-perf.data.branch-4.14",
         "perf_data_converter-perf.data.callgraph_and_branch-3.4", "platform_system_extras-perf_b.data",
         "perf_data_converter-perf.data.branch_stack_spec")


def stacks_of(path):
    """[[(from, to), ...], ...], newest first, each without entries that were never filled"""
    p = subprocess.run([PERF, "script", "-i", path, "-F", "ip,brstack"], capture_output=True, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, timeout=600)
    for line in p.stdout.splitlines():
        m = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/", line)]
        yield [e for e in m if e != (0, 0)]


def is_copy(m):
    """The newest branch twice, though it leads forward: an erratum."""
    return len(m) > 1 and m[0] == m[1] and m[0][1] > m[0][0]


def by_perf(path):
    """(samples with stacks, branches, neighbours, copies, newer ones that leave below where the older led)"""
    n = collections.Counter()
    for m in stacks_of(path):
        n["copies"] += is_copy(m)
        m = m[1:] if is_copy(m) else m
        n["stacks"] += bool(m)
        n["branches"] += len(m)
        n["neighbours"] += max(len(m) - 1, 0)
        n["backwards"] += sum(old[1] > new[0] and old[1] >> 63 == new[0] >> 63 for new, old in zip(m, m[1:]))
    return n


def places(path, fade):
    """[(branches that led to a place or left it, stretches that begin or end there)] of those that 100 branches or more
    led to or left, as shares of a stack"""
    edges, spans, hits = (collections.defaultdict(float) for _ in range(3))
    for m in stacks_of(path):
        m = m[1:] if is_copy(m) else m
        if not m:
            continue
        branch, between = window(len(m), not fade)
        for w, pair in zip(branch, m):
            for side in (0, 1):
                edges[side, pair[side]] += w
                hits[side, pair[side]] += 1
        for w, ((new, _), (_, old)) in zip(between, zip(m, m[1:])):
            if old <= new < old + (1 << 20) and old >> 63 == new >> 63:
                spans[1, old] += w
                spans[0, new] += w
    return {a: (edges[a], spans[a]) for a, n in hits.items() if n >= 100}


def apart(found):
    return sum(abs(a - b) for a, b in found.values()) / sum(a for a, _ in found.values()) if found else None


def loop(t, name, path):
    """The program of this one is a loop: six places in it are met once each time round, by its branches. What
    fades at the ends says so; what does not is off by percents, whatever the number of samples."""
    off = []
    for fade in (False, True):
        v = sorted((n for (side, _), (_, n) in places(path, fade).items() if side), reverse=True)[:6]
        off.append(v[0] / v[-1] - 1)
    t.ok(off[0] > .05 and off[1] < .01, "%s: places that ran equally often are %.1f %% apart, %.1f %% if ends fade" % (
        name, 100 * off[0], 100 * off[1]))


def one(t, name):
    path = os.path.join(DIR, name)
    if not os.path.exists(path):
        return t.skip(name, NO_SHARED)
    with tempfile.TemporaryDirectory() as nothing:
        p = run("blocks", "-j", path, "--no-cache", "--sysroot", nothing)
    if not t.ok(p.returncode == 0, name + ": blocks", p.stderr):
        return None
    j = json.loads(p.stdout)
    s, d = {**j["stacks"], **j["counted"]}, j["dropped"]
    lost = d["backwards"] + d["crossing"] + d["far_apart"] + d["switched"] + j["system"]
    dropped = sum(d.values()) - lost + j["system"]
    if PERF:
        want = by_perf(path)
        t.equal((s["stacks"], s["branches"], s["intervals"] + lost, s["repeated"]),
                (want["stacks"], want["branches"], want["neighbours"], want["copies"]),
                name + ": stacks, branches, neighbours, copies as perf has them")
        # those in no mapping are told first as such, and of different mappings likewise
        t.ok(d["backwards"] <= want["backwards"] <= lost, name + ": neighbours that bound no code", (d, want))
    t.equal(j["used"] + dropped, s["intervals"], name + ": each stretch is used, or dropped and told")
    print("# %s: balance %s, %d stretches used, %d not (%s)" % (name, j["balance"], j["used"], dropped + lost, j["dropped"]))
    io = j["in_out"]
    if PERF and not d["crossing"] and j["event"].startswith("cycles"):
        want = places(path, True)
        t.ok(io["places"] == len(want) and (not want or abs(io["apart"] - apart(want)) < 1e-3),
             name + ": in and out as by perf's stacks", (io, apart(want)))
    if io["places"]:
        within = io["within"]  # null: no count of this event has an error bar
        print("# %s: branches to and from %d places and the stretches between differ by %.2f %%, %s by more than their error" % (
            name, io["places"], 100 * io["apart"], "?" if within is None else io["places"] - within))
        t.ok(io["apart"] < .005 and within in (None, io["places"]), name + ": in is out at each place, within its error", io)
    if PERF and name == NAMES[0]:
        loop(t, name, path)
    b = j["balance"]["apart"]
    if j["used"]:
        return t.ok(b is None or 0 <= b < .3, name + ": in and out", b)
    return t.ok(b is None and j["insns"] is None, name + ": nothing is said without code", j["insns"])


def main():
    t = Tap()
    for name in NAMES:
        one(t, name)
    t.done()


main()
