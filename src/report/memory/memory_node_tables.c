/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NUMA nodes and locked cache lines of memory operations.
 */
#include "base/num.h"
#include "report/memory/memory_int.h"
#include "report/recorded.h"

enum {
	LEAST = 5, /* rows shown to people without --limit */
};

TABLE_CTX_AS(numa_view_of, struct memory_view)

static const struct memory_objects *numa_objects_of(const struct table *t)
{
	return numa_view_of(t)->objects;
}

static void put_numa_node(int32_t node, const char *many, struct table_cell *out)
{
	out->n = (uint64_t)node;
	out->none = node < 0;
	out->says = node == NODE_OTHER ? "another" : node == NODE_MANY ? many : "?";
}

/* ---- the matrix ------------------------------------------------------------------------------ */

TABLE_ROW_AS(numa_way_of, struct memory_way)

TABLE_CELL(numa_cpu_node, put_numa_node(numa_way_of(r)->cpu, "", out))
TABLE_CELL(numa_memory_node, put_numa_node(numa_way_of(r)->memory, "", out))
TABLE_CELL(way_share,
	   cell_estimate(out, memory_way_share(&numa_objects_of(t)->nodes, numa_way_of(r))))
TABLE_CELL(way_mean, cell_estimate(out, memory_way_mean(numa_way_of(r))))
TABLE_CELL(way_object,
	   memory_cell_object(t, &numa_objects_of(t)->object[numa_way_of(r)->object], out))
TABLE_CELL(remote_way, out->n = numa_way_of(r)->cpu != numa_way_of(r)->memory)

#define OF(member) TABLE_FIELD(struct memory_way, member)
/* clang-format off */
#define WAY \
	COLUMN("cpu_node", "CPUs of", T_ID, C_KEY, "node of the CPU", .get = numa_cpu_node), \
	COLUMN("memory_node", "memory of", T_ID, C_KEY, \
	       "node of the memory; null: another one, which is not told", \
	       .get = numa_memory_node), \
	COLUMN("remote", "remote", T_FLAG, C_DATA, "they are two", .get = remote_way)
#define REACH \
	COLUMN("samples", "samples", T_COUNT, C_DATA, "of which both nodes are known", \
	       OF(n.samples)), \
	COLUMN("reached", "samples", T_COUNT, 0, "of these: whose data came from memory", \
	       OF(n.reached)), \
	COLUMN("timed", "timed", T_COUNT, C_DATA, "of these: that have a latency", OF(n.timed)), \
	COLUMN("mean", "mean", T_REAL, C_ERROR | C_SPARSE, "latency of data from memory", \
	       .unit = "cycles", .get = way_mean)
/* clang-format on */
static const struct table_column way_columns[] = {
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT,
	       "of the samples whose data came from memory", .get = way_share),
	REACH,
	WAY,
};
static const struct table_column part_columns[] = {
	COLUMN("object", "object", T_TEXT, C_KEY, "as in the table of objects", .get = way_object),
	WAY,
	REACH,
};
#undef OF
const struct table_form memory_nodes_form = { "nodes", "NUMA nodes", 0,
					      TABLE_COLUMNS(way_columns) };
const struct table_form memory_object_ways_form = { "object_ways", NULL, TABLE_DATA,
						    TABLE_COLUMNS(part_columns) };

/* ---- objects --------------------------------------------------------------------------------- */

TABLE_ROW_AS(nodes_row, struct memory_object_nodes)

static const struct memory_object *its_object(const struct table *t, const struct table_row *r)
{
	return &numa_objects_of(t)->object[nodes_row(r)->object];
}

TABLE_CELL(numa_remote, cell_estimate(out, memory_nodes_remote(nodes_row(r))))
TABLE_CELL(numa_users, put_numa_node(nodes_row(r)->users, "all", out))
TABLE_CELL(home, put_numa_node(nodes_row(r)->home, "all", out))
TABLE_CELL(numa_first, put_numa_node(nodes_row(r)->first, "", out))
TABLE_CELL(numa_object, memory_cell_object(t, its_object(t, r), out))
TABLE_CELL(numa_kind, out->text = data_kind_name(its_object(t, r)->data.kind))

#define OF(member) TABLE_FIELD(struct memory_object_nodes, member)
static const struct table_column object_columns[] = {
	COLUMN("cycles_share", "of cycles", T_SHARE, C_ERROR | C_WHY | C_HEAT,
	       "what remote memory took longer, of the cycles of all samples' latencies",
	       OF(cycles)),
	COLUMN("remote_share", "remote", T_SHARE, C_ERROR | C_WHY,
	       "of the samples whose data came from memory: from another node", .get = numa_remote),
	COLUMN("reached", "samples", T_COUNT, 0, "whose data came from memory", OF(n.reached)),
	COLUMN("users", "used by", T_ID, 0,
	       "the node that has nine in ten of those samples; null: none has", .get = numa_users),
	COLUMN("home", "lies in", T_ID, 0, "the node whose memory it is; null: of several",
	       .get = home),
	COLUMN("first", "first", T_ID, C_DATA, "the node of the first sample's CPU",
	       .get = numa_first),
	COLUMN("pages", "pages", T_COUNT, C_DATA, "of 4 KB that have two samples or more",
	       OF(pages)),
	COLUMN("apart", "apart", T_COUNT, C_DATA, "of these: sampled on CPUs of one node alone",
	       OF(apart)),
	COLUMN("advice", "advice", T_TEXT, C_SPARSE, "bind, first touch, replicate, interleave",
	       OF(advice), .name_of = memory_advice_word),
	COLUMN("kind", "kind", T_TEXT, C_KEY | C_DROP, "of the object", .get = numa_kind),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX | C_CUT, "as in the table of objects",
	       .get = numa_object),
};
#undef OF
const struct table_form memory_object_nodes_form = { "object_nodes", "objects in NUMA nodes", 0,
						     TABLE_COLUMNS(object_columns),
						     .rest = "object" };

/* ---- locked lines ---------------------------------------------------------------------------- */

TABLE_ROW_AS(locked_row, struct memory_locked_line)

static const struct memory_object *locked_object(const struct table *t, const struct table_row *r)
{
	return &numa_objects_of(t)->object[locked_row(r)->object];
}

TABLE_CELL(lock_share,
	   cell_estimate(out, memory_object_share(numa_objects_of(t), &locked_row(r)->n)))
TABLE_CELL(lock_cycles,
	   cell_estimate(out, memory_object_cycles(numa_objects_of(t), &locked_row(r)->n)))
TABLE_CELL(lock_mean, cell_estimate(out, memory_object_mean(&locked_row(r)->n)))
TABLE_CELL(lock_object, memory_cell_object(t, locked_object(t, r), out))
TABLE_CELL(lock_kind, out->text = data_kind_name(locked_object(t, r)->data.kind))

TABLE_GET(lock_offset)
{
	const struct memory_object *o = locked_object(t, r);
	uint64_t address = locked_row(r)->address;

	out->none = o->why || !o->data.start || address + MEMORY_LINE_BYTES <= o->data.start ||
		    address >= o->data.start + o->data.size;
	out->n = out->none || address < o->data.start ? 0 : address - o->data.start;
	out->says = "";
}

#define OF(member) TABLE_FIELD(struct memory_locked_line, member)
static const struct table_column locked_columns[] = {
	COLUMN("share", "share", T_SHARE, C_ERROR, "of all samples: locked, to this line",
	       .get = lock_share),
	COLUMN("samples", "samples", T_COUNT, 0, "locked", OF(n.samples)),
	COLUMN("cycles_share", "of cycles", T_SHARE, C_ERROR | C_SPARSE | C_HEAT,
	       "of the cycles of all samples' latencies", .get = lock_cycles),
	COLUMN("timed", "timed", T_COUNT, C_DATA, "samples that have a latency", OF(n.timed)),
	COLUMN("mean", "mean", T_REAL, C_ERROR | C_SPARSE, "latency", .unit = "cycles",
	       .get = lock_mean),
	COLUMN("threads", "threads", T_COUNT, 0, "that locked it", OF(threads)),
	COLUMN("address", "line", T_ADDRESS, C_KEY, "of the cache line", OF(address)),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "process", OF(pid)),
	COLUMN("offset", "at", T_COUNT, C_SPARSE, "bytes from the start of the object",
	       .get = lock_offset),
	COLUMN("kind", "kind", T_TEXT, C_KEY | C_DROP, "of the object", .get = lock_kind),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX | C_CUT, "as in the table of objects",
	       .get = lock_object),
};
#undef OF
const struct table_form memory_locked_form = { "locked_lines", "locked cache lines", 0,
					       TABLE_COLUMNS(locked_columns), .rest = "line" };

/* ---- all of it ------------------------------------------------------------------------------- */

static void put_numa(struct document *d, const struct memory_view *v, const struct table_form *form,
		     const void *array, size_t stride, size_t n, bool data_only)
{
	struct table t = {
		.form = form,
		.ctx = v,
		.array = array,
		.stride = stride,
		.n = n,
		.people = v->limit ? v->limit : LEAST,
		.data_only = data_only || !n,
	};

	if (form == &memory_nodes_form)
		t.people = 0;
	document_table(d, &t);
}

void memory_put_nodes(struct document *d, const struct memory_view *v)
{
	const struct memory_objects *o = v->objects;
	const struct memory_nodes *n = &o->nodes;
	bool remote = false;

	for (size_t i = 0; i < n->n_objects; i++)
		remote |= n->object[i].remote;
	put_numa(d, v, &memory_nodes_form, n->way, sizeof(*n->way), n->n_ways, false);
	put_numa(d, v, &memory_object_nodes_form, n->object, sizeof(*n->object), n->n_objects,
		 !remote);
	put_numa(d, v, &memory_object_ways_form, n->part, sizeof(*n->part), n->n_parts, true);
	put_numa(d, v, &memory_locked_form, o->locked, sizeof(*o->locked), o->n_locked, false);
}

void memory_put_node_facts(struct document *d, const struct memory_view *v)
{
	const struct memory_nodes *n = &v->objects->nodes;
	unsigned said = 0;
	char a[NUM_MAX];

	if (n->why && v->objects->all.remote)
		document_fact(d, "NUMA", true, "%s samples are remote, and %s",
			      num_exact(a, v->objects->all.remote), n->why);
	if (n->contradict)
		document_fact(d, "NUMA", true,
			      "%s samples whose address is of another node than their data's "
			      "source says: counted by the address",
			      num_exact(a, n->contradict));
	for (size_t i = 0; i < n->n_objects; i++) {
		enum memory_advice advice = n->object[i].advice;

		if (advice && !(said >> advice & 1))
			document_fact(d, memory_advice_word(advice), false, "%s",
				      memory_advice_means(advice));
		said |= 1u << advice;
	}
}
