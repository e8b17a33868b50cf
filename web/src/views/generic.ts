// SPDX-License-Identifier: BSD-3-Clause
// generic - any document as its tables: results that this script has no view of its own for.
import { Grid } from "../grid";
import { findTable, type Doc, type Table } from "../data";
import { h, safe } from "../dom";
import { cell } from "../format";
import { latencyColumns } from "../latencies";
import { state } from "../state";
import { reached, wholeNote } from "../reach";
import { timeColumns } from "../times";
import { functionLink, hashOf, heading, lines, nextCommands, partsOf, type Context, type View } from "./context";

export function oneRow(t: Table): HTMLElement {
  const dl = h("dl", { class: "facts" });
  for (const c of t.columns) {
    const v = t.value(0, c);
    if (v === null && !t.why(0, c)) continue;
    dl.append(h("dt", { title: c.means }, safe(c.head || c.key)), h("dd", null, safe(v === null ? t.why(0, c) : cell(t, 0, c))));
  }
  return dl;
}
export function linker(c: Context, t: Table): (row: number) => string | null {
  const name = t.column("function", "callee", "caller");
  const dso = t.column("dso", "callee_dso", "caller_dso");
  return (r) => (name ? functionLink(c, t.text(r, name), t.text(r, dso)) : null);
}
export function drawTable(root: HTMLElement, c: Context, d: Doc, t: Table, tall = false): void {
  const title = t.title || t.name.replace(/_/g, " ");
  if (t.name !== "rows" || t.title) root.append(h("h3", null, safe(title)));
  const r = reached(c, d, t);
  root.append(r.note ?? "");
  if (t.one && t.length) root.append(oneRow(t));
  else root.append(new Grid({ table: r.table, rowFilter: r.rowFilter, summed: r.summed, label: `${d.view}: ${title}`, parents: partsOf(c, d, r.table), extra: [...timeColumns(d, t), ...latencyColumns(d, t)], link: linker(c, r.table), tall }).el);
}
// A table that is for programs first: its rows are drawn when they are asked for.
export function folded(root: HTMLElement, c: Context, d: Doc, t: Table): void {
  const box = h("details", null, h("summary", null, safe(`${t.title || t.name.replace(/_/g, " ")} · ${t.length} rows`)));
  box.addEventListener("toggle", () => { if (box.childElementCount < 2) drawTable(box, c, d, t); });
  root.append(box);
}
const PAGE_PART: Record<string, string> = { sharing: "shared cache lines", heap: "heap" };
export function genericView(id: string, title: string, main: string[], of = [id]): View {
  return {
    id, title,
    draw(root, c) {
      for (const d of of.flatMap((v) => c.page.docs.filter((x) => x.view === v))) {
        root.append(heading(of.length > 1 ? PAGE_PART[d.view] ?? title : title));
        const first = findTable(d, ...main) ?? d.tables.find((t) => t.main && !t.one);
        const rest = d.tables.filter((t) => t !== first && t.length && !(t.one && t.columns.every((x) => x.flags.has("loss"))));
        if (first?.length) drawTable(root, c, d, first, rest.length === 0);
        const said = lines(d);
        root.append((said.firstChild && wholeNote(true)) ?? "", said);
        for (const t of rest) if (!t.one && !t.data) drawTable(root, c, d, t);
        for (const t of rest) if (!t.one && t.data) folded(root, c, d, t);
        const about = rest.filter((t) => t.one);
        if (about.length) {
          const box = h("details", null, h("summary", null, `about: ${about.map((t) => t.name.replace(/_/g, " ")).join(", ")}`));
          for (const t of about) drawTable(box, c, d, t);
          root.append(box);
        }
        const next = nextCommands(d);
        if (next) root.append(next);
      }
    },
  };
}
export const rawView: View = {
  id: "raw", title: "raw",
  draw(root, c) {
    root.append(heading("All tables of this page"), h("p", { class: "dim" }, "Each table as the commands have it for programs (--format json). Copy takes the rows that are shown."));
    const pick = h("details", { class: "toc" }, h("summary", null, "tables"));
    const list = h("ul");
    pick.append(list);
    root.append(pick);
    for (const d of c.page.docs) {
      root.append(h("h2", null, `${d.view} `, h("small", null, d.schema)));
      for (const t of d.tables) {
        list.append(h("li", null, `${d.view}: ${t.name}, ${t.length} rows`));
        const box = h("details", { open: t.length > 0 && t.length <= 20 && !state.node }, h("summary", null, safe(`${t.name} · ${t.length} rows`)));
        const fill = (): void => {
          if (box.childElementCount < 2) box.append(new Grid({ table: t, label: `${d.view}: ${t.name}`, columns: t.columns, sortable: true, link: linker(c, t) }).el);
        };
        if (box.open) fill();
        box.addEventListener("toggle", fill);
        root.append(box);
      }
    }
    root.append(h("p", null, h("a", { href: hashOf({ view: "summary" }) }, "back to the summary")));
  },
};
