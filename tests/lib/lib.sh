# SPDX-License-Identifier: Apache-2.0
# The tests of libraries source this file, which adds fake libraries to the server of the shm
# tests.
. "$(dirname "$0")/shm.sh"
bin=$WH_BUILD/tests/lib/bin
# The log must be where a worker may write, because the fake libraries are in its sandbox:
# Landlock leaves /dev/shm open.
FAKE_LOG=$(mktemp /dev/shm/wormhole-lib.XXXXXX)
export FAKE_LOG
chmod 666 "$FAKE_LOG"
# Workers of this server have no user of their own, because tenants with such users also have a
# /dev/shm of their own.
export WORMHOLE_WORKER_UID=none
trap 'rm -f "$FAKE_LOG"; end_test' EXIT
# Of each library its name, variable, soname, number of functions.
libraries() { grep -v '^#' "$WH_BUILD/gen/gen_libraries.list"; }
while read -r l variable _; do
	export "WORMHOLE_$variable=$bin/fake_$l.so"
done <<-END
	$(libraries)
END
# Of cublasLt there is softgpu's.
export WORMHOLE_CUBLASLT="$WH_BUILD/softgpu/libcublasLt.so.13"
: >"$FAKE_LOG"

use_loopback() {
	export WORMHOLE_TRANSPORT=loopback WORMHOLE_BACKEND="$WH_BACKEND"
	export WORMHOLE_SESSION="$WH_BUILD/server/libwormhole-session.so"
}

# requests prints how many requests a program makes that does something COUNT times, and how many
# of them are waited for.
requests() { # PROGRAM COUNT [WHAT]
	WORMHOLE_STATS=1 timeout 60 "$bin/$1" "${3:-requests}" "$2" 2>&1 >"$tmp/out" |
		sed -n 's/^wormhole: info: \([0-9]*\) requests went to the worker, \([0-9]*\) of .*/\1 \2/p'
}

# hundred prints the requests, and the waits, of a hundred more repetitions.
hundred() { # PROGRAM [WHAT]
	few=$(requests "$1" 6 "${2:-}") && many=$(requests "$1" 106 "${2:-}") && [ "${few% *}" -gt 0 ] || return 1
	echo "$((${many% *} - ${few% *})) $((${many#* } - ${few#* }))"
}
