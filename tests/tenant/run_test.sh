#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that two commands make a limited tenant: `serve` and `run`.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 31
ok serve_in_the_background_returns_when_clients_can_connect serve
for kind in static shared; do
	like "program_with_a_${kind}_runtime_runs_with_limits" \
		"$("$wormhole" run --mem 64M --sm 30 -- "$WH_BUILD/examples/$kind/vectorAdd" 2>&1)" PASS
done
like program_without_limits_runs_as_default "$("$wormhole" run "$WH_BUILD/examples/shared/matmul" 2>&1)" PASS
is exit_status_is_the_programs "$("$wormhole" run --mem 1G -- sh -c 'exit 7'; echo $?)" 7
is signal_that_ends_it_is_the_programs \
	"$("$wormhole" run --mem 1G -- sh -c 'kill -TERM $$' 2>/dev/null; echo $?)" 143
is missing_program_fails "$("$wormhole" run --mem 1G -- /nonexistent 2>/dev/null; echo $?)" 127
mkdir "$tmp/musl"
echo 'int main(void) { return 0; }' |
	gcc -x c - -o "$tmp/musl/program" -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1
said=$("$wormhole" run --mem 1G -- "$tmp/musl/program" 2>&1)
is program_of_another_c_library_is_refused $? 126
like by_its_name "$said" "^wormhole: error: cannot run '$tmp/musl/program': it is built for musl (/lib/ld-musl-x86_64.so.1)"
like also_where_the_search_finds_it "$(PATH=$PATH:$tmp/musl "$wormhole" run --mem 1G -- program 2>&1)" \
	"cannot run 'program': it is built for musl"
ok tenants_of_ended_programs_are_gone await eval '[ "$(files | grep -c run)" = 0 ]'

start a --mem 64M --sm 40 --tenant alpha -- alloc=1048576 copy=65536
like client_of_a_limited_tenant_works "$(tr '\n' ' ' <"$tmp/a.out")" "^ok ok ready"
is limits_are_the_tenants "$(field alpha "d['memory_limit'], d['sm_percent'], d['sm_policy']")" \
	"(67108864, 40, 'temporal')"
is its_worker_is_counted "$(field alpha "len(t['workers']), t['workers'][0]['client_pid']")" "(1, $(pid a))"
is tenant_is_one_process "$(ps -o comm= -p "$(pid a)")" client
like existing_tenant_is_not_given_other_limits \
	"$("$wormhole" run --tenant alpha --mem 1M -- true 2>&1)" "tenant alpha is there already.*wormhole limit"
is second_program_joins_it "$("$wormhole" run --tenant alpha -- "$client" alloc=4096)" ok
# The program's worker ends after the program; here it is stopped, so that it ends only when the
# test lets it.
worker=$(workers)
halt "$worker"
finish_client a
"$wormhole" run --tenant alpha --mem 64M -- "$client" alloc=4096 >"$tmp/next" 2>&1 &
next=$!
await eval '[ "$(ps -o stat= -p $next | cut -c1)" = S ]' && kill -CONT "$worker"
wait $next
is next_program_of_that_name_waits_for_its_end "$(cat "$tmp/next")" ok
ok tenant_ends_with_its_program await eval '! files | grep -q alpha'

# Libraries besides the driver are found on both sides without an option of the user's.
python() { "$wormhole" run --mem 64M -- /usr/bin/python3 -c "import ctypes; $1"; }
is cublas_is_served "$(python 'h = ctypes.c_void_p()
print(ctypes.CDLL("libcublas.so.13").cublasCreate_v2(ctypes.byref(h)))')" 0
is nvml_shows_the_limit "$(python 'n = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit_v2()
d = ctypes.c_void_p(); n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d))
m = (ctypes.c_ulonglong * 3)(); n.nvmlDeviceGetMemoryInfo(d, m); print(m[0])')" 67108864

# The program's children may outlive it, and its descriptors may not.
start b --tenant beta --mem 64M -- alloc=4096 fork
kill -KILL "$(pid b)"
wait "$(pid b)" 2>/dev/null
ok tenant_stays_while_children_of_its_program_live field_is beta "t['tenant']" beta
eval "exec $fd>&-"
ok and_ends_with_them await eval '! files | grep -q beta'
is program_that_closes_all_descriptors_keeps_its_tenant "$(
	"$wormhole" run --mem 64M -- /usr/bin/python3 -c 'import os, sys
os.closerange(3, 1000)
os.execv(sys.argv[1], sys.argv[1:])' "$client" alloc=4096)" ok

# What a program does before its first call.
starts='print(ctypes.CDLL("libcuda.so.1").cuInit(0))'
is program_that_has_cleared_its_environment_is_served "$(python "ctypes.CDLL(None).clearenv(); $starts")" 0
if [ "$(id -u)" = 0 ]; then
	"$wormhole" tenant create theirs --user nobody --mem 64M
	theirs() { "$wormhole" run --tenant theirs -- /usr/bin/python3 -c "import ctypes, os; os.setuid($1); $starts" 2>&1; }
	is so_is_one_that_has_become_its_tenants_user "$(theirs "$(id -u nobody)")" 0
	like one_that_has_become_another_user_is_told_why "$(theirs "$(id -u daemon)")" "theirs.sock: Permission denied.*another user's"
	"$wormhole" tenant delete theirs
else
	skip so_is_one_that_has_become_its_tenants_user "not root"
	skip one_that_has_become_another_user_is_told_why "not root"
fi

like variables_without_effect_are_named "$(CUDA_DEVICE_MEMORY_LIMIT=1m "$wormhole" run -- true 2>&1)" \
	"CUDA_DEVICE_MEMORY_LIMIT has no effect.*--mem"
like those_without_a_meaning_in_one_line "$(CUDA_TASK_PRIORITY=1 CUDA_DISABLE_CONTROL=true "$wormhole" run -- true 2>&1)" \
	"warn: CUDA_TASK_PRIORITY, CUDA_DISABLE_CONTROL: of HAMi, without a meaning here"
"$wormhole" stop
is stop_leaves_no_socket_and_no_tenant "$(find "$WORMHOLE_DIR" ! -name 'server.lo*' ! -path "$WORMHOLE_DIR")" ""
like no_server_names_the_next_step "$("$wormhole" run --mem 1G -- true 2>&1)" "wormhole serve"
finish
