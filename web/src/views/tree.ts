// SPDX-License-Identifier: BSD-3-Clause
// tree - the cycle accounting tree: an icicle and an indented table in lock-step, with error bars.
// A value that cannot be trusted is grey, and its reason is written beside it.
import { nodeColour } from "../colour";
import type { Column, Table } from "../data";
import { clear, h, safe, svg, swatch, tip } from "../dom";
import { percent, seconds, showError } from "../format";
import { Grid } from "../grid";
import { go, state } from "../state";
import { explainRow } from "../why";
import { heading, lines, nextCommands, treeTables, type View } from "./context";

interface Node { row: number; name: string; share: number; half: number; why: string; doubt: string; children: Node[]; parent: Node | null; level: number; path: boolean }

const DOUBTS = ["overlap", "disagrees"];
export function buildTree(t: Table): Node[] {
  const key = t.column("node")!;
  const parent = t.column("parent");
  const share = t.column("share") ?? t.column("value")!;
  const others = t.columns.filter((c) => c.flags.has("key") && c !== key);
  const id = (r: number, name: string): string => JSON.stringify([name, ...others.map((c) => t.value(r, c))]);
  const of = new Map<string, Node>();
  const nodes: Node[] = [];
  for (let r = 0; r < t.length; r++) {
    const name = t.text(r, key);
    const v = share.kind === "share" || t.kindOf(r, share) === "share" ? t.number(r, share) : NaN;
    const value = t.column("value");
    const why = t.why(r, share) || (value ? t.why(r, value) : "");
    const doubt = DOUBTS.filter((d) => t.value(r, t.column(d)) === true).map((d) => t.column(d)!.means).join("; ");
    const n: Node = { row: r, name, share: v, half: t.error(r, share), why, doubt, children: [], parent: null, level: 0, path: t.value(r, t.column("path")) === true };
    of.set(id(r, name), n);
    nodes.push(n);
  }
  for (const n of nodes) {
    const p = parent && t.text(n.row, parent) ? of.get(id(n.row, t.text(n.row, parent))) : undefined;
    if (p && p !== n) { n.parent = p; p.children.push(n); }
  }
  // An account divides cycles into parts; its branches belong to the part that they name.
  const part = t.column("part");
  if (part) for (const n of nodes) {
    const name = t.text(n.row, part);
    const p = nodes.find((x) => !x.parent && x.name.toLowerCase() === name && x !== n);
    if (!n.parent && p && n.name.toLowerCase() !== name) { n.parent = p; p.children.push(n); }
  }
  const level = (n: Node, l: number): void => { n.level = l; if (l < 60) n.children.forEach((x) => level(x, l + 1)); };
  let roots = nodes.filter((n) => !n.parent);
  if (part && roots.some((n) => n.share > 0 && n.name !== "Cycles")) roots = roots.filter((n) => n.name !== "Cycles"); // the whole of the others
  roots.forEach((n) => level(n, 0));
  return roots;
}
export function unreliable(n: Node): boolean { return isNaN(n.share) || !!n.doubt || (!isNaN(n.half) && n.half >= Math.abs(n.share)); }

export function icicle(t: Table, onPick: (row: number) => void): { el: HTMLElement; mark: (row: number) => void; fitted: boolean } {
  let fitted = false;
  const box = h("div", { class: "icicle", role: "group", "aria-label": "icicle of the tree" });
  const of = new Map<number, HTMLElement>();
  const roots = buildTree(t);
  const put = (n: Node, x: number, w: number): void => {
    const shown = `${n.name.replace(/.*\./, "")} ${percent(n.share)}`;
    const e = h("button", { type: "button", tabindex: -1, class: (unreliable(n) ? "doubt " : "") + (n.path ? "path" : ""), "aria-label": shown }, h("span", null, safe(shown)));
    e.style.left = `${x * 100}%`;
    e.style.width = `${w * 100}%`;
    e.style.top = `${n.level * 30}px`;
    e.style.backgroundColor = unreliable(n) ? "" : nodeColour(n.name.replace(/.*\./, ""));
    const formula = t.column("formula");
    e.addEventListener("mousemove", (ev) => tip(`${n.name}  ${percent(n.share)} ${showError("share", n.share, n.half)}${n.why ? `\n${n.why}` : ""}${n.doubt ? `\nin doubt: ${n.doubt}` : ""}${formula && t.text(n.row, formula) ? `\n= ${t.text(n.row, formula)}` : ""}`, ev.clientX, ev.clientY));
    e.addEventListener("mouseleave", () => tip(null));
    e.addEventListener("click", () => onPick(n.row));
    of.set(n.row, e);
    box.append(e);
    place(n.children, x, w, n.share);
  };
  const place = (nodes: Node[], x: number, w: number, whole: number): void => {
    const shares = nodes.map((n) => (n.share > 0 ? n.share : 0));
    const sum = shares.reduce((a, b) => a + b, 0);
    if (sum > (whole > 0 ? whole : 1e-9) * 1.05) fitted = true;
    const scale = w / Math.max(sum, whole > 0 ? whole : 1e-9); // parts that exceed their whole are made to fit
    let at = x;
    nodes.forEach((n, i) => {
      if (shares[i] * scale > 0.0015) put(n, at, shares[i] * scale);
      at += shares[i] * scale;
    });
  };
  place(roots, 0, 1, 1);
  const deep = Math.max(0, ...[...of.values()].map((e) => parseFloat(e.style.top)));
  box.style.height = `${deep + 30}px`;
  return { el: box, fitted, mark(row) { of.forEach((e, r) => e.classList.toggle("at", r === row)); } };
}
// The error bar and the value as a drawing in a cell.
export function errorBar(t: Table, c: Column): (row: number, td: HTMLElement) => void {
  return (row, td) => {
    td.className = "bar";
    const v = t.number(row, c);
    if (isNaN(v)) {
      const value = t.column("value");
      td.append(h("span", { class: "reason" }, safe(t.why(row, c) || (value ? t.why(row, value) : ""))));
      return;
    }
    const half = t.error(row, c);
    const whole = h("span", { class: "track", role: "img", "aria-label": `${percent(v)} ${showError("share", v, half)}` });
    const fill = h("i", { class: "fill" });
    fill.style.width = `${Math.max(0, Math.min(1, v)) * 100}%`;
    whole.append(fill);
    if (!isNaN(half)) {
      const e = h("i", { class: "whisker" });
      e.style.left = `${Math.max(0, v - half) * 100}%`;
      e.style.width = `${Math.min(1, Math.min(v, half) + half) * 100}%`;
      whole.append(e);
    }
    td.append(whole);
    const doubt = DOUBTS.filter((d) => t.value(row, t.column(d)) === true).map((d) => t.column(d)!.means).join("; ");
    if (doubt) td.append(h("span", { class: "reason" }, ` ${safe(doubt)}`));
  };
}

// The figure and what says how far it can be trusted first; the rest is in "all columns" and in e.
function columns(t: Table): Column[] {
  const any = (c: Column): boolean => t.rows.some((r) => r[c.at] !== null && r[c.at] !== undefined && r[c.at] !== false);
  const keys = t.columns.filter((c) => c.flags.has("key") && c.key !== "node");
  const wanted = ["node", "share", "value", "unit", "counted", "while_open", "path", "mark", "overlap", "disagrees", "cover", "samples", "formula"].map((k) => t.column(k));
  const shown = [wanted[0], ...keys, ...wanted.slice(1)].filter((c): c is Column => !!c && (any(c) || c.key === "value") && !(c.key === "path" && c.kind === "text"));
  return shown;
}

// The rows of one interval of a tree that was measured in intervals, and all intervals as bars of
// its first level to choose from.
let interval = 0;
function rowsAt(t: Table, at: Column, time: number): Table {
  return Object.assign(Object.create(Object.getPrototypeOf(t)) as Table, t, { rows: t.rows.filter((_, r) => t.number(r, at) === time) });
}
function overTime(t: Table, at: Column, times: number[], pick: (i: number) => void): HTMLElement {
  const key = t.column("node")!, share = t.column("share") ?? t.column("value")!, parent = t.column("parent"), where = t.column("where");
  const W = 1000, H = 120, w = W / times.length;
  const s = svg("svg", { class: "overtime", viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": `the first level of the tree in ${times.length} intervals` });
  const index = new Map(times.map((x, i) => [x, i]));
  const first = where && t.length ? t.text(0, where) : "";
  const high = new Float64Array(times.length);
  const names = new Set<string>();
  for (let r = 0; r < t.length; r++) {
    const v = t.number(r, share);
    if ((parent && t.text(r, parent)) || !(v > 0) || (where && t.text(r, where) !== first)) continue;
    const i = index.get(t.number(r, at))!, name = t.text(r, key);
    const d = Math.min(v, 1 - high[i]) * H;
    const bar = svg("rect", { x: i * w + w * 0.04, y: H - high[i] * H - d, width: w * 0.92, height: Math.max(0, d) }, svg("title", null, safe(`${seconds(times[i])}: ${name} ${percent(v)} ${showError("share", v, t.error(r, share))}`)));
    bar.style.fill = nodeColour(name);
    bar.addEventListener("click", () => pick(i));
    high[i] += d / H;
    names.add(name);
    s.append(bar);
  }
  s.append(svg("rect", { class: "chosen", x: interval * w, y: 0.5, width: w, height: H - 1 }));
  const choose = h("select", { change: () => pick(choose.selectedIndex) }, ...times.map((x, i) => h("option", { selected: i === interval }, seconds(x))));
  const legend = h("p", { class: "legend" }, ...[...names].map((n) => swatch(nodeColour(n), n)));
  return h("section", null, h("h3", null, `over time${first ? ` (${safe(first)})` : ""}`), s, legend,
    h("p", { class: "tools" }, h("label", null, "interval that ends at ", choose), h("span", null, "a bar chooses it")));
}

let which = 0;
export const treeView: View = {
  id: "tree", title: "tree",
  draw(root, c) {
    const all = treeTables(c);
    if (which >= all.length) which = 0;
    const pick = h("div", { class: "pick", role: "group", "aria-label": "which tree" });
    if (all.length > 1) all.forEach((x, i) => pick.append(h("button", { type: "button", "aria-pressed": String(i === which), click: () => { which = i; clear(root); treeView.draw(root, c); } }, `${x.doc.view}: ${x.table.title || x.table.name}`)));
    const { doc, table: whole } = all[which];
    root.append(heading("Where the cycles went"), pick);
    const at = whole.column("time");
    const times = at ? [...new Set(Array.from({ length: whole.length }, (_, r) => whole.number(r, at)).filter((x) => !isNaN(x)))].sort((a, b) => a - b) : [];
    if (interval >= times.length) interval = 0;
    if (times.length > 1) root.append(overTime(whole, at!, times, (i) => { interval = i; clear(root); treeView.draw(root, c); }));
    const table = times.length > 1 ? rowsAt(whole, at!, times[interval]) : whole;
    const share = table.column("share") ?? table.column("value")!;
    const grid = new Grid({
      table, label: "tree", columns: columns(table), grey: (r) => table.value(r, share) === null || DOUBTS.some((d) => table.value(r, table.column(d)) === true),
      extra: [{ head: "error bar", after: share.key, means: "the value and its 95 % interval", draw: errorBar(table, share) }],
      select: (r) => { ice.mark(r); },
    });
    const node = table.column("node")!;
    const ice = icicle(table, (r) => {
      grid.activate();
      grid.moveToRow(r);
      ice.mark(r);
      go({ node: state.node === table.text(r, node) ? "" : table.text(r, node) });
    });
    root.append(ice.el, h("p", { class: "dim" }, "A box: click filters by the node. A row: e shows formula, counted share and reason. Hatched: not reliable; the reason stands in the row." + (ice.fitted ? " Parts that exceed their whole (penalties that overlap in time) are drawn smaller, to fit into it." : "")), grid.el);
    if (state.node) for (let r = 0; r < table.length; r++) if (table.text(r, node) === state.node) { grid.moveToRow(r, false); ice.mark(r); }
    root.append(h("p", null, h("button", { type: "button", class: "why", click: () => grid.row_ !== undefined && explainRow(table, grid.row_, "tree") }, "why?")));
    root.append(lines(doc));
    const next = nextCommands(doc);
    if (next) root.append(next);
  },
};
