# SPDX-License-Identifier: BSD-3-Clause
"""memory_made - one recording that has all that there is to say of memory: IBS ops and fetches of two threads on the CPUs of two nodes,
loads, stores and locked operations, with sources, latencies, refills, pages and physical addresses, of variables with types and of
memory whose allocation was logged.

    write("x.data", program)        # program: tests/progs/data.c; what is drawn is the same each time
"""
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
import heap_made  # noqa: E402

PID, BASE, HEAP, UNLOGGED, BLOCK = 100, 0x555555554000, 0x7f0000000000, 0x7e0000000000, 128 << 20
OP, FETCH = 1, 2  # ids of the events
# of IBS_OP_DATA3
LOAD, STORE, L1_TLB, L2_TLB, DC_MISS, LOCKED, LINEAR, PHYSICAL, L2_MISS = 1, 2, 4, 8, 1 << 7, 1 << 15, 1 << 17, 1 << 18, 1 << 20
L3, NEAR_CACHE, DRAM, REMOTE = 1, 2, 3, 1 << 4  # of IBS_OP_DATA2


def symbols(program):
    """Its symbols as (run-time address, size), offset, address and size of its code, and instructions of `visit` that access memory."""
    at, text = {}, None
    for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
        word = line.split()
        if len(word) == 4:
            at[word[3]] = BASE + int(word[0], 16), int(word[1], 16)
    for line in subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout.splitlines():
        word = line.split()
        if word[:1] == ["LOAD"] and "E" in word[6:-1]:
            text = [int(x, 16) for x in (word[1], word[2], word[5])]
    start, size = at["visit"]
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--start-address=%d" % (start - BASE), "--stop-address=%d" % (start - BASE + size), program],
                          capture_output=True, text=True, check=True).stdout
    access = [(BASE + int(m[1], 16), m[2]) for m in re.finditer(r"(?m)^ +([0-9a-f]+):\t(.*)", code) if re.search(r"[(\[]", m[2]) and not re.match("lea|nop", m[2])]
    return at, text, [a for a, _ in access] or [start]


def op(rnd, ip, address, kind, node, home, width=8, locked=False, hit=False, walk=False, page=0):
    """Registers of an op on Zen 4 on a CPU of `node`, of memory of node `home`."""
    source, latency = (0, 0) if hit else rnd.choice([(L3, 40), (NEAR_CACHE, 90), (DRAM, 200), (DRAM, 200)])
    if source == DRAM and node != home:
        source, latency = source | REMOTE, latency + 150
    latency += rnd.randrange(30) if latency and kind & LOAD else -latency
    refill = rnd.randrange(20, 60) if walk else 0
    data3 = kind | LINEAR | PHYSICAL | width.bit_length() << 22 | page << 4 | LOCKED * locked | (L1_TLB | L2_TLB) * walk | refill << 48
    data3 |= 0 if hit else DC_MISS | L2_MISS | rnd.randrange(1, 6) << 26 | latency << 32
    tag = 20 + latency + rnd.randrange(40)
    return [3 << 17 | 1 << 19, ip, rnd.randrange(1, 20) | tag << 16, source, data3, address, home * 64 * BLOCK + address % BLOCK, 0]


def fetch(rnd, ip):
    """Of a fetch: most are delivered, of all levels, and some walk."""
    level, walk, done = rnd.randrange(4), rnd.random() < 0.2, rnd.random() < 0.8
    ctl = rnd.randrange(5, 60) << 32 | 3 << 48 | done << 50 | (level > 0) << 51 | (level > 1) << 58 | (level > 2) << 61 | walk << 55 | walk << 56 | 1 << 52
    return [ctl, ip, ip % BLOCK, rnd.randrange(20, 60) if walk else 0]


def drawn(rnd, at, code, n):
    """(time, thread, CPU, registers) of ops."""
    rows = []
    for i in range(n):
        who = i & 1
        line, what = rnd.randrange(64), rnd.randrange(8)
        more = dict(hit=rnd.random() < 0.4, walk=rnd.random() < 0.3)
        if what < 3:  # the first field of an account, and one of the next line
            address, kind = at["accounts"][0] + 80 * line + (72 if what == 0 else 0), STORE if what == 1 else LOAD
        elif what < 5:  # each thread has words of its own, all on one line
            address, kind = at["counters"][0] + 8 * (2 * rnd.randrange(2) + who), rnd.choice([LOAD, STORE])
        elif what == 5 and i % 3:
            address, kind = at["lock"][0], LOAD | STORE
            more = dict(locked=True)
        elif what == 5:  # memory that nobody logged
            address, kind = UNLOGGED + 8 * rnd.randrange(512), LOAD
        else:  # memory of the first node
            address, kind = HEAP + 8 * rnd.randrange(1 << 17), LOAD
            more["page"] = rnd.randrange(2)
        ip = at["visit"][0] if what < 3 and i % 5 == 0 else rnd.choice(code)  # where nothing is accessed: the address alone tells of what it is
        rows.append((2000 + 10 * i, PID + who, 4 * who + i // 2 % 4, op(rnd, ip, address, kind, who, 0, **more)))
    return rows


def log(at):
    """Of the allocator: a large block that is in use, small ones of which some are freed."""
    def word(kind, value, *more):
        return struct.pack("<%dQ" % (1 + len(more)), kind << 56 | value, *more)

    out = b"".join(word(heap_made.CHAIN, 2 << 32 | i, at["make_table"][0] + 5 + i, at["main"][0] + 9) for i in range(2))
    out += word(heap_made.ALLOC, HEAP, 1000, 1 << 20)
    for i in range(20):
        out += word(heap_made.ALLOC, HEAP + (2 << 20) + 64 * i, 1001 + i, 1 << 40 | 48)
        if i % 2:
            out += word(heap_made.FREE, HEAP + (2 << 20) + 64 * i, 1030 + i)
    return heap_made.chunk(PID, 10, out, parent=1)


def nodes(w):
    """The two nodes' CPUs and memory, in the header's form: 8 GB each."""
    def text(s):
        return struct.pack("<I64s", 64, s.encode())

    cpus = struct.pack("<I", 2) + b"".join(struct.pack("<IQQ", n, 8 << 20, 4 << 20) + text("%d-%d" % (4 * n, 4 * n + 3)) for n in range(2))
    memory = struct.pack("<QQQ", 1, BLOCK, 2)
    for n in range(2):
        bits = 64 * n + 64
        memory += struct.pack("<QQQ", n, bits, bits) + ((1 << 64) - 1 << 64 * n).to_bytes(bits // 8, "little")
    return {6: w.text("x86_64"), 7: w.pack("II", 8, 8), 9: w.text("AuthenticAMD,25,17,1"), 14: cpus, 22: memory,
            16: w.pack("I", 2) + w.pack("I", 8) + w.text("ibs_fetch") + w.pack("I", 9) + w.text("ibs_op")}


def write(path, program, ops=None, fetches=60, heap=None):
    """ops, heap: others than those that are drawn, and the log of the allocations."""
    rnd, w = random.Random(29), gen.Writer("<")
    at, (offset, vaddr, size), access = symbols(program)
    types = "IDENTIFIER IP TID TIME CPU PERIOD RAW".split()
    attr = dict(period=1000, sample=sum(gen.BIT[x] for x in types), sample_id_all=1, mmap=1, comm=1, use_clockid=1, clockid=4)
    f = gen.File(w, [("ibs_op//", dict(attr, type=9, config=1 << 19), [OP]), ("ibs_fetch//", dict(attr, type=8), [FETCH])], attr_size=120)
    f.features = {**nodes(w), 194: log(at) if heap is None else heap}
    trailer = w.pack("IIQII", PID, PID, 0, 0, 0) + w.u64(OP)
    rows = [w.record(gen.COMM, w.pack("II", PID, PID) + gen.text8("made") + trailer),
            w.record(gen.FORK, w.pack("IIIIQ", PID, PID, PID + 1, PID, 0) + trailer),
            w.record(gen.COMM, w.pack("II", PID, PID + 1) + gen.text8("other") + trailer),
            w.record(gen.MMAP2, w.pack("IIQQQIIQQII", PID, PID, BASE + (vaddr & -4096), (size + 8191) & -4096, offset & -4096, 8, 1, 77, 0, 5, 2) +
                     gen.text8(os.path.abspath(program)) + trailer, 2)]
    samples = [(*x, OP) for x in (drawn(rnd, at, access, 360) if ops is None else ops)]
    code, size = at["main"]
    samples += [(2000 + 61 * i, PID + i % 2, i % 8, fetch(rnd, code + rnd.randrange(size)), FETCH) for i in range(fetches)]
    for time, tid, cpu, regs, event in sorted(samples):
        raw = w.pack("I", 0x80bff) + w.u64(*regs)
        rows.append(w.record(gen.SAMPLE, w.u64(event, regs[1]) + w.pack("II", PID, tid) + w.u64(time) + w.pack("II", cpu, 0) + w.u64(1000) +
                             w.pack("I", len(raw)) + raw, 2))
    f.data = b"".join(rows)
    with open(path, "wb") as out:
        out.write(f.build())
    return path
