#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents do not rot: every command has a page with all sections, every option and exit code of the code is
in the pages, and every option and file that the documents name exists. (tests/cli/test_pages.py gives the examples
to the program itself.)"""
import glob
import os
import re
import sys

sys.path.insert(0, "tools")
import option_table  # noqa: E402

bad = []


def read(path):
    return open(path, encoding="utf-8").read()


commands = list(option_table.commands(".").values())
pages = {c: "doc/cyclade-%s.1.md" % c for c in commands}
for c, page in pages.items():
    if not os.path.exists(page):
        bad.append("%s is missing" % page)
        continue
    text = read(page)
    for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"):
        if "# " + part + "\n" not in text:
            bad.append("%s has no section %s" % (page, part))
    if "@OPTIONS@" not in text:
        bad.append("%s has no @OPTIONS@: the option table would not be in the manual" % page)

# A command has one row of an option.
try:
    rows = option_table.options(".")
except ValueError as e:
    sys.exit(str(e))
taken = [(o.name, c) for o in rows for c in o.commands]
for long, c in sorted({x for x in taken if taken.count(x) > 1}):
    bad.append("--%s has two rows for %s: help would tell it twice" % (long, c))
options = {o.name for o in rows} | {"help", "version"}
for page in glob.glob("doc/*.md") + ["README.md"]:
    for line in read(page).splitlines():
        if "cyclade " not in line:
            continue
        own = line.split(" -- ")[0]
        if re.match(r"doc/from-", page):  # the first column is another program's
            own = own[own.find("cyclade "):] if "cyclade " in own else ""
        for o in re.findall(r'(?<![\w-])--([a-z][a-z-]+)', own):
            if o not in options:
                bad.append("%s: no option --%s: %s" % (page, o, line.strip()))

# Every exit code of cli.h is told in cyclade(1), and no page tells one that is not there.
codes = {int(n) for n in re.findall(r'^\s*EXIT_\w+ = (\d+),', read("src/cli/cli.h"), re.M)}
if len(codes) < 2:
    bad.append("src/cli/cli.h: no exit codes found")


def told(page):
    part = re.search(r'^# EXIT STATUS\n(.*?)(?=^# |\Z)', read(page), re.M | re.S)
    return {int(n) for n in re.findall(r'(?<![\w+])\d+(?![\w+])', part.group(1))} if part else set()


for n in sorted(codes - told("doc/cyclade.1.md")):
    bad.append("doc/cyclade.1.md does not tell exit status %d" % n)
for page in glob.glob("doc/cyclade*.1.md"):
    for n in sorted(told(page) - codes - {128}):
        bad.append("%s tells exit status %d, which src/cli/cli.h does not have" % (page, n))

# Names with an upper-case word in them stand for many: cmd_NAME.c, ROOM/test_X.c.
stands_for_many = re.compile(r'(?<![A-Za-z])(NAME|ROOM|X)(?![A-Za-z])')
if read("ARCHITECTURE.md").count("\n") > 120:
    bad.append("ARCHITECTURE.md is longer than 120 lines: what is more belongs into headers")
for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] + glob.glob("doc/[A-Z]*.md"):
    for name in re.findall(r'`([\w./-]+/[\w./-]+\.(?:c|h|def|md|py|sh|build))`', read(page)):
        if not stands_for_many.search(name) and not os.path.exists(name):
            bad.append("%s names %s, which is not there" % (page, name))
    for name in re.findall(r'\]\(([\w./-]+)\)', read(page)):
        if not os.path.exists(os.path.join(os.path.dirname(page), name)):
            bad.append("%s links to %s, which is not there" % (page, name))

# Tests that nobody runs, and a corpus that grows without end.
for path in glob.glob("tests/*/test_*.py") + glob.glob("tests/unit/*/test_*.c") + glob.glob("tests/fuzz/fuzz_*.c"):
    name = os.path.basename(path)
    room = "tests/unit" if path.startswith("tests/unit/") else os.path.dirname(path)
    word = {"unit": name[:-2], "fuzz": name[len("fuzz_"):-2]}.get(os.path.basename(room), name)
    if "'%s'" % word not in read(room + "/meson.build"):
        bad.append("%s has no row in %s/meson.build: it is never run" % (path, room))
    if room == "tests/fuzz" and not glob.glob("tests/fuzz/corpus/%s/*" % word):
        bad.append("%s has no corpus in tests/fuzz/corpus/%s" % (path, word))
corpus = sum(os.path.getsize(f) for f in glob.glob("tests/fuzz/corpus/*/*"))
if corpus > 2 << 20:
    bad.append("tests/fuzz/corpus has %d bytes, more than 2 MiB" % corpus)
print("\n".join(bad))
sys.exit(1 if bad else 0)
