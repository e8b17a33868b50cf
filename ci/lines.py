#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No line of the code is wider than 100 columns: clang-format leaves comments as they are."""
import subprocess
import sys

WIDTH = 100
bad = 0
for name in subprocess.run(["sh", "ci/sources.sh"], capture_output=True, text=True, check=True).stdout.split():
    with open(name, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            columns = len(line.rstrip("\n").expandtabs(8))
            if columns > WIDTH:
                print("%s:%d: %d columns" % (name, number, columns))
                bad += 1
sys.exit(bad > 0)
