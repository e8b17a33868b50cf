/* SPDX-License-Identifier: BSD-3-Clause */
/* xalloc and nomem: what ends a process without memory, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/xalloc.h"

enum { ENDED = 7, WENT_ON = 3 };

static void end_process(void)
{
	_exit(ENDED);
}

/* The exit status of a process that does this. */
static int status_of(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		run();
		_exit(WENT_ON);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Sizes that overflow: no allocator is asked, so that this holds under sanitizers. */
static void grow_vec(void)
{
	VEC(uint64_t) v = VEC_INIT;

	nomem_policy(end_process, false);
	vec_xreserve(&v, SIZE_MAX / 4);
}

static void grow_arena(void)
{
	struct arena a = ARENA_INIT;
	void *p;

	nomem_policy(end_process, false);
	p = arena_xalloc(&a, SIZE_MAX - 3);
	(void)p;
}

static void note_only(void)
{
	nomem_policy(end_process, false);
	(void)err_nomem(NULL);
	if (!nomem_noted())
		_exit(1);
}

static void note_ends(void)
{
	nomem_policy(end_process, true);
	(void)err_nomem(NULL);
}

static void ends_or_notes(void **state)
{
	(void)state;
	assert_int_equal(status_of(grow_vec), ENDED);
	assert_int_equal(status_of(grow_arena), ENDED);
	assert_int_equal(status_of(note_only), WENT_ON);
	assert_int_equal(status_of(note_ends), ENDED);
}

static void allocates(void **state)
{
	struct arena a = ARENA_INIT;
	VEC(int) v = VEC_INIT;
	struct u64map m = U64MAP_INIT;
	char *s = xstrdup("words");
	char *none = xmemdup(NULL, 0);
	uint64_t *zeroed = xcalloc(3, sizeof(*zeroed));

	(void)state;
	zeroed = xreallocarray(zeroed, 4, sizeof(*zeroed));
	assert_true(zeroed[2] == 0);
	for (int i = 0; i < 100; i++) {
		vec_xpush(&v, i);
		*vec_xadd(&v) = -i;
		*u64map_xat(&m, (uint64_t)i % 10, NULL) += 2;
	}
	assert_int_equal(v.n, 200);
	assert_int_equal(v.v[198], 99);
	assert_int_equal(*u64map_find(&m, 9), 20);
	assert_string_equal(arena_xprintf(&a, "%s of %d", s, 300), "words of 300");
	assert_string_equal(arena_xstrndup(&a, "abcdef", 3), "abc");
	free(zeroed);
	free(none);
	free(s);
	vec_free(&v);
	u64map_free(&m);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_or_notes),
		cmocka_unit_test(allocates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
