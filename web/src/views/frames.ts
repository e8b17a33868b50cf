// SPDX-License-Identifier: BSD-3-Clause
// frames - boxes of call chains on a canvas: an icicle (callers above) or a flame (callers below). What they are worth, their
// names and colours are the view's.
import { css, ink, painters } from "../colour";
import { safe, tip } from "../dom";
import { cutName, shortName } from "../names";

export interface Frame { frame: number; value: number; self: number; samples: number; off: number[]; children: Frame[]; parent: Frame | null; leaf: number; x: number; w: number }
export function fresh(frame: number, parent: Frame | null): Frame {
  const f = { frame, value: 0, self: 0, samples: 0, off: [], children: [], parent, leaf: -1, x: 0, w: 0 };
  parent?.children.push(f);
  return f;
}
export interface Paint {
  value: (f: Frame) => number;
  name: (f: Frame) => string;  // the whole one; a box shows it short
  mark?: (f: Frame) => string; // before the name in the box
  fill: (f: Frame) => string;
  over?: (g: CanvasRenderingContext2D, f: Frame, y: number, width: number, height: number) => void;
  words: (f: Frame) => string; // of the tip
  lit: ((f: Frame) => boolean) | null; // what is searched for
}
// Of a call that was inlined: before its name, and the edge of its box.
export const INLINED = "▹ ";
export function inlinedEdge(is: (f: Frame) => boolean): NonNullable<Paint["over"]> {
  return (g, f, y, width) => {
    if (!is(f) || width < 12) return;
    g.save();
    g.strokeStyle = ink();
    g.globalAlpha = 0.6;
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(f.x + 1, y + 1);
    g.lineTo(f.x + width, y + 1);
    g.stroke();
    g.restore();
  };
}
export interface Boxes { el: HTMLCanvasElement; draw: () => void; pick: (f: Frame) => void }
const ROW = 20;

// `top` fills the width. `headless`: it has no box, as another canvas shows it. `chosen`: what is marked.
export function boxes(host: HTMLElement, el: HTMLCanvasElement, top: Frame, p: Paint, how: { up?: boolean; headless?: boolean; chosen: Frame }, open: (f: Frame) => void): Boxes {
  let rows: Frame[][] = [];
  const layout = (width: number): void => {
    rows = [];
    const put = (f: Frame, x: number, w: number, level: number): void => {
      f.x = x;
      f.w = w;
      if (w < 0.4 && f !== top) return;
      (rows[level] ??= []).push(f);
      let at = x;
      const v = p.value(f);
      for (const k of f.children) {
        const kw = v ? (p.value(k) / v) * w : 0;
        if (kw) put(k, at, kw, level + 1);
        at += kw;
      }
    };
    put(top, 0, width, 0);
    if (how.headless) rows.shift();
    if (how.up) rows.reverse();
  };
  const draw = (): void => {
    const ratio = devicePixelRatio || 1;
    const w = el.clientWidth || 800;
    layout(w);
    const height = Math.max(rows.length, how.headless ? 1 : 3) * ROW + 2;
    el.style.height = `${height}px`;
    el.width = w * ratio;
    el.height = height * ratio;
    const g = el.getContext("2d")!;
    g.scale(ratio, ratio);
    g.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    g.textBaseline = "middle";
    const char = g.measureText("m").width;
    rows.forEach((row, i) => row.forEach((f) => {
      const y = i * ROW, width = Math.max(0.5, f.w - 0.7);
      const on = !p.lit || p.lit(f);
      g.fillStyle = p.fill(f);
      g.globalAlpha = on ? 1 : 0.35;
      g.fillRect(f.x, y + 1, width, ROW - 1.5);
      p.over?.(g, f, y + 1, width, ROW - 1.5);
      g.globalAlpha = 1;
      if (p.lit && on && f.w > 1) { g.strokeStyle = css("--ink"); g.lineWidth = 1.5; g.strokeRect(f.x + 1, y + 2, Math.max(0, f.w - 2.5), ROW - 3.5); }
      if (f === how.chosen) { g.strokeStyle = css("--accent"); g.lineWidth = 2.5; g.strokeRect(f.x + 1.2, y + 2, Math.max(1, f.w - 3), ROW - 3.5); }
      const fit = Math.floor((f.w - 6) / char);
      if (fit > 2) {
        const mark = p.mark?.(f) ?? "";
        g.fillStyle = ink();
        g.fillText(safe(mark + cutName(shortName(p.name(f)), fit - mark.length)), f.x + 3, y + ROW / 2 + 0.5);
      }
    }));
  };
  const at = (e: MouseEvent): Frame | null => {
    const r = el.getBoundingClientRect();
    return rows[Math.floor((e.clientY - r.top) / ROW)]?.find((f) => e.clientX - r.left >= f.x && e.clientX - r.left < f.x + f.w) ?? null;
  };
  el.addEventListener("mousemove", (e) => { const f = at(e); tip(f ? safe(p.words(f)) : null, e.clientX, e.clientY); });
  el.addEventListener("mouseleave", () => tip(null));
  el.addEventListener("click", (e) => { const f = at(e); if (f) open(f); });
  painters.add(draw);
  new ResizeObserver(() => el.isConnected && draw()).observe(host);
  return { el, draw, pick: (f) => { how.chosen = f; draw(); } };
}
// The frame next to it, as the keys of the page have it; undefined: another key.
export function neighbour(key: string, f: Frame, top: Frame): Frame | null | undefined {
  const beside = f === top ? [] : f.parent!.children;
  switch (key) {
    case "j": case "ArrowDown": return f.children[0] ?? null;
    case "k": case "ArrowUp": return f === top ? null : f.parent;
    case "l": case "ArrowRight": return beside[beside.indexOf(f) + 1] ?? null;
    case "h": case "ArrowLeft": return beside[beside.indexOf(f) - 1] ?? null;
  }
  return undefined;
}
// Below `all` by the names that the address has.
export function zoomed(all: Frame, path: string, name: (f: Frame) => string): Frame {
  let top = all;
  for (const part of path ? path.split("\t") : []) {
    const next = top.children.find((f) => name(f) === part);
    if (!next) break;
    top = next;
  }
  return top;
}
export function pathTo(f: Frame, name: (f: Frame) => string): string {
  const p: string[] = [];
  for (let k: Frame | null = f; k?.parent; k = k.parent) p.unshift(name(k));
  return p.join("\t");
}
