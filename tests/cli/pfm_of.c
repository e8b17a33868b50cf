/* SPDX-License-Identifier: BSD-3-Clause */
/* pfm_of MODEL: for each name on standard input that libpfm knows of that model's CPU, a line "NAME
 * CONFIG CONFIG1". */
#include <stdio.h>
#include <string.h>

#include "measure/pfm.h"

int main(int argc, char **argv)
{
	struct pfm_code c;
	char line[512];

	if (argc != 2)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (pfm_find(&c, argv[1], line, strlen(line)))
			printf("%s %llx %llx\n", line, (unsigned long long)c.config,
			       (unsigned long long)c.config1);
	}
	return 0;
}
