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
