#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fields of tracepoints as columns: a made recording of each byte order with every kind of field, known one by one, and formats that are
damaged; and what perf records here, against what perf script prints of the same samples."""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
from tap import PERF, Tap, run  # noqa: E402

t = Tap()
if "no SQL" in run("--version").stdout:
    t.skip("fields of tracepoints", "built without SQLite")
    t.done()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-trace-")
os.chdir(tmp.name)


def ask(path, query):
    p = run("sql", "-j", path, query)
    return json.loads(p.stdout)["rows"] if p.returncode == 0 else p.stderr


# ---- every kind of field
FORMAT = b"""name: thing
ID: 7
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:__rel_loc char[] near;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc unsigned long[] longs;\toffset:12;\tsize:4;\tsigned:0;
\tfield:char comm[TASK_COMM_LEN];\toffset:16;\tsize:16;\tsigned:1;
\tfield:u16 v[4];\toffset:32;\tsize:8;\tsigned:0;
\tfield:const char * p;\toffset:40;\tsize:8;\tsigned:0;
\tfield:struct mac x;\toffset:48;\tsize:6;\tsigned:0;
\tfield:s8 i8;\toffset:54;\tsize:1;\tsigned:1;
\tfield:u8 u8;\toffset:55;\tsize:1;\tsigned:0;
\tfield:short i16;\toffset:56;\tsize:2;\tsigned:1;
\tfield:u16 u16;\toffset:58;\tsize:2;\tsigned:0;
\tfield:int i32;\toffset:60;\tsize:4;\tsigned:1;
\tfield:unsigned int u32;\toffset:64;\tsize:4;\tsigned:0;
\tfield:pid_t pid;\toffset:68;\tsize:4;\tsigned:1;
\tfield:long i64;\toffset:72;\tsize:8;\tsigned:1;
\tfield:u64 u64;\toffset:80;\tsize:8;\tsigned:0;
\tfield:int ints[2];\toffset:88;\tsize:8;\tsigned:1;
\tfield:__data_loc char[] far;\toffset:96;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] wild;\toffset:100;\tsize:4;\tsigned:1;
\tfield:u64 beyond;\toffset:4000;\tsize:8;\tsigned:0;
\tfield:not a line at all
\tfield:int I32;\toffset:60;\tsize:4;\tsigned:1;

print fmt: "%s", REC->comm
"""
WANT = dict(common_pid=-3, near="near", longs="[1,18446744073709551615]", comm="comm", v="[1,2,3,65535]", p="0x8000000000001000",
            x="[1,2,3,4,5,255]", i8=-8, u8=200, i16=-16000, u16=60000, i32=-2000000000, u32=4000000000, pid=42, i64=-1 << 62,
            u64=1 << 62, ints="[-1,5]", far="a longer text", wild=None, beyond=None)


def tracing(w, formats, system=b"made"):
    """perf's TRACING_DATA of one system."""
    return (b"\x17\x08\x44tracing0.6\0" + (b"\1" if w.o == ">" else b"\0") + b"\x08" + w.pack("I", 4096) +
            b"header_page\0" + w.u64(0) + b"header_event\0" + w.u64(0) + w.pack("I", 0) +
            w.pack("I", 1) + system + b"\0" + w.pack("I", len(formats)) + b"".join(w.u64(len(f)) + f for f in formats) +
            w.pack("II", 0, 0) + w.u64(0))


def raw_of(w):
    def text(*at):
        return sum(x << s for x, s in zip(at, (0, 16)))
    longs, near, far = w.u64(1, (1 << 64) - 1), b"near\0", b"a longer text\0"
    body = w.pack("HBBi", 7, 1, 2, -3) + w.pack("II", text(120 - 12, len(near)), text(104, len(longs)))
    body += b"comm\0garbage".ljust(16, b"!") + w.pack("4H", 1, 2, 3, 65535) + w.u64(0x8000000000001000) + bytes((1, 2, 3, 4, 5, 255))
    body += struct.pack(w.o + "bBhHiIi", -8, 200, -16000, 60000, -2000000000, 4000000000, 42)
    body += struct.pack(w.o + "qQ", -1 << 62, 1 << 62) + w.pack("ii", -1, 5) + w.pack("II", text(128, len(far)), text(140, 60000))
    assert len(body) == 104, len(body)
    return (body + longs + near).ljust(128, b"\0") + far.ljust(16, b"\0") + b"\0\0\0\0"


def made(path, order, formats, raw, name="made:thing", ids=(41,), desc=True, features=None):
    w = gen.Writer(order)
    attr = dict(type=2, config=7, sample=gen.BASE | gen.BIT["RAW"], period=1)
    f = gen.File(w, [(name, attr, list(ids))])
    for i, r in enumerate(raw(w)):
        s = gen.Sample(i, 41)
        s.v["RAW"] = r
        f.data += s.record(w, attr)
    f.features = {1: tracing(w, formats)} if features is None else features
    with open(path, "wb") as out:
        out.write(f.build(event_desc=desc))
    return path


for order in "<", ">":
    which = "little endian" if order == "<" else "big endian"
    path = made("every.data", order, [FORMAT], lambda w: [raw_of(w)] * 2)
    rows = ask(path, "SELECT * FROM thing")
    t.equal(len(rows), 2, "%s: a row per sample" % which)
    got = {k: v for k, v in rows[0].items() if k in WANT}
    t.equal(got, WANT, "%s: every kind of field" % which)
    t.equal([k for k in rows[0] if k not in WANT], ["run", "sample", "time", "common_cpu", "common_comm", "common_tgid", "common_flags",
                                                    "common_preempt_count"], "%s: and the sample's columns" % which)
    t.equal(ask(path, "SELECT count(*) AS n FROM thing WHERE pid = 42"), [{"n": 2}], "%s: a field's name is no bound of the sample's" % which)
    t.equal(ask(path, "SELECT json_extract(v, '$[3]') AS last FROM thing LIMIT 1"), [{"last": 65535}], "%s: an array is JSON" % which)
    path = made("bare.data", order, [FORMAT], lambda w: [raw_of(w)], desc=False)
    t.equal(ask(path, "SELECT DISTINCT event FROM samples"), [{"event": "made:thing"}], "%s: the format names an event without a name" % which)
    path = made("short.data", order, [FORMAT], lambda w: [raw_of(w)[:60], b""])
    rows = ask(path, "SELECT i8, i32, comm FROM thing")
    t.equal(rows, [dict(i8=-8, i32=None, comm="comm"), dict(i8=None, i32=None, comm=None)], "%s: data that end early have nulls" % which)

# names of tables
clash = made("clash.data", "<", [FORMAT.replace(b"thing", b"samples")], lambda w: [raw_of(w)], name="made:samples")
t.equal(ask(clash, "SELECT comm FROM made_samples"), [{"comm": "comm"}], "a tracepoint whose name another table has: SYSTEM_NAME")
t.ok("thing" in run("sql", path, ".tables").stdout, ".tables lists it")
t.ok('const char *"' in run("sql", path, ".schema thing").stdout, ".schema has its types")
t.ok("did you mean thing?" in ask(path, "SELECT * FROM thin"), "a similar name is suggested")

# whatever the bytes, a message and no crash
whole = tracing(gen.Writer("<"), [FORMAT])
for n, what in ((0, "empty"), (9, "cut"), (60, "cut"), (200, "cut"), (len(whole) - 20, "cut at the end")):
    path = made("cut.data", "<", [], lambda w: [raw_of(w)], features={1: whole[:n]})
    p = run("sql", "-j", path, "SELECT count(*) AS n FROM samples")
    t.ok(p.returncode == 0 and json.loads(p.stdout)["rows"] == [{"n": 1}], "formats %s after %d bytes: samples are read" % (what, n), p.stderr)
    t.ok("TRACING_DATA" in run("info", path).stdout, "... and the damage is named")
for name in (b"json_each", b"sqlite_master", b"a b", b"1", b"x'y", b"", b"\xff"):
    path = made("names.data", "<", [FORMAT.replace(b"thing", name)], lambda w: [raw_of(w)])
    p = run("sql", path, ".tables")
    t.ok(p.returncode == 0 and (not name or not re.search(r"\b%s\b" % re.escape(name.decode("latin-1")), p.stdout.split("calibrate_penalties")[1].split("events of")[0].replace("61", ""))),
         "a tracepoint of the name %r makes no table" % name, p.stdout)

# ---- what perf records
EVENTS = ["sched:sched_switch", "sched:sched_waking", "syscalls:sys_enter_openat", "raw_syscalls:sys_enter", "sched:sched_process_exec"]
WORK = ["sh", "-c", "ls / >/dev/null; sleep 0.01"]
if not PERF or subprocess.run([PERF, "record", "-q", "-o", "perf.data", *[x for e in EVENTS for x in ("-e", e)], "--", *WORK],
                              capture_output=True).returncode:
    t.skip("fields as perf prints them", "perf cannot record tracepoints here")
    t.done()
subprocess.run([PERF, "record", "-q", "-o", "-", *[x for e in EVENTS for x in ("-e", e)], "--", *WORK], stdout=open("pipe.data", "wb"),
               stderr=subprocess.DEVNULL)
r = run("record", "-q", "-o", "ours.data", "-e", ",".join(EVENTS), "--", *WORK)
t.equal(r.returncode, 0, "record -e of the same events")


def printed(path, event):
    p = subprocess.run([PERF, "script", "-F", "event,trace", "-i", path], capture_output=True, text=True, errors="replace")
    return [x.split(": ", 1)[1].strip() for x in p.stdout.splitlines() if x.strip().startswith(event + ":")]


LINES = {
    "sched:sched_waking": ("'comm=' || comm || ' pid=' || pid || ' prio=' || prio || printf(' target_cpu=%03d', target_cpu)", "sched_waking"),
    "sched:sched_switch": ("'prev_comm=' || prev_comm || ' prev_pid=' || prev_pid || ' prev_prio=' || prev_prio || '#' || ' ==> next_comm=' || "
                           "next_comm || ' next_pid=' || next_pid || ' next_prio=' || next_prio", "sched_switch"),
    "syscalls:sys_enter_openat": ("printf('dfd: 0x%08x, filename: 0x%08x, flags: 0x%08x, mode: 0x%08x', dfd & 0xffffffff, filename, flags, mode)",
                                  "sys_enter_openat"),
    "raw_syscalls:sys_enter": ("printf('NR %d (%x, %x, %x, %x, %x, %x)', id, json_extract(args, '$[0]'), json_extract(args, '$[1]'), "
                               "json_extract(args, '$[2]'), json_extract(args, '$[3]'), json_extract(args, '$[4]'), json_extract(args, '$[5]'))",
                               "sys_enter"),
    "sched:sched_process_exec": ("'filename=' || filename || ' pid=' || pid || ' old_pid=' || old_pid", "sched_process_exec"),
}
for path in "perf.data", "pipe.data", "ours.data":
    for event, (text, table) in LINES.items():
        want = [re.sub(r" prev_state=\S+", "#", x) if event == "sched:sched_switch" else re.sub(r"0xffffffffffffff", "0xffffff", x)
                for x in printed(path, event)]
        rows = ask(path, "SELECT %s AS line FROM %s ORDER BY sample" % (text, table))
        got = [x["line"] for x in rows] if isinstance(rows, list) else rows
        if not isinstance(got, list):
            t.ok(False, "%s: %s" % (path, event), got)
            continue
        if event == "raw_syscalls:sys_enter":
            # numbers from 2^63 on are reals in JSON: those lines are only counted
            t.equal(len(got), len(want), "%s: as many of %s" % (path, event))
            high = re.compile(r"[89a-f][0-9a-f]{15}")
            want = [x for x in want if not high.search(x)]
            got = list((collections.Counter(got) & collections.Counter(want)).elements())
        t.equal(sorted(got), sorted(want), "%s: %s (%d)" % (path, event, len(want)))
t.done()
