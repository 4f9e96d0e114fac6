#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises which library a worker loads, and what a client is told when it is the wrong
# one, none at all, or of another release. It also tests a stub without our libcuda.so.1.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}

# create prints the status of cublasCreate; says PATTERN looks for a message on stderr.
create() { timeout 30 "$bin/create" 2>"$tmp/err"; }

says() { grep -q "$1" "$tmp/err" "$tmp/server.err" 2>/dev/null || { sed 's/^/# /' "$tmp/err"; false; }; }

plan 11

start_server
[ "$(create)" = 0 ]
point "library_named_by_its_variable_is_loaded"
stop_server

mkdir "$tmp/libs" && cp "$bin/fake_cublas.so" "$tmp/libs/libcublas.so.13"
unset WORMHOLE_CUBLAS
: >"$FAKE_LOG"
start_server --lib-path "$tmp/libs"
[ "$(create)" = 0 ] && grep -q 'create 1' "$FAKE_LOG"
point "library_in_the_servers_folder_is_loaded"
stop_server

WORMHOLE_CUBLAS=$tmp/nowhere.so && export WORMHOLE_CUBLAS
start_server
[ "$(create)" = 1 ]
point "missing_library_is_not_initialized"
says 'the worker cannot load its libcublas.so.13'
point "client_is_told_so"
says 'warn: worker: libcublas.so.13: .*nowhere.so'
point "the_servers_log_names_the_file"
stop_server

WORMHOLE_CUBLAS=$bin/fake_curand.so
start_server
[ "$(create)" = 1 ] && says 'not that library'
point "another_library_is_refused"
stop_server

# In a loopback process the loader's search also leads to the client's own stub.
(
	use_loopback
	unset WORMHOLE_CUBLAS
	[ "$(create)" = 1 ] && says "client's library of Wormhole"
)
point "the_workers_library_is_never_our_stub"
(
	use_loopback
	WORMHOLE_CUBLAS=$bin/fake_cublas_linked.so
	[ "$(create)" = 0 ]
)
point "a_library_that_needs_libcuda_finds_the_backend_in_loopback"

# Another release is the same stub with another hash of its calls.
WORMHOLE_CUBLAS=$bin/fake_cublas.so
mkdir "$tmp/other"
ln -s "$WH_BUILD/client-stubs/libcuda.so.1" "$tmp/other/"
"$PYTHON" -B - "$WH_BUILD/gen/gen_cublas_wire.h" "$WH_BUILD/client-stubs/libcublas.so.13" \
	"$tmp/other/libcublas.so.13" <<'PY'
import re, sys
want = int(re.search(r'WH_CUBLAS_HASH (0x\w+)ULL', open(sys.argv[1]).read()).group(1), 16)
lib = open(sys.argv[2], 'rb').read()
old = want.to_bytes(8, 'little')
assert lib.count(old) == 1, lib.count(old)
open(sys.argv[3], 'wb').write(lib.replace(old, (want ^ 1).to_bytes(8, 'little')))
PY
hash=$(sed -n 's/^#define WH_CUBLAS_HASH 0x\(.*\)ULL/\1/p' "$WH_BUILD/gen/gen_cublas_wire.h")
start_server
[ "$(LD_LIBRARY_PATH=$tmp/other create)" = 1 ]
point "library_of_another_release_is_not_initialized"
says "the worker has calls $hash"
point "both_versions_are_named"
stop_server

mkdir "$tmp/foreign"
ln -s "$WH_BUILD/client-stubs/libcublas.so.13" "$WH_BUILD/softgpu/libcuda.so.1" "$tmp/foreign/"
! LD_LIBRARY_PATH=$tmp/foreign create >"$tmp/out" && says 'WORMHOLE_PRIVATE_4\|wh_library_begin'
point "with_another_libcuda_the_stub_does_not_load"
