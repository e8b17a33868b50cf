/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/again.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* With a hint's other words it fits into struct err. */
#define AGAIN_MOST 360
#define LINE_MOST  74

/* Use of an option and its value. */
enum use {
	FLAG,	   /* none, and nothing of it is needed again */
	VALUE,	   /* its value is the rest of the word, or the next one */
	RUN_VALUE, /* the same in lines of `run`; elsewhere it is a FLAG */
	WHO,	   /* selects the processes; the same with a value */
	WHO_FLAG,
	EVENTS, /* by which it is sampled */
	MACHINE,
	MAYBE, /* its value, if there is one, is the rest of the word */
	EVENTS_MAYBE,
};

/* Options of cyclade record and run, and of perf record, that are no FLAG. */
struct option {
	const char *name;
	char letter;
	enum use use;
};

static const struct option options[] = {
	{ "all", 'a', WHO_FLAG },
	{ "all-cpus", 0, WHO_FLAG },
	{ "pid", 'p', WHO },
	{ "tid", 't', WHO },
	{ "uid", 'u', WHO },
	{ "cpu", 'C', WHO },
	{ "cgroup", 'G', WHO },
	{ "for", 0, WHO },
	{ "event", 'e', EVENTS },
	{ "pfm-events", 0, EVENTS }, /* perf's; ours take their names with -e */
	{ "count", 'c', EVENTS },
	{ "freq", 'F', EVENTS },
	{ "account", 0, EVENTS_MAYBE },
	{ "mem", 0, EVENTS_MAYBE },
	{ "ibs", 0, EVENTS_MAYBE },
	{ "sysroot", 0, MACHINE },
	{ "model", 0, MACHINE },
	{ "models", 0, MACHINE },
	{ "output", 'o', VALUE },
	{ "mmap-pages", 'm', VALUE },
	{ "clockid", 'k', VALUE },
	{ "delay", 'D', VALUE },
	{ "repeat", 'r', VALUE },
	{ "realtime", 0, VALUE },
	{ "level", 'l', VALUE },
	{ "separator", 'x', VALUE },
	{ "call-graph", 'g', MAYBE }, /* its long form has a case of its own */
	{ "compress", 'z', MAYBE },
	{ "intr-regs", 'I', MAYBE },
	{ "snapshot", 'S', MAYBE },
	{ "branch-filter", 0, VALUE },
	{ "keep", 0, VALUE },
	{ "fields", 0, VALUE },
	{ "ibs-events", 0, VALUE },
	{ "stack-size", 0, VALUE },
	{ "wait-chains", 0, VALUE },
	{ "node", 0, VALUE },
	{ "latency", 0, RUN_VALUE }, /* perf's is a flag, and so is --data of `record` */
	{ "warmup", 0, VALUE },
	{ "pre", 0, VALUE },
	{ "post", 0, VALUE },
	{ "control", 0, VALUE },
	{ "data", 0, RUN_VALUE },
	{ "symbols", 0, VALUE },
	{ "comm", 0, VALUE },
	{ "only-pid", 0, VALUE },
	{ "only-tid", 0, VALUE },
	{ "time", 0, VALUE },
	{ "limit", 0, VALUE },
	{ "format", 0, VALUE },
	{ "table", 0, VALUE },
	{ "color", 0, VALUE },
	{ "require", 0, VALUE },
	{ "log-fd", 0, VALUE },
	{ "affinity", 0, VALUE },
	{ "ldlat", 0, VALUE }, /* of perf mem and perf c2c */
	{ "type", 0, VALUE },
	{ "clang-opt", 0, VALUE },
	{ "clang-path", 0, VALUE },
	{ "filter", 0, VALUE },
	{ "max-size", 0, VALUE },
	{ "off-cpu-thresh", 0, VALUE },
	{ "setup-filter", 0, VALUE },
	{ "mmap-flush", 0, VALUE },
	{ "num-thread-synthesize", 0, VALUE },
	{ "proc-map-timeout", 0, VALUE },
	{ "switch-max-files", 0, VALUE },
	{ "switch-output-event", 0, VALUE },
	{ "synth", 0, VALUE },
	{ "vmlinux", 0, VALUE },
	{ "kallsyms", 0, VALUE },
};

/* Letters of perf's other commands that record, if they are not those of perf record. */
static const struct {
	const char *command;
	char letter;
	enum use use;
} others[] = {
	{ "mem", 't', VALUE }, /* a kind of access */
	{ "mem", 'p', FLAG },
	{ "c2c", 'u', FLAG },
	{ "c2c", 'k', FLAG },
};

struct line {
	const char *const *word;
	size_t n, at;
	const char *command; /* perf's: "mem" of `perf mem record` */
	bool perf;
	bool run;	 /* `run`, not `record` */
	bool same, rate; /* events are kept; but not how often */
	bool who;	 /* a program, process or CPU is named */
	struct buf *b;
	bool fine;
};

static void put(struct line *l, const char *word)
{
	if (l->b->len)
		buf_putc(l->b, ' ');
	l->fine &= text_put_word(l->b, word);
}

static bool is_put(const struct line *l, enum use use)
{
	return use == WHO || use == WHO_FLAG || use == MACHINE ||
	       (l->same && (use == EVENTS || (use == EVENTS_MAYBE && !l->perf)));
}

static bool takes_value(enum use use)
{
	return use == VALUE || use == WHO || use == EVENTS || use == MACHINE;
}

static bool is_rate(const char *option)
{
	static const char *const rates[] = { "-c", "-F", "--count", "--freq" };

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		if (!strcmp(option, rates[i]))
			return true;
	return false;
}

/* One option with its value: "-p" "12" and "--pid" "12" are words of their own again. */
static void take(struct line *l, const char *option, enum use use, const char *value)
{
	if (takes_value(use) && !value) {
		if (l->at == l->n)
			return;
		value = l->word[l->at++];
	}
	l->who |= use == WHO || use == WHO_FLAG;
	if (!is_put(l, use) || (is_rate(option) && (l->rate || !strcmp(value, "max"))))
		return;
	if (use == EVENTS_MAYBE && value) {
		struct buf all = BUF_INIT;

		buf_printf(&all, "%s=%s", option, value);
		l->fine &= !all.failed;
		put(l, buf_str(&all));
		buf_free(&all);
		return;
	}
	put(l, option);
	if (takes_value(use))
		put(l, value);
}

/* Returns true for a way to take call chains: "dwarf", "dwarf,4096". */
static bool is_way(const char *value)
{
	static const char *const ways[] = { "fp", "dwarf", "lbr" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strncmp(value, ways[i], strlen(ways[i])))
			return true;
	return false;
}

static void take_long(struct line *l, const char *word)
{
	size_t n = strcspn(word + 2, "=");
	const char *value = word[2 + n] ? word + 3 + n : NULL;
	char name[40];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(n + 2), word);
	if (!strcmp(name, "--call-graph") && !value) { /* "--call-graph dwarf" */
		l->at += l->at < l->n && is_way(l->word[l->at]);
		return;
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i].name, name + 2)) {
			enum use use = options[i].use;

			if (use == RUN_VALUE)
				use = l->run ? VALUE : FLAG;
			take(l, strcmp(name, "--pfm-events") ? name : "-e", use, value);
			return;
		}
}

/* Letters: "-ab", "-F99", "-ap12". */
static void take_letters(struct line *l, const char *word)
{
	for (const char *s = word + 1; *s; s++) {
		const char name[3] = { '-', *s, '\0' };
		enum use use = FLAG;

		for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
			if (options[i].letter == *s)
				use = options[i].use;
		if (*s == 'g' && (l->perf || (s[1] != '=' && !is_way(s + 1)))) /* -ga */
			use = FLAG;
		if (l->perf && *s == 'j') /* a filter of branches; cyclade's is JSON */
			use = VALUE;
		for (size_t i = 0; l->perf && i < sizeof(others) / sizeof(*others); i++)
			if (others[i].letter == *s && !strcmp(others[i].command, l->command))
				use = others[i].use;
		if (takes_value(use)) {
			take(l, name, use, s[1] ? s + 1 + (s[1] == '=') : NULL);
			return;
		}
		if (use == MAYBE)
			return;
		take(l, name, use, NULL);
	}
}

/* "cyclade record", "cyclade run", or "cyclade ./prog", which is `run`: no command has a slash or a
 * dot in its name. */
static bool begins_ours(struct line *l)
{
	const char *verb = l->word[1];
	bool program = *verb != '-' && strpbrk(verb, "/.");

	l->run = program || !strcmp(verb, "run");
	l->at = program ? 1 : 2;
	return l->run || !strcmp(verb, "record");
}

/* The options of `perf mem` itself, before "record": kinds of accesses, and options of its report.
 * Returns false for another one, which may change the recording. */
static bool skip_own(struct line *l)
{
	static const char *const flags[] = { "-p", "--phys-data", "-D", "--dump-raw-samples",
					     "-f", "--force" };
	const char *word = l->word[l->at];

	if (!strcmp(word, "-t") || !strcmp(word, "--type")) {
		l->at++;
		return true;
	}
	if (!strncmp(word, "-t", 2) || !strncmp(word, "--type=", 7))
		return true;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i]))
			return true;
	return false;
}

/* "perf mem record", "/usr/bin/cyclade record": to the first word behind. */
static bool begins(struct line *l)
{
	const char *base;
	bool mem;

	if (l->n < 2)
		return false;
	base = strrchr(l->word[0], '/');
	base = base ? base + 1 : l->word[0];
	mem = !strcmp(l->word[1], "mem");
	l->perf = strncmp(base, "cyclade", 7) != 0;
	if (!l->perf)
		return begins_ours(l);
	for (l->at = 1; l->at < l->n; l->at++) {
		if (!strcmp(l->word[l->at], "record")) {
			l->command = l->word[1];
			l->at++;
			return true;
		}
		if (mem ? l->at > 1 && !skip_own(l) : l->at >= 3)
			return false;
	}
	return false;
}

static void put_program(struct line *l)
{
	if (l->at == l->n)
		return;
	l->who = true;
	buf_puts(l->b, l->b->len ? " --" : "--");
	while (l->at < l->n)
		put(l, l->word[l->at++]);
}

static bool is_known(const struct line *l)
{
	return l->fine && l->who && !l->b->failed && l->b->len <= AGAIN_MOST;
}

/* To the program, past all options. */
static void take_options(struct line *l)
{
	while (l->at < l->n && l->word[l->at][0] == '-' && l->word[l->at][1]) {
		const char *word = l->word[l->at++];

		if (!strcmp(word, "--"))
			break;
		if (word[1] == '-')
			take_long(l, word);
		else
			take_letters(l, word);
	}
}

static bool put_who(struct buf *b, const struct pd_info *info, const char *with, bool same)
{
	struct line l = { .word = info->cmdline,
			  .n = info->n_cmdline,
			  .same = same,
			  .rate = !strncmp(with, "-F", 2),
			  .b = b,
			  .fine = true };

	if (!begins(&l))
		return false;
	take_options(&l);
	put_program(&l);
	return is_known(&l);
}

bool again_starts(const struct pd_info *info)
{
	struct buf ignored = BUF_INIT;
	struct line l = { .word = info->cmdline, .n = info->n_cmdline, .b = &ignored };
	bool starts = begins(&l);

	if (starts)
		take_options(&l);
	buf_free(&ignored);
	return starts && !l.who && l.at < l.n;
}

bool again_put(struct buf *b, const struct pd_info *info, const char *with, bool same)
{
	struct buf who = BUF_INIT;
	bool known = put_who(&who, info, with, same);

	buf_printf(b, "cyclade record%s%s %s", *with ? " " : "", with,
		   known ? buf_str(&who) : AGAIN_PROGRAM);
	buf_free(&who);
	return known;
}

bool again_put_program(struct buf *b, const char *verb, const char *const *word, size_t n)
{
	struct buf who = BUF_INIT;
	struct line l = { .word = word, .n = n, .b = &who, .fine = true };
	bool known;

	put_program(&l);
	known = is_known(&l);
	buf_printf(b, "cyclade %s %s", verb, known ? buf_str(&who) : AGAIN_PROGRAM);
	buf_free(&who);
	return known;
}

int again_hint(struct err *err, const struct pd_info *info, const char *lead, const char *with)
{
	struct buf b = BUF_INIT;

	(void)again_put(&b, info, with, false);
	/* on a line of its own it is not wrapped, so that it can be pasted */
	(void)err_hint(err, "%s%s%s", lead, strlen(lead) + b.len > LINE_MOST ? "\n" : " ",
		       buf_str(&b));
	buf_free(&b);
	return -1;
}

const char *again_branches(const struct pd_info *info, enum again_branches what)
{
	static const struct {
		const char *vendor, *options[2];
	} vendors[] = {
		{ "GenuineIntel",
		  { "-b -e br_inst_retired.near_taken:upp",
		    "--branch-filter any_ret,u -e br_inst_retired.near_return:u" } },
		{ "AuthenticAMD",
		  { "-b -e ex_ret_brn_tkn:u", "--branch-filter any_ret,u -e ex_ret_near_ret:u" } },
	};

	for (size_t i = 0; info->cpuid && i < sizeof(vendors) / sizeof(*vendors); i++)
		if (!strncmp(info->cpuid, vendors[i].vendor, strlen(vendors[i].vendor)))
			return vendors[i].options[what];
	return "-b";
}
