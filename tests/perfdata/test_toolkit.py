#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sample files of the AMD Research IBS Toolkit (synthetic): the same registers as in a recording of the kernel's driver, in every
column of SQL; what such files lack is said; damaged ones are refused or read as far as they are whole."""
import json
import os
import random
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import mem_made  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-toolkit-")
os.chdir(tmp.name)
rnd = random.Random(3)
word = rnd.getrandbits
RULER = "=" * 45 + "\n"


def head(kind, family, model, version=1, **flags):
    return "IBS %s Sample File\nAMD Processor Family: 0x%x\nAMD Processor Model: 0x%x\nAMD Processor Stepping: 0x1\nAMD Processor Name: AMD made here\n" \
        "IBS %s Structure Version: %d\n" % (kind, family, model, kind, version) + "".join("%s: %d\n" % f for f in flags.items()) + \
        "System name: host\nOS: Linux 4.4.0-97-generic #1 SMP x86_64\nCommand line: ./program -x 1 \n" + RULER


def op(ctl, rip, data, data2, data3, data4, linear, physical, target, tsc, tid, pid, cpu, kernel):
    return struct.pack("<11Q4i", ctl, rip, data, data2, data3, data4, linear, physical, target, tsc, 0x1000, tid, pid, cpu, kernel)


def fetch(ctl, extended, linear, physical, tsc, tid, pid, cpu, kernel):
    return struct.pack("<6Q4i", ctl, extended, linear, physical, tsc, 0x1000, tid, pid, cpu, kernel)


def rows(path, table, *left_out):
    p = run("sql", "-j", path, "SELECT * FROM %s ORDER BY time" % table)
    return [{k: v for k, v in r.items() if k not in left_out} for r in json.loads(p.stdout)["rows"]] if p.returncode == 0 else [p.stderr]


# of each processor that the toolkit knows: family, model, what its head says
PARTS = {"10h": (0x10, 9, {}), "12h": (0x12, 1, dict(BrnTrgt=1)), "14h": (0x14, 1, {}),
         "15h": (0x15, 2, dict(BrnTrgt=1, OpCntExt=1)), "15h, 30h": (0x15, 0x30, dict(BrnTrgt=1, OpCntExt=1, RipInvalidChk=1, OpBrnFuse=1)),
         "15h, 60h": (0x15, 0x60, dict(BrnTrgt=1, OpCntExt=1, RipInvalidChk=1, OpBrnFuse=1, IbsOpData4=1)),
         "16h": (0x16, 0, dict(BrnTrgt=1, OpCntExt=1, RipInvalidChk=1)),
         "17h": (0x17, 1, dict(BrnTrgt=1, OpCntExt=1, RipInvalidChk=1, OpBrnFuse=1))}
CAPS = dict(BrnTrgt=1 << 5, OpCntExt=1 << 6, RipInvalidChk=1 << 7, OpBrnFuse=1 << 8, IbsFetchCtlExtd=1 << 9, IbsOpData4=1 << 10)
OTHER = ("sample", "comm", "mode", "time", "period", "cpu", "tid", "pid", "event", "event_id", "id")
for name, (family, model, flags) in PARTS.items():
    caps = 0x17 | sum(CAPS[f] for f in flags)
    regs = [(3 << 17 | 1 << 19 | word(16), 0x400000 + word(20), word(64), word(6), word(64), word(64), word(47), word(47), word(47)) for _ in range(300)]
    with open("op", "wb") as f:
        f.write(head("Op", family, model, **flags).encode())
        f.write(b"".join(op(*r, 1000 + i, 21, 20, i % 4, i % 5 == 0) for i, r in enumerate(regs)))
    dumped = [list(r[:5]) + list(r[6:8]) + [r[8]] * ("BrnTrgt" in flags) + [r[5]] * ("IbsOpData4" in flags) for r in regs]
    mem_made.write_ibs("kernel", dumped, [], caps=caps, cpuid="AuthenticAMD,%d,%d,1" % (family, model))
    mine, want = rows("op", "ibs_op", *OTHER), rows("kernel", "ibs_op", *OTHER)
    differ = [(i, k, a[k], b[k]) for i, (a, b) in enumerate(zip(mine, want)) for k in a if a[k] != b[k]] if len(mine) == len(want) == 300 else [mine[:1], want[:1]]
    t.ok(not differ and len(mine[0]) > 20, "%s: ops, %d columns as of the kernel's driver" % (name, len(mine[0])), differ[:5])
got = rows("op", "samples")
t.equal([(r["pid"], r["tid"], r["cpu"], r["time"]) for r in got[:3]], [(20, 21, 0, 1000), (20, 21, 1, 1001), (20, 21, 2, 1002)], "threads, CPUs, times")
t.equal([r["period"] for r in got[:50]], [(r[0] & 0xffff) << 4 for r in regs[:50]], "periods are of the control register")
regs = [(3 << 48 | word(48) | (word(9) << 50), word(16), 0x400000 + word(20), word(40)) for _ in range(200)]
with open("fetch", "wb") as f:
    f.write(head("Fetch", 0x17, 1, IbsFetchCtlExtd=1).encode() + b"".join(fetch(*r, 1000 + i, 21, 20, 1, 0) for i, r in enumerate(regs)))
mem_made.write_ibs("kernel", [], [[r[0], r[2], r[3], r[1]] for r in regs], caps=0x217, cpuid="AuthenticAMD,23,1,1")
t.equal(rows("fetch", "ibs_fetch", *OTHER), rows("kernel", "ibs_fetch", *OTHER), "fetches")

# ---- what is said of it ----------------------------------------------------------------------------------
p = run("info", "op")
t.ok("IBS Toolkit" in p.stdout and "host" in p.stdout and "AMD made here" in p.stdout and "4.4.0-97-generic" in p.stdout and "./program -x 1" in p.stdout and
     "does not tell what was lost" in p.stdout, "info", p.stdout)
d = json.loads(run("mem", "op", "-j").stdout)
t.equal(d["samples"], 300, "mem reads it")
d = json.loads(run("report", "-j", "op").stdout)
t.equal((d["losses"]["lost"], d["losses"]["throttles"], d["losses"]["unattributed"]), (None, None, 0), "losses are not known, which is not 0")
p = run("report", "op")
t.ok("does not tell" in p.stdout and "never" not in p.stdout, "report: nor does it say that there were none", p.stdout[-800:])
with open("op", "rb") as f:
    p = run("info", "-j", "-", stdin=f)
t.ok('"form": "IBS Toolkit"' in p.stdout, "and through a pipe", p.stdout + p.stderr)
with open("op", "rb") as f:
    whole = f.read()

# ---- damaged ---------------------------------------------------------------------------------------------
for name, data, said in (("no end", whole[:200], "whose head has no end"), ("a version", whole.replace(b"Version: 1", b"Version: 7"), "version 7: only 1 is known"),
                         ("no samples", whole[:whole.index(RULER.encode()) + 46], None), ("cut", whole[:-50], "no whole sample")):
    with open("bad", "wb") as f:
        f.write(data)
    p = run("info", "bad")
    t.ok(said in p.stdout + p.stderr if said else p.returncode in (0, 2), "%s: said" % name, (p.returncode, p.stdout, p.stderr))
    t.ok(p.returncode in (0, 2) and not re.search("Sanitizer", p.stderr), name + ": no crash", p.stderr)
t.done()
