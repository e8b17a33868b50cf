/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings: what is gathered, ranked, and cut to those that matter.
 */
#include "analyse/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

const struct finding_row finding_kinds[FINDING_KINDS] = {
#define FINDING(id, name, page, gain, fault) [FINDING_##id] = { name, page, gain, fault },
#include "analyse/findings.def"
#undef FINDING
};

/* ---- kinds of functions ---------------------------------------------------------------------- */

static bool begins_with(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(s, list[i], strlen(list[i])))
			return true;
	return false;
}
#define BEGINS_WITH(s, list) begins_with(s, list, sizeof(list) / sizeof(*(list)))

static bool is_system(const char *dso)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so",   "libc++abi",
					     "libm.so",	     "libm-2",	    "libgcc_s",
					     "libjemalloc",  "libtcmalloc", "libmimalloc",
					     "ld-2",	     "ld64.so",	    "libcyclade_heap" };

	return image_name_is_libc(dso) || BEGINS_WITH(dso, names);
}

/* Without the prefixes of glibc's internal names. */
static const char *plain_name(const char *s)
{
	if (!strncmp(s, "__GI_", 5))
		s += 5;
	while (*s == '_')
		s++;
	if (!strncmp(s, "libc_", 5))
		s += 5;
	return s;
}

/* The names end where the word does: "malloc", "malloc@@GLIBC_2.2.5", "malloc.part.0". */
static bool is_word(const char *s, const char *const *list, size_t n)
{
	size_t len = strcspn(s, "@.(");

	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && !memcmp(s, list[i], len))
			return true;
	return false;
}
#define IS_WORD(s, list) is_word(s, list, sizeof(list) / sizeof(*(list)))

static bool is_allocator(const char *function)
{
	static const char *const words[] = {
		"malloc", "free", "calloc", "realloc", "cfree", "memalign", "aligned_alloc",
		"posix_memalign", "int_malloc", "int_free", "int_realloc", "int_memalign",
		"int_free_chunk", "int_free_merge_chunk", "int_free_create_chunk",
		"int_free_maybe_consolidate", "malloc_consolidate", "unlink_chunk", "sysmalloc",
		"systrim", "tcache_init", "tcache_malloc", "malloc_trim", "free_mem", "arena_get2",
		"operator new", "operator delete", "operator new[]", "operator delete[]", "Znwm",
		"ZdlPv", "ZdlPvm", "Znam", "ZdaPv", "je_malloc", "je_free", "mi_malloc", "mi_free",
		"tc_malloc", "tc_free", "rust_alloc", "rust_dealloc", "rust_realloc", "rdl_alloc",
		"rdl_dealloc",
		/* that others make of these */
		"xmalloc", "xcalloc", "xzalloc", "xrealloc", "xfree", "g_malloc", "g_malloc0",
		"g_realloc", "g_free", "PyMem_Malloc", "PyMem_Free", "PyObject_Malloc",
		"PyObject_Free", "Perl_safesysmalloc", "Perl_safesysrealloc", "Perl_safesysfree"
	};

	return IS_WORD(plain_name(function), words);
}

unsigned finding_code(const char *function, const char *dso)
{
	unsigned code = 0;

	if (!function || !*function || !strncmp(function, "0x", 2) || !dso || !*dso)
		code |= CODE_UNKNOWN;
	if (dso && *dso == '[' && strcmp(dso, "[vdso]") != 0 && strcmp(dso, "[unknown]") != 0 &&
	    strcmp(dso, "[heap]") != 0 && strcmp(dso, "[stack]") != 0 && strncmp(dso, "[JIT]", 5))
		code |= CODE_KERNEL;
	if (dso && is_system(dso))
		code |= CODE_SYSTEM;
	if (function && !(code & CODE_KERNEL) && is_allocator(function))
		code |= CODE_ALLOCATOR;
	return code;
}

bool finding_mutex(const char *function)
{
	static const char *const names[] = {
		"lll_lock_wait",       "lll_mutex_lock",      "pthread_mutex_lock",
		"pthread_mutex_timed", "pthread_mutex_clock", "pthread_mutex_cond_lock",
		"pthread_rwlock_rd",   "pthread_rwlock_wr",   "pthread_rwlock_timed",
		"futex_lock_pi",       "futex_mutex_lock",    "mutex_lock_full",
	};

	return BEGINS_WITH(plain_name(function), names) || strstr(function, "lock_contended") ||
	       strstr(function, "RawMutex::lock_slow") || strstr(function, "RawRwLock::lock_");
}

/* ---- gathered -------------------------------------------------------------------------------- */

void finding_add(struct finding_work *w, struct finding *f, double least)
{
	double low = f->share - f->half;

	/* NAN is no finding either */
	if (!(low >= least) || !(low / f->share * f->stake >= FINDINGS_LEAST))
		return;
	vec_xpush(&w->found, *f);
}

bool finding_line_at(struct source_line *out, const struct finding_work *w, uint32_t image,
		     uint64_t addr)
{
	struct images *set = w->in->images;
	const struct source *src = set && image != IMAGE_NONE ? source_of(set, image, NULL) : NULL;
	struct source_inline outer;
	uint64_t vaddr;

	if (!src || !image_to_vaddr(set, image, addr, &vaddr))
		return false;
	*out = source_inlines(src, vaddr, &outer, 1) ? outer.at : source_line(src, vaddr);
	return out->file && out->line;
}

void finding_line(struct finding *f, const struct finding_work *w, uint32_t image, uint64_t addr)
{
	struct source_line line;

	if (!finding_line_at(&line, w, image, addr))
		return;
	f->file = arena_xstrdup(&w->out->a, line.file);
	f->line = line.line;
}

/* Returns true if the recorder started a program, and recorded no others: whatever that waited for,
 * it waited on its own account. Of a command line without "--" the program's words are looked at,
 * too. */
static bool was_started(const struct pd_info *info)
{
	static const char *const whom[] = {
		"-a",	 "-p",	  "-t",	   "-u",    "-C",    "-G",
		"--all", "--pid", "--tid", "--uid", "--cpu", "--cgroup"
	};

	for (size_t i = 1; i < info->n_cmdline && strcmp(info->cmdline[i], "--") != 0; i++)
		if (BEGINS_WITH(info->cmdline[i], whom))
			return false;
	return info->n_cmdline > 1;
}

static void find_lost(struct finding_work *w)
{
	const struct pd_losses *l = pd_losses(w->in->rec);
	uint64_t lost = l->lost + l->lost_samples, all = lost;
	struct finding f = { .kind = FINDING_LOST, .of = FINDING_OF_RECORDS, .times = lost };
	struct error_bar e;
	size_t n;
	const struct pd_event *ev = pd_events(w->in->rec, &n);

	for (size_t i = 0; i < n; i++)
		all += ev[i].samples;
	if (l->untold || !lost)
		return;
	e = error_bar_share((double)lost, (double)all, (double)all);
	f.share = f.stake = e.share;
	f.half = e.half;
	finding_add(w, &f, FINDINGS_LEAST);
}

/* ---- ranked ---------------------------------------------------------------------------------- */

static int by_stake(const void *va, const void *vb)
{
	const struct finding *a = va, *b = vb;
	unsigned fault_a = finding_kinds[a->kind].fault, fault_b = finding_kinds[b->kind].fault;

	if (fault_a != fault_b)
		return fault_a < fault_b ? -1 : 1;
	if (a->stake != b->stake)
		return a->stake > b->stake ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void rank(struct finding_work *w)
{
	struct findings *out = w->out;

	vec_sort(&w->found, by_stake);
	for (size_t i = 0; i < w->found.n && out->n < FINDINGS_MAX; i++)
		out->v[out->n++] = w->found.v[i];
}

struct findings *findings_make(const struct findings_in *in)
{
	struct finding_work w = { .in = in, .out = xcalloc(1, sizeof(*w.out)), .weight = 1 };
	struct findings *out = w.out;
	uint64_t first, last;

	out->running = out->waited = NAN;
	out->head = (struct finding){ .kind = FINDING_HOT, .share = NAN, .half = NAN };
	w.started = was_started(pd_info(in->rec));
	if (pd_time_span(in->rec, &first, &last) && last > first)
		out->length = last - first;
	findings_waits(&w); /* first: they have the weight of the rest */
	findings_samples(&w);
	findings_chains(&w);
	findings_memory(&w);
	findings_threads(&w);
	findings_processes(&w);
	find_lost(&w);
	rank(&w);
	vec_free(&w.found);
	free(w.spots.v);
	return out;
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	arena_free(&f->a);
	free(f);
}
