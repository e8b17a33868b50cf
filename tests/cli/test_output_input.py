#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An output that is an input, by any of its names: refused before anything is done, the input as it was. What is made of a
recording is no more readable than it is; names of 255 bytes work."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-input-"))
os.chdir(tmp)
os.umask(0o022)
REFUSED = "is also an input; nothing is written"


def bytes_of(path):
    with open(path, "rb") as f:
        return f.read()


def cyclade(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
    return subprocess.run([CYCLADE, *words], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=600)


w = gen.Writer("<")
f = gen.File(w, [("cpu-clock", dict(type=1, config=0, period=100, sample=gen.BIT["IP"] | gen.BIT["TID"] | gen.BIT["TIME"]), [100])],
             attr_size=112)
f.data = w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("made"))
for n in range(40):
    f.data += w.record(gen.SAMPLE, w.pack("QIIQ", 0x400000 + n % 4, 20, 20, 1000 + n), 2)
with open("good", "wb") as out:
    out.write(f.build())
os.chmod("good", 0o600)
shutil.copy("good", "other.data")
os.chmod("other.data", 0o600)
os.mkdir("sub")


def fresh():
    for name in ("x.data", "x.link", "x.hard"):
        if os.path.lexists(name):
            os.unlink(name)
    shutil.copy("good", "x.data")
    os.chmod("x.data", 0o600)
    os.symlink("x.data", "x.link")
    os.link("x.data", "x.hard")


NAMES = ["x.data", "./sub/../x.data", os.path.join(tmp, "x.data"), "x.link", "x.hard", "/dev/stdin"]
COMMANDS = [
    ["report", "-o", "OUT", "x.data"], ["report", "--html", "OUT", "x.data"], ["report", "-j", "-o", "OUT", "x.data"],
    ["report", "--format", "csv", "-o", "OUT", "-i", "x.data"], ["info", "-o", "OUT", "x.data"], ["export", "--pprof", "-o", "OUT", "x.data"],
    ["export", "--folded", "-o", "OUT", "x.data"], ["export", "--firefox", "-o", "OUT", "x.data"],
    ["diff", "-o", "OUT", "x.data", "other.data"], ["diff", "-o", "OUT", "other.data", "other.data,x.data"],
    ["sum", "-o", "OUT", "x.data", "other.data"], ["sql", "-o", "OUT", "x.data", "select count(*) from samples"],
]
fresh()
for command in COMMANDS:
    r = cyclade(*["elsewhere" if word == "OUT" else word for word in command])
    mode = stat.S_IMODE(os.stat("elsewhere").st_mode) if os.path.exists("elsewhere") else None
    t.equal((r.returncode, mode), (0, 0o600), "%s elsewhere: written, and as secret as the recording" % " ".join(command[:3]))
    wrong = []
    for name in NAMES:
        fresh()
        with open("x.data", "r+b") as f:
            r = cyclade(*[name if word == "OUT" else word for word in command], stdin=f)
        if r.returncode == 0 or bytes_of("x.data") != bytes_of("good") or REFUSED not in " ".join(r.stderr.split()):
            wrong.append((name, r.returncode, r.stderr))
    t.equal(wrong, [], "%s over its own recording: refused by each of its names" % " ".join(command[:3]))
    if os.path.exists("elsewhere"):
        os.unlink("elsewhere")

# ---- standard input, standard output, the usual name, a FIFO
fresh()
with open("x.data", "rb") as f:
    r = cyclade("report", "-", "-o", "x.data", stdin=f)
t.ok(r.returncode and bytes_of("x.data") == bytes_of("good"), "report - -o x <x", r.stderr)
with open("x.data", "r+b") as f:
    r = cyclade("report", "x.data", stdout=f)
t.ok(r.returncode and REFUSED in " ".join(r.stderr.split()) and bytes_of("x.data") == bytes_of("good"), "report x 1<>x", r.stderr)
shutil.copy("good", "cyclade.data")
r = cyclade("report", "-o", "cyclade.data")
t.ok(r.returncode and bytes_of("cyclade.data") == bytes_of("good"), "the recording that nobody named", r.stderr)
os.unlink("cyclade.data")
os.mkfifo("fifo")
r = cyclade("report", "-o", "fifo", "fifo")
t.ok(r.returncode and REFUSED in " ".join(r.stderr.split()), "a FIFO that is read and written", r.stderr)
with open("x.data", "rb") as f:
    r = cyclade("report", "-j", "-", "-o", "from-stdin", stdin=f)
t.equal((r.returncode, stat.S_IMODE(os.stat("from-stdin").st_mode)), (0, 0o600), "of standard input: as secret as that")

with open("x.data", "rb") as f:
    r = subprocess.run([CYCLADE, "report", "-j", "-", "-o", "from-pipe"], input=f.read(), capture_output=True, timeout=600)
t.equal((r.returncode, stat.S_IMODE(os.stat("from-pipe").st_mode)), (0, 0o600), "of a pipe: its owner's alone")

# ---- results that were saved
with open("saved.csv", "w") as f:
    f.write("1000000,,cycles,1000000,100.00,,\n")
with open("saved.json", "w") as f:
    f.write('{"schema":"cyclade.counts/2","command":["true"],"counts":[{"event":"cycles","value":12,"value_error":1}],"notes":[]}')
for mode in (0o600, 0o640, 0o644):
    made = {}
    for command in (["diff", "-j", "-o", "OUT", "saved.json", "saved.json"], ["sql", "-o", "OUT", "-i", "saved.json", "select * from stat"],
                    ["stat", "--import", "saved.csv", "-e", "cycles", "-j", "-o", "OUT"], ["stat", "--import", "saved.csv", "--model", "ivb", "-j", "-o", "OUT"]):
        for name in ("saved.json", "saved.csv"):
            os.chmod(name, mode)
        if os.path.exists("of-saved"):
            os.unlink("of-saved")
        r = cyclade(*["of-saved" if word == "OUT" else word for word in command])
        if r.returncode == 0:
            made[" ".join(command[:2])] = stat.S_IMODE(os.stat("of-saved").st_mode)
    t.ok(len(made) > 2 and set(made.values()) == {mode}, "what is made of saved results has mode %o like them" % mode, (made, r.stderr))

# ---- other files that are read
with open("own", "w") as f:
    f.write("# none\n")
with open("costs", "w") as f:
    f.write("# none\n")
counts = "task-clock,100\n"
with open("counts", "w") as f:
    f.write(counts)
for name, command in [("costs", ["report", "--account", "--penalties", "costs", "-o", "costs", "x.data"]),
                      ("own", ["report", "--ibs-events", "own", "-o", "own", "x.data"]),
                      ("counts", ["stat", "--import", "counts", "-o", "counts"])]:
    was = bytes_of(name)
    r = cyclade(*command)
    t.ok(r.returncode and bytes_of(name) == was and REFUSED in " ".join(r.stderr.split()), "what an option names: %s" % name, r.stderr)

# ---- the measured program
with open("prog", "w") as f:
    f.write("#!/bin/sh\n: >ran\nexit 0\n")
os.chmod("prog", 0o755)
os.symlink("prog", "prog.link")
os.link("prog", "prog.hard")
was = bytes_of("prog")
os.environ["PATH"] = tmp + ":" + os.environ["PATH"]
CLOCK = ["-e", "task-clock"]
for command in [
    ["stat", *CLOCK, "-o", "prog", "--", "./prog"], ["stat", *CLOCK, "-o", "prog.link", "--", "./prog"],
    ["stat", *CLOCK, "-o", "prog.hard", "--", "./prog"], ["stat", *CLOCK, "-o", "prog", "--", "prog"],
    ["stat", *CLOCK, "--append", "-o", "prog", "--", "./prog.link"], ["stat", *CLOCK, "-o", "prog", "--pre", "./prog", "--", "true"],
    ["compare", "-o", "prog", "--", "true", "--", "./prog"], ["compare", "-o", "prog", "--", "./prog", "--", "true"],
    ["record", "-o", "prog", "--", "./prog.hard"], ["run", "--data", "prog", "--", tmp + "/prog"], ["run", "-o", "prog", "--", "./prog"],
]:
    r = cyclade(*command)
    t.equal((bool(r.returncode), bytes_of("prog"), os.path.exists("ran"), REFUSED in " ".join(r.stderr.split())), (True, was, False, True),
            "%s: refused, nothing runs" % " ".join(command))
os.rename("prog", "y.data.old")
r = cyclade("record", "-e", "cpu-clock", "-o", "y.data", "--", "./y.data.old")
t.ok(r.returncode and bytes_of("y.data.old") == was and not os.path.exists("ran"), "where the older recording would go", r.stderr)

# ---- names
long = "n" * 255
for _ in range(2):
    r = cyclade("report", "-o", long, "x.data")
    t.ok(r.returncode == 0 and os.path.getsize(long) > 100, "a name of 255 bytes", r.stderr)
r = cyclade("record", "-e", "cpu-clock", "-o", long, "--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")
if r.returncode == 125:
    t.skip("a recording with such a name", r.stderr)
else:
    t.equal((r.returncode, bytes_of(long)[:8], os.path.exists("n" * 251 + ".old")), (0, b"PERFILE2", True), "a recording with such a name")
if os.geteuid() == 0:
    os.mkdir("theirs")
    os.chown("theirs", 1234, 1234)
    with open("victim", "w") as f:
        f.write("keep")
    os.symlink(os.path.join(tmp, "victim"), "theirs/cyclade.data")
    os.lchown("theirs/cyclade.data", 1234, 1234)
    os.chdir("theirs")
    r = cyclade("record", "-e", "cpu-clock", "--", "touch", "ran")
    t.ok(r.returncode == 125 and bytes_of("../victim") == b"keep" and not os.path.exists("ran") and "belongs to another user" in
         " ".join(r.stderr.split()), "a stranger's link in the usual name", r.stderr)
    os.chdir(tmp)
else:
    t.skip("a stranger's link in the usual name", "needs root")
os.chdir("/")
shutil.rmtree(tmp)
t.done()
