// SPDX-License-Identifier: BSD-3-Clause
// times - distributions that branch stacks give: cycles of blocks and of iterations, trips of loops,
// as bars in a cell. Classes of cycles: 0 to 15 exactly, then four to an octave.
import type { Doc, Table } from "./data";
import { findTable } from "./data";
import { h, safe, svg } from "./dom";
import { baseName, group, percent } from "./format";
import { Grid, type Extra } from "./grid";

export interface Class { from: number; n: number }
const W = 180, H = 22;

const CLASSES = 64;
function classOf(cycles: number): number {
  if (cycles < 16) return cycles;
  const octave = Math.floor(Math.log2(cycles));
  return Math.min(CLASSES - 1, 16 + 4 * (octave - 4) + Math.floor(cycles / 2 ** (octave - 2)) - 4);
}
function classFrom(k: number): number {
  return k < 16 ? k : (4 + ((k - 16) % 4)) * 2 ** (2 + Math.floor((k - 16) / 4));
}
export const nameOf = (t: Table, r: number, keys: string[]): string => keys.map((k) => t.text(r, t.column(k))).join("\n");

// The rows of a table of classes, by what they are of: a block, a loop, a latency.
export function classes(t: Table | undefined, keys: string[], from: string, n: string): Map<string, Class[]> {
  const m = new Map<string, Class[]>();
  for (let r = 0; t && r < t.length; r++) {
    const key = nameOf(t, r, keys);
    if (!m.has(key)) m.set(key, []);
    m.get(key)!.push({ from: t.number(r, t.column(from)), n: t.number(r, t.column(n)) });
  }
  return m;
}
// `index` and `name`: where on the axis a class stands, and what it is called.
export function bars(list: Class[], unit: string, index: (from: number) => number, name: (k: number) => string): SVGElement {
  const sum = list.reduce((a, x) => a + x.n, 0) || 1;
  const most = Math.max(...list.map((x) => x.n));
  const first = index(list[0].from);
  const places = Math.max(8, index(list[list.length - 1].from) - first + 1);
  const words = list.map((x) => `${name(index(x.from))} ${unit}: ${percent(x.n / sum)} (${group(x.n)})`);
  const s = svg("svg", { class: "times", width: W, height: H, role: "img", "aria-label": words.join(", ") },
    svg("line", { x1: 0, x2: W, y1: H - 0.5, y2: H - 0.5 }));
  list.forEach((x, i) => {
    const high = Math.max(1.5, (x.n / most) * (H - 3));
    s.append(svg("rect", { x: ((index(x.from) - first) / places) * W + 0.5, y: H - 1 - high, width: Math.max(2, W / places - 1), height: high },
      svg("title", null, words[i])));
  });
  return s;
}
const cycles = (list: Class[]): SVGElement => bars(list, "cycles", classOf, (k) => (classFrom(k + 1) - classFrom(k) > 1 ? `${classFrom(k)}-${classFrom(k + 1) - 1}` : String(classFrom(k))));
const trips = (list: Class[]): SVGElement => bars(list, "trips", (x) => x, String);

// The columns that a table of blocks or loops is shown with.
export function timeColumns(d: Doc, t: Table): Extra[] {
  const [name, number, from, n, head, draw] = t.name === "blocks" ? ["times", "block", "cycles", "times", "cycles of a run", cycles] as const
    : t.name === "iterations" ? ["iteration_times", "loop", "cycles", "times", "cycles of an iteration", cycles] as const
    : ["trips", "loop", "trips", "visits", "trips of a visit", trips] as const;
  const keys = ["dso", "function", number];
  const m = ["blocks", "iterations", "loops"].includes(t.name) ? classes(findTable(d, name), keys, from, n) : new Map<string, Class[]>();
  if (!m.size || !t.byKey.has(number)) return [];
  return [{
    head, means: "how often which figure was seen: one bar is one value, or a class of cycles (four to an octave from 16 on); the least at the left",
    draw(row, td) {
      const list = m.get(nameOf(t, row, keys));
      td.className = "dist";
      if (list) td.append(h("span", { class: "dim" }, group(list[0].from)), draw(list), h("span", { class: "dim" }, group(list[list.length - 1].from)));
    },
  }];
}
// Blocks and loops of one function, each with its distribution. `pick`: the address of a block.
export function timesOf(d: Doc | undefined, name: string, dso: string, pick: (address: string) => void): HTMLElement | null {
  const box = h("section");
  for (const [table, title, keys] of [
    ["blocks", "cycles of blocks that ran alone", ["block", "address", "line", "insns", "timed", "cycles", "p50", "p95", "modes"]],
    ["iterations", "cycles of an iteration", ["loop", "timed", "cycles", "cycles_sd", "p50", "p95", "modes"]],
    ["loops", "trips of loops that stacks show whole", ["loop", "head", "depth", "entries", "trips", "visits", "cut"]],
  ] as const) {
    const t = findTable(d, table);
    const extra = d && t ? timeColumns(d, t) : [];
    if (!t || !extra.length) continue;
    const base = baseName(dso);
    const rows = Array.from({ length: t.length }, (_, r) => r).filter((r) => t.text(r, t.column("function")) === name && baseName(t.text(r, t.column("dso"))) === base &&
      (table !== "blocks" || t.number(r, t.column("timed")) > 0) && (table !== "loops" || t.number(r, t.column("visits")) > 0));
    if (!rows.length) continue;
    if (table === "blocks") rows.sort((a, b) => t.number(a, t.column("block")) - t.number(b, t.column("block")));
    box.append(h("h3", null, title), new Grid({
      table: t, label: safe(`${title} of ${name}`), rows, extra, columns: keys.map((k) => t.column(k)).filter((x) => !!x), sortable: false, plain: true,
      select: (r) => table === "blocks" && pick(t.text(r, t.column("address"))),
    }).el);
  }
  return box.firstChild ? box : null;
}
