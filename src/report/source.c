/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/source.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyse/event_cost.h"
#include "base/num.h"
#include "base/text.h"

struct view_source view_source_of(const struct pd *rec)
{
	struct view_source s = { .info = pd_info(rec),
				 .losses = pd_losses(rec),
				 .has_time = pd_has_time(rec) };

	if (!pd_time_span(rec, &s.time_first, &s.time_last))
		s.time_first = s.time_last = 0;
	s.event = pd_events(rec, &s.n_events);
	s.notes = pd_notes(rec, &s.n_notes);
	s.lead = event_leading(rec);
	return s;
}

bool source_has_chains(const struct view_source *s)
{
	for (size_t e = 0; e < s->n_events; e++)
		if (s->event[e].attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

struct fact *fact_add(struct fact *out, size_t *n, const char *label, bool bad, const char *fmt,
		      ...)
{
	struct fact *f = &out[*n];
	va_list ap;

	assert(*n < FACTS_MAX);
	++*n;
	(void)snprintf(f->label, sizeof(f->label), "%s", label);
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	f->bad = bad;
	return f;
}

static double ratio(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : NAN;
}

void source_command(struct buf *b, const struct view_source *s, bool ascii)
{
	const struct pd_info *i = s->info;

	if (!i->n_cmdline)
		buf_puts(b, "(command not recorded)");
	for (size_t k = 0; k < i->n_cmdline; k++) {
		if (k)
			buf_putc(b, ' ');
		text_put_safe(b, i->cmdline[k], ascii);
	}
}

void source_machine(struct buf *b, const struct view_source *s, bool ascii)
{
	const struct pd_info *i = s->info;
	const char *parts[] = { i->hostname, i->arch, i->os_release, i->cpu_desc };
	bool any = false;

	for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
		if (!parts[k] || !*parts[k])
			continue;
		buf_puts(b, any ? ", " : "on ");
		text_put_safe(b, parts[k], ascii);
		any = true;
	}
	if (!any)
		buf_puts(b, "(machine not recorded)");
}

size_t source_facts(const struct view_source *s, struct fact *out)
{
	const struct pd_losses *l = s->losses;
	uint64_t lost = l->lost + l->lost_samples, seen = 0;
	char a[NUM_MAX], b[NUM_MAX];
	size_t n = 0;

	/* both count the same losses, the kernel's own counters also those without a later record
	 */
	if (l->read_lost > lost)
		lost = l->read_lost;
	for (size_t e = 0; e < s->n_events; e++)
		seen += s->event[e].samples;
	if (lost)
		(void)fact_add(out, &n, "lost", true, "%s records, %s of what happened",
			       num_exact(a, lost), num_percent(b, ratio(lost, lost + seen)));
	else if (l->untold)
		(void)fact_add(out, &n, "lost", true, "a file of this form does not tell");
	else
		(void)fact_add(out, &n, "lost", false,
			       l->partial ? "no records, as far as the recording goes"
					  : "no records");
	if (l->throttles)
		(void)fact_add(out, &n, "throttled", true,
			       "%s times; what happened in those pauses was not measured",
			       num_exact(a, l->throttles));
	else if (!l->untold)
		(void)fact_add(out, &n, "throttled", false, "never");
	if (l->unattributed)
		(void)fact_add(out, &n, "unattributed", true, "%s samples belong to no event",
			       num_exact(a, l->unattributed));
	if (l->aux_lost)
		(void)fact_add(out, &n, "trace data", true, "%s pieces cut or colliding",
			       num_exact(a, l->aux_lost));
	return n;
}
