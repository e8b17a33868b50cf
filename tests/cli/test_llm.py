#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade help --llm: what an agent is told fits 6 kB, and each command line in it runs, one after the other, in a directory with a program."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, WHOLE_CPUS, Tap, run  # noqa: E402

t = Tap()
r = run("help", "--llm")
text = r.stdout
t.ok(r.returncode == 0 and not r.stderr and 3000 < len(text.encode()) <= 6 * 1024, "help --llm has at most 6 kB", (r.returncode, len(text)))
t.ok("\x1b" not in text and text.startswith("# "), "it is Markdown")
lines = re.findall(r"^    (cyclade .*)$", text, re.M)
t.ok(len(lines) >= 20, "it has command lines", lines)
commands = set(re.findall(r"^  (\S+) ", run("help").stdout, re.M))
t.ok({x.split()[1] for x in lines} <= commands, "of commands that there are", {x.split()[1] for x in lines} - commands)

PROGRAM = """
#include <stdlib.h>
volatile long sum;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) sum += i ^ sum >> 3; }
int main(void) { char *p = malloc(1 << 16); for (int k = 0; k < 60; k++) { hot(1000000); p[k * 64] = (char)k; } free(p); return 0; }
"""
NO_COUNTERS = "stat", "mem", "record --mem", "sharing"  # these may have nothing to count or to read, and say so
compiler = shutil.which("gcc") or shutil.which("cc")
if not compiler:
    t.skip("command lines", "no C compiler")
    t.done()
with tempfile.TemporaryDirectory(prefix="cyclade-llm-") as tmp:
    with open(os.path.join(tmp, "prog.c"), "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run([compiler, "-O1", "-g", "-o", "prog", "prog.c"], cwd=tmp, check=True)
    os.mkdir(os.path.join(tmp, "bin"))
    os.symlink(CYCLADE, os.path.join(tmp, "bin", "cyclade"))
    env = dict(os.environ, PATH=os.path.join(tmp, "bin") + ":" + os.environ["PATH"], HOME=tmp)
    for line in lines:
        p = subprocess.run(["sh", "-c", line], cwd=tmp, env=env, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        said = p.stderr + p.stdout
        if " -a " in line and not WHOLE_CPUS and p.returncode:
            t.skip(line, "not allowed to record whole CPUs")
        elif line.startswith(tuple("cyclade " + x for x in NO_COUNTERS)) and p.returncode in (2, 125):
            missing = re.search(r"\S+\.data$", line) and not os.path.exists(os.path.join(tmp, line.split()[-1]))
            t.ok(missing or re.search(r"^  \S", p.stderr, re.M), "%s: refused, with what to do" % line, said[:500])
        else:
            t.ok(p.returncode in ((0, 1) if " doctor" in line or " diff" in line or " compare" in line else (0,)) and said.strip(), line, (p.returncode, said[-500:]))
t.done()
