/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output - messages, colour, width, pager and progress: everything that touches the terminal.
 */
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/nomem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "cli/repeats.h"
#include "config.h"
#include "perfdata/series.h"
#include "report/page_files.h"

/* To a terminal or a pager: if it cannot be written, a message cannot be read. */
static void put_quietly(int fd, const char *p, size_t len)
{
	if (fd_write_all(fd, p, len, "", NULL))
		return;
}

static void say_without_memory(const char *lead, const char *text)
{
	char line[sizeof(((struct err *)0)->what) + 32];
	int n = snprintf(line, sizeof(line), "%s%s", lead, text);

	if (n < 0)
		return;
	if ((size_t)n >= sizeof(line))
		n = (int)sizeof(line) - 1;
	for (int i = 0; i < n; i++)
		if (line[i] < ' ' || line[i] > '~')
			line[i] = '?';
	line[n] = '\n';
	put_quietly(STDERR_FILENO, line, (size_t)n + 1);
}

static unsigned width_of(int fd);

/* In lines of the terminal's width, the following ones below the text; `as_is`: in one. */
static void say(const char *lead, const char *text, bool as_is)
{
	struct buf b = BUF_INIT, safe = BUF_INIT;

	buf_puts(&b, lead);
	text_put_safe(&safe, text, false);
	if (as_is)
		buf_put(&b, buf_str(&safe), safe.len);
	else
		text_put_wrapped(&b, buf_str(&safe), strlen(lead), width_of(STDERR_FILENO));
	buf_free(&safe);
	buf_putc(&b, '\n');
	if (b.failed)
		say_without_memory(lead, text);
	else
		put_quietly(STDERR_FILENO, buf_str(&b), b.len);
	buf_free(&b);
}

bool cli_memory_limit(unsigned which, char *line, size_t room)
{
	static const struct {
		int of;
		const char *means, *word;
	} limits[CLI_MEMORY_LIMITS] = { { RLIMIT_AS, "address space", "-v" },
					{ RLIMIT_DATA, "data", "-d" } };
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)limits[which].of, &r) || r.rlim_cur == RLIM_INFINITY)
		return false;
	(void)snprintf(line, room, "%s is limited to %" PRIu64 " KB here: raise ulimit %s",
		       limits[which].means, (uint64_t)r.rlim_cur >> 10, limits[which].word);
	return true;
}

/* Memory or a thread that was refused: the limit of this process that may be why, if it has one.
 * EAGAIN: a thread has no room for its stack. */
static void say_limit(const struct err *err)
{
	char line[128];

	if (err->code != ERR_NOMEM && err->sys_errno != ENOMEM && err->sys_errno != EAGAIN)
		return;
	for (unsigned i = 0; i < CLI_MEMORY_LIMITS; i++)
		if (cli_memory_limit(i, line, sizeof(line)))
			say("  ", line, false);
}

/* The recording that was named and is not the usual one; NULL: none. */
static const char *named_input;

static bool has_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = s; n && (at = strstr(at, word)); at += n)
		if ((at == s || strchr(" \n`'(", at[-1])) && (!at[n] || strchr(" \n`'),;:", at[n])))
			return true;
	return false;
}

/* "cyclade info lists them" of a recording that was named: "cyclade info -i FILE lists them". */
static const char *with_input(const char *hint, struct buf *b)
{
	static const char *const verbs[] = { "info", "report", "blocks", "calls", "annotate" };
	const char *done = hint;

	if (!named_input || has_word(hint, named_input) || strstr(hint, "FILE"))
		return hint;
	for (const char *s = hint; (s = strstr(s, "cyclade "));) {
		size_t n;

		s += strlen("cyclade ");
		n = strcspn(s, " ;,`\n");
		for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
			if (n == strlen(verbs[i]) && !strncmp(s, verbs[i], n)) {
				buf_put(b, done, (size_t)(s + n - done));
				buf_puts(b, " -i ");
				if (!text_put_word(b, named_input))
					return hint;
				done = s + n;
			}
	}
	buf_puts(b, done);
	return b->failed ? hint : buf_str(b);
}

int cli_fail_as(const struct err *err, int code)
{
	if (err->code == ERR_ANSWERED)
		return EXIT_OK;
	struct buf with = BUF_INIT;
	/* a caret points to a column of the line above it */
	bool caret = strchr(err->hint, '\n');

	say("cyclade: ", err->code == ERR_NONE ? "failed without a reason" : err->what, caret);
	for (const char *s = with_input(err->hint, &with);
	     *s;) { /* a formula with a caret below it has two lines */
		size_t n = strcspn(s, "\n");
		struct buf line = BUF_INIT;

		buf_put(&line, s, n);
		say("  ", buf_str(&line), caret);
		buf_free(&line);
		s += n + (s[n] == '\n');
	}
	buf_free(&with);
	say_limit(err);
	return code;
}

int cli_fail(const struct err *err)
{
	return cli_fail_as(err, EXIT_ERROR);
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (cli->opt.quiet)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("cyclade: ", text, false);
}

void cli_warn(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("cyclade: ", text, false);
}

/* The k-th has the file and the name of another. */
static bool has_twin(const struct cli_choice *c, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++)
		if (i != k && !strcmp(c[i].name, c[k].name) && !strcmp(c[i].dso, c[k].dso))
			return true;
	return false;
}

int cli_choices(const struct cli *cli, const char *said, const struct cli_choice *c, size_t n)
{
	struct buf b = BUF_INIT;
	bool twins = false;

	buf_puts(&b, "cyclade: '");
	text_put_safe(&b, said, false);
	buf_printf(&b, "' may mean %zu functions:\n", n);
	for (size_t i = 0; i < n && i < 20; i++) {
		buf_printf(&b, "  %s  ", c[i].weight);
		text_put_safe(&b, c[i].dso, false);
		buf_putc(&b, ':');
		text_put_safe(&b, c[i].name, false);
		twins = twins || has_twin(c, n, i);
		if (twins)
			buf_printf(&b, "@0x%" PRIx64, c[i].start);
		buf_putc(&b, '\n');
	}
	if (n > 20)
		buf_printf(&b, "  (%zu more)\n", n - 20);
	buf_printf(&b, "  choose one: cyclade %s %s\n", command_names[cli->command],
		   twins ? "NAME@0xADDRESS" : "DSO:NAME");
	put_quietly(STDERR_FILENO, buf_str(&b), b.len);
	buf_free(&b);
	return EXIT_ERROR;
}

static const char *const usual[] = { "cyclade.data", "perf.data" };

/* Of a recording in several files, the newest; the file itself if that is newer. */
static const char *newest_of(const char *path)
{
	static char newest[PATH_MAX];
	struct stat one, other;

	if (!series_newest(newest, sizeof(newest), path) || !file_look(newest, &other))
		return file_look(path, NULL) ? path : NULL;
	if (file_look(path, &one) && (one.st_mtim.tv_sec > other.st_mtim.tv_sec ||
				      (one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
				       one.st_mtim.tv_nsec >= other.st_mtim.tv_nsec)))
		return path;
	return newest;
}

const char *cli_usual_input(void)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (newest_of(usual[i]))
			return newest_of(usual[i]);
	return NULL;
}

/* In a shared directory any user can put a file of that name. */
static bool is_foreign(const char *path)
{
	struct stat st;

	return file_look(path, &st) && !owner_is_ours(&st);
}

/* `record -o NAME --switch-output` leaves no file of that very name. */
static const char *named_one(struct cli *cli, const char *path)
{
	const char *newest = file_look(path, NULL) ? path : newest_of(path);

	return newest && newest != path ? arena_xstrdup(&cli->arena, newest) : path;
}

const char *cli_input(struct cli *cli, struct err *err)
{
	const char *found;

	if (cli->opt.input)
		return named_input = named_one(cli, cli->opt.input);
	if (cli->args.n) {
		cli->args.n--;
		return named_input = named_one(cli, *cli->args.v++);
	}
	found = cli_usual_input();
	if (found && !is_foreign(found))
		return found;
	if (found) {
		(void)err_set(err, ERR_PERM, "%s here belongs to another user, and was not named",
			      found);
		(void)err_hint(err, "name it: the same command with -i %s reads it all the same",
			       found);
		return NULL;
	}
	(void)err_set(err, ERR_NOT_FOUND,
		      "no recording named, and no cyclade.data or perf.data here");
	(void)repeats_hint(usual[0], command_names[cli->command], err);
	(void)err_hint(err, "make one: cyclade record -- ./prog   or name one: cyclade %s FILE",
		       command_names[cli->command]);
	return NULL;
}

int cli_one_recording(struct cli *cli, struct cli_operands *out, struct err *err)
{
	bool named = cli->opt.input || cli->args.n;

	out->path = cli_input(cli, err);
	out->input = named ? out->path : NULL;
	if (!out->path)
		return -1;
	return cli->args.n
		       ? err_set(err, ERR_USAGE, "'%.60s': one recording at a time", cli->args.v[0])
		       : 0;
}

int cli_file_function(struct cli *cli, struct cli_operands *out, struct err *err)
{
	struct text_list *args = &cli->args;
	bool file = args->n && file_look(args->v[0], NULL);
	bool named = cli->opt.input || args->n == 2 || file;
	const char *name = command_names[cli->command];

	*out = (struct cli_operands){ 0 };
	if (args->n == 2 || (args->n == 1 && (cli->opt.input || !file)))
		out->function = args->v[--args->n];
	if (args->n > 1 || (args->n && cli->opt.input)) {
		(void)err_set(err, ERR_USAGE, "%s takes a recording and a function", name);
		return err_hint(err, "cyclade %s %s; quote a name with blanks", name,
				command_operands[cli->command]);
	}
	out->path = cli_input(cli, err);
	out->input = named ? out->path : NULL;
	return out->path ? 0 : -1;
}

static const char *env_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

int cli_environment(struct options *o, struct cli *cli, enum command cmd, struct err *err)
{
	const char *text = env_set("CYCLADE_OPTS");

	if (!text || !options_parse_text(o, &cli->arena, cmd, text, err))
		return 0;
	return err_prefix(err, "CYCLADE_OPTS");
}

static bool wants_colour(const struct cli *cli, int fd)
{
	const char *term = env_set("TERM"), *force = env_set("CLICOLOR_FORCE");

	if (cli->opt.color && strcmp(cli->opt.color, "auto"))
		return !strcmp(cli->opt.color, "always");
	if (force && strcmp(force, "0"))
		return true;
	if (env_set("NO_COLOR"))
		return false;
	return isatty(fd) && term && strcmp(term, "dumb");
}

static bool locale_is_utf8(void)
{
	nomem_begin();
	(void)setlocale(LC_CTYPE, "");
	nomem_end();
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* 0: as wide as it gets. */
static unsigned width_of(int fd)
{
	const char *columns = env_set("COLUMNS");
	struct winsize ws;
	uint64_t n;

	if (columns && !num_parse_u64(&n, columns, NULL) && n >= 20 && n <= 10000)
		return (unsigned)n;
	if (!isatty(fd))
		return 0;
	return !ioctl(fd, TIOCGWINSZ, &ws) && ws.ws_col >= 20 ? ws.ws_col : 80;
}

struct style cli_style(const struct cli *cli, int fd)
{
	return (struct style){ .colour = wants_colour(cli, fd),
			       .ascii = !locale_is_utf8(),
			       .width = cli->opt.wide ? 0 : width_of(fd) };
}

bool cli_can_browse(void)
{
	const char *term = env_set("TERM");

	return HAVE_NCURSES && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term &&
	       strcmp(term, "dumb") != 0;
}

/* A pager's command line in words; no shell ever sees it. NULL: none is wanted. */
static char **pager_words(char *text, size_t size, char **words, size_t n_words)
{
	const char *pager = env_set("CYCLADE_PAGER");
	char *save = NULL;
	size_t n = 0;

	if (!pager)
		pager = env_set("PAGER");
	if (!pager)
		pager = "less";
	if (!strcmp(pager, "cat") || strlen(pager) >= size)
		return NULL;
	memcpy(text, pager, strlen(pager) + 1);
	for (char *w = strtok_r(text, " \t", &save); w && n + 1 < n_words;
	     w = strtok_r(NULL, " \t", &save))
		words[n++] = w;
	words[n] = NULL;
	return n ? words : NULL;
}

void cli_pager(struct cli *cli)
{
	char line[512], *words[32];

	if (cli->pager.pid || cli->opt.no_pager || !isatty(STDOUT_FILENO) ||
	    !pager_words(line, sizeof(line), words, sizeof(words) / sizeof(*words)))
		return;
	(void)setenv("LESS", "FRX", 0);
	(void)starter_start(&cli->pager, words);
}

/* Returns true if a pager took the text. */
static bool through_pager(struct cli *cli, const struct buf *text)
{
	cli_pager(cli); /* it is there already if rights were given up */
	return cli->pager.pid && starter_run(&cli->pager, buf_str(text), text->len) >= 0;
}

/* A file may have a name before it is whole; a signal that ends the program removes it. */
static void remove_unfinished(int number)
{
	file_new_remove_temps();
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

/* Begins to guard files, or ends it. Signals that our parent ignores stay ignored. */
static void guard_files(bool on)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGTERM };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct sigaction now, to = { .sa_handler = on ? remove_unfinished : SIG_DFL };

		if (sigaction(numbers[i], NULL, &now) ||
		    now.sa_handler != (on ? SIG_DFL : remove_unfinished))
			continue;
		(void)sigaction(numbers[i], &to, NULL);
	}
}

static int begin_file(struct file_new *f, const char *path, struct err *err)
{
	int rc;

	/* before there is a name to remove */
	*f = (struct file_new)FILE_NEW_NONE;
	guard_files(true);
	rc = file_new_open(f, path, 0644, FILE_NEW_NAMED, err);
	if (rc)
		guard_files(false);
	return rc;
}

static int end_file(struct file_new *f, struct err *err)
{
	int rc = file_new_commit(f, err);

	guard_files(false);
	return rc;
}

static void drop_file(struct file_new *f)
{
	file_new_abort(f);
	guard_files(false);
}

static int put_file(const char *path, const struct buf *text, struct err *err)
{
	struct file_new f;

	if (begin_file(&f, path, err))
		return -1;
	if (!fd_write_all(f.fd, buf_str(text), text->len, path, err))
		return end_file(&f, err);
	drop_file(&f);
	return -1;
}

int cli_put(struct cli *cli, const struct buf *text, bool may_page)
{
	const char *path = cli->opt.output;
	struct err err = ERR_INIT;

	if (text->failed || nomem_noted()) { /* incomplete: nothing is written */
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	if (path && strcmp(path, "-"))
		return put_file(path, text, &err) ? cli_fail(&err) : EXIT_OK;
	if (may_page && through_pager(cli, text))
		return EXIT_OK;
	if (!fd_write_all(STDOUT_FILENO, buf_str(text), text->len, "standard output", &err))
		return EXIT_OK;
	return err.sys_errno == EPIPE ? EXIT_OK : cli_fail(&err);
}

static bool is_to_file(const struct cli *cli)
{
	return cli->opt.output && strcmp(cli->opt.output, "-") != 0;
}

static int out_take(void *ctx, const char *p, size_t len)
{
	struct cli_out *o = ctx;
	const char *path = is_to_file(o->cli) ? o->cli->opt.output : NULL;

	bool first = !o->begun;

	o->begun = true;
	o->size += len;
	cli_progress_end(o->cli);
	if (path && first && begin_file(&o->file, path, &o->err))
		return -1;
	return fd_write_all(path ? o->file.fd : STDOUT_FILENO, p, len,
			    path ? path : "standard output", &o->err);
}

void cli_out_open(struct cli_out *o, struct cli *cli, bool machine)
{
	o->cli = cli;
	o->text = (struct buf)BUF_INIT;
	o->drain = (struct buf_drain){ out_take, o };
	o->file = (struct file_new)FILE_NEW_NONE;
	o->machine = machine;
	o->begun = false;
	o->size = 0;
	o->err = (struct err)ERR_INIT;
	if (machine)
		o->text.drain = &o->drain;
}

int cli_out_put(struct cli_out *o)
{
	int code;

	cli_progress_end(o->cli);
	if (!o->begun) {
		o->size = o->text.len;
		code = cli_put(o->cli, &o->text, !o->machine);
		buf_free(&o->text);
		return code;
	}
	if (o->text.failed || nomem_noted() || out_take(o, buf_str(&o->text), o->text.len) ||
	    (is_to_file(o->cli) && end_file(&o->file, &o->err))) {
		struct err none = ERR_INIT;

		(void)err_set(&none, ERR_NOMEM, "out of memory"); /* if writing did not fail */
		return cli_out_fail(o, &none);
	}
	buf_free(&o->text);
	return EXIT_OK;
}

int cli_out_fail(struct cli_out *o, const struct err *why)
{
	cli_progress_end(o->cli);
	buf_free(&o->text);
	drop_file(&o->file);
	if (o->err.code == ERR_NONE)
		return cli_fail(why);
	return !is_to_file(o->cli) && o->err.sys_errno == EPIPE ? EXIT_OK : cli_fail(&o->err);
}

int cli_separator(const struct cli *cli, char *out, struct err *err)
{
	const char *s = cli->opt.separator;

	*out = ',';
	if (!s)
		return 0;
	if (!strcmp(s, "\\t"))
		*out = '\t';
	else if (strlen(s) == 1 && !strchr("\"\r\n", *s))
		*out = *s;
	else
		return err_set(err, ERR_USAGE, "-x takes one character, or \\t; not a quote");
	return 0;
}

const char *cli_format(const struct cli *cli)
{
	const struct options *o = &cli->opt;

	return o->json ? "json" : o->format ? o->format : o->separator ? "csv" : "term";
}

int cli_schema(struct cli *cli, const struct document_form *f)
{
	struct buf b = BUF_INIT;
	int code;

	document_schema(&b, f);
	code = cli_put(cli, &b, false);
	buf_free(&b);
	return code;
}

int cli_show(struct cli *cli, struct show *out, const struct document_form *f, struct err *err)
{
	*out = (struct show){ .style = cli_style(cli, is_to_file(cli) ? -1 : STDOUT_FILENO),
			      .quiet = cli->opt.quiet,
			      .wide = cli->opt.wide,
			      .page = &page_files };
	if (cli->opt.json_schema && !cli_schema(cli, f))
		return err_set(err, ERR_ANSWERED, "the schema is printed");
	if (cli_separator(cli, &out->separator, err))
		return -1;
	return show_choose(out, f, cli_format(cli), cli->opt.table, err);
}

void cli_say_unsaid(const struct document *d, const struct show *s, bool notes)
{
	struct buf lines = BUF_INIT;
	char *save = NULL, *line;

	document_unsaid(&lines, d, s);
	line = lines.len ? strtok_r(lines.s, "\n", &save) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &save))
		if (notes || strncmp(line, "note: ", 6) != 0)
			say("cyclade: ", line, false);
	buf_free(&lines);
}

int cli_document(struct cli *cli, struct document *d, const struct show *s)
{
	struct cli_out out;
	struct err err = ERR_INIT;
	int code;

	cli_out_open(&out, cli, s->format->machine);
	if (document_write(&out.text, d, s, &err))
		return cli_out_fail(&out, &err);
	code = cli_out_put(&out);
	if (code == EXIT_OK)
		cli_say_unsaid(d, s, true);
	return code;
}

static double seconds_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool progress_due(struct cli *cli, double now)
{
	if (cli->opt.quiet || !isatty(STDERR_FILENO))
		return false;
	if (cli->progress_from == 0)
		cli->progress_from = cli->progress_last = now;
	if (now - cli->progress_from < 0.5 || now - cli->progress_last < 0.1)
		return false;
	cli->progress_last = now;
	return true;
}

static void put_progress(struct cli *cli, const char *line)
{
	char text[CLI_PROGRESS_WIDE + 2];

	(void)snprintf(text, sizeof(text), "\r%-*s", (int)cli->progress_wide, line);
	put_quietly(STDERR_FILENO, text, strlen(text));
	cli->progress_wide = strlen(line);
	cli->progress_shown = true;
}

void cli_progress_line(struct cli *cli, const char *line)
{
	if (progress_due(cli, seconds_now()))
		put_progress(cli, line);
}

void cli_progress(void *ctx, double fraction)
{
	struct cli *cli = ctx;
	double now = seconds_now();
	char line[CLI_PROGRESS_WIDE];
	bool measuring = cli->command == CMD_VALIDATE || cli->command == CMD_CALIBRATE;
	double left;

	if (!progress_due(cli, now))
		return;
	left = fraction > 0 ? (now - cli->progress_from) * (1 - fraction) / fraction : 0;
	if (isnan(fraction))
		(void)snprintf(line, sizeof(line), "running, %.0f s so far ",
			       now - cli->progress_from);
	else if (measuring)
		(void)snprintf(line, sizeof(line), "measuring %3.0f %%, %4.0f s left ",
			       fraction * 100, left);
	else
		(void)snprintf(line, sizeof(line), "reading %3.0f %%", fraction * 100);
	put_progress(cli, line);
}

void cli_progress_end(struct cli *cli)
{
	if (cli->progress_shown) {
		put_progress(cli, "");
		put_quietly(STDERR_FILENO, "\r", 1);
	}
	cli->progress_wide = 0;
	cli->progress_shown = false;
	cli->progress_from = 0;
}

/* A directory of another user's is neither read nor written, since its contents are trusted. */
static const char *own_dir(const char *dir)
{
	return dir && dir_is_ours(dir) ? dir : NULL;
}

const char *cli_cache_dir(struct cli *cli)
{
	const char *xdg = env_set("XDG_CACHE_HOME"), *home = env_set("HOME");

	if (cli->opt.no_cache)
		return NULL;
	/* the XDG base directory specification: a relative path is to be ignored */
	if (xdg && *xdg == '/')
		return own_dir(arena_printf(&cli->arena, "%s/cyclade", xdg));
	if (home && *home == '/')
		return own_dir(arena_printf(&cli->arena, "%s/.cache/cyclade", home));
	return NULL;
}

/* The value of [buildid] dir in a configuration of perf's; in the text, which is changed. */
static const char *buildid_dir(char *text)
{
	const char *found = NULL;
	bool inside = false;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len;

		line += strspn(line, " \t");
		if (*line == '[') {
			inside = !strncmp(line, "[buildid]", 9);
			continue;
		}
		if (!inside || strncmp(line, "dir", 3) != 0)
			continue;
		line += 3 + strspn(line + 3, " \t");
		if (*line != '=')
			continue;
		line += 1 + strspn(line + 1, " \t\"");
		len = strcspn(line, "#;\"");
		while (len && strchr(" \t\r", line[len - 1]))
			len--;
		line[len] = '\0';
		found = line;
	}
	return found;
}

const char *cli_perf_cache(struct cli *cli)
{
	const char *path = env_set("PERF_CONFIG"), *home = env_set("HOME"), *dir = NULL;
	struct buf text = BUF_INIT;
	struct stat st;
	int fd;

	if (!path || !*path)
		path = home && *home == '/' ? arena_printf(&cli->arena, "%s/.perfconfig", home)
					    : NULL;
	fd = path ? file_in_open(NULL, path, FILE_IN_LINKS | FILE_IN_STATE, &st, NULL) : -1;
	if (fd < 0)
		return NULL;
	/* it names a directory whose files are believed */
	if (!file_written_by(&st, geteuid()))
		(void)close(fd);
	else if (!file_in_slurp(&text, fd, &st, 65536, path, NULL) && text.len)
		dir = buildid_dir(text.s);
	if (dir && !strncmp(dir, "~/", 2) && home)
		dir = arena_printf(&cli->arena, "%s%s", home, dir + 1);
	else if (dir)
		dir = *dir == '/' ? arena_strdup(&cli->arena, dir) : NULL;
	buf_free(&text);
	return dir;
}

const char *cli_perf_home(struct cli *cli)
{
	const char *home = env_set("HOME");

	return home && *home && own_dir(arena_printf(&cli->arena, "%s/.debug", home)) ? home : NULL;
}

const char *cli_data_dir(struct cli *cli)
{
	const char *xdg = env_set("XDG_DATA_HOME"), *home = env_set("HOME");

	if (xdg && *xdg == '/')
		return own_dir(arena_printf(&cli->arena, "%s/cyclade", xdg));
	if (home && *home == '/')
		return own_dir(arena_printf(&cli->arena, "%s/.local/share/cyclade", home));
	return NULL;
}

const char *cli_debuginfod_dir(struct cli *cli)
{
	const char *said = env_set("DEBUGINFOD_CACHE_PATH"), *xdg = env_set("XDG_CACHE_HOME");
	const char *home = env_set("HOME");
	const char *old;

	if (said && *said)
		return said;
	old = home && *home ? arena_printf(&cli->arena, "%s/.debuginfod_client_cache", home) : NULL;
	if (old && file_look(old, NULL))
		return own_dir(old);
	if (xdg && *xdg)
		return own_dir(arena_printf(&cli->arena, "%s/debuginfod_client", xdg));
	return home && *home
		       ? own_dir(arena_printf(&cli->arena, "%s/.cache/debuginfod_client", home))
		       : NULL;
}
