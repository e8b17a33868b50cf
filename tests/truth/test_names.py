#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two functions called work() in two files and two called shared() of one header: rows of their own in all that is made of
branch records, each under a name that says which it is, with what that one really did."""
import collections
import os
import re
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from truth import Oracle, Symbols, cyclade, own, program  # noqa: E402
import nest  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402

NAMES = ("work", "shared")


def twins(path):
    """{name as it is to be shown: (start, end)}: by the line where these differ, else by the address"""
    out = {}
    for (start, end), names in Symbols(path).funcs.items():
        name = min(names)
        if name not in NAMES:
            continue
        line = subprocess.run(["addr2line", "-e", path, hex(start)], capture_output=True, text=True, check=True).stdout
        where = os.path.basename(line.split(" ")[0].strip()) if name == "work" else hex(start)
        out["%s@%s" % (name, where)] = (start, end)
    return out


def called(truth, path, at):
    return sum(n for (_, callee), n in truth.calls.items() if callee == (path, at[0]))


def check_blocks(t, r, path, want):
    j = cyclade("blocks", "-j", "-i", r.path)
    got = {f["function"]: f for f in nest.functions(j) if f["function"].split("@")[0] in NAMES}
    t.equal(set(got), set(want), "blocks: four functions")
    for name, at in sorted(want.items()):
        b = got[name]["blocks"] if name in got else []
        t.ok(b and int(b[0]["address"], 16) == at[0], "blocks: %s is the code at %x" % (name, at[0]), b[:1])
        wrong = [(x["address"], x["runs"], r.truth.insns.get((path, int(x["address"], 16)), 0)) for x in b]
        t.ok(wrong and all(abs(v - n) <= .1 * n for _, v, n in wrong if n > 1000), "blocks: %s: runs" % name, wrong)
        one = cyclade("blocks", name, "-j", "-i", r.path)
        t.ok(not isinstance(one, str) and [f["function"] for f in one["functions"]] == [name],
             "blocks %s" % name, one)


def check_calls(t, r, path, want):
    j = cyclade("calls", "-j", "-i", r.path)
    named = [f["function"] for f in j["functions"]]
    t.ok(set(want) <= set(named) and len(set(named) & set(want)) == len([n for n in named if n.split("@")[0] in NAMES]),
         "calls: four functions", named)
    true = collections.Counter()
    for (site, callee), n in r.truth.calls.items():
        for name, at in want.items():
            if own(site[0]) and callee == (path, at[0]):
                who = [min(names) for (s, e), names in Symbols(path).funcs.items() if s <= site[1] < e]
                true[who[0], name] += n
    got = {(e["caller"], e["callee"]): e["calls"] for e in j["edges"] if e["caller"] in named and e["callee"] in want}
    t.ok(len(true) == 4 and set(got) == set(true) and all(abs(got[k] - n) < .1 * n for k, n in true.items()),
         "calls: who called which", "%s\n%s" % (got, true))


def check_text(t, r, want):
    """What people and other programs read."""
    for words in (("blocks",), ("blocks", "--format", "csv"), ("blocks", "--format", "markdown"),
                  ("calls",), ("calls", "--format", "csv"), ("calls", "--format", "markdown"), ("calls", "--format", "dot"),
                  ("report", "-b", "--format", "csv", "--limit", "999"), ("report", "-s", "sym", "--format", "csv"),
                  ("export", "--folded")):
        p = run(*words, "--no-cache", "-i", r.path)
        plain = re.sub(r"\\(.)", r"\1", p.stdout)
        t.ok(p.returncode == 0 and all(n in plain for n in want), " ".join(words), p.stderr + p.stdout[:3000])


def check_exports(t, r, path, want):
    """Linkers and compilers know functions by their own names: none of ours may be among them."""
    for words in (("--bolt", "--dso", path), ("--autofdo", "--text", "--dso", path), ("--symbol-order", "--dso", path),
                  ("--symbol-order", "--dso", os.path.relpath(path))):
        p = run("export", *words, "--no-cache", "-i", r.path)
        t.ok(p.returncode == 0 and p.stdout and not any(n in p.stdout for n in want), "export %s: the linker's names" % words[0],
             p.stderr + p.stdout[:2000])


def main():
    t = Tap()
    try:
        subprocess.run(["addr2line", "--version"], capture_output=True, check=True)
    except OSError:
        t.skip("all", "no addr2line")
        t.done()
    with Oracle(t) as o:
        path = program("twins")
        r, want = o.run("twins", depth=32, period=200), twins(path)
        t.ok(len(want) == 4 and sum(called(r.truth, path, at) for at in want.values()) > 10000 and os.path.exists(CYCLADE),
             "four functions, and all are called", want)
        check_blocks(t, r, path, want)
        check_calls(t, r, path, want)
        check_text(t, r, want)
        check_exports(t, r, path, want)
    t.done()


main()
