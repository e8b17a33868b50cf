/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perfetto - Perfetto's trace in protobuf: packets, and what several parts of the writer need.
 *
 * A trace is a row of packets, each with a time and a sequence. Names are numbered within a
 * sequence (interned data); a packet that uses a number comes after the one that defined it.
 *
 * Numbers of fields are those of github.com/google/perfetto, below protos/perfetto:
 *	trace/trace.proto, trace/trace_packet.proto, trace/trace_packet_defaults.proto
 *	trace/clock_snapshot.proto, common/builtin_clock.proto
 *	trace/track_event/{track_event,track_descriptor,process_descriptor,thread_descriptor,
 *		counter_descriptor,debug_annotation}.proto
 *	trace/generic_kernel/generic_task.proto
 *	trace/interned_data/interned_data.proto
 *	trace/profiling/{profile_common,profile_packet}.proto, common/perf_events.proto
 */
#ifndef CYCLADE_REPORT_PERFETTO_H
#define CYCLADE_REPORT_PERFETTO_H

#include "report/export/export_int.h"
#include "report/export/proto.h"

enum { /* Trace */
       TRACE_PACKET = 1,
};
enum { /* TracePacket */
       PACKET_CLOCKS = 6,
       PACKET_TIME = 8,
       PACKET_SEQUENCE = 10,
       PACKET_EVENT = 11,
       PACKET_INTERNED = 12,
       PACKET_FLAGS = 13,
       PACKET_DEFAULTS = 59,
       PACKET_TRACK = 60,
       PACKET_SAMPLE = 66,
       PACKET_FIRST = 87,
       PACKET_STATE = 117,
};
enum { /* InternedData */
       INTERNED_CATEGORY = 1,
       INTERNED_EVENT = 2,
       INTERNED_ANNOTATION = 3,
       INTERNED_FUNCTION = 5,
       INTERNED_FRAME = 6,
       INTERNED_STACK = 7,
       INTERNED_BUILD_ID = 16,
       INTERNED_PATH = 17,
       INTERNED_SOURCE = 18,
       INTERNED_MAPPING = 19,
};
enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };

#define SEQUENCE_TRACKS	 1u /* all but samples */
#define SEQUENCE_SAMPLES 2u /* + the event's number */
#define TRACK_RECORDING	 1ULL
#define TRACK_PROCESS	 (1ULL << 40)
#define TRACK_THREAD	 (2ULL << 40)
#define TRACK_COUNTER	 (3ULL << 40)

struct perfetto {
	const struct export_in *in;
	const struct profile_stacks *s;
	struct buf *out, packet, message, inner, interned;
	struct export_names names;
	struct u64map threads;	/* task_of() -> 1 + number of its track */
	struct u64map counters; /* the kernel's number of a counter -> 1 + number of its track */
	bool failed;
};

/* Ends the packet at hand: its own fields are in x->packet. */
void perfetto_packet(struct perfetto *x, unsigned sequence, bool first);
/* Puts a text that is safe to show; NULL: nothing. */
void perfetto_text(struct perfetto *x, struct buf *b, unsigned field, const char *s);
/* An entry of interned data: a number and a text. */
void perfetto_intern(struct perfetto *x, unsigned field, uint64_t id, unsigned text_field,
		     const char *s);
/* The track of a thread; 0: it has none. */
uint64_t perfetto_thread(const struct perfetto *x, uint32_t pid, uint32_t tid);

/* perfetto_waits.c: states of threads, and slices of the time that they waited. */
void perfetto_wait_names(struct perfetto *x); /* into x->interned, before the first packet */
void perfetto_waits(struct perfetto *x);
/* perfetto_samples.c */
void perfetto_samples(struct perfetto *x);

#endif
