// SPDX-License-Identifier: BSD-3-Clause
// summary - the strip: what was measured, how far it can be trusted, the tree's first levels and
// the hottest functions.
import { findTable } from "../data";
import { h } from "../dom";
import { functionsGrid } from "./functions";
import { oneRow } from "./generic";
import { cubeNote, hashOf, lines, nextCommands, treeTables, type View } from "./context";
import { icicle } from "./tree";
import { filtered, go } from "../state";

export const summaryView: View = {
  id: "summary", title: "summary",
  draw(root, c) {
    const summary = c.doc("summary");
    const functions = c.doc("functions");
    const left = h("section", { class: "strip" });
    for (const d of [summary, c.doc("tree") ?? functions]) if (d) left.append(lines(d));
    if (!summary) {
      const r = findTable(functions ?? c.page.docs[0], "recording");
      if (r?.one && r.length) left.append(oneRow(r));
    }
    root.append(h("h2", null, "Summary"), left);
    const tree = treeTables(c).find((x) => !x.table.byKey.has("time"));
    if (tree) {
      root.append(h("h2", null, "Where the cycles went ", h("a", { href: hashOf({ view: "tree" }) }, "tree")),
        icicle(tree.table, (r) => go({ view: "tree", node: tree.table.text(r, tree.table.column("node")) })).el);
    }
    if (functions || c.cube) {
      root.append(h("h2", null, "Hottest functions ", h("a", { href: hashOf({ view: "functions" }) }, "all")));
      const note = filtered() ? cubeNote(c) : null;
      if (note) root.append(note);
      root.append(functionsGrid(c, false, 15));
    }
    for (const d of c.page.docs) {
      const next = nextCommands(d);
      if (next) { root.append(next); break; }
    }
  },
};
