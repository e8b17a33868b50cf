# SPDX-License-Identifier: BSD-3-Clause
"""Intel's TMA sheets: which formula each CPU has for each row.

A blank cell inherits from the next older column; a client's column skips those of servers; `#NA`
says that the CPU has no such metric. A node whose parent is absent hangs under the node before it
on the parent's level.
"""

import csv
import re

NODE_AREAS = ('FE', 'BAD', 'BE', 'BE/Mem', 'BE/Core', 'RET')


class Sheet:
    def __init__(self, path, first_column, columns):
        with open(path, newline='', encoding='utf-8-sig') as f:
            rows = list(csv.reader(f))
        head = next(i for i, r in enumerate(rows) if r and r[0] == 'Key')
        self.version = rows[0][2]
        self.names = rows[head]
        self.levels = [i for i, h in enumerate(self.names) if re.fullmatch(r'Level\d', h)]
        self.columns = {}
        for i in range(first_column, first_column + columns):
            self.columns[self.names[i]] = i
        self.server = {i for i in self.columns.values() if rows[head - 1][i] == 'Server'}
        self.inherits = bool(self.server)
        self.last = first_column + columns
        self.rows = [r for r in rows[head + 1:] if any(c.strip() for c in r[:first_column])]

    def of(self, row, title):
        return row[self.names.index(title)].strip() if title in self.names else ''

    def cell(self, row, column):
        c = self.columns[column]
        if not self.inherits:
            return row[c].strip()
        server = c in self.server
        for i in range(c, self.last):
            if row[i].strip() and (i == c or server or i not in self.server):
                return row[i].strip()
        return ''

    def expand(self, column):
        """Yields (area, level, name, formula, row) for each metric that the column has; a level
        of 0: not a node of the tree. formula '#NA': known elsewhere, absent here."""
        for row in self.rows:
            at = [i for i in self.levels if row[i].strip()]
            if not at:
                continue
            name, area = row[at[0]].strip(), row[0].strip()
            if area == '.' or not area:
                continue
            level = self.levels.index(at[0]) + 1 if area.split('_')[0] in NODE_AREAS else 0
            yield area, level, name, self.cell(row, column), row


def locate_of(text, guards):
    """`SNB/JKT ? #NA : IVB ? A;B : C`: the alternatives for a CPU known by any of `guards`."""
    parts = text
    while '?' in parts:
        cond, rest = parts.split('?', 1)
        yes, _, no = rest.partition(':')
        if set(cond.strip().split('/')) & set(guards):
            return [] if yes.strip() == '#NA' else [e.strip() for e in yes.split(';')]
        parts = no
    parts = parts.strip()
    return [] if parts in ('', '#NA') else [e.strip() for e in parts.split(';')]
