/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor_checks - the checks, their verdicts, and the commands that mend.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fetcher.h"
#include "base/file_in.h"
#include "base/num.h"
#include "base/perf_abi.h"
#include "base/sandbox.h"
#include "cli/doctor/doctor.h"
#include "cli/model_choice.h"
#include "collect/sysfs.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define NOT_TRIED  "not tried: this is another machine's tree"
#define USUAL_RATE 4000u /* samples a second, without -F */
#define DISK_LOW   (1000u * 1000u * 1000u)

static void add_fix(struct finding *f, const char *text)
{
	for (size_t i = 0; i < FIXES; i++)
		if (!f->fix[i]) {
			f->fix[i] = text;
			return;
		}
}

static void judge(struct finding *f, enum verdict verdict, const char *effect)
{
	f->verdict = verdict;
	f->effect = effect;
}

static const struct machine_pmu *find_pmu(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->m.n_pmus; i++)
		if (!strcmp(d->m.pmu[i].name, name))
			return &d->m.pmu[i];
	return NULL;
}

static bool starts(const char *s, const char *with)
{
	return s && !strncmp(s, with, strlen(with));
}

/* The PMU of the cores, the big ones first. */
const struct machine_pmu *doctor_core_pmu(const struct doctor *d)
{
	static const char *const names[] = { "cpu", "cpu_core", "cpu_atom" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (find_pmu(d, names[i]))
			return find_pmu(d, names[i]);
	for (size_t i = 0; i < d->m.n_pmus; i++)
		if (starts(d->m.pmu[i].name, "armv") || starts(d->m.pmu[i].name, "apple_"))
			return &d->m.pmu[i];
	return NULL;
}

static bool has_pmu(const struct doctor *d)
{
	return d->live ? !d->cycles : doctor_core_pmu(d) != NULL;
}

static const char *cap(const struct machine_pmu *pmu, const char *name)
{
	for (size_t i = 0; pmu && i < pmu->n_caps; i++)
		if (!strcmp(pmu->cap_name[i], name))
			return pmu->cap_value[i];
	return NULL;
}

/* The model of this CPU, if there is one. */
static bool known_model(struct model_row *out, struct doctor *d)
{
	struct model_choice choice = cli_model_choice(d->cli);
	struct model_sources s = model_choice_sources(&choice);
	const struct machine_pmu *pmu = doctor_core_pmu(d);
	const char *id;

	return !model_choice_id(&choice, &d->m, pmu ? pmu->name : NULL, &id, NULL) &&
	       !model_row_of(out, d->a, &s, id, NULL);
}

/* ---- the checks ------------------------------------------------------------------------- */

/* The kernel has no name for most of Arm's CPUs: the model has one. */
static void check_cpu(struct doctor *d, struct finding *f)
{
	struct model_row row;
	bool known = known_model(&row, d);
	const struct machine *m = &d->m;
	const char *name = m->cpu_desc ? m->cpu_desc : known ? row.title : "unknown CPU";

	f->state = arena_printf(d->a, "%s%s%s%s, %s%s, %u of %u CPUs on", name,
				m->cpuid ? " (" : "", m->cpuid ? m->cpuid : "", m->cpuid ? ")" : "",
				known ? "model " : "no model of it", known ? row.id : "",
				m->cpus_online, m->cpus_available);
}

/* A container's /proc/sys cannot be written; its values are the host's. */
static void add_sysctl(struct doctor *d, struct finding *f, const char *setting)
{
	struct statvfs at;
	bool fixed = d->live && !statvfs("/proc/sys/kernel", &at) && at.f_flag & ST_RDONLY;

	add_fix(f, arena_printf(d->a, "%ssysctl %s", fixed ? "on the host: " : "", setting));
}

static void check_sampling(struct doctor *d, struct finding *f)
{
	if (!d->live) {
		f->state = NOT_TRIED;
		f->verdict = VERDICT_NONE;
		return;
	}
	if (!d->own_user) {
		f->state = d->own_kernel      ? "your own processes, user space only"
			   : d->whole_machine ? "your own processes, kernel included"
					      : "every process, kernel included";
		return;
	}
	f->state = arena_printf(d->a, "opening cpu-clock for oneself: %s", err_number(d->own_user));
	judge(f, VERDICT_BLOCKER, "nothing can be sampled");
	if (d->own_user == ENOSYS && d->seccomp != 2) {
		add_fix(f, "a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	if (d->seccomp == 2) {
		/* of a rootless container, no capability counts */
		add_fix(f, d->m.first_userns
				   ? "docker run --cap-add PERFMON --security-opt "
				     "seccomp=unconfined ..."
				   : "docker or podman run --security-opt seccomp=unconfined ...");
		add_fix(f,
			d->m.first_userns
				? "Kubernetes: securityContext with capabilities.add [PERFMON] and"
				: "Kubernetes: securityContext with");
		add_fix(f, "  seccompProfile.type Unconfined (a filter forbids perf_event_open)");
	}
	if (d->m.paranoid > 2)
		add_sysctl(d, f, "kernel.perf_event_paranoid=1");
	if (!f->fix[0])
		add_fix(f, "look at `dmesg | tail` and at the security module of this kernel");
}

static void check_pmu(struct doctor *d, struct finding *f)
{
	const struct machine_pmu *pmu = doctor_core_pmu(d);
	const char *precise = cap(pmu, "max_precise");

	if (!d->live && pmu) {
		f->state = arena_printf(d->a, "PMU %s (not tried)", pmu->name);
		return;
	}
	if (has_pmu(d)) {
		unsigned n = doctor_counters();

		f->state = arena_printf(d->a, "%s: %s%u counters for cycles, max_precise %s",
					pmu ? pmu->name : "cpu",
					n == DOCTOR_COUNTERS_MAX ? "over " : "", n,
					precise ? precise : "not given");
		return;
	}
	f->state = d->live ? arena_printf(d->a, "%s; opening cycles: %s",
					  pmu ? pmu->name : "no core PMU in sysfs",
					  err_number(d->cycles))
			   : "no core PMU in sysfs";
	judge(f, VERDICT_LIMIT, "time only, no counters");
	if (d->live && (d->cycles == EACCES || d->cycles == EPERM))
		return; /* sampling and paranoid print the fix */
	if (!d->m.hypervisor) {
		add_fix(f, "enable the PMU in the firmware's setup; a kernel with "
			   "CONFIG_HW_PERF_EVENTS");
		return;
	}
	add_fix(f, "libvirt: <cpu mode='host-passthrough'/>, <features><pmu state='on'/>");
	add_fix(f, "QEMU: -cpu host,pmu=on   VMware: vpmc.enable = TRUE");
	add_fix(f, "EC2: a metal or whole-socket size");
	add_fix(f, "GCP: C4 or C4A with --performance-monitoring-unit=standard");
}

static void check_watchdog(struct doctor *d, struct finding *f)
{
	if (d->m.nmi_watchdog < 0) {
		f->state = "not readable";
		f->verdict = VERDICT_NONE;
		return;
	}
	if (!d->m.nmi_watchdog) {
		f->state = "off";
		return;
	}
	if (!has_pmu(d)) {
		f->state = "on, but there is no counter to hold";
		f->verdict = VERDICT_NONE;
		return;
	}
	f->state = "the NMI watchdog holds one counter";
	judge(f, VERDICT_COST, "costs a counter");
	add_sysctl(d, f, "kernel.nmi_watchdog=0");
}

static const char *paranoid_means(int v)
{
	return v < 0	? "everything is open to everybody"
	       : v == 0 ? "all but raw tracepoints is open to everybody"
	       : v == 1 ? "your own processes, kernel included"
	       : v == 2 ? "your own processes, user space only"
			: "nothing, without CAP_PERFMON";
}

static const char *own_path(struct doctor *d)
{
	char path[4096];
	ssize_t len = d->live ? readlink("/proc/self/exe", path, sizeof(path)) : -1;
	const char *copy = len > 0 ? arena_strndup(d->a, path, (size_t)len) : NULL;

	return copy ? copy : "cyclade";
}

/* The capabilities of files count neither in a namespace of users, nor for programs that may gain
 * no rights, nor on a file system without set-user-ID. */
static void add_setcap(struct doctor *d, struct finding *f)
{
	const char *path = own_path(d);
	struct statvfs at;

	if (d->live && !d->m.first_userns)
		add_fix(f, "or: as root outside of this user namespace, where capabilities count");
	else if (d->live && d->no_new_privs)
		add_fix(f, arena_printf(d->a,
					"or: without no_new_privs (Kubernetes: "
					"allowPrivilegeEscalation: true), setcap cap_perfmon+ep %s",
					path));
	else if (d->live && !statvfs(path, &at) && at.f_flag & ST_NOSUID)
		add_fix(f, "or: setcap cap_perfmon+ep on a copy outside of this nosuid file "
			   "system");
	else
		add_fix(f, arena_printf(d->a, "or: setcap cap_perfmon+ep %s", path));
}

static void check_paranoid(struct doctor *d, struct finding *f)
{
	int v = d->m.paranoid;

	if (v == -100) {
		f->state = "not readable";
		judge(f, VERDICT_LIMIT, "what is allowed is not known");
		if (d->live)
			add_fix(f, "mount -t proc proc /proc");
		return;
	}
	if (d->m.privileged || (d->live && !d->whole_machine)) {
		f->state = arena_printf(d->a, "%d, but you may do anything", v);
		return;
	}
	f->state = arena_printf(d->a, "%d: %s", v, paranoid_means(v));
	if (v < 1)
		return;
	if (v > 2 && (!d->live || d->own_user))
		judge(f, VERDICT_BLOCKER, "nothing can be sampled");
	else
		judge(f, VERDICT_LIMIT, v == 1 ? "no -a" : "no -a, no kernel");
	add_sysctl(d, f, "kernel.perf_event_paranoid=0");
	add_setcap(d, f);
}

static void none_without_pmu(struct finding *f)
{
	f->state = "needs a PMU";
	f->verdict = VERDICT_NONE;
}

static void check_lbr(struct doctor *d, struct finding *f)
{
	const struct machine_pmu *pmu = doctor_core_pmu(d);
	const char *branches = cap(pmu, "branches");
	struct perf_event_attr attr = doctor_cycles_attr();
	int e;

	if (!has_pmu(d)) {
		none_without_pmu(f);
		return;
	}
	if (!d->live) {
		f->state = branches ? arena_printf(d->a, "%s entries (not tried)", branches)
				    : "not said by sysfs";
		f->verdict = branches ? VERDICT_OK : VERDICT_NONE;
		return;
	}
	attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	e = doctor_try_event(attr, 0, -1);
	if (!e) {
		f->state = branches ? arena_printf(d->a, "%s entries", branches) : "opens";
		return;
	}
	f->state = arena_printf(d->a, "branch stacks: %s", err_number(e));
	judge(f, VERDICT_LIMIT, "no -b");
	if (d->m.hypervisor)
		add_fix(f, "the host must hand it on: Intel, KVM of Linux 5.12, QEMU's lbr-fmt=");
	else
		add_fix(f,
			"it takes Intel LBR, AMD Zen 3 or newer, or Arm BRBE, and a kernel for it");
}

/* Samples that are put on the very instruction, and how each maker calls it. */
static void check_precise(struct doctor *d, struct finding *f)
{
	static const struct {
		const char *pmu, *name;
	} units[] = { { "ibs_op", "IBS" }, { "arm_spe_0", "SPE" } };
	struct perf_event_attr attr = doctor_cycles_attr();
	const struct machine_pmu *pmu = doctor_core_pmu(d);
	const char *precise = cap(pmu, "max_precise");
	int e = 0;

	for (size_t i = 0; i < COUNT(units); i++)
		if (find_pmu(d, units[i].pmu)) {
			f->state = arena_printf(d->a, "%s (PMU %s)", units[i].name, units[i].pmu);
			return;
		}
	if (!has_pmu(d)) {
		none_without_pmu(f);
		return;
	}
	if (pmu && starts(pmu->name, "armv")) {
		f->state = arena_printf(d->a, "%s takes cycles:p, but samples skid", pmu->name);
		judge(f, VERDICT_LIMIT, "samples skid past the instruction");
		add_fix(f, "Arm has it in SPE, which firmware and kernel must hand on");
		return;
	}
	attr.precise_ip = 1;
	if (d->live)
		e = doctor_try_event(attr, 0, -1);
	else if (!precise || !strcmp(precise, "0"))
		e = EOPNOTSUPP;
	if (!e) {
		f->state = arena_printf(d->a, "%s, max_precise %s",
					starts(d->m.vendor, "GenuineIntel") ? "PEBS" : "precise",
					precise ? precise : "not given");
		return;
	}
	f->state = arena_printf(d->a, "cycles:p: %s", err_number(e));
	judge(f, VERDICT_LIMIT, "samples skid past the instruction");
	if (starts(d->m.vendor, "AuthenticAMD"))
		add_fix(f, "AMD has it in IBS, which guests do not get: profile on the host");
	else if (d->m.hypervisor)
		add_fix(f, "the host must hand it on: Intel Ice Lake or newer, KVM of Linux 6.0");
	else
		add_fix(f, "this CPU or its kernel has none: mind an instruction or two of skid");
}

static void check_rings(struct doctor *d, struct finding *f)
{
	char size[NUM_MAX];
	int e;

	if (!d->live) {
		f->state = d->m.mlock_kb
				   ? arena_printf(d->a, "perf_event_mlock_kb %llu (not tried)",
						  (unsigned long long)d->m.mlock_kb)
				   : "not readable";
		f->verdict = VERDICT_NONE;
		return;
	}
	if (d->own_user) {
		f->state = "needs an event";
		f->verdict = VERDICT_NONE;
		return;
	}
	e = doctor_try_ring();
	f->state =
		arena_printf(d->a, "a ring of %s %s; mlock_kb %llu",
			     num_bytes(size, DOCTOR_RING_PAGES * (uint64_t)sysconf(_SC_PAGESIZE)),
			     e ? "cannot be mapped" : "fits", (unsigned long long)d->m.mlock_kb);
	if (!e)
		return;
	judge(f, VERDICT_COST, "smaller rings lose samples sooner");
	add_sysctl(d, f, "kernel.perf_event_mlock_kb=2048, or ulimit -l unlimited");
}

static void check_rate(struct doctor *d, struct finding *f)
{
	char n[NUM_MAX];

	if (!d->m.max_sample_rate) {
		f->state = "perf_event_max_sample_rate is not readable";
		f->verdict = VERDICT_NONE;
		return;
	}
	f->state = arena_printf(d->a, "at most %s samples a second and CPU",
				num_exact(n, d->m.max_sample_rate));
	if (d->m.max_sample_rate >= USUAL_RATE)
		return;
	judge(f, VERDICT_COST, "fewer samples than the usual 4000");
	add_sysctl(d, f, "kernel.perf_event_max_sample_rate=100000");
}

static void check_kernel_names(struct doctor *d, struct finding *f)
{
	char head[64];
	ssize_t len = sys_read(head, sizeof(head), d->root, "proc/kallsyms");
	bool hidden = len > 16 && !strncmp(head, "0000000000000000", 16);
	bool kernel = d->live ? !d->own_kernel : d->m.privileged || d->m.paranoid < 2;

	f->state = d->m.kptr_restrict < 0
			   ? "kptr_restrict not readable"
			   : arena_printf(d->a, "kptr_restrict %d, /proc/kallsyms %s",
					  d->m.kptr_restrict,
					  len <= 0 ? "cannot be read"
					  : hidden ? "hides addresses"
						   : "shows them");
	if (len > 16 && !hidden)
		return;
	if (!d->live && len <= 0) {
		f->verdict = VERDICT_NONE;
		return;
	}
	if (!kernel) {
		f->verdict = VERDICT_NONE; /* without kernel samples their names are not needed */
		return;
	}
	judge(f, VERDICT_LIMIT, "kernel functions without names");
	add_sysctl(d, f,
		   d->m.kptr_restrict == 2 ? "kernel.kptr_restrict=0"
					   : "kernel.kptr_restrict=0, or run as root");
}

/* A package of debug information is named only if the kernel itself is of a package. */
static void fix_symbols(struct doctor *d, struct finding *f)
{
	static const struct {
		const char *id, *path, *path_end, *before, *after;
	} rows[] = {
		{ "debian", "var/lib/dpkg/info/linux-image-", ".list", "apt install linux-image-",
		  "-dbg" },
		{ "ubuntu", "var/lib/dpkg/info/linux-image-", ".list", "apt install linux-image-",
		  "-dbgsym (from ddebs.ubuntu.com)" },
		{ "fedora", "boot/System.map-", "", "dnf debuginfo-install kernel-core-", "" },
		{ "rhel", "boot/System.map-", "", "dnf debuginfo-install kernel-core-", "" },
	};
	const char *os = sys_text(d->a, d->root, "etc/os-release");
	const char *release = d->m.release ? d->m.release : "RELEASE";
	const char *v;
	size_t n;

	for (size_t i = 0; os && i < COUNT(rows); i++)
		if (text_field(os, strlen(os), "ID", '=', &v, &n) && n == strlen(rows[i].id) &&
		    !memcmp(v, rows[i].id, n) &&
		    sys_exists(d->root, "%s%s%s", rows[i].path, release, rows[i].path_end)) {
			add_fix(f, arena_printf(d->a, "%s%s%s", rows[i].before, release,
						rows[i].after));
			return;
		}
	add_fix(f,
		arena_printf(d->a, "put its vmlinux at /usr/lib/debug/boot/vmlinux-%s", release));
}

/* What becomes of questions to debuginfod's servers. */
static const char *check_fetching(struct doctor *d, struct finding *f)
{
	const char *urls = fetcher_urls();

	if (!urls)
		return ", its servers are not asked (DEBUGINFOD_URLS is not set)";
	if (fetcher_possible())
		return arena_printf(d->a, ", its servers are asked: %s", urls);
	judge(f, VERDICT_LIMIT, "DEBUGINFOD_URLS is set, but nothing can be fetched");
	add_fix(f, "apt install libdebuginfod1 (libdebuginfod.so.1)");
	return ", its library is missing";
}

static void check_symbols(struct doctor *d, struct finding *f)
{
	static const struct {
		const char *before, *after;
	} places[] = {
		{ "usr/lib/debug/boot/vmlinux-", "" },
		{ "usr/lib/debug/lib/modules/", "/vmlinux" },
		{ "usr/lib/debug/usr/lib/modules/", "/vmlinux" },
		{ "lib/modules/", "/build/vmlinux" },
		{ "boot/vmlinux-", "" },
	};
	const char *cache = d->live ? cli_debuginfod_dir(d->cli) : NULL;
	const char *found = NULL;

	for (size_t i = 0; d->m.release && i < COUNT(places) && !found; i++)
		if (sys_exists(d->root, "%s%s%s", places[i].before, d->m.release, places[i].after))
			found = arena_printf(d->a, "/%s%s%s", places[i].before, d->m.release,
					     places[i].after);
	f->state = arena_printf(d->a, "%s; debug files %s; cache of debuginfod %s%s",
				found ? "vmlinux found" : "no vmlinux",
				sys_exists(d->root, "usr/lib/debug/.build-id") ? "found" : "none",
				cache && file_look(cache, NULL) ? "found" : "none",
				!d->live ? "" : check_fetching(d, f));
	if (found)
		return;
	judge(f, VERDICT_LIMIT, "no source lines of the kernel");
	fix_symbols(d, f);
}

static void check_tracefs(struct doctor *d, struct finding *f)
{
	static const char *const places[] = { "sys/kernel/tracing", "sys/kernel/debug/tracing" };

	for (size_t i = 0; i < COUNT(places); i++)
		if (sys_exists(d->root, "%s/events/sched", places[i])) {
			f->state = arena_printf(d->a, "/%s", places[i]);
			return;
		}
	judge(f, VERDICT_LIMIT, "no tracepoints");
	if (!sys_exists(d->root, "%s", places[0])) {
		f->state = "this kernel has no tracefs";
		add_fix(f, "a kernel with CONFIG_TRACEPOINTS and CONFIG_FTRACE");
	} else {
		f->state = "not mounted, or closed to you";
		add_fix(f, "as root: mount -t tracefs -o mode=755 nodev /sys/kernel/tracing");
		add_fix(f, "where it is mounted: mount -o remount,mode=755 /sys/kernel/tracing");
	}
}

static void check_guest(struct doctor *d, struct finding *f)
{
	f->state = d->m.hypervisor ? d->m.hypervisor : "no hypervisor seen";
}

static void check_container(struct doctor *d, struct finding *f)
{
	const char *filter = d->seccomp == 2   ? "a seccomp filter"
			     : d->seccomp == 1 ? "strict seccomp"
			     : d->seccomp == 0 ? "no seccomp filter"
					       : "seccomp not readable";

	f->state = arena_printf(d->a, "%s%s, %s", d->container ? "container: " : "no container",
				d->container ? d->container : "", filter);
}

/* The rights that reading recordings gives up (base/sandbox.h). */
static void check_sandbox(struct doctor *d, struct finding *f)
{
	struct sandbox_can can = sandbox_can();
	char words[SANDBOX_WORDS];

	if (!d->live) {
		f->state = NOT_TRIED;
		f->verdict = VERDICT_NONE;
		return;
	}
	f->state = arena_strdup(d->a, sandbox_words(words, can));
	if (can.landlock && can.seccomp)
		return;
	judge(f, VERDICT_COST, "recordings of others are read with more rights than needed");
	add_fix(f, can.landlock ? "a kernel with CONFIG_SECCOMP_FILTER"
				: "Linux 5.13 or later, booted with landlock in lsm=");
}

static void check_lockdown(struct doctor *d, struct finding *f)
{
	const char *s = sys_text(d->a, d->root, "sys/kernel/security/lockdown");

	if (!s) {
		f->state = "not built in, or securityfs not mounted";
		f->verdict = VERDICT_NONE;
		return;
	}
	f->state = s;
	if (!strstr(s, "[confidentiality]"))
		return;
	judge(f, VERDICT_LIMIT, "no kernel samples");
	add_fix(f, "boot without lockdown=confidentiality");
}

static void check_clock(struct doctor *d, struct finding *f)
{
	const char *s = sys_text(d->a, d->root,
				 "sys/devices/system/clocksource/clocksource0/current_clocksource");

	if (!s) {
		f->state = "not readable";
		f->verdict = VERDICT_NONE;
		return;
	}
	f->state = s;
	if (strcmp(s, "hpet") && strcmp(s, "acpi_pm") && strcmp(s, "jiffies") && strcmp(s, "pit"))
		return;
	judge(f, VERDICT_COST, "slow and uneven time stamps");
	add_fix(f, "dmesg | grep -i tsc says why; boot with tsc=reliable where the TSC is sound");
}

static void check_disk(struct doctor *d, struct finding *f)
{
	char text[NUM_MAX];
	struct statvfs vfs;
	uint64_t free_bytes;

	if (!d->live) {
		f->state = NOT_TRIED;
		f->verdict = VERDICT_NONE;
		return;
	}
	if (statvfs(".", &vfs)) {
		f->state = strerror(errno);
		f->verdict = VERDICT_NONE;
		return;
	}
	free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	f->state = arena_printf(d->a, "%s free here", num_bytes(text, free_bytes));
	if (access(".", W_OK)) {
		f->state = arena_printf(d->a, "%s free, but you may not write here", text);
		judge(f, VERDICT_COST, "needs -o");
		add_fix(f, "cyclade record -o /tmp/cyclade.data ...");
	} else if (free_bytes < DISK_LOW) {
		judge(f, VERDICT_COST, "long recordings will not fit");
		add_fix(f, "record elsewhere (-o FILE) or packed (-z)");
	}
}

const struct check doctor_checks[] = {
	{ "cpu", check_cpu },
	{ "guest", check_guest },
	{ "container", check_container },
	{ "sampling", check_sampling },
	{ "pmu", check_pmu },
	{ "metrics", check_metrics },
	{ "watchdog", check_watchdog },
	{ "smt", check_smt },
	{ "counters", check_holders },
	{ "events", check_verdicts },
	{ "paranoid", check_paranoid },
	{ "lockdown", check_lockdown },
	{ "sandbox", check_sandbox },
	{ "lbr", check_lbr },
	{ "precise", check_precise },
	{ "latency", check_latency },
	{ "rings", check_rings },
	{ "rate", check_rate },
	{ "kallsyms", check_kernel_names },
	{ "symbols", check_symbols },
	{ "tracefs", check_tracefs },
	{ "clock", check_clock },
	{ "disk", check_disk },
};
const size_t n_doctor_checks = COUNT(doctor_checks);
