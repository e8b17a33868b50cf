// SPDX-License-Identifier: BSD-3-Clause
// main - reads the page's data, chooses the views that it has data for, draws the one of the hash.
import { onColours, painters } from "./colour";
import { Cube } from "./cube";
import { findTable, readPage, rowCount } from "./data";
import { clear, h, safe, tip } from "./dom";
import { makeFilterBar } from "./filter";
import { baseName } from "./format";
import { forget } from "./grid";
import { help, openKeys } from "./keys";
import { go, listen, openState, state } from "./state";
import { compareView } from "./views/compare";
import { hashOf, setTitle, treeTables, type Context, type View } from "./views/context";
import { flameView, wallView } from "./views/flame";
import { functionView } from "./views/function";
import { functionsView } from "./views/functions";
import { genericView, rawView } from "./views/generic";
import { summaryView } from "./views/summary";
import { Timeline } from "./timeline";
import { timeView } from "./views/time";
import { treeView } from "./views/tree";

// Views of documents that are tables and nothing else; a document that is not named here has a view
// by its own name.
const TABLES: Record<string, [string, string[]]> = {
  account: ["account", ["rows", "nodes"]], calls: ["calls", ["edges"]], callees: ["callees", ["rows"]], callers: ["callers", ["rows"]],
  account_processes: ["processes", ["rows"]], account_modules: ["modules", ["rows"]], branches: ["branches", ["rows"]], blocks: ["blocks", ["blocks", "functions"]], registers: ["registers", []],
};
// What a command's own page calls a document that the report has by another name.
const ALONE: Record<string, string> = { report: "functions", info: "summary" };
const OWN = new Set(["summary", "findings", "tree", "functions", "diff", "compare", "function", "mem", "sharing"]);
// The pages, in their order; what else a recording has stands behind "more".
const PAGES = ["summary", "time", "functions", "flame", "code", "memory", "compare"];

function chooseViews(c: Context): { tabs: View[]; more: View[] } {
  const has = (v: string): boolean => c.page.docs.some((d) => d.view === v);
  const views: View[] = [];
  if (has("diff") || has("compare")) views.push(compareView);
  const alone = c.page.docs.every((d) => d.view === c.page.docs[0].view);
  if (c.cube || (!alone && (has("functions") || has("summary")))) views.push(summaryView);
  if (treeTables(c).length) views.push(treeView);
  if (has("functions") || c.cube) views.push(functionsView);
  if (c.page.functions.length) views.push(functionView);
  if (c.cube) views.push(flameView);
  if (c.wall) views.push(wallView);
  if (has("calls")) views.push(genericView("calls", "calls", TABLES.calls[1]));
  if (has("mem") || has("sharing")) views.push(genericView("memory", "memory", ["functions", "sources"], ["mem", "sharing"]));
  if (c.timeline) views.push(timeView);
  for (const d of c.page.docs) {
    if ((OWN.has(d.view) && !(alone && d.view === "summary")) || views.some((v) => v.id === d.view) || d.view === "raw") continue;
    const [title, main] = TABLES[d.view] ?? [d.view, []];
    views.push(genericView(d.view, title, main));
  }
  if (c.page.docs.length) views.push(rawView);
  const tabs = (has("summary") ? PAGES : ["compare", ...PAGES.slice(0, -1)]).flatMap((id) => views.find((v) => v.id === id) ?? []);
  return tabs.length ? { tabs, more: views.filter((v) => !tabs.includes(v)) } : { tabs: views, more: [] };
}

// The command as it was typed.
function told(c: Context): string {
  return c.doc("summary")?.titles.find((l) => l.label === "command")?.text ?? "";
}
function start(texts: string[]): void {
  const page = readPage(texts);
  if (page.docs.every((d) => d.view === page.docs[0].view)) for (const d of page.docs) {
    const rows = findTable(d, "rows");
    if (d.view !== "report" || (rows?.byKey.has("function") && !rows.byKey.has("depth") && !rows.byKey.has("parent"))) d.view = ALONE[d.view] ?? d.view;
  }
  const cube = page.cube && rowCount(page.cube.cells) ? new Cube(page.cube, page.strings) : null;
  const wall = page.wall && rowCount(page.wall.cells) ? new Cube(page.wall, page.strings) : null;
  const functionAt = new Map<string, number>();
  page.functions.forEach((f, i) => {
    functionAt.set(`${f.name}\n${f.dso}`, i);
    if (!functionAt.has(`${f.name}\n`)) functionAt.set(`${f.name}\n`, i);
    const base = `${f.name}\n${baseName(f.dso)}`;
    if (!functionAt.has(base)) functionAt.set(base, i);
  });
  const timeline = cube?.hasTime && page.timeline ? new Timeline(page.timeline, page.strings) : null;
  const context: Context = { page, cube, wall, timeline, functionAt, pages: new Set(), doc: (v) => page.docs.find((d) => d.view === v) };
  const { tabs, more } = chooseViews(context);
  const views = [...tabs, ...more];
  for (const v of views) context.pages.add(v.id);
  const first = views.find((v) => v.id === "compare") ?? views[0];
  setTitle(page.title, page.docs);
  openState();

  const bar = makeFilterBar(context);
  const nav = h("nav", { "aria-label": "views" });
  const main = h("main", { tabindex: -1 });
  const app = h("div", { id: "app" },
    h("header", null, h("h1", { title: safe(told(context) || page.title) }, safe(page.title)), h("span", { class: "dim" }, safe(page.program)),
      h("button", { type: "button", class: "help", click: help }, "keys (?)")),
    nav, bar.el, main);
  for (const e of [...document.body.children]) if (e.tagName !== "SCRIPT") e.remove();
  document.body.prepend(app);

  const links = (view: View): void => {
    const link = (v: View): HTMLElement => {
      const i = views.indexOf(v);
      return h("a", { href: hashOf({ view: v.id, sort: "", search: "" }), "aria-current": v === view ? "page" : null }, i < 10 ? h("kbd", null, String((i + 1) % 10)) : null, v.title);
    };
    nav.replaceChildren(...tabs.map(link));
    if (more.length) nav.append(h("details", { class: "more" }, h("summary", { class: more.includes(view) ? "here" : null }, more.includes(view) ? `more: ${view.title}` : "more"), h("div", null, ...more.map(link))));
  };
  const here = (): View => views.find((v) => v.id === state.view) ?? first;
  const draw = (): void => {
    const view = here();
    tip(null);
    links(view);
    bar.update();
    forget();
    painters.clear();
    const top = scrollY;
    const same = main.dataset.view === view.id;
    const keep = same ? [...main.querySelectorAll(".box")].map((b) => b.scrollTop) : [];
    clear(main);
    main.dataset.view = view.id;
    document.title = `${view.title} · ${page.title}`;
    const began = performance.now();
    view.draw(main, context);
    main.dataset.ms = (performance.now() - began).toFixed(1);
    [...main.querySelectorAll(".box")].forEach((b, i) => { if (keep[i]) b.scrollTop = keep[i]; });
    if (same) scrollTo(0, top);
    else scrollTo(0, 0);
  };
  const close = (e: Event): void => { for (const d of nav.querySelectorAll<HTMLDetailsElement>("details[open]")) if (!d.contains(e.target as Node) || (e as KeyboardEvent).key === "Escape") d.open = false; };
  addEventListener("click", close);
  addEventListener("keydown", (e) => { if (e.key === "Escape") close(e); });
  listen((quiet) => (quiet ? links(here()) : draw()));
  onColours(draw);
  openKeys(views, bar.search);
  if (!views.some((v) => v.id === state.view)) go({ view: first.id }, true);
  draw();
}

// Results of intervals come one after another, each with its data.
function run(): void {
  const texts = [...document.querySelectorAll("script.cyclade-data")].map((e) => e.textContent ?? "");
  if (!texts.length) return;
  try {
    start(texts);
  } catch (e) {
    // what can be read without the script stays
    document.body.prepend(h("p", { role: "alert", class: "bad" }, `The page's script failed: ${String(e)}. What follows is the part that needs no script.`));
    throw e;
  }
}
if (document.readyState === "loading") addEventListener("DOMContentLoaded", run);
else run();
