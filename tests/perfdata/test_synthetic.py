#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings made by gen.py, read back through pd_dump, thing by thing. Speaks TAP.

Every line that the generator expects must be there, in the generator's order for records; a foreign
recording must read the same as its twin."""
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen  # noqa: E402

DUMP = os.environ["PD_DUMP"]
count = bad = 0


def ok(good, name, why=""):
    global count, bad
    count += 1
    if not good:
        bad += 1
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    for line in why.split("\n")[:12] if not good else []:
        print("# " + line[:600])
    sys.stdout.flush()


def dump(*args, **kw):
    p = subprocess.run([DUMP, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, **kw)
    return p.returncode, p.stdout.decode("utf-8", "replace").split("\n"), p.stderr.decode("utf-8", "replace")


def fault(want, got):
    """The first expected line that is missing, or out of order; "" if none."""
    at = 0
    for line in want:
        if not line.startswith("record "):
            if line not in got:
                near = [g for g in got if g.split("=")[0].split(" ")[:2] == line.split("=")[0].split(" ")[:2]]
                return "wanted %s\nhad    %s" % (line, (near or ["nothing like it"])[0])
            continue
        try:  # an expected line may leave out the words at the end
            at = next(i for i in range(at, len(got)) if (got[i] + " ").startswith(line + " ")) + 1
        except StopIteration:
            near = [g for g in got[at:] if g.startswith(" ".join(line.split(" ")[:2]))]
            return "wanted %s\nhad    %s" % (line, (near or ["nothing like it"])[0])
    return ""


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (30, 31))  # processor time: other programs take none of it


def attr_of_deferred(w):
    """Samples of 48 bytes that all wait for one record of 64,000."""
    a = dict(type=1, sample=gen.BIT["IP"] | gen.BIT["CALLCHAIN"], defer_callchain=1)
    return w.record(gen.HEADER_ATTR, w.attr(a, 144)) + w.record(gen.CALLCHAIN_DEFERRED, w.u64(7, 8000, *[gen.USER] * 8000)) + \
        w.record(gen.SAMPLE, w.u64(1, 2, gen.USER_DEFERRED, 7)) * 20000


def check_bounds(d):
    """Files made to waste time or memory must be done with soon, and say where they were left."""
    w = gen.Writer("<")
    head = b"PERFILE2" + w.u64(16)
    attr = [w.record(gen.HEADER_ATTR, w.attr(dict(type=9, sample=1 << 16, config=i), 64) + w.u64(i)) for i in range(17000)]
    deferring = attr_of_deferred(w)
    zeros = gen.Zstd().flush(w.record(gen.MMAP2, bytes(60000)) * 900)
    for name, body, note in (
            ("events", b"".join(attr) * 4, "more than 16384 events"),
            ("names", b"".join(attr[:10000]) + w.record(gen.EVENT_TYPE, w.u64(3) + b"x" * 64) * 100000, None),
            ("features", attr[0] + w.record(gen.FEATURE, w.u64(28) + w.pack("I", 0)) * 200000, "comes a second time"),
            ("deferred", deferring, "lack the user part"),
            ("packed", attr[0] + w.record(gen.COMPRESSED, zeros), "more than 1024 times")):
        path = os.path.join(d, "bound-" + name)
        gen.write(path, head + body)
        p = subprocess.run([DUMP, path], stdout=subprocess.PIPE, timeout=600, preexec_fn=limit)
        notes = [x for x in p.stdout.decode("utf-8", "replace").split("\n") if x.startswith("note ")]
        ok(p.returncode == 0 and (not note or any(note in x for x in notes)),
           "bound on " + name, "exit %d, %s" % (p.returncode, notes[:3]))


def check_later_features(d):
    """Those of perf 7, of which nothing is used here, are no news; any other is."""
    w = gen.Writer("<")
    attr = w.record(gen.HEADER_ATTR, w.attr(dict(type=9, sample=1 << 16), 64) + w.u64(1))
    for bit, payload in ((32, w.pack("I", 0)), (33, w.pack("II", 62, 0)), (34, w.pack("I", 64)), (77, w.u64(1))):
        path = os.path.join(d, "feature-%d" % bit)
        gen.write(path, b"PERFILE2" + w.u64(16) + attr + w.record(gen.FEATURE, w.u64(bit) + payload))
        rc, got, err = dump(path)
        notes = [x for x in got if x.startswith("note ") and "feature" in x]
        ok(rc == 0 and bool(notes) == (bit == 77), "header feature %d: %s" % (bit, "a note" if bit == 77 else "no note"), err or str(notes))


def main():
    with tempfile.TemporaryDirectory() as d:
        twins = {}
        for name, made, want in gen.every():
            path = os.path.join(d, name)
            gen.write(path, made)
            rc, got, err = dump(path)
            why = err or fault(want, got)
            ok(rc == 0 and not why, "reads " + name, why or got[0])
            records = [g for g in got if g.startswith(("record", "event", "losses", "type", "info", "side"))]
            if name.endswith("-le"):
                twins[name[:-3]] = records
            else:
                # opaque payloads are not turned, and pack to other sizes: compare what is numbers
                opaque = ("HEADER_ATTR", "FEATURE", "COMPRESSED")
                a = [r for r in twins[name[:-3]] if not any(x in r for x in opaque)]
                b = [r for r in records if not any(x in r for x in opaque)]
                diff = next((x + "\n" + y for x, y in zip(a, b) if x != y), "")
                ok(len(a) == len(b) and not diff, name + " reads as its twin", diff)
            if not isinstance(made, dict):
                with open(path, "rb") as f:
                    rc, piped, err = dump("-", stdin=f)
                ok(rc == 0 and [g for g in piped if g != ""] == [g for g in got if g != ""],
                   name + " reads the same through standard input", err)
        for name in ("side-0-le", "side-0-be", "compressed-0-be"):  # large files are mapped instead of read
            path = os.path.join(d, name)
            _, want, _ = dump(path)
            os.truncate(path, 40 << 20)
            rc, got, err = dump(path)
            ok(rc == 0 and got == want, name + " reads the same when mapped", err)
        for name in ("side-0-be", "pipe-0-le"):
            path = os.path.join(d, name)
            _, want, _ = dump(path)
            fifo = os.path.join(d, "fifo")
            os.mkfifo(fifo)
            p = subprocess.run(["sh", "-c", 'cat "$1" >"$2" & exec "$3" "$2"', "sh", path, fifo, DUMP],
                               stdout=subprocess.PIPE, timeout=600)
            os.unlink(fifo)
            got = p.stdout.decode("utf-8", "replace").split("\n")
            ok(p.returncode == 0 and got == want, name + " reads the same through a FIFO")
        for name, made, _ in gen.every():
            gen.write(os.path.join(d, name), made)
        for name in ("side-0-le", "pipe-0-le", "pipe-0-be", "all_fields-0-le", "compressed-0-le", "features-0-be"):
            rc, got, err = dump("--cut", os.path.join(d, name))
            size = os.path.getsize(os.path.join(d, name))
            opened = int(got[0].split()[1]) if got[0].startswith("opened") else -1
            # every cut behind the first record must still give something
            ok(rc == 0 and 0 < opened <= size + 1, "%s cut at every byte (%d of %d open)" % (name, opened, size + 1),
               err or got[0])
        check_bounds(d)
        check_later_features(d)
    print("1..%d" % count)
    return bad > 0


sys.exit(main())
