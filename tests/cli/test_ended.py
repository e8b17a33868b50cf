#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How a recording ended, told by every command in every format; and no verdict on half a run. Files of each state are made
by changing the block behind the header, whose layout is written down here a second time; live recorders are stopped and killed."""
import csv
import fcntl
import gzip
import io
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, Tap, run, wait_for  # noqa: E402

t = Tap()
resource.setrlimit(resource.RLIMIT_CPU, (900, 900))  # a program that is left behind, because this ends early, does not spin for ever
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-ended-"))
os.chdir(tmp)
AT, SIZE = 104, 64
UNTOLD, AT_WORK, FINISHED, STOPPED, FULL = range(5)
PROGRAM, LOCKED = 1, 2
LOOP = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done"
BUSY = ["sh", "-c", LOOP % 60000]
FOREVER = ["sh", "-c", "echo >began; while :; do :; done"]


def record(name, *options, program=()):
    return run("record", "-q", "-e", "cpu-clock", "-F", "2000", *options, "-o", name, "--", *(program or BUSY))


def end():
    os.chdir("/")
    shutil.rmtree(tmp)
    t.done()


r = record("whole.data")
if r.returncode:
    t.skip("recordings", "no event can be opened here: %s" % r.stderr.strip().splitlines()[-1:])
    end()
record("packed.data", "-z")


def block(data):
    magic, size, state, number, flags, whole = struct.unpack_from("<8sIIIIQ", data, AT)
    return magic, size, state, number, flags, whole


def changed(name, to, state, number=0, flags=LOCKED, cut=None):
    with open(name, "rb") as f:
        data = bytearray(f.read())
    struct.pack_into("<III", data, AT + 12, state, number, flags)
    with open(to, "wb") as f:
        f.write(data[:cut])


with open("whole.data", "rb") as f:
    whole = f.read()
t.equal(block(whole), (b"CYCLADE\1", SIZE, FINISHED, 0, LOCKED | PROGRAM, len(whole)), "the block of a recording that is whole")
changed("whole.data", "killed.data", AT_WORK)
changed("whole.data", "nolock.data", AT_WORK, flags=0)
changed("whole.data", "stopped.data", STOPPED, signal.SIGINT, LOCKED | PROGRAM)
changed("whole.data", "attached.data", STOPPED, signal.SIGTERM)
changed("whole.data", "full.data", FULL, 28)
changed("whole.data", "limit.data", FULL, 27)
changed("whole.data", "odd.data", FULL, 0)
changed("packed.data", "packed-killed.data", AT_WORK)
changed("whole.data", "cut-end.data", FINISHED, cut=-1)
changed("whole.data", "cut-half.data", FINISHED, cut=len(whole) // 2)
STATES = {  # file: the word, words of the sentence, does it go to its end?
    "whole.data": ("finished", "finished", True), "packed.data": ("finished", "finished", True),
    "killed.data": ("killed", "the recorder was killed, or this is a copy from before its end", False),
    "packed-killed.data": ("killed", "the recorder was killed, or this is a copy", False),
    "nolock.data": ("unfinished", "the recorder was killed, or is still at work", False),
    "stopped.data": ("stopped", "stopped by SIGINT before the program ended", False),
    "attached.data": ("stopped", "stopped by SIGTERM", True), "full.data": ("disk full", "No space left on device", False),
    "odd.data": ("disk full", "the file could not be written", False),
    "limit.data": ("disk full", "the limit of a file", False),
    "cut-end.data": ("cut short", "%d of %d bytes are there" % (len(whole) - 1, len(whole)), False),
    "cut-half.data": ("cut short", "%d of %d bytes are there" % (len(whole) // 2, len(whole)), False),
}
COMMANDS = [
    ["report", "FILE"], ["report", "-j", "FILE"], ["report", "--format", "csv", "FILE"], ["report", "--format", "markdown", "FILE"],
    ["report", "--html", "OUT", "FILE"], ["report", "--format", "html", "FILE"], ["report", "-s", "comm", "FILE"], ["info", "FILE"],
    ["info", "-j", "FILE"], ["diff", "whole.data", "FILE"], ["diff", "-j", "FILE", "whole.data"],
    ["diff", "--format", "csv", "whole.data", "FILE"], ["sum", "whole.data", "FILE"], ["sum", "-j", "FILE", "whole.data"],
    ["sql", "FILE", "select 1"], ["sql", "--format", "csv", "FILE", "select ended_how from losses"],
    ["export", "--pprof", "-o", "OUT", "FILE"], ["export", "--firefox", "-o", "OUT", "FILE"], ["export", "--folded", "-o", "OUT", "FILE"],
    ["export", "--perfetto", "-o", "OUT", "FILE"],
    ["export", "--folded", "-o", "OUT", "whole.data", "FILE"], ["export", "--autofdo", "--text", "-o", "OUT", "FILE"],
    ["export", "--autofdo", "-o", "OUT", "FILE"], ["export", "--bolt", "-o", "OUT", "FILE"], ["export", "--propeller", "-o", "OUT", "FILE"],
    ["export", "--symbol-order", "-o", "OUT", "FILE"],
]


def said(command, name):
    r = run(*["out" if word == "OUT" else name if word == "FILE" else word for word in command])
    text = r.stdout + r.stderr
    if command[1] == "--html":
        with open("out", encoding="utf-8") as f:
            text += f.read()
    return r, " ".join(text.split())


for name in STATES:
    word, text, full = STATES[name]
    missing = []
    for command in COMMANDS if not full else []:
        r, out = said(command, name)
        if text not in out:
            missing.append((command, r.returncode, out[-300:]))
    t.equal(missing, [], "%s: told by each command" % name)
    losses = json.loads(run("info", "-j", name).stdout)["losses"]
    t.equal((losses["ended"], text in losses["ended_how"], losses["partial"]), (word, True, 0 if full else 1), "%s: as data" % name)
    r = run("sql", "--format", "csv", name, "select partial, ended from losses")
    t.equal(list(csv.reader(io.StringIO(r.stdout)))[1:], [["0" if full else "1", word]], "%s: in SQL" % name)
    gate = run("diff", "--fail-if", "cpu-clock > +1000%", "whole.data", name)
    t.equal((gate.returncode, "no verdict" in gate.stdout), (0, False) if full else (2, True), "%s: the verdict" % name)
    gate = run("diff", "--allow-partial", "--fail-if", "cpu-clock > +1000%", "whole.data", name)
    t.equal((gate.returncode, "no verdict" in gate.stdout), (0, False), "%s: with --allow-partial" % name)

# ---- in the file itself, where that has a place for it; and once, not in each row
run("export", "--pprof", "-o", "out.gz", "killed.data")
with gzip.open("out.gz") as f:
    t.ok(b"does not go to its end: the recorder was killed" in f.read(), "a comment of pprof's")
run("export", "--firefox", "-o", "out.json", "killed.data")
with open("out.json", encoding="utf-8") as f:
    extra = json.load(f)["meta"].get("extra", [])
t.ok([e["value"] for section in extra for e in section["entries"]] == [STATES["killed.data"][1]], "... of Firefox' profile", extra)
r = run("diff", "whole.data", "killed.data")
t.ok(r.stdout.count("--allow-partial") == 1 and r.stdout.startswith(" no verdict: a recording is incomplete"), "diff says so once", r.stdout)

# ---- cut anywhere: never whole, and never more samples than there are
count = int(run("sql", "--format", "csv", "whole.data", "select count(*) from samples").stdout.split()[1])
wrong = []
for length in range(0, len(whole), max(1, len(whole) // 25)):
    with open("cut.data", "wb") as f:
        f.write(whole[:length])
    r = run("sql", "--format", "csv", "cut.data", "select (select count(*) from samples), partial from losses")
    rows = list(csv.reader(io.StringIO(r.stdout)))
    if r.returncode == 0 and (len(rows) != 2 or int(rows[1][0]) > count or rows[1][1] != "1"):
        wrong.append((length, r.stdout, r.stderr))
t.equal(wrong, [], "cut at 25 lengths")

# ---- whoever is at work holds a lock
changed("whole.data", "work.data", AT_WORK)
with open("work.data", "r+b") as f:
    fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
    t.ok("the recorder is still at work" in " ".join(run("report", "work.data").stdout.split()), "a recorder that is at work")
t.ok("the recorder was killed" in " ".join(run("report", "work.data").stdout.split()), "the same when it is gone")


# ---- live recorders
def start(name, *options, program=()):
    for f in ("began", name):
        if os.path.exists(f):
            os.unlink(f)
    p = subprocess.Popen([CYCLADE, "record", "-q", "-e", "cpu-clock", *options, "-o", name, "--", *(program or FOREVER)],
                         start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(name) and os.path.getsize(name) > 4096)
    return p


def ended(name):
    return json.loads(run("info", "-j", name).stdout)["losses"]["ended"]


def finish(p):
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait(600)


for number, word in ((signal.SIGINT, "stopped"), (signal.SIGTERM, "stopped"), (signal.SIGKILL, "killed")):
    for options in ([], ["-z"]):
        p = start("live.data", *options)
        t.equal(ended("live.data"), "at work", "while it records %s" % " ".join(options))
        p.send_signal(number)
        p.wait(600)
        t.equal(ended("live.data"), word, "after signal %d %s" % (number, " ".join(options)))
        finish(p)
p = start("named.data")
os.rename("named.data", "moved.data")
p.send_signal(signal.SIGINT)
t.equal((p.wait(600), ended("moved.data")), (125, "stopped"), "a file that is renamed while it is written is whole, and says so")
finish(p)
with open("go", "w", encoding="ascii"):
    pass
for options in ([], ["-z"]):
    p = start("named.data", *options, program=["sh", "-c", "while [ -e go ]; do :; done"])
    os.rename("named.data", "moved.data")
    os.unlink("go")
    r = p.wait(600), json.loads(run("info", "-j", "moved.data").stdout)["losses"]
    t.equal((r[0], r[1]["ended"], r[1]["partial"]), (125, "finished", 0), "... finished, when its program did %s" % " ".join(options))
    with open("go", "w", encoding="ascii"):
        pass
p = start("gone.data")
os.unlink("gone.data")
p.send_signal(signal.SIGINT)
t.ok(p.wait(600) == 125 and not os.path.exists("gone.data"), "a file that is removed while it is written is an error")
finish(p)
p = start("other.data")
os.rename("other.data", "moved.data")
with open("other.data", "w", encoding="ascii") as f:
    f.write("somebody's")
p.send_signal(signal.SIGINT)
t.ok(p.wait(600) == 125 and open("other.data", encoding="ascii").read() == "somebody's", "a file that is replaced, too")
finish(p)

# ---- a program that handles the signal, or leaves others behind: the copy of sh works for as long as `go` is there, and then as
# much as is sampled for sure
shutil.copy(shutil.which("sh"), "later")
WORK = "./later -c '%s; echo >worked; while [ -e go ]; do :; done; %s'" % (LOOP % 1000, LOOP % 60000)

LEAVES = WORK + " >/dev/null 2>&1 & while [ ! -e worked ]; do :; done; echo $$ >pid; exit 3"


def comms(name):
    return {row["comm"] for row in json.loads(run("report", "-j", "-s", "comm", name).stdout)["rows"]}


def told(name):
    losses = json.loads(run("info", "-j", name).stdout)["losses"]
    return losses["ended"], losses["partial"], losses["ended_how"]


def program_gone():
    return os.path.exists("pid") and not os.path.exists("/proc/" + open("pid", encoding="ascii").read().strip())


def with_go(name, script, *options, number=0, verb="record"):
    with open("go", "w", encoding="ascii"):
        pass
    for f in ("began", "worked", "pid", name):
        if os.path.exists(f):
            os.unlink(f)
    p = subprocess.Popen([CYCLADE, verb, "-e", "cpu-clock", *options, "-o" if verb == "record" else "--data", name, "--", "sh", "-c", script],
                         start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for(lambda: os.path.exists("began") or os.path.exists("worked"))
    if number:
        p.send_signal(number)
        wait_for(lambda: os.path.exists("worked"))
    return p


for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
    p = with_go("handled.data", "trap '%s; exit 7' %s; echo >began; while :; do :; done" % (WORK.replace("'", '"'), name[3:]), number=number)
    os.unlink("go")
    out = p.communicate()[0]
    t.equal((p.returncode, told("handled.data"), "later" in comms("handled.data")),
            (7, ("finished", 0, "finished: the program ended by itself, after %s" % name), True),
            "%s that the program handles: it is measured to its end" % name)
p = with_go("handled.data", "trap '%s; exit 7' INT; echo >began; while :; do :; done" % WORK.replace("'", '"'), number=signal.SIGINT, verb="run")
os.unlink("go")
out = p.communicate()[0]
t.ok(p.returncode == 7 and ", exit 7, interrupted\n" in out and "later" in comms("handled.data"), "run, too, and says so", out)
r = run("record", "-e", "cpu-clock", "-o", "handled.data", "--", "sh", "-c", "trap '' INT; kill -INT $PPID; %s; exit 130" % (LOOP % 60000))
t.equal((r.returncode, told("handled.data")[:2]), (130, ("stopped", 1)), "128 + signal is the exit of a program that the signal ended")

p = with_go("left.data", LEAVES)
out = p.communicate()[0]
os.unlink("go")
t.ok(p.returncode == 3 and "processes that the program has started go on" in out and "--follow waits for them" in out, "a process that outlives it", out)
t.equal(told("left.data"), ("finished", 0, "finished; processes that it had started went on"), "... as the recording has it")
for verb in ("record", "run"):
    p = with_go("left.data", LEAVES, "--follow", verb=verb)
    os.unlink("go")
    out = p.communicate()[0]
    t.equal((p.returncode, told("left.data"), "go on" in out, "later" in comms("left.data")), (3, ("finished", 0, "finished"), False, True),
            "%s --follow" % verb)
p = with_go("left.data", LEAVES, "--follow")
wait_for(program_gone)
p.send_signal(signal.SIGINT)
out = p.communicate()[0]
os.unlink("go")
t.ok(p.returncode == 3 and "processes that the program has started go on, and are not measured any more\n" in out, "... until a Ctrl-C", out)
t.equal(told("left.data"), ("finished", 0, "finished; processes that it had started went on"), "... which came after the program")
if run("record", "-a", "-e", "cpu-clock", "-o", "all.data", "--", "true").returncode:
    t.skip("record -a --follow", "whole CPUs cannot be recorded here")
else:
    p = with_go("left.data", LEAVES, "-a", "--follow")
    wait_for(program_gone)
    time.sleep(0.5)
    alive = p.poll() is None
    os.unlink("go")
    out = p.communicate()[0]
    t.equal((p.returncode, alive, told("left.data")), (3, True, ("finished", 0, "finished")), "record -a --follow")
r = run("stat", "-j", "-o", "stat.json", "-e", "task-clock", "--follow", "--", "sh", "-c", "(%s) & exit 3" % (LOOP % 60000))
with open("stat.json", encoding="utf-8") as f:
    doc = json.load(f)
t.ok(r.returncode == 3 and doc["outlived"] is False and doc["seconds"] > doc["user_seconds"] + doc["system_seconds"], "stat --follow", doc)
for words in (["--follow", "-p", "1"], ["--follow", "--no-inherit", "--", "true"]):
    r = run("record", *words)
    t.ok(r.returncode in (125, 2) and "--follow goes with a program" in r.stderr, "record %s" % " ".join(words), r.stderr)

# ---- perf's
if not PERF:
    t.skip("perf's unfinished recordings", "there is no perf")
else:
    p = subprocess.Popen([PERF, "record", "-q", "-e", "cpu-clock", "-o", "perf.data", "--", *FOREVER], start_new_session=True,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: p.poll() is not None or (os.path.exists("perf.data") and os.path.getsize("perf.data") > 4096))
    finally:
        finish(p)
    if os.path.exists("perf.data") and os.path.getsize("perf.data") > 4096:
        out = " ".join(run("report", "perf.data").stdout.split())
        t.ok("unfinished: the recorder was killed, or is still at work" in out, "perf's, killed", out)
    else:
        t.skip("perf's unfinished recordings", "perf wrote nothing")
end()
