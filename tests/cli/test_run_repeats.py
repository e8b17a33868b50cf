#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade run -r: a recording for each run, means and error bars from the spread of the runs, what an interrupt and a failing run
leave, and the name of the series for diff and sum."""
import json
import math
import os
import pty
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tables import walk  # noqa: E402
from tap import CYCLADE, PROGS, Tap, run, wait_for  # noqa: E402

RECURSE = [os.path.join(PROGS, "prog_recurse"), "10", "60"]
T95 = {1: 12.7062, 2: 4.30265, 3: 3.18245}  # Student's, by degrees of freedom
EVENT = ["-q", "-e", "cpu-clock:u", "-F", "2000"]
t = Tap()


def loaded(*words):
    return json.loads(run(*words, "-j").stdout)


def mean(v):
    return sum(v) / len(v)


def error(v):
    """Half of the 95 % interval of a mean."""
    m = mean(v)
    return T95[len(v) - 1] * math.sqrt(sum((x - m) ** 2 for x in v) / (len(v) - 1) / len(v))


def share_error(part, whole):
    """The same of the share of sums, as the books have it of ratio estimates."""
    n, p = len(part), sum(part) / sum(whole)
    return T95[n - 1] * math.sqrt(sum((a - p * b) ** 2 for a, b in zip(part, whole)) * n / (n - 1)) / sum(whole)


def wilson(p, n):
    """Half of Wilson's 95 % interval of a share of n samples."""
    z, q = 1.959964, p * (1 - p)
    half = z * math.sqrt(q / n + z * z / (4 * n * n)) / (1 + z * z / n)
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    return (min(1, middle + half) - max(0, middle - half)) / 2


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-9)


def figures():
    p = run("run", *EVENT, "-r", "3", "--warmup", "1", "--data", "base", "-j", "-o", "base.json", "--", "sh", "-c",
            "echo x >>count; exec \"$@\"", "sh", *RECURSE)
    with open("base.json", encoding="utf-8") as f:
        d = json.load(f)
    with open("count", encoding="ascii") as f:
        t.equal((p.returncode, len(f.read().split()), p.stdout.count("\n") > 0), (0, 4, subprocess.run(
            RECURSE, capture_output=True, check=True).stdout.count(b"\n") > 0), "three runs, and one that is not measured")
    t.equal(sorted(x for x in os.listdir() if x.startswith("base.")), ["base.1", "base.2", "base.3", "base.json"], "a recording for each run")
    seconds = [x["seconds"] for x in d["times"]]
    t.ok(d["runs"] == 3 and [x["run"] for x in d["times"]] == [1, 2, 3] and close(d["seconds"], mean(seconds)) and
         close(d["seconds_error"], error(seconds)), "the times of each run, their mean and its error", d["times"])
    each = [loaded("report", "-i", "base.%d" % k, "-s", "function,dso") for k in (1, 2, 3)]
    whole = [x["events"][0]["period"] for x in each]
    t.equal((d["recording"]["file"], d["recording"]["files"], d["recording"]["samples"], d["events"][0]["period"]),
            ("base", 3, sum(x["events"][0]["samples"] for x in each), sum(whole)), "samples and periods are those of all files")
    of = [{(r["function"], r["dso"]): r for r in x["rows"]} for x in each]
    wrong = []
    for f in d["functions"]:
        key = f["function"], f["dso"]
        part = [x[key]["period"] if key in x else 0 for x in of]
        samples = sum(x[key]["samples"] for x in of if key in x)
        if not (f["period"] == sum(part) and f["samples"] == samples and close(f["share"], sum(part) / sum(whole)) and
                close(f["share_error"], max(share_error(part, whole), wilson(f["share"], d["events"][0]["samples"])))):
            wrong.append((f, part))
    t.ok(not wrong and {k for x in of for k in x} == {(f["function"], f["dso"]) for f in d["functions"]},
         "each function: the sum of its runs, its share of all, an error by their spread, or by sampling", wrong[:3])


def functions():
    """Of each run, in json."""
    with open("base.json", encoding="utf-8") as f:
        d = json.load(f)
    got = [{(r["function"], r["dso"]): (r["samples"], r["period"]) for r in d["function_repeats"] if r["run"] == k} for k in (1, 2, 3)]
    want = [{(r["function"], r["dso"]): (r["samples"], r["period"]) for r in loaded("report", "-i", "base.%d" % k, "-s", "function,dso")["rows"]}
            for k in (1, 2, 3)]
    t.equal(got, want, "json has the functions of each run")


def names():
    run("run", *EVENT, "-r", "3", "--data", "new", "--", *RECURSE)
    said = run("diff", "base", "new").stdout
    t.ok(said.count("mean of 3 runs") == 2, "diff of two series: it states their runs", said)

    def told(*words):
        d = loaded(*words)
        for x in d.get("sides", []):
            x.pop("side"), x.pop("name", None)
        for x in d["totals"] + d["rows"] + d["matches"]:
            x.pop("side", None)
        return {k: v for k, v in d.items() if k != "notes"}  # which name the sides
    t.equal(told("diff", "base", "new"), told("diff", "base.1,base.2,base.3", "new.1,new.2,new.3"), "and is that of their files")
    t.equal(loaded("sum", "base"), loaded("sum", "base.1", "base.2", "base.3"), "so is a sum")
    t.equal(len(loaded("sum", "base", "new.2")["recordings"]), 4, "a sum of a series and a file")
    walk(t, "diff", "base", "new")
    walk(t, "sum", "new")
    p = run("diff", "base", "none")
    t.ok(p.returncode == 2 and "none" in p.stderr, "a name of no recording", p.stderr)
    p = run("report", "-i", "base")
    t.ok(p.returncode == 2 and "base.1" in p.stderr and "cyclade sum base" in p.stderr, "report of a series names what reads it", p.stderr)


def older():
    with open("base.1", "rb") as f:
        old = f.read()
    for name in ("old", "old.2", "old.4"):  # 4: not of a series that ends before
        with open(name, "wb") as f:
            f.write(old)
    with open("old.3", "w", encoding="ascii") as f:
        f.write("a text")
    p = run("run", *EVENT, "-r", "2", "--data", "old", "--", "no-such-program")
    t.ok(p.returncode == 127 and os.path.exists("old") and not os.path.exists("old.1"), "a program that is not there: recordings stay", p.stderr)
    run("run", *EVENT, "-r", "2", "--data", "old", "--", *RECURSE)
    t.equal(sorted(x for x in os.listdir() if x.startswith("old")), ["old.1", "old.2", "old.2.old", "old.3", "old.4", "old.old"],
            "older recordings of the name and the series are FILE.old, other files stay")
    t.equal(len(loaded("sum", "old")["recordings"]), 2, "and are none of the series")


def ends():
    p = run("run", *EVENT, "-r", "3", "--data", "fail", "-o", "-", "--", "sh", "-c", "echo x >>failing; test $(wc -l <failing) != 2")
    t.ok(p.returncode == 0 and "1 of 3 runs did not end with 0" in p.stdout, "a run that fails is counted and told", p.stdout + p.stderr)
    # the third run waits until it is interrupted
    p = subprocess.Popen([CYCLADE, "run", *EVENT, "-r", "5", "--data", "cut", "-j", "-o", "cut.json", "--", "sh", "-c",
                          "echo x >>cutting; test $(wc -l <cutting) -lt 3 || { touch third; exec sleep 1000; }; exec \"$@\"", "sh", *RECURSE],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists("third"))
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=600)[1]
    with open("cut.json", encoding="utf-8") as f:
        d = json.load(f)
    t.equal((p.returncode, d["interrupted"], d["runs"], len(d["times"]), d["recording"]["files"]), (130, True, 2, 2, 2),
            "an interrupt: what is done is told, the run that was cut short left out")
    t.equal(sorted(x for x in os.listdir() if x.startswith("cut.")), ["cut.1", "cut.2", "cut.json"], "and so are its samples")
    t.equal(err, "", "and nothing else is said")
    for words in (["-r", "0"], ["-r", "2", "--regions"]):
        p = run("run", *words, "--data", "no", "--", "sh", "-c", "echo x >>not")
        t.ok(p.returncode == 125 and not os.path.exists("not"), "run %s: 125, nothing is started" % " ".join(words), p.stderr)


def progress():
    """A line before each further run, on a terminal alone."""
    main, side = pty.openpty()
    p = subprocess.Popen([CYCLADE, "run", *EVENT[1:], "-r", "3", "--data", "seen", "-o", os.devnull, "--", "sleep", "0.6"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=side)
    os.close(side)
    text = b""
    try:
        while part := os.read(main, 4096):
            text += part
    except OSError:  # nobody has the other end any more
        pass
    p.wait(timeout=600)
    os.close(main)
    t.ok(b"run 2 of 3, about 1 s left" in text or b"run 2 of 3, about" in text and b"run 3 of 3, about" in text, "on a terminal: which run it is", text)
    p = run("run", *EVENT[1:], "-r", "2", "--data", "seen", "-o", os.devnull, "--", "sleep", "0.6")
    t.equal(p.stderr, "", "in a pipe: nothing")


with tempfile.TemporaryDirectory(prefix="cyclade-repeats-") as where:
    os.chdir(where)
    if run("record", *EVENT, "-o", "probe.data", "--", "true").returncode:
        t.skip("all of it", "no event can be opened here")
    else:
        figures()
        functions()
        names()
        older()
        ends()
        progress()
    os.chdir("/")
t.done()
