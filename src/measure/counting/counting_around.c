/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmeasured runs around the program: itself (--warmup), and commands before and after each run
 * (--pre, --post). Words are split as by a shell, but no shell runs; if you need one: --pre "sh -c
 * '...'".
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "measure/counting/counting_int.h"

/* Until it has ended; a signal that interrupts us is passed on, and ends us, too. */
static int wait_for_command(struct counting *k, struct workload *w, const char *what,
			    struct err *err)
{
	unsigned interrupts = 0;

	while (!workload_reap(w, false)) {
		struct pollfd fd = { .fd = k->signals, .events = POLLIN };
		struct signalfd_siginfo s;

		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			return err_sys(err, "poll");
		while (read(k->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
			if (s.ssi_signo == SIGCHLD || s.ssi_signo == SIGUSR1 ||
			    s.ssi_signo == SIGUSR2)
				continue;
			/* a terminal has sent it to all processes */
			if (s.ssi_code != SI_KERNEL || interrupts++)
				(void)kill(w->pid, interrupts > 1 ? SIGTERM : (int)s.ssi_signo);
			interrupts += !interrupts;
		}
	}
	if (!interrupts)
		return 0;
	k->result.interrupted = true;
	return err_set(err, ERR_USAGE, "interrupted during %s", what);
}

static int run_words(struct counting *k, char **argv, unsigned silent, const char *what,
		     int *status, struct err *err)
{
	struct workload w;
	int rc = -1;

	if (workload_prepare(&w, argv, NULL, &k->old_mask, silent, err))
		return -1;
	if (!workload_start(&w, argv[0], err) && !wait_for_command(k, &w, what, err))
		rc = 0;
	workload_cancel(&w);
	*status = w.status;
	return rc;
}

static int run_command(struct counting *k, const char *option, const char *text, struct err *err)
{
	int status = 0;
	char **argv;
	size_t n;

	if (words_split(k->opts->a, text, &argv, &n, err))
		return err_prefix(err, "%s", option);
	if (!n)
		return err_set(err, ERR_USAGE, "%s: there is no command", option);
	if (run_words(k, argv, 0, option, &status, err)) {
		/* it is not the program that could not be executed */
		if (err->code == ERR_EXEC)
			err->code = ERR_NOT_FOUND;
		return err_prefix(err, "%s", option);
	}
	if (!status)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: '%.100s' ended with %d", option, text, status);
	return err_hint(err, "it is no shell: for one say %s \"sh -c '...'\"", option);
}

int counting_before(struct counting *k, struct err *err)
{
	const char *pre = k->opts->pre;

	return k->has_program && pre ? run_command(k, "--pre", pre, err) : 0;
}

int counting_after(struct counting *k, struct err *err)
{
	const char *post = k->opts->post;

	return k->has_program && post ? run_command(k, "--post", post, err) : 0;
}

int counting_warmup(struct counting *k, struct err *err)
{
	const struct text_list *args = &k->opts->program;
	uint64_t runs = k->opts->warmup;
	char **argv;
	int status;

	if (!k->has_program || !runs)
		return 0;
	argv = arena_alloc(k->opts->a, (args->n + 1) * sizeof(*argv));
	if (!argv)
		return err_nomem(err);
	memcpy(argv, args->v, args->n * sizeof(*argv));
	for (uint64_t i = 0; i < runs; i++)
		if (counting_before(k, err) ||
		    run_words(k, argv, k->opts->silent, "--warmup", &status, err) ||
		    counting_after(k, err))
			return -1;
	return 0;
}
