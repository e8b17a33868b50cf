# SPDX-License-Identifier: BSD-3-Clause
"""shown - what a page shows of a screen, against what is printed: names, words and their order; numbers may differ.

    missing(["...", "49.7 %  phases  hash_probe"], printed)     the first line of the page that is not there, or None
    examples(text)      (command, lines shown) of the manual's section EXAMPLES: commands behind four blanks, what they print
                        behind six or more; a command that ends in a backslash, or within quotes, goes on. A line
                        that is cut ends in "..."
"""
import re
import shlex

NUMBER = re.compile(r"[-+<]*\d[\d,.]*(?: (?:ns|us|ms|s|%|k|M|G|[kMG]?B)(?![\w/]))?")


def shape(line, csv, cut=False):
    """Its words; names keep their digits, what is cut off (with …) is left out unless cut. A line of csv has its cells."""
    if csv:
        line = line.replace(",", " ")
    line = re.sub(r"[│├└┌┐┘►─█▉▊▋▌▍▎▏<=]+(?= |$)|\+-\S*|%\+?", " ", line.replace("+-", " +-"))
    words = NUMBER.sub(lambda m: "#" if m.start() == 0 or line[m.start() - 1] in " (" else m[0], line).split()
    return [w.rsplit("/", 1)[-1] for w in words if "#" not in w and (cut or "…" not in w) and not re.fullmatch(r"[:.\d,]+|ns|us|ms|s|[kMGB]|[kMG]B", w)]


def alike(w, x):
    """Whether a word of the page is a printed word: lines of sources differ, and a printed name may be cut off."""
    return w == x or (x.endswith("…") and len(x) > 4 and w.startswith(x[:-1])) or \
        bool(re.search(r"\.(c|js):\d+$", w) and w.split(":")[0] == x.split(":")[0])


def within(want, line):
    """Whether the words of the page's line are in that line, in order."""
    csv = bool(re.fullmatch(r"\S+,\S*", want.strip()))
    words = iter(shape(line, csv, cut=True))
    return all(any(alike(w, x) for x in words) for w in shape(want, csv))


def missing(shown, printed):
    """The first line of the page that is not there, after those before it."""
    lines = iter(printed.splitlines())
    for want in shown:
        if shape(want, False) and not any(within(want, line) for line in lines):
            return want
    return None


def begun(shown, printed):
    """The same of the first words of lines alone."""
    lines = iter(printed.splitlines())
    for want in shown:
        if not any(line.split()[:1] == want.split()[:1] or line.strip().startswith(want.strip().split(",")[0]) for line in lines):
            return want
    return None


def whole(command):
    """Whether a command ends where this text does."""
    try:
        shlex.split(command.replace("\\\n", " "))
    except ValueError:
        return False
    return not command.endswith("\\")


def examples(text):
    part = re.search(r"^# EXAMPLES\n(.*?)(?=^# |\Z)", text, re.M | re.S)
    found = []
    for line in (part[1] if part else "").splitlines():
        if found and not whole(found[-1][0]) and line.startswith("    "):
            found[-1] = (found[-1][0] + "\n" + line.strip(), found[-1][1])
        elif re.match(r"    \S", line):
            found.append((line[4:], []))
        elif line.startswith("      ") and found:
            found[-1][1].append(line[6:])
    return [(c.replace("\\\n", " "), [re.sub(r"\S*\.\.\.\S*" if " " in s.strip() else r"[^,]*\.\.\.$", "", s) for s in shown]) for c, shown in found]
