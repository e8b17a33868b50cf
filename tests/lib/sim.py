# SPDX-License-Identifier: BSD-3-Clause
"""sim - programs on a simulated machine (tests/sim/README.md).

    from sim import SPIN, planted, run_on, stat_on
    p = run_on("spr", "dram_bound", CYCLADE, "stat", *SYSROOT, "--", SPIN, "300", settings="smt=1")
    doc = stat_on("ivb", "even", "-l", "2", SPIN, "300")
    want = planted("spr", "dram_bound")

With paper=True time is on paper (tests/sim/paper.h): what only counts SPIN costs next to nothing, however long it is.
A machine is a file of tests/sim/machines without its .tab, or a path; a program one of its own, or a path. What has to
be started otherwise than by subprocess.run() takes its words of command() and its environment of environment().
"""
import json
import os
import subprocess
import tempfile

from tap import CYCLADE, ROOT

SIM = os.path.join(ROOT, "tests", "sim")
SPIN = os.environ.get("SIM_SPIN", os.path.join(ROOT, "build", "tests", "sim", "sim_spin"))
SYSROOT = ("--sysroot", "@SYSROOT@")  # for cyclade's words: the machine's tree
_made = tempfile.TemporaryDirectory(prefix="cyclade-sim-")
_trees = {}


def tree(machine, settings=""):
    """Where the /sys of a machine is, as it is set: made by the first that runs there."""
    return _trees.setdefault((machine, settings), os.path.join(_made.name, "tree%d" % len(_trees)))


def command(machine, program, *words):
    return [os.path.join(SIM, "run.sh"), machine, program, "--", *words]


def environment(machine, settings="", **more):
    os.makedirs(tree(machine, settings), exist_ok=True)
    return dict(os.environ, SIM_TREE=tree(machine, settings), SIM_OPTIONS=settings, **more)


def run_on(machine, program, *words, settings="", timeout=600, paper=False, **env):
    with tempfile.NamedTemporaryFile(dir=_made.name) as clock:
        if paper:
            env["SIM_PAPER"] = clock.name
        if paper == "alone":
            env["SIM_PAPER_ALONE"] = "1"
        return subprocess.run(command(machine, program, *words), env=environment(machine, settings, **env), text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)


def stat_on(machine, program, *words, settings="", **more):
    """The tree that `cyclade stat -j` writes there, or what it said instead; words: options and the program."""
    out = os.path.join(_made.name, "stat.json")
    p = run_on(machine, program, CYCLADE, "stat", *SYSROOT, "-j", "-o", out, *words, settings=settings, **more)
    try:
        with open(out, encoding="utf-8") as f:
            doc = json.load(f)
        os.remove(out)
        return doc
    except (OSError, ValueError):
        return {"trees": [{"nodes": []}], "notes": [p.stdout + p.stderr]}


def planted(machine, program, pmu=""):
    """{node: share}, as the machine's table has it, of the first PMU that it tells of; names in small letters."""
    with open(os.path.join(SIM, "machines", machine + ".tab"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("plant %s %s" % (program, pmu)):
                return {k.lower(): float(v) for k, v in (x.split("=") for x in line.split()[3:])}
    return {}
