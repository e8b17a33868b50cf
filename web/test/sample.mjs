// SPDX-License-Identifier: BSD-3-Clause
// sample - pages with invented data in the form of src/report/page/FORMAT.md, for tests of the script
// alone. Names from outside are hostile.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const HOSTILE = '<script>window.broken=1</script><img src=x onerror="window.broken=1">';

class Strings {
  list = []; at = new Map();
  of(s) {
    if (s === null || s === undefined) return null;
    if (!this.at.has(s)) { this.at.set(s, this.list.length); this.list.push(s); }
    return this.at.get(s);
  }
}
let seed = 7;
const random = () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 4294967296);

// columns: "key kind flags head" ; rows of plain values; {v, e, why} where a column has an error or why
function table(S, name, columns, rows, more = {}) {
  const cols = [];
  const spec = columns.map((c) => {
    const [key, kind, flags = "", head = key] = c.split(" ");
    const f = flags ? flags.split(",") : [];
    cols.push({ key, kind, head: head.replace(/_/g, " "), unit: null, means: `what ${key} means`, flags: f });
    if (f.includes("error")) cols.push({ key: `${key}_error`, kind: "error", of: key });
    if (f.includes("why")) cols.push({ key: `${key}_why`, kind: "why", of: key });
    return { kind, f };
  });
  const put = (kind, v) => (v === null || v === undefined ? null : kind === "text" ? S.of(v) : kind === "list" ? v.map((x) => S.of(x)) : v);
  return {
    name, title: null, main: false, one: false, data: false, people: 0, rest: null, ...more, columns: cols,
    rows: rows.map((r) => r.flatMap((x, i) => {
      const { kind, f } = spec[i];
      const o = x !== null && typeof x === "object" && !Array.isArray(x) ? x : { v: x };
      const out = [put(kind, o.v)];
      if (f.includes("error")) out.push(o.e ?? null);
      if (f.includes("why")) out.push(S.of(o.why ?? null));
      return out;
    })),
  };
}
function doc(S, view, schema, tables, more = {}) {
  return {
    view, schema, titles: (more.titles ?? []).map(([l, t, b]) => [S.of(l), S.of(t), !!b]), facts: (more.facts ?? []).map(([l, t, b]) => [S.of(l), S.of(t), !!b]),
    notes: (more.notes ?? []).map((n) => S.of(n)), next: (more.next ?? []).map((n) => n.map((x) => S.of(x))), tables,
  };
}

const TREE = [["retiring", null, 0.186], ["frontend", null, 0.061], ["bad_speculation", null, 0.079], ["backend", null, 0.674],
  ["backend.memory", "backend", 0.58], ["backend.core", "backend", 0.094], ["backend.memory.dram_latency", "backend.memory", 0.417],
  ["backend.memory.l3_latency", "backend.memory", 0.098], ["backend.memory.other", "backend.memory", 0.065], ["backend.core.divider", "backend.core", null]];
const NAMES = ["hash_probe", "memcpy_evex_unaligned", "parse_row", "main", "qsort_r", "read_block", "std::vector<int, std::allocator<int> >::push_back(int&&)", "page_fault", HOSTILE, "emit"];

export function samplePage({ functions = 60, threads = 6, cpus = 4, bins = 120, chains = 400, cells = 4000, time = true, lbr = true, account = true, tree = true, diff = false, cube = true, instructions = 160, findings = false, comms = 1, events = 1, waits = false } = {}) {
  seed = 7;
  const S = new Strings();
  const name = (i) => NAMES[i] ?? `function_${i}`;
  const dso = (i) => (i === 7 ? "[kernel.kallsyms]" : i % 3 ? "join" : "libc.so.6");
  const documents = [];
  documents.push(doc(S, "summary", "cyclade.info/2", [table(S, "recording", ["command list", "cpu text", "seconds seconds"], [[["./join", HOSTILE], "AMD EPYC 9354", 3.21]], { one: true, title: S.of("recording") }),
    table(S, "losses", ["lost count loss"], [[12]], { one: true })], {
    titles: [[null, "./join orders.tbl", true]],
    facts: [["cpu", "AMD EPYC 9354 (zen4), model zen4, revision 7"], ["time", "3.21 s wall, 3.18 s cpu, IPC 0.71 +-0.02"], ["samples", "12,712 of cycles"], ["losses", "12 samples lost", true],
      ["multiplexing", "4 counter groups shared the PMU (24-26 % each); shares are good to +-1.3"], ["symbols", "libfoo.so is stripped: 3.1 % of samples have no name", true]],
    notes: ["call chains: 4.9 % are broken (no frame pointers)"],
  }));
  if (findings) documents.unshift(doc(S, "findings", "cyclade.findings/1", [
    table(S, "headline", ["text text", "share share error", "function text", "dso text"], [["62.3 % of the time is in hash_probe, called from main.", { v: 0.623, e: 0.004 }, "hash_probe", "join"]], { one: true }),
    table(S, "rows", ["rank id", "kind text", "share share error", ...["statement", "function", "dso", "source", "thread", "object", "command", "page"].map((k) => `${k} text`)], [
      [1, "hot_function", { v: 0.623, e: 0.004 }, "62.3 % of the time is in hash_probe.", "hash_probe", "libc.so.6", "/home/me/join/join.c:214", null, null, "cyclade annotate hash_probe", "code"],
      [2, "memory", { v: 0.2, e: 0.01 }, "20 % of loads wait for memory.", null, null, null, null, null, "cyclade mem", "memory"],
      [3, "lock", { v: 0.1, e: 0.02 }, `threads wait for ${HOSTILE}.`, HOSTILE, "join", null, null, HOSTILE, `cyclade report --wait ${HOSTILE}`, "time"]], { main: true })]));
  if (tree) documents.push(doc(S, "tree", "cyclade.tree/2", [table(S, "nodes", ["node text key,flex", "parent text data", "level id", "value share heat,error,why share", "unit text", "counted share sparse", "over flag data", "path flag sparse <==", "formula text data", "file text data", "line id data"],
    TREE.map(([n, p, v]) => [n, p, n.split(".").length, v === null ? { v: null, why: "its event was not counted: ex_div_busy is not in this recording" } : { v, e: n.endsWith("other") ? 0.08 : 0.013 }, "slots", 0.25, v > 0.2, v > 0.4, `(${n} = a / b = ${v})`, "zen4.tree", 12]), { main: true })],
  { next: [["cyclade explain dram_latency", "what it means and what usually helps"]] }));
  const shares = Array.from({ length: functions }, (_, i) => 1 / (i + 1.5));
  const sum = shares.reduce((a, b) => a + b, 0);
  // each function once for each event and each program that ran it
  const many = comms > 1 || events > 1;
  const names = ["cycles", "instructions"].slice(0, events);
  documents.push(doc(S, "functions", "cyclade.report/5", [table(S, "rows", [...(many ? ["event text key"] : []), "samples count", "period count data", "share share error,heat", ...(many ? ["comm text key"] : []), "dso text key,flex of", "function text key,flex"],
    names.flatMap((event) => shares.flatMap((s, i) => Array.from({ length: comms }, (_, k) => [...(many ? [event] : []), Math.round((s / sum / comms) * 12712), Math.round((s / sum / comms) * 12712) * 1e6, { v: s / sum / comms, e: 0.004 }, ...(many ? [`program-${k}`] : []), dso(i), name(i)]))), { main: true, people: 12, rest: "function" })],
  { facts: [["no symbol", "3.1 % of samples"]], next: [["cyclade annotate hash_probe", "which loads, on which source lines"]] }));
  if (account) {
    const leaf = ["cycles", "unstalled", "stalled", "load_latency", "dram", "l3", "branch_mispred", "uops_issued"];
    const parent = [null, "cycles", "cycles", "stalled", "load_latency", "load_latency", "stalled", "branch_mispred"];
    documents.push(doc(S, "account", "cyclade.account/4", [
      table(S, "nodes", ["node text key", "path text", "parent text", "depth id", "unit text", "formula text", "value amount error,why", "share share error", "samples count", "overlap flag", "disagrees flag"],
        leaf.map((n, i) => [n, n, parent[i], i ? (i < 3 ? 1 : 2) : 0, n === "uops_issued" ? "uops" : "cycles", `${n} x penalty`, { v: 1e9 / (i + 1), e: 1e7 }, { v: 1 / (i + 1), e: 0.01 }, 1000 >> i, n === "branch_mispred", false]), { data: true }),
      table(S, "rows", ["dso text key of", "function text key", ...leaf.map((n) => `${n} amount error,why`)],
        shares.slice(0, 40).map((s, i) => [dso(i), name(i), ...leaf.map((_, k) => (k === 6 && i > 20 ? { v: null, why: "too few samples" } : { v: k === 7 ? s * 1e11 : (s * 1e9) / (1 + ((k * 7 + i * 3) % 9)), e: 1e6 }))]), { main: true, data: true })]));
  }
  if (lbr) {
    documents.push(doc(S, "calls", "cyclade.calls/2", [table(S, "edges", ["calls amount error,sparse", "share share heat", "mispredicted_share share  mispred", "caller_dso text key,data of", "caller text key,data", "callee_dso text key,data of", "callee text key,data"],
      Array.from({ length: 30 }, (_, i) => [{ v: 1e6 / (i + 1), e: 1e3 }, 0.3 / (i + 1), 0.01 * i, dso(i), name(i), dso(i + 1), name(i + 1)]), { main: true })]));
    documents.push(doc(S, "blocks", "cyclade.blocks/2", [table(S, "blocks", ["share share heat", "runs amount error,why", "insns count", "dso text key of", "function text key", "address address key", "line id"],
      Array.from({ length: 50 }, (_, i) => [0.2 / (i + 1), { v: 1e6 / (i + 1), e: null, why: "no stack shows it" }, 5 + i, "join", "hash_probe", `0x${(4096 + i * 16).toString(16)}`, 200 + i]), { main: true })]));
    documents.push(doc(S, "mem", "cyclade.memory/1", [table(S, "sources", ["source text key", "loads count", "latency real error"], [["L1", 9000, { v: 4, e: 0.1 }], ["L3", 700, { v: 52, e: 3 }], ["DRAM", 310, { v: 290, e: 20 }]])]));
    documents.push(doc(S, "waiting", "cyclade.waiting/1", [table(S, "waits", ["what text key", "seconds seconds"], [["futex", 0.31], [HOSTILE, 0.02]])]));
  }
  documents.push(doc(S, "callees", "cyclade.report/5", [table(S, "rows", ["id id", "parent id", "share share heat,error", "function text key", "dso text key of"],
    [[1, null, 1, "main", "join"], [2, 1, 0.7, "hash_probe", "join"], [3, 2, 0.2, "memcpy_evex_unaligned", "libc.so.6"], [4, 1, 0.3, "parse_row", "join"]].map((r) => [r[0], r[1], { v: r[2], e: 0.01 }, r[3], r[4]]), { main: true })]));
  if (waits) documents.push(doc(S, "wait", "cyclade.wait/2", [
    table(S, "summary", ["thread_count count", "seconds seconds", "running_seconds seconds", "runnable_seconds seconds", "blocked_seconds seconds", "unknown_seconds seconds"], [[2, 8, 2, 4, 2, 0]], { one: true, data: true }),
    table(S, "threads", ["seconds seconds", "running_seconds seconds", "reason text", "object text", "tid id key", "comm text key"], [[4, 1.9, "preempted", null, 100, "main"], [4, 0.1, "lock", HOSTILE, 101, "worker"]], { main: true }),
    table(S, "reasons", ["seconds seconds", "reason text key", "state text", "means text"], [[2, "running", "running", "on a CPU"], [4, "preempted", "runnable", "no CPU"], [2, "lock", "blocked", "a mutex"]]),
    table(S, "objects", ["seconds seconds", "reason text key", "object text key", "caller text key"], [[1.5, "lock", HOSTILE, "parse_row"], [0.25, "lock", null, null]])], { facts: [["time", "8.00 s of 2 threads"]] }));
  if (diff) documents.unshift(doc(S, "diff", "cyclade.diff/1", [table(S, "functions", ["dso text key of", "function text key", "base share error", "new share error", "change share error", "verdict text"],
    shares.slice(0, 20).map((s, i) => ["join", name(i), { v: s / sum, e: 0.01 }, { v: (s / sum) * (i === 0 ? 0.6 : 1.01), e: 0.01 }, { v: i === 0 ? -0.4 : 0.01, e: 0.02 }, i === 0 ? "less" : "noise"]), { main: true, title: S.of("functions") })], { facts: [["what moved", "hash_probe"]] }));

  let theCube = null;
  if (cube) {
    const frames = Array.from({ length: functions }, (_, i) => [S.of(name(i)), S.of(dso(i)), i % 9 === 7]); // some are inlined
    const nodes = [[-1, 3 % functions]];
    for (let i = 1; i < chains; i++) nodes.push([Math.floor(Math.pow(random(), 2) * i), Math.floor(Math.pow(random(), 2) * functions)]);
    const seen = new Map();
    for (let i = 0; i < cells; i++) {
      const c = [Math.floor(Math.pow(random(), 1.5) * chains), Math.floor(random() * threads), Math.floor(random() * cpus), time ? Math.floor(random() * bins) : 0];
      const key = c.join();
      const old = seen.get(key);
      if (old) { old[4]++; old[5] += 1e6; } else seen.set(key, [...c, 1, 1e6]);
    }
    const list = [...seen.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3]);
    theCube = { event: S.of("cycles"), unit: S.of("cycles"), from: 1e12, width: time ? 26750000 : 0, bins: time ? bins : 1, samples: cells, period: cells * 1e6, folded: 17, frames,
      threads: Array.from({ length: threads }, (_, i) => [100, 100 + i, S.of(i === 1 ? HOSTILE : `worker-${i}`)]), cpus: Array.from({ length: cpus }, (_, i) => i), nodes, cells: list };
  }
  let timeline = null;
  if (cube && time) { // moments of threads, then of CPUs; the first thread waits for a lock, then for a CPU
    const tracks = [], moments = [], spans = [[0, Math.floor(bins / 4), 1], [Math.floor(bins / 4), Math.floor(bins / 2), 0], [Math.floor(bins * 3 / 4), Math.floor(bins / 4), 2]];
    for (const [member, count] of [[1, threads], [2, cpus]]) for (let k = 0; k < count; k++) {
      const best = new Map();
      for (const c of theCube.cells) if (c[member] === k) { const o = best.get(c[3]); best.set(c[3], o ? [c[4] > o[2] ? c[0] : o[0], o[1] + c[4], Math.max(o[2], c[4])] : [c[0], c[4], c[4]]); }
      const list = [...best].sort((a, b) => a[0] - b[0]);
      for (const [bin, [node, n]] of list) moments.push([bin, node, n]);
      tracks.push([member === 1 ? 100 : -1, member === 1 ? 100 + k : -1, member === 1 ? -1 : k, member === 1 ? theCube.threads[k][2] : null, list.reduce((a, x) => a + x[1][1], 0), 0, list.length, 0, member === 1 && k === 0 ? spans.length : 0]);
    }
    timeline = { from: 1e12, width: 26750000, bins, reasons: [["running", "running", "on a CPU"], ["lock", "blocked", "a mutex"], ["wake-up", "runnable", HOSTILE]].map((r) => r.map((x) => S.of(x))), tracks, moments, spans,
      marks: [[0, S.of("fork"), 100, 101, 1, null], [3, S.of("exec"), 100, 101, 1, S.of(HOSTILE)], [Math.floor(bins / 2), S.of("lost"), -1, -1, 12, null]] };
  }
  // time of the same threads: "main" and "parse_row" on the CPU and off it; it begins 2 bins before the samples
  let wall = null;
  if (cube && time) {
    const frames = [["worker", null, "thread"], ["main", "join", null], ["parse_row", "join", null], ["lock", null, "blocked"], ["wake-up", null, "runnable"], [HOSTILE, null, "thread"], ["unknown", null, "unknown"]];
    const nodes = [[-1, 0], [0, 1], [1, 2], [2, 3], [2, 4], [-1, 5], [5, 1], [6, 6]];
    const list = [1, 2, 3, 4, 6, 7].flatMap((node) => Array.from({ length: 20 }, (_, i) => [node, node > 5 ? 1 : i % threads === 1 ? 0 : i % threads, -1, (i * 6 + node) % bins, node < 3 || node === 6 ? 2 : 0, 1e6 * node * (i + 1)]));
    wall = { event: S.of("cycles"), unit: S.of("ns"), from: 1e12 - 2 * 26750000, width: 26750000, bins, samples: 120, period: list.reduce((a, c) => a + c[5], 0), folded: 0,
      frames: frames.map((f) => f.map((x) => S.of(x))), threads: Array.from({ length: threads + 1 }, (_, i) => [100, 100 + i, S.of(i === 1 ? HOSTILE : `worker-${i}`)]), cpus: [], nodes, cells: list };
  }
  // base and new of a diff: hash_probe is slower, emit is gone, all else is noise; one of the functions has a hostile name
  let flames = [];
  if (diff) {
    const rows = shares.slice(0, 12).map((s, i) => ({ i, base: s * 1e9, new: i === 0 ? s * 1.3e9 : i === 9 ? 0 : s * 1.001e9, verdict: i === 0 ? "moved" : i === 9 ? "gone" : "noise" }));
    flames = [{ event: S.of("cycles"), unit: S.of("cycles"), base_name: S.of("old.data"), new_name: S.of(HOSTILE), base_runs: 5, new_runs: 5, level: 0.005, compared: 12, changed: 2, folded: 5,
      total: [[4e9, 1e7, 4.1e9, 1e7, 1e8, 2e7, "moved", 9e7, 1.5e7]],
      items: rows.map((r) => [S.of(name(r.i)), S.of(dso(r.i)), r.verdict, r.verdict !== "noise", r.base, 1e6, r.new, 1e6, r.new - r.base, 1.4e6, r.new / r.base - 1, 0.01, r.i === 1 ? S.of("chance 1 in 30; 12 figures together take 1 in 3,400") : null]),
      frames: [[S.of("start"), S.of("join"), -1], ...rows.map((r) => [S.of(name(r.i)), S.of(dso(r.i)), r.i])],
      nodes: [[-1, 0, 0, 0, 0], ...rows.map((r) => [0, r.i + 1, r.base, r.new, 1e6]), [1, -1, 3, 2, null]] }];
  }
  const asm = Array.from({ length: instructions }, (_, i) => {
    const flow = i % 12 === 11 ? "branch" : i % 17 === 16 ? "call" : "other";
    const target = flow === "branch" ? `0x${(4096 + 4 * Math.max(0, i - (i % 24 === 11 ? 8 : -30))).toString(16)}` : null;
    return { i, address: `0x${(4096 + 4 * i).toString(16)}`, line: 200 + Math.floor(i / 4) % 40, file: i % 40 > 33 ? "/usr/include/c++/12/bits/stl_vector.h" : "/home/me/join/join.c", flow, target, share: i % 9 === 0 ? 1 / instructions : 0, block: Math.floor(i / 12) };
  });
  const fnDoc = (f) => doc(S, "function", "cyclade.annotate/3", [
    table(S, "summary", ["function text", "dso text", "address address", "size bytes", "event text", "samples count", "share share"], [[name(f), dso(f), "0x1000", instructions * 4, "cycles", 7920, 0.623]], { one: true, data: true }),
    table(S, "lines", ["share share heat", "samples count", "period count data", "file text key,data", "line id key,data", "source text data"],
      Array.from({ length: 40 }, (_, i) => [0.3 / (i + 1), 900 >> (i % 8), 1e6, i % 5 ? "/home/me/join/join.c" : "/usr/include/c++/12/bits/stl_vector.h", 200 + i, i === 3 ? `\tif (x < ${HOSTILE})` : `\tfor (i = 0; i < ${i}; i++) h = h * 31 + key[i];`])),
    table(S, "instructions", ["share share heat", "samples count", "period count data", "block id data", "runs amount data,error,why", "dram amount data", "address address key", "file text data", "line id data", "instruction text flex", "flow text data", "target address data"],
      asm.map((a) => [a.share, a.share ? 12 : 0, 1e6, a.block, { v: 1e5 / (a.block + 1), e: 100 }, a.share * 1e9, a.address, a.file, a.line, a.flow === "branch" ? `jne    ${a.target}` : a.flow === "call" ? "call   0x1100 <memcpy@plt>" : `mov    0x${a.i.toString(16)}(%rax,%rcx,8),%rdx`, a.flow, a.target]), { main: true }),
    table(S, "source", ["file text key", "line id key", "source text"], [...Array.from({ length: 90 }, (_, i) => ["/home/me/join/join.c", 180 + i, `\tline ${180 + i};`]), ...Array.from({ length: 20 }, (_, i) => ["/usr/include/c++/12/bits/stl_vector.h", 195 + i, `\tvector ${i}`])], { data: true }),
    table(S, "inlined", ["address address key", "level id key", "function text", "file text", "line id"], asm.filter((a) => a.file !== "/home/me/join/join.c").map((a) => [a.address, 1, "std::vector<int, std::allocator<int> >::operator[]", "/home/me/join/join.c", 201]), { data: true }),
    table(S, "edges", ["address address key", "target address key", "flow text"], asm.filter((a) => a.target).map((a) => [a.address, a.target, a.flow]), { data: true }),
  ]);
  const blocks = 8;
  const graph = lbr ? { width: 300, height: blocks * 80, nodes: Array.from({ length: blocks }, (_, i) => [i, 150, 40 + i * 80, 160, 40, S.of(`0x${(4096 + 48 * i).toString(16)}`), S.of(`${4096 + 48 * i}\n12 instructions, ${i === 2 ? HOSTILE : "runs 10k"}`), i === 2 ? 0.9 : 0.1]),
    edges: [...Array.from({ length: blocks - 1 }, (_, i) => [i, i + 1, i % 2 ? "falls" : "taken", 10 + i, S.of("10k"), `M150,${60 + i * 80}L150,${98 + i * 80}`]), [5, 2, "back", 30, S.of("9k"), "M230,440C290,440 290,200 232,200"]], notes: [S.of("4 cold blocks are not shown")] } : null;
  return {
    format: 2, title: diff ? "join: base and new" : "join orders.tbl", program: "cyclade 0.2.0", source: true, documents, cube: theCube, wall, timeline, flames,
    functions: Array.from({ length: Math.min(3, functions) }, (_, i) => i === 2 ? 8 : i).filter((i) => i < functions).map((i) => ({ function: S.of(name(i)), dso: S.of(dso(i)), document: fnDoc(i), graph })),
    strings: S.list,
  };
}

// Cells of a column in the shortest of the forms of FORMAT.md that can have them.
function cells(v) {
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const some = (word, keep) => {
    const at = v.flatMap((x, i) => (keep(x, i) ? [i] : []));
    return { [word]: at.map((x, i) => x - (at[i - 1] ?? 0)), of: cells(at.map((i) => v[i])) };
  };
  const forms = [v];
  if (v.every((x) => same(x, v[0]))) return { same: v[0] };
  if (v.some((x, i) => i && same(x, v[i - 1]))) forms.push(some("runs", (x, i) => !i || !same(x, v[i - 1])));
  if (v.some((x) => x === null)) forms.push(some("at", (x) => x !== null));
  if (v.every((x) => Number.isSafeInteger(x))) forms.push({ deltas: v.map((x, i) => x - (v[i - 1] ?? 0)) });
  if (v.every((x) => /^0x[0-9a-f]+$/.test(x))) forms.push({ from: v[0], deltas: v.slice(1).map((x, i) => Number(BigInt.asIntN(64, BigInt(x) - BigInt(v[i])))) });
  return forms.reduce((a, b) => (JSON.stringify(b).length < JSON.stringify(a).length ? b : a));
}
// The same page by column.
export function packed(page, seen = new Set()) {
  const rows = (v) => (v.length < 4 ? v : { n: v.length, columns: v[0].map((_, i) => { const c = cells(v.map((r) => r[i])); seen.add(Array.isArray(c) ? "plain" : Object.keys(c)[0]); return c; }) });
  const walk = (x) => {
    if (x === null || typeof x !== "object" || Array.isArray(x)) return Array.isArray(x) ? x.map(walk) : x;
    return Object.fromEntries(Object.entries(x).map(([k, v]) => [k, ["rows", "cells", "nodes", "frames", "threads", "tracks", "moments", "spans", "edges"].includes(k) && Array.isArray(v) && Array.isArray(v[0]) ? rows(v) : walk(v)]));
  };
  return { ...page, ...walk({ ...page, strings: null }), strings: page.strings };
}

// Rows that stand by column, as an array of rows.
export function plainRows(rows) {
  if (Array.isArray(rows)) return rows;
  const cells = (x, n) => {
    if (Array.isArray(x)) return x;
    if ("same" in x) return Array(n).fill(x.same);
    let a = x.from ? BigInt(x.from) : 0;
    if (x.from) return [x.from, ...x.deltas.map((d) => `0x${BigInt.asUintN(64, (a += BigInt(d))).toString(16)}`)];
    if (x.deltas) return x.deltas.map((d) => (a += d));
    const gaps = x.at ?? x.runs, of = cells(x.of, gaps.length), at = gaps.map((g) => (a += g));
    return Array.from({ length: n }, (_, r) => (x.at ? of[at.indexOf(r)] ?? null : of[at.findLastIndex((k) => k <= r)]));
  };
  const columns = rows.columns.map((c) => cells(c, rows.n));
  return Array.from({ length: rows.n }, (_, r) => columns.map((c) => c[r]));
}

export function html(page, dist = new URL("../dist/", import.meta.url)) {
  const js = readFileSync(new URL("page.js", dist), "utf8");
  const css = readFileSync(new URL("page.css", dist), "utf8");
  const hash = (s) => `sha256-${createHash("sha256").update(s).digest("base64")}`;
  const data = JSON.stringify(page).replace(/</g, "\\u003c");
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${hash(js)}'; style-src '${hash(css)}'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>report</title><style>${css}</style></head>
<body><main><h1>report</h1><p>without scripts</p></main>
<script type="application/json" class="cyclade-data">${data}</script>
<script>${js}</script></body></html>
`;
}
