#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Accidents: what must not be lost, leaked or cut without a word. Each case has a name, and is either tried here or by the test of its
room that ELSEWHERE names: then it is seen that there is such a test, and that the build runs it.

    tests/cli/test_accidents.py --cases [NAME...]	"ok NAME", "skip NAME: why" or "FAULT NAME: seen" for each, those of other tests too

Cases with other users need root, which makes two accounts for them and removes them; without useradd they are numbers."""
import atexit
import glob
import json
import os
import pwd
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, ROOT, SIMULATED, Tap, run, wait_for  # noqa: E402

# case: the test, and the name that its check has there
ELSEWHERE = {
    "line_secret": ("cli/test_strangers.py", "a file that the program's user may not read: no line of it is shown"),
    "source_race": ("cli/test_strangers.py", "while the link is exchanged, no line of another user's file is shown"),
    "shrink": ("cli/test_strangers.py", "while they are cut and written, each report ends with 0 and has the program's own function"),
    "source_bomb": ("cli/test_strangers.py", "one file under 40 names: its memory once"),
    "sysroot_link": ("cli/test_strangers.py", "a link in a sysroot shows nothing outside of it"),
    "regions_big": ("region/test_run.py", "a table of %s: what is kept of it"),
    "hardened": ("cli/test_hardened.py", "%s has all of %d"),
    "slow_clients": ("cli/test_monitor.py", "300 slow clients beside it: each scrape is served"),
}
t = Tap()
resource.setrlimit(resource.RLIMIT_CPU, (900, 900))  # a program that is left behind, because this ends early, does not spin for ever
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
os.umask(0o022)
top = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-accidents-"))
os.chmod(top, 0o755)
os.chdir(top)
for name in ("LD_PRELOAD", "MALLOC_PERTURB_"):
    os.environ.pop(name, None)
WORK = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"
SPIN = "while [ -e go ]; do :; done"
RECORD = ["record", "-q", "-e", "cpu-clock", "-F", "2000"]


def account(number):
    """The number of a user made for this run, or this one, which has no account."""
    name = "cyclade%d-%d" % (number, os.getpid())
    if os.geteuid() or not shutil.which("useradd") or not shutil.which("userdel") or \
            subprocess.run(["useradd", "-M", "-r", "-s", "/bin/sh", name], capture_output=True, check=False).returncode:
        return number
    atexit.register(subprocess.run, ["userdel", name], capture_output=True, check=False)
    return pwd.getpwnam(name).pw_uid


def end():
    os.chdir("/")
    shutil.rmtree(top)
    t.done()


def content(path):
    with open(path, "rb") as f:
        return f.read()


def put(path, text, owner=None, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)


def remove(*paths):
    for path in paths:
        if os.path.lexists(path):
            os.unlink(path)


def build(name, text, *flags, cc="gcc"):
    """Why it cannot be built, or ""."""
    if not shutil.which(cc):
        return "no " + cc
    p = subprocess.run([cc, "-g", "-O1", "-x", "c", "-", "-o", name, *flags], input=text, capture_output=True, text=True, check=False)
    return "" if p.returncode == 0 else "it does not build here: " + p.stderr.strip().splitlines()[-1]


def words(*more, out="x.data"):
    return [*RECORD, *more, "-o", out]


def samples(name):
    return sum(x["count"] for x in json.loads(run("info", "-j", name).stdout or "{}").get("records", []) if x["record"] == "SAMPLE")


def start(*argv, **how):
    """A recorder of a program that works as long as `go` is there, when its recording has a sample."""
    put("go", "")
    remove("x.data", "x.data.old")
    p = subprocess.Popen([CYCLADE, *argv, "--", "sh", "-c", how.pop("program", SPIN)], start_new_session=True, stdin=subprocess.DEVNULL,
                         **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **how})
    if not wait_for(lambda: p.poll() is not None or (os.path.exists("x.data") and samples("x.data") > 0)):
        t.ok(False, "a recorder has samples", argv)
    return p


def finish(p):
    remove("go")
    out = p.communicate(timeout=600)[0]
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return out


def without_word(name, how, commands):
    """Which of the commands do not say that."""
    found = []
    for command in commands:
        remove("out")
        r = run(*[{"OUT": "out", "FILE": name, "SYMBOL": symbol}.get(w, w) for w in command])
        text = r.stdout + r.stderr + (content("out").decode(errors="replace") if command[:2] == ["report", "--html"] and os.path.exists("out") else "")
        if how not in " ".join(text.split()) and not (r.returncode == 2 and r.stderr and not r.stdout):
            found.append((command, r.returncode, text[-300:]))
    return found


# ---- outputs ------------------------------------------------------------------------------------------------------------------------

def out_is_in():
    os.makedirs("same", exist_ok=True)
    good = content("whole.data")
    lost = []
    forms = [["report", "-o", "OUT", "IN"], ["report", "-j", "-o", "OUT", "IN"], ["report", "--html", "OUT", "IN"], ["annotate", "-i", "IN", "-o", "OUT", symbol],
             ["info", "-o", "OUT", "IN"], ["export", "--pprof", "-o", "OUT", "IN"], ["export", "--folded", "-o", "OUT", "IN"], ["diff", "-o", "OUT", "IN", "whole.data"],
             ["diff", "-o", "OUT", "whole.data", "IN"], ["sum", "-o", "OUT", "IN", "whole.data"], ["sql", "-o", "OUT", "IN", "select 1"]]
    for form in forms:
        for name in ("same/in.data", "same/./in.data", "same/link", "same/hard"):
            remove("same/in.data", "same/link", "same/hard")
            put("same/in.data", "", mode=0o600)
            with open("same/in.data", "wb") as f:
                f.write(good)
            os.symlink("in.data", "same/link")
            os.link("same/in.data", "same/hard")
            r = run(*[{"OUT": name, "IN": "same/in.data"}.get(w, w) for w in form])
            if r.returncode == 0 or not r.stderr or content("same/in.data") != good:
                lost.append((form, name, r.returncode, r.stderr))
    t.equal(lost, [], "out_is_in: %d outputs over their own recording, by four names each: refused" % len(forms))


def out_is_program():
    wrong = []
    for argv in (["stat", "-e", "task-clock", "-o", "measured", "--", "./measured", "-c", "echo >ran"],
                 ["compare", "-r", "2", "-o", "measured", "--", "./measured", "-c", "echo >ran", "--", "true"]):
        shutil.copy(shutil.which("sh"), "measured")
        was = content("measured")
        r = run(*argv)
        if r.returncode == 0 or content("measured") != was or os.path.exists("ran"):
            wrong.append((argv, r.returncode, r.stderr))
    t.equal(wrong, [], "out_is_program: no output replaces the program that is measured")


def modes():
    wrong = {}
    for argv in (["report", "--html", "derived", "whole.data"], ["report", "--format", "csv", "-o", "derived", "whole.data"],
                 ["report", "-j", "-o", "derived", "whole.data"], ["annotate", "--format", "html", "-o", "derived", "-i", "whole.data", symbol],
                 ["export", "--pprof", "-o", "derived", "whole.data"], ["export", "--folded", "-o", "derived", "whole.data"], ["sql", "-o", "derived", "whole.data", "select 1"]):
        remove("derived")
        r = run(*argv)
        if r.returncode or os.stat("derived").st_mode & 0o77:
            wrong[" ".join(argv)] = (r.returncode, r.stderr)
    t.ok(stat.S_IMODE(os.stat("whole.data").st_mode) == 0o600 and not wrong, "modes: what is made of a recording is no more readable than it", wrong)


def default_link():
    if os.geteuid():
        t.skip("default_link", "needs root")
        return
    os.mkdir("theirs")
    os.chown("theirs", MALLORY, MALLORY)
    put("victim", "kept\n")
    for name in ("cyclade.data", "cyclade.data.old"):
        os.symlink(top + "/victim", "theirs/" + name)
        os.lchown("theirs/" + name, MALLORY, MALLORY)
    for argv in (["record", "-q", "-e", "cpu-clock", "--", "true"], ["run", "-q", "--", "true"]):
        r = run(*argv, cwd="theirs")
        t.equal(content("victim"), b"kept\n", "default_link: %s does not write through a link of another user (%d)" % (argv[0], r.returncode))


def json_c1():
    why = build("shows", '__attribute__((noinline)) void f(void) __asm__("hot\\302\\233evil\\342\\200\\256");\nvolatile long s;\n'
                         "void f(void)\n{\n\tfor (long i = 0; i < 100000000; i++)\n\t\ts += i;\n}\nint main(void)\n{\n\tf();\n\treturn 0;\n}\n")
    r = run(*words(), "--", "./shows") if not why else None
    if why or r.returncode:
        t.skip("json_c1", why or "not recorded: " + r.stderr)
        return
    p = subprocess.run([CYCLADE, "report", "-j", "x.data"], capture_output=True, check=False)
    t.ok(b"evil" in p.stdout and b"\xc2\x9b" not in p.stdout and b"\xe2\x80\xae" not in p.stdout, "json_c1: no control or direction characters of a name in JSON",
         p.stdout[:300])


# ---- how recordings end ---------------------------------------------------------------------------------------------------------------

COMMANDS = [["report", "FILE"], ["report", "-j", "FILE"], ["report", "--format", "csv", "FILE"], ["report", "--html", "OUT", "FILE"],
            ["annotate", "-i", "FILE", "SYMBOL"], ["info", "FILE"], ["diff", "whole.data", "FILE"], ["diff", "-j", "whole.data", "FILE"],
            ["sum", "whole.data", "FILE"], ["export", "--pprof", "-o", "OUT", "FILE"], ["export", "--firefox", "-o", "OUT", "FILE"]]


def cut_told():
    whole = content("whole.data")
    with open("half.data", "wb") as f:
        f.write(whole[:len(whole) // 2])
    how = json.loads(run("info", "-j", "half.data").stdout)["losses"]
    t.equal((how["partial"], without_word("half.data", how["ended_how"], COMMANDS)), (1, []), "cut_told: each command tells that it is cut")


def cut_gate():
    gate = ["diff", "--fail-if", "cpu-clock > +2%"]
    codes = [run(*gate, *more).returncode for more in (["whole.data", "half.data"], ["half.data", "whole.data"], ["--allow-partial", "half.data", "half.data"])]
    t.equal(codes, [2, 2, 0], "cut_gate: no verdict on half a recording, but where that is asked for")


def killed_told():
    """Also at_work_told."""
    untold, silent = [], []
    for argv in (words(), words("-z"), ["run", "-q", "--data", "x.data"]):
        p = start(*argv)
        silent += without_word("x.data", "the recorder is still at work", COMMANDS[:1])
        p.kill()
        finish(p)
        untold += without_word("x.data", "the recorder was killed", [COMMANDS[i] for i in (0, 1, 5, 6)])
    t.equal(untold, [], "killed_told: a recorder that was killed")
    t.equal(silent, [], "at_work_told: one that is at work")


def vanished():
    p = start("record", "-e", "cpu-clock", "-o", "x.data", stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
    os.unlink("x.data")
    said = finish(p)
    t.ok(p.returncode == 125 and "x.data" in said and "samples in x.data" not in said, "vanished: a recording that is removed while it is written", said)


def sigint_told():
    shutil.copy(shutil.which("sh"), "later")
    put("go2", "")
    p = start("run", "-e", "cpu-clock", "--data", "x.data", program="trap '' INT; %s; ./later -c '%s; %s'; exit 5" % (SPIN, SPIN.replace("go", "go2"), WORK),
              stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
    os.killpg(p.pid, signal.SIGINT)
    remove("go", "go2")
    said = finish(p)
    r = run("report", "--format", "csv", "-s", "comm", "x.data")
    t.ok(p.returncode == 5 and "interrupted" in said and ",later" in r.stdout, "sigint_told: a program that ignores Ctrl-C is measured to its end", (said, r.stdout))


# ---- the logs of --heap ---------------------------------------------------------------------------------------------------------------

ENDS = "#include <stdlib.h>\n#include <stdio.h>\nint main(void)\n{\n\tchar *p = NULL;\n\n\tfor (int i = 1; i < 200; i++)\n\t\tp = realloc(p, (size_t)i * 37);\n" \
       "\tp[0] = 0;\n\tfree(p);\n\tputs(\"done\");\n\treturn 5;\n}\n"
OWN = """
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
/* A page of its own for each block, which begins with its sizes; libc would find no size of it. */
struct block { size_t mapped, size, pad[2]; };
void *malloc(size_t n)
{
	size_t mapped = (n + sizeof(struct block) + 4095) / 4096 * 4096;
	struct block *b = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	*b = (struct block){ mapped, n, { 0x5a5a5a5a5a5a5a58, 0x5a5a5a5a5a5a5a58 } };
	return b + 1;
}
void free(void *p)
{
	struct block *b = p;

	if (p)
		munmap(b - 1, b[-1].mapped);
}
void *calloc(size_t n, size_t each)
{
	return malloc(n * each);
}
void *realloc(void *p, size_t n)
{
	struct block *old = p, *new = malloc(n);

	if (p && new) {
		memcpy(new, p, old[-1].size < n ? old[-1].size : n);
		free(p);
	}
	return new;
}
"""


def as_alone(case, program, why=""):
    """The same output and status with and without the logs."""
    alone = subprocess.run(["./" + program], capture_output=True, text=True, check=False) if not why else None
    if why or alone.returncode != 5:
        t.skip(case, why or "it does not run alone here: %d %s" % (alone.returncode, alone.stderr[:200]))
        return
    r = run(*words("--heap"), "--", "./" + program)
    if r.returncode == 125 and "./" + program not in r.stderr:
        t.skip(case, "--heap does not work here: " + r.stderr[:200])
        return
    t.equal((r.returncode, r.stdout), (5, alone.stdout), "%s: it ends as alone" % case)


def heap_own():
    why = build("libown.so", OWN, "-shared", "-fPIC", "-fno-builtin")
    as_alone("heap_own", "own", why or build("own", ENDS, "-fno-builtin", "-Wl,-rpath," + top, "-L.", "-Wl,--no-as-needed", "-lown"))


def heap_asan():
    as_alone("heap_asan", "address", build("address", ENDS, "-fsanitize=address"))


def heap_musl():
    as_alone("heap_musl", "musl", build("musl", ENDS, cc="musl-gcc"))


def heap_left():
    """Ended while it takes the logs in: its child removes them."""
    why = build("much", "#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n\tfor (int i = 0; i < 300000; i++)\n\t\tfree(malloc(100 + i % 1000));\n"
                        "\tfclose(fopen(\"ended\", \"w\"));\n\treturn 5;\n}\n", "-fno-builtin")
    if why:
        t.skip("heap_left", why)
        return
    os.mkdir("logs")
    for wait in (0, 0.01, 0.05):
        p = subprocess.Popen([CYCLADE, *words("--heap"), "--", "../much"], cwd="logs", start_new_session=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda p=p: os.path.exists("logs/ended") or p.poll() is not None)
        time.sleep(wait)
        p.send_signal(signal.SIGTERM)
        p.wait(600)
        gone = wait_for(lambda: not [f for f in os.listdir("logs") if "heap-" in f], 60)
        t.ok(gone, "heap_left: SIGTERM %.2f s after the program's end leaves no logs" % wait, os.listdir("logs"))
        remove("logs/ended")


# ---- system calls ---------------------------------------------------------------------------------------------------------------------

SHORT = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int calls;

/* How many bytes of so many a call takes, or -1: it is interrupted. */
static long part(int fd, size_t n)
{
	const char *how = getenv("SHORT");

	if (!how || fd < 3)
		return (long)n;
	if (!calls++)
		syscall(SYS_close, (int)syscall(SYS_openat, AT_FDCWD, "seen", O_CREAT | O_WRONLY, 0600));
	if (*how == 'i' && calls % 3 == 1) {
		errno = EINTR;
		return -1;
	}
	return *how == 's' && n > 1 ? (long)(n / 2) : (long)n;
}
#define TAKE(CALL, ...) do { long k = part(fd, n); return k < 0 ? -1 : syscall(CALL, fd, p, (size_t)k, ##__VA_ARGS__); } while (0)
ssize_t write(int fd, const void *p, size_t n) { TAKE(SYS_write); }
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { TAKE(SYS_pwrite64, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) { TAKE(SYS_pwrite64, at); }
"""


def short_write():
    why = "no library can be preloaded into this build" if not SIMULATED else build("short.so", SHORT, "-shared", "-fPIC")
    if why:
        t.skip("short_write", why)
        return
    for how in ("short", "interrupted"):
        remove("seen")
        r = run(*words(), "--", "sh", "-c", WORK, env={**os.environ, "SHORT": how, "LD_PRELOAD": top + "/short.so"})
        t.ok(os.path.exists("seen") and r.returncode == 0 and samples("x.data") > 0 and json.loads(run("info", "-j", "x.data").stdout)["losses"]["ended"] == "finished",
             "short_write: calls that are %s: the recording is whole" % how, (os.path.exists("seen"), r.returncode, r.stderr))


# ---- others' files --------------------------------------------------------------------------------------------------------------------

def dwo_fifo():
    """Recorded while its split debug information is a file."""
    os.mkdir("split")
    put("split/waits.c", "__attribute__((noinline)) int burn(int n)\n{\n\tint s = 0;\n\n\tfor (volatile int i = 0; i < n; i++)\n\t\ts += i;\n\treturn s;\n}\n"
                         "int main(void)\n{\n\treturn burn(60000000) == 1;\n}\n")
    p = subprocess.run(["gcc", "-O1", "-g", "-gsplit-dwarf", "waits.c", "-o", "waits"], cwd="split", capture_output=True, check=False) if shutil.which("gcc") else None
    names = glob.glob("split/*.dwo")
    if not p or p.returncode or not names or run(*words(), "--", "split/waits").returncode:
        t.skip("dwo_fifo", "no program with split debug information can be made and recorded here")
        return
    for name in names:
        os.unlink(name)
        os.mkfifo(name)
        if os.geteuid() == 0:
            os.chown(name, MALLORY, MALLORY)
    for argv in (["annotate", "--no-cache", "-i", "x.data", "burn"], ["report", "--no-cache", "--html", "x.html", "x.data"], ["report", "--no-cache", "-s", "srcline", "x.data"]):
        try:
            r = run(*argv, timeout=300)
            t.ok(r.returncode == 0, "dwo_fifo: %s ends" % argv[0], r.stderr)
        except subprocess.TimeoutExpired:
            t.ok(False, "dwo_fifo: %s ends" % argv[0], "it waits")


def config_owner():
    """Also config_owner_compare."""
    if os.geteuid():
        t.skip("config_owner", "needs root")
        t.skip("config_owner_compare", "needs root")
        return
    home = top + "/home"
    os.makedirs(home + "/.config/cyclade")
    file = home + "/.config/cyclade/config"
    env = {k: v for k, v in os.environ.items() if k != "XDG_CONFIG_HOME"}
    env["HOME"] = home
    for case, argv in (("config_owner", ["stat", "-e", "task-clock", "--", "true"]), ("config_owner_compare", ["compare", "-r", "2", "--", "true", "--", "true"])):
        ran = {}
        for who in (0, MALLORY):
            put(file, "pre = /bin/touch %s/ran\nwarmup = 1\n" % home, owner=who)
            for path in (home, home + "/.config", home + "/.config/cyclade"):
                os.chown(path, who, who)
            run(*argv, env=env)
            ran[who] = os.path.exists(home + "/ran")
            remove(home + "/ran")
        t.equal(ran, {0: True, MALLORY: False}, "%s: the commands of one's own configuration run, those of another user's do not" % case)


def named(case):
    """The test of another file that has this case."""
    path, what = ELSEWHERE[case]
    room, script = path.split("/")
    text = content(os.path.join(ROOT, "tests", path)).decode()
    listed = content(os.path.join(ROOT, "tests", room, "meson.build")).decode()
    t.ok(what in text and "'%s'" % script in listed, "%s: held by %s" % (case, path), what)


def environments():
    """What the build gives its tests, by their names."""
    build = os.path.join(os.path.dirname(CYCLADE), "..", "..")
    p = subprocess.run(["meson", "introspect", build, "--tests"], capture_output=True, text=True, check=False) if shutil.which("meson") else None
    return {x["name"]: x["env"] for x in json.loads(p.stdout)} if p and not p.returncode else {}


def lines_of(script, env):
    """{name of a check: (ok, why it was skipped)} of a test, and how it ended."""
    p = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env={**os.environ, **env})
    found = {m[2]: (not m[1], m[3]) for m in re.finditer(r"^(not )?ok \d+ - (.*?)(?: # SKIP (.*))?$", p.stdout, re.M)}
    return found, (p.stdout.splitlines() or [""])[-1] + p.stderr[-300:]


def as_cases(asked):
    """Each case by its name: how many are open."""
    wrong, told, envs = 0, {}, environments()
    for case in HERE:
        told.setdefault("cli/test_accidents.py", []).append((case, case))
    for case, (path, what) in ELSEWHERE.items():
        told.setdefault(path, []).append((case, what))
    for script, cases in told.items():
        cases = [x for x in cases if not asked or x[0] in asked]
        found, how = lines_of(os.path.join(ROOT, "tests", script), envs.get(script, {})) if cases else ({}, "")
        for case, what in cases:
            mine = {n: v for n, v in found.items() if re.match(re.escape(what).replace("%s", ".*").replace("%d", ".*") + r"\b", n)}
            bad = [n for n, v in mine.items() if not v[0]]
            wrong += bool(bad or not mine)
            if bad or not mine:
                print("FAULT %s: %s" % (case, bad or "no check of it: " + how))
            elif all(v[1] for v in mine.values()):
                print("skip  %s: %s" % (case, next(iter(mine.values()))[1]))
            else:
                print("ok    " + case)
    print("%d open" % wrong)
    return wrong


def security():
    """Each test that SECURITY.md names is there, and the build runs it."""
    text = content(os.path.join(ROOT, "SECURITY.md")).decode()
    names = re.findall(r"\b(\w+)/(test_\w+(?:\.py)?)", text)
    lost = []
    for room, name in names:
        script = name.endswith(".py")
        file, build, row = (room + "/" + name, room, "'%s'" % name) if script else ("unit/%s/%s.c" % (room, name), "unit", "'%s', '%s'" % (room, name))
        if not os.path.exists(os.path.join(ROOT, "tests", file)) or row not in content(os.path.join(ROOT, "tests", build, "meson.build")).decode():
            lost.append(file)
    t.ok(len(names) > 20 and not lost, "SECURITY.md: each of its %d tests exists" % len(names), lost)


CASES = (out_is_in, out_is_program, modes, default_link, json_c1, cut_told, cut_gate, killed_told, vanished, sigint_told, heap_own, heap_asan, heap_musl,
         heap_left, short_write, dwo_fifo)
HERE = [case.__name__ for case in CASES] + ["at_work_told", "config_owner", "config_owner_compare"]
if sys.argv[1:2] == ["--cases"]:
    os.chdir("/")
    shutil.rmtree(top)
    sys.exit(bool(as_cases(sys.argv[2:])))
MALLORY = account(4103)
if run(*words(out="whole.data"), "--", "sh", "-c", WORK).returncode:
    t.skip("recordings", "no event can be opened here")
    symbol = None
else:
    rows = json.loads(run("report", "-j", "whole.data").stdout)["rows"]
    symbol = next((row["function"] for row in rows if "+0x" not in (row.get("function") or "+0x")), "main")
    for case in CASES:
        case()
config_owner()
for case in ELSEWHERE:
    named(case)
security()
end()
