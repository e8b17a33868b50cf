/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made while it ran: named by the list its runtime left in perf-PID.map.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/image_int.h"
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

int image_load_jit(struct images *set, struct image *im, struct err *err)
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
