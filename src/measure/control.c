/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/control.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

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

/* A pipe, FIFO or socket; no file, nor a terminal, which programs that run beside us read. */
static int take_given(int *fd, const char *text, size_t len, int way, struct err *err)
{
	char number[16];
	uint64_t n;
	struct stat st;
	int flags;

	if (!len || len >= sizeof(number))
		return err_set(err, ERR_USAGE, "--control: fd:%.40s names no descriptor", text);
	memcpy(number, text, len);
	number[len] = '\0';
	if (num_parse_u64(&n, number, NULL) || n < 3 || n > INT32_MAX)
		return err_set(err, ERR_USAGE, "--control: fd:%s is no descriptor from 3 on",
			       number);
	flags = fcntl((int)n, F_GETFL);
	if (flags < 0 || fstat((int)n, &st))
		return err_sys(err, "--control: descriptor %s", number);
	if ((!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) ||
	    ((flags & O_ACCMODE) != O_RDWR && (flags & O_ACCMODE) != way)) {
		(void)err_set(err, ERR_USAGE, "--control: descriptor %s is no pipe to %s", number,
			      way == O_RDONLY ? "read from" : "write to");
		return err_hint(err, "cyclade record --control fd:3 ... 3<FIFO");
	}
	*fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);
	if (*fd < 0)
		return err_sys(err, "--control: descriptor %s", number);
	(void)close((int)n); /* not for the program that we start */
	return fcntl(*fd, F_SETFL, flags | O_NONBLOCK) ? err_sys(err, "--control: fd:%s", number)
						       : 0;
}

static int open_given(struct control *c, const char *text, struct err *err)
{
	size_t len = strcspn(text, ",");

	if (take_given(&c->fd, text, len, O_RDONLY, err))
		return -1;
	return text[len]
		       ? take_given(&c->ack, text + len + 1, strlen(text + len + 1), O_WRONLY, err)
		       : 0;
}

int control_open(struct control *c, const struct measure_opts *opts, struct err *err)
{
	const char *text = opts->control, *comma;
	const char *fifo;

	*c = (struct control)CONTROL_INIT;
	if (!text)
		return 0;
	if (!strncmp(text, "fd:", 3))
		return open_given(c, text + 3, err);
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
		measure_news(opts,
			     "--control: '%.40s' is not enable, disable, stop, snapshot or ping",
			     line);
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
		      { "snapshot", CONTROL_SNAPSHOT },
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
