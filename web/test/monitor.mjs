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
const lines = (page) => page.$$eval(".charts path", (all) => all.map((p) => p.getAttribute("d")));
const chart = (page, name) => page.$$eval(".charts figure", (all, want) =>
  all.filter((f) => f.querySelector("b").textContent === want).map((f) => ({ words: f.textContent, lines: f.querySelectorAll("path").length }))[0], name);

const page = await open();
await page.waitForFunction(() => [...document.querySelectorAll(".charts path")].some((p) => (p.getAttribute("d") ?? "").split("L").length > 3), null, { timeout: 60000 });
const before = await lines(page);
const table = await page.$eval("section.monitor", (s) => s.textContent);
ok(before.length > 5, "there are charts", before.length);
await page.waitForFunction((old) => [...document.querySelectorAll(".charts path")].filter((p, i) => p.getAttribute("d") !== old[i]).length > 3, before, { timeout: 60000 });
ok(true, "they move");
await page.waitForFunction((old) => document.querySelector("section.monitor").textContent !== old, table, { timeout: 60000 });
ok(true, "the tables are read again");
const user = await chart(page, "cpu_user"), cpus = await page.$$eval("#cpu tr", (r) => r.length - 1);
ok(user && user.lines === Math.min(cpus, 16) && / %/.test(user.words), "a line for each CPU, its time as a share", JSON.stringify([user, cpus]));
const names = await page.$$eval(".charts b", (all) => all.map((b) => b.textContent));
ok(names.includes("host_context_switches/s") && names.includes("host_load1"), "what only grows is a rate, a level is itself", names.join(" "));
const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
ok(wide <= 0 || await page.$eval(".charts", (c) => c.scrollWidth <= innerWidth), "the charts fit the window", wide);
if (picture) await page.screenshot({ path: picture });
const dark = await open({ colorScheme: "dark", viewport: { width: 400, height: 800 } });
await dark.waitForSelector(".charts path");
ok(await dark.$eval(".charts", (c) => c.getBoundingClientRect().right <= innerWidth), "a narrow window has them below one another");
ok(!page.faults.length && !dark.faults.length, "no error on the console, nothing from elsewhere", [...page.faults, ...dark.faults].join("\n"));
// An interval in which a counter had no turn is a gap: no 0, and no double rate behind it.
const figures = [[1, 100], [2, 200], [3], [4, 400], [5, 500], [6, 600]];
let asked = 0;
const odd = await browser.newContext();
await odd.route("**/metrics", (route) => {
  const [time, v] = figures[Math.min(asked++, figures.length - 1)];
  return route.fulfill({ contentType: "text/plain", body: `cyclade_monitor_time_seconds ${time}\ncyclade_monitor_interval_seconds 0.2\n` +
    `# TYPE cyclade_host_even_total counter\ncyclade_host_even_total ${time * 100}\n` +
    (v ? `# TYPE cyclade_host_odd_total counter\ncyclade_host_odd_total ${v}\n` : "") });
});
const gaps = await odd.newPage();
await gaps.goto(url);
const drawn = await gaps.waitForFunction(() => {
  const d = [...document.querySelectorAll(".charts figure")].map((f) => [f.textContent, f.querySelector("path").getAttribute("d")]);
  return d.length === 2 && d[0][1].split("L").length === 5 && d;
}, null, { timeout: 60000 }).then((r) => r.jsonValue(), () => null);
const heights = drawn && drawn[1][1].split(/(?=[ML])/).map((x) => x.split(" ")[1]);
ok(drawn && drawn[1][1].match(/M/g).length === 2 && drawn[1][1].match(/L/g).length === 2 && new Set(heights).size === 1 && /odd\/s 100/.test(drawn[1][0]),
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
  await read.waitForSelector(".charts path");
  await read.evaluate(axe);
  const wrong = await read.evaluate(() => axe.run().then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes[0].html}`)));
  ok(!wrong.length, "accessible", wrong.join("\n"));
}
const plain = await open({ javaScriptEnabled: false });
ok(await plain.$("#cpu") && !(await plain.$(".charts")) && (await plain.content()).includes('http-equiv="refresh"'), "without scripts there are the tables, and it reloads");
console.log(`1..${n}`);
await browser.close();
process.exit(failed ? 1 : 0);
