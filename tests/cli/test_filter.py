#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--filter of tracepoints: what is wrong is found before anything is opened, with a caret below the place; what is right selects what perf
selects by the same text, on a program whose calls are known."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import PERF, Tap, run  # noqa: E402

t = Tap()
EXIT = 125  # nothing was run
tmp = tempfile.TemporaryDirectory(prefix="cyclade-filter-")
os.chdir(tmp.name)

# a machine with two tracepoints
os.makedirs("root/sys/devices/system/cpu")
os.makedirs("root/proc")
open("root/sys/devices/system/cpu/online", "w").write("0-1\n")
open("root/proc/cpuinfo", "w").write("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\n\n")
for name, number, fields in (
        ("sys_enter_read", 5, "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"
         "\tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;\n\tfield:const char * path;\toffset:40;\tsize:8;\tsigned:0;\n"
         "\tfield:long offset;\toffset:48;\tsize:8;\tsigned:1;\n\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n"),
        ("sys_enter_write", 6, "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n")):
    d = "root/sys/kernel/tracing/events/syscalls/" + name
    os.makedirs(d)
    open(d + "/id", "w").write("%d\n" % number)
    open(d + "/format", "w").write("name: %s\nID: %d\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n%s\nprint fmt: \"\"\n" % (name, number, fields))


def asked(text, *more, event="syscalls:sys_enter_read"):
    return run("record", "--dry-run", "--sysroot", "root", "-e", event, "--filter", text, *more, "--", "true")


WRONG = [  # text, column of the caret, what is said
    ("coun > 100", 1, "did you mean count?"), ("count > 100 && fdd == 1", 16, "did you mean fd?"), ("count = 1", 7, "did you mean ==?"),
    ("count", 6, "a comparison belongs here"), ("count >", 8, "where a value belongs"), ("count > x", 9, "a number belongs here"),
    ("count ~ 5", 7, "~ is of texts"), ("comm == git", 9, "in quotes"), ('comm == "git', 9, "no end"), ('count == "5"', 10, "is a number"),
    ("comm == 5", 9, "is a text"), ('comm < "a"', 6, "==, != and ~"), ("(count > 1", 1, "not closed"), ("count > 1)", 10, "no parenthesis is open"),
    ("count > 1 & fd == 1", 11, "&& or ||"), ("count > 1 fd == 1", 11, "&& or ||"), ("count > -1", 9, "no sign"), ("fd > 99999999999999999999", 6, "no number"),
    ("count > 0x", 9, "no number"), ("count > 09", 9, "no number"), ("args == 1", 1, "is an array"), ("", 1, "ends where a field"), ("count > 1 &&", 13, "ends where a field"),
    ("&& count > 1", 1, "a field's name belongs here"), ("fd.ustring == \"x\"", 3, "no text"), ("(" * 70 + "fd == 1" + ")" * 70, 65, "parentheses in each other"),
    ('path ~ "%s"' % ("x" * 300), 8, "at most 255 bytes"),
]
for text, column, says in WRONG:
    p = asked(text)
    lines = p.stderr.splitlines()
    caret = next((l.index("^") for l in lines if l.strip() == "^"), None)
    shown = next((lines[i - 1] for i, l in enumerate(lines) if l.strip() == "^"), "")
    at = caret - 2 if caret is not None and shown.startswith("  ") else caret
    place = (column - 1) - max(0, column - 1 - 60) if column - 1 > 60 else column - 1
    t.ok(p.returncode == EXIT and says in p.stderr and "(column %d)" % column in p.stderr and at == place, "%s: %s, column %d" % (text[:40], says, column), p.stderr)
RIGHT = ["count > 100", "count>100&&fd==1", 'count > 100 && comm ~ "git*"', "!(fd == 1) || count & 0x80", "((fd == 1 || fd == 2) && !(count <= 10))", "offset < -5", "CPU == 1",
         "common_type != 3", "path.ustring ~ '*x*'", 'path != "a && b"', "fd == 017", "count >= 18446744073709551615", "common_cpu == 0 || common_comm == 'x'"]
for text in RIGHT:
    p = asked(text)
    t.equal(p.returncode, 0, "is right: %s" % text) if p.returncode == 0 else t.ok(False, "is right: %s" % text, p.stderr)
p = run("record", "--dry-run", "--sysroot", "root", "-e", "syscalls:sys_enter_*", "--filter", "count > 1", "--", "true")
t.ok("sys_enter_write" in p.stderr and "no field is 'count'" in p.stderr, "each event of the -e before it has to have the field", p.stderr)
p = run("record", "--dry-run", "--sysroot", "root", "--filter", "count > 1", "-e", "syscalls:sys_enter_read", "--", "true")
t.ok(p.returncode == EXIT and "belongs behind the -e" in p.stderr, "it belongs behind its -e", p.stderr)
p = asked("count > 1", event="cpu-clock")
t.ok(p.returncode == EXIT and "no tracepoint" in p.stderr, "and to a tracepoint", p.stderr)
p = run("stat", "-e", "cpu-clock", "--filter", "count > 1", "--", "true")
t.ok(p.returncode == EXIT and "no tracepoint" in p.stderr, "stat says the same", p.stderr)

# ---- against perf, by the kernel
PROGRAM = """import os
def call(f, *words):
    try:
        f(*words)
    except OSError:
        pass
for i in range(40):
    call(os.getpgid, i)
    call(os.lseek, 0, i, i % 3)
"""
WORK = [sys.executable, "-c", PROGRAM]
EVENT = "syscalls:sys_enter_getpgid"
if not PERF or subprocess.run([PERF, "stat", "-e", EVENT, "--filter", "pid > 1", "true"], capture_output=True).returncode:
    t.skip("filters of the kernel", "perf cannot count tracepoints here")
    t.done()
FILTERS = [(f % dict(f="pid"), EVENT) for f in (
    "%(f)s > 10", "%(f)s >= 10", "%(f)s < 10", "%(f)s <= 10", "%(f)s == 10", "%(f)s != 10", "%(f)s & 1", "%(f)s & 0x18", "%(f)s > 0x10", "%(f)s > 017",
    "%(f)s > 10 && %(f)s < 20", "%(f)s < 5 || %(f)s > 30", "!(%(f)s < 5)", "!(%(f)s < 5 || %(f)s > 30)", "(%(f)s > 5) && (%(f)s < 9 || %(f)s == 20)",
    "%(f)s > 1 && %(f)s > 2 && %(f)s > 3", "%(f)s == 1 || %(f)s == 2 || %(f)s == 3", "%(f)s > 100", "%(f)s >= 0", "%(f)s > 3 && common_pid > 1", "common_pid == 1",
    'comm ~ "py*"', 'comm ~ "*yth*"', 'comm == "nobody"', 'comm != "nobody" && %(f)s < 7', 'COMM ~ "p*" && %(f)s == 4')]
FILTERS += [(f, "syscalls:sys_enter_lseek") for f in ("offset > 10 && whence == 1", "whence != 2 && fd == 0", "offset == 7 || (whence == 2 && offset > 30)", "fd == 0 && offset & 4")]


def count_of(text, event):
    m = re.search(r"([\d,.]+)\s+" + re.escape(event), text)
    return int(m[1].replace(",", "")) if m else text


for text, event in FILTERS:
    # interpreters of different versions may make such a call or two as they begin: the same one each time
    theirs = subprocess.run([PERF, "stat", "-x", ";", "-e", event, "--filter", text, *WORK], capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr
    want = next((int(l.split(";")[0]) for l in theirs.splitlines() if event in l), theirs)
    p = run("stat", "--format", "csv", "-e", event, "--filter", text, "--", *WORK, stdin=subprocess.DEVNULL)
    rows = [l.split(",") for l in (p.stdout + p.stderr).splitlines() if "," in l]
    head = next((r for r in rows if "event" in r), [])
    got = next((int(float(r[head.index("value")])) for r in rows if event in r and head), p.stderr)
    t.equal(got, want, "stat --filter '%s'" % text)
p = run("record", "-q", "-o", "f.data", "-e", EVENT, "--filter", "pid >= 10 && pid < 15", "-e", "syscalls:sys_enter_lseek", "--", *WORK, stdin=subprocess.DEVNULL)
script = subprocess.run([PERF, "script", "-F", "event,trace", "-i", "f.data"], capture_output=True, text=True).stdout
t.equal(sorted(re.findall(r"getpgid.*pid: (0x\w+)", script)), ["0x%08x" % x for x in range(10, 15)], "record takes those alone")
t.ok(script.count("lseek") >= 20, "... and the events without a filter whole", script[:500])
t.done()
