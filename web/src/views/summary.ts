// SPDX-License-Identifier: BSD-3-Clause
// summary - the first page: what the recording says in a sentence, the findings with what proves them, threads over time, the
// functions that matter, what threads waited for, the tree. How it was recorded is folded at the end.
import { nth } from "../colour";
import { findTable, type Doc, type Table } from "../data";
import { h, safe, swatch } from "../dom";
import { baseName, group, percent, seconds, showError } from "../format";
import { Grid } from "../grid";
import { shortName } from "../names";
import { reached, wholeNote } from "../reach";
import { filtered, go, quote } from "../state";
import { lookOf } from "../timeline";
import { cubeNote, functionLink, hashOf, heading, lines, losses, lost, nextCommands, treeTables, type Context, type View } from "./context";
import { functionsGrid, functionTable, usualFile } from "./functions";
import { oneRow } from "./generic";
import { timeStrip } from "./time";
import { icicle } from "./tree";

const TEN = 10;

// A sentence of the terminal with the name of the function in it as it is shown elsewhere.
function sentence(said: string, name: string): (Node | string)[] {
  const text = said.replace(/^[a-z]/, (x) => (name && said.startsWith(name) ? x : x.toUpperCase())).replace(/ \+-(?=[<\d])/g, " ±").replace(/[^.]$/, "$&.");
  const short = name && shortName(name), shown = [name, short].find((x) => x && text.includes(x)) ?? "";
  const at = shown ? text.indexOf(shown) : -1;
  return at < 0 ? [safe(text)] : [safe(text.slice(0, at)), h("span", { class: "code", title: safe(name) }, safe(short)), safe(text.slice(at + shown.length))];
}
// A function of the findings, whose data cut very long names: as the other tables have it.
function wholeName(c: Context, name: string, dso: string): string {
  if (!name.includes("…")) return name;
  const like = new RegExp(`^${name.split("…").map(quote).join(".*")}$`);
  return c.cube?.frames.find((f) => f.dso === dso && like.test(f.name))?.name ?? name;
}
// Where the page proves what it says.
function proof(c: Context, page: string, name: string, dso: string): string | null {
  if (page === "code") {
    const link = functionLink(c, name, dso);
    if (link) return link;
    page = "functions";
  }
  if (!c.pages.has(page)) return null;
  return hashOf({ view: page, sort: "", search: page === "functions" && name ? `^${quote(name)}$` : "" });
}
function shareOf(t: Table, r: number): HTMLElement | null {
  const share = t.column("share");
  const v = t.value(r, share);
  if (!share || typeof v !== "number") return null;
  return h("b", null, percent(v), h("span", { class: "err" }, ` ${showError("share", v, t.error(r, share))}`));
}
function findings(c: Context, d: Doc): HTMLElement {
  const t = findTable(d, "rows");
  const of = (r: number, key: string): string => t!.text(r, t!.column(key));
  const list = h("ol", { class: "findings" });
  for (let r = 0; t && r < t.length && r < 5; r++) {
    const name = wholeName(c, of(r, "function"), of(r, "dso")), page = of(r, "page"), link = proof(c, page, name, of(r, "dso"));
    list.append(h("li", null, h("p", null, ...sentence(of(r, "statement"), name)),
      h("p", { class: "dim" }, of(r, "statement").includes("+-") ? null : shareOf(t, r), link ? h("a", { href: link }, safe(`see ${page}`)) : null, of(r, "source") ? h("span", { class: "code" }, safe(baseName(of(r, "source")))) : null,
        of(r, "command") ? h("code", null, safe(of(r, "command"))) : null)));
  }
  return list;
}
// The sentence of the findings; where there is none, the hottest function.
function headline(c: Context): HTMLElement | null {
  const said = findTable(c.doc("findings"), "headline");
  if (said?.length && said.text(0, said.column("text"))) {
    const dso = said.text(0, said.column("dso")), name = wholeName(c, said.text(0, said.column("function")), dso);
    const link = name ? functionLink(c, name, dso) : null;
    return h("p", { class: "headline" }, ...sentence(said.text(0, said.column("text")), name), link ? h("a", { href: link, class: "see" }, "its code") : null);
  }
  const f = functionTable(c);
  const fn = f?.table.column("function"), share = f?.table.column("share");
  if (!f || !fn || !share || !f.table.length || isNaN(f.table.error(0, share))) return null;
  const t = f.table, name = t.text(0, fn), dso = t.text(0, t.column("dso")), unit = c.cube && c.cube.event === f.event ? c.cube.unit : "";
  const link = functionLink(c, name, dso), caller = t.text(0, t.column("caller")).replace(/ \d+\s%$/, ""), at = t.text(0, t.column("at"));
  const half = t.error(0, share), v = t.number(0, share);
  if (half >= v) return h("p", { class: "headline" }, `No function stands out: the samples are too few (the first one has ${percent(v)} ${showError("share", v, half)}).`);
  const words = h("span", { class: "code", title: safe(`${name}\n${dso}`) }, safe(shortName(name)));
  return h("p", { class: "headline" }, percent(v), h("span", { class: "err" }, ` ${showError("share", v, half)} `),
    `of the ${unit === "ns" ? "time" : unit === "cycles" ? "cycles" : `samples of ${safe(brief(f.event))}`} is in `, link ? h("a", { href: link }, words) : words, at ? safe(`, mostly at ${at}`) : null, ...(caller ? [", called from ", h("span", { class: "code", title: safe(caller) }, safe(shortName(caller)))] : []), ".");
}
// An event without its modifiers, where these make it long.
function brief(event: string): string { return event.length > 30 ? event.replace(/:.*/, "") : event; }
// How much was measured, where, and what makes it doubtful.
function measured(c: Context): HTMLElement {
  const r = findTable(c.doc("summary"), "recording") ?? findTable(c.doc("functions"), "recording");
  const of = (key: string): string => (r?.length ? r.text(0, r.column(key)) : "");
  const parts: string[] = [];
  if (c.cube) parts.push(`${group(c.cube.raw.samples)} samples of ${brief(c.cube.event)}`);
  const threads = Math.max(c.cube?.threadCount ?? 0, c.wall?.threadCount ?? 0);
  if (threads > 1) parts.push(`${group(threads)} threads`);
  if (r?.length && !isNaN(r.number(0, r.column("seconds")))) parts.push(seconds(r.number(0, r.column("seconds"))));
  const where = [of("host"), of("cpu") || of("arch")].filter(Boolean).join(", ");
  if (where) parts.push(where);
  // of lines alike that of the event that is shown
  const bad = new Map<string, string>();
  for (const x of [c.doc("summary"), c.doc("functions"), c.doc("account")].flatMap((d) => (d ? losses(d) : []))) {
    const label = x.replace(/:.*/s, "");
    if (!bad.has(label) || (c.cube && x.endsWith(`(${c.cube.event})`))) bad.set(label, x);
  }
  if (bad.has("losses")) for (const d of c.page.docs) for (const [x] of lost(d)) bad.delete(x.head);
  return h("div", null, parts.length ? h("p", { class: "dim" }, safe(parts.join(" · "))) : null, ...[...bad.values()].slice(0, 4).map((x) => h("p", { class: "bad" }, `! ${safe(x)}`)));
}
function waits(c: Context, d: Doc): HTMLElement | null {
  const under = (name: string): Table | undefined => { const t = findTable(d, name); return t && reached(c, d, t).table; };
  const sum = findTable(d, "summary"), threads = under("threads"), reasons = under("reasons");
  if (!sum?.length || !(sum.number(0, sum.column("seconds")) > 0)) return null;
  // objects are summed for the whole recording only
  const some = reasons !== findTable(d, "reasons"), objects = some ? undefined : findTable(d, "objects");
  const all = reasons && some ? reasons.rows.reduce((a, _, r) => a + reasons.number(r, reasons.column("seconds")), 0) : sum.number(0, sum.column("seconds"));
  const count = some && threads ? threads.length : sum.number(0, sum.column("thread_count"));
  // in the colours of the picture of threads
  const kinds = new Map<string, { words: string; colour: string; v: number }>();
  for (let r = 0; reasons && r < reasons.length; r++) {
    const of = (key: string): string => reasons.text(r, reasons.column(key));
    const look = lookOf({ name: of("reason"), state: of("state"), means: "" });
    const k = kinds.get(look.kind) ?? { words: look.kind === "running" ? "on a CPU" : look.kind, colour: look.kind === "running" ? nth(2) : look.colour, v: 0 };
    k.v += reasons.number(r, reasons.column("seconds")) || 0;
    kinds.set(look.kind, k);
  }
  const parts = [...kinds.values()].filter((k) => k.v > 0);
  const bar = h("div", { class: "states", role: "img", "aria-label": parts.map((p) => `${p.words} ${percent(p.v / all)}`).join(", ") });
  const legend = h("p", { class: "legend" });
  for (const p of parts) {
    const i = h("i");
    i.style.width = `${(p.v / all) * 100}%`;
    i.style.backgroundColor = p.colour;
    bar.append(i);
    legend.append(swatch(p.colour, `${p.words} ${percent(p.v / all)}`));
  }
  const box = h("section", null, heading(`What ${group(count)} thread${count === 1 ? "" : "s"} did `, c.pages.has("wait") ? h("a", { href: hashOf({ view: "wait", sort: "", search: "" }) }, "all waits") : null), bar, legend);
  const list = h("ul", { class: "waits" });
  const text = (t: Table, r: number, key: string): string => t.text(r, t.column(key));
  const much = (t: Table, r: number): number => t.number(r, t.column("seconds"));
  // the reasons with most time, each with what was waited for most
  const rows = (t: Table | undefined, keep: (r: number) => boolean, n: number): number[] => Array.from({ length: t?.length ?? 0 }, (_, r) => r).filter(keep).sort((a, b) => much(t!, b) - much(t!, a)).slice(0, n);
  for (const r of rows(reasons, (r) => text(reasons!, r, "state") !== "running" && much(reasons!, r) > all / 100, 4)) {
    const what = rows(objects, (k) => !!text(objects!, k, "object") && text(objects!, k, "reason") === text(reasons!, r, "reason") && much(objects!, k) > all / 100, 2);
    list.append(h("li", null, h("b", null, seconds(much(reasons!, r))), safe(` ${text(reasons!, r, "reason")}: ${text(reasons!, r, "means")}`),
      what.length ? h("ul", null, ...what.map((k) => h("li", null, h("b", null, seconds(much(objects!, k))), safe(` ${shortName(text(objects!, k, "object"))}`),
        text(objects!, k, "caller") ? safe(`, in ${shortName(text(objects!, k, "caller"))}`) : null))) : null));
  }
  if (list.firstChild) box.append(list);
  let most = -1;
  const off = (r: number): number => threads!.number(r, threads!.column("seconds")) - threads!.number(r, threads!.column("running_seconds"));
  for (let r = 0; threads && r < threads.length; r++) if (most < 0 || off(r) > off(most)) most = r;
  if (most >= 0) box.append(h("p", null, "waited longest: ", h("b", null, safe(`${text(threads!, most, "comm")} ${text(threads!, most, "tid")}`)),
    safe(`, ${seconds(off(most))} of ${seconds(threads!.number(most, threads!.column("seconds")))}${some ? "" : `, mostly ${text(threads!, most, "reason") || "for unknown reasons"} ${shortName(text(threads!, most, "object"))}`}`)));
  return box;
}
// What memory accesses were answered by, and which data they were to.
function memory(c: Context, d: Doc): HTMLElement | null {
  const parts = ["sources", "objects"].flatMap((name) => {
    const t = findTable(d, name);
    const columns = ["source", "object", "kind", "level", "where", "hit", "share", "missed_share", "cycles_share", "p50", "mean"].flatMap((k) => t?.column(k) ?? []).filter((x) => t!.rows.some((r) => r[x.at] !== null)).slice(0, name === "sources" ? 6 : 5);
    const known = t?.length && (t.length > 1 || t.text(0, t.column("object")) || t.text(0, t.column("kind")) !== "unknown");
    return known ? h("section", { class: "brief" }, heading(name === "sources" ? "Where data came from " : "Which data ", h("a", { href: hashOf({ view: "memory", sort: "", search: "" }) }, "memory")),
      new Grid({ table: t, label: name, columns, rows: Array.from({ length: Math.min(6, t.length) }, (_, r) => r), plain: true }).el) : [];
  });
  return parts.length ? h("div", { class: parts.length > 1 ? "halves" : null }, ...parts) : null;
}
export const summaryView: View = {
  id: "summary", title: "summary",
  draw(root, c) {
    const found = c.doc("findings"), head = headline(c), wait = c.doc("wait"), tree = treeTables(c).find((x) => !x.table.byKey.has("time"));
    if (head) root.append(head);
    root.append(measured(c));
    const note = filtered() ? cubeNote(c) : null, whole = found || wait || tree ? wholeNote(true) : null;
    if (note) root.append(note);
    if (whole) root.append(whole);
    const strip = c.cube?.hasTime ? h("section", null, heading("Threads over time ", h("a", { href: hashOf({ view: "time" }) }, "time")), timeStrip(c, 190)) : null;
    const some = found && findTable(found, "rows")?.length;
    if (found && !some && found.notes.length) root.append(h("p", null, ...sentence(found.notes[0], "")));
    const first = found && some ? h("section", null, heading("Findings"), findings(c, found)) : null;
    if (first || strip) root.append(h("div", { class: first && strip ? "halves" : null }, first, strip));
    // the memory first where it is all that was sampled
    const mem = c.doc("mem"), ahead = !c.cube || c.cube.unit === "events";
    if (mem && ahead) root.append(memory(c, mem) ?? "");
    const f = functionTable(c);
    const table = f?.table.length ? h("section", { class: "brief" }, heading("Functions that matter ", h("a", { href: hashOf({ view: "functions", sort: "", search: "" }) }, f.table.length > TEN ? `all ${group(f.table.length)}` : "functions"), h("span", { class: "dim small" }, safe(` of ${baseName(usualFile(f.table)) || "unknown files"} where no other file is named`))), functionsGrid(c, false, TEN)) : null;
    const beside = wait ? waits(c, wait) : null;
    if (table || beside) root.append(h("div", { class: table && beside ? "halves wide" : null }, table, beside));
    if (mem && !ahead) root.append(memory(c, mem) ?? "");
    if (tree) {
      root.append(heading("Where the cycles went ", h("a", { href: hashOf({ view: "tree" }) }, "tree")),
        icicle(tree.table, (r) => go({ view: "tree", node: tree.table.text(r, tree.table.column("node")) })).el);
    }
    const next = [c.doc("functions"), ...c.page.docs].flatMap((d) => (d && d !== c.doc("summary") ? nextCommands(d) ?? [] : []))[0];
    if (next) root.append(next);
    const box = h("details", { class: "recorded" }, h("summary", null, "how it was recorded"));
    for (const d of [c.doc("summary"), c.doc("functions")]) if (d) box.append(lines(d));
    const r = c.doc("summary") ? undefined : findTable(c.doc("functions") ?? c.page.docs[0], "recording");
    if (r?.one && r.length) box.append(oneRow(r));
    if (box.childElementCount > 1) root.append(box);
  },
};
