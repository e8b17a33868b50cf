/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples, as facts and as bytes, and counting them plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made.h"

struct fact *made_facts;
static uint8_t *bytes;
static uint64_t seed = 4711;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* Addresses come back often, some are mapped nowhere. */
static uint64_t draw_user(void)
{
	return 0x0c00 + draw(0x90) * 0x100 + draw(3) * 0x40;
}

static void draw_chain(struct fact *f)
{
	uint64_t depth = 1 + draw(6);

	f->n_chain = 0;
	if (draw(50) == 0) /* a chain without a frame */
		return;
	if (f->kernel) {
		f->chain[f->n_chain++] = (uint64_t)PERF_CONTEXT_KERNEL;
		f->chain[f->n_chain++] = f->ip;
		f->chain[f->n_chain++] = 0xffff0000 + draw(4) * 0x100 + 8;
	}
	f->chain[f->n_chain++] = (uint64_t)PERF_CONTEXT_USER;
	if (!f->kernel)
		f->chain[f->n_chain++] = f->ip;
	/* few different functions, so that recursion and common outer frames happen */
	for (uint64_t i = 0; i < depth; i++)
		f->chain[f->n_chain++] = 0x1000 + draw(2) * 0x2000 + draw(3) * 0x100;
	f->chain[f->n_chain++] = 0x1f00;
	if (draw(200) == 0) /* a marker nobody knows */
		f->chain[1] = (uint64_t)-3000;
}

static void draw_fact(struct fact *f)
{
	static const uint32_t tids[][2] = { { 7, 7 }, { 7, 70 }, { 8, 8 },
					    { 9, 9 }, { 9, 91 }, { 55, 55 } };
	size_t t = draw(6);

	memset(f, 0, sizeof(*f));
	f->event = (uint32_t)draw(2); /* the third has no samples */
	f->pid = tids[t][0];
	f->tid = tids[t][1];
	f->cpu = (uint32_t)draw(4);
	f->kernel = draw(4) == 0;
	f->ip = f->kernel ? 0xfffeff00 + draw(0x90) * 0x100 : draw_user();
	f->time = draw(10000);
	f->period = 1 + draw(1000000);
	draw_chain(f);
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	st64(p, v);
	return p + 8;
}

static uint8_t *write_fact(uint8_t *p, const struct fact *f)
{
	uint8_t *start = p;
	uint16_t misc = f->kernel ? 1 : 2, size;

	p = put64(p + 8, f->event);
	p = put64(p, f->ip);
	p = put64(p, (uint64_t)f->tid << 32 | f->pid);
	p = put64(p, f->time);
	p = put64(p, f->cpu);
	p = put64(p, f->period);
	p = put64(p, f->n_chain);
	for (uint64_t i = 0; i < f->n_chain; i++)
		p = put64(p, f->chain[i]);
	size = (uint16_t)(p - start);
	st64(start, PERF_RECORD_SAMPLE | (uint64_t)misc << 32 | (uint64_t)size << 48);
	return p;
}

int made_set_up(void **state)
{
	uint8_t *p;

	(void)state;
	if (made_names())
		return -1;
	for (size_t e = 0; e < N_EVENTS; e++) {
		made_events[e].name = e == 0 ? "cycles" : e == 1 ? "cache-misses" : "nothing";
		made_events[e].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						  PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						  PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
						  PERF_SAMPLE_CALLCHAIN;
		made_events[e].at = (struct pd_layout){ .identifier = 8,
							.ip = 16,
							.tid = 24,
							.time = 32,
							.cpu = 40,
							.period = 48,
							.fixed_end = 56 };
	}
	made_facts = calloc(N_SAMPLES, sizeof(*made_facts));
	bytes = calloc(N_SAMPLES, 300);
	if (!made_facts || !bytes)
		return -1;
	p = bytes;
	for (size_t i = 0, c = 0; i < N_SAMPLES; i++) {
		if (i == c * N_SAMPLES / N_CHUNKS && c < N_CHUNKS)
			made_chunks[c++].p = p;
		draw_fact(&made_facts[i]);
		p = write_fact(p, &made_facts[i]);
		for (size_t k = 0; k < c; k++)
			made_chunks[k].end = k + 1 < c ? made_chunks[k + 1].p : p;
	}
	return 0;
}

int made_tear_down(void **state)
{
	(void)state;
	free(made_facts);
	free(bytes);
	strtab_free(&made_strings);
	return 0;
}

/* ---- counting plainly ---- */

void count_add(struct count *c, const char *name, uint64_t period)
{
	uint32_t id = strtab_adds(&c->names, name);

	assert_int_not_equal(id, STR_NONE);
	while (c->t.n <= id) {
		struct tally zero = { 0, 0, 0 };

		assert_int_equal(vec_push(&c->t, zero), 0);
	}
	c->t.v[id].samples++;
	c->t.v[id].period += period;
	c->t.v[id].period_sq += (double)period * (double)period;
}

void count_free(struct count *c)
{
	strtab_free(&c->names);
	vec_free(&c->t);
}

void plain_place(char out[80], const struct fact *f, bool kernel, uint64_t ip, int *how)
{
	const struct map *m =
		space_find(NULL, spaces_process(NULL, f->pid, f->time),
			   kernel ? SPACE_KERNEL : SPACE_USER, ip, f->time, NULL, NULL);
	uint64_t addr = m ? map_to_image(m, ip) : ip;
	const struct symbol *s = m ? made_symbol_at(m->image, addr) : NULL;
	const char *dso = m ? made_image_names[m->image] : "[unknown]";

	*how = m ? s ? 0 : 1 : 2;
	if (s)
		(void)snprintf(out, 80, "%s|%s", dso, s->name);
	else
		(void)snprintf(out, 80, "%s|0x%016llx", dso, (unsigned long long)addr);
}

struct profile *made_profile(struct profile_opts *o)
{
	struct err err = ERR_INIT;
	struct profile *p = NULL;

	if (profile_build(&p, NULL, NULL, o, &err))
		fail_msg("%s", err.what);
	return p;
}

void same_tally(const struct tally *got, const struct tally *want, const char *what)
{
	if (got->samples != want->samples || got->period != want->period)
		fail_msg("%s: got %llu/%llu, want %llu/%llu", what,
			 (unsigned long long)got->samples, (unsigned long long)got->period,
			 (unsigned long long)want->samples, (unsigned long long)want->period);
	if (want->period_sq > 0)
		assert_true(got->period_sq / want->period_sq > 1 - 1e-12 &&
			    got->period_sq / want->period_sq < 1 + 1e-12);
}
