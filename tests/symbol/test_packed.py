#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packed debug sections: a program, its .dwo files, its .dwp and dwz's file give the same lines and inlined calls with each section
packed alone and with all of them packed, by zlib, zlib-gnu and zstd, as without. Those of the plain files are held against
llvm-addr2line in test_source.py; here it reads the packed program, too. usage: test_packed.py LINES_OF"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import package_made  # noqa: E402
import packing  # noqa: E402
from tap import SANITIZED, Tap  # noqa: E402

CODE = {
    "a.c": """
#include <stdio.h>
int other(int);
static inline __attribute__((always_inline)) int leaf(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * x ^ s; return s; }
static inline __attribute__((always_inline)) int middle(int x) { return leaf(x + 1) + leaf(x * 3); }
__attribute__((noinline)) int top(int x) { int r = middle(x); for (int i = 0; i < 3; i++) r += middle(i + r); return r; }
__attribute__((section(".text.unlikely"))) int cold(int x) { return leaf(x); }
int main(int argc, char **argv) { (void)argv; printf("%d\\n", top(argc) + other(argc) + cold(argc)); return 0; }
""",
    "b.c": """
static inline __attribute__((always_inline)) int inner(int x) { int s = 1; while (x--) s = s * 3 + x; return s; }
int other(int x) { switch (x) { case 1: return inner(2); case 2: return inner(4) + 1; } return inner(x); }
""",
}
tap = Tap()


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, **kw)


def build(where, cc, flags, after):
    """The files that have debug information, the program first; or why there are none."""
    for n, t in CODE.items():
        with open(os.path.join(where, n), "w", encoding="ascii") as f:
            f.write(t)
    for n in CODE:
        r = run(cc, *flags.split(), "-c", n, "-o", n + ".o", cwd=where)
        if r.returncode:
            return r.stderr.split("\n")[0]
    r = run(cc, *flags.split(), *[n + ".o" for n in CODE], "-o", "prog", cwd=where)
    if r.returncode:
        return r.stderr.split("\n")[0]
    prog = os.path.join(where, "prog")
    dwo = sorted(glob.glob(where + "/*.dwo"))
    if after == "dwz":
        if not shutil.which("dwz"):
            return "no dwz"
        shutil.copy(prog, prog + "2")
        r = run("dwz", "-m", "common.debug", "prog", "prog2", cwd=where)
        return r.stderr.split("\n")[0] or "dwz failed" if r.returncode else [prog, os.path.join(where, "common.debug")]
    if after == "package":
        package_made.write(dwo, prog + ".dwp")
    elif after == "dwp":
        r = run("dwp", "-e", "prog", "-o", "prog.dwp", cwd=where, timeout=60) if shutil.which("dwp") else None
        if not r or r.returncode:
            return "no dwp that takes them"
    else:
        return [prog, *dwo]
    for f in dwo:
        os.unlink(f)
    return [prog, prog + ".dwp"]


def lines(lines_of, prog, addrs):
    r = run(lines_of, prog, input="".join(f"{a:x}\n" for a in addrs), cwd="/")
    return r.stdout, r.stderr


def referee(tool, prog, addrs):
    return run(tool, "-a", "-i", "-f", "-e", prog, input="".join(f"0x{a:x}\n" for a in addrs), cwd=os.path.dirname(prog)).stdout


def text_addresses(prog):
    out = run("readelf", "-SW", prog).stdout
    at = next(l.split("PROGBITS")[1].split() for l in out.split("\n") if " .text " in l)
    return list(range(int(at[0], 16), int(at[0], 16) + int(at[2], 16), 2))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def test_cell(name, lines_of, files, how, truth, addrs):
    """All sections of each file, each section of each file, all sections of all files."""
    plain = {}
    for f in files:
        with open(f, "rb") as at:
            plain[f] = at.read()
    cells = [([f], packing.debug_sections(plain[f])) for f in files]
    single = [([f], [s]) for f in files for s in packing.debug_sections(plain[f])]
    # each process takes long under a sanitizer: there each section is packed in one way
    cells += [c for i, c in enumerate(single) if not SANITIZED or packing.HOW[i % 3] == how]
    if len(files) > 1:
        cells.append((files, None))
    bad = []
    for which, wanted in cells:
        for f in which:
            names = set(packing.debug_sections(plain[f]) if wanted is None else wanted)
            write(f, packing.packed(plain[f], names, how))
        got, said = lines(lines_of, files[0], addrs)
        if got != truth or said:
            bad.append("%s of %s: %s" % (wanted, [os.path.basename(f) for f in which], said[:100]))
        for f in which:
            write(f, plain[f])
    tap.ok(not bad and len(cells) > 2, f"{name}, {how}: {len(cells)} ways to pack {len(files)} files", bad[:6])


def test_damage(lines_of, files, addrs):
    """A section that claims another size, or is cut: no lines from it, and no crash."""
    with open(files[0], "rb") as f:
        plain = f.read()
    for how in packing.HOW:
        if not packing.have(how):
            tap.skip(f"damaged, {how}", "no zstd")
            continue
        for claim in (0, 1, 1 << 40, (1 << 64) - 1):
            write(files[0], packing.packed(plain, {".debug_info"}, how, claim))
            r = run(lines_of, files[0], input="".join(f"{a:x}\n" for a in addrs), cwd="/")
            tap.ok(r.returncode in (0, 1) and "innermost" not in r.stdout and "leaf" not in r.stdout, f"damaged, {how}: size {claim:x} claimed",
                   (r.returncode, r.stdout[:200]))
        data = bytearray(packing.packed(plain, {".debug_info"}, how))
        write(files[0], bytes(data[:len(data) - 2000]))
        r = run(lines_of, files[0], input="".join(f"{a:x}\n" for a in addrs), cwd="/")
        tap.ok(r.returncode in (0, 1), f"damaged, {how}: cut", r.returncode)
    write(files[0], plain)


def main():
    lines_of = os.path.abspath(sys.argv[1])
    for name, cc, flags, after in (
            ("gcc-4", "gcc", "-O2 -g -gdwarf-4", None), ("gcc-5", "gcc", "-O2 -g -gdwarf-5", None),
            ("gcc-split-4", "gcc", "-O2 -g -gdwarf-4 -gsplit-dwarf", None), ("gcc-split-5", "gcc", "-O2 -g -gdwarf-5 -gsplit-dwarf", None),
            ("gcc-package-4", "gcc", "-O2 -g -gdwarf-4 -gsplit-dwarf", "dwp"), ("gcc-package-5", "gcc", "-O2 -g -gdwarf-5 -gsplit-dwarf", "package"),
            ("gcc-dwz-5", "gcc", "-O2 -g -gdwarf-5", "dwz"), ("clang-5", "clang", "-O2 -g -gdwarf-5", None),
            ("clang-split-5", "clang", "-O2 -g -gdwarf-5 -gsplit-dwarf", None)):
        if not shutil.which(cc):
            tap.skip(name, "no " + cc)
            continue
        with tempfile.TemporaryDirectory(prefix="cyclade-packed-") as where:
            files = build(where, cc, flags, after)
            if isinstance(files, str):
                tap.skip(name, files)
                continue
            addrs = text_addresses(files[0])
            truth, _ = lines(lines_of, files[0], addrs)
            if not tap.ok("leaf" in truth and "inner" in truth, f"{name}: lines without packing", truth[:200]):
                continue
            for how in packing.HOW:
                if packing.have(how):
                    test_cell(name, lines_of, files, how, truth, addrs)
                else:
                    tap.skip(f"{name}, {how}", "no zstd")
            tool = shutil.which("llvm-addr2line") or shutil.which("addr2line")
            if name == "gcc-5" and tool:
                before = referee(tool, files[0], addrs)
                with open(files[0], "rb") as f:
                    plain = f.read()
                write(files[0], packing.packed(plain, set(packing.debug_sections(plain)), "zlib"))
                tap.ok(before == referee(tool, files[0], addrs) and "leaf" in before, f"{name}: {tool} reads what is packed here alike")
                write(files[0], plain)
                test_damage(lines_of, files, addrs)
    tap.done()


main()
