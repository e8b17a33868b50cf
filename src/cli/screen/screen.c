/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/screen/screen.h"

#define NCURSES_NOMACROS 1 /* functions, to have their addresses */
#include <curses.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/leaks.h"
#include "base/library.h"
#include "base/text.h"
#include "config.h"

static struct {
#define CALL(name) LIBRARY_POINTER(, name)
#include "cli/screen/curses.def"
#undef CALL
} curses;
static const char *const names[] = {
#define CALL(name) LIBRARY_NAME(, name)
#include "cli/screen/curses.def"
#undef CALL
};
static struct library library = LIBRARY("the terminal", NCURSES_SO, names, curses,
					"install ncurses (Debian: libncursesw6)");

/* ---- as it was ------------------------------------------------------------------------------- */

/* Data of the signal handler, made beforehand: it may call almost nothing. */
static struct {
	struct termios modes;
	char codes[256]; /* that end what initscr() and the mouse began */
	size_t n_codes;
	volatile sig_atomic_t open;
	int saved_stderr, kept; /* -1: none */
	SCREEN *screen;
	bool colour;
	unsigned click_line, click_column;
	int files, resized;	/* of screen_file(): an epoll, an eventfd; -1: none */
	struct sigaction winch; /* ncurses' own handler */
} now = { .saved_stderr = -1, .kept = -1, .files = -1, .resized = -1 };

static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGSEGV, SIGABRT, SIGBUS, SIGFPE };
enum { N_ENDS = sizeof(ends) / sizeof(*ends) };
static struct sigaction before[N_ENDS];

static void restore_terminal(void)
{
	if (!now.open)
		return;
	now.open = 0;
	if (write(STDOUT_FILENO, now.codes, now.n_codes) < 0)
		errno = 0; /* it is gone */
	(void)tcsetattr(STDOUT_FILENO, TCSANOW, &now.modes);
	if (now.saved_stderr >= 0)
		(void)dup2(now.saved_stderr, STDERR_FILENO);
}

static size_t screen_index_of(int number)
{
	size_t i = 0;

	while (i + 1 < N_ENDS && ends[i] != number)
		i++;
	return i;
}

/* Then it ends as it would have without a screen: by the handler that was there before, and if that
 * returns by the signal. */
static void end_by_signal(int number)
{
	const struct sigaction *was = &before[screen_index_of(number)];

	restore_terminal();
	(void)sigaction(number, was, NULL);
	if (!(was->sa_flags & SA_SIGINFO) && was->sa_handler != SIG_DFL) {
		was->sa_handler(number);
		(void)signal(number, SIG_DFL);
	}
	(void)raise(number); /* is met once this handler has returned */
}

/* Before ncurses has handlers of its own, which end with another code. */
static void note_signals(void)
{
	for (size_t i = 0; i < N_ENDS; i++)
		(void)sigaction(ends[i], NULL, &before[i]);
}

static void catch_signals(void)
{
	struct sigaction to = { .sa_handler = end_by_signal };

	for (size_t i = 0; i < N_ENDS; i++)
		if (before[i].sa_handler != SIG_IGN)
			(void)sigaction(ends[i], &to, NULL);
}

static void add_code(const char *name)
{
	const char *s = curses.tigetstr(name);
	size_t room = sizeof(now.codes) - now.n_codes, len;

	if (!s || s == (const char *)-1) /* NOLINT: terminfo's "no such string" */
		return;
	len = strlen(s);
	if (len >= room)
		return;
	memcpy(now.codes + now.n_codes, s, len);
	now.n_codes += len;
}

static void make_codes(void)
{
	static const char mouse_off[] = "\033[?1000l\033[?1002l\033[?1006l";

	now.n_codes = 0;
	add_code("sgr0");
	add_code("cnorm");
	add_code("rmkx");
	if (curses.has_mouse()) {
		memcpy(now.codes + now.n_codes, mouse_off, sizeof(mouse_off) - 1);
		now.n_codes += sizeof(mouse_off) - 1;
	}
	add_code("rmcup");
}

/* ---- standard error -------------------------------------------------------------------------- */

static void keep_stderr(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	now.kept = memfd_create("stderr", MFD_CLOEXEC);
	now.saved_stderr = now.kept < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (now.saved_stderr >= 0)
		(void)dup2(now.kept, STDERR_FILENO);
}

static void give_stderr(void)
{
	char text[4096];
	ssize_t n;

	if (now.saved_stderr >= 0) {
		(void)dup2(now.saved_stderr, STDERR_FILENO);
		(void)close(now.saved_stderr);
		(void)lseek(now.kept, 0, SEEK_SET);
		while ((n = read(now.kept, text, sizeof(text))) > 0)
			if (fd_write_all(STDERR_FILENO, text, (size_t)n, "", NULL))
				break;
	}
	if (now.kept >= 0)
		(void)close(now.kept);
	now.saved_stderr = now.kept = -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

int screen_able(const char *what, const char *instead, struct err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		(void)err_set(err, ERR_USAGE, "%s needs a terminal for input and output", what);
	else if (!term || !*term || !strcmp(term, "dumb"))
		(void)err_set(err, ERR_USAGE, "this terminal (TERM=%.40s) has no cursor to move",
			      term ? term : "");
	else
		return library_open(&library, err);
	return err_hint(err, "%s", instead);
}

static void begin_colours(void)
{
	now.colour = now.colour && curses.has_colors();
	if (!now.colour)
		return;
	(void)curses.start_color();
	(void)curses.use_default_colors();
	(void)curses.init_pair(INK_HOT, COLOR_RED, -1);
	(void)curses.init_pair(INK_WARM, COLOR_YELLOW, -1);
	(void)curses.init_pair(INK_GOOD, COLOR_GREEN, -1);
	(void)curses.init_pair(INK_BAD, COLOR_RED, -1);
}

int screen_open(bool colour, struct err *err)
{
	if (tcgetattr(STDOUT_FILENO, &now.modes))
		return err_sys(err, "terminal");
	note_signals();
	LEAKS_BEGIN(); /* if it knows no such terminal */
	now.screen = curses.newterm(NULL, stdout, stdin);
	LEAKS_END();
	if (!now.screen) {
		(void)err_set(err, ERR_UNSUPPORTED, "no description of the terminal TERM=%.40s",
			      getenv("TERM"));
		return err_hint(err, "install it (ncurses-term), or: cyclade report");
	}
	now.open = 1;
	now.colour = colour;
	(void)curses.cbreak();
	(void)curses.noecho();
	(void)curses.nonl();
	(void)curses.keypad(*curses.stdscr, true);
	(void)curses.set_escdelay(25);
	(void)curses.mousemask(
		BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	(void)curses.mouseinterval(0);
	(void)curses.curs_set(0);
	begin_colours();
	make_codes();
	keep_stderr();
	catch_signals();
	return 0;
}

/* ---- waiting for keys and something else ---------------------------------------------------- */

static void on_resized(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	if (now.winch.sa_handler != SIG_DFL && now.winch.sa_handler != SIG_IGN)
		now.winch.sa_handler(number);
	if (write(now.resized, &one, sizeof(one)) < 0)
		errno = 0; /* it is full: the reader wakes anyway */
	errno = saved;
}

static int add_screen_file(int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return fd < 0 ? -1 : epoll_ctl(now.files, EPOLL_CTL_ADD, fd, &e);
}

int screen_file(struct err *err)
{
	const struct sigaction to = { .sa_handler = on_resized, .sa_flags = SA_RESTART };

	if (now.files >= 0)
		return now.files;
	now.files = epoll_create1(EPOLL_CLOEXEC);
	now.resized = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (now.files < 0 || add_screen_file(STDIN_FILENO) || add_screen_file(now.resized) ||
	    sigaction(SIGWINCH, &to, &now.winch)) {
		(void)err_sys(err, "waiting for keys");
		return -1;
	}
	return now.files;
}

static void close_files(void)
{
	if (now.files < 0)
		return;
	(void)sigaction(SIGWINCH, &now.winch, NULL);
	(void)close(now.files);
	if (now.resized >= 0)
		(void)close(now.resized);
	now.files = now.resized = -1;
}

void screen_close(void)
{
	if (!now.screen)
		return;
	if (now.open) {
		(void)curses.endwin();
		now.open = 0;
		(void)tcsetattr(STDOUT_FILENO, TCSANOW, &now.modes);
	}
	for (size_t i = 0; i < N_ENDS; i++)
		(void)sigaction(ends[i], &before[i], NULL);
	close_files();
	curses.delscreen(now.screen);
	now.screen = NULL;
	give_stderr();
}

/* ---- a picture ------------------------------------------------------------------------------- */

void screen_size(unsigned *lines, unsigned *columns)
{
	*lines = *curses.LINES > 0 ? (unsigned)*curses.LINES : 1;
	*columns = *curses.COLS > 0 ? (unsigned)*curses.COLS : 1;
}

void screen_begin(void)
{
	(void)curses.erase();
	(void)curses.curs_set(0);
}

static attr_t attribute(enum ink ink)
{
	switch (ink) {
	case INK_BOLD:
		return A_BOLD;
	case INK_DIM:
		return A_DIM;
	case INK_HOT:
	case INK_WARM:
	case INK_GOOD:
	case INK_BAD:
		return now.colour	 ? (attr_t)curses.COLOR_PAIR((int)ink)
		       : ink == INK_WARM ? A_NORMAL
					 : A_BOLD;
	case INK_PLAIN:
		break;
	}
	return A_NORMAL;
}

void screen_put(unsigned line, unsigned column, const char *text, enum ink ink, bool reversed)
{
	attr_t a = attribute(ink) | (reversed ? A_REVERSE : 0);

	if (line >= (unsigned)*curses.LINES || column >= (unsigned)*curses.COLS)
		return;
	(void)curses.attrset((int)a);
	/* the lower right corner cannot be written without an error, which means nothing */
	(void)curses.mvaddnstr((int)line, (int)column, text, -1);
	(void)curses.attrset(A_NORMAL);
}

unsigned screen_text(unsigned line, unsigned column, const char *text, enum ink ink, bool reversed,
		     bool ascii)
{
	struct buf safe = BUF_INIT;
	unsigned lines, columns;
	size_t width;

	screen_size(&lines, &columns);
	text_put_safe(&safe, text, ascii);
	width = text_width(buf_str(&safe));
	if (column < columns && column + width > columns) {
		struct buf cut = BUF_INIT;

		text_put_fit(&cut, buf_str(&safe), columns - column, TEXT_LEFT, false, ascii);
		screen_put(line, column, buf_str(&cut), ink, reversed);
		buf_free(&cut);
	} else {
		screen_put(line, column, buf_str(&safe), ink, reversed);
	}
	buf_free(&safe);
	return column + (unsigned)width;
}

void screen_bar(unsigned line)
{
	(void)curses.mvchgat((int)line, 0, -1, A_REVERSE, 0, NULL);
}

void screen_clear(unsigned line)
{
	(void)curses.move((int)line, 0);
	(void)curses.clrtoeol();
}

void screen_end(void)
{
	(void)curses.refresh();
}

void screen_cursor(unsigned line, unsigned column)
{
	(void)curses.curs_set(1);
	(void)curses.move((int)line, (int)column);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int clicked(void)
{
	MEVENT e;

	if (curses.getmouse(&e) != OK)
		return SCREEN_OTHER;
	if (e.bstate & BUTTON4_PRESSED)
		return SCREEN_WHEEL_UP;
	if (e.bstate & BUTTON5_PRESSED)
		return SCREEN_WHEEL_DOWN;
	if (e.y < 0 || e.x < 0)
		return SCREEN_OTHER;
	now.click_line = (unsigned)e.y;
	now.click_column = (unsigned)e.x;
	return SCREEN_CLICK;
}

static const struct {
	int curses, key;
} keys[] = {
	{ KEY_UP, SCREEN_UP },		{ KEY_DOWN, SCREEN_DOWN },
	{ KEY_LEFT, SCREEN_LEFT },	{ KEY_RIGHT, SCREEN_RIGHT },
	{ KEY_PPAGE, SCREEN_PAGE_UP },	{ KEY_NPAGE, SCREEN_PAGE_DOWN },
	{ KEY_HOME, SCREEN_HOME },	{ KEY_END, SCREEN_END },
	{ KEY_ENTER, SCREEN_ENTER },	{ '\r', SCREEN_ENTER },
	{ '\n', SCREEN_ENTER },		{ KEY_BACKSPACE, SCREEN_BACK },
	{ 127, SCREEN_BACK },		{ '\b', SCREEN_BACK },
	{ KEY_BTAB, SCREEN_BACKTAB },	{ 27, SCREEN_ESCAPE },
	{ KEY_RESIZE, SCREEN_RESIZED },
};

/* getch() has none if a signal came, too. */
bool screen_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

int screen_key(int ms)
{
	uint64_t n;
	int c;

	if (now.resized >= 0 && read(now.resized, &n, sizeof(n)) < 0)
		errno = 0; /* it has the same size */
	curses.timeout(ms);
	do {
		c = curses.getch();
	} while (c == ERR && ms < 0 && !screen_gone());
	if (c == KEY_MOUSE)
		return clicked();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].curses == c)
			return keys[i].key;
	return c == ERR ? SCREEN_NONE : c > 255 ? SCREEN_OTHER : c;
}

void screen_clicked(unsigned *line, unsigned *column)
{
	*line = now.click_line;
	*column = now.click_column;
}

bool screen_waiting(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}
