// SPDX-License-Identifier: BSD-3-Clause
// keys - the map of keys. A view sees a key first; then the table that has the focus.
import { copy, h, say } from "./dom";
import { active } from "./grid";
import { go, quote, resetFilters, state } from "./state";
import type { View } from "./views/context";
import { dialog } from "./why";

export const KEYS: [string, string][] = [
  ["?", "this help"], ["/", "search"], ["j k", "next and previous row (flame: callee, caller)"],
  ["h l", "fold, unfold; open the parts of a column (flame: neighbours)"], ["Enter", "open the row's function, else explain the row"],
  ["u", "up"], ["1 … 9, 0", "views"], ["s S", "sort by the next column, the one before"], ["i", "invert the flame graph; turn the order of a table around"],
  ["f", "focus: only chains with the row's function"], ["x", "hide: no chains with it"], ["r", "reset the filter"],
  ["d", "comparison: all, base, new, change"], ["y", "copy a link to what is shown"], ["e", "explain the row or the frame: why this figure?"],
  ["b t v c n o", "flame: callers and callees, time order, flame or icicle, colours, copy the name, open the code"],
  ["w a s d", "time axis: zoom in, left, zoom out, right"], ["z", "time axis: zoom to the selected time"], ["g G", "first and last row"], ["Esc", "leave a field or a window"],
];
export function help(): void {
  const dl = h("dl", { class: "keys" });
  for (const [k, what] of KEYS) dl.append(h("dt", null, h("kbd", null, k)), h("dd", null, what));
  dialog("Keys", dl, h("p", { class: "dim" }, "One filter (focus, hide, process, thread, CPU, time, node, event) drives all views. It is in the address: Back works, a link can be sent."));
}
export function openKeys(views: View[], search: () => void): void {
  addEventListener("keydown", (e) => {
    const t = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(t.tagName)) return;
    if (e.key === "Enter" && /^(BUTTON|A|SUMMARY)$/.test(t.tagName)) return;
    if (press(e.key, views, search)) e.preventDefault();
  });
}
function press(key: string, views: View[], search: () => void): boolean {
  const view = views.find((v) => v.id === state.view) ?? views[0];
  if (view.keys?.(key)) return true;
  if (/^[0-9]$/.test(key)) {
    const v = views[key === "0" ? 9 : Number(key) - 1];
    if (v) go({ view: v.id, sort: "", search: "" });
    return true;
  }
  switch (key) {
    case "?": help(); return true;
    case "/": search(); return true;
    case "r": resetFilters(); return true;
    case "y": copy(location.href, "a link to this view"); return true;
    case "u": go({ view: views[0].id, sort: "", search: "" }); return true;
    case "d": say("d: this page compares nothing"); return true;
  }
  if (!active) return false;
  switch (key) {
    case "j": case "ArrowDown": active.move(active.at + 1); return true;
    case "k": case "ArrowUp": active.move(active.at - 1); return true;
    case "PageDown": active.move(active.at + 20); return true;
    case "PageUp": active.move(active.at - 20); return true;
    case "g": case "Home": active.move(0); return true;
    case "G": case "End": active.move(Infinity); return true;
    case "h": active.foldAt(true); return true;
    case "l": active.foldAt(false); return true;
    case "Enter": active.enter(); return true;
    case "e": active.explain(); return true;
    case "s": active.cycleSort(1); return true;
    case "S": active.cycleSort(-1); return true;
    case "i": if (state.sort) go({ sort: state.sort.startsWith("-") ? state.sort.slice(1) : `-${state.sort}` }, true); return true;
    case "f": case "x": {
      const s = active.subject();
      if (!s) say("this row has no function");
      else if (s.key === "node") go({ node: state.node === s.name ? "" : s.name });
      else go({ [key === "f" ? "focus" : "hide"]: `^${quote(s.name)}$` });
      return true;
    }
  }
  return false;
}
