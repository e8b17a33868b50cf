#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every option that names a file to write, of every command: the old file whole or the new one whole, and nothing beside it, whatever lies in
its place and whatever ends the command: a link, a directory that cannot be written, a full disk, no memory, SIGKILL.

The options are those of src/cli/options.def. One that this test has no command line for is a failure, and so is an argument FILE that
it knows neither as one to read nor as one to write. CYCLADE_LONG=1 takes 50 places without memory and 50 moments of SIGKILL of each.
FAULT_ONLY=COMMAND takes one command."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "..", "tools")]
import built  # noqa: E402
import option_table  # noqa: E402
import recordings  # noqa: E402
from tap import CYCLADE, ROOT, SANITIZED, Tap, wait_for  # noqa: E402

t = Tap()
LONG = bool(os.environ.get("CYCLADE_LONG"))
ONLY = os.environ.get("FAULT_ONLY", "")
LIB = os.environ.get("FAULT_LIB", os.path.join(os.path.dirname(CYCLADE), "..", "..", "tests", "faults", "libinject.so"))
COUNTED = ("memory", "place", "open", "read", "write", "mmap", "stat", "ftruncate", "rename", "close")  # as inject.c has them
STRANGER = 1234
OLD = b"what was there before\n" * 20
READ = {"input", "import", "ibs-events", "penalties", "kallsyms", "vmlinux", "dso"}  # arguments FILE that are read

# (command, option): words. OUT: the file to write; IN: a copy of the recording, of which the first word is the name; PROG: a program to measure, DATA: its recording
READERS = {
    ("report", "output"): ("account", "report --no-cache -j -o OUT IN"),
    ("annotate", "output"): ("branches", "annotate --no-cache -j -i IN -o OUT f"),
    ("blocks", "output"): ("branches", "blocks --no-cache -j -o OUT IN"),
    ("calls", "output"): ("branches", "calls --no-cache -j -o OUT IN"),
    ("registers", "output"): ("registers", "registers --no-cache -j -o OUT IN"),
    ("mem", "output"): ("memory", "mem --no-cache -j -o OUT IN"),
    ("sharing", "output"): ("accesses", "sharing --no-cache -j -o OUT IN"),
    ("diff", "output"): ("account", "diff --no-cache -j -o OUT IN IN"),
    ("sum", "output"): ("account", "sum --no-cache -j -o OUT IN IN"),
    ("sql", "output"): ("account", "sql --no-cache --format csv -o OUT IN SELECT(pid)FROM(samples)"),
    ("info", "output"): ("account", "info -j -o OUT IN"),
    ("script", "output"): ("account", "script --no-cache -o OUT IN"),
    ("archive", "output"): ("account", "archive -q -o OUT IN"),
    ("report", "html"): ("account", "report --no-cache --html OUT IN"),
    ("diff", "html"): ("account", "diff --no-cache --html OUT IN IN"),
}
EXPORTS = {"timeline-svg": "waits", "bolt": "branches", "symbol-order": "branches", "autofdo": "built", "propeller": "branches"}  # others: account
MEASURES = {
    ("stat", "output"): "stat -e task-clock -j -o OUT -- PROG",
    ("compare", "output"): "compare -r 2 --warmup 0 --seed 1 -q -e page-faults -j -o OUT -- PROG -- true",
    ("record", "output"): "record -q -e page-faults:u -c 1 -o OUT -- PROG",
    ("run", "output"): "run -q -e cpu-clock:u -j -o OUT --data DATA -- PROG",
    ("run", "data"): "run -q -e page-faults:u -c 1 --data OUT -- PROG",
    ("simulate", "output"): "simulate -q --model skl -o OUT -- PROG",  # of a script: no emulator runs it
    ("monitor", "output"): "monitor --once -I 1 -j -o OUT",
    ("validate", "output"): "validate --quick -q -j -o OUT page-faults",
    ("calibrate", "output"): "calibrate --quick -q -o OUT l1",
}
PLACES = ("a file", "a link", "nothing", "a hard link", "a stranger's link", "a stranger's file", "a link to nothing", "a link to itself", "a directory")
SLOW = ("validate",)  # seconds each
RECORDINGS = (("record", "output"), ("run", "data"))  # what was there becomes OUT.old


def content(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return None


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o600)


def rows():
    """[(command, option, words, recording)], or what there are no words for."""
    out, lost = [], []
    options = option_table.options(ROOT)
    for o in options:
        if o.arg == "FILE" and o.name not in READ:
            for command in sorted(o.commands):
                row = (command, o.name)
                if row == ("export", "output"):
                    out += [(command, "--" + f.name, "export --no-cache --%s -o OUT IN" % f.name, EXPORTS.get(f.name, "account")) for f in options
                            if f.group == "format" and f.kind == "FLAG" and f.name != "text"]
                elif row in READERS:
                    out.append((*row, READERS[row][1], READERS[row][0]))
                elif row in MEASURES:
                    out.append((*row, MEASURES[row], None))
                else:
                    lost.append(row)
    return out, lost


class Place:
    """A directory with an old file to replace and what is read."""

    def __init__(self, top, row, source):
        self.command, self.option, words, kind = row
        self.words, self.dir = words.split(), tempfile.mkdtemp(dir=top)
        os.chmod(self.dir, 0o755)
        self.out = os.path.join(self.dir, "out.tar.zst" if self.command == "archive" else "out")
        self.input, self.prog = (os.path.join(self.dir, x) for x in ("in", "prog"))
        self.kept = {"in": content(source[kind])} if kind else {}
        self.name = "%s %s" % (self.command, self.option if self.option.startswith("--") else "--" + self.option)
        self.records = row[:2] in RECORDINGS
        self.new = None  # what a command that reads writes, the same each time
        self.fresh()

    def fresh(self):
        for name in os.listdir(self.dir):
            path = os.path.join(self.dir, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        for name, data in self.kept.items():
            put(os.path.join(self.dir, name), data)
        put(self.prog, b"#!/bin/sh\nexit 0\n")
        os.chmod(self.prog, 0o755)

    def argv(self, out=None):
        said = {"OUT": out or self.out, "IN": self.input, "PROG": self.prog, "DATA": self.dir + ".data"}
        return [CYCLADE, *[said.get(w, w) for w in self.words]]

    def run(self, out=None, **more):
        env = {**os.environ, "TMPDIR": self.dir + "/..", "NO_COLOR": "1", "COLUMNS": "100", **more.pop("env", {})}
        p = subprocess.run(self.argv(out), capture_output=True, stdin=subprocess.DEVNULL, timeout=600, cwd="/", check=False, env=env, **more)
        return p.returncode, p.stderr.decode(errors="replace")

    def is_new(self, data, killed=False):
        """Whether that is all that the command writes. A recording has a name while it is written, and tells how it ended."""
        if self.new is not None:
            return data == self.new
        if self.records:
            if data[:8] != b"PERFILE2":
                return False
            path = self.dir + ".look"
            put(path, data)
            p = subprocess.run([CYCLADE, "info", "-j", path], capture_output=True, check=False, stdin=subprocess.DEVNULL)
            os.unlink(path)
            if p.returncode:
                return False
            losses = json.loads(p.stdout)["losses"]
            return not losses["partial"] or killed and losses["ended"] != "finished"
        if "-j" in self.words:
            try:
                return bool(json.loads(data))
            except ValueError:
                return False
        return data.endswith(b"\n") and len(data.splitlines()) >= self.lines

    def judge(self, code, err, beside=0, old=OLD, told=True):
        """What is wrong; None: nothing."""
        there = set(os.listdir(self.dir)) - {"prog", *self.kept}
        now, before = content(self.out), content(self.out + ".old") if self.records else None
        base = os.path.basename(self.out)
        more = there - {base} - ({base + ".old"} if self.records else set())
        for name in more:
            if not self.is_new(content(os.path.join(self.dir, name)) or b"") or not name.startswith(base + "."):
                return "%s stays, which is not whole" % name
        if len(more) > beside:
            return "%s stays beside it" % sorted(more)
        if any(content(os.path.join(self.dir, n)) != data for n, data in self.kept.items()):
            return "the input is another"
        if old is not None and old not in (now, before) and not (now is not None and not self.records and self.is_new(now)):
            return "the old one is gone: %r" % (now or b"")[:60]
        if now is not None and now != old and not self.is_new(now, killed=code != 0):
            return "it is neither the old one nor the new one: %d bytes" % len(now)
        if code == 0 and (now is None or not self.is_new(now)) and not (self.records and "not written" in err):
            return "status 0, and it is not the new one"
        if code and told and code != -9 and "cyclade" not in err:
            return "status %d without a message" % code
        return None


def in_its_place(p):
    """[(what, what is wrong)] of each kind of thing that may lie there."""
    wrong = []

    def tried(what, judged, code, err):
        if judged:
            wrong.append((what, judged, code, err[-300:]))
    other = p.dir + ".other"
    for what in PLACES[:2] if SANITIZED or p.command in SLOW and not LONG else PLACES:
        if "stranger" in what and os.geteuid():
            continue
        p.fresh()
        put(other, OLD)
        if what in ("a file", "a stranger's file"):
            put(p.out, OLD)
        elif what == "a hard link":
            os.link(other, p.out)
        elif what == "a directory":
            os.mkdir(p.out)
        elif what != "nothing":
            os.symlink(p.dir + ".none" if "nothing" in what else os.path.basename(p.out) if "itself" in what else other, p.out)
        if "stranger" in what:
            os.lchown(p.out, STRANGER, STRANGER)
        code, err = p.run()
        if what == "a directory":
            tried(what, "it is taken" if code == 0 or not os.path.isdir(p.out) or os.listdir(p.out) else None if "cyclade" in err else "no message", code, err)
        elif what in ("a link to nothing", "a link to itself"):
            tried(what, "it is followed" if code == 0 or os.path.lexists(p.dir + ".none") or not os.path.islink(p.out) else None, code, err)
        elif what in ("a link", "a stranger's link"):
            target = content(other)
            older = content(other + ".old")
            tried(what, "the link is gone" if not os.path.islink(p.out) else "its target is neither" if target != OLD and not p.is_new(target or b"") else
                  "status 0, and its target is not the new one" if code == 0 and target == OLD else
                  "the old one is gone" if p.records and target != OLD and older != OLD else None, code, err)
        else:
            tried(what, p.judge(code, err, old=None if what == "nothing" else OLD) or ("status %d" % code if code else None), code, err)
            if what == "a hard link" and content(other) != OLD:
                tried(what, "the other name's file is written", code, err)
        for name in (other, other + ".old"):
            if os.path.lexists(name):
                os.unlink(name)
    return wrong


def is_input(p):
    """The output is what is read, or the program that is measured, by three names."""
    wrong = []
    what = p.input if p.kept else p.prog if "PROG" in p.words else None
    for name in ("itself", "link", "hard") if what else ():
        p.fresh()
        was, path = content(what), what if name == "itself" else os.path.join(p.dir, name + (".tar.zst" if p.command == "archive" else ""))
        if name == "link":
            os.symlink(what, path)
        elif name == "hard":
            os.link(what, path)
        code, err = p.run(path)
        if code == 0 or content(what) != was or "is also an input" not in " ".join(err.split()) and p.command != "archive":
            wrong.append(("the same file by " + name, code, err[-300:]))
    return wrong


def no_room(p):
    """A full disk, and one that cannot be written; the caller has mounted nothing yet. None: nothing can be mounted here."""
    wrong = []
    p.fresh()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=755", "none", p.dir], capture_output=True, check=False).returncode:
        return None
    try:
        for what in ("full", "read-only"):
            p.fresh()
            put(p.out, OLD)
            if what == "full":
                with open(p.dir + "/.fill", "wb", buffering=0) as f:
                    try:
                        while f.write(b"x" * 4096):
                            pass
                    except OSError:
                        pass
                p.kept[".fill"] = content(p.dir + "/.fill")
            else:
                # between fork and exec another thread's child has our descriptors
                if not wait_for(lambda: subprocess.run(["mount", "-o", "remount,ro", p.dir], capture_output=True, check=False).returncode == 0, 60):
                    break
            code, err = p.run()
            judged = p.judge(code, err) or ("status 0" if code == 0 and content(p.out) == OLD and "not written" not in err else None)
            if what == "full":
                del p.kept[".fill"]
            if judged:
                wrong.append((what, judged, code, err[-300:]))
    finally:
        subprocess.run(["umount", "-l", p.dir], check=True)
    return wrong


def calls_of(p):
    """How many calls of each kind there are."""
    p.fresh()
    put(p.out, OLD)
    count = p.dir + ".count"
    p.run(env={"LD_PRELOAD": LIB, "FAULT": "count", "FAULT_COUNT": count})
    n = dict(zip(COUNTED, struct.unpack("=%dq" % len(COUNTED), content(count)[:8 * len(COUNTED)])))
    os.unlink(count)
    return n


def ended(p, most):
    """No memory at some places, SIGKILL at some moments: [(fault, what is wrong)], and how many there were."""
    wrong, calls, dice = [], calls_of(p), random.Random(p.name)
    faults = [("place:%d" % n, {}) for n in dice.sample(range(1, calls["place"] + 1), min(most, calls["place"]))]
    ends = [(kind, n) for kind in ("write", "rename", "close", "open", "stat") for n in range(max(calls[kind] - 12, 0) + 1, calls[kind] + 1)]
    first = [e for e in ends if e[0] == "rename"]  # where one has its name
    ends = first + dice.sample([e for e in ends if e not in first], min(max(most - len(first), 1), len(ends) - len(first)))
    faults += [("%s:%d" % e, {"FAULT_KILL": "1"}) for e in ends]
    # where there was nothing, nothing is left beside it
    for fault, more, old in [(*f, OLD) for f in faults] + [("%s:%d" % e, {"FAULT_KILL": "1"}, None) for e in first]:
        p.fresh()
        if old:
            put(p.out, OLD)
        code, err = p.run(env={"LD_PRELOAD": LIB, "FAULT": fault, **more})
        judged = p.judge(code, err, beside=1 if old and more and fault.startswith(("rename", "close")) else 0, old=old) or ("status %d" % code if code < 0 and code != -9 else None)
        if judged:
            wrong.append((fault, bool(more), bool(old), judged, code, err[-300:]))
    return wrong, len(faults)


def all_of(p, most):
    """[(check, what is wrong or a number, why skipped)]"""
    code, err = p.run()
    made = content(p.out)
    if code or not made:
        return [("written", None, "status %d: %s" % (code, err.strip()[-200:]))]
    p.lines = len(made.splitlines())
    if p.kept:
        p.new = made
    out = [("written", [] if p.is_new(made) else "it is not whole", None), ("whatever lies in its place", in_its_place(p), None)]
    if (p.kept or "PROG" in p.words) and not SANITIZED:
        out.append(("an output that is read", is_input(p), None))
    wrong = no_room(p)
    out.append(("a full disk, a read-only one", wrong, "nothing may be mounted here" if wrong is None else None))
    if most:
        wrong, n = ended(p, most)
        out.append(("no memory, SIGKILL: %d times" % n, wrong, None))
    return out


def registers(path):
    """A recording with registers; None where nothing can be recorded."""
    p = subprocess.run([CYCLADE, "record", "-q", "-e", "cpu-clock:u", "--user-regs", "-o", path, "--", recordings.RECURSE, "40", "60"], capture_output=True, check=False,
                       stdin=subprocess.DEVNULL)
    return path if p.returncode == 0 and os.path.exists(path) else None


def of_source(top):
    """One of a program with lines; None without a compiler."""
    if not shutil.which("gcc"):
        return None
    program = built.Built(top + "/of/prog", "int work(int n)\n{\n\tint s = 0;\n\tfor (int i = 0; i < n; i++)\n\t\ts += i * s;\n\treturn s;\n}\n"
                                            "int main(int n, char **v)\n{\n\treturn work(n) + !v;\n}\n", "-O1", "-g")
    return program.record(top + "/built", {"work": 300, "main": 40}, random.Random(1))


def main():
    listed, lost = rows()
    t.equal(lost, [], "each option that names a file to write is tried: %d" % len(listed))
    t.equal(sorted(set(READERS) | set(MEASURES)), sorted({r[:2] for r in listed if r[0] != "export"}), "and no others")
    most = 0 if SANITIZED or not os.path.exists(LIB) else 50 if LONG else 2
    with tempfile.TemporaryDirectory(prefix="cyclade-outputs-") as top:
        top = os.path.realpath(top)
        os.chmod(top, 0o755)
        os.umask(0o022)
        source = {r.name: r.path for r in recordings.made(top + "/made")}
        source["registers"] = registers(top + "/registers")
        source["built"] = of_source(top)
        places = []
        for row in listed:
            if ONLY in ("", row[0]):
                if SANITIZED and (row[0] in SLOW or row[0] == "export" and row[1] != "--pprof"):
                    t.skip(row[0] + " " + row[1], "takes long under a sanitizer")
                elif row[3] and not source[row[3]]:
                    t.skip(row[0] + " " + row[1], "not recorded here")
                else:
                    places.append(Place(top, row, source))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for p, found in zip(places, pool.map(lambda p: all_of(p, 0 if p.command in SLOW and not LONG else most), places)):
                for what, wrong, why in found:
                    if why:
                        t.skip("%s: %s" % (p.name, what), why)
                    else:
                        t.equal(wrong, [], "%s: %s" % (p.name, what))
    t.done()


main()
