#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a size means the same in all commands, and that memory in which no program
# could start is refused.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

M=1048576
export FAKE_NVML="$tmp/figures" FAKE_NVML_UUID=GPU-776f726d-686f-6c65-2d73-6f6674677075
memory() { "$wormhole" limit a --mem "$1" && field a "d['memory_limit']"; }
both="'2048' has no unit: 2048M is MiB, as Slurm counts, and 2048B bytes"

plan 25
like number_without_a_unit_is_refused_by_serve "$(serve --mem 2048; cat "$tmp/serve")" "--mem: $both"
like so_is_that_of_a_part "$(serve --part-size 2048; cat "$tmp/serve")" "--part-size: $both"
like so_is_that_of_the_slack "$(serve --slack 2048; cat "$tmp/serve")" "--slack: $both"
export WORMHOLE_SOFTGPU_MEM=4G
serve --mem 25%
is tenant_default_has_its_percentage "$(field default "d['memory_limit']")" $((1024 * M))
like so_it_is_by_run "$("$wormhole" run --mem 2048 -- true 2>&1)" "--mem: $both"
like so_it_is_by_tenant_create "$("$wormhole" tenant create a --mem 2048 2>&1)" "--mem: $both"
like so_it_is_of_host_memory "$("$wormhole" run --host-mem 2048 -- true 2>&1)" "--host-mem: $both"
"$wormhole" tenant create a
like so_it_is_by_limit "$("$wormhole" limit a --device 0:mem=2048 2>&1)" "mem: $both"
is half_of_the_device_is_a_size "$(memory 50%)" $((2048 * M))
is so_is_a_size_with_a_point "$(memory 1.5G)" $((1536 * M))
is so_is_one_in_gibibytes "$(memory 1GiB)" $((1024 * M))
like more_than_all_is_no_percentage "$("$wormhole" limit a --mem 101% 2>&1)" "--mem: a percentage .* 1% to 100%"
"$wormhole" stop

# With the driver's figures the server knows what a context takes.
: >"$FAKE_NVML"
serve --nvml "$WH_BUILD/tests/tenant/bin/fake_nvml.so"
# The first figures come a moment after the start.
refused() { ! "$wormhole" tenant create small --mem 63M 2>"$tmp/said" || ! "$wormhole" tenant delete small; }
await refused
like memory_below_any_context_is_refused "$(cat "$tmp/said")" \
	"device 0: 66060288 bytes .* takes at least 64 MiB; give more"
is and_makes_no_tenant "$(files | grep -c small)" 0
"$wormhole" tenant create fits --mem 64M
start one --tenant one --mem 4G -- alloc=4096
# A worker's word decides nothing: figures have come since it was given.
"$WH_BUILD/tests/tenant/bin/measured" "$WORMHOLE_DIR/tenants/one.usage" $((518 * M))
echo "$(workers) $((7 * M)) 0" >"$FAKE_NVML"
await eval '[ "$(field one "d[\"memory_driver\"]")" = $((7 * M)) ]'
is what_a_worker_says_of_it_decides_nothing "$("$wormhole" run --mem 64M -- "$client" alloc=4096)" ok
finish_client one
"$wormhole" stop

# The server has measured it before the first request.
mkdir "$tmp/driver"
cp -L "$WH_BUILD/softgpu/libcuda.so.1" "$tmp/driver/"
cp "$WH_BUILD/tests/tenant/bin/fake_nvml.so" "$tmp/driver/libnvidia-ml.so.1"
export FAKE_NVML_DRIVER="$tmp/driver/libcuda.so.1" FAKE_NVML_CRASH="$tmp/crash"
export WORMHOLE_WORKER_ENV=FAKE_NVML_UUID:FAKE_NVML_DRIVER:FAKE_NVML_CONTEXT:FAKE_NVML_CRASH
measured() { # BYTES [OPTION...]: starts a server over a driver whose contexts take so much
	export FAKE_NVML_CONTEXT="$1"
	shift
	serve --backend "$FAKE_NVML_DRIVER" "$@"
}
measured $((518 * M))
like the_server_measures_it "$("$wormhole" run --mem 512M -- true 2>&1)" "takes 518 MiB"
is what_it_takes_is_enough "$("$wormhole" run --mem 518M -- "$client" alloc=4096)" ok
"$wormhole" tenant create fits --mem 518M
like tenant_without_workers_gets_no_less "$("$wormhole" limit fits --mem 100M 2>&1)" "takes 518 MiB"
start one --tenant one --mem 4G -- alloc=4096
is that_of_a_program_that_runs_can_be_lowered "$("$wormhole" limit one --mem 100M; field one "d['memory_limit']")" $((100 * M))
finish_client one
"$wormhole" stop
STATE="$tmp/state" measured $((518 * M)) --nvml none
is without_figures_nothing_is_measured "$("$wormhole" run --mem 16M -- "$client" alloc=4096)" ok
"$wormhole" tenant create kept --mem 100M
"$wormhole" stop
STATE="$tmp/state" measured $((518 * M))
is tenant_that_is_kept_stays_although_it_is_too_small "$(field kept "d['memory_limit']")" $((100 * M))
like and_is_named "$(cat "$tmp/serve")" "warn: tenant kept: .* takes 518 MiB; give more"
"$wormhole" stop
measured $((5 << 30))
is more_than_the_device_has_is_not_believed "$("$wormhole" run --mem 2G -- "$client" alloc=4096)" ok
"$wormhole" stop
: >"$FAKE_NVML_CRASH"
measured $((518 * M))
like a_driver_that_dies_of_it_is_named "$(cat "$tmp/serve")" "warn: the driver did not say what a context takes"
is and_costs_the_figure_alone "$("$wormhole" run -- "$client" alloc=4096)" ok
"$wormhole" stop
finish
