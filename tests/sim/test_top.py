#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade top` on simulated machines: the planted shares are on the screen, in short above the functions and as a tree to
fold and unfold, with error bars; the marked path leads where it must."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import screen  # noqa: E402
from screen import Screen  # noqa: E402
from sim import SPIN, command, environment, planted  # noqa: E402
from tap import CYCLADE, SIMULATED, Tap, run  # noqa: E402

CASES = [("spr", "dram_bound", "l3_miss_bound"), ("zen4", "backend_bound_cpu", "backend_bound_cpu")]
NODE = re.compile(r"^[\s▸▾]*([a-z][\w.]*)\s+(-?[\d.]+) %(?: \+-<?([\d.]+))?")
t = Tap()
tmp = tempfile.TemporaryDirectory()
screen.begin(t, tmp.name)


def nodes_of(lines):
    found = (NODE.match(line.lower()) for line in lines)
    return {m.group(1): (float(m.group(2)) / 100, float(m.group(3) or 0) / 100) for m in found if m}


def wrong(nodes, want):
    return [(n, nodes[n], want[n]) for n in want if n in nodes and abs(nodes[n][0] - want[n]) > max(2 * nodes[n][1], 0.02)]


def check(machine, program, where):
    p = subprocess.Popen([SPIN, "600000"])
    want = planted(machine, program)
    env = environment(machine)
    s = Screen("--sysroot", "@SYSROOT@", "-I", "500", "-p", str(p.pid), size=(100, 50),
               env=["%s=%s" % (k, env[k]) for k in ("SIM_TREE", "SIM_OPTIONS", "SIM_LIB") if k in env],
               program=command(machine, program, CYCLADE, "top"))
    name = "%s %s" % (machine, program)

    def good(lines):
        nodes = nodes_of(lines)
        return len([n for n in want if n in nodes]) >= 4 and not wrong(nodes, want)
    s.shows(lambda lines: any(line.strip().startswith(where) and "<==" in line for line in lines), name + ": the path leads to " + where)
    s.shows(good, name + ": shares above the functions are those planted")
    s.shows(lambda lines: any("main" in line or "burn" in line for line in lines), name + ": and the hot function is there")
    s.press("2")
    s.shows(lambda lines: "node" in lines[2] and good(lines), name + ": so are those of the tree")
    s.shows(lambda lines: any(where in line.lower() and "<==" in line for line in lines), name + ": with the path")
    s.press("g")
    total = int(re.search(r"of (\d+)", s.lines()[-1]).group(1))
    for i in range(total):
        if "▾" in s.lines()[3 + i]:
            break
        s.press("j")
    s.press("Enter")
    s.shows(lambda lines: int(re.search(r"of (\d+)", lines[-1]).group(1)) < total, name + ": Enter folds")
    s.press("Enter")
    s.shows(lambda lines: int(re.search(r"of (\d+)", lines[-1]).group(1)) == total, name + ": and unfolds")
    s.press("q")
    s.ended(0, name)
    s.close()
    p.kill()
    p.wait()


def main():
    if not SIMULATED or not shutil.which("tmux") or "no browse" in run("--version").stdout:
        t.skip("top on simulated machines", "no tmux, no ncurses, or a sanitizer's library")
        t.done()
    for machine, program, where in CASES:
        check(machine, program, where)
    t.done()


main()
