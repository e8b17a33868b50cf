#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`record -a --wait -e ref-cycles` on a simulated machine whose CPUs count reference cycles at planted rates: report --concurrency has
the halted time that follows, CPU by CPU and over time, and does not know it from before counters were on. A machine without the event."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SIM, SPIN, SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, SIMULATED, WHOLE_CPUS, Tap, run  # noqa: E402

t = Tap()
if not SIMULATED or not WHOLE_CPUS:
    print("1..0 # SKIP the simulated PMU cannot be preloaded, or whole CPUs may not be sampled")
    sys.exit(0)
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
TSC, RATES = 2.4, {"even": 0.6, "dram_bound": 1.8}  # cycles in a ns
NEAR = 0.01


def machine():
    """One whose name has the rate of its time-stamp counter, and whose programs have these rates."""
    with open(os.path.join(SIM, "machines", "ivb.tab"), encoding="utf-8") as f:
        text = f.read()
    programs = re.search(r"^programs (.*)$", text, re.M)[1].split()
    text = re.sub(r"^title .*$", "title Intel(R) Xeon(R) CPU E5-2667 v2 @ %.2fGHz" % TSC, text, flags=re.M)
    text = re.sub(r"^(event cpu 0x300 .* CPU_CLK_UNHALTED.REF_TSC) .*$",
                  lambda m: m[1] + "".join(" %g" % RATES.get(p, TSC) for p in programs), text, flags=re.M)
    with open("machine.tab", "w", encoding="utf-8") as f:
        f.write(text)
    with open("scenario", "w", encoding="utf-8") as f:
        f.write("phase even -\ncpu 1 dram_bound\n")


def recorded(machine_, program, *words):
    p = run_on(machine_, program, CYCLADE, "record", *SYSROOT, "-a", "--wait", *words, "-o", os.path.abspath("x.data"), "--", SPIN, "300")
    if not t.ok(p.returncode == 0, "%s: is recorded" % " ".join(words), p.stderr):
        return {"cpus": [], "halted": []}
    return json.loads(run("report", "--concurrency", "-j", "x.data").stdout)


def sampled(cpu):
    """The CPU's gaps between samples and the periods that ended them, ns, and when all CPUs' last samples were; without SQLite None."""
    p = run("sql", "--format", "json", "-i", "x.data", "SELECT time, period FROM samples WHERE event LIKE 'ref-cycles%%' AND cpu = %d ORDER BY time" % cpu)
    if p.returncode:
        return None, None
    rows = [tuple(r.values()) for r in json.loads(p.stdout)["rows"]]
    ends = [r["t"] for r in json.loads(run("sql", "--format", "json", "-i", "x.data", "SELECT max(time) AS t FROM samples WHERE event LIKE 'ref-cycles%' GROUP BY cpu").stdout)["rows"]]
    return [(b - a, period) for (a, _), (b, period) in zip(rows, rows[1:])], ends


def lateness(gaps, ends, rate):
    """The kernel's timer, which samples here instead of a counter, comes late on a busy machine: by how much at most, in seconds.
    And counters are not switched off at one time."""
    if gaps is None:
        return float("inf")  # without SQLite only all in all
    return max((g - period / rate for g, period in gaps), default=0) / 1e9 + (max(ends) - min(ends)) / 1e9


def small(gaps, rate, whole, n):
    """What the error of an interval without a hole in its samples may be, and how many of n have such a hole: where no timer came,
    before the first sample and behind the last."""
    if not gaps:
        return 1, n
    length = whole / n
    each = sorted(period for _, period in gaps)[len(gaps) // 2] / rate / 1e9
    holes = [g / 1e9 for g, _ in gaps if g / 1e9 > 0.08 * length + each]
    outside = whole - sum(g for g, _ in gaps) / 1e9
    return 0.1 + each / length, sum(g // length + 2 for g in holes) + outside // length + 4


machine()
for words in (("-e", "ref-cycles"), ("-e", "ref-cycles,cycles", "-F", "1000"), ("-e", "ref-cycles", "-c", "1000000")):
    name = " ".join(words)
    d = recorded(os.path.abspath("machine.tab"), os.path.abspath("scenario"), *words)
    for cpu in sorted(r["cpu"] for r in d["cpus"]):
        want = 1 - RATES["dram_bound" if cpu == 1 else "even"] / TSC
        rows = [r for r in d["halted"] if r["cpu"] == cpu]
        rate = RATES["dram_bound" if cpu == 1 else "even"]
        gaps, ends = sampled(cpu)
        late = lateness(gaps, ends, rate)
        far = [(r["from_seconds"], r["halted_share"], r["halted_share_error"]) for r in rows
               if r["halted_by"] != "counter" or abs(r["halted_share"] - want) > r["halted_share_error"] + NEAR + late / (r["until_seconds"] - r["from_seconds"])]
        t.ok(len(rows) == 20 and not far, "%s: CPU %d: %.0f %% halted, at any time" % (name, cpu, 100 * want), (want, late, far, rows))
        most, holes = small(gaps, rate, d["length_seconds"], len(rows) or 1)
        known = [r for r in rows if r["halted_share_error"] < most]
        t.ok(len(known) >= len(rows) - holes, "%s: CPU %d: without holes in the samples errors are small" % (name, cpu), (most, holes, rows))
        c = next(r for r in d["cpus"] if r["cpu"] == cpu)
        t.ok(abs(c["halted_share"] - want) <= c["halted_share_error"] + NEAR, "%s: CPU %d: and all in all" % (name, cpu), c)
text = run("report", "--concurrency", "x.data").stdout
t.ok("by ref-cycles" in text, "people see which counter", text)

# CPUs without the event: by switches, as an upper bound, and why
d = recorded("n1", "even", "-e", "cycles")
t.ok(d["cpus"] and {r["halted_by"] for r in d["cpus"]} == {"switches"}, "no such counter: by switches", d["cpus"])
text = run("report", "--concurrency", "x.data").stdout
t.ok("no samples of ref-cycles" in text, "and why", text)
p = run_on("n1", "even", CYCLADE, "record", *SYSROOT, "-a", "--wait", "-e", "ref-cycles", "-o", os.path.abspath("none.data"), "--", SPIN, "10")
t.ok(p.returncode and "ref-cycles" in p.stderr, "a CPU that lacks it refuses it", (p.returncode, p.stderr))
t.done()
