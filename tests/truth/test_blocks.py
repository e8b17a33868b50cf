#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade blocks against what really ran: where blocks are, how often they ran, edges, mispredicts, loops and cycles.

Twice each: against the truth, which shows what sampling can tell, and against the same stacks counted
here, which have to give the same numbers."""
import collections
import functools
import math
import os
import re
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import LONG, PROGRAMS, Oracle, Spread, Symbols, cover, cyclade, own, spans_of  # noqa: E402
import nest  # noqa: E402
from tap import SANITIZED, Tap, run  # noqa: E402

USUAL = {"depth": 32, "period": 62}
ENOUGH = 1000  # hits: fewer are not expected to be near


@functools.lru_cache(maxsize=None)
def usual(o, program):
    """A run that several look at: half of all that happens is seen."""
    r = o.run(program, **USUAL)
    return r, cyclade("blocks", "-j", "-i", r.path)


class Function:
    """A function of the JSON, with its places as the truth has them."""

    def __init__(self, f, images):
        self.f, self.name = f, f["function"]
        self.image = images.get(f["dso"]) or images.get(os.path.basename(f["dso"]))
        self.blocks = f["blocks"]
        self.start = [int(b["address"], 16) for b in self.blocks]
        self.end = [int(b["end"], 16) for b in self.blocks]

    def insns(self, truth, i):
        """The instructions of a block that ran: {address: executions}"""
        return {a: n for a in range(self.start[i], self.end[i])
                for n in [truth.insns.get((self.image, a))] if n is not None}

    def last(self, truth, i):
        """The last instruction of a block that ran, or None"""
        ran = self.insns(truth, i)
        return max(ran) if ran else None


def functions(j, truth):
    images = {}
    for path in truth.images:
        images[path] = images[os.path.basename(path)] = path
    ours = {dso for dso in {f["dso"] for f in j["functions"]} if own(images.get(dso) or images.get(os.path.basename(dso)))}
    mine = {table: [x for x in j[table] if x["dso"] in ours] for table in ("functions", "blocks", "edges", "loops", "iterations", "trips")}
    return [Function(f, images) for f in nest.functions(mine)]


def layout(t, name, truth, fs):
    """Blocks are where control flow can enter and leave: all of one ran equally often."""
    split, gaps, missing = [], [], []
    for f in fs:
        for i in range(len(f.blocks)):
            ran = f.insns(truth, i)
            if ran and (len(set(ran.values())) > 1 or f.start[i] not in ran):
                split.append((f.name, hex(f.start[i]), ran))
            if i and f.end[i - 1] != f.start[i]:
                gaps.append((f.name, hex(f.start[i])))
            if ran and len(ran) != f.blocks[i]["insns"]:
                gaps.append((f.name, hex(f.start[i]), len(ran), f.blocks[i]["insns"]))
    t.ok(not split, name + ": all of a block ran equally often", split[:5])
    t.ok(not gaps, name + ": blocks lie without gaps, with as many instructions as ran", gaps[:5])
    have = {(f.image, f.f["address"]) for f in fs}
    for image in {f.image for f in fs}:
        s = Symbols(image)
        for (start, end), names in s.funcs.items():
            if truth.insns.get((image, start), 0) > 5000 and (image, hex(start)) not in have:
                missing.append((names, truth.insns[image, start]))
    t.ok(not missing, name + ": every function that ran is there", missing[:5])


def counts(t, name, truth, fs, mine, spread):
    """Executions: of all blocks, and of those that Gooda lost: where functions are entered and left."""
    s, ends, other = Spread(), Spread(), []
    returns = {e.source for e in truth.edges if e.kind == "return"}
    for f in fs:
        for i, b in enumerate(f.blocks):
            at = (f.image, f.start[i])
            want, last = truth.insns.get(at, 0), f.last(truth, i)
            hits, weight = mine.get(at, (0, 0.0))
            if b["hits"] != hits or abs((b["runs"] or 0) - weight) > 1e-6 * max(weight, 1):
                other.append((f.name, hex(f.start[i]), b["hits"], hits, b["runs"], weight))
            if not want:
                continue
            # of a block that was not seen only that it is rare is known
            for v in [s, spread] + ([ends] if i == 0 or (f.image, last) in returns else []):
                v.add(hits, b["runs"] or 0.0, want, b["runs_error"] if hits else None)
    t.ok(not other, name + ": as counted from the same stacks here", other[:5])
    t.ok(s.share(.05, 10 * ENOUGH) in (1.0,) or math.isnan(s.share(.05, 10 * ENOUGH)),
         name + ": counts with many hits within 5 %", s.worst(10 * ENOUGH))
    ends = [(h, e) for h, e, _ in ends.rows if h > 50]
    t.ok(len(ends) > 1 and all(abs(e) < 5 / math.sqrt(h) for h, e in ends),
         "%s: %d entry and return blocks" % (name, len(ends)), ends)
    total = sum(f.f["insns"] or 0 for f in fs)
    want = sum(n for (image, a), n in truth.insns.items() if own(image))
    t.ok(abs(total / want - 1) < .005, "%s: instructions retired within 0.5 %% (%+.2f %%)" % (
        name, 100 * (total / want - 1)), (total, want))
    return s


def edges(t, name, truth, fs):
    """Taken ones: as often, as often mispredicted."""
    true, by = {}, collections.Counter()
    for e in truth.edges:
        if e.kind != "fall":
            true[e.source, e.target] = e
            by[e.source] += e.n
    s, wrong, far = Spread(), [], []
    for f in fs:
        for e in f.f["edges"]:
            if e["fallthrough"] or e["from"] is None or e["to"] is None:
                continue
            last = f.last(truth, e["from"])
            want = true.get(((f.image, last), (f.image, f.start[e["to"]])))
            if not want:
                wrong.append((f.name, e))
                continue
            told = e["mispredicted"] + e["predicted"]
            s.add(told, e["runs"], want.n, e["runs_error"])
            if told > ENOUGH:
                rate, real = e["mispredicted"] / told, want.mispredicted / want.n
                if abs(rate - real) > .01 + 6 * math.sqrt(real * (1 - real) / told):
                    far.append((f.name, hex(last), rate, real))
    t.ok(not wrong, name + ": no edge that was not taken", wrong[:5])
    t.ok(not far, name + ": mispredicted as often as they were", far[:5])
    return s


def dominators(n, succ):
    """Of blocks reached from 0, by fixed point: few blocks, no need for more"""
    pred = collections.defaultdict(set)
    for a, outs in succ.items():
        for b in outs:
            pred[b].add(a)
    every = set(range(n))
    dom = {i: {0} if i == 0 else set(every) for i in range(n)}
    changed = True
    while changed:
        changed = False
        for i in range(1, n):
            new = set(every)
            for p in pred[i]:
                new &= dom[p]
            new |= {i}
            if new != dom[i]:
                dom[i], changed = new, True
    return dom


def loops(truth, f):
    """{head's address: (times entered, executions)} by what really ran"""
    at = {a: i for i, a in enumerate(f.start)}
    out = collections.defaultdict(list)
    for e in truth.edges:
        if e.source[0] == f.image and f.start and f.start[0] <= e.source[1] < f.end[-1]:
            out[e.source[1]].append(e)
    succ = collections.defaultdict(dict)
    for i in range(len(f.blocks)):
        last = f.last(truth, i)
        if last is None:
            continue
        kinds = {e.kind for e in out[last]}
        for e in out[last]:
            if e.target[0] == f.image and e.target[1] in at and not e.kind.startswith("call") and e.kind != "return":
                succ[i][at[e.target[1]]] = succ[i].get(at[e.target[1]], 0) + e.n
        if (not kinds or kinds & {"call", "call-indirect"}) and i + 1 < len(f.blocks):
            succ[i][i + 1] = truth.insns[f.image, f.start[i]]
    dom, found = dominators(len(f.blocks), succ), {}
    for i, outs in succ.items():
        for j, n in outs.items():
            if j in dom[i]:
                runs = truth.insns[f.image, f.start[j]]
                found[f.start[j]] = (found.get(f.start[j], (runs, 0))[0] - n, runs)
    return found


def close(value, want):
    return value is not None and abs(value / want - 1) < .1


def trips(t, name, truth, fs, spread):
    s, strange, missing = Spread(), [], []
    for f in fs:
        want, have = loops(truth, f), set()
        for loop in f.f["loops"]:
            head = f.start[loop["head"]]
            have.add(head)
            # one that was never gone round has no edge back in the truth: each entry is its only trip
            runs = truth.insns.get((f.image, head), 0)
            entries, runs = want.get(head, (runs, runs))
            hits = f.blocks[loop["head"]]["hits"]
            if head not in want and runs > 1000 and not close(loop["trips"], 1):
                strange.append((f.name, hex(head), loop))
            if entries > 50 and loop["trips"] is not None:
                # a trip count rests on how often it was entered
                for v in (s, spread):
                    v.add(int(hits * entries / runs), loop["trips"], runs / entries, loop["trips_error"])
        missing += [(f.name, hex(h), want[h]) for h in want if h not in have and want[h][1] > 5000]
    t.ok(not strange and not missing, name + ": loops are the loops", (strange, missing))
    t.ok((s.rows or name.startswith("recursion")) and all(abs(e) < .1 for h, e, _ in s.rows if h > ENOUGH),
         name + ": %d loops' trip counts within 10 %%" % len(s.rows), s.rows)


def cycles(t, name, truth, fs):
    """Blocks that are spans by themselves: cycles of one execution."""
    true = {(s.start, s.last): s for s in truth.spans}
    bad, n = [], 0
    for f in fs:
        for i, b in enumerate(f.blocks):
            last = f.last(truth, i)
            s = true.get(((f.image, f.start[i]), (f.image, last)))
            if not s or not b["timed"] or b["timed"] < 2000:
                continue
            n += 1
            half = 5 * (b["cycles_sd"] or 0) / math.sqrt(b["timed"])
            if abs(b["cycles"] - s.cycles / s.n) > max(half, .05 * s.cycles / s.n):
                bad.append((f.name, hex(f.start[i]), b["cycles"], s.cycles / s.n, b["timed"]))
    t.ok(n and not bad, "%s: cycles of %d blocks" % (name, n), bad[:5])


def one(t, o, program, depth, spreads):
    options = {"depth": depth, "period": 2 * depth - 2}  # half of all that happens is seen
    name = "%s, %d deep" % (program, depth)
    if options == USUAL:
        r, j = usual(o, program)
    else:
        r = o.run(program, **options)
        j = cyclade("blocks", "-j", "-i", r.path)
    if not t.ok(not isinstance(j, str), name + ": blocks", j):
        return
    fs = functions(j, r.truth)
    t.ok(len(fs) > 1 and j["scaled"], name + ": %d functions, executions by %s" % (len(fs), j["by"]))
    layout(t, name, r.truth, fs)
    counts(t, name, r.truth, fs, cover(r.truth, spans_of(r)), spreads[0]).show(name)
    edges(t, name, r.truth, fs)
    trips(t, name, r.truth, fs, spreads[1])
    cycles(t, name, r.truth, fs)
    b = j["balance"]
    t.ok(b["apart"] < .05 and b["within"] >= .9 * b["places"], "%s: in is out, of %d blocks" % (name, b["places"]), b)


def other_events(t, o):
    """Events that do not count what stacks hold: what can be said, and what is not to be said."""
    for event in ("insns", "cycles"):
        r = o.run("nested", depth=32, period=400, event=event)
        j = cyclade("blocks", "-j", "-i", r.path)
        if t.ok(not isinstance(j, str), "by %s: blocks" % event, j):
            got, want = j["insns"], r.truth.total["insns"]
            # which code cycles favour, and how much, depends on where the program and its stack lie
            t.ok(abs(got / want - 1) < {"insns": .005, "cycles": .15}[event],
                 "by %s: %+.1f %% of instructions" % (event, 100 * (got / want - 1)))
            t.ok(j["stacks"]["biased"], "by %s: says that it favours some code" % event)
    r = o.run("indirect", depth=32, period=600, event="insns", skid=40)
    j2 = cyclade("blocks", "-j", "-i", r.path)
    got, want = j2["insns"], r.truth.total["insns"]
    t.ok(abs(got / want - 1) < .03, "by insns that come late: %+.1f %% of instructions" % (100 * (got / want - 1)))
    r = o.run("nested", 50, depth=32, period=62, skid=40)
    late = cyclade("blocks", "-j", "-i", r.path)
    t.equal((late["stacks"]["late"], late["stacks"]["biased"], j["stacks"]["late"]), (True, False, False),
            "an event that is not precise: told")
    # 32 branches before each return are no picture of a loop of 1,400 trips: no figure is an execution
    r = o.run("nested", depth=32, period=5, event="returns")
    j = cyclade("blocks", "-j", "-i", r.path)
    t.ok(not isinstance(j, str) and not j["scaled"] and j["stacks"]["biased"],
         "any branch at returns: not executions, and biased", j if isinstance(j, str) else j["stacks"])


def disturbed(t, o):
    """Interrupts come back to the middle of blocks: no blocks begin there, and counts stay."""
    for program in ("pack", "shapes"):
        r = o.run(program, depth=32, period=62, irq=20000)
        name = program + ", interrupted"
        j = cyclade("blocks", "-j", "-i", r.path)
        if not t.ok(not isinstance(j, str), name + ": blocks", j):
            continue
        fs = functions(j, r.truth)
        layout(t, name, r.truth, fs)
        s = frequencies(r.truth, fs)
        s.show(name)
        t.ok(s.by_chance(3) > .95 and s.share(.05, 10 * ENOUGH) == 1, name + ": counts near the truth", s.worst(10 * ENOUGH))
        _, calm = usual(o, program)
        more = {f["function"]: f["blocks"] for f in calm["functions"]}
        bad = [(f.name, len(f.blocks), more[f.name]) for f in fs if f.name in more and len(f.blocks) > more[f.name]]
        t.ok(not bad, name + ": no more blocks than without", bad)


def all_times(truth, start, last):
    """The cycles of each time that code ran from one branch to the next, in ascending order"""
    return [cycles for cycles, n in sorted(truth.times.get((start, last), {}).items()) for _ in range(n)]


def at_rank(times, q):
    return times[min(len(times) - 1, max(0, math.ceil(q * len(times)) - 1))]


def holds(shape, times, name):
    """Whether the bounds of both quantiles hold those of all times, [(bound held, ...)]."""
    out = []
    for key, q in (("p50", .5), ("p95", .95)):
        low, high = shape[key + "_low"], shape[key + "_high"]
        if high is not None:
            out.append((low <= at_rank(times, q) <= high, name, key, (low, high), at_rank(times, q)))
    return out


def times(t, o):
    """Cycles of blocks and of rounds of loops, from a sixth of all branches, against those of all branches."""
    held = []
    for program in PROGRAMS:
        some = o.run(program, depth=32, period=192, far=0, times=1).without_system()
        j = cyclade("blocks", "-j", "-i", some.path)
        modes = []
        for f in functions(j, some.truth):
            for i, b in enumerate(f.blocks):
                all_of = all_times(some.truth, (f.image, f.start[i]), (f.image, f.last(some.truth, i)))
                if b["timed"] < 500 or len(all_of) < 3000:
                    continue
                held += holds(b, all_of, (program, f.name, hex(f.start[i])))
                tail = sum(all_of[int(.95 * len(all_of)):]) / sum(all_of)
                if b["tail"] is not None and abs(b["tail"] - tail) > .1:
                    modes.append((f.name, hex(f.start[i]), b["tail"], tail))
            for loop in f.f["loops"]:
                head, n = (f.image, f.start[loop["head"]]), loop["blocks"]
                # loops of one block that branch to themselves: a round is from one such branch to the next
                if n > 1 or not loop["iteration"] or loop["iteration"]["timed"] < 500:
                    continue
                last = (f.image, f.last(some.truth, loop["head"]))
                held += holds(loop["iteration"], all_times(some.truth, head, last), (program, f.name, "loop"))
        t.ok(not modes, program + ": what the slowest have of all cycles", modes)
    bad = [h for h in held if not h[0]]
    t.ok(len(held) > 50 and len(bad) <= .05 * len(held), "%.1f %% of %d p50 and p95 lie within their bounds" % (
        100 - 100 * len(bad) / max(len(held), 1), len(held)), bad)


def interrupted_visits(t, o):
    """An interrupt is no end of a loop, nor a way into it: loops that always make as many rounds are not seen to make
    others, whether stacks hold the way into the kernel or not."""
    rounds = {("of_three", 2): {5}, ("of_three", 3): {32}, ("triangle", 1): {19, 20}}
    calm = None
    for how in ({}, {"irq": 700}, {"irq": 700, "both": 1}):
        r = o.run("nested", 100, depth=512, period=1022, **how)
        j = cyclade("blocks", "-j", "-i", r.path)
        name = "nested, " + (", ".join("%s %d" % x for x in how.items()) or "calm")
        if not t.ok(not isinstance(j, str), name + ": blocks", j):
            continue
        loops = {(f["function"], x["depth"]): x for f in nest.functions(j) for x in f["loops"]}
        bad, few = [], []
        calm = calm or loops
        for key, want in rounds.items():
            have = set(loops[key]["histogram"])
            bad += [(key, loops[key])] if not have <= want or not have else []
            seen = calm[key]["visits"]  # of some loops a few dozen: three deviations are chance
            few += [(key, loops[key])] if loops[key]["visits"] < .8 * seen - 3 * math.sqrt(seen) else []
        t.ok(not bad, name + ": whole visits make all their rounds", bad)
        t.ok(not few, name + ": hardly less of them are seen whole", few)


def frequencies(truth, fs):
    s = Spread()
    for f in fs:
        for i, b in enumerate(f.blocks):
            want = truth.insns.get((f.image, f.start[i]))
            if want:
                s.add(b["hits"], b["runs"] or 0.0, want, b["runs_error"] if b["hits"] else None)
    return s


def nearly_all(t, o):
    """Periods as long as stacks, now and then one more or less: what is seen is nearly all that happens, so that
    chance is next to nothing, and what errors are left would be ours."""
    for depth in (16, 32):
        every, rounds = Spread(), Spread()
        for program in PROGRAMS:
            r = o.run(program, depth=depth, period=depth - 1, spread=100 // (depth - 1) + 1, often=25).without_system()
            j = cyclade("blocks", "-j", "-i", r.path)
            name = "%s, %d deep, nearly all seen" % (program, depth)
            if not t.ok(not isinstance(j, str), name + ": blocks", j):
                continue
            fs = functions(j, r.truth)
            s = frequencies(r.truth, fs)
            every.rows += s.rows
            trips(t, name, r.truth, fs, rounds)
            t.ok(s.share(.01) == 1, "%s: %d counts with over %d hits within 1 %% (%.2f %%)" % (
                name, sum(h > ENOUGH for h, _, _ in s.rows), ENOUGH, 100 * s.worst()), s.rows)
        t.ok(rounds.share(.01) > .9 and rounds.worst() < .02, "%d deep, nearly all seen: %d trip counts within 1 %% (%.2f %%)" % (
            depth, sum(h > ENOUGH for h, _, _ in rounds.rows), 100 * rounds.worst()), rounds.rows)
        t.ok(every.covered() > .95, "%d deep: %.1f %% of counts within their error bars" % (depth, 100 * every.covered()))


def skidding(t, o):
    """Events that are not precise: stacks lean to where the processor waited, by how much no recording shows. Error bars
    hold, or there are none."""
    for skid in (0, 15, 40, 150) if LONG else (0, 40, 150):
        every, bars, marks, whys = Spread(), set(), set(), set()
        for program in PROGRAMS:
            if skid:
                r = o.run(program, **USUAL, skid=skid).without_system()
                j = cyclade("blocks", "-j", "-i", r.path)
            else:
                r, j = usual(o, program)
            if not t.ok(not isinstance(j, str), "%s, %d cycles late: blocks" % (program, skid), j):
                return
            fs = functions(j, r.truth)
            every.rows += [x for x in frequencies(r.truth, fs).rows if x[0] > 100]
            loops = [x for f in fs for x in f.f["loops"]]
            figures = [(x, "runs") for f in fs for x in f.blocks + f.f["edges"]] + [(j, "insns")]
            figures += [(f.f, k) for f in fs for k in ("entered", "insns")] + [(x, k) for x in loops for k in ("entries", "trips")]
            figures = [(x, k) for x, k in figures if x[k] or x.get("hits") == 0]
            marks |= {x["leans"] for x, _ in figures}
            figures += [(x["iteration"], "cycles") for x in loops if x["iteration"] and x["iteration"]["stacks"] > 1]
            bars |= {x[k + "_error"] is not None for x, k in figures}
            whys |= {"unknown number of cycles" in (x[k + "_why"] or "") for x, k in figures}
            t.ok((j["balance"]["within"] is None) == (skid > 0), "%s, %d cycles late: no bar, no balance within it" % (program, skid))
        t.ok(every.covered() > .95 or not any(bars), "%d cycles late: %d counts lie within their error bars, or have none" % (
            skid, len(every.rows)), every.covered())
        t.equal((bars, marks, whys), ({skid == 0}, {skid > 0}, {skid > 0}), "%d cycles late: all figures have bars, or none and a reason" % skid)
    faces_of_late(t, o, r)


def faces_of_late(t, o, r):
    """No command and no format has an error bar of late samples, nor a nan in place of one."""
    function = next(f["function"] for f in cyclade("blocks", "-j", "-i", r.path)["functions"] if f["blocks"])
    for command in (["blocks"], ["blocks", function], ["annotate", function], ["calls"]):
        for how in ("term", "markdown", "csv", "json"):
            said = run(*command, "--format", how, "-i", r.path, "--no-cache").stdout
            name = "late samples: %s, %s" % (command[0], how)
            t.ok(said and not re.search(r"(?i)\bnan\b", said) and not re.search(r"(\+-|±)[\d.]", said), name, said[:3000])
            t.ok(how in ("term", "markdown") or "unknown number of cycles" in said, name + ": why", said[:300])
    said = run("blocks", "-i", r.path, "--no-cache").stdout
    t.ok("no more than the error" not in said and "in and out" in said, "late samples: nothing is said to be within no error", said[-1500:])
    cycles = o.run("nested", depth=32, period=400, event="cycles", skid=40)
    for extra, word in (([], r"insns~ +no error bar"), (["-j"], "unknown number of cycles"), (["--format", "csv"], "unknown number of cycles")):
        said = run("report", "--account", "-i", cycles.path, "--model", "skx", "--no-cache", *extra).stdout
        t.ok(re.search(word, said), "late samples: account %s" % " ".join(extra), said[:3000])


def main():
    t = Tap()
    with Oracle(t) as o:
        other_events(t, o)
        disturbed(t, o)
        interrupted_visits(t, o)
        times(t, o)
        nearly_all(t, o)
        if not SANITIZED:
            skidding(t, o)
        loops_of_all = Spread()
        for depth in (16, 32):
            spreads = Spread(), Spread()
            for program in PROGRAMS if depth == 32 or LONG or SANITIZED else PROGRAMS[::2]:
                one(t, o, program, depth, spreads)
            spreads[0].show("blocks, %d deep" % depth)
            spreads[1].show("trip counts, %d deep" % depth)
            if SANITIZED:
                continue  # two programs are too few for shares
            s = spreads[0]
            share = s.share(.01, ENOUGH)
            t.ok(share > (.85 if LONG else .7), "%d deep: %.1f %% of counts with over %d hits are within 1 %%" % (
                depth, 100 * share, ENOUGH))
            t.ok(s.share(.01, 10 * ENOUGH) > .85, "%d deep: %.1f %% of those with ten times as many" % (
                depth, 100 * s.share(.01, 10 * ENOUGH)))
            t.ok(s.by_chance(3) > .97, "%d deep: %.1f %% within three times one by the root of hits, %.1f %% within once" % (
                depth, 100 * s.by_chance(3), 100 * s.by_chance(1)))
            t.ok(s.covers(.9), "%d deep: %.1f %% of counts lie within their error bars" % (depth, 100 * s.covered()))
            loops_of_all.rows += spreads[1].rows
        if SANITIZED:
            t.done()
        # a few dozen figures: one in twenty is expected outside, and luck may double that
        t.ok(loops_of_all.covered() > .85, "%.1f %% of trip counts lie within their error bars" % (
            100 * loops_of_all.covered()))
    t.done()


main()
