/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which version it is, and where its structures have what is needed.
 */
#include <string.h>

#include "symbol/python/python_int.h"

enum { WORDS = 81 }; /* of the table of 3.14 that are needed */

static const char *const hint = "3.11 to 3.14 are known, of 64 bits and with one interpreter lock";

static void set_own(struct python_layout *l, unsigned minor)
{
#define PYTHON_OFFSET(name, in_3_11, in_3_12) l->name = minor == 11 ? (in_3_11) : (in_3_12);
#include "symbol/python/python_layout.def"
#undef PYTHON_OFFSET
	l->cframe = minor == 11 ? 8 : 0;
	l->entry_flag = minor == 11 ? 68 : 0;
	l->shim_owner = minor == 11 ? UINT8_MAX : 3;
	l->text_wide = minor == 11 ? 24 : 16;
	l->state_shift = 2;
}

static int set_told(struct python_layout *l, const uint64_t *word, unsigned minor, struct err *err)
{
	bool fine = true;
#define PYTHON_WORD(name, in_3_13, in_3_14)                              \
	l->name = (uint32_t)(word[minor == 13 ? (in_3_13) : (in_3_14)]); \
	fine &= word[minor == 13 ? (in_3_13) : (in_3_14)] < PYTHON_OFFSET_MAX;
#include "symbol/python/python_layout.def"
#undef PYTHON_WORD
	l->frame_direct = true;
	l->shim_owner = 3;
	l->text_wide = 16;
	l->state_shift = minor == 13 ? 2 : 16;
	return fine ? 0
		    : err_set(err, ERR_FORMAT, "Python 3.%u: its table of offsets is damaged",
			      minor);
}

/* Members that are read together lie close. */
static bool is_plausible(const struct python_layout *l)
{
	const uint32_t near[] = { l->frame_previous,   l->frame_code,	l->frame_instruction,
				  l->frame_owner,      l->code_file,	l->code_name,
				  l->code_lines,       l->code_start,	l->code_first_line,
				  l->bytes_size,       l->bytes_data,	l->text_state,
				  l->text_length,      l->text_ascii,	l->thread_next,
				  l->thread_native_id, l->thread_frame, l->thread_interpreter };

	for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++)
		if (near[i] > PYTHON_PART_MAX - 8)
			return false;
	return true;
}

int python_layout_read(struct python_layout *l, const struct python_memory *m, uint64_t runtime,
		       uint32_t version, struct err *err)
{
	uint64_t word[WORDS] = { 0 };
	bool told = m->read(m->ctx, runtime, word, sizeof(word)) && !memcmp(word, "xdebugpy", 8);
	unsigned minor;

	*l = (struct python_layout){ .version = told ? (uint32_t)word[1] : version };
	minor = l->version >> 16 & 0xff;
	if (!l->version)
		return err_set(err, ERR_UNSUPPORTED, "Python: its version is not known");
	if (l->version >> 24 != 3 || minor < 11 || minor > 14 || told != (minor >= 13)) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "Python %u.%u: the layout of its frames is unknown", l->version >> 24,
			      minor);
		return err_hint(err, "%s", hint);
	}
	if (told && word[2]) {
		(void)err_set(err, ERR_UNSUPPORTED, "Python 3.%u is a free-threaded build", minor);
		return err_hint(err, "%s", hint);
	}
	if (!told)
		set_own(l, minor);
	else if (set_told(l, word, minor, err))
		return -1;
	if (!is_plausible(l))
		return err_set(err, ERR_FORMAT, "Python 3.%u: its table of offsets is damaged",
			       minor);
	return 0;
}
