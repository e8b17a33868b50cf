# SPDX-License-Identifier: BSD-3-Clause
"""account_made - recordings of the events of a cycle account, of samples that are known one by one.

    m = Made(directory, tree)           # tree: (name, raw config, period, precise) of each event
    m.put("hot", "MEM.DRAM", 40)        # 40 samples of an event in a function, each worth its period
    m.write(path)
    account_of(json of report --account)
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

MS = 1000000
BASE = 0x400000
TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD".split())
CODE = bytes.fromhex("488b07" "4883c008" "90" "90" "90" "7402" "ebf1" "c3")  # mov add nop*3 je jmp ret
INSNS = [0, 3, 7, 8, 9, 10, 12, 14]  # where they begin
SIZE = 0x40

# Skylake-SP: what the model's tree asks for, by its raw code
SKX = [
    ("CPU_CLK_UNHALTED.THREAD", 0x3c, 2000003), ("CPU_CLK_UNHALTED.REF_TSC", 0x0300, 2000003),
    ("UOPS_RETIRED.STALL_CYCLES", 0x18002c2, 2000003),
    ("INST_RETIRED.ANY", 0xc0, 2000003),
    ("MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", 0x1d3, 10007), ("MEM_LOAD_L3_HIT_RETIRED.XSNP_NONE", 0x8d2, 100003),
    ("DTLB_LOAD_MISSES.WALK_COMPLETED", 0xe08, 200003), ("DTLB_LOAD_MISSES.WALK_ACTIVE", 0x1001008, 2000003),
    ("L1D_PEND_MISS.PENDING_CYCLES", 0x1000148, 2000003),
    ("CYCLE_ACTIVITY.CYCLES_MEM_ANY", 0x100010a3, 2000003),
    ("OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD:c6", 0x6000860, 2000003), ("RS_EVENTS.EMPTY_CYCLES", 0x15e, 2000003),
    ("BR_MISP_RETIRED.ALL_BRANCHES", 0xc5, 200003), ("BACLEARS.ANY", 0x1e6, 200003),
    ("INT_MISC.RECOVERY_CYCLES", 0x10d, 2000003),
    ("UOPS_ISSUED.ANY", 0x10e, 2000003), ("UOPS_RETIRED.RETIRE_SLOTS", 0x2c2, 2000003),
    ("UOPS_ISSUED.ANY:c1", 0x100010e, 2000003), ("RESOURCE_STALLS.SB", 0x8a2, 2000003),
]


def elf(names, path):
    """A program of functions of SIZE bytes, with a table of symbols and no more."""
    text = b"".join(CODE + b"\xcc" * (SIZE - len(CODE)) for _ in names)
    strings, symbols = b"\0", bytes(24)
    for i, name in enumerate(names):
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, BASE + 0x1000 + i * SIZE, len(CODE))
        strings += name.encode("utf-8", "surrogateescape") + b"\0"
    shstr = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    at = 0x1000 + len(text)
    at += -at % 8
    sym_at, str_at = at, at + len(symbols)
    shstr_at = str_at + len(strings)
    sh_at = shstr_at + len(shstr)
    sh_at += -sh_at % 8
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, BASE + 0x1000, 64, sh_at, 0, 64, 56, 1,
                                                    64, 5, 4)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, 0x1000 + len(text), 0x1000 + len(text), 0x1000)
    body = (head + load).ljust(0x1000, b"\0") + text
    body = body.ljust(sym_at, b"\0") + symbols + strings + shstr
    sections = bytes(64)
    for row in ((1, 1, 6, BASE + 0x1000, 0x1000, len(text), 0, 0, 16, 0),
                (7, 2, 0, 0, sym_at, len(symbols), 3, 1, 8, 24), (15, 3, 0, 0, str_at, len(strings), 0, 0, 1, 0),
                (23, 3, 0, 0, shstr_at, len(shstr), 0, 0, 1, 0)):
        sections += struct.pack("<IIQQQQIIQQ", *row)
    with open(path, "wb") as f:
        f.write(body.ljust(sh_at, b"\0") + sections)


def account_of(doc, k=0):
    """The k-th account of a json document as a tree of its own: its members, `nodes` by name, and `rows`, each with its
    `cells`: of every node value, error and why; of those that rest on samples the rest too."""
    out = dict(doc["accounts"][k])
    pmu = out["pmu"]
    out["nodes"] = {n["node"]: n for n in doc["nodes"] if n["pmu"] == pmu}
    out["rows"] = [dict(r) for r in doc["rows"] if r["pmu"] == pmu]
    names = list(doc["rows"][0])[:list(doc["rows"][0]).index("left_out") + 1] if doc["rows"] else []
    more = {}
    for c in doc["cells"]:
        if c["pmu"] == pmu:
            key = tuple(c[n] for n in names), c["node"]
            assert key not in more, key
            more[key] = {"value": c["value"], "error": c["value_error"], "why": c["value_why"],
                         **{n: c[n] for n in ("lacks", "samples", "significant", "overlap", "disagrees")}}
    for r in out["rows"]:
        key = tuple(r[n] for n in names)
        r["cells"] = {n: more.get((key, n), {"value": r[n], "error": r[n + "_error"], "why": w["value_why"], "samples": 0,
                                             "significant": False, "overlap": False, "disagrees": False})
                      for n, w in out["nodes"].items()}
        assert all(c["value"] == r[n] and c["error"] == r[n + "_error"] for n, c in r["cells"].items())
    return out


class Made:
    def __init__(self, where, tree=None, cpuid="GenuineIntel,6,85,4", desc="Xeon @ 2.00GHz", names=("hot", "cold", "warm"),
                 cmdline=("cyclade", "record", "--account", "-a"), times=False, cpus=2,
                 siblings=None):
        self.w = gen.Writer("<")
        self.tree = list(tree or SKX)
        self.names, self.program = list(names), os.path.join(where, "prog")
        self.at = {n[0]: i for i, n in enumerate(self.tree)}
        self.times, self.cpus = times, cpus
        read = dict(read=gen.ENABLED | gen.RUNNING | gen.RID) if times else {}
        kind = TYPE | (gen.BIT["READ"] if times else 0)
        self.ids = {(e, c): 1000 + e * cpus + c for e in range(len(self.tree)) for c in range(cpus)}
        self.events = [(n, dict(type=4, config=c, period=p, sample=kind, sample_id_all=1, mmap=1, comm=1, **read),
                        [self.ids[e, k] for k in range(cpus)]) for e, (n, c, p) in enumerate(self.tree)]
        self.f = gen.File(self.w, self.events, attr_size=120)
        w = self.w
        self.f.features = {7: w.pack("II", cpus, cpus), 6: w.text("x86_64"), 9: w.text(cpuid), 8: w.text(desc),
                           13: w.pack("I", cpus) + b"".join(w.text(str(c)) for c in range(cpus)) + w.pack("I", len(siblings or range(cpus))) +
                           b"".join(w.text(str(c)) for c in siblings or range(cpus)) +
                           b"".join(w.pack("II", c, 5 + c % 2) for c in range(cpus)),  # sockets 5 and 6
                           11: w.pack("I", len(cmdline)) + b"".join(w.text(s) for s in cmdline)}
        elf(self.names, self.program)
        tail = w.pack("IIQIIQ", 20, 20, 1, 0, 0, 1000)
        self.data = [w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("job") + tail),
                     w.record(gen.MMAP, w.pack("IIQQQ", 20, 20, BASE, 0x10000, 0) + gen.text8(self.program) + tail, 2)]
        self.samples = []
        self.counter = {}

    def put(self, function, event, n, insn=0, cpu=0, tid=20, time=None):
        """n samples at an instruction of a function (its name, or its number among names), spread over a second."""
        e = self.at[event]
        ip = BASE + 0x1000 + (function if isinstance(function, int) else self.names.index(function)) * SIZE + INSNS[insn]
        for i in range(n):
            self.samples.append((time if time is not None else (i + 1) * 1000 * MS // (n + 1), e, ip, cpu, tid))

    def write(self, path, share=lambda e, t: 1.0, pauses=None):
        """`share`: of the time an event has a counter, up to t. `pauses`: {event: n}, throttled from each n-th sample
        on each CPU to the next."""
        stops, met = {self.at[e]: n for e, n in (pauses or {}).items()}, {}
        a = [ev[1] for ev in self.events]
        stands = {}
        for t, e, ip, cpu, tid in sorted(self.samples, key=lambda s: s[:2]):
            key = (e, cpu)
            s = gen.Sample(1, self.ids[e, cpu])
            period = self.tree[e][2]
            stands[key] = stands.get(key, 0) + period
            s.v.update(TID=(20, tid), TIME=t + 10, CPU=cpu, IP=ip, PERIOD=period,
                       READ=(t, int(t * share(e, t)), [(self.ids[e, cpu], stands[key], 0)]))
            body = b"".join(s.field(self.w, a[e], n) for n in gen.FIXED + gen.VARYING if a[e]["sample"] & gen.BIT[n])
            if e in stops:
                met[key] = met.get(key, -1) + 1
                halt = lambda kind: self.w.record(kind, self.w.u64(t + 9, self.ids[e, cpu], self.ids[e, cpu]) +  # noqa: E731
                                                  self.w.pack("IIQIIQ", 20, tid, t + 9, cpu, 0, self.ids[e, cpu]))
                if met[key] % stops[e] == 1:
                    self.data.append(halt(gen.UNTHROTTLE))
                if met[key] % stops[e] == 0:
                    self.data.append(halt(gen.THROTTLE))
            self.data.append(self.w.record(gen.SAMPLE, body, 2))
        self.f.data = b"".join(self.data)
        with open(path, "wb") as f:
            f.write(self.f.build())
