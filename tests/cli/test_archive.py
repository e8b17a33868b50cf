#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An archive has all that a report reads: in a root directory with nothing in it but cyclade and its libraries, the same commands
print the same to the byte. perf reads what tar unpacks of it, and cyclade what perf archive packs. Hostile ones are refused."""
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, PERF, Tap, nobody_runs  # noqa: E402

SOURCE = """#include <stdlib.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) void inner(long n)
{
	for (long i = 0; i < n; i++)
		sink += i * 3;
}
__attribute__((noinline)) void packed_a(long n)
{
	inner(n);
}
int main(int c, char **v)
{
	packed_a(c > 1 ? atol(v[1]) : 60000000);
	return 0;
}
"""
t = Tap()
top = tempfile.TemporaryDirectory()
os.chmod(top.name, 0o755)
os.chdir(top.name)
os.makedirs("home")
ENV = {**os.environ, "XDG_CACHE_HOME": top.name + "/cache", "HOME": top.name + "/home", "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C",
       "TMPDIR": top.name}
# without the symbol cache, whose names of the kernel come from elsewhere
COMMANDS = (("report", "-v", "--no-cache", "-i", "rec"), ("report", "-g", "--children", "--no-cache", "-i", "rec"),
            ("annotate", "--no-cache", "-i", "rec", "packed_a"), ("report", "--no-cache", "-s", "dso,sym,srcline", "--format", "json", "-i", "rec"),
            ("report", "--no-cache", "--html", "page.html", "-i", "rec"))


def ours(*words, **kw):
    kw.setdefault("env", ENV)
    return subprocess.run([CYCLADE, *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600, **kw)


def build(to, name="packed_a", *flags):
    with open(to + ".c", "w", encoding="ascii") as f:
        f.write(SOURCE.replace("packed_a", name))
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", *flags, "-o", to, to + ".c"], check=True)
    found = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", to], capture_output=True, text=True, check=False).stdout)
    return found[1] if found else ""


def told(r):
    """Without the size of a page: it has graphs or not."""
    return re.sub(r"page\.html: [\d.]+ .?B", "page.html", r.stdout + r.stderr)


def results(where, **kw):
    """What each command prints and writes in that directory; the recording is there as `rec`."""
    out = []
    for words in COMMANDS:
        r = ours(*words, cwd=where, **kw)
        page = os.path.join(where, "page.html")
        text = told(r)
        if os.path.exists(page):
            with open(page, encoding="utf-8") as f:
                text += f.read()
            os.unlink(page)
        out.append((r.returncode, text))
    return out


def differ(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a[1], b[1])) if x != y), min(len(a[1]), len(b[1])))
    return "exit %d and %d, at character %d:\n%r\n%r" % (a[0], b[0], at, a[1][max(0, at - 60):at + 120], b[1][max(0, at - 60):at + 120])


def show(name, got, want):
    for words, a, b in zip(COMMANDS, got, want):
        t.ok(a == b and a[0] == 0, "%s: cyclade %s" % (name, " ".join(words)), differ(a, b))


def members(path):
    p = subprocess.run(["zstd", "-qdc", path], capture_output=True, check=False)
    return tarfile.open(fileobj=io.BytesIO(p.stdout))


def empty_root():
    """Nothing but the program and the libraries that it is linked with."""
    os.makedirs("root/here")
    libraries = subprocess.run(["ldd", CYCLADE], capture_output=True, text=True, check=False).stdout
    for path in {CYCLADE, *re.findall(r"(/\S+) \(0x", libraries)}:
        to = "root" + (path if path != CYCLADE else "/cyclade")
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)


def in_root(words):
    def enter():
        os.chroot(top.name + "/root")
        os.chdir("/here")
    env = {"NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C"}
    shutil.copy("rec.tar.zst", "root/here/rec")
    r = subprocess.run(["/cyclade", *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600,
                       preexec_fn=enter, env=env)
    text = told(r)
    if os.path.exists("root/here/page.html"):
        with open("root/here/page.html", encoding="utf-8") as f:
            text += f.read()
        os.unlink("root/here/page.html")
    return r.returncode, text


def same():
    want = results(".")
    os.mkdir("none")
    for name in ("libgvc.so.6", "libcgraph.so.6"):
        with open("none/" + name, "wb"):
            pass
    without_graphviz = results(".", env={**ENV, "LD_LIBRARY_PATH": top.name + "/none"})[-1]
    r = ours("archive", "--sources", "rec")
    t.ok(r.returncode == 0 and os.path.exists("rec.tar.zst"), "an archive", r.stdout + r.stderr)
    if r.returncode:
        return
    os.mkdir("away")
    for name in ("app", "app.c"):
        os.rename(name, "away/" + name)
    os.mkdir("elsewhere")
    shutil.copy("rec.tar.zst", "elsewhere/rec")
    show("without program and source", results("elsewhere"), want)
    if os.geteuid() == 0 and not os.environ.get("CYCLADE_SANITIZED") and shutil.which("zstd"):
        empty_root()
        for words, b in zip(COMMANDS, want):
            if "--html" in words:  # graphs need Graphviz, which is not there
                b = without_graphviz
            a = in_root(words)
            a, b = ((code, re.sub(r"Graphviz cannot be loaded: [^\"<]*", "", said)) for code, said in (a, b))
            t.ok(a == b and a[0] == 0, "in an empty root directory: cyclade " + " ".join(words), differ(a, b))
    else:
        t.skip("in an empty root directory", "root alone may change it; sanitizers need /proc; zstd")
    # a program of the same path here is not it
    build("app", "other_a")
    shutil.copy("rec.tar.zst", "elsewhere/rec")
    show("beside another program of that path", results("elsewhere")[:1], want[:1])
    for name in ("app", "app.c"):
        os.rename("away/" + name, name)


def tools():
    if not shutil.which("zstd"):
        t.skip("what tar makes of it", "no zstd")
        return
    names = members("rec.tar.zst").getnames()
    t.ok(names[0] == "recording" and "files" + top.name + "/app" in names and "files" + top.name + "/app.c" in names, "its files", names)
    t.ok(not any("/.." in n or n.startswith("/") for n in names) and len(set(names)) == len(names), "their names lead nowhere else", names)
    r = ours("archive", "-o", "plain.zst", "rec")
    t.ok(not any(n.endswith(".c") for n in members("plain.zst").getnames()), "no sources without --sources", r.stderr)
    r = ours("archive", "rec.tar.zst")
    t.ok(r.returncode == 2 and "archive already" in r.stderr, "an archive of an archive", r.stderr)
    r = ours("archive", "-o", "two.tar.zst", "rec", "rec")
    t.ok(r.returncode == 2 and "one recording at a time" in r.stderr and not os.path.exists("two.tar.zst"), "one recording", r.stderr)
    r = ours("archive", "-o", "-", "rec")
    t.ok(r.returncode == 2 and "standard output" in r.stderr and not os.path.exists("-"), "none to standard output", r.stderr)
    mode = os.stat("rec.tar.zst").st_mode & 0o777
    t.ok(mode == 0o600, "only its user can read it", oct(mode))
    perf_tools()


def perf_tools():
    """Each reads the other's layout."""
    if not PERF:
        t.skip("perf and archives", "no perf")
        return
    os.mkdir("unpacked")
    members("twice.zst").extractall("unpacked")
    p = subprocess.run([PERF, "--buildid-dir", "unpacked/files", "report", "-i", "unpacked/recording", "--stdio"],
                       capture_output=True, text=True, errors="replace", env=ENV, check=False)
    t.ok("first_a" in p.stdout, "perf --buildid-dir reads what tar unpacks", p.stdout + p.stderr)
    shutil.rmtree("unpacked")
    env = {**ENV, "HOME": top.name + "/perfs", "PERF_CONFIG": "/dev/null"}
    os.makedirs("perfs/.debug")
    build("perfs_app", "perfs_a")
    subprocess.run([PERF, "record", "-q", "-e", "cpu-clock:u", "-o", "perf.rec", "./perfs_app"], capture_output=True, env=env, check=False)
    subprocess.run([PERF, "archive", "perf.rec"], capture_output=True, env=env, check=False)
    made = [n for n in os.listdir(".") if n.startswith("perf.rec.tar")]
    if not made:
        t.skip("what perf archive makes", "perf makes none here")
        return
    if not shutil.which("bzip2"):
        t.skip("what perf archive makes", "tar needs bzip2, which is not here")
        return
    os.makedirs("unpacked")
    subprocess.run(["tar", "xf", made[0], "-C", "unpacked"], check=True)
    os.unlink("perfs_app")
    shutil.rmtree("perfs/.debug")
    out = ours("report", "--symbols", "unpacked", "-i", "perf.rec").stdout
    t.ok("perfs_a" in out and "not a regular file" not in out, "--symbols takes what perf archive packed", out)
    with open("perfs/.perfconfig", "w", encoding="ascii") as f:
        f.write("[buildid]\n\tdir = %s/unpacked\n" % top.name)
    env.pop("PERF_CONFIG")
    out = ours("report", "-i", "perf.rec", env=env).stdout
    t.ok("perfs_a" in out, "so does buildid.dir of ~/.perfconfig", out)


def rebuilt():
    """The copy of an older build goes in by its build-id."""
    first = build("twice", "first_a")
    ours("record", "-q", "-o", "twice.cy", "--", "./twice")
    build("twice", "second_a")
    r = ours("archive", "-o", "twice.zst", "twice.cy")
    shutil.rmtree("cache")
    out = ours("report", "twice.zst").stdout
    t.ok("first_a" in out, "an older build has its names from the archive alone", out + r.stderr)
    if shutil.which("zstd"):
        names = members("twice.zst").getnames()
        t.ok("files/.build-id/%s/%s/elf" % (first[:2], first[2:]) in names, "under its build-id", names)


def hostile():
    def refused(name, why, data):
        with open("bad", "wb") as f:
            f.write(data)
        r = ours("report", "-i", "bad")
        t.ok(r.returncode == 2 and why in r.stderr, "refused: " + name, r.stdout[:300] + r.stderr)

    def packed(*items):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name, kind, data in items:
                info = tarfile.TarInfo(name)
                info.type = kind
                info.size = len(data) if kind == tarfile.REGTYPE else 0
                info.linkname = "/etc/passwd"
                tar.addfile(info, io.BytesIO(data))
        return subprocess.run(["zstd", "-qc"], input=raw.getvalue(), capture_output=True, check=True).stdout
    if not shutil.which("zstd"):
        t.skip("hostile archives", "no zstd")
        return
    with open("rec", "rb") as f:
        rec = ("recording", tarfile.REGTYPE, f.read())
    refused("no recording", "without a recording", packed(("files/a", tarfile.REGTYPE, b"x")))
    refused("a name with ..", "is called", packed(rec, ("files/../../etc/x", tarfile.REGTYPE, b"x")))
    refused("an absolute name", "is called", packed(rec, ("/etc/x", tarfile.REGTYPE, b"x")))
    refused("a link", "links and devices", packed(rec, ("files/a", tarfile.SYMTYPE, b"")))
    refused("a hard link", "links and devices", packed(rec, ("files/a", tarfile.LNKTYPE, b"")))
    refused("a device", "links and devices", packed(rec, ("files/a", tarfile.CHRTYPE, b"")))
    refused("one name twice", "two files", packed(rec, ("files/a", tarfile.REGTYPE, b"x"), ("files/a", tarfile.REGTYPE, b"y")))
    whole = packed(rec)
    refused("a part of one", "cut off", whole[:len(whole) // 2])


def strangers():
    """A recording that names a file which is root's alone: root's archive does not have it."""
    if os.geteuid() or not nobody_runs():
        t.skip("files that are root's alone", "not root, or out of another user's reach")
        return
    os.mkdir("theirs")
    os.chown("theirs", 65534, 65534)
    secret = build("theirs/prog", "secret_a")
    os.chmod("theirs/prog", 0o711)  # to be run, not to be read
    os.chown("theirs/prog", 0, 0)
    ours("record", "-q", "-o", "s.cy", "--", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "theirs/prog")
    r = ours("archive", "-o", "s.zst", "s.cy")
    whole = members("s.zst") if shutil.which("zstd") else None
    t.ok(r.returncode == 0 and "left out" in r.stderr and (not whole or not any(
        bytes.fromhex(secret) in whole.extractfile(m).read() for m in whole.getmembers() if m.name != "recording")),
         "a program that its user may run and not read is left out of root's archive", r.stderr)
    # the same by a link from a place of theirs
    os.mkdir("closed", 0o700)
    build("closed/prog", "hidden_a")
    os.symlink(top.name + "/closed/prog", "theirs/link")
    ours("record", "-q", "--no-copies", "-o", "l.cy", "--", "theirs/link")
    r = ours("archive", "-o", "l.zst", "l.cy")
    t.ok(r.returncode == 0 and "left out" in r.stderr, "so is one behind a directory of root's", r.stderr)
    ours("record", "-q", "-o", "l.cy", "--", "theirs/link")
    r = ours("archive", "-o", "l.zst", "l.cy")
    t.ok(r.returncode == 0 and "left out" not in r.stderr, "root's own program goes in, by the copy that was made as it ran", r.stderr)


def cache():
    r = ours("cache", "list")
    t.ok(r.returncode == 0 and re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d +\S+ \S+ +elf +[0-9a-f]{40} +/.*/prog$", r.stdout, re.M), "cache list", r.stdout + r.stderr)
    r = ours("cache", "gc", "--copies-size", "0")
    left = ours("cache", "list").stdout
    t.ok(r.returncode == 0 and "removed" in r.stderr and left.startswith("0 copies"), "cache gc --copies-size 0 removes all", left + r.stderr)
    r = ours("cache", "clean")
    t.ok(r.returncode == 2 and "cyclade cache gc" in r.stderr, "cache has no other word", r.stderr)


build("app")
first = ours("record", "-q", "-g", "-e", "cpu-clock:u", "-o", "rec", "--", "./app")
if first.returncode or not os.path.exists("rec"):
    t.skip("archives", "cannot record here: " + first.stderr[:100])
else:
    same()
    rebuilt()
    tools()
    hostile()
    strangers()
    if os.geteuid() == 0:
        cache()
t.done()
