/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols_of FILE - the symbols of a file as a report would have them: address, size, name. */
#include <inttypes.h>
#include <stdio.h>

#include "symbol/image.h"

int main(int argc, char **argv)
{
	const struct images_opts opts = { .trust_paths = true, .raw_names = true };
	struct image_key key = { .kind = IMAGE_FILE, .path = argc > 1 ? argv[1] : "" };
	struct err err = ERR_INIT;
	struct images *set = images_new(&opts, &err);
	uint32_t id = set ? images_add(set, &key, &err) : IMAGE_NONE;
	const struct symbol *sym;
	size_t n;

	if (id == IMAGE_NONE) {
		(void)fprintf(stderr, "%s\n", err.what);
		return 2;
	}
	sym = image_symbols(set, id, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t vaddr = 0;

		if (image_to_vaddr(set, id, sym[i].start, &vaddr) && !sym[i].nameless)
			printf("%" PRIx64 " %" PRIx64 " %s\n", vaddr, sym[i].size, sym[i].linkage);
	}
	(void)fprintf(stderr, "%s\n", image_origin(set, id));
	images_free(set);
	return 0;
}
