# SPDX-License-Identifier: BSD-3-Clause
"""calls_made - recordings of branch stacks that are known one by one. Names come from KSYMBOL records, so that no program is
needed and they may be as hostile as names can be.

    make(path, [b"main", b"hot"], [[((1, 9), (0, 5), RET, 0)]] * 40)
"""
import struct

BASE = 0xffffffffc0000000
SIZE = 4096
IP, TID, TIME, PERIOD, BRANCHES = 1, 2, 4, 256, 2048
ANY, RETURNS, STACK = 1 << 3, 1 << 5, 1 << 11
NEAR_RETURN = 0x08c4
CALL, RET = 4, 6


def record(kind, misc, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def make(name, functions, stacks, filter_=RETURNS, config=NEAR_RETURN, period=400, branches=True, precise=2, arch=None, lost=0):
    """functions: names, 4 KiB each from BASE. stacks: lists of (from, to, type, mispredicted), newest first; a place
    is (function, offset)."""
    data = b""
    for i, f in enumerate(functions):
        body = struct.pack("<QIHH", BASE + i * SIZE, SIZE, 1, 0) + f + b"\0"
        data += record(17, 1, body + b"\0" * (-len(body) % 8) + struct.pack("<IIQ", 0, 0, 1000))
    if lost:
        data += record(2, 0, struct.pack("<QQIIQ", 0, lost, 0, 0, 1000))
    for i, stack in enumerate(stacks):
        body = struct.pack("<QIIQQ", BASE + 16, 7, 7, 2000 + i * 1000, period)
        if branches:
            body += struct.pack("<Q", len(stack))
            for (f, at), (g, to), kind, wrong in stack:
                body += struct.pack("<QQQ", BASE + f * SIZE + at, BASE + g * SIZE + to, (1 if wrong else 2) | kind << 20)
        data += record(9, 1, body)
    attr = struct.pack("<IIQQQQQ", 4, 128, config, period, IP | TID | TIME | PERIOD | (BRANCHES if branches else 0), 0,
                       1 << 18 | precise << 15).ljust(72, b"\0") + struct.pack("<Q", filter_ if branches else 0)
    at = 104 + 144
    cpu = b"GenuineIntel,6,85,4\0".ljust(64, b"\0")
    cpuid = struct.pack("<I", len(cpu)) + cpu
    end = at + len(data)
    # bit 9 of the features: the CPU, by which the event is known; bit 6: the architecture
    said = {9: cpuid, **({6: struct.pack("<I", 64) + arch.ljust(64, b"\0")} if arch else {})}
    table, texts = b"", b""
    for bit in sorted(said):
        table += struct.pack("<QQ", end + 16 * len(said) + len(texts), len(said[bit]))
        texts += said[bit]
    head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 144, 104, 144, at, len(data), 0, 0) + struct.pack("<Q", sum(1 << b for b in said))
    with open(name, "wb") as out:
        out.write(head.ljust(104, b"\0") + attr.ljust(128, b"\0") + bytes(16) + data + table + texts)
    return name
