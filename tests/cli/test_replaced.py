#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program that was replaced during or after its recording never gets the names of the new file. Recordings are made here,
then edited to be those of a kernel without build-ids in its records (before Linux 5.12), which have device, inode and
generation instead: those of stat(2) and FS_IOC_GETVERSION."""
import csv
import fcntl
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, WHOLE_CPUS, Tap, wait_for  # noqa: E402

SPIN = """__attribute__((noinline)) unsigned long NAME(unsigned long n)
{
	volatile unsigned long s = 0;

	for (unsigned long i = 0; i < n; i++)
		s += i;
	return s;
}
"""
OLD = SPIN.replace("NAME", "old_hot") + "int main(void) { return (int)(old_hot(60000000) & 1); }\n"
# what is hot lies elsewhere, and where the old one's was there are others
NEW = "".join(SPIN.replace("NAME", "new_cold%d" % i) for i in range(8)) + SPIN.replace("NAME", "new_hot") + \
    "int main(void) { return (int)((new_hot(60000000) + " + " + ".join("new_cold%d(1)" % i for i in range(8)) + ") & 1); }\n"
MMAP2, HAS_ID, FEAT_HOSTNAME, FEAT_BUILD_ID = 10, 1 << 14, 3, 2
STABLE = ("ef53", "58465342", "f2f52010", "9123683e", "1021994")  # ext4, xfs, f2fs, btrfs, tmpfs
FS_IOC_GETVERSION = 0x80087601
tap = Tap()


def run(*argv, cwd=None):
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd, check=False,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8",
                               "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"})


def rows(data, *words):
    out = run(CYCLADE, "report", "--no-cache", "-s", "dso,sym", "--format", "csv", *words, data).stdout
    return [(r["dso"], r["function"]) for r in csv.DictReader(io.StringIO(out))]


def names(data, *words):
    return {sym for _, sym in rows(data, *words)}


def text(data, *words):
    return " ".join(run(CYCLADE, "report", "--no-cache", *words, data).stdout.split())


def build_id(prog):
    found = re.search(r"Build ID: (\w+)", run("readelf", "-n", prog).stdout)
    return bytes.fromhex(found[1]) if found else b""


def identity(prog):
    """As an MMAP2 record has it: major, minor, inode, generation."""
    st, gen = os.stat(prog), bytearray(8)
    with open(prog, "rb") as f:
        try:
            fcntl.ioctl(f, FS_IOC_GETVERSION, gen)
        except OSError:
            pass
    return os.major(st.st_dev), os.minor(st.st_dev), st.st_ino, struct.unpack("<I", gen[:4])[0]


def edit(data, to, of_id, host=None, table=()):
    """A copy whose mappings of the files in of_id (build-id: identity) have the identity instead. The header's table of
    build-ids, the last feature in the file then, is `table`: (path, build-id)."""
    with open(data, "rb") as f:
        b = bytearray(f.read())
    at, size = struct.unpack_from("<QQ", b, 40)
    end = at + size
    while at + 8 <= end:
        kind, misc, length = struct.unpack_from("<IHH", b, at)
        ident = bytes(b[at + 44:at + 64])
        if kind == MMAP2 and misc & HAS_ID and ident in of_id:
            struct.pack_into("<H", b, at + 4, misc & ~HAS_ID)
            struct.pack_into("<IIQQ", b, at + 40, *of_id[ident])
        at += length
    bits = int.from_bytes(b[72:104], "little")
    have = [i for i in range(256) if bits >> i & 1]
    sections = {bit: bytes(b[o:o + n]) for i, bit in enumerate(have)
                for o, n in [struct.unpack_from("<QQ", b, end + 16 * i)]}
    sections.pop(FEAT_BUILD_ID, None)
    if host:
        padded = host.encode() + bytes(64 - len(host))
        sections[FEAT_HOSTNAME] = struct.pack("<I", len(padded)) + padded
    if table:
        body = b""
        for path, ident in table:
            name = path.encode() + bytes(64 - len(path) % 64)
            body += struct.pack("<IHHi", 0, 2, 8 + 4 + 24 + len(name), -1) + ident + bytes(24 - len(ident)) + name
        sections[FEAT_BUILD_ID] = body
    b[72:104] = sum(1 << i for i in sections).to_bytes(32, "little")
    out, heads = b"", b""
    for bit in sorted(sections):
        heads += struct.pack("<QQ", end + 16 * len(sections) + len(out), len(sections[bit]))
        out += sections[bit]
    with open(to, "wb") as f:
        f.write(bytes(b[:end]) + heads + out)
    return to


def is_new(sym):
    return sym.startswith("new_")


class Lab:
    def __init__(self, where):
        self.where, self.prog = where, os.path.join(where, "prog")
        self.data, self.kept = os.path.join(where, "whole.data"), os.path.join(where, "kept")
        os.mkdir(self.kept)
        self.old, self.new = os.path.join(self.kept, "prog"), os.path.join(where, "new")
        for source, to in ((OLD, self.old), (NEW, self.new)):
            with open(to + ".c", "w", encoding="ascii") as f:
                f.write(source)
            run("gcc", "-O1", "-Wl,--build-id", to + ".c", "-o", to)
        self.ids = build_id(self.old), build_id(self.new)

    def put(self, what):
        """At the program's path, as a new file while the one before is still there."""
        shutil.copy(what, self.prog + ".tmp")
        os.rename(self.prog + ".tmp", self.prog)

    def record(self, *argv):
        return run(CYCLADE, "record", "-q", "--buildid-mmap", "-e", "cpu-clock:u", "-o", self.data, "--", *argv, cwd=self.where)

    def edited(self, name, of_id, **more):
        return edit(self.data, os.path.join(self.where, name + ".data"), of_id, **more)


def afterwards(lab):
    lab.put(lab.old)
    r = lab.record(lab.prog)
    if not os.path.exists(lab.data):
        tap.skip("a program that was replaced afterwards", "cannot record here: " + r.stderr[:100])
        return
    maj, minor, ino, gen = was = identity(lab.prog)
    bare = lab.edited("bare", {lab.ids[0]: was})
    device = lab.edited("device", {lab.ids[0]: (maj, minor + 1, ino, gen)})
    away = lab.edited("away", {lab.ids[0]: was}, host="another-machine")
    maps = lab.edited("maps", {lab.ids[0]: (maj, minor, ino, 0)})
    header = lab.edited("header", {lab.ids[0]: was}, table=[(lab.prog, lab.ids[1])])
    other = lab.edited("generation", {lab.ids[0]: (maj, minor, ino, gen + 1)})
    for what, data in (("with its generation", bare), ("without", maps), ("of another device", device)):
        tap.ok("old_hot" in names(data) and "another file" not in text(data), f"the recorded file, {what}: names", rows(data))
    if gen:
        tap.ok("old_hot" not in names(other) and f"inode {ino}, generation {gen})" in text(other),
               "the same inode, another generation: another file", text(other))
    else:
        tap.skip("the same inode, another generation", "this file system has no generations")
    lab.put(lab.new)
    now = identity(lab.prog)
    for what, data in (("a mapping of the kernel's", bare), ("one from /proc/PID/maps", maps)):
        tap.ok(not any(map(is_new, names(data))), f"replaced afterwards, {what}: no names of the new file", rows(data))
        said = text(data)
        tap.ok(f"{lab.prog} is another file (inode {now[2]}) than the recorded one (inode {ino})" in said and
               "--symbols DIR" in said, "... and a note says so", said)
        tap.ok("old_hot" in names(data, "--symbols", lab.kept), "... a copy that the user names is used", rows(data))
    shown = sorted(filter(is_new, names(device)))
    tap.ok(shown, "of another device nothing is concluded", rows(device))
    codes = [run(CYCLADE, "annotate", "--no-cache", "-i", d, *shown[:1]).returncode for d in (device, bare)]
    tap.ok(codes[0] == 0 and codes[1] != 0, "... annotate has code of the new file only then", codes)
    tap.ok(any(map(is_new, names(away))), "nor on another machine", rows(away))
    tap.ok(any(map(is_new, names(header))) and "if it was replaced during the recording" in text(header),
           "the header has the new file's build-id: names, and a note that doubts them", text(header))
    tap.ok("old_hot" not in names(lab.data) and "has build-id" in text(lab.data), "a build-id decides alone", text(lab.data))
    lab.put(lab.old)
    tap.ok("old_hot" in names(lab.data) and "another file" not in text(lab.data), "... also of a copy", text(lab.data))


def meanwhile(lab):
    lab.put(lab.old)
    first = identity(lab.prog)
    shutil.copy(lab.new, lab.prog + ".next")
    r = lab.record("sh", "-c", "./prog; mv prog first; mv prog.next prog; ./prog")
    if not os.path.exists(lab.data):
        tap.skip("a program that was replaced meanwhile", "cannot record here: " + r.stderr[:100])
        return
    of_id = dict(zip(lab.ids, (first, identity(lab.prog))))
    for what, table in (("no build-ids", ()), ("the header's build-id, the new file's", [(lab.prog, lab.ids[1])])):
        data = lab.edited("meanwhile", of_id, table=table)
        got = [r for r in rows(data) if r[0].startswith("prog")]
        files = {dso for dso, sym in got if is_new(sym)}
        tap.ok({sym for _, sym in got if is_new(sym)} == {"new_hot"}, f"replaced meanwhile, {what}: only what ran", got)
        tap.ok(len([s for _, s in got if s.startswith("0x")]) > 0, "... what ran before has addresses", got)
        said = text(data)
        tap.ok(f"another file (inode {of_id[lab.ids[1]][2]}) than the recorded one (inode {first[2]})" in said,
               "... and a note says so", said)
        if not table:
            tap.ok(files == {"prog@inode%d" % of_id[lab.ids[1]][2] + (".%x" % of_id[lab.ids[1]][3] if of_id[lab.ids[1]][3] else "")},
                   "... files are told apart by inode", got)


def running(lab):
    """A program that was there before the recording has mappings without build-id: the header's must not be the new file's."""
    if not WHOLE_CPUS:
        tap.skip("a running program that is replaced", "only root may record whole CPUs here")
        return
    sleeper, data = os.path.join(lab.where, "sleeper"), os.path.join(lab.where, "all.data")
    kept = os.path.join(lab.kept, "sleeper")
    with open(kept + ".c", "w", encoding="ascii") as f:
        f.write("#include <unistd.h>\nint main(void)\n{\n\tfor (;;)\n\t\tpause();\n}\n")
    run("gcc", "-O1", "-Wl,--build-id", kept + ".c", "-o", kept)
    for replace in (False, True):
        shutil.copy(kept, sleeper)
        shutil.copy(lab.new, sleeper + ".next")
        with subprocess.Popen([sleeper]) as p:
            try:
                wait_for(lambda: os.readlink(f"/proc/{p.pid}/exe") == sleeper)
                r = run(CYCLADE, "record", "-q", "-a", "-e", "cpu-clock:u", "-o", data, "--", "sh", "-c",
                        ("mv sleeper.next sleeper; " if replace else "") + lab.old, cwd=lab.where)
            finally:
                p.kill()
        if not os.path.exists(data):
            tap.skip("a running program that is replaced", "cannot record here: " + r.stderr[:100])
            return
        with open(data, "rb") as f:
            b = f.read()
        ids = {"old": build_id(kept) in b, "new": lab.ids[1] in b}
        # the descriptor of the replaced one is kept, unless too many are open
        tap.ok(not ids["new"] and (ids["old"] or replace),
               "a running program%s: build-ids in the recording" % (" that is replaced" if replace else ""), ids)


def main():
    if not all(map(shutil.which, ("gcc", "readelf", "stat"))):
        print("1..0 # SKIP no gcc, readelf or stat")
        return
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 12):
        print("1..0 # SKIP this kernel has no build-ids in its records (Linux 5.12 has), by which the test tells files apart")
        return
    base = next((d for d in (tempfile.gettempdir(), "/dev/shm", "/var/tmp")
                 if run("stat", "-f", "-c", "%t", d).stdout.strip() in STABLE), None)
    if not base:
        print("1..0 # SKIP no file system whose inode numbers stay (ext4, xfs, f2fs, btrfs, tmpfs)")
        return
    with tempfile.TemporaryDirectory(dir=base) as where:
        lab = Lab(where)
        afterwards(lab)
        meanwhile(lab)
        running(lab)
    tap.done()


main()
