# SPDX-License-Identifier: BSD-3-Clause
"""What the files of Linux' tools/perf/pmu-events have in common."""

import glob
import json
import os
import re
from decimal import Decimal


def read(folder):
    """All entries of a folder's files, each with its file's name."""
    for path in sorted(glob.glob(os.path.join(folder, '*.json'))):
        with open(path, encoding='utf-8') as f:
            for e in json.load(f):
                yield os.path.basename(path), e


def scale_of(text):
    """'6.1e-5MiB' -> ('MiB', '6.1e-5'), '100%slots' -> ('%', '100')"""
    m = re.fullmatch(r'([\d.]+(?:e[-+]?\d+)?)\s*(.*)', text or '1')
    number, unit = m.group(1), m.group(2).strip().replace('_', ' ')
    if unit.startswith('%') or unit.startswith('percent'):
        unit = '%'
    text = format(Decimal(number), 'f')
    return unit or None, None if float(number) == 1 else text


def metric(area, e, expr=None):
    unit, scale = scale_of(e.get('ScaleUnit'))
    expr = expr or e['MetricExpr']
    groups = e.get('MetricGroup', '').replace('Default;', '')
    return {'kind': 'metric', 'area': area, 'expr': ' '.join(expr.split()), 'unit': unit,
            'scale': scale, 'groups': groups or None}


def node(parent, expr, flag, count='Slots', locate=None, overlap=False, approximate=False,
         area=None, zero=False):
    out = {'kind': 'node', 'area': area, 'expr': expr, 'flag': flag, 'count': count, 'unit': '%',
           'scale': '100', 'locate': locate, 'parent': parent}
    if overlap:
        out['overlap'] = ''
    if approximate:
        out['approximate'] = ''
    if zero:
        out['zero'] = ''
    return {k: v for k, v in out.items() if v is not None}
