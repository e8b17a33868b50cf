#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Of several events the one in cycles or time leads what has room for one event, never the one with most samples; and it says what its weight is.
What events count is planted here by type and code, from the vendors' manuals."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "perfdata"))
import gen  # noqa: E402
from exported import Pprof  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
w = gen.Writer("<")
INTEL, AMD, ARM = ("GenuineIntel,6,143,8", "x86_64"), ("AuthenticAMD,25,17,1", "x86_64"), ("0x00000000410fd0c0", "aarch64")
HARDWARE, SOFTWARE, RAW, CPU, IBS_OP = 0, 1, 4, 4, 9
FEW, MANY = 20, 90


def recording(path, machine, events):
    """events: (name, type, config, samples)."""
    sample = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD".split())
    f = gen.File(w, [(name, dict(type=kind, config=config, period=1000, sample=sample, sample_id_all=1), [i + 1])
                     for i, (name, kind, config, _) in enumerate(events)], attr_size=120)
    pmus = w.pack("I", 2) + w.pack("I", CPU) + w.text("cpu" if machine != ARM else "armv8_pmuv3_0") + w.pack("I", IBS_OP) + w.text("ibs_op")
    f.features = {6: w.text(machine[1]), 9: w.text(machine[0]), 16: pmus}
    text = 0x401000
    f.data += w.record(3, w.pack("II", 20, 20) + w.text("prog"), 0)
    for k in range(MANY):
        for i, (_, _, _, samples) in enumerate(events):
            if k < samples:
                f.data += w.record(9, w.u64(i + 1, text + 16 * k) + w.pack("II", 20, 20) + w.u64(1000 + k) + w.pack("II", 0, 0) + w.u64(1000), 2)
    with open(path, "wb") as out:
        out.write(f.build())


def run(*words):
    return subprocess.run([CYCLADE, *words], capture_output=True, text=True, check=False)


INSNS = ("instructions", HARDWARE, 1, MANY)
CASES = [  # machine, events, which one leads, what its weight is in
    (INTEL, [("INST_RETIRED.ANY", RAW, 0xc0, MANY), ("CPU_CLK_UNHALTED.THREAD", RAW, 0x3c, FEW)], 1, "cycles"),
    (INTEL, [INSNS, ("cycles", HARDWARE, 0, FEW)], 1, "cycles"),
    (INTEL, [INSNS, ("cpu/whatever/", RAW, 0x53003c, FEW)], 1, "cycles"),
    (INTEL, [INSNS, ("task-clock", SOFTWARE, 1, FEW)], 1, "ns"),
    (INTEL, [("cpu-clock", SOFTWARE, 0, MANY), ("cycles", HARDWARE, 0, FEW)], 1, "cycles"),
    (INTEL, [INSNS, ("CPU_CLK_UNHALTED.REF_TSC", RAW, 0x300, FEW)], 1, "reference cycles"),
    (INTEL, [("CPU_CLK_UNHALTED.REF_TSC", RAW, 0x300, MANY), ("CPU_CLK_UNHALTED.THREAD", RAW, 0x3c, FEW), INSNS], 1, "cycles"),
    # cycles in which something happens, and other events: counts; of these the one with most samples
    (INTEL, [("cpu/cycles,cmask=1/", RAW, 0x100003c, FEW), ("UOPS_ISSUED.ANY", RAW, 0x10e, MANY)], 1, "events"),
    (INTEL, [("UOPS_ISSUED.ANY:c1", RAW, 0x100010e, FEW), ("UOPS_ISSUED.ANY", RAW, 0x10e, MANY)], 1, "events"),
    (INTEL, [("CPU_CLK_UNHALTED.RING0_TRANS", RAW, 0x104013c, FEW), INSNS], 1, "events"),
    (AMD, [("r0c1", RAW, 0xc1, MANY), ("r076", RAW, 0x76, FEW)], 1, "cycles"),
    (AMD, [("ex_ret_ops", RAW, 0xc1, MANY), ("ibs_op/cnt_ctl=1/", IBS_OP, 1 << 19, FEW)], 0, "events"),
    (AMD, [("ex_ret_ops", RAW, 0xc1, MANY), ("ibs_op//", IBS_OP, 0, FEW)], 1, "reference cycles"),
    (ARM, [("inst_retired", RAW, 0x08, MANY), ("r11", RAW, 0x11, FEW)], 1, "cycles"),
    # one without samples leads nothing
    (INTEL, [INSNS, ("cycles", HARDWARE, 0, 0)], 0, "events"),
]
with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    for machine, events, lead, unit in CASES:
        label, name = ", ".join("%s %d" % (e[0], e[3]) for e in events), events[lead][0]
        recording("perf.data", machine, events)
        r = run("report", "--html", "page.html", "perf.data")
        with open("page.html", encoding="utf-8") as f:
            data = json.loads(re.search(r'cyclade-data">(.*?)</script>', f.read(), re.S)[1])
        cube, text = data["cube"], data["strings"]
        t.equal((text[cube["event"]], text[cube["unit"]], cube["samples"]), (name, unit, events[lead][3]), "%s: the page's pictures are of %s, in %s" % (label, name, unit))
        r = run("export", "--firefox", "-o", "fox.json", "perf.data")
        sampled = [e for e in events if e[3]]
        t.ok(len(sampled) == 1 or ("%s, weighed in %s" % (name, unit) in r.stderr), "%s: Firefox's, too, and export says so" % label, r.stderr)
        r = run("export", "--pprof", "-o", "p.gz", "perf.data")
        with open("p.gz", "rb") as f:
            t.equal(Pprof(f.read()).default, name, "%s: pprof's default" % label)
        r = run("report", "--no-pager", "perf.data")
        first = re.search(r"samples of (\S+),", r.stdout)
        t.equal(first and first[1], name, "%s: its table comes first" % label)
        rows = json.loads(run("report", "-j", "perf.data").stdout)["events"]
        t.equal([e["event"] for e in rows], [e[0] for e in sampled], "%s: programs get the recording's order" % label)
t.done()
