#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the results of the demo: each example program, in both forms, runs in a client
# VM over vmfunc. Its result must be right, and the worker must have counted its calls;
# demo/table.py has the points.
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
exec "$WH_TOP/tests/bochs/demo.sh" --tap
