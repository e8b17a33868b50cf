/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/diff_html.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/recordings/report_html.h"
#include "report/block_graph.h"
#include "report/diff_flame.h"
#include "report/page_files.h"

enum { CODE_PAGES = 20 }; /* of functions that changed most */

struct diff_page {
	const struct diff_runs *runs;
	const struct diff_side *side;
	size_t n_sides;
	struct diff *diff;
	VEC(struct diff_flame *) flame;
	struct document *flames;
	VEC(struct html_page_function) function;
};

/* ---- flame graphs ---------------------------------------------------------------------------- */

static size_t first_run(const struct diff_page *w, size_t side)
{
	size_t at = 0;

	for (size_t s = 0; s < side; s++)
		at += w->side[s].n;
	return at;
}

/* The event of the graphs: -e, else the base's in cycles or time. NULL: there is none. */
static const char *flame_event(const struct diff_page *w)
{
	const struct results *all = w->runs->of_run.v[0];
	const struct text_list *said = &w->runs->cli->opt.event;
	size_t n, event;

	if (!all)
		return NULL;
	event = recording_event(results_recording(all), said->n ? said->v[0] : NULL, NULL);
	return event == SIZE_MAX ? NULL : pd_events(results_recording(all)->rec, &n)[event].name;
}

/* A recording without samples of the event has no profile. */
static int chain_profile(struct diff_flame_run *out, const struct diff_page *w, struct results *all,
			 const char *event, struct err *err)
{
	struct cli *cli = w->runs->cli;
	const struct recording *r = all ? results_recording(all) : NULL;
	const struct result_ask ask = { .cli = cli,
					.r = r,
					.bases = all ? results_bases(all) : NULL };
	struct profile_opts po = { .key = { KEY_DSO }, .n_keys = 1, .chains = true };
	const struct pd_event *ev;
	struct profile *own;
	size_t n;

	*out = (struct diff_flame_run){ NULL, 0 };
	if (!r)
		return 0;
	ev = pd_events(r->rec, &n);
	while (out->event < n && strcmp(ev[out->event].name, event) != 0)
		out->event++;
	if (out->event == n)
		return 0;
	po.max_stack = (uint32_t)cli->opt.max_stack;
	return recording_select(r, cli, &po, err)
		       ? -1
		       : result_profile(&out->profile, &own, &ask, &po, err);
}

static int add_flame(struct diff_page *w, size_t side, const char *event, struct err *err)
{
	size_t n_base = w->side[0].n, n = n_base + w->side[side].n;
	struct diff_flame_run *run = xcalloc(n, sizeof(*run));
	struct diff_flame *f = NULL;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		size_t k = i < n_base ? i : first_run(w, side) + i - n_base;

		ret = chain_profile(&run[i], w, w->runs->of_run.v[k], event, err);
	}
	if (!ret)
		diff_flame_build(&f, w->diff, side, event, run);
	if (f)
		vec_xpush(&w->flame, f);
	free(run);
	return ret;
}

static int get_flames(struct diff_page *w, struct err *err)
{
	const char *event = flame_event(w);

	for (size_t s = 1; event && s < w->n_sides; s++)
		if (add_flame(w, s, event, err))
			return -1;
	w->flames = xcalloc(w->flame.n, sizeof(*w->flames));
	for (size_t i = 0; i < w->flame.n; i++) {
		document_open(&w->flames[i], &diff_flame_document, NULL);
		diff_flame_put(&w->flames[i], w->flame.v[i]);
	}
	return 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* The function as the first recording of its side has it; what cannot be annotated has no page. */
static int add_code(struct diff_page *w, const struct diff_changed *f, struct err *err)
{
	struct results *all = w->runs->of_run.v[first_run(w, f->side)];
	struct html_page_function page = { f->dso, f->function, NULL, NULL };
	struct document *d;
	struct buf name = BUF_INIT;
	struct err why = ERR_INIT;
	int ret = 0;

	buf_printf(&name, "%s:%s", f->dso, f->function);
	if (all && !results_get(&d, all, RESULT_ANNOTATE, buf_str(&name), &why)) {
		page.document = d;
		ret = block_graph_of(&page.graph, d, err);
		if (!ret)
			vec_xpush(&w->function, page);
	}
	buf_free(&name);
	return ret;
}

static int get_code(struct diff_page *w, struct err *err)
{
	struct diff_changed *f;
	size_t n = diff_changed(w->diff, &f);
	int ret = 0;

	for (size_t i = 0; i < n && w->function.n < CODE_PAGES && !ret; i++)
		ret = add_code(w, &f[i], err);
	free(f);
	return ret;
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char *page_title(struct arena *a, const struct document *d)
{
	return d->title.n && !d->title.v[0].label ? arena_xprintf(a, "diff: %s", d->title.v[0].text)
						  : "diff";
}

int diff_html(const struct diff_runs *runs, const struct diff_side *side, size_t n_sides,
	      struct diff *diff, const struct document *d)
{
	struct cli *cli = runs->cli;
	struct diff_page w = { .runs = runs, .side = side, .n_sides = n_sides, .diff = diff };
	const struct html_page_part part = { d->form->name, d, true };
	struct html_page page = { .files = &page_files,
				  .title = page_title(&cli->arena, d),
				  .source = !cli->opt.no_source,
				  .part = &part,
				  .n_parts = 1 };
	struct err err = ERR_INIT;
	int code = get_flames(&w, &err) || get_code(&w, &err);

	cli_progress_end(cli);
	page.flame = w.flames;
	page.n_flames = w.flame.n;
	page.function = w.function.v;
	page.n_functions = w.function.n;
	code = code ? cli_fail(&err) : report_html_write(cli, &page, cli->opt.html);
	for (size_t i = 0; i < w.flame.n && w.flames; i++)
		document_close(&w.flames[i]);
	free(w.flames);
	vec_each (&w.flame, struct diff_flame **, f)
		diff_flame_free(*f);
	vec_free(&w.flame);
	vec_each (&w.function, const struct html_page_function *, f)
		block_graph_free(f->graph);
	vec_free(&w.function);
	return code;
}
