/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of recordings made here byte by byte: what is known to be in them against what is said
 * of them; which samples have registers that can be used.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/feed.h"
#include "analyse/pass.h"
#include "analyse/registers.h"
#include "base/buf.h"

#define ARCH_BIT 6u

struct made {
	struct buf data;
	struct perf_event_attr attr;
	const char *arch;
};

struct opened {
	struct buf file;
	struct pd *rec;
	struct images *images;
	struct spaces *spaces;
	struct pass *pass;
	struct registers *r;
};

static void put_header(struct buf *b, uint32_t type, uint16_t misc, uint16_t size)
{
	const uint16_t words[] = { misc, size };

	buf_put_u32(b, type);
	buf_put(b, words, sizeof(words));
}

/* /bin/nothing at 0x400000 to 0x500000 in process 7, from the beginning. */
static void put_map(struct made *m)
{
	static const char path[16] = "/bin/nothing";
	struct buf b = BUF_INIT;

	buf_put_u32(&b, 7);
	buf_put_u32(&b, 7);
	buf_put_u64(&b, 0x400000);
	buf_put_u64(&b, 0x100000);
	buf_put_u64(&b, 0);
	buf_put(&b, path, sizeof(path));
	put_header(&m->data, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, (uint16_t)(8 + b.len));
	buf_put(&m->data, b.s, b.len);
	buf_free(&b);
}

/* A sample of event 0; v: `n` registers; abi 0: none. */
static void put_sample(struct made *m, uint16_t misc, uint64_t ip, uint64_t abi, const uint64_t *v,
		       size_t n)
{
	size_t size = 8 + 8 + 8 + 8 + (abi ? n * 8 : 0);

	put_header(&m->data, PERF_RECORD_SAMPLE, misc, (uint16_t)size);
	buf_put_u64(&m->data, ip);
	buf_put_u32(&m->data, 7);
	buf_put_u32(&m->data, 7);
	buf_put_u64(&m->data, abi);
	for (size_t i = 0; abi && i < n; i++)
		buf_put_u64(&m->data, v[i]);
}

static void open_made(struct opened *o, const struct made *m)
{
	const size_t attrs = 104, data = attrs + sizeof(m->attr) + 16, table = data + m->data.len;
	const struct images_opts io = { 0 };
	const struct registers_opts ro = { 0 };
	const struct pass_opts po = { 0 };
	struct err err = ERR_INIT;

	memset(o, 0, sizeof(*o));
	buf_puts(&o->file, "PERFILE2");
	buf_put_u64(&o->file, 104);
	buf_put_u64(&o->file, sizeof(m->attr) + 16);
	buf_put_u64(&o->file, attrs);
	buf_put_u64(&o->file, sizeof(m->attr) + 16);
	buf_put_u64(&o->file, data);
	buf_put_u64(&o->file, m->data.len);
	buf_put_u64(&o->file, 0);
	buf_put_u64(&o->file, 0);
	buf_put_u64(&o->file, 1u << ARCH_BIT);
	for (int i = 0; i < 3; i++)
		buf_put_u64(&o->file, 0);
	buf_put(&o->file, &m->attr, sizeof(m->attr));
	buf_put_u64(&o->file, 0);
	buf_put_u64(&o->file, 0);
	buf_put(&o->file, m->data.s, m->data.len);
	buf_put_u64(&o->file, table + 16);
	buf_put_u64(&o->file, 4 + 16);
	buf_put_u32(&o->file, 16);
	buf_puts(&o->file, m->arch);
	buf_fill(&o->file, '\0', 16 - strlen(m->arch));
	assert_false(o->file.failed);
	if (pd_open_memory(&o->rec, o->file.s, o->file.len, &err))
		fail_msg("%s", err.what);
	o->images = images_new(&io, &err);
	assert_non_null(o->images);
	o->spaces = feed_spaces(o->rec, o->images, &err);
	assert_non_null(o->spaces);
	assert_int_equal(pass_new(&o->pass, o->rec, o->spaces, &ro.select, &po, &err), 0);
	assert_int_equal(registers_begin(&o->r, o->pass, o->rec, o->spaces, &ro, &err), 0);
	assert_int_equal(pass_run(o->pass, &err), 0);
	assert_int_equal(registers_end(o->r, &err), 0);
}

static void read_all(struct opened *o)
{
	struct err err = ERR_INIT;

	for (size_t i = 0; i < o->r->n; i++)
		o->r->place[i].wanted = true;
	assert_int_equal(registers_read_begin(o->r, o->pass, &err), 0);
	assert_int_equal(pass_run(o->pass, &err), 0);
	assert_int_equal(registers_read_end(o->r, &err), 0);
}

static void close_made(struct opened *o, struct made *m)
{
	registers_free(o->r);
	pass_free(o->pass);
	spaces_free(o->spaces);
	images_free(o->images);
	pd_close(o->rec);
	buf_free(&o->file);
	buf_free(&m->data);
}

static struct made made(const char *arch, uint64_t sample, uint64_t mask)
{
	struct made m = { .data = BUF_INIT,
			  .arch = arch,
			  .attr = { .type = PERF_TYPE_RAW,
				    .size = sizeof(m.attr),
				    .config = 0xc4,
				    .sample_period = 1000,
				    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | sample } };

	if (sample & PERF_SAMPLE_REGS_INTR)
		m.attr.sample_regs_intr = mask;
	else
		m.attr.sample_regs_user = mask;
	put_map(&m);
	return m;
}

static const struct registers_cell *cell_of(const struct opened *o, size_t place, const char *name)
{
	const struct registers_place *p = &o->r->place[place];

	for (size_t i = 0; i < p->n_cells; i++)
		if (!strcmp(registers_name(o->r->arch, p->cell[i].bit, NULL), name))
			return &p->cell[i];
	fail_msg("no %s", name);
	return NULL;
}

static void same(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
		fail_msg("got %.12g, want %.12g", got, want);
}

/* rcx (bit 2), rdx, rsi, rdi, r8 (bit 16), r9 */
#define ARGUMENTS 0x3003cULL

static void values(void **state)
{
	struct made m = made("x86_64", PERF_SAMPLE_REGS_INTR, ARGUMENTS);
	const struct registers_cell *c;
	struct opened o;
	unsigned argument;

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		/* by the mask's bits, from the lowest: rcx, rdx, rsi, rdi, r8, r9 */
		const uint64_t v[] = { 0x7ffd00001000 + 64 * i,
				       (uint32_t)(int32_t)((int)i % 3 - 1),
				       (uint64_t)((int64_t)i - 10),
				       i % 4,
				       i ? 0x401000 : 0,
				       1ULL << 63 | i };

		put_sample(&m, PERF_RECORD_MISC_USER, 0x401234, PERF_SAMPLE_REGS_ABI_64, v, 6);
	}
	open_made(&o, &m);
	assert_int_equal(o.r->n, 1);
	assert_int_equal(o.r->samples, 20);
	assert_int_equal(o.r->place[0].samples, 20);
	assert_int_equal(o.r->place[0].addr, 0x1234);
	assert_false(o.r->place[0].entry);
	assert_false(o.r->every);
	read_all(&o);
	assert_int_equal(o.r->place[0].n_cells, 6);
	/* arguments in their order */
	for (size_t i = 0; i < 6; i++) {
		(void)registers_name(o.r->arch, o.r->place[0].cell[i].bit, &argument);
		assert_int_equal(argument, i + 1);
	}
	c = cell_of(&o, 0, "rdi"); /* 0 1 2 3, five of each */
	assert_int_equal(c->guess, GUESS_UNSIGNED);
	assert_int_equal(c->least, 0);
	assert_int_equal(c->most, 3);
	same(c->mean, 1.5);
	same(c->rms, sqrt(3.5));
	same(c->half, 1.959963984540054 * sqrt(25.0 / 19 / 20));
	assert_int_equal(c->n_values, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(c->value[i].v, i);
		assert_int_equal(c->value[i].n, 5);
		same(c->value[i].share, 0.25);
		assert_true(c->value[i].half > 0.15 && c->value[i].half < 0.2);
	}
	c = cell_of(&o, 0, "rsi"); /* -10 to 9 */
	assert_int_equal(c->guess, GUESS_SIGNED);
	assert_int_equal((int64_t)c->least, -10);
	assert_int_equal(c->most, 9);
	same(c->mean, -0.5);
	same(c->rms, sqrt(33.5));
	assert_true(c->more);
	assert_int_equal(c->n_values, 0);
	c = cell_of(&o, 0, "rdx"); /* -1 0 1 in 32 bits */
	assert_int_equal(c->guess, GUESS_SIGNED32);
	assert_int_equal((int32_t)(uint32_t)c->least, -1);
	assert_int_equal(c->most, 1);
	same(c->mean, -1.0 / 20);
	assert_int_equal(c->value[0].n, 7);
	c = cell_of(&o, 0, "rcx");
	assert_int_equal(c->guess, GUESS_POINTER);
	assert_int_equal(c->least, 0x7ffd00001000);
	assert_int_equal(c->zeros, 6);
	assert_true(isnan(c->mean) && isnan(c->rms));
	/* below 4 GB, but in a mapping of the process; or NULL */
	assert_int_equal(cell_of(&o, 0, "r8")->guess, GUESS_POINTER);
	c = cell_of(&o, 0, "r9");
	assert_int_equal(c->guess, GUESS_UNSIGNED);
	assert_int_equal(c->most, 1ULL << 63 | 19);
	close_made(&o, &m);
}

static void arm64_and_places(void **state)
{
	struct made m = made("aarch64", PERF_SAMPLE_REGS_USER, 0x3); /* x0, x1 */
	const uint64_t v[] = { 5, 6 }, w[] = { 9, 9 };
	struct opened o;

	(void)state;
	for (int i = 0; i < 3; i++)
		put_sample(&m, PERF_RECORD_MISC_USER, 0x400100, PERF_SAMPLE_REGS_ABI_64, v, 2);
	put_sample(&m, PERF_RECORD_MISC_USER, 0x900000, PERF_SAMPLE_REGS_ABI_64, w, 2);
	/* of a sample in the kernel the registers of user space are of somewhere else */
	put_sample(&m, PERF_RECORD_MISC_KERNEL, 0xffff000000001000, PERF_SAMPLE_REGS_ABI_64, w, 2);
	put_sample(&m, PERF_RECORD_MISC_USER, 0x400100, 0, NULL, 0);
	open_made(&o, &m);
	assert_int_equal(o.r->samples, 6);
	assert_int_equal(o.r->without, 2);
	assert_int_equal(o.r->n, 2);
	assert_int_equal(o.r->place[0].samples, 3);
	assert_int_equal(o.r->place[1].image, IMAGE_NONE);
	assert_int_equal(o.r->place[1].addr, 0x900000);
	read_all(&o);
	assert_int_equal(cell_of(&o, 0, "x0")->value[0].v, 5);
	assert_int_equal(cell_of(&o, 0, "x1")->value[0].v, 6);
	assert_int_equal(cell_of(&o, 1, "x0")->value[0].v, 9);
	assert_true(isnan(cell_of(&o, 1, "x0")->half)); /* one value has no spread */
	close_made(&o, &m);
}

static void behind_the_instruction(void **state)
{
	struct made m = made("x86_64", PERF_SAMPLE_REGS_INTR, 1);
	const uint64_t v[] = { 0xdeadbeef00000001 };
	struct opened o;

	(void)state;
	m.attr.precise_ip = 2;
	put_sample(&m, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, 0x400100,
		   PERF_SAMPLE_REGS_ABI_32, v, 1);
	put_sample(&m, PERF_RECORD_MISC_USER, 0x400200, PERF_SAMPLE_REGS_ABI_64, v, 1);
	open_made(&o, &m);
	read_all(&o);
	assert_int_equal(o.r->n, 2);
	for (size_t i = 0; i < 2; i++) {
		bool exact = o.r->place[i].addr == 0x100;

		assert_int_equal(o.r->place[i].after, exact);
		/* a 32-bit program has no upper half */
		assert_int_equal(cell_of(&o, i, "rax")->least, exact ? 1 : v[0]);
	}
	close_made(&o, &m);
}

static void every_call(void **state)
{
	struct made m = made("x86_64", PERF_SAMPLE_REGS_INTR, 1);
	struct opened o;

	(void)state;
	m.attr.type = PERF_TYPE_BREAKPOINT;
	m.attr.sample_period = 1;
	for (uint64_t i = 0; i < 4; i++)
		put_sample(&m, PERF_RECORD_MISC_USER, 0x400100, PERF_SAMPLE_REGS_ABI_64, &i, 1);
	open_made(&o, &m);
	read_all(&o);
	assert_true(o.r->every);
	same(cell_of(&o, 0, "rax")->half, 0);
	same(cell_of(&o, 0, "rax")->value[0].half, 0);
	close_made(&o, &m);
}

static void limits(void **state)
{
	struct made m = made("x86_64", PERF_SAMPLE_REGS_INTR, 1);
	struct err err = ERR_INIT;
	struct opened o;

	(void)state;
	for (uint64_t i = 0; i <= REGISTERS_WANTED_MAX; i++)
		put_sample(&m, PERF_RECORD_MISC_USER, 0x400000 + i, PERF_SAMPLE_REGS_ABI_64, &i, 1);
	open_made(&o, &m);
	assert_int_equal(o.r->n, REGISTERS_WANTED_MAX + 1);
	for (size_t i = 0; i < o.r->n; i++)
		o.r->place[i].wanted = true;
	assert_int_equal(registers_read_begin(o.r, o.pass, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	close_made(&o, &m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(arm64_and_places),
		cmocka_unit_test(behind_the_instruction),
		cmocka_unit_test(every_call),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
