// SPDX-License-Identifier: BSD-3-Clause
// names - a function's name as a row, a box or a sentence shows it; the whole one is in its title.
// Folded forms are made by the program (FORMAT.md, `short`): no two names of the page have the same.
let folded = new Map<string, string>();
export function setNames(names: Map<string, string>): void { folded = names; }
export function shortName(text: string): string { return folded.get(text) ?? text; }
