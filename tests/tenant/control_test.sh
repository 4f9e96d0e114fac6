#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises who may control the server, who may be which tenant, and what becomes of bad
# requests.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# as_nobody COMMAND... runs it as a user without a name and without any rights.
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
mode() { stat -c '%a %u' "$WORMHOLE_DIR/$1"; }

plan 37
serve --mem 64M
"$wormhole" tenant create mine --mem 1G
if [ "$(id -u)" = 0 ]; then
	"$wormhole" tenant create theirs --user nobody --mem 1G
	is control_socket_is_the_servers "$(mode control.sock)" "600 0"
	is socket_of_a_tenant_is_its_users "$(mode tenants/theirs.sock)" "600 65534"
	is limits_file_is_the_servers "$(mode tenants/theirs.limits)" "600 0"
	like other_user_cannot_control "$(as_nobody "$wormhole" tenant list 2>&1)" "only root and the server's user"
	like other_user_cannot_make_a_tenant "$(as_nobody "$wormhole" run --mem 1G -- true 2>&1)" \
		"only root and the server's user"
	# Even where the file's mode would let the user in, the server learns from the kernel who it
	# is.
	chmod 666 "$WORMHOLE_DIR/control.sock"
	like other_user_is_not_heard "$(as_nobody "$wormhole" tenant list 2>&1)" "only root and its user may control it"
	chmod 600 "$WORMHOLE_DIR/control.sock"
	is other_user_cannot_be_another_tenant \
		"$(as_nobody "$wormhole" run --tenant mine -- true >/dev/null 2>&1; echo $?)" 1
	like and_is_told_what_to_ask_for "$(as_nobody "$wormhole" run --tenant mine -- true 2>&1)" \
		"no tenant 'mine' at .* that you may use; ask who runs.*tenant create mine --user nobody"
	is other_user_cannot_be_default "$(as_nobody "$wormhole" run -- true >/dev/null 2>&1; echo $?)" 1
	if as_nobody test -x "$client"; then
		is tenants_user_can_be_it "$(as_nobody "$wormhole" run --tenant theirs -- "$client" alloc=4096 2>&1)" ok
		is socket_by_hand_is_refused_too "$(as_nobody env WORMHOLE_TRANSPORT=shm \
			WORMHOLE_SOCKET="$WORMHOLE_DIR/tenants/mine.sock" LD_LIBRARY_PATH="$WH_BUILD/client-stubs" \
			"$client" 2>/dev/null)" CUDA_ERROR_NO_DEVICE
		is run_as_another_user "$("$wormhole" run --user nobody --mem 1G -- sh -c "id -u; $client alloc=4096" |
			tr '\n' ' ')" "65534 ok "
	else
		for p in tenants_user_can_be_it socket_by_hand_is_refused_too run_as_another_user; do
			skip $p "needs a build folder that others may read"
		done
	fi
	is other_user_cannot_look_at_tenants "$(as_nobody "$wormhole" stat mine 2>&1)" \
		"wormhole: error: tenant mine: only root and the server's user may look at it"
else
	for p in control_socket_is_the_servers socket_of_a_tenant_is_its_users limits_file_is_the_servers \
		other_user_cannot_control other_user_cannot_make_a_tenant other_user_is_not_heard \
		other_user_cannot_be_another_tenant and_is_told_what_to_ask_for other_user_cannot_be_default tenants_user_can_be_it \
		socket_by_hand_is_refused_too run_as_another_user other_user_cannot_look_at_tenants; do
		skip $p "needs root"
	done
fi

# Workers run as users of their own, and the files that control others are closed to them.
"$wormhole" stop
if [ "$(id -u)" = 0 ] && setpriv --reuid 30000 --clear-groups test -r "$WH_BUILD/softgpu/libcuda.so.1"; then
	serve --worker-uid 30000
	start a --tenant a --mem 64M -- alloc=4096
	start b --tenant b --mem 64M -- alloc=4096
	is each_worker_is_a_user_of_its_own "$(for w in $(workers); do stat -c %u "/proc/$w"; done |
		sort -u | grep -c '^30[0-9]*$')" 2
	is it_has_no_privileges "$(for w in $(workers); do
		grep -E '^(CapEff|NoNewPrivs)' "/proc/$w/status"; done | sort -u | tr '\n\t' '  ')" \
		"CapEff: 0000000000000000 NoNewPrivs: 1 "
	w=$(field a "t['workers'][0]['pid']")
	is it_cannot_open_its_limits "$(setpriv --reuid "$(stat -c %u "/proc/$w")" --clear-groups \
		test -r "$WORMHOLE_DIR/tenants/a.limits"; echo $?)" 1
	finish_client a
	finish_client b
	"$wormhole" stop
else
	for p in each_worker_is_a_user_of_its_own it_has_no_privileges it_cannot_open_its_limits; do
		skip $p "needs root and a build folder that others may read"
	done
fi
serve --mem 64M
"$wormhole" tenant create mine --mem 1G

like bad_name_is_named "$("$wormhole" tenant create ../x 2>&1)" "'../x' is no name for a tenant"
like name_that_is_taken_is_refused "$("$wormhole" tenant create mine 2>&1)" "tenant mine is there already"
like unknown_tenant_is_named "$("$wormhole" limit nobody --mem 1G 2>&1)" "no tenant 'nobody'"
like unknown_device_is_named "$("$wormhole" limit mine --device 3:mem=1G 2>&1)" "device 3: "
like bad_size_is_named "$("$wormhole" run --mem 2X -- true 2>&1)" "'2X' is not a size"
like bad_share_is_named "$("$wormhole" run --sm 0 -- true 2>&1)" "'0' is not a percentage"
like bad_policy_is_named "$("$wormhole" run --sm-policy fair -- true 2>&1)" "'fair' is neither"
like bad_device_is_named "$("$wormhole" limit mine --device 0:colour=red 2>&1)" "'colour' is none of"
is refused_change_changes_nothing "$(field mine "d['memory_limit'], d['sm_percent']")" "(1073741824, 100)"

is server_says_what_devices_there_are "$(control '{"op":"info"}' |
	/usr/bin/python3 -c 'import json,sys; d=json.load(sys.stdin)["devices"]
print(len(d), d[0]["name"], d[0]["sms"], d[0]["sm_groups"], d[0]["sm_group_size"])')" "1 Wormhole softgpu 16 2 8"
like unknown_request_is_answered "$(control '[]' '{"op":7}' '{"op":"lst"}' '{}' | sort -u | tr '\n' ' ')" \
	"^{\"ok\":false,\"error\":\"op: no request ''; there are info, create.*no request 'lst'; there are"
is nothing_came_of_what_was_refused "$("$wormhole" tenant list --json | grep -c '"tenant"') $(field mine \
	"d['memory_limit'], d['sm_percent']")" "2 (1073741824, 100)"
like only_what_ends_lives_as_long_as_a_process "$(control '{"op":"create","tenant":"long","pid":1}')" "pid: only an ephemeral"
sleep 1000 &
other=$!
control '{"op":"create","tenant":"long","ephemeral":true,"pid":'$other'}' >/dev/null
is tenant_lives_as_long_as_a_process_that_is_named "$("$wormhole" tenant list | grep -c '^long ')" 1
kill $other
ok and_no_longer await eval '! "$wormhole" tenant list | grep -q "^long "'
like keeper_of_a_tenant_is_heard_no_more "$(control '{"op":"create","tenant":"held","ephemeral":true}' \
	'{"op":"stop"}' 2>&1 | tr '\n' ' ')" '"ok":true.*held.sock"} *$'
control '{"op":"create","tenant":"job","bounded":true,"limits":[{"sm":30}]}' >/dev/null
set_job() { control '{"op":"set","tenant":"job","limits":[{'"$1"'}]}'; }
like a_bounded_tenant_gets_no_other_ceiling "$(set_job '"sm_max":100')" "job was given no such ceiling"
like nor_a_higher_class "$(set_job '"priority":"high"')" "job was given no such .* class"
is but_a_lower_one "$(set_job '"priority":"low"')$(field job "d['priority']")" '{"ok":true}low'
like a_class_is_one_of_three "$(set_job '"priority":"urgent"')" "'urgent' is neither low, normal nor high"
is server_lives_on "$("$wormhole" tenant list --json | grep -c mine)" 1
finish
