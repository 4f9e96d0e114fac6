#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the driver's cache of compiled code: a folder for each tenant, which its
# workers share and nobody else reads. Nothing is left of it, however a worker fills it.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# got WHAT prints what the last worker said of it.
got() {
	grep -o "[:;] $1 [^;]*" "$WORMHOLE_DIR/server.log" | tail -n 1 | sed "s/^. $1 //"
}
start_server() {
	INTRUDER_CACHE=1 serve --backend "$WH_BUILD/tests/attack/bin/intruder.so" --libraries "$WH_BUILD/softgpu" \
		--nvml none "$@"
}
intrude() {
	start_server "$@"
	"$wormhole" tenant create a --mem 64M
	"$wormhole" tenant create b --mem 64M
}
run() { "$wormhole" run --tenant "$1" -- "$client" alloc=4096 >/dev/null 2>&1; }

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 30123 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	plan 1
	skip caches_of_tenants "needs root and a build folder that others may read"
	finish
fi
# mounts prints how many mounts of a tenant's own the server's descriptors and its workers have.
mounts() { find "/proc/$(server)/fd" -lname 'mnt:*' | wc -l; }
plan 15
intrude
run a
is first_worker_finds_an_empty_cache "$(got cache_kept)" ENOENT
is and_can_write_there "$(got cache_make)" done
run a
is next_worker_finds_what_it_wrote "$(got cache_kept)" done
run b
is other_tenants_worker_does_not "$(got cache_kept)" ENOENT
is and_sees_no_cache_but_its_own "$(got cache_others)" 0
is on_this_machine_there_is_none "$(ls -d "$(got cache_at)" 2>/dev/null)" ""
await has_workers 0
before=$(mounts)
"$wormhole" tenant delete a
is cache_goes_with_its_tenant "$(mounts)" $((before - 1))
"$wormhole" tenant create a --mem 64M
run a
is next_tenant_of_that_name_has_an_empty_one "$(got cache_kept)" ENOENT
run b
is which_is_not_that_of_others "$(got cache_kept)" done
kill_server
intrude
run b
is what_a_killed_server_had_is_gone "$(got cache_kept)" ENOENT
"$wormhole" stop >/dev/null 2>&1

mkdir "$tmp/cache"
CUDA_CACHE_PATH=$tmp/cache intrude --worker-uid none
run a
is without_users_there_is_none "$(got cache)" "off 1"
is nor_that_of_whoever_started_the_server "$(got cache_path)" none
"$wormhole" stop >/dev/null 2>&1

# In a container there are no mounts: the driver's files lie in its /dev/shm, until the tenant's
# end.
wormhole_in() { "$WH_BUILD/tests/tenant/bin/contained" "$wormhole" "$@"; }
INTRUDER_CACHE=1 wormhole_in serve --backend "$WH_BUILD/tests/attack/bin/intruder.so" --libraries "$WH_BUILD/softgpu" \
	--nvml none --daemon --part-size 16M >"$tmp/serve" 2>&1
"$wormhole" tenant create a --mem 64M
start c --tenant a -- alloc=4096
is in_a_container_there_is_none "$(got cache)" "off 1"
uid=$(stat -c %u "/proc/$(field a "t['workers'][0]['pid']")")
left=/dev/shm/wormhole-test.$$
echo left >"$left"
chown "$uid" "$left"
finish_client c
await has_workers 0
"$wormhole" tenant delete a
ok but_what_its_user_left_in_dev_shm_goes await eval '[ ! -e "$left" ]'
rm -f "$left"
# There are more tenants than numbers, one after the other.
is and_all_numbers_are_given_out_again "$(for i in $(seq 300); do
	printf '{"op":"create","tenant":"t%s"}\n{"op":"delete","tenant":"t%s"}\n' "$i" "$i"
done | (while read -r line; do set -- "$@" "$line"; done; control "$@") | grep -c '"ok":true')" 600
finish
