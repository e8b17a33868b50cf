#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Code that a runtime made and did not name: report and run show which switch names it, for that runtime.

tests/progs/made.c runs code that it made; it is called as runtimes are, or maps a file that is called as their library is.
Node and Python are asked themselves, where they are installed: with the switch that was shown, names are there."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PROGS, Tap, run  # noqa: E402

MADE = os.path.join(PROGS, "prog_made")
MS = "100"

JS = """
function hot_js(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
const end = process.cpuUsage().user + 400000; let x = 0;
while (process.cpuUsage().user < end) x += hot_js(100000);
"""

PY = """
import time
def hot_py(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s
end = time.process_time() + 0.4
while time.process_time() < end:
    hot_py(10000)
"""


def record(t, name, program, *options, env=None):
    """The program's output; None if it cannot be recorded."""
    p = subprocess.run([CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", name + ".data", *options, "--", *program],
                       capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
    if p.returncode:
        t.skip(name, "cannot record: %s" % (p.stderr.strip().splitlines() or ["?"])[0])
        return None
    return p.stdout


def shown(path):
    """The lines on code without names, the first next command, and all of it."""
    r = run("report", "-i", path, "--no-pager", "--no-cache")
    lines = re.findall(r"^ no names +(.*)$", r.stdout, re.M)
    step = re.search(r"^ next: (.*)$", r.stdout, re.M)
    return lines, step[1] if step else "", r.stdout + r.stderr


def planted(t, d):
    """Programs and libraries with the names of runtimes."""
    for name in ("node", "beam.smp", "plain"):
        shutil.copy(MADE, os.path.join(d, name))
    for name in ("libjvm.so", "libcoreclr.so", "opcache.so"):
        with open(os.path.join(d, name), "wb") as f:
            f.write(bytes(4096))
    for name, program, said, step in (
            ("node", ["./node", MS], "code that node made; to name it: NODE_OPTIONS=--perf-basic-prof",
             "NODE_OPTIONS=--perf-basic-prof cyclade record"),
            ("erlang", ["./beam.smp", MS], "ERL_FLAGS='+JPperf true'", "ERL_FLAGS='+JPperf true' cyclade record"),
            ("jvm", ["./plain", MS, "libjvm.so"], "-XX:+DumpPerfMapAtExit', or jcmd PID Compiler.perfmap",
             "JAVA_TOOL_OPTIONS='-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit' cyclade record"),
            ("dotnet", ["./plain", MS, "libcoreclr.so"], "code that .NET made; to name it: DOTNET_PerfMapEnabled=1",
             "DOTNET_PerfMapEnabled=1 cyclade record"),
            ("php", ["./plain", MS, "opcache.so"], "php -d opcache.jit_debug=0x10", ""),
            ("unknown", ["./plain", MS], "code that process PID made; to name it: a switch of its runtime for /tmp/perf-PID.map", "")):
        pid = record(t, name, program)
        if pid is None:
            continue
        lines, first, text = shown(name + ".data")
        t.ok(len(lines) == 1 and said.replace("PID", pid.strip()) in lines[0], name + ": the switch is shown", text)
        t.ok(first.startswith(step) and bool(step) == ("=" in first.split(" ")[0]), name + ": the first next command has it", text)


def named(t):
    pid = record(t, "named", ["./node", MS, "libcoreclr.so", "map"])
    if pid is None:
        return
    lines, first, text = shown("named.data")
    os.remove("/tmp/perf-%s.map" % pid.strip())
    t.ok(not lines and "PERF" not in first.upper() and "made_code" in text, "nothing is shown if there are names", text)
    share = re.search(r"^ *([0-9.]+) % .*\bmade_code", text, re.M)
    t.ok(share and float(share[1]) > 50, "they are in the table", text)


def native(t, d):
    """A runtime's program that runs no code of its own has nothing to name."""
    shutil.copy(os.path.join(PROGS, "prog_recurse"), os.path.join(d, "nodejs"))
    if record(t, "native", ["./nodejs"]) is not None:
        lines, _, text = shown("native.data")
        t.ok(not lines, "nothing is shown of a runtime whose samples have names", text)


def screen_of_run(t):
    r = run("run", "--no-tree", "--data", "run.data", "--", "./node", MS)
    if r.returncode:
        t.skip("run", "cannot record: %s" % r.stderr[-200:])
        return
    text = r.stdout + r.stderr
    t.ok("no names: " in text and "to name it: NODE_OPTIONS=--perf-basic-prof" in text.replace("\n          ", ""),
         "run: the switch is shown", text)
    t.ok("next: NODE_OPTIONS=--perf-basic-prof cyclade run -- ./node " + MS in text, "run: it is the first next command", text)
    r = run("run", "-r", "2", "--no-tree", "--data", "runs.data", "--", "./node", MS)
    text = r.stdout + r.stderr
    t.ok("to name it: NODE_OPTIONS=--perf-basic-prof (in run 1)" in re.sub("\n +", " ", text), "run -r: the switch is shown", text)
    t.ok("next: NODE_OPTIONS=--perf-basic-prof cyclade run" in text, "run -r: it is the first next command", text)


def real(t, name, program, env, function):
    """Without the switch it is shown; with it the name is there, and the line is gone."""
    if record(t, name, program) is None:
        return
    lines, first, text = shown(name + ".data")
    want = "%s=%s" % list(env.items())[0]
    t.ok(len(lines) == 1 and want in lines[0] and first.startswith(want + " "), name + ": the switch is shown", text)
    pid = record(t, name + "-named", ["sh", "-c", 'echo $$; exec "$@"', "sh", *program], "-g", env=env)
    if pid is None:
        return
    listed = run("report", "-i", name + "-named.data", "--no-pager", "--no-cache", "--children", "--min", "1")
    lines, first, text = shown(name + "-named.data")
    if os.path.exists("/tmp/perf-%s.map" % pid.split()[0]):
        os.remove("/tmp/perf-%s.map" % pid.split()[0])
        t.ok(not lines and function in listed.stdout, name + ": with it, the name is there", listed.stdout + text)
    else:
        t.skip(name + ": with it, the name is there", "it wrote no map")


def interpreter(path):
    p = path and subprocess.run([path, "-c", "import sys; print((3, 11) <= sys.version_info[:2] <= (3, 14) and sys.executable)"],
                                capture_output=True, text=True)
    return p.stdout.strip() if p and not p.returncode and p.stdout.startswith("/") else None


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        os.chdir(d)
        planted(t, d)
        named(t)
        native(t, d)
        screen_of_run(t)
        node = shutil.which("node")
        if node:
            with open("s.js", "w", encoding="ascii") as f:
                f.write(JS)
            real(t, "real-node", [node, "s.js"], {"NODE_OPTIONS": "--perf-basic-prof"}, "hot_js")
        else:
            t.skip("real-node", "no node")
        with open("s.py", "w", encoding="ascii") as f:
            f.write(PY)
        pythons = [shutil.which("python3"), *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))]
        python = next(filter(None, map(interpreter, pythons)), None)
        if python:
            if record(t, "real-python", [python, "s.py"]) is not None:
                lines, first, text = shown("real-python.data")
                t.ok(len(lines) == 1 and "interpreter of Python; for its functions: --python" in lines[0] and
                     first.startswith("cyclade record --python "), "real-python: the option is shown", text)
        else:
            t.skip("real-python", "no Python 3.11 to 3.14")
    t.done()


if __name__ == "__main__":
    main()
