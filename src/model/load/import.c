/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/import.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nomem.h"
#include "model/load/import_int.h"

enum { TEXT_MODEL, TEXT_TREE, TEXT_METRICS, TEXT_EVENTS };

/* ---- shared by the files ---------------------------------------------------------------- */

uint64_t import_key(const char *name, size_t len)
{
	char small[IMPORT_NAME_MAX + 1];
	size_t n = len < sizeof(small) ? len : sizeof(small);

	for (size_t i = 0; i < n; i++)
		small[i] = (char)tolower((unsigned char)name[i]);
	return hash_bytes(small, n);
}

void import_note(struct importer *im, const char *fmt, ...)
{
	char text[400];
	const char *copy;
	va_list ap;

	if (im->notes.n >= IMPORT_NOTES_MAX) {
		im->notes_more++;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = arena_strdup(im->a, text);
	if (!copy || vec_push(&im->notes, copy))
		im->nomem = true;
}

const char *import_text(struct importer *im, const cJSON *o, const char *key)
{
	const cJSON *v = o ? cJSON_GetObjectItem(o, key) : NULL;
	const char *s = NULL;
	char *out;
	size_t n;

	if (cJSON_IsNumber(v))
		return arena_printf(im->a, "%.15g", v->valuedouble);
	if (cJSON_IsString(v))
		s = v->valuestring;
	if (!s)
		return NULL;
	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	if (n > IMPORT_VALUE_MAX)
		return NULL;
	out = arena_strndup(im->a, s, n);
	for (char *c = out; c && *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	return out;
}

uint64_t import_number(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItem(o, key);

	if (cJSON_IsNumber(v))
		return v->valuedouble > 0 && v->valuedouble < 1e18 ? (uint64_t)v->valuedouble : 0;
	if (cJSON_IsBool(v))
		return cJSON_IsTrue(v) ? 1 : 0;
	return cJSON_IsString(v) ? strtoull(v->valuestring, NULL, 0) : 0;
}

bool import_name_fits(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > IMPORT_NAME_MAX || *name == '#' || !strcmp(name, "base"))
		return false;
	for (size_t i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~' || strchr("\"'/:@", name[i]))
			return false;
	return true;
}

/* ---- files ------------------------------------------------------------------------------ */

static int add_imported_event(struct importer *im, const cJSON *o, bool code_only)
{
	const char *name = import_text(im, o, "EventName");
	struct import_event e = { .name = name, .json = o };
	uint64_t *at;
	bool fresh;

	if (!name || !import_text(im, o, "EventCode") || cJSON_GetObjectItem(o, "BitName") ||
	    cJSON_GetObjectItem(o, "MATRIX_REQUEST"))
		return 0;
	if (!import_name_fits(name)) {
		import_note(im, "%.60s: no name for an event", name);
		return 0;
	}
	if (code_only)
		return vec_push(&im->codes, e);
	at = u64map_at(&im->event_at, import_key(name, strlen(name)), &fresh);
	if (!at)
		return -1;
	if (fresh) {
		*at = im->events.n;
		return vec_push(&im->events, e);
	}
	if (!import_number(o, "Deprecated"))
		im->events.v[*at] = e;
	return 0;
}

/* {"ArchStdEvent": "L1D_CACHE"}: its code is in one of the files of all Arm CPUs. */
static int add_standard(struct importer *im, const char *name)
{
	for (size_t i = 0; i < im->codes.n; i++) {
		bool fresh;
		uint64_t *at;

		if (strcasecmp(im->codes.v[i].name, name) != 0)
			continue;
		at = u64map_at(&im->event_at, import_key(name, strlen(name)), &fresh);
		if (!at)
			return -1;
		if (!fresh)
			return 0;
		*at = im->events.n;
		return vec_push(&im->events, im->codes.v[i]);
	}
	if (islower((unsigned char)*name)) /* a metric of all Arm CPUs */
		return 0;
	import_note(im,
		    "%.60s: recommended.json or common-and-microarch.json has it: name "
		    "that file, too",
		    name);
	return 0;
}

static bool is_common(const char *file)
{
	const char *base = strrchr(file, '/');

	base = base ? base + 1 : file;
	return !strcmp(base, "recommended.json") || !strcmp(base, "common-and-microarch.json");
}

static int take_array(struct importer *im, const cJSON *array, const char *file, bool standard,
		      struct err *err)
{
	bool amd = strstr(file, "amdzen") != NULL;
	const cJSON *o;

	cJSON_ArrayForEach(o, array)
	{
		const char *std = standard ? import_text(im, o, "ArchStdEvent") : NULL;

		if (!cJSON_IsObject(o))
			continue;
		if (im->events.n + im->metrics.n + im->codes.n > IMPORT_ENTRIES_MAX)
			return err_set(err, ERR_LIMIT, "%s: more than %u events and metrics", file,
				       IMPORT_ENTRIES_MAX);
		if (standard) {
			if (std && add_standard(im, std))
				return err_nomem(err);
			continue;
		}
		/* the recommended ones of AMD are events of its own */
		if (add_imported_event(
			    im, o, is_common(file) && !amd && !cJSON_GetObjectItem(o, "UMask")) ||
		    import_metric_add(im, o, file))
			return err_nomem(err);
	}
	return 0;
}

/* A list, or an object with lists Events or Metrics. */
static int take_root(struct importer *im, const cJSON *root, const char *file, bool standard,
		     struct err *err)
{
	const cJSON *events = cJSON_GetObjectItem(root, "Events");
	const cJSON *metrics = cJSON_GetObjectItem(root, "Metrics");

	if (cJSON_IsArray(root))
		return take_array(im, root, file, standard, err);
	return (events && take_array(im, events, file, standard, err)) ||
			       (metrics && take_array(im, metrics, file, standard, err))
		       ? -1
		       : 0;
}

static cJSON *parse(const struct import_file *f, struct err *err)
{
	const char *end = NULL, *s = f->s;
	size_t len = f->len, line = 1;
	cJSON *root;

	if (len >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) {
		s += 3;
		len -= 3;
	}
	nomem_begin();
	root = cJSON_ParseWithLengthOpts(s, len, &end, false);
	nomem_end();
	if (root)
		return root;
	for (const char *c = s; end && c < end && c < s + len; c++)
		line += *c == '\n';
	(void)err_set(err, ERR_FORMAT, "%s:%zu: this is no JSON", f->name, line);
	return NULL;
}

/* ---- whose CPU it is -------------------------------------------------------------------- */

static void find_kind(struct importer *im, const struct import_file *file, size_t n)
{
	bool counters = false;

	im->kind = IMPORT_AMD;
	for (size_t i = 0; i < im->events.n && !counters; i++)
		counters = cJSON_GetObjectItem(im->events.v[i].json, "Counter") != NULL;
	if (counters)
		im->kind = IMPORT_INTEL;
	else if (im->codes.n)
		im->kind = IMPORT_ARM;
	for (size_t i = 0; i < n; i++)
		if (strstr(file[i].name, "arm64") && !counters)
			im->kind = IMPORT_ARM;
	if (im->facts->known && !counters)
		im->kind = !strcmp(im->facts->known->vendor, "arm") ? IMPORT_ARM : im->kind;
}

static bool asks_for(const struct importer *im, const char *name)
{
	for (size_t i = 0; i < im->metrics.n; i++)
		if (strcasestr(im->metrics.v[i].expr, name))
			return true;
	return false;
}

static void find_facts(struct importer *im)
{
	const struct model *known = im->facts->known;

	im->counters = im->counters_alone = 6;
	im->fixed = im->kind == IMPORT_ARM;
	if (im->kind == IMPORT_INTEL)
		import_count_counters(im);
	if (known) {
		im->counters = known->counters;
		im->counters_alone = known->counters_alone;
		im->fixed_from_1 = known->fixed < 64 && im->fixed_named >> known->fixed & 1;
		im->fixed = known->fixed;
		im->fixed_level = known->fixed_level;
	} else if (im->kind == IMPORT_INTEL) {
		im->fixed_level = asks_for(im, "PERF_METRICS.HEAVY_OPERATIONS") ? 2
				  : asks_for(im, "PERF_METRICS.RETIRING")	? 1
										: 0;
	}
}

/* Fields of PERF_METRICS, in the order of their codes; no event file has them. */
static const char *const fields[] = {
	"PERF_METRICS.RETIRING",	 "PERF_METRICS.BAD_SPECULATION",
	"PERF_METRICS.FRONTEND_BOUND",	 "PERF_METRICS.BACKEND_BOUND",
	"PERF_METRICS.HEAVY_OPERATIONS", "PERF_METRICS.BRANCH_MISPREDICTS",
	"PERF_METRICS.FETCH_LATENCY",	 "PERF_METRICS.MEMORY_BOUND",
};

/* ---- texts ------------------------------------------------------------------------------ */

static const char *const vendors[] = { "intel", "amd", "arm" };

static void put_from(struct buf *b, const struct import_file *file, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_puts(b, "#From ");
		for (const char *s = file[i].name; *s; s++)
			buf_putc(b, iscntrl((unsigned char)*s) ? '?' : *s);
		buf_putc(b, '\n');
	}
}

static void put_imported_facts(struct buf *b, const struct importer *im)
{
	const struct model *k = im->facts->known;

	buf_printf(b, "title        %s\nvendor       %s\nlanguage     sheet\n",
		   k ? k->title : im->facts->id, k ? k->vendor : vendors[im->kind]);
	buf_printf(b, "from         imported\ncounters     %u %u\nfixed        %u\n",
		   im->counters ? im->counters : 4, im->counters_alone ? im->counters_alone : 4,
		   im->fixed);
	if (im->fixed_level)
		buf_printf(b, "perf_metrics %u\n", im->fixed_level);
	if (k && k->width)
		buf_printf(b, "width        %u\n", k->width);
	if (k && k->per_core)
		buf_puts(b, "per_core\n");
}

static int by_imported_name(const void *a, const void *b)
{
	const struct import_event *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void put_imported_events(struct buf *b, struct importer *im)
{
	vec_sort(&im->events, by_imported_name);
	for (size_t i = 0; i < im->events.n; i++)
		buf_printf(b, "%s %s\n", im->events.v[i].name, im->events.v[i].rest);
	for (unsigned i = 0; i < 4 * im->fixed_level && i < 8; i++)
		buf_printf(b, "%s event=0x00,umask=0x%02x - 0 metric\n", fields[i], 0x80 + i);
}

/* Parents stand before their children: level by level. */
static void put_imported_rows(struct buf *b, struct model_imported *out, const struct importer *im,
			      bool nodes)
{
	bool perf = false;

	for (unsigned level = nodes; level <= (nodes ? 9 : 0); level++)
		for (size_t i = 0; i < im->metrics.n; i++) {
			const struct import_metric *m = &im->metrics.v[i];

			if (m->level != level)
				continue;
			if (m->perf != perf)
				buf_printf(b, "\nlanguage %s\n", m->perf ? "perf" : "sheet");
			perf = m->perf;
			import_metric_put(b, im, m);
			*(nodes ? &out->nodes : &out->metrics) += !m->dropped;
		}
	for (size_t i = 0; !nodes && i < im->absent.n; i++)
		buf_printf(b, "\nmetric %s\nabsent\n", im->absent.v[i]);
}

static int write_texts(struct model_imported *out, struct importer *im,
		       const struct import_file *file, size_t n, struct err *err)
{
	static const char *const names[] = { "model", "tree", "metrics", "events" };
	const char *vendor = im->facts->known ? im->facts->known->vendor : vendors[im->kind];
	struct buf b = BUF_INIT;

	for (int t = 0; t < 4; t++) {
		buf_reset(&b);
		put_from(&b, file, n);
		if (t == TEXT_MODEL)
			put_imported_facts(&b, im);
		else if (t == TEXT_EVENTS)
			put_imported_events(&b, im);
		else
			put_imported_rows(&b, out, im, t == TEXT_TREE);
		out->path[t] = arena_printf(im->a, "%s/%s/%s", vendor, im->facts->id, names[t]);
		out->text[t] = b.failed ? NULL : arena_strndup(im->a, buf_str(&b), b.len);
		if (!out->path[t] || !out->text[t]) {
			buf_free(&b);
			return err_nomem(err);
		}
	}
	buf_free(&b);
	return 0;
}

static int finish_notes(struct model_imported *out, struct importer *im, struct err *err)
{
	if (im->absent.n) {
		const char *text = arena_printf(im->a,
						"%zu names in formulas are in no file, the first "
						"is %s: what needs them has no value",
						im->absent.n, im->absent.v[0]);

		if (!text || vec_push(&im->notes, text))
			return err_nomem(err);
	}
	if (im->notes_more) {
		const char *text = arena_printf(im->a, "and %zu more of this kind", im->notes_more);

		if (!text || vec_push(&im->notes, text))
			return err_nomem(err);
	}
	if (im->notes.n)
		out->note = arena_memdup(im->a, im->notes.v, im->notes.n * sizeof(*im->notes.v));
	out->n_notes = im->notes.n;
	return out->note || !im->notes.n ? 0 : err_nomem(err);
}

/* ---- all of it -------------------------------------------------------------------------- */

static int all(struct model_imported *out, struct importer *im, cJSON **root,
	       const struct import_file *file, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		root[i] = parse(&file[i], err);
		if (!root[i] || take_root(im, root[i], file[i].name, false, err))
			return -1;
	}
	for (size_t i = 0; i < n; i++)
		if (take_root(im, root[i], file[i].name, true, err))
			return -1;
	if (!im->events.n && !im->metrics.n) {
		(void)err_set(err, ERR_FORMAT, "%s: no events and no metrics are in it",
			      n ? file[0].name : "nothing");
		return err_hint(err, "files of intel/perfmon, or of Linux' tools/perf/pmu-events");
	}
	find_kind(im, file, n);
	find_facts(im);
	for (unsigned i = 0; i < 4 * im->fixed_level && i < 8; i++) {
		if (!u64map_at(&im->event_at, import_key(fields[i], strlen(fields[i])), NULL))
			return err_nomem(err);
	}
	out->events = im->events.n;
	if (import_events(im, err) || import_metrics(im, err) || write_texts(out, im, file, n, err))
		return -1;
	return finish_notes(out, im, err);
}

int model_import(struct model_imported *out, struct arena *a, const struct import_file *file,
		 size_t n, const struct import_facts *facts, struct err *err)
{
	struct importer im = { .a = a, .facts = facts };
	cJSON **root = calloc(n + 1, sizeof(*root));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!root)
		return err_nomem(err);
	rc = all(out, &im, root, file, n, err);
	if (!rc && im.nomem)
		rc = err_nomem(err);
	for (size_t i = 0; i < n; i++)
		cJSON_Delete(root[i]);
	free(root);
	vec_free(&im.events);
	vec_free(&im.metrics);
	vec_free(&im.codes);
	vec_free(&im.notes);
	vec_free(&im.absent);
	u64map_free(&im.event_at);
	u64map_free(&im.metric_at);
	u64map_free(&im.absent_at);
	return rc;
}
