/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each format of one document, whose names hold what formats have to escape.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "show/document.h"

struct place {
	const char *name, *dso;
	uint32_t line;
	uint64_t at;
	struct estimate share, runs;
	bool hot;
};

static const struct place places[] = {
	{ "main", "a.out", 7, 0x401000, { 0.5, 0.013, NULL }, { 1234567, 3000, NULL }, true },
	{ "e\x1b[31m,\"q\"|<b>\n\xff",
	  "=cmd()",
	  0,
	  UINT64_MAX,
	  { 0.25, NAN, "one run" },
	  { NAN, NAN, "not counted: no counter" },
	  false },
	{ NULL, "lib.so", 1, 0, { 0.0001, 0.0002, NULL }, { 0, 0, NULL }, false },
};

static void line_get(const struct table *t, const struct table_column *c, const struct table_row *r,
		     struct table_cell *out)
{
	const struct place *p = r->p;

	(void)t;
	(void)c;
	out->n = p->line;
	out->none = !p->line;
}

static void label_get(const struct table *t, const struct table_column *c,
		      const struct table_row *r, struct table_cell *out)
{
	const struct place *p = r->p;

	(void)t;
	(void)c;
	cell_printf(out, "%s", p->name ? p->name : "(none)");
	out->tail = "+0x1a";
}

static void marks_get(const struct table *t, const struct table_column *c,
		      const struct table_row *r, struct table_cell *out)
{
	static const char *const marks[] = { "a", "b;c", "d|" };

	(void)t;
	(void)c;
	out->list = marks;
	out->n_list = r->i;
}

#define OF(member) TABLE_FIELD(struct place, member)
static const struct table_column place_columns[] = {
	{ "share", "share", T_SHARE, C_ERROR | C_HEAT, NULL, "of all", OF(share) },
	{ "runs", "runs", T_AMOUNT, C_ERROR | C_WHY, NULL, "how often it ran", OF(runs) },
	{ "line", "line", T_ID, C_SPARSE, NULL, "in its file", .get = line_get },
	{ "address", "address", T_ADDRESS, C_DATA | C_KEY, NULL, "in the file", OF(at) },
	{ "hot", "hot", T_FLAG, 0, NULL, "worth a look", OF(hot) },
	{ "marks", "marks", T_LIST, C_DATA, NULL, "some", .get = marks_get },
	{ "function", "function", T_TEXT, C_DATA | C_KEY, NULL, "its name", OF(name) },
	{ "label", "function", T_TEXT, C_PEOPLE | C_FLEX, NULL, "its name", .get = label_get },
	{ "dso", "of", T_TEXT, C_KEY | C_FLEX, NULL, "its file", OF(dso) },
};
#undef OF

static const struct table_form places_form = { "places", "hottest first", TABLE_MAIN,
					       TABLE_COLUMNS(place_columns), .rest = "place" };

/* Numbers below `ctx`'s, made while they are walked. */
static bool number_next(const struct table *t, struct table_row *r)
{
	const size_t *n = t->ctx;

	if (r->p)
		r->at[0]++;
	r->p = n;
	return r->at[0] < *n;
}

static void number_get(const struct table *t, const struct table_column *c,
		       const struct table_row *r, struct table_cell *out)
{
	(void)t;
	(void)c;
	out->n = r->at[0];
}

static void half_get(const struct table *t, const struct table_column *c, const struct table_row *r,
		     struct table_cell *out)
{
	(void)t;
	(void)c;
	cell_printf(out, "half %zu", r->at[0] / 2);
}

static const struct table_column number_columns[] = {
	{ "number", "number", T_COUNT, C_KEY, NULL, "itself", .get = number_get },
	{ "half", "half", T_TEXT, C_GROUP, NULL, "its half", .get = half_get },
};
static const struct table_form numbers_form = {
	"numbers", NULL, 0, TABLE_COLUMNS(number_columns), .next = number_next, .rest = "number"
};

struct lost {
	uint64_t lost, throttles;
};
static const struct table_column lost_columns[] = {
	{ "lost", "lost", T_COUNT, C_LOSS, NULL, "records lost", TABLE_FIELD(struct lost, lost) },
	{ "throttles", "throttles", T_COUNT, C_LOSS, NULL, "pauses",
	  TABLE_FIELD(struct lost, throttles) },
};
static const struct table_form lost_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					     TABLE_COLUMNS(lost_columns) };

static const struct table_column head_columns[] = {
	{ "lost_share", "lost", T_REAL, 0, NULL, "of what happened",
	  TABLE_FIELD(struct estimate, v) },
};
static const struct table_form head_form = { "head", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static int write_own(struct buf *out, const struct document *d, const struct show *s,
		     struct err *err)
{
	(void)d;
	(void)s;
	(void)err;
	buf_puts(out, "own\n");
	return 0;
}

static const struct table_form *const forms[] = { &head_form, &places_form, &numbers_form,
						  &lost_form };
static const struct format faces[] = { { "dot", write_own, true, false } };
static const struct document_form form = { "example", 3, forms, 4, faces, 1 };

static char *write_as(struct buf *b, const char *format, const char *table, unsigned width)
{
	static const struct estimate head = { 0.125, 0, NULL };
	static const struct lost lost = { 12, 0 };
	static const size_t numbers = 5;
	const struct table tables[] = {
		{ .form = &head_form, .array = &head, .stride = sizeof(head), .n = 1 },
		{ .form = &places_form,
		  .array = places,
		  .stride = sizeof(*places),
		  .n = 3,
		  .people = 2 },
		{ .form = &numbers_form, .ctx = &numbers },
		{ .form = &lost_form, .array = &lost, .stride = sizeof(lost), .n = 1 },
	};
	struct show s = { .style = { .width = width }, .separator = ',' };
	struct err err = ERR_INIT;
	struct document d;

	buf_reset(b);
	assert_int_equal(show_choose(&s, &form, format, table, &err), 0);
	document_open(&d, &form, NULL);
	document_title(&d, INK_BOLD, "./prog %s", "<x>");
	document_head(&d, "file", "%s", "a<b>, which has a line of more than sixty columns here");
	for (size_t i = 0; i < 4; i++)
		document_table(&d, &tables[i]);
	document_fact(&d, "lost", true, "%d records", 12);
	document_note(&d, "a \x1b note");
	assert_int_equal(document_write(b, &d, &s, &err), 0);
	document_unsaid(b, &d, &s);
	document_close(&d);
	return b->s;
}

/* Names that differ in the middle of their template arguments. */
static void names_differ(void **state)
{
	static const struct place twins[] = {
		{ .name = "Hash<Alpha, std::less<int>, std::string>::find(std::string const&)" },
		{ .name = "Hash<Alpha, std::less<long>, std::string>::find(std::string const&)" },
	};
	static const struct table_column columns[] = {
		{ "label", "label", T_TEXT, C_FLEX, NULL, "with a tail", .get = label_get },
		{ "name", "name", T_TEXT, C_FLEX, NULL, "itself", TABLE_FIELD(struct place, name) },
	};
	static const struct table_form twins_form = { "twins", NULL, TABLE_MAIN,
						      TABLE_COLUMNS(columns), .rest = "place" };
	static const struct table_form *const one[] = { &twins_form };
	static const struct document_form twin_document = { "twins", 1, one, 1, NULL, 0 };
	const struct table t = {
		.form = &twins_form, .array = twins, .stride = sizeof(*twins), .n = 2
	};
	struct show s = { .style = { .width = 76, .ascii = true }, .separator = ',' };
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct document d;

	(void)state;
	assert_int_equal(show_choose(&s, &twin_document, "term", NULL, &err), 0);
	document_open(&d, &twin_document, NULL);
	document_table(&d, &t);
	assert_int_equal(document_write(&b, &d, &s, &err), 0);
	document_close(&d);
	assert_string_equal(buf_str(&b),
			    "\n label                                 name\n"
			    " Hash<...int...>::find(...)+0x1a       Hash<...int...>::find(...)\n"
			    " Hash<...long...>::find(...)+0x1a      Hash<...long...>::find(...)\n");
	buf_free(&b);
}

/* A name of C, of which only the end can be dropped. */
static void tail_stays(void **state)
{
	static const struct place place = {
		.name = "a_function_of_c_whose_name_is_longer_than_a_column_of_a_page"
	};
	static const struct table_column columns[] = {
		{ "label", "label", T_TEXT, C_FLEX, NULL, "with a tail", .get = label_get },
	};
	static const struct table_form tail_form = { "tail", NULL, TABLE_MAIN,
						     TABLE_COLUMNS(columns) };
	static const struct table_form *const one[] = { &tail_form };
	static const struct document_form tail_document = { "tail", 1, one, 1, NULL, 0 };
	const struct table t = {
		.form = &tail_form, .array = &place, .stride = sizeof(place), .n = 1
	};
	struct show s = { .separator = ',' };
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct document d;

	(void)state;
	assert_int_equal(show_choose(&s, &tail_document, "markdown", NULL, &err), 0);
	document_open(&d, &tail_document, NULL);
	document_table(&d, &t);
	assert_int_equal(document_write(&b, &d, &s, &err), 0);
	document_close(&d);
	assert_string_equal(
		buf_str(&b),
		"| label |\n|---|\n"
		"| a\\_function\\_of\\_c\\_whose\\_name\\_is\\_longer\\_than\\_\xe2\x80\xa6+0x1a "
		"|\n\n");
	buf_free(&b);
}

static void csv(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		write_as(&b, "csv", NULL, 0),
		"share,share_error,runs,runs_error,runs_why,line,address,hot,marks,function,dso\n"
		"0.5,0.013,1234567,3000,,7,0x401000,1,,main,a.out\n"
		"0.25,,,,not counted: no counter,,0xffffffffffffffff,0,a,"
		"\"e\\x1b[31m,\"\"q\"\"|<b>\\x0a\\xff\",\"'=cmd()\"\n"
		"0.0001,0.0002,0,0,,1,0x0,0,a; b;c,,lib.so\n"
		"lost: 12 (records lost)\nnote: a \\x1b note\n");
	assert_string_equal(write_as(&b, "csv", "losses", 0),
			    "lost,throttles\n12,0\nnote: a \\x1b note\n");
	assert_string_equal(write_as(&b, "csv", "notes", 0),
			    "note\na \\x1b note\nlost: 12 (records lost)\n");
	assert_string_equal(write_as(&b, "csv", "numbers", 0),
			    "number,half\n0,half 0\n1,half 0\n2,half 1\n3,half 1\n4,half 2\n"
			    "lost: 12 (records lost)\nnote: a \\x1b note\n");
	buf_free(&b);
}

static void json(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		write_as(&b, "json", NULL, 0),
		"{\n"
		"  \"schema\": \"cyclade.example/3\",\n"
		"  \"lost_share\": 0.125,\n"
		"  \"places\": [\n"
		"    {\"share\":0.5,\"share_error\":0.013,\"runs\":1234567,\"runs_error\":3000,"
		"\"runs_why\":null,\"line\":7,\"address\":\"0x401000\",\"hot\":true,\"marks\":[],"
		"\"function\":\"main\",\"dso\":\"a.out\"},\n"
		"    {\"share\":0.25,\"share_error\":null,\"runs\":null,\"runs_error\":null,"
		"\"runs_why\":\"not counted: no counter\",\"line\":null,"
		"\"address\":\"0xffffffffffffffff\",\"hot\":false,\"marks\":[\"a\"],"
		"\"function\":\"e\\u001b[31m,\\\"q\\\"|<b>\\n\xef\xbf\xbd\",\"dso\":\"=cmd()\"},\n"
		"    {\"share\":0.0001,\"share_error\":0.0002,\"runs\":0,\"runs_error\":0,"
		"\"runs_why\":null,\"line\":1,\"address\":\"0x0\",\"hot\":false,"
		"\"marks\":[\"a\",\"b;c\"],\"function\":null,\"dso\":\"lib.so\"}\n"
		"  ],\n"
		"  \"numbers\": [\n"
		"    {\"number\":0,\"half\":\"half 0\"},\n"
		"    {\"number\":1,\"half\":\"half 0\"},\n"
		"    {\"number\":2,\"half\":\"half 1\"},\n"
		"    {\"number\":3,\"half\":\"half 1\"},\n"
		"    {\"number\":4,\"half\":\"half 2\"}\n"
		"  ],\n"
		"  \"losses\": {\n"
		"    \"lost\": 12,\n"
		"    \"throttles\": 0\n"
		"  },\n"
		"  \"notes\": [\n"
		"    \"a \\u001b note\"\n"
		"  ]\n"
		"}\n");
	buf_free(&b);
}

static void markdown(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		write_as(&b, "markdown", NULL, 0),
		"**./prog &lt;x\\>**\n\n"
		"- file: a&lt;b\\>, which has a line of more than sixty columns here\n\n"
		"hottest first\n\n"
		"| share | runs | line | hot | function | of |\n"
		"|---:|---:|---:|---:|---|---|\n"
		"| 50.0 % +-1.3 | 1.23 M +-0.2 % | 7 | yes | main+0x1a | a.out |\n"
		"| 25.0 % +-? | - | - |  | "
		"e\\\\x1b\\[31m,\"q\"\\|&lt;b\\>\\\\x0a\\\\xff+0x1a | =cmd() |\n"
		"\n(1 more place)\n\n"
		"### half 0\n\n| number |\n|---:|\n| 0 |\n| 1 |\n\n### half 1\n\n"
		"| number |\n|---:|\n| 2 |\n| 3 |\n\n### half 2\n\n| number |\n|---:|\n| 4 |\n\n"
		"- lost: 12 records\n- note: a \\\\x1b note\n");
	buf_free(&b);
}

static void html(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		write_as(&b, "html", "places", 0),
		"<section class=\"example\">\n<table id=\"places\">\n"
		"<caption>hottest first</caption>\n"
		"<tr><th title=\"of all\">share</th><th title=\"how often it ran\">runs</th>"
		"<th title=\"in its file\">line</th><th title=\"worth a look\">hot</th>"
		"<th title=\"its name\">function</th><th title=\"its file\">of</th></tr>\n"
		"<tr><td class=\"n hot\">50.0 % +-1.3</td><td class=\"n\">1.23 M +-0.2 %</td>"
		"<td class=\"n\">7</td><td class=\"n\">yes</td><td>main+0x1a</td>"
		"<td>a.out</td></tr>\n"
		"<tr><td class=\"n hot\">25.0 % +-?</td><td class=\"n\">-</td>"
		"<td class=\"n\">-</td><td class=\"n\"></td>"
		"<td>e\\x1b[31m,&quot;q&quot;|&lt;b&gt;\\x0a\\xff+0x1a</td>"
		"<td>=cmd()</td></tr>\n"
		"</table>\n<p>(1 more place)</p>\n<dl>\n</dl>\n</section>\n"
		"lost: 12 (records lost)\nnote: a \\x1b note\n");
	assert_non_null(strstr(write_as(&b, "html", NULL, 0),
			       "<h2>./prog &lt;x&gt;</h2>\n<dl>\n<dt>file</dt>\n<dd>a&lt;b&gt;, "
			       "which has a line of more than sixty columns here</dd>\n</dl>\n"
			       "<table"));
	buf_free(&b);
}

static void term(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		write_as(&b, "term", NULL, 62),
		" ./prog <x>\n"
		" file            a<b>, which has a line of more than sixty\n"
		"                 columns here\n"
		"\n"
		" hottest first\n"
		"  share +-       runs +-       line  hot  function      of\n"
		" 50.0 % +-1.3  1.23 M +-0.2 %     7  yes  main+0x1a     a.out\n"
		" 25.0 % +-?         -             -       e\\x1b[\xe2\x80\xa6+0x1a  =cmd()\n"
		" (1 more place)\n"
		"\n"
		" half 0\n"
		" number\n"
		"      0\n"
		"      1\n"
		"\n"
		" half 1\n"
		" number\n"
		"      2\n"
		"      3\n"
		"\n"
		" half 2\n"
		" number\n"
		"      4\n"
		"\n"
		" lost            12 records\n"
		" note            a \\x1b note\n");
	buf_free(&b);
}

static int write_pieces(struct buf *out, const struct document *d, const struct show *s,
			struct err *err)
{
	(void)err;
	term_titles(out, d, &s->style);
	term_notes(out, d, &s->style);
	term_table(out, &d->table.v[0], &s->style);
	term_facts(out, d, &s->style);
	return 0;
}

/* A face that puts the pieces of a page elsewhere; a line of text is cut where it ends. */
static void pieces(void **state)
{
	static const struct place lines[] = { { .name = "while (first(a, b) && second(c, d)) {" } };
	static const struct table_column columns[] = {
		{ "text", "text", T_TEXT, C_FLEX | C_CUT, NULL, "",
		  TABLE_FIELD(struct place, name) },
	};
	static const struct table_form lines_form = { "lines", NULL, TABLE_MAIN,
						      TABLE_COLUMNS(columns) };
	static const struct table_form *const one[] = { &lines_form };
	static const struct format face[] = { { "term", write_pieces, false, false } };
	static const struct document_form own = { "lines", 1, one, 1, face, 1 };
	const struct table t = {
		.form = &lines_form, .array = lines, .stride = sizeof(*lines), .n = 1
	};
	struct show s = { .style = { .width = 30, .ascii = true } };
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct document d;

	(void)state;
	assert_int_equal(show_choose(&s, &own, "term", NULL, &err), 0);
	document_open(&d, &own, NULL);
	document_title(&d, INK_PLAIN, "a title");
	document_table(&d, &t);
	document_fact(&d, "lost", true, "%d records", 12);
	document_note(&d, "a note");
	assert_int_equal(document_write(&b, &d, &s, &err), 0);
	document_close(&d);
	assert_string_equal(buf_str(&b), " a title\n"
					 " note            a note\n"
					 "\n text\n"
					 " while (first(a, b) && seco...\n"
					 " lost            12 records\n");
	buf_free(&b);
}

/* Errors as people see them: of an amount in % of it, but of none in its own unit. */
static void errors(void **state)
{
	static const struct {
		enum table_kind kind;
		double v, half;
		const char *want;
	} row[] = {
		{ T_AMOUNT, 2e6, 1e5, "+-5.0 %" },   { T_AMOUNT, 0, 1.96e6, "+-1.96 M" },
		{ T_AMOUNT, 5, 8, "+-100 %+" },	     { T_AMOUNT, 0, NAN, "+-?" },
		{ T_SECONDS, 0, 0.5, "+-500.0 ms" }, { T_SECONDS, 2, 0.5, "+-25.0 %" },
		{ T_SHARE, 0, 0.012, "+-1.2" },
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct table_cell x = { .kind = row[i].kind,
					      .e = { row[i].v, row[i].half, NULL } };

		buf_reset(&b);
		cell_put_error(&b, &x);
		assert_string_equal(buf_str(&b), row[i].want);
	}
	buf_free(&b);
}

/* Heads of several lines, a title of this table alone, and columns that a narrow terminal lacks. */
static void narrow(void **state)
{
	static const struct table_column columns[] = {
		COLUMN("runs", "runs", T_COUNT, C_KEY, "", .get = number_get),
		COLUMN("long", "Load\nLatency", T_COUNT, C_DROP, "", .get = number_get),
		COLUMN("wide", "Branch\nMisprediction", T_COUNT, C_DROP, "", .get = number_get),
		COLUMN("half", "half", T_TEXT, C_FLEX, "", .get = half_get),
	};
	static const struct table_form dropping = { "dropping", "not shown", 0,
						    TABLE_COLUMNS(columns), .next = number_next };
	static const struct table_form *const one[] = { &dropping };
	static const struct document_form of = { "narrow", 1, one, 1, NULL, 0 };
	static const size_t numbers = 1;
	const struct table t = { .form = &dropping, .ctx = &numbers, .title = "of this one" };
	static const char *const want[] = {
		"\n of this one\n"
		"          Load         Branch\n"
		" runs  Latency  Misprediction  half\n"
		"    0        0              0  half 0\n",
		"\n of this one\n"
		"          Load\n"
		" runs  Latency  half\n"
		"    0        0  half 0\n"
		" (1 more column: a wider terminal or --format csv)\n",
		"\n of this one\n"
		" runs  half\n"
		"    0  half 0\n"
		" (2 more columns: a wider terminal or --format csv)\n",
		"of this one\n\n"
		"| runs | Load Latency | Branch Misprediction | half |\n|---:|---:|---:|---|\n"
		"| 0 | 0 | 0 | half 0 |\n\n",
	};
	static const unsigned width[] = { 37, 36, 21, 0 };
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct show s = { .style = { .width = width[i] } };
		struct document d;

		buf_reset(&b);
		assert_int_equal(show_choose(&s, &of, i < 3 ? "term" : "markdown", NULL, &err), 0);
		document_open(&d, &of, NULL);
		document_table(&d, &t);
		assert_int_equal(document_write(&b, &d, &s, &err), 0);
		document_close(&d);
		assert_string_equal(b.s, want[i]);
	}
	buf_free(&b);
}

/* Fields of a row, behind its pointers and of the ctx; what each of them shows. */
static void fields(void **state)
{
	enum state { STATE_OFF, STATE_ON, STATE_LOST };
	struct part {
		const char *name;
		char note[4];
		int32_t change;
	};
	struct item {
		struct part *part;
		const char *const *words;
		size_t n_words;
		enum state state;
		uint32_t line, number;
		uint64_t ns;
		double v, half;
	};
	struct view {
		const struct item *first;
	};
	static const char *const state_names[] = { "off", "on" };
	static const char *const words[] = { "a", "b" };
	static struct part part = { "p", "no", -3 };
	static const struct item items[] = {
		{ &part, words, 2, STATE_ON, 7, 8, 1500000000, 2, 0.5 },
		{ NULL, NULL, 0, STATE_LOST, 0, UINT32_MAX, 0, 4, 0 },
	};
#define OF(...) TABLE_FIELD(struct item, __VA_ARGS__)
	static const struct table_column columns[] = {
		COLUMN("name", "", T_TEXT, 0, "", OF(part, name)),
		COLUMN("note", "", T_TEXT, 0, "", OF(part, note)),
		COLUMN("change", "", T_SIGNED, 0, "", OF(part, change)),
		COLUMN("state", "", T_TEXT, 0, "", OF(state), TABLE_NAMES(state_names)),
		COLUMN("line", "", T_ID, C_0_IS_NONE, "", OF(line)),
		COLUMN("number", "", T_ID, C_MAX_IS_NONE, "", OF(number)),
		COLUMN("seconds", "", T_SECONDS, 0, "", OF(ns)),
		COLUMN("value", "", T_REAL, C_ERROR, "", TABLE_PAIR(struct item, v, half)),
		COLUMN("words", "", T_LIST, 0, "", TABLE_LIST(struct item, words, n_words)),
		COLUMN("first", "", T_TEXT, 0, "", TABLE_CTX(struct view, first, part, name)),
	};
#undef OF
	static const struct table_form items_form = { "items", NULL, TABLE_MAIN,
						      TABLE_COLUMNS(columns) };
	static const struct table_form *const one[] = { &items_form };
	static const struct document_form of = { "example", 1, one, 1, NULL, 0 };
	const struct view view = { items };
	const struct table t = TABLE_OF(items_form, &view, items, 2);
	struct show s = { .separator = ',' };
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	struct document d;

	(void)state;
	assert_int_equal(show_choose(&s, &of, "csv", NULL, &err), 0);
	document_open(&d, &of, NULL);
	document_table(&d, &t);
	assert_int_equal(document_write(&b, &d, &s, &err), 0);
	document_close(&d);
	assert_string_equal(b.s, "name,note,change,state,line,number,seconds,value,value_error,"
				 "words,first\n"
				 "p,no,-3,on,7,8,1.5,2,0.5,a; b,p\n"
				 ",,,,,,0,4,0,,p\n");
	buf_free(&b);
}

static void refusals(void **state)
{
	struct show s = { 0 };
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(show_choose(&s, &form, "folded", NULL, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.what, "example has no format 'folded'");
	assert_string_equal(err.hint,
			    "--format term, csv, json, openmetrics, prometheus, markdown, "
			    "html or dot");
	err_clear(&err);
	assert_int_equal(show_choose(&s, &form, "csv", "plaices", &err), -1);
	assert_string_equal(err.what, "example has no table 'plaices'");
	assert_string_equal(err.hint, "--table head, places, numbers, losses or notes");
	err_clear(&err);
	assert_int_equal(show_choose(&s, &form, "dot", NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv),	  cmocka_unit_test(names_differ),
		cmocka_unit_test(json),	  cmocka_unit_test(markdown),
		cmocka_unit_test(html),	  cmocka_unit_test(term),
		cmocka_unit_test(narrow), cmocka_unit_test(refusals),
		cmocka_unit_test(pieces), cmocka_unit_test(errors),
		cmocka_unit_test(fields), cmocka_unit_test(tail_stays),
	};

	return cmocka_run_group_tests_name("show/formats", tests, NULL, NULL);
}
