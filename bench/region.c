/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a pair of begin and end costs: libcyclade, and likwid's and PAPI's ways to count a region,
 * as far as they run here. Best of several rounds, as each is disturbed now and then.
 *
 *	bench_region [ROUNDS]
 *
 * Where there are no counters to read, libcyclade's way is run on pages made up here, with rdtsc in
 * the place of rdpmc (a like instruction: both wait for little and take some 20 to 40 cycles).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"
#if HAVE_PAPI
#include <papi.h>
#endif
#if HAVE_LIKWID
#define LIKWID_PERFMON
#include <likwid-marker.h>
#endif

#define PAIRS 2000 /* short enough to be left alone now and then */

static int rounds = 500;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void say(const char *what, double ns, double hz)
{
	if (ns < 0)
		printf("%-58s does not run here\n", what);
	else
		printf("%-58s %8.1f ns %8.0f cycles of the TSC\n", what, ns, ns * hz / 1e9);
}

static double hz;

/* ---- libcyclade ------------------------------------------------------------------------- */

static double pairs(struct cyclade_region *r)
{
	double best = 1e30;

	for (int k = 0; k < rounds; k++) {
		double from = now_ns(), took;

		for (int i = 0; i < PAIRS; i++) {
			cyclade_begin(r);
			cyclade_end(r);
		}
		took = (now_ns() - from) / PAIRS;
		best = took < best ? took : best;
	}
	return best;
}

static void made_up(size_t reads, size_t fields)
{
	static struct fake f;
	char what[80];

	fake_open(&f, reads, fields);
	if (fields)
		(void)snprintf(what, sizeof(what),
			       "libcyclade, %zu reads with PERF_METRICS (%zu fields), stand-in",
			       reads, fields);
	else
		(void)snprintf(what, sizeof(what), "libcyclade, %zu counter%s, stand-in", reads,
			       reads > 1 ? "s" : "");
	say(what, pairs(fake_region(&f)), hz);
	fake_close(&f);
}

static void real(const char *metrics)
{
	struct cyclade_open_opts o = { .size = sizeof(o), .metrics = metrics };
	struct cyclade_set *set;
	char what[512];

	if (cyclade_open(&set, &o, NULL))
		return;
	hz = set->head->tsc_hz;
	(void)snprintf(what, sizeof(what), "libcyclade, %s, %.*s", metrics,
		       (int)strcspn(cyclade_status(set), ":"), cyclade_status(set));
	say(what, pairs(cyclade_handle(set, "pair")), hz);
	cyclade_close(set);
}

/* ---- PAPI ------------------------------------------------------------------------------- */

#if HAVE_PAPI
static double papi(const char *const *names)
{
	long long a[8], b[8];
	double best = 1e30;
	int set = PAPI_NULL;

	if (PAPI_create_eventset(&set) != PAPI_OK)
		return -1;
	for (; *names; names++)
		if (PAPI_add_named_event(set, *names) != PAPI_OK)
			return -1;
	if (PAPI_start(set) != PAPI_OK)
		return -1;
	for (int k = 0; k < rounds; k++) {
		double from = now_ns(), took;

		for (int i = 0; i < PAIRS; i++)
			if (PAPI_read(set, a) != PAPI_OK || PAPI_read(set, b) != PAPI_OK)
				return -1;
		took = (now_ns() - from) / (PAIRS);
		best = took < best ? took : best;
	}
	(void)PAPI_stop(set, a);
	return best;
}

static void all_papi(void)
{
	static const char *const hardware[] = { "PAPI_TOT_INS", "PAPI_TOT_CYC", NULL };
	static const char *const software[] = { "perf::TASK-CLOCK", "perf::PAGE-FAULTS", NULL };

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
		say("PAPI", -1, hz);
		return;
	}
	say("PAPI_read twice, instructions and cycles", papi(hardware), hz);
	say("PAPI_read twice, task-clock and page-faults", papi(software), hz);
}
#else
static void all_papi(void)
{
	printf("%-58s not built in (libpapi-dev)\n", "PAPI");
}
#endif

/* ---- likwid ----------------------------------------------------------------------------- */

#if HAVE_LIKWID
/* Only below likwid-perfctr -m has it something to count. */
static void all_likwid(void)
{
	double best = 1e30;

	if (!getenv("LIKWID_MODE")) {
		printf("%-58s only below likwid-perfctr -m\n", "likwid's marker API");
		return;
	}
	LIKWID_MARKER_INIT;
	LIKWID_MARKER_REGISTER("pair");
	for (int k = 0; k < rounds; k++) {
		double from = now_ns(), took;

		for (int i = 0; i < PAIRS; i++) {
			LIKWID_MARKER_START("pair");
			LIKWID_MARKER_STOP("pair");
		}
		took = (now_ns() - from) / (PAIRS);
		best = took < best ? took : best;
	}
	LIKWID_MARKER_CLOSE;
	say("LIKWID_MARKER_START and _STOP", best, hz);
}
#else
static void all_likwid(void)
{
	printf("%-58s not built in (likwid)\n", "likwid's marker API");
}
#endif

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
	real("ipc,topdown");
	made_up(1, 0);
	made_up(4, 0);
	made_up(8, 0);
	made_up(4, 4);
	made_up(4, 8);
	real("task-clock,page-faults");
	all_papi();
	all_likwid();
	return 0;
}
