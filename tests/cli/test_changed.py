#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program's file that becomes shorter, or is written anew, while report has it mapped: that costs its names, with its path in a
message, never the report. A library that is loaded first stops report after the file was mapped, until the file was changed."""
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, SIMULATED, Tap, run  # noqa: E402
from waits_run import compiled  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-changed-")
os.chdir(tmp)
PROGRAM = """__attribute__((noinline)) unsigned long hot(unsigned long n) { volatile unsigned long s = 0; for (unsigned long i = 0; i < n; i++) s += i; return s; }
int main(void) { return (int)(hot(100000000) & 1); }
"""
STOP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int in_, out_;
static void *mapped(void *p, int fd)
{
	const char *end = getenv("CUT_FILE"), *io = getenv("CUT_FDS");
	char link[64], path[4096], c;
	int in, out;
	ssize_t n;
	static int done, left = -1;
	if (left > 0 && !--left) { if (write(out_, "m", 1) != 1 || read(in_, &c, 1) != 1) return p; }
	if (done || p == MAP_FAILED || fd < 0 || !end || !io || sscanf(io, "%d,%d", &in, &out) != 2) return p;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0) return p;
	path[n] = 0;
	if ((size_t)n < strlen(end) || strcmp(path + n - strlen(end), end)) return p;
	done = 1;
	in_ = in; out_ = out;
	left = getenv("CUT_AFTER") ? atoi(getenv("CUT_AFTER")) : 0;
	if (left) return p;
	if (write(out, "m", 1) != 1 || read(in, &c, 1) != 1) return p;
	return p;
}
void *mmap(void *a, size_t l, int pr, int fl, int fd, off_t o)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);
	if (!real) real = dlsym(RTLD_NEXT, "mmap");
	return mapped(real(a, l, pr, fl, fd, o), fd);
}
void *mmap64(void *a, size_t l, int pr, int fl, int fd, off_t o)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);
	if (!real) real = dlsym(RTLD_NEXT, "mmap64");
	return mapped(real(a, l, pr, fl, fd, o), fd);
}
"""


def shrink(path):
    os.truncate(path, 100)


def empty(path):
    os.truncate(path, 0)


def rewrite(path):
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        f.write(os.urandom(size))


def report(how, after):
    """Whether the file was mapped, and report's result; the file is as before then."""
    back_out, back_in = os.pipe()
    told_out, told_in = os.pipe()
    env = dict(os.environ, LD_PRELOAD=os.path.join(tmp, "stop.so"), CUT_FILE=tmp + "/prog", CUT_AFTER=str(after), CUT_FDS="%d,%d" % (back_out, told_in))
    p = subprocess.Popen([CYCLADE, "report", "--no-cache", "-s", "sym,srcline", "--format", "csv", "prog.data"], env=env,
                         pass_fds=(back_out, told_in), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(back_out)
    os.close(told_in)
    mapped = os.read(told_out, 1)
    if mapped:
        how("prog")
        os.write(back_in, b"x")
    out, err = p.communicate(timeout=600)
    os.close(back_in)
    os.close(told_out)
    shutil.copyfile("kept", "prog")
    return mapped, p.returncode, out, err


if not SIMULATED:
    t.skip("files that change", "nothing can be preloaded here")
elif not compiled(PROGRAM, "prog", "-g") or not compiled(STOP, "stop.so", "-shared", "-fPIC", "-ldl"):
    t.skip("files that change", "no C compiler here")
elif run("record", "-q", "--no-copies", "-o", "prog.data", "--", "./prog").returncode == 125:
    t.skip("files that change", "no event can be opened here")
else:
    shutil.copyfile("prog", "kept")
    tried = 0
    for how in (shrink, empty, rewrite):
        for after in (0, 1, 2):
            mapped, code, out, err = report(how, after)
            if not mapped:
                continue
            tried += 1
            rows = list(csv.DictReader(io.StringIO(out)))
            t.ok(code == 0 and rows, "%s after %d: there is a report" % (how.__name__, after), (code, err))
            t.ok(re.search(re.escape(os.path.join(tmp, "prog")) + r"[ :]", err), "%s after %d: with the file's path" % (how.__name__, after), err + out)
            t.ok(how is not rewrite or not any("hot" in r["function"] and r["srcline"].endswith(":1") for r in rows),
                 "%s after %d: no names and lines of two versions" % (how.__name__, after), out)
    if not tried:
        t.skip("files that change", "the program is copied, not mapped")
t.done()
