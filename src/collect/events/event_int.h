/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_int - the pieces of the event grammar.
 *
 *	event.c		lists, groups, names: which kind of word stands where
 *	event_modifier.c  the letters behind it
 *	event_names.c	generic and cache names
 *	event_pmu.c	PMUs of sysfs: formats, aliases
 *	event_term.c	the terms between the slashes
 *	event_topdown.c	groups of slots and top-down metrics
 *	event_trace.c	tracepoints
 *	event_probe.c	breakpoints, uprobes, kprobes
 *	event_elf.c	where in a file a function's code lies
 *	event_list.c	every name of this machine; the default event
 */
#ifndef CYCLADE_COLLECT_EVENT_INT_H
#define CYCLADE_COLLECT_EVENT_INT_H

#include "collect/events/event_pmu.h"

#define EVENT_TEXT_MAX 65536u /* bytes of one -e */
#define EVENT_MAX      16384u /* events of a list: `*:*` is about 2,500 */

/* ---- names (event_names.c) -------------------------------------------------------------- */

enum symbol_kind { SYMBOL_HARDWARE, SYMBOL_SOFTWARE, SYMBOL_TOOL };

struct event_symbol {
	enum symbol_kind kind;
	const char *name, *other;
	uint64_t config;
	const char *text;
};

extern const struct event_symbol event_symbols[];
extern const size_t n_event_symbols;

const struct event_symbol *event_symbol_find(struct word w);
/* *known: the word begins with a cache's name, so that a failure is about the rest. */
bool event_cache_find(struct word w, uint64_t *config, bool *known);
/* The cache event of this number by its first spellings; false if there is no such event. */
bool event_cache_name(uint64_t config, char out[64]);

/* ---- parsing ---------------------------------------------------------------------------- */

struct event_parser {
	struct event_list *list;
	const struct pmu_set *pmus;
	const char *text, *at, *end;
	struct err *err;
};

/* An error about a word of the text: names it and its column. Returns -1. */
int event_bad(struct event_parser *p, struct word w, const char *fmt, ...) PRINTF_(3, 4);
/* Sets the hint to the nearest of `words` (NULL-ended), else to the command that lists all. */
int event_suggest(struct event_parser *p, struct word w, const char *const *words);
/* The same if none of them is near: to the nearest name of a vendor's list. */
int event_suggest_more(struct event_parser *p, struct word w, const char *const *words);
/* Everything that could have been meant by a word without slash or colon, NULL-ended, or NULL. */
const char *const *event_words(struct event_parser *p);
/* A new event at the end of the list, with the defaults and without a name; NULL: see err. */
struct event *event_add(struct event_parser *p, uint32_t type, uint64_t config, const char *pmu);
bool event_raw_code(struct word w, uint64_t *config); /* r1a8 */

/* Applies "a=1,b" to an event. With a PMU, its formats and aliases are terms too. */
int event_terms(struct event_parser *p, struct event *ev, struct pmu *pmu,
		struct word terms) MUST_USE;

/* Applies the meaning that a list of events gives `name` on this PMU, which is loaded. */
int event_meant(struct event_parser *p, struct event *ev, const struct pmu *pmu, struct word name,
		const struct event_meaning *m) MUST_USE;

bool event_modifiers_known(struct word w);
/* The error names the wrong letter. */
int event_modifiers_check(struct event_parser *p, struct word w) MUST_USE;
/* Letters that were checked. A group's are added to its members' own: {a:k,b}:u gives a both.
 * `leads`: the event leads a group or is alone. */
int event_modifiers_apply(struct event_parser *p, struct event *ev, struct word w,
			  bool leads) MUST_USE;

/* Those found by a glob get their names, one that was named stays without. */
int event_tracepoint(struct event_parser *p, struct word whole, struct word system,
		     struct word name) MUST_USE;
/* Its path below root; NULL if it is not mounted or not ours to look into. */
const char *event_tracefs(const char *root);
bool event_is_trace_system(struct event_parser *p, struct word system);
/* Both begin at p->at, behind their prefix, and leave it behind their text. */
int event_breakpoint(struct event_parser *p) MUST_USE;
int event_probe(struct event_parser *p, const char *start, bool kernel, bool at_return) MUST_USE;

/* The text of one -e over PMUs that were read before (or made up). */
int event_parse_text(struct event_list *list, const struct pmu_set *pmus, const char *text,
		     size_t len, struct err *err) MUST_USE;

/* Marks slots and top-down metrics among the events from `from` on, and groups them as the kernel
 * wants them; may change the order of events. */
int event_topdown_groups(struct event_list *list, const struct pmu_set *pmus, size_t from,
			 struct err *err) MUST_USE;

/* Where in the ELF file `path` the code of `symbol` lies. */
int elf_symbol_offset(const char *path, const char *symbol, uint64_t *offset,
		      struct err *err) MUST_USE;

#endif
