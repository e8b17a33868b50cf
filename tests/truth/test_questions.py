#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The questions of questions.tsv: what a user would ask of cyclade, where the answer is known from elsewhere."""
import os
import shlex
import string
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import recipes  # noqa: E402
from tap import Tap, run  # noqa: E402


def questions():
    with open(os.path.join(HERE, "questions.tsv"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                fields = line.rstrip("\n").split("\t")
                assert len(fields) == 7, "7 fields expected: " + line
                yield fields


def read(text, how):
    """What a jq filter makes of it: (text or None, what jq complained of)"""
    raw = how.startswith("-Rs ")
    p = subprocess.run(["jq", "-r", *(["-Rs"] if raw else []), how[4:] if raw else how], input=text, text=True,
                       errors="replace", capture_output=True)
    return (None, p.stderr) if p.returncode else (p.stdout.rstrip("\n"), "")


def fits(got, answer):
    word, _, rest = answer.partition(" ")
    if word in ("has", "lacks"):
        return (rest in got) == (word == "has")
    if word == "=" and got == rest:
        return True
    try:
        value = float(got)
        if word in ("=", ">=", "<="):
            return {"=": value == float(rest), ">=": value >= float(rest), "<=": value <= float(rest)}[word]
        middle, half = answer.split(" +- ")
        return abs(value - float(middle)) <= float(half)
    except ValueError:
        return False


def ask(t, d, facts, fields):
    topic, recipe, where, command, how, answer, question = fields
    facts = {k: str(v) for k, v in facts.items()}
    command, how, answer = (string.Template(x).safe_substitute(facts) for x in (command, how, answer))
    name = "%s, %s: %s" % (topic, recipe, question)
    if command == "-":  # of the facts alone
        got, why = read("null", how)
        t.ok(got is not None and fits(got, answer), name, why or "got %s, wanted %s" % (got, answer))
        return
    p = run(*shlex.split(command), cwd=os.path.join(d, where))
    if p.returncode:
        t.ok(False, name, "cyclade %s: exit %d\n%s" % (command, p.returncode, p.stderr))
        return
    got, why = read(p.stdout, how)
    t.ok(got is not None and fits(got, answer), name, why or "asked  cyclade %s\ngot    %s\nwanted %s" % (command, got, answer))


def main():
    t = Tap()
    made = {}
    with tempfile.TemporaryDirectory(prefix="cyclade-questions-") as top:
        for fields in questions():
            recipe = fields[1]
            if recipe not in made:
                d = os.path.join(top, recipe)
                os.mkdir(d)
                try:
                    recipes.need("jq")
                    made[recipe] = d, recipes.TABLE[recipe](d), None
                except recipes.Missing as why:
                    made[recipe] = d, {}, str(why)
            d, facts, why = made[recipe]
            if why:
                t.skip("%s: %s" % (recipe, fields[6]), why)
            else:
                ask(t, d, facts, fields)
    t.done()


if __name__ == "__main__":
    main()
