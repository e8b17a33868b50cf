#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Attribution against perf report on the same recording.

Real recordings (../shared/corpus): neither side has symbols, so that every address is compared:
samples and periods per (event, comm, dso, image address). perf reads foreign kernels' addresses with
this machine's symbols where the recording has no build-id; that is why not by name.

Fresh recordings of programs that fork, exec, load libraries and run threads, system-wide: samples
and periods per (comm, dso, symbol), exactly; of stripped files perf's addresses within a function's.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_names import short_kallsyms  # noqa: E402
from tap import NO_SHARED, PERF, SHARED, Tap, perf_strays  # noqa: E402

DUMP = os.environ.get("DUMP_PROFILE", "")
RECORDINGS = os.path.join(SHARED, "corpus", "recordings")
# where perf 6.1 itself is wrong or cannot read; each with its reason
NEWER = os.environ.get("CYCLADE_PERF612", "")
PERF_CANNOT = {
    "hotspot-perf.data.PerfFormatLost": "perf 6.1 refuses attributes of 136 bytes; a newer one is not in CYCLADE_PERF612",
    "linux-perf-data-sleep.compressed2.data": "perf 6.1 does not know COMPRESSED2",
}


def perf_rows(path, bare, perf=PERF):
    """{(event, comm, dso, sym): [samples, period]} by perf report."""
    argv = [perf, "report", "-i", path, "--stdio", "--no-children", "-g", "none",
            "--no-branch-stack", "--no-group", "--no-demangle", "--percent-limit", "0",
            "--sort", "comm,dso,sym", "-t", "\t", "-w", "0,0,30,0,0",
            "-F", "sample,period,comm,dso,sym"]
    if bare:
        argv += ["--symfs", "/nonexistent", "--kallsyms", "/dev/null"]
    p = subprocess.run(argv, capture_output=True, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, timeout=600)
    rows = collections.defaultdict(lambda: [0, 0])
    event = "?"
    for line in p.stdout.splitlines():
        if line.startswith("# Samples:"):
            event = line.split("'")[1]
        if not line or line.startswith("#"):
            continue
        f = [x.strip() for x in line.split("\t")]
        if len(f) != 5 or not f[0].isdigit():
            continue
        sym = f[4][4:] if f[4][:1] == "[" and f[4][2:4] == "] " else f[4]
        row = rows[(event, f[2], f[3], sym)]
        row[0] += int(f[0])
        row[1] += int(f[1])
    return dict(rows)


def our_rows(path, bare, threads="0"):
    p = subprocess.run([DUMP, path, "comm,dso,sym", "bare" if bare else "flat", threads],
                       capture_output=True, text=True, errors="replace", timeout=600)
    if p.returncode:
        return None, p.stderr
    rows = {}
    for line in p.stdout.splitlines():
        f = line.split("\t")
        row = rows.setdefault((f[0], f[3], f[4], f[5]), [0, 0])
        row[0] += int(f[1])
        row[1] += int(f[2])
    return rows, p.stderr


# Names of one address: which of them is shown is a matter of taste.
ALIASES = [(r"^__pi_", ""), (r"^__(ia32|x64)_sys_", "sys_"), (r"^__GI_", ""),
           (r"^.*@plt$", "@plt"),
           # Two versions of a function can share their code: glibc's pthread_sigmask@@GLIBC_2.32 and @GLIBC_2.2.5. perf
           # shows the longer name, or that which stands first in its tree; we show the default version (@@)
           (r"(?<=[^@])@@?(?!plt$)[A-Za-z_][\w.]*$", ""),
           # what tells functions of one name apart; perf shows the name alone
           (r"@(0x[0-9a-f]+|[^@!;]+:[0-9]+)$", "")]


def alias(sym):
    for pattern, plain in ALIASES:
        sym = re.sub(pattern, plain, sym)
    return sym


def cut(rows):
    """What both mean, though they write it differently: addresses inside modules and memfds are
    counted from the file's start by perf and absolute with us."""
    out = collections.defaultdict(lambda: [0, 0])
    for (event, comm, dso, sym), (n, period) in rows.items():
        if dso == "[vdso]" or sym.startswith("0x") and re.match(
                r"\[(?!kernel|unknown)|memfd:|perf-[0-9]+\.map", dso):
            sym = "*"
        dso = dso.replace("[kernel.vmlinux]", "[kernel.kallsyms]")  # perf's name where its table of build-ids has a vmlinux
        dso = re.sub(r"^perf-([0-9]+)\.map$", r"[JIT] tid \1", dso)
        # Files of one base name have more of their paths with us, those of one path their build-id: a container's
        dso = re.sub(r"^/?\w[\w./-]*/", "", dso)
        dso = re.sub(r"@([0-9a-f]{8}|inode[0-9.a-f]+)(?= \[|$)", "", dso)
        row = out[(re.sub(":HG$", "", event), comm.strip(), dso.strip(), alias(sym.strip()))]
        row[0] += n
        row[1] += period
    return dict(out)


def name_stubs(ours, perfs):
    """perf before 6.3 has no names for the head of a PLT and for .plt.got, only addresses, or _init, which lies before."""
    for (event, comm, dso, sym), got in ours.items():
        named = perfs.get((event, comm, dso, sym), [0, 0])
        if sym not in (".plt", "@plt") or named == got:
            continue
        for key in list(perfs):
            if key[:3] == (event, comm, dso) and re.match("0x|_init$", key[3]) and key not in ours and \
                    named[0] + perfs[key][0] <= got[0]:
                row = perfs.pop(key)
                named = [named[0] + row[0], named[1] + row[1]]
        if named != [0, 0]:
            perfs[event, comm, dso, sym] = named


def join_addresses(ours, perfs):
    """perf has a row for each address of a stripped file, we one for each function."""
    starts = collections.defaultdict(list)
    for key in ours:
        m = re.fullmatch(r"(?:/.*/)?" + re.escape(key[2]) + r"\+0x([0-9a-f]+)", key[3])
        if m:
            starts[key[:3]].append((int(m[1], 16), key))
    for key in list(perfs):
        if not key[3].startswith("0x") or key in ours:
            continue
        own = max((s for s in starts[key[:3]] if s[0] <= int(key[3], 16)), default=None)
        if own:
            row, more = perfs.get(own[1], [0, 0]), perfs.pop(key)
            perfs[own[1]] = [row[0] + more[0], row[1] + more[1]]


def difference(ours, perfs):
    lines = []
    for key in sorted(set(ours) | set(perfs)):
        if ours.get(key) != perfs.get(key):
            lines.append("%s: ours %s perf %s" % (key, ours.get(key), perfs.get(key)))
    total = [sum(v[0] for v in r.values()) for r in (ours, perfs)]
    lines.insert(0, "%d of %d rows differ; samples ours %d perf %d" %
                 (len(lines), len(set(ours) | set(perfs)), *total))
    return "\n".join(lines)


# What the load below runs, by names that nobody else has. Whatever else a machine runs meanwhile may be rebuilt under our
# eyes, lie in another root, or have chains of garbage whose addresses perf looks up among data.
TOOLS = ("sh", "seq", "sort", "gzip", "md5sum", "awk")
OWN = {"own-" + x for x in TOOLS} | {"own-prog", "own-prog2", "swapper"}


def compare(t, name, path, bare, only=None, perf=PERF):
    ours, said = our_rows(path, bare)
    if ours is None:
        t.ok(False, name, said)
        return
    everything, ours, perfs = ours, cut(ours), cut(perf_rows(path, bare, perf))
    if only:
        ours, perfs = ({k: v for k, v in rows.items() if k[1] in only} for rows in (ours, perfs))
    name_stubs(ours, perfs)
    join_addresses(ours, perfs)
    t.ok(ours == perfs, "%s: %d rows" % (name, len(perfs)), difference(ours, perfs))
    total = sum(v[0] for v in everything.values())
    again, _ = our_rows(path, bare, "1")
    if only:  # files of another root are found only while one of its processes runs
        again, everything = ({k: v for k, v in (rows or {}).items() if k[1] in only} for rows in (again, everything))
    t.ok(again == everything, name + ": one worker or many, the same", difference(everything, again))
    sums = [line.split("\t") for line in said.splitlines() if line.startswith("sum\t")]
    t.equal(sum(int(s[1]) for s in sums), total,
            name + ": rows add up to the sum")


def perf_chains(path):
    """{"dso!sym;..." outermost first: [samples, period]} by perf script, a second referee."""
    p = subprocess.run([PERF, "script", "-i", path, "--no-inline", "--no-demangle",
                        "-F", "event,period,ip,sym,dso"],
                       capture_output=True, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, timeout=600)
    out = collections.defaultdict(lambda: [0, 0])
    frames, period = [], None

    def put():
        if period is not None:
            row = out[";".join(reversed(frames))]
            row[0] += 1
            row[1] += period

    for line in p.stdout.splitlines() + ["0 end:"]:
        if not line.strip():
            continue
        m = re.match(r"\s*([0-9]+)\s+\S+:\s*(.*)$", line)
        if m:
            put()
            frames, period = [], None if line == "0 end:" else int(m.group(1))
            line = m.group(2)
        m = re.match(r"\s*[0-9a-f]+ (.*?) \((.*)\)$", line)
        if m:
            frames.append(os.path.basename(m.group(2)) + "!" + m.group(1))
    return dict(out)


def our_chains(path):
    p = subprocess.run([DUMP, path, "sym", "chains"], capture_output=True, text=True,
                       errors="replace", timeout=600)
    out = collections.defaultdict(lambda: [0, 0])
    for line in p.stdout.splitlines():
        samples, period, chain = line.split("\t", 2)
        out[chain][0] += int(samples)
        out[chain][1] += int(period)
    return dict(out)


def fold(chains):
    """The caller of execve is gone once the new program is there; perf still names the old one. Of functions of
    stripped files it knows nothing, nor of the vdso, of which it needs a copy among those that it keeps. Callers in no
    mapping are one with us, however many stand behind one another."""
    out = collections.defaultdict(lambda: [0, 0])
    for chain, (n, period) in chains.items():
        chain = ";".join(f.split("!")[0] + "!" + alias(f.split("!", 1)[1])
                         for f in chain.split(";") if "!" in f)
        chain = re.sub(r"(^|;)\[vdso\]![^;]*", r"\1[vdso]!*", chain)
        chain = re.sub(r"(?:\[unknown\]!\[(?:unknown|in no mapping)\];)+", "[unknown]![unknown];", chain)
        chain = re.sub(r"(^|;)([^;!]+)!(?:/[^;!]*/)?\2\+0x[0-9a-f]+(?=;|$)", r"\1\2![unknown]", chain)
        row = out[re.sub(r"^.*!(sys_execve;)", r"\1", chain)]
        row[0] += n
        row[1] += period
    return dict(out)


def same_but_unknown(ours, perfs):
    """perf keeps a process' mappings over exec, and so names stray addresses after the program that
    was there before; with us they are in no mapping. Old ones have no names for .plt and .plt.got, or that of
    _init, which lies before."""
    frames = []
    for x in ours.split(";"):
        plt = [re.sub(r"!(@plt|\.plt)$", "!" + name, x) for name in ("[unknown]", "_init")]
        frames.append("[^;]+(?:;[^;]+)*" if x == "[unknown]![unknown]" else "(?:%s)" % "|".join(map(re.escape, [x, *plt])))
    return re.fullmatch(";".join(frames), perfs) is not None


def settle(ours, perfs):
    """Takes the differences out that are perf's own.

    A chain with a word in it that is no known context marker (a stray frame pointer often gives
    0xffff...ff) is dropped whole by perf, and perf script then shows no frame at all; with us the
    sample's own address is left."""
    surplus = {k: [v[0] - perfs.get(k, [0, 0])[0], v[1] - perfs.get(k, [0, 0])[1]]
               for k, v in ours.items() if v != perfs.get(k)}
    for key, extra in surplus.items():
        row = None
        if ";" not in key and perfs.get("", [0, 0])[0] >= extra[0] > 0:
            row = perfs[""]
        elif extra[0] > 0:
            row = next((v for k, v in perfs.items() if k != key and v[0] >= extra[0] and
                        ours.get(k, [0, 0])[0] < v[0] and same_but_unknown(key, k)), None)
        if row:
            for i in (0, 1):
                row[i] -= extra[i]
                perfs.setdefault(key, [0, 0])[i] += extra[i]
    return {k: v for k, v in perfs.items() if v != [0, 0]}


def compare_chains(t, name, path):
    ours, perfs = fold(our_chains(path)), fold(perf_chains(path))
    perfs = settle(ours, perfs)
    t.ok(ours == perfs, "%s: %d chains" % (name, len(perfs)), difference(ours, perfs))


LOAD = r"""
set -e
cd "$1"
cat >prog.c <<'E'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double sink;
__attribute__((noinline)) double spin(long n)
{ double x = 1; for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; return x; }
static void *work(void *p) { sink = spin((long)p); return 0; }
int main(int argc, char **argv)
{
	if (argc > 1) { sink = spin(20000000); return 0; }
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)20000000L);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	void *m = dlopen("libm.so.6", RTLD_NOW);
	double (*f)(double, double) = (double (*)(double, double))dlsym(m, "pow");
	for (int i = 0; i < 2000000; i++) sink = f(1.0 + i * 1e-6, 1.5);
	sigset_t old;
	for (int i = 0; i < 300000; i++) pthread_sigmask(SIG_BLOCK, 0, &old);
	dlclose(m);
	for (int i = 0; i < 4; i++) {
		pid_t c = fork();
		if (!c) { sink = spin(10000000); execl("own-prog2", "own-prog2", "x", (char *)0); _exit(1); }
		waitpid(c, 0, 0);
	}
	return 0;
}
E
cc -O1 -g -o own-prog prog.c -ldl -lpthread
cp own-prog own-prog2
for x in %s; do ln -s "$(command -v $x)" own-$x; done
"""
BUSY = r"""
./own-prog & ./own-seq 1 60000 | ./own-sort -R | ./own-gzip | ./own-gzip -d | ./own-sort -n | ./own-md5sum >/dev/null
for i in 1 2 3 4 5 6 7 8; do ./own-sh -c 'exec ./own-awk "BEGIN{for(i=0;i<100000;i++)s+=i}"'; done
wait
"""


def record(path, where, options):
    argv = [PERF, "record", "-q", "-o", path, "-e", "cpu-clock", "-F", "4000", *options,
            "--", "./own-sh", "-c", BUSY]
    return subprocess.run(argv, cwd=where, capture_output=True, text=True, timeout=600, env=short_kallsyms(where))


def fresh(t):
    with tempfile.TemporaryDirectory() as d:
        made = subprocess.run(["sh", "-c", LOAD % " ".join(TOOLS), "sh", d], capture_output=True, text=True)
        if made.returncode:
            t.skip("fresh recordings", "cannot build the program: " + made.stderr[-60:])
            return
        for name, options in (("whole machine, chains", ["-g", "-a"]), ("one program", []),
                              ("by thread ids", ["--sample-cpu", "-T", "-g"])):
            if "-a" in options and perf_strays():
                t.skip("fresh: " + name, "perf leaves this chroot at the first file of another mount namespace")
                continue
            path = os.path.join(d, "x.data")
            p = record(path, d, options)
            if p.returncode or not os.path.exists(path):
                t.skip("fresh: " + name, "perf record fails: " + p.stderr.strip()[-80:])
                continue
            whole = "-a" in options
            compare(t, "fresh: " + name, path, False, OWN if whole else None)
            if "-g" in options and not whole:
                compare_chains(t, "fresh chains: " + name, path)


def corpus(t):
    if not os.path.isdir(RECORDINGS):
        t.skip("corpus", NO_SHARED)
        return
    for name in sorted(os.listdir(RECORDINGS)):
        if name == "hotspot-perf.data.PerfFormatLost" and NEWER:
            compare(t, name, os.path.join(RECORDINGS, name), True, perf=NEWER)
            continue
        if name in PERF_CANNOT:
            t.skip(name, PERF_CANNOT[name])
            continue
        compare(t, name, os.path.join(RECORDINGS, name), True)


def main():
    t = Tap()
    if not PERF:
        t.skip("perf", "no perf here")
    elif not DUMP:
        t.skip("dump_profile", "DUMP_PROFILE is not set")
    else:
        corpus(t)
        fresh(t)
    t.done()


if __name__ == "__main__":
    main()
