#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a pair of begin and end costs: instructions, counted exactly by callgrind (which cannot run rdpmc: another
instruction stands in its place), allocations, and system calls."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from tap import SANITIZED, Tap  # noqa: E402

PAIR = os.environ["PAIR"]
COUNT = 1000
t = Tap()
tmp = tempfile.TemporaryDirectory()


def callgrind(*args):
    """{function: instructions of its own}, {function: calls it makes}."""
    out = os.path.join(tmp.name, "callgrind.out")
    program = os.path.join(tmp.name, "pair")
    if not os.path.exists(program):  # names are enough; valgrind does not read every compiler's debug information
        shutil.copy(PAIR, program)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-debug", program], check=True)
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, program, *args],
                         capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr
    own, calls, names, at, skip = {}, {}, {}, None, False
    with open(out, encoding="utf-8", errors="replace") as f:
        for line in f:
            m = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
            if m and m.group(2):
                names[m.group(1)] = m.group(2)
            if line.startswith("fn="):
                at = names[m.group(1)]
            elif line.startswith("calls="):
                calls[at] = calls.get(at, 0) + int(line[6:].split()[0])
                skip = True
            elif re.match(r"[\d+*-]", line) and at:
                if not skip:
                    own[at] = own.get(at, 0) + int(line.split()[1])
                skip = False
    return own, calls


def instructions():
    if not shutil.which("valgrind"):
        t.skip("instructions of a pair", "no valgrind")
        return
    for reads, fields in ((1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (2, 4), (4, 4), (2, 8), (4, 8),
                          (8, 8)):
        own, calls = callgrind(str(reads), str(fields), str(COUNT))
        name = "%d counters%s" % (reads, ", of them PERF_METRICS with %d fields" % fields if fields else "")
        if own is None:
            t.ok(False, name, calls)
            continue
        begin, end = "begin_%d_%d" % (reads, fields), "end_%d_%d" % (reads, fields)
        # and the two calls themselves
        cost = (own.get(begin, 0) + own.get(end, 0)) / COUNT + 2
        # a field is an event like any other
        most = 40 + 12 * (reads + fields)
        print("# %s: %g instructions, %d allowed" % (name, cost, most))
        t.ok(cost == int(cost) and 2 < cost <= most, "%s: at most %d instructions a pair" % (name, most), cost)
        t.ok(not calls.get(begin) and not calls.get(end), "%s: no call" % name, calls)


def branches():
    """Conditional jumps of the functions, as they are in the program: the seqlock's and the reset's."""
    if not shutil.which("objdump"):
        t.skip("branches of a pair", "no objdump")
        return
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", PAIR], capture_output=True, text=True).stdout
    bad = []
    seen = 0
    for name, body in re.findall(r"<((?:begin|end)_\d_\d)>:\n(.*?)\n\n", text, re.S):
        n = len(re.findall(r"\tj(?!mp)\w+ ", body))
        most = 2 if name.startswith("end") or not name.endswith("_0") else 1
        seen += 1
        if n != most or "call" in body:
            bad.append("%s: %d\n%s" % (name, n, body))
    t.ok(seen == 44 and not bad, "no branch but those of the locks' sum and of the time", "%d\n%s" % (seen, "\n".join(bad)))


def system_calls(args):
    """Names of the system calls between the two markers."""
    out = os.path.join(tmp.name, "strace.out")
    run = subprocess.run(["strace", "-o", out, PAIR, *args], capture_output=True, text=True)
    if run.returncode:
        return run.stderr
    with open(out, encoding="utf-8", errors="replace") as f:
        names = [line.split("(")[0] for line in f]
    first = names.index("getppid")
    return names[first + 1:names.index("getppid", first + 1)]


def kernel():
    if not shutil.which("strace"):
        t.skip("system calls of a pair", "no strace")
        return
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        t.skip("system calls of a pair", "strace may not trace here")
        return
    t.equal(system_calls(["4", "0", "100000", "1000"]), [], "no system call")
    t.equal(system_calls(["open", "100000"]), [], "no system call in a set as anybody opens it, without counters")
    calls = system_calls(["4", "8", "20000", "1000000"])
    t.ok(calls and set(calls) == {"ioctl"} and len(calls) < 200, "none but the reset of PERF_METRICS, when it is due",
         "%s %d" % (set(calls or []), len(calls or [])))


def memory():
    for args in (["4", "0", "100000", "1000"], ["4", "8", "100000", "1000"], ["open", "100000"]):
        run = subprocess.run([PAIR, *args], capture_output=True, text=True)
        t.equal(run.stdout, "allocations 0\n", "pair %s asks for no memory" % " ".join(args))


if SANITIZED:
    t.skip("cost of a pair", "a sanitizer adds to it")
else:
    instructions()
    branches()
    kernel()
    memory()
t.done()
