#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IBS registers taken apart: synthetic samples of ten parts as perf report -D prints them, and published values."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ibs_file import FAMILY_10H, FAMILY_15H, FAMILY_15H_10, FAMILY_15H_30, FAMILY_15H_60, ZEN2, ZEN3, ZEN3_EARLY, ZEN4, ZEN5, ZEN6, packet, recording, w  # noqa: E402
from tap import Tap  # noqa: E402

DUMP = os.environ["IBS_DUMP"]
CYCLADE = os.environ["CYCLADE"]
PERF7 = os.environ.get("CYCLADE_PERF7")
t = Tap()

# ---- which fields mean something, by AMD's tables: from no table of the program ------------------
CAPS = {FAMILY_10H: 0x1f, FAMILY_15H: 0xff, FAMILY_15H_10: 0xff, FAMILY_15H_30: 0x1ff, FAMILY_15H_60: 0x7ff, ZEN2: 0x3ff, ZEN3_EARLY: 0x3ff,
        ZEN3: 0x3ff, ZEN4: 0xbff, ZEN5: 0x81bff, ZEN6: 0x9fbff}
FIRST = (FAMILY_10H, FAMILY_15H, FAMILY_15H_10)  # before 15h, model 30h
SOURCES = {  # perf's words, those of 6.1 and of 6.12
    "Local L3 or other L1/L2 in CCX": "L3", "Another CCX cache in the same NUMA node": "other cache of the node",
    "A peer cache in a near CCX": "other cache of the node", "Another CCX cache in a different NUMA node": "cache of another node",
    "A peer cache in a far CCX": "cache of another node", "DRAM": "DRAM", "Data returned from DRAM": "DRAM", "Long-latency DIMM": "persistent memory",
    'DRAM address map with "long latency" bit set': "persistent memory", "MMIO/Config/PCI/APIC": "I/O", "Data returned from MMIO/Config/PCI/APIC": "I/O",
    "Extension Memory": "memory behind a link", "Extension Memory (S-Link, GenZ, etc)": "memory behind a link", "Peer Agent Memory": "memory of another processor",
    "Coherent Memory of a different processor type": "memory of another processor", "Local node cache": "other cache of the node",
    "Remote node cache": "cache of another node", "Other": "I/O", "(reserved)": "not known"}
FAR = {"DRAM": "DRAM of another node", "Data returned from DRAM": "DRAM of another node", "Local node cache": "cache of another node"}  # with RmtNode


class Op:
    def __init__(self, cpu, caps, regs):
        self.cpu, self.caps = cpu, caps
        self.c, self.rip, self.d1, self.d2, self.d3, self.lin, self.phys = regs[:7]
        self.target = regs[7] if caps & 1 << 5 else 0  # a register that was not dumped: perf 6.1 and 6.12 print what is behind
        self.new = cpu not in FIRST
        self.late = self.new and cpu != FAMILY_15H_30
        self.five = cpu in (ZEN4, ZEN5, ZEN6)
        self.miss = self.bit(7) and not self.bit(14)  # uncacheable: no cache is told of
        self.load_miss = self.miss and self.bit(0)
        self.page_code = cpu in (ZEN5, ZEN6)  # bits 4 and 5 are one number
        self.tlb = self.bit(17) and (not self.page_code or self.bit(18))
        self.e1293 = cpu == ZEN3_EARLY and (self.bit(16) or self.bit(21))
        self.e718 = cpu in (FAMILY_15H, FAMILY_15H_10)
        self.sourced = self.load_miss and not self.e1293 and (self.bit(20) or not self.new)
        self.code = self.d2 & 7 | (self.d2 >> 6 & 3) << 3 if self.five else self.d2 & 7

    def bit(self, n):
        return self.d3 >> n & 1


class Fetch:
    def __init__(self, cpu, caps, regs):
        self.cpu, self.caps, self.c = cpu, caps, regs[0]
        self.late = cpu not in FIRST + (FAMILY_15H_30,)
        self.done, self.phys = self.c >> 50 & 1, self.c >> 52 & 1
        self.told = self.phys or cpu != ZEN6  # models 50h to 5Fh of 1Ah and others: no status without a physical address


always = lambda x: True
# perf's word: our key, and when the field has a value. Where perf prints more, it prints bits that mean nothing: reserved ones, or an erratum's.
OP = {
    "MaxCnt": ("max", always), "CurCnt": ("op_count", always), "CntCtl": ("op_dispatched", always), "L3MissOnly": ("op_l3_only", lambda x: x.five),
    "IbsOpRip": ("op_rip", lambda x: not (x.caps & 1 << 7 and x.d1 >> 38 & 1)),
    "CompToRetCtr": ("complete_to_retire", always), "TagToRetCtr": ("tag_to_retire", always), "BrnRet": ("branch", always),
    "OpReturn": ("return", lambda x: x.d1 >> 37 & 1), "OpBrnTaken": ("taken", lambda x: x.d1 >> 37 & 1), "OpBrnMisp": ("mispredicted", lambda x: x.d1 >> 37 & 1),
    "RipInvalid": ("rip_invalid", lambda x: x.caps & 1 << 7), "BrnFuse": ("fused", lambda x: x.caps & 1 << 8), "Microcode": ("microcode", lambda x: x.late),
    "RmtNode": ("remote_node", lambda x: x.sourced and x.code), "DataSrc": ("source_code", lambda x: x.sourced and x.code),
    # the kernel takes it for none on Zen 3; it belongs to sources that are caches
    "CacheHitSt": ("cache_owned", lambda x: x.sourced and x.cpu not in (ZEN3, ZEN3_EARLY) and x.code in ((1, 2, 5) if x.five else (2,))),
    "LdOp": ("load", always), "StOp": ("store", always), "DcL1TlbMiss": ("dtlb_l1_miss", lambda x: x.tlb),
    "DcL2TlbMiss": ("dtlb_l2_miss", lambda x: x.tlb and not x.e718), "DcL1TlbHit2M": ("page_low", lambda x: x.tlb), "DcL1TlbHit1G": ("page_high", lambda x: x.tlb),
    "DcL2TlbHit2M": ("dtlb_l2_2m", lambda x: x.tlb and not x.e718 and not x.page_code), "DcL2TlbHit1G": ("dtlb_l2_1g", lambda x: x.tlb and not x.e718 and not x.page_code),
    "DcMiss": ("dc_miss", lambda x: not x.bit(14)), "DcMisAcc": ("misaligned", always), "DcWcMemAcc": ("write_combining", always),
    "DcUcMemAcc": ("uncacheable", always), "DcLockedOp": ("locked", always),
    "DcMissNoMabAlloc": ("mab", lambda x: x.miss),  # before 15h, model 30h: of a hit, erratum 717
    "DcLinAddrValid": ("linear_valid", always), "DcPhyAddrValid": ("physical_valid", always), "L2Miss": ("l2_miss", lambda x: x.new and x.miss and not x.e1293),
    "SwPf": ("prefetch", lambda x: x.new), "OpMemWidth": ("bytes", lambda x: x.new and x.d3 >> 22 & 15),
    "OpDcMissOpenMemReqs": ("open_requests", lambda x: x.new and x.miss and not x.e1293), "DcMissLat": ("miss_latency", lambda x: x.load_miss),
    "TlbRefillLat": ("dtlb_refill", lambda x: x.new and x.tlb and (not x.five or x.bit(18))), "IbsDCLinAd": ("data_linear", lambda x: x.bit(17)), "IbsDCPhysAd": ("data_physical", lambda x: x.bit(18) and (not x.five or x.bit(17))),
    "IbsBrTarget": ("target", lambda x: x.d1 >> 37 & 1 and x.target and x.cpu != FAMILY_15H),  # erratum 717
    # perf 7
    "DcPageSize": ("dtlb_page", lambda x: x.page_code and x.tlb), "LdLatThrsh": ("op_latency_least", lambda x: x.page_code), "LdLatEn": ("op_latency_on", lambda x: x.page_code),
    "RmtSocket": ("remote_socket", lambda x: x.cpu == ZEN6 and x.sourced and x.code), "StrmSt": ("streaming_store", lambda x: x.cpu == ZEN6),
    "En": ("one", always), "Val": ("one", always),
    "ibs_op_ctl": ("op_ctl", always), "ibs_op_data": ("op_data", always), "ibs_op_data2": ("op_data2", always), "ibs_op_data3": ("op_data3", always)}
FETCH = {
    "MaxCnt": ("max", always), "Cnt": ("count", lambda x: x.cpu != FAMILY_15H_10),  # erratum 719
    "Lat": ("fetch_latency", lambda x: x.told), "Comp": ("fetch_completed", always), "IcMiss": ("ic_miss", lambda x: x.told and x.cpu != ZEN3_EARLY),  # erratum 1238
    "PhyAddrValid": ("fetch_phys_valid", always), "L1TlbPgSz": ("itlb_page_size", lambda x: x.phys and (x.c >> 53 & 3 < 3 or x.cpu == ZEN3_EARLY)),
    "L1TlbMiss": ("itlb_l1_miss", lambda x: x.told), "L2TlbMiss": ("itlb_l2_miss", lambda x: x.told), "RandEn": ("fetch_random", always),
    "L2Miss": ("fetch_l2_miss", lambda x: x.told and x.late and x.done), "L3MissOnly": ("fetch_l3_only", always), "FetchOcMiss": ("fetch_oc_miss", lambda x: x.told),
    "FetchL3Miss": ("fetch_l3_miss", lambda x: x.told and x.done), "IbsFetchLinAd": ("fetch_linear", always), "IbsFetchPhysAd": ("fetch_physical", lambda x: x.phys),
    "IbsItlbRefillLat": ("itlb_refill", lambda x: x.told and x.caps & 1 << 9), "En": ("one", always), "Val": ("one", always),
    "ibs_fetch_ctl": ("fetch_ctl", always), "ic_ibs_ext_ctl": ("fetch_extended", lambda x: x.caps & 1 << 9)}
WHOLE = {"ibs_op_ctl", "ibs_op_data", "ibs_op_data2", "ibs_op_data3", "ibs_fetch_ctl", "ic_ibs_ext_ctl"}  # SQL has them
HEX = WHOLE | {"IbsOpRip", "IbsDCLinAd", "IbsDCPhysAd", "IbsBrTarget", "IbsFetchLinAd", "IbsFetchPhysAd"}
PAGES = {"4K": 0, "2M": 1, "1G": 2, "??": 3, "4KB": 1 << 12, "16KB": 1 << 14, "2MB": 1 << 21, "1GB": 1 << 30, "RESERVED": None}


def printed(text):
    """What perf prints of a sample: word -> number, and the name of its source."""
    out, source = {}, None
    for line in text.splitlines():
        m = re.match(r"(\w+):\s+([0-9a-f]{16})(.*)", line)
        if not m:
            continue
        rest = m[3].replace(" bytes", "")
        s = re.search(r" DataSrc (\d+)=(.*)", rest)
        if s:
            out["DataSrc"], source, rest = int(s[1]), s[2], rest[:s.start()]
        out[m[1]] = int(m[2], 16)
        for word, value in re.findall(r"(\w+) +(\S+)", rest):
            out[word] = PAGES[value] if value in PAGES else int(value.partition("=")[0])
    return out, source


def shaped(kind, x):
    """Our fields, as perf has them."""
    of = lambda *keys: next((x[k] for k in keys if x.get(k) is not None), None)
    join = lambda low, shift, high: None if x[low] is None else (x[low] | (x.get(high) or 0) << shift) << 4
    x = dict(x, one=1, max=join("op_max_count", 16, "op_max_high") if kind == "op" else join("fetch_max_count", 0, ""))
    if kind == "fetch":
        return dict(x, count=join("fetch_count", 0, ""))
    page = x["dtlb_page"]
    return dict(x, mab=of("mab_hit", "no_mab"), bytes=x["width"],
                page_low=of("dtlb_l1_2m") if page is None else page & 1, page_high=of("dtlb_l1_1g") if page is None else page >> 1)


def differences(kind, at, text, x, new):
    """Fields that perf prints otherwise, or where one of us has a value and the other none; those that are equal."""
    (theirs, source), ours, bad, seen = printed(text), shaped(kind, x), [], set()
    table = OP if kind == "op" else FETCH
    bad += ["%s: not compared" % word for word in theirs if word not in table]
    for word, (key, means) in table.items():
        if key not in ours and word in WHOLE:
            continue
        p, v = theirs.get(word), ours[key]
        if at.cpu == FAMILY_10H and kind == "op" and p is not None:
            p &= {"MaxCnt": 0xffff0, "CurCnt": 0xfffff}.get(word, -1)  # perf prints bits that are reserved there
        if v is not None and not means(at):
            bad.append("%s: %s=%s means nothing here" % (word, key, v))
        elif v is None and means(at) and p is not None:
            bad.append("%s: perf %s, %s has no value" % (word, p, key))
        elif v is not None and v != p and not (p is None and silent(word, at, v, new)):
            bad.append("%s: perf %s, %s=%s" % (word, p, key, v))
        seen |= {word} if v is not None and v == p else set()
    if source and at.sourced:
        # of 3 bits, 1 is the L3 of 10h and of 15h below model 10h; perf has it as reserved everywhere
        want = "L3" if at.code == 1 and at.cpu in (FAMILY_10H, FAMILY_15H) else FAR.get(source, SOURCES.get(source)) if theirs["RmtNode"] else SOURCES.get(source)
        bad += [] if x["source"] == want else ["DataSrc: perf %s, node %d; %s" % (source, theirs["RmtNode"], x["source"])]
    return bad, seen


NEW_WORDS = {"DcPageSize", "LdLatThrsh", "LdLatEn", "RmtSocket", "StrmSt"}


def silent(word, at, v, new):
    """What perf does not print though it has a value."""
    if word in ("DcL1TlbHit2M", "DcL1TlbHit1G"):
        return new and at.page_code  # perf 7 has DcPageSize
    if word == "ic_ibs_ext_ctl":  # the register is a column, whatever it means
        return new and not at.told
    return (word in NEW_WORDS and not new) or (word in ("RmtSocket", "StrmSt") and at.e1293) or (word == "DataSrc" and v > 12) or (word == "ibs_op_data2" and at.e1293) or \
        (word == "IbsOpRip" and at.d1 >> 38 & 1)  # family 10h has no such bit, perf obeys it


def ours(cpuid, packets):
    text = "".join("%s %s\n" % (k, raw.hex()) for k, raw in packets)
    r = subprocess.run([DUMP, cpuid], input=text, capture_output=True, text=True, check=True)
    out = []
    for line in r.stdout.splitlines():
        out.append(dict(f.split("=", 1) for f in line.strip().split("\t")) if line[0] != "?" else line)
    return out


def values(x):
    """key -> its value or None, of a line of ibs_dump; a width in bytes, as SQL has it."""
    out = {k: said if k == "source" else None if "!" in said else int(said) for k, said in x.items()}
    return dict(out, width=1 << out["width"] - 1 if out["width"] else None) if "width" in out else out


def draw(rnd, caps):
    """An op and a fetch of random bits; of most the control registers say that they are samples."""
    word = lambda: rnd.getrandbits(64)
    d3 = word() & ~(1 << 14) | 1 << 20 | 1 << 7 | 1 if rnd.random() < 0.6 else word()  # many with a source
    enabled = lambda n: (3 if rnd.random() < 0.95 else rnd.getrandbits(2)) << n
    source = rnd.choice([0, 1, 2, 3, 4, 5, 6, 7, 64, 65, 66, 67, 68]) | rnd.getrandbits(2) << 4 if rnd.random() < 0.8 else word()
    op = [word() & ~(3 << 17) | enabled(17), word(), word(), source, d3, word(), word() & (1 << 48) - 1, rnd.choice([0, word(), word(), word()])]
    fetch = [word() & ~(3 << 48) | enabled(48), rnd.choice([0, word(), word(), word()]), word() & (1 << 48) - 1, word()]
    op += [rnd.getrandbits(1)] if caps & 1 << 10 else []  # OpData4
    return [("op", op if caps & 1 << 5 else op[:7]), ("fetch", fetch if caps & 1 << 9 else fetch[:3])]


def of_perf(perf, path):
    """The decoded lines of each sample, as one text."""
    r = subprocess.run([perf, "report", "-D", "-i", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return re.findall(r"^(ibs_(?:op|fetch)_ctl:.*?)^\d", r.stdout, re.M | re.S)


def against(perf, label, cpuid, tmp):
    rnd, caps = random.Random(7), CAPS[cpuid]
    drawn = [x for _ in range(300) for x in draw(rnd, caps)]
    packets = [packet(kind, caps, regs) for kind, regs in drawn]
    path = os.path.join(tmp, "ibs.data")
    recording(path, cpuid, packets)
    theirs, mine = iter(of_perf(perf, path)), ours(cpuid, packets)
    rows, bad = tables(path), []
    lines = {kind: iter(r) for kind, r in rows.items()}
    seen, met = {"of the decoder": 0, "of SQL": 0}, set()
    for (kind, regs), x in zip(drawn, mine):
        row = next(lines[kind], {})
        if regs[0] >> (17 if kind == "op" else 48) & 3 != 3:
            bad += [] if isinstance(x, str) and row.get("refused") else ["no sample, but decoded: %s" % x]
            continue
        text = next(theirs, "")
        if kind == "fetch" and cpuid == ZEN3_EARLY and not regs[1]:  # erratum 1197: the kernel drops these, perf does not
            bad += [] if "1197" in x and "1197" in (row.get("refused") or "") else ["erratum 1197: %s" % x]
            continue
        if isinstance(x, str):
            bad.append("refused: %s" % x)
            continue
        at = (Op if kind == "op" else Fetch)(cpuid, caps, regs)
        for name, fields in (("of the decoder", values(x)), ("of SQL", of_row(row))):
            b, s = differences(kind, at, text, fields, label == "perf 7")
            bad += ["%s: %s" % (name, y) for y in b]
            seen[name] += len(s)
            met |= {(kind, word) for word in s}
    bad += ["too many samples of perf"] if next(theirs, None) else []
    for name, n in seen.items():
        t.ok(not bad and n > 300 * 20, "%s, %s: %d fields %s of 600 synthetic samples" % (label, cpuid, n, name), "\n".join(bad[:10]))
    same("%s, %s" % (label, cpuid), packets, mine, rows)
    return met


def tables(path):
    """Rows of both tables, by kind, in the order of the file."""
    out = {}
    for kind in "op", "fetch":
        r = subprocess.run([CYCLADE, "sql", path, "-j", "SELECT * FROM ibs_%s" % kind], capture_output=True, text=True, check=False)
        out[kind] = json.loads(r.stdout)["rows"] if not r.returncode else r.stderr
    return out


def of_row(row):
    """A row of SQL, its addresses as numbers."""
    number = lambda v: int(v, 16) if isinstance(v, str) and v.startswith("0x") else v % 2**64 if isinstance(v, int) else v
    return {k: v or "not known" if k == "source" else number(v) for k, v in row.items()}


def same(label, packets, mine, rows):
    """Columns of SQL have the values of ibs_get(), and null where that has a reason."""
    bad, seen = [], 0
    at = {kind: iter(r) for kind, r in rows.items()}
    for (kind, raw), x in zip(packets, mine):
        row = of_row(next(at[kind], {}))
        if isinstance(x, str):
            continue
        bad += [] if row.get("caps") == int.from_bytes(raw[:4], "little") else ["caps %s" % row.get("caps")]
        for key, want in values(x).items():
            bad += [] if row.get(key, "no column") == want else ["%s: %s, not %s" % (key, row.get(key), want)]
            seen += want is not None
    bad += ["too many rows of %s" % kind for kind, i in at.items() if next(i, None)]
    t.ok(not bad and seen > 15 * len(packets), "%s: %d values of SQL" % (label, seen), "\n".join(bad[:10]))


def odd(tmp):
    """Bytes that are no sample keep their row; registers that are not known stay; a field without a value is null."""
    path = os.path.join(tmp, "odd.data")
    more = w.u64(0x1234)
    recording(path, ZEN4, [packet("op", 0xbff, [0] * 8), ("op", b"\0\0"), packet("fetch", 1 << 30 | 0xbff, [3 << 48, 1, 2, 3, 0x1234])])
    rows = tables(path)
    t.equal([(r["refused"], r["caps"], r["load"]) for r in rows["op"]],
            [("the control register says that it is no sample", None, None), ("no raw data were recorded", None, None)], "refused, and why")
    t.equal([(r["refused"], r["fetch_l2_miss"], r["itlb_page"], r["fetch_linear"] in (1, "0x1")) for r in rows["fetch"]],
            [(None, None, None, True)], "null where it has no value")
    r = subprocess.run([CYCLADE, "sql", path, "--format", "csv", "SELECT hex(more), caps >> 30 FROM ibs_fetch"], capture_output=True, text=True, check=False)
    t.ok(more.hex().upper() + ",1" in r.stdout, "registers and capabilities that nobody knows are kept", r.stdout + r.stderr)
    rnd = random.Random(3)
    for cpuid in FAMILY_15H, FAMILY_15H_60, ZEN5:  # the same fields, and the words behind them
        caps = CAPS[cpuid]
        known = [packet("op", caps, [regs[0] | 3 << 17] + regs[1:])[1] for _ in range(20) for kind, regs in draw(rnd, caps) if kind == "op"]
        recording(path, cpuid, [("op", raw) for raw in known])
        plain = tables(path)["op"]
        recording(path, cpuid, [("op", w.pack("I", caps | 1 << 29) + raw[4:] + w.u64(i, 0xabcdef)) for i, raw in enumerate(known)])
        rows = tables(path)["op"]
        same = [{k: v for k, v in row.items() if k not in ("caps", "more", "sample")} for row in rows] == [{k: v for k, v in row.items() if k not in ("caps", "more", "sample")} for row in plain]
        r = subprocess.run([CYCLADE, "sql", path, "--format", "csv", "SELECT hex(more), caps & 1 << 29 > 0, refused IS NULL FROM ibs_op"], capture_output=True, text=True, check=False)
        want = ["%s,1,1" % w.u64(i, 0xabcdef).hex().upper() for i in range(20)]
        t.ok(same and r.stdout.splitlines()[1:] == want, "%s: a longer sample with an unknown capability has the same fields, and its words" % cpuid, r.stdout + r.stderr)
        shown = subprocess.run([CYCLADE, "sql", path, "SELECT caps, more FROM ibs_op LIMIT 1"], capture_output=True, text=True, check=False).stdout
        t.ok("abcdef" in shown.lower() or "efcdab" in shown.lower(), "%s: which are shown" % cpuid, shown)


PUBLISHED = [  # kind, registers, every field that was published with them; those without a value, since a store has no source and no latency
    ("the manual's op", "op", [0x000002c30006186a, 0xffffffff8204aea7, 0x0000010002550001, 0x13, 0x31960092, 0xff110008a5398920, 0x8a5398920],
     dict(ibs_op_ctl=0x000002c30006186a, MaxCnt=100000, L3MissOnly=0, En=1, Val=1, CntCtl=0, CurCnt=707, IbsOpRip=0xffffffff8204aea7,
          CompToRetCtr=1, TagToRetCtr=597, BrnRet=0, RipInvalid=0, BrnFuse=0, Microcode=1, RmtNode=1, DataSrc=3, LdOp=0, StOp=1, DcL1TlbMiss=0,
          DcL2TlbMiss=0, DcL1TlbHit2M=1, DcL1TlbHit1G=0, DcL2TlbHit2M=0, DcMiss=1, DcMisAcc=0, DcWcMemAcc=0, DcUcMemAcc=0, DcLockedOp=0,
          DcMissNoMabAlloc=0, DcLinAddrValid=1, DcPhyAddrValid=1, DcL2TlbHit1G=0, L2Miss=1, SwPf=0, OpMemWidth=32, OpDcMissOpenMemReqs=12,
          DcMissLat=0, TlbRefillLat=0, IbsDCLinAd=0xff110008a5398920, IbsDCPhysAd=0x8a5398920), {"RmtNode", "DataSrc", "DcMissLat"}, "not known"),
    ("the commit's op", "op", [0x0000004500070008, 0x1000, 0x710002, 2, 0x000000681d1700a1, 0, 0],
     dict(ibs_op_ctl=0x0000004500070008, MaxCnt=128, L3MissOnly=1, En=1, Val=1, CntCtl=0, CurCnt=69, CompToRetCtr=2, TagToRetCtr=113, BrnRet=0,
          RipInvalid=0, BrnFuse=0, Microcode=0, CacheHitSt=0, RmtNode=0, DataSrc=2, LdOp=1, StOp=0, DcL1TlbMiss=0, DcL2TlbMiss=0, DcL1TlbHit2M=0,
          DcL1TlbHit1G=1, DcL2TlbHit2M=0, DcMiss=1, DcMisAcc=0, DcWcMemAcc=0, DcUcMemAcc=0, DcLockedOp=0, DcMissNoMabAlloc=1, DcLinAddrValid=1,
          DcPhyAddrValid=1, DcL2TlbHit1G=0, L2Miss=1, SwPf=0, OpMemWidth=8, OpDcMissOpenMemReqs=7, DcMissLat=104, TlbRefillLat=0), set(),
     "other cache of the node"),
    ("the commit's fetch", "fetch", [0x3c1f00c700080008, 0x1000, 0x2000],
     dict(ibs_fetch_ctl=0x3c1f00c700080008, MaxCnt=128, Cnt=128, Lat=199, En=1, Val=1, Comp=1, IcMiss=1, PhyAddrValid=1, L1TlbPgSz=4096, L1TlbMiss=0,
          L2TlbMiss=0, RandEn=0, L2Miss=1, L3MissOnly=1, FetchOcMiss=1, FetchL3Miss=1), set(), None)]
# AMD's tools read these registers one after the other, with no sample in them (Val is 0): what they say of the control register
FREE = [("op", [0x0001904c00021dec, 0xffffffffa208e00e, 0x00000100000d0004, 0, 0xc40002, 0xffffa54e782b3958, 0x1007017e40, 0xffffffffa208e00e],
         dict(op_max_count=0x1dec, op_max_high=0, op_count=0x1904c, op_dispatched=0, op_rip=0xffffffffa208e00e, complete_to_retire=4, tag_to_retire=13,
              microcode=1, branch=0, load=0, store=1, width=4, linear_valid=0, data_linear=None, data_physical=None, target=None)),
        ("fetch", [0x0221008d039915ee, 0x1000, 0x2000],
         dict(fetch_max_count=0x15ee, fetch_count=0x399, fetch_latency=0x8d, fetch_completed=0, ic_miss=0, fetch_phys_valid=0, itlb_page=None,
              itlb_l1_miss=0, itlb_l2_miss=0, fetch_random=1))]


def published():
    """Values that AMD published with their meaning: the perf-amd-ibs manual, the commit of perf's Zen 4 support, the README of its tools."""
    for name, kind, regs, fields, without, source in PUBLISHED:
        x = ours(ZEN4, [packet(kind, 0xb9f, regs)])[0]
        had, table = shaped(kind, values(x)), OP if kind == "op" else FETCH
        got = {word: had.get(table[word][0], regs[0]) for word in fields}
        t.equal(got, {word: None if word in without else v for word, v in fields.items()}, name)
        t.equal((x.get("source"), len(fields) >= (38 if kind == "op" else 17)), (source, True), "%s: its source" % name)
    for kind, regs, fields in FREE:
        valid = [regs[0] | 1 << (18 if kind == "op" else 49)] + regs[1:]
        no, x = ours(ZEN4, [packet(kind, 0xbff, regs), packet(kind, 0xbff, valid)])
        t.equal(no, "?the control register says that it is no sample", "registers that are not of one sample: %s" % kind)
        x = values(x)
        t.equal({k: x[k] for k in fields}, fields, "marked as one, they are those that were published")


def rules():
    """What has no value says why."""
    loads = 1 | 1 << 17 | 1 << 18
    op = lambda d3, d2=0, caps=0xbff, d=0, cpu=ZEN4: ours(cpu, [packet("op", caps, [3 << 17, 1, d, d2, d3, 0, 0, 0])])[0]
    t.equal(op(loads)["source"], "L1", "a hit of L1")
    t.equal(op(loads | 1 << 7)["source"], "L2", "a hit of L2")
    far = loads | 1 << 7 | 1 << 20
    t.equal([op(far, s)["source"] for s in (1, 2, 3, 5, 6, 7, 64, 68, 3 | 16)],
            ["L3", "other cache of the node", "DRAM", "cache of another node", "persistent memory", "I/O", "memory behind a link",
             "memory of another processor", "DRAM of another node"], "sources of 5 bits")
    t.equal([op(far, s, 0x3ff, cpu=ZEN2)["source"] for s in (2, 2 | 16, 3, 3 | 16)],
            ["other cache of the node", "cache of another node", "DRAM", "DRAM of another node"], "sources of 3 bits")
    t.equal([op(far, 1, 0x1ff, cpu=c)["source"] for c in (FAMILY_10H, FAMILY_15H, FAMILY_15H_30, ZEN2)],
            ["L3", "L3", "not known", "not known"], "source 1 is reserved after family 15h, model 0Fh")
    t.equal(op(far | 1 << 14, 3)["source"], "uncached", "uncacheable memory has no source")
    at = lambda cpu, caps, bits, key: ours(cpu, [packet("op", caps, [3 << 17, 1, 0, 0, 1 | bits | 9 << 48, 0x1000, 0x2000, 0])])[0][key]
    t.equal([at(cpu, caps, bits, key) for cpu, caps in ((ZEN3, 0x3ff), (ZEN4, 0xbff)) for bits, key in ((1 << 17, "dtlb_refill"), (1 << 18, "data_physical"))],
            ["9", "8192", "9!no physical address", "8192!no address of data"], "Zen 4: refills need a physical address, physical addresses a linear one")
    fetch = lambda cpu, ctl: ours(cpu, [packet("fetch", 0xbff, [3 << 48 | ctl, 0x1000, 0x2000, 7])])[0]
    status = ("fetch_latency", "ic_miss", "itlb_l1_miss", "itlb_l2_miss", "fetch_l2_miss", "fetch_oc_miss", "fetch_l3_miss", "itlb_refill")
    for model, needs in ((0x4f, 0), (0x50, 1), (0x5f, 1), (0x60, 0), (0x7f, 0), (0x80, 1), (0xaf, 1), (0xb0, 0), (0xc0, 1), (0xcf, 1), (0xd0, 0)):
        x = fetch("AuthenticAMD,26,%d,0" % model, 1 << 50)
        whole = fetch("AuthenticAMD,26,%d,0" % model, 1 << 50 | 1 << 52)
        t.equal(({x[k].partition("!")[2] for k in status}, {whole[k].partition("!")[2] for k in status}, x["fetch_completed"]), ({"no physical address" * needs}, {""}, "1"),
                "family 1Ah, model %Xh: %s" % (model, "no status of fetches without a physical address" if needs else "the status of all fetches"))
    t.equal(fetch("AuthenticAMD,27,1,0", 0)["ic_miss"], "0!no physical address", "families after 1Ah are like that")
    cleared = ours(ZEN4, [packet("op", 0xbff, [3 << 17, 1, 0, 0, loads, 0, 0, 0]), packet("fetch", 0xbff, [3 << 48 | 1 << 52, 0x1000, 0, 7])])
    t.equal([cleared[0]["data_linear"], cleared[0]["data_physical"], cleared[1]["fetch_physical"]],
            ["0!the address was cleared", "0!the physical address was cleared", "0!the physical address was cleared"], "what the kernel or --fields cleared is no address 0")
    early = op(far | 1 << 21, 3, 0x3ff, cpu="AuthenticAMD,25,1,0")
    t.equal((early["source"], early["open_requests"]), ("not known", "0!erratum 1293"), "erratum 1293")
    t.equal(op(loads, d=1 << 36)["mispredicted"], "1!no branch", "a misprediction of no branch")
    t.equal(op(far, 3, 0x3ff, cpu="AuthenticAMD,16,2,0")["l2_miss"], "1!this processor has no such field", "family 10h has no L2 bit")
    no = ours(ZEN4, [packet("op", 0xbff, [0] * 8), ("op", b"\0\0"), packet("op", 0xbff, [3 << 17, 1])])
    t.ok(all(isinstance(x, str) and x[0] == "?" for x in no), "bytes that are no sample are refused", str(no))


with tempfile.TemporaryDirectory() as tmp:
    published()
    rules()
    odd(tmp)
    for label, perf in (("perf", "perf"), ("perf 7", PERF7) if PERF7 else ("perf 6.12", os.environ.get("CYCLADE_PERF612"))):
        if not perf or subprocess.run([perf, "version"], capture_output=True, check=False).returncode:
            t.skip("as %s prints them" % label, "no such perf here")
            continue
        met = set().union(*(against(perf, label, cpuid, tmp) for cpuid in CAPS))
        words = {("op", word) for word in OP if label == "perf 7" or word not in NEW_WORDS} | {("fetch", word) for word in FETCH}
        t.equal(sorted(words), sorted(met), label + ": each field that it prints was compared")
t.done()
