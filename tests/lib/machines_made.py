# SPDX-License-Identifier: BSD-3-Clause
"""machines_made - machines of tests/sim/machines with more to them, as texts with the rates (per ns) that they have.

    text, rates = rome()        # Zen 2: two sockets, each with two L3 caches and a data fabric
    text, rates = zen4()        # Zen 4: two memory controllers
    text = zen5()               # IBS with a load latency filter
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


def zen5():
    """Zen 4's PMUs with the IBS of Zen 5 on Linux 6.15: the load latency filter, and what the driver shows of it."""
    text = _machine("zen4.tab").replace("machine zen4", "machine zen5").replace("AMD Zen 4", "AMD Zen 5").replace("AuthenticAMD-25-11-1", "AuthenticAMD-26-2-1")
    text = text.replace("family=25 model=17", "family=26 model=2").replace("ibs=0xbff", "ibs=0x81bff")
    return text + "format ibs_op ldlat config1:0-11\ncap ibs_op ldlat 1\ncap ibs_op dtlb_pgsize 1\n"


def _ranges(cpus):
    """[0, 1, 2, 5] as 0-2,5"""
    cpus, text = sorted(cpus), []
    for i, c in enumerate(cpus):
        if not i or cpus[i - 1] != c - 1:
            text.append([c, c])
        text[-1][1] = c
    return ",".join("%d-%d" % (a, b) for a, b in text)


def registers(text, cells=(), more=(), dies=(range(0, 2), range(2, 4)), l3s=None, df=4, umcs=0):
    """SIM_MSR (tests/sim/msr.h) for an AMD machine's text: `cells` {(cpu, register): value} beside 0. `df` counters of the
    data fabric: more than four are PerfMonV2's; `umcs` memory controllers of a socket, which has as many dies, with four counters each."""
    cpus = sorted(c for d in dies for c in d)
    every = _ranges(cpus)
    rome = "cpuid AuthenticAMD-23-" in text
    rates = dict(re.findall(r"^event msr (?:0x)?([012]) \S+ \S+ \S+ \S+ \S+ \S+ (\S+)", text, re.M))
    lines = []
    for reg in [0x10, 0xE7, 0xE8, 0xC00000E9, 0xC0010015] + list(range(0xC0010200, 0xC001020C)):
        lines.append("cell %s %#x 0" % (every, reg))
    for group in l3s or [[c] for c in cpus]:
        lines.append("share %s 0xc0010230 0xc001023b" % _ranges(group))
    for die in dies:
        lines.append("share %s 0xc0010240 %#x" % (_ranges(die), 0xC0010240 + 2 * df - 1))
    lines += ["cell %d %#x %#x" % (c, r, v) for (c, r), v in dict(cells).items()]
    lines += ["count cpu %#x 0x430000" % (0xC0010200 + 2 * n) for n in range(6)]
    lines += ["count amd_l3 %#x 0x400000" % (0xC0010230 + 2 * n) for n in range(6)]
    lines += ["count amd_df %#x 0x400000" % (0xC0010240 + 2 * n) for n in range(df)]
    lines += ["pair %#x" % (0xC0010200 + 2 * n) for n in (0, 2, 4)]
    lines += ["mask amd_l3 %s" % ("0xff0f000000000000" if rome else "0x0300c00000000000")]
    lines += ["clock 0x10 %s" % rates["0"], "clock 0xe8 %s" % rates["1"], "clock 0xe7 %s" % rates["2"]]
    if df > 4:
        # of eight controllers the last ones are active
        lines += ["cell %s 0xc0000301 0" % every, "global 0xc0000301", "cpuid 0x80000022 1 %#x %#x 0" % (4 * umcs << 16 | df << 10 | 6, 0xFF >> 8 - umcs << 8 - umcs)]
    for i, die in enumerate(dies if umcs else ()):
        lines.append("share %s 0xc0010800 %#x" % (_ranges(die), 0xC0010800 + 8 * umcs - 1))
        lines += ["count amd_umc_%d %#x 0x80000000 %s" % (umcs * i + n // 4, 0xC0010800 + 2 * n, _ranges(die)) for n in range(4 * umcs)]
    return "".join(x + "\n" for x in lines + list(more))
