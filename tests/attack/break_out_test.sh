#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that ordinary requests cannot read or write the worker's own memory, which
# they name.
. "$(dirname "$0")/lib.sh"

start_server --part-size 16M
export ATTACK_SERVER=$server
"$WH_BUILD/tests/attack/bin/break_out" memory
