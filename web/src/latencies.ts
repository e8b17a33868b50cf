// SPDX-License-Identifier: BSD-3-Clause
// latencies - histograms of memory latencies: one in a cell for a row of latencies, and one bar a row for a
// table of bins, as long as its part of the fullest bin of the same latency.
import type { Doc, Table } from "./data";
import { findTable } from "./data";
import { svg } from "./dom";
import { group } from "./format";
import type { Extra } from "./grid";
import { bars, classes, nameOf } from "./times";

const W = 180, H = 12;
const SOURCE = ["kind", "source", "latency"];
// What rows of a table are, and the table that has the bins of them.
const SPREADS: Record<string, [string, string[]]> = { latencies: ["histogram", ["latency"]], source_latencies: ["source_histogram", SOURCE] };
const BINS: Record<string, string[]> = { histogram: ["latency"], linear: ["latency"], source_histogram: SOURCE, source_linear: SOURCE };

// Powers of two: 0, 1, 2-3, 4-7, ...
const binOf = (from: number): number => (from ? 1 + Math.round(Math.log2(from)) : 0);
const binName = (k: number): string => (k < 2 ? String(k) : `${2 ** (k - 1)}-${2 ** k - 1}`);

// The columns that a table of latencies or of their bins is shown with.
export function latencyColumns(d: Doc, t: Table): Extra[] {
  const spread = SPREADS[t.name], keys = BINS[t.name];
  if (!t.byKey.has("latency") || d.view !== "mem") return [];
  const bins = spread ? findTable(d, spread[0]) : undefined;
  if (spread && bins) {
    const m = classes(bins, spread[1], "low", "samples");
    return [{
      head: "distribution", after: "most", means: "samples by cycles: one bar is a power of two; the shortest latency at the left",
      draw(row, td) {
        const list = m.get(nameOf(t, row, spread[1]))?.filter((x) => x.n);
        td.className = "dist";
        if (list?.length) td.append(bars(list, "cycles", binOf, binName));
      },
    }];
  }
  if (!keys) return [];
  const most = new Map([...classes(t, keys, "low", "samples")].map(([key, list]) => [key, Math.max(1, ...list.map((x) => x.n))]));
  return [{
    head: "of the fullest", after: "share", means: "samples of the bin: the longest bar is the bin with most",
    draw(row, td) {
      const n = t.number(row, t.column("samples"));
      const all = most.get(nameOf(t, row, keys)) ?? 1;
      td.className = "dist";
      td.append(svg("svg", { class: "times", width: W, height: H, role: "img", "aria-label": `${group(n)} of ${group(all)}` },
        svg("line", { x1: 0.5, x2: 0.5, y1: 0, y2: H }), n ? svg("rect", { x: 0, y: 0, width: Math.max(1.5, (n / all) * W), height: H }) : null));
    },
  }];
}
