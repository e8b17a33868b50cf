// SPDX-License-Identifier: BSD-3-Clause
// panes - panes side by side whose widths are the reader's: by mouse or, at a separator, by arrow keys. They are remembered in the
// browser if it lets the page, else while the page is open.
import { h } from "./dom";

const kept = new Map<string, number[]>();
const LEAST = 0.12; // of the whole

function load(key: string, n: number): number[] | null {
  let v: unknown = kept.get(key);
  try { v ??= JSON.parse(localStorage.getItem(key) ?? "null"); } catch { /* not allowed, or not ours */ }
  return Array.isArray(v) && v.length === n && v.every((x) => typeof x === "number" && x >= LEAST / 2 && x <= 1) ? v : null;
}
function keep(key: string, v: number[]): void {
  kept.set(key, v);
  try { localStorage.setItem(key, JSON.stringify(v)); } catch { /* not allowed: as long as the page is open */ }
}
// `widths`: parts of the whole to begin with, one for each child.
export function splitPanes(box: HTMLElement, names: string[], widths: number[]): void {
  const key = `cyclade panes ${names.join(" ")}`;
  const sum = widths.reduce((a, b) => a + b, 0);
  let now = load(key, widths.length) ?? widths.map((w) => w / sum);
  const bars: HTMLElement[] = [];
  const apply = (): void => {
    box.style.gridTemplateColumns = now.map((w) => `minmax(0, ${w.toFixed(4)}fr)`).join(" 10px ");
    bars.forEach((b, i) => b.setAttribute("aria-valuenow", String(Math.round(100 * now[i]))));
  };
  const move = (i: number, by: number): void => {
    const both = now[i] + now[i + 1];
    const left = Math.max(LEAST, Math.min(both - LEAST, now[i] + by));
    now = now.map((w, k) => (k === i ? left : k === i + 1 ? both - left : w));
    apply();
  };
  [...box.children].slice(1).forEach((pane, i) => {
    const bar = h("div", { class: "splitter", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": `width of ${names[i]}`, title: "drag, or arrow keys; a double click: as at first",
      pointerdown: (e: PointerEvent) => {
        bar.setPointerCapture(e.pointerId);
        let x = e.clientX;
        bar.onpointermove = (m) => { move(i, (m.clientX - x) / box.clientWidth); x = m.clientX; };
        bar.onpointerup = () => { bar.onpointermove = bar.onpointerup = null; keep(key, now); };
        e.preventDefault();
      },
      keydown: (e: KeyboardEvent) => {
        if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
        move(i, e.key === "ArrowLeft" ? -0.03 : 0.03);
        keep(key, now);
        e.preventDefault();
        e.stopPropagation();
      },
      dblclick: () => { now = widths.map((w) => w / sum); keep(key, now); apply(); } });
    bars.push(bar);
    box.insertBefore(bar, pane);
  });
  apply();
}
