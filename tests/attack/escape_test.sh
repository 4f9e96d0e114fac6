#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an ordinary program (escape.c) cannot get more device memory than its
# quota. It runs over softgpu, or over another driver that WH_BACKEND names, where a context takes
# half of the quota.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tenant/lib.sh"

serve_or_bail
quota=64M
[ -z "$WH_BACKEND" ] || quota=1G
"$wormhole" run --mem $quota -- "$WH_BUILD/tests/attack/bin/escape"
"$wormhole" stop
rm -rf "$tmp"
