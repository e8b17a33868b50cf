/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mcp - what `cyclade mcp` lets a client ask: tools, their arguments, and the command that each of
 * them is.
 *
 *	cJSON *q = mcp_read(line, len, &err)		one request, or why it is none
 *	mcp_tools(array)				descriptions, for tools/list
 *	mcp_words(&call, &may, name, arguments, &err)	a command's words, or why not
 *
 * A tool is a command of this program with fixed options. A value never becomes an option: it
 * stands behind "=" or "--". Paths are resolved first and must lie below a directory that may be
 * read; a program must be one of those that may be run.
 */
#ifndef CYCLADE_CLI_MCP_MCP_H
#define CYCLADE_CLI_MCP_MCP_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/options.h"

#define MCP_LINE_MAX ((size_t)1 << 20) /* bytes of a request */
#define MCP_WORDS    80u

struct mcp_may {
	struct text_list programs, dirs; /* as realpath() gives them */
};

struct mcp_call {
	const char *words[MCP_WORDS + 1]; /* the first is "cyclade"; NULL behind the last */
	unsigned n;
	bool measures;	 /* runs a program, whose exit code it has */
	bool may_say_no; /* exit code 1 is an answer */
};

/* NULL if the line is no JSON, too deep, not UTF-8, or has a NUL in a string. */
cJSON *mcp_read(const char *line, size_t len, struct err *err);
void mcp_tools(cJSON *array);
bool mcp_has_tool(const char *name);
/* The words are the arena's. `arguments` NULL: none. */
int mcp_words(struct mcp_call *call, struct arena *a, const struct mcp_may *may, const char *name,
	      const cJSON *arguments, struct err *err) MUST_USE;

#endif
