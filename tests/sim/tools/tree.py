#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tree.py MACHINE.tab DIR: the /sys and /proc of a simulated machine.

perf takes it by SYSFS_PATH=DIR/sys, cyclade by --sysroot DIR. PMUs that the kernel at hand really has (software,
tracepoint, ...) keep their real types, since the simulated machine leaves them to the kernel. Settings of a run
(SIM_OPTIONS: watchdog=1) show here, too, if they are in the environment."""
import glob
import os
import re
import sys

REAL = "/sys/bus/event_source/devices"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "\n")


def cpulist(text):
    out = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def as_list(cpus):
    text, cpus = [], sorted(cpus)
    while cpus:
        n = 1
        while n < len(cpus) and cpus[n] == cpus[0] + n:
            n += 1
        text.append(str(cpus[0]) if n == 1 else "%d-%d" % (cpus[0], cpus[n - 1]))
        cpus = cpus[n:]
    return ",".join(text)


def real_pmus(devices, taken):
    for path in glob.glob(REAL + "/*"):
        name = os.path.basename(path)
        if name in taken:
            continue
        for sub in [path + "/type"] + glob.glob(path + "/format/*"):
            with open(sub, encoding="utf-8") as f:
                write(os.path.join(devices, name, os.path.relpath(sub, path)), f.read().strip())


class Machine:
    def __init__(self, path):
        self.pmus, self.cores, self.lines, self.socket = {}, [], [], {}
        self.title, self.cpuid, self.cpu = "", "", {}
        for line in open(path, encoding="utf-8"):
            w = line.split()
            if not w or w[0].startswith("#"):
                continue
            if w[0] == "pmu":
                self.pmus[w[1]] = dict(x.split("=") for x in w[2:])
            elif w[0] == "core":
                self.cores.append(cpulist(w[1]))
                self.socket.update((c, int(w[2]) if len(w) > 2 else 0) for c in cpulist(w[1]))
            elif w[0] == "title":
                self.title = " ".join(w[1:])
            elif w[0] == "cpuid":
                self.cpuid = w[1]
            elif w[0] == "cpu":
                self.cpu = dict(x.split("=") for x in w[1:])
            elif w[0] in ("format", "sysevent", "cap", "file"):
                self.lines.append(w)
        self.cpus = sorted(c for core in self.cores for c in core)
        self.nodes = int((re.findall(r"\bnodes=(\d+)", os.environ.get("SIM_OPTIONS", "")) or ["0"])[-1])
        if self.nodes:
            self.socket = {c: c % self.nodes for c in self.cpus}
        if re.search(r"\bsmt=1", os.environ.get("SIM_OPTIONS", "")):
            self.cores = [self.cpus[i:i + 2] for i in range(0, len(self.cpus), 2)]


def devices(m, top):
    directory = top + "/sys/bus/event_source/devices"
    real_pmus(directory, m.pmus)
    for name, keys in m.pmus.items():
        path = os.path.join(directory, name)
        write(path + "/type", keys["type"])
        write(path + "/perf_event_mux_interval_ms", "4")
        if keys.get("core") == "1" and name != "msr" and not name.startswith("ibs_"):
            write(path + "/rdpmc", "1")
        here = [c for c in cpulist(keys["cpus"]) if c in m.cpus]
        if keys.get("core") != "1":
            write(path + "/cpumask", as_list(here))
        elif name != "cpu" and name != "msr" and not name.startswith("ibs_"):
            write(path + "/cpus", as_list(here))
        os.makedirs(top + "/sys/devices", exist_ok=True)
        link = top + "/sys/devices/" + name
        if not os.path.lexists(link):
            os.symlink("../bus/event_source/devices/" + name, link)
    for w in m.lines:
        folder = {"format": "format", "sysevent": "events", "cap": "caps"}.get(w[0])
        if folder:
            write("%s/%s/%s/%s" % (directory, w[1], folder, w[2]), " ".join(w[3:]))
        else:
            write("%s/%s" % (top, w[1]), " ".join(w[2:]))


def topology(m, top):
    base = top + "/sys/devices/system/cpu"
    everyone = as_list(m.cpus)
    smt = any(len(core) > 1 for core in m.cores)
    for name in ("online", "possible", "present"):
        write(base + "/" + name, everyone)
    write(base + "/smt/active", "1" if smt else "0")
    write(base + "/smt/control", "on" if smt else "notsupported")
    for number, core in enumerate(m.cores):
        for cpu in core:
            package = as_list(c for c in m.cpus if m.socket[c] == m.socket[cpu])
            t = "%s/cpu%d/topology/" % (base, cpu)
            for name, text in (("core_id", str(number)), ("physical_package_id", str(m.socket[cpu])), ("die_id", "0"),
                               ("core_cpus_list", as_list(core)), ("thread_siblings_list", as_list(core)),
                               ("core_siblings_list", package), ("package_cpus_list", package),
                               ("die_cpus_list", package),
                               ("thread_siblings", "%x" % sum(1 << c for c in core)),
                               ("core_cpus", "%x" % sum(1 << c for c in core))):
                write(t + name, text)
            if "midr" not in m.cpu:
                write("%s/cpu%d/tsc_freq_khz" % (base, cpu), "2400000")
    node = top + "/sys/devices/system/node"
    nodes = [m.cpus[i::m.nodes] for i in range(m.nodes)] if m.nodes else [m.cpus]
    for name in ("online", "possible", "has_cpu"):
        write(node + "/" + name, as_list(range(len(nodes))))
    for n, cpus in enumerate(nodes):
        write("%s/node%d/cpulist" % (node, n), as_list(cpus))
        write("%s/node%d/meminfo" % (node, n), "Node %d MemTotal: 8000000 kB\nNode %d MemFree: 4000000 kB" % (n, n))
    shared = re.search(r"\bl3=1", os.environ.get("SIM_OPTIONS", ""))
    for cpu in m.cpus if m.nodes or shared else []:  # small caches, so that a kernel has room for memory
        own, package = str(cpu), as_list(c for c in m.cpus if m.socket[c] == m.socket[cpu])
        for index, (level, kind, size) in enumerate(((1, "Data", "16K"), (2, "Unified", "64K"), (3, "Unified", "512K"))):
            for name, text in (("level", str(level)), ("type", kind), ("size", size), ("shared_cpu_list", package if shared and level == 3 else own), ("coherency_line_size", "64"),
                               ("number_of_sets", "64"), ("ways_of_associativity", "8")):
                write("%s/cpu%d/cache/index%d/%s" % (base, cpu, index, name), text)


def proc(m, top):
    text = []
    for cpu in m.cpus:
        if "midr" in m.cpu:
            midr = int(m.cpu["midr"], 16)
            text.append("processor\t: %d\nCPU implementer\t: %#04x\nCPU architecture: 8\nCPU variant\t: %#x\n"
                        "CPU part\t: %#05x\nCPU revision\t: %d\n" % (cpu, midr >> 24, midr >> 20 & 15,
                                                                      midr >> 4 & 0xfff, midr & 15))
            path = "%s/sys/devices/system/cpu/cpu%d/regs/identification/midr_el1" % (top, cpu)
            write(path, "0x%016x" % midr)
            continue
        text.append("processor\t: %d\nvendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\nmodel name\t: %s\n"
                    "stepping\t: %s\ncpu MHz\t\t: 3000.000\nflags\t\t: fpu tsc msr apic constant_tsc arch_perfmon pebs\n"
                    % (cpu, m.cpu["vendor_id"], m.cpu["family"], m.cpu["model"], m.title, m.cpu["stepping"]))
    write(top + "/proc/cpuinfo", "\n".join(text))
    write(top + "/proc/meminfo", "MemTotal:        8000000 kB\nMemFree:         4000000 kB\nMemAvailable:    4000000 kB")
    watchdog = re.search(r"\bwatchdog=1", os.environ.get("SIM_OPTIONS", ""))
    release = (re.findall(r"\blinux=(\S+)", os.environ.get("SIM_OPTIONS", "")) or ["6.12"])[-1]
    for name, value in (("perf_event_paranoid", "-1"), ("kptr_restrict", "0"), ("nmi_watchdog", "1" if watchdog else "0"),
                        ("perf_event_max_sample_rate", "100000"), ("perf_event_mlock_kb", "516"),
                        ("hostname", "simulated"), ("osrelease", release + ".0")):
        write("%s/proc/sys/kernel/%s" % (top, name), value)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    m = Machine(sys.argv[1])
    devices(m, sys.argv[2])
    topology(m, sys.argv[2])
    proc(m, sys.argv[2])
    with open(sys.argv[2] + "/cpuid", "w", encoding="utf-8") as f:
        f.write(m.cpuid + "\n")


if __name__ == "__main__":
    main()
