# SPDX-License-Identifier: BSD-3-Clause
"""machines - the simulated machines: what a machine file begins with, and how the rest is made."""
import amd
import arm
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
AUX = ["sysevent {0} mem-loads-aux event=0x03,umask=0x82"]
TOPDOWN_ATOM = ["sysevent {0} topdown-retiring event=0xc2,umask=0x0", "sysevent {0} topdown-bad-spec event=0x73,umask=0x0",
                "sysevent {0} topdown-fe-bound event=0x71,umask=0x0", "sysevent {0} topdown-be-bound event=0x74,umask=0x0"]
def ibs(caps, *more):
    pmu = "core=1 precise=0 cpus=0-63 driver=ibs ibs=" + caps
    return ["pmu ibs_fetch type=105 " + pmu, "format ibs_fetch rand_en config:57", "pmu ibs_op type=106 " + pmu, "format ibs_op cnt_ctl config:19",
            *more, "event ibs_fetch 0 0 0 0 N 0 ibs_fetch 0.4", "event ibs_op 0 0 0 0 N 0 ibs_op 3"]


IBS_ZEN2 = ibs("0x3ff")
IBS_ZEN4 = ibs("0xbff", "format ibs_op l3missonly config:16", "format ibs_op swfilt config2:0", "format ibs_fetch l3missonly config:59",
               "format ibs_fetch swfilt config2:0", "cap ibs_op zen4_ibs_extensions 1", "cap ibs_fetch zen4_ibs_extensions 1")
MSR = ["pmu msr type=90 core=1 precise=0 cpus=0-63 driver=msr", "format msr event config:0-63", "sysevent msr tsc event=0x00",
       "event msr 0 0 0 0 NW 0 tsc 2.4"]


def named(pmu, *lists):
    return [line.format(pmu) for lines in lists for line in lines]


def write_intel(reference, machine, out):
    cores = [(pmu, kind(reference, *args)) for pmu, kind, args in machine["cores"]]
    programs = [(p, leaves) for p, leaves in intel.PROGRAMS
                if not leaves or any(l in c.level for _, c in cores for l in leaves)]
    print("programs " + " ".join(p for p, _ in programs))
    for line in MSR + machine["uncore"]:
        print(line)
    for pmu, core in cores:
        print("# %s: events of perfmon %s; formulas of the TMA sheet" % (pmu, core.events.version))
        out.intel_core(core, pmu, programs)


def identity(title, cpuid, topology=("core 0", "core 1")):
    vendor, family, model, stepping = cpuid.split("-")
    return ["title " + title, "cpuid " + cpuid,
            "cpu vendor_id=%s family=%d model=%d stepping=%s" % (vendor, int(family), int(model, 16), stepping),
            *topology]


def intel_pmu(name, line, rules, lists, caps, driver, cpus="0-63", kind=4):
    return (["pmu %s type=%d %s core=1 watchdog=1 cpus=%s precise=3 driver=intel %s" % (name, kind, line, cpus, driver)] +
            aliases(name, INTEL_HW) + named(name, *lists) + ["cap %s %s %s" % (name, k, v) for k, v in caps.items()] +
            ["rule %s %#x %#x %#x" % (name, *r) for r in rules])


def intel_machine(title, cpuid, cores, *pmus, uncore=()):
    head = identity(title, cpuid)
    for p in pmus:
        head += p
    return {"head": head, "cores": cores, "write": write_intel, "uncore": list(uncore)}


def imc(boxes):
    """Memory controllers: two programs' worth of traffic, whatever runs."""
    out = []
    for box in range(boxes):
        pmu = "uncore_imc_%d" % box
        out += ["pmu %s type=%d counters=4 cpus=0 driver=uncore" % (pmu, 100 + box), "format %s event config:0-7" % pmu,
                "format %s umask config:8-15" % pmu, "sysevent %s clockticks event=0x01,umask=0x01" % pmu,
                "sysevent %s cas_count_read event=0x05,umask=0xcf" % pmu,
                "sysevent %s cas_count_read.scale 6.103515625e-5" % pmu, "sysevent %s cas_count_read.unit MiB" % pmu,
                "sysevent %s cas_count_write event=0x05,umask=0xf0" % pmu,
                "sysevent %s cas_count_write.scale 6.103515625e-5" % pmu, "sysevent %s cas_count_write.unit MiB" % pmu,
                "event %s 0x101 0 0xf 0 W 0 UNC_M_CLOCKTICKS 2.4" % pmu,
                "event %s 0xcf05 0 0xf 0 W 0 UNC_M_CAS_COUNT.RD 0.08" % pmu,
                "event %s 0xf005 0 0xf 0 W 0 UNC_M_CAS_COUNT.WR 0.03" % pmu]
    return out


AMD_HW = {"cycles": 0x76, "instructions": 0xC0, "cache-references": 0xFF60, "cache-misses": 0x964, "branches": 0xC2,
          "branch-misses": 0xC3}


def amd_machine(title, cpuid, events, rates, pmus, lbr, *extra):
    head = identity(title, cpuid)
    head += ["pmu cpu type=4 counters=6 core=1 watchdog=1 cpus=0-63 driver=amd" + lbr,
             *aliases("cpu", AMD_HW),
             "format cpu event config:0-7,32-35", "format cpu umask config:8-15", "format cpu edge config:18",
             "format cpu inv config:23", "format cpu cmask config:24-31", "cap cpu max_precise 0",
             "sysevent cpu cpu-cycles event=0x76", "sysevent cpu instructions event=0xc0",
             "sysevent cpu branch-instructions event=0xc2", "sysevent cpu branch-misses event=0xc3",
             "pmu amd_l3 type=100 counters=6 cpus=0 driver=uncore", "format amd_l3 event config:0-7", "format amd_l3 umask config:8-15",
             "pmu amd_df type=101 counters=4 cpus=0 driver=uncore", *extra, *MSR]
    return {"head": head, "write": amd.write, "events": events, "rates": rates, "pmus": pmus,
            "generic": sorted(AMD_HW.items())}


def arm_machine(title, midr, events, slots, *extra):
    pmu = "armv8_pmuv3_0"
    head = ["title " + title, "cpuid 0x%016x" % midr, "cpu midr=%#x" % midr, "core 0", "core 1",
            "pmu %s type=102 raw=1 counters=6 fixed=2 core=1 cpus=0-63 driver=arm" % pmu,
            *aliases(pmu, {"cycles": 0x11, "instructions": 0x08, "cache-references": 0x04, "cache-misses": 0x03,
                           "branches": 0x21, "branch-misses": 0x10, "stalled-frontend": 0x23, "stalled-backend": 0x24}),
            "format %s event config:0-15" % pmu, "format %s long config1:0" % pmu, "format %s rdpmc config1:1" % pmu, *extra]
    return {"head": head, "write": arm.write, "events": events, "slots": slots, "pmu": pmu}


GLC_RULES = [(0x2E, 0x2E, 0xFF), (0x3C, 0x3C, 0xFF), (0x01, 0x8F, 0x0F), (0xD0, 0xDF, 0x0F)]
ICL_RULES = [(0x03, 0x0A, 0xF), (0x1F, 0x28, 0xF), (0x48, 0x56, 0xF), (0x60, 0x8B, 0xF), (0xA8, 0xB0, 0xF),
             (0xB7, 0xBD, 0xF), (0xD0, 0xE6, 0xF), (0xF0, 0xF4, 0xF)]
# What the driver refuses (README.md). Before Ice Lake precise events are general counters' and carry no flags.
IVB_DRIVER, SKL_DRIVER = "pebs=plain lbr=16", "pebs=plain lbr=32 callstack=1"
ICL_DRIVER = "pebs=all lbr=32 callstack=1"
GLC_DRIVER, CMT_DRIVER = ICL_DRIVER + " pdist=0x1", ICL_DRIVER + " pdist=0x3"
AUX_DRIVER = GLC_DRIVER + " aux=1"
GLC_LISTS = [X86_FORMAT, OLD, FRONTEND, INTEL_NAMES, AUX, METRICS1, METRICS2]
ATOM_LISTS = [X86_FORMAT, ["format {0} offcore_rsp config1:0-63", "format {0} ldlat config1:0-15"], INTEL_NAMES, TOPDOWN_ATOM]

MACHINES = {
    "ivb": intel_machine(
        "Intel Ivy Bridge", "GenuineIntel-6-3A-9",
        [("cpu", intel.Core, ("IVB", "ivybridge_core.json", "IVB", 4, {}))],
        intel_pmu("cpu", "counters=4 alone=8 fixed=7 offcore=2", [(0xA3, 0xA3, 0xF), (0x9C, 0x9C, 0xF), (0xCD, 0xCD, 0x8)],
                  [X86_FORMAT, OLD, INTEL_NAMES, TOPDOWN_OLD],
                  {"pmu_name": "ivybridge", "max_precise": 3, "branches": 16}, IVB_DRIVER)),
    "skl": intel_machine(
        "Intel Skylake", "GenuineIntel-6-5E-3",
        [("cpu", intel.Core, ("SKL", "skylake_core.json", "SKL/KBL", 4, {}))],
        intel_pmu("cpu", "counters=4 alone=8 fixed=7 offcore=2", [(0xC6, 0xC6, 0xF), (0xCD, 0xD2, 0xF)],
                  [X86_FORMAT, OLD, FRONTEND, INTEL_NAMES, TOPDOWN_OLD],
                  {"pmu_name": "skylake", "max_precise": 3, "branches": 32}, SKL_DRIVER)),
    "icl": intel_machine(
        "Intel Ice Lake", "GenuineIntel-6-7E-5",
        [("cpu", intel.Core, ("ICL", "icelake_core.json", "ICL", 5, {}))],
        intel_pmu("cpu", "counters=8 fixed=15 offcore=2", ICL_RULES,
                  [X86_FORMAT, OLD, FRONTEND, INTEL_NAMES, METRICS1],
                  {"pmu_name": "icelake", "max_precise": 3, "branches": 32}, ICL_DRIVER)),
    "spr": intel_machine(
        "Intel Sapphire Rapids", "GenuineIntel-6-8F-4",
        [("cpu", intel.Core, ("SPR", "sapphirerapids_core.json", "SPR", 6, {"#FP16": 1}))],
        intel_pmu("cpu", "counters=8 fixed=15 offcore=2", GLC_RULES, GLC_LISTS,
                  {"pmu_name": "sapphire_rapids", "max_precise": 3, "branches": 32}, AUX_DRIVER), uncore=imc(2)),
    "gnr": intel_machine(
        "Intel Granite Rapids", "GenuineIntel-6-AD-1",
        [("cpu", intel.Core, ("GNR", "graniterapids_core.json", "GNR", 6, {"#FP16": 1}))],
        intel_pmu("cpu", "counters=8 fixed=15 offcore=2", GLC_RULES, GLC_LISTS,
                  {"pmu_name": "granite_rapids", "max_precise": 3, "branches": 32}, GLC_DRIVER), uncore=imc(2)),
    "adl": intel_machine(
        "Intel Alder Lake", "GenuineIntel-6-97-2",
        [("cpu_core", intel.Core, ("ADL", "alderlake_goldencove_core.json", "ADL/RPL", 6, {})),
         ("cpu_atom", intel.Atom, ("ADL", "alderlake_gracemont_core.json", "GRT", 5, {}))],
        intel_pmu("cpu_core", "counters=8 fixed=15 offcore=2", GLC_RULES, GLC_LISTS,
                  {"pmu_name": "alderlake_hybrid", "max_precise": 3, "branches": 32}, AUX_DRIVER, cpus="0"),
        intel_pmu("cpu_atom", "counters=6 fixed=7 offcore=2", [], ATOM_LISTS,
                  {"pmu_name": "alderlake_hybrid", "max_precise": 3, "branches": 32}, GLC_DRIVER, cpus="1", kind=70)),
    "mtl": intel_machine(
        "Intel Meteor Lake", "GenuineIntel-6-AA-4",
        [("cpu_core", intel.Core, ("MTL", "meteorlake_redwoodcove_core.json", "MTL", 6, {})),
         ("cpu_atom", intel.Atom, ("MTL", "meteorlake_crestmont_core.json", "CMT", 6, {}))],
        intel_pmu("cpu_core", "counters=8 fixed=15 offcore=2", GLC_RULES, GLC_LISTS,
                  {"pmu_name": "meteorlake_hybrid", "max_precise": 3, "branches": 32}, GLC_DRIVER, cpus="0"),
        intel_pmu("cpu_atom", "counters=8 fixed=7 offcore=2", [], ATOM_LISTS,
                  {"pmu_name": "meteorlake_hybrid", "max_precise": 3, "branches": 32}, CMT_DRIVER, cpus="1", kind=70)),
    "zen4": amd_machine(
        "AMD Zen 4", "AuthenticAMD-25-11-1", "amdzen4", "zen4", ("cpu", "amd_l3", "amd_df", "amd_umc_0"), " lbr=16",
        "format amd_df event config:0-7,32-37", "format amd_df umask config:8-15,24-27",
        "format amd_l3 sliceid config:48-50", "format amd_l3 enallcores config:47", "format amd_l3 enallslices config:46",
        "format amd_l3 threadmask config:56-57", "format amd_l3 coreid config:42-44",
        "pmu amd_umc_0 type=104 counters=4 cpus=0 driver=uncore", "format amd_umc_0 event config:0-7",
        "format amd_umc_0 rdwrmask config:8-9", *IBS_ZEN4),
    "zen2": amd_machine(
        "AMD Zen 2", "AuthenticAMD-23-31-0", "amdzen2", "zen2", ("cpu", "amd_l3", "amd_df"), "",
        "format amd_df event config:0-7,32-35,59-60", "format amd_df umask config:8-15",
        "format amd_l3 slicemask config:48-51", "format amd_l3 threadmask config:56-63", *IBS_ZEN2),
    "n1": arm_machine("Arm Neoverse N1", 0x413FD0C1, "neoverse-n1", False),
    "n2": arm_machine("Arm Neoverse N2", 0x410FD493, "neoverse-n2-v2", True, "cap armv8_pmuv3_0 slots 0x00000005"),
}
