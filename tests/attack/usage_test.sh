#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that only the server's side writes a tenant's counters, whatever its program
# asks the driver for.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tenant/lib.sh"

serve_or_bail
ATTACK_SERVER=$(server)
export ATTACK_SERVER
"$wormhole" run --mem 64M -- "$WH_BUILD/tests/attack/bin/break_out" usage
"$wormhole" stop
rm -rf "$tmp"
