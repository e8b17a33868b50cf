/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulate - the tree of a program on a machine without counters: a model of a core follows it.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "cli/inputs.h"
#include "cli/model_choice.h"
#include "cli/recordings/result.h"
#include "config.h"
#include "report/simulated.h"
#include "symbol/heap_fit.h"

#define EMULATOR "qemu-x86_64"
#define FALLBACK "zen4"
#define ROWS	 12

/* The model that was named, else this machine's, else FALLBACK. */
static int choose_machine(struct cli *cli, struct core **out, struct err *err)
{
	struct model_choice choice = cli_model_choice(cli);
	struct model_sources sources = cli_model_sources(cli);
	struct err own = ERR_INIT;
	const char *id;

	if (choice.named)
		return model_choice_id(&choice, NULL, NULL, &id, err) ||
				       core_load(out, &cli->arena, &sources, id, err) ||
				       sim_core_check(*out, err)
			       ? -1
			       : 0;
	if (!model_choice_id(&choice, NULL, NULL, &id, &own) &&
	    !core_load(out, &cli->arena, &sources, id, &own) && !sim_core_check(*out, &own))
		return 0;
	cli_note(cli, "no model of this machine's core can be followed (%s): it is modelled as %s",
		 own.what, FALLBACK);
	return core_load(out, &cli->arena, &sources, FALLBACK, err) || sim_core_check(*out, err)
		       ? -1
		       : 0;
}

/* QEMU takes a program of its architecture, by its path. */
static int check_program(const char *path, const char *name, struct err *err)
{
	char interpreter[HEAP_FIT_NAME];
	Elf64_Ehdr head = { 0 };
	struct file_map map;
	bool script;

	if (file_map_open(&map, path, err))
		return -1;
	memcpy(&head, map.p, map.len < sizeof(head) ? map.len : sizeof(head));
	script = heap_fit(map.p, map.len, interpreter) == HEAP_FIT_SCRIPT;
	file_map_close(&map);
	if (script) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "%s is a script: simulate follows one program, not those it starts",
			      name);
		/* env becomes the interpreter, which is not followed */
		return err_hint(err, "name its interpreter: cyclade simulate -- %.200s %s",
				strcmp(path_base(interpreter), "env") ? interpreter : "INTERPRETER",
				name);
	}
	if (!memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_machine == EM_X86_64)
		return 0;
	return err_set(err, ERR_UNSUPPORTED, "%s is no program of x86-64, which simulate follows",
		       name);
}

static int find_parts(struct cli *cli, struct simulate_opts *o, char *program, char *qemu,
		      struct err *err)
{
	const char **argv = arena_alloc(&cli->arena, (cli->args.n + 1) * sizeof(*argv));

	if (!argv)
		return err_nomem(err);
	if (!cli->args.n) {
		(void)err_set(err, ERR_USAGE, "no program was named");
		return err_hint(err, "cyclade simulate -- PROGRAM [ARGUMENTS]");
	}
	if (!cli_program_path(program, cli->args.v[0]) || !file_is_regular(program)) {
		(void)err_set(err, ERR_EXEC, "%s: there is no such program", cli->args.v[0]);
		err->sys_errno = ENOENT;
		return -1;
	}
	if (check_program(program, cli->args.v[0], err))
		return -1;
	memcpy(argv, cli->args.v, cli->args.n * sizeof(*argv));
	argv[0] = program;
	argv[cli->args.n] = NULL;
	o->argv = argv;
	if (!cli_program_path(qemu, EMULATOR)) {
		(void)err_set(err, ERR_NOT_FOUND,
			      "simulate needs " EMULATOR ", QEMU's emulation of programs");
		return err_hint(err, "apt install qemu-user");
	}
	o->qemu = qemu;
	o->plugin = cli_companion(cli, "../simulate/cyclade-simulate.so", SIMULATE_BESIDE,
				  SIMULATE_INSTALLED);
	if (!o->plugin)
		return err_set(err, ERR_NOT_FOUND, "simulate needs %s, which is not there",
			       SIMULATE_INSTALLED);
	if (strchr(o->plugin, ','))
		return err_set(err, ERR_UNSUPPORTED,
			       "simulate: QEMU takes no path with a comma: %s", o->plugin);
	return 0;
}

static void show_progress(void *ctx, uint64_t insns)
{
	char line[CLI_PROGRESS_WIDE + 1], n[NUM_MAX];

	(void)snprintf(line, sizeof(line), "%s instructions", num_count(n, (double)insns));
	cli_progress_line(ctx, line);
}

static int save(struct cli *cli, const struct simulate *s, const char *path, struct err *err)
{
	struct buf tree = BUF_INIT;
	uint64_t samples;
	int rc;

	simulated_tree_write(&tree, s);
	rc = tree.failed ? err_nomem(err)
			 : simulate_save(s, path, !cli->opt.data_file, &tree, cli->args.v, &samples,
					 err);
	buf_free(&tree);
	return rc;
}

/* How it ended, for people and as an exit code. */
static int end_of(struct cli *cli, const struct simulate *s)
{
	if (s->became)
		cli_warn("%s became another program, which was not followed", cli->args.v[0]);
	if (s->w.killed_by)
		cli_warn("%s was ended by signal %d; the result goes up to there", cli->args.v[0],
			 s->w.killed_by);
	return s->w.status;
}

int cmd_simulate(struct cli *cli)
{
	const char *path = cli->opt.data_file ? cli->opt.data_file : "cyclade.data";
	char program[CLI_PATH_MAX] = "", qemu[CLI_PATH_MAX];
	struct simulate_opts o = { .progress = show_progress, .ctx = cli };
	struct simulate *s = NULL;
	struct core *machine = NULL;
	struct err err = ERR_INIT;
	struct show show;
	sigset_t mask;
	int code = EXIT_TOOL, status;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	o.mask = &mask;
	if (cli_show(cli, &show, result_kinds[RESULT_FUNCTIONS].form, &err) ||
	    find_parts(cli, &o, program, qemu, &err) || choose_machine(cli, &machine, &err))
		goto fail;
	o.machine = machine;
	if (simulate_open(&s, &o, &err) || simulate_run(s, &err))
		goto fail;
	cli_progress_end(cli);
	if (!s->counts.insns) {
		(void)err_set(&err, ERR_UNSUPPORTED, "%s did not run %s: the reason is above", qemu,
			      cli->args.v[0]);
		(void)err_hint(&err,
			       "a QEMU without -plugin (a static one, as of Debian 13) cannot "
			       "be followed");
		goto fail;
	}
	if (save(cli, s, path, &err))
		goto fail;
	status = end_of(cli, s);
	simulate_close(s);
	cli->opt.input = path;
	cli->args.n = 0;
	if (!cli->opt.limit && !strcmp(cli_format(cli), "term"))
		cli->opt.limit = ROWS;
	code = result_command(cli, RESULT_FUNCTIONS, cli_one_recording);
	return code ? EXIT_TOOL : status;
fail:
	cli_progress_end(cli);
	simulate_close(s);
	return cli_fail_as(&err, err.code != ERR_EXEC	   ? code
				 : err.sys_errno == ENOENT ? EXIT_ABSENT
							   : EXIT_CANNOT);
}
