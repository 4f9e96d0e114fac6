#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script promises that the manifests of packaging/kubernetes are taken by a real API server, by kubectl's
# kustomize, and that their pods make a node with parts of devices, each with no more rights than they name.
# IMAGE is a file of the image of packaging/kubernetes/Containerfile, named registry.example/wormhole:0.1.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
inside=${1:-}
. "$WH_TOP/tests/kubernetes/real/lib.sh"
[ -e "$IMAGE" ] || skip_all "no image: IMAGE has to name a file of it (tests/kubernetes/real/README.md)"
packaging=$WH_TOP/packaging/kubernetes
start_cluster
import "$IMAGE" >>"$logs/images" 2>&1
# The node's command and libraries are those of the pods (base/server.yaml).
export WORMHOLE_DIR=/run/wormhole
wormhole=/usr/lib/wormhole/bin/wormhole

rolled_out() { kubectl -n wormhole rollout status "daemonset/$1" --timeout=120s; }
slice() { kubectl get resourceslice n1-gpu.wormhole.invalid -o "jsonpath=$1"; }
published() { [ "$(slice "$1")" = "$2" ]; }
may() { kubectl auth can-i --as=system:serviceaccount:wormhole:wormhole-kubernetes "$@"; }
no_tenants() { ! "$wormhole" tenant list | grep -q -e claim- -e vgpu-; }
# example LINE starts the example at standard input with the test's image and a line of sh as its command.
example() {
	sed "s|image: IMAGE|image: $image|; s|command: .*|command: [sh, -c, \"$1\"]|" | kubectl apply -f - >>"$logs/kubectl" 2>&1
}
logs_of() { kubectl -n wormhole logs "daemonset/$1" 2>&1; }
# What a process of a DaemonSet's pod may do: its capabilities, in hexadecimal.
capabilities() { kubectl -n wormhole exec "daemonset/$1" -- sed -n 's/^CapEff:[^0-9a-f]*//p' /proc/self/status; }
ended() { kubectl get "$1" -o 'jsonpath={.status.conditions[?(@.type=="Complete")].status}' | grep -q True; }

plan 31
kubectl apply -f "$packaging/base/namespace.yaml" >>"$logs/kubectl"
for k in base claims hami softgpu; do
	ok "api_server_takes_$k" kubectl apply --dry-run=server -k "$packaging/$k"
done
for f in batch hami inference notebook; do
	ok "api_server_takes_the_example_$f" kubectl apply --dry-run=server -f "$packaging/pods/$f.yaml"
done

# --- Claims --------------------------------------------------------------------------------------------------
kubectl label node n1 wormhole=claims >>"$logs/kubectl"
ok claims_are_applied kubectl apply -k "$packaging/softgpu"
ok server_starts kubectl -n wormhole wait --for=jsonpath='{.status.numberReady}'=1 daemonset/wormhole-server \
	--timeout=120s
ok figures_start rolled_out wormhole-figures
ok driver_starts rolled_out wormhole-kubernetes
is device_plugin_has_no_pod_there "$(kubectl -n wormhole get pods -l app=wormhole-device-plugin -o name)" ""
is slice_is_published_with_its_account "$(within 60 published '{.spec.devices[*].capacity.memory.value}' 512Mi
	slice '{.spec.devices[*].capacity.memory.value}')" 512Mi
is account_may_read_claims "$(may get resourceclaims)" yes
is it_may_not_change_them "$(may update resourceclaims)" no
is nor_read_secrets "$(may get secrets)" no
is driver_has_no_capability "$(capabilities wormhole-kubernetes)" 0000000000000000
is figures_have_none "$(capabilities wormhole-figures)" 0000000000000000
# softgpu has less memory than the example asks for.
sed "s|memory: 4Gi|memory: 128Mi|" "$packaging/pods/batch.yaml" | example "client info \&\& program"
ok job_of_a_claim_ends_well within 120 ended job/train
like its_program_computes "$(kubectl logs job/train)" "vectorAdd: PASS"
ok its_tenant_ends within 60 no_tenants
like figures_are_written "$(cat /var/lib/prometheus/node-exporter/wormhole.prom)" "^wormhole_"
is driver_warns_of_nothing "$(logs_of wormhole-kubernetes | grep -v 'no Wormhole server answers')" ""
kubectl delete job train >>"$logs/kubectl"

# --- HAMi's resources ----------------------------------------------------------------------------------------
# The same patch of the server as softgpu's, for `hami'.
mkdir "$tmp/hami"
sed "s|\.\./claims|$(realpath --relative-to="$tmp/hami" "$packaging/hami")|" "$packaging/softgpu/kustomization.yaml" \
	>"$tmp/hami/kustomization.yaml"
kubectl label --overwrite node n1 wormhole=hami >>"$logs/kubectl"
ok hami_is_applied kubectl apply -k "$tmp/hami"
ok device_plugin_starts rolled_out wormhole-device-plugin
ok driver_of_claims_ends within 60 sh -c '[ -z "$(kubectl -n wormhole get pods -l app=wormhole-kubernetes -o name)" ]'
is device_plugin_has_no_capability "$(capabilities wormhole-device-plugin)" 0000000000000000
has_units() { [ "$(kubectl get node n1 -o 'jsonpath={.status.allocatable.nvidia\.com/gpumem}')" = 512 ]; }
ok node_has_its_resources within 90 has_units
sed "s|gpumem: 3000|gpumem: 300|" "$packaging/pods/hami.yaml" | example "client info \&\& program"
said=$(ends train)
is pod_of_hamis_resources_sees_its_part "$(echo "$said" | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p')" "$((300 << 20))"
like and_computes "$said" "vectorAdd: PASS"
finish
