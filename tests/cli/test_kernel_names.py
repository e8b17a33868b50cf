#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""When the running kernel's names are given to a recording: made recordings with samples in a function of this
kernel, of which release, machine, architecture, boot or build-id are another's. And one of perf's own."""
import csv
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import account_made  # noqa: E402
import gen  # noqa: E402
from account_made import Made  # noqa: E402
from tap import CYCLADE, KERNEL, NO_SHARED, PERF, SHARED, Tap  # noqa: E402

HOSTNAME, OSRELEASE, ARCH, BUILD_ID = 3, 4, 6, 2
tap = Tap()
w = gen.Writer("<")


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "LC_ALL": "C.UTF-8",
                               "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"})


def kallsyms():
    """(_text, address of a function, its name), or None where addresses are hidden."""
    at, found = 0, None
    with open("/proc/kallsyms", encoding="ascii", errors="replace") as f:
        for line in f:
            addr, kind, name = line.split()[:3]
            if name == "_text":
                at = int(addr, 16)
            elif name == "schedule" and kind == "T":
                found = int(addr, 16)
    return (at, found) if at and found else None


def note_id():
    with open("/sys/kernel/notes", "rb") as f:
        data = f.read()
    i = data.find(b"\x14\0\0\0\x03\0\0\0GNU\0")
    return data[i + 12:i + 32] if i >= 0 else b""


def make(path, text, at, moved=0, ident=b"", image="[kernel.kallsyms]", **header):
    a = dict(type=1, config=0, period=1000, sample=gen.BASE, sample_id_all=1)
    f = gen.File(w, [("cpu-clock", a, [100])], attr_size=112)
    for bit, value in (("host", HOSTNAME), ("release", OSRELEASE), ("arch", ARCH)):
        if header.get(bit):
            f.features[value] = w.text(header[bit])
    if ident:
        path_ = gen.text8(image)
        body = w.pack("i", -1) + ident + bytes(24 - len(ident)) + path_
        f.features[BUILD_ID] = w.pack("IHH", 0, 1, 8 + len(body)) + body
    tail = w.pack("IIQIIQ", 0, 0, 1, 0, 0, 100)
    data = [w.record(gen.MMAP, w.pack("IIQQQ", 2**32 - 1, 0, text + moved, 0x2000000, text + moved) +
                     gen.text8(image + "_text" * (image == "[kernel.kallsyms]")) + tail, 1)]
    for i in range(10):
        s = gen.Sample(i + 1, 100)
        s.v.update(TID=(1, 1), TIME=100 + i, IP=at + moved + 1, CPU=0, PERIOD=1000)
        data.append(s.record(w, a, 1))
    f.data = b"".join(data)
    with open(path, "wb") as out:
        out.write(f.build())


def names(path):
    r = run(CYCLADE, "report", "--no-cache", "-s", "sym", "--format", "csv", path)
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    return [row["function"] for row in rows]


def made(where):
    found = kallsyms()
    if not found:
        tap.skip("names of this kernel", "/proc/kallsyms hides its addresses")
        return
    text, at = found
    u = os.uname()
    here = dict(host=u.nodename, release=u.release, arch=u.machine)
    other = "aarch64" if u.machine == "x86_64" else "x86_64"
    cases = [("recorded here", {}, True, ""),
             ("host not recorded", dict(host=None), True, ""),
             ("another release", dict(release="3.8.0"), False, "is of kernel 3.8.0"),
             ("release not recorded", dict(release=None), False, "does not say which kernel"),
             ("nothing recorded", dict(release=None, host=None, arch=None), False, "does not say which kernel"),
             ("another machine", dict(host=u.nodename + "-not"), False, "is of machine " + u.nodename + "-not"),
             ("another architecture", dict(arch=other), False, "is of " + other),
             ("another boot", dict(moved=0x1200000), False, "another boot")]
    ident = note_id()
    if ident:
        cases += [("another machine, but the same build-id", dict(host="other", release="3.8.0", moved=0x1200000, ident=ident),
                   True, ""),
                  ("recorded here, another build-id", dict(ident=bytes(range(20))), False, "has build-id")]
    for what, change, want, why in cases:
        path = os.path.join(where, "k.data")
        make(path, text, at, **{**here, **change})
        got = names(path)
        tap.ok(got == (["schedule"] if want else ["0x%016x" % (at + change.get("moved", 0) + 1)]), what, got)
        if why:
            out = run(CYCLADE, "report", "--no-cache", path).stdout
            tap.ok(why in " ".join(out.split()), f"{what}: says why", out)


def programs(where):
    """Without a build-id a file of the recorded path is taken for the recorded one, but not where both the machine's name
    and its kernel differ, nor on another architecture."""
    u = os.uname()
    if u.machine != "x86_64":
        tap.skip("programs of other machines", "the made one is of x86_64")
        return
    rows = [("recorded here", u.nodename, u.release, "x86_64", True), ("another kernel since", u.nodename, "3.8.0", "x86_64", True),
            ("a container's name", "other", u.release, "x86_64", True), ("another machine", "other", "3.8.0", "x86_64", False),
            ("another architecture", u.nodename, u.release, "aarch64", False),
            ("32 bits on the same machine", u.nodename, u.release, "i686", True),
            ("host not recorded", None, "3.8.0", "x86_64", True), ("kernel not recorded", "other", None, "x86_64", True)]
    for what, host, release, arch, want in rows:
        m = Made(where, tree=[("cycles", 0x3c, 1000)])
        m.put("hot", "cycles", 3)
        m.f.features[ARCH] = w.text(arch)
        m.f.features.update({k: w.text(v) for k, v in ((HOSTNAME, host), (OSRELEASE, release)) if v})
        path = os.path.join(where, "program.data")
        m.write(path)
        got = names(path)
        tap.equal(got, ["hot"] if want else ["0x%016x" % 0x1000], "a program, %s" % what)


def told(path, by_perf):
    """What may explain missing names: the reasons that stand round the table, the header, perf's first names."""
    out = run(CYCLADE, "report", "--no-cache", path).stdout.splitlines()
    if os.environ.get("CYCLADE_KEEP"):
        shutil.copy(path, os.environ["CYCLADE_KEEP"])
    return "\n".join([x for x in out if "ffff" not in x] + run(CYCLADE, "info", path).stdout.splitlines() +
                     ["perf script: %d lines" % len(by_perf)] + by_perf[:5])


def record_one(where, words):
    """How perf ended, what it recorded, the names that its samples have, and perf's own names of them, a line each."""
    path = os.path.join(where, "p.data")
    with open(path if words[-1] == "-" else os.path.join(where, "out"), "wb") as f:
        r = subprocess.run([PERF, "record", "-q", "-N", "-e", "cpu-clock", "-F", "5000", *words, "--",
                            "dd", "if=/dev/zero", "of=/dev/null", "bs=64", "count=200000"], stdout=f,
                           stderr=subprocess.PIPE, check=False)
    return r.returncode, path, names(path), run(PERF, "script", "-i", path, "-F", "ip,sym").stdout.split("\n")


def recorded(where):
    """perf's own, without build-ids: here nothing is another's. Names that are missing are told, and looked for once more in
    another recording."""
    if not PERF or not KERNEL or not kallsyms():
        tap.skip("perf's own recording", "no perf, or the kernel may not be sampled")
        return
    for what, words in (("a file", ["-o", os.path.join(where, "p.data")]), ("a pipe", ["-o", "-"])):
        for turn in range(2):
            ended, path, all_, by_perf = record_one(where, words)
            kernel = [n for n in all_ if n.startswith("0xffff")]
            nameless = [x for x in by_perf if x.strip().startswith("ffff") and "[unknown]" in x]
            good = not ended and len(all_) > 3 and len(kernel) * 4 < len(all_)
            if good:
                break
            print("# " + told(path, by_perf).replace("\n", "\n# "))
        if len(nameless) * 4 > len(by_perf):
            tap.skip(f"perf's own recording, {what}", "perf has no names of the kernel for it, either")
            continue
        tap.ok(good, f"perf's own recording, {what}", all_)


def named(where):
    """--kallsyms and --vmlinux name a kernel that is not here: its functions and those of its modules, for every command."""
    text, path = 0xffffffff91000000, os.path.join(where, "other.data")
    lst, image = os.path.join(where, "other.kallsyms"), os.path.join(where, "other.vmlinux")
    with open(lst, "w") as out:  # the recorded kernel lay 0x1000 higher than the one of the list
        out.write("%x T _text\n%x t other_before\n%x T other_idle\n%x T other_end\n" % tuple(text - 0x1000 + n for n in (0, 0x80, 0x100, 0x200)))
    make(path, text, text + 0x100, release="3.8.0", host="elsewhere", arch=os.uname().machine)
    tap.equal(names(path), ["0x%016x" % (text + 0x101)], "another machine's kernel: no names")
    for words, get in ((("report", "-s", "sym", "--format", "csv"), lambda s: [r["function"] for r in csv.DictReader(io.StringIO(s))]),
                       (("sql", "--format", "csv"), lambda s: s.split()[1:]), (("export", "--folded"), lambda s: [s.split(";")[-1].split()[0]] if s else []),
                       (("report", "-s", "sym", "--format", "csv", "--sysroot", where), lambda s: [r["function"] for r in csv.DictReader(io.StringIO(s))])):
        more = ["select distinct function from samples"] if words[0] == "sql" else []
        p = run(CYCLADE, words[0], "--no-cache", *words[1:], "--kallsyms", lst, path, *more)
        tap.equal(get(p.stdout), ["other_idle"], "%s --kallsyms" % " ".join(words[:1] + words[-1:]).replace(where, "DIR") + p.stderr[:200])
    p = run(CYCLADE, "diff", "--no-cache", "--format", "csv", "--kallsyms", lst, path, path)
    tap.ok("other_idle" in p.stdout, "diff --kallsyms", p.stdout + p.stderr)
    if shutil.which("as") and shutil.which("ld"):
        source = os.path.join(where, "v.s")
        with open(source, "w") as out:
            out.write(".text\n.globl _text\n_text: .skip 0x100, 0\n.globl in_vmlinux\n.type in_vmlinux, %function\nin_vmlinux: .skip 64, 0\n"
                      ".size in_vmlinux, 64\n")
        subprocess.run(["as", source, "-o", source + ".o"], check=True)
        subprocess.run(["ld", "-Ttext", "0x81000000", "-e", "_text", source + ".o", "-o", image], check=True)
        for more in ((), ("--kallsyms", lst)):
            p = run(CYCLADE, "report", "--no-cache", "-s", "sym", "--format", "csv", "--vmlinux", image, *more, path)
            tap.equal([r["function"] for r in csv.DictReader(io.StringIO(p.stdout))], ["in_vmlinux"], "--vmlinux" + " before --kallsyms" * bool(more))
    for word in ("--kallsyms", "--vmlinux"):
        for file, why in (("/absent/file", "No such file"), (where, "a directory")):
            p = run(CYCLADE, "report", word, file, path)
            tap.ok(p.returncode == 2 and why in p.stderr, "%s %s" % (word, why), p.stderr)
        p = run(CYCLADE, "report", "--no-cache", word, path, path)
        tap.ok(p.returncode == 0 and path + ": no" in p.stderr, "%s: a file that is no such thing is told" % word, p.stderr)


def module_named(where):
    """A module of --kallsyms: what is loaded here under its name, with which build-id, means nothing."""
    what, at = "--kallsyms: a module that is another one here", 0xffffffffc0400000
    hide = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
            "mount -t tmpfs none /sys/module && mkdir -p /sys/module/other/notes && cp note /sys/module/other/notes/.note.gnu.build-id && exec \"$@\"", "sh"]
    with open(os.path.join(where, "note"), "wb") as f:
        f.write(struct.pack("<III4s", 4, 20, 3, b"GNU") + b"b" * 20)
    if not shutil.which("unshare") or subprocess.run([*hide, "true"], cwd=where, capture_output=True).returncode:
        tap.skip(what, "/sys/module cannot be hidden here")
        return
    lst, path = os.path.join(where, "m.kallsyms"), os.path.join(where, "m.data")
    with open(lst, "w") as out:
        out.write("ffffffff81000000 T _text\n%x t of_module\t[other]\n" % at)
    for ident in (b"a" * 20, b"b" * 20):
        make(path, at, at, ident=ident, image="[other]", release="3.8.0", host="elsewhere", arch=os.uname().machine)
        p = subprocess.run([*hide, CYCLADE, "report", "--no-cache", "-s", "sym", "--format", "csv", "--kallsyms", lst, path], cwd=where,
                           capture_output=True, text=True)
        tap.ok("of_module" in p.stdout, "%s, the build-id %s" % (what, "another" if ident[:1] == b"a" else "the same"), p.stdout + p.stderr)


def corrupt(where):
    """Chains that a kernel could not unwind have zeros: callers in no mapping, and never a frame 0x0. A program may run at 0."""
    kernel, user, text, end = 2**64 - 128, 2**64 - 512, 0xffffffff81000000, "loop"
    at, main = text + 0x100, 0x401000
    known = ["0x%016x" % at, "0x%016x" % (main - 0x400000)]
    lost = "[in no mapping]"
    cases = [([kernel, at, 0, user, main], [known[1], lost, known[0]]), ([kernel, at, 0, 0], [lost, known[0]]),
             ([kernel, 0, user, main], [known[1], lost]), ([kernel, 0], [lost]), ([user, 0, main], [known[1], "0x%016x" % 0])]
    a = dict(type=1, config=0, period=1000, sample=gen.BASE | gen.BIT["CALLCHAIN"], sample_id_all=1)
    for chain, want in cases:
        f = gen.File(w, [("cpu-clock", a, [100])], attr_size=112)
        f.data = w.record(gen.MMAP, w.pack("IIQQQ", 2**32 - 1, 0, text, 0x2000000, text) + gen.text8("[kernel.kallsyms]_text") +
                          w.pack("IIQIIQ", 0, 0, 1, 0, 0, 100), 1)
        tail = w.pack("IIQIIQ", 7, 7, 1, 0, 0, 100)
        f.data += w.record(gen.COMM, w.pack("II", 7, 7) + gen.text8(end) + tail, 2)
        f.data += w.record(gen.MMAP, w.pack("IIQQQ", 7, 7, 0x400000, 0x10000, 0) + gen.text8("/absent/loop") + tail, 2)
        s = gen.Sample(1, 100)
        s.v.update(TID=(7, 7), TIME=100, IP=at if chain[0] == kernel else 0, CPU=0, PERIOD=1000, CALLCHAIN=chain)
        f.data += s.record(w, a, 1 if chain[0] == kernel else 2)
        path = os.path.join(where, "corrupt.data")
        with open(path, "wb") as out:
            out.write(f.build())
        got = run(CYCLADE, "report", "--no-cache", "-g", "--format", "folded", path).stdout
        tap.ok(got == "%s;%s 1000\n" % (end, ";".join(want)), "zeros in a chain: " + ";".join(want), got)


def corpus():
    """Recordings of other kernels that do not say so: no symbol that only newer ones have."""
    path = os.path.join(SHARED, "corpus", "recordings", "perf_data_converter-perf.data.piped.target-3.8")
    if not os.path.exists(path):
        tap.skip("a recording of Linux 3.8", NO_SHARED)
        return
    r = run(CYCLADE, "report", "--no-cache", "--format", "csv", path)
    got = [row["function"] for row in csv.DictReader(io.StringIO(r.stdout)) if row["dso"] == "[kernel.kallsyms]"]
    tap.ok(got and all(re.fullmatch("0x[0-9a-f]{16}", g) for g in got), "a recording of Linux 3.8: no names of this kernel", got[:9])


def main():
    if not shutil.which("uname"):
        print("1..0 # SKIP no uname")
        return
    with tempfile.TemporaryDirectory() as where:
        made(where)
        programs(where)
        recorded(where)
        named(where)
        module_named(where)
        corrupt(where)
    corpus()
    tap.done()


main()
