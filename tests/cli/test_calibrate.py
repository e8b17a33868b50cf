#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""calibrate on the machine at hand, in haste: what must hold on any CPU, busy or not; the penalties file, as report takes it.
Exact figures are the business of tests/unit/measure/test_calibrate.c (planted) and bench/calibrate.py (another program)."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from account_made import Made, account_of  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run, wait_for, uninterrupted  # noqa: E402

uninterrupted()
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)

r = run("calibrate", "--quick", "--model", "skx", "-o", "penalties", "-j")
t.equal(r.returncode, 0, "calibrate --quick")
doc = full = json.loads(r.stdout)
cost = {c["measure"]: c for c in doc["costs"]}
t.equal(doc["schema"], "cyclade.calibrate/1", "the schema is named")
t.ok(len(cost) > 25 and len(doc["latency"]) > 4, "all is measured", (len(cost), len(doc["latency"])))
t.equal([k for k, c in cost.items() if c["value"] is None and not c["value_why"]], [], "no value has a reason")
t.equal([k for k, c in cost.items() if c["value"] is not None and not c["value_error"] >= 0], [], "a value has an error")
t.equal([k for k, c in cost.items() if c["value"] is not None and c["value"] + c["value_error"] < 0], [], "no cost is below 0 by more than its error")
known = {k: c for k, c in cost.items() if c["value"] is not None}


def within(key, low, high):
    """A busy machine widens bars; the bar must meet what any CPU does."""
    c = known.get(key)
    if not c:
        t.skip(key, cost[key]["value_why"])
        return
    t.ok(c["value"] + c["value_error"] >= low and c["value"] - c["value_error"] <= high, "%s is between %g and %g" % (key, low, high), c)


t.ok(doc["ghz"] is None or 0.2 < doc["ghz"] < 10, "the clock", doc["ghz"])
within("l1", 2, 9)
within("l2", 7, 80)
within("mispredict", 4, 60)
within("syscall", 15, 20000)
if "l1" in known and "l2" in known:
    t.ok(known["l2"]["value"] + known["l2"]["value_error"] > known["l1"]["value"] - known["l1"]["value_error"], "L2 is behind L1")

# ---- the file of penalties
with open("penalties", encoding="ascii") as f:
    text = f.read()
lines = dict(re.findall(r"^(\w+) (\S+(?: ns)?)$", text, re.M))
shown = {p["node"]: p for p in doc["penalties"]}
t.ok(lines and set(lines) <= set(shown), "penalties are those of the table", text)
t.equal([n for n, v in lines.items() if abs(float(v.split()[0]) / shown[n]["value"] - 1) > 1e-3], [], "the same values")
t.ok(shown["Mispredicted"]["model"] and (shown["Mispredicted"]["model_here"] or 0) > 0, "the model's figure stands beside", shown["Mispredicted"])
t.ok("L2_Hit" not in shown, "what the model only counts gets no penalty", shown)
made = Made(tmp.name)
for event in ("CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC", "BR_MISP_RETIRED.ALL_BRANCHES"):
    made.put("hot", event, 500)
made.write("account.data")


def account(*more):
    return run("report", "--account", "-i", "account.data", "-j", *more)


before = account_of(json.loads(account().stdout))["nodes"]["Mispredicted"]
with open("mine", "w", encoding="ascii") as f:
    f.write(text + "\nMispredicted %g\n" % (2 * before["penalty"]))
p = account("--penalties", "mine")
t.equal(p.returncode, 0, "report takes the file")
after = account_of(json.loads(p.stdout))["nodes"]["Mispredicted"]
t.ok(abs(after["value"] / before["value"] - 2) < 1e-6, "twice the penalty is twice the cycles", (before["value"], after["value"]))
for bad in ("L3_Hit 7 parsecs", "Nothing_Such 3", "L3_Hit", "L3_Hit -3", "L3_Hit 1e99"):
    with open("bad", "w", encoding="ascii") as f:
        f.write("# a comment\n%s\n" % bad)
    p = account("--penalties", "bad")
    t.ok(p.returncode == 2 and "bad:2:" in p.stderr and bad in p.stderr and not p.stdout, "refused with line and reason: " + bad, p.stderr)

# ---- one measure, refusals
r = run("calibrate", "--quick", "mispredict*", "-x", ",")
rows = r.stdout.splitlines()
t.ok(rows[0].startswith("measure,value,value_error,value_why,unit") and [x.split(",")[0] for x in rows[1:]] ==
     ["mispredict", "mispredict_indirect", "mispredict_return"], "only what is asked for", r.stdout)
for words, want in ((["xyzzy"], "no measure 'xyzzy'"), (["-C", "x"], "no list of CPUs"), (["-C", "60000"], "none of the CPUs"),
                    (["--model", "nothing", "l1"], "nothing")):
    r = run("calibrate", "--quick", *words)
    t.ok(r.returncode == 2 and want in r.stderr, "refused: " + " ".join(words), r.stderr)
r = run("calibrate", "--quick", "l1", "-o", "/proc/nonexistent/file")
t.ok(r.returncode == 2 and "/proc/nonexistent" in r.stderr, "a file that cannot be written", r.stderr)
allowed = sorted(os.sched_getaffinity(0))
r = subprocess.run(["taskset", "-c", str(allowed[-1]), CYCLADE, "calibrate", "--quick", "-j", "transfers", "l1"], capture_output=True, text=True)
doc = json.loads(r.stdout)
t.ok(doc["cpu"] == allowed[-1] and not doc["transfers"], "on one CPU there are no transfers", r.stderr)

# ---- an emulator's times are not this machine's, also if CPUID does not name it
qemu = shutil.which("qemu-x86_64") if os.uname().machine == "x86_64" and not SANITIZED else None
for how in ([], ["-cpu", "max,tcg-cpuid=off"]):
    if not qemu:
        t.skip("emulated " + " ".join(how), "no qemu-x86_64, or a sanitizer")
        continue
    r = subprocess.run([qemu, *how, CYCLADE, "calibrate", "--quick", "multiply"], capture_output=True, text=True)
    t.ok(r.returncode == 0 and r.stdout.count("runs in qemu-x86_64") == 1, "emulated: it says so " + " ".join(how), r.stdout + r.stderr)
t.ok("runs in qemu" not in run("calibrate", "--quick", "multiply").stdout, "not emulated: nothing says so")

# ---- Ctrl-C keeps what there is
p = subprocess.Popen([CYCLADE, "calibrate", "-j"], stdout=subprocess.PIPE, text=True)
wait_for(lambda: len(os.listdir("/proc/%d/task" % p.pid)) and "SigCgt:\t0000000000000002" in
         re.sub(r"(?m)^(SigCgt:\t).*(.)$", lambda m: m[1] + "%016x" % (int(m[0].split()[1], 16) & 2), open("/proc/%d/status" % p.pid).read()))
p.send_signal(signal.SIGINT)
doc = json.loads(p.communicate()[0])
t.ok(p.returncode == 0 and doc["stopped"] is True and sum(c["repeats"] for c in doc["costs"]) < 24 * len(cost),
     "Ctrl-C: what there is, marked", len(doc["costs"]))

# ---- the curve, drawn: a point for each size, as far right and up as its figures
p = run("calibrate", "--quick", "latency", "--format", "svg")
svg = xml.etree.ElementTree.fromstring(p.stdout)
points = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("{http://www.w3.org/2000/svg}circle")]
t.ok(len(points) > 4 and points == sorted(points), "svg: sizes from left to right", points)
t.ok(points[-1][1] < points[0][1] and all(0 < x < 760 and 0 < y < 420 for x, y in points), "svg: more memory is slower, all in the frame", points)
r = run("calibrate", "--quick", "l1", "--format", "svg")
t.ok(r.returncode == 2 and "no curve" in r.stderr and not r.stdout, "svg without the curve is refused", r.stderr)

# ---- tables: the same columns in csv as in json, also of the table that stays empty
for name in ("costs", "latency", "penalties", "transfers"):
    head = run("calibrate", "--quick", "l1", "--table", name, "-x", ",").stdout.splitlines()[0]
    if full[name]:
        t.equal(head.split(","), list(full[name][0]), "columns of " + name)
t.done()
