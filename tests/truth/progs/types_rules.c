/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single instructions whose operands a rule of types.h decides: each has a label, and
 * test_types_rules.py has what is known of it. The functions are naked: DWARF has the parameters in
 * their registers from the first to the last instruction, all else comes from the code. With -DFAR
 * it is a second unit, which has what the first one only declares; with -DBASED a third one, of
 * which the test edits the DWARF.
 */
#include <stdio.h>

struct base {
	long kind, flags;
};
struct derived;
struct derived *derived_new(struct base **base);

#define NAKED __attribute__((naked, noinline, used))

#ifdef BASED
/* A variable that lies in memory, 24 bytes behind a register: beside it is something else. */
NAKED int based(int place)
{
	__asm__("beside_load: mov 8(%rdi),%eax\n"
		"based_load: mov 24(%rdi),%eax\n"
		"	ret");
}
#elif defined(FAR)
struct derived {
	struct base base;
	long extra;
};

struct derived *derived_new(struct base **base)
{
	static struct derived d = { { 1, 2 }, 3 };

	*base = &d.base;
	return &d;
}
#else

struct node {
	struct node *next;
	struct other *other;
	double n[6];
};

struct other { /* smaller than a node */
	long a, b;
};

struct tiny {
	int n;
};

struct bits {
	long head;
	int first : 16;
	unsigned second : 16;
	unsigned low : 4, across : 12, high : 16;
	unsigned one : 3, other : 5;
	unsigned : 0;
	unsigned far : 20;
};

struct single {
	long n;
};

union any {
	struct tiny *tiny;
	struct single *single;
	struct derived *declared; /* code that does not have its fields does not read them */
	struct other *other;
};

struct mixed { /* of a union, an array is the first */
	union {
		struct other *list[3];
		struct {
			long kind, count;
		} one;
	} u;
};

/* A block that only a table of jumps leads to goes on with what registers hold at the jump. The
 * table ends where the comparison says: what lies behind it would lead to `jump_not`. */
static NAKED void jump(struct node *p, long i)
{
	__asm__("cmp $1,%rsi\n"
		"	ja 3f\n"
		"	mov 8(%rdi),%r10\n"
		"	lea 5f(%rip),%rdx\n"
		"jump_table: movslq (%rdx,%rsi,4),%rax\n"
		"	add %rdx,%rax\n"
		"	jmp *%rax\n"
		"3:	ret\n"
		"1:	ret\n"
		"2:\n"
		"jump_case: mov 8(%r10),%rax\n"
		"	ret\n"
		"4:\n"
		"jump_not: mov 8(%r10),%rax\n"
		"	ret\n"
		"	.section .rodata\n"
		"	.balign 4\n"
		"5:	.long 1b-5b,2b-5b,4b-5b\n"
		"	.text\n");
}

/* So does one that a jump of another kind leads to. */
static NAKED void go(struct node *p, void *to)
{
	__asm__("mov 8(%rdi),%r10\n"
		"	jmp *%rsi\n"
		"go_load: mov 8(%r10),%rax\n"
		"	ret\n");
}

/* Data of the compiler's own. */
static NAKED double constant(double x)
{
	__asm__("constant_load: mulsd 1f(%rip),%xmm0\n"
		"	ret\n"
		"	.section .rodata.cst8,\"aM\",@progbits,8\n"
		"	.balign 8\n"
		"1:	.double 2.5\n"
		"	.text\n");
}

/* A variable of a library that the loader copies. */
static NAKED void *copied(void)
{
	__asm__("copied_load: mov stdout(%rip),%rax\n	ret");
}

/* Code that has put something else into a variable's register is right. */
static NAKED long stale(struct node *p)
{
	__asm__("mov 8(%rdi),%rdi\n"
		"stale_load: mov 8(%rdi),%rax\n"
		"	ret");
}

/* As wide as no element is. */
static NAKED long over(struct tiny *t, long i)
{
	__asm__("over_load: mov (%rdi,%rsi,8),%rax\n"
		"over_not: mov (%rdi,%rsi,4),%eax\n"
		"	ret");
}

/* Nobody reads a half of a pointer. */
static NAKED long part(struct node **p)
{
	__asm__("part_load: mov (%rdi),%eax\n	ret");
}

/* Another unit knows what is behind the pointer. */
static NAKED long declared(struct derived *p)
{
	__asm__("declared_load: mov 16(%rdi),%rax\n	ret");
}

/* A pointer to a base is kept in a variable of the derived type. */
static __attribute__((noinline, optimize("O0"))) long spilled(struct base **from)
{
	struct derived *d = (struct derived *)*from;
	long n;

	__asm__("spilled_load: mov 16(%1),%0" : "=r"(n) : "r"(d));
	return n;
}

/* One place of an array and a plain member: the member. */
static NAKED long member(struct mixed *p)
{
	__asm__("element_load: mov 16(%rdi),%rax\n"
		"member_load: mov 8(%rdi),%rax\n"
		"	ret");
}

/* Of the pointers of a union, the one that all accesses fit. */
static NAKED long pick(union any *p)
{
	__asm__("mov (%rdi),%r10\n"
		"pick_load: mov 8(%r10),%rax\n"
		"pick_also: mov (%r10),%rax\n"
		"	mov (%rdi),%r10\n"
		"pick_not: mov (%r10),%rax\n"
		"	ret");
}

/* A table lies behind its header: what is there is no header, but what a loop goes over is. */
static NAKED long behind(struct tiny *head, long i)
{
	__asm__("	lea 4(%rdi,%rsi,4),%rax\n"
		"behind_load: mov (%rax),%ecx\n"
		"behind_also: mov 4(%rdi,%rsi,4),%ecx\n"
		"behind_not: mov (%rdi,%rsi,4),%ecx\n"
		"	ret");
}

/* An index leads to what is as wide as the pointer says; of one number a byte is tested. */
static NAKED long narrow(unsigned *table, long i)
{
	__asm__("narrow_load: movzwl 2(%rdi,%rsi,4),%eax\n"
		"narrow_not: testb $4,(%rdi)\n"
		"narrow_whole: mov 4(%rdi,%rsi,4),%eax\n"
		"	ret");
}

static NAKED long along(struct tiny *first, long n)
{
	__asm__("	lea 4(%rdi),%rax\n"
		"1: mov (%rax),%ecx\n"
		"along_load: mov 4(%rax),%ecx\n"
		"	add $4,%rax\n"
		"	dec %rsi\n"
		"	jnz 1b\n"
		"	ret");
}

/* Each bit-field by the bytes that it lies in; of two in the same ones both. */
static NAKED long bits(struct bits *p)
{
	__asm__("bits_first: mov 8(%rdi),%ax\n"
		"bits_second: mov 10(%rdi),%ax\n"
		"bits_low: mov 12(%rdi),%al\n"
		"bits_across: mov 12(%rdi),%ax\n"
		"bits_both: mov 16(%rdi),%al\n"
		"bits_whole: mov 8(%rdi),%eax\n"
		"bits_far: mov 20(%rdi),%al\n"
		"	ret");
}

int main(void)
{
	struct base *base;
	struct other o = { 1, 2 };
	struct node b = { NULL, &o, { 3 } }, a = { &b, &o, { 4 } };
	struct tiny t[2] = { { 1 }, { 2 } };
	struct mixed m = { .u.one = { 1, 2 } };
	union any any = { .other = &o };
	struct bits flags = { 0 };
	unsigned wide[4] = { 0 };

	extern char go_load[];

	jump(&a, 0);
	go(&a, go_load);
	fputs(constant(2) > 4 ? "done\n" : "no\n", stdout);
	if (declared(derived_new(&base)) + spilled(&base) != 6)
		return 1;
	part(&a.next);
	member(&m);
	behind(t, 0);
	bits(&flags);
	narrow(wide, 0);
	pick(&any);
	return stale(&a) + over(t, 0) + along(t, 1) * 0 + (copied() == NULL) < 0;
}
#endif
