/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - options that are set without being typed: by the configuration file and CYCLADE_OPTS.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/config_file.h"

struct shown {
	struct buf *out;
	struct style st;
	bool origin;
	size_t n;
};

static void put_setting(struct shown *s, const struct option_row *row, const char *text,
			const char *where)
{
	size_t at = s->out->len, used;

	text_put_safe(s->out, row->name, s->st.ascii);
	buf_puts(s->out, " = ");
	text_put_safe(s->out, row->kind == OPT_FLAG ? "true" : text, s->st.ascii);
	if (s->origin) {
		used = s->out->len - at;
		buf_fill(s->out, ' ', used < 30 ? 32 - used : 2);
		text_put_safe(s->out, where ? where : "CYCLADE_OPTS", s->st.ascii);
	}
	buf_putc(s->out, '\n');
}

/* A list's elements, each with the line that it stands in. */
static void put_option_list(struct shown *s, const struct config *c, const struct options *o,
			    const struct option_row *row, enum command cmd)
{
	const struct option_said *said = &o->said[row - option_rows];
	struct text_list l;

	if (said->from == FROM_ENVIRONMENT) {
		memcpy(&l, (const char *)o + row->offset, sizeof(l));
		for (size_t i = 0; i < l.n; i++)
			put_setting(s, row, l.v[i], NULL);
		return;
	}
	vec_each (&c->line, const struct config_line *, it) {
		if (it->cmd == (said->from == FROM_FILE ? CMD_COUNT : cmd) &&
		    !strcmp(it->key, row->name))
			put_setting(s, row, it->value, it->where);
	}
}

static void put_command(struct shown *s, const struct config *c, const struct options *o,
			enum command cmd)
{
	bool head = false;

	for (size_t i = 0; i < n_option_rows; i++) {
		const struct option_row *row = &option_rows[i];
		const struct option_said *said = &o->said[i];

		if (!said->from || !(row->commands & COMMAND_BIT(cmd)))
			continue;
		if (!head)
			buf_printf(s->out, "%s[%s]\n", s->n ? "\n" : "", command_names[cmd]);
		head = true;
		s->n++;
		if (row->kind == OPT_LIST)
			put_option_list(s, c, o, row, cmd);
		else
			put_setting(s, row, said->text, said->where);
	}
}

static int of_command(struct cli *cli, const struct config *c, struct shown *s, enum command cmd,
		      struct err *err)
{
	struct options o = { 0 };

	if (config_apply(c, &o, &cli->arena, cmd, err) || cli_environment(&o, cli, cmd, err))
		return -1;
	put_command(s, c, &o, cmd);
	return 0;
}

static void put_nothing(struct shown *s, const struct config *c)
{
	buf_puts(s->out, "# nothing is set: ");
	if (c->path)
		text_put_safe(s->out, c->path, s->st.ascii);
	else
		buf_puts(s->out, "HOME and XDG_CONFIG_HOME");
	buf_printf(s->out, " %s, CYCLADE_OPTS %s\n", c->there ? "says nothing" : "is not there",
		   getenv("CYCLADE_OPTS") ? "says nothing" : "is not set");
}

static enum command find_command_named(const struct cli *cli, struct err *err)
{
	if (!cli->args.n)
		return CMD_COUNT;
	for (int i = 0; i < CMD_COUNT; i++)
		if (!strcmp(cli->args.v[0], command_names[i]))
			return (enum command)i;
	(void)err_set(err, ERR_USAGE, "there is no command '%.40s'", cli->args.v[0]);
	(void)text_suggest(err, cli->args.v[0], command_names, "cyclade --help lists them");
	return CMD_COUNT;
}

int cmd_config(struct cli *cli)
{
	struct buf out = BUF_INIT;
	struct shown s = { .out = &out,
			   .st = cli_style(cli, STDOUT_FILENO),
			   .origin = cli->opt.origin };
	struct err err = ERR_INIT;
	enum command only = find_command_named(cli, &err);
	struct config c = { 0 };
	int code = EXIT_ERROR;

	if (err.code != ERR_NONE || config_read(&c, &cli->arena, &err)) {
		code = cli_fail(&err);
		goto out;
	}
	if (c.unread)
		cli_note(cli, "%s: your configuration is passed over", c.unread);
	for (int i = 0; i < CMD_COUNT; i++) {
		if (!config_concerns((enum command)i) ||
		    (only != CMD_COUNT && only != (enum command)i))
			continue;
		if (of_command(cli, &c, &s, (enum command)i, &err)) {
			code = cli_fail(&err);
			goto out;
		}
	}
	if (!s.n)
		put_nothing(&s, &c);
	code = cli_put(cli, &out, false);
out:
	buf_free(&out);
	config_free(&c);
	return code;
}
