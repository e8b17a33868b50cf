#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Synthetic recordings, and what must be read from them.

Written from the kernel's and perf's description of the format, not from the reader: every recording is a
list of things with known values, put into bytes by struct in either byte order. `CASES` maps a name to a
function of the byte order that returns (files, expected lines of pd_dump); files is a dict of
relative path to bytes, "" for a single file.

    gen.py DIR          writes every case in both orders into DIR
    gen.py --big FILE   writes a large recording for measurements (9 M samples, 900 MB)
"""
import ctypes
import ctypes.util
import functools
import os
import struct
import sys

SAMPLE_BITS = ("IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER "
               "WEIGHT DATA_SRC IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE "
               "CODE_PAGE_SIZE WEIGHT_STRUCT").split()
BIT = {n: 1 << i for i, n in enumerate(SAMPLE_BITS)}
FIXED = "IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD".split()
VARYING = ("READ CALLCHAIN RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT WEIGHT_STRUCT DATA_SRC TRANSACTION "
           "REGS_INTR PHYS_ADDR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE AUX").split()
ENABLED, RUNNING, RID, GROUP, RLOST = 1, 2, 4, 8, 16
HW_INDEX, COUNTERS = 1 << 17, 1 << 19
FLAGS = [("disabled", 1), ("inherit", 1), ("pinned", 1), ("exclusive", 1), ("exclude_user", 1),
         ("exclude_kernel", 1), ("exclude_hv", 1), ("exclude_idle", 1), ("mmap", 1), ("comm", 1), ("freq", 1),
         ("inherit_stat", 1), ("enable_on_exec", 1), ("task", 1), ("watermark", 1), ("precise_ip", 2),
         ("mmap_data", 1), ("sample_id_all", 1), ("exclude_host", 1), ("exclude_guest", 1), ("eck", 1),
         ("ecu", 1), ("mmap2", 1), ("comm_exec", 1), ("use_clockid", 1), ("context_switch", 1),
         ("write_backward", 1), ("namespaces", 1), ("ksymbol", 1), ("bpf_event", 1), ("aux_output", 1),
         ("cgroup", 1), ("text_poke", 1), ("build_id", 1), ("inherit_thread", 1), ("remove_on_exec", 1),
         ("sigtrap", 1), ("defer_callchain", 1), ("defer_output", 1)]
BRANCH_FLAGS = [("mispred", 1), ("predicted", 1), ("in_tx", 1), ("abort", 1), ("cycles", 16), ("type", 4),
                ("spec", 2), ("new_type", 4), ("priv", 3)]
(MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, READ, SAMPLE, MMAP2, AUX, ITRACE_START, LOST_SAMPLES, SWITCH,
 SWITCH_CPU_WIDE, NAMESPACES, KSYMBOL, BPF_EVENT, CGROUP, TEXT_POKE, AUX_OUTPUT_HW_ID,
 CALLCHAIN_DEFERRED) = range(1, 23)
(HEADER_ATTR, EVENT_TYPE, TRACING_DATA, BUILD_ID, FINISHED_ROUND, ID_INDEX, AUXTRACE_INFO, AUXTRACE,
 AUXTRACE_ERROR, THREAD_MAP, CPU_MAP, STAT_CONFIG, STAT, STAT_ROUND, EVENT_UPDATE, TIME_CONV, FEATURE, COMPRESSED,
 FINISHED_INIT, COMPRESSED2, BPF_METADATA) = range(64, 85)


def pad8(b):
    return b + bytes(-len(b) % 8)


def text8(s):
    return pad8(s.encode(errors="surrogateescape") + b"\0")


class Values(dict):
    """A dict that has more values, which are made when one of them is asked for."""

    def __init__(self, make, **have):
        super().__init__(**have)
        self.make = make

    def __missing__(self, name):
        more = self.make()
        for k, v in more.items():
            self.setdefault(k, v)
        return more[name]


@functools.lru_cache(maxsize=None)
def u64s(order, n):
    return struct.Struct("%s%dQ" % (order, n)).pack


class Writer:
    """Numbers and structures in one byte order."""

    def __init__(self, order):
        self.o = order

    def pack(self, fmt, *v):
        return struct.pack(self.o + fmt, *v)

    def u64(self, *v):
        return u64s(self.o, len(v))(*v)

    def bits(self, fields, values):
        return self.u64(self.word(fields, values))

    def word(self, fields, values):
        """A u64 of bit-fields as a compiler of this byte order lays them: from bit 0, or from the top."""
        word, at, top = 0, 0, self.o != "<"
        for name, width in fields:
            v = values.get(name, 0)
            if v:
                assert v < 1 << width
                word |= v << (64 - at - width if top else at)
            at += width
        return word

    def record(self, kind, body, misc=0):
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def attr(self, a, size):
        b = self.pack("IIQQQQ", a.get("type", 0), size, a.get("config", 0), a.get("period", 0),
                      a.get("sample", 0), a.get("read", 0))
        b += self.bits(FLAGS, a)
        b += self.pack("IIQQQQIiQIHHIIQQQ", a.get("wake", 0), a.get("bp", 0), a.get("c1", 0), a.get("c2", 0),
                       a.get("br", 0), a.get("ru", 0), a.get("su", 0), a.get("clockid", 0), a.get("ri", 0),
                       a.get("aw", 0), a.get("ms", 0), 0, a.get("as", 0), 0, a.get("sig", 0), a.get("c3", 0),
                       a.get("c4", 0))
        return b[:size] + bytes(max(0, size - len(b)))

    def text(self, s):
        b = s.encode(errors="surrogateescape") + b"\0"
        b += bytes(-len(b) % 64)
        return self.pack("I", len(b)) + b


# ---- samples ----

def read_expect(a, v):
    f = a["read"]
    en, ru, values = v
    rows = values if f & GROUP else values[:1]
    return "read=%x/%x" % (en if f & ENABLED else 0, ru if f & RUNNING else 0) + "".join(
        ",%x:%x:%x" % (i if f & RID else 0, val, lost if f & RLOST else 0) for i, val, lost in rows)


def read_bytes(w, a, v):
    f = a["read"]
    en, ru, values = v
    b = w.u64(len(values)) if f & GROUP else w.u64(values[0][1])
    b += w.u64(en) if f & ENABLED else b""
    b += w.u64(ru) if f & RUNNING else b""
    if f & GROUP:
        for i, val, lost in values:
            b += w.u64(val) + (w.u64(i) if f & RID else b"") + (w.u64(lost) if f & RLOST else b"")
    else:
        i, _, lost = values[0]
        b += (w.u64(i) if f & RID else b"") + (w.u64(lost) if f & RLOST else b"")
    return b


def hexs(words):
    return ",".join("%x" % x for x in words)


class Sample:
    """One value for each field; only those of the event's sample type are written."""

    def __init__(self, seed, id_):
        self.v = Values(
            lambda: self.longer(seed, id_), IDENTIFIER=id_, IP=0xffffffff81000000 + seed, TID=(100 + seed, 200 + seed),
            TIME=1000000 + seed, ADDR=0x7fff00000000 + seed, ID=id_, STREAM_ID=900 + seed, CPU=seed % 7,
            PERIOD=10000 + seed, WEIGHT=0x123456789abc, WEIGHT_STRUCT=(0x89abcdef, 0x4567, 0x0123),
            DATA_SRC=0x68100142 + seed, TRANSACTION=0x300000002, PHYS_ADDR=0x1f0000000 + seed, CGROUP=321 + seed,
            DATA_PAGE_SIZE=4096, CODE_PAGE_SIZE=2 << 20)

    @staticmethod
    def longer(seed, id_):
        s = seed * 0x0101010101010101 & (1 << 60) - 1
        return dict(
            READ=(5000 + seed, 4000 + seed, [(id_, 77 + seed, 3), (id_ + 1, 88 + seed, 4)]),
            CALLCHAIN=[0xffffffffffffff80, 0xffffffff81000000 + seed, 0xfffffffffffffe00, 0x400000 + seed],
            RAW=bytes((seed + i) & 255 for i in range(12)),
            BRANCH_STACK=(17 + seed, [(0x401000 + 16 * i, 0x402000 + 16 * i,
                                       dict(mispred=i & 1, predicted=1 - (i & 1), in_tx=i >> 1 & 1, abort=i == 3,
                                            cycles=0x1234 + i, type=(5 + i) % 16, spec=i % 4,
                                            new_type=(9 + i) % 16, priv=(i + 1) % 8), 0x55aa + i)
                                      for i in range(5)]),
            REGS_USER=(2, [s + 1, s + 2, s + 3]), REGS_INTR=(1, [s + 5, s + 6]),
            STACK_USER=(bytes((3 * seed + i) & 255 for i in range(24)), 17),
            AUX=bytes((7 * seed + i) & 255 for i in range(16)))

    def field(self, w, a, name):
        v = self.v[name]
        if name == "TID":
            return w.pack("II", *v)
        if name == "CPU":
            return w.pack("II", v, 0)
        if name == "READ":
            return read_bytes(w, a, v)
        if name == "CALLCHAIN":
            return w.u64(len(v), *v)
        if name == "RAW":
            return w.pack("I", len(v)) + v
        if name == "BRANCH_STACK":
            words = [len(v[1]), v[0]] if a.get("br", 0) & HW_INDEX else [len(v[1])]
            for fr, to, fl, _ in v[1]:
                words += fr, to, w.word(BRANCH_FLAGS, fl)
            if a.get("br", 0) & COUNTERS:
                words += [e[3] for e in v[1]]
            return w.u64(*words)
        if name in ("REGS_USER", "REGS_INTR"):
            return w.u64(v[0], *v[1])
        if name == "STACK_USER":
            return w.u64(len(v[0])) + v[0] + w.u64(v[1])
        if name == "WEIGHT_STRUCT":
            return w.u64(v[0] | v[1] << 32 | v[2] << 48)
        if name == "AUX":
            return w.u64(len(v)) + v
        return w.u64(v)

    def expect(self, a, name):
        v = self.v[name]
        plain = dict(IP="ip", TIME="time", ADDR="addr", STREAM_ID="stream", CPU="cpu", DATA_SRC="data_src",
                     TRANSACTION="transaction", PHYS_ADDR="phys", CGROUP="cgroup", DATA_PAGE_SIZE="data_page",
                     CODE_PAGE_SIZE="code_page")
        if name in plain:
            return "%s=%x" % (plain[name], v)
        if name == "TID":
            return "pid=%x tid=%x" % v
        if name == "READ":
            return read_expect(a, v)
        if name == "CALLCHAIN":
            return "chain=" + hexs(v)
        if name in ("RAW", "AUX"):
            return "%s=%s" % (name.lower(), v.hex())
        if name == "BRANCH_STACK":
            br = a.get("br", 0)
            return "hw_idx=%x branch=" % (v[0] if br & HW_INDEX else (1 << 64) - 1) + ",".join(
                "%x:%x:%d%d%d%d:%x:%x:%x:%x:%x:%x" % (fr, to, f["mispred"], f["predicted"], f["in_tx"], f["abort"],
                                                     f["cycles"], f["type"], f["spec"], f["new_type"], f["priv"],
                                                     c if br & COUNTERS else 0) for fr, to, f, c in v[1])
        if name == "REGS_USER":
            return "uabi=%x uregs=%s" % (v[0], hexs(v[1]))
        if name == "REGS_INTR":
            return "iabi=%x iregs=%s" % (v[0], hexs(v[1]))
        if name == "STACK_USER":
            return "stack=" + v[0][:v[1]].hex()
        if name == "WEIGHT":
            return "weight=%x:0:0" % v
        if name == "WEIGHT_STRUCT":
            return "weight=%x:%x:%x" % v
        raise KeyError(name)

    def record(self, w, a, misc=2):
        t = a["sample"]
        return w.record(SAMPLE, b"".join([self.field(w, a, n) for n in FIXED + VARYING if t & BIT[n]]), misc)

    def write(self, w, a, index=0, misc=2):
        """The record, and how it must be read."""
        t, rec = a["sample"], self.record(w, a, misc)
        parts = ["record SAMPLE misc=%x size=%d event=%d has=%x mode=%d" % (misc, len(rec), index, t, misc & 7)]
        if t & (BIT["IDENTIFIER"] | BIT["ID"]):
            parts.append("id=%x" % self.v["ID"])
        parts += [self.expect(a, n) for n in FIXED if t & BIT[n] and n not in ("IDENTIFIER", "ID", "PERIOD")]
        parts.append("period=%x" % (self.v["PERIOD"] if t & BIT["PERIOD"] else a.get("period", 0) or 1))
        parts += [self.expect(a, n) for n in VARYING if t & BIT[n]]
        return rec, " ".join(parts)


# ---- side-band records: (bytes, expected) ----

TRAILER = "TID TIME ID STREAM_ID CPU IDENTIFIER".split()


def trailer(w, a, seed, id_):
    """The bytes behind a kernel record, and how they must be read."""
    t = a["sample"] if a.get("sample_id_all") else 0
    v = dict(TID=(50 + seed, 60 + seed), TIME=70000 + seed, ID=id_, STREAM_ID=80 + seed, CPU=seed % 5, IDENTIFIER=id_)
    b, has = b"", 0
    for n in TRAILER:
        if not t & BIT[n]:
            v[n] = (0, 0) if n == "TID" else 0
            continue
        has |= BIT[n]
        b += w.pack("II", *v[n]) if n == "TID" else w.pack("II", v[n], 0) if n == "CPU" else w.u64(v[n])
    return b, "| has=%x pid=%x tid=%x time=%x id=%x stream=%x cpu=%x" % (
        has, v["TID"][0], v["TID"][1], v["TIME"], v["ID"] or v["IDENTIFIER"], v["STREAM_ID"], v["CPU"])


def kernel_records(w):
    """(name, type, misc, body, expected text before the trailer)"""
    bid = bytes(range(1, 21))
    path = "/usr/bin/a thing"
    yield ("MMAP", MMAP, 1, w.pack("IIQQQ", 11, 12, 0x400000, 0x2000, 0x1000) + text8(path),
           "pid=b tid=c addr=400000 len=2000 pgoff=1000 dev=0:0 ino=0:0 prot=0 flags=0 build_id= data=0 path=" + path)
    yield ("MMAP", MMAP, 1 << 13 | 2, w.pack("IIQQQ", 11, 12, 0x400000, 0x2000, 0) + text8("//anon"),
           "pid=b tid=c addr=400000 len=2000 pgoff=0 dev=0:0 ino=0:0 prot=0 flags=0 build_id= data=1 path=//anon")
    yield "LOST", LOST, 0, w.u64(40, 7), ""
    yield "COMM", COMM, 1 << 13, w.pack("II", 11, 12) + text8("worker"), "pid=b tid=c exec=1 comm=worker"
    yield "EXIT", EXIT, 0, w.pack("IIIIQ", 1, 2, 3, 4, 5), "pid=1 ppid=2 tid=3 ptid=4 at=5"
    yield "THROTTLE", THROTTLE, 0, w.u64(1, 40, 3), ""
    yield "UNTHROTTLE", UNTHROTTLE, 0, w.u64(2, 40, 3), ""
    yield "FORK", FORK, 0, w.pack("IIIIQ", 9, 8, 7, 6, 5), "pid=9 ppid=8 tid=7 ptid=6 at=5"
    yield "READ", READ, 0, w.pack("II", 5, 6) + w.u64(2, 900, 800, 1000, 40, 5, 2000, 41, 6), ""
    yield ("MMAP2", MMAP2, 2, w.pack("IIQQQIIQQII", 11, 12, 0x7f00, 0x3000, 0x2000, 8, 1, 4242, 77, 5, 2) + text8(path),
           "pid=b tid=c addr=7f00 len=3000 pgoff=2000 dev=8:1 ino=1092:4d prot=5 flags=2 build_id= data=0 path=" + path)
    yield ("MMAP2", MMAP2, 1 << 14 | 2, w.pack("IIQQQ", 11, 12, 0x7f00, 0x3000, 0) + b"\x14\0\0\0" + bid +
           w.pack("II", 5, 2) + text8("/lib/x.so"),
           "pid=b tid=c addr=7f00 len=3000 pgoff=0 dev=0:0 ino=0:0 prot=5 flags=2 build_id=%s data=0 path=/lib/x.so"
           % bid.hex())
    yield "AUX", AUX, 0, w.u64(0, 4096, 1), ""
    yield "ITRACE_START", ITRACE_START, 0, w.pack("II", 5, 6), ""
    yield "LOST_SAMPLES", LOST_SAMPLES, 0, w.u64(13), ""
    yield "SWITCH", SWITCH, 1 << 13, b"", ""
    yield "SWITCH_CPU_WIDE", SWITCH_CPU_WIDE, 0, w.pack("II", 5, 6), ""
    yield ("NAMESPACES", NAMESPACES, 0, w.pack("IIQ", 5, 6, 2) + w.u64(3, 0xf0000001, 3, 0xf0000002),
           "pid=5 tid=6 links=3,f0000001,3,f0000002")
    yield ("KSYMBOL", KSYMBOL, 0, w.pack("QIHH", 0xffffffffc0000000, 512, 1, 1) + text8("bpf_prog_x"),
           "addr=ffffffffc0000000 len=200 kind=1 flags=1 name=bpf_prog_x")
    yield ("BPF_EVENT", BPF_EVENT, 0, w.pack("HHI", 1, 0, 99) + bytes(range(8)),
           "kind=1 flags=0 id=63 tag=0001020304050607")
    yield "CGROUP", CGROUP, 0, w.u64(4711) + text8("/user.slice"), "cgroup=1267 path=/user.slice"
    yield ("TEXT_POKE", TEXT_POKE, 0, w.pack("QHH", 0xffffffff81000000, 5, 5) + b"\x0f\x1f\x44\0\0\xe8\1\2\3\4" + bytes(2),
           "addr=ffffffff81000000 old=0f1f440000 new=e801020304")
    yield "AUX_OUTPUT_HW_ID", AUX_OUTPUT_HW_ID, 0, w.u64(3), ""
    yield "CALLCHAIN_DEFERRED", CALLCHAIN_DEFERRED, 0, w.u64(0x1122, 2, 0x401000, 0x402000), ""


def user_records(w):
    """perf's own: (name, bytes, words that must be read after turning, or None)"""
    yield "FINISHED_ROUND", w.record(FINISHED_ROUND, b""), []
    yield "FINISHED_INIT", w.record(FINISHED_INIT, b""), []
    yield "ID_INDEX", w.record(ID_INDEX, w.u64(1, 40, 0, 2, 99)), [1, 40, 0, 2, 99]
    yield "THREAD_MAP", w.record(THREAD_MAP, w.u64(1, 4711) + b"comm" + bytes(12)), None
    yield "STAT_CONFIG", w.record(STAT_CONFIG, w.u64(1, 2, 3)), [1, 2, 3]
    yield "STAT", w.record(STAT, w.pack("QIIQQQ", 40, 1, 2, 3, 4, 5)), [40, 1 | 2 << 32, 3, 4, 5]
    yield "STAT_ROUND", w.record(STAT_ROUND, w.u64(1, 5000)), [1, 5000]
    yield "TIME_CONV", w.record(TIME_CONV, w.u64(10, 20, 30, 40, 50) + b"\1\1" + bytes(6)), [10, 20, 30, 40, 50, 257]
    yield "CPU_MAP", w.record(CPU_MAP, w.pack("HHHHHH", 0, 3, 1, 2, 5, 0) + bytes(4)), [0 | 3 << 16 | 1 << 32 | 2 << 48, 5]
    yield ("AUXTRACE_ERROR", w.record(AUXTRACE_ERROR, w.pack("IIIIIIQQ", 1, 2, 3, 4, 5, 1, 0x400000, 77) + b"lost" +
                                      bytes(60)), None)
    yield "AUXTRACE_INFO", w.record(AUXTRACE_INFO, w.pack("II", 1, 0) + w.u64(7, 8)), [1, 7, 8]
    yield ("BPF_METADATA", w.record(BPF_METADATA, b"prog" + bytes(12) + w.u64(0)),
           [int.from_bytes(b"prog", "little"), 0, 0])
    yield ("AUXTRACE", w.record(AUXTRACE, w.u64(40, 0, 1) + w.pack("IIII", 0, 9, 3, 0)) + b"\xff" * 40,
           [40, 0, 1, 0 | 9 << 32, 3])


# ---- whole files ----

def event_line(i, name, a, ids, samples=0, total=0, unit="-", size=144):
    keep = dict(a)
    for key, end in (("br", 80), ("ru", 88), ("su", 92), ("clockid", 96), ("ri", 104), ("aw", 108), ("ms", 110),
                     ("as", 116), ("sig", 128), ("c3", 136), ("c4", 144), ("c2", 72)):
        if size < end:
            keep[key] = 0
    g = lambda k: keep.get(k, 0)
    return ("event %d name=%s unit=%s type=%x size=%d config=%x period=%x sample=%x read=%x freq=%d precise=%d eu=%d ek=%d "
            "all=%d clockid=%d:%d bid=%d wake=%x bp=%x c1=%x c2=%x br=%x ru=%x su=%x ri=%x aw=%x ms=%x as=%x sig=%x c3=%x "
            "c4=%x ids=%s samples=%d sum=%d" % (
                i, name, unit, g("type"), size, g("config"), g("period"), g("sample"), g("read"), g("freq"),
                g("precise_ip"), g("exclude_user"), g("exclude_kernel"), g("sample_id_all"), g("use_clockid"),
                g("clockid"), g("build_id"), g("wake"), g("bp"), g("c1"), g("c2"), g("br"), g("ru"), g("su"), g("ri"),
                g("aw"), g("ms"), g("as"), g("sig"), g("c3"), g("c4"), hexs(ids), samples, total))


class File:
    """A recording in file form; events are (name, attr, ids)."""

    def __init__(self, w, events, attr_size=144, version=2):
        self.w, self.events, self.attr_size, self.version = w, events, attr_size, version
        self.data, self.features, self.types = b"", {}, b""

    def header(self, attrs, data, types, bits, size=104):
        w = self.w
        magic = b"PERFILE2" if self.version == 2 else b"PERFFILE"
        if self.version == 2 and w.o == ">":
            magic = magic[::-1]
        words = [sum(1 << (b - 64 * i) for b in bits if 64 * i <= b < 64 * i + 64) for i in range(4)]
        return magic + w.u64(size, self.attr_size + 16, *attrs, *data, *types, *words)

    def build(self, data_size=None, event_desc=True):
        w, n = self.w, len(self.events)
        at = 104
        ids, rows = b"", b""
        where = at
        for _, a, i in self.events:
            ids += w.u64(*i) if i else b""
        attrs_at = at + len(ids)
        for _, a, i in self.events:
            rows += w.attr(a, self.attr_size) + w.u64(where, 8 * len(i))
            where += 8 * len(i)
        types_at = attrs_at + len(rows)
        data_at = types_at + len(self.types)
        feats = dict(self.features)
        if event_desc:
            feats[12] = w.pack("II", n, self.attr_size) + b"".join(
                w.attr(a, self.attr_size) + w.pack("I", len(i)) + w.text(name) + (w.u64(*i) if i else b"")
                for name, a, i in self.events)
        table_at = data_at + len(self.data)
        payload_at = table_at + 16 * len(feats)
        table, payload = b"", b""
        for bit in sorted(feats):
            table += w.u64(payload_at + len(payload), len(feats[bit]))
            payload += feats[bit]
        size = len(self.data) if data_size is None else data_size
        head = self.header((attrs_at, len(rows)), (data_at, size), (types_at if self.types else 0, len(self.types)),
                           sorted(feats))
        body = head + ids + rows + self.types + self.data
        return body if data_size == 0 else body + table + payload


def one(path, data, features=None, order="<", **attr):
    """A file with one event whose samples have no ids, or those of `ids`; its attribute is of 128 bytes."""
    ids = attr.pop("ids", [])
    f = File(Writer(order), [("event", attr, ids)], attr_size=128)
    f.data, f.features = data, features or {}
    with open(path, "wb") as out:
        out.write(f.build(event_desc=False))
    return path


FULL_ATTR = dict(type=4, config=0x1cd, period=9999, read=ENABLED | RUNNING | RID | GROUP | RLOST, precise_ip=2,
                 sample_id_all=1, exclude_kernel=1, use_clockid=1, clockid=1, build_id=1, wake=3, bp=0, c1=0x1f, c2=0x2f,
                 br=HW_INDEX | COUNTERS | 9, ru=0b1011, su=24, ri=0b11000, aw=5, ms=127, **{"as": 16}, sig=6, c3=33, c4=44)
ALL_BITS = sum(BIT.values())
BASE = BIT["IDENTIFIER"] | BIT["IP"] | BIT["TID"] | BIT["TIME"] | BIT["CPU"] | BIT["PERIOD"]


def fill(f, n=3, each=None):
    """n samples of every event; returns the expected lines and totals."""
    lines, seed, sums = [], 1, []
    for k, (_, a, ids) in enumerate(f.events):
        total = 0
        for _ in range(n):
            s = Sample(seed, ids[0] if ids else 0)
            rec, line = s.write(f.w, a, k)
            f.data += rec
            lines.append(line)
            total += s.v["PERIOD"] if a["sample"] & BIT["PERIOD"] else a.get("period", 0) or 1
            seed += 1
        sums.append((n, total))
    return lines, sums


def case_all_fields(o):
    """Every field at once, but for the one of the two weights that cannot be there with the other."""
    out = []
    for without in ("WEIGHT", "WEIGHT_STRUCT"):
        a = dict(FULL_ATTR, sample=ALL_BITS & ~BIT[without])
        f = File(Writer(o), [("mem-loads:pp", a, [40])])
        lines, sums = fill(f)
        out.append((f.build(), lines + [event_line(0, "mem-loads:pp", a, [40], *sums[0])]))
    return out


def case_each_field(o):
    events = []
    for i, name in enumerate(n for n in SAMPLE_BITS if n != "IDENTIFIER"):
        a = dict(FULL_ATTR, sample=BIT["IDENTIFIER"] | BIT[name])
        events.append(("field-" + name, a, [100 + 2 * i]))
    f = File(Writer(o), events)
    lines, sums = fill(f, 2)
    lines += [event_line(i, n, a, ids, *sums[i]) for i, (n, a, ids) in enumerate(events)]
    return [(f.build(), lines)]


def case_read_formats(o):
    events = [("read-%d" % r, dict(sample=BASE | BIT["READ"] | BIT["CALLCHAIN"], read=r, period=1), [100 + 2 * r])
              for r in range(32)]
    f = File(Writer(o), events)
    lines, _ = fill(f, 1)
    return [(f.build(), lines)]


def case_attr_sizes(o):
    out = []
    for size in (64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200):
        a = dict(FULL_ATTR, sample=BIT["IP"] | BIT["TID"] | BIT["PERIOD"], read=0)
        f = File(Writer(o), [("e", a, [])], attr_size=size)
        lines, sums = fill(f, 2)
        out.append((f.build(), lines + [event_line(0, "e", a, [], *sums[0], size=size)]))
    return out


def side_file(o):
    w = Writer(o)
    a = dict(type=2, config=0, period=4000, freq=1, sample_id_all=1, read=ENABLED | RUNNING | RID | GROUP | RLOST,
             sample=BASE | BIT["ID"] | BIT["STREAM_ID"])
    b = dict(a, config=1)
    f = File(w, [("cpu-clock", a, [40, 42]), ("task-clock", b, [41])])
    lines = []
    for seed, (name, kind, misc, body, text) in enumerate(kernel_records(w)):
        tail, said = trailer(w, a, seed, (40, 41, 42)[seed % 3])
        f.data += w.record(kind, body + tail, misc)
        lines.append("record %s misc=%x size=%d %s%s event=%d" % (name, misc, 8 + len(body) + len(tail),
                                                                  text + " " if text else "", said, seed % 3 == 1))
    for name, rec, words in user_records(w):
        f.data += rec
        size = struct.unpack(o + "H", rec[6:8])[0]
        line = "record %s misc=0 size=%d | has=0 pid=0 tid=0 time=0 id=0 stream=0 cpu=0 event=0" % (name, size)
        if words is not None:
            line += " words=" + hexs(words)
        lines.append(line)
    return f, lines


def case_side(o):
    f, lines = side_file(o)
    # LOST: 1 record of 7; LOST_SAMPLES: 13; READ: 5 + 6; one throttle, one unthrottle; AUX: truncated
    lines += ["losses 1 7 13 11 1 1 1", "side 36"]
    more, _ = fill(f, 2)
    return [(f.build(), lines + more)]


def case_unknown(o):
    w = Writer(o)
    a = dict(sample=BASE, sample_id_all=1)
    f = File(w, [("cycles", a, [40])])
    f.data += w.record(63, bytes(8) + trailer(w, a, 3, 40)[0]) + w.record(5000, bytes(16))
    lines, _ = fill(f, 1)
    f.features = {200: b"what is this", 3: w.text("host-a")}
    return [(f.build(), lines + ["type T63 1 48", "type T5000 1 24", "info hostname host-a"])]


def features(w):
    bid = bytes(range(20))
    b = {
        3: w.text("host-a"), 4: w.text("6.99.0-x"), 5: w.text("6.99.g"), 6: w.text("x86_64"), 7: w.pack("II", 4, 3),
        8: w.text("A CPU"), 9: w.text("GenuineX,6,1,2"), 10: w.u64(32000000),
        11: w.pack("I", 3) + w.text("perf") + w.text("record") + w.text("a b"),
        13: w.pack("I", 1) + w.text("0-3") + w.pack("I", 2) + w.text("0-1") + w.text("2-3") +
        b"".join(w.pack("II", i // 2, 0) for i in range(4)) + w.pack("I", 1) + w.text("0-3") + w.pack("4I", 5, 5, 6, 6),
        14: w.pack("I", 1) + w.pack("IQQ", 0, 32000, 16000) + w.text("0-3"),
        15: b"", 16: w.pack("I", 2) + w.pack("I", 4) + w.text("cpu") + w.pack("I", 10) + w.text("uncore_imc"),
        17: w.pack("I", 0), 18: b"",
        20: w.pack("II", 1, 1) + w.pack("IIII", 1, 64, 64, 8) + w.text("Data") + w.text("32K") + w.text("0-1"),
        21: w.u64(1000, 2000), 23: w.u64(5),
        27: w.pack("5I", 1, 1, 3, 7, 4096), 28: w.pack("I", 1) + w.text("branches") + w.text("32"),
        29: w.pack("IIQQ", 1, 1, 1700000000000000000, 123456789),
        30: w.pack("I", 2) + w.text("cpu_core") + w.text("0-1") + w.text("cpu_atom") + w.text("2-3"),
        31: w.pack("I", 2) + w.pack("I", 1) + w.text("max_precise") + w.text("3") + w.text("cpu_core") +
        w.pack("I", 1) + w.text("branches") + w.text("16") + w.text("cpu_atom"),
    }
    path = text8("/usr/bin/thing")
    b[2] = w.record(0, w.pack("i", -1) + bid + b"\x14\0\0\0" + path, 1 << 15 | 2)
    b[2] += w.record(0, w.pack("i", 7) + bid[:16] + bytes(4) + b"\x10\0\0\0" + text8("[kernel]"), 1 << 15 | 1)
    lines = """info hostname host-a
info os_release 6.99.0-x
info version 6.99.g
info arch x86_64
info cpu_desc A CPU
info cpuid GenuineX,6,1,2
info cpus_online 3
info cpus_available 4
info mem_total_kb 32000000
info sample_time_first 1000
info sample_time_last 2000
info clockid 1
info clock_res_ns 5
info clock_wall_ns 1700000000000000000
info clock_mono_ns 123456789
info compressed_type 1
info compressed_level 3
info compressed_ratio 7
info compressed_mmap_len 4096
info cmdline [perf] [record] [a b]
info cores [0-3]
info threads [0-1] [2-3]
info dies [0-3]
info cpu 0 0 0 5
info cpu 3 1 0 6
info node 0 32000 16000 0-3
info cache 1 64 64 8 Data 32K 0-1
info hybrid cpu_core 0-1
info hybrid cpu_atom 2-3
info pmu 4 cpu
info pmu 10 uncore_imc
info cap cpu branches=32
info cap cpu_core max_precise=3
info cap cpu_atom branches=16""".split("\n")
    lines += ["info buildid pid=-1 misc=8002 id=%s /usr/bin/thing" % bid.hex(),
              "info buildid pid=7 misc=8001 id=%s [kernel]" % bid[:16].hex()]
    return b, lines


def case_features(o):
    w = Writer(o)
    f = File(w, [("cycles", dict(sample=BASE), [40])])
    f.features, lines = features(w)
    more, _ = fill(f, 1)
    return [(f.build(), lines + more)]


def case_pipe(o):
    f, lines = side_file(o)
    w = f.w
    feats, said = features(w)
    out = (b"PERFILE2" if o == "<" else b"2ELIFREP") + w.u64(16)
    for name, a, ids in f.events:
        out += w.record(HEADER_ATTR, w.attr(a, 144) + w.u64(*ids))
    out += w.record(EVENT_TYPE, w.u64(0) + b"the-first" + bytes(55))
    out += w.record(EVENT_UPDATE, w.u64(2, 41) + text8("the-second"))
    out += w.record(EVENT_UPDATE, w.u64(0, 41) + text8("msec"))
    for bit, payload in feats.items():
        if bit != 2:
            out += w.record(FEATURE, w.u64(bit) + payload)
    out += w.record(BUILD_ID, w.pack("i", -1) + bytes(range(20)) + b"\x14\0\0\0" + text8("/usr/bin/thing"), 1 << 15 | 2)
    out += w.record(TRACING_DATA, w.pack("I", 13)) + b"tracing bytes\0\0\0"
    more, sums = fill(f, 2)
    out += f.data
    lines = [l for l in said if not l.startswith("info buildid")] + lines + more
    lines += ["info buildid pid=-1 misc=8002 id=%s /usr/bin/thing" % bytes(range(20)).hex()]
    lines += [event_line(0, "the-first", f.events[0][1], [40, 42], *sums[0]),
              event_line(1, "the-second", f.events[1][1], [41], *sums[1], unit="msec")]
    return [(out, lines)]


def case_version1(o):
    w = Writer(o)
    t = BASE & ~BIT["IDENTIFIER"] | BIT["ID"]
    f = File(w, [("", dict(sample=t, type=2, config=3), [40]), ("", dict(sample=t, type=2, config=4), [41])], attr_size=72, version=1)
    f.types = w.u64(4) + b"second-name" + bytes(53) + w.u64(3) + b"old-name" + bytes(56)
    lines, sums = fill(f, 3)
    return [(f.build(event_desc=False), lines + ["form 3 foreign %d" % (o == ">"),
             event_line(0, "old-name", f.events[0][1], [40], *sums[0], size=72),
             event_line(1, "second-name", f.events[1][1], [41], *sums[1], size=72)])]


def case_killed(o):
    """Data size 0, no features, and half a record at the end."""
    f, lines = side_file(o)
    more, _ = fill(f, 2)
    b = f.build(data_size=0)
    half, _ = Sample(9, 40).write(f.w, f.events[0][1], 0)
    return [(b + half[:21], lines + more)]


USER, KERNEL, USER_DEFERRED = 2**64 - 512, 2**64 - 128, 2**64 - 640


class Deferred:
    """Samples whose call chains end with a cookie, and the records with the rest, as Linux 6.19 writes them."""

    def __init__(self, o):
        t = BIT["IDENTIFIER"] | BIT["IP"] | BIT["TID"] | BIT["TIME"] | BIT["PERIOD"] | BIT["CALLCHAIN"] | BIT["CPU"] | BIT["RAW"]
        self.w, self.seed, self.lines = Writer(o), 0, []
        a = dict(sample=t, sample_id_all=1, defer_callchain=1, defer_output=1)
        self.events = [("cycles", a, [40]), ("faults", dict(a, sample=t & ~BIT["RAW"]), [41]),
                       ("whole", dict(sample=t, sample_id_all=1), [42])]

    def sample(self, event, tid, chain, whole, misc):
        """The record with `chain`; it must be read with `whole`."""
        self.seed += 1
        _, a, ids = self.events[event]
        s = Sample(self.seed, ids[0])
        s.v["TID"], s.v["CALLCHAIN"] = (tid & ~1, tid), whole
        s.v["IP"] = next((x for x in whole if 0 < x < 2**64 - 4096), s.v["IP"])  # a chain begins where its sample is
        _, line = s.write(self.w, a, event, misc)
        s.v["CALLCHAIN"] = chain
        self.lines.append(line)
        return s.record(self.w, a, misc)

    def waits(self, event, tid, cookie, user, kernel=(), lost=None):
        head = [KERNEL, *kernel] if kernel else []
        ip = 0xffffffff81000000 + self.seed + 1  # as Sample has it
        rest = [USER, *user] if user else [0] if kernel else [USER, ip, 0]
        return self.sample(event, tid, head + [USER_DEFERRED, cookie], head + rest, 1 if kernel else 2)

    def rest(self, tid, cookie, user, event=0, claims=None):
        a = self.events[event][1]
        t = a["sample"]
        tail = dict(TID=self.w.pack("II", tid & ~1, tid), TIME=self.w.u64(70000), CPU=self.w.pack("II", 3, 0),
                    IDENTIFIER=self.w.u64(self.events[event][2][0]))
        return self.w.record(CALLCHAIN_DEFERRED, self.w.u64(cookie, claims or len(user) + 1, USER, *user) +
                             b"".join(tail[n] for n in TRAILER if t & BIT[n]), 2)

    def parts(self):
        """Pieces of a recording, each record in one."""
        comm = self.w.record(COMM, self.w.pack("II", 100, 101) + text8("own") + self.w.pack("II", 100, 101) +
                             self.w.u64(5) + self.w.pack("II", 1, 0) + self.w.u64(40))
        k = [0xffffffff81000010, 0xffffffff81000020]
        out = [comm]
        # two threads whose samples and records alternate; the cookie of both is one number
        out += [self.waits(0, 100, 7, [0x401000, 0x402000], k), self.waits(0, 101, 7, [0x501000], k),
                self.rest(101, 7, [0x501000]), comm, self.rest(100, 7, [0x401000, 0x402000])]
        # three samples of two events wait for one record, one of them taken in user space
        out += [self.waits(0, 100, 8, [0x401001], k), self.waits(1, 100, 8, [0x401001], k[:1]),
                self.waits(1, 100, 8, [0x401001]), self.rest(100, 8, [0x401001]), self.rest(100, 8, [0x401001], 1)]
        # no record, in the kernel and in user space; one that is damaged; one that nobody waits for
        out += [self.waits(0, 100, 9, None, k), self.waits(1, 101, 10, None), self.waits(0, 100, 11, None, k),
                self.rest(100, 11, [1, 2], claims=1000), self.rest(100, 12, [0x409000])]
        # a chain of 127 entries, and an event that does not defer: what looks like a cookie is none
        long = [0x600000 + i for i in range(127)]
        out += [self.waits(0, 102, 13, long, k), self.rest(102, 13, long),
                self.sample(2, 102, [USER_DEFERRED, 13], [USER_DEFERRED, 13], 2),
                self.sample(0, 102, [USER, 0x401002], [USER, 0x401002], 2), comm]
        return out


def case_deferred(o):
    out = []
    for how in ("plain", "packed", "directory", "large")[:3 + (o == "<")]:
        d = Deferred(o)
        f = File(d.w, d.events)
        parts = d.parts()
        kinds = [struct.unpack(o + "I", x[:4])[0] for x in parts]
        bytes_of = sum(len(x) for x, k in zip(parts, kinds) if k == CALLCHAIN_DEFERRED)
        want = list(d.lines)
        want[2:2] = ["record COMM"]
        want += ["type CALLCHAIN_DEFERRED 7 %d" % bytes_of, "deferred 9 3", "side 3",
                 "note 3 of 9 samples lack the user part of their call chains: its records (CALLCHAIN_DEFERRED) are missing",
                 "note 1 user parts of call chains (CALLCHAIN_DEFERRED) belong to no sample",
                 "note a deferred call chain claims 1000 entries and has room for 7: not used"]
        if how == "plain":
            f.data = b"".join(parts)
            made = f.build()
        elif how == "large":  # more than one chunk and block of the reader
            f.data = b"".join(parts) * 3000
            made, records = f.build(), [x for x in want if x.startswith("record")]
            want = records * 3000 + ["type CALLCHAIN_DEFERRED 21000 %d" % (3000 * bytes_of), "deferred 27000 9000", "side 9000"]
        elif how == "packed":
            z, plain = Zstd(), b"".join(parts)
            f.data = b"".join(d.w.record(COMPRESSED, z.flush(plain[at:at + 333])) for at in range(0, len(plain), 333))
            made = f.build()
        else:  # samples first, then the rest of their chains in another file
            f.data = b"".join(x for x, k in zip(parts, kinds) if k != CALLCHAIN_DEFERRED)
            made = {"data": f.build(), "data.0": b"".join(x for x, k in zip(parts, kinds) if k == CALLCHAIN_DEFERRED)}
        out.append((made, want))
    return out


def case_directory(o):
    f, lines = side_file(o)
    more, _ = fill(f, 1)
    main = f.build()
    parts = []
    for i in range(11):
        g = File(f.w, f.events)
        g.data = b""
        s, line = Sample(100 + i, 40 + i % 2).write(f.w, f.events[i % 2][1], i % 2)
        parts.append((s, line))
    files = {"data": main}
    files.update({"data.%d" % i: p[0] for i, p in enumerate(parts)})
    return [(files, lines + more + [p[1] for p in parts] + ["form 2 foreign %d" % (o == ">")])]


# ---- packed ----

class Zstd:
    def __init__(self):
        name = ctypes.util.find_library("zstd") or "libzstd.so.1"
        self.z = z = ctypes.CDLL(name)
        z.ZSTD_createCStream.restype = ctypes.c_void_p
        z.ZSTD_compressStream2.restype = ctypes.c_size_t
        self.c = ctypes.c_void_p(z.ZSTD_createCStream())

    def flush(self, data):
        """What a recorder writes for this piece: the stream goes on, but all of the piece is out."""
        class Buf(ctypes.Structure):
            _fields_ = [("p", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]
        src = ctypes.create_string_buffer(data, len(data))
        dst = ctypes.create_string_buffer(len(data) + 1024)
        i = Buf(ctypes.cast(src, ctypes.c_void_p), len(data), 0)
        o = Buf(ctypes.cast(dst, ctypes.c_void_p), len(dst), 0)
        left = self.z.ZSTD_compressStream2(self.c, ctypes.byref(o), ctypes.byref(i), 1)
        assert left == 0 and i.pos == len(data)
        return dst.raw[:o.pos]


def packed(o, kind):
    f, lines = side_file(o)
    more, _ = fill(f, 40)
    plain, f.data = f.data, b""
    z, w = Zstd(), f.w
    # payload of AUXTRACE stands outside of what is packed by perf; here it goes through it, too
    step = 333
    for at in range(0, len(plain), step):
        c = z.flush(plain[at:at + step])
        if kind == COMPRESSED:
            f.data += w.record(kind, c)
        else:
            f.data += w.record(kind, pad8(w.u64(len(c)) + c))
        if at == step * 3:
            f.data += w.record(FINISHED_ROUND, b"")
    return [(f.build(), lines + more)]


def case_compressed(o):
    return packed(o, COMPRESSED)


def case_compressed2(o):
    return packed(o, COMPRESSED2)


def case_simpleperf(o):
    """Its own features, from 128 on, and records beyond 16 bits of size, the upper half of which stands in misc."""
    w = Writer(o)
    a = dict(sample=BASE, sample_id_all=1)
    f = File(w, [("", a, [40]), ("", dict(a, config=1), [41])])
    f.features = {3: w.text("phone"), 128: b"", 129: b"a\0b\0event_type_info\0cpu-cycles,0,0\ninstructions,0,1\0"}
    more, sums = fill(f, 2)
    f.data += w.pack("IHH", 32770, 1, 4464) + bytes(70000 - 8)
    f.data += w.record(32771, bytes(24))
    last, line = Sample(9, 41).write(w, f.events[1][1], 1)
    f.data += last
    return [(f.build(event_desc=False), more + [
        line, "form 4 foreign %d" % (o == ">"), "info hostname phone", "type DSO 1 70000", "type SYMBOL 1 32",
        event_line(0, "cpu-cycles", a, [40], *sums[0]),
        event_line(1, "instructions", dict(a, config=1), [41], 3, sums[1][1] + 10009)])]


def case_compressed_large(o):
    """More than fits one block of the reader, cut into pieces without regard to records."""
    w = Writer(o)
    a = dict(sample=BASE | BIT["CALLCHAIN"], sample_id_all=1)
    f = File(w, [("cycles", a, [40])])
    one, each = b"", 0
    for i in range(1000):
        s = Sample(i, 40)
        one += s.record(w, a)
        each += s.v["PERIOD"]
    tail, said = trailer(w, a, 1, 40)
    one += w.record(COMM, w.pack("II", 11, 12) + text8("worker") + tail)
    z, plain = Zstd(), one * 120
    for at in range(0, len(plain), 54321):
        f.data += w.record(COMPRESSED, z.flush(plain[at:at + 54321]))
    size = 8 + 8 + 8 + len(tail)
    line = "record COMM misc=0 size=%d pid=b tid=c exec=0 comm=worker %s" % (size, said)
    return [(f.build(), ["type SAMPLE 120000 %d" % (len(plain) - 120 * size), "side 120",
                         event_line(0, "cycles", a, [40], 120000, 120 * each)] + [line] * 120)]


CASES = {k[5:]: v for k, v in sorted(globals().items()) if k.startswith("case_")}


def write(where, made):
    if isinstance(made, dict):
        os.makedirs(where, exist_ok=True)
        for name, b in made.items():
            with open(os.path.join(where, name), "wb") as out:
                out.write(b)
    else:
        with open(where, "wb") as out:
            out.write(made)


def every():
    """(name, files or bytes, expected lines)"""
    for name, make in CASES.items():
        for o, tag in (("<", "le"), (">", "be")):
            for i, (made, lines) in enumerate(make(o)):
                yield "%s-%d-%s" % (name, i, tag), made, lines


def big(path, n=9000000):
    w = Writer("<")
    a = dict(sample=BASE | BIT["CALLCHAIN"], sample_id_all=1)
    f = File(w, [("cycles", a, [40]), ("instructions", a, [41])])
    block = b""
    for i in range(10000):
        s = Sample(i, 40 + i % 2)
        s.v["CALLCHAIN"] = s.v["CALLCHAIN"][:4]
        block += s.record(w, a)
        if i % 1000 == 0:
            block += w.record(MMAP2, w.pack("IIQQQIIQQII", 11, 12, 0x7f00, 0x3000, 0, 8, 1, 4242, 77, 5, 2) +
                              text8("/usr/lib/x") + trailer(w, a, 1, 40)[0], 2)
    f.data = block
    one = f.build(data_size=0)
    head = one[:len(one) - len(block)]
    with open(path, "wb") as out:
        out.write(head)
        for _ in range(n // 10000):
            out.write(block)


def main():
    if sys.argv[1] == "--big":
        big(sys.argv[2])
        return
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, made, _ in every():
        write(os.path.join(sys.argv[1], name), made)


if __name__ == "__main__":
    main()
