#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--json-schema of each result describes its -j: by a strict reading of the schema here, and by jsonschema if that is installed.
A schema that leaves out a member, or has another type for it, is found by a copy that is bent."""
import copy
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import recordings  # noqa: E402
from tap import PROGS, SANITIZED, Tap, run  # noqa: E402

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

t = Tap()
KNOWN = {"$schema", "title", "description", "type", "properties", "items", "required", "additionalProperties", "const", "anyOf", "maxItems", "pattern"}
TYPES = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}


def faults(schema, x, at="$"):
    """Where x is not as the schema has it; any word of a schema that is not known here is a fault, too."""
    out = [(at, "unknown words %s" % (set(schema) - KNOWN))] if set(schema) - KNOWN else []
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(x, TYPES[k]) and (isinstance(x, bool) == (k == "boolean")) for k in kinds):
        return [*out, (at, "%s is no %s" % (repr(x)[:40], kinds))]
    if "const" in schema and x != schema["const"]:
        out.append((at, "%r is not %r" % (x, schema["const"])))
    if "anyOf" in schema and all(faults(s, x, at) for s in schema["anyOf"]):
        out += faults(schema["anyOf"][0], x, at)
    if isinstance(x, str) and "pattern" in schema and not re.search(schema["pattern"], x):
        out.append((at, "%r is not as %s" % (x, schema["pattern"])))
    if isinstance(x, list):
        if len(x) > schema.get("maxItems", len(x)):
            out.append((at, "%d items" % len(x)))
        for i, v in enumerate(x):
            out += faults(schema.get("items", {}), v, "%s[%d]" % (at, i))
    if isinstance(x, dict):
        out += [(at, "lacks " + k) for k in schema.get("required", ()) if k not in x]
        for k, v in x.items():
            if k in schema.get("properties", {}):
                out += faults(schema["properties"][k], v, at + "." + k)
            elif schema.get("additionalProperties") is False:
                out.append((at, "has " + k))
    return out


def members(schema):
    """How many members of tables the schema describes."""
    tables = schema["properties"].values()
    rows = [s.get("items", (s.get("anyOf") or [{}])[0]) for s in tables]
    return sum(len(r.get("properties", ())) for r in rows)


checked, bendable = set(), []


def check(name, words, more=(), env=None):
    """`more`: words that are for measuring alone."""
    asked = run(*words, "--json-schema", env=env)
    try:
        schema = json.loads(asked.stdout)
    except ValueError:
        t.ok(False, "%s: a schema" % name, (asked.returncode, asked.stdout[:200], asked.stderr[:300]))
        return
    if schema["title"] not in checked:
        t.ok(asked.returncode == 0 and not asked.stderr and members(schema), "%s: %s" % (" ".join(words[:1]), schema["title"]), (asked.returncode, asked.stderr))
        if Draft202012Validator:
            Draft202012Validator.check_schema(schema)
        checked.add(schema["title"])
    p = run(*words[:1], "-j", *words[1:], *more, env=env)
    text = p.stdout if p.stdout.startswith("{") else p.stderr[p.stderr.find("{\n"):]
    try:
        x = json.loads(text)
    except ValueError:
        t.ok(p.returncode, "%s: no result" % name, (p.returncode, p.stdout[:200], p.stderr[:200]))
        return
    if words == ["stat"] and x["schema"] != schema["title"]:  # without counters
        schema = json.loads(run("stat", "-e", "page-faults", "--json-schema").stdout)
    bad = faults(schema, x)
    t.ok(not bad, "%s: %s" % (name, x.get("schema")), bad[:6])
    if Draft202012Validator and not SANITIZED:
        bad = [(list(e.absolute_path), e.message[:200]) for e in Draft202012Validator(schema).iter_errors(x)]
        t.ok(not bad, "%s: jsonschema agrees" % name, bad[:3])
    bendable.append((schema, x))


with tempfile.TemporaryDirectory(prefix="cyclade-schema-") as tmp:
    os.chdir(tmp)
    made = {r.name: r for r in recordings.made(os.path.join(tmp, "made")) if not re.search(r"-\d+-[bl]e$", r.name)}
    for r in list(made.values())[::3 if SANITIZED else 1]:
        for words in (["report"], ["report", "-g"], ["report", "--findings"], ["info"], ["info", "-v"]):
            check("%s %s" % (r.name, " ".join(words)), [*words, r.path])
    some = lambda *names: [made[n] for n in names if n in made]  # noqa: E731
    for r in some("branches"):
        for words in (["blocks"], ["blocks", "--mix"], ["blocks", "--chains"], ["calls"], ["report", "-b"], ["annotate"]):
            check("%s %s" % (r.name, " ".join(words)), [*words, "-i", r.path, *([r.function] if words == ["annotate"] else [])])
    for r in some("account", "account_shared"):
        for words in (["report", "--account"], ["report", "--account", "-s", "dso"]):
            check("%s %s" % (r.name, " ".join(words)), [*words, r.path])
        check("%s annotate" % r.name, ["annotate", "-i", r.path, r.function])
    for r in some("memory", "spe", "accesses"):
        check("%s mem" % r.name, ["mem", r.path])
        check("%s sharing" % r.name, ["sharing", r.path])
    for r in some("waits"):
        for word in ("--wait", "--wall", "--concurrency", "--critical"):
            check("waits %s" % word, ["report", word, r.path])
    check("diff", ["diff", made["account"].path, made["account_shared"].path])
    check("sum", ["sum", made["account"].path, made["account"].path])
    check("sql", ["sql", made["account"].path, "SELECT pid, comm, time, period, ip, NULL AS x FROM samples LIMIT 3"])
    for what in ("events", "metrics", "nodes", "groups", "kernels", "models", "account", "ibs", "tables"):
        check("list %s" % what, ["list", what, "--model", "skx"] if what in ("metrics", "nodes", "groups", "account") else ["list", what])
    check("explain", ["explain", "--model", "skx", "Memory_Bound", "Mem"])
    check("doctor", ["doctor"])
    program = ["--", os.path.join(PROGS, "prog_recurse"), "20", "20"]
    check("run", ["run"], program)
    check("stat -e", ["stat", "-e", "page-faults,task-clock"], program)
    check("stat", ["stat"], program)
    check("compare", ["compare", "-r", "2", "--warmup", "0"], [*program, *program])
    check("monitor", ["monitor", "--once", "-I", "50"])

    # a schema that is wrong is found
    found = tried = 0
    for schema, x in bendable[::5]:
        for name, s in schema["properties"].items():
            rows = x.get(name)
            if not isinstance(rows, list) or not rows or "properties" not in s.get("items", {}):
                continue
            for key, value in list(rows[0].items())[:3]:
                if key not in s["items"]["properties"] or value is None:
                    continue
                bent = copy.deepcopy(schema)
                bent["properties"][name]["items"]["properties"][key]["type"] = ["boolean" if not isinstance(value, bool) else "string"]
                tried += 1
                found += bool(faults(bent, x))
    t.ok(tried > 20 and found == tried, "%d schemas with another type are found" % tried, (found, tried))
    t.ok(len(checked) >= 20, "%d schemas" % len(checked), sorted(checked))
if not Draft202012Validator:
    t.skip("jsonschema", "python3-jsonschema is not installed")
t.done()
