#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises MIG instances as devices of tenants, over a softgpu with three instances of one
# GPU, and another GPU that is not divided.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/tenant/suspended.sh"

mig=$WH_BUILD/tests/tenant/bin/mig
export WORMHOLE_SOFTGPU_MEM=1G,512M WORMHOLE_SOFTGPU_MIG=3+2+1
first=MIG-776f726d-686f-6c65-2d73-6f6674677175
second=MIG-776f726d-686f-6c65-2d73-6f6674677275
third=MIG-776f726d-686f-6c65-2d73-6f6674677375
divided=GPU-776f726d-686f-6c65-2d73-6f6674677075
whole=GPU-776f726d-686f-6c65-2d73-6f6674677076
bytes() { echo "$1" | sed 's/^...-//; s/-//g'; }
sees() { "$wormhole" run "$@" -- "$mig" cuda 2>&1; }
nvml() { "$wormhole" run "$@" -- "$mig" nvml 2>&1; }

plan 43
serve
stat=$("$wormhole" stat)
like each_instance_is_a_device_with_its_profile "$stat" "device 1: Wormhole softgpu MIG 2g.256mb, $second"
like the_gpu_without_instances_is_one "$stat" "device 3: Wormhole softgpu, $whole"
is the_divided_gpu_is_none "$(echo "$stat" | grep -c "$divided")" 0
like metrics_name_instances "$("$wormhole" metrics)" \
	"wormhole_device_info{device=\"2\",name=\"Wormhole softgpu MIG 1g.128mb\",uuid=\"$third\"} 1"
like top_names_them "$("$wormhole" top --once --json | tr -d '\t\n')" "\"uuid\":\"$second\",\"memory\":268435456,\"sms\":4"

# What a program sees.
is a_program_sees_the_tenants_instance_alone "$(sees --devices 1)" "$(bytes $second) 256 4"
is an_instance_is_named_by_its_uuid_too "$(sees --devices $third)" "$(bytes $third) 128 2"
is a_gpu_without_instances_is_whole "$(sees --devices 3)" "$(bytes $whole) 512 16"
is a_tenant_without_a_word_has_the_first_instance "$(sees --mem none)" "$(bytes $first) 512 6"
is a_quota_is_the_size_of_the_instance "$(sees --devices 1 --mem 60M)" "$(bytes $second) 60 4"
is a_program_computes_on_its_instance "$("$wormhole" run --devices 2 -- "$mig" sum)" right
is it_does_so_under_a_share_of_time "$("$wormhole" run --devices 2 --sm 30 -- "$mig" sum)" right
like several_instances_are_refused "$(sees --devices 0,1)" "$first (device 0) is a MIG instance, .* alone"
like so_is_a_gpu_beside_one "$(sees --devices 1,3)" "$second (device 1) is a MIG instance, .* alone"
like so_is_a_limit_of_another_instance "$("$wormhole" tenant create bad --devices 1 --device 2:mem=1M 2>&1)" \
	"device 2: the tenant was made without it"

# CUDA_VISIBLE_DEVICES of the program.
is its_own_uuid_chooses_the_instance "$(CUDA_VISIBLE_DEVICES=$second sees --devices 1)" "$(bytes $second) 256 4"
is so_does_its_beginning "$(CUDA_VISIBLE_DEVICES=MIG-776f726d sees --devices 1)" "$(bytes $second) 256 4"
is so_does_number_0 "$(CUDA_VISIBLE_DEVICES=0 sees --devices 1)" "$(bytes $second) 256 4"
is the_uuid_of_another_one_is_no_device "$(CUDA_VISIBLE_DEVICES=$first sees --devices 1)" "error 100"
is nor_are_its_digits_those_of_a_gpu "$(CUDA_VISIBLE_DEVICES=GPU-${second#MIG-} sees --devices 1)" "error 100"
is a_gpus_digits_are_no_instance "$(CUDA_VISIBLE_DEVICES=MIG-${whole#GPU-} sees --devices 3)" "error 100"

# NVML.
of_one=$(nvml --devices 1 --mem 60M)
is nvml_shows_the_gpu_in_mig_mode_without_its_use "$(echo "$of_one" | head -1)" \
	"0 $divided mode 1 most 7 memory !4 processes !4 utilisation !3"
is and_the_tenants_instance_with_its_quota "$(echo "$of_one" | sed -n 2p)" \
	"  0 $second is 1 gi 2 ci 0 index 0 slices 2 size 60 parent same memory 60 processes 0"
is and_no_other_one "$(echo "$of_one" | sed 1,2d | tr -d '\n')" "  1 !6  2 !6  3 !6  4 !6  5 !6  6 !6"
is nvml_finds_the_instance_by_its_uuid "$("$wormhole" run --devices 1 -- "$mig" find $second)" found
is and_no_other_one_so "$("$wormhole" run --devices 1 -- "$mig" find $third) $("$wormhole" run --devices 1 -- "$mig" find $whole)" \
	"error 6 error 6"
is a_gpu_without_instances_has_no_mig_mode "$(nvml --devices 3)" \
	"0 $whole mode 0 most 0 memory 512 processes 0 utilisation !0"

# Quota and use are the instance's own.
"$wormhole" tenant create a --devices $second --mem 64M
"$wormhole" tenant create b --devices $third --mem 32M
start x --tenant a -- alloc=40000000 alloc=40000000 ready line copy=65536
start y --tenant b -- alloc=20000000
is a_quota_bounds_an_instances_memory "$(said x)" "ok CUDA_ERROR_OUT_OF_MEMORY "
is use_is_that_of_the_tenants_device "$(field a "[(x['device'], x['uuid'], x['memory'] // 10000000) for x in t['devices']]")" \
	"[(1, '$second', 4)]"
is another_tenants_is_its_own "$(field b "[(x['device'], x['memory'] // 10000000) for x in t['devices']]")" "[(2, 2)]"
is metrics_count_it_there "$("$wormhole" metrics | sed -n 's/^wormhole_memory_bytes{tenant="a",.*device="\([0-9]*\)".*} \([0-9]\).*/\1 \2/p')" "1 4"

# Suspension and moves.
is a_tenant_on_an_instance_is_suspended "$(suspend a)" ""
is it_has_nothing_of_the_instance "$(field a "d['memory']")" 0
is it_comes_back "$(resume a)" ""
next x
is and_goes_on "$(said x) $(field a "d['device'], d['memory'] >= 40000000")" "ok CUDA_ERROR_OUT_OF_MEMORY ok  (1, True)"
like no_tenant_moves_from_an_instance "$("$wormhole" move a --to 2 2>&1)" "MIG instances ($first), .* no tenant moves"

# The server that takes the place of one that was killed knows instances.
kill_alone
is a_program_goes_on_after_its_server "$(field a "d['device'], len(t['workers'])")" "(1, 1)"
is new_programs_have_the_same_instance "$("$wormhole" run --tenant a -- "$mig" cuda)" "$(bytes $second) 64 4"
finish_client x
finish_client y
"$wormhole" stop --force >/dev/null 2>&1

# A tenant that stays has its instance, whatever number that has.
STATE=$tmp/state serve
"$wormhole" tenant create stays --devices $third --mem 32M
"$wormhole" stop >/dev/null 2>&1
CUDA_VISIBLE_DEVICES=$third,$whole STATE=$tmp/state serve
is a_tenant_that_stays_has_its_instance_again "$("$wormhole" run --tenant stays -- "$mig" cuda)" "$(bytes $third) 32 2"
is the_servers_variable_chooses_instances "$("$wormhole" stat | sed -n 's/^device [0-9]*: .*, //p' | tr '\n' ' ')" "$third $whole "
"$wormhole" stop --force >/dev/null 2>&1
CUDA_VISIBLE_DEVICES=0 serve
like a_number_there_is_refused "$(cat "$tmp/serve")" "CUDA_VISIBLE_DEVICES=0 names no device by UUID"
"$wormhole" stop --force >/dev/null 2>&1
WORMHOLE_NVML=$WH_BUILD/softgpu/libnvidia-ml.so.1 "$wormhole" serve --backend "$WH_BUILD/tests/shm/bin/fake_devices.so" \
	--daemon --state none --nvml "$WH_BUILD/softgpu/libnvidia-ml.so.1" >"$tmp/serve" 2>&1
like a_driver_that_gives_another_device_is_refused "$(cat "$tmp/serve")" "asked for $first alone, the driver gave 4 devices"
"$wormhole" stop --force >/dev/null 2>&1
export WORMHOLE_SOFTGPU_MIG=7
unset WORMHOLE_SOFTGPU_MEM
serve
is an_instance_may_be_all_that_there_is "$(sees --mem none)" "$(bytes $first) 512 14"
"$wormhole" stop >/dev/null 2>&1
finish
