/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "analyse/memory/memory_nodes_int.h"

#define MATTERS	    0.02 /* of all cycles */
#define NEARLY_ALL  0.9
#define SURELY	    0.8 /* the least that nearly all may be, by chance */
#define READ_LEAST  100 /* samples, none of them a store, for the verdict: only read */
#define PAGES_LEAST 10

/* ---- a sample -------------------------------------------------------------------------------- */

static bool reached(const struct memop *op)
{
	bool memory = op->level == MEMOP_LEVEL_RAM || op->level == MEMOP_LEVEL_PMEM ||
		      op->level == MEMOP_LEVEL_CXL;

	return memory && (op->hit || !(op->has & MEMOP_HAS_HIT));
}

static int32_t other_node(const struct nodes *n, int32_t node)
{
	for (size_t i = 0; n->n == 2 && i < n->info->n_nodes; i++)
		if (n->info->nodes[i].id != (uint32_t)node && n->info->nodes[i].id <= INT32_MAX)
			return (int32_t)n->info->nodes[i].id;
	return NODE_OTHER;
}

static int32_t memory_node(struct memory_nodes_work *w, const struct memop *op, int32_t cpu)
{
	int32_t node =
		op->has & MEMOP_HAS_PHYSICAL ? nodes_of_address(w->nodes, op->physical) : NODE_NONE;

	if (cpu == NODE_NONE || !reached(op))
		return node;
	if (node == NODE_NONE)
		return memop_remote(op) ? other_node(w->nodes, cpu) : cpu;
	/* memory behind a link is a node without CPUs: its source does not contain the node */
	w->contradict += op->level == MEMOP_LEVEL_RAM && memop_remote(op) != (node != cpu);
	return node;
}

#define PAGE_NODES 31

/* Notes a page; it may be there already. */
static int note_page(struct memory_nodes_work *w, const struct nodes_page *x)
{
	uint64_t h = hash_pair((uint64_t)x->object << 32 | x->pid, x->page);
	uint32_t idx;

	for (size_t i = itab_first(&w->page_at, h); itab_at(&w->page_at, &i, h, &idx);) {
		struct nodes_page *p = &w->page.v[idx];

		if (p->page != x->page || p->object != x->object || p->pid != x->pid)
			continue;
		p->nodes |= x->nodes;
		p->twice = true;
		return 0;
	}
	return w->page.n >= UINT32_MAX - 1 || itab_put(&w->page_at, h, w->page.n) ||
			       vec_push(&w->page, *x)
		       ? -1
		       : 0;
}

static struct memory_way *way_of(struct memory_nodes_work *w, uint32_t object, int32_t cpu,
				 int32_t memory)
{
	uint64_t h = hash_pair(object, (uint64_t)(uint32_t)cpu << 32 | (uint32_t)memory);
	struct memory_way *way;
	uint32_t idx;

	for (size_t i = itab_first(&w->at, h); itab_at(&w->at, &i, h, &idx);) {
		struct memory_way *x = &w->way.v[idx];

		if (x->object == object && x->cpu == cpu && x->memory == memory)
			return x;
	}
	if (w->way.n >= UINT32_MAX - 1 || itab_put(&w->at, h, w->way.n))
		return NULL;
	way = vec_add(&w->way);
	if (way)
		*way = (struct memory_way){ object, cpu, memory, { 0 } };
	return way;
}

static void count(struct memory_reach *n, const struct memop *op)
{
	double cycles = op->cycles[MEMOP_LATENCY_DATA];

	n->samples++;
	if (!reached(op))
		return;
	n->reached++;
	if (!(op->has >> MEMOP_LATENCY_DATA & 1))
		return;
	n->timed++;
	n->cycles += cycles;
	n->squares += cycles * cycles;
}

static void add(struct memory_reach *to, const struct memory_reach *n)
{
	to->samples += n->samples;
	to->reached += n->reached;
	to->timed += n->timed;
	to->cycles += n->cycles;
	to->squares += n->squares;
}

static struct memory_object_nodes *object_at(struct memory_nodes_work *w, uint32_t object)
{
	while (w->object.n <= object) {
		struct memory_object_nodes *x = vec_add(&w->object);

		if (!x || vec_push(&w->first, UINT64_MAX))
			return NULL;
		*x = (struct memory_object_nodes){ .object = (uint32_t)w->object.n - 1,
						   .first = NODE_NONE };
	}
	return &w->object.v[object];
}

int memory_nodes_add(struct memory_nodes_work *w, uint32_t object, const struct memop *op,
		     uint32_t cpu, uint32_t pid, uint64_t at)
{
	int32_t from = nodes_of_cpu(w->nodes, cpu), to = memory_node(w, op, from);
	struct memory_way *way;

	if (w->nodes->n < 2) /* one node: all is local */
		return 0;
	w->cpus |= cpu != UINT32_MAX;
	if (!object_at(w, object))
		return -1;
	if (from == NODE_NONE)
		return 0;
	if (w->object.v[object].first == NODE_NONE) {
		w->object.v[object].first = from;
		w->first.v[object] = at;
	}
	if (op->has & MEMOP_HAS_ADDRESS &&
	    note_page(w, &(struct nodes_page){ .page = op->address >> 12,
					       .object = object,
					       .pid = pid,
					       .nodes = from < PAGE_NODES ? 1u << from : 3 }))
		return -1;
	if (to == NODE_NONE)
		return 0;
	w->told++;
	way = way_of(w, object, from, to);
	if (!way)
		return -1;
	count(&way->n, op);
	return 0;
}

int memory_nodes_join(struct memory_nodes_work *w, const struct memory_nodes_work *x,
		      const uint32_t *to)
{
	for (uint32_t i = 0; i < x->object.n; i++) {
		struct memory_object_nodes *o = object_at(w, to[i]);

		if (!o)
			return -1;
		if (x->first.v[i] >= w->first.v[to[i]])
			continue;
		o->first = x->object.v[i].first;
		w->first.v[to[i]] = x->first.v[i];
	}
	vec_each (&x->way, const struct memory_way *, from) {
		struct memory_way *way = way_of(w, to[from->object], from->cpu, from->memory);

		if (!way)
			return -1;
		add(&way->n, &from->n);
	}
	vec_each (&x->page, const struct nodes_page *, from) {
		struct nodes_page page = *from;

		page.object = to[page.object];
		if (note_page(w, &page))
			return -1;
	}
	w->told += x->told;
	w->contradict += x->contradict;
	w->cpus |= x->cpus;
	return 0;
}

void memory_nodes_rename(struct memory_nodes_work *w, const uint32_t *to)
{
	vec_each (&w->way, struct memory_way *, x)
		x->object = to[x->object];
	vec_each (&w->object, struct memory_object_nodes *, o)
		o->object = to[o->object];
}

void memory_nodes_free(struct memory_nodes_work *w)
{
	vec_free(&w->way);
	itab_free(&w->at);
	vec_free(&w->object);
	vec_free(&w->first);
	vec_free(&w->page);
	itab_free(&w->page_at);
}

/* ---- objects --------------------------------------------------------------------------------- */

static int by_cpu(const void *a, const void *b)
{
	const struct memory_way *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->memory > y->memory) - (x->memory < y->memory);
}

static int by_memory(const void *a, const void *b)
{
	const struct memory_way *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->memory != y->memory)
		return x->memory < y->memory ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int by_object(const void *a, const void *b)
{
	const struct memory_object_nodes *x = a, *y = b;

	return (x->object > y->object) - (x->object < y->object);
}

static int by_cycles(const void *a, const void *b)
{
	const struct memory_object_nodes *x = a, *y = b;
	double p = isnan(x->cycles.v) ? 0 : x->cycles.v, q = isnan(y->cycles.v) ? 0 : y->cycles.v;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->remote != y->remote)
		return x->remote > y->remote ? -1 : 1;
	return by_object(a, b);
}

static bool surely(uint64_t n, uint64_t of, double least)
{
	struct error_bar e = error_bar_share((double)n, (double)of, (double)of);

	return of && e.share >= least && e.low > SURELY;
}

/* The node that has nearly all; ways of an object, sorted by that node. */
static int32_t holder(const struct memory_way *w, size_t n, bool of_cpus)
{
	uint64_t all = 0, most = 0, run = 0;
	int32_t node = NODE_NONE, at = NODE_NONE;

	for (size_t i = 0; i < n; i++) {
		int32_t its = of_cpus ? w[i].cpu : w[i].memory;

		run = i && its == at ? run + w[i].n.reached : w[i].n.reached;
		at = its;
		all += w[i].n.reached;
		if (run > most) {
			most = run;
			node = its;
		}
	}
	if (!all)
		return NODE_NONE;
	return surely(most, all, NEARLY_ALL) ? node : NODE_MANY;
}

static double variance(const struct memory_reach *n)
{
	return sums_variance(n->timed, n->cycles, n->squares);
}

/* Returns the extra latency of remote loads over local ones, as a share of the cycles of all
 * latencies. */
static struct estimate cost(const struct memory_reach *remote, const struct memory_reach *local,
			    double all)
{
	double n = (double)remote->timed, m = (double)local->timed, extra, var, wider;

	if (!(all > 0))
		return ESTIMATE_NONE("no latencies");
	if (!remote->reached)
		return (struct estimate){ 0, 0, NULL };
	if (!remote->timed)
		return ESTIMATE_NONE("no remote load has a latency");
	if (remote->timed < SKEWED_FEWEST || local->timed < SKEWED_FEWEST)
		return ESTIMATE_NONE("too few loads from both to compare");
	extra = remote->cycles - n * local->cycles / m;
	var = n * variance(remote) + n * n * variance(local) / m + extra * extra / n;
	wider = skewed95(remote->timed < local->timed ? remote->timed : local->timed,
			 sqrt(remote->squares) / remote->cycles);
	return (struct estimate){ extra / all, wider * sqrt(var) / all, NULL };
}

static enum memory_advice advise(const struct memory_object_nodes *o, const struct memory_object *x)
{
	if (!(o->cycles.v >= MATTERS) || !(o->cycles.v - o->cycles.half > 0))
		return MEMORY_LEAVE;
	if (x->data.kind == DATA_KERNEL || x->data.kind == DATA_UNKNOWN || x->why)
		return MEMORY_LEAVE;
	if (o->users >= 0)
		return o->home == o->users ? MEMORY_LEAVE : MEMORY_BIND;
	if (!x->n.stores && x->n.samples >= READ_LEAST)
		return MEMORY_REPLICATE;
	if (o->pages >= PAGES_LEAST && surely(o->apart, o->pages, NEARLY_ALL))
		return MEMORY_FIRST_TOUCH;
	return o->home >= 0 ? MEMORY_INTERLEAVE : MEMORY_LEAVE;
}

static void fold_pages(struct memory_nodes_work *w, struct memory_object_nodes *object)
{
	vec_each (&w->page, const struct nodes_page *, p) {
		object[p->object].pages += p->twice;
		object[p->object].apart += p->twice && !(p->nodes & (p->nodes - 1));
	}
}

/* Its ways are w[from, until), sorted by the CPUs' nodes. */
static void fold_object(struct memory_object_nodes *o, const struct memory_way *w, size_t n,
			const struct memory_reach *all_local, double cycles)
{
	struct memory_reach remote = { 0 }, local = { 0 };

	for (size_t i = 0; i < n; i++) {
		add(&o->n, &w[i].n);
		add(w[i].cpu == w[i].memory ? &local : &remote, &w[i].n);
	}
	o->remote = remote.reached;
	o->users = holder(w, n, true);
	o->cycles = cost(&remote, local.timed > 1 ? &local : all_local, cycles);
}

/* The sums of all objects, one way each. */
static int fold_ways(struct memory_nodes *out, const struct memory_way *part, size_t n)
{
	out->way = calloc(n + 1, sizeof(*out->way));
	if (!out->way)
		return -1;
	for (size_t i = 0; i < n; i++) {
		out->way[i] = part[i];
		out->way[i].object = UINT32_MAX;
	}
	if (n > 1)
		qsort(out->way, n, sizeof(*out->way), by_cpu);
	for (size_t i = 0; i < n; i++) {
		struct memory_way *last = out->n_ways ? &out->way[out->n_ways - 1] : NULL;

		if (last && last->cpu == out->way[i].cpu && last->memory == out->way[i].memory)
			add(&last->n, &out->way[i].n);
		else
			out->way[out->n_ways++] = out->way[i];
	}
	return 0;
}

static const char *nothing(const struct memory_nodes_work *w)
{
	if (!w->nodes->info->n_nodes)
		return "the recording does not say which CPUs are of which node";
	if (w->nodes->n < 2)
		return "the machine has one node";
	if (!w->cpus)
		return "samples do not have their CPU";
	return w->told ? NULL : "no sample tells of which node its memory is";
}

int memory_nodes_fold(struct memory_nodes_work *w, struct memory_objects *o)
{
	struct memory_nodes *out = &o->nodes;
	struct memory_reach local = { 0 };
	size_t n = w->way.n, k = 0;

	*out = (struct memory_nodes){ .why = nothing(w), .contradict = w->contradict };
	if (out->why)
		return 0;
	vec_sort(&w->way, by_memory);
	fold_pages(w, w->object.v);
	vec_sort(&w->object, by_object);
	if (fold_ways(out, w->way.v, n))
		return -1;
	for (size_t i = 0; i < out->n_ways; i++) {
		out->reached += out->way[i].n.reached;
		if (out->way[i].cpu == out->way[i].memory)
			add(&local, &out->way[i].n);
	}
	/* homes in this order, users in the other one */
	for (size_t i = 0; i < w->object.n; i++) {
		size_t from = k;

		while (k < n && w->way.v[k].object == i)
			k++;
		w->object.v[i].home = holder(w->way.v + from, k - from, false);
	}
	vec_sort(&w->way, by_cpu);
	k = 0;
	for (size_t i = 0; i < w->object.n; i++) {
		struct memory_object_nodes *x = &w->object.v[i];
		size_t from = k;

		while (k < n && w->way.v[k].object == i)
			k++;
		fold_object(x, w->way.v + from, k - from, &local, o->all.cycles);
		x->advice = advise(x, &o->object[i]);
	}
	vec_sort(&w->object, by_cycles);
	out->part = w->way.v;
	out->n_parts = n;
	out->object = w->object.v;
	while (out->n_objects < w->object.n && w->object.v[out->n_objects].n.samples)
		out->n_objects++;
	return 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

static const char no_memory[] = "no sample's data came from memory";

struct estimate memory_way_share(const struct memory_nodes *n, const struct memory_way *w)
{
	return error_bar_part(w->n.reached, n->reached, no_memory);
}

struct estimate memory_way_mean(const struct memory_way *w)
{
	return sums_mean(w->n.timed, w->n.cycles, w->n.squares, "no sample has a latency");
}

struct estimate memory_nodes_remote(const struct memory_object_nodes *o)
{
	return error_bar_part(o->remote, o->n.reached, no_memory);
}

static const struct {
	const char *word, *means;
} advices[] = {
	[MEMORY_LEAVE] = { NULL, NULL },
	[MEMORY_BIND] = { "bind", "one node uses it: allocate and fill it there (mbind, numactl "
				  "--membind), "
				  "or run its threads where it lies" },
	[MEMORY_FIRST_TOUCH] = { "first touch",
				 "each page has users in one node: let them be the first to write "
				 "it, as a page is placed then" },
	[MEMORY_REPLICATE] = { "replicate",
			       "no sample writes it: a copy for each node would make it local" },
	[MEMORY_INTERLEAVE] = { "interleave",
				"all nodes use it and one has it: spread its pages (mbind, numactl "
				"--interleave), which shares the load, but stays remote in part" },
};

const char *memory_advice_word(enum memory_advice a)
{
	return advices[a].word;
}

const char *memory_advice_means(enum memory_advice a)
{
	return advices[a].means;
}
