/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of `cyclade mcp`: a line is read, and taken as the parameters of a call. Of what comes
 * through, no word that the client gave may be an option, and no program may be run.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Behind "--", or a fixed option with or without its value. */
static void check(const struct mcp_call *c)
{
	static const char *const fixed[] = { "--findings", "--format=json", "--callers",
					     "--no-asm",   "--limit=",	    "--input=/nowhere/" };

	if (c->measures || c->words[c->n])
		abort();
	for (unsigned i = 1; i < c->n && strcmp(c->words[i], "--") != 0; i++) {
		bool known = c->words[i][0] != '-';

		for (size_t k = 0; k < sizeof(fixed) / sizeof(*fixed); k++)
			known |= !strncmp(c->words[i], fixed[k], strlen(fixed[k]));
		if (!known)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *dirs[] = { "/nowhere", NULL };
	const struct mcp_may may = { .dirs = { dirs, 1 } };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct mcp_call call;
	const cJSON *name;
	cJSON *q;

	if (size > MCP_LINE_MAX)
		return 0;
	q = mcp_read((const char *)data, size, &err);
	if (!q && err.code == ERR_NONE)
		abort();
	name = cJSON_GetObjectItemCaseSensitive(q, "name");
	if (cJSON_IsString(name)) {
		err_clear(&err);
		if (!mcp_words(&call, &a, &may, name->valuestring,
			       cJSON_GetObjectItemCaseSensitive(q, "arguments"), &err))
			check(&call);
		else if (err.code == ERR_NONE)
			abort();
	}
	cJSON_Delete(q);
	arena_free(&a);
	return 0;
}
