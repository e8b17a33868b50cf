#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""doctor's advice to users without rights, followed: afterwards `record -a` works, or the advice is not given.
The sysctl is the machine's, on which others depend: it stays as it is."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from less_rights import as_nobody, forbid_perf  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap  # noqa: E402

t = Tap()
GROUP = 54321


def member():
    os.setgroups([GROUP])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def start(*argv, who=as_nobody):
    try:
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, preexec_fn=who, cwd="/",
                              env={"HOME": "/nonexistent", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
    except (OSError, subprocess.SubprocessError) as e:
        return subprocess.CompletedProcess(argv, 126, "", str(e))


def advice(r, check):
    try:
        return next(c["fix"] for c in json.loads(r.stdout)["checks"] if c["name"] == check)
    except ValueError:
        return [r.stderr]


def all_cpus(d, program, who=as_nobody, before=()):
    """Whether every process can be recorded"""
    out = tempfile.mktemp(dir=os.path.join(d, "open"))
    return start(*before, program, "record", "-o", out, "-a", "--", "true", who=who)


def setcap(path):
    if shutil.which("setcap"):
        return subprocess.run(["setcap", "cap_perfmon+ep", path], capture_output=True).returncode == 0
    try:  # the same, as the kernel keeps it: version 2, effective; capability 38
        os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 0, 0, 1 << 6, 0))
        return True
    except OSError:
        return False


def rights(d):
    program = os.path.join(d, "cyclade")
    shutil.copy(CYCLADE, program)
    os.chmod(program, 0o755)
    os.mkdir(os.path.join(d, "open"))
    os.chmod(os.path.join(d, "open"), 0o1777)
    if start(program, "--version").returncode:
        t.skip("a copy for everybody", "nobody cannot start a program in " + d)
        return
    r = all_cpus(d, program)
    if not r.returncode or "denied" not in r.stderr + r.stdout and "permitted" not in r.stderr:
        t.skip("users without rights", "everybody may record all CPUs here, or nobody: " + r.stderr[-200:])
        return
    want = "setcap cap_perfmon+ep " + program
    fixes = advice(start(program, "doctor", "-j"), "paranoid")
    t.ok("or: " + want in fixes, "setcap is advised to an ordinary user, with the file's path", fixes)
    # where a file's capabilities do not count, they are not advised
    nnp = ["setpriv", "--no-new-privs"]
    userns = ["unshare", "--user", "--map-root-user"]
    cases = []
    for what, before, words in ("no_new_privs", nnp, "without no_new_privs"), ("a user namespace", userns, "outside of this user namespace"):
        if start(*before, "true").returncode:
            t.skip(what, "not possible here")
            continue
        cases.append((what, before))
        fixes = advice(start(*before, program, "doctor", "-j"), "paranoid")
        t.ok("or: " + want not in fixes and words in " ".join(fixes), "%s: setcap alone is not advised" % what, fixes)
    if not setcap(program):
        t.skip("setcap on a copy", "no right to give a file capabilities here")
        return
    r = all_cpus(d, program)
    if "cannot execute" in r.stderr or r.returncode == 126:
        t.skip("setcap on a copy", "this container has no CAP_PERFMON to give: " + r.stderr[-100:])
        return
    t.equal(r.returncode, 0, "setcap on a copy: nobody records all CPUs")
    t.equal(advice(start(program, "doctor", "-j"), "paranoid"), [], "and has no advice left to follow")
    for what, before in cases:
        t.ok(all_cpus(d, program, before=before).returncode, "%s: the same file gives no right" % what)
    os.chown(program, 0, GROUP)
    os.chmod(program, 0o750)
    setcap(program)  # a change of owner takes them
    t.equal(all_cpus(d, program, who=member).returncode, 0, "a group's file: members record all CPUs")
    t.ok(all_cpus(d, program).returncode, "and others cannot start it")


def on_nosuid(d):
    mount = "mount -t tmpfs -o nosuid,mode=755 none \"$1\" && cp \"$2\" \"$1/cyclade\" && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$1/cyclade\" doctor -j"
    r = start("unshare", "--mount", "sh", "-c", mount, "sh", d, CYCLADE, who=None)
    if not r.stdout.startswith("{"):
        t.skip("a nosuid file system", "no mounts of our own, or no setpriv: " + r.stderr[-100:])
        return
    fixes = advice(r, "paranoid")
    t.ok(not fixes or "on a copy outside of this nosuid" in " ".join(fixes), "nosuid: a copy elsewhere is advised", fixes)


def fixed_sysctl():
    script = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$1\" doctor -j"
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        program = shutil.copy(CYCLADE, os.path.join(d, "cyclade"))
        r = start("unshare", "--mount", "sh", "-c", script, "sh", program, who=None)
    if not r.stdout.startswith("{"):
        t.skip("a container's /proc/sys", "no mounts of our own, or no setpriv: " + r.stderr[-100:])
        return
    fixes = advice(r, "paranoid")
    t.ok(not fixes or fixes[0] == "on the host: sysctl kernel.perf_event_paranoid=0", "a /proc/sys that cannot be written: the host's sysctl", fixes)


def filtered():
    """Docker's filter refuses; the advice is to be without, and without it the same user samples. In a user namespace
    no capability is advised."""
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        program = shutil.copy(CYCLADE, os.path.join(d, "cyclade"))

        def both():
            forbid_perf()
            as_nobody()

        r = start(program, "doctor", "-j", who=both)
        fixes = " ".join(advice(r, "sampling"))
        if r.returncode == 126:
            t.skip("a seccomp filter", "no seccomp here")
            return
        t.ok("docker run --cap-add PERFMON --security-opt seccomp=unconfined" in fixes, "a filter: what docker run takes", fixes)
        t.ok("seccompProfile.type Unconfined" in fixes, "and Kubernetes", fixes)
        r = start("unshare", "--user", "--map-root-user", program, "doctor", "-j", who=both)
        fixes = " ".join(advice(r, "sampling"))
        if "seccomp" not in fixes:
            t.skip("a filter in a user namespace", "no user namespaces here")
        else:
            t.ok("PERFMON" not in fixes and "seccomp=unconfined" in fixes, "rootless: no capability, which would not count", fixes)


if os.geteuid() != 0:
    t.skip("advice followed", "needs root to become others")
elif SANITIZED:
    t.skip("advice followed", "a sanitizer's runtime is not for programs that gain rights")
else:
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        rights(d)
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        on_nosuid(d)
    fixed_sysctl()
    filtered()
t.done()
