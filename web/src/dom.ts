// SPDX-License-Identifier: BSD-3-Clause
// dom - elements without markup: texts from outside only ever become text nodes, and what a person reads, in texts and
// attributes, has no character that shows nothing or turns the direction.

type Child = Node | string | null | undefined | false;
export type Attrs = Record<string, string | number | boolean | null | undefined | ((e: any) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attrs?: Attrs | null, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  set(e, attrs);
  add(e, children);
  return e;
}
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attrs?: Attrs | null, ...children: (Child | Child[])[]): SVGElementTagNameMap[K] {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(e, attrs);
  add(e, children);
  return e;
}
function set(e: Element, attrs?: Attrs | null): void {
  for (const [k, v] of Object.entries(attrs ?? {})) {
    if (v === null || v === undefined || v === false) continue;
    if (typeof v === "function") e.addEventListener(k, v);
    else e.setAttribute(k, v === true ? "" : READ.has(k) ? visible(String(v)) : String(v));
  }
}
function add(e: Element, children: (Child | Child[])[]): void {
  for (const c of children.flat()) if (c !== null && c !== undefined && c !== false) e.append(typeof c === "string" ? visible(c) : c);
}
// A box of a legend with its words; `kind`: its class.
export function swatch(colour: string, text: string, kind: string | null = null): HTMLElement {
  const i = h("i", { class: kind });
  i.style.backgroundColor = colour;
  return h("span", null, i, safe(text));
}
export function clear(e: Element): void { e.textContent = ""; }
const READ = new Set(["title", "aria-label", "aria-description", "aria-valuetext", "placeholder", "alt", "label"]);
// The same characters, written the same way, as in the terminal (text_is_hazard() of src/base/text.c).
const hazards = "\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
const controls = new RegExp(`[\\u0000-\\u001f${hazards}]`, "gu"), hidden = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${hazards}]`, "gu");
function written(c: string): string {
  const n = c.codePointAt(0)!.toString(16);
  return c < "\u0080" ? `\\x${n.padStart(2, "0")}` : `\\u{${n}}`;
}
// A name: one line.
export function safe(s: string): string { return s.replace(controls, written); }
// A text of several lines.
function visible(s: string): string { return s.replace(hidden, written); }

// What the mouse or the focus is on, in words. One for the page.
const tipBox = h("div", { id: "tip", role: "tooltip", hidden: true });
export function tip(text: string | null, x = 0, y = 0): void {
  if (!tipBox.isConnected) document.body.append(tipBox);
  tipBox.hidden = !text;
  if (!text) return;
  tipBox.textContent = text;
  const r = tipBox.getBoundingClientRect();
  tipBox.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - r.width - 8))}px`;
  tipBox.style.top = `${y + 16 + r.height > innerHeight ? Math.max(4, y - r.height - 8) : y + 16}px`;
}

let live: HTMLElement | null = null;
// A short message, also for screen readers.
export function say(text: string): void {
  if (!live) document.body.append((live = h("div", { id: "say", role: "status" })));
  live.textContent = text;
  live.classList.add("on");
  const mine = text;
  setTimeout(() => { if (live!.textContent === mine) live!.classList.remove("on"); }, 2500);
}
export function copy(text: string, what: string): void {
  const done = (): void => say(`copied ${what}`);
  const old = (): void => {
    const area = h("textarea", { "aria-label": "copy" });
    area.value = text;
    document.body.append(area);
    area.select();
    if (document.execCommand("copy")) done();
    else say("this browser does not let the page copy");
    area.remove();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, old);
  else old();
}
