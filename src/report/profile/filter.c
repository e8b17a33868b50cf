/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/xalloc.h"
#include "report/profile/view_parts.h"

static int compile(regex_t *re, const char *pattern, const char *option, struct err *err)
{
	char why[128];
	int rc = regcomp(re, pattern, REG_EXTENDED | REG_NOSUB);

	if (!rc)
		return 0;
	(void)regerror(rc, re, why, sizeof(why));
	(void)err_set(err, ERR_USAGE, "%s '%.60s' is no extended regular expression: %s", option,
		      pattern, why);
	return err_hint(err,
			"put \\ before a character that is meant as itself: ( ) [ + * ? { | .");
}

int filter_init(struct filter *f, const struct view *v, struct err *err)
{
	*f = (struct filter){ .profile = v->profile };
	if (v->opts.focus) {
		if (compile(&f->focus, v->opts.focus, "--focus", err))
			return -1;
		f->has_focus = true;
	}
	if (v->opts.hide) {
		if (compile(&f->hide, v->opts.hide, "--hide", err))
			return -1;
		f->has_hide = true;
	}
	f->n_strings = profile_strings(v->profile)->n;
	f->seen = xcalloc(f->n_strings, 1);
	return 0;
}

void filter_free(struct filter *f)
{
	if (f->has_focus)
		regfree(&f->focus);
	if (f->has_hide)
		regfree(&f->hide);
	free(f->seen);
	*f = (struct filter){ 0 };
}

unsigned filter_text(const struct filter *f, const char *s)
{
	unsigned bits = 0;

	if (f->has_focus && !regexec(&f->focus, s, 0, NULL, 0))
		bits |= FILTER_FOCUS;
	if (f->has_hide && !regexec(&f->hide, s, 0, NULL, 0))
		bits |= FILTER_HIDE;
	return bits;
}

unsigned filter_string(struct filter *f, uint32_t id)
{
	if (id >= f->n_strings || (!f->has_focus && !f->has_hide))
		return 0;
	if (!f->seen[id])
		f->seen[id] = (uint8_t)(1 | filter_text(f, profile_text(f->profile, id)));
	return f->seen[id] & (FILTER_FOCUS | FILTER_HIDE);
}
