#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the manual's examples print is what the program prints: each example with lines below it runs in the state that STATES has for its
page, at 74 columns (behind six blanks these are 80), and prints the names and words that the page shows, in their order. Numbers may differ; `...` stands for any
lines. An example without lines is only understood (test_pages.py). PAGE=NAME takes one page, SHOW=1 prints the screens, to be cut for it."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]
import calls_made  # noqa: E402
import gen  # noqa: E402
import screen  # noqa: E402
import sim  # noqa: E402
import test_blocks  # noqa: E402
from shown import begun, examples, missing  # noqa: E402
from tap import CYCLADE, KERNEL, ROOT, SIMULATED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="manual-")
PATH = os.path.dirname(CYCLADE) + ":" + os.environ.get("PATH", "/usr/bin:/bin")
SPR = ("spr", "dram_bound", "")
# examples of a simulated CPU, as their pages say: machine, program, settings
ON_SIMULATED = {
    "cyclade stat -- ./phases": SPR,
    "cyclade stat -l 2 -- ./phases": SPR,
    "cyclade record --mem -- ./counters slow": ("spr", "dram_bound", "sharing=1"),
}


def cc(folder, source, name, *more):
    path = os.path.join(ROOT, source)
    shutil.copy(path, folder)
    subprocess.run(["cc", "-O2", "-g", "-o", name, os.path.basename(path), *more], cwd=folder, check=True)


def play(asked, folder):
    """What an example prints, on the machine that it is of."""
    command = asked
    command = re.sub(r"\./phases$", "./phases 0.3", command)  # it runs for two seconds else
    env = dict(os.environ, PATH=PATH, COLUMNS="74", NO_COLOR="1", XDG_RUNTIME_DIR=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
    if asked in ON_SIMULATED:
        words = shlex.split(command)
        machine, program, settings = ON_SIMULATED[asked]
        return sim.run_on(machine, program, "env", "-C", folder, "COLUMNS=74", CYCLADE, words[1], *sim.SYSROOT, *words[2:], settings=settings)
    return subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, errors="replace", capture_output=True, timeout=300, stdin=subprocess.DEVNULL)


def phases(folder):
    """The program of demo/, a recording of it and one of its waits."""
    for name in ("phases", "phases.c", "cyclade.data"):
        shutil.copy(os.path.join(tmp.name, name), folder)


def branches(folder):
    os.rename(os.path.join(folder, "phases"), os.path.join(folder, "prog"))
    names = {"f": "parse_row", "g": "next_char", test_blocks.NAME: "skip_blanks", "k": "is_end", "m": "store", "the_program_itself": "main"}
    with open(os.path.join(folder, "prog"), "wb") as f:
        f.write(test_blocks.elf(names))
    p = test_blocks.Program(501)
    test_blocks.recording(os.path.join(folder, "cyclade.data"), os.path.join(folder, "prog"), list(test_blocks.stacks_of(p.branches)))


def calls(folder):
    place, names = calls_made.RET, [b"main", b"parse_rows", b"hash_probe", b"read_line"]
    returns = [((3, 90), (1, 25), place, 0), ((2, 40), (0, 35), place, 0), ((1, 200), (0, 15), place, 0), ((3, 90), (1, 25), place, 0)]
    calls_made.make(os.path.join(folder, "cyclade.data"), names, [returns[i % 3:] + returns[:i % 3] for i in range(400)])


def entries(folder):
    """Samples at the first instruction of a function, with registers (IP, TID, REGS_INTR: si and di)."""
    w = calls_made.W
    data = w.record(gen.KSYMBOL, w.pack("QIHH", calls_made.BASE, 4096, 1, 0) + gen.pad8(b"work\0") + w.pack("IIQ", 0, 0, 1000), 1)
    for i in range(200):
        data += w.record(gen.SAMPLE, w.pack("QIIQ", calls_made.BASE, 7, 7, 2) + w.u64(4096 if i % 4 else 64, i % 2), 1 | 1 << 14)
    gen.one(os.path.join(folder, "cyclade.data"), data, {6: w.text("x86_64"), 9: w.text("GenuineIntel,6,143,8")}, type=4, config=0x11, period=1000,
            sample=calls_made.IP | calls_made.TID | gen.BIT["REGS_INTR"], ri=0x30, precise_ip=2)


def two(folder):
    for name, seconds in (("base.data", "0.3"), ("new.data", "0.6")):
        subprocess.run([CYCLADE, "record", "-q", "-o", name, "--", "./phases", seconds], cwd=folder, capture_output=True)


def memory(folder):
    cc(folder, "examples/tutorial/counters.c", "counters", "-lpthread")


def settings(folder):
    os.mkdir(os.path.join(folder, "cyclade"))
    with open(os.path.join(folder, "cyclade", "config"), "w", encoding="utf-8") as f:
        f.write("color = never\n[report]\nmin = 1\n[record]\ncall-graph = fp\nfreq = 2000\n")


def series(folder):
    subprocess.run([CYCLADE, "run", "-q", "-r", "5", "--data", "series", "--", "./phases", "0.1"], cwd=folder, capture_output=True)


OF_THE_MACHINE = ("cache", "calibrate", "doctor", "info", "monitor", "top", "view")  # of their lines the first words are compared
FEWER = {"completion": 1, "browse": 2, "top": 2, "mcp": 1, "view": 2, "registers": 1,
         "simulate": 0, "trace": 0}  # examples that print; all others have three
NOT_COMPARED = re.compile("││ +[a-z]")  # instructions are the compiler's
STATES = {"blocks": [branches], "calls": [calls], "mem": [memory], "sharing": [memory], "config": [settings], "registers": [entries], "diff": [two], "sum": [series]}


def page_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def begin():
    """What the pages share is made once."""
    cc(tmp.name, "demo/phases.c", "phases")
    p = subprocess.run([CYCLADE, "record", "-q", "-g", "-o", "cyclade.data", "--", "./phases", "1"], cwd=tmp.name, capture_output=True, text=True)
    t.ok(p.returncode == 0, "a recording is made", p.stderr)


def check(page, path, folder):
    phases(folder)
    for state in STATES.get(page, []):
        state(folder)
    found = [(c, shown) for c, shown in examples(page_text(path)) if shown and c[0] != "{"]
    t.ok(len(found) >= FEWER.get(page, 3), "%s: %d examples with what they print" % (page, len(found)))
    for command, shown in found:
        name = "%s: %s" % (page, command.splitlines()[0])
        compare = begun if page in OF_THE_MACHINE else missing
        wanted = [x for x in shown if x.strip() and not NOT_COMPARED.search(x)]
        if command in ON_SIMULATED and not SIMULATED:
            t.skip(name, "the simulated PMU cannot be preloaded")
        elif page in ("top", "browse"):
            on_screen(name, command, lambda text, c=compare, w=wanted: c(w, text) is None, folder)
        else:
            p = play(command, folder)
            lost = compare(wanted, p.stdout + p.stderr)
            t.ok(lost is None, name, "exit %d; not printed: %s\n%s%s" % (p.returncode, lost, p.stdout, p.stderr))
            if "SHOW" in os.environ:
                print("\n".join("      " + x for x in (p.stdout + p.stderr).splitlines()[:60]))


def on_screen(name, command, good, folder):
    if not shutil.which("tmux") or "no browse" in run("--version").stdout:
        t.skip(name, "no tmux here, or no ncurses")
        return
    words = shlex.split(command)
    s = screen.Screen(*words[2:], program=["env", "-C", folder, CYCLADE, words[1]], size=(74, 24))
    if "SHOW" in os.environ:
        time.sleep(8)
    s.shows(lambda lines: good("\n".join(lines)), name)
    if "SHOW" in os.environ:
        print("\n".join("      " + x for x in s.lines()))
    s.press("q")
    s.close()


def main():
    why = "no compiler here" if not shutil.which("cc") else "the rights here do not allow to record the kernel" if not KERNEL else \
        "the pages were made without counters" if os.path.exists("/sys/bus/event_source/devices/cpu") else None
    if why:
        t.skip("the manual's examples", why)
        return
    t.ok(missing(["a 1 b"], "x\na 22 b\n") is None and missing(["a faster"], "a slower") == "a faster" and missing(["b", "a"], "a\nb") == "a",
         "what is missing is seen")
    begin()
    screen.begin(t, tmp.name)
    for path in sorted(glob.glob(os.path.join(ROOT, "doc", "cyclade*.1.md"))):
        page = os.path.basename(path)[:-len(".1.md")].replace("cyclade-", "")
        if os.environ.get("PAGE", page) != page:
            continue
        folder = os.path.join(tmp.name, page + ".d")
        os.mkdir(folder)
        before = os.times()
        check(page, path, folder)
        if os.environ.get("COST"):
            print(page, [round(b - a, 1) for a, b in zip(before, os.times())][:4])


if __name__ == "__main__":
    main()
    t.done()
