# SPDX-License-Identifier: BSD-3-Clause
"""page - an HTML report as a browser would take it apart, without one.

    p = Page(path)                                  or Page(text=what a command wrote)
    p.csp, p.scripts, p.styles, p.data, p.texts     data: the JSON, rows as arrays; texts: what is readable without scripts
    p.result(document)                              a document of it in the form of --format json
"""
import html.parser
import json


def cells(x, n):
    """The cells of a column of ROWS."""
    if isinstance(x, list):
        out = x
    elif "same" in x:
        out = [x["same"]] * n
    elif "at" in x:
        out, at = [None] * n, 0
        for gap, v in zip(x["at"], cells(x["of"], len(x["at"]))):
            at += gap
            out[at] = v
    elif "runs" in x:
        out, of, begins, at = [], cells(x["of"], len(x["runs"])), [], 0
        for gap in x["runs"]:
            at += gap
            begins.append(at)
        for v, begin, end in zip(of, begins, [*begins[1:], n]):
            out += [v] * (end - begin)
    else:
        out, last = [x["from"]] if "from" in x else [], int(x.get("from", "0"), 0)
        for d in x["deltas"]:
            last += d
            out.append("0x%x" % (last & 2**64 - 1) if "from" in x else last)
    assert len(out) == n
    return out


def whole(x):
    """The same with all ROWS as arrays of rows."""
    if isinstance(x, list):
        return [whole(v) if isinstance(v, (list, dict)) else v for v in x]
    if set(x) == {"n", "columns"}:
        return [list(r) for r in zip(*(cells(c, x["n"]) for c in x["columns"]))]
    return {k: whole(v) if isinstance(v, (list, dict)) else v for k, v in x.items()}


class Page(html.parser.HTMLParser):
    VOID = {"meta", "br", "link", "img", "hr", "input"}

    def __init__(self, path=None, text=""):
        super().__init__(convert_charrefs=True)
        self.bytes = text.encode("utf-8", "surrogateescape")
        if path is not None:
            with open(path, "rb") as f:
                self.bytes = f.read()
        self.csp, self.title, self.json, self.data = None, "", "", None
        self.scripts, self.styles, self.tags, self.texts, self.unbalanced, self.open = [], [], [], [], [], []
        self.feed(self.bytes.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "meta" and dict(attrs).get("http-equiv"):
            self.csp = dict(attrs)["content"]
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.unbalanced.append(tag)
        else:
            self.open.pop()

    def handle_data(self, data):
        tag, attrs = self.open[-1] if self.open else ("", {})
        if tag == "script" and attrs.get("type") == "application/json":
            self.json += data
        elif tag == "script":
            self.scripts.append(data)
        elif tag == "style":
            self.styles.append(data)
        elif tag == "title":
            self.title += data
        elif data.strip():
            self.texts.append(data)

    def close(self):
        super().close()
        self.data = whole(json.loads(self.json, parse_constant=lambda x: 1 / 0))

    def text(self, i):
        return None if i is None else self.data["strings"][i]

    def cell(self, kind, x):
        if isinstance(x, dict):
            (kind, x), = x.items()
        if x is not None and kind in ("text", "why"):
            return self.text(x)
        if x is not None and kind == "list":
            return [self.text(i) for i in x]
        return x

    def rows(self, table):
        columns = table["columns"]
        assert all(len(r) == len(columns) for r in table["rows"]), table["name"]
        return [{c["key"]: self.cell(c["kind"], x) for c, x in zip(columns, r)} for r in table["rows"]]

    def result(self, document):
        out = {"schema": document["schema"], "notes": [self.text(i) for i in document["notes"]]}
        for t in document["tables"]:
            rows = self.rows(t)
            if not t["one"]:
                out[t["name"]] = rows
            else:
                out[t["name"]] = rows[0]
        return out


def differences(page, result, printed, wide=30):
    """Where `printed`, the JSON of a command, has something else than the page's `result`; both ways."""
    bad, left = [], dict(printed)
    for name, have in result.items():
        if name in left and isinstance(left[name], type(have)):
            want = left.pop(name)
        elif isinstance(have, dict):  # members of the whole
            want = {k: left.pop(k) for k in list(left) if k in have}
        else:
            bad.append("%s: not printed" % name)
            continue
        if want and isinstance(want, list) and not isinstance(want[0], dict) and have and isinstance(have[0], dict):
            have = [next(iter(r.values())) for r in have]
        if isinstance(want, list) and want and isinstance(want[0], dict) and len(want[0]) > wide:  # columns without a value
            want = [{k: v for k, v in r.items() if v is not None} for r in want]
            have = [{k: v for k, v in r.items() if v is not None} for r in have]
        if want != have:
            bad.append("%s: page %r\n    printed %r" % (name, str(have)[:600], str(want)[:600]))
    return bad + ["only printed: %s" % k for k in left]
