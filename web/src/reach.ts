// SPDX-License-Identifier: BSD-3-Clause
// reach - tables that were summed when the page was written, under the filter: waits are added up anew from the time of all
// threads, memory operations from their cells; rows that are of a thread, a process, a CPU or an event are chosen; what is left of the filter is told.
import { shareError } from "./cube";
import { Table, columnsOf, findTable, rowsOf, type Doc } from "./data";
import { h } from "./dom";
import { seconds } from "./format";
import { state } from "./state";
import type { Context } from "./views/context";
import { OFF, wallState } from "./views/wall";

// What a row of a table of waits is of.
const OF: Record<string, string[]> = { reasons: ["reason"], threads: ["pid", "tid"], thread_reasons: ["pid", "tid", "reason"], processes: ["pid"] };
const STATES = ["running", ...OFF];

function added(c: Context, d: Doc, t: Table): Table {
  const cube = c.wall!, keys = OF[t.name], strings: string[] = [];
  const columns = t.columns.filter((x) => ["share", "seconds", "pid", "tid", "comm", ...(keys.includes("reason") ? ["reason", "state", "means"] : []), ...STATES.map((s) => `${s}_seconds`)].includes(x.key));
  const reasons = findTable(d, "reasons"), means = new Map<string, string>();
  for (let r = 0; reasons && r < reasons.length; r++) means.set(reasons.text(r, reasons.column("reason")), reasons.text(r, reasons.column("means")));
  const sums = new Map<string, { time: number[]; of: Record<string, string | number> }>();
  let all = 0;
  cube.walk(wallState(c), (i) => {
    const f = cube.frame[cube.node[i]], at = f >= 0 ? OFF.indexOf(cube.frames[f].kind) + 1 : 0, th = cube.threads[cube.thread[i]];
    const reason = at ? cube.frames[f].name.slice(1, -1) : STATES[0];
    const of: Record<string, string | number> = { reason, state: STATES[at], means: means.get(reason) ?? "", pid: th?.pid ?? -1, tid: th?.tid ?? -1, comm: th?.name ?? "" };
    const key = keys.map((k) => of[k]).join("/");
    let s = sums.get(key);
    if (!s) sums.set(key, (s = { time: STATES.map(() => 0), of }));
    s.time[at] += cube.period[i] / 1e9;
    all += cube.period[i] / 1e9;
  });
  const sum = (x: { time: number[] }): number => x.time.reduce((a, b) => a + b, 0);
  const rows = [...sums.values()].sort((a, b) => sum(b) - sum(a)).map((x) => columns.map((k) => {
    const at = STATES.indexOf(k.key.replace("_seconds", ""));
    return k.key === "seconds" ? sum(x) : k.key === "share" ? sum(x) / (all || 1) : at >= 0 && k.key !== "state" ? x.time[at] : k.kind === "text" ? strings.push(String(x.of[k.key])) - 1 : x.of[k.key];
  }));
  return new Table(t.name, t.title, t.rest, t.people, false, t.data, columns.map((k) => ({ ...k, flags: [...k.flags].filter((f) => f !== "error" && f !== "why") })), rows, strings, t.main);
}

// What a row of a table of memory operations is of, and where in a class it stands (FORMAT.md).
const CLASS = ["kind", "level", "where", "hit", "tlb", "snoop", "locked", "blocked"];
const ACCESSES: Record<string, string[]> = { sources: CLASS.slice(0, 4), tlb: ["tlb"], snoops: ["snoop"], locks: ["locked"], blocks: ["blocked"] };

function accesses(c: Context, t: Table): Table {
  const raw = c.page.memory!, keys = ACCESSES[t.name], width = raw.width / 1e9;
  const classes = rowsOf(raw.classes), threads = rowsOf(raw.threads) as number[][], [of, thread, cpu, bin, samples, timed, cycles, squares] = columnsOf(raw.cells, 8) as number[][];
  const list = (v: string): Set<string> | null => (v ? new Set(v.split(",")) : null);
  const pids = list(state.process), tids = list(state.thread), cpus = list(state.cpu);
  const mine = threads.map(([pid, tid]) => (!pids || pids.has(String(pid))) && (!tids || tids.has(`${pid}/${tid}`)));
  const [a, b] = state.time && width ? state.time.split(",").map(Number) : [0, NaN];
  const from = Math.floor((a || 0) / width + 1e-6), to = isNaN(b) ? Infinity : Math.ceil(b / width - 1e-6) - 1;
  const sums = new Map<string, { of: unknown[]; n: number; timed: number; cycles: number; squares: number }>();
  let all = 0;
  for (let i = 0; i < of.length; i++) {
    if (!mine[thread[i]] || (cpus && !cpus.has(String(cpu[i]))) || (width && (bin[i] < from || bin[i] > to))) continue;
    const row = keys.map((k) => classes[of[i]][CLASS.indexOf(k)]), key = JSON.stringify(row);
    let s = sums.get(key);
    if (!s) sums.set(key, (s = { of: row, n: 0, timed: 0, cycles: 0, squares: 0 }));
    s.n += samples[i];
    s.timed += timed[i];
    s.cycles += cycles[i];
    s.squares += squares[i];
    all += samples[i];
  }
  const columns = t.columns.filter((x) => ["share", "samples", "timed", "mean", ...keys].includes(x.key));
  const rows = [...sums.values()].sort((x, y) => y.n - x.n).map((s) => {
    const mean = s.timed ? s.cycles / s.timed : null, half = s.timed > 1 ? 1.96 * Math.sqrt(Math.max(0, s.squares - s.cycles * mean!) / (s.timed - 1) / s.timed) : null;
    const cells: Record<string, unknown> = { share: s.n / all, samples: s.n, timed: s.timed, mean };
    keys.forEach((k, i) => { cells[k] = s.of[i]; });
    return [...columns.map((x) => cells[x.key] ?? null), shareError(s.n / all, all), half];
  });
  return new Table(t.name, t.title, t.rest, t.people, false, t.data, [...columns.map((x) => ({ ...x, flags: [...x.flags].filter((f) => f !== "why") })),
    { key: "share_error", kind: "error", of: "share" }, { key: "mean_error", kind: "error", of: "mean" }], rows, t.strings, t.main);
}

export interface Reached { table: Table; summed: boolean; rowFilter?: (row: number) => boolean; note: HTMLElement | null }
export function reached(c: Context, d: Doc | null, t: Table): Reached {
  const summed = d?.view === "wait" && !!c.wall && t.name in OF && ["focus", "hide", "process", "thread", "time"].some((k) => state[k as "time"]);
  const cells = d?.view === "mem" && t.name in ACCESSES && ["process", "thread", "cpu", "time"].some((k) => state[k as "time"]) ? c.page.memory : null;
  if (cells) {
    const coarse = state.time && c.cube && cells.width > c.cube.raw.width ? h("p", { class: "binned" }, `Here time is in bins of ${seconds(cells.width / 1e9)}.`) : null;
    return { table: accesses(c, t), summed: true, note: state.time && !cells.width ? wholeChip(["time"]) : coarse };
  }
  const pid = t.column("pid"), tid = t.column("tid"), cpu = t.column("cpu"), event = t.column("event");
  const tests: ((r: number) => boolean)[] = [], left: string[] = [];
  const within = (list: string, of: (r: number) => string): void => { const want = new Set(list.split(",")); tests.push((r) => want.has(of(r))); };
  if (!summed && state.process) { if (pid && !t.one) within(state.process, (r) => t.text(r, pid)); else left.push("process"); }
  if (!summed && state.thread) { if (pid && tid && !t.one) within(state.thread, (r) => `${t.text(r, pid)}/${t.text(r, tid)}`); else left.push("thread"); }
  if (state.cpu) { if (cpu && !summed && !t.one) within(state.cpu, (r) => t.text(r, cpu)); else left.push("CPU"); }
  if (state.time && !(summed && c.wall!.hasTime)) left.push("time");
  if (state.event && event && t.length && Array.from({ length: t.length }, (_, r) => t.text(r, event)).includes(state.event)) tests.push((r) => t.text(r, event) === state.event);
  return { table: summed ? added(c, d!, t) : t, summed, rowFilter: tests.length ? (r) => tests.every((f) => f(r)) : undefined, note: wholeChip(left) };
}
// Of a table that the filter does not reach.
export function wholeChip(left: string[]): HTMLElement | null {
  const said = `These figures are of the whole recording: the filter on ${left.join(", ")} does not reach them.`;
  return left.length ? h("p", { class: "whole" }, h("span", { class: "chip", title: said }, `whole recording: no filter on ${left.join(", ")}`)) : null;
}
// By a name for each filter that is set, of pictures and texts that none of them reaches; `chains`: those on chains neither.
export function wholeNote(chains = false): HTMLElement | null {
  return wholeChip([chains ? state.focus && "focus" : "", chains ? state.hide && "hide" : "", state.process && "process", state.thread && "thread", state.cpu && "CPU", state.time && "time"].filter(Boolean));
}
