#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ci/deps.sh, which `sh try` and `sh check` begin with: on a system without apt-get, without rights, without a network, and with packages
that are missing, or that this release does not have. apt-get and its friends are played here: nothing is installed."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import ROOT, Tap  # noqa: E402

SHELL = ("sh", "awk", "cat", "cut", "date", "env", "grep", "mktemp", "rm", "sed", "tail", "tr")
BUILD = ("cc", "make", "python3", "meson", "ninja", "pkg-config")
DPKG = 'for p; do :; done; case " $MISSING " in *" $p "*) exit 1 ;; esac; echo "install ok installed"'
POLICY = 'case " $GONE " in *" $2 "*) echo "  Candidate: (none)" ;; *) echo "  Candidate: 4:12.2.0-3" ;; esac'
APT = """echo "$@" >>"$ASKED"; case $1 in
update) exit ${UPDATE:-0} ;;
-s) for i in 1 2 3 4 5 6 7; do echo "Inst p$i (1)"; done ;;
install) for i in 1 2 3 4; do echo "dlstatus:$i:$((i * 25)).0:Retrieving"; done; echo "pmstatus:gdb:50.0:Installing"; [ -z "$SLOW" ] || /bin/sleep $SLOW; case " $* " in *" ${UNFIT:-none} "*) exit 100 ;; esac; exit ${INSTALL:-0} ;; esac"""
t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-deps-")
asked = os.path.join(tmp.name, "asked")


def place(name, tools, played=None):
    """A folder that is all of PATH."""
    where = os.path.join(tmp.name, name)
    os.mkdir(where)
    for tool in tools:
        found = shutil.which(tool)
        if found:
            os.symlink(found, os.path.join(where, tool))
    for tool, text in (played or {}).items():
        with open(os.path.join(where, tool), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n" + text + "\n")
        os.chmod(os.path.join(where, tool), 0o755)
    return where


def deps(path, what="build", **env):
    if os.path.exists(asked):
        os.unlink(asked)
    p = subprocess.run(["/bin/sh", os.path.join(ROOT, "ci", "deps.sh"), what], env=dict(env, PATH=path, ASKED=asked, HOME=tmp.name),
                       capture_output=True, text=True, stdin=subprocess.DEVNULL)
    calls = open(asked, encoding="ascii").read().splitlines() if os.path.exists(asked) else []
    return p.returncode, p.stderr, [x.split() for x in calls if not x.startswith("-s ")]


MESON = "meson setup build --buildtype=release && ninja -C build"
ALL = {"pkg-config": "exit 0", **{x: "exit 0" for x in BUILD if x != "pkg-config"}, "gcc": "echo 12"}
NONE = {"pkg-config": "exit 1"}
DEBIAN = {"dpkg-query": DPKG, "apt-cache": POLICY, "apt-get": APT, "id": "echo ${UID_IS:-0}"}

code, said, _ = deps(place("bare", SHELL, NONE))
t.ok(code == 1 and "no apt-get" in said and MESON in said and all(x in said for x in ("libelf", "libcjson", "zlib", "install first: cc")),
     "no apt-get and no libraries: refused, with what it needs and the line for Meson", said)
code, said, _ = deps(place("other", SHELL, ALL))
t.ok(code == 0 and "no apt-get" in said and "leaves out" in said, "no apt-get, and all libraries: goes on, and says that it installs nothing", said)

debian, poor = place("debian", SHELL, {**ALL, **DEBIAN}), place("poor", SHELL, {**ALL, **NONE, **DEBIAN})
t.equal(deps(debian, "test"), (0, "", []), "nothing is missing: not a word, and no apt-get")
code, said, calls = deps(debian, "test", MISSING="gdb autofdo gcc-12-plugin-dev libtcmalloc-minimal4 libtcmalloc-minimal4t64",
                         GONE="autofdo libtcmalloc-minimal4")
words = calls[1] if len(calls) > 1 else []
t.ok(code == 0 and [x[0] for x in calls] == ["update", "install"] and words[-3:] == ["gdb", "gcc-12-plugin-dev", "libtcmalloc-minimal4t64"],
     "what is missing is installed: the first name that this release has, with the number of its gcc", (said, calls))
t.ok("does not have: autofdo\n" in said and "apt-get install gdb" in said and "7 packages with what they need: about 10 s" in said,
     "and it says so before it does it, with about how long it takes", said)
slow = place("slow", [x for x in SHELL if x != "sleep"], {**ALL, **DEBIAN, "sleep": "exec /bin/sleep 0.1"})  # the steps of its lines are 5 s long
code, said, calls = deps(slow, MISSING="libpfm4-dev", SLOW="2")
t.ok(code == 0 and "deps:   Installing, 50 %, " in said, "and while it does it", said)
code, said, calls = deps(debian, MISSING="libpfm4-dev", UID_IS="1000")
t.ok(code == 0 and not calls and "not root, and no sudo" in said and "libpfm4-dev" in said, "no rights: goes on without what may be missing", (said, calls))
code, said, calls = deps(poor, MISSING="libelf-dev", UID_IS="1000")
t.ok(code == 1 and not calls and MESON in said, "no rights, and what is needed is missing: refused", said)
code, said, calls = deps(debian, "test", MISSING="gdb jq tmux", UNFIT="jq")
t.ok(code == 0 and [x[-1] for x in calls[1:]] == ["tmux", "jq", "gdb", "tmux"] and "apt-get install failed: jq" in said,
     "one that cannot be installed does not keep the others out", (said, calls))
for what, env in (("update", {"UPDATE": "100"}), ("install", {"INSTALL": "100"})):
    code, said, _ = deps(debian, MISSING="libpfm4-dev", **env)
    t.ok(code == 0 and "apt-get %s failed" % what in said, "apt-get %s fails: says so, and goes on" % what, said)
    code, said, _ = deps(poor, MISSING="libelf-dev", **env)
    t.ok(code == 1 and "apt-get %s failed" % what in said and MESON in said, "apt-get %s fails where something is needed: refused" % what, said)
t.done()
