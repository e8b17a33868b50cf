#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a recorded program names are opened by the door alone, and a stranger who exchanges them while commands run harms
nothing: each command ends, with status 0, and with the figures of other programs as they were.

CYCLADE_ATTACKS says how many commands run under attack; CYCLADE_LONG=1: 1,000."""
import collections
import ctypes
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from page import Page  # noqa: E402
from tap import SANITIZED, WHOLE_CPUS, Tap  # noqa: E402

CYCLADE = os.environ["CYCLADE"]
ATTACKS = int(os.environ.get("CYCLADE_ATTACKS", "1000" if os.environ.get("CYCLADE_LONG") else "9"))
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

int main(int argc, char **argv)
{
	int once = busy();

	for (int i = 0; argc > 1 && i < 1000; i++)
		once += busy();
	return once == 1 || argv[argc];
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


def others_of_csv(words, out):
    return sorted(line for line in out.splitlines() if "other" in line)


def others_of_table(words, out):
    return sorted(" ".join(line.split()) for line in out.splitlines() if re.match(r" +[<\d.]+ % .* other ", line))


def others_of_json(words, out):
    return sorted(json.dumps(row, sort_keys=True) for row in json.loads(out)["rows"] if row["comm"] == "other")


def others_of_page(words, out):
    page = Page(words[words.index("--html") + 1])
    # findings have shares of the whole, which the programs under attack are part of
    documents = [x for x in page.data["documents"] if x["view"] != "findings"]
    return sorted(json.dumps((name, row), sort_keys=True) for document in documents for name, table in page.result(document).items()
                  if isinstance(table, list) for row in table if isinstance(row, dict) and {"other", "busy"} & {x for x in row.values() if isinstance(x, str)})


def whole_output(words, out):
    return out.splitlines()


def nothing(words, out):
    return []


def asked_of(scene, data, page):
    """The commands, and what of each is to stay as it is."""
    asked = [(["report", "--format", "csv", "-s", "comm,sym", "--min", "0", data], others_of_csv),
             (["report", "--format", "csv", "-s", "comm,srcline", "--min", "0", data], others_of_csv),
             (["report", "-s", "comm,sym", "--min", "0", data], others_of_table),
             (["report", "-j", "-s", "comm,dso,sym", "--min", "0", data], others_of_json),
             (["report", "-s", "comm,inline", "--html", page, data], others_of_page),
             (["annotate", "-j", data, "other:busy"], whole_output),
             (["annotate", "--format", "csv", data, "other:busy"], whole_output)]
    return asked if data != scene.data else [*asked, (["annotate", data, "victim:spin"], nothing)]


def memory_of(*argv, timeout):
    """What a command says, how it ends, and the most memory that it had, in MB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(argv, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                             env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8", "DEBUGINFOD_URLS": ""})
        alarm = threading.Timer(timeout, os.kill, (p.pid, signal.SIGKILL))
        alarm.start()
        _, status, used = os.wait4(p.pid, 0)
        alarm.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return p.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"), used.ru_maxrss / 1024


def budget():
    """A quarter of the memory for what others write, and as much as a command needs by itself."""
    with open("/proc/meminfo", encoding="ascii") as f:
        return int(f.readline().split()[1]) / 1024 / 4


class Judge:
    """Of commands under attack: how many there were, and which did not end as they must."""

    def __init__(self):
        self.count, self.rows, self.most, self.wrong = collections.Counter(), 0, 0, []

    def run(self, words, rows_of, calm):
        code, out, err, memory = memory_of(CYCLADE, *words, "--no-cache", timeout=600)
        self.count[words[0] + " " + rows_of.__name__.replace("others_of_", "")] += 1
        self.most = max(self.most, memory)
        try:
            rows = rows_of(words, out)
        except (ValueError, OSError, KeyError) as e:
            rows = [repr(e)]
        # a function whose file is gone cannot be annotated
        if code not in ((0, 1, 2) if rows_of is nothing else (0,)) or rows != calm:
            self.wrong.append((words, code, err[-500:], [x for x in rows if x not in calm][:5], [x for x in calm if x not in rows][:5]))
        elif "root:" in out:
            self.wrong.append((words, "it shows /etc/shadow"))
        self.rows += len(rows)

    def record(self, scene, i):
        """The whole machine, while the attack goes on: its reports agree on the other program, and name all of it."""
        data, page = os.path.join(scene.safe, "all.data"), os.path.join(scene.safe, "all.html")
        program = subprocess.Popen([scene.safe + "/other", "always"], stdin=subprocess.DEVNULL)
        try:
            code, _, err, memory = memory_of(CYCLADE, "record", "-q", "-a", "-e", "cpu-clock:u", "-o", data, "--for", "0.2s", timeout=600)
        finally:
            program.kill()
            program.wait()
        self.count["record -a"] += 1
        self.most = max(self.most, memory)
        sums = {}
        for how in ("comm", "comm,sym"):
            code2, out, err2, memory = memory_of(CYCLADE, "report", "--no-cache", "--format", "csv", "-s", how, "--min", "0", data, timeout=600)
            self.count["its report"] += 1
            self.most = max(self.most, memory)
            rows = [row for row in (line.split(",") for line in out.splitlines()) if len(row) > 5 and row[5] == "other"]
            sums[how] = (code2, sum(int(row[1]) for row in rows), [row[6] for row in rows if "+0x" in "".join(row[6:])], err2[-300:])
        if code or sums["comm"][0] or sums["comm,sym"][:3] != (0, sums["comm"][1], []):
            self.wrong.append(("record -a", i, code, err[-300:], sums))
        self.rows += bool(sums["comm"][1])  # on a busy machine it may have had no time


def attacked(scene):
    asked = asked_of(scene, scene.data, os.path.join(scene.safe, "x.html"))
    calm = [rows_of(words, run(CYCLADE, *words, "--no-cache").stdout) for words, rows_of in asked]
    tap.ok(all(calm[:-1]) and not any("inner" in x for x in calm[0]), "before the attack", calm)
    kept = {}
    for path in scene.targets:
        with open(path, "rb") as f:
            kept[path] = f.read()
    seed = random.randrange(1 << 32)
    swapper = multiprocessing.Process(target=attack, args=(scene.targets, kept, seed), daemon=True)
    swapper.start()
    judge = Judge()
    try:
        for i in range(ATTACKS):
            k = i % (len(asked) + WHOLE_CPUS)
            if k < len(asked):
                judge.run(*asked[k], calm[k])
            else:
                judge.record(scene, i)
    finally:
        swapper.kill()
        swapper.join()
    tap.ok(not judge.wrong, f"{ATTACKS} commands under attack end well, with {judge.rows} rows of the other program as they were: {dict(judge.count)}",
           (seed, len(judge.wrong), judge.wrong[:3]))
    tap.ok(judge.most < budget() + (4000 if SANITIZED else 400), f"... and in {judge.most:.0f} MB", budget())


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
