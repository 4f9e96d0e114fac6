#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a server becomes the program that is installed now and keeps all that it
# has: its tenants with their limits, accounts and keepers, and the programs that compute meanwhile.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

# The installed program is a copy, which an upgrade replaces. It has its backend by a full path.
# What it keeps for the next server stands beside its folder, which has nothing when it has ended.
mkdir "$tmp/bin"
kept=$tmp/state/tenants.d
cp "$WH_BUILD/server/wormhole-server" "$tmp/bin/"
serve() {
	"$tmp/bin/wormhole-server" --backend "$WH_BUILD/softgpu/libcuda.so.1" --dir "$WORMHOLE_DIR" \
		--state "$tmp/state" --part-size 16M --daemon "$@" >"$tmp/serve" 2>&1
}
install() { cp "$1" "$tmp/bin/new" && mv "$tmp/bin/new" "$tmp/bin/wormhole-server"; }
reload() { "$wormhole" reload 2>&1; }
program_of_server() { stat -Lc %i "/proc/$(server)/exe"; }

plan 31
serve
"$wormhole" tenant create stays --mem 64M --sm 30
"$wormhole" limit stays --mem 48M --host-mem 128M
sed '/^#/d' "$kept/stays.conf" >"$tmp/stays.conf"
start a --tenant stays -- alloc=4194304 ready line alloc=4096
start b --mem 32M -- alloc=4096 ready line alloc=4096
start c -- alloc=4096 ready line alloc=4096 ready line alloc=4096
m=$(monitor)
w=$(field stays "t['workers'][0]['pid']")
own=$("$wormhole" tenant list --json | sed -n 's/.*"\(run[0-9]*\)".*/\1/p' | head -n 1)

files_of_worker=$(files_of "$w")
of_server=$(files_of_server "$m")
install "$WH_BUILD/server/wormhole-server"
i=$(stat -c %i "$tmp/bin/wormhole-server")
is reload_succeeds "$(reload; echo $?)" 0
is the_monitor_is_the_same_process "$(monitor)" "$m"
is and_runs_the_program_that_was_installed "$(program_of_server)" "$i"
is workers_live_on "$(field stays "t['workers'][0]['pid']")" "$w"
is with_what_they_are_charged_for "$(field stays "d['memory'] >= 4194304")" True
is limits_are_as_they_were "$(field stays "d['memory_limit'], d['sm_percent'], t['host_memory_limit']")" \
	"(50331648, 30, 134217728)"
is the_server_has_open_what_it_had "$(await server_has "$m" "$of_server"; files_of_server "$m")" "$of_server"
next a
is a_program_computes_on "$(said a)" "ok ok "
next b
is so_does_one_with_a_tenant_of_its_own "$(said b)" "ok ok "
next c
is and_one_of_the_default_tenant "$(said c)" "ok ok "
is limits_hold_on "$("$wormhole" run --tenant stays -- "$client" alloc=47000000 2>/dev/null)" CUDA_ERROR_OUT_OF_MEMORY
is new_programs_are_served "$("$wormhole" run --tenant stays -- "$client" alloc=4096 2>/dev/null)" ok
is limits_can_be_changed "$("$wormhole" limit stays --mem 60M 2>&1; field stays "d['memory_limit']")" 62914560
is and_are_kept_with_those_from_before "$(sed '/^#/d' "$kept/stays.conf")" "$(sed 's/^mem = .*/mem = 60M/' "$tmp/stays.conf")"
finish_client b
ok a_tenant_goes_with_its_keeper await eval "! '$wormhole' stat '$own' >/dev/null 2>&1"

# Its log and its protections are the same.
kill -KILL "$w"
ok workers_are_reaped_as_ever await grep -q "tenant stays: worker $w killed by signal 9" "$WORMHOLE_DIR/server.log"
finish_client a
start d --tenant stays -- alloc=4096
is a_new_worker_has_open_what_one_had_before "$(files_of "$(field stays "t['workers'][0]['pid']")")" "$files_of_worker"
is stop_refuses_as_ever "$("$wormhole" stop >/dev/null 2>&1; echo $?)" 1

# One of a later release may know less options than this server has.
cat >"$tmp/bin/other" <<'END'
#!/bin/sh
for word; do [ "$word" != --part-size ] || exit 2; done
END
chmod 755 "$tmp/bin/other"
install "$tmp/bin/other"
like a_program_that_does_not_know_the_options_is_refused "$(reload)" "does not know its options or cannot be run; the server goes on"
install "$WH_BUILD/server/wormhole-server"
is and_the_server_goes_on "$("$wormhole" run --tenant stays -- "$client" alloc=4096 2>/dev/null)" ok

# Again and again, while programs start and end.
for n in 1 2 3 4 5 6; do
	"$wormhole" run --mem 16M -- "$client" alloc=4096 launch=50 wait </dev/null >"$tmp/run.$n" 2>"$tmp/run.err.$n" &
	eval "run_$n=$!"
	reload >"$tmp/reload.$n"
done
for n in 1 2 3 4 5 6; do eval "wait \$run_$n"; done
is programs_that_start_meanwhile_are_served "$(cat "$tmp"/run.[1-6] | sort | uniq -c | tr -s ' ')" " 12 ok"
is and_all_of_these_reloads_succeed "$(cat "$tmp"/reload.[1-6])" ""

# A program that cannot go on is not begun.
cp /bin/true "$tmp/true"
printf '#!/bin/sh\nexit 2\n' >"$tmp/old" && chmod 755 "$tmp/old"
install "$tmp/old"
like a_program_that_does_not_know_the_state_is_refused "$(reload)" \
	"wormhole-server cannot go on where this server is.*wormhole stop --when-idle"
rm "$tmp/bin/wormhole-server"
like one_that_is_not_there_is_too "$(reload)" "cannot go on where this server is"
install "$tmp/true"
truncate -s 100 "$tmp/bin/wormhole-server"
like one_that_cannot_be_run_is_too "$(reload)" "cannot go on where this server is"
s=$(server)
is the_server_goes_on_as_it_was "$(server) $("$wormhole" run --tenant stays -- "$client" alloc=4096 2>/dev/null)" "$s ok"
next c
is and_so_do_its_programs "$(said c)" "ok ok ok "
install "$WH_BUILD/server/wormhole-server"
is and_it_can_go_on_later "$(reload; echo $?)" 0
"$wormhole" drain >/dev/null
reload
like a_server_that_drains_drains_on "$(WORMHOLE_LOG=1 "$wormhole" run --tenant stays -- "$client" 2>&1)" "takes no new programs"
finish_client c
is at_its_end_it_leaves_nothing "$("$wormhole" stop --force; find "$WORMHOLE_DIR" ! -name 'server.lo*' ! -path "$WORMHOLE_DIR")" ""
is but_the_tenant_that_is_kept "$(cd "$tmp/state" && find . -type f ! -name shares)" ./tenants.d/stays.conf
finish
