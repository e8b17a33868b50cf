/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout, version 0.6, numbers in host order (known from trace-cmd.dat(5) and perf's files):
 *
 *	0x17 0x08 0x44 "tracing", "0.6" NUL, u8 big endian?, u8 sizeof(long), u32 page size
 *	"header_page" NUL, u64 size, text		"header_event" NUL, u64 size, text
 *	u32 n, n times: u64 size, format		those of the system ftrace
 *	u32 n, n systems: name NUL, u32 m, m times: u64 size, format
 *	u32 size of kallsyms (0)			u32 size, printk_formats
 *	u64 size, saved_cmdlines
 */
#include "collect/tracing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file_in.h"
#include "collect/events/event_int.h"
#include "collect/sysfs.h"

#define FILE_MAX (16u << 20)

struct tracing {
	struct buf *out;
	struct arena arena;
	const char *root, *place;
	const uint64_t *ids;
	size_t n;
	struct err *err;
};

/* A file of tracefs behind its size; an absent one is empty. */
static int put_tracing_file(struct tracing *t, struct buf *b, bool wide, bool needed,
			    const char *path)
{
	struct buf text = BUF_INIT;
	char full[4096];
	int rc = -1;

	if ((size_t)snprintf(full, sizeof(full), "%s/%s/%s", t->root, t->place, path) >=
	    sizeof(full))
		return err_set(t->err, ERR_LIMIT, "%s: the path is too long", path);
	if (file_slurp(&text, full, FILE_MAX, needed ? t->err : NULL) && needed)
		goto out;
	if (wide)
		buf_put_u64(b, text.len);
	else
		buf_put_u32(b, (uint32_t)text.len);
	buf_put(b, buf_str(&text), text.len);
	rc = 0;
out:
	buf_free(&text);
	return rc;
}

static bool wants_format(const struct tracing *t, const char *system, const char *name)
{
	int64_t id;

	if (!sys_number(&id, t->root, "%s/events/%s/%s/id", t->place, system, name))
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (t->ids[i] == (uint64_t)id)
			return true;
	return false;
}

/* The formats of a system's events that are wanted; *n counts them. */
static int put_formats(struct tracing *t, struct buf *b, const char *system, uint32_t *n)
{
	const char *const *names;
	char path[600];
	size_t count;

	*n = 0;
	if (!sys_names(&t->arena, &names, &count, t->root, "%s/events/%s", t->place, system))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!wants_format(t, system, names[i]))
			continue;
		(void)snprintf(path, sizeof(path), "events/%s/%s/format", system, names[i]);
		if (put_tracing_file(t, b, true, true, path))
			return -1;
		++*n;
	}
	return 0;
}

static int put_systems(struct tracing *t)
{
	struct buf all = BUF_INIT, one = BUF_INIT;
	const char *const *systems;
	uint32_t n, with = 0;
	size_t count;
	int rc = -1;

	if (put_formats(t, &one, "ftrace", &n))
		goto out;
	buf_put_u32(t->out, n);
	buf_put(t->out, buf_str(&one), one.len);
	if (!sys_names(&t->arena, &systems, &count, t->root, "%s/events", t->place))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		buf_reset(&one);
		if (!strcmp(systems[i], "ftrace"))
			continue;
		if (put_formats(t, &one, systems[i], &n))
			goto out;
		if (!n)
			continue;
		buf_put(&all, systems[i], strlen(systems[i]) + 1);
		buf_put_u32(&all, n);
		buf_put(&all, buf_str(&one), one.len);
		with++;
	}
	buf_put_u32(t->out, with);
	buf_put(t->out, buf_str(&all), all.len);
	rc = one.failed || all.failed ? err_nomem(t->err) : 0;
out:
	buf_free(&one);
	buf_free(&all);
	return rc;
}

int tracing_data(struct buf *out, const char *root, const uint64_t *ids, size_t n, struct err *err)
{
	struct tracing t = { out, ARENA_INIT, root, event_tracefs(root), ids, n, err };
	static const char magic[] = "\x17\x08\x44tracing";
	int rc = -1;

	if (!t.place)
		return err_set(err, ERR_NOT_FOUND, "tracefs is not readable (any more)");
	buf_put(out, magic, sizeof(magic) - 1);
	buf_put(out, "0.6", 4);
	buf_putc(out, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	buf_putc(out, (char)sizeof(long));
	buf_put_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	buf_put(out, "header_page", 12);
	if (put_tracing_file(&t, out, true, true, "events/header_page"))
		goto out;
	buf_put(out, "header_event", 13);
	if (put_tracing_file(&t, out, true, true, "events/header_event") || put_systems(&t))
		goto out;
	buf_put_u32(out, 0); /* kallsyms: perf stopped storing them */
	if (put_tracing_file(&t, out, false, false, "printk_formats") ||
	    put_tracing_file(&t, out, true, false, "saved_cmdlines"))
		goto out;
	rc = buf_error(out, err);
out:
	arena_free(&t.arena);
	return rc;
}

int tracing_format(struct buf *out, const char *root, uint64_t id, const char *name,
		   struct err *err)
{
	size_t system = strcspn(name, ":"), event;
	const char *place = event_tracefs(root);
	char path[4096];
	int64_t found;

	if (!place)
		return err_set(err, ERR_NOT_FOUND, "tracefs is not readable (any more)");
	name += name[system] ? 0 : system;
	event = name[system] ? strcspn(name + system + 1, ":") : 0;
	if (!sys_number(&found, root, "%s/events/%.*s/%.*s/id", place, (int)system, name,
			(int)event, name + system + 1) ||
	    (uint64_t)found != id)
		return err_set(err, ERR_NOT_FOUND, "%.200s: its format is not found", name);
	(void)snprintf(path, sizeof(path), "%s/%s/events/%.*s/%.*s/format", root, place,
		       (int)system, name, (int)event, name + system + 1);
	return file_slurp(out, path, FILE_MAX, err);
}
