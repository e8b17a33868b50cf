// SPDX-License-Identifier: BSD-3-Clause
// filter - the one filter of all views, as a bar: fields to set it, and what is set as chips, each with a way to drop it.
import { h, safe } from "./dom";
import { shortName } from "./names";
import { FILTERS, filtered, go, resetFilters, state } from "./state";
import type { Context } from "./views/context";
import { functionTable } from "./views/functions";

let timer = 0;
function field(name: "focus" | "hide" | "search", label: string, hint: string): HTMLElement {
  const input = h("input", { type: "search", name, placeholder: hint, autocomplete: "off", spellcheck: "false", value: state[name] });
  input.value = state[name];
  const set = (replace: boolean): void => go({ [name]: input.value }, replace);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => set(true), 120);
  });
  input.addEventListener("change", () => { clearTimeout(timer); set(false); });
  input.addEventListener("keydown", (e) => {
    if (e.key === "Enter" || e.key === "Escape") {
      clearTimeout(timer);
      if (e.key === "Escape" && name === "search") input.value = "";
      set(false);
      input.blur();
      e.stopPropagation();
    }
  });
  return h("label", null, h("span", null, label), input);
}
const ONE_OF_MANY = new Set(["process", "thread", "cpu"]);
export function makeFilterBar(c: Context): { el: HTMLElement; update: () => void; search: () => void } {
  const chips = h("p", { class: "chips", "aria-live": "polite" });
  const fields = h("div", null, field("search", "search (/)", "name, regex"), field("focus", "focus (f)", "chains with"), field("hide", "hide (x)", "chains without"));
  const box = h("details", { class: "fields", open: innerWidth > 600 }, h("summary", null, "search and filter"), fields);
  const cube = c.cube;
  const select = (key: "process" | "thread" | "cpu" | "event", label: string, options: [string, string][], none = "all"): void => {
    if (options.length < (none === "all" ? 2 : 1)) return;
    const s = h("select", { name: key, change: () => go({ [key]: s.value }) }, h("option", { value: "" }, safe(none)), ...options.map(([v, t]) => h("option", { value: v }, safe(t))));
    fields.append(h("label", null, h("span", null, label), s));
  };
  // threads that only waited have no samples
  const all = [...(cube?.threads ?? []), ...(c.wall?.threads ?? [])];
  const threads = new Map(all.map((t) => [`${t.pid}/${t.tid}`, `${t.name} ${t.tid}`]));
  const main = new Map(all.map((t) => [String(t.pid), `${t.name} ${t.pid}`]));
  for (const t of all) if (t.pid === t.tid) main.set(String(t.pid), `${t.name} ${t.pid}`);
  select("process", "process", [...main].slice(0, 500));
  select("thread", "thread", [...threads].slice(0, 500));
  if (cube) select("cpu", "CPU", cube.raw.cpus.map((n) => [String(n), String(n)]));
  const shown = functionTable(c);
  if (shown) select("event", "event", shown.events.filter((e) => e !== shown.usual).map((e) => [e, e]), shown.usual);
  const el = h("form", { class: "filter", role: "search", "aria-label": "filter of all views", submit: (e: Event) => e.preventDefault() }, box, chips);
  // What a filter says, in few words.
  const words = (f: (typeof FILTERS)[number], v: string): string => {
    const exact = /^\^(.*)\$$/.exec(v);
    switch (f) {
      case "focus": case "hide": return `${f}: ${exact ? shortName(exact[1].replace(/\\(.)/g, "$1")) : v}`;
      case "process": return `process: ${main.get(v) ?? v}`;
      case "thread": return `thread: ${threads.get(v) ?? v}`;
      case "time": return `time: ${v.replace(",", " to ")} s`;
      case "cpu": return `CPU: ${v}`;
    }
    return `${f}: ${v}`;
  };
  const update = (): void => {
    for (const e of el.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input,select")) {
      const v = state[e.name as keyof typeof state];
      if (e !== document.activeElement || e instanceof HTMLSelectElement) e.value = v;
    }
    chips.replaceChildren();
    for (const f of FILTERS) for (const v of state[f] ? (ONE_OF_MANY.has(f) ? state[f].split(",") : [state[f]]) : []) {
      const said = safe(words(f, v));
      chips.append(h("button", { type: "button", class: "chip", title: safe(v), "aria-label": `drop the filter ${said}`, click: () => go({ [f]: ONE_OF_MANY.has(f) ? state[f].split(",").filter((x) => x !== v).join(",") : "" }) }, `${said.slice(0, 60)} ×`));
    }
    if (filtered()) chips.append(h("button", { type: "button", class: "chip", click: () => resetFilters() }, "reset (r)"));
    chips.hidden = !filtered();
  };
  return { el, update, search: () => { box.open = true; el.querySelector<HTMLInputElement>("input[name=search]")!.select(); } };
}
