#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Instruction boundaries, kinds and targets against objdump. usage: test_disasm.py INSNS_OF"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

CODE = """
#include <math.h>
double table[64];
int f(int x) { return x > 3 ? f(x - 1) * 3 : x; }
int sw(int x)
{
    switch (x) { case 0: return 5; case 1: return f(x); case 2: return 11; case 3: return f(2 * x);
    case 4: return 99; case 5: return -x; }
    return 0;
}
double v(const double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i] * table[i & 63]; return s; }
int main(int c, char **a) { (void)a; return f(c) + sw(c) + (int)v(table, c) + (c & 4 ? f(9) : 0); }
"""
KIND = {  # objdump's mnemonic -> ours
    "x86": [(r"(bnd |notrack )*call", "l"), (r"(bnd |notrack )*jmp", "j"),
            (r"(bnd |repz |rep )*ret|iret|sysret", "r"),
            (r"j[a-z]+(,p[nt])?|loop", "c"), (r"xbegin|xabort", "c"), (r"syscall|sysenter|int3?|hlt", "s"), (r"ud[012]", "!")],
    "arm": [(r"blr?", "l"), (r"br?", "j"), (r"b\.\w+|cbn?z|tbn?z", "c"), (r"ret", "r"),
            (r"svc|hvc|smc|hlt", "s"), (r"brk|udf", "!")],
}
WORDS = re.compile(r"(?:(?:bnd|notrack|repz|rep)\s+)*\S*").match  # all that tells a kind: there are few
tap = Tap()


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True).stdout


@functools.lru_cache(maxsize=None)
def kind_of_words(words, arch):
    for pattern, k in KIND[arch]:
        if re.match(f"({pattern})(\\s|$)", words):
            return k
    return "-"


def kind_of(text, arch):
    return kind_of_words(WORDS(text)[0], arch)


def compare(name, insns_of, objdump, path, arch):
    m = re.search(r"\] \.text\s+PROGBITS\s+(\w+) (\w+) (\w+)", run("readelf", "-SW", path))
    bare = re.search("this build has no .*", subprocess.run([insns_of, path, m[1], m[3]], capture_output=True,
                                                            text=True).stderr)
    if bare:
        tap.skip(name, bare[0])
        return
    want = {}
    for line in run(objdump, "-d", "-z", "--no-show-raw-insn", "-j", ".text", path).split("\n"):
        g = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
        if g:
            # comments; AArch64's constants have a # of their own (tbz w0, #5, 7cc <...>)
            t = re.match(r".*?\b([0-9a-f]+) <", g[2].split("//" if arch == "arm" else "#")[0])
            k = kind_of(g[2], arch)
            want[g[1]] = (k, t[1] if t and k in "jcl" and " *" not in g[2].split("<")[0] else "-")
    got, wait = {}, set()
    size = 0
    for line in run(insns_of, path, m[1], m[3]).split("\n")[:-1]:
        a, n, k, target, text = line.split("\t")
        got[a] = (k, target)
        if text == "fwait":
            wait.add(a)
        size += int(n)
    tap.ok(size == int(m[3], 16), f"{name}: lengths sum to the section's")
    # fwait is an instruction of its own to us, a part of the next one (fstcw, ...) to objdump
    missing = {a for a in set(want) ^ set(got) if f"{int(a, 16) - 1:x}" not in wait}
    tap.ok(not missing and len(want) > 30, f"{name}: {len(want)} boundaries as objdump",
           f" ({len(missing)} differ, {sorted(missing)[:5]})" if missing else "")
    bad = [(a, want[a], got[a]) for a in want if a in got and want[a] != got[a]]
    tap.ok(len(bad) == 0, f"{name}: kinds and targets as objdump ({len(bad)} differ)")
    for b in bad[:8]:
        print("#  ", b)


def main():
    insns_of = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as where:
        src = os.path.join(where, "p.c")
        with open(src, "w") as f:
            f.write(CODE)
        for name, cc, objdump, flags, arch in (
                ("x86-64", "gcc", "objdump", "-O2", "x86"),
                ("avx", "gcc", "objdump", "-O3 -march=skylake-avx512 -ffast-math", "x86"),
                ("clang", "clang", "objdump", "-O1", "x86"),
                ("aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "-O2", "arm")):
            out = os.path.join(where, name)
            if not shutil.which(cc) or not shutil.which(objdump):
                tap.skip(name, f"no {cc} or {objdump}")
            elif os.uname().machine not in ("x86_64",) and arch == "x86":
                tap.skip(name, "not an x86 machine")
            elif subprocess.run([cc, *flags.split(), src, "-o", out, "-lm"],
                                capture_output=True).returncode:
                tap.skip(name, "does not link here")
            else:
                compare(name, insns_of, objdump, out, arch)
    libs = glob.glob("/lib/x86_64-linux-gnu/libm.so.6")
    if libs and shutil.which("objdump"):
        compare("libm", insns_of, "objdump", libs[0], "x86")
    else:
        tap.skip("libm", "not here")
    tap.done()


if __name__ == "__main__":
    main()
