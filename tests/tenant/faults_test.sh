#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what happens when disk and descriptors run out at each step of serve, create
# and run: an error names what is missing, nothing is left behind, and programs that are served
# already go on.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

tenants() { "$wormhole" tenant list --json | grep -c '"tenant"'; }

plan 14
# The disk is full, from the first file on to a second tenant.
small=$tmp/small
mkdir "$small"
if mount -t tmpfs -o size=2M none "$small" 2>/dev/null; then
	WORMHOLE_DIR=$small/d
	# Processes that were stopped with this test may still be on their way out of the mount.
	trap '"$wormhole" stop >/dev/null 2>&1; umount -l "$small" 2>/dev/null; clean_up' EXIT
	mute=
	left=
	for kb in 2044 2032 2000 1900 1700 1500; do
		head -c ${kb}K /dev/zero >"$small/fill"
		if serve; then
			"$wormhole" stop
			continue
		fi
		grep -q "No space left on device" "$tmp/serve" || mute="$mute $kb: $(cat "$tmp/serve")"
		[ ! -e "$small/d/tenants" ] || left="$left $kb"
	done
	is server_that_finds_the_disk_full_says_so "$mute" ""
	is and_leaves_no_tenant_behind "$left" ""
	rm -f "$small/fill"
	serve
	first=$(server)
	start a -- alloc=4096 ready line alloc=8192
	head -c 4M /dev/zero >"$small/fill" 2>/dev/null
	like tenant_that_finds_the_disk_full_is_refused "$("$wormhole" tenant create b 2>&1)" \
		"tenants/.*: No space left on device"
	is and_leaves_nothing_behind "$(files | grep -c '^b\.') $(tenants)" "0 1"
	next a
	is who_was_there_before_goes_on "$(said a)" "ok ok "
	finish_client a
	is program_is_served_on_a_full_disk "$("$wormhole" run --tenant default -- "$client" alloc=4096 2>&1)" ok
	rm -f "$small/fill"
	is with_room_again_so_is_a_tenant "$("$wormhole" tenant create b 2>&1; server)" "$first"
	"$wormhole" stop
	await umount "$small"
	WORMHOLE_DIR=$tmp/d
else
	for p in server_that_finds_the_disk_full_says_so and_leaves_no_tenant_behind \
		tenant_that_finds_the_disk_full_is_refused and_leaves_nothing_behind who_was_there_before_goes_on \
		program_is_served_on_a_full_disk with_room_again_so_is_a_tenant; do
		skip $p "needs to mount a small disk"
	done
fi

# The limit of descriptors goes from none at all to enough, so that each step is once the one that
# fails.
serve
first=$(server)
start a --tenant keep --mem none -- alloc=4096 ready line alloc=8192 ready line alloc=8192
"$wormhole" tenant create other
# The lowest number that is free is where the limit begins to matter. There may be open ones above:
# from the highest one on, there is one more for each step.
numbers=$(find "/proc/$first/fd" -mindepth 1 | sed 's|.*/||' | sort -n)
free=$(echo "$numbers" | awk '$1 == n { n++ } END { print n + 0 }')
highest=$(echo "$numbers" | tail -n 1)
mute=
made=0
ran=0
for more in 0 1 2 3 4 5 6 7 8 9 10 11 12 16 20 24 32; do
	[ "$more" = 0 ] && most=$free || most=$((highest + more))
	prlimit --pid "$first" --nofile="$most":4096
	said=$("$wormhole" tenant create "f$more" 2>&1) && made=$((made + 1)) ||
		case $said in *"open files"*) ;; *) mute="$mute create $more: $said" ;; esac
	said=$(WORMHOLE_LOG=1 timeout 20 "$wormhole" run --tenant other -- "$client" alloc=4096 2>&1)
	case $said in
	*ok) ran=$((ran + 1)) ;;
	*"open files"*) ;;
	*) mute="$mute run $more: $said" ;;
	esac
	"$wormhole" tenant delete "f$more" >/dev/null 2>&1
done
prlimit --pid "$first" --nofile=4096:4096
is who_finds_no_descriptor_is_told "$mute" ""
diag "of 17: $made made, $ran ran"
ok sooner_or_later_there_are_enough [ $made -gt 0 -a $made -lt 17 -a $ran -gt 0 ]
is nothing_of_the_others_is_left "$(files | grep -c '^f')" 0
next a
is who_was_there_goes_on "$(said a) $(server)" "ok ok  $first"

# Below the number of open descriptors nobody can come, and programs that are there are served on.
# A program that comes meanwhile waits.
prlimit --pid "$first" --nofile=4:4096
"$wormhole" run --tenant other -- "$client" alloc=4096 >"$tmp/late" 2>&1 &
late=$!
await eval 'find "/proc/$late/fd" -lname "socket:*" | grep -q .'
next a
prlimit --pid "$first" --nofile=4096:4096
wait "$late"
ok server_lives_with_a_limit_below_what_is_open kill -0 "$first"
is who_waited_meanwhile_is_served_then "$(cat "$tmp/late")" ok
finish_client a
is and_the_server_serves "$("$wormhole" run --tenant other -- "$client" alloc=4096)" ok
finish
