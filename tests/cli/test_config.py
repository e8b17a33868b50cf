#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Options by configuration file, CYCLADE_OPTS and command line: who has the last word, what is said of mistakes."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, nobody_runs, run  # noqa: E402

t = Tap()
home = tempfile.mkdtemp(prefix="cyclade-config-")
os.makedirs(os.path.join(home, "x", "cyclade"))
FILE = os.path.join(home, "x", "cyclade", "config")


def call(*words, text=None, opts=None, **env):
    """cyclade with that file (None: none) and CYCLADE_OPTS"""
    if os.path.exists(FILE):
        os.unlink(FILE)
    if text is not None:
        with open(FILE, "w", newline="") as f:
            f.write(text)
    e = dict(os.environ, XDG_CONFIG_HOME=os.path.join(home, "x"), HOME=home, **env)
    if opts is not None:
        e["CYCLADE_OPTS"] = opts
    return run(*words, env=e)


def settings(*words, **kw):
    r = call("config", *words, **kw)
    return [line for line in r.stdout.splitlines() if line and not line.startswith("#")]


def rate(*words, **kw):
    """What record would ask for: "frequency 2000" """
    r = call("record", "--dry-run", *words, "--", "true", **kw)
    for line in r.stdout.splitlines():
        f = line.split()
        if f[:1] in (["frequency"], ["period"]):
            return " ".join(f)
    return "%d: %s" % (r.returncode, r.stderr)


# ---- who has the last word
if rate().startswith("frequency"):
    TWO = "freq = 2000\n"
    for name, want, words, kw in [
        ("nobody", "frequency 4000", [], {}),
        ("the file", "frequency 2000", [], dict(text=TWO)),
        ("the file, for another command", "frequency 4000", [], dict(text="[run]\n" + TWO)),
        ("the command's section, above the line for all", "frequency 3000", [], dict(text="[record]\nfreq=3k\n[run]\nfreq=1\n")),
        ("the section over the line for all", "frequency 3000", [], dict(text=TWO + "[record]\nfreq=3k\n")),
        ("CYCLADE_OPTS over the file", "frequency 5000", [], dict(text=TWO, opts="-F 5k")),
        ("the command line over all", "frequency 6000", ["-F", "6000"], dict(text=TWO, opts="-F 5k")),
        ("-c over the file's freq", "period 1000", ["-c", "1000"], dict(text=TWO)),
        ("CYCLADE_OPTS' count over the file's freq", "period 7", [], dict(text=TWO, opts="--count=7")),
        ("-F over CYCLADE_OPTS' count", "frequency 8", ["-F8"], dict(opts="--count=7")),
    ]:
        t.equal(rate(*words, **kw), want, "the rate is said by " + name)
    r = call("record", "--dry-run", "-F", "5", "-c", "5", "--", "true")
    t.ok(r.returncode == 125 and "exclude" in r.stderr, "two rivals of the same source still exclude each other", r.stderr)
    r = call("record", "--dry-run", "-e", "task-clock", "--", "true", text="event = cpu-clock\nevent = page-faults\n")
    t.ok("task-clock" in r.stdout and "cpu-clock" not in r.stdout, "a list is replaced, not added to", r.stdout)
    r = call("record", "--dry-run", "--", "true", text="event = cpu-clock\nevent = page-faults\n")
    t.ok("page-faults" in r.stdout and "cpu-clock" in r.stdout, "a line for each element of a list", r.stdout)
else:
    t.skip("rates", "no event can be opened here: " + rate()[:60])
r = call("doctor", text="[doctor]\njson = true\n")
t.ok(r.stdout.startswith("{"), "a flag that is true", r.stdout[:80])
r = call("doctor", text="json = yes\n[doctor]\njson = no\n")
t.ok(not r.stdout.startswith("{"), "a flag that is false again", r.stdout[:80])
r = call("doctor", text="json\n", opts="--format markdown")
t.ok(not r.stdout.startswith("{"), "--format over the file's json", r.stdout[:80])

# ---- cyclade config
TEXT = "# mine\n\ncolor = never\r\n  quiet\n[report]\n\tsort =  dso,sym \nonly-pid = 1\nonly-pid = 2\n"
t.equal(settings("report", text=TEXT),
        ["[report]", "sort = dso,sym", "only-pid = 1", "only-pid = 2", "quiet = true", "color = never"],
        "config shows what is set for a command")
t.equal(settings("report", text=TEXT, opts="-s 'comm,sym' --freq 5"),
        ["[report]", "sort = comm,sym", "only-pid = 1", "only-pid = 2", "quiet = true", "color = never"],
        "CYCLADE_OPTS has the last word, and options of other commands are passed over")
origin = {line.split()[0]: line.split()[-1] for line in settings("--origin", "report", text=TEXT, opts="-s 'comm,sym'")[1:]}
both = [line.split()[-1] for line in settings("--origin", "report", text=TEXT) if line.startswith("only-pid")]
t.equal(both, [FILE + ":7", FILE + ":8"], "each element of a list has its line")
t.equal(origin, {"sort": "CYCLADE_OPTS", "only-pid": FILE + ":8", "quiet": FILE + ":4", "color": FILE + ":3"},
        "config --origin says who set what")
again = call("config", text=TEXT).stdout
t.equal(call("config", text=again).stdout, again, "what config writes is a configuration file")
t.ok("nothing is set" in call("config").stdout and FILE in call("config").stdout, "without any, it says where one would be",
     call("config").stdout)
r = run("config", env=dict(os.environ, XDG_CONFIG_HOME="relative", HOME=""))
t.equal(r.returncode, 0, "neither home nor an absolute XDG_CONFIG_HOME: none")
os.makedirs(os.path.join(home, ".config", "cyclade"))
with open(os.path.join(home, ".config", "cyclade", "config"), "w") as f:
    f.write("quiet\n")
r = run("config", "report", "--origin", env={k: v for k, v in dict(os.environ, HOME=home).items() if k != "XDG_CONFIG_HOME"})
t.ok(os.path.join(home, ".config/cyclade/config:1") in r.stdout, "without XDG_CONFIG_HOME, ~/.config", r.stdout + r.stderr)

# ---- mistakes: [file, line it names, what it says]
for text, line, says in [
    ("quiet\nsorted = x\n", 2, "did you mean sort?"),
    ("[repotr]\n", 1, "did you mean [report]?"),
    ("[report\n", 1, "ends with ]"),
    ("[report]\nfreq = 5\n", 2, "report has no option freq"),
    ("\n\n--quiet\n", 3, "did you mean --quiet?"),
    ("[record]\nfreq = many\n", 2, "not a count"),
    ("[info]\nformat = folded\n", 2, "info has no format 'folded'"),
    ("[info]\ncolor = yaml\n", 2, "is not one of"),
    ("sort\n", 1, "sort needs"),
    ("quiet = perhaps\n", 1, "neither true nor false"),
    ("help\n", 1, "command line alone"),
    ("[help]\nquiet\n", 1, "takes no configuration"),
    ("= x\n", 1, "no option"),
    ("]\n", 1, "no option"),
    ("x\0y\n", 1, "zero byte"),
    ("\x1b[31m = 1\n", 1, "no option"),
]:
    r = call("info", text=text)
    t.ok(r.returncode == 2 and "%s:%d: " % (FILE, line) in r.stderr and says in r.stderr and "\x1b" not in r.stderr and
         len(r.stderr.splitlines()) <= 2, "%r: refused with its line" % text, r.stderr)
r = call("run", "--", "sh", "-c", "echo ran >&2", text="sorted=1\n")
t.ok(r.returncode == 125 and "ran" not in r.stderr.splitlines(), "a mistake in the file: the program is not started", r.stderr)
for opts, says in [("--nosuch", "no option --nosuch"), ("-s 'x", "not closed"), ("report", "is no option"), ("-F", "needs"),
                   ("-Z", "no option -Z"), ("--limit x", "not a count")]:
    r = call("report", opts=opts)
    t.ok(r.returncode == 2 and says in r.stderr and "CYCLADE_OPTS" in r.stderr, "CYCLADE_OPTS=%s: refused" % opts, r.stderr)
for words in (["help", "report"], ["report", "--help"], ["completion", "bash"], ["--version"], []):
    r = call(*words, text="nonsense\n", opts="--nosuch")
    t.ok("nonsense" not in r.stderr and "nosuch" not in r.stderr, "%s works whatever the file holds" % (words or "no command"), r.stderr)
with open(FILE, "w") as f:
    f.write("#" * 70000)
r = run("info", env=dict(os.environ, XDG_CONFIG_HOME=os.path.join(home, "x")))
t.ok(r.returncode == 2 and FILE in r.stderr and "XDG_CONFIG_HOME" in r.stderr, "a file past all measure is refused", r.stderr)
os.unlink(FILE)


def passed_over(name, *words, **kw):
    """A file that is there and cannot be read: said, and done without."""
    env = dict(os.environ, XDG_CONFIG_HOME=os.path.join(home, "x"))
    r = run("explain", "--model", "ivb", "Retiring", *words, env=env, **kw)
    t.ok(r.returncode == 0 and "retiring" in r.stdout.lower() and r.stderr.count("\n") == 1 and FILE in r.stderr and
         "passed over" in r.stderr, "%s: a note, and on it goes" % name, r.stdout + r.stderr)
    r = run("explain", "--model", "ivb", "Retiring", "-q", *words, env=env, **kw)
    t.ok(r.returncode == 0 and not r.stderr, "%s: with -q not even that" % name, r.stderr)


os.mkdir(FILE)
passed_over("a directory of that name")
env = dict(os.environ, XDG_CONFIG_HOME=os.path.join(home, "x"))
r = run("run", "--", "sh", "-c", "echo ran >&2; exit 3", env=env)
t.ok(r.returncode == 3 and "ran" in r.stderr.splitlines() and FILE in r.stderr, "run, too", r.stderr)
r = run("config", env=env)
t.ok(r.returncode == 0 and FILE in r.stderr, "config says so, too", r.stdout + r.stderr)
os.rmdir(FILE)
os.symlink("config", FILE)
passed_over("a link to itself")
os.unlink(FILE)
# ---- what others can write is not obeyed: it names programs to run
ran = os.path.join(home, "ran")
with open(FILE, "w") as f:
    f.write("pre = /bin/touch %s\nwarmup = 1\n" % ran)
STAT = ["stat", "-e", "task-clock", "--", "true"]
os.chmod(FILE, 0o644)
run(*STAT, env=env)
t.ok(os.path.exists(ran), "the user's own file is obeyed")
os.unlink(ran)
for mode in (0o666, 0o646):
    os.chmod(FILE, mode)
    r = run(*STAT, env=env)
    t.ok(not os.path.exists(ran) and "can be written by others" in " ".join(r.stderr.split()), "one of mode %o is not" % mode, r.stderr)
    passed_over("a file of mode %o" % mode)
if os.geteuid() == 0:
    os.chmod(FILE, 0o644)
    os.chown(FILE, 1234, 1234)
    r = run(*STAT, env=env)
    t.ok(not os.path.exists(ran) and "belongs to another user" in " ".join(r.stderr.split()), "one of another user is not", r.stderr)
    os.chmod(home, 0o755)
    os.chdir(home)
    for name in ("cyclade.data", "perf.data"):
        with open(name, "w") as f:
            f.write("theirs")
        os.chown(name, 1234, 1234)
        r = run("report", env=dict(os.environ))
        t.ok(r.returncode == 2 and "%s here belongs to another user" % name in " ".join(r.stderr.split()), "%s of another user" % name, r.stderr)
        r = run("report", name)
        t.ok(r.returncode == 2 and "another user" not in r.stderr, "the same, named", r.stderr)
        os.unlink(name)
    os.chdir("/")
else:
    t.skip("files of another user", "needs root")
os.unlink(FILE)
# ---- so are one's own events of IBS beside it, but what --ibs-events names
EVENTS = os.path.join(os.path.dirname(FILE), "ibs-events")
with open(EVENTS, "w") as f:
    f.write("event Mine ibs_op\nwhere miss_latency > 99\nvalue miss_latency\n")
RECORD = ["record", "-e", "cpu-clock:u", "-o", os.path.join(home, "ibs.data"), "--", "true"]
for name, mode, owner, want in (("one's own", 0o644, 0, True), ("what others can write", 0o666, 0, False), ("another user's", 0o644, 1234, False)):
    if owner and os.geteuid():
        t.skip("events of IBS: %s" % name, "needs root")
        continue
    os.chmod(EVENTS, mode)
    if owner:
        os.chown(EVENTS, owner, owner)
    r = run("list", "ibs", env=env)
    t.equal((r.returncode, "Mine" in r.stdout, "passed over" in r.stderr), (0, want, not want), "events of IBS: %s" % name)
    r = run("list", "ibs", "--ibs-events", EVENTS, env=env)
    t.ok(r.returncode == 0 and "Mine" in r.stdout, "events of IBS: %s, named" % name, r.stderr)
    r = run(*RECORD, env=env)
    t.ok("passed over" in r.stderr if not want else "passed over" not in r.stderr, "record goes on", r.stderr)
    t.ok(r.returncode == 0 or "cannot" in r.stderr or "perf_event" in r.stderr, "and does its work", r.stderr)
os.unlink(EVENTS)
with open(FILE, "w") as f:
    f.write("nonsense\n")
if os.geteuid() == 0:
    os.chmod(home, 0o755)
    os.chmod(FILE, 0)
    if nobody_runs():
        passed_over("not ours to read", user=65534, group=65534)
    else:
        t.skip("not ours to read", "the program cannot be reached by nobody")
else:
    os.chmod(FILE, 0)
    passed_over("not ours to read")
t.done()
