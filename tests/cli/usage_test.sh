#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises how the command answers. The exit status is 0 for done, 1 for failed, 2 for
# wrong usage. Results go to stdout, messages to stderr, and errors name the value that was wrong.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole

status() { "$wormhole" "$@" >/dev/null 2>&1; echo $?; }
message() { "$wormhole" "$@" 2>&1 >/dev/null; }

plan 39
is no_command_is_wrong_usage "$(status)" 2
is unknown_command_is_wrong_usage "$(status fly)" 2
like unknown_command_is_named "$(message fly)" "'fly'"
is help_succeeds "$(status --help)" 0
is help_goes_to_stdout "$(message --help)" ""
for c in check serve stop run limit "tenant create" "tenant delete" "tenant list" "tenant check" "tenant export" "tenant import" "image gpu" "server start" \
	"client start" "xml server" "xml client" allow deny kill stat top metrics logs completion; do
	# shellcheck disable=SC2086
	[ "$("$wormhole" $c --help 2>&1 | head -n1 | cut -d' ' -f1-2)" = "Usage: wormhole" ] ||
		broken="$broken $c"
	# shellcheck disable=SC2086
	[ "$("$wormhole" $c -h 2>&1)" = "$("$wormhole" $c --help)" ] || short="$short $c"
done
is every_command_has_help "$broken" ""
is and_by_its_short_option "$short" ""
is so_have_groups_of_commands "$("$wormhole" tenant -h) $("$wormhole" -h)" "$("$wormhole" tenant --help) $("$wormhole" --help)"
is run_wants_a_role "$(status run --id 1 true)" 2
like unknown_role_is_named "$(message run --role king --id 1 true)" "'king'"
like id_zero_is_refused "$(message run --role server --id 0 true)" "'0' is not a number from 1"
like negative_id_is_refused "$(message deny -- -3)" "'-3'"
like window_out_of_range_is_named "$(message allow 2 1 --window 16)" "'16' is not a number from 0 to 15"
like quota_out_of_range_is_named "$(message allow 2 1 --max-pairs 512)" "'512'"
like barrier_of_no_kind_is_named "$(message allow 2 1 --barrier full)" "'full' is none of none, ibpb and strict"
is allow_wants_two_ids "$(status allow 2)" 2
is server_with_one_cpu_is_refused "$(status server start s --id 1 --cpus 1 --image x --window y)" 2
is start_wants_a_window "$(status server start s --id 1 --image x)" 2
if [ -e /dev/kvm-wormhole ]; then
	skip missing_device_fails "this host has it"
	skip missing_device_names_the_next_step "this host has it"
else
	is missing_device_fails "$(status stat 1)" 1
	like missing_device_names_the_next_step "$(message stat 1)" "kvm-patches/"
fi
like check_has_a_line_for_vmfunc "$("$wormhole" check)" "^VMFUNC EPTP switching  *\(ok\|MISSING\)"
like check_has_a_verdict_for_programs "$("$wormhole" check)" "^programs of this machine: ready"
like and_one_for_vms "$("$wormhole" check)" "^VMs: \(ready\|not ready: [0-9]* missing\)"
like check_of_programs_speaks_of_programs "$("$wormhole" check programs)" "^programs of this machine: ready"
is and_of_no_vms "$("$wormhole" check programs | grep -c -e VM -e QEMU -e IOMMU)" 0
is that_of_vms_speaks_of_no_programs "$("$wormhole" check vms | grep -c -e ^programs -e ^workers)" 0
is check_of_programs_succeeds_without_vmx "$(status check programs)" 0
like check_of_something_else_names_it "$(message check clouds)" "'clouds' is none of programs and vms"

# Each line of what a command says begins with one of these words, or is argp's hint.
begun() { message "$@" | grep -v -e "^Try .wormhole $1 --help. or .wormhole $1 --usage. for more information\.$"; }
is unknown_option_is_an_error_like_others "$(begun stat --fly)" "wormhole: error: unrecognized option '--fly'"
is so_is_an_unknown_letter "$(begun run -z prog)" "wormhole: error: invalid option -- 'z'"
is a_missing_value "$(begun run --mem)" "wormhole: error: option '--mem' requires an argument"
is a_value_that_is_too_much "$(begun stat --json=yes)" "wormhole: error: option '--json' doesn't allow an argument"
is an_argument_too_many "$(begun kill 1 2)" "wormhole: error: '2': one argument too many"
is and_a_bad_value "$(begun top --delay 0)" "wormhole: error: --delay: '0' is not a number from 0.1 to 3600"
is each_names_the_commands_help "$(for c in "stat --fly" "kill 1 2" "top --delay 0"; do
	# shellcheck disable=SC2086
	message $c | grep -c "^Try .wormhole ${c%% *} --help' or"
done | tr '\n' ' ')" "1 1 1 "

# is_help COMMAND OPTIONS... tells whether these words print the command's help.
is_help() { [ "$("$wormhole" "$@" 2>&1)" = "$("$wormhole" "$1" --help)" ]; }
behind=
is_help run --mem 1G -h && is_help run --mem 1G -h prog && is_help top -jh && is_help stat 1 -h &&
	is_help logs --follow -h && [ "$("$wormhole" server start x -h)" = "$("$wormhole" server start --help)" ] || behind=not
is short_help_works_behind_other_options "$behind" ""
is but_behind_a_program_it_is_the_programs "$(message run prog -h | grep -c Usage) $(status run prog -h)" "0 1"
is version_is_an_option_too "$("$wormhole" --version)" "$("$wormhole" version)"
is version_is_that_of_the_abi "$("$wormhole" version)" \
	"wormhole 0.1, ABI $(sed -n 's/^#define WH_ABI_VERSION[[:space:]]*//p' "$WH_TOP/hypercall-abi/wormhole_abi.h")"
finish
