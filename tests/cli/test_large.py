#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Output that is larger than what is kept of it: memory stays, and what goes wrong on the way is told and leaves nothing."""
import csv
import gzip
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from tap import CYCLADE, SANITIZED, Tap  # noqa: E402

t = Tap()
MB = 1 << 20
PART = 3 if SANITIZED else 1  # sanitizers look at each byte many times
SAMPLES, ADDRESSES = 60000 // PART, 12000 // PART


def measured(path, *words):
    """(peak of memory in bytes, bytes of output, their hash)"""
    p = subprocess.Popen([CYCLADE, *words, "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    n, digest = 0, hashlib.sha1()
    while True:
        part = p.stdout.read(MB)
        if not part:
            break
        n += len(part)
        digest.update(part)
    p.stdout.close()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    t.equal(p.returncode, 0, " ".join(words) + ": exits with 0")
    return usage.ru_maxrss * 1024, n, digest.hexdigest()


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MB // PART, 2 * MB // PART))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_form(path, where, least, *words):
    """What is written in parts is what is written, by whichever way."""
    name = " ".join(words)
    few, _, _ = measured(path, *words, "--limit", "2")
    peak, n, digest = measured(path, *words)
    t.ok(n > least * MB // PART, name + ": is large", "%d bytes" % n)
    if n < 10 * MB:
        pass  # too little to be told from what else differs
    elif SANITIZED:
        t.skip(name + ": memory does not grow with what is written", "sanitizers keep what is freed")
    else:
        t.ok(peak < few + n // 2, name + ": memory does not grow with what is written",
             "%d bytes, %d with two rows, for %d of output" % (peak, few, n))
    out = os.path.join(where, "out")
    p = subprocess.run([CYCLADE, *words, "-i", path, "-o", out], capture_output=True, text=True, timeout=600)
    got = open(out, "rb").read()
    t.equal((p.returncode, hashlib.sha1(got).hexdigest(), os.listdir(where)), (0, digest, ["out"]),
            name + ": -o writes the same, and leaves no other file")
    for how, target, more in (("a full device", "/dev/full", {}), ("a full disk", out, {"preexec_fn": small_files})):
        p = subprocess.run([CYCLADE, *words, "-i", path, "-o", target], capture_output=True, text=True, timeout=600, **more)
        t.ok(p.returncode == 2 and target in p.stderr, "%s: -o to %s is told, exit 2" % (name, how),
             (p.returncode, p.stderr))
    t.ok(open(out, "rb").read() == got and os.listdir(where) == ["out"],
         name + ": what was there before is there still, and no rest of the new", os.listdir(where))
    os.unlink(out)
    p = subprocess.run([CYCLADE, *words, "-i", path], stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE, text=True,
                       timeout=600)
    t.ok(p.returncode == 2 and "standard output" in p.stderr, name + ": a full standard output is told, exit 2", p.stderr)
    p = subprocess.Popen([CYCLADE, *words, "-i", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.read(10)
    p.stdout.close()
    said = p.stderr.read()
    t.equal((p.wait(timeout=600), said), (0, b""), name + ": a reader that went away is no error")
    return got


def main():
    with tempfile.TemporaryDirectory() as top:
        path, where = os.path.join(top, "big.data"), os.path.join(top, "out")
        os.mkdir(where)
        subprocess.run([sys.executable, os.path.join(HERE, "..", "..", "bench", "account_big.py"), path, str(SAMPLES), "24", "4",
                        str(ADDRESSES)], check=True)
        d = json.loads(test_form(path, where, 10, "report", "--account", "-s", "addr", "-j"))
        rows = d["rows"]
        t.equal(len({r["address"] for r in rows}), ADDRESSES, "account, json: each address is a row")
        text = test_form(path, where, 3, "report", "--account", "-s", "addr", "-x,").decode()
        body = list(csv.DictReader(text.splitlines()))
        t.equal([r["address"] for r in body], [r["address"] for r in rows], "account, csv: the same rows in the same order")
        d = json.loads(test_form(path, where, 9, "report", "-s", "addr,tid,cpu", "-j"))
        n = sum(x["samples"] for x in d["rows"])
        t.equal(n, SAMPLES, "report, json: each sample is in a row")
        text = test_form(path, where, 3, "report", "-s", "addr,tid,cpu", "-x,").decode()
        t.equal(sum(int(r["samples"]) for r in csv.DictReader(text.splitlines())), SAMPLES,
                "report, csv: each sample is in a row")
        p = subprocess.run([CYCLADE, "export", "--pprof", "-i", path], capture_output=True, timeout=600)
        t.ok(p.returncode == 0 and len(gzip.decompress(p.stdout)) > MB // 2 // PART, "pprof: packed in parts, and whole", p.stderr)


main()
t.done()
