# SPDX-License-Identifier: BSD-3-Clause
"""The texts of a model directory, written so that a person can read and patch them.

A model here is a Model with facts, rows (nodes and metrics by name, in reading order) and events
by name. With a base, only what differs from the base is written. doc/model-format.md has the
format.
"""

import os

ORDER = ('parent', 'after', 'level', 'area', 'expr', 'flag', 'count', 'unit', 'scale', 'max', 'overlap',
         'approximate', 'zero', 'groups', 'issue', 'locate')


class Model:
    def __init__(self, ident, folder):
        self.id, self.folder = ident, folder
        self.facts = {}        # keyword -> value, '' for a keyword alone
        self.sources = []      # provenance lines
        self.rows = {}         # name -> {'kind': 'node' | 'metric', keyword: value}
        self.events = {}       # name -> the rest of its line
        self.tree_base = self.event_base = None
        self.notes = []        # what could not be carried over: for the importer's report


def row_lines(name, row, old):
    kind = row['kind']
    if old is not None and old['kind'] == kind:
        diff = {k: row.get(k) for k in ORDER if row.get(k) != old.get(k) and k != 'after'}
        if not diff:
            return []
        if row.get('after'):
            diff['after'] = row['after']
        out = ['%-7s%s' % (kind, name)]
        for k in ORDER:
            if k in diff:
                # '-' takes a fact of the base back
                v = '-' if diff[k] is None else diff[k]
                out.append(('%-7s%s' % (k, v)).rstrip())
        return out
    out = ['%-7s%s' % (kind, name)]
    for k in ORDER:
        if row.get(k) is not None:
            out.append(('%-7s%s' % (k, row[k])).rstrip())
    return out


def write_rows(path, model, base, kinds):
    new = {n: r for n, r in model.rows.items() if r['kind'] in kinds}
    old = {n: r for n, r in base.rows.items() if r['kind'] in kinds} if base else {}
    blocks = []
    order_old = [n for n in old if n in new and new[n].get('parent') == old[n].get('parent')]
    known = set(order_old)
    last = {}
    for name, row in new.items():
        if row.get('absent'):
            if not (name in old and old[name].get('absent')):
                why = ['# ' + row['why']] if 'why' in row else []
                blocks.append(why + ['%-7s%s' % (row['kind'], name), 'absent'])
            continue
        key = row.get('parent')
        prev = last.get(key)
        last[key] = name
        row = dict(row)
        gone = name in old and old[name].get('absent')
        if base and row['kind'] == 'node' and (name not in known or gone):
            # A new child goes behind the one before it; the first is said to be first.
            row['after'] = prev if prev else '-'
        blocks.append(row_lines(name, row, None if gone else old.get(name)))
    for name in old:
        if name not in new and not old[name].get('absent'):
            blocks.append(['%-7s%s' % (old[name]['kind'], name), 'absent'])
    blocks = [b for b in blocks if b]
    if not blocks and not base:
        return
    with open(path, 'w') as f:
        f.writelines('#From %s\n' % s for s in model.sources)
        if base:
            f.write('base   %s\n' % base.id)
        if any(r.get('language') == 'perf' for r in new.values()):
            f.write('language perf\n')
        for b in blocks:
            f.write('\n' + '\n'.join(b) + '\n')


def event_text(model, base):
    out = []
    old = base.events if base else {}
    for name in sorted(model.events):
        if old.get(name) != model.events[name]:
            out.append('%s %s\n' % (name, model.events[name]))
    for name in sorted(old):
        if name not in model.events:
            out.append('absent %s\n' % name)
    return ''.join(out)


def write_events(path, model, base):
    text = event_text(model, base)
    if base and len(text) > 0.75 * len(event_text(model, None)):
        base, text = None, event_text(model, None)
    if not text and not base:
        return
    with open(path, 'w') as f:
        f.writelines('#From %s\n' % s for s in model.sources)
        if base:
            f.write('base %s\n' % base.id)
        f.write(text)


def write_model(top, model, models):
    d = os.path.join(top, model.folder)
    os.makedirs(d, exist_ok=True)
    for name in ('model', 'tree', 'metrics', 'events'):
        if os.path.exists(os.path.join(d, name)):
            os.remove(os.path.join(d, name))
    with open(os.path.join(d, 'model'), 'w') as f:
        f.writelines('#From %s\n' % s for s in model.sources)
        for k, v in model.facts.items():
            f.write(('%-13s%s' % (k, v)).rstrip() + '\n')
    tb = models.get(model.tree_base)
    write_rows(os.path.join(d, 'tree'), model, tb, ('node',))
    write_rows(os.path.join(d, 'metrics'), model, tb, ('metric',))
    write_events(os.path.join(d, 'events'), model, models.get(model.event_base))
