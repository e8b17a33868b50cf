/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/keep.h"

#include <stdlib.h>

#include "store/ibs_event.h"
#include "store/raw_int.h"
#include "store/sql_int.h"

struct keep {
	sqlite3 *db;
	sqlite3_stmt *ask;
	struct raw row; /* the sample at hand, as a cursor of no recording */
	int kind;	/* of IBS; -1: it is none */
	struct err err;
};

/* Columns that one sample has by itself: all of IBS, and these. */
static const struct {
	enum store_column_id first, last;
} columns[] = {
	{ C_samples_time, C_samples_tid },
	{ C_samples_event, C_samples_event },
	{ C_samples_period, C_samples_ip },
	{ C_samples_in_kernel, C_samples_in_kernel },
	{ C_samples_addr, C_samples_cgroup_id },
	{ C_samples_data_page_size, C_samples_frames },
	{ C_samples_branches, C_samples_stack_bytes },
	{ C_ibs_op_source, C_ibs_op_load_resync },
	{ C_ibs_fetch_fetch_ctl, C_ibs_fetch_itlb_refill },
};

/* The part of a sample that has them; others are in every sample. */
static const struct part {
	enum store_column_id first, last;
	uint64_t part;
} parts[] = {
	{ C_samples_cpu, C_samples_cpu, PERF_SAMPLE_CPU },
	{ C_samples_period, C_samples_period, PERF_SAMPLE_PERIOD },
	{ C_samples_addr, C_samples_addr, PERF_SAMPLE_ADDR },
	{ C_samples_phys_addr, C_samples_phys_addr, PERF_SAMPLE_PHYS_ADDR },
	{ C_samples_weight, C_samples_retire_latency,
	  PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT },
	{ C_samples_data_src, C_samples_data_blocked, PERF_SAMPLE_DATA_SRC },
	{ C_samples_transaction, C_samples_transaction, PERF_SAMPLE_TRANSACTION },
	{ C_samples_cgroup_id, C_samples_cgroup_id, PERF_SAMPLE_CGROUP },
	{ C_samples_data_page_size, C_samples_data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE },
	{ C_samples_code_page_size, C_samples_code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE },
	{ C_samples_frames, C_samples_frames, PERF_SAMPLE_CALLCHAIN },
	{ C_samples_branches, C_samples_branches, PERF_SAMPLE_BRANCH_STACK },
	{ C_samples_stack_bytes, C_samples_stack_bytes, PERF_SAMPLE_STACK_USER },
	{ C_ibs_op_source, C_ibs_op_load_resync, PERF_SAMPLE_RAW },
	{ C_ibs_fetch_fetch_ctl, C_ibs_fetch_itlb_refill, PERF_SAMPLE_RAW },
};

/* Columns that a cursor reads from the record, which there is none of here. */
static bool put_keep_fixed(const struct pd_sample *s, enum store_column_id col,
			   struct table_cell *out)
{
	switch (col) {
	case C_samples_time:
		raw_put(out, s->has & PERF_SAMPLE_TIME, s->time);
		return true;
	case C_samples_cpu:
		raw_put(out, s->has & PERF_SAMPLE_CPU, s->cpu);
		return true;
	case C_samples_pid:
		raw_put(out, s->has & PERF_SAMPLE_TID, s->pid);
		return true;
	case C_samples_tid:
		raw_put(out, s->has & PERF_SAMPLE_TID, s->tid);
		return true;
	case C_samples_event:
		out->text = s->event->name;
		return true;
	case C_samples_period:
		out->n = s->period;
		return true;
	case C_samples_ip:
		raw_put(out, s->has & PERF_SAMPLE_IP, s->ip);
		return true;
	case C_samples_in_kernel:
		out->n = s->cpumode == PERF_RECORD_MISC_KERNEL;
		return true;
	case C_samples_addr:
		raw_put(out, s->has & PERF_SAMPLE_ADDR, s->addr);
		return true;
	case C_samples_frames:
		for (uint64_t i = 0; i < s->n_chain; i++)
			out->n +=
				ld64(s->chain + 8 * i) < (uint64_t)PERF_CONTEXT_MAX; /* no marker */
		out->none = !(s->has & PERF_SAMPLE_CALLCHAIN);
		return true;
	default:
		return false;
	}
}

/* field(N): column N of the sample at hand. */
static void sql_field(sqlite3_context *x, int argc, sqlite3_value **argv)
{
	struct keep *k = sqlite.user_data(x);
	int n = argc == 1 ? sqlite.value_int(argv[0]) : -1;
	enum store_column_id col = (enum store_column_id)n;
	struct buf scratch = BUF_INIT;
	struct table_cell cell;
	enum store_table table;

	if (n < 0 || n >= STORE_COLUMNS)
		return;
	table = store_table_of(col);
	if (table != STORE_samples && k->kind != (table == STORE_ibs_op ? IBS_OP : IBS_FETCH))
		return;
	k->row.table = table;
	cell = (struct table_cell){ .kind = store_columns[n].kind };
	if (!put_keep_fixed(&k->row.sample, col, &cell) &&
	    raw_cell(&k->row, col, &cell, &scratch, &k->err))
		sqlite.result_error(x, k->err.what, -1);
	else
		sql_result_cell(x, &cell, store_is_blob(&store_columns[n]), NULL);
	buf_free(&scratch);
}

static int keep_failed(struct keep *k, int rc, struct err *err)
{
	if (k->err.code != ERR_NONE) {
		*err = k->err;
		return -1;
	}
	if (rc == SQLITE_NOMEM)
		return err_nomem(err);
	(void)err_set(err, ERR_USAGE, "--keep: %s", sqlite.errmsg(k->db));
	return err_hint(err,
			"an SQL predicate over columns of cyclade list tables ibs_op, ibs_fetch "
			"and samples: 'load AND dc_miss'");
}

/* The columns are those of a subquery, so that the predicate has them by name. Those of `twice` are
 * there twice: a predicate that names one is then refused as ambiguous. NULL: none is. */
static void put_keep_query(struct buf *b, const struct ibs_own *own, const char *predicate,
			   const struct part *twice)
{
	const struct ibs_event *e = ibs_event_find(own, predicate);
	const char *sep = "";

	buf_printf(b, "SELECT coalesce((%s), 0) FROM (SELECT ",
		   e && e->name ? e->predicate : predicate);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		for (int c = (int)columns[i].first; c <= (int)columns[i].last; c++) {
			buf_printf(b, "%sfield(%d) AS \"%s\"", sep, c, store_columns[c].key);
			sep = ", ";
		}
	buf_puts(b, " FROM (SELECT 1))");
	if (!twice)
		return;
	sep = ", (SELECT ";
	for (int c = (int)twice->first; c <= (int)twice->last; c++) {
		buf_printf(b, "%s0 AS \"%s\"", sep, store_columns[c].key);
		sep = ", ";
	}
	buf_puts(b, ")");
}

/* A name of a part that is there twice is an error. */
int keep_reads(const struct keep *k, const struct ibs_own *own, const char *predicate,
	       uint64_t *reads, struct err *err)
{
	*reads = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct buf b = BUF_INIT;
		sqlite3_stmt *ask = NULL;
		int rc = SQLITE_NOMEM;

		put_keep_query(&b, own, predicate, &parts[i]);
		if (!b.failed)
			rc = sqlite.prepare_v2(k->db, buf_str(&b), -1, &ask, NULL);
		(void)sqlite.finalize(ask);
		buf_free(&b);
		if (rc == SQLITE_NOMEM)
			return err_nomem(err);
		if (rc != SQLITE_OK)
			*reads |= parts[i].part;
	}
	return 0;
}

static int keep_prepare(struct keep *k, const struct ibs_own *own, const char *predicate,
			struct err *err)
{
	struct buf b = BUF_INIT;
	int rc = sqlite.open_v2(":memory:", &k->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				NULL);
	const char *tail = "";

	put_keep_query(&b, own, predicate, NULL);
	if (b.failed)
		rc = SQLITE_NOMEM;
	if (rc == SQLITE_OK)
		rc = sqlite.create_function(k->db, "field", 1, SQLITE_UTF8, k, sql_field, NULL,
					    NULL);
	if (rc == SQLITE_OK)
		rc = sqlite.prepare_v2(k->db, buf_str(&b), -1, &k->ask, &tail);
	if (rc == SQLITE_OK && (*tail || sqlite.column_count(k->ask) != 1))
		rc = SQLITE_MISUSE;
	buf_free(&b);
	return rc == SQLITE_OK ? 0 : keep_failed(k, rc, err);
}

int keep_open(struct keep **out, const struct ibs_own *own, const char *predicate, struct err *err)
{
	const struct ibs_event *e = ibs_event_find(own, predicate);
	struct keep *k;

	*out = NULL;
	if (e && !e->name)
		return err_set(err, ERR_USAGE, "--keep: %s is no event of IBS: %s", e->code,
			       e->means);
	if (sqlite_open(err))
		return err_prefix(err, "--keep");
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_nomem(err);
	if (!keep_prepare(k, own, predicate, err)) {
		*out = k;
		return 0;
	}
	keep_close(k);
	return -1;
}

int keep_sample(struct keep *k, const struct pd_sample *s, const char *pmu, const char *cpuid,
		struct err *err)
{
	int rc, holds;

	k->row.sample = *s;
	k->row.parsed = k->row.whole = true;
	k->row.ibs_taken = false;
	k->row.part = ibs_part_of(cpuid);
	k->row.intel = is_intel(cpuid);
	k->kind = !pmu			      ? -1
		  : !strcmp(pmu, "ibs_op")    ? IBS_OP
		  : !strcmp(pmu, "ibs_fetch") ? IBS_FETCH
					      : -1;
	rc = sqlite.step(k->ask);
	holds = rc == SQLITE_ROW && sqlite.column_int64(k->ask, 0);
	(void)sqlite.reset(k->ask);
	return rc == SQLITE_ROW ? holds : keep_failed(k, rc, err);
}

void keep_close(struct keep *k)
{
	if (!k)
		return;
	(void)sqlite.finalize(k->ask);
	(void)sqlite.close(k->db);
	free(k);
}
