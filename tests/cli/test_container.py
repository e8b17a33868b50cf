#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names of code in containers, seen from the host: a root directory of our own below unshare and chroot or an overlay,
while it lives and after it has ended; against nm, and against perf on a recording of its own."""
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
from tap import CYCLADE, PERF, Tap, wait_for  # noqa: E402

CODE = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) unsigned long NAME(unsigned long n)
{
	volatile unsigned long s = 0;

	for (unsigned long i = 0; i < n; i++)
		s += i;
	return s;
}
static void made(void) /* dec %rdi; jnz; ret */
{
	static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f || p == MAP_FAILED)
		exit(3);
	fprintf(f, "%lx %x made_code\n", (unsigned long)p, (unsigned)sizeof(code));
	fclose(f);
	memcpy(p, code, sizeof(code));
	for (double end = now() + 0.3; now() < end;)
		((void (*)(unsigned long))p)(1000000);
}
int main(int argc, char **argv)
{
	double end = now() + (argc > 2 ? atof(argv[2]) : 0.3);

	if (argc > 1 && !strcmp(argv[1], "made"))
		made();
	else
		while (now() < end)
			NAME(1000000);
	return 0;
}
"""
tap = Tap()


def run(*argv, **env):
    return subprocess.run(argv, capture_output=True, text=True, check=False,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8",
                               "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", **env})


def shares(data, *words, **env):
    """dso, sym -> samples"""
    r = run(CYCLADE, "report", "--no-cache", "-s", "dso,sym", "--format", "csv", *words, data, **env)
    return {(x["dso"], x["function"]): int(x["samples"]) for x in csv.DictReader(io.StringIO(r.stdout))}


def record(data, *argv):
    r = run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", data, "--", *argv)
    return r


def build(where, path, name):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    src = os.path.join(where, name + ".c")
    with open(src, "w", encoding="ascii") as f:
        f.write(CODE.replace("NAME", name))
    r = run("gcc", "-static", "-O1", "-g", "-Wl,--build-id", src, "-o", path)
    return r.stderr.strip().split("\n")[0] if r.returncode else ""


def most(got, name):
    """Whether nearly all samples have that name."""
    n = sum(v for (_, s), v in got.items() if s == name)
    return n >= 20 and n * 10 >= 9 * sum(got.values())


def chrooted(where, root, inside):
    data = os.path.join(where, "c.data")
    argv = ["unshare", "--mount", "--pid", "--fork", "chroot", root, inside]
    r = record(data, *argv)
    tap.ok(r.returncode == 0, "a program in a chroot, with namespaces of its own, is recorded", r.stderr)
    got = shares(data)
    tap.ok(most(got, "in_container"), "... and has its own names when it has ended", got)
    out = run(CYCLADE, "report", "--no-cache", "-v", data).stdout
    tap.ok(f"{root}{inside}, build-id verified" in out, "... of the file below its root directory", out)
    shutil.move(root, root + ".away")
    got = shares(data)
    tap.ok(not any(s == "on_host" for _, s in got), "without it the host's program of that path is not taken", got)
    r = run(CYCLADE, "report", "--no-cache", data).stdout
    tap.ok("build-id" in r and "not used" in r or "not found here" in r, "... which is noted", r)
    shutil.move(root + ".away", root)


def hostile(where, root, inside):
    """The container's owner puts a link to a file of ours in the program's place."""
    data = os.path.join(where, "c.data")
    path = root + inside
    kept = path + ".kept"
    shutil.move(path, kept)
    os.symlink(inside, path) # as the process sees it a loop; followed from here it is the host's program
    got = shares(data)
    tap.ok(not any(s == "on_host" for _, s in got), "a link does not lead out of the container", got)
    os.unlink(path)
    os.mkfifo(path)
    began = time.monotonic()
    got = shares(data)
    tap.ok(not any(s == "in_container" for _, s in got), "a FIFO in its place is not waited for", str(time.monotonic() - began))
    os.unlink(path)
    shutil.move(kept, path)


def alive(where, root, inside):
    """Not there for the host but by way of the process."""
    data = os.path.join(where, "l.data")
    script = (f"mount -t tmpfs none {root}/mnt && cp {root}{inside} {root}/mnt/prog && "
              f"exec chroot {root} /mnt/prog spin 60")
    p = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script])
    try:
        if not wait_for(lambda: os.path.exists(f"/proc/{p.pid}/exe") and os.readlink(f"/proc/{p.pid}/exe").endswith("/prog")):
            tap.skip("a program that lives in a mount of its own", "no tmpfs here")
            return
        r = run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-F", "1000", "-o", data, "-p", str(p.pid), "--for", "500ms")
        got = shares(data)
        tap.ok(r.returncode == 0 and most(got, "in_container"), "a program that lives in a mount of its own has names",
               f"{r.stderr}{got}")
        if PERF:
            own, home = os.path.join(where, "q.data"), os.path.join(where, "home2")
            run(PERF, "record", "-q", "--namespaces", "-e", "cpu-clock:u", "-F", "1000", "-o", own, "-p", str(p.pid), "--",
                "sleep", "0.5", HOME=home)
            out = run(PERF, "report", "-i", own, "--stdio", "-F", "overhead,sym", "--percent-limit", "0", HOME=home).stdout
            theirs = sum(float(x) for x in re.findall(r"([\d.]+)%\s+\[\.\] in_container", out))
            mine = shares(own, HOME=home)
            part = 100 * sum(v for (_, s), v in mine.items() if s == "in_container") / max(1, sum(mine.values()))
            tap.ok(mine and part >= theirs - 0.1, f"... of perf's recording {part:.1f} % have names (perf: {theirs:.1f} %)", out[:800])
    finally:
        p.kill()
        p.wait()
    got = shares(data)
    tap.ok(not any(s in ("on_host", "in_container") for _, s in got), "... and none when it is gone with its mount", got)


def overlay(where, root, inside):
    data = os.path.join(where, "o.data")
    dirs = {d: os.path.join(where, d) for d in ("upper", "work", "merged")}
    for d in dirs.values():
        os.mkdir(d)
    script = (f"mount -t overlay overlay -o lowerdir={root},upperdir={dirs['upper']},workdir={dirs['work']} {dirs['merged']} && "
              f"mkdir -p {dirs['merged']}/old && cd {dirs['merged']} && pivot_root . old && exec {inside}")
    probe = run("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
    if probe.returncode:
        tap.skip("an overlay", "cannot be mounted here: " + probe.stderr.strip().split("\n")[0])
        return
    r = record(data, "unshare", "--mount", "--propagation", "private", "sh", "-c", script)
    got = shares(data)
    n = sum(v for (_, s), v in got.items() if s == "in_container")
    tap.ok(r.returncode == 0 and n >= 20, "a program in an overlay that is gone: from the layer that has it", f"{r.stderr}{got}")
    out = run(CYCLADE, "report", "--no-cache", "-v", data).stdout
    tap.ok(f"{root}{inside}, build-id verified" in out, "... which is named", out)


def perf_map(where, root, inside):
    if os.uname().machine != "x86_64":
        tap.skip("code that a process in a container made", "the test's code is of x86-64")
        return
    data = os.path.join(where, "m.data")
    r = record(data, "unshare", "--mount", "--pid", "--fork", "chroot", root, inside, "made")
    got = shares(data)
    n = sum(v for (_, s), v in got.items() if s == "made_code")
    tap.ok(r.returncode == 0 and n >= 20, "code that a process in a container made, by the list in its /tmp", f"{r.stderr}{got}")


def as_perf(where, root, inside):
    if not PERF:
        tap.skip("as perf", "no perf")
        return
    data, home = os.path.join(where, "p.data"), os.path.join(where, "home")
    argv = ["unshare", "--mount", "--pid", "--fork", "chroot", root, inside]
    r = run(PERF, "record", "-q", "--namespaces", "-e", "cpu-clock:u", "-F", "2000", "-o", data, "--", *argv, HOME=home)
    if r.returncode:
        tap.skip("perf's own recording", f"perf record ended with {r.returncode}: {r.stderr[-200:]}")
        return
    out = run(PERF, "report", "-i", data, "--stdio", "-F", "overhead,sym", HOME=home).stdout
    theirs = "in_container" in out
    mine = shares(data, HOME=home)
    tap.ok(most(mine, "in_container") or not theirs,
           f"perf's own recording: names where perf has them ({'it has' if theirs else 'it has none'})", f"{mine}{out[:800]}")
    data = os.path.join(where, "c.data")
    out = run(PERF, "report", "-i", data, "--stdio", "-F", "overhead,sym", HOME=home).stdout
    tap.ok(re.search(r"%\s+\[\.\]", out), "perf reads the recording that knows of places", out[:500])


def outside(where, inside):
    """To a recorder inside of a PID namespace all tasks outside have number 0: none of them has the name of another."""
    data, ns = os.path.join(where, "outside.data"), ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
    stop = subprocess.Popen(["sh", "-c", "while :; do %s none 0.05; done" % inside])
    try:
        for name, words in (("cyclade", [CYCLADE, "record", "-a", "-o", data, "--", inside]),
                            ("perf", [PERF, "record", "-q", "-a", "-e", "cpu-clock", "-o", data, "--", inside])):
            if os.path.exists(data):
                os.unlink(data)
            p = run(*ns, *words)
            if not os.path.exists(data):
                tap.skip("recorded inside of a PID namespace, by " + name, "cannot: " + p.stderr[:80])
                continue
            if name == "cyclade":
                tap.ok("PID namespace" in p.stderr, "record -a inside of a PID namespace says so", p.stderr)
            found = list(csv.DictReader(io.StringIO(run(CYCLADE, "report", "-s", "comm,pid", "--min", "0", "--format", "csv", "-i", data).stdout)))
            names = {r["comm"] for r in found if r["pid"] == "0"}
            tap.ok(names and names <= {"[outside this PID namespace]", "swapper"} and "[outside this PID namespace]" in names,
                   name + ": processes outside of the PID namespace have no names of others", str(found)[:600])
            found = list(csv.DictReader(io.StringIO(run(CYCLADE, "report", "--min", "0", "--format", "csv", "-i", data).stdout)))
            rows = [r for r in found if "[outside this PID namespace]" in (r["dso"], r["function"])]
            tap.ok(len(rows) == 1 and float(rows[0]["share"]) > 0.01 and rows[0]["function"] == rows[0]["dso"], name + ": their code is one row", str(found)[:600])
            found = list(csv.DictReader(io.StringIO(run(CYCLADE, "report", "-s", "comm,pid", "--min", "0", "--format", "csv", "-i", data).stdout)))
            tap.ok(any(r["comm"] == os.path.basename(inside) and r["pid"] != "0" for r in found), name + ": the program inside has its own", str(found)[:600])
    finally:
        stop.kill()
        stop.wait()


def main():
    for tool in ("gcc", "unshare", "chroot"):
        if not shutil.which(tool):
            print(f"1..0 # SKIP no {tool}")
            return
    if os.geteuid() or run("unshare", "--mount", "--pid", "--fork", "true").returncode:
        print("1..0 # SKIP no mount namespaces: they need root, and a root that is a mount point")
        return
    with tempfile.TemporaryDirectory() as where:
        root, inside = os.path.join(where, "root"), os.path.join(where, "prog")
        for d in ("tmp", "mnt"):
            os.makedirs(os.path.join(root, d))
        why = build(where, root + inside, "in_container") or build(where, inside, "on_host")
        if why:
            print("1..0 # SKIP no static programs: " + why)
            return
        chrooted(where, root, inside)
        hostile(where, root, inside)
        alive(where, root, inside)
        overlay(where, root, inside)
        perf_map(where, root, inside)
        as_perf(where, root, inside)
        outside(where, inside)
    tap.done()


main()
