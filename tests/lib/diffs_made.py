# SPDX-License-Identifier: BSD-3-Clause
"""diffs_made - recordings with call chains whose samples are drawn, for comparisons.

    p = Program(directory)                  main calls outer and other, which call all functions of NAMES
    p.record(path, draw(rng, MEANS))        counts: {function: samples}; half of them by each caller
    draw(rng, MEANS, hot=1.05)              Poisson, with planted factors
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import account_made  # noqa: E402
import gen  # noqa: E402

PERIOD = 100003
NAMES = ["hot", "warm", "cool", "cold"] + ["f%d" % i for i in range(16)]
MEANS = dict(zip(NAMES, [800, 500, 200, 80] + [30 - i for i in range(16)]))
CALLERS = ["main", "outer", "other"]
USER = 0xfffffffffffffe00


def poisson(rng, mean):
    if mean > 500:  # close enough, and quick
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    n, p, end = 0, rng.random(), math.exp(-mean)
    while p > end:
        n, p = n + 1, p * rng.random()
    return n


def draw(rng, means, **factor):
    return {k: poisson(rng, v * factor.get(k, 1)) for k, v in means.items()}


class Program:
    def __init__(self, where, names=NAMES, event="cycles", more=()):
        """more: functions that are in the file and have no samples, so that others' addresses differ."""
        os.makedirs(where, exist_ok=True)
        self.names = CALLERS + list(more) + list(names)
        self.m = account_made.Made(where, [(event, 0x3c, PERIOD)], names=self.names)
        self.m.events[0][1]["sample"] |= gen.BIT["CALLCHAIN"]

    def address(self, name):
        return account_made.BASE + 0x1000 + self.names.index(name) * account_made.SIZE

    def record(self, path, counts):
        m, data = self.m, list(self.m.data)
        a = m.events[0][1]
        for name, n in counts.items():
            for k, caller in enumerate(CALLERS[1:]):
                some = n // 2 if k else n - n // 2
                s = gen.Sample(1, m.ids[0, 0])
                s.v.update(TID=(20, 20), TIME=(10, 1000 * account_made.MS)[k], CPU=0, PERIOD=PERIOD, IP=self.address(name),
                           CALLCHAIN=[USER, self.address(name), self.address(caller) + 3, self.address("main") + 3])
                body = b"".join(s.field(m.w, a, f) for f in gen.FIXED + gen.VARYING if a["sample"] & gen.BIT[f])
                data.append(m.w.record(gen.SAMPLE, body, 2) * some)
        m.f.data = b"".join(data)
        with open(path, "wb") as f:
            f.write(m.f.build())
        return path
