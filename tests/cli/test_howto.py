#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The patches of doc/HOWTO_ADD.md, applied to a copy of the sources: it builds, and has what they add. Five additions take
at most three places each: files, or a directory of new ones.

In a build without optimisation (stage bare) the copy begins with its objects, and what the patches touch is compiled anew."""
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, ROOT, SANITIZED, Tap  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(CYCLADE))))
UNNEEDED = ("build", ".", "node_modules", "__pycache__")
t = Tap()


def run(*argv, cwd=None):
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL)


def here():
    """The options of this build."""
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as f:
        return json.load(f)


def begin(made):
    """Gives a build directory what was built here of the same options: with their times, so that Ninja takes them for its own."""
    if not filecmp.cmp(os.path.join(BUILD, "config.h"), os.path.join(made, "config.h"), shallow=False):
        return
    options = {o["name"]: o["value"] for o in here()}
    if (options["optimization"], options["debug"], options["c_args"], options["werror"]) != ("0", False, [], True):
        return
    for name in ("config.h", ".ninja_log", ".ninja_deps"):
        shutil.copy2(os.path.join(BUILD, name), made)
    shutil.copytree(os.path.join(BUILD, "src"), os.path.join(made, "src"), dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so*"))


with open(os.path.join(ROOT, "doc", "HOWTO_ADD.md"), encoding="utf-8") as howto:
    SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", howto.read(), re.M | re.S))


def patches_of(text):
    return re.findall(r"^```diff\n(.*?)^```$", text, re.M | re.S)


def places(section):
    """The files that a section's patches change, and the directories in which they make files."""
    pairs = re.findall(r"^--- (\S+)\n\+\+\+ b/(\S+)$", "".join(patches_of(SECTIONS[section])), re.M)
    return {os.path.dirname(new) + "/" if old == "/dev/null" else new for old, new in pairs}


def build(tree):
    """The program made of the patched copy, or None."""
    patches = patches_of("".join(SECTIONS.values()))
    for name in (n for n in os.listdir(ROOT) if not n.startswith(UNNEEDED)):
        at = os.path.join(ROOT, name)
        if os.path.isdir(at):
            shutil.copytree(at, os.path.join(tree, name), symlinks=True, ignore=shutil.ignore_patterns(*UNNEEDED[2:]))
        else:
            shutil.copy(at, tree)
    with open(os.path.join(tree, "all.patch"), "w", encoding="utf-8") as f:
        f.write("".join(patches))
    r = run("patch", "-p1", "-i", "all.patch", cwd=tree)
    if not t.ok(len(patches) >= 5 and not r.returncode, "%d patches can be applied" % len(patches), r.stdout + r.stderr):
        return None
    libraries = ["-D%s=%s" % (o["name"], o["value"]) for o in here() if o["value"] == "disabled"]
    r = run("meson", "setup", "build", "--werror", "-Doptimization=0", "-Ddebug=false", *libraries, cwd=tree)
    if not r.returncode:
        begin(os.path.join(tree, "build"))
        r = run("ninja", "-C", "build", "src/cli/cyclade", cwd=tree)
    program = os.path.join(tree, "build", "src", "cli", "cyclade")
    return program if t.ok(not r.returncode, "what they make of it builds", r.stdout[-1500:] + r.stderr) else None


def main():
    for section in ("A result", "A format of all results", "A sort key or column of report", "An option", "A CPU model"):
        t.ok(0 < len(places(section)) <= 3, "%s: at most three places" % section, places(section))
    if SANITIZED or not shutil.which("patch") or not shutil.which("meson"):
        t.skip("the patches", "built with sanitizers, where one build is enough" if SANITIZED else "no patch, or no meson")
        t.done()
        return
    with tempfile.TemporaryDirectory(prefix="cyclade-howto-") as tree:
        new = build(tree)
        if new:
            data = os.path.join(tree, "x.data")
            sampled = run(CYCLADE, "record", "-q", "-e", "cpu-clock", "-o", data, "--", "sh", "-c", "i=0; while [ $i -lt 99999 ]; do i=$((i+1)); done")
            t.ok(not sampled.returncode, "a recording", sampled.stderr)
            csv = run(new, "events", data, "--format", "csv").stdout
            t.ok(re.fullmatch(r"event,samples,period\ncpu-clock,\d+,\d+\n", csv), "the command and its result", csv)
            tsv = run(new, "info", data, "--format", "tsv", "--table", "events").stdout
            t.ok("\t" in tsv and "cpu-clock" in tsv, "the format, of another result too", tsv)
            t.ok("tsv" in run(new, "events", "--help").stdout and "events" in run(new, "completion", "bash").stdout,
                 "help and completions offer both")
            key = run(new, "report", data, "-s", "die", "--format", "csv").stdout
            t.ok(re.match(r"event,samples,period,share,share_error,die(,.*)?\ncpu-clock,\d+,\d+,1,", key), "the sort key", key)
            words = ["record", "--dry-run", "--transaction", "-e", "cpu-clock", "--", "true"]
            asked = run(new, *words).stdout
            t.ok("transaction" in re.search(r"sample +(\S+)", asked)[1] and " --transaction " in asked, "the option of record", asked)
            t.ok(run(CYCLADE, *words).returncode, "which is new")
            words = ["record", "--dry-run", "-e", "cpu-clock/exclude-idle/", "--", "true"]
            t.equal([run(x, *words).returncode != 0 for x in (new, CYCLADE)], [False, True], "the term, which is new")
            limit = run(new, "list", "events", "--model", "neoverse-v3ae", "-x", ",", "STALL_SLOT").stdout
            t.ok(re.search(r"^STALL_SLOT,.*,0-1,", limit, re.M) and not run(new, "models", "check", "neoverse-v3ae").returncode,
                 "the limit of a new CPU's counters", limit)
    t.done()


main()
