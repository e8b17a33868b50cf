// SPDX-License-Identifier: BSD-3-Clause
// function - one function: source, instructions and block graph side by side. What is selected in
// one is lit in the others.
import { findTable, type Column, type RawGraph, type Table } from "../data";
import { h, safe, svg } from "../dom";
import { Grid, type Extra } from "../grid";
import { wholeNote } from "../reach";
import { go, state } from "../state";
import { baseName, cell } from "../format";
import { shortName } from "../names";
import { splitPanes } from "../panes";
import { timesOf } from "../times";
import { currentFunction, hashOf, lines, nextCommands, nodeParents, type Context, type View } from "./context";
import { folded } from "./generic";
import { sourcePane } from "./source";

const LANES = 6;
const EDGE = 6;   // px around a graph
const FAR = 3000; // rows: longer arrows only show their ends

// Jumps as lines beside the instructions: per row, which lanes pass, begin or end there.
function arrows(t: Table, edges: Table | undefined): Extra | null {
  const address = t.column("address");
  if (!address) return null;
  const at = new Map<string, number>();
  for (let r = 0; r < t.length; r++) at.set(t.text(r, address), r);
  const jumps: { from: number; to: number; lane: number }[] = [];
  const source = edges?.length ? edges : t;
  const from = source.column("address");
  const to = source.column("target");
  if (!from || !to) return null;
  for (let r = 0; r < source.length; r++) {
    const a = at.get(source.text(r, from));
    const b = at.get(source.text(r, to));
    if (a !== undefined && b !== undefined && source.text(r, source.column("flow")) !== "call") jumps.push({ from: a, to: b, lane: -1 });
  }
  if (!jumps.length) return null;
  jumps.sort((x, y) => Math.abs(x.from - x.to) - Math.abs(y.from - y.to));
  const rows: { j: number; kind: "pass" | "from" | "to" }[][] = Array.from({ length: t.length }, () => []);
  jumps.forEach((j, i) => {
    const lo = Math.min(j.from, j.to), hi = Math.max(j.from, j.to);
    if (hi - lo <= FAR) {
      const busy = new Set<number>();
      for (let r = lo; r <= hi; r++) for (const x of rows[r]) busy.add(jumps[x.j].lane);
      for (let l = 0; l < LANES && j.lane < 0; l++) if (!busy.has(l)) j.lane = l;
      if (j.lane >= 0) for (let r = lo + 1; r < hi; r++) rows[r].push({ j: i, kind: "pass" });
    }
    rows[j.from].push({ j: i, kind: "from" });
    rows[j.to].push({ j: i, kind: "to" });
  });
  return {
    head: "jumps", first: true, means: "jumps within the function: a dot begins one, an arrow ends it",
    draw(row, td) {
      td.className = "jumps";
      if (!rows[row].length) return;
      const w = LANES * 8 + 12;
      const s = svg("svg", { width: w, height: 25, "aria-hidden": "true" });
      for (const x of rows[row]) {
        const j = jumps[x.j];
        const cx = 12 + (j.lane < 0 ? LANES : j.lane) * 8;
        const down = x.kind === "from" ? j.to > j.from : j.from > j.to;
        const cls = j.to <= j.from ? "back" : "fore";
        if (x.kind === "pass") s.append(svg("line", { x1: cx, x2: cx, y1: 0, y2: 25, class: cls }));
        else {
          if (j.from !== j.to && j.lane >= 0) s.append(svg("line", { x1: cx, x2: cx, y1: down ? 12.5 : 0, y2: down ? 25 : 12.5, class: cls }));
          s.append(svg("line", { x1: 3, x2: cx, y1: 12.5, y2: 12.5, class: cls }));
          s.append(x.kind === "from" ? svg("circle", { cx: 4, cy: 12.5, r: 2.5, class: cls }) : svg("path", { d: "M0,12.5 L7,8.5 L7,16.5 Z", class: cls }));
        }
      }
      td.append(s);
    },
  };
}

interface Graph { el: HTMLElement; mark: (address: string) => void }
function graph(c: Context, g: RawGraph, pick: (address: string, id: number) => void): Graph {
  const text = (i: unknown): string => (typeof i === "number" ? c.page.strings[i] ?? "" : "");
  const s = svg("svg", { class: "cfg", role: "img", "aria-label": "control-flow graph" },
    svg("defs", null, svg("marker", { id: "tip-of-edge", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, svg("path", { d: "M0,0 L8,4 L0,8 Z", class: "arrowhead" }))));
  const whole = { x: -EDGE, y: -EDGE, w: (g.width || 100) + 2 * EDGE, h: (g.height || 100) + 2 * EDGE };
  const view = { ...whole };
  const apply = (): void => s.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const weights = g.edges.map((e) => (typeof e[3] === "number" ? e[3] : 0));
  const heaviest = Math.max(1e-9, ...weights);
  g.edges.forEach((e, i) => {
    const p = svg("path", { d: String(e[5] ?? ""), class: `edge ${/^\w+$/.test(String(e[2])) ? e[2] : ""}`, "marker-end": "url(#tip-of-edge)", "stroke-width": 1 + 3 * (weights[i] / heaviest), fill: "none" });
    p.append(svg("title", null, safe(text(e[4]))));
    s.append(p);
  });
  const of: { address: string; id: number; e: SVGElement }[] = [];
  for (const n of g.nodes) {
    const [id, x, y, w, hh] = n as number[];
    const address = text(n[5]);
    const most = Math.max(8, Math.floor(w / 6.7)); // letters that fit
    const label = text(n[6]).split("\n").map((l) => (l.length > most ? l.slice(0, most - 1) + "…" : l));
    const heat = typeof n[7] === "number" ? n[7] : 0;
    const rect = svg("rect", { x: x - w / 2, y: y - hh / 2, width: w, height: hh, rx: 3, class: "block" });
    rect.style.setProperty("--heat", String(heat));
    const e = svg("g", { class: "node" }, rect, ...label.map((l, i) => svg("text", { x, y: y + (i - (label.length - 1) / 2) * 14, "text-anchor": "middle", "dominant-baseline": "central" }, safe(l))),
      svg("title", null, safe(`${address}\n${text(n[6])}`)));
    e.addEventListener("click", () => pick(address, id));
    of.push({ address, id, e });
    s.append(e);
  }
  const zoom = (f: number, cx = view.x + view.w / 2, cy = view.y + view.h / 2): void => {
    view.x = cx - (cx - view.x) * f;
    view.y = cy - (cy - view.y) * f;
    view.w *= f;
    view.h *= f;
    apply();
  };
  let drag: { x: number; y: number; moved: boolean } | null = null;
  s.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const r = s.getBoundingClientRect();
    zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, view.x + ((e.clientX - r.left) / r.width) * view.w, view.y + ((e.clientY - r.top) / r.height) * view.h);
  }, { passive: false });
  s.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, y: e.clientY, moved: false }; });
  s.addEventListener("pointermove", (e) => {
    if (!drag || !(e.buttons & 1)) return;
    const r = s.getBoundingClientRect();
    const k = Math.max(view.w / r.width, view.h / r.height);
    view.x -= (e.clientX - drag.x) * k;
    view.y -= (e.clientY - drag.y) * k;
    drag = { x: e.clientX, y: e.clientY, moved: true };
    apply();
  });
  s.addEventListener("pointerup", () => { drag = null; });
  apply();
  const button = (label: string, what: string, f: () => void): HTMLElement => h("button", { type: "button", title: what, click: f }, label);
  const el = h("div", { class: "cfgbox" }, h("p", { class: "tools" }, button("+", "larger", () => zoom(1 / 1.3)), button("−", "smaller", () => zoom(1.3)),
    button("fit", "the whole graph", () => { Object.assign(view, whole); apply(); }), h("span", { class: "dim" }, "drag moves, Ctrl and wheel zoom; dashed: falls through; heavy: back to a loop's head")), s,
    ...(g.notes ?? []).map((n) => h("p", { class: "dim" }, safe(text(n)))));
  return {
    el,
    mark(address) {
      // the block that the instruction is in: the last one that begins before it
      let hit = of.find((n) => n.address === address);
      if (!hit && address) {
        const a = BigInt(/^0x[0-9a-f]+$/i.test(address) ? address : "0x0");
        for (const n of of) if (/^0x[0-9a-f]+$/i.test(n.address) && BigInt(n.address) <= a && (!hit || BigInt(n.address) > BigInt(hit.address))) hit = n;
      }
      of.forEach((n) => n.e.classList.toggle("lit", n === hit));
    },
  };
}

const asmState = { arrows: true, cold: false, start: -1 }; // start: the row to begin with; -1: the hottest
const COLD = 40; // instructions: shorter functions are shown whole
const RUN = 12;  // and shorter runs of blocks without samples

// Rows in blocks that have samples, and in short runs of others.
function warm(t: Table): number[] | undefined {
  const share = t.column("share"), flow = t.column("flow"), target = t.column("target"), address = t.column("address");
  if (t.length < COLD || !share || !flow) return undefined;
  const begins = new Set<string>();
  for (let r = 0; r < t.length; r++) if (t.text(r, target)) begins.add(t.text(r, target));
  const rows: number[] = [];
  let last = -1; // the last row of a block with samples
  for (let r = 0; r < t.length;) {
    let end = r, hot = false;
    do hot ||= t.number(end, share) > 0;
    while (++end < t.length && !/^(jump|branch|return)$/.test(t.text(end - 1, flow)) && !begins.has(t.text(end, address)));
    if (hot) {
      for (let k = r - last - 1 < RUN ? last + 1 : r; k < end; k++) rows.push(k);
      last = end - 1;
    }
    r = end;
  }
  if (t.length - last - 1 < RUN) for (let k = last + 1; k < t.length; k++) rows.push(k);
  return last >= 0 ? rows : undefined;
}
// What a function's callees cost when it calls them, as a part of all samples.
function calleeCosts(c: Context, f: { name: string; dso: string }): (callee: string) => number {
  const cube = c.cube, cost = new Map<string, number>();
  if (cube) {
    const sums = cube.sums(state);
    for (let i = 0; i < cube.parent.length; i++) {
      const p = cube.parent[i] >= 0 ? cube.frame[cube.parent[i]] : -1;
      if (p < 0 || cube.frame[i] < 0 || cube.frames[p].name !== f.name || !sums.total[i]) continue;
      const name = cube.frames[cube.frame[i]].name;
      cost.set(name, (cost.get(name) ?? 0) + sums.total[i] / (sums.period || 1));
    }
  }
  return (callee) => cost.get(callee) ?? 0;
}

export const functionView: View = {
  id: "code", title: "code",
  draw(root, c) {
    const f = currentFunction(c);
    if (!f) {
      root.append(h("p", null, "This page has no function pages."));
      return;
    }
    const pages = h("select", { "aria-label": "function", change: (e: Event) => {
      const x = c.page.functions[(e.target as HTMLSelectElement).selectedIndex];
      go({ fn: `${x.name}@${x.dso}` });
    } }, ...c.page.functions.map((x) => h("option", { selected: x === f }, safe(`${shortName(x.name)} (${baseName(x.dso)})`).slice(0, 120))));
    const head = findTable(f.doc, "summary");
    root.append(h("div", { class: "functionhead" }, h("h2", { title: safe(f.name) }, safe(shortName(f.name))), c.page.functions.length > 1 ? pages : null));
    if (head?.length) {
      const part = (key: string): string => (head.column(key) && head.value(0, head.column(key)) !== null ? cell(head, 0, head.column(key)!) : "");
      root.append(h("p", null, [part("share") && `${part("share")} of ${part("event")}`, part("samples") && `${part("samples")} samples`, f.dso, part("address"), part("size")].filter(Boolean).map((x) => safe(x)).join(" · ")));
    }
    const note = wholeNote();
    if (note) root.append(note);
    const code = findTable(f.doc, "instructions");
    const hot = findTable(f.doc, "lines");
    const names: string[] = [], widths: number[] = [];
    const panes = h("div", { class: "panes" });
    root.append(panes);
    let asm: Grid | null = null;
    let cfg: Graph | null = null;
    let source: { light: (file: string, line: number) => void } | null = null;
    const parents = nodeParents(c, f.doc);

    const again = (change: Partial<typeof asmState>): void => {
      Object.assign(asmState, change);
      root.textContent = "";
      functionView.draw(root, c);
    };
    const lightFromAsm = (row: number): void => {
      if (!code) return;
      asm?.setMarks(new Set());
      source?.light(code.text(row, code.column("file")), code.number(row, code.column("line")));
      cfg?.mark(code.text(row, code.column("address")));
    };
    const lightAsm = (test: (row: number) => boolean): void => {
      if (!code || !asm) return;
      const marks = new Set<number>();
      for (let r = 0; r < code.length; r++) if (test(r)) marks.add(r);
      asm.setMarks(marks);
      const [first] = marks;
      if (first === undefined) return;
      if (asm.order.includes(first)) asm.moveToRow(first, true);
      else again({ cold: true, start: first });
    };
    if (hot || code) {
      const tables = { lines: hot, source: findTable(f.doc, "source"), instructions: code, inlined: findTable(f.doc, "inlined") };
      const s = sourcePane(c, f.dso, tables, calleeCosts(c, f), (file, line) => {
        lightAsm((r) => code!.text(r, code!.column("file")) === file && code!.number(r, code!.column("line")) === line);
        if (asm?.row_ !== undefined && code) cfg?.mark(code.text(asm.row_, code.column("address")));
      });
      if (s) {
        source = s;
        panes.append(s.el);
        names.push("source");
        widths.push(1.5);
      }
    }
    if (code?.length) {
      const jump = asmState.arrows ? arrows(code, findTable(f.doc, "edges")) : null;
      const pick = (key: string): Column | undefined => code.column(key);
      const nodes = code.columns.filter((x) => parents.has(x.key) || [...parents.values()].includes(x.key));
      const wanted = ["share", "address", "instruction", "samples", "runs", "mispredicted_share"].map(pick).filter((x): x is Column => !!x && code.rows.some((r) => r[x.at] !== null));
      const columns = [...wanted, ...nodes.filter((x) => code.rows.some((r) => r[x.at] !== null && r[x.at] !== 0))];
      const hotRows = asmState.cold ? undefined : warm(code);
      const rows = hotRows && hotRows.length < code.length ? hotRows : undefined;
      asm = new Grid({ table: code, label: "instructions", columns, parents, rows, extra: jump ? [jump] : [], tall: true, select: lightFromAsm, sortable: true });
      panes.append(h("section", { class: "pane asm" }, h("h3", null, "instructions"),
        h("p", { class: "tools" }, h("button", { type: "button", "aria-pressed": String(asmState.arrows), click: () => again({ arrows: !asmState.arrows }) }, "jumps"),
          rows || (asmState.cold && warm(code)) ? h("button", { type: "button", class: "cold", "aria-pressed": String(!asmState.cold), click: () => again({ cold: !asmState.cold }) }, rows ? `${code.length - rows.length} instructions in blocks without samples are folded` : "fold blocks without samples") : null), asm.el));
      names.push("instructions");
      widths.push(1.2);
    }
    const pickBlock = (address: string): void => {
      if (!code) return;
      const r0 = code.rows.findIndex((_, r) => code.text(r, code.column("address")) === address);
      const block = r0 >= 0 ? code.value(r0, code.column("block")) : null;
      lightAsm((r) => (block !== null ? code.value(r, code.column("block")) === block : r === r0));
      cfg?.mark(address);
      if (r0 >= 0) source?.light(code.text(r0, code.column("file")), code.number(r0, code.column("line")));
    };
    if (f.graph?.nodes.length) {
      cfg = graph(c, f.graph, pickBlock);
      panes.append(h("section", { class: "pane graph" }, h("h3", null, "blocks"), cfg.el));
      names.push("blocks");
      widths.push(0.7);
    }
    splitPanes(panes, names, widths);
    asm?.activate();
    if (asm && code?.column("share")) {
      const share = code.column("share")!;
      let hottest = 0;
      for (let r = 1; r < code.length; r++) if (code.number(r, share) > (code.number(hottest, share) || 0)) hottest = r;
      const grid = asm, to = asmState.start >= 0 && asmState.start < code.length ? asmState.start : hottest;
      asmState.start = -1;
      requestAnimationFrame(() => { grid.moveToRow(to, false); grid.center(); lightFromAsm(to); });
    }
    const times = timesOf(c.doc("blocks"), f.name, f.dso, (address) => pickBlock(address));
    if (times) root.append(times);
    root.append(lines(f.doc));
    for (const t of f.doc.tables) if (t.length && !t.one && !["instructions", "lines", "source"].includes(t.name)) folded(root, c, f.doc, t);
    const next = nextCommands(f.doc);
    if (next) root.append(next);
    if (c.page.docs.length) root.append(h("p", null, h("a", { href: hashOf({ view: "functions", fn: "" }) }, "all functions (u)")));
  },
  keys(key) {
    if (key === "u") go({ view: "functions" });
    return key === "u";
  },
};
