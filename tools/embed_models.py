#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the texts of models/ as a C file: each packed with zstd where that library can be loaded
here, else as it is.

	tools/embed_models.py MODELS OUT.c DEPFILE
"""

import ctypes
import os
import sys


def packer():
    for name in ('libzstd.so.1', 'libzstd.so', 'libzstd.dylib'):
        try:
            z = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        return lambda data: data
    z.ZSTD_compressBound.restype = z.ZSTD_compress.restype = ctypes.c_size_t
    z.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    z.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                ctypes.c_size_t, ctypes.c_int]
    z.ZSTD_isError.argtypes = [ctypes.c_size_t]

    def pack(data):
        out = ctypes.create_string_buffer(z.ZSTD_compressBound(len(data)))
        n = z.ZSTD_compress(out, len(out), data, len(data), 19)
        return out.raw[:n] if not z.ZSTD_isError(n) and n < len(data) else data
    return pack


def main():
    top, out, depfile = sys.argv[1:4]
    pack, blob, rows, inputs = packer(), bytearray(), [], []
    for folder, dirs, files in os.walk(top):
        dirs.sort()
        inputs.append(os.path.abspath(folder))  # a new file changes its folder
        for name in sorted(files):
            if name.startswith('.') or name.endswith(('~', '.md', '.build')):
                continue
            path = os.path.join(folder, name)
            inputs.append(os.path.abspath(path))
            with open(path, 'rb') as f:
                data = f.read()
            packed = pack(data)
            rows.append((os.path.relpath(path, top), len(blob), len(packed), len(data)))
            blob += packed
    with open(out, 'w') as f:
        f.write('/* Made by tools/embed_models.py out of models/. */\n'
                '#include "model/load/model_int.h"\n\n'
                'const struct embedded_file embedded_files[] = {\n')
        for row in rows:
            f.write('\t{ "%s", %d, %d, %d },\n' % row)
        f.write('};\nconst size_t embedded_n_files = %d;\n\n'
                'const unsigned char embedded_bytes[] = {\n' % len(rows))
        for i in range(0, len(blob), 32):
            f.write(','.join('%d' % b for b in blob[i:i + 32]) + ',\n')
        f.write('};\n')
    with open(depfile, 'w') as f:
        f.write('%s: %s\n' % (out, ' '.join(inputs)))


if __name__ == '__main__':
    main()
