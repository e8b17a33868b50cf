// SPDX-License-Identifier: BSD-3-Clause
// time - what ran when: functions, then a track for each thread and CPU, with the stacks of a thread in time order beneath it.
// Dragging selects a range, which filters all views; the wheel and w a s d change what is shown only.
import { css, ink, nth, painters } from "../colour";
import type { Cube } from "../cube";
import { h, safe, swatch, tip } from "../dom";
import { group, percent, seconds } from "../format";
import { shortName } from "../names";
import { go, note as see, state } from "../state";
import { BOX, columnsIn, lookOf, othersColour, paintStacks, paintTrack, stacksOf, timeWords, type Area, type Box, type Look, type Palette, type Timeline, type Track } from "../timeline";
import { cubeNote, functionLink, heading, type Context, type View } from "./context";

const SHOWN = 9, HIGH = 22, FIRST = 12, MOST = 200, DEEP = 48;
type Paint = (g: CanvasRenderingContext2D, a: Area) => void;
interface Axis { from: number; to: number; repaint: () => void }

// The functions with most samples, their colours, and what the filter lets pass.
function paletteOf(cube: Cube, line: Timeline, all: boolean): Palette & { names: { frame: number; colour: string }[] } {
  const top = cube.functions({ ...state, time: "", cpu: "", thread: "", process: "", ...(all ? { focus: "", hide: "" } : {}) }).slice(0, SHOWN);
  const slot = new Map(top.map((f, i) => [f.frame, nth(i)]));
  const others = othersColour();
  return {
    of: (n) => slot.get(cube.functionOf(n)) ?? others,
    looks: line.reasons.map(lookOf), dim: all ? null : cube.passing(state), names: top.map((f) => ({ frame: f.frame, colour: slot.get(f.frame)! })),
  };
}
function canvasOf(height: number, label: string, axis: Axis, draw: Paint): { canvas: HTMLCanvasElement; paint: () => void; area: () => Area } {
  const canvas = h("canvas", { role: "img", "aria-label": safe(label) });
  const area = (): Area => ({ from: axis.from, to: axis.to, w: canvas.clientWidth || 600, h: parseFloat(canvas.style.height) });
  canvas.style.height = `${height}px`;
  const paint = (): void => {
    const ratio = devicePixelRatio || 1, a = area();
    canvas.width = a.w * ratio;
    canvas.height = a.h * ratio;
    const g = canvas.getContext("2d")!;
    g.scale(ratio, ratio);
    draw(g, a);
  };
  painters.add(paint);
  new ResizeObserver(() => canvas.isConnected && paint()).observe(canvas); // at once, too
  return { canvas, paint, area };
}
function chain(cube: Cube, node: number): string {
  const names: string[] = [];
  for (let n = node; n >= 0 && names.length < 6; n = cube.parent[n]) if (cube.frame[n] >= 0) names.push(shortName(cube.name(cube.frame[n])));
  return names.map((x, i) => (i ? `  called by ${x}` : x)).join("\n");
}
function said(c: Context, line: Timeline, t: Track, time: number): string {
  const m = line.momentAt(t, time), s = line.spanAt(t, time);
  const r = s >= 0 ? line.reasons[t.reason[s]] : null;
  return [`${t.name}${t.cpu < 0 ? ` ${t.tid}` : ""} at ${seconds(time)}`, r ? `${r.state === "running" ? "running" : `${r.name}: ${r.means}`}, ${seconds(t.bins[s] * t.spanWidth)}` : "",
    m >= 0 ? chain(c.cube!, t.node[m]) || "(folded)" : r?.state === "running" || !r ? "no sample" : ""].filter((x) => x).join("\n");
}

// The first page's picture: the busiest threads, as many as `height` has room for.
export function timeStrip(c: Context, height: number): HTMLElement {
  const box = h("div", { class: "strip-time" });
  const line = c.timeline;
  if (!line || !c.cube) return box;
  const threads = line.tracks.filter((t) => t.cpu < 0), shown = threads.slice(0, Math.max(1, Math.floor(height / 20) - 1));
  const palette = paletteOf(c.cube, line, true);
  const axis: Axis = { from: 0, to: line.seconds, repaint: () => undefined };
  for (const t of shown) {
    const { canvas, area } = canvasOf(18, `${t.name} ${t.tid} over time`, axis, (g, a) => paintTrack(g, line, t, a, palette));
    canvas.addEventListener("pointermove", (e) => {
      const r = canvas.getBoundingClientRect(), a = area();
      tip(said(c, line, t, a.from + ((e.clientX - r.left) / r.width) * (a.to - a.from)), e.clientX, e.clientY);
    });
    canvas.addEventListener("mouseleave", () => tip(null));
    canvas.addEventListener("click", () => go({ view: "time" }));
    box.append(h("div", { class: "row" }, h("span", { title: safe(`${t.name} ${t.pid}/${t.tid}`) }, safe(t.name), h("span", { class: "dim" }, ` ${t.tid}`)), canvas));
  }
  box.append(h("div", { class: "row" }, h("span", { class: "dim" }, threads.length > shown.length ? `${shown.length} of ${group(threads.length)} threads` : ""),
    h("div", { class: "axis", "aria-hidden": "true" }, ...[0, 1, 2, 3, 4].map((i) => h("span", null, seconds((line.seconds * i) / 4))))));
  return box;
}

// Which tracks have more: kept while the page is open.
const opened = new Set<string>();
let keysOf: ((key: string) => boolean) | null = null;

export const timeView: View = {
  id: "time", title: "time",
  draw(root, c: Context) {
    const cube = c.cube!, line = c.timeline!;
    const part = state.shown.split(",").map(Number), [shownFrom, shownTo] = part[0] >= 0 && part[1] > part[0] && part[0] < line.seconds ? [part[0], Math.min(part[1], line.seconds)] : [0, line.seconds];
    const palette = paletteOf(cube, line, false);
    const paints: (() => void)[] = [];
    const threads = line.tracks.filter((t) => t.cpu < 0), cpus = line.tracks.filter((t) => t.cpu >= 0);
    const where = h("span", { class: "shown" }), marked = h("div", { class: "axis", "aria-hidden": "true" });
    const axis: Axis = { from: shownFrom, to: shownTo, repaint: () => undefined };
    const written = (): void => {
      where.textContent = axis.to - axis.from > line.seconds * 0.999 ? `all ${seconds(line.seconds)} are shown` : `${timeWords(axis.from, axis.to)} are shown`;
      marked.replaceChildren(...[0, 1, 2, 3, 4].map((i) => h("span", null, seconds(axis.from + ((axis.to - axis.from) * i) / 4))));
    };
    let waiting = 0;
    axis.repaint = () => {
      written();
      if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; for (const p of paints) p(); });
    };
    const showRange = (a: number, b: number): void => {
      const wide = Math.min(line.seconds, Math.max(b - a, line.width * 4));
      const from = Math.max(0, Math.min(line.seconds - wide, (a + b - wide) / 2));
      axis.from = from;
      axis.to = from + wide;
      see({ shown: wide > line.seconds * 0.999 ? "" : `${+from.toFixed(9)},${+axis.to.toFixed(9)}` });
      axis.repaint();
    };
    const range = (): [number, number] | null => {
      if (!state.time) return null;
      const [a, b] = state.time.split(",").map(Number);
      return [a || 0, isNaN(b) ? line.seconds : b];
    };
    const pick = (from: number, to: number): void => {
      const a = Math.max(0, Math.min(from, to)), b = Math.min(line.seconds, Math.max(from, to));
      go({ time: b - a >= line.seconds * 0.999 ? "" : `${+a.toFixed(6)},${+b.toFixed(6)}` });
    };
    // A canvas on the axis: dragging selects, the wheel zooms.
    const chart = (height: number, label: string, draw: Paint, words: (time: number, y: number) => string, click?: (time: number, y: number) => void): { canvas: HTMLCanvasElement; paint: () => void } => {
      let from = -1;
      const { canvas, paint, area } = canvasOf(height, label, axis, (g, a) => {
        draw(g, a);
        const r = range(), px = a.w / (a.to - a.from);
        if (!r) return;
        const [x0, x1] = r.map((t) => (t - a.from) * px);
        g.fillStyle = css("--shade");
        g.fillRect(0, 0, x0, a.h);
        g.fillRect(x1, 0, a.w, a.h);
        g.fillStyle = css("--accent");
        g.fillRect(x0, 0, 1.5, a.h);
        g.fillRect(x1 - 1.5, 0, 1.5, a.h);
      });
      paints.push(() => { if (canvas.isConnected) paint(); });
      const at = (e: MouseEvent): number => {
        const r = canvas.getBoundingClientRect();
        return axis.from + (Math.max(0, Math.min(r.width, e.clientX - r.left)) / r.width) * (axis.to - axis.from);
      };
      const y = (e: MouseEvent): number => e.clientY - canvas.getBoundingClientRect().top;
      canvas.addEventListener("pointerdown", (e) => { from = at(e); canvas.setPointerCapture(e.pointerId); });
      canvas.addEventListener("pointermove", (e) => {
        const s = at(e);
        tip(from >= 0 ? `${timeWords(Math.min(from, s), Math.max(from, s))}: ${seconds(Math.abs(s - from))}` : words(s, y(e)), e.clientX, e.clientY);
        if (from < 0) return;
        paint();
        const a = area(), px = a.w / (a.to - a.from), g = canvas.getContext("2d")!;
        g.fillStyle = css("--select");
        g.fillRect((Math.min(from, s) - a.from) * px, 0, Math.abs(s - from) * px, a.h);
      });
      canvas.addEventListener("pointerup", (e) => {
        const s = at(e), start = from;
        from = -1;
        tip(null);
        if (start >= 0 && Math.abs(s - start) > ((axis.to - axis.from) * 4) / canvas.clientWidth) pick(start, s);
        else if (click) click(s, y(e));
        else if (state.time) go({ time: "" });
      });
      canvas.addEventListener("mouseleave", () => tip(null));
      canvas.addEventListener("wheel", (e) => {
        e.preventDefault();
        const s = at(e), d = axis.to - axis.from;
        if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { showRange(axis.from + (d * e.deltaX) / 1000, axis.to + (d * e.deltaX) / 1000); return; }
        const wide = Math.min(line.seconds, Math.max(line.width * 4, d * 1.002 ** e.deltaY));
        const a = Math.max(0, Math.min(line.seconds - wide, s - ((s - axis.from) / d) * wide));
        showRange(a, a + wide);
      }, { passive: false });
      return { canvas, paint };
    };

    root.append(heading("Over time"));
    const note = cubeNote(c);
    if (note) root.append(note);
    const r = range();
    root.append(h("p", { class: "dim" }, where, ` in bins of ${seconds(line.width)}. Drag to select: it filters all pages. The wheel or w and s zoom, a and d move. `,
      r ? h("button", { type: "button", click: () => showRange(r[0], r[1]) }, "zoom to the selection (z)") : null));

    // hot functions, from the tracks that pass the filter
    const wanted = (t: Track): boolean => (!state.thread || state.thread.split(",").includes(`${t.pid}/${t.tid}`)) && (!state.process || state.process.split(",").includes(String(t.pid)));
    const source = state.cpu ? cpus.filter((t) => state.cpu.split(",").includes(String(t.cpu))) : threads.filter(wanted);
    const slot = new Map(palette.names.map((f, i) => [f.frame, i]));
    const sumUp = (a: Area, columns: number): Float64Array[] => {
      const v = Array.from({ length: columns }, () => new Float64Array(SHOWN + 1)), px = columns / (a.to - a.from);
      for (const t of source) columnsIn(t, { ...a, w: 1e9 }, (_x, _w, i) => {
        const n = t.node[i];
        if (palette.dim && !(n >= 0 && palette.dim[n])) return;
        const x = Math.max(0, Math.floor(((t.bin[i] + 0.5) * t.width - a.from) * px));
        const s = slot.get(cube.functionOf(n)) ?? SHOWN;
        if (x < columns) v[x][s] += t.n[i];
      });
      return v;
    };
    const colours = [...palette.names.map((f) => f.colour), ...Array(SHOWN + 1 - palette.names.length).fill(othersColour())];
    const nameOf = (i: number): string => (i < palette.names.length ? cube.name(palette.names[i].frame) : "others");
    const few = source.reduce((a, t) => a + t.bin.length, 0);
    const count = (a: Area): number => Math.max(20, Math.min(Math.floor(a.w / 3), Math.ceil(few / 6), Math.ceil((a.to - a.from) / line.width)));
    const beside = (label: string, ...what: Node[]): HTMLElement => h("div", { class: "strips" }, h("div", { class: "row" }, h("span", null, label), ...what));
    let drawn: Float64Array[] = []; // what the tip has figures of
    root.append(beside("hot functions", chart(100, `samples over time, by function (${cube.event})`, (g, a) => {
      const v = (drawn = sumUp(a, count(a))), most = Math.max(1, ...v.map((x) => x.reduce((p, q) => p + q, 0)));
      g.fillStyle = css("--soft");
      g.fillRect(0, 0, a.w, a.h);
      v.forEach((x, b) => {
        let y = a.h;
        x.forEach((n, i) => {
          if (!n) return;
          const d = (n / most) * (a.h - 4);
          g.fillStyle = colours[i];
          g.fillRect((b / v.length) * a.w, y - d, a.w / v.length + 0.4, d);
          y -= d;
        });
      });
    }, (time) => {
      const x = drawn[Math.min(drawn.length - 1, Math.floor(((time - axis.from) / (axis.to - axis.from)) * drawn.length))];
      const sum = x.reduce((p, q) => p + q, 0);
      return [`${seconds(time)}: ${group(sum)} samples`, ...[...x].map((n, i) => [nameOf(i), n] as const).filter((k) => k[1]).map(([k, n]) => `${shortName(k)} ${percent(n / sum)}`)].join("\n");
    }).canvas));

    const kinds = new Map<string, number>();
    for (const m of line.marks) kinds.set(m.kind, (kinds.get(m.kind) ?? 0) + m.n);
    const markColour: Record<string, string> = { fork: css("--accent"), thread: css("--dim"), exec: css("--hot"), lost: css("--bad"), throttled: css("--more") };
    const looks = new Map<string, Look>();
    for (const t of threads) for (let i = 0; i < t.reason.length; i++) { const l = palette.looks[t.reason[i]]; looks.set(l.kind, l); }
    root.append(beside("", marked), h("p", { class: "legend" }, ...palette.names.map((f) => swatch(f.colour, shortName(cube.name(f.frame)))), swatch(othersColour(), "other functions"),
      ...[...looks.values()].sort((a, b) => b.high - a.high).map((l) => swatch(l.colour, l.kind === "running" ? "running, no sample" : l.kind)), swatch(css("--soft"), looks.size ? "not there" : "no sample")));
    if (kinds.size) {
      root.append(beside("events", chart(16, "forks, execs and losses over time", (g, a) => {
        g.fillStyle = css("--soft");
        g.fillRect(0, 0, a.w, a.h);
        const px = a.w / (a.to - a.from);
        for (const m of line.marks) {
          g.fillStyle = markColour[m.kind] ?? css("--ink");
          const big = m.kind === "lost" || m.kind === "throttled";
          g.fillRect((m.at - a.from) * px - 1, big ? 0 : m.kind === "exec" ? 8 : 3, big ? 2.5 : 1.5, big ? a.h : a.h - 8);
        }
      }, (time) => {
        const near = ((axis.to - axis.from) / root.clientWidth) * 5;
        return [seconds(time), ...line.marks.filter((m) => Math.abs(m.at - time) < near).slice(0, 8).map((m) => `${m.kind}${m.n > 1 ? ` ${group(m.n)}x` : ""}${m.tid >= 0 ? ` of ${m.tid}` : ""} ${m.name}`)].join("\n");
      }).canvas), h("p", { class: "legend" }, ...[...kinds].map(([k, n]) => swatch(markColour[k] ?? css("--ink"), k === "lost" ? `${group(n)} records lost` : k === "throttled" ? `throttled ${group(n)}x` : `${group(n)} ${k === "thread" ? "new thread" : k}${n > 1 ? "s" : ""}`))));
    }

    const toggle = (list: string, x: string): string => {
      const v = new Set(list ? list.split(",") : []);
      if (!v.delete(x)) v.add(x);
      return [...v].join(",");
    };
    const stacks = (t: Track): HTMLCanvasElement => {
      let boxes: Box[] = [];
      const deep = Math.min(DEEP, t.node.reduce((m, n) => Math.max(m, n >= 0 ? cube.depth[n] + 1 : 0), 1));
      const find = (time: number, y: number): Box | undefined => boxes.find((b) => b.depth === Math.floor(y / BOX) && b.from <= time && time < b.to);
      return chart(deep * BOX, `stacks of ${t.name} ${t.tid} in time order`, (g, a) => {
        boxes = stacksOf(cube, t, a);
        paintStacks(g, cube, boxes, a, ink());
      }, (time, y) => {
        const b = find(time, y);
        return b ? `${cube.name(cube.frame[b.node])}${cube.inlined(cube.frame[b.node]) ? " (inlined)" : ""}\n${cube.frames[cube.frame[b.node]].dso}\n${timeWords(b.from, b.to)}` : seconds(time);
      }, (time, y) => {
        const b = find(time, y), f = b && cube.frames[cube.frame[cube.owner[b.node]]];
        const to = f ? functionLink(c, f.name, f.dso) : null;
        if (to) location.hash = to;
      }).canvas;
    };
    const tracks = (title: string, all: Track[], what: string, filter: "thread" | "cpu", key: (t: Track) => string): void => {
      if (!all.length) return;
      const box = h("div", { class: "strips" });
      const sum = all.reduce((a, t) => a + t.samples, 0) || 1;
      const put = (t: Track): void => {
        const id = `${filter} ${key(t)}`, on = state[filter].split(",").includes(key(t));
        let under: HTMLElement | null = null;
        const fold = filter === "cpu" ? null : h("button", { type: "button", class: "fold", "aria-expanded": "false", "aria-label": safe(`stacks of ${t.name} ${t.tid}`) }, "▸");
        const open = (yes: boolean): void => {
          fold!.textContent = yes ? "▾" : "▸";
          fold!.setAttribute("aria-expanded", String(yes));
          under?.remove();
          if (yes) opened.add(id);
          else opened.delete(id);
          if (yes) row.after((under = h("div", { class: "row" }, h("span", { class: "dim" }, "stacks in time order"), stacks(t))));
        };
        const row = h("div", { class: "row" }, h("span", { class: "who" }, fold,
          h("button", { type: "button", "aria-pressed": String(on), title: safe(`${t.name} ${key(t)}: filter`), click: () => go({ [filter]: toggle(state[filter], key(t)) }) }, safe(t.name), filter === "cpu" ? null : h("span", { class: "dim" }, ` ${t.tid}`),
            h("span", { class: "dim" }, ` ${percent(t.samples / sum)}`))),
          chart(HIGH, `${t.name} ${filter === "cpu" ? "" : t.tid} over time`, (g, a) => paintTrack(g, line, t, a, palette), (time) => said(c, line, t, time)).canvas);
        box.append(row);
        if (fold) fold.addEventListener("click", () => open(!under?.isConnected));
        if (opened.has(id)) open(true);
      };
      const more = h("button", { type: "button", class: "linkish", click: () => {
        if (!opened.delete(title)) opened.add(title);
        fill();
      } });
      const fill = (): void => {
        const many = opened.has(title), first = all.slice(0, many ? MOST : FIRST);
        const picked = all.slice(first.length).filter((t) => state[filter].split(",").includes(key(t)));
        box.replaceChildren();
        for (const t of [...first, ...picked]) put(t);
        more.hidden = all.length <= FIRST;
        more.setAttribute("aria-expanded", String(many));
        more.textContent = many ? `only the first ${FIRST}${all.length > MOST ? ` (${MOST} of ${group(all.length)} are shown)` : ""}` : `(${group(all.length - first.length - picked.length)} more ${what})`;
      };
      fill();
      root.append(h("h3", null, title), box, more);
    };
    tracks("threads", threads, "threads", "thread", (t) => `${t.pid}/${t.tid}`);
    tracks("CPUs", cpus, "CPUs", "cpu", (t) => String(t.cpu));
    written();
    keysOf = (key) => {
      const w = axis.to - axis.from, middle = (axis.from + axis.to) / 2, sel = range();
      switch (key) {
        case "w": showRange(middle - w / 4, middle + w / 4); return true;
        case "s": showRange(middle - w, middle + w); return true;
        case "a": showRange(axis.from - w / 4, axis.to - w / 4); return true;
        case "d": showRange(axis.from + w / 4, axis.to + w / 4); return true;
        case "z": if (sel) showRange(sel[0], sel[1]); return true;
      }
      return false;
    };
  },
  keys: (key) => keysOf?.(key) ?? false,
};
