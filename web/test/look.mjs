// SPDX-License-Identifier: BSD-3-Clause
// look - pictures of all views to look at: node test/look.mjs [PAGE.html] -> test/shots/*.png
import { mkdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";
import { html, samplePage } from "./sample.mjs";

const dir = new URL("shots/", import.meta.url);
mkdirSync(dir, { recursive: true });
let file = process.argv[2] && pathToFileURL(process.argv[2]).href;
if (!file) {
  writeFileSync(new URL("page.html", dir), html(samplePage({ diff: true })));
  file = new URL("page.html", dir).href;
}
const browser = await launch();
for (const [name, size, scheme] of [["light", [1280, 800], "light"], ["dark", [1280, 800], "dark"], ["narrow", [400, 800], "light"]]) {
  const page = await browser.newPage({ viewport: { width: size[0], height: size[1] }, colorScheme: scheme });
  page.on("pageerror", (e) => console.log("error", String(e)));
  page.on("console", (m) => console.log(m.type(), m.text()));
  await page.goto(file);
  const views = await page.$$eval("nav a", (a) => a.map((x) => x.textContent.replace(/^\d/, "")));
  for (let i = 0; i < views.length; i++) {
    await page.$$eval("nav a", (a, k) => a[k].click(), i);
    await page.waitForTimeout(150);
    await page.screenshot({ path: new URL(`${name}-${views[i].replace(/\W/g, "_")}.png`, dir).pathname });
  }
  await page.close();
}
await browser.close();
