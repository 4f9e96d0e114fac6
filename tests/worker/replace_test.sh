#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `wormhole server replace` asks the host for, and when it ends the old
# server VM. Both commands and the supervisor are real; the kernel's control device, the VMs'
# processes and the port are stand-ins. tests/bochs/replace has VMs. It runs on any machine.
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../..
: "${WH_TOP:=$build/..}"
. "$WH_TOP/tests/worker/lib.sh"
export tmp here build FAKE_RUN="$tmp/run" FAKE_LOG="$tmp/log" FAKE_ATTACHED="$tmp/attached"
OLD=5 NEW=1 CLIENT=2
says() { grep -q -e "$1" "$tmp/said"; }

vm() { note_vm "$1" "$2" "$3" "vm$1"; }
sleeper() {
	sleep 1000 &
	pids="$pids $!"
}
lives() { kill -0 "$1" 2>/dev/null; }

# The new server VM has two windows, with a worker each.
cat >"$tmp/worker" <<'END'
#!/bin/sh
case "$*" in
*--devices*) exec "$here/devices.py" "${*##* }" ;;
esac
exec sleep 1000
END
chmod +x "$tmp/worker"
mkdir "$tmp/run"
port_of $NEW
FAKE_WINDOWS=2 "$here/fake_supervisor" --device /dev/null --worker "$tmp/worker" --backend b --cpus 3 \
	--nvml none --tenants "$tmp/t" --channel "$tmp/port" 2>"$tmp/err" &
pids="$pids $!"
sleeper
vm $NEW 1 $!
sleeper
old=$!
vm $OLD 1 $old
sleeper
vm 6 1 $!
sleeper
vm $CLIENT 2 $!
: >"$tmp/log"

plan 29
wormhole allow $CLIENT $OLD --window 1 --max-pairs 4
cp "$tmp/log" "$tmp/before"
nothing_moved() { cmp -s "$tmp/log" "$tmp/before" && lives $old; }

# --- What is refused, and changes nothing ----------------------------------------------------
like a_vm_without_clients_is_not_replaced "$(wormhole server replace $NEW $OLD 2>&1)" \
	"no client VM was let to VM $NEW by .wormhole allow': there is nothing to move"
like a_vm_that_is_not_there_is_not_either "$(wormhole server replace 7 $NEW 2>&1)" "VM 7 is no living server VM"
like nor_is_a_client_vm "$(wormhole server replace $CLIENT $NEW 2>&1)" "VM $CLIENT is no living server VM"
like a_new_one_that_does_not_come_is_named "$(wormhole server replace $OLD 7 --timeout 1 2>&1; echo "status $?")" \
	"server VM 7 is not ready within 1 s: .wormhole' has not started it, or it has ended; VM $OLD goes on as it was"
like one_whose_workers_do_not_wait_too "$(FAKE_BUSY=1 wormhole server replace $OLD 6 --timeout 1 2>&1)" \
	"server VM 6 is not ready within 1 s: its workers do not wait for programs yet"
like a_client_vm_takes_nothing_over "$(wormhole server replace $OLD $CLIENT 2>&1)" "VM $CLIENT is no server VM"
like two_ids_are_needed "$(wormhole server replace $OLD 2>&1)" "name OLD and NEW by their ids"
like of_two_vms "$(wormhole server replace $OLD $OLD 2>&1)" "OLD and NEW are the same VM"
mkdir "$tmp/run/libvirt"
echo "server $OLD gpu0" >"$tmp/run/libvirt/uuid.role"
like a_domain_of_libvirt_is_not_replaced "$(wormhole server replace $OLD $NEW 2>&1)" "VM $OLD is a domain of libvirt"
echo "server 55 gpu0" >"$tmp/run/libvirt/uuid.role"
wormhole allow 3 $OLD --window 2
cp "$tmp/log" "$tmp/before"
like a_window_that_the_new_one_lacks_is_named "$(wormhole server replace $OLD $NEW 2>&1)" \
	"VM 3 has window 2 of VM $OLD, but VM $NEW has 2: start it with as many"
nothing_moved
is all_that_changes_nothing "$?" 0
wormhole deny 3

# The command may start the new VM itself. QEMU is a script here, and so is the image.
mkdir "$tmp/image"
touch "$tmp/image/bzImage" "$tmp/image/initramfs"
printf '#!/bin/sh\n[ ! -e "$tmp/broken" ] || exit 3\n: >"$tmp/vmm"\nexec sleep 1000\n' >"$tmp/qemu"
chmod +x "$tmp/qemu"
replace_by() { # NEW
	: >"$tmp/said"	# what the last one said must not count for this one
	LD_PRELOAD=$build/tests/cli/fake_control.so "$build/host/wormhole" server replace $OLD "$1" --timeout 2 -- \
		vm --image "$tmp/image" --window "$tmp/w,2M" --qemu "$tmp/qemu" 2>"$tmp/said" &
	command=$!
	pids="$pids $command"
}
pid_of() { cut -d' ' -f2 "$tmp/run/$1"; }
cp "$tmp/log" "$tmp/before"
: >"$tmp/broken"
export FAKE_BUSY=1 # KVM knows no waiting workers of a VM that has ended
replace_by 8
wait $command
is one_that_ends_at_its_start_is_a_failure "$? $(cat "$tmp/said")" \
	"1 wormhole: error: server VM 8 has ended before it was ready; VM $OLD goes on as it was"
rm "$tmp/broken"
replace_by 8
unset FAKE_BUSY
ok one_that_is_started_here_is_waited_for await test -e "$tmp/vmm"
started=$(pid_of 8)
wait $command
is and_ended_when_it_does_not_become_ready "$? $(lives "$started" && echo lives)" "1 "
grep -v '^server 8$' "$tmp/log" >"$tmp/now"
is without_a_change_of_permissions "$(cat "$tmp/now")" "$(cat "$tmp/before")"
: >"$tmp/log"

# --- While programs run -----------------------------------------------------------------------
echo 2 >"$tmp/attached"
replace() {
	LD_PRELOAD=$build/tests/cli/fake_control.so "$build/host/wormhole" server replace $OLD $NEW 2>"$tmp/said" &
	command=$!
	pids="$pids $command"
}
replace
ok programs_that_run_are_counted await says "server VM $OLD ends with the last of 2 programs$"
is each_client_vm_goes_to_the_new_one_and_from_the_old "$(cat "$tmp/log")" "allow $CLIENT $NEW window 1 pairs 4
allow $CLIENT $OLD window 4294967295 pairs 4"
echo 1 >"$tmp/attached"
ok and_again_when_one_ends await says "the last of 1 program$"
ok meanwhile_the_old_vm_lives lives $old
kill $command
wait $command 2>/dev/null
: >"$tmp/log"
replace
ok a_command_that_was_stopped_goes_on await says "the last of 1 program$"
is and_moves_nothing_twice "$(cat "$tmp/log")" ""
ok with_the_old_vm_alive lives $old
echo 0 >"$tmp/attached"
wait $command
is after_the_last_one_it_succeeds "$?" 0
like and_says_so "$(cat "$tmp/said")" "server VM $OLD has ended; VM $NEW serves in its place"
wait $old
is the_old_vm_was_told_to_end "$?" $((128 + 15))
is permissions_are_noted_with_the_new_one "$(cd "$tmp/run" && grep -H . *.allow)" "$CLIENT-$NEW.allow:1 4 0"
# Another VM takes over from that one, started here, and the command lasts as long as it.
mv "$tmp/run/$NEW" "$tmp/run/$OLD"
rm "$tmp/vmm"
wormhole allow $CLIENT $OLD
replace_by 9
await says "serves in its place"
like one_without_a_port_is_told_of "$(cat "$tmp/said")" "warn: how many windows server VM 9 has is not known: .*/9.control: "
kill -KILL "$(pid_of 9)"
wait $command
is the_command_stays_for_the_vm_that_it_has_started "$?" $((128 + 9))
wormhole deny $CLIENT
is until_they_are_taken_back "$(ls "$tmp/run" | grep allow)" ""
finish
