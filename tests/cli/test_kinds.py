#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of mapping that code runs in, in one made recording: a row each, with the file and the name that a report must show."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
FIRST = 5000000 + 100 * os.getpid()  # beyond the largest number that a process can have; lists in /tmp are of this run alone
BASE = 0x555555554000
READ, EXEC, RX = 1, 4, 5
SOURCE = """volatile int sink;
__attribute__((noinline, aligned(4096))) int hot(void) { for (int i = 0; i < 9; i++) sink += i; return sink; }
__attribute__((aligned(4096))) int after(void) { return sink; }
__attribute__((aligned(4096))) int main(void) { return hot() + after(); }
"""


def here(name):
    return os.path.join(tmp.name, name)


class Row:
    """maps: (start, length, offset, protection, path, more); ip; jit: lines of perf-PID.map; dso and name: of the report."""

    def __init__(self, what, maps, ip, dso, name, jit=None):
        self.what, self.maps, self.ip, self.dso, self.name, self.jit = what, maps, ip, dso, name, jit


def rows(at):
    hot = BASE + at["hot"]
    page = hot & ~4095
    text = (BASE + 0x1000, 0x8000, 0x1000, RX, here("prog"), {})
    code = 0x7f0000000000
    lines = [(code, 4096, "made"), (page, 4096, "made_there")]
    only = lambda path, **more: [(code, 0x1000, 0, RX, path, more)]
    over = lambda path, prot=RX, size=0x1000: [text, (page, size, 0, prot, path, {})]
    unnamed = "0x%016x"
    yield Row("a program", [text], hot + 4, "prog", "hot")
    yield Row("a program that was removed", [(*text[:4], here("prog") + " (deleted)", {})], hot + 4, "prog (deleted)", None)
    # memory without a file, and files that are such memory: by the process' list
    for path, dso in ("//anon", "perf-%d.map"), ("", "perf-%d.map"), ("/dev/zero (deleted)", "perf-%d.map"), ("/memfd:code (deleted)", "memfd:code (deleted)"), \
            ("/SYSV00000000 (deleted)", "SYSV00000000 (deleted)"), ("/anon_hugepage (deleted)", "perf-%d.map"), ("[heap]", "[heap]"), ("[stack]", "[stack]"), \
            ("[anon:code]", "[anon:code]"), ("/dev/shm/code.x (deleted)", "code.x (deleted)"), ("/tmp/orcexec.abc (deleted)", "orcexec.abc (deleted)"), \
            (here("raw.bin"), "raw.bin"):
        yield Row("made code in '%s'" % path, only(path), code + 8, dso, "made", lines)
    yield Row("made code that nothing names", only("//anon"), code + 8, "perf-%d.map", unnamed)
    yield Row("a removed file, no list", only("/tmp/orcexec.abc (deleted)"), code + 8, "orcexec.abc (deleted)", None)
    # with such a list, files are still files
    yield Row("a program of a process with a list", [text], hot + 4, "prog", "hot", lines)
    yield Row("a removed library of such", only("/usr/lib/libgone.so.1 (deleted)"), code + 8, "libgone.so.1 (deleted)", None, lines)
    yield Row("a file that is elsewhere, of such", only("/nowhere/x.bin"), code + 8, "x.bin", None, lines)
    yield Row("data of such", [(code, 0x1000, 0, READ, here("raw.bin"), {})], code + 8, "raw.bin", None, lines)
    # code at its own address, but moved onto other memory
    for path in "//anon", "/anon_hugepage (deleted)", "/memfd:hugepages (deleted)", "/dev/hugepages/libhugetlbfs.tmp.Xy (deleted)":
        yield Row("code moved onto '%s'" % path, over(path), hot + 4, "prog", "hot")
    yield Row("moved, up to a larger page's end", over("//anon", size=0x100000), hot + 4, "prog", "hot")
    yield Row("and what lies behind the program there", over("//anon", size=0x100000), page + 0x20000, "perf-%d.map", unnamed)
    yield Row("a runtime's code where a library was", over("//anon"), hot + 4, "perf-%d.map", "made_there", lines)
    yield Row("data where code was", over("//anon", READ), hot + 4, "perf-%d.map", unnamed)
    yield Row("much more than the program", over("//anon", size=0x1000000), hot + 4, "perf-%d.map", unnamed)
    yield Row("another file where code was", [text, (page, 0x1000, at["other"] & ~4095, RX, here("other"), {})], page + (at["other"] & 4095) + 2,
              "other", "other")
    # by perf inject -j: a generation of its own, and a mode where others have the protection
    ino = os.stat(here("jitted-77-1.so"))
    device = dict(maj=os.major(ino.st_dev), min=os.minor(ino.st_dev), ino=ino.st_ino, gen=1)
    jitted = [(BASE + 0x1000, 0x8000, 0x1000, 0o100600, here("jitted-77-1.so"), device)]
    yield Row("injected code", jitted, hot + 4, "jitted-77-1.so", "hot")
    # the kernel's own
    yield Row("the vdso of a 32-bit program", [(0xf7f28000, 0x2000, 0, RX, "[vdso]", {})], 0xf7f28a00, "[vdso32]", None)
    yield Row("vsyscall", [(0xffffffffff600000, 0x1000, 0, EXEC, "[vsyscall]", {})], 0xffffffffff600010, "[vsyscall]", None)
    yield Row("nothing", [text], 0x1234, "[unknown]", unnamed)


def build():
    with open("prog.c", "w", encoding="utf-8") as f:
        f.write(SOURCE)
    with open("other.c", "w", encoding="utf-8") as f:
        f.write("int other(void) { return 4; } int main(void) { return other(); }")
    at = {}
    for name in "prog", "other":
        p = subprocess.run(["cc", "-O1", "-Wl,-z,noseparate-code", "-o", name, name + ".c"], capture_output=True, text=True, check=False)
        if p.returncode:
            return None
        nm = subprocess.run(["nm", name], capture_output=True, text=True, check=True).stdout
        at.update({w[2]: int(w[0], 16) for w in (x.split() for x in nm.splitlines()) if len(w) == 3 and w[2] in ("hot", "other")})
    shutil.copy("prog", "jitted-77-1.so")
    with open("raw.bin", "wb") as f:
        f.write(bytes(8192))
    return at


def recording(path, all_rows):
    w = gen.Writer("<")
    bits = sum(gen.BIT[n] for n in "IP TID TIME PERIOD".split())
    attr = dict(type=1, sample=bits, sample_id_all=1, mmap=1, mmap2=1, comm=1, task=1)
    data, now = b"", 10 ** 9
    for i, row in enumerate(all_rows):
        pid = FIRST + i
        now += 1000
        who = lambda: w.pack("II", pid, pid) + w.u64(now)
        data += w.record(gen.COMM, w.pack("II", pid, pid) + gen.text8("row%d" % i) + who(), 0x2000)
        for start, size, off, prot, name, more in row.maps:
            now += 1
            data += w.record(gen.MMAP2, w.pack("IIQQQIIQQII", pid, pid, start, size, off, more.get("maj", 0), more.get("min", 0), more.get("ino", 0),
                                               more.get("gen", 0), prot, 2) + gen.text8(name) + who(), 2)
        now += 1
        data += w.record(gen.SAMPLE, w.u64(row.ip) + who() + w.u64(1000), 2)
    f = gen.File(w, [("cpu-clock", attr, [])])
    f.data = data
    f.features = {3: w.text(os.uname().nodename), 4: w.text(os.uname().release), 6: w.text(os.uname().machine)}
    with open(path, "wb") as out:
        out.write(f.build())


def check(all_rows, data="kinds.data", only=None):
    p = subprocess.run([CYCLADE, "report", "-q", "--no-cache", "-s", "comm,dso,function", "--format", "json", data], capture_output=True, text=True, check=False)
    t.ok(not p.returncode, "the report of " + data, p.stderr)
    got = {r["comm"]: r for r in json.loads(p.stdout)["rows"] if r.get("comm")}
    for i, row in enumerate(all_rows):
        if only and not only(row):
            continue
        r = got.get("row%d" % i, {})
        dso = row.dso % (FIRST + i) if "%d" in row.dso else row.dso
        name = row.name % row.ip if row.name and "%" in row.name else row.name
        there = r.get("function")
        # no name: the place in the file, or where a file was
        good = r.get("dso") == dso and (there == name if name else re.fullmatch(r"(.*\+)?0x[0-9a-f]+", there or ""))
        t.ok(good, row.what + (" (%s)" % data if only else ""), "%s, not %s in %s" % (r, name or "an address", dso))


def mapped_elsewhere(at):
    """A table of build-ids has that of the host's file; the mapped one had another inode. Whose was it?"""
    kind = subprocess.run(["stat", "-f", "-c", "%T", "prog"], capture_output=True, text=True, check=False).stdout.strip()
    ident = subprocess.run(["readelf", "-n", "prog"], capture_output=True, text=True, check=False).stdout
    ident = re.search(r"Build ID: ([0-9a-f]{40})", ident)
    if kind not in ("ext2/ext3", "xfs", "btrfs", "tmpfs", "f2fs") or not ident:
        return t.skip("a file of another mount namespace", "no build-id" if not ident else "inodes of %s are not compared" % kind)
    st, own = os.stat("prog"), os.stat("/proc/self/ns/mnt").st_ino
    for what, ns, ended, named in (("another namespace, ended", own + 1, True, False), ("another namespace, still there", own + 1, False, True),
                                   ("the same namespace, ended", own, True, True), ("a namespace that is not known", None, True, True),
                                   ("no build-id, another namespace, ended", own + 1, True, None)):
        w = gen.Writer("<")
        attr = dict(type=1, sample=sum(gen.BIT[n] for n in "IP TID TIME PERIOD".split()), sample_id_all=1, mmap=1, mmap2=1, comm=1, task=1)
        pid, who = FIRST, lambda: w.pack("II", FIRST, FIRST) + w.u64(10 ** 9)
        data = w.record(gen.COMM, w.pack("II", pid, pid) + gen.text8("prog") + who(), 0x2000)
        if ns:
            data += w.record(gen.NAMESPACES, w.pack("IIQ", pid, pid, 7) + b"".join(w.u64(4, ns if i == 5 else 77) for i in range(7)) + who())
        data += w.record(gen.MMAP2, w.pack("IIQQQIIQQII", pid, pid, BASE + 0x1000, 0x8000, 0x1000, os.major(st.st_dev), os.minor(st.st_dev), st.st_ino + 1, 0,
                                           RX, 2) + gen.text8(here("prog")) + who(), 2)
        data += w.record(gen.SAMPLE, w.u64(BASE + at["hot"] + 4) + who() + w.u64(1000), 2)
        if ended:
            data += w.record(gen.EXIT, w.pack("IIIIQ", pid, 1, pid, 1, 10 ** 9) + who())
        f = gen.File(w, [("cpu-clock", attr, [])])
        f.data = data
        f.features = {3: w.text(os.uname().nodename), 4: w.text(os.uname().release), 6: w.text(os.uname().machine)}
        if named is not None:
            f.features[2] = w.record(0, w.pack("i", -1) + bytes.fromhex(ident[1]) + b"\x14\0\0\0" + gen.text8(here("prog")), 1 << 15 | 2)
        with open("elsewhere.data", "wb") as out:
            out.write(f.build())
        out = subprocess.run([CYCLADE, "report", "--no-pager", "--no-cache", "elsewhere.data"], capture_output=True, text=True, check=False).stdout
        if named is None:
            t.ok(" hot\n" not in out and "has no build-id for it" in out and "with other mounts" not in out, what, out)
            continue
        t.ok((" hot\n" in out) == named and ("names are wrong" in out) == named and ("with other mounts" in out) != named, "build-id of the host, " + what, out)
    return None


def main():
    at = build()
    if not at:
        return t.skip("mappings", "no C compiler")
    all_rows = list(rows(at))
    lists = ["/tmp/perf-%d.map" % (FIRST + i) for i, row in enumerate(all_rows) if row.jit]
    try:
        for i, row in enumerate(all_rows):
            if row.jit:
                fd = os.open("/tmp/perf-%d.map" % (FIRST + i), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.write(fd, "".join("%x %x %s\n" % x for x in row.jit).encode())
                os.close(fd)
        recording("kinds.data", all_rows)
        check(all_rows)
        for path in lists:
            os.chmod(path, 0o644)  # root packs what all may read
        p = subprocess.run([CYCLADE, "archive", "-q", "-i", "kinds.data", "-o", "kinds.tar"], capture_output=True, text=True, check=False)
        t.ok(not p.returncode, "an archive of it", p.stderr)
    finally:
        for path in lists:
            if os.path.exists(path):
                os.unlink(path)
    # the archive has no raw.bin, by which a file is known to be no program
    check(all_rows, "kinds.tar", lambda row: row.name in ("made", "made_there") and row.maps[-1][4] != here("raw.bin"))
    notes = subprocess.run([CYCLADE, "report", "--no-pager", "--no-cache", "kinds.data"], capture_output=True, text=True, check=False).stdout
    t.ok("named by what lay there before" in notes, "a note says that moved code was taken for the same", notes[-1500:])
    mapped_elsewhere(at)
    return None


main()
t.done()
