# SPDX-License-Identifier: BSD-3-Clause
"""sharing_made - recordings of loads and stores of several threads, and a program whose variables they are of.

    program = Program("prog")                   # compiled here; program.at["hot"] is an address at run time
    write("x.data", [Access(tid, program.at["hot"] + 8, "store")], maps=[program.map(pid)])
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

PID, BASE = 100, 0x555555554000
LOADS, STORES = 1, 2  # ids of the events
TYPE = "IDENTIFIER IP TID TIME ADDR CPU PERIOD WEIGHT DATA_SRC".split()
# mem_op 0, mem_lvl 5, mem_snoop 19, mem_lock 24, mem_lvl_num 33, mem_remote 37 of PERF_SAMPLE_DATA_SRC
L1, L3, CCE = 2 | 8, 2 | 0x40, 2 | 0x400
HITM = {None: (L1, 2, 1, 0), "local": (L3, 16, 3, 0), "remote": (CCE, 16, 0, 0), "remote bit": (CCE, 16, 11, 1),
        "both": (L3 | CCE, 16, 0, 0)}


class Access:
    """hitm "remote bit": with mem_remote, as newer kernels; "both": as kernels write AMD's data source 2."""
    def __init__(self, tid, addr, kind="load", hitm=None, locked=False, weight=4, ip=0x401000, pid=PID, time=None, phys=0,
                 period=1000, width=8):
        self.tid, self.addr, self.kind, self.hitm, self.locked, self.weight = tid, addr, kind, hitm, locked, weight
        self.ip, self.pid, self.time, self.phys, self.period, self.width = ip, pid, time, phys, period, width

    def data_src(self):
        level, snoop, number, remote = HITM[self.hitm]
        op = {"load": 2, "store": 4, "both": 6}[self.kind]
        return op | level << 5 | snoop << 19 | (2 if self.locked else 1) << 24 | number << 33 | remote << 37


    def ibs_op(self):
        """Registers of Zen 4: control, rip, data, data2, data3, linear and physical address, branch target."""
        source = {None: 0, "local": 2, "remote": 5}[self.hitm]
        data3 = (self.kind != "store") | (self.kind != "load") << 1 | (self.hitm is not None) * (1 << 7 | 1 << 20) | self.locked << 15 | 1 << 17 | \
            self.width.bit_length() << 22 | (self.weight << 32 if self.hitm else 0)
        return [3 << 17, self.ip, 0, source, data3, self.addr, 0, 0]


class Map:
    def __init__(self, pid, start, size, path, prot=5, offset=0, shared=False, ino=77):
        self.pid, self.start, self.size, self.path = pid, start, size, path
        self.prot, self.offset, self.shared, self.ino = prot, offset, shared, ino


class Program:
    """Variables and functions of a program made of C text, as if it were loaded at BASE."""
    def __init__(self, name, text, flags=()):
        self.path = os.path.abspath(name)
        subprocess.run(["cc", "-g", "-O0", "-fPIE", "-pie", *flags, "-x", "c", "-", "-o", name], input=text, text=True, check=True)
        self.at, self.size = {}, {}
        for line in subprocess.run(["nm", "-S", name], capture_output=True, text=True, check=True).stdout.splitlines():
            word = line.split()
            if len(word) == 4:
                self.at[word[3]], self.size[word[3]] = BASE + int(word[0], 16), int(word[1], 16)
        for line in subprocess.run(["readelf", "-lW", name], capture_output=True, text=True, check=True).stdout.splitlines():
            word = line.split()
            if word[:1] == ["LOAD"] and "E" in word[6:-1]:
                self.text = [int(x, 16) for x in (word[1], word[2], word[5])]  # offset, vaddr, memsz

    def map(self, pid):
        offset, vaddr, size = self.text
        return Map(pid, BASE + vaddr, (size + 4095) & -4096, self.path, offset=offset)


def write(path, accesses, maps=(), phys=False, comms=None, types=None, ibs=False):
    """ibs: raw samples of AMD's IBS, which have the width of each access."""
    w = gen.Writer("<")
    types = "IDENTIFIER IP TID TIME CPU PERIOD RAW".split() if ibs else (types or TYPE) + (["PHYS_ADDR"] if phys else [])
    a = dict(type=4, config=0x1cd, c1=3, period=1000, sample=sum(gen.BIT[n] for n in types), sample_id_all=1, precise_ip=3, mmap=1, comm=1)
    b = dict(a, config=0x2cd, c1=0)
    f = gen.File(w, [("cpu/mem-loads,ldlat=3/P", a, [LOADS]), ("cpu/mem-stores/P", b, [STORES])], attr_size=120)
    f.features = {6: w.text("x86_64"), 9: w.text("GenuineIntel,6,143,8"), 7: w.pack("II", 4, 4),  # perf c2c wants CPUs and nodes
                  14: w.pack("IIQQ", 1, 0, 1 << 20, 1 << 19) + w.text("0-3")}

    if ibs:
        f.events = [("ibs_op//", dict(type=9, config=1 << 19, period=1000, sample=sum(gen.BIT[n] for n in types), sample_id_all=1), [LOADS])]
        f.features.update({9: w.text("AuthenticAMD,25,17,1"), 16: w.pack("II", 1, 9) + w.text("ibs_op")})

    def trailer(pid, tid):
        return w.pack("IIQII", pid, tid, 0, 0, 0) + w.u64(LOADS)

    rows = []
    for pid, tid in sorted({(x.pid, x.tid) for x in accesses} | {(m.pid, m.pid) for m in maps}):
        if pid != tid:
            rows.append(w.record(gen.FORK, w.pack("IIIIQ", pid, pid, tid, pid, 0) + trailer(pid, tid)))
        rows.append(w.record(gen.COMM, w.pack("II", pid, tid) + gen.text8((comms or {}).get(tid, "made")) + trailer(pid, tid)))
    for m in maps:
        rows.append(w.record(gen.MMAP2, w.pack("IIQQQIIQQII", m.pid, m.pid, m.start, m.size, m.offset, 8, 1, m.ino, 0, m.prot,
                                               1 if m.shared else 2) + gen.text8(m.path) + trailer(m.pid, m.pid),
                             2 if m.prot & 4 else 2 | 1 << 13))
    for i, x in enumerate(accesses):
        fields = dict(IDENTIFIER=w.u64(STORES if x.kind == "store" and not ibs else LOADS), IP=w.u64(x.ip), TID=w.pack("II", x.pid, x.tid),
                      TIME=w.u64(1000 + i if x.time is None else x.time), ADDR=w.u64(x.addr), CPU=w.pack("II", x.tid % 4, 0),
                      PERIOD=w.u64(x.period), WEIGHT=w.u64(x.weight if x.kind != "store" else 0), DATA_SRC=w.u64(x.data_src()),
                      PHYS_ADDR=w.u64(x.phys), RAW=w.pack("II", 68, 0xbff) + w.u64(*x.ibs_op()) if ibs else b"")
        rows.append(w.record(gen.SAMPLE, b"".join(fields[n] for n in types), 2 | 1 << 14))
    f.data = b"".join(rows)
    with open(path, "wb") as out:
        out.write(f.build())
    return path
