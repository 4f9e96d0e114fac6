#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the end of a client process: CUDA works as long as anything of the program may
# call it, and a call that comes still later is an error, not a crash.
. "$(dirname "$0")/lib.sh"

DEINITIALIZED=4

plan 6
export WORMHOLE_CUBLAS="$WH_BUILD/softgpu/libcublas.so.13"
start_server --part-size 16M
"$bin/ending" >"$tmp/o" 2>"$tmp/e"
[ $? = 0 ] && grep -q '^atexit 0$' "$tmp/o"
point "cuda_works_in_an_atexit_function" || sed 's/^/# /' "$tmp/o" "$tmp/e"
grep -q '^library 0$' "$tmp/o"
point "cuda_works_in_the_destructor_of_a_library_that_needs_it" || sed 's/^/# /' "$tmp/o"
grep -q "^later $DEINITIALIZED\$" "$tmp/o"
point "call_after_the_end_says_so" || sed 's/^/# /' "$tmp/o"
grep -q '^handle 0$' "$tmp/o"
point "handle_of_a_library_ends_without_an_error_even_then" || sed 's/^/# /' "$tmp/o" "$tmp/e"
await no_workers
point "worker_has_gone" || workers | sed 's/^/# /'
bad=0
for _ in 1 2 3 4 5 6 7 8; do
	timeout 20 "$bin/ending" threads >"$tmp/o" 2>"$tmp/e" || bad="$? $(cat "$tmp/e")"
done
[ "$bad" = 0 ]
point "threads_that_never_stop_do_not_crash_or_hang_the_end" || echo "# $bad"
