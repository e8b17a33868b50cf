#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Classes of instructions and their memory against those by objdump's mnemonics. usage: test_insn_class.py INSNS_OF"""
import collections
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import insn_mix  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
INSNS_OF = os.path.abspath(sys.argv[1])
# x86: libm has floats and vectors, libcrypto all the rest; AArch64: what a cross compiler brings
FILES = (("objdump", insn_mix.x86, "/lib/x86_64-linux-gnu/libm.so.6"), ("objdump", insn_mix.x86, "/lib/x86_64-linux-gnu/libgmp.so.10"),
         ("objdump", insn_mix.x86, "/lib/x86_64-linux-gnu/libz.so.1"), ("objdump", insn_mix.x86, "/lib64/ld-linux-x86-64.so.2"),
         ("aarch64-linux-gnu-objdump", insn_mix.arm, "/usr/aarch64-linux-gnu/lib/libm.so.6"),
         ("aarch64-linux-gnu-objdump", insn_mix.arm, "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1"))


@functools.lru_cache(maxsize=None)
def width(text, what, arm):
    """By the registers that objdump names; None: not judged."""
    rest = text.split(None, 1)[1] if " " in text else ""
    if arm:
        m = re.match(r"([wx])(?:\d|zr)|[wx]?sp", rest)
        return {"w": 32, "x": 64}.get(m[1]) if m and what in ("integer", "move", "multiply", "divide") else None
    if what in ("vector integer", "vector float") and "%k" not in rest and "%mm" not in rest:
        return max([{"x": 128, "y": 256, "z": 512}[r] for r in re.findall(r"%([xyz])mm", rest)], default=None)
    names = re.findall(r"%(\w+)", re.sub(r"\([^)]*\)|%[c-g]s:", "", rest))
    if what not in ("integer", "move") or not names or re.match(r"movd|movq|crc32|cmpxchg", text):
        return None
    last = names[-1]
    if re.match(r"bts?[wlq]? |sh|sa|ro|rc", text) and last == "cl":
        return None
    return 8 if re.fullmatch(r"[abcd][lh]|[sd]il|[bs]pl|r\d+b", last) else 16 if re.fullmatch(r"[abcd]x|[sd]i|[bs]p|r\d+w", last) \
        else 32 if re.fullmatch(r"e\w+|r\d+d", last) else 64 if re.fullmatch(r"r\w+", last) else None


for objdump, opinion, path in FILES:
    name = os.path.basename(path)
    if not shutil.which(objdump) or not glob.glob(path):
        t.skip(name, "not here")
        continue
    m = re.search(r"\] \.text\s+PROGBITS\s+(\w+) (\w+) (\w+)", subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout)
    p = subprocess.run([INSNS_OF, path, m[1], m[3], "classes"], capture_output=True, text=True)
    if "this build has no" in p.stderr or "cannot be loaded" in p.stderr:
        t.skip(name, p.stderr.split("\n", maxsplit=1)[0])
        continue
    ours = {int(f[0], 16): f for f in (line.split("\t") for line in p.stdout.splitlines())}
    seen, strange, apart, memory, wide = 0, collections.Counter(), collections.Counter(), collections.Counter(), collections.Counter()
    classes, judged = collections.Counter(), 0
    for addr, text in insn_mix.listing(objdump, path, "-j", ".text"):
        f = ours.get(addr)
        if not f or "(bad)" in text or text.startswith((".inst", ".word", "fwait")):
            continue
        what, how = opinion(text)
        seen += 1
        classes[f[1]] += 1
        if what is None:
            strange[text.split()[0]] += 1
        elif what != f[1]:
            apart["%s: %s, not %s" % (text.split()[0], f[1], what)] += 1
        elif how is not None and how != f[3]:
            memory["%s: %s, not %s" % (text, f[3], how)] += 1
        bits = width(insn_mix.plain(text), what, opinion == insn_mix.arm)
        judged += bits is not None
        if bits is not None and str(bits) != f[2]:
            wide["%s: %s, not %d" % (text, f[2], bits)] += 1
    t.ok(seen > 5000 and len(classes) >= 8, "%s: %d instructions of %d classes" % (name, seen, len(classes)), classes)
    t.ok(sum(strange.values()) <= seen / 200, "%s: classes by mnemonics" % name, strange.most_common(12))
    t.ok(sum(apart.values()) <= seen / 1000, "%s: the same classes" % name, "\n".join(map(str, apart.most_common(20))))
    t.ok(sum(memory.values()) <= seen / 1000, "%s: the same reads and writes" % name, "\n".join(map(str, memory.most_common(20))))
    t.ok(judged > seen / 10 and sum(wide.values()) <= judged / 200, "%s: the same widths, of %d" % (name, judged), "\n".join(map(str, wide.most_common(20))))
t.done()
