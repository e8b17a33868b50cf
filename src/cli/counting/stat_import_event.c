/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which event of a model is meant by a name that another tool printed: the model's own name, perf's
 * for it, or its terms.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "cli/counting/stat_import.h"
#include "collect/event.h"

#define TERMS_MAX 12u

struct term {
	char key[24];
	uint64_t value;
};

struct terms {
	struct term v[TERMS_MAX];
	size_t n;
};

static void set_term(struct terms *t, const char *key, size_t len, uint64_t value)
{
	size_t i = 0;

	if (len >= sizeof(t->v[0].key))
		return;
	while (i < t->n && (strlen(t->v[i].key) != len || memcmp(t->v[i].key, key, len) != 0))
		i++;
	if (i == TERMS_MAX)
		return;
	memcpy(t->v[i].key, key, len);
	t->v[i].key[len] = '\0';
	t->v[i].value = value;
	t->n += i == t->n;
}

/* "event=0x9c,umask=1,edge"; a term that is an event of the model stands for its code. */
static void read_terms(struct terms *t, const struct model *m, const char *s, size_t len)
{
	while (len) {
		const char *comma = memchr(s, ',', len);
		size_t n = comma ? (size_t)(comma - s) : len;
		const char *eq = memchr(s, '=', n);

		if (eq) {
			set_term(t, s, (size_t)(eq - s), strtoull(eq + 1, NULL, 0));
		} else if (n) {
			uint32_t e = m ? model_event_find(m, s, n) : MODEL_NONE;

			if (e == MODEL_NONE)
				set_term(t, s, n, 1);
			else
				read_terms(t, NULL, m->event[e].code, strlen(m->event[e].code));
		}
		s += n + !!comma;
		len -= n + !!comma;
	}
}

static uint64_t term_value(const struct terms *t, const char *key)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->v[i].key, key))
			return t->v[i].value;
	return 0; /* as good as 0 */
}

static bool same_terms(const struct terms *a, const struct terms *b)
{
	static const char *const names[] = { "name", "period", "freq" };

	for (size_t i = 0; i < a->n; i++) {
		bool passes = false;

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			passes |= !strcmp(a->v[i].key, names[k]);
		if (!passes && a->v[i].value != term_value(b, a->v[i].key))
			return false;
	}
	return true;
}

/* perf's own names for codes, by the vendors' encodings. `scale`: a count of perf's times this is
 * the event's (sysfs has topdown-total-slots in slots). `generic`: every CPU has it. */
static const struct alias {
	const char *vendor, *name, *terms;
	double scale;
	bool generic;
} aliases[] = {
	{ "intel", "cycles", "event=0x3c", 1, true },
	{ "intel", "cpu-cycles", "event=0x3c", 1, true },
	{ "intel", "instructions", "event=0xc0", 1, true },
	{ "intel", "branches", "event=0xc4", 1, true },
	{ "intel", "branch-instructions", "event=0xc4", 1, true },
	{ "intel", "branch-misses", "event=0xc5", 1, true },
	{ "intel", "ref-cycles", "event=0x00,umask=0x03", 1, true },
	{ "intel", "slots", "event=0x00,umask=0x04", 1, false },
	{ "intel", "topdown-retiring", "event=0x00,umask=0x80", 1, false },
	{ "intel", "topdown-bad-spec", "event=0x00,umask=0x81", 1, false },
	{ "intel", "topdown-fe-bound", "event=0x00,umask=0x82", 1, false },
	{ "intel", "topdown-be-bound", "event=0x00,umask=0x83", 1, false },
	{ "intel", "topdown-retiring", "event=0xc2,umask=0x00", 1, false },
	{ "intel", "topdown-bad-spec", "event=0x73,umask=0x00", 1, false },
	{ "intel", "topdown-fe-bound", "event=0x71,umask=0x00", 1, false },
	{ "intel", "topdown-be-bound", "event=0x74,umask=0x00", 1, false },
	{ "intel", "topdown-heavy-ops", "event=0x00,umask=0x84", 1, false },
	{ "intel", "topdown-br-mispredict", "event=0x00,umask=0x85", 1, false },
	{ "intel", "topdown-fetch-lat", "event=0x00,umask=0x86", 1, false },
	{ "intel", "topdown-mem-bound", "event=0x00,umask=0x87", 1, false },
	{ "intel", "topdown-total-slots", "event=0x3c", 0.25, false },
	{ "intel", "topdown-slots-issued", "event=0x0e,umask=0x01", 1, false },
	{ "intel", "topdown-slots-retired", "event=0xc2,umask=0x02", 1, false },
	{ "intel", "topdown-fetch-bubbles", "event=0x9c,umask=0x01", 1, false },
	{ "intel", "topdown-recovery-bubbles", "event=0x0d,umask=0x03,cmask=0x01", 0.25, false },
	{ "intel", "topdown-recovery-bubbles", "event=0x0d,umask=0x01", 0.25, false },
	{ "amd", "cycles", "event=0x76", 1, true },
	{ "amd", "cpu-cycles", "event=0x76", 1, true },
	{ "amd", "instructions", "event=0xc0", 1, true },
	{ "amd", "branches", "event=0xc2", 1, true },
	{ "amd", "branch-instructions", "event=0xc2", 1, true },
	{ "amd", "branch-misses", "event=0xc3", 1, true },
	{ "arm", "cycles", "event=0x11", 1, true },
	{ "arm", "cpu-cycles", "event=0x11", 1, true },
	{ "arm", "instructions", "event=0x08", 1, true },
	{ "arm", "branch-misses", "event=0x10", 1, true },
};

static uint32_t find_by_terms(const struct model *m, const char *s, size_t len)
{
	struct terms want = { .n = 0 };

	read_terms(&want, m, s, len);
	for (uint32_t e = 0; want.n && e < m->n_used; e++) {
		struct terms have = { .n = 0 };

		if (*m->event[e].pmu || *m->event[e].modifiers || !*m->event[e].code)
			continue;
		read_terms(&have, NULL, m->event[e].code, strlen(m->event[e].code));
		if (same_terms(&want, &have) && same_terms(&have, &want))
			return e;
	}
	return MODEL_NONE;
}

static uint32_t find_alias(const struct model *m, const char *name, size_t len,
			   struct import_known *out)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		const struct alias *x = &aliases[i];
		uint32_t e;

		if (strlen(x->name) != len || memcmp(x->name, name, len) != 0 ||
		    strcmp(x->vendor, m->vendor) != 0)
			continue;
		e = find_by_terms(m, x->terms, strlen(x->terms));
		if (e == MODEL_NONE)
			continue;
		out->scale = x->scale;
		out->generic = x->generic;
		return e;
	}
	return MODEL_NONE;
}

/* The letters behind the last colon, or behind the last slash; "" if there are none such. */
static const char *modifiers_of(const char *name)
{
	const char *slash = strrchr(name, '/'), *colon = strrchr(name, ':');
	const char *at = slash ? slash : colon;

	if (slash && colon > slash) /* "cpu/.../:u" */
		at = colon;
	return at && at[1] && !at[1 + strspn(at + 1, "ukhGHIpPSDWebR")] ? at + 1 : "";
}

static unsigned levels_of(const char *modifiers)
{
	unsigned levels = 0;

	for (const char *c = modifiers; *c; c++)
		levels |= *c == 'u'   ? IMPORT_USER
			  : *c == 'k' ? IMPORT_KERNEL
			  : *c == 'h' ? IMPORT_HYPERVISOR
			  : *c == 'G' ? IMPORT_GUEST
				      : 0u;
	/* both are all levels, except the hypervisor */
	return (levels & ~(unsigned)IMPORT_HYPERVISOR) == (IMPORT_USER | IMPORT_KERNEL) ? 0
											: levels;
}

/* An event at one level ("CPU_CLK_UNHALTED.THREAD:SUP") is one of its own to formulas. */
static uint32_t of_level(const struct model *m, uint32_t event, unsigned levels)
{
	const char *letters = levels == IMPORT_USER ? "u" : levels == IMPORT_KERNEL ? "k" : NULL;

	for (uint32_t e = 0; letters && e < m->n_used; e++)
		if (!strcmp(m->event[e].modifiers, letters) &&
		    !strcmp(m->event[e].pmu, m->event[event].pmu) &&
		    !strcmp(m->event[e].code, m->event[event].code))
			return e;
	return MODEL_NONE;
}

/* The event without its modifiers: by name, by perf's alias, by terms. */
static uint32_t find_bare(const struct model *m, const char *name, size_t len,
			  struct import_known *out)
{
	uint32_t e = model_event_find(m, name, len);
	const char *slash, *end;
	size_t inside;

	if (e == MODEL_NONE)
		e = find_alias(m, name, len, out);
	slash = len ? memchr(name, '/', len) : NULL;
	end = slash ? memrchr(name, '/', len) : NULL;
	if (e != MODEL_NONE || !slash || end == slash)
		return e;
	inside = (size_t)(end - slash) - 1;
	if (counts_core_pmu(name, (size_t)(slash - name)))
		return memchr(slash, '=', inside + 1) || memchr(slash, ',', inside + 1)
			       ? find_by_terms(m, slash + 1, inside)
			       : find_bare(m, slash + 1, inside, out);
	/* "uncore_imc/UNC_M_CAS_COUNT.RD/" */
	e = model_event_find(m, slash + 1, inside);
	return e != MODEL_NONE && !strncmp(m->event[e].pmu, name, (size_t)(slash - name)) &&
			       !m->event[e].pmu[slash - name]
		       ? e
		       : MODEL_NONE;
}

struct import_known import_event(const struct model *m, const char *name)
{
	struct import_known k = { .event = model_event_find(m, name, strlen(name)),
				  .own = MODEL_NONE,
				  .scale = 1 };
	const char *modifiers = modifiers_of(name);
	size_t len = strlen(name) - strlen(modifiers);

	if (k.event != MODEL_NONE)
		return k;
	if (*modifiers && len && name[len - 1] == ':')
		len--;
	k.event = find_bare(m, name, len, &k);
	if (k.event == MODEL_NONE)
		return k;
	k.levels = levels_of(modifiers);
	k.own = of_level(m, k.event, k.levels);
	return k;
}

/* Vendors' names of perf's generic events. */
static const struct {
	const char *name, *generic;
} vendors[] = {
	{ "inst_retired.any", "instructions" },
	{ "inst_retired.any_p", "instructions" },
	{ "inst_retired", "instructions" },
	{ "ex_ret_instr", "instructions" },
	{ "cpu_clk_unhalted.thread", "cpu-cycles" },
	{ "cpu_clk_unhalted.thread_p", "cpu-cycles" },
	{ "cpu_clk_unhalted.core", "cpu-cycles" },
	{ "cpu_cycles", "cpu-cycles" },
	{ "ls_not_halted_cyc", "cpu-cycles" },
	{ "br_inst_retired.all_branches", "branch-instructions" },
	{ "br_retired", "branch-instructions" },
	{ "ex_ret_brn", "branch-instructions" },
	{ "br_misp_retired.all_branches", "branch-misses" },
	{ "br_mis_pred_retired", "branch-misses" },
	{ "ex_ret_brn_misp", "branch-misses" },
};

struct counts_kind import_kind(const char *name, const char *pmu)
{
	struct counts_kind k = { .type = COUNTS_KIND_NONE };
	const char *modifiers = modifiers_of(name), *slash = strchr(name, '/');
	size_t len = strlen(name) - strlen(modifiers);

	if (*modifiers && len && name[len - 1] == ':')
		len--;
	if (slash && len && name[len - 1] == '/' && counts_core_pmu(name, (size_t)(slash - name))) {
		len -= (size_t)(slash + 2 - name);
		name = slash + 1;
	}
	for (size_t i = 0; i < sizeof(vendors) / sizeof(*vendors); i++)
		if (strlen(vendors[i].name) == len && !strncasecmp(vendors[i].name, name, len)) {
			name = vendors[i].generic;
			len = strlen(name);
		}
	if (!event_generic(name, len, &k.type, &k.config))
		k.type = COUNTS_KIND_NONE;
	k.levels = levels_of(modifiers);
	if (*pmu)
		k.config |= hash_bytes(pmu, strlen(pmu)) << 32;
	return k;
}
