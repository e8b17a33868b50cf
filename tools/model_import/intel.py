# SPDX-License-Identifier: BSD-3-Clause
"""Intel: which models there are, and their trees, metrics and events."""

import json
import os
import re

from . import intel_events
from .sheet import Sheet, locate_of
from .write import Model

# id, title, sheet and column, names in locate guards, base of tree and events, files of events,
# uncore, (counters with SMT on, off), fixed counters, levels of PERF_METRICS, width, counts per core
P = 'P'
E = 'E'
A = 'A'
TABLE = [
    # id, title, (sheet, column), guards, tree base, event base, event files, uncore file
    ('snb', 'Intel Sandy Bridge', (P, 'SNB'), ['SNB'], None, None,
     ['SNB/events/sandybridge_core.json', 'SNB/events/sandybridge_matrix.json'],
     'SNB/events/sandybridge_uncore.json', (4, 8), 3, 0, 4, True),
    ('jkt', 'Intel Sandy Bridge EP', (P, 'JKT/SNB-EP'), ['JKT'], 'snb', 'snb',
     ['JKT/events/Jaketown_core.json', 'JKT/events/Jaketown_matrix.json'],
     'JKT/events/Jaketown_uncore.json', (4, 8), 3, 0, 4, True),
    ('ivb', 'Intel Ivy Bridge', (P, 'IVB'), ['IVB'], 'snb', 'snb',
     ['IVB/events/ivybridge_core.json', 'IVB/events/ivybridge_matrix.json'],
     'IVB/events/ivybridge_uncore.json', (4, 8), 3, 0, 4, True),
    ('ivt', 'Intel Ivy Bridge EP', (P, 'IVT'), ['IVT'], 'ivb', 'ivb',
     ['IVT/events/ivytown_core.json', 'IVT/events/ivytown_matrix.json'],
     'IVT/events/ivytown_uncore.json', (4, 8), 3, 0, 4, True),
    ('hsw', 'Intel Haswell', (P, 'HSW'), ['HSW'], 'ivb', 'ivb',
     ['HSW/events/haswell_core.json', 'HSW/events/haswell_matrix.json'],
     'HSW/events/haswell_uncore.json', (4, 8), 3, 0, 4, True),
    ('hsx', 'Intel Haswell Server', (P, 'HSX'), ['HSX'], 'hsw', 'hsw',
     ['HSX/events/haswellx_core.json', 'HSX/events/haswellx_matrix.json'],
     'HSX/events/haswellx_uncore.json', (4, 8), 3, 0, 4, True),
    ('bdw', 'Intel Broadwell', (P, 'BDW'), ['BDW'], 'hsw', 'hsw',
     ['BDW/events/broadwell_core.json', 'BDW/events/broadwell_matrix.json'],
     'BDW/events/broadwell_uncore.json', (4, 8), 3, 0, 4, True),
    ('bdx', 'Intel Broadwell Server', (P, 'BDX'), ['BDX'], 'bdw', 'bdw',
     ['BDX/events/broadwellx_core.json', 'BDX/events/broadwellx_matrix.json'],
     'BDX/events/broadwellx_uncore.json', (4, 8), 3, 0, 4, True),
    ('bdw-de', 'Intel Broadwell DE', (P, 'BDW'), ['BDW'], 'bdw', 'bdx',
     ['BDW-DE/events/broadwellde_core.json'], 'BDW-DE/events/broadwellde_uncore.json',
     (4, 8), 3, 0, 4, True),
    ('skl', 'Intel Skylake, Kaby Lake', (P, 'SKL/KBL'), ['SKL', 'KBL'], 'bdw', 'bdw',
     ['SKL/events/skylake_core.json', 'SKL/events/skylake_matrix.json'],
     'SKL/events/skylake_uncore.json', (4, 8), 3, 0, 4, True),
    ('cfl', 'Intel Coffee Lake, Comet Lake', (P, 'KBLR/CFL/CML'), ['KBLR', 'CFL'], 'skl', 'skl',
     ['SKL/events/skylake_core.json', 'SKL/events/skylake_matrix.json'],
     'SKL/events/skylake_uncore.json', (4, 8), 3, 0, 4, True),
    ('skx', 'Intel Skylake Server', (P, 'SKX'), ['SKX'], 'skl', 'skl',
     ['SKX/events/skylakex_core.json'], 'SKX/events/skylakex_uncore.json',
     (4, 8), 3, 0, 4, True),
    ('clx', 'Intel Cascade Lake Server', (P, 'CLX'), ['CLX'], 'skx', 'skx',
     ['CLX/events/cascadelakex_core.json'], 'CLX/events/cascadelakex_uncore.json',
     (4, 8), 3, 0, 4, True),
    ('cpx', 'Intel Cooper Lake Server', (P, 'CPX'), ['CPX'], 'clx', 'clx',
     ['CLX/events/cascadelakex_core.json'], 'CLX/events/cascadelakex_uncore.json',
     (4, 8), 3, 0, 4, True),
    ('icl', 'Intel Ice Lake', (P, 'ICL'), ['ICL'], 'skl', None,
     ['ICL/events/icelake_core.json'], 'ICL/events/icelake_uncore.json',
     (8, 8), 4, 1, 5, False),
    ('rkl', 'Intel Rocket Lake', (P, 'RKL'), ['RKL'], 'icl', 'icl',
     ['RKL/events/rocketlake_core.json'], 'RKL/events/rocketlake_uncore.json',
     (8, 8), 4, 1, 5, False),
    ('tgl', 'Intel Tiger Lake', (P, 'TGL'), ['TGL'], 'icl', 'icl',
     ['TGL/events/tigerlake_core.json'], 'TGL/events/tigerlake_uncore.json',
     (8, 8), 4, 1, 5, False),
    ('icx', 'Intel Ice Lake Server', (P, 'ICX'), ['ICX'], 'icl', 'icl',
     ['ICX/events/icelakex_core.json'], 'ICX/events/icelakex_uncore.json',
     (8, 8), 4, 1, 5, False),
    ('adl-glc', 'Intel Alder Lake, Raptor Lake: Golden Cove', (P, 'ADL/RPL'), ['ADL'], 'icl', None,
     ['ADL/events/alderlake_goldencove_core.json'], 'ADL/events/alderlake_uncore.json',
     (8, 8), 4, 2, 6, False),
    ('spr', 'Intel Sapphire Rapids', (P, 'SPR'), ['SPR'], 'adl-glc', 'adl-glc',
     ['SPR/events/sapphirerapids_core.json'], 'SPR/events/sapphirerapids_uncore.json',
     (8, 8), 4, 2, 6, False),
    ('sprhbm', 'Intel Xeon Max (Sapphire Rapids with HBM)', (P, 'SPR-HBM'), ['SPR-HBM'], 'spr',
     'spr', ['SPR/events/sapphirerapids_core.json'],
     'SPR/events/sapphirerapids_uncore.json', (8, 8), 4, 2, 6, False),
    ('emr', 'Intel Emerald Rapids', (P, 'EMR'), ['EMR'], 'spr', 'spr',
     ['EMR/events/emeraldrapids_core.json'], 'EMR/events/emeraldrapids_uncore.json',
     (8, 8), 4, 2, 6, False),
    ('mtl-rwc', 'Intel Meteor Lake: Redwood Cove', (P, 'MTL'), ['MTL'], 'adl-glc', 'adl-glc',
     ['MTL/events/meteorlake_redwoodcove_core.json'], 'MTL/events/meteorlake_uncore.json',
     (8, 8), 4, 2, 6, False),
    ('gnr', 'Intel Granite Rapids', (P, 'GNR'), ['GNR'], 'spr', 'spr',
     ['GNR/events/graniterapids_core.json'], 'GNR/events/graniterapids_uncore.json',
     (8, 8), 4, 2, 6, False),
    ('lnl-lnc', 'Intel Lunar Lake: Lion Cove', (P, 'LNL/ARL'), ['LNL'], 'mtl-rwc', None,
     ['LNL/events/lunarlake_lioncove_core.json'], 'LNL/events/lunarlake_uncore.json',
     (10, 10), 4, 2, 8, False),
    ('arl-lnc', 'Intel Arrow Lake: Lion Cove', (P, 'LNL/ARL'), ['ARL', 'LNL'], 'lnl-lnc', 'lnl-lnc',
     ['ARL/events/arrowlake_lioncove_core.json'], 'ARL/events/arrowlake_uncore.json',
     (10, 10), 4, 2, 8, False),
    ('ptl-cgc', 'Intel Panther Lake: Cougar Cove', (P, 'PTL'), ['PTL'], 'lnl-lnc', 'lnl-lnc',
     ['PTL/events/pantherlake_cougarcove_core.json'], 'PTL/events/pantherlake_uncore.json',
     (10, 10), 4, 2, 8, False),
    ('adl-grt', 'Intel Alder Lake, Raptor Lake: Gracemont', (E, 'GRT'), ['GRT'], None, None,
     ['ADL/events/alderlake_gracemont_core.json'], None, (6, 6), 3, 0, 5, False),
    ('mtl-cmt', 'Intel Meteor Lake: Crestmont', (E, 'CMT'), ['CMT'], None, None,
     ['MTL/events/meteorlake_crestmont_core.json'], None, (8, 8), 3, 0, 6, False),
    ('arl-cmt', 'Intel Arrow Lake: low-power Crestmont', (E, 'CMT'), ['CMT'], 'mtl-cmt', 'mtl-cmt',
     ['ARL/events/arrowlake_crestmont_core.json'], None, (8, 8), 3, 0, 6, False),
    ('srf', 'Intel Sierra Forest: Crestmont', (E, 'CMT'), ['CMT'], 'mtl-cmt', 'mtl-cmt',
     ['SRF/events/sierraforest_core.json'], None, (8, 8), 3, 0, 6, False),
    ('grr', 'Intel Grand Ridge: Crestmont', (E, 'CMT'), ['CMT'], 'mtl-cmt', 'srf',
     ['GRR/events/grandridge_core.json'], None, (8, 8), 3, 0, 6, False),
    ('lnl-skt', 'Intel Lunar Lake: Skymont', (E, 'LNL-SKT'), ['SKT'], None, None,
     ['LNL/events/lunarlake_skymont_core.json'], None, (8, 8), 7, 0, 8, False),
    ('arl-skt', 'Intel Arrow Lake: Skymont', (E, 'ARL-SKT'), ['SKT'], 'lnl-skt', 'lnl-skt',
     ['ARL/events/arrowlake_skymont_core.json'], None, (8, 8), 7, 0, 8, False),
    ('ptl-dkt', 'Intel Panther Lake: Darkmont', (E, 'LNL-SKT'), ['SKT'], 'lnl-skt', 'lnl-skt',
     ['PTL/events/pantherlake_darkmont_core.json'], None, (8, 8), 7, 0, 8, False),
    ('cwf', 'Intel Clearwater Forest: Darkmont', (E, 'LNL-SKT'), ['SKT'], 'ptl-dkt', 'ptl-dkt',
     ['CWF/events/clearwaterforest_core.json'], None, (8, 8), 7, 0, 8, False),
    ('nvl-cyc', 'Intel Nova Lake: Coyote Cove', (None, None), [], None, 'ptl-cgc',
     ['NVL/events/novalake_coyotecove_core.json'], None, (10, 10), 4, 2, 8, False),
    ('nvl-arw', 'Intel Nova Lake: Arctic Wolf', (None, None), [], None, 'ptl-dkt',
     ['NVL/events/novalake_arcticwolf_core.json'], None, (8, 8), 7, 0, 8, False),
    ('ehl', 'Intel Elkhart Lake: Tremont', (A, 'TNT'), [], None, None,
     ['EHL/events/elkhartlake_core.json'], None, (4, 4), 3, 0, 4, False),
    ('snr', 'Intel Snow Ridge: Tremont', (A, 'TNT'), [], 'ehl', 'ehl',
     ['SNR/events/snowridgex_core.json'], None, (4, 4), 3, 0, 4, False),
    ('glp', 'Intel Goldmont Plus', (A, 'GLM/GLP'), [], None, None,
     ['GLP/events/goldmontplus_core.json', 'GLP/events/goldmontplus_matrix.json'], None,
     (4, 4), 3, 0, 3, False),
    ('glm', 'Intel Goldmont', (A, 'GLM/GLP'), [], 'glp', 'glp',
     ['GLM/events/goldmont_core.json', 'GLM/events/goldmont_matrix.json'], None,
     (4, 4), 3, 0, 3, False),
    ('slm', 'Intel Silvermont', (None, None), [], None, None,
     ['SLM/events/silvermont_core.json'], None, (2, 2), 3, 0, 2, False),
    ('knl', 'Intel Knights Landing', (None, None), [], None, None,
     ['KNL/events/knightslanding_core.json'], None, (2, 2), 3, 0, 2, False),
    ('bnl', 'Intel Bonnell', (None, None), [], None, None,
     ['BNL/events/bonnell_core.json'], None, (2, 2), 3, 0, 2, False),
    ('nhm-ep', 'Intel Nehalem', (None, None), [], None, None,
     ['NHM-EP/events/nehalemep_core.json'], None, (4, 4), 3, 0, 4, True),
    ('nhm-ex', 'Intel Nehalem EX', (None, None), [], None, 'nhm-ep',
     ['NHM-EX/events/nehalemex_core.json'], None, (4, 4), 3, 0, 4, True),
    ('wsm-sp', 'Intel Westmere', (None, None), [], None, 'nhm-ep',
     ['WSM-EP-SP/events/westmereep-sp_core.json'], None, (4, 4), 3, 0, 4, True),
    ('wsm-dp', 'Intel Westmere EP', (None, None), [], None, 'wsm-sp',
     ['WSM-EP-DP/events/westmereep-dp_core.json'], None, (4, 4), 3, 0, 4, True),
    ('wsm-ex', 'Intel Westmere EX', (None, None), [], None, 'wsm-dp',
     ['WSM-EX/events/westmereex_core.json'], None, (4, 4), 3, 0, 4, True),
]

# What the sheet leaves to the tool: said here in terms of what the loader knows of the machine
# (the names with a small letter behind `#`, TSC; doc/model-format.md).
GIVEN = {
    '#DS': None,                    # server: below
    'Num_CPUs': '#num_cpus_online',
    'DurationTimeInMilliSeconds': '1000 * #DurationTimeInSeconds',
    # Linux' power PMU counts in 2^-32 J, whatever the register's unit is; the formula wants uJ.
    '#Energy_Unit': '0.00023283064365386963',
    '#PMM_App_Direct': '#has_pmem',
}
# Words of the language itself.
OWN = ('#SMT_on', '#EBS_Mode', '#DurationTimeInSeconds')
# Not carried over: asks for what a sum over processors does not hold, or is a list of errata.
LEFT_OUT = {'#Errata_Whitelist': 'a list of names, not a formula',
            'Slots_Utilization': 'needs slots of each core (:percore)',
            'MUX': 'says how the counters were shared, which is known directly'}
ENERGY = {'FREERUN_PKG_ENERGY_STATUS': 'power/energy-pkg/ - 0',
          'UNC_PKG_ENERGY_STATUS': 'power/energy-pkg/ - 0',
          'FREERUN_DRAM_ENERGY_STATUS': 'power/energy-ram/ - 0'}
SERVERS = ('jkt', 'ivt', 'hsx', 'bdx', 'skx', 'clx', 'cpx', 'icx', 'spr', 'sprhbm', 'emr', 'gnr')

# Metrics of the uncore, which the sheet has not: files of metrics and of uncore events.
EXTRAS = {
    'hsx': ('HSX/metrics/haswellx_metrics.json', 'HSX/events/haswellx_uncore.json'),
    'bdx': ('BDX/metrics/broadwellx_metrics.json', 'BDX/events/broadwellx_uncore.json'),
    'skx': ('SKX/metrics/skylakex_metrics.json', 'SKX/events/skylakex_uncore.json'),
    'clx': ('CLX/metrics/cascadelakex_metrics.json', 'CLX/events/cascadelakex_uncore.json'),
    'icx': ('ICX/metrics/icelakex_metrics.json', 'ICX/events/icelakex_uncore.json'),
    'spr': ('SPR/metrics/sapphirerapids_metrics.json', 'SPR/events/sapphirerapids_uncore.json'),
    'cpx': ('CLX/metrics/cascadelakex_metrics.json', 'CLX/events/cascadelakex_uncore.json'),
    'sprhbm': ('SPR/metrics/sapphirerapidshbm_metrics.json',
               'SPR/events/sapphirerapids_uncore.json'),
    'emr': ('EMR/metrics/emeraldrapids_metrics.json', 'EMR/events/emeraldrapids_uncore.json'),
    'gnr': ('GNR/metrics/graniterapids_metrics.json', 'GNR/events/graniterapids_uncore.json'),
    'srf': ('SRF/metrics/sierraforest_metrics.json', 'SRF/events/sierraforest_uncore.json'),
    'grr': ('GRR/metrics/grandridge_metrics.json', 'GRR/events/grandridge_uncore.json'),
    'cwf': ('CWF/metrics/clearwaterforest_metrics.json', 'CWF/events/clearwaterforest_uncore.json'),
}
CONSTANTS = {'DURATIONTIMEINSECONDS': '#DurationTimeInSeconds', 'SOCKET_COUNT': '#num_packages',
             'DURATIONTIMEINMILLISECONDS': '( 1000 * #DurationTimeInSeconds )'}
EXTRA_UNITS = {'MB/sec': 'MB/s', 'GB/sec': 'GB/s', 'percent': '%'}

# What a CPU's file leaves out although it counts it: encodings as libpfm4 has them.
BESIDE = {'wsm-dp': ('libpfm4, of the tree wsm_ep of Gooda: MEM_UNCORE_RETIRED.*', {
    'MEM_UNCORE_RETIRED.' + name: 'event=0x0f,umask=0x%02x 0-3 %d precise' % (umask, period)
    for name, umask, period in (
        ('LOCAL_HITM', 0x02, 20003), ('REMOTE_HITM', 0x04, 10007),
        ('LOCAL_DRAM_AND_REMOTE_CACHE_HIT', 0x08, 10007), ('REMOTE_DRAM', 0x10, 10007),
        ('OTHER_LLC_MISS', 0x20, 10007))})}

TOKEN = re.compile(r'##?[A-Za-z_]\w*|\$PEBS|[A-Za-z_%0-9][\w.%]*(?::[a-z_A-Z]+(?:=?"?[^\s"()*+,/]*"?)?)*')
UNITS = {'GB/sec': ('GB/s', None), 'MB/sec': ('MB/s', None), 'Seconds': ('s', None)}
PERCENT = re.compile(r'^\s*100 \*')


class Resolver:
    """Turns the names in a formula into those of the events file; collects what is unknown."""

    def __init__(self, model, names, uncore, one_tsc):
        self.model, self.names, self.uncore = model, names, uncore
        self.unknown = set()
        # The sheet of the large cores means one processor's time-stamp counter by TSC, the others
        # that of all processors.
        self.one_tsc = one_tsc

    def event(self, name):
        ev = self.model.events
        for n in (name, name[:-3] if name.endswith('_PS') else name + '_PS'):
            if n in ev:
                return n
        if name in self.uncore:
            ev[name] = self.uncore[name]
            return name
        if name in ENERGY:
            ev[name] = ENERGY[name]
            return name
        return None

    def token(self, word):
        if word == 'TSC' and self.one_tsc:
            return '( #system_tsc_freq * #DurationTimeInSeconds )'
        if re.fullmatch(r'[\d.]+(e\d+)?', word) or word in ('if', 'else', 'min', 'max', '#NA',
                                                           '$PEBS', 'TSC', 'P'):
            return word
        if word.startswith('##'):
            return '##' + self.names.get(word[2:], word[2:])
        if word in self.names:
            return self.names[word]
        if re.match(r'#[a-z]', word):
            return word
        base, _, options = word.partition(':')
        found = self.event(base)
        if not found:
            self.unknown.add(word)
            return word
        kept = []
        for o in options.split(':') if options else []:
            m = re.fullmatch(r'(opc|ocr_msr_val)=?"?(?:Match ?= ?)?(0x[0-9a-fA-F]+)"?', o)
            if m:
                made = '%s.%s_%s' % (found, m.group(1).upper(), m.group(2)[2:].upper())
                rest = self.model.events[found].split(' ')
                if m.group(1) == 'opc':
                    rest[0] = rest[0].rstrip('/') + ',filter_opc=%s/' % m.group(2)
                else:
                    rest[0] = re.sub(r'offcore_rsp=\w+', 'offcore_rsp=' + m.group(2).lower(), rest[0])
                self.model.events[made] = ' '.join(rest)
                found = made
            elif o == 'one_unit':   # of many equal boxes the first
                made = found + '.ONE_UNIT'
                self.model.events[made] = self.model.events[found].replace('/', '_0/', 1)
                found = made
            elif o != 'perf_metrics':
                kept.append(o)
        return ':'.join([found] + kept)

    def formula(self, text):
        text = re.sub(r'"([\w.]+)/Match=(0x\w+)((?::\w+)*)"', r'\1:opc=\2\3', text)
        return ' '.join(TOKEN.sub(lambda m: self.token(m.group(0)), text).split())


def threshold_of(text):
    """`> 0.1 & P; $issueBW; ~overlap` -> (threshold, issues, overlap)"""
    parts = [p.strip() for p in text.split(';')]
    flag = parts[0]
    flag = re.sub(r'^([<>])(?=\S)', r'\1 ', flag)
    return (flag or None, ' '.join(p for p in parts[1:] if p.startswith('$')) or None,
            '~overlap' in parts)


def clean(name, area):
    if area == 'Bottleneck':
        return 'Bottleneck_' + name
    return re.sub(r'^%_', '', name).strip()


def fill_rows(model, sheet, column, guards, uncore):
    rows = list(sheet.expand(column))
    names = {}
    for area, level, name, text, row in rows:
        names[name] = clean(name, area)
    r = Resolver(model, names, uncore, sheet.inherits)
    widths = {}
    last = {}          # level -> last valid node
    listing = []
    for area, level, name, text, row in rows:
        key = clean(name, area)
        if name in OWN:
            continue
        if name in LEFT_OUT:
            model.notes.append('%s: left out: %s' % (name, LEFT_OUT[name]))
            continue
        if not text and name not in GIVEN:
            continue
        absent = text == '#NA' or not text and name not in GIVEN
        if key in model.rows and not model.rows[key].get('absent'):
            model.notes.append('%s: twice in the sheet' % name)
            continue
        if absent:
            listing.append((key, None, level, None, None))
            continue
        given = GIVEN.get(name)
        if name == '#DS':
            given = '1 if #num_packages > 1 else 0' if model.id in SERVERS else '0'
        if name == '#PMM_App_Direct' and model.id == 'gnr':
            given = text
        if given:
            text = given
        area = {'BE_aux': 'BE'}.get(area, area)
        row_facts = {'kind': 'node' if level else 'metric', 'area': area}
        if level:
            last = {k: v for k, v in last.items() if k < level}
            up = level - 1
            while up and up not in last:
                up -= 1
            if up:
                row_facts['parent'] = last[up]
            if up != level - 1:
                row_facts['level'] = str(level)
            if area == 'BE_aux' or key == 'Backend_Bound_Aux':
                row_facts['overlap'] = ''
            last[level] = key
        listing.append((key, row_facts, level, text, row))
    for key, facts, level, text, row in listing:
        if facts is None:
            model.rows[key] = {'kind': 'node' if level else 'metric', 'absent': True}
            continue
        if text == '$':
            continue
        # A part that a machine need not have is 0 where it does not, so that sums hold.
        facts['expr'] = of_this_thread(re.sub(r'else #NA$', 'else 0', r.formula(text)))
        flag, issue, overlap = threshold_of(sheet.of(row, 'Threshold'))
        if flag:
            facts['flag'] = r.formula(flag)
        if issue:
            facts['issue'] = issue
        if overlap:
            facts['overlap'] = ''
        count = sheet.of(row, 'Count Domain')
        if count not in ('', '-'):
            facts['count'] = count
        if level:
            facts['unit'], facts['scale'] = '%', '100'
        elif count == 'Scaled_Slots' or PERCENT.match(facts['expr']) or '%' in row[1][:1]:
            facts['unit'] = '%'
        elif count in UNITS:
            facts['unit'] = UNITS[count][0]
        groups = sheet.of(row, 'Metric Group')
        if groups:
            facts['groups'] = ';'.join(sorted(set(g.strip() for g in groups.split(';') if g.strip())))
        top = sheet.of(row, 'Metric Max')
        if top:
            facts['max'] = top
        where = []
        for e in locate_of(sheet.of(row, 'Locate-with'), guards):
            found = r.event(e)
            if found:
                where.append(found)
            else:
                model.notes.append('%s: locate with %s: no such event' % (key, e))
        if where:
            facts['locate'] = ';'.join(where)
        model.rows[key] = facts
    add_thread_part(model)
    fix_maxima(model)
    return r.unknown


HALF_WITH_SMT = re.compile(r'/ 2\b')


def of_this_thread(expr):
    """Counts of a whole core are halved where SMT is on. That is right of both threads' counts together, and of a
    thread whose sibling is busy; of a task that has the core to itself half of it would be missing (Bad_Speculation
    3 % for 5 %). Where not all threads are counted, its part is that of the core's clocks, as CORE_CLKS has them."""
    head, smt, tail = expr.partition(' if #SMT_on')
    if not smt or '#EBS_Mode' in expr or 'REF_XCLK_ANY' in expr:
        return expr
    return HALF_WITH_SMT.sub('* #Thread_Part', head) + smt + tail


def add_thread_part(model):
    if any('#Thread_Part' in facts.get('expr', '') for facts in model.rows.values()):
        model.rows['#Thread_Part'] = {'kind': 'metric', 'area': 'Aux', 'count': 'Fraction',
                                      'expr': 'CORE_CLKS / CLKS if #EBS_Mode else 0.5'}


def fix_maxima(model):
    """Metric Max may name constants: written as the number that it is for this model."""
    for facts in model.rows.values():
        if 'max' in facts and not re.fullmatch(r'[\d.]+', facts['max']):
            text = re.sub(r'#\w+', lambda m: model.rows.get(m.group(0), {}).get('expr', 'x'),
                          facts['max'])
            facts['max'] = '%g' % eval(text, {'__builtins__': {}}) if re.fullmatch(
                r'[\d.\s+*/()-]+', text) else None
            if facts['max'] is None:
                del facts['max']


def drop_unresolved(model, unknown):
    """A metric whose formula asks for what this model does not have is absent, as are those that
    need it and are nothing without it."""
    gone = set()
    for key, facts in list(model.rows.items()):
        if facts.get('absent'):
            continue
        words = set(TOKEN.findall(facts['expr']))
        bad = words & unknown
        if bad:
            model.notes.append('%s: absent: no event %s' % (key, ', '.join(sorted(bad))))
            model.rows[key] = {'kind': facts['kind'], 'absent': True,
                               'why': 'its formula needs what is not in the event file: ' +
                                      ', '.join(sorted(bad))}
            gone.add(key)
        elif 'flag' in facts and set(TOKEN.findall(facts['flag'])) & unknown:
            model.notes.append('%s: no threshold: %s' % (key, facts['flag']))
            del facts['flag']
    for key, facts in model.rows.items():
        if not facts.get('absent') and facts.get('parent') in gone:
            facts['parent'] = model.rows[facts['parent']].get('parent')
    absent = {k for k, f in model.rows.items() if f.get('absent') and f['kind'] == 'node'}
    for key, facts in model.rows.items():
        if not facts.get('absent') and set(TOKEN.findall(facts['expr'])) & absent:
            facts['expr'] = TOKEN.sub(lambda w: '0' if w.group(0) in absent else w.group(0),
                                      facts['expr'])
            model.notes.append('%s: nodes that this model has not are 0 in it' % key)
    return gone


def extras(model, perfmon):
    """Bandwidths and their like, out of the metric file: what names plain uncore events only."""
    if model.id not in EXTRAS:
        return
    metrics, uncore = EXTRAS[model.id]
    metrics, uncore = find_file(perfmon, metrics), find_file(perfmon, uncore)
    have = intel_events.uncore(perfmon, uncore)
    known = {n.lower() for n in model.rows}
    left = []
    with open(os.path.join(perfmon, metrics), encoding='utf-8-sig') as f:
        for x in json.load(f)['Metrics']:
            names = {e['Alias']: e['Name'] for e in x['Events']}
            if x['MetricName'].startswith('Info_') or x['MetricName'].lower() in known or not any(n in have for n in names.values()):
                continue
            for c in x['Constants']:
                names[c['Alias']] = CONSTANTS.get(c['Name'], '?')
            names.update(CONSTANTS)
            bad = [n for n in names.values() if n == '?' or ':' in n or
                   n not in have and n not in model.events and n not in CONSTANTS.values()]
            if bad or '[' in x['Formula'] or x['MetricName'].startswith('cpu_cstate'):
                left.append(x['MetricName'])
                continue
            for n in names.values():
                if n in have:
                    model.events[n] = have[n]
            text = re.sub(r'[A-Za-z_]\w*', lambda w: names.get(w.group(0), w.group(0)), x['Formula'])
            unit = EXTRA_UNITS.get(x['UnitOfMeasure'], x['UnitOfMeasure'])
            row = {'kind': 'metric', 'area': 'Info.Uncore', 'expr': ' '.join(text.split())}
            if unit:
                row['unit'] = unit
            model.rows[x['MetricName']] = row
    if left:
        model.notes.append('uncore metrics left out (filters, or counts of boxes): ' + ', '.join(left))


def monitored(model, have):
    """Events outside the cores that rows of `monitor` name, which people write: bases first."""
    names, ident = set(), model.id
    while ident:
        path = os.path.join(os.path.dirname(__file__), '..', '..', 'models', 'intel', ident, 'monitor')
        ident = None
        if os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                text = f.read()
            base = re.match(r'base +(\S+)', text)
            ident = base and base.group(1)
            names |= set(re.findall(r'\bUNC_\w+(?:\.\w+)?(?:\.\w+)?', text))
    for n in sorted(names):
        base = n.replace('.ONE_UNIT', '')
        if base in have:
            model.events[n] = have[base] if base == n else have[base].replace('/', '_0/', 1)


# Model: rows of retire-latency.tsv, and where they were measured: the authors of pmu-tools have Arrow Lake's for
# Panther Lake, too.
MEASURED = {'mtl-rwc': ('mtl', 'on Meteor Lake'), 'arl-lnc': ('arl', 'on Arrow Lake'), 'lnl-lnc': ('lnl', 'on Lunar Lake'),
            'ptl-cgc': ('ptl', 'on Arrow Lake')}


def latencies_of(perfmon, ident):
    """({event: mean retire latency in core cycles}, by whom and where)"""
    if ident == 'gnr':
        with open(os.path.join(perfmon, 'GNR/metrics/graniterapids_retire_latency.json')) as f:
            return {k: v['MEAN'] for k, v in json.load(f)['Data'].items()}, 'by Intel on Granite Rapids'
    if ident not in MEASURED:
        return {}, ''
    key, where = MEASURED[ident]
    out = {}
    with open(os.path.join(os.path.dirname(perfmon), 'retire-latency.tsv')) as f:
        for line in f:
            w = line.rstrip('\n').split('\t')
            # without a count it is a guess, and nothing retires in no time: the CPU did not tell
            if w[0] == key and len(w) > 4 and w[4] and float(w[2]) > 0:
                out[w[1]] = float(w[2])
    return out, 'by the authors of pmu-tools ' + where


def find_file(perfmon, name):
    """Names in the map differ from the files' in case only."""
    d, want = os.path.split(name)
    for f in os.listdir(os.path.join(perfmon, d)):
        if f.lower() == want.lower():
            return os.path.join(d, f)
    return None


def models(perfmon):
    sheets = {P: Sheet(os.path.join(perfmon, 'TMA_Metrics-full.csv'), 7, 25),
              E: Sheet(os.path.join(perfmon, 'E-core_TMA_Metrics.csv'), 4, 4),
              A: Sheet(os.path.join(perfmon, 'Atom_TMA.csv'), 5, 2)}
    titles = {P: 'TMA_Metrics-full.csv', E: 'E-core_TMA_Metrics.csv', A: 'Atom_TMA.csv'}
    for (ident, title, (sheet, column), guards, tree_base, event_base, files, uncore, count,
         fixed, metrics, width, per_core) in TABLE:
        m = Model(ident, 'intel/' + ident)
        m.tree_base, m.event_base = tree_base, event_base
        facts = {'counters': count, 'fixed': fixed, 'perf_metrics': metrics}
        files = [f for f in (find_file(perfmon, n) for n in files) if f]
        latencies, measured = latencies_of(perfmon, ident)
        m.events, m.sources = intel_events.load(perfmon, files, facts, ident, latencies)
        if ident in BESIDE:
            source, more = BESIDE[ident]
            m.events.update(more)
            m.sources.append(source)
        m.facts = {'title': title, 'vendor': 'intel', 'language': 'sheet', 'from': 'perfmon',
                   'counters': '%d %d' % count, 'fixed': str(fixed), 'width': str(width)}
        if metrics:
            m.facts['perf_metrics'] = str(metrics)
        if per_core:
            m.facts['per_core'] = ''
        versions = [os.path.basename(x.split()[-2])[:-5] + ' ' + x.split()[-1] for x in m.sources[:1]]
        if sheet:
            s = sheets[sheet]
            versions.insert(0, 'TMA ' + s.version.replace('-full', ''))
            m.facts['tma'] = s.version.replace('-full', '')
        if measured:
            m.facts['latency_from'] = measured
        m.facts['from'] = 'intel/perfmon: ' + ', '.join(versions)
        if sheet:
            m.sources.insert(0, 'intel/perfmon %s %s, column %s%s' % (
                titles[sheet], s.version, column,
                '; the sheet has none for Darkmont' if ident in ('ptl-dkt', 'cwf') else ''))
            un = intel_events.uncore(perfmon, uncore and find_file(perfmon, uncore))
            unknown = fill_rows(m, s, column, guards, un)
            drop_unresolved(m, unknown)
            beside = EXTRAS.get(ident, (None, None))[1]
            monitored(m, un or intel_events.uncore(perfmon, beside and find_file(perfmon, beside)))
        extras(m, perfmon)
        yield m
