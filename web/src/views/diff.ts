// SPDX-License-Identifier: BSD-3-Clause
// diff - the differential flame graph: base and new as one tree, or side by side at one scale. The verdicts come with the data
// (FORMAT.md): a frame has a colour only if its function's is moved, new or gone. Nothing is judged here.
import { dark } from "../colour";
import { rowsOf, type RawFlame } from "../data";
import { copy, h, safe, swatch } from "../dom";
import { amount, group, percent, seconds } from "../format";
import { wholeNote } from "../reach";
import { go, regex, state } from "../state";
import { functionLink, type Context } from "./context";
import { boxes, fresh, neighbour, pathTo, zoomed, type Boxes, type Frame, type Paint } from "./frames";

interface Item { name: string; verdict: string; reported: boolean; base: number; new: number; error: number; change: number; changeError: number; why: string }
interface Both extends Frame { base: number; new: number; own: number; error: number; children: Both[]; parent: Both | null } // own: new less base, in itself

let keysOf: ((key: string) => boolean) | null = null;
let focused = false; // when the graph was drawn again for a key
export function flameKeys(key: string): boolean {
  return document.activeElement instanceof HTMLCanvasElement && !!keysOf?.(key);
}
const number = (v: unknown): number => (typeof v === "number" ? v : NaN);

export function diffFlame(c: Context, raw: RawFlame): HTMLElement {
  const text = (i: unknown): string => (typeof i === "number" ? c.page.strings[i] ?? "" : "");
  const unit = text(raw.unit);
  const much = (v: number): string => (unit === "s" ? seconds(v) : `${amount(v)} ${unit}`);
  const plus = (v: number): string => `${v < 0 ? "−" : "+"}${much(Math.abs(v))}`;
  const bar = (e: number): string => (isNaN(e) ? "" : ` ±${much(e)}`);
  const items = rowsOf(raw.items).map((r): Item => ({ name: text(r[0]), verdict: String(r[2]), reported: r[3] === true, base: number(r[4]), new: number(r[6]), error: number(r[9]), change: number(r[10]), changeError: number(r[11]), why: text(r[12]) }));
  const frames = rowsOf(raw.frames).map((f) => ({ name: text(f[0]), dso: text(f[1]), item: items[f[2] as number] as Item | undefined }));
  const total = rowsOf(raw.total)[0] ?? [];
  const make = (frame: number, parent: Both | null): Both => Object.assign(fresh(frame, parent) as Both, { base: 0, new: 0, own: 0, error: NaN });
  const all = make(-2, null);
  const nodes = rowsOf(raw.nodes), of: Both[] = nodes.map(() => all);
  nodes.forEach((n, i) => {
    const f = (of[i] = make(n[1] as number, (n[0] as number) >= 0 ? of[n[0] as number] : all));
    f.own = number(n[3]) - number(n[2]);
    f.error = number(n[4]);
    f.base = number(n[2]);
    f.new = number(n[3]);
  });
  // chains that the filter on functions leaves
  const test = (s: string): ((f: Both) => boolean) | null => { const r = s && regex(s); return r ? (f) => f.frame >= 0 && (r.test(frames[f.frame].name) || r.test(frames[f.frame].dso)) : null; };
  const focus = test(state.focus), hide = test(state.hide), above = (f: Both, t: (f: Both) => boolean): boolean => { let k: Both | null = f; while (k && !t(k)) k = k.parent; return !!k; };
  for (const f of focus || hide ? of : []) if ((focus && !above(f, focus)) || (hide && above(f, hide))) f.base = f.new = f.own = 0;
  for (let i = of.length - 1; i >= 0; i--) { of[i].parent!.base += of[i].base; of[i].parent!.new += of[i].new; }
  const order = (f: Both): void => { f.children.sort((a, b) => b.base + b.new - a.base - a.new); f.children.forEach(order); };
  order(all);

  const name = (f: Frame): string => (f.frame === -2 ? "all" : f.frame < 0 ? "(folded)" : frames[f.frame].name || "[unknown]");
  const item = (f: Frame): Item | undefined => (f.frame >= 0 ? frames[f.frame].item : undefined);
  const coloured = (f: Both): boolean => !!item(f)?.reported && f.own !== 0;
  const most = of.reduce((m, f) => (coloured(f) ? Math.max(m, Math.abs(f.own)) : m), 0);
  const fill = (f: Both): string => {
    if (!coloured(f)) return dark.matches ? `hsl(220 8% ${f.frame === -2 ? 30 : 22}%)` : `hsl(220 12% ${f.frame === -2 ? 84 : 91}%)`;
    const strong = Math.sqrt(Math.abs(f.own) / most), hue = f.own > 0 ? 8 : 215;
    return dark.matches ? `hsl(${hue} 60% ${24 + 14 * strong}%)` : `hsl(${hue} 85% ${86 - 22 * strong}%)`;
  };
  const figures = (x: Item): string => `base ${much(x.base)}, new ${much(x.new)}${isNaN(x.change) ? "" : `, ${x.change < 0 ? "−" : "+"}${percent(Math.abs(x.change))}${isNaN(x.changeError) ? "" : ` ±${(100 * x.changeError).toFixed(1)}`}`}`;
  const words = (f0: Frame): string => {
    const f = f0 as Both, x = item(f);
    const held = f.frame === -2 ? `all: base ${much(f.base)}, new ${much(f.new)}` : `${name(f)}${f.frame >= 0 && frames[f.frame].dso ? ` (${frames[f.frame].dso})` : ""}: with what it calls base ${much(f.base)}, new ${much(f.new)}`;
    return held + (x ? `. Itself: ${x.verdict}, ${figures(x)}${x.reported && f.own ? `; called here ${plus(f.own)}${bar(f.error)}` : ""}${x.why ? ` (${x.why})` : ""}` : f.frame >= 0 ? ". It has no samples of its own" : "");
  };
  const search = state.search ? regex(state.search) : null;
  const paint = (value: (f: Both) => number): Paint => ({
    value: (f) => value(f as Both), words, fill: (f) => fill(f as Both),
    name: (f) => (f.frame === -2 ? `all ${much(value(f as Both))}` : name(f)),
    mark: (f) => (coloured(f as Both) ? `${(f as Both).own > 0 ? "▲" : "▼"} ${item(f)!.verdict === "moved" ? "" : `${item(f)!.verdict} `}${plus((f as Both).own)}  ` : ""),
    lit: search ? (f) => f.frame >= 0 && search.test(frames[f.frame].name) : null,
  });
  const beside = state.look === "beside";
  const top = zoomed(all, state.zoom, name) as Both;
  let picked: Frame = top;
  const root = h("section", { class: "difference" });
  const info = h("p", { class: "flameinfo", "aria-live": "polite" });
  const parts: Boxes[] = [];
  const open = (f: Frame): void => go({ zoom: pathTo(f === top && f.parent ? f.parent : f, name) });
  const graph = (label: string, value: (f: Both) => number, of: number): HTMLElement => {
    const el = h("canvas", { tabindex: 0, role: "img", "aria-label": `differential flame graph, ${label}; j k h l move, Enter zooms, u goes up` });
    el.style.width = `${Math.max(5, 100 * (of || 1))}%`;
    parts.push(boxes(root, el, top, paint(value), { chosen: picked }, open));
    return el;
  };
  const larger = Math.max(top.base, top.new) || 1;
  const select = (f: Frame): void => {
    picked = f;
    parts.forEach((p) => p.pick(f));
    const link = f.frame >= 0 ? functionLink(c, frames[f.frame].name, frames[f.frame].dso) : null;
    info.replaceChildren(safe(words(f)), ...(link ? [" · ", h("a", { href: link }, "its code")] : []));
  };
  const side = (label: string, text: string, value: (f: Both) => number): HTMLElement => h("div", null, h("h4", null, `${label}: ${safe(text)}`), graph(label, value, value(top) / larger));
  const pick = (label: string, on: boolean, look: string): HTMLElement => h("button", { type: "button", "aria-pressed": String(on), click: () => go({ look }) }, label);
  root.append(h("h3", null, `Differential flame graph of ${safe(text(raw.event))}`),
    h("p", { class: "tools" }, pick("one graph", !beside, ""), pick("base and new side by side", beside, "beside"),
      h("button", { type: "button", disabled: top === all, click: () => open(top) }, "up (u)"), h("button", { type: "button", click: () => copy(name(picked), "the name") }, "copy name (n)")));
  const n = (x: number, what: string): string => `${group(x)} ${what}${x === 1 ? "" : "s"}`;
  root.append(h("p", { class: "legend" },
    swatch("", "▲ more in new", "grows"), swatch("", "▼ less in new", "shrinks"), swatch("", "no verdict of a change", "same"),
    h("span", null, `Coloured: functions whose verdict is moved, new or gone (${group(raw.changed)} of ${n(raw.compared, "function")}); the darker, the larger the difference. Of ${Math.round(1 / (raw.level || 1))} comparisons without a change one has a colour.`)));
  const sum = `${text(raw.event)} ${plus(number(total[4]))}${bar(number(total[5]))} (${String(total[6] ?? "")})`;
  root.append(h("p", null, raw.changed ? `The coloured differences are ${plus(number(total[7]))}${bar(number(total[8]))} together; in all ${safe(sum)}.` : `Nothing is coloured: no function changed by more than chance. In all ${safe(sum)}.`));
  const runs = (k: number): string => (k > 1 ? `, mean of ${k} runs` : "");
  if (focus || hide) root.append(h("p", { class: "binned" }, "Shown are the chains that pass the filter on functions; the sums above are of all."));
  root.append(wholeNote() ?? "");
  if (beside) root.append(h("div", { class: "besides" }, side("base", `${text(raw.base_name)}, ${much(top.base)}${runs(raw.base_runs)}`, (f) => f.base), side("new", `${text(raw.new_name)}, ${much(top.new)}${runs(raw.new_runs)}`, (f) => f.new)));
  else root.append(graph("one graph", (f) => (f.base + f.new) / 2, 1), h("p", { class: "dim" }, "Widths are the mean of base and new."));
  root.append(info);
  select(top);
  if (focused) requestAnimationFrame(() => parts[0].el.focus());
  focused = false;
  keysOf = (key) => {
    const next = neighbour(key, picked, top);
    if (next) select(next);
    if (next !== undefined) return true;
    switch (key) {
      case "Enter": focused = true; open(picked); return true;
      case "u": if (top === all) return false; focused = true; open(top); return true;
      case "n": copy(name(picked), "the name"); return true;
    }
    return false;
  };
  return root;
}
