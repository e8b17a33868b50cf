#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A disk without room, and the limit of a file's size: what was recorded until then stays, with the header's features and the logs of --heap,
and tells how many samples found no room; the program runs to its end. And programs that cannot be started: never exit 0."""
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, Tap, run  # noqa: E402

t = Tap()
tmp = os.path.realpath(tempfile.mkdtemp(prefix="cyclade-full-"))
os.chdir(tmp)
LOOP = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo >ended; exit 5"
MUCH = ["-e", "cpu-clock", "-F", "4000", "-g=dwarf", "--stack-size", "4096", "-m", "16"]  # small rings: rounds are small
KINDS = [("record", MUCH), ("record", [*MUCH, "-z"]), ("record", [*MUCH, "--wait"]), ("record", [*MUCH, "--heap"]), ("run", MUCH)]
HEAP = 194  # the feature that has the logs


def end():
    os.chdir("/")
    if mounted:
        subprocess.run(["umount", os.path.join(tmp, "small")], check=False)
    shutil.rmtree(tmp)
    t.done()


mounted = False
if run("record", "-q", "-e", "cpu-clock", "-o", "any.data", "--", "true").returncode:
    t.skip("recordings", "no event can be opened here")
    end()


def check(name, verb, options, path, **limits):
    for f in ("ended", path):
        if os.path.exists(f):
            os.unlink(f)
    out = "-o" if verb == "record" else "--data"
    r = run(verb, *options, out, path, "--", "sh", "-c", LOOP, **limits)
    said = r.stdout + r.stderr
    what = "%s: %s %s" % (name, verb, " ".join(options[7:]))
    if r.returncode == 5:
        t.skip(what, "all of it had room")
        return
    info = json.loads(run("info", "-j", path).stdout or "{}")
    losses = info.get("losses", {})
    t.ok(r.returncode == 125 and os.path.exists("ended") and "the program was not disturbed, it ended with 5" in said and "found no room" in said,
         what, "%d %s" % (r.returncode, said))
    t.ok(losses.get("ended") == "disk full" and losses["partial"] == 1 and any(x["record"] == "SAMPLE" for x in info["records"]), what + ": what there is", info)
    n = re.search(r"([0-9,]+) samples? found no room", said)
    t.ok(n and int(n[1].replace(",", "")) == losses.get("lost_samples"), what + ": how many are missing", (said, losses))
    t.ok(info.get("build_ids") and info["recording"]["host"], what + ": the header is whole", info)
    lost = limits and "logs of --heap found no room and are lost" in said  # a disk has the room that they took themselves
    if "--heap" in options and "left no log" not in said and "unlogged" not in said and not lost:
        with open(path, "rb") as f:
            features = struct.unpack_from("<4Q", f.read(104), 72)
        t.ok(features[HEAP // 64] >> HEAP % 64 & 1 and not [f for f in os.listdir(os.path.dirname(path) or ".") if "heap-" in f], what + ": the logs are in it")
    report = run("report", path).stdout
    t.ok("before the end" in report and "-m 512" not in said, what + ": no advice that does not help", (said, report[-600:]))


def limit(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


for verb, options in KINDS:
    check("a limit of its size", verb, options, "limit.data", preexec_fn=limit((100 if "-z" in options else 600) << 10))
os.mkdir("small")
if os.geteuid() == 0:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", os.path.join(tmp, "small")], capture_output=True, check=False).returncode == 0
if mounted:
    for verb, options in KINDS:
        check("a disk of 3 MB", verb, options, "small/full.data")
else:
    t.skip("a small disk", "nothing may be mounted here")

# ---- starts that fail
os.mkdir("dir")
for name, text, mode in (("none", "#!/no/such/interpreter\n", 0o755), ("plain", "exit 0\n", 0o644)):
    with open(name, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(name, mode)
COMMANDS = [["record", "-o", "x.data", "--"], ["record", "--heap", "-o", "x.data", "--"], ["run", "--data", "x.data", "--"], ["run", "-r", "2", "--data", "x.data", "--"],
            ["run", "--regions", "--"], ["stat", "--"], ["stat", "-e", "task-clock", "--"], ["stat", "-r", "2", "-e", "task-clock", "--"],
            ["stat", "--warmup", "1", "-e", "task-clock", "--"], ["record", "--follow", "-o", "x.data", "--"]]
for program, code in (("./absent", 127), ("absent", 127), ("./dir", 126), ("./none", 127), ("./plain", 126)):
    wrong = []
    for command in COMMANDS:
        r = run(*command, program)
        if r.returncode != code or not r.stderr or os.path.exists("x.data"):
            wrong.append((command, r.returncode, r.stderr))
    for order in (["--", program, "--", "true"], ["--", "true", "--", program]):
        r = run("compare", "-r", "2", *order)
        if r.returncode != code or not r.stderr:
            wrong.append((order, r.returncode, r.stderr))
    t.equal(wrong, [], "%s is not started" % program)
end()
