# SPDX-License-Identifier: BSD-3-Clause
"""What the compiler itself knows of each access to memory, beside what cyclade says: see mem_exprs.cc.

built(DIR) makes the plugin and returns the compiler's options; truth_of() reads what a program compiled with them has, by address: its assembler is
this file, which puts it in a section .debug_mem: 8 bytes of address and a line of text, again and again. No debug information is involved; layouts()
asks gdb for what structures contain."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

RIGHT = ("right", "larger", "scalar")
CHECKED = (*RIGHT, "wrong", "kind")
HERE = os.path.dirname(os.path.abspath(__file__))
GDB = r"""
import gdb, json, sys
KIND = {gdb.TYPE_CODE_PTR: "pointer", gdb.TYPE_CODE_REF: "pointer", gdb.TYPE_CODE_FLT: "float"}
def flat(t, at, out, depth):
    t = t.strip_typedefs()
    while t.code == gdb.TYPE_CODE_ARRAY:
        t = t.target().strip_typedefs()
    if t.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        out.append((at, t.sizeof, KIND.get(t.code, "integer")))
        return
    if (t.name or "").startswith(("__gnu_cxx::__aligned_membuf<", "__gnu_cxx::__aligned_buffer<")):
        flat(t.template_argument(0), at, out, depth + 1)  # bytes that hold one
        return
    out.append((at, t.sizeof, "struct " + (t.name or "")))
    for f in t.fields() if depth < 20 else []:
        if getattr(f, "bitsize", 0):
            out.append((at + f.bitpos // 8, (f.bitpos % 8 + f.bitsize + 7) // 8, "bits"))
        if hasattr(f, "bitpos"):
            flat(f.type, at + f.bitpos // 8, out, depth + 1)
res = {}
for name in open(NAMES).read().split("\n"):
    for scope in ("", "(anonymous namespace)::"):
        try:
            out = []
            flat(gdb.lookup_type(scope + name), 0, out, 0)
            res[name] = out[:20000]
            break
        except gdb.error:
            pass
json.dump(res, open(NAMES + ".json", "w"))
"""


def table(path):
    """Lines of the plugin become the section."""
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        lines = f.readlines()
    here, out, places = {}, [], []
    for line in lines:
        if line.startswith("#mem\t"):
            w = line.rstrip("\n").split("\t", 2)
            if w[1] == "function":
                here = {}
            else:
                here.setdefault(w[1], []).append(w[2])
            continue
        m = re.search(r"# (\d+)\s+\[c=", line) if here else None
        if m and m.group(1) in here:
            places += [(len(out), text) for text in here[m.group(1)]]
            out.append(".Lmem_%d:\n" % len(out))
        out.append(line)
    out.append('\t.section .debug_mem,"",@progbits\n')
    for n, text in places:
        out.append('\t.quad .Lmem_%d\n\t.ascii "%s\\n"\n' % (n, text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")))
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.writelines(out)


def assemble(args):
    """The assembler. With -pipe the compiler's text is standard input."""
    files = [x for i, x in enumerate(args) if x.endswith(".s") and os.path.exists(x) and (not i or args[i - 1] != "-o")]
    if not files and "-o" in args:
        with tempfile.NamedTemporaryFile("wb", suffix=".s") as f:
            shutil.copyfileobj(sys.stdin.buffer, f)
            f.flush()
            table(f.name)
            sys.exit(subprocess.run(["as"] + [x for x in args if x != "-"] + [f.name], check=False).returncode)
    for path in files:
        table(path)
    os.execv(shutil.which("as"), ["as"] + args)


def built(where):
    """Options for gcc and g++; None: there is no compiler, or no headers of plugins (gcc-12-plugin-dev)."""
    if not shutil.which("g++"):
        return None
    headers = subprocess.run(["gcc", "-print-file-name=plugin"], check=True, capture_output=True, text=True).stdout.strip() + "/include"
    if not os.path.exists(headers + "/gcc-plugin.h"):
        return None
    plugin, tools = os.path.join(where, "mem_exprs.so"), os.path.join(where, "tools")
    os.makedirs(tools, exist_ok=True)
    subprocess.run(["g++", "-shared", "-fPIC", "-fno-rtti", "-O1", "-w", "-I" + headers, os.path.join(HERE, "mem_exprs.cc"), "-o", plugin], check=True)
    with open(os.path.join(tools, "as"), "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nexec "%s" "%s" "$@"\n' % (sys.executable, os.path.abspath(__file__)))
    os.chmod(os.path.join(tools, "as"), 0o755)
    return ["-dp", "-fplugin=" + plugin, "-B", tools]


def truth_of(program):
    """{address: [(l, s or ls, bytes, base, [(offset, size, name)])]}; empty: it was not compiled with the plugin"""
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "section")
        r = subprocess.run(["objcopy", "--dump-section", ".debug_mem=" + path, program, os.path.join(tmp, "copy")], capture_output=True, check=False)
        if r.returncode or not os.path.exists(path):
            return {}
        with open(path, "rb") as f:
            data = f.read()
    out, at = collections.defaultdict(list), 0
    while at < len(data):
        end = data.index(b"\n", at + 8)
        address = int.from_bytes(data[at:at + 8], "little")
        w = data[at + 8:end].decode(errors="replace").split("\t")
        at = end + 1
        if address:
            places = [p.split(":", 2) for p in w[3:]]
            out[address].append((w[0], int(w[1]), w[2], [(int(x), int(n), name) for x, n, name in places]))
    return out


def layouts(program, names):
    """{type: [(offset, size, "struct NAME", "pointer", "integer", "float" or "bits")]} of all that is in it, by gdb."""
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "names")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(sorted(names)))
        with open(path + ".py", "w", encoding="utf-8") as f:
            f.write("NAMES = %r\n%s" % (path, GDB))
        subprocess.run(["gdb", "-nx", "-batch", "-ex", "source " + path + ".py", program], capture_output=True, check=False)
        with open(path + ".json", encoding="utf-8") as f:
            return json.load(f)


def plain(name):
    return re.sub(r"^(struct|union|class|enum) ", "", name)


def bare(name):
    """Without the arguments of templates, which gdb spells in other ways."""
    out, depth = "", 0
    for c in plain(name):
        depth += (c == "<") - (c == ">")
        out += c if not depth and c != ">" else ""
    return out


def kind_of(typ):
    if typ.endswith((" *", " &")):
        return "pointer"
    return "float" if typ in ("float", "double", "long double") else "integer"


def judged(answer, truths, store, layout):
    """answer: a line of dump_types. What the compiler makes of it:
    right     the same structure, at the same place
    larger    a structure that has the compiler's within it, at that place
    scalar    the compiler knows a number or a pointer alone, and the field is of that kind and size, or has bit-fields in it
    wrong     another structure or place, or none where there is one
    kind      of a scalar: another kind (code copies a pointer as a number)
    nothing   the compiler knows nothing of this one"""
    typ, start, whole, size = answer[5], int(answer[2]), int(answer[3]), max(int(answer[7]), 1)
    parts, best = layout.get(typ), "nothing"
    for way, wide, _, places in truths:
        if ("s" if store else "l") not in way and len(truths) > 1:
            continue
        block = not wide  # which a string instruction goes through
        wide = wide or max((n for _, n, _ in places), default=0)
        structs = [(x, n, plain(name)) for x, n, name in places if name.startswith(("struct ", "union "))]

        def touches(at, wide=wide):  # the place of a field of an array is that in the first element
            return start < at + wide and (at < start + size or "[]" in answer[6])

        if any(name == plain(typ) and n == whole and touches(x) for x, n, name in structs):
            return "right"
        if structs:
            inside = any(part == n and touches(at + x) and (bare(name) == bare(of) or "(anonymous)" in of or not plain(name))
                         for at, part, name in parts or [] for x, n, of in structs if name.startswith("struct"))
            best = "larger" if inside else "wrong" if best != "larger" else best
        elif best == "nothing" and places and wide == places[0][1] and not block:
            kinds = [(n, kind) for at, n, kind in parts if at == start and not kind.startswith("struct")] if parts else [(size, kind_of(typ))]
            bits = any(kind == "bits" and start <= at < start + size for at, _, kind in parts or [])
            if (wide, places[0][2]) in kinds or (bits and places[0][2] == "integer" and wide <= size):
                best = "scalar"
            elif places[0][2] != "-" and any(n >= wide for n, _ in kinds):  # else loads or stores that the compiler put together
                best = "kind"
    return best


if __name__ == "__main__":
    assemble(sys.argv[1:])
