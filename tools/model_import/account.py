# SPDX-License-Identifier: BSD-3-Clause
"""A tree of cycle accounting, made of rows and written as models/*/*/account.

A row asks for one of several events; the first that the model has is taken, and a row whose events it
has not is left out (account.h and doc/model-format.md tell what the keywords mean).
"""

import os
import re

ORDER = ('parent', 'part', 'cover', 'event', 'penalty', 'expr', 'adds', 'unit', 'whole', 'smt', 'always',
         'within', 'same', 'tolerance', 'period', 'precise', 'note')
# What any program has, and so often in a cycle at least: without a sample its event is suspected.
ALWAYS = {'Reference_Cycles': '0.1', 'Stalled': '0.01', 'Retiring_Cycles': '0.02', 'Instructions': '0.02',
          'Instructions_Precise': '0.02', 'Branches': '0.002', 'Taken_Branches': '0.001', 'Uops_Retired': '0.02',
          'Uops_Issued': '0.02', 'Issue_Cycles': '0.02', 'Retire_Slots': '0.02'}


class Account:
    def __init__(self, model):
        self.model, self.events = model, model.events
        self.nodes = {}          # name -> facts
        self.remarks = {}        # name -> lines for people
        self.sources = []
        self.base = None
        self.penalties_from = None
        self.reference = None
        self.notes = []          # for the importer's report

    def find(self, names):
        """The first event that is there and not deprecated, else one that is there."""
        there = [n for n in names if n.split(':')[0] in self.events]
        good = [n for n in there if ' deprecated' not in self.events[n.split(':')[0]]]
        return (good or there or [None])[0]

    def line(self, event):
        return self.events[event.split(':')[0]]

    def put(self, name, parent=None, **facts):
        if parent is not None and parent not in self.nodes:
            return False
        row = {'parent': parent}
        row.update((k, v) for k, v in facts.items() if v is not None)
        self.nodes[name] = row
        return True

    def event(self, name, parent, names, penalty=0, period=None, precise=0, adds=False, **facts):
        """A node of an event. Penalty 0: shown as occurrences."""
        event = self.find(names.split() if isinstance(names, str) else names)
        if not event:
            return False
        if precise and ' precise' not in self.line(event):
            self.remark(name, 'it cannot be sampled precisely here')
            precise = 0
        cost = str(penalty)
        return self.put(name, parent, event=event, penalty=None if cost == '0' else cost,
                        adds='' if adds else None, period=period and str(period),
                        precise=str(precise) if precise else None, **facts)

    def remark(self, name, text):
        self.remarks.setdefault(name, []).append(text)

    def has(self, *names):
        return all(n in self.nodes for n in names)

    def finish(self):
        """What nothing adds to is not covered. `lacks` is what to say of it then."""
        for name, row in self.nodes.items():
            if 'event' in row or 'expr' in row or row.get('cover') == 'none':
                continue
            if not any(r.get('parent') == name and 'adds' in r for r in self.nodes.values()):
                row['cover'] = 'none'
                row.pop('adds', None)
                row.pop('within', None)
                row['note'] = row.get('lacks', 'This CPU has no event for it.')
        for name, row in self.nodes.items():
            row.pop('lacks', None)
            if name in ALWAYS and ('event' in row or 'expr' in row):
                row['always'] = ALWAYS[name]
        gone = True
        while gone:              # a sum that is nothing adds nothing
            gone = False
            for name, row in list(self.nodes.items()):
                for key in ('within', 'same'):
                    if row.get(key) and row[key] not in self.nodes:
                        del row[key]
                if row.get('parent') and row.get('cover') == 'none' and 'note' not in row:
                    del self.nodes[name]
                    gone = True


def lines(name, row, old, remarks):
    out = ['node      ' + name]
    for k in ORDER:
        new = row.get(k)
        if old is not None and new == old.get(k):
            continue
        if new is None:
            if old is not None and old.get(k) is not None:
                out.append('%-10s-' % k)
            continue
        out.append(('%-10s%s' % (k, new)).rstrip())
    if old is not None and len(out) == 1:
        return []
    return ['# ' + r for r in remarks] + out


def text(acc, base):
    old = base.nodes if base else {}
    out = ['#From %s\n' % s for s in acc.sources]
    if base:
        out.append('base      %s\n' % base.model.id)
    if acc.penalties_from and not (base and base.penalties_from == acc.penalties_from):
        out.append('\nfrom      %s\n' % acc.penalties_from)
    if acc.reference and not (base and base.reference == acc.reference):
        out.append('\nreference %s\n' % acc.reference)
    if base and base.reference and not acc.reference:
        out.append('\nreference -\n')
    last = {}
    for name, row in acc.nodes.items():
        parent = row.get('parent')
        was = old.get(name)
        if was is not None and was.get('parent') != parent:
            was = None
        block = lines(name, row, was, acc.remarks.get(name, []))
        if base and name not in old and parent and last.get(parent, parent) in acc.nodes:
            at = next(i for i, b in enumerate(block) if b.startswith('parent')) + 1
            block.insert(at, 'after     ' + (last.get(parent) or '-'))
        last[parent] = name
        if block:
            out.append('\n' + '\n'.join(block) + '\n')
    for name in old:
        if name not in acc.nodes:
            out.append('\nnode      %s\nabsent\n' % name)
    return ''.join(out)


def write(top, acc, bases):
    """With the base that makes the text shortest."""
    path = os.path.join(top, acc.model.folder, 'account')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    full = text(acc, None)
    if acc.base and acc.base in bases:
        short = text(acc, bases[acc.base])
        if len(short) < 0.7 * len(full):
            full = short
    with open(path, 'w') as f:
        f.write(full)


def terms(line):
    """(event, umask, cmask, inv, edge, any) of a line of `events`."""
    out = {}
    for t in line.split(' ')[0].split(','):
        k, _, v = t.partition('=')
        out[k] = int(v, 0) if v else 1
    return tuple(out.get(k, 0) for k in ('event', 'umask', 'cmask', 'inv', 'edge', 'any'))


def with_options(line, options):
    out = list(terms(line))
    at = {'c': 2, 'i': 3, 'e': 4}
    for o in options:
        m = re.fullmatch(r'([cie])(\d+)', o)
        out[at[m.group(1)]] = int(m.group(2))
    return tuple(out)
