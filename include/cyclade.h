/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libcyclade - count a region of your own program, from user space, top-down included.
 *
 *	struct cyclade_set *set;
 *	struct cyclade_region *r;
 *
 *	if (cyclade_open(&set, NULL, &error))		// or options: which metrics
 *		...					// only for a wish that makes no sense
 *	r = cyclade_handle(set, "solve");		// this thread's handle; keep it
 *	cyclade_begin(r);
 *	...
 *	cyclade_end(r);
 *	cyclade_report(set, NULL);			// regions and what they counted
 *	cyclade_close(set);
 *
 * C11 and C++17; nothing else is needed. Where there are no counters (a virtual machine, another
 * system, no permission) everything works all the same: regions have their wall time and time-stamp
 * counts, the rest is "not measured", and cyclade_status() says why.
 *
 * A region handle is its thread's: cyclade_begin and cyclade_end with it by that thread only. Each
 * thread that calls cyclade_handle() for the first time opens its own counters; threads of the same
 * region's name are summed in reports. Regions nest (an inner one counts for the outer one, too); a
 * region begun again before it ended counts once, from its first begin to its last end, and reports
 * tell how often that was.
 *
 * cyclade_begin and cyclade_end never allocate, lock, fail or print. Where the counters can be read
 * from user space they enter the kernel for nothing but this: with the top-down metrics register,
 * at most once in two seconds and thread, to begin the register anew (its fractions of 8 bits grow
 * coarse). Elsewhere they read(2) the counters, which cyclade_status() says.
 *
 * cyclade_open, cyclade_handle and cyclade_report do allocate. All functions are safe from several
 * threads, but nothing of a set may be used while or after it is closed. A signal handler may use
 * handles made before. After fork() the child's handles count time alone: open a set of its own
 * there.
 */
#ifndef CYCLADE_H
#define CYCLADE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CYCLADE_API __attribute__((visibility("default")))
#else
#define CYCLADE_API
#endif

#define CYCLADE_VERSION 0x000100 /* major, minor, patch: two digits each */

struct cyclade_set;

/* What a caller may know of a handle: how it begins and ends. The rest is the library's. */
struct cyclade_region {
	void (*begin)(struct cyclade_region *);
	void (*end)(struct cyclade_region *);
};

struct cyclade_error {
	size_t size;	/* sizeof(struct cyclade_error), by the caller */
	char what[512]; /* one line */
	char hint[256]; /* the next thing to type; may be empty */
};

enum cyclade_flag {
	CYCLADE_KERNEL = 1,   /* count the kernel's part of the thread, too (where permitted) */
	CYCLADE_NO_RDPMC = 2, /* read(2) even where rdpmc works */
};

struct cyclade_open_opts {
	/* sizeof(struct cyclade_open_opts), by the caller: what is behind it is not read */
	size_t size;
	/* What to count, by comma: any metric of this CPU's model ("ipc"), a node of its tree
	 * ("frontend_bound.fetch_latency"), "topdown" (level 1), "topdown.l2" (levels 1 and 2), any
	 * event ("instructions", "cpu/event=0x3c/", "INST_RETIRED.ANY"). NULL: "ipc,topdown". */
	const char *metrics;
	/* Regions of a thread at most; 0: 64. */
	unsigned max_regions;
	unsigned flags; /* enum cyclade_flag */
	/* A file that always holds the newest sums, even after abort(); `cyclade report FILE` shows
	 * it. "%p" in it becomes the process (and a number, for all but its first set). One that is
	 * there must be a table of an earlier run, and is replaced. NULL: what the environment
	 * variable CYCLADE_REGIONS says (`cyclade run --regions` sets it), else none. */
	const char *file;
	const char *model;   /* a model by its name (`cyclade list models`); NULL: this CPU's */
	const char *sysroot; /* facts of the machine from below here; NULL: the real ones */
};

/* 0, or -1 and *error (may be NULL), *set NULL: a metric that does not exist, no memory, a file
 * that cannot be made. Not having counters is no error. opts NULL: all defaults. */
CYCLADE_API int cyclade_open(struct cyclade_set **set, const struct cyclade_open_opts *opts,
			     struct cyclade_error *error);
/* Ends the counting of all threads. NULL is fine. */
CYCLADE_API void cyclade_close(struct cyclade_set *set);
/* How counters are read, and why not better, in one line: "rdpmc", "read(2): ...", "not measured:
 * ...". Never NULL. */
CYCLADE_API const char *cyclade_status(const struct cyclade_set *set);

/* The calling thread's handle of this name (at most 63 bytes count), the same each time. Never
 * NULL: where there is no room or no memory it is a handle that does nothing, and reports tell how
 * many such there were. Takes microseconds: keep it. */
CYCLADE_API struct cyclade_region *cyclade_handle(struct cyclade_set *set, const char *name);

static inline void cyclade_begin(struct cyclade_region *region)
{
	region->begin(region);
}

static inline void cyclade_end(struct cyclade_region *region)
{
	region->end(region);
}

enum cyclade_why {
	CYCLADE_OK,
	CYCLADE_NOT_MEASURED, /* no counter, or it never was on one while the region ran */
	CYCLADE_NOT_RUN,      /* no such region, or it has not ended once */
	CYCLADE_TOO_SHORT,    /* there is a value, but it says more about begin and end */
	CYCLADE_DOUBTFUL,     /* counters disagree: there is no value that could be believed */
};

struct cyclade_value {
	size_t size;	/* sizeof(struct cyclade_value), by the caller */
	double value;	/* NAN where there is none; shares are fractions of 1 */
	double error;	/* half width at 95 %; NAN: not known, as of counts that are extrapolated */
	double counted; /* share of the region's time that it was on a counter: below 1 the value is
			 * extrapolated from it */
	enum cyclade_why why;
};

#define CYCLADE_ALL_THREADS (-1L)

/* One metric or event of a region, of all threads or of one (its thread id). `metric` as in the
 * options, or "runs", "wall" (seconds), "tsc". 0, or -1: the set does not count such a thing. */
CYCLADE_API int cyclade_read(struct cyclade_set *set, const char *region, const char *metric,
			     long thread, struct cyclade_value *value);
/* All sums of all threads begin anew at 0; a region that is open now counts from its begin. */
CYCLADE_API void cyclade_reset(struct cyclade_set *set);

struct cyclade_report_opts {
	size_t size;	    /* sizeof(struct cyclade_report_opts), by the caller */
	const char *format; /* "term" (NULL), "json", "csv", "markdown", "html" */
	int per_thread;	    /* a line for each thread, too */
	int fd;		    /* where it is written; 0: standard error */
};

/* 0, or -1 and errno: it could not be written. opts NULL: a table for people, to standard error. */
CYCLADE_API int cyclade_report(struct cyclade_set *set, const struct cyclade_report_opts *opts);

/*
 * A scope that is a region:
 *
 *	{
 *		CYCLADE_SCOPE(set, "solve");
 *		...
 *	}
 *
 * In C by the cleanup attribute of gcc and clang, in C++ by a class (cyclade::scope). The handle is
 * looked up once a thread and place.
 */
struct cyclade_here {
	struct cyclade_region *region;
	unsigned long set;
};

/* Each set has its own number, never used again in this process. */
CYCLADE_API unsigned long cyclade_number(const struct cyclade_set *set);
CYCLADE_API struct cyclade_region *cyclade_find(struct cyclade_here *here, struct cyclade_set *set,
						const char *name);

static inline struct cyclade_region *cyclade_scope_begin(struct cyclade_region *region)
{
	cyclade_begin(region);
	return region;
}

static inline void cyclade_scope_end(struct cyclade_region **region)
{
	cyclade_end(*region);
}

#define CYCLADE_JOIN_(a, b) a##b
#define CYCLADE_JOIN(a, b)  CYCLADE_JOIN_(a, b)

#ifdef __cplusplus
} /* extern "C" */

namespace cyclade
{
class scope
{
      public:
	explicit scope(struct cyclade_region *r) : region(r)
	{
		cyclade_begin(region);
	}
	~scope()
	{
		cyclade_end(region);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	struct cyclade_region *region;
};
} /* namespace cyclade */

#define CYCLADE_SCOPE(set, name)                                                       \
	static thread_local struct cyclade_here CYCLADE_JOIN(cyclade_here_, __LINE__); \
	cyclade::scope CYCLADE_JOIN(cyclade_scope_, __LINE__)(                         \
		cyclade_find(&CYCLADE_JOIN(cyclade_here_, __LINE__), (set), (name)))
#elif defined(__GNUC__)
#define CYCLADE_SCOPE(set, name)                                                           \
	static _Thread_local struct cyclade_here CYCLADE_JOIN(cyclade_here_, __LINE__);    \
	struct cyclade_region *CYCLADE_JOIN(cyclade_scope_, __LINE__)                      \
		__attribute__((cleanup(cyclade_scope_end), unused)) = cyclade_scope_begin( \
			cyclade_find(&CYCLADE_JOIN(cyclade_here_, __LINE__), (set), (name)))
#endif

#endif
