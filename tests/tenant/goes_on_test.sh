#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a server which follows one that was killed goes on with all programs, also
# where it could not be started anew: its driver is away, or a folder of it is spoilt.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

log() { cat "$WORMHOLE_DIR/server.log"; }
told() { log | grep -q -e "$1"; }
run() { "$wormhole" run --tenant stays -- "$client" "$@" 2>/dev/null; }

plan 17
mkdir "$tmp/driver"
cp -L "$WH_BUILD/softgpu/libcuda.so.1" "$tmp/driver/"
STATE=$tmp/state serve --backend "$tmp/driver/libcuda.so.1"
m=$(monitor)
"$wormhole" tenant create stays --mem 64M
start a --tenant stays -- alloc=4096 ready line alloc=4096 ready line alloc=4096 ready line alloc=4096 ready line alloc=4096
limits=$(field stays "d['memory_limit'], d['memory_total'] if 'memory_total' in d else 0")

# An upgrade takes the driver away for a moment.
mv "$tmp/driver" "$tmp/away"
ok a_server_goes_on_while_its_driver_is_away kill_alone
like and_says_so "$(log)" "warn: .*; devices are taken to be as they were"
is limits_are_as_they_were "$(field stays "d['memory_limit'], d['memory_total'] if 'memory_total' in d else 0")" "$limits"
next a
is its_program_computes_on "$(said a)" "ok ok "
mv "$tmp/away" "$tmp/driver"
is programs_start_again_when_the_driver_is_back "$(run alloc=4096)" ok

# What only readers need cannot be written, as on a full disk.
rm "$WORMHOLE_DIR/libraries"
mkdir "$WORMHOLE_DIR/libraries"
ok a_server_goes_on_that_cannot_write_its_notes kill_alone
next a
is and_so_does_its_program "$(said a)" "ok ok ok "
rmdir "$WORMHOLE_DIR/libraries"

chmod g+w "$tmp/state"
ok a_server_goes_on_that_must_not_use_its_state kill_alone
like but_keeps_no_tenant_there_meanwhile "$("$wormhole" tenant create other --mem 1M 2>&1)" "$tmp/state: mode 0720 lets others write there"
chmod g-w "$tmp/state"
is until_that_is_mended "$("$wormhole" tenant create other --mem 1M 2>&1; echo $?)" 0

# What it cannot do without may be there in a moment.
chmod 733 "$WORMHOLE_DIR/tenants"
was=$(server)
kill -KILL "$was"
ok one_that_cannot_go_on_says_why await told "tenants: mode 0733 lets others write there"
chmod 711 "$WORMHOLE_DIR/tenants"
ok and_the_next_one_does await killed "$was"
await "$wormhole" tenant list
next a
is programs_do_not_notice "$(said a)" "ok ok ok ok "

# Somebody has removed a tenant's file.
rm "$WORMHOLE_DIR/tenants/stays.limits"
ok a_server_goes_on_without_the_name_of_a_tenants_file kill_alone
next a
is and_so_does_the_tenants_program "$(said a)" "ok ok ok ok ok "
finish_client a

chmod 733 "$WORMHOLE_DIR/tenants"
kill -KILL "$(server)"
ok if_none_can_all_end await gone "$m"
like and_the_log_says_that "$(log | tail -n 1)" "no server could go on within 10 s; all programs end"
finish
