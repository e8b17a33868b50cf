# SPDX-License-Identifier: BSD-3-Clause
"""What libcyclade reports, as json: a region with its values and its threads' rows."""


def nested(doc):
    """The rows of "regions" that are of all threads, each with its rows of "values" (metrics) and of threads (by_thread)."""
    rows = [dict(r, metrics=[v for v in doc["values"] if (v["region"], v["tid"]) == (r["region"], r["tid"])])
            for r in doc["regions"]]
    return [dict(r, by_thread=[x for x in rows if x["region"] == r["region"] and x["tid"] is not None])
            for r in rows if r["tid"] is None]
