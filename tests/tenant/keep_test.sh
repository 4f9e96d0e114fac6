#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that tenants outlive their server, however it ends: those of the
# administrator's files, those that were made at run time, and what their shares owe.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

STATE=$tmp/state/wormhole
conf=$tmp/tenants.d
kept=$STATE/tenants.d
mkdir -m 755 "$conf"
serve_kept() { serve --tenants "$conf" "$@"; }
again() {
	"$wormhole" stop
	serve_kept
}
tenants() { "$wormhole" tenant list | sed -n '2,$s/ .*//p' | sort | tr '\n' ' '; }
life() { "$wormhole" tenant list | sed -n "s/^$1  *[^ ]*  *//p"; }
limits() { field "$1" "d['memory_limit'], d['sm_percent'], d['sm_policy'], d['sm_groups']"; }
said() { cat "$tmp/serve"; }

plan 51
serve_kept
ok a_server_without_tenants_makes_no_folder [ ! -e "$STATE" ]
"$wormhole" tenant create team --mem 64M --sm 10 --max-kernel 700ms
"$wormhole" tenant create gone
"$wormhole" tenant delete gone
"$wormhole" limit team --mem 96M
control '{"op":"create","tenant":"job"}' >/dev/null
is the_list_says_how_long_they_stay "$(life team); $(life job); $(life default)" "until deleted; with the server; with the server"
again
is a_tenant_is_there_again_after_a_stop "$(tenants)" "default team "
is with_limits_as_they_were_changed "$(limits team)" "(100663296, 10, 'temporal', 0)"
is and_the_next_server_says_so "$(said | grep -c "$kept: 1 tenants made, 0 left out")" 1
is it_serves_on "$("$wormhole" run --tenant team -- "$client" alloc=4096)" ok
"$wormhole" tenant create half --mem 50%
half=$(field half "d['memory_limit']")
again
is a_percentage_of_the_device_is_kept "$(field half "d['memory_limit']")" "$half"
"$wormhole" tenant delete half
# A request may say both, as one does whose share says the one and whose container the other.
bytes=$((half + 1048576))
control "{\"op\":\"create\",\"tenant\":\"two\",\"keep\":true,\"limits\":[{\"memory\":$bytes,\"memory_percent\":50}]}" >/dev/null
again
is of_bytes_and_a_percentage_the_lesser_is_kept "$(field two "d['memory_limit']")" "$half"
like and_both_are_said "$("$wormhole" tenant export two)" "^mem = [0-9]*[KM]/50%$"
"$wormhole" limit two --mem 8M
again
is what_is_said_later_replaces_both "$(field two "d['memory_limit']")" 8388608
"$wormhole" tenant delete two
"$wormhole" tenant create killed --sm 40 --sm-policy spatial
start a --tenant passing --mem 64M -- alloc=4096
kill_server
serve_kept
is after_a_kill_those_that_stay_are_there_again "$(tenants)" "default killed team "
is with_their_groups_of_sms "$(limits killed)" "(0, 40, 'spatial', 1)"
finish_client a
is nobody_else_may_read_or_write_the_folder "$(stat -c %a "$STATE" "$kept" "$kept/team.conf" | tr '\n' ' ')" "700 700 600 "
"$wormhole" tenant delete killed
again
is what_was_deleted_stays_away "$(tenants)" "default team "
like two_servers_never_keep_in_one_folder "$(WORMHOLE_DIR=$tmp/other timeout 20 "$wormhole" serve --backend softgpu --state "$STATE" 2>&1)" \
	"$STATE: another server keeps its tenants there"

if [ "$(id -u)" = 0 ]; then
	"$wormhole" tenant create theirs --user nobody
	again
	is the_user_is_kept "$("$wormhole" tenant list | sed -n 's/^theirs  *\([^ ]*\) .*/\1/p')" nobody
	is and_his_socket_is_his "$(stat -c %u "$WORMHOLE_DIR/tenants/theirs.sock")" "$(id -u nobody)"
	"$wormhole" tenant delete theirs
else
	skip the_user_is_kept "needs root"
	skip and_his_socket_is_his "needs root"
fi

# --- Credit and debt of shares -----------------------------------------------------------

shares=$STATE/shares
throttled() { field team "d['throttled_ns']"; }
# owes AGO says that the tenant owed 200 ms of the device, so many seconds ago.
owes() {
	"$wormhole" stop
	sed -i "1s/[0-9]*\$/$(($(date +%s%N) - $1 * 1000000000))/;s/^\(team .*\) .*/\1 -200000000/" "$shares"
	serve_kept
	"$wormhole" run --tenant team -- "$client" launch=1
}
"$wormhole" run --tenant team -- "$client" launch=8 >/dev/null
ok what_a_share_has_used_is_written_now_and_then await grep -q "^team .* -*[0-9][0-9]*\$" "$shares"
is who_owes_time_is_served "$(owes 0)" ok
# The start of a server and of a program pays, too, which on a busy machine is most of it.
waits() { [ "$(throttled)" -gt 1000000000 ] || { owes 0 >/dev/null; false; }; }
ok when_the_debt_is_paid tries 5 waits
owes 60 >/dev/null
ok time_without_a_server_pays_it_too [ "$(throttled)" -lt 500000000 ]
"$wormhole" stop
echo "team GPU x" >>"$shares"
serve_kept
like a_bad_line_is_named "$(said)" "shares:[0-9]*: not a line of this server's"

# --- What cannot be kept ---------------------------------------------------------------

before=$(tenants)
mkdir "$kept/.new.conf.new"
like a_tenant_that_cannot_be_kept_is_not_made "$("$wormhole" tenant create new 2>&1)" "new.conf: "
is and_is_not_there "$(tenants)" "$before"
rm "$kept/team.conf"
mkdir "$kept/team.conf"
like a_change_that_cannot_be_kept_says_so "$("$wormhole" limit team --mem 80M 2>&1)" \
	"warn: this holds until the server ends, since it cannot be kept: .*team.conf: "
is but_is_made "$(limits team)" "(83886080, 10, 'temporal', 0)"
"$wormhole" stop
rm -rf "$STATE"

# --- The administrator's files ----------------------------------------------------------

cat >"$conf/lab.conf" <<'END'
# Two tenants of the laboratory.
[alice]
mem = 64M
sm = 30

[bob]
mem = 32M
END
serve_kept
is tenants_of_a_file_are_there "$(tenants)" "alice bob default "
is with_their_limits "$(limits alice)" "(67108864, 30, 'temporal', 0)"
is the_list_names_the_file "$(life bob)" "$conf/lab.conf"
like limit_says_that_the_file_comes_back "$("$wormhole" limit bob --mem 48M 2>&1)" \
	"warn: this holds until the server ends; then $conf/lab.conf says what tenant bob has"
like deleting_names_the_file "$("$wormhole" tenant delete bob 2>&1)" "tenant bob stands in $conf/lab.conf, .*take it out of there first"
ok and_leaves_it_there [ "$(tenants)" = "alice bob default " ]
sed -i '/bob/,$d' "$conf/lab.conf"
ok out_of_the_file_it_can_be_deleted "$wormhole" tenant delete bob
again
is and_stays_away "$(tenants)" "alice default "
"$wormhole" tenant create late --mem 1M
printf '[late]\nmem = 2M\n' >"$conf/late.conf"
again
is what_stands_in_both_is_the_administrators "$(limits late)" "(2097152, 100, 'none', 0)"
like and_the_server_says_so "$(said)" "late.conf:2: tenant late is not made: tenant late stands in $conf/late.conf already"

# --- Files that are not good --------------------------------------------------------------

"$wormhole" tenant create far --mem 1M
printf '[bad]\nmem = 1X\n' >"$conf/a.conf"
ln -s lab.conf "$conf/b.conf"
printf '[open]\n' >"$conf/c.conf"
chmod 666 "$conf/c.conf"
head -c 300000 /dev/zero | tr '\0' '#' >"$conf/d.conf"
head -c 2000 /dev/urandom >"$conf/e.conf"
mkfifo "$conf/f.conf"
printf '[far]\ndevices = 9\n[nobodys]\nuser = nobody-of-that-name\n[near]\n' >"$conf/g.conf"
printf 'no file of tenants\n' >"$conf/README"
check=$("$wormhole" tenant check "$conf" 2>&1)
again
like a_bad_value_is_named "$(said)" "error: $conf/a.conf:2: mem: '1X' is not a size .*; no tenant of this file is made"
like a_link_is_refused "$(said)" "$conf/b.conf: a symbolic link"
like so_is_a_file_that_others_may_write "$(said)" "$conf/c.conf: mode 0666 lets others write to it; chmod go-w"
like one_that_is_too_long "$(said)" "$conf/d.conf: has 300000 bytes; a file has at most 262144"
like one_that_is_no_text "$(said)" "$conf/e.conf:[0-9]*: "
like and_a_pipe "$(said)" "$conf/f.conf: no ordinary file"
like a_device_that_is_not_there_is_named "$(said)" "$conf/g.conf:1: tenant far is not made: devices: "
like and_the_one_of_that_name_that_was_kept_does_not_come_instead "$(said)" \
	"far.conf:[0-9]*: tenant far is not made: it stands in $conf/g.conf"
like a_user_that_is_not_there_too "$(said)" "$conf/g.conf:3: tenant nobodys is not made: .*'nobody-of-that-name'"
is all_others_are_there "$(tenants)" "alice default late near "
is check_finds_the_same_without_a_server "$(echo "$check" | grep -c "^wormhole: error: $conf/[a-g].conf")" 7
rm "$conf"/[a-g].conf
chmod 777 "$conf"
"$wormhole" stop
like a_folder_that_others_may_write_to_is_refused "$(timeout 20 "$wormhole" serve --backend softgpu --tenants "$conf" 2>&1)" \
	"$conf: mode 0777 lets others write there; chmod go-w, or give another folder by --tenants"
chmod 755 "$conf"
rm "$conf"/*
rm -rf "$STATE"

# --- Export and import ---------------------------------------------------------------------

serve_kept
"$wormhole" tenant create one --mem 1G --sm 20 --sm-policy both --host-mem 100M --devices 0 --device 0:mem=512M
"$wormhole" tenant create two --max-kernel none --no-nccl
"$wormhole" tenant export >"$tmp/all"
"$wormhole" tenant delete one
"$wormhole" tenant delete two
ok an_export_can_be_imported "$wormhole" tenant import "$tmp/all"
is and_exported_again_as_the_same "$("$wormhole" tenant export)" "$(cat "$tmp/all")"
again
is and_is_kept "$("$wormhole" tenant export)" "$(cat "$tmp/all")"
finish
