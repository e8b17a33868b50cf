/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_profile - a profile's rows as tab-separated text, straight from the library, for comparison
 * with other readers of the same recording.
 *
 *	dump_profile RECORDING KEYS [flat|bare|chains|functions] [THREADS]
 *
 * KEYS: comma-separated key names. flat: event, samples, period and the keys of each row. bare: the
 * same with no symbols at all, so that addresses are compared. chains: the tree's nodes, outermost
 * frame first, joined by ";". functions: self and total per function. Sums go to standard error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "analyse/profile.h"

static const char *const key_names[KEY_COUNT] = {
	[KEY_COMM] = "comm",	   [KEY_PID] = "pid",	    [KEY_TID] = "tid",
	[KEY_CPU] = "cpu",	   [KEY_DSO] = "dso",	    [KEY_SYM] = "sym",
	[KEY_SRCLINE] = "srcline", [KEY_INLINE] = "inline", [KEY_EVENT] = "event",
	[KEY_CGROUP] = "cgroup",   [KEY_ADDR] = "addr",	    [KEY_SOCKET] = "socket",
};

static bool is_number(enum profile_key k)
{
	return k == KEY_PID || k == KEY_TID || k == KEY_CPU || k == KEY_SOCKET || k == KEY_ADDR;
}

static int parse_keys(struct profile_opts *o, char *text)
{
	char *save = NULL;

	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		unsigned k = 0;

		while (k < KEY_COUNT && (!key_names[k] || strcmp(key_names[k], w) != 0))
			k++;
		if (k == KEY_COUNT || o->n_keys == KEY_COUNT)
			return -1;
		o->key[o->n_keys++] = (enum profile_key)k;
	}
	return 0;
}

static void dump_rows(const struct profile *p, const struct pd *rec)
{
	const struct profile_opts *o = profile_options(p);
	size_t n, n_events;
	const struct profile_row *rows = profile_rows(p, &n);
	const struct pd_event *ev = pd_events(rec, &n_events);

	/* told apart by event, a row has one tally, and its event's name among the keys */
	for (size_t k = 0; k < o->n_keys; k++)
		if (o->key[k] == KEY_EVENT)
			n_events = n_events ? 1 : 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t e = 0; e < n_events; e++) {
			const struct tally *t = profile_tally(&rows[i], e);

			if (!t->samples)
				continue;
			printf("%s\t%" PRIu64 "\t%" PRIu64, ev[e].name, t->samples, t->period);
			for (size_t k = 0; k < o->n_keys; k++) {
				if (is_number(o->key[k]))
					printf("\t%" PRIu64, rows[i].key[k]);
				else
					printf("\t%s", strtab_get(profile_strings(p),
								  (uint32_t)rows[i].key[k]));
			}
			printf("\n");
		}
	}
}

static void put_path(const struct profile *p, uint32_t node)
{
	const struct profile_chains *c = profile_chains(p);
	uint32_t *path = malloc((c->tree.n + 1) * sizeof(*path));
	size_t n = 0;

	if (!path)
		abort();
	for (; node; node = c->tree.node[node].parent)
		path[n++] = node;
	while (n--) {
		const struct profile_frame *f = &c->frame[c->tree.node[path[n]].frame];

		printf("%s!%s%s", strtab_get(profile_strings(p), f->dso),
		       f->symbol ? strtab_get(profile_strings(p), f->name) : "[unknown]",
		       n ? ";" : "\n");
	}
	free(path);
}

static void dump_chains(const struct profile *p)
{
	const struct profile_chains *c = profile_chains(p);
	size_t n_events;

	(void)profile_sums(p, &n_events);
	for (size_t e = 0; e < n_events; e++)
		for (uint32_t i = 1; i < c->tree.n; i++) {
			if (!c->self[e][i].samples)
				continue;
			printf("%" PRIu64 "\t%" PRIu64 "\t", c->self[e][i].samples,
			       c->self[e][i].period);
			put_path(p, i);
		}
}

static int dump_functions(const struct profile *p, struct err *err)
{
	const struct profile_chains *c = profile_chains(p);
	size_t n_events;

	(void)profile_sums(p, &n_events);
	for (size_t e = 0; e < n_events; e++) {
		struct profile_function *f;
		size_t n;

		if (profile_functions(p, e, &f, &n, err))
			return -1;
		for (size_t i = 0; i < n; i++)
			printf("%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", f[i].self.period,
			       f[i].total.period,
			       strtab_get(profile_strings(p), c->frame[f[i].frame].dso),
			       strtab_get(profile_strings(p), c->frame[f[i].frame].name));
		free(f);
	}
	return 0;
}

static void dump_sums(const struct profile *p)
{
	size_t n;
	const struct profile_sum *s = profile_sums(p, &n);

	for (size_t e = 0; e < n; e++)
		(void)fprintf(stderr,
			      "sum\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			      "\n",
			      s[e].selected.samples, s[e].left_out.samples, s[e].no_map.samples,
			      s[e].no_symbol.samples, s[e].bad);
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	/* perf keeps a copy of what it recorded below $HOME/.debug */
	struct images_opts io = { .trust_paths = true, .raw_names = true, .home = getenv("HOME") };
	struct profile_opts o = { .machine = 62 };
	const char *mode = argc > 3 ? argv[3] : "flat";
	struct images *images = NULL;
	struct spaces *sp = NULL;
	struct profile *p = NULL;
	struct pd *rec = NULL;
	int ret = 1;

	if (argc < 3 || parse_keys(&o, argv[2])) {
		(void)fprintf(stderr, "usage: dump_profile RECORDING KEYS [MODE] [THREADS]\n");
		return 2;
	}
	if (!strcmp(mode, "bare")) {
		io.sysroot = "/nonexistent";
		io.kallsyms = "/dev/null";
		io.perf_map_dir = "/nonexistent";
	}
	o.chains = !strcmp(mode, "chains") || !strcmp(mode, "functions");
	o.threads = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	if (pd_open(&rec, argv[1], &err))
		goto out;
	images = images_new(&io, &err);
	if (!images)
		goto out;
	sp = feed_spaces(rec, images, &err);
	if (!sp || profile_build(&p, rec, sp, &o, &err))
		goto out;
	ret = 0;
	if (!strcmp(mode, "chains"))
		dump_chains(p);
	else if (!strcmp(mode, "functions"))
		ret = dump_functions(p, &err);
	else
		dump_rows(p, rec);
	dump_sums(p);
out:
	if (ret)
		(void)fprintf(stderr, "dump_profile: %s\n", err.what);
	profile_free(p);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return ret ? 2 : 0;
}
