#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that CUDA_VISIBLE_DEVICES comes from the program's environment to the driver's
# numbers. Its driver of four devices fails when the variable reaches it.
. "$(dirname "$0")/lib.sh"

shows() { # LIST|unset EXPECTED NAME
	if [ "$1" = unset ]; then
		out=$("$bin/devices" names 2>&1)
	else
		out=$(CUDA_VISIBLE_DEVICES=$1 "$bin/devices" names 2>&1)
	fi
	[ "$out" = "$2" ]
	point "$3" || echo "# got: $out"
}

unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
WH_BACKEND="$bin/fake_devices.so"
export FAKE_STRICT=1
start_server --part-size 16M
if [ "$(basename "$0" .t)" = devices ]; then
	timeout 60 "$bin/devices"
	exit
fi
plan 11
shows unset "device 0, device 1, device 2, device 3" unset_shows_all
shows 3,1 "device 3, device 1" list_chooses_and_orders
shows 1,9,2 "device 1" list_ends_at_the_first_bad_number
shows "" "error 100" empty_list_is_no_device
shows -1 "error 100" minus_one_is_no_device
shows 7 "error 100" list_without_a_device_is_no_device
shows 1,1 "error 101" repeated_number_is_refused
shows GPU-12121212 "device 2" uuid_prefix_names_a_device
export CUDA_DEVICE_ORDER=PCI_BUS_ID
shows 0,1 "device 3, device 2" numbers_follow_the_order_asked_for
! grep -q "HMM" "$tmp/server.err"
point "driver_without_hmm_is_no_matter" || sed 's/^/# /' "$tmp/server.err"
stop_server
unset CUDA_DEVICE_ORDER
FAKE_HMM=1 start_server --part-size 16M
[ "$(grep -c HMM "$tmp/server.err")" = 1 ] &&
	grep -q "^wormhole: warn: device 2: kernels reach all memory of their worker.*uvm_disable_hmm=1" "$tmp/server.err"
point "server_names_the_device_with_hmm_and_the_remedy" || sed 's/^/# /' "$tmp/server.err"
