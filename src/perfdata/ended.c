/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/ended.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "perfdata/perfdata_int.h"

void ended_put(uint8_t out[ENDED_SIZE], const struct pd_ended *e)
{
	const uint32_t word[4] = { ENDED_SIZE, e->how, e->number, e->flags };

	memset(out, 0, ENDED_SIZE);
	memcpy(out, ENDED_MAGIC, 8);
	memcpy(out + 8, word, sizeof(word));
	memcpy(out + 24, &e->whole, sizeof(e->whole));
}

const char *pd_end_name(enum pd_end how)
{
	static const char *const name[] = {
#define END(id, name) [id] = name
		END(PD_END_UNTOLD, "not told"),	      END(PD_END_FINISHED, "finished"),
		END(PD_END_STOPPED, "stopped"),	      END(PD_END_FULL, "disk full"),
		END(PD_END_KILLED, "killed"),	      END(PD_END_AT_WORK, "at work"),
		END(PD_END_UNFINISHED, "unfinished"), END(PD_END_CUT, "cut short"),
#undef END
	};

	return how < sizeof(name) / sizeof(*name) ? name[how] : "not told";
}

bool pd_locked(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static void set_end(struct pd *rec, enum pd_end how, bool whole, const char *fmt, ...)
	PRINTF_(4, 5);
static void set_end(struct pd *rec, enum pd_end how, bool whole, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rec->losses.end = how;
	rec->losses.partial = !whole;
	rec->losses.ended = arena_strdup(&rec->arena, text);
	if (!rec->losses.ended) /* without memory for the text, a shorter one */
		rec->losses.ended = "not as it should";
}

void pd_end_cut(struct pd *rec, const char *what)
{
	if (!rec->losses.partial)
		set_end(rec, PD_END_CUT, false, "%s", what);
}

void pd_end_unfinished(struct pd *rec)
{
	if (!rec->losses.partial)
		set_end(rec, PD_END_UNFINISHED, false,
			"unfinished: the recorder was killed, or is still at work");
}

static const char *signal_name(uint32_t number, char buf[24])
{
	static const struct {
		uint32_t number;
		const char *name;
	} ends[] = { { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" },
		     { SIGTERM, "SIGTERM" }, { SIGALRM, "SIGALRM" }, { SIGPIPE, "SIGPIPE" },
		     { SIGUSR1, "SIGUSR1" }, { SIGUSR2, "SIGUSR2" } };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends[i].number == number)
			return ends[i].name;
	(void)snprintf(buf, 24, "signal %" PRIu32, number);
	return buf;
}

void pd_end_block(struct pd *rec, const struct pd_source *s, uint64_t header)
{
	bool locked = rec->losses.locked;
	struct pd_ended e;
	struct cur c;
	char name[24];

	if (header >= s->len || s->len - header < ENDED_SIZE ||
	    memcmp(s->p + header, ENDED_MAGIC, 8) != 0)
		return;
	c = cur_of(s->p + header + 8, ENDED_SIZE - 8);
	c.swap = rec->swap;
	(void)cur_u32(&c);
	e.how = (enum pd_end)cur_u32(&c);
	e.number = cur_u32(&c);
	e.flags = cur_u32(&c);
	e.whole = cur_u64(&c);
	switch ((unsigned)e.how) {
	case PD_END_AT_WORK:
		if (locked)
			set_end(rec, PD_END_AT_WORK, false,
				"the recorder is still at work: the rest is missing");
		else if (e.flags & ENDED_LOCKED)
			set_end(rec, PD_END_KILLED, false,
				"the recorder was killed, or this is a copy from before its end");
		else
			pd_end_unfinished(rec);
		break;
	case PD_END_STOPPED:
		set_end(rec, PD_END_STOPPED, !(e.flags & ENDED_PROGRAM), "stopped by %s%s",
			signal_name(e.number, name),
			e.flags & ENDED_PROGRAM ? " before the program ended" : "");
		break;
	case PD_END_FULL:
		set_end(rec, PD_END_FULL, false, "%s: the recorder stopped before the end",
			e.number == EFBIG	      ? "the limit of a file's size was reached"
			: e.number && e.number < 4096 ? strerror((int)e.number)
						      : "the file could not be written");
		break;
	case PD_END_FINISHED:
		set_end(rec, PD_END_FINISHED, true, "finished%s%s%s",
			e.number ? ": the program ended by itself, after " : "",
			e.number ? signal_name(e.number, name) : "",
			e.flags & ENDED_OUTLIVED ? "; processes that it had started went on" : "");
		break;
	default:
		break;
	}
	if (e.how != PD_END_AT_WORK && e.whole > s->len) {
		rec->losses.partial = 0;
		set_end(rec, PD_END_CUT, false, "cut short: %zu of %" PRIu64 " bytes are there",
			s->len, e.whole);
	}
}

void pd_losses_add(struct pd_losses *to, const struct pd_losses *l)
{
	to->lost_records += l->lost_records;
	to->lost += l->lost;
	to->lost_samples += l->lost_samples;
	to->read_lost += l->read_lost;
	to->throttles += l->throttles;
	to->unthrottles += l->unthrottles;
	to->aux_lost += l->aux_lost;
	to->unattributed += l->unattributed;
	to->untold |= l->untold;
	if (!to->ended || (!to->partial && l->partial)) {
		to->end = l->end;
		to->ended = l->ended;
	}
	to->partial += l->partial;
}
