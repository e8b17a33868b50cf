/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script_int - shared by the files of script.h.
 */
#ifndef CYCLADE_REPORT_EXPORT_SCRIPT_INT_H
#define CYCLADE_REPORT_EXPORT_SCRIPT_INT_H

#include "analyse/in_order.h"
#include "analyse/pass.h"
#include "analyse/sample_frames.h"
#include "base/json.h"
#include "perfdata/trace.h"
#include "report/script.h"
#include "symbol/names.h"

struct script {
	struct buf *out;
	const struct pd *rec;
	const struct spaces *sp;
	struct images *images;
	const struct script_opts *opts;
	struct pass *pass;
	struct in_order order;
	struct names *names;
	struct sample_frames frames;
	uint64_t *fields; /* by event: bits of enum script_field */
	int name_width;	  /* of the longest event */
	int data_width;	  /* of the longest data source so far */
	struct json json; /* of a line */
	struct buf scratch;
};

/* A record at its turn, and its thread then. */
struct script_at {
	struct pd_sample s; /* of a sample */
	const struct pd_event *ev;
	uint64_t fields, time;
	bool chain; /* a call chain is shown */
	const struct process *proc;
	uint32_t proc_index;
	char comm_text[COMM_TEXT];
	const char *comm; /* NULL: the event has no threads */
};

static inline bool script_has(const struct script_at *a, enum script_field f)
{
	return a->fields >> f & 1;
}

/* A frame, innermost first: that of a sample without a chain alone. */
struct script_frame {
	uint64_t ip; /* as perf shows it */
	struct name *name;
	uint64_t offset;     /* from the function's start */
	const char *inlined; /* the name of an inlined function; then there are others of this ip */
	uint32_t level;
};
/* Calls `each` for the frames of the sample. */
int script_frames(struct script *x, const struct script_at *a,
		  int (*each)(struct script *x, const struct script_at *a,
			      const struct script_frame *f, struct err *err),
		  struct err *err) MUST_USE;
struct name *script_name(struct script *x, const struct script_at *a, enum space_kind kind,
			 uint64_t ip);
/* perf's name of the file, `data`: of an address that is not run; "[unknown]": nothing was mapped
 * there. */
const char *script_dso(struct script *x, const struct name *n, bool data);
/* What perf writes as the period; false: it was not recorded. */
bool script_period(const struct script_at *a, uint64_t *out);

/* The format of a tracepoint's fields; NULL: the recording has none. */
const struct trace_format *script_trace(const struct script *x, const struct script_at *a);

/* By event of pd_events: the fields that opts asks for and its samples have. */
uint64_t *script_fields_of(const struct pd *rec, const struct script_opts *opts);
extern const char *const script_field_names[SCRIPT_FIELDS];

/* perf's words. */
void script_put_data_source(struct buf *b, uint64_t data_src);
void script_put_page_size(struct buf *b, uint64_t size);
const char *script_branch_type(const struct pd_branch *b);
const char *script_branch_spec(const struct pd_branch *b);
/* The name of a register by its bit; NULL: it has none. */
const char *script_register(unsigned machine, unsigned bit);

int script_put_text(struct script *x, const struct script_at *a, struct err *err) MUST_USE;
int script_put_json(struct script *x, const struct script_at *a, struct err *err) MUST_USE;
/* The first fields of a line. */
void script_put_start(struct script *x, const struct script_at *a, const struct pd_record *r);
/* Whether such records are shown, and the text of one. */
bool script_shows(const struct script_opts *o, uint32_t type);
void script_put_record(struct script *x, const struct script_at *a, const struct pd_record *r);

#endif
