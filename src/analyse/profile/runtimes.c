/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/profile/profile_int.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"

static const struct runtime runtimes[] = {
#define JIT					      false
#define INTERPRETED				      true
#define RUNTIME(kind, files, name, env, options, how) { kind, files, name, env, options, how },
#include "analyse/runtime.def"
#undef RUNTIME
#undef JIT
#undef INTERPRETED
};
enum { RUNTIMES = sizeof(runtimes) / sizeof(*runtimes) };

/* "node nodejs libnode.so*" */
static bool is_among(const char *globs, const char *base)
{
	char glob[64];

	while (*globs) {
		size_t n = strcspn(globs, " ");

		if (n < sizeof(glob)) {
			memcpy(glob, globs, n);
			glob[n] = '\0';
			if (text_glob(glob, base))
				return true;
		}
		globs += n + (globs[n] == ' ');
	}
	return false;
}

static const struct runtime *runtime_of_file(const struct images *set, uint32_t id,
					     bool interpreted)
{
	const char *base = path_base(image_path(set, id));

	for (size_t i = 0; image_key(set, id)->kind == IMAGE_FILE && i < RUNTIMES; i++)
		if (runtimes[i].interpreted == interpreted && is_among(runtimes[i].files, base))
			return &runtimes[i];
	return NULL;
}

/* ---- processes ------------------------------------------------------------------------------- */

struct inside_of {
	struct images *images;
	const struct runtime *runtime; /* the first row that fits */
	bool named;		       /* its memory has symbols */
};

static void see_image(void *ctx, uint32_t id)
{
	struct inside_of *in = ctx;
	const struct runtime *r = runtime_of_file(in->images, id, false);
	size_t n;

	if (r && (!in->runtime || r < in->runtime))
		in->runtime = r;
	if (image_key(in->images, id)->kind == IMAGE_ANON && !in->named) {
		(void)image_symbols(in->images, id, &n);
		in->named = n != 0;
	}
}

struct looked_for {
	uint32_t image;
	bool found;
};

static void look_for(void *ctx, uint32_t id)
{
	struct looked_for *l = ctx;

	l->found |= id == l->image;
}

static bool is_recorded(const struct images *set)
{
	for (uint32_t id = 0; id < images_count(set); id++)
		if (image_key(set, id)->kind == IMAGE_SCRIPT)
			return true;
	return false;
}

/* A process that interprets by this file has names if it wrote them, or if they were recorded. */
static bool interpreter_named(const struct profile *p, uint32_t image, uint32_t *pid)
{
	struct images *set = spaces_images(p->sp);
	size_t n = 0, symbols;

	if (is_recorded(set))
		return true;
	for (uint32_t id = 0; id < images_count(set); id++) {
		const struct image_key *k = image_key(set, id);
		struct looked_for l = { .image = image };

		if (k->kind != IMAGE_ANON)
			continue;
		spaces_images_of(p->sp, k->pid, look_for, &l);
		if (!l.found)
			continue;
		*pid = n++ ? *pid : k->pid;
		(void)image_symbols(set, id, &symbols);
		if (symbols)
			return true;
	}
	return false;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_found(struct runtime_found *out, size_t *n, const struct runtime_found *f,
		      uint64_t *most)
{
	for (size_t i = 0; i < *n; i++)
		if (out[i].runtime == f->runtime) {
			out[i].period += f->period;
			/* a process may run several files of an interpreter */
			out[i].pids += !f->runtime || !f->runtime->interpreted;
			if (f->period > most[i]) {
				most[i] = f->period;
				out[i].pid = f->pid;
			}
			return;
		}
	most[*n] = f->period;
	out[(*n)++] = *f;
}

static void add_image(const struct profile *p, uint32_t image, uint64_t period,
		      struct runtime_found *all, size_t *n, uint64_t *most)
{
	struct images *set = spaces_images(p->sp);
	const struct image_key *k = image_key(set, image);
	struct runtime_found f = { .period = period, .pids = 1 };
	struct inside_of in = { .images = set };

	if (k->kind == IMAGE_FILE) {
		f.runtime = runtime_of_file(set, image, true);
		if (!f.runtime || interpreter_named(p, image, &f.pid))
			return;
	} else {
		f.pid = k->pid;
		spaces_images_of(p->sp, k->pid, see_image, &in);
		if (in.named)
			return;
		f.runtime = in.runtime;
	}
	add_found(all, n, &f, most);
}

static int more_first(const void *va, const void *vb)
{
	const struct runtime_found *a = va, *b = vb;

	if (a->period != b->period)
		return a->period > b->period ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Periods by image: of memory without a symbol, and of all samples in files of interpreters. */
static uint64_t *sum_by_image(const struct profile *p, size_t event, const uint32_t *among,
			      size_t n_among)
{
	struct images *set = spaces_images(p->sp);
	size_t n, n_images = images_count(set);
	const struct profile_row *r = profile_rows(p, &n);
	uint64_t *period = xcalloc(n_images + 1, sizeof(*period));

	for (size_t i = 0; i < (among ? n_among : n); i++) {
		const struct profile_row *row = &r[among ? among[i] : i];
		uint32_t id = row->image;
		enum image_kind kind;

		if (id >= n_images)
			continue;
		kind = image_key(set, id)->kind;
		if ((kind == IMAGE_ANON && !row->symbol) || kind == IMAGE_FILE)
			period[id] += profile_tally(row, event)->period;
	}
	return period;
}

size_t profile_runtimes(const struct profile *p, size_t event, const uint32_t *among,
			size_t n_among, struct runtime_found out[RUNTIMES_MAX])
{
	struct runtime_found all[RUNTIMES + 1];
	const struct images *set = p->sp ? spaces_images(p->sp) : NULL;
	size_t n = 0, n_events, n_images = set ? images_count(set) : 0, kept = 0;
	const struct profile_sum *sum = profile_sums(p, &n_events);
	double whole = event < n_events ? (double)sum[event].selected.period : 0;
	uint64_t most[RUNTIMES + 1],
		*period = n_images ? sum_by_image(p, event, among, n_among) : NULL;

	/* nothing of a process that has next to nothing is looked up */
	for (uint32_t id = 0; id < n_images; id++)
		if ((double)period[id] > whole / 1000)
			add_image(p, id, period[id], all, &n, most);
	free(period);
	if (n)
		qsort(all, n, sizeof(*all), more_first);
	for (size_t i = 0; i < n && kept < RUNTIMES_MAX; i++) {
		bool interpreted = all[i].runtime && all[i].runtime->interpreted;

		all[i].share = (double)all[i].period / whole;
		if (all[i].share >= (interpreted ? RUNTIMES_INTERPRETED_SHARE : RUNTIMES_SHARE))
			out[kept++] = all[i];
	}
	return kept;
}

void runtime_put_how(struct buf *b, const struct runtime_found *f)
{
	const char *how = f->runtime->how, *pid = strstr(how, "PID");

	buf_puts(b, f->runtime->interpreted ? "; for its functions: " : "; to name it: ");
	buf_puts(b, f->runtime->env);
	if (*f->runtime->env && *how)
		buf_puts(b, ", ");
	if (pid)
		buf_printf(b, "%.*s%u%s", (int)(pid - how), how, f->pid, pid + 3);
	else
		buf_puts(b, how);
}

void runtime_put_line(struct buf *b, const struct runtime_found *f)
{
	char share[NUM_MAX];

	buf_printf(b, "%s in ", num_percent(share, f->share));
	if (!f->runtime) {
		buf_printf(b,
			   "code that process %u made; to name it: a switch of its runtime for "
			   "/tmp/perf-%u.map or a jitdump",
			   f->pid, f->pid);
		return;
	}
	if (f->runtime->interpreted)
		buf_printf(b, "the interpreter of %s", f->runtime->name);
	else
		buf_printf(b, "code that %s made", f->runtime->name);
	if (f->pids > 1)
		buf_printf(b, " (%zu processes)", f->pids);
	runtime_put_how(b, f);
}

bool runtime_put_again(struct buf *b, const struct runtime_found *f, const struct pd_info *info,
		       const char *options, bool same)
{
	const struct runtime *r = f->runtime;

	if (!r || (*r->env && !again_starts(info)) || (!*r->env && !*r->options))
		return false;
	buf_printf(b, "%s%s", r->env, *r->env ? " " : "");
	return again_put(b, info, *r->options ? r->options : options, same) && !b->failed;
}

bool profile_image_is_code(const struct profile *p, uint32_t image)
{
	const struct images *set = p->sp ? spaces_images(p->sp) : NULL;

	return !set || image >= images_count(set) || image_key(set, image)->kind != IMAGE_SCRIPT;
}
