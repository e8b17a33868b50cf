#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What reads recordings, against people who mean harm: files that are no recordings, recordings that name devices
and FIFOs as programs, names that would command a terminal, a spreadsheet or a shell. Nothing may hang, crash, take
memory without bound or read a device; streams and exit codes stay what they are."""
import csv
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from tap import CYCLADE, NO_SHARED, SANITIZED, SHARED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
os.environ["XDG_CACHE_HOME"] = tmp.name + "/cache"
USER, KERNEL = 2, 1
MEMORY = 3 << 30


def limit():
    seconds = 60 if SANITIZED else 20  # of processor time: other programs take none of it
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def bounded(*words, **kw):
    """The program with little time and memory; None: it hung."""
    try:
        r = run(*words, timeout=600, preexec_fn=limit, **kw)
    except subprocess.TimeoutExpired:
        return None
    return None if r.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else r


def fine(r, codes=(0, 2)):
    return r is not None and r.returncode in codes


def shown(r):
    return "hung" if r is None else "%d: %s" % (r.returncode, r.stderr[-2000:])


def record(kind, misc, body):
    return gen.Writer("<").record(kind, gen.pad8(body), misc)


def make(name, maps=(), samples=(), comm=b"prog", symbols=(), chains=False, threads=1):
    """maps: (start, length, offset in the file, path). samples: addresses. symbols: kernel names, 4 KiB each.
    threads: how many, each with a name of its own, take the samples in turn."""
    kind = 1 << 16 | 1 | 2 | 4 | 256 | (32 if chains else 0)
    end = struct.pack("<IIQQ", 7, 7, 1000, 1)
    data = record(gen.COMM, 0, struct.pack("<II", 7, 7) + comm[:15].ljust(16, b"\0") + end)
    for tid in range(8, 7 + threads):
        data += record(gen.COMM, 0, struct.pack("<II", 7, tid) + (b"t%d" % tid).ljust(16, b"\0")
                       + struct.pack("<IIQQ", 7, tid, 1000, 1))
    for start, length, offset, path in maps:
        body = struct.pack("<IIQQQIIQQII", 7, 7, start, length, offset, 8, 1, 5, 0, 5, 2) + gen.pad8(path + b"\0")
        data += record(gen.MMAP2, USER, body + end)
    for i, s in enumerate(symbols):
        body = struct.pack("<QIHH", 0xffffffffc0000000 + i * 4096, 4096, 1, 0) + gen.pad8(s + b"\0")
        data += record(gen.KSYMBOL, 1, body + end)
    for i, ip in enumerate(samples):
        body = struct.pack("<QQIIQQ", 1, ip, 7, 7 + i % threads, 2000 + i, 1000)
        if chains:
            body += struct.pack("<QQQQ", 3, 2**64 - 512, ip, ip + 1)
        data += record(gen.SAMPLE, KERNEL if ip >> 63 else USER, body)
    return gen.one(name, data, type=1, period=1000, sample=kind, sample_id_all=1, ids=[1])


every = [["info"], ["info", "-j"], ["report"], ["report", "-j"], ["report", "--format", "csv"],
         ["report", "--format", "folded"], ["report", "--format", "markdown"], ["report", "-s", "srcline,inline,sym"]]
good = make("good.data", [(0x400000, 0x10000, 0, b"/nowhere/prog")], [0x401000 + 16 * (i % 5) for i in range(50)])

# ---- what is no recording ----
os.mkfifo("fifo")
os.mkdir("dir.data")
open("empty.data", "w").close()
open("text.data", "w").write("this is no recording, but long enough to be one\n" * 50)
open("random.data", "wb").write(bytes((i * i * 31 + i) % 251 for i in range(9000)))
os.symlink("loop.data", "loop.data")
for f in ["/dev/zero", "/dev/full", "/dev/null", "/proc/self/mem", "dir.data", "empty.data", "text.data", "random.data",
          "loop.data", "", CYCLADE, "/proc/nonexistent/x", "x" * 5000]:
    for words in (["info", f], ["report", f], ["annotate", f, "main"]):
        r = bounded(*words)
        t.ok(fine(r, (2,)) and not r.stdout and r.stderr.startswith("cyclade: "),
             "%s %.30s: exit 2, a reason" % (words[0], f or "''"), shown(r))
for command in ("info", "report"):
    with open("/dev/zero") as zero:
        r = bounded(command, "-", stdin=zero)
    t.ok(fine(r, (2,)), "%s - from a device" % command, shown(r))
    endless = subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE)
    r = bounded(command, "-", stdin=endless.stdout)
    endless.stdout.close()
    endless.kill()
    endless.wait()
    t.ok(fine(r, (2,)) and "not a recording" in r.stderr, "%s - from a pipe without end" % command, shown(r))
    with open(good) as f:
        r = bounded(command, "-", stdin=f)
    t.ok(fine(r, (0,)), "%s - from a file" % command, shown(r))
    feeder = threading.Thread(target=lambda: open("fifo", "wb").write(open(good, "rb").read()))
    feeder.start()
    r = bounded(command, "fifo")
    feeder.join()
    t.ok(fine(r, (0,)), "%s of a FIFO" % command, shown(r))
if os.geteuid() == 0 and shutil.which("setpriv"):
    os.chmod(tmp.name, 0o755)
    os.chmod(good, 0o600)
    r = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", CYCLADE, "report", tmp.name + "/" + good],
                       capture_output=True, text=True)
    if "setpriv" in r.stderr or r.returncode > 2:
        t.skip("a file one may not read", "this program cannot be run by another user")
    else:
        t.ok(r.returncode == 2 and "Permission denied" in r.stderr, "a file one may not read", r.stderr)
else:
    t.skip("a file one may not read", "not root")

# ---- recordings cut at every length, and bytes turned ----
whole = open(good, "rb").read()
bad = []
for n in list(range(0, 300, 7)) + list(range(300, len(whole), 301)):
    open("cut.data", "wb").write(whole[:n])
    for words in (["info", "cut.data"], ["report", "cut.data"]):
        r = bounded(*words)
        if not fine(r):
            bad.append("%s cut at %d: %s" % (words[0], n, shown(r)))
t.ok(not bad, "recordings cut short", "\n".join(bad))
grown = make("grown.data", [(0x400000, 0x10000, 0, b"/nowhere/prog")], [0x401000])
with open(grown, "ab") as f:
    f.write(whole[-200:] * 3)
r = bounded("report", grown)
t.ok(fine(r, (0,)), "a file with more behind its end", shown(r))

# a mapped recording (more than 32 MB) that shrinks under its reader: it is read, or that is said once
big = bytearray(whole[:256] + whole[256:] * ((48 << 20) // (len(whole) - 256)))
big[48:56] = struct.pack("<Q", len(big) - 256)
bad = []
for wait in (0, .01, .02, .04, .08):
    open("shrinks.data", "wb").write(big)
    p = subprocess.Popen([CYCLADE, "report", "shrinks.data"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(wait)
    os.truncate("shrinks.data", 5000)
    said = p.communicate(timeout=600)[1]
    if (p.returncode, said.count("became shorter")) not in ((0, 0), (2, 1)):
        bad.append("%d: %s" % (p.returncode, said))
os.unlink("shrinks.data")
t.ok(not bad, "a recording that shrinks while it is read", "\n".join(bad))

# ---- recordings whose programs are no programs ----
with open("sparse", "wb") as f:
    try:
        f.truncate(100 << 30)
    except OSError:
        f.truncate(1 << 30)
with open("sparse.elf", "wb") as f:
    f.write(open("/bin/ls", "rb").read(64))
    f.truncate(1 << 30)
here = tmp.name.encode()
paths = [b"/proc/self/mem", b"/proc/kcore", b"/dev/zero", b"/dev/full", b"/dev/stdin", b"/dev/tty", here + b"/fifo", here,
         here + b"/sparse", here + b"/sparse.elf", here + b"/empty.data", here + b"/text.data", here + b"/loop.data",
         b"/../../../../../../../../dev/zero", b"/dev/null\0/bin/ls", b"", b"/", b"//anon", b"[vdso]", b"[vsyscall]",
         b"%s%s%s%n%d", b"/" + b"a/" * 1900, b"/dev/zero (deleted)", b"anon_inode:[perf_event]", b"/memfd:x (deleted)",
         b"/SYSV00000000", b"/tmp/jit-7.dump"]
for big in (0, 1 << 62, 2**64 - 4096):
    device = make("device.data", [(0x10000000 * (i + 1), 0x1000000, big, p) for i, p in enumerate(paths)],
                  [0x10000000 * (i + 1) + 0x1234 + j for i in range(len(paths)) for j in range(3)], chains=True)
    for words in every + [["report", "-g"], ["report", "--children"], ["annotate", "*"], ["annotate", "0x10001234"]]:
        args = words[:1] + [device] + words[1:]
        r = bounded(*args)
        t.ok(fine(r), "%s with devices for programs, offset %x" % (" ".join(words), big), shown(r))

# ---- names that command ----
evil = [b"\x1b[2J\x1b]0;owned\x07", b"line\nbreak", b"tab\there", b'quote"quote', b"<script>alert(1)</script>",
        b"a;b;c 7", b"=cmd|' /C calc'!A0", b"@SUM(1+1)", b"pipe|bar`tick`", b"$(touch owned)", b"'; touch owned; '",
        b"-o", b"--help", b"\xff\xfe\xfd", b"\xe2\x80\xaegnp.exe", b"%n%s", b"\r\nover", b"\x7f\x9b31m", b"_" * 40000,
        b"_Z" + b"N" * 3000, b"_ZN1aE" + b"I" * 3000, b"operator<< <>", b" ", b"\xcc\x80" * 50]
names = make("names.data", symbols=evil, samples=[0xffffffffc0000010 + 4096 * i for i in range(len(evil))],
             comm=b"\x1b[31m;=x\n\"")
control = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
for words in every:
    for locale in ("C", "C.UTF-8"):
        e = dict(os.environ, LC_ALL=locale, COLUMNS="80")
        r = bounded(*words, "--", names, env=e)
        text = r.stdout.replace("\r\n", "\n") if r else ""
        if words[-1] == "-j":  # a reader of JSON shows what it unpacks; this is for the bytes of the text
            text = re.sub("[\u202a-\u2069]", "", text)
        t.ok(fine(r, (0,)) and not control.search(text), "%s: no control character gets out (%s)" % (" ".join(words), locale),
             shown(r) + repr(control.findall(text)[:5]))
rows = list(csv.DictReader(io.StringIO(bounded("report", names, "--format", "csv").stdout, newline="")))
t.equal(len(rows), len(evil), "csv: a row for each")
t.ok(abs(sum(float(x["share"]) for x in rows) - 1) < 1e-6 * len(rows), "csv: shares close")
j = json.loads(bounded("report", names, "-j").stdout)
t.ok(j["schema"] == "cyclade.report/2", "json is read back")
folded = bounded("report", names, "--format", "folded").stdout.splitlines()
t.equal(len(folded), len(evil), "folded: a line for each")
t.equal({x.count(";") for x in folded}, {1}, "folded: comm;function, whatever they contain")

# ---- what the next: lines say can be typed as it stands ----
steps = 0
for i, name in enumerate(evil):
    one = make("it's $HOME;.data", symbols=[name], samples=[0xffffffffc0000010])
    r = bounded("report", one, env=dict(os.environ, COLUMNS="40000"))
    for line in r.stdout.splitlines():
        m = re.match(r" (?:next:|     ) (cyclade (?:annotate|report|info) .*?)(?:  |$)", line)
        if not m or len(line) > 30000:
            continue
        words = shlex.split(m.group(1))
        step = bounded(*words[1:])
        sh = subprocess.run(["sh", "-c", m.group(1).replace("cyclade", "printf '%s\\n' x", 1)], capture_output=True, text=True)
        steps += 1
        if not t.ok(fine(step, (0,)) and sh.stdout.splitlines()[1:] == words[1:],
                    "next: of %.20r" % name, m.group(1) + "\n" + shown(step) + sh.stdout):
            break
r = bounded("report", make("long.data", symbols=[b"_" * 40000], samples=[0xffffffffc0000010]), env=dict(os.environ, COLUMNS="80"))
t.ok(max(map(len, r.stdout.splitlines())) <= 80, "a name of 40,000 letters leaves the screen as it is", r.stdout[:2000])
t.ok(steps > 10, "next: lines were tried", steps)
t.ok(not os.path.exists("owned"), "no shell was asked")

crowd = make("crowd.data", symbols=[b"hot", b"cold"], samples=[0xffffffffc0000010] * 2900 + [0xffffffffc0001010] * 100,
             threads=1000)
r = bounded("report", crowd, "-s", "comm,dso,function")
t.ok("(1,100 more)" in r.stdout and "next: cyclade report -i crowd.data -s dso,function" in r.stdout,
     "a thousand names of threads: the next step is to leave them out", r.stdout)
r = bounded("report", crowd)
t.ok(" 96.7 % " in r.stdout, "which shows the hot function", r.stdout)
t.ok("-s dso,function" not in bounded("report", good, "--limit", "1").stdout, "one name: nothing to leave out")

r = bounded("report", "-g", make("astray.data", [(0x400000, 0x10000, 0, b"/nowhere/prog")], [0x90000000] * 9, chains=True))
t.ok("callers lost    100.0 %" in r.stdout, "chains that lead nowhere are said", r.stdout)
r = bounded("report", "-g", make("mapped.data", [(0x400000, 0x10000, 0, b"/nowhere/prog")], [0x401000] * 9, chains=True))
t.ok("callers lost" not in r.stdout, "chains into code are not", r.stdout)

# ---- streams ----
for width in ("1", "19", "20", "40", "79", "80", "10000", "10001", "99999999999999999999", "-1", "x", ""):
    r = bounded("report", names, env=dict(os.environ, COLUMNS=width))
    t.ok(fine(r, (0,)), "COLUMNS=%s" % width, shown(r))
for words in (["report", "-q"], ["report", "--limit", "0"], ["report", "--limit", "18446744073709551615"],
              ["report", "--min", "0"], ["report", "--min", "100"], ["report", "--max-stack", "4294967295"],
              ["report", "--focus", "("], ["report", "--focus", "(a*)*(a*)*(a*)*b"], ["report", "--hide", "."],
              ["report", "--fields", ""], ["report", "--fields", "-share,-sym"], ["report", "--fields", "zz"],
              ["report", "-s", ""], ["report", "-s", "sym,sym"], ["report", "-e", ""], ["report", "-e", "*"],
              ["report", "--only-pid", "0-4294967295"], ["report", "--only-tid", "x"], ["report", "-x", "ab"],
              ["annotate", "-x", "ab"], ["report", "--comm", ""]):
    r = bounded(*words, good, *(["main"] if words[0] == "annotate" else []))
    t.ok(fine(r) and (r.returncode == 0) == (not r.stderr), "%s: works, or says why not" % " ".join(words), shown(r))
for words in (["report", "--min", "0"], ["report", "-j"], ["info"], ["help", "report"], ["completion", "bash"]):
    if words[0] in ("report", "info"):
        words.append(names)
    r = bounded(*words, stdout=open("/dev/full", "w"), capture_output=False, stderr=subprocess.PIPE)
    t.ok(fine(r, (2,)) and "No space left" in r.stderr, "%s: a full disk is exit 2" % words[0], shown(r))
    p = subprocess.Popen([CYCLADE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.close()  # as head does, sooner
    err = p.stderr.read()
    t.equal((p.wait(), err), (0, b""), "%s: a reader that left is no error" % words[0])
r = bounded("report", good, "-o", os.path.join(tmp.name, "missing", "x"))
t.ok(fine(r, (2,)), "-o into nowhere: exit 2", shown(r))
r = bounded("report", good, "-o", "dir.data")
t.ok(fine(r, (2,)), "-o onto a directory: exit 2", shown(r))
r = bounded("report", good, "-o", "out.txt")
t.ok(fine(r, (0,)) and not r.stdout and "share" in open("out.txt").read(), "-o FILE has the report", shown(r))

# ---- the broken recordings that others met ----
broken = os.path.join(SHARED, "corpus", "malformed")
if os.path.isdir(broken):
    names, bad = sorted(os.listdir(broken)), []
    for f in names:
        for words in every + [["report", "-g"], ["annotate", "main"]]:
            r = bounded(words[0], os.path.join(broken, f), *words[1:])
            if not fine(r):
                bad.append("%s %s: %s" % (" ".join(words), f, shown(r)))
    t.ok(names and not bad, "%d malformed recordings read" % len(names), "\n".join(bad))
else:
    t.skip("malformed recordings read", NO_SHARED)
t.done()
