/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor - checks this machine, and prints the fix if it falls short.
 */
#include <signal.h>

#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/doctor/doctor.h"
#include "collect/capture.h"

static void run_checks(struct doctor *d, struct doctor_result *r)
{
	r->f = arena_xalloc(d->a, n_doctor_checks * sizeof(*r->f));
	for (size_t i = 0; i < n_doctor_checks; i++) {
		doctor_checks[i].run(d, &r->f[i]);
		r->blockers += r->f[i].verdict == VERDICT_BLOCKER;
		r->limits += r->f[i].verdict == VERDICT_LIMIT;
		r->costs += r->f[i].verdict == VERDICT_COST;
	}
}

static volatile sig_atomic_t ended_by; /* the signal that ends the copying */

static void end_capture_by(int number)
{
	ended_by = number;
}

/* A signal that ends the program ends the copying first, so that nothing stays behind. */
static int capture_or_end(struct capture_stats *s, const char *root, const char *dir,
			  struct err *err)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction was[3], to = { .sa_handler = end_capture_by };
	int rc;

	for (size_t i = 0; i < 3; i++)
		if (!sigaction(numbers[i], NULL, &was[i]) && was[i].sa_handler == SIG_DFL)
			(void)sigaction(numbers[i], &to, NULL);
	rc = capture_make(s, root, dir, &ended_by, err);
	for (size_t i = 0; i < 3; i++)
		if (was[i].sa_handler == SIG_DFL)
			(void)signal(numbers[i], SIG_DFL);
	if (rc && ended_by)
		(void)raise(ended_by);
	return rc;
}

/* --capture: a copy of the machine, and how to use it. */
static int make_capture(struct cli *cli)
{
	const char *dir = cli->opt.capture;
	struct err err = ERR_INIT;
	struct capture_stats s;
	struct buf b = BUF_INIT;
	char bytes[NUM_MAX];
	int code;

	if (capture_or_end(&s, cli->opt.sysroot ? cli->opt.sysroot : "", dir, &err))
		return cli_fail(&err);
	text_put_safe(&b, dir, false);
	buf_printf(&b, ": %zu files, %s\n", s.files, num_bytes(bytes, s.bytes));
	if (s.unread) {
		buf_printf(&b, " %zu could not be read, the first is /", s.unread);
		text_put_safe(&b, s.first_unread, false);
		buf_puts(&b, ": root may\n");
	}
	if (!cli->opt.quiet) {
		buf_puts(&b, " next: cyclade doctor --sysroot ");
		text_put_safe(&b, dir, false);
		buf_putc(&b, '\n');
	}
	code = cli_put(cli, &b, false);
	buf_free(&b);
	return code;
}

int cmd_doctor(struct cli *cli)
{
	struct doctor d = { .cli = cli, .a = &cli->arena };
	struct doctor_result r = { .d = &d };
	struct document doc;
	struct show show;
	struct err err = ERR_INIT;
	int code;

	d.root = cli->opt.sysroot ? cli->opt.sysroot : "";
	d.live = !d.root[0];
	if (cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "doctor takes no operand, not '%.60s'",
			      cli->args.v[0]);
		return cli_fail(&err);
	}
	if (cli->opt.capture)
		return make_capture(cli);
	if (cli_show(cli, &show, &doctor_document, &err) || doctor_look(&d, &err))
		return cli_fail(&err);
	run_checks(&d, &r);
	document_open(&doc, &doctor_document, &r);
	doctor_put(&doc, &r);
	code = cli_document(cli, &doc, &show);
	document_close(&doc);
	return code == EXIT_OK && r.blockers ? EXIT_NO : code;
}
