/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/control.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int control_open(struct control *c, struct cli *cli, struct err *err)
{
	const char *text = cli->opt.control, *comma;
	const char *fifo;
	struct stat st;

	*c = (struct control)CONTROL_INIT;
	if (!text)
		return 0;
	if (!strncmp(text, "fifo:", 5))
		text += 5;
	comma = strchr(text, ',');
	if (!*text || comma == text)
		return err_set(err, ERR_USAGE, "--control: the FIFO's name is empty");
	fifo = arena_strndup(&cli->arena, text, comma ? (size_t)(comma - text) : strlen(text));
	if (!fifo)
		return err_nomem(err);
	/* read and write: no end of file when a writer goes away */
	c->fd = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (c->fd < 0) {
		(void)err_sys(err, "--control: %s", fifo);
		return err_hint(err, "make it first: mkfifo %s", fifo);
	}
	if (fstat(c->fd, &st) || !S_ISFIFO(st.st_mode)) {
		(void)err_set(err, ERR_USAGE, "--control: %s is not a FIFO", fifo);
		return err_hint(err, "make one: mkfifo NAME");
	}
	if (comma) {
		c->ack = open(comma + 1, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (c->ack < 0)
			return err_sys(err, "--control: %s", comma + 1);
	}
	return 0;
}

static enum control_word word_of(const char *line, const struct cli *cli)
{
	static const struct {
		const char *text;
		enum control_word word;
	} words[] = { { "enable", CONTROL_ENABLE },
		      { "disable", CONTROL_DISABLE },
		      { "stop", CONTROL_STOP },
		      { "ping", CONTROL_PING } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(line, words[i].text))
			return words[i].word;
	if (*line)
		cli_note(cli, "--control: '%.40s' is not enable, disable, stop or ping", line);
	return CONTROL_NOTHING;
}

/* Takes a line off the text; one without an end counts once no more can come into it. */
static bool take_line(struct control *c, char out[sizeof(c->text)])
{
	char *end = memchr(c->text, '\n', c->have);
	size_t len = end ? (size_t)(end - c->text) : c->have;
	size_t used = len + !!end;

	if (!c->have)
		return false;
	memcpy(out, c->text, len);
	out[len] = '\0';
	memmove(c->text, c->text + used, c->have - used);
	c->have -= used;
	return true;
}

enum control_word control_next(struct control *c, const struct cli *cli)
{
	char line[sizeof(c->text)];

	if (c->fd < 0)
		return CONTROL_NOTHING;
	if (!c->have) {
		ssize_t n = read(c->fd, c->text, sizeof(c->text) - 1);

		c->have = n > 0 ? (size_t)n : 0;
	}
	while (take_line(c, line)) {
		enum control_word word = word_of(line, cli);

		if (word != CONTROL_NOTHING)
			return word;
	}
	return CONTROL_NOTHING;
}

void control_answer(const struct control *c)
{
	if (c->ack >= 0 && write(c->ack, "ack\n", 4) < 0)
		return;
}

void control_close(struct control *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	if (c->ack >= 0)
		(void)close(c->ack);
	*c = (struct control)CONTROL_INIT;
}
