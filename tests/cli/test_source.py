#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where `annotate` finds source files: programs compiled by a relative path, prefix maps, debuginfod's
cache as libdebuginfod fills it, files that changed since."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, Tap  # noqa: E402

CODE = """int main(void)
{
	volatile unsigned long s = 0;

	for (unsigned long i = 0; i < 60000000; i++) /* THE LOOP */
		s += i;
	return (int)(s & 1);
}
"""
DECOY = "\n".join("/* ANOTHER FILE */" for _ in range(9)) + "\n"
# with and without checksums of the source in the debug information
BUILDS = [("gcc", "-gdwarf-5", False), ("gcc", "-gdwarf-4", False), ("clang", "-gdwarf-5", True)]
tap = Tap()


def run(*argv, cwd=None, **env):
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8",
                               "DEBUGINFOD_URLS": "", **env})


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def fetch(prog, source, served, cache):
    """Puts the source into debuginfod's cache, by its own client; "" or why not."""
    note = run("readelf", "-n", prog).stdout
    ident = re.search(r"Build ID: ([0-9a-f]+)", note)
    try:
        lib = ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        return "no libdebuginfod.so.1"
    if not ident:
        return "no build-id"
    put(f"{served}/buildid/{ident[1]}/source{source}", CODE)
    code = """import ctypes, sys
lib = ctypes.CDLL("libdebuginfod.so.1")
lib.debuginfod_begin.restype = ctypes.c_void_p
path = ctypes.c_char_p()
fd = lib.debuginfod_find_source(ctypes.c_void_p(lib.debuginfod_begin()), sys.argv[1].encode(), 0,
                                sys.argv[2].encode(), ctypes.byref(path))
sys.exit(fd < 0)
"""
    assert lib
    r = run(sys.executable, "-c", code, ident[1], source, DEBUGINFOD_URLS=f"file://{served}",
            DEBUGINFOD_CACHE_PATH=cache)
    return "" if not r.returncode and os.path.isdir(cache) else "the client fetches nothing here " + r.stderr


def one(cc, dwarf, summed, where):
    what = f"{cc} {dwarf}"
    lib, build = os.path.join(where, "lib"), os.path.join(where, "build")
    source = os.path.join(lib, "x.c")
    put(source, CODE)
    os.makedirs(build)
    # what a relative name would lead to from a current directory that has nothing to do with it
    decoy = os.path.join(where, "work", "here")
    os.makedirs(decoy)
    put(os.path.join(where, "work", "lib", "x.c"), DECOY)
    r = run(cc, "-O1", "-g", dwarf, "../lib/x.c", "-o", "prog", "-Wl,--build-id", cwd=build)
    if r.returncode:
        tap.skip(what, "does not build: " + r.stderr[:100])
        return
    data = os.path.join(where, "c.data")
    r = run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "--", os.path.join(build, "prog"))
    if not os.path.exists(data):
        tap.skip(what, "cannot record here: " + r.stderr[:100])
        return

    def shown(*words, **env):
        return run(CYCLADE, "annotate", "--no-cache", data, "main", "--no-asm", *words, cwd=decoy, **env).stdout

    out = shown()
    tap.ok("THE LOOP" in out and "ANOTHER" not in out, f"{what}: found below DW_AT_comp_dir", out)
    rows = run(CYCLADE, "report", "--no-cache", "-s", "srcline", "--format", "csv", data).stdout
    lines = re.findall(r"(/\S*x\.c):\d", rows)
    tap.ok(lines and all(os.path.realpath(l) == os.path.realpath(source) for l in lines),
           f"{what}: report names the whole path", rows)
    at = re.search(r"(\S+) T main$", run("nm", os.path.join(build, "prog")).stdout, re.M)[1]
    told = run("addr2line", "-e", os.path.join(build, "prog"), at).stdout.split(":")[0]
    tap.equal(sorted(set(lines)), [told], f"{what}: it is addr2line's")
    out = run(CYCLADE, "export", "--no-cache", "--firefox", "-o", "-", data).stdout
    files = set(re.findall(r'"([^"]*x\.c)"', out))
    tap.equal(files, {told}, f"{what}: export names the whole path")

    os.rename(lib, lib + ".moved")
    out = shown()
    tap.ok("LOOP" not in out and "ANOTHER" not in out and "x.c not found" in out and "OLD=NEW" in out,
           f"{what}: nothing is taken from the current directory", out)
    out = shown("--source", f"{lib}={lib}.moved")
    tap.ok("THE LOOP" in out, f"{what}: --source OLD=NEW", out)
    out = shown("--source", f"{os.path.join(where, 'li')}={lib}.moved")
    tap.ok("THE LOOP" not in out, f"{what}: OLD is whole parts of the path", out)
    out = shown("--source", f"{where}/build/..={where}/lib.moved/..", "--source", where + "/lib.moved")
    tap.ok("THE LOOP" in out, f"{what}: several --source, the second has it", out)
    out = shown("--source", where + "/lib.moved")
    tap.ok("THE LOOP" in out, f"{what}: --source DIR", out)

    served, cache = os.path.join(where, "served"), os.path.join(where, "cache")
    why = fetch(os.path.join(build, "prog"), told, served, cache)
    if why:
        tap.skip(f"{what}: debuginfod's cache", why)
    else:
        out = shown(DEBUGINFOD_CACHE_PATH=cache)
        tap.ok("THE LOOP" in out, f"{what}: debuginfod's cache", out + str(os.listdir(cache)))

    put(source, DECOY)
    out = shown()
    if summed:
        tap.ok("ANOTHER" not in out and "MD5 differs" in out and "LOOP" not in out,
               f"{what}: a file that was changed is not shown", out)
        out = shown("--source", where + "/lib.moved")
        tap.ok("THE LOOP" in out and "differs" not in out, f"{what}: the right one is found behind it", out)


def beside(where):
    """What debug information names: a FIFO in its place is passed over."""
    put(os.path.join(where, "x.c"), CODE)
    for name, flags, fifo in (("dwo", "-gsplit-dwarf", None), ("dwp", "-gsplit-dwarf", "prog.dwp"), ("dwz", "-g", "common")):
        what = f"a FIFO for {name}"
        r = run("gcc", "-O1", "-g", "-gdwarf-4", flags, "x.c", "-o", "prog", "-Wl,--build-id", cwd=where)
        if not r.returncode and name == "dwz":
            if not shutil.which("dwz"):
                tap.skip(what, "no dwz")
                continue
            shutil.copy(os.path.join(where, "prog"), os.path.join(where, "twin"))
            r = run("dwz", "-m", "common", "-M", os.path.join(where, "common"), "prog", "twin", cwd=where)
        data = os.path.join(where, name + ".data")
        if r.returncode or run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "--", os.path.join(where, "prog")).returncode not in (0, 1):
            tap.skip(what, "does not build, or cannot be recorded here: " + r.stderr[:100])
            continue
        out = run(CYCLADE, "annotate", "--no-cache", data, "main", "--no-asm")
        tap.ok("x.c:6" in out.stdout, f"{what}: its lines while it is a file", out.stdout + out.stderr)
        files = [fifo] if fifo else [f for f in os.listdir(where) if f.endswith(".dwo")]
        for f in files:
            path = os.path.join(where, f)
            if os.path.exists(path):
                os.unlink(path)
            os.mkfifo(path)
        for words in (["annotate", "--no-cache", data, "main"], ["report", "--no-cache", "--html", os.path.join(where, "x.html"), data],
                      ["report", "--no-cache", "-s", "srcline", data]):
            try:
                p = subprocess.run([CYCLADE, *words], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
                tap.ok(files and p.returncode == 0, f"{what}: {words[0]} ends", (files, p.stderr))
            except subprocess.TimeoutExpired:
                tap.ok(False, f"{what}: {words[0]} ends", "it waits")
        for f in files:
            os.unlink(os.path.join(where, f))


def shared_strings(where):
    """dwz's file of strings alone, the directory of the compiler among them: programs that share no unit."""
    what, deep = "a dwz file of strings alone", os.path.join(where, "a_directory_of_some_length")
    if not shutil.which("dwz"):
        tap.skip(what, "no dwz")
        return
    os.mkdir(deep)
    for name in ("x", "y"):
        put(os.path.join(deep, name + ".c"), CODE)
        r = run("gcc", "-O1", "-gdwarf-4", name + ".c", "-o", name, "-Wl,--build-id", cwd=deep)
    r = r if r.returncode else run("dwz", "-m", "common", "-M", os.path.join(deep, "common"), "x", "y", cwd=deep)
    sections = run("readelf", "-SW", os.path.join(deep, "common")).stdout
    data = os.path.join(where, "s.data")
    if ".debug_str" not in sections or ".debug_info" in sections:
        tap.skip(what, "dwz made none: " + (r.stderr or sections)[:100])
    elif run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "--", os.path.join(deep, "x")).returncode not in (0, 1):
        tap.skip(what, "nothing can be recorded here")
    else:
        out = run(CYCLADE, "annotate", "--no-cache", "--no-pager", data, "main").stdout
        tap.ok("THE LOOP" in out and "not found" not in out, f"{what}: the source is found", out)


def split_below(where):
    """The file of a split unit is looked for below --sysroot alone, and must be the program's user's to read."""
    what = "a .dwo"
    prog, data = os.path.join(where, "prog"), os.path.join(where, "c.data")
    with open(os.path.join(where, "x.c"), "w", encoding="ascii") as f:
        f.write("static inline __attribute__((always_inline)) int inner(int n)\n{\n    int s = 0;\n"
                "    for (volatile int i = 0; i < n; i++)\n        s += i;\n    return s;\n}\n"
                "int main(void)\n{\n    int s = 0;\n    for (int i = 0; i < 200; i++)\n        s += inner(1000000);\n    return s & 1;\n}\n")
    r = run("gcc", "-O1", "-g", "-gsplit-dwarf", "x.c", "-o", "prog", "-Wl,--build-id", cwd=where)
    dwo = [f for f in os.listdir(where) if f.endswith(".dwo")]
    if r.returncode or not dwo or run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "--", prog).returncode not in (0, 1):
        tap.skip(what, "does not build, or cannot be recorded here: " + r.stderr[:100])
        return
    dwo = os.path.join(where, dwo[0])

    def inlined(*words):
        r = run(CYCLADE, "report", "--no-cache", "-s", "inline", "--format", "csv", *words, data)
        return "inner" in r.stdout, r.stdout + r.stderr

    got, out = inlined()
    tap.ok(got, f"{what}: its inlined calls", out)
    if shutil.which("objcopy") and not run("objcopy", "--compress-debug-sections", dwo).returncode:
        got, out = inlined()
        tap.ok(got, f"{what} with packed sections: its inlined calls", out)
    root = os.path.join(where, "root")
    os.makedirs(root + where)
    shutil.copy(prog, root + where)
    got, out = inlined("--sysroot", root)
    tap.ok(not got, f"{what}: with --sysroot the host's is not taken", out)
    shutil.copy(dwo, root + where)
    got, out = inlined("--sysroot", root)
    tap.ok(got, f"{what}: with --sysroot that below it is", out)
    if os.geteuid():
        tap.skip(f"{what}: one that the program's owner may not read", "needs root")
        return
    os.chown(prog, 65534, 65534)
    os.chmod(dwo, 0o600)
    got, out = inlined()
    tap.ok(not got and "may not read" in out, f"{what}: one that the program's owner may not read is left out, and told", out)


def without_proc(where):
    what = "/proc is not mounted"
    put(os.path.join(where, "x.c"), CODE)
    hide = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
            'mount -t tmpfs none /proc && shift && exec "$@"', "sh", "sh"]
    data = os.path.join(where, "c.data")
    if not shutil.which("unshare") or run(*hide, "true").returncode:
        tap.skip(what, "/proc cannot be hidden here")
        return
    if run("gcc", "-O1", "-g", "x.c", "-o", "prog", "-Wl,--build-id", cwd=where).returncode or \
            run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "--", os.path.join(where, "prog")).returncode not in (0, 1):
        tap.skip(what, "does not build, or cannot be recorded here")
        return
    asked = [CYCLADE, "report", "--no-cache", "--format", "csv", "-s", "sym,srcline", data]
    with_it, without = run(*asked), run(*hide, *asked)
    tap.ok("main" in with_it.stdout and without.stdout == with_it.stdout, f"{what}: the same report", with_it.stdout + without.stdout + without.stderr)


def main():
    for tool in ("gcc", "addr2line", "nm", "readelf"):
        if not shutil.which(tool):
            print(f"1..0 # SKIP no {tool}")
            return
    for cc, dwarf, summed in BUILDS:
        if not shutil.which(cc):
            tap.skip(f"{cc} {dwarf}", f"no {cc}")
            continue
        with tempfile.TemporaryDirectory() as where:
            one(cc, dwarf, summed, where)
    with tempfile.TemporaryDirectory() as where:
        beside(os.path.realpath(where))
    with tempfile.TemporaryDirectory() as where:
        shared_strings(os.path.realpath(where))
    with tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        split_below(os.path.realpath(where))
    with tempfile.TemporaryDirectory() as where:
        without_proc(os.path.realpath(where))
    tap.done()


main()
