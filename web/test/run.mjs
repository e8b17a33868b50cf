// SPDX-License-Identifier: BSD-3-Clause
// run - the page's script in a real browser: views, keys, hash and Back, filters, security policy,
// accessibility, speed. TAP. By invented data; of pages given as arguments views and accessibility
// (with --own both).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";
import { HOSTILE, html, packed, plainRows, samplePage } from "./sample.mjs";

const browser = await launch();
const dir = mkdtempSync(join(tmpdir(), "cyclade-web-"));
let n = 0, failed = 0;
function ok(fine, what, more = "") {
  n++;
  if (!fine) failed++;
  console.log(`${fine ? "ok" : "not ok"} ${n} - ${what}${fine || !more ? "" : `\n# ${String(more).slice(0, 1500).replace(/\n/g, "\n# ")}`}`);
}
const axe = (() => {
  try { return readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8"); } catch { return null; }
})();

const SIZE = { width: 1280, height: 800 };
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: SIZE, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (e) => page.faults.push(`error ${e.stack ?? e}`));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && page.faults.push(`${m.type()} ${m.text()}`));
  page.on("request", (r) => r.url() !== page.at && page.faults.push(`request ${r.url().slice(0, 200)}`));
  page.at = file;
  await page.goto(file);
  return page;
}
function put(name, data) {
  writeFileSync(join(dir, name), html(data));
  return pathToFileURL(join(dir, name)).href;
}
const hash = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const views = (page) => page.$$eval("nav a", (a) => a.map((x) => x.textContent.replace(/^\d/, "")));
const show = async (page, view) => {
  await page.evaluate((v) => { const p = new URLSearchParams(location.hash.slice(1)); p.set("view", v); p.delete("sort"); p.delete("search"); location.hash = p.toString(); }, view);
  await page.waitForFunction((v) => document.querySelector("main").dataset.view === v, view);
};
const reset = async (page) => { await page.evaluate(() => { location.hash = "view=summary"; }); await page.waitForFunction(() => location.hash === "#view=summary" && document.querySelector("main").dataset.view === "summary"); };

// Each view in a narrow window and in a wide one, and there as axe-core finds it if `look`.
async function everyView(name, page, look) {
  const all = await views(page);
  const draw = async (i) => {
    await page.$$eval("nav a", (a, k) => a[k].click(), i);
    await page.waitForFunction((k) => document.querySelectorAll("nav a")[k].getAttribute("aria-current") === "page", i);
    return page.evaluate(() => [!!document.querySelector("main h2, main h3, main table"), document.documentElement.scrollWidth - document.documentElement.clientWidth]);
  };
  const empty = [], wide = [], found = [];
  await page.setViewportSize({ width: 400, height: 800 });
  for (let i = 0; i < all.length; i++) {
    const [, over] = await draw(i);
    if (over > 1) wide.push(`${all[i]} ${over}`);
  }
  await page.setViewportSize(SIZE);
  if (look && axe) await page.evaluate(axe);
  for (let i = 0; i < all.length; i++) {
    const [there, over] = await draw(i);
    if (!there) empty.push(all[i]);
    if (over > 1) empty.push(`${all[i]} is ${over} px too wide`);
    if (look && axe) found.push(...await accessible(page, i === 0));
  }
  if (look && axe) {
    await page.emulateMedia({ colorScheme: "dark" });
    for (let i = all.length - 1; i >= 0; i--) { // the last one is drawn
      await draw(i);
      found.push(...await accessible(page, i === 0, ["color-contrast"]));
    }
    await page.emulateMedia({ colorScheme: "light" });
  }
  ok(all.length > 0 && !empty.length, `${name}: ${all.length} views are drawn: ${all.join(" ")}`, empty);
  ok(!page.faults.length, `${name}: no console error, no request`, page.faults.join("\n"));
  ok(!(await page.evaluate(() => window.broken)), `${name}: no name ran as a script`);
  ok(!wide.length, `${name}: 400 px are wide enough`, wide);
  if (look && !axe) ok(true, `${name}: accessibility # SKIP no axe-core`);
  else if (look) ok(!found.length, `${name}: axe-core has no serious issue, light and dark`, found.join("\n"));
}

// What axe-core finds in the view that is shown. What is around the views, the same for all of them, is looked at if `whole`.
// What a table repeats is looked at in its first rows and columns; where all tables of the page stand once more, made alike, in two.
const accessible = (page, whole, only) => page.evaluate(async ([whole, only]) => {
  const main = document.querySelector("main"), scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const raw = main.dataset.view === "raw", [rows, columns] = raw ? [3, 5] : [9, 13];
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (raw) [...main.querySelectorAll("table")].slice(2).forEach((e) => e.remove());
  main.querySelectorAll(`tbody tr:nth-child(n+${rows}), td:nth-child(n+${columns}), th:nth-child(n+${columns})`).forEach((e) => e.remove());
  const { violations } = await window.axe.run(whole ? document : main, { resultTypes: ["violations"], reporter: "no-passes", ...(only ? { runOnly: only } : {}) });
  return violations.filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => `${scheme} ${main.dataset.view}: ${v.id} ${v.nodes.slice(0, 2).map((x) => x.html.slice(0, 150) + " " + (x.any[0]?.message ?? "")).join(" | ")}`);
}, [whole, only]);
// Files one after the other in one page, which takes less than a page for each; some may share a list of them.
async function each(files, look, options) {
  let page;
  for (let next = files.shift(); next; next = files.shift()) {
    const [name, file, how] = next;
    try {
      if (page) {
        page.faults = [];
        page.at = file;
        await page.goto(file);
      } else {
        page = await open(file, options);
      }
      await look(name, page, how);
    } catch (e) {
      ok(false, `${name}: the test itself`, e.stack);
    }
  }
  await page?.context().close();
}

async function keys(file) {
  const page = await open(file, { permissions: ["clipboard-read", "clipboard-write"] });
  const at = () => page.$eval("tr.at", (r) => Number(r.dataset.i));
  const press = (k) => page.keyboard.press(k);
  await show(page, "functions");
  await press("j"); await press("j");
  ok((await at()) === 2, "j goes down");
  await press("k");
  ok((await at()) === 1, "k goes up");
  await press("G");
  ok((await at()) > 10, "G goes to the last row");
  await press("g");
  ok((await at()) === 0, "g goes to the first");
  await press("s");
  const sorted = (await hash(page)).sort;
  ok(!!sorted, "s sorts");
  await press("s");
  ok((await hash(page)).sort !== sorted, "s again sorts by another column");
  await press("S");
  ok((await hash(page)).sort === sorted, "S goes back");
  await press("i");
  ok((await hash(page)).sort !== sorted, "i turns the order around");
  await show(page, "functions");
  await press("Enter");
  ok((await hash(page)).view === "code", "Enter opens the function");
  await press("u");
  ok((await hash(page)).view === "functions", "u goes up");
  await press("?");
  ok(await page.isVisible("dialog"), "? shows help");
  const told = await page.$$eval("dialog kbd", (k) => k.map((x) => x.textContent).join(" "));
  ok(["?", "/", "j k", "h l", "Enter", "u", "1 … 9", "s", "i", "f", "x", "r", "d", "y", "w a s d"].every((k) => told.includes(k)), "help has all keys", told);
  await press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  ok(true, "Escape closes it");
  await press("e");
  ok((await page.textContent("dialog")).includes("what share means") && (await page.textContent("dialog")).includes("±"), "e explains the row");
  await press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await press("/");
  ok(await page.evaluate(() => document.activeElement.name === "search"), "/ goes to the search");
  await page.keyboard.type("parse");
  await press("Enter");
  ok((await hash(page)).search === "parse" && (await page.$$("main section.gridbox:first-of-type tbody tr")).length >= 1 && (await page.textContent("tbody")).includes("parse_row") && !(await page.textContent("tbody")).includes("hash_probe"), "search leaves the rows that match");
  await press("r");
  ok(!(await hash(page)).search, "r resets");
  await press("f");
  ok((await hash(page)).focus === "^hash_probe$" && (await page.textContent("main")).includes("pass the filter"), "f focuses");
  await press("r");
  await press("x");
  ok((await hash(page)).hide === "^hash_probe$" && !(await page.textContent("tbody")).includes("hash_probe"), "x hides");
  await page.goBack();
  ok(!(await hash(page)).hide && (await page.textContent("tbody")).includes("hash_probe"), "Back takes the filter away");
  await page.goForward();
  ok((await hash(page)).hide === "^hash_probe$", "Forward brings it back");
  await press("r");
  const all = await views(page);
  let hit = 0;
  for (let i = 1; i <= Math.min(9, all.length); i++) {
    await press(String(i));
    hit += (await page.$eval("nav a[aria-current]", (a) => a.textContent)) === `${i}${all[i - 1]}`;
  }
  ok(hit === Math.min(9, all.length), "1 to 9 choose views", hit);
  await press("y");
  await page.waitForFunction(() => document.getElementById("say")?.textContent.includes("copied"));
  ok((await page.evaluate(() => navigator.clipboard.readText())) === page.url(), "y copies the link");
  await show(page, "tree");
  const rows = () => page.$$eval("main tbody tr", (r) => r.length);
  const before = await rows();
  await page.$$eval("tbody tr", (r) => [...r].find((x) => x.textContent.includes("memory")).click());
  await press("h");
  const after = await rows();
  ok(after < before, "h folds", `${before} ${after}`);
  await press("l");
  ok((await rows()) === before, "l unfolds");
  await show(page, "account");
  const heads = () => page.$$eval("main thead", (t) => t[0].querySelectorAll("th").length);
  await page.focus(".box");
  const narrow = await heads();
  await press("l");
  ok((await heads()) > narrow, "l opens the parts of a column", narrow);
  await press("h");
  ok((await heads()) === narrow, "h closes them");
  await show(page, "flame");
  const legend = await page.textContent("main .legend");
  ok(/dominates, by cycles: /.test(legend) && /l3|dram|branch_mispred/.test(legend) && !/uops/.test(legend), "flame: counts are no costs: what was issued does not dominate cycles", legend);
  ok((await page.textContent("main .weight")) === "Widths are cycles (cycles).", "flame: says what its widths are", await page.textContent("main .weight"));
  await press("i");
  ok((await hash(page)).invert === "1", "i inverts the flame graph");
  await press("i");
  await press("j");
  await press("Enter");
  ok(!!(await hash(page)).zoom, "Enter zooms into a frame");
  await press("u");
  ok(!(await hash(page)).zoom, "u zooms out");
  await show(page, "time");
  const part = () => page.textContent("main .shown");
  for (const [k, what] of [["w", "zooms in"], ["d", "moves right"], ["a", "moves left"], ["s", "zooms out"]]) {
    const old = await part();
    await press(k);
    ok((await part()) !== old, `${k} ${what} on the time axis`, old);
  }
  for (const k of "ssss") await press(k);
  const whole = await part(), zoomed = (yes) => page.waitForFunction((want) => location.hash.includes("shown=") === want, yes);
  await zoomed(false);
  await press("w");
  await zoomed(true);
  const near = await part(), link = await page.evaluate(() => location.href);
  ok((await page.$$eval("nav a", (v) => v.every((x) => x.hash.includes("shown=")))), "time: links to other pages keep what is shown");
  await page.goBack();
  await page.waitForFunction((x) => document.querySelector("main .shown").textContent === x, whole);
  ok(near !== whole, "time: Back shows what was shown before", near);
  const again = await open(link);
  ok((await again.textContent("main .shown")) === near, "time: an address has what is shown", await again.textContent("main .shown"));
  await again.context().close();
  const track = await (await page.$('main canvas[aria-label^="worker-0"]')).boundingBox();
  await page.mouse.move(track.x + track.width * 0.5, track.y + 5);
  await page.mouse.wheel(0, -500);
  await page.waitForFunction(() => document.querySelector("main .shown").textContent.includes("–"));
  ok(!(await hash(page)).time, "the wheel zooms, which filters nothing", await part());
  await page.mouse.move(track.x + track.width * 0.4, track.y + 6);
  ok(/^worker-0 100 at /.test(await page.textContent("#tip")), "time: the mouse says which thread was where and when", await page.textContent("#tip"));
  await page.click('main button[aria-label="stacks of worker-0 100"]');
  ok((await page.$$('canvas[aria-label="stacks of worker-0 100 in time order"]')).length === 1, "time: a thread's stacks in time order open beneath it");
  await page.click('main button[aria-label="stacks of worker-0 100"]');
  ok((await page.textContent("main")).includes("waits: lock") && (await page.textContent("main")).includes("12 records lost"), "time: the legend has waits by kind, and losses");
  for (const k of "ssss") await press(k);
  await press("r");
  const box = await (await page.$("main canvas")).boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const time = (await hash(page)).time?.split(",").map(Number) ?? [];
  ok(Math.abs(time[0] - 0.8) < 0.06 && Math.abs(time[1] - 1.6) < 0.06, "dragging selects a time", time);
  await show(page, "functions");
  ok((await page.textContent("main")).includes("bins"), "the page says that time is in bins");
  await press("r");
  if (all.includes("compare")) {
    await show(page, "compare");
    await press("d");
    ok((await hash(page)).side === "base", "d shows the base");
  }
  ok(!page.faults.length, "keys: no console error, no request", page.faults.join("\n"));
  await page.context().close();
}

// The first page: a sentence, findings with what proves them, all of it without scrolling; what pages were called before; chips.
async function summary() {
  const large = { viewport: { width: 1400, height: 900 } };
  const page = await open(put("summary.html", samplePage({ findings: true })), large);
  const text = (e) => page.textContent(e);
  ok((await page.$$("nav > a")).length <= 7 && (await page.$$("nav .more a")).length > 0, "at most seven pages, the rest behind a menu");
  ok((await text(".headline")).startsWith("62.3 % of the time is in hash_probe, called from main."), "the first page begins with the sentence of the findings", await text("main"));
  const found = await page.$$eval(".findings li", (v) => v.map((x) => x.textContent));
  ok(found.length === 3 && found.every((x) => x.includes("±") && x.includes("cyclade ")) && found[2].includes(HOSTILE), "findings have their error and a command", found.join("\n"));
  const low = await page.$eval(".brief table[aria-label=functions]", (t) => t.getBoundingClientRect().bottom);
  ok(low <= 900 && (await page.$$(".brief table[aria-label=functions] tbody tr")).length === 10, "sentence, findings, time and ten functions are seen at 1400 by 900 without scrolling", low);
  const cut = await page.$$eval(".brief table[aria-label=functions] td.name", (v) => v.filter((x) => x.scrollWidth > x.clientWidth + 1).map((x) => x.textContent));
  ok(!cut.length, "no name is cut there", cut.join("\n"));
  ok((await page.$$("details.recorded:not([open])")).length === 1, "how it was recorded is folded");
  for (const [i, view] of [[0, "code"], [1, "memory"], [2, "time"]]) {
    await show(page, "summary");
    await page.$$eval(".findings", (v, k) => v[0].children[k].querySelector("a").click(), i);
    await page.waitForFunction((v) => document.querySelector("main").dataset.view === v, view);
  }
  ok(true, "findings lead to the pages that prove them");
  for (const [old, now] of [["overview", "summary"], ["function", "code"], ["mem", "memory"]]) {
    await page.evaluate((v) => { location.hash = `view=${v}`; }, old);
    await page.waitForFunction((v) => document.querySelector("main").dataset.view === v, now);
  }
  ok(true, "addresses with the former names of pages lead to them");
  await page.evaluate(() => { location.hash = "view=functions&thread=100/100,100/102&cpu=1"; });
  await page.waitForFunction(() => document.querySelectorAll(".chip").length === 4);
  await page.click(".chip >> nth=0");
  ok((await hash(page)).thread === "100/102" && (await hash(page)).cpu === "1", "a chip takes one filter away", JSON.stringify(await hash(page)));
  ok(!page.faults.length, "summary: no console error", page.faults.join("\n"));
  await page.context().close();
  const data = samplePage({ comms: 3, events: 2, waits: true });
  data.cube.threads.push(...["renamed", "again"].map((x) => [100, 102, data.strings.push(x) - 1])); // a thread by its next names
  data.title = `python3 -c ${"import sys\\x0a".repeat(30)}`;
  const plain = await open(put("merged.html", data), large);
  const title = await plain.$eval("h1", (e) => [e.getBoundingClientRect().height, e.title]);
  ok((await plain.getAttribute(".states", "aria-label")) === "on a CPU 25.0 %, waits for a CPU 50.0 %, waits: lock 25.0 %", "what threads did, by kind", await plain.getAttribute(".states", "aria-label"));
  ok((await plain.$$eval(".waits > li", (v) => v.map((x) => x.textContent))).join("|") === `4.00 s preempted: no CPU|2.00 s lock: a mutex1.50 s ${HOSTILE}, in parse_row`, "reasons by their time, with what was waited for", await plain.textContent(".waits"));
  ok((await plain.textContent("main")).includes("waited longest: worker 101, 3.90 s of 4.00 s, mostly lock"), "the thread that waited longest");
  ok(/· 7 threads ·/.test(await plain.textContent("main")), "a thread that got another name is one thread", await plain.textContent("main p.dim"));
  ok(title[0] < 40 && title[1].startsWith("python3 -c"), "a long title is one line, the whole one is its tooltip", title);
  ok(/^\d+\.\d % ±\d\.\d of the cycles is in hash_probe/.test(await plain.textContent(".headline")), "without findings the hottest function is the sentence", await plain.textContent(".headline"));
  await show(plain, "functions");
  const rows = () => plain.$$eval("main .gridbox:first-of-type tbody tr", (v) => v.map((r) => r.children[0].textContent));
  const once = await rows();
  ok(once.length === 60 && new Set(once).size === 60, "what three programs ran is one row", once.length);
  const of = rowsOf(await dataOf(plain), "functions", "rows").filter((r) => r.event === "cycles" && r.function === once[0]);
  const whole = of.reduce((a, r) => a + r.share, 0) * 100;
  ok(of.length === 3 && Math.abs(parseFloat(await plain.textContent("main .gridbox tbody td.heat")) - whole) < 0.06, "with its whole share", whole);
  await plain.selectOption("[name=event]", "instructions");
  await plain.waitForFunction(() => document.querySelector(".chip")?.textContent.includes("instructions"));
  ok((await rows()).length === 60 && !(await plain.textContent("main table thead")).includes("called from"), "another event's functions: one row each");
  ok(!plain.faults.length, "merged: no console error", plain.faults.join("\n"));
  await plain.context().close();
}

// Pixels with a colour, in each row of boxes of a canvas; the first row is marked.
const tinted = (page, nth = 0) => page.$$eval("main .difference canvas", (all, nth) => {
  const el = all[nth], high = Math.round(20 * devicePixelRatio), { data } = el.getContext("2d").getImageData(0, 0, el.width, el.height);
  const rows = new Array(Math.ceil(el.height / high)).fill(0);
  for (let i = 0; i < data.length; i += 4) if (Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 30) rows[Math.floor(i / 4 / el.width / high)]++;
  return rows.slice(1);
}, nth);
// The differential flame graph: colours where the verdicts are, and nowhere else.
async function difference(data) {
  const page = await open(put("difference.html", data));
  await show(page, "compare");
  const one = await tinted(page);
  ok(one[0] === 0 && one[1] > 500 && one.slice(2).every((x) => x === 0), "differential: functions that changed are coloured, their callers and others are not", one);
  const legend = (await page.$$eval("main .difference .legend", (l) => l.map((x) => x.textContent))).join();
  ok(/verdict is moved, new or gone \(2 of 12 functions\)/.test(legend) && /Of 200 comparisons without a change one/.test(legend), "differential: a legend says what is coloured", legend);
  ok(/coloured differences are \+90\.00 M cycles ±15\.00 M cycles together/.test(await page.textContent("main .difference")), "differential: the sum of what is coloured, with its error");
  await page.focus("main .difference canvas");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const info = await page.textContent("main .flameinfo");
  ok(/hash_probe/.test(info) && /Itself: moved, base [\d.]+ M cycles, new [\d.]+ M cycles, \+30\.0 % ±1\.0/.test(info), "differential: a frame has its verdict and its figures", info);
  await page.keyboard.press("l");
  await page.keyboard.press("l");
  await page.keyboard.press("Enter");
  ok((await hash(page)).zoom?.startsWith("start\t"), "differential: Enter zooms", (await hash(page)).zoom);
  const focused = () => page.waitForFunction(() => document.activeElement?.tagName === "CANVAS");
  await focused();
  await page.keyboard.press("u");
  await focused();
  await page.keyboard.press("u");
  ok(!(await hash(page)).zoom, "differential: u goes up, and the graph keeps the focus", (await hash(page)).zoom);
  await page.$$eval("main .difference button", (l) => l.find((b) => /side by side/.test(b.textContent)).click());
  const widths = await page.$$eval("main .difference canvas", (l) => l.map((x) => x.clientWidth));
  ok(widths.length === 2 && widths[0] !== widths[1], "differential: base and new side by side, at one scale", widths);
  ok((await tinted(page, 0))[1] > 500 && (await tinted(page, 1))[1] > 500, "differential: both have the colours");
  ok(!page.faults.length, "differential: no console error, no request", page.faults.join("\n"));
  await page.context().close();
  const noise = JSON.parse(JSON.stringify(data));
  for (const i of noise.flames[0].items) { i[2] = "noise"; i[3] = false; }
  noise.flames[0].changed = 0;
  const none = await open(put("noise.html", noise));
  await show(none, "compare");
  const rows = await tinted(none);
  ok(rows.length > 1 && rows.every((x) => x === 0), "differential: differences that chance explains have no colour", rows);
  ok(/Nothing is coloured: no function changed by more than chance/.test(await none.textContent("main .difference")), "differential: and that is said");
  await none.context().close();
}

// The flame graph in other orders and shapes: sums against sums made here.
async function looks(file, data) {
  const page = await open(file, { permissions: ["clipboard-read", "clipboard-write"] });
  const { cells, nodes, frames } = data.cube;
  const name = (node) => data.strings[frames[nodes[node][1]][0]];
  const info = () => page.textContent("main .flameinfo");
  const press = (k) => page.keyboard.press(k);
  const want = "parse_row";
  const inside = (node) => { for (let i = node; i >= 0; i = nodes[i][0]) if (name(i) === want) return true; return false; };
  const all = cells.reduce((a, c) => a + c[5], 0), mine = cells.reduce((a, c) => a + (inside(c[0]) ? c[5] : 0), 0), self = cells.reduce((a, c) => a + (name(c[0]) === want ? c[5] : 0), 0);
  const share = (v) => `${((100 * v) / all).toFixed(1)} %`;
  const fn = `${want}@${data.strings[frames.find((f) => data.strings[f[0]] === want)[1]]}`;
  await page.evaluate((fn) => { location.hash = new URLSearchParams({ view: "flame", look: "sandwich", fn }).toString(); }, fn);
  await page.waitForFunction(() => document.querySelectorAll("main canvas").length === 2);
  ok((await info()).startsWith(`${want}  (`) && (await info()).includes(`${share(mine)} of all`), "sandwich: a function with all that it calls, recursive calls once", [await info(), share(mine)]);
  await press("e");
  ok((await page.textContent("dialog")).includes(`self${share(self)}`), "sandwich: its own", [await page.textContent("dialog"), share(self)]);
  await press("Escape");
  await press("u");
  ok(!(await hash(page)).look && (await page.$$("main canvas")).length === 1, "sandwich: u leaves it");
  await press("t");
  ok((await hash(page)).look === "time" && /order of time/.test(await page.textContent("main h2")), "t: in the order of time");
  ok((await info()).includes(`all: ${(all / 1e9).toFixed(2)} G`), "time order: all of it is there", await info());
  await press("t");
  await press("v");
  ok((await hash(page)).look === "up" && /above a function is what it calls/.test(await page.textContent("main h2")), "v: a flame, callers below");
  await press("c");
  ok((await hash(page)).look === "up,file" && /Colours tell files apart/.test(await page.textContent("main")), "c: colours by file");
  ok(/a dotted edge: inlined/.test(await page.textContent("main")), "inlined calls are frames, and said to be such");
  await press("j");
  await press("n");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  ok(data.cube.frames.some((f) => data.strings[f[0]] === copied), "n copies the whole name", copied);
  await press("b");
  ok((await hash(page)).fn?.startsWith(`${copied}@`) && (await hash(page)).look.includes("sandwich"), "b: callers and callees of what is marked", await page.evaluate(() => location.hash));
  ok(!page.faults.length, "looks: no console error, no request", page.faults.join("\n"));
  await page.context().close();
}

// Sums under filters against sums made here, from the same cells.
async function filters(file, data) {
  const page = await open(file);
  const { cells, nodes, frames, threads, cpus } = data.cube;
  const name = (f) => data.strings[frames[f][0]];
  const has = (node, want) => { for (let i = node; i >= 0; i = nodes[i][0]) if (name(nodes[i][1]) === want) return true; return false; };
  const owner = (node) => (frames[nodes[node][1]][2] && nodes[node][0] >= 0 ? owner(nodes[node][0]) : node); // an inlined call is no row
  const width = data.cube.width / 1e9;
  const cases = [
    ["thread", { thread: `${threads[2][0]}/${threads[2][1]}` }, (c) => c[1] === 2],
    ["CPU", { cpu: String(cpus[1]) }, (c) => c[2] === 1],
    ["time", { time: `${width * 10},${width * 20}` }, (c) => c[3] >= 10 && c[3] < 20],
    ["focus", { focus: "^parse_row$" }, (c) => has(c[0], "parse_row")],
    ["hide", { hide: "^parse_row$" }, (c) => !has(c[0], "parse_row")],
    ["all of them", { thread: `${threads[2][0]}/${threads[2][1]}`, time: `0,${width * 60}`, hide: "^qsort_r$" }, (c) => c[1] === 2 && c[3] < 60 && !has(c[0], "qsort_r")],
  ];
  for (const [what, filter, test] of cases) {
    const mine = new Map();
    let all = 0;
    for (const c of cells) if (test(c)) { const f = name(nodes[owner(c[0])][1]); mine.set(f, (mine.get(f) ?? 0) + c[4]); all += c[4]; }
    await page.evaluate((f) => { location.hash = new URLSearchParams({ view: "functions", ...f }).toString(); }, filter);
    await page.waitForFunction(() => document.querySelector("main").dataset.view === "functions" && document.querySelector("main .binned"));
    const shown = await page.$$eval("main .gridbox", (g) => {
      const heads = [...g[0].querySelectorAll("thead th")].map((x) => x.textContent.replace(/[ ▲▼]+$/, ""));
      const s = heads.indexOf("samples"), f = heads.indexOf("function");
      return [...g[0].querySelectorAll("tbody tr")].map((r) => [r.children[f].textContent, Number(r.children[s].textContent.replace(/,/g, ""))]);
    });
    const wrong = shown.filter(([f, s]) => (mine.get(f) ?? 0) !== s);
    const sum = shown.reduce((a, x) => a + x[1], 0);
    ok(all > 0 && !wrong.length && sum === all, `filter by ${what}: ${all} samples, as counted here`, JSON.stringify([sum, all, wrong.slice(0, 5)]));
  }
  await page.context().close();
}

// Time on and off the CPU under filters, against sums made here; drawn with a pattern where it is off; explained by its reasons.
async function wall(file, data) {
  const page = await open(file);
  const { cells, nodes, frames, threads, width, from } = data.wall;
  const frame = (node) => frames[nodes[node][1]];
  const text = (i) => data.strings[i];
  const has = (node, want) => { for (let i = node; i >= 0; i = nodes[i][0]) if (text(frame(i)[0]) === want) return true; return false; };
  const later = (data.cube.from - from) / width;
  const w = width / 1e9;
  const words = (s) => (s >= 1 ? `${s.toFixed(2)} s` : `${(s * 1e3).toFixed(1)} ms`);
  const info = () => page.textContent(".flameinfo");
  const go = async (filter) => {
    await page.evaluate((f) => { location.hash = new URLSearchParams({ view: "wallflame", ...f }).toString(); }, filter);
    await page.waitForFunction((f) => document.querySelector("main").dataset.view === "wallflame" && Object.entries(f).every(([k, v]) => !["thread", "focus"].includes(k) || document.querySelector(`[name=${k}]`).value === v) && document.querySelector(".chips").childElementCount === (Object.keys(f).filter((k) => k !== "invert").length || -1) + 1, filter);
  };
  for (const [what, filter, test] of [
    ["nothing", {}, () => true],
    ["thread", { thread: `${threads[2][0]}/${threads[2][1]}` }, (c) => c[1] === 2],
    ["a thread without samples", { thread: `${threads.at(-1)[0]}/${threads.at(-1)[1]}` }, (c) => c[1] === threads.length - 1],
    ["time", { time: `${w * 10},${w * 20}` }, (c) => c[3] >= 10 + later && c[3] < 20 + later],
    ["CPU, which it has not", { cpu: "1" }, () => true],
    ["focus on a reason", { focus: "^\\[lock\\]$" }, (c) => has(c[0], "lock")],
    ["hide", { hide: "^parse_row$" }, (c) => !has(c[0], "parse_row")],
    ["inverted", { invert: "1", hide: "^main$" }, (c) => !has(c[0], "main")],
  ]) {
    const sum = { all: 0, null: 0, runnable: 0, blocked: 0, unknown: 0 };
    for (const c of cells.filter(test)) { sum.all += c[5] / 1e9; sum[frame(c[0])[2] === null ? "null" : text(frame(c[0])[2])] += c[5] / 1e9; }
    const want = [["on CPU", sum.null], ["waiting for a CPU", sum.runnable], ["blocked", sum.blocked], ["unknown", sum.unknown]].filter((x) => x[1]).map(([k, v]) => `${k} ${words(v)}`).join(", ");
    await go(filter);
    ok((await info()) === `all: ${sum.all ? words(sum.all) : "0.00 s"}: ${want}`, `wall: filter by ${what}: ${want || "nothing"}`, await info());
  }
  await go({ cpu: "1" });
  ok((await page.textContent("main .binned")).includes("no CPU"), "wall: the page says that a filter on CPU does nothing here");
  await go({});
  // tables of waits are added up anew; those that no filter reaches say so
  const filtered = { thread: `${threads[2][0]}/${threads[2][1]}`, time: `${w * 10},${w * 20}` };
  await page.evaluate((f) => { location.hash = new URLSearchParams({ view: "wait", ...f }).toString(); }, filtered);
  await page.waitForFunction(() => document.querySelector("main").dataset.view === "wait" && document.querySelectorAll(".chips .chip").length === 3);
  const had = await page.$$eval('main section.gridbox:has(table[aria-label="wait: reasons"]) tbody tr', (v) => v.map((x) => x.textContent));
  const sums = {};
  for (const c of cells.filter((c) => c[1] === 2 && c[3] >= 10 + later && c[3] < 20 + later)) { const f = frame(c[0]), k = f[2] === null ? "running" : text(f[0]); sums[k] = (sums[k] ?? 0) + c[5] / 1e9; }
  ok(had.length === Object.keys(sums).length && Object.entries(sums).every(([k, v]) => had.some((x) => x.includes(k) && x.includes(words(v)))), "wait: reasons are those of the thread and the time that the filter has", `${had.join("|")} ${JSON.stringify(sums)}`);
  ok((await page.$$eval("main .whole", (v) => [...new Set(v.map((x) => x.textContent))])).join() === "whole recording: no filter on thread, time", "wait: a table that no filter reaches says so", await page.$$eval("main .whole", (v) => v.map((x) => x.textContent)));
  ok(await page.$$eval("main dl.facts", (v) => v.some((x) => x.textContent.includes("8.00 s of 2 threads") && x.parentElement.previousElementSibling?.matches(".whole"))), "wait: so do lines of text", await page.textContent("main"));
  // on the first page what no filter reaches is left out of what threads did
  await page.evaluate((f) => { location.hash = new URLSearchParams({ view: "summary", ...f }).toString(); }, filtered);
  await page.waitForFunction(() => document.querySelector("main").dataset.view === "summary" && document.querySelector("main .states"));
  const did = await page.$eval("main section:has(.states)", (x) => x.textContent);
  const all = Object.values(sums).reduce((a, b) => a + b, 0);
  ok(did.startsWith("What 1 thread did ") && !did.includes("in parse_row") && !did.includes("worker 101"), "summary: objects and threads of the whole recording are not among what the filter has", did);
  ok(did.endsWith(`waited longest: worker-2 102, ${words(all - (sums.running ?? 0))} of ${words(all)}`), "summary: who waited longest is of what the filter has", did);
  await go({});
  // the outermost frame: what was on the CPU is at the left, unknown time at the right
  const looks = await page.$eval("main canvas", (v) => {
    const copy = document.createElement("canvas");
    copy.width = v.width;
    copy.height = v.height;
    const g = copy.getContext("2d", { willReadFrequently: true });
    g.drawImage(v, 0, 0);
    const at = (x, y, w) => new Set(Array.from(new Uint32Array(g.getImageData(x, y, w, 12).data.buffer))).size;
    const right = v.clientWidth;
    return { on: at(300, 4, 30), off: at(right - 40, 4, 30), rows: v.clientHeight / 20 };
  });
  ok(looks.on === 1 && looks.off > 1 && looks.rows >= 5, "wall: time off the CPU has a pattern", JSON.stringify(looks));
  await page.keyboard.press("j");
  await page.keyboard.press("l"); // the second thread: it takes less
  await page.keyboard.press("e");
  await page.waitForSelector("dialog");
  const why = await page.textContent("dialog");
  const lock = cells.filter((c) => has(c[0], "lock")).reduce((a, c) => a + c[5] / 1e9, 0);
  ok(why.includes(`[lock]${words(lock)}`) && why.includes("[wake-up]") && !why.includes("[unknown]") && why.includes("on CPU"), "wall: e says what a frame's time was", why);
  await page.keyboard.press("Escape");
  await show(page, "flame");
  await page.keyboard.press("j");
  await page.keyboard.press("e");
  await page.waitForSelector("dialog");
  ok(/share\d.*95 %.*samples/.test(await page.textContent("dialog")), "flame: e explains a frame, with its error", await page.textContent("dialog"));
  ok(!page.faults.length, "wall: no console error, no request", page.faults.join("\n"));
  await page.context().close();
}

const dataOf = (page) => page.evaluate(() => JSON.parse(document.querySelector("script.cyclade-data").textContent));
function rowsOf(data, view, table) {
  const t = data.documents.find((d) => d.view === view).tables.find((x) => x.name === table);
  return plainRows(t.rows).map((r) => Object.fromEntries(t.columns.map((c, i) => [c.key, c.kind === "text" ? data.strings[r[i]] ?? null : r[i]])));
}

// Histograms of memory latencies against the tables of the page's data: heights in a cell, lengths of a bar a row.
async function histograms(name, file) {
  const page = await open(file);
  await show(page, "memory");
  const data = await dataOf(page);
  for (const [spreads, bins, keys] of [["latencies", "histogram", ["latency"]], ["source_latencies", "source_histogram", ["kind", "source", "latency"]]]) {
    const title = bins.replace(/_/g, " "), above = spreads.replace(/_/g, " ");
    await page.$$eval("main details", (v, t) => v.forEach((x) => { x.open = t.some((y) => x.textContent.startsWith(`${y} ·`)); }), [title, above]);
    await page.waitForFunction((t) => t.every((x) => document.querySelector(`main table[aria-label="mem: ${x}"] svg.times`)), [title, above]);
    const drawn = (label) => page.$$eval(`main table[aria-label="mem: ${label}"] tbody tr[data-i]`, (v) => v.map((tr) => [...tr.querySelectorAll("svg.times rect")].map((r) =>
      ({ high: Number(r.getAttribute("height")), wide: Number(r.getAttribute("width")), says: r.textContent }))));
    const all = rowsOf(data, "mem", bins), of = (r) => keys.map((k) => r[k]).join("|");
    const most = (k) => Math.max(...all.filter((r) => of(r) === k).map((r) => r.samples));
    const want = rowsOf(data, "mem", spreads).map((s) => all.filter((r) => of(r) === of(s) && r.samples));
    const have = await drawn(above), bars = await drawn(title);
    const wrong = have.filter((v, i) => v.length !== want[i].length || v.some((b, k) => {
      const { low, high, samples } = want[i][k];
      return Math.abs(b.high - Math.max(1.5, 19 * samples / most(of(want[i][k])))) > 0.01 ||
        !b.says.startsWith(`${high - low > 1 ? `${low}-${high - 1}` : low} cycles: `) || !b.says.endsWith(`(${samples})`);
    })).map((v) => JSON.stringify(v));
    wrong.push(...bars.filter((v, i) => (all[i].samples ? Math.abs(v[0]?.wide - 180 * all[i].samples / most(of(all[i]))) > 1.5 : v.length)).map((v) => JSON.stringify(v)));
    ok(have.length === want.length && want.some((v) => v.length > 2) && bars.length > 20 && !wrong.length, `${name}: ${have.length} histograms of ${above}, ${bars.length} bars`, wrong.join("\n"));
  }
  // a filter: sums over the cells of the page's data
  const m = data.memory, [classes, threads, cells] = [m.classes, m.threads, m.cells].map(plainRows), one = threads.at(-1), width = data.cube.width / 1e9;
  const sums = new Map();
  for (const c of cells.filter((c) => c[1] === threads.length - 1 && c[3] >= 40 && c[3] < 200)) {
    const k = classes[c[0]].slice(0, 4).map((x) => (typeof x === "number" ? data.strings[x] : x === null ? "-" : x === true ? "yes" : "no")).join("|");
    sums.set(k, (sums.get(k) ?? 0) + c[4]);
  }
  await page.evaluate((f) => { location.hash = new URLSearchParams(f).toString(); }, { view: "memory", thread: one.join("/"), time: `${width * 40},${width * 200}` });
  await page.waitForFunction(() => document.querySelectorAll(".chips .chip").length > 1);
  const had = await page.$$eval('main table[aria-label="mem: sources"]', (v) => {
    const heads = [...v[0].querySelectorAll("thead th")].map((x) => x.textContent), at = ["kind", "level", "where", "hit", "samples"].map((k) => heads.indexOf(k));
    return [...v[0].querySelectorAll("tbody tr")].map((tr) => at.map((i) => tr.children[i].textContent));
  });
  ok(had.length === sums.size && sums.size > 2 && had.every((r) => sums.get(r.slice(0, 4).join("|")) === Number(r[4].replace(/,/g, ""))), `${name}: sources of one thread in a time`, JSON.stringify([had, [...sums]]));
  ok(!page.faults.length, `${name}: histograms: no console error`, page.faults.join("\n"));
  await page.context().close();
}

// Distributions against the tables of the page's data.
async function distributions(name, file) {
  const page = await open(file);
  const wrong = [];
  const data = await dataOf(page);
  const rows = (table) => rowsOf(data, "blocks", table);
  let seen = 0;
  for (const f of data.functions) {
    const fn = data.strings[f.function];
    await page.evaluate((x) => { location.hash = new URLSearchParams({ view: "code", fn: x }).toString(); }, `${fn}@${data.strings[f.dso]}`);
    await page.waitForFunction((x) => document.querySelector("main h2")?.textContent === x, fn);
    const drawn = await page.$$eval("svg.times", (v) => v.map((s) => ({
      classes: [...s.getAttribute("aria-label").matchAll(/(\d+)(?:-\d+)? (?:cycles|trips): [^(]*\(([\d,]+)\)/g)].map((m) => [Number(m[1]), Number(m[2].replace(/,/g, ""))]),
      bars: [...s.querySelectorAll("rect")].map((r) => [Number(r.getAttribute("x")), Number(r.getAttribute("height")), r.textContent]),
      label: s.getAttribute("aria-label"),
    })));
    const shown = drawn.map((x) => x.classes.map((c) => c.join(":")).join());
    for (const { classes, bars, label } of drawn) {
      const most = Math.max(...classes.map((c) => c[1])), tall = Math.max(...bars.map((b) => b[1]));
      if (bars.length !== classes.length || bars.map((b) => b[2]).join(", ") !== label || tall < 10) wrong.push(`${fn}: bars of ${label}`);
      else if (bars.some((b, i) => Math.abs(b[1] - Math.max(1.5, tall * classes[i][1] / most)) > 0.01 || (i && b[0] <= bars[i - 1][0]))) wrong.push(`${fn}: sizes of ${label}`);
    }
    const want = [];
    for (const [table, number, n, from] of [["times", "block", "times", "cycles"], ["iteration_times", "loop", "times", "cycles"], ["trips", "loop", "visits", "trips"]]) {
      const of = new Map();
      for (const r of rows(table)) if (r.function === fn) of.set(r[number], [...(of.get(r[number]) ?? []), `${r[from]}:${r[n]}`]);
      want.push(...of.values());
    }
    seen += shown.length;
    if (shown.sort().join(" ") !== want.map(String).sort().join(" ")) wrong.push(`${fn}: ${shown.join(" ")} | ${want.join(" ")}`);
  }
  ok(seen > 5 && !wrong.length, `${name}: ${seen} distributions of blocks and loops are those of the tables`, wrong.join("\n"));
  await page.goto(`${file.replace(/#.*/, "")}#view=blocks`);
  await show(page, "blocks");
  const heads = () => page.$$eval("main thead", (t) => [...t[0].querySelectorAll("th")].map((x) => x.textContent.replace(/^[+−]/, "")));
  const before = await heads();
  await page.click("main thead button[aria-label='parts of runs']");
  const after = await heads();
  ok(!before.includes("hits") && after.indexOf("hits") === after.indexOf("runs") + 1, `${name}: columns of blocks open in place`, [before, after].join(" | "));
  ok(!page.faults.length, `${name}: distributions: no console error`, page.faults.join("\n"));
  await page.context().close();
}

// Rows by column are the same rows: each view has the same words.
async function columns() {
  const data = samplePage({ functions: 40 }), seen = new Set();
  const kernel = data.functions[0].document.tables.find((t) => t.name === "instructions");
  const address = kernel.columns.findIndex((c) => c.key === "address");
  kernel.rows.forEach((r, i) => { r[address] = `0xffffffff81${(4096 + 4 * i).toString(16).padStart(6, "0")}`; });
  const pages = [await open(put("rows.html", data)), await open(put("columns.html", packed(data, seen)))];
  const words = [];
  for (const page of pages) {
    const all = await page.$$eval("nav a", (a) => a.length);
    let text = "";
    for (let i = 0; i < all; i++) {
      await page.$$eval("nav a", (a, k) => a[k].click(), i);
      await page.waitForFunction((k) => document.querySelectorAll("nav a")[k].getAttribute("aria-current") === "page", i);
      text += await page.textContent("main");
    }
    words.push(text);
  }
  ok(["plain", "same", "at", "runs", "deltas", "from"].every((k) => seen.has(k)), "columns: all forms are there", [...seen].join(" "));
  ok(words[0].length > 5000 && words[0] === words[1] && words[0].includes("ffffffff81001000"), "columns: rows that stand by column are the same rows", words[1].slice(0, 500));
  ok(!pages[1].faults.length, "columns: no console error, no request", pages[1].faults.join("\n"));
  for (const p of pages) await p.context().close();
}

// Results of intervals, each with its data: one table, and a tree over time to choose from.
async function intervals() {
  const texts = [0.1, 0.2, 0.3].map((time, i) => {
    const page = samplePage({ lbr: false, account: false, cube: false, functions: 1 });
    page.documents = page.documents.filter((d) => d.view === "tree");
    page.functions = [];
    const [d] = page.documents;
    if (i) d.titles = [];
    d.tables[0].columns.unshift({ key: "time", head: "time", kind: "seconds", unit: null, means: "end of the interval", flags: ["key"] });
    for (const r of d.tables[0].rows) {
      r.unshift(time);
      const at = d.tables[0].columns.findIndex((c) => c.key === "value");
      if (page.strings[r[1]] === "retiring") r[at] = time;
    }
    if (i) page.strings.unshift("another list"); // texts have other places there
    const moved = (x) => (i && typeof x === "number" ? x + 1 : x);
    if (i) for (const r of d.tables[0].rows) d.tables[0].columns.forEach((c, k) => { if (["text", "why"].includes(c.kind)) r[k] = moved(r[k]); });
    if (i) d.next = [];
    return page;
  });
  const more = texts.slice(1).map((x) => `<script type="application/json" class="cyclade-data">${JSON.stringify(x).replace(/</g, "\\u003c")}</script>`).join("\n");
  writeFileSync(join(dir, "intervals.html"), html(texts[0]).replace("</script>\n<script>", () => `</script>\n${more}\n<script>`));
  const page = await open(pathToFileURL(join(dir, "intervals.html")).href);
  const share = () => page.$$eval("main tbody tr", (rows) => rows.find((r) => r.textContent.includes("retiring")).textContent);
  ok((await page.$$("svg.overtime rect.chosen")).length === 1 && (await page.$$("svg.overtime rect:not(.chosen)")).length === 12, "intervals: four parts of three intervals are drawn");
  const first = await share();
  await page.selectOption("main select", { index: 2 });
  const last = await share();
  ok(first.includes("10.0 %") && last.includes("30.0 %") && last.includes("300.0 ms"), "intervals: the tree is that of the interval that is chosen", [first, last].join("\n"));
  await page.click("svg.overtime rect:nth-of-type(5)");
  ok((await share()).includes("20.0 %"), "intervals: a bar chooses its interval", await share());
  await show(page, "raw");
  ok((await page.textContent("main .toc")).includes("nodes, 30 rows"), "intervals: the rows of all are in one table", await page.textContent("main .toc"));
  ok(!page.faults.length, "intervals: no console error, no request", page.faults.join("\n"));
  await page.context().close();
}

async function hostile(file) {
  const page = await open(file);
  await show(page, "functions");
  const text = await page.textContent("main tbody");
  ok(text.includes(HOSTILE), "a name with markup is shown as it is");
  await page.evaluate(() => { const s = document.createElement("script"); s.textContent = "window.broken=2"; document.body.append(s); const d = document.createElement("div"); d.setAttribute("onclick", "window.broken=3"); document.body.append(d); d.click(); });
  ok(!(await page.evaluate(() => window.broken)) && page.faults.some((f) => f.includes("Content Security Policy")), "the policy stops scripts that are added");
  await page.evaluate(() => { location.hash = "view=functions&focus=%5B&time=x,y&thread=%3Cb%3E&cpu=-9&sort=__proto__&zoom=%00&node=constructor&fn=nothing"; });
  await page.waitForTimeout(50);
  await show(page, "code");
  ok(!page.faults.some((f) => f.startsWith("error ") && !f.includes("Content Security")), "a broken hash breaks nothing", page.faults.join("\n"));
  await page.context().close();
}

// Characters that show nothing, or turn what follows: in no text of any view, in no name of an element.
async function unseen(name, data) {
  const SPY = "\u001b[31m\u202eevil\u00ad\u2028\u0085\u{e0041}";
  data.strings = data.strings.map((s) => (s.includes(HOSTILE) || s.includes("/") || s.startsWith("what ") || s.includes("qsort") ? `${s}${SPY}` : s));
  data.title = `${data.title}${SPY}`;
  for (const d of data.documents) for (const t of d.tables) for (const c of t.columns) if (c.means) c.means += SPY;
  const page = await open(put(`${name}.html`, data));
  const found = new Set();
  let shown = 0;
  for (let i = 0; i < (await views(page)).length; i++) {
    await page.$$eval("nav a", (a, k) => a[k].click(), i);
    await page.waitForTimeout(100);
    const [bad, good] = await page.evaluate(() => {
      const hazard = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
      const texts = [];
      for (const e of document.body.querySelectorAll("*:not(script):not(style)")) {
        for (const c of e.childNodes) if (c.nodeType === 3) texts.push([e.tagName, c.data]);
        for (const a of ["title", "aria-label", "placeholder", "alt"]) if (e.hasAttribute(a)) texts.push([`${e.tagName} ${a}`, e.getAttribute(a)]);
      }
      return [texts.filter(([, s]) => hazard.test(s)).map(([at, s]) => `${at}: ${JSON.stringify(s).slice(0, 80)}`), texts.filter(([, s]) => s.includes("\\u{202e}evil")).length];
    });
    bad.forEach((x) => found.add(x));
    shown += good;
  }
  ok(!found.size, `${name}: no view has a character that hides or turns`, [...found].slice(0, 10).join("\n"));
  ok(shown > 20, `${name}: they are written out, ${shown} times`);
  await page.context().close();
}

// As large as a cube gets. Time of the page's thread, which a busy machine does not add to. The limits are some four times what a machine
// takes, so that they find costs that grow, not slow machines.
const PAINT = 4000, ANSWER = 400; // ms
async function fast(data) {
  const page = await open("about:blank");
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  page.at = put("large.html", data);
  await page.goto(page.at);
  await page.waitForSelector("main table");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now());
  const first = await busy();
  ok(first < PAINT, `large: ${data.cube.cells.length} cells, painted after ${paint.toFixed(0)} ms, ${first.toFixed(0)} of the processor`);
  for (const [what, h] of [["functions", "view=functions&cpu=1"], ["functions", "view=functions&time=0.5,2"], ["functions", "view=functions&focus=function_1"], ["flame", "view=flame&hide=function_2"], ["flame", "view=flame&cpu=2"], ["time", "view=time&thread=100/101"]]) {
    const ms = [];
    for (let i = 0; i < 3 || (i < 12 && Math.min(...ms) >= ANSWER); i++) { // others' work empties the caches
      await page.evaluate(([x, i]) => { location.hash = `${x}&search=${i || ""}`; }, [h.replace(/&.*/, ""), i]);
      await page.waitForTimeout(100);
      const before = await busy();
      await page.evaluate((x) => { location.hash = x; }, `${h}&search=${i || ""}`);
      await page.waitForTimeout(200);
      ms.push(Math.round((await busy()) - before));
    }
    ok(Math.min(...ms) < ANSWER, `${what}: a filter is answered in ${Math.min(...ms)} ms (${h})`, ms);
  }
  ok(!page.faults.length, "large: no console error", page.faults.join("\n"));
  await page.context().close();
}

// On paper: what is there, without what can be pressed, dark on white; rows that are not in the page are counted.
async function paper(name, file) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(file, { colorScheme });
    const all = await views(page);
    const wrong = [];
    for (let i = 0; i < all.length; i++) {
      await page.$$eval("nav a", (a, k) => a[k].click(), i);
      await page.waitForFunction((k) => document.querySelectorAll("nav a")[k].getAttribute("aria-current") === "page", i);
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await page.emulateMedia({ media: "print", colorScheme });
      wrong.push(...await page.evaluate((view) => {
        const seen = (e) => e.checkVisibility();
        const bright = (c) => { const [r, g, b, a] = c.match(/[\d.]+/g).map(Number); return a === 0 ? 255 : (r + g + b) / 3; };
        const out = [];
        for (const e of document.querySelectorAll("nav, input, select, .filter, .help, .tools button")) if (seen(e)) out.push(`${view}: ${e.outerHTML.slice(0, 80)}`);
        for (const e of document.querySelectorAll("main th, main td, main h2, main dd, .icicle button")) {
          const s = getComputedStyle(e);
          if (seen(e) && (bright(s.color) > 140 || bright(s.backgroundColor) < 120)) { out.push(`${view}: ${s.color} on ${s.backgroundColor} ${e.outerHTML.slice(0, 80)}`); break; }
        }
        for (const b of document.querySelectorAll("main .box")) if (seen(b) && b.scrollHeight > b.clientHeight + 2) out.push(`${view}: a table is cut: ${b.scrollHeight} ${b.clientHeight}`);
        if (bright(getComputedStyle(document.body).backgroundColor) < 250) out.push(`${view}: the page is not white`);
        if (!document.querySelector("main").innerText.trim()) out.push(`${view}: nothing is there`);
        return out;
      }, all[i]));
      await page.emulateMedia({ media: "screen", colorScheme });
      await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    }
    ok(!wrong.length, `${name}: ${colorScheme}: ${all.length} views are dark on white on paper, without controls`, wrong.slice(0, 8).join("\n"));
    await show(page, "functions");
    const pdf = await page.pdf({ preferCSSPageSize: true });
    const pages = (pdf.toString("latin1").match(/\/Type \/Page\b/g) ?? []).length;
    ok(pdf.subarray(0, 5).toString() === "%PDF-" && pages > 0 && pages < 20, `${name}: ${colorScheme}: printed on ${pages} pages`);
    ok(await page.evaluate(() => !document.documentElement.classList.contains("paper")), `${name}: ${colorScheme}: the screen has its colours again`);
    ok(!page.faults.length, `${name}: paper: no console error`, page.faults.join("\n"));
    await page.context().close();
  }
}

async function manyRows() {
  const data = samplePage({ functions: 100000, chains: 2000, cells: 10 });
  const page = await open(put("rows.html", data));
  await show(page, "functions");
  const began = Date.now();
  await page.keyboard.press("G");
  await page.waitForSelector("tr.at[data-i='99999']");
  ok((await page.$$("main .gridbox:first-of-type tbody tr")).length < 200, `100,000 rows: only those in sight are in the page; the last one after ${Date.now() - began} ms`);
  ok(!page.faults.length, "100,000 rows: no console error", page.faults.join("\n"));
  await page.context().close();
}

// Source and instructions: the own file first, folds, calls; widths that stay; from a block to its lines.
async function sources() {
  const data = samplePage();
  const t = (name) => data.functions[0].document.tables.find((x) => x.name === name);
  const share = t("instructions").columns.findIndex((x) => x.key === "share");
  t("instructions").rows.forEach((r, i) => { if (i < 100) r[share] = 0; });
  const page = await open(put("sources.html", data));
  await show(page, "code");
  await page.waitForFunction(() => document.querySelector(".pane.asm tr.at"));
  const tabs = await page.$$eval(".filetabs button", (b) => b.map((x) => `${x.textContent} ${x.getAttribute("aria-pressed")}`));
  ok(tabs.length === 2 && /^join\.c \(own\).*true$/.test(tabs[0]) && /^stl_vector\.h .*false$/.test(tabs[1]), "code: the function's own file is open, inlined ones are tabs", tabs);
  const lines = () => page.$$eval(".pane.source tbody tr", (r) => r.map((x) => x.textContent));
  const before = await lines(), fold = before.findIndex((x) => /▸ \d+ lines without samples/.test(x));
  ok(fold >= 0 && before.some((x) => /line 240;/.test(x)), "code: lines around those with samples; others are folded", before.slice(0, 5));
  await page.$$eval(".pane.source tbody tr", (r, i) => r[i].click(), fold);
  ok((await lines()).length > before.length, "code: a fold opens", [before.length, (await lines()).length]);
  ok(before.some((x) => /memcpy/.test(x)) && before.some((x) => x.includes("⤵ ")), "code: a line has what it calls and what is inlined there", before.slice(0, 30));
  const asm = () => page.$$eval(".pane.asm tbody tr", (r) => r.length);
  const some = await asm(), said = await page.textContent("button.cold");
  ok(some < 70 && /^\d+ instructions in blocks without samples are folded$/.test(said), "code: blocks without samples are folded", [some, said]);
  await page.$$eval(".cfg .node", (n) => n[0].dispatchEvent(new MouseEvent("click", { bubbles: true })));
  await page.waitForFunction((n) => document.querySelectorAll(".pane.asm tbody tr").length > n, some);
  await page.waitForFunction(() => document.querySelector(".pane.source tr.lit"));
  ok(/line 200;/.test(await page.textContent(".pane.source tr.lit")), "code: a block of the graph leads to its lines, folded or not", await page.textContent(".pane.source tr.lit"));
  await page.$$eval(".pane.source tbody tr", (r) => r.find((x) => /line 212;/.test(x.textContent)).click());
  ok((await page.$$eval(".cfg .node", (n) => n.findIndex((x) => x.classList.contains("lit")))) === 4, "code: and a line to its block");
  const width = () => page.$eval(".pane.source", (e) => Math.round(e.getBoundingClientRect().width));
  const w = await width();
  await page.focus(".splitter");
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowLeft");
  const less = await width();
  const bar = await (await page.$(".splitter")).boundingBox();
  await page.mouse.move(bar.x + 5, bar.y + 60);
  await page.mouse.down();
  await page.mouse.move(bar.x + 205, bar.y + 60, { steps: 4 });
  await page.mouse.up();
  const more = await width();
  ok(less < w - 50 && more > less + 150, "code: panes are resized by keys and by mouse", [w, less, more]);
  await show(page, "functions");
  await show(page, "code");
  ok(Math.abs((await width()) - more) < 3, "code: and stay so", [more, await width()]);
  ok(!page.faults.length, "code: no console error, no request", page.faults.join("\n"));
  await page.context().close();
}

async function manyInstructions() {
  const code = await open(put("code.html", samplePage({ instructions: 100000 })));
  await show(code, "code");
  await code.keyboard.press("G");
  await code.waitForSelector("tr.at[data-i='99999']");
  console.log(`# 100,000 instructions are drawn in ${await code.$eval("main", (m) => m.dataset.ms)} ms`);
  ok(!code.faults.length, "100,000 instructions: no console error", code.faults.join("\n"));
  await code.context().close();
}

async function withoutScripts(name, page) {
  ok((await page.textContent("body")).trim().length > 20, `${name}: without scripts there is a text`);
}

// Each in a page of its own, some at a time.
const AT_ONCE = 4;
async function together(jobs) {
  const one = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      const began = Date.now();
      await job().catch((e) => ok(false, "the test itself", e.stack));
      if (process.env.CYCLADE_TIMES) console.log(`# ${Date.now() - began} ms: ${String(job).slice(0, 80).replace(/\n.*/s, "")}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
const given = process.argv.slice(2).filter((x) => x !== "--own").map((f) => [basename(f), pathToFileURL(f).href]);
const jobs = [], drawn = [], plain = [...given];
for (const [name, at] of given) if (name === "branches.html") jobs.push(() => distributions(name, at));
  else if (name === "accesses.html") jobs.push(() => histograms(name, at));
if (!given.length || process.argv.includes("--own")) {
  const data = samplePage({ diff: true });
  const file = put("all.html", data);
  plain.push(["all", file]);
  drawn.push(
    ["all", file, true],
    ["time only", put("time.html", samplePage({ lbr: false, account: false, tree: false }))],
    ["no cube", put("plain.html", samplePage({ cube: false }))],
    ["no time", put("notime.html", samplePage({ time: false }))],
    ["many threads", put("threads.html", samplePage({ threads: 300, cpus: 128 }))],
    ["one function", put("one.html", samplePage({ functions: 1, chains: 1, cells: 3 }))]);
  jobs.unshift(
    intervals, summary, columns, () => keys(file), () => filters(file, samplePage({ diff: true })), () => { const d = samplePage({ diff: true, waits: true }); return wall(put("waits.html", d), d); }, () => hostile(file), () => unseen("unseen", samplePage({ diff: true })), () => difference(samplePage({ diff: true })), () => looks(file, samplePage({ diff: true })),
    () => fast(samplePage({ functions: 5000, chains: 20000, cells: 80000, threads: 64, cpus: 16, bins: 480 })), manyRows, manyInstructions, sources,
    () => paper("all", put("paper.html", samplePage({ diff: true, functions: 3000 }))));
}
drawn.push(...given.map(([name, at]) => [name, at, !/^table-/.test(name)]));
jobs.unshift(() => each(drawn, everyView), () => each(drawn, everyView));
jobs.push(() => each(plain, withoutScripts, { javaScriptEnabled: false }));
await together(jobs);
console.log(`1..${n}`);
await browser.close();
rmSync(dir, { recursive: true });
process.exit(failed ? 1 : 0);
