/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walk of script.h: records in the order of time, each with its thread, frames with names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "report/export/script_int.h"

/* ---- names ----------------------------------------------------------------------------------- */

struct name *script_name(struct script *x, const struct script_at *a, enum space_kind kind,
			 uint64_t ip)
{
	return names_at(x->names, a->proc, a->proc_index, kind, ip, a->time);
}

/* perf names memory without a file after the list of names that a runtime writes, a module by its
 * path. */
const char *script_dso(struct script *x, const struct name *n, bool data)
{
	const struct image_key *key =
		n->image == IMAGE_NONE ? NULL : image_key(x->images, n->image);
	bool path = key && (key->kind == IMAGE_FILE || (data && key->kind == IMAGE_ANON) ||
			    (key->kind == IMAGE_MODULE && *image_path(x->images, n->image) == '/'));

	buf_reset(&x->scratch);
	if (!data && key && key->kind == IMAGE_ANON && key->pid && !strncmp(key->path, "//anon", 6))
		buf_printf(&x->scratch, "/tmp/perf-%u.map", key->pid);
	else
		text_put_safe(&x->scratch,
			      !key   ? "[unknown]"
			      : path ? image_path(x->images, n->image)
				     : image_name(x->images, n->image),
			      false);
	return buf_str(&x->scratch);
}

bool script_period(const struct script_at *a, uint64_t *out)
{
	*out = a->s.has & PERF_SAMPLE_PERIOD ? a->s.period : a->ev->attr.sample_period;
	return a->s.has & PERF_SAMPLE_PERIOD || !a->ev->attr.freq;
}

const struct trace_format *script_trace(const struct script *x, const struct script_at *a)
{
	return pd_trace_of(x->rec, a->ev);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The function at an address and those inlined there. perf's unwinder hands out the address before
 * that of the return. */
static int name_frame(struct script *x, const struct script_at *a, const struct sample_frame *at,
		      bool unwound,
		      int (*each)(struct script *x, const struct script_at *a,
				  const struct script_frame *f, struct err *err),
		      struct err *err)
{
	enum space_kind kind = at->kind == KIND_UNSAID ? space_kind_of_misc(a->s.cpumode)
						       : (enum space_kind)at->kind;
	bool after = at->caller && !unwound && at->ip;
	struct name *n = script_name(x, a, kind, at->ip - (at->caller && at->ip));
	struct script_frame f = { at->ip - (at->caller && unwound), n, n->offset + after, NULL, 0 };

	if (!x->opts->no_inlines && a->chain && names_inlines(x->names, n, err))
		return -1;
	for (f.level = a->chain && !x->opts->no_inlines ? n->n_inl : 0;; f.level--) {
		f.inlined = f.level ? n->inl[f.level - 1].name : NULL;
		if (each(x, a, &f, err))
			return -1;
		if (!f.level)
			return 0;
	}
}

int script_frames(struct script *x, const struct script_at *a,
		  int (*each)(struct script *x, const struct script_at *a,
			      const struct script_frame *f, struct err *err),
		  struct err *err)
{
	const struct sample_frames_how how = sample_frames_how(a->ev, x->opts->machine);
	const struct sample_frame self = { a->s.ip, KIND_UNSAID, false };

	if (!a->chain)
		return name_frame(x, a, &self, false, each, err);
	if (sample_frames_take(&x->frames, &how, &a->s, a->proc, a->time, err))
		return -1;
	for (size_t i = 0; i < x->frames.n; i++) {
		const struct sample_frame *f = &x->frames.frame[i];
		bool unwound = how.dwarf && f->kind == SPACE_USER;

		if (name_frame(x, a, f, unwound, each, err))
			return -1;
	}
	return 0;
}

/* ---- records at their turn ------------------------------------------------------------------- */

static int meet_thread(struct script *x, struct script_at *a, uint64_t task, bool known,
		       struct err *err)
{
	const struct pass_thread *t;

	a->comm = ":-1";
	a->proc_index = UINT32_MAX;
	if (!known)
		return 0;
	t = pass_thread(x->pass, 0, task, a->time);
	if (!t)
		return err_nomem(err);
	a->comm = pass_comm_text(x->sp, t->comm, a->comm_text);
	a->proc = t->proc;
	a->proc_index = t->proc_index;
	return 0;
}

static int put_sample(struct script *x, const struct in_order_record *q, struct err *err)
{
	size_t n;
	struct script_at a = { .ev = &pd_events(x->rec, &n)[q->event],
			       .fields = x->fields[q->event],
			       .time = q->time };

	if (!a.fields || pd_sample_parse(x->rec, &q->r, &a.s))
		return 0;
	a.chain = !x->opts->no_chains && script_has(&a, SCRIPT_IP) &&
		  a.ev->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
	if (meet_thread(x, &a, task_of(a.s.pid, a.s.tid), a.s.has & PERF_SAMPLE_TID, err))
		return -1;
	return x->opts->json ? script_put_json(x, &a, err) : script_put_text(x, &a, err);
}

static bool is_selected(const struct selection *s, const struct pd_sample_id *id)
{
	bool pid = !s->n_pids, tid = !s->n_tids;

	for (size_t i = 0; i < s->n_pids; i++)
		pid |= s->pids[i] == id->pid;
	for (size_t i = 0; i < s->n_tids; i++)
		tid |= s->tids[i] == id->tid;
	return pid && tid && id->time >= s->time_from && (!s->time_to || id->time <= s->time_to);
}

/* Of these, perf shows the thread that the record is about. */
static uint64_t task_of_record(const struct pd_record *r, const struct pd_sample_id *id)
{
	bool task = r->type == PERF_RECORD_FORK || r->type == PERF_RECORD_EXIT;
	bool own = task || r->type == PERF_RECORD_COMM || r->type == PERF_RECORD_MMAP ||
		   r->type == PERF_RECORD_MMAP2;

	if (!own || r->size < 24)
		return task_of(id->pid, id->tid);
	return task_of(ld32(r->p + 8), ld32(r->p + (task ? 16 : 12)));
}

static int put_other(struct script *x, const struct in_order_record *q, struct err *err)
{
	struct pd_sample_id id;
	struct script_at a = { .time = q->time };
	size_t n;

	pd_sample_id_get(x->rec, &q->r, &id);
	if (!is_selected(x->opts->select, &id))
		return 0;
	a.ev = pd_events(x->rec, &n);
	if (id.event >= n)
		return 0;
	a.ev += id.event;
	a.fields = x->fields[id.event];
	a.s = (struct pd_sample){ .pid = id.pid, .tid = id.tid, .cpu = id.cpu, .time = id.time };
	if (meet_thread(x, &a, task_of_record(&q->r, &id), id.has & PERF_SAMPLE_TID, err))
		return -1;
	script_put_record(x, &a, &q->r);
	return 0;
}

/* Those that are due. Ends early if the reader went away. */
static int put_due(struct script *x, struct err *err)
{
	struct in_order_record q;

	while (!x->out->failed && in_order_next(&x->order, &q)) {
		if (q.r.type == PERF_RECORD_SAMPLE ? put_sample(x, &q, err) : put_other(x, &q, err))
			return -1;
		buf_spill(x->out);
	}
	return buf_error(x->out, err);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static int see_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct script *x = ctx;
	const struct in_order_record q = { *s->r, s->time, s->event };

	(void)err;
	in_order_put(&x->order, &q);
	return 0;
}

static int see_other(void *ctx, unsigned worker, const struct pd_record *r, struct err *err)
{
	struct script *x = ctx;
	struct in_order_record q = { .r = *r, .time = r->seq };
	struct pd_sample_id id;

	(void)worker;
	if (r->type == PD_RECORD_FINISHED_ROUND) {
		in_order_round(&x->order);
		return put_due(x, err);
	}
	if (!script_shows(x->opts, r->type))
		return 0;
	pd_sample_id_get(x->rec, r, &id);
	if (pd_has_time(x->rec))
		q.time = id.time;
	in_order_put(&x->order, &q);
	return 0;
}

static int see_end(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct script *x = ctx;

	(void)worker;
	if (chunk + 1 < pass_chunks(x->pass))
		return 0;
	in_order_finish(&x->order);
	return put_due(x, err);
}

static int walk(struct script *x, struct err *err)
{
	static const struct pass_visitor visitor = {
		.wants = PASS_ORDER | PASS_THREAD | PASS_COMM,
		.sample = see_sample,
		.other = see_other,
		.end = see_end,
	};
	const struct pass_opts po = { .threads = 1,
				      .progress = x->opts->progress,
				      .progress_ctx = x->opts->progress_ctx };

	return pass_new(&x->pass, x->rec, x->sp, x->opts->select, &po, err) ||
			       pass_each(x->pass, &visitor, x, err)
		       ? -1
		       : 0;
}

int script_put(struct buf *out, const struct pd *rec, const struct spaces *spaces,
	       const struct script_opts *opts, struct err *err)
{
	struct script x = {
		.out = out, .rec = rec, .sp = spaces, .images = spaces_images(spaces), .opts = opts
	};
	size_t n, max = opts->max_stack ? opts->max_stack : SAMPLE_FRAMES_MAX;
	const struct pd_event *ev = pd_events(rec, &n);
	int ret;

	for (size_t i = 0; i < n; i++)
		if ((int)strlen(ev[i].name) > x.name_width)
			x.name_width = (int)strlen(ev[i].name);
	x.fields = script_fields_of(rec, opts);
	x.names = names_new(spaces, true);
	ret = sample_frames_init(&x.frames, spaces, opts->machine, max, err) || walk(&x, err) ? -1
											      : 0;
	sample_frames_free(&x.frames);
	names_free(x.names);
	in_order_free(&x.order);
	pass_free(x.pass);
	free(x.fields);
	buf_free(&x.scratch);
	return ret;
}
