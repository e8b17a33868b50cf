#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade blocks --mix against what really ran: classes of instructions are objdump's mnemonics times the executions that the
plugin counted; which instructions read and write memory; how few functions, lines and pages hold most of it."""
import collections
import os
import re
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import PROGRAMS, Oracle, Spread, cyclade  # noqa: E402
import insn_mix  # noqa: E402
from tap import Tap, run  # noqa: E402

STACK = {"call": "w", "return": "r", "push": "w", "pop": "r", "leave": "r"}


def accesses(text, what, memory):
    """What an instruction does to memory, with what it does to the stack."""
    word = re.sub(r"^(?:bnd|notrack|rep[nz]*) +", "", text).split()[0]
    own = STACK.get("push" if word.startswith("push") else "pop" if word.startswith("pop") else "leave" if word.startswith("leave") else what, "")
    if what == "string":
        own = {"s": "w", "m": "rw"}.get(word[0], "r") if word.startswith(("sto", "mov")) else "r"
    if what in ("call", "stack") and "(" in text and "<" not in text.split("(", maxsplit=1)[0]:
        own += "w" if word.startswith("pop") else "r"
    return set(own) | set((memory or "-").replace("-", ""))


def holding(weights, part):
    """How many of the heaviest make up the part."""
    total, n = 0, 0
    for w in sorted(weights, reverse=True):
        total, n = total + w, n + 1
        if total >= part * sum(weights) * (1 - 1e-12):
            break
    return n


def main():
    t = Tap()
    with Oracle(t) as o:
        known, spread, bars = {}, Spread(), []
        for name in PROGRAMS:
            r = o.run(name, depth=32, period=62)
            j = cyclade("blocks", "--mix", "-j", "-i", r.path)
            if not t.ok(isinstance(j, dict), name + ": a mix", j):
                continue
            truth = r.truth
            paths = {}
            for path in truth.images:
                paths[path] = paths[os.path.basename(path)] = path
            listed = {}
            for path in {i for i, _ in truth.insns if i and os.path.exists(i)}:
                if path not in known:
                    known[path] = dict(insn_mix.listing("objdump", path))
                listed[path] = known[path]
            # the truth: of instructions that objdump shows, by class
            total, by_class, reads, writes, unknown = 0, collections.Counter(), 0, 0, 0
            pages, cache = collections.Counter(), collections.Counter()
            for (image, addr), n in truth.insns.items():
                text = listed.get(image, {}).get(addr)
                if text is None:
                    unknown += n
                    continue
                what, memory = insn_mix.x86(text)
                what = what or ("vector move" if text.startswith("vzero") else "?")
                total += n
                by_class[what] += n
                acts = accesses(text, what, memory)
                reads, writes = reads + n * ("r" in acts), writes + n * ("w" in acts)
                pages[image, addr >> 12] += n
                cache[image, addr >> 6] += n
            t.ok(unknown < total / 1000 and by_class["?"] < total / 1000, name + ": what ran is known", (unknown, total, by_class["?"]))
            mix = {c["class"]: c for c in j["mix"]}
            for c in set(mix) | set(by_class):
                share = by_class[c] / total
                got = mix.get(c, {"share": 0, "share_error": None})
                if share > 0.002 or got["share"] > 0.002:
                    bars.append(abs(got["share"] - share) <= (got["share_error"] or 0) + 1e-9)
                    t.ok(abs(got["share"] - share) < max(0.005, 2.5 * (got["share_error"] or 0)), "%s: share of %s" % (name, c), (got, share))
            sums = [sum(c[k] * c["runs"] for c in j["mix"]) / sum(c["runs"] for c in j["mix"]) for k in ("reads", "writes")]
            t.ok(abs(sums[0] - reads / total) < 0.005 and abs(sums[1] - writes / total) < 0.005, name + ": reads and writes",
                 (sums, reads / total, writes / total))
            # single instructions
            for i in j["instructions"]:
                n = truth.insns.get((paths.get(i["dso"]), int(i["address"], 16)))
                if n and i["runs"] > 60000:
                    spread.add(i["runs"], i["runs"], n, i["runs_error"])
            at = {(paths.get(i["dso"]), int(i["address"], 16)) for i in j["instructions"]}
            t.ok(sum(truth.insns.get(a, 0) for a in at) > 0.99 * total, name + ": instructions that ran are listed", len(at))
            # tables are sums of the same
            runs = sum(i["runs"] for i in j["instructions"])
            for table in ("mix", "widths", "mnemonics", "pages"):
                t.ok(abs(sum(x["runs"] for x in j[table]) - runs) < 1e-6 * runs and sum(x["insns"] for x in j[table]) == len(j["instructions"]),
                     "%s: %s are all instructions" % (name, table), (sum(x["runs"] for x in j[table]), runs))
            t.ok(abs(runs - j["insns"]) < 1e-6 * runs, name + ": and the retired ones", (runs, j["insns"]))
            by_line = collections.Counter()
            for i in j["instructions"]:
                if i["line"]:
                    by_line[i["dso"], i["file"], i["line"]] += i["runs"]
            lines = {(x["dso"], x["file"], x["line"]): x["runs"] for x in j["lines"]}
            t.ok(set(lines) == set(by_line) and all(abs(lines[k] - v) <= 1e-6 * v for k, v in by_line.items()), name + ": lines are sums of instructions")
            # what holds most
            held = {h["unit"]: h for h in j["held"]}
            for unit, weights in (("pages of 4 kB", pages), ("cache lines of 64 bytes", cache)):
                want = [holding(list(weights.values()), p) for p in (.5, .9, .99)]
                got = [held[unit][k] for k in ("p50", "p90", "p99")]
                t.ok(all(abs(a - b) <= max(1, 0.15 * b) for a, b in zip(got, want)), "%s: %s that hold most" % (name, unit), (got, want))
            for k, p in (("p50", .5), ("p90", .9), ("p99", .99)):
                t.equal(held["source lines"][k], holding(list(by_line.values()), p), "%s: source lines that hold %s" % (name, k))
        t.ok(sum(bars) >= 0.85 * len(bars), "shares of classes are within their errors", "%d of %d" % (sum(bars), len(bars)))
        t.ok(spread.covers(0.9), "executions of single instructions are within their errors", spread.covered())
        spread.show("instructions")
        # people
        p = run("blocks", "--mix", "-i", r.path, "--no-cache", env={**os.environ, "COLUMNS": "80"})
        lines = p.stdout.replace(r.path, "cyclade.data").splitlines()  # however long the path is
        t.ok(p.returncode == 0 and max(map(len, lines)) <= 80 and "how few hold most" in p.stdout, "people read it in 80 columns", p.stdout)
    t.done()


main()
