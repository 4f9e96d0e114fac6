#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that programs over clients of CUDA that people have print forwarded what they
# print natively, values and errors alike. NAME_client.py needs the client NAME. $CLIENTS is a
# folder of virtual environments: every NAME/bin/python and NAME-*/bin/python in it runs
# NAME_client.py. Without it, those that tools/get-clients.sh makes. WH_TEST_DEVICE=gpu takes the
# GPU; otherwise softgpu runs what is PTX. WH_WORDS names the wanted clients.
case ${WH_TOP:=@TOP@} in @*) WH_TOP=$(cd "$(dirname "$0")/../.." && pwd) ;; esac
case ${WH_BUILD:=@BUILD@} in @*) WH_BUILD=$WH_TOP/build ;; esac
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
here=$WH_TOP/tests/clients
clients=${CLIENTS:-$WH_BUILD/clients}
wormhole=$WH_BUILD/host/wormhole
[ -d "$clients" ] || skip_all "no clients: tools/get-clients.sh got none (\$CLIENTS names others)"
world_init "${WH_TEST_DEVICE:-softgpu}" || skip_all "$world_missing"
forget_genuine_libraries

# A client keeps what it compiles in the user's folders, and finds it there the next time.
export HOME="$world_dir" WORMHOLE_DIR="$world_dir/server" PYTHONDONTWRITEBYTECODE=1
unset XDG_CACHE_HOME
trap '"$wormhole" stop --force >/dev/null 2>&1; world_end' EXIT

# What makes clients take PTX, which is all that softgpu runs.
backend=$driver
if [ "$world_kind" = softgpu ]; then
	backend=softgpu
	export WORMHOLE_SOFTGPU_MEM=2G
	export DEV=CUDA:PTX CUPY_COMPILE_WITH_PTX=1 CUPY_ACCELERATORS=
fi
: "${DEV:=CUDA}"
export DEV

# The names of the tests of a program, in their order.
names() { # PROGRAM
	sed -n '/^@test/{n;s/def \([a-z0-9_]*\).*/\1/p}' "$here/$1_client.py"
}

wanted() { # NAME
	[ -n "${WH_WORDS:-}" ] || return 0
	for w in $WH_WORDS; do case $1 in *"$w"*) return 0 ;; esac; done
	return 1
}

# Prints PROGRAM ENVIRONMENT for each client that is there, and PROGRAM alone for any other.
found() {
	for f in "$here"/*_client.py; do
		program=$(basename "$f" _client.py)
		wanted "$program" || continue
		set -- "$clients/$program" "$clients/$program"-*
		there=
		for e; do
			[ ! -x "$e/bin/python" ] || { there=yes; echo "$program $(basename "$e")"; }
		done
		[ -n "$there" ] || echo "$program"
	done
}

run() { # WORLD COMMAND...
	said=$world_dir/said_$1
	shift
	"$@" timeout 300 "$clients/$environment/bin/python" "$here/${program}_client.py" \
		>"$said" 2>"$said.err"
	echo "ends with status $?" >>"$said"
}

line() { # WORLD TEST
	grep "^$2 " "$world_dir/said_$1" ||
		echo "$2 prints nothing and the program $(tail -n 1 "$world_dir/said_$1")"
}

# Says why natively something else is right.
differs() { # TEST NATIVE
	case $world_kind:$2 in
	gpu:*" FAILS "* | gpu:*" prints nothing "*)
		echo "natively it $(echo "${2#* }" | cut -c1-150)"
		return ;;
	esac
	case $world_kind:${environment}_$1 in
	softgpu:cupy-12*_products | softgpu:cupy-12*_transforms | softgpu:bitsandbytes*_managed*)
		echo "softgpu's own stand-ins of libraries are of CUDA 13" ;;
	softgpu:onnxruntime*_session*)
		echo "softgpu has a stand-in for cuDNN, and natively NVIDIA's runs over Wormhole's runtime" ;;
	softgpu:faiss*_devices)
		echo "natively its library leads to NVIDIA's runtime by path, which softgpu does not run" ;;
	esac
}

compare() { # TEST
	native=$(line native "$1")
	forwarded=$(line forwarded "$1")
	why=
	[ "$native" = "$forwarded" ] || why=$(differs "$1" "$native")
	if [ -n "$why" ]; then
		skip "${environment}_$1" "$why"
		diag "forwarded: $(echo "$forwarded" | cut -c1-200)"
	else
		is "${environment}_$1" "$forwarded" "$native"
	fi
}

found >"$world_dir/found"
points=1
while read -r program environment; do
	points=$((points + $([ -n "$environment" ] && names "$program" | wc -l || echo 1)))
done <"$world_dir/found"
plan $points
ok server_starts env LD_LIBRARY_PATH="$server_path" "$wormhole" serve --backend "$backend" --daemon
while read -r program environment; do
	if [ -z "$environment" ]; then
		skip "$program" "it is not in $clients"
		continue
	fi
	run native in_world native static </dev/null
	run forwarded "$wormhole" run -- </dev/null
	for n in $(names "$program"); do
		compare "$n"
	done
done <"$world_dir/found"
finish
