// SPDX-License-Identifier: BSD-3-Clause
// functions - the table of functions: as recorded without a filter; with one the shares are summed
// again from the cube, and what the cube does not know stays that of the whole recording.
import { nodeColour } from "../colour";
import { shareError } from "../cube";
import { findTable, Table, type Column } from "../data";
import { h, safe } from "../dom";
import { percent } from "../format";
import { Grid, type Extra } from "../grid";
import { filtered, state } from "../state";
import { cubeNote, functionLink, heading, lines, nextCommands, nodeParents, type Context, type View } from "./context";

const KEYS = { share: { key: "share", head: "share", kind: "share", flags: ["error", "heat"], means: "of the samples that pass the filter, by period" } } as const;

// The table of a filter: function, dso, share, share with callees, samples.
export function filteredTable(c: Context): Table | null {
  const cube = c.cube;
  if (!cube) return null;
  const sums = cube.sums(state);
  const index = new Map<string, number>();
  const strings: string[] = [];
  const text = (s: string): number => {
    if (!index.has(s)) { index.set(s, strings.length); strings.push(s); }
    return index.get(s)!;
  };
  const rows = cube.functions(state).map((f) => {
    const share = sums.period ? f.self / sums.period : 0;
    const total = sums.period ? f.total / sums.period : 0;
    return [share, shareError(share, sums.count), total, shareError(total, sums.count), f.samples,
      text(cube.frames[f.frame].name || "[unknown]"), text(cube.frames[f.frame].dso)];
  });
  return new Table("functions", "", "function", 0, false, false, [
    { ...KEYS.share, flags: [...KEYS.share.flags] }, { key: "share_error", kind: "error", of: "share" },
    { key: "total", head: "with callees", kind: "share", flags: ["error", "heat"], means: "in it and in what it calls, of the samples that pass the filter" }, { key: "total_error", kind: "error", of: "total" },
    { key: "samples", head: "samples", kind: "count", means: "in the function itself, that pass the filter" },
    { key: "function", head: "function", kind: "text", flags: ["key", "flex"], means: "its name" },
    { key: "dso", head: "of", kind: "text", flags: ["key", "flex"], means: "its file" },
  ], rows, strings);
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
  return [{
    head: "mostly", means: "what the function's cycles went into, by the tree's first level; the largest is named",
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
// Of several events the one that is shown; the others are a choice away.
let event = "";
export function functionsGrid(c: Context, tall: boolean, rows?: number): HTMLElement {
  const box = h("div");
  fill(box, c, tall, rows);
  return box;
}
function fill(box: HTMLElement, c: Context, tall: boolean, most?: number): void {
  const doc = c.doc("functions");
  const recorded = findTable(doc, "rows", "functions");
  const cubeFilter = filtered() && c.cube && (state.focus || state.hide || state.process || state.thread || state.cpu || state.time);
  const t = (cubeFilter || !recorded ? filteredTable(c) : recorded) ?? recorded;
  box.replaceChildren();
  if (!t) {
    box.append(h("p", null, "This page has no table of functions."));
    return;
  }
  const of = t.column("event");
  const events = of ? [...new Set(Array.from({ length: t.length }, (_, r) => t.text(r, of)))] : [];
  if (events.length > 1) {
    if (!events.includes(event)) event = events.find((e) => e === c.cube?.event) ?? events[0];
    const pick = h("select", { change: () => { event = pick.value; fill(box, c, tall, most); } }, ...events.map((e) => h("option", { value: e, selected: e === event }, safe(e))));
    box.append(h("p", { class: "tools" }, h("label", null, "event ", pick), h("span", null, ` ${events.length} events were sampled`)));
  }
  const fn = t.column("function");
  const dso = t.column("dso");
  const folded = t.column("folded");
  const a = account(c);
  let nodeOnly: ((row: number) => boolean) | undefined;
  let wanted = Array.from({ length: t.length }, (_, r) => r);
  if (events.length > 1) wanted = wanted.filter((r) => t.text(r, of) === event);
  if (most) wanted = wanted.slice(0, most);
  if (state.node && a && fn && a.table.byKey.has(state.node)) {
    const n = a.table.byKey.get(state.node)!;
    nodeOnly = (row) => {
      const r = a.rowOf.get(`${t.text(row, fn)}\n${t.text(row, dso)}`);
      return r !== undefined && a.table.number(r, n) > 0;
    };
  }
  box.append(new Grid({
    table: t, label: "functions", tall, rows: most || events.length > 1 ? wanted : undefined,
    rowFilter: nodeOnly, summed: t !== recorded, extra: stack(c, t), parents: nodeParents(c), plain: !!most,
    grey: (r) => !!folded && t.value(r, folded) !== null,
    link: (r) => (fn ? functionLink(c, t.text(r, fn), t.text(r, dso)) : null),
  }).el);
}
export const functionsView: View = {
  id: "functions", title: "functions",
  draw(root, c) {
    const doc = c.doc("functions");
    root.append(heading("Functions"));
    const note = filtered() ? cubeNote(c) : null;
    if (filtered() && c.cube) {
      const s = c.cube.sums(state);
      root.append(h("p", { class: "binned" }, `${percent(s.period / (c.cube.raw.period || 1))} of the samples' periods pass the filter (${s.count.toLocaleString("en")} samples). Errors are those of a share of so many samples.`));
    }
    if (note) root.append(note);
    root.append(functionsGrid(c, true));
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
