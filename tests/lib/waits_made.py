# SPDX-License-Identifier: BSD-3-Clause
"""waits_made - recordings of switches that are known one by one. Kernel functions come from KSYMBOL records.

    m = Made([b"do_nanosleep", b"main"])
    m.fork(1000, 7, 8)              # times in ns
    m.off(2000, 8, chain=[0])       # the event context-switches, then the switch record
    m.wake(5000, 8, by=7, chain=[1])
    m.on(5100, 8)
    m.write(path)
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

BASE, SIZE = 0xffffffffc0000000, 4096
KERNEL = 0xffffffffffffff80
SAMPLE = gen.BASE | gen.BIT["CALLCHAIN"]
OUT, PREEMPT = 1 << 13, 1 << 14
EVENTS = [("cpu-clock", dict(type=1, config=0, sample=gen.BASE, period=1000, sample_id_all=1, context_switch=1), [40]),
          ("context-switches", dict(type=1, config=3, sample=SAMPLE, period=1, sample_id_all=1), [41]),
          ("sched:sched_waking", dict(type=2, config=300, sample=SAMPLE | gen.BIT["RAW"], period=1, sample_id_all=1), [42]),
          ("sched:sched_switch", dict(type=2, config=301, sample=SAMPLE | gen.BIT["RAW"], period=1, sample_id_all=1), [43])]
CLOCK, STACK, WAKING, SWITCH, SOME = range(5)
# chains of some switches only
REFERENCE = ("ref-cycles", dict(type=0, config=9, sample=gen.BASE, period=20000, sample_id_all=1), [45])
THIN = ("context-switches", dict(type=1, config=3, sample=SAMPLE & ~gen.BIT["PERIOD"], period=61, sample_id_all=1), [44])


class Made:
    def __init__(self, functions, order="<", wide=False, cs=True, cgroups=None, thin=False, more=()):
        """cgroups: tid -> path; samples then have the cgroup's number. thin: chains come from an event of a frequency. more: events."""
        self.w, self.wide, self.cs, self.pids, self.cgroups = gen.Writer(order), wide, cs, {}, cgroups or {}
        self.events = [(n, dict(a, sample=a["sample"] | (gen.BIT["CGROUP"] if cgroups else 0)), i) for n, a, i in [*EVENTS, *[THIN] * thin, *more]]
        self.stack = SOME if thin else STACK
        self.f = gen.File(self.w, self.events)
        self.f.data = bytearray()  # to which records are added one by one
        self.f.features, _ = gen.features(self.w)
        for i, name in enumerate(functions):
            self.record(gen.KSYMBOL, self.w.pack("QIHH", BASE + i * SIZE, SIZE, 1, 0) + gen.pad8(name + b"\0"), 0, 0, 0)

        for i, path in enumerate(sorted(set(self.cgroups.values()))):
            self.record(gen.CGROUP, self.w.u64(100 + i) + gen.pad8(path.encode() + b"\0"), 0, 0, 0)

    def cgroup(self, tid):
        return 100 + sorted(set(self.cgroups.values())).index(self.cgroups[tid]) if tid in self.cgroups else 0

    def pid(self, tid):
        return self.pids.get(tid, tid)

    def trailer(self, time, tid, cpu):
        w = self.w
        return w.pack("II", self.pid(tid), tid) + w.u64(time) + w.pack("II", cpu, 0) + w.u64(40)

    def record(self, kind, body, time, tid, cpu, misc=0):
        self.f.data += self.w.record(kind, body + self.trailer(time, tid, cpu), misc)

    def sample(self, event, time, tid, cpu=0, chain=None, raw=b"", at=0, period=None, read=(0, 0, []), user=False):
        s = gen.Sample(1, self.events[event][2][0])
        s.v.update(IP=BASE + at * SIZE + 16, TID=(self.pid(tid), tid), TIME=time, CPU=cpu, PERIOD=period or (1000 if event == CLOCK else 1),
                   CALLCHAIN=[KERNEL] + [x if x >> 32 else BASE + x * SIZE + 16 for x in chain or []] if chain is not None else [], RAW=raw, CGROUP=self.cgroup(tid), READ=read)
        self.f.data += s.record(self.w, self.events[event][1], 2 if user else 1)

    def fork(self, time, parent, tid, pid=None):
        self.pids[tid] = pid or self.pid(parent)
        self.record(gen.FORK, self.w.pack("IIIIQ", self.pid(tid), self.pid(parent), tid, parent, time), time, parent, 0)

    def exit(self, time, tid):
        self.record(gen.EXIT, self.w.pack("IIIIQ", self.pid(tid), self.pid(tid), tid, tid, time), time, tid, 0)

    def comm(self, time, tid, name):
        self.record(gen.COMM, self.w.pack("II", self.pid(tid), tid) + gen.pad8(name + b"\0"), time, tid, 0)

    def switch(self, time, tid, cpu, misc, other=0):
        kind, body = (gen.SWITCH_CPU_WIDE, self.w.pack("II", other, other)) if self.wide else (gen.SWITCH, b"")
        self.record(kind, body, time, tid, cpu, misc)

    def off(self, time, tid, cpu=0, chain=None, preempted=False, idle=False):
        """preempted: by another task; idle: it could run, and yet the CPU became idle"""
        if self.cs and chain is not None:
            self.sample(self.stack, time, tid, cpu, chain)
        self.switch(time, tid, cpu, OUT | (PREEMPT if preempted or idle else 0), 5 if preempted else 0)

    def on(self, time, tid, cpu=0):
        self.switch(time, tid, cpu, 0)

    def wake(self, time, tid, by=0, cpu=0, chain=None, flags=0):
        raw = b"\0\0%c" % flags + b"\0" * 5 + b"woken".ljust(16, b"\0") + self.w.pack("iii", tid, 120, cpu)
        self.sample(WAKING, time, by, cpu, chain or [], raw)

    def traced(self, time, prev, state, next_, cpu=0, chain=None):
        raw = b"\0" * 8 + b"a".ljust(16, b"\0") + self.w.pack("iiq", prev, 120, state) + b"b".ljust(16, b"\0") + self.w.pack("ii", next_, 120)
        self.sample(SWITCH, time, prev, cpu, chain or [], raw)

    def tsc(self, hz):
        mult = round(1e9 * 2 ** 31 / hz)
        self.f.data += self.w.record(gen.TIME_CONV, self.w.u64(31, mult, 0, 0, 0) + bytes(8))

    def throttle(self, time, cpu, number):
        self.record(gen.THROTTLE, self.w.u64(time, number, number), time, 0, cpu)

    def lost(self, time, n, cpu=0):
        self.record(gen.LOST, self.w.u64(40, n), time, 0, cpu)

    def write(self, path, cut=0):
        whole = self.f.build()
        if cut:  # as if it had been interrupted: no features behind the data
            whole = whole[:whole.index(self.f.data) + len(self.f.data) - cut]
        with open(path, "wb") as out:
            out.write(whole)
        return path


def counted(path):
    """Two CPUs, of which one has samples of ref-cycles."""
    m = Made([b"work"], wide=True, more=[REFERENCE])
    m.tsc(2e9)
    m.on(1000, 7)
    m.on(1000, 8, 1)
    for i in range(1, 40):
        m.sample(SOME, 1000 + i * 10000, 7, period=20000)
    m.off(200000, 8, 1)
    m.off(400000, 7)
    return m.write(path)


def few(path, functions=(b"schedule", b"futex_wait", b"work"), thin=False):
    """Some waits for a lock, of a thread that another wakes; samples of both. thin: one in three has a chain."""
    m = Made(functions, thin=thin)
    for i in range(1, 90):
        m.off(i * 1000, 7, chain=None if thin and i % 3 else [0, 1, 2])
        m.sample(CLOCK, i * 1000 + 300, 8, 1)
        m.wake(i * 1000 + 600, 7, by=8, cpu=1, chain=[2])
        m.on(i * 1000 + 700, 7)
    return m.write(path)
