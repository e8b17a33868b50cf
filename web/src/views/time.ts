// SPDX-License-Identifier: BSD-3-Clause
// time - hot functions over time, then threads and CPUs as rows. Dragging selects a range, which
// filters all views.
import { css, nth, painters } from "../colour";
import { h, safe, tip } from "../dom";
import { percent, seconds } from "../format";
import { go, state } from "../state";
import { cubeNote, heading, type Context, type View } from "./context";

let keysOf: ((key: string) => boolean) | null = null;
const SHOWN = 9;

// The first page's picture: how many samples of each bin are of which thread. The busiest threads, as many as `height` has room for.
const TRACK = 20; // px
export function timeStrip(c: Context, height: number): HTMLElement {
  const box = h("div", { class: "strip-time" });
  const cube = c.cube;
  if (!cube?.hasTime) return box;
  const bins = cube.raw.bins;
  const by = cube.threads.map(() => new Float64Array(bins));
  const sum = new Float64Array(cube.threads.length);
  cube.walk({ ...state, time: "" }, (i) => {
    const t = cube.thread[i];
    if (t < 0) return;
    by[t][cube.bin[i]] += cube.samples[i];
    sum[t] += cube.samples[i];
  });
  const seen = [...sum.keys()].filter((i) => sum[i]).sort((a, b) => sum[b] - sum[a]);
  const tracks = seen.slice(0, Math.max(1, Math.floor(height / TRACK) - 1));
  const step = Math.max(1, Math.ceil(bins / 240));
  const columns = Math.ceil(bins / step);
  const joined = tracks.map((t) => { const v = new Float64Array(columns); by[t].forEach((x, b) => { v[Math.floor(b / step)] += x; }); return v; });
  const most = Math.max(1, ...joined.flatMap((v) => [...v]));
  joined.forEach((v, i) => {
    const t = cube.threads[tracks[i]];
    const canvas = h("canvas", { role: "img", "aria-label": `samples of ${t.name} ${t.tid} over time` });
    canvas.style.height = `${TRACK - 2}px`;
    const paint = (): void => {
      const ratio = devicePixelRatio || 1, w = canvas.clientWidth || 600, high = TRACK - 2;
      canvas.width = w * ratio;
      canvas.height = high * ratio;
      const g = canvas.getContext("2d")!;
      g.scale(ratio, ratio);
      g.fillStyle = css("--soft");
      g.fillRect(0, 0, w, high);
      g.fillStyle = css("--hot");
      v.forEach((x, b) => { const d = x ? Math.max(1, (x / most) * high) : 0; g.fillRect((b / columns) * w, high - d, w / columns + 0.4, d); });
    };
    painters.add(paint);
    new ResizeObserver(() => canvas.isConnected && paint()).observe(canvas);
    box.append(h("div", { class: "row" }, h("span", { class: "who", title: `${t.name} ${t.pid}/${t.tid}` }, safe(t.name), h("span", { class: "dim" }, ` ${t.tid}`)), canvas));
  });
  box.append(h("div", { class: "row" }, h("span", { class: "dim" }, seen.length > tracks.length ? `${tracks.length} of ${seen.length} threads` : ""),
    h("div", { class: "axis", "aria-hidden": "true" }, ...[0, 1, 2, 3, 4].map((i) => h("span", null, seconds((cube.seconds * i) / 4))))));
  return box;
}

export const timeView: View = {
  id: "time", title: "time",
  draw(root, c: Context) {
    const cube = c.cube!;
    const bins = cube.raw.bins;
    const threads = cube.threads.map(() => new Float64Array(bins));
    const cpus = cube.raw.cpus.map(() => new Float64Array(bins));
    const functions = cube.functions({ ...state, time: "" }).slice(0, SHOWN);
    const slot = new Map(functions.map((f, i) => [f.frame, i]));
    const stack = Array.from({ length: functions.length + 1 }, () => new Float64Array(bins));
    const all = new Float64Array(bins);
    // the whole axis is drawn; what is selected is marked on it
    cube.walk({ ...state, time: "", thread: "", cpu: "" }, (i) => {
      if (cube.thread[i] >= 0) threads[cube.thread[i]][cube.bin[i]] += cube.period[i];
      if (cube.cpu[i] >= 0) cpus[cube.cpu[i]][cube.bin[i]] += cube.period[i];
    });
    cube.walk({ ...state, time: "" }, (i) => {
      const f = cube.frame[cube.node[i]];
      const s = f < 0 ? functions.length : slot.get(cube.ids[f]) ?? functions.length;
      stack[s][cube.bin[i]] += cube.period[i];
      all[cube.bin[i]] += cube.period[i];
    });
    // columns of several bins where these hold but a few samples each
    const step = Math.max(1, Math.min(20, Math.ceil((bins * 8) / Math.max(1, cube.raw.samples))));
    const joined = (v: Float64Array): Float64Array => {
      const out = new Float64Array(Math.ceil(bins / step));
      for (let b = 0; b < bins; b++) out[Math.floor(b / step)] += v[b];
      return out;
    };
    root.append(heading("Over time"));
    const note = cubeNote(c);
    if (note) root.append(note);
    root.append(h("p", { class: "dim" }, `Drag over the axis to select; w and s zoom, a and d move, r resets. One bin is ${seconds(cube.width)}${step > 1 ? `, a column ${step} bins` : ""}.`));
    const range = (): [number, number] => {
      if (!state.time) return [0, cube.seconds];
      const [a, b] = cube.binsOf(state.time);
      return [a * cube.width, (b + 1) * cube.width];
    };
    const pick = (from: number, to: number, replace = false): void => {
      const a = Math.max(0, Math.min(from, to));
      const b = Math.min(cube.seconds, Math.max(from, to));
      go({ time: b - a >= cube.seconds - cube.width / 2 ? "" : `${+a.toFixed(6)},${+b.toFixed(6)}` }, replace);
    };
    const columns = stack.map(joined);
    const sums = joined(all);
    const max = Math.max(1e-9, ...sums);
    const [soft, hot, shade, accent, selected] = ["--soft", "--hot", "--shade", "--accent", "--select"].map(css);
    const chart = (height: number, label: string, draw: (g: CanvasRenderingContext2D, w: number, hh: number) => void, said: (bin: number) => string): HTMLCanvasElement => {
      const canvas = h("canvas", { role: "img", "aria-label": label });
      canvas.style.height = `${height}px`;
      const paint = (): void => {
        const ratio = devicePixelRatio || 1;
        const w = canvas.clientWidth || 600;
        canvas.width = w * ratio;
        canvas.height = height * ratio;
        const g = canvas.getContext("2d")!;
        g.scale(ratio, ratio);
        draw(g, w, height);
        if (state.time) {
          const [a, b] = range();
          g.fillStyle = shade;
          g.fillRect(0, 0, (a / cube.seconds) * w, height);
          g.fillRect((b / cube.seconds) * w, 0, w, height);
          g.fillStyle = accent;
          g.fillRect((a / cube.seconds) * w, 0, 1.5, height);
          g.fillRect((b / cube.seconds) * w - 1.5, 0, 1.5, height);
        }
      };
      const secondAt = (e: PointerEvent | MouseEvent): number => {
        const r = canvas.getBoundingClientRect();
        return (Math.max(0, Math.min(r.width, e.clientX - r.left)) / r.width) * cube.seconds;
      };
      let from = -1;
      canvas.addEventListener("pointerdown", (e) => { from = secondAt(e); canvas.setPointerCapture(e.pointerId); });
      canvas.addEventListener("pointermove", (e) => {
        const s = secondAt(e);
        const bin = Math.min(bins - 1, Math.floor(s / cube.width));
        tip(from >= 0 ? `${seconds(Math.abs(s - from))}` : `${seconds(s)}\n${said(bin)}`, e.clientX, e.clientY);
        if (from >= 0) {
          paint();
          const g = canvas.getContext("2d")!;
          g.fillStyle = selected;
          const w = canvas.clientWidth;
          g.fillRect((Math.min(from, s) / cube.seconds) * w, 0, (Math.abs(s - from) / cube.seconds) * w, height);
        }
      });
      canvas.addEventListener("pointerup", (e) => {
        const s = secondAt(e);
        const start = from;
        from = -1;
        tip(null);
        if (Math.abs(s - start) > cube.width / 2) pick(Math.floor(Math.min(s, start) / cube.width) * cube.width, Math.ceil(Math.max(s, start) / cube.width) * cube.width);
        else if (state.time) go({ time: "" });
      });
      canvas.addEventListener("mouseleave", () => tip(null));
      painters.add(paint);
      new ResizeObserver(() => canvas.isConnected && paint()).observe(canvas); // at once, too
      return canvas;
    };
    const colours = [...functions.map((_, i) => nth(i)), css("--line")];
    const label = (i: number): string => (i < functions.length ? cube.name(functions[i].frame) : "others");
    root.append(h("h3", null, "hot functions"), chart(150, `${cube.unit === "ns" ? "time" : cube.unit === "events" ? "counts" : cube.unit} over time, by function (${safe(cube.event)})`, (g, w, hh) => {
      for (let b = 0; b < sums.length; b++) {
        let y = hh;
        const x = ((b * step) / bins) * w;
        for (let i = 0; i < columns.length; i++) {
          const d = (columns[i][b] / max) * (hh - 4);
          if (!d) continue;
          g.fillStyle = colours[i];
          g.fillRect(x, y - d, (step / bins) * w + 0.4, d);
          y -= d;
        }
      }
    }, (bin) => {
      const b = Math.floor(bin / step);
      return columns.map((s, i) => [label(i), s[b]] as [string, number]).filter((x) => x[1] > 0).map((x) => `${x[0]} ${percent(x[1] / (sums[b] || 1))}`).join("\n");
    }));
    const axis = h("div", { class: "axis", "aria-hidden": "true" });
    for (let i = 0; i <= 4; i++) axis.append(h("span", null, seconds((cube.seconds * i) / 4)));
    root.append(axis, h("p", { class: "legend" }, ...stack.map((_, i) => {
      const s = h("i");
      s.style.backgroundColor = colours[i];
      return h("span", null, s, safe(label(i)));
    })));
    const strips = (title: string, rows: { name: string; on: boolean; pick: () => void; v: Float64Array }[]): void => {
      if (!rows.length) return;
      const shown = rows.map((r) => ({ ...r, sum: r.v.reduce((a, x) => a + x, 0) })).sort((a, b) => b.sum - a.sum).slice(0, 64);
      const whole = new Float64Array(sums.length);
      for (const r of rows) joined(r.v).forEach((x, b) => { whole[b] += x; });
      const sum = rows.reduce((a, r) => a + r.v.reduce((x, y) => x + y, 0), 0) || 1;
      for (const r of shown) r.v = joined(r.v);
      const most = Math.max(1e-9, ...shown.map((r) => Math.max(...r.v)));
      root.append(h("h3", null, title, shown.length < rows.length ? ` (the ${shown.length} busiest of ${rows.length})` : ""));
      const box = h("div", { class: "strips" });
      for (const r of shown) {
        box.append(h("div", { class: "row" },
          h("button", { type: "button", "aria-pressed": String(r.on), title: safe(r.name), click: r.pick }, safe(r.name), h("span", { class: "dim" }, ` ${percent(r.sum / sum)}`)),
          chart(18, `${r.name} over time`, (g, w, hh) => {
            g.fillStyle = soft;
            g.fillRect(0, 0, w, hh);
            g.fillStyle = hot;
            for (let b = 0; b < r.v.length; b++) {
              const d = (r.v[b] / most) * hh;
              if (d) g.fillRect(((b * step) / bins) * w, hh - Math.max(1, d), (step / bins) * w + 0.4, Math.max(1, d));
            }
          }, (bin) => `${r.name}: ${percent(r.v[Math.floor(bin / step)] / (whole[Math.floor(bin / step)] || 1))} of all then`)));
      }
      root.append(box);
    };
    const toggle = (list: string, x: string): string => {
      const v = new Set(list ? list.split(",") : []);
      if (!v.delete(x)) v.add(x);
      return [...v].join(",");
    };
    strips("threads", cube.threads.map((t, i) => ({
      name: `${t.name} ${t.tid}`, on: state.thread.split(",").includes(`${t.pid}/${t.tid}`), v: threads[i],
      pick: () => go({ thread: toggle(state.thread, `${t.pid}/${t.tid}`) }),
    })));
    strips("CPUs", cube.raw.cpus.map((n, i) => ({ name: `CPU ${n}`, on: state.cpu.split(",").includes(String(n)), v: cpus[i], pick: () => go({ cpu: toggle(state.cpu, String(n)) }) })));
    keysOf = (key) => {
      const [a, b] = range();
      const w = b - a;
      const middle = (a + b) / 2;
      switch (key) {
        case "w": { const half = Math.max(cube.width / 2, w / 4); pick(middle - half, middle + half, true); return true; }
        case "s": pick(middle - w, middle + w, true); return true;
        case "a": if (state.time) { const d = Math.min(a, w / 4); pick(a - d, b - d, true); } return true;
        case "d": if (state.time) { const d = Math.min(cube.seconds - b, w / 4); pick(a + d, b + d, true); } return true;
      }
      return false;
    };
  },
  keys: (key) => keysOf?.(key) ?? false,
};
