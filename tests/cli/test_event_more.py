#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""-e with names of vendors' lists: the model's, and libpfm's where it is built in; on simulated machines, whatever CPU
this is. The encodings of the two are held against each other, name by name."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from tap import ROOT, Tap, run  # noqa: E402

PFM_OF = sys.argv[1]
t = Tap()
tmp = tempfile.TemporaryDirectory()
PFM = "libpfm's event names" in run("--version").stdout
trees = {}


def tree(machine):
    if machine not in trees:
        trees[machine] = os.path.join(tmp.name, machine)
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/sim/tools/tree.py"),
                        os.path.join(ROOT, "tests/sim/machines", machine + ".tab"), trees[machine]], check=True, capture_output=True)
    return trees[machine]


def asked(machine, events, *more):
    """[(type, config, exclude_user, exclude_kernel)] that the kernel would be asked with, or what was said"""
    p = run("stat", "--dry-run", "-a", "-e", events, "--sysroot", tree(machine), *more)
    found = re.findall(r"type (\d+), config (0x[0-9a-f]+|0)(.*)", p.stdout)
    if not found:
        return p.stdout + p.stderr
    return [(int(a), int(b, 0), "exclude_user" in c, "exclude_kernel" in c) for a, b, c in found]


for machine, event, want in (
        ("ivb", "UOPS_ISSUED.ANY", [(4, 0x10e, False, False)]),
        ("ivb", "uops_issued.any:u", [(4, 0x10e, False, True)]),
        ("ivb", "{UOPS_ISSUED.ANY,UOPS_RETIRED.RETIRE_SLOTS}:k", [(4, 0x10e, True, False), (4, 0x2c2, True, False)]),
        ("spr", "INT_MISC.CLEAR_RESTEER_CYCLES,cs", [(4, 0x80ad, False, False), (1, 3, False, False)]),
        ("zen4", "ex_ret_instr", [(4, 0xc0, False, False)])):
    t.equal(asked(machine, event), want, "%s: %s is the model's" % (machine, event))
got = asked("adl", "INST_RETIRED.ANY_P")
t.ok(isinstance(got, list) and len(got) == 2 and got[0][0] != got[1][0] and {g[1] for g in got} == {0xc0},
     "adl: an event of each kind of cores", got)
# between slashes, with terms before and behind, terms behind the name: as perf has it
L3 = 0x20d1  # MEM_LOAD_RETIRED.L3_MISS
for machine, event, want in (
        ("spr", "cpu/mem_load_retired.l3_miss,period=1000/", [(4, L3, False, False)]),
        ("spr", "cpu/period=1000,MEM_LOAD_RETIRED.L3_MISS/u", [(4, L3, False, True)]),
        ("spr", "mem_load_retired.l3_miss/period=1000/k", [(4, L3, True, False)]),
        ("spr", "mem_load_retired.l3_miss/cmask=2,inv/", [(4, L3 | 1 << 23 | 2 << 24, False, False)]),
        ("spr", "cpu/cmask=2,mem_load_retired.l3_miss/", [(4, L3 | 2 << 24, False, False)]),
        ("spr", "{cpu/mem_load_retired.l3_miss,name=a/,mem_load_retired.l3_miss/name=b/}:u", [(4, L3, False, True)] * 2),
        ("spr", "slots/name=x/", [(4, 0x400, False, False)]),
        ("adl", "cpu_core/inst_retired.any_p/", [(4, 0xc0, False, False)]),
        ("adl", "cpu_atom/mem_bound_stalls.load/", [(70, 0x0734, False, False)])):
    t.equal(asked(machine, event), want, "%s: %s is the model's" % (machine, event))
got = asked("adl", "inst_retired.any_p/cmask=1/")
t.ok(isinstance(got, list) and [g[1] for g in got] == [0x10000c0] * 2 and got[0][0] != got[1][0],
     "adl: a name with terms is an event of each kind of cores", got)
got = asked("spr", "uncore_imc/unc_m_cas_count.rd/", "--no-merge")
t.ok(isinstance(got, list) and len(got) > 1 and len({g[0] for g in got}) == len(got), "spr: outside the cores, of each box", got)
t.equal(asked("spr", "uncore_imc/unc_m_cas_count.rd/", "--no-merge"), asked("spr", "UNC_M_CAS_COUNT.RD", "--no-merge"),
        "spr: the same with and without its PMU")
for machine, event, want in (
        ("spr", "cpu/mem_load_retird.l3_miss/", "did you mean MEM_LOAD_RETIRED.L3_MISS?"),
        ("spr", "mem_load_retird.l3_miss/period=1/", "did you mean MEM_LOAD_RETIRED.L3_MISS?"),
        ("spr", "mem_load_retired.l3_miss/nonsense/", "no term or event 'nonsense'"),
        ("spr", "cpu/mem_load_retired.l3_miss=4/", "no term or event"),
        ("spr", "cpu/UNC_M_CAS_COUNT.RD/", "no term or event"),
        ("spr", "mem_load_retired.l3_miss/cmask=999/", "too large"),
        ("adl", "cpu_atom/uops_issued.any,cpu_core/", "no term or event"),
        ("adl", "cpu_core/mem_bound_stalls.load/", "no term or event")):
    t.ok(want in asked(machine, event), "%s: %s: %s" % (machine, event, want), asked(machine, event))
t.ok("did you mean UOPS_ISSUED.ANY?" in asked("ivb", "uops_isued.any"), "the nearest name, in small letters, too")
t.ok("did you mean UOPS_ISSUED.ANY?" in asked("ivb", "UOPS_ISUED.ANY"), "the nearest name of the model")
t.ok("did you mean cycles?" in asked("ivb", "cyclse"), "names that the kernel has go first in hints")
t.ok("uncore_cha" in asked("spr", "UNC_CHA_CLOCKTICKS") and "no such PMU" in asked("spr", "UNC_CHA_CLOCKTICKS"),
     "an event of a PMU that is not there: said", asked("spr", "UNC_CHA_CLOCKTICKS"))
t.ok("no event of this name" in asked("ivb", "ls_not_halted_cyc"), "another CPU's event is none here")
t.equal(asked("ivb", "ls_not_halted_cyc", "--model", "zen4"), [(4, 0x76, False, False)], "--model says whose names are meant")
p = run("record", "--dry-run", "-e", "UOPS_ISSUED.ANY", "--", "true")
t.ok(p.returncode in (0, 125), "record knows such names, or says why not", p.stderr)

if not PFM:
    t.skip("libpfm's names", "built without libpfm")
    t.ok("no event of this name" in asked("ivb", "UOPS_ISSUED:ANY") or "tracepoint" in asked("ivb", "UOPS_ISSUED:ANY"),
         "without libpfm its names are none")
    t.done()

for event, want in (("ivb::UOPS_ISSUED:ANY", (4, 0x10e, False, False)), ("UOPS_ISSUED:ANY", (4, 0x10e, False, False)),
                    ("UOPS_ISSUED:ANY/period=1/u", (4, 0x10e, False, True)), ("cpu/UOPS_ISSUED:ANY,cmask=1/", (4, 0x100010e, False, False)),
                    ("UOPS_ISSUED:ANY:u", (4, 0x10e, False, True)), ("UOPS_ISSUED:ANY:c=1:i", (4, 0x180010e, False, False)),
                    ("UOPS_ISSUED:ANY:k=1:u=0", (4, 0x10e, True, False)), ("UNHALTED_CORE_CYCLES", (4, 0x3c, False, False))):
    t.equal(asked("ivb", event), [want], "ivb: %s is libpfm's" % event)
t.equal(asked("zen4", "RETIRED_INSTRUCTIONS"), [(4, 0xc0, False, False)], "zen4: RETIRED_INSTRUCTIONS is libpfm's")
for event in ("skx::UOPS_ISSUED:ANY", "perf::CYCLES", "ivb_unc_cbo0::UNC_CBO_CACHE_LOOKUP"):
    t.ok("no event of this name" in asked("ivb", event), "ivb: %s is another PMU's" % event, asked("ivb", event))


# ---- both of them ----

def packed(code):
    """The terms as config and config1, by the layout of Intel's and AMD's registers."""
    v = {k: int(x, 0) if x else 1 for k, _, x in (y.partition("=") for y in code.split(","))}
    config = (v["event"] & 0xff) | (v.get("umask", 0) & 0xff) << 8 | v.get("edge", 0) << 18 | v.get("any", 0) << 21 | \
        v.get("inv", 0) << 23 | v.get("cmask", 0) << 24 | (v["event"] >> 8) << 32
    return config, v.get("offcore_rsp", v.get("ldlat", v.get("frontend", 0)))


total, differences = 0, []
for model in ("snb", "jkt", "ivb", "ivt", "hsw", "hsx", "bdw", "skl", "skx", "clx", "icl", "icx", "spr", "glm", "slm", "zen1", "zen2", "zen3",
              "zen4"):
    r = run("list", "events", "--model", model, "-j")
    events = {e["event"]: e["code"] for e in json.loads(r.stdout)["events"] if not e["pmu"] and e["code"] and ":" not in e["event"]}
    names = {n.replace(".", ":", 1): n for n in events}
    p = subprocess.run([PFM_OF, model], input="\n".join(names) + "\n", capture_output=True, text=True, check=False)
    for line in p.stdout.splitlines():
        name, config, config1 = line.split()
        ours = packed(events[names[name]])
        total += 1
        if ours != (int(config, 16), int(config1, 16)):
            differences.append("%s %s: %x %x, libpfm %s %s" % (model, names[name], *ours, config, config1))
if os.environ.get("VERBOSE"):
    print("# %d compared\n# %s" % (total, "\n# ".join(differences)))
t.ok(total > 300 and len(differences) < 0.05 * total, "%d names are known to both, %d with other encodings" % (total, len(differences)),
     "\n".join(differences[:25]))
t.done()
