#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/monitor.py BUILD - what `cyclade monitor --listen` costs on a machine of 256 CPUs, once a second: processor time of the monitor
alone, in thousandths of a core, between its second interval and its end; on simulated counters (tests/sim) of a two-socket Rome
and a Milan, all metrics. The simulation answers in the monitor's own process; where perf may sample it (software clock), its share is
taken out. What the kernel takes for real counters is not in the figures: `calls` is how often it would be asked in an interval
(readings and switches), and how many of these calls interrupt the CPU that they are of; bench_switches says what they take.

   BENCH_SECONDS=30   how long each case runs
   BENCH_CPUS=256
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

if len(sys.argv) != 2:
    sys.exit(__doc__)
BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "lib"))
os.environ["CYCLADE"] = os.path.join(BUILD, "src", "cli", "cyclade")
os.environ["SIM_LIB"] = os.path.join(BUILD, "tests", "sim", "libsimpmu.so")
from servers import server  # noqa: E402
from sim import command, environment, tree  # noqa: E402

SECONDS = float(os.environ.get("BENCH_SECONDS", "30"))
CPUS = int(os.environ.get("BENCH_CPUS", "256"))
TICK = os.sysconf("SC_CLK_TCK")
OPEN = "application/openmetrics-text; version=1.0.0"


def machine(folder, name):
    s = server(name)
    s.cpus = range(CPUS)
    s.socket = {c: c * 2 // CPUS for c in s.cpus}
    s.l3 = {c: c // (8 if name == "rome" else 16) for c in s.cpus}
    s.core = {c: c // 2 for c in s.cpus}
    path = os.path.join(folder, name + ".tab")
    with open(path, "w", encoding="utf-8") as f:
        f.write(s.text().replace(" cpus=0-63 ", " cpus=0-%d " % (CPUS - 1)))
    return path


def used(pid):
    """Seconds of processor time, by the scheduler: ns of each thread."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def memory(pid):
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10


def share_of_simulation(pid, seconds):
    """Of the samples of the process while we wait; None: perf cannot."""
    perf = shutil.which("perf")
    data = os.path.join(tmp, "perf.data")
    if not perf or subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-F", "2999", "-o", data, "-p", str(pid), "--", "sleep", str(seconds)],
                                  capture_output=True, check=False).returncode:
        return None
    text = subprocess.run([perf, "report", "-i", data, "--no-children", "-g", "none", "--sort", "dso", "--stdio", "-t", ";"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"^\s*([\d.]+)%?\s*;\s*libsimpmu", text, re.M)
    return float(found.group(1)) / 100 if found else None


def calls(path):
    """Readings, switches and interrupts in an interval: of two runs, what the longer one has more."""
    n = []
    for seconds in (3, 6):
        p = subprocess.run(command(path, "even", os.environ["CYCLADE"], "monitor", "--sysroot", "@SYSROOT@", "-I", "1000", "--for", "%ds" % seconds, "-o", "/dev/null"),
                           env=environment(path, SIM_DEBUG="1"), stderr=subprocess.PIPE, text=True, check=False)
        n.append([int(x) for x in re.search(r"^sim: (\d+) reads, (\d+) switches, (\d+) interrupts", p.stderr, re.M).groups()])
    return [(b - a) / 3 for a, b in zip(*n)]


def ask(port, accept=OPEN):
    r = urllib.request.Request("http://127.0.0.1:%d/metrics" % port, headers={"Accept": accept})
    with urllib.request.urlopen(r, timeout=60) as answer:
        return answer.read().decode()


def case(path, every, words=()):
    """(thousandths of a core, the simulation's share of them, KB of memory, bytes of a scrape); `every`: seconds between scrapes, 0: none."""
    # the shell before it ends in it
    p = subprocess.Popen(command(path, "even", "env", os.environ["CYCLADE"], "monitor", "--sysroot", "@SYSROOT@", "--listen", ":0", "-I", "1000", *words),
                         env=environment(path), stderr=subprocess.PIPE, text=True)
    try:
        words = p.stderr.readline()
        port = int(words.rstrip("/\n").rpartition(":")[2])
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid), encoding="ascii") as f:
            pid = int((f.read().split() or [p.pid])[0])
        size = 0
        while not size:
            try:
                size = len(ask(port))
            except OSError:
                time.sleep(0.2)
        time.sleep(2)
        began, before = time.monotonic(), used(pid)
        with ThreadPoolExecutor(1) as pool:
            simulated = pool.submit(share_of_simulation, pid, SECONDS)
            due = began
            while time.monotonic() < began + SECONDS:
                if every:
                    ask(port)
                due += every or SECONDS
                time.sleep(max(0, min(due, began + SECONDS) - time.monotonic()))
            cost = (used(pid) - before) / (time.monotonic() - began)
        return 1000 * cost, simulated.result(), memory(pid), size
    finally:
        p.terminate()
        subprocess.run(["kill", str(pid)], check=False) if pid != p.pid else None
        p.wait(60)


with tempfile.TemporaryDirectory(prefix="bench-monitor-") as tmp:
    for name in ("rome", "milan"):
        path = machine(tmp, name)
        tree(path)
        print("%s, %d CPUs: %.0f readings and %.0f switches of counters in an interval, %.0f of them interrupt a CPU" % (name, CPUS, *calls(path)), flush=True)
        for every in (0, 15, 1):
            cost, simulated, size, text = case(path, every)
            own = "?" if simulated is None else "%.1f" % (cost * (1 - simulated))
            print("  %s: %s thousandths of a core (%.1f with the simulation), %d KB of memory, %d bytes of text" %
                  ("a scrape each %d s" % every if every else "nobody asks", own, cost, size, text), flush=True)
