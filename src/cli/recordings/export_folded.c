/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folded stacks of two recordings: a line for each stack with its weight in both, 0 if one has
 * none. difffolded.pl writes such lines too, and flamegraph.pl colours frames by the difference.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "cli/recordings/export_int.h"
#include "cli/recordings/result.h"
#include "report/rows.h"

struct weight {
	uint64_t of[2];
};

struct stacks {
	struct strtab name;
	VEC(struct weight) weight; /* by id of the name */
};

/* The output of report --format folded. */
static int fold_recording(struct buf *out, struct cli *cli, const char *path, struct err *err)
{
	struct recording r = { 0 };
	struct result_shared shared = { .own = NULL };
	struct result x = { .own = NULL };
	struct show show;
	const struct result_ask ask = { .cli = cli,
					.r = &r,
					.said = { .path = path, .input = path },
					.show = &show,
					.shared = &shared };
	int rc = show_choose(&show, &rows_document, "folded", NULL, err);

	if (!rc)
		rc = recording_open(&r, cli, path, err) || report_make(&x, &ask, err) ||
				     rows_folded(out, &x.d, &show, err) || buf_error(out, err)
			     ? -1
			     : 0;
	cli_progress_end(cli);
	if (!rc)
		cli_say_unsaid(&x.d, &show, true);
	result_free(&x);
	result_shared_free(&shared);
	recording_close(&r);
	return rc;
}

/* Adds the lines of a side. The weight is behind the last blank. */
static void add_lines(struct stacks *s, char *text, size_t side)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *blank = strrchr(line, ' ');
		uint32_t id;

		if (!blank)
			continue;
		id = strtab_xadd(&s->name, line, (size_t)(blank - line));
		while (s->weight.n <= id)
			vec_xpush(&s->weight, (struct weight){ { 0 } });
		s->weight.v[id].of[side] += strtoull(blank + 1, NULL, 10);
	}
}

int export_folded_pair(struct cli *cli)
{
	struct stacks s = { .weight = VEC_INIT };
	struct err err = ERR_INIT;
	struct cli_out out;
	int code = 0;

	cli_out_open(&out, cli, true);
	for (size_t side = 0; !code && side < 2; side++) {
		struct buf text = BUF_INIT;

		code = fold_recording(&text, cli, cli->args.v[side], &err);
		if (!code && text.len)
			add_lines(&s, text.s, side);
		buf_free(&text);
	}
	for (size_t i = 0; !code && i < s.weight.n; i++) {
		const uint64_t *w = s.weight.v[i].of;

		if (w[0] || w[1])
			buf_printf(&out.text, "%s %" PRIu64 " %" PRIu64 "\n",
				   strtab_get(&s.name, (uint32_t)i), w[0], w[1]);
		buf_spill(&out.text);
	}
	code = code ? cli_out_fail(&out, &err) : cli_out_put(&out);
	strtab_free(&s.name);
	vec_free(&s.weight);
	return code;
}
