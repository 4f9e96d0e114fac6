#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that libraries to which no worker belongs have the names of their headers and
# of the genuine libraries, where those are here. What they refuse answers with their own error,
# without a server.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
genuine=${CUDA_LIB:-/usr/local/cuda/lib64}

exports() { objdump -T "$1" | awk '$4 != "*UND*" && NF >= 6 { print $NF }' | grep -E "^$2[A-Z]" | sort; }
names() { "$PYTHON" -B "$WH_TOP/cuda-api/gen_refused.py" "$WH_TOP/cuda-api/$1.refused" "$2"; }

check() { # NAME SONAME PREFIX [--names-of-older or --names-of-oldest]
	names "$1" "${4:---names}" | sort >"$tmp/want"
	exports "$WH_BUILD/client-stubs/$2" "$3" >"$tmp/have"
	[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/have" >"$tmp/diff"
	point "$2_exports_what_is_described"
	objdump -p "$WH_BUILD/client-stubs/$2" | grep -q "SONAME *$2\$"
	point "$2_has_the_genuine_soname"
	if [ -e "$genuine/$2" ]; then
		exports "$genuine/$2" "$3" >"$tmp/genuine"
		[ -s "$tmp/genuine" ] && ! grep -vxFf "$tmp/genuine" "$tmp/have" >"$tmp/diff"
		point "$2_exports_nothing_that_the_genuine_one_does_not" || sed 's/^/# /' "$tmp/diff" | head
	else
		skip "$2_exports_nothing_that_the_genuine_one_does_not" "no $genuine/$2"
	fi
}

plan 7
check cufile libcufile.so.0 cuFile

# There is no server and no transport, because the libraries ask nobody.
unset WORMHOLE_TRANSPORT
WORMHOLE_LOG=1 "$bin/refused" >"$tmp/out" 2>"$tmp/err"
point "program_that_is_linked_with_it_runs"
grep -qx 'bar 5007 0 7' "$tmp/out" && grep -qx 'stats 5007 0' "$tmp/out" && grep -qx 'count 0' "$tmp/out"
point "cufile_refuses_by_its_own_error"
[ "$(grep -c 'cuFileGetBARSizeInKB is not supported' "$tmp/err")" = 1 ] && grep -q 'cuFileStatsStart is not supported' "$tmp/err"
point "each_function_is_named_once_under_the_log" || sed 's/^/# /' "$tmp/err"
"$bin/refused" >/dev/null 2>"$tmp/err" && [ ! -s "$tmp/err" ]
point "and_none_without"
