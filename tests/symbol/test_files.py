#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The names of source files in the headers of line programs, against libdw's, which runs the programs. usage: test_files.py FILES_OF"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-files-")
os.makedirs(os.path.join(tmp.name, "sub", "deep"))
with open(os.path.join(tmp.name, "a.c"), "w", encoding="ascii") as f:
    f.write('#include "sub/h.h"\n#include <stdio.h>\nint main(void) { return f(1) + puts("x"); }\n')
with open(os.path.join(tmp.name, "sub", "h.h"), "w", encoding="ascii") as f:
    f.write("static inline int f(int x) { return x * 2; }\n")
PLACES = {"beside": ("", "a.c"), "absolute": ("", os.path.join(tmp.name, "a.c")), "above": ("sub/deep", "../../a.c"),
          "relative to nothing": ("sub", "../a.c -fdebug-prefix-map=%s=." % os.path.join(tmp.name, "sub"))}
FLAGS = {"gcc": ("-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gdwarf64", "-gdwarf-5 -gz", "-gdwarf-4 -gz -c"),
         "clang": ("-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gdwarf64")}
for compiler, builds in FLAGS.items():
    if not shutil.which(compiler):
        t.skip(compiler, "not installed")
        continue
    for flags in builds:
        for name, (where, source) in PLACES.items():
            what = "%s %s, %s" % (compiler, flags, name)
            out = os.path.join(tmp.name, "out")
            p = subprocess.run([compiler, "-O0", "-o", out, *flags.split(), *source.split()], cwd=os.path.join(tmp.name, where),
                               capture_output=True, text=True)
            if p.returncode:
                t.skip(what, p.stderr.splitlines()[0])
                continue
            p = subprocess.run([sys.argv[1], out], capture_output=True, text=True)
            rows = [line.split("\t") for line in p.stdout.splitlines()]
            t.ok(p.returncode == 0 and {"a.c", "h.h"} <= {os.path.basename(r[2]) for r in rows} and all(r[2] == r[3] for r in rows),
                 what, [r for r in rows if r[2] != r[3]] or (p.returncode, rows))
t.done()
