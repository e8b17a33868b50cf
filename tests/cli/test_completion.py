#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Completions, asked of the real shells: bash by its function, zsh at a terminal of its own (zpty), fish by complete -C. What is
offered comes from options.def and the program's own lists."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "..", "tools")]
import option_table  # noqa: E402
from tap import CYCLADE, ROOT, Tap, run  # noqa: E402

t = Tap()
COMMANDS = list(option_table.commands(ROOT).values())
OPTIONS = [(o.name, o.kind, o.arg, o.commands) for o in option_table.options(ROOT)]


def options_of(command):
    return {"--" + name for name, _, _, takers in OPTIONS if command in takers}


def listed(*kinds):
    """The names that the program lists."""
    names = set()
    for kind in kinds:
        names |= {x.split(",")[0] for x in run("list", kind, "-x", ",", env=ENV).stdout.splitlines()[1:] if not x.startswith('"')}
    return names


BASH = """. ./bash.completion
while IFS= read -r line; do
    read -ra COMP_WORDS <<<"${line//=/ = }"
    [ "${line: -1}" != " " ] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _cyclade 2>&1
    printf '%s\\n' "${COMPREPLY[@]}" "--end--"
done
"""

# a child shell completes each line; its compadd writes down what it is given and lets it through
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'stty -echo 2>/dev/null; PS1= PS2= RPS1=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=($PWD/functions $fpath)'
zpty -w shell 'autoload -Uz compinit && compinit -u -d $PWD/zcompdump; LISTMAX=100000; zstyle ":completion:*" verbose no'
zpty -w shell 'compadd() { local -a __found; builtin compadd -O __found "$@" 2>/dev/null; print -rl -- $__found >> $PWD/offered; builtin compadd "$@"; }'
zpty -w shell '_ask() { print -r -- "$BUFFER" > $PWD/asked; zle complete-word 2>> $PWD/errors; print -- --end-- >> $PWD/offered; BUFFER=; touch $PWD/done; }'
zpty -w shell 'zle -C complete-word complete-word _main_complete; zle -N _ask; bindkey "^I" _ask; touch $PWD/ready'
wait_for() { repeat 3000; do [[ -e $1 ]] && { rm -f $1; return 0; }; while zpty -r -t shell x; do :; done; sleep 0.02; done; print "no $1"; exit 1; }
wait_for ready
while IFS= read -r line; do
    zpty -w -n shell "$line"$'\t'
    wait_for done
done
zpty -d shell
"""


def ask(shell, lines):
    """What the shell offers for each of the lines that end where TAB is pressed; and its errors."""
    if shell == "bash":
        p = subprocess.run(["bash", "-c", BASH], input="".join(x + "\n" for x in lines), capture_output=True, text=True, env=ENV)
        out, errors = p.stdout, p.stderr
    elif shell == "fish":
        script = "source fish.completion; while read -l line; complete -C $line; echo -- --end--; end"
        p = subprocess.run(["fish", "--no-config", "-c", script], input="".join(x + "\n" for x in lines), capture_output=True, text=True, env=ENV)
        out, errors = p.stdout, p.stderr
    else:
        for old in ("offered", "errors"):
            open(old, "w", encoding="utf-8").close()
        p = subprocess.run(["zsh", "-f", "-c", ZSH], input="".join(x + "\n" for x in lines), capture_output=True, text=True, env=ENV)
        out = open("offered", encoding="utf-8").read()
        errors = open("errors", encoding="utf-8").read() + p.stdout + p.stderr
    parts = [{x.split("\t")[0].replace("\\", "") for x in part.splitlines() if x} for part in out.split("--end--\n")]
    return parts[:-1], errors


def bare(words):
    """Without the option before "=", which fish repeats."""
    return {re.sub(r"^--[\w-]+=", "", x) for x in words} if any("=" in x for x in words) else words


home = tempfile.TemporaryDirectory()
os.chdir(home.name)
ENV = {**os.environ, **{name: home.name for name in ("HOME", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")},
       "PATH": os.path.dirname(CYCLADE) + ":" + os.environ["PATH"], "CYCLADE_OPTS": "--model=spr", "TERM": "dumb", "LC_ALL": "C"}
for shell in ("bash", "zsh", "fish"):
    with open(shell + ".completion", "w", encoding="utf-8") as out:
        out.write(run("completion", shell).stdout)
os.mkdir("functions")
shutil.copy("zsh.completion", "functions/_cyclade")
for name in ("a-file", "b file"):
    open(name, "w", encoding="utf-8").close()

NODES = listed("nodes")
FORMATS = set(re.search(r"--format ([a-z|]+)", run("report", "--help").stdout).group(1).split("|"))
# (line, what must be offered, what else may be; None: all)
CASES = [("cyclade ", set(COMMANDS) | {"a-file"}, None), ("cyclade --", {"--help", "--version"}, set())]
CASES += [("cyclade %s --" % c, options_of(c), set()) for c in COMMANDS]
CASES += [
    ("cyclade report --format ", FORMATS, set()), ("cyclade report --format=", FORMATS, set()),
    ("cyclade report --limit ", set(), set()), ("cyclade report --sort=", set(), set()),
    ("cyclade report -i ", {"a-file", "b file"}, None), ("cyclade report --input=", {"a-file", "b file"}, None),
    ("cyclade report ", {"a-file", "b file"}, None),
    ("cyclade record --call-graph=", {"fp", "dwarf", "unwind", "lbr"}, set()), ("cyclade record --jitter=", set(), set()),
    ("cyclade stat --node=", NODES, set()), ("cyclade stat -M Bottl", {"Bottlenecks"}, None),
    ("cyclade explain back", {x for x in listed("nodes", "metrics", "groups", "events") if x.lower().startswith("back")}, None),
    ("cyclade list ", {"events", "tables", "nodes", "kernels"}, {"account", "groups", "ibs", "metrics", "models"}),
    ("cyclade help re", {"record", "report", "registers"}, None), ("cyclade config re", {"record", "report", "registers"}, None),
    ("cyclade completion ", {"bash", "zsh", "fish"}, set()),
    ("cyclade models ", {"check", "export", "import"}, None), ("cyclade validate --spin=", listed("kernels"), set()),
    ("cyclade validate ", NODES | listed("kernels"), None), ("cyclade stat --model ", listed("models"), set()),
    ("cyclade report --comm report --format ", FORMATS, set()),
]
t.ok(len(NODES) > 50 and len(CASES) > 40, "the program lists nodes")
for shell in ("bash", "zsh", "fish"):
    if not shutil.which(shell):
        t.skip(shell + " completes", "no %s here" % shell)
        continue
    got, errors = ask(shell, [line for line, _, _ in CASES])
    t.equal((len(got), errors), (len(CASES), ""), shell + " completes all lines without an error")
    for (line, must, may), offered in zip(CASES, got):
        if line.endswith("=") and shell == "fish":
            offered = bare(offered)
        if line.endswith("--"):  # which are written with "=" where they take an argument
            offered = {x.rstrip("=-") for x in offered if x.startswith("--")}
        missing, more = must - offered, (offered - must - may if may is not None else set())
        t.ok(not missing and not more, "%s completes: %s" % (shell, line), "missing %s, too many %s" % (sorted(missing)[:9], sorted(more)[:9]))
t.done()
