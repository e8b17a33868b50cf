// SPDX-License-Identifier: BSD-3-Clause
// compare - what `diff` found: per table the base, the new value and the change; d shows one of the
// three. A change inside its error is called noise by the document itself.
import type { Column, Doc, Table } from "../data";
import { h, safe } from "../dom";
import { Grid } from "../grid";
import { reached } from "../reach";
import { go, state } from "../state";
import { heading, lines, nextCommands, nodeParents, type View } from "./context";
import { diffFlame, flameKeys } from "./diff";
import { linker, oneRow } from "./generic";

const SIDES = ["", "base", "new", "change"];
function sideOf(c: Column): string {
  const k = c.key.toLowerCase();
  return /(^|_)base(_|$)|^before/.test(k) ? "base" : /(^|_)new(_|$)|^after/.test(k) ? "new" : /change|delta|factor|ratio|verdict|noise/.test(k) ? "change" : "";
}
function columns(t: Table): Column[] | undefined {
  const shown = t.columns.filter((c) => (!c.flags.has("data") || c.flags.has("key") || t.data) && t.rows.some((r) => r[c.at] !== null));
  return shown.filter((c) => !state.side || !sideOf(c) || sideOf(c) === state.side);
}
// Its title is the heading.
function facts(d: Doc): HTMLElement {
  return lines({ ...d, titles: d.titles.filter((l) => l.label) });
}
export const compareView: View = {
  id: "compare", title: "compare",
  draw(root, c) {
    const columnsBar = h("p", { class: "pick", role: "group", "aria-label": "columns" }, ...SIDES.map((s) => h("button", { type: "button", "aria-pressed": String(state.side === s), click: () => go({ side: s }) }, s || "all")), h("span", { class: "dim" }, " (d)"));
    for (const d of c.page.docs.filter((x) => x.view === "diff" || x.view === "compare")) {
      const said = d.titles.find((l) => !l.label)?.text;
      root.append(heading(said && !c.page.title.endsWith(said) ? said : "Comparison"), facts(d), ...(d.view === "diff" ? c.page.flames.map((f) => diffFlame(c, f)) : []), columnsBar);
      for (const t of d.tables) {
        if (!t.length) continue;
        const r = reached(c, null, t);
        root.append(h("h3", null, safe(t.title || t.name.replace(/_/g, " "))));
        root.append(r.note ?? "");
        if (t.one) { root.append(oneRow(t)); continue; }
        const change = t.columns.find((x) => sideOf(x) === "change" && x.kind !== "text");
        root.append(new Grid({
          table: t, rowFilter: r.rowFilter, label: t.name, columns: columns(t), parents: nodeParents(c, d), link: linker(c, t),
          extra: change && change.kind === "share" ? [{ head: "change", means: "to the left less, to the right more", draw(row, td) {
            const v = t.number(row, change);
            td.className = "bar";
            if (isNaN(v)) return;
            const track = h("span", { class: "track middle", role: "img", "aria-label": `${v > 0 ? "more" : "less"}` });
            const i = h("i", { class: v > 0 ? "more" : "less" });
            const w = Math.min(0.5, Math.abs(v) / 2);
            i.style.left = `${(v > 0 ? 0.5 : 0.5 - w) * 100}%`;
            i.style.width = `${w * 100}%`;
            track.append(i);
            td.append(track);
          } }] : [],
        }).el);
      }
      const next = nextCommands(d);
      if (next) root.append(next);
    }
  },
  keys(key) {
    if (flameKeys(key)) return true;
    if (key !== "d") return false;
    go({ side: SIDES[(SIDES.indexOf(state.side) + 1) % SIDES.length] });
    return true;
  },
};
