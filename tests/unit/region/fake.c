/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uint64_t fake_counter[FAKE_COUNTERS], fake_step[FAKE_COUNTERS];
uint64_t fake_countdown;
void (*fake_hook)(void);

#if defined(__x86_64__)
/* ecx: a general counter's number, 1 << 29, or 1 << 30 | 3. Like the instruction it changes nothing
 * but eax and edx, and gives 48 bits. */
__asm__(".text\n"
	".globl fake_rdpmc\n"
	".type fake_rdpmc, @function\n"
	"fake_rdpmc:\n"
	"	pushfq\n"
	"	pushq %rcx\n"
	"	leaq fake_countdown(%rip), %rax\n"
	"	decq (%rax)\n"
	"	jnz 1f\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	pushq %r10\n"
	"	pushq %r11\n"
	"	andq $-16, %rsp\n"
	"	leaq fake_hook(%rip), %rax\n"
	"	call *(%rax)\n"
	"	leaq -48(%rbp), %rsp\n"
	"	popq %r11\n"
	"	popq %r10\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rbp\n"
	"1:	movq (%rsp), %rcx\n"
	"	movl %ecx, %eax\n"
	"	shrl $26, %eax\n"
	"	andl $15, %ecx\n"
	"	addl %eax, %ecx\n"
	"	leaq fake_step(%rip), %rdx\n"
	"	movq (%rdx,%rcx,8), %rdx\n"
	"	leaq fake_counter(%rip), %rax\n"
	"	addq %rdx, (%rax,%rcx,8)\n"
	"	movq (%rax,%rcx,8), %rax\n"
	"	cmpl $8, %ecx\n"
	"	je 2f\n"
	"	shlq $16, %rax\n"
	"	shrq $16, %rax\n"
	"2:	movq %rax, %rdx\n"
	"	shrq $32, %rdx\n"
	"	movl %eax, %eax\n"
	"	popq %rcx\n"
	"	popfq\n"
	"	ret\n"
	".size fake_rdpmc, . - fake_rdpmc\n");
#else
void fake_rdpmc(void)
{
}
#endif

static void *memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void fake_page(struct fake *f, size_t read, uint32_t index, int64_t offset)
{
	struct perf_event_mmap_page *p = page_of(f->t, read);

	__atomic_store_n(&p->lock, p->lock + 1, __ATOMIC_RELEASE);
	p->cap_user_rdpmc = 1;
	p->pmc_width = 48;
	p->index = index;
	p->offset = offset;
	__atomic_store_n(&p->lock, p->lock + 1, __ATOMIC_RELEASE);
}

void fake_times(struct fake *f, uint64_t enabled, uint64_t running)
{
	for (size_t i = 0; i < f->set.n_reads; i++) {
		struct perf_event_mmap_page *p = page_of(f->t, i);

		__atomic_store_n(&p->lock, p->lock + 1, __ATOMIC_RELEASE);
		p->time_enabled = enabled;
		p->time_running = running;
		__atomic_store_n(&p->lock, p->lock + 1, __ATOMIC_RELEASE);
	}
}

static uint32_t index_of(const struct cyclade_set *s, size_t i)
{
	if (s->fields && i < 2)
		return i ? (1u << 29) + 1 : (1u << 30 | 3) + 1;
	return (uint32_t)i + 1;
}

void fake_open(struct fake *f, size_t reads, size_t fields)
{
	struct cyclade_set *s = &f->set;
	struct thread *t;

	memset(f, 0, sizeof(*f));
	memset(fake_counter, 0, sizeof(fake_counter));
	memset(fake_step, 0, sizeof(fake_step));
	fake_countdown = 0;
	f->t = t = memory(THREAD_BYTES + TABLE_EVENTS * 4096);
	s->head = &f->head;
	s->max_regions = 16;
	s->fields = (uint32_t)fields;
	s->n_groups = 1;
	s->n_reads = s->n_events = (uint32_t)reads;
	f->head.tsc_hz = 1e9;
	f->head.n_events = (uint32_t)reads;
	f->head.n_groups = f->head.n_parts = 1;
	f->head.max_regions = s->max_regions;
	for (uint32_t i = 0; i < reads; i++) {
		s->read[i] = (struct set_read){ .event = i, .metrics = fields && i == 1 };
		f->head.event[i] = (struct table_event){ .at = i, .width = 48 };
	}
	if (fields) {
		s->event[0].kind = f->head.event[0].kind = COUNTS_SLOTS;
		s->event[1].kind = f->head.event[1].kind = COUNTS_FIELD;
		f->head.event[1].width = 0;
	}
	t->set = s;
	t->mode = MODE_FAST;
	t->n_reads = (uint32_t)reads;
	t->self = thread_pointer();
	t->tick = UINT64_MAX / 4;
	t->next = UINT64_MAX;
	t->reset_fd = -1;
	t->region = memory(16 * sizeof(*t->region));
	t->block = memory(TABLE_BLOCK_HEAD + 2 * 16 * sizeof(struct table_slot));
	t->block->mode = MODE_FAST;
	for (size_t i = 0; i < reads; i++)
		fake_page(f, i, index_of(s, i), 0);
	slow_look(t);
}

struct cyclade_region *fake_region(struct fake *f)
{
	struct cyclade_region ops = fast_ops(f->set.n_reads, f->set.fields);
	struct region *r = &f->t->region[f->t->n_regions];

	*r = (struct region){ .pub = ops,
			      .thread = f->t,
			      .depth = 0 - f->t->self,
			      .slot = (struct table_slot *)(void *)(f->t->block + 1) +
				      f->t->n_regions };
	f->t->n_regions++;
	return &r->pub;
}

void fake_close(struct fake *f)
{
	munmap(f->t->region, 16 * sizeof(*f->t->region));
	munmap(f->t->block, TABLE_BLOCK_HEAD + 2 * 16 * sizeof(struct table_slot));
	munmap(f->t, THREAD_BYTES + TABLE_EVENTS * 4096);
}

struct table_sums fake_sums(struct fake *f, struct cyclade_region *r)
{
	const struct table_block *block[1] = { f->t->block };
	struct table_view v = { .block = block, .head = f->head, .n_blocks = 1 };
	struct table_sums s;

	table_sums(&v, 0, (size_t)(region_of(r) - f->t->region), &s);
	return s;
}
