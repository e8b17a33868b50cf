#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade run of what runs already: -p, -t, -u, -a with --for or until Ctrl-C, which ends the look and not the program; the
functions are the program's, the threads that wait those of the program, the next commands work when typed."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PROGS, WHOLE_CPUS, Tap, run, wait_for  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-attach-")
os.chdir(tmp)
probe = run("record", "-q", "-o", "probe.data", "--", "true")
if probe.returncode:
    t.skip("run -p", "no event can be opened here: %s" % probe.stderr.strip().splitlines()[-1:])
    t.done()
busy = subprocess.Popen([os.path.join(PROGS, "prog_recurse"), "3", "100000000"])
idle = subprocess.Popen([sys.executable, "-c", "import threading, time\n"
                         "threading.Thread(target=time.sleep, args=(100000,), daemon=True).start()\n"
                         "print('there', flush=True)\nwhile True: time.sleep(0.05)"], stdout=subprocess.PIPE)
idle.stdout.readline()


def attached(*words):
    """Without a program's output beside it, the report goes to standard output."""
    p = run("run", *words)
    p.stderr += p.stdout
    return p


def looked(*words):
    p = run("run", "-j", "-o", "out.json", *words)
    with open("out.json", encoding="utf-8") as f:
        return p, json.load(f) if not p.returncode else {}


try:
    # ---- a process that works
    p, d = looked("-p", str(busy.pid), "--for", "2s")
    t.ok(not p.returncode and d, "-p PID --for: it ends with 0 after that time", p.stderr)
    hot = [f["function"] for f in d.get("functions", [])[:1]]
    t.ok(hot == ["bottom"] or (hot and "clock_gettime" in hot[0]), "its hottest function is the program's", d.get("functions", [])[:3])
    t.ok(d.get("seconds", 0) >= 2 and d["recording"]["samples"] > 0, "it has samples, of the whole time", d.get("recording"))
    t.equal((re.sub(r"(?<=\()\w+\)$", "NAME)", d.get("target", "")), d.get("command"), d.get("workload_status"), d.get("user_seconds")),
            ("process %d (NAME)" % busy.pid, [], None, None), "the head names the process; it has no status of a program")
    t.ok(busy.poll() is None, "the program goes on")
    p = attached("-t", str(busy.pid), "--for", "1s")
    t.ok(not p.returncode and "thread %d" % busy.pid in p.stderr, "-t TID", p.stderr)

    # ---- one that waits: who does, and what is next
    p = attached("-p", str(idle.pid), "--for", "2s")
    t.ok(re.search(r"process %d \(\S+\), 2 threads" % idle.pid, p.stderr), "-p of a process with several threads names it", p.stderr)
    t.ok("it waited more than it worked" in p.stderr and "(sleep)" in p.stderr or "is unknown" in p.stderr,
         "it says that the threads waited, and for what", p.stderr)
    advice = re.search(r"^ next: (.*(?:\n       cyclade .*)*)", p.stderr, re.M)
    commands = [re.split(r"  +", line.strip())[0] for line in advice.group(1).splitlines()] if advice else []
    t.ok(any(c == "cyclade record --wait -p %d" % idle.pid for c in commands), "the next commands have the process", p.stderr)
    for c in sorted(commands, key=lambda c: " -p " in c):  # those that record write cyclade.data anew
        c += " --for 1s" if " -p " in c else ""
        p = subprocess.run(["sh", "-c", c.replace("cyclade", "'%s'" % CYCLADE, 1)], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=600)
        t.ok(p.returncode == 0 and p.stdout + p.stderr, "'%s' works" % c.replace(str(idle.pid), "PID"), p.stderr)

    # ---- Ctrl-C
    with open("said", "w", encoding="utf-8") as out:
        p = subprocess.Popen([CYCLADE, "run", "--data", "look.data", "-p", str(busy.pid)], stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def sampled():
        """SIGUSR1 prints how many have reached the file."""
        p.send_signal(signal.SIGUSR1)
        time.sleep(0.1)
        with open("said", encoding="utf-8") as f:
            return p.poll() is not None or re.search(r": after .*: [1-9][\d,]* samples? in ", f.read())
    there = wait_for(lambda: any(x.startswith("look.data") for x in os.listdir(".")) and sampled())
    p.send_signal(signal.SIGINT)
    code = p.wait(timeout=600)
    with open("said", encoding="utf-8") as f:
        said = f.read()
    t.ok(there and code == 0 and "interrupted" in said and "samples in look.data" in said, "Ctrl-C ends the look, and the report comes",
         "%d\n%s" % (code, said))
    t.ok(busy.poll() is None, "and the program goes on")

    # ---- a terminal: a line that shows how far it is, and that is gone in the end
    for command in ["run", "record"]:
        child, fd = pty.fork()
        if not child:
            os.execv(CYCLADE, [CYCLADE, command, "-p", str(busy.pid), "--for", "3s"])
        screen = b""
        while select.select([fd], [], [], 600)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            if not more:
                break
            screen += more
        status = os.waitpid(child, 0)[1]
        os.close(fd)
        t.ok(not status and re.search(rb"\r\d of 3 s, [\d,]+ samples, [^\r]*; Ctrl-C ends the look", screen),
             "%s -p: on a terminal a line shows how far it is" % command, screen.decode("utf-8", "replace"))
        t.ok(re.search(rb"look *\r *\r", screen), "%s: and the line is cleared" % command, screen.decode("utf-8", "replace"))
    p = attached("-p", str(busy.pid), "--for", "1s")
    t.ok("ends the look" not in p.stderr, "elsewhere there is none", p.stderr)

    # ---- the machine
    if WHOLE_CPUS:
        p, d = looked("-a", "--for", "2s")
        t.ok(not p.returncode and re.match(r"all \d+ CPUs?$", d.get("target", "")), "-a --for", p.stderr + str(d.get("target")))
        t.ok(d.get("recording", {}).get("samples", 0) > 0 and any(f["dso"] and "prog_recurse" in f["dso"] or f["function"] == "bottom"
             for f in d["functions"]), "the busy program's function is there", d.get("functions", [])[:5])
        p = run("run", "-a", "--for", "100s", "--", "sh", "-c", "exit 7")
        t.equal(p.returncode, 7, "-a -- PROGRAM: as long as the program runs, with its status")
        p = attached("-u", str(os.getuid()), "--for", "1s")
        t.ok(not p.returncode and "user %d, " % os.getuid() in p.stderr, "-u USER", p.stderr)
    else:
        t.skip("run -a", "whole CPUs are not ours to look at")

    # ---- a process by name: its file's, a word of its command, or its own; several are listed
    shutil.copy(os.path.join(PROGS, "prog_recurse"), "mon-\x1b[1mlonger-than-comm")
    os.symlink(os.path.join(PROGS, "prog_recurse"), "mon-linked")
    with open("mon-script.py", "w", encoding="utf-8") as f:
        f.write("import time\nwhile True: time.sleep(0.01)\n")
    others = [subprocess.Popen(["./mon-\x1b[1mlonger-than-comm", "3", "100000000"]), subprocess.Popen(["./mon-linked", "3", "100000000"]),
              subprocess.Popen([sys.executable, "mon-script.py"])]
    try:
        for p, name in zip(others, ("mon-\x1b[1mlonger-than-comm", "mon-linked", "mon-script.py")):
            wait_for(lambda p=p: b"mon-" in open("/proc/%d/cmdline" % p.pid, "rb").read())
            got = run("record", "--dry-run", "-p", name)
            t.ok(not got.returncode and re.search(r"^like: .* -p %d$" % p.pid, got.stdout, re.M), "-p %s" % ascii(name), got.stdout + got.stderr)
        got = run("record", "--dry-run", "-p", "mon-linked,%d" % others[2].pid)
        t.ok(" -p %d,%d\n" % (others[1].pid, others[2].pid) in got.stdout, "-p NAME,PID", got.stdout + got.stderr)
        others.append(subprocess.Popen(["./mon-linked", "3", "100000000"]))
        wait_for(lambda: b"mon-" in open("/proc/%d/cmdline" % others[3].pid, "rb").read())
        pair = sorted((others[1].pid, others[3].pid))
        for command in ("run", "record", "stat"):
            got = run(command, "-p", "mon-linked", "--for", "1s")
            t.ok(got.returncode in (2, 125) and "2 processes are called 'mon-linked': %d (./mon-linked 3 100000000), %d (" % tuple(pair) in got.stderr
                 and "all: -p %d,%d\n" % tuple(pair) in got.stderr, "%s -p: a name of two lists them" % command, got.stderr)
        p, d = looked("-p", "mon-script.py", "--for", "300ms")
        t.ok(re.match(r"process %d \(" % others[2].pid, d.get("target", "")), "run -p NAME: the head has its number", p.stderr)
    finally:
        for p in others:
            p.kill()
            p.wait()
    p = run("monitor", "-p", str(busy.pid))
    t.ok(p.returncode == 2 and "cyclade stat -p PID -I" in p.stderr, "monitor -p: what watches a process instead", p.stderr)
    p = run("run", "-a", "--dry-run")
    if "like: perf record -e cpu-clock" in p.stdout:  # cycles stand still while a CPU is idle; so does this clock
        t.ok("exclude_idle" in p.stdout and "-e cpu-clock:I " in p.stdout, "run -a: time that stands for cycles is not that of idle CPUs", p.stdout)

    # ---- contradictions
    for words, what in [(["--for", "1s"], "-p PID --for"), (["-p", str(busy.pid), "-r", "2"], "-r goes with a program"),
                        (["-p", str(busy.pid), "--", "true"], "neither a program"), (["--regions", "-p", str(busy.pid)], "needs a program"),
                        (["-p", str(busy.pid), "--follow"], "--follow goes with a program"), (["-p", "0x"], "no process '0x'"),
                        (["-p", "99999999999"], "not a number"), (["-p", ","], "is missing"), (["-t", "0x"], "not a list of numbers"),
                        (["-G", "nowhere"], "cgroup")]:
        p = run("run", *words)
        t.ok(p.returncode in (2, 125) and what in p.stderr, "run %s is refused" % " ".join(w if w != str(busy.pid) else "PID" for w in words),
             p.stderr)
    idle.kill()
    idle.wait()
    p = run("run", "-p", str(idle.pid))
    t.ok(p.returncode in (2, 125) and str(idle.pid) in p.stderr, "a process that is gone: named in the message", p.stderr)
finally:
    for x in (busy, idle):
        x.kill()
        x.wait()
t.done()
