// SPDX-License-Identifier: BSD-3-Clause
// A service that answers requests with a list of names without duplicates.
//
//	node --perf-basic-prof service.js slow; node --perf-basic-prof service.js fixed
//
// slow: each name is looked for in an array, from its begin. fixed: in a Set.
'use strict';
const fixed = process.argv[2] === 'fixed';

function uniqueNames(names) {
	if (fixed)
		return [...new Set(names)];
	const seen = [];
	for (const name of names)
		if (!seen.includes(name))
			seen.push(name);
	return seen;
}

function readRequest(n) {
	const names = [];
	for (let i = 0; i < 2000; i++)
		names.push('name' + (i * 7919 + n) % 1500);
	return names;
}

function answerRequest(n) {
	return JSON.stringify(uniqueNames(readRequest(n))).length;
}

let bytes = 0;
for (let n = 0; n < 30; n++)
	bytes += answerRequest(n);
console.log(bytes + ' bytes');
