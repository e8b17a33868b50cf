#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are not here any more: the report names them and says what to do; build-ids find copies. Samples of
guests are labelled, and never get names of this machine's files."""
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
from tap import CYCLADE, Tap, wait_for  # noqa: E402

CODE = """__attribute__((noinline)) unsigned long spin(unsigned long n)
{
	volatile unsigned long s = 0;

	for (unsigned long i = 0; i < n; i++)
		s += i;
	return s;
}
int main(void) { return (int)(spin(60000000) & 1); }
"""
tap = Tap()


def run(*argv, **env):
    return subprocess.run(argv, capture_output=True, text=True,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8",
                               "HOME": "/nonexistent", **env})


def report(data, *words, **env):
    return run(CYCLADE, "report", "--no-cache", *words, data, **env).stdout


def rows(data, **env):
    return list(csv.DictReader(io.StringIO(report(data, "--format", "csv", **env))))


def programs(where):
    if not shutil.which("gcc") or not shutil.which("readelf"):
        tap.skip("a program that is gone", "no gcc or readelf")
        return
    prog, data = os.path.join(where, "prog"), os.path.join(where, "p.data")
    with open(prog + ".c", "w", encoding="ascii") as f:
        f.write(CODE)
    run("gcc", "-O1", "-g", "-Wl,--build-id", prog + ".c", "-o", prog)
    r = run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "--", prog)
    if not os.path.exists(data):
        tap.skip("a program that is gone", "cannot record here: " + r.stderr[:100])
        return
    ident = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", prog).stdout)[1]
    tap.ok("not found here" not in report(data), "nothing is missing: no note")
    kept, debug = os.path.join(where, "kept"), os.path.join(where, "debug")
    os.mkdir(kept)
    os.rename(prog, os.path.join(kept, "other-name"))
    run("objcopy", "--only-keep-debug", os.path.join(kept, "other-name"), debug)
    out = " ".join(report(data).split())
    tap.ok(f"{prog}: not found here (build-id {ident})" in out and "package" in out and "--symbols DIR" in out,
           "a missing program is a note with what to do", out)
    tap.ok("libc.so.6: not found" not in out, "... what has hardly a sample is none", out)
    out = report(data, "--format", "json")
    tap.ok("not found here" in out, "... in json", out[:500])
    cache = os.path.join(where, "cache")
    os.makedirs(os.path.join(cache, ident))
    shutil.copy(debug, os.path.join(cache, ident, "debuginfo"))
    got = rows(data, DEBUGINFOD_CACHE_PATH=cache)
    tap.equal([r["function"] for r in got][:1], ["spin"], "debuginfod's cache: debug information")
    shutil.copy(os.path.join(kept, "other-name"), os.path.join(cache, ident, "executable"))
    got = rows(data, DEBUGINFOD_CACHE_PATH=cache)
    tap.equal([r["function"] for r in got][:1], ["spin"], "debuginfod's cache: the program")
    others_caches(data, ident, os.path.join(kept, "other-name"), os.path.join(where, "home"))
    out = run(CYCLADE, "annotate", "--no-cache", data, "spin", "-j", DEBUGINFOD_CACHE_PATH=cache).stdout
    tap.ok('"instruction":"' in out, "... whose code annotate shows", out[:300])
    shutil.copy("/bin/true", os.path.join(cache, ident, "executable"))
    os.unlink(os.path.join(cache, ident, "debuginfo"))
    got = rows(data, DEBUGINFOD_CACHE_PATH=cache)
    tap.ok("spin" not in [r["function"] for r in got], "another file in its place is refused")


def others_caches(data, ident, program, home):
    """Caches below HOME are believed if they are one's own."""
    if os.geteuid():
        tap.skip("caches of another user", "needs root")
        return
    for cache, leaf in ((".debug", os.path.join(".build-id", ident[:2], ident[2:], "elf")), (".cache/debuginfod_client", os.path.join(ident, "executable")),
                        (".debuginfod_client_cache", os.path.join(ident, "executable"))):
        file = os.path.join(home, cache, leaf)
        os.makedirs(os.path.dirname(file))
        shutil.copy(program, file)
        env = {"HOME": home, "XDG_CACHE_HOME": "", "DEBUGINFOD_CACHE_PATH": ""}
        mine = [r["function"] for r in rows(data, **env)][:1]
        os.chown(os.path.join(home, cache), 1234, 1234)
        theirs = [r["function"] for r in rows(data, **env)][:1]
        tap.ok(mine == ["spin"] != theirs, "~/%s: one's own is read, another user's is not" % cache, (mine, theirs))
        shutil.rmtree(home)


def deleted(where):
    """A program that was deleted before it was recorded, and runs on."""
    if not shutil.which("gcc") or not shutil.which("readelf"):
        tap.skip("a deleted program", "no gcc or readelf")
        return
    prog, kept, data = (os.path.join(where, x) for x in ("gone", "gone.kept", "d.data"))
    with open(prog + ".c", "w", encoding="ascii") as f:
        f.write(CODE.replace("60000000", "60000000000"))
    run("gcc", "-O1", "-Wl,--build-id", prog + ".c", "-o", prog)
    shutil.copy(prog, kept)
    ident = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", prog).stdout)[1]
    p = subprocess.Popen([prog])
    try:
        wait_for(lambda: os.readlink(f"/proc/{p.pid}/exe") == prog)
        os.unlink(prog)
        r = run(CYCLADE, "record", "-q", "-e", "cpu-clock:u", "-o", data, "-p", str(p.pid), "--for", "300ms")
        if r.returncode or not os.path.exists(data):
            tap.skip("a deleted program", "cannot record here: " + r.stderr[:100])
            return
        if os.geteuid():
            tap.skip("a deleted program's build-id", "only root may open what a process has mapped")
            return
        got = rows(data)
        tap.equal([x["function"] for x in got][:1], ["spin"], "a deleted program that still runs has names")
    finally:
        p.kill()
        p.wait()
    out = " ".join(report(data).split())
    tap.ok("it was deleted or replaced" in out and ident in out and "--symbols DIR" in out,
           "... and when it is gone a note says so, with its build-id", out)
    cache = os.path.join(where, "cache2")
    os.makedirs(os.path.join(cache, ident))
    shutil.copy(kept, os.path.join(cache, ident, "executable"))
    got = rows(data, DEBUGINFOD_CACHE_PATH=cache)
    tap.equal([x["function"] for x in got][:1], ["spin"], "... a copy is found by its build-id")


def guests(where):
    w = gen.Writer("<")
    path = os.path.join(where, "g.data")
    with open("/proc/self/maps", encoding="ascii", errors="replace") as f:
        libc = next((l.split()[-1] for l in f if "/libc" in l), "/bin/true")
    a = dict(type=1, config=0, period=1000, sample=gen.BASE, sample_id_all=1)
    f = gen.File(w, [("cycles", a, [100])], attr_size=112)
    u = os.uname()
    f.features = {3: w.text(u.nodename), 4: w.text(u.release), 6: w.text(u.machine)}
    tail = lambda pid: w.pack("IIQIIQ", pid, pid, 1, 0, 0, 100)
    kernel, user, module = 0xffffffff81000000, 0x7f0000000000, 0xffffffffc0000000
    mmap = lambda pid, at, size, name, misc: w.record(
        gen.MMAP, w.pack("IIQQQ", pid, pid, at, size, 0) + gen.text8(name) + tail(pid), misc)
    data = [mmap(2**32 - 1, kernel, 0x1000000, "[guest.kernel.kallsyms]", 4),
            mmap(2**32 - 1, module, 0x10000, "[ext4]", 4),
            mmap(30, user, 0x200000, libc, 5), mmap(30, user + 0x400000, 0x200000, libc, 2)]
    # where, cpumode -> what dso is to be told
    said = [(kernel + 64, 4, "[guest.kernel.kallsyms]"), (0xffffa00000000000, 4, "[guest kernel]"),
            (module + 64, 4, "[ext4] [guest]"), (user + 0x30000, 5, os.path.basename(libc) + " [guest]"),
            (0x1000, 5, "[guest user]"), (0x2000, 3, "[hypervisor]"), (0x3000, 2, "[unknown]"),
            (user + 0x430000, 2, os.path.basename(libc))]
    for i, (ip, misc, _) in enumerate(said):
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(30, 30), TIME=100 + i, IP=ip, CPU=0, PERIOD=1000)
        data.append(s.record(w, a, misc))
    f.data = b"".join(data)
    with open(path, "wb") as out:
        out.write(f.build())
    got = rows(path)
    tap.equal(sorted(r["dso"] for r in got), sorted(d for *_, d in said), "guests and the hypervisor are labelled")
    named = [r["dso"] for r in got if not r["function"].startswith("0x") and "guest" in r["dso"]]
    tap.equal(named, [], "no sample of a guest has a name of this machine's files")
    out = report(path, "-v")
    tap.ok("it is a guest's" in out, "... which -v explains", out)


def main():
    with tempfile.TemporaryDirectory() as where:
        programs(where)
        deleted(where)
        guests(where)
    tap.done()


main()
