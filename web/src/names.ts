// SPDX-License-Identifier: BSD-3-Clause
// names - a function's name as a row, a box or a sentence shows it; the whole one is in its title.
// Folded forms are made by the program (FORMAT.md, `short`): no two names of the page have the same.
let folded = new Map<string, string>();
export function setNames(names: Map<string, string>): void { folded = names; }
export function shortName(text: string): string {
  const part = / \d+\s%$/.exec(text)?.[0] ?? ""; // of a caller: the part that comes through it
  return (folded.get(text.slice(0, text.length - part.length)) ?? text.slice(0, text.length - part.length)) + part;
}
// In so many columns: what it is a member of goes first, then its end.
export function cutName(name: string, columns: number): string {
  if (name.length <= columns) return name;
  let depth = 0, at = 0;
  for (let i = 0; i < name.length && name[i] !== "("; i++) {
    if (name[i] === "<") depth++;
    else if (name[i] === ">") depth--;
    else if (!depth && name.startsWith("::", i)) at = i + 2;
  }
  const own = name.slice(at);
  return own.length >= columns ? `${own.slice(0, columns - 1)}…` : at ? `…${own}` : own;
}
