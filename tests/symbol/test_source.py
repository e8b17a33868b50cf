#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Source lines and inlined calls against binutils' and elfutils' addr2line, on programs built here
in several ways. usage: test_source.py LINES_OF"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import package_made  # noqa: E402
from tap import Tap  # noqa: E402

C_CODE = {
    "util.h": """
static inline __attribute__((always_inline)) int leaf(int x)
{
    int s = 0;
    for (int i = 0; i < x; i++)
        s += i * x ^ s;
    return s;
}
static inline __attribute__((always_inline)) int middle(int x)
{
    int r = leaf(x + 1);
    if (r & 1)
        r += leaf(x * 3);
    return r;
}
""",
    "a.c": """
#include "util.h"
#include <stdio.h>
int other(int);
static int small(int x) { return middle(x) + 7; }
__attribute__((noinline)) int top(int x)
{
    int r = small(x);
    for (int i = 0; i < 3; i++)
        r += middle(i + r);
    return r;
}
__attribute__((section(".text.unlikely"))) int dropped(int x) { return leaf(x); }
int main(int argc, char **argv)
{
    (void)argv;
    printf("%d\\n", top(argc) + other(argc));
    return 0;
}
""",
    "b.c": """
#include "util.h"
int other(int x)
{
    switch (x) {
    case 1: return leaf(2);
    case 2: return middle(4) + leaf(x);
    case 3: return 9;
    }
    return middle(x);
}
""",
}
CXX_CODE = {
    "c.cc": """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
#include <cstdio>
namespace shop {
template <typename T> struct Box {
    T v;
    T get() const { return v * 2; }
};
struct Order { int id; std::string name; Box<int> box; };
__attribute__((noinline)) int total(const std::vector<Order> &v)
{
    int s = 0;
    for (const auto &o : v)
        s += o.box.get() + (int)o.name.size();
    return s;
}
}
int main(int argc, char **)
{
    std::vector<shop::Order> v;
    std::map<int, std::string> m;
    for (int i = 0; i < argc * 10; i++) {
        v.push_back({i, "n" + std::to_string(i), {i}});
        m[i % 7] += "x";
    }
    std::sort(v.begin(), v.end(), [](const shop::Order &a, const shop::Order &b) { return a.id > b.id; });
    std::printf("%d %zu\\n", shop::total(v), m.size());
}
""",
}
BUILDS = [  # name, compiler, flags, code, after the link
    ("gcc-4", "gcc", "-O2 -g -gdwarf-4", C_CODE, None),
    ("gcc-5", "gcc", "-O2 -g -gdwarf-5", C_CODE, None),
    ("gcc-gc", "gcc", "-O2 -g -ffunction-sections -Wl,--gc-sections -no-pie", C_CODE, None),
    ("gcc-split-5", "gcc", "-O2 -g -gdwarf-5 -gsplit-dwarf", C_CODE, None),
    ("gcc-split-4", "gcc", "-O2 -g -gdwarf-4 -gsplit-dwarf", C_CODE, None),
    ("gcc-package-4", "gcc", "-O2 -g -gdwarf-4 -gsplit-dwarf", C_CODE, "dwp"),
    ("gcc-package-4-llvm", "gcc", "-O2 -g -gdwarf-4 -gsplit-dwarf", C_CODE, "llvm-dwp"),
    ("gcc-package-5", "gcc", "-O2 -g -gdwarf-5 -gsplit-dwarf", C_CODE, "package_made"),
    ("clang-package-4", "clang", "-O2 -g -gdwarf-4 -gsplit-dwarf", C_CODE, "dwp"),
    ("clang-package-5", "clang", "-O2 -g -gdwarf-5 -gsplit-dwarf", C_CODE, "llvm-dwp"),
    ("clang-package-5-made", "clang", "-O2 -g -gdwarf-5 -gsplit-dwarf", C_CODE, "package_made"),
    ("g++-package-4", "g++", "-O2 -g -gdwarf-4 -gsplit-dwarf", CXX_CODE, "dwp"),
    ("g++-package-5", "g++", "-O2 -g -gdwarf-5 -gsplit-dwarf", CXX_CODE, "package_made"),
    ("gcc-z", "gcc", "-O2 -g -gz", C_CODE, None),
    ("clang-4", "clang", "-O2 -g -gdwarf-4", C_CODE, None),
    ("clang-5", "clang", "-O2 -g -gdwarf-5", C_CODE, None),
    ("clang-split-5", "clang", "-O2 -g -gdwarf-5 -gsplit-dwarf", C_CODE, None),
    ("g++-5", "g++", "-O2 -g", CXX_CODE, None),
    ("g++-4", "g++", "-O2 -g -gdwarf-4", CXX_CODE, None),
    ("g++-lto", "g++", "-O2 -g -flto", CXX_CODE, None),
    ("clang++-5", "clang++", "-O2 -g", CXX_CODE, None),
    ("g++-dwz", "g++", "-O2 -g", CXX_CODE, "dwz"),
    ("g++-dwz-alt", "g++", "-O2 -g", CXX_CODE, "dwz-alt"),
    ("aarch64", "aarch64-linux-gnu-gcc", "-O2 -g", C_CODE, None),
]

PACKAGERS = ("dwp", "llvm-dwp", "package_made")
tap = Tap()
PROGRAMS = tempfile.TemporaryDirectory(prefix="cyclade-source-")


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, **kw)


@functools.lru_cache(maxsize=None)
def compiled(cc, flags, is_cxx):
    """A program, which may be several's: (path or None, why not)"""
    code = CXX_CODE if is_cxx else C_CODE
    where = tempfile.mkdtemp(dir=PROGRAMS.name)
    for n, t in code.items():
        with open(os.path.join(where, n), "w") as f:
            f.write(t)
    sources = [n for n in code if not n.endswith(".h")]
    for n in sources:
        r = run(cc, *[f for f in flags.split() if not f.startswith("-Wl")], "-c", n, "-o",
                n + ".o", cwd=where)
        if r.returncode:
            return None, r.stderr.strip().split("\n")[0]
    r = run(cc, *flags.split(), *[n + ".o" for n in sources], "-o", "prog", cwd=where)
    if r.returncode:
        return None, r.stderr.strip().split("\n")[-1]
    return os.path.join(where, "prog"), ""


def build(cc, flags, code, after):
    if after in PACKAGERS:
        return packed(cc, flags, code is CXX_CODE, after)
    path, why = compiled(cc, flags, code is CXX_CODE)
    if not path or not after:
        return path, why
    where = tempfile.mkdtemp(dir=PROGRAMS.name)
    shutil.copy(path, where)
    if after == "dwz":
        r = run("dwz", "prog", cwd=where)
    else:
        shutil.copy(path, os.path.join(where, "prog2"))
        r = run("dwz", "-m", "common.debug", "prog", "prog2", cwd=where)
    if r.returncode:
        return None, r.stderr.strip().split("\n")[-1]
    return os.path.join(where, "prog"), ""


def packed(cc, flags, is_cxx, how):
    """A program whose split units are in a package alone."""
    path, why = compiled.__wrapped__(cc, flags, is_cxx)
    if not path:
        return None, why
    at = os.path.dirname(path)
    files = sorted(glob.glob(at + "/*.dwo"))
    if how == "package_made":
        package_made.write(files, path + ".dwp")
    elif not shutil.which(how):
        return None, "no " + how
    else:
        try:
            r = run(how, "-e", path, "-o", path + ".dwp", cwd=at, timeout=60)
        except subprocess.TimeoutExpired:
            return None, how + " does not end"
        if r.returncode:
            return None, "%s: %s" % (how, (r.stderr.strip() or str(r.returncode)).split("\n")[-1])
    for f in files:
        os.unlink(f)
    return path, ""


def text_addresses(path):
    """.text from end to end, and a little around it."""
    out = run("readelf", "-SW", path).stdout
    m = re.search(r"\] \.text\s+PROGBITS\s+(\w+) (\w+) (\w+)", out)
    start, size = int(m[1], 16), int(m[3], 16)
    return list(range(start - 8, start + size + 8, max(1, size // (300 if os.environ.get("CYCLADE_SANITIZED") else 800))))


def base(where):
    """"dir/x.c:12 (discriminator 3)" -> "x.c:12"; an unknown place is "?"."""
    where = re.sub(r" \(.*\)$", "", where)
    f, _, n = where.rpartition(":")
    if f in ("??", "") or n in ("?", "0", ""):
        return "?"
    return os.path.basename(f) + ":" + n


def blocks(tool, path, addrs, *flags):
    text = "".join(f"0x{a:x}\n" for a in addrs)
    out = run(tool, "-a", *flags, "-e", path, input=text, cwd=os.path.dirname(path)).stdout
    return [b.strip("\n").split("\n") if b.strip() else []
            for b in re.split(r"^0x[0-9a-f]+\n", out, flags=re.M)[1:]]


def chains(tool, path, addrs):
    """For each address [(function, place), ...] innermost first."""
    return [[(ls[i], base(ls[i + 1])) for i in range(0, len(ls) - 1, 2)]
            for ls in blocks(tool, path, addrs, "-i", "-f")]


def elfutils(path, addrs):
    """Lines alone: it takes long to find which calls are inlined."""
    return [[base(re.sub(r"(:\d+):\d+$", r"\1", l)) for l in ls]
            for ls in blocks("eu-addr2line", path, addrs)]


def ours(lines_of, path, addrs):
    r = run(lines_of, path, input="".join(f"{a:x}\n" for a in addrs), cwd=os.path.dirname(path))
    got = []
    for line in r.stdout.split("\n")[:-1]:
        f = line.split("\t")
        names = f[1::2]
        places = [base(f[0])] + [base(p) for p in f[2::2]]
        got.append((names, places))
    return got, r.returncode, r.stderr.strip()


def compare(name, lines_of, path, twin):
    """`twin` is the program whose debug information the referees read: the same code at the same
    addresses, but not split, which they do not follow."""
    addrs = text_addresses(path)
    mine, rc, why = ours(lines_of, path, addrs)
    if not tap.ok(rc == 0 and len(mine) == len(addrs), f"{name}: read", f" {why}" if rc else ""):
        return
    # binutils 2.40 errs where DWARF 5 has file 0 or indexed ranges; it is asked where llvm is absent
    tool = "llvm-addr2line" if shutil.which("llvm-addr2line") else "addr2line"
    ref = chains(tool, twin, addrs)
    known = sum(1 for r in ref if r and r[0][1] != "?")
    deep = sum(1 for r in ref if len(r) > 1)
    bad = []
    for a, (names, places), r in zip(addrs, mine, ref):
        if places != [p for _, p in r]:
            bad.append(f"{a:x}: {places} is {[p for _, p in r]}")
        elif any(n != t and t != "??" for n, (t, _) in zip(names, r)):
            # (a name that the referee could not find, in a dwz file, is no judgement)
            bad.append(f"{a:x}: {names} is {[n for n, _ in r]}")
    limit = len(addrs) // 200 if tool == "llvm-addr2line" else len(addrs) // 20
    tap.ok(len(bad) <= limit and known > 20 and deep > 5,
           f"{name}: {len(addrs)} addresses as {tool} ({known} known, {deep} inlined, "
           f"{len(bad)} differ)")
    for b in bad[:6]:
        print("#  ", b)
    if not shutil.which("eu-addr2line"):
        tap.skip(f"{name}: as eu-addr2line", "no eu-addr2line")
        return
    # it knows no lines where there are no aranges (clang), and passes over rows of line 0
    ref = elfutils(twin, addrs)
    both = [(a, p[0], r[0]) for a, (_, p), r in zip(addrs, mine, ref)
            if r and r[0] != "?" and p[0] != "?"]
    bad = [b for b in both if b[1] != b[2]]
    tap.ok((len(both) > 20 or "clang" in name) and len(bad) <= limit,
           f"{name}: lines as eu-addr2line ({len(both)} known to both, {len(bad)} differ)")
    for b in bad[:6]:
        print("#  ", b)


def whole(line):
    """The file that a line of addr2line's or of ours names, whole."""
    return re.sub(r" \(.*\)$", "", line).split("\t")[0].rpartition(":")[0]


def full_names(lines_of, name, cc, flags):
    """Names that are relative to where the compiler ran, which DW_AT_comp_dir tells."""
    tool = "llvm-addr2line" if shutil.which("llvm-addr2line") else "addr2line"
    if not shutil.which(cc) or not shutil.which(tool):
        tap.skip(f"{name}: full names", f"no {cc} or {tool}")
        return
    with tempfile.TemporaryDirectory() as where:
        for d in ("inc", "src", "build"):
            os.mkdir(os.path.join(where, d))
        for n, t in C_CODE.items():
            with open(os.path.join(where, "inc" if n.endswith(".h") else "src", n), "w") as f:
                f.write(t)
        at = os.path.join(where, "build")
        r = run(cc, *flags.split(), "-I../inc", "../src/a.c", "../src/b.c", "-o", "prog", cwd=at)
        if r.returncode:
            tap.skip(f"{name}: full names", r.stderr.strip().split("\n")[0])
            return
        path = os.path.join(at, "prog")
        addrs = text_addresses(path)
        # asked from elsewhere: an answer that leans on the current directory would show
        mine = [whole(l) for l in run(lines_of, path, input="".join(f"{a:x}\n" for a in addrs),
                                      cwd="/").stdout.split("\n")[:-1]]
        ref = [whole(b[0]) if b else "" for b in blocks(tool, path, addrs, "-i")]
        both = [(os.path.normpath(m), os.path.normpath(r)) for m, r in zip(mine, ref)
                if "??" not in (m, r)]
        bad = [b for b in both if b[0] != b[1]]
        tap.ok(len(both) > 20 and len(bad) <= len(both) // 20 and
               {"a.c", "b.c", "util.h"} == {os.path.basename(m) for m, _ in both if m.startswith(where)},
               f"{name}: full names as {tool} ({len(both)}, {len(bad)} differ)", bad[:6])


def main():
    lines_of = os.path.abspath(sys.argv[1])
    for name, cc, flags in (("gcc-4", "gcc", "-O2 -g -gdwarf-4"), ("gcc-5", "gcc", "-O2 -g -gdwarf-5"),
                            ("clang-4", "clang", "-O2 -g -gdwarf-4"), ("clang-5", "clang", "-O2 -g -gdwarf-5"),
                            ("gcc-split", "gcc", "-O2 -g -gsplit-dwarf")):
        full_names(lines_of, name, cc, flags)
    for name, cc, flags, code, after in BUILDS:
        if not shutil.which(cc) or not shutil.which("addr2line"):
            tap.skip(name, f"no {cc} or addr2line")
            continue
        if after in ("dwz", "dwz-alt") and not shutil.which("dwz"):
            tap.skip(name, "no dwz")
            continue
        path, why = build(cc, flags, code, after)
        if not path:
            tap.skip(name, f"does not build here: {why}")
            continue
        twin = path
        if "-gsplit-dwarf" in flags:
            twin, _ = build(cc, flags.replace(" -gsplit-dwarf", ""), code, None)
        compare(name, lines_of, path, twin)
    PROGRAMS.cleanup()
    tap.done()


main()
