/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack - documents as data for a script in a page: JSON whose texts stand once each in a list.
 *
 *	pack_open(&p, &out)
 *	pack_array(&p, "documents"), pack_document(&p, NULL, "calls", &d), ..., pack_end(&p)
 *	pack_object(&p, "cube"), pack_members(&p, &d), pack_end(&p)	without columns' names
 *	pack_close(&p)				"short", and the list of texts
 *
 * Long names of functions (table_names_things()) have a short form, which folds of all names of the
 * page make together (fold.h): in no table do two that differ look alike.
 *
 * The format of documents is in report/page/FORMAT.md. Members and values are those of the json
 * format. The text may stand in an HTML element: it has no '<'. `out` may drain.
 */
#ifndef CYCLADE_SHOW_PACK_H
#define CYCLADE_SHOW_PACK_H

#include "base/hash.h"
#include "base/json.h"
#include "show/document.h"
#include "show/pack_rows.h"

enum { PACK_COLUMNS = 1024 };
#define PACK_LEAST 100u /* rows that each table keeps, however large they are */

struct pack {
	struct json j;
	struct strtab texts;
	struct pack_rows rows; /* of the table at hand */
	unsigned char *name;   /* by text: of a column of names, which "short" folds */
	size_t n_names;
	struct buf scratch, text;
	uint64_t cap;	  /* bytes of rows of a table of a document, about; 0: any number */
	uint64_t most;	  /* bytes of the text behind which tables have PACK_LEAST rows */
	uint64_t start;	  /* bytes of `out` before the text */
	uint64_t listed;  /* bytes of the list of texts so far */
	const char *note; /* of the next document, one more; NULL: none */
	const char *only; /* table of documents; NULL: all */
	bool later;	  /* documents have no titles */
	bool words;	  /* texts of C_DATA stand as they are */
	bool failed;	  /* out of memory; pack_close() sets the error of `out` */
	unsigned depth;
	bool array[16];		  /* by depth */
	bool empty[PACK_COLUMNS]; /* of the table at hand */
};

void pack_open(struct pack *p, struct buf *out);
void pack_close(struct pack *p);
/* `key` is NULL in an array. */
void pack_object(struct pack *p, const char *key);
void pack_array(struct pack *p, const char *key);
void pack_end(struct pack *p); /* of the object or array at hand */
void pack_word(struct pack *p, const char *key, const char *text); /* as it is; NULL: null */
void pack_text(struct pack *p, const char *key, const char *text); /* its place in the list */
void pack_count(struct pack *p, const char *key, uint64_t n);
void pack_flag(struct pack *p, const char *key, bool yes);
/* Tables that have more rows than p->cap and p->most let them have are noted. */
void pack_document(struct pack *p, const char *key, const char *view, const struct document *d);
uint64_t pack_bytes(const struct pack *p); /* of the text so far, with the list of texts */
/* Returns the cap with which the rows of the documents have about `most` bytes together; 0: they
 * have less. Costs some rows of each table. */
uint64_t pack_cap(const struct pack *p, const struct document *const *d, size_t n, uint64_t most);
/*
 * Its tables as members of the object at hand, without names of columns: each as ROWS, or an array
 * of cells if it has one column only. The cells of one with TABLE_HEAD are members. Texts of
 * columns with C_DATA stand there themselves: words and paths, of which a list saves nothing.
 */
void pack_members(struct pack *p, const struct document *d);

#endif
