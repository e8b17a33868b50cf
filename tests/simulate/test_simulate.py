#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade simulate`: loops whose cycles and causes are certain by construction, sums that close, runs that are the same to the
byte, callers, and what happens if the program or the machine is not as wished."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from tap import CYCLADE, NO_PLUGINS, ROOT, SANITIZED, Tap, child_of, emulator, run, wait_for  # noqa: E402

t = Tap()
top = tempfile.TemporaryDirectory()
os.chdir(top.name)
PROGS = os.environ["SIMULATE_PROGS"]
MODEL = ("--model", "zen4")
if not emulator("x86_64"):
    t.skip("simulate", NO_PLUGINS)
    t.done()


def simulate(*words, out="s.data", model=MODEL, **kw):
    return run("simulate", "-q", *model, "-o", out, "--", *words, **kw)


def core(name):
    """Figures of a machine's text."""
    with open(os.path.join(ROOT, "models", "amd", name, "core"), encoding="utf-8") as f:
        text = f.read()
    return {m[1]: int(m[2]) for m in re.finditer(r"(?m)^part (\S+) +(\d+)", text)}, {
        m[1]: float(m[2]) for m in re.finditer(r"(?m)^op (\S+) +([\d.]+)", text)}


def result(data="s.data"):
    """Rows of functions, and of the tree."""
    d = json.loads(run("report", "-j", data).stdout)
    d["rows"] = [r for r in d["rows"] if r["event"] == "modelled_cycles"]
    return d, {r["function"]: r for r in d["rows"]}, {r["node"]: r for r in d["tree"]}


part, op = core("zen4")

# loops: cycles of an iteration, and where they go. An iteration has two instructions beside those of the body.
LOOPS = {
    "chain": (200000, "chain", 8, "Dependences"), "multiply": (200000, "multiply", 4 * op["mul"], "Dependences"),
    "wide": (300000, "wide", 17 / 6, "Retiring"), "l1": (300000, "follow", 4, "L1_Bound"),
    "l2": (300000, "follow", part["l2-cycles"], "L2_Bound"), "l3": (300000, "follow", part["l3-cycles"], "L3_Bound"),
    "divide": (100000, "divide", None, "Divider"), "guess": (200000, "guess", None, "Branch_Mispredicts"),
    "forward": (200000, "forward", 1 + 1, None),
}
SLOW = SANITIZED  # a tenth of the speed: what needs no caches to be filled first
for name, (n, function, cycles, cause) in LOOPS.items():
    if SLOW:
        if name in ("l1", "l2", "l3"):
            continue
        n, cause = n // 10, None  # the start is more than the loop
    p = simulate(PROGS, name, str(n))
    if not t.ok(p.returncode == 0, name + ": runs", p.stderr):
        continue
    d, rows, tree = result()
    row = rows.get(function, {"period": 0, "share": 0})
    if cycles:
        # the first rounds come from memory, and caches are not empty of other things
        t.ok(0.95 * cycles <= row["period"] / n <= 1.15 * cycles + 0.5, "%s: %.2f cycles an iteration" % (name, cycles), row["period"] / n)
    if cause:
        leaf = max((r for r in d["tree"] if not any(o["parent"] == r["id"] for o in d["tree"])), key=lambda r: r["value"])
        t.equal(leaf["node"], cause, name + ": its cause leads")
    one = sum(r["value"] for r in d["tree"] if r["parent"] == 0)
    t.ok(abs(one - 1) < 1e-12, name + ": the first level is the whole", one)
    slots = d["tree"][0]["slots"]
    t.ok(slots // 6 == sum(r["period"] for r in d["rows"]), name + ": functions add up to the whole", (slots, sum(r["period"] for r in d["rows"])))

# each level's nodes add up to the one above, or to less where small ones are left out
simulate(PROGS, "guess", "50000")
d, rows, tree = result()
for r in d["tree"]:
    below = sum(o["value"] for o in d["tree"] if o["parent"] == r["id"])
    t.ok(below <= r["value"] + 1e-12, "%s: what is below it is no more" % r["node"], (below, r["value"]))

# the same to the byte, whatever else runs and however memory is laid out
first = None
for i in range(2 if SLOW else 5):
    simulate(PROGS, "l2", "20000", out="same.data")
    with open("same.data", "rb") as f:
        data = f.read()
    first = first or data
    t.ok(data == first, "run %d of a program is the same to the byte" % (i + 1))
    os.unlink("same.data")

# what programs read of it: exact, and nothing amiss
p = run("report", "-j", "s.data")
d = json.loads(p.stdout)
t.ok(not p.stderr and not any("damaged" in x for x in d["notes"]), "the recording has nothing amiss", (p.stderr, d["notes"]))
t.ok(all(not r["share_error"] for r in d["rows"]), "shares are exact", [r["share_error"] for r in d["rows"] if r["share_error"]][:5])

# callers
simulate(PROGS, "calls", "20000")
chains = run("export", "--folded", "s.data").stdout
t.ok(any(re.search(r"\bmain;outer;inner;chain \d+$", x) for x in chains.splitlines()), "callers are those of the program", chains[-400:])
simulate(PROGS, "recurse", "1000")
chains = run("export", "--folded", "s.data").stdout
t.ok(0 < sum("recurse" in x for x in chains.splitlines()) < 10, "recursion is shown once", chains[-400:])

# instructions and the loop's lines
simulate(PROGS, "chain", "20000")
a = json.loads(run("annotate", "-j", "-i", "s.data", "chain").stdout)
t.ok(sum(r.get("period", 0) or 0 for r in a["instructions"]) > 8 * 20000 * 0.95 if "instructions" in a else False, "annotate has its instructions", list(a))

# how programs end
t.equal(simulate(PROGS, "exit", "7").returncode, 7, "the program's exit code")
p = simulate(PROGS, "signal", "11")
t.ok(p.returncode == 128 + 11 and "ended by signal 11" in p.stderr, "a signal: its code, and a word", (p.returncode, p.stderr))
p = subprocess.Popen([CYCLADE, "simulate", "-q", *MODEL, "-o", "killed.data", "--", PROGS, "chain", "4000000"],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
qemu = child_of(p.pid, "qemu-x86_64")
p.kill()
p.wait()
t.ok(wait_for(lambda: subprocess.run(["ps", "-o", "stat=", "-p", str(qemu)], capture_output=True, text=True).stdout.strip()[:1] in ("", "Z")),
     "killed: the program goes on alone, and ends")
t.ok(not os.path.exists("killed.data"), "killed: nothing is left behind", os.listdir("."))
p = simulate(PROGS, "fork", "1")
t.ok(p.returncode == 0 and "processes that it started" in run("report", "s.data").stdout, "a process that it started is not in it", p.stderr)
p = simulate(PROGS, "threads", "20000")
d, rows, tree = result()
t.ok(p.returncode == 0 and rows["chain"]["period"] > 3 * 8 * 20000 * 0.95, "threads: each has its cycles", p.stderr)

# what cannot be
p = run("simulate", "--")
t.ok(p.returncode != 0 and "no program" in p.stderr, "no program", p.stderr)
p = simulate("./not-there")
t.ok(p.returncode in (126, 127) and "not-there" in p.stderr, "a program that is not there", (p.returncode, p.stderr))
with open("script", "w", encoding="ascii") as f:
    f.write("#!/bin/sh\ntrue\n")
os.chmod("script", 0o755)
p = simulate("./script")
t.ok(p.returncode not in (0, 1) and "script" in p.stderr and "simulate -- /bin/sh ./script" in p.stderr,
     "a script: its interpreter is to be named", p.stderr)
with open("python", "w", encoding="ascii") as f:
    f.write("#!/usr/bin/env python3\n")
os.chmod("python", 0o755)
p = simulate("./python")
t.ok("simulate -- INTERPRETER ./python" in p.stderr, "a script that env starts: env is not its interpreter", p.stderr)
p = simulate(PROGS, "exit", "0", model=("--model", "skl"))
t.ok(p.returncode == 125 and "part" in p.stderr, "a machine whose text has no parts", (p.returncode, p.stderr))
p = simulate(PROGS, "exit", "0", env=dict(os.environ, PATH="/nowhere"))
t.ok(p.returncode == 125 and "apt install qemu-user" in p.stderr, "no emulator: what to install", p.stderr)
before = open("s.data", "rb").read()
p = simulate("./script")
t.ok(open("s.data", "rb").read() == before, "a run that failed leaves the recording of before")
if os.path.exists("/dev/full"):
    p = simulate(PROGS, "exit", "0", out="/dev/full")
    t.ok(p.returncode == 125 and p.stderr, "no room: said", (p.returncode, p.stderr))
t.done()
