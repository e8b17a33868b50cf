/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a table of regions: shown in both formats, or refused.
 *
 * To load a CPU's model takes a hundred times as long as all the rest of it: models are kept from
 * one input to the next, and only some inputs have theirs loaded by the facts of the table itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "region/sums.h"
#include "region/table.h"

static void write_it(const struct report *r, const char *format)
{
	struct show show = { .separator = ',' };
	struct document d;
	struct buf b = BUF_INIT;

	document_open(&d, &regions_document, NULL);
	if (show_choose(&show, &regions_document, format, NULL, NULL) ||
	    report_document(&d, r, true, NULL) || document_write(&b, &d, &show, NULL))
		abort();
	document_close(&d);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEPT	     16
#define LOADS_ITSELF 128 /* one input in so many */

/* Models by name, the unknown ones, too. */
static struct kept {
	char id[sizeof(((struct table_part *)0)->model)];
	struct model *m;
} kept[KEPT];

static struct model *model_of(const char *id)
{
	static const struct model_sources none = { .n_dirs = 0 };
	static size_t next;
	struct kept *k;

	for (size_t i = 0; i < KEPT; i++)
		if (!strcmp(kept[i].id, id))
			return kept[i].m;
	k = &kept[next++ % KEPT];
	model_free(k->m);
	k->m = NULL;
	memcpy(k->id, id, strlen(id) + 1);
	if (model_load(&k->m, &none, id, NULL, NULL))
		k->m = NULL;
	return k->m;
}

static int open_it(struct report *r, const struct table_view *v, const uint8_t *data, size_t size)
{
	struct model *models[TABLE_PARTS] = { NULL };
	unsigned sum = (unsigned)size;

	for (size_t i = 0; i < size && i < 4096; i++)
		sum = sum * 31 + data[i];
	if (sum % LOADS_ITSELF == 0)
		return report_open(r, v, NULL, NULL);
	for (size_t i = 0; i < v->head.n_parts; i++)
		models[i] = model_of(v->head.part[i].model);
	return report_open(r, v, models, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* as a mapped file begins */
	uint8_t *p = aligned_alloc(64, size / 64 * 64 + 64);
	struct table_view v;
	struct report r;

	if (!p)
		abort();
	memcpy(p, data, size);
	if (!table_parse(&v, p, size, "it", NULL) && !open_it(&r, &v, data, size)) {
		write_it(&r, "term");
		write_it(&r, "csv");
		write_it(&r, "json");
		report_close(&r);
	}
	free(p);
	return 0;
}
