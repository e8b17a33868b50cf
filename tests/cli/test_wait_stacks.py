#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of waits: whole with -g and with -g=dwarf, against the depth that the program was told; one that is deeper than the copied
piece of the stack is not shown as whole without a word."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import KERNEL, Tap, run  # noqa: E402

TEXT = """
#include <stdlib.h>
#include <time.h>
volatile int sink;
__attribute__((noinline)) int down(int n)
{
	volatile char pad[64];
	int r = 0;

	pad[0] = (char)n;
	if (n)
		r = down(n - 1) + 1;
	else
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, 0);
	sink += pad[0];
	return r;
}
int main(int c, char **v)
{
	for (int i = 0; i < 20; i++)
		sink += down(atoi(v[1]) - 1);
	return 0;
}
"""
t = Tap()
if os.uname().machine not in ("x86_64", "aarch64"):
    t.skip("stacks of waits", "no unwinding on this machine")
    t.done()
    sys.exit()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-stacks-")
os.chdir(tmp.name)
with open("deep.c", "w") as f:
    f.write(TEXT)
subprocess.run(["gcc", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "deep", "deep.c"], check=True)


def waits(depth, *options):
    """Of the stack that slept longest: how often down() is in it, and whether main() is; the notes."""
    run("record", "--wait", *options, "-o", "w.data", "--", "./deep", str(depth))
    d = json.loads(run("report", "--wait", "-j", "w.data").stdout)
    slept = [s for s in d["stacks"] if s["reason"] == "sleep"]
    stack = json.dumps(slept[0]["stack"]) if slept else ""
    return stack.count("down"), "main" in stack, run("report", "--wait", "w.data").stdout


if not KERNEL:
    t.skip("stacks of waits", "no call chains at switches for this user")
    t.done()
    sys.exit()
for way in ("-g", "-g=dwarf"):
    n, main, text = waits(40, way)
    t.ok((n, main) == (40, True), f"{way}: 40 calls deep, down to main", f"{n} {main}\n{text}")
    t.ok("callers cut" not in text and "lines " not in text, f"{way}: no note on callers", text)
    n, main, text = waits(300, way)
    t.ok(0 < n < 300 and not main, f"{way}: the copy is too small for 300", f"{n} {main}")
    note = [line for line in text.splitlines() if line.startswith(" callers cut")]
    t.ok(len(note) == 1 and "--stack-size 65528" in note[0], f"{way}: that is noted, with what helps", text)
    n, main, text = waits(300, way, "--stack-size", "65528")
    t.ok((n, main) == (300, True) and "callers cut" not in text, f"{way}: a larger copy has them all", f"{n} {main}\n{text}")
    n, main, text = waits(1500, way, "--stack-size", "65528")
    t.ok("callers cut" in text and "with larger copies" not in text, f"{way}: the largest copy: no hint", text)
t.done()
