#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade monitor on a machine without counters (a tree with planted values of /proc), its text formats read by a parser of
their own, and --listen: negotiation, many and bad clients, addresses, signals."""
import http.client
import glob
import base64
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
from calls_made import RET, make  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run, wait_for  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-monitor-")
ROOT = os.path.join(tmp.name, "root")
PROMTOOL = shutil.which("promtool")
OPEN, PLAIN = "application/openmetrics-text", "text/plain"


def put(path, text):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


for name in ("online", "possible", "present"):
    put("sys/devices/system/cpu/" + name, "0\n")
put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n")
put("sys/devices/system/cpu/cpu0/topology/core_id", "7\n")
put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2500000\n")
put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: Nobody\ncpu family\t: 1\nmodel\t\t: 2\nstepping\t: 3\nmodel name\t: |\"\\\x1b[31m\n\n")
TICK = os.sysconf("SC_CLK_TCK")
put("proc/stat", "cpu  9 9 9 9\ncpu0 100 50 20 3000 40 5 6 70 0 0\nintr 987654 1 2 3\nctxt 12345678901234567\nbtime 1\nprocesses 4242\n"
    "procs_running 3\nprocs_blocked 2\nsoftirq 1 2\n")
put("proc/vmstat", "pgfault 111222333\npgmajfault 444\n")
put("proc/loadavg", "0.50 1.25 2.75 3/400 5\n")
put("proc/meminfo", "MemTotal:       16384 kB\nMemFree:    1 kB\nMemAvailable:    8192 kB\n")
WANT = {"cyclade_host_context_switches_total": 12345678901234567, "cyclade_host_interrupts_total": 987654, "cyclade_host_forks_total": 4242,
        "cyclade_host_page_faults_total": 111222333, "cyclade_host_major_faults_total": 444, "cyclade_host_load1": 0.5, "cyclade_host_load5": 1.25,
        "cyclade_host_load15": 2.75, "cyclade_host_running": 3, "cyclade_host_blocked": 2, "cyclade_host_memory_total_bytes": 16384 * 1024,
        "cyclade_host_memory_available_bytes": 8192 * 1024, "cyclade_cpu_user_seconds_total": 150 / TICK, "cyclade_cpu_system_seconds_total": 31 / TICK,
        "cyclade_cpu_idle_seconds_total": 3000 / TICK, "cyclade_cpu_iowait_seconds_total": 40 / TICK, "cyclade_cpu_steal_seconds_total": 70 / TICK,
        "cyclade_cpu_frequency_hertz": 2.5e9}


def parse(text, is_open):
    """Samples {(name, labels): value} and what is wrong, by OpenMetrics 1.0 and the text format 0.0.4."""
    samples, types, bad, done, family = {}, {}, [], set(), None
    lines = text.split("\n")
    if lines.pop() != "":
        bad.append("the last line has no end")
    if is_open and (not lines or lines.pop() != "# EOF"):
        bad.append("no # EOF")
    for line in lines:
        m = re.fullmatch(r"# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)", line)
        if m:
            if m[2] != family and m[2] in done:
                bad.append("family in two pieces: " + line)
            family = m[2]
            done.add(family)
            if m[1] == "TYPE":
                types[family] = m[3]
            if m[1] == "UNIT" and (not is_open or not family.endswith("_" + m[3])):
                bad.append(line)
            continue
        m = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)', line)
        if not m:
            bad.append("not a sample: " + line)
            continue
        kind = types.get(family)
        suffix = {"counter": "_total", "info": "_info"}.get(kind, "") if is_open else ""
        if m[1] != family + suffix or kind not in (("counter", "gauge", "info") if is_open else ("counter", "gauge")):
            bad.append("not of its family: " + line)
        if (m[1], m[2]) in samples:
            bad.append("twice: " + line)
        if kind == "counter" and not m[1].endswith("_total"):
            bad.append("a counter without _total: " + line)
        samples[m[1], m[2]] = float(m[3])
    return samples, bad


# ---- a machine without counters
for form in ("openmetrics", "prometheus"):
    p = run("monitor", "--sysroot", ROOT, "--once", "-I", "30", "--format", form)
    samples, bad = parse(p.stdout, form == "openmetrics")
    t.ok(not p.returncode and not bad, form + " is well-formed", (bad[:4], p.stderr))
    got = {name: value for (name, _), value in samples.items()}
    wrong = {k: (got.get(k), v) for k, v in WANT.items() if got.get(k) is None or abs(got[k] - v) > 1e-9 * v}
    t.ok(not wrong, form + " has what /proc has", wrong)
    t.ok(("cyclade_cpu_user_seconds_total", 'cpu="0",core="7",socket="0"') in samples, "with its labels", [k for k in samples if "user" in k[0]])
    why = {k[1] for k in samples if k[0] == "cyclade_unavailable_info"}
    t.ok(any('metric="instructions"' in w and "why=" in w for w in why), "what is not available has a reason", why)
    t.ok("\x1b" not in p.stdout, "no control characters")
    if PROMTOOL:
        p = subprocess.run([PROMTOOL, "check", "metrics"], input=run("monitor", "--sysroot", ROOT, "--once", "-I", "30", "--format", "prometheus").stdout,
                           text=True, capture_output=True)
        t.ok(not p.returncode and not p.stderr, "promtool check metrics", p.stdout + p.stderr)
    else:
        t.skip("promtool check metrics", "no promtool (Debian package prometheus)")
doc = json.loads(run("monitor", "--sysroot", ROOT, "--once", "-I", "30", "-j").stdout)
t.ok(doc["host"]["context_switches_rate"] == 0 and doc["cpu"][0]["frequency"] == 2.5e9 and doc["cpu"][0]["instructions_rate"] is None and
     doc["cpu"][0]["instructions_rate_why"], "json: rates, and reasons in place of values", doc["cpu"])
shown = run("monitor", "--sysroot", ROOT, "--for", "120ms", "-I", "40").stdout
t.ok(shown.count("context_switches/s") > 1 and shown.count("not available") == 1, "people read once what is not available", shown)
heads = [x.strip() for x in shown.splitlines() if x.startswith(" by ")]
t.ok("by CPU" in heads and "by socket" not in heads and "by core" not in heads, "tables without a value are left out", heads)
t.ok(doc["socket"] and doc["unavailable"], "programs have them")
with subprocess.Popen([CYCLADE, "monitor", "--sysroot", ROOT, "-j", "-o", os.path.join(tmp.name, "growing")]) as p:
    t.ok(wait_for(lambda: os.path.getsize(os.path.join(tmp.name, "growing"))), "-o: the file is there and grows while it goes on, without -I, too")
    p.terminate()
lines = [json.loads(x) for x in run("monitor", "--sysroot", ROOT, "--for", "120ms", "-I", "40", "-j").stdout.splitlines()]
t.ok(2 <= len(lines) <= 4 and [x["time"] for x in lines] == sorted(x["time"] for x in lines), "-I: a line of json each", lines)
for args, word in ((["x"], "operand"), (["--once", "--for", "1s"], "exclude"), (["--allow-remote"], "--listen"), (["--metrics", "nope"], "nope"), (["--once", "--metrics", "cgroup.*"], "--cgroup"),
                   (["--listen", "nowhere"], "no address"), (["--listen", "0.0.0.0:0"], "--allow-remote"), (["--listen", "[::]:0"], "--allow-remote"),
                   (["--listen", ":99999"], "--listen"), (["--listen", "/" + "x" * 200], "path")):
    if "--listen" in args and "no monitor --listen" in run("--version").stdout:
        continue
    p = run("monitor", "--sysroot", ROOT, *args)
    t.ok(p.returncode == 2 and word in p.stderr and len(p.stderr.splitlines()) <= 3, "refused: " + " ".join(args)[:40], p.stderr)
os.chdir(tmp.name)
path = make("hostile.data", [b"main", b"hot_one", b"=x|\x1b[31m\n\",<b>`*\\{}\xff"], [[((1, 9), (0, 5), RET, 0), ((2, 9), (1, 5), RET, i % 9 == 0)] for i in range(90)])
for words in (["calls", "-i", path], ["report", "-i", path], ["info", "-i", path], ["list", "models"], ["doctor", "--sysroot", ROOT]):
    for form in ("openmetrics", "prometheus"):
        text = run(*words, "--format", form).stdout
        samples, bad = parse(text, form == "openmetrics")
        t.ok(samples and not bad and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), "%s as %s" % (words[0], form), bad[:3])

# ---- cgroups: named as systemd, Kubernetes and container tools name them; they come and go
ID, UID = "0123456789abcdef" * 4, "01234567-89ab-cdef-0123-456789abcdef"
GROUPS = {  # path: (unit, container, pod)
    "system.slice/nginx.service": ("nginx.service", None, None),
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope" % (UID.replace("-", "_"), ID):
        ("cri-containerd-%s.scope" % ID, ID[:12], UID),
    "kubepods/besteffort/pod%s/%s" % (UID, ID): (None, ID[:12], UID),
    "docker/" + ID: (None, ID[:12], None), "lxc.payload.web": (None, "web", None),
    "a|b\"c,d<e\x1b[31m\nf": (None, None, None), "machine.slice": ("machine.slice", None, None)}
put("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n")


def put_group(path, n):
    top = "sys/fs/cgroup/%s/" % path
    put(top + "cpu.stat", "usage_usec %d\nuser_usec %d\nsystem_usec %d\nnr_throttled 1\nthrottled_usec %d\n" % (3000000 * n, 2000000 * n, 1000000 * n, 500000 * n))
    put(top + "memory.current", "%d\n" % (4096 * n))
    put(top + "memory.stat", "anon 1\npgfault %d\npgmajfault %d\n" % (70 * n, 7 * n))
    put(top + "pids.current", "%d\n" % n)
    put(top + "io.stat", "8:0 rbytes=%d wbytes=%d rios=1 wios=1 dbytes=0\n8:16 rbytes=%d wbytes=0\n" % (100 * n, 50 * n, 11 * n))
    put(top + "cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 total=9999\n" % (250000 * n))


def of_groups(doc):
    return {r["cgroup"]: r for r in doc["cgroup"]} if isinstance(doc.get("cgroup"), list) else {r["cgroup"]: r for r in [doc["cgroup"]]} if "cgroup" in doc else {}


for n, path in enumerate(GROUPS, 1):
    put_group(path, n)
words = ("monitor", "--sysroot", ROOT, "-I", "100", "-j")
p = run(*words, "--once", "-G", "*")
got = of_groups(json.loads(p.stdout))
t.ok(set(GROUPS) <= set(got) and all((got[g]["unit"], got[g]["container"], got[g]["pod"]) == GROUPS[g] for g in GROUPS), "cgroups by their names", (got, p.stderr))
KEYS = {"cpu_time": 3, "user": 2, "system": 1, "throttled": 0.5, "memory": 4096, "page_faults": 70, "major_faults": 7, "tasks": 1, "read_bytes": 111,
        "written_bytes": 50, "cpu_stalled": 0.25}
bad = [(g, k) for n, g in enumerate(GROUPS, 1) for k, v in KEYS.items() if abs(got[g][k] - v * n) > 1e-6]
t.ok(not bad and got["machine.slice"]["io_stalled"] is None, "and their values; what a file does not have is not 0", (bad, got["machine.slice"]))
t.equal(sorted(of_groups(json.loads(run(*words, "--once", "-G", "docker/*,*.service").stdout))), ["docker/" + ID, "system.slice/nginx.service"], "by patterns")
text = run(*words[:-1], "--once", "-G", "*", "--format", "openmetrics").stdout
samples, bad = parse(text, True)
t.ok(not bad and any("cgroup_memory" in str(k) for k in samples) and "\x1b" not in text, "as OpenMetrics", bad[:3])
os.rename(os.path.join(ROOT, "sys/fs/cgroup/cgroup.controllers"), os.path.join(ROOT, "controllers"))
p = run(*words, "--once", "-G", "*")
os.rename(os.path.join(ROOT, "controllers"), os.path.join(ROOT, "sys/fs/cgroup/cgroup.controllers"))
t.ok(p.returncode == 2 and "cgroup" in p.stderr, "no hierarchy: refused", p.stderr)
p = subprocess.Popen([CYCLADE, *words, "-G", "*"], stdout=subprocess.PIPE, text=True)
first = of_groups(json.loads(p.stdout.readline()))
shutil.rmtree(os.path.join(ROOT, "sys/fs/cgroup/machine.slice"))
put_group("later.slice", 5)
put_group("docker/" + ID, 1000)
most, new = 0, {}
for line in p.stdout:  # it looks every other second; the test's limit ends it else
    new = of_groups(json.loads(line))
    most = max(most, (new.get("docker/" + ID, {}).get("memory") or 0))
    if "later.slice" in new and "machine.slice" not in new and new["later.slice"]["tasks"] == 5:
        break
p.terminate()
p.wait()
t.ok("machine.slice" in first and "later.slice" in new and most == 4096000 and new["later.slice"]["cpu_time"] == 15, "cgroups come and go, and their values change", new)

# ---- each name of a model's rows is one of its events, or of its tree
MODELS = os.path.join(HERE, "..", "..", "models")


def formulas(model):
    """{(place, name): formula}, bases applied."""
    rows = {}
    with open(glob.glob(os.path.join(MODELS, "*", model, "monitor"))[0], encoding="utf-8") as f:
        for line in f:
            w = line.split()
            if w[0] == "base":
                rows = formulas(w[1])
            elif w[2:3] == ["absent"]:
                del rows[w[0], w[1]]
            elif not w[0].startswith("#"):
                rows[w[0], w[1].split("=")[0]] = " ".join(w[4:]).split(" ; ")[0]
    return rows


def listed(what, model, key):
    return {e[key].lower() for e in json.loads(run("list", what, "--model", model, "-j").stdout)[what]}


for path in sorted(glob.glob(os.path.join(MODELS, "*", "*", "monitor"))):
    model = path.split(os.sep)[-2]
    known = listed("events", model, "event") | {"tree." + n for n in listed("nodes", model, "name")} | {"duration_time", "#system_tsc_freq"}
    names = {n.lower() for f in formulas(model).values() for n in re.findall(r"#?[A-Za-z_][\w.]*", re.sub(r"\w+@[^@]*@", "", f))}
    t.ok(len(names) > 4 and names <= known, "%s: %d names in rows of monitor" % (model, len(names)), names - known)

# ---- --listen
if "no monitor --listen" in run("--version").stdout:
    t.skip("--listen", "built without libmicrohttpd")
    t.done()


class Server:
    def __init__(self, *args, listen=":0"):
        self.p = subprocess.Popen([CYCLADE, "monitor", "--sysroot", ROOT, "--listen", listen, *args], stderr=subprocess.PIPE, text=True)
        self.where = self.p.stderr.readline().split()[-1]
        self.port = int(self.where.split(":")[-1].strip("/")) if self.where.startswith("http") else None

    def get(self, path="/metrics", method="GET", body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, r.headers, r.read().decode()
        finally:
            c.close()

    def ready(self):
        until = time.monotonic() + 60
        while self.get()[0] == 503 and time.monotonic() < until:
            time.sleep(0.02)
        return self

    def memory(self):
        with open("/proc/%d/statm" % self.p.pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def end(self, how=signal.SIGTERM):
        self.p.send_signal(how)
        try:
            return self.p.wait(30), self.p.stderr.read()
        finally:
            self.p.kill()


s = Server("-I", "50").ready()
for accept, want in ((None, PLAIN), ("*/*", PLAIN), (OPEN, OPEN), (OPEN + ";version=1.0.0", OPEN), (OPEN + ";version=0.0.1", PLAIN),
                     (OPEN + ";version=1.0.0;q=0.2, text/plain;q=0.7", PLAIN), (OPEN + "; q=0", PLAIN), ("text/html," + OPEN + ";q=0.9", OPEN),
                     (OPEN + ";version=1.0.0," + OPEN + ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPEN),
                     (";;;,,q=,=;" * 200, PLAIN)):
    status, head, text = s.get(**({"Accept": accept} if accept else {}))
    samples, bad = parse(text, want == OPEN)
    t.ok(status == 200 and head["Content-Type"].startswith(want + ";") and not bad and len(samples) > 15, "Accept: %.60s" % accept,
         (status, head["Content-Type"], bad[:3]))
status, head, page = s.get("/")
csp = head["Content-Security-Policy"] or ""
script = re.findall(r"<script>(.*?)</script>", page, re.S)
rest = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
t.ok(status == 200 and "default-src 'none'" in csp and "unsafe" not in csp and "<table" in page and not re.search(r"<script|\bstyle=|\bon\w+=|https?:|//", rest),
     "/ is a page that loads nothing from elsewhere", rest[:500])
t.ok(len(script) == 1 and "script-src 'sha256-%s'" % base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode() in csp,
     "its one script is allowed by its hash", csp)
time.sleep(0.2)
told = [json.loads(s.get(path)[2]) for path in ("/history.json", "/last.json")]
rows = {(r["place"], r["metric"], r["line"]): r for r in told[0]["lines"]}
t.ok(len(told[0]["intervals"]) > 2 and len(told[1]["intervals"]) == 1 and all(len(r["figures"]) == len(x["intervals"]) for x in told for r in x["lines"]),
     "/history.json has a figure of each interval that was kept, /last.json of the last one", [len(x["intervals"]) for x in told])
t.ok({r["metric"] for r in rows.values() if r["place"] == "host"} >= {"context_switches/s", "load1"} and any(k[0] == "cpu" and k[2] == "CPU 0" for k in rows)
     and rows["host", "load1", ""]["figures"][-1] == "0.5", "the figures are those of tables", list(rows)[:9])
t.ok(s.get("/style.css")[0] == 200 and head["X-Content-Type-Options"] == "nosniff", "and its style is here")
for path, method, headers, want in (("/x", "GET", {}, 404), ("/metrics", "POST", {}, 405), ("/metrics", "BREW", {}, 405), ("/metrics", "HEAD", {}, 200),
                                    ("/metrics", "GET", {"Host": "evil.example"}, 403), ("/metrics", "GET", {"Host": "LocalHost:1"}, 200),
                                    ("/metrics", "GET", {"Host": "[::1]:1"}, 200), ("/metrics?x=%00%ff/..", "GET", {}, 200), ("/../../etc/passwd", "GET", {}, 404)):
    status, _, text = s.get(path, method, "body" if method == "POST" else None, **headers)
    t.ok(status == want and not (method == "HEAD" and text), "%s %s %s: %d" % (method, path, headers, want), status)
NO_REQUESTS = (b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n", b"\x00" * 3000, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
               b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20000, b"POST / HTTP/1.1\r\nHost: 1.1.1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
               b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: 127.0.0.1\r\n\r\nzz\r\n", b"\x16\x03\x01\x02\x00\x01")


def no_request(raw, patience=30):
    """Some of them the server waits for, until its own patience ends."""
    with socket.create_connection(("127.0.0.1", s.port), 30) as c:
        try:
            c.settimeout(patience)
            c.sendall(raw)
            c.shutdown(socket.SHUT_WR)
            while c.recv(65536):
                pass
        except OSError:
            pass


for bytes_sent in NO_REQUESTS:
    no_request(bytes_sent)
t.ok(s.get()[0] == 200, "after requests that are none it still answers")

# 50 at once, beside slow readers and requests that are none, and what they cost
slow = []
for _ in range(20):
    c = socket.create_connection(("127.0.0.1", s.port), 30)
    c.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" + (b"\r\n" if len(slow) % 2 else b"X: "))
    slow.append(c)
failures, answers, disturbed, stop = [], [], [], time.monotonic() + (30 if os.environ.get("CYCLADE_LONG") else 1)


def scrape(i):
    try:
        while time.monotonic() < stop:
            status, _, text = s.get(Accept=OPEN if i % 2 else PLAIN)
            answers.append(i)
            if status != 200 or (i % 2 and not text.endswith("# EOF\n")):
                failures.append(status)
    except (OSError, http.client.HTTPException) as e:
        failures.append(repr(e))


def disturb():
    try:
        while time.monotonic() < stop:
            no_request(NO_REQUESTS[len(disturbed) % len(NO_REQUESTS)], 0.1)
            disturbed.append(1)
    except OSError as e:
        failures.append(repr(e))


def hammer():
    threads = [threading.Thread(target=scrape, args=(i,)) for i in range(50)] + [threading.Thread(target=disturb)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()


hammer()
before = s.memory()
stop = time.monotonic() + (30 if os.environ.get("CYCLADE_LONG") else 1)
hammer()
t.ok(not failures and len(set(answers)) == 50 and len(disturbed) > 1, "50 clients at once, all answered", (failures[:3], len(answers), len(disturbed)))
t.ok(SANITIZED or s.memory() <= before * 1.2 + 1e6, "memory does not grow with requests", (before, s.memory()))
first = parse(s.get()[2], False)[0][("cyclade_monitor_time_seconds", None)]
until = time.monotonic() + 60
while parse(s.get()[2], False)[0][("cyclade_monitor_time_seconds", None)] <= first and time.monotonic() < until:
    time.sleep(0.02)
t.ok(time.monotonic() < until, "and the intervals go on")
for c in slow:
    c.close()
code, words = s.end()
t.ok(code == 0 and not words, "SIGTERM ends it with 0, and without words", (code, words))
try:
    socket.create_connection(("127.0.0.1", s.port), 5).close()
    t.ok(False, "nobody listens then")
except OSError:
    t.ok(True, "nobody listens then")

# ---- more slow clients than there are places do not keep out one that asks; each is ended, though it sends byte after byte
s = Server("-I", "50").ready()
slow = []
for i in range(300):
    c = socket.create_connection(("127.0.0.1", s.port), 30)
    c.setblocking(False)
    slow.append(c)
until = time.monotonic() + 90


def drip():
    while slow and time.monotonic() < until:
        for c in slow[:]:
            try:
                c.send(b"x")
                if not c.recv(10):
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                slow.remove(c)
                c.close()
        time.sleep(0.2)


dripping = threading.Thread(target=drip)
dripping.start()
served = []
try:
    for _ in range(20):
        served.append(s.get()[0])
except OSError as e:
    served.append(repr(e))
t.equal(served, [200] * 20, "300 slow clients beside it: each scrape is served")
dripping.join()
t.ok(not slow, "a head that does not end ends the connection", len(slow))
t.equal(s.end(), (0, ""), "and SIGTERM the server")

# ---- a hangup rereads the metrics; what is wrong leaves the old ones; a CPU that comes online is counted
OWN = os.path.join(tmp.name, "own")
with open(os.path.join(HERE, "..", "..", "models", "monitor"), encoding="utf-8") as f:
    BUILTIN = f.read()


def write_own(row):
    os.makedirs(OWN, exist_ok=True)
    with open(os.path.join(OWN, "monitor.new"), "w", encoding="utf-8") as f:
        f.write(BUILTIN + row)
    os.rename(os.path.join(OWN, "monitor.new"), os.path.join(OWN, "monitor"))


answered = set()


def until_there(server, has, lacks):
    until = time.monotonic() + 60
    text = ""
    while time.monotonic() < until:
        status, _, text = server.get()
        answered.add(status)
        if status == 200 and has in text and lacks not in text:
            return True
        time.sleep(0.02)
    return text


write_own("host first gauge - proc.load1 * 2 ; a test\n")
s = Server("-I", "30", "--models", OWN).ready()
t.equal(until_there(s, "cyclade_host_first 1\n", "host_second"), True, "a row of one's own")
write_own("host second gauge - proc.load5 * 2 ; a test\n")
s.p.send_signal(signal.SIGHUP)
t.equal(until_there(s, "cyclade_host_second 2.5\n", "host_first"), True, "SIGHUP: the rows are read again")
write_own("host third gauge - (proc.load5 ; a test\n")
s.p.send_signal(signal.SIGHUP)
words = s.p.stderr.readline()
t.ok("not read again" in words and "monitor:" in words and until_there(s, "cyclade_host_second 2.5\n", "host_third") is True, "a wrong row: the old ones stay, and it says why", words)
write_own("host fourth gauge - proc.load5 ; a test\n")
s.p.send_signal(signal.SIGHUP)
t.equal(until_there(s, "cyclade_host_fourth 1.25\n", "host_second"), True, "and the next attempt counts")
put("sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n")
put("sys/devices/system/cpu/cpu1/topology/core_id", "8\n")
put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1500000\n")
for name in ("possible", "present", "online"):
    put("sys/devices/system/cpu/" + name, "0-1\n")
t.equal(until_there(s, 'cyclade_cpu_frequency_hertz{cpu="1",core="8",socket="0"} 1500000000\n', "host_second"), True, "a CPU comes online")
for name in ("online", "possible", "present"):
    put("sys/devices/system/cpu/" + name, "0\n")
t.equal(answered, {200}, "while it begins anew it answers with the texts of before")
code, words = s.end()
t.ok(code == 0, "SIGTERM ends it", (code, words))

# ---- a unix socket, one left behind, and a port that is taken
path = os.path.join(tmp.name, "s")
for end in (signal.SIGKILL, signal.SIGINT):
    s = Server("-I", "20", listen=path)
    c = socket.socket(socket.AF_UNIX)
    c.settimeout(30)
    c.connect(path)
    c.sendall(b"GET /nothing HTTP/1.0\r\n\r\n")
    t.ok(c.recv(100).startswith(b"HTTP/1.") and not os.stat(path).st_mode & 0o007, "a unix socket, for the user and the group")
    c.close()
    t.equal(s.end(end)[0], -9 if end == signal.SIGKILL else 0, "ended by %s" % end.name)
t.ok(not os.path.exists(path), "its socket is gone with it")
with open(path, "w", encoding="ascii") as f:
    f.write("mine")
p = run("monitor", "--sysroot", ROOT, "--listen", path)
t.ok(p.returncode == 2 and os.path.getsize(path) == 4, "a file in the way is not removed", p.stderr)
s = Server("-I", "20", listen="127.0.0.1:0")
p = run("monitor", "--sysroot", ROOT, "--listen", "127.0.0.1:%d" % s.port)
t.ok(p.returncode == 2 and "in use" in p.stderr, "a port that is taken", p.stderr)
s.end()
s = Server("-I", "20", "--allow-remote", listen="0.0.0.0:0").ready()
t.equal(s.get(Host="host.example")[0], 200, "--allow-remote: any address, any name")
s.end()
t.done()
