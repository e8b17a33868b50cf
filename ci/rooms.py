#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The include graph is a DAG of rooms and of their folders, files are opened by the doors alone, and every header compiles
alone: if code begins with it, that the code compiles shows it; the others are compiled here.

A room may include its own headers and those of the rooms that ALLOWED lists for it. A room may have folders:
other rooms include only what is not in one, and a header that ends in _int.h only its own folder."""
import concurrent.futures
import os
import re
import subprocess
import sys

ALLOWED = {
    "base": [],
    "kernels": ["base"],
    "show": ["base"],
    "collect": ["base"],
    "perfdata": ["base"],
    "symbol": ["base"],
    "heaplog": ["symbol"],  # a header that includes nothing of ours
    "model": ["base"],
    "plan": ["base", "collect", "model"],
    "region": ["base", "show", "collect", "model", "plan"],
    "simulate": ["base", "collect", "perfdata", "symbol", "model"],
    "measure": ["base", "kernels", "collect", "perfdata", "symbol", "model", "plan"],
    "analyse": ["base", "perfdata", "symbol", "model"],
    "report": ["base", "kernels", "show", "perfdata", "symbol", "model", "plan", "simulate", "measure", "analyse"],
    "store": ["base", "show", "perfdata", "symbol", "analyse", "report"],
    "monitor": ["base", "show", "collect", "perfdata", "symbol", "model", "plan", "measure", "analyse"],
    "cli": ["base", "kernels", "show", "collect", "perfdata", "symbol", "model", "plan", "region", "simulate", "measure", "analyse", "report", "store", "monitor"],
}
# A room that gets threads loses its row; its tests that start them are a list in tests/unit/meson.build.
NO_THREADS = ["model"]
# Formats are written by `show`, and foreign ones by exporters.
EXPORTERS = ["report/export/export_firefox.c", "report/export/script_json.c"]
WRITES = re.compile(r"\b(json_(init|object|array|end_object|end_array|str|strings|u64|i64|hex|real|bool|null)|"
                    r"text_put_(csv|csv_safe|csv_real|markdown))\(")
# Samples are walked by one file of analyse.
WALK = re.compile(r"\b(pd_chunks|pd_next|pd_walk_all)\(")
WALKER = "analyse/pass/pass.c"
# What needs a walk over samples of its own, and why; the others have a visitor in a walk that is shared (analyse/pass.h).
WALKS = re.compile(r"\bpass_(each|run)\(")
WALKERS = {
    "analyse/pass/pass.c": "the walk",
    "cli/recordings/results.c": "those that results share",
    "cli/recordings/result.c": "of one result alone",
    "analyse/profile/profile.c": "profile_build: a profile alone",
    "analyse/profile/profile_reads.c": "what counters stood at before each chunk",
    "analyse/flow/flow.c": "flow_build: a flow alone, or weighed by the one before",
    "analyse/flow/blocks_trips.c": "loops are known when branches are counted",
    "analyse/cube/cube.c": "when the samples of a selection were taken",
    "analyse/pass/mux.c": "periods are weighed by it",
    "analyse/pass/mux_pause.c": "the same",
    "analyse/memory/memory.c": "memory_build: of one event alone",
    "analyse/memory/memory_when.c": "the latency that is shown is known when all were counted",
    "analyse/wait/wait.c": "wait_build: waits alone",
    "report/export/script.c": "samples leave as they are met, and are never held",
    "report/export/export_perfetto.c": "counts leave as they are met: in file order, and never held",
}
# Where an address lies is asked of tables of places (symbol/place.h), which ask the address spaces.
FIND = re.compile(r"\bspace_find(_span)?\(")
# Files are opened, and looked at by name, by the two doors: base/file_in.c, base/file_out.c. The others, and why:
OPENS = re.compile(r"(?<![\w.>])(open|open64|fopen|openat|creat|stat|lstat|fstatat|access|faccessat)\s*\(|\bSYS_open(?:at2?)?\b")
OPENERS = {
    "base/file_in.c": "the door in",
    "base/file_out.c": "the door out",
    "base/dir_held.c": "directories, which the door out removes again",
    "base/lender.c": "the door in, for a sandboxed process",
    "base/sandbox.c": "places that the sandbox leaves open, without effect (O_PATH)",
    "heaplog/": "in other programs: it includes nothing of ours",
    "region/open.c": "in other programs: their table, below a directory that they name",
    "collect/machine/workload.c": "/dev/null",
    "collect/counters/msr.c": "/dev/cpu/N/msr",
    "collect/counters/msr_file.c": "/dev/cpu/N/msr",
    "collect/machine/synth.c": "/proc/kallsyms, /proc/self/ns",
    "collect/machine/synth_bpf.c": "/proc/kallsyms",
    "collect/machine/capture.c": "makes a tree in a new directory of its own",
    "measure/sampling/sampling_wchan.c": "/proc/PID/task",
    "measure/targets.c": "a directory of cgroups, for perf_event_open",
    "monitor/monitor_cgroup_count.c": "a directory of cgroups, for perf_event_open",
    "measure/control.c": "--control names a FIFO",
    "perfdata/load.c": "a recording that is named may be a pipe",
    "monitor/http_listen.c": "the socket that it makes",
    "cli/inputs.c": "whether a program can be executed, a library of ours be read",
    "simulate/plugin/": "in QEMU: it includes nothing of ours but the stream",
    "cli/sandboxing.c": "whether a directory can be written",
    "cli/doctor/doctor_checks.c": "whether a directory can be written",
    "cli/main.c": "/dev/null",
    "cli/recordings/cmd_view.c": "/dev/null, and a directory of its own",
}
# The width of a column is computed by one file. Others may cut a line that is none of a table, and why:
WIDTH = re.compile(r"\b(text_put_fit|text_put_safe_fit|text_width|folds_settle|fold_name)\(")
WIDTHS = {
    "base/text": "what they are made of",
    "show/fold": "names of a column",
    "show/format_term.c": "a function's name in a title",
    "show/layout.c": "columns",
    "show/page.c": "lines of a page",
    "cli/screen/screen.c": "cells of the terminal",
    "cli/browse/browse_draw.c": "the line of state",
    "cli/browse/browse_pages.c": "lines of labels",
    "cli/doctor/doctor_tables.c": "checks with what to type below them",
    "measure/sampling/account_print.c": "a list that record prints",
    "report/findings/": "names in a sentence",
    "report/annotate/annotate_term.c": "source text, with instructions and arrows",
    "report/annotate/annotate_account.c": "the same",
    "report/drawing.c": "boxes of a drawing",
    "report/flow/blocks_graph.c": "boxes of a graph",
    "report/flow/calls_graph.c": "boxes of a graph",
    "report/models/explain_term.c": "a page of text",
    "report/profile/where.c": "the short list of run",
    "report/tree/": "the tree, with bars",
}
bad = []


def files(room):
    """Paths below src, folders of the room included."""
    found = []
    for folder, _, names in os.walk(os.path.join("src", room)):
        found += [os.path.relpath(os.path.join(folder, n), "src") for n in names]
    return sorted(found)


include = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
for room, allowed in ALLOWED.items():
    for name in files(room):
        if not name.endswith((".c", ".h", ".def")):
            continue
        path = os.path.join("src", name)
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if room in NO_THREADS and re.search(r"#\s*include\s+([<]pthread|[<]threads|\"base/task)", line):
                bad.append("%s:%d: %s has no threads, says ci/rooms.py" % (path, number, room))
            m = include.match(line)
            if not m or "/" not in m.group(1):
                continue
            folder = os.path.dirname(m.group(1))
            other = folder.split("/")[0]
            if other != room and other not in allowed:
                bad.append("%s:%d: %s may not include %s" % (path, number, room, m.group(1)))
            if other != room and folder != other:
                bad.append("%s:%d: %s is inside of %s" % (path, number, m.group(1), other))
            if folder != os.path.dirname(name) and m.group(1).endswith("_int.h"):
                bad.append("%s:%d: %s is private to %s" % (path, number, m.group(1), folder))
for room in ALLOWED:
    for path in files(room):
        if room == "show" or path in EXPORTERS or path.startswith(("base/json.", "base/text.")) or not path.endswith((".c", ".h")):
            continue
        if WRITES.search(open(os.path.join("src", path), encoding="utf-8").read()):
            bad.append("src/%s: writes a format; make a table of it (src/show/table.h)" % path)
bad += ["src/%s walks over samples: share a walk (analyse/pass.h), or give ci/rooms.py the reason" % name
        for room in ("analyse", "report", "store", "cli") for name in files(room)
        if not any(name.startswith(known) for known in WALKERS) and name.endswith(".c") and WALKS.search(open(os.path.join("src", name), encoding="utf-8").read())]
bad += ["src/%s asks the address spaces where an address lies: symbol/place.h does" % name for room in ("analyse", "store", "report", "cli")
        for name in files(room) if FIND.search(open(os.path.join("src", name), encoding="utf-8").read())]
walks = [name for name in files("analyse") if WALK.search(open(os.path.join("src", name), encoding="utf-8").read())]
bad += ["src/%s walks the chunks of a recording: only src/%s does" % (name, WALKER) for name in walks
        if name != WALKER]
for path in (name for room in ALLOWED for name in files(room) if name.endswith(".c") and not name.startswith(tuple(WIDTHS))):
    if WIDTH.search(open(os.path.join("src", path), encoding="utf-8").read()):
        bad.append("src/%s computes widths: tables are laid out by src/show/layout.c" % path)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
opening = set()
for path in (name for room in ALLOWED for name in files(room) if name.endswith((".c", ".h"))):
    with open(os.path.join("src", path), encoding="utf-8") as f:
        code = TEXT.sub('""', COMMENT.sub("", f.read()))
    reason = next((k for k in OPENERS if path == k or (k.endswith("/") and path.startswith(k))), None)
    if OPENS.search(code):
        opening.add(reason)
        if not reason:
            bad.append("src/%s: %s() of a path: base/file_in.h and base/file_out.h open files (file_look: what is there)" %
                       (path, OPENS.search(code).group(1)))
bad += ["ci/rooms.py: src/%s opens nothing by name any more" % k for k in set(OPENERS) - opening]
if set(os.listdir("src")) - set(ALLOWED):
    bad.append("src: a room without a row in ci/rooms.py: %s" % (set(os.listdir("src")) - set(ALLOWED)))



def folder_of(name, homes):
    """The folder of a file; of a header at the top of a room that of the code whose name begins as its own."""
    at, base = os.path.split(name)
    if not name.endswith(".h") or "/" in at:
        return at
    return next((d for d, c in homes if d.split("/")[0] == at and c == base[:-2]),
                next((d for d, c in homes if d.split("/")[0] == at and c.startswith(base[:-2])), at))


def circles():
    """Folders that include one another, directly or not, as texts."""
    names = [name for room in ALLOWED for name in files(room) if name.endswith((".c", ".h"))]
    homes = [(os.path.dirname(n), os.path.basename(n)[:-2]) for n in names if n.endswith(".c")]
    uses = {}
    for name in names:
        for line in open(os.path.join("src", name), encoding="utf-8"):
            m = include.match(line)
            if m and "/" in m.group(1) and m.group(1).endswith(".h"):
                uses.setdefault(folder_of(name, homes), set()).add(folder_of(m.group(1), homes))
    reach = {f: set(to) - {f} for f, to in uses.items()}
    for by in reach:
        for f in reach:
            if by in reach[f]:
                reach[f] |= reach[by]
    return sorted("src/%s and src/%s include one another, directly or not" % (a, b)
                  for a in reach for b in reach[a] if a < b and a in reach.get(b, ()))


bad += circles()
GUARDED = re.compile(r"#ifndef (\w+)\n#define \1\n(.*)#endif$", re.S)


def code_of(name):
    with open(os.path.join("src", name), encoding="utf-8") as f:
        return COMMENT.sub("", f.read()).strip()


headers = [name for room in ALLOWED for name in files(room) if name.endswith(".h")]
bad += ["src/%s: no #ifndef around all of it" % h for h in headers if not GUARDED.match(code_of(h))]
# what code begins with, and what that begins with
begins = {}
for path in (name for room in ALLOWED for name in files(room) if name.endswith((".c", ".h"))):
    m = include.match(GUARDED.sub(lambda guarded: guarded.group(2), code_of(path)))
    if m:
        begins[path] = m.group(1)
begun = {to for path, to in begins.items() if path.endswith(".c")}
while {begins[h] for h in begun if h in begins} - begun:
    begun |= {begins[h] for h in begun if h in begins}
capstone = subprocess.run(["pkg-config", "--cflags", "capstone"], capture_output=True, text=True).stdout.split()


def alone(header):
    """What the compiler says of it; "" if nothing."""
    text = '#include "%s"\nextern int x;\n' % header
    run = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Isrc", "-Iinclude", *capstone,
                          "-fsyntax-only", "-xc", "-"], input=text, capture_output=True, text=True)
    return "%s does not compile alone:\n%s" % (header, run.stderr) if run.returncode else ""


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    bad += [x for x in pool.map(alone, sorted(set(headers) - begun)) if x]
print("\n".join(bad))
sys.exit(1 if bad else 0)
