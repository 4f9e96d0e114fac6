#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a suspended tenant is not brought back to a device of which the driver says
# that it has too little memory free, since a restoration that fails in the middle may leave memory
# there; and that the tenant loses nothing by that.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/suspended.sh"

export FAKE_NVML="$tmp/nvml" FAKE_NVML_FREE="$tmp/free" FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075
export WORMHOLE_WORKER_ENV=FAKE_NVML:FAKE_NVML_FREE:FAKE_NVML_UUID
fake="$WH_BUILD/tests/tenant/bin/fake_nvml.so"
free() { echo $(($1 << 20)) >"$FAKE_NVML_FREE"; }

plan 9
free 4096
serve --nvml "$fake"
"$wormhole" tenant create a --mem 64M
start x --tenant a -- alloc=16777216 ready line copy=65536 launch=50 copy=65536
is a_tenant_is_suspended "$(suspend a)" ""
needs=$(field a "t['suspended_memory'] >> 20")
free $((needs + 7))
like it_is_not_brought_back_to_a_full_device "$(resume a)" \
	"too little memory: $needs MiB are to come back, and $((needs + 7)) MiB are free; suspend or end what is there"
is it_stays_suspended "$(state a)" suspended
go x
await asleep "$(client_of a)"
is its_program_waits_on "$(said x)" "ok "
free $((needs + 16))
is it_comes_back_where_there_is_room "$(resume a)" ""
await eval "[ \"\$(said x)\" = 'ok ok ok ok ' ]"
is its_program_goes_on "$(said x)" "ok ok ok ok "
"$wormhole" stop --force

# Without NVML the driver itself is asked.
free 0
serve --nvml none
"$wormhole" tenant create a --mem 64M
start x --tenant a -- alloc=16777216 ready line copy=65536
is without_nvml_it_is_suspended_too "$(suspend a)" ""
is and_the_driver_alone_is_asked "$(resume a)" ""
go x
await eval "[ \"\$(said x)\" = 'ok ok ' ]"
is this_program_goes_on_too "$(said x)" "ok ok "
