// SPDX-License-Identifier: BSD-3-Clause
// monitor - the page of a monitor that runs, in a real browser: charts move, tables are read again, the
// security policy holds, nothing comes from elsewhere. TAP.
//	node test/monitor.mjs URL [PICTURE]
import { readFileSync } from "node:fs";
import { launch } from "./browser.mjs";

const [url, picture] = process.argv.slice(2);
const browser = await launch();
let n = 0, failed = 0;
function ok(fine, what, more = "") {
  n++;
  if (!fine) failed++;
  console.log(`${fine ? "ok" : "not ok"} ${n} - ${what}${fine || !more ? "" : `\n# ${String(more).slice(0, 1500).replace(/\n/g, "\n# ")}`}`);
}
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (e) => page.faults.push(`error ${e.stack ?? e}`));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && page.faults.push(`${m.type()} ${m.text()}`));
  page.on("request", (r) => r.url().startsWith(url) || page.faults.push(`request ${r.url().slice(0, 200)}`));
  await page.goto(url);
  return page;
}
const lines = (page) => page.$$eval(".plot path.line", (all) => all.map((p) => p.getAttribute("d")));
const chart = (page, name) => page.$$eval(".charts figure", (all, want) =>
  all.filter((f) => f.querySelector("b").textContent === want).map((f) => ({ words: f.textContent, lines: f.querySelectorAll("path.line").length, axes: [...f.querySelectorAll(".plot span")].map((s) => s.textContent) }))[0], name);

// The monitor keeps figures before anybody looks.
async function history() {
  for (;;) {
    const r = await fetch(new URL("history.json", url));
    const kept = r.ok ? await r.json() : { intervals: [] };
    if (kept.intervals.length > 4) return kept;
    await new Promise((done) => setTimeout(done, 100));
  }
}
const kept = await history();
const page = await open();
await page.waitForFunction(() => document.querySelector(".plot path.line"), null, { timeout: 60000 });
const early = await page.$$eval(".plot path.line", (all) => Math.max(...all.map((p) => p.getAttribute("d").split(/[ML]/).length - 1)));
ok(early >= kept.intervals.length, "the first drawing has the intervals that the monitor kept", JSON.stringify([kept.intervals.length, early]));
await page.waitForFunction(() => [...document.querySelectorAll(".plot path.line")].some((p) => (p.getAttribute("d") ?? "").split("L").length > 3), null, { timeout: 60000 });
const before = await lines(page);
const table = await page.$eval("section.monitor", (s) => s.textContent);
ok(before.length > 5, "there are charts", before.length);
await page.waitForFunction((old) => [...document.querySelectorAll(".plot path.line")].filter((p, i) => p.getAttribute("d") !== old[i]).length > 3, before, { timeout: 60000 });
ok(true, "they move");
await page.waitForFunction((old) => document.querySelector("section.monitor").textContent !== old, table, { timeout: 60000 });
ok(true, "the tables are read again");
const user = await chart(page, "user"), cpus = await page.$$eval("#cpu tr", (r) => r.length - 1);
ok(user && user.lines === Math.min(cpus, 16) && / %/.test(user.words), "a line for each CPU, its time as a share", JSON.stringify([user, cpus]));
ok(user && user.axes[0] === "100 %" && user.axes[1] === "0" && / ago$/.test(user.axes[2]) && user.axes[3] === "now", "axes say what they go to", JSON.stringify(user));
ok(new RegExp(`^${kept.host} `).test(await page.$eval("h1", (h) => h.textContent)) && (await page.title()).startsWith(`${kept.host} - `), "the machine's name is the title", kept.host);
const first = await page.$eval(".charts section", (s) => [s.querySelector("h2").textContent, s.querySelectorAll(".legend li").length]);
ok(first[0] === "CPUs" && (cpus === 1 || first[1] === Math.min(cpus, 16)), "what every machine has comes first, with a legend", JSON.stringify(first));
ok(!(await page.$$eval(".charts section", (all) => all.some((s) => !s.querySelector("path.line")))), "there is no empty section");
const lacking = await page.$$eval("section.monitor", (s) => s[0].textContent.split("not available").length - 1);
ok(lacking <= 1, "one line has what is not available", lacking);
const names = await page.$$eval(".charts b", (all) => all.map((b) => b.textContent));
ok(names.includes("context switches/s") && names.includes("load"), "what only grows is a rate, a level is itself", names.join(" "));
const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
ok(wide <= 0 || await page.$eval(".charts", (c) => c.scrollWidth <= innerWidth), "the charts fit the window", wide);
if (picture) await page.screenshot({ path: picture });
const dark = await open({ colorScheme: "dark", viewport: { width: 390, height: 844 } });
await dark.waitForSelector(".plot");
ok(await dark.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a narrow window has them below one another");
ok(!page.faults.length && !dark.faults.length, "no error on the console, nothing from elsewhere", [...page.faults, ...dark.faults].join("\n"));
// An interval in which a counter had no turn is a gap: no 0, and no double rate behind it.
const figures = [100, 100, null, 100, 100, 100];
let asked = 2;
const odd = await browser.newContext();
const reply = (from, to) => JSON.stringify({ host: "h", interval: 0.2, left_out: 0, intervals: figures.slice(from, to).map((_, i) => ({ time: (from + i + 1) * 0.2 })),
  lines: ["even", ...(to - from > 1 || figures[from] !== null ? ["odd"] : [])].map((metric) => ({ place: "host", metric: `${metric}/s`, line: "", unit: "", share: false, means: "",
    figures: figures.slice(from, to).map((v) => (metric === "even" ? "100" : v === null ? "" : String(v))) })) });
await odd.route("**/history.json", (route) => route.fulfill({ contentType: "application/json", body: reply(0, 2) }));
await odd.route("**/last.json", (route) => { const i = Math.min(asked++, figures.length - 1); return route.fulfill({ contentType: "application/json", body: reply(i, i + 1) }); });
const gaps = await odd.newPage();
await gaps.goto(url);
const drawn = await gaps.waitForFunction(() => {
  const d = [...document.querySelectorAll(".charts figure")].map((f) => [f.textContent, f.querySelector("path.line").getAttribute("d")]);
  return d.length === 2 && d[0][1].split("L").length === 6 && d;
}, null, { timeout: 60000 }).then((r) => r.jsonValue(), () => null);
const heights = drawn && drawn[1][1].split(/(?=[ML])/).map((x) => x.split(" ")[1]);
ok(drawn && drawn[1][1].match(/M/g).length === 2 && drawn[1][1].match(/L/g).length === 3 && new Set(heights).size === 1 && /odd\/s 100/.test(drawn[1][0]),
  "what was not measured in an interval is a gap in its line", JSON.stringify(drawn));
const inline = await open();
const blocked = await inline.evaluate(() => {
  const s = document.createElement("script");
  s.textContent = "window.ran = true";
  document.body.append(s);
  return !window.ran;
});
ok(blocked, "the policy lets no other script run");
const axe = (() => { try { return readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8"); } catch { return null; } })();
if (axe) {
  const read = await open({ bypassCSP: true });
  await read.waitForSelector(".plot");
  await read.evaluate(axe);
  const wrong = await read.evaluate(() => axe.run().then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes[0].html}`)));
  ok(!wrong.length, "accessible", wrong.join("\n"));
}
const plain = await open({ javaScriptEnabled: false });
ok(await plain.$("#cpu") && !(await plain.$(".charts")) && (await plain.content()).includes('http-equiv="refresh"'), "without scripts there are the tables, and it reloads");
console.log(`1..${n}`);
await browser.close();
process.exit(failed ? 1 : 0);
