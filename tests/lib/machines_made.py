# SPDX-License-Identifier: BSD-3-Clause
"""machines_made - machines of tests/sim/machines with more to them, as texts with the rates (per ns) that they have.

    text, rates = rome()        # Zen 2: two sockets, each with two L3 caches and a data fabric
    text, rates = zen4()        # Zen 4: two memory controllers
"""
import os
import re

from tap import ROOT


def _machine(name):
    with open(os.path.join(ROOT, "tests", "sim", "machines", name), encoding="utf-8") as f:
        return f.read()


def _rates(text):
    return {m[0]: float(m[1]) for m in re.findall(r"^event \S+ \S+ 0 \S+ \S+ \S+ \S+ (\S+) (\S+)", text, re.M)}


def _l3(cpus):
    return "".join("file sys/devices/system/cpu/cpu%d/cache/index3/%s %d\n" % (c, k, v) for c in cpus for k, v in (("level", 3), ("id", 10 + c)))


def _clocks(text):
    text = text.replace("sysevent msr tsc", "sysevent msr aperf event=0x01\nsysevent msr mperf event=0x02\nsysevent msr tsc")
    return text.replace("event msr 0 0 0 0 NW 0 tsc 2.4\n", "event msr 0 0 0 0 NW 0 tsc 2.4\nevent msr 1 0 0 0 NW 0 aperf 3.0\n"
                        "event msr 2 0 0 0 NW 0 mperf 2.25\n")


def rome():
    """A CPU for each L3 cache, whose numbers are 10 to 13; CPU 0 and 2 read the fabric."""
    text = _machine("zen2.tab").replace("core 0\ncore 1\n", "core 0 0\ncore 1 0\ncore 2 1\ncore 3 1\n")
    text = re.sub(r"(pmu amd_l3 .*) cpus=0 ", r"\1 cpus=0-3 ", text)
    text = _clocks(re.sub(r"(pmu amd_df .*) cpus=0 ", r"\1 cpus=0,2 ", text)) + _l3(range(4))
    return text, _rates(text)


def zen4():
    """The second memory controller reads 0.5 lines a ns."""
    text = _machine("zen4.tab")
    text += "".join(re.sub("amd_umc_0", "amd_umc_1", x).replace("type=104", "type=120") + "\n" for x in text.splitlines() if "amd_umc_0" in x)
    text = re.sub(r"^(event amd_umc_1 .* umc_cas_cmd.rd) .*$", lambda m: m.group(1) + " 0.5" * 10, text, flags=re.M)
    rates = _rates("".join(x + "\n" for x in text.splitlines() if "amd_umc_1" not in x))
    return _clocks(text) + _l3([0]), rates
