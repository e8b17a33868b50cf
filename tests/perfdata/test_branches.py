#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Branches counted by where they go from and to (report -b).

Made recordings of both byte orders, whose branches are counted here one by one; and the recordings of
../shared that have branch stacks, against perf report -b (row by row) and perf script (flags)."""
import collections
import functools
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import gen  # noqa: E402
from draws import Draws  # noqa: E402
from tables import walk  # noqa: E402
from tap import CYCLADE, NO_SHARED, PERF, SHARED, Tap, run  # noqa: E402

TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD BRANCH_STACK".split())
KEYS = "comm,dso_from,address_from,dso_to,address_to"
COUNTS = ["branches", "mispredicts", "predicts", "in_tx", "aborts", "cycles"]


def ours(path, keys=KEYS, *more, cpus=None):
    """{values of the keys: counts}"""
    argv = (["taskset", "-c", "0"] if cpus == 1 else []) + [
        CYCLADE, "report", "-b", "-i", path, "--format", "csv", "--min", "0", "-s", keys, "--no-cache",
        "--fields", ",".join(COUNTS + ["mispredicted"] + keys.split(",")), "--sysroot", "/proc/self/task", *more]
    p = subprocess.run(argv, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600)
    if p.returncode:
        return p.stderr
    rows = {}
    for r in csv.DictReader(io.StringIO(p.stdout)):
        # files of one base name have more of their paths with us, perf has the base names
        rows[tuple(re.sub(r"^\w[\w./-]*/", "", r[k]) if k.startswith("dso") else r[k] for k in keys.split(","))] = \
            [r[c] for c in COUNTS] + [r["mispredicted"]]
    return rows


# ---- made ones ----

PLACES = {  # where addresses lie: (pid, before the exec) -> (path, start, len, pgoff)
    (20, True): [("/made/one", 0x400000, 0x10000, 0), ("/made/lib.so", 0x7f0000000000, 0x8000, 0x3000)],
    (20, False): [("/made/two", 0x400000, 0x10000, 0x1000)],
    (30, True): [("/made/three", 0x400000, 0x20000, 0)],
    (30, False): [("/made/three", 0x400000, 0x20000, 0)],
}
EXEC = 5000


def place(pid, time, ip):
    return place_of(pid, time < EXEC, ip)


@functools.lru_cache(maxsize=None)
def place_of(pid, early, ip):
    for path, start, size, off in PLACES[pid, early]:
        if start <= ip < start + size:
            return os.path.basename(path), "0x%x" % (ip - start + off)
    return "[unknown]", "0x%x" % ip


def mmaps(w, pid, early):
    for path, start, size, off in PLACES[pid, early]:
        yield w.record(gen.MMAP2, w.pack("IIQQQIIQQII", pid, pid, start, size, off, 8, 1, 42, 0, 5, 2) +
                       gen.text8(path) + w.pack("IIQIIQ", pid, pid, 1 if early else EXEC, 0, 0, 100), 2)


def make(order, n, br, told=True, seed=3):
    rnd, w = Draws(seed), gen.Writer(order)
    a = dict(type=0, config=0, period=1000, sample=TYPE, br=br, sample_id_all=1)
    f = gen.File(w, [("cycles", a, [100])], attr_size=112)
    data, want = [], collections.defaultdict(lambda: [0] * 7)
    for pid, comm in ((20, "first"), (30, "other")):
        data.append(w.record(gen.COMM, w.pack("II", pid, pid) + gen.text8(comm) +
                             w.pack("IIQIIQ", pid, pid, 1, 0, 0, 100)))
        data += mmaps(w, pid, True)
    data.append(w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("second") +
                         w.pack("IIQIIQ", 20, 20, EXEC, 0, 0, 100), 1 << 13))
    data += mmaps(w, 20, False)
    ips = [0x400000 + 4 * i for i in range(40)] + [0x7f0000000010, 0x7f0000000020, 0x123456]
    stacks = 0
    for i in range(n):
        pid, time = rnd.choice((20, 30)), rnd.randrange(100, 2 * EXEC)
        entries = []
        for _ in range(rnd.choice((0, 1, 8, 32))):
            miss = rnd.randrange(5) == 0
            flags = dict(mispred=int(miss and told), predicted=int(told and not miss), in_tx=int(rnd.randrange(9) == 0),
                         abort=int(rnd.randrange(50) == 0), cycles=rnd.choice((0, 1, 7, 300, 65535)), type=3, spec=0,
                         new_type=0, priv=2)
            entries.append((rnd.choice(ips), rnd.choice(ips), flags, 0))
        stacks += bool(entries)
        for fr, to, fl, _ in entries:
            comm = "other" if pid == 30 else "first" if time < EXEC else "second"
            c = want[(comm, *place(pid, time, fr), *place(pid, time, to))]
            for k, v in enumerate((1, fl["mispred"], fl["predicted"], fl["in_tx"], fl["abort"], fl["cycles"],
                                   fl["cycles"] > 0)):
                c[k] += v
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(pid, pid), TIME=time, IP=0x400000, CPU=0, PERIOD=1000, BRANCH_STACK=(3, entries))
        data.append(s.record(w, a))
    s = gen.Sample(1, 100)  # says it has more than there is
    s.v.update(TID=(30, 30), TIME=200, CPU=0, PERIOD=1000, BRANCH_STACK=(3, []))
    body = b"".join(s.field(w, a, k) for k in gen.FIXED if TYPE & gen.BIT[k]) + w.u64(1 << 60, 1, 2, 3)
    data.append(w.record(gen.SAMPLE, body, 2))
    f.data = b"".join(data)
    rows = {}
    for key, (n_, miss, hit, tx, abort, cycles, timed) in want.items():
        share = miss / (miss + hit) if miss + hit else None
        rows[key] = [str(n_), str(miss), str(hit), str(tx), str(abort),
                     str((cycles + timed // 2) // timed) if timed else "", share]
    return f.build(), rows, stacks


def same(got, want):
    """Rows agree; shares to the digits that were printed."""
    if isinstance(got, str) or set(got) != set(want):
        return False
    for key, w in want.items():
        g = got[key]
        if g[:6] != w[:6] or (g[6] == "") != (w[6] is None) or (w[6] is not None and abs(float(g[6]) - w[6]) > 1e-4):
            return False
    return True


def differences(got, want):
    if isinstance(got, str):
        return got
    return "\n".join("%s: got %s want %s" % (k, got.get(k), want.get(k)) for k in sorted(set(got) | set(want))
                     if got.get(k, [])[:6] != want.get(k, [])[:6])


def made(t, d):
    path = os.path.join(d, "made")
    cases = {
        "little-endian": ("<", 3000, 0, True),
        "big-endian": (">", 3000, 0, True),
        "with a hardware index": ("<", 3000, gen.HW_INDEX, True),
        "with counters, big-endian": (">", 2000, gen.HW_INDEX | gen.COUNTERS, True),
        "a processor that does not tell": ("<", 1000, 0, False),
        "many chunks": ("<", 20000, 0, True),
    }
    for name, how in cases.items():
        data, want, stacks = make(*how)
        with open(path, "wb") as f:
            f.write(data)
        got = ours(path)
        t.ok(same(got, want), "%s: %d pairs as counted here" % (name, len(want)), differences(got, want))
        t.equal(ours(path, cpus=1), got, name + ": one worker or many, the same")
        merged = collections.Counter()  # without comm, only the time tells what was mapped
        for k, v in want.items():
            merged[k[1:]] += int(v[0])
        t.equal({k: int(v[0]) for k, v in ours(path, KEYS[5:]).items()}, dict(merged), name + ": before and after exec")
        j = json.loads(run("report", "-b", "-j", "-i", path, "--no-cache").stdout)["events"][0]
        t.equal([j["samples_with_branches"], j["samples_without_branches"], j["not_readable"]], [stacks, how[1] - stacks, 1],
                name + ": what is missing is told")
        term = run("report", "-b", "--min", "0", "-i", path, "--no-cache").stdout
        t.ok("no branches  " in term and "not readable  " in term, name + ": to people, too", term[-600:])
        t.ok("{:,} branches in {:,} samples".format(sum(int(v[0]) for v in want.values()), stacks) in term,
             name + ": the title says how many", term[:300])
        if how[3] is False:
            t.ok(" ? " in term, name + ": and the table does not say 0 %", term[:800])


def narrow(t, d):
    """80 columns of code without names: addresses are told apart by their ends, which stay."""
    path, env = os.path.join(d, "narrow"), dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8")
    with open(path, "wb") as f:
        f.write(make("<", 3000, 1 << 3)[0])
    words = ["report", "-b", "-i", path, "--no-cache", "--min", "0", "--limit", "30", "--sysroot", "/proc/self/task"]
    rows = json.loads(run(*words, "-j").stdout)["rows"]
    walk(t, *words)
    p = run(*words, env=env)
    lines = p.stdout.splitlines()
    table = lines[5:lines.index("", 5)]
    t.ok(len(table) == len(rows) == 31 and all(len(x) <= 80 for x in lines if "cyclade" not in x), "80 columns", p.stdout)
    bad = []
    for line, row in zip(table[:-1], rows):
        cell = line.split()
        for text, key in ((cell[-3], "function_from"), (cell[-1], "function_to")):
            shown = text.lstrip("\u2026")
            shown = shown[2:] if shown.startswith("0x") else shown
            if not row[key].endswith(shown) or len(shown) < min(6, len(row[key][2:].lstrip("0"))):
                bad.append((line, row[key]))
    t.equal(bad, [], "80 columns: what differs of an address is shown")
    t.ok(table[-1].endswith("({:,} more)".format(rows[-1]["folded"])), "80 columns: how many more is not cut", table[-1])
    t.ok("cyclade calls" in p.stdout, "branches lead to calls", p.stdout[-300:])
    for word in ("--autofdo", "--propeller", "--bolt", "--symbol-order"):
        p = run("export", word, "-i", path, "-o", path + ".out", "--no-cache")
        t.ok(p.returncode == 2 and "the file is not here" in p.stderr and "--symbols DIR" in p.stderr,
             "export %s of a program that is not here says so" % word, p.stderr)
    with open(path, "wb") as f:
        f.write(make("<", 300, 1 << 11)[0])
    p = run(*words, env=env)
    t.ok(p.returncode == 0 and "next:" in p.stdout and "cyclade calls" not in p.stdout,
         "but those of call-stack mode, which hold none, do not", p.stdout[-300:])


# ---- real ones ----

def perfs_rows(path):
    """{(comm, dso_from, dso_to, sym_from, sym_to): branches}; None: perf cannot read it"""
    keys = "comm,dso_from,symbol_from,dso_to,symbol_to"
    p = subprocess.run([PERF, "report", "-b", "--stdio", "-i", path, "--percent-limit", "0", "-t", "|", "-F", "sample," + keys,
 "--symfs", "/nonexistent", "--kallsyms", "/dev/null", "--no-demangle"],
                       capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600)
    if p.returncode:
        return None
    rows = collections.Counter()
    for line in p.stdout.splitlines():
        f = [x.strip() for x in line.split("|")]
        if line.startswith("#") or len(f) < 6 or not f[0].isdigit():
            continue
        rows[f[1], f[2], re.sub(r"^\[.\] ", "", f[3]), f[4], re.sub(r"^\[.\] ", "", f[5])] += int(f[0])
    return rows


def perfs_flags(path):
    p = subprocess.run([PERF, "script", "-F", "brstack", "-i", path], capture_output=True, text=True,
                       errors="replace", stdin=subprocess.DEVNULL, timeout=600)
    n = collections.Counter()
    for word in p.stdout.split():
        f = word.split("/")
        n["all"] += 1
        n["M"] += "M" in f[2]
        n["P"] += f[2] == "P"
        n["X"] += f[3] == "X"
        n["A"] += f[4] == "A"
    return [n["all"], n["M"], n["P"], n["X"], n["A"]]


def corpus(t):
    folder = os.path.join(SHARED, "corpus", "recordings")
    if not PERF or not os.path.isdir(folder):
        t.skip("real recordings", NO_SHARED if PERF else "no perf here")
        return
    seen = 0
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        said = run("report", "-b", "-i", path, "--format", "csv", "--no-cache")
        if said.returncode and "no branch stacks" in said.stderr:
            continue
        flags = perfs_flags(path)
        if said.returncode or not flags[0]:
            t.skip(name, "not read by one of the two")
            continue
        seen += 1
        rows = ours(path, "comm,dso_from,function_from,dso_to,function_to")
        got = [sum(int(r[i]) for r in rows.values()) for i in range(5)]
        t.equal(got, flags, name + ": entries and flags as perf script prints them")
        want = perfs_rows(path)
        if want is None:
            t.skip(name + ": rows", "perf report -b fails on it")
            continue
        mine = collections.Counter()
        for k, r in rows.items():  # perf cuts file names here, and calls anonymous memory's by another
            name_of = lambda s: re.sub(r"^perf-(\d+)\.map$", r"[JIT] tid \1", s)[:20]  # noqa: E731
            mine[k[0], name_of(k[1]), k[2], name_of(k[3]), k[4]] += int(r[0])
        # what was nowhere mapped, or is kernel code of which no mapping was recorded, perf places by
        # guesses of its own
        odd = lambda k: any(x.startswith("[") and x[:4] != "[JIT" or not x for x in (k[1], k[3]))  # noqa: E731
        t.equal({k: v for k, v in mine.items() if not odd(k)}, {k: v for k, v in want.items() if not odd(k)},
                "%s: %d rows as in perf report -b" % (name, sum(not odd(k) for k in want)))
        t.equal(sum(mine.values()), sum(want.values()), name + ": and as many branches in all")
    t.ok(seen >= 5 or not seen, "recordings with branch stacks were found: %d" % seen)


def refusals(t, d):
    path = os.path.join(d, "made")
    data, _, _ = make("<", 10, 0)
    with open(path, "wb") as f:
        f.write(data)
    for argv, why in ((["-s", "dso,sym"], "of branches: a key of samples"), (["-g"], "branches and calls at once"),
                      (["--fields", "+error"], "no error bars")):
        p = run("report", "-b", "-i", path, *argv)
        t.ok(p.returncode == 2 and "cyclade: " in p.stderr, why + " is refused", p.stdout[:300] + p.stderr)
    pairs = [run("report", *b, "--no-cache", "-s", "symbol_from,symbol_to", "-i", path).stdout for b in ((), ("-b",))]
    t.ok(pairs[0] and pairs[0] == pairs[1], "keys of branches need no -b", pairs[0][:500])
    p = run("report", "-s", "sym_from,dso", "-i", path)
    t.ok(p.returncode == 2 and "dso" in p.stderr, "but do not go with those of samples", p.stderr)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        made(t, d)
        narrow(t, d)
        refusals(t, d)
    corpus(t)
    t.done()


if __name__ == "__main__":
    main()
