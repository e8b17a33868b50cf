/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report --findings: what matters most in a recording. One walk: rows, call chains, waits. And the
 * same for the first lines of report and run.
 */
#include <stdlib.h>

#include "analyse/cube.h"
#include "analyse/findings.h"
#include "analyse/memory.h"
#include "analyse/wait.h"
#include "base/xalloc.h"
#include "cli/recordings/accounting.h"
#include "cli/recordings/finding.h"
#include "report/column.h"
#include "report/findings_view.h"

struct finding_out {
	const struct wait *given;	 /* NULL: built if there are switches */
	const struct profile_opts *rows; /* NULL: those that results share */
	struct profile *begun, *own_profile, *own_lines;
	struct cube *own_cube;
	struct result_shared own_wait;
	struct accounting account;
	struct sharing *sharing;
	struct memory *memory;
	bool waits, accounts;
	size_t event;
	struct findings *f;
	struct findings_view v;
};

static void free_finding_out(void *own)
{
	struct finding_out *x = own;

	findings_view_free(&x->v);
	findings_free(x->f);
	cube_free(x->own_cube);
	profile_free(x->own_lines);
	profile_free(x->begun);
	profile_free(x->own_profile);
	result_shared_free(&x->own_wait);
	sharing_free(x->sharing);
	memory_free(x->memory);
	accounting_close(&x->account); /* profiles are weighed by it */
	free(x);
}

static int rows_opts(struct profile_opts *po, const struct finding_out *x,
		     const struct result_ask *ask, struct err *err)
{
	bool by_event;

	if (x->rows) {
		*po = *x->rows;
		return 0;
	}
	*po = (struct profile_opts){ .max_stack = (uint32_t)ask->cli->opt.max_stack };
	if (recording_select(ask->r, ask->cli, po, err) || keys_parse(po, &by_event, NULL, err))
		return -1;
	po->mux = x->account.mux;
	return 0;
}

/* Rows that another result wants are not weighed as an account is. */
static void begin_account(struct finding_out *x, const struct result_ask *ask)
{
	struct err why = ERR_INIT;

	if (x->rows || !result_has_account(ask->r))
		return;
	x->accounts = !accounting_open(&x->account, ask->cli, ask->r->rec, ask->bases, &why);
	if (!x->accounts)
		accounting_close(&x->account);
	err_clear(&why);
}

static void begin_sharing(struct finding_out *x, const struct result_ask *ask, struct pass *pass)
{
	const struct recording *r = ask->r;
	struct sharing_opts so = { .line_size = 0 };
	struct err why = ERR_INIT;

	if (sharing_able(r->rec) && !recording_line_size(r, ask->cli, &so.line_size, &why) &&
	    sharing_begin(&x->sharing, pass, r->rec, r->spaces, &so, &why))
		x->sharing = NULL;
	err_clear(&why);
}

static void begin_memory(struct finding_out *x, const struct result_ask *ask, struct pass *pass,
			 const struct profile_opts *po)
{
	struct memory_opts mo = { .select = po->select, .or_none = true };
	struct err why = ERR_INIT;

	mo.select.event = NULL;
	if (memory_told(ask->r->rec) &&
	    memory_begin(&x->memory, NULL, pass, ask->r->rec, ask->r->spaces, &mo, &why))
		x->memory = NULL;
	err_clear(&why);
}

/* What cannot be made is not found. */
static void begin_parts(struct finding_out *x, const struct result_ask *ask, struct pass *pass,
			const struct profile_opts *po)
{
	const struct recording *r = ask->r;
	struct profile_opts chains = *po;
	struct err why = ERR_INIT;

	if (x->rows && (!po->max_stack || po->max_stack > FINDINGS_DEEP))
		chains.max_stack = FINDINGS_DEEP;
	if (x->event != SIZE_MAX && !(ask->bases && ask->bases->cube) &&
	    cube_begin(&x->own_cube, pass, r->rec, r->spaces, &chains, x->event, &why))
		err_clear(&why);
	begin_sharing(x, ask, pass);
	begin_memory(x, ask, pass, po);
	if (x->given || ask->cli->opt.cpu || !wait_able(r->rec))
		return;
	if (result_wait_begin(ask, &x->own_wait, pass, &why))
		err_clear(&why);
	else
		x->waits = true;
}

int findings_walk(struct result *out, const struct result_ask *ask, struct pass *pass,
		  unsigned turn, struct err *err)
{
	const char *wanted = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	struct finding_out *x = out->own;
	const struct recording *r = ask->r;
	struct err why = ERR_INIT;
	struct profile_opts po;

	if (turn) {
		if (x->sharing)
			sharing_again(x->sharing, pass);
		if (x->own_cube && cube_end(x->own_cube, &why)) {
			err_clear(&why);
			cube_free(x->own_cube);
			x->own_cube = NULL;
		}
		return x->begun && profile_end(x->begun, err) ? -1 : 0;
	}
	if (!x)
		out->own = x = xcalloc(1, sizeof(*x));
	out->end = free_finding_out;
	x->event = recording_event(r, wanted, NULL);
	begin_account(x, ask);
	if (rows_opts(&po, x, ask, err))
		return -1;
	if (!ask->bases && !po.chains && !po.branches)
		po.also |= 1u << KEY_COMM; /* counts stay: make_lines() */
	if ((ask->bases ? result_profile_begin(ask, pass, &po, err)
			: profile_begin(&x->begun, pass, r->rec, r->spaces, &po, err)))
		return -1;
	begin_parts(x, ask, pass, &po);
	return 0;
}

/* The same samples by address: no walk. NULL: it would take one. */
static const struct profile *make_lines(struct finding_out *x, const struct result_ask *ask,
					const struct profile *of)
{
	const struct profile *lines = NULL;
	struct profile_opts po = *profile_options(of);
	struct err why = ERR_INIT;

	po.key[0] = KEY_DSO;
	po.key[1] = KEY_SYM;
	po.key[2] = KEY_ADDR;
	po.n_keys = 3;
	po.also = 0;
	if (ask->bases ? result_profile(&lines, &x->own_lines, ask, &po, &why)
		       : profile_has(of, &po) && profile_again(&x->own_lines, of, &po, &why))
		lines = x->own_lines = NULL;
	err_clear(&why);
	return lines ? lines : x->own_lines;
}

static void add_calls(struct finding_out *x, const struct result_ask *ask,
		      const struct findings_in *in)
{
	const struct recording *r = ask->r;
	struct profile_opts po;
	struct profile *p = NULL;
	struct err why = ERR_INIT;

	if (!findings_want_calls(x->f) || rows_opts(&po, x, ask, &why)) {
		err_clear(&why);
		return;
	}
	po = (struct profile_opts){ .key = { KEY_COMM },
				    .n_keys = 1,
				    .chains = true,
				    .stacks = STACKS_MERGED,
				    .max_stack = po.max_stack && po.max_stack < FINDINGS_DEEP
							 ? po.max_stack
							 : FINDINGS_DEEP,
				    .mux = po.mux,
				    .reads = po.reads,
				    .select = po.select,
				    .machine = po.machine };
	if (!profile_build(&p, r->rec, r->spaces, &po, &why))
		findings_calls(x->f, in, p);
	err_clear(&why);
	profile_free(p);
}

int findings_result_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct finding_out *x = out->own;
	const struct recording *r = ask->r;
	struct findings_in in = { .rec = r->rec, .images = r->images, .event = x->event };
	struct err why = ERR_INIT;
	struct profile_opts po;
	struct view_source source;

	in.profile = x->begun;
	if (!in.profile && (rows_opts(&po, x, ask, err) ||
			    result_profile(&in.profile, &x->own_profile, ask, &po, err)))
		return -1;
	in.lines = make_lines(x, ask, in.profile);
	in.cube = x->own_cube ? x->own_cube : ask->bases ? ask->bases->cube : NULL;
	in.wait = x->given;
	if (x->sharing && !sharing_end(x->sharing, &why))
		in.sharing = x->sharing;
	err_clear(&why);
	if (x->memory && !memory_end(x->memory, &why))
		in.memory = x->memory;
	err_clear(&why);
	if (x->accounts) {
		accounting_whole(&x->account, ask->cli, r->rec, in.profile);
		in.account = &accounting_most(&x->account)->bound;
	}
	if (x->waits && result_wait(&in.wait, ask, &x->own_wait, &why))
		err_clear(&why);
	x->f = findings_make(&in);
	add_calls(x, ask, &in);
	recording_source(&source, r, ask->cli, ask->said.input, NULL);
	findings_view_fill(&x->v, x->f, &source, r->rec, x->event);
	document_open(&out->d, &findings_document, &x->v);
	findings_put(&out->d, &x->v);
	return 0;
}

/* ---- beside other results -------------------------------------------------------------------- */

bool findings_are_cheap(const struct recording *r)
{
	size_t n;
	const struct pd_event *e = pd_events(r->rec, &n);
	uint64_t samples = 0;

	for (size_t i = 0; i < n; i++)
		samples += e[i].samples;
	return samples <= FINDINGS_CHEAP;
}

const struct findings_view *findings_look(struct result *out, const struct profile **rows,
					  const struct result_ask *ask,
					  const struct finding_given *given)
{
	struct result_ask alone = *ask;
	struct finding_out *x = xcalloc(1, sizeof(*x));
	struct err why = ERR_INIT;

	alone.bases = NULL;
	x->given = given->wait;
	x->rows = given->rows;
	out->own = x;
	out->end = free_finding_out;
	if (result_walk_alone(out, &alone, findings_walk, &why) ||
	    findings_result_make(out, &alone, &why)) {
		err_clear(&why);
		return NULL;
	}
	if (rows)
		*rows = x->begun;
	return &x->v;
}
