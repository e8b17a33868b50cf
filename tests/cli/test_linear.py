#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings that make much work of few bytes: thousands of processes, mappings, build-ids, names. What report does of
them grows as they do. Instructions are counted (in QEMU, or where it is not by valgrind, which takes longer), so that no
other load matters: of a recording twice as large at most 2.4 times as many, beyond what an empty one takes. Of the larger
one at most INSNS_PER_BYTE, and PER_PRINTED of each byte of the screen, and, in QEMU, at most 10 times as many as perf takes for the same. So do info of all, and report -g
and blocks of what has chains and branches."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from gen import pad8  # noqa: E402
from tap import CYCLADE, PERF, SANITIZED, Tap, emulator  # noqa: E402

t = Tap()
N, MOST = 1500, 2.4
INSNS_PER_BYTE = 300  # 1 s for 10 MB on a modest machine: 3e9 a second
PER_PRINTED = 400     # a byte of what it prints: each frame of deep chains is a line with a share and its error
OF_PERF = 10
KERNEL, USER = 1, 2
MODULES = 0xffffffffc0000000


def record(kind, misc, body):
    return gen.Writer("<").record(kind, pad8(body), misc)


def end(tid, time):
    return struct.pack("<IIQQ", tid, tid, time, 1)


def comm(pid, name, time=1000, execs=False):
    return record(3, execs << 13, struct.pack("<II", pid, pid) + name[:15].ljust(16, b"\0") + end(pid, time))


def mmap2(pid, start, path, time=1000):
    return record(10, USER, struct.pack("<IIQQQIIQQII", pid, pid, start, 0x1000, 0, 8, 1, 5, 0, 5, 2) + pad8(path + b"\0") +
                  end(pid, time))


def fork(pid, parent, time):
    return record(7, 0, struct.pack("<IIIIQ", pid, parent, pid, parent, time) + end(pid, time))


def ksymbol(at, name):
    return record(17, KERNEL, struct.pack("<QIHH", at, 4096, 1, 0) + pad8(name + b"\0") + end(7, 1000))


def sample(ip, pid=7, time=10**7):
    return record(9, KERNEL if ip >> 63 else USER, struct.pack("<QQIIQQ", 1, ip, pid, pid, time, 1000))


def chain(i, n):
    """A sample with a chain of n frames of its own."""
    at = [ANON + (i * n + k) * 16 % 0x10000000 for k in range(n)]
    return record(9, USER, struct.pack("<QQIIQQQ%dQ" % (n + 1), 1, ANON + 16, 7, 7, 10**7, 1000, n + 1, 2**64 - 512, *at))


def stack(i, n):
    """A sample with n branches of its own."""
    of = b"".join(struct.pack("<QQQ", ANON + (i * n + k) * 64 % 0xf000000, ANON + (i * n + k + 7) * 128 % 0xf000000, 0) for k in range(n))
    return record(9, USER, struct.pack("<QQIIQQQ", 1, ANON + 16, 7, 7, 10**7, 1000, n) + of)


def build_id(name):
    return record(0, USER, struct.pack("<i", -1) + b"\1" * 20 + pad8(name + b"\0"))


def each(n, *makers):
    """All records of the first maker, then all of the second, ..."""
    return b"".join(make(i) for make in makers for i in range(n))


ANON = 0x10000000
KINDS = {  # name: of n, (records, header's build-ids)
    "mappings of a process": lambda n: (each(n, lambda i: mmap2(7, ANON + 0x2000 * i, b"/nowhere/lib%d.so" % i, 1000 + i),
                                             lambda i: sample(ANON + 0x2000 * (i * 37 % n) + 16)), b""),
    "one place mapped again": lambda n: (each(n, lambda i: mmap2(7, ANON, b"/nowhere/lib%d.so" % (i % 100), 1000 + i),
                                              lambda i: sample(ANON + 16, time=1000 + i)), b""),
    "names of a thread": lambda n: (each(n, lambda i: comm(7, b"c%d" % i, 1000 + i), lambda i: sample(ANON, time=1000 + i)), b""),
    "threads": lambda n: (each(n, lambda i: comm(8 + i, b"c%d" % i), lambda i: sample(ANON, 8 + i)), b""),
    "generations": lambda n: (mmap2(7, ANON, b"/nowhere/prog") +
                              each(n, lambda i: fork(8 + i, 7 + i, 1000 + i), lambda i: sample(ANON + 16, 8 + i)), b""),
    "programs of a process": lambda n: (each(n, lambda i: comm(7, b"x%d" % i, 1000 + 10 * i, True) +
                                             mmap2(7, ANON, b"/nowhere/p%d" % (i % 10), 1001 + 10 * i) +
                                             sample(ANON + 16, time=1005 + 10 * i)), b""),
    "processes with anonymous code": lambda n: (each(n, lambda i: mmap2(8 + i, ANON, b"//anon"),
                                                     lambda i: sample(ANON + 16, 8 + i)), b""),
    "processes with jitted code": lambda n: (each(n, lambda i: mmap2(8 + i, ANON, b"//anon") +
                                                  mmap2(8 + i, 2 * ANON, b"/nowhere/jit-%d.dump" % (8 + i)),
                                                  lambda i: sample(ANON + 16, 8 + i)), b""),
    "build-ids": lambda n: (each(n, lambda i: mmap2(7, ANON + 0x2000 * i, b"/nowhere/lib%d.so" % i)) + sample(ANON + 16),
                            each(n, lambda i: build_id(b"/other/x%d" % i))),
    "build-ids of kernels": lambda n: (each(n, lambda i: record(1, 4, struct.pack(
        "<IIQQQ", 0xffffffff, 0, MODULES + 0x2000 * i, 0x1000, 0) + pad8(b"[guest.kernel.kallsyms.%d]\0" % i) + end(7, 1000))) +
        sample(ANON), each(n, lambda i: build_id(b"[kernel.kallsyms]"))),
    "kernel symbols": lambda n: (each(n, lambda i: ksymbol(MODULES + 0x2000 * i, b"bpf_prog_%d" % i),
                                      lambda i: sample(MODULES + 0x2000 * i + 16)), b""),
}


def switches(i):
    """A process that ran from the first to the last moment, but for a wait."""
    return b"".join(record(14, out << 13, end(8 + i, time)) for out, time in ((0, 1000), (1, 2000), (0, 3000)))


def one_chain(i):
    """A process with the chain that all have."""
    pid = 8 + i
    return (comm(pid, b"c%d" % i) + mmap2(pid, ANON, b"/nowhere/prog") +
            record(9, USER, struct.pack("<QQIIQQQ4Q", 1, ANON + 16, pid, pid, 10**7, 1000, 4, 2**64 - 512, ANON + 16, ANON + 32, ANON + 48)))


PROGRAM = mmap2(7, ANON, b"/nowhere/prog").replace(struct.pack("<QQ", ANON, 0x1000), struct.pack("<QQ", ANON, 0x10000000))
CHAIN, STACK = 1 << 5, 1 << 11
# name: (of n, fields of samples, events, the command besides report and info)
MORE = {
    "chains": (lambda n: (PROGRAM + each(n // 300, lambda i: chain(i, 4000)), b""), CHAIN, 1, ("report", "-g")),
    "chains, hardly printed": (lambda n: (PROGRAM + each(n // 300, lambda i: chain(i, 4000)), b""), CHAIN, 1, ("report", "-g", "--min", "60")),
    "processes of one chain": (lambda n: (each(4 * n, one_chain), b""), CHAIN, 1, ("report", "-g")),
    "branches": (lambda n: (PROGRAM + each(n // 150, lambda i: stack(i, 1000)), b""), STACK, 1, ("blocks",)),
    "events": (lambda n: (PROGRAM + each(n // 5, lambda i: record(9, USER, struct.pack(
        "<QQIIQQ", i + 1, ANON + 64 * i, 7, 7, 10**7, 1000))), b""), 0, lambda n: n // 5, None),
    "processes that wait": (lambda n: (each(2 * n, lambda i: comm(8 + i, b"c%d" % i), switches), b""), 0, 1, ("report", "--critical")),
}


def write(path, data, ids, fields=0, n_events=1):
    of = 1 << 16 | 1 | 2 | 4 | 256 | fields
    attr = dict(type=1, period=1000, sample=of, sample_id_all=1, br=8 * (fields == STACK))
    f = gen.File(gen.Writer("<"), [("event", attr, [i + 1]) for i in range(n_events)], attr_size=128)
    f.data, f.features = data, {2: ids} if ids else {}
    with open(path, "wb") as out:
        out.write(f.build(event_desc=False))


QEMU, PLUGIN = emulator("x86_64"), os.environ.get("INSNS_PLUGIN", "")
EMULATED = bool(QEMU and os.path.exists(PLUGIN))


# QEMU and valgrind count each byte of rep movs and rep stos as an instruction, of which a CPU does 32 and more at once.
os.environ["GLIBC_TUNABLES"] = "glibc.cpu.x86_rep_movsb_threshold=0x40000000:glibc.cpu.x86_rep_stosb_threshold=0x40000000"
printed = {}  # program: bytes, of its last run


def instructions(path, *words, program=CYCLADE):
    argv = [program, *(words or ("report",)), *(["--no-cache"] if program == CYCLADE and words[:1] != ("info",) else []), "-i", path]
    if EMULATED:
        p = subprocess.run([QEMU, "-plugin", "%s,out=insns" % PLUGIN, *argv], capture_output=True, text=True, errors="replace", timeout=600)
        printed[program] = len(p.stdout)
        if p.returncode:
            return p.stderr[-500:]
        with open("insns", encoding="ascii") as f:
            return int(f.read())
    p = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *argv],
                       capture_output=True, text=True, errors="replace", timeout=600)
    printed[program] = len(p.stdout)
    each = re.findall(r"I +refs: +([\d,]+)", p.stderr)  # its children's, too
    return sum(int(x.replace(",", "")) for x in each) if each and p.returncode == 0 else p.stderr[-500:]


def bounded(name, words, took, none, out):
    """Of the recording that was written last; `out`: bytes that were printed."""
    size = os.path.getsize("some")
    got = took if isinstance(took, int) else 10**12
    t.ok(got - none <= INSNS_PER_BYTE * size + PER_PRINTED * out,
         "%s: %s: %d instructions a byte" % (name, " ".join(words), (got - none) / size), (took, size, out))
    if EMULATED and PERF and words[0] == "report" and "--min" not in words:
        perf = instructions("some", *words, "--stdio", program=PERF)
        if isinstance(perf, int):
            t.ok(got <= OF_PERF * perf, "%s: %s: %.2f times the instructions of perf" % (name, " ".join(words), got / perf), (took, perf))
        else:
            t.skip("%s: %s: instructions of perf" % (name, " ".join(words)), "perf does not read it here: %s" % perf)


if SANITIZED or not (EMULATED or shutil.which("valgrind")):
    t.skip("all of it", "a sanitizer's instructions are not ours" if SANITIZED else "no qemu-x86_64, and no valgrind")
    t.done()
with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    write("none", sample(ANON), b"")
    none = instructions("none")
    kinds = {name: (make, 0, 1, None) for name, make in KINDS.items()}
    for name, (make, fields, events, command) in {**kinds, **MORE}.items():
        took = []
        for n in (N, 2 * N):
            write("some", *make(n), fields, events(n) if callable(events) else events)
            took.append(instructions("some", *(command or ("report",))))
        if not all(isinstance(x, int) for x in took + [none]):
            t.ok(False, name, took)
            continue
        ratio = (took[1] - none) / max(took[0] - none, 1)
        t.ok(ratio <= MOST, "%s: twice as many, %.2f times the instructions" % (name, ratio), (none, took))
        bounded(name, command or ("report",), took[1], none, printed[CYCLADE])
        for words in (("report",),) * bool(command) + (("info",),):
            took = instructions("some", *words)
            bounded(name, words, took, none, printed[CYCLADE])
t.done()
