# SPDX-License-Identifier: BSD-3-Clause
"""solve - finds counts with which formulas come to given values.

Gauss-Newton on the logarithms of the counts, each step the smallest that meets the targets; targets
with a softness give way to those without. No library is needed: there are some hundred unknowns."""
import math


def linear(a, b):
    """x of a x = b, a square; a is spoiled."""
    n = len(b)
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[p], b[i], b[p] = a[p], a[i], b[p], b[i]
        row, pivot = a[i], a[i][i]
        if abs(pivot) < 1e-30:
            continue
        for r in range(i + 1, n):
            f = a[r][i] / pivot
            if f:
                other = a[r]
                for c in range(i, n):
                    if row[c]:
                        other[c] -= f * row[c]
                b[r] -= f * b[i]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = b[i] - sum(a[i][c] * x[c] for c in range(i + 1, n))
        x[i] = s / a[i][i] if abs(a[i][i]) > 1e-30 else 0.0
    return x


def solve(values, uses, start, pinned, targets, bounds=None, rounds=80):
    """values(names, counts) -> list; uses[name]: the set of counts it depends on; start: counts; pinned: names not
    to touch; targets: [(name, value, softness)]; bounds(name, counts): the least and most it may be. Returns counts, and the largest miss of a target without softness."""
    counts = dict(start)
    names = [t[0] for t in targets]
    free = sorted(set().union(*(uses[n] for n in names)) - set(pinned))
    miss = 1.0
    for turn in range(rounds):
        now = values(names, counts)
        residual = [t[1] - v for t, v in zip(targets, now)]
        miss = max([abs(r) for r, t in zip(residual, targets) if not t[2]] or [0])
        if turn > 12 and miss < 1e-9:
            break
        rows = [{} for _ in names]
        for var in free:
            least, most = bounds(var, counts) if bounds else (0, math.inf)
            if turn % 3 and not least < counts[var] < most:
                continue  # at its bound: let the others move, and look again some time later
            touched = [i for i, n in enumerate(names) if var in uses[n]]
            trial = dict(counts)
            trial[var] *= 1 + 1e-5
            for i, v in zip(touched, values([names[i] for i in touched], trial)):
                d = (v - now[i]) / math.log1p(1e-5)
                if d:
                    rows[i][var] = d
        n = len(names)
        a = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i, n):
                small, large = (rows[i], rows[j]) if len(rows[i]) < len(rows[j]) else (rows[j], rows[i])
                a[i][j] = a[j][i] = sum(d * large.get(k, 0.0) for k, d in small.items())
            a[i][i] += targets[i][2] * 2.0 ** max(0, turn - 15) + 1e-13
        w = linear(a, list(residual))
        step = {}
        for i in range(n):
            for var, d in rows[i].items():
                step[var] = step.get(var, 0.0) + d * w[i]
        longest = max([abs(s) for s in step.values()] or [0])
        scale = min(1.0, 0.7 / longest) if longest else 1.0
        for var, s in step.items():
            counts[var] *= math.exp(s * scale)
        for var in step if bounds else ():
            least, most = bounds(var, counts)
            counts[var] = max(least, min(counts[var], most))
    return counts, miss
