#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that a program's debug information names: .dwo, .dwp, dwz's file, the debug file of .gnu_debuglink. One that is missing or of another build
is named by every command that would have used it, and --symbols finds it elsewhere. A program that was built with -g is never called one that was not."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import package_made  # noqa: E402
import packing  # noqa: E402
from tap import Tap, run  # noqa: E402

CODE = r"""
volatile unsigned long sink;
static inline __attribute__((always_inline)) void innie(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i * 3; }
static inline __attribute__((always_inline)) void middle(unsigned long n) { innie(n); }
void __attribute__((noinline)) outie(unsigned long n) { middle(n); }
int main(void) { outie(40000000); return 0; }
"""
t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-test-")
os.environ["HOME"] = tmp + "/home"
os.mkdir(tmp + "/home")
COMMANDS = (["report", "-s", "inline", "--no-pager"], ["report", "-g", "--format", "folded"], ["annotate", "--no-pager"],
            ["report", "--html", tmp + "/x.html"], ["export", "--pprof", "-o", tmp + "/x.pprof"], ["report", "-v", "--no-pager"])


def tool(*argv, cwd):
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


def build(name, flags, text=CODE):
    """A directory with a program, or None."""
    at = f"{tmp}/{name}"
    os.mkdir(at)
    with open(at + "/x.c", "w", encoding="ascii") as f:
        f.write(text)
    r = tool("gcc", "-O1", *flags.split(), "-Wl,--build-id", "-c", "x.c", "-o", "x.o", cwd=at)
    r = r if r.returncode else tool("gcc", *flags.split(), "-Wl,--build-id", "x.o", "-o", "prog", cwd=at)
    return None if r.returncode else at


def recorded(at):
    r = run("record", "-q", "-g", "-e", "cpu-clock:u", "-o", at + "/data", "--", at + "/prog")
    return r.returncode == 0


def asked(at, words, *more):
    place = ["outie"] if words[0] == "annotate" else []
    r = run(*words, "--no-cache", *more, "-i", at + "/data", *place)
    return r.returncode, r.stdout + r.stderr


def inlined(at, *more):
    return "innie" in asked(at, COMMANDS[1], *more)[1]


def told(at, what, want, *more):
    """In each command; and nothing crashes."""
    for words in COMMANDS:
        rc, out = asked(at, words, *more)
        flat = " ".join(out.split())
        t.ok(rc == 0 and want in flat, f"{what}: {words[0]} {words[1]} names it", (rc, out[-700:]))


def quiet(at, what, *more):
    for words in COMMANDS:
        rc, out = asked(at, words, *more)
        t.ok(rc == 0 and "are missing" not in out, f"{what}: {words[0]} {words[1]} is quiet", (rc, out[-500:]))


def test_dwo(version):
    name = f"dwo of DWARF {version}"
    at = build(f"split{version}", f"-g -gdwarf-{version} -gsplit-dwarf")
    other = build(f"other{version}", f"-g -gdwarf-{version} -gsplit-dwarf", CODE.replace("middle", "other"))
    if not at or not other or not recorded(at):
        t.skip(name, "does not build, or cannot be recorded here")
        return
    dwo = next(f for f in os.listdir(at) if f.endswith(".dwo"))
    theirs = next(f for f in os.listdir(other) if f.endswith(".dwo"))
    t.ok(inlined(at), name + ": inlined calls")
    quiet(at, name)
    os.mkdir(at + "/kept")
    os.rename(f"{at}/{dwo}", f"{at}/kept/{dwo}")
    told(at, name + " missing", f"{dwo}, for its split debug information, is not here, nor is prog.dwp")
    t.ok(inlined(at, "--symbols", at + "/kept"), name + ": --symbols finds it")
    quiet(at, name + " by --symbols", "--symbols", at + "/kept")
    shutil.copy(f"{other}/{theirs}", f"{at}/{dwo}")
    told(at, name + " stale", f"{dwo}, for its split debug information, is of another build")
    t.ok(inlined(at, "--symbols", at + "/kept"), name + " stale: --symbols finds the right one")
    with open(f"{at}/{dwo}", "wb") as f:
        f.write(b"nothing that is a file of ELF")
    told(at, name + " damaged", f"{dwo}, for its split debug information, is of another build")
    os.unlink(f"{at}/{dwo}")
    if version == "5":
        package_made.write([f"{at}/kept/{dwo}"], at + "/prog.dwp")
        package_made.write([f"{other}/{theirs}"], at + "/other.dwp")
    elif not shutil.which("dwp") or tool("dwp", f"kept/{dwo}", "-o", "prog.dwp", cwd=at).returncode or \
            tool("dwp", f"{other}/{theirs}", "-o", "other.dwp", cwd=at).returncode:
        t.skip(f"dwp of DWARF {version}", "no dwp")
        return
    name = f"dwp of DWARF {version}"
    t.ok(inlined(at), name + ": inlined calls")
    quiet(at, name)
    os.rename(at + "/prog.dwp", at + "/kept/prog.dwp")
    os.unlink(f"{at}/kept/{dwo}")
    t.ok(inlined(at, "--symbols", at + "/kept"), name + ": --symbols finds it")
    os.rename(at + "/other.dwp", at + "/prog.dwp")
    told(at, name + " stale", "prog.dwp, for its split debug information, lacks a unit")
    with open(at + "/prog.dwp", "wb") as f:
        f.write(b"\x7fELF and no more")
    told(at, name + " damaged", "prog.dwp is no package")


def test_dwz():
    name = "dwz's file"
    at = build("dwz", "-g")
    if not at or not shutil.which("dwz"):
        t.skip(name, "no dwz")
        return
    shutil.copy(at + "/prog", at + "/twin")
    if tool("dwz", "-m", "common.debug", "prog", "twin", cwd=at).returncode or not recorded(at):
        t.skip(name, "dwz does not make one here, or nothing can be recorded")
        return
    t.ok(inlined(at), name + ": inlined calls")
    quiet(at, name)
    os.mkdir(at + "/kept")
    os.rename(at + "/common.debug", at + "/kept/common.debug")
    told(at, name + " missing", "common.debug, for debug information that it shares (dwz), is not here")
    t.ok(inlined(at, "--symbols", at + "/kept"), name + ": --symbols finds it")
    shutil.copy(at + "/twin", at + "/common.debug")
    told(at, name + " stale", "common.debug, for debug information that it shares (dwz), is of another build")


def test_link(how):
    """The debug file of a stripped program. Checked by build-id, or by checksum."""
    name = f"debug file by {how}"
    flags = "-g -Wl,--build-id=" + ("none" if how == "checksum" else "sha1")
    at = f"{tmp}/link-{how}"
    for where, text in ((at, CODE), (at + "-other", CODE.replace("middle", "other").replace("40000000", "40000001"))):
        os.mkdir(where)
        with open(where + "/x.c", "w", encoding="ascii") as f:
            f.write(text)
        r = tool("gcc", "-O1", *flags.split(), "x.c", "-o", "prog", cwd=where)
        for argv in (["objcopy", "--only-keep-debug", "prog", "prog.debug"], ["strip", "-s", "prog"], ["objcopy", "--add-gnu-debuglink=prog.debug", "prog"]):
            r = r if r.returncode else tool(*argv, cwd=where)
    if r.returncode or not recorded(at):
        t.skip(name, "does not build, or cannot be recorded here")
        return
    t.ok(inlined(at), name + ": inlined calls")
    quiet(at, name)
    if how == "build-id":
        with open(at + "/prog.debug", "rb") as f:
            plain = f.read()
        for way in filter(packing.have, packing.HOW):
            with open(at + "/prog.debug", "wb") as f:
                f.write(packing.packed(plain, set(packing.debug_sections(plain)), way))
            t.ok(inlined(at), f"{name}, packed by {way}: inlined calls")
        with open(at + "/prog.debug", "wb") as f:
            f.write(plain)
    os.mkdir(at + "/kept")
    os.rename(at + "/prog.debug", at + "/kept/prog.debug")
    folded = [line.rpartition(" ") for line in run(*COMMANDS[1], "--no-cache", "-i", at + "/data").stdout.splitlines()]
    symbol = max(folded, key=lambda line: int(line[2]))[0].split(";")[-1] if folded else None
    if symbol:
        r = run("annotate", "--no-cache", "--no-pager", "-i", at + "/data", symbol)
        out = " ".join((r.stdout + r.stderr).split())
        t.ok("prog.debug, where it is, is not here" in out and "build with -g" not in out, name + " missing: annotate names it", out[:600])
    else:
        t.ok(False, name + " missing: a function without a name")
    t.ok(inlined(at, "--symbols", at + "/kept"), name + ": --symbols finds it")
    shutil.copy(at + "-other/prog.debug", at + "/prog.debug")
    for words in (COMMANDS[0], COMMANDS[1], COMMANDS[3], COMMANDS[4]):
        rc, out = asked(at, words)
        t.ok(rc == 0 and "prog.debug is another program's debug file, or of another build" in " ".join(out.split()),
             f"{name} stale: {words[0]} {words[1]} names it", (rc, out[-500:]))


def test_damage():
    """A section of the program itself that cannot be unpacked is named, with the reason."""
    at = build("damage", "-g")
    if not at or not recorded(at):
        t.skip("a damaged section", "does not build, or cannot be recorded here")
        return
    with open(at + "/prog", "rb") as f:
        plain = f.read()
    os.rename(at + "/prog", at + "/plain")
    with open(at + "/prog", "wb") as f:
        f.write(packing.packed(plain, {".debug_info"}, "zlib", 77))
    for words in COMMANDS:
        rc, out = asked(at, words)
        flat = " ".join(out.split())
        t.ok(rc == 0 and ".debug_info unpacks to more than its header" in flat and "build with -g" not in flat, f"a damaged section: {words[0]} {words[1]} names it", (rc, out[-500:]))


if not shutil.which("gcc") or not shutil.which("objcopy"):
    t.skip("companions", "no gcc or objcopy")
    t.done()
test_dwo("4")
test_dwo("5")
test_dwz()
test_link("build-id")
test_link("checksum")
test_damage()
shutil.rmtree(tmp, ignore_errors=True)
t.done()
