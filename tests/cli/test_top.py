#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""top on terminals of tmux: a planted busy program's function is first, what keys do, what is written is what was shown,
hostile names, terminals that it refuses, and that it leaves the terminal as it was, whatever ends it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import screen  # noqa: E402
from screen import Screen  # noqa: E402
from tap import CYCLADE, SANITIZED, WHOLE_CPUS, Tap, run, wait_for  # noqa: E402

t = Tap()
top = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = os.path.join(top.name, "cache")
screen.begin(t, top.name)
HOSTILE = b"\033[31mred;\"<b>"

BUSY = r"""
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void planted_here(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void less_of_it(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink ^= i; }
int main(int argc, char **argv)
{
	if (argc > 1)
		prctl(PR_SET_NAME, argv[1]);
	for (;;) {
		planted_here(4000000);
		less_of_it(1000000);
		usleep(20000); /* most of the time: it must run in each interval, not all of it */
		if (getppid() == 1)
			return 0;
	}
}
"""


def busy(*words):
    return subprocess.Popen([os.path.join(top.name, "busy_program"), *words])


def rows(lines, head):
    """The lines below the heads that have this word."""
    at = next((i for i, line in enumerate(lines) if i > 1 and head in line.split()), None)
    return [] if at is None else [line for line in lines[at + 1:-2] if line.strip()]


def first_row(lines, text, head="function"):
    found = rows(lines, head)
    return bool(found) and text in found[0]


def clock(lines):
    m = re.search(r"\d\d:\d\d:\d\d", lines[0])
    return m.group(0) if m else None


def test_functions(p, size):
    tag = "%dx%d: " % size
    s = Screen("-p", str(p.pid), "-I", "500", size=size, command="top")
    s.shows(lambda lines: first_row(lines, "planted_here"), tag + "the planted function is first")
    s.shows(lambda lines: any("less_of_it" in line for line in lines), tag + "the other one is there")
    # an interval in which others had the CPU has few samples
    s.shows(lambda lines: first_row(lines, "planted_here") and 65 < float(rows(lines, "function")[0].split()[0]) < 95, tag + "with about its share, 80 %")
    line = rows(s.lines(), "function")[0]
    t.ok("+-" in line, tag + "with an error bar", line)
    s.shows(lambda lines: any("noise" in line for line in rows(lines, "function")), tag + "its change is noise")
    s.shows(lambda lines: "0 lost" in lines[0] and "own" in lines[0] and "pid %d" % p.pid in lines[0], tag + "the first line has losses and the own cost")
    s.shows(lambda lines: len(lines) == size[1] and "q end" in lines[-1], tag + "the last line has the keys")
    test_keys(s, tag)
    s.press("q")
    s.ended(0, tag + "q")
    s.close()


def test_keys(s, tag):
    s.press("3")
    s.shows(lambda lines: first_row(lines, "busy_program", "pid"), tag + "3: processes")
    s.shows(lambda lines: re.search(r"\s\d+(\.\d)? % \+-", rows(lines, "pid")[0]) if rows(lines, "pid") else False, tag + "with their CPU time")
    s.press("4")
    s.shows(lambda lines: "processes" in " ".join(lines[2:4]) and "CPU" in lines[2], tag + "4: cgroups")
    s.press("5")
    s.shows(lambda lines: any("page_faults/s" in line for line in lines), tag + "5: metrics of the machine")
    s.shows(lambda lines: any(c in line for line in rows(lines, "metric") for c in "▁▂▃▄▅▆▇█"), tag + "with a line of the intervals before")
    s.press("2")
    s.shows(lambda lines: "no tree" in lines[2] or "node" in lines[2], tag + "2: the tree, or why there is none")
    s.press("Tab", "BTab", "BTab")
    s.shows(lambda lines: any("planted_here" in line for line in lines), tag + "Tab and Shift-Tab go through the views")
    s.press("/")
    s.shows(lambda lines: lines[-2].strip() == "only rows with:", tag + "/ asks")
    s.press("l", "e", "s", "S", "BSpace", "s", "Enter")
    s.shows(lambda lines: first_row(lines, "less_of_it") and len(rows(lines, "function")) == 1, tag + "and filters")
    s.press("Escape")
    s.shows(lambda lines: first_row(lines, "planted_here"), tag + "Esc shows all")
    s.press("/", "(", "Enter")
    s.shows("no row has this text", tag + "a text that is no expression is looked for as it is")
    s.press("/", "BSpace", "Enter")
    s.shows(lambda lines: first_row(lines, "planted_here"), tag + "an empty filter shows all")
    s.press(">")
    s.shows(lambda lines: any("▾" in line for line in lines), tag + "> sorts by a column")
    s.press("r")
    s.shows(lambda lines: any("▴share" in line.replace(" ", "") for line in lines) and not first_row(lines, "planted_here"), tag + "r reverses")
    s.press("<")
    s.shows(lambda lines: not any("▴" in line or "▾" in line for line in lines) and first_row(lines, "planted_here"), tag + "< goes back")
    s.press("j")
    s.shows("2 of ", tag + "j goes down")
    s.press("k", "G", "g")
    s.shows(" 1 of ", tag + "g goes to the first row")
    s.press("?")
    s.shows("sort the other way round", tag + "? shows the keys")
    s.press("h")
    s.shows(lambda lines: first_row(lines, "planted_here"), tag + "h closes them")
    s.press("+")
    s.shows(lambda lines: re.search(r"  1\.0\d* s", lines[0]), tag + "+: longer intervals")
    s.press("-")
    s.shows(lambda lines: re.search(r"  [45]\d\d\S* ms", lines[0]), tag + "-: shorter ones")
    test_saving(s, tag)


def test_saving(s, tag):
    path = os.path.join(s.dir, "kept.data")
    s.press("Space")
    s.shows(lambda lines: "PAUSED" in lines[-1] and re.search(r"\d of \d", lines[-1]), tag + "Space pauses, and where one is stays to be seen")
    before = s.lines()[0]
    samples = int(re.search(r"([\d,]+) samples", before).group(1).replace(",", ""))
    s.press("w")
    s.shows("write samples to: cyclade.data", tag + "w asks where")
    s.press("C-u")
    s.tmux("send-keys", "-l", path)
    s.press("Enter")
    s.shows("%s samples in" % "{:,}".format(samples), tag + "and writes")
    t.equal(re.sub(r"own.*", "", s.lines()[0]), re.sub(r"own.*", "", before), tag + "the interval stays")
    doc = json.loads(run("report", "-j", "--min", "0", "-s", "function", "-i", path).stdout)
    shown = doc["rows"]
    t.equal(sum(r["samples"] for r in shown), samples, tag + "report has as many samples")
    t.equal(shown[0]["function"], "planted_here", tag + "and the same function first")
    s.press("w", "C-u", "/", "d", "e", "v", "Enter")
    s.shows("/dev", tag + "what cannot be written is told")
    s.press("Space")
    s.shows(lambda lines: "PAUSED" not in lines[-1] and clock(lines) not in (None, clock([before])), tag + "Space goes on")


def test_resizing(p):
    s = Screen("-p", str(p.pid), "-I", "200", command="top")
    s.shows(lambda lines: first_row(lines, "planted_here"), "resizing: begins")
    for size in ((160, 50), (40, 8), (20, 3), (10, 2), (1, 1), (120, 30)):
        s.tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        if size[1] >= 8 and size[0] >= 40:
            s.shows(lambda lines: len(lines) == size[1] and "q end" in lines[-1] and any("planted" in line for line in lines),
                    "resized to %dx%d: all of it is drawn anew" % size)
        else:
            t.ok(wait_for(lambda: s.pid() > 0, 5), "resized to %dx%d: lives" % size)
    s.press("q")
    s.ended(0, "after resizing")
    s.close()


def test_signals(p):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV):
        if number == signal.SIGSEGV and SANITIZED:
            continue
        name = signal.Signals(number).name
        s = Screen("-p", str(p.pid), command="top")
        s.shows("functions", name + ": begins")
        os.kill(s.pid(), number)
        s.ended(0 if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT) else 128 + number, name)
        s.close()
    s = Screen("-p", str(p.pid), command="top")
    s.shows("functions", "Ctrl-C: begins")
    s.press("C-c")
    s.ended(0, "Ctrl-C")
    s.close()


def test_hostile():
    p = busy(HOSTILE)
    s = Screen("-p", str(p.pid), "-I", "300", size=(100, 24), command="top")
    s.shows(lambda lines: first_row(lines, "planted_here"), "hostile: begins")
    s.press("3")
    s.shows("\\x1b[31mred;", "hostile: an escape in a process's name is written out")
    raw = s.tmux("capture-pane", "-p", "-e")
    t.ok("\033[31mred" not in raw, "hostile: no name commands the terminal", raw)
    t.ok(len(s.lines()) == 24, "hostile: a row is a line", "\n".join(s.lines()))
    p.kill()
    p.wait()
    s.ended(0, "hostile: it ends with what it watches")
    s.close()


def test_whole(p):
    """The machine, whatever else runs there: the program is found by its name."""
    if not WHOLE_CPUS:
        t.skip("the whole machine", "it may not be sampled here")
        return
    s = Screen("-I", "500", size=(120, 30), command="top")
    s.shows(lambda lines: "CPU" in lines[0] and "samples" in lines[0], "all: names the CPUs")
    s.press("/")
    s.tmux("send-keys", "-l", "busy_program")
    s.press("Enter")
    s.shows(lambda lines: any("planted_here" in line for line in lines), "all: has the program's function")
    s.press("3")
    s.shows(lambda lines: any(str(p.pid) in line.split() for line in lines), "all: and its process")
    s.press("4", "Escape")
    s.shows(lambda lines: "processes" in lines[2] and len(rows(lines, "CPU")) > 0, "all: cgroups have figures")
    s.press("q")
    s.ended(0, "all")
    s.close()


def test_ordinary():
    """Somebody else, with nothing but what such a user has."""
    if os.geteuid() or not shutil.which("setpriv"):
        t.skip("an ordinary user", "that takes root, and setpriv")
        return
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
    if subprocess.run([*other, CYCLADE, "--version"], capture_output=True).returncode:
        t.skip("an ordinary user", "the program is not for other users")
        return
    os.chmod(top.name, 0o755)
    p = subprocess.Popen([*other, os.path.join(top.name, "busy_program")])
    s = Screen("-I", "300", program=[*other, CYCLADE, "top"])
    s.shows(lambda lines: "your processes" in lines[0] or "CPU" in lines[0], "an ordinary user: sees what is theirs")
    s.shows(lambda lines: any("planted_here" in line for line in lines), "an ordinary user: functions")
    s.press("q")
    s.ended(0, "an ordinary user")
    s.close()
    p.kill()
    p.wait()


def test_cgroup(p):
    """A cgroup of its own, if one can be made here: only what runs in it is seen."""
    where = next((os.path.join(d, "cyclade-test-%d" % os.getpid()) for d in ("/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
                  if os.path.exists(os.path.join(d, "cgroup.procs"))), None)
    if not where:
        return t.skip("a cgroup", "no cgroup hierarchy is mounted")
    try:
        os.mkdir(where)
    except OSError as e:
        t.skip("a cgroup", "none can be made: %s" % e)
        return
    try:
        with open(os.path.join(where, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(p.pid))
        s = Screen("-G", os.path.basename(where), "-I", "300", size=(100, 24), command="top")
        s.shows(lambda lines: "cgroup" in lines[0] and first_row(lines, "planted_here"), "-G: its program is first")
        s.press("3")
        s.shows(lambda lines: len(rows(lines, "pid")) == 1, "-G: there is no other process")
        s.press("q")
        s.ended(0, "-G")
        s.close()
    finally:
        with open(os.path.join(os.path.dirname(where), "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(p.pid))
        os.rmdir(where)


def test_cost():
    """With 500 processes that sleep: at most 1 % of a core. Only where there is time, on a machine that is idle."""
    sleepers = [subprocess.Popen(["sleep", "100"]) for _ in range(500)]
    s = Screen(command="top")
    s.shows("functions", "cost: begins")

    def ticks():
        with open("/proc/%d/stat" % s.pid(), encoding="ascii", errors="replace") as f:
            return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])
    time.sleep(3)
    before = ticks()
    time.sleep(30)
    share = (ticks() - before) / os.sysconf("SC_CLK_TCK") / 30
    t.ok(share <= 0.01, "500 sleeping processes cost %.2f %% of a core" % (share * 100))
    s.press("q")
    s.ended(0, "cost")
    s.close()
    for p in sleepers:
        p.kill()
        p.wait()


def test_narrow(p):
    s = Screen("-p", str(p.pid), "-I", "500", size=(50, 12), command="top")
    s.shows(lambda lines: "0 lost  own" in lines[0] and first_row(lines, "planted_here"), "50x12: losses and the own cost stay")
    s.close()


def test_refusals(p):
    e = run("top")
    t.ok(e.returncode == 2 and "terminal" in e.stderr and "monitor --once" in e.stderr and not e.stdout,
         "without a terminal it refuses, and says what to use", (e.returncode, e.stderr))
    for term in ("dumb", ""):
        s = Screen(env=["TERM=" + term], command="top")
        s.shows("monitor --once", "TERM=%s: what to use instead" % term)
        s.ended(2, "TERM=%s" % term)
        s.close()
    for words, what in ((["x"], "no operand"), (["-p", "999999999"], "999999999"), (["-e", "cycles,instructions"], "one event"),
                        (["-p", str(p.pid), "-F", "0"], "no samples")):
        s = Screen(*words, size=(120, 24), command="top")
        s.ended(2, " ".join(words))
        t.ok(any(what in line for line in s.lines()), "%s: says why" % " ".join(words), "\n".join(s.lines()))
        s.close()


def main():
    if not shutil.which("tmux") or not shutil.which("gcc"):
        t.skip("top", "no tmux, or no gcc")
        t.done()
    if "no browse" in run("--version").stdout:
        p = run("top")
        t.ok(p.returncode == 2 and "monitor --once" in p.stderr, "without ncurses it says what to use", p.stderr)
        t.done()
    source = os.path.join(top.name, "busy.c")
    with open(source, "w", encoding="ascii") as f:
        f.write(BUSY)
    subprocess.run(["gcc", "-O1", "-o", os.path.join(top.name, "busy_program"), source], check=True)
    p = busy()
    try:
        test_refusals(p)
        test_narrow(p)
        for size in ((80, 24), (160, 50)):
            test_functions(p, size)
        test_resizing(p)
        test_signals(p)
        test_whole(p)
        if WHOLE_CPUS:
            test_cgroup(p)
    finally:
        p.kill()
        p.wait()
    test_hostile()
    test_ordinary()
    if os.environ.get("CYCLADE_LONG"):
        test_cost()
    t.done()


main()
