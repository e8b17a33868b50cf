#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ended states, each of every kind of recording and read by every command; and outputs of commands that are killed, have no memory or no
room: the old file whole or the new one whole, and nothing beside it. A few moments, lengths and limits of each; CYCLADE_LONG=1 takes 200
kills of each kind's recorder, 300 lengths of each kind, and 50 kills and limits of each command. CYCLADE_SEED chooses others, CYCLADE_KINDS
some parts (`heap,run,outputs`)."""
import collections
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, SANITIZED, Tap, run, wait_for  # noqa: E402

t = Tap()
resource.setrlimit(resource.RLIMIT_CPU, (900, 900))  # a program that is left behind, because this ends early, does not spin for ever
LONG = bool(os.environ.get("CYCLADE_LONG"))
SEED = int(os.environ.get("CYCLADE_SEED", "1"))
rng = random.Random(SEED)
KILLS, LENGTHS, EACH = (200, 300, 50) if LONG else (3, 6, 2)
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-matrix-"))
os.chdir(tmp)
KINDS = {
    "plain": ("record", []), "packed": ("record", ["-z"]), "dwarf": ("record", ["-g=dwarf", "--stack-size", "1024"]),
    "heap": ("record", ["--heap"]), "wait": ("record", ["--wait"]), "run": ("run", []),
}
PARTS = os.environ.get("CYCLADE_KINDS", ",".join([*KINDS, "outputs"])).split(",")
WORK = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"
HOG = """
import os, sys
with open(sys.argv[1] + "/cgroup.procs", "w") as f:
    f.write(str(os.getpid()))
def state():
    with open("/proc/%s/stat" % sys.argv[2]) as f:
        return f.read().rsplit(")", 1)[1].split()[0]
fd = os.memfd_create("hog")  # of nobody's own size, by which the kernel chooses
while state() != "Z":
    if os.lseek(fd, 0, os.SEEK_CUR) > 400 << 20:
        sys.exit("no limit")
    os.write(fd, b"x" * (1 << 20))
"""
LONGER = WORK.replace("40000", "600000")
COMMANDS = [
    ["report", "FILE"], ["report", "-g", "FILE"], ["report", "-j", "FILE"], ["report", "--format", "csv", "FILE"], ["report", "--format", "html", "FILE"],
    ["report", "--html", "OUT", "FILE"], ["annotate", "--format", "csv", "-i", "FILE", "SYMBOL"], ["info", "FILE"], ["info", "-j", "FILE"],
    ["diff", "whole.data", "FILE"], ["diff", "-j", "FILE", "whole.data"], ["sum", "whole.data", "FILE"], ["sum", "-j", "FILE", "whole.data"],
    ["sql", "FILE", "select 1"], ["sql", "--format", "csv", "FILE", "select ended_how from losses"], ["export", "--pprof", "-o", "OUT", "FILE"],
    ["export", "--firefox", "-o", "OUT", "FILE"], ["export", "--folded", "-o", "OUT", "FILE"], ["export", "--autofdo", "-o", "OUT", "FILE"],
    ["export", "--bolt", "-o", "OUT", "FILE"], ["export", "--propeller", "-o", "OUT", "FILE"], ["export", "--symbol-order", "-o", "OUT", "FILE"],
]


def end():
    unmount()
    os.chdir("/")
    shutil.rmtree(tmp)
    t.done()


def words(kind, name, program):
    verb, options = KINDS[kind]
    return [verb, "-q", "-e", "cpu-clock", "-F", "2000", *options, "-o" if verb == "record" else "--data", name, "--", "sh", "-c", program]


def losses(name):
    doc = json.loads(run("info", "-j", name).stdout or "{}")
    return doc.get("losses", {}), sum(x["count"] for x in doc.get("records", []) if x["record"] == "SAMPLE")


def untold(name, how, commands):
    """Those of the commands that do not say it, but have figures. For what a recording lacks (chains, a function, branches) there are none."""
    found = []
    for command in commands:
        r = run(*[{"OUT": "out", "FILE": name, "SYMBOL": symbol}.get(w, w) for w in command])
        text = r.stdout + r.stderr
        if command[1] == "--html" and r.returncode == 0:
            with open("out", encoding="utf-8") as f:
                text += f.read()
        refused = r.returncode == 2 and not r.stdout and r.stderr
        if r.returncode < 0 or not (refused or how in " ".join(text.split())):
            found.append((command, r.returncode, text[-200:]))
    return found


def start(kind, name):
    for f in (name, name + ".old"):
        if os.path.exists(f):
            os.unlink(f)
    with open("go", "w", encoding="ascii"):
        pass
    return subprocess.Popen([CYCLADE, *words(kind, name, "while [ -e go ]; do :; done")], start_new_session=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(p):
    """The program goes on without its recorder."""
    if os.path.exists("go"):
        os.unlink("go")
    p.wait(600)
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def sampled(name):
    """Until it has a sample."""
    wait_for(lambda: os.path.exists(name) and losses(name)[1] > 0)


def phases(kind):
    """How long a recorder takes here to its first sample, is left at work, and takes from its program's end to its own."""
    began = time.monotonic()
    p = start(kind, "x.data")
    wait_for(lambda: os.path.exists("x.data"))
    first = time.monotonic() - began
    sampled("x.data")
    began = time.monotonic()
    os.unlink("go")
    p.wait(600)
    return 1.3 * first, 0.3, time.monotonic() - began


def some(n):
    return COMMANDS if LONG and n > 1 else [next(turn) for _ in range(n)]


def swept(kind):
    """The next start takes away what a killed one left."""
    if kind == "heap":
        time.sleep(6)  # directories that young are not swept
        run(*words(kind, "x.data", WORK))
    t.equal(strangers("x.data", "x.data.old"), [], "%s: nothing beside them" % kind)


def mount(size):
    """A disk of this size, at `small`."""
    os.makedirs("small", exist_ok=True)
    return os.geteuid() == 0 and not subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "none", os.path.join(tmp, "small")],
                                                    capture_output=True, check=False).returncode


def unmount():
    if os.path.ismount("small"):
        subprocess.run(["umount", os.path.join(tmp, "small")], check=False)


def no_room(path, size):
    """None: nothing can be mounted here."""
    limits = {}
    if os.path.dirname(path):
        unmount()
        if not mount(size):
            return None
    else:
        limits["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if os.path.exists(path):
        os.unlink(path)
    return run(*words(kind, path, LONGER), **limits)


def control(path, text):
    with open(path, "r+", encoding="ascii") as f:
        f.write(text)


def out_of_memory(kind):
    """A recorder at work in a control group without memory left, where the kernel ends it first: what is missing for that, or None."""
    for root, most, swap in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.swappiness"), ("/sys/fs/cgroup", "memory.max", "memory.swap.max")):
        group = os.path.join(root, "cyclade-test-%d" % os.getpid())
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            control(os.path.join(group, most), str(96 << 20))
            if os.path.exists(os.path.join(group, swap)):
                control(os.path.join(group, swap), "0")
            return want_memory(kind, group)
        except OSError:
            pass
        finally:
            wait_for(lambda group=group: os.rmdir(group) is None)
    return "no control group for memory can be made here"


def want_memory(kind, group):
    """The recorder is the one to be chosen; whoever takes the memory ends with it."""
    p = start(kind, "x.data")
    sampled("x.data")
    try:
        control("/proc/%d/oom_score_adj" % p.pid, "1000")
        control(os.path.join(group, "cgroup.procs"), str(p.pid))
        hog = subprocess.run([sys.executable, "-c", HOG, group, str(p.pid)], capture_output=True, text=True, timeout=600, check=False)
        wait_for(lambda: p.poll() is not None, 10 if hog.returncode else 600)  # it may itself be the next to be ended
        return None if p.poll() == -signal.SIGKILL else "the kernel did not choose the recorder: %s" % (hog.stderr.strip().splitlines() or ["?"])[-1]
    finally:
        if p.poll() is None:
            p.kill()
        finish(p)


def strangers(*ours):
    return [f for f in os.listdir(".") if f not in ours and not f.startswith(("whole", "out", "go", "kind-", "small"))]


if run(*words("plain", "whole.data", WORK)).returncode:
    t.skip("recordings", "no event can be opened here")
    end()
rows = json.loads(run("report", "-j", "whole.data").stdout)["rows"]
symbol = next((row["function"] for row in rows if "+0x" not in (row.get("function") or "+0x")), "main")
turn = itertools.cycle(COMMANDS)  # of many files each is read by some, and so by all of them together
for kind in [k for k in KINDS if k in PARTS]:
    name = "kind-%s.data" % kind
    r = run(*words(kind, name, WORK))
    end_, samples = losses(name)
    t.equal((r.returncode, end_.get("ended"), end_.get("partial")), (0, "finished", 0), "%s: finished" % kind)

    # ---- signals
    for number, word in ((signal.SIGINT, "stopped"), (signal.SIGTERM, "stopped")):
        p = start(kind, "x.data")
        sampled("x.data")
        if number == signal.SIGINT:
            how = losses("x.data")[0]
            missing = untold("x.data", "the recorder is still at work", some(4))
            t.equal((how["ended"], missing), ("at work", []), "%s: at work" % kind)
        p.send_signal(number)
        p.wait(600)
        finish(p)
        how = losses("x.data")[0]
        missing = untold("x.data", how.get("ended_how", "?"), some(4))
        t.equal((how.get("ended"), how.get("partial"), missing), (word, 1, []), "%s: signal %d" % (kind, number))

    # ---- killed: a third of the moments each before the first sample, at work, and after the program's end
    lasts = phases(kind)
    wrong, found = [], collections.Counter()
    for i in range(KILLS):
        p, phase = start(kind, "x.data"), i % 3
        moment = rng.random() * lasts[phase]
        if phase:
            sampled("x.data")
        if phase == 2:
            os.unlink("go")
        time.sleep(moment)
        p.kill()
        finish(p)
        if not os.path.exists("x.data"):  # it had no sample yet
            found["no file"] += 1
            continue
        how, n = losses("x.data")
        found[how.get("ended")] += 1
        if how.get("ended") == "finished":  # all of it was there before the kill: `run` then still shows it
            doc = json.loads(run("info", "-j", "x.data").stdout)
            if phase < 2 or how["partial"] or not doc["build_ids"] or not doc["recording"]["host"]:
                wrong.append((i, moment, how, n, doc["recording"]))
            continue
        missing = untold("x.data", "the recorder was killed", COMMANDS if i == 1 else some(1))
        if (how.get("ended"), how.get("partial")) != ("killed", 1) or missing:
            wrong.append((i, moment, how, n, missing))
    t.equal(wrong, [], "%s: killed at %d moments of %s s: %s" % (kind, KILLS, " + ".join("%.2f" % x for x in lasts), dict(found)))

    # ---- killed for want of memory
    why = out_of_memory(kind)
    if why:
        t.skip("%s: killed by the kernel for want of memory" % kind, why)
    else:
        how = losses("x.data")[0]
        missing = untold("x.data", "the recorder was killed", some(4))
        t.equal((how.get("ended"), how.get("partial"), missing), ("killed", 1, []), "%s: killed by the kernel for want of memory" % kind)
    swept(kind)

    # ---- the limit of a file's size, a disk
    for what, path in (("the limit of a file", "x.data"), ("No space left on device", "small/x.data")):
        for n in range(18):  # too little for the header, or the logs: no file
            r = no_room(path, int(16000 * 1.5 ** n))
            if not r or r.returncode == 0 or os.path.exists(path):
                break
        if not r:
            t.skip("%s: no room on the disk" % kind, "nothing may be mounted here")
        elif r.returncode:
            how, n = losses(path)
            missing = untold(path, what, some(2))
            t.equal((r.returncode, how.get("ended"), how.get("partial"), missing), (125, "disk full", 1, []), "%s: no room for %s" % (kind, path))
        else:
            t.skip("%s: no room for %s" % (kind, path), "all of it had room")
    unmount()

    # ---- cut
    with open(name, "rb") as f:
        whole = f.read()
    wrong, told = [], 0
    for i in range(LENGTHS):
        length = int(len(whole) * (i + rng.random()) / LENGTHS)
        with open("x.data", "wb") as f:
            f.write(whole[:length])
        how, n = losses("x.data")
        if not how:  # no recording at all: an error, by every command
            r = run(*[{"FILE": "x.data", "OUT": "out", "SYMBOL": symbol}.get(w, w) for w in next(turn)])
            if r.returncode not in (2, 125) or not r.stderr:
                wrong.append((length, r.returncode, r.stderr))
            continue
        told += 1
        missing = untold("x.data", how["ended_how"], some(1))
        if n > samples or how["partial"] != 1 or missing:
            wrong.append((length, how, n, samples, missing))
    t.equal(wrong, [], "%s: cut at %d lengths, %d of them recordings" % (kind, LENGTHS, told))

# ---- outputs
OUTPUTS = [
    ["report", "-j", "-o", "OUT", "whole.data"], ["report", "--format", "csv", "-o", "OUT", "whole.data"], ["report", "--html", "OUT", "whole.data"],
    ["annotate", "--format", "html", "-o", "OUT", "-i", "whole.data", symbol], ["info", "-j", "-o", "OUT", "whole.data"], ["diff", "-j", "-o", "OUT", "whole.data", "whole.data"],
    ["sum", "-j", "-o", "OUT", "whole.data", "whole.data"], ["export", "--pprof", "-o", "OUT", "whole.data"], ["export", "--firefox", "-o", "OUT", "whole.data"],
    ["export", "--folded", "-o", "OUT", "whole.data"], ["sql", "-o", "OUT", "whole.data", "select * from samples"],
    ["stat", "-q", "-e", "task-clock", "-o", "OUT", "--", "true"],
]
OLD = b"what was there before\n" * 100
os.mkdir("dir")


def write(command, how=None, **more):
    """With an older file in its place: what is there afterwards, what lies beside it, how it ended."""
    with open("dir/out", "wb") as f:
        f.write(OLD)
    p = subprocess.Popen([CYCLADE, *[("dir/out" if w == "OUT" else w) for w in command]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
    if how is not None:
        time.sleep(how)
        p.kill()
    err = p.communicate()[1]
    with open("dir/out", "rb") as f:
        data = f.read()
    beside = [f for f in os.listdir("dir") if f != "out"]
    for f in beside:
        os.unlink("dir/" + f)
    return data, beside, p.returncode, err


def limit(what, size):
    return lambda: resource.setrlimit(what, (size, size))


for command in OUTPUTS if "outputs" in PARTS else []:
    began = time.monotonic()
    new, beside, code, err = write(command)
    took = time.monotonic() - began
    what = " ".join(command[:3])
    if code:
        t.skip(what, "it does not work here: %s" % err.decode(errors="replace"))
        continue
    steady = write(command)[0] == new  # figures and dates of its own it may have
    wrong = []
    moments = [("killed", {"how": took * (i + rng.random()) / EACH}) for i in range(EACH)]
    memory = [] if SANITIZED else [("memory", {"preexec_fn": limit(resource.RLIMIT_AS, int((8 << 20) * 1.1 ** (40 * (i + rng.random()) / EACH)))}) for i in range(EACH)]
    room = [("room", {"preexec_fn": limit(resource.RLIMIT_FSIZE, int(len(new) * (i + rng.random()) / EACH))}) for i in range(EACH)]
    for kind, more in moments + memory + room:
        data, beside, code, err = write(command, **more)
        whole = data == new if steady else data.count(b"\n") == new.count(b"\n") and data[-1:] == new[-1:]
        if kind == "killed" and len(beside) == 1 and re.fullmatch(r"out\.[a-z0-9]{6}", beside[0]) and data == OLD:
            beside = []  # between its first name and the final one: no system call replaces a file by one without a name
        if beside or not (data == OLD or whole) or (kind != "killed" and ((code == 0 and data == OLD) or (code and not err) or (code and data != OLD))):
            wrong.append((kind, code, beside, len(data), len(new), err[-200:]))
    t.equal(wrong, [], "%s: whole or not at all, %d times" % (what, 3 * EACH))
end()
