#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every event outside the cores that intel/perfmon has for servers, imported by `cyclade models import` and encoded by the
formats of a fake sysfs: event, umask with its extension, channel and flow masks, and filters are what the table says,
put into the bits here once more."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from servers import LAYOUTS, put_bits  # noqa: E402
from tap import NO_SHARED, SHARED, Tap, run  # noqa: E402

t = Tap()
PERFMON = os.path.join(SHARED, "reference", "perfmon")
if not os.path.isdir(PERFMON):
    t.skip("encodings", NO_SHARED)
    t.done()
# model: perfmon's folder, CPU, and the layouts (tests/sim/servers.tab) that are not `imc`
MODELS = {"skx": ("SKX", "6-55-4", {"cha": "skx_cha", "iio": "skx_iio"}), "clx": ("CLX", "6-55-7", {"cha": "skx_cha", "iio": "skx_iio"}),
          "icx": ("ICX", "6-6A-6", {"cha": "icx_cha", "iio": "iio", "m2m": "upi"}),
          "spr": ("SPR", "6-8F-4", {"cha": "spr_cha", "iio": "iio_ext", "m2m": "upi", "m2hbm": "upi"}),
          "emr": ("EMR", "6-CF-2", {"cha": "spr_cha", "iio": "iio_ext", "m2m": "upi", "m2hbm": "upi"}),
          "gnr": ("GNR", "6-AD-1", {"cha": "gnr_cha", "iio": "iio_ext", "b2cmi": "upi"}),
          "srf": ("SRF", "6-AF-3", {"cha": "gnr_cha", "iio": "iio_ext", "b2cmi": "upi"}),
          "cwf": ("CWF", "6-DD-0", {"cha": "gnr_cha", "iio": "iio_ext", "b2cmi": "upi"})}
PMUS = {"upi_ll": "upi"}  # as Linux calls units, where not by their own name
tmp = tempfile.TemporaryDirectory(prefix="cyclade-codes-")


def number(e, key):
    return int(str(e.get(key) or "0").split(",")[0], 0)


def pmu_of(e):
    unit = e["Unit"].lower().replace(" ", "_")
    return "uncore_" + PMUS.get(unit, unit)


def encoded(e, layout):
    umask = number(e, "UMask") | number(e, "UMaskExt") << 8
    config = put_bits(number(e, "EventCode"), layout["event"]) | put_bits(umask, layout["umask"])
    for key, term in (("PortMask", "ch_mask"), ("FCMask", "fc_mask")):
        if term in layout:
            config |= put_bits(number(e, key), layout[term])
    return config, number(e, "FILTER_VALUE") << 32


for model, (folder, cpu, layouts) in MODELS.items():
    path = glob.glob(os.path.join(PERFMON, folder, "events", "*_uncore.json"))[0]
    with open(path, encoding="utf-8-sig") as f:
        events = {e["EventName"]: e for e in json.load(f)["Events"] if number(e, "Deprecated") == 0}
    own, tab = os.path.join(tmp.name, model), os.path.join(tmp.name, model + ".tab")
    core = [p for p in glob.glob(os.path.join(PERFMON, folder, "events", "*_core.json"))]
    p = run("models", "import", own, *core, path, "--model", model)
    _, number_of_model, stepping = cpu.split("-")
    layout = {n: LAYOUTS[layouts.get(n[7:], "imc")] for n in {pmu_of(e) for e in events.values()}}
    with open(tab, "w", encoding="utf-8") as f:
        f.write("cpuid GenuineIntel-%s\ncpu vendor_id=GenuineIntel family=6 model=%d stepping=%s\ncore 0 0\n" % (cpu, int(number_of_model, 16), stepping))
        f.write("pmu cpu type=4 core=1 cpus=0\nformat cpu event config:0-7\nformat cpu umask config:8-15\n")
        for i, (pmu, terms) in enumerate(sorted(layout.items())):
            f.write("pmu %s_0 type=%d cpus=0\n" % (pmu, 100 + i) + "".join("format %s_0 %s %s\n" % (pmu, *x) for x in terms.items()))
    subprocess.run([sys.executable, os.path.join(HERE, "..", "sim", "tools", "tree.py"), tab, own + ".tree"], check=True)
    q = run("stat", "--dry-run", "--models", own, "--sysroot", own + ".tree", "-a", "-e", ",".join(events))
    found = re.findall(r"^  \S*?/?(UNC_[^/\s]+)\S*\n +type \d+, config (0x[0-9a-f]+)(?:, config1 (0x[0-9a-f]+))?", q.stdout, re.M)
    got = {n: (int(c, 16), int(c1 or "0", 16)) for n, c, c1 in found}
    want = {n: encoded(e, layout[pmu_of(e)]) for n, e in events.items()}
    bad = {n: (got.get(n), w) for n, w in want.items() if got.get(n) != w}
    t.ok(len(want) > 200 and not bad, "%s: %d events" % (model, len(want)), (len(bad), dict(list(bad.items())[:5]), p.stderr[-300:], q.stderr[-300:]))
t.done()
