/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spe - records of Arm's Statistical Profiling Extension (Armv8.2 to v9), taken apart.
 *
 *	n = spe_packet_read(&packet, p, len, at)	0: these bytes are no packet
 *	why = spe_read(&x, raw, len)			NULL, or why the bytes are no record
 *	why = spe_get(&x, SPE_TOTAL_LATENCY, &value)	NULL, or why it has no value here
 *	s = spe_source_name(&x, &why)			where its data came from
 *
 * A CPU writes records into its AUX buffer, each a row of packets that a time stamp or an end
 * packet closes. pd_open() makes a sample of each; PERF_SAMPLE_RAW of such a sample has, both in
 * host order, the CPU's MIDR_EL1 and bits of enum spe_flag (u32 each), then the packets as they
 * were, without padding. Packets are little-endian on every machine.
 *
 * The fields are in spe_field.def, the meanings of a source's numbers in spe_source.def,
 * by the CPU's MIDR: on a CPU that is not there, source_code is all that is known.
 */
#ifndef CYCLADE_PERFDATA_SPE_H
#define CYCLADE_PERFDATA_SPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pd;
struct pd_event;

#define SPE_RAW_HEAD 8u /* bytes before the packets */

enum spe_flag {
	SPE_TELLS_SNOOPS = 1, /* the CPU has the event "data snooped" */
};

enum spe_packet_kind {
	SPE_PAD, /* or alignment */
	SPE_END,
	SPE_TIMESTAMP,
	SPE_ADDRESS,
	SPE_COUNTER,
	SPE_CONTEXT,
	SPE_OPERATION,
	SPE_EVENTS,
	SPE_SOURCE,
};

struct spe_packet {
	enum spe_packet_kind kind;
	uint8_t index; /* which address, counter, exception level, class of operation */
	uint8_t size;  /* bytes of the payload */
	uint64_t payload;
};

/* `at`: where in its buffer p lies, for alignment. The packet's length; 0: none, or cut off. */
size_t spe_packet_read(struct spe_packet *out, const uint8_t *p, size_t len, uint64_t at);

/* The contents of packets; the order is that of x->word. */
enum spe_word {
	SPE_W_EVENTS,
	SPE_W_OPERATION,
	SPE_W_CLASS, /* index of the operation packet */
	SPE_W_TOTAL,
	SPE_W_ISSUE,
	SPE_W_TRANSLATION,
	SPE_W_SOURCE,
	SPE_W_PC,
	SPE_W_TARGET,
	SPE_W_VIRTUAL,
	SPE_W_PHYSICAL,
	SPE_W_PREVIOUS,
	SPE_W_CONTEXT,
	SPE_W_CONTEXT_LEVEL,
	SPE_W_TIMESTAMP,
	SPE_WORDS
};

enum spe_subclass { /* of an operation: its class, and more of its payload */
		    SPE_OTHER,
		    SPE_OTHER_SVE,
		    SPE_OTHER_SME,
		    SPE_OTHER_UNKNOWN,
		    SPE_GENERAL,
		    SPE_SIMD,
		    SPE_UNSPECIFIED,
		    SPE_SYSTEM,
		    SPE_TAG,
		    SPE_COPY,
		    SPE_SET,
		    SPE_EXTENDED,
		    SPE_VECTOR,
		    SPE_GCS,
		    SPE_MEMORY_UNKNOWN,
		    SPE_BRANCH,
		    SPE_NO_CLASS,
		    SPE_SUBCLASSES
};

enum spe_field {
#define SPE_FIELD(id, ...) SPE_##id,
#include "perfdata/spe_field.def"
#undef SPE_FIELD
	SPE_FIELDS
};

struct spe {
	uint32_t midr, flags; /* flags: of enum spe_flag */
	uint32_t has;	      /* bits of enum spe_word */
	uint8_t events_size;  /* bytes of the events packet: bits above it are unknown */
	uint8_t subclass;     /* enum spe_subclass */
	uint64_t word[SPE_WORDS];
};

/* Adds a packet to a record that is all zero at first. */
void spe_add(struct spe *x, const struct spe_packet *packet);
/* Completes a record when all packets are there. */
void spe_finish(struct spe *x);
const char *spe_read(struct spe *out, const uint8_t *raw, size_t len);
/* NULL and *value, or why there is none. */
const char *spe_get(const struct spe *x, enum spe_field f, uint64_t *value);
/* Bits of a virtual address that is code's, or data's, with its upper bits as a process has them.
 */
uint64_t spe_code_address(uint64_t payload);
uint64_t spe_data_address(uint64_t payload);

const char *spe_key(enum spe_field f);
const char *spe_class_name(const struct spe *x);    /* "load", "store", "branch", "other" or NULL */
const char *spe_subclass_name(const struct spe *x); /* or NULL */
bool spe_is_memory(const struct spe *x);	    /* a load or a store */
/* "L2 of another core", or NULL and why. */
const char *spe_source_name(const struct spe *x, const char **why);
/* As PERF_SAMPLE_DATA_SRC has it: of an operation that accesses no memory, not available. */
uint64_t spe_data_src(const struct spe *x);

/* Whether samples of the event are records of SPE: by the header its PMU, else its name. */
bool spe_is_event(const struct pd *rec, const struct pd_event *ev);

#endif
