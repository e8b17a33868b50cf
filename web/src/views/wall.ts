// SPDX-License-Identifier: BSD-3-Clause
// wall - what a flame graph of time has that one of samples has not: parts of a frame that were on
// the CPU and off it, told apart by colour and pattern; the words for them; what they were waits for.
import { ink, offColour } from "../colour";
import type { Cube } from "../cube";
import { findTable } from "../data";
import { h, safe, swatch } from "../dom";
import { percent, seconds } from "../format";
import { state, type State } from "../state";
import type { Context } from "./context";
import type { Frame } from "./frames";

export const OFF = ["runnable", "blocked", "unknown"];
const WORDS: Record<string, string> = { runnable: "waiting for a CPU", blocked: "blocked", unknown: "unknown" };

// The filter as it is for the cube of time: it has no CPUs, and began when the first record came.
export function wallState(c: Context): State {
  const s = { ...state, cpu: "" };
  if (s.time && c.cube && c.wall) {
    const later = (c.cube.raw.from - c.wall.raw.from) / 1e9;
    s.time = s.time.split(",").map((x) => (x === "" ? "" : String(Number(x) + later))).join(",");
  }
  return s;
}
// Time off the CPU of each frame, by state.
export function sumOff(cube: Cube, f: Frame, inverted: boolean, above = -1): void {
  const mine = f.frame >= 0 ? OFF.indexOf(cube.frames[f.frame].kind) : -1;
  const at = mine >= 0 ? mine : above;
  f.off = [0, 0, 0];
  for (const k of f.children) {
    sumOff(cube, k, inverted, at);
    k.off.forEach((v, i) => { f.off[i] += v; });
  }
  if (inverted ? at >= 0 : mine >= 0) f.off = f.off.map((_, i) => (i === at ? f.value : 0));
}
export function onTime(f: Frame): number { return f.value - f.off.reduce((a, b) => a + b, 0); }
export function timeWords(f: Frame): string {
  const parts = [["on CPU", onTime(f)], ...OFF.map((k, i) => [WORDS[k], f.off[i]])] as [string, number][];
  return parts.filter((p) => p[1] > 0.5).map(([k, v]) => `${k} ${seconds(v / 1e9)}`).join(", ");
}

// One pattern a state: lines that lean to the left, to the right, both.
export function hatch(g: CanvasRenderingContext2D): (CanvasPattern | null)[] {
  return OFF.map((_, i) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = tile.getContext("2d")!;
    t.strokeStyle = ink();
    t.globalAlpha = 0.3;
    t.lineWidth = 1;
    t.beginPath();
    if (i !== 1) { t.moveTo(-1, -1); t.lineTo(7, 7); }
    if (i !== 0) { t.moveTo(-1, 7); t.lineTo(7, -1); }
    t.stroke();
    return g.createPattern(tile, "repeat");
  });
}
export function wallLegend(all: Frame): HTMLElement {
  const used = OFF.map((k, i) => ({ k, v: all.off[i] })).filter((x) => x.v > 0);
  return h("p", { class: "legend" }, swatch("", `on CPU ${percent(onTime(all) / (all.value || 1))} (plain; colours tell files apart)`),
    ...used.map(({ k, v }) => swatch(offColour(k), `${WORDS[k]} ${percent(v / (all.value || 1))} (hatched)`, k)));
}
// What the time below a frame was, reason by reason, with what each means.
export function reasonsOf(c: Context, f: Frame, inverted: boolean): HTMLElement {
  const sum = new Map<string, number>();
  const cube = c.wall!;
  const see = (x: Frame): void => {
    if (x.frame >= 0 && OFF.includes(cube.frames[x.frame].kind)) sum.set(cube.name(x.frame), (sum.get(cube.name(x.frame)) ?? 0) + x.value);
    else x.children.forEach(see);
  };
  if (inverted) {
    let up: Frame | null = f;
    while (up?.parent?.parent) up = up.parent;
    if (up && up !== f && up.off.some((v) => v > 0)) sum.set(cube.name(up.frame), f.value);
  }
  if (!sum.size) see(f);
  const t = findTable(c.doc("wait"), "reasons");
  const means = new Map<string, string>();
  for (let r = 0; t && r < t.length; r++) means.set(`[${t.text(r, t.column("reason"))}]`, t.text(r, t.column("means")));
  const list = h("dl", null, h("dt", null, "on CPU"), h("dd", null, h("b", null, seconds(onTime(f) / 1e9)), ` ${percent(onTime(f) / (f.value || 1))}`,
    h("span", { class: "dim" }, " · running time of a thread, shared out evenly among its samples")));
  for (const [k, v] of [...sum].sort((a, b) => b[1] - a[1]))
    list.append(h("dt", null, safe(k)), h("dd", null, h("b", null, seconds(v / 1e9)), ` ${percent(v / (f.value || 1))}`, means.get(k) ? h("span", { class: "dim" }, ` · ${safe(means.get(k)!)}`) : null));
  return list;
}
