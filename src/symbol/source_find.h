/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_find - the source file that debug information names, on this machine.
 *
 * Tried in this order; the first file whose size and MD5 are those in the debug information (where
 * it has them: DWARF 5) is the one:
 *	1. the places of `said`: OLD=NEW replaces the beginning OLD of the name by NEW;
 *	   DIR is searched for the whole name, then for fewer and fewer of its last parts
 *	2. the name itself, below the sysroot
 *	3. debuginfod's cache, by the program's build-id; then its servers, if `fetch`
 * A name that is still relative is looked for by `said` alone: the current directory is not the one
 * where the program was compiled. `..` in a name never leads out of DIR or the sysroot. Any user
 * can put a file where a foreign program's source once lay: by 2, only files that root, the user or
 * the program's owner alone can write are read, and those whose MD5 is right. And a program can
 * name any file: by 2, only files that its owner and the recording's can read are shown (and reach,
 * through all directories on the way), or files that belong to the user, who is not root. Of a
 * recording of another machine, files of this one are shown by 2 only if a build-id or their MD5
 * vouches for them. Links inside of DIR and of the sysroot end there, also absolute ones.
 */
#ifndef CYCLADE_SYMBOL_SOURCE_FIND_H
#define CYCLADE_SYMBOL_SOURCE_FIND_H

#include <sys/types.h>

#include "base/err.h"
#include "symbol/line_files.h"
#include "symbol/source_text.h"

struct source_places {
	const char *const *said; /* --source; NULL-ended or NULL */
	const char *sysroot;	 /* NULL: "" */
	const char *debuginfod;	 /* its cache directory, or NULL */
	bool fetch;		 /* ask its servers: base/fetcher.h is started */
	const uint8_t *build_id; /* of the program */
	size_t build_id_len;	 /* 0: not known */
	uid_t owner;		 /* of the program, or root */
	uid_t recorder;		 /* of the recording, or root */
	/* The recording is of another machine, and nothing shows that the program is this one's */
	bool elsewhere;
};

enum source_outcome {
	SOURCE_ABSENT,
	SOURCE_FOUND,
	SOURCE_SECRET,	  /* there is one that the program's or the recording's user may not read */
	SOURCE_ELSEWHERE, /* there is one here, but the recording is of another machine */
	SOURCE_ANOTHERS,  /* there is one that some other user wrote, and no MD5 to vouch for it */
	SOURCE_DIFFERS,	  /* there are files of that name, none of which was compiled */
};

struct source_found {
	const struct source_text *text; /* FOUND; the shelf's */
	char path[4096]; /* FOUND: where it is; SECRET, ANOTHERS, DIFFERS: the first of these */
	bool by_md5;	 /* DIFFERS: in its MD5, not in its size */
};

/* `sum` is the debug information's sum of the file, or NULL. Files over SOURCE_MAX are skipped. */
enum source_outcome source_find(const struct source_places *w, const char *name,
				const struct source_sum *sum, struct source_shelf *shelf,
				struct source_found *out);

#endif
