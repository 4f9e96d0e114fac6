#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that whatever ends of a client VM over the transport ring, of its host's server
# or of its relay, leaves nothing behind, and that the rest goes on.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/ring/lib.sh"

plan 15
ring_image
serve || { echo "Bail out! no server: $(cat "$tmp/serve")"; exit 1; }
vm_start vm --programs 2

# --- A program ----------------------------------------------------------------------------------
vm_say vm 'bg a /root/client alloc=8388608 ready wait'
vm_wait vm '^ready'
is program_has_its_memory "$(memory_of)" 8388608
# shellcheck disable=SC2016
vm_say vm 'kill -9 $(cat /tmp/a.pid)'
nothing() { [ "$(memory_of)" = 0 ] && has_workers 0; }
ok memory_of_a_killed_program_is_free_without_another_one await nothing
is program_that_ends_is_gone_when_it_has_ended "$(vm_prog vm b /root/client alloc=8388608) $(memory_of)" "ok 0"
vm_say vm 'bg c sh -c "/root/client alloc=1048576 fork ready wait"'
await has_workers 1
# shellcheck disable=SC2016
vm_say vm 'kill -9 $(cat /tmp/c.pid)'
ok child_that_does_not_call_keeps_no_worker await nothing

# --- The worker ---------------------------------------------------------------------------------
vm_say vm 'bg d /root/client alloc=1048576 ready line alloc=1048576'
vm_wait vm '^@begin d'
await has_workers 1
vm_wait vm '^@begin d' && until [ "$(section vm d | tail -n 1)" = ready ]; do sleep 0.05; done
workers | xargs kill -9
await has_workers 0
vm_say vm 'echo >/tmp/d.in'
vm_wait vm '^@end d '
like program_whose_worker_was_killed_gets_an_error "$(section vm d | tail -n 1)" CUDA_ERROR_DEVICE_UNAVAILABLE
is and_the_next_program_is_served "$(vm_prog vm e /root/client alloc=1048576)" ok

# --- The server -----------------------------------------------------------------------------------
vm_say vm 'bg f /root/client alloc=1048576 ready line alloc=1048576'
await has_workers 1
until [ "$(section vm f | tail -n 1)" = ready ]; do sleep 0.05; done
kill_server
vm_say vm 'echo >/tmp/f.in'
vm_wait vm '^@end f '
like program_whose_server_was_killed_gets_an_error "$(section vm f | tail -n 1)" CUDA_ERROR_DEVICE_UNAVAILABLE
like without_a_server_the_relay_says_so "$(vm_prog vm g /root/client info '2>&1')" "relay cannot connect to .*server.sock"
serve
is programs_are_served_by_the_next_server "$(vm_prog vm h /root/client alloc=1048576)" ok

# --- The relay ------------------------------------------------------------------------------------
vm_say vm 'bg i /root/client alloc=1048576 ready line alloc=1048576'
await has_workers 1
until [ "$(section vm i | tail -n 1)" = ready ]; do sleep 0.05; done
relays | xargs kill -9
ok workers_of_a_relay_that_was_killed_end await nothing
vm_say vm 'echo >/tmp/i.in'
vm_wait vm '^@end i '
like and_its_programs_get_an_error "$(section vm i | tail -n 1)" CUDA_ERROR_DEVICE_UNAVAILABLE
vm_end vm
ok kernel_of_the_guest_does_not_complain kernel_is_content vm

# --- The VM ---------------------------------------------------------------------------------------
vm_start two --programs 2
vm_say two 'bg a /root/client alloc=8388608 ready wait'
vm_wait two '^ready'
kill -9 "$(pid two)"
no_relay() { [ -z "$(relays)" ]; }
ok relay_of_a_killed_vm_ends await no_relay
ok and_its_workers_do await nothing
vm_start three --programs 1
is next_vm_is_served "$(vm_prog three a /root/client alloc=1048576)" ok
vm_end three
finish
