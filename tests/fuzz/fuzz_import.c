/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as vendors' JSON, as one file and cut in two: what comes out are texts of lines that a
 * model can be loaded from, or refused, but never misread.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(const struct model_imported *made, const char *id)
{
	struct model_text text[4];
	struct model_sources s = { .text = text, .n_texts = 4 };
	struct err err = ERR_INIT;
	struct model *m;

	for (int i = 0; i < 4; i++) {
		text[i] =
			(struct model_text){ made->path[i], made->text[i], strlen(made->text[i]) };
		for (const char *c = made->text[i]; *c; c++)
			if ((unsigned char)*c < ' ' && *c != '\n')
				abort();
	}
	if (!model_load(&m, &s, id, NULL, &err))
		model_free(m);
	else if (!err.what[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
	size_t first = cut ? (size_t)(cut - data) : size;
	const struct import_file file[] = {
		{ "a/x.json", (const char *)data, first },
		{ "b/recommended.json", (const char *)data + first + 1,
		  cut ? size - first - 1 : 0 },
	};
	struct import_facts facts = { .id = size % 2 ? "ivb" : "mine" };
	struct arena a = ARENA_INIT;
	struct model_imported made;
	struct err err = ERR_INIT;

	if (!model_import(&made, &a, file, cut ? 2 : 1, &facts, &err))
		load(&made, facts.id);
	else if (!err.what[0])
		abort();
	arena_free(&a);
	return 0;
}
