/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --keep: each sample is parsed as it comes, and a function of the caller decides if it goes into
 * the file. Samples that do not are counted. --fields finds the sample's event here, too.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "measure/sampling/sampling_int.h"
#include "perfdata/perfdata.h"

struct wanted {
	const struct sampling *r;
	struct pd_event *ev; /* as r->ev */
	struct u64map by_id; /* of which of them a counter is */
	uint64_t left_out;
};

int wanted_new(struct wanted **out, const struct sampling *r, struct err *err)
{
	size_t n = r->events.ev.n + r->ways.n;
	struct wanted *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return err_nomem(err);
	w->r = r;
	w->ev = calloc(n + 1, sizeof(*w->ev));
	if (!w->ev)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		size_t n_ids;
		const uint64_t *ids = recorder_ids(r->recorder, i, &n_ids);

		w->ev[i].attr = r->ev[i].attr;
		w->ev[i].name = r->ev[i].name;
		pd_event_layout(&w->ev[i]);
		for (size_t k = 0; k < n_ids; k++) {
			uint64_t *at = u64map_at(&w->by_id, ids[k], NULL);

			if (!at)
				return err_nomem(err);
			*at = i;
		}
	}
	return 0;
}

void wanted_free(struct wanted *w)
{
	if (!w)
		return;
	u64map_free(&w->by_id);
	free(w->ev);
	free(w);
}

uint64_t wanted_left_out(const struct wanted *w)
{
	return w ? w->left_out : 0;
}

bool wanted_event(const struct wanted *w, const struct pd_record *rec, const struct pd_event **ev,
		  size_t *i)
{
	const uint64_t *at = NULL;

	*i = 0;
	/* several events: their samples begin with an identifier */
	if (w->ev[0].at.identifier) {
		at = rec->size >= 16 ? u64map_find(&w->by_id, ld64(rec->p + w->ev[0].at.identifier))
				     : NULL;
		if (!at)
			return false;
		*i = *at;
	}
	*ev = &w->ev[*i];
	*i = sampling_ways_event(w->r, *i);
	return true;
}

int wanted_sample(struct wanted *w, const uint8_t *p, size_t size, bool *is, struct err *err)
{
	const struct measure_opts *opts = &w->r->opts;
	struct pd_record rec = {
		.p = p, .size = (uint16_t)size, .type = ld32(p), .misc = ld16(p + 4)
	};
	const struct pd_event *ev;
	struct pd_sample s;
	size_t i;
	int keep;

	*is = true;
	if (!opts->keep || !wanted_event(w, &rec, &ev, &i) || pd_sample_parse_of(ev, &rec, &s))
		return 0;
	keep = opts->keep(opts->keep_ctx, &s, w->r->events.ev.v[i].pmu, w->r->k.machine.cpuid, err);
	*is = keep != 0;
	w->left_out += !keep;
	return keep < 0 ? -1 : 0;
}
