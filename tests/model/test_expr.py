# SPDX-License-Identifier: BSD-3-Clause
"""Every formula that there is, compiled, and evaluated as a second reader evaluates it."""
import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import formulas  # noqa: E402
from tap import NO_SHARED, PERF, SHARED, Tap  # noqa: E402

PROGRAM = sys.argv[1]
VECTORS = 2 if os.environ.get("CYCLADE_SANITIZED") else 3  # each formula and operator is met with one already
NOT_KNOWN = 0.03  # share of names that were not counted
# Texts with a slip of their authors in them.
BROKEN = {"perfmon metrics": 3, "TMA sheet": 1}


def draw(rng, name, lps):
    """A value as a counter could show it: huge, small, equal or none."""
    if name[0] == "#" and name[1:].isdigit():
        return rng.choice([0.0, 1.0, 2.0, 2.5e9, None] if rng.random() < 0.2 else [0.0, 1.0, 4.0])
    single = name.endswith(":R") or name.startswith(("tma_", "metric_"))
    if rng.random() < NOT_KNOWN:
        return None if single else [None] * lps
    if name.endswith(":R"):
        return round(rng.uniform(0, 300), 2)
    if single:
        return rng.choice([0.0, 1.0, rng.random(), rng.random(), rng.uniform(0, 100)])
    return [None if rng.random() < NOT_KNOWN else
            float(rng.choice([0, 1, rng.randrange(1000), int(10 ** rng.uniform(3, 12))]))
            for _ in range(lps)]


def show(v, lps):
    if not isinstance(v, list):
        v = [v] * lps
    return ",".join("nan" if x is None else repr(x) for x in v)


def field(name, v, lps):
    return "%s=%s" % (name, show(v, 1 if name[0] == "#" and name[1:].isdigit() else lps))


def close(got, want):
    if want is None or got is None:
        return got is want
    return math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-12)


def check(t, title, source, sheet, least=0.5):
    rng = random.Random(title)
    seen, lines, expect, refused = set(), [], [], []
    total = 0
    for text, subject in source:
        total += 1
        text = text.replace("\t", " ").replace("\n", " ")
        if (text, subject) in seen:
            continue
        seen.add((text, subject))
        lines.append("F %s\t%s\t%s" % ("S" if sheet else "P", subject or "-", text))
        expect.append((text, None, "ok"))
        try:
            tree, names = formulas.read(text, sheet, subject)
        except formulas.Bad as e:
            refused.append("%s: %s" % (text, e))
            expect[-1] = (text, None, "no")
            continue
        for _ in range(VECTORS):
            lps = rng.choice([1, 1, 2, 5])
            env = {n: draw(rng, n, lps) for n in sorted(names)}
            lines.append("\t".join(["V %d" % lps] + [field(n, v, lps) for n, v in env.items()]))
            env["lps"] = lps
            expect.append((text, env, formulas.value(tree, env)))
    if not total:
        t.skip(title, "no formula in it here")
        return
    p = subprocess.run([PROGRAM], input="\n".join(lines) + "\n", capture_output=True, text=True)
    out = p.stdout.splitlines()
    if not t.ok(p.returncode == 0 and len(out) == len(expect),
                "%s: the program reads all" % title, p.stderr + "%d of %d" % (len(out), len(expect))):
        return
    bad, compared, known = [], 0, 0
    for want, got in zip(expect, out):
        if want[1] is None:
            if got.split()[0] != want[2]:
                bad.append("%s\n  %s" % (want[0], got))
            continue
        compared += 1
        v = None if got.startswith("why") else math.inf if got == "none" else float(got)
        known += want[2] is not None
        if not close(v, want[2]):
            bad.append("%s\n  %s\n  got %s, want %r" % (want[0], want[1], got, want[2]))
    t.ok(not bad, "%s: %d formulas (%d different), %d vectors (%d with a value)" %
         (title, total, len(seen), compared, known), "\n".join(bad[:8]))
    t.equal(len(refused), BROKEN.get(title, 0), "%s: what no reader can read" % title)
    for r in refused:
        print("# refused by both: " + r[:200])
    t.ok(known > compared * max(least, 0.1), "%s: enough have a value" % title)


def main():
    t = Tap()
    sources = [
        ("Linux pmu-events", lambda: formulas.kernel_json(SHARED), False),
        ("perfmon metrics", lambda: formulas.perfmon_json(SHARED), True),
        ("TMA sheet", lambda: formulas.sheet_csv(SHARED, "TMA_Metrics-full.csv"), True),
        ("E-core sheet", lambda: formulas.sheet_csv(SHARED, "E-core_TMA_Metrics.csv"), True),
        ("Atom sheet", lambda: formulas.sheet_csv(SHARED, "Atom_TMA.csv"), True),
    ]
    for title, source, sheet in sources:
        if not os.path.isdir(os.path.join(SHARED, "reference")):
            t.skip(title, NO_SHARED)
            continue
        check(t, title, source(), sheet)
    for title, sheet in (("made up, perf's", False), ("made up, the sheet's", True)):
        check(t, title, formulas.made_up(random.Random(title), 3000, sheet), sheet, 0)
    for title, perf in (("perf's own", PERF), ("the newer perf's", os.environ.get("CYCLADE_PERF612"))):
        if perf:
            check(t, title, formulas.perf_list(perf), False)
        else:
            t.skip(title, "no perf")
    t.done()


main()
