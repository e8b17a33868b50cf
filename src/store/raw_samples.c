/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples and what is inside of them: frames of call chains, branches, values of counters.
 */
#include "perfdata/memop.h"
#include "store/raw_int.h"

/* ---- the sample at hand ---------------------------------------------------------------------- */

static const struct cursor_row *row_of(const struct raw *c)
{
	return cursor_now(c->walk[c->run]);
}

const struct pd_sample *raw_sample(struct raw *c)
{
	if (!c->parsed)
		c->whole = !pd_sample_parse(raw_of(c)->r.rec, &row_of(c)->r, &c->sample);
	c->parsed = true;
	return c->whole ? &c->sample : NULL;
}

int raw_meet(struct raw *c, struct err *err)
{
	if (!c->met && cursor_who(c->walk[c->run], &c->who, err))
		return -1;
	c->met = true;
	return 0;
}

struct name *raw_name_at(struct raw *c, enum space_kind kind, uint64_t ip, struct err *err)
{
	struct raw_of *r = raw_of(c);

	if (raw_meet(c, err) || (!r->names && names_new(&r->names, r->r.spaces, err)))
		return NULL;
	return names_at(r->names, c->who.proc, c->who.proc_index, kind, ip, c->who.time, err);
}

const char *const raw_mode_names[] = {
	[SPACE_USER] = "user",
	[SPACE_KERNEL] = "kernel",
	[SPACE_HYPERVISOR] = "hypervisor",
	[SPACE_GUEST_USER] = "guest user",
	[SPACE_GUEST_KERNEL] = "guest kernel",
	[SPACE_UNKNOWN] = "unknown",
};

/* What all tables of samples have: columns of that name, at fixed places of the record. */
enum common { RUN, SAMPLE, TIME, CPU, PID, TID, COMM, EVENT, PERIOD };

static void fixed64(struct raw_cell *out, const uint8_t *p, uint16_t at)
{
	if (at)
		value_int(out, ld64(p + at));
}

static void fixed32(struct raw_cell *out, const uint8_t *p, int at)
{
	if (at)
		value_int(out, ld32(p + at));
}

/* As the kernel counts it where the record has none. */
uint64_t raw_period(const struct raw *c)
{
	const struct cursor_row *r = row_of(c);
	const struct pd_event *ev = r->ev;

	if (ev->at.period)
		return ld64(r->r.p + ev->at.period);
	return !ev->attr.freq && ev->attr.sample_period ? ev->attr.sample_period : 1;
}

static int common(struct raw *c, enum common what, struct raw_cell *out, struct err *err)
{
	const struct cursor_row *r = row_of(c);
	const struct pd_event *ev = r->ev;

	switch (what) {
	case RUN:
		value_int(out, c->run + 1);
		break;
	case SAMPLE:
		value_int(out, r->r.seq);
		break;
	case TIME:
		fixed64(out, r->r.p, ev->at.time);
		break;
	case CPU:
		fixed32(out, r->r.p, ev->at.cpu);
		break;
	case PID:
		fixed32(out, r->r.p, ev->at.tid);
		break;
	case TID:
		fixed32(out, r->r.p, ev->at.tid ? ev->at.tid + 4 : 0);
		break;
	case COMM:
		if (!ev->at.tid)
			break;
		if (raw_meet(c, err))
			return -1;
		value_text(out, c->who.comm, c->who.comm_stays);
		break;
	case EVENT:
		value_text(out, ev->name, true);
		break;
	case PERIOD:
		value_int(out, raw_period(c));
		break;
	}
	return 0;
}

/* ---- where an address lies ------------------------------------------------------------------- */

enum place { FUNCTION, OFFSET, DSO, ADDRESS, FILE_, LINE };

static int place(struct raw *c, enum space_kind kind, uint64_t ip, bool caller, enum place what,
		 struct raw_cell *out, struct err *err)
{
	struct name *x = raw_name_at(c, kind, caller ? ip - 1 : ip, err);

	if (!x || ((what == FILE_ || what == LINE) && names_line(raw_of(c)->names, x, err)))
		return -1;
	switch (what) {
	case FUNCTION:
		value_text(out, x->function, true);
		break;
	case OFFSET:
		if (x->function)
			value_int(out, x->offset + caller);
		break;
	case DSO:
		value_text(out, x->dso, true);
		break;
	case ADDRESS:
		if (x->dso)
			value_int(out, x->address + caller);
		break;
	case FILE_:
		value_text(out, x->file, true);
		break;
	case LINE:
		if (x->line)
			value_int(out, x->line);
		break;
	}
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int begin_samples(struct raw *c, struct err *err)
{
	return raw_walk_begin(c, false, err);
}

static int next_sample(struct raw *c, struct err *err)
{
	(void)err;
	return raw_walk_next(c);
}

static void value_set(struct raw *c, const char *text, struct raw_cell *out)
{
	if (!text)
		return;
	buf_reset(&c->text);
	buf_puts(&c->text, text);
	value_text(out, buf_str(&c->text), false);
}

/* The words of PERF_SAMPLE_DATA_SRC. */
static void data_words(struct raw *c, uint64_t src, enum store_column_id col, struct raw_cell *out)
{
	char text[MEMOP_TEXT];
	struct memop op;

	memop_of_data_src(&op, src);
	switch (col) {
	case C_samples_data_src:
		value_int(out, src);
		break;
	case C_samples_data_op:
		value_set(c, memop_set_text(text, MEMOP_KIND, op.set[MEMOP_KIND]), out);
		break;
	case C_samples_data_level:
		value_text(out, memop_level_name(op.level), true);
		break;
	case C_samples_data_hit:
		if (op.has & MEMOP_HAS_HIT)
			value_int(out, op.hit);
		break;
	case C_samples_data_remote:
		value_int(out, memop_remote(&op));
		break;
	case C_samples_data_where:
		if (op.where)
			value_text(out, memop_where_name(op.where), true);
		break;
	case C_samples_data_snoop:
		value_set(c, memop_set_text(text, MEMOP_SNOOP, op.set[MEMOP_SNOOP]), out);
		break;
	case C_samples_data_tlb:
		value_set(c, memop_set_text(text, MEMOP_TLB, op.set[MEMOP_TLB]), out);
		break;
	case C_samples_data_blocked:
		value_set(c, memop_set_text(text, MEMOP_BLOCK, op.set[MEMOP_BLOCK]), out);
		break;
	default:
		if (op.has & MEMOP_HAS_LOCKED)
			value_int(out, op.locked);
		break;
	}
}

/* By PERF_SAMPLE_*: the fields whose values are numbers. */
static void number(const struct pd_sample *s, enum store_column_id col, struct raw_cell *out)
{
	const uint64_t weights = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;
	static const uint64_t page_sizes = PERF_SAMPLE_DATA_PAGE_SIZE;
	const struct {
		enum store_column_id col;
		uint64_t bits, v;
	} rows[] = {
		{ C_samples_phys_addr, PERF_SAMPLE_PHYS_ADDR, s->phys_addr },
		{ C_samples_weight, weights, s->weight },
		{ C_samples_weight2, PERF_SAMPLE_WEIGHT_STRUCT, s->weight2 },
		{ C_samples_weight3, PERF_SAMPLE_WEIGHT_STRUCT, s->weight3 },
		{ C_samples_transaction, PERF_SAMPLE_TRANSACTION, s->transaction },
		{ C_samples_cgroup_id, PERF_SAMPLE_CGROUP, s->cgroup },
		{ C_samples_data_page_size, page_sizes, s->data_page_size },
		{ C_samples_code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE, s->code_page_size },
		{ C_samples_branches, PERF_SAMPLE_BRANCH_STACK, s->n_branch },
		{ C_samples_stack_bytes, PERF_SAMPLE_STACK_USER, s->stack_size },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].col == col && s->has & rows[i].bits)
			value_int(out, rows[i].v);
}

static int of_chain(struct raw *c, enum store_column_id col, struct raw_cell *out, struct err *err)
{
	if (raw_frames_make(c, err))
		return -1;
	if (!c->chain.n)
		return 0;
	if (col == C_samples_chain_id)
		return raw_chain_id(c, out, err);
	if (col == C_samples_chain)
		return raw_chain_text(c, out, err);
	value_int(out, c->chain.n);
	return 0;
}

/* Columns that need the sample taken apart. */
int raw_sample_parsed(struct raw *c, enum store_column_id col, struct raw_cell *out,
		      struct err *err)
{
	const struct pd_sample *s = raw_sample(c);

	if (!s)
		return 0;
	switch (col) {
	case C_samples_frames:
	case C_samples_chain_id:
	case C_samples_chain:
		return of_chain(c, col, out, err);
	case C_samples_cgroup:
		if (s->has & PERF_SAMPLE_CGROUP)
			value_text(out, spaces_cgroup_path(raw_of(c)->r.spaces, s->cgroup), true);
		return 0;
	case C_samples_raw:
		if (s->has & PERF_SAMPLE_RAW)
			*out = (struct raw_cell){ .kind = V_BLOB,
						  .s = (const char *)s->raw,
						  .len = s->raw_size,
						  .stays = true };
		return 0;
	case C_samples_instruction_latency:
	case C_samples_retire_latency:
		if (s->has & PERF_SAMPLE_WEIGHT_STRUCT && c->intel)
			value_int(out, col == C_samples_retire_latency ? s->weight3 : s->weight2);
		return 0;
	case C_samples_data_src:
	case C_samples_data_op:
	case C_samples_data_level:
	case C_samples_data_hit:
	case C_samples_data_remote:
	case C_samples_data_where:
	case C_samples_data_snoop:
	case C_samples_data_tlb:
	case C_samples_data_locked:
	case C_samples_data_blocked:
		if (s->has & PERF_SAMPLE_DATA_SRC)
			data_words(c, s->data_src, col, out);
		return 0;
	default:
		number(s, col, out);
		return 0;
	}
}

static int of_ip(struct raw *c, enum place what, struct raw_cell *out, struct err *err)
{
	const struct cursor_row *r = row_of(c);

	if (!r->ev->at.ip)
		return 0;
	return place(c, space_kind_of_misc(r->r.misc), ld64(r->r.p + r->ev->at.ip), false, what,
		     out, err);
}

static int sample_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
			struct err *err)
{
	const struct cursor_row *r = row_of(c);
	const struct pd_layout *at = &r->ev->at;

	switch (col) {
	case C_samples_run:
		return common(c, RUN, out, err);
	case C_samples_sample:
		return common(c, SAMPLE, out, err);
	case C_samples_time:
		return common(c, TIME, out, err);
	case C_samples_cpu:
		return common(c, CPU, out, err);
	case C_samples_pid:
		return common(c, PID, out, err);
	case C_samples_tid:
		return common(c, TID, out, err);
	case C_samples_comm:
		return common(c, COMM, out, err);
	case C_samples_event:
		return common(c, EVENT, out, err);
	case C_samples_period:
		return common(c, PERIOD, out, err);
	case C_samples_event_id:
		value_int(out, r->event);
		return 0;
	case C_samples_id:
		fixed64(out, r->r.p, at->id ? at->id : at->identifier);
		return 0;
	case C_samples_stream_id:
		fixed64(out, r->r.p, at->stream_id);
		return 0;
	case C_samples_ip:
		fixed64(out, r->r.p, at->ip);
		return 0;
	case C_samples_addr:
		fixed64(out, r->r.p, at->addr);
		return 0;
	case C_samples_mode:
		value_text(out, raw_mode_names[space_kind_of_misc(r->r.misc)], true);
		return 0;
	case C_samples_in_kernel:
		value_int(out, space_kind_of_misc(r->r.misc) == SPACE_KERNEL);
		return 0;
	case C_samples_function:
		return of_ip(c, FUNCTION, out, err);
	case C_samples_offset:
		return of_ip(c, OFFSET, out, err);
	case C_samples_dso:
		return of_ip(c, DSO, out, err);
	case C_samples_address:
		return of_ip(c, ADDRESS, out, err);
	case C_samples_file:
		return of_ip(c, FILE_, out, err);
	case C_samples_line:
		return of_ip(c, LINE, out, err);
	default:
		return raw_sample_parsed(c, col, out, err);
	}
}

const struct raw_kind raw_samples = { begin_samples, next_sample, sample_value };

/* ---- frames ---------------------------------------------------------------------------------- */

static int begin_frames(struct raw *c, struct err *err)
{
	/* frames have addresses of their own */
	c->b.ip = CURSOR_ANY;
	c->chain.n = c->i = 0;
	return raw_walk_begin(c, false, err);
}

/* c->i is one more than the frame's place. */
static int next_frame_row(struct raw *c, struct err *err)
{
	while (c->i >= c->chain.n) {
		if (!raw_walk_next(c))
			return 0;
		c->i = 0;
		if (raw_frames_make(c, err))
			return -1;
	}
	c->i++;
	return 1;
}

static int frame_line(struct raw *c, const struct raw_frame *f, enum store_column_id col,
		      struct raw_cell *out, struct err *err)
{
	struct name *x = raw_name_at(c, (enum space_kind)f->kind, f->ip - f->caller, err);
	struct source_line at;

	if (!x || names_line_of(raw_of(c)->names, x, f->level, &at, err))
		return -1;
	if (col == C_frames_file)
		value_text(out, at.file, true);
	else if (at.line)
		value_int(out, at.line);
	return 0;
}

static int frame_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		       struct err *err)
{
	static const enum common same[] = {
		[C_frames_run - C_frames_run] = RUN,
		[C_frames_sample - C_frames_run] = SAMPLE,
		[C_frames_time - C_frames_run] = TIME,
		[C_frames_cpu - C_frames_run] = CPU,
		[C_frames_pid - C_frames_run] = PID,
		[C_frames_tid - C_frames_run] = TID,
		[C_frames_comm - C_frames_run] = COMM,
		[C_frames_event - C_frames_run] = EVENT,
		[C_frames_period - C_frames_run] = PERIOD,
	};

	const struct raw_frame *f = &c->chain.v[c->i - 1];

	switch (col) {
	case C_frames_depth:
		value_int(out, c->i - 1);
		return 0;
	case C_frames_ip:
		value_int(out, f->ip);
		return 0;
	case C_frames_mode:
		value_text(out, raw_mode_names[f->kind], true);
		return 0;
	case C_frames_in_kernel:
		value_int(out, f->kind == SPACE_KERNEL);
		return 0;
	case C_frames_inlined:
		value_int(out, f->level > 0);
		return 0;
	case C_frames_function:
	case C_frames_offset:
		if (f->level) {
			if (col == C_frames_function)
				value_text(out, f->inlined, true);
			return 0;
		}
		return place(c, (enum space_kind)f->kind, f->ip, f->caller,
			     col == C_frames_function ? FUNCTION : OFFSET, out, err);
	case C_frames_dso:
	case C_frames_address:
		return place(c, (enum space_kind)f->kind, f->ip, f->caller,
			     col == C_frames_dso ? DSO : ADDRESS, out, err);
	case C_frames_file:
	case C_frames_line:
		return frame_line(c, f, col, out, err);
	default:
		return common(c, same[col - C_frames_run], out, err);
	}
}

const struct raw_kind raw_frames = { begin_frames, next_frame_row, frame_value };

/* ---- branches -------------------------------------------------------------------------------- */

static int begin_inside(struct raw *c, struct err *err)
{
	c->b.ip = CURSOR_ANY;
	return raw_walk_begin(c, false, err);
}

static int next_branch(struct raw *c, struct err *err)
{
	const struct pd_sample *s = &c->sample;

	(void)err;
	if (c->i + 1 < c->n) {
		c->branch = pd_branch_get(s, ++c->i);
		return 1;
	}
	while (raw_walk_next(c)) {
		if (!raw_sample(c) || !(s->has & PERF_SAMPLE_BRANCH_STACK) || !s->n_branch)
			continue;
		c->i = 0;
		c->n = s->n_branch;
		c->branch = pd_branch_get(s, 0);
		return 1;
	}
	return 0;
}

static const char *branch_type(uint8_t type)
{
	static const char *const names[] = {
		NULL,	     "cond",	      "jump",		"indirect jump",
		"call",	     "indirect call", "return",		"syscall",
		"sysret",    "cond call",     "cond return",	"exception return",
		"interrupt", "system error",  "no transaction",
	};

	return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

/* An address of a branch has no mode: by its half of the address space, as perf does. */
static int end_of_branch(struct raw *c, bool to, enum place what, struct raw_cell *out,
			 struct err *err)
{
	uint64_t ip = to ? c->branch.to : c->branch.from;

	if (!ip)
		return 0;
	return place(c, ip >> 63 ? SPACE_KERNEL : SPACE_USER, ip, false, what, out, err);
}

static int branch_place(struct raw *c, enum store_column_id col, struct raw_cell *out,
			struct err *err)
{
	static const enum place what[] = { FUNCTION, DSO, ADDRESS, FILE_, LINE };
	bool to = col >= C_branches_function_to;

	return end_of_branch(c, to,
			     what[col - (to ? C_branches_function_to : C_branches_function_from)],
			     out, err);
}

static int branch_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
			struct err *err)
{
	static const enum common same[] = {
		[C_branches_run - C_branches_run] = RUN,
		[C_branches_sample - C_branches_run] = SAMPLE,
		[C_branches_time - C_branches_run] = TIME,
		[C_branches_cpu - C_branches_run] = CPU,
		[C_branches_pid - C_branches_run] = PID,
		[C_branches_tid - C_branches_run] = TID,
		[C_branches_comm - C_branches_run] = COMM,
		[C_branches_event - C_branches_run] = EVENT,
		[C_branches_period - C_branches_run] = PERIOD,
	};

	if (col >= C_branches_function_from)
		return branch_place(c, col, out, err);
	switch (col) {
	case C_branches_depth:
		value_int(out, c->i);
		return 0;
	case C_branches_ip_from:
		value_int(out, c->branch.from);
		return 0;
	case C_branches_ip_to:
		value_int(out, c->branch.to);
		return 0;
	case C_branches_mispredicted:
		value_int(out, c->branch.mispred);
		return 0;
	case C_branches_predicted:
		value_int(out, c->branch.predicted);
		return 0;
	case C_branches_in_tx:
		value_int(out, c->branch.in_tx);
		return 0;
	case C_branches_abort:
		value_int(out, c->branch.abort);
		return 0;
	case C_branches_cycles:
		if (c->branch.cycles)
			value_int(out, c->branch.cycles);
		return 0;
	case C_branches_type:
		value_text(out, branch_type(c->branch.type), true);
		return 0;
	default:
		return common(c, same[col - C_branches_run], out, err);
	}
}

const struct raw_kind raw_branches = { begin_inside, next_branch, branch_value };

/* ---- values of counters ---------------------------------------------------------------------- */

static int next_count(struct raw *c, struct err *err)
{
	(void)err;
	if (c->i + 1 < c->n) {
		c->i++;
		return 1;
	}
	while (raw_walk_next(c)) {
		const struct pd_sample *s = raw_sample(c);

		if (!s || !(s->has & PERF_SAMPLE_READ) || !s->n_read)
			continue;
		c->i = 0;
		c->n = s->n_read;
		return 1;
	}
	return 0;
}

static int count_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		       struct err *err)
{
	const struct pd_sample *s = &c->sample;
	uint64_t format = s->event->attr.read_format;
	struct pd_read r = pd_read_get(s, c->i);
	const struct pd *rec = raw_of(c)->r.rec;
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	int e = format & PERF_FORMAT_ID ? pd_id_event(rec, r.id) : -1;

	switch (col) {
	case C_counts_run:
		return common(c, RUN, out, err);
	case C_counts_sample:
		return common(c, SAMPLE, out, err);
	case C_counts_time:
		return common(c, TIME, out, err);
	case C_counts_cpu:
		return common(c, CPU, out, err);
	case C_counts_pid:
		return common(c, PID, out, err);
	case C_counts_tid:
		return common(c, TID, out, err);
	case C_counts_depth:
		value_int(out, c->i);
		return 0;
	case C_counts_id:
		if (format & PERF_FORMAT_ID)
			value_int(out, r.id);
		return 0;
	case C_counts_event:
		value_text(out, e >= 0 && (size_t)e < n ? ev[e].name : NULL, true);
		return 0;
	case C_counts_value:
		value_int(out, r.value);
		return 0;
	case C_counts_enabled:
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			value_int(out, s->read_enabled);
		return 0;
	default:
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			value_int(out, s->read_running);
		return 0;
	}
}

const struct raw_kind raw_counts = { begin_inside, next_count, count_value };
