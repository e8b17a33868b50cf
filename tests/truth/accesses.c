/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accesses - a QEMU plugin that samples the loads and stores of a program's threads, as a processor
 * with memory sampling would.
 *
 *	qemu-x86_64 -plugin accesses.so,out=FILE,period=50,seed=1 PROGRAM [ARGUMENTS]
 *
 * With lines=off nothing is known of lines, and memory has no limit. FILE gets lines, in the order
 * in which things happened:
 *
 *	map START END OFFSET PATH			code of a file
 *	access THREAD IP ADDRESS BYTES KIND LOCKED HITM	a sample; KIND is load or store
 *	line ADDRESS THREAD LOADS STORES HITM		at the end: all accesses, sampled or not
 *
 * HITM is that of caches without an end: a load of a line whose last writer is another thread, and
 * that nobody has loaded since. One access at a time: threads wait for one another here.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "../../src/simulate/plugin/qemu_api.h"

#define LINE	64u
#define SLOTS	(1u << 14) /* of lines */
#define THREADS 8u
#define NOBODY	THREADS

int qemu_plugin_version = QEMU_API_VERSION;

struct insn {
	uint64_t addr;
	bool locked;
};
struct use {
	uint64_t loads, stores, hitm;
};
struct line {
	uint64_t number;
	bool used;
	unsigned writer; /* the thread that wrote it, if no other has loaded it since */
	struct use of[THREADS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line lines[SLOTS];
static uint64_t left[THREADS], period = 50, state = 1;
static bool by_line = true;
static FILE *out;

static struct line *line_of(uint64_t number)
{
	size_t i = (size_t)(number * 0x9e3779b97f4a7c15u >> 40) % SLOTS, n = 0;

	while (lines[i].used && lines[i].number != number) {
		i = (i + 1) % SLOTS;
		if (++n == SLOTS)
			abort();
	}
	if (!lines[i].used)
		lines[i] = (struct line){ .number = number, .used = true, .writer = NOBODY };
	return &lines[i];
}

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void on_access(unsigned thread, uint32_t info, uint64_t vaddr, void *ctx)
{
	const struct insn *in = ctx;
	bool store = qemu_plugin_mem_is_store(info), hitm;
	struct line none = { .writer = NOBODY }, *l;

	if (thread >= THREADS)
		abort();
	(void)pthread_mutex_lock(&lock);
	l = by_line ? line_of(vaddr / LINE) : &none;
	hitm = !store && l->writer != NOBODY && l->writer != thread;
	l->writer = store ? thread : hitm ? NOBODY : l->writer;
	l->of[thread].loads += !store;
	l->of[thread].stores += store;
	l->of[thread].hitm += hitm;
	if (!left[thread])
		left[thread] = period / 2 + draw() % (period + 1);
	if (!--left[thread])
		(void)fprintf(out, "access %u %" PRIx64 " %" PRIx64 " %u %s %d %d\n", thread,
			      in->addr, vaddr, 1u << qemu_plugin_mem_size_shift(info),
			      store ? "store" : "load", in->locked, hitm);
	(void)pthread_mutex_unlock(&lock);
}

/* A lock prefix, or an exchange with memory. */
static bool is_locked(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i] == 0xf0)
			return true;
		if (p[i] == 0x86 || p[i] == 0x87)
			return i + 1 < len && p[i + 1] >> 6 != 3;
		if (p[i] != 0x66 && p[i] != 0xf2 && p[i] != 0xf3 && p[i] >> 4 != 4)
			return false;
	}
	return false;
}

static void on_block(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	bool fresh;
	const struct map *m;

	(void)plugin;
	(void)pthread_mutex_lock(&lock);
	m = map_of(qemu_plugin_tb_vaddr(tb), &fresh);
	if (m && fresh)
		(void)fprintf(out, "map %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", m->start, m->end,
			      m->offset, m->path);
	(void)pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *q = qemu_plugin_tb_get_insn(tb, i);
		struct insn *in = malloc(sizeof(*in));

		if (!in)
			abort();
		in->addr = qemu_plugin_insn_vaddr(q);
		in->locked = is_locked(qemu_plugin_insn_data(q), qemu_plugin_insn_size(q));
		qemu_plugin_register_vcpu_mem_cb(q, on_access, 0, QEMU_MEM_BOTH, in);
	}
}

static void on_end(uint64_t plugin, void *ctx)
{
	(void)plugin;
	(void)ctx;
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SLOTS * THREADS; i++) {
		const struct line *l = &lines[i / THREADS];
		const struct use *u = &l->of[i % THREADS];

		if (u->loads || u->stores)
			(void)fprintf(out,
				      "line %" PRIx64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				      l->number * LINE, (unsigned)(i % THREADS), u->loads,
				      u->stores, u->hitm);
	}
	if (fclose(out))
		abort();
	out = NULL;
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	const char *path = NULL;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
		else if (!strncmp(argv[i], "period=", 7))
			period = strtoull(argv[i] + 7, NULL, 0);
		else if (!strncmp(argv[i], "seed=", 5))
			state = strtoull(argv[i] + 5, NULL, 0) * 2 + 1;
		else if (!strcmp(argv[i], "lines=off"))
			by_line = false;
		else
			return -1;
	}
	out = path && period ? fopen(path, "w") : NULL;
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_block);
	qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
	return 0;
}
