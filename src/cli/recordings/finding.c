/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report --findings: what matters most in a recording. One walk: rows, call chains, waits. And the
 * same for the first lines of report and run.
 */
#include <stdlib.h>

#include "analyse/cube.h"
#include "analyse/findings.h"
#include "analyse/pass.h"
#include "analyse/wait.h"
#include "base/xalloc.h"
#include "cli/recordings/finding.h"
#include "report/column.h"
#include "report/findings_view.h"

struct finding_out {
	const struct wait *given;	 /* NULL: built if there are switches */
	const struct profile_opts *rows; /* NULL: those that results share */
	struct profile *begun, *own_profile;
	struct cube *own_cube;
	struct result_shared own_wait;
	bool waits;
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
	profile_free(x->begun);
	profile_free(x->own_profile);
	result_shared_free(&x->own_wait);
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
	return recording_select(ask->r, ask->cli, po, err) || keys_parse(po, &by_event, NULL, err)
		       ? -1
		       : 0;
}

/* What cannot be made is not found. */
static void begin_parts(struct finding_out *x, const struct result_ask *ask, struct pass *pass,
			const struct profile_opts *po)
{
	const struct recording *r = ask->r;
	struct err why = ERR_INIT;

	if (x->event != SIZE_MAX && !(ask->bases && ask->bases->cube) &&
	    cube_begin(&x->own_cube, pass, r->rec, r->spaces, po, x->event, &why))
		err_clear(&why);
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
	if (rows_opts(&po, x, ask, err) ||
	    (ask->bases ? result_profile_begin(ask, pass, &po, err)
			: profile_begin(&x->begun, pass, r->rec, r->spaces, &po, err)))
		return -1;
	begin_parts(x, ask, pass, &po);
	return 0;
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
	in.cube = x->own_cube ? x->own_cube : ask->bases ? ask->bases->cube : NULL;
	in.wait = x->given;
	if (x->waits && result_wait(&in.wait, ask, &x->own_wait, &why))
		err_clear(&why);
	x->f = findings_make(&in);
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
	struct pass *pass;
	int ret = 0;

	alone.bases = NULL;
	x->given = given->wait;
	x->rows = given->rows;
	out->own = x;
	out->end = free_finding_out;
	if (result_pass(&pass, ask->cli, ask->r, &why)) {
		err_clear(&why);
		return NULL;
	}
	for (unsigned turn = 0; turn < 2 && !ret; turn++)
		ret = findings_walk(out, &alone, pass, turn, &why) || pass_run(pass, &why) ? -1 : 0;
	pass_free(pass);
	if (ret || findings_result_make(out, &alone, &why)) {
		err_clear(&why);
		return NULL;
	}
	if (rows)
		*rows = x->begun;
	return &x->v;
}
