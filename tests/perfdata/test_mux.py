#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The share of time that events had a counter, out of samples that tell enabled and running times.

Recordings are made of a schedule that is known: at each moment an event has a counter or has none. What
a sample stands for then is known too, and so is the sum of what all stand for."""
import collections
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import gen  # noqa: E402
from tap import Tap  # noqa: E402

DUMP = os.environ["DUMP_MUX"]
TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD READ".split())
MS = 1000000
PERIOD = 10007


def mux(path, threads="0"):
    p = subprocess.run([DUMP, path, threads], capture_output=True, text=True, timeout=600)
    out = collections.defaultdict(list)
    for line in p.stdout.splitlines():
        f = line.split("\t")
        out[f[0].split()[0]].append(f[1:] or [line.split()[1]])
    return out, p.stderr


def attr(k, **more):
    return dict(dict(type=4, config=0x100 + k, period=PERIOD, sample=TYPE, sample_id_all=1,
                     read=gen.ENABLED | gen.RUNNING | gen.RID), **more)


class Made:
    """Samples of counters whose times are kept by the caller."""

    def __init__(self, n_events, n_cpus, **more):
        self.w = gen.Writer("<")
        self.ids = {(e, c): 100 + 10 * e + c for e in range(n_events) for c in range(n_cpus)}
        self.events = [("ev%d" % e, attr(e, **more), [self.ids[e, c] for c in range(n_cpus)])
                       for e in range(n_events)]
        self.f = gen.File(self.w, self.events, attr_size=120)
        self.value = collections.Counter()
        self.data = []

    def sample(self, event, cpu, tid, time, enabled, running, others=()):
        a = self.events[event][1]
        key = (event, cpu, tid if a.get("inherit") else 0)
        self.value[key] += PERIOD
        s = gen.Sample(1, self.ids[event, cpu])
        values = [(self.ids[event, cpu], self.value[key], 0)] + list(others)
        s.v.update(TID=(20, tid), TIME=time, CPU=cpu, IP=0x400000 + time % 64, READ=(enabled, running, values),
                   PERIOD=PERIOD)
        body = b"".join(s.field(self.w, a, n) for n in gen.FIXED + gen.VARYING if TYPE & gen.BIT[n])
        self.data.append((time, self.w.record(gen.SAMPLE, body, 2)))

    def throttle(self, event, cpu, tid, time, stops):
        i = self.ids[event, cpu]
        return self.w.record(gen.THROTTLE if stops else gen.UNTHROTTLE,
                             self.w.u64(time, i, i) + self.w.pack("IIQIIQ", 20, tid, time, cpu, 0, i))

    def write(self, path):
        self.f.data = b"".join(r for _, r in self.data)
        with open(path, "wb") as f:
            f.write(self.f.build())


def near(a, b, by=0.01):
    return abs(a - b) <= by * abs(b)


def phases(t, path):
    """Two CPUs, three threads that go about; each event has a counter a fourth of the time, later half of it."""
    m = Made(3, 2)
    rnd = random.Random(4)
    for cpu in range(2):
        for e in range(3):
            enabled = running = 0
            for i in range(4000):  # a millisecond each
                share = 4 if i < 2000 else 2
                on = (i // 4 + e) % share == 0 if share == 4 else (i // 4 + e) % 2 == 0
                enabled += MS
                running += MS if on else 0
                if on and rnd.random() < 0.5:
                    m.sample(e, cpu, 21 + rnd.randrange(3), (i + 1) * MS, enabled, running)
    m.write(path)
    out, err = mux(path)
    t.equal(out["by"], [["cpu"]], "threads that take turns on a CPU: its times only grow " + err)
    t.ok(all(e[1] == "1" and near(float(e[2]), 8 / 3, 0.02) and near(float(e[3]), 2, 0.06) and
             near(float(e[4]), 4, 0.1) for e in out["event"]), "mean, least, most of each event", out["event"])
    wrong = [f for f in out["factor"]
             if (int(f[3]) < 1900 * MS and not near(float(f[4]), 4, 0.1)) or
             (int(f[3]) > 2150 * MS and not near(float(f[4]), 2, 0.06))]
    t.equal(wrong[:3], [], "a fourth at first, half of it later: %d samples" % len(out["factor"]))
    for s in out["sum"]:
        want = sum(float(f[4]) * PERIOD for f in out["factor"] if f[0] == s[0])
        t.ok(near(int(s[2]), want, 1e-4), "%s: periods are weighed one by one" % s[0], "%s, want %s" % (s, want))
    t.equal(mux(path, "1")[0], out, "one worker or many, the same")
    # 2000 ms of a quarter and 2000 of a half are what the counters missed: samples stand for all of it
    total = sum(int(s[2]) for s in out["sum"])
    alone = sum(1 for f in out["factor"]) * PERIOD
    t.ok(near(total / alone, 8 / 3, 0.03), "in sum they stand for all of the time", total / alone)


def moved(t, path):
    """A task alone, that moves between CPUs; its counter runs on the CPU where it is."""
    for share in (1, 3):
        m = Made(1, 2)
        enabled, running, rounds = 0, [0, 0], []
        for i in range(3000):
            cpu = (i // 300) % 2
            on = (i // 2) % share == 0
            enabled += MS
            running[cpu] += MS if on else 0
            if on:
                m.sample(0, cpu, 20, (i + 1) * MS, enabled, running[cpu])
                rounds.append(cpu)
        # a ring is emptied after the other
        m.data = [d for r in range(3) for c in range(2)
                  for d, cpu in zip(m.data, rounds) if cpu == c and r * 1000 * MS <= d[0] < (r + 1) * 1000 * MS]
        m.write(path)
        out, _ = mux(path)
        t.equal(out["by"], [["thread"]], "a task that moved, 1 in %d: counters follow it" % share)
        t.ok(near(float(out["event"][0][2]), share, 0.01), "its mean is %d" % share, out["event"])
        bad = [f for f in out["factor"] if not near(float(f[4]), share, 0.05)]
        t.equal(bad[:3], [], "and so it is at every moment")


def threads(t, path):
    """Threads with counters of their own under one id: one shares its counter, the other hardly."""
    m = Made(2, 1, inherit=1)
    for i in range(2000):
        for tid, share, began in ((21, 5, 0), (22, 2, 700)):
            if i >= began and (i - began) % share == 0:
                k = i - began + 1
                m.sample(0, 0, tid, (i + 1) * MS, k * MS, ((k - 1) // share + 1) * MS)
    m.write(path)
    out, _ = mux(path)
    t.equal(out["by"], [["thread"]], "times that go back with another thread: its own")
    bad = [f for f in out["factor"] if not near(float(f[4]), 5 if f[2] == "21" else 2, 0.05)]
    t.equal(bad[:3], [], "each thread has its factor: %d samples" % len(out["factor"]))
    t.equal([e[1] for e in out["event"]], ["1", "0"], "an event without samples tells nothing")


def whole_cpus(t, path):
    """A thread that is on all CPUs, whose counters are the CPUs': enabled as long as the clock goes."""
    m = Made(1, 2)
    for i in range(2000):
        for cpu in range(2):
            if i % 2 == cpu:
                m.sample(0, cpu, 0, (i + 1) * MS, (i + 1) * MS, (i + 1) * MS)
    m.write(path)
    out, _ = mux(path)
    t.equal(out["by"], [["cpu"]], "counters that ran longer than one task could want are the CPUs'")
    t.ok(all(f[4] == "1" for f in out["factor"]), "and never lacked a counter")


def group(t, path):
    m = Made(3, 1, read=gen.ENABLED | gen.RUNNING | gen.RID | gen.GROUP)
    for i in range(1000):
        m.sample(0, 0, 20, (i + 1) * MS, (i + 1) * 3 * MS, (i + 1) * MS,
                 others=[(m.ids[e, 0], (i + 1) * 50 * e, 0) for e in (1, 2)])
    m.write(path)
    out, _ = mux(path)
    t.equal([(e[1], near(float(e[2]), 3)) for e in out["event"]], [("1", True)] * 3, "a group: all have the leader's")
    t.equal([s[1:] for s in out["sum"]], [["1000", str(1000 * PERIOD * 3)], ["1000", str(1000 * 50 * 3)],
                                          ["1000", str(1000 * 100 * 3)]], "and all are weighed")


def silent(t, path):
    m = Made(2, 1, read=gen.RID)
    for i in range(50):
        m.sample(i % 2, 0, 20, (i + 1) * MS, 0, 0)
    m.write(path)
    out, _ = mux(path)
    t.equal([e[1:] for e in out["event"]], [["0", "nan", "nan", "nan", "0"]] * 2, "without times nothing is told")
    t.equal([s[1:] for s in out["sum"]], [["25", str(25 * PERIOD)]] * 2, "and periods are what they were")


def throttled(t, path):
    """Events that the kernel stops until the next tick when they interrupt too often: their times go on. THROTTLE stands in
    front of the sample that was one too many. Half of them take turns, and are not there for a part of the pause. What
    samples stand for is what really happened, within the part that is made up."""
    for turns, unlucky in ((False, False), (True, False), (False, True)):
        m = Made(2, 1)
        rnd = random.Random(11)
        true, value = 0, 0
        enabled = running = paused = 0
        stopped = None  # the tick at which it counts again
        for i in range(40000):  # 0.1 ms each
            on = not turns or (i // 40) % 2 == 0
            rate = PERIOD / 3 if not unlucky or i % 400 < 200 else PERIOD / 6
            time = (i + 1) * MS // 10
            enabled += MS // 10
            running += MS // 10 if on else 0
            true += rate
            if stopped is not None and i >= stopped and on:
                m.data.append((time - 10, m.throttle(0, 0, 20, time - 10, False)))
                stopped = None
            if not on or stopped is not None:
                paused += MS // 10 if on else 0
                continue
            value += rate
            if value < PERIOD:
                continue
            value -= PERIOD
            if rnd.randrange(60) == 0:  # until the next tick but one, of 4 ms
                stopped = (i // 40 + 1) * 40
                m.data.append((time, m.throttle(0, 0, 20, time, True)))
            m.sample(0, 0, 20, time, enabled, running)
        m.write(path)
        out, err = mux(path)
        name = "throttled" + ", in turns" * turns + ", at another rate by and by" * unlucky
        got = float(out["paused"][0][1]) if out["paused"] else 0
        t.ok(near(got, paused, 0.06) and got > 0.05 * running, "%s: %.1f %% of its time on a counter it stood still, found %.1f %%" % (
            name, 100 * paused / running, 100 * got / running), err)
        total = next(int(s[2]) for s in out["sum"] if s[0] == "ev0")
        naive = next(int(s[1]) for s in out["sum"] if s[0] == "ev0") * PERIOD * enabled / running
        t.ok(abs(total / true - 1) < max(.02, got / running if unlucky else 0), "%s: %+.1f %% of the truth, %+.1f %% without the pauses" % (
            name, 100 * (total / true - 1), 100 * (naive / true - 1)))
        t.ok(naive / true < .96, "%s: which are not within chance" % name)
    # an odd order does no harm: never ended, ended twice, of no event
    m = Made(1, 1)
    for i, on in enumerate((True, True, False, False, True, False)):
        m.data.append((i * MS, m.throttle(0, 0, 20, i * MS, on)))
        m.sample(0, 0, 20, i * MS + 1, i * MS + 1, i * MS + 1)
    m.data.append((7 * MS, m.w.record(gen.THROTTLE, m.w.u64(7 * MS, 999, 999) + m.w.pack("IIQIIQ", 20, 20, 7 * MS, 0, 0, 999))))
    m.write(path)
    t.ok(mux(path)[0]["event"], "records out of order")


def ends(t, path):
    """What is left behind the last whole window: a window of its own from half of one on, else a part of the one before."""
    step, window = 125 * MS // 10, 100 * MS
    for left, want in ((7, 4), (4, 4), (3, (8 + 3) / (4 + 3 / 4)), (1, (8 + 1) / (4 + 1 / 4))):
        m = Made(1, 1)
        enabled = running = 0
        for i in range(4 * 8 + left + 1):
            if i:
                enabled += step
                running += step // (4 if i > 4 * 8 else 2)
            m.sample(0, 0, 20, 1 + i * step, enabled, running)
        m.write(path)
        out, err = mux(path)
        got = [float(f[4]) for f in out["factor"]]
        before = 4 * 8 if left >= 4 else 3 * 8
        t.ok(len(got) == 33 + left and all(near(x, 2, 1e-6) for x in got[:before + 1]) and
             all(near(x, want, 1e-6) for x in got[before + 1:]),
             "the end, %d ms of a window of %d: another share there, a factor of %.3f" % (left * step // MS, window // MS, want),
             "%s %s" % (got, err))


def odd(t, path):
    """Times that no kernel would write."""
    m = Made(1, 1)
    for i, (en, ru) in enumerate([(0, 0), (1 << 63, 1), ((1 << 64) - 1, 1), (5, 1 << 63), (1, 0), (3, 3)] * 50):
        m.sample(0, 0, 20, i, en, ru)
    m.write(path)
    out, err = mux(path)
    t.ok(out["event"] and not err, "times that make no sense do no harm", err)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        for case in (phases, moved, threads, whole_cpus, group, silent, throttled, ends, odd):
            case(t, os.path.join(d, "made"))
    t.done()
    return 1 if t.bad else 0


if __name__ == "__main__":
    sys.exit(main())
