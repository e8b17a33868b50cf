#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Derived events of IBS, bit by bit: for each event a synthetic sample that it counts, and which single bits, flipped, make it one that it
does not count. The other bits are flipped as well, and must not matter. Positions of bits are AMD's, from no table of the program."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ibs_file import packet, recording  # noqa: E402
from tap import Tap  # noqa: E402

CYCLADE = os.environ["CYCLADE"]
# part: CPUID, caps
PARTS = {"10h": ("16,2,0", 0x1f), "12h": ("18,1,0", 0x7f), "14h": ("20,1,0", 0x7f), "15h": ("21,2,0", 0xff), "15h_10": ("21,16,1", 0xff),
         "15h_30": ("21,48,1", 0x1ff), "15h_60": ("21,96,1", 0x7ff), "16h": ("22,0,1", 0x1ff), "zen2": ("23,49,0", 0x3ff),
         "zen3a": ("25,1,0", 0x3ff), "zen3": ("25,33,0", 0x3ff), "zen4": ("25,17,1", 0xbff), "zen5": ("26,2,0", 0x81bff), "zen6": ("26,80,0", 0x9fbff)}
# Other CPUs of the same parts: first and last models of each, and Hygon's
ALSO = {"10h": ["17,3,1"], "15h": ["21,15,0"], "15h_10": ["21,31,1"], "15h_30": ["21,63,1"], "15h_60": ["21,112,0"], "zen2": ["23,1,2", "23,113,0", "HygonGenuine,24,0,1"],
        "zen3a": ["25,15,0"], "zen3": ["25,80,0"], "zen4": ["25,97,2", "25,160,1"], "zen6": ["26,128,0", "26,192,0"]}
GROUPS = {
    "all": list(PARTS),
    "but5": [p for p in PARTS if p not in ("zen5", "zen6")],
    "but3a": [p for p in PARTS if p != "zen3a"],
    # erratum 718: hits and misses of the DTLB's second level are not to be believed
    "l2tlb": [p for p in PARTS if p not in ("15h", "15h_10", "zen5", "zen6")],
    "l2tlb_1g": [p for p in PARTS if p not in ("14h", "15h", "15h_10", "zen5", "zen6")],
    "no_l2tlb": ["15h", "15h_10"],
    "l1_1g": [p for p in PARTS if p not in ("14h", "zen5", "zen6")],
    "mab": [p for p in PARTS if p != "14h"],
    "first": ["10h", "12h", "14h", "15h"], "later": [p for p in PARTS if p not in ("10h", "12h", "14h", "15h")],
    "bank": ["10h", "12h", "15h"], "no_bank": [p for p in PARTS if p not in ("10h", "12h", "15h")],
    "stbank": ["10h", "12h"], "no_stbank": [p for p in PARTS if p not in ("10h", "12h")],
    "fwd": ["10h", "12h", "14h", "15h", "16h"], "no_fwd": [p for p in PARTS if p not in ("10h", "12h", "14h", "15h", "16h")],
    # northbridge: a bit for the node or none, a source of 3 or of 5 bits
    "nodes": ["10h", "15h", "15h_10", "15h_30", "15h_60", "zen2", "zen3a", "zen3"], "no_nodes": ["12h", "14h", "16h"],
    "owned": ["10h", "15h", "15h_10", "15h_30", "15h_60", "zen2"], "no_owned": ["12h", "14h", "16h", "zen3a", "zen3"],
    "l3": ["10h", "15h"], "no_l3": [p for p in PARTS if p not in ("10h", "15h", "zen4", "zen5", "zen6")], "five": ["zen4", "zen5", "zen6"], "code": ["zen5", "zen6"], "told": [p for p in PARTS if p != "zen6"],
    "told3": [p for p in PARTS if p not in ("zen3a", "zen6")],
}
# Event; parts; bits that are set, each of which it needs ("~": set, and of no account); bits that are clear and must be; what it counts, if
# not samples: bits. F: IbsFetchCtl, D1: IbsOpData, D2: IbsOpData2, D3: IbsOpData3. "ls": bit 0 (load) in one sample, bit 1 (store) in another.
# "nb": what a source needs; "never" for the bits that must be clear: no flip makes it true, the part has no such bits.
CASES = """
F000 all       -                 -                  -
F001 told3     -                 F:50,51,52,55,56   -
F001 zen3a     -                 F:50,52,55,56      -
F002 all       F:50              -                  -
F001 zen6      -                 never              -
F002 told3     F:51              -                  -
F002 all       F:52              -                  -
F002 told      F:55              -                  -
F002 told      F:56              -                  -
F003 all       F:50              -                  -
F004 all       -                 F:50               -
F005 all       F:52              F:55               -
F006 told      F:55              F:56               -
F006 zen6      F:52,55           F:56               -
F007 told      F:55,56           -                  -
F007 zen6      F:52,55,56        -                  -
F008 told3     F:51              -                  -
F008 zen6      F:51,52           -                  -
F008 zen3a     F:51              never              -
F009 told3     F:50              F:51               -
F009 zen6      F:50,52           F:51               -
F009 zen3a     F:50              never              -
F00A all       F:52              F:53,54            -
F00B but3a     F:52,53           F:54               -
F00C but3a     F:52,54           F:53               -
F00B zen3a     F:52,54           F:53               -
F00C zen3a     F:52,53,54        -                  -
F00E told      F:33              -                  F:32-47
F00E zen6      F:33,52           -                  F:32-47
F100 all       -                 -                  -
F101 all       D1:17             -                  D1:16-31
F102 all       D1:1              -                  D1:0-15
F103 all       D1:37             -                  -
F104 all       D1:36,37          -                  -
F105 all       D1:35,37          -                  -
F106 all       D1:35,36,37       -                  -
F107 all       D1:34,37          -                  -
F108 all       D1:34,36,37       -                  -
F109 first     D1:32             -                  -
F109 later     D1:32             never              -
F200 all       D3:ls             -                  -
F200 all       D3:~0,~1          -                  -
F201 all       D3:0              -                  -
F202 all       D3:1              -                  -
F203 but5      D3:ls,17          D3:2               -
F203 code      D3:ls,17,18       D3:2               -
F204 l2tlb     D3:ls,2,17        D3:3               -
F204 code      D3:ls,2,17,18     D3:3               -
F204 no_l2tlb  D3:ls,2,17        never              -
F205 l2tlb     D3:ls,2,3,17      -                  -
F205 code      D3:ls,2,3,17,18   -                  -
F205 no_l2tlb  D3:ls,2,3,17      never              -
F206 all       D3:ls,7           D3:14              -
F207 all       D3:ls             D3:7,14            -
F208 all       D3:ls,8           -                  -
F209 bank      D3:ls,9           -                  -
F209 no_bank   D3:ls,9           never              -
F20A stbank    D3:ls,10          -                  -
F20A no_stbank D3:ls,10          never              -
F20B fwd       D3:0,11           -                  -
F20B no_fwd    D3:0,11           never              -
F20C bank      D3:0,12           -                  -
F20C no_bank   D3:0,12           never              -
F20D all       D3:ls,14          -                  -
F20E all       D3:ls,13          -                  -
F20F all       D3:ls,15          -                  -
F210 mab       D3:ls,7,16        D3:14              -
F210 14h       D3:ls,7,16        never              -
F211 l1_1g     D3:ls,17          D3:2,4,5           -
F211 14h       D3:ls,17          D3:2,4             -
F211 code      D3:ls,17,18       D3:2,4,5           -
F212 but5      D3:ls,4,17        D3:2               -
F212 code      D3:ls,4,17,18     D3:2,5             -
F213 l1_1g     D3:ls,5,17        D3:2,4             -
F213 14h       D3:ls,5,17        never              -
F213 code      D3:ls,5,17,18     D3:2,4             -
F215 l2tlb_1g  D3:ls,2,17        D3:3,6,19          -
F215 14h       D3:ls,2,17        D3:3,6             -
F215 code      D3:ls,2,17,18     D3:3,4,5           -
F215 no_l2tlb  D3:ls,2,17        never              -
F216 l2tlb_1g  D3:ls,2,6,17      D3:3,19            -
F216 14h       D3:ls,2,6,17      D3:3               -
F216 code      D3:ls,2,4,17,18   D3:3,5             -
F216 no_l2tlb  D3:ls,2,6,17      never              -
F217 l2tlb_1g  D3:ls,2,17,19     D3:3,6             -
F217 code      D3:ls,2,5,17,18   D3:3,4             -
F217 14h       D3:ls,2,17,19     never              -
F217 no_l2tlb  D3:ls,2,17,19     never              -
F219 all       D3:0,7,33         D3:14              D3:32-47
F240 nodes     nb/D2:0           D2:4               -
F240 no_nodes  nb/D2:0           -                  -
F240 five      nb/D2:0           D2:2,4             -
F240 five      nb/D2:~0,~1       D2:4               -
F241 nodes     nb/D2:0,4         -                  -
F241 no_nodes  nb/D2:0,4         never              -
F241 five      nb/D2:~0,~1,4     -                  -
F241 five      nb/D2:0,2         D2:1,6,7           -
F242 l3        nb/D2:0           D2:1,2,4           -
F242 no_l3     nb/D2:0           never              -
F242 five      nb/D2:0           D2:1,2,4,6,7       -
F243 nodes     nb/D2:1           D2:0,2,4           -
F243 no_nodes  nb/D2:1           D2:0,2             -
F243 five      nb/D2:1           D2:0,2,4,6,7       -
F244 nodes     nb/D2:1,4         D2:0,2             -
F244 no_nodes  nb/D2:1,4         never              -
F244 zen3      nb/D2:2           D2:0,1             -
F244 five      nb/D2:0,2         D2:1,6,7           -
F245 nodes     nb/D2:0,1         D2:2,4             -
F245 no_nodes  nb/D2:0,1         D2:2               -
F245 five      nb/D2:0,1         D2:2,4,6,7         -
F246 nodes     nb/D2:0,1,4       D2:2               -
F246 no_nodes  nb/D2:0,1,4       never              -
F246 five      nb/D2:0,1,4       D2:2,6,7           -
F247 nodes     nb/D2:0,1,2       D2:4               -
F247 no_nodes  nb/D2:0,1,2       -                  -
F247 five      nb/D2:0,1,2       D2:4,6,7           -
F248 nodes     nb/D2:0,1,2,4     -                  -
F248 no_nodes  nb/D2:0,1,2,4     never              -
F248 five      nb/D2:0,1,2,4     D2:6,7             -
F249 owned     nb/D2:1           D2:0,2,5           -
F249 owned     nb/D2:1,~4        D2:0,2,5           -
F249 no_owned  nb/D2:1           never              -
F249 five      nb/D2:1           D2:0,2,5,6,7       -
F249 five      nb/D2:0,2         D2:1,5,6,7         -
F24A owned     nb/D2:1,5         D2:0,2             -
F24A owned     nb/D2:1,~4,5      D2:0,2             -
F24A no_owned  nb/D2:1,5         never              -
F24A five      nb/D2:1,5         D2:0,2,6,7         -
F24A five      nb/D2:0,2,5       D2:1,6,7           -
F24B nodes     nb/D2:0/D3:33     D2:4               D3:32-47
F24B no_nodes  nb/D2:0/D3:33     -                  D3:32-47
F24B five      nb/D2:0/D3:33     D2:2,4             D3:32-47
F24C nodes     nb/D2:0,4/D3:33   -                  D3:32-47
F24C no_nodes  nb/D2:0,4/D3:33   never              D3:32-47
F24C five      nb/D2:0,2/D3:33   D2:1,6,7           D3:32-47
"""
ALL_SAMPLES = {"F000", "F100"}
OP, FETCH = {"C": 0, "D1": 2, "D2": 3, "D3": 4}, {"F": 0}
# All bits that mean something on some part, of counts the first, one in it and the last, and one that nobody uses.
FLIPS = {"F": [0, 15, 16, 31, 32, 33, *range(47, 64)], "C": [0, 15, *range(16, 21), 26, 32, 58, 59, 62, 63],
         "D1": [0, 1, 15, 16, 17, 31, *range(32, 42), 63], "D2": [*range(10), 63], "D3": [*range(34), 47, 48, 63]}
t = Tap()


def bits(text):
    """{(register, bit): whether it matters} of "D3:0,~1/D2:4"."""
    out = {}
    for part in text.split("/") if text != "-" else []:
        reg, _, numbers = part.partition(":")
        out.update({(reg, int(n.lstrip("~"))): n[0] != "~" for n in numbers.split(",")})
    return out


def of_source(part):
    """What OpData2 is valid of: loads that missed the data cache and L2; bits that are set, and those that must be clear."""
    new = part not in ("10h", "12h", "14h", "15h", "15h_10")
    return "D3:0,7" + ",20" * new, "D3:14" + ",13" * (part == "14h") + ",16,21" * (part == "zen3a")  # errata 484, 1293


class Case:
    """A sample, and the bits of it that matter: a flip of any of these makes the event false; None: it is never true."""
    def __init__(self, code, part, on, off, value):
        nb = of_source(part) if on.startswith("nb") else ("-", "-")
        self.code, self.value = code, value
        on = bits(on.replace("nb", nb[0], 1))
        ctl = {("F", 48), ("F", 49)} if code < "F100" else {("C", 17), ("C", 18)}  # enabled, and valid: else it is no sample
        self.set = frozenset(on) | ctl
        self.matter = None if off == "never" else {b for b, m in on.items() if m} | set(bits(off)) | set(bits(nb[1])) | ctl
        self.kind = "fetch" if code < "F100" else "op"

    def counts(self, flip):
        """Of the sample with this bit flipped; (): of the sample."""
        if self.matter is None or flip in self.matter:
            return 0
        if self.value == "-":
            return 1
        reg, _, where = self.value.partition(":")
        low, high = map(int, where.split("-"))
        return sum(1 << b - low for r, b in self.set ^ {flip} - {()} if r == reg and low <= b <= high)


def cases(part):
    for line in CASES.split("\n")[1:-1]:
        code, parts, on, off, value = line.split()
        if part in GROUPS.get(parts, [parts]):
            for access in "01" if "ls" in on else "-":
                yield Case(code, part, on.replace("ls", access), off, value)


def neighbours(c):
    """Of a case's sample: the flips, (): none, and what is set then."""
    return [((), c.set)] + [((r, b), c.set ^ {(r, b)}) for r in (OP if c.kind == "op" else FETCH) for b in FLIPS[r]]


def registers(at, on, n):
    regs = [0] * n
    for reg, bit in on:
        regs[at[reg]] |= 1 << bit
    regs[1] = 0x1000  # early Zen 3: a fetch without an address is none
    return regs


def sql(path, query):
    r = subprocess.run([CYCLADE, "sql", path, "--format", "csv", query], capture_output=True, text=True, check=False)
    return [line.split(",") for line in r.stdout.splitlines()[1:]] if not r.returncode else t.ok(False, path, r.stderr) or []


def places(path):
    """The column `sample` -> which one of the file it is."""
    return {r[0]: i for i, r in enumerate(sql(path, "SELECT sample FROM samples ORDER BY sample"))}


def check(part, events, path):
    cpu, caps = PARTS[part]
    of, numbers, packets = list(cases(part)), {}, []
    for c in of:
        at = OP if c.kind == "op" else FETCH
        n = 7 + (caps >> 5 & 1) if c.kind == "op" else 3 + (caps >> 9 & 1)
        for _, on in neighbours(c):
            if (c.kind, on) not in numbers:
                numbers[c.kind, on] = len(numbers)
                packets.append(packet(c.kind, caps, registers(at, on, n)))
    recording(path, "AuthenticAMD," + cpu, packets)
    names = {e["code"]: e for e in events}
    here = {c.code for c in of if c.matter is not None}
    rows = sql(path, " UNION ALL ".join("SELECT '%s', sample, value FROM %s" % (c, names[c]["name"]) for c in sorted(here)))
    at = places(path)
    got = {(code, at[number]): int(value or 0) for code, number, value in rows}
    bad = []
    for c in of:
        for flip, on in neighbours(c):
            have, want = got.get((c.code, numbers[c.kind, on]), 0), c.counts(flip)
            if have != want:
                bad.append("%s, set %s, flipped %s: %d, not %d" % (c.code, sorted(c.set), flip, have, want))
    t.ok(of and not bad, "%s: %d events, %d synthetic samples with one bit flipped" % (part, len({c.code for c in of}), len(packets)), "\n".join(bad[:20]))
    return {c.code for c in of if c.matter is not None}, {c.code for c in of if c.matter and len(c.matter) > 2}  # two are of the control register


# Fields of a sample, and which value (null: none) each part has by its errata and its reserved bits.
TARGET, RIP = 0x402000, 0x401000
FIELDS = [  # column, kind, registers, {value: parts that have it}
    # erratum 719: the count begins at its maximum, so that it says nothing of fetches counted
    ("fetch_count", "fetch", {"F": 3 << 48 | 0xabcd << 16}, {None: ["15h_10"], 0xabcd: [p for p in PARTS if p != "15h_10"]}),
    ("fetch_max_count", "fetch", {"F": 3 << 48 | 0x1234}, {0x1234: list(PARTS)}),
    # 20 bits before caps had bit 6
    ("op_count", "op", {"C": 3 << 17 | 0x7ffffff << 32}, {0xfffff: ["10h"], 0x7ffffff: [p for p in PARTS if p != "10h"]}),
    # the bit means something where caps has bit 7
    ("op_rip", "op", {"C": 3 << 17, "D1": 1 << 38}, {RIP: ["10h", "12h", "14h"], None: [p for p in PARTS if p not in ("10h", "12h", "14h")]}),
    ("op_rip", "op", {"C": 3 << 17}, {RIP: list(PARTS)}),
    # erratum 717
    ("target", "op", {"C": 3 << 17, "D1": 1 << 37, "T": TARGET}, {None: ["10h", "15h"], TARGET: [p for p in PARTS if p not in ("10h", "15h")]}),
    ("target", "op", {"C": 3 << 17, "D1": 1 << 37}, {None: list(PARTS)}),
    ("mab_hit", "op", {"C": 3 << 17, "D3": 1 | 1 << 16}, {None: list(PARTS)}),
    # errata 718, 1293, 484: as derived events have them; bits 6 and 7 of 3-bit sources are no source
    ("remote_node", "op", {"C": 3 << 17, "D2": 0xd0, "D3": 0x100081}, {None: [p for p in PARTS if p not in ("zen4", "zen5", "zen6")], 1: ["zen4", "zen5", "zen6"]}),
    ("l2_miss", "op", {"C": 3 << 17, "D3": 0x300081}, {None: ["10h", "12h", "14h", "15h", "15h_10", "zen3a"], 1: [p for p in PARTS if p not in ("10h", "12h", "14h", "15h", "15h_10", "zen3a")]}),
    ("ic_miss", "fetch", {"F": 11 << 48}, {None: ["zen3a", "zen6"], 1: [p for p in PARTS if p not in ("zen3a", "zen6")]}),  # erratum 1238
    ("itlb_page_size", "fetch", {"F": 0x33 << 48}, {1 << 14: ["zen3a"], 1 << 21: [p for p in PARTS if p != "zen3a"]}),  # erratum 1347
]


def fields(part, path):
    cpu, caps = PARTS[part]
    packets = []
    for _, kind, on, _ in FIELDS:
        at = dict(OP, T=7) if kind == "op" else FETCH
        regs = [0, RIP] + [0] * (6 if kind == "op" else 2)
        for reg, v in on.items():
            regs[at[reg]] = v
        packets.append(packet(kind, caps, regs[:7 + (caps >> 5 & 1) if kind == "op" else 3 + (caps >> 9 & 1)]))
    recording(path, "AuthenticAMD," + cpu, packets)
    rows = sql(path, " UNION ALL ".join("SELECT sample, '%s', %s FROM ibs_%s" % (column, column, kind) for column, kind in sorted({f[:2] for f in FIELDS})))
    at = places(path)
    found = {(at[number], column): int(v, 0) if v else None for number, column, v in rows}
    got = [found.get((i, f[0]), "no row") for i, f in enumerate(FIELDS)]
    want = [next(v for v, parts in values.items() if part in parts) for _, _, _, values in FIELDS]
    t.equal([(f[0], v) for f, v in zip(FIELDS, got)], [(f[0], v) for f, v in zip(FIELDS, want)], "%s: errata and reserved bits of fields" % part)


def absent(part, events, path):
    """What no sample can be on a CPU is refused, by name and by code; the rest is counted. Of each of the part's CPUs."""
    here = {c.code for c in cases(part) if c.matter is not None}
    for cpu in PARTS[part][0], *ALSO.get(part, []):
        recording(path, cpu if cpu[0].isalpha() else "AuthenticAMD," + cpu, [packet("op", PARTS[part][1], [3 << 17, RIP] + [0] * 6), packet("fetch", PARTS[part][1], [3 << 48, RIP, 0, 0])])
        bad = [] if sql(path, " UNION ALL ".join("SELECT '%s', count(*) FROM %s" % (c, c) for c in sorted(here))) else ["the others"]
        for e in events:
            if e["code"] in here:
                continue
            for said in (["sql", path, "SELECT count(*) FROM " + e["name"]], ["sql", path, "SELECT sum(value) FROM " + e["code"]], ["report", "-e", e["code"], path]):
                r = subprocess.run([CYCLADE, *said], capture_output=True, text=True, check=False)
                ok = r.returncode and re.search("%s is not on this CPU \\(AMD .*\\): its IBS does not report " % e["name"], r.stderr) and not r.stdout
                bad += [] if ok else ["%s: %s" % (" ".join(said[::2]), r.stdout + r.stderr)]
        t.ok(not bad, "%s: %d events are counted, %d are not on this CPU" % (cpu, len(here), len(events) - len(here)), "\n".join(bad))
        yield cpu, len(events)


r = subprocess.run([CYCLADE, "list", "ibs", "-j"], capture_output=True, text=True, check=False)
EVENTS = json.loads(r.stdout)["ibs"]
met, missed, cells = set(), set(), []
with tempfile.TemporaryDirectory() as tmp:
    for p in PARTS:
        true, false = check(p, EVENTS, os.path.join(tmp, "ibs.data"))
        met |= true
        missed |= false
        fields(p, os.path.join(tmp, "fields.data"))
        cells += absent(p, EVENTS, os.path.join(tmp, "absent.data"))
t.equal((len(dict(cells)), sum(n for _, n in cells)), (28, 28 * 61), "each of 61 events is judged on each of 28 CPUs")
codes = {e["code"] for e in EVENTS}
t.equal((len(codes), sorted(codes - met), sorted(met - codes)), (61, [], []), "each of the program's events has a sample that it counts")
t.equal(sorted(codes - missed), sorted(ALL_SAMPLES), "each but all samples has a bit that makes it false")
t.done()
