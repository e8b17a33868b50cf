/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sample as a line of JSON: an object with the fields that it has, under their names, which are
 * those of -F. Times are ns, addresses texts ("0x1f"); what is not known is null.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/export/script_int.h"

static const char *key_of(enum script_field f)
{
	return script_field_names[f];
}

static void put_number(struct script *x, const struct script_at *a, enum script_field f, uint64_t v)
{
	if (script_has(a, f))
		json_u64(&x->json, key_of(f), v);
}

/* The keys of a place: function and file, in an object of their own or beside the sample's. */
static void put_place(struct script *x, const struct script_at *a, const struct name *n,
		      const char *inlined, uint64_t offset, bool after)
{
	struct json *j = &x->json;

	if (script_has(a, SCRIPT_SYM))
		json_str(j, key_of(SCRIPT_SYM), inlined ? inlined : n->function);
	if (script_has(a, SCRIPT_SYMOFF) && n->function)
		json_u64(j, key_of(SCRIPT_SYMOFF), offset);
	if (script_has(a, SCRIPT_DSO))
		json_str(j, key_of(SCRIPT_DSO), n->dso ? script_dso(x, n, false) : NULL);
	if (script_has(a, SCRIPT_DSOFF) && n->dso)
		json_hex(j, key_of(SCRIPT_DSOFF), n->image_address + after);
	if (inlined)
		json_bool(j, "inlined", true);
}

static int put_frame(struct script *x, const struct script_at *a, const struct script_frame *f,
		     struct err *err)
{
	struct source_line at = { 0 };

	if (a->chain)
		json_object(&x->json, NULL);
	json_hex(&x->json, key_of(SCRIPT_IP), f->ip);
	put_place(x, a, f->name, f->inlined, f->offset, f->offset > f->name->offset);
	if (script_has(a, SCRIPT_SRCLINE)) {
		if (names_line(x->names, f->name, err) ||
		    names_line_of(x->names, f->name, f->level, &at, err))
			return -1;
		json_str(&x->json, "file", at.file);
		if (at.file && at.line)
			json_u64(&x->json, "line", at.line);
	}
	if (a->chain)
		json_end_object(&x->json);
	return 0;
}

static void put_registers(struct script *x, const char *key, const struct pd_regs *r)
{
	unsigned i = 0;

	json_object(&x->json, key);
	for (unsigned bit = 0; r->v && bit < 64; bit++) {
		const char *name = script_register(x->opts->machine, bit);
		char number[16];

		if (!(r->mask >> bit & 1))
			continue;
		(void)snprintf(number, sizeof(number), "%u", bit);
		json_hex(&x->json, name ? name : number, ld64(r->v + (size_t)i++ * 8));
	}
	json_end_object(&x->json);
}

static void put_branch_end(struct script *x, const struct script_at *a, const char *key,
			   uint64_t ip)
{
	enum space_kind kind = ip >> 63 ? SPACE_KERNEL : SPACE_USER;
	const struct name *n = script_name(x, a, kind, ip);

	json_object(&x->json, key);
	json_hex(&x->json, key_of(SCRIPT_IP), ip);
	put_place(x, a, n, NULL, n->offset, false);
	json_end_object(&x->json);
}

static void put_branches(struct script *x, const struct script_at *a)
{
	struct json *j = &x->json;

	json_array(j, key_of(SCRIPT_BRSTACK));
	for (uint64_t i = 0; i < a->s.n_branch; i++) {
		const struct pd_branch br = pd_branch_get(&a->s, i);

		json_object(j, NULL);
		put_branch_end(x, a, "from", br.from);
		put_branch_end(x, a, "to", br.to);
		if (br.predicted || br.mispred)
			json_bool(j, "mispredicted", br.mispred);
		json_bool(j, "in_tx", br.in_tx);
		json_bool(j, "abort", br.abort);
		if (br.cycles)
			json_u64(j, "cycles", br.cycles);
		if (*script_branch_type(&br))
			json_str(j, "type", script_branch_type(&br));
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_start(struct script *x, const struct script_at *a)
{
	struct json *j = &x->json;
	uint64_t period;

	if (script_has(a, SCRIPT_COMM))
		json_str(j, key_of(SCRIPT_COMM), a->comm);
	if (script_has(a, SCRIPT_PID))
		json_i64(j, key_of(SCRIPT_PID), (int32_t)a->s.pid);
	if (script_has(a, SCRIPT_TID))
		json_i64(j, key_of(SCRIPT_TID), (int32_t)a->s.tid);
	put_number(x, a, SCRIPT_CPU, a->s.cpu);
	put_number(x, a, SCRIPT_TIME, a->s.time);
	if (script_has(a, SCRIPT_EVENT))
		json_str(j, key_of(SCRIPT_EVENT), a->ev->name);
	if (script_has(a, SCRIPT_PERIOD) && script_period(a, &period))
		json_u64(j, key_of(SCRIPT_PERIOD), period);
	if (script_has(a, SCRIPT_MISC))
		json_u64(j, key_of(SCRIPT_MISC), a->s.cpumode);
}

static void put_trace(struct script *x, const struct script_at *a)
{
	const struct trace_format *f = script_trace(x, a);
	struct trace_value v;

	json_object(&x->json, key_of(SCRIPT_TRACE));
	for (size_t i = 0; i < f->n; i++) {
		if (f->field[i].common ||
		    !trace_get(&f->field[i], a->s.raw, a->s.raw_size, pd_trace_swap(x->rec), &v))
			continue;
		if (v.kind == TRACE_SIGNED) {
			json_i64(&x->json, f->field[i].name, (int64_t)v.n);
		} else if (v.kind == TRACE_UNSIGNED) {
			json_u64(&x->json, f->field[i].name, v.n);
		} else {
			buf_reset(&x->scratch);
			trace_put(&x->scratch, &v);
			json_str(&x->json, f->field[i].name, buf_str(&x->scratch));
		}
	}
	json_end_object(&x->json);
}

static void put_data(struct script *x, const struct script_at *a)
{
	struct json *j = &x->json;

	if (script_has(a, SCRIPT_ADDR))
		json_hex(j, key_of(SCRIPT_ADDR), a->s.addr);
	if (script_has(a, SCRIPT_DATA_SRC)) {
		buf_reset(&x->scratch);
		script_put_data_source(&x->scratch, a->s.data_src);
		json_str(j, key_of(SCRIPT_DATA_SRC), strchr(buf_str(&x->scratch), '|'));
	}
	put_number(x, a, SCRIPT_WEIGHT, a->s.weight);
	put_number(x, a, SCRIPT_INS_LAT, a->s.weight2);
	put_number(x, a, SCRIPT_RETIRE_LAT, a->s.weight3);
	if (script_has(a, SCRIPT_PHYS_ADDR))
		json_hex(j, key_of(SCRIPT_PHYS_ADDR), a->s.phys_addr);
	put_number(x, a, SCRIPT_DATA_PAGE_SIZE, a->s.data_page_size);
	put_number(x, a, SCRIPT_CODE_PAGE_SIZE, a->s.code_page_size);
	if (script_has(a, SCRIPT_CGROUP))
		json_str(j, key_of(SCRIPT_CGROUP), spaces_cgroup_path(x->sp, a->s.cgroup));
	if (script_has(a, SCRIPT_TRACE) && script_trace(x, a)) {
		put_trace(x, a);
	} else if (script_has(a, SCRIPT_TRACE)) {
		buf_reset(&x->scratch);
		for (uint32_t i = 0; i < a->s.raw_size; i++)
			buf_printf(&x->scratch, "%02x", a->s.raw[i]);
		json_str(j, "raw", buf_str(&x->scratch));
	}
}

int script_put_json(struct script *x, const struct script_at *a, struct err *err)
{
	json_init(&x->json, x->out, false);
	json_object(&x->json, NULL);
	put_start(x, a);
	put_data(x, a);
	if (script_has(a, SCRIPT_IP)) {
		if (a->chain)
			json_array(&x->json, "callchain");
		if (script_frames(x, a, put_frame, err))
			return -1;
		if (a->chain)
			json_end_array(&x->json);
	}
	if (script_has(a, SCRIPT_IREGS))
		put_registers(x, key_of(SCRIPT_IREGS), &a->s.regs_intr);
	if (script_has(a, SCRIPT_UREGS))
		put_registers(x, key_of(SCRIPT_UREGS), &a->s.regs_user);
	if (script_has(a, SCRIPT_BRSTACK) || script_has(a, SCRIPT_BRSTACKSYM))
		put_branches(x, a);
	json_end_object(&x->json); /* and the line */
	return 0;
}
