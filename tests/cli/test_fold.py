#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long names of functions in tables: C++ of cppcheck and ld.gold, Rust of rustc, node, as far as they are installed, and the
names of the fuzzer's corpus. In no table do two functions look alike: on terminals of 80, 120 and 200 columns, in Markdown and
in pages. csv and json, a pipe and --wide have the whole names."""
import glob
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "perfdata"))
import gen  # noqa: E402
from page import Page  # noqa: E402
from tap import Tap, run  # noqa: E402

BASE = 0xffffffffc0000000
SET = 50
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


def record(kind, misc, body):
    return gen.Writer("<").record(kind, gen.pad8(body), misc)


def make(path, names):
    """A sample in each function, all others called by the first; the hottest first."""
    trailer = struct.pack("<IIQQ", 7, 7, 1000, 1)
    data = b"".join(record(gen.KSYMBOL, 1, struct.pack("<QIHH", BASE + i * 4096, 4096, 1, 0) + gen.pad8(n.encode() + b"\0") + trailer) for i, n in enumerate(names))
    data += record(gen.COMM, 0, struct.pack("<II", 7, 7) + b"made".ljust(16, b"\0") + trailer)
    for i in range(len(names)):
        ips = [BASE + i * 4096 + 16, BASE + 16][:1 + (i > 0)]
        data += record(gen.SAMPLE, 1, struct.pack("<QQIIQQ", 1, ips[0], 7, 7, 2000 + i * 1000000, 2000 - i) + struct.pack("<QQ%dQ" % len(ips), len(ips) + 1, 2**64 - 128, *ips))
    f = gen.File(gen.Writer("<"), [("event", dict(type=1, config=0, period=1000, sample=1 << 16 | 1 | 2 | 4 | 256 | 32, sample_id_all=1), [1])], attr_size=128)
    f.data = data
    with open(path, "wb") as out:
        out.write(f.build(event_desc=False))


def symbols(program):
    """Demangled, without versions: what follows the address and the kind."""
    out = subprocess.run(["nm", "-DC", program], capture_output=True, text=True, errors="replace", check=False).stdout
    return {m[1] for m in re.finditer(r"(?m)^[0-9a-f ]{16} [TtWwVi] (\S.*?)(?:@@?[A-Z].*)?$", out)}


def programs():
    found = {"corpus " + os.path.basename(p): {x for x in open(p, "rb").read()[1:].decode("utf-8", "replace").split("\n")}
             for p in glob.glob(os.path.join(HERE, "..", "fuzz", "corpus", "fold", "[a-z]*")) if "brackets" not in p}
    if shutil.which("nm"):
        rustc = shutil.which("rustc")
        root = subprocess.run([rustc, "--print", "sysroot"], capture_output=True, text=True, check=False).stdout.strip() if rustc else ""
        for p in [shutil.which(x) for x in ("cppcheck", "ld.gold", "node")] + glob.glob(root + "/lib/librustc_driver*.so" if root else "none/"):
            if p:
                found[os.path.basename(p)] = symbols(p)
    return found


def columns(out):
    """What a line shows beside figures: the name, as it stands in the last column."""
    return [re.sub(r"^ *([-+\d.]+ ?%? *)*", "", re.sub(r"[│├└]", " ", x)).strip() for x in out.splitlines() if re.match(r" *[\d.]+ % ", x)]


def distinct(shown, n, what):
    twice = sorted({x for x in shown if shown.count(x) > 1})
    t.ok(len(shown) >= n and not twice, "%s: %d names, no two alike" % (what, n), (len(shown), twice[:3]))


def look(what, names):
    make("x.data", names)
    for width in (80, 120, 200):
        env = dict(os.environ, COLUMNS=str(width), LC_ALL="C.UTF-8")
        for words in (["-s", "function"], ["-g"]):
            out = run("report", "--no-cache", "--min", "0", *words, "x.data", env=env).stdout
            distinct(columns(out), len(names), "%s, %d columns, %s" % (what, width, " ".join(words)))
            t.ok(all(len(x) <= width for x in out.splitlines() if re.match(r" *[\d.]+ % ", x)), "%s, %d columns: no row is wider" % (what, width))
    out = run("report", "--no-cache", "--min", "0", "-s", "function", "--format", "markdown", "x.data").stdout
    distinct([x.split("|", 2)[2] for x in out.splitlines() if re.match(r"\| [\d.]+ %", x)], len(names), what + ", Markdown")
    out = run("report", "--no-cache", "--min", "0", "-s", "function", "--wide", "x.data", env=dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8")).stdout
    whole = {x["function"] for x in json.loads(run("report", "--no-cache", "-j", "-s", "function", "x.data").stdout)["rows"]}
    t.ok(set(names) == whole, "%s: json has whole names" % what, sorted(set(names) ^ whole)[:3])
    t.equal(set(columns(out)), set(names), what + ": so has --wide")
    run("report", "--no-cache", "--html", "x.html", "x.data")
    page = Page("x.html").data
    text = page["strings"]
    short = {text[a]: text[b] for a, b in page["short"]}
    distinct([short.get(x, x) for x in names], len(names), what + ", a page")
    t.ok(all(len(x) <= 48 for x in short.values()) and all(x in short for x in names if len(x) > 48), what + ", a page: long ones are folded",
         [x for x in names if len(x) > 48 and x not in short][:2])


random.seed(4)
for name, found in sorted(programs().items()):
    found = sorted(x for x in found if 20 < len(x) < 1500 and x.isprintable() and x.isascii() and " " != x[-1])
    if len(found) < 10:
        t.skip(name, "%d names" % len(found))
        continue
    at = random.randrange(max(1, len(found) - SET))
    look(name + ", neighbours", found[at:at + SET])
    if not name.startswith("corpus"):
        look(name, random.sample(found, min(SET, len(found))))
os.chdir("/")
t.done()
