#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Losses: every kind has its own number, in info and in report; of a group each member's own count is summed.

Made recordings, in which no two numbers are equal."""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import gen  # noqa: E402
from tap import Tap, run  # noqa: E402

TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME PERIOD READ".split())
RECORD = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME PERIOD".split())


def made(kind, read, samples=(), records=()):
    """samples: [(id, value, lost), ...] each; records: bytes each"""
    w = gen.Writer("<")
    a = dict(type=4, config=0x3c, period=1000, sample=kind, sample_id_all=1, read=read)
    f = gen.File(w, [("ev%d" % i, dict(a, config=i), [100 + i]) for i in range(3)], attr_size=120)
    data = []
    for i, values in enumerate(samples):
        s = gen.Sample(i + 1, values[0][0])
        s.v.update(TID=(20, 20), TIME=100 + i, IP=0x400000, PERIOD=1000, READ=(50 + i, 40 + i, values))
        data.append(s.record(w, a))
    f.data = b"".join(data) + b"".join(w.record(kind, body + w.pack("IIQQ", 20, 20, 9, 100), misc) for kind, body, misc in records)
    return f.build()


def losses(path, *words):
    found = json.loads(run(*words, "-j", "-i", path).stdout)["losses"]
    return {k: v for k, v in found.items() if k not in ("partial", "ended", "ended_how")}  # how it ended: cli/test_ended.py


def main():
    t, w = Tap(), gen.Writer("<")
    group, single = gen.GROUP | gen.RID | gen.RLOST, gen.RID | gen.RLOST
    none = dict(lost=0, lost_records=0, lost_samples=0, read_lost=0, throttles=0, unthrottles=0, aux_lost=0, unattributed=0)
    members = [[(100, 10, 1), (101, 20, 20), (102, 30, 300)], [(100, 20, 2), (101, 40, 50), (102, 60, 700)]]
    throttle, again = w.u64(7, 100, 100), w.u64(8, 100, 100)
    cases = [
        ("each kind once more than the one before", RECORD, 0, (),
         [(gen.LOST, w.u64(100, 11), 0), (gen.LOST, w.u64(100, 6), 0), (gen.LOST_SAMPLES, w.u64(23), 0)] +
         [(gen.THROTTLE, throttle, 0)] * 3 + [(gen.UNTHROTTLE, again, 0)] * 4 +
         [(gen.AUX, w.u64(0, 8, 1), 0)] * 5 + [(gen.AUX, w.u64(0, 8, 0), 0)],
         dict(none, lost=17, lost_records=2, lost_samples=23, throttles=3, unthrottles=4, aux_lost=5)),
        ("samples of a group: the last count of each member", TYPE, group, members, (), dict(none, read_lost=752)),
        ("samples of single events", TYPE, single, [[(100, 10, 3)], [(101, 10, 40)], [(100, 20, 5)]], (), dict(none, read_lost=45)),
        ("counts that do not grow are the same losses", TYPE, group, members + members[:1], (), dict(none, read_lost=752)),
        ("READ of a group", RECORD, group, (),
         [(gen.READ, w.pack("II", 20, 20) + w.u64(3, 1000, 100, 4, 1000, 101, 60, 1000, 102, 800), 0)], dict(none, read_lost=864)),
        ("READ of a single event", RECORD, single, (), [(gen.READ, w.pack("II", 20, 20) + w.u64(1000, 101, 9), 0)],
         dict(none, read_lost=9)),
        ("no losses are asked for", TYPE, gen.GROUP | gen.RID, [[(100, 10, 0), (101, 20, 0)]], (), none),
    ]
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "made")
        for name, kind, read, samples, records, want in cases:
            with open(path, "wb") as f:
                f.write(made(kind, read, samples, records))
            t.equal(losses(path, "info"), want, "info: " + name)
            t.equal(losses(path, "report", "--no-cache"), want, "report: " + name)
    t.done()


if __name__ == "__main__":
    main()
