#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the cluster knows the devices of the node's server by a ResourceSlice, as
# Kubernetes' schemas have it, and hears when they change; and that a claim gets the device that it was
# allocated.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/kubernetes/lib.sh"
slices=/apis/resource.k8s.io/v1/resourceslices
slice=$slices/n1-gpu.wormhole.invalid

# What a Python expression says of the slice o, its spec and its devices.
published() {
	$py - "$tmp/kubeconfig" $slice "$1" <<-'END' 2>&1
		import json, sys, urllib.request
		config, path, expression = sys.argv[1:]
		with open(config) as f:
		    where = json.load(f)['clusters'][0]['cluster']['server']
		with urllib.request.urlopen(where + path) as answer:
		    o = json.load(answer)
		print(eval(expression, {'o': o, 's': o['spec'], 'd': o['spec']['devices']}))
	END
}
says() { [ "$(published "$1")" = "$2" ]; }
# Waits until it says so, and returns what it says then.
becomes() { await says "$1" "$2"; published "$1"; }
# Waits until the driver has asked for the slice N times more: it has had that time to change it.
asked() { [ "$(cat "$tmp/asked")" -ge "$1" ]; }
await_looks() { await asked $(($(cat "$tmp/asked") + $1)); }

plan 33
like stand_in_takes_no_member_that_the_schema_lacks "$(echo '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
	"metadata": {"name": "x"}, "spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devises": []}}' |
	kubelet POST $slices)" "422: spec: .*'devises' was unexpected"
like and_none_without_what_it_requires "$(echo '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
	"metadata": {"name": "x"}, "spec": {"driver": "d"}}' | kubelet POST $slices)" "422: spec: 'pool' is a required property"

# --- Without a server ----------------------------------------------------------------------------------
drive
is without_a_server_there_is_no_device "$(becomes 'd' '[]')" "[]"
like driver_says_why "$(cat "$tmp/driver")" "^wormhole: warn: no Wormhole server answers at .*; start it by \`wormhole serve --daemon'$"
is once "$(grep -c "no Wormhole server" "$tmp/driver")" 1
like a_claim_waits_for_it "$(kubelet claim "$(uid 1)" memory=16Mi share=10; kubelet prepare "$(uid 1)")" "no Wormhole server answers"

# --- Its devices ---------------------------------------------------------------------------------------
serve
is server_that_starts_is_seen "$(becomes 'len(d)' 1)" 1
is pool_is_the_nodes "$(published "s['nodeName'], s['driver'], s['pool']['name'], s['pool']['resourceSliceCount']")" \
	"('n1', 'gpu.wormhole.invalid', 'n1', 1)"
is each_change_is_a_generation "$(published "s['pool']['generation']")" 2
is slice_goes_with_its_node "$(published "[(r['kind'], r['name']) for r in o['metadata']['ownerReferences']]")" "[('Node', 'n1')]"
is many_claims_may_share_a_device "$(published "d[0]['allowMultipleAllocations']")" True
is memory_and_share_are_its_capacity "$(published "{c: v['value'] for c, v in d[0]['capacity'].items()}")" "{'memory': '512Mi', 'share': '100'}"
is who_asks_for_no_part_has_all "$(published "[v['requestPolicy']['default'] for v in d[0]['capacity'].values()]")" "['512Mi', '100']"
version=$(published "o['metadata']['resourceVersion']")
await_looks 3
is what_is_as_it_was_is_not_written_again "$(published "o['metadata']['resourceVersion']")" "$version"
end_driver TERM
drive
await_looks 2
is nor_by_the_next_driver "$(published "o['metadata']['resourceVersion']")" "$version"
end_driver TERM
resync=3600
before=$(cat "$tmp/asked")
drive
await asked $((before + 1))	# it asks once, and perhaps before it is registered
kill_server
is change_of_the_devices_is_told_at_once "$(becomes 'd' '[]')" "[]"
serve
becomes 'len(d)' 1 >/dev/null
before=$(cat "$tmp/asked")
kubelet looks 5 >/dev/null
is without_a_change_the_api_server_is_left_alone "$(($(cat "$tmp/asked") - before))" 0
end_driver TERM
settle=3600
drive
await_looks 1
kubelet DELETE $slice >/dev/null
is what_a_kubelet_that_has_started_deletes_is_made_again "$(becomes "len(d), s['pool']['generation']" "(1, 1)")" "(1, 1)"
end_driver TERM
resync=0 settle=0
drive
await_looks 1
kubelet DELETE $slice >/dev/null
is deleted_it_is_made_again "$(becomes "len(d), s['pool']['generation']" "(1, 1)")" "(1, 1)"
touch "$tmp/away"
await grep -q "the API server says 503" "$tmp/driver"
rm "$tmp/away"
kill_server
is it_goes_on_when_the_api_server_is_back "$(becomes 'd' '[]')" "[]"

# --- A cluster without the feature gate ----------------------------------------------------------------
touch "$tmp/ungated"
kubelet DELETE $slice >/dev/null
serve
is what_such_a_cluster_does_not_keep "$(becomes "'allowMultipleAllocations' in d[0]" False)" False
version=$(published "o['metadata']['resourceVersion']")
await_looks 3
is is_not_sent_again_and_again "$(published "o['metadata']['resourceVersion']")" "$version"
like but_is_told "$(cat "$tmp/driver")" "^wormhole: warn: the cluster gives out whole devices alone: turn on its feature gate DRAConsumableCapacity"
rm "$tmp/ungated"

# --- How devices are -----------------------------------------------------------------------------------
is kubelet_hears_that_a_device_is_well "$(kubelet health HEALTHY)" "[('n1', 'gpu-776f726d-686f-6c65-2d73-6f6674677075', 'HEALTHY')]"
kill_server
is and_of_none_without_a_server "$(kubelet health)" "[]"
: >"$tmp/nvml"
FAKE_NVML=$tmp/nvml FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075 serve --nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so"
like of_one_with_memory_errors_that_it_is_not "$(kubelet health UNHEALTHY)" "'UNHEALTHY'"
like and_why "$(kubelet health UNHEALTHY)" "'the GPU has had a memory error that ECC could not correct: reset it"
is which_takes_no_new_claims "$(becomes 'd' '[]')" "[]"
kill_server

# --- Two devices ---------------------------------------------------------------------------------------
export WORMHOLE_SOFTGPU_MEM=64M,128M
serve
is each_device_is_published "$(becomes "[v['capacity']['memory']['value'] for v in d]" "['64Mi', '128Mi']")" "['64Mi', '128Mi']"
kubelet claim "$(uid 2)" memory=100Mi share=50 "device=$(published "d[1]['name']")"
like claim_of_the_second_is_prepared "$(kubelet prepare "$(uid 2)")" "\"device_name\": \"$(published "d[1]['name']")\""
is and_sees_no_other "$("$wormhole" run --tenant "$(tenant 2)" -- "$client" info | cut -d" " -f2)" "$((100 << 20))"
kubelet claim "$(uid 3)" memory=10Mi share=10
kubelet prepare "$(uid 3)" >/dev/null
end_driver TERM
kill_server
export WORMHOLE_SOFTGPU_MEM=64M
serve
drive
like claim_of_a_device_that_is_gone_is_named "$(await grep "$(tenant 2)" "$tmp/driver"; cat "$tmp/driver")" \
	"^wormhole: warn: $(tenant 2): the Wormhole server has no device GPU-"
ok and_keeps_no_other_back await test -e "$cdi_dir/wormhole-$(tenant 3).json"
end_driver TERM
kill $cluster
"$wormhole" stop
finish
