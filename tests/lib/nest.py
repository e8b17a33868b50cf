# SPDX-License-Identifier: BSD-3-Clause
"""Rows of `cyclade blocks -j` put together again: a function with its blocks, edges and loops."""


def functions(j):
    """Each function's row with "blocks" by number, "edges", and "loops" by number, which have "iteration" (a row, or None)
    and "histogram" ({trips: visits})."""
    out, by = [], {}
    for f in j["functions"]:
        out.append(dict(f, n_blocks=f["blocks"], blocks=[], edges=[], loops=[]))
        by[f["dso"], f["function"]] = out[-1]
    of = lambda x: by[x["dso"], x["function"]]
    for table, number in (("blocks", "block"), ("loops", "loop")):
        for x in sorted(j[table], key=lambda x: x[number]):
            of(x)[table].append(dict(x))
    for x in j["edges"]:
        of(x)["edges"].append(x)
    for f in out:
        for x in f["loops"]:
            x.update(iteration=None, histogram={})
    for x in j["iterations"]:
        of(x)["loops"][x["loop"]]["iteration"] = x if x["timed"] else None
    for x in j["trips"]:
        of(x)["loops"][x["loop"]]["histogram"][x["trips"]] = x["visits"]
    return out
