/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "cli/verdicts.h"

#include <math.h>
#include <string.h>
#include <time.h>

int cli_verdicts(struct cli *cli, const struct machine *machine, struct validate_kept *out,
		 struct err *err)
{
	const char *dir = cli_data_dir(cli), *root = cli->opt.sysroot ? cli->opt.sysroot : "";
	struct machine m;

	*out = (struct validate_kept){ .when = 0 };
	if (!dir)
		return 0;
	if (!machine) {
		if (machine_read_parts(&m, &cli->arena, root, MACHINE_NAMES | MACHINE_MODEL, err))
			return -1;
		machine = &m;
	}
	if (!machine->cpuid)
		return 0;
	if (validate_kept_path(out, &cli->arena, dir, machine, root, err))
		return -1;
	return validate_kept_read(out, &cli->arena, err);
}

const char *cli_verdicts_nowhere(const struct machine *m)
{
	return m->cpuid ? "HOME and XDG_DATA_HOME are not set, or another user's"
			: "/proc/cpuinfo does not say which CPU this is";
}

const struct validate_kept *cli_verdicts_noted(struct cli *cli)
{
	struct validate_kept *k = arena_alloc(&cli->arena, sizeof(*k));
	struct err err = ERR_INIT;

	if (k && cli_verdicts(cli, NULL, k, &err))
		cli_note(cli, "verdicts on events are not used: %s", err.what);
	return k;
}

const char *verdicts_beside(struct cli *cli, const struct validate_kept *k, const char *folder)
{
	const char *dir = cli_data_dir(cli);

	return dir ? arena_printf(&cli->arena, "%s/%s/%s", dir, folder, path_base(k->path)) : NULL;
}

const char *verdicts_of(struct cli *cli, const struct validate_kept *k, const char *event)
{
	const struct validate_verdict_kept *v = validate_kept_find(k, event);
	struct buf b = BUF_INIT;
	const char *text;

	if (!v) {
		buf_puts(&b, "not validated here");
	} else {
		buf_puts(&b, validate_verdict_key[v->verdict]);
		if (v->verdict == VALIDATE_WITHIN && !isnan(v->deviation))
			buf_printf(&b, " %.2g %%", 100 * v->deviation);
		if (*v->text)
			buf_printf(&b, ": %s", v->text);
		buf_puts(&b, " (validated ");
		validate_kept_day(&b, k->when);
		buf_putc(&b, ')');
	}
	text = b.failed ? NULL : arena_strdup(&cli->arena, buf_str(&b));
	buf_free(&b);
	return text;
}

bool verdicts_is_here(struct machine *here, struct cli *cli, const struct pd_info *i,
		      struct err *why)
{
	return i->cpuid && i->os_release &&
	       !machine_read_parts(here, &cli->arena, "", MACHINE_NAMES | MACHINE_MODEL, why) &&
	       here->cpuid && here->release && !strcmp(i->cpuid, here->cpuid) &&
	       !strcmp(i->os_release, here->release);
}

static const char *failed(struct cli *cli, const struct validate_verdict_kept *v, const char *event)
{
	return arena_xprintf(&cli->arena, "%s%sfailed validation here: %s%s%s", event,
			     *event ? " " : "", validate_verdict_key[v->verdict],
			     *v->text ? ", " : "", v->text);
}

void verdicts_notes(const char *const **note, size_t *n, struct cli *cli, const struct pd *rec,
		    size_t event)
{
	struct err why = ERR_INIT;
	struct validate_kept k;
	struct machine here;
	size_t n_events;
	const struct pd_event *e = pd_events(rec, &n_events);
	const char **out;

	*n = 0;
	if (!verdicts_is_here(&here, cli, pd_info(rec), &why) ||
	    cli_verdicts(cli, &here, &k, &why) || !k.n)
		return;
	*note = out = arena_xalloc(&cli->arena, (n_events + 1) * sizeof(*out));
	for (size_t i = 0; i < n_events; i++) {
		const struct validate_verdict_kept *v = validate_kept_find(&k, e[i].name);

		if ((event != SIZE_MAX && i != event) || !v || !validate_failed(v->verdict))
			continue;
		out[(*n)++] = failed(cli, v, e[i].name);
	}
}

const char *const *verdicts_wrong(struct cli *cli, const struct pd_info *i, const struct model *m)
{
	struct err why = ERR_INIT;
	struct validate_kept k;
	struct machine here;
	const char **wrong;

	if (!verdicts_is_here(&here, cli, i, &why) || cli_verdicts(cli, &here, &k, &why) || !k.n)
		return NULL;
	wrong = arena_xalloc(&cli->arena, (m->n_events + 1) * sizeof(*wrong));
	for (size_t e = 0; e < m->n_events; e++) {
		const struct validate_verdict_kept *v = validate_kept_find(&k, m->event[e].name);

		if (v && validate_failed(v->verdict))
			wrong[e] = failed(cli, v, "");
	}
	return wrong;
}
