/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --fields: which parts of samples are stored. The kernel is not asked for the others, except for
 * those that --keep reads: these are cut out of each sample on its way into the file, whose
 * attributes then match the stored parts.
 *
 * ip, tid, time and the event's id are always stored: without them a sample cannot be resolved. So
 * are values that are read with samples (:S), which are those of the group's other events. A period
 * is stored unless all of the event's samples have the same.
 *
 * The packet of IBS repeats addresses: -addr and -phys_addr clear them there, too.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/sampling/sampling_int.h"
#include "perfdata/ibs.h"
#include "perfdata/perfdata.h"

#define BIT(name) ((uint64_t)PERF_SAMPLE_##name)
#define WEIGHTS	  (BIT(WEIGHT) | BIT(WEIGHT_STRUCT))
#define ALWAYS	  (BIT(IP) | BIT(TID) | BIT(TIME) | BIT(ID) | BIT(IDENTIFIER) | BIT(READ))

static const struct field {
	const char *word, *other;
	uint64_t bits;
	const char *how;
} fields[] = {
#define SAMPLING_FIELD(word, other, bits, how) { word, other, bits, how },
#include "measure/sampling/sampling_field.def"
#undef SAMPLING_FIELD
};
#define N_FIELDS (sizeof(fields) / sizeof(*fields))

/* ---- the words ------------------------------------------------------------------------------- */

static int words_hint(struct err *err)
{
	char text[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < N_FIELDS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
				      fields[i].word);
	return err_hint(err,
			"%s; 'addr,weight' stores these alone (with ip, tid, time and id), "
			"'-raw,-phys_addr' all but these",
			text);
}

static const struct field *find(const char *s, size_t len)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if ((strlen(fields[i].word) == len && !strncmp(fields[i].word, s, len)) ||
		    (strlen(fields[i].other) == len && !strncmp(fields[i].other, s, len)))
			return &fields[i];
	return NULL;
}

static int take_field_word(struct sampling *r, const char *s, size_t len, struct err *err)
{
	bool minus = len && *s == '-';
	const struct field *f = find(s + minus, len - minus);

	if (!f) {
		(void)err_set(err, ERR_USAGE, "--fields: samples have no part '%.*s'",
			      (int)(len > 60 ? 60 : len), s);
		return words_hint(err);
	}
	if (minus && f->bits & ALWAYS) {
		(void)err_set(err, ERR_USAGE, "--fields: %s cannot be left out: %s", f->word,
			      f->bits & BIT(READ) ? "it is what the other events of a group counted"
						  : "no sample can be resolved without it");
		return words_hint(err);
	}
	*(minus ? &r->fields.left_out : &r->fields.named) |= f->bits;
	r->fields.words |= minus ? 0 : (uint64_t)1 << (f - fields);
	return 0;
}

int sampling_fields_parse(struct sampling *r, struct err *err)
{
	const char *list = r->opts.fields, *word;
	size_t len;

	if (!list)
		return 0;
	if (r->opts.account || r->opts.wait) {
		(void)err_set(err, ERR_USAGE, "--fields does not go with %s, which needs its own",
			      r->opts.account ? "--account" : "--wait");
		return err_hint(err, "leave one of them out");
	}
	while (text_word(&list, &word, &len))
		if (take_field_word(r, word, len, err))
			return -1;
	if (!r->fields.named || !r->fields.left_out)
		return 0;
	(void)err_set(err, ERR_USAGE, "--fields: words with and without '-' exclude each other");
	return words_hint(err);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* The parts that chains are made from, if there are any. */
static uint64_t of_chains(const struct perf_event_attr *a, enum attr_chain chain)
{
	uint64_t t = a->sample_type;

	if (!(t & BIT(CALLCHAIN)))
		return 0;
	if (chain == CHAIN_LBR)
		return t & BIT(BRANCH_STACK);
	return chain == CHAIN_DWARF || chain == CHAIN_UNWIND || a->sample_regs_user
		       ? t & (BIT(REGS_USER) | BIT(STACK_USER))
		       : 0;
}

/* The parts of the event's samples that are stored. */
static int choose_fields(const struct sampling *r, const struct perf_event_attr *a,
			 enum attr_chain chain, uint64_t *keep, struct err *err)
{
	const struct sampling_fields *f = &r->fields;
	uint64_t all = a->sample_type, named = f->named | ALWAYS, need = of_chains(a, chain);
	bool varies = a->freq || r->opts.jitter > 0;

	if (f->named) {
		*keep = all & named;
		*keep |= *keep & BIT(CALLCHAIN) ? need : 0;
		*keep |= varies ? all & BIT(PERIOD) : 0;
		return 0;
	}
	*keep = all & ~f->left_out;
	if (varies && f->left_out & BIT(PERIOD)) {
		(void)err_set(err, ERR_USAGE,
			      "--fields: period cannot be left out: samples stand for different "
			      "numbers of events");
		return err_hint(err, "-c 1000003 without --jitter (with --ibs: --jitter=0) has one "
				     "period");
	}
	if (chain == CHAIN_UNWIND && *keep & BIT(CALLCHAIN))
		*keep |= need; /* for a moment: they are not stored */
	if (*keep & BIT(CALLCHAIN) && need & ~*keep) {
		(void)err_set(err, ERR_USAGE,
			      "--fields: -g=%s makes its chains from what would be left out",
			      chain == CHAIN_LBR ? "lbr" : "dwarf");
		return err_hint(err, "leave out chain, too: they go together; -g=fp does without");
	}
	return 0;
}

/* Removes these parts from `a`, and the members that configure them. */
static void leave_field_out(struct perf_event_attr *a, uint64_t parts)
{
	a->sample_type &= ~parts;
	if (parts & BIT(BRANCH_STACK))
		a->branch_sample_type = 0;
	if (parts & BIT(REGS_USER))
		a->sample_regs_user = 0;
	if (parts & BIT(REGS_INTR))
		a->sample_regs_intr = 0;
	if (parts & BIT(STACK_USER))
		a->sample_stack_user = 0;
}

void sampling_fields_wish(const struct sampling *r, struct attr_opts *w)
{
	w->cpu |= r->fields.named & BIT(CPU);
}

/* Which parts of the event's samples become its chains, and are not stored. */
static void unwind_later(struct sampling *r, size_t i, enum attr_chain chain)
{
	uint64_t type = r->ev[i].attr.sample_type;

	if (chain != CHAIN_UNWIND || !(type & BIT(CALLCHAIN)))
		return;
	r->fields.unwinds = true;
	r->fields.cut[i] |=
		type & (BIT(STACK_USER) |
			(r->opts.wish.user_regs || sampling_wait_has(r, i) ? 0 : BIT(REGS_USER)));
	r->fields.any_cut |= r->fields.cut[i];
}

int sampling_fields_attr(struct sampling *r, size_t i, enum attr_chain chain, struct err *err)
{
	struct perf_event_attr *a = &r->ev[i].attr;
	uint64_t keep, out;

	r->copies_stacks |= attr_copies_stack(chain);
	unwind_later(r, i, chain);
	if (!r->opts.fields)
		return 0;
	r->fields.seen |= a->sample_type;
	if (choose_fields(r, a, chain, &keep, err))
		return -1;
	out = a->sample_type & ~keep;
	if (!r->tells_alone || !sampling_tracks(r, i)) /* that one has no samples */
		r->fields.gone |= out;
	if (out & WEIGHTS) /* which of the two it is depends on the kernel */
		out |= WEIGHTS;
	r->fields.cut[i] |= out & r->opts.keep_reads;
	r->fields.any_cut |= r->fields.cut[i];
	leave_field_out(a, out & ~r->opts.keep_reads);
	if (!(keep & BIT(CALLCHAIN)))
		r->fields.cut[i] &= ~(BIT(STACK_USER) | BIT(REGS_USER));
	if (attr_is_ibs(&r->events.ev.v[i]) && keep & BIT(RAW)) { /* its packet has them, too */
		out = r->fields.left_out & (BIT(ADDR) | BIT(PHYS_ADDR));
		r->fields.gone |= out;
		r->fields.clears |= out != 0;
	}
	return 0;
}

int sampling_fields_check(const struct sampling *r, struct err *err)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		const struct field *f = &fields[i];

		if (!(r->fields.words >> i & 1) || !f->how || f->bits & r->fields.seen)
			continue;
		(void)err_set(err, ERR_USAGE, "--fields: no sample would have %s", f->word);
		return err_hint(err, "%s records it", f->how);
	}
	return 0;
}

struct perf_event_attr sampling_stored(const struct sampling *r, size_t i)
{
	struct perf_event_attr a = attr_to_store(&r->ev[i].attr, &r->events.ev.v[i]);

	if (r->fields.any_cut)
		leave_field_out(&a, r->fields.cut[i]);
	if (r->fields.cut[i] & BIT(STACK_USER)) {
		a.exclude_callchain_user = 0;
		a.enable_on_exec =
			r->k.nothing.enable_on_exec; /* or its counters of larger copies */
	}
	return a;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Removes the CPU from the trailer of a record that is no sample: tid, time, CPU, identifier.
 */
static size_t without_cpu(const struct perf_event_attr *a, const uint8_t *p, size_t size,
			  uint8_t *out)
{
	size_t behind = a->sample_type & BIT(IDENTIFIER) ? 8 : 0;
	uint16_t left = (uint16_t)(size - 8);

	memcpy(out, p, size - 8 - behind);
	memcpy(out + size - 8 - behind, p + size - behind, behind);
	memcpy(out + offsetof(struct perf_event_header, size), &left, sizeof(left));
	return left;
}

/* A copy of the record without addresses in its packet of IBS. */
static int clear_addresses(struct sink *s, const struct pd_event *ev, size_t i,
			   struct pd_record *rec)
{
	const struct sampling *r = s->cuts;
	const struct event *e = &r->events.ev.v[i];
	uint64_t left_out = r->fields.left_out;
	uint32_t registers = (left_out & BIT(ADDR) ? 1u << IBS_REG_DC_LINEAR : 0) |
			     (left_out & BIT(PHYS_ADDR)
				      ? 1u << IBS_REG_DC_PHYSICAL | 1u << IBS_REG_FETCH_PHYSICAL
				      : 0);
	struct pd_sample sample;

	if (!r->fields.clears || !attr_is_ibs(e))
		return 0;
	if (pd_sample_parse_of(ev, rec, &sample))
		return -1;
	memcpy(s->cleared, rec->p, rec->size);
	if (sample.has & BIT(RAW))
		ibs_clear(strcmp(e->pmu, "ibs_fetch") ? IBS_OP : IBS_FETCH, registers,
			  s->cleared + (sample.raw - rec->p), sample.raw_size);
	rec->p = s->cleared;
	return 0;
}

int cut_parts(struct sink *s, const uint8_t **p, size_t *size, struct err *err)
{
	const struct sampling *r = s->cuts;
	struct pd_record rec = {
		.p = *p, .size = (uint16_t)*size, .type = ld32(*p), .misc = ld16(*p + 4)
	};
	const struct pd_event *ev;
	size_t i;
	int n;

	if (rec.type >= PD_RECORD_HEADER_ATTR)
		return 0;
	if (rec.type != PERF_RECORD_SAMPLE) {
		const struct perf_event_attr *a = &r->ev[0].attr;

		if (!(r->fields.any_cut & a->sample_type & BIT(CPU)) ||
		    *size < sizeof(struct perf_event_header) + attr_trailer(a))
			return 0;
		*size = without_cpu(a, *p, *size, s->shorter);
		*p = s->shorter;
		return 0;
	}
	if (!wanted_event(s->wanted, &rec, &ev, &i) || clear_addresses(s, ev, i, &rec))
		return err_set(err, ERR_FORMAT, "the kernel's ring holds a sample that is cut off");
	if (s->unwound) {
		bool sized = s->ways && !sampling_wait_has(r, i); /* copies of two sizes */

		return unwound_sample(s->unwound, ev, &rec, r->fields.cut[i],
				      sized ? &s->ways->look : NULL, p, size, err);
	}
	n = pd_sample_rewrite(ev, &rec, r->fields.cut[i], NULL, 0, s->shorter);
	if (n < 0)
		return err_set(err, ERR_FORMAT, "the kernel's ring holds a sample that is cut off");
	s->cut_bytes += *size - (size_t)n;
	*p = s->shorter;
	*size = (size_t)n;
	return 0;
}

void sampling_fields_words(const struct sampling *r, struct buf *b)
{
	uint64_t said = 0;

	for (size_t i = 0; i < N_FIELDS; i++) {
		const uint64_t bits = fields[i].bits & r->fields.gone;

		if (!bits || !(bits & ~said) || !strcmp(fields[i].word, "regs"))
			continue;
		buf_printf(b, "%s%s", said ? ", " : "", fields[i].word);
		said |= bits;
	}
}
