#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every example of the manual's pages is understood by the program: its words are given with --help put in, which
is obeyed only behind options that could be parsed. Nothing is recorded or read."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "..", "tools")]
import option_table  # noqa: E402
from shown import examples  # noqa: E402
from tap import ROOT, Tap, run  # noqa: E402

t = Tap()
COMMANDS = sorted(set(option_table.commands(ROOT).values()))


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
    with open(page, encoding="utf-8") as f:
        calls = [c for command, _ in examples(f.read()) for c in commands_of(command.replace("\n", " "))]
    t.ok(calls, "%s has examples" % name)
    for words in calls:
        good, why = understood(words)
        t.ok(good, "%s: cyclade %s" % (name, " ".join(words)), why)

def too_wide(text, width=80):
    return [line for line in text.splitlines() if len(line) > width]


os.environ["COLUMNS"] = "80"
for words in [["--help"], ["help"], *([c, "--help"] for c in COMMANDS), *(["help", c] for c in COMMANDS)]:
    r = run(*words)
    t.ok(r.returncode == 0 and not too_wide(r.stdout), "cyclade %s: within 80 columns" % " ".join(words), too_wide(r.stdout) or r.stderr)
os.environ["COLUMNS"] = "40"
for words in [["--help"], ["help"], ["mcp", "--help"]]:
    t.ok(not too_wide(run(*words).stdout, 40), "cyclade %s: within 40 columns" % " ".join(words), run(*words).stdout)
t.ok(too_wide("x" * 81) and not too_wide("│" * 80), "what is too wide is seen")

MARKS = """# NAME

cyclade-sum - x

* an item with more than one line of text,
  which goes on
* another
1 term
: its **meaning**

    code `as` **it** is
"""
with tempfile.TemporaryDirectory() as out:
    path = os.path.join(out, "cyclade-sum.1.md")
    with open(path, "w", encoding="utf-8") as page:
        page.write(MARKS)
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "pages.py"), "man", out, os.path.join(ROOT, "src/cli/options.def"), "1", path], check=True)
    with open(path[:-3], encoding="utf-8") as page:
        roff = page.read()
    t.ok(roff.count(".IP \\(bu 2\n") == 2 and "\nwhich goes on\n" in roff and ".TP\n1 term\nits \\fBmeaning\\fR\n" in roff and
         "\ncode `as` **it** is\n" in roff, "lists and definitions are no paragraphs; code is left as it is", roff)
    manual = [sys.executable, os.path.join(ROOT, "tools", "pages.py"), "man", out, os.path.join(ROOT, "src/cli/options.def"), "1"]
    pages = sorted(glob.glob(os.path.join(ROOT, "doc", "cyclade*.1.md")))
    subprocess.run([*manual, *pages], check=True)
    if shutil.which("groff"):
        for page in (os.path.join(out, os.path.basename(p)[:-3]) for p in pages):
            p = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-rLL=80n", "-P-c", "-P-b", "-P-o", "-P-u", page], capture_output=True, text=True)
            wide = too_wide(p.stdout)
            t.ok(p.returncode == 0 and p.stdout and not wide, "man %s: within 80 columns" % os.path.basename(page), wide or p.stderr)
    else:
        t.skip("man pages within 80 columns", "no groff here")

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
