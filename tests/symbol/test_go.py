#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions of stripped Go programs, from .gopclntab, against nm of the same program before it was stripped; and of
tables made here in the layouts that this machine's Go does not write. usage: test_go.py SYMBOLS_OF"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

CODE = """package main

import (
	"sort"
	"strings"
)

type order struct{ id int }

//go:noinline
func half[T int | uint64](n T) (s T) {
	for i := T(0); i < n; i++ {
		s ^= i * 5
	}
	return
}

//go:noinline
func (o *order) less(p *order) bool { return strings.Compare(strings.Repeat("x", o.id), strings.Repeat("x", p.id)) < 0 }

func main() {
	v := []*order{{3}, {1}, {2}}
	sort.Slice(v, func(a, b int) bool { return v[a].less(v[b]) })
	println(half[uint64](50), half[int](7), v[0].id)
}
"""
BUILDS = [("exe", []), ("pie", ["-buildmode=pie"]), ("s390x", [])]
tap = Tap()


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, check=False, **kw)


def plain(name):
    """As .gopclntab has it: without types of generic functions and marks of calling conventions."""
    return re.sub(r"\.abi(0|internal)$", "", re.sub(r"\[.*\]", "[...]", name))


def named(text):
    got = {}
    for line in text.split("\n"):
        f = line.split(None, 2)
        if len(f) == 3:
            got[int(f[0], 16)] = (int(f[1], 16), plain(f[2]))
    return got


def one(symbols_of, what, flags, where):
    arch = {"exe": "amd64", "pie": "amd64"}.get(what, what)
    env = {**os.environ, "GOCACHE": os.path.join(where, "cache"), "GO111MODULE": "off", "GOPROXY": "off", "GOARCH": arch,
           "CGO_ENABLED": "0", "HOME": where}
    whole, bare = os.path.join(where, what), os.path.join(where, what + ".bare")
    r = run("go", "build", *flags, "-o", whole, os.path.join(where, "main.go"), env=env)
    if r.returncode:
        tap.skip(what, "does not build here: " + r.stderr.strip().split("\n")[0])
        return
    r = run("go", "build", *flags, "-ldflags=-s -w", "-o", bare, os.path.join(where, "main.go"), env=env)
    if r.returncode or run("nm", bare).stdout.strip():
        tap.skip(what, "does not build stripped here")
        return
    theirs = {}
    for line in run("nm", whole).stdout.split("\n"):
        m = re.match(r"(\w+) [tT] (.*)", line)
        if m and m[2] not in ("runtime.text", "runtime.etext", "_start") and not m[2].startswith("go:buildid"):
            theirs.setdefault(int(m[1], 16), set()).add(plain(m[2]))
    r = run(symbols_of, bare)
    mine = named(r.stdout)
    # the two differ in the addresses of data, and so here and there in code: told by its order, not by its place
    same = [a for a, (_, n) in mine.items() if n in theirs.get(a, ())]
    ours_only = [(hex(a), n, theirs.get(a)) for a, (_, n) in mine.items() if n not in theirs.get(a, ())]
    lost = [(hex(a), n) for a, n in theirs.items() if a not in mine]
    tap.ok("gopclntab" in r.stderr and len(same) > 1000 and len(ours_only) * 100 < len(mine) and
           len(lost) * 100 < len(theirs), f"{what}: {len(same)} functions as nm, {len(ours_only)} not, {len(lost)} lost",
           f"{r.stderr}{ours_only[:8]} {lost[:8]}")
    at = sorted(mine)
    bad = [hex(a) for a, b in zip(at, at[1:]) if a + mine[a][0] > b]
    tap.ok(not bad, f"{what}: no function reaches into the next", bad[:8])


def table(form, order, ptr, funcs, end, text):
    """A table as runtime/symtab.go of that version describes it: [(entry, name)]. `text` is where runtime.text lies;
    1.26 leaves that out of the table."""
    word = {4: "I", 8: "Q"}[ptr]
    pack = lambda fmt, *v: struct.pack(order + fmt, *v)
    names, off = b"", []
    for _, n in funcs:
        off.append(len(names))
        names += n.encode() + b"\0"
    head = lambda magic: pack("IHBB", magic, 0, 1, ptr)
    if form == "1.2":
        rows = 8 + ptr
        told = rows + (2 * len(funcs) + 1) * ptr
        at = told + len(funcs) * (ptr + 4)
        out = head(0xfffffffb) + pack(word, len(funcs))
        for i, (entry, _) in enumerate(funcs):
            out += pack(2 * word, entry, told + i * (ptr + 4))
        out += pack(word, end)
        for i, (entry, _) in enumerate(funcs):
            out += pack(word + "I", entry, at + off[i])
        return out + names
    if form != "1.16":  # entries of 32 bits, counted from the text; a word more in the head
        rows = (2 * len(funcs) + 1) * 4
        begin = 8 + 8 * ptr
        pcln = begin + len(names) + -len(names) % 8
        # 1.20 has the line that a function begins at behind cuOffset
        told = 2 + (9 if form == "1.18" else 10)
        body = b"".join(pack("2I", e - text, rows + i * told * 4) for i, (e, _) in enumerate(funcs)) + pack("I", end - text)
        body += b"".join(pack("2I", e - text, off[i]) + bytes(4 * (told - 2)) for i, (e, _) in enumerate(funcs))
        return (head(0xfffffff0 if form == "1.18" else 0xfffffff1) +
                pack(8 * word, len(funcs), 1, 0 if form == "1.26" else text, begin, 1, 2, 3, pcln) + names +
                bytes(-len(names) % 8) + body)
    rows = (2 * len(funcs) + 1) * ptr
    begin = 8 + 7 * ptr
    pcln = begin + len(names) + -len(names) % 8
    body = b"".join(pack(2 * word, e, rows + i * (ptr + 4)) for i, (e, _) in enumerate(funcs)) + pack(word, end)
    body += b"".join(pack(word + "I", e, off[i]) for i, (e, _) in enumerate(funcs))
    return (head(0xfffffffa) + pack(7 * word, len(funcs), 1, begin, 1, 2, 3, pcln) + names +
            bytes(-len(names) % 8) + body)


def layouts(symbols_of, where):
    """Put into a program of C, in which the section stands in for that of Go."""
    if not shutil.which("gcc") or not shutil.which("objcopy") or not shutil.which("readelf"):
        tap.skip("tables of each layout", "no gcc, objcopy or readelf")
        return
    prog = os.path.join(where, "c")
    with open(prog + ".c", "w", encoding="ascii") as f:
        f.write("int first(int x) { return x * 3; } int second(int x) { return x * 5; } "
                "int main(int c, char **v) { (void)v; return first(c) + second(c); }\n")
    r = run("gcc", "-O1", "-no-pie", prog + ".c", "-o", prog)
    nm = {m[2]: int(m[1], 16) for m in re.finditer(r"(\w+) T (\w+)", run("nm", prog).stdout)}
    if r.returncode or "first" not in nm:
        tap.skip("tables of each layout", "does not build here")
        return
    order = "<" if sys.byteorder == "little" else ">"
    funcs = sorted((nm[n], "go." + n) for n in ("first", "second", "main"))
    text = int(re.search(r" \.text +PROGBITS +(\w+)", run("readelf", "-WS", prog).stdout)[1], 16)
    for form in ("1.2", "1.16", "1.18", "1.20", "1.26"):
        with open(os.path.join(where, "tab"), "wb") as f:
            base = text if form == "1.26" else text - 4096  # a linker's other code may come first
            f.write(table(form, order, 8, funcs, max(nm["main"], nm["second"]) + 64, base))
        r = run("objcopy", "-S", "--add-section", ".gopclntab=" + os.path.join(where, "tab"), prog, prog + form)
        got = named(run(symbols_of, prog + form).stdout)
        want = {a: n for a, n in funcs}
        tap.equal({a: n for a, (_, n) in got.items() if a in want}, want, f"a table of Go {form}")


def main():
    symbols_of = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as where:
        with open(os.path.join(where, "main.go"), "w", encoding="ascii") as f:
            f.write(CODE)
        for what, flags in BUILDS:
            if not shutil.which("go") or not shutil.which("nm"):
                tap.skip(what, "no go (package golang-go) or nm")
                continue
            one(symbols_of, what, flags, where)
        layouts(symbols_of, where)
    tap.done()


main()
