#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of `monitor --listen` in a browser (web/test/monitor.mjs). Needs node, chromium and what `npm ci --ignore-scripts`
in web/ installs; without them it is skipped, with the reason."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, "..", "..", "web")
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from tap import CYCLADE, run  # noqa: E402


def skip(why):
    print("1..0 # SKIP " + why)
    sys.exit(0)


node = shutil.which("node") or shutil.which("nodejs")
if not node:
    skip("there is no node")
if not os.path.isdir(os.path.join(WEB, "node_modules", "playwright-core")):
    skip("no packages in web/node_modules: npm ci --ignore-scripts in web/")
if "no monitor --listen" in run("--version").stdout:
    skip("this cyclade was built without libmicrohttpd")
monitor = subprocess.Popen([CYCLADE, "monitor", "--listen", "127.0.0.1:0", "-I", "300"], stderr=subprocess.PIPE, text=True)
try:
    where = re.search(r"http://\S+", monitor.stderr.readline())
    if not where:
        print("1..1\nnot ok 1 - the monitor listens")
        sys.exit(1)
    with tempfile.TemporaryDirectory() as tmp:
        env = dict(os.environ, HOME=tmp, XDG_CONFIG_HOME=os.path.join(tmp, "config"), XDG_CACHE_HOME=os.path.join(tmp, "cache"))
        sys.exit(subprocess.run([node, os.path.join(WEB, "test", "monitor.mjs"), where.group(0), *sys.argv[1:]], check=False, env=env).returncode)
finally:
    monitor.terminate()
    monitor.wait()
