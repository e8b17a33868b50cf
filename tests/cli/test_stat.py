#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade stat with events: values against perf and against what the program is known to do, formats, streams, exits."""
import csv
import io
import json
import math
import statistics
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, KERNEL, PERF, SANITIZED, WHOLE_CPUS, Tap, run, taken, wait_for  # noqa: E402
from trees import trees  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-stat-")
os.chdir(tmp)
# 4096 pages written, twice over in a child and a thread if asked; python's own faults are the same each time
TOUCH = """
import mmap, os, sys, threading
def touch(n):
    m = mmap.mmap(-1, n * 4096)
    for i in range(n): m[i * 4096] = 1
touch(4096)
if len(sys.argv) > 1:
    pid = os.fork()
    if not pid:
        touch(4096)
        os._exit(0)
    os.waitpid(pid, 0)
    th = threading.Thread(target=touch, args=(4096,)); th.start(); th.join()
"""
open("touch.py", "w").write(TOUCH)
PY = [sys.executable, "-S", "-E", "touch.py"]


def counts(*args, **kw):
    """The JSON of a run, its rows by event, and the process."""
    p = run("stat", "-j", "-o", "-", *args, **kw)
    try:
        doc = json.loads(p.stdout[p.stdout.index("{\n"):])
    except ValueError:
        return None, {}, p
    return doc, {r["event"]: r for r in doc["counts"]}, p


doc, row, p = counts("-e", "page-faults,task-clock", "--", *PY)
if not row or row["page-faults"]["value"] is None:
    t.skip("stat", "nothing can be counted here: %s" % p.stderr.strip())
    t.done()

# ---- values
base = row["page-faults"]["value"]
t.ok(4096 <= base < 4096 + 3000, "page faults of 4096 pages", base)
doc, row, p = counts("-e", "page-faults", "--", *PY, "more")
more = row["page-faults"]["value"]
t.ok(8192 <= more - base < 8192 + 3000, "a child and a thread are counted with it", more - base)
doc, row, p = counts("--no-inherit", "-e", "page-faults", "--", *PY, "more")
t.ok(base <= row["page-faults"]["value"] < base + 3000, "--no-inherit leaves them out", row)
doc, row, p = counts("-e", "page-faults:u,page-faults:k,page-faults", "--", *PY)
v = {k: r["value"] for k, r in row.items()}
t.ok((v["page-faults:u"] + v["page-faults:k"] == v["page-faults"] if KERNEL else v["page-faults:k"] is None) and v["page-faults:u"] > 4000, "user and kernel add up", v)
doc, row, p = counts("-e", "cs:u,cs", "--", "sleep", "0.05")
t.ok(row["cs:u"]["value"] is None and "kernel" in row["cs:u"]["value_why"] and
     (row["cs"]["value"] >= 1 if KERNEL else row["cs"]["value"] is None and "kernel" in row["cs"]["value_why"]), "switches without the kernel: not counted, not 0", row)
doc, row, p = counts("-e", "page-faults:k,page-faults:u", "--user", "--", "true")
t.ok(row["page-faults:k"]["value"] is None and "left out" in row["page-faults:k"]["value_why"] and row["page-faults:u"]["value"] > 0,
     "the kernel's alone, with the kernel left out: not counted, not 0", row)
# started by one who ignores SIGCHLD, which is inherited: the end is told all the same
p = subprocess.run([CYCLADE, "stat", "-e", "task-clock", "--", "sh", "-c", "sleep 0.05; exit 7"], timeout=600, capture_output=True,
                   text=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
t.ok(p.returncode == 7 and "exit 7" in p.stderr, "SIGCHLD ignored by the parent: the end and its status are seen", (p.returncode, p.stderr))
if PERF:
    p = subprocess.run([PERF, "stat", "-x,", "-e", "page-faults", "--", *PY, "more"], capture_output=True, text=True)
    theirs = [int(line.split(",")[0]) for line in p.stderr.splitlines() if "page-faults" in line]
    t.ok(theirs and abs(theirs[0] - more) < 300, "perf counts as many", (theirs, more))
    # both count the same process at the same time: the same switches, the same time
    both = subprocess.run([PERF, "stat", "-x,", "-e", "minor-faults:u", "--", CYCLADE, "stat", "-j", "-o", "x.json", "-e",
                           "minor-faults:u", "--", *PY], capture_output=True, text=True)
    theirs = [int(line.split(",")[0]) for line in both.stderr.splitlines() if "minor-faults" in line]
    ours = json.load(open("x.json"))["counts"][0]["value"]
    t.ok(theirs and 0 <= theirs[0] - ours < (20000 if SANITIZED else 1500), "counted by both at once: perf sees ours and cyclade itself", (theirs, ours))
else:
    t.skip("against perf", "no perf here")

doc, row, p = counts("-e", "task-clock,duration_time,user_time,system_time", "--", *PY, "more")
clock, wall = row["task-clock"]["value"], row["duration_time"]["value"]
cpu = row["user_time"]["value"] + row["system_time"]["value"]
t.ok(row["task-clock"]["unit"] == "ns" and 0 < clock < wall * 3, "task-clock within the wall time", row)
t.ok(abs(clock - cpu) < 0.25 * clock + 1e7, "task-clock and the kernel's own books", (clock, cpu))
t.ok(abs(wall / 1e9 - doc["seconds"]) < 1e-6, "duration_time is the wall time", (wall, doc["seconds"]))

# ---- groups, and events nobody has
doc, row, p = counts("-e", "{page-faults,cpu-clock},{task-clock,minor-faults}", "--", *PY)
t.ok(row["page-faults"]["value"] >= row["minor-faults"]["value"] > 4000 and row["cpu-clock"]["counted"] == 1, "groups", row)
doc, row, p = counts("-e", "page-faults,r1ff", "--", "true")
r = row.get("r1ff") or {}
if r.get("value") is None:
    t.ok(r["value"] is None and r["value_why"] and r["supported"] is False and row["page-faults"]["value"] > 0 and p.returncode == 0,
         "one that is not there: null and why; the other counts", row)
    p = run("stat", "-e", "page-faults,r1ff", "--", "true")
    t.ok(re.search(r"<not supported>\s+r1ff\s+\w+", p.stderr), "not supported, with the reason", p.stderr)
else:
    t.skip("an event that is not there", "this one is")
p = run("stat", "-e", "r1ff", "--", "sh", "-c", "echo ran >ran")
t.ok(p.returncode == (125 if r.get("value") is None else 0) and os.path.exists("ran") == (p.returncode == 0),
     "nothing can be counted: 125, the program is not started", p.stderr)

# ---- without a cycle counter: five lines, 125, not started
probe = run("stat", "-e", "cycles", "--", "true")
if probe.returncode == 125:
    p = run("stat", "--", "sh", "-c", "echo ran >ran1; exit 3")
    t.ok(p.returncode == 3 and os.path.exists("ran1") and p.stderr.startswith("cyclade: no cycle counter here") and "page-faults" in p.stderr and
         "context-switches" in p.stderr and "meanwhile" not in p.stderr, "stat of a program: the lines, then time and software events, its own end", p.stderr)
    for args in [["-M", "IPC", "--"], ["-e", "cycles", "--"], ["-l", "2", "--"], ["-e", "{cycles,instructions}", "--"]]:
        p = run("stat", *args, "sh", "-c", "echo ran >ran2")
        t.ok(p.returncode == 125 and not os.path.exists("ran2") and len(p.stderr.splitlines()) == 5 and
             p.stderr.startswith("cyclade: no cycle counter here"), "stat %s: five lines, 125, not started" % " ".join(args), p.stderr)
    meanwhile = re.search(r"meanwhile  cyclade (.*) -- ./prog", p.stderr)
    p = run(*meanwhile.group(1).split(), "--", "true") if meanwhile else None
    t.ok(p and p.returncode == 0 and "page-faults" in p.stderr, "what it says to type meanwhile works")
    # to ask for the kernel is refused before anybody looks whether there is a counter at all
    for event in ["cycles", "cycles:k", "{cycles,instructions}"]:
        try:
            p = run("stat", "-e", event, "--", "true", **({"user": 65534, "cwd": "/"} if os.geteuid() == 0 else {}))
        except PermissionError:
            t.skip("%s of an ordinary user" % event, "the program cannot be read by one")
            continue
        t.ok(p.returncode == 125 and "no cycle counter here" in p.stderr and "permitted" not in p.stderr,
             "%s of an ordinary user: no counter, and no word of rights" % event, p.stderr)
    t.equal(run("stat", "-a", "-l", "1", "--for", "10ms").returncode, 2, "without a program: 2")
else:
    t.skip("without a cycle counter", "there is one here")

# ---- who
busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
try:
    doc, row, p = counts("-p", str(busy.pid), "-e", "task-clock", "--for", "200ms")
    t.ok(doc and 0 < row["task-clock"]["value"] <= 1.01e9 * doc["seconds"] and p.returncode == 0, "-p for 200 ms", (row, p.stderr))
    t.ok(doc["workload_status"] is None and doc["target"].startswith("process %d (" % busy.pid), "-p: whom it was about", doc)
    doc, row, p = counts("-t", str(busy.pid), "--per", "thread", "-e", "task-clock", "--for", "100ms")
    t.ok(doc and doc["counts"][0]["where"] == "sh-%d" % busy.pid, "-t --per thread: the thread's name", doc)
finally:
    busy.kill()
    busy.wait()
doc, row, p = counts("-a", "-e", "cpu-clock", "--for", "200ms")
if doc and row["cpu-clock"]["value"]:
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    t.ok(abs(row["cpu-clock"]["value"] / 1e9 / cpus / doc["seconds"] - 1) < 0.1, "-a: every CPU's clock runs", (row, doc["seconds"]))
    for per in ["cpu", "core", "die", "socket", "node", "cluster"]:
        doc, row, p = counts("-a", "--per", per, "-e", "cpu-clock", "--for", "50ms")
        t.ok(doc and sum(r["cpus"] for r in doc["counts"]) == cpus and
             len({r["where"] for r in doc["counts"]}) == len(doc["counts"]), "--per %s: each CPU once" % per, p.stdout + p.stderr)
    doc, row, p = counts("-C", "0", "-e", "cpu-clock", "--for", "100ms")
    t.ok(abs(row["cpu-clock"]["value"] / 1e9 / doc["seconds"] - 1) < 0.15, "-C 0: one CPU", row)
    doc, row, p = counts("-a", "-e", "task-clock", "--", "sleep", "0.1")
    t.ok(p.returncode == 0 and row["task-clock"]["value"] > 0.05e9, "-a with a program: as long as it runs", (row, p.stderr))
    t.equal(run("stat", "-C", "0", "-e", "cs", "--", "sh", "-c", "exit 4").returncode, 4, "-C with a program")
else:
    t.skip("-a", "not permitted here")

# ---- when
doc, row, p = counts("-D", "500", "-e", "task-clock", "--", sys.executable, "-S", "-E", "-c",
                     "import os, time\nwhile time.process_time() < 0.2: pass\ntime.sleep(0.7)\n"
                     "print(time.process_time(), flush=True)\nos._exit(0)")
# of half a second even a crowded machine gives it some 10 ms; before exec, which is never counted, it needs fewer
t.ok(row["task-clock"]["value"] < 1e9 * float(p.stdout.split()[0]) - 1e7, "-D begins later: its time until then is not counted", (row, p.stdout[:40]))
doc, row, p = counts("-D", "5s", "-e", "task-clock,page-faults", "--", "true")
t.ok(doc and all(r["value"] is None and "not begun" in r["value_why"] for r in doc["counts"]), "-D longer than the program: not counted, not 0", doc)
p = run("stat", "-I", "50", "-j", "-o", "-", "-e", "task-clock,page-faults", "--", "sh", "-c", "sleep 0.18; exit 6")
lines = [json.loads(line) for line in p.stdout.splitlines()]
t.ok(p.returncode == 6 and len(lines) >= 4 and all(x["schema"] == "cyclade.counts/2" for x in lines), "-I -j: JSON lines", p.stdout + p.stderr)
t.ok(lines[-1].get("end") and lines[-1]["workload_status"] == 6, "-I -j: the last line tells the end", lines[-1:])
times = [x["time"] for x in lines[:-1]]
t.ok(times == sorted(times) and abs(sum(x["seconds"] for x in lines[:-1]) - times[-1]) < 1e-6, "-I: intervals add up", times)
p = run("stat", "-I", "60", "-x", ";", "-o", "-", "-e", "page-faults", "--", *PY)
rows = list(csv.DictReader(io.StringIO(p.stdout), delimiter=";"))
total = sum(int(r["value"]) for r in rows if r["value"])
said = run("stat", "-x", ";", "-o", "-", "-e", "page-faults,task-clock", "--", *PY).stdout
both = {r["event"]: r for r in csv.DictReader(io.StringIO(said), delimiter=";")}
rate = float(both["page-faults"]["derived"]) * float(both["task-clock"]["value"]) / 1e9
t.ok(abs(rate - int(both["page-faults"]["value"])) < 0.01 and both["page-faults"]["derived_unit"] == "/s" and both["task-clock"]["derived_unit"] == "CPUs",
     "csv: what is derived, as numbers", both)
t.ok(not any(r["derived"] or r["derived_unit"] for r in rows), "csv: nothing to derive, nothing derived", rows[:2])
t.ok(abs(total - base) < 300, "-I: the pieces sum up to the whole", (total, base))
t.equal(p.stdout.count("event"), 1, "-I -x: one header")
p = run("stat", "-I", "50", "-e", "task-clock", "--", "sleep", "0.12")
t.ok(len(re.findall(r"^ +0\.\d{3} .* task-clock", p.stderr, re.M)) >= 2, "-I for people", p.stderr)

doc, row, p = counts("-r", "5", "-e", "page-faults,task-clock", "--", "true")
r = row["page-faults"]
k = row["task-clock"]
t.ok(doc["runs"] == 5 and r["runs"] == 5 and k["runs"] == 5 and k["value_error"] > 0, "-r 5: deviation and error", doc)
t.ok(all(abs(x["value_error"] - 2.776 * x["stddev"] / 5 ** 0.5) <= 1e-3 * x["value_error"] for x in (r, k)),
     "-r 5: the error is Student's with 4 degrees of freedom", (r, k))
repeat = [x["value"] for x in doc["repeats"] if x["event"] == "page-faults"]
t.ok(abs(sum(repeat) / 5 - r["value"]) < 1e-6 and math.isclose(statistics.stdev(repeat), r["stddev"], abs_tol=1e-6) and
     [(x["run"], x["event"]) for x in doc["repeats"]] == [(i, e) for i in range(1, 6) for e in ("page-faults", "task-clock")],
     "-r: each run is in the table repeats", doc["repeats"])
t.ok(math.isclose(sum(x["seconds"] for x in doc["times"]) / 5, doc["seconds"]) and [x["run"] for x in doc["times"]] == [1, 2, 3, 4, 5],
     "-r: and its times in the table times", doc["times"])
t.ok("repeats" not in counts("-e", "page-faults", "--", "true")[0], "one run has no repeats")
# five by hand give the same mean within the errors of both
hand = [counts("-e", "page-faults", "--", "true")[1]["page-faults"]["value"] for _ in range(5)]
t.ok(abs(sum(hand) / 5 - r["value"]) < 10, "-r: the mean of runs by hand", (hand, r))
p = run("stat", "-r", "3", "-e", "task-clock", "--", "sh", "-c", "echo x >>times; exit 5")
t.ok(p.returncode == 5 and open("times").read() == "x\n" * 3 and "mean of 3 runs" in p.stderr and "+-" in p.stderr, "-r 3 runs it three times", p.stderr)

os.mkfifo("ctl")
os.mkfifo("ack")
# held open from here, so that a word cannot meet a FIFO without a reader
ctl, ack = os.open("ctl", os.O_RDWR), os.open("ack", os.O_RDWR)
p = subprocess.Popen([CYCLADE, "stat", "--control", "ctl,ack", "-D", "-1", "-j", "-o", "c.json", "-e", "task-clock", "--", "sh", "-c",
                      "i=0; while [ ! -e done ]; do i=$((i+1)); done"])


def answer():
    return os.read(ack, 16) if select.select([ack], [], [], 600)[0] else b"no answer"


time.sleep(0.3)
begin = time.monotonic()
os.write(ctl, b"enable\n")
got = answer()
os.write(ctl, b"disable\n")
got += answer()
piece = time.monotonic() - begin
time.sleep(0.3)
open("done", "w").close()
p.wait(timeout=600)
os.close(ctl)
os.close(ack)
doc = json.load(open("c.json"))
t.ok(got == b"ack\nack\n" and doc["counts"][0]["value"] is not None and doc["counts"][0]["value"] < 1.01e9 * piece < 1e9 * doc["seconds"],
     "--control: a piece of the run", (got, piece, doc))
for words, on in (((), True), (("-D", "-1"), False)):
    row = counts("--control", "ctl", *words, "-e", "task-clock", "--", "sh", "-c", "i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done")[1]["task-clock"]
    t.ok((row["value"] or 0) > 0 if on else row["value"] is None, "--control %s: %s at the start" % (" ".join(words), "on" if on else "off"), row)

# a flood of commands, of lines that are none and of bytes without an end holds up neither --for nor a signal
POUR = "import os\nf = os.open('ctl', os.O_WRONLY)\nwhile True:\n    os.write(f, %r * 2000)"
for name, flood in (("commands", b"enable\ndisable\n"), ("unknown lines", b"junk\n"), ("empty lines", b"\n"), ("a line without an end", b"x")):
    for end in ("--for", "SIGTERM"):
        pouring = subprocess.Popen([sys.executable, "-c", POUR % flood], stderr=subprocess.DEVNULL)
        p = subprocess.Popen([CYCLADE, "stat", "-e", "task-clock", "--control", "ctl", "--for", "300ms" if end == "--for" else "1h", "-p", str(pouring.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            if end == "SIGTERM":
                time.sleep(0.5)
                p.send_signal(signal.SIGTERM)
            words = p.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            words = p.communicate()[1]
        pouring.kill()
        pouring.wait()
        # a signal may come before it counts
        t.ok(p.returncode == 0 or (end == "SIGTERM" and p.returncode == -signal.SIGTERM), "--control, a flood of %s: %s ends it" % (name, end), (p.returncode, words[-300:]))
        t.ok(words.count("--control") < 10, "and it reports only some of them", words.count("--control"))

# ---- signals
p = subprocess.Popen([CYCLADE, "stat", "-e", "task-clock,cs", "--", "sh", "-c", "echo up; exec sleep 200"],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
p.stdout.readline()
p.send_signal(signal.SIGUSR1)
taken(p.pid, signal.SIGUSR1)
p.send_signal(signal.SIGINT)
err = p.communicate(timeout=600)[1]
t.ok(p.returncode == 130 and err.count("task-clock") == 2 and "interrupted" in err, "SIGUSR1: so far; the first interrupt reports", err)
open("go", "w").close()
p = subprocess.Popen([CYCLADE, "stat", "-e", "task-clock", "--", "sh", "-c", "trap '' INT TERM; echo $$ >pid; while [ -e go ]; do sleep 0.2; done"],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
wait_for(lambda: os.path.getsize("pid"))
p.send_signal(signal.SIGINT)
taken(p.pid, signal.SIGINT)
p.send_signal(signal.SIGINT)
try:
    t.equal(p.wait(timeout=600), 130, "the second interrupt: not waited for a program that will not end")
except subprocess.TimeoutExpired:
    p.kill()
    t.ok(False, "the second interrupt: not waited for a program that will not end")
os.unlink("go")
whom = ["-a"] if WHOLE_CPUS else ["-p", str(os.getpid())]
p = subprocess.Popen([CYCLADE, "stat", *whom, "-I", "20", "-e", "task-clock"], stdout=subprocess.PIPE, text=True)
p.stdout.readline()
p.stdout.close()
try:
    t.equal(p.wait(timeout=600), 0, "a reader that goes away ends it")
except subprocess.TimeoutExpired:
    p.kill()
    t.ok(False, "a reader that goes away ends it")

# ---- streams and files
p = run("stat", "-e", "cs", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
t.ok(p.stdout == "out\n" and p.stderr.startswith("err\n") and "exit 3" in p.stderr and p.returncode == 3, "beside a program: standard error", p.stderr)
p = run("stat", "-o", "r.txt", "-e", "cs", "--", "sh", "-c", "exit 3")
t.ok(not p.stderr and not p.stdout and "exit 3" in open("r.txt").read(), "-o FILE", p.stderr)
p = run("stat", "-o", "r.txt", "--append", "-e", "cs", "--", "true")
t.equal(len(re.findall(r"cpu, exit \d", open("r.txt").read())), 2, "--append")
p = run("stat", "-o", "no-such-directory/x", "-e", "cs", "--", "sh", "-c", "echo ran >ran3")
t.ok(p.returncode == 125 and not os.path.exists("ran3"), "-o that cannot be: 125, not started", p.stderr)
p = run("stat", "-o", "/dev/full", "-e", "cs", "--", "sh", "-c", "exit 3")
t.ok(p.returncode == 125 and "No space" in p.stderr, "a full disk: 125", p.stderr)
fd = os.open("fd.txt", os.O_CREAT | os.O_WRONLY, 0o600)
p = subprocess.run([CYCLADE, "stat", "--log-fd", str(fd), "-e", "cs", "--", "true"], pass_fds=[fd], capture_output=True, text=True)
os.close(fd)
t.ok(p.returncode == 0 and "cs" in open("fd.txt").read() and not p.stderr, "--log-fd", p.stderr)
p = run("stat", "--format", "markdown", "-o", "-", "-e", "cs,page-faults", "--", "true")
t.ok(p.stdout.count("\n|") >= 3 and "| page-faults |" in p.stdout.replace("\\", ""), "markdown", p.stdout)
p = run("stat", "-x", ",", "-o", "-", "-e", "page-faults", "--", "sh", "-c", ":", text=False, errors=None)
t.ok(p.stdout.startswith(b"where,cpus,event,value,value_error,value_why,unit") and p.stdout.count(b"\n") == 2 and b"\r" not in p.stdout, "csv: a header, a line each", p.stdout)
p = run("stat", "--dry-run", "-e", "{cs,page-faults}:u", "--", "sh", "-c", "echo ran >ran4")
t.ok(p.returncode == 0 and not os.path.exists("ran4") and "perf stat" in p.stdout + p.stderr and "exclude_kernel" in p.stdout + p.stderr,
     "--dry-run", p.stderr)

# ---- counts of others: a published run on Ivy Bridge, whose perf printed these shares
COUNTS = """3,959,711,240 INST_RETIRED.ANY # 6.9 % x (27.77%)
1,372,781,339 RESOURCE_STALLS.SB (27.77%)
27,547,459,701 CPU_CLK_UNHALTED.THREAD_ANY # 48.6 % x
# 0.6 % y (27.78%)
30,611,525,158 IDQ_UOPS_NOT_DELIVERED.CORE (27.78%)
4,664,908,277 IDQ.MS_UOPS (27.78%)
9,011,996,120 RS_EVENTS.EMPTY_CYCLES (22.23%)
73,080,555 BR_MISP_RETIRED.ALL_BRANCHES (22.23%)
1,043,483,329 INT_MISC.RECOVERY_CYCLES_ANY (22.23%)
11,924,966,176 CYCLE_ACTIVITY.STALLS_LDM_PENDING (22.22%)
1,437,479,238 UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC (22.22%)
2,704,205,377 UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC (22.22%)
5,126,419,350 UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC (22.22%)
22,487,132,522 CPU_CLK_UNHALTED.THREAD (22.22%)
22,813,129,502 CYCLE_ACTIVITY.CYCLES_NO_EXECUTE (22.22%)
8,377,190,585 UOPS_RETIRED.RETIRE_SLOTS (22.22%)
6,700,364,585 IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE (22.22%)
10,736,770 MACHINE_CLEARS.COUNT (22.22%)
9,051,453,547 UOPS_ISSUED.ANY (22.22%)

60.003486 seconds time elapsed
"""
SHARES = {"fetch_latency": 48.6, "fetch_bandwidth": 6.9, "branch_mispredicts": 4.4, "machine_clears": 0.6, "heavy_operations": 7.8,
          "light_operations": 7.4, "memory_bound": 18.7, "core_bound": 5.6}
as_csv = "".join("%s;;%s;1;%s;;\n" % (v.replace(",", ""), e, p) for v, e, p in re.findall(r"^([\d,]+) ([\w.]+)(?:.*\(([\d.]+)%\))?", COUNTS, re.M))
as_json = "".join('{"counter-value" : "%s", "event" : "%s", "pcnt-running" : 22}\n' % (v.replace(",", ""), e)
                  for v, e in re.findall(r"^([\d,]+) ([\w.]+)", COUNTS, re.M))
for name, text in [("table", COUNTS), ("csv", as_csv), ("json", as_json)]:
    open("counts", "w").write(text)
    p = run("stat", "--import", "counts", "--model", "ivb", "--smt", "on", "-a", "-l", "2", "-j")
    doc = json.loads(p.stdout) if p.returncode == 0 else {"trees": [{"nodes": []}]}
    got = {n["node"].split(".")[-1]: n["value"] for n in trees(doc)[0]["nodes"] if n["level"] == 2}
    t.ok(set(got) == set(SHARES) and all(got[n] is not None and abs(got[n] * 100 - SHARES[n]) < 0.051 for n in SHARES),
         "--import %s: the shares that perf printed" % name, (got, p.stderr))
open("again.json", "w").write(p.stdout)
p = run("stat", "--import", "again.json", "--model", "ivb", "--smt", "on", "-a", "-l", "2", "-j")
again = {n["node"].split(".")[-1]: n["value"] for n in trees(json.loads(p.stdout))[0]["nodes"] if n["level"] == 2} if p.returncode == 0 else {}
t.ok(again and all(abs(again[n] - got[n]) < 1e-9 for n in got), "--import of our own JSON gives it again", (again, p.stderr))
p = run("stat", "--import", "counts", "--model", "ivb", "-l", "1")
t.ok("SMT was on" in p.stdout, "that SMT was on is derived from counts that show it", p.stdout)
open("nothing", "w").write("hello\n\x00\xff" * 50)
for args in [["nothing"], ["/nonexistent"], ["counts", "--model", "nope"], ["counts", "--model", "ivb", "-e", "cs"]]:
    p = run("stat", "--import", *args, *(["--model", "ivb"] if len(args) == 1 else []))
    t.ok(p.returncode == 2 and 1 <= len(p.stderr.splitlines()) <= 3, "wrong: --import %s" % " ".join(args), p.stderr)

# ---- a page of intervals ends, and says so
LAST = b"the page ends with this interval"
events = ",".join(["task-clock", "cpu-clock", "page-faults", "minor-faults", "cs", "migrations"] * 50)
with open("page.err", "w") as err:
    p = subprocess.Popen([CYCLADE, "stat", "-I", "10", "--format", "html", "-o", "page.html", "-e", events, "--", "sleep", "1000"], stderr=err)


def ended():
    with open("page.html", "rb") as f:
        return LAST in f.read() or os.path.getsize("page.html") > 12e6


t.ok(wait_for(ended), "a page of intervals ends")
size = os.path.getsize("page.html")
time.sleep(0.2)  # further intervals, whose number does not matter
p.send_signal(signal.SIGINT)
p.wait()
with open("page.html", "rb") as f:
    page = f.read()
with open("page.err") as f:
    said = f.read()
t.ok(len(page) == size <= 12e6 and page.count(LAST) == 2, "... at 12 MB, and says so with and without scripts, once each", (size, len(page), page.count(LAST)))
t.ok(re.search(r"\b\d+ intervals? (?:have|has) no place in the page", said), "... and how many there were besides", said)

# ---- exit codes
for code, what in [(0, "exit 0"), (125, "exit 125"), (137, "kill -9 $$")]:
    t.equal(run("stat", "-e", "cs", "--", "sh", "-c", what).returncode, code, "the program's end is kept: %s" % what)
t.equal(run("stat", "-e", "cs", "--", "no-such-program-here").returncode, 127, "a program that is not there: 127")
t.equal(run("stat", "-e", "cs", "--", "/etc/passwd").returncode, 126, "a file that is no program: 126")
for args, code in [(["-e", "page-falts", "--", "true"], 125), (["-e", "cs"], 2), (["-r", "0", "-e", "cs", "--", "true"], 125),
                   (["-r", "2", "-e", "cs", "-a"], 2), (["-e", "cs", "-I", "0", "--", "true"], 125), (["-e", "cs", "--per", "core", "--", "true"], 125),
                   (["-e", "cs", "--per", "thread", "--", "true"], 125), (["-e", "cs", "--user", "--kernel", "--", "true"], 125),
                   (["-e", "cs", "-p", "999999999"], 2), (["-e", "cs", "-p", "x"], 2), (["-e", "cs", "-l", "2", "--", "true"], 125),
                   (["-e", "cs", "-G", "nowhere", "-a"], 2), (["-r", "2", "-I", "10", "-e", "cs", "--", "true"], 125),
                   (["-e", "cs", "--format", "folded", "--", "true"], 125), (["--frobnicate", "--", "true"], 125)]:
    p = run("stat", *args)
    t.ok(p.returncode == code and 1 <= len(p.stderr.splitlines()) <= 3 and p.stderr.startswith("cyclade:"),
         "wrong: stat %s" % " ".join(args), "%d\n%s" % (p.returncode, p.stderr))
os.chdir("/")
shutil.rmtree(tmp)
t.done()
