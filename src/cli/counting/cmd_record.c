/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - samples into a file.
 */
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "cli/asking.h"
#include "cli/counting/no_pmu.h"
#include "cli/model_choice.h"
#include "measure/sampling.h"
#include "store/keep.h"

static void closing_line(const struct cli *cli, const struct sampling_result *res, const char *path)
{
	char n[NUM_MAX], b[NUM_MAX], l[NUM_MAX], t[NUM_MAX];

	if (!res->kept) {
		cli_note(cli, "interrupted before the first sample: %s was not written", path);
		return;
	}
	cli_note(cli, "%s sample%s in %s (%s), %s lost%s%s%s", num_exact(n, res->samples),
		 res->samples == 1 ? "" : "s", path, num_bytes(b, res->bytes),
		 num_exact(l, res->lost), res->throttled ? ", throttled " : "",
		 res->throttled ? num_exact(t, res->throttled) : "",
		 res->throttled ? " times" : "");
	if (res->not_kept)
		cli_note(cli, "%s samples were not kept (--keep)", num_exact(t, res->not_kept));
	if (res->left_out)
		cli_note(cli, "%s samples of other programs were left out",
			 num_exact(t, res->left_out));
	if (!res->samples && !res->lost && !res->not_kept)
		cli_note(cli, "not one sample: it slept, or ended too soon for the frequency (-F)");
	if (res->ousted)
		cli_note(cli,
			 "%zu of %zu counters lost their place to others and stopped sampling: "
			 "`cyclade doctor` tells who holds some",
			 res->ousted, res->counters);
	if (res->lost)
		cli_note(cli, "larger rings lose less: -m 512; so does a lower frequency: -F 1000");
}

static int describe(struct sampling *r, bool verbose)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	int code = EXIT_OK;

	sampling_describe(r, verbose, &b);
	if (fd_write_all(STDOUT_FILENO, buf_str(&b), b.len, "standard output", &err))
		code = cli_fail(&err);
	buf_free(&b);
	return code;
}

/* What is asked for needs a PMU, and there is none: said before anything is started. */
static bool no_pmu(struct cli *cli, char why[256])
{
	why[0] = '\0';
	if (cli->opt.account && !cli->opt.dry_run)
		no_pmu_find(cli, why);
	return why[0];
}

static int keep(void *ctx, const struct pd_sample *s, const char *pmu, const char *cpuid,
		struct err *err)
{
	return keep_sample(ctx, s, pmu, cpuid, err);
}

static int open_sampling(struct cli *cli, struct sampling **r, struct ask *ask, struct keep **k,
			 const char *path, struct err *err)
{
	if (cli_ask(cli, ask, err) || (cli->opt.keep && keep_open(k, cli->opt.keep, err)))
		return -1;
	if (*k) {
		ask->keep = keep;
		ask->keep_ctx = *k;
	}
	return sampling_open(r, ask, path, NULL, err);
}

int cmd_record(struct cli *cli)
{
	const char *path = cli->opt.output ? cli->opt.output : "cyclade.data";
	struct err err = ERR_INIT;
	struct sampling *r = NULL;
	struct keep *k = NULL;
	struct ask ask;
	char why[256];
	int code;

	if (cli_cpu_or_model(cli, &err))
		return cli_fail_as(&err, cli_measuring_code(cli, &err));
	if (no_pmu(cli, why))
		return no_pmu_end(cli, why, "cyclade record -- ./prog");
	if (open_sampling(cli, &r, &ask, &k, path, &err)) {
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
		goto out;
	}
	if (cli->opt.dry_run) {
		code = describe(r, cli->opt.verbose);
		goto out;
	}
	if (sampling_run(r, &err) || sampling_after(r, &err)) {
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
	} else {
		closing_line(cli, sampling_result(r), path);
		code = sampling_result(r)->has_program ? sampling_result(r)->status : EXIT_OK;
	}
out:
	sampling_close(r);
	keep_close(k);
	return code;
}
