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

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
import json  # noqa: E402
from tap import PERF, SHARED, Tap, run  # noqa: E402

DIR = os.path.join(SHARED, "corpus", "recordings")
NAMES = ("autofdo-propeller_sample_1.perfdata1", "perf_data_converter-perf.data.branch-4.14",
         "perf_data_converter-perf.data.callgraph_and_branch-3.4", "platform_system_extras-perf_b.data",
         "perf_data_converter-perf.data.branch_stack_spec")


def stacks_of(path):
    """[[(from, to), ...], ...], newest first"""
    p = subprocess.run([PERF, "script", "-i", path, "-F", "ip,brstack"], capture_output=True, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, timeout=120)
    for line in p.stdout.splitlines():
        m = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/", line)]
        yield [e for e in m if e != (0, 0)]  # without entries that were never filled


def by_perf(path):
    """(samples with stacks, branches, neighbours, newer ones that leave below where the older led)"""
    stacks = branches = neighbours = backwards = 0
    for m in stacks_of(path):
        stacks += bool(m)
        branches += len(m)
        neighbours += max(len(m) - 1, 0)
        backwards += sum(old[1] > new[0] and old[1] >> 63 == new[0] >> 63 for new, old in zip(m, m[1:]))
    return stacks, branches, neighbours, backwards


def places(path, spans_by_edges):
    """(places that 100 branches or more led to, how far stretches that begin there are from these)"""
    into, begin = collections.Counter(), collections.Counter()
    for m in stacks_of(path):
        into.update(to for _, to in m)
        begin.update(old for (new, _), (_, old) in zip(m, m[1:])
                     if old <= new < old + (1 << 20) and old >> 63 == new >> 63)
    many = [a for a, n in into.items() if n >= 100]
    all_ = sum(into[a] * spans_by_edges for a in many)
    return len(many), sum(abs(begin[a] - into[a] * spans_by_edges) for a in many) / all_ if all_ else None


def one(t, name):
    path = os.path.join(DIR, name)
    if not os.path.exists(path):
        return t.skip(name, "no such recording at hand")
    p = run("blocks", "-j", path, "--no-cache", "--sysroot", "/nonexistent")
    if not t.ok(p.returncode == 0, name + ": blocks", p.stderr):
        return None
    j = json.loads(p.stdout)
    s, dropped = j["sums"], sum(j["dropped"].values())
    lost = s["backwards"] + s["crossing"] + s["far_apart"] + s["switched"]
    if PERF:
        want = by_perf(path)
        t.equal((s["stacks"], s["edges"], s["spans"] + lost), want[:3], name + ": stacks, branches, neighbours as perf has them")
        # those in no mapping are told first as such, and of different mappings likewise
        t.ok(s["backwards"] <= want[3] <= lost, name + ": neighbours that bound no code", (s, want))
    t.equal(j["used"] + dropped, s["spans"], name + ": each stretch is used, or dropped and told")
    b = j["balance"]
    print("# %s: balance %s, %d stretches used, %d not (%s)" % (name, b, j["used"], dropped + lost, j["dropped"]))
    io = j["in_out"]
    if PERF and not s["crossing"]:
        want = places(path, s["spans"] / max(s["edges"], 1))
        t.ok(io["places"] == want[0] and (not want[0] or abs(io["apart"] - want[1]) < 1e-9),
             name + ": in and out as by perf's stacks", (io, want))
    if io["places"]:
        print("# %s: branches to %d places and stretches from there differ by %.2f %% (chance: %.2f %%)" % (
            name, io["places"], 100 * io["apart"], 100 * io["chance"]))
        t.ok(io["apart"] < .05 + 2 * io["chance"], name + ": what goes in comes out", io)
    if j["used"]:
        return t.ok(b is None or 0 <= b < .3, name + ": in and out", b)
    return t.ok(b is None and j["insns"]["value"] is None, name + ": nothing is said without code", j["insns"])


def main():
    t = Tap()
    for name in NAMES:
        one(t, name)
    t.done()


main()
