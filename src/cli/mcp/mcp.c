/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/mcp/mcp.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/fs.h"
#include "base/utf8.h"

enum kind {
	RECORDING, /* a file that may be read; `option` NULL: an operand */
	NEW_FILE,  /* one that is not there yet, in a directory that may be read */
	WORD,	   /* an operand that names no file */
	QUERY,	   /* the same, of SQL */
	COUNT,	   /* behind `option` */
	SWITCH,	   /* `option` if true */
	PROGRAM,   /* one that may be run */
	WORDS,	   /* its arguments */
};

struct param {
	const char *name;
	enum kind kind;
	bool required;
	const char *option, *text;
};

struct tool {
	const char *name, *text;
	const char *fixed[4]; /* the command, and options that are always given */
	bool measures, may_say_no;
	struct param params[6]; /* options first: they stand before "--" */
};

#define JSON_FORMAT                                                        \
	{                                                                  \
		"json", SWITCH, false, "--format=json",                    \
			"true: JSON in place of text; cut JSON is no JSON" \
	}
#define THE_RECORDING                                                                              \
	{                                                                                          \
		"recording", RECORDING, true, "--input=", "path of a recording of cyclade or perf" \
	}
#define OF_PROGRAM                                                                        \
	{ "program", PROGRAM, true, NULL, "path of a program that the starter allowed" }, \
	{                                                                                 \
		"args", WORDS, false, NULL, "its arguments"                               \
	}

static const struct tool tools[] = {
	{ "findings",
	  "What matters most in a recording: one to five sentences with line, share and error. Ask "
	  "this first.",
	  { "report", "--findings" },
	  false,
	  false,
	  { JSON_FORMAT, THE_RECORDING } },
	{ "report",
	  "Functions of a recording that the samples fell into.",
	  { "report" },
	  false,
	  false,
	  { { "limit", COUNT, false, "--limit=", "at most so many rows" },
	    { "callers", SWITCH, false, "--callers", "true: with who called them" },
	    JSON_FORMAT,
	    THE_RECORDING } },
	{ "annotate",
	  "Source lines and instructions of one function with their samples.",
	  { "annotate" },
	  false,
	  false,
	  { { "no_asm", SWITCH, false, "--no-asm", "true: source lines only" },
	    JSON_FORMAT,
	    THE_RECORDING,
	    { "function", WORD, true, NULL, "name of the function" } } },
	{ "diff",
	  "Two recordings compared: which functions became slower, and what is noise.",
	  { "diff" },
	  false,
	  true,
	  { JSON_FORMAT,
	    { "base", RECORDING, true, NULL, "path of the recording of before" },
	    { "new", RECORDING, true, NULL, "path of the recording of after" } } },
	{ "sql",
	  "An SQL query (read only) over samples, records and results of a recording.",
	  { "sql" },
	  false,
	  false,
	  { JSON_FORMAT,
	    THE_RECORDING,
	    { "query", QUERY, true, NULL,
	      "one query; SELECT name, sql FROM sqlite_schema lists the tables" } } },
	{ "info",
	  "What is in a recording: machine, events, records, losses.",
	  { "info" },
	  false,
	  false,
	  { JSON_FORMAT, THE_RECORDING } },
	{ "explain",
	  "Meaning, formula and advice of a node of the tree, a metric or an event.",
	  { "explain" },
	  false,
	  false,
	  { JSON_FORMAT, { "name", WORD, true, NULL, "its name" } } },
	{ "doctor",
	  "What can be measured on this machine, and what to type where something is missing.",
	  { "doctor" },
	  false,
	  true,
	  { JSON_FORMAT } },
	{ "run",
	  "Run a program; shows where its time went.",
	  { "run" },
	  true,
	  false,
	  { OF_PROGRAM } },
	{ "stat",
	  "Run a program and count the top-down tree of its cycles.",
	  { "stat" },
	  true,
	  false,
	  { OF_PROGRAM } },
	{ "record",
	  "Run a program and sample it, with callers, into a new recording.",
	  { "record", "-g" },
	  true,
	  false,
	  { { "recording", NEW_FILE, true, "--output=", "path of the new recording" },
	    OF_PROGRAM } },
};

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

bool mcp_has_tool(const char *name)
{
	return find_tool(name);
}

cJSON *mcp_read(const char *line, size_t len, struct err *err)
{
	const char *end = NULL;
	cJSON *q;
	uint32_t cp;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(line + i, len - i, &cp);
		if (!n || !cp) {
			(void)err_set(err, ERR_FORMAT, "byte %zu is not UTF-8 text", i);
			return NULL;
		}
		/* a string would end there for us, and not for who wrote it */
		if (len - i >= 6 && !strncmp(line + i, "\\u0000", 6)) {
			(void)err_set(err, ERR_FORMAT, "byte %zu: a NUL in a string", i);
			return NULL;
		}
	}
	q = cJSON_ParseWithLengthOpts(line, len, &end, false);
	while (q && end < line + len && strchr(" \t\r", *end))
		end++;
	if (q && end == line + len)
		return q;
	cJSON_Delete(q);
	(void)err_set(err, ERR_FORMAT, "not JSON, or nested too deeply");
	return NULL;
}

void mcp_tools(cJSON *array)
{
	static const char *const types[] = {
		[RECORDING] = "string", [NEW_FILE] = "string", [WORD] = "string",
		[QUERY] = "string",	[COUNT] = "integer",   [SWITCH] = "boolean",
		[PROGRAM] = "string",	[WORDS] = "array",
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		cJSON *tool = cJSON_CreateObject(), *schema, *properties, *required;

		(void)cJSON_AddStringToObject(tool, "name", tools[i].name);
		(void)cJSON_AddStringToObject(tool, "description", tools[i].text);
		schema = cJSON_AddObjectToObject(tool, "inputSchema");
		(void)cJSON_AddStringToObject(schema, "type", "object");
		properties = cJSON_AddObjectToObject(schema, "properties");
		required = cJSON_CreateArray();
		for (const struct param *p = tools[i].params; p->name; p++) {
			cJSON *one = cJSON_AddObjectToObject(properties, p->name);

			(void)cJSON_AddStringToObject(one, "type", types[p->kind]);
			(void)cJSON_AddStringToObject(one, "description", p->text);
			if (p->kind == WORDS)
				(void)cJSON_AddStringToObject(cJSON_AddObjectToObject(one, "items"),
							      "type", "string");
			if (p->kind == COUNT)
				(void)cJSON_AddNumberToObject(one, "minimum", 1);
			if (p->required)
				(void)cJSON_AddItemToArray(required, cJSON_CreateString(p->name));
		}
		(void)cJSON_AddItemToObject(schema, "required", required);
		(void)cJSON_AddBoolToObject(schema, "additionalProperties", false);
		(void)cJSON_AddItemToArray(array, tool);
	}
}

static int put_word(struct mcp_call *c, const char *word, struct err *err)
{
	if (!word)
		return err_nomem(err);
	if (c->n == MCP_WORDS)
		return err_set(err, ERR_LIMIT, "more words than the %u that a call may have",
			       MCP_WORDS);
	c->words[c->n++] = word;
	return 0;
}

static bool is_below_one(const struct mcp_may *may, const char *real)
{
	for (size_t i = 0; i < may->dirs.n; i++)
		if (path_is_below(real, may->dirs.v[i]))
			return true;
	return false;
}

static int outside(const struct param *p, struct err *err)
{
	(void)err_set(err, ERR_PERM, "%s: not a file in a directory that is allowed", p->name);
	return err_hint(err, "cyclade mcp --allow-dir DIR");
}

/* A path outside is refused in the same words whether it is there or not. */
static int recording_path(char real[PATH_MAX], const struct mcp_may *may, const struct param *p,
			  const char *path, struct err *err)
{
	struct stat st;

	if (!realpath(path, real) || !is_below_one(may, real) || !file_look(real, &st) ||
	    !S_ISREG(st.st_mode))
		return outside(p, err);
	if (strchr(real, ','))
		return err_set(err, ERR_USAGE, "%s: a path with a comma", p->name);
	return 0;
}

static int new_path(char real[PATH_MAX], const struct mcp_may *may, const struct param *p,
		    const char *path, struct err *err)
{
	char dir[PATH_MAX], whole[PATH_MAX];
	struct stat st;

	if (path_dir(dir, sizeof(dir), path) || !realpath(dir, whole) ||
	    !is_below_one(may, whole) || path_join(real, PATH_MAX, whole, path_base(path)))
		return outside(p, err);
	if (!*path_base(path) || !strcmp(path_base(path), "..") || !strcmp(path_base(path), ".") ||
	    file_look(real, &st) || readlink(real, whole, 1) >= 0)
		return err_set(err, ERR_USAGE, "%s: must be a new file", p->name);
	return 0;
}

static int allowed_program(char real[PATH_MAX], const struct mcp_may *may, const char *path,
			   struct err *err)
{
	if (realpath(path, real))
		for (size_t i = 0; i < may->programs.n; i++)
			if (!strcmp(real, may->programs.v[i]))
				return 0;
	(void)err_set(err, ERR_PERM, "program: not one that is allowed");
	return err_hint(err, "cyclade mcp --allow-program PATH");
}

/* An operand that a command would take for a file if there is one of that name. */
static int plain_word(const struct param *p, const char *word, struct err *err)
{
	static const char *const begins[] = { "SELECT", "WITH", "VALUES", "EXPLAIN" };
	size_t letters = strcspn(word, " \t\r\n(*");
	struct stat st;

	if (!*word || file_look(word, &st))
		return err_set(err, ERR_USAGE, "%s: empty, or the name of a file", p->name);
	if (p->kind != QUERY)
		return 0;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (letters == strlen(begins[i]) && !strncasecmp(word, begins[i], letters))
			return 0;
	return err_set(err, ERR_USAGE, "%s: must begin with SELECT, WITH, VALUES or EXPLAIN",
		       p->name);
}

static int put_string(struct mcp_call *c, struct arena *a, const struct mcp_may *may,
		      const struct param *p, const char *value, struct err *err)
{
	char real[PATH_MAX];
	const char *to = real;
	int rc;

	if (p->kind == RECORDING)
		rc = recording_path(real, may, p, value, err);
	else if (p->kind == NEW_FILE)
		rc = new_path(real, may, p, value, err);
	else if (p->kind == PROGRAM)
		rc = allowed_program(real, may, value, err);
	else
		rc = plain_word(p, to = value, err);
	if (rc)
		return -1;
	return put_word(c, arena_printf(a, "%s%s", p->option ? p->option : "", to), err);
}

static int put_value(struct mcp_call *c, struct arena *a, const struct mcp_may *may,
		     const struct param *p, const cJSON *v, struct err *err)
{
	const cJSON *item;

	switch (p->kind) {
	case SWITCH:
		if (!cJSON_IsBool(v))
			return err_set(err, ERR_USAGE, "%s: must be true or false", p->name);
		return cJSON_IsTrue(v) ? put_word(c, p->option, err) : 0;
	case COUNT:
		if (!cJSON_IsNumber(v) || !(v->valuedouble >= 1 && v->valuedouble <= 1e6) ||
		    floor(v->valuedouble) < v->valuedouble)
			return err_set(err, ERR_USAGE, "%s: must be a number from 1 to 1000000",
				       p->name);
		return put_word(c, arena_printf(a, "%s%.0f", p->option, v->valuedouble), err);
	case WORDS:
		if (!cJSON_IsArray(v))
			return err_set(err, ERR_USAGE, "%s: must be an array of strings", p->name);
		cJSON_ArrayForEach(item, v)
		{
			if (!cJSON_IsString(item))
				return err_set(err, ERR_USAGE, "%s: must be an array of strings",
					       p->name);
			if (put_word(c, arena_strdup(a, item->valuestring), err))
				return -1;
		}
		return 0;
	case RECORDING:
	case NEW_FILE:
	case WORD:
	case QUERY:
	case PROGRAM:
		break;
	}
	if (!cJSON_IsString(v))
		return err_set(err, ERR_USAGE, "%s: must be a string", p->name);
	return put_string(c, a, may, p, v->valuestring, err);
}

/* Every argument is one that the tool has, and is there once. */
static int check_names(const struct tool *t, const cJSON *arguments, struct err *err)
{
	const cJSON *v;

	if (arguments && !cJSON_IsObject(arguments))
		return err_set(err, ERR_USAGE, "arguments: must be an object");
	cJSON_ArrayForEach(v, arguments)
	{
		const struct param *p = t->params;

		while (p->name && strcmp(p->name, v->string) != 0)
			p++;
		if (!p->name)
			return err_set(err, ERR_USAGE, "%s has no argument '%.40s'", t->name,
				       v->string);
		if (cJSON_GetObjectItemCaseSensitive(arguments, p->name) != v)
			return err_set(err, ERR_USAGE, "%s is there twice", p->name);
	}
	return 0;
}

int mcp_words(struct mcp_call *call, struct arena *a, const struct mcp_may *may, const char *name,
	      const cJSON *arguments, struct err *err)
{
	const struct tool *t = find_tool(name);
	bool operands = false;

	*call = (struct mcp_call){ .n = 0 };
	if (!t)
		return err_set(err, ERR_NOT_FOUND, "there is no tool '%.40s'", name);
	if (check_names(t, arguments, err))
		return -1;
	call->measures = t->measures;
	call->may_say_no = t->may_say_no;
	(void)put_word(call, "cyclade", err);
	for (size_t i = 0; i < sizeof(t->fixed) / sizeof(*t->fixed) && t->fixed[i]; i++)
		(void)put_word(call, t->fixed[i], err);
	for (const struct param *p = t->params; p->name; p++) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(arguments, p->name);

		if (!v && p->required)
			return err_set(err, ERR_USAGE, "%s needs %s", t->name, p->name);
		if (!v)
			continue;
		if (!p->option && !operands) {
			if (put_word(call, "--", err))
				return -1;
			operands = true;
		}
		if (put_value(call, a, may, p, v, err))
			return -1;
	}
	return 0;
}
