/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration file's parser. What it lets through must apply to every command, and every key
 * must have been said by somebody then; what it refuses must name the file. The same bytes, as far
 * as they are text, are CYCLADE_OPTS too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* the commands themselves are not called, but their table is linked */
static void apply(const struct config *c, struct arena *a, enum command cmd)
{
	struct options o = { 0 };

	if (config_apply(c, &o, a, cmd, NULL))
		abort();
	for (size_t i = 0; i < n_option_rows; i++)
		if (o.said[i].from && (!o.said[i].where || !config_concerns(cmd)) &&
		    o.said[i].from != FROM_FILE)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct config c = { 0 };
	struct err err = ERR_INIT;
	struct options o = { 0 };
	char *text;

	if (size > CONFIG_SIZE_MAX)
		return 0;
	if (!config_parse(&c, &a, "f", (const char *)data, size, &err)) {
		for (int i = 0; i < CMD_COUNT; i++)
			apply(&c, &a, (enum command)i);
	} else if (err.code == ERR_NONE || strncmp(err.what, "f:", 2) != 0) {
		abort();
	}
	config_free(&c);
	text = arena_strndup(&a, (const char *)data, size);
	if (!text || (options_parse_text(&o, &a, CMD_REPORT, text, &err) && err.code == ERR_NONE))
		abort();
	arena_free(&a);
	return 0;
}
