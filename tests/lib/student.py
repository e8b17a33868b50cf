# SPDX-License-Identifier: BSD-3-Clause
"""student - Student's t by integrating its density, and what Welch and Holm say: a second reading of src/report/diff/diff_judge.c.

    chance(t, df) -> two-sided                 quantile(df, p=0.975)
    welch(a, b, va, vb) -> (t, df)             means and variances of one, with n of each
    holm(chances, level) -> [bool]
"""
import functools
import math


def chance(t, df):
    """1 minus the integral of the density from -t to t, by Simpson's rule in u with x = sqrt(df) tan(u): the range is finite."""
    top = math.atan(abs(t) / math.sqrt(df))
    log_c = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(math.pi) / 2
    n, total = 400, 0.0  # of the part beyond t, so that small chances are exact
    step = (math.pi / 2 - top) / n
    for i in range(n + 1):
        c = math.cos(top + i * step)
        total += (1 if i in (0, n) else 4 if i % 2 else 2) * (c ** (df - 1) if c > 0 else 0.0)
    return min(1.0, 2 * math.exp(log_c) * total * step / 3)


@functools.lru_cache(maxsize=None)
def quantile(df, p=0.975):
    low, high = 0.0, 1000.0
    for _ in range(80):
        mid = (low + high) / 2
        low, high = (mid, high) if chance(mid, df) > 2 * (1 - p) else (low, mid)
    return low


def welch(a, b, va, vb, n_a, n_b):
    x, y = va / n_a, vb / n_b
    return (b - a) / math.sqrt(x + y), (x + y) ** 2 / (x * x / (n_a - 1) + y * y / (n_b - 1))


def holm(chances, level):
    """Which are rejected: the k-th smallest of n must be below level / (n - k)."""
    order, out = sorted(range(len(chances)), key=lambda i: chances[i]), [False] * len(chances)
    for k, i in enumerate(order):
        if not chances[i] < level / (len(chances) - k):
            break
        out[i] = True
    return out
