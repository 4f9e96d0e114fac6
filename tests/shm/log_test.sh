#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what WORMHOLE_LOG=1 says, and that nothing is said without it.
. "$(dirname "$0")/lib.sh"

plan 4
start_server --part-size 16M
"$bin/client" once >"$tmp/o" 2>"$tmp/e" && [ ! -s "$tmp/e" ]
point "library_is_silent_by_default" || sed 's/^/# /' "$tmp/e"
WORMHOLE_LOG=1 "$bin/client" once >"$tmp/o" 2>"$tmp/e" &&
	grep -q '^wormhole: info: transport shm' "$tmp/e"
point "log_names_the_transport"
WORMHOLE_LOG=1 timeout 60 "$bin/driver" >"$tmp/o" 2>/dev/null
grep -q '^ok .*refused_function_is_named_once' "$tmp/o"
point "refused_function_is_named_once_under_the_log"
WORMHOLE_TRANSPORT=pigeon "$bin/client" once >"$tmp/o" 2>"$tmp/e"
[ $? = 3 ] && grep -q 'pigeon: no such transport' "$tmp/e"
point "unknown_transport_is_named"
