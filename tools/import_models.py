#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes models/ from vendors' published facts. Run by people, not by the build.

	tools/import_models.py REFERENCE [models]

REFERENCE has perfmon/ (github.com/intel/perfmon) and pmu-events/ (the event files of Linux'
tools/perf/pmu-events/arch). Numbers, names and formulas are carried over; sentences are not.
What could not be carried over is listed on standard output.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model_import import amd, arm, cpus, intel, sysfs, write  # noqa: E402


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    top = sys.argv[2] if len(sys.argv) > 2 else 'models'
    everything = {}
    perfmon, pmu_events = (os.path.join(sys.argv[1], d) for d in ('perfmon', 'pmu-events'))
    for models in (intel.models(perfmon), amd.models(pmu_events), arm.models(pmu_events),
                   sysfs.models()):
        for m in models:
            everything[m.id] = m
    for m in everything.values():
        write.write_model(top, m, everything)
        for n in m.notes:
            print('%s: %s' % (m.id, n))
    cpus.write(top, perfmon, everything)


if __name__ == '__main__':
    main()
