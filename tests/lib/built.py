# SPDX-License-Identifier: BSD-3-Clause
"""built - C programs compiled by gcc, and recordings of their functions: so many samples in each, anywhere in its code.

    p = Built("/tmp/x/prog", text, "-O2", "-g")
    p.record("/tmp/x/a.data", {"main": 100, "probe": 300}, random.Random(1))
    p.record("/tmp/x/b.data", {17: 100}, random.Random(1))      # at line 17, with -g
    functions(rng, 12)      # C text of so many functions that are not alike: [(name, body)]
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

BASE, ID, PERIOD = 0x550000000000, 7, 100003
TYPE = "IDENTIFIER IP TID TIME CPU PERIOD".split()


class Built:
    def __init__(self, path, text, *flags):
        self.path = os.path.abspath(path)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        source = os.path.join(os.path.dirname(self.path), "prog.c")
        with open(source, "w") as f:
            f.write(text)
        subprocess.run(["gcc", *flags, "-fPIE", "-pie", "-o", self.path, source], check=True)
        self.at = {}
        for line in subprocess.run(["nm", "-S", self.path], capture_output=True, text=True, check=True).stdout.splitlines():
            word = line.split()
            if len(word) == 4 and word[2] in "tTwW":
                self.at[word[3]] = int(word[0], 16), int(word[1], 16)
        for line in subprocess.run(["readelf", "-lW", self.path], capture_output=True, text=True, check=True).stdout.splitlines():
            word = line.split()
            if word[:1] == ["LOAD"] and "E" in word[6:-1]:
                self.offset, self.vaddr, self.size = [int(x, 16) for x in (word[1], word[2], word[5])]

    def lines(self):
        """{line: addresses that the line table has for it}"""
        out = {}
        for line in subprocess.run(["readelf", "--debug-dump=decodedline", self.path], capture_output=True, text=True, check=True).stdout.splitlines():
            word = line.split()
            if len(word) >= 3 and word[0] == "prog.c" and word[1].isdigit():
                out.setdefault(int(word[1]), []).append(int(word[2], 16))
        return out

    def rows(self, w, counts, rng, base, tail, caller=None):
        """Of a recording: that the file is there, and its samples."""
        rows = [w.record(gen.MMAP, w.pack("IIQQQ", 20, 20, base + self.vaddr, (self.size + 4095) & -4096, self.offset) +
                         gen.text8(self.path) + tail, 2)]
        lines = self.lines() if any(isinstance(k, int) for k in counts) else {}
        for name, n in counts.items():
            places = lines[name] if isinstance(name, int) else None
            start, size = (0, 0) if places else self.at[name]
            for i in range(n):
                at = places[0] if places else start + rng.randrange(size)
                rows.append(w.record(gen.SAMPLE, w.u64(ID, base + at) + w.pack("IIQII", 20, 20, 10 + i * 1000, 0, 0) +
                                     w.u64(PERIOD, *([3, 2**64 - 512, base + at, base + self.at[caller][0] + 8] if caller else [])), 2))
        return rows

    def record(self, path, counts, rng, also=(), caller=None):
        """also: [(file, counts)] that are in the process, too; caller: samples have call chains, of this function"""
        w = gen.Writer("<")
        a = dict(type=0, config=0, period=PERIOD, sample=sum(gen.BIT[n] for n in TYPE + ["CALLCHAIN"] * bool(caller)), sample_id_all=1, mmap=1, comm=1)
        f = gen.File(w, [("cycles", a, [ID])], attr_size=120)
        f.features = {6: w.text("x86_64"), 9: w.text("GenuineIntel,6,143,8")}
        tail = w.pack("IIQII", 20, 20, 1, 0, 0) + w.u64(ID)
        rows = [w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("job") + tail)]
        for i, (built, n) in enumerate([(self, counts), *also]):
            rows += built.rows(w, n, rng, BASE + (i << 32), tail, caller)
        f.data = b"".join(rows)
        with open(path, "wb") as out:
            out.write(f.build())
        return path


HEAD = """#include <stdint.h>
#include <stdlib.h>
volatile uint64_t sink; uint64_t data[4096]; double real[4096];
"""
PIECES = [
    "for (int i = 0; i < %(n)d; i++) x += data[(x ^ i) & 4095] * %(k)d;",
    "while (x > %(k)d) x = x & 1 ? x * 3 + 1 : x >> %(s)d;",
    "for (int i = 1; i < %(n)d; i++) { if (data[i] < data[i - 1]) { uint64_t t = data[i]; data[i] = data[i - 1]; data[i - 1] = t; } }",
    "switch (x & 7) { case 0: x += %(k)d; break; case 1: x ^= %(n)d; break; case 3: x = x << %(s)d; break; case 5: sink = x; break; case 6: x /= %(k)d; break; }",
    "for (int i = 0; i < %(n)d; i++) real[i] = real[i] * 1.%(k)d + real[(i * %(k)d) & 4095];",
    "x = (x << %(s)d | x >> (64 - %(s)d)) ^ %(k)dull; x *= 0x9e3779b97f4a7c15ull;",
    "if (x %% %(k)d == 3) sink += x; else if (x %% %(n)d == 1) x -= sink;",
    "for (uint64_t y = x; y; y &= y - 1) x += %(k)d;",
    "{ uint8_t *b = (uint8_t *)data; for (int i = 0; i < %(n)d; i++) x = x * 31 + b[i]; }",
]


def body(rng, pieces=4):
    return " ".join(p % dict(n=rng.randrange(40, 4000), k=rng.randrange(3, 99), s=rng.randrange(3, 29))
                    for p in rng.sample(PIECES, pieces))


def functions(rng, n):
    return [("f%d" % i, body(rng)) for i in range(n)]


def text(fs, main=None):
    """Functions that are never inlined unless they say so; main calls those of `main` (None: all)."""
    out = HEAD
    for f in fs:
        name, inside = f[:2]
        out += "%s uint64_t %s(uint64_t x) { %s return x; }\n" % (f[2] if len(f) > 2 else "__attribute__((noinline, noclone))", name, inside)
    calls = " ".join("x = %s(x);" % name for name in (main if main is not None else [f[0] for f in fs]))
    return out + "int main(int n, char **v) { uint64_t x = (uint64_t)n; (void)v; for (int i = 0; i < 1000; i++) { %s } return (int)x; }\n" % calls
