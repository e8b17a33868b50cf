/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of validate as tables: how far they skid, and whether their addresses are right.
 */
#include <inttypes.h>
#include <math.h>

#include "report/validate_tables.h"

/* ---- skid ------------------------------------------------------------------------------------ */

/* clang-format off */
#define OF(...) TABLE_FIELD(struct validate_skid, __VA_ARGS__)
/* clang-format on */
static const struct table_column skid_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY | C_FLEX, "of loads, sampled in the kernel skid",
	       OF(event, name)),
	COLUMN("precise", "precise", T_ID, C_KEY, "precise_ip that was asked for: 0 to 3",
	       OF(precise)),
	COLUMN("samples", "samples", T_COUNT, C_DROP, "that came", OF(samples)),
	COLUMN("at", "at it", T_SHARE, C_ERROR | C_WHY, "of samples: at the load itself", OF(at)),
	COLUMN("next", "behind it", T_SHARE, C_ERROR | C_WHY, "of samples: at the next instruction",
	       OF(next)),
	COLUMN("median", "median", T_REAL, C_ERROR | C_WHY,
	       "distance from the load, in instructions", OF(median)),
	COLUMN("p90", "90 %", T_REAL, C_ERROR | C_WHY | C_DROP,
	       "the distance that a tenth of the samples exceeds", OF(p90)),
	COLUMN("most", "most", T_REAL, C_ERROR | C_WHY | C_DROP, "the largest distance of up to 96",
	       OF(most)),
	COLUMN("outside", "elsewhere", T_COUNT, C_DATA, "samples outside these instructions",
	       OF(outside)),
	COLUMN("address", "address right", T_SHARE, C_ERROR | C_WHY | C_DROP,
	       "of sampled addresses: those that the sampled register gives again", OF(right)),
	COLUMN("text", "in words", T_TEXT, C_FLEX | C_CUT | C_SPARSE, "why there are no samples",
	       OF(why)),
};
#undef OF
const struct table_form validate_skid_form = { "skid", "where samples of loads stand", 0,
					       TABLE_COLUMNS(skid_columns), .rest = "level" };

/* ---- addresses ------------------------------------------------------------------------------- */

TABLE_ROW_AS(address_of, struct validate_address)

static void put_off(struct buf *b, const struct validate_address *x)
{
	switch (x->off) {
	case OFF_NOTHING:
		buf_puts(b, "outside of the kernel's memory");
		break;
	case OFF_FIXED:
		buf_printf(b, "off by %+" PRId64 " bytes", x->by);
		break;
	case OFF_LINE:
		buf_puts(b, "only the line of 64 bytes");
		break;
	case OFF_PAGE:
		buf_puts(b, "only the page");
		break;
	case OFF_VARIES:
		buf_puts(b, "off by different numbers of bytes");
	}
}

TABLE_GET(address_text)
{
	static const char *const text[] = {
		[ADDRESS_RIGHT] = "registers are those before the load",
		[ADDRESS_BEHIND] =
			"where a load overwrites its base, registers do not give its address",
		[ADDRESS_SKIDS] = "samples stand at other instructions",
		[ADDRESS_LATER] = "registers are those of a later instruction",
		[ADDRESS_NONE] = "samples of loads have no address",
		[ADDRESS_WRONG] = NULL,
		[ADDRESS_UNTESTED] = NULL,
	};
	const struct validate_address *x = address_of(r);

	out->text = x->verdict == ADDRESS_UNTESTED ? x->why : text[x->verdict];
	out->says = "";
	if (x->verdict != ADDRESS_WRONG)
		return;
	put_off(out->scratch, x);
	out->text = buf_str(out->scratch);
}

/* clang-format off */
TABLE_CELL(address_verdict, out->text = validate_address_key[address_of(r)->verdict];
	   out->dim = address_of(r)->verdict == ADDRESS_UNTESTED)
#define OF(...) TABLE_FIELD(struct validate_address, __VA_ARGS__)
/* clang-format on */
static const struct table_column address_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY | C_FLEX, "of loads, sampled in the kernel address",
	       OF(event, name)),
	COLUMN("precise", "precise", T_ID, C_DROP,
	       "precise_ip: the highest that the kernel takes for it", OF(precise)),
	COLUMN("verdict", "verdict", T_TEXT, 0,
	       "right, registers behind, registers later, not at the load, no address, wrong "
	       "address, "
	       "not tested",
	       .get = address_verdict),
	COLUMN("samples", "samples", T_COUNT, C_DROP, "that came", OF(samples)),
	COLUMN("outside", "elsewhere", T_COUNT, C_DATA,
	       "samples at neither load, nor at the instruction behind one", OF(outside)),
	COLUMN("at", "at it", T_SHARE, C_ERROR | C_WHY | C_DROP,
	       "of samples in the kernel's loop: at a load", OF(at)),
	COLUMN("next", "behind it", T_SHARE, C_ERROR | C_WHY | C_DATA,
	       "of samples in the loop: at the instruction behind a load", OF(next)),
	COLUMN("recomputed", "recomputed", T_SHARE, C_ERROR | C_WHY,
	       "of samples of the load that keeps its registers: they give the sampled address, in "
	       "the kernel's memory",
	       OF(kept)),
	COLUMN("overwritten", "overwritten", T_SHARE, C_ERROR | C_WHY | C_DROP,
	       "the same of the load that overwrites its base", OF(overwritten)),
	COLUMN("behind", "registers behind", T_SHARE, C_ERROR | C_WHY | C_DATA,
	       "of samples of that load: the base has what was loaded", OF(behind)),
	COLUMN("address", "address right", T_SHARE, C_ERROR | C_WHY,
	       "of sampled addresses that registers or the loaded word could check", OF(right)),
	COLUMN("text", "in words", T_TEXT, C_FLEX | C_CUT, "how it is wrong, or why not tested",
	       .get = address_text),
};
#undef OF
const struct table_form validate_address_form = { "addresses",
						  "whether addresses of loads are right", 0,
						  TABLE_COLUMNS(address_columns), .rest = "event" };
