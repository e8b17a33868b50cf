#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Names the C sources, one a line: those that git knows, or, of an unpacked archive, those that are there.
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.c' '*.h' 2>/dev/null | grep . ||
	find . \( -name 'build*' -o -name node_modules -o -name out \) -type d -prune -o -name '*.[ch]' -type f -print | sed 's,^\./,,' | sort
