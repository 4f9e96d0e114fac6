#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a device of `wormhole cdi --share --hami' gives each container a tenant of
# its own, which ends with it and has the limits that HAMi's variables of the container say: less
# than the device's, never more. The containers are of podman and crun.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
inside=${1:-}
. "$WH_TOP/tests/cdi/lib.sh"

export WORMHOLE_SOFTGPU_MEM=512M,256M
serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
"$wormhole" cdi --share web --hami --mem 64M --sm 50 >"$tmp/share"
web="--device wormhole/share=web"
"$wormhole" cdi --share second --hami --devices 1 --mem 64M --sm 50 >"$tmp/share.second"

# limits OPTIONS... prints the limits of the tenant of a container with these options; of_second, those of
# a container with the other share, and on which device they are.
limits() { limits_of "$web" "$@" | cut -d' ' -f1,2; }
of_second() { limits_of "--device wormhole/share=second" "$@"; }
limits_of() {
	named=$1
	shift
	rm -rf "$tmp/sync"
	mkdir -m 777 "$tmp/sync"
	box roots $named "$@" --volume "$tmp/sync:/sync" -- /bin/sh -c '>/sync/up
until [ -e /sync/go ]; do busybox sleep 0.1; done' >"$tmp/said" &
	container=$!
	await eval "[ -e '$tmp/sync/up' ] || ! kill -0 $container"
	"$wormhole" stat --json | /usr/bin/python3 -c 'import json,sys
for t in json.load(sys.stdin):
    d = t["devices"][0]
    if t["tenant"].startswith(("web-", "second-")): print(d["memory_limit"] >> 20, d["sm_percent"], len(t["devices"]), d["device"])'
	touch "$tmp/sync/go"
	wait $container
}
tenants() { "$wormhole" tenant list | grep -c '^web'; }
none_is_left() { [ "$(tenants)" = 0 ]; }

plan 31
is share_is_a_device "$(cat "$tmp/share")" "wormhole/share=web"
is it_is_as_the_interface_describes "$(/usr/bin/python3 "$WH_TOP/tests/cdi/schema.py" /run/cdi/wormhole-share-web.json 2>&1)" ""

# --- What the variables say --------------------------------------------------------------------
like program_runs_in_an_unmodified_image "$(box roots $web -- /bin/program)" "vectorAdd: PASS"
is without_variables_it_has_the_devices_limits "$(limits)" "64 50"
is variables_say_less "$(limits --env CUDA_DEVICE_MEMORY_LIMIT=32m --env CUDA_DEVICE_SM_LIMIT=20)" "32 20"
is more_than_the_device_has_is_the_devices "$(limits --env CUDA_DEVICE_MEMORY_LIMIT=1g --env CUDA_DEVICE_SM_LIMIT=90)" "64 50"
is nothing_is_no_way_to_say_no_limit "$(limits --env CUDA_DEVICE_MEMORY_LIMIT_0=none --env CUDA_DEVICE_SM_LIMIT_0=0)" "64 50"
is hexadecimal_numbers_are_read "$(limits --env CUDA_DEVICE_MEMORY_LIMIT=0x2000000 --env CUDA_DEVICE_SM_LIMIT=0x1e)" "32 30"
is above_a_hundred_percent_is_no_limit_of_its_own "$(limits --env CUDA_DEVICE_SM_LIMIT=150)" "64 50"
is a_device_has_its_own "$(limits --env CUDA_DEVICE_MEMORY_LIMIT=16m --env CUDA_DEVICE_MEMORY_LIMIT_0=24m)" "24 50"
is a_disabled_share_is_the_devices "$(limits --env CUDA_DEVICE_SM_LIMIT=20 --env GPU_CORE_UTILIZATION_POLICY=disable)" "64 50"
is nor_can_control_be_disabled "$(limits --env CUDA_DISABLE_CONTROL=true --env CUDA_OVERSUBSCRIBE=true)" "64 50"
is container_sees_its_limit "$(box roots $web --env CUDA_DEVICE_MEMORY_LIMIT=20m -- /bin/client info | cut -d" " -f2)" "$((20 << 20))"
like what_is_no_size_is_refused "$(box roots $web --env CUDA_DEVICE_MEMORY_LIMIT=lots -- /bin/program)" "error executing hook"
like so_is_a_policy_that_nobody_knows "$(box roots $web --env GPU_CORE_UTILIZATION_POLICY=fair -- /bin/program)" "error executing hook"

# --- A share of one device of two ---------------------------------------------------------------
is share_may_have_one_device "$(of_second)" "64 50 1 1"
is its_containers_count_it_from_0 "$(of_second --env CUDA_DEVICE_MEMORY_LIMIT_0=24m --env CUDA_DEVICE_SM_LIMIT_0=20)" "24 20 1 1"
is what_is_said_of_a_device_that_they_lack_is_nothing "$(of_second --env CUDA_DEVICE_MEMORY_LIMIT_1=24m)" "64 50 1 1"
is as_they_see_it "$(box roots --device wormhole/share=second -- /bin/client info | cut -d" " -f2)" "$((64 << 20))"

# --- A tenant for each, and its end ---------------------------------------------------------------
box roots $web --volume "$tmp/sync:/sync" -- /bin/sh -c 'until [ -e /sync/end ]; do busybox sleep 0.1; done' >/dev/null &
first=$!
await eval '[ "$(tenants)" = 1 ]'
is each_container_has_its_own "$(box roots $web --env CUDA_DEVICE_MEMORY_LIMIT=8m -- /bin/client info | cut -d" " -f2)" "$((8 << 20))"
is it_sees_its_own_socket_alone "$(box roots $web -- /bin/find / -type s) $(box roots $web -- /bin/ls -A /run/wormhole)" \
	"/run/wormhole/tenant.sock tenant.sock"
ok those_that_have_ended_have_no_tenant await eval '[ "$(tenants)" = 1 ]'
touch "$tmp/sync/end"
wait $first
ok nor_has_the_last await none_is_left
is nothing_of_it_is_mounted_outside "$(grep -c 'tenant.sock\|web-' /proc/self/mountinfo)" 0
is user_of_the_image_may_connect "$(box roots $web --user 4711 -- /bin/client info | cut -d" " -f2)" "$((64 << 20))"

# --- A container that would lead the hook elsewhere -----------------------------------------------
# hook STATE runs the hook with this state of a container.
hook() { printf %s "$1" | "$wormhole" cdi --contain web 2>&1; }
like without_a_state_it_does_nothing "$(hook '')" "no state of a container"
mkdir -p "$tmp/bundle/rootfs/run/wormhole"
echo '{"root":{"path":"rootfs"},"process":{"user":{"uid":0},"env":["CUDA_DEVICE_MEMORY_LIMIT=4m"]}}' >"$tmp/bundle/config.json"
state() { echo "{\"id\":\"x\",\"pid\":$1,\"bundle\":\"$tmp/bundle\"}"; }
like nothing_is_mounted_in_the_hosts_own_namespace "$(hook "$(state $$)")" "ns/mnt: .*mounts of its own"
unshare -m sleep 1000 &
other=$!
await eval "[ \$(readlink /proc/$other/ns/mnt) != \$(readlink /proc/$$/ns/mnt) ]"
>"$tmp/bundle/rootfs/run/wormhole/tenant.sock"
like nor_over_a_file_that_is_not_the_shares "$(hook "$(state $other)")" "not the folder of the share"
chmod 666 "$tmp/bundle/config.json"
like configuration_that_others_may_write_is_refused "$(hook "$(state $other)")" "not a file that root alone may write"
chmod 644 "$tmp/bundle/config.json"
printf '{"root":{"path":"rootfs"},"process":{"env":["CUDA_DEVICE_MEMORY_LIMIT=\\u001b[2Jx"]}}' >"$tmp/bundle/config.json"
is what_a_variable_holds_cannot_reach_a_terminal "$(hook "$(state $other)" | grep -c "='?\[2Jx'")" 1
kill $other
ok a_hook_that_failed_leaves_no_tenant await none_is_left
finish
