/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sample, and a record that is none, as `perf script` of Linux 6.12 prints them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/export/script_int.h"

#define NS_PER_SECOND 1000000000ULL
#define DATA_WIDTH    99 /* perf cuts its words of a data source there */

/* Text from outside, right in `width` bytes. */
static void put_safe(struct script *x, const char *s, int width)
{
	buf_reset(&x->scratch);
	text_put_safe(&x->scratch, s, false);
	buf_printf(x->out, "%*s", width, buf_str(&x->scratch));
}

static void put_misc(struct buf *b, uint16_t misc)
{
	static const struct {
		uint16_t mode;
		char letter;
	} modes[] = { { PERF_RECORD_MISC_KERNEL, 'K' },
		      { PERF_RECORD_MISC_USER, 'U' },
		      { PERF_RECORD_MISC_HYPERVISOR, 'H' },
		      { PERF_RECORD_MISC_GUEST_KERNEL, 'G' },
		      { PERF_RECORD_MISC_GUEST_USER, 'g' } };
	size_t from = b->len;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if ((misc & modes[i].mode) == modes[i].mode)
			buf_putc(b, modes[i].letter);
	buf_fill(b, ' ', b->len - from < 6 ? 6 - (b->len - from) : 1);
}

static void put_time(struct script *x, uint64_t ns)
{
	char text[40];

	if (x->opts->nanoseconds) {
		buf_printf(x->out, "%5" PRIu64 ".%09" PRIu64 ": ", (uint64_t)(ns / NS_PER_SECOND),
			   (uint64_t)(ns % NS_PER_SECOND));
		return;
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, (uint64_t)(ns / NS_PER_SECOND),
		       (uint64_t)(ns % NS_PER_SECOND / 1000));
	buf_printf(x->out, "%12s: ", text);
}

void script_put_start(struct script *x, const struct script_at *a, const struct pd_record *r)
{
	struct buf *b = x->out;
	bool chain = !x->opts->no_chains && script_has(a, SCRIPT_IP) &&
		     a->ev->attr.sample_type & PERF_SAMPLE_CALLCHAIN;

	if (script_has(a, SCRIPT_COMM)) {
		put_safe(x, a->comm, chain ? 0 : 16);
		buf_putc(b, ' ');
	}
	if (script_has(a, SCRIPT_PID) && script_has(a, SCRIPT_TID))
		buf_printf(b, "%7d/%-7d ", (int)a->s.pid, (int)a->s.tid);
	else if (script_has(a, SCRIPT_PID) || script_has(a, SCRIPT_TID))
		buf_printf(b, "%7d ", (int)(script_has(a, SCRIPT_PID) ? a->s.pid : a->s.tid));
	if (script_has(a, SCRIPT_CPU))
		buf_printf(b, "[%03d] ", (int)a->s.cpu);
	if (script_has(a, SCRIPT_MISC))
		put_misc(b, r ? r->misc : a->s.cpumode);
	if (script_has(a, SCRIPT_TIME))
		put_time(x, a->s.time);
}

/* ---- places ---------------------------------------------------------------------------------- */

static void put_function(struct script *x, const struct script_at *a, const char *name,
			 uint64_t offset)
{
	put_safe(x, name ? name : "[unknown]", 0);
	if (name && script_has(a, SCRIPT_SYMOFF))
		buf_printf(x->out, "+0x%" PRIx64, offset);
}

static void put_dso(struct script *x, const struct script_at *a, const struct name *n, bool data,
		    bool after)
{
	if (!script_has(a, SCRIPT_DSO))
		return;
	buf_printf(x->out, " (%s", script_dso(x, n, data));
	if (script_has(a, SCRIPT_DSOFF) && n->dso)
		buf_printf(x->out, "+0x%" PRIx64, n->image_address + after);
	buf_putc(x->out, ')');
}

static int put_line(struct script *x, const struct script_frame *f, struct err *err)
{
	struct source_line at = { 0 };
	const char *base;

	if (names_line(x->names, f->name, err) ||
	    names_line_of(x->names, f->name, f->level, &at, err))
		return -1;
	if (!at.file || !at.line) {
		if (f->name->dso)
			buf_printf(x->out, "\n  %s[%" PRIx64 "]", f->name->dso, f->name->address);
		return 0;
	}
	base = strrchr(at.file, '/');
	buf_puts(x->out, "\n  ");
	put_safe(x, base ? base + 1 : at.file, 0);
	buf_printf(x->out, ":%u", at.line);
	return 0;
}

static int put_frame(struct script *x, const struct script_at *a, const struct script_frame *f,
		     struct err *err)
{
	if (a->chain)
		buf_putc(x->out, '\t');
	buf_printf(x->out, "%16" PRIx64, f->ip);
	if (script_has(a, SCRIPT_SYM)) {
		buf_putc(x->out, ' ');
		put_function(x, a, f->inlined ? f->inlined : f->name->function, f->offset);
	}
	if (!f->inlined)
		put_dso(x, a, f->name, false, f->offset > f->name->offset);
	if (script_has(a, SCRIPT_SRCLINE) && put_line(x, f, err))
		return -1;
	if (f->inlined)
		buf_puts(x->out, " (inlined)");
	if (a->chain)
		buf_putc(x->out, '\n');
	return 0;
}

/* An address of data has no mode: by its half of the address space. */
static enum space_kind half_of(uint64_t ip)
{
	return ip >> 63 ? SPACE_KERNEL : SPACE_USER;
}

static bool is_page_fault(const struct pd_event *ev)
{
	uint64_t which = ev->attr.config;

	return ev->attr.type == PERF_TYPE_SOFTWARE &&
	       (which == PERF_COUNT_SW_PAGE_FAULTS || which == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		which == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

static void put_address(struct script *x, const struct script_at *a)
{
	const struct name *n;

	buf_printf(x->out, "%16" PRIx64, a->s.addr);
	if (!is_page_fault(a->ev))
		return;
	n = script_name(x, a, half_of(a->s.addr), a->s.addr);
	if (script_has(a, SCRIPT_SYM)) {
		buf_putc(x->out, ' ');
		put_function(x, a, n->function, n->offset);
	}
	put_dso(x, a, n, true, false);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void put_data(struct script *x, const struct script_at *a)
{
	struct buf *b = x->out;
	int width;

	if (script_has(a, SCRIPT_DATA_SRC)) {
		buf_reset(&x->scratch);
		script_put_data_source(&x->scratch, a->s.data_src);
		width = x->scratch.len < DATA_WIDTH ? (int)x->scratch.len : DATA_WIDTH;
		if (width > x->data_width)
			x->data_width = width;
		buf_printf(b, "%-*.*s", x->data_width, width, buf_str(&x->scratch));
	}
	if (script_has(a, SCRIPT_WEIGHT))
		buf_printf(b, "%16" PRIu64, a->s.weight);
	if (script_has(a, SCRIPT_INS_LAT))
		buf_printf(b, "%16u", (unsigned)a->s.weight2);
	if (script_has(a, SCRIPT_RETIRE_LAT))
		buf_printf(b, "%16u", (unsigned)a->s.weight3);
	if (script_has(a, SCRIPT_CGROUP)) {
		const char *path = spaces_cgroup_path(x->sp, a->s.cgroup);

		buf_putc(b, ' ');
		put_safe(x, path ? path : "unknown", 0);
	}
}

static void put_registers(struct script *x, const struct pd_regs *r)
{
	unsigned i = 0;

	if (!r->v)
		return;
	buf_printf(x->out, " ABI:%" PRIu64 " ", r->abi);
	for (unsigned bit = 0; bit < 64; bit++) {
		const char *name = script_register(x->opts->machine, bit);

		if (r->mask >> bit & 1)
			buf_printf(x->out, "%5s:0x%" PRIx64 " ", name ? name : "unknown",
				   ld64(r->v + (size_t)i++ * 8));
	}
}

static void put_branch_end(struct script *x, const struct script_at *a, uint64_t ip, bool symbols)
{
	const struct name *n = script_name(x, a, half_of(ip), ip);

	if (!symbols)
		buf_printf(x->out, "0x%" PRIx64, ip);
	else if (n->function)
		put_safe(x, n->function, 0);
	else
		buf_puts(x->out, "[unknown]");
	if (symbols && n->function)
		buf_printf(x->out, "+0x%" PRIx64, n->offset);
	put_dso(x, a, n, false, false);
}

static void put_branches(struct script *x, const struct script_at *a)
{
	bool symbols = !script_has(a, SCRIPT_BRSTACK);

	if (symbols && !script_has(a, SCRIPT_BRSTACKSYM))
		return;
	for (uint64_t i = 0; i < a->s.n_branch; i++) {
		const struct pd_branch br = pd_branch_get(&a->s, i);

		buf_puts(x->out, symbols ? "" : " ");
		put_branch_end(x, a, br.from, symbols);
		buf_putc(x->out, '/');
		put_branch_end(x, a, br.to, symbols);
		buf_printf(x->out, "/%c/%c/%c/%u/%s/%s ",
			   br.predicted ? 'P'
			   : br.mispred ? 'M'
					: '-',
			   br.in_tx ? 'X' : '-', br.abort ? 'A' : '-', (unsigned)br.cycles,
			   script_branch_type(&br), script_branch_spec(&br));
	}
}

static void put_trace(struct script *x, const struct script_at *a)
{
	const struct trace_format *f = script_trace(x, a);
	struct trace_value v;
	bool first = true;

	if (!f)
		buf_puts(x->out, "raw");
	for (uint32_t i = 0; !f && i < a->s.raw_size; i++)
		buf_printf(x->out, " %02x", a->s.raw[i]);
	for (size_t i = 0; f && i < f->n; i++) {
		if (f->field[i].common ||
		    !trace_get(&f->field[i], a->s.raw, a->s.raw_size, pd_trace_swap(x->rec), &v))
			continue;
		buf_reset(&x->scratch);
		buf_printf(&x->scratch, "%s%s=", first ? "" : " ", f->field[i].name);
		trace_put(&x->scratch, &v);
		text_put_safe(x->out, buf_str(&x->scratch), false);
		first = false;
	}
}

static void put_end(struct script *x, const struct script_at *a)
{
	struct buf *b = x->out;

	if (script_has(a, SCRIPT_IREGS))
		put_registers(x, &a->s.regs_intr);
	if (script_has(a, SCRIPT_UREGS))
		put_registers(x, &a->s.regs_user);
	put_branches(x, a);
	if (script_has(a, SCRIPT_PHYS_ADDR))
		buf_printf(b, "%16" PRIx64, a->s.phys_addr);
	if (script_has(a, SCRIPT_DATA_PAGE_SIZE)) {
		buf_putc(b, ' ');
		script_put_page_size(b, a->s.data_page_size);
	}
	if (script_has(a, SCRIPT_CODE_PAGE_SIZE)) {
		buf_putc(b, ' ');
		script_put_page_size(b, a->s.code_page_size);
	}
	buf_putc(b, '\n');
}

int script_put_text(struct script *x, const struct script_at *a, struct err *err)
{
	struct buf *b = x->out;
	uint64_t period;

	script_put_start(x, a, NULL);
	if (script_has(a, SCRIPT_PERIOD)) {
		if (script_period(a, &period))
			buf_printf(b, "%10" PRIu64 " ", period);
		else
			buf_fill(b, ' ', 11);
	}
	if (script_has(a, SCRIPT_EVENT)) {
		put_safe(x, a->ev->name, x->name_width);
		buf_puts(b, ": ");
	}
	if (script_has(a, SCRIPT_TRACE))
		put_trace(x, a);
	if (script_has(a, SCRIPT_ADDR))
		put_address(x, a);
	put_data(x, a);
	if (script_has(a, SCRIPT_IP)) {
		buf_putc(b, a->chain ? '\n' : ' ');
		if (script_frames(x, a, put_frame, err))
			return -1;
	}
	put_end(x, a);
	return 0;
}
