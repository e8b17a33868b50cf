/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies at addresses of data, against what nm says of programs built here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/perf_abi.h"
#include "symbol/data.h"
#include "tool.h"

#define PID 7u

static const char program[] =
	"cat > d.c <<'END'\n"
	"long first = 1, second = 2; static long hidden[9]; char tail[100000];\n"
	"const int constant[3] = { 1, 2, 3 }; __thread int mine = 4;\n"
	"int main(void) { return (int)(first + second + hidden[1] + tail[3] + constant[1] + mine); "
	"}\n"
	"END\n"
	"cc -O0 -fPIE -pie -o pie d.c && cc -O0 -fno-pie -no-pie -o fixed d.c && cp pie bare && "
	"strip bare\n";

struct world {
	struct images *images;
	struct spaces *sp;
	const struct process *proc;
};

static void map_in(struct world *w, uint64_t start, uint64_t len, uint64_t pgoff, uint32_t prot,
		   const char *path)
{
	struct space_map_fact f = { .time = 10,
				    .pid = PID,
				    .tid = PID,
				    .start = start,
				    .len = len,
				    .pgoff = pgoff,
				    .prot = prot,
				    .misc = PERF_RECORD_MISC_USER,
				    .path = path };

	assert_int_equal(spaces_map(w->sp, &f, NULL), 0);
}

static void begin(struct world *w)
{
	struct images_opts opts = { .trust_paths = true };
	struct err err = ERR_INIT;

	w->images = images_new(&opts, &err);
	w->sp = w->images ? spaces_new(w->images, &err) : NULL;
	assert_non_null(w->sp);
}

/* Maps the segments of `name` as the kernel would at `base`; without `data` only its code. */
static void load(struct world *w, const char *name, uint64_t base, bool data)
{
	struct buf out = BUF_INIT;
	char script[128], path[128];
	unsigned long long offset, vaddr, size;
	char flags[4] = "";

	(void)snprintf(path, sizeof(path), "%s/%s", tool_dir, name);
	(void)snprintf(script, sizeof(script),
		       "readelf -lW %s | awk '$1 == \"LOAD\" { print $2, $3, $5, "
		       "($8 == \"E\" ? \"x\" : $7 ~ /W/ ? \"w\" : \"r\") }'",
		       name);
	assert_true(tool_run(&out, script));
	for (const char *p = buf_str(&out);
	     sscanf(p, "%llx %llx %llx %1s", &offset, &vaddr, &size, flags) == 4;
	     p = strchr(p, '\n') + 1) {
		uint64_t from = (base + vaddr) & ~4095ULL, skip = vaddr & 4095;

		if (*flags != 'x' && !data)
			continue;
		map_in(w, from, (size + skip + 4095) & ~4095ULL, offset - skip,
		       *flags == 'x'   ? 5
		       : *flags == 'w' ? 3
				       : 1,
		       path);
	}
	buf_free(&out);
}

static void finish(struct world *w)
{
	spaces_finish(w->sp);
	w->proc = spaces_process(w->sp, PID, 20);
	assert_non_null(w->proc);
}

static void end(struct world *w)
{
	spaces_free(w->sp);
	images_free(w->images);
}

static struct data_place find_at(const struct world *w, uint64_t address, uint64_t time)
{
	struct data_place x;

	data_find(&x, w->sp, w->proc, address, time);
	return x;
}

/* The answer with the place and time it holds for, at whose ends it is asked for again. */
static struct data_place find(const struct world *w, uint64_t address)
{
	struct data_place x = find_at(w, address, 20);
	const uint64_t at[] = { x.low, x.low + (x.high - x.low) / 2, x.high - 1 };
	const uint64_t time[] = { x.from, x.until - 1 };

	if (x.from == x.until)
		return x;
	assert_true(address >= x.low && address < x.high && x.from <= 20 && x.until > 20);
	for (size_t i = 0; i < 6; i++) {
		struct data_place y = find_at(w, at[i % 3], time[i / 3]);

		assert_true(y.kind == x.kind && y.image == x.image && y.variable == x.variable);
		assert_true(y.start == x.start && y.size == x.size && y.why == x.why);
		assert_true(y.low == x.low && y.high == x.high);
	}
	return x;
}

/* Each variable of nm but the thread-local one, at its first and last byte; how many there were. */
static size_t check_variables(const struct world *w, const char *name, uint64_t base)
{
	struct buf out = BUF_INIT;
	char script[64], symbol[64], kind[2];
	unsigned long long at, size;
	size_t n = 0;

	(void)snprintf(script, sizeof(script), "nm -S %s | grep ' [bBdDrR] [a-ln-z]'", name);
	assert_true(tool_run(&out, script));
	for (const char *p = buf_str(&out);
	     sscanf(p, "%llx %llx %1s %63s", &at, &size, kind, symbol) == 4;
	     p = strchr(p, '\n') + 1) {
		for (int last = 0; last < 2; last++) {
			struct data_place x = find(w, base + at + (last ? size - 1 : 0));

			assert_int_equal(x.kind, DATA_VARIABLE);
			assert_string_equal(x.variable->name, symbol);
			assert_true(x.start == base + at && x.size == size);
		}
		n++;
	}
	buf_free(&out);
	return n;
}

static void test_variables(void **state)
{
	static const struct {
		const char *name;
		uint64_t base;
	} of[] = { { "pie", 0x555555554000 }, { "fixed", 0 } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct world w;

		begin(&w);
		load(&w, of[i % 2].name, of[i % 2].base, i < 2);
		finish(&w);
		assert_true(check_variables(&w, of[i % 2].name, of[i % 2].base) >= 5);
		end(&w);
	}
}

static void test_others(void **state)
{
	const uint64_t base = 0x555555554000;
	struct world w;

	(void)state;
	begin(&w);
	load(&w, "bare", base, true);
	map_in(&w, base + 0x200000, 0x21000, 0, 3, "[heap]");
	map_in(&w, 0x7ffff0000000, 0x1000, 0, 3, "[stack]");
	map_in(&w, 0x7f0000000000, 0x1000, 0, 3, "//anon");
	finish(&w);
	assert_int_equal(find(&w, base + 0x4010).kind, DATA_FILE); /* stripped */
	assert_int_equal(find(&w, base + 0x200010).kind, DATA_HEAP);
	assert_true(find(&w, base + 0x200010).start == base + 0x200000);
	assert_int_equal(find(&w, 0x7ffff0000800).kind, DATA_STACK);
	assert_int_equal(find(&w, 0x7f0000000008).kind, DATA_ANONYMOUS);
	assert_int_equal(find(&w, 0x7f0000001008).kind, DATA_UNKNOWN);
	assert_int_equal(find(&w, base - 8).kind, DATA_UNKNOWN);
	assert_int_equal(find(&w, 0).kind, DATA_UNKNOWN);
	assert_int_equal(find(&w, 0xffff888000000000).kind, DATA_KERNEL);
	w.proc = NULL;
	assert_int_equal(find(&w, base + 0x200010).kind, DATA_UNKNOWN);
	end(&w);
}

/* Memory that a file's mapping of code could have its data in: none of its segments is there. */
static void test_beside(void **state)
{
	const uint64_t base = 0x555555554000;
	struct data_place below, above;
	struct world w;

	(void)state;
	begin(&w);
	load(&w, "pie", base, false);
	map_in(&w, 0x7f0000000000, 0x1000, 0, 3, "//anon");
	finish(&w);
	below = find(&w, base - 8);
	assert_true(below.kind == DATA_UNKNOWN && below.from < below.until && below.low == 0);
	above = find(&w, base + 0x100000);
	assert_true(above.kind == DATA_UNKNOWN && above.from < above.until);
	assert_true(above.low > base && above.low <= base + 0x100000);
	assert_true(above.high == 0x7f0000000000);
	assert_true(find(&w, above.low - 1).kind != DATA_UNKNOWN);
	assert_true(find(&w, 0x7f0000000008).high == 0x7f0000001000);
	end(&w);
}

static int setup(void **state)
{
	return tool_setup(state) || !tool_run(NULL, program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_beside),
	};

	return cmocka_run_group_tests(tests, setup, tool_teardown);
}
