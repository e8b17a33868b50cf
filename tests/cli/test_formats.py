#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All commands x all formats, on recordings and counts made here. Which there are comes from commands.def, options.def and
format.def, and from the program's own refusals: each format is written, or refused in one wording with what there is; csv is
one table; people's rows are those of programs; losses are seen in each format; completions offer what is accepted."""
import csv
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata"), os.path.join(HERE, "..", "..", "tools")]
import gen  # noqa: E402
import option_table  # noqa: E402
import recordings  # noqa: E402
import tables  # noqa: E402
from calls_made import ANY, CALL, RET, make  # noqa: E402
from tap import NO_PLUGINS, ROOT, SANITIZED, Tap, emulator, run  # noqa: E402
import waits_made  # noqa: E402

# Commands whose results are not made of tables yet, so that they have no --table: a command that gets it loses its row, and no
# command gets one.
NOT_YET = set()
HALF = set()  # those of which some results are

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-formats-")
os.chdir(tmp.name)
os.environ["XDG_CONFIG_HOME"] = tmp.name  # fish makes a directory there


def rows_of(name, macro):
    """The arguments of each row of a .def file that begin with a quote or a letter, as texts."""
    with open(os.path.join(ROOT, "src", name), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return [[x.strip('"') for x in re.findall(r'"(?:[^"\\]|\\.)*"|[^\s,"][^,"]*', row)]
            for row in re.findall(macro + r"\((.*)\)\s*$", text, re.M)]


COMMANDS = {row[0]: row[1] for row in rows_of("cli/commands.def", "COMMAND")}
SHOWN = [row[0] for row in rows_of("show/format.def", "FORMAT")]
OPTIONS = [o._asdict() for o in option_table.options(ROOT)]


def option(command, name):
    return next((o for o in OPTIONS if o["name"] == name and command in o["commands"]), None)


def offered(command):
    o = option(command, "format")
    return o["arg"].replace("FORMATS", "|".join(SHOWN)).split("|") if o else []


UNIVERSE = sorted({f for c in COMMANDS.values() for f in offered(c)} | set(SHOWN) | {"folded", "openmetrics", "xyzzy"})
TABLED = {c for c in COMMANDS.values() if option(c, "table")} - HALF
t.ok({"term", "csv", "json", "markdown"} <= set(UNIVERSE) and len(COMMANDS) > 15, "the tables were read", (UNIVERSE, COMMANDS))
t.equal({c for c in COMMANDS.values() if offered(c)} - TABLED, NOT_YET, "commands whose results are not made of tables: those of NOT_YET")
t.equal(sorted(c for c in TABLED if not set(SHOWN) <= set(offered(c))), [], "what is made of tables has all formats of format.def")
t.equal(sorted(c for c in COMMANDS.values() if ("csv" in offered(c)) != bool(option(c, "separator"))), [], "who has csv has -x")
t.equal(sorted(c for c in COMMANDS.values() if bool(offered(c)) != bool(option(c, "json"))), ["script"], "who has a format has -j, and script for its lines")

# ---- what to call: command -> its results, each (words, codes, the same each time)
made = {r.name: r for r in recordings.made(os.path.join(tmp.name, "made"))}
branches, account = made["branches"].path, made["account"].path
fields = next(r.path for n, r in made.items() if n.startswith("all_fields"))  # call chains, registers
NAMES = [b"main", b"hot_one", b"=x|\x1b[31m\n\",<b>`*\xff"]
calls = make("calls.data", NAMES, [[((1, 9), (0, 5), RET, 0), ((2, 9), (1, 5), RET, i % 9 == 0)] for i in range(90)])
near = make("near.data", NAMES, [[((1, 9), (2, 0), CALL, 0), ((0, 9), (1, 0), CALL, 0)]] * 90, filter_=ANY, config=0x20c4)
waits = waits_made.few("waits.data", [b"schedule", b"futex_wait", NAMES[2]])
w = gen.Writer("<")
f = gen.File(w, [("cpu-clock", dict(type=1, config=0, sample=gen.BASE, period=1000), [40])])
f.features, _ = gen.features(w)
f.data += w.record(gen.LOST, w.u64(40, 11))
gen.fill(f, 5)
gen.write("lossy.data", f.build())
with open("counts.csv", "w", encoding="ascii") as out:
    out.write("1000000,,cycles,1000000,100.00,,\n2000000,,instructions,1000000,100.00,,\n")
os.makedirs("machine/proc")
with open("machine/proc/cpuinfo", "w", encoding="ascii") as out:
    out.write("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 58\nstepping\t: 9\nmodel name\t: A CPU\n\n")
os.makedirs("doubtful/intel/ivb")
with open("doubtful/intel/ivb/tree", "w", encoding="ascii") as out:
    out.write("base ivb\nnode New\nparent Fetch_Latency\nexpr 1\n")
RESULTS = {
    "run": [(["-o", "-", "--user", "--", "true"], (0,), False)],
    "stat": [(["-e", "cs", "-o", "-", "--", "true"], (0,), False), (["--import", "counts.csv", "--model", "ivb"], (0,), True)],
    "monitor": [(["--once", "-I", "20"], (0,), False)],
    "compare": [(["-r", "6", "-e", "cs", "-o", "-", "--", "true", "--", "true"], (0,), False)],
    "report": [(["-i", branches], (0,), True), (["-i", calls], (0,), True), (["-g", "-i", fields], (0,), True), (["-b", "-i", branches], (0,), True),
               (["--account", "-i", account], (0,), True), *[([x, "-i", waits], (0,), True) for x in ("--wait", "--wall", "--concurrency", "--critical", "--findings")]],
    "annotate": [(["-i", branches, made["branches"].function], (0,), True), (["--account", "-i", account, "hot"], (0,), True)],
    "blocks": [(["-i", branches], (0,), True), (["--mix", "-i", branches], (0,), True), (["--chains", "-i", branches], (0,), True), (["-i", near], (0,), True), (["-i", branches, made["branches"].function], (0,), True)],
    "calls": [(["-i", calls], (0,), True), (["-i", calls, "hot_one"], (0,), True)],
    "diff": [([branches, calls], (0,), True)],
    "sharing": [(["-i", fields], (0,), True)],
    "sum": [([branches, calls], (0,), True)],
    "registers": [(["-i", fields], (0,), True), (["-i", fields, "--at", "0xffffffff81000001"], (0,), True)],
    "mem": [(["-i", fields], (0,), True), (["-i", made["memory"].path], (0,), True)],
    "info": [(["-i", branches], (0,), True), (["-v", "-i", "lossy.data"], (0,), True)],
    "sql": [(["-i", branches, "SELECT * FROM branches LIMIT 9"], (0,), True), (["-i", "lossy.data", "SELECT * FROM samples"], (0,), True)],
    "list": [([x, "--model", "ivb"], (0,), True) for x in ("events", "groups", "metrics", "nodes")] + [(["models"], (0,), True), (["kernels"], (0,), True)],
    "explain": [(["retiring", "--model", "ivb"], (0,), True), (["ipc", "--model", "ivb"], (0,), True)],
    "calibrate": [(["--quick", "mispredict"], (0,), False)],
    "validate": [(["--quick", "page-faults", "fault", "add"], (0,), False)],
    "doctor": [(["--sysroot", "machine"], (0, 1), True)],
    "models": [(["check", "ivb"], (0,), True), (["check", "--models", "doubtful", "ivb"], (1,), True)],
}
if emulator("x86_64"):
    RESULTS["simulate"] = [(["-o", "simulated.data", "--", "/bin/true"], (0,), False)]
else:
    t.skip("simulate", NO_PLUGINS)
REGIONS = os.environ.get("REGIONS_EXAMPLE")
if REGIONS and not subprocess.run([REGIONS], env=dict(os.environ, CYCLADE_REGIONS="work.regions"), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode:
    RESULTS["report"].append((["-i", "work.regions"], (0,), True))
    RESULTS["run"].append((["--regions", "-o", "-", "--", "sh", "-c", REGIONS + " >/dev/null"], (0,), False))
else:
    t.skip("report of a file of libcyclade", "REGIONS_EXAMPLE is not set, or fails")
t.equal({*RESULTS, "simulate"}, {c for c in COMMANDS.values() if offered(c)}, "each command that has formats is called")


def refused(p):
    """The formats of a refusal in the one wording, else None."""
    m = re.fullmatch(r"cyclade: (.*) has no format '(.*)'\n  --format (.*)\n", p.stderr)
    return re.split(r", | or ", m[3]) if m and not p.stdout else None


def status(command, words=()):
    """Of a refusal: 125 where a program would have been started."""
    return 125 if command in ("run", "stat", "record", "compare", "simulate") and "--import" not in words else 2


# ---- each command, each format
def one_table(text):
    """What is wrong with a text that is to be one table of csv, or None."""
    if "\r" in text:
        return "lines do not end in \\n alone"
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not text.endswith("\n") or not rows or {len(x) for x in rows} != {len(rows[0])}:
        return "not one table"
    return None if len(set(rows[0])) == len(rows[0]) else "a column twice"


def well_formed(form, text):
    if not text:
        return "nothing was written"
    if form == "json":
        try:
            doc = json.loads(text)
        except ValueError as e:
            return str(e)
        return None if re.match(r"cyclade\.\w+/\d+$", doc.get("schema", "")) else "no schema"
    return one_table(text) if form == "csv" else None


ask = tables.once()
for command, results in sorted(RESULTS.items()):
    accepted, bad = set(), []
    for words, codes, again in results:
        here, hints = set(), []
        # under a sanitizer one refusal is as good as another
        for form in sorted({*offered(command), "xyzzy"}) if SANITIZED else UNIVERSE:
            # what is asked for once more below has its words in the same order
            p = ask(command, *words, "--format", form) if again else run(command, "--format", form, *words)
            hint = refused(p)
            if command in NOT_YET and p.returncode == status(command, words) and hint is None:
                continue  # in its own words
            if hint is None:
                here.add(form)
                nothing = form not in SHOWN and p.returncode == 2 and " to be drawn\n" in p.stderr  # a graph
                wrong = None if p.returncode in codes or nothing else "exit %d: %s" % (p.returncode, p.stderr)
                if not wrong and not p.returncode and (form != "csv" or command in TABLED):
                    wrong = well_formed(form, p.stdout)
                if wrong:
                    bad.append((words, form, wrong))
            else:
                if p.returncode != status(command, words):
                    bad.append((words, form, "exit", p.returncode))
                hints.append((form, hint))
        accepted |= here
        for form, hint in hints:  # of the command's option, or of this result
            if command not in NOT_YET and set(hint) != (here if form in offered(command) else set(offered(command))):
                bad.append((words, form, "is told", hint, "has", here))
    t.ok(not bad, "%s: each format is written, or refused with those there are" % command, "\n".join(map(str, bad[:6])))
    t.equal(sorted(accepted), sorted(offered(command)), "%s: formats that are offered are accepted" % command)
for command in sorted(c for c in COMMANDS.values() if not offered(c)):
    p = run(command, "--format", "json")
    t.ok(p.returncode == status(command) and not p.stdout and "%s has no option --format" % command in p.stderr,
         "%s: has no formats, and says so" % command, p.stderr)

# ---- tables
def unescaped(cell):
    return re.sub(r"\\(.)", r"\1", html.unescape(cell.replace("&nbsp;", ""))).strip()


def people(text):
    """Rows of a document of one table as markdown, without what stands behind it."""
    rows, head = [], True
    for line in text.splitlines():
        cells = re.split(r"(?<!\\)\|", line)
        if not line.startswith("|"):
            head = True
        elif head:
            head = not set(line) <= set("|-:")
        else:
            rows.append([unescaped(c) for c in cells[1:-1]])
    return rows


def names(row):
    """Texts of a row that can be told from figures."""
    return [x for x in row if re.search(r"[A-Za-z_/]..", x)]


walked = compared = 0
for command in sorted(TABLED & set(RESULTS)):
    for words, codes, again in RESULTS[command]:
        if not again:
            continue
        refusal = ask(command, *words, "--table", "?")
        m = re.search(r"--table (.*)", refusal.stderr, re.S)
        if not m:
            continue
        tables.walk(t, command, *words, code=codes, also=["losses"] if "work.regions" in words else None, ask=ask)
        walked += 1
        bad = []
        for table in re.split(r", | or ", " ".join(m[1].split())):
            theirs = list(csv.reader(io.StringIO(ask(command, *words, "--format", "csv", "--table", table).stdout, newline="")))[1:]
            ours = people(ask(command, *words, "--format", "markdown", "--table", table).stdout)
            every = {x for row in theirs for x in names(row)}
            for i, row in enumerate(ours):
                known = [x for x in names(row) if x in every]
                if i >= len(theirs) or not set(known) <= set(theirs[i]):
                    bad.append((table, i, row, theirs[i] if i < len(theirs) else "no such row"))
                compared += len(known)
        t.ok(not bad, "%s %s: people's rows are the first of programs'" % (command, " ".join(words[:2])), "\n".join(map(str, bad[:3])))
t.ok(walked > 5 and compared > 50, "tables were walked: %d results, %d names in their places" % (walked, compared))

# ---- losses
lossy = make("lossy_calls.data", NAMES, [[((1, 9), (0, 5), RET, 0)]] * 40, lost=11)
lossy_near = make("lossy_near.data", NAMES, [[((1, 9), (2, 0), CALL, 0), ((0, 9), (1, 0), CALL, 0)]] * 90, filter_=ANY, config=0x20c4,
                  lost=11)
for command, words in (("report", ["-i", lossy]), ("annotate", ["-i", lossy, "hot_one"]), ("blocks", ["-i", lossy_near]),
                       ("calls", ["-i", lossy]), ("registers", ["-i", fields]), ("info", ["-i", "lossy.data"])):
    if command in NOT_YET:
        continue
    if run(command, *words).returncode:
        t.skip(command + ": losses", "no result of " + words[1])
        continue
    n = 7 if command == "registers" else 11
    for form in offered(command):
        p = run(command, *words, "--format", form)
        if p.returncode:  # a graph of nothing
            continue
        place = p.stdout if form in SHOWN and form != "csv" else p.stderr
        t.ok(re.search(r"lost\W[^\d]*%d\b" % n, place), "%s --format %s: losses are seen" % (command, form),
             p.stdout[-500:] + p.stderr)
    p = run(command, *words, "--format", "csv", "--table", "losses")
    t.ok("lost" in p.stdout and "%d" % n in p.stdout and "lost" not in p.stderr, command + ": losses are a table", p.stdout + p.stderr)

# ---- completions
BASH = """. ./bash.completion
COMP_WORDS=(cyclade "$@" "")
COMP_CWORD=$(($# + 1))
COMPREPLY=()
_cyclade
printf '%s\\n' "${COMPREPLY[@]}"
"""
for shell in ("bash", "zsh", "fish"):
    with open(shell + ".completion", "w", encoding="utf-8") as out:
        out.write(run("completion", shell).stdout)


# fish makes its folders where they are missing
ELSEWHERE = {**os.environ, **{name: os.getcwd() for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}}


def complete(shell, *words):
    if shell == "bash":
        return subprocess.run(["bash", "-c", BASH, "bash", *words], capture_output=True, text=True).stdout.split()
    line = " ".join(("cyclade",) + words) + " "
    p = subprocess.run(["fish", "--no-config", "-c", "source fish.completion; complete -C '%s'" % line], capture_output=True, text=True,
                       env=ELSEWHERE)
    return [x.split("\t")[0] for x in p.stdout.splitlines()]


with open("zsh.completion", encoding="utf-8") as text:
    ZSH = dict(re.findall(r"^\t(\w+)\)\n(.*?)^\t\t;;", text.read(), re.M | re.S))
for command in sorted(COMMANDS.values()):
    want = sorted(offered(command))
    longs = sorted({"--" + o["name"] for o in OPTIONS if command in o["commands"]})
    m = re.search(r"--format=\[.*\]:argument: _cyclade_values (@.*)'", ZSH.get(command, ""))
    got = {"zsh": sorted(m[1].replace("@", "").split()) if m else []}
    for shell in ("bash", "fish"):
        if want and shutil.which(shell):
            got[shell] = sorted(complete(shell, command, "--format"))
    t.ok(all(v == want for v in got.values()), "%s: completions offer its formats" % command, (want, got))
    got = {"zsh": sorted(set(re.findall(r"^\t\t\t'\*?(--[\w-]+)", ZSH.get(command, ""), re.M)))}
    if shutil.which("bash"):
        script = BASH.replace('"$@" ""', '"$@" "--"')
        p = subprocess.run(["bash", "-c", script, "bash", command], capture_output=True, text=True)
        got["bash"] = sorted(set(p.stdout.split()))
    t.ok(all(v == longs for v in got.values()), "%s: completions offer its options" % command, (longs, got))
for shell in ("bash", "zsh", "fish"):
    if shutil.which(shell):
        p = subprocess.run([shell, "-n", shell + ".completion"], capture_output=True, text=True, env=ELSEWHERE)
        t.ok(not p.returncode and not p.stderr, shell + " reads its completions", p.stderr)
    else:
        t.skip(shell + " reads its completions", "it is not here")
t.done()
