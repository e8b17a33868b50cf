/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/validate_address.h"

#include <string.h>

#include "base/text.h"
#include "measure/validate/validate_int.h"

/* Events whose samples have addresses of loads, without a PMU's name; * and ? as in globs. */
static const char loads[] =
	"mem_inst_retired.all_loads mem_inst_retired.any mem_uop*_retired.all_loads "
	"mem_load_* mem_trans_retired.load_latency* mem-loads* ld_retired";
/* The same of PMUs that count other operations, too. */
static const char all_operations[] = "ibs_op/*";

static bool any_of(const char *list, const char *name)
{
	char word[VALIDATE_NAME];

	while (validate_word(&list, word))
		if (text_glob(word, name))
			return true;
	return false;
}

bool validate_address_fits(const struct validate_event *e)
{
	char name[VALIDATE_NAME];

	return !e->absent && (any_of(all_operations, e->name) ||
			      (validate_bare(name, e->name) && any_of(loads, name)));
}

static size_t that_fit(const struct validate_address_opts *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_events; i++)
		n += validate_address_fits(&o->event[i]);
	return n;
}

double validate_address_time(const struct validate_address_opts *o)
{
	return (double)that_fit(o) * VALIDATE_SAMPLED;
}

/* The memory in which the event counts, if that is known. */
static struct kernel_setup setup_of(const struct validate_event *e,
				    const struct calibrate_sizes *sizes, const char **why)
{
	const struct validate_rule *r = validate_rule_of(e->name);

	return (struct kernel_setup){ .bytes = r && r->at != AT_ANY
						       ? calibrate_bytes(sizes, r->at, why)
						       : 0 };
}

/* The most precise level that the kernel takes. */
static int one_event(struct validate_address *out, struct validate_samples *s,
		     const struct kernel_address *k, const struct calibrate_sizes *sizes,
		     struct err *err)
{
	struct validate_sample_opts o = { .event = out->event,
					  .kernel = kernel_find("address"),
					  .setup = setup_of(out->event, sizes, &out->why) };
	struct validate_address_place place = { .k = k,
						.all = any_of(all_operations, out->event->name) };
	bool opened = false;

	for (size_t i = 0; i < 2; i++)
		o.regs |= UINT64_C(1) << k->load[i].base | UINT64_C(1) << k->load[i].index;
	for (unsigned level = VALIDATE_PRECISE; !out->why && !opened && level-- > 0;) {
		const char *why = NULL;

		o.precise = out->precise = level;
		if (validate_sample(s, &o, &why, err))
			return -1;
		opened = o.bytes > 0;
		out->why = opened || !level ? why : NULL;
	}
	if (!opened)
		s->n = 0;
	place.memory = o.memory;
	place.bytes = o.bytes;
	place.regs = o.regs;
	validate_address_sum(out, &place, s->seen, s->n);
	return 0;
}

int validate_address(struct validate_address **out, size_t *n, struct arena *a,
		     const struct validate_address_opts *o, struct err *err)
{
	size_t events = that_fit(o);
	struct validate_address *row = arena_alloc(a, (events + 1) * sizeof(*row));
	struct validate_samples *s = arena_alloc(a, sizeof(*s));
	struct kernel_address k;

	*n = 0;
	*out = row;
	if (!row || !s)
		return err_nomem(err);
	if (!kernel_address_place(&k))
		return 0;
	*s = VALIDATE_SAMPLES_INIT;
	for (size_t i = 0; i < o->n_events; i++) {
		if (!validate_address_fits(&o->event[i]))
			continue;
		row[*n] = (struct validate_address){ .event = &o->event[i] };
		if (one_event(&row[(*n)++], s, &k, o->sizes, err))
			return -1;
		if (o->news && !o->news(o->ctx, (double)*n / (double)events))
			return 0;
	}
	return 0;
}
