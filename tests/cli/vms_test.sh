#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises how `top`, `metrics` and `logs` show VMs with a role, over a stand-in for the
# kernel's control device (fake_control.c).
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WORMHOLE_DIR="$tmp/nothing" FAKE_RUN="$tmp/run"
wormhole() { LD_PRELOAD=$WH_BUILD/tests/cli/fake_control.so "$WH_BUILD/host/wormhole" "$@"; }
metric() { sed -n "s/^$1 //p" "$tmp/metrics"; }

# add ID ROLE NAME notes a VM; this shell stands in for its VMM.
started=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)
add() { printf '%s %s %s %s\n' "$2" $$ "$started" "$3" >"$tmp/run/$1"; }
mkdir "$tmp/run"
add 1 1 gpu0
add 2 2 'a "quoted\" name'
printf '2 %s %s na\377me\n' $$ "$started" >"$tmp/run/3"

plan 21
COLUMNS=80 wormhole top --once --delay 0.1 >"$tmp/80"
COLUMNS=200 wormhole top --once --delay 0.1 >"$tmp/200"
like top_has_a_line_for_each_vm "$(cat "$tmp/80")" '^gpu0 *1 server *4 '
like its_handoffs_are_there_by_reason "$(cat "$tmp/200")" '^gpu0 .* syscall [0-9.]*k\{0,1\}, fault 0 '
like and_its_exits "$(cat "$tmp/200")" '^gpu0 .* external_interrupt [0-9]*, ept_violation 0, reason_70 0'
is eighty_columns_are_enough "$(LC_ALL=C awk 'length > 80' "$tmp/80")" ""
like what_has_no_room_is_a_plus "$(cat "$tmp/80")" '^gpu0 .* +$'
is json_has_their_rates "$(wormhole top --once --json --delay 0.1 | LC_ALL=C sed 's/\xff/?/' | /usr/bin/python3 -c '
import json, sys
v = json.load(sys.stdin)["vms"][0]
print(v["id"], v["role"], v["pairs"], v["handoffs"]["fault"], v["handoffs_per_s"] > 0, v["cpu_percent"] >= 0)')" \
	"1 server 4 3 True True"
is without_the_device_nobody_is_shown "$(FAKE_CONTROL=none wormhole top --once 2>/dev/null; echo $?)" 1

wormhole metrics >"$tmp/metrics"
if [ -x "$WH_BUILD/promtool" ]; then
	is promtool_finds_nothing "$("$WH_BUILD/promtool" check metrics <"$tmp/metrics" 2>&1; echo $?)" 0
else
	skip promtool_finds_nothing "no build/promtool: tools/get-promtool.sh"
fi
is handoffs_have_their_reason "$(metric 'wormhole_vm_handoffs_total{vm="1",name="gpu0",role="server",reason="fault"}')" 3
is so_have_exits "$(metric 'wormhole_vm_exits_total{vm="1",name="gpu0",role="server",reason="ept_violation"}')" 2
is counters_of_kvm_are_there "$(metric 'wormhole_vm_fills_total{vm="1",name="gpu0",role="server"}')" 6
like names_are_escaped "$(cat "$tmp/metrics")" '^wormhole_vm_pairs{vm="2",name="a \\"quoted\\\\\\" name",role="client"} 4$'
is what_is_no_utf8_is_replaced "$(iconv -f UTF-8 -t UTF-8 "$tmp/metrics" >/dev/null 2>&1; echo $?) $(
	grep -c "name=\"na$(printf '\357\277\275')me\"" "$tmp/metrics" | sed 's/^0$/none/; s/^[0-9]*$/some/')" "0 some"
is a_vm_that_died_is_not_shown "$(echo '2 1 1 dead' >"$tmp/run/4"; wormhole metrics | grep -c dead)" 0

printf 'info: supervisor: ready\r\n\033[2Jworker 12 on CPU 1\302\2332J\r\n' >"$tmp/console"
echo "$tmp/console" >>"$tmp/run/1"
is logs_has_a_vms_console "$(wormhole logs 1)" "$(printf 'info: supervisor: ready\n?[2Jworker 12 on CPU 1?2J')"
like without_a_file_it_says_where_it_is "$(wormhole logs 2 2>&1)" 'server start --console FILE'
# The test checks which descriptors and capabilities a VMM of root has. The stand-in's role
# descriptor is /dev/zero, its device /dev/full. Bit 21 is CAP_SYS_ADMIN.
wormhole run --role client --id 9 -- sh -c '
	for f in /proc/$$/fd/*; do [ "${f##*/}" -gt 2 ] && readlink "$f"; done >"$0.fds"
	grep "^Cap" /proc/$$/status >"$0.caps"' "$tmp/vmm" >/dev/null 2>&1
is a_vmm_has_a_role_descriptor "$(grep -c '^/dev/zero$' "$tmp/vmm.fds")" 1
is and_not_the_control_device "$(grep -c '^/dev/full$' "$tmp/vmm.fds")" 0
is nor_the_capability_to_use_one "$(while read -r _ set; do
	echo $((0x$set >> 21 & 1)); done <"$tmp/vmm.caps" | sort -u)" 0
is its_other_capabilities_are_its_users "$(sed -n 's/^CapEff:\t//p' "$tmp/vmm.caps")" \
	"$(sed -n 's/^CapEff:\t//p' /proc/self/status | { read -r all; printf '%016x\n' $((0x$all & ~(1 << 21))); })"
is a_vm_that_is_not_there_is_a_failure "$(wormhole logs 9 2>/dev/null; echo $?)" 1
finish
