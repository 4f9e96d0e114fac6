#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ordinary requests that name the worker's own memory.
. "$(dirname "$0")/lib.sh"

start_server --part-size 16M
export ATTACK_SERVER=$server
"$WH_BUILD/tests/attack/bin/break_out" memory
