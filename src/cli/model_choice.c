/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_choice.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

struct model_choice cli_model_choice(struct cli *cli)
{
	return (struct model_choice){ .a = &cli->arena,
				      .named = cli->opt.model,
				      .dirs = cli->opt.models,
				      .root = cli->opt.sysroot ? cli->opt.sysroot : "" };
}

struct model_sources cli_model_sources(const struct cli *cli)
{
	return (struct model_sources){ .dir = cli->opt.models.v, .n_dirs = cli->opt.models.n };
}

int cli_model(struct cli *cli, const struct machine *machine, const char *pmu, struct model **out,
	      struct err *err)
{
	struct model_choice c = cli_model_choice(cli);

	return model_choice_load(&c, machine, pmu, NULL, out, err);
}

int cli_model_name(struct cli *cli, struct err *err)
{
	struct model_sources s = cli_model_sources(cli);
	struct err several = ERR_INIT;
	const char *id;

	if (!cli->opt.model)
		return 0;
	if (!model_named(&id, &cli->arena, &s, cli->opt.model, NULL, &several))
		cli->opt.model = id;
	else if (several.code != ERR_USAGE) /* which kind of cores may be known later */
		return err_set(err, several.code, "%s", several.what);
	return 0;
}

int cli_cpu_or_model(struct cli *cli, struct err *err)
{
	struct options *o = &cli->opt;

	if (!o->measure.cpu || !isalpha((unsigned char)*o->measure.cpu))
		return 0;
	if (o->model && strcmp(o->model, o->measure.cpu) != 0) {
		(void)err_set(err, ERR_USAGE, "--cpu %.40s and --model %.40s name two models",
			      o->measure.cpu, o->model);
		return err_hint(err, "CPUs are numbers: --cpu 0-3,8");
	}
	o->model = o->measure.cpu;
	o->measure.cpu = NULL;
	return cli_model_name(cli, err);
}
