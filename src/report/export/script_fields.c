/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which fields of `cyclade script` the samples of each event have: those that are asked for, or
 * perf's for the event's kind. perf decides for all events of a kind by the first one.
 */
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "report/export/script_int.h"

#define BIT(f) (1ULL << SCRIPT_##f)

const char *const script_field_names[SCRIPT_FIELDS] = {
#define SCRIPT_FIELD(id, name, parts) [SCRIPT_##id] = name,
#include "report/export/script_field.def"
#undef SCRIPT_FIELD
};

static const uint64_t parts_of[SCRIPT_FIELDS] = {
#define SCRIPT_FIELD(id, name, parts) [SCRIPT_##id] = (parts),
#include "report/export/script_field.def"
#undef SCRIPT_FIELD
};

/* The fields that samples with these parts have. */
static uint64_t fields_with(uint64_t parts)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < SCRIPT_FIELDS; i++)
		if (!parts_of[i] || parts_of[i] & parts)
			out |= 1ULL << i;
	return out;
}

/* ---- what perf shows ------------------------------------------------------------------------- */

#define EVENTS_OTHER PERF_TYPE_MAX

static unsigned kind_of(const struct pd *rec, const struct pd_event *ev)
{
	if (ev->attr.type < PERF_TYPE_MAX)
		return ev->attr.type;
	return pd_pmu_is_core(pd_info(rec), ev->attr.type) ? PERF_TYPE_RAW : EVENTS_OTHER;
}

static bool is_dummy(const struct pd_event *ev)
{
	return ev->attr.type == PERF_TYPE_SOFTWARE && ev->attr.config == PERF_COUNT_SW_DUMMY;
}

static uint64_t usual_fields(unsigned kind)
{
	const uint64_t start = BIT(COMM) | BIT(TID) | BIT(CPU) | BIT(TIME) | BIT(EVENT);
	const uint64_t place = BIT(IP) | BIT(SYM) | BIT(SYMOFF) | BIT(DSO) | BIT(PERIOD);

	if (kind == PERF_TYPE_TRACEPOINT)
		return start | BIT(TRACE);
	if (kind == PERF_TYPE_RAW)
		return start | place | BIT(ADDR) | BIT(DATA_SRC) | BIT(WEIGHT) | BIT(PHYS_ADDR) |
		       BIT(DATA_PAGE_SIZE) | BIT(CODE_PAGE_SIZE) | BIT(INS_LAT) | BIT(RETIRE_LAT);
	return start | place;
}

static void usual_by_kind(const struct pd *rec, uint64_t out[PERF_TYPE_MAX + 1])
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	bool seen[PERF_TYPE_MAX + 1] = { false };

	for (unsigned k = 0; k <= PERF_TYPE_MAX; k++)
		out[k] = usual_fields(k);
	for (size_t i = 0; i < n; i++) {
		unsigned k = kind_of(rec, &ev[i]);

		if (!is_dummy(&ev[i]) && !seen[k])
			out[k] &= fields_with(ev[i].attr.sample_type);
		seen[k] |= !is_dummy(&ev[i]);
	}
	/* tracepoints have their place only with their callers */
	for (size_t i = 0; i < n; i++)
		if (ev[i].attr.type == PERF_TYPE_TRACEPOINT &&
		    ev[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			out[PERF_TYPE_TRACEPOINT] |= BIT(IP) | BIT(SYM) | BIT(SYMOFF) | BIT(DSO);
}

uint64_t *script_fields_of(const struct pd *rec, const struct script_opts *opts)
{
	const struct script_fields *f = &opts->fields;
	uint64_t usual[PERF_TYPE_MAX + 1];
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	uint64_t *out = xmalloc((n + 1) * sizeof(*out));

	usual_by_kind(rec, usual);
	for (size_t i = 0; i < n; i++) {
		uint64_t wanted = f->only ? f->only : usual[kind_of(rec, &ev[i])];

		wanted = (wanted | f->more) & ~f->less;
		if (wanted & BIT(DSOFF))
			wanted |= BIT(DSO);
		out[i] = wanted & fields_with(ev[i].attr.sample_type);
	}
	return out;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static int no_such_field(const char *word, size_t len, struct err *err)
{
	const char *words[SCRIPT_FIELDS + 1] = { NULL };
	char said[32] = "";
	struct buf all = BUF_INIT;

	memcpy(said, word, len < sizeof(said) ? len : sizeof(said) - 1);
	for (unsigned i = 0; i < SCRIPT_FIELDS; i++) {
		words[i] = script_field_names[i];
		buf_printf(&all, "%s%s", i ? "," : "", words[i]);
	}
	(void)err_set(err, ERR_USAGE, "samples have no field '%s'", said);
	(void)text_suggest(err, said, words, "one of %s", buf_str(&all));
	buf_free(&all);
	return -1;
}

static int field_of(const char *word, size_t len, struct err *err)
{
	for (int i = 0; i < SCRIPT_FIELDS; i++)
		if (strlen(script_field_names[i]) == len &&
		    !memcmp(script_field_names[i], word, len))
			return i;
	return no_such_field(word, len, err);
}

static int check_recorded(int field, const struct pd *rec, struct err *err)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (!parts_of[field] || parts_of[field] & ev[i].attr.sample_type)
			return 0;
	return err_set(err, ERR_NOT_FOUND, "samples of this recording do not have '%s'",
		       script_field_names[field]);
}

int script_fields(struct script_fields *out, const char *said, const struct pd *rec,
		  struct err *err)
{
	const char *word;
	size_t len;

	*out = (struct script_fields){ 0 };
	while (text_word(&said, &word, &len)) {
		char sign = len && (*word == '+' || *word == '-') ? *word : 0;
		int field = field_of(word + !!sign, len - !!sign, err);

		if (field < 0 || (sign != '-' && check_recorded(field, rec, err)))
			return -1;
		*(sign == '+' ? &out->more : sign ? &out->less : &out->only) |= 1ULL << field;
	}
	return 0;
}
