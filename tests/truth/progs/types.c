/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures in all the ways that C programs keep them: arrays, lists, tables, trees, unions,
 * nested and embedded. Prints where its objects are and what their bytes are called (~: a blank):
 *
 *	stack ADDRESS				somewhere in main's frame
 *	object KIND ADDRESS COUNT		COUNT elements one after another
 *	field KIND STRIDE OFFSET SIZE TYPE FIELD
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
	double x, y;
};

struct particle {
	int id;
	short kind, flags;
	struct point at, speed;
	float history[6];
	unsigned hot : 3, cold : 5;
};

struct node {
	long key;
	struct node *next;
	union {
		long number;
		double real;
	} value;
	char name[12];
	int length;
};

struct entry {
	const char *word;
	unsigned count, hash;
};

struct link {
	struct link *prev, *next;
};

struct task {
	long id;
	int state, priority;
	struct link queue;
	long runtime;
};

struct tree {
	struct tree *child[2];
	unsigned key, depth;
};

static struct entry table[128];
static long totals[8];

#define NOINLINE __attribute__((noinline))

static NOINLINE void move(struct particle *p, size_t n, double dt)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i].kind == 2)
			continue;
		p[i].at.x += p[i].speed.x * dt;
		p[i].at.y += p[i].speed.y * dt;
		p[i].history[i % 6] = (float)p[i].at.x;
		p[i].flags++;
		p[i].hot = (p[i].hot + 1) & 7;
	}
}

static NOINLINE double energy(const struct particle *p, const struct particle *end)
{
	double sum = 0;

	for (; p < end; p++)
		sum += p->speed.x * p->speed.x + p->speed.y * p->speed.y + p->id;
	return sum;
}

static NOINLINE struct node *push(struct node *head, long key)
{
	struct node *n = malloc(sizeof(*n));

	if (!n)
		abort();
	n->key = key;
	n->next = head;
	n->value.number = key * 3;
	n->length = snprintf(n->name, sizeof(n->name), "n%ld", key);
	return n;
}

static NOINLINE long walk(const struct node *head)
{
	long sum = 0;

	for (const struct node *n = head; n; n = n->next)
		if (n->key & 1)
			sum += n->value.number + n->name[0] + n->length;
	return sum;
}

static NOINLINE void count(const char *word, unsigned hash)
{
	struct entry *e = &table[hash % 128];

	while (e->word && e->hash != hash)
		e = e == &table[127] ? table : e + 1;
	e->word = word;
	e->hash = hash;
	e->count++;
	totals[hash % 8]++;
}

#define task_of(link) ((struct task *)(void *)((char *)(link)-offsetof(struct task, queue)))

static NOINLINE long schedule(struct link *head)
{
	long done = 0;

	for (struct link *l = head->next; l != head; l = l->next) {
		struct task *t = task_of(l);

		if (t->state == 1) {
			t->runtime += t->priority;
			done += t->id;
		}
	}
	return done;
}

static NOINLINE void enqueue(struct link *head, struct task *t)
{
	t->queue.next = head;
	t->queue.prev = head->prev;
	head->prev->next = &t->queue;
	head->prev = &t->queue;
}

static NOINLINE struct tree *insert(struct tree **root, unsigned key, struct tree *fresh)
{
	unsigned depth = 0;

	while (*root && (*root)->key != key) {
		root = &(*root)->child[key > (*root)->key];
		depth++;
	}
	if (!*root) {
		fresh->key = key;
		fresh->depth = depth;
		*root = fresh;
	}
	return *root;
}

static NOINLINE unsigned deepest(const struct tree *t)
{
	unsigned a, b;

	if (!t)
		return 0;
	a = deepest(t->child[0]);
	b = deepest(t->child[1]);
	return (a > b ? a : b) > t->depth ? (a > b ? a : b) : t->depth;
}

static void object(const char *kind, const void *at, size_t n)
{
	printf("object %s %lx %zu\n", kind, (unsigned long)(uintptr_t)at, n);
}

static void field(const char *kind, size_t stride, size_t offset, size_t size, const char *type,
		  const char *name)
{
	printf("field %s %zu %zu %zu %s %s\n", kind, stride, offset, size, type, name);
}

#define FIELD(kind, tag, member, text)                                \
	field(kind, sizeof(struct tag), offsetof(struct tag, member), \
	      sizeof(((struct tag *)0)->member), "struct~" #tag, text)
#define PLAIN(kind, tag, member, type)                                \
	field(kind, sizeof(struct tag), offsetof(struct tag, member), \
	      sizeof(((struct tag *)0)->member), type, "")

static void describe(void)
{
	FIELD("particle", particle, id, "id");
	FIELD("particle", particle, kind, "kind");
	FIELD("particle", particle, flags, "flags");
	FIELD("particle", particle, at.x, "at.x");
	FIELD("particle", particle, at.y, "at.y");
	FIELD("particle", particle, speed.x, "speed.x");
	FIELD("particle", particle, speed.y, "speed.y");
	FIELD("particle", particle, history, "history[]");
	field("particle", sizeof(struct particle), offsetof(struct particle, history) + 24, 4,
	      "struct~particle", "hot");
	FIELD("node", node, key, "key");
	FIELD("node", node, next, "next");
	FIELD("node", node, value, "value.number");
	FIELD("node", node, name, "name[]");
	PLAIN("node", node, name, "char");
	FIELD("node", node, length, "length");
	FIELD("entry", entry, word, "word");
	FIELD("entry", entry, count, "count");
	FIELD("entry", entry, hash, "hash");
	FIELD("task", task, id, "id");
	FIELD("task", task, state, "state");
	FIELD("task", task, priority, "priority");
	FIELD("task", task, queue.prev, "queue.prev");
	FIELD("task", task, queue.next, "queue.next");
	FIELD("task", task, runtime, "runtime");
	field("task", sizeof(struct task), offsetof(struct task, queue), 8, "struct~link", "prev");
	field("task", sizeof(struct task), offsetof(struct task, queue) + 8, 8, "struct~link",
	      "next");
	FIELD("tree", tree, child, "child[]");
	PLAIN("tree", tree, child, "struct~tree~*");
	FIELD("tree", tree, key, "key");
	FIELD("tree", tree, depth, "depth");
	field("totals", 8, 0, 8, "long~int", "");
	field("totals", 8, 0, 8, "long", "");
}

int main(int argc, char **argv)
{
	struct particle *p = calloc(300, sizeof(*p));
	struct task *t = calloc(200, sizeof(*t));
	struct tree *trees = calloc(400, sizeof(*trees)), *root = NULL;
	struct link head = { &head, &head };
	struct node *list = NULL;
	double sum = argc;

	(void)argv;
	if (!p || !t || !trees)
		return 1;
	for (int i = 0; i < 300; i++)
		p[i] = (struct particle){ .id = i, .kind = (short)(i % 3), .speed = { i, 1 } };
	for (int i = 0; i < 200; i++) {
		t[i].id = i;
		t[i].state = i % 2;
		t[i].priority = i % 5;
		enqueue(&head, &t[i]);
	}
	for (long i = 0; i < 500; i++)
		list = push(list, i);
	for (unsigned i = 0; i < 400; i++)
		(void)insert(&root, i * 2654435761u >> 8, &trees[i]);
	for (int i = 0; i < 8; i++) {
		move(p, 300, 0.5);
		sum += energy(p, p + 300) + (double)walk(list) + (double)schedule(&head) +
		       deepest(root);
		for (unsigned k = 0; k < 400; k++)
			count("word", k * 40503u % 97);
	}
	(void)printf("stack %lx\n", (unsigned long)(uintptr_t)&head);
	object("particle", p, 300);
	object("task", t, 200);
	object("tree", trees, 400);
	object("entry", table, 128);
	object("totals", totals, 8);
	for (const struct node *n = list; n; n = n->next)
		object("node", n, 1);
	describe();
	return sum < 0;
}
