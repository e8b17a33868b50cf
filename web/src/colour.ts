// SPDX-License-Identifier: BSD-3-Clause
// colour - one colour for a name, the same in all views; dark and light differ in brightness only.
// On paper everything is light.
const query = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
export const dark = {
  get matches(): boolean { return query.matches && !printing; },
};
export function onColours(changed: () => void): void {
  query.addEventListener("change", changed);
  const set = (on: boolean): void => {
    printing = on;
    document.documentElement.classList.toggle("paper", on);
    if (query.matches) changed(); // boxes that were opened stay open else
    painters.forEach((p) => p());
  };
  addEventListener("beforeprint", () => set(true));
  addEventListener("afterprint", () => set(false));
}
// What draws on a canvas of the view that is shown: paper does not wait for the next frame.
export const painters = new Set<() => void>();

function hash(s: string): number {
  let x = 2166136261;
  for (let i = 0; i < s.length; i++) x = Math.imul(x ^ s.charCodeAt(i), 16777619);
  return x >>> 0;
}
// Leaves of cycle accounting by what they are about, so that memory is blue in every recording.
const KNOWN: [RegExp, number][] = [
  [/retir|useful|unstalled/i, 130], [/front|instr|icache|itlb|decode|starv/i, 40], [/spec|mispred|branch/i, 300],
  [/dram|remote/i, 215], [/l3|llc/i, 195], [/l2/i, 180], [/mem|load|store|tlb|band/i, 230], [/core|port|div|exec/i, 15], [/halt|idle/i, 0],
];
export function nodeColour(name: string): string {
  const known = KNOWN.find(([r]) => r.test(name));
  const hue = known ? known[1] : hash(name) % 360;
  return dark.matches ? `hsl(${hue} 45% 25%)` : `hsl(${hue} 62% 78%)`;
}
// Functions: warm by name; those of one file are alike.
export function frameColour(name: string, dso: string): string {
  const kernel = /kernel|vmlinux|\.ko/.test(dso);
  const hue = kernel ? 20 + (hash(dso) % 30) : 150 + (hash(dso) % 170);
  const light = hash(name) % 12;
  return dark.matches ? `hsl(${hue} 36% ${20 + light}%)` : `hsl(${hue} 58% ${74 + light}%)`;
}
// Time off the CPU, by the state; a pattern tells it from time on the CPU, too.
export function offColour(state: string): string {
  const hue = state === "runnable" ? 350 : 215;
  const much = state === "unknown" ? 0 : 45;
  return dark.matches ? `hsl(${hue} ${much}% 28%)` : `hsl(${hue} ${much}% 80%)`;
}
// The nth of some that stand beside one another.
export function nth(i: number): string {
  const hue = [215, 28, 140, 350, 275, 50, 185, 320, 95][i % 9];
  return dark.matches ? `hsl(${hue} 55% ${i % 2 ? 58 : 48}%)` : `hsl(${hue} 65% ${i % 2 ? 58 : 66}%)`;
}
export function ink(): string { return dark.matches ? "#eee" : "#111"; }
export function css(name: string): string { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
