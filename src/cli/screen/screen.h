/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * screen - the terminal, as a grid of cells and a row of keys. The only file that knows ncurses.
 *
 *	screen_able("browse", "...", &err)	before anything is read: there is a terminal, and it
 *						can do this
 *	screen_open(&err)
 *	screen_begin(), screen_put() ..., screen_end()		a picture
 *	screen_key(...)
 *	screen_close()		the terminal is as it was
 *
 * However the program ends while the screen is open, the terminal is as it was: on SIGHUP, SIGINT,
 * SIGQUIT, SIGTERM, and if it crashes. Output to standard error meanwhile is kept and comes out
 * after screen_close(), if standard error is the terminal. There is one screen.
 */
#ifndef CYCLADE_CLI_SCREEN_H
#define CYCLADE_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "show/style.h"

enum { /* keys that are no character */
       SCREEN_NONE = 256,
       SCREEN_UP,
       SCREEN_DOWN,
       SCREEN_LEFT,
       SCREEN_RIGHT,
       SCREEN_PAGE_UP,
       SCREEN_PAGE_DOWN,
       SCREEN_HOME,
       SCREEN_END,
       SCREEN_ENTER,
       SCREEN_BACK,
       SCREEN_BACKTAB,
       SCREEN_ESCAPE,
       SCREEN_RESIZED,
       SCREEN_CLICK, /* screen_clicked() */
       SCREEN_WHEEL_UP,
       SCREEN_WHEEL_DOWN,
       SCREEN_OTHER, /* one that nothing here is about */
};

/* For the message: `what` needs a terminal; `instead` does not. */
int screen_able(const char *what, const char *instead, struct err *err) MUST_USE;
int screen_open(bool colour, struct err *err) MUST_USE;
void screen_close(void); /* also if it is not open */

void screen_size(unsigned *lines, unsigned *columns);
void screen_begin(void);
/* A safe text; it is cut at the end of the line. */
void screen_put(unsigned line, unsigned column, const char *text, enum ink ink, bool reversed);
/* The same of any text: made safe, and cut with a mark. Returns the column behind it. */
unsigned screen_text(unsigned line, unsigned column, const char *text, enum ink ink, bool reversed,
		     bool ascii);
/* Fills the rest of the line in reverse. */
void screen_bar(unsigned line);
void screen_clear(unsigned line);
void screen_end(void);
void screen_cursor(unsigned line, unsigned column); /* shown there; hidden by screen_begin() */

/* The next key, within so many ms; SCREEN_NONE: none was pressed. -1: for ever; the terminal is
 * gone if that returns SCREEN_NONE. */
int screen_key(int ms);
/* For loops that also wait for something else: a file that is readable when screen_key(0) has a key
 * or a new size. The screen owns it; -1: there is none. */
int screen_file(struct err *err) MUST_USE;
void screen_clicked(unsigned *line, unsigned *column);
bool screen_gone(void);	   /* the terminal is */
bool screen_waiting(void); /* a key was pressed and not taken */

#endif
