/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/config_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/text.h"
#include "base/xalloc.h"

struct reader {
	struct config *c;
	struct arena *a;
	struct err *err;
	const char *where; /* of the line at hand */
	enum command cmd;
};

/* The text between blanks. */
static char *trimmed(struct arena *a, const char *s, size_t len)
{
	while (len && strchr(" \t\r", s[len - 1]))
		len--;
	while (len && strchr(" \t\r", *s)) {
		s++;
		len--;
	}
	return arena_xstrndup(a, s, len);
}

static int on_section(struct reader *r, const char *line)
{
	size_t len = strlen(line);
	const char *near;

	if (line[len - 1] != ']')
		return err_set(r->err, ERR_USAGE, "'%.40s': a section ends with ]", line);
	for (int i = 0; i < CMD_COUNT; i++)
		if (strlen(command_names[i]) == len - 2 &&
		    !memcmp(command_names[i], line + 1, len - 2)) {
			r->cmd = (enum command)i;
			if (config_concerns(r->cmd))
				return 0;
			return err_set(r->err, ERR_USAGE, "%s takes no configuration",
				       command_names[i]);
		}
	(void)err_set(r->err, ERR_USAGE, "there is no command of the section's name: %.40s", line);
	near = text_nearest(arena_xstrndup(r->a, line + 1, len - 2), command_names);
	return near ? err_hint(r->err, "did you mean [%s]?", near) : -1;
}

/* Fails if a command that the line concerns refuses the key or its value. */
static int check_config_line(struct reader *r, const struct config_line *l)
{
	bool any = false;

	if (!strcmp(l->key, "help") || !strcmp(l->key, "origin"))
		return err_set(r->err, ERR_USAGE, "%s is for the command line alone", l->key);
	for (int i = 0; i < CMD_COUNT; i++) {
		enum command cmd = (enum command)i;
		const struct option_row *row;
		struct options scratch = { 0 };

		if (!config_concerns(cmd) || (l->cmd != CMD_COUNT && l->cmd != cmd))
			continue;
		row = option_find(cmd, l->key);
		if (!row)
			continue;
		any = true;
		if (option_set(&scratch, r->a, cmd, row, l->value, FROM_FILE, l->where, r->err))
			return -1;
	}
	return any ? 0 : option_unknown(l->cmd, l->key, r->err);
}

static int read_config_line(struct reader *r, const char *text, size_t len)
{
	const char *eq = memchr(text, '=', len);
	struct config_line l = { .cmd = r->cmd, .where = r->where };
	char *line = trimmed(r->a, text, len);

	if (memchr(text, '\0', len))
		return err_set(r->err, ERR_USAGE, "there is a zero byte in the line: no text");
	if (!*line || *line == '#')
		return 0;
	if (*line == '[')
		return on_section(r, line);
	l.key = eq ? trimmed(r->a, text, (size_t)(eq - text)) : line;
	l.value = eq ? trimmed(r->a, eq + 1, len - (size_t)(eq + 1 - text)) : NULL;
	if (check_config_line(r, &l))
		return -1;
	vec_xpush(&r->c->line, l);
	return 0;
}

int config_parse(struct config *c, struct arena *a, const char *path, const char *text, size_t len,
		 struct err *err)
{
	struct reader r = { .c = c, .a = a, .err = err, .cmd = CMD_COUNT };
	unsigned n = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		r.where = arena_xprintf(a, "%s:%u", path, ++n);
		if (read_config_line(&r, text, line))
			return err_prefix(err, "%s", r.where);
		line += end != NULL;
		text += line;
		len -= line;
	}
	return 0;
}

const char *config_beside(struct arena *a, const char *name)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	/* the XDG base directory specification: a relative path is to be ignored */
	if (xdg && *xdg == '/')
		return arena_xprintf(a, "%s/cyclade/%s", xdg, name);
	if (home && *home == '/')
		return arena_xprintf(a, "%s/.config/cyclade/%s", home, name);
	return NULL;
}

int config_slurp(struct buf *text, const char *path, size_t limit, struct err *err)
{
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, err), rc;

	if (fd < 0)
		return -1;
	if (!owner_is_ours(&st))
		rc = err_set(err, ERR_PERM, "%s belongs to another user", path);
	else if (!file_written_by(&st, geteuid()))
		rc = err_set(err, ERR_PERM, "%s can be written by others", path);
	else
		rc = fd_slurp(text, fd, limit, path, err);
	(void)close(fd);
	return rc;
}

int config_read(struct config *c, struct arena *a, struct err *err)
{
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	int rc = 0;

	memset(c, 0, sizeof(*c));
	c->path = config_beside(a, "config");
	if (!c->path)
		return 0;
	if (!config_slurp(&text, c->path, CONFIG_SIZE_MAX, &why)) {
		c->there = true;
		rc = config_parse(c, a, c->path, buf_str(&text), text.len, err);
	} else if (why.sys_errno != ENOENT && why.sys_errno != ENOTDIR) {
		if (why.code == ERR_NOMEM || why.code == ERR_LIMIT) {
			*err = why;
			(void)err_hint(err, "XDG_CONFIG_HOME=/nonexistent does without it");
			rc = -1;
		} else {
			c->unread = arena_xstrdup(a, why.what);
		}
	}
	buf_free(&text);
	if (rc)
		config_free(c);
	return rc;
}

bool config_concerns(enum command cmd)
{
	return cmd != CMD_HELP && cmd != CMD_COMPLETION && cmd != CMD_CONFIG;
}

int config_apply(const struct config *c, struct options *o, struct arena *a, enum command cmd,
		 struct err *err)
{
	/* the command's own section overrides the others, in any order */
	for (int own = 0; own < 2; own++)
		vec_each (&c->line, const struct config_line *, l) {
			const struct option_row *row = option_find(cmd, l->key);

			if (!row || l->cmd != (own ? cmd : CMD_COUNT))
				continue;
			if (option_set(o, a, cmd, row, l->value,
				       own ? FROM_FILE_COMMAND : FROM_FILE, l->where, err))
				return err_prefix(err, "%s", l->where);
		}
	return 0;
}

void config_free(struct config *c)
{
	vec_free(&c->line);
}
