// SPDX-License-Identifier: BSD-3-Clause
// context - what views share: the page's data, the cube, links into the page.
import type { Cube } from "../cube";
import { findTable, type Column, type Doc, type FunctionPage, type Page, type Table } from "../data";
import { h, safe } from "../dom";
import { baseName, group, seconds } from "../format";
import { state, type State } from "../state";
import type { Timeline } from "../timeline";

export interface Context {
  page: Page;
  cube: Cube | null;
  wall: Cube | null; // the time of all threads, on the CPU and off it
  timeline: Timeline | null; // what ran when, in short bins
  doc: (view: string) => Doc | undefined;
  functionAt: Map<string, number>; // "name\ndso" -> its page
  pages: Set<string>; // ids of the views that the page has
}
export interface View {
  id: string; title: string; // of the navigation
  draw: (root: HTMLElement, c: Context) => void;
  keys?: (key: string) => boolean; // true: taken
}

export function hashOf(change: Partial<State>): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries({ ...state, ...change })) if (v) p.set(k, v);
  return "#" + p.toString();
}
export function functionLink(c: Context, name: string, dso: string): string | null {
  const at = findFunction(c, name, dso);
  return at === undefined ? null : hashOf({ view: "code", fn: `${c.page.functions[at].name}@${c.page.functions[at].dso}`, sort: "", search: "" });
}
export function findFunction(c: Context, name: string, dso: string): number | undefined {
  return c.functionAt.get(`${name}\n${dso}`) ?? (dso ? c.functionAt.get(`${name}\n${baseName(dso)}`) : undefined) ?? c.functionAt.get(`${name}\n`);
}
export function currentFunction(c: Context): FunctionPage | undefined {
  return c.page.functions.find((f) => `${f.name}@${f.dso}` === state.fn) ?? c.page.functions[0];
}
// The table of the cycle accounting tree, with its node and value.
export function treeTables(c: Context): { doc: Doc; table: Table }[] {
  const out: { doc: Doc; table: Table }[] = [];
  for (const doc of c.page.docs) for (const t of doc.view.startsWith("account_") ? [] : doc.tables) {
    const share = t.column("share", "value");
    if (!share || !t.byKey.has("node") || !(t.byKey.has("parent") || t.name === "tree")) continue;
    // an account whose events were not recorded has no more than its root
    let known = 0;
    for (let r = 0; r < t.length && known < 2; r++) known += t.value(r, share) !== null ? 1 : 0;
    if (known > 1 || doc.view === "tree") out.push({ doc, table: t });
  }
  return out;
}
// Column of a table -> the column that it is a part of, by the account's nodes.
export function nodeParents(c: Context, doc?: Doc): Map<string, string> {
  const m = new Map<string, string>();
  for (const d of doc ? [doc, ...c.page.docs] : c.page.docs) {
    const t = findTable(d, "nodes");
    const node = t?.column("node");
    const parent = t?.column("parent");
    if (!t || !node || !parent) continue;
    for (let i = 0; i < t.length; i++) if (t.text(i, parent) && !m.has(t.text(i, node))) m.set(t.text(i, node), t.text(i, parent));
  }
  return m;
}
// What programs get beside a figure opens in place beneath it.
const BESIDE: Record<string, string[]> = {
  runs: ["hits", "in", "out"], cycles: ["cycles_sd", "timed", "p50", "p95", "tail", "modes"], p50: ["p50_low", "p50_high"], p95: ["p95_low", "p95_high"],
  mispredicted_share: ["mispredicted", "predicted"], trips: ["entries", "visits", "cut"], address: ["end", "size"], share: ["samples", "period"],
};
export function partsOf(c: Context, d: Doc, t: Table): Map<string, string> {
  const m = nodeParents(c, d);
  if (!t.data) for (const [up, keys] of Object.entries(BESIDE)) for (const k of keys)
    if (t.byKey.has(up) && t.column(k)?.flags.has("data") && !m.has(k)) m.set(k, up);
  return m;
}
export function heading(text: string, ...more: (Node | null)[]): HTMLElement {
  return h("h2", null, safe(text), ...more);
}
// What the page has as its title is not said again.
const told = new Set<string>();
export function setTitle(title: string, docs: Doc[]): void {
  told.add(title);
  const seen = new Set<string>(); // the command and the machine are lines of all documents
  for (const l of docs.flatMap((d) => d.titles)) if (!l.label) (seen.has(l.text) ? told : seen).add(l.text);
}
const ALIKE = 4;
export function lost(d: Doc): [Column, number][] {
  return d.tables.flatMap((t) => t.columns.filter((c) => c.flags.has("loss") && !d.facts.some((f) => f.label.includes(c.head)))
    .flatMap((c) => Array.from({ length: t.length }, (_, r) => [c, t.number(r, c)] as [Column, number]).filter((x) => x[1] > 0)));
}
// What must be seen before figures are believed.
export function losses(d: Doc): string[] {
  return [...d.facts.filter((f) => f.marked).map((f) => `${f.label}: ${f.text}`), ...lost(d).map(([c, n]) => `${c.head}: ${n}, ${c.means}`)];
}
export function lines(d: Doc): HTMLElement {
  const dl = h("dl", { class: "facts" });
  const said = new Map<string, number>();
  let more: HTMLElement | null = null; // of many lines alike the first are enough
  const put = (label: string, text: string, bad: boolean): void => {
    const n = (said.get(label) ?? 0) + 1;
    const line = h("dd", { class: bad ? "bad" : null }, bad ? "! " : null, safe(text));
    said.set(label, n);
    if (n <= ALIKE || bad) dl.append(h("dt", null, safe(label)), line);
    else {
      if (n === ALIKE + 1) dl.append(h("dt", null, safe(label)), h("dd", null, h("details", null, h("summary", null), (more = h("dl", { class: "plain" })))));
      more!.append(line);
      more!.previousSibling!.textContent = `${n - ALIKE} more`;
    }
  };
  for (const l of d.titles) if (l.label) put(l.label, l.text, false);
  for (const l of d.facts) put(l.label, l.text, l.marked);
  for (const n of d.notes) put("note", n, false);
  for (const [c, n] of lost(d)) put(c.head, `${n}: ${c.means}`, true);
  const titles = d.titles.filter((l) => !l.label && !told.has(l.text));
  return h("div", null, ...titles.map((l) => h("p", { class: l.marked ? "strong" : null }, safe(l.text))), dl.firstChild ? dl : null);
}
export function nextCommands(d: Doc): HTMLElement | null {
  if (!d.next.length) return null;
  return h("section", { class: "next" }, h("h3", null, "next"), h("ul", null, ...d.next.map((n) => h("li", null, h("code", null, safe(n.command)), ` ${safe(n.why)}`))));
}
export function cubeNote(c: Context, cube = c.cube, time = state.time): HTMLElement | null {
  if (!cube) return null;
  const parts: string[] = [];
  if (time && cube.hasTime) {
    const [a, b] = cube.binsOf(time);
    parts.push(`time is in ${cube.raw.bins} bins of ${(cube.width * 1000).toPrecision(3)} ms: shown are bins ${a} to ${b}`);
  }
  if (cube.raw.folded) parts.push(`${cube === c.wall ? seconds(cube.raw.folded / 1e9) : `${group(cube.raw.folded)} samples`} are in rare chains that were folded into one`);
  if (cube === c.cube && state.event && state.event !== cube.event) parts.push(`call chains and times are of ${cube.event}: there are none of ${state.event}`);
  if (cube === c.wall && state.cpu) parts.push("time off the CPU belongs to no CPU: the filter on CPU does not reach this graph");
  return parts.length ? h("p", { class: "binned" }, parts.join("; ") + ".") : null;
}
