/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --dry-run: the attributes, event by event, and the perf command most like them.
 */
#include <stddef.h>

#include "base/text.h"
#include "measure/sampling/sampling_int.h"
#include "perfdata/perfdata.h"

#define PERF_STACK_SIZE 8192u /* perf's own size of a copy */

static void put_flags(struct buf *b, const struct perf_event_attr *a)
{
	const struct {
		bool on;
		const char *name;
	} flags[] = { { a->inherit, "inherit" },
		      { a->enable_on_exec, "enable_on_exec" },
		      { a->exclude_user, "exclude_user" },
		      { a->exclude_kernel, "exclude_kernel" },
		      { a->exclude_hv, "exclude_hv" },
		      { a->exclude_idle, "exclude_idle" },
		      { a->exclude_guest, "exclude_guest" },
		      { a->exclude_callchain_user, "exclude_callchain_user" },
		      { a->mmap, "mmap" },
		      { a->mmap_data, "mmap_data" },
		      { a->comm, "comm" },
		      { a->task, "task" },
		      { a->context_switch, "context_switch" },
		      { a->ksymbol, "ksymbol" },
		      { a->pinned, "pinned" } };

	buf_puts(b, "  flags       ");
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].on)
			buf_printf(b, "%s ", flags[i].name);
	buf_putc(b, '\n');
}

static void put_sampled_event(struct buf *b, const struct sampling *r, size_t i)
{
	const struct perf_event_attr stored = attr_to_store(&r->ev[i].attr, &r->events.ev.v[i]);
	const struct perf_event_attr *a = &stored;
	const char *sep = "  sample      ";

	text_put_safe(b, r->ev[i].name, false);
	buf_printf(b, "\n  type        %u, config 0x%llx", a->type, (unsigned long long)a->config);
	if (a->config1 || a->config2)
		buf_printf(b, ", config1 0x%llx, config2 0x%llx", (unsigned long long)a->config1,
			   (unsigned long long)a->config2);
	buf_printf(b, "\n  %s %llu\n", a->freq ? "frequency  " : "period     ",
		   (unsigned long long)a->sample_period);
	if (a->precise_ip)
		buf_printf(b, "  precise     %u\n", (unsigned)a->precise_ip);
	for (unsigned bit = 0; bit < PD_SAMPLE_WORDS; bit++)
		if (a->sample_type >> bit & 1) {
			buf_printf(b, "%s%s", sep, pd_sample_words[bit]);
			sep = "|";
		}
	buf_putc(b, '\n');
	if (a->branch_sample_type)
		buf_printf(b, "  branches    0x%llx\n", (unsigned long long)a->branch_sample_type);
	if (a->sample_stack_user)
		buf_printf(b, "  stack       %u bytes%s\n", a->sample_stack_user,
			   r->ways.n && r->fields.cut[i] & PERF_SAMPLE_STACK_USER
				   ? ", or 65528 if stacks are deeper"
				   : "");
	put_flags(b, a);
	if (r->ev[i].group != (int)i)
		buf_printf(b, "  group       led by %s\n", r->ev[r->ev[i].group].name);
}

static void put_perf_record_line(struct buf *b, const struct sampling *r)
{
	const struct measure_opts *o = &r->opts;
	struct attr_wish wish = o->wish;

	buf_puts(b, "like: perf record");
	for (size_t i = 0; i < r->events.ev.n; i++) {
		if (r->tells_alone && sampling_tracks(r, i))
			continue; /* perf adds its own */
		buf_puts(b, " -e ");
		text_put_safe(b, r->ev[i].name, false);
		if (r->ev[i].attr.exclude_idle && !strchr(r->ev[i].name, ':'))
			buf_puts(b, ":I"); /* of ours alone: a name has its modifiers */
	}
	if (o->period)
		buf_printf(b, " -c %llu", (unsigned long long)o->period);
	else
		buf_printf(b, " -F %llu", (unsigned long long)(o->freq ? o->freq : 4000));
	if (o->call_graph)
		buf_printf(b, " --call-graph %s",
			   r->copies_stacks ? "dwarf"
			   : *o->call_graph ? o->call_graph
					    : "fp");
	if (o->call_graph && r->ev[0].attr.sample_stack_user &&
	    r->ev[0].attr.sample_stack_user != PERF_STACK_SIZE)
		buf_printf(b, ",%u", r->ev[0].attr.sample_stack_user);
	if (o->wait)
		buf_puts(b, " --switch-events");
	if (sampling_whole(r) && !o->cpu)
		buf_puts(b, " -a");
	if (o->cpu)
		buf_printf(b, " -C %s", o->cpu);
	if (o->branch_filter)
		buf_printf(b, " -j %s", o->branch_filter);
	wish.branch &= !o->branch_filter;
	attr_wish_put(b, &wish);
	targets_put_processes(b, &r->k.who);
	for (size_t i = 0; i < o->tid.n; i++)
		buf_printf(b, " -t %s", o->tid.v[i]);
	if (o->uid)
		buf_printf(b, " -u %s", o->uid);
	if (o->delay == DELAY_FOR_EVER)
		buf_puts(b, " -D -1");
	else if (o->delay) /* in ms, which perf knows alone */
		buf_printf(b, " -D %llu", (unsigned long long)(o->delay + 999999) / 1000000);
	if (r->opts.program.n)
		buf_puts(b, " --");
	for (size_t i = 0; i < r->opts.program.n; i++) {
		buf_putc(b, ' ');
		text_put_safe(b, r->opts.program.v[i], false);
	}
	buf_putc(b, '\n');
}

void sampling_describe(const struct sampling *r, bool verbose, struct buf *out)
{
	for (size_t i = 0; i < r->n_accounts; i++)
		account_plan_print(out, &r->account[i], verbose);
	if (r->n_accounts && !verbose)
		return;
	for (size_t i = 0; i < r->events.ev.n; i++)
		put_sampled_event(out, r, i);
	if (r->fields.gone) {
		buf_puts(out, "not stored    ");
		sampling_fields_words(r, out);
		buf_putc(out, '\n');
	}
	if (sampling_whole(r))
		buf_printf(out, "on %zu CPUs, whatever runs there\n", r->k.who.cpus.n);
	else
		buf_printf(out, "a ring on each of %zu CPUs\n",
			   r->per_task ? (size_t)1 : r->k.who.cpus.n);
	put_perf_record_line(out, r);
	sampling_tree_describe(r, out);
}
