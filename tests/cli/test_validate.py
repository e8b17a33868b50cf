#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""validate on the machine at hand: the operating system's events, which every machine has, against kernels for real; what is said where
there is no PMU. Verdicts on planted faults are the business of tests/unit/measure/test_validate.c."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from account_made import Made, account_of  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run, wait_for, uninterrupted  # noqa: E402

uninterrupted()
t = Tap()
PASS = ("exact", "within")


def verdicts(*words):
    r = run("validate", "--quick", "-j", *words)
    if r.returncode not in (0, 1):
        t.ok(False, "validate " + " ".join(words), r.stderr)
        t.done()
    doc = json.loads(r.stdout)
    return doc, {e["event"]: e for e in doc["events"]}


doc, event = verdicts()
t.equal(doc["schema"], "cyclade.validate/1", "the schema is named")
for name in ("page-faults", "minor-faults", "task-clock", "cpu-clock"):
    t.ok(event[name]["verdict"] in PASS, "%s is %s here" % (name, event[name]["verdict"]), event[name])
t.equal((event["page-faults"]["counts"], event["page-faults"]["verdict"]), ("faults", "exact"), "faults are exact")
cells = {(c["event"], c["kernel"]): c for c in doc["cells"]}
t.equal([cells["page-faults", k]["expected"] for k in ("fault", "no-fault", "walk")], [1, 0, 0], "one fault for each iteration, or none")
t.equal([k for k, c in cells.items() if c["counted"] is None and not c["counted_why"]], [], "what was not counted has a reason")
kernel = event["context-switches"]["verdict"] != "not tested"
if kernel:  # the kernel's own part may be counted
    t.ok(event["context-switches"]["verdict"] in PASS and cells["context-switches", "switch"]["expected"] == 1, "context switches are counted",
         event["context-switches"])
    moves = event["cpu-migrations"]
    if len(os.sched_getaffinity(0)) > 1:
        t.ok(moves["verdict"] in PASS, "so are migrations", moves)
else:
    t.skip("context switches", event["context-switches"]["text"])
t.equal([e for e in event.values() if e["verdict"] == "not tested" and not e["text"]], [], "what is not tested has a reason")
t.equal([e for e in event.values() if e["verdict"] in PASS and e["limit"] is not None and not 0 < e["limit"] < 1], [], "a limit of detection")
pinned = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), CYCLADE, "validate", "--quick", "-j", "cpu-migrations"],
                        capture_output=True, text=True)
e = json.loads(pinned.stdout)["events"][0]
t.ok(e["verdict"] == "not tested" and ("one CPU" in e["text"] or not kernel), "no migrations on one CPU, with the reason", e)

# ---- without a PMU
if not doc["pmu"]:
    t.ok(doc["no_pmu"] and all(event[x]["verdict"] == "not tested" and "no PMU" in event[x]["text"] for x in ("cycles", "instructions", "branches")),
         "no PMU: said of each event, with what was looked at", doc["no_pmu"])
    text = run("validate", "--quick", "instructions").stdout
    t.ok("no PMU" in text and "not tested" in text, "and on the screen", text)
else:
    t.ok(event["instructions"]["verdict"] in PASS, "instructions", event["instructions"])

# ---- what is asked for
doc, event = verdicts("page-f*", "fault", "no-fault")
t.equal(list(event), ["page-faults"], "one event")
t.equal({c["kernel"] for c in doc["cells"]}, {"fault", "no-fault"}, "in two kernels")
doc, event = verdicts("minor-faults", "add")
t.ok(event["minor-faults"]["verdict"] == "not tested" and "provokes" in event["minor-faults"]["text"], "no kernel that provokes it: no verdict", event)
doc, event = verdicts("--model", "spr", "Bad_Speculation")
t.ok("TOPDOWN.SLOTS" in event and "page-faults" not in event and all(e["tree"] for e in event.values()), "the events of a node", list(event))
doc, event = verdicts("page-faults")
t.ok("split-lock" not in {c["kernel"] for c in doc["cells"]}, "faults need no kernel that locks split lines", doc["cells"])
r = run("validate", "--quick", "page-faults", "fault", "add")
t.ok(re.search(r"1 events?, \d+ kernels.*about \d+ s", r.stderr), "what it will take is told beforehand", r.stderr)
for words, want in ((["xyzzy"], "xyzzy"), (["addres"], "did you mean address?"), (["page-fault"], "did you mean page-faults?"), (["-C", "x"], "no list of CPUs"), (["-C", "60000"], "none of the CPUs"), (["--model", "nothing"], "nothing")):
    r = run("validate", "--quick", *words)
    t.ok(r.returncode == 2 and want in r.stderr, "refused: " + " ".join(words), r.stderr)

# ---- a kernel as a program
r = run("validate", "--spin", "walk@L1", "--for", "20ms")
t.equal((r.returncode, r.stdout, r.stderr), (0, "", ""), "--spin runs a kernel and prints nothing")
for words, want in ((["nothing"], "no kernel nothing"), (["walk@L9"], "no kernel walk@L9"), (["walk", "add"], "one kernel"), (["snoop-clean"], "second CPU")):
    r = run("validate", "--spin", *words)
    t.ok(r.returncode == 2 and want in r.stderr, "refused: --spin " + " ".join(words), r.stderr)

# ---- Ctrl-C keeps what there is
p = subprocess.Popen([CYCLADE, "validate", "-j"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
wait_for(lambda: int(re.search(r"SigCgt:\t(\w+)", open("/proc/%d/status" % p.pid).read())[1], 16) & 2)
p.send_signal(signal.SIGINT)
doc = json.loads(p.communicate()[0])
t.ok(doc["stopped"] is True and any(c["counted"] is None for c in doc["cells"]), "Ctrl-C: what there is, marked", doc["stopped"])

# ---- tables: the same columns in csv and json
doc, event = verdicts("page-faults", "fault", "add")
for name in ("events", "cells"):
    head = run("validate", "--quick", "page-faults", "fault", "add", "--table", name, "-x", ",").stdout.splitlines()[0]
    t.equal(head.split(","), list(doc[name][0]), "columns of " + name)

def penalties_kept(data, here, path, home):
    """What calibrate kept goes over the model's if the recording is of this machine, and says so; a damaged file is left out."""
    def account(text, *more):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        p = run("report", "--account", "-i", data, "-j", *more, env={**os.environ, "XDG_DATA_HOME": home})
        if p.returncode:
            return None, [], p.stderr
        doc = json.loads(p.stdout)
        return account_of(doc)["nodes"]["Mispredicted"]["penalty"], [n for n in doc["notes"] if "measured here" in n], p.stderr

    models, notes, stderr = account("latency mul 3 0.1\n", "--penalties", "none")
    if models is None:
        t.skip("kept penalties", "no account of this CPU: " + stderr.strip())
        return
    t.ok(models != 1234 and not notes, "kept penalties: --penalties none", notes)
    got, notes, stderr = account("latency mul 3 0.1\nMispredicted 1234\n")
    t.equal(got, 1234 if here else models, "kept penalties: %s" % ("go over the model's" if here else "of another machine do not"))
    t.ok(len(notes) == here and all(path in n and "--penalties none" in n for n in notes), "kept penalties: a note says so", notes)
    got, notes, stderr = account("Mispredicted 1234\nMispredicted x\n")
    t.ok(got == models and not notes and ("is not used" in stderr) == here, "kept penalties: of a damaged file no line", (got, stderr))


# ---- verdicts are of a CPU: without a name of it they have no place
with tempfile.TemporaryDirectory() as tmp:
    # little memory: that is soon measured; a sanitizer takes all address space
    hidden = ["unshare", "-m", "sh", "-c", "mount --bind /dev/null /proc/cpuinfo && %sexec \"$@\"" % ("" if SANITIZED else "ulimit -v 20480 && "), "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode:
        t.skip("a machine without /proc/cpuinfo", "needs a mount namespace")
    else:
        for words, want in ((["validate", "--quick", "task-clock"], "verdicts are"), (["calibrate", "--quick"], "penalties are")):
            p = subprocess.run([*hidden, CYCLADE, *words], capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": tmp})
            t.ok(want + " not kept: /proc/cpuinfo" in p.stderr and not any(f for _, _, f in os.walk(tmp)), "without a CPU's name: " + words[0] + " keeps nothing, and says so", p.stderr)

# ---- what failed makes nodes of an account doubtful: of a recording of this machine, of no other
with tempfile.TemporaryDirectory() as tmp:
    run("validate", "--quick", "task-clock", env={**os.environ, "XDG_DATA_HOME": tmp})
    kept = [os.path.join(d, f) for d, _, files in os.walk(tmp) for f in files]
    if kept:
        with open(kept[0], "a", encoding="utf-8") as f:
            f.write("BR_MISP_RETIRED.ALL_BRANCHES\tover-counts\t1\ttree\t2 times\n")
        with open(kept[0], encoding="utf-8") as f:
            cpuid = f.read().split("\n")[1].split(" ")[1].rstrip(",")
        measured = kept[0].replace("/verdicts/", "/penalties/")
        os.makedirs(os.path.dirname(measured))
        for name, release in (("here", os.uname().release), ("elsewhere", "1.2.3-other")):
            made = Made(tmp, cpuid=cpuid)
            made.f.features[4] = made.w.text(release)
            for event in ("CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC", "BR_MISP_RETIRED.ALL_BRANCHES"):
                made.put("hot", event, 500)
            data = os.path.join(tmp, name)
            made.write(data)
            words = ("report", "--account", "--model", "skx", "-i", data)
            node = account_of(json.loads(run(*words, "-j", env={**os.environ, "XDG_DATA_HOME": tmp}).stdout))["nodes"]
            text = run(*words, env={**os.environ, "XDG_DATA_HOME": tmp}).stdout
            if name == "here":
                t.equal(node["Mispredicted"]["failed"], "BR_MISP_RETIRED.ALL_BRANCHES_PEBS failed validation here: over-counts, 2 times",
                        "account: a node that rests on an event that failed")
                t.ok(node["Mispredicted"]["value"] > 0 and node["Branch_Misprediction"]["failed"] and not node["Cycles"]["failed"],
                     "account: it keeps its value, a sum of it is doubtful, too, others are not", node["Mispredicted"])
                for words_ in (("report", "-i", data), ("annotate", "-i", data, "-e", "BR_MISP_RETIRED.ALL_BRANCHES", "hot")):
                    p = run(*words_, "-j", env={**os.environ, "XDG_DATA_HOME": tmp})
                    notes = json.loads(p.stdout)["notes"] if p.returncode == 0 else p.stderr
                    t.ok("BR_MISP_RETIRED.ALL_BRANCHES failed validation here: over-counts, 2 times" in notes, words_[0] + ": a note on the event", notes)
                t.ok(re.search(r"failed \?.*BR_MISP_RETIRED.ALL_BRANCHES_PEBS failed validation here", text), "account: a note has the cause", text)
            else:
                t.ok(not any(n["failed"] for n in node.values()) and "failed validation here" not in text, "account: of another machine, no doubt", text)
            penalties_kept(data, name == "here", measured, tmp)
    else:
        t.skip("accounts", "nothing was kept")
t.done()
