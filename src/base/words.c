/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"

#include <stdbool.h>
#include <string.h>

/* Takes one word off *text and writes it to `out`, which has room for all of it; false at the end,
 * or (*open) if a quote is not closed. */
static bool take_shell_word(const char **text, char *out, bool *open)
{
	const char *p = *text + strspn(*text, " \t\n");
	char quote = 0;

	*open = false;
	if (!*p)
		return false;
	for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
		if (*p == quote) {
			quote = 0;
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else {
			if (*p == '\\' && quote != '\'' && p[1])
				p++;
			*out++ = *p;
		}
	}
	*out = '\0';
	*text = p;
	*open = quote;
	return true;
}

int words_split(struct arena *a, const char *text, char ***argv, size_t *n, struct err *err)
{
	/* words take no more than the text does: between two of them there is a blank */
	char *word = arena_alloc(a, strlen(text) + 1);
	bool open;

	*n = 0;
	*argv = arena_alloc(a, (strlen(text) / 2 + 2) * sizeof(**argv));
	if (!word || !*argv)
		return err_nomem(err);
	while (take_shell_word(&text, word, &open)) {
		if (open)
			return err_set(err, ERR_USAGE, "a quote is not closed: %.40s", word);
		(*argv)[(*n)++] = word;
		word += strlen(word) + 1;
	}
	(*argv)[*n] = NULL;
	return 0;
}
