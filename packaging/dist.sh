#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All files of a release in DIR: `make dist`. The binary is built apart, in build-dist, from the unpacked archive, with the
# time of the last commit: who builds the same commit with the same tools gets the same bytes.
cd "$(dirname "$0")/.." || exit 1
mkdir -p "${1:-dist}" || exit 1
dir=$(cd "${1:-dist}" && pwd)
rm -f "$dir"/cyclade-*.tar.xz "$dir"/cyclade-*.spdx.json "$dir/SHA256SUMS"
python3 packaging/dist.py source "$dir" || exit 1
# in a place of its own, always the same one: paths are part of what is compiled
[ ! -e build-dist ] || rm -r build-dist || exit 1
mkdir build-dist && tar -xf "$dir"/cyclade-*.tar.xz -C build-dist && cd build-dist/cyclade-* || exit 1
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y MANIFEST)} && export SOURCE_DATE_EPOCH
echo "dist: building in $PWD/build, some minutes" >&2
meson setup build --buildtype=release --prefix=/usr/local -Dtests=disabled -Dfuzzers=none >../log 2>&1 && ninja -C build >>../log 2>&1 ||
	{ tail -20 ../log >&2; exit 1; }
python3 packaging/dist.py binary "$dir" build && python3 packaging/dist.py sbom "$dir" build && python3 packaging/dist.py sums "$dir"
