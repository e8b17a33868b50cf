/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_lines - the line program of one unit as sorted rows.
 *
 * libdw runs the program and sorts its rows by address, an end of sequence before a start at the
 * same place. If several rows have one address, the last is kept: the instruction belongs to it.
 */
#include "symbol/dwarf/source_tables.h"

#include "base/xalloc.h"

static void add_line_row(struct src_line_tab *t, Dwarf_Line *line)
{
	struct src_row row = { 0, SRC_NONE, 0, 0 };
	unsigned discriminator = 0;
	Dwarf_Files *files;
	bool end = false;
	size_t file;
	int no = 0;

	if (dwarf_lineaddr(line, &row.addr) || dwarf_lineendsequence(line, &end))
		return;
	if (!end) {
		if (dwarf_line_file(line, &files, &file) || file >= SRC_NONE ||
		    dwarf_lineno(line, &no))
			return;
		row.file = (uint32_t)file;
		row.line = no > 0 ? (uint32_t)no : 0;
		if (!dwarf_linediscriminator(line, &discriminator))
			row.discriminator = discriminator;
	}
	if (t->rows.n) {
		struct src_row *last = vec_last(&t->rows);

		if (last->addr == row.addr) {
			*last = row;
			return;
		}
		if (last->file == row.file && last->line == row.line &&
		    last->discriminator == row.discriminator)
			return;
	}
	vec_xpush(&t->rows, row);
}

void src_lines_free(struct src_line_tab *t)
{
	if (!t)
		return;
	vec_free(&t->rows);
	vec_free(&t->files);
	free(t);
}

struct src_line_tab *src_read_lines(struct source *s, Dwarf_Die *unit)
{
	struct src_line_tab *t = xcalloc(1, sizeof(*t));
	Dwarf_Lines *lines = NULL;
	Dwarf_Files *files;
	size_t n = 0, n_files;

	if (dwarf_getsrclines(unit, &lines, &n))
		return t;
	if (!dwarf_getsrcfiles(unit, &files, &n_files)) {
		src_name_files(s, unit, files, n_files, &t->files);
		src_sum_files(s, unit, &t->files);
	}
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		bool end = false;

		if (!line || dwarf_lineaddr(line, &addr) || dwarf_lineendsequence(line, &end))
			continue;
		if (end || src_is_code(s, addr))
			add_line_row(t, line);
	}
	return t;
}
