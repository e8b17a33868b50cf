#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""plant.py REFERENCE MACHINE > machines/MACHINE.tab

Writes a machine file: PMUs, events with the counters they can be on, and programs: how fast each event counts so that
the vendor's formulas come to planted values. REFERENCE has perfmon/ (github.com/intel/perfmon) and pmu-events/ (of
Linux). What is written are facts (names, encodings, counters) and our own numbers (rates)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import intel  # noqa: E402
import machines  # noqa: E402


def say_event(pmu, row, latency, rates):
    print("event %s %#x %#x %#x %#x %s %g %s %s" % (pmu, row.config, row.config1, row.gp, row.fixed, row.flags, latency,
                                                    row.name, " ".join("%.7g" % r for r in rates)))


# What the kernel's generic names stand for, and loads by latency; formulas do not name all of them.
USUAL = ["LONGEST_LAT_CACHE.MISS", "LONGEST_LAT_CACHE.REFERENCE", "BR_INST_RETIRED.ALL_BRANCHES",
         "BR_MISP_RETIRED.ALL_BRANCHES", "CPU_CLK_UNHALTED.REF_XCLK", "CPU_CLK_THREAD_UNHALTED.REF_XCLK",
         "CPU_CLK_UNHALTED.REF_TSC_P", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4", "MEM_UOPS_RETIRED.LOAD_LATENCY_GT_4",
         "MEM_TRANS_RETIRED.STORE_SAMPLE"]


def intel_core(core, pmu, programs):
    """The events of one PMU with a rate for each program."""
    names = core.everything()
    solved = {p: core.program(p, leaves) for p, leaves in programs}
    names += [n for n in USUAL if core.event(n) and n not in names]
    seen = {}
    for name in names:
        row, one = core.event(name), core.one_name(name)
        if (row.config, row.config1) not in seen:
            seen[(row.config, row.config1)] = one
            rates = [solved[p][0].get(one, 0.03) for p, _ in programs]
            say_event(pmu, core.event(one), core.latency_of(one, name), rates)
    for name, field, factor in intel.WITHOUT_METRICS if "PERF_METRICS.RETIRING" in names else []:
        row = core.event(name)
        if row and (row.config, row.config1) not in seen and core.event(field):
            seen[(row.config, row.config1)] = name
            say_event(pmu, row, 0, [solved[p][0][field] * (factor or 1 / core.width) for p, _ in programs])
    for name, config in machines.INTEL_HW.items():
        if (config, 0) not in seen:
            print("event %s %#x 0 0xff 0 - 0 generic:%s 0.02" % (pmu, config, name))
    for p, _ in programs:
        print("plant %s %s %s" % (p, pmu, " ".join("%s=%.6f" % x for x in solved[p][1].items())))


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in machines.MACHINES:
        sys.exit(__doc__ + "\n\nmachines: " + " ".join(machines.MACHINES))
    machine = machines.MACHINES[sys.argv[2]]
    print("# SPDX-License-Identifier: BSD-3-Clause\n# Written by tests/sim/tools/plant.py; README.md has the format.")
    print("machine %s" % sys.argv[2])
    for line in machine["head"]:
        print(line)
    machine["write"](sys.argv[1], machine, sys.modules[__name__])


if __name__ == "__main__":
    main()
