// SPDX-License-Identifier: BSD-3-Clause
// grid - a table that is sorted, searched, folded and scrolled. Only the rows in sight are in the
// page, however many there are. Rows are told apart by their number in the table.
import type { Column, Table } from "./data";
import { clear, copy, h, safe, tip } from "./dom";
import { cell, group, isText, showError, toCsv, toJson, toMarkdown } from "./format";
import { shortName } from "./names";
import { go, regex, state } from "./state";
import { explainRow } from "./why";

export interface Extra { head: string; means: string; first?: boolean; after?: string; draw: (row: number, td: HTMLElement) => void }
export interface GridOptions {
  table: Table;
  label: string;
  columns?: Column[];               // else those that people are shown
  rows?: number[];                  // else all
  rowFilter?: (row: number) => boolean;
  link?: (row: number) => string | null; // hash of what Enter opens
  select?: (row: number) => void;
  parents?: Map<string, string>;    // column -> the one it is a part of: opened in place
  extra?: Extra[];                  // columns that are drawn
  aside?: (row: number) => string; // pale, behind the name
  grey?: (row: number) => boolean;
  tall?: boolean;                   // takes the height of the window
  plain?: boolean;                  // no copy buttons
  summed?: boolean;                 // the rows are summed under the filter already
  sortable?: boolean;
}

const WHOLE = 250;   // so many rows are in the page at once
const ROW = 25;      // px; style.css has the same
const FILTERED = ["function", "dso", "caller", "callee", "comm", "other_function", "caller_dso", "callee_dso", "inline"];

// The grid that keys go to.
export let active: Grid | null = null;
export function forget(): void { active = null; }

export class Grid {
  el: HTMLElement;
  at = 0;                  // selected, in `order`
  order: number[] = [];
  private t: Table;
  private columns: Column[] = [];
  private constant: Column[] = [];
  private all = false;
  private marks = new Set<number>();
  private open = new Set<string>(); // columns that show their parts
  private closed = new Set<number>(); // rows that hide theirs
  private depth: Int32Array | null = null;
  private parentRow: Int32Array | null = null;
  private hasChild: Uint8Array | null = null;
  private head: HTMLElement; private body: HTMLElement; private box: HTMLElement; private info: HTMLElement;
  private first = -1; private last = -1;
  private nameColumn: Column | undefined;
  private byDepth: Column | undefined;
  private heads = new Map<Column, string>();

  constructor(private o: GridOptions) {
    this.t = o.table;
    this.findTree();
    this.head = h("thead");
    this.body = h("tbody");
    this.info = h("p", { class: "info" });
    const table = h("table", { class: "grid", "aria-label": o.label }, this.head, this.body);
    this.box = h("div", { class: "box" + (o.tall ? " tall" : ""), tabindex: 0, role: "region", "aria-label": o.label,
      scroll: () => this.draw(false), focus: () => this.activate(), click: (e: MouseEvent) => this.click(e) }, table);
    this.el = h("section", { class: "gridbox" }, this.info, this.box, o.plain ? null : this.tools());
    this.chooseColumns();
    this.refresh();
    if (!active) active = this;
    requestAnimationFrame(() => this.draw(true));
  }
  private tools(): HTMLElement {
    const button = (name: string, what: string, make: () => string): HTMLElement =>
      h("button", { type: "button", title: `copy the rows shown as ${name}`, click: () => copy(make(), `${group(this.order.length)} ${what} as ${name}`) }, name);
    return h("p", { class: "tools" }, h("span", null, "copy "),
      button("CSV", "rows", () => toCsv(this.t, this.order)), button("Markdown", "rows", () => toMarkdown(this.t, this.order, this.shown())),
      button("JSON", "rows", () => toJson(this.t, this.order)),
      h("button", { type: "button", "aria-pressed": "false", click: (e: Event) => {
        this.all = !this.all;
        (e.target as HTMLElement).setAttribute("aria-pressed", String(this.all));
        this.chooseColumns();
        this.refresh();
      } }, "all columns"));
  }
  // Rows that have an id and their parent's, or a node and its parent's name.
  private findTree(): void {
    const t = this.t;
    const id = t.column("id", "node");
    const parent = t.column("parent");
    if (!id || !parent || id.kind !== parent.kind) return this.findDepths();
    // ids are numbered within an event or kind of cores, nodes are named within all other keys
    const keys = t.columns.filter((c) => c.flags.has("key") && c !== id && (id.key === "node" || ["event", "pmu", "host", "cgroup"].includes(c.key)));
    const name = (row: number, c: Column): string => JSON.stringify([t.value(row, c), ...keys.map((k) => t.value(row, k))]);
    const rowOf = new Map<string, number>();
    for (let i = 0; i < t.length; i++) rowOf.set(name(i, id), i);
    this.parentRow = new Int32Array(t.length).fill(-1);
    this.depth = new Int32Array(t.length);
    this.hasChild = new Uint8Array(t.length);
    for (let i = 0; i < t.length; i++) {
      if (t.value(i, parent) === null) continue;
      const p = rowOf.get(name(i, parent)) ?? -1;
      if (p < 0 || p === i) continue;
      this.parentRow[i] = p;
      this.hasChild[p] = 1;
    }
    for (let i = 0; i < t.length; i++) {
      let p = this.parentRow[i];
      for (let d = 0; p >= 0 && d < 200; d++) { this.depth[i]++; p = this.parentRow[p]; }
    }
  }
  // Rows in the order of a tree, with their depth: a row belongs to the last one above that is higher.
  private findDepths(): void {
    const t = this.t;
    const depth = t.column("depth");
    if (!depth || depth.kind === "text" || !t.column("function", "name") || t.length < 2) return;
    const n = t.length;
    const above: number[] = [];
    const up = new Int32Array(n).fill(-1);
    const has = new Uint8Array(n);
    const level = new Int32Array(n);
    for (let r = 0; r < n; r++) {
      const d = t.number(r, depth);
      if (isNaN(d)) { above.length = 0; continue; }
      while (above.length && t.number(above[above.length - 1], depth) >= d) above.pop();
      level[r] = above.length;
      if (above.length) { up[r] = above[above.length - 1]; has[up[r]] = 1; }
      above.push(r);
    }
    this.parentRow = up;
    this.hasChild = has;
    this.depth = level;
    this.byDepth = depth;
  }
  private people(): Column[] {
    const t = this.t;
    if (this.o.columns) return this.all ? [...this.o.columns, ...t.columns.filter((c) => !this.o.columns!.includes(c))] : this.o.columns;
    if (this.all) return t.columns;
    const seen = Math.min(t.length, 2000);
    return t.columns.filter((c) => {
      if (c.flags.has("data") && !c.flags.has("key") && !t.data && !this.o.parents?.has(c.key) && !(c.key === "unit" && t.byKey.has("value"))) return false;
      if (this.depth && (c.key === "id" || c.key === "parent" || c.key === "depth" || c === this.byDepth)) return false;
      for (let i = 0; i < seen; i++) if (t.rows[i][c.at] !== null && t.rows[i][c.at] !== undefined) return true;
      return c.why >= 0 && c.flags.has("key");
    });
  }
  private chooseColumns(): void {
    const t = this.t;
    this.columns = this.people();
    this.constant = [];
    const rows = this.o.rows ?? t.rows.map((_, i) => i);
    if (!this.all && !this.o.columns && rows.length > 2)
      this.constant = this.columns.filter((c) => {
        if (!["text", "flag", "id", "list"].includes(c.kind) || c.key === "function" || c.key === "node") return false;
        const first = JSON.stringify(t.rows[rows[0]][c.at]);
        return rows.every((r) => JSON.stringify(t.rows[r][c.at]) === first);
      });
    this.columns = this.besideTheirs(this.columns.filter((c) => !this.constant.includes(c)));
    this.nameColumn = t.column("function", "node", "instruction", "metric", "event", "name", "caller", "file") ?? this.columns.find((c) => c.kind === "text");
    if (this.nameColumn && !this.columns.includes(this.nameColumn)) this.nameColumn = this.columns.find((c) => isText(c.kind));
    const count = new Map<string, number>();
    for (const c of this.columns) count.set(c.head, (count.get(c.head) ?? 0) + 1);
    this.heads = new Map(this.columns.map((c) => [c, (count.get(c.head) ?? 0) > 1 && !this.o.parents?.has(c.key) ? c.key.replace(/_/g, " ") : c.head || c.key]));
    // What people read first, the name, stands at the left on narrow windows too.
    if (this.depth && this.nameColumn && !this.o.columns) {
      const first = [this.nameColumn, ...["total", "share", "value"].map((k) => t.column(k))].filter((c): c is Column => !!c && this.columns.includes(c));
      this.columns = [...first, ...this.columns.filter((c) => !first.includes(c))];
    } else if (this.nameColumn && !this.o.columns && !this.all) {
      const keys = this.columns.filter((c) => c.flags.has("key") && c !== this.nameColumn);
      const first = this.nameColumn.flags.has("key") ? [this.nameColumn, ...keys] : keys;
      this.columns = [...first, ...this.columns.filter((c) => !first.includes(c))];
    }
  }
  // Parts stand behind the column that they open from.
  private besideTheirs(columns: Column[]): Column[] {
    const up = this.o.parents;
    if (!up || this.all) return columns;
    const has = new Set(columns.map((c) => c.key));
    const below = (key: string): Column[] => columns.filter((c) => up.get(c.key) === key && c.key !== key).flatMap((c) => [c, ...below(c.key)]);
    return columns.filter((c) => !has.has(up.get(c.key) ?? "")).flatMap((c) => [c, ...below(c.key)]);
  }
  // Where two columns have the same head, their keys are shown: "samples", "total samples".
  private headOf(c: Column): string {
    return this.heads.get(c) ?? c.head ?? c.key;
  }
  private shown(): Column[] {
    const up = this.o.parents;
    if (!up || this.all) return this.columns;
    return this.columns.filter((c) => {
      for (let p = up.get(c.key); p !== undefined; p = up.get(p)) if (this.t.byKey.has(p) && !this.open.has(p)) return false;
      return true;
    });
  }
  private hasParts(c: Column): boolean {
    return !!this.o.parents && this.columns.some((x) => this.o.parents!.get(x.key) === c.key);
  }
  togglePart(c: Column): void {
    if (this.open.has(c.key)) this.open.delete(c.key);
    else this.open.add(c.key);
    this.refresh();
  }

  // ---- which rows, in which order
  private passes(): (row: number) => boolean {
    const t = this.t;
    const names = t.columns.filter((c) => FILTERED.includes(c.key));
    const byName = names.length && !this.o.summed;
    const focus = state.focus && byName ? regex(state.focus) : null;
    const hide = state.hide && byName ? regex(state.hide) : null;
    const search = state.search ? regex(state.search) : null;
    const texts = t.columns.filter((c) => isText(c.kind) || c.kind === "address");
    const tid = t.column("tid");
    const cpu = t.column("cpu");
    const tids = state.thread && tid ? new Set(state.thread.split(",").map((x) => x.split("/")[1])) : null;
    const cpus = state.cpu && cpu && cpu.kind === "id" ? new Set(state.cpu.split(",")) : null;
    return (r) => {
      if (this.o.rowFilter && !this.o.rowFilter(r)) return false;
      if (focus && !names.some((c) => focus.test(t.text(r, c)))) return false;
      if (hide && names.some((c) => hide.test(t.text(r, c)))) return false;
      if (tids && !tids.has(t.text(r, tid))) return false;
      if (cpus && !cpus.has(t.text(r, cpu))) return false;
      return !search || texts.some((c) => search.test(t.text(r, c)));
    };
  }
  private sortKey(): string { return this.o.sortable === false ? "" : state.sort; }
  private compare(): ((a: number, b: number) => number) | null {
    const key = this.sortKey();
    const down = key.startsWith("-");
    const c = this.t.byKey.get(down ? key.slice(1) : key);
    if (!c) return null;
    const t = this.t;
    const text = isText(c.kind) || c.kind === "address";
    const values = new Map<number, number | string | null>();
    const of = (r: number): number | string | null => {
      let v = values.get(r);
      if (v === undefined) {
        const x = t.value(r, c);
        v = x === null ? null : text ? t.text(r, c) : Number(x);
        values.set(r, v);
      }
      return v;
    };
    return (a, b) => {
      const x = of(a), y = of(b);
      if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
      const d = x < y ? -1 : x > y ? 1 : 0;
      return d ? (down ? -d : d) : a - b;
    };
  }
  refresh(): void {
    const keep = this.order[this.at];
    const t = this.t;
    const pass = this.passes();
    let rows = this.o.rows ?? Array.from(t.rows, (_, i) => i);
    const before = rows.length;
    const compare = this.compare();
    if (this.depth) rows = this.treeOrder(rows, pass, compare);
    else {
      rows = rows.filter(pass);
      if (compare) rows.sort(compare);
    }
    this.order = rows;
    const found = rows.indexOf(keep);
    this.at = found < 0 ? 0 : found;
    this.head.replaceChildren(this.drawHead());
    this.putInfo(before);
    this.draw(true);
  }
  private treeOrder(rows: number[], pass: (r: number) => boolean, compare: ((a: number, b: number) => number) | null): number[] {
    const keep = new Set<number>();
    for (const r of rows) if (pass(r)) for (let p = r; p >= 0 && !keep.has(p); p = this.parentRow![p]) keep.add(p);
    const under = new Map<number, number[]>();
    for (const r of rows) if (keep.has(r)) {
      const p = this.parentRow![r];
      if (!under.has(p)) under.set(p, []);
      under.get(p)!.push(r);
    }
    const out: number[] = [];
    const visit = (p: number): void => {
      const v = under.get(p) ?? [];
      if (compare) v.sort(compare);
      for (const r of v) {
        out.push(r);
        if (!this.closed.has(r)) visit(r);
      }
    };
    visit(-1);
    return out;
  }
  private putInfo(before: number): void {
    const n = this.order.length;
    clear(this.info);
    const same = this.constant.map((c) => `${c.head}: ${cell(this.t, this.o.rows?.[0] ?? 0, c)}`).join(", ");
    if (same) this.info.append(h("span", null, `in all rows: ${safe(same)}`));
    if (n < before && !this.closed.size) this.info.append(h("span", null, `${group(n)} of ${group(before)} rows`));
    else if (n > WHOLE) this.info.append(h("span", null, `${group(n)} rows`));
    if (!n) this.info.append(h("span", null, before ? "no row passes the filter (r resets it)" : "no rows"));
    this.info.hidden = !this.info.firstChild;
  }

  // ---- drawing
  private drawHead(): HTMLElement {
    const key = this.sortKey();
    const tr = h("tr");
    for (const c of this.shown()) {
      const sorted = key === c.key ? "ascending" : key === `-${c.key}` ? "descending" : null;
      const name = h("button", { type: "button", class: "sort", click: () => this.sortBy(c) },
        this.headOf(c), sorted ? (sorted === "ascending" ? " ▲" : " ▼") : "");
      const th = h("th", { scope: "col", class: isText(c.kind) ? "t" : "n", "aria-sort": sorted },
        this.hasParts(c) ? h("button", { type: "button", class: "parts", "aria-expanded": String(this.open.has(c.key)), "aria-label": `parts of ${c.head}`, click: () => this.togglePart(c) }, this.open.has(c.key) ? "−" : "+") : null,
        this.o.sortable === false ? h("span", null, this.headOf(c)) : name, this.o.plain && c.unit && !isText(c.kind) ? h("span", { class: "dim" }, ` ${c.unit}`) : null);
      const means = `${this.headOf(c)}${c.means ? `: ${c.means}` : ""}${c.unit ? ` (${c.unit})` : ""}`;
      th.addEventListener("mousemove", (e) => tip(means, e.clientX, e.clientY));
      th.addEventListener("mouseleave", () => tip(null));
      tr.append(th);
    }
    for (const x of this.o.extra ?? []) {
      const th = h("th", { scope: "col", title: x.means }, x.head);
      this.place(tr, th, x);
    }
    return tr;
  }
  private place(tr: HTMLElement, e: HTMLElement, x: Extra): void {
    const at = x.after ? this.shown().findIndex((c) => c.key === x.after) : -1;
    if (x.first) tr.prepend(e);
    else if (at >= 0) tr.insertBefore(e, tr.children[at + 1] ?? null);
    else tr.append(e);
  }
  sortBy(c: Column): void {
    const key = this.sortKey();
    const down = `-${c.key}`;
    go({ sort: isText(c.kind) ? (key === c.key ? down : c.key) : key === down ? c.key : down }, true);
  }
  // The next column to sort by.
  cycleSort(step: number): void {
    const columns = this.shown();
    const key = this.sortKey().replace(/^-/, "");
    const i = columns.findIndex((c) => c.key === key);
    const c = columns[(i + step + columns.length) % columns.length];
    go({ sort: isText(c.kind) ? c.key : `-${c.key}` }, true);
  }
  draw(force: boolean): void {
    const n = this.order.length;
    let from = 0, to = n;
    if (n > WHOLE) {
      const height = this.box.clientHeight || 600;
      from = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 15);
      to = Math.min(n, from + Math.ceil(height / ROW) + 40);
    }
    if (!force && from >= this.first && to <= this.last && n > WHOLE && from - this.first < 15) return;
    if (!force && n <= WHOLE) return;
    this.first = from;
    this.last = to;
    const columns = this.shown();
    const rows: Node[] = [];
    const width = columns.length + (this.o.extra?.length ?? 0);
    if (from) rows.push(this.space(from, width));
    let before = from ? this.groupOf(this.order[from - 1]) : null;
    for (let i = from; i < to; i++) {
      const g = n <= WHOLE ? this.groupOf(this.order[i]) : null;
      if (g !== null && g !== before) rows.push(h("tr", { class: "group" }, h("th", { colspan: width, scope: "rowgroup" }, safe(g))));
      before = g;
      rows.push(this.row(i, columns));
    }
    if (to < n) rows.push(this.space(n - to, width));
    this.body.replaceChildren(...rows);
  }
  private groupOf(row: number): string | null {
    const c = this.t.columns.find((x) => x.flags.has("group"));
    return c && !this.depth && !this.sortKey() ? this.t.text(row, c) : null;
  }
  private space(rows: number, width: number): HTMLElement {
    const td = h("td", { colspan: width }, `${group(rows)} more rows`); // seen on paper
    td.style.height = `${rows * ROW}px`;
    return h("tr", { class: "space", "aria-hidden": "true" }, td);
  }
  private row(i: number, columns: Column[]): HTMLElement {
    const r = this.order[i];
    const tr = h("tr", { "data-i": i, class: [i === this.at ? "at" : "", this.o.grey?.(r) ? "grey" : "", this.marks.has(r) ? "lit" : ""].join(" ").trim() || null,
      "aria-current": i === this.at ? "true" : null });
    for (const c of columns) tr.append(this.cell(r, c));
    for (const x of this.o.extra ?? []) {
      const td = h("td");
      x.draw(r, td);
      this.place(tr, td, x);
    }
    return tr;
  }
  private aside(r: number): Node | string { return this.o.aside ? h("span", { class: "dim aside" }, safe(` ${this.o.aside(r)}`)) : ""; }
  private cell(r: number, c: Column): HTMLElement {
    const t = this.t;
    const v = t.value(r, c);
    const kind = t.kindOf(r, c);
    const td = h("td", { class: isText(kind) ? (c.flags.has("keep_end") ? "t end" : "t") : "n" });
    let text = safe(cell(t, r, c).replace(/\t/g, "    "));
    const brief = kind === "text" && typeof v === "string" ? safe(shortName(v)) : text;
    if (isText(kind) && (text.length > 16 || brief !== text)) td.title = text; // a narrow column cuts it
    text = brief;
    if (c === this.nameColumn) {
      td.classList.add("name");
      if (this.depth) {
        td.style.setProperty("--depth", String(this.depth[r]));
        td.classList.add("tree");
        if (this.hasChild![r]) td.append(h("button", { type: "button", class: "fold", "data-fold": r, "aria-expanded": String(!this.closed.has(r)), "aria-label": "parts" }, this.closed.has(r) ? "▸" : "▾"));
        else td.append(h("span", { class: "fold" }));
        const p = this.parentRow![r];
        if (p >= 0 && isText(kind)) {
          const above = t.text(p, c) + ".";
          if (text.startsWith(above)) text = text.slice(above.length);
        }
      }
      const link = this.o.link?.(r);
      if (link) {
        td.append(h("a", { href: link }, text), this.aside(r));
        return td;
      }
    }
    if (v === null || v === 0) td.classList.add("none");
    const path = c.key === "path" && kind === "flag";
    td.append(path ? (v ? "<==" : "") : text, c === this.nameColumn ? this.aside(r) : "");
    if (typeof v === "number" && kind === "share" && (c.flags.has("heat") || c.key === "share")) {
      td.classList.add("heat");
      td.style.setProperty("--heat", String(Math.max(0, Math.min(1, v))));
    }
    const half = t.error(r, c);
    const error = showError(kind, v, half);
    if (error) {
      td.append(h("span", { class: "err" }, ` ${error}`));
      if (typeof v === "number" && half > Math.abs(v) && v !== 0) td.classList.add("weak");
    }
    return td;
  }

  // ---- mouse and keys
  private click(e: MouseEvent): void {
    const target = e.target as HTMLElement;
    const fold = target.closest<HTMLElement>("[data-fold]");
    this.activate();
    if (fold) return this.fold(Number(fold.dataset.fold));
    const tr = target.closest<HTMLElement>("tr[data-i]");
    if (!tr || target.closest("a,button")) return;
    this.move(Number(tr.dataset.i), false);
    this.o.select?.(this.order[this.at]);
    if (target.closest("td.n") && !this.o.select) this.explain();
  }
  activate(): void { active = this; }
  // Rows that are lit: what another pane has selected.
  setMarks(rows: Set<number>): void {
    this.marks = rows;
    this.draw(true);
  }
  fold(r: number, close = !this.closed.has(r)): void {
    if (close) this.closed.add(r);
    else this.closed.delete(r);
    this.refresh();
  }
  // Folds the row, or goes to the one above; unfolds it.
  foldAt(close: boolean): void {
    const r = this.row_;
    if (r === undefined) return;
    if (!this.depth) {
      const c = this.shown().find((x) => this.hasParts(x) && this.open.has(x.key) === close);
      if (c) this.togglePart(c);
      return;
    }
    if (this.hasChild![r] && this.closed.has(r) !== close) this.fold(r, close);
    else if (close && this.parentRow![r] >= 0) this.move(this.order.indexOf(this.parentRow![r]), true);
    else if (!close) this.move(this.at + 1, true);
  }
  get row_(): number | undefined { return this.order[this.at]; }
  move(to: number, scroll = true): void {
    const n = this.order.length;
    if (!n) return;
    this.at = Math.max(0, Math.min(n - 1, to));
    if (scroll && n > WHOLE) {
      const y = this.at * ROW;
      if (y < this.box.scrollTop) this.box.scrollTop = y;
      else if (y + 3 * ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = y + 3 * ROW - this.box.clientHeight;
      this.draw(true);
    } else {
      this.body.querySelectorAll("tr.at").forEach((x) => { x.classList.remove("at"); x.removeAttribute("aria-current"); });
      const tr = this.body.querySelector<HTMLElement>(`tr[data-i="${this.at}"]`);
      tr?.classList.add("at");
      tr?.setAttribute("aria-current", "true");
      if (scroll) tr?.scrollIntoView({ block: "nearest" });
    }
    if (scroll) this.o.select?.(this.order[this.at]);
  }
  // Scrolls the selected row into the middle of the table, without moving the page.
  center(): void {
    this.box.scrollTop = Math.max(0, this.at * ROW - this.box.clientHeight / 2 + ROW);
    this.draw(true);
  }
  moveToRow(row: number, scroll = true): void {
    const i = this.order.indexOf(row);
    if (i >= 0 && i !== this.at) {
      const select = this.o.select;
      this.o.select = undefined;
      this.move(i, scroll);
      this.o.select = select;
    }
  }
  enter(): void {
    const link = this.row_ === undefined ? null : this.o.link?.(this.row_);
    if (link) location.hash = link;
    else this.explain();
  }
  explain(): void {
    if (this.row_ !== undefined) explainRow(this.t, this.row_, this.o.label);
  }
  // What f and x mean: the function of the row, else its node.
  subject(): { key: "function" | "node"; name: string } | null {
    const r = this.row_;
    const c = this.t.column("function", "callee", "caller");
    if (r === undefined) return null;
    if (c && this.t.text(r, c)) return { key: "function", name: this.t.text(r, c) };
    const node = this.t.column("node");
    return node ? { key: "node", name: this.t.text(r, node) } : null;
  }
}
