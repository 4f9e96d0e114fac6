#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script promises that claims of a real cluster become parts of a device: the API server takes the node's
# slice and the manifests, the scheduler allocates, the kubelet has the driver prepare, and containerd starts
# the pod, which sees its part and no more.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
inside=${1:-}
. "$WH_TOP/tests/kubernetes/real/lib.sh"
export WORMHOLE_SOFTGPU_MEM=16G
packaging=$WH_TOP/packaging/kubernetes
STATE=$tmp/state
start_cluster

# The driver has the rights of its account, and no others.
kubectl create namespace wormhole >>"$logs/kubectl"
kubectl apply -f "$packaging/claims/rights.yaml" -f "$packaging/claims/class.yaml" >>"$logs/kubectl" 2>&1
kubeconfig driver --token="$(kubectl create token wormhole-kubernetes -n wormhole)"
export KUBECONFIG="$tmp/admin.conf"
drive() {
	/usr/bin/python3 -B "$WH_BUILD/kubernetes/wormhole-kubernetes" --node n1 --dir "$WORMHOLE_DIR" --period 0.5 \
		--kubeconfig "$tmp/driver.conf" >>"$logs/driver" 2>&1 &
	driver=$!
}
slice() { kubectl get resourceslice n1-gpu.wormhole.invalid -o "jsonpath=$1"; }
# Waits until it says so, and returns what it says then.
published() { [ "$(slice "$1")" = "$2" ]; }
becomes() { within 60 published "$1" "$2"; slice "$1"; }
uid() { kubectl get resourceclaim "$1" -o 'jsonpath={.metadata.uid}'; }
no_claims() { ! "$wormhole" tenant list | grep -q claim-; }
tenants_are() { [ "$("$wormhole" tenant list | grep -c claim-)" = "$1" ]; }
is_another_slice() { slice '{.metadata.uid}' | grep -v "$slice" | grep -q .; }

# claim NAME MEMORY SHARE [PARAMETER...] makes a claim; a parameter is a line of YAML.
claim() {
	name=$1 memory=$2 share=$3
	shift 3
	{
		cat <<-END
			apiVersion: resource.k8s.io/v1
			kind: ResourceClaim
			metadata: {name: $name}
			spec:
			  devices:
			    requests:
			    - name: gpu
			      exactly: {deviceClassName: wormhole, capacity: {requests: {memory: $memory, share: "$share"}}}
		END
		[ $# = 0 ] || printf '    config:\n    - opaque:\n        driver: gpu.wormhole.invalid\n        parameters:
          apiVersion: gpu.wormhole.invalid/v1\n          kind: Tenant\n'
		[ $# = 0 ] || printf '          %s\n' "$@"
	} | kubectl apply -f - 2>&1 | tee -a "$logs/kubectl"
}
# pod NAME CLAIM COMMAND makes a pod that runs a line of sh.
pod() {
	kubectl apply -f - <<-END 2>&1 | tee -a "$logs/kubectl"
		apiVersion: v1
		kind: Pod
		metadata: {name: $1}
		spec:
		  restartPolicy: Never
		  terminationGracePeriodSeconds: 1
		  resourceClaims: [{name: part, resourceClaimName: $2}]
		  containers:
		  - {name: main, image: $image, command: [sh, -c, "$3"], resources: {claims: [{name: part}]}}
	END
}
remove() { kubectl delete --wait --timeout=90s "$@" >>"$logs/kubectl" 2>&1; }

plan 33
serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
drive
is api_server_takes_the_nodes_slice "$(becomes '{.spec.devices[*].capacity.memory.value}' 16Gi)" 16Gi
is with_shares_of_a_device_for_many "$(slice '{.spec.devices[0].allowMultipleAllocations} {.spec.devices[0].capacity.share.value}')" "true 100"

# --- A job of the examples: 4 GiB and 30 % -------------------------------------------------------------
sed "s|image: IMAGE|image: $image|; s|command: .*|command: [sh, -c, \"/bin/client info \&\& /bin/program\"]|" \
	"$packaging/pods/batch.yaml" | kubectl apply -f - >>"$logs/kubectl" 2>&1
ok job_of_the_examples_ends_well kubectl wait --for=condition=Complete job/train --timeout=120s
said=$(kubectl logs job/train 2>&1)
is its_program_sees_4_gib "$(echo "$said" | sed -n 's/^[^ ]* \([0-9]*\).*/\1/p' | head -n 1)" "$((4 << 30))"
like and_computes "$said" "vectorAdd: PASS"
ok claim_is_given_back_when_the_pod_has_ended within 60 no_claims
remove job train
remove resourceclaimtemplate batch

# --- A pod that stays ------------------------------------------------------------------------------------
claim a 4Gi 30 >/dev/null
pod a a 'client info && sleep 1000' >/dev/null
ok pod_of_a_claim_runs within 60 in_phase a Running
tenant=claim-$(uid a)
labels() { "$wormhole" metrics | sed -n "s/^wormhole_workers{tenant=\"$tenant\",user=\"root\"\(.*\)} .*/\1/p"; }
has_labels() { [ "$(labels)" = "$1" ]; }
is scheduler_says_what_it_consumes "$(kubectl get resourceclaim a -o 'jsonpath={.status.allocation.devices.results[0].consumedCapacity}')" \
	'{"memory":"4Gi","share":"30"}'
is tenant_has_it "$(field "$tenant" "d['memory_limit'] >> 30, d['sm_percent']")" "(4, 30)"
like its_figures_name_the_pod "$(within 30 has_labels ',namespace="default",pod="a",container="main"'; labels)" \
	'^,namespace="default",pod="a",container="main"$'

# --- Several pods of a claim -----------------------------------------------------------------------------
pod b a 'client info alloc=3221225472 && client alloc=1048576 && sleep 1000' >/dev/null
ok second_pod_of_the_claim_runs_beside_the_first within 60 in_phase b Running
is it_is_in_the_same_tenant "$("$wormhole" tenant list | grep -c claim-)" 1
remove pod a
is tenant_stays_while_one_of_them_does "$(kubectl exec b -- client info | cut -d' ' -f2)" "$((4 << 30))"

# --- What is refused -------------------------------------------------------------------------------------
claim more 17Gi 10 >/dev/null
pod more more 'client info' >/dev/null
like memory_that_no_device_has_is_not_scheduled "$(tells more 'cannot allocate')" "0/1 nodes are available: 1 cannot allocate all claims"
claim busy 1Gi 80 >/dev/null
pod busy busy 'client info' >/dev/null
like share_that_others_have_is_not_either "$(tells busy 'cannot allocate')" "0/1 nodes are available: 1 cannot allocate all claims"
claim high 1Gi 10 'priority: high' >/dev/null
pod high high 'client info' >/dev/null
like what_the_class_does_not_allow_is_told_as_an_event_of_the_pod "$(tells high "priority .high.")" \
	"priority .high. is above the device class.s .normal."
claim odd 1Gi 10 'ceiling: 150' >/dev/null
pod odd odd 'client info' >/dev/null
like so_is_a_value_that_is_none "$(tells odd "ceiling 150")" "ceiling 150 is no number from 1 to 100"
remove pod more high odd
remove resourceclaim more high odd

# --- Restarts --------------------------------------------------------------------------------------------
end_part KILL $driver
drive
is killed_driver_leaves_programs_alone "$(kubectl exec b -- client info | cut -d' ' -f2)" "$((4 << 30))"
claim c 1Gi 10 >/dev/null
pod c c 'client info && sleep 1000' >/dev/null
ok next_driver_prepares_claims within 90 in_phase c Running
end_part KILL $driver
kubectl delete --wait=false pod c >>"$logs/kubectl"
drive
ok pod_that_is_deleted_without_a_driver_is_taken_back_by_the_next within 90 tenants_are 1
slice=$(slice '{.metadata.uid}')
end_part KILL $kubelet
start_kubelet
is killed_kubelet_leaves_programs_alone "$(within 60 kubectl exec b -- true; kubectl exec b -- client info | cut -d' ' -f2)" "$((4 << 30))"
claim d 1Gi 10 >/dev/null
pod d d 'client info' >/dev/null
ok slice_that_it_deletes_is_made_again within 60 is_another_slice
is next_kubelet_finds_the_driver "$(ends d | cut -d' ' -f2)" "$((1 << 30))"
end_part KILL $apiserver
start_apiserver
ok api_server_comes_back within 120 api_answers
claim f 1Gi 10 >/dev/null
pod f f 'client info' >/dev/null
is claims_go_on_with_the_next_api_server "$(ends f | cut -d' ' -f2)" "$((1 << 30))"
kill_server
serve
pod e a 'client info' >/dev/null
is next_server_has_the_claims_of_pods_that_run "$(ends e | cut -d' ' -f2)" "$((4 << 30))"
kill_server
: >"$tmp/nvml"
FAKE_NVML=$tmp/nvml FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075 serve \
	--nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so"
health() { kubectl get pod b -o 'jsonpath={.status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health}'; }
has_health() { [ "$(health)" = "$1" ]; }
is device_with_memory_errors_is_unhealthy_in_the_pods_status "$(within 60 has_health Unhealthy; health)" Unhealthy
is and_takes_no_new_claims "$(becomes '{.spec.pool.name}{.spec.devices[*].name}' n1)" n1
kill_server
serve
is healthy_again_it_is_told "$(within 60 has_health Healthy; health)" Healthy

# --- The end ---------------------------------------------------------------------------------------------
remove pod b d e f
ok what_waited_for_the_share_runs_when_it_is_free within 90 in_phase busy Succeeded
ok tenant_ends_with_the_pod within 60 no_claims
like claim_stays "$(kubectl get resourceclaim a -o 'jsonpath={.metadata.name} {.status.reservedFor}')" "^a $"
remove pod busy
remove resourceclaim --all
ok nothing_of_it_is_left sh -c '! ls /run/cdi/wormhole-claim-* 2>&1'
end_part TERM $driver
"$wormhole" stop >/dev/null
finish
