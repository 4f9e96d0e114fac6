#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a tenant with a spatial share stays on its SMs. contexts.c calls every
# function that answers a context or a green context. Whatever the program asks, its kernels see
# only the SMs that were granted, in groups of the driver's own size and in smaller groups. The
# test runs over softgpu, or over another driver that WH_BACKEND names.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

contexts=$WH_BUILD/tests/attack/bin/contexts
: "${CUDA_INC:=/usr/local/cuda/include}"

# answering prints the functions of cuda.h with an output parameter `CUcontext *` or `CUgreenCtx
# *`, by their newest names, and the functions whose answer is an attribute or a struct with a
# context inside.
answering() {
	tr '\n' ' ' <"$CUDA_INC/cuda.h" | sed 's/;/;\n/g' | grep -o 'CUDAAPI *cu[A-Za-z0-9_]* *([^)]*CU\(context\|greenCtx\) *\*[^)]*)' |
		sed 's/CUDAAPI *\(cu[A-Za-z0-9_]*\).*/\1/' | grep -v '_ptsz$' | sort -u
	printf '%s\n' cuPointerGetAttribute cuPointerGetAttributes cuGraphKernelNodeGetParams_v2
}
# asked prints the functions that contexts.c asks. The list adds older names of functions that it
# asks by a newer name, since these are the same call.
asked() {
	LD_LIBRARY_PATH=$WH_BUILD/client-stubs "$contexts" list
	printf '%s\n' cuCtxPopCurrent cuCtxCreate cuCtxCreate_v2 cuCtxCreate_v3
}
missing() { answering | sort -u >"$tmp/answering"; asked | sort -u | comm -23 "$tmp/answering" - | tr '\n' ' '; }
# not_granted prints the ways of contexts.c whose kernels did not stay on the granted SMs; way
# NAME prints what contexts.c said of one way.
not_granted() { grep -v '^granted' "$tmp/out" | grep -v ' 0 granted$' | grep -v ' none$' | tr '\n' ' '; }
way() { sed -n "s/^$1 //p" "$tmp/out"; }

plan 23
is every_function_of_cuda_h_that_answers_a_context_is_asked "$(missing)" ""
ok and_there_are_some eval '[ "$(wc -l <"$tmp/answering")" -ge 14 ]'
serve_device
"$wormhole" run --sm 50 --sm-policy spatial -- "$contexts" >"$tmp/out" 2>&1
is no_answer_leads_to_more_sms_than_were_granted "$(not_granted)" ""
is the_context_of_memory_is_the_programs_own "$(way cuPointerGetAttribute)" "0 granted"
is and_its_kernel_nodes_keep_to_it "$(way cuPointerGetAttribute+node)" "0 granted"
is the_context_of_a_stream_is_the_programs_own "$(way cuStreamGetCtx_v2)" "0 granted"
is that_it_is_a_green_one_is_not_said "$(way cuStreamGetGreenCtx)" "0 none"
is a_green_context_of_its_own_is_on_the_granted_ones "$(way cuGreenCtxCreate)" "0 granted"
is so_is_one_of_a_part_of_them "$(way cuGreenCtxCreate+part)" "0 granted"
is and_one_of_what_another_one_has "$(way cuGreenCtxCreate+again)" "0 granted"
is and_one_of_what_the_context_has "$(way cuGreenCtxCreate+context)" "0 granted"
is an_attached_context_is_the_programs_own "$(way cuCtxAttach)" "0 granted"
is a_resource_that_the_program_wrote_is_none "$(way cuCtxFromGreenCtx)" "914 none"
is after_a_reset_and_a_release_too_many_it_is_limited_as_before "$(way cuPointerGetAttribute+anew)" "0 granted"

# --- A limit that comes later --------------------------------------------------------------

# said NAME is true when the program in the background has said `ready`.
said() { grep -qx ready "$tmp/$1"; }
mkfifo "$tmp/go"
"$wormhole" run --tenant later --mem none -- "$contexts" late <"$tmp/go" >"$tmp/later" 2>&1 &
exec 3>"$tmp/go"
await said later
"$wormhole" limit later --sm 50 --sm-policy spatial
echo >&3
exec 3>&-
wait $!
half=$("$wormhole" run --sm 50 --sm-policy spatial -- "$contexts" count)
is what_it_took_before_a_limit_is_none_of_its_share "$(sed -n 2p "$tmp/later" | cut -d' ' -f1,2)" "800 800"
is what_it_asks_for_after_it_is "$(sed -n 2p "$tmp/later" | cut -d' ' -f3)" "${half#* }"

# --- Groups of another size ---------------------------------------------------------------

# of_device NAME prints a number of the server's only or first device.
of_device() { control '{"op":"info"}' | sed "s/.*\"devices\":\[{[^}]*\"$1\":\([0-9]*\).*/\1/"; }
# counted PERCENT [WORD...] prints how many SMs the device has and on how many of them kernels
# run.
counted() {
	percent=$1
	shift
	"$wormhole" run --sm "$percent" --sm-policy spatial -- "$contexts" "${@:-count}" 2>&1
}
clusters() { "$wormhole" run --sm 50 --sm-policy spatial -- "$contexts" clusters "$1" 2>&1; }
# groups_of_4 PERCENT prints the SMs that a share of PERCENT gets in groups of 4: the nearest
# number of groups, but at least one group.
groups_of_4() { echo $((($(of_device sm_groups) * $1 + 50) / 100)) | awk '{ n = $1 ? $1 * 4 : 4; print n, n }'; }

own=$(of_device sm_group_size)
own_clusters=$(clusters 4)
"$wormhole" stop
serve_device --sm-group 4
like below_the_drivers_own_size_the_server_says_what_it_costs "$(grep -o '[0-9]* groups of 4 SMs, below.*do not run (CUDA_ERR[A-Z_]*)' "$tmp/serve")" \
	"of more than 2 thread blocks do not run (CUDA_ERROR_INVALID_CLUSTER_SIZE)"
is a_tenth_is_the_nearest_groups_of_4 "$(counted 10)" "$(groups_of_4 10)"
is a_third_is "$(counted 33)" "$(groups_of_4 33)"
is a_green_context_has_all_groups_of_a_share "$(counted 50 green)" "$(groups_of_4 50)"
if [ -n "$WH_BACKEND" ] && [ "$own_clusters" = 0 ] && [ "$own" -gt 4 ]; then
	is clusters_of_4_blocks_do_not_run_in_them "$(clusters 4)" 912
	is clusters_of_2_do "$(clusters 2)" 0
else
	skip clusters_of_4_blocks_do_not_run_in_them "no clusters with this driver"
	skip clusters_of_2_do "no clusters with this driver"
fi
"$wormhole" stop
like a_size_that_the_driver_cannot_is_refused "$(serve_device --sm-group 4094; cat "$tmp/serve")" \
	"--sm-group 4094: device 0 (.*) cannot be divided so; of its [0-9]* SMs [0-9]* are the least, and from $own on multiples of it"
finish
