# SPDX-License-Identifier: BSD-3-Clause
"""calls_made - recordings of branch stacks that are known one by one. Names come from KSYMBOL records, so that no program is
needed and they may be as hostile as names can be.

    make(path, [b"main", b"hot"], [[((1, 9), (0, 5), RET, 0)]] * 40)
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

W = gen.Writer("<")
BASE = 0xffffffffc0000000
SIZE = 4096
IP, TID, TIME, PERIOD, BRANCHES = 1, 2, 4, 256, 2048
ANY, RETURNS, STACK = 1 << 3, 1 << 5, 1 << 11
NEAR_RETURN = 0x08c4
CALL, RET = 4, 6


def make(name, functions, stacks, filter_=RETURNS, config=NEAR_RETURN, period=400, branches=True, precise=2, arch=None, lost=0):
    """functions: names, 4 KiB each from BASE. stacks: lists of (from, to, type, mispredicted), newest first; a place
    is (function, offset)."""
    data = b""
    for i, f in enumerate(functions):
        data += W.record(gen.KSYMBOL, W.pack("QIHH", BASE + i * SIZE, SIZE, 1, 0) + gen.pad8(f + b"\0") + W.pack("IIQ", 0, 0, 1000), 1)
    if lost:
        data += W.record(gen.LOST, W.pack("QQIIQ", 0, lost, 0, 0, 1000))
    for i, stack in enumerate(stacks):
        body = struct.pack("<QIIQQ", BASE + 16, 7, 7, 2000 + i * 1000, period)
        if branches:
            body += struct.pack("<Q", len(stack))
            for (f, at), (g, to), kind, wrong in stack:
                body += struct.pack("<QQQ", BASE + f * SIZE + at, BASE + g * SIZE + to, (1 if wrong else 2) | kind << 20)
        data += W.record(gen.SAMPLE, body, 1)
    said = {9: W.text("GenuineIntel,6,85,4")}  # the CPU, by which the event is known
    if arch:
        said[6] = W.text(arch.decode())
    return gen.one(name, data, said, type=4, config=config, period=period, sample=IP | TID | TIME | PERIOD | (BRANCHES if branches else 0),
                   sample_id_all=1, precise_ip=precise, br=filter_ if branches else 0)
