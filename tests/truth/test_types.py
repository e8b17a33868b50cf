#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Types and fields of accesses: programs that print where their objects are are followed in the emulator, and what cyclade says of each
sampled access is held against the object that its address is in."""
import collections
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from sharing_made import PID, Access, Map, write  # noqa: E402
from tap import NO_PLUGINS, ROOT, Tap, emulator as emulated, run  # noqa: E402

BUILT = os.environ.get("TRUTH_BUILT", os.path.join(ROOT, "build", "tests", "truth"))
PERIOD = 7
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


class Planted:
    """What the program printed."""

    def __init__(self, lines):
        self.objects, self.fields, self.stack = [], collections.defaultdict(list), 0
        self.stride = {}
        for line in lines:
            w = line.split(" ")
            if w[0] == "stack":
                self.stack = int(w[1], 16)
            elif w[0] == "object":
                self.objects.append((int(w[2], 16), w[1], int(w[3])))
            elif w[0] == "field":
                self.stride[w[1]] = int(w[2])
                self.fields[w[1]].append((int(w[3]), int(w[4]), w[5].replace("~", " "), w[6]))
        self.objects.sort()

    def in_stack(self, address):
        return -(1 << 20) < address - self.stack < 1 << 16

    def at(self, address):
        """the kind and the offset in its element, or None"""
        lo, hi = 0, len(self.objects)
        while lo < hi:
            mid = (lo + hi) // 2
            lo, hi = (mid + 1, hi) if self.objects[mid][0] <= address else (lo, mid)
        if lo:
            start, kind, n = self.objects[lo - 1]
            if address < start + n * self.stride[kind]:
                return kind, (address - start) % self.stride[kind]
        return None

    def right(self, kind, offset, width, typ, field):
        """A field that the access touches, or a structure that this is in: one access may be of several fields, bit-fields "a|b" among them."""
        where, dot, last = field.rpartition(".")
        return any(at < offset + width and offset < at + size and fnmatch.fnmatchcase(typ, name) and (text + ".").startswith(where + dot + x + ".")
                   for at, size, name, text in self.fields[kind] for x in last.split("|"))


def traced(program, emulator):
    r = subprocess.run(emulator + ["-plugin", "%s/accesses.so,out=trace,period=%d,seed=3" % (BUILT, PERIOD), program], check=True,
                       timeout=200, capture_output=True, text=True)
    accesses, maps = [], []
    with open("trace", encoding="utf-8") as f:
        for row in f:
            w = row.split()
            if w[0] == "map":
                start, end, offset = (int(x, 16) for x in w[1:4])
                maps.append(Map(PID, start, end - start, w[4], offset=offset))
            elif w[0] == "access":
                accesses.append((int(w[2], 16), int(w[3], 16), int(w[4]), w[5]))
    return Planted(r.stdout.splitlines()), accesses, maps


def asked(program, places):
    """{(vaddr, store): (why, offset, type size, stack, type, field)}"""
    r = subprocess.run([os.path.join(BUILT, "dump_types"), program], input="".join("%x %d\n" % p for p in places), check=True,
                       capture_output=True, text=True, timeout=200)
    out = {}
    for p, line in zip(places, r.stdout.splitlines()):
        w = line.split("\t")
        out[p] = (w[1], int(w[2]), int(w[3]), w[4] == "1", w[5], w[6])
    return out


def wide_code(program, prefix):
    """Addresses of accesses of 16 and 32 bytes, and how wide these are: the emulator makes several of 8 bytes of each."""
    text = subprocess.run([prefix + "objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
    if prefix:
        return {int(m.group(1), 16): 32 if m.group(2)[2:] in ("p\tq", "np\tq") else 16
                for m in re.finditer(r"^ +([0-9a-f]+):\t((?:ld|st)n?p\t[a-z]|(?:ld|st)u?r\tq)", text, re.M)}
    return {int(m.group(1), 16): 16 for m in re.finditer(r"^ +([0-9a-f]+):\t(\S+) +(.*xmm.*)$", text, re.M)
            if "(" in m.group(3) and not re.search(r"(s[sd]|[lh]p[sd]|movq|movd)$", m.group(2))}


def check(what, program, prefix="", emulator=("qemu-x86_64",)):
    planted, accesses, maps = traced(program, list(emulator))
    path = os.path.realpath(program)
    own = [m for m in maps if m.path == path]
    vaddr = {}  # of the program's own code: position independent, so its addresses are its file's offsets, but for alignment
    for ip, _, _, _ in accesses:
        for m in own:
            if m.start <= ip < m.start + m.size:
                vaddr[ip] = ip - m.start + m.offset
    mine = [a for a in accesses if a[0] in vaddr]
    answers = asked(program, sorted({(vaddr[ip], int(kind == "store")) for ip, _, _, kind in mine}))
    outside = [a for a in mine if not planted.in_stack(a[1])]
    typed = right = known = 0
    wide = wide_code(program, prefix)
    wrong, unknown = collections.Counter(), collections.Counter()
    for ip, address, width, kind in outside:
        a = answers[vaddr[ip], int(kind == "store")]
        if a[0] != "known":
            unknown[hex(vaddr[ip]), a[0]] += 1
            continue
        typed += 1
        at = planted.at(address)
        if at:
            known += 1
            ok = planted.right(at[0], at[1], width, a[4], a[5])
            for back in range(8, wide.get(vaddr[ip], 0), 8):  # a later part of it, maybe in the next object
                first = planted.at(address - back)
                ok = ok or (first is not None and planted.right(first[0], first[1], 8, a[4], a[5]))
            right += ok
            if not ok:
                wrong[hex(vaddr[ip]), at, a[4], a[5]] += 1
    t.ok(len(outside) > 1000, what + ": accesses outside the stack", len(outside))
    t.ok(typed >= 0.9 * len(outside), what + ": 90 % of these have a type", (typed, len(outside), unknown.most_common(12)))
    t.ok(known > 0.5 * typed, what + ": most are of planted objects", (known, typed))
    t.ok(right >= 0.99 * known, what + ": 99 % of these are right", (right, known, wrong.most_common(12)))
    if os.environ.get("SHOW"):
        print(unknown.most_common(15))
    print("# %s: %d outside the stack, typed %.1f %%, %d planted, right %.2f %%" % (what, len(outside), 100 * typed / len(outside), known,
                                                                                    100 * right / max(known, 1)))
    # the same by the command, each access a sample, and by perf's data type profiling
    write("x.data", [Access(PID, address, kind, None, False, 4, ip) for ip, address, _, kind in mine], maps)
    r = run("mem", "x.data", "-j")
    if not t.ok(r.returncode == 0, what + ": mem reads it", r.stderr):
        return
    got = collections.Counter()
    for row in json.loads(r.stdout)["fields"]:
        if row["type"]:
            got[row["type"], row["field"] or ""] += row["samples"]
    want = collections.Counter()
    for ip, _, _, kind in mine:
        a = answers[vaddr[ip], int(kind == "store")]
        if a[0] == "known":
            want[a[4], a[5]] += 1
    t.equal({k: v for k, v in got.items() if k in want}, dict(want), what + ": mem counts the same fields")
    perf = os.environ.get("CYCLADE_PERF7")
    if not perf:
        t.skip(what + ": perf's types", "CYCLADE_PERF7 does not name a perf 7")
        return
    r = subprocess.run([perf, "report", "-i", "x.data", "-s", "type", "-n", "--stdio", "-q", "-t", "\t"], capture_output=True, text=True, timeout=300)
    theirs = sum(int(w[1]) for w in (line.split("\t") for line in r.stdout.splitlines()) if len(w) > 2 and not w[2].strip().startswith("("))
    if prefix and not theirs:
        t.skip(what + ": perf's types", "perf has none on AArch64")
        return
    t.ok(0 < theirs <= sum(got.values()), what + ": at least as many have a type as in perf", (theirs, sum(got.values()), r.stderr[:300]))


PROGRAMS = [("C, gcc", "gcc", "types.c"), ("C, clang", "clang", "types.c"), ("C++, gcc", "g++", "types_cxx.cc"),
            ("C++, clang", "clang++", "types_cxx.cc")]
if not emulated("x86_64") or not os.path.exists(os.path.join(BUILT, "accesses.so")):
    t.skip("everything", "no plugin is built" if emulated("x86_64") else NO_PLUGINS)
    PROGRAMS = []
for what, compiler, source in PROGRAMS:
    if not shutil.which(compiler):
        t.skip(what, "no " + compiler)
        continue
    name = "types_" + compiler.replace("+", "x")
    subprocess.run([compiler, "-O2", "-g", "-o", name, os.path.join(HERE, "progs", source)], check=True, timeout=200)
    check(what, os.path.join(tmp.name, name))

# AArch64, its linker's libraries and its emulator
if not (shutil.which("aarch64-linux-gnu-gcc") and emulated("aarch64") and os.path.exists(os.path.join(BUILT, "accesses.so"))):
    t.skip("C, AArch64", "no cross compiler, or no plugin is built" if emulated("aarch64") else NO_PLUGINS)
else:
    subprocess.run(["aarch64-linux-gnu-gcc", "-O2", "-g", "-o", "types_arm", os.path.join(HERE, "progs", "types.c")], check=True, timeout=200)
    check("C, AArch64", os.path.join(tmp.name, "types_arm"), "aarch64-linux-gnu-", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"))

# thread-local variables: of the program, of a library it uses, and of the library's own
for what, prefix, emulator in (("thread-local", "", ["qemu-x86_64"]),
                               ("thread-local, AArch64", "aarch64-linux-gnu-", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"])):
    if not PROGRAMS or not shutil.which(prefix + "gcc") or not emulated(emulator[0].removeprefix("qemu-")):
        t.skip(what, "no compiler" if PROGRAMS and emulated(emulator[0].removeprefix("qemu-")) else NO_PLUGINS)
        continue
    source, where = os.path.join(HERE, "progs", "types_thread.c"), os.path.join(tmp.name, prefix + "thread")
    os.mkdir(where)
    subprocess.run([prefix + "gcc", "-O2", "-g", "-shared", "-fPIC", "-DLIBRARY", "-o", where + "/libfar.so", source], check=True, timeout=200)
    subprocess.run([prefix + "gcc", "-O2", "-g", "-o", where + "/program", source, "-L" + where, "-lfar", "-lpthread", "-Wl,-rpath," + where],
                   check=True, timeout=200)
    check(what, where + "/program", prefix, emulator)
    for model in ("global-dynamic", "initial-exec"):
        subprocess.run([prefix + "gcc", "-O2", "-g", "-shared", "-fPIC", "-ftls-model=" + model, "-DLIBRARY", "-o", where + "/other.so", source],
                       check=True, timeout=200)
        got = subprocess.run([os.path.join(BUILT, "dump_types"), where + "/other.so", "-a"], check=True, capture_output=True, text=True, timeout=200).stdout
        rows = {tuple(w[5:7]) for w in (line.split("\t") for line in got.splitlines()) if w[1] == "known" and "function" not in w[5] and w[5] != "constant"}
        t.equal(rows, {("struct slot", "key"), ("struct slot", "uses"), ("struct slot", "weight"), ("int", "")}, what + ": of a library, " + model)
        t.ok("\tthread-local\t" not in got and "\tno base\t" not in got, what + ": all of it, " + model, got)

# a library gets to its variables through a table of addresses
if PROGRAMS and shutil.which("gcc"):
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "lib.so", "-x", "c", "-"], check=True, timeout=200, text=True,
                   input="struct point { long x, y; } origin; long get(long by) { return origin.y += by; }")
    got = subprocess.run([os.path.join(BUILT, "dump_types"), "lib.so", "-a"], check=True, capture_output=True, text=True, timeout=200).stdout
    t.ok("\tknown\t8\t16\t0\tstruct point\ty\t8\n" in got, "a variable of a library", got)

# the end of a copy whose length a register has is no field of an element before; with the same register, a positive offset is one
if PROGRAMS and shutil.which("gcc"):
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "tail.so", "-x", "c", "-"], check=True, timeout=200, text=True,
                   input="struct row { long first, all[5], last; };\n"
                   "long get(struct row *r, long n) { long x; asm volatile(\"movq -8(%1,%2,1), %0\" : \"=r\"(x) : \"r\"(r), \"r\"(n)"
                   " : \"memory\"); return x; }\n")
    got = subprocess.run([os.path.join(BUILT, "dump_types"), "tail.so", "-a"], check=True, capture_output=True, text=True, timeout=200).stdout
    t.ok("struct row" not in got and "\tmisfit\t" in got, "the end of a copy", got)
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "head.so", "-x", "c", "-"], check=True, timeout=200, text=True,
                   input="struct row { long first, all[5], last; };\n"
                   "long get(struct row *r, long n) { long x; asm volatile(\"movq 48(%1,%2,1), %0\" : \"=r\"(x) : \"r\"(r), \"r\"(n)"
                   " : \"memory\"); return x; }\n")
    got = subprocess.run([os.path.join(BUILT, "dump_types"), "head.so", "-a"], check=True, capture_output=True, text=True, timeout=200).stdout
    t.ok("struct row\tlast\t8\n" in got, "an element's last field", got)

# a word where a pointer to bytes points to: a cast says what it is, which nobody wrote down
if PROGRAMS and shutil.which("gcc"):
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "word.so", "-x", "c", "-"], check=True, timeout=200, text=True,
                   input="struct head { int magic, length; };\n"
                   "int get(const unsigned char *p) { return ((const struct head *)p)->length; }\nint byte(const unsigned char *p) { return p[5]; }\n")
    got = subprocess.run([os.path.join(BUILT, "dump_types"), "word.so", "-a"], check=True, capture_output=True, text=True, timeout=200).stdout
    t.ok("\tmisfit\t" in got and got.count("unsigned char\t") == 1, "a word read through a pointer to bytes", got)

# what a union of pointers holds is no one's, until a variable says so
if PROGRAMS and shutil.which("gcc"):
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "either.so", "-x", "c", "-"], check=True, timeout=200, text=True,
                   input="struct a { long one, two; }; struct b { long three, four; int five; };\n"
                   "struct node { long kind; union { struct a *a; struct b *b; } to; };\n"
                   "long plain(struct node *n) { return n->to.b->four; }\n"
                   "long named(struct node *n) { struct b *b = n->to.b; long sum = b->three; asm volatile(\"\" ::: \"memory\"); return sum + b->five; }\n")
    got = subprocess.run([os.path.join(BUILT, "dump_types"), "either.so", "-a"], check=True, capture_output=True, text=True, timeout=200).stdout
    t.ok("struct a\t" not in got and "\tno base\t" in got, "a union of pointers", got)
    t.ok("struct b\tthree\t8\n" in got and "struct b\tfive\t4\n" in got, "and a variable of it", got)

# hot fields by themselves: the lines that objects touch, as predicted, when the program is changed that way and followed again
if PROGRAMS and shutil.which("gcc"):
    per_object, used = {}, {}
    for name, flags in (("wide", []), ("split", ["-DSPLIT"]), ("ordered", ["-DORDER"])):
        program = os.path.join(tmp.name, name)
        subprocess.run(["gcc", "-O2", "-g", *flags, "-o", program, os.path.join(HERE, "progs", "layout.c")], check=True, timeout=200)
        # calloc shall not write: what it would write to is what is counted
        r = subprocess.run(["qemu-x86_64", "-plugin", "%s/accesses.so,out=trace,period=%d,seed=3" % (BUILT, PERIOD), program], check=True,
                           timeout=200, capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"})
        start, size, objects = (int(x, b) for x, b in zip(r.stdout.split()[1:], (16, 10, 10)))
        lines, accesses, maps = set(), [], []
        for row in open("trace", encoding="utf-8"):
            w = row.split()
            if w[0] == "map":
                maps.append(Map(PID, int(w[1], 16), int(w[2], 16) - int(w[1], 16), w[4], offset=int(w[3], 16)))
            elif w[0] == "access":
                accesses.append(Access(PID, int(w[3], 16), w[5], None, False, 4, int(w[2], 16)))
            elif start - 64 < int(w[1], 16) < start + size:
                lines.add(w[1])
        per_object[name] = len(lines) / objects
        stride = size // objects
        touched = {(x.addr - start) % stride + i for x in accesses if start <= x.addr < start + size for i in range(8)}
        used[name] = len(touched) * objects / (64 * len(lines))
        write(name + ".data", accesses, maps)
    rows = [x for x in json.loads(run("mem", "wide.data", "-j").stdout)["layouts"] if x["type"] == "struct wide"]
    if t.equal(len(rows), 1, "the structure has advice"):
        x = rows[0]
        t.equal(set(x["hot"].split(", ")), {"key", "uses", "weight"}, "its hot fields")
        t.equal((x["hot_bytes"], x["lines"], x["lines_split"]), (24, 3, 0.375), "what they are on, and would be on")
        t.equal(set(x["order"].split(", ")), {"key", "uses", "weight"}, "and in which order")
        t.ok(abs(per_object["ordered"] - x["lines_order"]) < 0.02 < x["lines"] - x["lines_order"], "lines with these first", (per_object, x))
        t.ok(abs(used["wide"] - x["used"]) < 0.002, "how much of these lines is used", (used, x))
        ordered = [y for y in json.loads(run("mem", "ordered.data", "-j").stdout)["layouts"] if y["type"] == "struct wide"]
        t.ok(len(ordered) == 1 and ordered[0]["lines"] == ordered[0]["lines_order"] == x["lines_order"], "ordered, another order saves nothing", ordered)
        t.ok(len(ordered) == 1 and abs(used["ordered"] - ordered[0]["used"]) < 0.02, "ordered, how much is used", (used, ordered))
        t.ok(abs(per_object["wide"] - x["lines"]) < 0.02 and abs(per_object["split"] - x["lines_split"]) < 0.02,
             "lines that objects touch, before and after", (per_object, x))
        text = run("mem", "wide.data").stdout
        t.ok("hot fields" in text, "people see it", text)
        split = json.loads(run("mem", "split.data", "-j").stdout)["layouts"]
        t.ok(all(y["lines_split"] == y["lines"] for y in split if y["type"] == "struct wide"), "split, there is nothing left to save", split)
t.done()
