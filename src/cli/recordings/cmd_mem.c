/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade mem [FILE] - see doc/cyclade-mem.1.md.
 */
#include <stdlib.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "cli/recordings/result.h"
#include "report/memory_view.h"

struct reading {
	struct memory *memory; /* NULL: others share it, and it is not this result's to free */
	struct memory_objects *objects;
	struct memory_view v;
};

static void free_memory_result(void *own)
{
	struct reading *c = own;

	memory_objects_free(c->objects);
	memory_free(c->memory);
	free(c);
}

static void end_memory(void *own)
{
	memory_free(own);
}

static int read_linear_width(uint64_t *width, const char *text, struct err *err)
{
	if (num_parse_u64(width, text, err))
		return err_prefix(err, "--linear");
	if (*width && *width <= UINT32_MAX)
		return 0;
	return err_set(err, ERR_USAGE, "--linear takes a width from 1 to 4294967295 cycles");
}

/* Images that are worth a note (recording_lacks), by image. */
static bool *find_absent_memory(const struct memory *m, const struct result_ask *ask)
{
	size_t n_images = images_count(ask->r->images);
	uint64_t *samples = xcalloc(n_images + 1, sizeof(*samples));
	bool *absent = arena_xalloc(&ask->cli->arena, n_images + 1);

	for (size_t i = m->first[MEMORY_INSTRUCTION]; i < m->first[MEMORY_INSTRUCTION + 1]; i++)
		if (m->group[i].key[1] < n_images)
			samples[m->group[i].key[1]] += m->group[i].samples;
	for (uint32_t id = 0; id < n_images; id++)
		absent[id] = recording_lacks(ask->r, id, samples[id], m->samples);
	free(samples);
	return absent;
}

int mem_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
	     struct err *err)
{
	const struct options *o = &ask->cli->opt;
	struct reading *c = out->own;
	struct memory_opts mo = { .threads = memory_shows_threads(ask->show), .map = o->map };
	struct text_list events;

	if (turn)
		return 0;
	out->own = c = xcalloc(1, sizeof(*c));
	out->end = free_memory_result;
	c->v.is_linear = o->linear;
	if (o->linear && *o->linear && read_linear_width(&c->v.linear, o->linear, err))
		return -1;
	/* allocations are something to show, too */
	data_begin(ask->r->spaces);
	if (recording_line_size(ask->r, ask->cli, &mo.line_size, err))
		return -1;
	mo.or_none = data_heap_facts(ask->r->spaces);
	if (split_events(ask->cli, &o->event, &events, err))
		return -1;
	mo.events = events.v;
	mo.n_events = events.n;
	return memory_begin(&c->memory, &c->objects, pass, ask->r->rec, ask->r->spaces, &mo, err);
}

int mem_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct reading *c = out->own;

	if (memory_end(c->memory, err))
		return -1;
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input,
			 find_absent_memory(c->memory, ask));
	c->v.m = c->memory;
	if (ask->bases && !ask->bases->memory.own) {
		ask->bases->memory = (struct result_shared){ .own = c->memory, .end = end_memory };
		c->memory = NULL;
	}
	c->v.objects = c->objects;
	c->v.spaces = ask->r->spaces;
	c->v.limit = (size_t)ask->cli->opt.limit;
	document_open(&out->d, &memory_document, &c->v);
	memory_put(&out->d, &c->v);
	return 0;
}

static int operands(struct cli *cli, struct cli_operands *out, struct err *err)
{
	bool named = cli->opt.input || cli->args.n;

	out->path = cli_input(cli, err);
	out->input = named ? out->path : NULL;
	return out->path ? 0 : -1;
}

int cmd_mem(struct cli *cli)
{
	return result_command(cli, RESULT_MEM, operands);
}
