/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_pmu - the PMUs of a root: their formats, aliases and CPUs. The event grammar reads them;
 * msr_pmu.c makes some of its own.
 *
 * Words are pieces of the user's text (pointer and length), so that an error can name the place.
 */
#ifndef CYCLADE_COLLECT_EVENT_PMU_H
#define CYCLADE_COLLECT_EVENT_PMU_H

#include "collect/event.h"

struct word {
	const char *s;
	size_t len;
};

#define WORD_FMT    "%.*s"
#define WORD_ARG(w) ((w).len > 80 ? 80 : (int)(w).len), (w).s

static inline struct word word_of(const char *from, const char *to)
{
	return (struct word){ from, (size_t)(to - from) };
}

bool word_is(struct word w, const char *s);
bool word_number(struct word w, uint64_t *out); /* 12, 0x1f */
bool word_has_glob(struct word w);

struct pmu_format {
	const char *name;
	unsigned place; /* 0: config, 1: config1, ... */
	uint64_t mask;
};

struct pmu_alias {
	const char *name, *text, *unit; /* pmu_alias_read(): text and the next fields */
	double scale;
	bool read;
};

struct pmu {
	const char *name;
	uint32_t type;
	const char *cpus;
	bool core;   /* counts the generic events of the CPUs */
	bool known;  /* cpus and max_precise are read */
	bool loaded; /* these, formats, and the names of aliases */
	uint32_t max_precise;
	struct pmu_format *format;
	size_t n_formats;
	struct pmu_alias *alias;
	size_t n_aliases;
};

/* The PMUs of a root. A test may hand one filled in, with `loaded` set everywhere. */
struct pmu_set {
	struct arena *arena;
	const char *root;
	struct pmu *v;
	size_t n, n_core;
};

#define PMU_PLACES 5u

int pmu_set_read(struct pmu_set *set, struct arena *a, const char *root) MUST_USE;
struct pmu *pmu_find(const struct pmu_set *set, struct word name);
/* Returns true if `word` means this PMU: its name, its name without "uncore_", without a number at
 * its end, or a glob of any of them. */
bool pmu_matches(const struct pmu *pmu, struct word w);
/* False if no file of this name is among its events: it need not be loaded to know. */
bool pmu_may_have(const struct pmu_set *set, const struct pmu *pmu, struct word alias);
/* cpus and max_precise: all that an event without terms needs. */
void pmu_know(const struct pmu_set *set, struct pmu *pmu);
int pmu_load(const struct pmu_set *set, struct pmu *pmu) MUST_USE;
const struct pmu_format *pmu_format_find(const struct pmu *pmu, struct word name);
/* A PMU has dozens of aliases in three files each, so they are read one by one. False: it has no
 * text. */
bool pmu_alias_read(const struct pmu_set *set, const struct pmu *pmu, struct pmu_alias *alias);
const struct pmu_alias *pmu_alias_find(const struct pmu_set *set, const struct pmu *pmu,
				       struct word name);
/* "config1:0-7,32-35"; false if the text is no such thing. */
bool pmu_format_parse(struct pmu_format *out, const char *text, size_t len);
uint64_t pmu_format_max(const struct pmu_format *f);
/* Puts the value's bits at the format's bits, over the old ones. */
uint64_t pmu_format_put(const struct pmu_format *f, uint64_t config, uint64_t value);

#endif
