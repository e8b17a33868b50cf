# SPDX-License-Identifier: BSD-3-Clause
"""truth - recordings of programs in QEMU and what really ran, for the tests of this folder.

    with Oracle(t) as o:                         skips all and ends if there is no QEMU
        r = o.run("nested", 300, depth=32, period=100)
        r.truth.insns[image, addr]               exact executions; addresses are those of the files
        r.path, r.samples()                      the perf.data and what is in it, read here

Everything here is a second implementation: nothing of cyclade's is used to read recordings, symbols
or the truth.
"""
import collections
import functools
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from tap import NO_PLUGINS, ROOT, SANITIZED, Bars, emulator, run  # noqa: E402

BUILT = os.environ.get("TRUTH_BUILT", os.path.join(ROOT, "build", "tests", "truth"))
QEMU = emulator("x86_64")
LONG = bool(os.environ.get("CYCLADE_LONG"))
# Each program and how much it does: some hundred thousand to a million taken branches.
AMOUNT = {"oddeven": 400, "nested": 500, "recursion": 160, "indirect": 1000, "shapes": 700, "pack": 12, "twins": 4000}
# Sanitized, two show what there is to see.
PROGRAMS = ("nested", "shapes") if SANITIZED else tuple(p for p in AMOUNT if p != "twins")  # test_names.py has that
SIZE = 10 if LONG else 1

Edge = collections.namedtuple("Edge", "kind source target n mispredicted")
Span = collections.namedtuple("Span", "start last n cycles")
CALLS = ("call", "call-indirect")
KERNEL = 1 << 63  # its addresses, from here on


class Truth:
    """What the plugin counted. Places are (image path or None, address in the file)."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):  # read when it is first asked for: some look at recordings only, most not at all of these
        if name in ("total", "images", "insns", "length", "numbers", "lines"):
            self.read()
        elif name == "edges":
            self.edges = [Edge(w[1], source, target, int(w[6]), int(w[7])) for w, source, target in self.flow("edge")]
        elif name == "spans":
            self.spans = [Span(start, last, int(w[6]), int(w[8])) for w, start, last in self.flow("span")]
        elif name == "calls":
            self.calls = {(site, entry): int(w[6]) for w, site, entry in self.flow("call")}
        elif name == "times":
            self.times = {}
            for w, start, last in self.flow("time"):
                self.times.setdefault((start, last), {})[int(w[8])] = int(w[6])
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def read(self):
        self.total, self.images, self.insns, self.length = {}, [], {}, {}
        self.numbers = image = {"-": None}  # of images, as lines have it
        self.lines = {"edge": [], "span": [], "call": [], "time": []}
        with open(self.path, encoding="utf-8", errors="surrogateescape") as f:
            for line in f:
                kind = line[:4]
                if kind == "insn":
                    _, i, addr, length, n = line.split()
                    at = image[i], int(addr, 16)
                    self.insns[at] = int(n)
                    self.length[at] = int(length)
                elif kind in self.lines:
                    self.lines[kind].append(line)
                elif line.startswith("image "):
                    image[str(len(self.images))] = line.rstrip("\n").split(" ", 2)[2]
                    self.images.append(image[str(len(self.images))])
                elif line.startswith("total "):
                    _, what, n = line.split()
                    self.total[what] = int(n)

    def flow(self, kind):
        """(words, both places) of the lines of a kind, which are not needed again"""
        image = self.numbers
        for line in self.lines.pop(kind):
            w = line.split()
            yield w, (image[w[2]], int(w[3], 16)), (image[w[4]], int(w[5], 16))

    def sorted_insns(self):
        """{image: its instructions' addresses, sorted}"""
        by = collections.defaultdict(list)
        for image, addr in self.insns:
            by[image].append(addr)
        for v in by.values():
            v.sort()
        return by


class Recording:
    """A perf.data with one event, in this machine's byte order."""

    def __init__(self, path, truth=None):
        self.path, self.truth = path, truth
        with open(path, "rb") as f:
            self.bytes = f.read()
        magic, _, _, attrs, _, self.data, self.size = struct.unpack_from("<8sQQQQQQ", self.bytes)
        assert magic == b"PERFILE2"
        self.period, self.sample_type = struct.unpack_from("<QQ", self.bytes, attrs + 16)

    def without_system(self):
        """Itself, with a file in which the system's libraries have names of no files: most of all blocks are theirs. For
        questions about the programs' own code, whose figures stay the same."""
        with open(self.path, "r+b") as f:
            for image in self.truth.images:
                at = -1 if own(image) else self.bytes.find(os.fsencode(image) + b"\0")
                if at >= 0:
                    f.seek(at + 1)
                    f.write(b"-")
        return self

    def records(self):
        at, end, head = self.data, self.data + self.size, struct.Struct("<IHH").unpack_from
        while at < end:
            kind, misc, size = head(self.bytes, at)
            yield kind, misc, at + 8, at + size
            at += size

    def maps(self):
        """[(start, end, offset in the file, path)]"""
        out = []
        for kind, _, at, end in self.records():
            if kind == 10:
                _, _, start, size, offset = struct.unpack_from("<IIQQQ", self.bytes, at)
                out.append((start, start + size, offset, self.bytes[at + 64:end].split(b"\0")[0].decode()))
        return out

    def samples(self):
        """(ip, time, period, [(from, to, flags)] newest first) of each"""
        assert self.sample_type == 0x907  # IP TID TIME PERIOD BRANCH_STACK
        for kind, _, at, end in self.records():
            if kind == 9:
                ip, _, time, period, n = struct.unpack_from("<QQQQQ", self.bytes, at)
                assert at + 40 + 24 * n == end
                yield ip, time, period, list(struct.iter_unpack("<QQQ", self.bytes[at + 40:end]))

    def alike(self):
        """(periods, [sources of their newest entries, of the second ones, ...], [targets], [flags]) of samples that are equally deep, for each depth but 0"""
        words, step, by, at = memoryview(self.bytes)[self.data:self.data + self.size].cast("Q"), 0, collections.defaultdict(list), 0
        while at < len(words):
            head, begin = words[at], at
            step = head >> 51  # its size, in words
            at += step
            if head & 0xffffffff == 9:
                while at < len(words) and words[at] == head:
                    at += step
                if step > 6:
                    by[step].append(words[begin:at])
        for step, parts in by.items():
            all_of, n = memoryview(b"".join(parts)).cast("Q"), (step - 6) // 3
            assert self.sample_type == 0x907 and set(all_of[5::step]) == {n}
            yield (all_of[4::step].tolist(), *([all_of[6 + 3 * i + k::step].tolist() for i in range(n)] for k in (0, 1, 2)))

    def places(self):
        """addr -> (path, address in the file), by the maps and the files' program headers"""
        maps = [(s, e, o, p, segments(p)) for s, e, o, p in self.maps()]
        known = {}

        def place(addr):
            if addr not in known:
                known[addr] = (None, addr)
                for start, end, offset, path, segs in maps:
                    if start <= addr < end:
                        at = addr - start + offset
                        for o, size, vaddr in segs:
                            if o <= at < o + size:
                                known[addr] = (path, at - o + vaddr)
            return known[addr]
        return place


def lose_entries(rec, path, one_in, seed=1):
    """A copy of a recording whose stacks have lost entries here and there, so that neighbours bound code that did
    not run from one to the other."""
    rnd, out = random.Random(seed), bytearray()
    for kind, misc, at, end in rec.records():
        body = rec.bytes[at:end]
        if kind == 9:
            n, = struct.unpack_from("<Q", body, 32)
            kept = [body[40 + 24 * i:64 + 24 * i] for i in range(n) if i < 2 or rnd.randrange(one_in)]
            body = body[:32] + struct.pack("<Q", len(kept)) + b"".join(kept)
        out += struct.pack("<IHH", kind, misc, len(body) + 8) + body
    head, less = bytearray(rec.bytes[:rec.data]), rec.size - len(out)
    struct.pack_into("<Q", head, 48, len(out))
    rest = bytearray(rec.bytes[rec.data + rec.size:])
    for i in range(sum(bin(b).count("1") for b in head[72:104])):  # features lie behind the data
        offset, = struct.unpack_from("<Q", rest, 16 * i)
        struct.pack_into("<Q", rest, 16 * i, offset - less)
    with open(path, "wb") as f:
        f.write(head + out + rest)
    return Recording(path, rec.truth)


def segments(path):
    """[(offset, size, vaddr)] of what a file has loaded."""
    with open(path, "rb") as f:
        data = f.read()
    at, = struct.unpack_from("<Q", data, 32)
    size, n = struct.unpack_from("<HH", data, 54)
    out = []
    for i in range(n):
        kind, _, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if kind == 1:
            out.append((offset, filesz, vaddr))
    return out


class Symbols:
    """Functions of a file, by its own tables; the trampolines of its PLT as one."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        at, = struct.unpack_from("<Q", data, 40)
        size, n, names = struct.unpack_from("<HHH", data, 58)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(n)]
        text = lambda at: data[at:data.index(b"\0", at)]
        self.funcs, self.plt = {}, []
        for h in heads:
            name = text(heads[names][4] + h[0])
            if name.startswith(b".plt") and h[2] & 4:
                self.plt.append((h[3], h[3] + h[5]))
            if h[1] not in (2, 11):
                continue
            for i in range(h[5] // 24):
                st_name, info, _, shndx, value, length = struct.unpack_from("<IBBHQQ", data, h[4] + 24 * i)
                if info & 15 == 2 and shndx and length:
                    self.funcs.setdefault((value, value + length), set()).add(text(heads[h[6]][4] + st_name).decode())
        self.order = sorted(self.funcs)

    def at(self, addr):
        """(start, end) of the function there, or None"""
        for start, end in self.order:
            if start <= addr < end:
                return start, end
        return None

    def is_plt(self, addr):
        return any(s <= addr < e for s, e in self.plt)


@functools.lru_cache
def window(n, counted):
    """(weights of the n branches of a stack, of the n - 1 stretches between), newest first; each sum to 1. Of stacks
    whose event counts something else than branches the ends fade (von Hann)."""
    if counted or n < 3:
        return [1 / n] * n, [1 / max(n - 1, 1)] * (n - 1)
    between = [math.sin(math.pi * (i + 1) / n) ** 2 for i in range(n - 1)]
    between = [v / sum(between) for v in between]
    return [(a + b) / 2 for a, b in zip([0, *between], [*between, 0])], between


def standing_for(periods, sources, counted):
    """What all branches of each stack stand for, if the near ones alone are counted"""
    n = len(sources)
    many = [n] * len(periods)
    for column in sources if counted and any(max(x) >= KERNEL for x in sources) else ():
        many = [m - (source >= KERNEL) for m, source in zip(many, column)]
    return [period * n / (m or n) for period, m in zip(periods, many)]


def spans_of(rec, counted=True):
    """{(start, last): [hits, weight]}: what stacks of any branch say, each two neighbours of a sample
    with their part of its period; those that bound no code (the kernel's) are left out.
    Of branches that are `counted`, near ones alone stand for the period."""
    place, spans, good = rec.places(), {}, {}
    raw = collections.defaultdict(lambda: [0, 0.0])
    seen = collections.Counter()  # two neighbours and what they stand for: how many times
    for periods, sources, targets, _ in rec.alike():
        n = len(sources)
        if n < 2:
            continue
        each = standing_for(periods, sources[:-1], counted)
        for i, share in enumerate(window(n, counted)[1]):
            seen.update(zip(targets[i + 1], sources[i], [x * share for x in each]))
    for (start, last, weight), n in seen.items():
        p = start, last
        if p not in good:
            good[p] = start <= last < KERNEL and place(start)[0] and place(start)[0] == place(last)[0]
        if good[p]:
            c = raw[p]
            c[0] += n
            c[1] += n * weight
    for (start, last), c in raw.items():
        spans[place(start), place(last)] = c
    return spans


def cover(truth, spans):
    """Executions of each instruction, by spans: {place: [hits, weight]}"""
    by, out = truth.sorted_insns(), {}
    change = collections.defaultdict(lambda: [0, 0.0])
    for (start, last), c in spans.items():
        for at, sign in ((start, 1), ((last[0], last[1] + 1), -1)):
            change[at][0] += sign * c[0]
            change[at][1] += sign * c[1]
    points = collections.defaultdict(list)
    for (image, addr), c in change.items():
        points[image].append((addr, c))
    for image, addrs in by.items():
        todo = sorted(points.get(image, []), key=lambda p: p[0], reverse=True)
        hits, weight = 0, 0.0
        for addr in addrs:
            while todo and todo[-1][0] <= addr:
                _, c = todo.pop()
                hits += c[0]
                weight += c[1]
            out[image, addr] = [hits, weight]
    return out


class Spread:
    """How far figures are from the truth, by how many hits they rest on."""
    CLASSES = (1000, 3000, 10000, 30000, 100000, math.inf)

    def __init__(self):
        self.rows = []  # hits, relative error, within the error bar or None

    def add(self, hits, got, want, half=None):
        self.rows.append((hits, got / want - 1 if want else math.inf,
                          None if half is None else abs(got - want) <= half))

    def share(self, most, least_hits=1000):
        v = [abs(e) <= most for h, e, _ in self.rows if h > least_hits]
        return sum(v) / len(v) if v else math.nan

    def by_chance(self, times, least_hits=30):
        """Share of those within so many times 1/sqrt(hits), which is one deviation if hits are independent."""
        v = [abs(e) <= times / math.sqrt(h) for h, e, _ in self.rows if h > least_hits]
        return sum(v) / len(v) if v else math.nan

    def covered(self):
        v = [c for _, _, c in self.rows if c is not None]
        return sum(v) / len(v) if v else math.nan

    def covers(self, least):
        """More than `least` of the error bars hold, or that they do not is chance: once in 10,000 times where 95 % do."""
        bars = Bars(0, 0)
        for _, _, c in self.rows:
            if c is not None:
                bars.add(c)
        return self.covered() > least or bars.good()

    def worst(self, least_hits=1000):
        return max((abs(e) for h, e, _ in self.rows if h > least_hits), default=math.nan)

    def show(self, name):
        low = 0
        for high in self.CLASSES:
            v = sorted(abs(e) for h, e, _ in self.rows if low < h <= high)
            if v:
                print("# %-28s %7s hits %5d figures  within 1 %%: %5.1f %%  middle %6.2f %%  worst %6.2f %%" % (
                    name, "<= %g" % high if high < math.inf else "> %g" % low, len(v),
                    100 * sum(e <= .01 for e in v) / len(v), 100 * v[len(v) // 2], 100 * v[-1]))
            low = high
        sys.stdout.flush()


class Oracle:
    def __init__(self, t):
        self.t = t

    def __enter__(self):
        if not QEMU or not os.path.exists(os.path.join(BUILT, "oracle.so")):
            self.t.skip("all", NO_PLUGINS if not QEMU else "no plugin is built for this machine")
            self.t.done()
        self.dir = tempfile.TemporaryDirectory(prefix="truth-")
        self.n = 0
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def run(self, program, size=None, **options):
        """The recording of a run of a program, its .truth with it."""
        return self.run_path(os.path.join(BUILT, "truth_" + program), size or AMOUNT[program] * SIZE, **options)

    def run_path(self, path, *words, **options):
        """The same of any program."""
        self.n += 1
        options.setdefault("seed", os.environ.get("TRUTH_SEED", "1"))
        base = os.path.join(self.dir.name, "%s-%d" % (os.path.basename(path), self.n))
        plugin = ",".join([os.path.join(BUILT, "oracle.so"), "data=%s.data" % base, "truth=%s.truth" % base] +
                          ["%s=%s" % kv for kv in options.items()])
        argv = [QEMU, "-plugin", plugin, path, *map(str, words)]
        # the same environment always: the loader's work depends on it, and so do places of samples
        p = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600, env={})
        if p.returncode:
            raise RuntimeError("%s: %d %s" % (" ".join(argv), p.returncode, p.stderr))
        r = Recording(base + ".data", Truth(base + ".truth"))
        r.stdout = p.stdout
        return r


@functools.lru_cache
def program(name):
    return os.path.realpath(os.path.join(BUILT, "truth_" + name))


@functools.lru_cache(maxsize=None)
def own(image):
    """Is it a file of these tests? The system's have no symbols, or other ones than ours."""
    return image is not None and os.path.dirname(image) == os.path.realpath(BUILT)


def cyclade(*args):
    """JSON of a command, or what it said instead"""
    import json
    p = run(*args, "--no-cache")
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr
