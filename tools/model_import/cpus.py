# SPDX-License-Identifier: BSD-3-Clause
"""cpus.tab out of the vendors' maps."""

import csv
import os
import re

from .intel_events import spans

# Directory of perfmon -> model, or by core type for hybrids.
DIRS = {'NHM-EP': 'nhm-ep', 'NHM-EX': 'nhm-ex', 'WSM-EP-SP': 'wsm-sp', 'WSM-EP-DP': 'wsm-dp',
        'WSM-EX': 'wsm-ex', 'SNB': 'snb', 'JKT': 'jkt', 'IVB': 'ivb', 'IVT': 'ivt', 'HSW': 'hsw',
        'HSX': 'hsx', 'BDW': 'bdw', 'BDX': 'bdx', 'BDW-DE': 'bdw-de', 'SKL': 'skl', 'SKX': 'skx',
        'CLX': 'clx', 'ICL': 'icl', 'RKL': 'rkl', 'TGL': 'tgl', 'ICX': 'icx', 'SPR': 'spr',
        'EMR': 'emr', 'GNR': 'gnr', 'SRF': 'srf', 'GRR': 'grr', 'CWF': 'cwf', 'EHL': 'ehl',
        'SNR': 'snr', 'GLM': 'glm', 'GLP': 'glp', 'SLM': 'slm', 'KNL': 'knl', 'BNL': 'bnl'}
CORES = {'goldencove': 'adl-glc', 'gracemont': 'adl-grt', 'redwoodcove': 'mtl-rwc',
         'lunarlake_lioncove': 'lnl-lnc', 'arrowlake_lioncove': 'arl-lnc',
         'meteorlake_crestmont': 'mtl-cmt', 'arrowlake_crestmont': 'arl-cmt',
         'lunarlake_skymont': 'lnl-skt', 'arrowlake_skymont': 'arl-skt', 'cougarcove': 'ptl-cgc',
         'darkmont': 'ptl-dkt', 'coyotecove': 'nvl-cyc', 'arcticwolf': 'nvl-arw'}
PMUS = {'Core': 'cpu_core', 'Atom': 'cpu_atom', 'LowPower_Atom': 'cpu_lowpower'}
# The sheet has columns of its own for these, which the map does not tell apart.
FINER = [('GenuineIntel', '6', '0x8e', '10-12', '*', 'cfl'),
         ('GenuineIntel', '6', '0x9e', '10-13', '*', 'cfl'),
         ('GenuineIntel', '6', '0xa5', '*', '*', 'cfl'),
         ('GenuineIntel', '6', '0xa6', '*', '*', 'cfl'),
         ('GenuineIntel', '6', '0x55', '10-11', '*', 'cpx')]


def intel(path):
    rows = list(FINER)
    with open(path) as f:
        for r in csv.DictReader(f):
            if r['EventType'] not in ('core', 'hybridcore'):
                continue
            m = re.fullmatch(r'GenuineIntel-(\d+)-([0-9A-F]+)(?:-\[(.+)\])?', r['Family-model'])
            stepping = '*'
            if m.group(3):
                text = re.sub(r'(\w)-(\w)', lambda x: ''.join(
                    '%X' % i for i in range(int(x.group(1), 16), int(x.group(2), 16) + 1)),
                    m.group(3))
                stepping = spans([int(c, 16) for c in text])
            folder = r['Filename'].split('/')[1]
            pmu, ident = '*', DIRS.get(folder)
            if r['EventType'] == 'hybridcore' or not ident:
                ident = next((v for k, v in CORES.items() if k in r['Filename']), None)
                pmu = PMUS.get(r['Core Role Name'], '*')
            if ident:
                rows.append(('GenuineIntel', m.group(1), '0x%02x' % int(m.group(2), 16), stepping,
                             pmu, ident))
    out = []
    for r in rows:
        if r not in out:
            out.append(r)
    return out


# As the regular expressions of Linux' map say, first match first.
AMD = [('AuthenticAMD', '23', '0x00-0x2f', '*', '*', 'zen1'),
       ('AuthenticAMD', '23', '*', '*', '*', 'zen2'),
       ('AuthenticAMD', '25', '0x00-0x0f,0x20-0x2f,0x40-0x5f', '*', '*', 'zen3'),
       ('AuthenticAMD', '25', '*', '*', '*', 'zen4'),
       ('AuthenticAMD', '26', '0x50-0x57', '*', '*', 'zen6'),
       ('AuthenticAMD', '26', '*', '*', '*', 'zen5'),
       ('HygonGenuine', '24', '*', '*', '*', 'zen1')]
ARM = [('ARM', '0x41', '0xd0c', '*', '*', 'neoverse-n1'),
       ('ARM', '0x41', '0xd40', '*', '*', 'neoverse-v1'),
       # The frontend's count of r0p0 to r0p2 runs ahead by a slot a cycle.
       ('ARM', '0x41', '0xd49', '0-2', '*', 'neoverse-n2-r0p0'),
       ('ARM', '0x41', '0xd49', '*', '*', 'neoverse-n2'),
       ('ARM', '0x41', '0xd4f', '*', '*', 'neoverse-v2'),
       ('ARM', '0x41', '0xd84', '*', '*', 'neoverse-v3'),
       ('ARM', '0x41', '0xd8e', '*', '*', 'neoverse-n3'),
       ('ARM', '0xc0', '0xac3', '*', '*', 'ampereone'),
       ('ARM', '0xc0', '0xac4', '*', '*', 'ampereonex')]
REST = [('GenuineIntel', '*', '*', '*', 'cpu_atom', 'sysfs-atom'),
        ('GenuineIntel', '*', '*', '*', '*', 'sysfs'),
        ('ARM', '*', '*', '*', '*', 'arm-generic')]


def write(top, perfmon, have):
    rows = intel(os.path.join(perfmon, 'mapfile.csv')) + AMD + ARM + REST
    with open(os.path.join(top, 'cpus.tab'), 'w') as f:
        f.write('# Which model is for which CPU; the first line that fits counts.\n'
                '# Of Arm: implementer, part, variant * 16 + revision (doc/model-format.md).\n'
                '#From intel/perfmon mapfile.csv; Linux tools/perf/pmu-events/arch/*/mapfile.csv\n'
                '#\n# vendor     family model        stepping pmu          model\n')
        for r in rows:
            if r[5] in have:
                f.write('%-12s %-6s %-12s %-8s %-12s %s\n' % r)
            else:
                print('cpus.tab: no model %s for %s' % (r[5], ' '.join(r[:4])))
