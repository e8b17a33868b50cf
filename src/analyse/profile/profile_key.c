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
	for (size_t i = 0; i < o->n_keys; i++)
		if (rows[o->key[i]].apart == apart)
			return true;
	return false;
}
