#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --sched: a made recording whose runs and delays are known one by one; and what `perf sched record` writes here, against
`perf sched timehist` and `perf sched latency` of the same file, thread by thread."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import PERF, Tap, run  # noqa: E402
from waits_made import EVENTS, SWITCH, Made  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-sched-")
os.chdir(tmp.name)
EXIT_DEAD = 16


def sched(path, *words):
    p = run("report", "--sched", "-j", path, *words)
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr


def us(row, *keys):
    return [None if row[k] is None else round(row[k] * 1e6) for k in keys]


# ---- known one by one: times in us
m = Made([b"schedule"], wide=True)
for at, prev, state, next_, cpu in (
        (1000, 0, 0, 7, 0), (1000, 0, 0, 9, 1), (1500, 7, 1, 8, 0),    # 7 sleeps at 1500
        (2000, 8, 0, 7, 0),                                            # woken at 1600: 400 us of delay; 8 is preempted
        (2300, 7, 1, 8, 0),                                            # 8 waited 300 us
        (2500, 9, 1, 7, 1),                                            # 7 was woken at 2450, and moves: 50 us
        (4000, 8, 1, 0, 0), (4500, 7, EXIT_DEAD, 0, 1)):
    if at in (2000, 2500):
        m.wake(1600000 if at == 2000 else 2450000, 7, by=9 if at == 2000 else 8, cpu=1 if at == 2000 else 0)
    m.traced(at * 1000, prev, state, next_, cpu=cpu)
m.write("made.data")
d = sched("made.data")
rows = {r["tid"]: r for r in d["threads"]}
t.equal(us(rows[7], "running_seconds", "delay_seconds", "delay_most_seconds", "delay_p99_seconds", "run_most_seconds"), [2800, 450, 400, 400, 2000], "runs and delays of a thread")
t.equal([rows[7][k] for k in ("runs", "delays", "moved", "migrated", "accounted_seconds")], [3, 2, 1, None, None], "their numbers; what was not recorded is null")
t.equal(rows[7]["delay_most_time"], 1600000, "when the longest one began")
t.equal(us(rows[8], "running_seconds", "delay_seconds"), [2200, 300], "a preempted thread waits for a CPU")
t.equal([d[k] for k in ("runs", "delays", "moved", "thread_count")], [6, 3, 1, 3], "sums")
cpus = {c["cpu"]: c for c in d["cpus"]}
t.equal([(us(c, "running_seconds")[0], c["runs"], c["threads"]) for c in d["cpus"]], [(3000, 4, 2), (3500, 2, 2)], "CPUs")
mark = {r["mark"]: r["tid"] for r in d["threads"] if r["mark"]}
line = cpus[0]["map"]
t.equal([mark.get(line[int(x * len(line))]) for x in (0.05, 0.2, 0.32, 0.6, 0.97)], [7, 8, 7, 8, None], "who had the CPU when")
t.ok(line.endswith(".") and set(cpus[1]["map"]) == {m for m in mark if mark[m] in (7, 9)}, "nobody is a dot", d["cpus"])
p = run("report", "--sched", "made.data")
t.ok("3 delays of 250 us on average, at most 400 us" in p.stdout, "the head", p.stdout)
t.ok("not with --cpu" in run("report", "--sched", "--cpu", "1", "made.data").stderr, "--cpu is refused: a thread is on one and another")
t.ok("no context switches" in sched_err if isinstance(sched_err := sched(Made([b"x"]).write("none.data") or "none.data"), str) else False,
     "a recording without switches says what records them", sched_err)

# ---- perf's own
if not PERF or subprocess.run([PERF, "sched", "record", "-o", "perf.data", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.01; ls / | cat | wc -l; done"],
                              capture_output=True).returncode:
    t.skip("perf sched of the same file", "perf cannot record the scheduler here")
    t.done()
d = sched("perf.data")
ours = {r["tid"]: r for r in d["threads"]}


def ask(query):
    p = run("sql", "-j", "perf.data", query)
    return json.loads(p.stdout)["rows"] if p.returncode == 0 else None


# Threads whose whole life was recorded, the others have parts before and behind; and that got each run in a record: some kernels trace
# no switch from the idle task, perf then takes a thread to run since its CPU's last switch.
lives = ask("SELECT tid FROM threads WHERE started IS NOT NULL AND ended IS NOT NULL")
if lives is None:
    t.skip("perf sched of the same file", "built without SQLite")
    t.done()
ins = {r["tid"]: r["n"] for r in ask("SELECT next_pid AS tid, count(*) AS n FROM sched_switch GROUP BY 1")}
outs = {r["tid"]: r["n"] for r in ask("SELECT prev_pid AS tid, count(*) AS n FROM sched_switch GROUP BY 1")}
whole = {r["tid"] for r in lives if ins.get(r["tid"]) == outs.get(r["tid"])}
runs = {}
for r in ask("SELECT tid, ended - started AS ns FROM waits WHERE state = 'running' ORDER BY started"):
    runs.setdefault(r["tid"], []).append(r["ns"])
text = subprocess.run([PERF, "sched", "timehist", "-s", "-M", "-i", "perf.data"], capture_output=True, text=True, errors="replace").stdout
LINE = r"\s+(.*)\[(\d+)(?:/\d+)?\]\s+(-?\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+)"
hist = {int(x[2]): (int(x[4]), float(x[5]), float(x[8]), int(x[10])) for x in (re.match(LINE, l) for l in text.splitlines()) if x}
names = [x[1] for x in (re.match(LINE, l) for l in text.splitlines()) if x]


def near(a, b):
    return abs(a - b) < 0.0015  # ms with three digits, one cut off


wrong, same = [], 0
for tid in sorted(whole & set(hist) & set(ours)):
    r, p = ours[tid], hist[tid]
    lost = r["runs"] - p[0]  # perf loses runs behind the exit: their records have no thread any more
    got = (r["runs"] - lost, r["running_seconds"] * 1e3 - sum(runs[tid][len(runs[tid]) - lost:]) / 1e6, r["migrated"]) if 0 <= lost <= 3 else ()
    longest = near(r["run_most_seconds"] * 1e3, p[2]) or lost
    if got and near(got[1], p[1]) and longest and got[2] == p[3]:
        same += 1
    else:
        wrong.append((tid, r, p))
if any(n.startswith(":") for n in names) or not hist:
    t.skip("perf sched timehist", "this perf loses threads that have exited")
else:
    t.ok(same >= 8 and len(wrong) * 30 <= same, "runs, runtime, longest run and migrations of %d threads as perf sched timehist has them" % same, wrong[:5])

# perf before 6.9 takes no wake-ups from the event that it records
for perf in filter(os.path.exists, (os.environ.get("CYCLADE_PERF7", ""), os.environ.get("CYCLADE_PERF612", ""))):
    text = subprocess.run([perf, "sched", "latency", "-p", "-i", "perf.data"], capture_output=True, text=True, errors="replace").stdout
    LINE = r"\s+(.*):(\d+)\s*\|\s*([\d.]+) ms \|\s*(\d+) \| avg:\s*([\d.]+) ms \| max:\s*([\d.]+) ms"
    late = {int(x[2]): (float(x[3]), int(x[4]), float(x[5]), float(x[6])) for x in (re.match(LINE, l) for l in text.splitlines()) if x}
    wrong, same = [], 0
    for tid in sorted(whole & set(late) & set(ours)):
        r, p = ours[tid], late[tid]
        got = (r["accounted_seconds"] * 1e3, r["delays"], (r["delay_mean_seconds"] or 0) * 1e3, (r["delay_most_seconds"] or 0) * 1e3)
        if near(got[0], p[0]) and near(got[3], p[3]) and got[1] == p[1] and near(got[2], p[2]):
            same += 1
        # a thread that perf first meets when it gets a CPU has one delay of 0 more there
        elif near(got[0], p[0]) and near(got[3], p[3]) and got[1] + 1 == p[1] and abs(got[1] * got[2] - p[1] * p[2]) < 0.001 * p[1] + 0.001:
            same += 1
        else:
            wrong.append((tid, got, p))
    t.ok(same >= 8 and len(wrong) * 30 <= same, "runtime, delays, mean and longest of %d threads as %s sched latency has them" % (same, os.path.basename(perf)), wrong[:5])
t.done()
