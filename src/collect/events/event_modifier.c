/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_modifier - the letters behind an event or a group: where it counts, how precisely, how it
 * is scheduled.
 */
#include "collect/events/event_int.h"

#include <string.h>

#define MODIFIERS "ukhGHpPISDe"

bool event_modifiers_known(struct word w)
{
	for (size_t i = 0; i < w.len; i++)
		if (!w.s[i] || !strchr(MODIFIERS, w.s[i]))
			return false;
	return true;
}

int event_modifiers_check(struct event_parser *p, struct word w)
{
	unsigned precise = 0;

	for (size_t i = 0; i < w.len; i++) {
		struct word one = { w.s + i, 1 };

		if (w.s[i] == 'b' || w.s[i] == 'W')
			return event_bad(p, one, "the modifier %c is for counting", w.s[i]);
		if (!w.s[i] || !strchr(MODIFIERS, w.s[i])) {
			(void)event_bad(p, one, "no such modifier, in ':" WORD_FMT "'",
					WORD_ARG(w));
			return err_hint(
				p->err,
				"modifiers are u k h (where), G H (guest, host), p pp ppp P "
				"(precise), I, and of a group S, D, e");
		}
		if (w.s[i] == 'p')
			precise++;
		else if (memchr(w.s, w.s[i], i))
			return event_bad(p, one, "the modifier %c stands twice", w.s[i]);
		if (precise > 3)
			return event_bad(p, w, "there is no precision above ppp");
	}
	return 0;
}

static uint32_t max_precise(struct event_parser *p, const struct event *ev)
{
	struct pmu *pmu = pmu_find(p->pmus, (struct word){ ev->pmu, strlen(ev->pmu) });

	if (!pmu)
		return 0;
	pmu_know(p->pmus, pmu);
	return pmu->max_precise;
}

int event_modifiers_apply(struct event_parser *p, struct event *ev, struct word w, bool leads)
{
	struct perf_event_attr *at = &ev->attr;
	bool some = at->exclude_user || at->exclude_kernel || at->exclude_hv;
	uint32_t precise = at->precise_ip;
	bool guest = false, host = false;

	for (size_t i = 0; i < w.len; i++) {
		char c = w.s[i];

		if ((c == 'u' || c == 'k' || c == 'h') && !some) {
			some = true;
			at->exclude_user = at->exclude_kernel = at->exclude_hv = 1;
		}
		if (c == 'u')
			at->exclude_user = 0;
		else if (c == 'k')
			at->exclude_kernel = 0;
		else if (c == 'h')
			at->exclude_hv = 0;
		else if (c == 'G')
			guest = true;
		else if (c == 'H')
			host = true;
		else if (c == 'p')
			precise++;
		else if (c == 'P')
			precise = max_precise(p, ev);
		else if (c == 'I')
			at->exclude_idle = 1;
		else if (c == 'S')
			ev->sample_read = true;
		else if (c == 'D' && leads)
			at->pinned = 1;
		else if (c == 'e' && leads)
			at->exclusive = 1;
	}
	if (guest || host) {
		at->exclude_guest = !guest;
		at->exclude_host = !host;
	}
	if (precise > 3)
		return event_bad(p, w, "with the group's, this is above ppp");
	at->precise_ip = precise & 3;
	return 0;
}
