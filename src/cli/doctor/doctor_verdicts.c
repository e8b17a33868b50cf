/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor_verdicts - whether events of this machine were tested (validate) and costs measured
 * (calibrate), and when.
 */
#include <sys/stat.h>

#include "base/file_in.h"
#include "cli/doctor/doctor.h"
#include "cli/verdicts.h"

static void put_verdicts(struct buf *b, const struct validate_kept *k, size_t *failed)
{
	size_t n[3] = { 0, 0, 0 };

	for (size_t i = 0; i < k->n; i++) {
		bool bad = validate_failed(k->v[i].verdict);

		n[bad ? 1 : validate_passed(k->v[i].verdict) ? 0 : 2]++;
		*failed += bad && k->v[i].used;
	}
	buf_puts(b, "validated ");
	validate_kept_day(b, k->when);
	buf_printf(b, ": %zu pass, %zu fail, %zu not tested", n[0], n[1], n[2]);
}

static void put_costs(struct doctor *d, struct buf *b, const struct validate_kept *k)
{
	const char *path = k->path ? verdicts_beside(d->cli, k, "penalties") : NULL;
	struct stat st;

	if (path && file_look(path, &st) && S_ISREG(st.st_mode)) {
		buf_puts(b, "; calibrated ");
		validate_kept_day(b, (uint64_t)st.st_mtim.tv_sec);
	} else {
		buf_puts(b, "; not calibrated");
	}
}

void check_verdicts(struct doctor *d, struct finding *f)
{
	struct err err = ERR_INIT;
	struct validate_kept k;
	struct buf b = BUF_INIT;
	size_t failed = 0;

	if (!d->live) {
		f->state = "not tried: this is another machine's tree";
		f->verdict = VERDICT_NONE;
		return;
	}
	if (cli_verdicts(d->cli, &d->m, &k, &err)) {
		f->state = arena_strdup(d->a, err.what);
		f->verdict = VERDICT_COST;
		f->effect = "verdicts on events are not used";
		f->fix[0] = "remove that file; cyclade validate makes it anew";
		return;
	}
	if (k.when)
		put_verdicts(&b, &k, &failed);
	else
		buf_puts(&b, "not validated here");
	put_costs(d, &b, &k);
	f->state = b.failed ? NULL : arena_strdup(d->a, buf_str(&b));
	f->verdict = k.when ? VERDICT_OK : VERDICT_NONE;
	if (failed) {
		f->verdict = VERDICT_LIMIT;
		f->effect = "nodes that rest on failed events are not shown";
		f->fix[0] = "cyclade validate shows them";
	}
	buf_free(&b);
}
