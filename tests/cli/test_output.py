#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What -o writes: what is replaced, when, with which permissions, and what is left when it fails."""
import hashlib
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run, wait_for  # noqa: E402

LIB = os.environ.get("NO_TMPFILE_LIB", "")
BUSY = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"]
t = Tap()
other = tempfile.mkdtemp(prefix="cyclade-output-")
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-output-"))
os.chdir(tmp)


def state(*but):
    """Every file here with its content; a link with where it leads to."""
    return {f: os.readlink(f) if os.path.islink(f) else hashlib.sha256(open(f, "rb").read()).hexdigest()
            for f in sorted(os.listdir(".")) if f not in but}


def blocks(pid, number):
    """It takes that signal by reading it, and is not ended by it."""
    line = next(x for x in open("/proc/%d/status" % pid) if x.startswith("SigBlk"))
    return int(line.split()[1], 16) >> (number - 1) & 1


# ---- recordings: nothing is replaced before there is something to keep
r = run("record", "-e", "cpu-clock", "-o", "good.data", "--", *BUSY)
if r.returncode:
    t.skip("recordings", "no event can be opened here: %s" % r.stderr.strip().splitlines()[-1:])
else:
    run("record", "-e", "cpu-clock", "-o", "good.data", "--", *BUSY)
    was = state()
    t.equal(sorted(was), ["good.data", "good.data.old"], "a recording and the one before it")
    open("text", "w").close()
    was = state()
    for name, cmd, code in [
        ("record, absent", ["record", "-o", "good.data", "--", "./typo"], 127),
        ("record, no program", ["record", "-o", "good.data", "--", "./text"], 126),
        ("run, absent", ["run", "--data", "good.data", "--", "./typo"], 127),
        ("run, no program", ["run", "--data", "good.data", "--", "./text"], 126),
        ("run without a tree, absent", ["run", "--no-tree", "--data", "good.data", "--", "./typo"], 127),
    ]:
        r = run(*cmd)
        t.equal((r.returncode, state()), (code, was), "%s: both recordings are as they were" % name)
    r = subprocess.run([CYCLADE, "record", "-e", "cpu-clock", "-o", "good.data", "--", *BUSY], capture_output=True, text=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
    t.equal((r.returncode, state()), (125, was), "a full disk: both recordings are as they were")
    sleeper = subprocess.Popen(["sleep", "1000"])
    wait_for(lambda: " S " in open("/proc/%d/stat" % sleeper.pid).read() and "sleep" in open("/proc/%d/cmdline" % sleeper.pid).read())
    for verb in ("record", "record -z"):
        p = subprocess.Popen([CYCLADE, *verb.split(), "-e", "cpu-clock", "-p", str(sleeper.pid), "-o", "good.data"],
                             stderr=subprocess.PIPE, text=True)
        wait_for(lambda pid=p.pid: blocks(pid, signal.SIGUSR1))
        p.send_signal(signal.SIGUSR1)
        said = p.stderr.readline() if select.select([p.stderr], [], [], 600)[0] else ""
        if " 0 samples" not in said:
            t.skip("%s: interrupted before the first sample" % verb, "it has samples: %s" % said)
            p.kill()
            p.wait()
            run("record", "-e", "cpu-clock", "-o", "good.data", "--", *BUSY)
            was = state()
            continue
        p.send_signal(signal.SIGINT)
        said = p.communicate()[1]
        t.ok(state() == was and p.returncode == 0 and "was not written" in said,
             "%s, interrupted before the first sample: both recordings are as they were" % verb, said + str(state()))
    sleeper.kill()
    sleeper.wait()
    os.symlink("good.data", "link.data")
    before = state()["good.data"]
    r = run("record", "-e", "cpu-clock", "-o", "link.data", "--", *BUSY)
    t.ok(r.returncode == 0 and state()["link.data"] == "good.data" and state().get("good.data.old") == before,
         "a recording through a link: the link stays, the older recording is kept beside the file", r.stderr + str(state()))
    os.chmod("good.data", 0o644)
    r = run("record", "-e", "cpu-clock", "-o", "good.data", "--", *BUSY)
    t.equal((stat.S_IMODE(os.stat("good.data").st_mode), stat.S_IMODE(os.stat("good.data.old").st_mode)), (0o600, 0o644),
            "a recording is its owner's alone, whatever the older one is")
    if SANITIZED or not LIB:
        t.skip("close() of a recording fails", "nothing can be preloaded here")
    else:
        r = subprocess.run([CYCLADE, "record", "-e", "cpu-clock", "-o", "good.data", "--", *BUSY], capture_output=True, text=True,
                           env=dict(os.environ, LD_PRELOAD=LIB, CLOSE_FAILS=tmp))
        t.ok(r.returncode == 125 and "Disk quota" in r.stderr and "samples in" not in r.stderr,
             "close() of a recording fails: said, 125", r.stderr)
for f in os.listdir("."):
    os.unlink(f)

# ---- reports
made = os.path.join(other, "made.data")
w = gen.Writer("<")
f = gen.File(w, [("cpu-clock", dict(type=1, config=0, period=100, sample=gen.BIT["TID"] | gen.BIT["TIME"]), [100])], attr_size=112)
f.data = w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("made"))
with open(made, "wb") as out:
    out.write(f.build())
INFO = ["info", "-j", made]
want = run(*INFO).stdout
t.ok(len(want) > 100, "there is something to write")
os.umask(0o027)
r = run(*INFO, "-o", "new")
t.equal((r.returncode, stat.S_IMODE(os.stat("new").st_mode), open("new").read()), (0, 0o640, want),
        "a new file has the permissions that the umask leaves")
for mode in (0o600, 0o664, 0o755, 0o622):
    open("old", "w").write("what was there")
    os.chmod("old", mode)
    r = run(*INFO, "-o", "old")
    t.equal((r.returncode, stat.S_IMODE(os.stat("old").st_mode), open("old").read()), (0, mode, want),
            "a file that is replaced keeps its permissions: %o" % mode)
if os.geteuid() == 0:
    os.chown("old", 1234, 4321)
    run(*INFO, "-o", "old")
    st = os.stat("old")
    t.equal((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)), (1234, 4321, 0o622), "root leaves it its owner")
    t.skip("a file that may not be written", "root may write any")
else:
    os.chmod("old", 0o444)
    r = run(*INFO, "-o", "old")
    t.ok(r.returncode == 2 and "Permission denied" in r.stderr, "a file that may not be written is not replaced", r.stderr)
os.unlink("old")
os.mkdir("elsewhere")
open("elsewhere/real", "w").write("what was there")
os.chmod("elsewhere/real", 0o640)
os.symlink("elsewhere/real", "link")
os.symlink("link", "link2")
r = run(*INFO, "-o", "link2")
t.equal((r.returncode, os.readlink("link2"), os.readlink("link"), open("elsewhere/real").read(), os.listdir("elsewhere")),
        (0, "link", "elsewhere/real", want, ["real"]), "links are followed, as by a shell's redirection")
os.symlink("nothing", "dangling")
r = run(*INFO, "-o", "dangling")
t.ok(r.returncode == 2 and "link to nothing" in r.stderr and not os.path.exists("nothing"), "a link to nothing is refused", r.stderr)
os.mkfifo("fifo")
p = subprocess.Popen(["cat", "fifo"], stdout=subprocess.PIPE, text=True)
r = run(*INFO, "-o", "fifo")
t.ok(p.communicate(timeout=600)[0] == want and stat.S_ISFIFO(os.stat("fifo").st_mode), "a FIFO is written to, and stays one")
open("counts", "w").write("what was there")
for more in ([], ["-I", "100"]):
    r = run("stat", "-e", "task-clock", "-x,", *more, "-o", "counts", "--", "./typo")
    t.equal((r.returncode, open("counts").read()), (127, "what was there"), " ".join(["stat", *more, "of a typo: the file is as it was"]))
r = run("stat", "-e", "task-clock", "-x,", "-I", "100", "-o", "counts", "--", "sleep", "0.5")
t.ok(r.returncode != 0 or len(open("counts").read().splitlines()) > 3, "stat -I writes it", r.stderr)

# ---- faults that others send are no faults of ours, and end it all the same
if SANITIZED:
    t.skip("faults from outside", "the sanitizers' own")
else:
    for number in (signal.SIGSEGV, signal.SIGABRT):
        p = subprocess.Popen([CYCLADE, "stat", "-e", "task-clock", "sleep", "3"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while p.poll() is None and not open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read():
            pass
        p.send_signal(number)
        words = p.communicate()[1]
        t.equal((p.returncode, words), (-number, ""), "%s from outside ends it" % number.name)

# ---- ended in the middle
if SANITIZED or not LIB:
    t.skip("ended in the middle", "nothing can be preloaded here")
else:
    for f in os.listdir("."):
        (shutil.rmtree if os.path.isdir(f) else os.unlink)(f)
    open("out", "w").write("what was there")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for where, more in (("", {}), (" where files need names", {"NO_TMPFILE": "1"})):
            env = dict(os.environ, LD_PRELOAD=LIB, TERM_AT_WRITE=str(int(number)), **more)
            r = subprocess.run([CYCLADE, *INFO, "-o", "out"], capture_output=True, text=True, env=env,
                               preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))
            t.equal((r.returncode, os.listdir("."), open("out").read()), (-number, ["out"], "what was there"),
                    "%s in the middle of -o%s: no other file is left" % (signal.Signals(number).name, where))
    env = dict(os.environ, LD_PRELOAD=LIB, NO_TMPFILE="1")
    r = subprocess.run([CYCLADE, *INFO, "-o", "out"], capture_output=True, text=True, env=env)
    t.equal((r.returncode, os.listdir("."), open("out").read()), (0, ["out"], want), "where files need names: -o writes it whole")
    env = dict(os.environ, LD_PRELOAD=LIB, CLOSE_FAILS=tmp)
    open("out", "w").write("what was there")
    r = subprocess.run([CYCLADE, *INFO, "-o", "out"], capture_output=True, text=True, env=env)
    t.ok(r.returncode == 2 and "Disk quota" in r.stderr and open("out").read() == "what was there" and os.listdir(".") == ["out"],
         "close() fails: said, and the file is as it was", r.stderr)
os.chdir("/")
shutil.rmtree(tmp)
shutil.rmtree(other)
t.done()
