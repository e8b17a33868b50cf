#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tutorial is true: every command of its pages runs, and prints the names and verdicts that the page shows, in that order. Numbers
may differ, and `...` stands for any lines. The ten tasks of its first page run, and what the pages for those who come from
other tools (doc/from-*.md) read a recording with.

Comments of a page, before a block: <!-- simulated: MACHINE PROGRAM [SETTINGS] -->, <!-- same: WORDS; WORDS --> (only printed lines that begin with
these words are compared), <!-- needs: PROGRAM -->."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import sim  # noqa: E402
from shown import missing  # noqa: E402
from tap import CYCLADE, KERNEL, ROOT, SIMULATED, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
PATH = os.path.dirname(CYCLADE) + ":" + os.environ.get("PATH", "/usr/bin:/bin")
def steps(text):
    """(command, lines shown, settings) of each command of a page, in order."""
    found, notes = [], {}
    for line in text.splitlines():
        note = re.match(r"<!-- (\w+): (.*?) *-->$", line)
        if note:
            notes = dict(notes, **{note[1]: note[2]})
        elif line.startswith("    $ "):
            found.append((line[6:], [], notes))
        elif line.startswith("    ") and found:
            found[-1][1].append(line[4:])
        elif line and not line.startswith("    "):
            notes = {}
    for command, shown, note in found:
        same = [w.strip() for w in note.get("same", "").split(";") if w.strip()]
        yield command, [s for s in shown if s.strip() != "..." and (not same or any(s.strip().startswith(w) for w in same))], note


def play(command, note, folder):
    env = dict(os.environ, PATH=PATH)
    if "simulated" in note:
        machine, program, *settings = note["simulated"].split()
        words = shlex.split(command)
        if words[1] in ("stat", "record"):  # what measures
            return sim.run_on(machine, program, "env", "-C", folder, CYCLADE, words[1], *sim.SYSROOT, *words[2:], settings=" ".join(settings))
    return subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, errors="replace", capture_output=True, timeout=300,
                          stdin=subprocess.DEVNULL)


def why_not(program):
    """Why a page cannot use it; None: it can. Debian's node has no names of its own functions."""
    path = shutil.which(program)
    if not path:
        return "no %s here" % program
    if program != "node":
        return None
    with open(os.path.realpath(path), "rb") as f:
        return None if b"Builtins_ArrayIncludesSmiOrObject" in f.read() else "this node has no names of its own functions"


def try_page(path, folder):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    played = 0
    for command, shown, note in steps(text):
        if command.startswith("cp "):  # the test has copied them
            continue
        played += 1
        needs = note.get("needs")
        lacks = needs and why_not(needs)
        if lacks:
            t.skip("%s: %s" % (name, command), lacks)
        elif "simulated" in note and not SIMULATED:
            t.skip("%s: %s" % (name, command), "the simulated PMU cannot be preloaded")
        else:
            p = play(command, note, folder)
            lost = missing(shown, p.stdout + p.stderr)
            t.ok(p.returncode == 0 and lost is None, "%s: %s" % (name, command),
                 "exit %d; not printed: %s\n%s%s" % (p.returncode, lost, p.stdout, p.stderr))
    return played


def try_tasks(folder):
    with open(os.path.join(ROOT, "doc", "tutorial", "README.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| ([^|]*) \| (`cyclade .*`) \|$", f.read(), re.M)
    t.ok(len(rows) == 10, "ten tasks", rows)
    for task, cell in rows:
        commands = re.findall(r"`(cyclade [^`]*)`", cell)
        said = [play(c, {}, folder) for c in commands]
        t.ok(len(commands) <= 2 and all(p.returncode in (0, 3) and p.stdout.strip() or not p.returncode for p in said), "%s: %s" % (task, cell),
             "\n".join(p.stdout + p.stderr for p in said))


def try_others(folder):
    """What reads a recording or the program's own tables runs; tests/cli/test_hints_said.py judges the others' options."""
    for page in sorted(glob.glob(os.path.join(ROOT, "doc", "from-*.md"))):
        with open(page, encoding="utf-8") as f:
            commands = sorted(set(re.findall(r"`(cyclade (?:report|annotate|diff|sql|list|explain|info|doctor)\b[^`]*)`", f.read())))
        wrong = [(c, p.stderr) for c in commands if not re.search("--account|--sched|SOURCE|sql$", c) for p in [play(c, {}, folder)] if p.returncode]
        t.ok(commands and not wrong, "%s: %d commands run" % (os.path.basename(page), len(commands)), wrong)


def main():
    if not shutil.which("cc") or not KERNEL:
        t.skip("the tutorial", "no compiler here" if KERNEL else "waits cannot be recorded with the rights here")
        return
    folder = os.path.join(tmp.name, "tutorial")
    shutil.copytree(os.path.join(ROOT, "examples", "tutorial"), folder)
    t.ok(missing(["a 1 b"], "x\na 22 b\n") is None and missing(["a faster"], "a slower") == "a faster" and missing(["b", "a"], "a\nb") == "a",
         "what is missing is seen")
    pages = sorted(p for p in glob.glob(os.path.join(ROOT, "doc", "tutorial", "*.md")) if os.path.basename(p) != "README.md")
    t.ok(len(pages) == 8, "eight cases", pages)
    for page in pages:
        t.ok(try_page(page, folder) >= 2, "%s has steps" % os.path.basename(page))
    try_page(os.path.join(ROOT, "doc", "tutorial", "README.md"), folder)
    try_tasks(folder)
    try_others(folder)


main()
t.done()
