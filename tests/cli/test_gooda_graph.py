#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The assembly listings of Gooda's published report in our page: programs with its addresses, lengths and jumps, and with its
samples of cycles, have its basic blocks and arrows in their graphs, its calls, and its counts at each instruction."""
import collections
import glob
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from gooda import SAMPLE, read  # noqa: E402
from page import Page  # noqa: E402
from tap import NO_SHARED, Tap, run  # noqa: E402

BASE = 0x400000
NOP = {1: "90", 2: "6690", 3: "0f1f00", 4: "0f1f4000", 5: "0f1f440000", 6: "660f1f440000", 7: "0f1f8000000000", 8: "0f1f840000000000"}
CONDITION = ["jo", "jno", "jb", "jae", "je", "jne", "jbe", "ja", "js", "jns", "jp", "jnp", "jl", "jge", "jle", "jg"]
INDIRECT = {("jmpq", 2): "ffe0", ("jmpq", 7): "ff24c500000000", ("callq", 2): "ffd0", ("callq", 3): "ff5000", ("callq", 6): "ff9000000000",
            ("callq", 7): "ff14c500000000"}
Line = collections.namedtuple("Line", "at n word to samples")
t = Tap()
if not os.path.isdir(SAMPLE):
    t.skip("Gooda's sample", NO_SHARED)
    t.done()
    sys.exit()


class Listing:
    def __init__(self, path):
        rows = read(path)[6:]
        self.name = rows[-1][7]
        blocks = [r for r in rows if r[2] and "Basic Block" in r[7]]
        self.blocks = [(int(r[2], 16), [int(x, 16) for x in r[7].replace(">", "").split("<")[1:]]) for r in blocks]
        lines = [(int(r[2], 16), r[7].split(), int(r[8])) for r in rows if r[2] and r[7] and "Basic Block" not in r[7]]
        lines = [x for x in lines if x[1][0] != "null"]  # the rest of a long one
        ends = [x[0] for x in lines[1:]] + [lines[-1][0] + 1]
        self.lines = [Line(at, end - at, words[0], words[1] if len(words) > 1 else "", n) for (at, words, n), end in zip(lines, ends)]
        self.end = ends[-1]

    def target(self, x):
        jumps = x.word in ("callq", "jmp", "jmpq") or x.word in CONDITION
        return int(x.to, 16) if jumps and x.to[:1] != "*" else None

    def code(self):
        out = b""
        for x in self.lines:
            to = self.target(x)
            if to is None:
                plain = "66" * (x.n - 8) + NOP[min(x.n, 8)] if x.word != "retq" else "f3c3" if x.n == 2 else "c3"
                one = bytes.fromhex(INDIRECT.get((x.word, x.n), plain) if x.to[:1] == "*" else plain)
            else:
                near = x.n == 2
                head = {"callq": "e8", "jmp": "eb" if near else "e9", "jmpq": "e9"}.get(x.word)
                if not head:
                    k = CONDITION.index(x.word)
                    head = "%02x" % (0x70 + k) if near else "0f%02x" % (0x80 + k)
                one = bytes.fromhex(head) + struct.pack("<b" if near else "<i", to - x.at - x.n)
            assert len(one) == x.n, x
            out += one
        return out


def elf(listings, path):
    strings, symbols = b"\0", bytes(24)
    for g in listings:
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, g.lines[0].at, g.end - g.lines[0].at)
        strings += g.name.encode() + b"\0"
    shstr = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    low, high = min(g.lines[0].at for g in listings), max(g.end for g in listings)
    sym_at = high - BASE + -high % 8
    str_at = sym_at + len(symbols)
    sh_at = str_at + len(strings) + len(shstr)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, low, 64, sh_at, 0, 64, 56, 1, 64, 5, 4)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, high - BASE, high - BASE, 0x1000)
    with open(path, "wb") as f:
        f.write(head + load)
        for g in listings:
            f.seek(g.lines[0].at - BASE)
            f.write(g.code())
        f.seek(sym_at)
        f.write(symbols + strings + shstr + bytes(64))
        for row in ((1, 1, 6, low, low - BASE, high - low, 0, 0, 16, 0), (7, 2, 0, 0, sym_at, len(symbols), 3, 1, 8, 24),
                    (15, 3, 0, 0, str_at, len(strings), 0, 0, 1, 0), (23, 3, 0, 0, str_at + len(strings), len(shstr), 0, 0, 1, 0)):
            f.write(struct.pack("<IIQQQQIIQQ", *row))
    return high


def recording(listings, program, high, path):
    w = gen.Writer("<")
    data = w.record(gen.MMAP2, w.pack("IIQQQIIQQII", 7, 7, BASE, high - BASE, 0, 0, 0, 0, 0, 5, 2) + gen.text8(program), 2)
    for g in listings:
        for x in g.lines:
            data += w.record(gen.SAMPLE, w.pack("QIIQ", x.at, 7, 7, 2000000), 2) * x.samples
    gen.one(path, data, period=2000000, sample=1 | 2 | 256)


theirs = [Listing(f) for f in sorted(glob.glob(os.path.join(SAMPLE, "asm", "*.csv")))]
t.equal(len(theirs), 5, "listings")
with tempfile.TemporaryDirectory() as tmp:
    program, data, page = (os.path.join(tmp, n) for n in ("program", "data", "page.html"))
    recording(theirs, program, elf(theirs, program), data)
    r = run("report", "--html", page, data)
    t.ok(r.returncode == 0, "the page is written", r.stderr)
    p = Page(page)
ours = {p.text(f["function"]): f for f in p.data["functions"]}
for g in theirs:
    f = ours.get(g.name)
    if not t.ok(f is not None, "%s has a page" % g.name, sorted(ours)):
        continue
    d = p.result(f["document"])
    shown = {int(x["address"], 16): x for x in d["instructions"]}
    t.equal([(x.at, x.n) for x in g.lines], [(a, x["length"]) for a, x in shown.items()], "%s: its %d instructions" % (g.name, len(g.lines)))
    t.equal({x.at: x.samples for x in g.lines if x.samples}, {a: x["samples"] for a, x in shown.items() if x["samples"]}, "%s: their samples" % g.name)
    calls = {x.at: g.target(x) for x in g.lines if x.word == "callq"}
    t.equal(calls, {a: int(x["target"], 16) if x["target"] else None for a, x in shown.items() if x["flow"] == "call"}, "%s: whom it calls" % g.name)

    # Gooda ends a block at a call, too: there ours goes on, unless a jump leads there
    ends = {start: [x for x in g.lines if x.at < end][-1] for (start, _), end in zip(g.blocks, [b for b, _ in g.blocks[1:]] + [g.end])}
    inside = {x.at for x in g.lines}
    taken = {start: to[0] for start, to in g.blocks if ends[start].word[0] == "j" and to and to[0] in inside}
    block, starts = {}, []
    for start, _ in g.blocks:
        if not starts or start in taken.values() or ends[before].word != "callq":
            starts.append(start)
        block[start], before = starts[-1], start
    arrows = {(block[start], to) for start, to in taken.items()}
    falls = {(block[start], after) for start, (after, _) in zip(ends, g.blocks[1:]) if after in starts and ends[start].word not in ("jmp", "jmpq", "retq")}
    if not f["graph"]:  # Graphviz's library is missing
        continue
    node = {n[0]: int(p.text(n[5]), 16) for n in f["graph"]["nodes"]}
    have = {True: set(), False: set()}
    for e in f["graph"]["edges"]:
        have[e[2] == "falls"].add((node[e[0]], node[e[1]]))
    if len(starts) <= 250:
        t.equal(sorted(node.values()), starts, "%s: its %d blocks, of Gooda's %d" % (g.name, len(starts), len(g.blocks)))
        t.equal(have[False], arrows, "%s: its %d arrows" % (g.name, len(arrows)))
        t.equal(have[True], falls, "%s: what falls through" % g.name)
    else:  # the page has the hottest
        t.equal((len(node), set(node.values()) - set(starts), have[False] - arrows, have[True] - falls), (250, set(), set(), set()),
                "%s: 250 of its %d blocks and arrows" % (g.name, len(starts)))
t.done()
