#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade stat where things go wrong: a thousand children, few files, no rights, tasks that end, interrupts."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, SANITIZED, Tap, run, taken, wait_for  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-hard-")
os.chdir(tmp)
# each child touches 8 pages that are its own
open("forks.py", "w").write("""
import mmap, os, sys
for i in range(int(sys.argv[1])):
    if not os.fork():
        m = mmap.mmap(-1, 8 * 4096)
        for k in range(8): m[k * 4096] = 1
        os._exit(0)
    if i % 50 == 49:
        for _ in range(50): os.wait()
""")
FORKS = [sys.executable, "-S", "-E", "forks.py"]


def counts(*args, **kw):
    p = run("stat", "-j", "-o", "-", *args, **kw)
    try:
        return {r["event"]: r for r in json.loads(p.stdout[p.stdout.index("{\n"):])["counts"]}, p
    except ValueError:
        return {}, p


row, p = counts("-e", "page-faults", "--", "true")
if not row or row["page-faults"]["value"] is None:
    t.skip("stat", "nothing can be counted here: %s" % p.stderr.strip())
    t.done()

# ---- a thousand children
few, p = counts("-e", "page-faults", "--", *FORKS, "100")
row, p = counts("-e", "page-faults,task-clock,cs", "--", *FORKS, "1000")
many = row["page-faults"]["value"]
t.ok(p.returncode == 0 and many > 8000, "1,000 children are counted with it", many)
t.ok(abs((many - few["page-faults"]["value"]) / 900 - few["page-faults"]["value"] / 100) < 30, "each alike", (few, many))
if PERF:
    p = subprocess.run([PERF, "stat", "-x,", "-e", "page-faults", "--", *FORKS, "1000"], capture_output=True, text=True)
    theirs = [int(line.split(",")[0]) for line in p.stderr.splitlines() if "page-faults" in line]
    t.ok(theirs and abs(theirs[0] - many) < 10 * 1000, "perf counts as many, but for a few faults a child", (theirs, many))
else:
    t.skip("perf counts as many", "no perf")
alone, p = counts("--no-inherit", "-e", "page-faults", "--", *FORKS, "100")
t.ok(alone["page-faults"]["value"] < 0.5 * few["page-faults"]["value"], "--no-inherit: without them", (alone, few))

# ---- files: a descriptor for each event on each CPU
EVENTS = ",".join("{page-faults,%s}" % e for e in ("cs", "migrations", "minor-faults", "major-faults", "task-clock", "dummy")) * 1
GROUPS = ",".join([EVENTS] * 8)


def limit(soft, hard):
    def set_it():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if not os.geteuid():  # root may go beyond the hard limit
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    return set_it


def as_nobody(*args, limits=(1024, 4096), **kw):
    env = dict(os.environ, HOME="/nonexistent", XDG_CONFIG_HOME="/nonexistent")
    return subprocess.run([program, "stat", *args], preexec_fn=limit(*limits), text=True, capture_output=True, env=env, timeout=600,
                          stdin=subprocess.DEVNULL, **kw)


# whoever runs as nobody must find the program
program = os.path.join(tmp, "cyclade")
shutil.copy(CYCLADE, program)
os.chmod(tmp, 0o777)
os.chmod(program, 0o755)
try:
    probe = as_nobody("-e", "page-faults", "--", "true")
except (OSError, subprocess.SubprocessError) as e:
    probe = None
    t.skip("an ordinary user", "cannot become one: %s" % e)
if probe is not None and probe.returncode:
    t.skip("an ordinary user", "may count nothing here: %s" % probe.stderr.strip().splitlines()[:1])
elif probe is not None:
    t.ok("user space only" in probe.stderr or open("/proc/sys/kernel/perf_event_paranoid").read().strip() in "-1 0 1".split(),
         "an ordinary user: the program's own part, and that it is that alone", probe.stderr)
    p = as_nobody("-e", GROUPS, "--", "true", limits=(40, 4096))
    t.ok(p.returncode == 0 and "page-faults" in p.stderr, "the soft limit on files is raised", p.stderr[-300:])
    p = as_nobody("-e", GROUPS, "--", "touch", "ran", limits=(40, 40))
    t.ok(p.returncode == 125 and "Too many open files" in p.stderr and "ulimit -n" in p.stderr and len(p.stderr.splitlines()) <= 3 and
         not os.path.exists("ran"), "the hard one: told before the program starts, and what to do", p.stderr)
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) > 0 and not os.geteuid():
        for args, code in ((["-a", "-e", "cs", "--", "touch", "ran"], 125), (["-a", "-e", "cs", "--for", "0.1s"], 2),
                           (["-p", "1", "-e", "cs", "--for", "0.1s"], 2)):
            p = as_nobody(*args)
            t.ok(p.returncode == code and "perf_event_paranoid" in p.stderr and len(p.stderr.splitlines()) <= 3 and not os.path.exists("ran"),
                 "not permitted: %s" % " ".join(args), p.stderr)
    else:
        t.skip("not permitted", "everything is, here")

# ---- tasks that end
def counts_until(end, *args):
    """Counts of tasks that are watched already when end() is called."""
    p = subprocess.Popen([CYCLADE, "stat", "-j", "-o", "-", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    fds = "/proc/%d/fd" % p.pid

    def waits():
        return p.poll() is not None or ("poll" in open("/proc/%d/wchan" % p.pid).read() and
                                        any("perf_event" in os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)))
    wait_for(waits)
    end()
    out, err = p.communicate(timeout=600)
    try:
        return {r["event"]: r for r in json.loads(out[out.index("{\n"):])["counts"]}, p.returncode, err
    except ValueError:
        return {}, p.returncode, err


def idle():
    """A process that ends when its input does."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE)


q = idle()
row, code, said = counts_until(q.stdin.close, "-p", str(q.pid), "-e", "task-clock,page-faults")
t.ok(code == 0 and row["page-faults"]["value"] is not None, "-p: a process that ends ends it", (code, row, said))
q.wait()
p = run("stat", "-p", str(q.pid), "-e", "cs")
t.ok(p.returncode == 2 and str(q.pid) in p.stderr and len(p.stderr.splitlines()) <= 3, "-p: one that has ended", p.stderr)
p = run("stat", "-t", str(q.pid), "-e", "cs")
t.ok(p.returncode == 2 and str(q.pid) in p.stderr, "-t: one that has ended", p.stderr)
q = subprocess.Popen([sys.executable, "-S", "-E", "-c", """
import os, threading, time
t = threading.Thread(target=os.read, args=(0, 1)); t.start(); t.join(); time.sleep(600)"""], stdin=subprocess.PIPE)
wait_for(lambda: len(os.listdir("/proc/%d/task" % q.pid)) > 1)
tid = [x for x in os.listdir("/proc/%d/task" % q.pid) if x != str(q.pid)]
row, code, said = counts_until(q.stdin.close, "-t", tid[0], "-e", "task-clock") if tid else ({}, None, "")
t.ok(code == 0 and row["task-clock"]["value"] is not None and q.poll() is None, "-t: a thread that ends, in a process that goes on",
     (tid, code, said))
a = idle()
row, code, said = counts_until(a.stdin.close, "-p", "%d,%d" % (a.pid, q.pid), "--per", "thread", "-e", "page-faults", "--for", "1s")
t.ok(code == 0 and row["page-faults"]["value"] is not None, "one of two ends: the other goes on being counted", said)
q.kill()
q.wait()
a.wait()

# ---- interrupts and several runs
def interrupted(sleep, runs):
    """SIGINT while run number `runs` goes on: what was reported."""
    if os.path.exists("began"):
        os.unlink("began")
    q = subprocess.Popen([CYCLADE, "stat", "-j", "-o", "r.json", "-r", "100", "-e", "task-clock", "--", "sh", "-c",
                          "echo >>began; exec sleep %s" % sleep], stderr=subprocess.PIPE, text=True,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    wait_for(lambda: os.path.getsize("began") >= runs)
    q.send_signal(signal.SIGINT)
    try:
        said = q.communicate(timeout=600)[1]
    except subprocess.TimeoutExpired:
        state = [line.rstrip() for line in open("/proc/%d/status" % q.pid) if line.startswith(("State", "Sig", "Shd"))]
        q.kill()
        said = "goes on after the interrupt: %d runs, %s" % (os.path.getsize("began"), state)
        return {"interrupted": False, "runs": 0, "seconds": 0, "notes": []}, q, said
    return json.load(open("r.json")), q, said


doc, q, said = interrupted(0.2, 3)
t.ok(q.returncode == 130 and doc["interrupted"] and 2 <= doc["runs"] <= 4, "-r, interrupted: reports, with the program's end", (q.returncode, doc, said))
t.ok(doc["seconds"] > 0.19 and any("not among them" in n for n in doc["notes"]), "the run that was cut short is not among them", doc)
doc, q, said = interrupted(3600, 1)
t.ok(doc["interrupted"] and doc["runs"] == 1, "if there is no other, it is told all the same", (doc, said))

# ---- the program ends while we are busy with a signal: here with telling so far, to somebody who does not read
os.mkfifo("goes")
r, w = os.pipe()
q = subprocess.Popen([CYCLADE, "stat", "-e", "task-clock", "--", "sh", "-c", "echo $$; read x <goes"], stdout=subprocess.PIPE, stderr=w)
kid = int(q.stdout.readline())
full = os.open("/proc/self/fd/%d" % w, os.O_WRONLY | os.O_NONBLOCK)  # open once more: theirs is to wait
try:
    while True:
        os.write(full, b"." * 4096)
except BlockingIOError:
    pass
q.send_signal(signal.SIGUSR1)
taken(q.pid, signal.SIGUSR1)
open("goes", "w").close()
wait_for(lambda: re.search(r"^State:\s+Z", open("/proc/%d/status" % kid).read(), re.M))
os.close(full)
os.close(w)
threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(r, 65536), b"")], daemon=True).start()
try:
    t.equal(q.wait(600), 1, "its end is not missed")
except subprocess.TimeoutExpired:
    q.kill()
    t.ok(False, "its end is not missed", "it still waits for a program that has ended")

# ---- what an interval costs, counted: to wait, one read for each CPU, to write
STRACE = shutil.which("strace")
row, p = counts("-a", "-e", "task-clock,cs", "--for", "0.05s")
if STRACE and not SANITIZED and row and row["cs"]["value"] is not None:
    p = subprocess.run([STRACE, "-o", "calls", CYCLADE, "stat", "-a", "-I", "20", "-o", "i.txt", "-e", "task-clock,cs,page-faults", "--", "sleep", "0.6"],
                       capture_output=True, text=True, timeout=600)
    calls = open("calls").read().splitlines() if os.path.exists("calls") else []
    waits = [i for i, c in enumerate(calls) if c.startswith("ppoll")]
    if p.returncode or len(waits) < 8:
        t.skip("what an interval costs", "strace may not trace here: %s" % p.stderr.strip()[:80])
    else:
        calls = calls[waits[1]:waits[-2]]  # the first asks for the locale, the last for the program's end
        each = len(calls) / (len(waits) - 3)
        t.ok(each < os.sysconf("SC_NPROCESSORS_ONLN") + 2.5, "an interval: to wait, to read each CPU once, to write",
             "%s\n%s" % (each, "\n".join(calls[:20])))
else:
    t.skip("what an interval costs", "no strace, or whole CPUs may not be counted")
os.chdir("/")
shutil.rmtree(tmp, ignore_errors=True)
t.done()
