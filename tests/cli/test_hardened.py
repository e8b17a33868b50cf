#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What makes mistakes in memory harder to use is in each file that is installed, as the build was asked for it (HARDENED: its
compiler's and linker's arguments), by an own reader of ELF. The reader is tried on programs that have it all, and that lack each."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
WANTED = os.environ.get("HARDENED", "").split()
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_STACK, PT_RELRO = 1, 2, 4, 0x6474E551, 0x6474E552
DT_STRTAB, DT_SYMTAB, DT_RPATH, DT_TEXTREL, DT_BIND_NOW, DT_RUNPATH, DT_FLAGS, DT_FLAGS_1 = 5, 6, 15, 22, 24, 29, 30, 0x6FFFFFFB
EM_X86_64, EM_AARCH64 = 62, 183


class Elf:
    """64 bits, little-endian."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.b = f.read()
        assert self.b[:6] == b"\x7fELF\x02\x01", path
        self.type, self.machine = struct.unpack_from("<HH", self.b, 16)
        at, = struct.unpack_from("<Q", self.b, 32)
        size, n = struct.unpack_from("<HH", self.b, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.b, at + i * size) for i in range(n)]
        self.dynamic = {}
        for kind, _, offset, _, _, length, _, _ in self.segments:
            for i in range(offset, offset + length if kind == PT_DYNAMIC else 0, 16):
                tag, value = struct.unpack_from("<QQ", self.b, i)
                self.dynamic.setdefault(tag, value)

    def at(self, address):
        for kind, _, offset, start, _, length, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + length:
                return offset + address - start
        raise ValueError(hex(address))

    def imports(self):
        """Names of the dynamic symbols that are undefined; the string table begins where the symbols end."""
        symbols, strings = self.at(self.dynamic[DT_SYMTAB]), self.at(self.dynamic[DT_STRTAB])
        found = set()
        for i in range(symbols, strings, 24):
            name, _, _, section = struct.unpack_from("<IBBH", self.b, i)
            if not section:
                found.add(self.b[strings + name:self.b.index(b"\0", strings + name)].decode())
        return found

    def properties(self):
        """The bits of the x86 or AArch64 feature word in the GNU property note."""
        bits = 0
        for kind, _, offset, _, _, length, _, align in self.segments:
            i = offset
            while kind == PT_NOTE and i + 12 <= offset + length:
                names, size, what = struct.unpack_from("<III", self.b, i)
                begin = i + 12 + (names + 3) // 4 * 4
                j = begin
                while what == 5 and j + 8 <= begin + size:
                    what_property, n = struct.unpack_from("<II", self.b, j)
                    if what_property in (0xC0000002, 0xC0000000):
                        bits |= struct.unpack_from("<I", self.b, j + 8)[0]
                    j += 8 + (n + 7) // 8 * 8
                i = begin + (size + align - 1) // align * align
        return bits

    def lacks(self):
        """What of all that is not there."""
        flags = {kind: flags for kind, flags, *_ in self.segments}
        imports = self.imports()
        have = {
            "pie": self.type == 3,
            "noexecstack": PT_STACK in flags and not flags[PT_STACK] & 1,
            "relro": PT_RELRO in flags,
            "now": bool(self.dynamic.get(DT_FLAGS, 0) & 8 or self.dynamic.get(DT_FLAGS_1, 0) & 1 or DT_BIND_NOW in self.dynamic),
            "no segment to write and execute": not any(s[0] == PT_LOAD and s[1] & 3 == 3 for s in self.segments),
            "no path of libraries": not (DT_RPATH in self.dynamic or DT_RUNPATH in self.dynamic),
            "no relocations of code": not (DT_TEXTREL in self.dynamic or self.dynamic.get(DT_FLAGS, 0) & 4),
            "stack protector": "__stack_chk_fail" in imports,
            "fortify": any(name.endswith("_chk") for name in imports),
        }
        if self.machine == EM_X86_64:
            have["shadow stack"] = bool(self.properties() & 2)
        if self.machine == EM_AARCH64:
            have["branch targets"] = self.b.count(b"\x5f\x24\x03\xd5") + self.b.count(b"\x3f\x23\x03\xd5") > 10  # bti c, paciasp
        return {word for word, there in have.items() if not there}


def wanted():
    words = {"no segment to write and execute", "no relocations of code", "no path of libraries"}
    for word, args in (("noexecstack", "-Wl,-z,noexecstack"), ("relro", "-Wl,-z,relro"), ("now", "-Wl,-z,now"), ("shadow stack", "-Wl,-z,shstk"),
                       ("stack protector", "-fstack-protector-strong"), ("branch targets", "-mbranch-protection=standard"), ("pie", "pie"),
                       ("fortify", "-D_FORTIFY_SOURCE")):
        if any(a.startswith(args) for a in WANTED):
            words.add(word)
    return words


build = os.path.join(os.path.dirname(CYCLADE), "..")
files = [CYCLADE, os.path.join(build, "heaplog", "libcyclade-heap.so"), os.path.join(build, "region", "libcyclade.so.0")]
for path in files:
    lacks = Elf(path).lacks() & wanted()
    if path != CYCLADE:
        lacks -= {"fortify"} if path.endswith("heap.so") else set()
    t.ok(not lacks, "%s has all of %d" % (os.path.basename(path), len(wanted())), sorted(lacks))

# the reader sees each thing that is missing
SOURCE = "#include <stdio.h>\n#include <string.h>\nint main(int n, char **v) { char b[64]; strcpy(b, v[n - 1]); return puts(b); }\n"
ALL = ["-O2", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"]
WITHOUT = (("pie", ["-fno-pie", "-no-pie"]), ("noexecstack", ["-Wl,-z,execstack"]), ("relro", ["-Wl,-z,norelro"]), ("now", ["-Wl,-z,lazy"]),
           ("no path of libraries", ["-Wl,-rpath,/x"]), ("stack protector", ["-fno-stack-protector"]), ("fortify", ["-U_FORTIFY_SOURCE"]),
           ("no segment to write and execute", ["-Wl,--omagic", "-fno-pie", "-no-pie", "-Wl,-z,norelro"]))
machine = Elf(CYCLADE).machine
compiler = shutil.which("gcc") if machine == Elf(os.path.realpath(sys.executable)).machine else None
if not compiler:
    t.skip("the reader on other programs", "no gcc for this machine")
    t.done()
with tempfile.TemporaryDirectory(prefix="cyclade-hardened-") as tmp:
    if machine == EM_X86_64:
        ALL += ["-fcf-protection=return", "-Wl,-z,shstk"]
        WITHOUT += (("shadow stack", ["-fcf-protection=none", "-Wl,-z,noshstk"]),)
    for word, more in ((None, []),) + WITHOUT:
        out = os.path.join(tmp, "x")
        args = [a for a in ALL if word != "shadow stack" or "shstk" not in a]
        p = subprocess.run([compiler, *args, "-x", "c", "-", "-o", out, *[a for a in more if a != "-Wl,-z,noshstk"]], input=SOURCE, text=True, capture_output=True)
        if p.returncode:
            t.skip("a program without %s" % word, "gcc cannot make it")
            continue
        lacks = Elf(out).lacks() - {"branch targets"}
        t.ok(word in lacks if word else not lacks, "the reader: a program %s" % ("without: " + word if word else "with all"), (sorted(lacks), p.stderr[-300:]))
t.done()
