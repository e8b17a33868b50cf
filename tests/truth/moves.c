/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moves - a QEMU plugin with models of what memory does, for tests of the kernels' tables.
 *
 *	qemu-x86_64 -plugin moves.so,out=FILE PROGRAM [ARGUMENTS]
 *
 * Store buffers of several lengths: a load of bytes of which the youngest store that has any has
 * not all is blocked; one with the last 12 address bits of a store to another page is an alias.
 * Caches and TLBs of several sizes, each with three ways to choose what goes: the least recently
 * used, any, and as little as possible (what came first stays). Stores past the caches are known by
 * their code.
 *
 * All begin empty at a sched_yield() of the program and end at the next, and so on. FILE gets a
 * line for each time, "KEY COUNT KEY COUNT ...":
 *	blocked_forwards.STORES, aliases_4k.STORES
 *	in.POLICY.LINES, out.POLICY.LINES	lines that came, and written ones that went
 *	walks.POLICY.ENTRIES, huge.POLICY.ENTRIES	of pages of 4 KB, and of 2 MB
 *	past
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/simulate/plugin/qemu_api.h"

int qemu_plugin_version = QEMU_API_VERSION;

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* ---- caches ---- */

enum policy { LRU, ANY, KEEP, POLICIES };
static const char *const policy_key[POLICIES] = { "lru", "any", "keep" };
#define BUCKETS 65536u
#define PINNED	0xff

struct entry {
	uint64_t tag;
	uint32_t next, before, after; /* of the bucket; of the order: 0 is its head */
	bool dirty;
};

struct cache {
	const char *in, *out;
	unsigned shift;
	uint32_t size;
	enum policy policy;
	uint32_t bucket[BUCKETS];
	struct entry *entry; /* 1 to size */
	uint32_t used, kept;
	uint64_t random, came, went;
};

static uint32_t *bucket_of(struct cache *c, uint64_t tag)
{
	return &c->bucket[(tag * UINT64_C(0x9e3779b97f4a7c15)) >> 48];
}

static void unlink_entry(struct cache *c, uint32_t e)
{
	c->entry[c->entry[e].before].after = c->entry[e].after;
	c->entry[c->entry[e].after].before = c->entry[e].before;
}

static void to_front(struct cache *c, uint32_t e)
{
	struct entry *head = &c->entry[0];

	c->entry[e].before = 0;
	c->entry[e].after = head->after;
	c->entry[head->after].before = e;
	head->after = e;
}

/* Makes room; those that are kept are in no order. */
static uint32_t evict(struct cache *c)
{
	uint32_t e = c->entry[0].before, *at;

	if (c->policy == ANY) {
		c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		e = 1 + (uint32_t)((c->random >> 33) % c->size);
	}
	for (at = bucket_of(c, c->entry[e].tag); *at != e; at = &c->entry[*at].next)
		;
	*at = c->entry[e].next;
	unlink_entry(c, e);
	c->went += c->entry[e].dirty;
	return e;
}

static void touch(struct cache *c, uint64_t tag, bool write)
{
	uint32_t *first = bucket_of(c, tag), e = *first;
	bool keep;

	while (e && c->entry[e].tag != tag)
		e = c->entry[e].next;
	if (e) {
		c->entry[e].dirty |= write;
		if (c->entry[e].before != UINT32_MAX) {
			unlink_entry(c, e);
			to_front(c, e);
		}
		return;
	}
	c->came++;
	keep = c->policy == KEEP && c->kept + 8 < c->size;
	e = c->used < c->size ? ++c->used : evict(c);
	c->entry[e] = (struct entry){ .tag = tag, .next = *first, .dirty = write };
	*first = e;
	if (keep)
		c->entry[e].before = UINT32_MAX;
	else
		to_front(c, e);
	c->kept += keep;
}

static struct cache cache[24];
static size_t n_caches;

static void empty(struct cache *c)
{
	memset(c->bucket, 0, sizeof(c->bucket));
	c->entry[0] = (struct entry){ .tag = 0 };
	c->used = c->kept = 0;
	c->random = c->came = c->went = 0;
}

static void add_caches(const char *in, const char *out, unsigned shift, uint32_t size)
{
	for (unsigned p = 0; p < POLICIES; p++) {
		struct cache *c = &cache[n_caches++];

		c->in = in;
		c->out = out;
		c->shift = shift;
		c->size = size;
		c->policy = (enum policy)p;
		c->entry = calloc(size + 1, sizeof(*c->entry));
		if (!c->entry)
			abort();
	}
}

/* ---- stores ---- */

#define STAYS 512u /* instructions behind which a store has left its buffer */

struct span {
	uint64_t from, to;
};
static const size_t windows[] = { 16, 56, 120 };
static struct span store[128];
static uint64_t when[128], now; /* instructions */
static size_t n_stores;
static uint64_t blocked[COUNT(windows)], aliases[COUNT(windows)], past;

static bool meet(struct span a, struct span b)
{
	return a.from < b.to && b.from < a.to;
}

static struct span in_page(struct span s)
{
	return (struct span){ s.from & 4095, (s.from & 4095) + s.to - s.from };
}

static void load_behind(struct span l, size_t window, uint64_t *is_blocked, uint64_t *is_alias)
{
	for (size_t i = n_stores; i > 0 && n_stores - i < window; i--) {
		struct span s = store[(i - 1) % COUNT(store)];

		if (now - when[(i - 1) % COUNT(store)] > STAYS)
			return;
		if (meet(l, s)) {
			*is_blocked += l.from < s.from || l.to > s.to;
			return;
		}
		if (meet(in_page(l), in_page(s))) {
			++*is_alias;
			return;
		}
	}
}

/* ---- instructions ---- */

struct insn {
	bool store_only, past;
};
static struct span loaded, stored; /* by the instruction that runs; to 0: nothing */
static uint64_t last_past;
static struct newest { /* line of the last access: all caches and TLBs have it */
	uint64_t line;
	bool write;
} newest;
static FILE *out;
static bool arm, counting;

static void describe(struct insn *i, const struct qemu_plugin_insn *q)
{
	const uint8_t *p = qemu_plugin_insn_data(q);
	uint32_t x = 0;

	*i = (struct insn){ .past = false };
	memcpy(&x, p, qemu_plugin_insn_size(q) < 4 ? qemu_plugin_insn_size(q) : 4);
	if (arm) {
		i->store_only = (x & 0x3f400000) == 0x08000000; /* QEMU compares first */
		i->past = (x & 0x3fc00000) == 0x2c000000;	/* stnp of vectors */
	} else {
		unsigned rex = (x >> 12 & 0xf) == 4 ? 2 : 1; /* movntdq, movntpd */

		i->past = p[0] == 0x66 && p[rex] == 0x0f &&
			  (p[rex + 1] == 0xe7 || p[rex + 1] == 0x2b);
	}
}

static void finish(void)
{
	for (size_t i = 0; loaded.to && i < COUNT(windows); i++)
		load_behind(loaded, windows[i], &blocked[i], &aliases[i]);
	if (stored.to) {
		when[n_stores % COUNT(store)] = now;
		store[n_stores++ % COUNT(store)] = stored;
	}
	now++;
	loaded = stored = (struct span){ 0, 0 };
}

static void on_insn(unsigned cpu, void *ctx)
{
	(void)cpu;
	(void)ctx;
	finish();
}

static void widen(struct span *s, uint64_t from, uint64_t to)
{
	s->from = s->to && s->from < from ? s->from : from;
	s->to = s->to > to ? s->to : to;
}

static void on_memory(unsigned cpu, uint32_t info, uint64_t vaddr, void *ctx)
{
	const struct insn *i = ctx;
	uint64_t to = vaddr + (UINT64_C(1) << qemu_plugin_mem_size_shift(info));
	bool write = qemu_plugin_mem_is_store(info);

	(void)cpu;
	if (!counting || (!write && i->store_only))
		return;
	widen(write ? &stored : &loaded, vaddr, to);
	if (i->past) {
		past += vaddr >> 6 != last_past;
		last_past = vaddr >> 6;
	}
	if (vaddr >> 6 == (to - 1) >> 6 && vaddr >> 6 == newest.line && !i->past &&
	    (!write || newest.write))
		return; /* nothing came since */
	newest = i->past || vaddr >> 6 != (to - 1) >> 6 ? (struct newest){ 0, false }
							: (struct newest){ vaddr >> 6, write };
	for (size_t k = 0; k < n_caches; k++)
		for (uint64_t tag = vaddr >> cache[k].shift;
		     (!i->past || cache[k].shift > 6) && tag <= (to - 1) >> cache[k].shift; tag++)
			touch(&cache[k], tag, write);
}

static void on_translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct insn *all = calloc(n + 1, sizeof(*all)); /* lives as long as the program */

	(void)plugin;
	if (!all)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *q = qemu_plugin_tb_get_insn(tb, i);

		describe(&all[i], q);
		qemu_plugin_register_vcpu_insn_exec_cb(q, on_insn, 0, &all[i]);
		qemu_plugin_register_vcpu_mem_cb(q, on_memory, 0, QEMU_MEM_BOTH, &all[i]);
	}
}

static void begin(void)
{
	for (size_t i = 0; i < n_caches; i++)
		empty(&cache[i]);
	for (size_t i = 0; i < COUNT(windows); i++)
		blocked[i] = aliases[i] = 0;
	newest = (struct newest){ 0, false };
	n_stores = 0;
	past = last_past = 0;
}

static void tell(void)
{
	for (size_t i = 0; i < COUNT(windows); i++)
		fprintf(out, "blocked_forwards.%zu %" PRIu64 " aliases_4k.%zu %" PRIu64 " ",
			windows[i], blocked[i], windows[i], aliases[i]);
	for (size_t i = 0; i < n_caches; i++) {
		const struct cache *c = &cache[i];

		fprintf(out, "%s.%s.%u %" PRIu64 " ", c->in, policy_key[c->policy], c->size,
			c->came);
		if (c->out)
			fprintf(out, "%s.%s.%u %" PRIu64 " ", c->out, policy_key[c->policy],
				c->size, c->went);
	}
	fprintf(out, "past %" PRIu64 "\n", past);
}

static void on_syscall(uint64_t plugin, unsigned cpu, int64_t number, uint64_t a, uint64_t b,
		       uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
	(void)plugin, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g,
		(void)h;
	if (number != (arm ? 124 : 24)) /* sched_yield */
		return;
	finish();
	if (counting)
		tell();
	else
		begin();
	counting = !counting;
}

static void on_end(uint64_t plugin, void *ctx)
{
	(void)plugin;
	(void)ctx;
	if (fclose(out))
		abort();
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4) != 0) {
		fprintf(stderr, "moves: out=FILE is needed\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "we");
	if (!out)
		return -1;
	arm = !strcmp(info->target, "aarch64");
	add_caches("in", "out", 6, 128);
	add_caches("in", "out", 6, 131072);
	add_caches("walks", NULL, 12, 16);
	add_caches("walks", NULL, 12, 2048);
	add_caches("huge", NULL, 21, 16);
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(plugin, on_syscall);
	qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
	return 0;
}
