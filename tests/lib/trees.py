# SPDX-License-Identifier: BSD-3-Clause
"""The tables of stat -j and run -j, by tree.

    from trees import trees
    for x in trees(doc): x["where"], x["model"], x["nodes"], x["metrics"], x["counts"]
"""

TABLES = ("nodes", "metrics", "counts")


def trees(doc):
    """A row of the table of trees each, with the rows of the other tables that are of its place."""
    found = [dict(tree, **{k: [row for row in doc.get(k, []) if row["where"] == tree.get("where")] for k in TABLES})
             for tree in doc.get("trees", [])]
    assert not found or all(len(doc.get(k, [])) == sum(len(x[k]) for x in found) for k in TABLES), "a row of no tree"
    return found
