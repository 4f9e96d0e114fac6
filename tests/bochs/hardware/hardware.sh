#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the steps of the hardware image (bench/hardware/run) measure what they say,
# with two settings of KVM, a few of the steps, and one selftest that fails. The host has the image's
# own kernel and modules; the guests have minimal kernels, which boot sooner.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
out=$WH_BUILD/bochs/hardware-steps

need hardware/kernel/vmlinuz kernel/host/bzImage kernel/server/bzImage bochs/host.cpio \
	server/vm/image/server.cpio tests/vm/client.cpio bochs/behaviours/bin/libsyscalls.so
need_built "$WH_BUILD/examples/shared/vectorAdd"

"$WH_TOP/bench/hardware/layout.sh" hardware-steps SETTINGS="default no_pml" TESTS="gate broken cost" \
	KINDS="baseline null vmfunc" CALLS_IN=default PROGRAMS=vectorAdd
cat >"$out/job/tests/wormhole_broken_test" <<'TEST'
#!/bin/sh
echo "not ok 1 - it_works"
echo "# cost broken 1 ns 2"
exit 1
TEST
chmod 755 "$out/job/tests/wormhole_broken_test"
"$WH_TOP/tests/bochs/run_job.py" --plain --every 20 --timeout 900 --out "$out" \
	--kernel "$WH_BUILD/hardware/kernel/vmlinuz" --initrd "$WH_BUILD/bochs/host.cpio" "$out/job" \
	>"$out/job.log" 2>&1 || true

# lines WORDS prints the results that begin so.
lines() { grep "^$1 " "$out/data"; }
rest_of() { lines "$1" | sed "s/^$1 //"; }
# figures SETTING NAME... passes if each is a row of ascending numbers above zero.
figures() {
	figures_kind=$1 figures_setting=$2
	shift 2
	for figure; do
		lines "$figures_kind $figures_setting $figure" | awk '
			{ n++; good = $5 > 0 && $6 > 0 && $6 <= $7 && $7 <= $8 } END { exit !(n == 1 && good) }' ||
			{ echo "$figures_kind $figures_setting $figure"; return 1; }
	done
}
COSTS="two_rdtsc hypercall vmfunc_there_and_back null_call system_call_by_the_gate
	system_call_by_handoff null_call_with_exits page_of_a_first_take attach_and_first_call"

plan 12
sed 's/^/# /' "$out/job.log"
is steps_come_to_their_end "$(tail -n1 "$out/data")" end
is kernel_log_of_the_host_is_clean "$(grep host_kernel_log_is_clean "$out/job.log")" ""
is machine_is_named "$(rest_of cpu)" "Intel(R) Core(TM) i7-7800X CPU @ 3.50GHz"
is what_is_counted_is_marked_as_instructions "$(rest_of ticks)" instructions
like check_says_that_vms_are_ready "$(rest_of check)" "^VMs: ready"
is settings_are_what_kvm_says "$(rest_of setting)" "default apicv=Y pml=Y
no_pml apicv=Y pml=N"
ok selftests_pass_in_each_setting awk '
	$1 == "selftest" && $3 == "gate" { n++; bad += $5 || $7 || $4 < 50 } END { exit !(n == 2 && !bad) }' "$out/data"
is broken_selftest_is_named_and_hinders_no_other "$(lines failed)" "failed default selftest broken
failed no_pml selftest broken"
# shellcheck disable=SC2086
ok costs_are_there_in_each_setting eval "figures cost default $(echo $COSTS) &&
	figures cost no_pml $(echo $COSTS)"
is costs_are_those_of_one_selftest "$(lines "cost default broken")" ""
ok marked_calls_are_there figures bench default rdtsc_pair getpid cpuid_hypercall wrfsbase_16 \
	vmfunc_null_null_call vmfunc_launch vmfunc_copy_to_device vmfunc_copy_to_host
is demo_program_is_right_in_both_forms "$(rest_of "demo result")" "static/vectorAdd 0
shared/vectorAdd 0"
finish
