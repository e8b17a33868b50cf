#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade export: pprof, Firefox and folded stacks, read by independent readers and held against what
report tells of the same recording (and perf, of the times)."""
import collections
import glob
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import account_made  # noqa: E402
import gen  # noqa: E402
from exported import Firefox, Pprof  # noqa: E402
from tap import CYCLADE, NO_SHARED, PERF, SHARED, Tap, run  # noqa: E402

CODE = """
#define _GNU_SOURCE
#include <pthread.h>
static volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	for (int i = 0; i < 50; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}
__attribute__((noinline)) void tick(void) { sink++; }
__attribute__((noinline)) void leaf(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += mix(i), tick();
}
__attribute__((noinline)) void one(void) { leaf(300000); sink++; }
__attribute__((noinline)) void two(void) { leaf(900000); sink++; }
static void *other(void *p) { (void)p; pthread_setname_np(pthread_self(), "odd;\\033[1m"); one(); two(); return 0; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, other, 0);
	for (int i = 0; i < 3; i++)
		one(), two();
	pthread_join(t, 0);
	return 0;
}
"""
t = Tap()
tmp = tempfile.mkdtemp()


def export(path, *words, ok=True):
    out = os.path.join(tmp, "out")
    if os.path.exists(out):
        os.remove(out)
    r = run("export", path, *words, "-o", out)
    if ok and r.returncode:
        print("# export %s: %s" % (" ".join(words), r.stderr.strip()))
    with open(out, "rb") as f:
        return f.read()


def safe(name):
    return name.replace(";", ":")


def folded(path, *words):
    """{stack without the thread's name: weight}."""
    got = collections.Counter()
    for line in run("export", path, "--folded", *words).stdout.splitlines():
        stack, _, n = line.rpartition(" ")
        got[stack] += int(n)
    return got


def totals(path):
    r = json.loads(run("report", "-j", path).stdout)
    return {e["event"]: (e["samples"], e["period"]) for e in r["events"] if e["samples"]}


def check_sums(name, path):
    """Sums of every event, in both formats; any chain or none."""
    want = totals(path)
    p = Pprof(export(path, "--pprof"))
    got = {}
    for i in range(0, len(p.types), 2):
        assert p.types[i][1] == "count" and p.types[i][0].endswith("samples")
        got[p.types[i + 1][0]] = tuple(sum(v[k] for _, v, _ in p.samples) for k in (i, i + 1))
    t.equal(got, want, "%s: pprof has all of %d events" % (name, len(want)))
    f = Firefox(export(path, "--firefox"))
    n = sum(len(x["samples"]["stack"]) for x in f.threads)
    t.equal(n, max(v[0] for v in want.values()) if want else 0, name + ": firefox has all of the largest event")
    return p, f


def check_stacks(path, p, f):
    want = folded(path)
    got = collections.Counter()
    for stack, values, labels in p.samples:
        got[";".join(safe(x) for x in [labels["comm"]] + p.frames(stack))] += values[1]
    t.ok(got == want, "pprof: %d stacks as folded, frame by frame" % len(want),
         "\n".join(map(str, list((got - want).items())[:3] + list((want - got).items())[:3])))
    period = collections.Counter()
    for x in f.threads:
        for s in x["samples"]["stack"]:
            period[";".join(safe(n) for n in [x["name"]] + f.frames(s))] += 1
    count = collections.Counter()
    for stack, values, labels in p.samples:
        # pprof leaves what has no name to its user
        if all(p.locations[s]["lines"] for s in stack):
            count[";".join(safe(x) for x in [labels["comm"]] + p.frames(stack))] += values[0]
    t.ok(len(count) > 3 and all(period[k] == v for k, v in count.items()), "firefox: the same stacks",
         "\n".join("%s: %d is %d" % (k, period[k], v) for k, v in count.items() if period[k] != v))


def check_lines(p, source):
    """The line of each frame lies in the function that it names."""
    text = source.splitlines()
    first = {n: next(i for i, x in enumerate(text, 1) if re.search(r"\b%s\(" % n, x)) for n in ("mix", "leaf", "one")}
    seen = collections.defaultdict(set)
    inlined = 0
    for row in p.locations.values():
        names = [p.name(f) for f, _ in row["lines"]]
        inlined += names[:2] == ["mix", "leaf"]
        for f, line in row["lines"]:
            seen[p.name(f)].add(line)
    t.ok(inlined and seen["mix"] <= set(range(first["mix"], first["mix"] + 6)) and
         seen["leaf"] <= set(range(first["leaf"], first["leaf"] + 5)) and seen["one"] == {first["one"]},
         "pprof: inlined calls, innermost first, with their lines", "%s %s" % (dict(seen), first))
    starts = {p.name(f): row.get(5, 0) for f, row in p.functions.items() if p.name(f) in first}
    t.equal(starts, first, "pprof: each function begins in its line, inlined or not")


def check_mapping(p, prog):
    """From mapping and program headers the file's own addresses come out again, as pprof reckons."""
    m = [x for x in p.mappings.values() if p.strings[x[5]] == os.path.realpath(prog)]
    if not t.equal(len(m), 1, "pprof: the program is mapped once"):
        return
    m = m[0]
    t.ok(next(iter(p.mappings.values())) is m, "pprof: its mapping comes first")
    notes = subprocess.run(["readelf", "-nW", prog], capture_output=True, text=True, check=True).stdout
    t.ok("Build ID: " + p.strings[m[6]] in notes and p.strings[m[6]], "pprof: build-id")
    heads = subprocess.run(["readelf", "-lW", prog], capture_output=True, text=True, check=True).stdout
    off, vaddr = re.search(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ 0x\w+ R E", heads).groups()
    base = m[2] - m.get(4, 0) + int(off, 16) - int(vaddr, 16)
    syms = subprocess.run(["readelf", "-sW", prog], capture_output=True, text=True, check=True).stdout
    value, size = re.search(r": (\w+)\s+(\d+) FUNC .* leaf$", syms, re.M).groups()
    addrs = [r[3] - base for r in p.locations.values() if r["lines"] and p.name(r["lines"][-1][0]) == "leaf"]
    t.ok(addrs and all(0 <= a - int(value, 16) < int(size) for a in addrs), "pprof: addresses are the file's")


def check_times(f, path):
    if not PERF:
        t.skip("firefox: times as perf has them", "no perf")
        return
    r = subprocess.run([PERF, "script", "-i", path, "--ns", "-F", "tid,time"], capture_output=True, text=True, check=False)
    want = collections.defaultdict(list)
    for line in r.stdout.splitlines():
        m = re.match(r"\s*(\d+)\s+(\d+)\.(\d+):\s*$", line)
        if m:
            want[m[1]].append(int(m[2]) * 10**9 + int(m[3]))
    first = min(min(v) for v in want.values())
    got = collections.defaultdict(list)
    for x in f.threads:
        got[x["tid"]] += f.times(x)
    same = set(got) == set(want) and all(
        len(got[k]) == len(v) and all(abs(a - (b - first) / 1e6) < 1e-3 for a, b in zip(sorted(got[k]), sorted(v)))
        for k, v in want.items())
    t.ok(same, "firefox: each thread's times as perf script has them", "%s %s" % (sorted(got), sorted(want)))


def live():
    prog, data = os.path.join(tmp, "prog"), os.path.join(tmp, "p.data")
    with open(prog + ".c", "w", encoding="ascii") as f:
        f.write(CODE)
    cc = shutil.which("gcc") or shutil.which("cc")
    if not cc:
        return t.skip("a recording made here", "no compiler")
    subprocess.run([cc, "-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", prog + ".c",
                    "-o", prog], check=True)
    r = run("record", "-e", "cpu-clock", "-F", "3000", "-g", "--user", "-o", data, "--", prog)
    if r.returncode:
        return t.skip("a recording made here", r.stderr)
    p, f = check_sums("live", data)
    t.ok(p.types[1] == ("cpu-clock", "nanoseconds") or p.types[1] == ("cpu-clock:u", "nanoseconds"),
         "pprof: time is in nanoseconds", p.types)
    check_stacks(data, p, f)
    check_lines(p, CODE)
    check_mapping(p, prog)
    check_times(f, data)
    t.ok(any("\\x1b" in x["name"] for x in f.threads) and "\x1b" not in "".join(f.strings) and
         "\x1b" not in "".join(p.strings), "what a terminal should not see is escaped")
    again = export(data, "--pprof") == export(data, "--pprof") and export(data, "--firefox") == export(data, "--firefox")
    t.ok(again, "the same recording gives the same bytes")
    tid = [x["tid"] for x in f.threads if x["tid"] != x["pid"]][0]
    only = Firefox(export(data, "--firefox", "--only-tid", tid))
    t.equal([x["tid"] for x in only.threads], [tid], "--only-tid")
    words_and_refusals(data)


def words_and_refusals(data):
    r = run("export", data)
    t.ok(r.returncode == 2 and "--pprof" in r.stderr, "no format: says which there are", r.stderr)
    r = run("export", data, "--pprof", "--firefox")
    t.ok(r.returncode == 2 and "one format" in r.stderr, "two formats", r.stderr)
    r = run("export", data, "--folded", env=dict(os.environ, CYCLADE_OPTS="--pprof"))
    t.ok(r.returncode == 0 and r.stdout.count("\n") > 2, "the command line goes before CYCLADE_OPTS", r.stderr)
    r = run("export", data, "--pprof", "-e", "nothing")
    t.ok(r.returncode == 2 and "nothing" in r.stderr, "no such event", r.stderr)
    out = os.path.join(tmp, "kept")
    with open(out, "w", encoding="ascii") as f:
        f.write("as it was")
    run("export", os.path.join(tmp, "absent"), "--pprof", "-o", out)
    with open(out, encoding="ascii") as f:
        t.equal(f.read(), "as it was", "a failure leaves what was there")
    main, side = pty.openpty()
    r = subprocess.run([CYCLADE, "export", data, "--pprof"], stdout=side, stderr=subprocess.PIPE, text=True, check=False)
    os.close(side)
    os.close(main)
    t.ok(r.returncode == 2 and "-o FILE" in r.stderr, "binary data are not for a terminal", r.stderr)


def holds(path):
    """What is wrong with the exports of a recording, or None."""
    want = totals(path)
    try:
        p = Pprof(export(path, "--pprof"))
        f = Firefox(export(path, "--firefox"))
    except (AssertionError, OSError, ValueError) as e:
        return "%s: %r" % (path, e)
    if sum(v[i] for _, v, _ in p.samples for i in range(0, len(v), 2)) != sum(v[0] for v in want.values()):
        return path + ": pprof has other sums"
    cost = [v for e, v in want.items() if re.match(r"(cpu-)?(cycles|clock)|task-clock", e)]
    if want and sum(len(x["samples"]["stack"]) for x in f.threads) != max(v[0] for v in cost or want.values()):
        return path + ": firefox has other sums"
    return None


def synthetic():
    """Every field, several events, no chains, no times, addresses in no mapping."""
    bad, n = [], 0
    for name, made, _ in gen.every():
        if name.startswith("each_field") and not name.endswith("le") or "large" in name:
            continue
        path = os.path.join(tmp, name)
        gen.write(path, made)
        if run("report", "-j", path).returncode:
            continue
        n += 1
        bad.append(holds(path))
    bad = [b for b in bad if b]
    t.ok(not bad and n > 20, "%d synthetic recordings, every reference checked" % n, "\n".join(bad))


def not_moved():
    """A program that is loaded where its headers say: Firefox counts addresses from its first byte, as of any other."""
    m, path = account_made.Made(tmp, tree=[("cycles", 0x3c, 1000)]), os.path.join(tmp, "made.data")
    want = {}
    for i, name in enumerate(m.names):
        for insn in (0, 3):
            m.put(name, "cycles", 2, insn=insn)
            want.setdefault(name, set()).add(0x1000 + i * account_made.SIZE + account_made.INSNS[insn])
    m.write(path)
    f = Firefox(export(path, "--firefox"))
    table, got = f.p["shared"]["frameTable"], collections.defaultdict(set)
    for func, at in zip(table["func"], table["address"]):
        got[f.strings[f.p["shared"]["funcTable"]["name"][func]]].add(at)
    t.equal(dict(got), want, "firefox: addresses of a program that is not position-independent")


def two_of_them():
    """Folded stacks of two recordings that have some in common: each weight is that of the recording alone."""
    paths = []
    for tag, counts in (("before", (5, 7, 0)), ("after", (6, 0, 3))):
        where = os.path.join(tmp, tag)
        os.mkdir(where)
        m = account_made.Made(where, tree=[("cycles", 0x3c, 1000)], names=["kept", "gone a b", "new"])
        for name, n in zip(m.names, counts):
            m.put(name, "cycles", n)
        paths.append(os.path.join(where, "made.data"))
        m.write(paths[-1])
    alone = [folded(p) for p in paths]
    r = run("export", *paths, "--folded")
    got = {line.rsplit(" ", 2)[0]: tuple(map(int, line.rsplit(" ", 2)[1:])) for line in r.stdout.splitlines()}
    t.equal(got, {s: tuple(a[s] for a in alone) for s in set(alone[0]) | set(alone[1])}, "folded: two recordings, stack by stack")
    t.ok(len(got) == 3 and sum(0 in w for w in got.values()) == 2, "folded: 0 where one has no such stack", got)
    for words in ((paths[0], "absent", "--folded"), (*paths, paths[0], "--folded"), (*paths, "--pprof")):
        r = run("export", *words)
        t.ok(r.returncode == 2 and not r.stdout and r.stderr.startswith("cyclade: "), "export %s is refused" % " ".join(words[1:]), r.stderr)


def corpus():
    files = sorted(glob.glob(os.path.join(SHARED, "corpus", "*.data*")) + glob.glob(os.path.join(SHARED, "corpus", "*", "*.data*")))
    if not files:
        return t.skip("the corpus", NO_SHARED)
    bad, n = [], 0
    for path in files:
        if os.path.getsize(path) > 3 << 20 or run("report", "-j", path).returncode:
            continue
        n += 1
        bad.append(holds(path))
    bad = [b for b in bad if b]
    return t.ok(not bad and n, "%d recordings of the corpus, every reference checked" % n, "\n".join(bad))


live()
synthetic()
not_moved()
two_of_them()
corpus()
shutil.rmtree(tmp)
t.done()
