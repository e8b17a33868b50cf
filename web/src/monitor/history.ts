// SPDX-License-Identifier: BSD-3-Clause
// history - the last intervals as the monitor keeps them (/history.json; /last.json has the newest one
// alone), as charts: one for each metric of a kind of place, with a line for each place.

export interface Row { place: string; metric: string; line: string; unit: string; share: boolean; means: string; figures: string[]; }
export interface Reply { host: string; interval: number; left_out: number; intervals: { time: number }[]; lines: Row[]; }
export interface Line { name: string; v: number[]; }
export interface Chart { title: string; unit: string; share: boolean; means: string; lines: Line[]; }
export interface Section { place: string; title: string; charts: Chart[]; legend: string[]; }

const POINTS = 300;
// What every machine has comes first.
const PLACES: [string, string][] = [["cpu", "CPUs"], ["host", "machine"], ["cgroup", "cgroups"], ["core", "cores"], ["kind", "kinds of cores"],
  ["l3", "L3 caches"], ["socket", "sockets"], ["channel", "memory channels"], ["link", "links between sockets"]];
// Metrics of the machine that are read side by side.
const TOGETHER: [RegExp, string][] = [[/^load\d+$/, "load"], [/^memory_/, "memory"], [/^(running|blocked)$/, "tasks"]];

export class History {
  time: number[] = [];
  interval = NaN;
  leftOut = 0;
  private rows = new Map<string, { row: Row; v: number[] }>();

  private static key(r: Row): string { return [r.place, r.metric, r.line].join("\n"); }
  last(): number { return this.time[this.time.length - 1] ?? NaN; }
  whole(r: Reply): void {
    this.rows.clear();
    this.time = r.intervals.map((i) => i.time);
    for (const row of r.lines) this.rows.set(History.key(row), { row, v: row.figures.map((f) => (f === "" ? NaN : Number(f))) });
    this.about(r);
  }
  // Adds the newest interval. False: it is the one that was there, or intervals between are missing.
  add(r: Reply): boolean {
    const now = r.intervals[r.intervals.length - 1]?.time ?? NaN, step = now - this.last();
    if (!(step > 0) || step > 1.7 * Math.max(r.interval, this.interval)) return false;
    this.time.push(now);
    const n = this.time.length;
    for (const row of r.lines) {
      const id = History.key(row);
      let at = this.rows.get(id);
      if (!at) this.rows.set(id, (at = { row, v: new Array<number>(n - 1).fill(NaN) }));
      const f = row.figures[row.figures.length - 1] ?? "";
      at.v.push(f === "" ? NaN : Number(f));
    }
    for (const [id, at] of this.rows) {
      if (at.v.length < n) at.v.push(NaN); // not measured in this interval
      if (n > POINTS) at.v.shift();
      if (at.v.every(isNaN)) this.rows.delete(id);
    }
    if (n > POINTS) this.time.shift();
    this.about(r);
    return true;
  }
  private about(r: Reply): void { this.interval = r.interval; this.leftOut = r.left_out; }
  sections(): Section[] {
    const out: Section[] = [];
    for (const [place, title] of PLACES) {
      const s: Section = { place, title, charts: [], legend: [] };
      for (const { row, v } of this.rows.values()) {
        if (row.place !== place || v.every(isNaN)) continue;
        const together = place === "host" ? TOGETHER.find(([re]) => re.test(row.metric))?.[1] : undefined;
        const name = together ?? row.metric;
        let chart = s.charts.find((c) => c.title === name);
        if (!chart) s.charts.push((chart = { title: name, unit: row.unit, share: row.share, means: row.means, lines: [] }));
        chart.lines.push({ name: together ? row.metric.replace(`${together}_`, "") : row.line || row.metric, v });
        if (place !== "host" && !s.legend.includes(row.line)) s.legend.push(row.line);
      }
      if (s.charts.length) out.push(s);
    }
    return out;
  }
}
