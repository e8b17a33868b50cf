/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of tracefs. The first line of the input is an event to parse. Each other line makes a
 * tracepoint, SYSTEM/NAME ID, or a file that all share, @NAME TEXT. What is parsed, listed and
 * stored must be tracepoints that were made, with their ids.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/event.h"
#include "collect/tracing.h"

#define MOST 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct made {
	const char *system, *name, *id;
};

static char root[64];

static void must(bool yes)
{
	if (!yes)
		abort();
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	return at->level ? remove(path) : 0;
}

static void forget(void)
{
	(void)nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
	(void)rmdir(root);
}

/* However this process ends, also by a signal: a child outlives it and removes the rest. */
static void watch(void)
{
	int ends[2];
	char byte;

	must(!pipe2(ends, O_CLOEXEC));
	if (fork())
		return; /* the write end stays open until this process ends */
	(void)setsid();
	(void)close(ends[1]);
	while (read(ends[0], &byte, 1) > 0)
		;
	forget();
	_exit(0);
}

static void begin(void)
{
	if (root[0])
		return;
	(void)snprintf(root, sizeof(root), "%s/fuzz_tracing_XXXXXX",
		       access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	must(mkdtemp(root) != NULL);
	watch();
}

static void dir(const char *path)
{
	char full[1024];

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	(void)mkdir(full, 0700);
}

static void put(const char *path, const char *text)
{
	char full[1024];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/sys/kernel/tracing/%s", root, path);
	f = fopen(full, "we");
	if (!f) /* a directory of that name */
		return;
	(void)fprintf(f, "%s\n", text);
	(void)fclose(f);
}

static bool is_name(const char *s)
{
	return *s && *s != '.' && strlen(s) < 100 && !strchr(s, '/');
}

/* One line; whether there is one tracepoint more. */
static bool make(char *line, struct made *m)
{
	char *text = strchr(line, ' '), *name = strchr(line, '/'), path[512];

	if (!text)
		return false;
	*text++ = '\0';
	if (line[0] == '@' && is_name(line + 1)) {
		(void)snprintf(path, sizeof(path), "%s%s",
			       strncmp(line + 1, "header_", 7) ? "" : "events/", line + 1);
		put(path, text);
		return false;
	}
	if (!name || name > text)
		return false;
	*name++ = '\0';
	if (!is_name(line) || !is_name(name) || !strncmp(line, "header_", 7))
		return false;
	*m = (struct made){ line, name, text };
	(void)snprintf(path, sizeof(path), "sys/kernel/tracing/events/%s", line);
	dir(path);
	(void)snprintf(path, sizeof(path), "sys/kernel/tracing/events/%s/%s", line, name);
	dir(path);
	(void)snprintf(path, sizeof(path), "events/%s/%s/id", line, name);
	put(path, text);
	(void)snprintf(path, sizeof(path), "events/%s/%s/format", line, name);
	put(path, text);
	return true;
}

static uint64_t number(const char **at, const char *end, size_t bytes)
{
	uint64_t v = 0;

	must((size_t)(end - *at) >= bytes);
	memcpy(&v, *at, bytes);
	*at += bytes;
	return v;
}

static void skip(const char **at, const char *end, uint64_t n)
{
	must((uint64_t)(end - *at) >= n);
	*at += n;
}

static void formats(const char **at, const char *end)
{
	for (uint64_t n = number(at, end, 4); n; n--)
		skip(at, end, number(at, end, 8));
}

/* As a reader takes it apart: it ends where the last part does. */
static void check_data(const struct buf *b)
{
	const char *at = buf_str(b), *end = at + b->len;

	skip(&at, end, 10 + 4 + 1 + 1 + 4 + 12);
	skip(&at, end, number(&at, end, 8));
	skip(&at, end, 13);
	skip(&at, end, number(&at, end, 8));
	formats(&at, end);
	for (uint64_t n = number(&at, end, 4); n; n--) {
		const char *name = at;

		while (at < end && *at)
			at++;
		skip(&at, end, 1);
		must(name[0] && name[0] != '.' && strcmp(name, "ftrace") != 0);
		formats(&at, end);
	}
	must(number(&at, end, 4) == 0);
	skip(&at, end, number(&at, end, 4));
	skip(&at, end, number(&at, end, 8));
	must(at == end);
}

/* An event of a made tracepoint's name has an id that was made for it. */
static bool is_made(const struct made *m, size_t n, const char *name, uint64_t id)
{
	bool named = false;

	for (size_t i = 0; i < n; i++) {
		char full[256];

		(void)snprintf(full, sizeof(full), "%s:%s", m[i].system, m[i].name);
		if (strcmp(full, name) != 0)
			continue;
		named = true;
		if (strtoull(m[i].id, NULL, 0) == id || strtoull(m[i].id, NULL, 10) == id)
			return true;
	}
	return !named;
}

static void read_all(const char *event, const struct made *m, size_t n)
{
	struct event_list list = { 0 };
	struct err err = ERR_INIT;
	struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct event_name *names;
	uint64_t ids[MOST];
	size_t n_ids = 0, n_names;

	if (event_parse(&list, root, event, &err))
		must(err.code != ERR_NONE);
	for (size_t i = 0; i < list.ev.n; i++) {
		const struct event *ev = &list.ev.v[i];

		if (ev->attr.type != PERF_TYPE_TRACEPOINT || !ev->name)
			continue;
		must(is_made(m, n, ev->name, ev->attr.config));
		if (n_ids < MOST)
			ids[n_ids++] = ev->attr.config;
	}
	for (size_t i = 0; i < n && n_ids < MOST; i += 2)
		ids[n_ids++] = strtoull(m[i].id, NULL, 0);
	must(!event_names(&a, root, &names, &n_names, &err));
	for (size_t i = 0; i < n; i++) {
		char name[256];
		bool found = false;

		(void)snprintf(name, sizeof(name), "%s:%s", m[i].system, m[i].name);
		for (size_t k = 0; k < n_names; k++)
			found |= !strcmp(names[k].name, name);
		must(found);
	}
	if (!tracing_data(&out, root, ids, n_ids, &err))
		check_data(&out);
	buf_free(&out);
	event_list_free(&list);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made m[MOST];
	char *text, *line, *save = NULL, *event;
	size_t n = 0;

	if (size > 8192)
		return 0;
	begin();
	text = malloc(size + 1);
	must(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	dir("sys");
	dir("sys/kernel");
	dir("sys/kernel/tracing");
	dir("sys/kernel/tracing/events");
	event = strtok_r(text, "\n", &save);
	while (event && n < MOST && (line = strtok_r(NULL, "\n", &save)))
		n += make(line, &m[n]);
	if (event)
		read_all(event, m, n);
	(void)nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
	free(text);
	return 0;
}
