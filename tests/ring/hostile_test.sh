#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a client VM whose kernel writes anything at all into its window and its
# ports harms nobody else (hostile.c). The seed is shown; WH_SEED repeats a run.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/ring/lib.sh"

plan 6
ring_image
serve || { echo "Bail out! no server: $(cat "$tmp/serve")"; exit 1; }
seed=${WH_SEED:-$(date +%s)}
diag "seed $seed"
vm_start bad --programs 3
vm_start good --programs 2
vm_say good 'bg a /root/client alloc=1048576 ready line copy=65536 launch=20 line copy=65536'
vm_wait good '^ready'
other=$(relays | wc -l)
like thousand_hostile_messages_are_taken "$(vm_prog bad one /root/hostile "$seed" 1000 /dev/vport0p1)" '^done$'
vm_prog bad two /root/hostile "$((seed + 1))" 1000 /dev/vport0p2 >/dev/null
is relays_live "$(relays | wc -l)" "$other"
vm_say good 'echo >/tmp/a.in'
three() { [ "$(section good a | grep -c '^ok$')" = 3 ]; }
ok program_of_another_vm_computes_on await three
is programs_of_other_vms_start "$(vm_prog good b /root/client alloc=1048576 copy=65536)" "ok
ok"
# With the words back in order, the VM itself is served again, by the same ports.
served() {
	n=$((n + 1))
	[ "$(vm_prog bad "again$n" /root/client alloc=1048576)" = ok ]
}
n=0
ok hostile_vm_is_served_again_once_it_behaves await served
vm_end bad
vm_end good
one_left() { [ "$(memory_of)" = 0 ] && has_workers 0 && [ -z "$(relays)" ]; }
ok nothing_is_left await one_left
finish
