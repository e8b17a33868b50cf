#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade blocks --chains: loops whose chains, ports and idioms are known by hand (tests/lib/chains_made.py), in recordings with
planted cycles: bounds, the chain's instructions, verdicts; several paths; what cannot be said."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
from tap import Tap, run  # noqa: E402
import chains_arm_made  # noqa: E402
import chains_made  # noqa: E402
import tables  # noqa: E402
from chains_made import FLOATS  # noqa: E402

t = Tap()
near = lambda a, b: a is not None and b is not None and abs(a - b) < 0.01 * max(b, 1)

PATHS = """
.globl loop_paths
.type loop_paths, @function
loop_paths:
1: test $1, %dil
je 2f
imul %rax, %rbx
imul %rax, %rbx
imul %rax, %rbx
jmp 3f
2: add %rax, %rbx
3: dec %rdi
jne 1b
ret
.size loop_paths, . - loop_paths
.globl loop_apart2
.type loop_apart2, @function
loop_apart2:
1: test $1, %dil
je 2f
imul %rax, %rbx
imul %rax, %rbx
jmp 3f
2: imul %rax, %rcx
imul %rax, %rcx
3: dec %rdi
jne 1b
ret
.size loop_apart2, . - loop_apart2
.globl loop_calls
.type loop_calls, @function
loop_calls:
1: call loop_paths
dec %rdi
jne 1b
ret
.size loop_calls, . - loop_calls
.globl loop_strings
.type loop_strings, @function
loop_strings:
1: rep movsb
dec %rdi
jne 1b
ret
.size loop_strings, . - loop_strings
.globl loop_blocked
.type loop_blocked, @function
loop_blocked:
1: mov %bl, (%rsi)
mov (%rsi), %rbx
dec %rdi
jne 1b
ret
.size loop_blocked, . - loop_blocked
"""


def bounds(path, *more):
    r = run("blocks", "--chains", "-j", "--no-cache", "-i", path, *more)
    if not t.ok(r.returncode == 0, "%s: is read" % os.path.basename(path), r.stderr):
        return None
    j = json.loads(r.stdout)
    j["by"] = {x["function"][5:]: x for x in j["bounds"]}
    return j


def steps(j, name):
    code = [x for x in j["code"] if x["function"] == "loop_" + name and x["step"] is not None and x["path"] == 0]
    return sorted(code, key=lambda x: x["step"])


def turned(found, want):
    """The same circle, wherever it begins."""
    return len(found) == len(want) and any(found[i:] + found[:i] == want for i in range(max(len(want), 1)))


def by_hand(j):
    for x in chains_made.LOOPS:
        b = j["by"].get(x.name)
        if not t.ok(b, x.name + ": is a loop"):
            continue
        if x.name != "recur":
            t.ok(near(b["chain"], x.chain[0]) and near(b["chain_high"], x.chain[1]), x.name + ": its chain", (b["chain"], b["chain_high"], x.chain))
        t.ok(near(b["ports"], x.ports) and x.on in (None, b["fullest"]), x.name + ": its ports", (b["ports"], b["fullest"], x.ports, x.on))
        found = steps(j, x.name)
        if x.steps:
            t.ok(turned([s["instruction"].split()[0] for s in found], x.steps), x.name + ": the chain's instructions", [s["instruction"] for s in found])
        t.ok(near(sum(s["cycles"] for s in found), b["chain_high"]), x.name + ": they are as long as it", [s["cycles"] for s in found])
        if x.verdict:
            t.equal(b["verdict"], x.verdict, x.name + ": " + x.verdict)


# Latencies from register to register that uops.info measured. Each row: the instruction of which each waits for the one before, cycles by model.
PUBLISHED = [
    ("vpshufb %xmm1, %xmm0, %xmm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("vpshufb %ymm1, %ymm0, %ymm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("vpalignr $4, %xmm1, %xmm0, %xmm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("vpacksswb %xmm1, %xmm0, %xmm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("vpackusdw %ymm1, %ymm0, %ymm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("pabsd %xmm0, %xmm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("vpaddusb %xmm1, %xmm0, %xmm0", {"zen4": 2, "zen3": 1, "skl": 1}),
    ("vbroadcastss %xmm0, %xmm0", {"zen4": 1}),
    ("vbroadcastss %xmm0, %ymm0", {"zen4": 1, "skl": 3, "icl": 3}),
    ("vinserti128 $1, %xmm0, %ymm0, %ymm0", {"zen4": 1, "skl": 3, "icl": 3}),
    ("vpshufd $1, %xmm0, %xmm0", {"zen4": 1, "zen3": 1, "skl": 1}),
    ("vpaddd %ymm1, %ymm0, %ymm0", {"zen4": 1, "zen3": 1, "skl": 1}),
    ("vmovaps %xmm0, %xmm0", {"zen4": 0, "zen3": 0}),
]


def published(where):
    loops = [chains_made.Loop("p%d" % i, "\n".join([text] * 4), None, 0, None, None, FLOATS) for i, (text, _) in enumerate(PUBLISHED)]
    m = chains_made.Made(os.path.join(where, "published"), loops=loops)
    path = m.record(os.path.join(where, "published", "data"), {x.name: 16.0 for x in loops}, stacks=4)
    for model in sorted({x for _, of in PUBLISHED for x in of}):
        by = bounds(path, "--model", model)["by"]
        wrong = [(text, of[model], by[x.name]["chain"] / 4, by[x.name]["chain_high"] / 4) for x, (text, of) in zip(loops, PUBLISHED)
                 if model in of and not all(near(by[x.name][end], max(4 * of[model], 1)) for end in ("chain", "chain_high"))]
        t.equal(wrong, [], "latencies of %s are those that were published" % model)


def slower(m, where):
    path = m.record(os.path.join(where, "slow"), {n: 40.0 for n in ("add", "adds", "imuls", "forward", "divide")})
    j = bounds(path)
    t.equal({n: x["verdict"] for n, x in j["by"].items()}, dict.fromkeys(("add", "adds", "imuls", "forward", "divide"), "other"),
            "loops that take longer than all bounds")
    path = m.record(os.path.join(where, "fast"), {"imul": 5.0, "stores": 2.0})
    j = bounds(path)
    t.ok(all(x["verdict"] == "unknown" and "faster than a bound" in x["why"] for x in j["by"].values()), "loops that are faster than they can be",
         j["bounds"])
    path = m.record(os.path.join(where, "not timed"), {"imul": 0})
    j = bounds(path)
    t.ok(j["by"]["imul"]["verdict"] == "unknown" and "timed" in j["by"]["imul"]["why"] and j["by"]["imul"]["cycles"] is None and
         near(j["by"]["imul"]["chain"], 12), "without times there are bounds", j["bounds"])


def two_paths(m, where):
    # a quarter of all iterations takes the imuls
    taken = lambda rnd, at, text, back: back or rnd.random() < 0.75
    path = m.record(os.path.join(where, "paths"), {"paths": 3.0, "apart2": 3.0}, stacks=600, taken=taken)
    j = bounds(path)
    b = j["by"]["paths"]
    ways = [p for p in j["paths"] if p["function"] == "loop_paths"]
    t.ok(b["n_paths"] == 2 and abs(ways[0]["share"] - 0.75) < 0.02 and near(ways[0]["chain"], 1) and near(ways[1]["chain"], 9), "two paths, each with its chain", ways)
    mean = ways[0]["share"] + 9 * ways[1]["share"]
    t.ok(abs(b["chain"] - mean) < 0.04 * mean, "one chain through both: the mean", (b["chain"], mean))
    a = j["by"]["apart2"]
    share = max(p["share"] for p in j["paths"] if p["function"] == "loop_apart2")
    t.ok(abs(a["chain"] - 6 * share) < 0.3, "a chain in each of two paths: neither waits for the other", (a["chain"], share))


def cannot(m, where):
    path = m.record(os.path.join(where, "cannot"), {"calls": 5.0, "strings": 9.0, "blocked": 20.0},
                    taken=lambda rnd, at, text, back: back)
    j = bounds(path)
    whys = {n: x["why"] for n, x in j["by"].items()}
    t.ok("not modelled" in whys["strings"], "a string instruction", whys)
    t.ok(j["by"]["blocked"]["chain_high"] is None and "not known" in whys["blocked"], "a load that a store does not hold: not known", j["by"]["blocked"])
    penalties = os.path.join(where, "penalties")
    with open(penalties, "w") as f:
        f.write("latency blocked 18 0.5\n")
    b = bounds(path, "--penalties", penalties)["by"]["blocked"]
    t.ok(near(b["chain"], 17.5) and near(b["chain_high"], 18.5) and b["verdict"] == "serial", "until it was measured", b)
    with open(penalties, "w") as f:
        f.write("L2_Hit 12\nlatency mul 5 0.25\n")
    path = m.record(os.path.join(where, "own"), {"imul": 20.0})
    b = bounds(path, "--penalties", penalties)["by"]["imul"]
    t.ok(near(b["chain"], 19) and near(b["chain_high"], 21) and b["verdict"] == "serial", "latencies of --penalties, with their error", b)
    for text, what in (("latency mul\n", "expected an operation"), ("latency none 3\n", "no operation"), ("latency mul 5 x\n", "expected"), ("L2_Hit 3\n", "no latencies")):
        with open(penalties, "w") as f:
            f.write(text)
        r = run("blocks", "--chains", "-i", path, "--no-cache", "--penalties", penalties)
        t.ok(r.returncode == 2 and what in r.stderr and "penalties" in r.stderr, "penalties: " + text.strip(), r.stderr)
    r = run("blocks", "--chains", "-i", path, "--no-cache", "--model", "ivb")
    t.ok(r.returncode == 2 and "ivb" in r.stderr and "core" in r.stderr, "a model without latencies", r.stderr)
    models = os.path.join(where, "models", "intel", "skx")
    os.makedirs(models)
    with open(os.path.join(models, "core"), "w") as f:
        f.write("base skx\nop mull 3 1*1\nop mul 7 1*1\n")
    r = run("models", "check", "skx", "--models", os.path.join(where, "models"))
    t.ok("skx/core:2: no operation is called mull" in r.stdout + r.stderr, "models check finds operations that are none", r.stdout + r.stderr)
    own = bounds(path, "--models", os.path.join(where, "models"))
    t.ok(near(own["by"]["imul"]["chain"], 28), "latencies of --models", own["bounds"])
    zen = bounds(path, "--model", "zen4")
    t.ok(near(zen["by"]["imul"]["chain"], 12) and zen["model"]["model"] == "zen4", "another model", zen["model"])
    path = m.record(os.path.join(where, "elsewhere"), {"imul": 12.0}, cpu="GenuineIntel,6,1,1")
    b = bounds(path)["by"]["imul"]
    t.ok(b["verdict"] == "unknown" and "model" in b["why"] and b["chain"] is None, "a CPU without a model", b)
    r = run("blocks", "--chains", "--mix", "-i", path)
    t.ok(r.returncode == 2 and "--mix and --chains" in r.stderr, "two results at a time", r.stderr)


def kept(m, where):
    """What calibrate kept goes over the model's, if the recording is of this machine, and says so."""
    home = os.path.join(where, "home")
    env = {**os.environ, "XDG_DATA_HOME": home}
    run("validate", "--quick", "page-faults", env=env)
    files = [os.path.join(d, f) for d, _, names in os.walk(home) for f in names]
    if not files:
        t.skip("kept latencies", "nothing is kept here")
        return
    with open(files[0], encoding="utf-8") as f:
        cpu = f.read().split("\n")[1].split(" ")[1].rstrip(",")
    path = files[0].replace("/verdicts/", "/penalties/")
    os.makedirs(os.path.dirname(path))

    def imul(text, release, *more):
        with open(path, "w") as f:
            f.write(text)
        r = run("blocks", "--chains", "-j", "--no-cache", "-i", m.record(os.path.join(where, "kept"), {"imul": 40.0}, cpu=cpu, release=release), *more, env=env)
        j = json.loads(r.stdout) if r.returncode == 0 else {"bounds": [{}], "model": {}}
        return j["bounds"][0].get("chain"), j["model"].get("penalties"), r

    here = os.uname().release
    models, says, r = imul("latency mul 9 0\n", here, "--penalties", "none")
    if models is None:
        t.skip("kept latencies", "no latencies of this CPU")
        return
    t.ok(models != 36 and says is None, "kept: --penalties none", (models, says))
    own, says, r = imul("latency mul 9 0\nL2_Hit 12\n", here)
    t.ok(near(own, 36) and "measured here on 20" in says and path in says, "kept: latencies go over the model's, and it says so", (own, says, r.stderr))
    own, says, r = imul("latency mul 9 0\n", "1.2.3-other")
    t.ok(own == models and says is None, "kept: not of another kernel", (own, says))
    own, says, r = imul("L2_Hit 12\n", here)
    t.ok(own == models and says is None and r.returncode == 0, "kept: none of operations", (own, says, r.stderr))
    own, says, r = imul("latency mul 9 0\nlatency mul x\n", here)
    t.ok(own == models and "is not used" in r.stderr, "kept: a damaged file is left out", (own, r.stderr))


def elsewhere(where):
    """A late event has no error."""
    m = chains_made.Made(os.path.join(where, "late"), loops=[chains_made.BY["imul"]])
    j = bounds(m.record(os.path.join(where, "late", "data"), {"imul": 12.0}, precise=0))
    b = j["by"]["imul"]
    t.ok(b["cycles"] == 12 and b["cycles_error"] is None and b["cycles_why"] and b["verdict"] == "serial", "an event that is not precise", b)
    j = bounds(m.record(os.path.join(where, "late", "tail"), {"imul": lambda source, to, rnd: 12 if rnd.random() < 0.99 else 2000}, stacks=40))
    t.ok("error of the time" in j["by"]["imul"]["why"], "a few of which one is very long tell nothing", j["bounds"])
    j = bounds(m.record(os.path.join(where, "late", "tail"), {"imul": lambda source, to, rnd: 12 if rnd.random() < 0.99 else 2000}, stacks=500))
    b = j["by"]["imul"]
    t.ok(b["trimmed"] and b["verdict"] == "serial" and abs(b["cycles"] - 12) < 1, "a rare miss is not the loop's time", b)


def arm_memory(m, where):
    """What a store wrote: how long that takes is not known, until it was measured."""
    path = m.record(os.path.join(where, "memory"), {"forward": 5.0, "stack": 6.0, "sve": 3.0}, cpu=chains_arm_made.N1)
    by = bounds(path)["by"]
    t.ok(all(by[n]["chain_high"] is None and "not known" in by[n]["why"] for n in ("forward", "stack")), "forwarding is not known", by)
    t.ok("not modelled" in by["sve"]["why"], "SVE is not modelled", by["sve"])
    penalties = os.path.join(where, "penalties")
    with open(penalties, "w") as f:
        f.write("latency forward 5 0.1\n")
    by = bounds(path, "--penalties", penalties)["by"]
    t.ok(near(by["forward"]["chain"], 4.9) and near(by["forward"]["chain_high"], 5.1) and by["forward"]["verdict"] == "serial", "until it was measured", by["forward"])
    t.ok(near(by["stack"]["chain"], 5.9) and near(by["stack"]["chain_high"], 6.1) and by["stack"]["verdict"] == "serial", "through the stack pointer", by["stack"])


def arm(where):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        t.skip("AArch64", "no compiler for it")
        return
    m = chains_arm_made.made(where)
    for k, cpu in enumerate((chains_arm_made.N1, chains_arm_made.N2, chains_arm_made.V1, chains_arm_made.V2)):
        name = "neoverse-" + ("n1", "n2", "v1", "v2")[k]
        path = m.record(os.path.join(where, "data"), {x.name: max(x.chain[1], x.ports, 1) for x in chains_arm_made.LOOPS}, cpu=cpu, stacks=20 if not k else 4)
        r = run("blocks", "--chains", "-j", "--no-cache", "-i", path)
        if "no AArch64 disassembler" in r.stdout + r.stderr:
            t.skip("AArch64", "nothing here decodes its instructions")
            return
        j = bounds(path)
        t.equal(j["model"]["model"], name, "the model of " + cpu)
        for x in chains_arm_made.LOOPS:
            b, want = j["by"][x.name], x.chain if not k else x.others[k - 1]
            t.ok(near(b["chain"], want[0]) and near(b["chain_high"], want[1]), "%s on %s: its chain" % (x.name, name), (b["chain"], b["chain_high"], want))
            if k:
                continue
            found = steps(j, x.name)
            names = [re.sub("^ins$", "mov", s["instruction"].split()[0]) for s in found]  # which newer releases of capstone name so
            t.ok(near(b["ports"], x.ports) and x.on in (None, b["fullest"]), x.name + ": its ports", (b["ports"], b["fullest"], x.ports, x.on))
            if x.steps:
                t.ok(turned(names, x.steps), x.name + ": the chain's instructions", [s["instruction"] for s in found])
            t.ok(near(sum(s["cycles"] for s in found), b["chain_high"]), x.name + ": they are as long as it", [s["cycles"] for s in found])
            if x.verdict:
                t.equal(b["verdict"], x.verdict, x.name + ": " + x.verdict)
    arm_memory(m, where)


def faces(m, where, path):
    hostile = m.path + ".hostile"
    subprocess.run(["objcopy", "--redefine-sym", "loop_add=h\x1b[31m|\"a,<b>", m.path, hostile], check=True)
    shutil.move(hostile, m.path)
    tables.walk(t, "blocks", "--chains", "-i", path, "--no-cache")
    r = run("blocks", "--chains", "-i", path, "--no-cache", "loop_mixed")
    lines = [x for x in r.stdout.splitlines() if "imul" in x or "lea" in x]
    t.ok(r.returncode == 0 and len([x for x in lines if x.strip().startswith("*")]) == 2 and len(lines) == 4, "of a function all instructions, the chain's marked", r.stdout)
    r = run("blocks", "--chains", "-i", path, "--no-cache")
    t.ok(r.returncode == 0 and "\x1b[31m" not in r.stdout and "verdict" in r.stdout, "for people", r.stdout)
    r = run("sql", path, "SELECT verdict, count(*) FROM bounds GROUP BY 1 ORDER BY 1", "--format", "csv", "--no-cache")
    t.ok(("built without" in r.stderr) or "serial" in r.stdout, "in SQL", r.stderr + r.stdout)


def main():
    if not all(map(shutil.which, ("gcc", "objdump", "readelf", "objcopy"))) or os.uname().machine != "x86_64":
        t.skip("all", "no compiler for x86-64")
        t.done()
    with tempfile.TemporaryDirectory() as where:
        m = chains_made.Made(where, extra=PATHS)
        path = m.record(os.path.join(where, "all"), {x.name: max(x.chain[1] if x.chain else 2, x.ports, x.slots) for x in chains_made.LOOPS})
        r = run("blocks", "--chains", "-j", "--no-cache", "-i", path)
        if "no disassembler" in r.stdout + r.stderr or "no x86 disassembler" in r.stdout:
            t.skip("all", "nothing here decodes instructions")
            t.done()
        j = bounds(path)
        by_hand(j)
        published(where)
        slower(m, where)
        two_paths(m, where)
        cannot(m, where)
        kept(m, where)
        elsewhere(where)
        arm(os.path.join(where, "arm"))
        faces(m, where, path)
    t.done()


main()
