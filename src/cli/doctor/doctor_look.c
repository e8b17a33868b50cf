/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor_look - facts that several checks need: of the machine, and which the kernel lets us
 * open.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "collect/capture.h"
#include "collect/sysfs.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- trying ----------------------------------------------------------------------------- */

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

int doctor_try_event(struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd;

	attr.disabled = 1;
	fd = open_event(&attr, pid, cpu, -1);
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static struct perf_event_attr clock_attr(bool kernel)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .sample_period = 1000000,
					 .sample_type = PERF_SAMPLE_IP,
					 .exclude_kernel = !kernel,
					 .exclude_hv = 1 };
}

struct perf_event_attr doctor_cycles_attr(void)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_HARDWARE,
					 .config = PERF_COUNT_HW_CPU_CYCLES,
					 .sample_period = 1000000,
					 .sample_type = PERF_SAMPLE_IP,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
}

unsigned doctor_counters(void)
{
	int fd[DOCTOR_COUNTERS_MAX];
	unsigned n;

	for (n = 0; n < COUNT(fd); n++) {
		struct perf_event_attr attr = doctor_cycles_attr();

		attr.sample_period = 0;
		/* Arm's driver does not reserve a counter for a leader that is off, unless exec
		 * turns it on: the trial would find one counter too many */
		attr.disabled = attr.enable_on_exec = !n;
		fd[n] = open_event(&attr, 0, -1, n ? fd[0] : -1);
		if (fd[n] < 0)
			break;
	}
	for (unsigned i = n; i-- > 0;)
		(void)close(fd[i]);
	return n;
}

int doctor_try_ring(void)
{
	struct perf_event_attr attr = clock_attr(false);
	size_t len = (DOCTOR_RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	int fd, rc = 0;
	void *p;

	attr.disabled = 1;
	fd = open_event(&attr, 0, -1, -1);
	if (fd < 0)
		return errno;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		rc = errno;
	else
		(void)munmap(p, len);
	(void)close(fd);
	return rc;
}

/* ---- looking ---------------------------------------------------------------------------- */

static const char *find_container(struct doctor *d)
{
	static const struct {
		const char *path, *name;
	} marks[] = {
		{ ".dockerenv", "docker" },
		{ "run/.containerenv", "podman" },
		{ "run/systemd/container", NULL },
		{ "dev/lxd", "lxd" },
	};
	const char *cgroup;

	for (size_t i = 0; i < COUNT(marks); i++)
		if (sys_exists(d->root, "%s", marks[i].path))
			return marks[i].name ? marks[i].name
					     : sys_text(d->a, d->root, "%s", marks[i].path);
	cgroup = sys_text(d->a, d->root, "proc/1/cgroup");
	for (size_t i = 0; cgroup && capture_containers[i]; i++)
		if (strstr(cgroup, capture_containers[i]))
			return capture_containers[i];
	return NULL;
}

/* A number of /proc/self/status; -1: not known */
static int find_status(struct doctor *d, const char *field)
{
	char text[4096];
	ssize_t len = sys_read(text, sizeof(text), d->root, "proc/self/status");
	const char *v;
	int64_t number;
	size_t n;

	if (len <= 0 || !text_field(text, (size_t)len, field, ':', &v, &n) ||
	    !text_number(&number, v, n))
		return -1;
	return (int)number;
}

int doctor_look(struct doctor *d, struct err *err)
{
	d->own_user = d->own_kernel = d->whole_machine = d->cycles = -1;
	if (machine_read(&d->m, d->a, d->root, err))
		return -1;
	d->container = find_container(d);
	d->seccomp = find_status(d, "Seccomp");
	d->no_new_privs = find_status(d, "NoNewPrivs") == 1;
	if (!d->live)
		return 0;
	d->own_user = doctor_try_event(clock_attr(false), 0, -1);
	d->own_kernel = doctor_try_event(clock_attr(true), 0, -1);
	d->whole_machine =
		doctor_try_event(clock_attr(true), -1, (int)(d->m.online ? d->m.online[0] : 0));
	d->cycles = doctor_try_event(doctor_cycles_attr(), 0, -1);
	return 0;
}
