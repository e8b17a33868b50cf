# SPDX-License-Identifier: BSD-3-Clause
"""Every metric and threshold of every model over random counts, as `stat` evaluates them and as Python does that
reads the models' texts by itself (second.py).

Counts of one to four logical processors: plausible ones, nothing, all the same, a few, all of 64 bits, beyond all
counting, none at all of some; with SMT and without, facts known and not. CYCLADE_LONG: 200 vectors a model."""
import array
import glob
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from second import BIG, FACTS, NAN, Text, World  # noqa: E402
from tap import ROOT, Tap  # noqa: E402

PROGRAM = sys.argv[1]
VECTORS = 200 if os.environ.get("CYCLADE_LONG") else 8 if os.environ.get("CYCLADE_SANITIZED") else 20
WITHIN = 1e-9
MODELS = os.path.join(ROOT, "models")
# SMT, core_wide, cpus, online, cores, dies, packages, threads, tsc Hz, tsc, slots, pmem, seconds, no_slots (models are loaded without)
MACHINES = [[1.0, 1.0, 16.0, 16.0, 8.0, 2.0, 2.0, 2.0, 2.5e9, 4e10, 6.0, 0.0, 1.0, 0.0],
            [0.0, 1.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0, 3e9, 1.2e10, 5.0, 1.0, 0.25, 0.0],
            [1.0, 0.0, 8.0, 7.0, 4.0, 1.0, 1.0, 2.0, 1e9, 8e9, 8.0, NAN, 3.5, 0.0],
            [NAN] * (FACTS - 1) + [0.0]]
ORDER = [0] * 9 + [1] * 7 + [2] * 3 + [3]


# ---- vectors ----

def plausible(rng, n):
    top = 10 ** rng.uniform(7, 11)
    return lambda: int(top * 10 ** rng.uniform(-3, 0.2))


def wide(rng, n):
    return lambda: int(10 ** rng.uniform(0, 13))


def holes(rng, n):
    return lambda: rng.choice([0, 0, 1, rng.randrange(1000), int(10 ** rng.uniform(3, 12))])


def zero(rng, n):
    return lambda: 0


def equal(rng, n):
    v = int(10 ** rng.uniform(0, 15))
    return lambda: v


def few(rng, n):
    return lambda: rng.randrange(4)


def huge(rng, n):
    return lambda: rng.choice([2 ** 64 - 1, 2 ** 63, rng.randrange(2 ** 64), rng.randrange(2 ** 53)])


def scaled(rng, n):
    return lambda: rng.uniform(0, 1e9) / rng.uniform(0.01, 1)


def missing(rng, n):
    top = 10 ** rng.uniform(6, 10)
    return lambda: NAN if rng.random() < 0.1 else int(top * rng.random())


def endless(rng, n):
    return lambda: 10 ** rng.uniform(100, 308)


KINDS = [plausible, plausible, wide, holes, zero, equal, few, huge, scaled, missing, plausible, endless]


def vector(rng, i, events):
    kind = KINDS[i % len(KINDS)]
    lps = 1 if kind is endless else rng.choice([1, 2, 2, 3, 4])
    draw = kind(rng, lps)
    counts = [[float(draw()) for _ in range(lps)] for _ in range(events)]
    if kind is missing:  # some on no processor
        for e in range(events):
            if rng.random() < 0.05:
                counts[e] = [NAN] * lps
    latency = [NAN if rng.random() < 0.02 else round(rng.uniform(0, 300), 2) for _ in range(events)]
    return lps, counts, latency


# ---- both ways ----

class Theirs:
    """The program under test."""

    def __init__(self, model):
        self.p = subprocess.Popen([PROGRAM, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        facts, events, metrics = map(int, self.p.stdout.readline().split())
        assert facts == FACTS
        self.events = [self.p.stdout.readline().decode().strip() for _ in range(events)]
        self.metrics = [self.p.stdout.readline().decode().strip() for _ in range(metrics)]

    def run(self, lps, facts, counts, latency):
        a = array.array("d", [float(lps)] + facts + latency)
        for c in counts:
            a.extend(c)
        self.p.stdin.write(a.tobytes())
        self.p.stdin.flush()
        out = array.array("d")
        out.frombytes(self.p.stdout.read(32 * len(self.metrics)))
        return out

    def done(self):
        self.p.stdin.close()
        self.p.stdout.close()
        return self.p.wait()


def same(a, b):
    """Both not measured, or the same number."""
    if a != a or b != b:
        return a != a and b != b
    return a == b or abs(a - b) <= WITHIN * max(abs(a), abs(b), 1.0)


class Model:
    def __init__(self, model):
        self.text, self.theirs = Text(MODELS, model), Theirs(model)
        self.at = {m.lower(): i for i, m in enumerate(self.theirs.metrics)}
        self.values = self.exact = self.measured = self.flags = self.over = 0
        self.wrong = []

    def judged(self, k, got, value, flag):
        """What may be shown, and whether it is over, given which nodes are in doubt."""
        row, at = self.text.rows[k], 4 * self.at[k]
        up = row.get("parent", "").lower()
        bits, above = int(got[at + 3]), int(got[4 * self.at[up] + 3]) if up else 0
        over = not bits & 4 and value == value and flag == flag and flag != 0
        if up and "P" in row.get("flag", "").split():
            over = over and bool(above & 1 if "flag" in self.text.rows[up] else not above & 4)
        shown = NAN if bits & 4 else value
        if row["node"] and shown == shown:
            shown = min(max(shown, 0.0), float(row.get("max", 1)), 1.0)
        elif row.get("unit") == "%" and shown == shown:
            shown = min(max(shown, 0.0), 100 / float(row.get("scale", 1)))
        return over, shown

    def compare(self, what, got, values, flags, rows):
        for k, i in rows.items():
            a, b = got[4 * self.at[k]], values[i]
            b = b if -BIG <= b <= BIG else NAN
            self.values += 1
            self.measured += b == b
            self.exact += a == b or a != a and b != b
            if not same(a, b):
                self.wrong.append("%s: %s is %r, there %r" % (what, k, a, b))
            if k.startswith("##"):
                continue
            a, f = got[4 * self.at[k] + 2], flags[i]
            self.flags += "flag" in self.text.rows[k]
            if not (a == f or a != a and f != f):
                self.wrong.append("%s: threshold of %s is %r, there %r" % (what, k, a, f))
            over, shown = self.judged(k, got, b, f)
            self.over += over
            if over != bool(int(got[4 * self.at[k] + 3]) & 1):
                self.wrong.append("%s: %s is over: %r" % (what, k, over))
            if not same(got[4 * self.at[k] + 1], shown):
                self.wrong.append("%s: %s shows %r, there %r" % (what, k, got[4 * self.at[k] + 1], shown))

    def run(self, model):
        rng, world, before = random.Random(model), None, None
        for i in range(VECTORS):
            facts = MACHINES[ORDER[i * len(ORDER) // VECTORS]]
            if facts is not before:
                world, before = World(self.text, self.theirs.events, facts), facts
                if i == 0 and sorted(world.rows) != sorted(self.at):
                    self.wrong.append("metrics: %s" % sorted(set(world.rows) ^ set(self.at)))
                    break
            lps, counts, latency = vector(rng, i, len(self.theirs.events))
            got = self.theirs.run(lps, facts, counts, latency)
            values, flags = world.run(counts, latency, lps)
            self.compare("vector %d, %s" % (i, KINDS[i % len(KINDS)].__name__), got, values, flags, world.rows)
        if self.theirs.done():
            self.wrong.append("the program failed")


t = Tap()
sums = [0] * 5
wrong = 0
for model in sorted(os.path.basename(p) for p in glob.glob(os.path.join(MODELS, "*", "*"))):
    m = Model(model)
    m.run(model)
    t.ok(not m.wrong and (m.measured > m.values / 3 or not m.values),
         "%s: %d vectors: %d values and %d thresholds agree" % (model, VECTORS, m.values, m.flags), "\n".join(m.wrong))
    sums = [a + b for a, b in zip(sums, (m.values, m.measured, m.exact, m.flags, m.over))]
    wrong += len(m.wrong)
t.ok(t.count >= 67, "every model was there")
print("# %d values, %d of them measured, %d the same to the last bit; %d thresholds, %d over; %d disagree" %
      (*sums, wrong))
t.done()
