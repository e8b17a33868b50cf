// SPDX-License-Identifier: BSD-3-Clause
// format - values as people read them: "62.3 %", "12,712", "11.90 G", "3.21 s". The same words as
// the terminal's (src/base/num.h).
import type { Column, Kind, Table, Value } from "./data";

export function group(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
function scaled(v: number, unit: string, steps: string[]): string {
  let k = -1;
  let x = Math.abs(v);
  while (x >= 999.5 && k + 1 < steps.length) { x /= 1000; k++; }
  const digits = x >= 99.95 ? 1 : 2;
  const sign = v < 0 ? "-" : "";
  return k < 0 ? `${sign}${Number(x.toFixed(2))}${unit}` : `${sign}${x.toFixed(digits)} ${steps[k]}${unit}`;
}
export function amount(v: number): string {
  return Math.abs(v) < 100000 ? (Number.isInteger(v) ? (v < 0 ? "-" : "") + group(Math.abs(v)) : String(Number(v.toPrecision(4))))
    : scaled(v, "", ["k", "M", "G", "T", "P"]);
}
export function bytes(v: number): string {
  return v < 1000 ? `${v} B` : scaled(v, "B", ["k", "M", "G", "T"]);
}
export function seconds(s: number): string {
  if (s >= 60) return `${Math.floor(s / 60)} m ${Math.floor(s % 60)} s`;
  if (s >= 1 || s === 0) return `${s.toFixed(2)} s`;
  if (s >= 1e-3) return `${(s * 1e3).toFixed(1)} ms`;
  if (s >= 1e-6) return `${(s * 1e6).toFixed(0)} us`;
  return `${(s * 1e9).toFixed(0)} ns`;
}
export function percent(f: number): string {
  return isNaN(f) ? "?" : `${(f * 100).toFixed(1)} %`;
}
export function baseName(path: string): string { return path.replace(/.*\//, "") || path; }
export function isText(k: Kind): boolean { return k === "text" || k === "list"; }

export function show(kind: Kind, v: Value): string {
  if (v === null) return "-";
  if (Array.isArray(v)) return v.join(" ");
  switch (kind) {
    case "text": case "list": case "address": return String(v);
    case "flag": return v ? "yes" : "no";
    case "id": return String(v);
    case "count": return group(v as number);
    case "signed": return (v as number) < 0 ? `-${group(-(v as number))}` : group(v as number);
    case "bytes": return bytes(v as number);
    case "share": return percent(v as number);
    case "seconds": return seconds(v as number);
    case "real": return String(Number((v as number).toPrecision(4)));
    default: return amount(v as number);
  }
}
// "+-1.3": of a share in points, of an amount in % of it, else in its own unit.
export function showError(kind: Kind, v: Value, half: number): string {
  if (isNaN(half) || typeof v !== "number") return "";
  if (kind === "share") return `±${(half * 100).toFixed(1)}`;
  if (kind === "amount" && v) return `±${((half / Math.abs(v)) * 100).toFixed(1)} %`;
  if (kind === "seconds" || kind === "amount") return `±${show(kind, half)}`;
  return `±${half < 100 ? Number(half.toPrecision(2)) : group(half)}`;
}
export function cell(t: Table, row: number, c: Column): string {
  return show(t.kindOf(row, c), t.value(row, c));
}

// ---- tables as text -----------------------------------------------------------------------------

function fields(t: Table): { key: string; get: (row: number) => Value }[] {
  const out: { key: string; get: (row: number) => Value }[] = [];
  for (const c of t.columns) {
    out.push({ key: c.key, get: (r) => t.value(r, c) });
    if (c.error >= 0) out.push({ key: `${c.key}_error`, get: (r) => (isNaN(t.error(r, c)) ? null : t.error(r, c)) });
    if (c.why >= 0) out.push({ key: `${c.key}_why`, get: (r) => t.why(r, c) || null });
  }
  return out;
}
export function toJson(t: Table, rows: ArrayLike<number>): string {
  const f = fields(t);
  const lines = Array.from(rows, (r) => "  " + JSON.stringify(Object.fromEntries(f.map((x) => [x.key, x.get(r)]))));
  return `[\n${lines.join(",\n")}\n]\n`;
}
export function toCsv(t: Table, rows: ArrayLike<number>): string {
  const f = fields(t);
  const quote = (v: Value): string => {
    const s = v === null ? "" : Array.isArray(v) ? v.join(" ") : typeof v === "boolean" ? (v ? "1" : "0") : String(v);
    return /[",\n\r]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
  };
  return [f.map((x) => x.key).join(","), ...Array.from(rows, (r) => f.map((x) => quote(x.get(r))).join(","))].join("\n") + "\n";
}
export function toMarkdown(t: Table, rows: ArrayLike<number>, columns: Column[]): string {
  const clean = (s: string): string => s.replace(/[\\`*_|<>[\]]/g, "\\$&").replace(/[\n\r]/g, " ");
  const line = (v: string[]): string => `| ${v.join(" | ")} |`;
  return [
    line(columns.map((c) => clean(c.head))),
    line(columns.map((c) => (isText(c.kind) ? "---" : "---:"))),
    ...Array.from(rows, (r) => line(columns.map((c) =>
      clean(`${cell(t, r, c)} ${showError(t.kindOf(r, c), t.value(r, c), t.error(r, c))}`.trim())))),
  ].join("\n") + "\n";
}
