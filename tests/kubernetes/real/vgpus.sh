#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script promises that pods with HAMi's resources get parts of devices in a real cluster: the kubelet takes
# the plugin and gives out units, the scheduler counts them, and containerd starts containers by the hook.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
inside=${1:-}
. "$WH_TOP/tests/kubernetes/real/lib.sh"
export WORMHOLE_SOFTGPU_MEM=4G,8G
STATE=$tmp/state
packaging=$WH_TOP/packaging/kubernetes
start_cluster

plug() {
	/usr/bin/python3 -B "$WH_BUILD/kubernetes/wormhole-device-plugin" --dir "$WORMHOLE_DIR" --period 0.5 \
		>>"$logs/plugin" 2>&1 &
	plugin=$!
}
# What the node has of HAMi's resources: gpu, gpucores, gpumem, gpumem-percentage.
units() {
	kubectl get node n1 -o "jsonpath={.status.allocatable['nvidia\.com/gpu','nvidia\.com/gpucores','nvidia\.com/gpumem','nvidia\.com/gpumem-percentage']}"
}
has_units() { [ "$(units)" = "$1" ]; }
become() { within 90 has_units "$1"; units; }
# pod NAME COMMAND [RESOURCE=N...] makes a pod that runs a line of sh.
pod() {
	name=$1 command=$2
	shift 2
	kubectl apply -f - <<-END 2>&1 | tee -a "$logs/kubectl"
		apiVersion: v1
		kind: Pod
		metadata: {name: $name}
		spec:
		  restartPolicy: Never
		  terminationGracePeriodSeconds: 1
		  containers:
		  - {name: main, image: $image, command: [sh, -c, "$command"], resources: {limits: {$(
			printf 'nvidia.com/%s, ' "$@" | sed 's/=/: /g')}}}
	END
}
remove() { kubectl delete --wait --timeout=90s "$@" >>"$logs/kubectl" 2>&1; }
memory() { kubectl exec "$1" -- client info | cut -d' ' -f2; }
no_tenants() { ! "$wormhole" tenant list | grep -q vgpu-; }
labels() { "$wormhole" metrics | sed -n 's/^wormhole_workers{tenant="vgpu-[^"]*",user="root"\(.*\)} .*/\1/p'; }
waits() { kubectl get pod "$1" -o 'jsonpath={.status.containerStatuses[0].state.waiting.message}' | grep -q "$2"; }
waiting() { within 60 waits "$1" "$2"; kubectl get pod "$1" -o 'jsonpath={.status.containerStatuses[0].state.waiting.message}'; }

plan 21
serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
plug
is kubelet_takes_four_resources "$(become "20 200 12288 200")" "20 200 12288 200"

# --- The example: 3000 MiB and 30 % --------------------------------------------------------------------
sed "s|image: IMAGE|image: $image|; s|command: .*|command: [sh, -c, \"client info \&\& program\"]|" \
	"$packaging/pods/hami.yaml" | kubectl apply -f - >>"$logs/kubectl" 2>&1
said=$(ends train)
is program_of_the_examples_pod_sees_3000_mib "$(echo "$said" | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p')" "$((3000 << 20))"
like and_computes "$said" "vectorAdd: PASS"
ok tenant_ends_with_the_container within 60 no_tenants
remove pod train

# --- Pods that stay ----------------------------------------------------------------------------------------
pod a 'sleep 1000' gpu=1 gpumem=1024 gpucores=30 >/dev/null
ok pod_runs within 60 in_phase a Running
is it_has_its_memory "$(memory a)" "$((1 << 30))"
like its_figures_name_the_pod "$(kubectl exec a -- sh -c 'client info' >/dev/null; labels)" '^,namespace="default",pod="a",container="main"$'
is what_was_not_counted_is_taken_from_the_rest "$(become "20 200 12288 175")" "20 200 12288 175"
pod b 'sleep 1000' gpu=2 gpumem-percentage=25 >/dev/null
ok pod_of_two_devices_runs within 60 in_phase b Running
is it_has_a_quarter_of_each "$(kubectl exec b -- client info | cut -d' ' -f2)" "$((1 << 30))"

# --- What is refused ---------------------------------------------------------------------------------------
pod more 'client info' gpu=1 gpumem=12289 >/dev/null
like memory_that_the_node_lacks_is_not_scheduled "$(tells more 'Insufficient')" "Insufficient nvidia.com/gpumem"
pod fits 'client info' gpu=1 gpumem=7000 >/dev/null
like container_that_fits_no_device_waits_and_says_why "$(waiting fits 'have room')" "0 devices have room for the container, which asks for 1; it waits"
pod lone 'client info' gpumem=10 >/dev/null
like memory_without_a_gpu_says_what_to_add "$(waiting lone 'add a limit')" "asks for nvidia.com/gpumem and for no nvidia.com/gpu: add a limit"
remove pod more lone

# --- Restarts ------------------------------------------------------------------------------------------------
end_part KILL $kubelet
start_kubelet
is next_kubelet_has_the_plugin "$(within 60 kubectl exec a -- true; become "20 200 9216 150")" "20 200 9216 150"
is and_programs_that_ran_go_on "$(memory a)" "$((1 << 30))"
end_part KILL $plugin
is killed_plugin_has_no_units_to_give "$(become "0 0 0 0")" "0 0 0 0"
plug
become "20 200 9216 150" >/dev/null
pod c 'client info' gpu=1 gpumem=100 >/dev/null
is next_plugin_gives_out_what_is_left "$(ends c | cut -d' ' -f2)" "$((100 << 20))"
remove pod b
is what_waited_runs_when_it_has_room "$(ends fits | cut -d' ' -f2)" "$((7000 << 20))"
remove pod a c fits
ok tenants_end_with_their_pods within 60 no_tenants
is all_units_are_there_again "$(become "20 200 12288 200")" "20 200 12288 200"
ok nothing_of_them_is_left within 30 sh -c '! ls /run/cdi/wormhole-share-*'
end_part TERM $plugin
"$wormhole" stop >/dev/null
finish
