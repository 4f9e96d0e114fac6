#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a claim which a kubelet has prepared is a device of podman's containers, with
# what the claim was allocated, and that restarts of the driver and the server keep it so until the
# kubelet takes it back.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
inside=${1:-}
. "$WH_TOP/tests/cdi/lib.sh"
cdi_dir=/run/cdi
. "$WH_TOP/tests/kubernetes/lib.sh"
STATE=$tmp/state
serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
drive

of() {
	of=$1
	shift
	box roots --device "wormhole/tenant=$(tenant $of)" "$@" -- /bin/client info | cut -d" " -f2
}
figure() { "$wormhole" stat "$(tenant "${2:-1}")" --json | sed -n "s/^.*\"$1\":[^0-9a-z]*\([0-9a-z]*\).*/\1/p"; }

plan 32
like driver_says_what_it_is "$(cat "$tmp/registered")" '"DRAPlugin", "name": "gpu.wormhole.invalid".*"v1.DRAPlugin"'
is its_sockets_are_roots_alone "$(find "$tmp/kubelet" -type s ! -perm 700)" ""
kubelet claim "$(uid 1)" memory=64Mi share=30 class:ceiling=none claim:priority=low
first=$(kubelet prepare "$(uid 1)")
like claim_gets_a_device "$first" "\"cdi_device_ids\": \[\"wormhole/tenant=$(tenant 1)\"\]"
like it_names_the_allocated_one "$first" '"request_names": \["gpu"\], "pool_name": "n1", "device_name": "gpu-776f726d'
like and_the_part_of_it "$first" '"share_id": "11112222-3333-4444-8555-666677778888"'
is specification_is_as_the_interface_describes "$($py "$WH_TOP/tests/cdi/schema.py" /run/cdi/*.json 2>&1)" ""
is container_has_the_claims_memory "$(of 1)" "$((64 << 20))"
like more_is_refused "$(box roots --device "wormhole/tenant=$(tenant 1)" -- /bin/client "alloc=$((65 << 20))")" "CUDA_ERROR_OUT_OF_MEMORY"
like program_runs_in_it "$(box roots --device "wormhole/tenant=$(tenant 1)" -- /bin/program)" "vectorAdd: PASS"
is tenant_has_the_share_ceiling_and_class "$(figure sm_percent) $(figure sm_max_percent) $(figure priority)" "30 100 low"
is prepared_again_the_answer_is_the_same "$(kubelet prepare "$(uid 1)")" "$first"

# --- Restarts, with a container that runs meanwhile ----------------------------------------------------
mkdir "$tmp/sync"
box roots --device "wormhole/tenant=$(tenant 1)" --volume "$tmp/sync:/sync" -- /bin/sh -c \
	'mkfifo /tmp/in; /bin/client alloc=1048576 ready wait alloc=1048576 </tmp/in & exec >/tmp/in; >/sync/up
	until [ -e /sync/go ]; do busybox sleep 0.1; done; exec >/dev/null; wait' >"$tmp/long" 2>&1 &
long=$!
await test -e "$tmp/sync/up"
await grep -q ready "$tmp/long"
end_driver KILL
drive
is killed_driver_answers_the_same_when_it_is_back "$(kubelet prepare "$(uid 1)")" "$first"
touch "$tmp/away"
is so_it_does_without_an_api_server "$(kubelet prepare "$(uid 1)")" "$first"
rm "$tmp/away"
touch "$tmp/sync/go"
wait $long
is program_that_ran_meanwhile_goes_on "$(tr '\n' ' ' <"$tmp/long")" "ok ready ok "
kill_server
serve
await test -e "/run/cdi/wormhole-$(tenant 1).json"
is next_server_has_the_claim_without_a_call "$(of 1)" "$((64 << 20))"
is with_its_share_ceiling_and_class "$(figure sm_percent) $(figure sm_max_percent) $(figure priority)" "30 100 low"

# --- Users and several at once -------------------------------------------------------------------------
kubelet claim "$(uid 2)" memory=32Mi share=20 claim:user=$uid
kubelet claim "$(uid 3)" memory=1Gi share=20
both=$(kubelet prepare "$(uid 2)" "$(uid 3)")
like of_two_claims_one_may_fail "$both" "^$(uid 3) {\"error\": \"memory '1Gi' is no whole number from 1 to 536870912\"}"
like without_the_other "$both" "^$(uid 2) {\"devices\""
is claims_user_may_connect "$(of 2 --user $uid)" "$((32 << 20))"
like another_may_not "$(box roots --device "wormhole/tenant=$(tenant 2)" --user 5 -- /bin/program)" "no CUDA-capable device"

kubelet claim "$(uid 4)" share=50 claim:policy=spatial
like claim_may_have_groups_of_sms "$(kubelet prepare "$(uid 4)")" '"devices"'
is as_many_as_its_share_is "$(figure sm_policy 4) $(figure sm_groups 4)" "spatial 1"
kubelet claim "$(uid 5)" share=10 class:ceiling=none claim:policy=spatial
like what_the_server_refuses_is_told_in_its_words "$(kubelet prepare "$(uid 5)")" "$(uid 5) {\"error\": \"the Wormhole server refused 'create': .*ceiling"
like and_is_no_prepared_claim "$(grep -A 99 "$(uid 5)" "$kept")" '"done": false'

# --- Back ------------------------------------------------------------------------------------------------
is taken_back_it_is_answered_without_an_error "$(kubelet unprepare "$(uid 1)" "$(uid 3)")" "$(uid 1) {}
$(uid 3) {}"
is its_tenant_is_gone "$("$wormhole" tenant list | grep -c "$(tenant 1)")" 0
like containers_cannot_name_it "$(box roots --device "wormhole/tenant=$(tenant 1)" -- /bin/program)" "unresolvable CDI devices"
is taken_back_again_it_is_the_same "$(kubelet unprepare "$(uid 1)")" "$(uid 1) {}"
is others_are_as_they_were "$(kubelet prepare "$(uid 2)") $(of 2 --user $uid)" "$(kubelet prepare "$(uid 2)") $((32 << 20))"

# --- A file that cannot be written -------------------------------------------------------------------------
mkdir "$kept.new"
like what_cannot_be_kept_is_an_error "$(kubelet unprepare "$(uid 2)")" "Is a directory.*claims.json.new"
rmdir "$kept.new"
is and_is_done_by_the_next_call "$(kubelet unprepare "$(uid 2)")" "$(uid 2) {}"
end_driver KILL
drive
kubelet unprepare "$(uid 4)" >/dev/null
is for_good "$("$wormhole" tenant list | grep -c claim-)" 0
end_driver TERM
kill $cluster
finish
