/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records without a file: the caller can make some of them a recording, in memory or on disk.
 */
#include <string.h>

#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

int sampling_head(struct sampling *r, struct buf *out, struct err *err)
{
	struct pdw_setup setup;

	if (sampling_events(r, &setup, err))
		return -1;
	pdw_head(out, &setup);
	return buf_error(out, err);
}

void sampling_head_size(struct buf *head, uint64_t data)
{
	pdw_head_size(head, data);
}

size_t sampling_trailer(const struct sampling *r)
{
	return attr_trailer(&r->ev[0].attr);
}

/* The draining thread does not use these fields: its records go elsewhere. */
static int put_records(struct sampling *r, const struct buf *data, struct err *err)
{
	static const struct perf_event_header finished = { .type = PD_RECORD_FINISHED_ROUND,
							   .size = sizeof(finished) };
	const uint8_t *p = (const uint8_t *)buf_str(data);

	for (size_t at = 0, size; at < data->len; at += size) {
		size = ld16(p + at + 6);
		if (sink_note(&r->sink, p + at, size, err))
			return -1;
	}
	return pdw_data(r->sink.writer, p, data->len, err) ||
			       pdw_data(r->sink.writer, &finished, sizeof(finished), err) ||
			       pdw_flush(r->sink.writer, err)
		       ? -1
		       : 0;
}

static void forget_file(struct sampling *r)
{
	struct sink *s = &r->sink;

	pdw_close(s->writer);
	strtab_free(&s->files);
	inside_free(&s->inside);
	s->writer = NULL;
	s->files = (struct strtab)STRTAB_INIT;
	memset(&s->inside, 0, sizeof(s->inside));
	s->samples = s->lost = s->throttled = s->forks = s->last_time = 0;
	s->first_time = UINT64_MAX;
	r->path = NULL;
}

int sampling_save(struct sampling *r, const char *path, const struct buf *data, struct err *err)
{
	int rc = -1;

	r->path = path;
	if (!sampling_check(r, err) && !sampling_file(r, err) && !sampling_features_early(r, err) &&
	    !put_records(r, data, err) && !sampling_features(r, NULL, err))
		rc = pdw_commit(r->sink.writer, &(struct pdw_end){ .how = PD_END_FINISHED }, err);
	forget_file(r);
	return rc;
}
