#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a recorded program names are opened by the door alone, and a stranger who exchanges them while commands run harms
nothing: each command ends, with status 0, and with the figures of other programs as they were.

CYCLADE_ATTACKS says how many commands run under attack."""
import ctypes
import multiprocessing
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

CYCLADE = os.environ["CYCLADE"]
ATTACKS = int(os.environ.get("CYCLADE_ATTACKS", "8"))
STRANGER = 65534

# Runs in a file, in memory that a list names, and in memory that a dump names.
VICTIM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline __attribute__((always_inline)) int inner(int n)
{
	int s = 0;

	for (volatile int i = 0; i < n; i++)
		s += i;
	return s;
}

__attribute__((noinline, aligned(256))) int spin(int n)
{
	return inner(n);
}

int main(int argc, char **argv)
{
	int (*made)(int) = 0;
	char name[4096];
	int fd, sum = 0;
	FILE *f;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	snprintf(name, sizeof(name), "%s/jit-%d.dump", argv[1], (int)getpid());
	fd = open(name, O_RDWR | O_CREAT, 0644);
	if (fd >= 0 && !ftruncate(fd, 4096))
		(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		memcpy(p, (void *)spin, 256);
		__builtin___clear_cache((char *)p, (char *)p + 256);
		made = (int (*)(int))p;
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
		f = fopen(name, "w");
		if (f) {
			fprintf(f, "%lx 100 made\n", (unsigned long)p);
			fclose(f);
		}
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (int i = 0; i < 100; i++)
		sum += spin(400000) + (made ? made(400000) : 0);
	return argc > 99 ? sum : 0;
}
"""
# Its function has a name of its own, which is then the same whatever becomes of the others.
OTHER = r"""
__attribute__((noinline)) int busy(void)
{
	int s = 0;

	for (volatile int i = 0; i < 60000000; i++)
		s += i;
	return s;
}

int main(void)
{
	return busy() == 1;
}
"""
tap = Tap()


def run(*argv, **kw):
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8", "DEBUGINFOD_URLS": ""}
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", env=env, stdin=subprocess.DEVNULL, **kw)


class Scene:
    """A recording of two programs: the files of one belong to a stranger."""

    def __init__(self, top):
        self.why = ""
        self.safe, self.foreign = os.path.join(top, "safe"), os.path.join(top, "foreign")
        for d in (self.safe, self.foreign):
            os.mkdir(d)
        for d, name, text, flags in ((self.safe, "other", OTHER, []), (self.foreign, "victim", VICTIM, ["-gsplit-dwarf"]),
                                     (self.foreign, "twin", VICTIM, [])):
            with open(os.path.join(d, name + ".c"), "w", encoding="ascii") as f:
                f.write(text)
            r = run("gcc", "-O1", "-g", *flags, name + ".c", "-o", name, "-Wl,--build-id", cwd=d)
            if r.returncode:
                self.why = "does not build: " + r.stderr[:200]
                return
        if shutil.which("dwz"):
            shutil.copy(self.foreign + "/twin", self.foreign + "/third")
            run("dwz", "-m", "common", "-M", self.foreign + "/common", "twin", "third", cwd=self.foreign)
        self.data = self.safe + "/c.data"
        r = run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", self.data, "--", "sh", "-c",
                '"$1/victim" "$1"; "$1/twin" "$1"; "$2/other"', "sh", self.foreign, self.safe)
        if not os.path.exists(self.data) or r.returncode not in (0, 1):
            self.why = "cannot be recorded here: " + r.stderr[:200]
            return
        self.maps = [f"/tmp/perf-{pid}.map" for pid in re.findall(r"^\d+$", r.stdout, re.M)]
        for pid in re.findall(r"^\d+$", r.stdout, re.M):  # the head of a dump without code
            with open(f"{self.foreign}/jit-{pid}.dump", "r+b") as f:
                f.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, int(pid), 0, 0))
        self.targets = [os.path.join(self.foreign, f) for f in sorted(os.listdir(self.foreign))] + self.maps
        if not os.geteuid():
            for path in [self.foreign, *self.targets]:
                os.chown(path, STRANGER, STRANGER)

    def end(self):
        for m in getattr(self, "maps", []):
            remove(m)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)


# ---- how files are opened ----

def foreign_opens(trace, scene):
    """(call, path, line) of each open of what is the stranger's, finished or not."""
    found = []
    for line in trace.splitlines():
        m = re.search(r"\b(open|openat|openat2|creat)\((?:AT_FDCWD, |\d+(?:<[^>]*>)?, )?\"([^\"]*)\"", line)
        if m and (m[2].startswith(scene.foreign) or m[2] in scene.maps):
            found.append((m[1], m[2], line))
    return found


def is_careful(call, line):
    follows = "O_NOFOLLOW" not in line and not (call == "openat2" and "RESOLVE_" in line)
    waits = "O_PATH" not in line and "O_NONBLOCK" not in line
    return call != "creat" and not follows and not waits


def traced(scene, where):
    tap.ok(not is_careful("openat", 'openat(AT_FDCWD, "/x", O_RDONLY)') and is_careful("openat2", "O_PATH RESOLVE_X"), "the judge of opens")
    if not shutil.which("strace") or run("strace", "-o", "/dev/null", "true").returncode:
        tap.skip("foreign files are opened by the door", "no strace, or it may not trace here")
        return
    page = os.path.join(scene.safe, "x.html")
    seen = {}
    for words in (["report", scene.data], ["report", "-s", "inline,srcline", scene.data], ["report", "--html", page, scene.data],
                  ["annotate", scene.data, "victim:spin"], ["annotate", "-j", scene.data, "victim:spin"], ["blocks", scene.data], ["diff", scene.data, scene.data],
                  ["sum", scene.data], ["info", scene.data], ["sql", scene.data, "select count(*) from samples"],
                  ["export", "--firefox", "-o", "-", scene.data]):
        out = os.path.join(where, "trace")
        r = run("strace", "-f", "-o", out, "-e", "trace=open,openat,openat2,creat", CYCLADE, *words, "--no-cache")
        with open(out, encoding="utf-8", errors="replace") as f:
            opens = foreign_opens(f.read(), scene)
        bad = [line for call, path, line in opens if not is_careful(call, line)]
        seen.update((path, words[0]) for call, path, line in opens)
        tap.ok(not bad, f"{' '.join(words[:2]).replace(scene.data, '').strip()}: foreign files are opened by the door", (bad, r.stderr[:300]))
    for part in ("/victim", ".dwo", "/victim.c", ".map"):
        tap.ok(any(path.endswith(part) for path in seen), f"of these, {part} was opened", seen)


# ---- an attack ----

def exchange(path, kept, dice):
    """Something else in the place of a file."""
    new = path + ".new"
    kind = dice.randrange(9)
    remove(new)
    if kind == 0:
        os.symlink("/etc/shadow", new)
    elif kind == 1:
        os.symlink(path, new)
    elif kind == 2:
        os.mkfifo(new)
    elif kind == 3:
        os.mkdir(new)
    elif kind == 4:
        with open(new, "wb") as f:
            f.truncate(1 << 40)
    elif kind == 5:
        with socket.socket(socket.AF_UNIX) as s:
            os.chdir(os.path.dirname(new))
            s.bind(os.path.basename(new))
    elif kind == 6 and os.path.isfile(path) and not os.path.islink(path):  # in place: cut, and other bytes
        with open(path, "r+b") as f:
            f.truncate(len(kept) // 2)
            f.seek(dice.randrange(len(kept) // 2 + 1))
            f.write(bytes(dice.randrange(256) for _ in range(64)))
        return
    else:
        with open(new, "wb") as f:
            f.write(kept)
    if not os.path.islink(new) and not os.geteuid():
        os.chown(new, STRANGER, STRANGER)
    if os.path.isdir(new) or os.path.isdir(path):
        remove(path)
    os.rename(new, path)


def attack(targets, kept, seed):
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG
    dice = random.Random(seed)
    while True:
        path = dice.choice(targets)
        try:
            exchange(path, kept[path], dice)
        except OSError:
            pass  # no room for 1 TB here, or the like


def others(out):
    """What a report has of the other program."""
    return sorted(line for line in out.splitlines() if "other" in line)


def attacked(scene):
    report = ["report", "--no-cache", "--format", "csv", "-s", "comm,sym", "--min", "0", scene.data]
    asked = [report,
             ["report", "--no-cache", "--format", "csv", "-s", "comm,srcline", "--min", "0", scene.data],
             ["report", "--no-cache", "-s", "comm,inline", "--html", os.path.join(scene.safe, "x.html"), scene.data],
             ["annotate", "--no-cache", scene.data, "victim:spin"]]
    calm = [run(CYCLADE, *words) for words in asked]
    tap.ok(all(r.returncode == 0 for r in calm) and others(calm[0].stdout) and others(calm[1].stdout) and "inner" not in calm[0].stdout,
           "before the attack", [(r.returncode, r.stdout[-500:], r.stderr) for r in calm])
    kept = {}
    for path in scene.targets:
        with open(path, "rb") as f:
            kept[path] = f.read()
    seed = random.randrange(1 << 32)
    swapper = multiprocessing.Process(target=attack, args=(scene.targets, kept, seed), daemon=True)
    swapper.start()
    wrong = []
    try:
        for i in range(ATTACKS):
            k = i % len(asked)
            try:
                r = run(CYCLADE, *asked[k], timeout=600)
            except subprocess.TimeoutExpired:
                wrong.append((asked[k], "it waits"))
                continue
            # a function whose file is gone cannot be annotated
            good = (0, 1, 2) if asked[k][0] == "annotate" else (0,)
            if r.returncode not in good or (k < 2 and others(r.stdout) != others(calm[k].stdout)):
                wrong.append((asked[k], r.returncode, r.stderr[-500:], others(r.stdout), others(calm[k].stdout)))
            if "root:" in r.stdout:
                wrong.append((asked[k], "it shows /etc/shadow"))
    finally:
        swapper.kill()
        swapper.join()
    tap.ok(not wrong, f"{ATTACKS} commands under attack end well", (seed, len(wrong), wrong[:3]))


def main():
    if not shutil.which("gcc"):
        print("1..0 # SKIP no gcc")
        return
    with tempfile.TemporaryDirectory(prefix="cyclade-door-") as top:
        top = os.path.realpath(top)
        os.chmod(top, 0o755)
        scene = Scene(top)
        try:
            if scene.why:
                tap.skip("the door", scene.why)
            else:
                traced(scene, top)
                attacked(scene)
        finally:
            scene.end()
    tap.done()


main()
