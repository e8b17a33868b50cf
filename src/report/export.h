/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export - recordings in the formats of other programs.
 *
 *	export_pprof	profile.proto in gzip, as pprof and Speedscope read it
 *	export_firefox	JSON for the Firefox profiler, which shows samples over time
 *	export_perfetto	Perfetto's trace: switches, waits, samples and counts over time
 *	export_fdo_*	LLVM's sample profile, for clang -fprofile-sample-use
 *	export_bolt	branches and spans of one file, for perf2bolt --pa; or its samples
 *	export_blocks	hot blocks in order, for clang -fbasic-block-sections=list=FILE
 *	export_order	hot functions in order, for lld --symbol-ordering-file
 *
 * The first three take a profile with stacks (profile_stacks.h). Names come from outside: control
 * characters are escaped in them (\xNN) before a format does its own quoting.
 */
#ifndef CYCLADE_REPORT_EXPORT_H
#define CYCLADE_REPORT_EXPORT_H

#include "analyse/fdo.h"
#include "analyse/layout.h"
#include "analyse/profile_stacks.h"
#include "analyse/wait.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/view.h"

struct export_in {
	const struct profile *profile;
	struct images *images;
	struct view_source source;
	const char *ended; /* how the recording did, if not at its end; else NULL */
	bool wall_known;   /* then `wall` is a sample's time 0, in ns since 1970 */
	int64_t wall;
	/* For export_perfetto: */
	const struct pd *rec;
	const struct spaces *spaces;
	const struct selection *select;
	const struct wait *wait; /* NULL: no switches were recorded */
};

int export_pprof(struct buf *out, const struct export_in *in, struct err *err) MUST_USE;
int export_firefox(struct buf *out, const struct export_in *in, struct err *err) MUST_USE;

/* The recording has times. */
int export_perfetto(struct buf *out, const struct export_in *in, struct err *err) MUST_USE;
/* Returns true if samples have counts of other events, as sql's table `counts` shows them. */
bool export_has_counts(const struct view_source *source);

int export_fdo_text(struct buf *out, const struct fdo *p, struct err *err) MUST_USE;
int export_fdo_binary(struct buf *out, const struct fdo *p, struct err *err) MUST_USE;

int export_bolt(struct buf *out, const struct flow *f, struct images *images, uint32_t image,
		struct err *err) MUST_USE;
/* A profile with the keys KEY_ADDR and KEY_DSO. */
int export_bolt_samples(struct buf *out, const struct profile *p, const char *event,
			struct images *images, uint32_t image, struct err *err) MUST_USE;

int export_blocks(struct buf *out, const struct layout *l, struct err *err) MUST_USE;
int export_order(struct buf *out, const struct layout *l, struct err *err) MUST_USE;

#endif
