// SPDX-License-Identifier: BSD-3-Clause
// why - what stands behind a figure: what its column means, its error, the reason why it has none,
// and all else that the table has on the row (formula, counted share, events).
import type { Table } from "./data";
import { h, safe } from "./dom";
import { cell, showError } from "./format";

export function dialog(title: string, ...content: (Node | null)[]): HTMLDialogElement {
  document.querySelector("dialog")?.remove();
  const before = document.activeElement as HTMLElement | null;
  const d = h("dialog", { "aria-label": title }, h("h2", null, title), ...content,
    h("form", { method: "dialog" }, h("button", null, "close")));
  d.addEventListener("close", () => { d.remove(); before?.focus?.(); });
  d.addEventListener("click", (e) => { if (e.target === d) d.close(); });
  document.body.append(d);
  d.showModal();
  return d;
}

export function explainRow(t: Table, row: number, label: string): void {
  const list = h("dl");
  const name = t.columns.filter((c) => c.flags.has("key")).map((c) => cell(t, row, c)).filter((s) => s !== "-").join("  ");
  const put = (head: string, ...said: (string | Node | null)[]): void => {
    list.append(h("dt", null, safe(head)), h("dd", null, ...said));
  };
  for (const c of t.columns) {
    const v = t.value(row, c);
    const why = t.why(row, c);
    if (v === null && !why) continue;
    const kind = t.kindOf(row, c);
    const exact = typeof v === "number" && !["count", "id", "signed"].includes(kind) ? ` = ${v}` : "";
    put(c.head === c.key || !c.head ? c.key : `${c.head} (${c.key})`,
      h("b", { class: kind === "text" || kind === "list" ? "code" : null }, safe(cell(t, row, c))),
      showError(kind, v, t.error(row, c)) ? ` ${showError(kind, v, t.error(row, c))} (95 %)` : null,
      exact && h("span", { class: "dim" }, exact),
      c.unit ? h("span", { class: "dim" }, ` ${c.unit}`) : null,
      c.means ? h("span", { class: "dim" }, ` · ${c.means}`) : null,
      why ? h("span", { class: "reason" }, ` · ${v === null ? "no value" : "no error"}: ${safe(why)}`) : null);
  }
  dialog("Why?", h("p", null, `${safe(name || label)} (table "${t.name}")`), list);
}
