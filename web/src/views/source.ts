// SPDX-License-Identifier: BSD-3-Clause
// source - the source of a function: its own file first, those inlined into it as tabs. A line has what its own instructions cost,
// with inlined code what is inlined there, too, and what it calls. Long runs of lines without samples are folded.
import { Table, type Column } from "../data";
import { h, safe } from "../dom";
import { baseName, percent } from "../format";
import { Grid } from "../grid";
import { shortName } from "../names";
import { functionLink, type Context } from "./context";

export interface SourcePane { el: HTMLElement; light: (file: string, line: number) => void }
export interface SourceTables { lines?: Table; source?: Table; instructions?: Table; inlined?: Table }
interface Line { share: number | null; samples: number | null; inside: number; text: string | null; calls: Map<string, { inlined: boolean; share: number }> }
const FOLD = 8;   // so many lines without samples are folded
const AROUND = 3; // of them stay beside others

export function sourcePane(c: Context, dso: string, t: SourceTables, costs: (callee: string) => number, pick: (file: string, line: number) => void): SourcePane | null {
  const files = new Map<string, Map<number, Line>>();
  const weight = new Map<string, number>();
  const at = (file: string, line: number): Line => {
    let m = files.get(file);
    if (!m) files.set(file, (m = new Map()));
    let l = m.get(line);
    if (!l) m.set(line, (l = { share: null, samples: null, inside: 0, text: null, calls: new Map() }));
    return l;
  };
  const each = (x: Table | undefined, f: (file: string, line: number, row: number, x: Table) => void): void => {
    const file = x?.column("file"), line = x?.column("line");
    for (let r = 0; x && r < x.length; r++) {
      const n = x.number(r, line);
      if (x.text(r, file) && !isNaN(n)) f(x.text(r, file), n, r, x);
    }
  };
  each(t.source, (file, n, r, x) => { at(file, n).text = x.text(r, x.column("source")); });
  each(t.lines, (file, n, r, x) => {
    const l = at(file, n);
    l.share = x.number(r, x.column("share"));
    l.samples = x.number(r, x.column("samples"));
    l.text ??= x.text(r, x.column("source")) || null;
    weight.set(file, (weight.get(file) ?? 0) + (l.share || 0));
  });
  // calls that are inlined at a line, and what they cost there
  const share = new Map<string, number>();
  let own = "";
  each(t.instructions, (file, n, r, x) => {
    const l = at(file, n), s = x.number(r, x.column("share")) || 0;
    l.inside += s;
    share.set(x.text(r, x.column("address")), s);
    if (!own && !x.text(r, x.column("inlined"))) own = file;
    const callee = x.text(r, x.column("flow")) === "call" ? /<(.+?)(@plt)?>\s*$/.exec(x.text(r, x.column("instruction")))?.[1] : undefined;
    if (callee && !l.calls.has(callee)) l.calls.set(callee, { inlined: false, share: costs(callee) });
  });
  each(t.inlined, (file, n, r, x) => {
    const l = at(file, n), s = share.get(x.text(r, x.column("address"))) ?? 0, name = x.text(r, x.column("function"));
    l.inside += s;
    const old = l.calls.get(name);
    if (old) old.share += s;
    else l.calls.set(name, { inlined: true, share: s });
  });
  if (!files.size) return null;
  const order = [...files.keys()].filter((f) => f === own || (weight.get(f) ?? 0) > 0).sort((a, b) => +(b === own) - +(a === own) || (weight.get(b) ?? 0) - (weight.get(a) ?? 0));
  if (!order.length) order.push([...files.keys()][0]);
  const tabs = h("div", { class: "filetabs", role: "group", "aria-label": "files" });
  const body = h("div");
  const el = h("section", { class: "pane source" }, h("h3", null, "source"), tabs, body);
  const unfolded = new Set<string>();
  let shown = "";
  let grid: Grid | null = null;
  let lineOf: number[] = []; // by row; -n: a fold whose first line is n
  const draw = (file: string): void => {
    shown = file;
    tabs.querySelectorAll("button").forEach((b, i) => b.setAttribute("aria-pressed", String(order[i] === file)));
    const m = files.get(file)!;
    const numbers = [...m.keys()].sort((a, b) => a - b);
    const cold = (n: number): boolean => { const l = m.get(n)!; return !l.samples && l.inside < 0.0005; };
    const text = numbers.some((n) => m.get(n)!.text !== null);
    const indent = Math.min(...numbers.flatMap((n) => (m.get(n)!.text?.trim() ? [/^\s*/.exec(m.get(n)!.text!)![0].length] : [])), 99);
    const strings: string[] = [];
    const rows: (number | null)[][] = [];
    lineOf = [];
    const put = (n: number): void => {
      const l = m.get(n)!;
      lineOf.push(n);
      rows.push([l.share, l.samples, l.inside > (l.share || 0) + 0.0005 ? l.inside : null, n, l.text === null ? null : strings.push(l.text.slice(indent)) - 1]);
    };
    const fold = (n: number, text: string): void => { lineOf.push(-n); rows.push([null, null, null, null, strings.push(text) - 1]); };
    for (let i = 0; i < numbers.length;) {
      let end = i;
      while (end < numbers.length && cold(numbers[end]) && (end === i || numbers[end] === numbers[end - 1] + 1)) end++;
      const gap = text && i > 0 && numbers[i] !== numbers[i - 1] + 1 ? numbers[i] - numbers[i - 1] - 1 : 0;
      if (gap) fold(numbers[i - 1] + 1, `⋮ ${gap} line${gap > 1 ? "s" : ""} not in this page`);
      if (end - i >= FOLD && !unfolded.has(`${file}\n${numbers[i]}`)) {
        const first = i ? AROUND : 0, last = end < numbers.length ? AROUND : 0, n = end - i - first - last;
        for (let k = i; k < i + first; k++) put(numbers[k]);
        if (n > 1) fold(numbers[i], `▸ ${n} lines without samples`);
        for (let k = n > 1 ? end - last : i + first; k < end; k++) put(numbers[k]);
        i = end;
      } else if (end > i) {
        for (; i < end; i++) put(numbers[i]);
      } else put(numbers[i++]);
    }
    const columns = [
      { key: "share", head: "share", kind: "share" as const, flags: ["heat"], means: "of the function's samples, by period: the line's own instructions" },
      { key: "samples", head: "samples", kind: "count" as const, means: "on all instructions of the line" },
      { key: "inside", head: "with inlined", kind: "share" as const, means: "the same with the code that is inlined at this line" },
      { key: "line", head: "line", kind: "id" as const, flags: ["key"], means: `of ${file}` },
      { key: "source", head: baseName(file), kind: "text" as const, flags: ["flex"], means: "its text" },
    ];
    const table = new Table("source", "", "line", 0, false, false, columns, rows, strings);
    const calls = (r: number): [string, { inlined: boolean; share: number }][] => [...(m.get(lineOf[r])?.calls ?? [])].filter(([, x]) => !x.inlined || x.share > 0.0005).sort((a, b) => (b[1].share || 0) - (a[1].share || 0));
    const has = (x: Column): boolean => x.key !== "samples" && (x.key !== "inside" || rows.some((r) => r[x.at] !== null));
    grid = new Grid({ table, label: `source ${file}`, columns: table.columns.filter(has), tall: true, sortable: false,
      grey: (r) => lineOf[r] < 0,
      select: (r) => { if (lineOf[r] > 0) pick(file, lineOf[r]); else open(r); },
      extra: lineOf.some((_, r) => calls(r).length) ? [{ head: "calls", means: "functions that are called or inlined (⤵) at this line, with the part of all samples below a call, of the function's in inlined code", after: "line", draw(r, td) {
        td.className = "calls";
        calls(r).slice(0, 2).forEach(([name, x]) => {
          const link = x.inlined ? null : functionLink(c, name, dso);
          td.append(h(link ? "a" : "span", { href: link, title: safe(name) }, `${x.inlined ? "⤵ " : ""}${safe(shortName(name))}`), x.share > 0.0005 ? ` ${percent(x.share)}` : "", "  ");
        });
        if (calls(r).length > 2) td.append(`and ${calls(r).length - 2} more`);
      } }] : [] });
    body.replaceChildren(...(text ? [] : [h("p", { class: "dim" }, "This page does not have the text of the file.")]), grid.el);
  };
  const open = (row: number): void => {
    const first = -lineOf[row];
    if (unfolded.has(`${shown}\n${first}`)) return;
    unfolded.add(`${shown}\n${first}`);
    draw(shown);
    const r = lineOf.indexOf(first);
    if (r >= 0) { grid!.moveToRow(r, false); grid!.center(); }
  };
  for (const file of order) tabs.append(h("button", { type: "button", "aria-pressed": "false", title: safe(file), click: () => draw(file) }, safe(baseName(file)), file === own ? " (own)" : "", h("span", { class: "dim" }, weight.has(file) ? ` ${percent(weight.get(file)!)}` : "")));
  draw(order[0]);
  return {
    el,
    light(file, line) {
      if (!files.get(file)?.has(line)) { grid?.setMarks(new Set()); return; }
      if (file !== shown) draw(file);
      if (!lineOf.includes(line)) { // in a fold
        const r = lineOf.reduce((a, n, i) => (n < 0 && -n <= line ? i : a), -1);
        if (r >= 0) open(r);
      }
      const r = lineOf.indexOf(line);
      if (r < 0) return;
      grid!.setMarks(new Set([r]));
      grid!.moveToRow(r, false); // the page stays where it is
      grid!.center();
    },
  };
}
