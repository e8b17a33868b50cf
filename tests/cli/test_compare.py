#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare: the whole command. Its figures are computed again from the runs that it writes, by tests/lib/paired.py; how often
it finds what is there, tests/unit/measure/test_compare.c says. Nothing here depends on how long something takes: what differs
is the number of page faults."""
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import paired  # noqa: E402
from tap import CYCLADE, Tap, run, wait_for  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-compare-")
os.chdir(tmp.name)

FEW = ["dd", "if=/dev/zero", "of=/dev/null", "bs=16k", "count=1"]
MANY = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1500k", "count=1"]


def compare(*words, a=("true",), b=("true",)):
    return run("compare", *words, "--", *a, "--", *b)


def close(x, y):
    return (x is None and y is None) or (x is not None and y is not None and math.isclose(x, y, rel_tol=1e-7, abs_tol=1e-9))


# ---- what is refused ----
for words, said in [([], "two programs"), (["--", "true"], "two programs"), (["--", "true", "--"], "two programs"),
                    (["true", "--", "true", "--", "true"], "more than two"), (["-r", "0", "true", "--", "true"], "-r goes from 1"),
                    (["-r", "1001", "true", "--", "true"], "-r goes from 1"), (["--effect", "0", "true", "--", "true"], "above 0"),
                    (["--fail-if", "time", "true", "--", "true"], "a > or < is missing"), (["--fail-if", "> 2%", "true", "--", "true"], "a name must stand here"),
                    (["--fail-if", "time > 2", "true", "--", "true"], "a % must stand here"),
                    (["--fail-if", "time > x%", "true", "--", "true"], "a number in per cent"),
                    (["--fail-if", "time > -2%", "true", "--", "true"], "other side of 0"),
                    (["--fail-if", "cycles-of-the-moon > 2%", "true", "--", "true"], "is not measured")]:
    p = run("compare", *words)
    t.ok(p.returncode == 125 and said in p.stderr and not p.stdout, "refused: " + " ".join(words), p.stdout + p.stderr)

p = compare("-r", "1", a=["./there-is-no-such"])
t.ok(p.returncode == 127 and "there-is-no-such" in p.stderr, "a program that is not there: 127", p.stderr)
p = compare("-r", "1", b=["/dev/null"])
t.ok(p.returncode == 126, "one that cannot be executed: 126", p.stderr)
p = compare("-r", "1", b=["sh", "-c", "exit 3"])
t.ok(p.returncode == 125 and "sh ended with 3" in p.stderr and not p.stdout, "one that fails stops it, with its code", p.stderr)
p = compare("-r", "1", b=["sh", "-c", "kill -9 $$"])
t.ok(p.returncode == 125 and "killed by signal 9" in p.stderr, "one that is killed stops it", p.stderr)
p = compare("-r", "2", "--ignore-failure", "-j", b=["sh", "-c", "exit 3"])
doc = json.loads(p.stdout)
t.ok(p.returncode == 0 and doc["losses"]["failed"] == 2 and sorted(r["workload_status"] for r in doc["runs"]) == [0, 0, 3, 3],
     "--ignore-failure goes on, and says how many failed", p.stdout[:500] + p.stderr)

# ---- the programs' own ----
talk = ["sh", "-c", "echo out; echo err >&2; cat"]
p = compare("-r", "1", "--warmup", "0", a=talk, b=talk)
t.ok(p.returncode == 0 and "out" not in p.stdout.split() and "err" not in p.stderr.split() and "null" not in p.stderr,
     "what programs print goes to /dev/null, the result to standard output", p.stdout + p.stderr)
p = compare("-r", "1", "--warmup", "0", "--show-output", a=talk, b=talk)
t.ok(p.stdout == "out\nout\n" and p.stderr.splitlines()[:1] == ["err"] and "no verdict" in p.stderr,
     "--show-output lets them print, and the result goes to standard error", p.stdout + p.stderr)
with open("count", "w", encoding="ascii") as f:
    f.write("")
say = ["sh", "-c", "echo x >>count"]
compare("-r", "3", "--warmup", "2", "-q", a=say)
with open("count", encoding="ascii") as f:
    t.equal(len(f.read().split()), 5, "--warmup runs each program first")

# ---- order ----
orders = [[r["side"] for r in json.loads(compare("-r", "6", "--seed", s, "-j", "--table", "runs").stdout)["runs"]][:12]
          for s in ("5", "5", "6")]
t.ok(orders[0] == orders[1] != orders[2], "--seed repeats the order", orders)
t.ok(all(sorted(o[i:i + 2]) == ["base", "new"] for o in orders for i in range(0, 12, 2)) and
     all(o[::2].count("base") == 3 for o in orders), "half of the pairs begin with each", orders)


# ---- the figures, computed again ----
def check(doc, name):
    """Each effect against paired.py, from the runs."""
    bad, of = [], {}
    named = [x["metric"] for x in doc["limits"]]

    def family(metric):
        main = metric in ("time", "user", "cycles") or metric == "task-clock" and "cycles" not in [e["metric"] for e in doc["effects"]]
        return "main" if main or metric in named else "functions" if metric.startswith("function:") else "others"
    runs, events = doc["runs"], {(r["run"], r["metric"]): r["value"] for r in doc["repeats"]}
    for e in doc["effects"]:
        key = {"time": "seconds", "user": "user_seconds", "system": "system_seconds"}.get(e["metric"])
        value = [r[key] if key else events[r["run"], e["metric"]] for r in runs]
        if None in value:
            continue
        a = [v for v, r in zip(value, runs) if r["side"] == "base"]
        b = [v for v, r in zip(value, runs) if r["side"] == "new"]
        whole = statistics.mean(a)
        if whole == 0 and sum(b) > 0:
            bad.append((e, "a change of nothing") if e["change"] is not None else None)
        factor = all(v > 0 for v in value)
        d = [math.log(y / x) if factor else (y - x) / (whole or 1) for x, y in zip(a, b)]
        back = math.expm1 if factor else (lambda x: x)
        mid, low, high = (x if x is None else back(x) for x in paired.effect(d))
        if whole == 0 and sum(b) > 0:
            mid = low = high = None
        n = doc["pairs"]
        series = [back(paired.effect(d[k:k + n])[0]) if d[k:k + n] else None for k in (0, n)]
        want = [statistics.median(a), statistics.median(b), mid, low, high] + series
        got = [e[k] for k in ("base", "new", "change", "change_low", "change_high", "change_first", "change_second")]
        if not all(map(close, got, want)):
            bad.append((e["metric"], got, want))
        chance = [paired.chance(d), paired.chance(d[:n])]
        if chance[0] is not None and not close(chance[0], e["chance"]):
            bad.append((e["metric"], chance, e["chance"]))
        of.setdefault(family(e["metric"]), []).append((e["chance"], e["metric"], e, chance[1], *paired.effect(d)[:2]))
    # Holm in each family; a verdict takes the second series, and the null control may stand in its way
    for name, rows in of.items():
        rows.sort(key=lambda r: r[0])
        sure = True
        for k, (p, metric, e, first, mid, low) in enumerate(rows):
            needed = 0.00125 / (len(rows) - k) if sure else needed
            sure = sure and p < needed
            last = doc["series"] == 2 or doc["interrupted"]
            alike = e["change_second"] is None or (e["change_first"] > 0) == (e["change_second"] > 0)
            want = ("too few pairs",) if low is None else ("more" if mid > 0 else "less", "doubtful") if sure and last and alike else \
                ("not confirmed",) if p < 0.05 or doc["pairs"] >= 6 and first is not None and first < 0.05 else ("noise",)
            if not close(needed, e["chance_needed"]) or e["verdict"] not in want:
                bad.append((name, metric, e["verdict"], want, p, needed, e["chance_needed"]))
    many = [min(r[3] for r in rows) < 0.25 / len(rows) for name, rows in of.items() if name != "others" and rows[0][3] is not None]
    if doc["pairs"] >= 6 and not doc["interrupted"] and None not in [r[3] for rows in of.values() for r in rows] and (doc["series"] == 2) != any(many):
        bad.append(("series", doc["series"], many))
    t.ok(not [b for b in bad if b], name + ": figures are those of a second implementation", bad)


events = ["-e", "page-faults,context-switches"]
for pairs in ("4", "7", "20"):
    p = compare("-r", pairs, "--seed", "1", "-j", *events, a=FEW, b=MANY)
    doc = json.loads(p.stdout)
    check(doc, "%s pairs" % pairs)
    t.ok(len(doc["runs"]) == 2 * int(pairs) * doc["series"], "%s pairs: as many runs" % pairs, doc["runs"])
t.ok(doc["schema"] == "cyclade.compare/1" and doc["base"] == FEW and doc["new"] == MANY and doc["setting"], "summary", doc)
doc = json.loads(compare("-r", "5", "-j").stdout)
t.ok(doc["verdict"] == "too few pairs" and doc["effects"][0]["change_error"] is None and doc["effects"][0]["change_why"] and
     doc["series"] == 1, "five pairs are too few for an interval", doc["effects"][0])
p = compare("-r", "3", "--fail-if", "user > +1%")
t.ok("3 pairs give no verdict" in p.stderr and "not decided" in p.stdout and "kept" not in p.stdout and p.returncode == 0,
     "three pairs: said beforehand, and no limit is kept", p.stdout + p.stderr)

# ---- limits ----
counted = {r["metric"]: r["value"] for r in json.loads(compare("-r", "1", "-j", *events, a=MANY).stdout)["repeats"]}
if counted["page-faults"] is None:
    t.skip("--fail-if", "page faults cannot be counted here")
else:
    limits = ["--fail-if", "page-faults > +20%", "--fail-if", "page-faults < -20%"]
    p = compare("-r", "8", "--seed", "2", *events, *limits, "-j", a=FEW, b=MANY)
    doc = json.loads(p.stdout)
    effect = {e["metric"]: e for e in doc["effects"]}["page-faults"]
    t.ok(p.returncode == 1 and [x["broken"] for x in doc["limits"]] == [True, False] and doc["series"] == 2,
         "--fail-if: more page faults, 1", doc["limits"])
    t.ok(effect["verdict"] == "more" and effect["change"] > 0.5, "a change that is there is found", effect)
    p = compare("-r", "8", "--seed", "2", *events, *limits, "-j", a=MANY, b=FEW)
    doc = json.loads(p.stdout)
    t.ok(p.returncode == 1 and [x["broken"] for x in doc["limits"]] == [False, True], "--fail-if: fewer, 1", doc["limits"])
    p = compare("-r", "8", "--seed", "2", *events, "--fail-if", "page-faults > +900%", a=FEW, b=MANY)
    t.ok(p.returncode == 0 and "kept" in p.stdout, "a change below the limit: 0", p.stdout)
    p = compare("-r", "8", "--seed", "2", *events, *limits, a=FEW, b=FEW)
    t.ok(p.returncode == 0, "no change: 0", p.stdout)

# ---- functions ----
with open("loop.c", "w", encoding="ascii") as f:
    f.write("""#include <stdlib.h>
volatile unsigned long sink;
__attribute__((noinline)) void hot(long n) { while (n--) sink += (unsigned long)n; }
__attribute__((noinline)) void warm(long n) { while (n--) sink ^= (unsigned long)n; }
int main(int c, char **v) { (void)c; hot(atol(v[1])); warm(atol(v[2])); return 0; }
""")
subprocess.run(["gcc", "-O2", "-o", "loop", "loop.c"], check=True)
sampled = ["--functions", "2", "-e", "cpu-clock:u", "--seed", "1"]
slow = dict(a=["./loop", "8000000", "8000000"], b=["./loop", "16000000", "8000000"])
p = compare("-r", "8", *sampled, "-j", "--fail-if", "function:hot > +5%", "--fail-if", "function:warm > +30%", **slow)
if p.returncode not in (0, 1):
    t.skip("functions", "time cannot be sampled here: " + p.stderr)
else:
    doc = json.loads(p.stdout)
    check(doc, "functions")
    effect = {e["metric"]: e for e in doc["effects"]}
    hot, warm = effect["function:hot"], effect["function:warm"]
    t.ok(p.returncode == 1 and hot["verdict"] == "more" and 0.5 < hot["change"] < 1.6 and hot["unit"] == "s" and doc["series"] == 2,
         "a function that takes twice as long is found", hot)
    t.ok([x["broken"] for x in doc["limits"]] == [True, False] and abs(warm["change"]) < 0.3, "the other one is not", warm)
    t.ok(all(len({r["run"] for r in doc["repeats"] if r["metric"] == m}) == len(doc["runs"]) for m in ("function:hot", "function:warm")),
         "each run has its figures", doc["repeats"][:5])
    p = compare("-r", "1", *sampled, "--warmup", "0", "--fail-if", "function:nosuch > +5%", **slow)
    t.ok(p.returncode == 125 and "'function:nosuch' is not measured" in p.stderr, "a limit of a function that there is not", p.stderr)
    p = compare("-r", "1", *sampled, a=["true"], b=["sh", "-c", "exit 3"])
    t.ok(p.returncode == 125 and "sh ended with 3" in p.stderr, "a program that fails stops it", p.stderr)
    p = compare("-r", "1", *sampled, b=["./there-is-no-such"])
    t.ok(p.returncode == 127, "one that is not there", p.stderr)
    blocked = ["sh", "-c", "exec grep SigBlk /proc/self/status >>blocked"]  # a shell that waits blocks some itself
    compare("-r", "1", *sampled, "--warmup", "0", a=blocked, b=blocked)
    with open("blocked", encoding="ascii") as f:
        mask = [int(line.split()[1], 16) for line in f]
    t.ok(len(mask) == 2 and not any(mask), "the programs have no signals blocked", mask)
for words in (["0"], ["3", "-l", "1"]):
    p = compare("--functions", *words)
    t.ok(p.returncode == 125 and "--functions" in p.stderr, "refused: --functions " + " ".join(words), p.stderr)

# ---- the machine must stay as it is ----
os.makedirs("root/sys/devices/system/cpu/cpu0/cpufreq")
os.makedirs("root/proc")
with open("root/sys/devices/system/cpu/online", "w", encoding="ascii") as f:
    f.write("0\n")
GOVERNOR = os.path.abspath("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def govern(*words):
    with open(GOVERNOR, "w", encoding="ascii") as f:
        f.write("powersave\n")
    return compare("-r", "2", "--warmup", "0", "--seed", "1", "--sysroot", "root", *events, *words,
                   b=["sh", "-c", "echo performance >" + GOVERNOR])


p = govern()
t.ok(p.returncode == 125 and "governor powersave" in p.stderr and "governor performance" in p.stderr and "--anyway" in p.stderr and
     not p.stdout, "a governor that changes: 125", p.stderr)
p = govern("--anyway", "-j")
t.ok(p.returncode == 0 and "governor performance" in (json.loads(p.stdout)["changed"] or ""), "--anyway goes on, and says so",
     p.stdout[:300] + p.stderr)

# ---- formats ----
HOSTILE = "a\x1b[31m|\"b,<c>\n"
p = compare("-r", "6", a=["true", HOSTILE], b=["true", HOSTILE])
t.ok("\x1b" not in p.stdout and p.returncode == 0, "a hostile argument is not obeyed by a terminal", repr(p.stdout))
p = compare("-r", "6", "-o", "out.json", "-j")
with open("out.json", encoding="utf-8") as f:
    t.ok(not p.stdout and json.load(f)["schema"] == "cyclade.compare/1", "-o", p.stdout)
p = compare("-r", "6", "--format", "csv")
t.ok(p.stdout.splitlines()[0].startswith("metric,unit,base,new,change,change_error,change_why"), "csv is the effects", p.stdout[:200])

# ---- Ctrl-C keeps the pairs that are complete ----
with open("calls", "w", encoding="ascii"):
    pass
count_calls = ["sh", "-c", "echo >>calls"]
p = subprocess.Popen([CYCLADE, "compare", "-r", "500", "--warmup", "0", "-j", "--", *count_calls, "--", *count_calls], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, text=True)
wait_for(lambda: os.path.getsize("calls") >= 21 or p.poll() is not None)
p.send_signal(signal.SIGINT)
out, err = p.communicate()
doc = json.loads(out) if out else {"runs": [], "interrupted": None}
t.ok(p.returncode == 130 and doc["interrupted"] and 20 <= len(doc["runs"]) <= os.path.getsize("calls") and len(doc["runs"]) % 2 == 0 and
     all(x["pair"] == y["pair"] and x["side"] != y["side"] for x, y in zip(doc["runs"][::2], doc["runs"][1::2])),
     "Ctrl-C: the complete pairs, and 130", (p.returncode, err, len(doc["runs"])))
check(doc, "after Ctrl-C")
p = subprocess.Popen([CYCLADE, "compare", "--warmup", "0", "--", "sleep", "20", "--", "sleep", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
wait_for(lambda: p.poll() is not None or os.path.exists("/proc/%d/task/%d/children" % (p.pid, p.pid)) and open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read())
p.send_signal(signal.SIGINT)
out, err = p.communicate()
t.ok(p.returncode == 130 and not out and "interrupted in run 1" in err, "before the first pair there is nothing", (p.returncode, out, err))

# ---- a signal, in a run and between two of them: nothing stays behind, and TMPDIR is used ----
left, used = [], []
os.mkdir("temp")
for at, number in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP) * 3):
    p = subprocess.Popen([CYCLADE, "compare", "--functions", "5", "-r", "200", "--", "true", "--", "true"],
                         env=dict(os.environ, TMPDIR=os.path.abspath("temp")), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(lambda: os.listdir("temp") or p.poll() is not None)
    used += os.listdir("temp")[:1]
    for _ in range(at):  # another moment each time
        os.listdir("temp")
    p.send_signal(number)
    p.communicate()
    left += os.listdir("temp")
t.ok(len(used) == 9 and not left, "a signal leaves no directory of the runs' samples", (used, left))
where = dict(os.environ, TMPDIR=os.path.abspath("temp"))
p = subprocess.Popen([CYCLADE, "compare", "--functions", "5", "-r", "200", "--", "true", "--", "true"], env=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
# from then on it is known to be ours
wait_for(lambda: any(os.stat(os.path.join("temp", n)).st_mode & 0o1000 for n in os.listdir("temp")) or p.poll() is not None)
p.kill()
p.wait()
left = os.listdir("temp")
for name in left:
    os.utime(os.path.join("temp", name), (1, 1))  # as if it had been a while ago
subprocess.run([CYCLADE, "compare", "--functions", "5", "-r", "2", "--", "true", "--", "true"], env=where, capture_output=True, check=False)
t.ok(len(left) == 1 and not os.listdir("temp"), "what SIGKILL leaves is removed at the next start", (left, os.listdir("temp")))
t.done()
