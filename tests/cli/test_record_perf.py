#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every option of record: what perf reads in our recording is what it reads in its own of the same program: events, names,
and call chains as deep. Programs run without address randomisation: then chains of one place have one depth.
With CYCLADE_LONG the newer perfs of CYCLADE_PERF612 and CYCLADE_PERF7 are asked, too."""
import functools
import itertools
import json
import math
import os
import pwd
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_names import few_names, short_kallsyms  # noqa: E402
from tap import CYCLADE, PERF, PROGS, SANITIZED, WHOLE_CPUS, Tap, run, wait_for  # noqa: E402

FIXED = ["setarch", "-R"]
MS = 60
LONG = bool(os.environ.get("CYCLADE_LONG"))
BUSY = [*FIXED, os.path.join(PROGS, "prog_recurse"), "10", str(MS)]
FOR_EVER = [*FIXED, os.path.join(PROGS, "prog_recurse"), "10", "3600000"]
E, DWARF, THEIRS = ["-e", "cpu-clock", "-F", "1000"], ["-g=dwarf"], ["--call-graph", "dwarf"]
t = Tap()
if not PERF or not shutil.which("setarch"):
    t.skip("what perf reads", "no perf or no setarch here")
    t.done()
tmp = tempfile.mkdtemp(prefix="cyclade-record-perf-")
os.chmod(tmp, 0o755)
os.chdir(tmp)
probe = run("record", "-q", *E, *DWARF, "-o", "probe.data", "--", *BUSY)
if probe.returncode:
    t.skip("what perf reads", "no event can be opened here: %s" % probe.stderr.strip().splitlines()[-1:])
    t.done()
newer = [os.environ.get("CYCLADE_PERF612"), os.environ.get("CYCLADE_PERF7")] if LONG else []
perfs = [p for p in (PERF, *newer) if p]
root = os.geteuid() == 0


few, short = few_names(tmp), short_kallsyms(tmp)


class Reading:
    """Of each event the depths of its chains; how many frames and programs have no name."""

    def __init__(self, perf, path, only=None):
        p = subprocess.run([perf, "script", "-i", path, *few, "--no-inline", "-F", "comm,tid,event,ip,sym,dso"], capture_output=True,
                           text=True, errors="replace", stdin=subprocess.DEVNULL)
        self.failed = p.returncode
        self.depth, self.frames, self.odd, self.nameless, self.all = {}, 0, 0, 0, 0
        of = None
        for line in p.stdout.splitlines():
            if line.startswith("\t"):  # a frame
                if of:
                    of[-1] += 1
                    self.odd += "[unknown]" in line
                continue
            head = re.match(r"\s*(\S.*?)\s+(\d+)\s+(\S+?):(?:\s|$)(.*)", line)
            if not head:
                continue
            self.all += 1
            self.nameless += head.group(1).startswith(":")
            of = self.depth.setdefault(head.group(3), []) if only in (None, head.group(1)) else None
            if of is not None:
                of.append(bool(head.group(4).strip()))  # without chains the only frame stands there
                self.odd += "[unknown]" in line
        self.n = sum(map(len, self.depth.values()))
        self.frames = sum(map(sum, self.depth.values()))

    def mean(self):
        return self.frames / max(self.n, 1)

    def chance(self):
        """The standard error of the mean: programs that do many things have few samples of each."""
        depths = [x for d in self.depth.values() for x in d]
        return statistics.stdev(depths) / math.sqrt(len(depths)) if len(depths) > 1 else 0

    def usual(self):
        """The depth that most chains of an event have, and their share."""
        return {e: (Counter(d).most_common(1)[0][0], Counter(d).most_common(1)[0][1] / len(d)) for e, d in self.depth.items()
                if len(d) > 9}

    def __str__(self):
        return "%d samples, %.2f frames, %d of %d unknown, %d of %d without a program's name, usual %s" % (
            self.n, self.mean(), self.odd, self.frames, self.nameless, self.all, self.usual())


reading = functools.lru_cache(maxsize=None)(Reading)  # of recordings that stay


def alike(ours, theirs, by_mean):
    if ours.failed or theirs.failed or not ours.n or sorted(ours.depth) != sorted(theirs.depth):
        return False
    share = lambda part, whole: part / max(whole, 1)
    if abs(share(ours.odd, ours.frames) - share(theirs.odd, theirs.frames)) > 0.1:
        return False
    if share(ours.nameless, ours.all) - share(theirs.nameless, theirs.all) > 0.1:
        return False  # perf 6.1 has less: of -C it records mappings on these CPUs only
    if by_mean:
        return abs(ours.mean() - theirs.mean()) <= by_mean * theirs.mean() + 4.5 * math.hypot(ours.chance(), theirs.chance())
    us, them = ours.usual(), theirs.usual()
    return us and all(e in us and us[e][0] == them[e][0] and abs(us[e][1] - them[e][1]) < 0.35 for e in them)


busy = None  # what runs for ever, while it is recorded: else it is stopped


def record(tool, options, target):
    if busy:
        busy.send_signal(signal.SIGCONT)
    r = subprocess.run([*tool, *options, *target], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                       env=None if tool[0] == CYCLADE else short)
    if busy:
        busy.send_signal(signal.SIGSTOP)
    return r.returncode, r.stderr


tried, recorded, files = set(), {}, itertools.count()


def by_perf(perf, options, program, until):
    """Perf's own recording, made once of the same words: exit code, what it said, the file."""
    key = (perf, *options, "--", *program, until)
    if key not in recorded:
        path = "their%d.data" % next(files)
        target = ["--", "sleep", until.rstrip("s")] if until else ["--", *program]
        # its files are found by their paths, as ours are: it need not read all of them for their build-ids
        skip = [] if "--buildid-mmap" in options else ["-B"]
        recorded[key] = (*record([perf, "record", "-q", *skip, "-o", path], options, target), path)
    return recorded[key]


def both(perf, ours, theirs, program, until, only):
    """Recordings of the same: (exit code, what it said) of ours and of theirs, theirs' path, and perf's reading of both."""
    at = [] if until else ["--", *program]
    code, said = record([CYCLADE, "record", "-q", "-o", "our.data"], [*ours, *(["--for", until] if until else [])], at)
    if SANITIZED:  # the same program wrote for perf as users have it; here it is the memory that is looked at
        return (code, said), None, None, None, None
    *their, path = by_perf(perf, theirs, program, until)
    if their[0]:
        return (code, said), their, path, None, None
    return (code, said), their, path, Reading(perf, "our.data", only), reading(perf, path, only)


def compare(name, ours, theirs=None, program=BUSY, by_mean=None, until=None, more=None, before=None, only=None):
    """theirs: None for the same words. until: attached or the whole machine, for that many seconds."""
    tried.update(re.findall(r"(?:^| )(--?[A-Za-z][a-z-]*)", name))
    theirs = ours if theirs is None else theirs
    for perf in perfs:
        label = name if perf == PERF else "%s, %s" % (name, os.path.basename(perf))
        if before:
            before()
        # On a busy machine either may have begun when the time was over, or other work interrupted one of them often: then
        # once more, for longer. What differs by itself differs again.
        for time_of in (until, "1s", "5s") if until else (None, None):
            (code, said), their, path, a, b = both(perf, ours, theirs, program, time_of, only)
            if not a or (min(a.n, b.n) > 20 and alike(a, b, by_mean)):
                break
            recorded.pop((perf, *theirs, "--", *program, time_of), None)
            reading.cache_clear()
        if SANITIZED:
            t.ok(code >= 0, "%s: no report of the sanitizer" % label, said)
            continue
        their_code, their_said = their
        if their_code and code:
            t.skip(label, "neither can record so here: %s" % (said.strip().splitlines() or ["?"])[0])
            continue
        if their_code:
            t.skip(label, "perf cannot record so here: %s" % (their_said.strip().splitlines() or ["?"])[-1])
            continue
        good = not code and alike(a, b, by_mean)
        t.ok(good, "%s: chains as deep as in perf's own recording" % label, "ours   %s\ntheirs %s\n%s" % (a, b, said))
        if more and good:
            more(perf, label, path)


def header(perf, path):
    return subprocess.run([perf, "report", "--header-only", "-i", path], capture_output=True, text=True, errors="replace").stdout


def fields(*names):
    """perf script prints these of our samples."""
    def check(perf, label, path):
        p = subprocess.run([perf, "script", "-i", "our.data", *few, "-F", "tid," + ",".join(names)], capture_output=True, text=True,
                           errors="replace", stdin=subprocess.DEVNULL)
        q = subprocess.run([perf, "script", "-i", path, *few, "-F", "tid," + ",".join(names)], capture_output=True, text=True,
                           errors="replace", stdin=subprocess.DEVNULL)
        words = [len(x.split()) for x in p.stdout.splitlines() if x.strip()], [len(x.split()) for x in q.stdout.splitlines() if x.strip()]
        t.ok(p.returncode == q.returncode and set(words[0]) & set(words[1] or [0]), "%s: perf prints %s" % (label, ", ".join(names)),
             p.stderr[-300:] + p.stdout[:300] + q.stdout[:300])
    return check


def clock(number):
    """The reference of the samples' clock to the wall clock, in the header; times by that clock, and by the wall clock."""
    began = []

    def check(perf, label, path):
        a, b = ([x for x in header(perf, f).splitlines() if re.match(r"# (clockid|reference time|  clockid|.*clock_data)", x)]
                for f in ("our.data", path))
        t.equal([re.sub(r"\d+", "N", x) for x in a], [re.sub(r"\d+", "N", x) for x in b], "%s: perf reads the clock in the header" % label)
        when = json.loads(run("info", "-j", "our.data").stdout)
        t.ok(began[-1] <= when["first_ns"] <= when["last_ns"] <= time.clock_gettime_ns(number), "%s: samples have this clock's times" % label,
             "%d %s" % (began[-1], when))
        p = subprocess.run([perf, "script", "-i", "our.data", "--ns", "-F", "tod,tid"], capture_output=True, text=True, errors="replace")
        if "tod" in p.stderr and p.returncode:
            t.skip("%s: times of day" % label, "this perf has none: %s" % p.stderr.splitlines()[0])
            return
        day = re.findall(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", p.stdout)
        made = os.stat("our.data").st_mtime
        t.ok(day and abs(time.mktime(time.strptime(day[-1], "%Y-%m-%d %H:%M:%S")) - made) < 60, "%s: perf tells when samples were taken" % label,
             p.stdout[:300] + p.stderr)
    return dict(before=lambda: began.append(time.clock_gettime_ns(number)), more=check)


G, S = [*E, *DWARF], [*E, *THEIRS]
compare("-g=dwarf", G, S)
compare("-e -F", E, E)
compare("-g=fp", [*E, "-g=fp"], [*E, "--call-graph", "fp"])
compare("-g=lbr", [*E, "-g=lbr"], [*E, "--call-graph", "lbr"])
compare("-g=dwarf --stack-size 16384", [*G, "--stack-size", "16384"], [*E, "--call-graph", "dwarf,16384"])
compare("-g=dwarf --stack-size 512", [*G, "--stack-size", "512"], [*E, "--call-graph", "dwarf,512"])
compare("-e of two events", [*DWARF, "-F", "1000", "-e", "cpu-clock,task-clock"], [*THEIRS, "-F", "1000", "-e", "cpu-clock,task-clock"])
compare("-e with chains of its own", ["-F", "1000", "-e", "task-clock,cpu-clock/call-graph=dwarf/"],
        ["-F", "1000", "-d", "-e", "task-clock,cpu-clock/call-graph=dwarf/"])  # -d: else it does not see tables of its own recording
compare("-e page-faults -c 1", ["-m", "2048", "-e", "page-faults", "-c", "1", *DWARF], ["-m", "2048", "-e", "page-faults", "-c", "1", *THEIRS], by_mean=0.1)
compare("-c", ["-e", "cpu-clock", "-c", "1000003", *DWARF], ["-e", "cpu-clock", "-c", "1000003", *THEIRS])
compare("-c --jitter", ["-e", "cpu-clock", "-c", "1000003", "--jitter", *DWARF], ["-e", "cpu-clock", "-c", "1000003", *THEIRS])
compare("-b", [*E, "-b"])
compare("--branch-filter", [*E, "--branch-filter", "any,u"], [*E, "-j", "any,u"])
compare("-d", [*G, "-d"], [*S, "-d"], more=fields("addr"))
compare("-W", [*G, "-W"], [*S, "-W"], more=fields("weight"))
compare("--phys-data", [*G, "--phys-data"], [*S, "--phys-data"], more=fields("phys_addr"))
compare("--data-page-size", [*G, "-d", "--data-page-size"], [*S, "-d", "--data-page-size"], more=fields("data_page_size"))
compare("--code-page-size", [*G, "--code-page-size"], [*S, "--code-page-size"], more=fields("code_page_size"))
compare("--buildid-mmap", [*G, "--buildid-mmap"], [*S, "--buildid-mmap"])
compare("--intr-regs", [*G, "--intr-regs"], [*S, "-I"], more=fields("iregs"))
compare("--user-regs", [*E, "--user-regs"], [*E, "--user-regs=ax,bx,cx,dx,si,di,bp,sp,ip,flags,cs,ss,r8,r9,r10,r11,r12,r13,r14,r15"]
        if os.uname().machine == "x86_64" else [*E, "--user-regs"], more=fields("uregs"))
compare("-m", [*G, "-m", "256"], [*S, "-m", "256"])
compare("-z", [*G, "-z"], [*S, "-z"])
if LONG:
    compare("-z=3", [*G, "-z=3"], [*S, "-z=3"])
for ours, theirs, number in (("mono", "CLOCK_MONOTONIC", time.CLOCK_MONOTONIC), ("raw", "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC_RAW),
                             ("boot", "CLOCK_BOOTTIME", time.CLOCK_BOOTTIME), ("tai", "CLOCK_TAI", time.CLOCK_TAI),
                             ("real", "CLOCK_REALTIME", time.CLOCK_REALTIME)):
    if not LONG and ours not in ("mono", "real"):
        continue
    compare("-k " + ours, [*G, "-k", ours], [*S, "-k", theirs], **clock(number))
compare("--user", [*G, "--user"], [*S, "--all-user"])
CALLS = [*FIXED, "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=200000"]
compare("--kernel", [*G, "--kernel"], [*S, "--all-kernel"], program=CALLS, by_mean=0.2)
compare("-D", [*G, "-D", "15"], [*S, "-D", "15"])
compare("--no-inherit", [*G, "--no-inherit"], [*S, "-i"])
compare("--warmup", [*G, "--warmup", "1"], S)
compare("--pre --post", [*G, "--pre", "true", "--post", "true"], S)
compare("--for", [*G, "--for", "1h"], S)
compare("-v", [*G, "-v"], S)
compare("--color", [*G, "--color", "never"], S)
os.mkfifo("ctl")
ctl = os.open("ctl", os.O_RDWR)
compare("--control", [*G, "--control", "ctl"], [*S, "--control", "fifo:ctl"])
os.close(ctl)

# the program executes itself again, as exe
busy = subprocess.Popen(FOR_EVER, stdout=subprocess.DEVNULL)
wait_for(lambda: "exe" in open("/proc/%d/comm" % busy.pid).read())
time.sleep(0.1)
attach = str(busy.pid)
compare("-p", [*G, "-p", attach], [*S, "-p", attach], until="0.2s")
compare("-t", [*G, "-t", attach], [*S, "-t", attach], until="0.2s")
compare("-p -D", [*G, "-p", attach, "-D", "50"], [*S, "-p", attach, "-D", "50"], until="0.2s")
if WHOLE_CPUS:
    # whatever else runs
    os.sched_setaffinity(busy.pid, {0})
    compare("-a", [*G, "-a"], [*S, "-a"], until="0.2s", only="exe", by_mean=0.2)
    compare("-C 0", [*G, "-C", "0"], [*S, "-C", "0"], until="0.2s", only="exe", by_mean=0.2)
else:
    t.skip("-a, -C", "whole CPUs may not be watched")
    tried.update(("-a", "-C"))
busy.kill()
busy.wait()
busy = None
tried.add("-u")
if root:
    nobody = pwd.getpwnam("nobody")
    busy = subprocess.Popen(FOR_EVER, stdout=subprocess.DEVNULL, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], cwd="/") \
        if os.access(PROGS, os.X_OK) and os.stat(os.path.realpath(PROGS)).st_mode & 1 else None
    wait_for(lambda: not busy or busy.poll() is not None or "exe" in open("/proc/%d/comm" % busy.pid).read())
    if busy and busy.poll() is None:
        time.sleep(0.1)
        compare("-u", [*G, "-u", "nobody"], [*S, "-p", str(busy.pid)], until="0.2s")
    else:
        t.skip("-u", "another user cannot run the program")
    if busy:
        busy.kill()
        busy.wait()
        busy = None
else:
    t.skip("-u", "not root")

# ---- programs of the distribution: stripped, their callers found by unwind tables alone
SQL = "with recursive c(x) as (select 1 union all select x+1 from c where x < 300000) select sum(length(hex(x))) from c order by 1;"
PY = "import re\nfor i in range(%d): re.sub('(a|b)+c', lambda m: m.group(0).upper(), 'ababc' * 40)" % 1500
for name, cmd in (("sqlite3", ["sqlite3", ":memory:", SQL]), ("python", [sys.executable, "-S", "-c", PY])):
    if not shutil.which(cmd[0]):
        t.skip("-g=dwarf of %s" % name, "no %s here" % name)
        continue
    compare("-g=dwarf of %s" % name, ["-e", "cpu-clock", "-F", "2000", *DWARF], ["-e", "cpu-clock", "-F", "2000", *THEIRS],
            program=[*FIXED, *cmd], by_mean=0.15)

# ---- is there an option that nobody asked perf about?
ELSEWHERE = {
    "--help": "no recording", "--dry-run": "no recording", "--sysroot": "another machine's", "--model": "--account's", "--models": "--account's",
    "--account": "needs a PMU: tests/sim/test_account.py", "-G": "needs a cgroup: tests/cli/test_cgroup.py", "-o": "every case", "-q": "every case",
    "--ibs": "needs AMD's: tests/sim/test_ibs.py", "--mem": "needs a PMU: tests/sim/test_ibs.py",
    "--keep": "perf has no such option: tests/sim/test_ibs.py", "--fields": "perf has no such option: tests/sim/test_ibs.py", "--ibs-events": "perf has no such option: tests/cli/test_own_events.py", "--wait": "perf has no such option: tests/cli/test_wait.py",
    "--wait-chains": "perf has no such option: tests/cli/test_wait.py",
    "--python": "perf has no such option: tests/cli/test_python.py",
    "--no-copies": "perf has no such option: tests/cli/test_copies.py", "--copies-size": "perf has no such option: tests/cli/test_copies.py",
    "--copies-age": "perf has no such option: tests/cli/test_copies.py",
    "--filter": "tests/cli/test_filter.py counts as perf does", "--all-cgroups": "tests/cli/test_cgroup.py asks perf",
    "--switch-output": "files of their own: tests/cli/test_series.py", "--switch-max-files": "the same", "--max-size": "the same",
    "--overwrite": "the same", "--snapshot-if": "perf has no such option: tests/cli/test_series.py",
    "--follow": "perf has no such option: tests/cli/test_ended.py", "--heap": "perf has no such option: tests/cli/test_heap.py",
}
listed = re.findall(r"^ {2}(?:(-\w), |    )(--[a-z-]+)", run("record", "--help").stdout, re.M)
missing = [(s or long) for s, long in listed if not {s, long} & (tried | set(ELSEWHERE))]
t.ok(len(listed) > 30 and not missing, "every option of record was tried", missing)
os.chdir("/")
shutil.rmtree(tmp)
t.done()
