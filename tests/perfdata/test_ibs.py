#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IBS registers taken apart: synthetic samples of eight parts as perf report -D prints them, and published values."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ibs_file import FAMILY_10H, FAMILY_15H, FAMILY_15H_30, FAMILY_15H_60, ZEN2, ZEN3, ZEN4, ZEN5, packet, recording, w  # noqa: E402
from tap import Tap  # noqa: E402

DUMP = os.environ["IBS_DUMP"]
CYCLADE = os.environ["CYCLADE"]
t = Tap()

# perf's word for a field, and ours
OP = {"CompToRetCtr": "complete_to_retire", "TagToRetCtr": "tag_to_retire", "BrnRet": "branch", "OpReturn": "return",
      "OpBrnTaken": "taken", "OpBrnMisp": "mispredicted", "RipInvalid": "rip_invalid", "BrnFuse": "fused", "Microcode": "microcode",
      "RmtNode": "remote_node", "CurCnt": "op_count", "CntCtl": "op_dispatched", "L3MissOnly": None,
      "DcL1TlbHit2M": "dtlb_l1_2m", "DcL1TlbHit1G": "dtlb_l1_1g", "DcL2TlbHit2M": "dtlb_l2_2m", "DcL2TlbHit1G": "dtlb_l2_1g",
      "LdOp": "load", "StOp": "store", "DcL1TlbMiss": "dtlb_l1_miss", "DcL2TlbMiss": "dtlb_l2_miss", "DcMiss": "dc_miss",
      "DcMisAcc": "misaligned", "DcWcMemAcc": "write_combining", "DcUcMemAcc": "uncacheable", "DcLockedOp": "locked",
      "DcMissNoMabAlloc": "no_mab", "DcLinAddrValid": "linear_valid", "DcPhyAddrValid": "physical_valid", "L2Miss": "l2_miss",
      "SwPf": "prefetch", "OpDcMissOpenMemReqs": "open_requests", "DcMissLat": "miss_latency", "TlbRefillLat": "dtlb_refill"}
FETCH = {"Cnt": None, "Lat": "fetch_latency", "Comp": "fetch_completed", "IcMiss": "ic_miss", "PhyAddrValid": "fetch_phys_valid",
         "L1TlbMiss": "itlb_l1_miss", "L2TlbMiss": "itlb_l2_miss", "RandEn": "fetch_random", "L2Miss": "fetch_l2_miss",
         "L3MissOnly": "fetch_l3_only", "FetchOcMiss": "fetch_oc_miss", "FetchL3Miss": "fetch_l3_miss"}
CAPS = {FAMILY_10H: 0x1f, FAMILY_15H: 0xff, FAMILY_15H_30: 0x1ff, FAMILY_15H_60: 0x7ff, ZEN2: 0x3ff, ZEN3: 0x3ff, ZEN4: 0xbff, ZEN5: 0x81bff}


def ours(cpuid, packets):
    text = "".join("%s %s\n" % (k, raw.hex()) for k, raw in packets)
    r = subprocess.run([DUMP, cpuid], input=text, capture_output=True, text=True, check=True)
    out = []
    for line in r.stdout.splitlines():
        out.append(dict(f.split("=", 1) for f in line.strip().split("\t")) if line[0] != "?" else line)
    return out


def bits(x, key):
    return int(x[key].split("!")[0])


def draw(rnd, caps):
    """An op and a fetch of random bits, whose control registers say that they are samples."""
    word = lambda: rnd.getrandbits(64)
    op = [word() & ~(1 << 16 if not caps & 0x800 else 0) & ~(31 << 59) | 3 << 17, word(), word() & ((1 << 41) - 1),
          rnd.choice([0, 1, 2, 3, 4, 5, 6, 7, 64, 65, 66, 67]) | rnd.getrandbits(2) << 4, word(), word(), word() & (1 << 48) - 1, word()]
    fetch = [word() | 3 << 48, word() | 1, word() & (1 << 48) - 1, rnd.getrandbits(16)]
    op += [rnd.getrandbits(1)] if caps & 1 << 10 else []  # OpData4
    return [packet("op", caps, op if caps & 1 << 5 else op[:7]), packet("fetch", caps, fetch if caps & 1 << 9 else fetch[:3])]


def of_perf(perf, path):
    """The decoded lines of each sample, as one text."""
    r = subprocess.run([perf, "report", "-D", "-i", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return re.findall(r"^(ibs_(?:op|fetch)_ctl:.*?)^\d", r.stdout, re.M | re.S)


def differences(kind, text, x):
    """Fields that perf prints otherwise."""
    bad, seen = [], 0
    for word, key in (OP if kind == "op" else FETCH).items():
        m = re.search(r"\b%s +(\d+)" % word, text)
        if not m or key is None:
            continue
        seen += 1
        if int(m.group(1)) != bits(x, key):
            bad.append("%s: perf %s, %s=%s" % (word, m.group(1), key, x[key]))
    m = re.search(r"OpMemWidth +(\d+) bytes", text)
    if m and 1 << (bits(x, "width") - 1) != int(m.group(1)):
        bad.append("width: perf %s, %s" % (m.group(1), x["width"]))
    return bad, seen


def against(perf, label, cpuid, tmp):
    rnd, caps = random.Random(7), CAPS[cpuid]
    packets = [p for _ in range(300) for p in draw(rnd, caps)]
    path = os.path.join(tmp, "ibs.data")
    recording(path, cpuid, packets)
    theirs = of_perf(perf, path)
    mine = ours(cpuid, packets)
    if len(theirs) != len(mine):
        t.ok(False, "%s, %s: as many samples" % (label, cpuid), "%d of %d" % (len(theirs), len(mine)))
        return
    bad, seen = [], 0
    for (kind, _), text, x in zip(packets, theirs, mine):
        b, s = differences(kind, text, x)
        bad += b
        seen += s
    t.ok(not bad and seen > 300 * 20, "%s, %s: %d fields of 600 synthetic samples" % (label, cpuid, seen), "\n".join(bad[:10]))
    of_sql("%s, %s" % (label, cpuid), packets, theirs, mine, path)


def tables(path):
    """Rows of both tables, by kind, in the order of the file."""
    out = {}
    for kind in "op", "fetch":
        r = subprocess.run([CYCLADE, "sql", path, "-j", "SELECT * FROM ibs_%s" % kind], capture_output=True, text=True, check=False)
        out[kind] = json.loads(r.stdout)["rows"] if not r.returncode else r.stderr
    return out


def of_sql(label, packets, theirs, mine, path):
    """The columns of SQL: what perf prints where there is a value, null where ibs_get() has a reason."""
    rows, bad, seen = tables(path), [], 0
    at = {kind: iter(r) for kind, r in rows.items()}
    words = {"op": OP, "fetch": FETCH}
    for (kind, raw), text, x in zip(packets, theirs or [""] * len(mine), mine):
        row = next(at[kind], {})
        if row.get("caps") not in (int.from_bytes(raw[:4], "little"), "0x%x" % int.from_bytes(raw[:4], "little")):
            bad.append("caps %s" % row.get("caps"))
        for key, said in x.items():
            if key == "source":
                value, want = row.get(key) or "not known", said
            else:
                value, want = row.get(key, "no column"), None if "!" in said else int(said)
                value = int(value, 16) if isinstance(value, str) and value.startswith("0x") else value
            if value != want and not (isinstance(value, int) and want is not None and value % 2**64 == want):
                bad.append("%s: %s, not %s" % (key, value, want))
            seen += value is not None
        for word, key in words[kind].items():
            m = re.search(r"\b%s +(\d+)" % word, text)
            if m and key and row.get(key) is not None and int(row[key]) != int(m.group(1)):
                bad.append("%s: perf %s, %s=%s" % (word, m.group(1), key, row[key]))
    bad += ["too many rows of %s" % kind for kind, i in at.items() if next(i, None)]
    t.ok(not bad and seen > 19 * len(packets), "%s: %d values of SQL" % (label, seen), "\n".join(bad[:10]))


def odd(tmp):
    """Bytes that are no sample keep their row; registers that are not known stay; a field without a value is null."""
    path = os.path.join(tmp, "odd.data")
    more = w.u64(0x1234)
    recording(path, ZEN4, [packet("op", 0xbff, [0] * 8), ("op", b"\0\0"), packet("fetch", 1 << 30 | 0xbff, [3 << 48, 1, 2, 3, 0x1234])])
    rows = tables(path)
    t.equal([(r["refused"], r["caps"], r["load"]) for r in rows["op"]],
            [("the control register says that it is no sample", None, None), ("no raw data were recorded", None, None)], "refused, and why")
    t.equal([(r["refused"], r["fetch_l2_miss"], r["itlb_page"], r["fetch_linear"] in (1, "0x1")) for r in rows["fetch"]],
            [(None, None, None, True)], "null where it has no value")
    r = subprocess.run([CYCLADE, "sql", path, "--format", "csv", "SELECT hex(more), caps >> 30 FROM ibs_fetch"], capture_output=True, text=True, check=False)
    t.ok(more.hex().upper() + ",1" in r.stdout, "registers and capabilities that nobody knows are kept", r.stdout + r.stderr)
    rnd = random.Random(3)
    for cpuid in FAMILY_15H, FAMILY_15H_60, ZEN5:  # the same fields, and the words behind them
        caps = CAPS[cpuid]
        known = [raw for _ in range(20) for kind, raw in draw(rnd, caps) if kind == "op"]
        recording(path, cpuid, [("op", raw) for raw in known])
        plain = tables(path)["op"]
        recording(path, cpuid, [("op", w.pack("I", caps | 1 << 29) + raw[4:] + w.u64(i, 0xabcdef)) for i, raw in enumerate(known)])
        rows = tables(path)["op"]
        same = [{k: v for k, v in row.items() if k not in ("caps", "more", "sample")} for row in rows] == [{k: v for k, v in row.items() if k not in ("caps", "more", "sample")} for row in plain]
        r = subprocess.run([CYCLADE, "sql", path, "--format", "csv", "SELECT hex(more), caps & 1 << 29 > 0, refused IS NULL FROM ibs_op"], capture_output=True, text=True, check=False)
        want = ["%s,1,1" % w.u64(i, 0xabcdef).hex().upper() for i in range(20)]
        t.ok(same and r.stdout.splitlines()[1:] == want, "%s: a longer sample with an unknown capability has the same fields, and its words" % cpuid, r.stdout + r.stderr)
        shown = subprocess.run([CYCLADE, "sql", path, "SELECT caps, more FROM ibs_op LIMIT 1"], capture_output=True, text=True, check=False).stdout
        t.ok("abcdef" in shown.lower() or "efcdab" in shown.lower(), "%s: which are shown" % cpuid, shown)


def published():
    """Values that AMD published with their meaning: the perf-amd-ibs manual, the commit of perf's Zen 4 support."""
    manual = [0x000002c30006186a, 0xffffffff8204aea7, 0x0000010002550001, 0x13, 0x31960092, 0xff110008a5398920, 0x8a5398920]
    commit = [0x0000004500070008, 0x1000, 0x710002, 2, 0x000000681d1700a1, 0, 0]
    fetch = [0x3c1f00c700080008, 0x1000, 0x2000]
    a, b, f = ours(ZEN4, [packet("op", 0xb9f, manual), packet("op", 0xb9f, commit), packet("fetch", 0xb9f, fetch)])
    t.equal([a[k] for k in ("complete_to_retire", "tag_to_retire", "microcode", "store", "load", "dc_miss", "l2_miss")],
            ["1", "597", "1", "1", "0", "1", "1"], "the manual's op")
    t.equal((a["miss_latency"], a["remote_node"], a["source"]), ("0!told of loads only", "1!told of loads only", "not known"),
            "it is a store: no latency and no source")
    t.equal([b[k] for k in ("load", "miss_latency", "open_requests", "width", "tag_to_retire", "source")],
            ["1", "104", "7", "4", "113", "other cache of the node"], "the commit's op")
    t.equal([f[k] for k in ("fetch_latency", "fetch_l2_miss", "fetch_l3_miss", "fetch_oc_miss")], ["199", "1", "1", "1"],
            "the commit's fetch")


def rules():
    """What has no value says why."""
    loads = 1 | 1 << 17 | 1 << 18
    op = lambda d3, d2=0, caps=0xbff, d=0, cpu=ZEN4: ours(cpu, [packet("op", caps, [3 << 17, 1, d, d2, d3, 0, 0, 0])])[0]
    t.equal(op(loads)["source"], "L1", "a hit of L1")
    t.equal(op(loads | 1 << 7)["source"], "L2", "a hit of L2")
    far = loads | 1 << 7 | 1 << 20
    t.equal([op(far, s)["source"] for s in (1, 2, 3, 5, 6, 7, 64, 68, 3 | 16)],
            ["L3", "other cache of the node", "DRAM", "cache of another node", "persistent memory", "I/O", "memory behind a link",
             "memory of another processor", "DRAM of another node"], "sources of 5 bits")
    t.equal([op(far, s, 0x3ff, cpu=ZEN2)["source"] for s in (2, 2 | 16, 3, 3 | 16)],
            ["other cache of the node", "cache of another node", "DRAM", "DRAM of another node"], "sources of 3 bits")
    t.equal([op(far, 1, 0x1ff, cpu=c)["source"] for c in (FAMILY_10H, FAMILY_15H, FAMILY_15H_30, ZEN2)],
            ["L3", "L3", "not known", "not known"], "source 1 is reserved after family 15h, model 0Fh")
    t.equal(op(far | 1 << 14, 3)["source"], "uncached", "uncacheable memory has no source")
    early = op(far | 1 << 21, 3, 0x3ff, cpu="AuthenticAMD,25,1,0")
    t.equal((early["source"], early["open_requests"]), ("not known", "0!erratum 1293"), "erratum 1293")
    t.equal(op(loads, d=1 << 36)["mispredicted"], "1!no branch", "a misprediction of no branch")
    t.equal(op(far, 3, 0x3ff, cpu="AuthenticAMD,16,2,0")["l2_miss"], "1!this processor has no such field", "family 10h has no L2 bit")
    no = ours(ZEN4, [packet("op", 0xbff, [0] * 8), ("op", b"\0\0"), packet("op", 0xbff, [3 << 17, 1])])
    t.ok(all(isinstance(x, str) and x[0] == "?" for x in no), "bytes that are no sample are refused", str(no))


with tempfile.TemporaryDirectory() as tmp:
    published()
    rules()
    odd(tmp)
    for label, perf in (("perf", "perf"), ("perf 6.12", os.environ.get("CYCLADE_PERF612"))):
        if not perf or subprocess.run([perf, "version"], capture_output=True, check=False).returncode:
            t.skip("as %s prints them" % label, "no such perf here")
            continue
        for cpuid in CAPS:
            against(perf, label, cpuid, tmp)
t.done()
