#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the server refuses requests on the control socket that are right but for
# one thing. None of them makes a tenant without its limits or takes the limits from one.
# tests/tenant/control_test.sh tests who may ask.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

limits() { field mine "d['memory_limit'], d['sm_percent'], t['host_memory_limit']"; }

serve
"$wormhole" tenant create mine --mem 1G --sm 40 --host-mem 1G
before="$(limits) $(server)"
/usr/bin/python3 "$WH_TOP/tests/attack/control.py" "$WORMHOLE_DIR/control.sock" mine >"$tmp/said" 2>&1
plan 12
cat "$tmp/said"
tap_run=$(grep -c '^ok\|^not ok' "$tmp/said")
tap_failed=$(grep -c '^not ok' "$tmp/said")
is limits_are_as_they_were "$(limits) $(server)" "$before"
is server_serves_on "$("$wormhole" run --tenant mine -- "$client" alloc=4096)" ok
finish
