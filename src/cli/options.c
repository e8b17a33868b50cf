/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

enum { /* the commands as bits, for the rows of options.def */
#define COMMAND(id, name, operands, text) id = 1 << CMD_##id,
#include "cli/commands.def"
#undef COMMAND
       ALL = (1 << CMD_COUNT) - 1
};

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

_Static_assert(sizeof(option_rows) / sizeof(*option_rows) <= 128, "options.given has 128 bits");

struct parse {
	struct options *o;
	struct arena *arena;
	enum command cmd;
	struct err *err;
	int argc, at;
	char **argv;
};

static bool applies(const struct option_row *row, enum command cmd)
{
	return row->commands & (1u << cmd);
}

static const struct option_row *find_letter(enum command cmd, char letter)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if (option_rows[i].letter == letter && applies(&option_rows[i], cmd))
			return &option_rows[i];
	return NULL;
}

static const struct option_row *find_name(enum command cmd, const char *name, size_t len)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if (applies(&option_rows[i], cmd) && strlen(option_rows[i].name) == len &&
		    !memcmp(option_rows[i].name, name, len))
			return &option_rows[i];
	return NULL;
}

/* "no option --foo for report", with what was perhaps meant. */
static int unknown(const struct parse *p, const char *word, size_t len)
{
	const char *names[sizeof(option_rows) / sizeof(*option_rows) + 1];
	char shown[64];
	const char *near;
	size_t n = 0;

	for (size_t i = 0; i < n_option_rows; i++)
		if (applies(&option_rows[i], p->cmd))
			names[n++] = option_rows[i].name;
	names[n] = NULL;
	(void)snprintf(shown, sizeof(shown), "%.*s", (int)(len < 60 ? len : 60), word);
	(void)err_set(p->err, ERR_USAGE, "%s has no option %s", command_names[p->cmd], shown);
	near = strncmp(shown, "--", 2) ? NULL : text_nearest(shown + 2, names);
	if (near)
		return err_hint(p->err, "did you mean --%s?", near);
	return err_hint(p->err, "cyclade %s --help lists them", command_names[p->cmd]);
}

/* Where `arg` of the row reads "a|b|c": is `v` one of them? */
static bool is_choice(const struct option_row *row, const char *v)
{
	size_t len = strlen(v);

	for (const char *c = row->arg; *c;) {
		size_t n = strcspn(c, "|");

		if (n == len && !memcmp(c, v, n))
			return true;
		c += n + (c[n] == '|');
	}
	return false;
}

static bool has_choices(const struct option_row *row)
{
	return strchr(row->arg, '|') || !strcmp(row->arg, "pmu");
}

static int list_add(struct arena *a, struct text_list *l, const char *v, struct err *err)
{
	const char **more = arena_alloc(a, (l->n + 2) * sizeof(*more));

	if (!more)
		return err_nomem(err);
	if (l->n)
		memcpy(more, l->v, l->n * sizeof(*more));
	more[l->n++] = v;
	l->v = more;
	return 0;
}

static int store(const struct parse *p, const struct option_row *row, const char *v)
{
	char *field = (char *)p->o + row->offset;
	size_t index = (size_t)(row - option_rows);
	double percent;
	uint64_t n;
	int rc = 0;

	if (v && *v && has_choices(row) && !is_choice(row, v)) {
		rc = err_set(p->err, ERR_USAGE, "'%.40s' is not one of %s", v, row->arg);
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
		rc = list_add(p->arena, &l, v, p->err);
		memcpy(field, &l, sizeof(l));
		break;
	}
	case OPT_PERCENT:
		rc = num_parse_double(&percent, v, p->err);
		if (!rc)
			memcpy(field, &percent, sizeof(percent));
		break;
	case OPT_COUNT:
	case OPT_BYTES:
	case OPT_TIME:
	case OPT_MS:
		rc = row->kind == OPT_COUNT   ? num_parse_scaled(&n, v, p->err)
		     : row->kind == OPT_BYTES ? num_parse_bytes(&n, v, p->err)
		     : row->kind == OPT_TIME  ? num_parse_duration(&n, v, 0, p->err)
					      : num_parse_duration(&n, v, 1000000, p->err);
		if (!rc)
			memcpy(field, &n, sizeof(n));
		break;
	}
out:
	p->o->given[index / 64] |= 1ULL << (index % 64);
	return rc ? err_prefix(p->err, "--%s", row->name) : 0;
}

/* Takes the option's argument from `attached` or the next word, and stores it. */
static int take(struct parse *p, const struct option_row *row, const char *attached, bool is_long)
{
	const char *next = p->at < p->argc ? p->argv[p->at] : NULL;

	if (row->kind == OPT_FLAG) {
		if (attached)
			return err_set(p->err, ERR_USAGE, "--%s takes no argument", row->name);
		return store(p, row, NULL);
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
			(void)err_set(p->err, ERR_USAGE, "--%s needs %s", row->name, row->arg);
			return err_hint(p->err, "--%s: %s", row->name, row->help);
		}
		attached = next;
		p->at++;
	}
	return store(p, row, attached);
}

static int long_option(struct parse *p, const char *word)
{
	const char *name = word + 2, *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct option_row *row = find_name(p->cmd, name, len);

	if (!row)
		return unknown(p, word, len + 2);
	return take(p, row, eq ? eq + 1 : NULL, true);
}

static int short_options(struct parse *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct option_row *row = find_letter(p->cmd, *c);
		const char *rest = c[1] ? c + 1 : NULL;

		if (!row)
			return unknown(p, word, strlen(word));
		if (row->kind == OPT_FLAG) {
			if (store(p, row, NULL))
				return -1;
			continue;
		}
		/* "-bg": letters behind a MAYBE are its argument only if they can be */
		if (row->kind == OPT_MAYBE && rest && *rest != '=' && has_choices(row) &&
		    !is_choice(row, rest)) {
			if (store(p, row, ""))
				return -1;
			continue;
		}
		return take(p, row, rest && *rest == '=' ? rest + 1 : rest, false);
	}
	return 0;
}

int options_parse(struct options *o, struct arena *a, enum command cmd, int argc, char **argv,
		  struct text_list *rest, struct err *err)
{
	struct parse p = { o, a, cmd, err, argc, 0, argv };
	bool workload = cmd == CMD_RUN || cmd == CMD_RECORD || cmd == CMD_STAT,
	     only_operands = false;

	while (p.at < argc) {
		const char *word = argv[p.at++];

		if (only_operands || word[0] != '-' || !word[1]) {
			if (list_add(a, rest, word, err))
				return -1;
			only_operands |= workload;
		} else if (!strcmp(word, "--")) {
			only_operands = true;
		} else if (word[1] == '-') {
			if (long_option(&p, word))
				return -1;
		} else if (short_options(&p, word)) {
			return -1;
		}
	}
	return 0;
}

bool options_given(const struct options *o, size_t offset)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if (option_rows[i].offset == offset && o->given[i / 64] >> (i % 64) & 1)
			return true;
	return false;
}
