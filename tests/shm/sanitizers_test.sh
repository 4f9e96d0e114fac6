#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that programs under AddressSanitizer and ThreadSanitizer run over shm, and that
# neither finds anything of the client library's.
. "$(dirname "$0")/lib.sh"
start_server
await grep -q listening "$tmp/server.out"
# The client library is not instrumented, so ThreadSanitizer does not know its locks.
export TSAN_OPTIONS=ignore_noninstrumented_modules=1

# clean SANITIZER PROGRAM passes if all points of the program do, and nothing is reported.
clean() {
	timeout 60 "$bin/$1_$2" >"$tmp/out" 2>&1
	rc=$?
	[ $rc = 0 ] && ! grep -q 'Sanitizer' "$tmp/out" && return
	echo "# status $rc"
	grep -v '^ok' "$tmp/out" | head -n 20 | sed 's/^/# /'
	return 1
}

plan 7
for p in memory module stream threads; do
	clean address "$p"
	point "${p}_under_address_sanitizer"
done
for p in memory module threads; do
	clean thread "$p"
	point "${p}_under_thread_sanitizer"
done
kill "$server"
