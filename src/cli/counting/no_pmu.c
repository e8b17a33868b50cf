/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/counting/no_pmu.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file_out.h"
#include "collect/event.h"
#include "collect/machine.h"

void no_pmu_say(const char *why, const char *hypervisor, const char *so, const char *meanwhile)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "cyclade: no cycle counter here");
	if (hypervisor)
		buf_printf(&b, ": %s, virtual PMU not exposed", hypervisor);
	buf_printf(&b, "; %s\n", so);
	for (const char *lead = "  looked at  "; *why; lead = "             ") {
		size_t n = strcspn(why, ";");

		buf_printf(&b, "%s%.*s\n", lead, (int)n, why);
		why += n;
		why += strspn(why, "; ");
	}
	buf_puts(&b, "  to fix it  give the guest a virtual PMU; `cyclade doctor` tells how\n");
	if (meanwhile)
		buf_printf(&b, "  meanwhile  %s\n", meanwhile);
	if (fd_write_all(STDERR_FILENO, buf_str(&b), b.len, "", NULL))
		b.failed = true; /* nobody reads the message */
	buf_free(&b);
}

void no_pmu_find(const struct cli *cli, char why[256])
{
	struct event_list list = EVENT_LIST_INIT;

	if (event_default(&list, cli->opt.sysroot ? cli->opt.sysroot : "", why, NULL))
		why[0] = '\0';
	event_list_free(&list);
}

int no_pmu_end(struct cli *cli, const char *why, const char *meanwhile)
{
	struct machine m;

	if (machine_read_parts(&m, &cli->arena, cli->opt.sysroot ? cli->opt.sysroot : "",
			       MACHINE_MODEL | MACHINE_HYPERVISOR, NULL))
		m.hypervisor = NULL;
	no_pmu_say(why, m.hypervisor, "nothing was started", meanwhile);
	return cli->args.n ? EXIT_TOOL : EXIT_ERROR;
}
