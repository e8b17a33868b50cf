/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/source_find.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fetcher.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "base/text.h"

enum { NAME_MAX_LEN = 4096 };

struct source_search {
	const struct source_places *w;
	const char *name;
	char clean[NAME_MAX_LEN]; /* the name without "." and ".." */
	const struct source_sum *sum;
	struct source_shelf *shelf;
	struct source_found *out;
	bool differs, anothers, secret, elsewhere;
	bool own; /* names are the recording's, not the user's */
};

/* Why an open file is not even read; NULL: it is. A program can name any file, and a recording any
 * program. */
static bool *refusal_of(struct source_search *s, int fd, const char *root, const char *name,
			const struct stat *st)
{
	bool has_md5 = s->sum && s->sum->has_md5;

	if (!s->own)
		return NULL;
	if (!file_shown_for(fd, root, name, st, s->w->owner) ||
	    !file_shown_for(fd, root, name, st, s->w->recorder))
		return &s->secret;
	if (has_md5)
		return NULL;
	if (s->w->elsewhere && !s->w->sysroot)
		return &s->elsewhere;
	return file_written_by(st, s->w->owner) ? NULL : &s->anothers;
}

/* Remembers the first file that differs, to name it. */
static bool refuse_different(struct source_search *s, const char *path, bool by_md5)
{
	if (!s->differs) {
		(void)snprintf(s->out->path, sizeof(s->out->path), "%s", path);
		s->out->by_md5 = by_md5;
		s->differs = true;
	}
	return false;
}

/* Returns true if that is the file; its text is read then. Opened once, below `root` if that is not
 * NULL, and judged by the descriptor. */
static bool try_source(struct source_search *s, const char *root, const char *name)
{
	const uint8_t *sum = s->sum && s->sum->has_md5 ? s->sum->md5 : NULL;
	const struct source_text *text;
	char path[NAME_MAX_LEN];
	struct stat st;
	bool *why;
	int fd;

	if (root && !file_in_mounted(root)
		    ? path_join(path, sizeof(path), root, name)
		    : snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
		return false;
	fd = file_in_open(root, name, FILE_IN_LINKS, &st, NULL);
	if (fd < 0)
		return false;
	why = refusal_of(s, fd, root, name, &st);
	if (why) { /* the first file that was there, and is not used, is named */
		(void)close(fd);
		if (!s->anothers && !s->differs && !s->secret && !s->elsewhere)
			(void)snprintf(s->out->path, sizeof(s->out->path), "%s", path);
		*why = true;
		return false;
	}
	if (!sum && s->sum && s->sum->size && s->sum->size != (uint64_t)st.st_size) {
		(void)close(fd);
		return refuse_different(s, path, false);
	}
	text = source_shelf_text(s->shelf, fd, &st, sum, path);
	if (!text)
		return false;
	if (!source_text_is(text, sum))
		return refuse_different(s, path, true);
	(void)snprintf(s->out->path, sizeof(s->out->path), "%s", path);
	s->out->text = text;
	return true;
}

static bool try_dir(struct source_search *s, const char *dir)
{
	const char *tail = s->clean;

	while (*tail == '/' || !strncmp(tail, "../", 3))
		tail += *tail == '/' ? 1 : 3;
	for (; tail; tail = strchr(tail, '/')) {
		tail += *tail == '/';
		if (*tail && try_source(s, dir, tail))
			return true;
	}
	return false;
}

/* The rest behind `old`, a whole number of its parts; NULL: `name` does not begin so. */
static const char *rest_after(const char *name, const char *old)
{
	size_t n = strlen(old);

	if (!n)
		return name[0] == '/' ? NULL : name;
	if (strncmp(name, old, n) != 0)
		return NULL;
	return old[n - 1] == '/' || !name[n] || name[n] == '/' ? name + n : NULL;
}

static bool try_map(struct source_search *s, const char *map, const char *equals)
{
	char old[NAME_MAX_LEN], clean[NAME_MAX_LEN];
	const char *rest;
	int n = snprintf(old, sizeof(old), "%.*s", (int)(equals - map), map);

	if (n < 0 || (size_t)n >= sizeof(old) || path_lexical(clean, sizeof(clean), old))
		return false;
	/* as it is written, if there is no other name; then by its meaning */
	rest = rest_after(s->name, old);
	if (!rest)
		rest = rest_after(s->clean, clean);
	return rest && try_source(s, equals + 1, rest);
}

/* ---- debuginfod's cache ------------------------------------------------------------------ */

/* elfutils up to 0.191: "source" and the name, "/" as "##" and "#" as "#_". */
static int old_leaf(char *out, size_t size, const char *name)
{
	size_t n = (size_t)snprintf(out, size, "source");

	for (; *name; name++) {
		if (n + 3 > size)
			return -1;
		out[n++] = *name == '/' ? '#' : *name;
		if (*name == '/' || *name == '#')
			out[n++] = *name == '/' ? '#' : '_';
	}
	out[n] = '\0';
	return 0;
}

/* Since 0.192: "source-", a hash, "-", the name's last 117 letters with "#" for all but a few. */
static int new_leaf(char *out, size_t size, const char *name)
{
	enum { KEPT = 117 };
	size_t len = strlen(name), n;
	uint32_t hash = 5381;

	for (const char *p = name; *p; p++) {
		int letter = (signed char)*p; /* as they are there */

		hash = hash * 33 + (uint32_t)letter;
	}
	n = (size_t)snprintf(out, size, "source-%08x-", hash);
	if (n + KEPT >= size)
		return -1;
	for (const char *p = name + (len > KEPT ? len - KEPT : 0); *p; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("._-", *p);

		out[n++] = plain ? *p : '#';
	}
	out[n] = '\0';
	return 0;
}

static bool try_cache(struct source_search *s)
{
	static int (*const leaf[])(char *, size_t, const char *) = { new_leaf, old_leaf };
	const char *const names[] = { s->name, s->clean };
	char hex[2 * 64 + 1], dir[NAME_MAX_LEN], file[NAME_MAX_LEN];

	if (!s->w->debuginfod || !s->w->build_id_len || s->w->build_id_len > 64 ||
	    s->name[0] != '/')
		return false;
	text_hex(hex, s->w->build_id, s->w->build_id_len);
	if (path_join(dir, sizeof(dir), s->w->debuginfod, hex))
		return false;
	for (size_t i = 0; i < 4; i++)
		if (!leaf[i / 2](file, sizeof(file), names[i % 2]) && try_source(s, dir, file))
			return true;
	return false;
}

/* Puts the file into the cache. */
static bool fetch_source(const struct source_search *s)
{
	char hex[2 * 64 + 1];

	if (!s->w->fetch || !s->w->debuginfod || !s->w->build_id_len || s->w->build_id_len > 64 ||
	    s->name[0] != '/')
		return false;
	text_hex(hex, s->w->build_id, s->w->build_id_len);
	return fetcher_get(FETCH_SOURCE, hex, s->name) == FETCH_HAD;
}

enum source_outcome source_find(const struct source_places *w, const char *name,
				const struct source_sum *sum, struct source_shelf *shelf,
				struct source_found *out)
{
	struct source_search s = { .w = w, .name = name, .sum = sum, .shelf = shelf, .out = out };

	memset(out, 0, sizeof(*out));
	if (path_lexical(s.clean, sizeof(s.clean), name))
		return SOURCE_ABSENT;
	for (const char *const *d = w->said; d && *d; d++) {
		const char *equals = strchr(*d, '=');

		/* a directory may have "=" in its name */
		if (equals && !file_look(*d, NULL) ? try_map(&s, *d, equals) : try_dir(&s, *d))
			return SOURCE_FOUND;
	}
	s.own = true;
	/* if `dir` is a symbolic link, "dir/.." is not its parent */
	if (name[0] == '/' &&
	    ((!w->sysroot && try_source(&s, NULL, name)) || try_source(&s, w->sysroot, s.clean)))
		return SOURCE_FOUND;
	s.own = false;
	if (try_cache(&s) || (fetch_source(&s) && try_cache(&s)))
		return SOURCE_FOUND;
	return s.differs     ? SOURCE_DIFFERS
	       : s.secret    ? SOURCE_SECRET
	       : s.elsewhere ? SOURCE_ELSEWHERE
	       : s.anothers  ? SOURCE_ANOTHERS
			     : SOURCE_ABSENT;
}
