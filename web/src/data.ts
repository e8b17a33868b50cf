// SPDX-License-Identifier: BSD-3-Clause
// data - the data of the page (src/report/page/FORMAT.md) with names: tables whose cells are read
// by key, texts already looked up.

import { setNames, shortName } from "./names";

export type Kind =
  | "text" | "list" | "id" | "count" | "signed" | "address" | "bytes" | "flag"
  | "amount" | "real" | "share" | "seconds" | "error" | "why";
export type Value = string | number | boolean | string[] | null;

interface RawColumn {
  key: string; head?: string; kind: Kind; unit?: string | null; means?: string | null;
  flags?: string[]; of?: string;
}
interface RawTable {
  name: string; title: number | null; main?: boolean; one?: boolean; data?: boolean;
  people?: number; rest?: string | null; columns: RawColumn[]; rows: Rows;
}
interface RawDocument {
  view: string; schema: string; titles?: unknown[][]; facts?: unknown[][]; notes?: unknown[];
  next?: unknown[][]; tables: RawTable[];
}
// Rows of a table, or its columns.
export type Rows = unknown[][] | { n: number; columns: Cells[] };
type Cells = unknown[] | { same: unknown } | { at: number[]; of: Cells } | { runs: number[]; of: Cells } | { from?: string; deltas: number[] };

function cells(x: Cells, n: number): unknown[] {
  if (Array.isArray(x)) return x;
  if ("same" in x) return new Array(n).fill(x.same);
  if ("deltas" in x) {
    if (x.from) {
      let a = BigInt(x.from);
      return [x.from, ...x.deltas.map((d) => `0x${BigInt.asUintN(64, (a += BigInt(d))).toString(16)}`)];
    }
    let last = 0;
    return x.deltas.map((d) => (last += d));
  }
  const out = new Array(n).fill(null);
  const gaps = "at" in x ? x.at : x.runs;
  const of = cells(x.of, gaps.length);
  let row = 0;
  gaps.forEach((gap, i) => {
    row += gap;
    if ("at" in x) out[row] = of[i];
    else out.fill(of[i], row, i + 1 < gaps.length ? row + gaps[i + 1] : n);
  });
  return out;
}
export function columnsOf(x: Rows, width: number): unknown[][] {
  return Array.isArray(x) ? Array.from({ length: width }, (_, i) => x.map((r) => r[i])) : x.columns.map((c) => cells(c, x.n));
}
export function rowCount(x: Rows): number { return Array.isArray(x) ? x.length : x.n; }
export function rowsOf(x: Rows): unknown[][] {
  if (Array.isArray(x)) return x;
  const columns = columnsOf(x, 0);
  return Array.from({ length: x.n }, (_, r) => columns.map((c) => c[r]));
}

export interface RawCube {
  event: number | null; unit: number | null; from: number; width: number; bins: number; samples: number; period: number;
  folded: number; frames: Rows; threads: Rows; cpus: number[]; nodes: Rows; cells: Rows;
}
export interface RawFlame {
  event: number; unit: number; base_name: number; new_name: number; base_runs: number; new_runs: number; level: number; compared: number; changed: number;
  total: Rows; items: Rows; frames: Rows; nodes: Rows;
}
export interface RawTimeline { from: number; width: number; bins: number; reasons: Rows; tracks: Rows; moments: Rows; spans: Rows; marks: Rows }
export interface RawMemory { width: number; classes: Rows; threads: Rows; cells: Rows }
export interface RawGraph {
  width: number; height: number; nodes: unknown[][]; edges: unknown[][]; notes?: unknown[];
}
interface RawPage {
  format: number; title: string; program: string; source?: boolean; documents: RawDocument[];
  cube?: RawCube | null; wall?: RawCube | null; timeline?: RawTimeline | null; memory?: RawMemory | null; flames?: RawFlame[]; short?: [number, number][]; strings: string[];
  functions?: { function: number; dso: number; document: RawDocument; graph?: { width: number; height: number; nodes: Rows; edges: Rows; notes?: unknown[] } | null }[];
}

export interface Column {
  key: string; head: string; kind: Kind; unit: string; means: string; flags: Set<string>;
  at: number; error: number; why: number;
}

export class Table {
  columns: Column[] = [];
  byKey = new Map<string, Column>();
  constructor(
    public name: string, public title: string, public rest: string, public people: number,
    public one: boolean, public data: boolean, columns: RawColumn[],
    private raw: Rows, public strings: string[], public main = false,
  ) {
    const beside = new Map<string, number>();
    columns.forEach((c, i) => {
      if (c.kind === "error" || c.kind === "why") {
        beside.set(`${c.of ?? c.key.replace(/_(error|why)$/, "")} ${c.kind}`, i);
        return;
      }
      const column: Column = {
        key: c.key, head: c.head || c.key, kind: c.kind, unit: c.unit ?? "", means: c.means ?? "",
        flags: new Set(c.flags ?? []), at: i, error: -1, why: -1,
      };
      this.columns.push(column);
      this.byKey.set(c.key, column);
    });
    for (const c of this.columns) {
      c.error = beside.get(`${c.key} error`) ?? -1;
      c.why = beside.get(`${c.key} why`) ?? -1;
    }
  }
  // Read when they are looked at.
  get rows(): unknown[][] { return (this.raw = rowsOf(this.raw)); }
  set rows(v: unknown[][]) { this.raw = v; }
  get length(): number { return rowCount(this.raw); }
  column(...keys: string[]): Column | undefined {
    for (const k of keys) if (this.byKey.has(k)) return this.byKey.get(k);
    return undefined;
  }
  kindOf(row: number, c: Column): Kind {
    const v = this.rows[row][c.at];
    if (v !== null && typeof v === "object" && !Array.isArray(v)) return Object.keys(v)[0] as Kind;
    return c.kind;
  }
  value(row: number, c: Column | undefined): Value {
    if (!c) return null;
    let v = this.rows[row][c.at];
    let kind = c.kind;
    if (v !== null && typeof v === "object" && !Array.isArray(v)) {
      kind = Object.keys(v as object)[0] as Kind;
      v = (v as Record<string, unknown>)[kind];
    }
    if (v === null || v === undefined) return null;
    if (kind === "text") return this.strings[v as number] ?? null;
    if (kind === "list") return (v as number[]).map((x) => this.strings[x]);
    return v as Value;
  }
  number(row: number, c: Column | undefined): number {
    const v = this.value(row, c);
    return typeof v === "number" ? v : NaN;
  }
  text(row: number, c: Column | undefined): string {
    const v = this.value(row, c);
    return v === null ? "" : Array.isArray(v) ? v.join(" ") : String(v);
  }
  error(row: number, c: Column): number {
    const v = c.error < 0 ? null : this.rows[row][c.error];
    return typeof v === "number" ? v : NaN;
  }
  why(row: number, c: Column): string {
    const v = c.why < 0 ? null : this.rows[row][c.why];
    return typeof v === "number" ? this.strings[v] : "";
  }
}

export interface Line { label: string; text: string; marked: boolean }
export interface Doc {
  view: string; schema: string; titles: Line[]; facts: Line[]; notes: string[];
  next: { command: string; why: string }[]; tables: Table[];
}
export interface FunctionPage { name: string; dso: string; doc: Doc; graph: RawGraph | null }
export interface Page {
  title: string; program: string; docs: Doc[]; cube: RawCube | null; wall: RawCube | null; timeline: RawTimeline | null; memory: RawMemory | null; flames: RawFlame[]; functions: FunctionPage[];
  strings: string[]; source: boolean; short: (i: number) => string;
}

function readDocument(d: RawDocument, strings: string[]): Doc {
  const text = (i: unknown): string => (typeof i === "number" ? strings[i] : "") ?? "";
  const lines = (v: unknown[][] | undefined): Line[] =>
    (v ?? []).map((l) => ({ label: text(l[0]), text: text(l[1]), marked: !!l[2] }));
  return {
    view: d.view, schema: d.schema, titles: lines(d.titles), facts: lines(d.facts),
    notes: (d.notes ?? []).map(text),
    next: (d.next ?? []).map((n) => ({ command: text(n[0]), why: text(n[1]) })),
    tables: d.tables.map((t) => new Table(t.name, text(t.title), t.rest || "row", t.people ?? 0,
      !!t.one, !!t.data, t.columns, t.rows, strings, !!t.main)),
  };
}

// Texts of `t` in another list.
function translated(kind: Kind, x: unknown, of: (i: number) => number): unknown {
  if (x !== null && typeof x === "object" && !Array.isArray(x)) {
    const k = Object.keys(x)[0] as Kind;
    return { [k]: translated(k, (x as Record<string, unknown>)[k], of) };
  }
  if (kind === "list") return x === null ? null : (x as number[]).map(of);
  return (kind === "text" || kind === "why") && typeof x === "number" ? of(x) : x;
}
// Results of intervals: rows of the same table stand below each other.
function join(raw: RawPage, more: RawPage): void {
  const at = new Map(raw.strings.map((s, i) => [s, i]));
  const of = (i: number): number => {
    const s = more.strings[i];
    if (!at.has(s)) at.set(s, raw.strings.push(s) - 1);
    return at.get(s)!;
  };
  const line = (l: unknown[]): unknown[] => l.map((x) => (typeof x === "number" ? of(x) : x));
  for (const d of more.documents) {
    const to = d.titles?.length ? undefined : raw.documents.find((x) => x.view === d.view && x.schema === d.schema);
    if (!to) raw.documents.push({ ...d, titles: d.titles?.map(line), facts: d.facts?.map(line), notes: d.notes?.map((n) => of(n as number)), next: d.next?.map(line),
      tables: d.tables.map((t) => ({ ...t, title: t.title === null ? null : of(t.title), rows: rowsOf(t.rows).map((r) => r.map((x, i) => translated(t.columns[i].kind, x, of))) })) });
    for (const t of to ? d.tables : []) {
      const keys = JSON.stringify(t.columns.map((c) => c.key));
      const whole = to!.tables.find((x) => x.name === t.name && JSON.stringify(x.columns.map((c) => c.key)) === keys);
      const rows = rowsOf(t.rows).map((r) => r.map((x, i) => translated(t.columns[i].kind, x, of)));
      if (whole) {
        whole.rows = rowsOf(whole.rows).concat(rows);
        whole.one = whole.one && whole.rows.length === 1;
      } else to!.tables.push({ ...t, title: t.title === null ? null : of(t.title), rows });
    }
    for (const n of to ? d.notes ?? [] : []) if (typeof n === "number" && !to!.notes?.includes(of(n))) (to!.notes ??= []).push(of(n));
  }
}

export function readPage(texts: string[]): Page {
  const [raw, ...more] = texts.map((x) => JSON.parse(x) as RawPage);
  for (const r of [raw, ...more]) if (r.format !== 2) throw new Error(`the data has format ${r.format}; this script reads 2`);
  for (const m of more) join(raw, m);
  const s = raw.strings;
  const names = new Map((raw.short ?? []).map(([whole, folded]) => [s[whole], s[folded]]));
  for (const m of more) for (const [whole, folded] of m.short ?? []) if (!names.has(m.strings[whole])) names.set(m.strings[whole], m.strings[folded]);
  setNames(names);
  return {
    title: raw.title, program: raw.program, source: raw.source !== false, strings: s, short: (i) => shortName(s[i] ?? ""),
    docs: raw.documents.map((d) => readDocument(d, s)), cube: raw.cube ?? null, wall: raw.wall ?? null, timeline: raw.timeline ?? null, memory: raw.memory ?? null, flames: raw.flames ?? [],
    functions: (raw.functions ?? []).map((f) => { // read when they are looked at
      let doc: Doc | null = null;
      return {
        name: s[f.function] ?? "", dso: s[f.dso] ?? "",
        get doc() { return (doc ??= readDocument(f.document, s)); },
        get graph() { return f.graph ? { ...f.graph, nodes: rowsOf(f.graph.nodes), edges: rowsOf(f.graph.edges) } : null; },
      };
    }),
  };
}

export function findTable(doc: Doc | undefined, ...names: string[]): Table | undefined {
  for (const n of names) {
    const t = doc?.tables.find((x) => x.name === n);
    if (t) return t;
  }
  return undefined;
}
