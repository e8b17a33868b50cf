/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/profile.h"
#include "analyse/profile/profile_int.h"

static const struct {
	enum profile_key_kind kind;
	enum key_apart apart;
} rows[KEY_COUNT] = {
#define PROFILE_KEY(id, kind, apart) { KEY_IS_##kind, BY_##apart },
#include "analyse/profile_key.def"
#undef PROFILE_KEY
};

enum profile_key_kind profile_key_kind(enum profile_key key)
{
	return rows[key].kind;
}

bool keys_need(const struct profile_opts *o, enum key_apart apart)
{
	for (unsigned key = 0; key < KEY_COUNT; key++)
		if (rows[key].apart == apart &&
		    (o->also >> key & 1 || profile_has_key(o, (enum profile_key)key)))
			return true;
	return false;
}

bool key_counted(const struct profile_opts *o, enum profile_key key)
{
	return rows[key].apart == BY_NOTHING || keys_need(o, rows[key].apart);
}
