#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""BPF programs that were loaded before recording began: records of their functions, with the names that the kernel lists, and samples in them.
perf's own records of the same programs are the referee."""
import ctypes
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from tap import CYCLADE, PERF, Tap, run  # noqa: E402

t = Tap()
NUMBER = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
LOAD, TEST_RUN, FILTER = 5, 10, 1
libc = ctypes.CDLL(None, use_errno=True)


def bpf(cmd, attr):
    buf = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    fd = libc.syscall(NUMBER, cmd, buf, 128)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def load(name):
    """A filter of many multiplications, so that its time is in its own code."""
    text = insn(0xb7, 0, imm=3) + insn(0x27, 0, imm=7) * 3000 + insn(0x95)
    code, licence = ctypes.create_string_buffer(text), ctypes.create_string_buffer(b"BSD")
    return bpf(LOAD, struct.pack("<IIQQIIQII16s", FILTER, len(text) // 8, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0, 0, name))


def spin(fd):
    packet = ctypes.create_string_buffer(64)
    bpf(TEST_RUN, struct.pack("<IIIIQQII", fd, 0, 64, 0, ctypes.addressof(packet), 0, 100000, 0))


def listed(word):
    with open("/proc/kallsyms", encoding="ascii", errors="replace") as f:
        return {line.split()[2]: int(line.split()[0], 16) for line in f if word in line and "bpf_prog_" in line}


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "spin":
        spin(int(sys.argv[2]))
        return
    if not NUMBER:
        t.skip("BPF programs", "the number of bpf(2) is not known for %s" % platform.machine())
        t.done()
    try:
        fd = load(b"before_all")
    except OSError as e:
        t.skip("BPF programs", "none may be loaded here: %s" % e)
        t.done()
    load(b"a_name_of_15byt")  # the longest: it may be cut, so the kernel's list is read
    names = listed("before_all")
    if len(names) != 1 or not all(names.values()):
        t.skip("BPF programs", "the kernel lists none: not translated, or addresses are hidden")
        t.done()
    (name, at), = names.items()
    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        r = run("record", "-q", "-e", "cpu-clock", "-o", "x.data", "--", "true")
        if r.returncode:
            t.skip("BPF programs", "nothing can be recorded: %s" % r.stderr.strip())
            t.done()
        recorded(name, at, fd)
    t.done()


def dumped(path):
    """(address, length, name) and (id, tag) of perf's dump."""
    text = subprocess.run([PERF, "script", "-D", "-i", path], capture_output=True, text=True, errors="replace").stdout
    return (set(re.findall(r"PERF_RECORD_KSYMBOL addr ([0-9a-f]+) len (\d+) type 1 flags 0x0 name (bpf_prog_\S+)", text)),
            set(re.findall(r"PERF_RECORD_BPF_EVENT type 1, flags 0, id (\d+)", text)))


def recorded(name, at, fd):
    with open("x.data", "rb") as f:
        data = f.read()
    where = data.find(name.encode() + b"\0")
    head = struct.unpack_from("<IHHQIHH", data, where - 24) if where > 24 else ()
    t.ok(data.count(b"_a_name_of_15byt\0") == 1, "the name that may be cut", data.count(b"a_name_of"))
    t.ok(head[:1] == (17,) and head[3] == at and head[4] > 3000 and head[5:] == (1, 0), "a record with the kernel's name and address", (head, name, at))
    os.set_inheritable(fd, True)
    p = subprocess.run([CYCLADE, "record", "-q", "-e", "cpu-clock", "-o", "s.data", "--", sys.executable, os.path.abspath(__file__),
                        "spin", str(fd)], close_fds=False, capture_output=True, text=True)
    r = run("report", "--no-cache", "-s", "function", "--format", "csv", "s.data")
    t.ok(name in r.stdout, "samples have its name", p.stderr + r.stdout[:1500])
    if not PERF:
        t.skip("perf's records of the same programs", "no perf")
        return
    p = subprocess.run([PERF, "record", "-q", "-e", "cpu-clock", "-o", "p.data", "--", "true"], capture_output=True, text=True)
    theirs, ours = dumped("p.data"), dumped("x.data")
    if not theirs[0]:
        t.skip("perf's records of the same programs", "perf wrote none %s" % p.stderr[:200])
        return
    mine = [x for x in theirs[0] if x[2] == name]
    t.ok(mine and set(mine) <= ours[0], "the record is perf's", (mine, ours[0]))
    t.ok(theirs[1] & ours[1] and len(ours[1]) >= 1, "programs by number, as perf", (theirs[1], ours[1]))


main()
