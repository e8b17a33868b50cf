/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole commands over any file: the first line of the input chooses a row of `rows` and a format by
 * two letters, what follows is the file. Where the row has a `?`, the second line is what stands
 * there: a query in SQL. Whatever it holds, a command ends with 0, or with 2 and
 * nothing written; what it writes has no control characters, json is well-formed, and rows of csv
 * have as many cells as their header. No file that a recording names is opened.
 *
 * LLVMFuzzerCustomMutator knows recordings: it changes words, types and sizes of records, copies
 * records, and moves the header along, besides what libFuzzer does to bytes.
 */
int cyclade_main(int argc, char **argv);
#define main cyclade_main
#include "../../src/cli/main.c"
#undef main

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "store/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t len, size_t most, unsigned seed);
/* libFuzzer's; there is none where inputs are only replayed */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *p, size_t len, size_t most);

#define WORDS_MOST 24
#define HEAD	   3 /* bytes: a row, a format, a newline */
#define QUERY_MOST 4096

/* New ones at the end: the corpus knows them by place. */
static const char *const rows[] = {
	"report -i @",
	"report -g -i @",
	"report -g --children -s comm,dso,sym -i @",
	"report --callers -i @",
	"report -b -i @",
	"report -s srcline,inline,sym,cpu,tid,addr --limit 50 -i @",
	"report -s event,cgroup,socket,dso -i @",
	"report --account -i @",
	"report --account -s comm,dso,sym --expand all --errors -i @",
	"report --account --unit cycles -v -i @",
	"annotate -i @ hot",
	"annotate --account -i @ hot",
	"blocks -i @",
	"blocks -i @ f",
	"calls -i @",
	"calls -i @ f",
	"diff --fail-if cycles>5% @ @",
	"registers -i @",
	"registers --all-registers --limit 3 -i @",
	"mem -i @",
	"mem -j -i @",
	"info -v -i @",
	"stat --import @",
	"stat --import @ --model ivb --smt on --why",
	"stat --import @ --model adl -v",
	"stat --import @ --model spr -I 100",
	"export --pprof -o /dev/null -i @",
	"export --firefox -o /dev/null -i @",
	"export --perfetto -o /dev/null -i @",
	"export --flame-svg -i @",
	"export --timeline-svg -i @",
	"export --folded -i @",
	"export --bolt -o /dev/null -i @",
	"export --autofdo --text -o /dev/null -i @",
	"export --propeller -o /dev/null -i @",
	"export --symbol-order -o /dev/null -i @",
	"report @",
	"sum @ @",
	"sql --timeout 100ms --memory 64M -i @ ?",
	"report --wait -i @",
	"report --wall -i @",
	"report --wall -g -i @",
	"report --concurrency -i @",
	"report --critical -i @",
	"export --folded @ @",
	"blocks --mix -i @",
};
#define N_ROWS (sizeof(rows) / sizeof(*rows))

static const char *const formats[] = { NULL, "json", "csv", "markdown", "folded", "dot" };
#define N_FORMATS (sizeof(formats) / sizeof(*formats))

static int file = -1, written = -1, terminal = -1;
static char path[64];

static void fail(const char *why, const char *text)
{
	(void)fprintf(stderr, "%s\n%.4000s\n", why, text);
	abort();
}

/* ---- what is written ------------------------------------------------------------------------ */

static const char *json_value(const char *s, unsigned depth);

static const char *blank(const char *s)
{
	return s + strspn(s, " \n\t");
}

static const char *json_string(const char *s)
{
	for (s++; *s != '"'; s++) {
		if ((unsigned char)*s < 0x20)
			return NULL;
		if (*s != '\\')
			continue;
		s++;
		if (*s == 'u') {
			for (int i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++s))
					return NULL;
		} else if (!*s || !strchr("\"\\/bfnrt", *s)) {
			return NULL;
		}
	}
	return s + 1;
}

static const char *json_rows(const char *s, char end, unsigned depth)
{
	s = blank(s + 1);
	if (*s == end)
		return s + 1;
	for (;; s = blank(s + 1)) {
		if (end == '}') {
			if (*s != '"')
				return NULL;
			s = json_string(s);
			s = s ? blank(s) : s;
			if (!s || *s++ != ':')
				return NULL;
		}
		s = json_value(blank(s), depth + 1);
		if (!s)
			return NULL;
		s = blank(s);
		if (*s == end)
			return s + 1;
		if (*s != ',')
			return NULL;
	}
}

/* Behind a value; NULL: it is none. */
static const char *json_value(const char *s, unsigned depth)
{
	static const char *const words[] = { "null", "true", "false" };
	char *end;

	if (depth > 4000)
		return NULL;
	if (*s == '"')
		return json_string(s);
	if (*s == '{' || *s == '[')
		return json_rows(s, *s == '{' ? '}' : ']', depth);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(s, words[i], strlen(words[i])))
			return s + strlen(words[i]);
	if (*s != '-' && !isdigit((unsigned char)*s))
		return NULL;
	(void)strtod(s, &end);
	return end;
}

/* One document, or one a line. */
static void check_json(const char *text)
{
	const char *s = blank(text);

	while (*s) {
		s = json_value(s, 0);
		if (!s)
			fail("this is no json:", text);
		s = blank(s);
	}
}

/* Cells of a line, which ends at *s; quoted ones may hold anything. */
static size_t csv_cells(const char **s, const char *text)
{
	const char *p = *s;
	size_t n = 1;
	bool quoted = false;

	for (; *p && (quoted || *p != '\n'); p++) {
		quoted ^= *p == '"';
		n += !quoted && *p == ',';
	}
	if (quoted)
		fail("a quote of csv is not closed:", text);
	*s = p + (*p == '\n');
	return n;
}

static void check_csv(const char *text)
{
	const char *s = text;
	size_t n = 0;

	while (*s) {
		size_t k;

		if (*s == '\r' || *s == '\n') { /* another table */
			n = 0;
			s += strspn(s, "\r\n");
			continue;
		}
		k = csv_cells(&s, text);
		if (n && k != n)
			fail("rows of csv differ in their cells:", text);
		n = k;
	}
}

static void check_text(const char *text, size_t len, const char *format)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t' &&
		    !(text[i] == '\r' && text[i + 1] == '\n'))
			fail("a control character:", text);
	if (format && !strcmp(format, "json"))
		check_json(text);
	if (format && !strcmp(format, "csv"))
		check_csv(text);
}

/* ---- one command ---------------------------------------------------------------------------- */

static size_t words_of(char *text, char *query, const char *format, char *argv[WORDS_MOST])
{
	static char first[] = "cyclade", option[] = "--format", no_cache[] = "--no-cache",
		    sysroot[] = "--sysroot", nothing[] = "/proc/self/task";
	size_t n = 0;
	char *save = NULL;

	argv[n++] = first;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		argv[n++] = *w == '@' ? path : *w == '?' ? query : w;
		if (n == 2 && strcmp(w, "stat") != 0 && strcmp(w, "info") != 0) {
			argv[n++] = no_cache;
			argv[n++] = sysroot;
			argv[n++] = nothing;
		}
	}
	if (format) {
		argv[n++] = option;
		argv[n++] = (char *)(uintptr_t)format;
	}
	argv[n] = NULL;
	return n;
}

static int run(const char *row, char *query, const char *format)
{
	char text[256], *argv[WORDS_MOST];
	size_t n;
	int code;

	(void)snprintf(text, sizeof(text), "%s", row);
	n = words_of(text, query, format, argv);
	if (ftruncate(written, 0) || lseek(written, 0, SEEK_SET) ||
	    dup2(written, STDOUT_FILENO) < 0)
		abort();
	code = cyclade_main((int)n, argv);
	(void)fflush(stdout);
	(void)dup2(terminal, STDOUT_FILENO);
	(void)signal(SIGBUS, SIG_DFL);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGABRT, SIG_DFL);
	return code;
}

/* Bytes of a query, its newline among them. */
static size_t query_size(const uint8_t *p, size_t size)
{
	const uint8_t *end = memchr(p, '\n', size < QUERY_MOST ? size : QUERY_MOST - 1);

	return end ? (size_t)(end - p) + 1 : 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	file = memfd_create("file", MFD_CLOEXEC);
	written = memfd_create("written", MFD_CLOEXEC);
	terminal = dup(STDOUT_FILENO);
	if (file < 0 || written < 0 || terminal < 0)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return setenv("XDG_CONFIG_HOME", "/nonexistent", 1) || setenv("COLUMNS", "100", 1) ||
	       setenv("LC_ALL", "C.UTF-8", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *row, *format;
	char *text, query[QUERY_MOST];
	off_t len;
	int code;

	if (size < HEAD || data[0] < 'A' || data[1] < 'a' || data[2] != '\n')
		return 0;
	if (file < 0)
		(void)LLVMFuzzerInitialize(NULL, NULL);
	row = rows[(data[0] - 'A') % (int)N_ROWS];
	format = formats[(data[1] - 'a') % (int)N_FORMATS];
	data += HEAD;
	size -= HEAD;
	if (strchr(row, '?')) {
		size_t n = query_size(data, size);

		(void)snprintf(query, sizeof(query), "%.*s", (int)n, (const char *)data);
		data += n;
		size -= n;
	}
	if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
		abort();
	code = run(row, query, format);
	len = lseek(written, 0, SEEK_END);
	text = calloc(1, (size_t)len + 1);
	if (!text || pread(written, text, (size_t)len, 0) != len)
		abort();
	if (code != EXIT_OK && code != EXIT_ERROR)
		fail("an exit code that no reading command has", row);
	if (code == EXIT_ERROR && len)
		fail("it failed and wrote:", text);
	check_text(text, (size_t)len, format);
	free(text);
	return 0;
}

/* ---- recordings as libFuzzer does not know them ---------------------------------------------- */

static uint64_t state;

static uint64_t draw(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? state % n : 0;
}

static const uint64_t odd[] = { 0,	    1,	       2,	   7,	       8,
				255,	    65535,     65536,	   INT32_MAX,  UINT32_MAX,
				1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX, 0xffffffff81000000,
				-512ull,    4096 };

static uint64_t get(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void put(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

struct layout {
	size_t from, to; /* of the records */
	size_t at[4096], n;
};

static bool find_records(struct layout *l, const uint8_t *p, size_t len)
{
	l->n = 0;
	if (len < 104 || memcmp(p, "PERFILE2", 8) != 0)
		return false;
	l->from = get(p + 8) == 16 ? 16 : get(p + 40);
	l->to = get(p + 8) == 16 || get(p + 48) > len ? len : l->from + get(p + 48);
	if (l->from > len || l->to > len)
		return false;
	for (size_t at = l->from, size; at + 8 <= l->to && l->n < 4096; at += size) {
		size = p[at + 6] | (size_t)p[at + 7] << 8;
		if (size < 8 || size > l->to - at)
			break;
		l->at[l->n++] = at;
	}
	return l->n;
}

static void change_word(uint8_t *p, size_t size)
{
	uint8_t *w = p + 8 + 8 * draw((size - 8) / 8);

	if (size >= 16)
		put(w, draw(2) ? odd[draw(sizeof(odd) / sizeof(*odd))] : get(w) + draw(64) - 32);
}

/* A record once more; the header's size and the table of features move along. */
static size_t repeat(const struct layout *l, uint8_t *p, size_t len, size_t most)
{
	size_t from = l->at[draw(l->n)], to = l->at[draw(l->n)], size, bits = 0;
	uint8_t record[UINT16_MAX];

	size = p[from + 6] | (size_t)p[from + 7] << 8;
	if (len + size > most || get(p + 8) == 16)
		return len;
	memcpy(record, p + from, size);
	memmove(p + to + size, p + to, len - to);
	memcpy(p + to, record, size);
	put(p + 48, get(p + 48) + size);
	for (size_t i = 72; i < 104; i++)
		bits += (size_t)__builtin_popcount(p[i]);
	for (size_t i = 0, at = l->to + size; i < bits && at + 16 <= len + size; i++, at += 16)
		put(p + at, get(p + at) + size);
	return len + size;
}

static size_t mutate_recording(const struct layout *l, uint8_t *p, size_t len, size_t most)
{
	uint8_t *r = p + l->at[draw(l->n)], *o = p + l->at[draw(l->n)];
	size_t size = r[6] | (size_t)r[7] << 8, other = o[6] | (size_t)o[7] << 8;

	switch (draw(8)) {
	case 0:
	case 1:
	case 2:
		change_word(r, size);
		break;
	case 3:
		r[0] = (uint8_t)(draw(2) ? 1 + draw(22) : 64 + draw(21));
		break;
	case 4:
		r[4 + draw(2)] = (uint8_t)draw(256);
		break;
	case 5:
		memmove(r + 8, o + 8, (size < other ? size : other) - 8);
		break;
	case 6:
		if (get(p + 8) == 16)
			change_word(p + 8, 16);
		else if (get(p + 24) < len - 64)
			p[get(p + 24) + draw(64)] ^= (uint8_t)(1 << draw(8));
		break;
	default:
		return repeat(l, p, len, most);
	}
	return len;
}

/* ---- queries --------------------------------------------------------------------------------- */

static const char *word(void)
{
	static const char *const sql[] = {
		"SELECT",
		"FROM",
		"WHERE",
		"GROUP BY",
		"ORDER BY",
		"LIMIT",
		"*",
		"(",
		")",
		",",
		"=",
		">=",
		"<",
		"AND",
		"OR",
		"NOT",
		"NULL",
		"IS",
		"JOIN",
		"USING",
		"run",
		"DISTINCT",
		"OVER ()",
		"AS x",
		"count(",
		"hist(",
		"p95(",
		"p99(",
		"share_error(",
		"quantile(",
		"symbol(",
		"line(",
		"hex(",
		"bar(",
		"demangle(",
		"functions",
		"callees",
		"callees_tree",
		"branches_rows",
		"account",
		"blocks",
		"blocks_loops",
		"calls",
		"registers",
		"info",
		"-1",
		"0.5",
		"9223372036854775807",
		"18446744073709551615",
		"x'00'",
		"'%'",
		"LIKE",
		"IN",
		"BETWEEN",
		"UNION ALL",
		"WITH c AS",
		"RECURSIVE",
	};
	uint64_t n = draw(sizeof(sql) / sizeof(*sql) + STORE_COLUMNS + STORE_TABLES);
	struct store_table_row row[STORE_TABLES];

	if (n < STORE_COLUMNS)
		return store_columns[n].key;
	n -= STORE_COLUMNS;
	store_tables(row);
	return n < STORE_TABLES ? row[n].name : sql[n - STORE_TABLES];
}

/* A word in the place of another, or before it. */
static size_t mutate_query(uint8_t *p, size_t len, size_t n, size_t most)
{
	char new[64];
	size_t from = draw(n), to, size;

	while (from && p[from - 1] != ' ')
		from--;
	for (to = from; draw(3) && to + 1 < n && p[to] != ' ';)
		to += strcspn((char *)p + to + 1, " \n") + 1;
	to = to < n ? to : n - 1;
	size = (size_t)snprintf(new, sizeof(new), "%s ", word());
	if (len - (to - from) + size > most)
		return len;
	memmove(p + from + size, p + to, len - to);
	memcpy(p + from, new, size);
	return len - (to - from) + size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t len, size_t most, unsigned seed)
{
	static struct layout l;
	size_t head = HEAD;

	state = seed * 0x9e3779b97f4a7c15 | 1;
	(void)draw(1);
	if (len < HEAD || p[2] != '\n')
		memcpy(p, "Aa\n", HEAD);
	len = len < HEAD ? HEAD : len;
	if (!draw(6))
		p[0] = (uint8_t)('A' + draw(N_ROWS));
	if (!draw(6))
		p[1] = (uint8_t)('a' + draw(N_FORMATS));
	if (p[0] >= 'A' && strchr(rows[(p[0] - 'A') % (int)N_ROWS], '?')) {
		size_t n = query_size(p + HEAD, len - HEAD);

		if (n && draw(2))
			return HEAD + mutate_query(p + HEAD, len - HEAD, n, most - HEAD);
		head += n;
	}
	if (!draw(10) || !find_records(&l, p + head, len - head))
		return head + LLVMFuzzerMutate(p + head, len - head, most - head);
	return head + mutate_recording(&l, p + head, len - head, most - head);
}
