/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made while it ran: named by the dump its runtime wrote (jit-PID.dump), else
 * by the list it left in perf-PID.map.
 *
 * The symbols of IMAGE_ANON, a process' memory, have no time: where a runtime used memory again,
 * the code that lay there last gives the name. Where the recording's times are those of the dump,
 * space_jit.c finds the code by time, which then is in an IMAGE_JIT, and dumps are no source here.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/image_int.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

#define PERF_MAP_MAX (1u << 30)

/* Anybody can leave a file under that name in /tmp: only the user's own, root's, or what root reads
 * on another's behalf is believed. */
static bool may_be_believed(const char *path)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	return st.st_uid == 0 || st.st_uid == geteuid() || geteuid() == 0;
}

static int fill(struct image *im, const struct perfmap *m, struct err *err)
{
	if (vec_reserve(&im->list.raw, m->n))
		return err_nomem(err);
	for (size_t i = 0; i < m->n; i++) {
		const struct perfmap_sym *s = &m->sym[i];
		const char *name = arena_strdup(&im->list.arena, s->name);

		if (!name)
			return err_nomem(err);
		if (image_add_symbol(im, s->start, s->end - s->start, name, err))
			return -1;
	}
	return 0;
}

static int fill_from_dump(struct image *im, const struct jitdump *j, struct err *err)
{
	vec_each (&j->code, const struct jit_code *, c) {
		const char *name;

		/* what something else came to lie over has no name in the end */
		if (!c->size || jitdump_find(j, c->start, UINT64_MAX) != c)
			continue;
		name = arena_strdup(&im->list.arena, c->name ? c->name : "");
		if (!name)
			return err_nomem(err);
		if (image_add_symbol(im, c->start, c->size, name, err))
			return -1;
	}
	return 0;
}

bool image_jit_path(const struct images *set, const char *path, char *out, size_t size)
{
	int n = snprintf(out, size, "%s%s", set->opts.sysroot ? set->opts.sysroot : "", path);

	return n > 0 && (size_t)n < size && may_be_believed(out);
}

/* The dump of process `pid` lies where the runtime mapped it: that is how it says where. */
static bool find_dump(const struct images *set, uint32_t pid, char *path, size_t size)
{
	const char *found = NULL;
	uint32_t whose;

	vec_each (&set->image, struct image **, it) {
		const struct image_key *k = &(*it)->key;

		if ((k->kind != IMAGE_FILE && k->kind != IMAGE_JIT) ||
		    !jitdump_path_pid(k->path, &whose) || whose != pid)
			continue;
		if (k->kind == IMAGE_JIT)
			return false;
		found = found ? found : k->path;
	}
	return found && image_jit_path(set, found, path, size);
}

/* Every code ever loaded, at the place of its bytes. */
static int fill_by_place(struct image *im, const struct jitdump *j, struct err *err)
{
	vec_each (&j->code, const struct jit_code *, c) {
		const char *name;

		if (c->moved)
			continue;
		name = arena_strdup(&im->list.arena, c->name ? c->name : "");
		if (!name)
			return err_nomem(err);
		if (image_add_symbol(im, c->offset, c->size, name, err))
			return -1;
	}
	return 0;
}

int image_load_jit_dump(const struct images *set, struct image *im, struct err *err)
{
	struct jitdump j = { 0 };
	struct err why = ERR_INIT;
	struct file_map map;
	char path[4096];
	int rc = 0;

	if (!image_jit_path(set, im->key.path, path, sizeof(path)) ||
	    file_map_open(&map, path, false, &why))
		return 0;
	if (!jitdump_parse(&j, map.p, map.len, &why)) {
		rc = fill_by_place(im, &j, err);
		buf_printf(&im->origin,
			   "%s, by the samples' times, unverified (such dumps carry no build-id)%s",
			   path, j.cut ? "; cut short" : "");
		jitdump_free(&j);
	} else if (why.code == ERR_NOMEM) {
		rc = err_nomem(err);
	}
	file_map_close(&map);
	return rc;
}

static int load_dump(const struct images *set, struct image *im, struct err *err)
{
	struct jitdump j = { 0 };
	struct err why = ERR_INIT;
	struct file_map map;
	char path[4096];
	int rc = 0;

	if (!find_dump(set, im->key.pid, path, sizeof(path)) ||
	    file_map_open(&map, path, false, &why))
		return 0;
	if (jitdump_parse(&j, map.p, map.len, &why)) {
		if (why.code == ERR_NOMEM)
			rc = err_nomem(err);
		else
			buf_printf(&im->refusal, "; %s: %s", path, why.what);
	} else {
		rc = fill_from_dump(im, &j, err);
		buf_printf(&im->origin,
			   "%s, what lay there last (cyclade record -k mono tells by time), "
			   "unverified (such dumps carry no build-id)%s",
			   path, j.cut ? "; cut short" : "");
		jitdump_free(&j);
	}
	file_map_close(&map);
	return rc;
}

static int load_perf_map(const struct images *set, struct image *im, struct err *err)
{
	const char *dir = set->opts.perf_map_dir ? set->opts.perf_map_dir : "/tmp";
	struct perfmap m = PERFMAP_INIT;
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	char path[4096];
	int n, rc = 0;

	n = snprintf(path, sizeof(path), "%s%s/perf-%u.map",
		     set->opts.sysroot ? set->opts.sysroot : "", dir, im->key.pid);
	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	if (access(path, F_OK)) {
		buf_printf(&im->origin,
			   "%s: not there, so code that process %u made itself has no names", path,
			   im->key.pid);
		return 0;
	}
	if (!may_be_believed(path)) {
		buf_printf(&im->origin, "%s: belongs to somebody else: not used", path);
		return 0;
	}
	if (file_slurp(&text, path, PERF_MAP_MAX, &why)) {
		buf_puts(&im->origin, why.what);
		if (why.code == ERR_NOMEM)
			rc = err_nomem(err);
	} else if (perfmap_parse(&m, text.s, text.len, err) || fill(im, &m, err)) {
		rc = -1;
	} else {
		buf_printf(&im->origin, "%s, unverified (such lists carry no build-id)", path);
		if (m.n_bad)
			buf_printf(&im->origin, "; %zu lines not understood", m.n_bad);
	}
	perfmap_free(&m);
	buf_free(&text);
	return rc;
}

int image_load_jit(struct images *set, struct image *im, struct err *err)
{
	if (load_dump(set, im, err))
		return -1;
	/* both may be there: the dump knows more */
	if (im->list.raw.n)
		return 0;
	buf_reset(&im->origin);
	if (load_perf_map(set, im, err))
		return -1;
	buf_puts(&im->origin, buf_str(&im->refusal));
	return 0;
}
