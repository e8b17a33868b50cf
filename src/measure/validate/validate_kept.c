/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of verdicts: a head, then lines of event, verdict, deviation, use and text, parted by
 * tabs.
 */
#include "measure/validate_kept.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "base/text.h"
#include "collect/sysfs.h"
#include "measure/validate/validate_int.h"

#define MAGIC  "cyclade verdicts 1"
#define LARGE  (4u << 20)
#define FIELDS 5u

/* ---- whose it is ----------------------------------------------------------------------------- */

static const char *microcode(struct arena *a, const char *root)
{
	char text[4096];
	const char *v;
	size_t len;
	ssize_t n = sys_read(text, sizeof(text), root, "proc/cpuinfo");

	if (n > 0 && text_field(text, (size_t)n, "microcode", ':', &v, &len))
		return arena_strndup(a, v, len);
	return "-";
}

int validate_kept_path(struct validate_kept *out, struct arena *a, const char *dir,
		       const struct machine *m, const char *root, struct err *err)
{
	const char *code = microcode(a, root);
	char *name;

	*out = (struct validate_kept){ .when = 0 };
	if (!code)
		return err_nomem(err);
	out->machine = arena_printf(a, "%s, %s, %s", m->cpuid, code, m->release ? m->release : "-");
	name = out->machine ? arena_strdup(a, out->machine) : NULL;
	if (!name)
		return err_nomem(err);
	for (char *c = name; *c; c++)
		if (!strchr("0123456789.-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
			    *c))
			*c = '_';
	out->path = arena_printf(a, "%s/verdicts/%.200s", dir, name);
	return out->path ? 0 : err_nomem(err);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct validate_kept *k;
	struct arena *a;
	struct err *err;
	const char *p, *end;
	unsigned line;
	size_t room;
};

static int bad(struct reading *r, const char *what)
{
	(void)err_set(r->err, ERR_FORMAT, "%s:%u: %s", r->k->path, r->line ? r->line : 1, what);
	return err_hint(r->err, "remove it; cyclade validate makes it anew");
}

/* The next line, without its end; NULL: there is none. */
static const char *next_line(struct reading *r, size_t *len)
{
	const char *at = r->p, *end;

	if (at == r->end)
		return NULL;
	end = memchr(at, '\n', (size_t)(r->end - at));
	r->line++;
	r->p = end ? end + 1 : r->end;
	*len = (size_t)((end ? end : r->end) - at);
	return at;
}

/* "word value" */
static bool head(struct reading *r, const char *word, const char **value)
{
	size_t len, n = strlen(word);
	const char *s = next_line(r, &len);

	if (!s || len < n || memcmp(s, word, n) != 0)
		return false;
	*value = arena_strndup(r->a, s + n, len - n);
	return *value != NULL;
}

static int take_verdict(struct reading *r, char *s)
{
	struct validate_verdict_kept *v = &r->k->v[r->k->n];
	char *field[FIELDS], *end;

	for (unsigned i = 0; i < FIELDS; i++) {
		field[i] = s;
		s = i + 1 < FIELDS && s ? strchr(s, '\t') : s;
		if (!s)
			return bad(r, "it has too few fields");
		if (i + 1 < FIELDS)
			*s++ = '\0';
	}
	*v = (struct validate_verdict_kept){ .event = field[0],
					     .used = !strcmp(field[3], "tree"),
					     .text = field[4] };
	for (v->verdict = VALIDATE_EXACT; v->verdict <= VALIDATE_UNTESTED; v->verdict++)
		if (!strcmp(field[1], validate_verdict_key[v->verdict]))
			break;
	v->deviation = strtod(field[2], &end);
	if (v->verdict > VALIDATE_UNTESTED || *end || end == field[2] || !*v->event)
		return bad(r, "this is no verdict on an event");
	r->k->n++;
	return 0;
}

int validate_kept_parse(struct validate_kept *k, struct arena *a, const char *p, size_t len,
			struct err *err)
{
	struct reading r = { .k = k, .a = a, .err = err, .p = p, .end = p + len };
	const char *s;
	char *end, *line;

	k->n = 0;
	for (size_t i = 0; i < len; i++)
		r.room += p[i] == '\n';
	k->v = arena_alloc(a, (r.room + 1) * sizeof(*k->v));
	if (!k->v)
		return err_nomem(err);
	if (memchr(p, '\0', len) || !head(&r, MAGIC, &s))
		return bad(&r, "this is no file of verdicts");
	if (!head(&r, "machine ", &s) || strcmp(s, k->machine) != 0)
		return bad(&r, "it is of another machine");
	if (!head(&r, "when ", &s))
		return bad(&r, "no time");
	k->when = strtoull(s, &end, 10);
	if (*end || !k->when)
		return bad(&r, "no time");
	if (p[len - 1] != '\n')
		return bad(&r, "it is cut off");
	for (size_t n; (s = next_line(&r, &n)) != NULL;) {
		line = arena_strndup(a, s, n);
		if (!line)
			return err_nomem(err);
		if (take_verdict(&r, line))
			return -1;
	}
	return 0;
}

int validate_kept_read(struct validate_kept *k, struct arena *a, struct err *err)
{
	struct err why = ERR_INIT;
	struct buf b = BUF_INIT;
	int rc = file_slurp(&b, k->path, LARGE, &why);

	if (!rc)
		rc = validate_kept_parse(k, a, buf_str(&b), b.len, &why);
	buf_free(&b);
	if (!rc || why.code == ERR_NOT_FOUND || why.sys_errno == ENOTDIR)
		return 0;
	k->n = 0;
	k->when = 0;
	if (err)
		*err = why;
	return -1;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A character that would end a field or a line becomes a blank. */
static void put_field(struct buf *b, const char *s, char end)
{
	for (; *s; s++)
		buf_putc(b, *s == '\t' || *s == '\n' ? ' ' : *s);
	buf_putc(b, end);
}

int validate_kept_write(const struct validate_kept *k, struct err *err)
{
	const char *slash = strrchr(k->path, '/');
	struct buf b = BUF_INIT;
	char dir[4096];
	int rc;

	buf_printf(&b, MAGIC "\nmachine %s\nwhen %" PRIu64 "\n", k->machine, k->when);
	for (size_t i = 0; i < k->n; i++) {
		const struct validate_verdict_kept *v = &k->v[i];

		put_field(&b, v->event, '\t');
		buf_printf(&b, "%s\t%.6g\t%s\t", validate_verdict_key[v->verdict], v->deviation,
			   v->used ? "tree" : "-");
		put_field(&b, v->text, '\n');
	}
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - k->path), k->path);
	rc = buf_error(&b, err);
	if (!rc)
		rc = dir_make_all(dir, 0777, err);
	if (!rc)
		rc = file_put(k->path, 0666, FILE_NEW_OURS, buf_str(&b), b.len, err);
	buf_free(&b);
	return rc;
}

const struct validate_verdict_kept *validate_kept_find(const struct validate_kept *k,
						       const char *event)
{
	char want[VALIDATE_NAME], name[VALIDATE_NAME];

	if (!validate_bare(want, event))
		return NULL;
	for (size_t i = 0; i < k->n; i++)
		if (validate_bare(name, k->v[i].event) && !strcmp(name, want))
			return &k->v[i];
	return NULL;
}

void validate_kept_day(struct buf *b, uint64_t when)
{
	time_t t = (time_t)when;
	struct tm day;

	if (gmtime_r(&t, &day))
		buf_printf(b, "%04d-%02d-%02d", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}
