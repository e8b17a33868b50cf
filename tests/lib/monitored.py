# SPDX-License-Identifier: BSD-3-Clause
"""monitored - `cyclade monitor` on simulated machines, and what its documents say.

    t, put = begin("msr")                         # skips the test where nothing can be simulated; put(name, text) makes a file
    doc, p = monitor(ROME, "even", "--metrics", "l3", interval="300")
    rows(doc, "l3"), column(doc, "cpu", "cpi"), near(a, b), unavailable(doc)

Time is on paper (tests/sim/paper.h): an interval takes as long as it asks for, whatever else the host does; `paper=False` where
somebody else is to see the monitor at work."""
import json
import os
import tempfile

from sim import SYSROOT, run_on
from tap import CYCLADE, SIMULATED, Tap

_made = []


def begin(name):
    t = Tap()
    if not SIMULATED:
        t.skip(name, "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
        t.done()
    folder = tempfile.TemporaryDirectory(prefix="cyclade-%s-" % name)
    _made.append(folder)

    def put(name, text=None):
        """The path of a file there, with this text; without: of one that is not there yet."""
        path = os.path.join(folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path
    return t, put


def monitor(machine, program, *words, interval, how=("--once", "-j"), paper="alone", **more):
    """(the last document, the process)"""
    p = run_on(machine, program, CYCLADE, "monitor", *SYSROOT, "-I", interval, *how, *words, paper=paper, **more)
    try:
        return json.loads(p.stdout if "--once" in how else p.stdout.splitlines()[-1]), p
    except (ValueError, IndexError):
        return {}, p


def none_here(t, doc, p, name):
    """Ends the test where the first run came to nothing."""
    if not doc:
        t.no_simulation(name, p.stderr)
        t.done()


def near(a, b, within=0.004):
    return a is not None and b is not None and abs(a - b) <= within * abs(b)


def rows(doc, place):
    found = doc.get(place, [])
    return found if isinstance(found, list) else [found]


def column(doc, place, key):
    return [r.get(key) for r in rows(doc, place)]


def unavailable(doc):
    """{(place, metric, instance): why}"""
    return {(r["place"], r["metric"], r.get("instance") or ""): r["why"] for r in doc.get("unavailable", [])}
