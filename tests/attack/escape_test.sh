#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An ordinary program does not get round its quota of device memory (escape.c).
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tenant/lib.sh"

serve_or_bail
"$wormhole" run --mem 64M -- "$WH_BUILD/tests/attack/bin/escape"
"$wormhole" stop
rm -rf "$tmp"
