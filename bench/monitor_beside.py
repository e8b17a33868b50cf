#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/monitor_beside.py BUILD - `cyclade monitor -I` and `perf stat -a -I` on the same simulated Rome (two sockets, eight memory
channels and four links on four counters of the data fabric): bytes a second of each channel, as planted and as each of the two
tells it, for steady loads and for bursts. perf lets the kernel take turns. likwid-perfctr and pcm want the registers of a real CPU.

   BENCH_SECONDS=10
   BENCH_PERF=perf
"""
import json
import math
import os
import sys
import tempfile

if len(sys.argv) != 2:
    sys.exit(__doc__)
BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "lib"))
os.environ["CYCLADE"] = os.path.join(BUILD, "src", "cli", "cyclade")
os.environ["SIM_LIB"] = os.path.join(BUILD, "tests", "sim", "libsimpmu.so")
from machines_made import rome  # noqa: E402
from sim import SYSROOT, run_on  # noqa: E402

SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
PERF = os.environ.get("BENCH_PERF", "perf")
EVENTS = ["amd_df/event=%#x,umask=0x38/" % (n % 4 * 0x40 + 7 + n // 4 * 0x100) for n in range(8)] + \
         ["amd_df/event=%#x,umask=0x02/" % n for n in (0x7C7, 0x807, 0x847, 0x887)]


def spread(found):
    """The largest relative distance from the mean of all intervals, which is what was planted where the load is steady."""
    return max(abs(v / want - 1) for v, want in found)


def by_monitor(path, program):
    p = run_on(path, program, os.environ["CYCLADE"], "monitor", *SYSROOT, "-I", "1000", "--for", "%ds" % SECONDS, "-j", "--metrics", "channel,socket.link_bytes,l3.accesses")
    docs = [json.loads(x) for x in p.stdout.splitlines()][1:-1]
    load = [d["l3"][0]["accesses_rate"] / (1e9 * RATES["l3_lookup_state.all_l3_req_typs"]) for d in docs]
    return [(r["bytes_rate"], 64e9 * RATES["dram_channel_data_controller_" + r["channel"]] * x, r["bytes_rate_error"])
            for d, x in zip(docs, load) for r in d["channel"] if r["socket"] == 0]


def by_perf(path, program):
    words = [w for e in EVENTS + ["amd_l3/event=0x04,umask=0xff/"] for w in ("-e", e)]
    p = run_on(path, program, PERF, "stat", "-a", "-A", "-C", "0", "-I", "1000", "-x", ";", *words, "--", "sleep", str(SECONDS))
    times = {}
    for line in p.stderr.splitlines() + p.stdout.splitlines():
        w = line.split(";")
        if len(w) > 6 and w[1] == "CPU0" and w[2][:1].isdigit():
            times.setdefault(float(w[0]), {})[w[4]] = float(w[2])
    at, out = sorted(times), []
    for before, now in zip(at, at[1:-1]):
        d = times[now]
        load = d.get("amd_l3/event=0x04,umask=0xff/", math.nan) / (now - before) / (1e9 * RATES["l3_lookup_state.all_l3_req_typs"])
        out += [(64 * d[e] / (now - before), 64e9 * RATES["dram_channel_data_controller_%d" % n] * load) for n, e in enumerate(EVENTS[:8]) if e in d]
    return out, p.stderr


with tempfile.TemporaryDirectory(prefix="bench-beside-") as tmp:
    text, RATES = rome()
    path = os.path.join(tmp, "rome.tab")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    for name, lines in (("steady", "phase even -\n"), ("bursts of 7 to 31 ms", "phase even 7-31 scale=0.2\nphase even 7-31 scale=1.8\nrepeat\n"),
                        ("bursts of 50 to 300 ms", "phase even 50-300 scale=0.2\nphase even 50-300 scale=1.8\nrepeat\n")):
        program = os.path.join(tmp, "program")
        with open(program, "w", encoding="utf-8") as f:
            f.write(lines)
        ours = by_monitor(path, program)
        theirs, said = by_perf(path, program)
        print("%s: monitor off by %.1f %% at most (%.0f %% of %d within its bar, %.1f %% on average); perf stat %s" %
              (name, 100 * spread([x[:2] for x in ours]), 100 * sum(abs(v - w) <= e + 0.005 * w for v, w, e in ours) / len(ours), len(ours),
               100 * sum(e / v for v, w, e in ours) / len(ours),
               "%.1f %% of %d, without a bar" % (100 * spread(theirs), len(theirs)) if theirs else "did not run: " + said.strip()[:200]), flush=True)
