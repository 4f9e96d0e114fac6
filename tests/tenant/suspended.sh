# SPDX-License-Identifier: Apache-2.0
# Tests of tenants that leave their devices source this file after lib.sh.
computes=$WH_BUILD/tests/tenant/bin/computes
suspend() { timeout 60 "$wormhole" suspend "$@" 2>&1; }
resume() { timeout 60 "$wormhole" resume "$@" 2>&1; }
state() { field "$1" "t['state']"; }
states() { for t in "$@"; do state "$t"; done | tr '\n' ' '; }
worker() { field "$1" "t['workers'][${2:-0}]['pid']"; }
client_of() { field "$1" "t['workers'][${2:-0}]['client_pid']"; }
# go NAME lets a client go on that waits for a line; it is in a call of CUDA then.
go() { eval "echo >&\$fd_$1"; }
# A program waits in its call when each of its threads, and of its worker's, sleeps.
asleep() { ! grep -h -v '^[0-9]* (.*) [SI] ' "/proc/$1/task/"*/stat; }
# The process that asks the driver.
helper() { pgrep -P "$(monitor)" -f -- --checkpoint; }

[ "$(id -u)" = 0 ] || skip_all "the server has to reach into workers, which root alone may"
