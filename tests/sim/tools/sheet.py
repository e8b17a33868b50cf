# SPDX-License-Identifier: BSD-3-Clause
"""sheet - formulas of Intel's top-down sheet (TMA_Metrics-full.csv), for one CPU's column.

    s = Sheet(path, "IVB", constants)
    s.tree              [(name, level, parent, domain)] in the sheet's order
    s.value(name, rate) what a formula comes to; rate(event) gives counts
    s.touched(name)     the events it asks for

An empty cell takes what the next older column says; columns of clients pass over those of servers."""
import csv
import re

TOKEN = re.compile(r"\s*(?:(\$PEBS)|(##?[A-Za-z0-9_]+|[A-Za-z0-9_][A-Za-z0-9_.:=]*)|([-+*/()<>,&|]|==|>=|<=))")
NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?$")


class Absent(Exception):
    pass


class Sheet:
    def __init__(self, path, column, constants):
        with open(path, encoding="utf-8-sig", newline="") as f:
            rows = list(csv.reader(f))
        self.header = next(r for r in rows if r and r[0] == "Key")
        server = [x == "Server" for x in rows[rows.index(self.header) - 1]]
        at = self.header.index(column)
        self.last = self.header.index("Locate-with") - 1
        self.constants = constants
        self.text, self.tree, self.children, self.code, self.memo = {}, [], {}, {}, {}
        levels = [i for i, h in enumerate(self.header) if re.match(r"Level\d$", h)]
        open_at = {}
        for r in rows[rows.index(self.header) + 1:]:
            place = [i for i in levels if i < len(r) and r[i]]
            formula = self.cell(r, at, server)
            if not place or not formula or formula == "***" or ";" in formula:
                continue
            name, level = r[place[0]], place[0] - levels[0] + 1
            area = r[0].split("/")[0]
            if area not in ("FE", "BAD", "BE", "RET"):
                if formula != "#NA":
                    self.text.setdefault(name, formula)
                continue
            if formula == "#NA":
                continue
            open_at[level] = name
            parents = [open_at[n] for n in range(level - 1, 0, -1) if n in open_at] if level > 1 else []
            for deeper in range(level + 1, 9):
                open_at.pop(deeper, None)
            self.text.setdefault(name, formula)
            parent = parents[0] if parents else None
            domain = r[self.header.index("Count Domain")]
            self.tree.append((name, level, parent, domain))
            self.children.setdefault(parent, []).append(name)

    def cell(self, row, at, server):
        for i in range(at, self.last + 1):
            if i != at and i < len(server) and server[i] and not server[at]:
                continue
            if i < len(row) and row[i].strip():
                return row[i].strip()
        return ""

    def compile(self, name):
        if name in self.code:
            return self.code[name]
        out, text, pos, event = [], self.text[name], 0, ""
        while pos < len(text.rstrip()):
            m = TOKEN.match(text, pos)
            if not m:
                raise ValueError("%s: cannot read %r" % (name, text[pos:pos + 30]))
            pos = m.end()
            latency, word, sign = m.groups()
            if latency:
                out.append("v(%r)" % (event + ":latency"))
            elif sign:
                out.append({"&": " and ", "|": " or "}.get(sign, sign))
            elif word in ("if", "else", "min", "max"):
                out.append(" %s " % word)
            elif NUMBER.match(word):
                out.append(word)
            elif word == "#NA":
                out.append("absent()")
            else:
                event = word  # $PEBS is the latency of the event that it is multiplied with
                out.append("v(%r)" % word)
        self.code[name] = compile("".join(out).strip(), name, "eval")
        return self.code[name]

    def evaluate(self, name, rate, memo):
        """rate(event) gives counts; memo is a dict for this set of counts."""
        if name in memo:
            return memo[name]
        if name in self.constants:
            return self.constants[name]
        if name.startswith("##"):
            total = 0
            for child in self.children.get(name[2:], []):
                try:
                    total += self.evaluate(child, rate, memo)
                except Absent:
                    pass
            memo[name] = total
            return total
        if name not in self.text:
            return rate(name)

        def absent():
            raise Absent(name)

        try:
            value = eval(self.compile(name), {"v": lambda n: self.evaluate(n, rate, memo), "min": min, "max": max,
                                              "absent": absent})
        except ZeroDivisionError:
            value = 0.0
        memo[name] = value
        return value
