#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debug information from debuginfod: names, inlined calls and lines after one fetch, from Debian's server on the loopback; none if
DEBUGINFOD_URLS is not set; and servers that lie, break off, stall or never end, and a full disk, cost the names and nothing else."""
import http.server
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, Tap, run  # noqa: E402

PROGRAM = r"""
volatile unsigned long sink;
static inline __attribute__((always_inline)) void innie(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i * 3; }
static __attribute__((noinline)) void outie(unsigned long n) { innie(n); }
int main(void) { outie(60000000); return 0; }
"""
LIBRARY = "libdebuginfod.so.1"

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-test-")
os.environ["HOME"] = tmp + "/home"
os.environ["PERF_BUILDID_DIR"] = tmp + "/buildid"
for name in ("DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME", "DEBUGINFOD_TIMEOUT", "DEBUGINFOD_MAXTIME", "DEBUGINFOD_MAXSIZE", "http_proxy", "all_proxy", "ALL_PROXY"):
    os.environ.pop(name, None)
for d in ("home", "at", "served", "other"):
    os.mkdir(f"{tmp}/{d}")


def built(where, text):
    """A stripped program, and its debug file elsewhere: its build-id."""
    prog = where + "/prog"
    with open(where + "/prog.c", "w", encoding="ascii") as f:
        f.write(text)
    subprocess.run(["gcc", "-O1", "-g", "-no-pie", "-Wl,--build-id", "-o", prog, where + "/prog.c"], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", prog, where + "/prog.debug"], check=True)
    subprocess.run(["strip", "-s", prog], check=True)
    return re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", prog], capture_output=True, text=True, check=True).stdout)[1]


if not shutil.which("gcc") or not shutil.which("objcopy"):
    t.skip("debuginfod", "no gcc or objcopy")
    t.done()
build_id = built(tmp + "/at", PROGRAM)
other_id = built(tmp + "/other", PROGRAM.replace("60000000", "60000001"))
debug = tmp + "/served/prog.debug"
os.rename(tmp + "/at/prog.debug", debug)
data = tmp + "/data"
p = run("record", "-e", "cpu-clock:u", "-F", "2000", "-o", data, "--", tmp + "/at/prog")
if p.returncode:
    t.skip("debuginfod", "nothing can be recorded here: " + p.stderr)
    t.done()


def report(urls, cache=None, args=(), command=("report", "-i"), **env):
    """A command's output, with a cache of its own if none is named."""
    e = dict(os.environ, DEBUGINFOD_CACHE_PATH=cache or tempfile.mkdtemp(dir=tmp), **env)
    if urls is not None:
        e["DEBUGINFOD_URLS"] = urls
    began = time.monotonic()
    r = subprocess.run([CYCLADE, *command, data, "--no-cache", "--no-pager", *args], capture_output=True, text=True, env=e, timeout=200)
    return r, time.monotonic() - began


def has_names(r):
    return "outie" in r.stdout


plain, _ = report(None)
t.ok(plain.returncode == 0 and not has_names(plain) and "debuginfod" not in plain.stderr, "without DEBUGINFOD_URLS: no names, and no word", plain)
r, _ = report("  ")
t.ok(r.stdout == plain.stdout and r.stderr == plain.stderr, "an empty DEBUGINFOD_URLS is none", r.stderr)

try:
    import ctypes
    ctypes.CDLL(LIBRARY)
except OSError:
    r, _ = report("http://127.0.0.1:1")
    t.ok(r.returncode == 0 and "libdebuginfod1" in r.stderr and r.stdout == plain.stdout, "without the library: its package is named", r.stderr)
    t.skip("servers", "no " + LIBRARY)
    t.done()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- Debian's server


def real_server():
    port = free_port()
    server = subprocess.Popen(["debuginfod", "-d", ":memory:", "-F", "-p", str(port), tmp + "/served"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"})
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=5) as f:
                if f.read(4) == b"\x7fELF":
                    return server, url
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
        if server.poll() is not None:
            break
    server.kill()
    server.wait()
    return None, None


if shutil.which("debuginfod"):
    server, url = real_server()
    if server:
        cache = tmp + "/real"
        r, _ = report(url, cache)
        t.ok(r.returncode == 0 and has_names(r) and "debuginfod: 1 file of" in r.stderr, "Debian's server: names after one fetch", (r.stdout[:600], r.stderr))
        r, _ = report(url, cache, ("outie",), ("annotate", "-i"))
        t.ok("prog.c" in r.stdout and "innie" in r.stdout and "fetched" not in r.stderr, "lines and inlined calls, without another fetch", (r.stdout[:800], r.stderr))
        r, _ = report(url, None, ("--no-sandbox",))
        t.ok(has_names(r), "also without a sandbox", r.stderr)
        r, _ = report(url, None, ("--sysroot", "/"))
        t.ok(has_names(r), "also below a sysroot", r.stderr)
        os.rename(tmp + "/at/prog", tmp + "/served/prog")
        r, _ = report(url)
        t.ok(r.returncode == 0 and has_names(r), "the program is gone: its debug file is enough", (r.stdout[:600], r.stderr))
        os.rename(tmp + "/served/prog", tmp + "/at/prog")
        server.kill()
        server.wait()
        r, _ = report(None, cache)
        t.ok(has_names(r) and "debuginfod" not in r.stderr, "what was fetched stays, without a server", r.stderr)
        r, _ = report(url, cache)
        t.ok(has_names(r) and "debuginfod" not in r.stderr, "and no server is asked for it", r.stderr)
        r, _ = report(url)
        t.ok(r.returncode == 0 and r.stdout == plain.stdout and "no connection" in r.stderr, "the server is gone: the report without names, and why", r.stderr)
    else:
        t.skip("Debian's server", "debuginfod does not serve here")
else:
    t.skip("Debian's server", "no debuginfod")

# ---- servers that are hostile

with open(debug, "rb") as f:
    WHOLE = f.read()
with open(tmp + "/other/prog.debug", "rb") as f:
    OTHERS = f.read()
stop = threading.Event()


class Hostile(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def head(self, code=200, length=None, **more):
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for k, v in more.items():
            self.send_header(k, v)
        self.end_headers()

    def do_HEAD(self):
        self.head(404)

    def do_GET(self):
        asked.append(self.path)
        kind = self.path.split("/")[1]
        try:
            getattr(self, kind)()
        except OSError:
            pass  # the client has gone

    def right(self):
        if "/source/" in self.path:
            self.head(200, len(PROGRAM))
            self.wfile.write(PROGRAM.encode())
            return
        self.head(200, len(WHOLE))
        self.wfile.write(WHOLE)

    def slowly(self):
        self.head(200, len(WHOLE))
        for at in range(0, len(WHOLE), len(WHOLE) // 16):
            self.wfile.write(WHOLE[at:at + len(WHOLE) // 16])
            stop.wait(0.15)

    def wrong(self):
        self.head(200, len(OTHERS))
        self.wfile.write(OTHERS)

    def trash(self):
        self.head(200, 5000)
        self.wfile.write(b"\x7fELF" + b"\xff" * 4996)

    def absent(self):
        self.head(404, 0)

    def broken(self):
        self.head(500, 0)

    def short(self):
        self.head(200, len(WHOLE) + 100000)
        self.wfile.write(WHOLE)

    def longer(self):
        self.head(200, len(WHOLE) - 1000)
        self.wfile.write(WHOLE)

    def silent(self):
        stop.wait(60)

    def endless(self):
        self.head()
        while not stop.is_set():
            self.wfile.write(bytes(1 << 16))

    def drops(self):
        self.head()
        while not stop.wait(0.2):
            self.wfile.write(b"x")

    def local(self):
        self.head(302, 0, Location="file://" + debug)

    def round(self):
        self.head(302, 0, Location=self.path)


asked = []
hostile = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
hostile.daemon_threads = True
threading.Thread(target=hostile.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{hostile.server_address[1]}"
r, _ = report(base + "/right")
t.ok(has_names(r), "a server of ours: names", r.stderr)
os.rename(tmp + "/at/prog.c", tmp + "/gone.c")
r, _ = report(base + "/right", tmp + "/texts", ("outie",), ("annotate", "-i"))
t.ok("sink += i * 3" in r.stdout and any("/source/" in a for a in asked), "annotate: the source file, too", (r.stdout[:800], r.stderr, asked[-3:]))
packed = tmp + "/packed.tar.zst"
r = subprocess.run([CYCLADE, "archive", "--sources", "-i", data, "-o", packed], capture_output=True, text=True, timeout=200,
                   env=dict(os.environ, DEBUGINFOD_CACHE_PATH=tmp + "/packing", DEBUGINFOD_URLS=base + "/right"))
if shutil.which("zstd") and os.path.exists(packed):
    members = subprocess.run(["zstd", "-qdc", packed], capture_output=True, check=True).stdout
    t.ok(b"at/prog.c\0" in members and b"sink += i * 3" in members, "archive --sources: a fetched file, too", r.stderr)
else:
    t.skip("archive --sources: a fetched file, too", "no zstd: " + r.stderr)
os.rename(tmp + "/gone.c", tmp + "/at/prog.c")
r, _ = report(base + "/right", None, ("outie",), ("annotate", "-i"))
t.ok("sink += i * 3" in r.stdout, "annotate: the file of this machine", r.stderr)
master, slave = pty.openpty()
e = dict(os.environ, DEBUGINFOD_CACHE_PATH=tmp + "/pty", DEBUGINFOD_URLS=base + "/slowly")
r = subprocess.run([CYCLADE, "report", "-i", data, "--no-cache", "--no-pager"], stdout=subprocess.PIPE, stderr=slave, text=True, env=e, timeout=200)
os.close(slave)
drawn = b""  # one read gives a part of it
while True:
    try:
        some = os.read(master, 1 << 16)
    except OSError:  # EIO: nobody has the other end
        break
    if not some:
        break
    drawn += some
drawn = drawn.decode()
os.close(master)
t.ok(has_names(r) and re.search(r"debuginfod: prog: \d+\.\d( of \d+\.\d)? MB", drawn), "on a terminal: the progress", drawn)
t.ok("1 file of" in drawn.split("\033[K")[-1], "on a terminal: it is wiped", drawn)
for kind, why in (("wrong", "another program"), ("trash", "is damaged"), ("absent", None), ("broken", None), ("short", "broke off"), ("longer", "is damaged"), ("local", None),
                  ("round", None)):
    r, took = report(f"{base}/{kind}")
    t.ok(r.returncode == 0 and not has_names(r) and took < 60 and (why is None or re.search(why, r.stderr + r.stdout)),
         f"{kind}: the report without names{', and why' if why else ''}", (took, r.returncode, r.stdout[-600:], r.stderr))
    t.ok(kind in ("wrong", "trash", "longer") or "debuginfod: 1 file" not in r.stderr, f"{kind}: nothing counts as fetched", r.stderr)
r, took = report(base + "/silent", DEBUGINFOD_TIMEOUT="2")
t.ok(r.returncode == 0 and r.stdout == plain.stdout and took < 40 and re.search("no answer|too slow", r.stderr), "silent: the time is limited, and why", (took, r.stderr))
r, took = report(base + "/drops", DEBUGINFOD_TIMEOUT="2", DEBUGINFOD_MAXTIME="4")
t.ok(r.returncode == 0 and r.stdout == plain.stdout and took < 60 and re.search("no answer|took longer|too slow|broke off", r.stderr), "drops: the time is limited, and why", (took, r.stderr))
r, took = report(base + "/endless", tmp + "/again", DEBUGINFOD_MAXSIZE="20000000")
t.ok(r.returncode == 0 and r.stdout == plain.stdout and took < 100 and re.search("larger than", r.stderr), "endless: the size is limited, and why", (took, r.stderr))
left = [f for d, _, files in os.walk(tmp) for f in files if os.path.getsize(os.path.join(d, f)) > 10000000]
t.equal(left, [], "endless: nothing of it is left")
r, _ = report(base + "/right", tmp + "/again")
t.ok(has_names(r), "endless: the next command asks again", r.stderr)
r, _ = report("file://" + tmp + "/nothing not-an-url")
t.ok(r.returncode == 0 and r.stdout == plain.stdout, "addresses that are none", r.stderr)
r, _ = report(base + "/right", cache=tmp + "/home/data" if os.path.exists(tmp + "/home/data") else data)
t.ok(r.returncode == 0 and r.stdout == plain.stdout and "debuginfod" in r.stderr, "a cache that is no directory: why", r.stderr)

# ---- a full disk

small = tmp + "/small"
os.mkdir(small)
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True, check=False).returncode:
    t.skip("a full disk", "nothing can be mounted here")
else:
    WHOLE += bytes(200000)
    r, _ = report(base + "/right", cache=small)
    t.ok(r.returncode == 0 and r.stdout == plain.stdout and "disk full" in r.stderr, "a full disk: the report without names, and why", r.stderr)
    subprocess.run(["umount", small], check=False)
stop.set()
hostile.shutdown()
shutil.rmtree(tmp, ignore_errors=True)
t.done()
