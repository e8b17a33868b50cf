// SPDX-License-Identifier: BSD-3-Clause
// cube - samples by call chain, thread, CPU and time, summed under the filter. Cells are read once
// into typed arrays; a new filter is one pass over them.
import { columnsOf, rowsOf, type RawCube } from "./data";
import { amount, seconds } from "./format";
import { regex, type State } from "./state";

export interface Sums {
  self: Float64Array;      // period by node
  total: Float64Array;     // period of the node and what it calls
  samples: Float64Array;   // by node, its own
  byThread: Float64Array;  // period
  byCpu: Float64Array;
  period: number; count: number;
}
export interface FunctionSum { frame: number; self: number; total: number; samples: number }

export class Cube {
  frames: { name: string; dso: string; kind: string }[]; // kind: "", "inlined", or of the time of threads: "thread", "runnable", "blocked", "unknown"
  threads: { pid: number; tid: number; name: string }[];
  parent: Int32Array; frame: Int32Array; depth: Int32Array; firstChild: Int32Array; sibling: Int32Array;
  node: Int32Array; thread: Int16Array | Int32Array; cpu: Int16Array; bin: Int16Array;
  samples: Float64Array; period: Float64Array;
  roots: number[] = [];
  n: number;
  hasTime: boolean;
  event: string; unit: string; // whose samples these are; what periods are in: "cycles", "ns", "reference cycles", "events"
  private cached = ""; private sums_: Sums | null = null;
  private idOf = new Map<string, number>(); ids: Int32Array; // frame -> the first one of its name, file and kind
  owner: Int32Array; // node -> that of the function whose code it is in: itself, but for inlined calls

  constructor(public raw: RawCube, strings: string[]) {
    const text = (i: unknown): string => (typeof i === "number" ? strings[i] ?? "" : "");
    this.event = text(raw.event);
    this.unit = text(raw.unit);
    this.frames = rowsOf(raw.frames).map((f) => {
      const kind = f[2] === true ? "inlined" : text(f[2]);
      return { name: kind && kind !== "thread" && kind !== "inlined" ? `[${text(f[0])}]` : text(f[0]), dso: text(f[1]), kind };
    });
    this.ids = new Int32Array(this.frames.length);
    this.frames.forEach((f, i) => {
      const key = `${f.name}\n${f.dso}\n${f.kind}`;
      if (!this.idOf.has(key)) this.idOf.set(key, i);
      this.ids[i] = this.idOf.get(key)!;
    });
    this.threads = rowsOf(raw.threads).map((t) => ({ pid: t[0] as number, tid: t[1] as number, name: text(t[2]) }));
    const [parents, frames] = columnsOf(raw.nodes, 2) as number[][];
    const n = parents.length;
    this.parent = new Int32Array(n);
    this.frame = new Int32Array(n);
    this.depth = new Int32Array(n);
    this.owner = new Int32Array(n);
    this.firstChild = new Int32Array(n).fill(-1);
    this.sibling = new Int32Array(n).fill(-1);
    for (let i = 0; i < n; i++) {
      const p = (this.parent[i] = parents[i]);
      this.frame[i] = frames[i];
      this.owner[i] = p >= 0 && this.inlined(frames[i]) ? this.owner[p] : i;
      if (p >= 0) {
        this.depth[i] = this.depth[p] + 1;
        this.sibling[i] = this.firstChild[p];
        this.firstChild[p] = i;
      } else this.roots.push(i);
    }
    const c = columnsOf(raw.cells, 6) as number[][];
    this.n = c[0].length;
    this.node = Int32Array.from(c[0]);
    this.thread = Int32Array.from(c[1]);
    this.cpu = Int16Array.from(c[2]);
    this.bin = Int16Array.from(c[3]);
    this.samples = Float64Array.from(c[4]);
    this.period = Float64Array.from(c[5]);
    raw.cells = [];
    this.hasTime = raw.width > 0 && raw.bins > 1;
  }
  // A period with its unit: what a picture's widths are.
  weight(v: number): string { return this.unit === "ns" ? seconds(v / 1e9) : `${amount(v)} ${this.unit}`; }
  name(frame: number): string { return frame < 0 ? "(folded)" : this.frames[frame].name || "[unknown]"; }
  // Both of one function, one of them perhaps where it is inlined.
  same(a: number, b: number): boolean { return a >= 0 && b >= 0 && this.frames[a].name === this.frames[b].name && this.frames[a].dso === this.frames[b].dso; }
  inlined(frame: number): boolean { return frame >= 0 && this.frames[frame].kind === "inlined"; }
  // The function whose code a node is in, as an index of frames; -1: not known.
  functionOf(node: number): number { const f = node >= 0 ? this.frame[this.owner[node]] : -1; return f < 0 ? -1 : this.ids[f]; }
  // A thread has a row for each of its names.
  get threadCount(): number { return new Set(this.threads.map((t) => `${t.pid}/${t.tid}`)).size; }
  get width(): number { return this.raw.width / 1e9; }
  get seconds(): number { return this.width * this.raw.bins; }

  private masks(s: State): { thread: Uint8Array | null; cpu: Uint8Array | null; from: number; to: number; node: Uint8Array | null } {
    let thread: Uint8Array | null = null;
    let cpu: Uint8Array | null = null;
    let node: Uint8Array | null = null;
    let from = 0;
    let to = this.raw.bins - 1;
    if (s.thread || s.process) {
      const want = s.thread && new Set(s.thread.split(","));
      const whole = s.process && new Set(s.process.split(","));
      thread = Uint8Array.from(this.threads, (t) => +((!want || want.has(`${t.pid}/${t.tid}`)) && (!whole || whole.has(String(t.pid)))));
    }
    if (s.cpu) {
      const want = new Set(s.cpu.split(","));
      cpu = Uint8Array.from(this.raw.cpus, (c) => +want.has(String(c)));
    }
    if (s.time && this.hasTime) [from, to] = this.binsOf(s.time);
    if (s.focus || s.hide) {
      const focus = s.focus ? this.matches(s.focus) : null;
      const hide = s.hide ? this.matches(s.hide) : null;
      node = new Uint8Array(this.parent.length);
      const bad = new Uint8Array(this.parent.length);
      for (let i = 0; i < node.length; i++) {
        const p = this.parent[i];
        const f = this.frame[i];
        const here = !focus || (f >= 0 && focus[f]) || (p >= 0 && node[p] === 1);
        node[i] = here ? 1 : 0;
        bad[i] = (hide && f >= 0 && hide[f]) || (p >= 0 && bad[p]) ? 1 : 0;
      }
      for (let i = 0; i < node.length; i++) if (bad[i]) node[i] = 0;
    }
    return { thread, cpu, from, to, node };
  }
  binsOf(time: string): [number, number] {
    const [a, b] = time.split(",").map(Number);
    const last = this.raw.bins - 1;
    const from = Math.max(0, Math.min(last, Math.floor((a || 0) / this.width + 1e-6)));
    const to = Math.max(from, Math.min(last, Math.ceil((isNaN(b) ? this.seconds : b) / this.width - 1e-6) - 1));
    return [from, to];
  }
  matches(text: string): Uint8Array {
    const r = regex(text);
    return Uint8Array.from(this.frames, (f) => +(r.test(f.name) || r.test(f.dso)));
  }
  // By node: whether the filter on functions lets it pass; null: there is none.
  passing(s: State): Uint8Array | null { return this.masks({ ...s, thread: "", process: "", cpu: "", time: "" }).node; }
  // `each` sees every cell that passes.
  walk(s: State, each: (cell: number) => void): void {
    const m = this.masks(s);
    for (let i = 0; i < this.n; i++) {
      if (m.node && !m.node[this.node[i]]) continue;
      if (m.thread && !(this.thread[i] >= 0 && m.thread[this.thread[i]])) continue;
      if (m.cpu && !(this.cpu[i] >= 0 && m.cpu[this.cpu[i]])) continue;
      if (this.bin[i] < m.from || this.bin[i] > m.to) continue;
      each(i);
    }
  }
  sums(s: State): Sums {
    const key = [s.focus, s.hide, s.process, s.thread, s.cpu, s.time].join("\0");
    if (this.sums_ && key === this.cached) return this.sums_;
    const n = this.parent.length;
    const r: Sums = {
      self: new Float64Array(n), total: new Float64Array(n), samples: new Float64Array(n),
      byThread: new Float64Array(this.threads.length), byCpu: new Float64Array(this.raw.cpus.length),
      period: 0, count: 0,
    };
    this.walk(s, (i) => {
      const p = this.period[i];
      r.self[this.node[i]] += p;
      r.samples[this.node[i]] += this.samples[i];
      if (this.thread[i] >= 0) r.byThread[this.thread[i]] += p;
      if (this.cpu[i] >= 0) r.byCpu[this.cpu[i]] += p;
      r.period += p;
      r.count += this.samples[i];
    });
    r.total.set(r.self);
    for (let i = n - 1; i >= 0; i--) if (this.parent[i] >= 0) r.total[this.parent[i]] += r.total[i];
    this.cached = key;
    return (this.sums_ = r);
  }
  // By function: its own, what is inlined there with it, and with what it calls (a recursive one counts once).
  functions(s: State): FunctionSum[] {
    const sums = this.sums(s);
    const out = new Map<number, FunctionSum>();
    for (let i = 0; i < this.parent.length; i++) {
      const id = this.functionOf(i);
      if (!sums.total[i] || id < 0) continue;
      let f = out.get(id);
      if (!f) out.set(id, (f = { frame: id, self: 0, total: 0, samples: 0 }));
      f.self += sums.self[i];
      f.samples += sums.samples[i];
      let p = this.owner[i] === i ? this.parent[i] : i;
      while (p >= 0 && this.functionOf(p) !== id) p = this.parent[p];
      if (p < 0) f.total += sums.total[i];
    }
    return [...out.values()].sort((a, b) => b.self - a.self || b.total - a.total || a.frame - b.frame);
  }
}
// Half the 95 % interval of a share of n samples.
export function shareError(share: number, n: number): number {
  return n > 0 ? 1.96 * Math.sqrt(Math.max(share * (1 - share), 0.25 / n) / n) : NaN;
}
