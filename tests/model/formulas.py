# SPDX-License-Identifier: BSD-3-Clause
"""formulas - a second reading of both formula languages, and where formulas are to be found.

Read by cutting, not by climbing: of a run of words the loosest operator outside parentheses is
found and the run is cut there, until single words are left. Shares nothing with the program.
"""
import csv
import glob
import json
import math
import operator
import os
import re
import subprocess

# ---- words ----

PERF_WORD = re.compile(r"""\s*(?:
    (?P<name>\#[0-9a-zA-Z_.\-]+ | (?:\\[-,=]|[0-9a-zA-Z_.:@?])+)
  | (?P<number>(?:[0-9]+\.?[0-9]*|[0-9]*\.?[0-9]+)(?:e-?[0-9]+)?)
  | (?P<op>[-+*/%<>|^&(),]))""", re.X)
SHEET_WORD = re.compile(r"""\s*(?:
    (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
  | "(?P<quoted>[^"]+)"
  | (?P<name>(?:\$|\#\#?)?[A-Za-z_.][A-Za-z0-9_.]*(?::[A-Za-z0-9_.]+(?:=[A-Za-z0-9_.]+)?)*(?:\(%\)|\[[0-9]+\])?)
  | (?P<op><\s*=|>\s*=|==|&&|\|\||[-+*/%<>|^&(),]))""", re.X)
NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|[0-9]*\.?[0-9]+)(?:e-?[0-9]+)?")


class Bad(Exception):
    pass


def words(text, sheet):
    out, at = [], 0
    if sheet:
        text = text.split(";")[0]
    text = text.rstrip()
    while at < len(text):
        m = (SHEET_WORD if sheet else PERF_WORD).match(text, at)
        if not m:
            raise Bad("at %d of %r" % (at, text))
        at = m.end()
        kind = m.lastgroup
        s = m.group(kind)
        if kind == "name" and not sheet:
            more = NUMBER.match(text, m.start(kind))
            if more and more.end() >= m.end():  # at least as long: a number goes first
                out.append(("number", float(more.group())))
                at = more.end()
                continue
            s = re.sub(r"\\(.)", r"\1", s).replace("@", "/")
        if kind == "op":
            s = re.sub(r"\s", "", s)
            s = {"&&": "&", "||": "|"}.get(s, s)
            out.append(("op", s))
        elif kind == "number":
            out.append(("number", float(s)))
        elif s in ("if", "else"):
            out.append(("op", s))
        elif s in ("min", "max") or not sheet and s in ("d_ratio", "has_event", "source_count", "strcmp_cpuid_str"):
            out.append(("call", s))
        elif s == "NaN" and not sheet or s == "#NA":
            out.append(("absent", s))
        else:
            out.append(("name", s))
    return out


# ---- reading ----

LOOSE = [{"|"}, {"^"}, {"&"}, {"<", ">", "<=", ">=", "=="}, {"+", "-"}, {"*", "/", "%"}]


class Reader:
    def __init__(self, sheet, subject=None):
        self.sheet, self.subject, self.names = sheet, subject, set()

    def cut(self, w, event=None):
        """A run of words as a nested tuple."""
        if not w:
            if self.subject:
                return self.name(self.subject, None)
            raise Bad("nothing")
        top, level = [], 0
        for i, (kind, s) in enumerate(w):
            if kind == "op" and s == "(":
                level += 1
            if level == 0:
                top.append(i)
            if kind == "op" and s == ")":
                level -= 1
                if level < 0:
                    raise Bad("parentheses")
        if level:
            raise Bad("parentheses")
        ifs = [i for i in top if w[i] == ("op", "if")]
        if ifs:
            elses = [i for i in top if w[i] == ("op", "else") and i > ifs[0]]
            return ("if", self.cut(w[:ifs[0]], event), self.cut(w[ifs[0] + 1:elses[0]], event),
                    self.cut(w[elses[0] + 1:], event))
        for ops in LOOSE:
            for i in reversed(top):
                if w[i][0] != "op" or w[i][1] not in ops:
                    continue
                if i == 0 and not (self.subject and w[i][1] in LOOSE[3]):
                    continue
                if i > 0 and w[i - 1][0] == "op" and w[i - 1][1] != ")" and not (
                        self.subject and w[i][1] in LOOSE[3] and w[i - 1][1] in "&|("):
                    continue  # a sign
                left = self.cut(w[:i], event)
                if w[i][1] == "*":
                    f = left
                    while f[0] == "*":
                        f = f[2]
                    if f[0] == "event":
                        event = f[1]
                return (w[i][1], left, self.cut(w[i + 1:], event))
        return self.tight(w, event)

    def tight(self, w, event):
        kind, s = w[0]
        if kind == "op" and s == "-":
            return ("neg", self.cut(w[1:], event))
        if kind == "op" and s == "(" and w[-1] == ("op", ")"):
            return self.cut(w[1:-1], event)
        if kind == "call" and len(w) > 2 and w[1] == ("op", "(") and w[-1] == ("op", ")"):
            return self.call(s, w[2:-1], event)
        if len(w) != 1:
            raise Bad("too many words: %r" % (w[:5],))
        if kind == "number":
            return ("number", s)
        if kind == "absent":
            return ("absent",)
        if kind == "name":
            return self.name(s, event)
        raise Bad("%r" % (w,))

    def call(self, f, w, event):
        if f in ("has_event", "source_count", "strcmp_cpuid_str"):
            return ("number", float(len(w[0][1]) & 1))
        level, cuts = 0, []
        for i, (kind, s) in enumerate(w):
            level += (kind == "op") * ((s == "(") - (s == ")"))
            if (kind, s) == ("op", ",") and not level:
                cuts.append(i)
        if len(cuts) != 1:
            raise Bad("%s of %d" % (f, len(cuts) + 1))
        return (f, self.cut(w[:cuts[0]], event), self.cut(w[cuts[0] + 1:], event))

    def name(self, s, event):
        low = s.lower()
        if self.subject and s == "P":
            return ("number", 1.0)
        if s == "$PEBS":
            self.names.add(event + ":R")
            return ("latency", event)
        if low == "#ebs_mode":
            self.names.add("#1")
            return ("<", ("system", "#1"), ("number", 1.0))
        if low in SYSTEM and (not self.sheet or s in ("#SMT_on", "#DurationTimeInSeconds", "duration_time")):
            self.names.add("#%d" % SYSTEM[low])
            return ("system", "#%d" % SYSTEM[low])
        for end in (":R", "/R", ":retire_latency"):
            if s.endswith(end):
                base = s[:-1] if end == "/R" else s[:-len(end)]
                self.names.add(base + ":R")
                return ("latency", base)
        self.names.add(s)
        return ("metric" if s.startswith(("tma_", "metric_")) else "event", s)


# the program's own numbers for them
SYSTEM = {"#smt_on": 0, "#core_wide": 1, "#num_cpus": 2, "#num_cpus_online": 3, "#num_cores": 4,
          "#num_dies": 5, "#num_packages": 6, "#system_tsc_freq": 8, "#slots": 10, "#has_pmem": 11,
          "#durationtimeinseconds": 12, "duration_time": 12}


def read(text, sheet, subject=None):
    r = Reader(sheet, subject)
    return r.cut(words(text, sheet)), r.names


# ---- meaning: None is a value that cannot be told ----

def counts(t):
    """What can be split over processors: 'count', 'plain' (no count in it) or neither."""
    if t[0] == "event":
        return "count"
    if t[0] in ("number", "latency", "system"):
        return "plain"
    if t[0] in ("metric", "absent"):
        return ""
    k = [counts(x) for x in t[1:]]
    if all(x == "plain" for x in k):
        return "plain"
    like = [x == "count" or y == ("number", 0.0) for x, y in zip(k, t[1:])]
    if t[0] in ("+", "-", "neg") and all(x == "count" for x in k):
        return "count"
    if t[0] == "*" and sorted(k) == ["count", "plain"] or t[0] == "/" and k == ["count", "plain"]:
        return "count"
    if t[0] in ("min", "max") and all(like) and "count" in k:
        return "count"
    if t[0] == "if" and like[0] and like[2] and "count" in (k[0], k[2]):
        return "count"
    return ""


def value(t, env, lp=None):
    op = t[0]
    if op == "number":
        return t[1]
    if op == "absent":
        return None
    if op == "event":
        v = env[t[1]]
        if lp is not None:
            return v[lp]
        v = [x for x in v if x is not None]
        return math.fsum(v) if v else None
    if op in ("metric", "system"):
        v = env[t[1]]
        return v[0] if isinstance(v, list) else v
    if op == "latency":
        return env[t[1] + ":R"]
    if op == "if":
        c = value(t[2], env)
        return None if c is None else value(t[1] if c else t[3], env, lp)
    if op in "&|":
        a, b = value(t[1], env), value(t[2], env)
        decides = op == "|"
        if (a is not None and bool(a) == decides) or (b is not None and bool(b) == decides):
            return float(decides)
        return None if a is None or b is None else float(not decides)
    if op in ("min", "max") and lp is None and counts(t) == "count":
        every = [value(t, env, i) for i in range(env["lps"])]
        every = [x for x in every if x is not None]
        return math.fsum(every) if every else None
    k = [value(x, env, lp) for x in t[1:]]
    if None in k:
        return None
    return apply(op, *k)


TWO = {"^": lambda a, b: float(bool(a) != bool(b)), "<": lambda a, b: float(a < b), ">": lambda a, b: float(a > b),
       "<=": lambda a, b: float(a <= b), ">=": lambda a, b: float(a >= b), "==": lambda a, b: float(a == b),
       "+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda a, b: a / b if b else None, "min": min, "max": max}


def apply(op, a, b=None):
    try:
        if op == "neg":
            v = -a
        elif op == "d_ratio":
            v = a / b if b else 0.0
        elif op == "%":
            v = math.fmod(int(a), int(b)) if int(b) and max(abs(a), abs(b)) < 9e18 else None
        else:
            v = TWO[op](a, b)
    except OverflowError:
        return None
    return v if v is not None and math.isfinite(v) else None


# ---- where formulas are ----

def kernel_json(shared):
    """MetricExpr and MetricThreshold as Linux has them."""
    for f in sorted(glob.glob(os.path.join(shared, "reference/pmu-events/**/*.json"), recursive=True)):
        rows = json.load(open(f))
        for r in rows if isinstance(rows, list) else []:
            for k in ("MetricExpr", "MetricThreshold"):
                if k in r:
                    yield r[k], None


def perfmon_json(shared):
    """Formula, BaseFormula and Threshold of perfmon's metric files."""
    for f in sorted(glob.glob(os.path.join(shared, "reference/perfmon/*/metrics/*_metrics*.json"))):
        for m in json.load(open(f))["Metrics"]:
            t = m.get("Threshold")
            for d in (m, t if isinstance(t, dict) else {}):
                for k in ("Formula", "BaseFormula"):
                    if d.get(k):
                        yield d[k], None


def sheet_csv(shared, name):
    """Cells and thresholds of a TMA sheet."""
    rows = list(csv.reader(open(os.path.join(shared, "reference/perfmon", name), encoding="utf-8-sig")))
    at = next(i for i, r in enumerate(rows) if r and r[0] == "Key")
    head = rows[at]
    first = max(i for i, x in enumerate(head) if x.startswith("Level")) + 1
    last, thr = head.index("Locate-with"), head.index("Threshold")
    for r in rows[at + 1:]:
        node = next((x.strip() for x in r[1:first] if x.strip()), "")
        if not node or node == "#Errata_Whitelist":
            continue
        for cell in r[first:last]:
            if cell.strip():
                yield cell, None
        if r[thr].split(";")[0].strip():
            yield r[thr], "tma_" + node


def perf_list(perf):
    """What an installed perf has compiled in, for a CPU of each kind."""
    ids = ["GenuineIntel-6-%s-4" % m for m in (
        "2A 2D 3A 3E 3C 3F 3D 4F 56 4E 55 7E 6A 8C 8F 97 BE AA CF AF B6 A7".split())]
    ids += ["GenuineIntel-6-55-7"] + ["AuthenticAMD-%s-1" % m for m in ("23-1", "23-31", "25-1", "25-11", "26-1")]
    for cpu in ids:
        p = subprocess.run([perf, "list", "-j", "metric"], env=dict(os.environ, PERF_CPUID=cpu),
                           capture_output=True, text=True, errors="replace")
        try:
            rows = json.loads(p.stdout)
        except ValueError:
            continue
        for r in rows:
            for k in ("MetricExpr", "MetricThreshold"):
                if r.get(k):
                    yield r[k], None


def made_up(rng, n, sheet):
    """Formulas that nobody wrote, so that every operator meets every other."""
    ops = ["|", "^", "&", "<", ">", "+", "-", "*", "/", "%", "+", "*", "-"]
    ops += ["<=", ">=", "==", "&&", "||"] if sheet else []
    leaves = ["A.B", "C:c1" if sheet else "cpu@C\\,cmask\\=1@", "tma_m", "E:R", "0", "2.5", "1e2", "D.E", "#SMT_on"]

    def operand(depth):
        r = rng.random()
        if depth <= 0 or r < 0.45:
            return rng.choice(leaves)
        if r < 0.6:
            return "(" + whole(depth - 1) + ")"
        if r < 0.7:
            return "-" + rng.choice(["", " "]) + operand(depth - 1)
        if r < 0.9:
            f = rng.choice(["min", "max"] if sheet else ["min", "max", "d_ratio"])
            inner = whole if sheet else chain
            return "%s(%s, %s)" % (f, inner(depth - 1), inner(depth - 1))
        return "(" + chain(depth - 1) + ")"

    def chain(depth):
        s = operand(depth)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            s += " %s %s" % (rng.choice(ops), operand(depth - 1))
        return s

    def whole(depth):
        s = chain(depth)
        if rng.random() < 0.2:
            s += " if %s else %s" % (chain(depth - 1), whole(depth - 1))
        return s

    for _ in range(n):
        yield whole(rng.choice([1, 2, 3, 4])), None
