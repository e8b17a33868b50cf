#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade run: streams, exit codes, what is decided before the program starts, and a table that perf agrees with."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tables import by_event  # noqa: E402
from tap import CYCLADE, PERF, PROGS, Tap, run, wait_for  # noqa: E402
from trees import trees  # noqa: E402

RECURSE = os.path.join(PROGS, "prog_recurse")
t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-run-")
os.chdir(tmp)

probe = run("record", "-q", "-o", "probe.data", "--", "true")
if probe.returncode:
    t.skip("run", "no event can be opened here: %s" % probe.stderr.strip().splitlines()[-1:])
    t.done()

# ---- the report: told counts are the file's, the hottest function is perf's
r = run("run", "--user", "--", RECURSE, "10", "200")
t.equal((r.returncode, r.stdout == subprocess.run([RECURSE, "10", "200"], capture_output=True, text=True).stdout),
        (0, True), "the program's output is its own")
t.ok(re.search(r"wall, .* cpu, 1 thread, exit 0", r.stderr), "the head: wall, cpu, threads, exit", r.stderr)
said = re.search(r"([\d,]+) samples in cyclade\.data \(", r.stderr)
said = int(said.group(1).replace(",", "")) if said else -1
records = {x["record"]: x["count"] for x in json.loads(run("info", "-j", "cyclade.data").stdout)["records"]}
t.equal(said, records.get("SAMPLE", 0), "the samples told are those of the file")
t.ok(said > 0, "there are samples", said)
top = re.search(r"next: cyclade annotate (\S+)", r.stderr)
t.ok(top, "the next command names a function", r.stderr)
if PERF and top:
    text = subprocess.run([PERF, "report", "--stdio", "--no-children", "-g", "none", "-F", "overhead,sym", "-i",
                           "cyclade.data"], capture_output=True, text=True, errors="replace").stdout
    rows = re.findall(r"([\d.]+)%\s+\[[.k]\] (\S+)", text)
    # perf's first, or one that shares its place
    best = [name for share, name in rows if rows and float(share) >= float(rows[0][0]) - 0.01]
    t.ok(top.group(1) in best, "the function it names is perf's hottest", "%s, perf: %s" % (top.group(1), rows[:4]))
else:
    t.skip("the function it names is perf's hottest", "no perf here")

# ---- the table closes, and what it says to type next works when typed
def closes(text):
    """The shares of the table's rows, summed."""
    rows = text.split("where", 1)[-1].split("\n\n", 1)[0].splitlines()[1:]
    shares = [re.search(r"([\d.]+) %", row) for row in rows]
    return sum(float(m.group(1)) for m in shares if m), len(rows)


for options in [[], ["--limit", "2"], ["-g"], ["-z"], ["-F", "997"]]:
    r = run("run", *options, *([] if "-F" in options else ["-F", "2000"]), "--", RECURSE, "10", "80")
    total, rows = closes(r.stderr)
    t.ok(rows and abs(total - 100) < 0.06 * rows + 0.1, "run %s: the table closes at 100 %%" % " ".join(options),
         "%s of %d rows\n%s" % (total, rows, r.stderr))
    advice = re.search(r"^ next: (.*(?:\n       cyclade .*)*)", r.stderr, re.M)
    commands = [re.split(r"  +", line.strip())[0] for line in advice.group(1).splitlines()] if advice else []
    t.ok(len(commands) >= 2, "run %s: it says what to do next" % " ".join(options), r.stderr)
    for c in commands:
        typed = c.replace("...", RECURSE + " 10 50")
        p = subprocess.run(["sh", "-c", typed.replace("cyclade", "'%s'" % CYCLADE, 1)], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=600)
        t.ok(p.returncode == 0 and p.stdout + p.stderr, "run %s: '%s' works" % (" ".join(options), c), p.stderr)
r = run("run", "--data", "odd 'name.data", "--", RECURSE, "10", "50")
advice = re.search(r"^ next: (.*?)  +", r.stderr, re.M)
p = subprocess.run(["sh", "-c", advice.group(1).replace("cyclade", "'%s'" % CYCLADE, 1) if advice else "false"], capture_output=True,
                   text=True, stdin=subprocess.DEVNULL, timeout=600)
t.ok(p.returncode == 0, "a recording's name with a blank: the next command works when typed", r.stderr + p.stderr)
r = run("run", "-q", "--", "sh", "-c", "exit 0")
t.ok("no cycle counter here" not in r.stderr, "-q: no advice", r.stderr)

# ---- without a cycle counter it says so first, and --require pmu does not start the program
r = run("run", "--", "sh", "-c", "echo begun >&2")
if "no cycle counter here" in r.stderr:
    t.ok(r.stderr.index("no cycle counter here") < r.stderr.index("begun"), "no cycle counter: said before the program speaks",
         r.stderr)
    t.ok("time only: no tree without cycle counters" in r.stderr, "no cycle counter: no tree is shown", r.stderr)
    r = run("run", "--data", "chains.data", "--", RECURSE, "10", "80")
    t.ok("cyclade report -g chains.data" in r.stderr and "run -g" not in r.stderr, "no cycle counter: chains are recorded all the same",
         r.stderr)
    said = run("report", "-g", "-i", "chains.data")
    t.ok(said.returncode == 0 and "down" in said.stdout, "and report -g shows them", said.stdout[:1500] + said.stderr)
    r = run("run", "--require", "pmu", "--", "sh", "-c", "echo ran >ran")
    t.ok(r.returncode == 125 and not os.path.exists("ran"), "--require pmu: 125, the program is not started", r.stderr)
else:
    t.skip("without a cycle counter", "there is one here")

r = run("run", "--data", "none.data", "-F", "1", "--", "true")
t.ok(r.returncode == 0 and ("not one sample" not in r.stderr or "report -g" not in r.stderr and "run -g" not in r.stderr),
     "without a sample nobody called it", r.stderr)

# ---- exit codes
for code, what in [(0, "exit 0"), (7, "exit 7"), (125, "exit 125"), (137, "kill -9 $$")]:
    t.equal(run("run", "--", "sh", "-c", what).returncode, code, "the program's end is kept: %s" % what)
t.equal(run("run", "--", "no-such-program-here").returncode, 127, "a program that is not there: 127")
t.equal(run("run", "--", "/etc/passwd").returncode, 126, "a file that is no program: 126")
r = run("run", "--data", "/nonexistent/dir/x.data", "--", "sh", "-c", "echo ran >ran")
t.ok(r.returncode == 125 and not os.path.exists("ran"), "a file that cannot be made: 125, the program is not started", r.stderr)
t.equal(run("run").returncode, 125, "run without a program: 125")

# ---- where the report goes
r = run("run", "-q", "-o", "-", "--", "sh", "-c", "exit 3")
t.ok(r.returncode == 3 and "exit 3" in r.stdout and "wall" not in r.stderr, "-o -: standard output", r.stderr)
r = run("run", "-q", "-o", "report.txt", "--data", "own.data", "--", "sh", "-c", "exit 3")
t.ok(r.returncode == 3 and "exit 3" in open("report.txt").read() and os.path.exists("own.data") and not r.stderr,
     "-o FILE, --data FILE", r.stderr)
r = run("run", "-o", "report.txt", "--", "true")
t.ok("report.txt is the report, as text; the recording is cyclade.data" in r.stderr, "-o FILE: what is in which file", r.stderr)
r = run("report", "report.txt")
t.ok(r.returncode == 2 and "report.txt: is text, not a recording" in r.stderr and "--data FILE" in r.stderr, "report of that text", r.stderr)
fd = os.open("fd.txt", os.O_CREAT | os.O_WRONLY, 0o600)
p = subprocess.run([CYCLADE, "run", "-q", "--log-fd", str(fd), "--", "true"], pass_fds=[fd], capture_output=True, text=True)
os.close(fd)
t.ok(p.returncode == 0 and "exit 0" in open("fd.txt").read() and not p.stderr, "--log-fd N", p.stderr)

# ---- for programs: one document, that agrees with what report makes of the recording
r = run("run", "-q", "-j", "-o", "-", "--", "sh", "-c", "'%s' 10 150 >&2; exit 3" % RECURSE)
d = json.loads(r.stdout)
t.equal((r.returncode, d["schema"], d["tool_status"], d["workload_status"], d["command"][0]), (3, "cyclade.run/2", 0, 3, "sh"),
        "-j: its schema, what ran, how it ended")
later = by_event(json.loads(run("report", "-j", "-s", "sym,dso").stdout))
t.equal([x["event"] for x in d["events"]], [x["event"] for x in later], "-j: functions of each event")
for mine, its in zip(d["events"], later):
    functions = [f for f in d["functions"] if f["event"] == mine["event"]]
    t.equal({(f["function"], f["dso"]): (f["samples"], f["period"], round(f["share"], 9), round(f["share_error"], 9)) for f in functions},
            {(f["function"], f["dso"]): (f["samples"], f["period"], round(f["share"], 9), round(f["share_error"], 9)) for f in its["rows"]},
            "-j: the functions are report's, with shares and errors")
    t.equal((mine["samples"], mine["period"]), (its["samples"], its["period"]), "-j: of the same total")
    t.equal(sum(f["samples"] for f in functions), mine["samples"], "-j: and the table closes")
t.equal(d["recording"]["samples"], sum(x["samples"] for x in d["events"]), "-j: so many samples are in the recording")
t.ok((trees(d) != []) == (d["no_tree"] is None), "-j: a tree, or why there is none", d.get("no_tree"))
r = run("run", "-q", "-j", "-o", "-", "--limit", "1", "--", RECURSE, "10", "600")
f = json.loads(r.stdout[r.stdout.index('{\n  "schema"'):])["functions"]
t.ok(len(f) == 2 and f[1]["function"] is None and f[1]["folded"] > 1 and abs(f[0]["share"] + f[1]["share"] - 1) < 1e-9,
     "--limit: the rest is one row", f)
for options, sep in [(["--format", "csv"], ","), (["-x", ";"], ";")]:
    r = run("run", "-q", *options, "-o", "t.csv", "--", RECURSE, "10", "80")
    with open("t.csv", newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text, delimiter=sep))
    t.ok(rows and abs(sum(float(x["share"]) for x in rows) - 1) < 1e-6 and all(None not in x and None not in x.values() for x in rows),
         "%s: a header row, all columns in each row, functions that close" % " ".join(options), rows[:3])
r = run("run", "-q", "--format", "markdown", "-o", "-", "--", "true")
t.ok(re.search(r"^- samples: [\d,]+ of .*\n- lost: \d+$", r.stdout, re.M), "markdown: ends with what was lost", r.stdout)
for options in [["--format", "folded"], ["-x", "ab"], ["--regions", "--format", "folded"], ["--table", "x"]]:
    r = run("run", *options, "--", "sh", "-c", "echo ran >ran")
    t.ok(r.returncode == 125 and not os.path.exists("ran"), "run %s: 125, nothing is started" % " ".join(options), r.stderr)

r = run("run", "--dry-run", "-e", "cpu-clock", "-F", "1000", "--", "sh", "-c", "echo ran >ran")
t.ok("perf record" in r.stdout + r.stderr and not os.path.exists("ran"), "--dry-run tells and does not start", r.stderr)
os.chdir("/")
shutil.rmtree(tmp)

# ---- run --regions and a signal: the program has it, the directory of its tables goes ----
p = subprocess.Popen([CYCLADE, "run", "--regions", "--", "sh", "-c", "echo; exec sleep 100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.readline()
with open("/proc/%d/task/%d/children" % (p.pid, p.pid), encoding="ascii") as f:
    child = f.read().split()[0]


def regions():
    """Of the child's environment, which is empty for a moment while sh becomes sleep."""
    with open("/proc/%s/environ" % child, "rb") as f:
        return re.search(rb"CYCLADE_REGIONS=(.*)/%p", f.read())


wait_for(regions)
where = regions()
where = where.group(1).decode() if where else ""
there = os.path.isdir(where)
p.terminate()
p.communicate()
t.ok(there and p.returncode == 128 + signal.SIGTERM and not os.path.exists(where), "run --regions: SIGTERM ends the program, and nothing stays behind",
     (there, p.returncode, where))
t.done()
