#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that NVIDIA's CUDA samples, or other built programs, print the same and write
# the same files natively and under plain `wormhole run` (samples.py says what is compared).
# WH_SAMPLES is the folder that has them; docs/frameworks.md says how they are built. WH_WORDS are
# the wanted names, WH_JOBS is how many run at a time. A program is skipped if it fails natively,
# if it leaves itself out because an attribute of the device says that it cannot work (status 2),
# or if it needs one of the known limits (docs/status.md).
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
[ -n "${WH_SAMPLES:-}" ] || skip_all "WH_SAMPLES names no folder of built samples"
use_run
names=$("$python" -B "$WH_TOP/tests/gpu/samples.py" names "$WH_SAMPLES")
[ -n "$names" ] || skip_all "$WH_SAMPLES has no samples"
preload=
[ "$world_kind" != softgpu ] || preload=$stubs/libwormhole-preload.so

limit_of() { # NAME
	case $1 in
	systemWideAtomics*) echo "atomics of host and device at once (docs/status.md); it does not ask for the attribute" ;;
	esac
}

plan $(($(echo "$names" | wc -l) + 1))
serve
LIBRARIES=$native_path PRELOAD=$preload "$python" -B "$WH_TOP/tests/gpu/samples.py" run \
	"$WH_SAMPLES" "$world_dir/samples" "$wormhole" run -- >"$world_dir/said" 2>"$world_dir/said.err" ||
	diag "$(tail -n 5 "$world_dir/said.err")"
tab=$(printf '\t')
for n in $names; do
	said=$(grep "^$n$tab" "$world_dir/said" || echo "$n${tab}lost")
	said=${said#*"$tab"}
	case $said in
	native*) skip "$n" "natively it fails: ${said#native"$tab"}" ;;
	same*) is "$n" same same ;;
	"differs${tab}status 2:"*) skip "$n" "leaves itself out: ${said#*: }" ;;
	differs*)
		limit=$(limit_of "$n")
		[ -n "$limit" ] && skip "$n" "known limit: $limit" || is "$n" "$said" same
		;;
	*) is "$n" "$said" same ;;
	esac
done
diag "beside more than one native run: $(sed -n "s/${tab}same$tab[2-9].*//p" "$world_dir/said" | sort | tr '\n' ' ')"
finish
