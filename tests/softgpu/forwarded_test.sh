#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that programs of cuBLAS, cuSOLVER, cuSPARSE and cuDNN run under `wormhole run`
# without a GPU: the tests of softgpu's stand-ins pass with the client's libraries in their place,
# and the server's workers load the stand-ins. It needs nvcc at build time, no hardware.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
wormhole=$WH_BUILD/host/wormhole
here=$WH_BUILD/tests/softgpu
# A stand-in's test, and the library of the client's that it must have had.
programs='factor=libcublas.so.13 solver=libcusolver.so.12 sparse=libcusparse.so.12 dnn=libcudnn.so.9'

for p in $programs; do
	[ -x "$here/${p%%=*}_test.t" ] || skip_all "no ${p%%=*}_test.t: no nvcc, or no header of ${p#*=}, at build time"
	[ -e "$WH_BUILD/client-stubs/${p#*=}" ] || skip_all "no ${p#*=} of the client's in the build"
done
[ -x "$wormhole" ] || skip_all "no $wormhole; \`make shm' builds it"
world_init softgpu || skip_all "$world_missing"
forget_genuine_libraries
export WORMHOLE_DIR="$world_dir/server"
trap '"$wormhole" stop --force >/dev/null 2>&1; world_end' EXIT
"$wormhole" serve --backend softgpu --state none --daemon >"$world_dir/serve" 2>&1 ||
	diag "$(tail -n 3 "$world_dir/serve")"

# passes NAME: the stand-in's test passes through a server.
passes() {
	timeout 120 "$wormhole" run -- "$here/$1_test.t" >"$world_dir/said" 2>&1 && return
	grep -A 2 '^not ok' "$world_dir/said" | head -n 6 | sed 's/^/# /'
	return 1
}

# has NAME LIBRARY: the program's library is the client's.
has() {
	timeout 120 env LD_DEBUG=libs "$wormhole" run -- "$here/$1_test.t" 2>&1 |
		grep -q "calling init: $WH_BUILD/client-stubs/$2"
}

plan 8
for p in $programs; do
	ok "${p%%=*}_test_has_the_client_s_library" has "${p%%=*}" "${p#*=}"
	ok "${p%%=*}_test_passes_through_a_server" passes "${p%%=*}"
done
finish
