#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a container which asks for HAMi's resources gets a tenant of its own with what
# the kubelet has given out, on one device where that has room, and that nothing in its own
# configuration raises it. The containers are of podman and crun.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
inside=${1:-}
. "$WH_TOP/tests/cdi/lib.sh"
cdi_dir=/run/cdi
. "$WH_TOP/tests/kubernetes/node.sh"
export WORMHOLE_SOFTGPU_MEM=64M,128M
serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
plug

# in_pod POD [OPTION...] -- COMMAND... starts the pod's container, by the devices that the plugin named.
in_pod() {
	in_pod=$1
	shift
	devices=$(node start "$in_pod" | tr -d '[]",')
	case $devices in *refused*) echo "$devices"; return;; esac
	# shellcheck disable=SC2086
	box roots $(printf -- ' --device %s' $devices) "$@"
}
memory() { in_pod "$@" -- /bin/client info | cut -d" " -f2; }
# What the kubelet was told of a resource: units that can be given out, and all.
units() { node units | $py -c 'import json,sys; print(*json.load(sys.stdin)[sys.argv[1]])' "$1"; }
has_units() { [ "$(units "$1")" = "$2" ]; }
become() { await has_units "$1" "$2"; units "$1"; }
# The devices that the plugin has noted for a pod, by the last character of their UUIDs.
devices_of() {
	$py -c 'import json,sys
for r in json.load(open(sys.argv[1]))["containers"].values():
    if r["pod"] == sys.argv[2]: print(*sorted(u[-1] for u in r["has"]))' "$given" "$1"
}
# What `wormhole stat' says of a pod's tenant while its container runs: memory in MiB, and percent, of each device.
limits() {
	limits=$1
	shift
	rm -rf "$tmp/sync"
	mkdir -m 777 "$tmp/sync"
	in_pod "$limits" "$@" --volume "$tmp/sync:/sync" -- /bin/sh -c '>/sync/up
until [ -e /sync/go ]; do busybox sleep 0.1; done' >"$tmp/said" &
	container=$!
	await eval "[ -e '$tmp/sync/up' ] || ! kill -0 $container"
	"$wormhole" stat --json | $py -c 'import json,sys
for t in json.load(sys.stdin):
    if t["tenant"].startswith("vgpu-"):
        print(*("%d %d" % (d["memory_limit"] >> 20, d["sm_percent"]) for d in t["devices"]), sep=", ")' 2>&1
	"$wormhole" metrics >"$tmp/metrics"
	touch "$tmp/sync/go"
	wait $container
}

plan 38
is four_resources_are_registered "$(node await_plugins)" \
	'{"gpu": [20, 20], "gpucores": [200, 200], "gpumem": [192, 192], "gpumem-percentage": [200, 200]}'
is its_sockets_are_roots_alone "$(find "$tmp/kubelet/device-plugins" -name 'wormhole-*' -type s ! -perm 700)" ""

# --- A container ---------------------------------------------------------------------------------------
like pod_gets_a_device "$(node admit team/a gpu=1 gpumem=32 gpucores=30)" '^\["wormhole/share=vgpu-[0-9]*"\]$'
is container_has_the_pods_memory "$(memory team/a)" "$((32 << 20))"
like program_runs_in_it "$(in_pod team/a -- /bin/program)" "vectorAdd: PASS"
like more_is_refused "$(in_pod team/a -- /bin/client "alloc=$((33 << 20))")" "CUDA_ERROR_OUT_OF_MEMORY"
is it_has_the_share_of_one_device "$(limits team/a)" "32 30"
like its_figures_name_the_pod "$(grep '^wormhole_memory_limit_bytes' "$tmp/metrics")" \
	'tenant="vgpu-[0-9]*-[0-9a-f]*",user="root",namespace="team",pod="a",container="main",device="0"} 33554432'
is tenant_ends_with_the_container "$(await eval '! "$wormhole" tenant list | grep -q vgpu-'; "$wormhole" tenant list | grep -c vgpu-)" 0
is device_with_the_least_left_is_taken "$(devices_of a)" 5

# --- What its own configuration says ---------------------------------------------------------------------
is variables_lower_it "$(limits team/a --env CUDA_DEVICE_MEMORY_LIMIT=16m --env CUDA_DEVICE_SM_LIMIT_0=10)" "16 10"
is and_raise_nothing "$(limits team/a --env CUDA_DEVICE_MEMORY_LIMIT_0=1g --env CUDA_DEVICE_MEMORY_LIMIT=1g \
	--env CUDA_DEVICE_SM_LIMIT=100 --env GPU_CORE_UTILIZATION_POLICY=disable)" "32 30"

# --- More of them ----------------------------------------------------------------------------------------
node admit team/b gpu=1 gpumem=48 >/dev/null
is next_goes_where_there_is_room "$(memory team/b)" "$((48 << 20))"
is and_that_is_the_other_device "$(devices_of b)" 6
node admit team/c gpu=2 gpumem=8 gpucores=20 >/dev/null
is two_gpus_are_two_devices_with_as_much_of_each "$(limits team/c)" "8 20, 8 20"
is what_was_not_counted_is_taken_from_the_rest "$(become gpumem "184 192")" "184 192"
is so_it_is_of_cores "$(units gpucores)" "180 200"
node admit team/d gpu=1 gpumem-percentage=25 >/dev/null
is percentage_is_of_the_device "$(memory team/d)" "$((16 << 20))"
is memory_that_percentages_have_is_not_given_out_again "$(become gpumem "168 192")" "168 192"
node admit team/e gpu=1 >/dev/null
is who_asks_for_no_memory_has_an_equal_part "$(memory team/e)" "$((6 << 20))"
is and_no_limit_of_time "$(limits team/e)" "6 100"

# --- What is refused -------------------------------------------------------------------------------------
node admit team/f gpu=1 gpumem=73 >/dev/null
like container_that_fits_no_device_waits "$(in_pod team/f -- /bin/program)" "0 devices have room .* it waits until others have ended (left: GPU-.* MiB.*%"
node end team/b >/dev/null
is until_others_have_ended "$(memory team/f)" "$((73 << 20))"
node admit team/g gpu=1 gpumem=1 gpumem-percentage=1 >/dev/null
like two_kinds_of_memory_are_refused "$(in_pod team/g -- /bin/program)" "asks for nvidia.com/gpumem and nvidia.com/gpumem-percentage: leave one out"
node admit team/h gpumem=1 >/dev/null
like memory_without_a_gpu_is_refused "$(in_pod team/h -- /bin/program)" "container team/h/main asks for nvidia.com/gpumem and for no nvidia.com/gpu: add"
node admit team/i gpu=3 gpumem=1 >/dev/null
like more_gpus_than_there_are_are_refused "$(in_pod team/i -- /bin/program)" "2 devices have room for the container which asks for 3; it waits"
for p in d e f g h i; do node end team/$p >/dev/null; done

# --- Restarts ---------------------------------------------------------------------------------------------
end_plugin KILL
plug
is killed_plugin_knows_its_containers "$(become gpumem "184 192")" "184 192"
is container_that_starts_again_has_the_same "$(limits team/c)" "8 20, 8 20"
like next_kubelet_has_the_plugin "$(node restart; node await_plugins)" '"gpu": \[20, 20\]'
is and_what_it_has_given_out "$(memory team/a)" "$((32 << 20))"
# A kubelet that has started names no pods before it knows them.
named_none() { [ "$(cat "$WORMHOLE_DIR/pods")" = "{}" ]; }
end_plugin TERM
settle=3600
plug
node restart unsynced >/dev/null
await named_none
is kubelet_that_knows_no_pods_yet_takes_nothing_back "$(devices_of a) $(devices_of c)" "5 5 6"
node sync >/dev/null
end_plugin TERM
settle=0
plug
rm -rf "$tmp/sync"
mkdir -m 777 "$tmp/sync"
in_pod team/a --volume "$tmp/sync:/sync" -- /bin/sh -c '>/sync/up
until [ -e /sync/go ]; do busybox sleep 0.1; done; /bin/client info' >"$tmp/said" &
container=$!
await test -e "$tmp/sync/up"
node restart unsynced >/dev/null
is one_that_never_hears_of_them_takes_back_what_does_not_run "$(await eval '[ -z "$(devices_of c)" ]'; devices_of c)" ""
touch "$tmp/sync/go"
wait $container
is and_nothing_of_what_runs "$(cut -d" " -f2 "$tmp/said")" "$((32 << 20))"
node sync >/dev/null
kill_server
is without_a_server_nothing_is_given_out "$(become gpu "0 20")" "0 20"
serve
is next_server_has_it_again "$(become gpu "20 20") $(memory team/a)" "20 20 $((32 << 20))"
node end team/a >/dev/null
node end team/c >/dev/null
is nothing_is_left_of_pods_that_are_gone "$(become gpumem "192 192"; ls /run/cdi)" "192 192"
end_plugin TERM
kill_server
WORMHOLE_SOFTGPU_MEM=17G serve
plug
await grep -q " units of " "$tmp/plugin"
like more_units_than_a_kubelet_takes_easily_are_told "$(cat "$tmp/plugin")" \
	"^wormhole: warn: 17408 units of nvidia.com/gpumem keep .*: turn its feature gates ResourceHealthStatus"
like plugin_ends_when_it_is_told "$(end_plugin TERM; ls "$tmp/kubelet/device-plugins")" "^kubelet.sock$"
kill $kubelet
finish
