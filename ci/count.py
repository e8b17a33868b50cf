#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up Meson's test logs (testlog.json), named STAGE.json: what failed, with what it said of itself, or, if nothing
failed, why what was skipped was; the last line is 'N passed, N failed, N skipped'. It is all that some people see of a
run, and of a long one they see the last 30 lines: it stays below that. What is left out stands in failures and skips
beside the first log. Exit status 1 if anything failed, or if there are logs and no test of them ran
(stages without tests, format, rooms and docs, leave none).
--broken "STAGE ..." names stages that did not get as far as a test.
--again STAGE.json names what is to run once more, alone: tests of a live machine, which cannot be held still, if few
failed, and none in a way that chance has no part in. Their log, STAGE.again.json, then counts; what failed at first is
listed as unsteady, and stands in the file of that name.
--why STAGE.json says in one line what it skipped, and why: the reasons that are most frequent first.
What lacks the files of ../shared, or an emulator that takes plugins, is one skip of its stage: it is one thing to get, however
many checks want it. How many do is said beside it."""
import json
import os
import re
import sys

ROOM = 26  # lines for failures
EACH = 8  # of these for one of them
LIVE = ("cli", "sim", "region", "guest", "web")  # suites that watch programs as they run
FEW = 3  # tests of a stage that may run once more
WIDTH = 180
WHY = 80  # columns for a reason
ONCE = ("no ../shared here", "no qemu-user here that takes plugins")  # as tests/lib/tap.py has them
LINE = re.compile(r"^(not )?ok\b\s*(\d*)\s*-?\s*([^#]*?)\s*(?:#\s*(SKIP|TODO)\b\s*(.*))?$", re.I)
WHOLE = re.compile(r"^1\.\.0\s*#\s*SKIP\s*(.*)$", re.I)


class Tally:
    def __init__(self):
        self.passed = self.skipped = 0
        self.failures = []  # [headline, lines...]
        self.skips = {}
        self.lacking = set()  # (stage, reason) of those that are counted once

    def skip(self, stage, reason, name):
        self.skipped += (stage, reason) not in self.lacking
        if reason in ONCE:
            self.lacking.add((stage, reason))
        self.skips.setdefault(reason or "no reason given", []).append(name)

    def reasons(self):
        """(how often it counts, reason, names)"""
        for reason, names in sorted(self.skips.items()):
            if reason in ONCE:
                yield sum(x[1] == reason for x in self.lacking), "%s, for %d checks" % (reason, len(names)), names
            else:
                yield len(names), reason, names

    def test(self, stage, test):
        name = test["name"].removeprefix("cyclade:")
        lines = test.get("stdout", "").splitlines()
        before, bad = [], 0
        for i, out in enumerate(lines):
            m = WHOLE.match(out)
            if m:
                self.skip(stage, m.group(1), name)
            m = LINE.match(out)
            if not m:
                before = before + [out] if out.startswith("#") else []
                continue
            check = "%s: %s %s" % (name, m.group(2), m.group(3))
            if (m.group(4) or "").upper() == "SKIP":
                self.skip(stage, m.group(5), check)
            elif m.group(1):
                bad += 1
                self.failures.append(["FAILED %s %s" % (stage, check)] + said(test, before, lines[i + 1:]))
            else:
                self.passed += 1
            before = []
        # a program that died or hung is a failure even if each case that it got to was fine
        if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not bad:
            text = test.get("stderr") or test.get("stdout", "")
            self.failures.append(["FAILED %s %s: %s" % (stage, name, test["result"])] + sparing(text.splitlines()))


def said(test, before, rest):
    """What a check says of its failure: our scripts before the line that counts; cmocka after it, and what the
    test's own words were on standard error, without telling of which check."""
    after = []
    for out in rest:
        if not out.startswith("#"):
            break
        after.append(out)
    if not re.search(r"/test_\w+$", test["name"]):
        return before or after
    errors = [x for x in test.get("stderr", "").splitlines() if x.startswith("ERROR: ")]
    return errors[-3:] + after + before[-3:]


def sparing(lines):
    """The beginning of a sanitizer's report, else the end."""
    for i, out in enumerate(lines):
        if re.search(r"(Sanitizer:|runtime error:)", out):
            return lines[i:]
    return lines[-EACH:]


def unsteady(path):
    """Tests that are worth a second look: few failed, all of a live machine, and by checks alone: no sanitizer spoke."""
    failed = [x for x in logged(path) if x["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]
    by_chance = [x["name"].split(" / ")[-1] for x in failed if x["result"] in ("FAIL", "ERROR") and
                 x["name"].removeprefix("cyclade:").split(" / ")[0].split("+")[0] in LIVE and
                 re.search(r"^not ok[^\0]*^1\.\.[1-9]", x.get("stdout", ""), re.M) and  # it came to its end
                 not re.search(r"(Sanitizer:|runtime error:)", x.get("stdout", "") + x.get("stderr", ""))]
    return by_chance if len(by_chance) == len(failed) <= FEW else []


def why(path):
    """Reasons that differ in numbers, or in what stands in brackets, are one."""
    tally, reasons = Tally(), {}
    for test in logged(path):
        tally.test("", test)
    for count, reason, _ in tally.reasons():
        plain = re.sub(r"\s*\([^)]*\)", "", reason)
        kind = re.sub(r"\d+", "N", plain)[:WHY]
        first, n = reasons.get(kind, (plain if len(plain) <= WHY else plain[:WHY - 3] + "...", 0))
        reasons[kind] = (first, n + count)
    each = ["%d %s" % (n, first) for first, n in sorted(reasons.values(), key=lambda x: -x[1])]
    return "%-8s skipped %d: %s\n" % ("", tally.skipped, "; ".join(each)) if each else ""


def logged(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return [json.loads(text) for text in f]


def cut(lines, room):
    """The first and the last of them: what it was and how it ended."""
    lines = [x[:WIDTH] for x in lines]
    if len(lines) <= room:
        return lines
    first = (room + 1) // 2
    return lines[:first] + lines[len(lines) - (room - first):]


def main(args):
    broken = []
    if args and args[0] == "--again":
        print("\n".join(unsteady(args[1])))
        return 0
    if args and args[0] == "--broken":
        broken = args[1].split()
        args = args[2:]
    if args and args[0] == "--why":
        print(why(args[1]), end="")
        return 0
    tally = Tally()
    tally.failures = [["FAILED %s: did not get as far as a test" % x] for x in broken]
    logs = [x for x in args if os.path.exists(x) and not x.endswith(".again.json")]
    first = Tally()
    for path in logs:
        stage, again = os.path.splitext(os.path.basename(path))[0], os.path.splitext(path)[0] + ".again.json"
        later = {x["name"]: x for x in logged(again)} if os.path.exists(again) else {}
        for test in logged(path):
            if test["name"] in later:
                first.test(stage, test)
            tally.test(stage, later.get(test["name"], test))
    still = {x[0] for x in tally.failures}
    wavering = ["unsteady " + x[0].removeprefix("FAILED ") for x in first.failures if x[0] not in still]
    skips = ["skipped %d: %s (%s%s)" % (count, reason, names[0], ", ..." if len(names) > 1 else "")
             for count, reason, names in tally.reasons()]
    failed = len(tally.failures)
    if args:
        for name, lines in [("failures", sum(tally.failures, [])), ("unsteady", sum(first.failures, [])), ("skips", skips)]:
            with open(os.path.join(os.path.dirname(args[0]), name), "w", encoding="utf-8", errors="replace") as f:
                f.write("".join(x + "\n" for x in lines))
    for text in wavering:
        print(text[:WIDTH])
    for lines in tally.failures[:ROOM]:
        room = max(0, min(EACH, ROOM // failed) - 1)
        print("\n".join([lines[0][:WIDTH]] + ["  " + x for x in cut(lines[1:], room)]))
    if failed > ROOM:
        print("... and %d more" % (failed - ROOM))
    for text in skips if not failed else ["(the others stand in failures, why what was skipped was in skips)"]:
        print(text)
    print("%d passed, %d failed, %d skipped" % (tally.passed, failed, tally.skipped))
    return 1 if failed or (logs and not tally.passed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
