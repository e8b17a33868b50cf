# SPDX-License-Identifier: BSD-3-Clause
"""AMD: events and metrics as Linux' pmu-events has them, and trees of two levels.

The thresholds of the trees are this project's: AMD publishes none.
"""

import os
import re

from . import amd_zen6
from .intel_events import number
from .perf_metrics import metric, node, read
from .write import Model

PMUS = {'L3PMC': 'amd_l3', 'DFPMC': 'amd_df', 'UMCPMC': 'amd_umc'}
# In all but Zen 1, what is asked of an L3 counter needs to say whose requests count.
L3_ALL = ['enallcores', 'enallslices', 'sliceid=0x3', 'threadmask=0x3']


def area_of(name):
    return {'frontend': 'FE', 'bad': 'BAD', 'backend': 'BE', 'retiring': 'RET',
            'smt': 'SMT'}[name.split('_')[0].lower()]


def event(e):
    code = number(e.get('EventCode', '0'))
    umask = number(e.get('UMask', '0'))
    terms = ['event=0x%02x' % code]
    if umask:
        terms.append('umask=0x%02x' % umask)
    if e.get('RdWrMask'):
        terms.append('rdwrmask=0x%x' % number(e['RdWrMask']))
    pmu = PMUS.get(e.get('Unit'))
    if pmu:
        if e.get('EnAllCores'):
            terms += L3_ALL
        return '%s/%s/ - 0' % (pmu, ','.join(terms))
    words = ['pair'] if code == 0x003 else []
    if e.get('Deprecated'):
        words.append('deprecated')
    return ' '.join([','.join(terms), '0-5', '0'] + words)


def add(m, name, parent, expr, flag, **more):
    if flag and parent:
        flag += ' & P'
    m.rows[name] = node(parent, expr, flag, area=area_of(name), **more)


def pipeline(m, width, restarts):
    """Zen 4 and later count the slots in which nothing was dispatched, by reason."""
    m.rows['SLOTS'] = {'kind': 'metric', 'area': 'Info', 'count': 'Count',
                       'expr': '%d * ls_not_halted_cyc' % width}
    no_op = 'de_no_dispatch_per_slot.no_ops_from_frontend'
    mem = 'ex_no_retire.load_not_complete / ex_no_retire.not_complete'
    misp = '( ex_ret_brn_misp + %s )' % restarts
    add(m, 'Frontend_Bound', None, no_op + ' / SLOTS', '> 0.15', locate='ic_tag_hit_miss.'
        'instruction_cache_miss')
    add(m, 'Frontend_Bound_Latency', 'Frontend_Bound', '%d * %s:c%d / SLOTS' % (width, no_op, width),
        '> 0.1', locate='ic_tag_hit_miss.instruction_cache_miss')
    add(m, 'Frontend_Bound_Bandwidth', 'Frontend_Bound', 'Frontend_Bound - Frontend_Bound_Latency',
        '> 0.1', locate='op_cache_hit_miss.op_cache_miss')
    add(m, 'Bad_Speculation', None, '( de_src_op_disp.all - ex_ret_ops ) / SLOTS', '> 0.15',
        locate='ex_ret_brn_misp')
    add(m, 'Bad_Speculation_Mispredicts', 'Bad_Speculation',
        'Bad_Speculation * ex_ret_brn_misp / ' + misp, '> 0.1', locate='ex_ret_brn_misp')
    add(m, 'Bad_Speculation_Pipeline_Restarts', 'Bad_Speculation',
        'Bad_Speculation * %s / %s' % (restarts, misp), '> 0.05', locate=restarts)
    add(m, 'Backend_Bound', None, 'de_no_dispatch_per_slot.backend_stalls / SLOTS', '> 0.2')
    add(m, 'Backend_Bound_Memory', 'Backend_Bound', 'Backend_Bound * ' + mem, '> 0.2',
        locate='ls_any_fills_from_sys.dram_io_all;ls_any_fills_from_sys.all')
    add(m, 'Backend_Bound_CPU', 'Backend_Bound', 'Backend_Bound - Backend_Bound_Memory', '> 0.1')
    add(m, 'SMT_Contention', None, 'de_no_dispatch_per_slot.smt_contention / SLOTS', '> 0.1',
        zero=True)
    add(m, 'Retiring', None, 'ex_ret_ops / SLOTS', '> 0.7')
    add(m, 'Retiring_Fastpath', 'Retiring', 'Retiring - Retiring_Microcode', '> 0.6')
    add(m, 'Retiring_Microcode', 'Retiring', 'Retiring * ex_ret_ucode_ops / ex_ret_ops', '> 0.1',
        locate='ex_ret_ucode_ops')


def approximation(m, dispatched, retired, starved, stalls):
    """Zen 1-3 count neither slots nor reasons: what was dispatched and retired, and cycles in which
    a resource had run out. Reasons overlap; backend is what the others leave."""
    m.rows['SLOTS'] = {'kind': 'metric', 'area': 'Info', 'count': 'Count',
                       'expr': '6 * ls_not_halted_cyc'}
    a = {'approximate': True}
    add(m, 'Frontend_Bound', None, starved + ' / ls_not_halted_cyc', '> 0.15', **a)
    add(m, 'Bad_Speculation', None, 'max( 0 , %s - %s ) / SLOTS' % (dispatched, retired), '> 0.15',
        locate='ex_ret_brn_misp', **a)
    add(m, 'Backend_Bound', None,
        'max( 0 , 1 - ( Frontend_Bound + Bad_Speculation + Retiring ) )', '> 0.2', **a)
    for name, events in stalls:
        events = [e for e in events if e in m.events]
        if events:
            add(m, name, 'Backend_Bound', ('( %s )' % ' + '.join(events) if len(events) > 1 else
                                           events[0]) + ' / ls_not_halted_cyc', '> 0.1',
                count='Clocks', overlap=True, **a)
    add(m, 'Retiring', None, retired + ' / SLOTS', '> 0.7', **a)


T0, T1, T2 = ('de_dis_dispatch_token_stalls%d.' % i for i in range(3))
STALLS = [
    ('Backend_Retire_Queue', [T0 + 'retire_token_stall', T2 + 'retire_token_stall']),
    ('Backend_Load_Queue', [T1 + 'load_queue_token_stall', T1 + 'load_queue_rsrc_stall']),
    ('Backend_Store_Queue', [T1 + 'store_queue_token_stall', T1 + 'store_queue_rsrc_stall']),
    ('Backend_Integer_Registers', [T1 + 'int_phy_reg_file_token_stall',
                                   T1 + 'int_phy_reg_file_rsrc_stall']),
    ('Backend_Address_Scheduler', [T0 + 'agsq_token_stall', T2 + 'agsq_token_stall']),
    ('Backend_FP_Scheduler', [T1 + 'fp_sch_rsrc_stall']),
    ('Backend_FP_Registers', [T1 + 'fp_reg_file_rsrc_stall']),
]


def zen6():
    """Zen 6 (family 26, models 0x50 to 0x57): its tree is Zen 5's, with other names; some other codes differ."""
    m = Model('zen6', 'amd/zen6')
    m.sources = ['Linux 7.0 tools/perf/pmu-events/arch/x86/amdzen6']
    m.facts = {'title': 'AMD Zen 6', 'vendor': 'amd', 'language': 'sheet', 'from': m.sources[0],
               'counters': '6 6', 'fixed': '0', 'width': '8',
               'caution': 'the events and formulas of Zen 6 are as published and were never tried on a machine; '
                          'AMD has not published penalties for an account'}
    for name, e in amd_zen6.events():
        m.events[name] = event(e)
    pipeline(m, 8, 'bp_fe_redir.resync')
    for row in m.rows.values():
        if any(e not in m.events for e in row.get('locate', '').split(';') if e):
            del row['locate']
    m.rows['Frontend_Bound_Bandwidth']['locate'] = 'op_cache_hit_miss.miss'
    m.rows['IPC'] = {'kind': 'metric', 'area': 'Info', 'count': 'Metric', 'expr': 'ex_ret_instr / ls_not_halted_cyc'}
    for name, expr, scale, group in amd_zen6.METRICS:
        m.rows[name] = metric('Info.recommended', {'ScaleUnit': scale, 'MetricGroup': group}, re.sub(r'/ i$', '/ ex_ret_instr', expr))
        m.rows[name]['language'] = 'perf'
    return m


def models(pmu_events):
    yield zen6()
    for z in range(1, 6):
        ident = 'zen%d' % z
        m = Model(ident, 'amd/' + ident)
        m.event_base = {2: 'zen1', 3: 'zen2', 5: 'zen4'}.get(z)
        m.sources = ['Linux 6.12 tools/perf/pmu-events/arch/x86/amdzen%d' % z]
        m.facts = {'title': 'AMD Zen %d' % z, 'vendor': 'amd', 'language': 'sheet',
                   'from': m.sources[0], 'counters': '6 6', 'fixed': '0',
                   'width': '8' if z == 5 else '6'}
        entries = list(read(os.path.join(pmu_events, 'x86', 'amdzen%d' % z)))
        for name, e in entries:
            if 'EventName' in e:
                m.events[e['EventName']] = event(e)
        if z >= 4:
            pipeline(m, 6 if z == 4 else 8,
                     'resyncs_or_nc_redirects' if z == 4 else 'bp_redirects.resync')
        elif z == 3:
            d = 'de_dis_cops_from_decoder.disp_op_type.'
            approximation(m, '( %sany_integer_dispatch + %sany_fp_dispatch )' % (d, d),
                          'ex_ret_ops', 'de_dis_uop_queue_empty_di0', STALLS)
        else:
            approximation(m, 'uops_dispatched', 'ex_ret_cops',
                          'ic_fetch_stall.ic_stall_dq_empty' if z == 1 else
                          'de_dis_uop_queue_empty_di0', STALLS)
        m.rows['IPC'] = {'kind': 'metric', 'area': 'Info', 'count': 'Metric',
                         'expr': 'ex_ret_instr / ls_not_halted_cyc'}
        for name, e in entries:
            if 'MetricName' in e and name != 'pipeline.json':
                expr = e['MetricExpr'].replace('/ instructions', '/ ex_ret_instr')
                m.rows[e['MetricName']] = metric('Info.' + name[:-5], e, expr)
                m.rows[e['MetricName']]['language'] = 'perf'
        yield m
