#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copies of what ran. A program that is built anew in place keeps its names and lines in older recordings, as perf's copies
keep them; lists of JIT code outlive their file; limits hold; no copy is made of a file that the program's user may not read."""
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, Tap, nobody_runs, wait_for  # noqa: E402

SPIN = """#include <stdlib.h>
volatile unsigned long sink;
%s
__attribute__((noinline)) void %s(long n)
{
	for (long i = 0; i < n; i++)
		sink += i * 3;
}
int main(int c, char **v)
{
	%s(c > 1 ? atol(v[1]) : 60000000);
	return 0;
}
"""
# it makes code that runs for a while, and says so in perf-PID.map unless told not to
JIT = """#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
#if defined(__x86_64__) /* count down to 0 */
	static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
	static const unsigned char code[] = { 0, 4, 0, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 3, 0x5f, 0xd6 };
#endif
	char name[64];
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *f;

	(void)argv;
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	if (argc > 1) { /* somebody else puts the file there */
		puts(name);
		fflush(stdout);
		(void)getchar();
	} else if ((f = fopen(name, "w"))) {
		fprintf(f, "%lx 1000 code_made\\n", (long)p);
		fclose(f);
	}
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache((char *)p, (char *)p + sizeof(code));
	((void (*)(long))p)(3000000000l); /* the recorder looks at it four times a second */
	return 0;
}
"""
t = Tap()
top = tempfile.TemporaryDirectory()
os.chmod(top.name, 0o755)
os.chdir(top.name)
os.makedirs("home/.debug")
CACHE = top.name + "/cache"
COPIES = CACHE + "/cyclade/copies"
ENV = {**os.environ, "XDG_CACHE_HOME": CACHE, "HOME": top.name + "/home", "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8"}


def ours(*words, **kw):
    return subprocess.run([CYCLADE, *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          timeout=600, env=ENV, **kw)


def build(name, before="", to="app", *flags):
    with open(to + ".c", "w", encoding="ascii") as f:
        f.write(SPIN % (before, name, name))
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", *flags, "-o", to, to + ".c"], check=True)
    found = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", to], capture_output=True, text=True, check=False).stdout)
    return found[1] if found else ""


def rows(data, *words):
    """{function: dso} of what took a twentieth or more"""
    out = ours("report", "-i", data, "-s", "dso,sym", "--min", "5", "--format", "csv", *words).stdout
    return {r["function"]: r["dso"] for r in csv.DictReader(io.StringIO(out))}


def copied():
    """{hexadecimal id: (kind, path it had, bytes)}"""
    found = {}
    for folder, _, names in os.walk(COPIES):
        kinds = [n for n in names if n != "name"]
        if kinds:
            with open(folder + "/name", encoding="utf-8") as f:
                found["".join(folder.split("/")[-2:])] = (kinds[0], f.read(), os.path.getsize(folder + "/" + kinds[0]))
    return found


def rebuilt():
    first = build("one_a")
    r = ours("record", "-q", "-o", "1.cy", "--", "./app")
    if r.returncode or not os.path.exists("1.cy"):
        t.skip("a program that is built anew", "cannot record here: " + r.stderr[:100])
        return False
    shutil.copy("app", "old")
    second = build("two_a", "int pad(int x) { return x * x; }\nint more(int x) { return x + 7; }")
    ours("record", "-q", "-o", "2.cy", "--", "./app")
    have = copied()
    t.ok(first and have.get(first, "")[:2] == ("elf", top.name + "/app") and second in have, "each build has its copy", have)
    path = "%s/.build-id/%s/%s/elf" % (COPIES, first[:2], first[2:])
    t.ok(open(path, "rb").read() == open("old", "rb").read() and os.stat(path).st_mode & 0o777 == 0o600, "byte by byte, for its user alone")
    t.ok("one_a" in rows("1.cy") and "two_a" in rows("2.cy"), "a program that is built anew: both recordings have names",
         (rows("1.cy"), rows("2.cy")))
    diff = ours("diff", "--no-pager", "1.cy", "2.cy")
    t.ok("one_a" in diff.stdout and "two_a" in diff.stdout, "so have both sides of diff", diff.stdout + diff.stderr)
    # the planted truth: line 6 of the source is the loop's body
    for data, function, line in (("1.cy", "one_a", 7), ("2.cy", "two_a", 8)):
        out = ours("annotate", "--no-pager", "--no-asm", data, function).stdout
        t.ok(re.search(r"app\.c:%d\b" % line, out), "and lines: %s" % function, out)
    t.ok("one_a" not in rows("1.cy", "--no-cache"), "without the cache there is none of it", rows("1.cy", "--no-cache"))
    if PERF:
        p = subprocess.run([PERF, "--buildid-dir", COPIES, "report", "-i", "1.cy", "--stdio", "--percent-limit", "5"],
                           capture_output=True, text=True, errors="replace", env=ENV, check=False)
        t.ok("one_a" in p.stdout, "perf --buildid-dir reads the copies", p.stdout + p.stderr)
    before = copied()
    ours("record", "-q", "--no-copies", "-o", "3.cy", "--", "./old", "1000")
    build("three_a")
    ours("record", "-q", "--no-copies", "-o", "3.cy", "--", "./app")
    t.equal(copied(), before, "--no-copies keeps none")
    return True


def replaced_meanwhile():
    """The path has another program, or none, when the recording ends."""
    for how in ("replaced", "removed"):
        with open("wait.c", "w", encoding="ascii") as f:
            f.write(SPIN.replace("{\n\t%s(c", "{\n\tgetchar();\n\t%s(c").replace("<stdlib.h>", "<stdlib.h>\n#include <stdio.h>")
                    % ("", how + "_a", how + "_a"))
        subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", "-o", "running", "wait.c"], check=True)
        build("late_a", to="other")
        with subprocess.Popen(["./running"], stdin=subprocess.PIPE, text=True) as p:
            wait_for(lambda: os.readlink("/proc/%d/exe" % p.pid).endswith("/running"))
            with subprocess.Popen([CYCLADE, "record", "-q", "-o", "r.cy", "-p", str(p.pid)], env=ENV, text=True) as rec:
                # it has noted the mappings when its counters are there
                wait_for(lambda: rec.poll() is not None or any("perf_event" in link for link in links(rec.pid)))
                wait_for(lambda: rec.poll() is not None or any(link.startswith(top.name + "/running") for link in links(rec.pid)))
                os.unlink("running") if how == "removed" else os.rename("other", "running")
                p.communicate("\n")
                rec.wait()
        t.ok(how + "_a" in rows("r.cy"), "a program that is %s while it is recorded keeps its names" % how, (rows("r.cy"), copied()))


def links(pid):
    found = []
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                found.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
            except OSError:
                pass
    except OSError:
        pass
    return found


def jit():
    with open("jit.c", "w", encoding="ascii") as f:
        f.write(JIT)
    subprocess.run(["gcc", "-O1", "-o", "jit", "jit.c"], check=True)
    ours("record", "-q", "-o", "j.cy", "--", "./jit")
    made = [c for c in copied().items() if c[1][0] == "map"]
    t.ok(len(made) == 1 and re.fullmatch(r"/tmp/perf-\d+\.map", made[0][1][1]), "perf-PID.map is copied", made)
    if made:
        os.unlink(made[0][1][1])
        t.ok("code_made" in rows("j.cy"), "and gives names when the file is gone", rows("j.cy"))
        t.ok("code_made" not in rows("j.cy", "--no-cache"), "which it alone does", rows("j.cy", "--no-cache"))


def limits():
    size = 0
    for i in range(12):
        build("many_%d" % i, to="many%d" % i)
        size = os.path.getsize("many%d" % i)
        ours("record", "-q", "--copies-size", str(5 * (size + 8192)), "-o", "m.cy", "--", "./many%d" % i, "1000")
        if not i:
            time.sleep(1.1)  # times of copies have seconds
    have = copied()
    t.ok(sum(c[2] for c in have.values()) <= 5 * (size + 8192) and any(c[1].endswith("/many11") for c in have.values()),
         "copies take no more than --copies-size, the last one is there", have)
    for folder, _, _ in os.walk(COPIES):
        os.utime(folder, (time.time() - 40 * 86400,) * 2)
    build("young", to="young")
    ours("record", "-q", "--copies-age", "30", "-o", "m.cy", "--", "./young", "1000")
    t.ok([c[1] for c in copied().values()] == [top.name + "/young"], "older ones than --copies-age are removed", copied())
    r = ours("record", "-q", "--copies-size", "1k", "-o", "m.cy", "--", "./many3", "1000")
    t.ok(not r.returncode and not r.stderr and top.name + "/many3" not in [c[1] for c in copied().values()],
         "a program that is larger than all copies is recorded and not copied", r.stderr)


def strangers():
    """Root records a program of another user, who would like to read what is root's."""
    if os.geteuid() or not nobody_runs():
        t.skip("programs of another user", "not root, or out of another user's reach")
        return
    os.mkdir("theirs")
    os.chown("theirs", 65534, 65534)
    secret = build("secret_a", to="theirs/secret")
    os.chmod("theirs/secret", 0o711)  # to be run, not to be read
    os.chown("theirs/secret", 0, 0)
    shared = build("shared_a", to="theirs/shared")
    ours("record", "-q", "-a", "-o", "s.cy", "--", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
         "theirs/secret 20000000; theirs/shared 20000000")
    have = copied()
    t.ok(secret not in have and shared in have, "a program that its user may run and not read is not copied", have)
    # ... nor one that lies behind a directory that he cannot pass, by a link that leads there
    os.mkdir("root", 0o700)
    hidden = build("hidden_a", to="root/hidden")
    os.rename("theirs/shared", "theirs/run")
    with subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "theirs/run", "3000000000000"]) as p:
        try:
            wait_for(lambda: os.readlink("/proc/%d/exe" % p.pid).endswith("/theirs/run"))
            os.rename("theirs/run", "theirs/away")
            os.symlink(top.name + "/root/hidden", "theirs/run")
            ours("record", "-q", "-o", "s.cy", "-p", str(p.pid), "--for", "200ms")
        finally:
            p.kill()
    t.ok(hidden not in copied(), "a link in place of the program leads to nothing", copied())
    for kind in ("link", "hard link"):
        if os.path.exists("s.cy"):
            os.unlink("s.cy")
        with open("root/map", "w", encoding="ascii") as f:
            f.write("1000 1000 the_secret_%s\n" % kind[0])
        os.chmod("root/map", 0o600)
        with subprocess.Popen([CYCLADE, "record", "-q", "-o", "s.cy", "--", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               "./jit", "wait"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            path = p.stdout.readline().strip()
            try:
                if kind == "link":
                    os.symlink(top.name + "/root/map", path)
                else:
                    os.link(top.name + "/root/map", path)
            except OSError as e:
                t.skip("perf-PID.map is a " + kind, str(e))
                p.kill()
                continue
            p.communicate("\n")
            os.unlink(path)
        t.ok(os.path.exists("s.cy") and not any(c[:2] == ("map", path) for c in copied().values()), "perf-PID.map is a %s to a file of root: not copied" % kind, copied())


if rebuilt():
    replaced_meanwhile()
    jit()
    limits()
    strangers()
t.done()
