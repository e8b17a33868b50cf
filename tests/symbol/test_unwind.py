#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Chains unwound from recorded stacks against perf script's. usage: test_unwind.py UNWIND_OF"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, NO_SHARED, SHARED, Tap  # noqa: E402

LIB = """
int tiny(int x) { return x * 3 + 1; }
int back(int (*f)(int), int x) { return f(x) + 1; }
"""
CODE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
volatile long sink;
int tiny(int);
int back(int (*)(int), int);
#define NI __attribute__((noinline))
NI void spin(long n) { for (long i = 0; i < n; i++) sink += i * i; }
NI int deep(int n, long w) { volatile char pad[24]; pad[0] = (char)n; int r = n ? deep(n - 1, w) : (spin(w), 0); return r + pad[0]; }
static void on(int s) { (void)s; spin(100000); }
static int cmp(const void *a, const void *b) { spin(20); return *(const int *)a - *(const int *)b; }
static int inner(int x) { spin(2000); return x; }
NI void frame(int n) { char *p = __builtin_alloca(n); memset(p, n, n); spin(50000); sink += p[n / 2]; }
NI void plt(int n) { for (int i = 0; i < n; i++) sink += tiny(i); }
int main(int c, char **v)
{
    struct itimerval it = { { 0, 3000 }, { 0, 3000 } };
    int *a = malloc(4000 * sizeof(int));
    (void)v;
    signal(SIGALRM, on);
    setitimer(ITIMER_REAL, &it, NULL);
    for (int r = 0; r < 15 * c; r++) {
        for (int i = 0; i < 4000; i++) a[i] = rand();
        qsort(a, 4000, sizeof(int), cmp);
        deep(60, 100000);
        frame(100 + r * 7);
        plt(1000000);
        sink += back(inner, r);
        for (int i = 0; i < 1000; i++) { char b[100]; snprintf(b, sizeof(b), "%d %f", i, i * 1.5); sink += b[1]; }
    }
    return 0;
}
"""
VERY_DEEP = r"""
volatile long sink;
__attribute__((noinline)) int deep(int n) { volatile char pad[8]; pad[0] = (char)n;
    if (!n) { for (long i = 0; i < 60000000; i++) sink += i; return 0; }
    return deep(n - 1) + pad[0]; }
int main(void) { return deep(100000) & 1; }
"""
BUILDS = [
    ("gcc -O2", "gcc", "-O2 -fomit-frame-pointer", "/nothing"),
    ("gcc -O0", "gcc", "-O0 -Wl,-z,lazy", "/nothing"),
    ("clang -O1", "clang", "-O1 -fomit-frame-pointer -Wl,-z,lazy", "/nothing"),
    ("gcc -O2 .debug_frame", "gcc", "-O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables", "/x"),
]
PERF = os.environ.get("CYCLADE_PERF", "perf")
tap = Tap()


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, **kw)


def theirs(data):
    """(tid, time in us) -> addresses, innermost first."""
    out = run(PERF, "script", "-i", data, "--no-inline", "--max-stack", "4096", "-F", "tid,time,ip").stdout
    got = {}
    for block in out.split("\n\n"):
        ls = [l.split() for l in block.split("\n") if l.strip()]
        if ls and len(ls[0]) >= 2:
            t = ls[0][1].rstrip(":").split(".")
            got.setdefault((ls[0][0], int(t[0]) * 1000000 + int(t[1])), []).append(
                [int(l[0], 16) for l in ls[1:]])
    return got


def ours(unwind_of, data, *how):
    r = run(unwind_of, data, *how)
    got = []
    for l in r.stdout.split("\n")[:-1]:
        head, end, ips = l.split(":")
        tid, t = head.split()
        got.append(((tid, int(t) // 1000), int(end), [int(x, 16) for x in ips.split()]))
    return got, r


def agrees(mine, chain):
    """perf prints addresses within the file, and the call rather than the return behind it."""
    if len(mine) != len(chain):
        return False
    return all((a - b) % 4096 in (0, 1) for a, b in zip(mine, chain))


def compare(name, unwind_of, where, prog):
    data = os.path.join(where, "perf.data")
    r = run(PERF, "record", "-q", "--call-graph", "dwarf,16384", "-e", "cpu-clock:u", "-F", "1500",
            "-o", data, prog, cwd=where)
    if not os.path.exists(data):
        tap.skip(name, "perf cannot record here")
        return
    ref = theirs(data)
    mine, _ = ours(unwind_of, data)
    same, bad, longer, done = 0, [], 0, 0
    for key, end, ips in mine:
        done += end == 0
        chains = ref.get(key, [])
        if any(agrees(ips, c) for c in chains):
            same += 1
        elif any(len(c) < len(ips) and agrees(ips[:len(c)], c) for c in chains):
            longer += 1  # perf gave up where we went on
        else:
            bad.append((key, end, [hex(i) for i in ips[:9]], [[hex(i) for i in c[:9]] for c in chains]))
    print(f"# {name}: {len(mine)} samples, {same} as perf, {longer} go on where perf stops, "
          f"{len(bad)} differ, {done} reach the outermost frame")
    if ".debug_frame" in name and same * 10 < len(mine):  # a sample in the loader it may follow all the same
        tap.skip(f"{name}: chains as perf script", "this perf follows no chain without .eh_frame")
    else:
        tap.ok(len(mine) > 20 and len(bad) <= len(mine) // 50, f"{name}: chains as perf script")
    for b in bad[:4]:
        print("#  ", b)
    tap.ok(done >= len(mine) * 0.95, f"{name}: chains reach the outermost frame")
    live, r = ours(unwind_of, data, "live")
    tap.ok(sorted(live) == sorted(mine), f"{name}: unwound record by record, they are the same",
           f" {r.stderr} {len(live)} of {len(mine)}, {len(set(map(str, mine)) - set(map(str, live)))} differ")
    os.unlink(data)


def compressed(unwind_of, where):
    """A program whose .debug_frame is compressed, as `go build` does it: the same chains as before."""
    name, data, prog = "compressed .debug_frame", os.path.join(where, "c.data"), os.path.join(where, "packed")
    if run("gcc", *BUILDS[-1][2].split(), "-Wl,--build-id", os.path.join(where, "p.c"), os.path.join(where, "lib.c"), "-o", prog).returncode:
        return tap.skip(name, "does not build here")
    run(PERF, "record", "-q", "--call-graph", "dwarf,16384", "-e", "cpu-clock:u", "-F", "500", "-o", data, prog, cwd=where)
    if not os.path.exists(data):
        return tap.skip(name, "perf cannot record here")
    plain, _ = ours(unwind_of, data)
    whole = sum(end == 0 for _, end, _ in plain)
    for how in ("zlib", "zlib-gnu", "zstd"):
        if run("objcopy", "--compress-debug-sections=" + how, prog, prog + ".new").returncode:
            tap.skip(f"{name}, {how}", "this objcopy does not know it")
            continue
        os.rename(prog + ".new", prog)
        mine, _ = ours(unwind_of, data)
        tap.ok(whole > len(plain) / 2 and mine == plain, f"{name}, {how}: the same chains", f" {whole} of {len(plain)} whole, {sum(x == y for x, y in zip(mine, plain))} the same")
        run("objcopy", "--decompress-debug-sections", prog)
    run("objcopy", "--compress-debug-sections=zlib", prog)
    with open(prog, "r+b") as f:
        m = re.search(r"\.debug_frame\s+PROGBITS\s+\S+\s+(\S+)\s+(\S+)", run("readelf", "-SW", prog).stdout)
        f.seek(int(m[1], 16) + int(m[2], 16) // 2)
        f.write(bytes(200))
    r = run(CYCLADE, "report", "-g", "-q", "--no-cache", data)
    tap.ok(r.returncode == 0 and "packed: .debug_frame is damaged" in r.stderr, f"{name}: what cannot be unpacked is named", f" {r.stderr[:300]}")
    os.unlink(data)
    return None


def very_deep(unwind_of, where):
    src, prog, data = (os.path.join(where, n) for n in ("d.c", "d", "d.data"))
    with open(src, "w") as f:
        f.write(VERY_DEEP)
    run("gcc", "-O1", "-fomit-frame-pointer", src, "-o", prog)
    run(PERF, "record", "-q", "--call-graph", "dwarf,65528", "-e", "cpu-clock:u", "-F", "200",
        "-o", data, "bash", "-c", f"ulimit -s unlimited; exec {prog}", cwd=where)
    if not os.path.exists(data):
        tap.skip("very deep", "perf cannot record here")
        return
    mine, r = ours(unwind_of, data)
    deep = [m for m in mine if len(m[2]) > 1000]
    cut = [m for m in deep if m[1] in (3, 4)]
    # 0: the outermost frame, of a sample while there is little stack yet
    tap.ok(r.returncode == 0 and cut and all(m in cut or m[1] == 0 for m in deep),
           f"100,000 frames: {len(cut)} chains end where the recorded stack ends",
           f" {r.stderr.strip()[:200]} {[(m[1], len(m[2])) for m in mine]}")


def corpus(unwind_of):
    files = sorted(glob.glob(os.path.join(SHARED, "corpus/recordings/*")))
    if not files:
        tap.skip("corpus", NO_SHARED)
        return
    bad = [f for f in files if run(unwind_of, f).returncode < 0]
    tap.ok(not bad, f"{len(files)} recordings from elsewhere do no harm", " " + " ".join(bad))


def main():
    unwind_of = os.path.abspath(sys.argv[1])
    if not shutil.which(PERF) or not shutil.which("gcc") or os.uname().machine != "x86_64":
        print("1..0 # SKIP needs perf, gcc and x86-64")
        return
    with tempfile.TemporaryDirectory() as where:
        for n, t in (("lib.c", LIB), ("p.c", CODE)):
            with open(os.path.join(where, n), "w") as f:
                f.write(t)
        for i, (name, cc, flags, _) in enumerate(BUILDS):
            if not shutil.which(cc):
                tap.skip(name, f"no {cc}")
                continue
            lib, prog = os.path.join(where, f"libt{i}.so"), os.path.join(where, f"p{i}")
            if run(cc, *flags.split(), "-shared", "-fPIC", os.path.join(where, "lib.c"), "-o", lib).returncode or \
               run(cc, *flags.split(), os.path.join(where, "p.c"), "-o", prog, lib).returncode:
                tap.skip(name, "does not build here")
                continue
            compare(name, unwind_of, where, prog)
        compressed(unwind_of, where)
        very_deep(unwind_of, where)
    corpus(unwind_of)
    tap.done()


main()
