/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list - what can be measured on this machine, or on a captured one (--sysroot).
 */
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/models/list_model.h"
#include "collect/event.h"

struct view {
	struct cli *cli;
	const struct event_name *v;
	size_t n;    /* rows to write */
	size_t more; /* rows that matched and were left out by --limit */
};

/* The lists there are: each a row. */
static int list_events(struct cli *cli, const char *pattern);

static const struct {
	const char *name;
	int (*run)(struct cli *cli, const char *pattern);
} lists[] = {
	{ "account", list_account }, { "events", list_events }, { "groups", list_groups },
	{ "metrics", list_metrics }, { "models", list_models }, { "nodes", list_nodes },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static size_t run_of_kind(const struct view *w, size_t from)
{
	size_t to = from;

	while (to < w->n && !strcmp(w->v[to].kind, w->v[from].kind))
		to++;
	return to;
}

static void put_group(struct buf *b, const struct style *st, const struct view *w, size_t from,
		      size_t to)
{
	char count[NUM_MAX];
	size_t wide = 0;

	for (size_t i = from; i < to; i++)
		if (strlen(w->v[i].name) > wide && strlen(w->v[i].name) <= 40)
			wide = strlen(w->v[i].name);
	style_ink(b, st, INK_BOLD);
	buf_printf(b, "%s (%s)\n", w->v[from].kind, num_exact(count, to - from));
	style_ink(b, st, INK_PLAIN);
	for (size_t i = from; i < to; i++) {
		size_t at = b->len, len;

		buf_puts(b, "  ");
		text_put_safe(b, w->v[i].name, st->ascii);
		len = b->len - at - 2;
		if (w->v[i].text[0]) {
			buf_fill(b, ' ', len < wide ? wide - len : 0);
			buf_puts(b, "  ");
			list_put_rest(b, st, w->v[i].text, 4 + (len < wide ? wide : len));
		}
		buf_putc(b, '\n');
	}
}

static void put_term(struct buf *b, const void *list)
{
	const struct view *w = list;
	struct style st = cli_style(w->cli, 1);
	const char *first = NULL;

	for (size_t i = 0; i < w->n; i = run_of_kind(w, i)) {
		/* forms like rNNN are no names to type */
		if (!first && strcmp(w->v[i].kind, "raw") && strcmp(w->v[i].kind, "breakpoint") &&
		    strcmp(w->v[i].kind, "probe"))
			first = w->v[i].name;
		put_group(b, &st, w, i, run_of_kind(w, i));
	}
	list_put_more(b, w->more);
	if (first && !w->cli->opt.quiet) {
		buf_puts(b, "next: cyclade record -e ");
		text_put_safe(b, first, st.ascii);
		buf_puts(b, " -- ./prog\n");
	}
}

static void put_csv(struct buf *b, const void *list, char sep)
{
	const struct view *w = list;

	buf_printf(b, "name%ckind%ctext\n", sep, sep);
	for (size_t i = 0; i < w->n; i++) {
		text_put_csv(b, w->v[i].name, sep);
		buf_putc(b, sep);
		text_put_csv(b, w->v[i].kind, sep);
		buf_putc(b, sep);
		text_put_csv(b, w->v[i].text, sep);
		buf_putc(b, '\n');
	}
}

static void put_json(struct buf *b, const void *list)
{
	const struct view *w = list;
	struct json j;

	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.list/1");
	json_array(&j, "events");
	for (size_t i = 0; i < w->n; i++) {
		json_object(&j, NULL);
		json_str(&j, "name", w->v[i].name);
		json_str(&j, "kind", w->v[i].kind);
		json_str(&j, "text", w->v[i].text[0] ? w->v[i].text : NULL);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_u64(&j, "left_out", w->more);
	json_end_object(&j);
	buf_putc(b, '\n');
}

static const struct list_formats formats = { put_term, put_csv, put_json };

/* Nothing matches: a name nearby, or where to look. */
static int nothing(struct cli *cli, const struct event_name *all, size_t n, const char *pattern)
{
	const char **words = arena_alloc(&cli->arena, (n + 1) * sizeof(*words));
	struct err err = ERR_INIT;
	const char *root = cli->opt.sysroot ? cli->opt.sysroot : "";
	struct event_list known = EVENT_LIST_INIT;
	const char *nearest = NULL;

	if (!event_parse(&known, root, pattern, NULL)) {
		(void)err_set(&err, ERR_NOT_FOUND,
			      "'%.100s' is an event, but nothing here counts it", pattern);
		(void)err_hint(&err, "`cyclade doctor` says what this machine can do");
	} else {
		(void)err_set(&err, ERR_NOT_FOUND, "no event here matches '%.100s'", pattern);
	}
	event_list_free(&known);
	for (size_t i = 0; words && i < n; i++)
		words[i] = all[i].name;
	if (words && strlen(pattern) < 100)
		nearest = text_nearest(pattern, words);
	if (nearest)
		(void)err_hint(&err, "did you mean %s?", nearest);
	else
		(void)err_hint(&err, "`cyclade list events` shows all %zu", n);
	return cli_fail_as(&err, EXIT_NO);
}

static int list_events(struct cli *cli, const char *pattern)
{
	struct err err = ERR_INIT;
	struct event_name *all;
	struct view w = { cli, NULL, 0, 0 };
	const char *root = cli->opt.sysroot ? cli->opt.sysroot : "";
	size_t n, found = 0;
	bool traced = false;
	int code;

	if (cli->opt.model)
		return list_model_events(cli, pattern);
	if (event_names(&cli->arena, root, &all, &n, &err))
		return cli_fail(&err);
	struct event_name *kept = arena_alloc(&cli->arena, (n + 1) * sizeof(*kept));

	if (!kept) {
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	for (size_t i = 0; i < n; i++) {
		traced |= !strcmp(all[i].kind, "tracepoint");
		if (!list_matches(pattern, all[i].name))
			continue;
		if (OPTION_GIVEN(&cli->opt, limit) && found >= cli->opt.limit)
			w.more++;
		else
			kept[found++] = all[i];
	}
	w.v = kept;
	w.n = found;
	code = list_put(cli, &formats, &w, &err);
	if (!traced && !root[0])
		cli_note(cli, "tracepoints are not listed: tracefs is not there to read "
			      "(as root: mount -t tracefs nodev /sys/kernel/tracing)");
	if (code == EXIT_OK && !found && !w.more && pattern)
		return nothing(cli, all, n, pattern);
	return code;
}

static int no_such_list(const char *word)
{
	const char *names[COUNT(lists) + 1] = { NULL };
	struct err err = ERR_INIT;
	const char *nearest;

	for (size_t i = 0; i < COUNT(lists); i++)
		names[i] = lists[i].name;
	if (!word) {
		(void)err_set(&err, ERR_USAGE, "list needs to know what");
		(void)err_hint(&err, "cyclade list %s", command_operands[CMD_LIST]);
		return cli_fail(&err);
	}
	nearest = text_nearest(word, names);
	(void)err_set(&err, ERR_USAGE, "there is no list '%.60s'", word);
	if (nearest)
		(void)err_hint(&err, "did you mean %s?", nearest);
	else
		(void)err_hint(&err, "cyclade list %s", command_operands[CMD_LIST]);
	return cli_fail(&err);
}

int cmd_list(struct cli *cli)
{
	const char *word = cli->args.n ? cli->args.v[0] : NULL;
	struct err err = ERR_INIT;

	if (cli->args.n > 2) {
		(void)err_set(&err, ERR_USAGE, "list takes one pattern, '%.60s' is one too many",
			      cli->args.v[2]);
		return cli_fail(&err);
	}
	for (size_t i = 0; word && i < COUNT(lists); i++)
		if (!strcmp(word, lists[i].name))
			return lists[i].run(cli, cli->args.n > 1 ? cli->args.v[1] : NULL);
	return no_such_list(word);
}
