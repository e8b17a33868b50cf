# SPDX-License-Identifier: BSD-3-Clause
"""The tables of commands and options (src/cli/commands.def, options.def), read for scripts and tests."""
import collections
import os
import re

Option = collections.namedtuple("Option", "group name letter kind field arg commands help")
ROW = re.compile(r'^OPTION\("([^"]*)", "([^"]+)", (?:\'(.)\'|0), (\w+), ([\w.]+), "([^"]*)", ([A-Z |]+), "([^"]+)"\)$', re.M)


def read(root, path):
    with open(os.path.join(root, "src", path), encoding="utf-8") as f:
        return f.read()


def formats(root):
    return re.findall(r'^FORMAT\("(\w+)"', read(root, "show/format.def"), re.M)


def commands(root):
    """The name of each command, by its word in options.def."""
    return dict(re.findall(r"^COMMAND\((\w+), (\w+),", read(root, "cli/commands.def"), re.M))


def options(root):
    """The rows: `commands` a set of names, FORMATS in `arg` replaced by the formats. ValueError names a wrong row."""
    text = read(root, "cli/options.def")
    sets = {word: {name} for word, name in commands(root).items()}
    sets["ALL"] = set().union(*sets.values())

    def members(words):
        return set().union(*(sets[word] for word in words.split(" | ")))
    try:
        for name, words in re.findall(r"^OPTION_SET\((\w+), ([A-Z |]+)\)$", text, re.M):
            sets[name] = members(words)
        rows = [Option(group, name, letter, kind, field, arg.replace("FORMATS", "|".join(formats(root))), members(words), text_of)
                for group, name, letter, kind, field, arg, words, text_of in ROW.findall(text)]
    except KeyError as missing:
        raise ValueError("src/cli/options.def: %s is no command and no OPTION_SET" % missing) from None
    if len(rows) != len(re.findall(r"^OPTION\(", text, re.M)):
        good = {m.group(0) for m in ROW.finditer(text)}
        raise ValueError("src/cli/options.def: this row is incomplete: " +
                         next(line for line in text.splitlines() if line.startswith("OPTION(") and line not in good))
    return rows
