# SPDX-License-Identifier: BSD-3-Clause
"""second - a second reading of models/ (doc/model-format.md), as one Python function a model.

    text = Text(root, "spr")                    rows, their order, names of events
    w = World(text, events, facts)              names looked up; facts of the machine, NAN: not known
    values, flags = w.run(counts, latency)      a value for each row; NAN: not measured

Formulas are cut into trees by formulas.Reader; here names get their meaning and trees become Python. A value
that cannot be told is NAN or infinite on its way (+, - and * keep it so), every other operator asks.
"""
import glob
import os

import formulas

NAN = float("nan")
BIG = 1.7976931348623157e308
FACTS = 14
SMT, CORE_WIDE, TSC, DURATION = 0, 1, 9, 12
# words of either language, as they are written; then perf's, in any case
WORDS = {"TSC": 9, "#core_wide": 1, "#has_pmem": 11, "#num_cores": 4, "#num_cpus": 2, "#num_cpus_online": 3,
         "#num_dies": 5, "#num_packages": 6, "#slots": 10, "#system_tsc_freq": 8}
OWN = {"#smt_on": 0, "#core_wide": 1, "#durationtimeinseconds": 12, "duration_time": 12}
OWN_PERF = {"#has_pmem": 11, "#num_cores": 4, "#num_cpus": 2, "#num_cpus_online": 3, "#num_dies": 5,
            "#num_packages": 6, "#slots": 10, "#system_tsc_freq": 8}


# ---- texts ----

def statements(root, model, name):
    """(keyword, value) of a file, those of its base first."""
    out = []
    for path in glob.glob(os.path.join(root, "*", model, name)):
        for line in open(path, encoding="utf-8"):
            if not line.strip() or line.startswith("#"):
                continue
            key, _, value = line.strip().partition(" ")
            if key == "base" and not out:
                out = statements(root, value.strip(), name)
            else:
                out.append((key, value.strip()))
    return out


class Text:
    def __init__(self, root, model):
        self.facts = dict(statements(root, model, "model"))
        self.rows, self.order, self.events = {}, [], set()
        for name in ("tree", "metrics"):
            self.read(statements(root, model, name))
        for name, value in statements(root, model, "events"):
            if name == "absent":
                self.events.discard(value.lower())
            else:
                self.events.add(name.lower())
        self.order = [k for k in self.order if not self.rows[k].get("absent")]

    def read(self, lines):
        perf, row = self.facts.get("language") == "perf", None
        for key, value in lines:
            if key == "language":
                perf = value == "perf"
            elif key in ("node", "metric"):
                k = value.lower()
                row = self.rows.setdefault(k, {"absent": True, "name": value})
                if row.get("absent"):
                    row = self.rows[k] = {"name": row["name"]}
                    if k in self.order:
                        self.order.remove(k)
                    self.order.append(k)
                row["node"] = key == "node"
            elif key == "after":
                k = row["name"].lower()
                self.order.remove(k)
                self.order.insert(self.order.index((row["parent"] if value == "-" else value).lower()) + 1, k)
            elif key == "absent":
                row["absent"] = True
            elif value == "-":
                row.pop(key, None)
            else:
                row[key] = value
                if key == "expr":
                    row["perf"] = perf

    def children(self, k):
        return [c for c in self.order if self.rows[c].get("parent", "").lower() == k]


class Word(str):
    """A name, and the factor that stood before it: a $PEBS means the nearest that is an event."""
    before = None


class Reader(formulas.Reader):
    """Names are left as they stand."""

    def name(self, s, event):
        if self.subject and self.sheet and s == "P":
            return ("number", 1.0)
        w = Word(s)
        w.before = event
        return ("event", w)


cuts = {}


def cut(text, sheet, subject=None):
    key = text, sheet, subject
    if key not in cuts:
        cuts[key] = Reader(sheet, subject).cut(formulas.words(text, sheet))
    return cuts[key]


# ---- operators on what may not be known ----

def known(*v):
    return all(-BIG <= x <= BIG for x in v)


def div(a, b):
    return a / b if b and -BIG <= b <= BIG else NAN


def ratio(a, b):
    return a / b if b and -BIG <= b <= BIG else NAN if not known(a, b) else 0.0


def mod(a, b):
    r = formulas.apply("%", a, b) if known(a, b) else None
    return NAN if r is None else r


def lt(a, b):
    return float(a < b) if known(a, b) else NAN


def le(a, b):
    return float(a <= b) if known(a, b) else NAN


def eq(a, b):
    return float(a == b) if known(a, b) else NAN


def least(a, b):
    return (a if a < b else b) if known(a, b) else NAN


def most(a, b):
    return (a if a > b else b) if known(a, b) else NAN


def choose(a, c, b):
    return (a if c else b) if known(c) else NAN


def both(a, b):
    if a == 0 or b == 0:
        return 0.0
    return 1.0 if known(a, b) else NAN


def either(a, b):
    if known(a) and a or known(b) and b:
        return 1.0
    return 0.0 if known(a, b) else NAN


def one(a, b):
    return float(bool(a) != bool(b)) if known(a, b) else NAN


def total(values):
    """Of those that were counted; not counted anywhere is not 0."""
    sum_, any_ = 0.0, False
    for v in values:
        if v == v:
            sum_ += v
            any_ = True
    return sum_ if any_ else NAN


CALLS = {"/": div, "%": mod, "d_ratio": ratio, "<": lt, "<=": le, "==": eq, "min": least, "max": most, "if": choose,
         "&": both, "|": either, "^": one}
PLAIN, COUNT = "plain", "count"


class World:
    def __init__(self, text, events, facts):
        self.text, self.facts = text, facts
        self.event = {e.lower(): i for i, e in enumerate(events)}
        self.rows, self.tree, self.nature, self.constant = {}, {}, {}, {}
        self.split, self.passed, self.chained = [], {}, False
        lines, per_lp, done = [], [], set()
        for k in text.order:
            self.row(k, lines)
        for k in text.order:
            self.threshold(k)
        while self.split:  # rows that a min or max takes on each processor
            k = self.split.pop()
            if k not in done:
                done.add(k)
                per_lp.append("def P%d(p):\n return %s" % (self.rows[k], self.python(self.tree[k], True)))
        names = {f.__name__: f for f in CALLS.values()}
        names.update(total=total, NAN=NAN, S=facts)
        source = "\n".join(per_lp) + "\ndef values():\n" + "\n".join(" " + x for x in lines or ["pass"])
        source += "\ndef flags():\n" + "\n".join(" " + x for _, x in sorted(self.passed.items()) or [(0, "pass")])
        exec(compile(source, "model", "exec"), names)
        self.names = names

    # ---- what names stand for ----

    def row(self, k, lines):
        """The row's index, after those it needs."""
        if k in self.rows:
            if self.rows[k] is None:
                raise formulas.Bad("%s needs itself" % k)
            return self.rows[k]
        self.rows[k] = None
        if k.startswith("##"):
            t = None
            for c in self.text.children(k[2:]):
                name = ("event", Word(self.text.rows[c]["name"]))
                t = ("+", t, name) if t else name
            perf = True
        else:
            row = self.text.rows[k]
            perf = row["perf"]
            t = cut(row["expr"], not perf)
        t = self.tree[k] = self.meaning(t, perf, lines)
        self.rows[k] = len(lines)
        self.nature[k] = self.natures(t)
        lines.append("M[%d] = %s" % (self.rows[k], self.python(t, False)))
        if not self.needs(t):
            # nothing is counted for it: a plain number
            v = eval(self.python(t, False), {f.__name__: f for f in CALLS.values()}, {"S": self.facts, "NAN": NAN})
            if known(v):
                self.constant[k] = v
        return self.rows[k]

    def meaning(self, t, perf, lines):
        if t[0] == "event":
            return self.named(t[1], perf, lines)
        if t[0] in ("number", "absent"):
            return t
        return (t[0],) + tuple(self.meaning(x, perf, lines) for x in t[1:])

    def named(self, s, perf, lines):
        low = s.lower()
        if low.startswith("##"):
            gone = self.text.rows[low[2:]].get("absent") or not self.text.children(low[2:])
            return ("absent",) if gone else self.metric(low, lines)
        if low in self.text.rows:
            return ("absent",) if self.text.rows[low].get("absent") else self.metric(low, lines)
        if s in WORDS:
            return ("system", WORDS[s])
        if s == "$PEBS":
            s = s.before
            while s.lower() in self.text.rows:
                s = s.before
            return ("latency", self.event[s.lower()])
        if low in self.event:
            base = low[4:] if perf and low.startswith("cpu/") else low
            for c in ":,/" if perf else ":":
                base = base.split(c)[0]
            if base not in self.text.events:
                raise formulas.Bad("no event %s" % s)
            return ("event", self.event[low])
        for end in (":R", "@R", "/R", ":retire_latency"):
            if low.endswith(end.lower()):
                return ("latency", self.event[low[:-1] if end == "/R" else low[:-len(end)]])
        if low == "#ebs_mode":
            return ("<", ("system", CORE_WIDE), ("number", 1.0))
        if low in OWN or perf and low in OWN_PERF:
            return ("system", OWN.get(low, OWN_PERF.get(low)))
        raise formulas.Bad("no meaning of %s" % s)

    def metric(self, k, lines):
        self.row(k, lines)
        return ("number", self.constant[k]) if k in self.constant else ("metric", k)

    def needs(self, t):
        if t[0] in ("event", "metric", "latency"):
            return True
        return any(self.needs(x) for x in t[1:] if isinstance(x, tuple))

    # ---- counts, which min and max take on each processor ----

    def natures(self, t):
        if t[0] == "event":
            return COUNT
        if t[0] in ("number", "latency", "system"):
            return PLAIN
        if t[0] == "metric":
            return self.nature[t[1]]
        if t[0] == "absent":
            return ""
        k = [self.natures(x) for x in t[1:]]
        like = [x == COUNT or y == ("number", 0.0) for x, y in zip(k, t[1:])]
        if all(x == PLAIN for x in k):
            return PLAIN
        if t[0] in ("+", "-", "neg") and all(x == COUNT for x in k):
            return COUNT
        if t[0] == "*" and sorted(k) == [COUNT, PLAIN] or t[0] == "/" and k == [COUNT, PLAIN]:
            return COUNT
        if t[0] in ("min", "max") and all(like) and COUNT in k:
            return COUNT
        if t[0] == "if" and like[0] and like[2] and COUNT in (k[0], k[2]):
            return COUNT
        return ""

    # ---- Python ----

    def python(self, t, each, truth=False):
        op = t[0]
        if op == "number":
            return repr(t[1])
        if op == "absent":
            return "NAN"
        if op == "event":
            return "C[%d][p]" % t[1] if each else "W[%d]" % t[1]
        if op == "latency":
            return "L[%d]" % t[1]
        if op == "system":
            return "S[%d]" % t[1]
        if op == "metric":
            if truth:
                self.chained = True
                return "T[%d]" % self.rows[t[1]]
            if not each:
                return "M[%d]" % self.rows[t[1]]
            self.split.append(t[1])
            return "P%d(p)" % self.rows[t[1]]
        if op in "&|^":
            return "%s(%s, %s)" % (CALLS[op].__name__, self.python(t[1], False, truth), self.python(t[2], False, truth))
        if op == "if":
            return "choose(%s, %s, %s)" % (self.python(t[1], each), self.python(t[2], False), self.python(t[3], each))
        if op in ("min", "max") and not each and self.natures(t) == COUNT:
            return "total([%s for p in range(n)])" % self.python(t, True)
        k = [self.python(x, each) for x in t[1:]]
        if op == "neg":
            return "-(%s)" % k[0]
        if op in "+-*":
            k = [x if t[i + 1][0] in ("event", "metric", "latency", "system") or i == 0 and op in "+-" else "(%s)" % x
                 for i, x in enumerate(k)]
            return "%s %s %s" % (k[0], op, k[1])
        if op in (">", ">="):
            op, k = op.replace(">", "<"), k[::-1]
        return "%s(%s, %s)" % (CALLS[op].__name__, k[0], k[1])

    def threshold(self, k):
        row = self.text.rows[k]
        if "flag" not in row:
            return
        t = self.meaning(cut(row["flag"], not row["perf"], row["name"]), row["perf"], None)
        # in a sheet's, a metric that stands for a truth asks whether that one is over
        self.passed[self.rows[k]] = "T[%d] = %s" % (self.rows[k], self.python(t, False, not row["perf"]))

    def run(self, counts, latency, n):
        """counts: by event a list of each processor's. Two lists by row: values, and thresholds."""
        g = self.names
        g.update(C=counts, W=[total(c) for c in counts], n=n, L=latency, M=[NAN] * len(self.rows), T=[NAN] * len(self.rows))
        g["values"]()
        for _ in range(8 if self.chained else 1):
            g["flags"]()
        return g["M"], g["T"]
