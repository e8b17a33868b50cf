#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""contrib/ against a Prometheus: it scrapes two simulated machines (Zen 2 and Zen 4) as two hosts, and each query of the rules
and of the dashboard returns data; rates are the planted ones, also while 50 clients hammer; a monitor that begins anew is a reset and
no spike. Grafana itself is not tested. CYCLADE_LONG=1: for a minute each."""
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
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from machines_made import rome, zen4  # noqa: E402
from sim import command, environment, tree  # noqa: E402
from tap import CYCLADE, ROOT, SIMULATED, Tap, run  # noqa: E402

t = Tap()
CONTRIB = os.path.join(ROOT, "contrib")
for what, missing in (("no prometheus or promtool (Debian package prometheus)", not shutil.which("prometheus") or not shutil.which("promtool")),
                      ("built without libmicrohttpd", "no monitor --listen" in run("--version").stdout),
                      ("a sanitizer's library wants to be preloaded first", not SIMULATED)):
    if missing:
        t.skip("contrib", what)
        t.done()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-prometheus-")
LONG = bool(os.environ.get("CYCLADE_LONG"))
SECONDS = 60 if LONG else 7
WINDOW = "%ds" % (SECONDS - 1)


def put(name, text):
    path = os.path.join(tmp.name, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def end():
    """A shell stands before each monitor: its group ends."""
    for p in started:
        os.killpg(p.pid, signal.SIGTERM)
    for p in started:
        p.wait(60)


def proc(root, factor):
    text = "cpu 1 1 1 1\n" + "".join("cpu%d %d 0 %d 9000 0 0 0 0 0 0\n" % (c, 100 * factor, 50 * factor) for c in range(4))
    path = os.path.join(root, "proc", "stat")
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text + "ctxt %d\n" % (1000 * factor))
    os.rename(path + ".new", path)
    with open(os.path.join(root, "proc", "vmstat"), "w", encoding="ascii") as f:
        f.write("pgfault %d\n" % (500 * factor))


started, where, roots, machines = [], [], [], []


def start(machine, address):
    p = subprocess.Popen(command(machine, "even", CYCLADE, "monitor", "--sysroot", "@SYSROOT@", "--listen", address, "-I", "100"), env=environment(machine),
                         stderr=subprocess.PIPE, text=True, start_new_session=True)
    started.append(p)
    return p.stderr.readline().split()[-1]


for name, (text, rates) in (("rome", rome()), ("zen4", zen4())):
    machines.append(put(name + ".tab", text))
    roots.append(tree(machines[-1]))
    subprocess.run([sys.executable, os.path.join(HERE, "tools", "tree.py"), machines[-1], roots[-1]], check=True)
    proc(roots[-1], 1)
    where.append(start(machines[-1], ":0"))
if not all(w.startswith("http") for w in where):
    end()
    t.no_simulation("contrib", str(where))
    t.done()
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
with open(os.path.join(CONTRIB, "prometheus-rules.yml"), encoding="utf-8") as f:
    rules = f.read()
put("rules.yml", rules.replace("[1m]", "[%s]" % WINDOW))
put("prometheus.yml", "global: {scrape_interval: 500ms, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs:\n- job_name: cyclade\n"
    "  static_configs:\n  - targets: [%s]\n" % ", ".join('"%s"' % w.split("/")[2] for w in where))
p = subprocess.run(["promtool", "check", "rules", os.path.join(CONTRIB, "prometheus-rules.yml")], text=True, capture_output=True)
t.ok(not p.returncode, "promtool check rules", p.stdout + p.stderr)
base = "http://127.0.0.1:%d/" % port
started.append(subprocess.Popen(["prometheus", "--config.file=" + os.path.join(tmp.name, "prometheus.yml"), "--storage.tsdb.path=" + os.path.join(tmp.name, "db"),
                                 "--web.listen-address=127.0.0.1:%d" % port, "--log.level=error"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))


def query(expr):
    try:
        with urllib.request.urlopen(base + "api/v1/query?" + urllib.parse.urlencode({"query": expr}), timeout=30) as r:
            return json.load(r)["data"]["result"]
    except urllib.error.HTTPError as e:
        return [e.read().decode()]
    except (OSError, ValueError):
        return []


def waited(expr, enough, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if len(query(expr)) >= enough:
            return True
        time.sleep(0.1)
    return False


def totals():
    """The seconds of the first monitor, and the bytes of each socket's memory: of an interval in which they were counted."""
    until, found = time.monotonic() + 60, []
    while not found and time.monotonic() < until:
        with urllib.request.urlopen(where[0] + "metrics", timeout=60) as r:
            text = r.read().decode()
        found = [float(x) for x in re.findall(r"^cyclade_socket_dram_bytes_total{[^}]*} (\S+)$", text, re.M)]
        time.sleep(0 if found else 0.2)
    return [float(re.search(r"^cyclade_monitor_time_seconds (\S+)$", text, re.M)[1]), *found]


def hammer(until):
    """50 clients, 20 that do not read and one that sends no requests; what failed."""
    slow = [socket.create_connection(("127.0.0.1", int(where[0].split(":")[2].strip("/"))), 60) for _ in range(20)]
    failed = []

    def ask(i):
        while time.monotonic() < until:
            try:
                if i:
                    totals()
                else:
                    with socket.create_connection(slow[0].getpeername(), 60) as c:
                        c.sendall(b"\0" * 3000)
            except (OSError, ValueError, TypeError) as e:
                failed.append((i, repr(e)))
    for i, c in enumerate(slow):
        c.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" + (b"\r\n" if i % 2 else b"X: "))
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(51)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    for c in slow:
        c.close()
    return [f for f in failed if f[0]]


try:
    t.ok(waited("up == 1", 2), "two monitors are scraped as two hosts", query("up"))
    t.ok(waited("count_over_time(cyclade_cpu_cycles_total[%s]) >= %d" % (WINDOW, SECONDS), 4), "for a while")
    for i, r in enumerate(roots):
        proc(r, 3)
    t.ok(waited("rate(cyclade_host_context_switches_total[%s]) > 0" % WINDOW, 2), "a value of /proc that grew")
    time.sleep(1.1)  # the rules' next turn
    with open(os.path.join(CONTRIB, "grafana-dashboard.json"), encoding="utf-8") as f:
        panels = json.load(f)["panels"]
    queries = [(x["title"], y["expr"].replace("$__rate_interval", WINDOW)) for x in panels for y in x["targets"]]
    queries += [("rule", x.replace("[1m]", "[%s]" % WINDOW)) for x in re.findall(r"record: \S+\n +expr: (.*)", rules)]
    empty = [q for q in queries if not query(q[1]) or not all(isinstance(x, dict) for x in query(q[1]))]
    t.ok(len(queries) > 15 and not empty, "%d queries of the dashboard and the rules return data" % len(queries), empty)
    alerts = [a.replace("[1m]", "[%s]" % WINDOW) for a in re.findall(r"alert: \S+\n +expr: (.*)", rules)]
    t.ok(len(alerts) == 2 and not any(query(a) for a in alerts), "no alert where all is well", [query(a) for a in alerts])
    t.ok(all(isinstance(x, dict) for a in ("up{job=\"cyclade\"} == 1", "cyclade_losses_never >= 0") for x in query(a)) and
         len(query("cyclade_losses_never >= 0")) == 2, "and their figures are there")
    rates = rome()[1]
    want = 64e9 * sum(rates["dram_channel_data_controller_%d" % c] for c in range(8))
    got, until = [], time.monotonic() + 60  # a window in which nothing was late
    while not (len(got) == 2 and all(abs(g - want) < 0.02 * want for g in got)) and time.monotonic() < until:
        time.sleep(0.2 if got else 0)
        got = [float(x["value"][1]) for x in query("rate(cyclade_socket_dram_bytes_total[%s])" % WINDOW)]
    t.ok(len(got) == 2 and all(abs(g - want) < 0.02 * want for g in got), "rate() gives the planted bandwidth within 2 %", (got, want))
    before = totals()
    failed = hammer(time.monotonic() + (60 if LONG else 1))
    after = totals()
    got = [(b - a) / (after[0] - before[0]) for a, b in zip(before[1:], after[1:])]
    t.ok(not failed and len(got) == 2 and all(abs(g - want) < 0.02 * want for g in got), "50 clients, slow ones and bad requests leave the counting as it was", (failed[:3], got, want))
    os.killpg(started[0].pid, signal.SIGTERM)
    started.pop(0).wait(60)
    began = time.monotonic()
    t.equal(start(machines[0], where[0].split("/")[2]), where[0], "a monitor begins anew at its address")
    t.ok(waited("resets(cyclade_socket_dram_bytes_total[5m]) == 1", 2), "Prometheus sees one reset", query("resets(cyclade_socket_dram_bytes_total[5m])"))
    anew = totals()
    # all that was counted since, whatever the machine did meanwhile: less than the load allows
    t.ok(len(anew) == 3 and all(0 < v <= 1.02 * want * (time.monotonic() - began) for v in anew[1:]), "its totals begin at nothing: no spike", (anew, want))
    names = {x["metric"]["__name__"] for x in query('{__name__=~"cyclade_.*",__name__!~".*_error.*"}')}
    t.ok(len(names) >= 40, "%d metrics" % len(names), sorted(names))
finally:
    end()
t.done()
