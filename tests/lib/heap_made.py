# SPDX-License-Identifier: BSD-3-Clause
"""heap_made - logs of allocations as `record --heap` has them, read a second time, and recordings that have them.

    logs = read_logs(directory)                       # files that programs under the library left
    write("x.data", program, samples, feature(directory, marks))
"""
import operator
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from tap import CYCLADE  # noqa: E402

LIBRARY = os.path.abspath(os.path.join(os.path.dirname(CYCLADE), "..", "heaplog", "libcyclade-heap.so"))
MAGIC, HEAD = 0x31676f6c70616568, struct.Struct("<QIIIIQQQQQ")
ALLOC, FREE, MAP, UNMAP, STACK, CHAIN, RATE, FREED = range(1, 9)
FORKED, NO_TICKS, OWN, TABLES = 1, 2, 4, 8
WORDS = {ALLOC: 3, FREE: 2, MAP: 3, UNMAP: 3, STACK: 3, RATE: 2}


class Log:
    """All chunks of a process."""
    def __init__(self, pid, began, parent, flags):
        self.pid, self.began, self.parent, self.flags = pid, began, parent, flags
        self.records, self.chains, self.not_logged = [], {}, 0

    def of(self, kind):
        return [r for r in self.records if r[0] == kind]

    def left(self):
        """What is allocated at the end: address -> bytes."""
        live = {}
        for kind, address, _, size, _ in sorted(self.records, key=operator.itemgetter(2)):
            if kind == ALLOC:
                live[address] = size
            elif kind == FREE:
                live.pop(address, None)
        return live


def chunk(pid, began, records=b"", parent=1, flags=NO_TICKS, ticks=0, ns=0, not_logged=0, rate=1):
    return HEAD.pack(MAGIC, HEAD.size + len(records), pid, parent, flags, began, ticks, ns, not_logged, rate) + records


def read_records(log, data):
    word = struct.unpack("<%dQ" % (len(data) // 8), data)
    i, end, waiting, add = 0, len(word), [], log.records.append
    while i < end and word[i]:
        kind, value = word[i] >> 56, word[i] & (1 << 56) - 1
        if kind == FREED:  # of the next record's time
            waiting.append(value)
            i += 1
            continue
        if kind == CHAIN:
            n = value >> 32
            log.chains[value & 0xffffffff] = word[i + 1:i + 1 + n]
            i += 1 + n
            continue
        when = word[i + 1]
        if waiting:
            for address in waiting:
                add((FREE, address, when, 0, 0))
            waiting = []
        if WORDS[kind] == 3:
            add((kind, value, when, word[i + 2] & (1 << 40) - 1, word[i + 2] >> 40))
        else:
            add((kind, value, when, 0, 0))
        i += WORDS[kind]
    log.records += [(FREE, address, log.records[-1][2] if log.records else 0, 0, 0) for address in waiting]


def content(path):
    """A log without its holes; chunks begin at multiples of 16 KiB."""
    out, at = [], 0
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    while at < size:
        try:
            data = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole
            break
        at, to = data & -0x4000, -(-os.lseek(fd, data, os.SEEK_HOLE) // 0x4000) * 0x4000
        while at < to:
            part = os.pread(fd, to - at, at) or bytes(to - at)
            out.append(part)
            at += len(part)
    os.close(fd)
    return b"".join(out)


def read_logs(directory):
    """By (pid, began). Holes, which a process that died left, are passed over."""
    logs = {}
    for name in sorted(os.listdir(directory)):
        data, at = content(os.path.join(directory, name)), 0
        while at + HEAD.size <= len(data):
            magic, size, pid, parent, flags, began, _, _, lost, _ = HEAD.unpack_from(data, at)
            if magic != MAGIC:
                at += 0x4000
                continue
            log = logs.setdefault((pid, began), Log(pid, began, parent, flags))
            log.not_logged += lost
            read_records(log, data[at + HEAD.size:at + size])
            at += size
    return logs


def feature(directory, marks):
    """What the recording has of them. marks: (ticks, ns) at the beginning and at the end."""
    out = b"".join(chunk(0, 0, flags=0, ticks=t, ns=n) for t, n in marks)
    for name in sorted(os.listdir(directory)):
        out += content(os.path.join(directory, name))
    return out


TYPE = "IDENTIFIER IP TID TIME ADDR CPU PERIOD WEIGHT DATA_SRC"
# Bits of the kernel's masks of registers (perf_regs.h), ascending.
REGS = dict({r: i for i, r in enumerate("rax rbx rcx rdx rsi rdi rbp rsp".split())}, **{"r%d" % n: n + 8 for n in range(8, 16)})
UNSET = 0x1111111111111111  # of registers that a sample has no word of
L1_HIT, RAM = 2 | (2 | 8) << 5 | 1 << 33, 2 | (2 | 0x80) << 5 | 13 << 33


def topology(nodes):
    """HEADER_NUMA_TOPOLOGY: nodes of 8 GB with these CPUs, {node: first to last}."""
    def text(s):
        return struct.pack("<I64s", 64, s.encode())
    return struct.pack("<I", len(nodes)) + b"".join(struct.pack("<IQQ", n, 8 << 20, 4 << 20) + text("%d-%d" % (c[0], c[-1])) for n, c in nodes.items())


def memory(nodes, block):
    """HEADER_MEM_TOPOLOGY: the blocks of each node, {node: numbers}."""
    out = struct.pack("<QQQ", 1, block, len(nodes))
    for n, blocks in nodes.items():
        bits = max(blocks) + 1
        value = sum(1 << b for b in blocks)
        out += struct.pack("<QQQ", n, bits, bits) + value.to_bytes((bits + 63) // 64 * 8, "little")
    return out


def text_of(program):
    """Offset, address and size of a program's code; it is no PIE."""
    import subprocess
    for line in subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout.splitlines():
        word = line.split()
        if word[:1] == ["LOAD"] and "E" in word[6:-1]:
            return [int(x, 16) for x in (word[1], word[2], word[5])]
    raise ValueError(program)


def write(path, program, samples, heap, pid, more=(), pages=None, cpus=None, physical=None, features=None, ips=None,
          regs=None, mask=sum(1 << i for i in REGS.values()), told=True, beside=(), cpu="GenuineIntel,6,143,8", **attr):
    """samples: (time, address, tid, data_src, weight). more: mappings (start, bytes, name). pages: the size of each sample's page.
    cpus, physical, ips: of each sample. heap None: no log. features: more of the header, by bit.
    regs: of each sample its registers of `mask`, in place of its address: {name: value, "abi": 2, "misc": ...}. told: False leaves out weight and
    data source. beside: samples (ip, registers) of a precise event that has no more than these. attr: more of the event's."""
    w = gen.Writer("<")
    left_out = ["ADDR"] * bool(regs) + ["WEIGHT", "DATA_SRC"] * (not told)
    names = [n for n in TYPE.split() if n not in left_out] + ["PHYS_ADDR"] * bool(physical) + ["DATA_PAGE_SIZE"] * bool(pages) + ["REGS_INTR"] * bool(regs)
    a = dict(type=4, config=0x1cd, c1=3, period=1000, sample=sum(gen.BIT[n] for n in names), ri=mask if regs else 0,
             sample_id_all=1, precise_ip=3, mmap=1, comm=1, use_clockid=1, clockid=4)
    a.update(attr)
    f = gen.File(w, [("cpu/mem-loads,ldlat=3/P", a, [1])] +
                 [("cycles:pp", dict(a, type=0, config=0, c1=0, precise_ip=2, ri=mask, sample=sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD REGS_INTR".split())), [2])] *
                 bool(beside), attr_size=120)
    f.features = {6: w.text("x86_64"), 9: w.text(cpu), **({} if heap is None else {194: heap}), **(features or {})}
    offset, vaddr, size = text_of(program)
    trailer = w.pack("IIQII", pid, pid, 0, 0, 0) + w.u64(1)
    rows = [w.record(gen.COMM, w.pack("II", pid, pid) + gen.text8("made") + trailer),
            w.record(gen.MMAP2, w.pack("IIQQQIIQQII", pid, pid, vaddr & -4096, (size + 8191) & -4096, offset & -4096, 8, 1, 77, 0, 5, 2) +
                     gen.text8(os.path.abspath(program)) + trailer, 2)]
    rows += [w.record(gen.MMAP2, w.pack("IIQQQIIQQII", pid, pid, start, length, 0, 0, 0, 0, 0, 3, 2) + gen.text8(name) + trailer, 2 | 1 << 13)
             for start, length, name in more]
    whole = struct.Struct("<IHHQQIIQQIIQ" + "QQ" * told + "Q" * bool(physical) + "Q" * bool(pages)) if not regs else None
    for i, (time, address, tid, src, weight) in enumerate(samples):
        if whole:
            rows.append(whole.pack(gen.SAMPLE, 2 | 1 << 14, whole.size, 1, ips[i] if ips else vaddr, pid, tid, time, address, cpus[i] if cpus else 0, 0, 1000,
                                   *([weight, src] if told else []), *([physical[i]] if physical else []), *([pages[i]] if pages else [])))
            continue
        r = regs[i]
        abi = r.get("abi", 2)
        rows.append(w.record(gen.SAMPLE, w.u64(1, ips[i] if ips else vaddr) + w.pack("II", pid, tid) + w.u64(time) +
                             w.pack("II", cpus[i] if cpus else 0, 0) + w.u64(1000) + (w.u64(weight, src) if told else b"") +
                             w.u64(abi, *[r.get(name, UNSET) for name, bit in REGS.items() if mask >> bit & 1 and abi]) +
                             (w.u64(physical[i]) if physical else b"") + (w.u64(pages[i]) if pages else b""), r.get("misc", 2 | 1 << 14)))
    for i, (ip, r) in enumerate(beside):
        rows.append(w.record(gen.SAMPLE, w.u64(2, ip) + w.pack("II", pid, pid) + w.u64(90000 + i) + w.pack("II", 0, 0) +
                             w.u64(1000, 2, *[r.get(name, UNSET) for name, bit in REGS.items() if mask >> bit & 1]), 2 | 1 << 14))
    f.data = b"".join(rows)
    with open(path, "wb") as out:
        out.write(f.build())
    return path
