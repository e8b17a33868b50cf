#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh MACHINE SCENARIO -- CMD...
# Runs an unmodified program on a simulated machine. MACHINE: a file of machines/ without .tab, or a path; SCENARIO: one
# of its programs, or a scenario file. In CMD, @SYSROOT@ stands for the machine's tree (cyclade --sysroot @SYSROOT@).
#	SIM_LIB		libsimpmu.so (else the one of build/)	SIM_TREE	where the tree is (else made and removed)
#	SIM_OPTIONS, SIM_TRUTH, SIM_DEBUG: preload.c
# by the shell alone: tests start this a thousand times
here=${0%/*}
[ ! -L "$0" ] && [ "$here" != "$0" ] || here=$(dirname "$(readlink -f "$0")")
machine=$1 scenario=$2
[ "$3" = -- ] || { echo "usage: run.sh MACHINE SCENARIO -- CMD..." >&2; exit 2; }
shift 3
[ -f "$machine" ] || machine=$here/machines/$machine.tab
[ -f "$machine" ] || { echo "run.sh: no machine $machine" >&2; exit 2; }
[ -f "$scenario" ] || [ ! -f "$here/scenarios/$scenario" ] || scenario=$here/scenarios/$scenario
lib=${SIM_LIB:-$here/../../build/tests/sim/libsimpmu.so}
[ -f "$lib" ] || { echo "run.sh: no $lib (SIM_LIB)" >&2; exit 2; }
tree=$SIM_TREE
if [ -z "$tree" ]; then
	tree=$(mktemp -d) || exit 2
	trap 'rm -rf "$tree"' EXIT
fi
[ -f "$tree/cpuid" ] || python3 "$here/tools/tree.py" "$machine" "$tree" || exit 2
n=$#
while [ "$n" -gt 0 ]; do
	arg=$1
	shift
	[ "$arg" = @SYSROOT@ ] && arg=$tree
	set -- "$@" "$arg"
	n=$((n - 1))
done
read -r cpuid <"$tree/cpuid" || exit 2
SIM_MACHINE=$machine SIM_SCENARIO=$scenario SYSFS_PATH=$tree/sys PERF_CPUID=$cpuid \
	LD_PRELOAD=$lib${LD_PRELOAD:+:$LD_PRELOAD} "$@"
