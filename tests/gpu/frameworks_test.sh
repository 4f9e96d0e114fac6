#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that stock PyTorch, CuPy and JAX under plain `wormhole run`, without limits
# and with a quota and a share, have their native values: each line of NAME_values.py is the same,
# also the one that makes ranks of NCCL. WH_PYTHON names the python3 that has them; WH_FRAMEWORKS
# names the wanted frameworks, WH_WORDS the wanted tests.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
[ "$world_kind" = gpu ] || skip_all "the frameworks are too large for softgpu"
frameworks=
for f in ${WH_FRAMEWORKS:-torch cupy jax}; do
	! "$python" -c "import $f" 2>/dev/null || frameworks="$frameworks $f"
done
[ -n "$frameworks" ] || skip_all "$python has none of torch, cupy and jax"

wanted() { # NAME
	[ -n "${WH_WORDS:-}" ] || return 0
	for w in $WH_WORDS; do case $1 in *"$w"*) return 0 ;; esac; done
	return 1
}

names() { # FRAMEWORK
	for n in $(sed -n '/^@test/{n;s/def \([a-z0-9_]*\).*/\1/p}' "$WH_TOP/tests/gpu/$1_values.py"); do
		! wanted "$n" || echo "$n"
	done
}

# values FRAMEWORK WORLD COMMAND... runs the tests of a framework in a world.
values() {
	said=$world_dir/$1_$2
	program=$WH_TOP/tests/gpu/$1_values.py
	shift 2
	timeout 400 "$@" "$python" -B "$program" ${WH_WORDS:-} >"$said" 2>"$said.err" ||
		diag "$(basename "$said"): status $?: $(tail -n 3 "$said.err")"
}

same() { # FRAMEWORK WORLD TEST
	native=$(grep "^$3 " "$world_dir/$1_native" || echo "nothing natively")
	case $native in
	*" FAILS "*) skip "$1_$2_$3" "natively it ${native#* }" ;;
	*) is "$1_$2_$3" "$(grep "^$3 " "$world_dir/$1_$2")" "$native" ;;
	esac
}

plan $((2 * $(for f in $frameworks; do names "$f"; done | wc -l) + 1))
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
for f in $frameworks; do
	values "$f" native env
	values "$f" free "$wormhole" run --
	values "$f" limited "$wormhole" run --mem 20G --sm 50 --
	for world in free limited; do
		for n in $(names "$f"); do
			same "$f" "$world" "$n"
		done
	done
done
finish
