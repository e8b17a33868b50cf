// SPDX-License-Identifier: BSD-3-Clause
// main - the page of `cyclade monitor --listen`: charts of the intervals that the monitor keeps, and the
// tables, read again after each interval. Without this script the page has the tables, and reloads.
import { h, svg } from "../dom";
import { amount, percent } from "../format";
import { History, type Chart, type Line, type Reply, type Section } from "./history";

const WIDTH = 600, HEIGHT = 100, LEAST = 60; // intervals on the axis at least
const past = new History();
const area = h("div", { class: "charts" });
const state = h("p", { role: "status" });

function show(c: Chart, v: number): string {
  if (isNaN(v)) return "-";
  if (c.share) return percent(v);
  const text = amount(v >= 100 ? Math.round(v) : Number(v.toPrecision(3)));
  return c.unit === "bytes" ? `${text}${/[a-zA-Z]$/.test(text) ? "" : " "}B` : c.unit && c.unit !== "ratio" ? `${text} ${c.unit}` : text;
}
function last(l: Line): number { return l.v[l.v.length - 1]; }
function ago(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : seconds < 90 ? `${Number(seconds.toPrecision(2))} s` :
    seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Number((seconds / 3600).toPrecision(2))} h`;
}
// The top of the axis: 1, 2 or 5 and zeros; shares have 100 %.
function top(c: Chart): number {
  let most = 0;
  for (const l of c.lines) for (const v of l.v) if (v > most) most = v;
  if (c.share && most <= 1) return 1;
  if (!(most > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((x) => x * ten).find((x) => x >= most * 0.9999) ?? most;
}
// How long the axis is, in seconds.
function span(): number {
  return Math.max(past.last() - past.time[0], (LEAST - 1) * past.interval);
}
// Pieces between figures that are not known; one alone is a dot.
function path(l: Line, most: number): string {
  const end = past.last(), wide = span();
  let d = "", pen = false;
  for (let i = 0; i < l.v.length; i++) {
    if (isNaN(l.v[i])) { pen = false; continue; }
    const x = WIDTH - ((end - past.time[i]) / wide) * WIDTH, y = HEIGHT - (l.v[i] / most) * (HEIGHT - 2) - 1;
    d += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    if (!pen && !(i + 1 < l.v.length && !isNaN(l.v[i + 1]))) d += "h.1";
    pen = true;
  }
  return d;
}
function mark(i: number, name: string): HTMLElement {
  return h("li", null, svg("svg", { viewBox: "0 0 16 8", class: "key", "aria-hidden": "true" }, svg("path", { d: "M0 4H16", class: style(i) })), ` ${name}`);
}
function style(i: number): string { return `line l${i % 8}${i >= 8 ? " dashed" : ""}`; }
// The figures now in words: one, or the least and the most.
function words(c: Chart): string {
  const now = c.lines.map(last).filter((v) => !isNaN(v));
  if (!now.length) return "-";
  const least = Math.min(...now), most = Math.max(...now);
  return now.length === 1 || least === most ? show(c, most) : `${show(c, least)} ... ${show(c, most)}`;
}
function picture(s: Section, c: Chart): HTMLElement {
  const most = top(c), own = !s.legend.length;
  const index = (l: Line, i: number) => (own ? i : s.legend.indexOf(l.name));
  const title = c.title.replace(/_/g, " ");
  return h("figure", { title: c.means },
    h("figcaption", null, h("b", null, title), ` ${words(c)}`),
    h("div", { class: "plot" },
      h("span", { class: "most" }, show(c, most).replace(/\.0+ /, " ")), h("span", { class: "least" }, "0"),
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${words(c)}` },
        svg("path", { d: `M0 ${HEIGHT / 2}H${WIDTH}`, class: "half" }),
        ...c.lines.map((l, i) => svg("path", { d: path(l, most), class: style(index(l, i)) }, svg("title", null, `${l.name || title}: ${show(c, last(l))}`)))),
      h("span", { class: "from" }, `${ago(span())} ago`), h("span", { class: "now" }, "now")),
    own && c.lines.length > 1 ? h("ul", { class: "legend" }, ...c.lines.map((l, i) => mark(i, `${l.name.replace(/_/g, " ")} ${show(c, last(l))}`))) : null);
}
function draw(): void {
  area.replaceChildren(...past.sections().map((s) => h("section", { "aria-label": s.title },
    h("h2", null, s.title),
    s.legend.length > 1 ? h("ul", { class: "legend" }, ...s.legend.map((name, i) => mark(i, name))) : null,
    h("div", { class: "grid" }, ...s.charts.map((c) => picture(s, c))))),
    ...(past.leftOut ? [h("p", null, `${past.leftOut} lines more have no chart: tables and metrics have them`)] : []));
}
async function text(url: string, accept: string): Promise<string> {
  const r = await fetch(url, { headers: { Accept: accept }, cache: "no-store" });
  if (!r.ok) throw new Error(String(r.status));
  return r.text();
}
async function reply(url: string): Promise<Reply> { return JSON.parse(await text(url, "application/json")) as Reply; }
async function tables(): Promise<void> {
  const now = document.querySelector("section.monitor");
  const page = new DOMParser().parseFromString(await text("./", "text/html"), "text/html");
  const fresh = page.querySelector("section.monitor");
  if (now && fresh) now.replaceWith(document.importNode(fresh, true));
}
async function turn(): Promise<void> {
  let wait = 1000;
  try {
    const newest = past.time.length ? await reply("last.json") : null;
    const same = newest && newest.intervals[0]?.time === past.last();
    if (!same) {
      if (!newest || !past.add(newest)) past.whole(await reply("history.json"));
      draw();
      await tables();
    }
    if (past.interval > 0) wait = Math.min(Math.max(past.interval * 1000, 200), 60000);
    if (state.textContent) state.textContent = "";
  } catch {
    state.textContent = "no answer from the monitor; trying again";
  }
  setTimeout(turn, wait);
}
document.querySelector("h1")?.after(state, area);
void turn();
