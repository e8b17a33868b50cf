#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --concurrency: for what share of the time CPUs were halted, by a counter and by switches, in recordings that were put
together from a pattern of halts: the truth is known for each interval."""
import json
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import Tap, run  # noqa: E402
from waits_made import REFERENCE, SOME, Made, counted, gen  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-halted-")
os.chdir(tmp)
FROM, LENGTH, PER_NS, PERIOD = 1000, 2000000, 2, 20000
AT, HALTED, ERROR, WHY, BY = "from_seconds", "halted_share", "halted_share_error", "halted_share_why", "halted_by"


def doc_of(path):
    p = run("report", "--concurrency", "-j", path)
    if p.returncode:
        t.ok(False, "report --concurrency of " + path, p.stderr)
        return {"cpus": [], "halted": []}
    return json.loads(p.stdout)


def pattern(kind, rnd):
    """Times in which the CPU is not halted."""
    if kind == "busy":
        return [(0, LENGTH)]
    if kind == "half":
        return [(0, LENGTH // 2)]
    out, now = [], 0
    while now < LENGTH:
        on = rnd.randrange(1, 60000)
        out.append((now, min(now + on, LENGTH)))
        now += on + rnd.randrange(1, 120000)
    return out


def ran(on, a, b):
    return sum(max(0, min(b, y) - max(a, x)) for x, y in on)


def have(on, turns):
    """What of it has a counter."""
    if not turns:
        return on
    slots = [(x, x + turns) for x in range(0, LENGTH, 2 * turns)]
    return [(max(a, x), min(b, y)) for a, b in on for x, y in slots if min(b, y) > max(a, x)]


def clipped(on, begin, end):
    return [(max(a, begin), min(b, end)) for a, b in on if min(b, end) > max(a, begin)]


def samples(on):
    """When the counter had made up a period."""
    have = 0
    for a, b in on:
        at = a
        while have + (b - at) * PER_NS >= PERIOD:
            at += (PERIOD - have) // PER_NS
            have = 0
            yield at
        have += (b - at) * PER_NS


def make(path, kinds, event=REFERENCE, rate=PER_NS * 1e9, lost=None, how="lost", wide=True, seed=1, turns=None, more=(), window=(0, LENGTH)):
    """CPUs run as in `kinds`; the last one has no samples. lost: so many samples in a row of CPU 0 are not there, and a record of `how`
    tells. turns: the event has a counter for this long, and no counter for as long. window: when counters were switched on, and off."""
    m, rnd, truth, todo = Made([b"work"], wide=wide, more=[event, *more]), random.Random(seed), [], []
    if rate:
        m.tsc(rate)
    for cpu, kind in enumerate(kinds):
        on = pattern(kind, rnd)
        truth.append(on)
        todo += [(FROM + x, 1, cpu) for at in on for x in at[:1]] + [(FROM + y, 0, cpu) for x, y in on]
        if cpu + 1 < len(kinds) or len(kinds) == 1:
            todo += [(FROM + at, 2, cpu) for at in samples(clipped(have(on, turns), *window))]
    n = 0
    for time, what, cpu in sorted(todo):
        if what == 2 and not cpu and lost:
            n += 1
            if lost[0] <= n <= lost[1]:
                continue
            if n == lost[1] + 1:
                if how == "lost":
                    m.lost(time - 10, 5)
                elif how == "throttled":
                    m.throttle(time - 10, cpu, 45)
        if what == 2:
            at = time - FROM
            read = (at - window[0], ran(have([(0, at)], turns), window[0], at), [(45, ran(have(truth[cpu], turns), window[0], at) * PER_NS, 0)])
            m.sample(SOME, time, 100 + cpu, cpu, period=PERIOD, read=read)
        elif what:
            m.on(time, 100 + cpu, cpu)
        else:
            m.off(time, 100 + cpu, cpu)
    m.sample(0, FROM + LENGTH, 0)
    m.write(path)
    return truth


def check(what, d, truth, by, most):
    """Each interval is within its error of the truth, and the error is not larger than `most` in the mean."""
    for cpu, on in enumerate(truth):
        rows, wrong, error = [r for r in d["halted"] if r["cpu"] == cpu], [], 0
        for i, r in enumerate(rows):
            a, b = LENGTH * i // 20, LENGTH * (i + 1) // 20
            is_ = 1 - ran(on, a, b) / (b - a)
            if r[HALTED] is None or abs(r[HALTED] - is_) > r[ERROR] + 2e-3 or abs(r[AT] * 1e9 - a) > 2 or r[BY] != by[cpu]:
                wrong.append((i, is_, r))
            error += (r[ERROR] or 0) / 20
        t.ok(len(rows) == 20 and not wrong, "%s: CPU %d: intervals" % (what, cpu), (len(rows), wrong[:3]))
        t.ok(error <= most[cpu], "%s: CPU %d: errors" % (what, cpu), error)
        c = [r for r in d["cpus"] if r["cpu"] == cpu]
        is_ = 1 - ran(on, 0, LENGTH) / LENGTH
        t.ok(c and c[0][HALTED] is not None and abs(c[0][HALTED] - is_) <= c[0][ERROR] + 2e-3 and c[0][ERROR] <= most[cpu] and c[0][BY] == by[cpu],
             "%s: CPU %d: all of the time" % (what, cpu), (is_, c))


COUNTED = ["counter"] * 3 + ["switches"]
for seed in (1, 2, 3):
    truth = make("made.data", ["busy", "half", "some", "some"], seed=seed)
    check("counter, and switches (%d)" % seed, doc_of("made.data"), truth, COUNTED, [0.01, 0.03, 0.08, 1e-9])
truth = make("named.data", ["busy", "half", "some", "some"], event=("cpu_clk_unhalted.ref_tsc", dict(REFERENCE[1], type=4, config=0x300), [45]))
check("the name of Intel's manuals", doc_of("named.data"), truth, COUNTED, [0.01, 0.03, 0.08, 1e-9])
truth = make("lost.data", ["busy", "half", "some", "some"], lost=(20, 50))
d = doc_of("lost.data")
wide = [r for r in d["halted"] if r["cpu"] == 0 and r[ERROR] > 0.2]
t.ok(1 <= len(wide) <= 5, "lost samples: those intervals are not known", wide)
t.ok(all(abs(1 - ran(truth[0], LENGTH * i // 20, LENGTH * (i + 1) // 20) / (LENGTH / 20) - r[HALTED]) <= r[ERROR] + 2e-3
         for i, r in enumerate(r for r in d["halted"] if r["cpu"] == 0)), "lost samples: errors have the truth", d["halted"][:20])

make("throttled.data", ["busy", "half", "some", "some"], lost=(20, 50), how="throttled")
t.equal([r[HALTED] for r in doc_of("throttled.data")["halted"][:20]], [r[HALTED] for r in d["halted"][:20]], "throttled: as if samples were lost")

# ---- samples with values and times
ATTR = REFERENCE[1]
READ = ("ref-cycles", dict(ATTR, sample=ATTR["sample"] | gen.BIT["READ"], read=7), [45])
truth = make("read.data", ["busy", "half", "some", "some"], event=READ, lost=(20, 50), how="")
check("values make up for samples that are not there", doc_of("read.data"), truth, COUNTED, [0.01, 0.03, 0.08, 1e-9])
truth = make("turns.data", ["busy", "half", "some", "some"], event=READ, turns=5000)
check("with a counter half of the time", doc_of("turns.data"), truth, COUNTED, [0.3, 0.3, 0.45, 1e-9])
d = doc_of("turns.data")
t.ok(d["cpus"][0][ERROR] > 0.2, "with a counter half of the time: the other half may have been anything", d["cpus"][0])
# ---- switches are recorded before counters are on, and after they are off
for event in (REFERENCE, READ):
    truth = make("window.data", ["busy", "half", "some", "some"], event=event, window=(LENGTH * 17 // 100, LENGTH * 88 // 100))
    d = doc_of("window.data")
    check("counters for a part of the time, %s times" % ("without" if event is REFERENCE else "with"), d, truth, COUNTED, [0.16, 0.19, 0.23, 1e-9])
    t.ok(all((r[ERROR] > 0.3) == (i < 3 or i > 17) for i, r in enumerate(r for r in d["halted"] if r["cpu"] == 0)), "counters for a part of the time: the rest is not known",
         d["halted"][:20])
six = [("event-%d" % i, dict(type=4, config=i, sample=gen.BASE, period=1, sample_id_all=1), [50 + i]) for i in range(6)]

# ---- where the counter does not say
for what, event, rate, why in (("no rate", REFERENCE, 0, "rate of the time-stamp counter"), ("user space only", ("ref-cycles:u", dict(ATTR, exclude_kernel=1), [45]), 2e9, "alike"),
                               ("no such event", ("cycles", dict(ATTR, config=0), [45]), 2e9, "no samples of ref-cycles")):
    truth = make("not.data", ["busy", "half", "some"], event=event, rate=rate)
    check(what, doc_of("not.data"), truth, ["switches"] * 3, [1e-9] * 3)
    p = run("report", "--concurrency", "not.data")
    t.ok(why in " ".join(p.stdout.split()), what + ": people see why", p.stdout[-900:])
truth = make("six.data", ["busy", "half", "some"], more=six)
check("many events, no times", doc_of("six.data"), truth, ["switches"] * 3, [1e-9] * 3)
truth = make("six.data", ["busy", "half", "some"], event=READ, more=six)
check("many events, with times", doc_of("six.data"), truth, ["counter"] * 2 + ["switches"], [0.01, 0.03, 1e-9])
make("tasks.data", ["some"], wide=False)
d = doc_of("tasks.data")
t.ok(d["halted"] and d["cpus"] and all(r[HALTED] is None and r[BY] is None and "record -a" in r[WHY] for r in d["halted"] + d["cpus"]),
     "threads only: not known, and why", (d["halted"], d["cpus"]))

counted("counted.data")
p = run("report", "--concurrency", "counted.data")
t.ok(" of the time of 1 CPU, by ref-cycles" in p.stdout, "people see which counter", p.stdout)
tables.walk(t, "report", "--concurrency", "-i", "counted.data")
shutil.rmtree(tmp)
t.done()
