#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Types of single instructions, each of which one rule decides: see progs/types_rules.c."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
from tap import ROOT, Tap  # noqa: E402

BUILT = os.environ.get("TRUTH_BUILT", os.path.join(ROOT, "build", "tests", "truth"))
# label: why, type, field
RULES = {
    "jump_table": ("known", "jump table", ""),
    "jump_case": ("known", "struct other", "b"),
    "jump_not": ("no base", "", ""),
    "go_load": ("known", "struct other", "b"),
    "constant_load": ("known", "constant", ""),
    "copied_load": ("known", "struct _IO_FILE *", ""),
    "stale_load": ("known", "struct other", "b"),
    "over_load": ("misfit", "", ""),
    "part_load": ("misfit", "", ""),
    "declared_load": ("known", "struct derived", "extra"),
    "spilled_load": ("known", "struct derived", "extra"),
    "element_load": ("known", "struct mixed", "u.list[]"),
    "member_load": ("known", "struct mixed", "u.one.count"),
    "pick_load": ("known", "struct other", "b"),
    "pick_also": ("known", "struct other", "a"),
    "pick_not": ("no base", "", ""),
    "beside_load": ("no base", "", ""),
    "based_load": ("known", "int", ""),
    "over_not": ("known", "struct tiny", "n"),
    "behind_load": ("misfit", "", ""),
    "behind_also": ("misfit", "", ""),
    "behind_not": ("known", "struct tiny", "n"),
    "along_load": ("known", "struct tiny", "n"),
    "narrow_load": ("misfit", "", ""),
    "narrow_not": ("known", "unsigned int", ""),
    "narrow_whole": ("known", "unsigned int", ""),
    "bits_first": ("known", "struct bits", "first"),
    "bits_second": ("known", "struct bits", "second"),
    "bits_low": ("known", "struct bits", "low"),
    "bits_across": ("known", "struct bits", "across"),
    "bits_both": ("known", "struct bits", "one|other"),
    "bits_whole": ("known", "struct bits", "first|second"),
    "bits_far": ("known", "struct bits", "far"),
}
t = Tap()
with tempfile.TemporaryDirectory() as tmp:
    program = os.path.join(tmp, "rules")
    if not shutil.which("gcc"):
        t.skip("rules", "no gcc")
    else:
        source, far = os.path.join(HERE, "progs", "types_rules.c"), os.path.join(tmp, "far.o")
        subprocess.run(["gcc", "-O2", "-g", "-DFAR", "-c", "-o", far, source], check=True, timeout=200)
        based = os.path.join(tmp, "based.s")
        subprocess.run(["gcc", "-O2", "-g", "-dA", "-DBASED", "-S", "-o", based, source], check=True, timeout=200)
        with open(based, encoding="utf-8") as f:
            text = f.read()
        # DW_OP_reg5 becomes DW_OP_breg5 24
        text, n = re.subn(r"\.uleb128 0x1(\s.*DW_AT_location\n)\s+\.byte\s+0x55\b", r".uleb128 0x2\1\t.byte\t0x75,24", text)
        t.equal(n, 1, "places that were edited")
        with open(based, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run(["gcc", "-O2", "-g", "-o", program, source, far, based], check=True, timeout=200)
        symbols = {w[2]: w[0] for w in (line.split() for line in subprocess.run(["nm", program], check=True, capture_output=True,
                                                                                text=True).stdout.splitlines()) if len(w) == 3}
        out = subprocess.run([os.path.join(BUILT, "dump_types"), program], input="".join("%s 0\n" % symbols[x] for x in RULES), check=True,
                             capture_output=True, text=True, timeout=200).stdout
        for label, line in zip(RULES, out.splitlines()):
            w = line.split("\t")
            t.equal((w[1], w[5], w[6]), RULES[label], label)
        # where bit-fields lie, as DWARF 4 without its extensions and DWARF 5 write it
        for version in ("-gdwarf-4", "-gdwarf-5"):
            subprocess.run(["gcc", "-O2", "-g", version, "-gstrict-dwarf", "-o", program, source, far, based], check=True, timeout=200)
            symbols = {w[2]: w[0] for w in (line.split() for line in subprocess.run(["nm", program], check=True, capture_output=True,
                                                                                    text=True).stdout.splitlines()) if len(w) == 3}
            names = [x for x in RULES if x.startswith("bits_")]
            out = subprocess.run([os.path.join(BUILT, "dump_types"), program], input="".join("%s 0\n" % symbols[x] for x in names), check=True,
                                 capture_output=True, text=True, timeout=200).stdout
            t.equal([(w[6], w[2], w[7]) for w in (line.split("\t") for line in out.splitlines())],
                    [("first", "8", "2"), ("second", "10", "2"), ("low", "12", "1"), ("across", "12", "2"), ("one|other", "16", "1"),
                     ("first|second", "8", "4"), ("far", "20", "3")], "bit-fields, their bytes: " + version)
t.done()
