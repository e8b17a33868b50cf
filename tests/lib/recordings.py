# SPDX-License-Identifier: BSD-3-Clause
"""recordings - small recordings of every kind, made here, for suites that run every command over them.

    for r in recordings.made(where):    # those whose bytes are put together, the same everywhere
    for r in recordings.more(where):    # those that few commands read: IBS, counts, a log of allocations
    for r in recordings.taken(where):   # those that cyclade records here, of real programs; some on simulated machines
        r.name, r.path, r.function      # a function with samples, for annotate and the like

What cannot be recorded on this machine is left out and stands in recordings.missing as (name, reason).
"""
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "perfdata"), os.path.join(HERE, "..", "cli")]
import gen  # noqa: E402
import mem_made  # noqa: E402
import memory_made  # noqa: E402
import spe_made  # noqa: E402
import test_blocks  # noqa: E402
from account_made import SKX, Made  # noqa: E402
import waits_made  # noqa: E402
from tap import CYCLADE, PROGS  # noqa: E402
from tap import SIMULATED as SIMULATED_HERE  # noqa: E402

RECURSE, JIT, DATA = (os.path.join(PROGS, "prog_" + n) for n in ("recurse", "jit", "data"))
missing = []


class Recording:
    def __init__(self, name, path, function):
        self.name, self.path, self.function = name, path, function


# Too long for a column, and alike in what a column shows of them.
NAMES = ["%sbox<%d, other>::method(char const*, int)" % (12 * "namespace::", i) for i in range(3)]


def _account(where, name, **more):
    m = Made(where, tree=[*SKX, ("of.no.tree", 0x77, 100003)], **more)
    for event, _, _ in m.tree:
        for i, function in enumerate(m.names):
            m.put(function, event, 12 + 5 * i)
    m.write(os.path.join(where, name), **({"share": lambda e, t: 0.5} if more.get("times") else {}))


def _counts(path):
    """As `perf stat record` writes them, of two events on an Ivy Bridge, in two intervals."""
    w = gen.Writer("<")
    f = gen.File(w, [(n, dict(type=0, config=i, sample=gen.BIT["IDENTIFIER"], read=3), [100 + i]) for i, n in enumerate(("cycles", "instructions"))])
    f.features = {8: w.text("A CPU"), 9: w.text("GenuineIntel,6,58,9"), 7: w.pack("II", 4, 4), 24: b""}
    f.data += w.record(gen.THREAD_MAP, w.u64(1) + w.pack("q", -1) + b"".ljust(16, b"\0")) + w.record(gen.STAT_CONFIG, w.u64(3, 0, 1, 1, 10, 2, 1))
    for turn in (1, 2):
        for i in range(2):
            f.data += w.record(gen.STAT, w.u64(100 + i) + w.pack("II", 0, 0) + w.u64(1000000 * turn * (i + 1), 1000000 * turn, 1000000 * turn))
        f.data += w.record(gen.STAT_ROUND, w.u64(turn - 1, 10000000 * turn))
    gen.write(path, f.build())
    return Recording(os.path.basename(path), path, "main")


def made(where):
    os.makedirs(where, exist_ok=True)
    out = []
    for name, content, _ in gen.every():
        path = os.path.join(where, name)
        gen.write(path, content)
        out.append(Recording(name, path, "main"))
    for name, more in (("account", {}), ("account_shared", dict(times=True))):
        _account(where, name, **more)
        out.append(Recording(name, os.path.join(where, name), "hot"))
    os.makedirs(os.path.join(where, "names"), exist_ok=True)
    _account(os.path.join(where, "names"), "long_names", names=NAMES)
    out.append(Recording("long_names", os.path.join(where, "names", "long_names"), NAMES[0]))
    out.append(Recording("waits", waits_made.few(os.path.join(where, "waits")), "work"))
    program = os.path.join(where, "blocks.elf")
    with open(program, "wb") as f:
        f.write(test_blocks.elf())
    path = os.path.join(where, "branches")
    test_blocks.recording(path, program, list(test_blocks.stacks_of(test_blocks.Program(300).branches)))
    out.append(Recording("branches", path, "f"))
    out.append(Recording("accesses", memory_made.write(os.path.join(where, "accesses"), DATA), "visit"))
    path = os.path.join(where, "memory")
    mem_made.write(path, mem_made.drawn(random.Random(1), 400))
    out.append(Recording("memory", path, "main"))
    path = os.path.join(where, "spe")
    trace = b"".join(r.bytes() for r in spe_made.drawn(random.Random(2), 300, contexts=(20, 21)))
    spe_made.write(path, [spe_made.Trace(0, trace[:4000] + b"\xff" + trace[4000:]), spe_made.Trace(1, trace[:99], flags=8)], comms=((20, 20, "one"), (20, 21, "two")))
    out.append(Recording("spe", path, "main"))
    return out


CLOCK = ["-e", "cpu-clock:u", "-F", "2000"]
WORK = ["--", RECURSE, "40", "60"]
# name: (words of record, function, environment)
TAKEN = {
    "plain": ([*CLOCK, *WORK], "bottom"),
    "chains": ([*CLOCK, "-g", *WORK], "bottom"),
    "unwound": ([*CLOCK, "-g=dwarf", *WORK], "bottom"),
    "packed": ([*CLOCK, "-g", "-z", *WORK], "bottom"),
    "registers": ([*CLOCK, "--intr-regs", "--user-regs", *WORK], "bottom"),
    "addresses": (["-e", "page-faults:u", "-c", "1", "-d", *WORK], "bottom"),
    "several": (["-e", "cpu-clock:u,task-clock:u,page-faults,context-switches", *WORK], "bottom"),
    "group": (["-e", "{cpu-clock:u,task-clock:u}:S", *WORK], "bottom"),
    "jit": ([*CLOCK, "-k", "mono", "--", JIT, "40"], "first_code"),
    "whole": (["-a", "-e", "cpu-clock", "--for", "50ms"], "bottom"),
}
HEAP = ["-e", "page-faults:u", "-c", "1", "-d", "--heap", *WORK]
# name: (machine, its program, words)
SIMULATED = {
    "sim_branches": ("spr", "even", ["-b", "-e", "cycles:u"]),
    "sim_chains": ("spr", "even", ["-g=lbr", "-e", "cycles:u"]),
    "sim_weights": ("spr", "dram_bound", ["-d", "-W", "-e", "mem_load_retired.l3_miss:pp"]),
    "sim_account": ("skl", "even", ["--account"]),
    "sim_hybrid": ("adl", "even", ["-e", "cycles:u"]),
}


def _keep(out, name, path, function, p):
    if p.returncode or not os.path.exists(path):
        missing.append((name, (p.stderr.strip().splitlines() or ["exit %d" % p.returncode])[0]))
    else:
        out.append(Recording(name, path, function))


def _record(where, path, words):
    return subprocess.run([CYCLADE, "record", "-q", "-o", path, *words], cwd=where, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=600)


def more(where):
    os.makedirs(where, exist_ok=True)
    out = []
    path = os.path.join(where, "ibs")
    mem_made.write_ibs(path, [(3 << 17 | 16, 0x401000 + i, 0, 0, i << 32 | 1, 0, 0, 0) for i in range(200)], [])
    out.append(Recording("ibs", path, "main"))
    out.append(_counts(os.path.join(where, "stat_record")))
    path = os.path.join(where, "heap")
    _keep(out, "heap", path, "bottom", _record(where, path, HEAP))
    return out


def taken(where):
    os.makedirs(where, exist_ok=True)
    out = []
    for name, (words, function) in TAKEN.items():
        path = os.path.join(where, name)
        _keep(out, name, path, function, _record(where, path, words))
    if "SIM_LIB" not in os.environ or not SIMULATED_HERE:
        missing.append(("simulated", "a sanitizer's library wants to be preloaded first" if "SIM_LIB" in os.environ
                        else "there is no simulated PMU on this machine"))
        return out
    from sim import SPIN, SYSROOT, run_on
    for name, (machine, program, words) in SIMULATED.items():
        path = os.path.join(where, name)
        _keep(out, name, path, "main", run_on(machine, program, CYCLADE, "record", "-q", *SYSROOT, "-o", path, *words,
                                              "--", SPIN, "60"))
    path = os.path.join(where, "sim_run")
    _keep(out, "sim_run", path, "main", run_on("ivb", "even", CYCLADE, "run", "-q", *SYSROOT, "--data", path, "--", SPIN, "60"))
    return out
