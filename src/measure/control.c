/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/control.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READS_MOST   256 /* at a time, for a line: other things wait */
#define UNKNOWN_MOST 64	 /* lines at a time */
#define UNKNOWN_SAID 8

/* Commands are read from nothing but a FIFO, and answers written to nothing else. */
static int open_fifo(const char *path, struct err *err)
{
	/* read and write: no end of file when a writer goes away */
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0) {
		(void)err_sys(err, "--control: %s", path);
		return err_hint(err, "make it first: mkfifo %s", path);
	}
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode))
		return fd;
	(void)close(fd);
	(void)err_set(err, ERR_USAGE, "--control: %s is not a FIFO", path);
	return err_hint(err, "make one: mkfifo NAME");
}

int control_open(struct control *c, const struct measure_opts *opts, struct err *err)
{
	const char *text = opts->control, *comma;
	const char *fifo;

	*c = (struct control)CONTROL_INIT;
	if (!text)
		return 0;
	if (!strncmp(text, "fd:", 3)) {
		(void)err_set(err, ERR_USAGE, "--control: %s: descriptors are not taken", text);
		return err_hint(err, "name a FIFO: mkfifo NAME; --control NAME");
	}
	if (!strncmp(text, "fifo:", 5))
		text += 5;
	comma = strchr(text, ',');
	if (!*text || comma == text)
		return err_set(err, ERR_USAGE, "--control: the FIFO's name is empty");
	fifo = arena_strndup(opts->a, text, comma ? (size_t)(comma - text) : strlen(text));
	if (!fifo)
		return err_nomem(err);
	c->fd = open_fifo(fifo, err);
	if (c->fd < 0)
		return -1;
	if (comma) {
		c->ack = open_fifo(comma + 1, err);
		if (c->ack < 0)
			return -1;
	}
	return 0;
}

static void say_unknown(struct control *c, const char *line, const struct measure_opts *opts)
{
	if (c->unknown++ < UNKNOWN_SAID)
		measure_news(opts, "--control: '%.40s' is not enable, disable, stop or ping", line);
	else if (c->unknown == UNKNOWN_SAID + 1)
		measure_news(opts, "--control: more such lines are ignored without a message");
}

static enum control_word control_word_of(struct control *c, const char *line,
					 const struct measure_opts *opts)
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
		say_unknown(c, line, opts);
	return CONTROL_NOTHING;
}

/* Takes the next line. A write to a FIFO is whole: a last line without its end counts as soon as
 * nothing more is there to read. */
static bool take_line(struct control *c, char out[sizeof(c->text)])
{
	const size_t room = sizeof(c->text) - 1;
	char *end = NULL;
	ssize_t n = 1;
	size_t len;

	for (unsigned i = 0; i < READS_MOST && n > 0; i++) {
		end = memchr(c->text, '\n', c->have);
		if (end)
			break;
		if (c->have == room) /* no word is that long, whatever follows */
			c->have = room / 2;
		n = read(c->fd, c->text + c->have, room - c->have);
		c->have += n > 0 ? (size_t)n : 0;
	}
	if (!c->have || (!end && n > 0))
		return false;
	len = end ? (size_t)(end - c->text) : c->have;
	memcpy(out, c->text, len);
	out[len] = '\0';
	c->have -= len + !!end;
	memmove(c->text, c->text + len + !!end, c->have);
	return true;
}

enum control_word control_next(struct control *c, const struct measure_opts *opts)
{
	char line[sizeof(c->text)];

	for (unsigned i = 0; c->fd >= 0 && i < UNKNOWN_MOST && take_line(c, line); i++) {
		enum control_word word = control_word_of(c, line, opts);

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
