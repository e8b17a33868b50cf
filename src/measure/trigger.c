/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/trigger.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "collect/sysfs.h"

#define EVERY 1000000000u /* ns */

static const struct value {
	const char *name, *file, *key;
	unsigned field;
	double per;
} values[] = {
#define TRIGGER(name, file, key, field, per) { name, file, key, field, per },
#include "measure/trigger.def"
#undef TRIGGER
};

#define N_VALUES (sizeof(values) / sizeof(*values))

struct trigger {
	const struct value *value;
	char root[4096];
	double limit, last; /* last: of a count; NAN: none yet */
	uint64_t at;	    /* of the last look; 0: none yet */
	bool less, equal, was;
};

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12": a field may have a name. */
static double number_of(const char *line, unsigned field)
{
	for (unsigned i = 0; i < field; i++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	line += strspn(line, "abcdefghijklmnopqrstuvwxyz");
	line += *line == '=';
	return isdigit((unsigned char)*line) ? strtod(line, NULL) : NAN;
}

static double look(const struct trigger *t)
{
	char text[65536];
	size_t len = strlen(t->value->key);

	if (sys_read(text, sizeof(text), t->root, "%s", t->value->file) <= 0)
		return NAN;
	if (!len)
		return number_of(text, t->value->field);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, t->value->key, len) && line[len] == ' ')
			return number_of(line, t->value->field);
	}
	return NAN;
}

static int no_value(const char *text, struct err *err)
{
	struct buf names = BUF_INIT;

	for (size_t i = 0; i < N_VALUES; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", values[i].name);
	(void)err_set(err, ERR_USAGE, "'%.60s' is no condition such as 'load > 8'", text);
	(void)err_hint(err, "%s; with > >= < <= and a number", buf_str(&names));
	buf_free(&names);
	return -1;
}

static int parse(struct trigger *t, const char *text, struct err *err)
{
	const char *at = text + strspn(text, " ");
	size_t len = strcspn(at, " <>="), end;
	char number[32];

	for (size_t i = 0; i < N_VALUES; i++)
		if (strlen(values[i].name) == len && !memcmp(values[i].name, at, len))
			t->value = &values[i];
	at += len;
	at += strspn(at, " ");
	if (!t->value || (*at != '<' && *at != '>'))
		return no_value(text, err);
	t->less = *at++ == '<';
	t->equal = *at == '=';
	at += t->equal;
	at += strspn(at, " ");
	end = strlen(at);
	while (end && (at[end - 1] == ' ' || at[end - 1] == '%'))
		end--;
	if (!end || end >= sizeof(number))
		return no_value(text, err);
	memcpy(number, at, end);
	number[end] = '\0';
	return num_parse_double(&t->limit, number, NULL) ? no_value(text, err) : 0;
}

int trigger_open(struct trigger **out, const char *text, const char *root, struct err *err)
{
	struct trigger *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return err_nomem(err);
	if (strlen(root) >= sizeof(t->root))
		return err_set(err, ERR_USAGE, "the path of --sysroot is too long");
	memcpy(t->root, root, strlen(root) + 1);
	t->last = NAN;
	if (parse(t, text, err))
		return -1;
	if (isnan(look(t)))
		return err_set(err, ERR_UNSUPPORTED, "this kernel has no %s (%s/%s)",
			       t->value->name, root, t->value->file);
	return 0;
}

bool trigger_fires(struct trigger *t, uint64_t now)
{
	double v, count;
	bool is, was = t->was;

	if (t->at && now - t->at < EVERY)
		return false;
	v = count = look(t);
	if (t->value->per > 0)
		v = t->at ? (count - t->last) / ((double)(now - t->at) / 1e9) / t->value->per : NAN;
	t->last = count;
	t->at = now;
	if (isnan(v))
		return false;
	is = t->less ? v < t->limit : v > t->limit;
	is |= t->equal && !(v < t->limit) && !(v > t->limit);
	t->was = is;
	return is && !was;
}

void trigger_close(struct trigger *t)
{
	free(t);
}
