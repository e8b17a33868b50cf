// SPDX-License-Identifier: BSD-3-Clause
// state - where the reader is and what is filtered, kept in the URL's hash: Back works and a link
// can be sent. Views read `state` and change it with go(); whoever listens draws again.

export interface State {
  view: string;
  fn: string;      // function page: "name@dso"
  focus: string;   // regex: only chains (rows) with a match
  hide: string;    // regex: no chains (rows) with a match
  process: string; // pid, several with commas
  thread: string;  // "pid/tid", several with commas
  cpu: string;     // CPUs, several with commas
  time: string;    // "from,to": seconds after the beginning
  node: string;    // of the accounting tree
  event: string;   // whose functions are shown, where several were sampled
  sort: string;    // "key" or "-key" (descending), of the view's table
  zoom: string;    // flame: names of frames, outermost first
  invert: string;  // "1": callers below
  search: string;
  look: string;    // flame: how it is drawn, words with commas
  side: string;    // compare: "", base, new, change
  shown: string;   // time: "from,to", what is shown
}
const EMPTY: State = { view: "", fn: "", focus: "", hide: "", process: "", thread: "", cpu: "", time: "", node: "", event: "", sort: "", zoom: "", invert: "", search: "", look: "", side: "", shown: "" };
export const FILTERS = ["focus", "hide", "process", "thread", "cpu", "time", "node", "event"] as const;

export let state: State = { ...EMPTY };
// What pages were called before: links that were sent lead there.
const OLD: Record<string, string> = { overview: "summary", function: "code", diff: "compare", mem: "memory" };
const listeners: ((quiet: boolean) => void)[] = [];

function read(): State {
  const s = { ...EMPTY };
  for (const [k, v] of new URLSearchParams(location.hash.slice(1))) if (k in s) s[k as keyof State] = v;
  s.view = OLD[s.view] ?? s.view;
  return s;
}
function write(s: State): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(s)) if (v) p.set(k, v);
  return "#" + p.toString();
}
// `replace`: no step of its own for Back (typing, dragging).
export function go(change: Partial<State>, replace = false): void {
  const next = { ...state, ...change };
  const hash = write(next);
  if (hash === write(state)) return;
  state = next;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  listeners.forEach((f) => f(false));
}
// What is seen already: only links are made again. A step for Back once it rests.
let resting = 0;
export function note(change: Partial<State>): void {
  state = { ...state, ...change };
  clearTimeout(resting);
  resting = window.setTimeout(() => { if (write(read()) !== write(state)) history.pushState(null, "", write(state)); }, 300);
  listeners.forEach((f) => f(true));
}
// quiet: nothing need be drawn again.
export function listen(f: (quiet: boolean) => void): void { listeners.push(f); }
export function openState(): void {
  state = read();
  const changed = (): void => { state = read(); listeners.forEach((f) => f(false)); };
  addEventListener("popstate", changed);
  addEventListener("hashchange", () => { if (write(read()) !== write(state)) changed(); });
}
export function filtered(): boolean { return FILTERS.some((f) => state[f]); }
export function resetFilters(): void {
  go({ focus: "", hide: "", process: "", thread: "", cpu: "", time: "", node: "", event: "", zoom: "", search: "", shown: "" });
}
// A regex of the reader's; a broken one matches as plain text.
export function regex(text: string): RegExp {
  try { return new RegExp(text, "i"); } catch { return new RegExp(quote(text), "i"); }
}
export function quote(text: string): string { return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }
