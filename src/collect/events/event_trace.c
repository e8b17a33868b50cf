/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_trace - tracepoints: SYSTEM:NAME, both perhaps with globs, numbered by tracefs.
 */
#include "collect/events/event_int.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/text.h"
#include "collect/sysfs.h"

#define GLOB_MAX 128u

static const char *const places[] = { "sys/kernel/tracing", "sys/kernel/debug/tracing" };

const char *event_tracefs(const char *root)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (sys_exists(root, "%s/events", places[i]))
			return places[i];
	return NULL;
}

/* perf mounts it, too: on many machines it is mounted only at its first use. */
static const char *mounted(const char *root)
{
	const char *place = event_tracefs(root);

	if (place || root[0])
		return place;
	if (mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL))
		return NULL;
	return event_tracefs(root);
}

static int no_tracefs(struct event_parser *p, struct word whole)
{
	const char *root = p->pmus->root;
	bool there = sys_exists(root, "%s", places[0]);
	bool may = !root[0] && geteuid() == 0;

	if (root[0]) {
		(void)event_bad(p, whole, "tracepoints are in %s/%s/events, which is not there",
				root, places[0]);
		return err_hint(p->err, "capture the machine's /sys/kernel/tracing/events too");
	}
	if (!there) {
		(void)event_bad(p, whole, "this kernel has no tracepoints (/%s is absent)",
				places[0]);
		return err_hint(p->err, "they need a kernel with CONFIG_TRACEPOINTS and tracefs");
	}
	(void)event_bad(p, whole, "tracepoints are in /%s/events, which %s", places[0],
			may ? "is not there" : "cannot be read");
	return err_hint(p->err, "%smount -t tracefs nodev /%s%s", may ? "" : "sudo ", places[0],
			may ? "" : ", or sudo mount -o remount,mode=755 where it is mounted");
}

bool event_is_trace_system(struct event_parser *p, struct word system)
{
	const char *place = event_tracefs(p->pmus->root);

	return place && system.len && system.len < GLOB_MAX && system.s[0] != '.' &&
	       !word_has_glob(system) &&
	       sys_exists(p->pmus->root, "%s/events/" WORD_FMT, place, (int)system.len, system.s);
}

/* 1: there is no such tracepoint. */
static int add_tracepoint(struct event_parser *p, const char *place, const char *system,
			  const char *name, struct word whole, bool give_name)
{
	struct event *ev;
	int64_t id;

	errno = 0;
	if (!sys_number(&id, p->pmus->root, "%s/events/%s/%s/id", place, system, name) || id <= 0) {
		if (errno != EACCES && errno != EPERM)
			return 1;
		(void)event_bad(p, whole, "/%s is not readable to you", place);
		return err_hint(p->err, "sudo mount -o remount,mode=755 /%s, or run as root",
				place);
	}
	ev = event_add(p, PERF_TYPE_TRACEPOINT, (uint64_t)id, "tracepoint");
	if (!ev)
		return -1;
	if (give_name)
		ev->name = arena_printf(&p->list->arena, "%s:%s", system, name);
	return give_name && !ev->name ? err_nomem(p->err) : 0;
}

/* Neither system nor name has a glob, and there is no such thing: which one is it? */
static int no_tracepoint(struct event_parser *p, const char *place, struct word whole,
			 const char *system, const char *name)
{
	const char *const *names;
	const char *nearest = NULL;
	const char **words;
	size_t n;
	bool system_there = strpbrk(system, "*?[") == NULL &&
			    sys_exists(p->pmus->root, "%s/events/%s", place, system);

	if (system_there)
		(void)event_bad(p, whole, "no tracepoint '%s' in %s", name, system);
	else
		(void)event_bad(p, whole, "no tracepoint matches '%s:%s'", system, name);
	if (!sys_names(p->pmus->arena, &names, &n, p->pmus->root, "%s/events%s%s", place,
		       system_there ? "/" : "", system_there ? system : ""))
		return -1;
	words = arena_alloc(p->pmus->arena, (n + 1) * sizeof(*words));
	if (!words)
		return -1;
	if (n) /* without any, names is NULL */
		memcpy(words, names, n * sizeof(*words));
	nearest = text_nearest(system_there ? name : system, words);
	if (nearest)
		return err_hint(p->err, "did you mean %s:%s? `cyclade list events '%s:*'`",
				system_there ? system : nearest, system_there ? nearest : name,
				system_there ? system : nearest);
	return err_hint(p->err, "`cyclade list events '*:*'` lists them all");
}

/* All of one system that match. */
static int add_matches(struct event_parser *p, const char *place, const char *system,
		       const char *pattern, struct word whole, size_t *found)
{
	const char *const *names;
	size_t n;

	if (!sys_names(p->pmus->arena, &names, &n, p->pmus->root, "%s/events/%s", place, system))
		return 0;
	for (size_t i = 0; i < n; i++) {
		int rc;

		if (!text_glob(pattern, names[i]))
			continue;
		rc = add_tracepoint(p, place, system, names[i], whole, true);
		if (rc < 0)
			return -1;
		*found += !rc;
	}
	return 0;
}

static int bounded(struct event_parser *p, char out[GLOB_MAX], struct word w)
{
	size_t stars = 0;

	for (size_t i = 0; i < w.len; i++)
		stars += w.s[i] == '*';
	if (!w.len || w.len >= GLOB_MAX || w.s[0] == '.' || stars > 8)
		return event_bad(p, w, "this cannot be (a part of) a tracepoint's name");
	memcpy(out, w.s, w.len);
	out[w.len] = 0;
	return 0;
}

int event_tracepoint(struct event_parser *p, struct word whole, struct word system,
		     struct word name)
{
	char sys[GLOB_MAX], pattern[GLOB_MAX];
	const char *const *systems;
	const char *place;
	size_t n, found = 0;

	if (bounded(p, sys, system) || bounded(p, pattern, name))
		return -1;
	place = mounted(p->pmus->root);
	if (!place)
		return no_tracefs(p, whole);
	if (!word_has_glob(system) && !word_has_glob(name)) {
		int rc = add_tracepoint(p, place, sys, pattern, whole, false);

		return rc > 0 ? no_tracepoint(p, place, whole, sys, pattern) : rc;
	}
	if (!word_has_glob(system)) {
		if (add_matches(p, place, sys, pattern, whole, &found))
			return -1;
		return found ? 0 : no_tracepoint(p, place, whole, sys, pattern);
	}
	if (!sys_names(p->pmus->arena, &systems, &n, p->pmus->root, "%s/events", place))
		return no_tracefs(p, whole);
	for (size_t i = 0; i < n; i++)
		if (text_glob(sys, systems[i]) &&
		    add_matches(p, place, systems[i], pattern, whole, &found))
			return -1;
	return found ? 0 : no_tracepoint(p, place, whole, sys, pattern);
}
