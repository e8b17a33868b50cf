#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade blocks on a program put together byte by byte, of which each step is known: a loop in a loop, a call, an
indirect jump, a function that runs on into the next, a cold part. The stacks hold every branch once."""
import csv
import io
import json
import os
import random
import re
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
from tap import Tap, run  # noqa: E402
import gen  # noqa: E402
import nest  # noqa: E402
import tables  # noqa: E402

BASE, LOADED = 0x401000, 0x7f0000000000  # as linked, and where it ran: not at the same place
DEPTH, ANY, CALL_STACK = 17, 8 | 1, 1 << 11 | 1
SAMPLE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD BRANCH_STACK".split())

call = lambda at, to: b"\xe8" + struct.pack("<i", to - at - 5)
NAME = "h\x1b[31m|\"a,<b>\n\ufffd"  # a symbol that would be red; its last byte is no UTF-8, for which json has U+FFFD
FUNCTIONS = {
    # xor; a: inc; nop; b: inc; jne d; call g; d: dec; jne b; je f; jmp a; f: ret
    "f": (0x00, bytes.fromhex("31c0 ffc0 90 ffc1 7505") + call(9, 0x40) + bytes.fromhex("ffc9 75f3 7402 ebec c3")),
    "g": (0x40, bytes.fromhex("ffe0 90 c3 90 90 c3")),  # jmp *rax to one of 42, 44, 45
    NAME: (0x60, bytes.fromhex("9090")),  # runs on into k
    "k": (0x62, bytes.fromhex("7401 90 c3")),
    "m": (0xa0, b"\x0f\x84" + struct.pack("<i", 0xc0 - 0xa6) + b"\xc3"),
    "m.cold": (0xc0, b"\x90\xe9" + struct.pack("<i", 0xa6 - 0xc6)),
    "the_program_itself": (0x100, call(0x100, 0) + call(0x105, 0x60) + call(0x10a, 0xa0) + bytes.fromhex("75ef c3")),
}
STARTS = {"f": [0, 2, 5, 9, 14, 18, 20, 22], "g": [0x40, 0x42, 0x44, 0x45], NAME: [0x60], "k": [0x62, 0x64, 0x65],
          "m": [0xa0, 0xa6], "m.cold": [0xc0], "the_program_itself": [0x100, 0x105, 0x10a, 0x10f, 0x111]}


def elf(called={}):
    """The program; called: other names for some functions."""
    code = bytearray(0x120)
    names, syms = b"\0", bytes(24)
    for name, (at, b) in FUNCTIONS.items():
        code[at:at + len(b)] = b
        syms += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, BASE + at, len(b))
        names += called.get(name, name).encode().replace(b"\xef\xbf\xbd", b"\xff") + b"\0"
    heads = b"\0.text\0.symtab\0.strtab\0"
    parts, at = [], 0x1000
    for b in (bytes(code), syms, names, heads):
        parts.append((at, len(b)))
        at += len(b)
    section = lambda n, kind, flags, addr, p, link=0, ent=0: struct.pack("<IIQQQQIIQQ", n, kind, flags, addr, *p, link, 0, 1, ent)
    table = (bytes(64) + section(1, 1, 6, BASE, parts[0]) + section(7, 2, 0, 0, parts[1], 3, 24) +
             section(15, 3, 0, 0, parts[2]) + section(0, 3, 0, 0, parts[3]))
    head = (b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, BASE, 64, at, 0, 64, 56, 1, 64, 5, 4) +
            struct.pack("<IIQQQQQQ", 1, 5, 0x1000, BASE, BASE, len(code), len(code), 0x1000))
    return head + bytes(0x1000 - len(head)) + bytes(code) + syms + names + heads + table


class Program:
    """What runs: every taken branch, and how often the code at each address."""

    def __init__(self, rounds):
        self.branches, self.ran, self.at, self.rnd = [], [0] * 0x120, 0x100, random.Random(3)
        self.called = {n: 0 for n in FUNCTIONS}
        for i in range(rounds):
            self.f(1 + i % 5, 1 + i % 7)
            self.to(0x105, 0x60)
            self.called[NAME] += 1
            self.called["k"] += 1
            if i % 3:
                self.to(0x62, 0x65)
            self.to(0x65, 0x10a)
            self.to(0x10a, 0xa0)
            self.called["m"] += 1
            if i % 10 == 0:
                self.to(0xa0, 0xc0)
                self.called["m.cold"] += 1
                self.to(0xc1, 0xa6)
            self.to(0xa6, 0x10f)
            self.to(0x10f, 0x100)

    def to(self, source, target):
        for a in range(self.at, source + 1):
            self.ran[a] += 1
        self.branches.append((source, target))
        self.at = target

    def f(self, outer, inner):
        self.to(0x100, 0)
        self.called["f"] += 1
        for i in range(outer):
            for k in range(inner):
                if self.rnd.randrange(2):
                    self.to(7, 14)
                else:
                    self.to(9, 0x40)
                    self.called["g"] += 1
                    case = self.rnd.choice((0x42, 0x44, 0x45))
                    self.to(0x40, case)
                    self.to(0x43 if case == 0x42 else 0x46, 14)
                if k + 1 < inner:
                    self.to(16, 5)
            if i + 1 < outer:
                self.to(20, 2)
        self.to(18, 22)
        self.to(22, 0x105)


def usual_cycles(_source, target):
    return 1 + (target == 0x105)


def recording(path, prog, stacks, br=ANY, period=DEPTH - 1, kernel=False, cycles=usual_cycles):
    w = gen.Writer("<")
    a = dict(type=4, config=0x20c4, period=period, sample=SAMPLE, br=br, sample_id_all=1, precise_ip=2)
    if not kernel:
        a["exclude_kernel"] = 1
    if not br:
        a["sample"] = SAMPLE & ~gen.BIT["BRANCH_STACK"]
    f = gen.File(w, [("br_inst_retired.near_taken", a, [100])], attr_size=112)
    f.features[9] = w.text("GenuineIntel-6-85-4")
    tail = lambda pid: w.pack("IIQIIQ", pid, pid, 1, 0, 0, 100)
    data = [w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("made") + tail(20)),
            w.record(gen.MMAP2, w.pack("IIQQQIIQQII", 20, 20, LOADED + 0x1000, 0x1000, 0x1000, 8, 1, 42, 0, 5, 2) +
                     gen.text8(prog) + tail(20), 2)]
    for i, stack in enumerate(stacks):
        entries = [(LOADED + 0x1000 + s, LOADED + 0x1000 + t,
                    dict(mispred=int(s == 16), predicted=int(s != 16), in_tx=0, abort=0, cycles=cycles(s, t), type=0, spec=0,
                         new_type=0, priv=0), 0) for s, t in stack]
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(20, 20), TIME=100 + i, IP=LOADED + 0x1000, CPU=0, PERIOD=period, BRANCH_STACK=(3, entries))
        data.append(s.record(w, a))
    f.data = b"".join(data)
    with open(path, "wb") as out:
        out.write(f.build())


def stacks_of(branches):
    """Every span once: stacks share the branch at which one ends and the next begins."""
    step = DEPTH - 1
    for i in range(0, len(branches) - step, step):
        yield branches[i:i + DEPTH][::-1]


def near(a, b, most):
    return abs(a - b) <= most * max(abs(b), 1)


def exact(t, j, p):
    by = {f["function"]: f for f in nest.functions(j)}
    t.equal(set(by), set(FUNCTIONS), "every function that ran is there, and no other")
    t.equal((j["schema"], j["event"], j["filter"], j["scaled"], j["by"], set(j["dropped"].values())),
            ("cyclade.blocks/2", "br_inst_retired.near_taken", "any", True, "taken branches", {0}), "what it is of")
    n = {**j["counted"], **j["stacks"]}
    t.equal((n["intervals"], n["branches"], n["samples"]), (j["used"], j["used"] + n["stacks"], n["stacks"]), "each interval is used")
    bad, insns = [], 0
    for name, f in by.items():
        at, code = FUNCTIONS[name]
        t.equal([int(b["address"], 16) - BASE for b in f["blocks"]], STARTS[name], "%r: where blocks begin" % name)
        insns += f["insns"]
        for b, start in zip(f["blocks"], STARTS[name]):
            if not near(b["runs"], p.ran[start], 1e-9) or b["hits"] != p.ran[start]:
                bad.append((name, hex(start), b["runs"], p.ran[start]))
            if not (near(b["in"], p.ran[start], .08) and near(b["out"], p.ran[start], .08)):
                bad.append((name, hex(start), b["in"], b["out"], p.ran[start]))
        if not near(f["entered"], p.called[name], .07):
            bad.append((name, f["entered"], p.called[name]))
    t.ok(not bad, "blocks ran as often as they did, to the last one; in and out and calls are near", bad)
    t.ok(near(insns, j["insns"], 1e-9), "functions' instructions are the whole's", (insns, j["insns"]))
    loops = [(l["head"], l["depth"], l["parent"], l["blocks"]) for l in by["f"]["loops"]]
    t.equal(loops, [(1, 1, None, 6), (2, 2, 0, 3)], "the loops of f")
    outer, inner = by["f"]["loops"]
    t.ok(near(outer["trips"], p.ran[2] / p.called["f"], .05) and near(inner["trips"], p.ran[5] / p.ran[2], .05),
         "with their trips", (outer["trips"], inner["trips"]))
    whole = sum(n * k for k, n in inner["histogram"].items())
    t.ok(inner["visits"] == sum(inner["histogram"].values()) > 100 and inner["cut"] > 0 and max(inner["histogram"]) < 8 and
         1 < whole / inner["visits"] < p.ran[5] / p.ran[2], "visits seen whole are of 1 to 7 trips, the shorter ones", inner)
    edges = {(e["from"], e["to"]): e for e in by["f"]["edges"]}
    back = edges[4, 2]
    t.equal((back["mispredicted"] > 100, back["predicted"], edges[4, 5]["fallthrough"], edges[4, 5]["runs"]),
            (True, 0, True, float(p.ran[18])), "the inner loop's jump back is mispredicted, what falls through is exact")
    called = [e for e in by["f"]["edges"] if e["from"] == 3]
    t.equal([(e["to"], e["other_function"]) for e in called], [(None, "g")], "a call leads to g")
    k = [e for e in by["k"]["edges"] if e["from"] is None]
    t.equal([(e["to"], e["fallthrough"], e["other_function"]) for e in k], [(0, True, NAME)], "k is run into, not called")
    main = by["the_program_itself"]["blocks"][1]
    t.equal((main["cycles"], main["cycles_sd"], main["timed"] > 100), (1.0, 0.0, True), "a block by itself has its cycles")


def faces(t, path, j):
    r = run("blocks", path, "--format", "csv", "--no-cache")
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    t.ok(len(rows) == len(j["blocks"]) and rows[0]["dso"] == "prog" and "\r" not in r.stdout, "csv: a row for each block", r.stdout[:500])
    t.equal([x["runs"] == "0" for x in rows], sorted(x["runs"] == "0" for x in rows), "those that did not run last")
    t.ok(all(float(a["runs"]) * int(a["insns"]) >= float(b["runs"]) * int(b["insns"]) for a, b in zip(rows, rows[1:])),
         "most instructions first")
    r = run("blocks", "-i", path, "f", "-x", ";", "--no-cache")
    rows = list(csv.DictReader(io.StringIO(r.stdout), delimiter=";"))
    t.equal([int(x["block"]) for x in rows], list(range(8)), "of a function: by address")
    for how in ([], ["f"]):
        r = run("blocks", path, *how, "--no-cache", env=dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8"))
        long = [x for x in r.stdout.splitlines() if len(x) > 80 and "cyclade " not in x]
        t.ok(r.returncode == 0 and not long and "\x1b" not in r.stdout,
             "term%s fits 80 columns" % (", a function" if how else ""), long or r.stdout)
    t.ok("in and out" in r.stdout and "jumps to " in r.stdout and re.search(r"100\.0 % +jumps to", r.stdout), "it has edges and facts", r.stdout)
    starts = {int(b["address"], 16) for b in j["blocks"] if b["function"] == "f"}
    to = [int(x, 16) for x in re.findall(r"(?:jumps|runs on) to ([0-9a-f]+)$", r.stdout, re.M)]
    t.ok(len(to) > 5 and set(to) <= starts, "edges lead to rows by their address", r.stdout)
    r = run("blocks", path, "--no-cache", "--limit", "1000", env=dict(os.environ, COLUMNS="64", LC_ALL="C.UTF-8"))
    want = {"+0x%x" % (int(b["address"], 16) - int(f["address"], 16)) for f in nest.functions(j) for b in f["blocks"]
            if b["hits"] and b["address"] != f["address"]}
    got = set(re.findall(r"\+0x[0-9a-f]+\b", r.stdout))
    t.equal(want - got, set(), "where a block begins in its function is not cut off")
    r = run("blocks", path, "--format", "markdown", "--no-cache")
    t.ok(r.returncode == 0 and r.stdout.count("\n|") > 10 and "\x1b" not in r.stdout, "markdown", r.stdout)
    r = run("annotate", path, "f", "--format", "csv", "--no-cache")
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    want = {b["address"]: b["runs"] for b in j["blocks"] if b["function"] == "f"}
    t.ok({x["address"]: float(x["runs"]) for x in rows if x["address"] in want} == want, "annotate has the same runs", r.stdout)
    r = run("annotate", path, "f", "--no-cache", env=dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8"))
    head = r.stdout.split("\n\n")[0].splitlines()
    t.ok(re.search(r"entered [0-9,]+ times \+-[0-9.]+ %", " ".join(head)) and max(map(len, head)) <= 80,
         "annotate says how sure it is of how often, on 80 columns", r.stdout[:900])
    r = run("annotate", path, "f", "--no-blocks", "--format", "csv", "--no-cache")
    t.equal(r.stdout.splitlines()[0], "share,samples,period,address,file,line,inlined,instruction,length,flow,target",
            "--no-blocks: no runs")


# by where the branch is that ends them: shares and cycles; what the terminal then shows: mark, p50, p95, peaks
SHAPES = {0x105: (((0.96, 2), (0.04, 100)), ("t", "2", "2", None)),
          0x43: (((0.47, 5), (0.53, 40)), ("m", "40", "46", (5, 44))),  # as classes are: 40 to 47
          0x10a: (((0.6, 3), (0.36, 12), (0.04, 400)), ("mt", "3", "12", (3, 12)))}


def shown_times(t, tmp, prog, stacks):
    """What the terminal shows of blocks' times, against what was planted, and against json."""
    path, rnd = os.path.join(tmp, "timed.data"), random.Random(5)
    recording(path, prog, stacks, cycles=lambda source, _: rnd.choices(*zip(*(x[::-1] for x in SHAPES[source][0])))[0] if source in SHAPES else 1)
    env = dict(os.environ, COLUMNS="100", LC_ALL="C.UTF-8")
    j = json.loads(run("blocks", path, "-j", "--no-cache").stdout)
    by = {b["address"]: b for b in j["blocks"] if b["hits"]}
    said = run("blocks", path, "--no-cache", "--limit", "1000", env=env).stdout
    lines = said.split("\n\n")[1].splitlines()
    t.ok(lines[0].split()[-4:] == ["cycles", "p50", "p95", "block"], "term: p50 and p95 are columns", said[:600])
    at = {f["function"].encode("unicode_escape").decode(): FUNCTIONS[f["function"]][0] for f in nest.functions(j)}
    at.update((n.split("|")[0], a) for n, a in list(at.items()))
    bad, marked = [], {}
    rows = [x for x in lines[1:] if "%" in x]  # the last line has the number of blocks that did not run
    for line in rows:
        figures, block = re.match(r" *[0-9.]+ % +[0-9,]+ \+-\S+ % +[0-9]+ +(\S+ +\S+ +\S+(?: +m?t?)?) +(\S+)$", line).groups()
        name, _, off = block.partition("+")
        b = by[hex(BASE + at[name.split("|")[0]] + int(off or "0", 16))]
        figures = figures.split()
        alone = figures[0] != "-"
        mark = ("m" if b["modes"] > 1 else "") + ("t" if b["tail"] >= 0.25 else "") if alone else ""
        want = ["%.4g" % b["cycles"], *("%.0f" % b[k] if b[k + "_high"] is not None else "?" for k in ("p50", "p95")), mark] if alone else ["-", "-", "-", ""]
        if (figures + [""])[:4] != want:
            bad.append((line, want))
        if len(figures) > 3:
            marked[int(b["address"], 16) - BASE] = (figures[3], *figures[1:3])
    t.ok(len(rows) == len(by) and not bad, "term: cycles, p50, p95 and marks are json's, of each block that ran", (len(by), bad, said))
    t.equal(marked, {start: SHAPES[end][1][:3] for start, end in ((0x105, 0x105), (0x42, 0x43), (0x10a, 0x10a))},
            "marks and quantiles are what was planted")
    for name, ends in (("the_program_itself", (0x105, 0x10a)), ("g", (0x43,))):
        said = run("blocks", path, "--no-cache", name, env=env).stdout
        rows = [x for x in said.split("\n\n") if "of block" in x.splitlines()[0]][0]
        for end in ends:
            mark, _, _, peaks = SHAPES[end][1]
            row = [x for x in rows.splitlines() if x.endswith("+0x%x" % ((0x42 if end == 0x43 else end) - FUNCTIONS[name][0]))][0]
            shape = [int(x) for x in re.findall(r"([0-9]+) \([0-9]+ %\)", row)]
            t.ok(shape == list(peaks or ()) and ("tail" in row) == ("t" in mark), "term, %s: peaks and tail of a block" % name, row)


def refusals(t, tmp, path, prog, stacks):
    r = run("blocks", path, "nothing", "--no-cache")
    t.ok(r.returncode == 2 and "'nothing'" in r.stderr, "a function that did not run: exit 2", r.stderr)
    r = run("blocks", path, "f", "g", "--no-cache")
    t.ok(r.returncode == 2 and "blocks takes" in r.stderr, "too many operands: exit 2", r.stderr)
    r = run("blocks", path, "--comm", "other", "-j", "--no-cache")
    t.ok(r.returncode == 0 and json.loads(r.stdout)["functions"] == [], "--comm selects", r.stdout[:300] + r.stderr)
    other = os.path.join(tmp, "x.data")
    recording(other, prog, stacks[:50], br=0)
    r = run("blocks", other, "--no-cache")
    t.ok(r.returncode == 2 and "no branch stacks" in r.stderr and "record -b" in r.stderr, "no stacks: what to record", r.stderr)
    recording(other, prog, stacks[:50], br=CALL_STACK)
    r = run("blocks", other, "--no-cache")
    t.ok(r.returncode == 2 and "record -b" in r.stderr, "stacks of calls alone: what to record", r.stderr)
    odd = [[(22, 0x105), (0x100, 0)],  # through the loop's way back: a jump before the end
           [(0x10b, 0x105), (9, 0x10a)],  # ends inside an instruction
           [(2, 4), (22, 2)],  # ends with no branch
           [(0x47, 0x100), (9, 0x44)]]  # runs on where g is over
    recording(other, prog, odd, period=1)
    r = run("blocks", other, "-j", "--no-cache")
    j = json.loads(r.stdout)
    t.equal({k: n for k, n in j["dropped"].items() if n}, {"not_an_insn": 1, "not_a_branch": 1, "always_taken": 2}, "what the code does not allow is dropped, by cause")
    os.rename(prog, prog + "x")
    r = run("blocks", path, "--no-cache", env=dict(os.environ, COLUMNS="80"))
    t.ok(r.returncode == 0 and "1005-1007" not in r.stderr and re.search(r"code that ran", r.stdout) and "file with the code is not there" in r.stdout,
         "without the program: the stretches that ran", r.stdout + r.stderr)
    r = run("blocks", path, "--no-cache", "--format", "csv")
    t.ok(len(r.stdout.splitlines()) == 1 and "no_code: " in r.stderr and "note: no block is known" in r.stderr and "--symbols" in r.stderr,
         "csv of no block: the reason is said", r.stdout + r.stderr)
    j = json.loads(run("blocks", path, "--no-cache", "-j").stdout)
    t.ok(j["blocks"] == [] and any("no block is known" in x for x in j["notes"]) and j["dropped"]["no_code"] == sum(x["hits"] for x in j["intervals"]),
         "json of no block: the reason, and the intervals", j["notes"])
    os.rename(prog + "x", prog)
    with open(prog, "r+b") as f:  # RISC-V: no build disassembles it
        f.seek(18)
        f.write(b"\xf3")
    j = json.loads(run("blocks", path, "--no-cache", "-j").stdout)
    t.ok(j["blocks"] == [] and any("cannot be disassembled" in x for x in j["notes"]) and any("ELF machine 243" in x for x in j["notes"]) and
         not any("--symbols" in x for x in j["notes"]), "code that nothing disassembles: the reason, which is not a missing file", j["notes"])
    with open(prog, "wb") as f:
        f.write(elf())


def long_names(t, tmp, path, prog, stacks):
    """Two functions whose names differ in the middle only: their boxes do not look alike."""
    called = {n: "a_namespace_of_many_things::box<%s>::push_back_the_value(int const&)" % n for n in ("f", "m")}
    with open(prog, "wb") as f:
        f.write(elf(called))
    recording(path, prog, stacks)
    dot = run("blocks", "--no-cache", "-i", path, "--format", "dot", "the_program_itself").stdout
    boxes = re.findall(r'calls ([^\\"]*)', dot)
    t.ok(len(boxes) == 3 and len(set(boxes)) == 3 and all(len(b) <= 36 for b in boxes), "dot: names that are cut differ", dot)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory(prefix="blocks-") as tmp:
        prog, path = os.path.join(tmp, "prog"), os.path.join(tmp, "b.data")
        with open(prog, "wb") as f:
            f.write(elf())
        p = Program(2101)
        # so many that the stacks hold all of them
        while (len(p.branches) - 1) % (DEPTH - 1):
            p.f(1, 1)
            p.at = 0x100
            del p.branches[-2:]
            break
        stacks = list(stacks_of(p.branches))
        kept = p.branches[:len(stacks) * (DEPTH - 1) + 1]
        # what ran between the first and the last branch of all stacks
        p.ran, p.at = [0] * 0x120, kept[0][1]
        p.branches = []
        for b in kept[1:]:
            p.to(*b)
        recording(path, prog, stacks)
        r = run("blocks", path, "-j", "--no-cache")
        if "no disassembler" in r.stderr + r.stdout or r.returncode == 0 and not json.loads(r.stdout)["used"]:
            t.skip("all", "nothing here decodes instructions")
            t.done()
        if t.ok(r.returncode == 0, "a recording of any branch", r.stderr):
            j = json.loads(r.stdout)
            exact(t, j, p)
            faces(t, path, j)
            shown_times(t, tmp, prog, stacks)
            refusals(t, tmp, path, prog, stacks)
            tables.walk(t, "blocks", "-i", path, "--no-cache")
            tables.walk(t, "blocks", "-i", path, "--no-cache", "h*")
            tables.walk(t, "blocks", "--mix", "-i", path, "--no-cache")
            tables.walk(t, "blocks", "--chains", "-i", path, "--no-cache")
            long_names(t, tmp, path, prog, stacks)
    t.done()


if __name__ == "__main__":
    main()
