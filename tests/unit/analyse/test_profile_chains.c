/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of call chains and what functions add up to, against a plain count of the same
 * samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made.h"

/* The frames of a sample, outermost first, as "dso|symbol" strings. */
static size_t plain_frames(const struct fact *f, char out[32][80])
{
	static const char stray[] = "[unknown]|[in no mapping]";
	bool kernel = f->kernel, caller = false;
	size_t n = 0;
	char rev[32][80];
	int how;

	for (uint64_t i = 0; i < f->n_chain; i++) {
		uint64_t ip = f->chain[i];

		if (ip == (uint64_t)-3000) {
			n = 0;
			break;
		}
		if (ip == (uint64_t)PERF_CONTEXT_KERNEL || ip == (uint64_t)PERF_CONTEXT_USER) {
			kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
			caller = false;
			continue;
		}
		plain_place(rev[n], f, kernel, ip, &how);
		if (caller && how == 2)
			(void)snprintf(rev[n], sizeof(rev[n]), "%s", stray);
		/* of several the first stands for all */
		if (strcmp(rev[n], stray) != 0 || !n || strcmp(rev[n - 1], stray) != 0)
			n++;
		caller = true;
	}
	if (!n)
		plain_place(rev[n++], f, f->kernel, f->ip, &how);
	for (size_t i = 0; i < n; i++)
		memcpy(out[i], rev[n - 1 - i], 80);
	return n;
}

static void path_of(const struct profile *p, uint32_t node, char *out, size_t size)
{
	const struct profile_chains *c = profile_chains(p);
	uint32_t path[64], n = 0;
	size_t len = 0;

	for (; node; node = c->tree.node[node].parent)
		path[n++] = node;
	out[0] = 0;
	while (n--) {
		const struct profile_frame *f = &c->frame[c->tree.node[path[n]].frame];

		len += (size_t)snprintf(out + len, size - len, "%s|%s;",
					strtab_get(profile_strings(p), f->dso),
					strtab_get(profile_strings(p), f->name));
	}
}

static void chains_match(unsigned threads)
{
	struct profile_opts o = {
		.key = { KEY_SYM }, .n_keys = 1, .chains = true, .threads = threads
	};
	struct profile *p = made_profile(&o);
	const struct profile_chains *c = profile_chains(p);
	struct count want = { STRTAB_INIT, VEC_INIT };
	size_t seen = 0;

	for (size_t i = 0; i < N_SAMPLES; i++) {
		char frame[32][80], path[2600];
		size_t n = plain_frames(&made_facts[i], frame), len = 0;

		len += (size_t)snprintf(path, sizeof(path), "%u:", made_facts[i].event);
		for (size_t k = 0; k < n; k++)
			len += (size_t)snprintf(path + len, sizeof(path) - len, "%s;", frame[k]);
		count_add(&want, path, made_facts[i].period);
	}
	for (uint32_t e = 0; e < N_EVENTS; e++)
		for (uint32_t i = 1; i < c->tree.n; i++) {
			char path[2600];
			uint32_t id;

			if (!c->self[e][i].samples)
				continue;
			(void)snprintf(path, sizeof(path), "%u:", e);
			path_of(p, i, path + 2, sizeof(path) - 2);
			id = strtab_find(&want.names, path);
			if (id == STR_NONE)
				fail_msg("%s should not be", path);
			same_tally(&c->self[e][i], &want.t.v[id], path);
			seen++;
		}
	assert_int_equal(seen, want.names.n - 1);
	count_free(&want);
	profile_free(p);
}

static void chains_one_worker(void **state)
{
	(void)state;
	chains_match(1);
}

static void chains_many_workers(void **state)
{
	(void)state;
	chains_match(4);
}

/* Each function once per sample, however often it stands in the chain. */
static void functions_count_recursion_once(void **state)
{
	struct profile_opts o = { .key = { KEY_SYM }, .n_keys = 1, .chains = true };
	struct profile *p = made_profile(&o);
	const struct profile_chains *c = profile_chains(p);
	struct count total = { STRTAB_INIT, VEC_INIT }, self = { STRTAB_INIT, VEC_INIT };
	struct profile_function *f;
	struct err err = ERR_INIT;
	size_t n, repeats = 0;

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		char frame[32][80];
		size_t frames = plain_frames(&made_facts[i], frame);

		if (made_facts[i].event != 1)
			continue;
		count_add(&self, frame[frames - 1], made_facts[i].period);
		for (size_t k = 0; k < frames; k++) {
			bool before = false;

			for (size_t j = 0; j < k; j++)
				before = before || !strcmp(frame[j], frame[k]);
			repeats += before;
			if (!before)
				count_add(&total, frame[k], made_facts[i].period);
		}
	}
	assert_true(repeats > 1000);
	assert_int_equal(profile_functions(p, 1, &f, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		const struct profile_frame *fr = &c->frame[f[i].frame];
		struct tally none = { 0, 0, 0 };
		char name[80];
		uint32_t id;

		(void)snprintf(name, sizeof(name), "%s|%s", strtab_get(profile_strings(p), fr->dso),
			       strtab_get(profile_strings(p), fr->name));
		id = strtab_find(&total.names, name);
		same_tally(&f[i].total, id == STR_NONE ? &none : &total.t.v[id], name);
		id = strtab_find(&self.names, name);
		same_tally(&f[i].self, id == STR_NONE ? &none : &self.t.v[id], name);
	}
	free(f);
	count_free(&total);
	count_free(&self);
	profile_free(p);
}

/* Totals of a node are its own and its children's; lines and inlined frames keep the sum. */
static void tree_adds_up(void **state)
{
	struct profile_opts o = { .key = { KEY_SRCLINE, KEY_INLINE },
				  .n_keys = 2,
				  .chains = true,
				  .chain_lines = true,
				  .chain_inline = true,
				  .threads = 3 };
	struct profile *p = made_profile(&o);
	const struct profile_chains *c = profile_chains(p);
	const struct profile_sum *s;
	bool inlined = false, line = false;
	size_t n;

	(void)state;
	s = profile_sums(p, &n);
	for (size_t e = 0; e < n; e++) {
		assert_int_equal(c->total[e][0].period, s[e].selected.period);
		for (uint32_t i = 0; i < c->tree.n; i++) {
			uint64_t sum = c->self[e][i].period;

			for (uint32_t k = c->tree.node[i].child; k; k = c->tree.node[k].sibling)
				sum += c->total[e][k].period;
			assert_int_equal(sum, c->total[e][i].period);
		}
	}
	for (size_t i = 0; i < c->n_frames; i++) {
		inlined |= c->frame[i].inlined;
		line |= c->frame[i].srcline > 0;
	}
	assert_true(inlined);
	assert_true(line);
	profile_free(p);
}

static void max_stack_keeps_the_innermost(void **state)
{
	struct profile_opts o = { .key = { KEY_SYM }, .n_keys = 1, .chains = true, .max_stack = 2 };
	struct profile *p = made_profile(&o);
	const struct profile_chains *c = profile_chains(p);

	(void)state;
	for (uint32_t i = 1; i < c->tree.n; i++) {
		uint32_t up = c->tree.node[i].parent;

		assert_true(!up || !c->tree.node[up].parent);
	}
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_one_worker),
		cmocka_unit_test(chains_many_workers),
		cmocka_unit_test(functions_count_recursion_once),
		cmocka_unit_test(tree_adds_up),
		cmocka_unit_test(max_stack_keeps_the_innermost),
	};
	return cmocka_run_group_tests(tests, made_set_up, made_tear_down);
}
