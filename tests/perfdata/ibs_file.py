# SPDX-License-Identifier: BSD-3-Clause
"""Recordings with raw samples of AMD's IBS."""
import gen

w = gen.Writer("<")
FAMILY_10H = "AuthenticAMD,16,2,0"
FAMILY_15H, FAMILY_15H_10, FAMILY_15H_30, FAMILY_15H_60 = ("AuthenticAMD,21,%d,1" % model for model in (2, 0x10, 0x30, 0x60))
ZEN2, ZEN3_EARLY, ZEN3, ZEN4 = "AuthenticAMD,23,49,0", "AuthenticAMD,25,1,1", "AuthenticAMD,25,33,0", "AuthenticAMD,25,17,1"
ZEN5, ZEN6 = "AuthenticAMD,26,2,0", "AuthenticAMD,26,80,0"


def packet(kind, caps, regs):
    return kind, w.pack("I", caps) + w.u64(*regs)


def recording(path, cpuid, packets):
    sample = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD RAW".split())
    kinds = {"op": (9, 1), "fetch": (8, 2)}
    events = [("ibs_%s//" % k, dict(type=n, config=0, period=1000, sample=sample, sample_id_all=1), [i])
              for k, (n, i) in kinds.items()]
    f = gen.File(w, events, attr_size=120)
    pmus = w.pack("I", 2) + w.pack("I", 8) + w.text("ibs_fetch") + w.pack("I", 9) + w.text("ibs_op")
    f.features = {6: w.text("x86_64"), 9: w.text(cpuid), 16: pmus}
    # PMU_CAPS: what perf decodes by
    names = ["zen4_ibs_extensions"] * (cpuid in (ZEN4, ZEN5, ZEN6)) + ["ldlat", "dtlb_pgsize"] * (cpuid in (ZEN5, ZEN6)) + ["rmtsocket", "strmst"] * (cpuid == ZEN6)
    if names:
        f.features[31] = w.pack("I", 1) + w.pack("I", len(names)) + b"".join(w.text(n) + w.text("1") for n in names) + w.text("ibs_op")
    for kind, raw in packets:
        f.data += w.record(9, w.u64(kinds[kind][1], 0x1000) + w.pack("II", 20, 20) + w.u64(1000) + w.pack("II", 0, 0) +
                           w.u64(1000) + w.pack("I", len(raw)) + raw, 2)
    with open(path, "wb") as out:
        out.write(f.build())
