#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes models/descriptions.zst: what Intel's event lists say of each event. Run by people, not by the build.

	tools/import_descriptions.py REFERENCE [models]

REFERENCE has perfmon/ (github.com/intel/perfmon). Its texts are under the licence that is beside them
(models/LICENSE.perfmon). Unpacked the file is lines: `=EVENT`, then for each text of that event the models that it is
for, parted by commas, a tab and the text.
"""

import collections
import ctypes
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model_import import intel, intel_events  # noqa: E402

LEVEL = 22


def packed(data):
    z = ctypes.CDLL('libzstd.so.1')
    z.ZSTD_compressBound.restype = z.ZSTD_compress.restype = ctypes.c_size_t
    z.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    z.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    out = ctypes.create_string_buffer(z.ZSTD_compressBound(len(data)))
    n = z.ZSTD_compress(out, len(out), data, len(data), LEVEL)
    return out.raw[:n]


def texts(perfmon):
    """{event: {text: [model, ...]}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in intel.TABLE:
        ident, names = row[0], list(row[6]) + ([row[7]] if row[7] else [])
        seen = set()
        for name in filter(None, (intel.find_file(perfmon, n) for n in names)):
            for e in intel_events.read(os.path.join(perfmon, name))[0]:
                key = e.get('EventName', '').strip()
                text = ' '.join((e.get('PublicDescription') or e.get('BriefDescription') or '').split())
                if key and text and key not in seen:
                    seen.add(key)
                    found[key][text].append(ident)
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    perfmon = os.path.join(sys.argv[1], 'perfmon')
    top = sys.argv[2] if len(sys.argv) > 2 else 'models'
    found = texts(perfmon)
    lines = []
    for key in sorted(found):
        lines.append('=' + key)
        lines += ['%s\t%s' % (','.join(models), text) for text, models in sorted(found[key].items())]
    data = ('\n'.join(lines) + '\n').encode()
    with open(os.path.join(top, 'descriptions.zst'), 'wb') as f:
        f.write(packed(data))
    shutil.copyfile(os.path.join(perfmon, 'LICENSE'), os.path.join(top, 'LICENSE.perfmon'))
    print('%d events, %d texts, %d bytes, %d packed' % (len(found), len({t for v in found.values() for t in v}), len(data),
                                                        os.path.getsize(os.path.join(top, 'descriptions.zst'))))


if __name__ == '__main__':
    main()
