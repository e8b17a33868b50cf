// SPDX-License-Identifier: BSD-3-Clause
// names - a function's name as a row, a box or a sentence shows it; the whole one is in its title.
export function shortName(text: string): string { return text; }
