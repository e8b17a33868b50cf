#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual's pages from doc/*.md.

  pages.py embed PAGE... > pages.c               as strings, for `cyclade help`
  pages.py man FOLDER OPTIONS.DEF VERSION PAGE...  as roff, a file of FOLDER each, with OPTIONS from the option table

The Markdown used is small: "# HEADING", paragraphs, blocks indented by four blanks, **bold**, `code`, items of lists ("* ", further
lines indented by two), ": " before what the line above means, and "@OPTIONS@" where the option table goes."""
import contextlib
import os
import re
import sys
import time

import option_table


def c_string(text):
    lines = []
    for line in text.splitlines():
        lines.append('\t"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"')
    return "\n".join(lines)


def embed(paths):
    print("/* Made by tools/pages.py; do not edit. */")
    print('#include "cli/pages.h"\n')
    print("const struct page pages[] = {")
    for path in paths:
        name = os.path.basename(path).split(".")[0]
        print('\t{ "%s",' % name)
        print(c_string(open(path, encoding="utf-8").read()) + " },")
    print("};")
    print("const size_t n_pages = sizeof(pages) / sizeof(*pages);")


def verbatim(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def roff(text):
    text = re.sub(r"\*\*(.+?)\*\*", r"\\fB\1\\fR", verbatim(text))
    return re.sub(r"`(.+?)`", r"\\fB\1\\fR", text)


def day(*paths):
    """Of the newest source, or the one that builds are to be dated with."""
    when = os.environ.get("SOURCE_DATE_EPOCH") or max(os.stat(path).st_mtime for path in paths)
    return time.strftime("%Y-%m-%d", time.gmtime(int(when)))


def man(page, options, version):
    name = os.path.basename(page).split(".")[0]
    command = name[len("cyclade-"):]
    print('.TH %s 1 "%s" "cyclade %s" "User Commands"' % (name.upper(), day(page, options), version))
    print(".nh\n.ad l")
    block = False
    lines = open(page, encoding="utf-8").read().splitlines()
    for line, below in zip(lines, [*lines[1:], ""]):
        if block and not line.startswith("    ") and line.strip():
            print(".fi\n.in")
            block = False
        if line.startswith("# "):
            print(".SH " + line[2:])
        elif line.strip() == "@OPTIONS@":
            root = os.path.join(os.path.dirname(options), "..", "..")
            for o in (o for o in option_table.options(root) if command in o.commands):
                spelled = ("\\fB\\-%s\\fR, " % o.letter if o.letter else "") + "\\fB" + roff("--" + o.name) + "\\fR"
                if o.kind == "MAYBE":
                    spelled += "[=\\fI%s\\fR]" % roff(o.arg)
                elif o.kind != "FLAG":
                    spelled += " \\fI%s\\fR" % roff(o.arg)
                print(".TP\n%s\n%s" % (spelled, roff(o.help)))
        elif line.startswith("    "):
            if not block:
                print(".PP\n.in 3n\n.nf")
                block = True
            print(verbatim(line[4:]))
        elif not line.strip():
            print("" if block else ".PP")
        elif line.startswith("* "):
            print(".IP \\(bu 2\n" + roff(line[2:]))
        elif below.startswith(": "):
            print(".TP\n" + roff(line))
        else:
            print(roff(line.removeprefix(": ").strip()))
    if block:
        print(".fi\n.in")


if sys.argv[1] == "embed":
    embed(sys.argv[2:])
else:
    for path in sys.argv[5:]:
        with open(os.path.join(sys.argv[2], os.path.basename(path)[:-len(".md")]), "w", encoding="utf-8") as page_out, \
                contextlib.redirect_stdout(page_out):
            man(path, sys.argv[3], sys.argv[4])
