#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of {slots,cycles,topdown-retiring,...}:S: the top-down tree of each thread's name.

Made recordings, since no public one has the group: each sample's fields are drawn here, and the shares
that the report must show are their sums, added up here."""
import csv
import io
import json
import math
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import gen  # noqa: E402
from tables import by_event  # noqa: E402
from tap import Tap, run  # noqa: E402

FIELDS = ["retiring", "bad_speculation", "frontend_bound", "backend_bound", "heavy_operations",
          "branch_mispredicts", "fetch_latency", "memory_bound"]
REST = {"light_operations": ("retiring", "heavy_operations"), "machine_clears": ("bad_speculation", "branch_mispredicts"),
        "fetch_bandwidth": ("frontend_bound", "fetch_latency"), "core_bound": ("backend_bound", "memory_bound")}
TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD READ".split())
# of 255, by thread: level 1, then level 2
THREADS = {21: ("waits", [30, 10, 15, 200, 5, 8, 10, 180]), 22: ("guesses", [80, 120, 35, 20, 10, 110, 20, 5]),
           23: ("works", [200, 5, 20, 30, 20, 4, 8, 10])}


def recording(levels, n=600, broken=False, seed=1):
    """A recording, and {comm: {column: share}}"""
    rnd, w = random.Random(seed), gen.Writer("<")
    fields = FIELDS[:4 * levels]
    names = ["slots", "cycles"] + ["topdown-" + f.replace("_", "-") for f in fields]
    configs = [(4, 0x400), (0, 0)] + [(4, 0x8000 + (i << 8)) for i in range(len(fields))]
    events = [(name, dict(type=kind, config=config, period=100000 if name == "cycles" else 0, sample=TYPE,
                          read=gen.GROUP | gen.RID, sample_id_all=1), [100 + i])
              for i, (name, (kind, config)) in enumerate(zip(names, configs))]
    f = gen.File(w, events, attr_size=120)
    stands, sums = [0] * len(names), {}
    data = [w.record(gen.COMM, w.pack("II", 20, t) + gen.text8(comm) + w.pack("IIQIIQ", 20, t, 1, 0, 0, 101))
            for t, (comm, _) in THREADS.items()]
    for i in range(n):
        t = rnd.choice(list(THREADS))
        comm, parts = THREADS[t]
        slots = rnd.randrange(300000, 900000)
        steps = [max(0, p + rnd.choice((-1, 0, 1))) for p in parts]
        steps[3] = 255 - sum(steps[:3])
        moved = [slots, slots // 6] + [slots * s // 255 for s in steps[:len(fields)]]
        if broken:
            moved[9] = moved[5] * 3  # memory_bound three times its parent
        stands = [a + b for a, b in zip(stands, moved)]
        at = sums.setdefault(comm, [0] * len(names))
        sums[comm] = [a + b for a, b in zip(at, moved)]
        s = gen.Sample(i + 1, 101)
        s.v.update(TID=(20, t), TIME=1000 + 10 * i, CPU=0, IP=0x400000, PERIOD=100000,
                   READ=(i, i, [(100 + k, v, 0) for k, v in enumerate(stands)]))
        a = events[1][1]
        data.append(w.record(gen.SAMPLE, b"".join(s.field(w, a, x) for x in gen.FIXED + gen.VARYING if TYPE & gen.BIT[x]), 2))
    f.data = b"".join(data)
    want = {}
    for comm, v in sums.items():
        whole = sum(v[2:6])
        want[comm] = {name: v[2 + k] / whole for k, name in enumerate(fields)}
        for name, (parent, sibling) in REST.items():
            if levels == 2:
                want[comm][name] = want[comm][parent] - want[comm][sibling]
    return f.build(), want


def rows(path):
    out = run("report", "-i", path, "--format", "csv", "-s", "comm").stdout
    return [r for r in csv.DictReader(io.StringIO(out)) if r["event"] == "cycles"]


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "made")
        for levels in (1, 2):
            data, want = recording(levels)
            with open(path, "wb") as f:
                f.write(data)
            got = {r["comm"]: r for r in rows(path)}
            t.equal(sorted(got), sorted(want), "level %d: a row for each thread's name" % levels)
            for comm in want:
                off = {k: (v, got[comm][k]) for k, v in want[comm].items() if abs(float(got[comm][k]) - v) > 1e-6}
                t.equal(off, {}, "level %d: %s: %d shares" % (levels, comm, len(want[comm])))
            t.equal([k for k in FIELDS + list(REST) if k in next(iter(got.values()))],
                    [k for k in FIELDS[:4] + (FIELDS[4:] + list(REST) if levels == 2 else [])],
                    "level %d: no column for what was not measured" % levels)
            apart = {(comm, rest): (float(row[rest + "_error"]), math.hypot(float(row[a + "_error"]), float(row[b + "_error"])))
                     for comm, row in got.items() for rest, (a, b) in REST.items() if levels == 2}
            t.ok(len(apart) == (12 if levels == 2 else 0) and all(x > 0 and abs(x - y) < 1e-6 for x, y in apart.values()),
                 "level %d: what is left of a node has its error and its other child's" % levels, apart)
            said = run("report", "-i", path, "-s", "comm").stdout
            most = {"waits": "memory_bound", "guesses": "branch_mispredicts", "works": "light_operations"} if levels == 2 \
                else {"waits": "backend_bound", "guesses": "bad_speculation", "works": "retiring"}
            for comm, part in most.items():
                share = "%.1f %%" % (100 * want[comm][part])
                t.ok(any(comm in line and part in line and share in line for line in said.splitlines()),
                     "level %d: on the screen %s is mostly %s, %s" % (levels, comm, part, share), said)
            t.ok("topdown-" not in said and "slots" not in said, "level %d: fields are columns, not tables" % levels, said)
            table = by_event(json.loads(run("report", "-i", path, "-s", "comm", "-j").stdout))
            table = [x for x in table if x["event"] == "cycles"][0]
            off = [(r["comm"], k) for r in table["rows"] for k, v in want[r["comm"]].items() if abs(r[k] - v) > 1e-6]
            t.equal((off, {r["comm"]: r["mostly"] for r in table["rows"]}), ([], most), "level %d: json has the same trees" % levels)
            t.equal((table["topdown_rows"], table["topdown_rows_in_doubt"]), (3, 0), "level %d: json: none is in doubt" % levels)
            asked = run("report", "-i", path, "-s", "comm", "-e", "slots").stdout
            t.ok("slots" in asked, "level %d: -e slots still gives its table" % levels, asked)
        data, want = recording(2, n=1)
        with open(path, "wb") as f:
            f.write(data)
        got = rows(path)
        t.ok(len(got) == 1 and abs(float(got[0]["retiring"]) - want[got[0]["comm"]]["retiring"]) < 1e-6 and
             all(got[0][k + "_error"] == "" for k in FIELDS + list(REST)), "one sample: its shares, and no errors of them", got)
        data, _ = recording(2, broken=True)
        with open(path, "wb") as f:
            f.write(data)
        got = rows(path)
        t.ok(all(r["core_bound"] == "" or r["core_bound"] == "nan" for r in got),
             "a child larger than its parent: the rest is not measured, and never negative",
             [r["core_bound"] for r in got])
        table = [x for x in by_event(json.loads(run("report", "-i", path, "-s", "comm", "-j").stdout)) if x["event"] == "cycles"][0]
        t.ok((table["topdown_rows"], table["topdown_rows_in_doubt"]) == (3, 3) and all(r["core_bound"] is None for r in table["rows"]),
             "json: null, and how many are in doubt", table)
        fields = run("report", "-i", path, "-s", "comm", "--fields", "comm,retiring,core_bound")
        t.ok("?" in fields.stdout and "3 of 3 rows: a part of the slots is larger than its whole" in fields.stdout,
             "on the screen it is a question mark, and why", fields.stdout)
        p = run("report", "-i", os.path.join(d, "none"), "--fields", "+mostly")
        t.ok(p.returncode == 2, "no such file", p.stderr)
    t.done()


if __name__ == "__main__":
    main()
