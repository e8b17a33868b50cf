/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file_in.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"
#include "collect/sysfs.h"

#define LISTED_MOST  6
#define WORDS_MOST   (8u << 20)
#define COMMAND_MOST 40 /* columns of a candidate's command */

struct found {
	pid_t pid;
	char command[128]; /* its words, blanks between */
};

typedef VEC(struct found) found_list;

void process_name(char out[PROCESS_NAME], pid_t pid)
{
	if (sys_read(out, PROCESS_NAME, "", "proc/%d/comm", (int)pid) < 0)
		out[0] = '\0';
}

static bool is_base(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

/* The file's name, without the mark of one that was removed or replaced. */
static bool is_program(pid_t pid, const char *name)
{
	static const char gone[] = " (deleted)";
	char link[64], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	if (text_ends(path, (size_t)n, gone))
		path[(size_t)n - (sizeof(gone) - 1)] = '\0';
	return is_base(path, name);
}

/* `words` ends with a NUL after each word, and another. */
static bool answers(pid_t pid, const char *words, const char *name, bool script)
{
	char comm[PROCESS_NAME];
	const char *second;

	if (script) {
		second = *words ? words + strlen(words) + 1 : "";
		return *second && *second != '-' && is_base(second, name);
	}
	process_name(comm, pid);
	return !strncmp(comm, name, sizeof(comm) - 1) || (*words && is_base(words, name)) ||
	       is_program(pid, name);
}

static bool has_ended(pid_t pid)
{
	char text[512];
	const char *at;

	if (sys_read(text, sizeof(text), "", "proc/%d/stat", (int)pid) <= 0)
		return true;
	at = strrchr(text, ')');
	return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

static int look(found_list *v, const char *name, bool script, struct err *err)
{
	struct arena a = ARENA_INIT;
	struct buf words = BUF_INIT;
	const char *const *names;
	size_t n;
	int rc = 0;

	if (!sys_names(&a, &names, &n, "", "proc"))
		rc = err_sys(err, "/proc");
	for (size_t i = 0; i < n && !rc; i++) {
		struct found f = { 0 };
		char path[64];
		uint64_t pid;

		if (num_parse_u64(&pid, names[i], NULL) || !pid || pid > INT_MAX ||
		    (pid_t)pid == getpid())
			continue;
		f.pid = (pid_t)pid;
		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)f.pid);
		buf_reset(&words);
		if (file_slurp(&words, path, WORDS_MOST, NULL))
			buf_reset(&words);
		buf_put(&words, "\0", 2);
		if (words.failed)
			rc = err_nomem(err);
		if (rc || !answers(f.pid, words.s, name, script) || has_ended(f.pid))
			continue;
		for (size_t k = 0; k + 3 < words.len && k + 1 < sizeof(f.command); k++)
			f.command[k] = words.s[k] ? words.s[k] : ' ';
		if (vec_push(v, f))
			rc = err_nomem(err);
	}
	buf_free(&words);
	arena_free(&a);
	return rc;
}

static int by_number(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int refuse(found_list *v, const char *name, struct err *err)
{
	struct buf list = BUF_INIT, all = BUF_INIT;

	vec_sort(v, by_number);
	for (size_t i = 0; i < v->n; i++) {
		if (i < LISTED_MOST) {
			char *c = v->v[i].command;

			if (strlen(c) > COMMAND_MOST)
				c[COMMAND_MOST] = '\0';
			buf_printf(&list, "%s%d (", i ? ", " : "", (int)v->v[i].pid);
			text_put_safe(&list, *c ? c : name, false);
			buf_putc(&list, ')');
		}
		if (all.len < 200)
			buf_printf(&all, "%s%d", i ? "," : "", (int)v->v[i].pid);
	}
	if (v->n > LISTED_MOST)
		buf_printf(&list, " and %zu more", v->n - LISTED_MOST);
	(void)err_set(err, ERR_USAGE, "%zu processes are called '%.60s': %s", v->n, name,
		      buf_str(&list));
	(void)err_hint(err, "one of them: -p %d; %s: -p %s", (int)v->v[0].pid,
		       all.len < 200 ? "all" : "more", buf_str(&all));
	buf_free(&list);
	buf_free(&all);
	return -1;
}

int process_find(pid_t *out, const char *name, struct err *err)
{
	found_list v = VEC_INIT;
	int rc = look(&v, name, false, err);

	*out = 0;
	if (!rc && !v.n)
		rc = look(&v, name, true, err);
	if (!rc && v.n > 1)
		rc = refuse(&v, name, err);
	if (!rc && !v.n)
		rc = err_set(err, ERR_NOT_FOUND, "there is no process '%.60s'", name);
	if (!rc)
		*out = v.v[0].pid;
	vec_free(&v);
	return rc;
}
