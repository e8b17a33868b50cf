#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows of call-frame tables against readelf's. usage: test_frames.py FRAMES_OF"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

CODE = r"""
#include <signal.h>
#include <stdio.h>
#include <alloca.h>
#include <string.h>
extern int puts(const char *);
static void handler(int s) { (void)s; }
__attribute__((noinline)) int rec(int n, char *p) { char b[64]; memset(b, n, sizeof(b)); return n ? rec(n - 1, b) + b[3] : p[1]; }
__attribute__((noinline)) int var(int n) { char *p = alloca(n); memset(p, 1, n); return p[n / 2]; }
int main(int c, char **v) { signal(SIGUSR1, handler); puts(v[0]); return rec(c, v[0]) + var(c + 100); }
"""
# every instruction that compilers use rarely or not any more
RARE = r"""
    .text
    .globl _start
    .type _start,@function
_start:
    .cfi_startproc
    nop
    .cfi_escape 0x2f, 3, 2 # negative_offset_extended: rbx at c+16
    nop
    .cfi_escape 0x05, 12, 4 # offset_extended: r12 at c-32
    nop
    .cfi_escape 0x11, 13, 0x7d        # offset_extended_sf: r13, -3 * -8
    nop
    .cfi_escape 0x14, 14, 5 # val_offset
    nop
    .cfi_escape 0x15, 15, 0x7e        # val_offset_sf
    nop
    .cfi_escape 0x12, 6, 0x7c        # def_cfa_sf: rbp+32
    nop
    .cfi_escape 0x13, 0x7b # def_cfa_offset_sf: 40
    nop
    .cfi_remember_state
    .cfi_register 8, 9
    nop
    .cfi_escape 0x06, 12 # restore_extended
    nop
    .cfi_restore_state
    nop
    .cfi_undefined 10
    nop
    .cfi_same_value 12
    nop
    .cfi_escape 0x2e, 16 # args_size: no row changes
    nop
    .cfi_def_cfa 7, 8
    nop
    .cfi_endproc
    .size _start, .-_start
"""
X86 = dict(rax=0, rdx=1, rcx=2, rbx=3, rsi=4, rdi=5, rbp=6, rsp=7, ra=16,
           **{f"r{i}": i for i in range(8, 16)})
ARM = dict(sp=31, ra=30, **{f"x{i}": i for i in range(31)})
BUILDS = [
    ("gcc", "gcc", "-O2", "readelf", X86),
    ("gcc -fno-asynchronous-unwind-tables -g", "gcc",
     "-O1 -g -fno-asynchronous-unwind-tables -fno-unwind-tables", "readelf", X86),
    ("clang", "clang", "-O1 -fomit-frame-pointer", "readelf", X86),
    ("aarch64", "aarch64-linux-gnu-gcc", "-O2", "aarch64-linux-gnu-readelf", ARM),
    ("aarch64, signed returns", "aarch64-linux-gnu-gcc", "-O2 -mbranch-protection=standard",
     "aarch64-linux-gnu-readelf", ARM),
]
tap = Tap()


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, **kw)


def rows_of(readelf, path, regs):
    """address -> (CFA, {register: rule}); functions at addresses that overlap are left out."""
    rows, heads, end = {}, None, None
    for line in run(readelf, "-wF", path).stdout.split("\n"):
        f = re.sub(r" \(\w+\)", "", line).split()  # "r9 (r9)" is one column
        m = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if m or " CIE " in line:
            end = int(m[2], 16) if m else None
        elif f[:1] == ["LOC"]:
            heads = f[2:]
        elif end and len(f) >= 2 and re.fullmatch("[0-9a-f]{16}", f[0]) and heads is not None:
            a = int(f[0], 16)
            if a < end:
                rows[a] = (f[1], dict(zip(heads, f[2:])))
    return rows


def same(want, got, regs):
    cfa, rules = want
    parts = got.split("\t")
    m = re.fullmatch(r"(\w+)([+-]\d+)", cfa)
    if parts[0] != (f"{regs.get(m[1])}{m[2]}" if m else cfa):
        return False
    mine = {}
    for p in parts[1:]:
        k, _, v = p.partition("=")
        if v:
            mine[int(k.removeprefix("ra"))] = v
    for name, rule in rules.items():
        v = mine.get(regs.get(name), "s")
        if rule in ("u", "s"):
            if v not in ("u", "s"):
                return False
        elif v != rule:
            return False
    return True


def compare(name, frames_of, path, readelf, regs):
    want = rows_of(readelf, path, regs)
    text = "".join(f"{a:x}\n" for a in want)
    got = run(frames_of, path, input=text).stdout.split("\n")[:-1]
    if len(got) != len(want):
        tap.ok(False, f"{name}: {len(got)} answers to {len(want)} questions")
        return
    bad = [(f"{a:x}", w, g) for (a, w), g in zip(want.items(), got) if not same(w, g, regs)]
    tap.ok(len(want) > 10 and not bad, f"{name}: {len(want)} rows as readelf "
           f"({len(bad)} differ)")
    for b in bad[:8]:
        print("#  ", b)


def main():
    frames_of = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as where:
        src = os.path.join(where, "p.c")
        with open(src, "w") as f:
            f.write(CODE)
        for name, cc, flags, readelf, regs in BUILDS:
            out = os.path.join(where, "prog")
            if not shutil.which(cc) or not shutil.which(readelf):
                tap.skip(name, f"no {cc} or {readelf}")
            elif os.uname().machine != "x86_64" and regs is X86:
                tap.skip(name, "not an x86 machine")
            elif run(cc, *flags.split(), src, "-o", out).returncode:
                tap.skip(name, "does not build here")
            else:
                compare(name, frames_of, out, readelf, regs)
        src, out = os.path.join(where, "rare.s"), os.path.join(where, "rare")
        with open(src, "w") as f:
            f.write(RARE)
        if os.uname().machine != "x86_64" or not shutil.which("readelf") or run("gcc", "-nostdlib", src, "-o", out).returncode:
            tap.skip("rare instructions", "no gcc or readelf for x86")
        else:
            compare("rare instructions", frames_of, out, "readelf", X86)
    for lib in ("libc.so.6", "libstdc++.so.6"):
        path = f"/lib/x86_64-linux-gnu/{lib}"
        if not os.path.exists(path):
            path = f"/usr{path}"
        if os.path.exists(path) and shutil.which("readelf"):
            compare(lib, frames_of, path, "readelf", X86)
        else:
            tap.skip(lib, "not here")
    tap.done()


main()
