#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo as a test: each example program, in both forms, in a client VM over
# vmfunc. Its result must be right, the calls counted by the worker; see
# demo/table.py for the points.
set -eu
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
exec "$WH_TOP/tests/bochs/demo.sh" --tap
