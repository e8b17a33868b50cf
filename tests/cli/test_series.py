#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record in several files, and of the latest records alone: each file is a recording of its own, with the names that a whole one of
the same time has; the bound of the disk holds at every look; SIGKILL leaves what was there; a snapshot has the last second. CYCLADE_LONG=1: ten
minutes at 999 Hz in 50 MB."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, PROGS, Tap, run, wait_for  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-series-")
os.chdir(tmp)
probe = run("record", "-q", "-o", "probe.data", "--", "true")
if probe.returncode:
    t.skip("record --switch-output", "no event can be opened here: %s" % probe.stderr.strip().splitlines()[-1:])
    t.done()
os.remove("probe.data")
BUSY = [os.path.join(PROGS, "prog_recurse"), "3", "100000000"]
STAMPED = re.compile(r"^\w+\.data\.\d{16}$")


def size_of(path):
    """0: it has another name by now, or is gone."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def files(name):
    return sorted(x for x in os.listdir(".") if x.startswith(name + ".") and STAMPED.match(x))


def names(path, *words):
    """(function, file) -> samples"""
    p = run("report", "-j", "-i", path, "--limit", "1000", *words)
    try:
        return {(r["function"], r["dso"]): r["samples"] for r in json.loads(p.stdout)["rows"]}
    except (ValueError, KeyError):
        return {}


def times(path):
    """Of its first and last sample."""
    p = run("sql", "-j", path, "SELECT min(time) AS first, max(time) AS last, count(*) AS n FROM samples")
    try:
        r = json.loads(p.stdout)["rows"][0]
        return r["first"], r["last"], r["n"]
    except (ValueError, KeyError, IndexError):
        return None, None, 0


def start(*words):
    return subprocess.Popen([CYCLADE, "record", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


busy = subprocess.Popen(BUSY)
try:
    # ---- beside a whole recording of the same time
    whole = start("-o", "whole.data", "-F", "499", "-p", str(busy.pid))
    p = start("-o", "part.data", "-F", "499", "-p", str(busy.pid), "--switch-output=1s")
    there = wait_for(lambda: len(files("part.data")) >= 3)
    for x in (p, whole):
        x.send_signal(signal.SIGINT)
    said = [x.communicate(timeout=600)[1] for x in (p, whole)][0]
    parts = files("part.data")
    t.ok(there and not p.returncode and not os.path.exists("part.data") and parts, "files named by the time; none of the bare name is left", said)
    all_names = names("whole.data")
    t.ok(all(set(names(x)) <= set(all_names) or names(x) for x in parts) and
         all(any(f == "bottom" and "prog_recurse" in d for f, d in names(x)) for x in parts), "each has the names of the whole one",
         [names(x) for x in parts])
    unnamed = [k for x in parts for k in names(x) if "+0x" in (k[0] or "") and k not in all_names]
    t.ok(len(unnamed) <= 2, "and no address in place of a name that the whole one has", unnamed)
    spans = [times(x) for x in parts]
    t.ok(all(s[2] > 0 for s in spans) and all(a[1] <= b[1] for a, b in zip(spans, spans[1:])), "one after the other", spans)
    n = sum(s[2] for s in spans)
    t.ok(("%d file" % len(parts)) in said and ("{:,} samples in all".format(n)) in said and parts[-1] in said, "the closing lines name them", said)
    for x in parts[:2]:
        p = run("info", "-j", x)
        t.ok(not p.returncode and json.loads(p.stdout), "info of one alone", p.stderr)
    if PERF:
        q = subprocess.run([PERF, "report", "-i", parts[1], "--stdio", "-s", "symbol"], capture_output=True, text=True)
        t.ok(q.returncode == 0 and "bottom" in q.stdout, "perf names them, too", q.stdout[:500] + q.stderr[:500])
    p = run("report", "-i", "part.data", "-j")
    t.ok(not p.returncode and parts[-1] in p.stdout + p.stderr or json.loads(p.stdout)["rows"], "report -i NAME takes the newest", p.stderr)
    os.rename(parts[0], "cyclade.data.2020010100000000")
    os.rename(parts[1], "cyclade.data.2020010100000001")
    p = run("info")
    t.ok("cyclade.data.2020010100000001" in p.stdout, "without a name: the newest here", p.stdout[:300] + p.stderr)
    for x in files("cyclade.data"):
        os.remove(x)

    # ---- the bound of the disk
    p = start("-o", "bound.data", "-F", "20000", "-g=dwarf", "-m", "16", "-p", str(busy.pid), "--switch-output", "--max-size", "1M")
    most, until = 0, time.monotonic() + 600
    while p.poll() is None and time.monotonic() < until:
        most = max(most, sum(size_of(x) for x in os.listdir(".") if x.startswith("bound.data")))
        if len(files("bound.data")) >= 7 and most > 800000 and (until - time.monotonic()) < 598:
            p.send_signal(signal.SIGINT)
            break
        time.sleep(0.01)
    said = p.communicate(timeout=600)[1]
    kept = files("bound.data")
    t.ok(not p.returncode and kept and most <= 1 << 20 and sum(map(os.path.getsize, kept)) <= 1 << 20, "--max-size: never more, at any look", (most, said))
    t.ok(all(names(x) for x in kept), "and each file has samples with names", kept)
    p = run("record", "-o", "one.data", "-F", "20000", "-g=dwarf", "-p", str(busy.pid), "--max-size", "2M", "--for", "5s")
    size = os.path.getsize("one.data")
    t.ok(p.returncode == 0 and size <= 2 << 20 and ("--max-size is reached" in p.stderr or size < 1 << 20), "one file: it ends there, and that is no error", p.stderr)
    t.ok(names("one.data"), "and it is whole", p.stderr)

    # ---- SIGKILL
    p = start("-o", "killed.data", "-F", "499", "-p", str(busy.pid), "--switch-output=1s", "--switch-max-files", "2")
    there = wait_for(lambda: len(files("killed.data")) >= 2 and os.path.exists("killed.data"))
    p.kill()
    p.communicate()
    left = files("killed.data")
    t.ok(there and len(left) == 2, "--switch-max-files: so many are kept", left)
    t.ok(all(times(x)[2] for x in left + ["killed.data"]) and names("killed.data"), "after SIGKILL all can be read, the one being written too",
         [times(x) for x in left + ["killed.data"]])

    # ---- the latest alone
    p = start("-o", "snap.data", "-k", "mono", "-F", "499", "-p", str(busy.pid), "--overwrite=1M")
    wait_for(lambda: p.poll() is not None or "snap" not in "".join(os.listdir(".")) and time.monotonic())
    time.sleep(1.5)
    t.ok(not [x for x in os.listdir(".") if x.startswith("snap")], "--overwrite writes nothing until it is asked", os.listdir("."))
    asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    p.send_signal(signal.SIGUSR2)
    there = wait_for(lambda: p.poll() is not None or files("snap.data"))
    snap = files("snap.data")
    first, last, n = times(snap[0]) if snap else (0, 0, 0)
    t.ok(n > 0 and last > asked - 1000000000, "SIGUSR2: a snapshot has the last second", (asked, first, last, n))
    t.ok(snap and any(f == "bottom" for f, d in names(snap[0])), "with names", snap)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=600)[1]
    t.ok(p.returncode == 0 and len(files("snap.data")) == 2, "the end is one, too", said)

    # ---- --control: descriptors, answers, snapshots
    ours, theirs = os.pipe(), os.pipe()
    p = subprocess.Popen([CYCLADE, "record", "-o", "ctl.data", "-F", "499", "-p", str(busy.pid), "--overwrite", "-D", "-1",
                          "--control", "fd:%d,%d" % (ours[0], theirs[1])], pass_fds=(ours[0], theirs[1]), stderr=subprocess.PIPE, text=True)
    os.close(ours[0])
    os.close(theirs[1])
    answers = os.fdopen(theirs[0], encoding="ascii")
    got = []
    for word in ("ping", "enable", "snapshot"):
        if word == "snapshot":
            time.sleep(1)
        os.write(ours[1], (word + "\n").encode())
        got.append(answers.readline())
    t.equal(got, ["ack\n"] * 3, "--control fd:IN,OUT answers each word")
    t.ok(len(files("ctl.data")) == 1, "the snapshot is there when it is answered", os.listdir("."))
    os.write(ours[1], b"stop\n")
    os.close(ours[1])
    said = p.communicate(timeout=600)[1]
    answers.close()
    t.ok(p.returncode == 0 and names(files("ctl.data")[0]), "and it ends", said)
    p = subprocess.Popen([CYCLADE, "record", "-o", "gone.data", "-p", str(busy.pid), "--for", "1s", "--control", "fd:0"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    t.ok("from 3 on" in p.communicate(timeout=600)[1], "the standard streams are not taken")
    ours = os.pipe()
    p = subprocess.Popen([CYCLADE, "record", "-o", "gone.data", "-p", str(busy.pid), "--for", "1s", "--control", "fd:%d" % ours[0]], pass_fds=(ours[0],), stderr=subprocess.PIPE, text=True)
    os.close(ours[0])
    os.close(ours[1])
    said = p.communicate(timeout=600)[1]
    t.ok(p.returncode == 0, "an end of the pipe is no command, and no end", said)

    # ---- conditions
    p = run("record", "-o", "cond.data", "-F", "499", "-p", str(busy.pid), "--overwrite", "--snapshot-if", "load >= 0", "--for", "2s")
    t.ok(p.returncode == 0 and len(files("cond.data")) == 2, "--snapshot-if: once when it becomes true, and the end", p.stderr)
    p = run("record", "-o", "never.data", "-F", "499", "-p", str(busy.pid), "--overwrite", "--snapshot-if", "forks < 0", "--for", "1s")
    t.ok(p.returncode == 0 and len(files("never.data")) == 1, "and not while it is false", p.stderr)
    for words, what in ((["--snapshot-if", "load > 8"], "--overwrite"), (["--switch-max-files", "3"], "--switch-output"), (["--switch-output=soon"], "=10s"),
                        (["--switch-output=10s", "--max-size", "10K"], "1M"), (["--overwrite", "--snapshot-if", "lod > 8"], "load, "),
                        (["--overwrite", "--snapshot-if", "load > x"], "condition"), (["--switch-output=1s", "--heap", "--", "true"], "one file")):
        p = run("record", "-o", "bad.data", *([] if "--" in words else ["-p", str(busy.pid)]), *words)
        t.ok(p.returncode in (2, 125) and what in p.stderr and not os.path.exists("bad.data"), "refused: " + " ".join(words), p.stderr)

    # ---- a program that is started, packed, and processes that come and go
    p = run("record", "-o", "prog.data", "-z", "-F", "999", "--switch-output=1s", "--", "sh", "-c",
            "%s & B=$!; i=0; while [ $i -lt 300 ]; do true | cat; i=$((i+1)); done; sleep 2; kill $B" % " ".join(BUSY))
    parts = files("prog.data")
    t.ok(p.returncode == 0 and len(parts) >= 2, "a program: its end ends the series", p.stderr)
    # of the one that runs all the time (it executes /proc/self/exe): a mapping of others may be in the file before
    seen = [x for x in parts if names(x, "--comm", "exe")]
    bad = [x for x in seen for f, d in names(x, "--comm", "exe") if d and "unknown" in d]
    t.ok(seen and not bad, "what was mapped before a file began has names in it", bad)

    if os.environ.get("CYCLADE_LONG"):
        p = start("-o", "long.data", "-a", "-g", "-F", "999", "--switch-output=20s", "--max-size", "50M", "--for", "600s")
        most = 0
        while p.poll() is None:
            most = max(most, sum(size_of(x) for x in os.listdir(".") if x.startswith("long.data")))
            time.sleep(0.05)
        t.ok(p.returncode == 0 and most <= 50 << 20 and all(names(x) for x in files("long.data")), "ten minutes in 50 MB", (most, p.stderr.read()))
finally:
    busy.kill()
    busy.wait()
    os.chdir("/")
    shutil.rmtree(tmp)
t.done()
