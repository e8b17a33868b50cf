#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/report_html.py BUILD - size and time of report --html: a million samples in 5,000 functions, without call chains and with
many different ones.

   BENCH_QUICK=1   a tenth of the samples
"""
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time

BASE, FUNCTIONS = 0xffffffffc0000000, 5000
SAMPLES = 100000 if os.environ.get("BENCH_QUICK") else 1000000


def record(kind, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, 1, 8 + len(body)) + body


def recording(path, chains):
    random.seed(1)
    parts = []
    for i in range(FUNCTIONS):
        name = b"namespace::function_%d(int, char const*)\0" % i
        body = struct.pack("<QIHH", BASE + i * 4096, 4096, 1, 0) + name
        parts.append(record(17, body + b"\0" * (-len(body) % 8) + struct.pack("<IIQQ", 0, 0, 1000, 0)))
    callers = [[random.randrange(FUNCTIONS) for _ in range(random.randrange(2, 10))] for _ in range(3000)] if chains else [[]]
    weights = [1 / (k + 1) ** 0.9 for k in range(FUNCTIONS)]
    for i, f in enumerate(random.choices(range(FUNCTIONS), weights, k=SAMPLES)):
        ip = BASE + f * 4096 + 16 + i % 7 * 16
        body = struct.pack("<QIIQIIQ", ip, 7, 7, 2000 + i * 1000, i % 16, 0, 400 + i % 97)
        if chains:
            chain = [0xffffffffffffff80, ip] + [BASE + g * 4096 + 33 for g in random.choice(callers)]
            body += struct.pack("<Q%dQ" % len(chain), len(chain), *chain)
        parts.append(record(9, body))
    data = b"".join(parts)
    kind = 1 | 2 | 4 | 128 | 256 | (32 if chains else 0)  # ip, tid, time, cpu, period, callchain
    attr = struct.pack("<IIQQQQQ", 0, 128, 0, 4000, kind, 0, 1 << 18).ljust(128, b"\0")
    with open(path, "wb") as f:
        f.write(b"PERFILE2" + struct.pack("<9Q", 104, 144, 104, 144, 248, len(data), 0, 0, 0) + bytes(24) + attr + bytes(16) + data)


def measure(*words):
    """Seconds, processor seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    cyclade = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build"), "src", "cli", "cyclade")
    with tempfile.TemporaryDirectory() as where:
        for name, chains in (("no chains", False), ("chains", True)):
            data, page = os.path.join(where, "data"), os.path.join(where, "page.html")
            recording(data, chains)
            for what, words in (("report -j", ["-j", "-o", os.devnull]), ("--html --functions 0", ["--html", page, "--functions", "0"]),
                                ("--html", ["--html", page])):
                runs = sorted(measure(cyclade, "report", *words, data) for _ in range(3))
                size = "%.2f MB" % (os.path.getsize(page) / 1e6) if "--html" in words else ""
                print("%-10s %-22s %6.2f s (least %.2f), %.2f of processors  %s" % (name, what, runs[1][0], runs[0][0], runs[1][1], size))


if __name__ == "__main__":
    main()
