#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perf's commands, options and values, typed: each does what perf does, or is refused with what to type; none is
taken for a program or a recording, and no refusal guesses at another word."""
import os
import re
import shlex
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import recordings  # noqa: E402
from tap import ROOT, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
DATA = next(r.path for r in recordings.made("made") if r.name == "all_fields-0-le")
DRY = ("--dry-run", "-e", "cpu-clock", "--", "true")

# commands: what is said
COMMANDS = {
    "data convert --to-json": "cyclade sql -j", "evlist -v": "cyclade info", "evlist -F": "cyclade info",
    "buildid-list": "cyclade info -v", "buildid-cache --add x": "cyclade cache list", "sched record": "cyclade record --wait -- ./prog",
    "sched latency": "cyclade report --sched", "sched timehist": "cyclade report --sched", "sched map": "report --sched", "sched replay": "report --sched",
    "sched script": "report --sched", "timechart": "cyclade export --timeline-svg", "kwork": "cyclade report --wait", "lock record": "cyclade record --wait",
    "lock report": "cyclade report --wait", "lock contention": "cyclade report --wait", "trace ./prog": "cyclade stat -e raw_syscalls",
    "trace -p 1": "cyclade stat", "c2c record": "cyclade record --mem", "c2c report": "cyclade sharing", "mem record": "cyclade record --mem",
    "mem report": "cyclade mem FILE", "kmem": "kmem:kmalloc", "probe --add f": "uprobe_events", "probe -l": "uprobe_events", "ftrace": "cyclade record -g -a",
    "inject -j": "cyclade report FILE", "inject -b": "not needed", "kvm stat": "cyclade stat -a", "kvm top": "cyclade record -a", "bench": "cyclade calibrate",
    "daemon start": "cyclade monitor", "test": "cyclade doctor", "list sw": "cyclade list events", "list hw": "cyclade list events",
    "list cache": "cyclade list events cache", "list tracepoint": "cyclade list events", "list metric": "cyclade list metrics",
}
# options that are refused, by command: what is said
REFUSED = {
    "record": {"-s": "stat --per thread", "-n": "stat -e", "--sample-cpu": "-a, -C", "-r 10": "chrt", "--per-thread": "-t TID",
               "-I": "--intr-regs", "--running-time": "stat -j", "--kcore": "--vmlinux", "--namespaces": "-G CGROUP", "-S": "--overwrite", "--snapshot": "--overwrite",
               "--timestamp-filename": "-o $(date", "--control fd:1,2": "from 3 on", "-D -1": "mkfifo NAME", "-p 1": "--for 10s"},
    "report": {"--tui": "cyclade browse", "-F overhead": "--fields LIST", "-S main": "--focus RE", "-d libc": "--sort dso", "-T": "--sort pid,tid", "-D": "cyclade sql FILE",
               "-I": "cyclade info", "--header": "cyclade info", "--header-only": "cyclade info", "-M intel": "cyclade annotate", "--hierarchy": "--sort dso,function",
               "-w 1,2": "--wide", "--stats": "cyclade info", "--mmaps": "mappings", "--tasks": "threads", "--total-cycles": "cyclade blocks", "--no-inline": "--sort inline",
               "--group": "-e EVENT", "--latency": "report --wait", "-p caller": "--focus RE", "--raw-trace": "cyclade sql", "--hide-unresolved": "--hide RE",
               "-g caller": "--callers", "-g none": "no -g", "-g graph,0.5,callee": "--min PCT", "-ggraph,0.5,callee": "--min PCT", "--call-graph=caller": "--callers",
               "--time 10%/1": "FROM,TO", "--dsos libc": "--sort dso", "--symbols main": "--focus main"},
    "annotate": {"-s main": "FILE FUNCTION", "-P": "json", "-M intel": "one style", "--objdump x": "no objdump", "--data-type": "cyclade mem", "--group": "-e EVENT",
                 "--percent-type global-period": "cyclade report"},
    "diff": {"-c ratio": "--normalize", "-c wdiff": "--normalize", "-s sym": "--with"},
    "top": {"-K": "cyclade record -a", "-U": "cyclade record -a", "--stdio": "cyclade monitor --once"},
}
# options that stand for ours, or for nothing
SAME = {
    "record": {"--call-graph dwarf,16384": "--call-graph=dwarf --stack-size=16384", "--call-graph=dwarf,4096": "--call-graph=dwarf --stack-size=4096",
               "-j any,u": "--branch-filter=any,u", "-jany": "--branch-filter=any", "-i": "--no-inherit", "-N": "--no-copies", "--switch-events": "--wait", "--off-cpu": "--wait",
               "-T": "", "-P": "", "-R": "", "-B": "", "--synth all": "", "--bpf-event": "", "--aio": "", "--aio=4": "", "--affinity cpu": "", "--threads": "",
               "--tail-synthesize": "", "-TPR": "", "--user-regs=ip,sp": "--user-regs", "--intr-regs=ax": "--intr-regs", "-m 1M": "-m %d" % ((1 << 20) // os.sysconf("SC_PAGESIZE")),
               "-m 1M,2M": "-m %d" % ((1 << 20) // os.sysconf("SC_PAGESIZE")), "-m 100K": "-m %d" % ((1 << 17) // os.sysconf("SC_PAGESIZE")), "-m 16,32": "-m 16",
               "--clockid monotonic_raw": "--clockid raw", "--clockid CLOCK_MONOTONIC": "--clockid mono", "-k CLOCK_TAI": "-k tai", "-k Boottime": "-k boot",
               "-F max": "-F " + open("/proc/sys/kernel/perf_event_max_sample_rate", encoding="ascii").read().strip(), "-F 99 -F 999": "-F 999"},
    "report": {"--stdio": "", "-n": "", "--no-children": "", "-G": "-g", "-c prog": "--comm=prog", "--comms prog": "--comm=prog", "--pid 1": "--only-pid 1", "--tid 1": "--only-tid 1",
               "--percent-limit 5": "--min 5", "-t ,": "-x ,", "--symfs .": "--sysroot .", "--no-demangle": "--raw-names", "-k /proc/self/exe": "--vmlinux /proc/self/exe",
               "--force": "", "-f": ""},
    "diff": {"--period": ""},
    "top": {"-d 1": "--interval 1s", "-d0.5": "--interval 0.5s", "-z": ""},  # no terminal here: the same refusal
    "annotate": {"--stdio": "", "-l": "", "--skip-empty": "", "--no-demangle": "--raw-names"},
}


def words(text):
    return [w.strip("'") for w in text.split()]


def tail(verb):
    return {"record": DRY, "report": ("-i", DATA), "annotate": ("-i", DATA, "no_such"), "diff": (DATA, DATA), "top": ()}[verb]


WRONG = re.compile(r"unknown option|no option|takes no|needs an argument|wants|did you mean|not a number|no such command|there is no|as perf has|no such table|no list|one recording|No such file|cannot open|is no option")
ADVISED = {}  # command: the word that was refused


def advised(typed, text):
    """Keeps the commands of a refusal: up to a comma or a word of the sentence."""
    for part in re.split(r"(?<![\w/])(?=cyclade [a-z])", text.split("\n", 1)[1])[1:]:
        m = re.match(r"cyclade(?: (?!(?:has|have|shows|counts|samples|names|writes|draws|records|checks|prints|reads|opens|serves|selects|measures|decoded|keeps|or|is|in|itself)\b)"
                     r"(?:'[^']*'|[^\s,;']+))+", part)
        if m:  # else "cyclade itself"
            ADVISED.setdefault(m[0], typed)


def can_be_typed(command):
    """What is wrong with a command as it is printed, with a recording, a program and files of the reader's."""
    here = {"FILE": DATA, "./prog": "true", "OUT": "out", "FUNCTION": "main", "NAME": "page"}
    verb, *rest = [here.get(w, w) for w in shlex.split(command)[1:]]
    if verb in ("browse", "view", "monitor", "calibrate"):
        rest = ["--help"]  # a screen, a browser, a server, minutes; their options are test_hints_said.py's
    elif verb in ("record", "stat"):
        rest.insert(0, "--dry-run")
    p = run(verb, *rest)
    said = re.sub(r".*perf_event_open.*", "", p.stderr)  # a machine without that counter
    return p.stderr if WRONG.search(said) else None


GUESS = re.compile(r"did you mean|No such file|cannot open|one recording at a time|--help lists")
for typed, said in COMMANDS.items():
    p = run(*words(typed))
    t.ok(p.returncode == 2 and said in p.stderr and not GUESS.search(p.stderr) and not p.stdout, "%s: %s" % (typed, said), p)
    advised(typed, p.stderr)
for verb, rows in REFUSED.items():
    for typed, said in rows.items():
        p = run(verb, *words(typed), *tail(verb))
        hint = "directories of debug files" in p.stderr and typed.startswith("--symbols")
        t.ok(p.returncode in (2, 125) and said in p.stderr and (hint or not GUESS.search(p.stderr)), "%s %s: %s" % (verb, typed, said), p)
        advised("%s %s" % (verb, typed), p.stderr)
for verb, rows in SAME.items():
    for typed, ours in rows.items():
        a, b = (run(verb, *words(x), *tail(verb)) for x in (typed, ours))
        known = "no option" not in a.stderr and "takes no argument" not in a.stderr and "is not one of" not in a.stderr
        t.ok(known and (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr), "%s %s is %s" % (verb, typed, ours or "the default"), "%s\n%s" % (a, b))
    t.ok(verb in ("annotate", "top") or run(verb, *tail(verb)).returncode == 0, "%s without perf's words succeeds" % verb)
for command, typed in ADVISED.items():
    why = can_be_typed(command)
    t.ok(not why, "%s, of %s, can be typed" % (command, typed), why)
t.ok(len(ADVISED) > 30, "commands are found", sorted(ADVISED))
for word in ("version", "-v", "-V"):
    p = run(word)
    t.ok(p.returncode == 0 and p.stdout == run("--version").stdout and "cyclade" in p.stdout, "%s is --version" % word, p)
for typed in (("record", "-m", "M", *DRY), ("record", "-m", ",", *DRY), ("record", "--call-graph", "dwarf,", *DRY), ("record", "--call-graph", "dwarf,x", *DRY), ("record", "-F", "maximal", *DRY)):
    p = run(*typed)
    t.ok(p.returncode == 125 and "dwarf,: No such" not in p.stderr, "%s is refused" % " ".join(typed[:3]), p)
# files of those names are files
for name, verb in (("report", "mem"), ("caller", "report")):
    os.symlink(DATA, name)
    p = run(verb, *(("-g",) if name == "caller" else ()), name)
    q = run(verb, *(("-g",) if name == "caller" else ()), DATA)
    t.ok(p.returncode == q.returncode and "as perf has" not in p.stderr and "threshold" not in p.stderr, "%s %s: a recording of that name is read" % (verb, name), p)
# every row of the tables is typed above or in test_perf_options.py
with open(os.path.join(ROOT, "src", "cli", "perf_command.def"), encoding="utf-8") as f:
    rows = re.findall(r'(?m)^PERF_COMMAND\("([^"]*)"', f.read())
t.ok(set(rows) <= {x.split()[0] for x in COMMANDS}, "each command of the table is typed", set(rows) - {x.split()[0] for x in COMMANDS})
t.done()
