# SPDX-License-Identifier: BSD-3-Clause
"""spe_made - recordings of Arm's Statistical Profiling Extension, made here from the Arm ARM's description of its packets.

    r = Record(pc=0x401000, op=load(), events=L1D | RETIRED, va=0x7f0000001000, total=40, issue=8, source=8, time=100)
    trace = r.bytes() + padding(16) + ...
    write(path, [Trace(cpu, trace)], midr=N2)
    drawn(random.Random(1), 1000)       # records with every packet type and field
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402


def midr(implementer, part, variant=1, revision=1):
    return implementer << 24 | variant << 20 | 0xf << 16 | part << 4 | revision


N1, V1, N2, V2, V3AE, V3, N3 = (midr(0x41, p) for p in (0xd0c, 0xd40, 0xd49, 0xd4f, 0xd83, 0xd84, 0xd8e))
A53, A78, A720, X1C = (midr(0x41, p) for p in (0xd03, 0xd41, 0xd81, 0xd4c))
COBALT, OLYMPUS = midr(0x6d, 0xd49), midr(0x4e, 0x10)
AMPERE1, AMPERE1A = midr(0xc0, 0xac3), midr(0xc0, 0xac4)
HIP09, HIP12 = midr(0x48, 0xd02), midr(0x48, 0xd06)
PARTS = {"n1": N1, "v1": V1, "n2": N2, "v2": V2, "n3": N3, "v3": V3, "v3ae": V3AE, "x1c": X1C, "a720": A720, "a78": A78, "cobalt100": COBALT,
         "olympus": OLYMPUS, "ampere1": AMPERE1, "ampere1a": AMPERE1A, "hip09": HIP09, "hip12": HIP12}
EXCEPTION, RETIRED, L1D, L1D_REFILL, TLB, TLB_WALK, NOT_TAKEN, MISPREDICTED, LLC, LLC_MISS, REMOTE, MISALIGNED = (1 << b for b in range(12))
TXN, PARTIAL, EMPTY, L2D, L2D_MISS, HITM, FETCHED, SNOOPED, STREAMING, SMCU = (1 << b for b in range(16, 26))
OTHER, LDST, BRANCH = range(3)  # classes of operations
PMU, SPE_ID, DUMMY_ID = 11, 40, 41


def packet(head, value, size, long=False):
    """A packet whose payload has `size` bytes. `long`: with a header of two bytes."""
    head |= {1: 0, 2: 0x10, 4: 0x20, 8: 0x30}[size]
    return (bytes([0x20]) if long else b"") + bytes([head]) + value.to_bytes(size, "little")


def padding(n):
    return bytes(n)


def address(index, value, long=False):
    return packet(0x80 | index, value, 8, long)


def counter(index, cycles, long=False):
    return packet(0x88 | index, cycles, 2, long)


def code(pc, el=0, ns=1):
    """An instruction's address: exception level and security state above 56 bits."""
    return pc & (1 << 56) - 1 | el << 61 | ns << 63


def load(sub=0):
    return LDST, sub & ~1


def store(sub=0):
    return LDST, sub | 1


class Record:
    """What is None has no packet."""
    def __init__(self, pc=None, el=0, ns=1, op=None, events=None, va=None, pa=None, target=None, previous=None, total=None, issue=None,
                 xlat=None, source=None, context=None, time=None, long=False, size=None, source_size=1, context_el=1):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})

    def bytes(self):
        b = b""
        if self.pc is not None:
            b += address(0, code(self.pc, self.el, self.ns), self.long)
        if self.context is not None:
            b += packet(0x64 - 0x20 | self.context_el - 1, self.context, 4)
        if self.op is not None:
            b += packet(0x48 | self.op[0], self.op[1], 1)
        for index, v in ((1, self.issue), (0, self.total)):
            if v is not None:
                b += counter(index, v, self.long)
        if self.events is not None:
            b += packet(0x42, self.events, self.size or (4 if self.events >> 16 else 2), False)
        if self.source is not None:
            b += packet(0x43, self.source, self.source_size, False)
        if self.target is not None:
            b += address(1, self.target, self.long)
        if self.previous is not None:
            b += address(4, self.previous, self.long)
        if self.va is not None:
            b += address(2, self.va, self.long)
        if self.xlat is not None:
            b += counter(2, self.xlat, self.long)
        if self.pa is not None:
            b += address(3, self.pa, self.long)
        return b + (bytes([1]) if self.time is None else packet(0x71 - 0x30, self.time, 8))


# ---- random ones ----

LDST_SUB = [0x00, 0x04, 0x10, 0x30, 0x14, 0x20, 0x24, 0x40, 0x44] + [0x02 | x << 2 for x in range(8)] + \
    [0x08 | evl << 4 | more for evl in range(6) for more in (0, 4, 0x80, 0x84)]
OTHER_SUB = list(range(8)) + [0x08 | evl << 4 | more for evl in range(6) for more in (0, 2, 4, 6)] + [0x88 | ets << 4 | more for ets in range(4) for more in (0, 2, 4, 6)]


def drawn(rnd, n, sources=range(16), time=1000, contexts=(None,), kernel=True):
    """Records with every field at random values; times grow."""
    out = []
    for _ in range(n):
        what = rnd.random()
        time += rnd.randrange(1, 50)
        el = rnd.choice([0, 0, 0, 1, 2]) if kernel else 0
        r = Record(pc=(0x401000 + 4 * rnd.randrange(512)) if not el else 0xff00000008000000 + 4 * rnd.randrange(1 << 16) | 0xffff << 40, el=el, time=time,
                   events=RETIRED * rnd.randrange(2), long=rnd.random() < 0.1, context=rnd.choice(contexts), context_el=rnd.choice([1, 2]))
        r.events |= rnd.getrandbits(26) & rnd.getrandbits(26)
        if rnd.random() < 0.05:
            r.events |= 1 << rnd.choice([12, 13, 14, 15, 26, 31, 40, 63])
        r.size = 8 if r.events >> 32 else rnd.choice([4, 8] if r.events >> 16 else [2, 4, 8] if r.events >> 8 else [1, 2, 4, 8])
        r.total, r.issue = rnd.choice([None, rnd.randrange(4096), rnd.randrange(100)]), rnd.choice([None, rnd.randrange(40)])
        if what < 0.7:
            r.op = LDST, rnd.choice(LDST_SUB) | rnd.randrange(2)
            r.source, r.source_size = rnd.choice([None, rnd.choice(list(sources))]), rnd.choice([1, 1, 2])
            r.va = rnd.choice([None, rnd.getrandbits(48), rnd.getrandbits(40) | 0xff << 56 | 0xff << 48, rnd.getrandbits(64)])
            r.pa = rnd.choice([None, rnd.getrandbits(48) | rnd.getrandbits(2) << 62 | rnd.getrandbits(4) << 56])
            r.xlat = rnd.choice([None, rnd.randrange(300)])
        elif what < 0.85:
            r.op = BRANCH, rnd.choice([0, 1, 2, 3]) | rnd.randrange(4) << 3 | rnd.randrange(2) << 2
            r.target, r.previous = rnd.choice([None, code(0x402000 + 4 * rnd.randrange(512))]), rnd.choice([None, code(0x403000 + 4 * rnd.randrange(512))])
        else:
            r.op = OTHER, rnd.choice(OTHER_SUB)
        out.append(r)
    return out


# ---- recordings ----

class Trace:
    """Bytes of one CPU's buffer, or of a thread's (cpu -1). flags: of the AUX record: 1 truncated, 4 partial, 8 collided."""
    def __init__(self, cpu, data, tid=-1, time=2000, flags=0, offset=0, aux=True):
        self.cpu, self.data, self.tid, self.time, self.flags, self.offset, self.aux = cpu, data, tid, time, flags, offset, aux


TYPE = "IP TID TIME CPU IDENTIFIER DATA_SRC".split()
TAIL = "TID TIME CPU IDENTIFIER".split()


def tail(w, event, pid, tid, time, cpu):
    return w.pack("II", pid, tid) + w.u64(time) + w.pack("II", cpu, 0) + w.u64(event)


def metadata(w, cpus, version=2, filters=0):
    """The private part of AUXTRACE_INFO: version 1 has no CPUs' registers."""
    if version == 1:
        return w.u64(PMU, 1)
    out = w.u64(2, 4, PMU, len(cpus))
    for cpu, m in cpus.items():
        out += w.u64(0x1010101010101010, cpu, 4, m, PMU, 1024, filters)
    return out


def write(path, traces, midr=N2, cpus=None, version=2, filters=0, conv=(0, 1, 0, 0, 0, 0), maps=(), comms=((20, 20, "work"),), more=b"",
          period=1024, config=0x600000001, order="<", types=TYPE, switches=(), cpuid=True, start=True, latency=0):
    """conv: shift, mult, zero, cycles, mask, short. maps: (pid, start, size, path, offset, build-id). switches: (time, cpu, out, pid, tid)."""
    w = gen.Writer(order)
    cpus = cpus or {c: midr for c in sorted({t.cpu for t in traces if t.cpu >= 0} | {0})}
    sample = sum(gen.BIT[n] for n in types)
    common = dict(sample=sample, sample_id_all=1)
    events = [("arm_spe_0/ts_enable=1,load_filter=1,store_filter=1/", dict(common, type=PMU, config=config, c2=latency, period=period), [SPE_ID]),
              ("dummy:u", dict(common, type=1, config=9, period=1, mmap=1, mmap2=1, comm=1, task=1, exclude_kernel=1, context_switch=1, build_id=1), [DUMMY_ID])]
    f = gen.File(w, events)
    f.features = {6: w.text("aarch64"), 7: w.pack("II", 4, 4), 16: w.pack("I", 2) + w.pack("I", 1) + w.text("software") + w.pack("I", PMU) + w.text("arm_spe_0"),
                  18: w.u64(0)}
    if cpuid:
        f.features[9] = w.text("0x%016x" % midr)
    f.data += w.record(gen.TIME_CONV, w.u64(*conv[:3], *conv[3:5]) + bytes([1, conv[5]]) + bytes(6))
    f.data += w.record(gen.AUXTRACE_INFO, w.pack("II", 4, 0) + metadata(w, cpus, version, filters))
    for pid, tid, comm in comms:
        f.data += w.record(gen.COMM, w.pack("II", pid, tid) + gen.text8(comm) + tail(w, DUMMY_ID, pid, tid, 10, 0), 1 << 13)
    for pid, at, size, name, offset, build_id in maps:
        f.data += w.record(gen.MMAP2, w.pack("IIQQQ", pid, pid, at, size, offset) + bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0") + w.pack("II", 5, 2) +
                           gen.text8(name) + tail(w, DUMMY_ID, pid, pid, 20, 0), 1 << 14 | 2)
    if start:
        for t in traces:
            if t.tid >= 0:
                f.data += w.record(gen.ITRACE_START, w.pack("II", t.tid, t.tid) + tail(w, SPE_ID, t.tid, t.tid, 30, max(t.cpu, 0)))
    for time, cpu, out, pid, tid in switches:
        f.data += w.record(gen.SWITCH_CPU_WIDE, w.pack("II", pid, tid) + tail(w, DUMMY_ID, 0, 0, time, cpu), out << 13)
    for i, t in enumerate(traces):
        if t.aux:
            f.data += w.record(gen.AUX, w.u64(t.offset, len(t.data), t.flags) + tail(w, SPE_ID, max(t.tid, 0), max(t.tid, 0), t.time, max(t.cpu, 0)))
    for i, t in enumerate(traces):
        queue = t.cpu if t.cpu >= 0 else i
        f.data += w.record(gen.AUXTRACE, w.u64(len(t.data), t.offset, i) + w.pack("IiiI", queue, t.tid, t.cpu, 0)) + t.data
    f.data += more
    with open(path, "wb") as out:
        out.write(f.build())
