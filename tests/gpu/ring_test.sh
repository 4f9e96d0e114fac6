#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that programs of a client VM under stock QEMU print over the transport ring, with
# a GPU behind the server of its host, what they print natively on that GPU: LeNet's training to the
# last bit, too. It needs qemu-system-x86_64 and the images (`make images`). The VM has no KVM, so
# that the time which it takes is no figure, unless WH_ACCEL=kvm says that there is KVM.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
world_stop_server
forget_genuine_libraries
WH_BACKEND=$driver
[ "$world_kind" = gpu ] || { unset WH_BACKEND; export WORMHOLE_SOFTGPU_MEM=8G; }
worlds=$world_dir
. "$WH_TOP/tests/ring/lib.sh"
trap 'ring_clean_up; rm -rf "$worlds"' EXIT

# natively PROGRAM ARGUMENT... runs one of tests/programs/.
natively() {
	natively_p=$1
	shift
	in_world native shared timeout 100 "$WH_BUILD/tests/programs/bin/shared/$natively_p" "$@" </dev/null 2>/dev/null
}

plan 12
ring_image
export LD_LIBRARY_PATH="$server_path"
serve_device || { echo "Bail out! no server: $(cat "$tmp/serve")"; exit 1; }
unset LD_LIBRARY_PATH
programs="threads rounds=1 n=256
graphs
printing
managed
neuron calls=300
blas_threads rounds=1 n=16
lenet ${WH_LENET:-batch=64 steps=200}"

under="$wormhole run --mem 4G --sm 80 --" vm_start vm --programs 4 \
	--accel "${WH_ACCEL:-tcg}"
like client_vm_takes_the_transport "$(vm_prog vm first env WORMHOLE_LOG=1 /root/client info '2>&1')" "transport ring"
like its_memory_is_the_quota "$(section vm first)" "^total $((4 << 30)) free "
while read -r program arguments; do
	# shellcheck disable=SC2086
	natively "$program" $arguments >"$tmp/expected"
	began=$(date +%s%N)
	vm_prog vm "$program" "/root/shared/$program" "$arguments" "2>/dev/null" >"$tmp/got"
	diag "$program took $((($(date +%s%N) - began) / 1000000)) ms in the VM"
	is "${program}_prints_over_ring_what_it_prints_natively" "$(status vm "$program") $(cat "$tmp/got")" \
		"0 $(cat "$tmp/expected")"
done <<END
$programs
END
diag "$(tail -n 3 "$tmp/expected")"
vm_prog vm static env LD_PRELOAD=\$LIBS/libwormhole-preload.so /root/static/threads rounds=1 n=256 >/dev/null
is program_with_a_static_runtime_is_served "$(status vm static)" 0
is quota_is_held "$(vm_prog vm quota /root/client "alloc=$((5 << 30))")" "CUDA_ERROR_OUT_OF_MEMORY"
vm_end vm
ok kernel_of_the_guest_does_not_complain kernel_is_content vm
finish
