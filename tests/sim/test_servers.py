#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade monitor on whole simulated servers (tests/sim/servers.tab): every metric comes to what the rates of its own
counters make of it, at its place; each counter moves its own metrics and no other; encodings are the vendors'.

Instead of a run for each counter there is one for each bit of their numbers, in which those with that bit count half
again as fast: two counters differ in a run at least, so that whose value answers to a wrong one is found."""
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from servers import server, servers  # noqa: E402
from sim import SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, ROOT, SIMULATED, Tap  # noqa: E402

t = Tap()
if not SIMULATED:
    t.skip("servers", "a sanitizer's library wants to be preloaded first; build with clang, which links it in")
    t.done()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-servers-")
KINDS = ("socket", "l3", "core", "cpu", "channel", "link")
FASTER = 1.5


def monitor(s, times=None, interval="250", *args, without=None):
    path = os.path.join(tmp.name, s.name + (without and "-bare" or "") + ".tab")  # runs of a machine share its tree
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(x + "\n" for x in s.text(times).splitlines() if x.split()[0] not in (without or ())))
    p = run_on(path, "even", CYCLADE, "monitor", *SYSROOT, "--once", "-I", interval, "-j", *args, paper="alone")  # whatever the host does meanwhile
    try:
        return json.loads(p.stdout), p
    except ValueError:
        return {}, p


def figures(doc):
    """{(place, key): (value, half width)} of a document; what is not known left out."""
    out = {}
    for kind in KINDS:
        rows = doc.get(kind, [])
        for r in rows if isinstance(rows, list) else [rows]:
            place = kind, r.get("socket"), {"socket": None}.get(kind, r.get(kind))
            out.update({(place, k): (v, r.get(k + "_error") or 0) for k, v in r.items() if k + "_error" in r and v is not None})
    return out


def near(got, want, half):
    # what takes turns is known to its error bar; a field of PERF_METRICS holds 8 bits
    return abs(got - want) <= 0.005 * abs(want) + min(3 * half, 0.02 * abs(want))


def wrong(got, want):
    return {k: (got.get(k), want[k]) for k in want if k not in got or not near(got[k][0], want[k], got[k][1])}


def runs_of(name):
    """(server, document of it as it is, figures with some counters faster by (names of) which)"""
    s = server(name)
    doc, p = monitor(s)
    names = sorted(s.names())
    fast = [{n: FASTER for i, n in enumerate(names, 1) if i >> bit & 1} for bit in range(len(names).bit_length() if doc else 0)]
    return s, doc, p, [(times, figures(monitor(s, times)[0])) for times in fast]


def check(s, doc, p, faster):
    base, want = figures(doc), s.expected()
    bad = wrong(base, want)
    t.ok(len(want) > 20 and not bad, "%s: %d figures are what was planted" % (s.name, len(want)), (dict(list(bad.items())[:6]), p.stderr))
    # encodings
    here = {u for u, _, _ in s.units}
    known = {n: s.config(n)[0] for n in s.names() if n in s.facts and s.facts[n][0] in here}
    seen = {r["event"].replace(".ONE_UNIT", ""): int(r["config"], 16) for r in doc.get("counters", [])}
    bad = {e: (hex(c), seen.get(e)) for e, c in known.items() if seen.get(e) != c}
    if here:
        t.ok(not bad and known, "%s: %d events are encoded as their vendor has them" % (s.name, len(known)), bad)
    # each counter moves its own
    allowed, moved = s.tree_events(), []
    for times, new in faster:
        names = {n.lower() for n in times}
        moved.append(wrong(new, s.expected(times)))
        moved.append({k: v for k, v in new.items() if (k[0][0], k[1]) in allowed and not allowed[k[0][0], k[1]] & names and
                      k in base and abs(v[0] - base[k][0]) > 0.006})
    if faster:
        t.ok(not any(moved), "%s: each of %d counters moves its own metrics and no other" % (s.name, len(s.names())),
             [dict(list(m.items())[:4]) for m in moved if m])


with ThreadPoolExecutor(3) as pool:
    DONE = {}
    for done in pool.map(runs_of, servers()):
        if not done[1] and not DONE:
            t.no_simulation("servers", done[2].stderr)
            t.done()
        check(*done)
        DONE[done[0].name] = done

# ---- how many metrics counters alone give where a machine has all of them
for name in ("genoa", "skx", "icx", "spr"):
    got = {(kind, key) for ((kind, _, _), key), _ in figures(DONE[name][1]).items()}
    t.ok(len(got) >= 40, "%s: %d metrics" % (name, len(got)), sorted(got))

# ---- two layouts of one kernel interface: what the older cannot hold is refused, and says so
old = {(r["place"], r["metric"]): r["why"] for r in DONE["genoa_old"][1]["unavailable"]}
t.ok("umask" in old.get(("socket", "local_read_bytes"), "") and "amd_umc" in old.get(("channel", "read_bytes"), ""),
     "Zen 4 before PerfMonV2: the mask does not fit the data fabric's format, and there are no memory controllers", old)
t.ok(not wrong(figures(DONE["rome_nps4"][1]), DONE["rome"][0].expected()),
     "four nodes a socket: the same figures, since the data fabric is the socket's")

# ---- the mesh's events are those of the vendor's table, whose names sysfs has
cmn = DONE["altra"][0]
bad = {e: (k["terms"], cmn.facts[e]) for _, e, k in cmn.sys
       if dict(x.split(":") for x in k["terms"].split(",")) != {"type": cmn.facts[e][1]["NodeType"], "eventid": cmn.facts[e][1]["EventidCode"]}}
t.ok(len(cmn.sys) == 7 and not bad, "events of the mesh are the published ones", bad)

# ---- formulas: what the vendors' own metrics make of the same counts (socket: ours, theirs, units of theirs)
BANDWIDTH = [("dram_read_bytes_rate", "memory_bandwidth_read", 1e6), ("dram_write_bytes_rate", "memory_bandwidth_write", 1e6)]
VENDORS = {"skx": BANDWIDTH + [("link_bytes_rate", "upi_data_transmit_bw", 1e6)],
           "icx": BANDWIDTH + [("link_bytes_rate", "UPI_Data_Transmit_BW", 1e6), ("miss_time", "MEM_Read_Latency", 1e-9)],
           "spr": BANDWIDTH + [("io_read_bytes_rate", "iio_bandwidth_read", 1e6), ("io_write_bytes_rate", "iio_bandwidth_write", 1e6)],
           "gnr": BANDWIDTH, "genoa": [("miss_latency", "l3_read_miss_latency", 1)]}
for name, pairs in VENDORS.items():
    s = DONE[name][0]
    folder = next(v for v in ("intel", "amd") if os.path.isdir(os.path.join(ROOT, "models", v, s.model)))
    path = os.path.join(tmp.name, name + "-models", folder, s.model, "monitor")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as f:
        f.write("base %s\n" % s.model + "".join("%s theirs%d gauge - tree.%s\n" % ("l3" if "miss" in ours else "socket", i, theirs)
                                              for i, (ours, theirs, _) in enumerate(pairs)))
    own, p = monitor(s, None, "250", "--models", os.path.join(tmp.name, name + "-models"), "--metrics", "theirs*," + ",".join(o.replace("_rate", "") for o, _, _ in pairs))
    got = figures(own)
    bad = [(k, got[k], got.get((k[0], "theirs%d" % i))) for i, (ours, theirs, unit) in enumerate(pairs) for k in got
           if k[1] == ours and not near(got[k][0], got.get((k[0], "theirs%d" % i), (0, 0))[0] * unit, got[k][1])]
    t.ok(len(got) >= 2 * len(pairs) and not bad, "%s: the vendor's own metrics say the same" % name, (bad, p.stderr))

# ---- sixteen counters of the data fabric, where the CPU says so
df = [r["share"] for r in DONE["genoa"][1]["counters"] if r["pmu"] == "amd_df"]
t.ok(len(df) == 56 and min(df) > 0.15 and sum(df) > 13, "Genoa: 56 events of the data fabric on 16 counters", (len(df), sum(df)))

# ---- a counter that takes two
cores = [(r["share"], 2 if r["event"] == "fp_ret_sse_avx_ops.all" else 1) for r in DONE["milan"][1]["counters"] if r["pmu"] == "cpu"]
t.ok(len(cores) > 8 and 4 < sum(s * n for s, n in cores) < 6.1, "floating-point operations take two of six counters, by turns with the others", cores)

# ---- a machine with nothing
bare, p = monitor(server("spr"), None, "100", without=("pmu", "format", "cap", "sysevent", "event", "alias", "rule"))
why = {(r["place"], r["metric"]): r["why"] for r in bare.get("unavailable", [])}
t.ok(bare and bare["host"].get("memory_total") and all(why.get(k) for k in (("cpu", "cpi"), ("l3", "misses"), ("channel", "read_bytes"), ("socket", "energy_package"))),
     "a machine without counters: what /proc has, and a reason for each of the others", (why, p.stderr))

# ---- a full machine
doc = DONE["spr"][1]
metrics = {(k, c[:-6]) for k in KINDS + ("host",) for r in [(doc.get(k) or [{}])] for c in (r[0] if isinstance(r, list) else r) if c.endswith("_error")}
t.ok(len(metrics) >= 40, "a full machine has 40 metrics and more", len(metrics))
t.done()
