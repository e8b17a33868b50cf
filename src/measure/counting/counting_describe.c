/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --dry-run: the groups with their attributes, and the perf command most like it.
 */
#include "base/text.h"
#include "measure/counting.h"

static void put_counter_words(struct buf *b, const struct counter_event *e, bool leads,
			      const struct measure_opts *o)
{
	const struct perf_event_attr *a = &e->attr;

	buf_puts(b, leads ? "  " : "    ");
	text_put_safe(b, e->name, false);
	buf_printf(b, "\n      type %u, config 0x%llx", a->type, (unsigned long long)a->config);
	if (a->config1 || a->config2)
		buf_printf(b, ", config1 0x%llx, config2 0x%llx", (unsigned long long)a->config1,
			   (unsigned long long)a->config2);
	if (a->exclude_user || o->kernel_only)
		buf_puts(b, ", exclude_user");
	if (a->exclude_kernel || o->user_only)
		buf_puts(b, ", exclude_kernel");
	if (a->exclude_guest)
		buf_puts(b, ", exclude_guest");
	if (a->pinned && leads)
		buf_puts(b, ", pinned");
	if (e->cpus) {
		buf_puts(b, ", on CPUs ");
		for (size_t i = 0; i < e->n_cpus; i++)
			buf_printf(b, "%s%u", i ? "," : "", e->cpus[i]);
	}
	buf_putc(b, '\n');
}

static void put_perf_stat_line(struct buf *b, const struct counting *k,
			       const struct counter_setup *s)
{
	const struct measure_opts *o = k->opts;

	buf_puts(b, "like: perf stat -e '");
	for (size_t g = 0; g < s->n_groups; g++) {
		bool several = s->group[g].n > 1;

		buf_puts(b, g ? "," : "");
		buf_puts(b, several ? "{" : "");
		for (size_t e = 0; e < s->group[g].n; e++) {
			buf_puts(b, e ? "," : "");
			text_put_safe(b,
				      s->group[g].event[e].typed ? s->group[g].event[e].typed
								 : s->group[g].event[e].name,
				      false);
		}
		buf_puts(b, several ? "}" : "");
	}
	buf_putc(b, '\'');
	if (o->interval)
		buf_printf(b, " -I %llu", (unsigned long long)(o->interval / 1000000));
	if (o->repeat)
		buf_printf(b, " -r %llu", (unsigned long long)o->repeat);
	buf_puts(b, o->all ? " -a" : "");
	if (o->cpu)
		buf_printf(b, " -C %s", o->cpu);
	targets_put_processes(b, &k->who);
	for (size_t i = 0; i < o->tid.n; i++)
		buf_printf(b, " -t %s", o->tid.v[i]);
	if (o->uid)
		buf_printf(b, " -p $(pgrep -d, -U %s)", o->uid);
	buf_puts(b, k->has_program ? " --" : "");
	for (size_t i = 0; i < k->opts->program.n; i++) {
		buf_putc(b, ' ');
		text_put_safe(b, k->opts->program.v[i], false);
	}
	buf_putc(b, '\n');
}

void counting_describe(struct buf *out, const struct counting *k, const struct counter_setup *s)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		buf_printf(out, "group %zu%s\n", g + 1,
			   s->group[g].idle ? ", only while its part of the tree is open" : "");
		for (size_t e = 0; e < s->group[g].n; e++)
			put_counter_words(out, &s->group[g].event[e], e == 0, k->opts);
	}
	buf_puts(out, "read as groups, with the time enabled and running");
	if (k->who.whole_cpus)
		buf_printf(out, "; on %zu CPUs, whatever runs there\n", k->who.cpus.n);
	else
		buf_printf(out, "; on tasks%s%s\n",
			   k->opts->no_inherit ? "" : " and what they start",
			   k->has_program && !k->opts->delay ? ", from exec on" : "");
	put_perf_stat_line(out, k, s);
}
