#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# static.sh OUT SYMBOLS OBJCOPY ARCHIVE... -- CC...
# One archive with one object of what SYMBOLS need, in which no other name is global: it may be linked with
# any program, whatever that calls its functions.
out=$1 symbols=$2 objcopy=$3
shift 3
archives=
while [ "$1" != -- ]; do
	archives="$archives $1"
	shift
done
shift
object=$out.p.o
wanted=$(sed 's/^/-Wl,-u,/' "$symbols")
"$@" -r -nostdlib -o "$object" $wanted -Wl,--start-group $archives -Wl,--end-group &&
	"$objcopy" --keep-global-symbols="$symbols" "$object" && rm -f "$out" && ar rcs "$out" "$object" && rm -f "$object"
