#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# descriptors.sh [FOLDER]: counts the requests that a product or a layer makes over shm if
# all its descriptors are made anew for it, and how many of them are waited for. The figure
# is the mean of a hundred, after six that are not counted. FOLDER has the client libraries
# of an older build. The bench uses softgpu and the libraries of tests/lib, which write down
# what they are told: it measures no times.
set -u
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$here/../build}
WH_BUILD=$(cd "$WH_BUILD" && pwd)
before=${1:-}
tests=$WH_BUILD/tests/lib
tmp=$(mktemp -d)
chmod 755 "$tmp"
server=

end() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	rm -rf "$tmp" "$FAKE_LOG"
}
FAKE_LOG=$(mktemp /dev/shm/wormhole-lib.XXXXXX)
chmod 666 "$FAKE_LOG"
trap end EXIT
export FAKE_LOG WORMHOLE_TRANSPORT=shm WORMHOLE_SOCKET="$tmp/server.sock"
export WORMHOLE_CUDNN="$tests/bin/fake_cudnn.so" WORMHOLE_CUSPARSE="$tests/bin/fake_cusparse.so"
export WORMHOLE_CUSPARSELT="$tests/bin/fake_cusparselt.so"
: >"$tmp/out"
"$WH_BUILD/server/wormhole-server" --backend "$WH_BUILD/softgpu/libcuda.so.1" >"$tmp/out" 2>"$tmp/err" &
server=$!
for _ in $(seq 200); do
	grep -q listening "$tmp/out" && break
	sleep 0.05
done

counts() { # LIBRARIES PROGRAM N: requests, and those waited for
	LD_LIBRARY_PATH="$1" WORMHOLE_STATS=1 timeout 60 "$tests/bin/$2" requests "$3" 2>&1 |
		sed -n 's/^wormhole: info: \([0-9]*\) requests went to the worker, \([0-9]*\) of .*/\1 \2/p'
}

each() { # LIBRARIES PROGRAM
	few=$(counts "$1" "$2" 6)
	many=$(counts "$1" "$2" 106)
	[ -n "$few" ] && [ -n "$many" ] || { echo "- | -"; return; }
	awk -v a="$few" -v b="$many" 'BEGIN { split(a, f); split(b, m)
		printf "%g | %g\n", (m[1] - f[1]) / 100, (m[2] - f[2]) / 100 }'
}

row() { # WHAT PROGRAM
	[ -z "$before" ] || old="$(each "$before" "$2") | "
	echo "| $1 | ${old:-}$(each "$WH_BUILD/client-stubs" "$2") |"
}

[ -z "$before" ] || head="before: requests | waited for | "
[ -z "$before" ] || line="---|---|"
echo "| what | ${head:-}requests | waited for |"
echo "|---|${line:-}---|---|"
row "product by cuSPARSELt" cusparselt
row "layer by cuDNN, classic" cudnn_kept
row "product by cuSPARSE, generic" cusparse
