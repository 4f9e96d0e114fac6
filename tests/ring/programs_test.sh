#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a client VM of stock QEMU on a stock kernel runs real programs over the
# transport ring, as a tenant with limits.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/ring/lib.sh"

plan 21
ring_image
serve || { echo "Bail out! no server: $(cat "$tmp/serve")"; exit 1; }
programs="threads rounds=1 n=256
graphs
printing
managed
neuron calls=300
lenet batch=2 steps=1 width=5
blas_threads rounds=1 n=16"

under="$wormhole run --mem 80M --sm 80 --" vm_start vm --programs 4
like client_vm_takes_the_transport "$(vm_prog vm first env WORMHOLE_LOG=1 /root/client info '2>&1')" "transport ring: part of 16 MiB"
like its_memory_is_the_quota "$(section vm first)" "^total 83886080 free 83886080$"
while read -r program arguments; do
	# shellcheck disable=SC2086
	"$wormhole" run -- "$WH_BUILD/tests/programs/bin/shared/$program" $arguments </dev/null >"$tmp/expected" 2>/dev/null
	vm_prog vm "$program" "/root/shared/$program" "$arguments" "2>/dev/null" >"$tmp/got"
	is "${program}_prints_over_ring_what_it_prints_over_shm" "$(status vm "$program") $(cat "$tmp/got")" "0 $(cat "$tmp/expected")"
done <<END
$programs
END
vm_prog vm static env LD_PRELOAD=\$LIBS/libwormhole-preload.so /root/static/threads rounds=1 n=256 >/dev/null
is program_with_a_static_runtime_is_served "$(status vm static)" 0
is quota_is_held_to_the_byte "$(vm_prog vm quota /root/client alloc=67108864 alloc=16777217 alloc=16777216 info)" \
	"ok
CUDA_ERROR_OUT_OF_MEMORY
ok
total 83886080 free 0"

# --- Several programs -------------------------------------------------------------------------
vm_say vm 'bg p4 /root/client alloc=1048576 launch=20 ready wait'
vm_wait vm '^ready'
alone=$(vm_prog vm alone /root/client info)
vm_say vm 'for i in 1 2 3; do bg p$i /root/client alloc=1048576 launch=20 ready wait; done'
four() { [ "$(tr -d '\r' <"$tmp/vm.log" | grep -c '^ready$')" = 4 ]; }
ok four_programs_are_served_at_a_time await four
like one_more_is_refused_with_the_option_that_gives_room "$(vm_prog vm fifth /root/client info '2>&1')" \
	"none of 4 ports is free.*--programs"
# shellcheck disable=SC2016
vm_say vm 'for i in 1 2 3; do kill -9 $(cat /tmp/p$i.pid); done'
vm_wait vm '^@end p3 '
free() {
	n=$((n + 1))
	[ "$(vm_prog vm "free$n" /root/client info)" = "$alone" ]
}
n=0
ok memory_of_killed_programs_is_free_and_their_places_too await free
vm_end vm
ok kernel_of_the_guest_does_not_complain kernel_is_content vm

# --- Other ways to start a VM -------------------------------------------------------------------
"$wormhole" tenant create lib --mem 64M >/dev/null
# libvirt runs the emulator of a domain so.
export WORMHOLE=$wormhole WORMHOLE_QEMU=qemu-system-x86_64
vm_run lib "$WH_TOP/packaging/libvirt/emulator-ring" -name guest=lib,debug-threads=on \
	-uuid 6d1f1d0c-7b4f-4a51-9f5e-0f3c1f2b7a10 -machine q35,accel=tcg -cpu max -m 384 -nodefaults -no-user-config \
	-display none -no-reboot -serial stdio -kernel "$WH_BUILD/bochs/debian/vmlinuz" -initrd "$tmp/initrd" \
	-append "$guest_arguments"
like libvirts_emulator_makes_a_vm_of_the_tenant_of_its_name "$(vm_prog lib a /root/client info)" "^total 67108864 free 67108864$"
vm_say lib 'bg s /root/client alloc=8388608 ready line copy=65536'
vm_wait lib '^ready'
is vm_is_suspended_as_other_tenants_are "$("$wormhole" suspend lib 2>&1; memory_of lib)" 0
"$wormhole" resume lib
vm_say lib 'echo >/tmp/s.in'
vm_wait lib '^@end s '
is and_its_programs_go_on_when_it_is_resumed "$(section lib s | tail -n 1) $(memory_of lib)" "ok 0"
vm_end lib
like emulator_without_a_domain_is_qemu "$("$WH_TOP/packaging/libvirt/emulator-ring" -version)" "^QEMU emulator"
vm_run auto "$wormhole" client start --accel tcg --kernel "$WH_BUILD/bochs/debian/vmlinuz" --initrd "$tmp/initrd" \
	--append "$guest_arguments" --memory 384 auto
like host_without_the_series_serves_over_ring_unasked "$(vm_prog auto a env WORMHOLE_LOG=1 /root/client info '2>&1')" "transport ring"
vm_end auto
like unknown_tenant_is_an_error_with_the_next_step "$("$wormhole" client exec --tenant none -- true 2>&1)" \
	"none.sock': No such file or directory; make the VM's tenant by .wormhole tenant create"
finish
