# SPDX-License-Identifier: BSD-3-Clause
"""packing - ELF files of 64 bits, little-endian, with some debug sections packed: as gas and objcopy do, but any single section.

    names = packing.debug_sections(data)            those that are not packed
    data = packing.packed(data, {".debug_str"}, "zstd")    how: zlib, zlib-gnu, zstd
"""
import shutil
import struct
import subprocess
import zlib

HOW = ("zlib", "zlib-gnu", "zstd")
COMPRESSED = 0x800


def have(how):
    return how != "zstd" or bool(shutil.which("zstd"))


def squeezed(data, how):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout if how == "zstd" else zlib.compress(data)


def heads(data):
    """Offset of each section's header, and the offset and size of their names."""
    at, = struct.unpack_from("<Q", data, 40)
    size, n, names = struct.unpack_from("<HHH", data, 58)
    offsets = [at + i * size for i in range(n)]
    return offsets, offsets[names], struct.unpack_from("<QQ", data, offsets[names] + 24)


def name_of(data, head, names):
    start = names[0] + struct.unpack_from("<I", data, head)[0]
    return data[start:data.index(b"\0", start)].decode()


def debug_sections(data):
    offsets, _, names = heads(data)
    return [name_of(data, h, names) for h in offsets
            if name_of(data, h, names).startswith(".debug_") and not struct.unpack_from("<Q", data, h + 8)[0] & COMPRESSED]


def packed(data, wanted, how, claim=None):
    """The packed bytes lie behind the old end. `claim`: another size than the true one, unpacked."""
    out = bytearray(data)
    offsets, strings, names = heads(data)
    table = bytearray(data[names[0]:names[0] + names[1]])
    for h in offsets:
        name = name_of(data, h, names)
        if name not in wanted:
            continue
        flags, _, at, size = struct.unpack_from("<QQQQ", data, h + 8)
        body = squeezed(data[at:at + size], how)
        size = size if claim is None else claim
        if how == "zlib-gnu":
            struct.pack_into("<I", out, h, len(table))
            table += b".z" + name[1:].encode() + b"\0"
            body = b"ZLIB" + struct.pack(">Q", size) + body
        else:
            struct.pack_into("<Q", out, h + 8, flags | COMPRESSED)
            body = struct.pack("<IIQQ", 2 if how == "zstd" else 1, 0, size, 1) + body
        struct.pack_into("<QQ", out, h + 24, len(out), len(body))
        out += body
    struct.pack_into("<QQ", out, strings + 24, len(out), len(table))
    return bytes(out + table)
