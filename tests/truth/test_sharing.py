#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two-thread programs, followed access by access in the emulator and sampled as a processor with memory sampling would: `cyclade sharing`
has to tell them apart, with variables and bytes. The programs are real, the recording is written here from the emulator's samples, and
latencies are made up: 100 cycles for a HITM, 4 for every other load."""
import collections
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from sharing_made import PID, Access, Map, write  # noqa: E402
from tap import NO_PLUGINS, ROOT, Tap, emulator, run  # noqa: E402

BUILT = os.environ.get("TRUTH_BUILT", os.path.join(ROOT, "build", "tests", "truth"))
PROGRAM = os.path.join(BUILT, "truth_sharing")
LINE, PERIOD = 64, 40
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


def traced(pattern, seed=1):
    """samples, mappings, {line: {thread: (loads, stores, hitm)}} of all accesses"""
    subprocess.run(["qemu-x86_64", "-plugin", "%s/accesses.so,out=trace,period=%d,seed=%d" % (BUILT, PERIOD, seed), PROGRAM, pattern],
                   check=True, timeout=200)
    accesses, maps, truth = [], [], collections.defaultdict(dict)
    with open("trace", encoding="utf-8") as f:
        for row in f:
            w = row.split()
            if w[0] == "map":
                start, end, offset = (int(x, 16) for x in w[1:4])
                maps.append(Map(PID, start, end - start, w[4], offset=offset))
            elif w[0] == "access":
                hitm = w[7] == "1"
                accesses.append(Access(PID + int(w[1]), int(w[3], 16), w[5], "local" if hitm else None, w[6] == "1",
                                       100 if hitm else 4, int(w[2], 16), period=PERIOD))
            else:
                truth[int(w[1], 16)][int(w[2])] = tuple(int(x) for x in w[3:6])
    return accesses, maps, truth


def of_program(lines):
    return {x["object"]: x for x in lines if x["object_kind"] == "variable" and x["object"] in
            ("total", "columns", "table", "padded", "lock", "pair", "round_end", "sink")}


# pattern: (variable, function, verdict at 64 bytes, at 128, bytes of each thread; None: one thread has the line)
WANT = {"true": ("total", "add_total", "true sharing", "true sharing", {0: {0}, 1: {0}}),
        "false": ("columns", "add_column", "false sharing", "false sharing", {0: {0, 16, 32, 48}, 1: {8, 24, 40, 56}}),
        "read": ("table", "read_table", "read only", "read only", {0: set(range(0, 64, 8)), 1: set(range(0, 64, 8))}),
        "padded": ("padded", "add_padded", None, "false sharing", None),
        "lock": ("lock", "take_lock", "lock", "lock", {0: {0}, 1: {0}}),
        "pair": ("pair", "add_pair", None, "false sharing", None)}
FIELD = {"true": "", "false": "", "read": "", "padded": "n", "lock": "word", "pair": "n[]"}  # of the structures; the others are arrays of long
if not emulator("x86_64") or not os.path.exists(PROGRAM):
    t.skip("everything", "no program" if emulator("x86_64") else NO_PLUGINS)
    WANT = {}
for pattern, (name, function, narrow, wide, bytes_of) in WANT.items():
    accesses, maps, truth = traced(pattern)
    write("x.data", accesses, maps)
    r = run("sharing", "x.data", "-j")
    if not t.ok(r.returncode == 0, pattern + ": it is read", r.stderr):
        continue
    j = json.loads(r.stdout)
    lines = of_program(j["lines"])
    t.equal(lines[name]["verdict"] if name in lines else None, narrow, "%s: %s" % (pattern, narrow or "not in the table"))
    wider = json.loads(run("sharing", "x.data", "-j", "--line-size", "128").stdout)
    x = of_program(wider["lines"])
    t.equal(x[name]["verdict"] if name in x else None, wide, "%s, lines of 128 bytes: %s" % (pattern, wide))
    fields = {(a["type"].replace("long int", "long"), a["field"] or "") for a in wider["accesses"] if a["object"] == name}
    t.equal(fields, {("struct (anonymous)" if FIELD[pattern] else "long", FIELD[pattern])}, pattern + ": the type and the field")
    others = {k: v["verdict"] for k, v in lines.items() if k not in (name, "round_end")}
    t.equal(others, {}, pattern + ": nothing else of the program is shared but its barrier")
    # each sample of the program's data has the object that its address is in, and each shared line its place in the code
    if bytes_of:
        line = int(lines[name]["cache_line"], 16)
        got = collections.defaultdict(set)
        for a in j["accesses"]:
            if int(a["cache_line"], 16) == line:
                got[a["tid"] - PID].add(a["offset"])
        t.equal(dict(got), bytes_of, pattern + ": bytes of each thread")
        t.equal({(a["function"], a["object"]) for a in j["accesses"] if int(a["cache_line"], 16) == line}, {(function, name)},
                pattern + ": the function and the variable")
        loads, stores, hitm = (sum(v[k] for v in truth[line].values()) for k in range(3))
        near = [(lines[name][k] * PERIOD, n) for k, n in (("loads", loads), ("stores", stores), ("hitm_local", hitm))]
        t.ok(all(abs(got - n) <= 4 * (PERIOD * max(n, PERIOD)) ** 0.5 for got, n in near), pattern + ": counts are near the truth", near)
        if hitm and lines[name]["stake"]:
            s = lines[name]
            t.ok(abs(s["stake"] - 96 * hitm) <= 2.5 * s["stake_error"], pattern + ": at stake, within its error", (s["stake"], s["stake_error"], 96 * hitm))
if WANT:
    # memory of malloc: no variable, the same verdict
    accesses, maps, truth = traced("heap")
    write("x.data", accesses, maps)
    line = max(truth, key=lambda k: sum(v[1] for v in truth[k].values()))  # with the most stores
    lines = {int(x["cache_line"], 16): x for x in json.loads(run("sharing", "x.data", "-j").stdout)["lines"]}
    # malloc itself may have been sampled when it wrote there
    t.ok(line in lines and lines[line]["verdict"] in ("false sharing", "true and false"),
         "heap: false sharing, of memory without a recorded mapping", (hex(line), lines.get(line)))
    # clang makes a variable of it, of which it tells no type
    t.equal((lines[line]["type"], lines[line]["field"]), (None, None) if lines[line]["object"] == "heap.body" else ("struct (anonymous)", "n"),
            "heap: its type and field, by the code")
t.done()
