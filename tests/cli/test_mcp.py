#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade mcp, driven by a strict client: each line is one answer of JSON-RPC 2.0, to a request that waits for one."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, Tap, run, wait_for  # noqa: E402

t = Tap()
scratch = tempfile.TemporaryDirectory()
top = os.path.realpath(scratch.name)
inside, beside = os.path.join(top, "in"), os.path.join(top, "beside")
os.makedirs(inside)
os.makedirs(beside)


class Client:
    def __init__(self, *words, begin=True):
        self.p = subprocess.Popen([CYCLADE, "mcp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=inside)
        self.last = 0
        if begin:
            self.begun = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                                 "clientInfo": {"name": "test", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def raw(self, line):
        self.p.stdin.write(line + b"\n")
        self.p.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode())

    def answer(self):
        a = json.loads(self.p.stdout.readline())
        if a["jsonrpc"] != "2.0" or ("result" in a) == ("error" in a) or set(a) - {"jsonrpc", "id", "result", "error"}:
            raise ValueError("no answer of JSON-RPC: %r" % a)
        return a

    def request(self, method, params=None):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, **({} if params is None else {"params": params})})
        return self.last

    def ask(self, method, params=None):
        mine = self.request(method, params)
        a = self.answer()
        if a["id"] != mine:
            raise ValueError("answer to another request: %r" % a)
        return a

    def call(self, name, /, **arguments):
        r = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        if [c["type"] for c in r["content"]] != ["text"]:
            raise ValueError("content: %r" % r)
        return r["isError"], r["content"][0]["text"]

    def end(self):
        self.p.stdin.close()
        rest = self.p.stdout.read()
        return self.p.wait(), rest


recording = os.path.join(inside, "a.data")
r = run("record", "-q", "-e", "cpu-clock", "-o", recording, "--", sys.executable, "-c", "for i in range(300000): pass")
t.ok(os.path.exists(recording), "there is a recording", r.stderr)
with open(recording, "rb") as f:
    whole = f.read()
outside = os.path.join(beside, "b.data")
with open(outside, "wb") as f:
    f.write(whole)
os.symlink(outside, os.path.join(inside, "link.data"))
program = os.path.join(beside, "says")
with open(program, "w") as f:
    f.write('#!/bin/sh\nprintf "word:%s\\n" "$@"\n')
os.chmod(program, 0o755)
sleeper = os.path.join(beside, "sleeps")
with open(sleeper, "w") as f:
    f.write('#!/bin/sh\necho began > "$1"\nexec sleep 1000\n')
os.chmod(sleeper, 0o755)

# the protocol
c = Client(begin=False)
t.equal(c.ask("ping")["result"], {}, "ping is answered at once")
t.equal(c.ask("tools/list")["error"]["code"], -32600, "the rest after initialize")
c.end()
c = Client("--allow-dir", inside, "--allow-program", program, "--allow-program", sleeper)
t.equal(c.begun["result"]["protocolVersion"], "2025-06-18", "a version that both know")
for asked, given in [("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-06-18")]:
    t.equal(c.ask("initialize", {"protocolVersion": asked})["result"]["protocolVersion"], given, "asked for %s" % asked)
tools = c.ask("tools/list")["result"]["tools"]
t.equal({x["name"] for x in tools}, {"findings", "report", "annotate", "diff", "sql", "info", "explain", "doctor", "run", "stat",
                                     "record"}, "the tools")
t.ok(all(x["inputSchema"]["type"] == "object" and x["description"] and
         set(x["inputSchema"]["required"]) <= set(x["inputSchema"]["properties"]) for x in tools), "have descriptions", tools)
t.equal(c.ask("nothing")["error"]["code"], -32601, "no such method")
t.equal(c.ask("tools/call", {"name": "shell"})["error"]["code"], -32602, "no such tool")
for line, code, name in [(b"{", -32700, "half an object"), (b"\xff\xfe\0", -32700, "bytes"), (b"[" * 100000, -32700, "deep"),
                         (b'{"jsonrpc":"2.0","id":1,"method":"pi\\u0000ng"}', -32700, "a NUL"), (b"{} {}", -32700, "two on a line"),
                         (b"[]", -32600, "a batch"), (b"7", -32600, "a number"), (b"x" * 10_000_000, -32600, "10 MB"),
                         (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, "an object as id")]:
    c.raw(line)
    a = c.answer()
    t.equal((a["id"], a["error"]["code"]), (None, code), "refused: " + name)

# a call is the command
for name, words, arguments in [
    ("report", ["report", "--limit=3", "-i", recording], {"recording": "a.data", "limit": 3}),
    ("info", ["info", recording], {"recording": recording}),
    ("explain", ["explain", "IPC"], {"name": "IPC"}),
]:
    failed, text = c.call(name, json=True, **arguments)
    same = run(*words, "--format=json")
    if len(same.stdout) < 7000:
        t.ok(not failed and json.loads(text[:text.rindex("}") + 1]) == json.loads(same.stdout), name + ": what the command says", text)
    else:
        t.ok("[cut: " in text and len(text.encode()) <= 8192, name + ": cut, and told so", text[-300:])
failed, text = c.call("sql", recording="a.data", query="SELECT 6*7 AS answer")
t.ok(not failed and "42" in text, "sql", text)
failed, text = c.call("sql", recording="a.data", query="WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n LIMIT 9000) SELECT x FROM n")
t.ok(len(text.encode()) <= 8192 and "[cut: " in text, "8 kB at most, and told so", text[-300:])
failed, text = c.call("diff", base="a.data", new="a.data")
t.ok(text and not failed, "diff", text)
failed, text = c.call("record", recording="new.data", program=program, args=["--output=/dev/null", "-o", "x"])
t.ok(not failed and all("word:" + w in text for w in ("--output=/dev/null", "-o", "x")), "record: a program's words are its own", text)
t.ok(os.path.exists(os.path.join(inside, "new.data")), "and a recording is there")

# what is refused
for name, arguments, why in [
    ("report", {"recording": outside}, "not a file in a directory"),
    ("report", {"recording": "../beside/b.data"}, "not a file in a directory"),
    ("report", {"recording": "link.data"}, "not a file in a directory"),
    ("report", {"recording": "/etc/passwd"}, "not a file in a directory"),
    ("report", {"recording": "--html=x"}, "not a file in a directory"),
    ("report", {"recording": inside}, "not a file in a directory"),
    ("report", {"recording": "a.data", "limit": "3 --html=x"}, "must be a number"),
    ("report", {"recording": "a.data", "limit": -1}, "must be a number"),
    ("report", {"recording": "a.data", "output": "x"}, "no argument 'output'"),
    ("report", {"recording": ["a.data"]}, "must be a string"),
    ("report", {}, "needs recording"),
    ("diff", {"base": "a.data", "new": outside}, "not a file in a directory"),
    ("sql", {"recording": "a.data", "query": outside}, "the name of a file"),
    ("sql", {"recording": "a.data", "query": ".shell id"}, "must begin with SELECT"),
    ("sql", {"recording": "a.data", "query": "ATTACH 'x' AS y"}, "must begin with SELECT"),
    ("annotate", {"recording": "a.data", "function": outside}, "the name of a file"),
    ("run", {"program": "/bin/sh", "args": ["-c", "id"]}, "not one that is allowed"),
    ("run", {"program": program, "args": "-c"}, "array of strings"),
    ("run", {"program": program, "args": ["x"] * 1000}, "more words"),
    ("record", {"recording": "a.data", "program": program}, "must be a new file"),
    ("record", {"recording": "link.data", "program": program}, "must be a new file"),
    ("record", {"recording": "../beside/c.data", "program": program}, "not a file in a directory"),
]:
    failed, text = c.call(name, **arguments)
    t.ok(failed and text.startswith("refused: ") and why in text, "refused: %s %.60r" % (name, arguments), text)
failed, text = c.call("sql", recording="a.data", query="WITH x AS (SELECT 1) DELETE FROM samples")
t.ok(failed, "sql only reads", text)
failed, text = c.call("explain", name="--format=json")
t.ok(failed and "schema" not in text, "a word is no option", text)
t.equal(sorted(os.listdir(inside)), ["a.data", "link.data", "new.data"], "nothing else was written")
t.equal(os.listdir(beside).count("c.data"), 0, "nor beside")

# cancelled: no answer, and the program is gone; meanwhile a ping is answered
mark = os.path.join(top, "mark")
mine = c.request("tools/call", {"name": "stat", "arguments": {"program": sleeper, "args": [mark]}})
wait_for(lambda: os.path.exists(mark))
t.equal(c.ask("ping")["result"], {}, "a ping while a call runs")
queued = c.request("tools/call", {"name": "explain", "arguments": {"name": "IPC"}})
c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": mine}})
t.equal(c.answer()["id"], queued, "a call that is cancelled has no answer, the next one has")
t.equal(c.end(), (0, b""), "closed: ends with 0, and says no more")

# time
c = Client("--timeout", "300ms", "--allow-program", sleeper)
failed, text = c.call("stat", program=sleeper, args=[mark])
t.ok(failed and "the time limit" in text, "a call that takes too long is ended", text)
c.end()
c = Client()
failed, text = c.call("run", program=program)
t.ok(failed and "--allow-program" in text, "nothing allowed: no program runs, and it says what to type", text)
c.end()
t.equal(run("mcp", "x").returncode, 2, "no operands")
t.equal(run("mcp", "--allow-dir", os.path.join(top, "nothing")).returncode, 2, "a directory that is not there")
t.done()
