// SPDX-License-Identifier: BSD-3-Clause
// filter - the one filter of all views, as a bar: what is set, fields to set it, a way to drop each.
import { h, safe } from "./dom";
import { FILTERS, filtered, go, resetFilters, state } from "./state";
import type { Context } from "./views/context";

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
export function makeFilterBar(c: Context): { el: HTMLElement; update: () => void; search: () => void } {
  const chips = h("p", { class: "chips", "aria-live": "polite" });
  const fields = h("div", { class: "fields" }, field("search", "search (/)", "name or regex"), field("focus", "focus (f)", "only chains with …"), field("hide", "hide (x)", "no chains with …"));
  const cube = c.cube;
  const select = (key: "thread" | "cpu", label: string, options: [string, string][]): void => {
    if (options.length < 2) return;
    const s = h("select", { name: key, change: () => go({ [key]: s.value }) }, h("option", { value: "" }, "all"), ...options.map(([v, t]) => h("option", { value: v }, safe(t))));
    fields.append(h("label", null, h("span", null, label), s));
  };
  // threads that only waited have no samples
  const threads = new Map([...(cube?.threads ?? []), ...(c.wall?.threads ?? [])].map((t) => [`${t.pid}/${t.tid}`, `${t.name} ${t.tid}`]));
  select("thread", "thread", [...threads].slice(0, 500));
  if (cube) select("cpu", "CPU", cube.raw.cpus.map((n) => [String(n), String(n)]));
  const el = h("form", { class: "filter", role: "search", "aria-label": "filter of all views", submit: (e: Event) => e.preventDefault() }, fields, chips);
  const update = (): void => {
    for (const e of el.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input,select")) {
      const v = state[e.name as keyof typeof state];
      if (e !== document.activeElement || e instanceof HTMLSelectElement) e.value = v;
    }
    chips.replaceChildren();
    for (const f of FILTERS) if (state[f]) chips.append(h("button", { type: "button", class: "chip", "aria-label": `drop the filter ${f} ${state[f]}`, click: () => go({ [f]: "" }) }, `${f}: ${safe(state[f]).slice(0, 60)}${f === "time" ? " s" : ""} ×`));
    if (filtered()) chips.append(h("button", { type: "button", class: "chip", click: () => resetFilters() }, "reset (r)"));
    chips.hidden = !filtered();
  };
  return { el, update, search: () => el.querySelector<HTMLInputElement>("input[name=search]")!.select() };
}
