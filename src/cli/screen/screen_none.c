/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * screen_none - of a build without ncurses: screen_able() fails, and nothing else is called.
 */
#include "cli/screen/screen.h"

int screen_able(const char *what, const char *instead, struct err *err)
{
	(void)err_set(err, ERR_UNSUPPORTED, "this cyclade was built without ncurses: no %s", what);
	return err_hint(err, "%s; or build with libncurses-dev", instead);
}

int screen_open(bool colour, struct err *err)
{
	(void)colour;
	return screen_able("screen", "", err);
}

void screen_close(void)
{
}

void screen_size(unsigned *lines, unsigned *columns)
{
	*lines = *columns = 1;
}

void screen_begin(void)
{
}

void screen_put(unsigned line, unsigned column, const char *text, enum ink ink, bool reversed)
{
	(void)line;
	(void)column;
	(void)text;
	(void)ink;
	(void)reversed;
}

unsigned screen_text(unsigned line, unsigned column, const char *text, enum ink ink, bool reversed,
		     bool ascii)
{
	(void)ascii;
	screen_put(line, column, text, ink, reversed);
	return column;
}

void screen_bar(unsigned line)
{
	(void)line;
}

void screen_clear(unsigned line)
{
	(void)line;
}

void screen_end(void)
{
}

void screen_cursor(unsigned line, unsigned column)
{
	(void)line;
	(void)column;
}

int screen_key(int ms)
{
	(void)ms;
	return SCREEN_NONE;
}

int screen_file(struct err *err)
{
	return screen_able("screen", "", err);
}

void screen_clicked(unsigned *line, unsigned *column)
{
	*line = *column = 0;
}

bool screen_gone(void)
{
	return true;
}

bool screen_waiting(void)
{
	return false;
}
