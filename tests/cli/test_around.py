#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--warmup, --pre, --post: what runs around the program, in which order, that it is not measured, and what becomes of
failures; -u: a user's tasks; --cpu: CPUs or a model."""
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, SANITIZED, WHOLE_CPUS, Tap, run, wait_for  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-around-")
os.chdir(tmp)
if run("stat", "-e", "task-clock", "--", "true").returncode:
    t.skip("around", "no event can be opened here")
    t.done()

SPIN = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"  # some 50 ms and more


def lines():
    with open("log", encoding="utf-8") as f:
        text = f.read().split()
    os.remove("log")
    return text


def counts(*args):
    p = run("stat", "-j", "-o", "out.json", *args)
    with open("out.json", encoding="utf-8") as f:
        return p, json.load(f)


# ---- order
add = "sh -c 'echo %s >>log'"
r = run("stat", "-e", "task-clock", "--warmup", "2", "--pre", add % "pre", "--post", add % "post", "-r", "3", "--", "sh", "-c",
        "echo prog >>log")
t.equal(lines(), ["pre", "prog", "post"] * 5, "stat: two runs to warm up, three measured, each between --pre and --post")
t.ok("mean of 3 runs" in r.stderr, "stat: three are told of", r.stderr)
for verb, what in [("run", ["--data", "x.data"]), ("record", ["-o", "x.data"])]:
    run(verb, *what, "--warmup", "1", "--pre", add % "pre", "--post", add % "post", "--", "sh", "-c", "echo prog >>log")
    t.equal(lines(), ["pre", "prog", "post"] * 2, "%s: one to warm up, one measured" % verb)
r = run("run", "--pre", "echo said", "--", "true")
t.ok("no cycle counter here" not in r.stderr or r.returncode == 0, "run: a missing PMU is told before --pre speaks", r.stderr)

# ---- not measured
p, doc = counts("-e", "task-clock", "--warmup", "1", "--pre", "sh -c '%s'" % SPIN, "--post", "sh -c '%s'" % SPIN, "--", "true")
alone = counts("-e", "task-clock", "--", "sh", "-c", SPIN)[1]["counts"][0]["value"]
t.ok(doc["counts"][0]["value"] < alone / 2, "neither is measured: %.1f ms, alone %.1f" %
     (doc["counts"][0]["value"] / 1e6, alone / 1e6), p.stderr)

# ---- no shell, but its quotes
r = run("stat", "-q", "-e", "task-clock", "--pre", "printf '[%s]' 'a b' \"c d\" e\\ f $HOME ; |", "--", "true")
t.equal(r.stdout, "[a b][c d][e f][$HOME][;][|]", "words are parted as a shell does, and nothing else is done to them")
r = run("stat", "-e", "task-clock", "--pre", "echo 'open", "--", "sh", "-c", "echo ran >ran")
t.ok(r.returncode == 125 and "quote" in r.stderr and not os.path.exists("ran"), "a quote that is not closed: 125, nothing runs",
     r.stderr)
r = run("stat", "-e", "task-clock", "--pre", " ", "--", "sh", "-c", "echo ran >ran")
t.ok(r.returncode == 125 and "no command" in r.stderr and not os.path.exists("ran"), "an empty command: 125, nothing runs", r.stderr)

# ---- failures
for verb in ["stat", "run", "record"]:
    for pre, says in [("false", "ended with 1"), ("no-such-command", "No such file"), ("sh -c 'kill -9 $$'", "ended with 137")]:
        r = run(verb, "--pre", pre, *(["-e", "task-clock"] if verb == "stat" else []), "--", "sh", "-c", "echo ran >ran")
        t.ok(r.returncode == 125 and "--pre" in r.stderr and says in r.stderr and not os.path.exists("ran"),
             "%s --pre %s: 125, the program is not started" % (verb, pre), r.stderr)
r = run("stat", "-e", "task-clock", "--post", "false", "--", "sh", "-c", "exit 3")
t.ok(r.returncode == 125 and "exit 3" in r.stderr and "--post" in r.stderr, "--post that fails: told behind the result", r.stderr)
r = run("stat", "-e", "task-clock", "--post", "true", "--warmup", "1", "--", "sh", "-c", "exit 3")
t.equal(r.returncode, 3, "the program's own end is kept")
t.equal(run("stat", "-e", "task-clock", "--warmup", "1", "--", "no-such-program").returncode, 127, "a program that is not there: 127")
r = run("stat", "-e", "task-clock", "--warmup", "1", "-a", "--for", "10ms")
t.ok(r.returncode == 2 and "go with a program" in r.stderr, "without a program they are refused", r.stderr)

# ---- an interrupt while warming up ends all of it
p = subprocess.Popen([CYCLADE, "stat", "-e", "task-clock", "--warmup", "1000", "--", "sh", "-c", "echo x >>log; sleep 0.2"],
                     stderr=subprocess.PIPE, text=True)
wait_for(lambda: os.path.getsize("log"))
p.send_signal(signal.SIGINT)
err = p.communicate(timeout=600)[1]
t.ok(p.returncode == 125 and "interrupted" in err and 1 <= len(lines()) < 20, "an interrupt ends the warming up", err)

# ---- -u
if os.geteuid() == 0 and shutil.which("setpriv"):
    user = "54321"
    kid = subprocess.Popen(["setpriv", "--reuid=" + user, "--clear-groups", "sh", "-c", "while :; do :; done"])
    wait_for(lambda: os.stat("/proc/%d" % kid.pid).st_uid == int(user))
    try:
        p, doc = counts("-e", "task-clock", "-u", user, "--for", "500ms")
        ms = doc["counts"][0]["value"] / 1e6
        # its share may be small where others want the CPU, too
        t.ok(0 < ms < 1010 * doc["seconds"], "-u USER: what that user runs, %.0f ms of 500" % ms, (doc["seconds"], p.stderr))
        t.ok("user 54321, 1 thread" in doc["target"] or "54321" in doc["target"], "and it says whose", doc["target"])
        r = run("record", "-u", user, "-o", "u.data", "--for", "300ms")
        rows = list(csv.DictReader(run("report", "-i", "u.data", "-s", "pid", "-x", ",").stdout.splitlines()))
        pids = {x["pid"] for x in rows if x.get("pid")}
        t.ok(r.returncode == 0 and pids == {str(kid.pid)}, "record -u: nobody else", (pids, kid.pid))
    finally:
        kid.kill()
        kid.wait()
    r = run("stat", "-e", "task-clock", "-u", user, "--for", "100ms")
    t.ok(r.returncode == 2 and "runs nothing" in r.stderr, "a user who runs nothing: told", r.stderr)
else:
    t.skip("-u", "root and setpriv are needed to run as somebody else")
r = run("stat", "-e", "task-clock", "-u", "no such user", "--for", "100ms")
t.ok(r.returncode == 2 and "no user" in r.stderr, "a user that is not there: told", r.stderr)
r = run("stat", "-e", "task-clock", "-u", "0", "--", "true")
t.ok(r.returncode == 125 and "-u" in r.stderr, "-u and a program: refused", r.stderr)

# ---- --cpu: numbers are CPUs, a name is a model
with open("counts", "w", encoding="utf-8") as f:
    f.write("1000000,,CPU_CLK_UNHALTED.THREAD,1000,100.00,,\n1200000,,IDQ_UOPS_NOT_DELIVERED.CORE,1000,100.00,,\n")
same = [run("stat", "--import", "counts", "-x", ",", *o, "--smt", "off", "-j").stdout for o in
        [("--model", "ivb"), ("--cpu", "ivb"), ("--cpu=ivb",), ("-C", "ivb"), ("--cpu", "ivb", "--model", "ivb")]]
t.ok(same[0] and len(set(same)) == 1, "--cpu MODEL is --model MODEL", same)
t.ok('"ivb"' in same[0], "and it is that model", same[0][:300])
r = run("stat", "--import", "counts", "--cpu", "nonsense")
t.ok(r.returncode == 2 and "nonsense" in r.stderr, "a model that is not there is named", r.stderr)
r = run("stat", "--import", "counts", "--cpu", "ivb", "--model", "spr")
t.ok(r.returncode == 2 and "two models" in r.stderr, "two models: refused", r.stderr)
r = run("stat", "-e", "task-clock", "--cpu", "0", "--for", "50ms")
if WHOLE_CPUS:
    t.ok(r.returncode == 0 and "CPUs 0" in r.stdout, "--cpu 0 is a CPU", r.stderr)
else:
    t.ok(r.returncode == 2 and "whole CPUs need root" in r.stderr, "--cpu 0 is a CPU", r.stderr)
r = run("stat", "-e", "task-clock", "--cpu", "0x", "--for", "50ms")
t.ok(r.returncode == 2 and "0x" in r.stderr, "what is neither is refused", r.stderr)
os.chdir("/")
shutil.rmtree(tmp)
t.done()
