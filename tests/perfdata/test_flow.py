#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Edges and spans of branch records (analyse/flow.h).

Made recordings, whose stacks are taken apart here a second time, entry by entry and with no memory of the one
before; what events count; what cannot be added up; and recordings of ../shared against perf script."""
import collections
import functools
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import gen  # noqa: E402
from draws import Draws  # noqa: E402
from tap import NO_SHARED, PERF, ROOT, SHARED, Tap  # noqa: E402

DUMP = os.environ.get("DUMP_FLOW", os.path.join(ROOT, "build", "tests", "perfdata", "dump_flow"))
TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD BRANCH_STACK".split())
USER, KERNEL, GUEST_USER, GUEST_KERNEL, UNKNOWN = 0, 1, 3, 4, 5
ANY, ANY_CALL, ANY_RETURN, IND_CALL, IN_TX, COND, STACK = 8, 16, 32, 64, 256, 1024, 2048
FAR = 1 << 20
EXEC = 5000

KIMAGE = "[kernel.kallsyms]_text"
VSYSCALL = 0xffffffffff600  # a page of user space
KSTART = 0xffffffff81000000
MAPS = {  # (pid, before the exec): (path, start, length, offset)
    (20, True): [("/made/one", 0x400000, 0x10000, 0), ("/made/lib.so", 0x7f0000000000, 0x400000, 0x3000)],
    (20, False): [("/made/two", 0x400000, 0x10000, 0x1000)],
    (30, True): [("/made/one", 0x560000, 0x10000, 0), ("/made/lib.so", 0x7f1100000000, 0x400000, 0x3000)],
}
MAPS[30, False] = MAPS[30, True]


def dump(path, *more):
    p = subprocess.run([DUMP, path, *map(str, more)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    if p.returncode:
        return p.stderr
    edges, spans, sums = {}, {}, {}
    for line in p.stdout.splitlines():
        f = line.split("\t")
        if f[0] == "edge":
            edges[(f[1], int(f[2], 16), int(f[3])), (f[4], int(f[5], 16), int(f[6]))] = f[7:]
        elif f[0] == "span":
            spans[f[1], int(f[2]), int(f[3], 16), int(f[4], 16)] = f[5:]
        else:
            sums = dict(x.split("=", 1) for x in f[1:])
    return edges, spans, sums


# ---- a second reading ----

def place(pid, time, ip):
    return place_of(pid, time < EXEC, ip)


@functools.lru_cache(maxsize=None)
def place_of(pid, early, ip):
    for path, start, size, off in MAPS[pid, early]:
        if start <= ip < start + size:
            return path, ip - start + off, USER
    if KSTART <= ip < KSTART + 0x1000000:
        return KIMAGE, ip, KERNEL
    return "-", ip, KERNEL if ip >> 63 and ip >> 12 != VSYSCALL else UNKNOWN


def is_copy(entries):
    """The newest branch twice, though it leads forward: an erratum."""
    return len(entries) > 1 and entries[0][:2] == entries[1][:2] and entries[0][0] < entries[0][1] and \
        entries[0][0] and not (entries[0][0] ^ entries[0][1]) >> 63 and all(e[2]["spec"] != 1 for e in entries[:2])


def window(n, fade):
    """What each of n branches and of the n - 1 stretches between weighs, as shares of 1."""
    if not fade or n < 3:
        return [1 / n] * n, [1 / (n - 1)] * (n - 1) if n > 1 else []
    span = [(1 - math.cos(2 * math.pi * (i + 1) / n)) / n for i in range(n - 1)]
    return [(a + b) / 2 for a, b in zip([0, *span], [*span, 0])], span


class Count:
    def __init__(self):
        self.edge = collections.defaultdict(lambda: [0, 0.0, [0] * 6, 0])
        self.span = collections.defaultdict(lambda: [0, 0.0, []])
        self.sums = collections.Counter()

    def stack(self, pid, time, period, entries, spans=True, counted=False):
        """`counted`: the event counts what stacks hold."""
        if spans and is_copy(entries):
            self.sums["repeated"] += 1
            entries = entries[1:]
        used = [e if e[0] or e[1] else None for e in entries if e[2]["spec"] != 1]
        n = sum(e is not None for e in used)
        if not n:
            self.sums["empty"] += 1
            return
        self.sums["stacks"] += 1
        self.sums["edges"] += n
        self.sums["period"] += period
        edge, span = window(n, not counted)
        # of near ones alone the event tells; the kernel's among them weigh as much each
        pairs = n - 1
        far = [e[0] == 0 or (place(pid, time, e[0])[2] == KERNEL) != (place(pid, time, e[1])[2] == KERNEL) for e in used if e]
        if counted:
            n, pairs = (n - sum(far)) or n, (pairs - sum(far[:-1])) or pairs
        edge, span = [x * len(edge) * period / n for x in edge], [x * len(span) * period / pairs for x in span]
        at = 0
        for e in used:
            if not e:
                continue
            fr, to, fl = e[:3]
            c = self.edge[place(pid, time, fr), place(pid, time, to)]
            c[0] += 1
            c[1] += edge[at]
            at += 1
            for i, v in enumerate((fl["mispred"], fl["predicted"], fl["in_tx"], fl["abort"], fl["cycles"], fl["cycles"] > 0)):
                c[2][i] += v
            c[3] = max(c[3], fl["type"] if fl["type"] < 15 else 16 + fl["new_type"])
        at = 0
        for newer, older in zip(used, used[1:]) if spans else ():
            at += bool(newer)
            if newer and older:
                self.pair(place(pid, time, older[1]), place(pid, time, newer[0]), newer[2]["cycles"], span[at - 1])

    def pair(self, a, b, cycles, weight):
        if a[0] == "-" or a[0] != b[0]:
            hidden = a[1] == 0 or b[1] == 0 or (a[2] == KERNEL) != (b[2] == KERNEL)
            self.sums["switched" if hidden else "crossing"] += 1
        elif b[1] < a[1]:
            self.sums["backwards"] += 1
        elif b[1] - a[1] > FAR:
            self.sums["far_apart"] += 1
        else:
            self.sums["spans"] += 1
            c = self.span[a[0], a[2], a[1], b[1]]
            c[0] += 1
            c[1] += weight
            c[2] += [cycles] if cycles else []


def bucket(c):
    """The least cycles of the bucket of `c`."""
    if c < 16:
        return c
    top = c.bit_length() - 1
    return c >> (top - 2) << (top - 2)


def near(got, want):
    return abs(float(got) - want) <= 1e-9 * max(abs(want), 1)


def problems(got, want, period=None):
    """What is not as counted here."""
    if isinstance(got, str):
        return [got]
    edges, spans, sums = got
    out = ["only one has %s" % (k,) for k in set(edges) ^ set(want.edge)] + ["only one has %s" % (k,) for k in set(spans) ^ set(want.span)]
    for k in set(edges) & set(want.edge):
        g, (hits, weight, flags, kind) = edges[k], want.edge[k]
        if int(g[0]) != hits or not near(g[1], weight) or list(map(int, g[3:9])) != flags or int(g[9]) != kind:
            out.append("edge %s: got %s, want %s %s %s %s" % (k, g, hits, float(weight), flags, kind))
        if not near(sum(map(float, g[2].split(","))), weight):
            out.append("edge %s: groups do not sum to its weight" % (k,))
    for k in set(spans) & set(want.span):
        g, (hits, weight, cycles) = spans[k], want.span[k]
        hist = collections.Counter(bucket(c) for c in cycles)
        text = ",".join("%d:%d" % x for x in sorted(hist.items())) or "-"
        if (int(g[0]) != hits or not near(g[1], weight) or [int(x) for x in g[3:6]] !=
                [len(cycles), sum(cycles), sum(c * c for c in cycles)] or g[6] != text):
            out.append("span %s: got %s, want %s %s %s" % (k, g, hits, float(weight), text))
    for k in "stacks empty edges spans backwards crossing far_apart switched repeated".split():
        if int(sums[k]) != want.sums[k]:
            out.append("%s: got %s, want %s" % (k, sums[k], want.sums[k]))
    if not near(sums["period"], want.sums["period"]):
        out.append("period: got %s, want %s" % (sums["period"], want.sums["period"]))
    return out


# ---- made ones ----

def world(w, tail):
    """Records of what is mapped where: kernel, two processes, an exec, guests."""
    t = lambda pid, time: w.pack("IIQIIQ", pid, pid, time, 0, 0, tail)
    mmap2 = lambda pid, time, path, start, size, off, misc: w.record(
        gen.MMAP2, w.pack("IIQQQIIQQII", pid, pid, start, size, off, 8, 1, 42, 0, 5, 2) + gen.text8(path) + t(pid, time), misc)
    yield w.record(gen.MMAP, w.pack("IIQQQ", 2**32 - 1, 0, KSTART, 0x1000000, KSTART) + gen.text8(KIMAGE) + t(0, 0), 1)
    for pid, comm in ((20, "first"), (30, "other")):
        yield w.record(gen.COMM, w.pack("II", pid, pid) + gen.text8(comm) + t(pid, 1))
        for m in MAPS[pid, True]:
            yield mmap2(pid, 1, *m, 2)
    yield w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("second") + t(20, EXEC), 1 << 13)
    for m in MAPS[20, False]:
        yield mmap2(20, EXEC, *m, 2)


def flags(rnd):
    miss = rnd.randrange(5) == 0
    return dict(mispred=int(miss), predicted=int(not miss), in_tx=int(rnd.randrange(9) == 0), abort=int(rnd.randrange(50) == 0),
                cycles=rnd.choice((0, 1, 7, 15, 16, 17, 300, 65535)), type=rnd.choice((0, 3, 9, 15)), spec=rnd.choice((0, 0, 1, 2, 3)),
                new_type=rnd.randrange(8), priv=0)


@functools.lru_cache(maxsize=None)
def ends_in(pid, early):
    """Ends of branches: odd ones, and those within images."""
    here = MAPS[pid, early]
    return ((0, 0x123456, KSTART + 0x100, KSTART + 0x40, 0xffffffff00000000, 0xffffffffff600010, here[0][1] + 0x80),
            [m[1] + 4 * k for m in here for k in range(24)] + [m[1] + FAR + 4 for m in here if m[2] > FAR + 4])


def a_stack(rnd, pid, time):
    """Mostly runs on within an image; now and then anything."""
    odd, ips = ends_in(pid, time < EXEC)
    out = []
    for _ in range(rnd.choice((0, 1, 2, 8, 16, 32, 32, 32, 100))):
        pick = lambda: rnd.choice(odd) if rnd.randrange(12) == 0 else rnd.choice(ips)
        out.append((pick(), pick(), flags(rnd), 0))
        if len(out) == 1 and rnd.randrange(8) == 0:
            out.append((*out[0][:2], flags(rnd), 0))
        if rnd.randrange(40) == 0:
            out.append((0, 0, flags(rnd), 0))
    return out


def made(order, n, br=ANY, vary=True, time=False, seed=7, write=None):
    rnd, w, want = Draws(seed), gen.Writer(order), Count()
    a = dict(type=0 if time else 4, config=0 if time else 0x20c4, period=1000, sample=TYPE, br=br, sample_id_all=1)
    f = gen.File(w, [("cycles" if time else "br_inst_retired.near_taken", a, [100])], attr_size=112)
    f.features[9] = w.text("GenuineIntel-6-85-4")
    data = list(world(w, 100))
    for i in range(n):
        pid, now, period = rnd.choice((20, 30)), rnd.randrange(100, 2 * EXEC), rnd.randrange(1, 10**6) if vary else 1009
        entries = a_stack(rnd, pid, now)
        want.stack(pid, now, period, entries, br & 0xff8 == ANY, br & 0xff8 == ANY and not time)
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(pid, pid), TIME=now, IP=0x400000, CPU=0, PERIOD=period, BRANCH_STACK=(3, entries))
        data.append(s.record(w, a))
    f.data = b"".join(data)
    with open(write, "wb") as out:
        out.write(f.build())
    return want


def counted(t, path):
    cases = {
        "little-endian": ("<", 1500, ANY),
        "big-endian": (">", 1500, ANY),
        "one period": ("<", 1500, ANY, False),
        "with a hardware index": ("<", 500, ANY | gen.HW_INDEX),
        "calls": ("<", 500, ANY_CALL),
        "by time": ("<", 1500, ANY, True, True),
        "many chunks": ("<", 12000, ANY),
    }
    for name, how in cases.items():
        want = made(*how, write=path)
        got = dump(path)
        bad = problems(got, want)
        t.ok(not bad, "%s: %d edges and %d spans as counted here" % (name, len(want.edge), len(want.span)), "\n".join(bad))
        t.ok(dump(path, 1) == got and dump(path, 3) == got, name + ": one thread or many, the same to the last bit")
    groups = [sum(map(float, g)) for g in zip(*(v[2].split(",") for v in got[0].values()))]
    mean = sum(groups) / len(groups)
    t.ok(len(groups) == 16 and all(0.85 * mean < g < 1.15 * mean for g in groups), "groups get about as much", groups)


def selected(t, path):
    made("<", 1500, write=path)
    all_, one = dump(path, 0), {c: dump(path, 0, "", c) for c in ("first", "second", "other")}
    total = collections.Counter()
    for e, _, _ in one.values():
        total.update({k: int(v[0]) for k, v in e.items()})
    t.equal(dict(total), {k: int(v[0]) for k, v in all_[0].items()}, "threads' names part what there is")
    s = one["second"][2]
    t.equal(int(s["samples"]), int(s["stacks"]) + int(s["empty"]) + int(s["left_out"]) + int(s["bad"]), "no sample is forgotten")
    t.ok(int(s["left_out"]) > 0 and all("/made/two" in (k[0][0], k[1][0]) or k[0][0] in ("-", KIMAGE) or k[1][0] in ("-", KIMAGE)
                                        for k in one["second"][0]), "after the exec only what was mapped then")


def file_of(path, events, samples, cpuid="GenuineIntel-6-85-4", type_=TYPE):
    """events: (name, attr); samples: (event, entries, period)"""
    w = gen.Writer("<")
    ev = [(name, dict(dict(type=4, period=1000, sample=type_, br=ANY, sample_id_all=1), **a), [100 + i])
          for i, (name, a) in enumerate(events)]
    f = gen.File(w, ev, attr_size=112)
    if cpuid:
        f.features[9] = w.text(cpuid)
    data = list(world(w, 100))
    for i, (e, entries, period) in enumerate(samples):
        s = gen.Sample(i + 1, 100 + e)
        s.v.update(TID=(20, 20), TIME=500 + i, IP=0x400000, CPU=0, PERIOD=period, BRANCH_STACK=(3, entries))
        data.append(s.record(w, ev[e][1]))
    f.data = b"".join(data)
    with open(path, "wb") as out:
        out.write(f.build())


PLAIN = dict(mispred=0, predicted=1, in_tx=0, abort=0, cycles=0, type=0, spec=0, new_type=0, priv=0)
TWO = [(0x400020, 0x400000, PLAIN, 0), (0x400010, 0x400018, PLAIN, 0)]


def guests(t, path):
    """A guest's branches lie in its own space, whatever is at those addresses outside."""
    w = gen.Writer("<")
    a = dict(type=0, config=0, period=1000, sample=TYPE, br=ANY, sample_id_all=1)
    f = gen.File(w, [("cycles", a, [100])], attr_size=112)
    tail = w.pack("IIQIIQ", 0, 0, 0, 0, 0, 100)
    data = list(world(w, 100))
    data.append(w.record(gen.MMAP, w.pack("IIQQQ", 2**32 - 1, 0, KSTART, 0x1000000, KSTART) +
                         gen.text8("[guest.kernel.kallsyms]") + tail, 4))
    ins = [(KSTART + 0x40, KSTART, PLAIN, 0), (KSTART + 0x10, KSTART + 0x20, PLAIN, 0)]
    for i, misc in enumerate((1, 4, 4)):
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(20, 20), TIME=500 + i, IP=KSTART, CPU=0, PERIOD=10, BRANCH_STACK=(3, ins))
        data.append(s.record(w, a, misc))
    f.data = b"".join(data)
    with open(path, "wb") as out:
        out.write(f.build())
    got = dump(path)
    t.equal(got if isinstance(got, str) else sorted((k[1], k[2] - KSTART, k[3] - KSTART, int(v[0])) for k, v in got[1].items()),
            [(KERNEL, 0x20, 0x40, 1), (GUEST_KERNEL, 0x20, 0x40, 2)], "guests")
    t.equal(len({k[0] for k in got[1]}), 2, "... have an image of their own")


def kinds(t, path):
    """filter and what is counted, of one event"""
    taken, branches, insns, cycles, other = range(5)
    for name, attr, cpuid, flt, counts, biased in (
            ("near_taken", dict(config=0x20c4), "GenuineIntel-6-85-4", 0, taken, 0),
            ("lbr_inserts", dict(config=0x20cc), "GenuineIntel-6-45-1", 0, taken, 0),
            ("x", dict(config=0xc4), "AuthenticAMD-25-17-1", 0, taken, 0),
            ("x", dict(config=0xc4), "GenuineIntel-6-85-4", 0, branches, 0),
            ("x", dict(config=0xc4), None, 0, other, 1),
            ("cpu/br_inst_retired.near_taken/pp", dict(type=10, config=5), None, 0, taken, 0),
            ("BR_INST_RETIRED:NEAR_TAKEN:u", dict(type=10, config=5), None, 0, taken, 0),
            ("rob_misc_events:lbr_inserts:period=200003", dict(type=10), None, 0, taken, 0),
            ("br_inst_retired.near_return", dict(config=0x8c4, br=ANY_RETURN), "GenuineIntel-6-45-1", 2, taken, 0),
            ("br_inst_retired.near_taken", dict(config=0x20c4, br=ANY_RETURN), "GenuineIntel-6-45-1", 2, branches, 0),
            ("br_inst_retired.near_call", dict(config=0x2c4, br=ANY_CALL), "GenuineIntel-6-45-1", 1, taken, 0),
            ("edge of it", dict(config=0x10420c4), "GenuineIntel-6-85-4", 0, other, 1),
            ("branches", dict(type=0, config=4), None, 0, branches, 0),
            ("instructions:u", dict(type=0, config=1), None, 0, insns, 1),
            ("cycles", dict(type=0, config=0, br=IND_CALL | ANY_CALL), None, 1, cycles, 1),
            ("cycles", dict(type=0, config=0, br=STACK | ANY), None, 3, cycles, 1),
            ("cycles", dict(type=0, config=0, br=COND), None, 4, cycles, 1),
            ("cycles", dict(type=0, config=0, br=ANY | IN_TX), None, 4, cycles, 1),
            ("near_taken", dict(config=0x20c4, br=ANY | 1), "GenuineIntel-6-85-4", 0, other, 1),
            ("near_taken", dict(config=0x20c4, br=ANY | 1, exclude_kernel=1), "GenuineIntel-6-85-4", 0, taken, 0),
            ("near_taken", dict(config=0x20c4, br=ANY | 3), "GenuineIntel-6-85-4", 0, taken, 0),
            ("cpu-clock", dict(type=1, config=0), None, 0, other, 1)):
        file_of(path, [(name, attr)], [(0, TWO, 1000)] * 20, cpuid)
        got = dump(path)
        s = got if isinstance(got, str) else got[2]
        t.equal(s if isinstance(s, str) else [int(s[k]) for k in ("filter", "counts", "biased")], [flt, counts, biased],
                "%s %s on %s" % (name, hex(attr.get("config", 0)), cpuid))
        t.equal(len(got[1]), 1 if flt == 0 else 0, "... %s spans" % ("with" if flt == 0 else "without"))
    file_of(path, [("near_taken", dict(config=0x20c4, freq=1))], [(0, TWO, 1)] * 5, type_=TYPE & ~gen.BIT["PERIOD"])
    t.equal(dump(path)[2]["counts"], "4", "periods that were not recorded are not taken for executions")
    file_of(path, [("near_taken", dict(config=0x20c4))], [(0, TWO, 1)] * 5, type_=TYPE & ~gen.BIT["PERIOD"])
    t.equal(dump(path)[2]["period"], "5000", "a fixed period need not be in the samples")


def several(t, path):
    taken, cyc = ("br_inst_retired.near_taken", dict(config=0x20c4)), ("cycles", dict(type=0, config=0))
    file_of(path, [taken, cyc], [(i % 2, TWO, 10) for i in range(40)])
    s = dump(path)[2]
    t.equal((s["event"], s["stacks"], s["left_out"], s["counts"]), (taken[0], "20", "20", "0"), "of two events the one that counts branches")
    s = dump(path, 0, "cycles")[2]
    t.equal((s["event"], s["stacks"], s["counts"]), ("cycles", "20", "3"), "... unless the other is asked for")
    file_of(path, [taken, ("cycles", dict(type=0, br=ANY_CALL))], [(0, TWO, 10), (1, TWO, 10)])
    t.equal(dump(path)[2]["left_out"], "1", "... whatever its filter")
    file_of(path, [("instructions", dict(type=0, config=1)), ("cycles", dict(type=0, br=ANY_CALL))], [(0, TWO, 10), (1, TWO, 10)])
    err = dump(path)
    t.ok(isinstance(err, str) and err.startswith("1\t") and "-e 'instructions'" in err, "different filters do not add up", err)
    t.ok(not isinstance(dump(path, 0, "cyc*"), str), "... one of them is fine")
    file_of(path, [("instructions", dict(type=0, config=1)), ("dummy:HG", dict(type=1, config=9, br=ANY_CALL))], [(0, TWO, 10)])
    t.equal(dump(path)[2]["event"] if not isinstance(dump(path), str) else dump(path), "instructions",
            "an event without samples disagrees with none")
    file_of(path, [("cycles", dict(type=0))], [(0, TWO, 10)], type_=TYPE & ~gen.BIT["BRANCH_STACK"])
    err = dump(path)
    t.ok(isinstance(err, str) and "no branch stacks" in err and "record -b" in err, "none at all", err)


# ---- real ones ----

def real(t):
    folder = os.path.join(SHARED, "corpus", "recordings")
    names = sorted(n for n in os.listdir(folder) if "propeller" in n or "lbr" in n or "afdo" in n) if os.path.isdir(folder) else []
    if not PERF or not names:
        t.skip("real recordings", NO_SHARED if PERF else "no perf here")
        return
    done = 0
    for name in names:
        path = os.path.join(folder, name)
        got = dump(path)
        if isinstance(got, str) or os.path.getsize(path) > 10**7:
            continue
        p = subprocess.run([PERF, "script", "-F", "brstack", "-i", path], capture_output=True, text=True, errors="replace",
                           stdin=subprocess.DEVNULL, timeout=600)
        stacks = [[[int(x, 16) for x in word.split("/")[:2]] for word in line.split()] for line in p.stdout.splitlines()]
        s, done = got[2], done + 1
        if s["filter"] == "0":
            stacks = [x[1:] if len(x) > 1 and x[0] == x[1] and x[0][0] < x[0][1] else x for x in stacks]
        n = sum(map(len, stacks))
        if p.returncode or not n:
            continue
        t.equal(int(s["edges"]), n, "%s: as many branches as perf sees" % name)
        pairs = sum(int(s[k]) for k in "spans backwards crossing far_apart switched".split())
        t.equal(pairs, sum(len(x) - 1 for x in stacks if x) if s["filter"] == "0" else 0, name + ": every two neighbours are somewhere")
        raw = collections.Counter((a[1], b[0]) for x in stacks for b, a in zip(x, x[1:]))
        if s["filter"] == "0" and len({k[0] for k in got[1]}) == 1:
            t.equal(sorted(int(v[0]) for v in got[1].values()), sorted(v for (a, b), v in raw.items() if a <= b < a + FAR),
                    name + ": spans as often as in perf's words")
    if not done:
        t.skip("real recordings", "none with branches that perf reads")


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "made")
        counted(t, path)
        selected(t, path)
        guests(t, path)
        kinds(t, path)
        several(t, path)
    real(t)
    t.done()
    return t.bad > 0


if __name__ == "__main__":
    sys.exit(main())
