#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that limits are the administrator's: by options, HAMi-core's variables and at
# run time. A client's environment changes none. softgpu has one device, in 2 groups of SMs for
# spatial limits.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

limits() { field "$1" "d['memory_limit'], d['sm_percent'], d['sm_policy'], d['sm_groups']"; }
# with VARIABLE=VALUE... starts a server with these variables and prints what the default tenant
# gets.
with() {
	env "$@" "$wormhole" serve --backend softgpu --daemon --part-size 16M $more >"$tmp/serve" 2>&1 &&
		limits default && "$wormhole" stop
}

plan 39
more=
is no_limits_by_default "$(with A=b)" "(0, 100, 'none', 0)"
is memory_in_gibibytes "$(with CUDA_DEVICE_MEMORY_LIMIT=2g)" "(2147483648, 100, 'none', 0)"
is memory_in_mebibytes_and_a_share "$(with CUDA_DEVICE_MEMORY_LIMIT=1024m CUDA_DEVICE_SM_LIMIT=30)" \
	"(1073741824, 30, 'temporal', 0)"
is limit_of_one_device_replaces_that_of_all "$(
	with CUDA_DEVICE_MEMORY_LIMIT=2g CUDA_DEVICE_MEMORY_LIMIT_0=1048576k CUDA_DEVICE_SM_LIMIT_0=25)" \
	"(1073741824, 25, 'temporal', 0)"
is share_of_zero_is_no_limit "$(with CUDA_DEVICE_SM_LIMIT=0)" "(0, 100, 'none', 0)"
is limits_are_read_as_hami_reads_them "$(with CUDA_DEVICE_MEMORY_LIMIT=0x40000000 CUDA_DEVICE_SM_LIMIT=120)" \
	"(1073741824, 100, 'none', 0)"
is share_of_zero_of_a_device_leaves_that_of_all "$(with CUDA_DEVICE_SM_LIMIT=40 CUDA_DEVICE_SM_LIMIT_0=0)" "(0, 40, 'temporal', 0)"
is share_is_switched_off_by_the_policy "$(with CUDA_DEVICE_SM_LIMIT=40 GPU_CORE_UTILIZATION_POLICY=disable)" "(0, 100, 'none', 0)"
with ACTIVE_OOM_KILLER=1 LIBCUDA_LOG_LEVEL=4 >/dev/null
like variables_without_a_meaning_are_named_in_one_line "$(cat "$tmp/serve")" \
	"LIBCUDA_LOG_LEVEL, ACTIVE_OOM_KILLER: of HAMi, without a meaning here"
more="--mem 3G --sm-policy spatial"
is options_replace_variables "$(with CUDA_DEVICE_MEMORY_LIMIT_0=1g CUDA_DEVICE_SM_LIMIT=50)" \
	"(3221225472, 50, 'spatial', 1)"
more=
with CUDA_DEVICE_MEMORY_LIMIT=lots
like bad_variable_is_named "$(cat "$tmp/serve")" "CUDA_DEVICE_MEMORY_LIMIT='lots' is not a size"
with CUDA_DEVICE_MEMORY_LIMITS=2g
like misspelled_variable_is_named "$(cat "$tmp/serve")" "CUDA_DEVICE_MEMORY_LIMITS: unknown; there are CUDA_DEVICE_MEM"
with CUDA_DEVICE_SM_LIMIT_16=30
like variable_of_a_device_too_many_is_named "$(cat "$tmp/serve")" "CUDA_DEVICE_SM_LIMIT_16: unknown; .*with _0 to _15"

serve --mem 64M
start a --tenant alpha --mem 64M --sm 50 -- alloc=4096
"$wormhole" limit alpha --mem 128M
is limit_changes_at_run_time "$(limits alpha)" "(134217728, 50, 'temporal', 0)"
"$wormhole" limit alpha --device 0:sm=20,policy=both
is limit_of_a_device_changes "$(limits alpha)" "(134217728, 20, 'both', 1)"
most() { field alpha "d['sm_percent'], d['sm_max_percent'], d['priority']"; }
is a_share_is_its_ceiling "$(most)" "(20, 20, 'normal')"
"$wormhole" limit alpha --sm 30 --sm-max 60 --priority high
is a_ceiling_and_a_class_change_at_run_time "$(most)" "(30, 60, 'high')"
like a_ceiling_below_the_share_is_refused "$("$wormhole" limit alpha --sm-max 25 2>&1)" "25 % is below the share of 30 %"
"$wormhole" limit alpha --sm-max none --priority low
is or_there_is_no_ceiling "$(most)" "(30, 100, 'low')"
"$wormhole" limit alpha --sm-max hard --priority normal
is and_the_share_is_one_again "$(most)" "(30, 30, 'normal')"
"$wormhole" limit alpha --mem none --sm none
is limits_can_be_taken_away "$(limits alpha)" "(0, 100, 'none', 0)"
like a_ceiling_without_a_share_is_refused "$("$wormhole" limit alpha --sm-max 50 2>&1)" "those of a share of time: say sm"

finish_client a

# A program launches on and on, for a while without a share, and then under one again. It owes
# nothing for what it did meanwhile. It is a matter of luck how many launches have no marker when
# the share comes back.
launches() { field back "d['launches']"; }
"$wormhole" run --tenant back --sm 50 -- "$client" launch=2000000000 >/dev/null 2>&1 &
back=$!
await eval '[ "$(launches)" -gt 0 ]'
# A look is slow on a busy machine: what counts is when the last one began that saw the program
# stand.
more() {
	began=$(now_ms)
	[ "$(launches)" -gt "$before" ] && return
	stood=$((began - since))
	return 1
}
owed=
for _ in 1 2 3 4 5 6 7 8; do
	sleep 0.3
	"$wormhole" limit back --sm none
	sleep 1.2
	"$wormhole" limit back --sm 50
	sleep 0.2
	before=$(launches)
	# A program that owed more than a second would stand still for more than two.
	since=$(now_ms) stood=0
	await more
	[ $stood -lt 1500 ] || owed="$owed $stood ms"
done
is a_share_that_comes_back_owes_nothing_for_the_time_without "$owed" ""
kill $back
wait $back 2>/dev/null

# The same programs run under other limits, to show what the limits do.
M=1048576
is program_within_its_limit_gets_memory "$("$wormhole" run --mem 64M -- "$client" alloc=$((32 * M)))" ok
is program_over_its_limit_gets_none "$("$wormhole" run --mem 64M -- "$client" alloc=$((65 * M)))" \
	CUDA_ERROR_OUT_OF_MEMORY
like its_memory_is_the_limit "$("$wormhole" run --mem 64M -- "$client" info)" "^total $((64 * M)) "
is environment_of_a_client_changes_no_limit "$(CUDA_DEVICE_MEMORY_LIMIT=99g CUDA_DEVICE_MEMORY_LIMIT_0=99g \
	CUDA_DEVICE_SM_LIMIT=99 WORMHOLE_TENANT=default WORMHOLE_DIR="$WORMHOLE_DIR" \
	"$wormhole" run --mem 64M -- "$client" alloc=$((65 * M)) 2>/dev/null)" CUDA_ERROR_OUT_OF_MEMORY
is nor_that_of_default "$(limits default)" "(67108864, 100, 'none', 0)"
is two_programs_of_a_tenant_share_one_limit "$(
	"$wormhole" tenant create both --mem 64M
	start one --tenant both -- alloc=$((40 * M))
	"$wormhole" run --tenant both -- "$client" alloc=$((40 * M)) alloc=$((8 * M)) | tr '\n' ' '
	finish_client one)" "CUDA_ERROR_OUT_OF_MEMORY ok "

start a --tenant alpha --mem 64M -- alloc=$((48 * M)) alloc=$((48 * M)) ready line alloc=$((48 * M)) ready \
	line alloc=$M ready line alloc=$M
answers() { grep -v ready "$tmp/a.out" | tr '\n' ' '; }
next() {
	n=$(answers | wc -w)
	echo >&$fd
	await eval '[ "$(answers | wc -w)" -gt $n ]'
}
"$wormhole" limit alpha --mem 128M
next
is running_program_feels_a_higher_limit "$(answers)" "ok CUDA_ERROR_OUT_OF_MEMORY ok "
"$wormhole" limit alpha --mem 64M
next
is and_a_lower_one "$(answers)" "ok CUDA_ERROR_OUT_OF_MEMORY ok CUDA_ERROR_OUT_OF_MEMORY "
is refusals_are_counted "$(field alpha "d['refused']")" 2
is client_cannot_choose_a_tenant_by_name "$(WORMHOLE_TENANT=default "$wormhole" run --tenant alpha -- \
	"$client" copy=65536 >/dev/null; field default "t['bytes_to_device']")" 0
finish_client a

# Groups of SMs are disjoint, are refused when there are too few, and are free again afterwards.
groups() {
	/usr/bin/python3 -c 'import struct, sys
b = open(sys.argv[1], "rb").read()
print(struct.unpack_from("<QII Q", b, 128)[3])' "$WORMHOLE_DIR/tenants/$1.limits"
}
"$wormhole" tenant create s1 --sm 50 --sm-policy spatial
"$wormhole" tenant create s2 --sm 50 --sm-policy spatial
is spatial_tenants_share_no_group "$(($(groups s1) & $(groups s2)))" 0
is both_have_groups "$(($(groups s1) | $(groups s2)))" 3
like no_group_left_is_refused "$("$wormhole" tenant create s3 --sm 50 --sm-policy spatial 2>&1)" \
	"other tenants have 2: lower a limit or use policy temporal"
is refused_tenant_leaves_nothing "$(files | grep -c s3)" 0
"$wormhole" tenant delete s1
is groups_of_a_deleted_tenant_are_free "$("$wormhole" tenant create s3 --sm 50 --sm-policy spatial; groups s3)" 1
"$wormhole" limit s2 --sm-policy temporal
is groups_are_given_back_by_another_policy "$(groups s2)" 0
finish
