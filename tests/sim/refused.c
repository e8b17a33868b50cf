/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refused MACHINE [old] - asks the simulated PMU for what Linux and its drivers refuse, and for
 * what they take. Prints "ok NAME" or "not ok NAME: ..." for each claim. Run by test_sim.py on that
 * machine; `old` with the setting linux=6.11.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CYCLES	 0x3c
#define BRANCHES 0xc4 /* retired; any x86 has it */
#define MISSES	 0xc5
#define SLOTS	 0x400
#define RETIRING 0x8000
#define CMASK	 (1u << 24)

static const char *machine;

static struct perf_event_attr counting(uint64_t config)
{
	return (struct perf_event_attr){ .size = sizeof(struct perf_event_attr),
					 .type = PERF_TYPE_RAW,
					 .config = config,
					 .disabled = 1 };
}

static struct perf_event_attr sampling(uint64_t config, unsigned precise)
{
	struct perf_event_attr a = counting(config);

	a.sample_period = 1000003;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	a.precise_ip = precise & 3;
	return a;
}

static int open_at(struct perf_event_attr a, int leader)
{
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, 0);
}

/* `number`: the errno that it has to have; 0: it is taken. */
static void claim(struct perf_event_attr a, int leader, int number, const char *name)
{
	int fd = open_at(a, leader), is = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (is == number)
		printf("ok %s\n", name);
	else
		printf("not ok %s: errno %d, not %d\n", name, is, number);
}

static bool is_one_of(const char *names)
{
	const char *at = strstr(names, machine);

	return at && (at == names || at[-1] == ' ') && strchr(" ", at[strlen(machine)]);
}

/* ---- the kernel's own ------------------------------------------------------------------- */

static void rates(void)
{
	struct perf_event_attr a = sampling(BRANCHES, 0);

	a.freq = 1;
	a.sample_freq = 100001;
	claim(a, -1, EINVAL, "more samples a second than perf_event_max_sample_rate");
	a.freq = 0;
	a.sample_period = UINT64_C(1) << 63;
	claim(a, -1, EINVAL, "a period with bit 63");
}

static void members(void)
{
	int leader = open_at(counting(BRANCHES), -1);
	struct perf_event_attr a = counting(MISSES);

	a.pinned = 1;
	claim(a, leader, EINVAL, "a member that is pinned");
	a.exclusive = 1;
	claim(a, -1, 0, "a leader that is pinned and exclusive is taken");
	a.pinned = 0;
	claim(a, leader, EINVAL, "a member that is exclusive");
	a.exclusive = 0;
	a.aux_output = 1;
	claim(a, leader, EINVAL, "aux_output behind a leader without an AUX area");
	close(leader);
}

static void inherited(void)
{
	struct perf_event_attr a = sampling(BRANCHES, 0);

	a.inherit = 1;
	claim(a, -1, 0, "inherited samples are taken");
	a.sample_type |= PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	claim(a, -1, EINVAL, "inherited samples that read their group, before Linux 6.12");
	a.inherit = 0;
	claim(a, -1, 0, "not inherited they are taken");
}

/* ---- drivers ---------------------------------------------------------------------------- */

static void branch_records(bool any, bool stack)
{
	struct perf_event_attr a = sampling(BRANCHES, 0);

	a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
	claim(a, -1, EINVAL, "branch records of no kind");
	a.branch_sample_type |= 1u << 30;
	claim(a, -1, EINVAL, "branch records of an unknown kind");
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	claim(a, -1, any ? 0 : EOPNOTSUPP, "branch records only where there are any");
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
	claim(a, -1, stack ? 0 : EOPNOTSUPP,
	      "call stacks of branch records only where there are any");
	if (!stack)
		return;
	a.branch_sample_type |= PERF_SAMPLE_BRANCH_ANY;
	claim(a, -1, EINVAL, "call stacks together with all branches");
}

static void precise(bool plain)
{
	struct perf_event_attr a = counting(BRANCHES);

	a.precise_ip = 1;
	claim(a, -1, EINVAL, "a precise event that does not sample");
	claim(sampling(BRANCHES, 2), -1, 0, "one that does is taken");
	claim(sampling(BRANCHES | CMASK, 2), -1, plain ? EINVAL : 0,
	      "a precise event with a cmask, before Ice Lake");
	claim(sampling(CYCLES, 2), -1, 0, "precise cycles are taken");
}

/* :ppp is for one general counter of Golden Cove. */
static void distribution(void)
{
	int leader = open_at(sampling(BRANCHES, 3), -1);

	claim(sampling(MISSES, 3), leader, EINVAL, "a second :ppp in a group");
	claim(sampling(MISSES, 2), leader, 0, "a :pp behind :ppp is taken");
	close(leader);
}

static void metrics(void)
{
	int slots = open_at(counting(SLOTS), -1), cycles = open_at(counting(CYCLES), -1), fd;
	struct perf_event_attr a = counting(RETIRING);

	claim(a, -1, EINVAL, "a field of PERF_METRICS alone");
	claim(a, cycles, EINVAL, "a field that slots do not lead");
	claim(sampling(RETIRING, 0), slots, EINVAL, "a field that samples");
	a.config2 = 1;
	claim(a, slots, EINVAL, "a field with a config2");
	claim(counting(SLOTS | CMASK), -1, EINVAL, "slots with a cmask");
	a = counting(SLOTS);
	a.config1 = 1;
	claim(a, -1, EINVAL, "slots with a config1");
	fd = open_at(counting(RETIRING), slots);
	claim(counting(RETIRING), slots, EINVAL, "the same field twice in a group");
	claim(counting(RETIRING + 0x100), slots, 0, "another field is taken");
	close(fd);
	close(slots);
	claim(sampling(SLOTS, 0), -1, 0, "slots alone may sample");
	slots = open_at(sampling(SLOTS, 0), -1);
	claim(counting(RETIRING), slots, EINVAL, "a field behind slots that sample");
	close(slots);
	close(cycles);
}

static void loads(bool aux)
{
	struct perf_event_attr a = sampling(0x1cd, 2);
	int leader = open_at(counting(0x8203), -1);

	a.config1 = 3;
	a.sample_type |= PERF_SAMPLE_DATA_SRC;
	claim(a, -1, aux ? ENODATA : 0, "load latency without its auxiliary event");
	claim(a, leader, 0, "load latency behind it is taken");
	close(leader);
}

static void time_stamps(void)
{
	struct perf_event_attr a = counting(0);

	a.type = 90;
	claim(a, -1, 0, "the time-stamp counter is taken");
	a.exclude_kernel = 1;
	claim(a, -1, EINVAL, "the time-stamp counter in user space alone");
	a.exclude_kernel = 0;
	a.sample_period = 1000;
	claim(a, -1, EINVAL, "samples of the time-stamp counter");
}

int main(int argc, char **argv)
{
	bool intel, old;

	if (argc < 2)
		return 2;
	machine = argv[1];
	if (argc == 3 && !strcmp(argv[2], "old")) {
		inherited();
		return 0;
	}
	old = is_one_of("ivb skl");
	intel = old || is_one_of("icl spr gnr");
	rates();
	members();
	branch_records(intel || is_one_of("zen4"), intel && !is_one_of("ivb"));
	if (!intel)
		return 0;
	precise(old);
	time_stamps();
	if (!old)
		metrics();
	if (is_one_of("spr gnr")) {
		distribution();
		loads(is_one_of("spr"));
	}
	return 0;
}
