#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a command that only reads can still do: a library stands before mmap() and tries, with the first ELF file, what a
parser would that foreign bytes have taken over. The kernel's answer to each attempt counts, and what is left on disk."""
import atexit
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PROGS, SANITIZED, SIMULATED, Tap, run  # noqa: E402

PROBE = os.environ.get("SANDBOX_PROBE", "")
t = Tap()
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-sandbox-"))
os.chdir(tmp)
atexit.register(lambda: [shutil.rmtree(d, ignore_errors=True) for d in (tmp, apart)])
os.makedirs("in")
os.makedirs("home")
apart = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-apart-"))
os.makedirs("root")
os.environ["HOME"] = tmp + "/home"
os.environ["TMPDIR"] = tmp + "/short"  # sql may write there
os.makedirs("short")
os.environ.pop("XDG_CACHE_HOME", None)
os.environ.pop("SQLITE_TMPDIR", None)


def lay_out():
    shutil.rmtree(apart, ignore_errors=True)
    os.makedirs(apart + "/dir")
    for name in ("file", "secret"):
        with open(os.path.join(apart, name), "w", encoding="ascii") as f:
            f.write(name)


lay_out()
r = run("record", "-q", "-o", "in/x.data", "--", os.path.join(PROGS, "prog_recurse"), "10", "100")
if r.returncode:
    t.skip("the sandbox", "nothing can be recorded here: " + r.stderr)
    t.done()
state = [c["state"] for c in json.loads(run("doctor", "-j").stdout)["checks"] if c["name"] == "sandbox"][0]
t.ok("Landlock" in state and "seccomp" in state, "doctor says what this kernel has", state)
landlock, seccomp = "no Landlock" not in state, "no seccomp" not in state


def files():
    """All that is apart: names, kinds, permissions, content."""
    out = []
    for at, dirs, names in os.walk(apart):
        out += [(at, d, os.lstat(os.path.join(at, d)).st_mode) for d in dirs]
        for n in names:
            st = os.lstat(os.path.join(at, n))
            out.append((at, n, st.st_mode, st.st_uid, open(os.path.join(at, n), "rb").read() if os.path.isfile(os.path.join(at, n)) else None))
    return sorted(out)


def probe(*words, **more):
    """(the command's result, {attempt: errno}, {what the kernel says of the process})."""
    read, write = os.pipe()
    env = dict(os.environ, LD_PRELOAD=PROBE, PROBE_FD=str(write), PROBE_FILE=apart + "/file",
               PROBE_SECRET=apart + "/secret", PROBE_DIR=apart + "/dir", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0", **more)
    p = subprocess.run([CYCLADE, *words], capture_output=True, text=True, errors="replace", env=env, pass_fds=[write],
                       stdin=subprocess.DEVNULL, timeout=600)
    os.close(write)
    with os.fdopen(read, encoding="ascii") as f:
        lines = [line.split() for line in f]
    return (p, {x[1]: int(x[2]) for x in lines if x[0] == "probe"},
            {x[1].rstrip(":"): x[2] for x in lines if x[0] == "state"})


if not SIMULATED:
    t.skip("attempts", "a sanitizer's runtime wants to be preloaded first")
    t.done()
p, got, _ = probe("report", "--no-sandbox", "in/x.data")
if not got:
    t.skip("attempts", "no ELF file is mapped by libc's name for it here: " + p.stderr)
    t.done()
t.ok(all(got.get(k) == 0 for k in ("read", "write", "unlink", "create", "exec", "socket", "own_signal")),
     "--no-sandbox: the attempts succeed", got)
lay_out()

# by Landlock: EACCES; by seccomp: EPERM. A FIFO is made by mknodat
OF_FILES = ["write", "append", "unlink", "rename", "link", "create", "nameless", "mkdir", "symlink", "rmdir"]
OF_CALLS = ["empty", "empty_neither", "empty_at", "fifo", "chmod", "chown", "fchmod", "fchmod_suid", "fchown", "socket", "unix", "connect", "ptrace", "kill", "tgkill",
            "memory", "mount", "chroot", "bpf", "counter", "setuid", "truncate", "type", "namespace", "limits", "nice", "fchmodat2", "exec"]
LEFT_TO_SANITIZERS = ["exec", "ptrace", "kill"]
LEFT_TO_SANITIZERS_SAID = {"execve", "ptrace", "kill"} if SANITIZED else set()
run("report", "-j", "-o", "saved.json", "in/x.data")
shutil.copy("in/x.data", "root/y.data")
COMMANDS = [("report", "in/x.data"), ("annotate", "in/x.data", "bottom"), ("sql", "in/x.data", "select * from functions"),
            ("export", "--folded", "in/x.data"), ("diff", "in/x.data", "in/x.data"), ("sum", "in/x.data", "in/x.data"),
            ("report", "--sysroot", "/", "in/x.data"), ("report", "-o", "in/out.txt", "in/x.data"), ("report", "--html", "in/out.html", "in/x.data")]
for words in COMMANDS:
    name = " ".join(words[:2])
    before = files()
    p, got, state = probe(*words)
    plain = run(*words[:1], "--no-sandbox", *words[1:])
    t.ok(bool(got) and p.returncode == plain.returncode and p.stdout == plain.stdout, "%s: shows the same" % name, (got, p.returncode, p.stderr))
    if landlock:
        t.ok(all(got.get(k) in (errno.EACCES, errno.EXDEV) for k in OF_FILES), "%s: changes nothing on disk" % name, {k: got.get(k) for k in OF_FILES})
        t.equal(files(), before, "%s: all is as it was" % name)
    if seccomp:
        bad = {k: got.get(k) for k in OF_CALLS if got.get(k) != errno.EPERM and not (SANITIZED and k in LEFT_TO_SANITIZERS)}
        t.ok(not bad and state.get("Seccomp") == "2", "%s: reaches nobody else" % name, (bad, state))
        t.ok(got.get("own_signal") == 0 and got.get("own_limits") == 0, "%s: may end itself, and see its limits" % name, got)
        said = re.findall(r"the sandbox refused (\w+),", p.stderr)
        t.ok(len(said) == len(set(said)) and not {"execve", "connect", "socket", "ptrace", "openat", "kill", "ioctl"} - set(said) - LEFT_TO_SANITIZERS_SAID and
             p.stderr.count("keep the file") == 1, "%s: names each, once" % name, said)
    t.equal(state.get("NoNewPrivs"), "1", "%s: no new rights" % name)
if landlock:
    p, got, _ = probe("report", "--sysroot", tmp + "/root", "root/y.data")
    t.ok(not got or got["read"] == errno.EACCES, "--sysroot: other files cannot be read", (got, p.stderr))
    p, got, _ = probe("report", "--sysroot", tmp + "/root", "--symbols", PROGS, "root/y.data")
    t.ok(not got or got["read"] == errno.EACCES, "--sysroot: what --symbols names can be", (got, p.stderr))
# before Linux 6.2 Landlock lets open() empty files: what it then does not refuse, seccomp does
if landlock and seccomp:
    for version in "1", "2", "3":
        before = files()
        p, got, _ = probe("report", "in/x.data", PROBE_LANDLOCK=version)
        t.ok(p.returncode == 0 and all(got.get(k) == errno.EPERM for k in ("empty", "empty_neither", "empty_at")) and
             got.get("empty_2") == (errno.ENOSYS if version < "3" else errno.EACCES) and files() == before, "Landlock %s: no file is emptied" % version, got)
OTHERS = [("info", "in/x.data"), ("mem", "in/x.data"), ("blocks", "in/x.data"), ("calls", "in/x.data"), ("registers", "in/x.data"),
          ("sharing", "in/x.data"), ("stat", "--import", "in/x.data")]
for words in OTHERS:
    p, got, state = probe(*words)
    t.ok(state.get("NoNewPrivs") == "1" and (not seccomp or state.get("Seccomp") == "2"), "%s: in the sandbox, too" % " ".join(words[:-1]), (state, p.stderr))
p, got, state = probe("record", "-q", "-o", "in/z.data", "--", "true")
t.equal(state.get("Seccomp", "0"), "0", "record has all its rights")
t.done()
