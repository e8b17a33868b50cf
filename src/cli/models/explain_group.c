/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain of a group of metrics: what is in it, and how to count it.
 */
#include <string.h>

#include "cli/models/explain_int.h"
#include "model/groups.h"

#define GROUP_COLUMN 36

bool explain_is_group(const struct explain *x, const char *name)
{
	return model_group_count(x->m, name, strlen(name)) > 0;
}

/* One line of a member: its name, and what it says. */
static void put_member(struct explain *x, const struct model_metric *t)
{
	const char *says = *t->says ? t->says : t->text;
	size_t n = strlen(t->name);

	buf_puts(&x->b, "  ");
	buf_puts(&x->b, t->name);
	buf_fill(&x->b, ' ', n < GROUP_COLUMN ? GROUP_COLUMN - n : 1);
	explain_wrapped(x, says, GROUP_COLUMN + 2 > n + 3 ? GROUP_COLUMN + 2 : n + 3);
}

void explain_group(struct explain *x, const char *name)
{
	const uint32_t *member;
	size_t n = model_group_members(&member, &x->cli->arena, x->m, name, strlen(name));

	explain_title(x, name, "group");
	if (!strcasecmp(name, MODEL_BOTTLENECKS))
		explain_fact(
			x, "says",
			"The slots by cause: each bottleneck gathers what one cause costs in all "
			"branches of the tree, useful work included. Together they are 100 %.");
	for (size_t i = 0; i < n; i++)
		put_member(x, &x->m->metric[member[i]]);
	if (!x->cli->opt.quiet) {
		explain_label(x, "next");
		buf_printf(&x->b, "cyclade stat -M %s -- ./prog\n", name);
	}
}

void explain_group_json(struct explain *x, struct json *j, const char *name)
{
	const uint32_t *member;
	size_t n = model_group_members(&member, &x->cli->arena, x->m, name, strlen(name));

	json_str(j, "name", name);
	json_array(j, "members");
	for (size_t i = 0; i < n; i++)
		json_str(j, NULL, x->m->metric[member[i]].name);
	json_end_array(j);
}
