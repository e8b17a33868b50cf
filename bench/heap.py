#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What logging allocations costs a program that does little else: the library of `record --heap` beside heaptrack.

    bench/heap.py [BUILD [RUNS]]

Runs take turns: plain, ours, heaptrack. Each figure is the median; CPU time is that of all processes, heaptrack's compressor included."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "build"))
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 9


def once(words, env=None):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, env=dict(os.environ, **(env or {})), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    subprocess.run(["c++", "-O2", "-g", "-fno-omit-frame-pointer", os.path.join(here, "heap.cc"), "-o", "heavy"], check=True)
    ours = {"LD_PRELOAD": os.path.join(build, "src", "heaplog", "libcyclade-heap.so"), "CYCLADE_HEAP": "4:1:%d:%s" % (1 << 29, tmp)}
    ways = {"plain": (["./heavy"], None), "record --heap": (["./heavy"], ours), "heaptrack": (["heaptrack", "-o", "track", "./heavy"], None)}
    took = {name: [] for name in ways}
    for _ in range(runs):
        for name, (words, env) in ways.items():
            took[name].append(once(words, env))
            for left in os.listdir("."):
                if left != "heavy":
                    os.remove(left)
    wall, cpu = ({name: statistics.median(t[k] for t in v) for name, v in took.items()} for k in (0, 1))
    for name in ways:
        print("%-14s wall %6.2f s, CPU %6.2f s" % (name, wall[name], cpu[name]))
    for what, t in (("wall", wall), ("CPU", cpu)):
        print("overhead, %s: ours %.2f s, heaptrack's %.2f s: %.3f of it" % (
            what, t["record --heap"] - t["plain"], t["heaptrack"] - t["plain"], (t["record --heap"] - t["plain"]) / (t["heaptrack"] - t["plain"])))
