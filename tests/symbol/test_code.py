#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions taken apart (symbol/code.h) against objdump: instructions, branches, where blocks begin.
usage: test_code.py CODE_OF FILE...     all functions of the files, and of the C library"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402
from test_disasm import kind_of  # noqa: E402

LINE = re.compile(r"\s*([0-9a-f]+):\s+(.*)").match
LEADS_TO = re.compile(r".*?\b([0-9a-f]+) <").match
tap = Tap()


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", **more)


def arch_of(path):
    m = re.search(r"Machine:\s+(.*)", run("readelf", "-h", path).stdout)
    return "arm" if m and "AArch64" in m[1] else "x86" if m and "X86-64" in m[1] else None


def functions(path):
    """{start: length} of functions, none over another"""
    out, end = {}, 0
    rows = set()
    for line in run("readelf", "-sW", path).stdout.splitlines():  # nm shows weak variables of threads as functions
        f = line.split()
        if len(f) > 6 and f[3] in ("FUNC", "IFUNC") and f[6] != "UND":
            rows.add((int(f[1], 16), int(f[2], 0)))
    for start, size in sorted(rows, key=lambda r: (r[0], -r[1])):
        if start >= end and size:
            out[start], end = size, start + size
    return out


def listing(path, objdump, arch):
    """{address: (kind, target)} as objdump has it"""
    out = {}
    for line in run(objdump, "-d", "-z", "-w", "--no-show-raw-insn", path).stdout.split("\n"):
        g = LINE(line)
        if not g:
            continue
        at, text = g.groups()
        k = "?" if "(bad)" in text or ".inst" in text else kind_of(text, arch)
        t = LEADS_TO(text.split("#")[0] if arch == "x86" else text) if k in "jcl" and " *" not in text.split("<")[0] else None
        out[int(at, 16)] = (k, int(t[1], 16) if t else None)
    return out


def ours(code_of, path, funcs):
    p = run(code_of, path, input="".join("%x %x\n" % x for x in funcs.items()))
    if p.returncode:
        return p.stderr
    out, here = {}, None
    for line in p.stdout.splitlines():
        f = line.split("\t")
        n = lambda x: None if x == "-" else int(x.lstrip("?"), 16)
        if f[0] == "code":
            here = out[int(f[1], 16)] = ({}, [])
        elif f[0] == "i":
            here[0][n(f[1])] = (f[3], n(f[4]), int(f[2]))
        else:
            here[1].append((n(f[1]), n(f[2]) + 1, f[3], n(f[4]), n(f[5])))
    return out


def blocks_of(start, size, insns):
    """Where blocks begin, by the definition, of objdump's instructions."""
    starts, after = set(), True
    for a in sorted(insns):
        k, to = insns[a]
        if after:
            starts.add(a)
        if to is not None and to in insns:
            starts.add(to)
        after = k in "jclrs!"
    return starts


def compare(code_of, path, objdump, arch):
    name = os.path.basename(path)
    funcs = functions(path)
    got = ours(code_of, path, funcs)
    if isinstance(got, str):
        if "this build has no" in got:
            tap.skip(name, got.split("\n", maxsplit=1)[0])
        else:
            tap.ok(False, name, got)
        return
    want = listing(path, objdump, arch)
    by_func = {}
    at = sorted(want)
    i = 0
    for start in sorted(funcs):
        while i < len(at) and at[i] < start:
            i += 1
        part = by_func[start] = {}
        while i < len(at) and at[i] < start + funcs[start]:
            part[at[i]] = want[at[i]]
            i += 1
    n, bounds, kinds, blocks, gaps = 0, [], [], [], []
    for start, w in by_func.items():
        insns, bl = got[start]
        n += len(insns)
        # fwait is an instruction of its own to us, a part of the next one to objdump
        odd = {a for a in set(insns) ^ set(w) if a - 1 not in insns}
        if odd:
            bounds.append((hex(start), sorted(map(hex, odd))[:3]))
            continue
        kinds += [(hex(a), w[a], insns[a]) for a in w if w[a] != insns[a][:2] and w[a][0] != "?" and insns[a][0] != "?"]
        if {b[0] for b in bl} != blocks_of(start, funcs[start], w):
            blocks.append(hex(start))
        if [b[0] for b in bl[1:]] != [b[1] for b in bl[:-1]] or bl[0][0] != start or bl[-1][1] != start + funcs[start]:
            gaps.append(hex(start))
        for b, nxt in zip(bl, bl[1:] + [None]):
            falls = nxt[0] if nxt and b[2] in "-cls" else None
            if b[3] != falls:
                gaps.append("next of %x: %s" % (b[0], b[3]))
    tap.ok(len(funcs) > 20 and not bounds, "%s: %d instructions of %d functions as objdump" % (name, n, len(funcs)), bounds[:10])
    tap.ok(not kinds, name + ": branches and where they lead as objdump", "\n".join(map(str, kinds[:10])))
    tap.ok(not blocks, name + ": blocks begin where they should", blocks[:10])
    tap.ok(not gaps, name + ": blocks cover their function, and run on where code does", gaps[:10])


def main():
    files = [os.path.abspath(x) for x in sys.argv[2:]] + glob.glob("/lib/x86_64-linux-gnu/libc.so.6") + glob.glob("/usr/aarch64-linux-gnu/lib/libc.so.6")
    for path in files:
        arch = arch_of(path)
        objdump = {"x86": "objdump", "arm": "aarch64-linux-gnu-objdump"}.get(arch)
        if os.uname().machine == "aarch64" and arch == "arm":
            objdump = "objdump"
        if not objdump or not run("sh", "-c", "command -v " + objdump).stdout:
            tap.skip(os.path.basename(path), "no objdump for it")
            continue
        compare(os.path.abspath(sys.argv[1]), path, objdump, arch)
    tap.done()
    return tap.bad > 0


if __name__ == "__main__":
    sys.exit(main())
