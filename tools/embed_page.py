#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the script and the style of a page as a C file, each with the hash by which the page's
security policy (CSP) allows it: a struct html_files NAME, which HEADER declares.

	tools/embed_page.py SCRIPT STYLE OUT.c HEADER NAME
"""

import base64
import hashlib
import sys

FORBIDDEN = {
    'script': (b'</script', b'<!--', b'<script'),  # the element would end there, or not where it should
    'style': (b'</style', b'<!--'),
}


def check(kind, path, data):
    """A browser must hash the very bytes that are hashed here."""
    for text in FORBIDDEN[kind]:
        if text in data.lower():
            sys.exit('%s: has "%s", which ends or changes its element in a page' % (path, text.decode()))
    if b'\r' in data or b'\0' in data or data.startswith(b'\xef\xbb\xbf'):
        sys.exit('%s: a browser changes CR, NUL and a byte order mark' % path)
    try:
        data.decode()
    except UnicodeDecodeError as e:
        sys.exit('%s: not UTF-8: %s' % (path, e))


def main():
    script, style, out, header, name = sys.argv[1:6]
    rows = []
    with open(out, 'w', encoding='ascii') as f:
        f.write('/* Made by tools/embed_page.py out of web/dist/. */\n#include "%s"\n' % header)
        for kind, path in ('script', script), ('style', style):
            with open(path, 'rb') as source:
                data = source.read()
            check(kind, path, data)
            digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
            f.write('\nstatic const unsigned char %s[] = {\n' % kind)
            for i in range(0, len(data), 32):
                f.write(','.join(str(b) for b in data[i:i + 32]) + ',\n')
            f.write('0 };\n')
            rows.append('\t.%s = { (const char *)%s, %d, "sha256-%s" },\n' % (kind, kind, len(data), digest))
        f.write('\nconst struct html_files %s = {\n%s};\n' % (name, ''.join(rows)))


if __name__ == '__main__':
    main()
