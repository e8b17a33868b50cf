/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cgroups that --cgroup means, as places that come and go: each has one of CGROUPS slots, whose
 * values are those of its files. The hierarchy is looked through every few seconds.
 */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/cgroup.h"
#include "collect/sysfs.h"
#include "monitor/monitor_int.h"

#define AGAIN	 2000000000u /* ns between two looks */
#define DEPTH	 32
#define SHORT_ID 12 /* of a container, as its tools show it */

struct group {
	char path[512]; /* below the hierarchy; "": the slot is free */
	char unit[256], container[256], pod[64];
	bool seen;
};

struct cgroups {
	char root[PATH_ROOM]; /* of version 2's hierarchy, without its first slash */
	struct group at[CGROUPS];
	uint64_t looked;
	size_t left; /* that had no room */
};

/* ---- names ---- */

static bool is_id(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return len == 64;
}

/* docker-ID.scope, cri-containerd-ID.scope, ID alone; lxc.payload.NAME. */
static void name_container(struct group *g, const char *s, size_t len)
{
	static const char lxc[] = "lxc.payload.";
	const char *end = s + len, *id = s;

	if (len > sizeof(lxc) - 1 && !memcmp(s, lxc, sizeof(lxc) - 1)) {
		(void)snprintf(g->container, sizeof(g->container), "%.*s",
			       (int)(len - sizeof(lxc) + 1), s + sizeof(lxc) - 1);
		return;
	}
	if (text_ends(s, len, ".scope"))
		end -= strlen(".scope");
	for (const char *p = s; p < end; p++)
		id = *p == '-' ? p + 1 : id;
	if (is_id(id, (size_t)(end - id)))
		(void)snprintf(g->container, sizeof(g->container), "%.*s", SHORT_ID, id);
}

/* kubepods-burstable-podUID.slice, with _ for the UID's signs; podUID. */
static void name_pod(struct group *g, const char *s, size_t len)
{
	const char *at = s, *end = s + len;
	size_t n;

	if (text_ends(s, len, ".slice"))
		end -= strlen(".slice");
	for (const char *p = s; p + 4 < end; p++)
		if (*p == '-' && !memcmp(p + 1, "pod", 3))
			at = p + 1;
	n = (size_t)(end - at);
	if (n < 3 + 32 || n >= 3 + sizeof(g->pod) || memcmp(at, "pod", 3) != 0)
		return;
	for (size_t i = 3; i < n; i++)
		g->pod[i - 3] = at[i] == '_' ? '-' : at[i];
	g->pod[n - 3] = '\0';
}

static void name_group(struct group *g)
{
	static const char *const units[] = { ".service", ".scope", ".slice" };

	for (const char *s = g->path; *s;) {
		size_t len = strcspn(s, "/");

		for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
			if (text_ends(s, len, units[i]))
				(void)snprintf(g->unit, sizeof(g->unit), "%.*s", (int)len, s);
		name_container(g, s, len);
		name_pod(g, s, len);
		s += len + (s[len] == '/');
	}
}

/* ---- which there are ---- */

static bool is_cgroup_wanted(const struct monitor *m, const char *path)
{
	for (size_t i = 0; i < m->opts->cgroups.n; i++)
		if (text_glob(m->opts->cgroups.v[i], path))
			return true;
	return false;
}

static void clear_slots(struct monitor *m, size_t slot)
{
	for (size_t i = 0; i < m->source.n; i++)
		memset(&m->source.v[i].at[m->targets + slot], 0, sizeof(struct slot));
}

static void see_cgroup(struct monitor *m, const char *dir, const char *path)
{
	struct cgroups *c = m->cgroups;
	size_t free_slot = CGROUPS;

	for (size_t i = 0; i < CGROUPS; i++) {
		if (!strcmp(c->at[i].path, path)) {
			c->at[i].seen = true;
			return;
		}
		if (free_slot == CGROUPS && !*c->at[i].path)
			free_slot = i;
	}
	if (free_slot == CGROUPS || strlen(path) >= sizeof(c->at->path)) {
		c->left++;
		return;
	}
	c->at[free_slot] = (struct group){ .seen = true };
	(void)snprintf(c->at[free_slot].path, sizeof(c->at->path), "%s", path);
	name_group(&c->at[free_slot]);
	clear_slots(m, free_slot);
	monitor_cgroup_open(m, free_slot, dir);
}

/* `path`, of `len` bytes, is below `top` bytes of the hierarchy's own. */
static void walk_cgroups(struct monitor *m, char *path, size_t top, size_t len, unsigned depth)
{
	DIR *dir = depth < DEPTH ? opendir(path) : NULL;
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		size_t n = strlen(e->d_name);

		if (e->d_type != DT_DIR || e->d_name[0] == '.' || len + n + 2 > PATH_ROOM)
			continue;
		path[len] = '/';
		memcpy(path + len + 1, e->d_name, n + 1);
		if (is_cgroup_wanted(m, path + top + 1))
			see_cgroup(m, path, path + top + 1);
		walk_cgroups(m, path, top, len + 1 + n, depth + 1);
	}
	path[len] = '\0';
	if (dir)
		(void)closedir(dir);
}

/* Slots without their cgroup are free for another; the places are those that have one. */
static void settle_cgroups(struct monitor *m)
{
	struct places *of = &m->of[PLACE_CGROUP];

	of->place.n = 0;
	for (size_t i = 0; i < CGROUPS; i++) {
		struct group *g = &m->cgroups->at[i];
		struct place *p = &of->place.v[of->place.n];

		if (!g->seen && *g->path) {
			monitor_cgroup_close(m, i);
			g->path[0] = '\0';
		}
		g->seen = false;
		if (!*g->path)
			continue;
		m->cgroup_target[i] = (uint32_t)(m->targets + i);
		*p = (struct place){ .target = &m->cgroup_target[i],
				     .n_targets = 1,
				     .cpu = -1,
				     .core = -1,
				     .socket = -1,
				     .die = -1,
				     .l3 = -1,
				     .instance = "",
				     .cgroup = g->path,
				     .unit = g->unit,
				     .container = g->container,
				     .pod = g->pod,
				     .box = SIZE_MAX };
		of->place.n++;
	}
}

static void look_for_cgroups(struct monitor *m)
{
	char path[PATH_ROOM];
	int n = snprintf(path, sizeof(path), "%s/%s", m->k.root, m->cgroups->root);

	m->cgroups->left = 0;
	if (n > 0 && (size_t)n < sizeof(path))
		walk_cgroups(m, path, (size_t)n, (size_t)n, 0);
	settle_cgroups(m);
}

static int find_hierarchy(struct monitor *m, struct err *err)
{
	struct buf root = BUF_INIT;
	int rc = -1;

	cgroup_unified_root(&root, m->k.root);
	if (root.failed) {
		(void)err_nomem(err);
	} else if (!root.len || root.len >= sizeof(m->cgroups->root)) {
		(void)err_set(err, ERR_NOT_FOUND, "--cgroup: cgroups of version 2 are not mounted");
		(void)err_hint(err, CGROUP_MOUNT);
	} else {
		memcpy(m->cgroups->root, buf_str(&root), root.len + 1);
		rc = 0;
	}
	buf_free(&root);
	return rc;
}

int monitor_cgroups(struct monitor *m, struct err *err)
{
	struct places *of = &m->of[PLACE_CGROUP];

	m->slots = m->targets;
	if (!m->opts->cgroups.n)
		return 0;
	m->slots += CGROUPS;
	m->cgroups = arena_alloc(m->a, sizeof(*m->cgroups));
	m->cgroup_target = arena_alloc(m->a, CGROUPS * sizeof(*m->cgroup_target));
	if (!m->cgroups || !m->cgroup_target)
		return err_nomem(err);
	memset(m->cgroups, 0, sizeof(*m->cgroups));
	if (find_hierarchy(m, err))
		return -1;
	for (size_t i = 0; i < CGROUPS; i++) /* cells are made for as many */
		if (vec_push(&of->place, ((struct place){ .box = SIZE_MAX })))
			return err_nomem(err);
	return 0;
}

size_t monitor_cgroups_left(const struct monitor *m)
{
	return m->cgroups ? m->cgroups->left : 0;
}

/* ---- values ---- */

static const struct {
	enum proc_value value;
	const char *file, *key;
	double scale;
} values[] = {
#define GROUP(name, file, key, scale) { PROC_##name, file, key, scale },
#include "monitor/cgroup.def"
#undef GROUP
};

/* A line's field "x=" or, if the key has a word before it, that of lines which begin so. */
static double read_cgroup_field(const char *line, size_t len, const char *key)
{
	const char *space = strchr(key, ' '), *name = space ? space + 1 : key;
	size_t n = strlen(name), before = space ? (size_t)(space - key) + 1 : 0;

	if (len < before || memcmp(line, key, before) != 0)
		return NAN;
	for (size_t i = before; i + n < len; i++)
		if ((!i || line[i - 1] == ' ') && !memcmp(line + i, name, n))
			return strtod(line + i + n, NULL);
	return NAN;
}

static double value_in(const char *text, const char *key)
{
	double sum = NAN;
	size_t n = strlen(key);

	if (!n)
		return *text >= '0' && *text <= '9' ? strtod(text, NULL) : NAN;
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		double v = NAN;

		if (key[n - 1] == '=')
			v = read_cgroup_field(line, len, key);
		else if (len > n && !memcmp(line, key, n) && line[n] == ' ')
			v = strtod(line + n, NULL);
		if (!isnan(v))
			sum = isnan(sum) ? v : sum + v;
		line += len + (line[len] == '\n');
	}
	return sum;
}

void monitor_cgroup_read(struct monitor *m, size_t place, double *out)
{
	const char *path = m->of[PLACE_CGROUP].place.v[place].cgroup, *had = "";
	char text[8192];

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		if (!monitor_proc_wanted(m, values[i].value))
			continue;
		if (strcmp(values[i].file, had) != 0 &&
		    sys_read(text, sizeof(text), m->k.root, "%s/%s/%s", m->cgroups->root, path,
			     values[i].file) < 0)
			text[0] = '\0';
		had = values[i].file;
		out[values[i].value] = value_in(text, values[i].key) * values[i].scale;
	}
}

void monitor_cgroup_look(struct monitor *m)
{
	uint64_t now = counting_clock();

	if (!m->cgroups || (m->cgroups->looked && now - m->cgroups->looked < AGAIN))
		return;
	m->cgroups->looked = now;
	look_for_cgroups(m);
}
