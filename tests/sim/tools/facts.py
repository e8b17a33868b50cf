#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""facts.py REFERENCE > tests/sim/facts.tab

The events that rows of models/*/*/monitor name, as their vendors publish them: a line is MODEL UNIT EVENT and the fields
of the publication that are not 0. REFERENCE has perfmon/ and pmu-events/. tests/lib/servers.py encodes them by the
formats of a PMU, without what models/ says."""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
from servers import names_of, rows_of  # noqa: E402

INTEL = {"skx": "SKX", "icx": "ICX", "spr": "SPR", "emr": "EMR", "gnr": "GNR", "clx": "CLX", "srf": "SRF", "cwf": "CWF", "bdx": "BDX"}
AMD = {"zen1": "amdzen1", "zen2": "amdzen2", "zen3": "amdzen3", "zen4": "amdzen4", "zen5": "amdzen5"}
FIELDS = ("EventCode", "UMask", "UMaskExt", "PortMask", "FCMask", "FILTER_VALUE", "RdWrMask", "EnAllCores", "EnAllSlices",
          "SliceId", "ThreadMask", "EventidCode", "NodeType")


def files(reference):
    for model, name in INTEL.items():
        yield model, glob.glob(os.path.join(reference, "perfmon", name, "events", "*_uncore.json"))
    for model, name in AMD.items():
        yield model, glob.glob(os.path.join(reference, "pmu-events", "x86", name, "*.json"))
    yield "arm-generic", [os.path.join(reference, "pmu-events", "arm64", "arm", "cmn", "sys", "cmn.json")]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("# SPDX-License-Identifier: BSD-3-Clause\n# Written by tests/sim/tools/facts.py from intel/perfmon and Linux 6.12.")
    for model, paths in files(sys.argv[1]):
        wanted = {n.replace(".ONE_UNIT", "").strip("@").split("@")[-1] for row in rows_of(model) for n in names_of(row["formula"])}
        for path in sorted(paths):
            with open(path, encoding="utf-8-sig") as f:
                events = json.load(f)
            for e in events["Events"] if isinstance(events, dict) else events:
                if e.get("EventName") in wanted:
                    facts = [(k, int(str(e.get(k) or 0).split(",")[0], 0)) for k in FIELDS]
                    print(model, (e.get("Unit") or "core").replace(" ", "_"), e["EventName"], *["%s=%#x" % x for x in facts if x[1] or x[0] == "EventCode"])


if __name__ == "__main__":
    main()
