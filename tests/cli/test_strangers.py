#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Root looks at the programs of others, who want to see what they may not, or to end its report: their programs run while they are
recorded, and their files are exchanged and cut while commands read them. Each case is also tried in its harmless form, so that it would be
noticed if nothing were shown at all."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, SANITIZED, Tap, run  # noqa: E402

MALLORY, ALICE = 4101, 4102  # numbers without an account
t = Tap()
top = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-strangers-"))
os.chmod(top, 0o755)
os.chdir(top)
homes = {}
for uid in (MALLORY, ALICE):
    homes[uid] = os.path.join(top, str(uid))
started = []

# Runs until it is ended, with a limit if nobody does; says on standard output that it runs.
LOOP = """#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void %s(void)
{
	volatile long x = 0;
	for (int i = 0; i < 20000; i++) {
%s
	}
}
int main(void)
{
	alarm(300);
	puts("runs");
	fflush(stdout);
	for (;;)
		%s();
}
"""


def end():
    for p in started:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait(60)
    os.chdir("/")
    shutil.rmtree(top)
    t.done()


def put(path, text, owner=None, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)


def start(*argv, **who):
    """A program that has said that it runs."""
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True, **who)
    started.append(p)
    p.stdout.readline()
    return p


def meanwhile(text, *argv):
    """Something done to files again and again, with the rights of whoever runs the test: Python may be out of the others' reach."""
    return start(sys.executable, "-c", "import ctypes, os, sys\nprint('runs', flush=True)\nwhile os.getppid() == int(sys.argv[1]):\n" + text,
                 str(os.getpid()), *argv)


def stop(p):
    os.killpg(p.pid, signal.SIGKILL)
    p.wait(60)
    started.remove(p)


def program(name, body, *flags, prelude=""):
    """A program of Mallory's whose function `name` does what `body` says."""
    path = os.path.join(homes[MALLORY], name)
    put(path + ".c", prelude + LOOP % (name, body, name), MALLORY)
    r = subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", name, name + ".c", *flags], cwd=homes[MALLORY], user=MALLORY, group=MALLORY,
                       extra_groups=[], capture_output=True, text=True, env={**os.environ, "TMPDIR": homes[MALLORY]})
    if r.returncode:
        t.ok(False, name + " builds", r.stderr)
        end()
    return path


def recorded(path):
    """Its samples, taken by root while it runs as Mallory."""
    p = start(path, user=MALLORY, group=MALLORY, extra_groups=[], cwd=homes[MALLORY])
    data = os.path.basename(path) + ".data"
    r = run("record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", data, "-p", str(p.pid), "--for", "0.4s")
    stop(p)
    if r.returncode:
        t.ok(False, path + " is recorded", r.stderr)
        end()
    return data


def shown(data, name, *words):
    """What three commands show of a function, and a page of all."""
    out = []
    for verb in (["annotate", "-i", data, *words, name], ["annotate", "-j", "-i", data, *words, name], ["report", "--html", "x.html", *words, data]):
        r = run(*verb)
        out.append(r.stdout + r.stderr)
        t.ok(r.returncode == 0, "%s of %s ends with 0" % (" ".join(verb[:2]), data), r.stderr)
    with open("x.html", encoding="utf-8", errors="replace") as f:
        out.append(f.read())
    return out


def hash_line(path, n=1):
    return '#line %d "%s"\n\t\tx += i * 3;' % (n, path)


if os.geteuid() or not shutil.which("gcc"):
    t.skip("strangers", "needs root" if os.geteuid() else "no gcc")
    end()
for uid, home in homes.items():
    os.mkdir(home)
    os.chown(home, uid, uid)
os.chmod(homes[ALICE], 0o700)
if run("record", "-q", "-e", "cpu-clock", "-o", "any.data", "--", "true").returncode:
    t.skip("strangers", "no event can be opened here")
    end()

# ---- a line of the program names a file that only root may read
put("secret.txt", "secret-line\n" * 9, mode=0o600)
data = recorded(program("named", hash_line(top + "/secret.txt")))
texts = shown(data, "named")
t.ok(not any("secret-line" in text for text in texts), "a file that the program's user may not read: no line of it is shown")
t.ok("may not read" in texts[0], "... and why", texts[0][-600:])
os.chmod("secret.txt", 0o644)
texts = shown(data, "named")
t.ok("secret-line" in texts[0] and "secret-line" in texts[1], "... one that the user may read is", texts[0][-600:])

# ---- and what the name leads to changes all the time
put(homes[ALICE] + "/s.txt", "alice-secret\n" * 9, ALICE, 0o600)
own = homes[MALLORY] + "/own"
os.mkdir(own)
put(own + "/s.txt", "mallory-own\n" * 9, MALLORY)
for link, to in (("r", own), ("r2", homes[ALICE])):
    os.symlink(to, os.path.join(homes[MALLORY], link))
data = recorded(program("raced", "\n".join(hash_line("%s/r/%ss.txt" % (homes[MALLORY], "./" * n), n % 9 + 1) for n in range(200))))
t.ok("mallory-own" in shown(data, "raced")[0], "a file below a link of the user's is shown")
swapper = meanwhile("""    for i in range(1000):
        ctypes.CDLL(None).renameat2(-100, os.fsencode(sys.argv[2]), -100, os.fsencode(sys.argv[3]), 2)
""", homes[MALLORY] + "/r", homes[MALLORY] + "/r2")
bad = [text for i in range(3) for text in shown(data, "raced") if "alice-secret" in text]
stop(swapper)
t.ok(not bad, "while the link is exchanged, no line of another user's file is shown", len(bad))

# ---- one large file under many names: memory is not the program's to choose
big = homes[MALLORY] + "/big.txt"
put(big, "\n" * 30000000, MALLORY)


def memory_of(data, name):
    p = subprocess.Popen([CYCLADE, "annotate", "-i", data, name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.wait4(p.pid, 0)[2].ru_maxrss / 1024


few, many = (recorded(program(name, "\n".join(hash_line(homes[MALLORY] + "/" + "./" * n + "big.txt", 5) for n in range(times))))
             for name, times in (("once", 1), ("often", 40)))
few, many = memory_of(few, "once"), memory_of(many, "often")
if SANITIZED:
    t.skip("one file under 40 names: its memory once", "a sanitizer keeps what was freed")
else:
    t.ok(many < few + 2 * os.stat(big).st_size / 1e6, "one file under 40 names: its memory once", (few, many))

# ---- libraries that their owner cuts and writes again while they are read
libs = []
for n in range(6):
    libs.append(os.path.join(homes[MALLORY], "l%d.so" % n))
    put(homes[MALLORY] + "/l.c", "void part%d(void) { for (volatile long i = 0; i < 300000; i++) ; }\n" % n, MALLORY)
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", libs[-1], homes[MALLORY] + "/l.c"], check=True)
    os.chown(libs[-1], MALLORY, MALLORY)
data = recorded(program("loads", "\n".join("\t\tif (!(i %% 5000)) part%d();" % n for n in range(6)), "-Wl,--no-as-needed", *libs,
                        prelude="".join("void part%d(void);" % n for n in range(6)) + "\n"))
report = run("report", "--no-cache", "--format", "csv", data)
t.ok(report.returncode == 0 and all("part%d" % n in report.stdout for n in range(6)), "functions of six libraries", report.stdout + report.stderr)
cutter = meanwhile("""    for f in sys.argv[2:]:
        with open(f, "rb") as kept:
            b = kept.read()
        fd = os.open(f[:-5], os.O_RDWR)
        os.ftruncate(fd, 0)
        os.write(fd, b)
        os.close(fd)
""", *[shutil.copy(f, f + ".kept") for f in libs])
bad = []
for i in range(6):
    r = run("report", "--no-cache", "--format", "csv", data)
    if r.returncode or not re.search(r"\bloads\b", r.stdout):
        bad.append((r.returncode, r.stderr[-300:]))
stop(cutter)
t.ok(not bad, "while they are cut and written, each report ends with 0 and has the program's own function", bad)

# ---- a link in a sysroot that leads out of it
path = program("inside", "\t\tx += i;")
data = recorded(path)
put("outside.txt", "outside-secret\n" * 40, mode=0o644)
inner = os.path.join(top, "sys") + homes[MALLORY]
os.makedirs(inner)
os.chown(shutil.copy(path, inner), MALLORY, MALLORY)
os.symlink(top + "/outside.txt", inner + "/inside.c")
texts = shown(data, "inside", "--sysroot", top + "/sys")
t.ok(not any("outside-secret" in text for text in texts), "a link in a sysroot shows nothing outside of it")
os.unlink(inner + "/inside.c")
put(inner + "/inside.c", "inside-line\n" * 40, MALLORY)
t.ok("inside-line" in shown(data, "inside", "--sysroot", top + "/sys")[0], "... a file inside is shown")

# ---- somebody's link with the usual name of a recording
put("victim", "kept\n")
os.symlink(top + "/victim", homes[MALLORY] + "/cyclade.data")
os.lchown(homes[MALLORY] + "/cyclade.data", MALLORY, MALLORY)
r = run("record", "-q", "-e", "cpu-clock", "--", "true", cwd=homes[MALLORY])
with open("victim", encoding="ascii") as f:
    t.ok(f.read() == "kept\n", "a stranger's link with the usual name: what it leads to stays", (r.returncode, r.stderr))
end()
