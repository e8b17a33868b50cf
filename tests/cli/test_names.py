#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions of one name are rows of their own, told apart by line or address, in every format; their
shares are perf's. So are those of files of one base name, told apart by path or build-id."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import exported  # noqa: E402
from kernel_names import short_kallsyms  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

WORK = """static __attribute__((noinline)) unsigned long work(unsigned long n)
{
	volatile unsigned long s = 0;

	for (unsigned long i = 0; i < n; i++)
		s += i;
	return s;
}
unsigned long NAME(unsigned long n) { return work(n); }
"""
FILES = {
    "a.c": "#define NAME a\n" + WORK,
    "b.c": "\n\n#define NAME b\n" + WORK,
    # a static function of a header begins at the same line in both
    "h.h": WORK.split("unsigned long NAME")[0].replace("work", "shared"),
    "c.c": '#include "h.h"\nunsigned long c(unsigned long n) { return shared(n); }\n',
    "d.c": '#include "h.h"\nunsigned long d(unsigned long n) { return shared(n); }\n',
    # generic functions of Rust: different symbols, the same name
    "m.c": """unsigned long a(unsigned long), b(unsigned long), c(unsigned long), d(unsigned long);
unsigned long r1(unsigned long) __asm__("_ZN1g7generic17h0123456789abcdefE");
unsigned long r2(unsigned long) __asm__("_ZN1g7generic17hfedcba9876543210E");
#define BODY { volatile unsigned long s = 0; for (unsigned long i = 0; i < n; i++) s += i; return s; }
__attribute__((noinline)) unsigned long r1(unsigned long n) BODY
__attribute__((noinline)) unsigned long r2(unsigned long n) BODY
int main(void)
{
	unsigned long s = 0;

	for (int i = 0; i < 4; i++)
		s += a(12000000) + b(4000000) + c(8000000) + d(3000000) + r1(2000000) + r2(6000000);
	return (int)(s & 1);
}
""",
}
LOADER = """#include <dlfcn.h>
#include <stdlib.h>
int main(int c, char **v)
{
	unsigned long s = 0;

	for (int i = 1; i + 1 < c; i += 2) {
		void *h = dlopen(v[i], RTLD_NOW | RTLD_LOCAL);
		unsigned long (*f)(unsigned long) = h ? (unsigned long (*)(unsigned long))dlsym(h, "shared") : 0;

		if (!f)
			return 1;
		s += f(strtoul(v[i + 1], 0, 10));
	}
	return (int)(s & 1);
}
"""
PERF = os.environ.get("CYCLADE_PERF", "perf")
tap = Tap()
scratch = tempfile.TemporaryDirectory()


def run(*argv, cwd=None):
    env = short_kallsyms(scratch.name) if argv[0] == PERF else os.environ
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd,
                          env={**env, "NO_COLOR": "1", "COLUMNS": "160", "LC_ALL": "C.UTF-8"})


def cyclade(command, data, *words):
    return run(CYCLADE, command, "--no-cache", "-i", data, *words)


def symbols(prog):
    """name -> addresses, by nm, demangled."""
    got = {}
    for line in run("nm", "-C", prog).stdout.split("\n"):
        f = line.split(maxsplit=2)
        if len(f) == 3 and f[1] in "tT":
            got.setdefault(re.sub(r"::h[0-9a-f]{16}$", "", f[2]), []).append(int(f[0], 16))
    return got


def line_at(prog, addr):
    return os.path.basename(run("addr2line", "-e", prog, hex(addr)).stdout.split(" ")[0].strip())


def expected(prog, lines):
    want = set()
    for name, at in symbols(prog).items():
        if name not in ("work", "shared", "g::generic"):
            continue
        for a in at:
            where = line_at(prog, a) if lines and name == "work" else hex(a)
            want.add(f"{name}@{where}")
    return want


def perf_shares(data):
    out = run(PERF, "report", "-i", data, "--stdio", "-F", "overhead,sym", "--percent-limit", "0").stdout
    return sorted(float(m[1]) for m in re.finditer(r"([\d.]+)%  \[\.\] (?:work|shared|g::generic)", out))


def look(prog, data, chains, what, lines):
    want = expected(prog, lines)
    tap.ok(len(want) == 6, f"{what}: nm knows six", want)
    rows = list(csv.DictReader(io.StringIO(cyclade("report", data, "--format", "csv").stdout)))
    mine = {r["function"]: float(r["share"]) for r in rows if r["function"].split("@")[0] in ("work", "shared", "g::generic")}
    tap.equal(set(mine), want, f"{what}: a row each, named as addr2line and nm have it")
    shown = re.findall(r"\S+$", cyclade("report", data, "--min", "0").stdout, re.M)
    tap.equal([n for n in shown if n in want], [r["function"] for r in rows if r["function"] in want], f"{what}: the same order on the screen")
    shares = sorted(round(100 * s, 2) for s in mine.values())
    theirs = perf_shares(data)
    tap.ok(len(theirs) == len(shares) and all(abs(a - b) < 0.02 for a, b in zip(shares, theirs)),
           f"{what}: shares are perf's", f"{shares}\n{theirs}")
    for words in ((), ("-j",), ("--format", "markdown"), ("--format", "folded"), ("-s", "sym")):
        out = cyclade("report", data, *words).stdout.replace("\\", "")
        tap.ok(all(w in out for w in want), f"{what}: report {' '.join(words)}", out[:2000])
    for words in (("-g",), ("--children",), ("--callers",), ("-g", "--format", "folded")):
        out = cyclade("report", chains, *words).stdout
        tap.ok(all(w in out for w in want), f"{what}: report {' '.join(words)}", out[:2000])
    out = chains + ".pprof"
    cyclade("export", chains, "--pprof", "-o", out)
    with open(out, "rb") as f:
        p = exported.Pprof(f.read())
    tap.ok(want <= {p.name(f) for f in p.functions}, f"{what}: pprof", sorted(p.name(f) for f in p.functions))
    f = exported.Firefox(cyclade("export", chains, "--firefox").stdout)
    tap.ok(want <= set(f.strings), f"{what}: firefox", sorted(f.strings)[:200])
    r = cyclade("annotate", data, "work")
    tap.ok(r.returncode == 2 and all(f":{w}" in r.stderr for w in want if w.startswith("work")),
           f"{what}: annotate asks which", r.stderr)
    for name in sorted(want):
        r = cyclade("annotate", data, name, "-j")
        j = json.loads(r.stdout) if r.returncode == 0 else {}
        tap.ok(j.get("function") == name and j["samples"] ==
               next(int(x["samples"]) for x in rows if x["function"] == name),
               f"{what}: annotate {name}", r.stderr)
    r = cyclade("annotate", data, sorted(want)[0].replace("@", "?")[:-1] + "*")
    tap.ok(r.returncode == 0, f"{what}: a pattern", r.stderr)


def rows_of(data, *words):
    """{(dso, sym): samples} of what is called shared"""
    rows = csv.DictReader(io.StringIO(cyclade("report", data, "-s", "dso,sym", "--format", "csv", *words).stdout))
    return {(r["dso"], r["function"]): int(r["samples"]) for r in rows if r["function"] == "shared"}


def same_files(where):
    """Two libraries of one base name, as perf tells them by their whole paths; a library and its rebuilt copy."""
    for d in ("v1", "v2"):
        os.mkdir(os.path.join(where, d))
        with open(os.path.join(where, d, "x.c"), "w", encoding="ascii") as f:
            f.write(("int other;\n" if d == "v2" else "") + FILES["h.h"].replace("static ", ""))
        r = run("gcc", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id", d + "/x.c", "-o", d + "/libx.so", cwd=where)
        if r.returncode:
            tap.skip("files of one name", "does not build here: " + r.stderr.split("\n")[0])
            return
    with open(os.path.join(where, "load.c"), "w", encoding="ascii") as f:
        f.write(LOADER)
    run("gcc", "load.c", "-o", "load", "-ldl", cwd=where)
    data = os.path.join(where, "paths.data")
    run(PERF, "record", "-q", "-N", "-g", "-e", "cpu-clock:u", "-F", "4000", "-o", data, "./load", "./v1/libx.so", "60000000",
        "./v2/libx.so", "20000000", cwd=where)
    out = run(PERF, "report", "-i", data, "--stdio", "-v", "-n", "--no-children", "-g", "none", "--sort", "dso,sym").stdout
    theirs = {("%s/libx.so" % m[2], "shared"): int(m[1]) for m in re.finditer(r"(\d+) +\S*/(v\d)/libx.so .* shared", out)}
    mine = rows_of(data)
    tap.equal(mine, theirs, "two libraries of one name: rows, names and samples are perf's")
    tap.ok(len(theirs) == 2, "perf knows two", out)
    tree = cyclade("report", data, "--children").stdout
    tap.ok(all(d in tree for d, _ in theirs), "two libraries of one name: --children", tree)
    r = cyclade("annotate", data, "shared")
    tap.ok(r.returncode == 2 and all(d + ":shared" in r.stderr for d, _ in theirs), "annotate asks which", r.stderr)
    j = json.loads(cyclade("annotate", data, "v2/libx.so:shared", "-j").stdout or "{}")
    tap.equal(j.get("samples"), theirs.get(("v2/libx.so", "shared")), "annotate takes the name that report shows")
    # without -v perf compares base names
    perf_sym = run(PERF, "report", "-i", data, "--stdio", "-v", "-n", "--no-children", "-g", "none", "--sort", "sym").stdout
    want = sorted(int(m) for m in re.findall(r"^ +[\d.]+% +(\d+) .*\[\.\] shared", perf_sym, re.M))
    for keys in ("function", "inline", "comm,function"):
        rows = csv.DictReader(io.StringIO(cyclade("report", data, "-s", keys, "--format", "csv").stdout))
        got = {r[keys.split(",")[-1]]: int(r["samples"]) for r in rows if "shared" in r[keys.split(",")[-1]]}
        tap.equal(got, {"%s:%s" % k: n for k, n in theirs.items()}, "two libraries of one name: -s " + keys)
        tap.equal(sorted(got.values()), want, "two libraries of one name: perf --sort sym has these rows, too")
    rebuilt(where)


# Four functions called work, each inlined into main: two headers of one name have theirs at the same line.
INLINE = """%sstatic inline __attribute__((always_inline)) unsigned long work(unsigned long n)
{
	volatile unsigned long s = 0;

	for (unsigned long i = 0; i < n; i++)
		s += i;
	return s;
}
"""
CALL = "unsigned long %s(unsigned long n);\n#ifndef WHOLE\n__attribute__((noinline))\n#endif\nunsigned long %s(unsigned long n) { return work(n); }\n"
INLINES = {
    "one/h.h": INLINE % "", "two/h.h": INLINE % "", "k.h": INLINE % "\n",
    "one.c": '#include "one/h.h"\n' + CALL % ("one", "one"),
    "two.c": '#include "two/h.h"\n' + CALL % ("two", "two"),
    # by another path and in another unit: the same function as in one.c
    "again.c": '#include "two/../one/h.h"\n' + CALL % ("again", "again"),
    "main.c": """#include "k.h"
unsigned long one(unsigned long), two(unsigned long), again(unsigned long);
#define work work_here
#include "one/h.h"
#undef work
int main(void)
{
	return (int)(one(20000000) + two(9000000) + again(12000000) + work(30000000) + work_here(5000000)) & 0;
}
""",
}
PLACES = {"one/h.h": "work@one/h.h:1", "two/h.h": "work@two/h.h:1", "k.h": "work@k.h:2"}


def addr2line_counts(prog, data):
    """Samples by the file that the innermost inlined function called work is in."""
    got, at = {}, []
    script = run(PERF, "script", "-i", data, "-F", "ip,sym,symoff,dso")
    for m in re.finditer(r"([0-9a-f]+) .*\+0x[0-9a-f]+ \((.*)\)$", script.stdout, re.M):
        if m[2] == prog:
            at.append(m[1])
    if not at:
        print("# perf script: %s %s" % (script.stderr[:500], script.stdout[:500]))
    text = subprocess.run(["addr2line", "-a", "-f", "-i", "-e", prog], input="\n".join(at), capture_output=True, text=True).stdout
    for one in re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:]:
        name, where = one.split("\n")[:2]
        if name == "work":
            where = os.path.normpath(where.rsplit(":", 1)[0])
            key = next(p for n, p in PLACES.items() if where.endswith("/" + n))
            got[key] = got.get(key, 0) + 1
    return got


def inlined(where, cc, flags):
    """Inlined functions of one name: no symbols, so that declarations separate them."""
    what = "inlined, " + " ".join([cc, *flags])
    if not shutil.which(cc):
        tap.skip(what, "no " + cc)
        return
    os.makedirs(os.path.join(where, "one"), exist_ok=True)
    os.makedirs(os.path.join(where, "two"), exist_ok=True)
    for n, text in INLINES.items():
        with open(os.path.join(where, n), "w", encoding="ascii") as f:
            f.write(text)
    prog, data = os.path.join(where, "inlined"), os.path.join(where, "inlined.data")
    r = run(cc, "-O1", "-g", "-no-pie", *flags, "one.c", "two.c", "again.c", "main.c", "-o", prog, cwd=where)
    if r.returncode:
        tap.skip(what, "does not build here: " + r.stderr.split("\n")[0])
        return
    chains = data + "-g"
    for to, more in ((data, []), (chains, ["-g"])):
        run(PERF, "record", "-q", "-N", *more, "-e", "cpu-clock:u", "-F", "4000", "-o", to, prog)
    want = addr2line_counts(prog, data)
    rows = csv.DictReader(io.StringIO(cyclade("report", data, "-s", "inline", "--format", "csv").stdout))
    mine = {r["inline"]: int(r["samples"]) for r in rows if r["inline"].split("@")[0] == "work"}
    tap.equal(set(mine), set(PLACES.values()), what + ": report -s inline, a row each")
    if "-gsplit-dwarf" not in flags:  # which addr2line does not follow
        tap.equal(mine, want, what + ": report -s inline counts what addr2line does")
    folded = {}
    for line in cyclade("report", chains, "--format", "folded", "-g").stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        leaf = stack.split(";")[-1]
        if leaf.split("@")[0] == "work":
            folded[leaf] = folded.get(leaf, 0) + int(n)
    tap.equal(set(folded), set(PLACES.values()), what + ": folded")
    tap.ok("work_here" in cyclade("report", data, "-s", "inline").stdout, what + ": a name of its own stays plain")
    if "-DWHOLE" in flags:
        found = set(re.findall(r'"function": ?"(work\b[^"]*)"', cyclade("annotate", data, "main", "-j").stdout))
        tap.equal(found, set(PLACES.values()), what + ": annotate main -j")
        out = cyclade("annotate", data, "main").stdout
        tap.ok(all(w in out for w in PLACES.values()), what + ": annotate main", out[:2000])
    for words in (("-g",), ("--children",), ("-g", "-j")):
        out = cyclade("report", chains, *words).stdout
        tap.ok(all(w in out for w in PLACES.values()), "%s: report %s" % (what, " ".join(words)), out[:2000])


def build_id(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path).stdout)[1]


def rebuilt(where):
    data, copy = os.path.join(where, "copies.data"), os.path.join(where, "x.so")
    shutil.copy(os.path.join(where, "v1", "libx.so"), copy)
    r = run(CYCLADE, "record", "-q", "--buildid-mmap", "-e", "cpu-clock:u", "-F", "4000", "-o", data, "--", "sh", "-c",
            "./load ./x.so 12000000; cp v2/libx.so new; mv new x.so; ./load ./x.so 4000000", cwd=where)
    ids = {d: build_id(os.path.join(where, d, "libx.so")) for d in ("v1", "v2")}
    known = run(PERF, "buildid-list", "-i", data).stdout + run(PERF, "script", "-i", data, "--show-mmap-events", "-F", "ip").stdout
    if r.returncode or not all(i[:16] in known for i in ids.values()):
        tap.skip("a library and its rebuilt copy", "the kernel gives no build-ids with mappings (Linux 5.12 does)")
        return
    os.mkdir(os.path.join(where, "first"))
    shutil.copy(os.path.join(where, "v1", "libx.so"), os.path.join(where, "first", "x.so"))
    mine = rows_of(data, "--symbols", os.path.join(where, "first"))
    by_pid = {}  # the first process has the first of them
    for m in re.finditer(r"^ *(\d+) +\w+ .*/x\.so", run(PERF, "script", "-i", data, "-F", "pid,ip,sym,dso").stdout, re.M):
        by_pid[m[1]] = by_pid.get(m[1], 0) + 1
    tap.equal([mine.get(("x.so@" + i[:8], "shared"), 0) for i in ids.values()], list(by_pid.values()),
              "a library and its rebuilt copy: a row each, by build-id, of the process that had it")


def main():
    for tool in (PERF, "gcc", "nm", "addr2line", "strip", "readelf"):
        if not shutil.which(tool):
            print(f"1..0 # SKIP no {tool}")
            return
    if not re.search("^with:.* demangling", run(CYCLADE, "--version").stdout, re.M):
        print("1..0 # SKIP built without a demangler")
        return
    with tempfile.TemporaryDirectory() as where:
        for n, t in FILES.items():
            with open(os.path.join(where, n), "w", encoding="ascii") as f:
                f.write(t)
        prog = os.path.join(where, "prog")
        r = run("gcc", "-O1", "-g", "a.c", "b.c", "c.c", "d.c", "m.c", "-o", prog, cwd=where)
        if r.returncode:
            print("1..0 # SKIP does not build here: " + r.stderr.split("\n")[0])
            return
        run("strip", "-g", prog, "-o", prog + "-g")
        for p, lines in ((prog, True), (prog + "-g", False)):
            data, chains = p + ".data", p + ".chains"
            for to, more in ((data, []), (chains, ["-g"])):
                r = run(PERF, "record", "-q", "-N", *more, "-e", "cpu-clock:u", "-F", "4000", "-o", to, p)
                if not os.path.exists(to):
                    print("1..0 # SKIP perf cannot record here: " + r.stderr.strip().split("\n")[0])
                    return
            look(p, data, chains, "with lines" if lines else "without lines", lines)
        r = run(CYCLADE, "run", "--data", os.path.join(where, "run.data"), "--", prog)
        tap.ok(all(w in r.stderr for w in expected(prog, True) if w.startswith("work")), "run's table", r.stderr)
        same_files(where)
        inlined(where, "gcc", ["-gdwarf-5"])
        inlined(where, "gcc", ["-gdwarf-4"])
        inlined(where, "gcc", ["-gsplit-dwarf"])
        inlined(where, "clang", [])
        inlined(where, "gcc", ["-O2", "-flto", "-fno-ipa-icf", "-DWHOLE"])  # all inlined into main
    tap.done()


main()
