#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make -C bench softgpu [BEFORE=FOLDER]`: measures how fast softgpu runs kernels on one
# core, by user CPU time. With BEFORE it also measures the libcuda.so.1 of that folder, an
# older build, in turns with this one's. It takes the best of ROUNDS runs of
# build/bench/softgpu, because other work on the machine only makes it slower. Prints a
# table.
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
bench=$WH_BUILD/bench
before=${BEFORE:-}
export WORMHOLE_SOFTGPU_THREADS=1

figures() { # WHICH FOLDER
	LD_LIBRARY_PATH=$2 "$bench/softgpu" "$bench/softgpu.ptx" | sed "s/^/$1 /"
}

rounds() {
	for i in $(seq "${ROUNDS:-8}"); do
		figures now "$WH_BUILD/softgpu"
		[ -z "$before" ] || figures before "$before"
	done
}

{
	echo "\`make -C bench softgpu${before:+ BEFORE=FOLDER}\` runs one thread. A figure is per second of user CPU time (getrusage), the best of $((15 * ${ROUNDS:-8})) launches."
	echo
	echo "| kernel |${before:+ before |} now | unit |"
	echo "|---|${before:+---:|}---:|---|"
	rounds | awk -v two="$before" '
		!($2 in unit)	{ order[++n] = $2; unit[$2] = $4 }
		$3 > best[$1, $2] { best[$1, $2] = $3 }
		END {
			for (i = 1; i <= n; i++) {
				k = order[i]
				printf "| %s |%s %s | %s |\n", k, two ? " " best["before", k] " |" : "", best["now", k], unit[k]
			}
		}'
}
