#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Optional libraries are opened at the first need: a library that cannot be loaded disturbs only what needs it, and the message says
which library it is and what to install."""
import os
import pty
import re
import select
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import recordings  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-libraries-")
FILES = ["libcapstone.so.4", "libcapstone.so.5", "libedit.so.0", "libedit.so.2", "libgvc.so.6", "libgvc.so.7", "libmicrohttpd.so.12",
         "libncursesw.so.6", "libpfm.so.4", "libsqlite3.so.0"]
broken = os.path.join(tmp.name, "lib")
os.mkdir(broken)
for name in FILES:  # found before the system's, and no library
    open(os.path.join(broken, name), "wb").close()
made = {r.name: r.path for r in recordings.made(os.path.join(tmp.name, "made"))}
with_all = run("--version").stdout
report = run("report", made["branches"]).stdout
listed = run("list", "events").stdout
os.environ["LD_LIBRARY_PATH"] = broken


def at_terminal(*words, text=b"", until):
    """What is shown at a terminal up to `until` or the end, after the text was typed; and the exit code."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", CYCLADE_PAGER="cat", NO_COLOR="1")
        os.execv(CYCLADE, [CYCLADE, *words])
    os.write(fd, text)
    got = b""
    while not re.search(until, got) and select.select([fd], [], [], 60)[0]:
        try:
            got += os.read(fd, 65536)
        except OSError:  # the other side is closed
            break
    os.close(fd)
    return got.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def refused(code, out, library, package, what):
    t.ok(code == 2 and library in out and package in out, "%s names what to install" % what, (code, out))


t.equal(run("--version").stdout, with_all, "--version needs no optional library")
t.equal(run("report", made["branches"]).stdout, report, "report needs none")
t.equal(run("list", "events").stdout, listed, "list events needs none")
if "no SQL" not in with_all:
    p = run("sql", made["branches"], "SELECT 1")
    refused(p.returncode, p.stderr, "libsqlite3.so", "libsqlite3-0", "sql")
    p = run("record", "--keep", "load", "-o", os.path.join(tmp.name, "kept"), "--", "true")
    t.ok(p.returncode in (2, 125) and "libsqlite3.so" in p.stderr and "libsqlite3-0" in p.stderr, "record --keep names what to install",
         (p.returncode, p.stderr))
if "no graphs" not in with_all:
    p = run("blocks", "--format", "svg", made["branches"])
    refused(p.returncode, p.stderr, "libgvc.so", "install it", "blocks --format svg")
if "no monitor --listen" not in with_all:
    p = run("monitor", "--listen", ":0")
    refused(p.returncode, p.stderr, "libmicrohttpd.so", "libmicrohttpd12", "monitor --listen")
if "no browse" not in with_all:
    out, code = at_terminal("browse", made["branches"], until=rb"page by page")
    refused(code, out, "libncursesw.so", "libncursesw6", "browse")
if "no SQL" not in with_all:
    for name in FILES:
        if "sqlite" in name:
            os.remove(os.path.join(broken, name))
    out, code = at_terminal("sql", made["branches"], text=b"SELECT 6 * 7;\n.quit\n", until=rb"42[^;]*> \S*\r\n$")
    t.ok("42" in out, "a prompt without libedit", out)
    t.ok("libedit" not in out or "libedit2" in out and out.count("libedit.so") == 1, "and once the reason, if there is one", out)
t.done()
