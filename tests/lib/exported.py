# SPDX-License-Identifier: BSD-3-Clause
"""exported - independent readers of what `cyclade export` writes: profile.proto from the description of
the format, and the tables of the Firefox profiler with everything checked that refers to something."""
import gzip
import json


def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if b[at - 1] < 128:
            return v, at


def message(b):
    """[(field, value)]: numbers, and bytes."""
    at, out = 0, []
    while at < len(b):
        key, at = varint(b, at)
        assert key & 7 in (0, 2), "wire type %d" % (key & 7)
        v, at = varint(b, at)
        if key & 7 == 2:
            assert at + v <= len(b)
            v, at = b[at:at + v], at + v
        out.append((key >> 3, v))
    return out


def numbers(b):
    at, out = 0, []
    while at < len(b):
        v, at = varint(b, at)
        out.append(v)
    return out


class Pprof:
    """types [(type, unit)], samples [(stack of locations leaf first, values, labels)], ..."""

    def __init__(self, data):
        fields = message(gzip.decompress(data))
        assert {f for f, _ in fields} <= set(range(1, 15))
        self.strings = [v.decode("utf-8") for f, v in fields if f == 6]
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        one = {f: v for f, v in fields if f in (9, 10, 12, 14)}
        self.time, self.duration, self.period = one.get(9), one.get(10), one.get(12)
        self.default = self.strings[one.get(14, 0)]
        self.types = [self.value_type(v) for f, v in fields if f == 1]
        self.period_type = [self.value_type(v) for f, v in fields if f == 11]
        self.mappings = self.table(fields, 3)
        self.functions = self.table(fields, 5)
        self.locations = self.table(fields, 4)
        self.comments = [self.strings[v] for f, v in fields if f == 13]
        self.samples = [self.sample(message(v)) for f, v in fields if f == 2]

    def value_type(self, b):
        m = dict(message(b))
        return self.strings[m.get(1, 0)], self.strings[m.get(2, 0)]

    def table(self, fields, which):
        out = {}
        for f, v in fields:
            if f != which:
                continue
            row = {"lines": []}
            for k, x in message(v):
                if which == 4 and k == 4:
                    line = dict(message(x))
                    assert line[1] in self.functions
                    row["lines"].append((line[1], line.get(2, 0)))
                else:
                    assert k not in row
                    row[k] = x
            assert row[1] and row[1] not in out, "ids are unique and not 0"
            if which == 4 and row.get(2):
                m = self.mappings[row[2]]
                assert m.get(2, 0) <= row.get(3, 0) < m[3], "an address lies in its mapping"
            out[row[1]] = row
        return out

    def sample(self, fields):
        stack, values, labels = [], [], {}
        for k, v in fields:
            if k == 1:
                stack += numbers(v)
            elif k == 2:
                values += numbers(v)
            else:
                m = dict(message(v))
                labels[self.strings[m[1]]] = self.strings[m[2]] if 2 in m else m.get(3, 0)
        assert len(values) == len(self.types) and all(x in self.locations for x in stack)
        return stack, values, labels

    def name(self, function):
        return self.strings[self.functions[function].get(2, 0)]

    def frames(self, stack):
        """Names, outermost first, inlined ones too; what has no name as its place in the file."""
        out = []
        for depth, at in enumerate(stack):
            row = self.locations[at]
            if row["lines"]:
                out += [self.name(f) for f, _ in row["lines"]]
            else:
                m = self.mappings.get(row.get(2, 0))
                place = row.get(3, 0) - m.get(2, 0) + m.get(4, 0) if m else row.get(3, 0)
                out.append("0x%016x" % (place + (depth > 0 and place > 0)))
        return out[::-1]


def columns(table, *but):
    """Every column has as many cells as the table says."""
    for k, v in table.items():
        assert k in ("length",) + but or len(v) == table["length"], k
    return table["length"]


class Firefox:
    def __init__(self, text):
        p = json.loads(text)
        self.p = p
        s = p["shared"]
        self.meta, self.threads, self.strings = p["meta"], p["threads"], s["stringArray"]
        assert self.meta["preprocessedProfileVersion"] == 62 and self.meta["version"] == 24
        assert self.meta["categories"][0]["color"] == "grey" and self.meta["interval"] > 0
        frames, funcs, stacks = (columns(s[t]) for t in ("frameTable", "funcTable", "stackTable"))
        res, src = columns(s["resourceTable"]), columns(s["sources"])
        columns(s["nativeSymbols"])

        def within(column, n, null=None):
            assert all(v == null or 0 <= v < n for v in column)
        within(s["frameTable"]["func"], funcs)
        within(s["frameTable"]["category"], len(self.meta["categories"]))
        within(s["funcTable"]["name"], len(self.strings))
        within(s["funcTable"]["resource"], res, -1)
        within(s["funcTable"]["source"], src)
        within(s["stackTable"]["frame"], frames)
        within(s["resourceTable"]["lib"], len(p["libs"]))
        within(s["resourceTable"]["name"], len(self.strings))
        within(s["sources"]["filename"], len(self.strings))
        assert all(v is None or v < i for i, v in enumerate(s["stackTable"]["prefix"]))
        for t in self.threads:
            columns(t["markers"])
            n = columns(t["samples"], "weight", "weightType")
            within(t["samples"]["stack"], stacks)
            assert n and all(d >= 0 for d in t["samples"]["timeDeltas"])
            assert isinstance(t["pid"], str) and isinstance(t["tid"], str)
            assert t["isMainThread"] == (t["pid"] == t["tid"])
        for lib in p["libs"]:
            assert set(lib) == {"arch", "breakpadId", "codeId", "debugName", "debugPath", "name", "path"}

    def frames(self, stack):
        s, out = self.p["shared"], []
        while stack is not None:
            func = s["frameTable"]["func"][s["stackTable"]["frame"][stack]]
            out.append(self.strings[s["funcTable"]["name"][func]])
            stack = s["stackTable"]["prefix"][stack]
        return out[::-1]

    def times(self, thread):
        at, out = 0.0, []
        for d in thread["samples"]["timeDeltas"]:
            at += d
            out.append(at)
        return out


class Perfetto:
    """A Perfetto trace, read by the numbers of github.com/google/perfetto's .proto files. Fields that
    this reader does not know are errors, names must be defined before they are used.

    threads {tid: (pid, name)}, processes {pid: name}, states [(time, tid, state, cpu, comm)],
    slices [(tid, from, until, name, category, notes)], samples [(event, time, cpu, pid, tid, frames
    outermost first, count)], counts {track name: [(time, value)]}, facts {}, clocks"""

    PACKET = {6, 8, 10, 11, 12, 13, 59, 60, 66, 87, 117}
    STATES = {0: "unknown", 2: "runnable", 3: "running", 4: "sleep", 6: "stopped", 7: "dead"}

    def __init__(self, data):
        self.names, self.seen, self.track = {}, set(), {}
        self.threads, self.processes, self.events = {}, {}, {}
        self.states, self.slices, self.samples, self.counts = [], [], [], {}
        self.facts, self.clocks, self.primary, self.open = {}, {}, None, {}
        for f, v in message(data):
            assert f == 1, "a trace is packets"
            self.packet(message(v))
        assert not any(self.open.values()), "all slices end"

    def one(self, fields, known):
        assert {f for f, _ in fields} <= known, "unknown fields %s" % sorted({f for f, _ in fields} - known)
        got = dict(fields)
        assert len(got) == len(fields), "a field twice"
        return got

    def packet(self, fields):
        p = self.one(fields, self.PACKET)
        seq = p[10]
        if p.get(13) == 1:
            assert seq not in self.seen and p.get(87) == 1
            self.seen.add(seq)
        else:
            assert p.get(13) == 2 and seq in self.seen, "names are numbered from a first packet on"
        for f, v in message(p.get(12, b"")):
            self.intern(seq, f, message(v))
        if 59 in p:
            base = dict(message(dict(message(dict(message(p[59]))[12]))[1]))
            self.events[seq] = base[10].decode()
        if 60 in p:
            self.descriptor(message(p[60]))
        if 6 in p:
            for f, v in message(p[6]):
                if f == 1:
                    self.clocks[dict(message(v))[1]] = dict(message(v))[2]
                else:
                    self.primary = v
        if 11 in p:
            self.event(seq, p[8], message(p[11]))
        if 117 in p:
            s = self.one(message(p[117]), {1, 2, 3, 4})
            self.states.append((p[8], s[3], self.STATES[s[4]], s.get(1, 0), s[2].decode()))
        if 66 in p:
            self.sample(seq, p[8], self.one(message(p[66]), {1, 2, 3, 4, 5, 6}))

    def intern(self, seq, table, fields):
        iid = dict(fields)[1]
        assert iid and (seq, table, iid) not in self.names
        if table == 7:
            v = [x for f, x in fields if f == 2]
            assert all((seq, 6, x) in self.names for x in v)
        elif table == 6:
            v = self.one(fields, {1, 2, 3, 4, 5, 6})
            assert (seq, 19, v[3]) in self.names and (seq, 5, v[2]) in self.names and 4 in v
            assert 5 not in v or (seq, 18, v[5]) in self.names
        elif table == 19:
            v = self.one(fields, {1, 2, 7})
            assert (seq, 17, v[7]) in self.names and (2 not in v or (seq, 16, v[2]) in self.names)
        else:
            assert table in (1, 2, 3, 5, 16, 17, 18)
            v = self.one(fields, {1, 2})[2]
            v = v if table == 16 else v.decode("utf-8")
        self.names[seq, table, iid] = v

    def descriptor(self, fields):
        d = self.one(fields, {1, 2, 3, 4, 5, 8})
        assert d[1] not in self.track
        if 3 in d:
            m = self.one(message(d[3]), {1, 6})
            self.track[d[1]] = ("process", m[1])
            self.processes[m[1]] = m[6].decode()
        elif 4 in d:
            m = self.one(message(d[4]), {1, 2, 5})
            assert self.track[d[5]] == ("process", m[1])
            self.track[d[1]] = ("thread", m[2])
            self.threads[m[2]] = (m[1], m[5].decode())
        elif 8 in d:
            assert dict(message(d[8])) == {3: 2}
            self.track[d[1]] = ("counter", d[2].decode())
        else:
            self.track[d[1]] = ("own", d[2].decode())

    def notes(self, seq, fields):
        out = {}
        for f, v in fields:
            if f == 4:
                m = dict(message(v))
                name = m[10].decode() if 10 in m else self.names[seq, 3, m[1]]
                out[name] = m[6].decode() if 6 in m else bool(m[2])
        return out

    def event(self, seq, time, fields):
        e = self.one([x for x in fields if x[0] != 4], {3, 9, 10, 11, 23, 30})
        kind, at = self.track[e[11]]
        if e[9] == 4:
            assert kind == "counter"
            self.counts.setdefault(at, []).append((time, e[30]))
        elif e[9] == 3:
            assert kind == "own"
            self.facts = self.notes(seq, fields)
        elif e[9] == 1:
            assert kind == "thread" and not self.open.get(at), "waits of a thread do not overlap"
            self.open[at] = (at, time, self.names[seq, 2, e[10]], self.names[seq, 1, e[3]], self.notes(seq, fields))
        else:
            assert e[9] == 2 and set(e) == {9, 11}
            tid, start, name, category, notes = self.open[at]
            assert time > start
            self.open[at] = None
            self.slices.append((tid, start, time, name, category, notes))

    def sample(self, seq, time, s):
        frames = []
        for i in self.names[seq, 7, s[4]]:
            f = self.names[seq, 6, i]
            frames.append(self.names[seq, 5, f[2]])
        self.samples.append((self.events[seq], time, s.get(1), s.get(2), s.get(3), frames, s[6]))
