#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A large recording for an account of cycles: many events on many CPUs, samples at a million addresses.

    account_big.py FILE [SAMPLES] [EVENTS] [CPUS] [ADDRESSES]	(3000000, 60, 80, 1000000)

Every event tells how long it had a counter. Then, for what it takes:
    /usr/bin/time -v cyclade report --account -i FILE
    /usr/bin/time -v cyclade report --account -s addr -j -i FILE > /dev/null
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
from account_made import BASE, SKX, TYPE, gen  # noqa: E402


def main():
    path = sys.argv[1]
    samples, events, cpus, addresses = [int(x) for x in sys.argv[2:]] + [3000000, 60, 80, 1000000][len(sys.argv) - 2:]
    w = gen.Writer("<")
    tree = (SKX + [("MORE.%d" % i, 0x10000 + 0xa0 + (i << 8), 100003) for i in range(events)])[:events]
    kind = TYPE | gen.BIT["READ"]
    ids = [[1000 + e * cpus + c for c in range(cpus)] for e in range(events)]
    f = gen.File(w, [(n, dict(type=4, config=c, period=p, sample=kind, sample_id_all=1, mmap=1, comm=1,
                              read=gen.ENABLED | gen.RUNNING | gen.RID), ids[e]) for e, (n, c, p) in enumerate(tree)],
                 attr_size=120)
    cmdline = ["cyclade", "record", "--account", "-a"]
    f.features = {7: w.pack("II", cpus, cpus), 6: w.text("x86_64"), 9: w.text("GenuineIntel,6,85,4"),
                  8: w.text("Xeon @ 2.00GHz"), 11: w.pack("I", len(cmdline)) + b"".join(map(w.text, cmdline))}
    tail = w.pack("IIQIIQ", 20, 20, 1, 0, 0, 1000)
    rnd = random.Random(1)
    out = [w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("job") + tail),
           w.record(gen.MMAP, w.pack("IIQQQ", 20, 20, BASE, 16 * addresses, 0) + gen.text8("/big") + tail, 2)]
    # identifier, ip, pid tid, time, cpu, period; value, enabled, running, id
    pack = struct.Struct("<IHHQQIIQIIQQQQQ").pack
    size = 8 + 6 * 8 + 4 * 8
    value = [[0] * cpus for _ in range(events)]
    second = 1000000000
    for i in range(samples):
        e, c = rnd.randrange(events), i % cpus
        now = (i + 1) * 10 * second // samples
        at = rnd.randrange(addresses) if i >= addresses else i
        period = tree[e][2]
        value[e][c] += period
        out.append(pack(9, 2, size, ids[e][c], BASE + 16 * at, 20, 20 + c, now, c, 0, period, value[e][c], now,
                        now if e < 2 else now // 12, ids[e][c]))
    f.data = b"".join(out)
    with open(path, "wb") as o:
        o.write(f.build())


if __name__ == "__main__":
    main()
