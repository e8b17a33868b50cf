# SPDX-License-Identifier: BSD-3-Clause
"""package_made - a .dwp of DWARF 5 as the standard has it (7.3.5), from .dwo files: for compilers whose units the packagers of binutils
and LLVM do not take.

    write(["a.dwo", "b.dwo"], "prog.dwp")
"""
import struct

COLUMNS = {1: ".debug_info.dwo", 3: ".debug_abbrev.dwo", 4: ".debug_line.dwo", 5: ".debug_loclists.dwo", 6: ".debug_str_offsets.dwo", 8: ".debug_rnglists.dwo"}
STR = ".debug_str.dwo"


def sections(data):
    """The sections of an ELF file of 64 bits, little-endian: {name: bytes}."""
    at, = struct.unpack_from("<Q", data, 40)
    size, n, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(n)]
    strings = heads[names][4]
    found = {}
    for name, kind, _, _, offset, length in heads:
        found[data[strings + name:data.index(b"\0", strings + name)].decode()] = b"" if kind == 8 else data[offset:offset + length]
    return found


def elf(parts, machine=62):
    """An ELF file with these sections."""
    names, body, heads = b"\0", b"", [bytes(64)]
    for name, data in [*parts.items(), (".shstrtab", None)]:
        at = len(names)
        names += name.encode() + b"\0"
        data = names if data is None else data
        heads.append(struct.pack("<IIQQQQIIQQ", at, 3 if name == ".shstrtab" else 1, 0, 0, 64 + len(body), len(data), 0, 0, 1, 0))
        body += data
    return struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 1, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(heads), len(heads) - 1) + body + b"".join(heads)


def index(ids, rows):
    """The table of units: hashed by the lower bits of the id, then by steps that the upper bits give."""
    slots = 1
    while slots < 3 * len(ids) // 2 + 1:
        slots *= 2
    hashed, row = [0] * slots, [0] * slots
    for n, unit in enumerate(ids):
        at = unit & (slots - 1)
        while row[at]:
            at = (at + ((unit >> 32 & (slots - 1)) | 1)) & (slots - 1)
        hashed[at], row[at] = unit, n + 1
    out = struct.pack("<HHIII", 5, 0, len(COLUMNS), len(ids), slots) + struct.pack("<%dQ" % slots, *hashed) + struct.pack("<%dI" % slots, *row)
    out += struct.pack("<%dI" % len(COLUMNS), *COLUMNS)
    for which in (0, 1):
        for places in rows:
            out += struct.pack("<%dI" % len(COLUMNS), *[places[column][which] for column in COLUMNS])
    return out


def write(dwos, path):
    parts = {name: b"" for name in [*COLUMNS.values(), STR]}
    ids, rows = [], []
    for dwo in dwos:
        with open(dwo, "rb") as f:
            data = f.read()
        its = sections(data)
        ids.append(struct.unpack_from("<Q", its[COLUMNS[1]], 12)[0])
        offsets = its.get(COLUMNS[6], b"")
        moved = offsets[:8] + b"".join(struct.pack("<I", x[0] + len(parts[STR])) for x in struct.iter_unpack("<I", offsets[8:]))
        parts[STR] += its.get(STR, b"")
        places = {}
        for column, name in COLUMNS.items():
            add = moved if column == 6 else its.get(name, b"")
            places[column] = (len(parts[name]), len(add))
            parts[name] += add
        rows.append(places)
    parts[".debug_cu_index"] = index(ids, rows)
    with open(path, "wb") as f:
        f.write(elf({name: data for name, data in parts.items() if data}, struct.unpack_from("<H", data, 18)[0]))
