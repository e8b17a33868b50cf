#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The CI files of contrib/: their shell lines, as a runner would execute them, of a project that became slower and of one that became faster."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, ROOT, Tap, run  # noqa: E402

MAKE = "build/bench: bench.c\n\tmkdir -p build && cc -O1 -o $@ bench.c\n"
CODE = "__attribute__((noinline)) void hot(void) { for (volatile long i = 0; i < %dL; i++) ; }\nint main(void) { hot(); return 0; }\n"
SLOW, FAST = 80000000, 20000000
t = Tap()


def lines(name, key):
    """The texts of a file's `key: |` blocks and of its `- command` items of a script, in order."""
    with open(os.path.join(ROOT, "contrib", name), encoding="utf-8") as f:
        text = f.read()
    if key == "run":
        return [re.sub(r"(?m)^ {10}", "", m) for m in re.findall(r"run: \|\n((?: {10}.*\n)+)", text)]
    script = text[text.index("  script:\n") + 10:text.index("  artifacts:")]
    return [re.sub(r"(?m)^ {6}", "", m[1]) if m[1] else m[0] for m in re.findall(r"(?m)^ {4}- (?:\|\n((?: {6}.*\n)+)|(.*)\n)", script)
            for m in [(m[1], m[0])]]


def project(where, turns):
    os.makedirs(where, exist_ok=True)
    for name, text in (("Makefile", MAKE), ("bench.c", CODE % turns)):
        with open(os.path.join(where, name), "w", encoding="ascii") as f:
            f.write(text)


def shell(text, where, **env):
    path = os.path.dirname(CYCLADE) + ":" + os.environ["PATH"]
    return subprocess.run(["bash", "-e", "-c", text], cwd=where, env=dict(os.environ, PATH=path, BENCH="./build/bench", RUNS="6", **env),
                          capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)


def github(where, before, turns, code):
    project(where + "/base", before)
    project(where + "/new", turns)
    env = {k: os.path.join(where, k) for k in ("GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
    said = [shell(x, where, **env) for x in lines("github-diff.yml", "run")]
    with open(where + "/diff.md", encoding="utf-8") as f:
        comment = f.read()
    with open(env["GITHUB_ENV"], encoding="utf-8") as f:
        got = f.read().split()
    t.ok(len(said) == 2 and not any(p.returncode for p in said), "GitHub: the steps run", [p.stderr for p in said])
    t.equal(got, ["code=%d" % code], "GitHub: and end with %d" % code)
    t.ok("| limit |" in comment and "hot" in comment and ("beyond the limit" in comment) == bool(code), "GitHub: the comment has the limit", comment)


def elsewhere(where, text, name):
    """The comment on recordings of which those of one side have the same text changed in their headers, as of another machine."""
    old = text.encode()
    for path in glob.glob(where + "/base.*.data"):
        with open(path, "rb") as f:
            data = f.read()
        with open(path, "wb") as f:
            f.write(data.replace(old + b"\0", old[:-1] + b"?\0"))
    shell(lines("github-diff.yml", "run")[1], where, GITHUB_STEP_SUMMARY="/dev/null", GITHUB_ENV="/dev/null")
    with open(where + "/diff.md", encoding="utf-8") as f:
        comment = f.read()
    t.ok(name in comment and re.search(re.escape(text[:-1])[:20], comment), "the comment has a difference: %s" % name, comment[-1500:])


def gitlab(where):
    project(where, FAST)
    git = lambda *words: subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=where, check=True,  # noqa: E731
                                        capture_output=True, text=True).stdout.strip()
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    base = git("rev-parse", "HEAD")
    project(where, SLOW)
    git("commit", "-qam", "second")
    p = shell("\n".join(lines("gitlab-diff.yml", "script")), where, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_PROJECT_DIR=where)
    t.ok(p.returncode == 1 and "beyond the limit" in p.stdout and os.path.exists(where + "/diff.md"), "GitLab: the script fails where it became slower",
         p.stdout + p.stderr)


with tempfile.TemporaryDirectory(prefix="cyclade-contrib-") as tmp:
    probe = run("record", "-q", "-e", "cpu-clock", "-o", tmp + "/probe.data", "--", "true")
    missing = [x for x in ("bash", "make", "cc", "git") if not shutil.which(x)]
    if probe.returncode or missing:
        t.skip("all of it", "no %s here" % (missing or ["event that can be opened"])[0])
    else:
        github(tmp + "/slower", FAST, SLOW, 1)
        github(tmp + "/faster", SLOW, FAST, 0)
        header = json.loads(run("info", "-j", tmp + "/faster/base.1.data").stdout)
        for text, name in ((header["recording"]["os_release"], "kernels differ"), (header["recorder"], "recorders differ"), (header["recording"]["cpu"], "CPUs differ")):
            if text:
                elsewhere(tmp + "/faster", text, name)
        os.makedirs(tmp + "/gitlab")
        gitlab(tmp + "/gitlab/project")

# ---- what is installed
BUILD = os.path.abspath(os.path.join(os.path.dirname(CYCLADE), "..", ".."))
plan = shutil.which("meson") and subprocess.run(["meson", "introspect", "--installed", BUILD], capture_output=True, text=True, check=False)
if plan and not plan.returncode:
    installed = json.loads(plan.stdout)
    ends = {os.path.basename(x): os.path.dirname(x) for x in installed.values()}
    docs = ends.get("NEWS.md", "-")
    want = {"LICENSE": docs, "LICENSE.perfmon": docs, "README.md": docs, "SECURITY.md": docs, "cyclade-monitor.service": "lib/systemd/system"}
    want.update({x: docs + "/contrib" for x in os.listdir(os.path.join(ROOT, "contrib")) if x not in ("cyclade-monitor.service", "github-nightly.yml")})
    want.update({x: docs + "/examples" for x in os.listdir(os.path.join(ROOT, "examples")) if x.endswith((".c", ".cpp"))})
    bad = {x: ends.get(x) for x, at in want.items() if not (ends.get(x) or "").endswith(at)}
    t.ok(docs.endswith("doc/cyclade") and not bad, "licences, service, contrib and examples are installed", bad)
else:
    t.skip("what is installed", "no meson that knows this build")

# ---- the service: what systemd makes of its restrictions ----
UNIT = os.path.join(ROOT, "contrib", "cyclade-monitor.service")
judged = shutil.which("systemd-analyze") and subprocess.run(["systemd-analyze", "security", "--offline=true", UNIT], capture_output=True, text=True, check=False,
                                                            env=dict(os.environ, LC_ALL="C", SYSTEMD_PAGER=""))
level = judged and re.search(r"exposure level for .*: ([0-9.]+)", judged.stdout)
if level:
    t.ok(float(level[1]) <= 1.5, "the service is exposed by 1.5 at most", judged.stdout)
else:
    t.skip("the service's exposure", "no systemd-analyze that judges files")
with open(UNIT, encoding="utf-8") as f:
    t.ok("=/usr" not in f.read(), "the service names no directory of the program")
t.done()
