#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up JUnit files: names what failed, and ends with 'N passed, N failed, N skipped'.

Exit status 1 if anything failed, or if nothing ran at all."""
import sys
import xml.etree.ElementTree as ET

args = sys.argv[1:]
broken = 0
if args and args[0] == "--broken":
    broken = int(args[1])
    args = args[2:]
passed = failed = skipped = 0
skips = {}
for path in args:
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError):
        continue
    for suite in root.iter("testsuite"):
        cases = list(suite.iter("testcase"))
        bad = 0
        for case in cases:
            name = "%s: %s" % (suite.get("name"), case.get("name"))
            if case.find("failure") is not None or case.find("error") is not None:
                bad += 1
                print("FAILED", name)
            elif case.find("skipped") is not None:
                skipped += 1
                skips.setdefault(case.find("skipped").get("message") or "", []).append(name)
            else:
                passed += 1
        # a program that died counts as a failure even if each case that it got to was fine
        told = int(suite.get("failures") or 0) + int(suite.get("errors") or 0)
        if told > bad:
            print("FAILED", suite.get("name"), "(the program itself)")
            bad = told
        failed += bad
failed += broken
for reason, names in sorted(skips.items()):
    print("skipped %d: %s (%s%s)" % (len(names), reason or "no reason given", names[0],
                                     ", ..." if len(names) > 1 else ""))
print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
sys.exit(1 if failed or not passed else 0)
