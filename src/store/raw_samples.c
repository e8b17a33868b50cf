/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples and their parts: frames of call chains, branches, values of counters.
 */
#include "base/xalloc.h"
#include "perfdata/memop.h"
#include "store/raw_int.h"

/* ---- the sample at hand ---------------------------------------------------------------------- */

static const struct cursor_row *cursor_row_of(const struct raw *c)
{
	return cursor_now(c->walk[c->run]);
}

const struct pd_sample *raw_sample(struct raw *c)
{
	if (!c->parsed)
		c->whole = !pd_sample_parse(raw_of(c)->r.rec, &cursor_row_of(c)->r, &c->sample);
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

	if (raw_meet(c, err))
		return NULL;
	if (!r->names)
		r->names = names_new(r->r.spaces, false);
	return names_at(r->names, c->who.proc, c->who.proc_index, kind, ip, c->who.time);
}

const char *const raw_mode_names[] = {
	[SPACE_USER] = "user",
	[SPACE_KERNEL] = "kernel",
	[SPACE_HYPERVISOR] = "hypervisor",
	[SPACE_GUEST_USER] = "guest user",
	[SPACE_GUEST_KERNEL] = "guest kernel",
	[SPACE_UNKNOWN] = "unknown",
};

/* ---- fields at a fixed place of a sample, or behind another record --------------------------- */

/* As the kernel counts it if the record has none. */
uint64_t raw_period(const struct raw *c)
{
	const struct cursor_row *r = cursor_row_of(c);
	const struct pd_event *ev = r->ev;

	if (ev->at.period)
		return ld64(r->r.p + ev->at.period);
	return !ev->attr.freq && ev->attr.sample_period ? ev->attr.sample_period : 1;
}

/* Time, CPU and thread: of samples by their layout, else by the fields behind the record. */
static struct pd_sample_id record_id(struct raw *raw)
{
	const struct cursor_row *x = cursor_row_of(raw);
	struct pd_sample_id id = { 0 };

	if (x->ev) {
		const struct pd_layout *at = &x->ev->at;

		id.has = (at->time ? (uint64_t)PERF_SAMPLE_TIME : 0) |
			 (at->cpu ? (uint64_t)PERF_SAMPLE_CPU : 0) |
			 (at->tid ? (uint64_t)PERF_SAMPLE_TID : 0);
		id.time = at->time ? ld64(x->r.p + at->time) : 0;
		id.cpu = at->cpu ? ld32(x->r.p + at->cpu) : 0;
		id.pid = at->tid ? ld32(x->r.p + at->tid) : 0;
		id.tid = at->tid ? ld32(x->r.p + at->tid + 4) : 0;
	} else if (x->r.type < PD_RECORD_HEADER_ATTR && x->r.type != PERF_RECORD_SAMPLE) {
		pd_sample_id_get(raw_of(raw)->r.rec, &x->r, &id);
	}
	return id;
}

#define ID_GET(name, bit)                                            \
	RAW_GET(name, const struct pd_sample_id id = record_id(raw); \
		raw_put(out, id.has & (bit), id.name))
ID_GET(time, PERF_SAMPLE_TIME)
ID_GET(cpu, PERF_SAMPLE_CPU)
ID_GET(pid, PERF_SAMPLE_TID)
ID_GET(tid, PERF_SAMPLE_TID)
#undef ID_GET

RAW_GET(run, out->n = raw->run + 1)
RAW_GET(place, out->n = cursor_row_of(raw)->r.seq)
RAW_GET(event, out->text = cursor_row_of(raw)->ev->name)
RAW_GET(event_id, out->n = cursor_row_of(raw)->event)
RAW_GET(period, out->n = raw_period(raw))
RAW_GET(mode, out->text = raw_mode_names[space_kind_of_misc(cursor_row_of(raw)->r.misc)])
RAW_GET(in_kernel, out->n = space_kind_of_misc(cursor_row_of(raw)->r.misc) == SPACE_KERNEL)

static void put_sample_word(struct table_cell *out, const struct cursor_row *x, uint16_t at)
{
	raw_put(out, at, at ? ld64(x->r.p + at) : 0);
}

#define LAYOUT_GET(name, place)                                        \
	RAW_GET(name, const struct cursor_row *x = cursor_row_of(raw); \
		put_sample_word(out, x, x->ev->at.place))
LAYOUT_GET(ip, ip)
LAYOUT_GET(addr, addr)
LAYOUT_GET(stream_id, stream_id)
#undef LAYOUT_GET
RAW_GET(sample_id, const struct cursor_row *x = cursor_row_of(raw);
	put_sample_word(out, x, x->ev->at.id ? x->ev->at.id : x->ev->at.identifier))

RAW_GET(
	comm, if (cursor_row_of(raw)->ev->at.tid && !raw_meet(raw, &raw->err)) {
		out->text = raw->who.comm;
		if (out->text && !raw->who.comm_stays) {
			buf_puts(out->scratch, out->text);
			out->text = buf_str(out->scratch);
		}
	})

/* ---- names ----------------------------------------------------------------------------------- */

/* Part of the name of an address. That of a caller is the return address: its code lies before. */
static void put_sample_name(struct raw *raw, enum space_kind kind, uint64_t ip, bool caller,
			    size_t part, struct table_cell *out)
{
	struct name *x = raw_name_at(raw, kind, caller ? ip - 1 : ip, &raw->err);

	out->none = true;
	if (!x || ((part == NAME_FILE || part == NAME_LINE) &&
		   names_line(raw_of(raw)->names, x, &raw->err)))
		return;
	if (part == NAME_OFFSET)
		raw_put(out, x->function, x->offset + caller);
	else if (part == NAME_ADDRESS)
		raw_put(out, x->dso, x->address + caller);
	else if (part == NAME_LINE)
		raw_put(out, x->line, x->line);
	else
		out->text = part == NAME_FUNCTION ? x->function
			    : part == NAME_DSO	  ? x->dso
						  : x->file;
	out->none &= !out->text;
}

RAW_GET(ip_name, const struct cursor_row *x = cursor_row_of(raw); out->none = true;
	if (x->ev->at.ip) put_sample_name(raw, space_kind_of_misc(x->r.misc),
					  ld64(x->r.p + x->ev->at.ip), false, c->which, out))

/* ---- fields of a sample that is taken apart -------------------------------------------------- */

/* Returns the sample, if it has one of these parts; else the cell is null. */
static const struct pd_sample *sample_with(struct raw *raw, uint64_t parts, struct table_cell *out)
{
	const struct pd_sample *s = raw_sample(raw);

	out->none = !s || !(s->has & parts);
	return out->none ? NULL : s;
}

#define FIELD_GET(name, parts, value)                                           \
	RAW_GET(name, const struct pd_sample *s = sample_with(raw, parts, out); \
		if (s) out->n = (value))
FIELD_GET(phys_addr, PERF_SAMPLE_PHYS_ADDR, s->phys_addr)
FIELD_GET(weight, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, s->weight)
FIELD_GET(weight2, PERF_SAMPLE_WEIGHT_STRUCT, s->weight2)
FIELD_GET(weight3, PERF_SAMPLE_WEIGHT_STRUCT, s->weight3)
FIELD_GET(instruction_latency, raw->intel ? PERF_SAMPLE_WEIGHT_STRUCT : 0, s->weight2)
FIELD_GET(retire_latency, raw->intel ? PERF_SAMPLE_WEIGHT_STRUCT : 0, s->weight3)
FIELD_GET(sample_transaction, PERF_SAMPLE_TRANSACTION, s->transaction)
FIELD_GET(sample_cgroup_id, PERF_SAMPLE_CGROUP, s->cgroup)
FIELD_GET(data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE, s->data_page_size)
FIELD_GET(code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE, s->code_page_size)
FIELD_GET(sample_branches, PERF_SAMPLE_BRANCH_STACK, s->n_branch)
FIELD_GET(sample_stack_bytes, PERF_SAMPLE_STACK_USER, s->stack_size)
FIELD_GET(data_src, PERF_SAMPLE_DATA_SRC, s->data_src)
#undef FIELD_GET

RAW_GET(sample_cgroup, const struct pd_sample *s = sample_with(raw, PERF_SAMPLE_CGROUP, out);
	if (s) out->text = spaces_cgroup_path(raw_of(raw)->r.spaces, s->cgroup))
RAW_GET(sample_raw, const struct pd_sample *s = sample_with(raw, PERF_SAMPLE_RAW, out);
	if (s) raw_put_blob(out, true, s->raw, s->raw_size))

void raw_trace_cell(struct raw *c, const struct trace_field *f, struct table_cell *out,
		    struct buf *scratch)
{
	static const enum table_kind kinds[] = { [TRACE_SIGNED] = T_SIGNED,
						 [TRACE_UNSIGNED] = T_ID,
						 [TRACE_POINTER] = T_ADDRESS,
						 [TRACE_TEXT] = T_TEXT,
						 [TRACE_LIST] = T_TEXT };
	const struct pd_sample *s = raw_sample(c);
	struct trace_value v;

	buf_reset(scratch);
	*out = (struct table_cell){ .none = true, .scratch = scratch };
	if (!f || !s || !(s->has & PERF_SAMPLE_RAW) ||
	    !trace_get(f, s->raw, s->raw_size, pd_trace_swap(raw_of(c)->r.rec), &v))
		return;
	out->none = false;
	out->kind = kinds[v.kind];
	out->n = v.n;
	out->i = (int64_t)v.n;
	if (out->kind != T_TEXT)
		return;
	trace_put(scratch, &v);
	out->text = buf_str(scratch);
}

size_t raw_run_now(const struct raw *c)
{
	return c->run;
}

/* Decodes the words of PERF_SAMPLE_DATA_SRC; returns false if the sample has none. */
static bool memop_at(struct raw *raw, struct memop *op, struct table_cell *out)
{
	const struct pd_sample *s = sample_with(raw, PERF_SAMPLE_DATA_SRC, out);

	if (s)
		memop_of_data_src(op, s->data_src);
	return s;
}

#define DATA_GET(name, ...) \
	RAW_GET(            \
		name, struct memop op; if (memop_at(raw, &op, out)) { __VA_ARGS__; })
DATA_GET(data_level, out->text = memop_level_name(op.level))
DATA_GET(data_hit, raw_put(out, op.has &MEMOP_HAS_HIT, op.hit))
DATA_GET(data_remote, out->n = memop_remote(&op))
DATA_GET(data_where, out->text = op.where ? memop_where_name(op.where) : NULL)
DATA_GET(data_locked, raw_put(out, op.has &MEMOP_HAS_LOCKED, op.locked))
#undef DATA_GET

/* Several words of a set. */
static void put_set(struct raw *raw, enum memop_set set, struct table_cell *out)
{
	char text[MEMOP_TEXT];
	const char *words;
	struct memop op;

	if (!memop_at(raw, &op, out))
		return;
	words = memop_set_text(text, set, op.set[set]);
	if (words)
		cell_printf(out, "%s", words);
}
RAW_GET(data_op, put_set(raw, MEMOP_KIND, out))
RAW_GET(data_snoop, put_set(raw, MEMOP_SNOOP, out))
RAW_GET(data_tlb, put_set(raw, MEMOP_TLB, out))
RAW_GET(data_blocked, put_set(raw, MEMOP_BLOCK, out))

/* ---- samples --------------------------------------------------------------------------------- */

static int begin_samples(struct raw *c, struct err *err)
{
	return raw_walk_begin(c, false, err);
}

int raw_walk_row(struct raw *c, struct err *err)
{
	(void)err;
	return raw_walk_next(c);
}

const struct raw_kind raw_samples = { begin_samples, raw_walk_row };

/* ---- the chain of the sample at hand, as report -g has it, however it was recorded ----------- */

/* Adds a frame and the functions inlined at its address, innermost first. */
static int add_frame(struct raw *c, const struct sample_frame *at, uint8_t kind, struct err *err)
{
	struct raw_frame f = { .ip = at->ip, .kind = kind, .caller = at->caller };
	struct name *x = raw_name_at(c, (enum space_kind)kind, f.ip - f.caller, err);

	if (!x || names_inlines(raw_of(c)->names, x, err))
		return -1;
	for (f.level = x->n_inl;; f.level--) {
		f.inlined = f.level ? x->inl[f.level - 1].name : NULL;
		vec_xpush(&c->chain, f);
		if (!f.level)
			return 0;
	}
}

/* The unwinder knows the address spaces of one recording. */
static int begin_unwinding(struct raw *c, struct err *err)
{
	const struct raw_run *r = &raw_of(c)->r;

	if (c->frames.frame && c->frames_run == c->run)
		return 0;
	sample_frames_free(&c->frames);
	c->frames_run = c->run;
	return sample_frames_init(&c->frames, r->spaces, r->machine, SAMPLE_FRAMES_MAX, err);
}

int raw_frames_make(struct raw *c, struct err *err)
{
	const struct cursor_row *row = cursor_now(c->walk[c->run]);
	const struct pd_sample *s = raw_sample(c);
	struct sample_frames_how how;
	uint8_t kind;

	if (c->chain_made)
		return 0;
	c->chain_made = true;
	c->chain.n = 0;
	if (!s || !row->ev)
		return 0;
	how = sample_frames_how(row->ev, raw_of(c)->r.machine);
	if (!(s->has & PERF_SAMPLE_CALLCHAIN) && !how.dwarf)
		return 0;
	kind = (uint8_t)space_kind_of_misc(row->r.misc);
	if (begin_unwinding(c, err) || raw_meet(c, err) ||
	    sample_frames_take(&c->frames, &how, s, c->who.proc, c->who.time, err))
		return -1;
	for (size_t i = 0; i < c->frames.n; i++) {
		const struct sample_frame *f = &c->frames.frame[i];

		if (add_frame(c, f, f->kind == KIND_UNSAID ? kind : f->kind, err))
			return -1;
	}
	return 0;
}

void raw_put_frame(struct buf *b, const char *function, const char *dso, uint64_t address)
{
	buf_put(b, ";", b->len ? 1 : 0);
	if (function)
		buf_puts(b, function);
	else
		buf_printf(b, "%s%s0x%llx", dso ? dso : "", dso ? "+" : "",
			   (unsigned long long)address);
}

int raw_chain_text(struct raw *c, struct buf *out, struct err *err)
{
	for (size_t i = c->chain.n; i--;) {
		const struct raw_frame *f = &c->chain.v[i];
		const struct name *x =
			raw_name_at(c, (enum space_kind)f->kind, f->ip - f->caller, err);

		if (!x)
			return -1;
		raw_put_frame(out, f->inlined ? f->inlined : x->function, x->dso,
			      x->dso ? x->address + f->caller : f->ip);
	}
	return 0;
}

static bool has_chain(struct raw *raw, struct table_cell *out)
{
	out->none = raw_frames_make(raw, &raw->err) || !raw->chain.n;
	return !out->none;
}
RAW_GET(sample_frames, if (has_chain(raw, out)) out->n = raw->chain.n)
RAW_GET(sample_chain_id, if (has_chain(raw, out)) out->none = !raw_chain_id(raw, &out->n))
RAW_GET(sample_chain, if (has_chain(raw, out) && !raw_chain_text(raw, out->scratch, &raw->err))
			      out->text = buf_str(out->scratch))

/* ---- frames ---------------------------------------------------------------------------------- */

static int begin_sample_frames(struct raw *c, struct err *err)
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

const struct raw_kind raw_frames = { begin_sample_frames, next_frame_row };

static const struct raw_frame *sample_frame_of(const struct raw *raw)
{
	return &raw->chain.v[raw->i - 1];
}
RAW_GET(frame_depth, out->n = raw->i - 1)
RAW_GET(frame_ip, out->n = sample_frame_of(raw)->ip)
RAW_GET(frame_mode, out->text = raw_mode_names[sample_frame_of(raw)->kind])
RAW_GET(frame_in_kernel, out->n = sample_frame_of(raw)->kind == SPACE_KERNEL)
RAW_GET(frame_inlined, out->n = sample_frame_of(raw)->level > 0)

/* An inlined call has a name and a line of its own; the rest is that of the code around it. */
static void put_sample_frame(struct raw *raw, size_t part, struct table_cell *out)
{
	const struct raw_frame *f = sample_frame_of(raw);
	struct source_line at = { 0 };

	if (part == NAME_FILE || part == NAME_LINE) {
		struct name *x =
			raw_name_at(raw, (enum space_kind)f->kind, f->ip - f->caller, &raw->err);

		if (!x || names_line_of(raw_of(raw)->names, x, f->level, &at, &raw->err))
			out->none = true;
		out->text = at.file;
		raw_put(out, part == NAME_FILE || at.line, at.line);
	} else if (f->level && part == NAME_FUNCTION) {
		out->text = f->inlined;
	} else if (f->level && part == NAME_OFFSET) {
		out->none = true;
	} else {
		put_sample_name(raw, (enum space_kind)f->kind, f->ip, f->caller, part, out);
	}
}
RAW_GET(frame_name, put_sample_frame(raw, c->which, out))

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

const struct raw_kind raw_branches = { begin_inside, next_branch };

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

RAW_GET(branch_depth, out->n = raw->i)
RAW_GET(branch_ip_from, out->n = raw->branch.from)
RAW_GET(branch_ip_to, out->n = raw->branch.to)
RAW_GET(branch_mispredicted, out->n = raw->branch.mispred)
RAW_GET(branch_predicted, out->n = raw->branch.predicted)
RAW_GET(branch_in_tx, out->n = raw->branch.in_tx)
RAW_GET(branch_abort, out->n = raw->branch.abort)
RAW_GET(branch_cycles, raw_put(out, raw->branch.cycles, raw->branch.cycles))
RAW_GET(branch_type, out->text = branch_type(raw->branch.type))

/* An address of a branch has no mode: by its half of the address space, as perf does. */
static void put_sample_end(struct raw *raw, uint64_t ip, size_t part, struct table_cell *out)
{
	out->none = true;
	if (ip)
		put_sample_name(raw, ip >> 63 ? SPACE_KERNEL : SPACE_USER, ip, false, part, out);
}
RAW_GET(branch_from, put_sample_end(raw, raw->branch.from, c->which, out))
RAW_GET(branch_to, put_sample_end(raw, raw->branch.to, c->which, out))

/* ---- values of counters ---------------------------------------------------------------------- */

static int next_sample_count(struct raw *c, struct err *err)
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

const struct raw_kind raw_counts = { begin_inside, next_sample_count };

static uint64_t read_format(const struct raw *raw)
{
	return raw->sample.event->attr.read_format;
}
RAW_GET(count_depth, out->n = raw->i)
RAW_GET(count_value, out->n = pd_read_get(&raw->sample, raw->i).value)
RAW_GET(count_id,
	raw_put(out, read_format(raw) & PERF_FORMAT_ID, pd_read_get(&raw->sample, raw->i).id))
RAW_GET(count_enabled,
	raw_put(out, read_format(raw) & PERF_FORMAT_TOTAL_TIME_ENABLED, raw->sample.read_enabled))
RAW_GET(count_running,
	raw_put(out, read_format(raw) & PERF_FORMAT_TOTAL_TIME_RUNNING, raw->sample.read_running))

static const char *counted_event(const struct raw *raw)
{
	const struct pd *rec = raw_of(raw)->r.rec;
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	int e = read_format(raw) & PERF_FORMAT_ID
			? pd_id_event(rec, pd_read_get(&raw->sample, raw->i).id)
			: -1;

	return e >= 0 && (size_t)e < n ? ev[e].name : NULL;
}
RAW_GET(count_event, out->text = counted_event(raw))
