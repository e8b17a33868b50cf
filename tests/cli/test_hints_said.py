#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each command that a text of the program or of its manual advises, against the tables of commands and options: they exist, and
the command takes the option. The tables are read here, not asked for."""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "..", "tools")]
import option_table  # noqa: E402
from tap import ROOT, Tap  # noqa: E402

t = Tap()
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
ADVICE = re.compile(r"(?<![-\w./])cyclade ([a-z]+)\b(.*)")
OPTION = re.compile(r"(?<=[\s(\[])(--?[A-Za-z][-\w]*)(=?)(\S*)")
END = re.compile(r"[;`|&)\]]| \(|, |: |\. |\.$|  |#|\*\*|\bcyclade\b| -- |\bperf\b")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def tables():
    """Commands, and for each option (with its dashes) the commands that take it, and its kind."""
    options = {}
    for o in option_table.options(ROOT):
        for word in ["--" + o.name] + (["-" + o.letter] if o.letter else []):
            takers, kinds = options.setdefault(word, (set(), {}))
            takers |= o.commands
            kinds.update({w: o.kind for w in o.commands})
    return set(option_table.commands(ROOT).values()), options


COMMANDS, OPTIONS = tables()


def wrong(verb, rest):
    """What of `cyclade VERB REST` the tables do not have."""
    if verb not in COMMANDS:
        return "no command %s" % verb
    for word, equals, value in OPTION.findall(rest):
        if word not in OPTIONS and not word.startswith("--") and len(word) > 2:
            word, equals, value = word[:2], "", word[2:]  # -ag, -b4
        if word.startswith("--no-") and "--" + word[5:] in OPTIONS:
            word = "--" + word[5:]
        if word not in OPTIONS:
            return "no option %s" % word
        takers, kinds = OPTIONS[word]
        if verb not in takers:
            return "%s is no option of %s" % (word, verb)
        if kinds[verb] == "MAYBE" and not equals and re.search(re.escape(word) + r" (?:fp|dwarf|unwind|lbr)\b", " " + rest):
            return "the value of %s is a word of its own" % word
    return None


def advised(text):
    """(verb, what follows) of each command in a text."""
    for part in re.split(r"(?<![-\w./])(?=cyclade [a-z])", text):
        m = ADVICE.match(part.replace("\n", " "))
        if m:
            yield m[1], END.split(m[2], maxsplit=1)[0]


NO_COMMANDS = {  # words of a sentence, and of a file's first line
               "is", "has", "of", "and", "may", "does", "reads", "runs", "needs", "stores", "cannot", "was", "shows", "takes", "keeps",
               "by", "with", "itself", "in", "to", "for", "on", "as", "or", "that", "can", "made", "verdicts", "when", "writes", "counts", "a", "the", "from"}


def literals(path):
    text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
    for m in LITERALS.finditer(text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', m[0])).replace('\\"', '"').replace("\\n", "; ")


def judge(name, texts):
    bad, n = [], 0
    for path, text in texts:
        for verb, rest in advised(text):
            if verb in NO_COMMANDS:
                continue
            n += 1
            why = wrong(verb, rest)
            if why:
                bad.append("%s: cyclade %s%s: %s" % (path, verb, rest, why))
    t.ok(not bad, "%s: %d commands" % (name, n), "\n".join(bad))
    return n


def files(*patterns):
    return sorted(os.path.relpath(p, ROOT) for x in patterns for p in glob.glob(os.path.join(ROOT, x), recursive=True))


n = judge("messages", [(p, x) for p in files("src/**/*.c", "src/**/*.h", "src/**/*.def") for x in literals(p)])
detached = [p for p in files("src/**/*.c", "src/**/*.h", "src/**/*.def") for x in literals(p) if re.search(r"(?<!\w)(?:-g|--call-graph) (?:fp|dwarf|unwind|lbr)\b", x)]
t.ok(not detached, "-g has its value attached", detached)
t.ok(n > 120, "messages are found", n)
n = judge("examples of the manual", [(p, line.strip()) for p in files("doc/*.md", "README.md") for line in read(p).splitlines()
                                     if re.match(r"(?:    |\t)(?:sudo |\$ )?cyclade ", line)])
t.ok(n > 100, "examples are found", n)
cells = [(p, x) for p in files("doc/from-*.md") for line in read(p).splitlines() if line.startswith("| ") for x in re.findall(r"`(cyclade [^`]+)`", line)]
t.ok(judge("pages for those who come from other tools", cells) > 50, "their commands are found", len(cells))
t.ok(wrong("record", " -g dwarf -- ./prog") and wrong("report", " --heap") and wrong("recrod", "") and not wrong("record", " -ag -F 99"),
     "what is wrong is seen")
t.done()
