#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What profiles for compilers are made of (the linkage name of each frame, the line it was declared
at, the line and its discriminator), against llvm-symbolizer. usage: test_discriminators.py LINES_OF"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

CODE = """
#include <cstdio>
#include <vector>
namespace n {
struct Sum {
    long s = 0;
    inline __attribute__((always_inline)) void add(int x) { s += x & 1 ? x : x & 2 ? 2 * x : -x; }
};
template <typename T>
static inline __attribute__((always_inline)) long all(const std::vector<T> &v)
{
    Sum s;
    for (auto x : v) if (x > 3) s.add(x); else s.add(-x), s.add(x / 3);
    return s.s;
}
__attribute__((noinline)) long work(const std::vector<int> &v, int k)
{
    long r = 0;
    for (int i = 0; i < k; i++) r += i & 4 ? all(v) : i & 1 ? 3 : all(v) * 2;
    return r;
}
}
int main(int argc, char **argv)
{
    std::vector<int> v;
    for (int i = 0; i < 100; i++) v.push_back(i * argc);
    return std::printf("%ld\\n", n::work(v, argc + 5)) < 0;
}
"""
BUILDS = ["clang++ -O2 -g -fdebug-info-for-profiling -gdwarf-4", "clang++ -O2 -g -fdebug-info-for-profiling -gdwarf-5",
          "clang++ -O2 -gline-tables-only -fdebug-info-for-profiling", "g++ -O2 -g -gdwarf-4", "g++ -O2 -g"]
t = Tap()


def text_addresses(path):
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    m = re.search(r"\] \.text\s+PROGBITS\s+(\w+) (\w+) (\w+)", out)
    return list(range(int(m[1], 16), int(m[1], 16) + int(m[3], 16), 3))


def referee(path, addrs):
    text = "".join("0x%x\n" % a for a in addrs)
    out = subprocess.run(["llvm-symbolizer", "--verbose", "--no-demangle", "--obj=" + path], input=text,
                         capture_output=True, text=True, check=True).stdout
    got = []
    for block in out.split("\n\n")[:len(addrs)]:
        frames = []
        for f in re.split(r"^(?=\S)", block.strip("\n"), flags=re.M)[1:]:
            def field(name, text=f):
                m = re.search(r"^  %s: (\d+)$" % name, text, re.M)
                return int(m[1]) if m else 0
            # the symbol table's name of a part that was moved away; DWARF knows the whole
            name = re.sub(r"\.cold$", "", f.split("\n")[0])
            frames.append("%s %d %d %d" % (name, field("Function start line"), field("Line"),
                                           field("Discriminator")))
        got.append(frames)
    return got


def main():
    lines_of = os.path.abspath(sys.argv[1])
    for build in BUILDS:
        cc = build.split()[0]
        if not shutil.which(cc) or not shutil.which("llvm-symbolizer"):
            t.skip(build, "no %s or llvm-symbolizer" % cc)
            continue
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "prog")
            with open(path + ".cc", "w", encoding="ascii") as f:
                f.write(CODE)
            r = subprocess.run(build.split() + [path + ".cc", "-o", path], capture_output=True, text=True, check=False)
            if r.returncode:
                t.skip(build, "does not build here: " + r.stderr.split("\n")[0])
                continue
            addrs = text_addresses(path)
            mine = subprocess.run([lines_of, path, "frames"], input="".join("%x\n" % a for a in addrs),
                                  capture_output=True, text=True, check=True).stdout.split("\n")
            ref = referee(path, addrs)
            bad, known, deep, marked = [], 0, 0, set()
            for a, m, want in zip(addrs, mine, ref):
                m = [x for x in m.split("\t") if x]
                if want and want[0].startswith("??") or not m:
                    continue
                known += 1
                deep += len(want) > 1
                marked |= {x.split()[3] for x in want}
                if m != want:
                    bad.append("%x: %s is %s" % (a, m, want))
            t.ok(known > 100 and deep > 20 and len(marked) > 2 and len(bad) <= known // 200,
                 "%s: %d addresses as llvm-symbolizer (%d inlined, %d discriminators, %d differ)"
                 % (build, known, deep, len(marked), len(bad)), "\n".join(bad[:8]))
    t.done()


main()
