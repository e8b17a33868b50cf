#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every example of the manual's pages is understood by the program: its words are given with --help put in, which
is obeyed only behind options that could be parsed. Nothing is recorded or read."""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import ROOT, Tap, run  # noqa: E402

t = Tap()


def commands_of(line):
    """The words of each call of cyclade in a line of shell."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars="();<>|&")  # quotes stay: ';' is no end
    lexer.whitespace_split = True
    words, out = list(lexer), []
    for i, word in enumerate(words):
        if word != "cyclade":
            continue
        end = next((k for k in range(i, len(words)) if re.fullmatch(r"[();<>|&]+", words[k])), len(words))
        out.append([w for quoted in words[i + 1:end] for w in shlex.split(quoted)])
    return out


def asking(words):
    """The same with --help as its last option."""
    own = words.index("--") if "--" in words else len(words)
    return [*words[:own], "--help", *words[own:]]


def understood(words):
    r = run(*asking(words))
    return r.returncode == 0 and not r.stderr, r.stderr


for page in sorted(glob.glob(os.path.join(ROOT, "doc", "cyclade*.1.md"))):
    name = os.path.basename(page)
    part = re.search(r"^# EXAMPLES\n(.*?)(?=^# |\Z)", open(page, encoding="utf-8").read(), re.M | re.S)
    calls = [c for line in (part.group(1) if part else "").splitlines()
             if re.match(r"    \S", line)  # deeper: what the command prints
             for c in commands_of(line)]
    t.ok(calls, "%s has examples" % name)
    for words in calls:
        good, why = understood(words)
        t.ok(good, "%s: cyclade %s" % (name, " ".join(words)), why)

with open(os.path.join(ROOT, "doc", "meson.build"), encoding="utf-8") as build, tempfile.TemporaryDirectory() as out:
    rule = re.search(r"command: \[pages_py, (.*)\]", build.read())[1].split(", ")
    fill = {"'man'": "man", "'@OUTDIR@'": out, "options_def": os.path.join(ROOT, "src/cli/options.def"),
            "meson.project_version()": "9.8.7", "'@INPUT@'": os.path.join(ROOT, "doc/cyclade-sum.1.md")}
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "pages.py"), *(fill[x] for x in rule)], check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": "1234567890"})
    with open(os.path.join(out, "cyclade-sum.1"), encoding="utf-8") as page:
        t.equal(page.readline(), '.TH CYCLADE-SUM 1 "2009-02-13" "cyclade 9.8.7" "User Commands"\n', "man pages have date and version")

for words in ["report --nosuchthing x", "record -F lots -- ./prog", "list events --limit", "report --color pink"]:
    t.ok(not understood(words.split())[0], "and it would not pass: cyclade %s" % words)
t.done()
