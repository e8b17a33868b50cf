/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A build without SQLite.
 */
#include "report/recorded.h"
#include "store/ibs_own.h"
#include "store/keep.h"
#include "store/sql.h"

static const struct table_column none[] = {
	COLUMN("none", "", T_FLAG, 0, "columns are those of the query", .field = { .type = F_U8 }),
};
static const struct table_form rows_form = { "rows", NULL, TABLE_MAIN | TABLE_GROWS,
					     TABLE_COLUMNS(none) };
static const struct table_form *const forms[] = { &rows_form, &recorded_losses_form };
const struct document_form sql_document = { "sql", 1, forms, 2, NULL, 0 };

int sql_open(struct sql **out, const struct sql_opts *opts, struct err *err)
{
	(void)opts;
	*out = NULL;
	(void)err_set(err, ERR_UNSUPPORTED, "this build has no SQLite");
	return err_hint(err, "install libsqlite3-dev and build again (-Dsqlite=enabled)");
}

int sql_query(struct sql *db, const char *text, struct document *d, struct err *err)
{
	(void)db;
	(void)text;
	(void)d;
	return err_set(err, ERR_UNSUPPORTED, "this build has no SQLite");
}

void sql_close(struct sql *db)
{
	(void)db;
}

bool sql_complete(const char *text)
{
	(void)text;
	return true;
}

int keep_open(struct keep **out, const struct ibs_own *own, const char *predicate, struct err *err)
{
	(void)own;
	(void)predicate;
	*out = NULL;
	(void)err_set(err, ERR_UNSUPPORTED, "--keep: this build has no SQLite");
	return err_hint(err, "install libsqlite3-dev and build again (-Dsqlite=enabled)");
}

int ibs_own_check(const struct ibs_own *own, struct err *err)
{
	(void)own;
	(void)err;
	return 0;
}

int keep_sample(struct keep *k, const struct pd_sample *s, const char *pmu, const char *cpuid,
		struct err *err)
{
	(void)k;
	(void)s;
	(void)pmu;
	(void)cpuid;
	(void)err;
	return 1;
}

int keep_reads(const struct keep *k, const struct ibs_own *own, const char *predicate,
	       uint64_t *reads, struct err *err)
{
	(void)k;
	(void)own;
	(void)predicate;
	*reads = 0;
	return err_set(err, ERR_UNSUPPORTED, "--keep: this build has no SQLite");
}

void keep_close(struct keep *k)
{
	(void)k;
}
