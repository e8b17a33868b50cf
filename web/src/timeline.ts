// SPDX-License-Identifier: BSD-3-Clause
// timeline - what each thread and CPU did in short bins of time (FORMAT.md), and how a track of it is drawn.
import { css, dark, frameColour, offColour } from "./colour";
import type { Cube } from "./cube";
import { columnsOf, rowsOf, type RawTimeline } from "./data";
import { seconds } from "./format";
import { shortName } from "./names";

export interface Track {
  pid: number; tid: number; cpu: number; name: string; samples: number;
  width: number; bin: Int32Array; node: Int32Array; n: Float64Array;           // moments; width: seconds of a bin
  spanWidth: number; from: Int32Array; bins: Int32Array; reason: Int32Array;   // spans
}
export interface Mark { at: number; kind: string; pid: number; tid: number; n: number; name: string }
interface Reason { name: string; state: string; means: string }

export class Timeline {
  width: number; seconds: number;
  tracks: Track[]; marks: Mark[]; reasons: Reason[];
  constructor(raw: RawTimeline, strings: string[]) {
    const text = (i: unknown): string => (typeof i === "number" ? strings[i] ?? "" : "");
    this.width = raw.width / 1e9;
    this.seconds = this.width * raw.bins;
    this.reasons = rowsOf(raw.reasons).map((r) => ({ name: text(r[0]), state: text(r[1]), means: text(r[2]) }));
    const ints = (v: unknown[][]): Int32Array[] => v.map((x) => Int32Array.from(x as number[]));
    const m = ints(columnsOf(raw.moments, 3)), s = ints(columnsOf(raw.spans, 3));
    let at = 0, to = 0;
    this.tracks = (rowsOf(raw.tracks) as number[][]).map((t) => {
      const a = at, b = to;
      at += t[6];
      to += t[8];
      return {
        pid: t[0], tid: t[1], cpu: t[2], name: t[2] >= 0 ? `CPU ${t[2]}` : text(t[3]), samples: t[4],
        width: this.width * 2 ** t[5], bin: m[0].subarray(a, at), node: m[1].subarray(a, at), n: Float64Array.from(m[2].subarray(a, at)),
        spanWidth: this.width * 2 ** t[7], from: s[0].subarray(b, to), bins: s[1].subarray(b, to), reason: s[2].subarray(b, to),
      };
    });
    this.marks = (rowsOf(raw.marks) as number[][]).map((x) => ({ at: (x[0] + 0.5) * this.width, kind: text(x[1]), pid: x[2], tid: x[3], n: x[4], name: text(x[5]) }));
  }
  // Where bins that begin before `time` end: the index of the first at or behind it.
  static first(v: Int32Array, bin: number): number {
    let low = 0, high = v.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (v[mid] < bin) low = mid + 1;
      else high = mid;
    }
    return low;
  }
  momentAt(t: Track, time: number): number {
    const bin = Math.floor(time / t.width), i = Timeline.first(t.bin, bin);
    return t.bin[i] === bin ? i : -1;
  }
  spanAt(t: Track, time: number): number {
    const bin = Math.floor(time / t.spanWidth), i = Timeline.first(t.from, bin + 1) - 1;
    return i >= 0 && bin < t.from[i] + t.bins[i] ? i : -1;
  }
}

// Waits by kind: what a reason is about. Paler than functions, and lower than what runs.
const KINDS: [string, RegExp, number][] = [["lock", /lock/, 350], ["disk, memory", /I\/O|fault|read/, 28], ["network, pipe", /socket|poll|pipe|events|terminal/, 185], ["process", /child|signal|stopped/, 275], ["quota", /throttled/, 320]];
const pale = (hue: number): string => (dark.matches ? `hsl(${hue} 35% 34%)` : `hsl(${hue} 60% 83%)`);
export const othersColour = (): string => (dark.matches ? "hsl(220 8% 46%)" : "hsl(220 8% 68%)");
export interface Look { kind: string; colour: string; high: number } // high: part of the track's height
export function lookOf(r: Reason): Look {
  if (r.state === "running") return { kind: "running", colour: css("--line"), high: 1 };
  if (r.state === "runnable") return { kind: "waits for a CPU", colour: pale(50), high: 0.7 };
  if (r.state === "unknown") return { kind: "not recorded", colour: offColour("unknown"), high: 0.15 };
  const k = KINDS.find((x) => x[1].test(r.name));
  return k ? { kind: `waits: ${k[0]}`, colour: pale(k[2]), high: 0.4 } : { kind: "waits: sleep, other", colour: offColour("blocked"), high: 0.4 };
}

export interface Palette { of: (node: number) => string; looks: Look[]; dim: Uint8Array | null } // dim: by node, 1: passes the filter
export interface Area { from: number; to: number; w: number; h: number } // seconds; px

// The moment that a column of pixels shows: the one with most samples.
export function columnsIn(t: Track, a: Area, each: (x: number, width: number, moment: number) => void): void {
  const px = a.w / (a.to - a.from), wide = Math.max(1, t.width * px);
  let best = -1, at = -1;
  for (let i = Timeline.first(t.bin, Math.floor(a.from / t.width)); i < t.bin.length && t.bin[i] * t.width < a.to; i++) {
    const x = wide > 1 ? (t.bin[i] * t.width - a.from) * px : Math.floor((t.bin[i] * t.width - a.from) * px);
    if (x === at && best >= 0) {
      if (t.n[i] > t.n[best]) best = i;
      continue;
    }
    if (best >= 0) each(at, wide, best);
    best = i;
    at = x;
  }
  if (best >= 0) each(at, wide, best);
}
export function paintTrack(g: CanvasRenderingContext2D, line: Timeline, t: Track, a: Area, p: Palette): void {
  const px = a.w / (a.to - a.from), waits = t.from.length > 0;
  g.fillStyle = css("--soft");
  g.fillRect(0, 0, a.w, a.h);
  for (let i = Math.max(0, Timeline.first(t.from, Math.floor(a.from / t.spanWidth)) - 1); i < t.from.length && t.from[i] * t.spanWidth < a.to; i++) {
    const x = (t.from[i] * t.spanWidth - a.from) * px, look = p.looks[t.reason[i]];
    g.fillStyle = look.colour;
    g.fillRect(x, a.h * (1 - look.high), Math.max(0.6, t.bins[i] * t.spanWidth * px), a.h * look.high);
  }
  let most = 1;
  columnsIn(t, a, (_x, _w, i) => { most = Math.max(most, t.n[i]); });
  columnsIn(t, a, (x, w, i) => {
    const high = waits ? a.h : a.h * (0.3 + 0.7 * (t.n[i] / most));
    g.fillStyle = p.dim && !(t.node[i] >= 0 && p.dim[t.node[i]]) ? css("--line") : p.of(t.node[i]);
    g.fillRect(x, a.h - high, w + 0.3, high);
  });
}

// ---- the stacks of a thread in time order ---------------------------------------------------------

export interface Box { x: number; w: number; depth: number; node: number; from: number; to: number }
export const BOX = 17;
export function stacksOf(cube: Cube, t: Track, a: Area): Box[] {
  const out: Box[] = [];
  let open: Box[] = [];
  let end = -1;
  columnsIn(t, a, (x, w, i) => {
    const path: number[] = [];
    for (let n = t.node[i]; n >= 0; n = cube.parent[n]) if (cube.frame[n] >= 0) path.unshift(n);
    let same = 0;
    if (x <= end + 0.5) while (same < path.length && same < open.length && open[same].node === path[same]) same++;
    open = open.slice(0, same);
    const to = (t.bin[i] + 1) * t.width;
    for (const b of open) { b.w = x + w - b.x; b.to = to; }
    for (let d = same; d < path.length; d++) {
      const b = { x, w, depth: d, node: path[d], from: t.bin[i] * t.width, to };
      open.push(b);
      out.push(b);
    }
    end = x + w;
  });
  return out;
}
export function paintStacks(g: CanvasRenderingContext2D, cube: Cube, boxes: Box[], a: Area, ink: string): void {
  g.fillStyle = css("--soft");
  g.fillRect(0, 0, a.w, a.h);
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  for (const b of boxes) {
    const f = cube.frames[cube.frame[b.node]];
    g.fillStyle = frameColour(f.name, f.dso);
    g.fillRect(b.x, b.depth * BOX, Math.max(0.7, b.w - (b.w > 3 ? 0.7 : 0)), BOX - 1);
    if (b.w < 28) continue;
    g.save();
    g.beginPath();
    g.rect(b.x, b.depth * BOX, b.w - 2, BOX);
    g.clip();
    g.fillStyle = ink;
    g.fillText(shortName(f.name), Math.max(b.x, 0) + 3, b.depth * BOX + BOX / 2);
    g.restore();
  }
}
export function timeWords(a: number, b: number): string { return `${seconds(a)} – ${seconds(b)}`; }
