/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade script [FILE] - see doc/cyclade-script.1.md.
 */
#include "cli/cli.h"
#include "cli/recording.h"
#include "report/script.h"

/* -e's names as the selection's one: a name or a pattern. */
static int choose_script_event(const struct recording *r, struct cli *cli, struct selection *s,
			       struct err *err)
{
	struct text_list said;

	if (split_events(cli, &cli->opt.event, &said, err))
		return -1;
	if (said.n > 1)
		return err_set(err, ERR_USAGE, "-e takes one event or pattern here, not %zu",
			       said.n);
	if (!said.n)
		return 0;
	if (recording_event(r, said.v[0], NULL) == SIZE_MAX) {
		(void)err_set(err, ERR_NOT_FOUND, "no event '%.100s' in this recording", said.v[0]);
		return err_hint(err, "cyclade info lists them");
	}
	s->event = said.v[0];
	return 0;
}

static int make_script(struct cli *cli, const struct recording *r, struct buf *out, struct err *err)
{
	const struct options *o = &cli->opt;
	struct profile_opts po = { 0 };
	struct script_opts so = { .select = &po.select,
				  .json = o->json,
				  .nanoseconds = o->nanoseconds,
				  .no_chains = o->hide_call_graph,
				  .no_inlines = o->no_inline,
				  .tasks = o->show_task_events,
				  .mappings = o->show_mmap_events,
				  .switches = o->show_switch_events };

	if (o->max_stack > UINT32_MAX)
		return err_set(err, ERR_USAGE, "--max-stack is too large");
	if (so.json && (so.tasks || so.mappings || so.switches))
		return err_set(err, ERR_USAGE, "-j has samples alone: not with --show-*-events");
	if (recording_select(r, cli, &po, err) || choose_script_event(r, cli, &po.select, err) ||
	    (o->fields && script_fields(&so.fields, o->fields, r->rec, err)))
		return -1;
	so.machine = po.machine;
	so.max_stack = (uint32_t)o->max_stack;
	so.progress = po.progress;
	so.progress_ctx = po.progress_ctx;
	return script_put(out, r->rec, r->spaces, &so, err);
}

int cmd_script(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct recording r = { 0 };
	struct cli_operands said;
	struct cli_out out;
	int code;

	cli_out_open(&out, cli, true);
	if (cli_one_recording(cli, &said, &err) || recording_open(&r, cli, said.path, &err)) {
		code = cli_out_fail(&out, &err);
	} else {
		const struct pd_losses *l = pd_losses(r.rec);

		if (l->partial)
			cli_warn("the recording does not go to its end: %s", l->ended);
		code = make_script(cli, &r, &out.text, &err) ? cli_out_fail(&out, &err)
							     : cli_out_put(&out);
		if (code == EXIT_OK && (l->lost || l->lost_samples))
			cli_note(cli, "the recording lost %llu records and %llu samples",
				 (unsigned long long)l->lost, (unsigned long long)l->lost_samples);
	}
	recording_close(&r);
	return code;
}
