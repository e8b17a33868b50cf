// SPDX-License-Identifier: BSD-3-Clause
// functions - the table of functions, one row each whichever thread ran it: as recorded without a
// filter; with one the shares are summed again from the cube, and what the cube does not know stays that of the whole recording.
import { nodeColour } from "../colour";
import { shareError, type Cube } from "../cube";
import { findTable, Table, type Column } from "../data";
import { h, safe } from "../dom";
import { baseName, group, percent } from "../format";
import { Grid, type Extra } from "../grid";
import { FILTERS, filtered, state } from "../state";
import { cubeNote, findFunction, functionLink, heading, lines, nextCommands, nodeParents, type Context, type View } from "./context";

// A function of an event: threads and programs (comm) that ran it are one row.
const KNOWN = new Set(["event", "comm", "dso", "function", "share", "samples", "period", "total", "folded"]);
export interface Functions { table: Table; event: string; usual: string; events: string[]; summed: boolean; merged: boolean } // summed: under the filter, from the cube

// Who called a function where it was sampled itself: the caller with most, and its part.
function callers(cube: Cube): Map<number, string> {
  const sums = cube.sums(state);
  const of = new Map<number, Map<number, number>>();
  const all = new Map<number, number>();
  for (let i = 0; i < cube.parent.length; i++) {
    const id = cube.functionOf(i);
    if (!sums.self[i] || id < 0) continue;
    let p = cube.parent[i];
    while (p >= 0 && cube.functionOf(p) === id) p = cube.parent[p];
    all.set(id, (all.get(id) ?? 0) + sums.self[i]);
    const up = cube.functionOf(p);
    if (up < 0) continue;
    if (!of.has(id)) of.set(id, new Map());
    const m = of.get(id)!;
    m.set(up, (m.get(up) ?? 0) + sums.self[i]);
  }
  return new Map([...of].map(([id, m]) => {
    const [up, v] = [...m].reduce((x, y) => (y[1] > x[1] ? y : x));
    const part = v / all.get(id)!;
    return [id, `${cube.name(up)}${part < 0.995 ? ` ${Math.round(part * 100)}\u00a0%` : ""}`];
  }));
}
// The line with most samples of a function that has a page.
function hottestLine(c: Context, name: string, dso: string): string {
  const at = findFunction(c, name, dso);
  const t = at === undefined ? undefined : findTable(c.page.functions[at].doc, "lines");
  const share = t?.column("share"), file = t?.column("file"), line = t?.column("line");
  if (!t || !share || !file || !line) return "";
  let best = -1;
  for (let r = 0; r < t.length; r++) if (t.text(r, file) && t.number(r, share) > (best < 0 ? 0 : t.number(best, share))) best = r;
  return best < 0 ? "" : `${baseName(t.text(best, file))}:${t.text(best, line)}`;
}
let cached: { key: string; c: Context; v: Functions | null } | null = null;
export function functionTable(c: Context): Functions | null {
  const key = JSON.stringify(FILTERS.map((f) => state[f]));
  if (cached?.key !== key || cached.c !== c) cached = { key, c, v: makeTable(c) };
  return cached.v;
}
function makeTable(c: Context): Functions | null {
  const t = findTable(c.doc("functions"), "rows", "functions");
  const cube = c.cube;
  const fn = t?.column("function"), dso = t?.column("dso"), of = t?.column("event"), share = t?.column("share"), comm = t?.column("comm"), folded = t?.column("folded");
  const events = t && of ? [...new Set(Array.from({ length: t.length }, (_, r) => t.text(r, of)))] : [];
  const usual = events.find((e) => e === cube?.event) ?? events[0] ?? cube?.event ?? "";
  const event = events.includes(state.event) ? state.event : usual;
  const under = cube && (state.focus || state.hide || state.process || state.thread || state.cpu || state.time) && (!events.length || event === cube.event);
  if (t && !under && (!fn || !share || t.columns.some((x) => x.flags.has("key") && !KNOWN.has(x.key) && t.rows.some((r) => r[x.at] !== null)))) return { table: t, event, usual, events, summed: false, merged: false };
  if (!cube && !t) return null;
  const strings = t ? t.strings.slice() : [];
  const index = new Map<string, number>();
  const text = (s: string | null): number | null => {
    if (s === null) return null;
    if (!index.has(s)) index.set(s, strings.push(s) - 1);
    return index.get(s)!;
  };
  const known = cube && (!t || event === cube.event) ? cube.functions(state) : [];
  const sums = known.length ? cube!.sums(state) : null;
  const at = new Map(known.map((f) => [`${cube!.frames[f.frame].name}\n${cube!.frames[f.frame].dso}`, f]));
  const by = known.length ? callers(cube!) : new Map<number, string>();
  // function, dso, share, error, with callees, error, caller, line, samples, period, comm
  const row = (name: string | null, file: string, s: number, e: number | null, samples: number, period: number, who: string[]): unknown[] => {
    const f = at.get(`${name ?? ""}\n${file}`);
    const total = f && sums!.period ? f.total / sums!.period : null;
    return [text(name), text(file), s, e, total, total === null ? null : shareError(total, sums!.count), text(f ? by.get(f.frame) ?? null : null), text(hottestLine(c, name ?? "", file) || null), samples, period, text(who.join(", ") || null)];
  };
  let rows: unknown[][];
  const extra = under || !t ? [] : t.columns.filter((x) => !KNOWN.has(x.key) || x.key === "folded");
  if (under || !t) {
    rows = known.map((f) => {
      const s = sums!.period ? f.self / sums!.period : 0;
      return row(cube!.frames[f.frame].name || "[unknown]", cube!.frames[f.frame].dso, s, shareError(s, sums!.count), f.samples, f.self, []);
    });
  } else {
    const groups = new Map<string, number[]>();
    for (let r = 0; r < t.length; r++) {
      if (of && t.text(r, of) !== event) continue;
      const k = folded && t.value(r, folded) !== null ? `\n${r}` : `${t.text(r, fn)}\n${t.text(r, dso)}`;
      if (groups.has(k)) groups.get(k)!.push(r);
      else groups.set(k, [r]);
    }
    const samples = t.column("samples"), period = t.column("period");
    const sum = (v: number[], x: Column | undefined): number => v.reduce((a, r) => a + (t.number(r, x) || 0), 0);
    const all = [...groups.values()].reduce((a, v) => a + sum(v, samples), 0);
    rows = [...groups.values()].map((v) => {
      const s = sum(v, share);
      // where periods differ, errors are larger than by the number of samples: by the same factor in the sum
      const wider = Math.max(...v.map((r) => t.error(r, share!) / shareError(t.number(r, share), all)));
      const e = v.length === 1 ? t.error(v[0], share!) : shareError(s, all) * wider;
      const names = comm ? [...v].sort((a, b) => t.number(b, share) - t.number(a, share)).map((r) => t.text(r, comm)) : [];
      const cells = extra.map((x) => (v.length === 1 ? t.rows[v[0]][x.at] : ["count", "amount", "seconds"].includes(x.kind) ? sum(v, x) : null));
      return [...row(t.value(v[0], fn) as string | null, t.text(v[0], dso), s, isNaN(e) ? null : e, sum(v, samples), sum(v, period), names), ...cells];
    });
    const last = folded ? 11 + extra.indexOf(folded) : 0;
    rows.sort((a, b) => (last ? +(a[last] !== null) - +(b[last] !== null) : 0) || (b[2] as number) - (a[2] as number));
  }
  const means = under || !t ? "of the samples that pass the filter, by period" : share!.means;
  const any = (i: number): string[] => (rows.some((r) => r[i] !== null) ? [] : ["data"]);
  const unit = cube && (!t || event === cube.event) ? cube.unit : "";
  return { event, usual, events, summed: !!under || !t, merged: true, table: new Table("functions", "", "function", 0, false, false, [
    { key: "function", head: "function", kind: "text", flags: ["key", "flex"], means: "its name" },
    { key: "dso", head: "of", kind: "text", flags: ["key"], means: "its file" },
    { key: "share", head: "share", kind: "share", flags: ["error", "heat"], means }, { key: "share_error", kind: "error", of: "share" },
    { key: "total", head: "with callees", kind: "share", flags: ["error", ...any(4)], means: "in it and in what it calls" }, { key: "total_error", kind: "error", of: "total" },
    { key: "caller", head: "called from", kind: "text", flags: any(6), means: "who called it in most of its samples" },
    { key: "at", head: "hottest line", kind: "text", flags: any(7), means: "the line with most of its samples" },
    { key: "samples", head: "samples", kind: "count", means: "in the function itself" },
    { key: "period", head: "period", kind: "amount", flags: ["data"], means: "the sum over its samples", unit },
    { key: "comm", head: "programs", kind: "text", flags: ["data"], means: "names of the threads that ran it, the busiest first" },
    ...extra.map((x) => ({ key: x.key, head: x.head, kind: x.kind, unit: x.unit, means: x.means, flags: [...x.flags] })),
  ], rows, strings) };
}
// Columns of the account beside those of the functions.
function account(c: Context): { table: Table; rowOf: Map<string, number>; nodes: Column[]; cycles: Column | undefined } | null {
  const doc = c.doc("account");
  const table = findTable(doc, "rows");
  const nodes = findTable(doc, "nodes");
  const fn = table?.column("function");
  if (!table || !nodes || !fn) return null;
  const rowOf = new Map<string, number>();
  for (let r = 0; r < table.length; r++) {
    const key = `${table.text(r, fn)}\n${table.text(r, table.column("dso"))}`;
    if (!rowOf.has(key)) rowOf.set(key, r);
  }
  const names = new Set(Array.from({ length: nodes.length }, (_, r) => nodes.text(r, nodes.column("node"))));
  return { table, rowOf, nodes: table.columns.filter((x) => names.has(x.key)), cycles: table.column("cycles") };
}
function stack(c: Context, t: Table): Extra[] {
  const a = account(c);
  const fn = t.column("function");
  if (!a || !fn) return [];
  const parents = nodeParents(c);
  const nodes = findTable(c.doc("account"), "nodes")!;
  const rowOf = new Map(Array.from({ length: nodes.length }, (_, r) => [nodes.text(r, nodes.column("node")), r]));
  const is = (n: Column, key: string): string => nodes.text(rowOf.get(n.key) ?? 0, nodes.column(key));
  // the parts of a function's own cycles: neither their sums nor what is of the whole recording
  const parts = new Set(a.nodes.filter((n) => is(n, "part") && n.key.toLowerCase() !== is(n, "part")).map((n) => is(n, "part")));
  const top = a.nodes.filter((n) => n.key !== "Cycles" && n !== a.cycles && is(n, "whole") !== "true" && (!is(n, "unit") || is(n, "unit") === "cycles") && !["info", "halted"].includes(is(n, "part")) &&
    !parts.has(n.key.toLowerCase()) && (!parents.has(n.key) || !a.table.byKey.has(parents.get(n.key)!) || parents.get(n.key) === a.cycles?.key));
  if (!Array.from({ length: Math.min(t.length, 200) }, (_, r) => r).some((r) => a.rowOf.has(`${t.text(r, fn)}\n${t.text(r, t.column("dso"))}`))) return [];
  return [{
    head: "mostly", after: "share", means: "what the function's cycles went into, by the tree's first level; the largest is named",
    draw(row, td) {
      td.className = "stack";
      const r = a.rowOf.get(`${t.text(row, fn)}\n${t.text(row, t.column("dso"))}`);
      if (r === undefined) return;
      const parts = top.map((n) => ({ name: n.head, v: a.table.number(r, n) })).filter((p) => p.v > 0).sort((x, y) => y.v - x.v);
      const sum = parts.reduce((x, p) => x + p.v, 0);
      if (!sum) return;
      const bar = h("span", { class: "track", role: "img", "aria-label": parts.map((p) => `${p.name} ${percent(p.v / sum)}`).join(", "), title: parts.map((p) => `${p.name} ${percent(p.v / sum)}`).join("\n") });
      for (const p of parts) {
        const i = h("i");
        i.style.width = `${(p.v / sum) * 100}%`;
        i.style.backgroundColor = nodeColour(p.name);
        bar.append(i);
      }
      td.append(bar, safe(` ${parts[0].name} ${percent(parts[0].v / sum)}`));
    },
  }];
}
// In a narrow window the share is seen, too.
const BRIEF = ["function", "share", "caller", "at"], WHOLE = ["function", "dso", "share", "total", "samples", "caller", "at"];
function inOrder(keys: string[]): string[] { return innerWidth > 600 ? keys : ["function", "share", ...keys.filter((k) => k !== "function" && k !== "share")]; }
// The file that most of the first ten functions are of.
export function usualFile(t: Table): string {
  const files = Array.from({ length: Math.min(10, t.length) }, (_, r) => t.text(r, t.column("dso")));
  return files.reduce((a, x) => (files.filter((y) => y === x).length > files.filter((y) => y === a).length ? x : a), files[0] ?? "");
}
export function functionsGrid(c: Context, tall: boolean, most?: number): HTMLElement {
  const f = functionTable(c);
  if (!f) return h("p", null, "This page has no table of functions.");
  const t = f.table;
  const fn = t.column("function");
  const dso = t.column("dso");
  const of = t.column("event");
  const folded = t.column("folded");
  const a = account(c);
  let wanted: number[] | undefined;
  if (!f.merged && f.events.length > 1) wanted = Array.from({ length: t.length }, (_, r) => r).filter((r) => t.text(r, of) === f.event);
  if (most) wanted = (wanted ?? Array.from({ length: t.length }, (_, r) => r)).slice(0, most);
  let nodeOnly: ((row: number) => boolean) | undefined;
  if (state.node && a && fn && a.table.byKey.has(state.node)) {
    const n = a.table.byKey.get(state.node)!;
    nodeOnly = (row) => {
      const r = a.rowOf.get(`${t.text(row, fn)}\n${t.text(row, dso)}`);
      return r !== undefined && a.table.number(r, n) > 0;
    };
  }
  const seen = t.columns.filter((x) => !x.flags.has("data"));
  const ordered = inOrder(most ? BRIEF : WHOLE).flatMap((k) => seen.find((x) => x.key === k) ?? []);
  const columns = !f.merged ? undefined : most ? ordered : [...ordered, ...seen.filter((x) => !ordered.includes(x))];
  return new Grid({
    table: t, label: "functions", tall, rows: wanted, columns,
    rowFilter: nodeOnly, summed: f.summed, extra: stack(c, t), parents: nodeParents(c), plain: !!most,
    aside: most ? (r) => (t.text(r, dso) === usualFile(t) ? "" : baseName(t.text(r, dso)).replace(/@inode\d+$/, "")) : undefined,
    grey: (r) => !!folded && t.value(r, folded) !== null,
    link: (r) => (fn ? functionLink(c, t.text(r, fn), t.text(r, dso)) : null),
  }).el;
}
export const functionsView: View = {
  id: "functions", title: "functions",
  draw(root, c) {
    const doc = c.doc("functions");
    root.append(heading("Functions"));
    const note = filtered() ? cubeNote(c) : null;
    const f = functionTable(c);
    if (f?.merged && f.event) root.append(h("p", { class: "dim" }, `Shares are of ${safe(f.event)}${c.cube && f.event === c.cube.event && c.cube.unit !== "events" ? ` (${c.cube.unit === "ns" ? "time" : c.cube.unit})` : ""}. Threads of one function are one row; "all columns" has the programs.`));
    if (filtered() && f && !f.summed && (state.process || state.thread || state.cpu || state.time)) root.append(h("p", { class: "binned" }, `Only samples of ${safe(c.cube?.event ?? "no event")} are known by thread, CPU and time: these figures are of the whole recording.`));
    if (filtered() && c.cube && f?.summed) {
      const s = c.cube.sums(state);
      root.append(h("p", { class: "binned" }, `${percent(s.period / (c.cube.raw.period || 1))} of the samples' periods pass the filter (${group(s.count)} samples). Errors are those of a share of so many samples.`));
    }
    if (note) root.append(note);
    root.append(h("section", { class: "functions" }, functionsGrid(c, true)));
    const a = c.doc("account");
    const t = findTable(a, "rows");
    if (a && t && t.column("function")) root.append(h("h3", null, "what their cycles went into"), h("p", { class: "dim" }, "+ opens the parts of a column in place."),
      new Grid({ table: t, label: "cycle accounting by function", parents: nodeParents(c, a), link: (r) => functionLink(c, t.text(r, t.column("function")), t.text(r, t.column("dso"))) }).el);
    if (doc) {
      root.append(lines(doc));
      const next = nextCommands(doc);
      if (next) root.append(next);
    }
  },
};
