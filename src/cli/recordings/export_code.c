/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export --autofdo and --bolt: how often the code of one program or library ran. By branch stacks
 * if any were recorded, else by the addresses of samples, with a message.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/blocks.h"
#include "base/estimate.h"
#include "base/fs.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/recordings/export_int.h"
#include "report/export.h"
#include "perfdata/memop.h"
#include "symbol/bbmap.h"

/* The source of facts on code: one of the two. */
struct code_facts {
	struct flow *flow;
	struct profile *profile;
	uint64_t *weight; /* by image: how often it was met */
	uint64_t total;
	uint32_t image;
};

static void facts_free(struct code_facts *c)
{
	flow_free(c->flow);
	profile_free(c->profile);
	free(c->weight);
}

static bool has_stacks(const struct pd_event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && e->samples;
}

static bool any_stacks(const struct exporting *x)
{
	return recording_event(&x->r, x->event, has_stacks) != SIZE_MAX;
}

static int read_flow(struct exporting *x, struct code_facts *c, struct err *err)
{
	struct flow_opts fo;
	const struct flow_sums *sums;
	const struct flow_span *s;
	uint64_t rejected = 0;
	size_t n;

	if (recording_flow(&x->r, x->cli, &fo, err))
		return -1;
	fo.select.event = x->event;
	if (flow_build(&c->flow, x->r.rec, x->r.spaces, &fo, err) ||
	    blocks_weigh(&c->flow, x->r.images, x->r.rec, x->r.spaces, &fo, err))
		return -1;
	cli_progress_end(x->cli);
	sums = flow_sums(c->flow);
	if (sums->filter != FLOW_ANY) {
		(void)err_set(err, ERR_USAGE,
			      "the recorded stacks hold some kinds of branches alone, "
			      "so that what ran between them is not known");
		return again_hint(err, pd_info(x->r.rec), "record all:", "-b");
	}
	if (sums->biased && !sums->weighed)
		cli_note(x->cli,
			 "%s does not count taken branches: code that waits long is met more "
			 "often than it runs",
			 sums->event ? sums->event : "the event");
	if (blocks_reject(c->flow, x->r.images, &rejected, err))
		return -1;
	s = flow_spans(c->flow, &n);
	for (size_t i = 0; i < n; i++) {
		c->total += s[i].w.hits;
		if (s[i].kind == SPACE_USER)
			c->weight[s[i].image] += s[i].w.hits;
	}
	if (rejected)
		cli_note(x->cli,
			 "left out: %.1f %% of the stretches between branches, which the code "
			 "contradicts (interrupts, other code)",
			 100.0 * (double)rejected / (double)(rejected + c->total));
	return 0;
}

/* IBS that selects ops as they are dispatched: those of code that waits are no more likely. */
static const struct pd_event *dispatched_ops(const struct exporting *x)
{
	size_t n;
	const struct pd_event *e = pd_events(x->r.rec, &n);

	for (size_t i = 0; i < n; i++) {
		struct memop_how how = memop_how(x->r.rec, &e[i]);

		if (how.from == MEMOP_FROM_OP && !how.cycles && !how.l3_only && !how.least &&
		    e[i].samples && text_means(x->event, e[i].name))
			return &e[i];
	}
	return NULL;
}

static int by_code_samples(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return (*p < *q) - (*p > *q);
}

/* Half of all samples are at addresses with so many samples each, or more. */
static uint64_t typical_samples(const struct profile_row *r, size_t n, uint64_t total)
{
	uint64_t *v = xcalloc(n + 1, sizeof(*v)), sum = 0, typical;

	for (size_t i = 0; i < n; i++)
		v[i] = r[i].all.samples;
	if (n > 1)
		qsort(v, n, sizeof(*v), by_code_samples);
	typical = n ? v[0] : 0;
	for (size_t i = 0; i < n && 2 * sum < total; i++) {
		typical = v[i];
		sum += v[i];
	}
	free(v);
	return typical;
}

static int read_code_samples(struct exporting *x, struct code_facts *c, struct err *err)
{
	const struct pd_event *ops = dispatched_ops(x);
	struct profile_opts po = { .key = { KEY_ADDR, KEY_DSO },
				   .n_keys = 2,
				   .select.event = x->event };
	const struct profile_row *r;
	uint64_t typical = 0;
	size_t n;

	if (ops) {
		po.select.event = x->event = ops->name;
		cli_note(x->cli,
			 "no branch stacks were recorded: ops of %s as they are dispatched: "
			 "an instruction of several ops counts once for each",
			 ops->name);
	} else {
		cli_note(x->cli, "no branch stacks were recorded: how often code ran is guessed "
				 "from where samples fell; better: cyclade record -b");
	}
	if (recording_select(&x->r, x->cli, &po, err) ||
	    profile_build(&c->profile, x->r.rec, x->r.spaces, &po, err))
		return -1;
	cli_progress_end(x->cli);
	r = profile_rows(c->profile, &n);
	for (size_t i = 0; i < n; i++) {
		c->total += r[i].all.samples;
		if (r[i].image != IMAGE_NONE && r[i].space == SPACE_USER)
			c->weight[r[i].image] += r[i].all.samples;
	}
	typical = typical_samples(r, n, c->total);
	if (typical)
		cli_note(x->cli,
			 "half of it is at addresses with %" PRIu64 " samples or more, each by "
			 "chance alone +-%.0f %% or less; the rest at addresses with fewer",
			 typical, 100 * Z95 / sqrt((double)typical));
	return 0;
}

/* `real`: where the path of --dso leads to here, or NULL. */
static bool is_wanted_code(const struct exporting *x, uint32_t image, const char *real)
{
	const char *dso = x->cli->opt.dso, *path = image_path(x->r.images, image);

	if (image_key(x->r.images, image)->kind != IMAGE_FILE)
		return false;
	return !dso || !strcmp(dso, strchr(dso, '/') ? path : path_base(path)) ||
	       (real && !strcmp(real, path));
}

/* That with most samples of those that --dso may mean. */
static int choose_image(const struct exporting *x, struct code_facts *c, struct err *err)
{
	const char *dso = x->cli->opt.dso;
	uint64_t others = 0;
	char *real;

	/* recordings have absolute paths without links, people type ./prog */
	real = dso && strchr(dso, '/') ? realpath(dso, NULL) : NULL;
	c->image = IMAGE_NONE;
	for (uint32_t i = 0; i < images_count(x->r.images); i++) {
		if (c->weight[i] && is_wanted_code(x, i, real) &&
		    (c->image == IMAGE_NONE || c->weight[i] > c->weight[c->image]))
			c->image = i;
		others += c->weight[i];
	}
	free(real);
	if (c->image == IMAGE_NONE && dso) {
		(void)err_set(err, ERR_NOT_FOUND, "nothing was sampled in '%.200s'", dso);
		return err_hint(err, "cyclade report -s dso lists where");
	}
	if (c->image == IMAGE_NONE) {
		(void)err_set(err, ERR_NOT_FOUND, "nothing was sampled in a program or library");
		return err_hint(err, "cyclade report -s dso says where");
	}
	others -= c->weight[c->image];
	cli_note(x->cli, "of %s, %.1f %% of what was recorded%s", image_path(x->r.images, c->image),
		 100.0 * (double)c->weight[c->image] / (double)c->total,
		 others && !dso ? "; --dso chooses another" : "");
	return 0;
}

/* Addresses, names and lines are all its own. */
static int find_file(const struct exporting *x, const struct code_facts *c, struct err *err)
{
	if (image_code_file(x->r.images, c->image))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "%.200s: the file is not here, by which code is known",
		      image_path(x->r.images, c->image));
	return err_hint(err, "name where it lies: --symbols DIR");
}

static int read_code(struct exporting *x, struct code_facts *c, struct err *err)
{
	*c = (struct code_facts){ 0 };
	c->weight = xcalloc(images_count(x->r.images) + 1, sizeof(*c->weight));
	if (any_stacks(x) ? read_flow(x, c, err) : read_code_samples(x, c, err))
		return -1;
	return choose_image(x, c, err) || find_file(x, c, err) ? -1 : 0;
}

/* ---- */

static void tell_left_out(const struct exporting *x, const struct fdo *p)
{
	const struct {
		uint64_t n;
		const char *why;
	} row[] = {
		{ p->no_lines, "in code without debug information" },
		{ p->no_symbol, "in no function" },
		{ p->no_insn, "in spans that do not fit the code" },
		{ p->bad_name, "in functions whose names the format has no room for" },
	};
	uint64_t all = p->used;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		all += row[i].n;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (row[i].n)
			cli_note(x->cli, "left out: %.1f %% %s",
				 100.0 * (double)row[i].n / (double)all, row[i].why);
}

int export_write_fdo(struct exporting *x, struct err *err)
{
	struct code_facts c;
	struct fdo *p = NULL;
	int ret = -1;

	if (read_code(x, &c, err))
		goto out;
	if (c.flow ? fdo_of_flow(&p, c.flow, x->r.images, c.image, err)
		   : fdo_of_samples(&p, c.profile, x->r.images, c.image, err))
		goto out;
	if (!p->n_top) {
		(void)err_set(err, ERR_NOT_FOUND,
			      "%.200s: debug information covers nothing that ran",
			      image_path(x->r.images, c.image));
		goto out;
	}
	tell_left_out(x, p);
	ret = x->cli->opt.text ? export_fdo_text(&x->out.text, p, err)
			       : export_fdo_binary(&x->out.text, p, err);
out:
	fdo_free(p);
	facts_free(&c);
	return ret;
}

int export_write_bolt(struct exporting *x, struct err *err)
{
	struct code_facts c;
	size_t n;
	const char *event = x->event ? x->event : pd_events(x->r.rec, &n)[0].name;
	int ret = -1;

	if (read_code(x, &c, err))
		goto out;
	ret = c.flow ? export_bolt(&x->out.text, c.flow, x->r.images, c.image, err)
		     : export_bolt_samples(&x->out.text, c.profile, event, x->r.images, c.image,
					   err);
out:
	facts_free(&c);
	return ret;
}

/* Layouts are made of edges: samples do not do. */
static int read_edges(struct exporting *x, struct code_facts *c, struct err *err)
{
	*c = (struct code_facts){ 0 };
	if (any_stacks(x))
		return read_code(x, c, err);
	(void)err_set(err, ERR_NOT_FOUND,
		      "no branch stacks were recorded, by which code is laid out");
	return again_hint(err, pd_info(x->r.rec), "record them:", "-b");
}

static int write_layout(struct exporting *x, const struct code_facts *c, const struct layout *l,
			int (*write)(struct buf *, const struct layout *, struct err *),
			struct err *err)
{
	if (!l->n)
		return err_set(err, ERR_NOT_FOUND, "%.200s: no function with a name ran",
			       image_path(x->r.images, c->image));
	if (l->strange)
		cli_note(x->cli,
			 "left out: %zu functions whose names are not known, or that the format "
			 "has no room for",
			 l->strange);
	return write(&x->out.text, l, err);
}

int export_write_blocks(struct exporting *x, struct err *err)
{
	struct bbmap map = { VEC_INIT, VEC_INIT };
	struct layout *l = NULL;
	struct code_facts c;
	int ret = -1;

	if (!read_edges(x, &c, err) && !bbmap_read(&map, x->r.images, c.image, err) &&
	    !layout_blocks(&l, c.flow, x->r.images, c.image, &map, err))
		ret = write_layout(x, &c, l, export_blocks, err);
	layout_free(l);
	bbmap_free(&map);
	facts_free(&c);
	return ret;
}

int export_write_order(struct exporting *x, struct err *err)
{
	struct layout *l = NULL;
	struct code_facts c;
	int ret = -1;

	if (!read_edges(x, &c, err) && !layout_functions(&l, c.flow, x->r.images, c.image, err))
		ret = write_layout(x, &c, l, export_order, err);
	layout_free(l);
	facts_free(&c);
	return ret;
}
