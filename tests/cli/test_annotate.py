#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade annotate on a recording made here, against perf script's addresses and objdump's code."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

CODE = r"""
#include <stdio.h>
static inline int mix(unsigned x) /* @ESC@[31mred@ESC@[0m */
{
	x ^= x >> 13;
	x *= 0x5bd1e995u;
	return (int)(x ^ x >> 15);
}
static int table[1 << 16];
__attribute__((noinline)) int probe(unsigned key)
{
	unsigned i = (unsigned)mix(key) & 0xffff; /* @ESC@]0;title@BEL@ */
	int n = 0;

	while (table[i] && n < 40) {
		if (table[i] == (int)key)
			return n;
		i = (i + 1) & 0xffff;
		n++;
	}
	table[i] = (int)key;
	return -1;
}
__attribute__((noinline)) long probe_all(unsigned from)
{
	long s = 0;

	for (unsigned k = 0; k < 100000; k++)
		s += probe(k * 7 + from) + mix(k);
	return s;
}
int main(void)
{
	long s = 0;

	for (unsigned i = 0; i < 120; i++)
		s += probe_all(i);
	printf("%ld\n", s);
	return 0;
}
""".replace("@ESC@", "\x1b").replace("@BEL@", "\x07")
PERF = os.environ.get("CYCLADE_PERF", "perf")
tap = Tap()


def run(*argv, **env):
    return subprocess.run(argv, capture_output=True, text=True, errors="surrogateescape",
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8",
                               **env})


def annotate(*args, **env):
    return run(CYCLADE, "annotate", "--no-cache", *args, **env)


def addresses(data, symbol):
    """How often perf saw each address of the symbol, as the low twelve bits."""
    got = Counter()
    out = run(PERF, "script", "-i", data, "-F", "ip,sym").stdout
    for line in out.split("\n"):
        f = line.split()
        if len(f) == 2 and f[1] == symbol:
            got[int(f[0], 16) & 0xfff] += 1
    return got


def numbers(data, prog, name):
    r = annotate(data, name, "-j")
    try:
        j = json.loads(r.stdout)
    except ValueError:
        tap.ok(False, f"{name}: JSON", r.stdout[:200] + r.stderr)
        return None
    ins = j["instructions"]
    mine = Counter({int(i["address"], 16) & 0xfff: i["samples"] for i in ins if i["samples"]})
    want = addresses(data, name)
    tap.ok(mine == want and sum(want.values()) > 3,
           f"{name}: every instruction has perf script's samples ({sum(want.values())})",
           f"{mine} is {want}")
    tap.ok(sum(i["samples"] for i in ins) == j["samples"],
           f"{name}: the instructions' samples sum to the function's")
    tap.ok(abs(sum(i["share"] for i in ins) - 1) < 1e-9, f"{name}: the shares sum to 1")
    tap.ok(sum(x["samples"] for x in j["lines"]) == j["samples"], f"{name}: so do the lines' samples")
    dis = run("objdump", "-d", "--no-show-raw-insn", prog).stdout
    body = re.search(rf"<{name}>:\n(.*?)\n\n", dis + "\n\n", re.S)
    want = [int(l.split(":")[0], 16) for l in body[1].split("\n") if ":\t" in l] if body else []
    got = [int(i["address"], 16) for i in ins]
    tap.ok(got == want[:len(got)] and len(got) > 5 and len(want) - len(got) < 4,
           f"{name}: the addresses are objdump's", f"{got} {want}")
    want = {(int(a, 16), int(b, 16)) for a, b in re.findall(r"^ +([0-9a-f]+):\tj\w+ +([0-9a-f]+)", body[1], re.M)}
    tap.ok({(int(e["address"], 16), int(e["target"], 16)) for e in j["edges"]} == {(a, b) for a, b in want if b in got} and want,
           f"{name}: edges are objdump's jumps within it", f"{j['edges']} {want}")
    return j


def faces(data, prog, where):
    full = annotate(data, "probe")
    tap.ok(full.returncode == 0 and "inlined: mix from p.c:12" in full.stdout and
           re.search(r"p\.c:15\s+while \(table\[i\]", full.stdout) is not None,
           "the terminal shows source lines and where inlined code runs", full.stdout + full.stderr)
    tap.ok("\x1b" not in full.stdout and "\x07" not in full.stdout and "\\x1b" in full.stdout,
           "escapes in the source are shown, not obeyed")
    tap.ok("precise_ip 0" in full.stdout.replace("\n       ", " ").replace("  ", " "), "skid is told")
    wide = [l for l in full.stdout.split("\n") if len(l) > 80 and not re.search(r" [0-9a-f]{4,} ", l)]
    tap.ok(not wide, "nothing but instructions is wider than the terminal", wide)
    total = sum(int(m[1].replace(",", "")) for m in
                re.finditer(r"%\s+([\d,]+)  [0-9a-f]{4,} ", full.stdout))
    told = int(re.search(r"([\d,]+) samples of", full.stdout)[1].replace(",", ""))
    tap.ok(total == told, "the numbers on the screen sum to the function's samples", f"{total} {told}")
    tap.ok("►" in full.stdout and "►" not in annotate(data, "probe", "--no-arrows").stdout,
           "arrows are there, and can be off")
    plain = annotate(data, "probe", LC_ALL="C").stdout
    tap.ok(all(ord(c) < 128 for c in plain) and "->" in plain, "plain ASCII where the locale is",
           [c for c in plain if ord(c) > 127][:9])
    asm = annotate(data, "probe", "--no-source").stdout
    tap.ok("while" not in asm and "imul" in asm, "--no-source")
    src = annotate(data, "probe", "--no-asm").stdout
    tap.ok("while" in src and "imul" not in src, "--no-asm", src)
    tap.ok(re.search(r"69 d2 95 e9 d1 5b|69 [0-9a-f]{2} 95 e9 d1 5b", annotate(data, "probe", "--bytes").stdout)
           is not None, "--bytes")
    rows = list(csv.DictReader(io.StringIO(annotate(data, "probe", "--format", "csv").stdout)))
    tap.ok(rows and abs(sum(float(r["share"]) for r in rows) - 1) < 1e-3 and
           sum(int(r["samples"]) for r in rows) == told, "csv: shares sum to 1, samples to all")
    md = annotate(data, "probe", "--format", "markdown").stdout
    tap.equal([l.split("|")[3].strip() for l in md.split("\n") if re.match(r"\|.*\| 0x", l)], [r["address"] for r in rows],
              "markdown: a row for each instruction")
    tap.ok("- lost: " in md and "precise\\_ip 0" in md and "lost  " in full.stdout, "losses and doubts", md[-600:])
    fold = annotate(data, "probe", "--min", "5").stdout
    tap.ok("below --min" in fold and len(fold.split("\n")) < len(full.stdout.split("\n")), "--min folds")
    # without lines each instruction is judged by itself; --no-source shows as if there were none
    least = sorted(float(r["share"]) for r in rows)[len(rows) // 2] * 100
    fold = annotate(data, "probe", "--min", "%.3f" % (least + 0.001), "--no-source").stdout
    shown = re.findall(r"^ +([\d.]+) % +\d+  +([0-9a-f]{3,}) .* [a-z]", fold[fold.rindex("share    samples"):], re.M)
    small = [x for x in shown if float(x[0]) < least - 0.1]
    tap.ok("below --min" in fold and shown and not small, "--min folds instructions where no lines are shown", fold)
    top = fold[fold.index("hottest instructions"):].split("\n\n")[0].splitlines()[2:]
    want = sorted((int(r["samples"]) for r in rows), reverse=True)[:5]
    tap.equal([int(x.split()[2].replace(",", "")) for x in top if "more" not in x], [n for n in want if n],
              "the hottest instructions come first where no lines are shown")


EVIL = r"""
static int table[1 << 16];
# 7 "@/=x\033[31m\nb|,\"<b>`*\377.c"
__attribute__((noinline)) long work(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += table[(i * 7) & 0xffff] ^ i;
	return s;
}
int main(void)
{
	long s = 0;
	for (int i = 0; i < 200; i++)
		s += work(1000000 + i);
	return s == 3;
}
"""
# functions and files whose names differ behind what fits
ALIKE = """
template <int N> struct a_long_name_of_a_class_that_has_no_room_on_the_screen {
# 1 "@/one/part.h"
	static inline __attribute__((always_inline)) long first_of_many(long s) { for (int i = 0; i < 40; i++) s = s * 31 + (s >> N); return s; }
# 1 "@/two/part.h"
	static inline __attribute__((always_inline)) long second_of_many(long s) { for (int i = 0; i < 40; i++) s = s * 37 + (s >> N); return s; }
};
# 5 "@/alike.cc"
extern "C" __attribute__((noinline)) long work(long s)
{
	s = a_long_name_of_a_class_that_has_no_room_on_the_screen<3>::first_of_many(s);
	s = a_long_name_of_a_class_that_has_no_room_on_the_screen<5>::first_of_many(s);
	return a_long_name_of_a_class_that_has_no_room_on_the_screen<3>::second_of_many(s);
}
int main()
{
	long s = 7;
	for (int i = 0; i < 3000000; i++)
		s += work(s + i);
	return s == 3;
}
"""


def made(where, name, text):
    """A recording of a program, or None."""
    prog = os.path.join(where, name.split(".")[0])
    with open(os.path.join(where, name), "w") as f:
        f.write(text.replace("@", where))
    r = run("g++" if name.endswith("cc") else "gcc", "-O1", "-g", os.path.join(where, name), "-o", prog)
    if not tap.ok(r.returncode == 0, name + ": compiles", r.stderr):
        return None
    run(PERF, "record", "-q", "-N", "-e", "cpu-clock:u", "-F", "3000", "-o", prog + ".data", prog)
    return prog + ".data"


def hostile(where):
    data = made(where, "evil.c", EVIL)
    if not data:
        return
    tables.walk(tap, "annotate", "--no-cache", "-i", data, "work")
    tables.walk(tap, "annotate", "--no-cache", "-i", data, "--no-asm", "work")
    r = annotate("-i", data, "work", "--format", "csv")
    lines = r.stderr.splitlines()
    tap.ok(len(lines) and all(l.startswith(("cyclade: note: ", "  ")) for l in lines) and "\x1b" not in r.stderr,
           "a line feed in a file's name begins no message of its own", r.stderr)
    for how in ((), ("--no-asm",), ("--no-source",), ("--min", "5")):
        out = annotate("-i", data, "work", *how).stdout
        tap.ok(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out) and "lost" in out, "a hostile file name: " + " ".join(how), out)


def alike(where):
    if not shutil.which("g++"):
        tap.skip("names that are cut", "no g++")
        return
    data = made(where, "alike.cc", ALIKE)
    if not data:
        return
    j = json.loads(annotate("-i", data, "work", "-j").stdout)
    names = {i["function"] for i in j["inlined"]}
    tap.ok(len(names) == 3, "three inlined functions", names)
    for columns in ("80", "100", "400"):
        out = annotate("-i", data, "work", COLUMNS=columns).stdout
        shown = set(re.findall(r"inlined: (.*?) from ", out))
        tap.ok(len(shown) == 3 and (columns != "400" or shown == names), columns + " columns: three names of them", shown)
        wide = [l for l in out.splitlines() if len(l) > int(columns)]
        tap.ok(not wide, columns + " columns: no line is wider", wide)
        tap.ok({"one/part.h", "two/part.h"} <= set(re.findall(r"\w+/part\.h", out)) and not re.search(r"[ ]part\.h", out),
               columns + " columns: files of one name have their folders", out)


def names(data):
    r = annotate(data, "prboe")
    tap.ok(r.returncode == 2 and "did you mean probe" in r.stderr, "a slip of the pen", r.stderr)
    r = annotate(data, "prob?_*")
    tap.ok(r.returncode == 0 and " probe_all" in r.stdout, "a glob with one answer", r.stderr)
    r = annotate(data, "pro")
    tap.ok(r.returncode == 2 and re.search(r"may mean \d functions", r.stderr) and "prog:probe_all" in r.stderr and
           "prog:probe\n" in r.stderr,
           "a part with two answers lists them", r.stderr)
    r = annotate(data, "prog:probe")
    tap.ok(r.returncode == 0, "DSO:NAME", r.stderr)
    r = annotate(data)
    tap.ok(r.returncode == 2 and len(r.stderr.split("\n")) <= 4, "no function named", r.stderr)
    r = run(CYCLADE, "annotate", "--no-cache", data)
    tap.ok(r.returncode == 2 and "which function of " + data in r.stderr and "cyclade report " + data in r.stderr, "a recording, and no function", r.stderr)


def missing(data, prog, where):
    src = os.path.join(where, "p.c")
    moved = os.path.join(where, "elsewhere", "sub")
    os.makedirs(moved)
    shutil.move(src, os.path.join(moved, "p.c"))
    r = annotate(data, "probe")
    tap.ok("p.c not found" in r.stdout and "--source DIR" in r.stdout and "imul" in r.stdout,
           "a missing source is named, with what to do", r.stdout[:600])
    r = annotate(data, "probe", "--source", moved)
    tap.ok("while (table" in r.stdout and "not found" not in r.stdout, "--source finds it")
    run("objcopy", "--only-keep-debug", prog, os.path.join(where, "elsewhere", "prog"))
    os.rename(prog, prog + ".away")
    r = annotate(data, "probe", "-j", "--symbols", os.path.join(where, "elsewhere"))
    try:
        j = json.loads(r.stdout)
    except ValueError:
        j = {"instructions": [], "samples": 1, "notes": [r.stderr]}
    tap.ok(sum(i["samples"] for i in j["instructions"]) == j["samples"] and
           any("no instructions" in n for n in j["notes"]),
           "without the program: addresses with their samples, and a note", j["notes"])
    os.rename(prog + ".away", prog)


def main():
    for tool in (PERF, "gcc", "objdump", "objcopy"):
        if not shutil.which(tool):
            print(f"1..0 # SKIP no {tool}")
            return
    if "no x86 disassembly" in run(CYCLADE, "--version").stdout:
        print("1..0 # SKIP built without Zydis")
        return
    if os.uname().machine != "x86_64":
        print("1..0 # SKIP not an x86-64 machine")
        return
    with tempfile.TemporaryDirectory() as where:
        prog, data = os.path.join(where, "prog"), os.path.join(where, "perf.data")
        with open(os.path.join(where, "p.c"), "w") as f:
            f.write(CODE)
        run("gcc", "-O2", "-g", os.path.join(where, "p.c"), "-o", prog)
        r = run(PERF, "record", "-q", "-N", "-e", "cpu-clock:u", "-F", "3000", "-o", data, prog)
        if not os.path.exists(data):
            print("1..0 # SKIP perf cannot record here: " + r.stderr.strip().split("\n")[0])
            return
        numbers(data, prog, "probe")
        numbers(data, prog, "probe_all")
        faces(data, prog, where)
        names(data)
        missing(data, prog, where)
        hostile(where)
        alike(where)
    tap.done()


main()
