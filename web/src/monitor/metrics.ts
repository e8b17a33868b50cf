// SPDX-License-Identifier: BSD-3-Clause
// metrics - the text that Prometheus reads (0.0.4), and what of it is worth a chart.

export interface Family { name: string; help: string; counter: boolean; }
export interface Sample { family: Family; labels: string; value: number; }
export interface Reading { time: number; interval: number; samples: Sample[]; }

const LINE = /^([a-zA-Z_:][\w:]*)(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

// {cpu="3",socket="0"} as "cpu 3, socket 0": texts from outside, for text nodes.
function words(labels: string | undefined): string {
  const out: string[] = [];
  for (const m of (labels ?? "").matchAll(LABEL)) out.push(`${m[1]} ${m[2].replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c))}`);
  return out.join(", ");
}
export function parse(text: string): Reading {
  const families = new Map<string, Family>();
  const reading: Reading = { time: NaN, interval: NaN, samples: [] };
  const family = (name: string) => {
    let f = families.get(name);
    if (!f) families.set(name, (f = { name, help: "", counter: false }));
    return f;
  };
  for (const line of text.split("\n")) {
    const about = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (about) {
      if (about[1] === "HELP") family(about[2]).help = about[3];
      else family(about[2]).counter = about[3] === "counter";
      continue;
    }
    const m = LINE.exec(line);
    if (!m) continue;
    const value = Number(m[3]);
    if (m[1] === "cyclade_monitor_time_seconds") reading.time = value;
    else if (m[1] === "cyclade_monitor_interval_seconds") reading.interval = value;
    else if (/^cyclade_(host|socket|channel|link|l3|core|cpu|cgroup)_/.test(m[1]) && !m[1].endsWith("_error") && isFinite(value))
      reading.samples.push({ family: family(m[1]), labels: words(m[2]), value });
  }
  return reading;
}

export interface Line { labels: string; t: number[]; v: number[]; last: number; lastTime: number; }
export interface Chart { family: Family; title: string; share: boolean; lines: Map<string, Line>; }
export const POINTS = 120;

function chartOf(f: Family): Chart {
  const seconds = f.counter && /_seconds_total$/.test(f.name);
  const name = f.name.replace(/^cyclade_/, "").replace(/_total$/, "");
  return { family: f, title: seconds ? name.replace(/_seconds$/, "") : f.counter ? `${name}/s` : name,
    share: seconds || /_ratio$/.test(name), lines: new Map() };
}
// Adds a reading; what only grows becomes a rate. False: it is the one that was there before.
export function add(charts: Map<string, Chart>, r: Reading, before: number): boolean {
  if (r.time === before) return false;
  for (const s of r.samples) {
    let chart = charts.get(s.family.name);
    if (!chart) charts.set(s.family.name, (chart = chartOf(s.family)));
    let line = chart.lines.get(s.labels);
    if (!line) chart.lines.set(s.labels, (line = { labels: s.labels, t: [], v: [], last: NaN, lastTime: NaN }));
    let v = s.value;
    if (chart.family.counter) {
      const step = r.time - line.lastTime;
      v = step > 0 && s.value >= line.last ? (s.value - line.last) / step : NaN; // it began anew: no figure
    }
    line.last = s.value;
    line.lastTime = r.time;
    if (r.time < before) line.t.length = line.v.length = 0;
    line.t.push(r.time);
    line.v.push(v);
  }
  for (const chart of charts.values()) for (const [labels, line] of chart.lines) {
    if (line.t[line.t.length - 1] !== r.time) { line.t.push(r.time); line.v.push(NaN); } // not measured in this interval
    if (line.t.length > POINTS) { line.t.shift(); line.v.shift(); }
    if (line.t.length === POINTS && line.v.every(isNaN)) chart.lines.delete(labels);
  }
  return true;
}
