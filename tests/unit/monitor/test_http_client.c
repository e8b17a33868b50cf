/* SPDX-License-Identifier: BSD-3-Clause */
/* Which connection of the server has to go, by a clock that the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "monitor/http_client.h"

#define MOST HTTP_CONNECTIONS
#define ALL  (HTTP_CONNECTIONS + HTTP_LEAVING)

static struct http_clients cs;
static int ours[ALL + 1], theirs[ALL + 1];

static struct http_client *add(unsigned i, uint64_t now)
{
	int pair[2];

	assert_false(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
	ours[i] = pair[0];
	theirs[i] = pair[1];
	return http_client_new(&cs, pair[0], now);
}

static int is_ended(unsigned i)
{
	char byte;

	return read(theirs[i], &byte, 1) == 0;
}

static unsigned ended(unsigned n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++)
		found += (unsigned)is_ended(i);
	return found;
}

static void close_all(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		(void)close(ours[i]);
		(void)close(theirs[i]);
	}
	memset(&cs, 0, sizeof(cs));
}

/* A head and an answer have their time each, from the moment when the state began. */
static void times(void **state)
{
	struct http_client *slow = add(0, 100), *asks = add(1, 100);

	(void)state;
	http_client_asked(asks, 1000);
	assert_int_equal(http_clients_expire(&cs, 100 + HTTP_HEAD - 1), 100 + HTTP_HEAD);
	assert_int_equal(ended(2), 0);
	assert_int_equal(http_clients_expire(&cs, 100 + HTTP_HEAD), 1000 + HTTP_ANSWER);
	assert_true(is_ended(0) && !is_ended(1));
	http_client_asked(slow, 200); /* it comes too late */
	assert_int_equal(http_clients_expire(&cs, 1000 + HTTP_ANSWER - 1), 1000 + HTTP_ANSWER);
	http_client_rests(asks, 1000 + HTTP_ANSWER - 1);
	assert_int_equal(http_clients_expire(&cs, 1000 + HTTP_ANSWER),
			 999 + HTTP_ANSWER + HTTP_HEAD);
	assert_false(is_ended(1));
	http_client_asked(asks, 2 * HTTP_ANSWER);
	assert_int_equal(http_clients_expire(&cs, 3 * HTTP_ANSWER), UINT64_MAX);
	assert_true(is_ended(1));
	http_client_gone(&cs, slow);
	http_client_gone(&cs, asks);
	assert_int_equal(cs.n, 0);
	close_all(2);
}

/* The one without a head for longest goes first, then the one that takes its answer for longest. */
static void places(void **state)
{
	struct http_client *c[ALL];

	(void)state;
	for (unsigned i = 0; i < MOST; i++)
		assert_non_null(c[i] = add(i, i));
	http_client_asked(c[0], 5000);
	http_client_rests(c[1], 5000);
	assert_non_null(c[MOST] = add(MOST, 6000));
	assert_true(is_ended(2));
	assert_int_equal(ended(MOST + 1), 1);
	http_client_gone(&cs, c[2]); /* it had its place until now, so nobody else has to go */
	assert_int_equal(cs.n, MOST);
	http_client_gone(&cs, c[3]);
	assert_ptr_equal(add(MOST + 1, 6001), c[2]);
	assert_int_equal(ended(MOST + 2), 1);
	for (unsigned i = 0; i <= MOST; i++)
		if (i != 3)
			http_client_asked(c[i], 7000 + i);
	assert_ptr_equal(add(MOST + 2, 8000), c[3]); /* all others are answered */
	assert_true(is_ended(0));
	assert_int_equal(ended(MOST + 3), 2);
	assert_int_equal(cs.n, MOST);
	close_all(MOST + 3);
}

/* Clients that have left go before all others, who may have been here for longer. */
static void leaving(void **state)
{
	struct http_client *c[ALL];

	(void)state;
	for (unsigned i = 0; i < MOST; i++)
		assert_non_null(c[i] = add(i, i));
	assert_false(shutdown(theirs[50], SHUT_WR));
	assert_false(shutdown(theirs[60], SHUT_WR));
	http_client_asked(c[60], 1000); /* it has its head, and waits for the answer */
	assert_non_null(add(MOST, 2000));
	assert_true(is_ended(50) && !is_ended(60));
	assert_int_equal(ended(MOST + 1), 1);
	assert_non_null(add(MOST + 1, 2001));
	assert_true(is_ended(0) && !is_ended(60));
	close_all(MOST + 2);
}

/* Never more than ALL, however late the owner hears of those that ended. */
static void most(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ALL; i++)
		assert_non_null(add(i, i));
	assert_int_equal(cs.n, MOST);
	assert_int_equal(ended(ALL), HTTP_LEAVING);
	assert_null(add(ALL, ALL));
	assert_true(is_ended(ALL));
	assert_int_equal(cs.n, MOST);
	close_all(ALL + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(times), cmocka_unit_test(places),
					    cmocka_unit_test(leaving), cmocka_unit_test(most) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
