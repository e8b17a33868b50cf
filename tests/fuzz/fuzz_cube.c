/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording, its samples as a cube and as data for a page: sums, references, order,
 * and well-formed JSON whose places are in the list of texts. No file that the recording names is
 * opened.
 */
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "report/cube_view.h"
#include "show/pack.h"
#include "recording.h"

static bool in_order(const struct cube_cell *a, const struct cube_cell *b)
{
	if (a->node != b->node)
		return a->node < b->node;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu;
	return a->bin < b->bin;
}

static void check(const struct cube *c)
{
	uint64_t samples = 0, period = 0;

	for (size_t i = 0; i < c->n_frames; i++)
		hold(c->frame[i].function && c->frame[i].dso);
	for (size_t i = 0; i < c->n_nodes; i++) {
		hold(c->node[i].parent == CUBE_NONE || c->node[i].parent < i);
		hold(c->node[i].frame == CUBE_NONE || c->node[i].frame < c->n_frames);
		hold(c->node[i].frame == CUBE_NONE || !c->frame[c->node[i].frame].inlined ||
		     c->node[i].parent != CUBE_NONE);
	}
	for (size_t i = 0; i < c->n_cells; i++) {
		const struct cube_cell *v = &c->cell[i];

		hold(v->node < c->n_nodes && v->thread < c->n_threads && v->samples);
		hold(v->cpu == CUBE_NONE || v->cpu < c->n_cpus);
		hold(v->bin < (c->n_bins ? c->n_bins : 1) && (!i || in_order(v - 1, v)));
		samples += v->samples;
		period += v->period;
	}
	hold(samples == c->samples && period == c->period && c->folded <= samples);
}

static void check_place(double at, int n)
{
	hold(at >= 0 && at < n);
}

/* Cells of a column, in any of its forms, are places of texts. */
static void check_cells(const cJSON *cells, int n)
{
	const cJSON *x, *deltas, *list;
	double at = 0;

	while ((x = cJSON_GetObjectItemCaseSensitive(cells, "of")))
		cells = x;
	deltas = cJSON_GetObjectItemCaseSensitive(cells, "deltas");
	x = cJSON_GetObjectItemCaseSensitive(cells, "same");
	if (x) {
		hold(cJSON_IsNumber(x));
		check_place(x->valuedouble, n);
		return;
	}
	list = deltas ? deltas : cells;
	hold(cJSON_IsArray(list));
	cJSON_ArrayForEach(x, list)
	{
		hold(cJSON_IsNumber(x));
		at = deltas ? at + x->valuedouble : x->valuedouble;
		check_place(at, n);
	}
}

/* The first cell of a frame is the place of its name among the texts. */
static void check_texts(const cJSON *page, const struct cube *c)
{
	const cJSON *texts = cJSON_GetObjectItemCaseSensitive(page, "strings"), *row;
	const cJSON *cube = cJSON_GetObjectItemCaseSensitive(page, "cube");
	int n = cJSON_GetArraySize(texts);

	hold(cJSON_IsArray(texts) && cJSON_IsObject(cube));
	cube = cJSON_GetObjectItemCaseSensitive(cube, "frames");
	if (cJSON_IsObject(cube)) {
		row = cJSON_GetObjectItemCaseSensitive(cube, "n");
		hold(cJSON_IsNumber(row) && row->valuedouble == (double)c->n_frames);
		row = cJSON_GetObjectItemCaseSensitive(cube, "columns");
		hold(cJSON_GetArraySize(row) > 0);
		check_cells(cJSON_GetArrayItem(row, 0), n);
		return;
	}
	hold((size_t)cJSON_GetArraySize(cube) == c->n_frames);
	cJSON_ArrayForEach(row, cube)
	{
		const cJSON *at = cJSON_GetArrayItem(row, 0);

		hold(cJSON_IsNumber(at));
		check_place(at->valuedouble, n);
	}
}

static void pack(const struct cube *c, const char *event)
{
	struct buf out = BUF_INIT;
	struct document d;
	struct pack p;
	cJSON *page;

	document_open(&d, &cube_document, NULL);
	cube_put(&d, c, event, NULL);
	pack_open(&p, &out);
	pack_document(&p, "document", "cube", &d);
	pack_object(&p, "cube");
	pack_members(&p, &d);
	pack_end(&p);
	pack_close(&p);
	hold(!out.failed && !strchr(buf_str(&out), '<'));
	page = cJSON_ParseWithLength(out.s, out.len);
	hold(page != NULL);
	check_texts(page, c);
	cJSON_Delete(page);
	document_close(&d);
	buf_free(&out);
}

static void build(const struct pd *rec, struct spaces *sp)
{
	static const struct profile_opts one = { .threads = 1, .chain_inline = true };
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n && i < 4; i++) {
		const struct pass_opts po = { .threads = 1 };
		struct err err = ERR_INIT;
		struct cube *c = NULL;
		struct pass *p;

		hold(!pass_new(&p, rec, sp, NULL, &po, &err));
		if (cube_begin(&c, p, rec, sp, &one, i, &err) || pass_run(p, &err) ||
		    cube_end(c, &err)) {
			hold(err.what[0]);
			cube_free(c);
			pass_free(p);
			continue;
		}
		pass_free(p);
		check(c);
		pack(c, ev[i].name);
		cube_free(c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_recording(data, size, build);
}
