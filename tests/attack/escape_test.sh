#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an ordinary program (escape.c) cannot get more device memory than its
# quota.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tenant/lib.sh"

serve_or_bail
"$wormhole" run --mem 64M -- "$WH_BUILD/tests/attack/bin/escape"
"$wormhole" stop
rm -rf "$tmp"
