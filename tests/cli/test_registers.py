#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade registers: breakpoints and probes at a function give the arguments that the program is known to call it with; and a
synthetic recording of another architecture."""
import csv
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
import tables  # noqa: E402
from tap import Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-registers-")
os.chdir(tmp)
PROGRAM = """
#include <stdlib.h>
#define SEEN __asm__ volatile("" ::: "memory")
__attribute__((noinline)) long work(int i, long n, unsigned flag, const char *s, int sign, long seven)
{ SEEN; return i + n + flag + *s + sign + seven; }
__attribute__((noinline)) long other(const void *p) { SEEN; return p != 0; }
int main(void)
{
	static const char text[] = "hello";
	long t = 0;
	for (int i = 0; i < 600; i++) {
		t += work(i % 10, i - 300, i & 1, text + i % 2, i % 3 - 1, -7);
		if (i % 4 == 0)
			t += other(malloc(64));
	}
	return t == 42;
}
"""


def doc_of(*args):
    p = run("registers", "-j", *args)
    try:
        return json.loads(p.stdout), p
    except ValueError:
        return {"places": [], "registers": [], "values": []}, p


def by_name(doc):
    """The registers of the first place, each with its values."""
    def of(rows, **keys):
        return [x for x in rows if all(x[k] == v for k, v in keys.items())]
    place = {k: doc["places"][0][k] for k in ("dso", "function", "offset", "address")}
    return {r["register"]: dict(r, values=of(doc["values"], register=r["register"], **place)) for r in of(doc["registers"], **place)}


def shares(r):
    return {x["value"]: x["count"] for x in r["values"]}


def check(data, how, pie):
    """The six arguments of 600 calls. Where addresses are small numbers, they do not look like pointers."""
    doc, p = doc_of(data, "work")
    if not t.ok(len(doc["places"]) == 1 and doc["places"][0]["entry"] and doc["places"][0]["samples"] == 600, how + ": 600 entries of work",
                p.stdout[:300] + p.stderr):
        return
    r = by_name(doc)
    t.equal(list(r), ["rdi", "rsi", "rdx", "rcx", "r8", "r9"], how + ": arguments in their order")
    t.equal((shares(r["rdi"]), r["rdi"]["guess"], r["rdi"]["mean"]), ({i: 60 for i in range(10)}, "unsigned", 4.5), how + ": i % 10")
    t.ok(abs(r["rdi"]["rms"] - 28.5 ** 0.5) < 1e-9, how + ": its root mean square", r["rdi"])
    t.equal((r["rsi"]["least"], r["rsi"]["most"], r["rsi"]["mean"], r["rsi"]["guess"], r["rsi"]["more"], r["rsi"]["values"]),
            (-300, 299, -0.5, "signed", True, []), how + ": -300 to 299, too many to tell")
    t.equal(shares(r["rdx"]), {0: 300, 1: 300}, how + ": a flag")
    s = shares(r["rcx"])
    ends = [int(str(r["rcx"][x]), 0) for x in ("least", "most")]
    t.ok(len(s) == 2 and set(s.values()) == {300} and ends[1] - ends[0] == 1 and r["rcx"]["guess"] == ("pointer" if pie else "unsigned"),
         how + ": two addresses, a byte from each other", r["rcx"])
    t.equal((shares(r["r8"]), r["r8"]["guess"]), ({-1: 200, 0: 200, 1: 200}, "signed 32"), how + ": -1, 0, 1 as an int")
    t.equal((shares(r["r9"]), r["r9"]["guess"]), ({-7: 600}, "signed"), how + ": -7 as a long")
    t.ok(doc["every"] and all(x["share_error"] == 0 for x in r["rdx"]["values"]), how + ": all of them, so no error bars", doc["every"])


built = False
if shutil.which("cc") and platform.machine() == "x86_64":
    open("work.c", "w").write(PROGRAM)
    built = not any(subprocess.run(["cc", "-O1", "-g", "-fcf-protection=none", *how, "work.c"], capture_output=True).returncode
                    for how in (["-fno-pie", "-no-pie", "-o", "work"], ["-fPIE", "-pie", "-o", "pie"]))
if not built:
    t.skip("real recordings", "no compiler, or not x86-64")
else:
    symbols = subprocess.run(["nm", "work"], capture_output=True, text=True).stdout
    at = int(re.search(r"^(\w+) T work$", symbols, re.M)[1], 16)
    p = run("record", "-e", "mem:0x%x:x" % at, "--intr-regs", "-o", "break.data", "--", "./work")
    if p.returncode or " 0 samples" in p.stderr:
        t.skip("a breakpoint", p.stderr)
    else:
        check("break.data", "a breakpoint", False)
        doc, p = doc_of("break.data", "work", "--all-registers")
        r = by_name(doc)
        t.ok({"rip", "rsp", "rax", "r15"} <= set(r) and r["rip"]["least"] == r["rip"]["most"] and
             int(str(r["rip"]["least"]), 0) == at, "--all-registers: the instruction pointer is where the breakpoint is", r.get("rip"))
        t.equal(doc["places"][0]["address"], hex(at), "the address is the file's own")
        for how in (hex(at), "work", "work+0x0"):
            t.equal(len(doc_of("break.data", "--at", how)[0]["places"]), 1, "--at %s" % how)
        t.equal(doc_of("break.data")[0]["places"][0]["function"], "work", "without a name: functions' entries")
        t.equal(doc_of("break.data", "--limit", "0")[0]["entries_not_shown"], 1, "--limit tells what is not shown")
        full = run("registers", "break.data", "work")
        t.ok(re.search(r"^ +rdi +1 +unsigned +0 +9 +4\.5 +5\.339", full.stdout, re.M) and "600 times" in full.stdout, "for people", full.stdout)
        rows = list(csv.DictReader(io.StringIO(run("registers", "break.data", "work", "--format", "csv").stdout)))
        t.ok(len(rows) == 6 and rows[0]["register"] == "rdi" and rows[0]["mean"] == "4.5" and rows[0]["mean_error"] == "0", "csv", rows[:3])
        p = run("registers", "break.data", "work", "--format", "csv", "--table", "values")
        rows = [x for x in csv.DictReader(io.StringIO(p.stdout)) if x["register"] == "rdx"]
        t.equal([(x["value"], x["count"], x["share"]) for x in rows], [("0", "300", "0.5"), ("1", "300", "0.5")], "csv: the values of a register")
        p = run("registers", "break.data", "--table", "vlaues")
        t.ok(p.returncode == 2 and "no table 'vlaues'" in p.stderr and "registers, values, losses" in p.stderr, "a table that it has not", p.stderr)
        md = run("registers", "break.data", "work", "--format", "markdown").stdout
        t.ok(md.count("\n| ") == 7 and "| rdi | 1 | unsigned | 0 | 9 | 4.5 |" in md, "markdown", md)
        p = run("registers", "break.data", "wrok")
        t.ok(p.returncode == 2 and "did you mean 'work'" in p.stderr, "a slip of the pen", p.stderr)
        p = run("registers", "break.data", "work+0x3")
        t.ok(p.returncode == 2 and "never sampled at +0x3" in p.stderr and len(p.stderr.splitlines()) <= 3, "an instruction without samples", p.stderr)
        t.equal(run("registers", "break.data", "--at", "0x12").returncode, 2, "an address without samples: 2")
        p = run("registers", "break.data", "--only-pid", "1")
        t.ok(p.returncode == 0 and "0 of mem" in p.stdout, "--only-pid", p.stdout + p.stderr)
    # another instruction than the first
    code = subprocess.run(["objdump", "-d", "--start-address=0x%x" % at, "work"], capture_output=True, text=True).stdout if shutil.which("objdump") else ""
    behind = [int(x, 16) - at for x in re.findall(r"^ *([0-9a-f]+):\t", code, re.M)][1:2]
    off = behind[0] if behind else 0
    p = run("record", "-e", "mem:0x%x:x" % (at + off), "--user-regs", "-o", "later.data", "--", "./work")
    doc, p = doc_of("later.data", "--at", hex(at + off))
    if off and doc["places"]:
        t.ok(not doc["places"][0]["entry"] and doc["places"][0]["offset"] == off and "rsp" in by_name(doc), "within a function: all registers", doc)
        p = run("registers", "later.data", "work:%d" % off)
        t.ok(p.returncode == 0 and "work+0x%x" % off in p.stdout, "FUNCTION:OFFSET", p.stdout + p.stderr)
        p = run("registers", "later.data")
        t.ok(p.returncode == 0 and "no sample is at the first instruction" in p.stdout and "uprobe:" in p.stdout, "no entry: what to record", p.stdout)
        p = run("registers", "later.data", "work")
        t.ok(p.returncode == 2 and "never at its first instruction" in p.stderr and "uprobe:PROGRAM:work" in p.stderr, "never at its first", p.stderr)
    else:
        t.skip("within a function", "no breakpoint there, or no objdump")
    p = run("record", "-e", "uprobe:./pie:work,uprobe:./pie:other", "--user-regs", "-o", "probe.data", "--", "./pie")
    if p.returncode or " 0 samples" in p.stderr:
        t.skip("a probe", p.stderr)
    else:
        check("probe.data", "a probe", True)
        doc, p = doc_of("probe.data", "-e", "uprobe:./pie:other")
        r = by_name(doc)["rdi"]
        t.ok(doc["places"][0]["samples"] == 150 and r["guess"] == "pointer" and r["more"] and r["zero_bits"] >= 4, "pointers of malloc: aligned", r)
    p = run("record", "-e", "task-clock", "-c", "100000", "-o", "none.data", "--", "./work")
    p = run("registers", "none.data")
    t.ok(p.returncode == 2 and "no registers" in p.stderr and "--intr-regs" in p.stderr, "a recording without registers: what to record", p.stderr)


# ---- a synthetic recording
def synthetic(name, arch, mask, samples, cpuid="", exact=False):
    w = gen.Writer("<")
    data = b"".join(w.record(gen.SAMPLE, w.pack("QIIQ", ip, 7, 7, 2) + w.u64(*(v & (1 << 64) - 1 for v in values)), 2 | exact << 14)
                    for ip, values in samples)
    gen.one(name, data, {bit: w.text(x) for bit, x in ((6, arch), (9, cpuid)) if x}, type=4, config=0x11, period=1000,
            sample=gen.BIT["IP"] | gen.BIT["TID"] | gen.BIT["REGS_INTR"], ri=mask)


synthetic("synthetic-arm64.data", "aarch64", 0b1011, [(0x1000, (i % 2, 0xFFFFFFFF, 1 << 60)) for i in range(100)])
doc, p = doc_of("synthetic-arm64.data", "--at", "0x1000")
r = by_name(doc) if doc["places"] else {}
t.ok(set(r) == {"x0", "x1", "x3"} and r["x0"]["argument"] == 1 and shares(r["x0"]) == {0: 50, 1: 50} and
     0.05 < r["x0"]["values"][0]["share_error"] < 0.12, "synthetic AArch64: x0 to x3, with error bars", (doc, p.stderr))
t.ok(r and shares(r["x1"]) == {-1: 100} and r["x3"]["least"] == hex(1 << 60), "synthetic AArch64: -1 in 32 bits; what a double cannot hold is text", r)
for cpuid, exact, late in (("AuthenticAMD,25,17,1", True, 100), ("AuthenticAMD,25,17,1", False, 0), ("GenuineIntel,6,143,8", True, 0)):
    synthetic("late.data", "x86_64", 0b1, [(0x1000, (i,)) for i in range(100)], cpuid, exact)
    doc, p = doc_of("late.data")
    t.equal((doc["samples_late"], doc["samples_with_registers"]), (late, 100 - late),
            "%s, %s: registers are %s" % (cpuid.split(",")[0], "exact" if exact else "not exact", "the interrupt's" if late else "the place's"))
    text, p = run("registers", "late.data").stdout, run("registers", "late.data", "--at", "0x1000")
    t.ok(all(("of the interrupt after" in " ".join(x.split())) == bool(late) for x in (text, p.stdout + p.stderr)) and p.returncode == (2 if late else 0),
         "and people are told" if late else "and values are shown", (text, p.stderr))
tables.walk(t, "registers", "synthetic-arm64.data", "--at", "0x1000")
synthetic("synthetic-other.data", "riscv64", 0b11, [(0x1000, (1, 2))])
p = run("registers", "synthetic-other.data", "--at", "0x1000")
t.ok(p.returncode == 0 and "bit 0" in p.stdout and "only numbers" in " ".join(p.stdout.split()), "synthetic, of another architecture: numbers instead of names", p.stdout + p.stderr)
whole, ends = open("synthetic-arm64.data", "rb").read(), {}
for cut in range(104, len(whole), 97):
    open("cut.data", "wb").write(whole[:cut])
    p = run("registers", "cut.data", "--at", "0x1000")
    ends.setdefault(p.returncode if p.returncode or p.stdout else "silent", []).append(cut)
t.ok(set(ends) == {0, 2}, "synthetic, cut anywhere: told or refused, and there are both", ends)
for args in [["a", "b", "c"], ["-i", "synthetic-arm64.data", "x", "y"], ["/nonexistent", "x"], ["synthetic-arm64.data", "--format", "folded"],
             ["synthetic-arm64.data", "-e", "nothing"], ["synthetic-arm64.data", "main"]]:
    p = run("registers", *args)
    t.ok(p.returncode == 2 and 1 <= len(p.stderr.splitlines()) <= 3, "wrong: registers %s" % " ".join(args), p.stderr)
os.chdir("/")
shutil.rmtree(tmp)
t.done()
