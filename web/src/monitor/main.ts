// SPDX-License-Identifier: BSD-3-Clause
// main - the page of `cyclade monitor --listen`: charts of the last intervals from /metrics, and the
// tables, read again after each interval. Without this script the page has the tables, and reloads.
import { h, svg } from "../dom";
import { amount, percent } from "../format";
import { add, parse, POINTS, type Chart, type Line } from "./metrics";

const WIDTH = 320, HEIGHT = 80, LINES = 16;
const charts = new Map<string, Chart>();
const boxes = new Map<string, HTMLElement>();
const area = h("section", { class: "charts", "aria-label": "the last intervals" });
const state = h("p", { role: "status" });
let time = NaN;

function show(c: Chart, v: number): string {
  return isNaN(v) ? "-" : c.share ? percent(v) : amount(v >= 100 ? Math.round(v) : Number(v.toPrecision(3)));
}
function last(l: Line): number { return l.v[l.v.length - 1]; }

// Pieces between figures that are not known.
function path(l: Line, most: number): string {
  const end = l.t[l.t.length - 1];
  const step = l.t.length > 1 ? Math.max((end - l.t[0]) / (l.t.length - 1), 1e-9) : 1;
  let d = "", pen = false;
  for (let i = 0; i < l.t.length; i++) {
    if (isNaN(l.v[i])) { pen = false; continue; }
    const x = WIDTH - ((end - l.t[i]) / step) * (WIDTH / (POINTS - 1));
    const y = HEIGHT - (most > 0 ? l.v[i] / most : 0) * (HEIGHT - 2) - 1;
    d += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  }
  return d;
}
function picture(c: Chart): SVGElement {
  const lines = [...c.lines.values()].slice(0, LINES);
  const known = lines.flatMap((l) => l.v).filter((v) => !isNaN(v));
  const most = Math.max(c.share ? 1 : 0, ...known);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words(c) },
    ...lines.map((l, i) => svg("path", { d: path(l, most), class: `line l${i % 8}` }, svg("title", null, `${l.labels || c.title}: ${show(c, last(l))}`))));
}
// The figures now in words: one, or the least and the most.
function words(c: Chart): string {
  const now = [...c.lines.values()].map(last).filter((v) => !isNaN(v));
  if (!now.length) return "-";
  const least = Math.min(...now), most = Math.max(...now);
  return now.length === 1 || least === most ? show(c, most) : `${show(c, least)} ... ${show(c, most)}`;
}
function draw(): void {
  for (const [name, c] of charts) {
    let box = boxes.get(name);
    if (!box) {
      boxes.set(name, (box = h("figure", { title: c.family.help })));
      area.append(box);
    }
    const more = c.lines.size - LINES;
    box.replaceChildren(h("figcaption", null, h("b", null, c.title), ` ${words(c)}${more > 0 ? ` (${more} more)` : ""}`), picture(c));
  }
}
async function text(url: string, accept: string): Promise<string> {
  const r = await fetch(url, { headers: { Accept: accept }, cache: "no-store" });
  if (!r.ok) throw new Error(String(r.status));
  return r.text();
}
async function tables(): Promise<void> {
  const now = document.querySelector("section.monitor");
  const page = new DOMParser().parseFromString(await text("./", "text/html"), "text/html");
  const fresh = page.querySelector("section.monitor");
  if (now && fresh) now.replaceWith(document.importNode(fresh, true));
}
async function turn(): Promise<void> {
  let wait = 1000;
  try {
    const r = parse(await text("metrics", "text/plain; version=0.0.4"));
    if (add(charts, r, time)) {
      time = r.time;
      draw();
      await tables();
    }
    if (r.interval > 0) wait = Math.min(Math.max(r.interval * 1000, 200), 60000);
    if (state.textContent) state.textContent = "";
  } catch {
    state.textContent = "no answer from the monitor; trying again";
  }
  setTimeout(turn, wait);
}
document.querySelector("h1")?.after(state, area);
void turn();
