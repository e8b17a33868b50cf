/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/penalties.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file_in.h"
#include "base/xalloc.h"
#include "cli/verdicts.h"

#define PENALTIES_MAX ((size_t)1 << 20)

/* The file of this machine, if the recording is of its CPU model and kernel. */
static const char *kept_path(struct cli *cli, const struct pd_info *i, struct err *err)
{
	struct validate_kept k;
	struct machine here;

	if (cli->opt.model || !verdicts_is_here(&here, cli, i, err) ||
	    (cli_verdicts(cli, &here, &k, NULL) && !k.path))
		return NULL;
	return k.path ? verdicts_beside(cli, &k, "penalties") : NULL;
}

static void read_kept(struct penalties *p, struct cli *cli, const struct pd_info *i)
{
	struct err why = ERR_INIT;
	const char *path = kept_path(cli, i, &why);
	struct buf day = BUF_INIT;
	struct stat st;

	if (!path || !file_look(path, &st) || !S_ISREG(st.st_mode))
		return;
	p->path = path;
	p->kept = true;
	if (file_slurp(&p->text, path, PENALTIES_MAX, &why)) {
		penalties_leave_out(p, cli, &why);
		return;
	}
	validate_kept_day(&day, (uint64_t)st.st_mtim.tv_sec);
	p->says = arena_xprintf(&cli->arena, "penalties measured here on %s (%s)", buf_str(&day),
				path);
	buf_free(&day);
}

int penalties_read(struct penalties *out, struct cli *cli, const struct pd_info *i, struct err *err)
{
	const char *asked = cli->opt.penalties;

	*out = (struct penalties){ .text = BUF_INIT };
	if (!asked)
		read_kept(out, cli, i);
	if (!asked || !strcmp(asked, "none"))
		return 0;
	out->path = asked;
	if (file_slurp(&out->text, asked, PENALTIES_MAX, err))
		return -1;
	out->says = arena_xprintf(&cli->arena, "penalties of %s", asked);
	return 0;
}

void penalties_leave_out(struct penalties *p, struct cli *cli, const struct err *why)
{
	cli_note(cli, "what calibrate kept is not used: %s", why->what);
	p->path = p->says = NULL;
}

void penalties_free(struct penalties *p)
{
	buf_free(&p->text);
}
