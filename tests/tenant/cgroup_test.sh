#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises a cgroup for each tenant's workers: memory, threads, equal weights.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

here=$("$WH_BUILD/server/wormhole-server" --protection 2>/dev/null)
if [ "$(echo "$here" | grep -c -E '^(memory|processes|cpu) on')" != 3 ]; then
	plan 1
	skip cgroups_of_tenants "$(echo "$here" | sed -n 's/^memory off/no cgroup is writable:/p')"
	finish
fi
# group KIND TENANT prints the tenant's cgroup folder for memory, processes or cpu.
group() { echo "$(sed -n "s/^$1 on //p" "$WORMHOLE_DIR/protection")/t-$2"; }
memory_limit() {
	cat "$(group memory "$1")/memory.max" 2>/dev/null || cat "$(group memory "$1")/memory.limit_in_bytes"
}
weight() { cat "$(group cpu "$1")/cpu.weight" 2>/dev/null || cat "$(group cpu "$1")/cpu.shares"; }
G=1073741824

plan 15
serve
"$wormhole" tenant create a --host-mem 64M
"$wormhole" tenant create b
start one --tenant a -- alloc=4096
w=$(workers)
for k in memory processes cpu; do
	ok "worker_is_in_its_tenants_group_for_$k" grep -q -x "$w" "$(group $k a)/cgroup.procs"
done
ok number_of_threads_is_bounded test "$(cat "$(group processes a)/pids.max")" -le 4096
is tenants_have_equal_weights "$(weight a)" "$(weight b)"
before=$(memory_limit a)
start two --tenant a -- alloc=4096
ok second_worker_gets_memory_of_its_own test "$(memory_limit a)" -gt "$before"
finish_client two
await eval '[ "$(memory_limit a)" = "$before" ]'
is and_takes_it_along "$(memory_limit a)" "$before"
finish_client one
# The empty cgroups are removed, as systemd does for a service when it reads its units anew.
limit=$(memory_limit b)
for k in memory processes cpu; do
	rmdir "$(group $k b)" 2>/dev/null
done
start late --tenant b -- alloc=4096
ok group_that_was_removed_is_made_again grep -q -x "$(workers)" "$(group memory b)/cgroup.procs"
await eval '[ "$(memory_limit b)" = "$limit" ]'
is and_its_memory_is_bounded_as_before "$(memory_limit b)" "$limit"
finish_client late

# While a tenant is suspended, its workers hold in the host's memory what they had on devices. What
# that is they say themselves, and more than their quota is not believed.
"$wormhole" tenant create liar --mem 8M --host-mem 64M
start lies --tenant liar -- alloc=4194304
running=$(memory_limit liar)
"$wormhole" limit liar --mem 2M
"$WH_BUILD/tests/attack/bin/lie" "$WORMHOLE_DIR/tenants/liar.usage" "counted=$(workers)"
"$wormhole" suspend liar 2>/dev/null
more=$(($(memory_limit liar) - running))
ok a_suspended_tenant_has_room_for_what_it_had test $more -ge $((4 << 20))
ok and_for_no_more_than_it_was_given test $more -le $((8 << 20))
kill_alone
is so_it_is_after_a_kill_of_the_server $(($(memory_limit liar) - running)) $more
"$wormhole" tenant delete liar --force
finish_client lies 2>/dev/null
base=$(sed -n 's/^memory on //p' "$WORMHOLE_DIR/protection")
"$wormhole" stop
is nothing_of_them_stays_behind "$(find "$base" 2>/dev/null | wc -l)" 0

# A worker takes more than its cgroup allows, beside another worker. The limit is made small by
# hand, because nobody wants to fill a machine for this.
INTRUDER_EAT=$G "$wormhole" serve --backend "$WH_BUILD/tests/attack/bin/intruder.so" --libraries "$WH_BUILD/softgpu" --nvml none \
	--daemon --part-size 16M >"$tmp/serve" 2>&1
start greedy --tenant greedy --mem 1G -- alloc=4096 ready line alloc=3751 ready
start other --tenant other --mem 1G -- alloc=4096 ready line alloc=4096 ready
small=memory.max
[ -e "$(group memory greedy)/$small" ] || small=memory.limit_in_bytes
echo $((128 << 20)) >"$(group memory greedy)/$small"
next greedy
is worker_that_eats_memory_dies "$(said greedy)" "ok CUDA_ERROR_DEVICE_UNAVAILABLE "
next other
is and_nobody_with_it "$(said other)" "ok ok "
finish_client greedy
finish_client other
finish
