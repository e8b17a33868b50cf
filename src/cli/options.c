/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/perf_words.h"
#include "measure/measure_opts.h"

/* The commands as bits, for the rows of options.def: more than an int has. */
__extension__ enum {
#define COMMAND(id, name, operands, text) id = COMMAND_BIT(CMD_##id),
#include "cli/commands.def"
#undef COMMAND
#define OPTION(group, name, letter, kind, field, arg, commands, help)
#define OPTION_SET(name, commands) name = commands,
#include "cli/options.def"
#undef OPTION_SET
#undef OPTION
	ALL = COMMAND_BIT(CMD_COUNT) - 1
};

#define OPTION_SET(name, commands)

/* A member of another type than its row's kind would be written over. */
#define FLAG_TYPE    bool
#define TEXT_TYPE    const char *
#define MAYBE_TYPE   const char *
#define LIST_TYPE    struct text_list
#define FILTER_TYPE  const struct event_filter *
#define COUNT_TYPE   uint64_t
#define BYTES_TYPE   uint64_t
#define TIME_TYPE    uint64_t
#define MS_TYPE	     uint64_t
#define DELAY_TYPE   uint64_t
#define PERCENT_TYPE double
#define OPTION(group, name, letter, kind, field, arg, commands, help)                          \
	_Static_assert(__builtin_types_compatible_p(kind##_TYPE,                               \
						    __typeof__(((struct options *)0)->field)), \
		       "--" name " is of another type");
#include "cli/options.def"
#undef OPTION

const struct option_row option_rows[] = {
#define OPTION(group, name, letter, kind, field, arg, commands, help) \
	{ group, name, arg, help, letter, OPT_##kind, offsetof(struct options, field), commands },
#include "cli/options.def"
#undef OPTION
};
const size_t n_option_rows = sizeof(option_rows) / sizeof(*option_rows);

const char *const command_names[CMD_COUNT + 1] = {
#define COMMAND(id, name, operands, text) #name,
#include "cli/commands.def"
#undef COMMAND
	NULL
};
const char *const command_operands[CMD_COUNT] = {
#define COMMAND(id, name, operands, text) operands,
#include "cli/commands.def"
#undef COMMAND
};
const char *const command_texts[CMD_COUNT] = {
#define COMMAND(id, name, operands, text) text,
#include "cli/commands.def"
#undef COMMAND
};

_Static_assert(sizeof(option_rows) / sizeof(*option_rows) <= OPTION_ROWS_MAX,
	       "options.said has room for so many");

static const struct perf_option {
	uint64_t commands;
	const char *word;
	bool argument;
	const char *means, *hint;
} perf_options[] = {
#define PERF_OPTION(commands, word, argument, means, hint) \
	{ commands, word, argument, means, hint },
#include "cli/perf_option.def"
#undef PERF_OPTION
};

/* Pairs of options: the later one overrides the other, unless both come from the same source. */
static const char *const rivals[][2] = {
	{ "freq", "count" },
	{ "user", "kernel" },
	{ "json", "format" },
};

struct parse {
	struct options *o;
	struct arena *arena;
	enum command cmd;
	enum option_from from;
	const char *where;
	struct err *err;
	int argc, at;
	char **argv;
};

static bool applies(const struct option_row *row, enum command cmd)
{
	return row->commands & COMMAND_BIT(cmd);
}

/* Options of other commands are known in CYCLADE_OPTS, which is for all of them. */
static const struct option_row *find_letter(const struct parse *p, char letter)
{
	const struct option_row *other = NULL;

	for (size_t i = 0; i < n_option_rows; i++) {
		if (option_rows[i].letter != letter)
			continue;
		if (applies(&option_rows[i], p->cmd))
			return &option_rows[i];
		other = &option_rows[i];
	}
	return p->from == FROM_ENVIRONMENT ? other : NULL;
}

static const struct option_row *find_name(enum command cmd, const char *name, size_t len)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if ((cmd == CMD_COUNT || applies(&option_rows[i], cmd)) &&
		    strlen(option_rows[i].name) == len && !memcmp(option_rows[i].name, name, len))
			return &option_rows[i];
	return NULL;
}

const struct option_row *option_find(enum command cmd, const char *name)
{
	return find_name(cmd, name, strlen(name));
}

int option_unknown(enum command cmd, const char *word, struct err *err)
{
	const char *names[sizeof(option_rows) / sizeof(*option_rows) + 1];
	const char *bare = !strncmp(word, "--", 2) ? word + 2 : word, *near;
	size_t n = 0;

	for (size_t i = 0; i < n_option_rows; i++)
		if (cmd == CMD_COUNT || applies(&option_rows[i], cmd))
			names[n++] = option_rows[i].name;
	names[n] = NULL;
	(void)err_set(err, ERR_USAGE, "%s has no option %.60s",
		      cmd == CMD_COUNT ? "cyclade" : command_names[cmd], word);
	near = *word == '-' && bare == word ? NULL : text_nearest(bare, names);
	if (near)
		return err_hint(err, "did you mean %s%s?", bare == word ? "" : "--", near);
	if (cmd == CMD_COUNT)
		return err_hint(err, "cyclade COMMAND --help lists a command's");
	return err_hint(err, "cyclade %s --help lists them", command_names[cmd]);
}

static int unknown_word(const struct parse *p, const char *word, size_t len)
{
	char shown[64];

	(void)snprintf(shown, sizeof(shown), "%.*s", (int)(len < 60 ? len : 60), word);
	return option_unknown(p->cmd, shown, p->err);
}

static const struct perf_option *perf_option_find(const struct parse *p, const char *word,
						  size_t len)
{
	for (size_t i = 0; i < sizeof(perf_options) / sizeof(*perf_options); i++)
		if (perf_options[i].commands & COMMAND_BIT(p->cmd) &&
		    strlen(perf_options[i].word) == len && !memcmp(perf_options[i].word, word, len))
			return &perf_options[i];
	return NULL;
}

static const char formats[] =
#define FORMAT(name, write, machine, one_table) name "|"
#include "show/format.def"
#undef FORMAT
	"";

const char *option_arg(const struct option_row *row, char out[static OPTION_ARG_MAX])
{
	const char *rest = row->arg + strlen("FORMATS");
	size_t n = sizeof(formats) - 2; /* without the last | */

	if (strncmp(row->arg, "FORMATS", strlen("FORMATS")) != 0)
		return row->arg;
	(void)snprintf(out, OPTION_ARG_MAX, "%.*s%s", (int)n, formats, rest);
	return out;
}

/* If the row's argument reads "a|b|c": is `v` one of them? */
static bool is_choice(const struct option_row *row, const char *v)
{
	char arg[OPTION_ARG_MAX];
	size_t len = strlen(v);

	for (const char *c = option_arg(row, arg); *c;) {
		size_t n = strcspn(c, "|");

		if (n == len && !memcmp(c, v, n))
			return true;
		c += n + (c[n] == '|');
	}
	return false;
}

/* In the words of show_choose(), which refuses formats that one result lacks. */
static int refuse_format(const struct parse *p, const struct option_row *row, const char *v)
{
	char arg[OPTION_ARG_MAX];
	struct buf b = BUF_INIT;
	int rc;

	for (const char *c = option_arg(row, arg); *c; c++) {
		if (*c != '|')
			buf_putc(&b, *c);
		else
			buf_puts(&b, strchr(c + 1, '|') ? ", " : " or ");
	}
	(void)err_set(p->err, ERR_USAGE, "%s has no format '%.40s'", command_names[p->cmd], v);
	rc = err_hint(p->err, "--%s %s", row->name, buf_str(&b));
	buf_free(&b);
	return rc;
}

static bool has_choices(const struct option_row *row)
{
	char arg[OPTION_ARG_MAX];

	return strchr(option_arg(row, arg), '|') || !strcmp(row->arg, "pmu");
}

static void list_add(struct arena *a, struct text_list *l, const char *v)
{
	const char **more = arena_xalloc(a, (l->n + 2) * sizeof(*more));

	if (l->n)
		memcpy(more, l->v, l->n * sizeof(*more));
	more[l->n++] = v;
	l->v = more;
}

/* It is of the -e before it. */
static void filter_add(struct arena *a, struct measure_opts *o, const char *text)
{
	size_t n = o->filter ? o->n_filters : 0;
	struct event_filter *more = arena_xalloc(a, (n + 1) * sizeof(*more));

	if (n)
		memcpy(more, o->filter, n * sizeof(*more));
	more[n] = (struct event_filter){ text, o->event.n };
	o->filter = more;
	o->n_filters = n + 1;
}

static const size_t kind_size[] = {
	[OPT_FLAG] = sizeof(bool),
	[OPT_TEXT] = sizeof(char *),
	[OPT_LIST] = sizeof(struct text_list),
	[OPT_FILTER] = sizeof(struct event_filter *),
	[OPT_MAYBE] = sizeof(char *),
	[OPT_COUNT] = sizeof(uint64_t),
	[OPT_BYTES] = sizeof(uint64_t),
	[OPT_TIME] = sizeof(uint64_t),
	[OPT_MS] = sizeof(uint64_t),
	[OPT_DELAY] = sizeof(uint64_t),
	[OPT_PERCENT] = sizeof(double),
};

static void unset(struct options *o, const struct option_row *row)
{
	memset((char *)o + row->offset, 0, kind_size[row->kind]);
	o->said[row - option_rows] = (struct option_said){ 0 };
}

/* Values from an earlier source are dropped. */
static void drop_earlier(struct options *o, const struct option_row *row, enum option_from from)
{
	if (o->said[row - option_rows].from != from)
		unset(o, row);
	for (size_t i = 0; i < sizeof(rivals) / sizeof(*rivals); i++)
		for (int k = 0; k < 2; k++) {
			if (strcmp(row->name, rivals[i][k]) != 0)
				continue;
			for (size_t r = 0; r < n_option_rows; r++)
				if (!strcmp(option_rows[r].name, rivals[i][!k]) &&
				    o->said[r].from && o->said[r].from < from)
					unset(o, &option_rows[r]);
		}
}

static int parse_number(const struct option_row *row, const char *v, uint64_t *n, struct err *err)
{
	switch (row->kind) {
	case OPT_COUNT:
		return num_parse_scaled(n, v, err);
	case OPT_BYTES:
		return num_parse_bytes(n, v, err);
	case OPT_TIME:
		return num_parse_duration(n, v, 0, err);
	case OPT_DELAY:
		if (!strcmp(v, "-1")) {
			*n = DELAY_FOR_EVER;
			return 0;
		}
		return num_parse_duration(n, v, 1000000, err);
	default:
		return num_parse_duration(n, v, 1000000, err);
	}
}

static int store(const struct parse *p, const struct option_row *row, const char *v)
{
	char *field = (char *)p->o + row->offset, arg[OPTION_ARG_MAX];
	struct option_said *said = &p->o->said[row - option_rows];
	double percent;
	uint64_t n;
	int rc = 0;

	if (!applies(row, p->cmd))
		return 0;
	drop_earlier(p->o, row, p->from);
	if (v && *v && has_choices(row) && !is_choice(row, v)) {
		if (!strcmp(row->name, "format"))
			return refuse_format(p, row, v);
		rc = err_set(p->err, ERR_USAGE, "'%.40s' is not one of %s", v,
			     option_arg(row, arg));
		goto out;
	}
	switch (row->kind) {
	case OPT_FLAG:
		memcpy(field, &(bool){ true }, sizeof(bool));
		break;
	case OPT_TEXT:
	case OPT_MAYBE:
		memcpy(field, &v, sizeof(v));
		break;
	case OPT_LIST: {
		struct text_list l;

		memcpy(&l, field, sizeof(l));
		list_add(p->arena, &l, v);
		memcpy(field, &l, sizeof(l));
		break;
	}
	case OPT_FILTER:
		filter_add(p->arena, &p->o->measure, v);
		break;
	case OPT_PERCENT:
		rc = num_parse_double(&percent, v, p->err);
		if (!rc)
			memcpy(field, &percent, sizeof(percent));
		break;
	case OPT_COUNT:
	case OPT_BYTES:
	case OPT_TIME:
	case OPT_MS:
	case OPT_DELAY:
		rc = parse_number(row, v, &n, p->err);
		if (!rc)
			memcpy(field, &n, sizeof(n));
		break;
	}
out:
	*said = (struct option_said){ p->from, p->where, v };
	return rc ? err_prefix(p->err, "--%s", row->name) : 0;
}

static int flag_value(const char *v, bool *on, struct err *err)
{
	static const char *const words[][2] = {
		{ "false", "true" }, { "no", "yes" }, { "off", "on" }, { "0", "1" }
	};

	*on = true;
	if (!v)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (int k = 0; k < 2; k++)
			if (!strcmp(v, words[i][k])) {
				*on = k;
				return 0;
			}
	return err_set(err, ERR_USAGE, "'%.40s' is neither true nor false", v);
}

int option_set(struct options *o, struct arena *a, enum command cmd, const struct option_row *row,
	       const char *value, enum option_from from, const char *where, struct err *err)
{
	struct parse p = {
		.o = o, .arena = a, .cmd = cmd, .from = from, .where = where, .err = err
	};
	char arg[OPTION_ARG_MAX];
	bool on;

	if (row->kind == OPT_FLAG) {
		if (flag_value(value, &on, err))
			return err_prefix(err, "%s", row->name);
		if (on)
			return store(&p, row, NULL);
		drop_earlier(o, row, from);
		unset(o, row);
		return 0;
	}
	if (!value && row->kind != OPT_MAYBE)
		return err_set(err, ERR_USAGE, "%s needs %s", row->name, option_arg(row, arg));
	return store(&p, row, value ? value : "");
}

/* What perf's --call-graph has beside ours. 1: taken; 0: it is no such word; -1: refused. */
static int perf_chains(struct parse *p, const struct option_row *row, const char *attached,
		       bool is_long)
{
	const char *next = p->at < p->argc ? p->argv[p->at] : NULL, *v = attached ? attached : next;
	const struct option_row *size = option_find(p->cmd, "stack-size");
	struct stat st;

	if (!v)
		return 0;
	if (size && (attached || is_long) && perf_stack_size(v)) {
		p->at += !attached;
		return store(p, row, "dwarf") || store(p, size, perf_stack_size(v)) ? -1 : 1;
	}
	if (p->cmd != CMD_REPORT || !perf_chain_words(v) || (!attached && file_look(v, &st)))
		return 0;
	(void)err_set(p->err, ERR_USAGE, "report -g does not take '%.40s'", v);
	return err_hint(p->err, "-g is its caller, --callers its callee, no -g its none; --min PCT "
				"is the threshold");
}

/* Takes the option's argument from `attached` or the next word, and stores it. */
static int take_argument(struct parse *p, const struct option_row *row, const char *attached,
			 bool is_long)
{
	const char *next = p->at < p->argc ? p->argv[p->at] : NULL;
	char arg[OPTION_ARG_MAX];

	if (row->kind == OPT_FLAG) {
		/* perf's lists of registers: all are stored */
		if (attached && strcmp(row->name, "user-regs") && strcmp(row->name, "intr-regs"))
			return err_set(p->err, ERR_USAGE, "--%s takes no argument", row->name);
		return store(p, row, NULL);
	}
	if (row->kind == OPT_MAYBE && !strcmp(row->name, "call-graph")) {
		int rc = perf_chains(p, row, attached, is_long);

		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (row->kind == OPT_MAYBE) {
		if (!attached && is_long && next && has_choices(row) && is_choice(row, next)) {
			attached = next;
			p->at++;
		}
		return store(p, row, attached ? attached : "");
	}
	if (!attached) {
		if (!next) {
			(void)err_set(p->err, ERR_USAGE, "--%s needs %s", row->name,
				      option_arg(row, arg));
			return err_hint(p->err, "--%s: %s", row->name, row->help);
		}
		attached = next;
		p->at++;
	}
	attached = perf_value(p->arena, row->name, attached, p->err);
	return attached ? store(p, row, attached) : -1;
}

static int long_option(struct parse *p, const char *word);

/* perf's word, by ours; `attached`: behind its "=". */
static int perf_word(struct parse *p, const struct perf_option *o, const char *attached)
{
	size_t n = o->means ? strcspn(o->means, "%") : 0;
	const char *means = o->means;

	if (!means) {
		(void)err_set(p->err, ERR_USAGE, "%s has no option %s", command_names[p->cmd],
			      o->word);
		return err_hint(p->err, "%s", o->hint);
	}
	if (o->argument && !attached && p->at < p->argc)
		attached = p->argv[p->at++];
	if (!*means && (attached || !o->argument)) /* that is so anyway */
		return 0;
	if (o->argument ? !attached : !!attached)
		return err_set(p->err, ERR_USAGE, "%s %s", o->word,
			       o->argument ? "needs an argument" : "takes no argument");
	if (o->argument)
		means = arena_xprintf(p->arena, "%.*s%s%s", (int)n, means, attached, means + n + 2);
	return long_option(p, means);
}

static int long_option(struct parse *p, const char *word)
{
	const char *name = word + 2, *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct option_row *row = find_name(p->cmd, name, len);
	const struct perf_option *perf = row ? NULL : perf_option_find(p, word, len + 2);

	if (!row && p->from == FROM_ENVIRONMENT)
		row = find_name(CMD_COUNT, name, len);
	if (!row && perf)
		return perf_word(p, perf, eq ? eq + 1 : NULL);
	if (!row)
		return unknown_word(p, word, len + 2);
	return take_argument(p, row, eq ? eq + 1 : NULL, true);
}

static int short_options(struct parse *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct option_row *row = find_letter(p, *c);
		const char *rest = c[1] ? c + 1 : NULL;

		if (!row) {
			const char letter[] = { '-', *c, '\0' };
			const struct perf_option *perf = perf_option_find(p, letter, 2);

			if (!perf)
				return unknown_word(p, word, strlen(word));
			if (perf_word(p, perf, perf->argument ? rest : NULL))
				return -1;
			if (perf->argument && rest)
				return 0;
			continue;
		}
		if (row->kind == OPT_FLAG) {
			if (store(p, row, NULL))
				return -1;
			continue;
		}
		/* "-bg": letters behind a MAYBE are its argument only if they can be */
		if (row->kind == OPT_MAYBE && rest && *rest != '=' && has_choices(row) &&
		    !is_choice(row, rest) && !perf_chain_words(rest)) {
			if (store(p, row, ""))
				return -1;
			continue;
		}
		return take_argument(p, row, rest && *rest == '=' ? rest + 1 : rest, false);
	}
	return 0;
}

bool command_runs_program(enum command cmd)
{
	return cmd == CMD_RUN || cmd == CMD_RECORD || cmd == CMD_STAT || cmd == CMD_COMPARE ||
	       cmd == CMD_SIMULATE;
}

static int parse_words(struct parse *p, struct text_list *rest)
{
	bool workload = command_runs_program(p->cmd), only_operands = false;

	while (p->at < p->argc) {
		const char *word = p->argv[p->at++];

		if (only_operands || word[0] != '-' || !word[1]) {
			list_add(p->arena, rest, word);
			only_operands |= workload;
		} else if (!strcmp(word, "--")) {
			only_operands = true;
		} else if (word[1] == '-') {
			if (long_option(p, word))
				return -1;
		} else if (short_options(p, word)) {
			return -1;
		}
	}
	return 0;
}

static int check_directory(const struct option_row *row, const char *v, struct err *err)
{
	struct stat st = { 0 };

	if (strchr(v, '=') || (file_look(v, &st) && S_ISDIR(st.st_mode)))
		return 0;
	(void)err_set(err, ERR_USAGE, "--%s: %.200s: %s", row->name, v,
		      st.st_mode ? "not a directory" : strerror(errno));
	if (!strcmp(row->name, "symbols"))
		return err_hint(err,
				"--symbols names directories of debug files; --focus %.100s "
				"selects a function",
				v);
	return err_hint(err, "--%s: %s", row->name, row->help);
}

/* Files of a kernel's names: without them its functions have those of another kernel, or none. */
static int check_kernel_file(const struct option_row *row, const char *v, struct err *err)
{
	struct stat st = { 0 };

	if (file_look(v, &st) && !S_ISDIR(st.st_mode))
		return 0;
	(void)err_set(err, ERR_USAGE, "--%s: %.200s: %s", row->name, v,
		      st.st_mode ? "a directory" : strerror(errno));
	return err_hint(err, "--%s: %s", row->name, row->help);
}

/* A directory to read from must be there: else the option would silently have no effect. A
 * directory named in a configuration may be absent on this machine. */
static int check_directories(const struct options *o, struct err *err)
{
	for (size_t i = 0; i < n_option_rows; i++) {
		const struct option_row *row = &option_rows[i];
		const char *field = (const char *)o + row->offset, *one;
		struct text_list l;

		if (o->said[i].from != FROM_WORDS)
			continue;
		if (!strcmp(row->name, "kallsyms") || !strcmp(row->name, "vmlinux")) {
			memcpy(&one, field, sizeof(one));
			if (check_kernel_file(row, one, err))
				return -1;
			continue;
		}
		if (!row->arg || strcmp(row->arg, "DIR") != 0 || !strcmp(row->name, "capture"))
			continue;
		if (row->kind == OPT_LIST) {
			memcpy(&l, field, sizeof(l));
		} else {
			memcpy(&one, field, sizeof(one));
			l = (struct text_list){ &one, 1 };
		}
		for (size_t k = 0; k < l.n; k++)
			if (check_directory(row, l.v[k], err))
				return -1;
	}
	return 0;
}

int options_parse(struct options *o, struct arena *a, enum command cmd, int argc, char **argv,
		  struct text_list *rest, struct err *err)
{
	struct parse p = { .o = o,
			   .arena = a,
			   .cmd = cmd,
			   .from = FROM_WORDS,
			   .err = err,
			   .argc = argc,
			   .argv = argv };

	if (parse_words(&p, rest))
		return -1;
	return o->help ? 0 : check_directories(o, err);
}

int options_parse_text(struct options *o, struct arena *a, enum command cmd, const char *text,
		       struct err *err)
{
	struct parse p = { .o = o, .arena = a, .cmd = cmd, .from = FROM_ENVIRONMENT, .err = err };
	struct text_list rest = { 0 };
	size_t n;

	if (words_split(a, text, &p.argv, &n, err))
		return -1;
	p.argc = (int)n;
	if (parse_words(&p, &rest))
		return -1;
	if (rest.n) {
		(void)err_set(err, ERR_USAGE, "'%.40s' is no option", rest.v[0]);
		return err_hint(err, "only options can stand there: CYCLADE_OPTS='--no-pager -q'");
	}
	return 0;
}

bool options_given(const struct options *o, size_t offset)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if (option_rows[i].offset == offset && o->said[i].from)
			return true;
	return false;
}
