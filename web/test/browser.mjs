// SPDX-License-Identifier: BSD-3-Clause
// browser - this machine's chromium, without a window. Where there is none, a test is skipped.
import { existsSync } from "node:fs";

const PATIENCE = 600000; // ms: a busy machine draws late; what hangs is ended by Meson

export async function launch() {
  const path = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));
  if (!path) skip("there is no chromium");
  let chromium;
  try {
    ({ chromium } = await import("playwright-core"));
  } catch {
    skip("web/node_modules has no playwright-core: npm ci in web/");
  }
  const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-gpu"] });
  for (const make of ["newContext", "newPage"]) {
    const plain = browser[make].bind(browser);
    browser[make] = async (...options) => {
      const made = await plain(...options);
      made.setDefaultTimeout(PATIENCE);
      return made;
    };
  }
  return browser;
}
function skip(why) {
  console.log(`1..0 # SKIP ${why}`);
  process.exit(0);
}
