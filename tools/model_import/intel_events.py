# SPDX-License-Identifier: BSD-3-Clause
"""Core events of intel/perfmon: encodings as the terms of perf's sysfs formats."""

import json
import os
import re

# What event 0x00 stands for: fixed counters that also have a code of their own, which Linux moves
# to the fixed counter where that is free.
FIXED_CODES = {1: (0xc0, 0), 2: (0x3c, 0)}
SKYMONT_FIXED = {5: (0x73, 0), 6: (0x9c, 1), 7: (0xc2, 2)}
METRICS = {'RETIRING': 0x80, 'BAD_SPECULATION': 0x81, 'FRONTEND_BOUND': 0x82,
           'BACKEND_BOUND': 0x83, 'HEAVY_OPERATIONS': 0x84, 'BRANCH_MISPREDICTS': 0x85,
           'FETCH_LATENCY': 0x86, 'MEMORY_BOUND': 0x87}


def number(text):
    text = (text or '').strip().lower()
    return int(text, 0) if text and text != 'null' else 0


def spans(bits):
    """Bit numbers as 0-3,7."""
    out, bits = [], sorted(bits)
    while bits:
        first = last = bits.pop(0)
        while bits and bits[0] == last + 1:
            last = bits.pop(0)
        out.append(str(first) if first == last else '%d-%d' % (first, last))
    return ','.join(out)


def counters(text):
    """-> (general counters, fixed counters)"""
    m = re.fullmatch(r'Fixed counter (\d+)', text or '')
    if m:
        return set(), {int(m.group(1))}
    return {int(x) for x in (text or '').split(',') if x.strip()}, set()


def line(code, on, alone, fixed, period, words):
    where = spans(on) if on == alone else '%s:%s' % (spans(on), spans(alone))
    where = ','.join(x for x in [where if on or alone else ''] +
                     ['f%d' % f for f in sorted(fixed)] if x) or '-'
    return ' '.join([code, where, str(period)] + words)


# Old files write a fixed counter's event as 0: what it stands for goes by its name.
FIXED_NAMES = {'INST_RETIRED.ANY': (0xc0, 0), 'CPU_CLK_UNHALTED.THREAD': (0x3c, 0),
               'CPU_CLK_UNHALTED.CORE': (0x3c, 0), 'CPU_CLK_UNHALTED.REF': (0, 3),
               'CPU_CLK_UNHALTED.REF_TSC': (0, 3)}


def convert(e, facts, latency):
    event = number(e['EventCode'].split(',')[0])
    umask = number(e['UMask'].split(',')[0]) | number(e.get('UMaskExt')) << 8
    on, fixed = counters(e.get('Counter'))
    alone, fixed2 = counters(e.get('CounterHTOff') or e.get('Counter'))
    fixed |= fixed2
    general, general_alone = (set(range(n)) for n in facts['counters'])
    words, terms = [], []
    if fixed and facts['fixed'] in facts['named']:  # counted from 1
        fixed = {f - 1 for f in fixed}
    if fixed and event in (0, 0x0a) and umask == 0:
        event, umask = FIXED_NAMES.get(e['EventName'].strip(), (event, umask))
    if event == 0 and fixed:
        table = dict(FIXED_CODES)
        if facts['fixed'] >= 7:
            table.update(SKYMONT_FIXED)
        if umask in table and not e['EventName'].endswith('PREC_DIST'):
            event, umask = table[umask]
            on, alone = set(general), set(general_alone)
        elif umask == 4:
            words.append('slots')
    cmask, any_thread = number(e.get('CounterMask')), number(e.get('AnyThread'))
    inv, edge = number(e.get('Invert')), number(e.get('EdgeDetect'))
    if umask == 0 and not (cmask or inv or edge) and event in (0xc0, 0x3c):
        fixed = {0 if event == 0xc0 else 1}
        on, alone = set(general), set(general_alone)
    terms.append('event=0x%02x' % event)
    if umask:
        terms.append('umask=0x%02x' % umask)
    if cmask:
        terms.append('cmask=%d' % cmask)
    for name, value in (('inv', inv), ('edge', edge), ('any', any_thread),
                        ('eq', number(e.get('Equal')))):
        if value:
            terms.append(name)
    msr = number((e.get('MSRIndex') or '0').split(',')[0])
    value = (e.get('MSRValue') or '').split(',')[0]
    if msr == 0x3f6:
        terms.append('ldlat=0x%x' % number(value))
    elif msr == 0x3f7:
        terms.append('frontend=0x%x' % number(value))
    elif msr in (0x1a6, 0x1a7) or number(e.get('Offcore')):
        terms.append('offcore_rsp=0x%x' % number(value))
    elif 0x3e0 <= msr <= 0x3e3:  # of these registers, as of OFFCORE_RSP, the kernel takes one that is free
        terms.append('offmodule_rsp=0x%x' % number(value))
    if number(e.get('TakenAlone')):
        words.append('alone')
    if number(e.get('PEBS')) or number(e.get('Precise')):
        words.append('precise')
    if number(e.get('Deprecated')):
        words.append('deprecated')
    errata = (e.get('Errata') or '').strip()
    if errata not in ('', '0', 'null'):
        words.append('errata=' + re.sub(r'[\s,;]+', ',', errata))
    if latency is not None:
        words.append('latency=%g' % latency)
    return line(','.join(terms), on, alone, fixed, number(e.get('SampleAfterValue')), words)


def read(path):
    with open(path, encoding='utf-8-sig') as f:
        d = json.load(f)
    events = d['Events'] if isinstance(d, dict) else d
    version = d['Header']['Version'] if isinstance(d, dict) and 'Header' in d else '?'
    return events, version


def smt_exclusive(name, words, model):
    """Errata of Sandy Bridge, Ivy Bridge, Haswell: with SMT such an event corrupts the sibling's."""
    code = re.match(r'event=0x(d[0-3]),', words)
    return bool(code) and model in ('snb', 'jkt', 'ivb', 'ivt', 'hsw', 'hsx')


def load(perfmon, files, facts, model, latencies):
    """-> ({name: rest of the line}, [source, ...])"""
    out, sources = {}, []
    for name in files:
        path = os.path.join(perfmon, name)
        events, version = read(path)
        sources.append('intel/perfmon %s %s' % (name, version))
        facts['named'] = {f for e in events for f in counters(e.get('Counter'))[1]}
        for e in events:
            if 'EventName' not in e or 'MATRIX_REQUEST' in e or 'BitName' in e:
                continue
            key = e['EventName'].strip()
            rest = convert(e, facts, latencies.get(key))
            if smt_exclusive(key, rest, model):
                rest += ' smt_exclusive'
            if key in out and 'deprecated' in rest:
                continue
            out[key] = rest
    if facts.get('perf_metrics'):
        n = 4 if facts['perf_metrics'] == 1 else 8
        for key, umask in list(METRICS.items())[:n]:
            out['PERF_METRICS.' + key] = 'event=0x00,umask=0x%02x - 0 metric' % umask
    return out, sources


def uncore(perfmon, name):
    """Uncore events by name, as pmu/terms/; only those that formulas ask for are carried over."""
    if not name or not os.path.exists(os.path.join(perfmon, name)):
        return {}
    units = {'ARB': 'uncore_arb', 'CBO': 'uncore_cbox', 'CBOX': 'uncore_cbox', 'iMC': 'uncore_imc',
             'IMC': 'uncore_imc', 'CHA': 'uncore_cha', 'UPI': 'uncore_upi', 'UPI LL': 'uncore_upi',
             'QPI LL': 'uncore_qpi', 'HA': 'uncore_ha', 'NCU': 'uncore_clock',
             'CLOCK': 'uncore_clock', 'M2M': 'uncore_m2m', 'IIO': 'uncore_iio',
             'PCU': 'uncore_pcu', 'CXLCM': 'uncore_cxlcm', 'CXLDP': 'uncore_cxldp',
             'HAC_ARB': 'uncore_hac_arb', 'HAC_CBO': 'uncore_hac_cbox',
             'imc_free_running': 'uncore_imc_free_running', 'cncu': 'uncore_clock'}
    out = {}
    for e in read(os.path.join(perfmon, name))[0]:
        unit = (e.get('Unit') or '').strip()
        pmu = units.get(unit) or units.get(unit.upper()) or 'uncore_' + unit.lower().replace(' ', '_')
        event, umask = number(e['EventCode'].split(',')[0]), number(e.get('UMask', '0').split(',')[0])
        umask |= number(e.get('UMaskExt')) << 8
        terms = ['event=0x%02x' % event]
        if umask:
            terms.append('umask=0x%02x' % umask)
        for key, term in (('PortMask', 'ch_mask'), ('FCMask', 'fc_mask')):
            if number(e.get(key)):
                terms.append('%s=0x%x' % (term, number(e[key])))
        # the second filter register of a box, whose bits Linux has behind those of the first
        if e.get('Filter') == 'Filter1' and number(e.get('FILTER_VALUE')):
            terms.append('config1=0x%x' % (number(e['FILTER_VALUE']) << 32))
        out[e['EventName'].strip()] = '%s/%s/ - 0' % (pmu, ','.join(terms))
    return out
