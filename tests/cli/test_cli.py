#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The frame around the commands: words, options, help, manual, completions, streams, exit codes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, ROOT, Tap, run  # noqa: E402

t = Tap()
commands = re.findall(r"^COMMAND\(\w+, (\w+),", open(os.path.join(ROOT, "src/cli/commands.def")).read(), re.M)

r = run()
t.equal((r.returncode, r.stdout), (2, ""), "no command: usage on standard error, exit 2")
t.ok("usage: cyclade" in r.stderr, "and it is a usage", r.stderr)
r = run("--help")
t.equal((r.returncode, r.stderr), (0, ""), "--help: standard output, exit 0")
t.ok(len(r.stdout.splitlines()) <= 28, "the overview is a short screen", r.stdout)
t.ok(max(map(len, r.stdout.splitlines())) <= 80, "the overview fits 80 columns", r.stdout)
for c in commands:
    t.ok(c in r.stdout, "the overview names %s" % c)
r = run("help")
t.ok(all(re.search(r"^  %s +\S" % c, r.stdout, re.M) for c in commands), "help alone tells what each command does", r.stdout)
t.ok(max(map(len, r.stdout.splitlines())) <= 80, "in 80 columns", r.stdout)
r = run("--version")
t.ok(re.match(r"cyclade \d+\.\d+\.\d+\nwith:", r.stdout), "--version says what is in", r.stdout)

# [words, exit code, what standard error says]
for words, code, text in [
    (["repotr"], 2, "did you mean report?"),
    (["xyzzy"], 2, "--help"),
    (["report", "--callgraph"], 2, "did you mean --call-graph?"),
    (["report", "--nosuchthing"], 2, "report --help"),
    (["report", "-Z"], 2, "no option -Z"),
    (["report", "--limit"], 2, "--limit needs N"),
    (["report", "--limit", "many"], 2, "not a count"),
    (["report", "--color", "pink"], 2, "not one of auto|always|never"),
    (["report", "--children=yes"], 2, "takes no argument"),
    (["info", "--format", "folded"], 2, "has no format 'folded'"),
    (["explain", "--format", "folded", "IPC"], 2, "has no format 'folded'"),
    (["annotate", "--format", "folded"], 2, "has no format 'folded'"),
    (["doctor", "--format", "folded"], 2, "has no format 'folded'"),
    (["stat", "--format", "folded", "-e", "cs", "--", "true"], 125, "has no format 'folded'"),
    (["record", "--frequency", "1"], 125, "did you mean --freq?"),
    (["record", "--for", "5"], 125, "a time with a unit"),
    (["record", "-g=magic", "--", "true"], 125, "fp|dwarf|unwind|lbr"),
    (["run", "--for", "1e9s", "--", "true"], 125, "a time"),
    (["--version", "--format", "json"], 2, "--version takes nothing more"),
    (["completion"], 2, "bash, zsh or fish"),
    (["completion", "tcsh"], 2, "bash, zsh or fish"),
    (["help", "recrod"], 2, "did you mean record?"),
    (["info", "/nonexistent/x.data"], 2, "/nonexistent/x.data"),
    (["report", "/nonexistent/x.data"], 2, "/nonexistent/x.data"),
]:
    r = run(*words)
    name = " ".join(words)
    t.equal((r.returncode, r.stdout), (code, ""), "%s: exit %d, nothing on standard output" % (name, code))
    t.ok(text in r.stderr and len(r.stderr.splitlines()) <= 3, "%s: says '%s' in three lines at most" % (name, text),
         r.stderr)

for c in commands:
    r = run(c, "--help")
    t.equal((r.returncode, r.stderr), (0, ""), "%s --help" % c)
    t.ok(max(map(len, r.stdout.splitlines())) <= 80, "%s --help fits 80 columns" % c, r.stdout)
    r = run("help", c)
    t.ok(r.returncode == 0 and "SYNOPSIS" in r.stdout and "@OPTIONS@" not in r.stdout, "help %s is a page" % c, r.stderr)
    t.ok("\x1b" not in r.stdout, "help %s: no escapes in a pipe" % c)
r = run("help", "report", "--color", "always")
t.ok("\x1b[1m" in r.stdout, "--color always colours a pipe", r.stdout[:80])
r = run("help", "report", env=dict(os.environ, CLICOLOR_FORCE="1"))
t.ok("\x1b[1m" in r.stdout, "CLICOLOR_FORCE colours a pipe", r.stdout[:80])

r = run("help", "report", stdout=open("/dev/full", "w"), capture_output=False, stderr=subprocess.PIPE)
t.ok(r.returncode == 2 and "No space left" in r.stderr, "a full disk is said", r.stderr)
r = run("--help", stdout=open("/dev/full", "w"), capture_output=False, stderr=subprocess.PIPE)
t.ok(r.returncode == 2 and "No space left" in r.stderr, "a full disk is said by --help too", r.stderr)

for shell in ["bash", "zsh", "fish"]:
    script = run("completion", shell).stdout
    t.ok(all(c in script for c in commands), "the %s completion names every command" % shell)
    if not shutil.which(shell):
        t.skip("%s reads its completion" % shell, "no %s here" % shell)
        continue
    with tempfile.NamedTemporaryFile("w", suffix="." + shell) as f:
        f.write(script)
        f.flush()
        with tempfile.TemporaryDirectory() as home:  # fish makes its folders where they are missing
            check = subprocess.run([shell, "-n", f.name], capture_output=True, text=True,
                                   env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home})
        t.equal((check.returncode, check.stderr), (0, ""), "%s reads its completion" % shell)
        if shell == "bash":
            asked = subprocess.run(["bash", "-c", "source %s; COMP_WORDS=(cyclade report --ch); COMP_CWORD=2; _cyclade; "
                                    "echo ${COMPREPLY[*]}" % f.name], capture_output=True, text=True)
            t.equal(asked.stdout.strip(), "--children", "bash completes an option")
            path = {**os.environ, "PATH": os.path.dirname(CYCLADE) + ":" + os.environ["PATH"], "CYCLADE_OPTS": "--model=spr"}
            for words, at, want in (("list ''", 2, "groups"), ("completion ''", 2, "zsh"), ("stat -M Bottl", 3, "Bottlenecks"), ("stat --node Branch_M", 3, "Branch_Mispredicts")):
                asked = subprocess.run(["bash", "-c", "source %s; COMP_WORDS=(cyclade %s); COMP_CWORD=%d; _cyclade; "
                                        "echo ${COMPREPLY[*]}" % (f.name, words, at)], capture_output=True, text=True, env=path)
                t.ok(want in asked.stdout.split(), "bash completes cyclade %s: %s" % (words, want), asked.stdout)
            for verb, word in (("report", "folded"), ("blocks", "dot"), ("calls", "svg"), ("run", "markdown")):
                asked = subprocess.run(["bash", "-c", "source %s; COMP_WORDS=(cyclade %s --format ''); COMP_CWORD=3; _cyclade; "
                                        "echo ${COMPREPLY[*]}" % (f.name, verb)], capture_output=True, text=True)
                said = run(verb, "--help").stdout
                want = re.search(r"--format ([a-z|]+)", said).group(1).split("|")
                t.ok(asked.stdout.split() == want and word in want, "bash completes the formats of %s" % verb, asked.stdout + str(want))
for page in commands:
    with open(os.path.join(ROOT, "doc", "cyclade-%s.1.md" % page), encoding="utf-8") as f:
        code = {line for line in f.read().splitlines() if line.startswith("    ")}
    for width in (60, 80):
        said = run("help", page, env=dict(os.environ, COLUMNS=str(width))).stdout.splitlines()
        wide = [x for x in said if len(x) > width and (width == 80 or x not in code) and len(x.split()) > 1 and
                not re.match(r" +(-\w, )?--[\w-]+\S* ?\S*$", x)]
        t.ok(len(said) > 10 and not wide, "help %s: %d columns, but for commands and tables" % (page, width), "\n".join(wide[:5]))
for page in ("info", "list"):
    said = run("help", page).stdout
    mark = [x for x in said.splitlines() if "* " in x]
    t.ok(len(mark) > 3 and all(x.startswith("    * ") for x in mark), "help %s: items of lists begin lines" % page, said)
# standard descriptors that are closed stay what they are: no socket or file of ours is read or written in their place
for words in ("stat --import - --model skl", "report -", "info -", "sql - 'select 1'"):
    r = subprocess.run(["sh", "-c", '"$0" %s <&-' % words, CYCLADE], capture_output=True, text=True, timeout=600)
    t.ok(r.returncode == 2 and "standard input" in r.stderr, "%s: without standard input" % words, (r.returncode, r.stderr))
r = subprocess.run(["sh", "-c", '"$0" list events --model skl >&-', CYCLADE], capture_output=True, text=True, timeout=600)
t.ok(r.returncode and "Bad file descriptor" in r.stderr, "list: without standard output", (r.returncode, r.stderr))
r = subprocess.run(["sh", "-c", '"$0" stat -e task-clock -- sh -c "test ! -e /proc/self/fd/0" <&-', CYCLADE], capture_output=True, text=True, timeout=600)
t.ok(r.returncode == 0 or "perf_event_open" in r.stderr, "a measured program has what it would have: none", (r.returncode, r.stderr))
r = run("report", "/nonexistent/" + "a-directory/" * 8 + "file", env=dict(os.environ, COLUMNS="60"))
lines = r.stderr.splitlines()
t.ok(len(lines) > 1 and lines[1].startswith("         ") and all(len(x) <= 60 or " " not in x.strip() for x in lines[1:]),
     "messages are wrapped to the terminal", r.stderr)
r = run("report", "/nonexistent/" + "a-directory/" * 8 + "file")
t.equal(len(r.stderr.splitlines()), 1, "messages that no terminal shows are a line each")
with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
    f.write("1000,,CPU_CLK_UNHALTED.THREAD,100,100.00,,\n400,,CYCLE_ACTIVITY.STALLS_L3_MISS,100,100.00,,\n")
    f.flush()
    for verb, words in (("explain", ["DRAM_Bound"]), ("stat", ["--import", f.name, "--node", "DRAM_Bound", "--smt", "off", "-j"])):
        r = run(verb, "--model", "skl", *words)
        t.ok(r.returncode == 0 and "l3_miss_bound" in r.stdout.lower(), "%s finds a node by its name in other tools" % verb, r.stdout[:300] + r.stderr)
        for slip, meant in (("DRAM_Bnd", "DRAM_Bound"), ("Memory_Bnd", "Memory_Bound")):
            r = run(verb, "--model", "skl", *(slip if x == "DRAM_Bound" else x for x in words))
            t.ok(r.returncode and "did you mean %s?" % meant in r.stderr, "%s %s: the node that is meant" % (verb, slip), r.stderr)
t.done()
