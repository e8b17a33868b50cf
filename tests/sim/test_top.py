#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cyclade top` on simulated machines: the planted shares are on the screen, in short above the functions and as a tree to
fold and unfold, with error bars; the marked path leads where it must; so is the traffic of L3 caches and memory."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import screen  # noqa: E402
from machines_made import rome  # noqa: E402
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
    s = Screen("--sysroot", "@SYSROOT@", "-I", "500", "-p", str(p.pid), size=(130, 50),
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
    s.press(" ")  # else nodes open and close meanwhile
    s.shows(lambda lines: "PAUSED" in lines[-1], name + ": the interval is held")
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


def number(text):
    """"12.5 G" as a number; of "51.2 %" the share."""
    m = re.search(r"([\d,.]+) ?([kMGT%]?)(?: |$)", text)
    return float(m.group(1).replace(",", "")) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "%": 0.01}[m.group(2)] if m else None


def check_machine():
    """L3 caches, channels and sockets have their planted traffic, and the counters of the cores are left to the tree."""
    text, rates = rome()
    machine = os.path.join(tmp.name, "rome.tab")
    with open(machine, "w", encoding="utf-8") as f:
        f.write(text)
    p = subprocess.Popen([SPIN, "600000"])
    env = environment(machine)
    s = Screen("--sysroot", "@SYSROOT@", "-I", "500", "-p", str(p.pid), size=(120, 60),
               env=["%s=%s" % (k, env[k]) for k in ("SIM_TREE", "SIM_OPTIONS", "SIM_LIB") if k in env],
               program=command(machine, "even", CYCLADE, "top"))
    s.press("5")
    misses = rates["l3_misses"] / rates["l3_lookup_state.all_l3_req_typs"]
    dram = 64e9 * sum(rates["dram_channel_data_controller_%d" % c] for c in range(8))

    def planted_at(lines, place, metric, want, within):
        found = [line for line in lines if line.split()[:2] == place.split() and " " + metric + " " in line]
        got = [number(line.split(metric, 1)[1].strip()) for line in found]
        return len(got) == 1 and got[0] is not None and abs(got[0] - want) <= within * want
    for place, metric, want, within in (("l3 10", "miss_ratio", misses, 0.02), ("l3 13", "miss_ratio", misses, 0.02),
                                        ("l3 12", "misses/s", 1e9 * rates["l3_misses"], 0.05),
                                        ("socket 0/0", "dram_bytes/s", dram, 0.1), ("socket 1/0", "dram_bytes/s", dram, 0.1)):
        s.shows(lambda lines: planted_at(lines, place, metric, want, within), "rome: %s of %s is what was planted, %.4g" % (metric, place, want))
    s.shows(lambda lines: any("\u2588" in line for line in lines), "rome: with the intervals before as a line")
    t.ok(not any("instructions" in line or "cpi" in line.split() for line in s.lines()), "rome: no metric takes the cores' counters", "\n".join(s.lines()))
    s.press("q")
    s.ended(0, "rome")
    s.close()
    p.kill()
    p.wait()


def main():
    if not SIMULATED or not shutil.which("tmux") or "no browse" in run("--version").stdout:
        t.skip("top on simulated machines", "no tmux, no ncurses, or a sanitizer's library")
        t.done()
    for machine, program, where in CASES:
        check(machine, program, where)
    check_machine()
    t.done()


main()
