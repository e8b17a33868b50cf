# SPDX-License-Identifier: BSD-3-Clause
"""For cores that no file knows: the events that the kernel itself offers for top-down counting, by
the names under /sys/bus/event_source/devices/*/events."""

from .perf_metrics import node
from .write import Model

LEVEL1 = (('Frontend_Bound', 'FE', '> 0.15'), ('Bad_Speculation', 'BAD', '> 0.15'),
          ('Backend_Bound', 'BE', '> 0.2'), ('Retiring', 'RET', '> 0.7'))


def models():
    m = Model('sysfs', 'sysfs/sysfs')
    m.sources = ['Linux arch/x86/events/intel/core.c: topdown-* events with slots']
    m.facts = {'title': 'Intel core unknown here: what the kernel offers', 'vendor': 'sysfs',
               'language': 'sheet', 'from': m.sources[0], 'counters': '8 8', 'fixed': '4',
               'perf_metrics': '1'}
    names = dict(zip((n for n, a, f in LEVEL1), ('fe-bound', 'bad-spec', 'be-bound', 'retiring')))
    m.events = {'TOPDOWN.SLOTS': 'slots f3 0 slots', 'CPU_CYCLES': 'cpu-cycles 0-7,f1 0',
                'INSTRUCTIONS': 'instructions 0-7,f0 0'}
    for name, event in names.items():
        m.events['PERF_METRICS.' + name.upper()] = 'topdown-%s - 0 metric' % event
    m.rows['#PERF_METRICS_SUM'] = {'kind': 'metric', 'area': 'Aux', 'expr': ' + '.join(
        'PERF_METRICS.' + n.upper() for n in names)}
    for name, area, flag in LEVEL1:
        m.rows[name] = node(None, 'PERF_METRICS.%s / #PERF_METRICS_SUM' % name.upper(), flag,
                            area=area)
    m.rows['SLOTS'] = {'kind': 'metric', 'area': 'Info', 'expr': 'TOPDOWN.SLOTS'}
    m.rows['IPC'] = {'kind': 'metric', 'area': 'Info', 'expr': 'INSTRUCTIONS / CPU_CYCLES'}
    yield m
    a = Model('sysfs-atom', 'sysfs/sysfs-atom')
    a.sources = ['Linux arch/x86/events/intel/core.c: topdown-* events of the small cores']
    a.facts = {'title': 'Intel small core unknown here: what the kernel offers', 'vendor': 'sysfs',
               'language': 'sheet', 'from': a.sources[0], 'counters': '8 8', 'fixed': '3'}
    a.events = {'CPU_CYCLES': 'cpu-cycles 0-7,f1 0', 'INSTRUCTIONS': 'instructions 0-7,f0 0'}
    for name, event in names.items():
        a.events['TOPDOWN.' + name.upper()] = 'topdown-%s 0-7 0' % event
    # The width is not known, but each slot is in one of the four.
    a.rows['SLOTS'] = {'kind': 'metric', 'area': 'Info', 'expr': ' + '.join(
        'TOPDOWN.' + n.upper() for n in names)}
    for name, area, flag in LEVEL1:
        a.rows[name] = node(None, 'TOPDOWN.%s / SLOTS' % name.upper(), flag, area=area)
    a.rows['IPC'] = {'kind': 'metric', 'area': 'Info', 'expr': 'INSTRUCTIONS / CPU_CYCLES'}
    yield a
