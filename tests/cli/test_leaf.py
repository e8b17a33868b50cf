#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frame-pointer chains of AArch64: the caller of a function without a frame record stands in the link register, if the
tables say so. Chains are made here, of a program that is cross-compiled (tests/guest/loop.c); tests/guest has real ones."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
CROSS = "aarch64-linux-gnu-"
if not shutil.which(CROSS + "gcc") or not shutil.which(CROSS + "objdump"):
    t.skip("chains of AArch64", "no %sgcc" % CROSS)
    t.done()
tmp = tempfile.TemporaryDirectory()
exe = os.path.join(tmp.name, "loop")
subprocess.run([CROSS + "gcc", "-O1", "-ffreestanding", "-fno-omit-frame-pointer", "-fno-stack-protector", "-nostdlib", "-static", "-no-pie",
                os.path.join(HERE, "..", "guest", "loop.c"), "-o", exe], check=True)
at, calls, inside = {}, {}, None
for line in subprocess.run([CROSS + "objdump", "-d", exe], capture_output=True, text=True, check=True).stdout.splitlines():
    m = re.match(r"([0-9a-f]+) <(\w+)>:", line)
    if m:
        inside = m.group(2)
        at[inside] = int(m.group(1), 16)
    m = re.match(r" *([0-9a-f]+):.*\tbl\t[0-9a-f]+ <(\w+)>", line)
    if m:
        calls[inside, m.group(2)] = int(m.group(1), 16)


def back(caller, callee):
    """Where the call returns to."""
    return calls[caller, callee] + 4


LR = 1 << 30
KERNEL_, USER_ = 2**64 - 128, 2**64 - 512
OUTER = [back("start", "alone"), back("_start", "start")]
LEAF, CALLER = at["leaf"] + 8, back("alone", "leaf")
WORK = [back("work", "hot"), back("start", "work"), back("_start", "start")]
ALL = "_start;start;alone;leaf"
CASES = [  # what, abi, link register, chain, want
    ("a leaf: its caller is in the link register", 2, CALLER, [USER_, LEAF, *OUTER], ALL),
    ("in its first instruction", 2, CALLER, [USER_, at["leaf"], *OUTER], ALL),
    ("a signed one", 2, CALLER | 0x2a55 << 48, [USER_, LEAF, *OUTER], ALL),
    ("in the first instruction of one that makes a frame record", 2, back("start", "alone"), [USER_, at["alone"], OUTER[1]], "_start;start;alone"),
    ("behind a system call", 2, CALLER, [KERNEL_, 0xffff800080001000, USER_, LEAF, *OUTER], ALL + ";[unknown]"),
    ("one with a frame record: the register is not its caller", 2, at["hot"], [USER_, calls["alone", "leaf"], *OUTER], "_start;start;alone"),
    ("the chain has it: not twice", 2, CALLER, [USER_, LEAF, CALLER, *OUTER], ALL),
    ("no tables: nobody knows", 2, WORK[0], [USER_, at["hot"] + 8, *WORK[1:]], "_start;start;hot"),
    ("no code there", 2, 0x123456, [USER_, LEAF, *OUTER], "_start;start;leaf"),
    ("no registers (a kernel's thread)", 0, 0, [USER_, LEAF, *OUTER], "_start;start;leaf"),
]


def recording(path, samples, mask=LR):
    w = gen.Writer("<")
    a = dict(type=0, config=0, period=1000, sample=gen.BASE | gen.BIT["CALLCHAIN"] | gen.BIT["REGS_USER"], sample_id_all=1, ru=mask)
    f = gen.File(w, [("cycles:u", a, [100])])
    f.features[6] = w.text("aarch64")
    tail = w.pack("IIQIIQ", 7, 7, 1, 0, 0, 100)
    f.data = w.record(gen.COMM, w.pack("II", 7, 7) + gen.text8("loop") + tail, 2)
    f.data += w.record(gen.MMAP, w.pack("IIQQQ", 7, 7, 0x400000, 0x10000, 0) + gen.text8(exe) + tail, 2)
    for i, (abi, lr, chain) in enumerate(samples):
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(7, 7), TIME=100 + i, IP=chain[1], CPU=0, PERIOD=1000, CALLCHAIN=chain, REGS_USER=(abi, [lr] if abi else []))
        f.data += s.record(w, a, 1 if chain[0] == KERNEL_ else 2)
    with open(path, "wb") as out:
        out.write(f.build())


def folded(path, *more):
    r = run("report", "-i", path, "-g", "--format", "folded", "--no-cache", "--symbols", tmp.name, *more)
    return {re.sub(r"0x[0-9a-f]+", "", k): int(n) for k, n in (x.rsplit(" ", 1) for x in r.stdout.splitlines())}, r.stderr


path = os.path.join(tmp.name, "perf.data")
for what, abi, lr, chain, want in CASES:
    recording(path, [(abi, lr, chain)] * 3)
    got, said = folded(path)
    t.ok(len(got) == 1 and list(got.values()) == [3000] and next(iter(got)).startswith("loop;" + want.split(";[")[0]) and
         next(iter(got)).count(";") == want.count(";") + 1, what, (got, want, said))
recording(path, [(2, CALLER, [USER_, LEAF, *OUTER])] * 3)
t.equal(folded(path, "--max-stack", "2")[0], {"loop;alone;leaf": 3000}, "--max-stack keeps the innermost")
t.done()
