#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""stat -I of the tree on a terminal: a row for each interval, the planted shares in its columns, within 80 columns; whole
trees with -v, with -o, on a pipe."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import SPIN, SYSROOT, command, environment, planted, run_on  # noqa: E402
from tap import CYCLADE, SIMULATED, Tap  # noqa: E402

t = Tap()
if not SIMULATED:
    t.skip("simulated machines", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()


def words(*options):
    return CYCLADE, "stat", *SYSROOT, "-I", "100", *options, SPIN, "400"


def screen(machine, program, *options, columns=80):
    """The lines that a terminal gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen(command(machine, program, *words(*options)), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                         env=dict(environment(machine), LC_ALL="C.UTF-8", TERM="xterm"))
    os.close(slave)
    text = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    p.wait()
    os.close(master)
    return re.sub(r"\x1b\[[\d;]*m", "", text.decode()).replace("\r", "").splitlines()


ROW = re.compile(r" +\d+\.\d{3} s((?: +[\d.]+ %)+)(?:  (\S+) +([\d.]+) % \+-\S+)?$")
for machine, program, end in [("ivb", "dram_bound", "l3_miss_bound"), ("zen4", "even", "memory")]:
    lines = screen(machine, program)
    rows = [m for m in map(ROW.match, lines) if m]
    title = lines[0].split() if lines else []
    want = planted(machine, program)
    t.ok(title[:3] == ["time", "frontend", "bad_spec"] and title[-1] == "<==", "%s: a line of titles" % machine, lines)
    t.ok(len(rows) >= 3 and not any("├" in x for x in lines), "a row for each interval, and no tree", lines)
    one = rows[len(rows) // 2] if rows else None
    got = dict(zip(title[1:], map(float, re.findall(r"[\d.]+", one.group(1))))) if one else {}
    off = {k: (v, got.get(k)) for k, v in (("frontend", want["frontend_bound"]), ("backend", want["backend_bound"]),
                                            ("retiring", want["retiring"])) if abs(got.get(k, -1) - 100 * v) > 0.5}
    t.equal(off, {}, "the planted shares of level 1 stand in their columns")
    t.ok(any((m.group(2) or "").endswith(end) for m in rows), "and the deepest marked node", lines)
    t.ok(all(len(x) <= 80 for x in lines), "80 columns", lines)
lines = screen("ivb", "dram_bound", "-v")
t.ok(any("├" in x for x in lines) and not any(map(ROW.match, lines)), "-v: whole trees", lines[:20])
lines = screen("ivb", "dram_bound", columns=50)
t.ok(any("├" in x for x in lines), "too narrow for rows: whole trees", lines[:20])
said = run_on("ivb", "dram_bound", *words()).stderr
t.ok("├" in said or "|-" in said, "a pipe: whole trees", said)
with tempfile.TemporaryDirectory() as tmp:
    out = os.path.join(tmp, "out")
    screen("ivb", "dram_bound", "-o", out)
    with open(out, encoding="utf-8") as f:
        said = f.read()
    t.ok("├" in said or "|-" in said, "-o: whole trees", said[:500])
t.done()
