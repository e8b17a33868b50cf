# SPDX-License-Identifier: BSD-3-Clause
"""machines - the simulated machines: what a machine file begins with, and how the rest is made."""
import intel

HW = {"cycles": 0, "instructions": 1, "cache-references": 2, "cache-misses": 3, "branches": 4, "branch-misses": 5,
      "bus-cycles": 6, "stalled-frontend": 7, "stalled-backend": 8, "ref-cycles": 9}


def aliases(pmu, codes):
    return ["alias 0 %d %s %#x" % (HW[k], pmu, v) for k, v in codes.items()]


INTEL_HW = {"cycles": 0x3C, "instructions": 0xC0, "cache-references": 0x4F2E, "cache-misses": 0x412E,
            "branches": 0xC4, "branch-misses": 0xC5, "bus-cycles": 0x13C, "ref-cycles": 0x300}
X86_FORMAT = ["format {0} event config:0-7", "format {0} umask config:8-15", "format {0} edge config:18",
              "format {0} pc config:19", "format {0} inv config:23", "format {0} cmask config:24-31"]
OLD = ["format {0} any config:21", "format {0} ldlat config1:0-15", "format {0} offcore_rsp config1:0-63",
       "format {0} in_tx config:32", "format {0} in_tx_cp config:33"]
FRONTEND = ["format {0} frontend config1:0-23"]
INTEL_NAMES = ["sysevent {0} cpu-cycles event=0x3c", "sysevent {0} instructions event=0xc0",
               "sysevent {0} branch-instructions event=0xc4", "sysevent {0} branch-misses event=0xc5",
               "sysevent {0} cache-references event=0x2e,umask=0x4f", "sysevent {0} cache-misses event=0x2e,umask=0x41",
               "sysevent {0} bus-cycles event=0x3c,umask=0x01", "sysevent {0} ref-cycles event=0x00,umask=0x03",
               "sysevent {0} mem-loads event=0xcd,umask=0x1,ldlat=3", "sysevent {0} mem-stores event=0xd0,umask=0x82"]
TOPDOWN_OLD = ["sysevent {0} topdown-total-slots event=0x3c", "sysevent {0} topdown-slots-issued event=0xe,umask=0x1",
               "sysevent {0} topdown-slots-retired event=0xc2,umask=0x2",
               "sysevent {0} topdown-fetch-bubbles event=0x9c,umask=0x1",
               "sysevent {0} topdown-recovery-bubbles event=0xd,umask=0x3,cmask=1"]
METRICS1 = ["sysevent {0} slots event=0x00,umask=0x4", "sysevent {0} topdown-retiring event=0x00,umask=0x80",
            "sysevent {0} topdown-bad-spec event=0x00,umask=0x81", "sysevent {0} topdown-fe-bound event=0x00,umask=0x82",
            "sysevent {0} topdown-be-bound event=0x00,umask=0x83"]
METRICS2 = ["sysevent {0} topdown-heavy-ops event=0x00,umask=0x84",
            "sysevent {0} topdown-br-mispredict event=0x00,umask=0x85",
            "sysevent {0} topdown-fetch-lat event=0x00,umask=0x86", "sysevent {0} topdown-mem-bound event=0x00,umask=0x87"]
MSR = ["pmu msr type=90 core=1 precise=0 cpus=0-63", "format msr event config:0-63", "sysevent msr tsc event=0x00",
       "event msr 0 0 0 0 NW 0 tsc 2.4"]


def named(pmu, *lists):
    return [line.format(pmu) for lines in lists for line in lines]


def write_intel(reference, machine, out):
    cores = [(pmu, intel.Core(reference, *args)) for pmu, args in machine["cores"]]
    programs = [(p, leaves) for p, leaves in intel.PROGRAMS
                if not leaves or any(l in c.level for _, c in cores for l in leaves)]
    print("programs " + " ".join(p for p, _ in programs))
    for line in MSR:
        print(line)
    for pmu, core in cores:
        print("# %s: events of perfmon %s; formulas of the TMA sheet" % (pmu, core.events.version))
        out.intel_core(core, pmu, programs)


def intel_machine(cpuid, title, cores, pmu_line, rules, lists, caps, topology=("core 0", "core 1"), extra=()):
    vendor, family, model, stepping = cpuid.split("-")
    head = ["title " + title, "cpuid " + cpuid,
            "cpu vendor_id=%s family=%d model=%d stepping=%s" % (vendor, int(family), int(model, 16), stepping)]
    head += list(topology) + ["pmu cpu type=4 " + pmu_line + " core=1 watchdog=1 cpus=0-63 precise=3"]
    head += aliases("cpu", INTEL_HW) + named("cpu", *lists)
    head += ["cap cpu %s %s" % kv for kv in caps.items()]
    head += ["rule cpu %#x %#x %#x" % r for r in rules] + list(extra)
    return {"head": head, "cores": cores, "write": write_intel}


GLC_RULES = [(0x2E, 0x2E, 0xFF), (0x3C, 0x3C, 0xFF), (0x01, 0x8F, 0x0F), (0xD0, 0xDF, 0x0F)]
ICL_RULES = [(0x03, 0x0A, 0xF), (0x1F, 0x28, 0xF), (0x48, 0x56, 0xF), (0x60, 0x8B, 0xF), (0xA8, 0xB0, 0xF),
             (0xB7, 0xBD, 0xF), (0xD0, 0xE6, 0xF), (0xF0, 0xF4, 0xF)]

MACHINES = {
    "ivb": intel_machine("GenuineIntel-6-3A-9", "Intel Ivy Bridge", [
        ("cpu", ("IVB", "ivybridge_core.json", "IVB", 4, {}))],
        "counters=4 alone=8 fixed=7 offcore=2", [(0xA3, 0xA3, 0xF), (0x9C, 0x9C, 0xF), (0xCD, 0xCD, 0x8)],
        [X86_FORMAT, OLD, INTEL_NAMES, TOPDOWN_OLD], {"pmu_name": "ivybridge", "max_precise": 3, "branches": 16}),
    "spr": intel_machine("GenuineIntel-6-8F-4", "Intel Sapphire Rapids", [
        ("cpu", ("SPR", "sapphirerapids_core.json", "SPR", 6, {"#FP16": 1}))],
        "counters=8 fixed=15 offcore=2 metrics=1", GLC_RULES,
        [X86_FORMAT, OLD, FRONTEND, INTEL_NAMES, METRICS1, METRICS2],
        {"pmu_name": "sapphire_rapids", "max_precise": 3, "branches": 32}),
}
