// SPDX-License-Identifier: BSD-3-Clause
// flame - call chains as a flame graph (an icicle: callers above), by period. Inverted: callees
// above, whoever called them below. A frame's colour is the leaf of cycle accounting that dominates
// what it holds, where the recording has one; else its file's. That of time (wall.ts) has the same
// keys and filter.
import { css, frameColour, ink, nodeColour, offColour, painters } from "../colour";
import { shareError, type Cube } from "../cube";
import { findTable, type Doc } from "../data";
import { h, safe, tip } from "../dom";
import { percent } from "../format";
import { go, quote, regex, state, type State } from "../state";
import { dialog } from "../why";
import { cubeNote, functionLink, heading, nodeParents, type Context, type View } from "./context";
import { OFF, hatch, onTime, reasonsOf, sumOff, timeWords, wallLegend, wallState } from "./wall";

export interface Frame { frame: number; value: number; self: number; samples: number; off: number[]; children: Frame[]; parent: Frame | null; depth: number; leaf: number; x: number; w: number }
const ROW = 20;

function fresh(frame: number, parent: Frame | null): Frame {
  return { frame, value: 0, self: 0, samples: 0, off: [], children: [], parent, depth: parent ? parent.depth + 1 : 0, leaf: -1, x: 0, w: 0 };
}
function build(cube: Cube, inverted: boolean, filter: State): Frame {
  const sums = cube.sums(filter);
  const root = fresh(-2, null);
  root.value = sums.period;
  if (!inverted) {
    const of: (Frame | undefined)[] = new Array(cube.parent.length);
    for (let i = 0; i < of.length; i++) {
      if (!sums.total[i]) continue;
      const p = cube.parent[i] >= 0 ? of[cube.parent[i]] ?? root : root;
      const f = fresh(cube.frame[i], p);
      f.value = sums.total[i];
      f.self = sums.self[i];
      f.samples = sums.samples[i];
      p.children.push(f);
      of[i] = f;
    }
  } else {
    const child = new Map<Frame, Map<number, Frame>>();
    for (let i = 0; i < cube.parent.length; i++) {
      if (!sums.self[i]) continue;
      let at = root;
      for (let k = i, d = 0; k >= 0 && d < 100; k = cube.parent[k], d++) {
        const id = cube.frame[k] < 0 ? -1 : cube.ids[cube.frame[k]];
        let m = child.get(at);
        if (!m) child.set(at, (m = new Map()));
        let f = m.get(id);
        if (!f) { m.set(id, (f = fresh(id, at))); at.children.push(f); }
        f.value += sums.self[i];
        if (k === i) f.self += sums.self[i];
        f.samples += sums.samples[i];
        at = f;
      }
    }
  }
  const sort = (f: Frame): void => {
    f.children.sort((a, b) => b.value - a.value);
    f.children.forEach(sort);
    if (!inverted || f === root) for (const k of f.children) f.samples += k.samples;
  };
  sort(root);
  return root;
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
      const at = best.get(`${cube.frames[f.frame].name}\n${cube.frames[f.frame].dso}`) ?? -1;
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

let keysOf: ((key: string) => boolean) | null = null;
const view = (id: string, title: string, wall: boolean): View => ({
  id, title,
  draw(root, c) {
    const cube = wall ? c.wall! : c.cube!;
    const inverted = state.invert === "1";
    const filter = wall ? wallState(c) : state;
    const all = build(cube, inverted, filter);
    const names = inverted || wall ? [] : leaves(c, all);
    const much = (f: Frame): string => cube.weight(f.value);
    if (wall) sumOff(cube, all, inverted);
    root.append(heading(`${wall ? "Time of all threads, on the CPU and off it" : "Flame graph"}${inverted ? ", inverted: below a function are its callers" : ": below a function is what it calls"}`));
    root.append(h("p", { class: "weight" }, wall ? "Widths are time." : cube.unit === "events" ? `Widths are counts of ${safe(cube.event)}, no cost: no event of this recording is in cycles or time.`
      : `Widths are ${cube.unit === "ns" ? "time" : cube.unit} (${safe(cube.event)}).`));
    const note = cubeNote(c, cube, filter.time);
    if (note) root.append(note);
    const path = state.zoom ? state.zoom.split("\t") : [];
    let top = all;
    for (const name of path) {
      const next = top.children.find((f) => cube.name(f.frame) === name);
      if (!next) break;
      top = next;
    }
    let picked = top;
    const info = h("p", { class: "flameinfo", "aria-live": "polite" });
    const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "flame graph; j k h l move, Enter zooms, u goes up" });
    const search = state.search ? regex(state.search) : null;
    const hit = (f: Frame): boolean => !!search && f.frame >= 0 && (search.test(cube.frames[f.frame].name) || search.test(cube.frames[f.frame].dso));
    const matched = (f: Frame): number => (hit(f) ? f.value : f.children.reduce((a, x) => a + matched(x), 0));
    const bar = h("p", { class: "tools" },
      h("button", { type: "button", "aria-pressed": String(inverted), click: () => go({ invert: inverted ? "" : "1", zoom: "" }) }, "invert (i)"),
      h("button", { type: "button", disabled: top === all, click: () => up() }, "up (u)"),
      h("button", { type: "button", click: () => explain(picked) }, "why? (e)"));
    if (search) bar.append(h("b", null, ` ${percent(matched(top) / (top.value || 1))} matched by "${safe(state.search)}"`));
    const crumbs = h("p", { class: "crumbs" });
    const chain: Frame[] = [];
    for (let f: Frame | null = top; f; f = f.parent) chain.unshift(f);
    chain.forEach((f, i) => crumbs.append(i ? " › " : "", h("button", { type: "button", class: "linkish", click: () => zoom(f) }, safe(f === all ? "all" : cube.name(f.frame)))));
    root.append(bar, crumbs, canvas, info);
    if (wall) root.append(wallLegend(all));
    else if (names.length) {
      const used = new Set<number>();
      const see = (f: Frame): void => { if (f.leaf >= 0) used.add(f.leaf); f.children.forEach(see); };
      see(all);
      root.append(h("p", { class: "legend" }, "coloured by the leaf that dominates: ", ...[...used].map((i) => {
        const s = h("i");
        s.style.backgroundColor = nodeColour(names[i]);
        return h("span", null, s, safe(names[i]));
      })));
    } else root.append(h("p", { class: "dim" }, "Colours tell files apart: warm ones are the kernel's."));

    const rows: Frame[][] = [];
    const layout = (): void => {
      rows.length = 0;
      const put = (f: Frame, x: number, w: number, level: number): void => {
        f.x = x;
        f.w = w;
        if (w < 0.4 && f !== top) return;
        (rows[level] ??= []).push(f);
        let at = x;
        for (const k of f.children) {
          const kw = (k.value / f.value) * w;
          put(k, at, kw, level + 1);
          at += kw;
        }
      };
      put(top, 0, canvas.clientWidth || 800, 0);
    };
    const draw = (): void => {
      layout();
      const ratio = devicePixelRatio || 1;
      const w = canvas.clientWidth || 800;
      const height = Math.max(rows.length, 3) * ROW + 2;
      canvas.style.height = `${height}px`;
      canvas.width = w * ratio;
      canvas.height = height * ratio;
      const g = canvas.getContext("2d")!;
      g.scale(ratio, ratio);
      g.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
      g.textBaseline = "middle";
      const char = g.measureText("m").width;
      const patterns = wall ? hatch(g) : [];
      rows.forEach((row, y) => row.forEach((f) => {
        const name = f === all ? `all ${much(f)}` : cube.name(f.frame);
        const on = !search || hit(f);
        g.fillStyle = f === all ? css("--line") : f.frame < 0 ? css("--soft") : f.leaf >= 0 ? nodeColour(names[f.leaf]) : frameColour(cube.frames[f.frame].name, cube.frames[f.frame].dso);
        g.globalAlpha = on ? 1 : 0.35;
        g.fillRect(f.x, y * ROW + 1, Math.max(0.5, f.w - 0.7), ROW - 1.5);
        if (wall && f.value) {
          let x = f.x + (onTime(f) / f.value) * Math.max(0.5, f.w - 0.7);
          OFF.forEach((k, i) => {
            const w = (f.off[i] / f.value) * Math.max(0.5, f.w - 0.7);
            for (const style of w > 0 ? [offColour(k), patterns[i]] : []) if (style) { g.fillStyle = style; g.fillRect(x, y * ROW + 1, w, ROW - 1.5); }
            x += w;
          });
        }
        g.globalAlpha = 1;
        if (search && on && f.w > 1) { g.strokeStyle = css("--ink"); g.lineWidth = 1.5; g.strokeRect(f.x + 1, y * ROW + 2, Math.max(0, f.w - 2.5), ROW - 3.5); }
        if (f === picked) { g.strokeStyle = css("--accent"); g.lineWidth = 2.5; g.strokeRect(f.x + 1.2, y * ROW + 2, Math.max(1, f.w - 3), ROW - 3.5); }
        const fit = Math.floor((f.w - 6) / char);
        if (fit > 2) {
          g.fillStyle = ink();
          g.fillText(safe(name.length > fit ? name.slice(0, fit - 1) + "…" : name), f.x + 3, y * ROW + ROW / 2 + 0.5);
        }
      }));
      info.textContent = safe(describe(picked));
    };
    const describe = (f: Frame): string => (wall ? `${describeShares(f)}: ${timeWords(f)}` : describeShares(f));
    const describeShares = (f: Frame): string => f === all ? `all: ${much(all)}` :
      `${cube.name(f.frame)}${f.frame >= 0 && cube.frames[f.frame].dso ? `  (${cube.frames[f.frame].dso})` : ""}  ${percent(f.value / (all.value || 1))} of all, itself ${percent(f.self / (all.value || 1))}` +
      (top !== all ? `, ${percent(f.value / (top.value || 1))} of what is shown` : "") + (f.leaf >= 0 ? `  mostly ${names[f.leaf]}` : "");
    const explain = (f: Frame): boolean => {
      const name = f === all ? "all" : cube.name(f.frame);
      const list = h("dl");
      const put = (what: string, value: string, more: string): void => { list.append(h("dt", null, what), h("dd", null, h("b", null, value), h("span", { class: "dim" }, ` · ${more}`))); };
      const share = f.value / (all.value || 1);
      const error = shareError(share, all.samples);
      put("share", percent(share), `of ${much(all)} that pass the filter${wall || isNaN(error) ? "" : `; ±${(100 * error).toFixed(1)} (95 %), of ${all.samples.toLocaleString("en")} samples`}`);
      put(wall ? "time" : "period", much(f), wall ? "of all its threads, added up" : `the sum over ${f.samples.toLocaleString("en")} samples`);
      put("self", percent(f.self / (all.value || 1)), "in the function itself, not in what it calls");
      if (f.frame >= 0 && cube.frames[f.frame].dso) put("of", safe(cube.frames[f.frame].dso), "its file");
      if (f.leaf >= 0) put("mostly", safe(names[f.leaf]), "the leaf of cycle accounting that dominates");
      dialog("Why?", h("p", null, safe(name)), list, wall ? reasonsOf(c, f, inverted) : null);
      return true;
    };
    const at = (e: MouseEvent): Frame | null => {
      const r = canvas.getBoundingClientRect();
      const row = rows[Math.floor((e.clientY - r.top) / ROW)];
      return row?.find((f) => e.clientX - r.left >= f.x && e.clientX - r.left < f.x + f.w) ?? null;
    };
    const zoom = (f: Frame): void => {
      const p: string[] = [];
      for (let k: Frame | null = f; k && k !== all; k = k.parent) p.unshift(cube.name(k.frame));
      go({ zoom: p.join("\t") });
    };
    const up = (): void => zoom(top.parent ?? all);
    const select = (f: Frame | undefined | null): boolean => {
      if (f) { picked = f; draw(); }
      return true;
    };
    canvas.addEventListener("mousemove", (e) => { const f = at(e); tip(f ? safe(describe(f)) : null, e.clientX, e.clientY); });
    canvas.addEventListener("mouseleave", () => tip(null));
    canvas.addEventListener("click", (e) => { const f = at(e); if (f) { if (f === top && f.parent) up(); else zoom(f); } });
    const siblings = (f: Frame): Frame[] => (f === top ? [] : f.parent!.children);
    keysOf = (key) => {
      switch (key) {
        case "j": case "ArrowDown": return select(picked.children[0]);
        case "k": case "ArrowUp": return select(picked === top ? null : picked.parent);
        case "l": case "ArrowRight": return select(siblings(picked)[siblings(picked).indexOf(picked) + 1]);
        case "h": case "ArrowLeft": return select(siblings(picked)[siblings(picked).indexOf(picked) - 1]);
        case "Enter": zoom(picked); return true;
        case "u": if (top === all) return false; up(); return true;
        case "i": go({ invert: inverted ? "" : "1", zoom: "" }); return true;
        case "f": if (picked.frame >= 0) go({ focus: `^${quote(cube.name(picked.frame))}$`, zoom: "" }); return true;
        case "x": if (picked.frame >= 0) go({ hide: `^${quote(cube.name(picked.frame))}$`, zoom: "" }); return true;
        case "e": return explain(picked);
        case "o": {
          const link = picked.frame >= 0 ? functionLink(c, cube.frames[picked.frame].name, cube.frames[picked.frame].dso) : null;
          if (link) location.hash = link;
          return true;
        }
      }
      return false;
    };
    painters.add(draw);
    new ResizeObserver(() => canvas.isConnected && draw()).observe(root);
  },
  keys: (key) => keysOf?.(key) ?? false,
});
export const flameView = view("flame", "flame", false);
export const wallView = view("wallflame", "flame of time", true);
