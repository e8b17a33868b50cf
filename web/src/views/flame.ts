// SPDX-License-Identifier: BSD-3-Clause
// flame - call chains as a flame graph, by period: heaviest callee first or in the order of time, callers above or below,
// inverted (whoever called it below), or a function's callers and callees alone (sandwich). A frame's colour is the leaf of cycle
// accounting that dominates what it holds, where the recording has one, or its file's. That of time (wall.ts) has the same keys and
// filter.
import { css, frameColour, nodeColour, offColour } from "../colour";
import { shareError, type Cube } from "../cube";
import { findTable, type Doc } from "../data";
import { copy, h, safe, swatch } from "../dom";
import { group, percent } from "../format";
import { shortName } from "../names";
import { go, quote, regex, state, type State } from "../state";
import { dialog } from "../why";
import { cubeNote, functionLink, heading, nodeParents, type Context, type View } from "./context";
import { INLINED, boxes, fresh, inlinedEdge, neighbour, pathTo, zoomed, type Boxes, type Frame, type Paint } from "./frames";
import { OFF, hatch, onTime, reasonsOf, sumOff, timeWords, wallLegend, wallState } from "./wall";

function build(cube: Cube, inverted: boolean, filter: State): Frame {
  const sums = cube.sums(filter);
  const root = fresh(-2, null);
  root.value = sums.period;
  if (!inverted) {
    const of: (Frame | undefined)[] = new Array(cube.parent.length);
    for (let i = 0; i < of.length; i++) {
      if (!sums.total[i]) continue;
      const f = fresh(cube.frame[i], cube.parent[i] >= 0 ? of[cube.parent[i]] ?? root : root);
      f.value = sums.total[i];
      f.self = sums.self[i];
      f.samples = sums.samples[i];
      of[i] = f;
    }
  } else {
    const below = new Merge(cube);
    for (let i = 0; i < cube.parent.length; i++) if (sums.self[i]) below.up(root, i, sums.self[i], sums.samples[i]);
  }
  order(root);
  if (!inverted) addSamples(root);
  else for (const k of root.children) root.samples += k.samples;
  return root;
}
function order(f: Frame): void {
  f.children.sort((a, b) => b.value - a.value);
  f.children.forEach(order);
}
function addSamples(f: Frame): void {
  for (const k of f.children) { addSamples(k); f.samples += k.samples; }
}
// Chains of one function become one frame below another.
class Merge {
  private at = new Map<Frame, Map<number, Frame>>();
  constructor(private cube: Cube) {}
  id(node: number): number { return this.cube.frame[node] < 0 ? -1 : this.cube.ids[this.cube.frame[node]]; }
  below(f: Frame, id: number): Frame {
    let m = this.at.get(f);
    if (!m) this.at.set(f, (m = new Map()));
    let k = m.get(id);
    if (!k) m.set(id, (k = fresh(id, f)));
    return k;
  }
  // The node and its callers, outwards.
  up(from: Frame, node: number, value: number, samples: number): void {
    for (let k = node, d = 0; k >= 0 && d < 100; k = this.cube.parent[k], d++) {
      const f = this.below(from, this.id(k));
      f.value += value;
      if (k === node) f.self += value;
      f.samples += samples;
      from = f;
    }
  }
}
// In the order of time: what follows one another and is the same is one frame.
function inTime(cube: Cube, filter: State): Frame {
  const root = fresh(-2, null);
  const cells: number[] = [];
  cube.walk(filter, (i) => cells.push(i));
  cells.sort((a, b) => cube.bin[a] - cube.bin[b] || cube.node[a] - cube.node[b]);
  const path: number[] = [];
  for (const i of cells) {
    path.length = 0;
    for (let k = cube.node[i]; k >= 0; k = cube.parent[k]) path.push(cube.frame[k]);
    let f = root;
    for (let d = path.length; d >= 0; d--) {
      if (d < path.length) {
        const last = f.children[f.children.length - 1];
        f = last && last.frame === path[d] ? last : fresh(path[d], f);
      }
      f.value += cube.period[i];
      f.samples += cube.samples[i];
    }
    f.self += cube.period[i];
  }
  return root;
}
// Of one function, where it is inlined, too: what it calls, and who calls it. Recursive calls count once.
function sandwich(cube: Cube, filter: State, id: number): { callers: Frame; callees: Frame } {
  const sums = cube.sums(filter);
  const m = new Merge(cube);
  const callers = fresh(id, null), callees = fresh(id, null);
  const of: (Frame | undefined)[] = new Array(cube.parent.length);
  for (let i = 0; i < of.length; i++) {
    if (!sums.total[i]) continue;
    const p = cube.parent[i];
    const above = p >= 0 ? of[p] : undefined;
    const f = above ? m.below(above, m.id(i)) : cube.same(m.id(i), id) ? callees : undefined;
    if (!f) continue;
    of[i] = f;
    for (let k: Frame | null = f; k; k = k.parent) k.samples += sums.samples[i];
    f.value += sums.total[i];
    f.self += sums.self[i];
    if (above) continue;
    callers.value += sums.total[i];
    if (p >= 0) m.up(callers, p, sums.total[i], 0);
  }
  callers.samples = callees.samples;
  order(callers);
  order(callees);
  return { callers, callees };
}
// The function that the code of an inlined call is in, where callers are above.
function owner(cube: Cube, f: Frame): Frame {
  while (cube.inlined(f.frame) && f.parent) f = f.parent;
  return f;
}
// Nodes that are cycles: the others count what happens, and what is only informed of is no part of the cost.
function costNodes(doc: Doc | undefined): Set<string> {
  const out = new Set<string>();
  const t = findTable(doc, "nodes");
  const text = (r: number, key: string): string => t!.text(r, t!.column(key));
  for (let r = 0; t && r < t.length; r++)
    if ((text(r, "unit") || "cycles") === "cycles" && !["info", "halted"].includes(text(r, "part"))) out.add(text(r, "node"));
  return out;
}
// Per frame the leaf that dominates, by the account's table of functions.
function leaves(c: Context, root: Frame): string[] {
  const doc = c.doc("account");
  const t = findTable(doc, "rows");
  const fn = t?.column("function");
  const cube = c.cube!;
  if (!t || !fn) return [];
  const parents = nodeParents(c, doc);
  const cost = costNodes(doc);
  const inner = new Set([...parents].filter(([node]) => cost.has(node)).map(([, up]) => up));
  const columns = t.columns.filter((x) => parents.has(x.key) && cost.has(x.key) && !inner.has(x.key));
  const names = columns.map((x) => x.head);
  const best = new Map<string, number>();
  for (let r = 0; r < t.length; r++) {
    let at = -1, most = 0;
    columns.forEach((x, i) => { const v = t.number(r, x); if (v > most) { most = v; at = i; } });
    best.set(`${t.text(r, fn)}\n${t.text(r, t.column("dso"))}`, at);
  }
  const sum = (f: Frame): Float64Array => {
    const w = new Float64Array(names.length);
    if (f.frame >= 0 && f.self) {
      const own = cube.frames[owner(cube, f).frame], at = best.get(`${own.name}\n${own.dso}`) ?? -1;
      if (at >= 0) w[at] += f.self;
    }
    for (const x of f.children) { const v = sum(x); for (let i = 0; i < w.length; i++) w[i] += v[i]; }
    let most = 0;
    w.forEach((v, i) => { if (v > most) { most = v; f.leaf = i; } });
    return w;
  };
  sum(root);
  return names;
}

// How the graph is drawn, words in the address: "time" (order), "up" (flame), "file" (colours), "sandwich".
const LOOKS = ["time", "up", "file", "sandwich"] as const;
function looks(word: (typeof LOOKS)[number]): boolean { return state.look.split(",").includes(word); }
function turn(word: (typeof LOOKS)[number], more: Partial<State> = {}): boolean {
  go({ look: LOOKS.filter((w) => looks(w) !== (w === word)).join(","), ...more });
  return true;
}

let keysOf: ((key: string) => boolean) | null = null;
const view = (id: string, title: string, wall: boolean): View => ({
  id, title,
  draw(root, c) {
    const cube = wall ? c.wall! : c.cube!;
    const filter = wall ? wallState(c) : state;
    const name = (f: Frame): string => (f.frame === -2 ? "all" : cube.name(f.frame));
    const path = (f: Frame): string => (cube.inlined(f.frame) ? `${name(f)} (inlined)` : name(f));
    const dso = (f: Frame): string => (f.frame >= 0 ? cube.frames[f.frame].dso : "");
    const subject = cube.frames.findIndex((f) => state.fn === `${f.name}@${f.dso}`);
    const two = looks("sandwich") && subject >= 0 && !wall ? sandwich(cube, filter, cube.ids[subject]) : null;
    const inverted = state.invert === "1" && !two;
    const timed = looks("time") && cube.hasTime && !inverted && !two;
    const all = two ? two.callees : timed ? inTime(cube, filter) : build(cube, inverted, filter);
    const whole = two ? cube.sums(filter).period : all.value;
    const count = two ? cube.sums(filter).count : all.samples;
    const costs = inverted || wall ? [] : leaves(c, all);
    const names = looks("file") ? [] : costs;
    if (wall) sumOff(cube, all, inverted);
    const what = wall ? "Time of all threads, on the CPU and off it" : "Flame graph";
    root.append(heading(two ? `Callers and callees of ${shortName(name(two.callees))}` : `${what}${inverted ? ", inverted: below a function are its callers" : timed ? ", in the order of time" : looks("up") ? ": above a function is what it calls" : ": below a function is what it calls"}`));
    root.append(h("p", { class: "weight" }, wall ? "Widths are time." : cube.unit === "events" ? `Widths are counts of ${safe(cube.event)}, no cost: no event of this recording is in cycles or time.`
      : `Widths are ${cube.unit === "ns" ? "time" : cube.unit} (${safe(cube.event)}).`,
      timed ? ` From left to right is time, in ${cube.raw.bins} bins; threads that run in one bin are added up.` : null));
    const note = cubeNote(c, cube, filter.time);
    if (note) root.append(note);
    const top = two ? all : zoomed(all, state.zoom, path);
    let picked = top;
    const info = h("p", { class: "flameinfo", "aria-live": "polite" });
    const canvas = (label: string): HTMLCanvasElement => h("canvas", { tabindex: 0, role: "img", "aria-label": `${label}; j k h l move, Enter zooms, u goes up` });
    const search = state.search ? regex(state.search) : null;
    const hit = (f: Frame): boolean => !!search && f.frame >= 0 && (search.test(cube.frames[f.frame].name) || search.test(dso(f)));
    const matched = (f: Frame): number => (hit(f) ? f.value : f.children.reduce((a, x) => a + matched(x), 0));
    const button = (label: string, pressed: boolean | null, f: () => void, title = ""): HTMLElement => h("button", { type: "button", "aria-pressed": pressed === null ? null : String(pressed), title: title || null, click: f }, label);
    const bar = h("p", { class: "tools" },
      two ? null : button("invert (i)", inverted, () => go({ invert: inverted ? "" : "1", zoom: "" })),
      wall ? null : button("callers and callees (b)", !!two, () => both(), "of the frame that is marked, or of what is shown"),
      cube.hasTime && !two ? button("time order (t)", timed, () => turn("time", { invert: "", zoom: "" })) : null,
      two ? null : button("flame (v)", looks("up"), () => turn("up"), "callers below; else an icicle, callers above"),
      costs.length ? button("colours: file (c)", looks("file"), () => turn("file"), "else the cost that dominates") : null,
      h("button", { type: "button", disabled: !two && top === all, click: () => up() }, "up (u)"), button("why? (e)", null, () => explain(picked)), button("copy name (n)", null, () => copy(name(picked), "the name")),
      c.wall && !two ? button(wall ? "samples" : "with waits", null, () => go({ view: wall ? "flame" : "wallflame", zoom: "" }), wall ? "where the CPU was" : "also time off the CPU, coloured by what it waited for") : null);
    if (search) bar.append(h("b", null, ` ${percent(matched(top) / (top.value || 1))} matched by "${safe(state.search)}"`));
    const crumbs = h("p", { class: "crumbs" });
    const chain: Frame[] = [];
    for (let f: Frame | null = top; f; f = f.parent) chain.unshift(f);
    if (!two) chain.forEach((f, i) => crumbs.append(i ? " › " : "", h("button", { type: "button", class: "linkish", title: safe(name(f)), click: () => zoom(f) }, safe(shortName(name(f))))));
    root.append(bar, crumbs);

    const describe = (f: Frame): string => (wall ? `${describeShares(f)}: ${timeWords(f)}` : describeShares(f));
    const describeShares = (f: Frame): string => f.frame === -2 ? `all: ${cube.weight(all.value)}` :
      `${path(f)}${dso(f) ? `  (${dso(f)})` : ""}  ${percent(f.value / (whole || 1))} of all, ` + (two && f !== all && isCaller(f) ? `through it into ${shortName(name(two.callees))}` : `itself ${percent(f.self / (whole || 1))}`) +
      (top !== all || two ? `, ${percent(f.value / (top.value || 1))} of what is shown` : "") + (f.leaf >= 0 ? `  mostly ${names[f.leaf] ?? costs[f.leaf]}` : "");
    const isCaller = (f: Frame): boolean => { while (f.parent) f = f.parent; return f === two?.callers; };
    const paint: Paint = {
      value: (f) => f.value, words: describe, lit: search ? hit : null, mark: (f) => (cube.inlined(f.frame) ? INLINED : ""),
      name: (f) => (f.frame === -2 ? `all ${cube.weight(f.value)}` : name(f)),
      fill: (f) => f.frame === -2 ? css("--line") : f.frame < 0 ? css("--soft") : f.leaf >= 0 && names.length ? nodeColour(names[f.leaf]) : frameColour(cube.frames[f.frame].name, dso(f)),
    };
    if (cube.frames.some((f) => f.kind === "inlined")) paint.over = inlinedEdge((f) => cube.inlined(f.frame));
    if (wall) {
      const patterns = hatch(document.createElement("canvas").getContext("2d")!);
      paint.over = (g, f, y, width, height) => {
        let x = f.x + (onTime(f) / (f.value || 1)) * width;
        OFF.forEach((k, i) => {
          const w = (f.off[i] / (f.value || 1)) * width;
          for (const style of w > 0 ? [offColour(k), patterns[i]] : []) if (style) { g.fillStyle = style; g.fillRect(x, y, w, height); }
          x += w;
        });
      };
    }
    const open = (f: Frame): void => {
      if (two) { if (f === all) select(f); else both(f); } else if (f === top && f.parent) up(); else zoom(f);
    };
    const how = { up: looks("up") && !two, chosen: picked };
    const callers = two ? boxes(root, canvas("callers"), two.callers, paint, { up: true, headless: true, chosen: picked }, open) : null;
    const graph = boxes(root, canvas(two ? "callees" : "flame graph"), top, paint, how, open);
    const parts: Boxes[] = callers ? [callers, graph] : [graph];
    if (callers) root.append(h("p", { class: "dim" }, two!.callers.children.length ? "called by" : "no caller is known"), callers.el);
    root.append(graph.el, info);
    if (two) root.append(h("p", { class: "dim" }, "Above: who calls it, by what it costs through them. Below: what it calls. A click on another function shows that one."));
    if (wall) root.append(wallLegend(all));
    else if (names.length) {
      const used = new Set<number>();
      const see = (f: Frame): void => { if (f.leaf >= 0) used.add(f.leaf); f.children.forEach(see); };
      see(all);
      root.append(h("p", { class: "legend" }, `coloured by the leaf that dominates, by ${cube.unit === "events" ? "its cycles" : cube.unit === "ns" ? "time" : cube.unit}: `, ...[...used].map((i) => swatch(nodeColour(names[i]), names[i]))));
    } else root.append(h("p", { class: "dim" }, "Colours tell files apart: warm ones are the kernel's."));
    if (paint.over && !wall) root.append(h("p", { class: "dim" }, `${INLINED}and a dotted edge: inlined, its code is in the function that calls it.`));

    const explain = (f: Frame): boolean => {
      const list = h("dl");
      const put = (label: string, value: string, more: string): void => { list.append(h("dt", null, label), h("dd", null, h("b", null, value), h("span", { class: "dim" }, ` · ${more}`))); };
      const share = f.value / (whole || 1);
      const error = shareError(share, count);
      put("share", percent(share), `of ${cube.weight(whole)} that pass the filter${wall || isNaN(error) ? "" : `; ±${(100 * error).toFixed(1)} (95 %), of ${group(count)} samples`}`);
      put(wall ? "time" : "period", cube.weight(f.value), wall ? "of all its threads, added up" : `the sum over ${group(f.samples)} samples`);
      put("self", percent(f.self / (whole || 1)), "in the function itself, not in what it calls");
      if (dso(f)) put("of", safe(dso(f)), "its file");
      if (f.leaf >= 0) put("mostly", safe(costs[f.leaf]), "the leaf of cycle accounting that dominates");
      dialog("Why?", h("p", null, safe(name(f))), list, wall ? reasonsOf(c, f, inverted) : null);
      return true;
    };
    const both = (f = picked): boolean => {
      if (two && (f === all || f.frame < 0)) return turn("sandwich");
      if (f.frame < 0 || wall) return false;
      const fn = `${cube.frames[f.frame].name}@${dso(f)}`;
      if (two) go({ fn }); else turn("sandwich", { fn, zoom: "" });
      return true;
    };
    const zoom = (f: Frame): void => go({ zoom: pathTo(f, path) });
    const up = (): void => { if (two) turn("sandwich"); else zoom(top.parent ?? all); };
    const select = (f: Frame): void => {
      picked = f;
      parts.forEach((p) => p.pick(f));
      info.textContent = safe(describe(f));
    };
    select(picked);
    keysOf = (key) => {
      const next = neighbour(key, picked, two && isCaller(picked) ? two.callers : top);
      if (next !== undefined) {
        if (next) select(next);
        return true;
      }
      const mine = picked.frame >= 0;
      switch (key) {
        case "Enter": open(picked); return true;
        case "u": if (!two && top === all) return false; up(); return true;
        case "i": go({ invert: state.invert ? "" : "1", zoom: "" }); return true;
        case "b": return both();
        case "t": return cube.hasTime && turn("time", { invert: "", zoom: "" });
        case "v": return turn("up");
        case "c": return costs.length > 0 && turn("file");
        case "n": copy(name(picked), "the name"); return true;
        case "f": if (mine) go({ focus: `^${quote(name(picked))}$`, zoom: "" }); return true;
        case "x": if (mine) go({ hide: `^${quote(name(picked))}$`, zoom: "" }); return true;
        case "e": return explain(picked);
        case "o": {
          const own = inverted ? picked : owner(cube, picked);
          const link = mine ? functionLink(c, cube.name(own.frame), dso(own)) : null;
          if (link) location.hash = link;
          return true;
        }
      }
      return false;
    };
  },
  keys: (key) => keysOf?.(key) ?? false,
});
export const flameView = view("flame", "flame", false);
export const wallView = view("wallflame", "wall flame", true);
