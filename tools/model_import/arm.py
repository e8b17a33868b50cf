# SPDX-License-Identifier: BSD-3-Clause
"""Arm: events and metrics as Linux' pmu-events has them, and trees of slots.

The thresholds of the trees are this project's. Where a core counts no slots (Neoverse N1), stalled
cycles stand for them: an approximation, and said to be one.
"""

import json
import os

from .arm_published import FROM, PUBLISHED
from .intel_events import number
from .perf_metrics import metric, node, read
from .write import Model

# id, title, folders of events, of what the tree is made, slots or None for #slots, tree's base
TABLE = [
    ('arm-generic', 'Arm core with slots counted (SBSA)', [], 'sbsa', None),
    ('neoverse-n1', 'Arm Neoverse N1', ['arm/neoverse-n1'], 'cycles', None),
    ('neoverse-n2', 'Arm Neoverse N2', ['arm/neoverse-n2-v2'], 'n2', None),
    ('neoverse-n2-r0p0', 'Arm Neoverse N2 r0p0 to r0p2', ['arm/neoverse-n2-v2'], 'n2-r0p0', None),
    ('neoverse-n3', 'Arm Neoverse N3', [], 'sbsa', None),
    ('neoverse-v1', 'Arm Neoverse V1', ['arm/neoverse-v1'], 'v1', 8),
    ('neoverse-v2', 'Arm Neoverse V2', ['arm/neoverse-n2-v2'], 'n2', None),
    ('neoverse-v3', 'Arm Neoverse V3', [], 'sbsa', None),
    ('ampereone', 'AmpereOne', ['ampere/ampereone'], 'ampere', None),
    ('ampereonex', 'AmpereOneX', ['ampere/ampereonex'], 'ampere', None),
]
BASES = {'neoverse-n3': 'arm-generic', 'neoverse-v3': 'arm-generic', 'neoverse-v2': 'neoverse-n2',
         'neoverse-n2-r0p0': 'neoverse-n2', 'ampereonex': 'ampereone'}
SPEC = '( 1 - OP_RETIRED / OP_SPEC ) * ( 1 - %s / SLOTS )'
DONE = 'OP_RETIRED / OP_SPEC * ( 1 - %s / SLOTS )'
# Slots that a mispredicted branch costs elsewhere are taken from where they were counted.
TREES = {
    'sbsa': ('STALL_SLOT_FRONTEND / SLOTS', SPEC % 'STALL_SLOT', 'STALL_SLOT_BACKEND / SLOTS',
             DONE % 'STALL_SLOT'),
    'v1': ('STALL_SLOT_FRONTEND / SLOTS - 4 * BR_MIS_PRED / CPU_CYCLES',
           SPEC % 'STALL_SLOT' + ' + 4 * BR_MIS_PRED / CPU_CYCLES', 'STALL_SLOT_BACKEND / SLOTS',
           DONE % 'STALL_SLOT'),
    'n2': ('STALL_SLOT_FRONTEND / SLOTS - BR_MIS_PRED / CPU_CYCLES',
           SPEC % 'STALL_SLOT' + ' + 4 * BR_MIS_PRED / CPU_CYCLES',
           'STALL_SLOT_BACKEND / SLOTS - 3 * BR_MIS_PRED / CPU_CYCLES', DONE % 'STALL_SLOT'),
    'n2-r0p0': ('( STALL_SLOT_FRONTEND - CPU_CYCLES ) / SLOTS - BR_MIS_PRED / CPU_CYCLES',
                SPEC % '( STALL_SLOT - CPU_CYCLES )' + ' + 4 * BR_MIS_PRED / CPU_CYCLES',
                'STALL_SLOT_BACKEND / SLOTS - 3 * BR_MIS_PRED / CPU_CYCLES',
                DONE % '( STALL_SLOT - CPU_CYCLES )'),
    'ampere': ('1 - ( Retiring + Bad_Speculation + Backend_Bound )',
               '( OP_SPEC - OP_RETIRED ) / SLOTS', 'STALL_SLOT_BACKEND / SLOTS',
               'OP_RETIRED / SLOTS'),
}
LOCATE = {'Frontend_Bound': 'L1I_CACHE_REFILL', 'Bad_Speculation': 'BR_MIS_PRED_RETIRED',
          'Backend_Bound': 'L1D_CACHE_REFILL', 'Retiring': None}


def tree(m, kind, slots):
    def put(name, parent, expr, flag, area, **more):
        where = more.pop('locate', None)
        if where and where in m.events:
            more['locate'] = where
        m.rows[name] = node(parent, expr, flag + (' & P' if parent else ''), area=area, **more)

    if kind == 'cycles':
        for name, expr, flag, area in (
                ('Frontend_Bound', 'STALL_FRONTEND / CPU_CYCLES', '> 0.15', 'FE'),
                ('Backend_Bound', 'STALL_BACKEND / CPU_CYCLES', '> 0.2', 'BE'),
                ('Not_Stalled', '1 - ( Frontend_Bound + Backend_Bound )', '> 0.7', 'RET')):
            put(name, None, expr, flag, area, count='Clocks', approximate=True,
                locate=LOCATE.get(name))
        return
    m.rows['SLOTS'] = {'kind': 'metric', 'area': 'Info', 'count': 'Count',
                       'expr': '%s * CPU_CYCLES' % (slots or '#slots')}
    for name, expr, flag, area in zip(LOCATE, TREES[kind], ('> 0.15', '> 0.15', '> 0.2', '> 0.7'),
                                      ('FE', 'BAD', 'BE', 'RET')):
        put(name, None, expr, flag, area, locate=LOCATE[name])
    if kind != 'ampere':
        return
    put('Frontend_Latency', 'Frontend_Bound', '( STALL_FRONTEND - ( STALL_SLOT_FRONTEND - '
        'Frontend_Bound * SLOTS ) / #slots ) / CPU_CYCLES', '> 0.1', 'FE', locate='L1I_CACHE_REFILL')
    put('ICache_Stalls', 'Frontend_Latency', 'STALL_FRONTEND_CACHE / CPU_CYCLES', '> 0.05', 'FE',
        count='Clocks', locate='L1I_CACHE_REFILL')
    put('ITLB_Stalls', 'Frontend_Latency', 'STALL_FRONTEND_TLB / CPU_CYCLES', '> 0.05', 'FE',
        count='Clocks', locate='L1I_TLB_REFILL')
    put('Frontend_Bandwidth', 'Frontend_Bound', 'Frontend_Bound - Frontend_Latency', '> 0.1', 'FE')
    put('Branch_Mispredicts', 'Bad_Speculation',
        'BR_MIS_PRED_RETIRED / GPC_FLUSH * Bad_Speculation', '> 0.1', 'BAD',
        locate='BR_MIS_PRED_RETIRED')
    put('Other_Misspeculation', 'Bad_Speculation', 'Bad_Speculation - Branch_Mispredicts', '> 0.05',
        'BAD')
    put('Backend_Memory', 'Backend_Bound',
        '( STALL_BACKEND_TLB + STALL_BACKEND_CACHE ) / CPU_CYCLES', '> 0.2', 'BE', count='Clocks',
        locate='L1D_CACHE_REFILL')
    put('DCache_Stalls', 'Backend_Memory', 'STALL_BACKEND_CACHE / CPU_CYCLES', '> 0.1', 'BE',
        count='Clocks', locate='L1D_CACHE_REFILL')
    put('DTLB_Stalls', 'Backend_Memory', 'STALL_BACKEND_TLB / CPU_CYCLES', '> 0.1', 'BE',
        count='Clocks', locate='L1D_TLB_REFILL')
    put('Backend_Core', 'Backend_Bound', 'Backend_Bound - Backend_Memory', '> 0.1', 'BE')


def models(pmu_events):
    top = os.path.join(pmu_events, 'arm64')
    common = {}
    for name in ('recommended.json', 'common-and-microarch.json'):
        with open(os.path.join(top, name)) as f:
            common.update({e['EventName']: number(e['EventCode']) for e in json.load(f)})
    for ident, title, folders, kind, slots in TABLE:
        m = Model(ident, 'arm/' + ident)
        m.tree_base = m.event_base = BASES.get(ident)
        m.sources = ['Linux 6.12 tools/perf/pmu-events/arch/arm64/' + (f or 'sbsa.json')
                     for f in folders or ['']]
        m.facts = {'title': title, 'vendor': 'arm', 'language': 'sheet', 'from': m.sources[0],
                   'counters': '6 6', 'fixed': '1'}
        if slots:
            m.facts['width'] = str(slots)
        codes, metrics = {}, []
        for folder in folders:
            for name, e in read(os.path.join(top, folder)):
                if 'MetricExpr' in e or e.get('ArchStdEvent', '').islower():
                    metrics.append((name, e))
                elif 'ArchStdEvent' in e and e['ArchStdEvent'] in common:
                    codes[e['ArchStdEvent']] = common[e['ArchStdEvent']]
                elif 'EventName' in e:
                    codes[e['EventName']] = number(e['EventCode'])
        if ident in PUBLISHED:
            codes = PUBLISHED[ident]
            m.event_base = None
            m.sources.append(FROM % ident)
            m.facts['from'] = m.sources[-1]
        elif not folders:
            codes = {n: c for n, c in common.items() if c < 0x40 or 0x4000 <= c < 0x4020}
        for name, code in codes.items():
            # The cycle counter is one of its own.
            m.events[name] = 'event=0x%02x %s 0' % (code, '0-5,f0' if name == 'CPU_CYCLES' else
                                                    '0-5')
        tree(m, kind, slots)
        known = {n.lower() for n in m.rows}
        for name, e in metrics:
            key = e.get('MetricName', '').split(';')[-1]
            if not key or key.lower() in known or 'MetricExpr' not in e:
                continue
            if 'TopdownL' in e.get('MetricGroup', '') and ('frontend_bound' in e['MetricExpr'] or
                                                           'backend_bound' in e['MetricExpr'] or
                                                           'slots_lost' in e['MetricExpr']):
                continue    # of the tree, there as shares and not in percent
            m.rows[key] = metric('Info', e)
            m.rows[key]['language'] = 'perf'
        if not metrics:
            for key, expr in (('ipc', 'INST_RETIRED / CPU_CYCLES'),
                              ('branch_mpki', '1000 * BR_MIS_PRED_RETIRED / INST_RETIRED'),
                              ('l1d_cache_mpki', '1000 * L1D_CACHE_REFILL / INST_RETIRED'),
                              ('l2_cache_mpki', '1000 * L2D_CACHE_REFILL / INST_RETIRED')):
                m.rows[key] = {'kind': 'metric', 'area': 'Info', 'expr': expr}
        yield m
