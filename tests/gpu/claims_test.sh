#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a claim of 4 GiB and 30 % of a GPU, which a kubelet has prepared through its
# interface, is a device of a container whose programs see 4 GiB, get no more, and have 30 % of what
# the GPU does without a share. It needs podman and the Python modules of the DRA driver.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
inside=${1:-}
roots_only=1
. "$WH_TOP/tests/cdi/lib.sh"
. "$WH_TOP/tests/world.sh"
if [ "${WH_TEST_DEVICE:-gpu}" = gpu ]; then
	world_folders=$(library_folders)
	folder=$(find_library libcuda.so.1) || skip_all "no libcuda.so.1: no NVIDIA driver"
	WH_BACKEND=$folder/libcuda.so.1
	gpu_answers "$WH_BACKEND" || skip_all "$WH_BACKEND finds no device"
else
	export WORMHOLE_SOFTGPU_MEM=8G
fi
cdi_dir=/run/cdi
. "$WH_TOP/tests/kubernetes/lib.sh"
share=$WH_BUILD/tests/limits/bin/gpu_share
need_built "$share"
serve_device || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
drive
slice=/apis/resource.k8s.io/v1/resourceslices/n1-gpu.wormhole.invalid
published() {
	device=$(kubelet GET $slice | grep -o '"gpu-[0-9a-f-]*"' | head -n 1 | tr -d '"')
	[ -n "$device" ]
}
await published

# claim N CAPACITY... prints what the kubelet is answered.
claim() {
	claim_n=$1
	shift
	kubelet claim "$(uid "$claim_n")" "$@" device="$device"
	kubelet prepare "$(uid "$claim_n")"
}
# in_claim N COMMAND... runs it in a container that has the claim.
in_claim() {
	in_n=$1
	shift
	box roots --device "wormhole/tenant=$(tenant "$in_n")" --volume "$share:/bin/gpu_share" -- "$@"
}
# rate N prints kernels of 100 us a second in a container that has the claim.
rate() { in_claim "$1" /bin/gpu_share 100us 4 "$per_us" 1056 | sed -n 's/^launches //p'; }
near_30_percent() {
	awk -v a="$1" -v b="$2" 'BEGIN { p = a / b; exit !(b && p > 0.28 && p < 0.32) }'
}

plan 8
like driver_publishes_the_gpu "$device" "^gpu-"
like claim_is_prepared "$(claim 1 memory=4Gi share=30)" "\"cdi_device_ids\": \[\"wormhole/tenant=$(tenant 1)\"\]"
like container_sees_4_gib "$(in_claim 1 /bin/client info)" "^total $((4 << 30)) free "
like more_is_refused "$(in_claim 1 /bin/client "alloc=$(((4 << 30) + 1))")" "CUDA_ERROR_OUT_OF_MEMORY"
like program_with_the_shared_runtime_runs_in_it "$(in_claim 1 /bin/program)" "vectorAdd: PASS"
like program_with_a_static_runtime_runs_in_it "$(in_claim 1 /bin/static)" "vectorAdd: PASS"
if [ -n "${WH_BACKEND:-}" ]; then
	claim 2 memory=4Gi share=100 >"$tmp/whole"
	per_us=$(in_claim 2 /bin/gpu_share calibrate)
	whole=$(rate 2)
	part=$(rate 1)
	diag "kernels of 100 us a second: $part with 30 %, $whole with 100 %"
	ok it_has_30_percent_of_what_100_percent_do near_30_percent "${part:-0}" "${whole:-0}"
	kubelet unprepare "$(uid 2)" >/dev/null
else
	skip it_has_30_percent_of_what_100_percent_do "softgpu works on the CPUs that its clients need"
fi
kubelet unprepare "$(uid 1)" >/dev/null
is taken_back_its_tenant_is_gone "$("$wormhole" tenant list | grep -c claim-)" 0
end_driver TERM
kill $cluster
finish
