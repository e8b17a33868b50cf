/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/report_html.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/event_cost.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "cli/heap.h"
#include "cli/recordings/results.h"
#include "cli/recordings/waiting.h"
#include "report/block_graph.h"
#include "report/cube_view.h"
#include "report/memory_when_view.h"
#include "report/page_files.h"
#include "report/timeline_view.h"

#define FUNCTION_PAGES 200     /* at most, without --functions */
#define FIRST_PAGES    12      /* however few their samples */
#define WORTH_PAGE     0.005   /* of the samples, without --functions */
#define CODE_MOST      900000u /* bytes of their pages, about, without --functions */
#define CHAIN_ROWS     4000    /* more call chains are in the cube only */
#define TITLE_MOST     60      /* bytes of a title, about; further words are left out */
#define OF_ALL	       0.95    /* of the samples: functions that hold them have pages */

enum { N_VIEWS = RESULT_COUNT - 1 }; /* all but functions' own pages */

/* The findings first, then as results.def has them: without scripts how it was recorded comes
 * last. */
static enum result_id view_at(size_t i)
{
	if (!i)
		return RESULT_FINDINGS;
	i--;
	return (enum result_id)(i + (i >= RESULT_FINDINGS));
}

static const char *view_name(enum result_id id)
{
	return id == RESULT_INFO ? "summary" : result_kinds[id].name;
}

/* There without scripts, too. */
static bool is_still(enum result_id id)
{
	return id == RESULT_FINDINGS || id == RESULT_INFO || id == RESULT_FUNCTIONS ||
	       id == RESULT_ACCOUNT;
}

struct writing {
	struct cli *cli;
	struct results *all;
	const struct cube *cube;
	struct document cube_document;
	struct document wall_document;
	struct document timeline_document;
	struct document memory_document;
	struct timeline *timeline;
	struct memory_when *memory;
	const char *event; /* the cube's; function pages are of it */
	struct html_page_part part[N_VIEWS];
	struct html_page_absent absent[N_VIEWS];
	struct html_page page;
	VEC(struct html_page_function) function;
};

/* ---- documents ------------------------------------------------------------------------------- */

/* Trees of so many rows that a page would become slow. */
static bool is_large(const struct writing *w, enum result_id id)
{
	return (id == RESULT_CALLEES || id == RESULT_CALLERS) && w->cube &&
	       w->cube->n_chains > CHAIN_ROWS;
}

static int get_view(struct document **d, struct writing *w, enum result_id id, struct err *err)
{
	if (!is_large(w, id))
		return results_get(d, w->all, id, NULL, err);
	return err_set(
		err, ERR_LIMIT,
		"%zu different call chains: their tree is in the flame graph; cyclade report "
		"-g --min PCT prints the rows",
		w->cube->n_chains);
}

/* Results that the recording has nothing for are left out, with the reason. */
static int get_views(struct writing *w, struct err *err)
{
	for (size_t i = 0; i < N_VIEWS; i++) {
		enum result_id id = view_at(i);
		struct err why = ERR_INIT;
		struct document *d;

		if (!get_view(&d, w, id, &why)) {
			w->part[w->page.n_parts++] =
				(struct html_page_part){ view_name(id), d, is_still(id) };
			continue;
		}
		if (id == RESULT_FUNCTIONS) {
			*err = why;
			return -1;
		}
		w->absent[w->page.n_absent].view = view_name(id);
		w->absent[w->page.n_absent++].why = arena_xstrdup(&w->cli->arena, why.what);
	}
	return 0;
}

static int get_cube(struct writing *w, struct err *err)
{
	const struct recording *r = results_recording(w->all);
	const char *said = w->cli->opt.event.n ? w->cli->opt.event.v[0] : NULL;
	size_t n, event = recording_event(r, said, NULL);

	if (results_walk(w->all, event, CHAIN_ROWS, err))
		return -1;
	w->cube = results_bases(w->all)->cube;
	if (!w->cube)
		return 0;
	w->event = pd_events(r->rec, &n)[event].name;
	document_open(&w->cube_document, &cube_document, NULL);
	cube_put(&w->cube_document, w->cube, w->event,
		 event_cost_unit(event_cost(r->rec, &pd_events(r->rec, &n)[event])));
	w->page.cube = &w->cube_document;
	return 0;
}

static void get_wall(struct writing *w)
{
	const struct wall_cube *wall = results_bases(w->all)->wall;

	if (!wall)
		return;
	document_open(&w->wall_document, &wall_cube_document, NULL);
	cube_put(&w->wall_document, wall_cube_of(wall), wall_cube_event(wall), "ns");
	w->page.wall = &w->wall_document;
}

static void get_timeline(struct writing *w)
{
	const struct wall_cube *wall = results_bases(w->all)->wall;

	if (w->cube)
		timeline_of(&w->timeline, w->cube, wall ? wall_cube_wait(wall) : NULL);
	if (!w->timeline)
		return;
	document_open(&w->timeline_document, &timeline_document, NULL);
	timeline_put(&w->timeline_document, w->timeline);
	w->page.timeline = &w->timeline_document;
}

/* The time axis is the cube's. */
static int get_memory(struct writing *w, struct err *err)
{
	const struct memory *m = results_bases(w->all)->memory.own;
	const struct recording *r = results_recording(w->all);
	struct profile_opts po = { .max_stack = 0 };
	struct err why = ERR_INIT;

	if (!m || !w->cube)
		return 0;
	if (recording_select(r, w->cli, &po, err))
		return -1;
	if (memory_when_build(&w->memory, m, r->rec, r->spaces, &po.select, w->cube->from,
			      w->cube->width, &why)) {
		err_clear(&why); /* the filter reaches no table of it then */
		return 0;
	}
	document_open(&w->memory_document, &memory_when_document, NULL);
	memory_when_put(&w->memory_document, w->memory);
	w->page.memory = &w->memory_document;
	return 0;
}

/* ---- functions with pages of their own ------------------------------------------------------- */

struct weighed {
	const char *dso, *function;
	uint64_t period;
};

static int by_function_name(const void *va, const void *vb)
{
	const struct weighed *a = va, *b = vb;
	int order = strcmp(a->function, b->function);

	return order ? order : strcmp(a->dso, b->dso);
}

static int by_function_weight(const void *va, const void *vb)
{
	const struct weighed *a = va, *b = vb;

	if (a->period != b->period)
		return a->period > b->period ? -1 : 1;
	return by_function_name(va, vb);
}

/* The functions of the cube with the periods of samples in themselves. NULL: out of memory. */
static struct weighed *weigh_functions(const struct cube *c, size_t *n, uint64_t *all)
{
	struct weighed *v = xcalloc(c->n_frames + 1, sizeof(*v));

	*n = 0;
	*all = 0;
	for (size_t i = 0; i < c->n_frames; i++)
		v[i] = (struct weighed){ c->frame[i].dso, c->frame[i].function, 0 };
	for (size_t i = 0; i < c->n_cells; i++) {
		uint32_t frame = c->node[cube_owner(c, c->cell[i].node)].frame;

		*all += c->cell[i].period;
		if (frame != CUBE_NONE)
			v[frame].period += c->cell[i].period;
	}
	*n = c->n_frames;
	if (*n)
		qsort(v, *n, sizeof(*v), by_function_weight);
	return v;
}

static int put_function(struct writing *w, const struct weighed *f, struct document *d,
			struct err *err)
{
	struct document *graph;
	struct html_page_function page = { f->dso, f->function, d, NULL };

	if (block_graph_of(&graph, d, err))
		return -1;
	page.graph = graph;
	vec_xpush(&w->function, page);
	return 0;
}

/* One that cannot be annotated (an address without a symbol) has no page. */
static int add_function(struct writing *w, const struct weighed *f, struct err *err)
{
	struct document *d;
	struct buf name = BUF_INIT;
	struct err why = ERR_INIT;
	int ret = 0;

	buf_printf(&name, "%s:%s", f->dso, f->function);
	if (!results_get(&d, w->all, RESULT_ANNOTATE, buf_str(&name), &why))
		ret = put_function(w, f, d, err);
	buf_free(&name);
	return ret;
}

/* Without --functions those that somebody may look at: the others' code would be most of the
 * page. */
static bool is_worth(const struct weighed *f, size_t i, uint64_t had, uint64_t all, bool said)
{
	if (!f->period || (double)had >= OF_ALL * (double)all)
		return false;
	return said || i < FIRST_PAGES || (double)f->period >= WORTH_PAGE * (double)all;
}

static int get_functions(struct writing *w, struct err *err)
{
	const bool said = OPTION_GIVEN(&w->cli->opt, functions);
	uint64_t most = said ? w->cli->opt.functions : FUNCTION_PAGES;
	uint64_t all, had = 0;
	size_t n, i = 0;
	struct weighed *v;
	int ret = 0;

	if (!w->cube || !most)
		return 0;
	v = weigh_functions(w->cube, &n, &all);
	for (; i < n && i < most && !ret && is_worth(&v[i], i, had, all, said); i++) {
		had += v[i].period;
		cli_progress(w->cli, (double)had / (double)all);
		ret = add_function(w, &v[i], err);
	}
	for (; i < n && v[i].period; i++)
		w->page.n_more++;
	w->page.code_most = said ? 0 : CODE_MOST;
	free(v);
	return ret;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The name that most of the samples' threads have. */
static const char *hottest_comm(const struct cube *c)
{
	uint64_t *sum = xcalloc(c->n_threads + 1, sizeof(*sum));
	size_t most = 0;

	if (!c->n_threads) {
		free(sum);
		return NULL;
	}
	for (size_t i = 0; i < c->n_cells; i++)
		sum[c->cell[i].thread] += c->cell[i].period;
	for (size_t i = 1; i < c->n_threads; i++)
		if (sum[i] > sum[most])
			most = i;
	free(sum);
	return c->thread[most].comm;
}

/* Words of a program, as many as a title has room for. */
static void put_program(struct buf *b, const struct pd_info *info, size_t k)
{
	text_put_safe(b, path_base(info->cmdline[k]), false);
	while (++k < info->n_cmdline) {
		bool fits = b->len + strlen(info->cmdline[k]) < TITLE_MOST;

		buf_putc(b, ' ');
		text_put_safe(b, fits ? info->cmdline[k] : "...", false);
		if (!fits)
			break;
	}
}

/* Of a whole machine: its name, and for how long. */
static void put_machine(struct buf *b, const struct view_source *s)
{
	char time[NUM_MAX];

	if (s->info->hostname)
		text_put_safe(b, s->info->hostname, false);
	buf_printf(b, "%sall CPUs", b->len ? ", " : "");
	if (s->has_time)
		buf_printf(b, ", %s",
			   num_seconds(time, (double)(s->time_last - s->time_first) / 1e9));
}

/* The program: the recorder's words behind "--", else the hottest thread's name, else the file. Of
 * all programs: the machine. */
static const char *title_of(const struct writing *w, const char *input)
{
	const struct view_source s = view_source_of(results_recording(w->all)->rec);
	const char *comm = w->cube ? hottest_comm(w->cube) : NULL, *title;
	struct buf b = BUF_INIT;
	bool all_cpus = false, said;
	size_t k = 0;

	for (; k < s.info->n_cmdline && strcmp(s.info->cmdline[k], "--") != 0; k++)
		all_cpus |= !strcmp(s.info->cmdline[k], "-a") ||
			    !strcmp(s.info->cmdline[k], "--all-cpus");
	said = k + 1 < s.info->n_cmdline;
	if (all_cpus)
		put_machine(&b, &s);
	else if (!said)
		text_put_safe(&b, comm && *comm && *comm != ':' ? comm : path_base(input), false);
	if (said && (!all_cpus || strcmp(path_base(s.info->cmdline[k + 1]), "sleep") != 0)) {
		buf_puts(&b, all_cpus ? ": " : "");
		put_program(&b, s.info, k + 1);
	}
	title = b.failed ? NULL : arena_strdup(&w->cli->arena, buf_str(&b));
	buf_free(&b);
	return title;
}

/* Where it is, how large, and what has no place in it. */
static void say_written(const struct cli *cli, const struct html_page *page, const char *file,
			uint64_t size)
{
	char room[NUM_MAX], pages[NUM_MAX], more[NUM_MAX];

	if (!strcmp(file, "-"))
		return;
	(void)num_bytes(room, size);
	if (page->n_more && page->n_functions)
		cli_note(cli,
			 "%s: %s, with the code of %s functions; %s less hot ones are without "
			 "code%s",
			 file, room, num_count(pages, (double)page->n_functions),
			 num_count(more, (double)page->n_more),
			 page->code_most ? " (--functions N)" : "");
	else
		cli_note(cli, "%s: %s%s", file, room,
			 page->n_more ? ", without the code of functions" : "");
}

int report_html_write(struct cli *cli, struct html_page *page, const char *file)
{
	struct cli to = *cli;
	struct cli_out out;
	struct err err = ERR_INIT;
	int code;

	to.opt.output = file;
	cli_out_open(&out, &to, true);
	if (html_page_write(&out.text, page, &err))
		return cli_out_fail(&out, &err);
	code = cli_out_put(&out);
	if (code == EXIT_OK)
		say_written(cli, page, file, out.size);
	return code;
}

static int gather_page(struct writing *w, const char *input, struct err *err)
{
	if (results_open(&w->all, w->cli, input, err) || get_cube(w, err))
		return -1;
	get_wall(w);
	get_timeline(w);
	if (get_views(w, err) || get_memory(w, err) || get_functions(w, err))
		return -1;
	w->page.files = &page_files;
	w->page.title = title_of(w, input);
	w->page.source = !w->cli->opt.no_source;
	w->page.part = w->part;
	w->page.absent = w->absent;
	w->page.function = w->function.v;
	w->page.n_functions = w->function.n;
	return 0;
}

int report_html(struct cli *cli, const char *input, const char *file)
{
	struct writing w = { .cli = cli };
	struct err err = ERR_INIT;
	int code = gather_page(&w, input, &err);

	cli_progress_end(cli);
	code = code ? cli_fail(&err) : report_html_write(cli, &w.page, file);
	vec_each (&w.function, const struct html_page_function *, f)
		block_graph_free(f->graph);
	document_close(&w.cube_document);
	vec_free(&w.function);
	document_close(&w.wall_document);
	document_close(&w.timeline_document);
	timeline_free(w.timeline);
	document_close(&w.memory_document);
	memory_when_free(w.memory);
	results_close(w.all);
	return code;
}
