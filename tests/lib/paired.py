# SPDX-License-Identifier: BSD-3-Clause
"""paired - what src/base/paired.c computes, written again from the textbook: Hodges and Lehmann's estimate with the interval
of Wilcoxon's signed-rank test.

    effect(d) -> (effect, low, high)       low, high None where there are too few pairs
    chance(d)                              of Wilcoxon's test, two-sided; None: no pairs, or so many that it is not counted out
"""
import math

Z95 = 1.959963984540054


def rank_quantile(n, p):
    """The smallest w with P(W <= w) >= p, of the signed-rank statistic of n pairs."""
    if n > 100:  # as there: the sum of ranks is normal by then
        sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return max(1, math.floor(n * (n + 1) / 4 - Z95 * sd))
    ways = [1]  # exact integers: in how many ways the ranks 1..i add up to w
    for i in range(1, n + 1):
        more = ways + [0] * i
        for w, k in enumerate(ways):
            more[w + i] += k
        ways = more
    total, limit = 0, p * 2 ** n
    for w, k in enumerate(ways):
        total += k
        if total >= limit:
            return w
    return len(ways) - 1


def effect(d):
    n = len(d)
    means = sorted((d[i] + d[j]) / 2 for i in range(n) for j in range(i, n))
    m = len(means)
    mid = (means[(m - 1) // 2] + means[m // 2]) / 2
    if n < 6:  # even all of one sign would be chance in more than one case of twenty
        return mid, None, None
    q = max(1, rank_quantile(n, 0.025))
    return mid, means[q - 1], means[m - q]


def chance(d):
    """From the ranks themselves: pairs without a difference count against either direction."""
    n = len(d)
    if not n or n > 100:
        return None
    means = [d[i] + d[j] for i in range(n) for j in range(i, n)]
    w = min(sum(m >= 0 for m in means), sum(m <= 0 for m in means))
    ways = {0: 1}  # subsets of the ranks by their sum
    for rank in range(1, n + 1):
        more = dict(ways)
        for s, k in ways.items():
            more[s + rank] = more.get(s + rank, 0) + k
        ways = more
    return min(1.0, 2 * sum(k for s, k in ways.items() if s <= w) / 2 ** n)
