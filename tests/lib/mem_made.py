# SPDX-License-Identifier: BSD-3-Clause
"""mem_made - recordings of memory operations, made here: PERF_SAMPLE_DATA_SRC with weights as Intel's kernels write them.

    samples = drawn(random.Random(1), 1000)     # all combinations of data_src's fields
    write(path, samples, INTEL)
"""
import itertools
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

INTEL, AMD = "GenuineIntel,6,143,8", "AuthenticAMD,25,17,1"
KINDS = {"load": 2, "store": 4, "prefetch": 8, "exec": 16, None: 1}
# field of union perf_mem_data_src: lowest bit, values that the kernel writes
FIELDS = {
    "op": (0, [2, 2, 2, 4, 4, 8, 16, 1]),
    "lvl": (5, [h | 1 << b for h in (0, 2, 4) for b in range(3, 14)] + [2 | 0x40 | 0x400, 1, 0]),
    "snoop": (19, [1, 2, 4, 8, 16, 2 | 8, 0]),
    "lock": (24, [1, 2, 0]),
    "tlb": (26, [1, 2 | 8, 2 | 16, 4 | 8, 4 | 16, 2 | 8 | 16, 4 | 8 | 16, 4 | 32, 2 | 32, 4 | 64, 32, 2, 4, 0]),
    "num": (33, [0, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15]),
    "remote": (37, [0, 0, 1]),
    "snoopx": (38, [0, 0, 0, 1, 2]),
    "blk": (40, [1, 2, 4, 6, 0]),
    "hops": (43, [0, 0, 0, 1, 2, 3, 4]),
}
TYPE = "IDENTIFIER IP TID TIME ADDR CPU PERIOD WEIGHT_STRUCT DATA_SRC"
TEXT, SYMBOLS = 0x401000, 8  # functions of 256 bytes in the file that `write` names


class Sample:
    def __init__(self, src, weight=0, instruction=0, retire=0, ip=TEXT, addr=0x7f0000001000, tid=20, cpu=0, period=1000):
        self.src, self.weight, self.instruction, self.retire = src, weight, instruction, retire
        self.ip, self.addr, self.tid, self.cpu, self.period = ip, addr, tid, cpu, period


def field(src, name):
    at, values = FIELDS[name]
    return src >> at & (1 << max(v.bit_length() for v in values)) - 1


def data_src(**fields):
    return sum(v << FIELDS[n][0] for n, v in fields.items())


# mem_lvl with the newer fields that kernels write beside it: mem_lvl_num, mem_remote
BESIDE = {3: (1, 0), 4: (12, 0), 5: (2, 0), 6: (3, 0), 7: (13, 0), 8: (13, 1), 9: (13, 1), 10: (11, 1), 11: (11, 1), 12: (10, 0), 13: (0, 0)}


def plain(v):
    """No two values of the newer fields with the same value of the older: what perf report sorts by the older alone."""
    level = max(b for b in range(14) if v["lvl"] >> b & 1) if v["lvl"] else 0
    v["num"], v["remote"] = BESIDE.get(level, (0, 0))
    v["snoopx"] = v["hops"] = 0


def drawn(rnd, n, as_kernels=False):
    out = []
    for _ in range(n):
        v = {k: rnd.choice(v) for k, (_, v) in FIELDS.items()}
        if as_kernels:
            plain(v)
        if v["hops"] and v["num"] in (0, 15):  # which go with the number only
            v["num"] = 11
        src = data_src(**v)
        # long tails, as latencies have: some above what one table entry each holds
        weight = min(int(30 * rnd.paretovariate(0.7)), (1 << 32) - 1) if rnd.random() < 0.9 else 0
        out.append(Sample(src, weight, rnd.randrange(1 << 16), rnd.randrange(40), TEXT + 16 * rnd.randrange(16 * SYMBOLS),
                          rnd.choice([0, 0x7f0000000000 + 8 * rnd.randrange(1 << 20)]), 20 + rnd.randrange(3), rnd.randrange(4)))
    return out


def combined(rnd):
    """Each combination of the older fields once, the newer ones as the kernel writes them beside these."""
    names = ("op", "lvl", "snoop", "lock", "tlb", "blk")
    out = drawn(rnd, len(FIELDS["lvl"][1]) * math.prod(len(set(FIELDS[n][1])) for n in names if n != "lvl"))
    for sample, values in zip(out, itertools.product(*(sorted(set(FIELDS[n][1])) if n != "lvl" else FIELDS[n][1] for n in names))):
        v = dict(zip(names, values))
        plain(v)
        sample.src = data_src(**v)
    return out


def write(path, samples, cpuid=INTEL, ldlat=30, program="/nonexistent/program", text_offset=0x1000, bare=(), size=0x10000, bare_name="cycles:P"):
    """bare: samples of bare_name behind them, with weights alone (perf record -W); samples None: only these."""
    w = gen.Writer("<")
    a = dict(type=4, config=0x1cd, c1=ldlat, period=1000, sample=sum(gen.BIT[n] for n in TYPE.split()), sample_id_all=1, precise_ip=3)
    cycles = dict(a, type=0, config=0, c1=0, sample=a["sample"] & ~(gen.BIT["DATA_SRC"]))
    events = [("cpu/mem-loads,ldlat=%d/P" % ldlat, a, [1])] if samples is not None else []
    f = gen.File(w, events + ([(bare_name, cycles, [2])] if bare else []), attr_size=120)
    f.features = {6: w.text("x86_64"), 9: w.text(cpuid)}
    trailer = w.pack("IIQII", 20, 20, 0, 0, 0) + w.u64(2 if samples is None else 1)
    rows = [w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("made") + trailer),
            w.record(gen.MMAP2, w.pack("IIQQQIIQQII", 20, 20, TEXT, size, text_offset, 8, 1, 77, 0, 5, 2) + gen.text8(program) + trailer, 2)]
    for i, (s, told) in enumerate([(s, True) for s in samples or ()] + [(s, False) for s in bare]):
        rows.append(w.record(gen.SAMPLE, w.u64(1 if told else 2, s.ip) + w.pack("II", 20, s.tid) + w.u64(1000 + i, s.addr) + w.pack("II", s.cpu, 0) +
                             w.u64(s.period, s.weight | s.instruction << 32 | s.retire << 48, *([s.src] if told else ())), 2))
    f.data = b"".join(rows)
    with open(path, "wb") as out:
        out.write(f.build())


def write_hybrid(path):
    """Loads of both kinds of cores of a hybrid CPU, without addresses."""
    w = gen.Writer("<")
    sample = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME PERIOD WEIGHT_STRUCT DATA_SRC".split())
    attr = dict(config=0x1cd, c1=30, period=1000, sample=sample, sample_id_all=1, precise_ip=3)
    f = gen.File(w, [("cpu_core/mem-loads,ldlat=30/P", dict(attr, type=4), [1]), ("cpu_atom/mem-loads,ldlat=30/P", dict(attr, type=10, config=0x5d0), [2])], attr_size=120)
    f.features = {6: w.text("x86_64"), 9: w.text("GenuineIntel,6,151,2"), 16: w.pack("I", 2) + w.pack("I", 4) + w.text("cpu_core") + w.pack("I", 10) + w.text("cpu_atom")}
    for i in range(40):
        f.data += w.record(9, w.u64(1 + i % 2, 0x401000) + w.pack("II", 20, 20) + w.u64(1000 + i, 1000, 50 if i % 2 else 400, data_src(op=2, lvl=2 | 8, num=1)), 2)
    with open(path, "wb") as out:
        out.write(f.build())


def write_ibs(path, ops, fetches, l3_only=False, mapped=None, caps=0xbff, cpuid=AMD, cpus=None, features=None, cycles=False, user=False):
    """Samples of IBS as their registers. cycles: ops selected by cycles; user: without the kernel's. mapped: a program, the offset of its code,
    which is at TEXT, and its size. cpus: of each op. features: more of the header, by bit."""
    w = gen.Writer("<")
    sample = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD RAW DATA_SRC".split())
    attr = dict(period=1000, sample=sample, sample_id_all=1, use_clockid=1, clockid=4)
    f = gen.File(w, [("ibs_op//", dict(attr, type=9, config=l3_only << 16 | (not cycles) << 19, exclude_kernel=user), [1]), ("ibs_fetch//", dict(attr, type=8), [2])], attr_size=120)
    f.features = {6: w.text("x86_64"), 9: w.text(cpuid), 16: w.pack("I", 2) + w.pack("I", 8) + w.text("ibs_fetch") + w.pack("I", 9) + w.text("ibs_op"), **(features or {})}
    if mapped:
        trailer = w.pack("IIQII", 20, 20, 0, 0, 0) + w.u64(1)
        f.data += w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("made") + trailer)  # without it, AutoFDO's tools see no samples
        f.data += w.record(gen.MMAP2, w.pack("IIQQQIIQQII", 20, 20, TEXT, mapped[2] if mapped[2:] else 0x10000, mapped[1], 8, 1, 77, 0, 5, 2) + gen.text8(mapped[0]) + trailer, 2)
    rows = []
    for i, (k, regs) in enumerate([(1, r) for r in ops] + [(2, r) for r in fetches]):
        raw = w.pack("I", caps) + w.u64(*regs)
        rows.append(w.record(9, w.u64(k, regs[1]) + w.pack("II", 20, 20) + w.u64(1000) + w.pack("II", cpus[i] if cpus else 0, 0) + w.u64(1000) +
                           w.pack("I", len(raw)) + raw + w.u64(0x229080142), 2))  # a data_src that says "L1 hit" of all
    f.data += b"".join(rows)
    with open(path, "wb") as out:
        out.write(f.build())


def write_ibs_drawn(path, rnd, n, kinds, places, mapped):
    """n samples of Zen 4's ops, made column by column. kinds: 256 of (OpData2, OpData3, highest latency / 256), places: 256 addresses, each
    drawn as often as the others. -> number of the kind and of the place of each, latencies (low and high bytes)."""
    w = gen.Writer("<")
    f = gen.File(w, [("ibs_op//", dict(period=1000, sample=sum(gen.BIT[x] for x in "IDENTIFIER IP TID TIME CPU PERIOD RAW".split()), sample_id_all=1,
                                       type=9, config=1 << 19), [1])], attr_size=120)
    f.features = {6: w.text("x86_64"), 9: w.text(AMD), 16: w.pack("I", 1) + w.pack("I", 9) + w.text("ibs_op")}
    kind, place, low = (rnd.randbytes(n) for _ in range(3))
    number = lambda b: int.from_bytes(b, "little")
    # the smaller, the more often; up to the kind's highest, and in places with an odd number never small
    high = (number(rnd.randbytes(n)) & number(rnd.randbytes(n)) & number(kind.translate(bytes(k[2] for k in kinds))) |
            number(place.translate(bytes(i & 1 for i in range(256))))).to_bytes(n, "little")
    one = w.record(9, w.u64(1, 0) + w.pack("II", 20, 20) + w.u64(1000) + w.pack("II", 0, 0) + w.u64(1000) + w.pack("II", 68, 0xbff) +
                   w.u64(3 << 17, 0, 0, 0, 0, 0x7000, 0x1000, 0), 2)
    rows = bytearray(one) * n
    of = lambda column, at, values: [column.translate(bytes(v >> 8 * i & 255 for v in values)) for i in range(at)]
    data3 = of(kind, 4, [k[1] for k in kinds])
    for at, columns in ((16, of(place, 4, places)), (88, of(kind, 1, [k[0] for k in kinds])), (96, data3 + [low, high])):
        for i, column in enumerate(columns):
            rows[at + i::len(one)] = column
    trailer = w.pack("IIQII", 20, 20, 0, 0, 0) + w.u64(1)
    rows[:0] = w.record(gen.MMAP2, w.pack("IIQQQIIQQII", 20, 20, TEXT, 0x10000, mapped[1], 8, 1, 77, 0, 5, 2) + gen.text8(mapped[0]) + trailer, 2)
    f.data = rows  # of 128 bytes a sample: no copy more than need be
    with open(path, "wb") as out:
        out.write(f.build())
    return kind, place, low, high
