# SPDX-License-Identifier: Apache-2.0
# The tests of the DRA driver source this file after tests/tenant/lib.sh, or after tests/cdi/lib.sh.
# They have a cluster's API server, a kubelet's folder, and a driver between these and the server.
[ "$(id -u)" = 0 ] || skip_all "not root: no tenant of root's"
driver=$WH_BUILD/kubernetes/wormhole-kubernetes
schemas=$WH_BUILD/kubernetes-schemas/_definitions.json
py=${WH_PYTHON:-/usr/bin/python3}
$py -c 'import grpc, google.protobuf, kubernetes, jsonschema' 2>"$tmp/import" ||
	skip_all "a Python module is missing: $(tail -n 1 "$tmp/import")"
[ -e "$schemas" ] || skip_all "no schemas of Kubernetes: tools/get-kubernetes.sh"
need_built "$driver" "$WH_BUILD/kubernetes/dra_pb2.py"
PATH=$WH_BUILD/host:$PATH
cdi_dir=${cdi_dir:-$tmp/cdi}
mkdir -p "$tmp/kubelet/plugins_registry" "$cdi_dir"
kept=$tmp/kubelet/plugins/gpu.wormhole.invalid/claims.json

kubelet() { $py "$WH_TOP/tests/kubernetes/kubelet.py" "$tmp" "$@" 2>&1; }
# A claim's UID, of one digit.
uid() { echo "aaaaaaaa-0000-4000-8000-00000000000$1"; }
tenant() { echo "claim-$(uid "$1")"; }
drive() {
	$py "$driver" --node n1 --dir "$WORMHOLE_DIR" --kubelet "$tmp/kubelet" --cdi-dir "$cdi_dir" \
		--kubeconfig "$tmp/kubeconfig" --period 0.2 --resync "${resync:-0}" --settle "${settle:-0}" 2>>"$tmp/driver" &
	driving=$!
	kubelet register >"$tmp/registered"
}
# The shell would say of a process that was killed that it was.
end_driver() { { kill "-$1" $driving && wait $driving; } 2>/dev/null; }

$py "$WH_TOP/tests/kubernetes/api.py" "$tmp" 2>"$tmp/api" &
cluster=$!
await test -e "$tmp/kubeconfig" || { echo "Bail out! no API server: $(tail -n 1 "$tmp/api")"; exit 1; }
