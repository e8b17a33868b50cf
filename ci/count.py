#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up Meson's test logs (testlog.json): names what failed and why what was skipped was; the last line is
'N passed, N failed, N skipped'. Exit status 1 if anything failed, or if nothing ran at all."""
import json
import os
import re
import sys

args = sys.argv[1:]
failed = 0
if args and args[0] == "--broken":
    failed = int(args[1])
    args = args[2:]
passed = skipped = 0
skips = {}
line = re.compile(r"^(not )?ok\b\s*(\d*)\s*-?\s*([^#]*?)\s*(?:#\s*(SKIP|TODO)\b\s*(.*))?$", re.I)
whole = re.compile(r"^1\.\.0\s*#\s*SKIP\s*(.*)$", re.I)
for path in filter(os.path.exists, args):
    for text in open(path, encoding="utf-8", errors="replace"):
        test = json.loads(text)
        bad = 0
        for out in test.get("stdout", "").splitlines():
            m = whole.match(out)
            if m:
                skipped += 1
                skips.setdefault(m.group(1), []).append(test["name"])
            m = line.match(out)
            if not m:
                continue
            name = "%s: %s %s" % (test["name"], m.group(2), m.group(3))
            if (m.group(4) or "").upper() == "SKIP":
                skipped += 1
                skips.setdefault(m.group(5) or "no reason given", []).append(name)
            elif m.group(1):
                bad += 1
                print("FAILED", name)
            else:
                passed += 1
        # a program that died or hung is a failure even if each case that it got to was fine
        if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not bad:
            print("FAILED %s: %s" % (test["name"], test["result"]))
            print("\n".join("  " + x for x in (test.get("stderr") or test.get("stdout", "")).splitlines()[-15:]))
            bad = 1
        failed += bad
for reason, names in sorted(skips.items()):
    print("skipped %d: %s (%s%s)" % (len(names), reason, names[0], ", ..." if len(names) > 1 else ""))
print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
sys.exit(1 if failed or not passed else 0)
