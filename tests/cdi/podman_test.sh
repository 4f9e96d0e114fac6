#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that containers of podman and crun, of root and of a user, are clients of the
# tenant that they name as a device, by the specifications of `wormhole cdi`. They see nothing of
# other tenants or of the server. The test makes the image: busybox, this machine's C library and
# two programs.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
inside=${1:-}
. "$WH_TOP/tests/cdi/lib.sh"

serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
"$wormhole" tenant create alpha --mem 64M --sm 30
"$wormhole" tenant create beta --mem 32M
"$wormhole" tenant create mine --mem 48M --user whcdi

plan 43
# --- The specification ----------------------------------------------------------------------
is each_tenant_that_stays_has_one "$("$wormhole" cdi | sort | tr '\n' ' ')" \
	"wormhole/tenant=alpha wormhole/tenant=beta wormhole/tenant=default wormhole/tenant=mine "
is it_lies_where_engines_look "$(cd /run/cdi && ls)" "$(printf 'wormhole-%s.json\n' alpha beta default mine)"
is it_is_as_the_interface_describes "$(/usr/bin/python3 "$WH_TOP/tests/cdi/schema.py" /run/cdi/*.json 2>&1)" ""
is printed_it_is_the_same "$("$wormhole" cdi --print alpha)" "$(cat /run/cdi/wormhole-alpha.json)"
like unknown_tenant_is_named "$("$wormhole" cdi gamma 2>&1)" "no tenant 'gamma'"
is nothing_is_written_for_it "$(ls /run/cdi/*gamma* 2>/dev/null)" ""

# --- root's containers -------------------------------------------------------------------------
alpha="--device wormhole/tenant=alpha"
like program_runs_in_an_unmodified_image "$(box roots $alpha -- /bin/program)" "vectorAdd: PASS"
like so_does_one_with_a_static_runtime "$(box roots $alpha -- /bin/static)" "vectorAdd: PASS"
like without_the_device_it_finds_no_cuda "$(box roots -- /bin/program)" "libcudart.so.13: cannot open"
is it_has_its_tenants_memory "$(box roots $alpha -- /bin/client info | cut -d" " -f2)" "$((64 << 20))"
is another_device_is_another_tenant "$(box roots --device wormhole/tenant=beta -- /bin/client info | cut -d" " -f2)" "$((32 << 20))"
is more_is_refused "$(box roots $alpha -- /bin/client "alloc=$((65 << 20))")" "CUDA_ERROR_OUT_OF_MEMORY"
is it_sees_its_socket_alone "$(box roots $alpha -- /bin/find / -type s)" "/run/wormhole/tenant.sock"
# JAX looks for this file.
is it_finds_the_file_that_programs_look_for "$(box roots $alpha -- /bin/ls /dev | grep nvidia)" nvidiactl
like which_opens_for_nobody "$(box roots $alpha -- /bin/sh -c 'cat /dev/nvidiactl' 2>&1)" "Permission denied"
is it_sees_no_file_of_the_server "$(box roots $alpha -- /bin/find / -xdev -name '*.limits' -o -name '*.usage' -o -name server.lock -o -name control.sock)" ""
like libraries_cannot_be_changed "$(box roots $alpha -- /bin/sh -c 'echo >/usr/lib/wormhole/client-stubs/libcuda.so.1')" "Read-only file system"
is of_two_tenants_it_gets_one "$(box roots $alpha --device wormhole/tenant=beta -- /bin/find / -type s)" "/run/wormhole/tenant.sock"
like another_user_in_it_may_not_connect "$(box roots $alpha --user 5 -- /bin/program)" "no CUDA-capable device"

# --- A share: its tenant is made when it is wanted ---------------------------------------------
is share_is_a_device "$("$wormhole" cdi --share gamma --mem 40M --sm 20)" "wormhole/share=gamma"
is it_is_as_the_interface_describes_too "$(/usr/bin/python3 "$WH_TOP/tests/cdi/schema.py" /run/cdi/wormhole-share-gamma.json 2>&1)" ""
is it_has_no_tenant_yet "$("$wormhole" tenant list | grep -c gamma)" 0
gamma="--device wormhole/share=gamma"
is a_container_that_names_it_has_the_share "$(box roots $gamma -- /bin/client info | cut -d" " -f2)" "$((40 << 20))"
like by_a_tenant_that_was_made "$("$wormhole" stat gamma)" "20%"
"$wormhole" limit gamma --mem 44M
is the_next_one_is_its_client_as_it_is_now "$(box roots $gamma -- /bin/client info | cut -d" " -f2)" "$((44 << 20))"
is it_sees_the_tenants_socket_alone "$(box roots $gamma -- /bin/find / -type s) $(box roots $gamma -- /bin/ls -A /run/wormhole)" \
	"/run/wormhole/tenant.sock tenant.sock"
"$wormhole" tenant delete gamma
for i in 1 2 3; do box roots $gamma -- /bin/client info >"$tmp/at_once.$i" & at_once="$at_once $!"; done
# shellcheck disable=SC2086
wait $at_once
is of_several_at_once_all_have_it "$(cat "$tmp"/at_once.* | cut -d" " -f2 | sort | uniq -c | tr -s ' ')" " 3 $((40 << 20))"
"$wormhole" cdi --share theirs --mem 24M --user whcdi >/dev/null
like for_a_user_root_has_to_make_it "$(box users --device wormhole/share=theirs -- /bin/program)" "error executing hook"
"$wormhole" cdi --make theirs
is and_then_it_is_there_for_him "$(box users --device wormhole/share=theirs -- /bin/client info | cut -d" " -f2)" "$((24 << 20))"
like share_without_limits_is_wrong_usage "$("$wormhole" cdi --share delta 2>&1)" "say what the share is"
like name_that_is_a_path_is_refused "$("$wormhole" cdi --share ../x --mem 1M 2>&1)" "'../x' is no name of a device"
"$wormhole" cdi --remove theirs
is removed_it_leaves_nothing "$(find /run/cdi "$WORMHOLE_DIR/shares" -name '*theirs*')" ""

# --- An image whose C library is older than ours: Debian 11's, of 2020 (6 MB from the archive) -----
suite="deb http://deb.debian.org/debian bullseye main"
mmdebstrap --quiet --variant=extract --include=libc6,libc-bin bullseye "$tmp/old" "$suite" >"$tmp/log" 2>&1 &&
	tar -C "$tmp/old" -c . >"$tmp/old.tar" && roots import "$tmp/old.tar" wormhole-old >>"$tmp/log" 2>&1
if [ $? = 0 ]; then
	like image_that_is_too_old_is_told_what_it_lacks "$(image=wormhole-old box roots $alpha -- /usr/bin/getent passwd)" \
		"^wormhole: error: the C library here, .*, is too old for .*: it has no GLIBC_2.34\."
	is and_nothing_of_the_loaders "$(image=wormhole-old box roots $alpha -- /usr/bin/getent passwd | wc -l)" 1
else
	skip image_that_is_too_old_is_told_what_it_lacks "no Debian 11 is to be had: $(tail -n 1 "$tmp/log")"
	skip and_nothing_of_the_loaders "no Debian 11 is to be had"
fi

# --- A user's containers ---------------------------------------------------------------------------
like users_container_runs_it_too "$(box users --device wormhole/tenant=mine -- /bin/program)" "vectorAdd: PASS"
is with_its_limit "$(box users --device wormhole/tenant=mine -- /bin/client info | cut -d" " -f2)" "$((48 << 20))"
like another_users_tenant_is_refused_to_it "$(box users $alpha -- /bin/program)" "no CUDA-capable device"
# shellcheck disable=SC2046
is options_do_the_same_without_a_specification "$(box users $("$wormhole" cdi --options mine) -- /bin/client info | cut -d" " -f2)" "$((48 << 20))"

# --- Its end ----------------------------------------------------------------------------------------
"$wormhole" tenant delete beta
is specification_goes_with_its_tenant "$(cd /run/cdi && ls | grep -v share)" "$(printf 'wormhole-%s.json\n' alpha default mine)"
mkdir "$tmp/sync"
box roots $gamma --volume "$tmp/sync:/sync" -- /bin/sh -c '>/sync/up
until [ -e /sync/go ]; do busybox sleep 0.1; done; /bin/client info' >"$tmp/long" &
long=$!
await test -e "$tmp/sync/up"
kill_server
serve
is share_outlives_a_server "$(box roots $gamma -- /bin/client info | cut -d" " -f2)" "$((40 << 20))"
touch "$tmp/sync/go"
wait $long
is one_that_ran_meanwhile_is_the_new_tenants_client "$(cut -d" " -f2 "$tmp/long")" "$((40 << 20))"
"$wormhole" cdi --remove gamma
is those_of_a_killed_server_go_with_the_next "$(find /run/cdi "$WORMHOLE_DIR/tenants" -name '*.json' -o -name '*.cdi')" ""
"$wormhole" cdi >/dev/null
"$wormhole" stop
is those_of_a_stopped_one_with_it "$(ls /run/cdi)" ""
finish
