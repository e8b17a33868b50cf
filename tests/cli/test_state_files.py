#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written without being asked for: the symbol cache and the penalties of this machine.
Whatever lies in their place and however the writer ends, they are the old ones or the new ones whole."""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, SANITIZED, Tap, run  # noqa: E402

t = Tap()
ROOT = os.geteuid() == 0
TIMES = int(os.environ.get("CYCLADE_TIMES", "4" if SANITIZED else "12"))
STRANGER = 1234
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-state-"))
os.chmod(tmp, 0o755)
os.chdir(tmp)
os.environ.update({"XDG_CACHE_HOME": tmp + "/cache", "HOME": tmp})
os.environ.pop("XDG_DATA_HOME", None)
random.seed(41)
SOURCE = "\n".join("int __attribute__((noinline)) work_%d(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i * %d; return s; }" % (i, i)
                   for i in range(400)) + "\nint main(void) { for (int i = 0; i < 3000; i++) { %s } return 0; }\n" % " ".join("work_%d(40);" % i for i in range(400))
with open("prog.c", "w") as f:
    f.write(SOURCE)
OLD = b"what was there before\n" * 20


def content(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return None


def files(top):
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs)


def limited(what, size):
    return lambda: resource.setrlimit(what, (size, size))


def ended(command, after=None, **more):
    """Its status, after a SIGKILL at that moment if one is named."""
    p = subprocess.Popen([CYCLADE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
    if after is not None:
        time.sleep(after)
        p.kill()
    err = p.communicate()[1].decode(errors="replace")
    return p.returncode, err


def attempts(command, path, new, figures):
    """Each way to be stopped, at several moments: the file is the old one or the new one, with nothing beside it but the one name that a killed
    writer had no time to take away; the command does its work all the same."""
    directory = os.path.dirname(path)
    others = [f for f in files(tmp + "/cache") if f != path]
    began = time.monotonic()
    ended(command)
    took = time.monotonic() - began
    ways = [("killed", {"after": took * (i + random.random()) / TIMES}) for i in range(TIMES)]
    ways += [("room", {"preexec_fn": limited(resource.RLIMIT_FSIZE, int(len(new) * (i + random.random()) / TIMES))}) for i in range(TIMES)]
    if not SANITIZED:
        ways += [("memory", {"preexec_fn": limited(resource.RLIMIT_AS, int((8 << 20) * 1.1 ** (40 * (i + random.random()) / TIMES)))}) for i in range(TIMES)]
    wrong = []
    for kind, more in ways:
        with open(path, "wb") as f:
            f.write(OLD)
        code, err = ended(command, **more)
        got = content(path)
        beside = [f for f in files(tmp + "/cache") if f != path and f not in others]
        for f in beside:
            os.unlink(f)
        if got not in (OLD, new) or (beside and kind != "killed") or len(beside) > 1 or (kind == "room" and code not in (0, 125)):
            wrong.append((kind, more, code, len(got or b""), beside, err[-200:]))
    t.equal(wrong, [], "%s: whole or not at all, %d times" % (figures, len(ways)))

    # ---- what may lie in its place
    other = os.path.join(tmp, "other")
    for what in ("link", "link of a stranger", "hard link", "directory", "FIFO"):
        if "stranger" in what and not ROOT:
            t.skip("%s: a %s in its place" % (figures, what), "only root can make one")
            continue
        os.unlink(path)
        with open(other, "wb") as f:
            f.write(OLD)
        if what == "hard link":
            os.link(other, path)
        elif what == "directory":
            os.mkdir(path)
        elif what == "FIFO":
            os.mkfifo(path)
        else:
            os.symlink(other, path)
            if "stranger" in what:
                os.lchown(path, STRANGER, STRANGER)
        code, err = ended(command)
        made = content(path) if os.path.isfile(path) and not os.path.islink(path) else None
        t.equal((code, content(other), made), (0, OLD, new if what == "hard link" else None), "%s: a %s in its place: done, and nothing else is written to" % (figures, what))
        if what == "directory":
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)
        t.equal([f for f in files(tmp + "/cache") if f not in others], [], "%s: nothing is left beside a %s" % (figures, what))
        with open(path, "wb") as f:
            f.write(OLD)

    # ---- a directory that it may not write
    if ROOT:
        def as_stranger():
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
        had = {f: content(f) for f in files(tmp + "/cache")}
        code, err = ended(command, preexec_fn=as_stranger)
        t.equal((code, {f: content(f) for f in files(tmp + "/cache")}), (0, had), "%s: a directory of somebody else is not written to" % figures)
    else:
        os.chmod(directory, 0o500)
        code, err = ended(command)
        t.equal((code, content(path)), (0, OLD), "%s: a directory that cannot be written" % figures)
        os.chmod(directory, 0o700)

    # ---- a full disk
    os.unlink(path)
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4096,mode=700", "none", directory], capture_output=True, check=False).returncode:
        t.skip("%s: a full disk" % figures, "nothing may be mounted here")
        return
    code, err = ended(command)
    left = os.listdir(directory)
    subprocess.run(["umount", directory], check=True)
    t.equal((code, [f for f in left if content(os.path.join(directory, f))]), (0, []), "%s: a full disk: the command does its work" % figures)


# names that are packed into a stripped program are kept unpacked
PACKED = """cc -O1 -Wl,--build-id -o whole prog.c && objcopy -S --remove-section .gdb_index --keep-symbol=main -w --keep-symbol='work_*' whole names &&
xz -f names && objcopy -S --add-section .gnu_debugdata=names.xz whole prog"""
if subprocess.run(["sh", "-c", PACKED], capture_output=True, check=False).returncode:
    t.skip("the symbol cache", "no compiler, objcopy or xz")
elif run("record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", "x.data", "--", "./prog").returncode:
    t.skip("the symbol cache", "no event can be opened here")
else:
    os.chmod("x.data", 0o644)
    shutil.rmtree("cache", ignore_errors=True)
    want = run("report", "-j", "x.data").stdout
    kept = [os.path.join(tmp, f) for f in files(tmp + "/cache") if f.endswith("-mini") and b"work_399" in content(f)]
    t.equal(len(kept), 1, "the program's symbols are kept")
    if kept:
        whole = content(kept[0])
        t.equal(run("report", "-j", "x.data").stdout, want, "read from the cache they are the same")
        with open(kept[0], "wb") as f:
            f.write(OLD)
        t.equal((run("report", "-j", "x.data").stdout, content(kept[0])), (want, whole), "a damaged one is made again")
        attempts(["report", "-q", "-j", "x.data"], kept[0], whole, "symbols")

r = run("calibrate", "--quick", "-q", timeout=600)
share = os.path.join(tmp, ".local/share")
kept = files(share)
if r.returncode or len(kept) != 1:
    t.skip("penalties", "not kept here: %s" % (r.stderr.strip().splitlines() or ["no file"])[-1][:80])
else:
    for what in ("hard link", "link of a stranger") if ROOT else ("hard link",):
        os.unlink(kept[0])
        with open("other", "wb") as f:
            f.write(OLD)
        if what == "hard link":
            os.link("other", kept[0])
        else:
            os.symlink(tmp + "/other", kept[0])
            os.lchown(kept[0], STRANGER, STRANGER)
        r = run("calibrate", "--quick", "-q", timeout=600)
        t.equal((r.returncode, content("other"), files(share)), (0, OLD, kept), "penalties: a %s in their place: nothing else is written to" % what)
os.chdir("/")
shutil.rmtree(tmp)
t.done()
