# SPDX-License-Identifier: BSD-3-Clause
"""servers - whole machines for `cyclade monitor`, as tests/sim/servers.tab describes them, with what each metric comes to.

    s = server("icx")
    text = s.text()                    # a machine file (tests/sim/README.md)
    s.text({"UNC_M_CAS_COUNT.RD": 2})  # where this event counts twice as fast
    s.expected()                       # {(place, key): value} from rows of models/ and the rates
    s.config("UNC_M_CAS_COUNT.RD")     # what it is encoded as, from the vendor's facts (tests/sim/facts.tab)

A place is (kind, socket, which): ("socket", 0, None), ("l3", 0, 3), ("core", 1, 5), ("channel", 0, "2"), ("cpu", 0, 1)."""
import json
import os
import re

from tap import ROOT, run

SIM = os.path.join(ROOT, "tests", "sim")
MODELS = os.path.join(ROOT, "models")
FACT_TERMS = {"EventCode": "event", "PortMask": "ch_mask", "FCMask": "fc_mask", "RdWrMask": "rdwrmask", "EnAllCores": "enallcores",
              "EnAllSlices": "enallslices", "SliceId": "sliceid", "ThreadMask": "threadmask", "EventidCode": "eventid", "NodeType": "type"}
NAME = re.compile(r"[a-z_][\w.]*@[^@]*@|#?[A-Za-z_][\w.]*")


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [line.split() for line in f if line.strip() and not line.startswith("#")]


def rows_of(model):
    """Rows of `monitor` as models/ has them, bases applied, those of any machine first."""
    rows = {}

    def read(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                w = line.split()
                if not w or w[0].startswith("#"):
                    continue
                if w[0] == "base":
                    read(path_of(w[1]))
                    continue
                place, _, instance = w[0].partition(":")
                key = place, instance, w[1].split("=")[0]
                rows.pop(key, None) if w[2] == "absent" else rows.update({key: {
                    "place": place, "instance": instance, "key": key[2], "counter": w[2] == "counter",
                    "formula": " ".join(w[4:]).split(" ; ")[0]}})

    def path_of(name):
        return next(p for v in ("intel", "amd", "arm") for p in [os.path.join(MODELS, v, name, "monitor")] if os.path.exists(p))

    read(os.path.join(MODELS, "monitor"))
    read(path_of(model))
    return list(rows.values())


def names_of(formula):
    """Events that a formula names; `\\-` in names is a sign."""
    found = [n.replace("\\", "") for n in NAME.findall(formula)]
    return [n for n in found if n != "duration_time" and not n.startswith(("#", "tree.", "proc."))]


def put_bits(value, where):
    """The format's bits, lowest first: "config:0-7,32-35"."""
    config = 0
    for part in where.split(":")[1].split(","):
        first, _, last = part.partition("-")
        for bit in range(int(first), int(last or first) + 1):
            config |= (value & 1) << bit
            value >>= 1
    return config if not value else None


class Server:
    def __init__(self, name, words, layouts):
        self.name, self.units, self.sys = name, [], []
        self.keys = dict(w.split("=", 1) for w in words)
        self.layouts = layouts
        self.model, self.base = self.keys["model"], self.keys["base"]
        n, sockets, l3 = (int(self.keys[k]) for k in ("cpus", "sockets", "l3"))
        self.cpus = range(n)
        self.socket = {c: c * sockets // n for c in self.cpus}
        self.l3 = {c: 20 + c // l3 for c in self.cpus}
        self.core = {c: c // int(self.keys.get("threads", "1")) for c in self.cpus}
        self.facts = {w[2]: (w[1], dict(x.split("=") for x in w[3:])) for w in lines_of(os.path.join(SIM, "facts.tab"))
                      if w[0] == self.keys.get("facts", self.model)}

    # ---- what it is made of
    def targets(self, at):
        """CPUs that read a PMU's boxes."""
        of = {"socket": self.socket, "l3": self.l3, "core": self.core}.get(at)
        return [c for c in self.cpus if not of or c == min(x for x in self.cpus if of[x] == of[c])]

    def pmus(self):
        """(PMU, unit, box, CPUs, keys)"""
        for unit, pmu, keys in self.units:
            boxes, cpus = int(keys.get("boxes", "0")), self.targets(keys["at"])
            if keys.get("number") == "through":  # a number for each box of all sockets
                for i in range(boxes * len(cpus)):
                    yield "%s_%d" % (pmu, i), unit, i, [cpus[i // boxes]], keys
            else:
                for i in range(boxes) or [None]:
                    yield pmu + ("" if i is None else "_%d" % i), unit, i or 0, cpus, keys

    def boxes(self, pmu, keys):
        """Of a `sys` line: (PMU, CPUs), with number=through one for each place."""
        where = self.targets(keys["at"])
        return [("%s_%d" % (pmu, i), [c]) for i, c in enumerate(where)] if keys.get("number") else [(pmu, where)]

    def base_lines(self):
        with open(os.path.join(SIM, "machines", self.base + ".tab"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        core = {w.split()[1] for w in lines if w.startswith("pmu ") and " core=1 " in w and not re.match("pmu (msr|ibs)", w)}
        if any(u == "core" for u, _, _ in self.units):
            return [x for x in lines if x.startswith("programs ")], set()
        return [x for x in lines if x.split() and (x.split()[0] == "programs" or len(x.split()) > 1 and x.split()[1] in core or
                                                   x.startswith(("alias", "plant ", "machine ")) or "midr" in x)], core

    def base_rates(self):
        lines, core = self.base_lines()
        if not core:
            return {}
        return {m.group(1): float(m.group(2)) for m in (re.match(r"event (?:%s) \S+ \S+ \S+ \S+ \S+ \S+ (\S+) (\S+)" % "|".join(core), x)
                                                        for x in lines) if m}

    def config(self, event, keys=None):
        """(config, config1) of an event by the facts and the layout of its PMU; None: it does not fit."""
        unit, facts = self.facts[event]
        keys = keys or next(k for u, _, k in self.units if u == unit)
        layout = self.layouts[keys["layout"]]
        facts = {k: int(v, 0) for k, v in facts.items()}
        terms = {FACT_TERMS[k]: v for k, v in facts.items() if k in FACT_TERMS}
        umask = facts.get("UMask", 0) | facts.get("UMaskExt", 0) << 8
        parts = [put_bits(v, layout[k]) if k in layout else None for k, v in {**terms, **({"umask": umask} if umask else {})}.items()]
        return None if None in parts else (sum(parts), facts.get("FILTER_VALUE", 0) << 32)

    def names(self):
        """Names in formulas that something here counts, and each one's rate (per ns) in its first box."""
        wanted = sorted({n.replace(".ONE_UNIT", "") for row in rows_of(self.model) for n in names_of(row["formula"])})
        units, core, out = {u for u, _, _ in self.units}, self.base_rates(), {}
        for i, n in enumerate(wanted):
            if "@" in n:
                found = [k for p, e, k in self.sys if n == "%s@%s@" % (p, e)]
                out.update({n: float(k["rate"]) for k in found})
            elif n in self.facts and self.facts[n][0] in units and self.config(n):
                out[n] = 0.05 + 0.0131 * i
            elif n.lower() in {c.lower() for c in core}:
                out[n] = next(v for c, v in core.items() if c.lower() == n.lower())
        return out

    @staticmethod
    def of_box(rate, box):
        return rate * (1 + box / 8)

    # ---- the machine file
    def text(self, times=None, cpus=None):
        times, rates = times or {}, self.names()
        base, _ = self.base_lines()
        out = ["title " + self.keys.get("title", self.name).replace("_", " "), "cpuid " + self.keys["cpuid"]]
        if not any("midr" in x for x in base):
            v, family, model, stepping = self.keys["cpuid"].split("-")
            out.append("cpu vendor_id=%s family=%d model=%d stepping=%s" % (v, int(family), int(model, 16), stepping))
        for core in sorted(set(self.core.values())):
            mine = [c for c in self.cpus if self.core[c] == core]
            out.append("core %s %d" % ("-".join(str(c) for c in sorted({mine[0], mine[-1]})), self.socket[mine[0]]))
        out += ["file sys/devices/system/cpu/cpu%d/cache/index3/%s %d" % (c, k, v) for c in self.cpus for k, v in (("level", 3), ("id", self.l3[c]))]
        for i in range(1, int(self.keys.get("nodes", "1"))):  # of CPUs in turn; which, nobody should care
            out.append("file sys/devices/system/node/node%d/cpulist %d" % (i, i % len(self.cpus)))
        if "fabric" in self.keys:
            out.append("file cyclade/facts fabric counters: " + self.keys["fabric"])
        for x in base:
            w = x.split()
            if w[0] == "event" and times.get(w[8]):
                w[9:] = ["%r" % (float(r) * times[w[8]]) for r in w[9:]]
            out.append(" ".join(w))
        kinds = {}
        for i, (pmu, unit, box, where, keys) in enumerate(self.pmus()):
            kinds[pmu] = unit
            out.append("pmu %s type=%d counters=%s cpus=%s driver=%s" % (pmu, 4 if unit == "core" else 200 + i, keys.get("counters", "4"), ",".join(map(str, where)),
                                                                       "amd core=1 watchdog=1 raw=1" if unit == "core" else "uncore"))
            out += ["format %s %s %s" % (pmu, term, bits) for term, bits in self.layouts[keys["layout"]].items()]
            for name, rate in rates.items():
                if name in self.facts and self.facts[name][0] == unit:
                    flags = "P" if unit == "core" and self.facts[name][1]["EventCode"] == "0x3" else "W" if unit != "core" else "-"
                    out.append("event %s %#x %#x 0xffffffff 0 %s 0 %s %r" % (pmu, *self.config(name, keys), flags, name,
                                                                     self.of_box(rate, box) * times.get(name, 1)))
        done = set()
        for k, (pmu, event, keys) in enumerate(self.sys):
            terms = dict(x.split(":") for x in keys["terms"].split(","))
            config = sum(put_bits(int(v, 0), self.layouts[keys["layout"]][t]) for t, v in terms.items())
            name = "%s@%s@" % (pmu, event)
            for box, (own, where) in enumerate(self.boxes(pmu, keys)):
                if own not in done:
                    out.append("pmu %s type=%d %s cpus=%s driver=%s" % (own, 300 + 8 * k + box, "core=1 precise=0" if pmu == "msr" else "counters=4",
                                                                        ",".join(map(str, where)), "msr" if pmu == "msr" else "uncore"))
                    out += ["format %s %s %s" % (own, t, b) for t, b in self.layouts[keys["layout"]].items()]
                done.add(own)
                out.append("sysevent %s %s %s" % (own, event, ",".join("%s=%s" % x for x in terms.items())))
                out += ["sysevent %s %s.%s %s" % (own, event, k, keys[k]) for k in ("scale", "unit") if k in keys]
                out.append("event %s %#x 0 %s 0 %s 0 %s %r" % (own, config, "0xf" if "counted" in keys else "0", "W" if "counted" in keys else "NW",
                                                              name, self.of_box(float(keys["rate"]), box) * times.get(name, 1)))
        return "\n".join(out) + "\n"

    # ---- what comes out
    def places(self, row):
        for s in sorted(set(self.socket.values())):
            mine = [c for c in self.cpus if self.socket[c] == s]
            if row["place"] == "socket":
                yield ("socket", s, None), mine, None
            elif row["place"] in ("l3", "core", "cpu"):
                of = {"l3": self.l3, "core": self.core, "cpu": {c: c for c in self.cpus}}[row["place"]]
                for i in sorted({of[c] for c in mine}):
                    yield (row["place"], s, i), [c for c in mine if of[c] == i], None
            elif row["place"] in ("channel", "link") and row["instance"] != "*":
                yield (row["place"], s, row["instance"]), mine, None
            elif row["place"] in ("channel", "link"):
                unit = self.facts[names_of(row["formula"])[0]][0]
                for pmu, u, _, where, _ in self.pmus():
                    if u == unit and set(where) & set(mine):
                        yield (row["place"], s, pmu.rpartition("_")[2]), mine, pmu

    def count(self, name, cpus, pmu, times):
        """Of a second; None: nothing of the place counts it."""
        one, name = name.endswith(".ONE_UNIT"), name.replace(".ONE_UNIT", "")
        rate = self.rates.get(name)
        if rate is None:
            return None
        rate *= 1e9 * times.get(name, 1)
        if "@" in name:
            keys = next(k for p, e, k in self.sys if name == "%s@%s@" % (p, e))
            found = [self.of_box(rate, i) * len(set(where) & set(cpus)) for i, (_, where) in enumerate(self.boxes(name.split("@")[0], keys))]
            return sum(found) * float(keys.get("scale", "1")) or None
        if name not in self.facts or self.facts[name][0] not in {u for u, _, _ in self.units}:
            return len(cpus) * rate
        found = [self.of_box(rate, box) * len(set(where) & set(cpus)) for p, u, box, where, _ in self.pmus()
                 if u == self.facts[name][0] and (pmu is None or p == pmu) and not (one and box)]
        return sum(found) or None

    def expected(self, times=None):
        times, out = times or {}, {}
        self.rates = self.names()
        for row in rows_of(self.model):
            if "tree." in row["formula"] or "proc." in row["formula"] or not names_of(row["formula"]):
                continue
            for place, cpus, pmu in self.places(row):
                values = {n: self.count(n, cpus, pmu, times) for n in names_of(row["formula"])}
                if None in values.values():
                    continue
                text = NAME.sub(lambda m: {"duration_time": "1", "#system_tsc_freq": "2.4e9"}.get(m.group(0)) or
                                repr(values[m.group(0).replace("\\", "")]), row["formula"])
                out[place, row["key"] + ("_rate" if row["counter"] else "")] = eval(text)  # our own rows
        return out

    def tree_events(self):
        """{(place, key): names of events that its formula, all of the tree's below it included, can ask for}"""
        doc = {}
        for what in ("nodes", "metrics"):
            for x in json.loads(run("list", what, "--model", self.model, "-j").stdout)[what]:
                doc[x["name"].lower()] = x["formula"] or ""
        memo = {}

        def names(node):
            if node not in memo:
                memo[node] = set()
                found = {n.lower() for n in re.findall(r"#{0,2}[A-Za-z_][\w.]*", doc.get(node, ""))}
                memo[node] = set().union(found, *[names(n.lstrip("#") if n.startswith("##") else n) for n in found if n != node])
            return memo[node]
        return {(r["place"], r["key"]): names(re.search(r"tree\.(\w+)", r["formula"]).group(1).lower()) for r in rows_of(self.model) if "tree." in r["formula"]}


TABLE = lines_of(os.path.join(SIM, "servers.tab"))
LAYOUTS = {w[1]: dict(x.split("=") for x in w[2:]) for w in TABLE if w[0] == "layout"}


def _read():
    found = {}
    for w in TABLE:
        if w[0] == "server":
            last = found[w[1]] = Server(w[1], w[2:], LAYOUTS)
        elif w[0] == "unit":
            last.units.append((w[1], w[2], dict(x.split("=") for x in w[3:])))
        elif w[0] == "sys":
            last.sys.append((w[1], w[2], dict(x.split("=", 1) for x in w[3:])))
    return found


def server(name):
    return _read()[name]


def servers():
    return list(_read())
