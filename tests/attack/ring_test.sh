#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an entry which no client can have put into the ring ends the session. The
# log says what the entry was, and other clients are served.
. "$(dirname "$0")/lib.sh"

start_server --part-size 64M
export ATTACK_SERVER=$server
"$WH_BUILD/tests/attack/bin/ring" | sed 's/^1\.\.24$/1..30/'
tap_run=24
await no_workers
point "no_worker_is_left_over" || workers | sed 's/^/# /'
grep -q "the client's ring says number 0xffffffff at call" "$tmp/server.err"
point "log_names_the_number" || sed 's/^/# /' "$tmp/server.err"
grep -q "the client's ring says request size 0x1241 at call" "$tmp/server.err"
point "log_names_the_size"
grep -q "the client's ring says place 0xffffffff at call" "$tmp/server.err"
point "log_names_the_place"
grep -q "the client's ring says handler 0x12345 at call" "$tmp/server.err"
point "log_names_the_handler"
"$WH_BUILD/tests/attack/bin/ring" | grep -q '^ok 1 '
point "next_client_is_served"
